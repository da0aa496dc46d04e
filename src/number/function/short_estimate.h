/* Short estimates of the functions that networks use most: 38 bits instead of 44, enough for all
 * but one float in 2^13, in less than half the time (function/short_estimate.c). */
#pragma once

#include "number/function/function.h"

#include <stddef.h>
#include <stdint.h>

/* Floats that one bit each of a word stands for. */
#define ULP_SHORT_LANES 16

/* out[i] = f(a[i]) rounded to binary32, ties to even, where the estimate leaves no choice; where it
 * does, out[i] is not written and bit i % 16 of left[i / 16] is set. The number of those. out may
 * be a. n <= ULP_STRIP. */
typedef int ulp_short_estimate_fn(float *out, const float *a, size_t n,
                                  uint16_t left[ULP_STRIP / ULP_SHORT_LANES]);

/* NULL: the function has none, or not on this processor. */
ulp_short_estimate_fn *ulp_short_estimate_of(enum ulp_primitive function);
