/* Elementary functions: correctly rounded in every format, and never by the machine's libm, so that
 * results travel. A sum of two doubles with a proven bound (function/pair.c) decides almost every
 * element; where the bound leaves two candidates, and for special values, MPFR (function/exact.c)
 * decides. Bounds: number/README.md, 7. */
#pragma once

#include "number/strip.h"

#include <mpfr.h>

/* The functions of one argument; POW is the only one of two. */
/* clang-format off */
#define ULP_UNARY_FUNCTIONS(X) \
    X(EXP) X(EXPM1) X(LOG) X(LOG1P) X(SIN) X(COS) X(TAN) X(ASIN) X(ACOS) X(ATAN) X(SINH) X(COSH) \
    X(TANH) X(ASINH) X(ACOSH) X(ATANH) X(ERF) X(SIGMOID) X(SOFTPLUS) X(RSQRT)
/* clang-format on */

/* out = f(a[, b]) correctly rounded to out's precision; the ternary value as MPFR's functions
 * return it. b is only read by POW. out may be a or b. Any primitive of the list above, POW and
 * SQRT. */
int ulp_function_mpfr(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                      mpfr_rnd_t rounding);

/* out[i] = f(a[i][, b[i]]) rounded to binary32, ties to even. out may be a or b. n <= ULP_STRIP. */
void ulp_function_floats(enum ulp_primitive primitive, float *out, const float *a, const float *b,
                         size_t n);

/* out[i] = f(a[i][, b[i]]) rounded once to a format of precision <= 51, element i drawing
 * stochastic number (seed, stream, first + i). out may be a or b. n <= ULP_STRIP. */
void ulp_function_doubles(const struct ulp_format *format, enum ulp_rounding rounding,
                          enum ulp_primitive primitive, double *out, const double *a,
                          const double *b, size_t n, uint64_t seed, uint64_t stream,
                          uint64_t first);
/* The same in binary64, ties to even. */
void ulp_function_binary64(enum ulp_primitive primitive, double *out, const double *a,
                           const double *b, size_t n);
/* The same rounded to odd at 53 bits, from which a rounding to 51 bits or fewer is the only one;
 * or, where only one to nearest even in the format `nearest` follows (NULL: any may), a number from
 * which that is. */
void ulp_function_to_odd(enum ulp_primitive primitive, const struct ulp_format *nearest,
                         double *out, const double *a, const double *b, size_t n);

/* x as a double rounded to odd: x itself when it is a double, else the neighbour whose last
 * significand bit is 1 (so zero and infinity only stand for themselves). ternary says how x errs
 * from the true value, as MPFR gave it under MPFR_RNDZ; precision of x >= 53. */
double ulp_double_to_odd(const mpfr_t x, int ternary);
