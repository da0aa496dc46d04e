/* The lower median of many numbers >= 0, found by all threads. A first pass counts numbers in
 * bins; a second looks only at those in the bin that holds the median. */
#ifndef ULP_ANALYSIS_MEDIAN_H
#define ULP_ANALYSIS_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/machine/thread.h"

struct ulp_median {
    double *values; /* count of them, for the caller to fill; below 0: left out. No NaN, no -0 */
    size_t count;

    size_t *bins; /* of each worker: how many of its values lie in each bin; then those left out */
    size_t worker_count, bin_count, bin; /* the median's bin */
    int64_t bin_first;                   /* upper bits of a pattern that would lie in bin 0 */
    int bin_shift;
    struct ulp_median_part *parts;
};

/* Freed even when this fails. */
enum ulp_status ulp_median_create(struct ulp_median *out, size_t count, struct ulp_pool *pool,
                                  struct ulp_error *error);
void ulp_median_free(struct ulp_median *median);
/* Values [first, last) are there. Each is counted once; workers count at the same time. */
void ulp_median_count(struct ulp_median *median, size_t first, size_t last, int worker);
/* Of values that are all counted: number (kept - 1) / 2 in rising order of those kept, NaN when
 * none is. values are overwritten. */
enum ulp_status ulp_median_find(struct ulp_median *median, struct ulp_pool *pool, double *out,
                                struct ulp_error *error);

#endif
