/* What to keep in FP32 so that an arithmetic does not overflow. */
#ifndef ULP_ANALYSIS_KEEP_H
#define ULP_ANALYSIS_KEEP_H

#include <ulpscope/analysis.h>

/* The node overflows, or would with finite inputs, or what it reads has: in a wider format all of
 * these are computed as they should. Not where exact arithmetic, too, makes such values of what
 * nodes before have rounded, as when a divisor has become 0. */
bool ulp_audit_should_keep(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
/* Would FP32 hold what overflows? Not where it has overflowed FP32, or a format of its range. */
bool ulp_audit_fp32_helps(const struct ulp_audit_lane *lane);

#endif
