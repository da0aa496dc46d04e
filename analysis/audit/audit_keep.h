/* What to keep in FP32 so that an arithmetic does not overflow. */
#ifndef ULP_ANALYSIS_KEEP_H
#define ULP_ANALYSIS_KEEP_H

#include <ulpscope/audit.h>

/* The constant beyond the node's storage by which its results are wrong, or not finite, where that
 * does harm: a variance, not a mask that a Softmax absorbs. NULL: there is none. */
const struct ulp_audit_constant *ulp_audit_spoiling(const struct ulp_audit_lane *lane,
                                                    const struct ulp_audit_node *node);
/* The node reads such a constant, or makes a zero by which another is not finite: it needs the
 * range of a wider format, though no result of its own is too large. */
bool ulp_audit_breaks_range(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
/* The node overflows, or would with finite inputs, or what it reads has: in a wider format all of
 * these are computed as they should, as where a divisor has become 0, with the nodes that make it.
 * Not where exact arithmetic, too, makes such values of what nodes before have rounded otherwise.
 */
bool ulp_audit_should_keep(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
/* Would FP32 hold what overflows? Not where it has overflowed FP32, or a format of its range. */
bool ulp_audit_fp32_helps(const struct ulp_audit_lane *lane);

#endif
