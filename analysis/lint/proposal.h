/* What the lint proposes to do: edits of a model that need no run. */
#ifndef ULP_ANALYSIS_PROPOSAL_H
#define ULP_ANALYSIS_PROPOSAL_H

#include "analysis/lint/lint.h"
#include "load/mixed/edit_file.h"

struct ulp_lint_proposal {
    struct ulp_lint_edit said;
    size_t first, edit_count; /* of the edits, which belong together */
};
struct ulp_lint_proposals {
    struct ulp_lint lint; /* its arena holds the rest */
    struct ulp_lint_proposal *items;
    size_t count, capacity;
    struct ulp_edit *edits;
    size_t edit_count, edit_capacity;
};

/* Everything that could be done, in graph order by kind; free *out with ulp_lint_proposals_free,
 * also after a failure. The model and the options outlive it. */
enum ulp_status ulp_lint_propose(const struct ulp_model *model,
                                 const struct ulp_lint_options *options,
                                 struct ulp_lint_proposals *out, struct ulp_error *error);
void ulp_lint_proposals_free(struct ulp_lint_proposals *proposals);
/* The model with those that are taken; none: no file. */
enum ulp_status ulp_lint_write_edited(const struct ulp_lint_proposals *proposals, const bool *taken,
                                      const char *path, struct ulp_error *error);

#endif
