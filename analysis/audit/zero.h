/* Results that are not finite because an input has become 0: a divisor, what a logarithm is taken
 * of. No value is too large then, and an epsilon that is too small for the storage is the cause. */
#pragma once

#include "analysis/audit/auditor.h"

/* Note of the event's node which of its results have become 0 in lane l, whether it only hands zeros
 * on, and by how many elements it divides that are below the normal numbers; and of one execution more where they come from (ulp_audit_node.zero_from). */
void ulp_zero_look(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l);
void ulp_zero_join(struct ulp_audit_node *node, ptrdiff_t from);
/* Of a node whose results are not finite in lane l, although its exact ones fit the storage: which
 * input has become 0, at elements that are not finite: a divisor, not what is divided. */
enum ulp_status ulp_zero_find(struct ulp_auditor *auditor, const struct ulp_event *event, size_t l,
                              struct ulp_error *error);
/* The lane's constant of this name, if elements of it are stored as 0, not raised; else NULL. */
const struct ulp_audit_constant *ulp_zero_constant(const struct ulp_audit_lane *lane,
                                                   const char *name);
/* The node where values that node n computes have become 0, back over those that hand zeros on. */
size_t ulp_zero_origin(const struct ulp_audit_lane *lane, size_t n);
/* At the end of the audit: the nodes that make these zeros. */
void ulp_zero_follow(const struct ulp_audit *audit, struct ulp_audit_lane *lane);
