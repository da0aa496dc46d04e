/* Elementary functions to more than 53 bits, as sums of two doubles with a bound (number/README.md,
 * section 7.2): what decides almost every result in binary64. */
#pragma once

#include "number/function/function.h"

/* high[i] + low[i] within error[i] of f(a[i][, b[i]]); b is only read by POW. error[i] is 0 where
 * the result is high[i] itself, NaN where nothing is said: NaN, most infinities, arguments and
 * results beyond 2^+-900 or near overflow, and outside the domain. error[i] may reach further than
 * |low[i]|. n <= ULP_STRIP. */
void ulp_function_pairs(enum ulp_primitive primitive, double *restrict high, double *restrict low,
                        double *restrict error, const double *restrict a, const double *restrict b,
                        size_t n);

/* The errors relative to |high[i]|; what is derived and measured stays below a quarter. */
#define ULP_PAIR_ERROR 0x1p-63
#define ULP_PAIR_ERROR_ERF 0x1p-61
/* For sin, cos and tan there is besides: what the reduction of large arguments leaves. */
#define ULP_PAIR_ERROR_ANGLE 0x1p-98
