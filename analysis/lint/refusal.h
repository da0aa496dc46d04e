/* What stands before every figure of a model at a target: that its parser refuses the graph, or
 * else what the lint calls an error there. No figure shows it. */
#pragma once

#include "analysis/lint/lint.h"
#include "base/text/text.h"

/* The first refusal; without one the first error that `passes` does not leave out (NULL: it leaves
 * out none); NULL: there is neither. */
const struct ulp_finding *ulp_lint_find_error(const struct ulp_lint_result *lint,
                                              bool (*passes)(const char *rule));
static inline bool ulp_lint_refuses(const struct ulp_finding *finding)
{
    return finding && ulp_lint_rows[finding->row].refuses;
}
/* "trt10 refuses the model: ... (rule)". */
void ulp_lint_say_error(struct ulp_text *out, const struct ulp_finding *finding,
                        const char *target);
