/* The audit: which node introduces error, which only carries it, which overflows.
 *
 * Differences are formed exactly (MPFR), rounded once to double, and summarised in double. Measures
 * leave out the elements where either side is not finite; nonfinite counts them. NaN means "not
 * defined": no finite element, or a zero norm. Strings and arrays belong to the audit (or spreads)
 * that they are part of. */
#ifndef ULPSCOPE_AUDIT_H
#define ULPSCOPE_AUDIT_H

#include <ulpscope/run.h>
#include <ulpscope/scales.h>

/* Measures of a difference of tensors, d = value - base. */
struct ulp_metrics {
    double max_abs;    /* max |d| */
    double rms;        /* sqrt(mean d^2) */
    double mean;       /* mean d, signed */
    double max_rel;    /* max |d / base| over base != 0 */
    double max_ulp;    /* max |d| in ulps of the storage format at base */
    double median_ulp; /* lower median of |d| in such ulps */
    double cosine;     /* between value and base */
    double sqnr_db;    /* 10 log10(sum base^2 / sum d^2); +infinity when equal */
    /* elements where exactly one side is finite, or both are not and differ: infinities of unlike
     * sign, NaN against infinity */
    size_t nonfinite;
    size_t worst_index;           /* flat index of max |d|, or of the first nonfinite element */
    size_t count;                 /* finite elements measured */
    size_t unmeasured;            /* elements where both sides are the same infinity, or both NaN */
    double value_norm, base_norm; /* roots of the sums of squares of these elements [apart] */
    /* shapes differ, or integers that are indices or decisions: the measures have no meaning */
    bool diverged;
};

/* The magnitudes of a tensor in the reference. */
struct ulp_range {
    double ref_rms, ref_max, ref_min_nonzero; /* over finite elements */
    /* log2(max_finite of the lane's storage / ref_max). Negative: the exact values overflow.
     * +infinity when ref_max is 0 */
    double headroom_bits;
};

/* The errors of one output over several samples. */
struct ulp_audit_samples {
    /* mean of each figure; nonfinite and count are totals, worst_index is the worst sample's */
    struct ulp_metrics single_mean, entire_mean, introduced_mean, carried_mean;
    /* the worst of each figure over all samples (the least cosine and sqnr_db) */
    struct ulp_metrics single_limit, entire_limit, introduced_limit, carried_limit;
};

/* How an output has diverged: it is, or depends on, an index, a decision or a shape that differs
 * from the reference's. All but `followed` are of the first sample in which it did. */
struct ulp_divergence {
    /* its shape differs; of the rest only `followed`, and of NonMaxSuppression first and margin,
     * are known then */
    bool reshaped;
    /* of integers: how many elements differ, how many there are, and the first that differs */
    size_t differing, count, first;
    /* where the node itself decides (TopK, ArgMax, ArgMin, NonMaxSuppression, comparisons, Cast
     * to integers; Round, Floor and Ceil have this without having diverged), at the first such
     * element: the distance between the reference's choice and the lane's (of a Cast: from a
     * whole number), and the lane's error of that distance; NaN: not known */
    double margin, margin_error;
    /* figures when every decision is taken as the reference takes it (a second run), of the
     * worst sample; count 0 and diverged when shape or integers differ even so */
    struct ulp_followed {
        bool given;
        struct ulp_metrics metrics;
    } followed;
    /* of the graph's outputs: figures when each row is compared with the nearest row that is left.
     * moved: rows in another place; differing: rows that are not equal */
    struct ulp_matched {
        bool given;
        double rms, max_abs;
        size_t rows, moved, differing;
    } matched;
};

/* What an output of the graph is for: rows of one table (doc/verdicts.md). */
enum ulp_task {
    ULP_TASK_UNKNOWN, /* to be recognised, from the name and the last operator */
    ULP_TASK_NONE,
    ULP_TASK_CLASSIFY,
    ULP_TASK_SCORE,
    ULP_TASK_TEXT,
    ULP_TASK_DETECT,
    ULP_TASK_SEGMENT,
    ULP_TASK_EMBED,
    ULP_TASK_SIGNAL,
    ULP_TASK_TOKENS,
    ULP_TASK_INTEGER,
    ULP_TASK_OBJECTS, /* found by their columns; none asks for it */
    ULP_TASK_COUNT
};
/* "classify"; NULL: UNKNOWN. Static storage. */
ULP_API const char *ulp_task_name(enum ulp_task task);
/* Why it is taken for that. */
enum ulp_basis {
    ULP_BASIS_NONE, /* nothing says what it is for: decibels decide */
    ULP_BASIS_ASKED,
    ULP_BASIS_NAME,
    ULP_BASIS_SOFTMAX,
    ULP_BASIS_LOG_SOFTMAX,
    ULP_BASIS_LP_NORMALIZATION,
    ULP_BASIS_NON_MAX_SUPPRESSION,
    ULP_BASIS_VOCABULARY, /* as many scores as tokens that the model knows */
    ULP_BASIS_COLUMNS,
    ULP_BASIS_LIST, /* its rows are those of other outputs, too */
    ULP_BASIS_COUNT
};
/* "by name", "by Softmax"; "" of ULP_BASIS_NONE. Static storage. */
ULP_API const char *ulp_basis_name(enum ulp_basis basis);
enum ulp_grade {
    ULP_GRADE_FINE,
    ULP_GRADE_BORDERLINE,
    ULP_GRADE_BROKEN,
    ULP_GRADE_NOT, /* nothing can be said: NaN in an input, an output with nothing to compare */
};
/* "fine", "borderline", "broken", "not judged". Static storage. */
ULP_API const char *ulp_grade_name(enum ulp_grade grade);
/* How well an output of the graph does what it is for, over all samples; doc/verdicts.md says what
 * each figure is. Counts are doubles, so that NaN is: it has no such figure. */
