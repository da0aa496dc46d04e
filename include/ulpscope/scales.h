/* What formats with scales do to the factors of products, tensor by tensor: what becomes zero or is
 * clipped, what range blocks have, whose fault the error is, and what other formats, rules and
 * nodes left out would gain, each by a run. doc/scales.md states the formats. */
#ifndef ULPSCOPE_SCALES_H
#define ULPSCOPE_SCALES_H

#include <ulpscope/run.h>
#include <ulpscope/written.h>

/* The input of a QuantizeLinear (format: "INT8"; a block is what shares a scale, product_db is
 * sqnr_db, there is no outlier, and negative values that a zero point at the type's lower end cuts
 * off, as a Relu, are left out); or one factor of a node's products, as the exact values' rounding
 * to storage is rounded to elements with scales; of a node that multiplies several times, all
 * together. */
struct ulp_scaled_tensor {
    char *
        name; /* of the value; of one that the node makes itself: "first factor", "second factor" */
    char *node, *op;
    char *format; /* "nvfp4" */
    bool weight;  /* a constant */
    size_t elements, blocks;
    size_t nonfinite; /* elements that are NaN or infinite, or become so with their block */
    size_t zeros;     /* of elements that are not zero: they become zero */
    size_t clipped;   /* beyond the elements' largest number times the scale */
    /* of the products where this factor alone is rounded, its errors being independent: by place
     * along k, of its squares and squared errors times those of the other factor; +infinity: none
     */
    double product_db;
    double sqnr_db; /* of its elements: sum of squares over sum of squared errors */
    /* parts of the squared error, which add up to 1 (0: there is none): of elements beyond the
     * largest; what an exact scale (the block's largest over the elements' largest number) would
     * not have; and the rounding of elements to their few bits */
    double clipping, scaling, rounding;
    /* log2 of a block's largest over its smallest magnitude that is not zero, the median of all
     * blocks; and of the elements' largest over their least number */
    double range_bits, format_bits;
    /* the place along k (a channel of what is multiplied; of lines, a token or an output channel)
     * whose largest magnitude is the most times the median of all: that ratio, and how much less
     * the others' error is without it */
    size_t outlier;
    bool outlier_is_line;
    double outlier_ratio, outlier_gain_db;
};

/* Another choice, run: what it makes of the outputs. */
struct ulp_scales_choice {
    char *words;      /* "scale=up", "factor=mxfp8" */
    char *arithmetic; /* what to give with --arith */
    double
        sqnr_db; /* the least of all outputs; -infinity: one is not finite, or of another shape */
    double gain_db;
};

struct ulp_scales {
    char *model_path;
    char *arithmetic;
    double sqnr_db; /* of the outputs, the least */
    bool drawn;     /* the inputs are random (ulp_model_random_inputs), not given */
    size_t tensor_count;
    struct ulp_scaled_tensor *tensors; /* the least product_db first */
    size_t choice_count;
    struct ulp_scales_choice *choices; /* the most exact first */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros; arithmetic must be set, with scales. */
struct ulp_scales_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic arithmetic;
    bool no_choices;                     /* tensors alone */
    bool allow_nonfinite_inputs;         /* else NaN or infinity in an input: ULP_ERROR_LIMIT */
    int thread_count;                    /* 0: all processors */
    const struct ulp_observer *progress; /* `cancelled` is asked before each node */
};

/* Free *out with ulp_scales_free. ULP_ERROR_LIMIT: no output of floats has a finite
 * element, or every product is 0. */
ULP_API enum ulp_status ulp_scales_run(const struct ulp_model *model,
                                       const struct ulp_tensor_set *inputs,
                                       const struct ulp_scales_options *options,
                                       struct ulp_scales *out, struct ulp_error *error);
ULP_API void ulp_scales_free(struct ulp_scales *scales);
/* The result as text: the verdict first. Free *out with free(); width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_scales_text(const struct ulp_scales *scales, int width, bool colour,
                                        char **out, struct ulp_error *error);
/* Write scales.json (doc/fields.md). */
ULP_API enum ulp_status ulp_scales_write(const struct ulp_scales *scales, enum ulp_output_kind as,
                                         const char *path, struct ulp_error *error);

/* How the range of a factor follows from the magnitudes of all samples. */
enum ulp_calibrator {
    ULP_CALIBRATOR_MAX,        /* the largest */
    ULP_CALIBRATOR_PERCENTILE, /* the least that so many per cent of all do not exceed */
    ULP_CALIBRATOR_MSE,        /* of 1/128 to 128/128 of the largest the one with the least squared
                                * error; not of NVFP4, whose blocks have scales of their own */
    ULP_CALIBRATOR_ENTROPY, /* up to a part of the largest magnitude that loses least information */
};
/* Initialise with zeros; arithmetic must be set, with a scale of the tensor. */
struct ulp_calibration_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic arithmetic;
    enum ulp_calibrator calibrator;
    double percentile;                   /* of that calibrator, above 0, at most 100 */
    bool allow_nonfinite_inputs;         /* else NaN or infinity in an input: ULP_ERROR_LIMIT */
    int thread_count;                    /* 0: all processors */
    const struct ulp_observer *progress; /* `cancelled` is asked before each node */
};
/* Run the samples in FP64, each value rounded to storage where a product reads it, and write the
 * ranges of all factors with scales that are no weights, as scales=static reads them. */
ULP_API enum ulp_status ulp_calibrate(const struct ulp_model *model,
                                      const struct ulp_sample *samples, size_t sample_count,
                                      const struct ulp_calibration_options *options,
                                      const char *path, struct ulp_error *error);

#endif
