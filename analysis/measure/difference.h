/* Differences of two tensors, each formed exactly and rounded once to double (between two float
 * carriers the double subtraction is that rounding). */
#pragma once

#include <ulpscope/tensor.h>

#include "analysis/measure/metrics_strip.h"

/* In two steps, for a tensor that has several others to be compared with: elements from `first` on,
 * `count` of them, at most ULP_METRICS_STRIP, as the nearest doubles; and value less base of the
 * same elements of two tensors: NAN where one is not finite and one of the tensors is wide. */
void ulp_side_open(struct ulp_metrics_side *side, const struct ulp_tensor *tensor, size_t first,
                   size_t count);
void ulp_sides_subtract(double *difference, const struct ulp_metrics_side *value,
                        const struct ulp_metrics_side *base);
/* Whether the first elements of two tensors are equal: those of a node that only moves values. */
bool ulp_sides_begin_equal(const struct ulp_tensor *a, const struct ulp_tensor *b);
/* One tensor's nearest doubles, of any number of elements. */
void ulp_side_read(double *out, const struct ulp_tensor *tensor, size_t first, size_t count);
