/* Decisions taken as the reference takes them. */
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "run/walk.h"

#include "tensor/tensor.h"

static bool is_same(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return ulp_tensor_same_shape(a, b) &&
           memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
}

static int find_axis(const struct ulp_step *step, int rank)
{
    const int64_t given = ulp_node_int(step->bound.node, "axis", -1);
    return (int)(given < 0 ? given + rank : given);
}

/* What TopK picks from the lane's values by these indices; where one is outside, its own. */
static void pick(const struct ulp_step *step, const struct ulp_tensor *values,
                 const struct ulp_tensor *indices, struct ulp_tensor *out)
{
    const int axis = find_axis(step, values->rank);
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

/* Indices of a line of `from` elements? Those of another lane's line, if it is longer, are not. */
static bool are_within(const struct ulp_tensor *indices, size_t from)
{
    bool are = true;
    for (size_t i = 0; i < indices->count; i++)
        are &= (uint64_t)ulp_tensor_get_int(indices, i) < from;
    return are;
}

/* For each place of a line where the lane has what stands there: the reference's index where it
 * takes it, too, else the next of those that it alone takes. places: room for `from` of them. */
static void find_order(const struct ulp_tensor *own, const struct ulp_tensor *reference,
                       size_t first, size_t stride, size_t count, size_t *places, size_t *order)
{
    for (size_t k = 0; k < count; k++)
        places[ulp_tensor_get_int(own, first + k * stride)] = k + 1;
    for (size_t k = 0; k < count; k++) {
        size_t *place = &places[ulp_tensor_get_int(reference, first + k * stride)];
        order[k] = *place;
        *place = 0;
    }
    for (size_t k = 0, next = 0; k < count; k++) {
        while (!order[k] && !places[ulp_tensor_get_int(own, first + next * stride)])
            next++;
        order[k] = order[k] ? order[k] - 1 : next++;
    }
    for (size_t k = 0; k < count; k++)
        places[ulp_tensor_get_int(own, first + k * stride)] = 0;
}

static void put_in_order(struct ulp_tensor *out, size_t first, size_t stride, size_t count,
                         const size_t *order, char *line)
{
    const size_t bytes = out->element_bytes;
    char *data = out->data;
    for (size_t k = 0; k < count; k++)
        memcpy(line + k * bytes, data + (first + k * stride) * bytes, bytes);
    for (size_t k = 0; k < count; k++)
        memcpy(data + (first + k * stride) * bytes, line + order[k] * bytes, bytes);
}

enum ulp_status ulp_follow_order(const struct ulp_step *step, const struct ulp_lane *lane,
                                 const struct ulp_tensor *input, const struct ulp_tensor *reference,
                                 struct ulp_tensor *outputs, struct ulp_error *error)
{
    if (step->output_count < 2 || strcmp(step->bound.node->op_type, "TopK") != 0 ||
        !outputs[0].data || !outputs[1].data || !reference[1].data ||
        !ulp_tensor_same_shape(&outputs[1], &reference[1]) ||
        !ulp_tensor_same_shape(&outputs[1], &outputs[0]) || is_same(&outputs[1], &reference[1]))
        return ULP_OK;
    const int axis = find_axis(step, input->rank);
    const size_t from = (size_t)input->dims[axis], count = (size_t)outputs[1].dims[axis];
    size_t inner = 1;
    if (!are_within(&outputs[1], from) || !are_within(&reference[1], from))
        return ULP_OK;
    for (int d = axis + 1; d < input->rank; d++)
        inner *= (size_t)input->dims[d];
    ULP_SCOPED(ulp_free_of) size_t *places = NULL;
    ULP_SCOPED(ulp_free_of) char *line = NULL;
    const size_t bytes = outputs[0].element_bytes > outputs[1].element_bytes
                             ? outputs[0].element_bytes
                             : outputs[1].element_bytes;
    ULP_TRY(ulp_allocate_zero(&places, from + count + 1, sizeof *places, lane->budget,
                              "places of rows", error));
    ULP_TRY(ulp_allocate(&line, count + 1, bytes, lane->budget, "places of rows", error));
    for (size_t l = 0; count && l < outputs[1].count / count; l++) {
        const size_t first = l / inner * count * inner + l % inner;
        find_order(&outputs[1], &reference[1], first, inner, count, places, places + from);
        for (int o = 0; o < 2; o++)
            put_in_order(&outputs[o], first, inner, count, places + from, line);
    }
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
