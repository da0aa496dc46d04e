/* The four views of an output, in all lanes. */
#pragma once

#include <ulpscope/run.h>

#include "analysis/measure/metrics.h"

/* An output in one lane. */
struct ulp_viewed {
    const struct ulp_lane_value *value;
    const struct ulp_format *format; /* whose ulps are meant */
    struct ulp_metrics *views;       /* ULP_VIEW_COUNT of them, found */
};

/* single is of the model's own reference, the others of the truth. A view of what a run without
 * audit does not compute is not defined. Lanes without a value are passed over. */
enum ulp_status ulp_views_measure(const struct ulp_viewed *lanes, size_t lane_count,
                                  const struct ulp_tensor *own, const struct ulp_tensor *truth,
                                  struct ulp_pool *pool, struct ulp_error *error);
