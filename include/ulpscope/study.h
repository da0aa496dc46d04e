/* A study: the errors of many settings of an arithmetic against one reference, over a swept
 * property: bits, directions of rounding, orders of sums, matrix units; with trials of stochastic
 * rounding, and the law that the error follows.
 *
 * A sweep is the name of an arithmetic with braces: "e5m{4..12}", "fp16,round={rne,rz,sr}",
 * "fp16,order={sequential,blocked:64}". {A..B} and {A..B..STEP} are whole numbers, {X,Y} words;
 * several braces give every combination, the last one changing fastest. What a setting computes,
 * and so its figures, depends on its name, the inputs and the seed alone: not on other settings, on
 * memory, or on the number of threads. Figures of one setting are those that an audit has for
 * "entire", bit for bit. One study is for one thread at a time. */
#ifndef ULPSCOPE_STUDY_H
#define ULPSCOPE_STUDY_H

#include <ulpscope/audit.h>
#include <ulpscope/written.h>

/* The most settings that all sweeps of a study may have together, and trials of one. */
#define ULP_STUDY_SETTINGS_MAX 1000
#define ULP_STUDY_TRIALS_MAX 10000

/* What a sweep becomes. */
struct ulp_sweep {
    size_t brace_count;
    size_t *choice_counts; /* of each pair of braces */
    size_t count;          /* their product; 1 without braces */
    char **names;          /* of each combination */
    /* choices[i * brace_count + b]: index of the choice that names[i] has for braces b */
    size_t *choices;
    void *memory; /* private; ulp_sweep_free frees it */
};
/* Expand braces. ULP_ERROR_USAGE: braces that do not close, are empty or are inside others, numbers
 * beyond a million, or more than ULP_STUDY_SETTINGS_MAX names. What is between the braces is not
 * read: ulp_arithmetic_find does that. */
ULP_API enum ulp_status ulp_sweep_expand(const char *text, struct ulp_sweep *out,
                                         struct ulp_error *error);
ULP_API void ulp_sweep_free(struct ulp_sweep *sweep);

enum ulp_study_law {
    ULP_LAW_NONE,   /* no law fits: `reason` says why */
    ULP_LAW_POWER,  /* bits: 2^(slope * bits); lengths: n^slope; with another slope than below */
    ULP_LAW_LINEAR, /* bits: proportional to u = 2^-bits; lengths and sizes: to n */
    ULP_LAW_ROOT,   /* lengths and sizes: proportional to sqrt(n) */
    ULP_LAW_FLAT,   /* no dependence */
};
/* "none", "power", "linear", "root", "flat". Static storage. */
ULP_API const char *ulp_study_law_name(enum ulp_study_law law);

/* log2(error) = intercept + slope * x, x the bits or log2 of the length, by least squares over the
 * points first..last of a series that can follow a law. Points are left out where the error is 0, a
 * value is not finite or has diverged, or the error is lost: above half the reference's rms. Where
 * three points and more at the end of many bits lie within half a bit of each other, and others
 * before them do not, they are a floor, and left out.
 *
 * It is a law when at least 3 points are left and `residual` is at most half a bit (a factor of
 * sqrt(2)); the slope is called linear, root or flat when that slope lies within 0.15 of it. */
struct ulp_study_fit {
    enum ulp_study_law law;
    const char *reason;             /* of ULP_LAW_NONE; static storage */
    double slope, intercept;        /* NaN with fewer than 2 points */
    double slope_error;             /* standard error; NaN with fewer than 3 points */
    double slope_low, slope_high;   /* 95 % interval of Student's t; NaN likewise */
    double residual;                /* rms of log2(error) beside the line; NaN likewise */
    size_t count;                   /* points on the line */
    size_t lost, unusable, floored; /* points that were left out, by reason */
    size_t first, last;             /* of the points on the line, indexes into the series */
    double floor;                   /* rms of the errors of the floor; NaN: there is none */
};
/* Fit to points of a series: bits (lengths false), lengths, or sizes n of inputs, over which n u
 * (all roundings in one direction) and sqrt(n) u (independent ones) are told apart. relative:
 * errors beside the reference's rms; NaN: not to be used. count is at most ULP_STUDY_SETTINGS_MAX.
 */
