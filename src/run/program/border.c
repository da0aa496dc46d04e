/* Borders of a lane with kept nodes: values that are stored in one format and read in another. */
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "number/round/round.h"
#include "run/lane.h"

/* One reading of a value across a border. */
struct crossing {
    struct ulp_border border;
    const struct ulp_program_slot *slot; /* of the block where the value is computed */
};

struct crossings {
    struct ulp_budget *budget;
    struct crossing *items;
    size_t count, capacity;
};

bool ulp_stored_apart(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b,
                      enum ulp_type type)
{
    struct ulp_format one, other;
    if (type == ULP_TYPE_UNDEFINED)
        type = ULP_TYPE_FLOAT;
    return ulp_type_is_float(type) && ulp_type_rows[type].file_bits > 8 &&
           ulp_lane_format(a, type, &one, NULL) == ULP_OK &&
           ulp_lane_format(b, type, &other, NULL) == ULP_OK && !ulp_format_same(&one, &other);
}

static enum ulp_status add_crossing(const struct ulp_mix *mix, const struct ulp_block *block,
                                    int slot, size_t reader, struct crossings *out,
                                    struct ulp_error *error)
{
    const size_t holder = slot < 0 ? ULP_NO_NODE : ulp_slot_holder(block, slot);
    if (holder == ULP_NO_NODE ||
        !ulp_stored_apart(ulp_mix_arithmetic(mix, holder), ulp_mix_arithmetic(mix, reader),
                          ulp_slot_type(&block->slots[slot])))
        return ULP_OK;
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    ULP_TRY(ulp_grow(&out->items, out->count, &out->capacity, sizeof *out->items, out->budget,
                     "borders", error));
    const struct ulp_program_slot *where = &block->slots[slot];
    out->items[out->count++] = (struct crossing){{.value = where->name,
                                                  .from = ulp_mix_arithmetic(mix, holder),
                                                  .to = ulp_mix_arithmetic(mix, reader),
                                                  .producer = holder,
                                                  .reader_count = 1,
                                                  .first_reader = reader,
                                                  .elements = where->shape.count},
                                                 where};
    return ULP_OK;
}

/* What a node reads: its inputs, and as an If, Loop or Scan the results of its bodies. */
static enum ulp_status add_crossings(const struct ulp_program *program, const struct ulp_mix *mix,
                                     size_t node, struct crossings *out, struct ulp_error *error)
{
    const struct ulp_block *block = program->nodes[node].block;
    const struct ulp_step *step = program->nodes[node].step;
    for (size_t i = 0; i < step->own_input_count && !step->folded; i++)
        ULP_TRY(add_crossing(mix, block, step->inputs[i], node, out, error));
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        for (size_t i = 0; body && i < body->output_count; i++)
            ULP_TRY(add_crossing(mix, body, body->outputs[i], node, out, error));
    }
    return ULP_OK;
}

static int by_value(const void *a, const void *b)
{
    const struct crossing *x = a, *y = b;
    const struct ulp_border *p = &x->border, *q = &y->border;
    if (p->producer != q->producer)
        return p->producer < q->producer ? -1 : 1;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    if (p->to != q->to)
        return p->to < q->to ? -1 : 1;
    return p->first_reader < q->first_reader ? -1 : p->first_reader > q->first_reader;
}

enum ulp_status ulp_program_borders(const struct ulp_program *program, size_t lane,
                                    struct ulp_border **out, size_t *count, struct ulp_error *error)
{
    ULP_ENTER(error);
    const struct ulp_mix *mix = &program->mixes[lane];
    struct crossings crossings = {.budget = ulp_model_budget(program->model)};
    struct ulp_border *borders = NULL;
    enum ulp_status status = ULP_OK;
    *count = 0;
    for (size_t n = 0; n < program->node_count && mix->of_node && status == ULP_OK; n++)
        status = add_crossings(program, mix, n, &crossings, error);
    ULP_THEN(status, ulp_allocate(&borders, crossings.count, sizeof **out, crossings.budget,
                                  "borders", error));
    if (crossings.count)
        qsort(crossings.items, crossings.count, sizeof *crossings.items, by_value);
    *out = borders;
    for (size_t i = 0; i < crossings.count && status == ULP_OK; i++) {
        const struct crossing *here = &crossings.items[i];
        const bool again =
            i && here->slot == here[-1].slot && here->border.to == here[-1].border.to;
        if (!again)
            borders[(*count)++] = here->border;
        else if (here->border.first_reader != here[-1].border.first_reader)
            borders[*count - 1].reader_count++;
    }
    ulp_free(crossings.items);
    return status;
}

void ulp_borders_free(struct ulp_border *borders)
{
    ulp_free(borders);
}
