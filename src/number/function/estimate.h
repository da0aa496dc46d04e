/* Estimates of elementary functions in double, with an error bound (function/estimate.c). */
#pragma once

#include "number/function/function.h"

/* |out[i] - f| <= this * |f|, or out[i] is NaN (not decided), or both are, with one sign, beyond
 * 2^280 or below 2^-280. */
#define ULP_ESTIMATE_ERROR 0x1p-44
#define ULP_ESTIMATE_ERROR_POW 0x1p-42

/* f(a[i]) for a unary function; a[i] of any float-like format: a double of |a[i]| <= 2^128, or
 * infinite, or NaN; for sin, cos and tan of at most 32 significant bits. */
void ulp_estimate(enum ulp_primitive function, double *restrict out, const double *restrict a,
                  size_t n);
void ulp_estimate_pow(double *restrict out, const double *restrict a, const double *restrict b,
                      size_t n);
/* out[i] = f(a[i][, b[i]]) rounded to binary32, except for as many elements as it returns: where
 * the bound leaves a choice. */
int ulp_estimate_floats(enum ulp_primitive function, float *restrict out, const float *restrict a,
                        const float *restrict b, size_t n);
