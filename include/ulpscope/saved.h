/* Audits that were written down: looking a node up in report.json without a new run, comparing two
 * audits, and handing one on in other tools' formats. doc/report.md describes the formats. */
#ifndef ULPSCOPE_SAVED_H
#define ULPSCOPE_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/memory.h>

struct ulp_saved;

/* Read report.json, or that in a folder, of 64 MiB at most, charged to budget (may be NULL). Not
 * such a report, or of another schema: ULP_ERROR_INPUT. Free with ulp_saved_free. */
ULP_API enum ulp_status ulp_saved_read(const char *path, struct ulp_budget *budget,
                                       struct ulp_saved **out, struct ulp_error *error);
ULP_API void ulp_saved_free(struct ulp_saved *saved);

/* What the report says, as text: of the model (pattern NULL) the verdicts and the outputs; of the
 * nodes that the pattern names every figure in every arithmetic. A pattern is a name with * and ?
 * ("..." before what a terminal cut), the name of a node's output, #INDEX or op:TYPE; one that
 * names no node: ULP_ERROR_USAGE, with similar names. width and colour as in ulp_report_summary.
 * Free *out with free(). */
ULP_API enum ulp_status ulp_saved_show(const struct ulp_saved *saved, const char *pattern,
                                       int width, bool colour, char **out, struct ulp_error *error);

/* How many outputs of how many arithmetics became what. An error that is neither `factor` times as
 * large nor that much smaller is equal. What only one of the reports has is worse: it cannot be
 * compared. */
struct ulp_saved_changes {
    size_t worse, better, equal;
};
/* What became better or worse from `before` to `after`, as text, the verdict on each arithmetic
 * first. Arithmetics are paired by name, or where each report has one, those. factor above 1; 0:
 * 1.1. Free *out with free(). */
ULP_API enum ulp_status ulp_saved_compare(const struct ulp_saved *before,
                                          const struct ulp_saved *after, double factor, int width,
                                          bool colour, struct ulp_saved_changes *changes,
                                          char **out, struct ulp_error *error);

/* Formats to hand a report on in: index 0, 1, ... until NULL. */
struct ulp_saved_format {
    const char *name, *meaning;
};
ULP_API const struct ulp_saved_format *ulp_saved_format_row(size_t index);
/* The report in that format. arithmetic: which, of a format that takes one (NULL: the first);
 * figure: "share", "introduced", "entire" or "headroom", of a format that takes one (NULL: shares
 * where the report has them, else introduced). Free *out with free(). */
ULP_API enum ulp_status ulp_saved_export(const struct ulp_saved *saved, const char *format,
                                         const char *arithmetic, const char *figure, char **out,
                                         struct ulp_error *error);
/* The same into the file `path`, which is written beside it and renamed. */
ULP_API enum ulp_status ulp_saved_write(const struct ulp_saved *saved, const char *format,
                                        const char *arithmetic, const char *figure,
                                        const char *path, struct ulp_error *error);

#endif