ULP_API void ulp_study_fit(const double *x, const double *relative, size_t count, bool lengths,
                           struct ulp_study_fit *out);

/* What is looked at. */
enum ulp_study_place_kind { ULP_PLACE_OUTPUT, ULP_PLACE_NODE, ULP_PLACE_GROUP };
/* "output", "node", "group". Static storage. */
ULP_API const char *ulp_study_place_kind_name(enum ulp_study_place_kind kind);
struct ulp_study_place {
    enum ulp_study_place_kind kind;
    char *name;
    size_t node_count; /* of a group: its nodes that compute floats, not only move them */
};

/* Trials of stochastic rounding at one output: the spread of each element over the trials. */
struct ulp_study_trials {
    size_t count;           /* 0: it has none */
    double mean, deviation; /* of the relative error, over trials */
    size_t elements;        /* finite in the reference and in all trials */
    size_t left_out;        /* that are not */
    size_t exact;           /* of `elements`, those with equal bits in all trials */
    /* -log2(sigma / |mu|) of an element, sigma its sample deviation, mu its mean: the lower median
     * over elements, and the least; exact elements have infinitely many */
    double bits, bits_least;
    double bits_low; /* bits - ulp_significant_loss */
    /* the mean of an output's signed error: of all trials, its standard error over trials, and the
     * half width of Student's interval at the confidence */
    double bias, bias_error, bias_width;
    /* root mean square over elements of the mean error, less what the trials' number explains (its
     * square is an unbiased estimate, cut at 0) */
    double bias_rms;
    /* the share of elements whose own Student interval excludes the reference; without bias
     * 1 - confidence is expected */
    double biased;
};

/* A setting at a place. */
struct ulp_study_point {
    /* rms of the error over rms of the reference, of the worst sample; of trials the root mean
     * square; of a group that of its nodes. NaN: not known, diverged, or not finite */
    double relative;
    double ref_rms; /* of outputs and nodes */
    /* of outputs and nodes: as ulp_audit_output.entire, of the worst trial */
    struct ulp_metrics metrics;
    size_t nonfinite;               /* elements, over the worst trial; of a group over its nodes */
    bool diverged;                  /* of a group: some node has */
    struct ulp_study_trials trials; /* of outputs */
    /* of the graph's outputs, of the worst trial, by what they are for (doc/verdicts.md) */
    enum ulp_grade grade;
};

struct ulp_study_setting {
    char *name;                       /* of the arithmetic [whole] */
    char *text;                       /* as the first sweep has it [whole] */
    struct ulp_arithmetic arithmetic; /* private: as its name says */
    size_t trials;                    /* runs with drawn seeds; 0: one run [whole] */
    char *overflows; /* node where the first overflow that does harm appears; NULL: none does */
    bool kept;       /* private: its figures were in the checkpoint folder */
    size_t point_count;
    struct ulp_study_point *points; /* by place [each places] */
};

enum ulp_study_axis {
    ULP_AXIS_WORDS,    /* a choice without an order: rounding, GPUs */
    ULP_AXIS_BITS,     /* stored significand bits of the storage format */
    ULP_AXIS_EXPONENT, /* its exponent bits */
    ULP_AXIS_LENGTH,   /* products of a block, a promoted chain, or slices: of how many */
};
/* "words", "bits", "exponent", "length". Static storage. */
ULP_API const char *ulp_study_axis_name(enum ulp_study_axis axis);

/* Settings of one sweep that differ in one pair of braces only. */
struct ulp_study_series {
    size_t sweep;
    char *name; /* the sweep with that pair left as it was: "e5m{4..12}" */
    enum ulp_study_axis axis;
    size_t count;
    size_t *settings; /* indexes [count count] */
    char **texts;     /* as this sweep has them [count count] */
    double *x;        /* NaN of ULP_AXIS_WORDS [count count] */
    size_t fit_count;
    /* by place; of ULP_AXIS_BITS and ULP_AXIS_LENGTH, else NULL [each places] */
    struct ulp_study_fit *fits;
};

