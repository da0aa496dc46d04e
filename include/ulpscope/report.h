/* Writing an audit down. Writers compute nothing. Schema of report.json: doc/report.md. */
#ifndef ULPSCOPE_REPORT_H
#define ULPSCOPE_REPORT_H

#include <ulpscope/analysis.h>

/* Make the folder (and those above it) when it is missing and see that files can be made in it, so
 * that a long run does not end in a report that cannot be written. */
ULP_API enum ulp_status ulp_report_prepare(const char *folder, struct ulp_error *error);
/* The files of a report, NULL beyond the last. */
ULP_API const char *ulp_report_file_name(size_t index);
/* Write report.json, layers.csv and summary.txt into the folder (made when missing). They take
 * their names when all are whole, and together: of two reports that are written into one folder at
 * a time, the last one's files stay. */
ULP_API enum ulp_status ulp_report_write(const struct ulp_audit *audit, const char *folder,
                                         struct ulp_error *error);
/* The summary as text: the conclusion for each arithmetic first, then tables. *out is freed with
 * free(). width: columns of the terminal, to which names are cut (60 at least); 0: names stay
 * whole, as in summary.txt. colour: ANSI sequences. */
ULP_API enum ulp_status ulp_report_summary(const struct ulp_audit *audit, int width, bool colour,
                                           char **out, struct ulp_error *error);

/* The limits (ulp_audit_check) as JUnit's XML, which CI servers show: a test suite of the model, a
 * test case for each limit, a failure for each crossing. Written beside and renamed. */
ULP_API enum ulp_status ulp_report_junit(const struct ulp_audit *audit, const char *const *limits,
                                         size_t limit_count, bool allow_nonfinite_inputs,
                                         const char *path, struct ulp_error *error);

#endif