struct ulp_judged {
    enum ulp_task task;   /* UNKNOWN: of a value that is no output of the graph */
    enum ulp_basis basis; /* why */
    bool varies;          /* samples are of several tasks: it is judged as each, and as a signal */
    enum ulp_grade grade; /* by the rules, of the figures below and of sqnr_db [whole] */
    char *text;           /* why [whole] */
    /* of the worst sample; of an output that has diverged with the reference's decisions [whole] */
    double sqnr_db;
    double rows, columns, channels, elements; /* that figures are of */
    double top1_flips, top1_clear, top1_margin, top5_changes, logprob, kl, iou, row_cosine,
        mask_flips, score_shift, differing, objects_off, numbers_off, constant_rows, constant_columns, constant_channels,
        group_db, faint_db;
    /* of objects_off; those at the end of the list, which are not; those in another row */
    double lost, moved, renamed, ended, turned;
    /* which column (0, along the last axis), channel (1, of axis 1) or eighth (2, of a long last
     * axis) that is, from 0, and its rms as part of the output's */
    double group_kind, group_at, group_carries, faint_kind, faint_at, faint_carries;
};

/* One output of a node. */
struct ulp_audit_output {
    char *name;
    enum ulp_type type;
    int rank;                   /* of the worst sample's first execution, as dims */
    int64_t dims[ULP_RANK_MAX]; /* [count rank] */
    /* of the worst sample: diverged before non-finite before largest entire.rms */
    struct ulp_metrics single, entire, introduced, carried;
    /* NULL: the node ran in one sample only [whole] */
    struct ulp_audit_samples *samples;
    struct ulp_divergence *divergence; /* NULL: it has not diverged in any sample */
    struct ulp_range range; /* over all samples: rms of their rms, largest and smallest of all */
    size_t worst_sample;    /* index [whole] */
    /* with a reference model (options.original): that model has no value of this name and shape,
     * so entire and carried are not defined (count 0) */
    bool unpaired;
    struct ulp_judged judged; /* of the graph's outputs */
    /* samples in which there is nothing to compare, where others have something: figures say
     * nothing of these [whole] */
    struct ulp_vacant {
        size_t count;
        size_t sample;  /* index of the first */
        bool undefined; /* which has elements there, of which none is finite; else it has none */
        bool idle; /* ... or floats that are all 0, of random inputs, which may mask all of it */
    } vacant;
};

/* Why a node errs. Its share is taken apart by running it again, first exactly, then with ever more
 * of what its arithmetic rounds, in this order, so the parts add up to the share. */
enum ulp_share_cause {
    ULP_SHARE_WEIGHTS, /* constants that it reads: to the storage, and to the format of products */
    /* values: by Casts of kept nodes, as factors to the format of products, as keys and values to
     * that of caches */
    ULP_SHARE_INPUTS,
    ULP_SHARE_SUMS,  /* sums of products and of rows */
    ULP_SHARE_STEPS, /* functions and other steps of formulas */
    /* the rounding of its result to the storage (and to a format of sums before a bias) */
    ULP_SHARE_RESULT,
    ULP_SHARE_INSIDE, /* all but the result, where it was not taken apart: small parts, integer sums
                       */
    /* with options.original: what the node makes of the original's values otherwise than the
     * original does: a Cast or a quantiser of the graph's own, other weights. All else that happens
     * inside is INSIDE then */
    ULP_SHARE_GRAPH,
    ULP_SHARE_CAUSES
};
/* "weights", as in report.json; and when not NULL, of all nodes ("rounding of weights and
 * constants") and of one ("the rounding of its weights"). Static storage. */
ULP_API const char *ulp_share_cause_name(enum ulp_share_cause cause, const char **of_groups,
                                         const char **of_a_node);

