/* FP32 and TF32 products as a library's kernels go through them. */
#pragma once

#include "ops/call.h"

/* The arithmetic, which is of TF32 or FP32 and has no slices yet, and the problem's k in the order
 * that ulp_cublas_find says. Where blocks have to be filled up, b is copied with the zeros that the
 * kernel puts there; of two factors that are computed neither is, and what is over whole tiles
 * stays last. */
enum ulp_status ulp_lay_library(const struct ulp_call *call, struct ulp_arithmetic *arithmetic,
                                struct ulp_contraction *problem);

/* Entries of a table of k in the order of `places`; of a negative one the first. */
enum ulp_status ulp_reorder(const struct ulp_call *call, const int64_t *places, size_t count,
                            const int64_t **table);
/* A constant factor's lines in that order, with zeros in the negative places, which no product
 * has. */
enum ulp_status ulp_fill_lines(const struct ulp_call *call, const int64_t *places, size_t count,
                               size_t lines, struct ulp_factor *factor);
/* Like `model`, but of these values in lines. */
void ulp_make_flat(struct ulp_tensor *out, const struct ulp_tensor *model, float *values,
                   size_t lines, size_t count);
