/* The truth of an audit with a reference model, as the auditor uses it. */
#pragma once

#include <ulpscope/audit.h>

struct ulp_truth;

/* What the truth says of a value of the audited model, in the given execution of its node; NULL: it
 * has no partner there, or one of another shape. */
const struct ulp_tensor *ulp_truth_find(const struct ulp_truth *truth, const char *name,
                                        size_t execution, const struct ulp_tensor *like);
/* Every pair must be of values that the models computed; ULP_ERROR_USAGE names the first that is
 * not. */
enum ulp_status ulp_truth_check(const struct ulp_truth *truth, const struct ulp_audit *audit,
                                struct ulp_error *error);

/* Another model's values as the truth, for a model that was rewritten (converted to FP16,
 * quantised, fused). A value of the audited model is then compared with the value r of the same
 * name and shape in the original, computed in the reference arithmetic from the same inputs:
 *
 *     entire = P(p) - r,  carried = R(p) - r,  introduced = P(p) - R(p);  entire is their sum
 *
 * where P and R evaluate the audited model's node, so that carried contains what the rewriting
 * changed before it. single does not use the original. For each sample: ulp_truth_clear, one
 * ulp_program_run of the original's program (one lane, the reference) with ulp_truth_observer, then
 * the audit's run. */
/* The original's values are charged to budget (may be NULL). Free with ulp_truth_free. */
enum ulp_status ulp_truth_create(struct ulp_budget *budget, struct ulp_truth **out,
                                 struct ulp_error *error);
void ulp_truth_free(struct ulp_truth *truth);
/* Compare the audited model's value `audited` with the original's value `original`, instead of the
 * one of its own name. Both names are copied; ulp_auditor_finish refuses names that the models do
 * not compute. */
enum ulp_status ulp_truth_pair(struct ulp_truth *truth, const char *audited, const char *original,
                               struct ulp_error *error);
bool ulp_truth_is_paired(const struct ulp_truth *truth, const char *audited);
/* The original has a value of that name, which no node of it computes: a constant. */
void ulp_truth_note(struct ulp_truth *truth, const char *original);
struct ulp_observer ulp_truth_observer(struct ulp_truth *truth);
void ulp_truth_clear(struct ulp_truth *truth);