/* One node in one lane. */
struct ulp_audit_node {
    size_t index;    /* [whole] */
    char *name, *op; /* [whole] */
    /* index into the lane's kept arithmetics; -1: the lane's own arithmetic [whole] */
    ptrdiff_t kept;
    struct ulp_node_types types;   /* [whole] */
    struct ulp_node_kernel kernel; /* [whole] */
    /* executions over all samples: in a Loop or Scan one for each iteration, whose figures are
     * those of one tensor made of all iterations (median_ulp: of the worst). 0: no sample took this
     * branch together with the reference; there are no outputs then */
    size_t executions;
    size_t output_count;
    struct ulp_audit_output *outputs;
    /* some output is not finite, although all inputs in the lane and all outputs in the reference
     * are */
    bool born;
    bool poisoned; /* some output is not finite, and an input was not either */
    /* some input is not finite, and its exact values are too large for its storage */
    bool reads_overflow;
    /* index of the lane's overflow that its results come from; -1: none. Where that overflow is
     * absorbed, they differ from the reference by as much as the value that overflowed, which no
     * later result shows */
    ptrdiff_t overflow;
    /* it is in the circle of a state that a Loop or Scan carries from iteration to iteration
     * [whole] */
    bool state;
    bool absorbs; /* its inputs come from an overflow, and its results are right nevertheless */
    /* index of the first of the lane's constants beyond its storage that the node reads; -1: none
     * [whole] */
    ptrdiff_t constant;
    /* some output diverges (ulp_metrics.diverged), although no input has */
    bool decided;
    /* of what decides, over all executions and samples: sets of TopK and QMoE, boxes of
     * NonMaxSuppression, else elements; how many are others than the reference's, whatever their
     * order; and in how many sets the reference's margin is less than the rms of the margins'
     * errors. count 0: it decides nothing, or by what is not known */
    struct ulp_choices {
        size_t count, differing, near;
    } choices;
    /* index of the node that computes its first non-constant input; -1: none does [node] */
    ptrdiff_t source;
    /* the node's part in the error of the outputs that ulp_attribution explains, means over
     * samples; NaN: not known. share: the part that comes from the error introduced here. gain: the
     * part that would go if this node alone were computed in the reference, with its result rounded
     * as it is now. condition: the relative change of the outputs, in the direction of their error,
     * for a relative change of 1 in this value whose elements change independently. alone: of
     * arithmetics with scales, the squared relative error that the node's own error makes in the
     * outputs where no other errs, their sum, by derivatives (doc/quantise.md) */
    double share, gain, condition, alone;
    double causes[ULP_SHARE_CAUSES]; /* of its share, by cause [by ulp_share_cause] */
    double share_worst;              /* the share of the sample where it is largest in magnitude */
    /* the part that all errors of its results make, those that it only carries among them; of a
     * node in a body 0 */
    double passes;
    /* the part of the outputs' error that no derivative explains because here a rounding to
     * integers, a comparison or an order comes out otherwise than in the reference, for the errors
     * of the node's inputs: what its results carry less what derivatives make of these. Of
     * decisions whose margin is known (TopK, ArgMax, ArgMin, QMoE, NonMaxSuppression, comparisons,
     * roundings to whole numbers and to steps) that part is `shows`: it is in the shares of what
     * moved the margins that turned; `decision` is the rest */
    double decision, shows;
    /* the same where nothing is decided: its inputs' errors are too large for its derivatives. What
     * the sum of shares and decisions lacks is the sum of these */
    double missing;
    /* what rounding makes of the error in the model's inputs that are read here first */
    double given;
    /* derivatives stop here, and nodes before it have no share through it, in some sample */
    bool stops;
    /* Its results are not finite, though exact ones fit the storage, because this input has become
     * 0 (a divisor, or what a logarithm is taken of): the name of that input, else NULL; and the
     * node that computes it, -1 for a constant or an input of the model */
    char *zeroed;
    ptrdiff_t zeroed_by; /* [node] */
    bool zeroes;         /* it is the zeroed_by of some node */
    size_t zeroed_count; /* elements that are not finite by it; 0: these cannot be told apart */
    size_t zeroed_of;    /* and of how many */
    /* what it divides by is computed by this node [node]; elements of that which are below the
     * normal numbers of its format, or 0, and exactly are not 0, those that are 0 among them, and
     * of how many; -1: none are */
    ptrdiff_t faint_by;
    size_t faint_count, faint_zeros, faint_of;
    /* where results that exactly are not have become 0: the node whose zeros it only hands on, or
     * itself; -1: none has [node] */
    ptrdiff_t zero_from;
    /* its relative error (entire.rms / ref_rms) divided by the largest of its inputs'; the largest
     * over iterations and samples; NaN: no input has an error */
    double grew;
    /* of a node that runs several times in a sample, or of a recurrence's steps: its relative error
     * in the first of these that has one, and in the last, of the last sample with any; NaN: it has
     * one alone */
    double first_error, last_error;
};

