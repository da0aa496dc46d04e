/* Smooth scales (SmoothQuant's idea, by powers of two): x W = (x / s) (s W), where a channel of x
 * is an outlier. The same in exact arithmetic, and in floats that hold s W. */
#pragma once

#include <ulpscope/run.h>

#include "load/mixed/edit_file.h"

struct ulp_smooth {
    const struct ulp_node *node; /* a product of a value and weights, in the main graph */
    size_t number;               /* in the plan */
    size_t channels, channel;    /* of the value; the outlier among them */
    double ratio;                /* its largest magnitude over the median's */
    struct ulp_edit edit;
};
struct ulp_smooths {
    struct ulp_smooth *items;
    size_t count;
};

/* In *memory. s of a channel is the power of two next to sqrt(largest of x / largest of W), by
 * FP32's run of the samples that have the first one's shapes. */
enum ulp_status ulp_smooth_find(const struct ulp_model *model, const struct ulp_sample *samples,
                                size_t sample_count, int thread_count, struct ulp_arena *memory,
                                struct ulp_smooths *out, struct ulp_error *error);
