/* The audit of one sample as bytes and back. */
#ifndef ULP_ANALYSIS_AUDIT_PART_H
#define ULP_ANALYSIS_AUDIT_PART_H

#include <ulpscope/part.h>

#include "base/text/coder.h"

/* Figures of a difference. */
void ulp_code_metrics(struct ulp_coder *coder, struct ulp_metrics *metrics);

/* What was encoded of an audit whose lanes have that many nodes: lanes, nodes and what lies in them
 * are in memory of the arena; only what is encoded is set. */
enum ulp_status ulp_part_decode(struct ulp_audit *out, const void *bytes, size_t count,
                                size_t lane_count, size_t node_count, struct ulp_arena *arena,
                                struct ulp_error *error);

#endif
