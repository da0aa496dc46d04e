/* Forecasting overflow: what a format will do to a model, said from the reference's values alone.
 *
 * An audit (audit.h) runs the arithmetic and reports what became of it. A forecast runs the
 * reference, and looks at every node by itself: at the largest and smallest values of its outputs,
 * and at what its own formulas and sums of products hold inside. Where a value comes within a
 * factor of two of the format's largest number, that one node is also computed in the arithmetic
 * itself, on the reference's values rounded to its storage, so that the verdict is exact there too.
 *
 * In the first lane is the reference (fp64 is enough: its errors are far below any
 * border of a format); each other lane is an arithmetic to forecast. */
#ifndef ULPSCOPE_OVERFLOW_H
#define ULPSCOPE_OVERFLOW_H

#include <ulpscope/audit.h>
#include <ulpscope/limit.h>
#include <ulpscope/written.h>

/* In order of severity. Bits are log2 of the format's largest number over the largest magnitude. */
enum ulp_overflow_verdict {
    ULP_OVERFLOW_SAFE,    /* three bits and more */
    ULP_OVERFLOW_3_BITS,  /* less than three bits below the largest number */
    ULP_OVERFLOW_1_BIT,   /* less than one */
    ULP_OVERFLOW_HAPPENS, /* some element does not fit */
    ULP_OVERFLOW_UNKNOWN, /* the reference has no finite element; worse than safe alone */
};
/* "safe", "within 3 bits", "within 1 bit", "overflows", "cannot tell". */
ULP_API const char *ulp_overflow_verdict_name(enum ulp_overflow_verdict verdict);

/* Why a value overflows, or comes near it. */
enum ulp_overflow_cause {
    ULP_OVERFLOW_RESULT, /* the node's exact result is too large for its storage */
    ULP_OVERFLOW_INPUT,  /* an input of the model is too large for the storage */
    /* a constant is, and the arithmetic lowers it to infinity (a mask), or clips it so that results
     * are wrong (a variance) */
    ULP_OVERFLOW_CONSTANT,
    ULP_OVERFLOW_WEIGHT,   /* the same of a weight of a product */
    ULP_OVERFLOW_ZERO,     /* an input or a constant becomes zero, and is divided by or the like */
    ULP_OVERFLOW_HIDDEN,   /* a value inside the operator is too large for what it is computed in */
    ULP_OVERFLOW_SUM,      /* a partial sum is too large for the accumulator */
    ULP_OVERFLOW_UPSTREAM, /* it only passes on an input whose values are too large */
};
/* "result", "input cast", "constant", "weight cast", "becomes zero", "hidden value", "partial sum",
 * "upstream". */
ULP_API const char *ulp_overflow_cause_name(enum ulp_overflow_cause cause);

/* What becomes of an overflow. */
enum ulp_overflow_effect {
    ULP_OVERFLOW_NO_EFFECT, /* there is no overflow */
    ULP_OVERFLOW_POISONS,   /* an output of the model is not finite because of it */
    ULP_OVERFLOW_SPOILS,   /* results of a node are finite and wrong because of it (1 / Inf is 0) */
    ULP_OVERFLOW_ABSORBED, /* the results that depend on it are right, as of a masked Softmax */
    ULP_OVERFLOW_UNUSED,   /* nothing depends on it */
};
/* "none", "poisons outputs", "makes results wrong", "absorbed", "unused". */
ULP_API const char *ulp_overflow_effect_name(enum ulp_overflow_effect effect);

