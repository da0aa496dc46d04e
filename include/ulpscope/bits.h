/* Allocating bits: the fewest for each layer, mantissa and exponent apart, with which the outputs
 * meet a tolerance.
 *
 * A layer is a node with the nodes behind it that only hand its values on. Its format is what its
 * results are stored in, and what its inputs and weights are rounded to when it reads them. How
 * many exponent bits it needs follows from the magnitudes of these values in the reference. How
 * many mantissa bits follows from its share in the error of the outputs: an error of m bits goes as
 * 2^-m, and to first order the powers of all layers add up, so for a number of bits weighted by w
 * the best allocation gives every layer a part of the error proportional to its w.
 *
 * That only says what to try. Every allocation is judged by emulating it, the one given meets the
 * tolerance in every sample, and in the end every layer was given fewer bits by itself, in vain. No
 * search can promise that no other allocation is smaller. */
#ifndef ULPSCOPE_BITS_H
#define ULPSCOPE_BITS_H

#include <ulpscope/mixed.h>

/* What a layer's bits are counted by. A layer counts 1 at least. */
enum ulp_bits_weight {
    ULP_BITS_LAYERS,  /* every layer alike */
    ULP_BITS_WEIGHTS, /* elements of its weights and other float constants */
    ULP_BITS_MEMORY,  /* and of its results */
    ULP_BITS_WORK,    /* its multiply-adds and element operations */
    ULP_BITS_WEIGHT_COUNT
};
/* "layers", "weights", ...; NULL beyond. Static storage. */
ULP_API const char *ulp_bits_weight_name(size_t weight);

/* What eXmY are followed by when no parts are given: FP32 inside an operator and in its sums, one
 * rounding when the result is stored. */
#define ULP_BITS_PARTS "result-only,compute=fp32,acc=fp32"
/* The largest eXmY: FP32's. */
#define ULP_BITS_EXPONENT_MAX 8
#define ULP_BITS_MANTISSA_MAX 23

struct ulp_bits_options {
    struct ulp_arithmetic reference;
    /* Names of arithmetics, one of which each layer gets. None: eXmY of 2 to 8 exponent bits and 1
     * to 23 mantissa bits, followed by `parts` (NULL: ULP_BITS_PARTS) */
    const char *const *formats;
    size_t format_count;
    const char *parts;
    /* "METRIC=VALUE" or "OUTPUT:METRIC=VALUE", as in struct ulp_find_options */
    const char *const *tolerances;
    size_t tolerance_count;
    enum ulp_bits_weight weight;
    /* So many binades stay free above the largest magnitude seen: 1 for inputs up to twice as
     * large */
    double headroom;
    /* Not 0: the model's error, as if the layers' errors did not know each other, is also at most
     * so many times what is allowed. With few samples an allocation else fits their roundings */
    double expected;
    /* After so many seconds nothing more is tried, and the result is the best so far; 0: no limit.
     * Only then a result may differ from run to run */
    double seconds;
    bool allow_nonfinite_inputs; /* else NaN or infinity in a sample: ULP_ERROR_LIMIT */
    int thread_count;
    const struct ulp_observer *progress; /* `cancelled` is asked before each run; may be NULL */
};

struct ulp_bits_format {
    char *name, *arithmetic; /* "e5m7"; as --keep takes it */
    int exponent, mantissa;  /* bits; mantissa without the hidden one */
    int bits;                /* of a value: with the sign */
    size_t layer_count;      /* that have it */
};

struct ulp_bits_layer {
    size_t index; /* of its first node */
    char *name, *op;
    size_t node_count;
    double weight;
    size_t format; /* index into formats */
    int bits; /* per value. Of TF32: 19 for products, which round their factors to it, else 32 */
    /* magnitudes of what it reads, its weights and results, over all samples; 0: there are none */
    double largest, smallest;
    int exponent_needed; /* bits, for the largest with the headroom; 0: no format has enough */
    /* its part of the error's power, as the model has it: all add up to 1 */
    double share;
    /* How many times too large the error is when this layer alone gets fewer bits, by the model and
     * emulated, in the sample that showed it; NaN: not tried. fewer: index of that format, of
     * several the one with the least error; -1: none */
    double predicted, without;
    ptrdiff_t fewer;
};

