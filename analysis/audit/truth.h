/* The truth of an audit with a reference model, as the auditor uses it. */
#ifndef ULP_ANALYSIS_TRUTH_H
#define ULP_ANALYSIS_TRUTH_H

#include <ulpscope/analysis.h>

/* What the truth says of a value of the audited model, in the given execution of its node; NULL: it
 * has no partner there, or one of another shape. */
const struct ulp_tensor *ulp_truth_find(
    const struct ulp_truth *truth, const char *name, size_t execution,
    const struct ulp_tensor *like); /* Every pair must be of values that the models computed;
                                     * ULP_ERROR_USAGE names the first that is not. */
enum ulp_status ulp_truth_check(const struct ulp_truth *truth, const struct ulp_audit *audit,
                                struct ulp_error *error);

#endif
