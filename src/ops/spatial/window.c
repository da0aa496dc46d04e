/* Reading the geometry of sliding windows. */
#include "ops/spatial/window.h"

#include <string.h>

#include "base/error.h"

/* No product of two such numbers, or of one and a dimension, overflows. */
#define NUMBER_MAX ((int64_t)1 << 20)
#define KERNEL_MAX INT32_MAX

int64_t ulp_product(const int64_t *numbers, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = ulp_dim_mul(product, numbers[i]);
    return product;
}

enum ulp_status ulp_windows_read_kernel(const struct ulp_call *call, const struct ulp_tensor *in,
                                        const struct ulp_tensor *weights,
                                        struct ulp_windows *windows)
{
    int rank = windows->rank = in->rank - 2;
    int64_t pads[2 * ULP_RANK_MAX];
    if (rank < 1)
        return ULP_REFUSE(
            call, "the input has rank %d: expected batch, channels and at least one axis more",
            in->rank);
    if (weights && weights->rank != in->rank)
        return ULP_REFUSE(call, "the weights have rank %d, the input %d", weights->rank, in->rank);
    memcpy(windows->in, in->dims + 2, (size_t)rank * sizeof *windows->in);
    ULP_TRY(ulp_call_numbers(call, "kernel_shape", (size_t)rank, 1, windows->kernel));
    ULP_TRY(ulp_call_numbers(call, "strides", (size_t)rank, 1, windows->strides));
    ULP_TRY(ulp_call_numbers(call, "dilations", (size_t)rank, 1, windows->dilations));
    ULP_TRY(ulp_call_numbers(call, "pads", 2 * (size_t)rank, 0, pads));
    for (int d = 0; d < rank; d++) {
        if (weights && ulp_call_attribute(call, "kernel_shape")->count &&
            windows->kernel[d] != weights->dims[2 + d])
            return ULP_REFUSE(call, "kernel_shape[%d] is %lld, the weights have %lld", d,
                              (long long)windows->kernel[d], (long long)weights->dims[2 + d]);
        if (weights)
            windows->kernel[d] = weights->dims[2 + d];
        windows->pads[d] = pads[d];
        windows->pads_end[d] = pads[rank + d];
        const int64_t numbers[] = {windows->kernel[d], windows->strides[d], windows->dilations[d],
                                   pads[d], pads[rank + d]};
        for (int i = 0; i < 5; i++)
            if (numbers[i] < (i < 3) || numbers[i] > NUMBER_MAX)
                return ULP_REFUSE(
                    call, "kernel, stride, dilation or pads of spatial axis %d are out of range",
                    d);
    }
    return ulp_product(windows->kernel, rank) <= KERNEL_MAX
               ? ULP_OK
               : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "a kernel of more than %d elements",
                          KERNEL_MAX);
}

/* auto_pad SAME_UPPER and SAME_LOWER: as many outputs as strides fit into the input. */
static void pad_same(struct ulp_windows *w, int d, bool upper)
{
    int64_t out = (w->in[d] + w->strides[d] - 1) / w->strides[d];
    int64_t total = (out - 1) * w->strides[d] + (w->kernel[d] - 1) * w->dilations[d] + 1 - w->in[d];
    total = total < 0 ? 0 : total;
    w->pads[d] = upper ? total / 2 : total - total / 2;
    w->pads_end[d] = total - w->pads[d];
}

enum ulp_status ulp_windows_read(const struct ulp_call *call, const struct ulp_tensor *in,
                                 const struct ulp_tensor *weights, struct ulp_windows *windows)
{
    ULP_TRY(ulp_windows_read_kernel(call, in, weights, windows));
    bool upper = ulp_call_is(call, "auto_pad", "SAME_UPPER"),
         lower = ulp_call_is(call, "auto_pad", "SAME_LOWER");
    bool none = ulp_call_is(call, "auto_pad", "VALID"), ceil_mode = ulp_call_int(call, "ceil_mode");
    for (int d = 0; d < windows->rank; d++) {
        if (none)
            windows->pads[d] = windows->pads_end[d] = 0;
        if (upper || lower)
            pad_same(windows, d, upper);
        int64_t stride = windows->strides[d];
        int64_t room = windows->in[d] + windows->pads[d] + windows->pads_end[d] -
                       (windows->kernel[d] - 1) * windows->dilations[d] - 1;
        /* Of a pool a quotient is cut towards 0, as ONNX Runtime's: one window. */
        if (room < 0 && (weights || room <= -stride))
            return ULP_REFUSE(call,
                              "the window is larger than the padded input along spatial axis %d",
                              d);
        windows->out[d] = room / stride + 1 + (ceil_mode && room > 0 && room % stride != 0);
        /* a window that would start in the padding behind the input does not exist */
        if (ceil_mode && (windows->out[d] - 1) * stride >= windows->in[d] + windows->pads[d])
            windows->out[d]--;
    }
    return ULP_OK;
}

struct ulp_window_shape ulp_windows_shape(const struct ulp_tensor *in,
                                          const struct ulp_windows *windows)
{
    struct ulp_window_shape shape = {.spatial_rank = windows->rank,
                                     .outer_count = in->dims[0] * in->dims[1]};
    const size_t bytes = (size_t)windows->rank * sizeof *windows->in;
    memcpy(shape.in, windows->in, bytes);
    memcpy(shape.out, windows->out, bytes);
    memcpy(shape.kernel, windows->kernel, bytes);
    memcpy(shape.strides, windows->strides, bytes);
    memcpy(shape.dilations, windows->dilations, bytes);
    memcpy(shape.pads, windows->pads, bytes);
    return shape;
}
