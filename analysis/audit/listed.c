#include "analysis/audit/listed.h"

#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "ops/operator.h"

/* Comparisons of rows that matching may take. */
#define ROWS_MAX ((size_t)1 << 13)

static bool is_equal(const struct ulp_tensor *a, size_t i, const struct ulp_tensor *b, size_t j,
                     size_t width)
{
    bool equal = true;
    for (size_t k = 0; k < width && equal; k++)
        equal = ulp_tensor_get_int(a, i * width + k) == ulp_tensor_get_int(b, j * width + k);
    return equal;
}

/* used: room for the rows of a batch. */
static void match_batch(size_t *place, bool *used, const struct ulp_tensor *truth,
                        const struct ulp_tensor *value, size_t base, size_t count, size_t width)
{
    size_t free = 0;
    for (size_t r = 0; r < count; r++) {
        place[r] = SIZE_MAX;
        used[r] = false;
    }
    for (size_t r = 0; r < count; r++)
        for (size_t p = 0; p < count && place[r] == SIZE_MAX; p++)
            if (!used[p] && is_equal(truth, base + r, value, base + p, width)) {
                place[r] = p;
                used[p] = true;
            }
    for (size_t r = 0; r < count; r++) {
        while (place[r] == SIZE_MAX && used[free])
            free++;
        if (place[r] == SIZE_MAX)
            place[r] = free++;
    }
}

/* Lists of classes are read in their order; those of boxes are not. */
static bool lists_boxes(const struct ulp_block *block)
{
    bool boxes = false;
    for (size_t o = 0; o < block->output_count; o++) {
        const struct ulp_tensor *shape = &block->slots[block->outputs[o]].shape;
        boxes |= shape->rank > 1 && shape->dims[shape->rank - 1] == 4;
    }
    return boxes;
}

enum ulp_status ulp_listed_look(struct ulp_listed *listed, const struct ulp_program *program,
                                const struct ulp_event *event, size_t lane, struct ulp_error *error)
{
    const bool boxes = strcmp(event->op, "NonMaxSuppression") == 0;
    const struct ulp_program_node *node = &program->nodes[event->index];
    size_t o = 0;
    while (!boxes && o < event->output_count && event->output_positions[o] != 1)
        o++;
    if (o == event->output_count || node->block != program->main || !lists_boxes(program->main))
        return ULP_OK;
    const struct ulp_tensor *truth = event->values[o].entire,
                            *value = event->values[(lane + 1) * event->output_count + o].entire;
    const struct ulp_attribute *axis = ulp_node_attribute(node->step->bound.node, "axis");
    if (!value || !truth->rank || !ulp_tensor_same_shape(truth, value) ||
        (axis && axis->i != -1 && axis->i != truth->rank - 1))
        return ULP_OK;
    const size_t width = boxes ? 3 : 1, count = (size_t)truth->dims[boxes ? 0 : truth->rank - 1];
    if (count < 2 || count > ROWS_MAX ||
        memcmp(truth->data, value->data, truth->count * truth->element_bytes) == 0)
        return ULP_OK;
    ULP_SCOPED(ulp_free_of) void *used = NULL;
    void *place;
    struct ulp_budget *budget = ulp_model_budget(program->model);
    ULP_TRY(ulp_allocate(&used, count, sizeof(bool), budget, "rows of lists", error));
    ULP_TRY(ulp_allocate(&place, truth->count, sizeof(size_t), budget, "rows of lists", error));
    ulp_listed_clear(listed);
    *listed = (struct ulp_listed){truth->count / width / count, count, place};
    for (size_t b = 0; b < listed->batches; b++)
        match_batch(listed->place + b * count, used, truth, value, b * count, count, width);
    return ULP_OK;
}

enum ulp_status ulp_listed_order(const struct ulp_listed *listed, const struct ulp_tensor *value,
                                 struct ulp_budget *budget, struct ulp_tensor *out,
                                 struct ulp_error *error)
{
    const bool batched = value->rank > 1 && listed->place &&
                         (size_t)value->dims[0] == listed->batches &&
                         (size_t)value->dims[1] == listed->count;
    *out = (struct ulp_tensor){0};
    if (!listed->place || !(batched || (value->rank && listed->batches == 1 &&
                                        (size_t)value->dims[0] == listed->count)))
        return ULP_OK;
    const size_t rows = listed->batches * listed->count,
                 bytes = value->count / rows * value->element_bytes;
    ULP_TRY(ulp_tensor_copy(out, value, budget, error));
    for (size_t r = 0; r < rows; r++)
        memcpy((char *)out->data + r * bytes,
               (const char *)value->data +
                   (r / listed->count * listed->count + listed->place[r]) * bytes,
               bytes);
    return ULP_OK;
}

void ulp_listed_clear(struct ulp_listed *listed)
{
    ulp_free(listed->place);
    *listed = (struct ulp_listed){0};
}
