/* The audit: which node introduces error, which only carries it, which overflows.
 * Differences are formed exactly (MPFR) and then summarised in double. All measures leave out
 * positions where either side is not finite (they are counted in nonfinite). NaN means "not
 * defined" (no finite element, or zero norm). */
#ifndef ULPSCOPE_ANALYSIS_H
#define ULPSCOPE_ANALYSIS_H

#include <ulpscope/run.h>

/* A tensor difference d = value - base, measured. */
struct ulp_metrics {
    double max_abs;    /* max |d| */
    double rms;        /* sqrt(mean d^2) */
    double mean;       /* mean d: a bias of the rounding */
    double max_rel;    /* max |d / base| over base != 0 */
    double max_ulp;    /* max |d| in ulps of the lane's storage format at base */
    double median_ulp; /* lower median of |d| in ulps */
    double cosine;     /* between value and base */
    double sqnr_db;    /* 10 log10(sum base^2 / sum d^2); +infinity when equal */
    /* elements where value is not finite and base is, or the reverse, or infinities of unlike
     * sign */
    size_t nonfinite;
    size_t worst_index; /* of max |d|, or of the first nonfinite element */
    size_t count;       /* finite elements measured */
    size_t unmeasured;  /* elements where both sides are the same infinity, or not a number */
    double value_norm, base_norm; /* of these, the roots of the sums of squares */
    /* shapes differ, or integers (indices, decisions) differ: no measure has a meaning */
    bool diverged;
};

struct ulp_range {
    double ref_rms, ref_max, ref_min_nonzero; /* of the reference's finite magnitudes */
    /* log2(max_finite / ref_max) of the lane's storage; negative: overflows. +infinity for ref_max
     * 0 */
    double headroom_bits;
};

/* One output over several samples. */
struct ulp_audit_samples {
    /* means, nonfinite and count totals; worst_index of the worst sample */
    struct ulp_metrics single_mean, entire_mean, introduced_mean, carried_mean;
    /* the worst of each figure by itself (least cosine and sqnr_db), whichever sample it is of */
    struct ulp_metrics single_limit, entire_limit, introduced_limit, carried_limit;
};

/* An output that has diverged: it is, or follows, an index, a decision or a shape that the
 * reference has otherwise. Of the first sample in which it did, but for `followed`. */
struct ulp_divergence {
    bool reshaped; /* its shape is another, and the rest but `followed` is not known */
    /* of integers: how many elements differ, of how many, and the first of them */
    size_t differing, count, first;
    /* where the node itself decided (TopK, ArgMax, ArgMin, comparisons, Cast to integers; Round,
     * Floor and Ceil, which have this without having diverged), at that element: how far the
     * reference's choice is ahead of the lane's (Cast: from a whole number), and the lane's error
     * of that; NaN: not known */
    double margin, margin_error;
    /* with every decision taken as the reference takes it (ulp_auditor_follower): its figures, of
     * the worst sample; count 0 and diverged when it differs in kind even so */
    struct ulp_followed {
        bool given;
        struct ulp_metrics metrics;
    } followed;
    /* of the graph's outputs: as a list, each row beside the nearest that is left. moved: rows
     * that are in another place; differing: rows that are not equal */
    struct ulp_matched {
        bool given;
        double rms, max_abs;
        size_t rows, moved, differing;
    } matched;
};

struct ulp_audit_output {
    char *name;
    enum ulp_type type;
    int rank;
    int64_t dims[ULP_RANK_MAX];
    /* of the worst sample (largest entire.rms, non-finite first) */
    struct ulp_metrics single, entire, introduced, carried;
    /* NULL: the node ran in one sample, whose figures are the means and the limits, too */
    struct ulp_audit_samples *samples;
    struct ulp_divergence *divergence; /* NULL: it has not diverged in any sample */
    struct ulp_range range;            /* over all samples: rms of rms, max of max, min of min */
    size_t worst_sample;
    /* with a reference model (ulp_auditor_truth): it computes no value of this name and shape, so
     * entire and carried are not defined (count 0); single and introduced are of this model */
    bool unpaired;
};

