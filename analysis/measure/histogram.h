/* Counting elements by binary exponent. */
#pragma once

#include <ulpscope/audit.h>

#include "base/memory/alloc.h"

/* Counts by the field of the exponent in the double's pattern: 0 has zeros and doubles below
 * 2^-1022, the last one infinities and NaN. */
enum {
    ULP_EXPONENT_FIELDS = 2048,
    ULP_EXPONENT_NONFINITE = ULP_EXPONENT_FIELDS - 1,
    ULP_EXPONENT_BIAS = 1023
};
struct ulp_exponents {
    size_t fields[ULP_EXPONENT_FIELDS], zeros;
};
void ulp_exponents_count(struct ulp_exponents *counts, const double *x, size_t count);
/* Add what one thread has counted. Whole numbers are added, so that the order does not matter. */
void ulp_exponents_join(struct ulp_exponents *all, const struct ulp_exponents *part);

/* Add the counts to *all, whose counts are in memory. */
enum ulp_status ulp_histogram_add(struct ulp_histogram *all, const struct ulp_exponents *counts,
                                  struct ulp_arena *memory, struct ulp_error *error);
/* Add the counts of another. */
enum ulp_status ulp_histogram_join(struct ulp_histogram *all, const struct ulp_histogram *more,
                                   struct ulp_arena *memory, struct ulp_error *error);
