/* Quantised weights with other scales than their file has. */
#ifndef ULP_ANALYSIS_RESCALE_H
#define ULP_ANALYSIS_RESCALE_H

#include "run/plan/plan.h"

/* The floats, which the original has where the dequantizer's readers read, rounded to its integers
 * by a scale for each output channel of the first reader: its largest magnitude over the largest
 * integer. *out stays undefined where it has such scales already, or no channels, or where its
 * integers have no sign. Free it with ulp_tensor_free. */
enum ulp_status ulp_rescale_channels(const struct ulp_plan *plan,
                                     const struct ulp_step *dequantizer,
                                     const struct ulp_tensor *floats, struct ulp_tensor *out,
                                     struct ulp_error *error);

#endif
