/* The frontier: the least error seen for each cost. */
#pragma once

#include <ulpscope/search.h>

#include "base/text/text.h"

enum ulp_status ulp_frontier_csv(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error);
/* Both axes are labelled; the error's is logarithmic, with the tolerance as a line. */
enum ulp_status ulp_frontier_svg(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error);