struct ulp_audit_node {
    size_t index;
    char *name, *op;
    ptrdiff_t kept; /* which of the lane's kept arithmetics it has; -1: the lane's own */
    struct ulp_node_types types;
    /* how often it ran, over all samples: inside a Loop or Scan more than once each, and its
     * figures are of all rounds together, as if they were one tensor (median_ulp: of the worst
     * round); inside an If 0 when no sample takes the branch in step with the reference, and there
     * are no outputs then */
    size_t rounds;
    size_t output_count;
    struct ulp_audit_output *outputs;
    /* some output is not finite although all the lane's inputs and the reference's outputs are
     * finite */
    bool born;
    bool poisoned; /* some output is not finite because an input was */
    /* some input is not finite, and its exact values lie beyond its storage */
    bool reads_overflow;
    /* the lane's overflow that its results bear; -1: none. Where that is absorbed, they are as far
     * from the reference's as the constant or value that overflowed, and no result after shows it
     */
    ptrdiff_t overflow;
    bool absorbs; /* its inputs bear an overflow, and its results are right all the same */
    /* the first of the lane's constants beyond its storage that the node reads; -1: none */
    ptrdiff_t constant;
    /* some index, decision or shape differs from the reference's although no input has diverged */
    bool decided;
    /* the node that computes its first non-constant input; -1: none, an input of the graph */
    ptrdiff_t source;
    /* of the error of the outputs that ulp_attribution explains, means over samples; NaN: not
     * known. share: what the error introduced here makes of it; gain: what would go if this node
     * alone were computed in the reference and its result rounded as it is now; condition: the
     * relative change of the outputs, along their error, by one of this value, its elements
     * changing independently */
    double share, gain, condition;
    double share_worst; /* the share of the sample where it is largest in magnitude */
    /* derivatives stop here: what is upstream has no share through it */
    bool stops;
    /* its relative error (entire.rms / ref_rms) over the largest of its inputs', the largest over
     * rounds and samples; NaN: no input has an error */
    double grew;
};

/* Whose error the error of the outputs is: with e = P - R at the outputs, d what a node introduces
 * and J the derivative of the outputs by it at (P + R) / 2, its share is <e, J d> / <e, e>. Shares
 * and `inputs` add up to 1 but for the residual. Of several outputs the mean. */
struct ulp_attribution {
    bool given;
    const char *reason; /* why there is none; NULL: it was not asked for */
    char *output;       /* what is explained, as it was asked for; NULL: all float outputs */
    size_t sample_count;
    double sum, residual; /* means over samples; residual = 1 - sum */
    double worst;         /* the residual of the sample where it is largest in magnitude */
    double inputs;        /* share of rounding the model's inputs */
    /* the largest first, when they were asked for (ulp_audit_group_shares) */
    size_t group_count;
    struct ulp_share_group {
        char *name;
        double share;
        size_t node_count; /* that have a share */
    } * groups;
    /* Nodes of the main graph, tried in the first sample, as shares of its error. share: predicted;
     * held: what the error of the outputs loses when this node alone makes none and all others make
     * exactly theirs. gain: predicted; kept: what it loses in a run with the node kept in the
     * reference, in which every rounding behind it falls anew */
    size_t verified_count;
    struct ulp_verified {
        size_t node;
        double share, held, gain, kept;
    } * verified;
};

struct ulp_audit_lane {
    char *name; /* the arithmetic's, and what the lane keeps: "fp16,keep=plan.json" */
    struct ulp_arithmetic arithmetic;
    /* those of nodes that differ from it */
    size_t kept_count;
    struct ulp_arithmetic *kept;
    /* values read in another storage format than they are held in; nodes as indexes */
    size_t border_count;
    struct ulp_audit_border {
        char *value;
        const char *from, *to; /* names of arithmetics in this lane: of the holder, of readers */
        size_t producer, first_reader, reader_count;
        size_t elements; /* 0: unknown before the run */
    } * borders;
    /* constants with elements that the storage of their readers cannot hold */
    size_t constant_count;
    struct ulp_audit_constant {
        char *name, *in; /* in: the readers' arithmetic */
        /* all; finite ones beyond the largest; what is not zero and becomes zero, or is raised */
        size_t elements, overflowed, underflowed;
        double largest;                    /* magnitude of the finite elements */
        size_t first_reader, reader_count; /* node indexes */
    } * constants;
    /* where values beyond the storage begin, and what becomes of them */
    size_t overflow_count;
    struct ulp_audit_overflow {
        size_t node;           /* bears the first, from finite values or from a constant */
        ptrdiff_t constant;    /* the constant's index; -1: computed */
        ptrdiff_t absorbed_by; /* the first node whose results are right all the same; -1: none */
        size_t absorber_count;
        /* the first node whose results are finite and wrong (1 / Inf is 0); -1: none */
        ptrdiff_t spoils;
        bool reaches_output;
        ptrdiff_t joins; /* the one it comes together with, which says the rest; -1: none */
    } * overflows;
    size_t node_count;
    struct ulp_audit_node *nodes;
    struct ulp_audit_node outputs; /* the graph's outputs */
    struct ulp_attribution attribution;
    /* index into nodes of the first where non-finite values are born that are not absorbed; -1:
     * none */
    ptrdiff_t first_born;
    /* of the first that decides otherwise than the reference; -1: none */
    ptrdiff_t first_decided;
    size_t poisoned_count;
    /* of an arithmetic with qdq=integer from the same without it, when that is audited, too */
    struct ulp_parting {
        ptrdiff_t other;      /* index of that lane; -1: there is none */
        ptrdiff_t first;      /* the first node whose results are not equal bits; -1: none */
        ptrdiff_t first_step; /* the first whose integers are not: another quantisation step */
        /* over all samples: unequal integers, of how many in nodes that give any */
        size_t steps, count;
    } parting;
};

