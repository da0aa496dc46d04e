/* Static scales: the range that a calibration found for a factor, by the node and the input that
 * the factor is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernels/operand/scaled_round.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "ops/call.h"

enum { INPUTS_NAMED = 6 };
static const char *const names[INPUTS_NAMED + 2] = {"input 0",      "input 1",      "input 2",
                                                    "input 3",      "input 4",      "input 5",
                                                    "first factor", "second factor"};

ptrdiff_t ulp_factor_input(const struct ulp_tensor *const *inputs, size_t input_count,
                           const struct ulp_tensor *factor)
{
    const char *data = factor->data;
    for (size_t i = 0; i < input_count; i++) {
        const struct ulp_tensor *in = inputs[i];
        if (in && in->data && data >= (const char *)in->data &&
            data < (const char *)in->data + in->count * in->element_bytes)
            return (ptrdiff_t)i;
    }
    return -1;
}

ptrdiff_t ulp_factor_place(const struct ulp_tensor *const *inputs, size_t input_count,
                           const struct ulp_contraction *problem, int side)
{
    const struct ulp_tensor *const factors[] = {problem->a.tensor, problem->b.tensor};
    const ptrdiff_t i = ulp_factor_input(inputs, input_count, factors[side]),
                    other = ulp_factor_input(inputs, input_count, factors[!side]);
    return i < 0 && (other == 0 || other == 1) ? 1 - other : i;
}

const char *ulp_factor_name(const struct ulp_tensor *const *inputs, size_t input_count,
                            const struct ulp_contraction *problem, int side)
{
    const ptrdiff_t i = ulp_factor_place(inputs, input_count, problem, side);
    return names[i >= 0 && i < INPUTS_NAMED ? i : INPUTS_NAMED + side];
}

const struct ulp_factor_range *ulp_factor_range_find(const struct ulp_arithmetic *arithmetic,
                                                     const char *node, const char *factor)
{
    const struct ulp_factor_ranges *ranges = arithmetic->ranges;
    const struct ulp_factor_range wanted = {.node = node, .factor = factor};
    return ranges && ranges->count ? bsearch(&wanted, ranges->items, ranges->count, sizeof wanted,
                                             ulp_factor_range_order)
                                   : NULL;
}

enum ulp_status ulp_product_take_ranges(const struct ulp_arithmetic *arithmetic, const char *node,
                                        const struct ulp_tensor *const *inputs, size_t input_count,
                                        struct ulp_contraction *problem, struct ulp_error *error)
{
    if (!arithmetic->scales_static || !problem->batch_count || !problem->m || !problem->n ||
        !problem->k || !ulp_element_is_float(problem->a.tensor->element))
        return ULP_OK;
    for (int side = 0; side < 2; side++) {
        const char *name = ulp_factor_name(inputs, input_count, problem, side);
        const bool weight = problem->weights >> side & 1;
        const struct ulp_factor_range *found = ulp_factor_range_find(arithmetic, node, name);
        if (weight && (!found || !found->elements))
            continue;
        if (!found)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "scales=static: %s has no range of node '%s', %s; calibrate this model "
                            "with this arithmetic and samples that run the node (products in "
                            "bodies of If, Loop and Scan have none: --keep leaves them out)",
                            arithmetic->ranges && arithmetic->ranges->name
                                ? arithmetic->ranges->name
                                : "the arithmetic",
                            node, name);
        problem->range[side] = found;
    }
    return ULP_OK;
}

enum ulp_status ulp_result_take_range(const struct ulp_arithmetic *arithmetic, const char *node,
                                      struct ulp_tensor *result, struct ulp_error *error)
{
    const struct ulp_factor_range *range =
        arithmetic->scales_static ? ulp_factor_range_find(arithmetic, node, ULP_FACTOR_RESULT)
                                  : NULL;
    float scale, spare[2];
    float *elements = result->data;
    if (!range || !result->count || !ulp_element_is_float(result->element))
        return ULP_OK;
    /* wider: a stage before the result is rounded, as these scales' storage is FP32 or narrower */
    if (result->element != ULP_ELEMENT_F32)
        return ULP_OK;
    if (!result->owned)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "node '%s': a result that is a view has no range of its own", node);
    const struct ulp_scaled_rule rule = {.scaling = &arithmetic->scaling[0],
                                         .rounding = ULP_ROUND_NEAREST_EVEN,
                                         .run = result->count,
                                         .block = result->count,
                                         .tensor_scale = 1,
                                         .largest = range->largest,
                                         .least = range->least};
    ulp_scaled_round(&rule, elements, &scale, 1, 0, spare);
    for (size_t i = 0; i < result->count; i++)
        elements[i] *= scale;
    return ULP_OK;
}

