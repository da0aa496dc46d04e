/* Recordings of another framework beside the truth: is what was recorded as near to it as the
 * framework's arithmetic can be, and where it is not, why?
 *
 * A recorded tensor is *explained* by an arithmetic when its error, recorded - reference, is no
 * larger than errors of that arithmetic are. How large they are is measured, at this tensor: in the
 * arithmetic itself and under other schedules of its sums, on these inputs; and in trials, in which
 * weights and inputs are changed at random by a few units in the last place, so that every rounding
 * is drawn anew. A smaller error is always explained. doc/compare.md derives the limits. */
#ifndef ULPSCOPE_COMPARE_H
#define ULPSCOPE_COMPARE_H

#include <ulpscope/analysis.h>
#include <ulpscope/recording.h>

/* What errors of an arithmetic at one tensor are like. */
struct ulp_expected_error {
    double rms, max_abs; /* root of the mean square, and the largest, over schedules and trials */
    /* How many directions share the error, 1 at least: 1 when it is along one direction in every
     * trial, so that its size varies as one number's does; large when it averages out */
    double freedom;
    size_t trials; /* rms is the mean of */
    /* errors up to this are explained anyway: a step of a scale in quantised tensors, 2^-23 in
     * functions between -1 and 1; 0: there is no such size */
    double floor;
    size_t nonfinite; /* most elements that became infinite or NaN where the reference did not */
    /* The tensor follows a decision (an index, a comparison, a rounding to steps) that another
     * rounding turns: what it would be otherwise counts as error of the arithmetic, too */
    bool open;
    /* ... and has another shape then, so that no size can be given: anything is explained */
    bool shapeless;
};

/* One tensor in one recording. */
struct ulp_compared_value {
    bool recorded; /* false: this recording does not have it, and the rest is zero */
    bool reshaped; /* its shape is not the graph's: nothing was measured, and it is not explained */
    bool turned;   /* recorded with channels last where the graph has them first, or the reverse */
    struct ulp_metrics truth;        /* of recorded - reference */
    struct ulp_metrics *arithmetics; /* by arithmetic: of recorded - what the arithmetic gives */
    struct ulp_metrics *others;      /* by recording: of this - that one; count 0 where not both */
    bool explained;
    /* the first arithmetic that explains it; else the one that comes nearest to it */
    size_t by;
    /* error over expected error of that arithmetic, rms and largest element, and the limits */
    double ratio, limit, max_ratio, max_limit;
};

struct ulp_compared_tensor {
    char *name;      /* of round k of a Loop or Scan, 0 being the first, NAME[k] */
    char *node, *op; /* that computes it; NULL: it is an input of the graph */
    ptrdiff_t index; /* of the node in the plan; -1: an input */
    enum ulp_type type;
    int rank;
    int64_t dims[ULP_RANK_MAX];
    struct ulp_range range;
    struct ulp_expected_error *expected; /* by arithmetic */
    struct ulp_compared_value *values;   /* by recording */
};

enum ulp_cause_kind {
    ULP_CAUSE_NONE,          /* everything is explained */
    ULP_CAUSE_PREPROCESSING, /* inputs were prepared otherwise, and it is known how */
    ULP_CAUSE_INPUTS,        /* inputs differ */
    ULP_CAUSE_FORMAT,        /* it was computed in another arithmetic */
    ULP_CAUSE_NODE,          /* one of the nodes listed computes something else */
    ULP_CAUSE_SHAPE,         /* a recorded tensor has another shape */
};
/* "none", "preprocessing", "inputs", "format", "node", "shape". */
ULP_API const char *ulp_cause_name(enum ulp_cause_kind kind);

struct ulp_cause {
    enum ulp_cause_kind kind;
    char *text;       /* sentences for a reader; never NULL */
    char *input;      /* of PREPROCESSING and INPUTS: the graph's input; NULL: not known which */
    char *arithmetic; /* of FORMAT */
    size_t node_count;
    char **nodes; /* in graph order, the first unexplained tensor's own the last */
};

struct ulp_compared_file {
    char *name;
    size_t tensor_count;         /* recorded and compared */
    bool explained;              /* every one of them */
    ptrdiff_t by;                /* first arithmetic that explains all; -1: none does alone */
    ptrdiff_t first_unexplained; /* index into tensors; -1: none */
    size_t unmatched_count;
    char **unmatched; /* arrays that are no value of the graph, or constants of it */
    struct ulp_cause cause;
};

struct ulp_comparison {
    char *model_path, *reference;
    size_t arithmetic_count;
    char **arithmetics;
    size_t trials;
    size_t file_count;
    struct ulp_compared_file *files;
    size_t tensor_count;
    struct ulp_compared_tensor *tensors; /* in graph order, inputs first */
    double seconds;
    struct ulp_arena *memory; /* what the rest lives in */
};

struct ulp_compare_options {
    struct ulp_arithmetic reference;
    const struct ulp_arithmetic *arithmetics; /* at least one */
    size_t arithmetic_count;
    size_t trials; /* 0: 8 */
    /* what the framework was given, when it is not among the recordings' tensors; else NULL */
    const struct ulp_tensor_set *recorded_inputs;
    bool no_cause;              /* judge only, do not look for causes (which takes more runs) */
    struct ulp_run_options run; /* threads */
    /* NULL, or told of every run: first that it begins, run `part` of `part_count` known by now */
    const struct ulp_observer *progress;
    void (*begins)(void *progress_context, size_t part, size_t part_count); /* may be NULL */
};

/* Compare recordings with what the model makes of `inputs`. Arrays are matched to the graph's
 * values by name; where no name is equal, by the one name that is equal when everything but
 * letters and digits is taken as '_'. An array named as a graph input is what that framework was
 * given. ULP_ERROR_INPUT when a recording has nothing that could be compared. Free with
 * ulp_comparison_free. */
ULP_API enum ulp_status ulp_compare_recordings(const struct ulp_model *model,
                                               const struct ulp_tensor_set *inputs,
                                               const struct ulp_recording *recordings,
                                               size_t recording_count,
                                               const struct ulp_compare_options *options,
                                               struct ulp_comparison *out, struct ulp_error *error);
ULP_API void ulp_comparison_free(struct ulp_comparison *comparison);

/* compare.json, whose schema is in doc/compare.md, into a folder (made when missing). */
ULP_API enum ulp_status ulp_comparison_write(const struct ulp_comparison *comparison,
                                             const char *folder, struct ulp_error *error);
/* What to do first, then a table; *out is freed with free(). width and colour as in
 * ulp_report_summary. */
ULP_API enum ulp_status ulp_comparison_summary(const struct ulp_comparison *comparison, int width,
                                               bool colour, char **out, struct ulp_error *error);

#endif