/* How much a contraction's result depends on the schedule of its sum: over a set of schedules, each
 * on the reference's inputs, the width of the interval of results, largest minus smallest, element
 * by element. */
struct ulp_spread {
    size_t index;
    char *name, *op, *output;
    double ref_rms;
    double width_max_abs, width_rms, width_max_ulp; /* ulp of the storage format at the reference */
    double differing; /* share of elements whose results are not all equal */
    /* of the first schedule against the reference: is the spread large beside it? */
    double error_rms;
    /* rms difference between the same schedule on the two GPUs of the set; NaN: the set has no
     * second GPU */
    double gpu_rms;
    /* elements that are finite in some schedules only; left out of the widths */
    size_t nonfinite;
};
struct ulp_arena;
struct ulp_spreads {
    char *base; /* the arithmetic whose schedules these are */
    size_t schedule_count;
    char **schedules;    /* names of the arithmetics of the set; the first is the base */
    ptrdiff_t other_gpu; /* index of the base on the other GPU; -1: none */
    size_t count;
    struct ulp_spread *items;
    struct ulp_arena *memory; /* what the rest lives in */
};

/* NaN and infinities that the model was given. */
struct ulp_audit_input {
    char *name;
    size_t sample, count;
};

struct ulp_audit {
    char *model_path, *reference;
    char *reference_model; /* path of the model whose values are the truth; NULL: this one's */
    size_t paired_count, unpaired_count; /* node outputs with and without a partner in it */
    int64_t ir_version, opset;
    size_t sample_count;
    char **sample_names;
    /* graph inputs of samples with values that are not finite */
    size_t nonfinite_input_count;
    struct ulp_audit_input *nonfinite_inputs;
    size_t lane_count;
    struct ulp_audit_lane *lanes; /* without the reference */
    /* of the reference, against one of twice the precision; worst sample */
    struct ulp_certificate {
        bool given;
        /* decimal digits good on every graph output: -log10(rms error / rms) of the worst */
        double output_digits;
        double node_digits; /* the same over every node */
        char *node;         /* the worst node; owned */
    } certificate;
    /* one for each audited arithmetic, when schedules were asked for */
    size_t spread_count;
    struct ulp_spreads *spreads;
    double seconds;
    size_t peak_bytes;
    struct ulp_arena *memory; /* what the rest lives in but for certificate.node and spreads */
};

/* What the lane computes the node in. */
ULP_API const struct ulp_arithmetic *ulp_audit_node_arithmetic(const struct ulp_audit_lane *lane,
                                                               const struct ulp_audit_node *node);

/* Collects an audit from runs. Create it, give ulp_auditor_observer() to one ulp_plan_run per
 * sample (options.audit set), call ulp_auditor_sample before each, ulp_auditor_finish at the end.
 * All is charged to the model's budget. */
struct ulp_auditor;
ULP_API enum ulp_status ulp_auditor_create(const struct ulp_plan *plan, struct ulp_auditor **out,
                                           struct ulp_error *error);
ULP_API void ulp_auditor_free(struct ulp_auditor *auditor);
ULP_API enum ulp_status ulp_auditor_sample(struct ulp_auditor *auditor, const char *name,
                                           struct ulp_error *error);
/* Measuring uses this many threads (0: all processors); the figures do not depend on it. */
ULP_API enum ulp_status ulp_auditor_threads(struct ulp_auditor *auditor, int thread_count,
                                            struct ulp_error *error);
ULP_API struct ulp_observer ulp_auditor_observer(struct ulp_auditor *auditor);

