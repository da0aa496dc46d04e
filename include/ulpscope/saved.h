/* Audits that were written down: looking a node up in report.json without a new run, and comparing
 * two audits. doc/report.md describes the formats. */
#ifndef ULPSCOPE_SAVED_H
#define ULPSCOPE_SAVED_H

#include <ulpscope/written.h>
#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/audit.h>

struct ulp_saved;

/* Read report.json, or that in a folder, charged to budget, which must outlive it; without a
 * limit (or NULL): of 64 MiB at most. Not such a report, or of another schema: ULP_ERROR_INPUT.
 * Free with ulp_saved_free. */
ULP_API enum ulp_status ulp_saved_read(const char *path, struct ulp_budget *budget,
                                       struct ulp_saved **out, struct ulp_error *error);
ULP_API void ulp_saved_free(struct ulp_saved *saved);

/* What the report says, as text: of the model (pattern NULL) the verdicts and the outputs; of the
 * nodes that the pattern names every figure in every arithmetic. A pattern is a name with * and ?
 * ("..." before what a terminal cut), the name of a node's output, #INDEX or op:TYPE; one that
 * names no node: ULP_ERROR_USAGE, with similar names. width and colour as in ulp_report_text.
 * Free *out with free(). */
ULP_API enum ulp_status ulp_saved_show(const struct ulp_saved *saved, const char *pattern,
                                       int width, bool colour, char **out, struct ulp_error *error);

/* The same into that file, as JSON (report.json with only the nodes that the pattern names, or with
 * none) or as Markdown. */
ULP_API enum ulp_status ulp_saved_show_as(const struct ulp_saved *saved, const char *pattern,
                                          enum ulp_output_kind as, const char *path,
                                          struct ulp_error *error);

/* How many outputs of how many arithmetics became what. An error that is neither `factor` times as
 * large nor that much smaller is equal. What only one of the reports has, or what has no figures in
 * both (an empty output, one without a finite element), is worse: it cannot be compared. */
struct ulp_saved_changes {
    size_t worse, better, equal;
    size_t nonfinite_inputs; /* of both reports, that held NaN or infinity */
};
struct ulp_saved_comparison {
    double factor; /* above 1; 0: 1.1 */
    int width;     /* of text: both as in ulp_report_text */
    bool colour;
    /* also as files of these names, NULL: none: JSON (doc/report.md), a page of the later report,
     * and Markdown */
    const char *json, *page, *markdown;
};
/* What became better or worse from `before` to `after`, the verdict on each arithmetic first.
 * Arithmetics are paired by name, or where each report has one, those. Free *out with free(). */
ULP_API enum ulp_status ulp_saved_compare(struct ulp_saved *before, struct ulp_saved *after,
                                          const struct ulp_saved_comparison *how,
                                          struct ulp_saved_changes *changes, char **out,
                                          struct ulp_error *error);

/* The part of the audit that limits hold against: names, samples and figures of every output, for
 * ulp_audit_check; all other members are empty. It belongs to saved,
 * which one thread at a time may ask. ULP_ERROR_INPUT: a report of several samples that an earlier
 * version wrote. */
ULP_API enum ulp_status ulp_saved_audit(struct ulp_saved *saved, const struct ulp_audit **out,
                                        struct ulp_error *error);

#endif