bool ulp_has_plain_sums(const struct ulp_node *node)
{
    const struct ulp_attribute *alpha = ulp_node_attribute(node, "alpha"),
                               *beta = ulp_node_attribute(node, "beta");
    return (!alpha || alpha->f == 1) && (!beta || beta->f == 1);
}

/* A Conv or Gemm of a value and weights with a scale for each channel, both integers, and a bias of
 * the same channels: *axis of the weights. */
static bool has_integer_bias(const struct ulp_call *call, int *axis)
{
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    const struct ulp_scaling *weights = &arithmetic->scaling[1];
    const struct ulp_node *node = call->bound->node;
    const bool gemm = strcmp(call->bound->op->name, "Gemm") == 0;
    if (!arithmetic->scales_static || arithmetic->weights.name[0] || weights->k ||
        weights->lines != 1 || !ulp_scaling_is_integer(&arithmetic->scaling[0]) ||
        !ulp_scaling_is_integer(weights) || call->input_count != 3 || !call->in[2] ||
        (call->constants & 6) != 6 || (!gemm && strcmp(call->bound->op->name, "Conv") != 0) ||
        !ulp_has_plain_sums(node))
        return false;
    const struct ulp_attribute *turned = gemm ? ulp_node_attribute(node, "transB") : NULL;
    *axis = gemm && !(turned && turned->i);
    return call->in[2]->type == ULP_TYPE_FLOAT && call->in[2]->element == ULP_ELEMENT_F32 &&
           call->in[2]->rank == 1 && call->in[2]->count == (size_t)call->in[1]->dims[*axis];
}

/* The scale of a channel of weights. Of one that is all zero any is right, and one that is fine
 * for the bias the best: of 2^18 steps times the values' scale. */
static float channel_scale(const struct ulp_call *call, int axis, size_t channel, float bias)
{
    const struct ulp_tensor *w = call->in[1];
    const size_t channels = (size_t)w->dims[axis], after = axis ? 1 : w->count / channels;
    const float *row = (const float *)w->data + channel * after;
    float largest = 0, low;
    if (!axis && w->element == ULP_ELEMENT_F32)
        largest = ulp_scaled_largest(row, after);
    for (size_t i = 0; i < w->count / channels && (axis || w->element != ULP_ELEMENT_F32); i++) {
        const float size =
            (float)fabs(ulp_tensor_get(w, axis ? i * channels + channel : channel * after + i));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    const float scale = ulp_scaled_scale(&call->arithmetic->scaling[1], 0, largest, &low),
                fine = fabsf(bias) * 0x1p-18F;
    return largest == 0 && fine >= 0x1p-126F && fine < scale ? fine : scale;
}

enum ulp_status ulp_call_take_bias(const struct ulp_call *call, struct ulp_tensor *bias,
                                   bool *taken)
{
    const struct ulp_factor_range *range;
    float low, *codes;
    int axis;
    *taken = false;
    if (!has_integer_bias(call, &axis) ||
        !(range = ulp_factor_range_find(call->arithmetic, call->name, names[0])))
        return ULP_OK;
    const float *given = call->in[2]->data,
                scale = ulp_scaled_scale(&call->arithmetic->scaling[0], range->least,
                                         range->largest, &low);
    *bias = ulp_tensor_view(call->in[2]);
    ULP_TRY(ulp_call_take(call, bias->count, sizeof *codes, &codes));
    bias->data = codes;
    *taken = true;
    for (size_t i = 0; i < bias->count; i++) {
        const float own = scale * channel_scale(call, axis, i, given[i]);
        const double code = rint((double)given[i] / (double)own);
        *taken &= fabs(code) < 0x1p31;
        codes[i] = (float)code * own;
    }
    return ULP_OK;
}