/* Whether something has diverged in the current sample. If so, a second run of it with
 * ulp_run_options.follow (and without audit) and this observer gives every output that diverged
 * figures with the reference's decisions. */
ULP_API bool ulp_auditor_has_diverged(const struct ulp_auditor *auditor);
ULP_API struct ulp_observer ulp_auditor_follower(struct ulp_auditor *auditor);

/* The values of another model as the truth: what a graph that was rewritten (converted to FP16,
 * quantised, fused) is measured against is then the original's value of the same name and shape,
 * computed in the reference arithmetic from the same inputs. For a value with a partner r,
 *     entire = P(p) - r,  carried = R(p) - r,  introduced = P(p) - R(p)  (their sum, exactly)
 * where P and R are the audited model's node; carried then holds what the rewriting changed before
 * it. Single stays of the audited model alone. For each sample: ulp_truth_clear, one ulp_plan_run
 * of the other model's plan (one lane: the reference) with ulp_truth_observer, then the audit's. */
struct ulp_truth;
/* Kept values are charged to budget (may be NULL). Free with ulp_truth_free. */
ULP_API enum ulp_status ulp_truth_create(struct ulp_budget *budget, struct ulp_truth **out,
                                         struct ulp_error *error);
ULP_API void ulp_truth_free(struct ulp_truth *truth);
/* The audited model's value `audited` is the other's `original`, instead of that of its own name.
 * Both names are copied; ulp_auditor_finish refuses a name that its model does not
 * compute. */
ULP_API enum ulp_status ulp_truth_pair(struct ulp_truth *truth, const char *audited,
                                       const char *original, struct ulp_error *error);
ULP_API struct ulp_observer ulp_truth_observer(struct ulp_truth *truth);
ULP_API void ulp_truth_clear(struct ulp_truth *truth);
/* Before the first sample. path: of the other model, for the reports. The truth stays the caller's
 * and outlives the auditor. */
ULP_API enum ulp_status ulp_auditor_truth(struct ulp_auditor *auditor,
                                          const struct ulp_truth *truth, const char *path,
                                          struct ulp_error *error);
/* Move the result out; free with ulp_audit_free. */
ULP_API enum ulp_status ulp_auditor_finish(struct ulp_auditor *auditor, struct ulp_audit *out,
                                           struct ulp_error *error);
ULP_API void ulp_audit_free(struct ulp_audit *audit);

/* Attributes the error of the outputs to the nodes: an observer beside the auditor's in the same
 * runs. output: "NAME" of a float value of the main graph, "NAME[i,j]" of one element, or
 * "NAME[a]-NAME[b]" of a difference (a margin between classes); NULL: every float output of the
 * graph, each divided by its own error. Before each run ulp_attributor_sample with its inputs,
 * which stay the caller's until ulp_attributor_sweep after it, which goes back through the graph;
 * at the end ulp_attributor_finish writes into the audit. Values are kept from the run to the
 * sweep, in FP32, within a third of the memory limit: where they do not fit there are no shares,
 * and the reason is told. */
struct ulp_attributor;
ULP_API enum ulp_status ulp_attributor_create(const struct ulp_plan *plan, const char *output,
                                              int thread_count, struct ulp_attributor **out,
                                              struct ulp_error *error);
ULP_API void ulp_attributor_free(struct ulp_attributor *attributor);
ULP_API struct ulp_observer ulp_attributor_observer(struct ulp_attributor *attributor);
ULP_API enum ulp_status ulp_attributor_sample(struct ulp_attributor *attributor,
                                              const struct ulp_tensor_set *inputs,
                                              struct ulp_error *error);
/* The next sweep also tries, in each lane, the `count` nodes of the largest shares and as many
 * random ones, each in runs of its own (ulp_verified). */
ULP_API void ulp_attributor_verify(struct ulp_attributor *attributor, size_t count);
ULP_API enum ulp_status ulp_attributor_sweep(struct ulp_attributor *attributor,
                                             struct ulp_error *error);
ULP_API enum ulp_status ulp_attributor_finish(struct ulp_attributor *attributor,
                                              struct ulp_audit *audit, struct ulp_error *error);

/* Sums of shares, into attribution.groups: by "op", or "prefix:N", names cut after their N-th part
 * between '/'. audit NULL: only the text is checked. */
ULP_API enum ulp_status ulp_audit_group_shares(struct ulp_audit *audit, const char *by,
                                               struct ulp_error *error);

/* Recompute the reference mpfr:P of a model at mpfr:2P on one sample and compare: how many digits
 * is it good for? Merges the worse into *certificate (zero-initialise before the first sample; free
 * node). reference must be an mpfr arithmetic with 2P <= 4096. */
