/* Measuring tensors with a pool. */
#ifndef ULP_ANALYSIS_METRICS_H
#define ULP_ANALYSIS_METRICS_H

#include <ulpscope/analysis.h>

#include "base/thread.h"

/* As ulp_metrics_measure, on a pool (may be NULL). */
enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value, const struct ulp_tensor *base, const struct ulp_format *format,
                                       struct ulp_pool *pool, struct ulp_metrics *out, struct ulp_error *error);
/* Magnitudes of the finite elements of `base`, and headroom to the format's largest value. */
void ulp_range_measure(const struct ulp_tensor *base, const struct ulp_format *format, struct ulp_range *out);
/* As one sample after others: rms of rms, max, min; headroom from the new maximum. `before` samples are in *range already. */
void ulp_range_merge(struct ulp_range *range, const struct ulp_range *sample, size_t before, const struct ulp_format *format);

#endif