/* Which nodes the error of the outputs comes from. With e = P - R at the outputs, d the error that
 * a node introduces and J the derivative of the outputs by it at (P + R) / 2, the node's share is
 * <e, J d> / <e, e>. All shares, decisions and `inputs` add up to 1 except for the residual. Of
 * several outputs the worst ones are explained, each by itself; the nodes' shares are of the worst
 * (ulp_audit_worst). */
struct ulp_attribution {
    bool given;
    const char *reason; /* why there is none; NULL: it was not asked for */
    /* what the nodes' shares explain: as it was asked for, or of several outputs the worst; NULL:
     * the only output, or the mean of all where they are not taken apart by causes */
    char *output;
    /* of each of several float outputs; sample_count 0: its error is not known, it has none, or it
     * is not among the four worst or much smaller than the worst one's
     * (ulp_audit_options.every_output) */
    size_t output_count;
    struct ulp_output_shares {
        char *output;
        size_t sample_count;
        bool of_decisions;                    /* as below */
        double sum, worst, inputs, decisions; /* likewise */
        size_t node_count;                    /* [apart] */
        struct ulp_node_shares {
            double share, gain, condition, alone, share_worst, passes, decision, shows, missing,
                given;
            double causes[ULP_SHARE_CAUSES]; /* [by ulp_share_cause] */
            bool stops;
        } * nodes; /* by node, as in struct ulp_audit_node [apart] */
    } * outputs;
    size_t sample_count; /* [whole] */
    /* in some sample what is explained is no error but the decision that an output follows, which
     * has another shape than the reference's, or other integers */
    bool of_decisions;
    double sum, residual; /* means over samples; residual = 1 - sum */
    double worst;         /* the residual of the sample where it is largest in magnitude */
    double inputs;        /* share of rounding the model's inputs */
    double decisions;     /* all nodes' */
    /* the largest first, when they were asked for (ulp_audit_group_shares) */
    size_t group_count;
    struct ulp_share_group {
        char *name;
        double share;      /* with decisions */
        size_t node_count; /* that have a share */
    } * groups;            /* [whole] */
    /* nodes of the main graph that were tried in the first sample; figures are shares of its error.
     * share: predicted. held: what the error of the outputs loses when this node alone makes none
     * and all others make exactly theirs. gain: predicted. kept: what it loses in a run with the
     * node kept in the reference, in which every later rounding is drawn anew. verified_output: of
     * several outputs the one whose error it is; else NULL */
    char *verified_output;
    size_t verified_count;
    struct ulp_verified {
        size_t node; /* [node] */
        double share, held, gain, kept;
    } * verified;
    /* of an arithmetic that overflows (ulp_audit_attribute_overflowing): the nodes that were kept
     * in FP32 for these shares, and what the worst output was then */
    size_t kept_count;
    size_t *kept;        /* [whole] */
    char *kept_output;   /* NULL: none can be compared [whole] */
    double kept_sqnr_db; /* [whole] */
};

