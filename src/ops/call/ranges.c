/* Static scales: the range that a calibration found for a factor, by the node and the input that
 * the factor is. */
#include <stdlib.h>

#include "base/error.h"
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

const char *ulp_factor_name(const struct ulp_tensor *const *inputs, size_t input_count,
                            const struct ulp_contraction *problem, int side)
{
    const struct ulp_tensor *const factors[] = {problem->a.tensor, problem->b.tensor};
    ptrdiff_t i = ulp_factor_input(inputs, input_count, factors[side]);
    const ptrdiff_t other = ulp_factor_input(inputs, input_count, factors[!side]);
    if (i < 0 && (other == 0 || other == 1)) /* the other of two, as the node has padded it */
        i = 1 - other;
    return names[i >= 0 && i < INPUTS_NAMED ? i : INPUTS_NAMED + side];
}

enum ulp_status ulp_product_take_ranges(const struct ulp_arithmetic *arithmetic, const char *node,
                                        const struct ulp_tensor *const *inputs, size_t input_count,
                                        struct ulp_contraction *problem, struct ulp_error *error)
{
    const struct ulp_factor_ranges *ranges = arithmetic->ranges;
    if (!arithmetic->scales_static || !problem->batch_count || !problem->m || !problem->n ||
        !problem->k || !ulp_element_is_float(problem->a.tensor->element))
        return ULP_OK;
    for (int side = 0; side < 2; side++) {
        const struct ulp_factor_range wanted = {.node = node,
                                                .factor = ulp_factor_name(inputs, input_count,
                                                                          problem, side)};
        if (problem->weights >> side & 1)
            continue;
        const struct ulp_factor_range *found = ranges && ranges->count
                                                   ? bsearch(&wanted, ranges->items, ranges->count,
                                                             sizeof wanted, ulp_factor_range_order)
                                                   : NULL;
        if (!found)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "scales=static: %s has no range of node '%s', %s; calibrate this model "
                            "with this arithmetic and samples that run the node (products in "
                            "bodies of If, Loop and Scan have none: --keep leaves them out)",
                            ranges && ranges->name ? ranges->name : "the arithmetic", node,
                            wanted.factor);
        problem->range[side] = found;
    }
    return ULP_OK;
}
