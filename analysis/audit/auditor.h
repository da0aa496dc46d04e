/* What the auditor's files share. */
#pragma once

#include "analysis/audit/birth.h"
#include "analysis/audit/given.h"
#include "analysis/audit/lost.h"
#include "analysis/audit/taint.h"
#include "analysis/audit/truth.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/metrics.h"
#include "base/error.h"
#include "base/machine/thread.h"
#include "run/program/program.h"

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

/* Collecting an audit. Create an auditor; for each sample call ulp_auditor_sample and then
 * ulp_program_run with options.audit set and ulp_auditor_observer() among the observers; at the end
 * call ulp_auditor_finish. Without options.audit, which is quicker, single, introduced and carried
 * are not defined, and entire is the same bits. The program must outlive the auditor. Charged to
 * the model's budget. */
struct ulp_listed_output;
struct ulp_auditor {
    const struct ulp_program *program;
    struct ulp_audit audit;
    size_t sample_capacity;
    struct ulp_arena *arena;      /* of what is needed while collecting */
    struct ulp_taint_set *taints; /* per audited lane */
    /* [lane][node]: of each output; NULL until the lane has run the node */
    struct ulp_sampled ***sampled;
    struct ulp_pool *pool;
    size_t sample;                     /* the current one */
    bool diverged;                     /* something has, in it */
    bool lists, reordered;             /* a TopK lists otherwise; and so does a choice behind it */
    struct ulp_listed_output **listed; /* per audited lane: of the sample (listed.h) */
    bool adds;                         /* audits of samples are added (part.h) */
    struct ulp_given given;
    struct ulp_birth_watch births; /* of the current sample; those of others are in the audit */
    struct ulp_lost lost;          /* digits of the reference, in it */
    size_t birth_capacity;         /* of the audit's */
    enum ulp_task task;            /* of the graph's float outputs; UNKNOWN: each is recognised */
    const struct ulp_truth *truth; /* NULL: the model's own */
};

/* An execution's figures, with those of the sample's executions before. */
enum ulp_status ulp_auditor_add_round(struct ulp_auditor *auditor, struct ulp_audit_output *output,
                                      struct ulp_sampled *sampled, const struct ulp_round *round,
                                      struct ulp_error *error);
/* All samples are added: sums of shares become means. */
void ulp_auditor_finish_added(struct ulp_audit *audit);
/* The sample is over: into the worst and the mean of all. */
enum ulp_status ulp_auditor_keep_samples(struct ulp_auditor *auditor, struct ulp_error *error);

enum ulp_status ulp_auditor_create(const struct ulp_program *program, struct ulp_auditor **out,
                                   struct ulp_error *error);
void ulp_auditor_free(struct ulp_auditor *auditor);
/* Begin a sample; name is copied. */
enum ulp_status ulp_auditor_sample(struct ulp_auditor *auditor, const char *name,
                                   struct ulp_error *error);
/* Number of threads that measure (0: all processors); the figures do not depend on it. */
enum ulp_status ulp_auditor_threads(struct ulp_auditor *auditor, int thread_count,
                                    struct ulp_error *error);
struct ulp_observer ulp_auditor_observer(struct ulp_auditor *auditor);
/* After the sample's run on these inputs: births of the reference that reach an output are the
 * audit's; and one more, with a copy of its texts. */
enum ulp_status ulp_auditor_settle(struct ulp_auditor *auditor, const struct ulp_tensor_set *inputs,
                                   int thread_count, struct ulp_error *error);
enum ulp_status ulp_auditor_add_birth(struct ulp_auditor *auditor, const struct ulp_birth *birth,
                                      struct ulp_error *error);

/* Whether something has diverged in the current sample. If so, run the sample again with
 * ulp_run_options.follow, without audit, and with this observer: every output that diverged then
 * gets its figures with the reference's decisions (ulp_divergence.followed). */
bool ulp_auditor_has_diverged(const struct ulp_auditor *auditor);
struct ulp_observer ulp_auditor_follower(struct ulp_auditor *auditor);

/* Let the auditor use this truth; call it before the first sample. path: of the original, for
 * reports. The caller still owns the truth, which must outlive the auditor. */
enum ulp_status ulp_auditor_truth(struct ulp_auditor *auditor, const struct ulp_truth *truth,
                                  const char *path, struct ulp_error *error);
/* Complete the audit and move it into *out; free it with ulp_audit_free. */
enum ulp_status ulp_auditor_finish(struct ulp_auditor *auditor, struct ulp_audit *out,
                                   struct ulp_error *error);

/* audit_verdict.c: what an output of the graph is for, as asked (UNKNOWN: not), by the table, or by
 * the tokens that the model reads. Integers are a signal where that is asked or they are amounts.
 */
struct ulp_purpose ulp_audit_purpose(const struct ulp_program *program, size_t output,
                                     enum ulp_task asked, const struct ulp_tensor *truth);
/* Is output o of the event's node one of the graph's, of which it is said that it is a signal? */
bool ulp_auditor_asks_steps(const struct ulp_auditor *auditor, const struct ulp_event *event,
                            size_t o);
/* Output o of the event's node in that lane (index into the audit's), where it is
 * one of the graph's: what it is for, and how well it does it. */
enum ulp_status ulp_auditor_judge(struct ulp_auditor *auditor, const struct ulp_event *event,
                                  size_t lane, size_t o, bool amounts, struct ulp_error *error);
/* The same of an output of the graph when all samples are there: its grade. False: no memory. */
bool ulp_audit_grade(const struct ulp_audit *audit, struct ulp_audit_output *output);
/* The output that is worst by its grade; NULL: there is none. And the lane's grade: its, but an
 * overflow that does harm is not fine on these samples alone, and NaN in an input that nobody
 * meant leaves nothing to judge. */
const struct ulp_audit_output *ulp_audit_judged_worst(const struct ulp_audit_lane *lane);
/* "the reference lost its digits at node 0 add (Add): pair is good for 0.9 digits of outputs"
 */
void ulp_audit_say_lost(struct ulp_text *out, const struct ulp_audit *audit);
/* The birth behind outputs that are not broken: they hide it, and depend on it. NULL: none. */
const struct ulp_birth *ulp_audit_hidden(const struct ulp_audit *audit,
                                         const struct ulp_audit_lane *lane);
/* By its task's own figure: "by --metric 0.7, the reference 0.9; ..." */
bool ulp_audit_loses_score(const struct ulp_audit_lane *lane);
void ulp_audit_say_score(struct ulp_text *out, const struct ulp_audit_lane *lane);
enum ulp_grade ulp_audit_lane_grade(const struct ulp_audit *audit,
                                    const struct ulp_audit_lane *lane);

/* Add the finished audit of one sample, under its name, behind those that were added; it is copied.
 * Both auditors' programs are of the same model and lanes, with any shapes: ULP_ERROR_USAGE when
 * they cannot be. The auditor is then for adding alone; ulp_auditor_finish completes the audit with
 * shares, certificate and seconds. */
enum ulp_status ulp_auditor_add(struct ulp_auditor *auditor, const struct ulp_audit *sample,
                                struct ulp_error *error);
