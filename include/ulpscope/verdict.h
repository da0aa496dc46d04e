/* What an arithmetic's errors are worth: fine, borderline or broken, by rules that are rows of one
 * table (doc/verdicts.md). */
#ifndef ULPSCOPE_VERDICT_H
#define ULPSCOPE_VERDICT_H

#include <ulpscope/audit.h>

/* Of one arithmetic of an audit. Names belong to the audit. */
struct ulp_verdict {
    enum ulp_grade grade;
    enum ulp_task task; /* of that output */
    const char *output; /* the worst one; NULL: an input, or no output at all */
    double sqnr_db;     /* its; -infinity: not finite, infinity: it has none */
    char *text;         /* why, in a sentence without a full stop */
};
/* Judge lane `lane` of the audit by its worst output. Free *out with ulp_verdict_free. */
ULP_API enum ulp_status ulp_audit_judge(const struct ulp_audit *audit, size_t lane,
                                        bool allow_nonfinite_inputs, struct ulp_verdict *out,
                                        struct ulp_error *error);
ULP_API void ulp_verdict_free(struct ulp_verdict *verdict);

#endif
