/* Sliding windows over the spatial axes of an N x C x D1 x ... tensor: convolution and pooling. */
#pragma once

#include "formula/layout.h"
#include "ops/infer.h"

struct ulp_windows {
    int rank; /* of the spatial axes */
    int64_t in[ULP_RANK_MAX], out[ULP_RANK_MAX], kernel[ULP_RANK_MAX];
    int64_t strides[ULP_RANK_MAX], dilations[ULP_RANK_MAX], pads[ULP_RANK_MAX],
        pads_end[ULP_RANK_MAX];
};

/* Read kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of the call for input `in`;
 * weights (may be NULL) gives the kernel's shape by its spatial dimensions. out[] is the output's
 * spatial shape. */
enum ulp_status ulp_windows_read(const struct ulp_call *call, const struct ulp_tensor *in,
                                 const struct ulp_tensor *weights, struct ulp_windows *windows);
/* The same without auto_pad and out[], for operators that define the two in another way. */
enum ulp_status ulp_windows_read_kernel(const struct ulp_call *call, const struct ulp_tensor *in,
                                        const struct ulp_tensor *weights,
                                        struct ulp_windows *windows);
/* The windows over every image and channel of `in`, as rows of a tape. */
struct ulp_window_shape ulp_windows_shape(const struct ulp_tensor *in,
                                          const struct ulp_windows *windows);
/* Product of count numbers >= 0, as ulp_dim_mul. */
int64_t ulp_product(const int64_t *numbers, int count);
