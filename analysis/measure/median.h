/* The lower median of many numbers >= 0: exact, so with the same bits for any number of threads.
 * Numbers come in any order, and only those near the median are kept: where that is tells a sample
 * of them that comes first. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/machine/thread.h"

struct ulp_median {
    size_t count;          /* of the numbers to come */
    int64_t least, beyond; /* patterns of those that are kept: [least, beyond), least > 0 */
    double *kept;
    size_t capacity;
    atomic_size_t kept_count; /* beyond the capacity: lost */

    size_t *bins; /* of each worker: how many of its numbers lie in each bin (median.c) */
    size_t worker_count, bin_count;
    int64_t bin_first; /* upper bits of a pattern that would lie in bin 0 */
    int bin_shift;
    size_t bin, rank; /* the median's, and its place in it; of no numbers bin_count */
};

/* expected: count; or as many as come first, and then ulp_median_aim. */
enum ulp_status ulp_median_create(struct ulp_median *out, size_t count, size_t expected,
                                  struct ulp_pool *pool, struct ulp_error *error);
void ulp_median_free(struct ulp_median *median);
/* Counts values, which are no NaN and not -0; below 0: left out. Those that are to be kept go to
 * `chosen`, which has room for count; their number. */
size_t ulp_median_take(struct ulp_median *median, double *chosen, const double *values,
                       size_t count, int worker);
/* What was chosen, of one call or several. */
void ulp_median_keep(struct ulp_median *median, const double *chosen, size_t count, int worker);
/* After those expected: what is kept of the others. */
enum ulp_status ulp_median_aim(struct ulp_median *median, struct ulp_pool *pool,
                               struct ulp_error *error);
/* After all: whether what is kept holds the median. If not, ulp_median_again, all come once
 * more, and it does. */
bool ulp_median_settle(struct ulp_median *median);
enum ulp_status ulp_median_again(struct ulp_median *median, struct ulp_pool *pool,
                                 struct ulp_error *error);
/* After ulp_median_settle said so. NaN without any; reorders what is kept. */
enum ulp_status ulp_median_find(struct ulp_median *median, struct ulp_pool *pool, double *out,
                                struct ulp_error *error);
