#include "run/pass/settled_order.h"

#include "base/memory/alloc.h"

enum ulp_status ulp_settled_order(const struct ulp_block *block, struct ulp_budget *budget,
                                  struct ulp_settled_order *out, struct ulp_error *error)
{
    const size_t count = block->step_count;
    ULP_SCOPED(ulp_free_of) size_t *places = NULL;
    size_t **const lists[] = {&out->first, &out->next, &places};
    *out = (struct ulp_settled_order){NULL, NULL};
    for (int i = 0; i < 3; i++)
        ULP_TRY(
            ulp_allocate(lists[i], count + 1, sizeof(size_t), budget, "steps on constants", error));
    for (size_t s = 0; s < count; s++)
        out->first[s] = places[s] = count;
    for (size_t s = count; s-- > 0;) {
        const struct ulp_step *step = &block->steps[s];
        if (places[s] == count || !step->settled)
            places[s] = s;
        for (size_t i = 0; i < step->input_count; i++) {
            const int from = step->inputs[i] < 0 ? -1 : block->slots[step->inputs[i]].producer;
            if (from >= 0 && block->steps[from].settled)
                places[from] = ulp_size_min(places[from], places[s]);
        }
    }
    for (size_t s = 0; s < count; s++)
        if (block->steps[s].settled) {
            out->next[s] = out->first[places[s]];
            out->first[places[s]] = s;
        }
    return ULP_OK;
}

void ulp_settled_order_free(struct ulp_settled_order *order)
{
    ulp_free(order->first);
    ulp_free(order->next);
    *order = (struct ulp_settled_order){0};
}
