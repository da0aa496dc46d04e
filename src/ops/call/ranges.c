/* Static scales: the range that a calibration found for a factor, by the node and the input that
 * the factor is. */
#include <stdlib.h>

#include "base/error.h"
#include "kernels/operand/scaled_round.h"
#include "number/format/scaling.h"
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

static const struct ulp_factor_range *find_range(const struct ulp_arithmetic *arithmetic,
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
        const struct ulp_factor_range *found = find_range(arithmetic, node, name);
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
        arithmetic->scales_static ? find_range(arithmetic, node, ULP_FACTOR_RESULT) : NULL;
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