/* One audited arithmetic. */
struct ulp_audit_lane {
    char *name; /* of the arithmetic and the kept nodes: "fp16,keep=plan.json" [whole] */
    struct ulp_arithmetic arithmetic; /* [whole] */
    /* the arithmetics of kept nodes */
    size_t kept_count;
    struct ulp_arithmetic *kept; /* [whole] */
    /* borders (struct ulp_border); nodes are indexes */
    size_t border_count;
    struct ulp_audit_border {
        char *value;
        const char *from, *to; /* names of the arithmetics of the producer and of these readers */
        size_t producer, first_reader; /* [node] */
        size_t reader_count;
        size_t elements; /* 0: unknown before the run */
    } * borders;         /* [whole] */
    /* changed constants (struct ulp_changed_constant) */
    size_t constant_count;
    struct ulp_audit_constant {
        char *name, *in; /* in: name of the readers' arithmetic */
        size_t elements, overflowed, underflowed;
        double largest;      /* magnitude of the finite elements */
        size_t first_reader; /* [node] */
        size_t reader_count;
    } * constants; /* [whole] */
    /* the places where values too large for the storage appear, and their consequences */
    size_t overflow_count;
    struct ulp_audit_overflow {
        size_t node;        /* where they appear first [node] */
        ptrdiff_t constant; /* index of the constant they come from; -1: computed [whole] */
        /* first node whose results are right nevertheless; -1: none [node] */
        ptrdiff_t absorbed_by;
        size_t absorber_count; /* number of such nodes */
        /* first node whose results are finite and wrong because of it (1 / Inf is 0); -1: none
         * [node] */
        ptrdiff_t spoils;
        bool reaches_output; /* an output of the graph is not finite because of it */
        ptrdiff_t joins;     /* index of an earlier overflow that it meets, which has the
                                consequences of both; -1: none */
    } * overflows;
    size_t node_count;
    struct ulp_audit_node *nodes;
    struct ulp_audit_node outputs; /* the graph's outputs [whole] [apart] */
    struct ulp_attribution attribution;
    /* What helps most, of a lane that has shares and rounds more than FP32: the nodes that were
     * kept in FP32 for its shares, or the one to three that gain most. Their runs are of at most 16
     * samples */
    struct ulp_audit_remedy {
        bool tried;
        size_t node_count; /* 0: no choice that was tried gained a decibel */
        size_t *nodes;     /* [whole] */
        char *output;      /* the worst one in the run with them */
        /* its sqnr_db there, and that of the worst one without them; -infinity: not finite */
        double sqnr_db, before_db;
        size_t ran, left_out; /* samples: of other shapes than the first, or beyond 16 */
    } remedy;                 /* [whole] */
    /* With options.original: the pairs of QuantizeLinear and DequantizeLinear, and weights that
     * only the latter reads, by what they cost in the first sample, most first */
    size_t qdq_pair_count;
    struct ulp_qdq_pair {
        char *value; /* what its readers read */
        ptrdiff_t
            quantizer; /* -1: weights, beside the constant that the original has there [node] */
        size_t dequantizer;       /* [node] */
        size_t elements, clipped; /* off by more than rounding to a step makes */
        double step_rms;          /* its error in steps; NaN: of floats */
        /* sqnr_db of the worst output that a run of the first sample gains in which its readers
         * read the floats */
        double gained_db;
        /* the same of weights with one scale, where those are worth a decibel: when they are
         * rounded by a scale for each output channel instead; NaN: not tried */
        double channels_db;
        /* of weights in blocks that are among stored_faults: when each block is rounded by its own
         * largest value, along the axis that is summed; NaN: not tried */
        double blocks_db;
        /* of the pair that gains most: the samples that it was tried on, where there are several */
        size_t sample_count;
        double worst_db; /* what the worst output of the worst of these gains; NaN: not tried */
    } * qdq_pairs;       /* [whole] */
    /* With shares: what the lane's formats with scales, and QuantizeLinear nodes of the graph, do
     * to their tensors in the first sample, the least product_db first */
    size_t scaled_count;
    struct ulp_scaled_tensor *scaled; /* [count scaled_count] [whole] */
    /* the first node that is `born` and whose overflow is not absorbed; -1: none [node] [whole] */
    ptrdiff_t first_born;
    ptrdiff_t first_decided; /* the first node that is `decided`; -1: none [node] */
    size_t poisoned_count;   /* nodes that are `poisoned` [whole] */
    /* how an arithmetic with qdq=integer differs from the same arithmetic without it, when both are
     * audited */
    struct ulp_qdq_divergence {
        ptrdiff_t other; /* index of the lane without it; -1: not audited [whole] */
        ptrdiff_t first; /* first node whose results are not equal bits; -1: none [node] */
        /* first node whose integers differ, by a quantisation step or more [node] */
        ptrdiff_t first_step;
        /* over all samples: unequal integers, and all integers of node outputs */
        size_t steps, count;
    } qdq_divergence;
    /* A task's own figure of the outputs, larger being better (struct ulp_scorer), where one was
     * given: means over the samples of this arithmetic's and the reference's, the most by which it
     * is less in one, and by which it may be: with more the arithmetic is broken */
    struct ulp_audit_score {
        size_t sample_count;
        double mean, reference, lost, allowed;
    } score; /* [whole] */
};

/* A task's own figure of a sample's outputs, larger being better: it may be less than that of the
 * reference's outputs by `loss`. NaN and infinity are no figure: an arithmetic that has one is
 * broken, and of the reference's outputs it is an error. */
struct ulp_scorer {
    enum ulp_status (*score)(void *context, const struct ulp_tensor_set *outputs, double *out,
                             struct ulp_error *error);
    void *context;
    double loss;
};

/* How much one contraction's result depends on the schedule of its sum. It is computed under a set
 * of schedules, each on the reference's inputs; the width of an element is its largest result minus
 * its smallest. */
