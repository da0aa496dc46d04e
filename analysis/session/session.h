/* An audit's session: samples one after another, each by the program of its shapes, observed by an
 * auditor and, where shares are asked for, by an attributor; the audits of single samples, added up
 * in their order. The program, Python and searches all audit here. Functions enter no
 * environment: their callers have. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/auditor.h"

struct ulp_session {
    struct ulp_programs *programs; /* lane 0 is the reference; `first` may be made already */
    const struct ulp_samples *samples;
    const struct ulp_audit_options *options;
    bool plain_shares; /* shares are not taken apart by causes */
    bool follows;      /* what diverged is run again with the reference's decisions */
    const struct ulp_observer *observer; /* of the lanes' runs, beside the session's own; or NULL */
    /* Each may be NULL: before the lanes of a sample run, with their program; and afterwards, with
     * the outputs of every lane, which become the callee's. */
    void *context;
    void (*begins)(void *context, size_t sample, const struct ulp_program *program);
    enum ulp_status (*ends)(void *context, size_t sample, struct ulp_tensor_set *outputs,
                            struct ulp_error *error);
    /* the session's own */
    struct ulp_truth *truth; /* NULL: the model's own values are the truth */
    struct ulp_auditor *sum; /* of all samples; NULL in processes that add nothing */
};

/* All samples into *out; free it with ulp_audit_free. Of a shard, or of a process that is not the
 * first (options->checkpoint), *out is empty. */
enum ulp_status ulp_session_run(struct ulp_session *session, struct ulp_audit *out,
                                struct ulp_error *error);

/* session_sample.c: the audit of sample `index` by itself. Free *out with ulp_audit_free. */
enum ulp_status ulp_session_sample(const struct ulp_session *session, size_t index,
                                   struct ulp_audit *out, struct ulp_error *error);
/* Its inputs, until it is closed. */
enum ulp_status ulp_samples_open(const struct ulp_samples *samples, size_t index,
                                 const struct ulp_tensor_set **out, struct ulp_error *error);
void ulp_samples_close(const struct ulp_samples *samples, size_t index);
/* Tell of run `run` of the sample, or with SIZE_MAX samples of what comes after all. */
void ulp_session_begin_run(const struct ulp_session *session, size_t sample, size_t run,
                           size_t run_count);

/* overflowing.c: the lanes of the audit that have no shares because they overflow get those of the
 * same arithmetic with what overflows, and what reads it, kept in FP32 (attribution.kept), in runs
 * of their own. Where FP32 does not help they stay without. Samples of the first program's shapes.
 */
enum ulp_status ulp_session_fix_overflowing(const struct ulp_session *session,
                                            struct ulp_audit *audit,
                                            const struct ulp_samples *samples,
                                            struct ulp_error *error);

/* session_parts.c: every sample that this process makes or finds, into the sum. *whole: the sum has
 * all. */
enum ulp_status ulp_session_parts(const struct ulp_session *session, bool *whole,
                                  struct ulp_error *error);