ULP_API enum ulp_status ulp_certify(const struct ulp_model *model,
                                    const struct ulp_arithmetic *reference,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_run_options *options,
                                    const struct ulp_observer *progress,
                                    struct ulp_certificate *certificate, struct ulp_error *error);

/* Run the contractions of a model under every plausible schedule of `base` on one sample and
 * measure the spread of the results. The set: base; its sum cut into 2, 4, 8 and 16 slices; for a
 * matrix unit also base on another GPU (A100 for Hopper and later, else H200) where that has the
 * unit; for scalar chains also product and sum rounded apart. Free with ulp_spreads_free. */
ULP_API enum ulp_status ulp_spreads_measure(const struct ulp_model *model,
                                            const struct ulp_arithmetic *reference,
                                            const struct ulp_arithmetic *base,
                                            const struct ulp_tensor_set *inputs,
                                            const struct ulp_run_options *options,
                                            const struct ulp_observer *progress,
                                            struct ulp_spreads *out, struct ulp_error *error);
ULP_API void ulp_spreads_free(struct ulp_spreads *spreads);

/* Whether ulp_certify takes this reference; ULP_ERROR_USAGE when not. */
ULP_API enum ulp_status ulp_certify_check(const struct ulp_arithmetic *reference,
                                          struct ulp_error *error);

/* Measure value - base. format: whose ulp is used. The two tensors may have any float elements. */
ULP_API enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value,
                                            const struct ulp_tensor *base,
                                            const struct ulp_format *format,
                                            struct ulp_metrics *out, struct ulp_error *error);

enum ulp_crossing_kind {
    ULP_CROSSED_VALUE, /* a figure is beyond the limit (below it for cosine and sqnr_db), or NaN */
    ULP_CROSSED_NOTHING,  /* no finite element to compare; without output: no elements at all */
    ULP_CROSSED_UNPAIRED, /* no partner in the reference model to compare with */
    ULP_CROSSED_DIVERGED, /* its shape or integers differ from the reference's */
    ULP_CROSSED_INPUT,    /* NaN or infinity in an input of the model: output is its name */
};
/* Where a limit is not met: of an arithmetic the worst output. Texts are the audit's. */
struct ulp_crossing {
    enum ulp_crossing_kind kind;
    const char *arithmetic; /* NULL: of an input */
    const char *output;
    const char *node;   /* that computes it; NULL: not known */
    const char *sample; /* of an input */
    double value, limit;
    size_t more; /* further outputs of the arithmetic, or inputs, that do not meet the limit */
};
struct ulp_crossing_list {
    size_t count;
    struct ulp_crossing *items; /* freed with free */
};

/* A limit "METRIC=VALUE": METRIC is max_abs, rms, mean, max_rel, max_ulp, median_ulp, cosine or
 * sqnr_db, alone (of entire) or after "single.", "entire.", "introduced." or "carried."; nonfinite
 * (of every node), outputs.nonfinite (of the graph's outputs) or diverged (1: an output's shape or
 * integers differ from the reference's). It is of every arithmetic, sample and graph output, or,
 * after "ARITH:", "OUTPUT:" or "ARITH:OUTPUT:", of those alone ("fp16:logits:sqnr_db=40").
 *
 * What cannot be compared does not meet it, nor does an audit of inputs that are not finite, unless
 * allow_nonfinite_inputs. Of an output that has diverged the figures with the reference's decisions
 * count (ulp_divergence.followed); without such it is not compared: it meets every limit but
 * `diverged`, unless no other output is left. Met by all: an empty list. Unknown metric, arithmetic
 * or output: ULP_ERROR_USAGE with those there are. */
ULP_API enum ulp_status ulp_audit_check(const struct ulp_audit *audit, const char *limit,
                                        bool allow_nonfinite_inputs, struct ulp_crossing_list *out,
                                        struct ulp_error *error);
/* Whether an audit of the plan, which is the model's, can be checked against the limit. plan NULL:
 * only how it is written. */
ULP_API enum ulp_status ulp_limit_check(const char *limit, const struct ulp_model *model,
                                        const struct ulp_plan *plan, struct ulp_error *error);
/* "fp16, output logits of node head: sqnr_db 3, limit 40": what a crossing is, in a line. *out is
 * freed with free(). */
ULP_API enum ulp_status ulp_crossing_text(const struct ulp_crossing *crossing, const char *limit,
                                          char **out, struct ulp_error *error);

#endif
