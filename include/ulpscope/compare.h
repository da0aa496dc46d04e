/* Comparing recordings of another framework with the reference: are their errors those of the
 * framework's arithmetic, and if not, which tensor is the first with a larger error, and why?
 *
 * A recorded tensor is *explained* by an arithmetic when its error, recorded - reference, is no
 * larger than errors of that arithmetic at this tensor. How large these are is measured: with the
 * arithmetic itself and under other schedules of its sums, on these inputs; and in trials, which
 * change weights and inputs at random by a few units in the last place, so that every rounding is
 * drawn anew. A smaller error is always explained. doc/compare.md derives the limits. */
#ifndef ULPSCOPE_COMPARE_H
#define ULPSCOPE_COMPARE_H

#include <ulpscope/audit.h>
#include <ulpscope/recording.h>
#include <ulpscope/written.h>

/* The errors to expect of an arithmetic at one tensor. */
struct ulp_expected_error {
    double rms, max_abs; /* root of the mean square, and the largest, over schedules and trials */
    /* between which the root of the mean square of about 95 % of runs lies, each a draw of its
     * own (doc/tolerance.md); both rms where there are no trials */
    double least, most;
    /* how many independent directions share the error, at least 1: with 1 its size varies as that
     * of a single random number, with many it averages out */
    double freedom;
    size_t trials; /* number of trials that rms is the mean of */
    /* errors up to this are always explained: one quantisation step of a quantised tensor, 2^-23 of
     * a function between -1 and 1; 0: there is no floor */
    double floor;
    size_t nonfinite; /* largest number of elements that are not finite where the reference's are */
    /* the tensor depends on a decision (an index, a comparison, a rounding to steps) that other
     * roundings change: the change counts as error of the arithmetic */
    bool open;
    /* its shape depends on such a decision, so no size can be given */
    bool shapeless;
    /* behind a choice (TopK, NonMaxSuppression, a comparison) rows are compared with those of the
     * reference that they match: the median of their distances, each column over its spread in the
     * reference; 0: no choice is before it */
    double matched;
};

/* One tensor in one recording. */
struct ulp_compared_value {
    /* false: this recording does not contain it, and the rest is zero [apart] */
    bool recorded;
    bool reshaped; /* its shape is not the graph's: not explained, but by matched rows */
    bool turned;   /* recorded with channels last where the graph has them first, or the reverse */
    struct ulp_metrics truth; /* of recorded - reference */
    struct ulp_judged judged; /* of an output of the graph */
    /* of recorded - its value [each arithmetics] [apart] */
    struct ulp_metrics *arithmetics;
    /* of this - the other recording's; count 0: not in both [each files] [apart] */
    struct ulp_metrics *others;
    /* elements that are not finite, or are finite, as neither the reference nor that arithmetic is
     * there: an infinity explains itself, of its sign and at its place, and no other value */
    size_t nonfinite;
    /* the median distance of rows from those of the reference that they match, of a tensor behind a
     * choice; and whether that was judged, so that ratio and limit are its */
    double matched;
    bool rows_matched;
    double small; /* rms error of a product's elements below a tenth of the rms; 0: few are */
    /* a format that is not the arithmetic's storage, of which all values are numbers although
     * those of the reference, or of the storage, are not: they were stored in it, and not by that
     * arithmetic; NULL: none */
    const char *stored;
    bool explained;
    /* the first arithmetic that explains it, else the one that comes nearest [in arithmetics] */
    size_t by;
    /* error over expected error of that arithmetic, rms and largest element, and the limits */
    double ratio, limit, max_ratio, max_limit;
    double small_ratio; /* the same of a product's small elements, whose limit is max_limit */
};

struct ulp_compared_tensor {
    char *name;      /* in iteration k of a Loop or Scan, from 0: NAME[k] */
    char *node, *op; /* of the node that computes it; NULL: an input of the graph */
    ptrdiff_t index; /* of the node in the program; -1: an input */
    enum ulp_type type;
    int rank;
    int64_t dims[ULP_RANK_MAX]; /* [count rank] */
    struct ulp_range range;
    struct ulp_expected_error *expected; /* [each arithmetics] [apart] */
    struct ulp_compared_value *values;   /* [each files] [apart] */
};