struct ulp_study {
    char *model_path, *arguments, *reference;
    size_t sample_count, trials;
    uint64_t seed;
    double probability, confidence;
    double tolerance; /* NaN: none */
    size_t sweep_count;
    char **sweeps;
    size_t place_count;
    struct ulp_study_place *places; /* outputs, then nodes, then groups */
    char *grouping;                 /* "op" or "prefix:N" */
    size_t setting_count;
    struct ulp_study_setting *settings;
    size_t series_count;
    struct ulp_study_series *series;
    size_t walks;             /* the reference was computed so often for each sample [apart] */
    double seconds;           /* [apart] */
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros; reference, sweeps and samples must be set. */
struct ulp_study_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic reference;
    const char *const *sweeps;
    size_t sweep_count;
    /* nodes looked at beside the outputs, by name or by the name of what they compute */
    const char *const *nodes;
    size_t node_count;
    /* layer groups: "op", or "prefix:N" as of ulp_audit_group_shares; NULL: the first prefix:N that
     * gives 2 to 12 groups, else op */
    const char *group;
    size_t trials;                  /* of settings with round=sr and no seed of their own; 0: 30 */
    uint64_t seed;                  /* that those of trials are drawn from */
    double probability, confidence; /* 0: 0.95 */
    double tolerance;               /* relative error that the conclusion is about; 0: none */
    size_t lanes; /* at most so many settings and trials side by side; 0: as many as fit */
    /* a folder (made when missing) that keeps finished settings, and gives those of this model,
     * these inputs and options that it has; NULL: none */
    const char *checkpoint;
    int thread_count;                    /* 0: all processors */
    const struct ulp_observer *progress; /* NULL: none */
    /* called with progress->context before each run of a sample, when not NULL */
    void (*begins)(void *progress_context, size_t run, size_t run_count);
    enum ulp_task task; /* of the graph's outputs; UNKNOWN: each is recognised */
    /* NaN and infinities in inputs are meant: else no point is judged where there are any */
    bool allow_nonfinite_inputs;
};

/* Run the study on samples of any shapes that leave the same nodes to compute. Settings are
 * computed side by side, as many as the memory budget allows, at most 64. A setting whose
 * arithmetic the model cannot have: ULP_ERROR_USAGE or ULP_ERROR_UNSUPPORTED, before anything runs.
 * Free *out with ulp_study_free. */
ULP_API enum ulp_status ulp_study_run(const struct ulp_model *model,
                                      const struct ulp_sample *samples, size_t sample_count,
                                      const struct ulp_study_options *options,
                                      struct ulp_study *out, struct ulp_error *error);
ULP_API void ulp_study_free(struct ulp_study *study);
/* The output with the largest relative error over the settings of the series: what the conclusion
 * is about; index into places. */
ULP_API size_t ulp_study_worst(const struct ulp_study *study,
                               const struct ulp_study_series *series);

/* The study as text: a conclusion for each series first. Free *out with free(); width and colour as
 * in ulp_report_text. */
ULP_API enum ulp_status ulp_study_text(const struct ulp_study *study, int width, bool colour,
                                       char **out, struct ulp_error *error);
/* Write study.json (schema: doc/study.md), or CSV: a row for each setting and place. */
ULP_API enum ulp_status ulp_study_write(const struct ulp_study *study, enum ulp_output_kind as,
                                        const char *path, struct ulp_error *error);
ULP_API enum ulp_status ulp_study_write_csv(const struct ulp_study *study, const char *path,
                                            struct ulp_error *error);

/* ---- rows beside rows ---- */

/* Numbers of rows beside which every output of every sample has the same bits. */
struct ulp_study_rows_class {
    size_t count;
    size_t *rows; /* ascending [count count] */
};

