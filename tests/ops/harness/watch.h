/* Watches every formula that runs: the linker sends calls of ulp_tape_run to __wrap_ulp_tape_run
 * (-Wl,--wrap=ulp_tape_run), which evaluates the same tape on the same operands in intervals
 * (interval.h), runs it, and checks each value stored.
 *
 * Two statements are checked for each value v of a tape run in arithmetic A. (1) v lies in the
 * interval of correctly rounded steps: every primitive's result rounded to A's compute format, sums
 * in A's order of rows in its accumulator, one rounding to storage. (2) When the operator is this
 * formula alone, the reference's value r lies in the interval whose steps are rounded outward,
 * which holds v and the exact result: |v - r| is at most its width, the error bound derived from
 * the formula. */
#pragma once

#include <mpfr.h>

#include "formula/tape.h"

struct watch {
    const char *what; /* for messages */
    /* the operator's outputs in the reference; NULL: statement 2 is not checked */
    const struct ulp_tensor *reference;
    /* checked so far; points: values for which statement 1 leaves a single one */
    size_t tapes, values, points;
    size_t contractions; /* calls of ulp_contract, which the linker redirects too */
    /* of |v - r| in the width, over all values of statement 2 */
    double largest_share;
};
/* Used by all runs until the next call; NULL: tapes run unwatched. */
void watch_start(struct watch *watch);

/* Element i of a tensor, exactly. */
void watch_element(mpfr_t out, const struct ulp_tensor *tensor, size_t i);