/* An output of a node over all samples. */
struct ulp_overflow_output {
    char *name;
    struct ulp_format format; /* that it is stored in */
    /* magnitudes of the exact results on what the node reads (of the reference's where these are
     * not finite): the largest, and the smallest that is not zero; 0: all are zero */
    double largest, smallest;
    double count;           /* elements of all samples */
    double subnormal, zero; /* those of them, not zero, below the format's normal numbers; and those
                             * that round to zero */
    double headroom_bits;   /* log2 of the largest number of the format over `largest`; infinite:
                             * all are zero */
    enum ulp_overflow_verdict verdict;
    /* elements of all samples that are finite in the reference, and in the arithmetic, on the
     * reference's values rounded, are not (in a format that saturates: are the largest number) */
    double overflowed;
    /* of an overflow, else of the largest value */
    enum ulp_overflow_cause cause;
    char *culprit;        /* the input, constant or value that cause names; NULL: it names none */
    size_t sample, index; /* where: the sample and the element */
    size_t sample_count;  /* in which it was computed */
    bool masked;   /* values beyond the format that the arithmetic made finite are left out */
    bool vanishes; /* private: an element is zero in the arithmetic and not in the reference */
    bool finite;   /* private: an element is finite */
    /* private: integers, which come out otherwise because an input or a constant that the node
     * reads is too large; `largest` is of that one, `overflowed` how many do */
    bool decides;
};

/* A value inside a node, which no output shows: what an instruction of its formula computes, or the
 * partial sums of a row or of a product. */
struct ulp_overflow_hidden {
    char *words; /* of the formula ("d * d"; ulpscope list NAME shows it whole); "sum over k" */
    bool sum;    /* partial sums, in increasing order of their terms */
    double largest, smallest; /* magnitudes, as of an output */
    /* of a product: no partial sum is larger, in any order. Partial sums are formed only where that
     * is more than the format of the outputs holds; elsewhere it is `largest` too */
    double bound;
    double count, subnormal, zero; /* as of an output, in the format of the outputs */
    size_t sample, index;          /* where the largest is: of a sum the row, or the element */
    ptrdiff_t k;     /* of a sum: the term with which it is largest; -1: not known, or no sum */
    ptrdiff_t first; /* of a sum: the first term with which one leaves the format of the outputs;
                        -1: none does */
    /* own: as the arithmetic computes inside ("fp16": in FP32). narrow: in the format of the
     * outputs, as kernels do that compute or accumulate in FP16 */
    struct ulp_overflow_inside {
        struct ulp_format format;
        enum ulp_overflow_verdict verdict;
        double headroom_bits;
    } own, narrow;
};

struct ulp_overflow_node {
    size_t index; /* in the program */
    char *name, *op;
    bool moves;          /* only moves elements, so it overflows by what it is given */
    bool born;           /* overflows in some sample in which what it reads fits the format */
    bool reads_overflow; /* what it reads does not fit, in some sample */
    size_t output_count;
    struct ulp_overflow_output *outputs;
    enum ulp_overflow_verdict verdict; /* the worst of its outputs */
    size_t hidden_count;
    struct ulp_overflow_hidden *hidden;
    enum ulp_overflow_verdict own, narrow; /* the worst of its hidden values */
    /* additions and subtractions of its formulas, of rows in order, and of products in increasing
     * k (of these up to 2^16 terms each, of results evenly spread) whose terms
     * are not zero; those that the format of its outputs rounds to the larger term */
    double additions, absorbed;
    enum ulp_overflow_effect effect; /* of its own overflow */
    ptrdiff_t
        effect_node; /* of the plan: that makes results wrong or absorbs it; -1: none [node] */
    bool keep; /* one of those that would have to be kept in a format of FP32's range, so that no
                * overflow does harm */
};

/* Something to try against overflows, and what came of it in a run of the arithmetic, changed like
 * that. */
struct ulp_overflow_remedy {
    char *what;        /* "keep 2 nodes in FP32"; the first: "as it is" */
    size_t node_count; /* nodes that it changes */
    size_t cast_count; /* borders (struct ulp_border) */
    size_t nonfinite;  /* elements of the model's outputs that are not what the reference's are */
    size_t turned;     /* integers of them that are not the reference's */
    double sqnr_db;    /* of the worst output; NaN: no element can be compared */
    char *output;      /* that one; NULL: there is no float output */
};

