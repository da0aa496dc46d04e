/* The frontier of a plan: the least error seen for each number of kept nodes. */
#ifndef ULP_ANALYSIS_PLAN_PICTURE_H
#define ULP_ANALYSIS_PLAN_PICTURE_H

#include <ulpscope/plan.h>

#include "base/text/text.h"

enum ulp_status ulp_frontier_csv(const struct ulp_found *found, struct ulp_text *out,
                                 struct ulp_error *error);
/* Both axes are labelled; the error's is logarithmic, with the tolerance as a line. */
enum ulp_status ulp_frontier_svg(const struct ulp_found *found, struct ulp_text *out,
                                 struct ulp_error *error);

#endif
