/* Where an arithmetic with qdq=integer first differs from the same arithmetic without it. */
#pragma once

#include <ulpscope/audit.h>

/* Find each lane's other lane. */
void ulp_qdq_divergence_prepare(struct ulp_audit *audit);
/* Compare the two lanes' results of a node; index: of the lane among the audited ones. */
void ulp_qdq_divergence_measure(struct ulp_audit_lane *lane, const struct ulp_event *event,
                                size_t index);
