/* In which order PyTorch's convolutions on a GPU add their products (conv=torch), as far as
 * recordings tell. */
#pragma once

#include "ops/spatial/window.h"

/* How a kernel goes through the products of one result. */
enum ulp_conv_order {
    ULP_CONV_CHAIN, /* no matrix unit: a chain in the weight's order */
    ULP_CONV_TILES, /* tiles of channels, in each the positions, in each of these the channels */
    ULP_CONV_DENSE, /* positions, in each of them all channels */
    ULP_CONV_INTERLEAVED, /* the same, neighbours in two blocks: a quarter block to each in turn */
    ULP_CONV_REST_FIRST,  /* as tiles, what is over whole ones at the beginning */
};

struct ulp_conv_kernel {
    enum ulp_conv_order order;
    int64_t tile; /* channels, of TILES and REST_FIRST */
    int block;    /* what the unit adds at once, and zeros fill up */
    int slices;   /* of k, of so many terms; 1: it is not cut */
    int slice;
    bool ties_away; /* how factors are rounded to TF32 */
};

/* The kernel that cuDNN 9.19 takes for the nearest recorded convolution. `out` features. false:
 * nothing of that kind was recorded (a product of matrices but in TF32, groups, other ranks). */
bool ulp_conv_kernel_find(const struct ulp_arithmetic *arithmetic, int64_t channels, int64_t out,
                          const struct ulp_windows *windows, struct ulp_conv_kernel *kernel);

/* The places (channel x positions + position) of the products in the kernel's order, -1 where a
 * block of the unit is filled up with zeros. NULL: only their number is wanted. */
size_t ulp_conv_kernel_order(const struct ulp_conv_kernel *kernel, int64_t channels,
                             int64_t positions, int64_t *places);
