/* What report.json says beside the members of an audit. */
#pragma once

#include <ulpscope.h>

#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"

/* report.json with the digits of a page, of a struct ulp_audit. */
enum ulp_status ulp_report_json_shown(const void *audit, struct ulp_text *out,
                                      struct ulp_error *error);
/* The report without places, and of each lane with the nodes alone that a terminal shows something
 * of; NULL: out of memory. */
json_t *ulp_report_head(const struct ulp_audit *audit);
/* audit_page.c: its part of a page; root NULL: out of memory. */
struct ulp_html_report ulp_report_page(const struct ulp_audit *audit);
/* report_notes.c: sentences beside headlines and tables, of the whole and of a lane. */
json_t *ulp_report_notes(const struct ulp_audit *audit);
json_t *ulp_report_lane_notes(const struct ulp_audit *audit, const struct ulp_audit_lane *lane);
/* report_scaled.c: what formats with scales do to the lane's tensors. And what makes much of the
 * error of a node's factors, and what is against it; nothing of a node whose factors have no
 * scales. */
void ulp_report_scaled_notes(json_t **notes, const struct ulp_audit *audit,
                             const struct ulp_audit_lane *lane);
void ulp_scaled_remedy(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const char *node);
/* Is the node a QuantizeLinear of whose error clipping makes next to nothing? */
bool ulp_scaled_cuts_nothing(const struct ulp_audit_lane *lane, const char *node);
/* Where the node is a QuantizeLinear of the graph, or a DequantizeLinear behind one: what it
 * leaves, by what, and what to do. */
void ulp_scaled_quantiser(struct ulp_text *out, struct ulp_text *fix,
                          const struct ulp_audit_lane *lane, const struct ulp_audit_node *node);
