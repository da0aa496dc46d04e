/* Results that are not finite because an input has become 0: a divisor, what a logarithm is taken
 * of. No value is too large then, and an epsilon that is too small for the storage is the cause. */
#pragma once

#include "analysis/audit/auditor.h"

/* Of a node whose results are not finite in lane l, although its exact ones fit the storage: which
 * input has become 0. */
enum ulp_status ulp_zero_find(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l,
                              struct ulp_error *error);
/* At the end of the audit: the nodes that make these zeros. */
void ulp_zero_follow(const struct ulp_audit *audit, struct ulp_audit_lane *lane);