enum ulp_cause_kind {
    ULP_CAUSE_NONE,          /* everything is explained */
    ULP_CAUSE_PREPROCESSING, /* an input was prepared in another way, which is known */
    ULP_CAUSE_INPUTS,        /* an input differs, the reason is not known */
    ULP_CAUSE_FORMAT,        /* the framework computed in another arithmetic */
    ULP_CAUSE_NODE,          /* one of the nodes listed computes something else */
    ULP_CAUSE_SHAPE,         /* a recorded tensor has another shape */
    ULP_CAUSE_UNJUDGED,      /* nothing differs, but an output has nothing to compare */
    ULP_CAUSE_POWER,         /* nothing differs, but mistakes would not be noticed */
};
/* "none", "preprocessing", "inputs", "format", "node", "shape", "unjudged", "power". */
ULP_API const char *ulp_cause_name(enum ulp_cause_kind kind);

/* Why the first unexplained tensor is not explained. */
struct ulp_cause {
    enum ulp_cause_kind kind;
    char *text;       /* sentences for a reader; never NULL */
    char *input;      /* of PREPROCESSING and INPUTS: name of the graph's input; NULL: not known */
    char *arithmetic; /* of FORMAT */
    char *todo;       /* of NODE, what to do about it; NULL: nothing more is known */
    size_t node_count;
    char **nodes; /* of NODE, in graph order: those read otherwise where todo says so, else the last
                   * computes the first unexplained tensor */
};

/* A usual mistake in preparing an input, run and judged as if it had been recorded. */
struct ulp_power {
    char *kind;  /* "channels", "mean", "scale", "layout", "resize" (a pixel's shift), "order" */
    char *input; /* name of the graph's input */
    char *what;  /* the mistake in words */
    /* exactly computed, outputs by it have a worse grade than the arithmetic's errors give them, by
     * the decibels of doc/verdicts.md (of matched rows over a column's spread) */
    bool harms;
    double least; /* part of the mistake that is noticed: 1, 0.1, 0.01 or 0.001; 0: not even all */
};

/* How well an arithmetic fits a recording. */
struct ulp_ranked {
    size_t arithmetic; /* [in arithmetics] */
    bool explains;     /* every tensor */
    /* its own errors hide mistakes in preparing the input that do harm: a usual one of a picture,
     * or of other inputs every one, so that it explains nothing; never where it gives all recorded
     * bits */
    bool blind;
    bool saw, missed; /* private: of mistakes that do harm, some */
    /* elements of tensors that nodes compute, and of them those with the bits that it gives, itself
     * or under another schedule of its sums */
    size_t elements, equal;
    double ratio; /* median over tensors of error over expected error; 1: as large as it makes it */
    /* mean over tensors of |ln ratio|, and of the distance from what it gives in parts of its
     * expected error; 0: its bits */
    double misfit;
};

/* One recording. */
struct ulp_compared_file {
    char *name;
    size_t tensor_count; /* recorded and compared */
    bool explained;      /* every tensor */
    /* of the arithmetics that were asked about and explain every tensor, the one that fits best;
     * -1: none alone [in arithmetics] */
    ptrdiff_t by;
    /* nothing is too large, but those asked about are blind, or err as much as mistakes in
     * preparing the inputs do: it cannot be told, and counts as unexplained */
    bool hidden;
    /* one that was not asked about, of other formats, and fits so much better that those that were
     * are excluded, which makes the file unexplained; -1: none [in arithmetics] */
    ptrdiff_t better;
    size_t ranked_count;
    struct ulp_ranked *ranked;   /* every arithmetic, the one that fits best first */
    ptrdiff_t first_unexplained; /* -1: none [in tensors] */
    size_t power_count; /* what the comparison could have found, in the arithmetic that explains it
                           (none: the first): mistakes in inputs that were not recorded. 0 where
                           nothing explains any recording: a difference has been noticed */
    struct ulp_power *power;
    size_t unmatched_count;
    char **unmatched; /* arrays that match no computed value of the graph */
    struct ulp_cause cause;
    /* the decisions with which all of this was computed, where they are not those of each
     * arithmetic by itself, as "the choices recorded"; NULL: they are */
    const char *choices;
};

