/* What an operation makes of its operands' errors, in powers of two. */
#pragma once

#include <mpfr.h>

#include "number/strip.h"

/* A number is below 2^size in magnitude, and at least 2^(size - 1) where it is not zero; it is
 * within 2^error of what exact arithmetic makes of a tape's operands. */
struct ulp_bounded {
    int64_t size, error;
};
/* As a size: zero, as an error: there is none. */
#define ULP_BOUND_NONE (INT64_MIN / 8)
/* As an error: nothing is known, as a decision hung on it. */
#define ULP_BOUND_UNKNOWN (INT64_MAX / 8)

static inline int64_t ulp_bound_size(const mpfr_t x)
{
    return mpfr_regular_p(x) ? (int64_t)mpfr_get_exp(x) : ULP_BOUND_NONE;
}
/* The error, at most, of a function's or arithmetic step's finite result, of that size, by those of
 * finite operands; what the step itself adds is left out. edge: the size of ulp_bound_edge. */
int64_t ulp_bound_carried(enum ulp_primitive primitive, int64_t size, const struct ulp_bounded x[3],
                          int64_t edge);
/* The size of what separates a from where the slope has a pole: 1 + a of log1p, 1 - |a| of asin,
 * acos and atanh, a - 1 of acosh. */
int64_t ulp_bound_edge(enum ulp_primitive primitive, const mpfr_t a);
/* The error of the result y (ternary: MPFR's) of any primitive on a, b, c, with such errors. */
int64_t ulp_bound_of(enum ulp_primitive primitive, const mpfr_t y, int ternary,
                     const mpfr_srcptr x[3], const int64_t errors[3], int arity);
