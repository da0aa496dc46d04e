#include "run/pass/settled_order.h"

#include "base/memory/alloc.h"

enum ulp_status ulp_settled_order(const struct ulp_block *block, struct ulp_budget *budget,
                                  struct ulp_settled_order *out, struct ulp_error *error)
{
    const size_t count = block->step_count;
    void *memory[3] = {NULL};
    enum ulp_status status = ULP_OK;
    for (int i = 0; i < 3 && status == ULP_OK; i++)
        status = ulp_allocate(&memory[i], count + 1, sizeof(size_t), budget, "steps on constants",
                              error);
    size_t *places = memory[2];
    *out = (struct ulp_settled_order){memory[0], memory[1]};
    for (size_t s = 0; s < count && status == ULP_OK; s++)
        out->first[s] = places[s] = count;
    for (size_t s = count; s-- > 0 && status == ULP_OK;) {
        const struct ulp_step *step = &block->steps[s];
        if (places[s] == count || !step->settled)
            places[s] = s;
        for (size_t i = 0; i < step->input_count; i++) {
            const int from = step->inputs[i] < 0 ? -1 : block->slots[step->inputs[i]].producer;
            if (from >= 0 && block->steps[from].settled)
                places[from] = ulp_size_min(places[from], places[s]);
        }
    }
    for (size_t s = 0; s < count && status == ULP_OK; s++)
        if (block->steps[s].settled) {
            out->next[s] = out->first[places[s]];
            out->first[places[s]] = s;
        }
    ulp_free(places);
    return status;
}

void ulp_settled_order_free(struct ulp_settled_order *order)
{
    ulp_free(order->first);
    ulp_free(order->next);
    *order = (struct ulp_settled_order){0};
}
