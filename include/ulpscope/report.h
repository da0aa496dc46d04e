/* Writing an audit to files and to the terminal. doc/fields.md is the schema of report.json. */
#ifndef ULPSCOPE_REPORT_H
#define ULPSCOPE_REPORT_H

#include <ulpscope/audit.h>

/* Make the folder (and those above it) when it is missing, and check that files can be made in it:
 * call it before a long run, so that the report can be written at its end. */
ULP_API enum ulp_status ulp_report_prepare(const char *folder, struct ulp_error *error);
/* Write report.json, layers.csv and summary.txt into the folder (made when missing). The files are
 * written under other names and renamed together when all are complete: of two reports written into
 * one folder at the same time, the later one's files stay. */
ULP_API enum ulp_status ulp_report_write(const struct ulp_audit *audit, const char *folder,
                                         struct ulp_error *error);
/* report.json alone, as the file of that path. */
ULP_API enum ulp_status ulp_audit_write_json(const struct ulp_audit *audit, const char *path,
                                             struct ulp_error *error);
/* The summary as text: the verdict on each arithmetic first, then tables. Free *out with free().
 * width: columns of the terminal, at least 60, to which names are cut; 0: names are not cut, as in
 * summary.txt. colour: use ANSI colour sequences. */
ULP_API enum ulp_status ulp_report_text(const struct ulp_audit *audit, int width, bool colour,
                                        char **out, struct ulp_error *error);

/* "why   the worst is torch:fp16: output y is ...; node 4 fc (Gemm) causes ...": what the lane
 * makes of the outputs and, where they are not fine, by which node; and where that it is or another
 * lane is not rests on a rule that nobody recorded. Free *out with free(); width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_report_why(const struct ulp_audit *audit, size_t lane, int width,
                                       bool colour, char **out, struct ulp_error *error);

/* Write the limits that are kept (ulp_audit_keep_limits) as JUnit's XML, which CI servers show: a
 * test suite for the model, a test case for each limit, a failure for each crossing. The file is
 * complete or unchanged. */
ULP_API enum ulp_status ulp_report_junit(const struct ulp_audit *audit, const char *path,
                                         struct ulp_error *error);

#endif