/* An output over all numbers of rows. */
struct ulp_study_rows_output {
    char *name;
    size_t elements;       /* finite beside every number of rows, of all samples */
    size_t nonfinite;      /* that are not */
    size_t differing;      /* of `elements`, those with more than one value */
    double width_max_abs;  /* the largest value less the smallest, of the worst element */
    double width_relative; /* rms of that over the rms of the values; NaN: they are all 0 */
    /* of floats: rows of the last axis, of which the place of the largest element is compared (of
     * equal ones the first); 0: that axis has one element */
    size_t choices;
    size_t
        flipped; /* of `choices`, those that are not the same place beside every number of rows */
};

/* A product whose own result, on equal inputs, depends on the rows beside it. */
struct ulp_study_rows_node {
    size_t index; /* among the plan's nodes */
    char *name, *op;
    size_t elements;      /* of all samples and executions */
    size_t differing;     /* with more than one value */
    double width_max_ulp; /* the largest value less the smallest, in ulps of the storage format */
};

struct ulp_study_rows {
    char *model_path;
    char *arithmetic; /* with split-k=cublas */
    size_t sample_count;
    size_t row_count;
    size_t *rows; /* numbers of rows that were tried, as multiples of the samples' own */
    size_t class_count;
    /* by their first number of rows [count class_count] */
    struct ulp_study_rows_class *classes;
    size_t output_count;
    struct ulp_study_rows_output *outputs; /* of numbers */
    size_t product_count;                  /* MatMul, Gemm and the like that were looked at */
    size_t node_count;
    struct ulp_study_rows_node *nodes; /* in the plan's order */
    double seconds;                    /* [apart] */
    struct ulp_arena *memory;          /* private: holds the rest */
};

/* The most numbers of rows. */
#define ULP_STUDY_ROWS_MAX 64

/* How the results of a sample depend on the rows beside it: the library of products cuts long sums
 * into slices by the shape of the product (split-k=cublas, doc/accuracy.md), which has as many
 * times the sample's rows as the batch has samples. Every number of rows (1 and more, ascending; at
 * most ULP_STUDY_ROWS_MAX) is a run of the whole network; a second run gives each product the
 * first's inputs and so finds where bits begin to differ. arithmetic: one that split-k=cublas is
 * possible in, as fp16@h100; what it has for split-k= and rows= is replaced. Kernels other than
 * products (reductions, attention) are taken to be the same for any number of rows. Nothing to
 * compare, or no product: ULP_ERROR_LIMIT. thread_count 0: all processors; progress may be NULL.
 * Free *out with ulp_study_rows_free. */
ULP_API enum ulp_status ulp_study_rows_run(const struct ulp_model *model,
                                           const struct ulp_sample *samples, size_t sample_count,
                                           const struct ulp_arithmetic *arithmetic,
                                           const size_t *rows, size_t row_count, int thread_count,
                                           const struct ulp_observer *progress,
                                           struct ulp_study_rows *out, struct ulp_error *error);
ULP_API void ulp_study_rows_free(struct ulp_study_rows *study);
/* Read "1..512" (1, 512 and the numbers between them at which the count of slices was recorded) or
 * "1,8,64" into rows, ascending; *count of them. ULP_ERROR_USAGE: neither. */
ULP_API enum ulp_status ulp_study_rows_read(const char *text, size_t rows[ULP_STUDY_ROWS_MAX],
                                            size_t *count, struct ulp_error *error);
/* As text, the answer first (free *out with free(); width and colour as in ulp_report_text), and as
 * JSON (doc/study.md); the file is complete or unchanged. */
ULP_API enum ulp_status ulp_study_rows_text(const struct ulp_study_rows *study, int width,
                                            bool colour, char **out, struct ulp_error *error);
ULP_API enum ulp_status ulp_study_rows_write_json(const struct ulp_study_rows *study,
                                                  const char *path, struct ulp_error *error);

#endif
