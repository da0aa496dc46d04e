/* Counting the elements of a tensor by binary exponent. */
#ifndef ULP_ANALYSIS_HISTOGRAM_H
#define ULP_ANALYSIS_HISTOGRAM_H

#include <ulpscope/analysis.h>

#include "base/machine/thread.h"
#include "base/memory/alloc.h"

/* Add the elements of the tensor, rounded to double, to *all, whose counts are in memory. On a pool
 * (may be NULL); whole numbers are added, so that neither threads nor the order of calls matter. */
enum ulp_status ulp_histogram_add(struct ulp_histogram *all, const struct ulp_tensor *tensor,
                                  struct ulp_arena *memory, struct ulp_pool *pool,
                                  struct ulp_error *error);
/* Add the counts of another. */
enum ulp_status ulp_histogram_join(struct ulp_histogram *all, const struct ulp_histogram *more,
                                   struct ulp_arena *memory, struct ulp_error *error);

#endif
