/* Attribution: which node the error of the outputs comes from. What it finds stands in the audit
 * (ulpscope/analysis.h): struct ulp_attribution of a lane, ulp_audit_node.causes. An attributor is
 * for one thread at a time. */
#ifndef ULPSCOPE_ATTRIBUTION_H
#define ULPSCOPE_ATTRIBUTION_H

#include <ulpscope/analysis.h>

/* Attributing the error of the outputs to the nodes: an observer beside the auditor's in the same
 * runs. output: "NAME" of a float value of the main graph, "NAME[i,j]" of one element, or
 * "NAME[a]-NAME[b]" of a difference (a margin between classes); NULL: every float output of the
 * graph, each divided by its own error. For each sample: ulp_attributor_sample with its inputs,
 * which must stay valid until the sweep; the run; ulp_attributor_sweep, which goes back through the
 * graph. At the end ulp_attributor_finish writes into the audit. Values are kept from the run to
 * the sweep, in FP32, within a third of the memory limit and half of what the run leaves of it
 * (1 GiB without a limit). Where they do not fit there are no shares, and ulp_attribution.reason
 * says so, unless ulp_attributor_spill has named a folder: the rest goes to a file without a name
 * there, with equal results. Free with ulp_attributor_free. */
struct ulp_attributor;
ULP_API enum ulp_status ulp_attributor_create(const struct ulp_plan *plan, const char *output,
                                              int thread_count, struct ulp_attributor **out,
                                              struct ulp_error *error);
ULP_API void ulp_attributor_free(struct ulp_attributor *attributor);
ULP_API struct ulp_observer ulp_attributor_observer(struct ulp_attributor *attributor);
ULP_API enum ulp_status ulp_attributor_sample(struct ulp_attributor *attributor,
                                              const struct ulp_tensor_set *inputs,
                                              struct ulp_error *error);
/* Before the first sample. */
ULP_API enum ulp_status ulp_attributor_spill(struct ulp_attributor *attributor, const char *folder,
                                             struct ulp_error *error);
/* Every sweep also takes the shares that matter apart by their causes (ulp_audit_node.causes), for
 * which each lane runs once more by itself, and explains each of several outputs in a sweep of its
 * own (ulp_attribution.outputs). Without this call only the rounding of results is apart from the
 * rest, and shares of several outputs are the means of theirs. Before the first sample. */
ULP_API void ulp_attributor_causes(struct ulp_attributor *attributor);
/* The next sweep also tries, in each lane, the `count` nodes of the largest shares and as many
 * random ones, each in runs of its own (struct ulp_verified). */
ULP_API void ulp_attributor_verify(struct ulp_attributor *attributor, size_t count);
ULP_API enum ulp_status ulp_attributor_sweep(struct ulp_attributor *attributor,
                                             struct ulp_error *error);
ULP_API enum ulp_status ulp_attributor_finish(struct ulp_attributor *attributor,
                                              struct ulp_audit *audit, struct ulp_error *error);
/* The lanes of the audit that have no shares because they overflow get those of the same arithmetic
 * with what overflows, and what reads it, kept in FP32 (attribution.kept), in runs of their own.
 * Where FP32 does not help they stay without. The plan and the samples are those of the audit. */
struct ulp_attribution_options {
    const char *output; /* as of ulp_attributor_create */
    const char *folder; /* as of ulp_attributor_spill; NULL: none */
    size_t verify;      /* as of ulp_attributor_verify; 0: nothing is */
    int thread_count;
    const struct ulp_observer *progress; /* NULL: none */
};
ULP_API enum ulp_status ulp_audit_attribute_overflowing(
    struct ulp_audit *audit, const struct ulp_plan *plan,
    const struct ulp_tensor_set *const *samples, size_t sample_count,
    const struct ulp_attribution_options *options, struct ulp_error *error);
/* Sums of shares, into attribution.groups: by "op", or "prefix:N", names cut after their N-th part
 * between '/', or "cause": enum ulp_share_cause, and decisions. audit NULL: only the text is
 * checked. */
ULP_API enum ulp_status ulp_audit_group_shares(struct ulp_audit *audit, const char *by,
                                               struct ulp_error *error);

#endif
