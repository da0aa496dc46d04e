/* Counts of slices tried against recorded results. */
#pragma once

#include <ulpscope/format.h>
#include <ulpscope/tensor.h>

/* The counts that split-k=auto tries, at most. */
#define ULP_SLICES_TRIED_MAX 40
/* These counts, ascending from 1: index 0, 1, ... until 0. */
int ulp_slices_tried(size_t index);
/* The arithmetic with k cut in that many slices. */
enum ulp_status ulp_slices_arithmetic(struct ulp_arithmetic *out,
                                      const struct ulp_arithmetic *arithmetic, int slices,
                                      struct ulp_error *error);
/* How many elements have the same value, sign of zero included; NaN equals NaN. */
size_t ulp_equal_elements(const struct ulp_tensor *a, const struct ulp_tensor *b);
