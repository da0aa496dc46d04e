/* Differences of two tensors, each formed exactly and rounded once to double (between two float
 * carriers the double subtraction is that rounding). */
#ifndef ULP_ANALYSIS_DIFFERENCE_H
#define ULP_ANALYSIS_DIFFERENCE_H

#include <ulpscope/tensor.h>

#include "analysis/measure/metrics_strip.h"

/* A strip of both tensors as doubles, and value less base: NAN where one is not finite and one of
 * the tensors is wide. */
struct ulp_difference {
    struct ulp_metrics_side value, base;
    double difference[ULP_METRICS_STRIP];
    int64_t undecided[ULP_METRICS_STRIP];
};
/* Elements from `first` on: `count` of them, at most ULP_METRICS_STRIP. */
void ulp_difference_open(struct ulp_difference *strip, const struct ulp_tensor *value,
                         const struct ulp_tensor *base, size_t first, size_t count);
/* One tensor's; `count` are left, of which at most a strip is read. */
void ulp_side_open(struct ulp_metrics_side *side, const struct ulp_tensor *tensor, size_t first,
                   size_t count);

#endif