/* The result of a comparison. */
struct ulp_comparison {
    char *model_path, *arguments, *reference;
    /* those that were asked about, and then their neighbours, which explain nothing and are ranked
     * beside them: other formats, another accumulator, fused or not, factors scaled back or not */
    size_t arithmetic_count;
    char **arithmetics;
    size_t asked;   /* how many of them were asked about */
    char *unranked; /* why neighbours were not computed; NULL: they were, or were not wanted */
    size_t trials;  /* of each that was asked about; neighbours may have fewer */
    /* trials, of all arithmetics together, that ended before the graph's end, and why the first
     * did: an index was outside of its axis. What lies behind is taken as behind a decision */
    size_t ended;
    char *ended_by; /* NULL: none did */
    size_t unseen;  /* mistakes in preparing inputs that there was no time to run */
    /* why the reference judges nothing with these inputs: it stops being finite itself ("node 3
     * quotient (Div) is 0 / 0, in the reference already: all of c is 0"), or (lost) its own digits
     * are not enough; NULL: it does, or was not looked at. No recording is fine then */
    char *ill;
    bool lost; /* that is why */
    size_t file_count;
    struct ulp_compared_file *files;
    size_t tensor_count;
    struct ulp_compared_tensor *tensors; /* in graph order, inputs first */
    size_t place_count;
    struct ulp_place *places; /* of each node of the program, by index; without histograms */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros; reference and arithmetics must be set. */
struct ulp_compare_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic reference;
    const struct ulp_arithmetic *arithmetics; /* at least one */
    size_t arithmetic_count;
    const struct ulp_keeps
        *keeps; /* nodes in other arithmetics, one for each; NULL: there are none */
    const struct ulp_groups *groups; /* of those with fuse=groups, one for each; NULL: none; causes
                                        are looked for without: set no_cause */
    size_t trials;                   /* 0: 8 */
    /* the inputs that the framework was given, when they are not among the recordings' tensors;
     * else NULL */
    const struct ulp_tensor_set *recorded_inputs;
    bool allow_nonfinite_inputs; /* else NaN or infinity in an input: ULP_ERROR_LIMIT */
    bool no_cause;    /* do not look for causes, nor at neighbours: both take more runs */
    int thread_count; /* 0: all processors */
    /* NULL; or an observer of every run, with a call before each: run `part` of the `part_count`
     * known by then */
    const struct ulp_observer *progress;
    void (*begins)(void *progress_context, size_t part, size_t part_count); /* may be NULL */
    enum ulp_task task; /* of the graph's outputs; UNKNOWN: each is recognised */
    /* in which an answer is wanted: neighbours, mistakes in preparing inputs, guesses at them and
     * readings of nodes are left that are not begun when most of it is over, and the answer says
     * which; 0: all are tried */
    double seconds;
    /* the same without `seconds`, of a machine with two idle cores: where it is busy, until so much
     * was computed, too; 0: no limit */
    double patience;
};

/* Compare recordings with what the model computes from `inputs`, in the arithmetics asked about and
 * in their neighbours. Arrays are matched to the graph's
 * values by name; where no name is equal, by the single name that is equal when every character but
 * letters and digits counts as '_'. An array with the name of a graph input is the input that this
 * framework was given. ULP_ERROR_INPUT when a recording has nothing to compare; one all of whose
 * tensors are empty, or have no finite element, is not explained, nor is such an output of the
 * graph. Free *out with ulp_comparison_free. */
ULP_API enum ulp_status ulp_comparison_run(const struct ulp_model *model,
                                           const struct ulp_tensor_set *inputs,
                                           const struct ulp_recording *recordings,
                                           size_t recording_count,
                                           const struct ulp_compare_options *options,
                                           struct ulp_comparison *out, struct ulp_error *error);
ULP_API void ulp_comparison_free(struct ulp_comparison *comparison);

/* Write compare.json (doc/fields.md). */
ULP_API enum ulp_status ulp_comparison_write(const struct ulp_comparison *comparison,
                                             enum ulp_output_kind as, const char *path,
                                             struct ulp_error *error);
/* The result as text: the verdict on each recording first, then a table. Free *out with free();
 * width and colour as in ulp_report_text. */
ULP_API enum ulp_status ulp_comparison_text(const struct ulp_comparison *comparison, int width,
                                            bool colour, char **out, struct ulp_error *error);

#endif
