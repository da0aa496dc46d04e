/* Elementary functions of pairs of doubles, high + low, with a bound (number/README.md, section
 * 7.2): the reference's, and what decides almost every result in binary64. */
#pragma once

#include "number/function/function.h"

/* high[i] + low[i], high[i] being their sum rounded to nearest, within error[i] of f of pairs that
 * are alike, a_high[i] + a_low[i] [and b_high[i] + b_low[i]: only of POW]; NULL for low parts:
 * zeros. error[i] is 0 where the result is exact, NaN where nothing is said (high[i] and low[i] may
 * be anything then): NaN, most infinities, arguments and results beyond 2^+-900 or near overflow,
 * and outside the domain. Where something is said the bits are the same on every processor. Results
 * may be written over arguments. n <= ULP_STRIP. */
void ulp_function_pairs(enum ulp_primitive primitive, double *high, double *low, double *error,
                        const double *a_high, const double *a_low, const double *b_high,
                        const double *b_low, size_t n);

/* The errors relative to |high[i]|; what is derived and measured stays below a quarter. */
#define ULP_PAIR_ERROR 0x1p-90
/* What the reduction of large arguments leaves besides of sin and cos; of tan 1 + tan^2 times as
 * much. pow errs by 2^-102 |y| more. */
#define ULP_PAIR_ERROR_ANGLE 0x1p-104

/* Makes of such results, in arrays of ULP_STRIP, the values to odd: high[i] where error[i] is 0
 * then; where it is not the bound leaves that open, and both are as before. Whether one is open. */
bool ulp_pairs_to_odd(double *high, double *low, double *error, size_t n);
