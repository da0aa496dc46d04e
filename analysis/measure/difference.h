/* Differences of two tensors, each formed exactly and rounded once to double (between two float
 * carriers the double subtraction is that rounding). */
#ifndef ULP_ANALYSIS_DIFFERENCE_H
#define ULP_ANALYSIS_DIFFERENCE_H

#include <ulpscope/tensor.h>

#include "analysis/measure/metrics_strip.h"

/* Elements from `first` on, `count` of them, at most ULP_METRICS_STRIP: both tensors' as the
 * nearest doubles, and value less base: NAN where one is not finite and one of the tensors is wide.
 */
void ulp_difference_read(double *difference, double *value_out, double *base_out,
                         const struct ulp_tensor *value, const struct ulp_tensor *base,
                         size_t first, size_t count);
/* One tensor's. */
void ulp_side_read(double *out, const struct ulp_tensor *tensor, size_t first, size_t count);

#endif
