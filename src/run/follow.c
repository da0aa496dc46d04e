/* Decisions taken as the reference takes them. */
#include <string.h>

#include "base/error.h"
#include "run/walk.h"

#include "tensor/tensor.h"

static bool is_same(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return ulp_tensor_same_shape(a, b) &&
           memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
}

/* What TopK picks from the lane's values by these indices; where one is outside, its own. */
static void pick(const struct ulp_step *step, const struct ulp_tensor *values,
                 const struct ulp_tensor *indices, struct ulp_tensor *out)
{
    const struct ulp_attribute *attribute = ulp_node_attribute(step->bound.node, "axis");
    const int64_t given = attribute ? attribute->i : -1;
    const int axis = (int)(given < 0 ? given + values->rank : given);
    const size_t bytes = out->element_bytes, from = (size_t)values->dims[axis],
                 to = (size_t)out->dims[axis];
    size_t inner = 1;
    for (int d = axis + 1; d < values->rank; d++)
        inner *= (size_t)values->dims[d];
    for (size_t i = 0; i < out->count; i++) {
        const int64_t index = ulp_tensor_get_int(indices, i);
        const size_t source = i / (to * inner) * from * inner + (size_t)index * inner + i % inner;
        if (index >= 0 && (size_t)index < from)
            memcpy((char *)out->data + i * bytes, (const char *)values->data + source * bytes,
                   bytes);
    }
}

enum ulp_status ulp_follow(const struct ulp_step *step, const struct ulp_lane *lane,
                           const struct ulp_tensor *const *inputs,
                           const struct ulp_tensor *reference, struct ulp_tensor *outputs,
                           struct ulp_error *error)
{
    bool taken = false;
    if (step->quantizes)
        return ULP_OK; /* amounts in steps of a scale are no decisions */
    for (size_t o = 0; o < step->output_count; o++) {
        if (!reference[o].data || !outputs[o].data || ulp_element_is_float(reference[o].element) ||
            is_same(&outputs[o], &reference[o]))
            continue;
        ulp_tensor_free(&outputs[o]);
        ULP_TRY(ulp_tensor_copy(&outputs[o], &reference[o], lane->budget, error));
        taken = true;
    }
    if (taken && strcmp(step->bound.node->op_type, "TopK") == 0 && outputs[0].data &&
        outputs[1].data && inputs[0]->element == outputs[0].element &&
        ulp_tensor_same_shape(&outputs[0], &outputs[1]))
        pick(step, inputs[0], &outputs[1], &outputs[0]);
    return ULP_OK;
}

enum ulp_status ulp_follow_decided(const struct ulp_walk *walk, const struct ulp_step *step,
                                   const struct ulp_lane *lane,
                                   const struct ulp_tensor *const *inputs,
                                   struct ulp_tensor *outputs, struct ulp_arena *arena,
                                   struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_tensor, decided, arena, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        const struct ulp_tensor *given =
            slot < 0 ? NULL
                     : ulp_tensor_set_find(walk->options->decided, lane->block->slots[slot].name);
        decided[o] = given && given->element == outputs[o].element &&
                             ulp_tensor_same_shape(given, &outputs[o])
                         ? ulp_tensor_view(given)
                         : (struct ulp_tensor){0};
    }
    return ulp_follow(step, lane, inputs, decided, outputs, error);
}
