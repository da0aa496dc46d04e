/* What Conv and ConvTranspose share: the padded input, and tables of offsets. */
#pragma once

#include "ops/call.h"

/* The input as a contraction's factor: with zeros around it and a map of them in one channel, or as
 * it is when none are needed. */
struct ulp_padded {
    struct ulp_tensor tensor;
    uint8_t *padding;
    int64_t strides[ULP_RANK_MAX]; /* of the spatial axes */
    int64_t channel;               /* elements of one */
};

/* What Conv and ConvTranspose share: batch x groups, channels in and out of a group. */
struct ulp_conv_groups {
    int64_t batch, count, in, out;
};

/* `before` zeros in front of each spatial axis, `size` elements with them. */
enum ulp_status ulp_pad_input(struct ulp_call *call, const struct ulp_tensor *in, int rank,
                              const int64_t *before, const int64_t *size, struct ulp_padded *out);
/* Positions of a box of `rank` axes, row-major: table[i] = sum of (start[d] + index[d] * step[d]) *
 * strides[d]. */
enum ulp_status ulp_box_table(const struct ulp_call *call, int rank, const int64_t *counts,
                              const int64_t *start, const int64_t *step, const int64_t *strides,
                              int64_t **table);
/* Offsets over (image, group): the weights', the input's and the output's. */
enum ulp_status ulp_conv_group_tables(const struct ulp_call *call, const struct ulp_conv_groups *g,
                                      int64_t weights, int64_t in_channel, int64_t out_channel,
                                      int64_t *tables[3]);
/* (channel, kernel position) row-major. */
enum ulp_status ulp_conv_channel_table(const struct ulp_call *call, int64_t channels, int64_t step,
                                       int64_t positions, const int64_t *offsets, int64_t **table);
/* The output: batch, all groups' channels, `spatial`. */
enum ulp_status ulp_conv_describe(struct ulp_call *call, enum ulp_type type,
                                  const struct ulp_conv_groups *g, const int64_t *spatial,
                                  int rank);
/* product_conv.c: the call's arithmetic; with conv=searched and a shape that cuDNN's search found
 * no TF32 kernel for, *own, scalar chains. */
const struct ulp_arithmetic *ulp_conv_searched(const struct ulp_call *call,
                                               struct ulp_arithmetic *own);
