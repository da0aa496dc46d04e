#include "analysis/session/rescale.h"

#include <math.h>

#include "analysis/scales/scales_stored.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "ops/product/quantize_rows.h"
#include "tensor/tensor.h"

/* The axis of the weights in that slot along which their first reader has its output channels; -1:
 * it has none. */
static int find_axis(const struct ulp_block *block, int slot)
{
    const int rank = block->slots[slot].shape.rank;
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    for (size_t r = 0; r < count && all[r].step >= 0; r++)
        if (all[r].input == 1) {
            const struct ulp_bound *bound = &block->steps[all[r].step].bound;
            return ulp_output_channels(bound->op->name, rank,
                                       ulp_node_int(bound->node, "transB", 0));
        }
    return -1;
}

/* What rounds to the type's numbers, and takes a scale to those that its type has. */
struct rounding {
    double low, high;
    struct ulp_format elements, scales; /* name "": integers; no FP32, which FP64 is rounded to */
    bool powers;
};

static bool find_rounding(enum ulp_type type, enum ulp_type scales, bool powers,
                          struct rounding *out)
{
    *out = (struct rounding){.powers = powers || scales == ULP_TYPE_FLOAT8E8M0};
    if (ulp_type_rows[scales].format &&
        ulp_format_find(ulp_type_rows[scales].format, &out->scales, NULL) != ULP_OK)
        return false;
    if (!ulp_type_is_float(type)) {
        ulp_integer_range(type, &out->low, &out->high);
        return out->low < 0 && ulp_type_rows[type].file_bits <= 8;
    }
    if (ulp_format_find(ulp_type_rows[type].format, &out->elements, NULL) != ULP_OK)
        return false;
    out->elements.overflow = ULP_OVERFLOW_SATURATE;
    out->high = out->elements.max_finite;
    return true;
}

/* An infinite weight leaves its scale infinite, and what is gained unknown. */
static double round_scale(const struct rounding *rounding, double scale)
{
    if (!isfinite(scale))
        return scale;
    if (rounding->powers && scale > 0)
        return ldexp(1, (int)ceil(ulp_math_log2(scale)));
    return rounding->scales.name[0]
               ? ulp_format_round(&rounding->scales, ULP_ROUND_NEAREST_EVEN, scale, 0, 0)
               : scale;
}

static double round_element(const struct rounding *rounding, double x)
{
    if (rounding->elements.name[0])
        return ulp_format_round(&rounding->elements, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
    return ulp_math_max(rounding->low, ulp_math_min(rounding->high, rint(x)));
}

/* scales: as many as lie over the floats, zeros when it is called. */
static void round_floats(const struct ulp_stored *laid, const struct rounding *rounding,
                         double *scales, size_t count, float *out)
{
    const struct ulp_tensor *floats = laid->values;
    for (size_t i = 0; i < floats->count; i++) {
        double *most = &scales[ulp_stored_find(laid, i)];
        *most = ulp_math_max(*most, fabs(ulp_tensor_get(floats, i)));
    }
    for (size_t c = 0; c < count; c++)
        scales[c] = round_scale(rounding, scales[c] / rounding->high);
    for (size_t i = 0; i < floats->count; i++) {
        const double scale = scales[ulp_stored_find(laid, i)];
        out[i] = scale > 0
                     ? (float)(scale * round_element(rounding, ulp_tensor_get(floats, i) / scale))
                     : 0;
    }
}

static enum ulp_status round_laid(const struct ulp_program *program, const struct ulp_stored *laid,
                                  const struct rounding *rounding, struct ulp_tensor *out,
                                  struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_model_budget(program->model);
    const struct ulp_tensor *floats = laid->values;
    const size_t count = laid->blocked ? floats->count / laid->length * laid->runs : laid->length;
    ULP_SCOPED(ulp_free_of) void *scales = NULL;
    ULP_TRY(ulp_tensor_describe(out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, floats->rank, floats->dims,
                                error));
    ULP_TRY(ulp_allocate_zero(&scales, count, sizeof(double), budget, "other scales of weights",
                              error));
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    round_floats(laid, rounding, scales, count, out->data);
    return ULP_OK;
}

enum ulp_status ulp_rescale(const struct ulp_program *program, const struct ulp_step *dequantizer,
                            const struct ulp_tensor *floats, int summed, struct ulp_tensor *out,
                            struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    const struct ulp_tensor *scale = block->slots[dequantizer->inputs[1]].constant;
    const struct ulp_node *node = dequantizer->bound.node;
    struct ulp_stored laid;
    struct rounding rounding;
    *out = (struct ulp_tensor){0};
    if (!scale || !ulp_stored_read(node, floats, scale, &laid) ||
        !find_rounding(block->slots[dequantizer->inputs[0]].shape.type, scale->type, laid.powers,
                       &rounding))
        return ULP_OK;
    if (laid.blocked)
        ulp_stored_lay(&laid, summed >= 0 ? summed : laid.axis, laid.run);
    else {
        const int axis = find_axis(block, dequantizer->outputs[0]);
        if (laid.axis >= 0 || axis < 0 || axis >= floats->rank || floats->dims[axis] < 2)
            return ULP_OK;
        ulp_stored_lay(&laid, axis, 1);
    }
    return round_laid(program, &laid, &rounding, out, error);
}