/* One sample, as in struct ulp_found_sample. */
struct ulp_bits_sample {
    char *name, *output, *metric;
    double value, ratio;
};

/* Of all allocations that were emulated the one of fewest bits for another tolerance: `allowed`
 * times as large an error. uniform_bits: of the smallest format that does as well in every layer;
 * NaN: none did. */
struct ulp_bits_point {
    double allowed, ratio;
    double bits, mantissa; /* means over layers, weighted */
    double uniform_bits;
};
/* One format for all layers. */
struct ulp_bits_uniform {
    size_t format;
    double bits, ratio;
};

/* Strings and arrays belong to the result. */
struct ulp_bits {
    char *model_path, *reference, *base; /* base: the arithmetic of what belongs to no layer */
    size_t tolerance_count;
    char **tolerances;
    enum ulp_bits_weight weight;
    double headroom;
    bool follows; /* as in struct ulp_found */
    /* `full`: the ratio with the widest format in every layer; the rest of these figures is of the
     * allocation, NaN without one */
    double full;
    bool met;                /* it holds for every sample */
    bool minimal;            /* and not when any single layer gets fewer bits: all was tried */
    bool timed_out;          /* the time was over */
    double ratio, predicted; /* emulated, and by the model */
    double bits, mantissa, exponent; /* means over layers, weighted */
    double relaxed;                  /* the mean bits if they could be fractions, by the model */
    double total_bits;               /* sum of bits times weights */
    double total_weight;
    size_t format_count;
    struct ulp_bits_format *formats; /* those that are used, by bits */
    size_t layer_count;
    struct ulp_bits_layer *layers; /* in order of execution */
    ptrdiff_t uniform;             /* index of the smallest that meets the tolerance; -1: none */
    size_t uniform_count;
    struct ulp_bits_uniform *uniforms; /* that were run, by bits */
    size_t point_count;
    struct ulp_bits_point *frontier; /* by bits */
    size_t sample_count, validated_count, validated_met;
    struct ulp_bits_sample *samples, *validated;
    /* the allocation as entries of struct ulp_keep over `base` */
    size_t entry_count;
    struct ulp_bits_entry {
        char *pattern;
        const char *arithmetic;
    } * entries;
    size_t runs, tried; /* emulations of one sample; layers tried with fewer bits in the end */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Find an allocation. Samples may have any shapes that leave the same nodes to compute
 * (ULP_ERROR_INPUT: others), those held out, too; memory and work are weighed in the first one's.
 * held_out: samples that are judged with the allocation found and were not used to find it. A
 * tolerance that even the widest formats do not meet is no error: `met` is false then. Free *out
 * with ulp_bits_free. */
ULP_API enum ulp_status ulp_bits_find(const struct ulp_model *model,
                                      const struct ulp_bits_options *options,
                                      const struct ulp_sample *samples, size_t sample_count,
                                      const struct ulp_sample *held_out, size_t held_count,
                                      struct ulp_bits *out, struct ulp_error *error);
ULP_API void ulp_bits_free(struct ulp_bits *bits);

/* The result as text, the verdict first; free *out with free(). */
ULP_API enum ulp_status ulp_bits_text(const struct ulp_bits *bits, char **out,
                                      struct ulp_error *error);
/* Write bits.json (doc/bits.md), which ulp_precision_plan_read takes, and frontier.csv into the
 * folder, which is made when missing. */
ULP_API enum ulp_status ulp_bits_write(const struct ulp_bits *bits, const char *folder,
                                       struct ulp_error *error);
/* Write the same as one HTML page with the bits of each layer and the frontier as pictures. The
 * file is complete or unchanged. */
ULP_API enum ulp_status ulp_bits_html(const struct ulp_bits *bits, const char *path,
                                      struct ulp_error *error);
/* The files that ulp_bits_write makes: index 0, 1, ... until NULL. Static storage. */
ULP_API const char *ulp_bits_file_name(size_t index);

#endif
