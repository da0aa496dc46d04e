/* Measuring the difference of two tensors on a pool of threads (metrics.c says how). */
#pragma once

#include <math.h>

#include <ulpscope/audit.h>

#include "analysis/measure/histogram.h"
#include "base/machine/thread.h"

/* As ulp_metrics_measure, on a pool (may be NULL). */
enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value,
                                       const struct ulp_tensor *base,
                                       const struct ulp_format *format, struct ulp_pool *pool,
                                       struct ulp_metrics *out, struct ulp_error *error);
/* Pairs that may be measured side by side: of two lanes' views. */
#define ULP_METRICS_PAIRS (2 * ULP_VIEW_COUNT)
struct ulp_metrics_pair {
    const struct ulp_tensor *value, *base;
    const struct ulp_format *format; /* whose ulps are meant */
    struct ulp_metrics *out;
};
/* The same of several pairs, which are reordered: a tensor in neighbours among them is read once.
 */
enum ulp_status ulp_metrics_measure_pairs(struct ulp_metrics_pair *pairs, size_t count,
                                          struct ulp_pool *pool, struct ulp_error *error);
/* The exponent of the power of two that a maximum's terms are divided by: 0 of 0, and held away
 * from double's ends. */
int ulp_metrics_scale(double maximum);
/* Two to the power of minus that, a normal double. */
double ulp_metrics_inverse(double maximum);
/* Magnitudes of the finite elements of `base`, and headroom to the format's largest value; on a
 * pool (may be NULL), with the same bits. */
void ulp_range_measure(const struct ulp_tensor *base, const struct ulp_format *format,
                       struct ulp_pool *pool, struct ulp_range *out);
/* The same, and the elements counted, as nearest doubles; *exponents begins with zeros. */
void ulp_range_count(const struct ulp_tensor *base, const struct ulp_format *format,
                     struct ulp_pool *pool, struct ulp_range *out, struct ulp_exponents *exponents);
double ulp_range_headroom(double ref_max, const struct ulp_format *format);

/* The decibels that stand for a result: -infinity where it is not finite. */
static inline double ulp_decibels(const struct ulp_metrics *metrics, double sqnr_db)
{
    return metrics->nonfinite ? -(double)INFINITY : sqnr_db;
}

/* rms over the reference's; 0 where nothing differs or nothing is defined, infinity where the
 * reference is 0. */
double ulp_relative_rms(const struct ulp_metrics *metrics, const struct ulp_range *range);

/* measure_merge.c. Figures put together. `before` samples (or executions) are in the first argument
 * already. */
/* The elements of both as if they were of one tensor; median_ulp: the larger. */
void ulp_metrics_join(struct ulp_metrics *all, const struct ulp_metrics *more);
/* Whether sample metrics a are worse than b: diverged, then non-finite, then by rms. */
bool ulp_metrics_worse(const struct ulp_metrics *a, const struct ulp_metrics *b);
/* Means; totals of nonfinite and count. */
void ulp_metrics_merge_mean(struct ulp_metrics *mean, const struct ulp_metrics *sample,
                            size_t before);
/* Each figure's worst: the largest, of cosine and sqnr_db the least. A figure that does not exist
 * counts as worse than any. */
void ulp_metrics_merge_limit(struct ulp_metrics *limit, const struct ulp_metrics *sample,
                             size_t before);
/* As one sample after others: rms of rms, max, min; headroom from the new maximum. `before` samples
 * are in *range already. */
void ulp_range_merge(struct ulp_range *range, const struct ulp_range *sample, size_t before,
                     const struct ulp_format *format);
