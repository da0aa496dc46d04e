/* Intervals that hold every value a correctly rounded computation can have, for the harness of
 * operators. Endpoints are MPFR numbers of INTERVAL_PRECISION bits, always rounded outward, so that
 * an interval is never too small; nothing here calls the library's strips.
 *
 * Rounding to nearest, RN, does not decrease: z in [lo, hi] gives RN(z) in [RN(lo), RN(hi)]. So a
 * computation whose every step is correctly rounded lies in the interval that evaluates each step
 * on endpoints and rounds these to nearest (INTERVAL_STEP): a single point when operands are
 * points. Rounding endpoints down and up instead (INTERVAL_BOUND) gives an interval that holds the
 * unrounded computation, too: an error bound of the one against the other. */
#pragma once

#include <mpfr.h>

#include "number/strip.h"

#define INTERVAL_PRECISION 320

/* [lo, hi], infinities included, if `number`; and NaN, if `nan`. At least one of both. */
struct interval {
    mpfr_t lo, hi;
    bool number, nan;
};
enum interval_rounding { INTERVAL_STEP, INTERVAL_BOUND };

void interval_init(struct interval *x);
void interval_clear(struct interval *x);
void interval_set(struct interval *out, const mpfr_t x);
void interval_copy(struct interval *out, const struct interval *x);

/* out = op(a, b, c), unrounded; out is none of the operands. */
void interval_compute(enum ulp_primitive primitive, struct interval *out, const struct interval *a,
                      const struct interval *b, const struct interval *c);
/* Every value of x rounded to the format (round to nearest, ties to even). */
void interval_round(struct interval *x, const struct ulp_format *format,
                    enum interval_rounding rounding);
/* x truncated to an integer, as a float is stored in a tensor of integers. */
void interval_truncate(struct interval *x);
/* value is in x; slack: relative to |value|. */
bool interval_holds(const struct interval *x, const mpfr_t value, double slack);
