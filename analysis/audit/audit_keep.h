/* What must be kept in FP32 for its range: the one place that decides it, for what reports advise,
 * for shares of an arithmetic that overflows, for forecasts and for searches. */
#pragma once

#include <ulpscope/audit.h>

/* The constant beyond the node's storage by which its results are wrong, or not finite, where that
 * does harm: a variance, not a mask that a Softmax absorbs. NULL: there is none. */
const struct ulp_audit_constant *ulp_audit_spoiling(const struct ulp_audit_lane *lane,
                                                    const struct ulp_audit_node *node);
/* The node overflows, or would with finite inputs, or what it reads has: in a wider format all of
 * these are computed as they should, as where a divisor has become 0, with the nodes that make it.
 * Not where exact arithmetic, too, makes such values of what nodes before have rounded otherwise.
 */
bool ulp_audit_should_keep(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
/* The same of an overflow that starts at the node or that it reads. born: there, and by its own
 * arithmetic. */
bool ulp_audit_overflow_needs_range(const struct ulp_audit_lane *lane,
                                    const struct ulp_audit_node *node, bool born,
                                    bool reads_overflow);
/* Mark those that should be kept and are not marked. If none does harm, those whose overflow is
 * absorbed: derivatives do not pass infinities. How many there are. allowed: by node; NULL: all. */
size_t ulp_audit_mark_kept(const struct ulp_audit_lane *lane, const bool *allowed, bool *kept);
/* Would FP32 hold what overflows? Not where it has overflowed FP32, or a format of its range. */
bool ulp_audit_fp32_helps(const struct ulp_audit_lane *lane);
