/* A node and its figures in report.json. */
#ifndef ULP_ANALYSIS_REPORT_JSON_NODE_H
#define ULP_ANALYSIS_REPORT_JSON_NODE_H

#include <ulpscope.h>

#include "analysis/writing/json_value.h"

/* Figures of a difference. */
json_t *ulp_json_metrics(const struct ulp_metrics *m);
json_t *ulp_json_outputs(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_node *node);
json_t *ulp_json_node(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *node);
/* What of a node is the same in every arithmetic: an entry of "graph". */
json_t *ulp_json_place(const struct ulp_place *place);

/* What the terminal says first of the arithmetic, and what to try next. */
json_t *ulp_json_verdict(const struct ulp_audit *audit, const struct ulp_audit_lane *lane);

#endif
