/* What the auditor's files share. */
#ifndef ULP_ANALYSIS_AUDITOR_H
#define ULP_ANALYSIS_AUDITOR_H

#include "analysis/audit/given.h"
#include "analysis/audit/taint.h"
#include "analysis/audit/truth.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/metrics.h"
#include "base/error.h"
#include "base/machine/thread.h"
#include "run/plan/plan.h"

/* Figures of one output, of an execution or of all in a sample. */
struct ulp_round {
    struct ulp_metrics views[ULP_VIEW_COUNT];
    struct ulp_range range;
    struct ulp_format format;
    int rank; /* of the first */
    int64_t dims[ULP_RANK_MAX];
};

/* What the current sample's executions of a node gave for one output. Those of its first sample are
 * in the output already. */
struct ulp_sampled {
    size_t executions, samples_before;
    bool passed;             /* over a sample in which the output is empty */
    struct ulp_round *later; /* NULL: no executions in a later one yet */
};

struct ulp_auditor {
    const struct ulp_plan *plan;
    struct ulp_audit audit;
    size_t sample_capacity;
    struct ulp_arena *arena;      /* of what is needed while collecting */
    struct ulp_taint_set *taints; /* per audited lane */
    /* [lane][node]: of each output; NULL until the lane has run the node */
    struct ulp_sampled ***sampled;
    struct ulp_pool *pool;
    size_t sample; /* the current one */
    bool diverged; /* something has, in it */
    bool adds;     /* audits of samples are added (part.h) */
    struct ulp_given given;
    const struct ulp_truth *truth; /* NULL: the model's own */
};

static inline enum ulp_status ulp_auditor_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory for the audit");
}

/* An execution's figures, with those of the sample's executions before. */
enum ulp_status ulp_auditor_add_round(struct ulp_auditor *auditor, struct ulp_audit_output *output,
                                      struct ulp_sampled *sampled, const struct ulp_round *round,
                                      struct ulp_error *error);
/* All samples are added: sums of shares become means. */
void ulp_auditor_finish_added(struct ulp_audit *audit);
/* The sample is over: into the worst and the mean of all. */
enum ulp_status ulp_auditor_keep_samples(struct ulp_auditor *auditor, struct ulp_error *error);

#endif
