/* The tolerance that an arithmetic can meet at a model's outputs, and why.
 *
 * Each output has three figures, all against the reference and in the output's own unit:
 *
 * - measured: the largest error over the arithmetic itself, other schedules of its sums, and trials
 *   in which every rounding is drawn anew (compare.h: ulp_expected_error);
 * - random: the size of the error if the errors of all nodes are independent;
 * - bound: its size if all of them add up.
 *
 * The last two are of first order, from one reverse sweep for each element that is looked at. With
 * J the derivative of the element by a node's result y, error of the node |d| = |P(p) - R(p)|, and
 * u the storage's unit roundoff, over all elements of all nodes that round anything:
 *
 *     random = sqrt(sum J^2 d^2),  bound = sum |J| max(|d|, u |y|) */
#ifndef ULPSCOPE_TOLERANCE_H
#define ULPSCOPE_TOLERANCE_H

#include <ulpscope/audit.h>
#include <ulpscope/compare.h>
#include <ulpscope/limit.h>
#include <ulpscope/written.h>

struct ulp_tolerance_element {
    size_t index;
    double reference, error; /* of the arithmetic itself */
    double random;           /* sqrt(sum J^2 d^2) */
    double bound;            /* sum |J| max(|d|, u |y|) */
};

struct ulp_tolerance_output {
    char *name;
    char *sample; /* in which these figures are */
    size_t count; /* elements */
    double ref_rms, ref_max;
    double rms, max_abs;  /* measured, as above */
    double least, most;   /* of rms, in about 95 % of runs (compare.h) */
    double own_max;       /* of the arithmetic itself */
    double freedom;       /* how many independent directions share the error (compare.h) */
    double random, bound; /* the largest of the elements below; NaN: there are none */
    size_t nonfinite;     /* elements that are not finite where the reference's are */
    bool open;            /* depends on a decision that other roundings change (compare.h) */
    /* recommended: ULP_TOLERANCE_FACTOR * max_abs, two digits, rounded up; NaN where elements are
     * not finite: none holds; and where it is not below ref_max: an output of zeros would pass */
    double atol;
    size_t element_count;
    struct ulp_tolerance_element *elements;
    /* of every element; errors of the arithmetic itself [count count] [apart] */
    double *references, *errors;
    /* the same output in another sample; NULL: there is no other [apart] */
    struct ulp_tolerance_output *next;
};

/* From the largest of the errors measured to the tolerance. Another run of the arithmetic is a draw
 * like the trials: were there no factor, one in ten would be beyond the largest of nine. With 1.5
 * it is one in 40 where the error has a single direction, one in 340 where it has ten, fewer where
 * it has more (doc/tolerance.md). */
#define ULP_TOLERANCE_FACTOR 1.5

struct ulp_tolerance {
    char *model_path, *arguments, *arithmetic, *reference;
    size_t trials;
    size_t sample_count;
    bool drawn; /* inputs of a sample are random (ulp_model_random_inputs), not given */
    /* products take factors of fewer bits than are stored: TF32. Libraries may leave products in
     * FP32, with smaller errors */
    bool narrow_products;
    size_t output_count; /* float outputs with elements */
    struct ulp_tolerance_output *outputs;
    /* inputs that are not finite; outputs that are empty, have no finite element, or diverge */
    struct ulp_unjudged_list unjudged;
    const char *no_bound; /* why some output or all have no bounds; NULL: all have */
    double seconds;
    struct ulp_arena *memory; /* private: holds the rest */
};

/* Initialise with zeros; reference and arithmetic must be set. */
struct ulp_tolerance_options {
    size_t size; /* ULP_OPTIONS */
    struct ulp_arithmetic reference, arithmetic;
    const struct ulp_keeps *keeps;       /* of the arithmetic; NULL: no nodes in others */
    size_t trials;                       /* 0: 8 */
    size_t elements;                     /* of each output that get a bound, one sweep each; 0: 8 */
    int thread_count;                    /* 0: all processors */
    const struct ulp_observer *progress; /* as in struct ulp_compare_options */
    void (*begins)(void *progress_context, size_t part, size_t part_count);
};

/* Measure on samples of any shapes: each output is that of the sample whose max_abs is largest (one
 * with more elements that are not finite goes before), so that its atol is enough for every sample;
 * it is `open` where it is in any, and `next` has the others. Free *out with ulp_tolerance_free. */
ULP_API enum ulp_status ulp_tolerance_run(const struct ulp_model *model,
                                          const struct ulp_sample *samples, size_t sample_count,
                                          const struct ulp_tolerance_options *options,
                                          struct ulp_tolerance *out, struct ulp_error *error);
ULP_API void ulp_tolerance_free(struct ulp_tolerance *tolerance);

/* How many times too tight |x - reference| <= atol + rtol |reference| is for the output: the
 * largest ratio of error and allowance over its elements, the errors scaled up to the measured
 * largest. At most 1: the arithmetic meets it. Infinite where an error is allowed nothing or is not
 * finite. Of several samples the largest. */
ULP_API double ulp_tolerance_excess(const struct ulp_tolerance_output *output, double atol,
                                    double rtol);

/* The result as text: the verdict first. Free *out with free(); width and colour as in
 * ulp_report_text. */
ULP_API enum ulp_status ulp_tolerance_text(const struct ulp_tolerance *tolerance, int width,
                                           bool colour, char **out, struct ulp_error *error);
/* Write it (doc/fields.md). */
ULP_API enum ulp_status ulp_tolerance_write(const struct ulp_tolerance *tolerance,
                                            enum ulp_output_kind as, const char *path,
                                            struct ulp_error *error);

#endif
