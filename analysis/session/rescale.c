#include "analysis/session/rescale.h"

#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "ops/product/quantize_rows.h"
#include "tensor/tensor.h"

static bool is_set(const struct ulp_step *step, const char *name)
{
    for (size_t a = 0; a < step->bound.attribute_count; a++)
        if (strcmp(step->bound.attribute_slots[a].name, name) == 0)
            return step->bound.attributes[a].present && step->bound.attributes[a].i;
    return false;
}

/* The axis of the weights in that slot along which their first reader has its output channels; -1:
 * it has none. */
static int find_axis(const struct ulp_block *block, int slot)
{
    const int rank = block->slots[slot].shape.rank;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *reader = &block->steps[s];
        if (reader->own_input_count >= 2 && reader->inputs[1] == slot)
            return ulp_output_channels(reader->bound.op->name, rank, is_set(reader, "transB"));
    }
    return -1;
}

/* scales: of each channel, zeros when it is called. */
static void round_channels(const struct ulp_tensor *floats, size_t channels, size_t inner,
                           enum ulp_type type, double *scales, float *out)
{
    double low, high;
    ulp_integer_range(type, &low, &high);
    for (size_t i = 0; i < floats->count; i++) {
        double *most = &scales[i / inner % channels];
        *most = ulp_math_max(*most, fabs(ulp_tensor_get(floats, i)));
    }
    for (size_t c = 0; c < channels; c++)
        scales[c] = (double)(float)(scales[c] / high);
    for (size_t i = 0; i < floats->count; i++) {
        const double scale = scales[i / inner % channels],
                     steps = scale > 0 ? rint(ulp_tensor_get(floats, i) / scale) : 0;
        out[i] = (float)(scale * ulp_math_max(low, ulp_math_min(high, steps)));
    }
}

enum ulp_status ulp_rescale_channels(const struct ulp_plan *plan,
                                     const struct ulp_step *dequantizer,
                                     const struct ulp_tensor *floats, struct ulp_tensor *out,
                                     struct ulp_error *error)
{
    const struct ulp_block *block = plan->main;
    const struct ulp_plan_slot *scale = &block->slots[dequantizer->inputs[1]];
    const enum ulp_type type = block->slots[dequantizer->inputs[0]].shape.type;
    const int axis = find_axis(block, dequantizer->outputs[0]);
    *out = (struct ulp_tensor){0};
    if ((type != ULP_TYPE_INT8 && type != ULP_TYPE_INT4) || !scale->constant ||
        scale->constant->count != 1 || axis < 0 || axis >= floats->rank || floats->dims[axis] < 2)
        return ULP_OK;
    struct ulp_budget *budget = ulp_model_budget(plan->model);
    const size_t channels = (size_t)floats->dims[axis];
    size_t inner = 1;
    void *scales;
    for (int d = axis + 1; d < floats->rank; d++)
        inner *= (size_t)floats->dims[d];
    enum ulp_status status = ulp_tensor_describe(out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0,
                                                 floats->rank, floats->dims, error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&scales, channels, sizeof(double), budget,
                                   "scales of the channels of weights", error);
    if (status != ULP_OK)
        return status;
    status = ulp_tensor_allocate(out, budget, error);
    if (status == ULP_OK)
        round_channels(floats, channels, inner, type, scales, out->data);
    ulp_free(scales);
    return status;
}