struct ulp_spread {
    size_t index;
    char *name, *op, *output;
    double ref_rms;
    double width_max_abs, width_rms, width_max_ulp; /* ulps: of the storage format */
    double differing; /* share of elements whose results are not all equal, 0 to 1 */
    double error_rms; /* of the first schedule against the reference, to compare the width with */
    /* rms difference of the base and the base on the other GPU; NaN: the set has no other GPU */
    double gpu_rms;
    /* elements that only some schedules keep finite; left out of the widths */
    size_t nonfinite;
};
struct ulp_arena;
/* The spreads of all contractions of a model. */
struct ulp_spreads {
    char *base; /* name of the arithmetic that the schedules are varied of */
    size_t schedule_count;
    char **schedules;    /* names of the arithmetics in the set; the first is the base */
    ptrdiff_t other_gpu; /* index of the base on another GPU; -1: none */
    size_t count;
    struct ulp_spread *items;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* How the elements of a value lie in the reference, over all samples and executions: counts by
 * binary exponent, of the nearest doubles. */
struct ulp_histogram {
    size_t zeros, nonfinite;
    /* counts[i]: elements with 2^(first + i) <= |x| < 2^(first + i + 1); those of exponent -1023
     * are all that are not 0 and below 2^-1022 */
    int first;
    size_t count;
    size_t *counts;
};
/* A node in the graph: what is the same in every lane. */
struct ulp_place {
    char *name, *op;     /* [whole] */
    const char *formula; /* of its operator, as ulp_operator_info has it; NULL: none [whole] */
    /* of each of its sums (MatMul, Gemm, Conv, reductions, running sums of a vector), by the sizes
     * that are known before a run; 0: it has none, or they are not told [whole] */
    size_t terms;
    /* its inputs, weights included; of an If, Loop or Scan also captured values and the results of
     * its bodies */
    size_t input_count;
    struct ulp_link {
        char *name;
        ptrdiff_t node; /* index of the node that computes it; -1: none before this one does */
        bool constant;
    } * inputs; /* [whole] */
    /* of its outputs, those of ulp_audit_node.outputs; NULL: it did not run */
    size_t output_count;
    struct ulp_histogram *histograms; /* [count output_count] */
};

/* An input of the model with NaN or infinity, in one sample; count of these elements. */
struct ulp_audit_input {
    char *name;
    size_t sample, count;
};

/* A node where the reference itself stops being finite: its results are not although what it reads
 * is, or are NaN although it reads none, in the first sample of which that reaches an output. */
struct ulp_birth {
    size_t node; /* index */
    char *name, *op;
    char *value; /* of its results, the one that is not finite */
    char *is;    /* "0 / 0", as in "node 3 quotient (Div) is 0 / 0" */
    char *why;   /* of what it reads: "all of c is 0"; NULL: not known */
    size_t sample;
    size_t count, elements; /* of its elements, and all */
    /* of the graph, not finite because of it; none: they are finite, and would be others without it
     */
    size_t output_count;
    char **outputs; /* [count output_count] */
};

/* The result of an audit. */
struct ulp_audit {
    char *model_path; /* [whole] */
    char *arguments;  /* the model and its inputs on a command line [whole] */
    char *reference;  /* name of its arithmetic [whole] */
    /* path of the model whose values are the truth; NULL: this model [whole] */
    char *reference_model;
    /* Of a target (--for), as it was named; the arithmetic that is the graph as it is there, which
     * nobody converts; what its parser refuses, and what to do; NULL: none [whole] */
    const char *target, *as_is, *refused, *refused_fix;
    /* node outputs with and without a value of their name in it [whole] */
    size_t paired_count, unpaired_count;
    int64_t ir_version, opset; /* of ai.onnx [whole] */
    size_t sample_count;
    char **sample_names; /* [count sample_count] */
    bool drawn;          /* inputs of a sample are random (ulp_model_random_inputs), not given */
    /* attentions that the graph writes out, under written-attention=kernel: computed as one node
     * each; node by node, and of the first of these the last node and why [whole] */
    size_t attentions_joined, attentions_apart;
    char *attention_apart; /* NULL: none [whole] */
    char *attention_why;   /* [whole] */
    /* inputs with values that are not finite */
    size_t nonfinite_input_count;
    struct ulp_audit_input *nonfinite_inputs;
    bool nonfinite_inputs_meant; /* options.allow_nonfinite_inputs [whole] */
    /* where the reference itself is not finite, by which no output is fine */
    size_t birth_count;
    struct ulp_birth *births;
    size_t lane_count;
    struct ulp_audit_lane *lanes; /* without the reference */
    size_t place_count;
    struct ulp_place *places; /* of each node, by index */
    /* limits that reports show (ulp_audit_keep_limits) */
    size_t limit_count;
    struct ulp_audit_limit {
        char *limit;
        size_t crossing_count;
        struct ulp_audit_crossing {
            const char *arithmetic, *output; /* NULL: an input, as in struct ulp_crossing */
            char *text;                      /* ulp_crossing_text */
        } * crossings;
    } * limits; /* [whole] */
    /* Weights that the file has in blocks with scales, where these are none that quantising by each
     * block's largest value along the summed axis gives (lint: scale-off, scale-axis) */
    size_t stored_fault_count;
    struct ulp_stored_fault {
        char *value;        /* what its readers read */
        size_t dequantizer; /* [node] */
        size_t blocks;      /* that are not all zero */
        /* blocks whose scale is at least twice the one that its largest value asks for; the index
         * of the first such scale */
        size_t loose, first_loose;
        ptrdiff_t axis;   /* along which blocks lie */
        ptrdiff_t summed; /* along which `reader` sums, where it is another one; -1: it is not */
        ptrdiff_t reader; /* -1: not known [node] */
    } * stored_faults;    /* [count stored_fault_count] [whole] */
    /* the reference compared with one of twice its precision (pair: 192 bits); the worst sample */
    struct ulp_certificate {
        bool given;
        /* correct decimal digits of every graph output: -log10(rms difference / rms) of the worst
         */
        double output_digits;
        double node_digits; /* the same over all node outputs */
        char *node;         /* name of the worst node */
        /* looked at because a sum drops a term beyond the reference's precision, and a difference
         * behind it cancels; and the index of that sum's node */
        bool lost;
        size_t lost_at;
    } certificate;
    /* one for each audited arithmetic, when schedules were asked for */
    size_t spread_count;
    struct ulp_spreads *spreads; /* [whole] */
    double seconds;
    /* what computing took in each arithmetic: first the reference (R(r), and R(p) for every other),
     * then the lanes (P(p) and P(r)). The rest of `seconds` went to measuring and handing on */
    size_t cost_count;
    struct ulp_audit_cost {
        char *name;
        double seconds;
        /* of the reference "pair": how many numbers pairs of doubles gave, and how many MPFR, in
         * steps that pairs leave open */
        size_t by_pairs, by_mpfr;
    } * costs;
    size_t peak_bytes;
    struct ulp_arena *memory; /* private: holds the rest, except certificate.node and spreads */
};

/* The arithmetic in which the lane computes the node. */
ULP_API const struct ulp_arithmetic *ulp_audit_node_arithmetic(const struct ulp_audit_lane *lane,
                                                               const struct ulp_audit_node *node);
/* The float output of a node (of the graph: &lane->outputs) with the largest error beside the
 * reference's rms: what is not finite, then the least sqnr_db. NULL: none can be compared. */
ULP_API const struct ulp_audit_output *ulp_audit_worst(const struct ulp_audit_node *node);

/* ---- running an audit ---- */

/* Samples, by index. Those without inputs are opened one at a time, or a few (at most 17), and
 * closed again: memory does not grow with their number. */
struct ulp_samples {
    size_t count;
    const struct ulp_sample *items;
    void *context;
    enum ulp_status (*open)(void *context, size_t index, const struct ulp_tensor_set **out,
                            struct ulp_error *error);
    void (*close)(void *context, size_t index);
};

/* Processes that share an audit's samples, as MPI's ranks: process 0 adds up what each makes. */
struct ulp_ranks {
    size_t self, count;
    /* to process 0: the bytes of a sample (malloc'd, which this frees) */
    void (*hand)(size_t sample, unsigned char *bytes, size_t count);
    /* in process 0: what `from` handed; freed with free(). False: no memory */
    bool (*take)(size_t sample, size_t from, unsigned char **bytes, size_t *count);
    /* whether all processes, each of which calls this, gave the same number */
    bool (*all_equal)(uint64_t number);
};
/* Finished samples in folders, so that an audit is resumed, made in shards on several machines, or
 * shared by processes (doc/scaling.md). A sample's figures are added as they are, in the order of
 * the samples, so that the audit has the same bits in every case. */
struct ulp_checkpoint {
    const char *const *folders; /* the first of which takes new ones, and is made; count 0: none */
    size_t folder_count;
    size_t shard, shard_count; /* shard of shard_count, from 1; 0: all samples */
    bool merge;                /* every sample is finished: ULP_ERROR_INPUT where one is not */
    const void *note;          /* that a new folder keeps (ulp_checkpoint_note) */
    size_t note_bytes;
    const struct ulp_ranks *ranks; /* NULL: one process */
    /* set by the run: the samples of this process, those found in a folder, and whether several
     * processes share one shard */
    size_t mine, found;
    bool split;
};
/* The note of a folder; free *bytes with free(). ULP_ERROR_INPUT: it is no checkpoint's. */
ULP_API enum ulp_status ulp_checkpoint_note(const char *folder, unsigned char **bytes,
                                            size_t *count, struct ulp_error *error);

/* Initialise with zeros and set the wanted ones. */
struct ulp_audit_options {
    size_t size;                            /* ULP_OPTIONS */
    const struct ulp_program_options *plan; /* of all lanes; `inputs` are each sample's own */
    /* struct ulp_attribution: which node the outputs' error comes from, and why it errs. Values are
     * kept from a run until shares are known, in FP32, within a third of the memory limit and half
     * of what the run leaves of it (1 GiB without a limit). Where they do not fit there are no
     * shares, and ulp_attribution.reason says so, unless `spill` names a folder: the rest goes to a
     * file without a name there, with equal results. An arithmetic that overflows gets the shares
     * of the same one with what overflows kept in FP32 (attribution.kept), on 16 samples at most */
    bool shares;
    const char *spill;
    /* what is explained: "NAME" of a float value of the main graph, "NAME[i,j]" of one element, or
     * "NAME[a]-NAME[b]" of a difference (a margin between classes); NULL: every float output */
    const char *output;
    size_t verify;     /* nodes of the largest shares, and as many random ones, to try in runs */
    const char *group; /* sums of shares: "op", "prefix:N", "cause"; NULL: none */
    bool certify;   /* the reference at twice its precision, which is mpfr:P, 2P <= 4096, or pair */
    bool schedules; /* struct ulp_spreads of every lane, on the first sample */
    enum ulp_task task; /* of the graph's float outputs; UNKNOWN: each is recognised */
    /* Another model's values as the truth, for a model that was rewritten (converted to FP16,
     * quantised, fused); NULL: the model's own. A value is then compared with the value r of the
     * same name and shape in the original, computed in the reference from the same inputs:
     *
     *     entire = P(p) - r,  carried = R(p) - r,  introduced = P(p) - R(p);  entire is their sum
     *
     * where P and R evaluate the audited model's node, so that carried contains what the rewriting
     * changed before it. single does not use the original. Shares are of the nodes' part in
     * P(p) - r of the outputs. Without `verify`. */
    const struct ulp_model *original;
    /* values of other names in the original; a name that the models do not compute is refused */
    const struct ulp_audit_pair {
        const char *audited, *original;
    } * pairs;
    size_t pair_count;
    struct ulp_checkpoint *checkpoint;   /* NULL: none */
    int thread_count;                    /* 0: all processors; no figure depends on it */
    const struct ulp_observer *progress; /* of every run; `cancelled` is asked; NULL: none */
    /* each may be NULL, and is called with context: */
    void *context;
    /* the first sample's program, before anything runs: what it refuses ends the audit */
    enum ulp_status (*compiled)(void *context, const struct ulp_program *program,
                                struct ulp_error *error);
    /* run `run` of run_count begins, of a sample (SIZE_MAX: of none); after all samples runs may
     * follow that are counted anew */
    void (*begins)(void *context, size_t sample, size_t run, size_t run_count);
    void (*finished)(void *context, size_t sample); /* its figures are there, or in the folder */
    /* with the outputs of every lane, the reference's first, of a sample that was run; they stay
     * the audit's. Not of samples that a checkpoint has. What it returns ends the audit */
    enum ulp_status (*outputs)(void *context, size_t sample, const struct ulp_tensor_set *lanes,
                               struct ulp_error *error);
    /* NaN and infinities in inputs are meant: else an audit with any says that it is not judged */
    bool allow_nonfinite_inputs;
    /* shares of every output are found; else of each sample's worst one and of those whose error,
     * relative to their values, is half as large and more */
    bool every_output;
    /* nodes are not computed on the reference's inputs, nor in its arithmetic: single, introduced
     * and carried have no figures (count 0), and the runs take a third to a half of the time.
     * Without `shares` and `certify` */
    bool entire_only;
    /* a task's own figure of the outputs of every lane; NULL: none. Not of samples that a
     * checkpoint has */
    const struct ulp_scorer *scorer;
    /* with original: what each pair of QuantizeLinear and DequantizeLinear costs is not tried,
     * which takes a run of each */
    bool no_pairs;
};

/* Audit a model: every sample through all lanes (lanes[0] is the reference), by the program of its
 * shapes; where a lane leaves the reference's decisions also along them (ulp_divergence.followed);
 * and what else the options ask. Samples may have any shapes that leave the same nodes to compute.
 * Charged to the model's budget. Of a shard, or of a process that is not the first, *out is empty
 * (sample_count 0). Free *out with ulp_audit_free. */
ULP_API enum ulp_status ulp_audit_run(const struct ulp_model *model,
                                      const struct ulp_arithmetic *lanes, size_t lane_count,
                                      const struct ulp_samples *samples,
                                      const struct ulp_audit_options *options,
                                      struct ulp_audit *out, struct ulp_error *error);
ULP_API void ulp_audit_free(struct ulp_audit *audit);
/* Sums of shares, into attribution.groups: by "op", or "prefix:N", names cut after their N-th part
 * between '/', or "cause": enum ulp_share_cause, and decisions. audit NULL: only the text is
 * checked. */
ULP_API enum ulp_status ulp_audit_group_shares(struct ulp_audit *audit, const char *by,
                                               struct ulp_error *error);

/* Measure value - base, two tensors of any element types; max_ulp and median_ulp are in ulps of
 * format. Where the shapes differ, only out->diverged is set. */
ULP_API enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value,
                                            const struct ulp_tensor *base,
                                            const struct ulp_format *format,
                                            struct ulp_metrics *out, struct ulp_error *error);

#endif
