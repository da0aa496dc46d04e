/* What of a node is the same in every lane: its formula, where its inputs come from, and how the
 * reference's values of its outputs lie. */
#ifndef ULP_ANALYSIS_PLACE_H
#define ULP_ANALYSIS_PLACE_H

#include <ulpscope/analysis.h>

#include "base/machine/thread.h"
#include "run/plan/plan.h"

/* The places of all nodes, without values, in the audit's memory. */
enum ulp_status ulp_places_make(struct ulp_audit *audit, const struct ulp_plan *plan,
                                struct ulp_error *error);
/* Count the reference's values of output o of the event's node. */
enum ulp_status ulp_place_count(struct ulp_audit *audit, const struct ulp_event *event, size_t o,
                                const struct ulp_tensor *values, struct ulp_pool *pool,
                                struct ulp_error *error);
/* Add the counts of another audit, whose nodes have as many outputs. */
enum ulp_status ulp_places_add(struct ulp_audit *audit, const struct ulp_audit *sample,
                               struct ulp_error *error);

#endif
