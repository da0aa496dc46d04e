/* Reports as one HTML file, which needs no network and no other file. doc/report.md describes
 * it. */
#ifndef ULPSCOPE_HTML_H
#define ULPSCOPE_HTML_H

#include <ulpscope/audit.h>

/* Write the audit as a page: the verdict, the outputs, the graph, the error along the depth, all
 * nodes, schedules, and how every number was obtained. The file is complete or unchanged. */
ULP_API enum ulp_status ulp_report_html(const struct ulp_audit *audit, const char *path,
                                        struct ulp_error *error);
/* What it says as Markdown, for a comment on a pull request. */
ULP_API enum ulp_status ulp_report_markdown(const struct ulp_audit *audit, const char *path,
                                            struct ulp_error *error);
/* The same of reports that were written before: report.json, overflow.json, plan.json,
 * compare.json, engine.json, proof.json, doctor.json or lint --json, or of all of these
 * that are in a folder, as one page. Reading is charged to budget (may be NULL). No such report:
 * ULP_ERROR_INPUT. */
ULP_API enum ulp_status ulp_saved_html(const char *report, struct ulp_budget *budget,
                                       const char *path, struct ulp_error *error);

#endif