/* One arithmetic. */
struct ulp_overflow_lane {
    char *name;
    struct ulp_arithmetic arithmetic;
    size_t node_count;
    struct ulp_overflow_node *nodes; /* those that were computed, in order */
    size_t born_count;               /* nodes that are born */
    size_t harmful_count;            /* those of them whose overflow is not absorbed or unused */
    size_t counts[5];                /* of nodes [by ulp_overflow_verdict] */
    size_t keep_count;               /* nodes to keep */
    size_t
        narrow_counts[5]; /* by the worst of its hidden values, narrow [by ulp_overflow_verdict] */
    size_t remedy_count;  /* 0: none were tried */
    struct ulp_overflow_remedy *remedies;
    double computed; /* share of nodes that had to be computed in the arithmetic, 0 to 1 */
};

struct ulp_overflow_forecast {
    char *model_path, *arguments, *reference;
    size_t sample_count;
    char **sample_names; /* [count sample_count] */
    bool drawn;          /* inputs of a sample are random (ulp_model_random_inputs), not given */
    size_t lane_count;
    struct ulp_overflow_lane *lanes;
    size_t place_count;
    struct ulp_place *places; /* of each node of the program, by index; without histograms */
    /* inputs that are not finite, and outputs of the model that say nothing in the reference: where
     * nothing overflows, these were not shown not to */
    struct ulp_unjudged_list unjudged;
    /* The first node whose result is infinite in the reference although all that it reads is
     * finite, or which drops a term that a difference behind it would leave, where the reference is
     * FP64 or narrower; NULL: there is none. It may be beyond the reference's own range or digits,
     * so that nothing is known behind it: take pair */
    char *beyond_reference;
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros. */
struct ulp_overflow_options {
    size_t size;                            /* ULP_OPTIONS */
    const struct ulp_program_options *plan; /* as of an audit; NULL: zeros */
    /* takes the reference's place in a second forecast where a value may be beyond that
     * (beyond_reference); NULL: it is said, and no more */
    const struct ulp_arithmetic *wider;
    /* FP32 and BF16 for the nodes to keep, and finite masks, are not tried (edits of the graph are
     * ulp_fix_run's) */
    bool no_remedies;
    int thread_count; /* 0: all processors */
    /* of its functions `cancelled` and node_done, with an event that has no values (progress, and
     * what the node took: in lane 0 the reference, in each other looking at what its format makes
     * of it); may be NULL */
    const struct ulp_observer *progress;
    void (*begins)(void *progress_context, size_t sample, size_t sample_count);
};

/* Forecast what the lanes behind the first, which is the reference, do on the samples, of any
 * shapes that leave the same nodes to compute (ULP_ERROR_INPUT: they do not); and where an overflow
 * does harm, try what may help on the sample of the first. Nodes inside If, Loop and Scan have
 * verdicts, too, from values that are exact from what the node that owns them reads; where an
 * overflow in them begins and what becomes of it is said of that node. Charged to the model's
 * budget. Free *out with ulp_overflow_free. */
ULP_API enum ulp_status ulp_overflow_run(const struct ulp_model *model,
                                         const struct ulp_arithmetic *lanes, size_t lane_count,
                                         const struct ulp_samples *samples,
                                         const struct ulp_overflow_options *options,
                                         struct ulp_overflow_forecast *out,
                                         struct ulp_error *error);
ULP_API void ulp_overflow_free(struct ulp_overflow_forecast *forecast);

/* Write overflow.json (doc/fields.md). */
ULP_API enum ulp_status ulp_overflow_write(const struct ulp_overflow_forecast *forecast,
                                           enum ulp_output_kind as, const char *path,
                                           struct ulp_error *error);
/* The forecast as text, the verdict first. Free *out with free(). width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_overflow_text(const struct ulp_overflow_forecast *forecast, int width,
                                          bool colour, char **out, struct ulp_error *error);

#endif
