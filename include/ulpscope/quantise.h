/* What INT8, INT4, FP8 and other formats with scales would cost a float model, and the model that
 * holds: ranges of values over samples (ulp_calibrate), then a format for each product by the one
 * search (ulp_search_run), written as quantised.onnx. doc/quantise.md says how. */
#ifndef ULPSCOPE_QUANTISE_H
#define ULPSCOPE_QUANTISE_H

#include <ulpscope/scales.h>
#include <ulpscope/search.h>

/* Initialise with zeros. */
struct ulp_quantise_options {
    size_t size; /* ULP_OPTIONS */
    /* Formats of `search`: of integers with one scale for the values of a tensor ("uint8") ranges
     * are those of the samples, and search.ranges is not read. None: what `target` takes, and fp32.
     * A target of `search` is what quantised.onnx is judged in, as it is written. Neither a
     * tolerance nor a budget: every product has the format of fewest bits */
    struct ulp_search_options search;
    enum ulp_calibrator calibrator; /* as of struct ulp_calibration_options */
    double percentile;
    /* instead: of max, mse, entropy and percentiles the one that leaves the outputs of all samples
     * best */
    bool best_calibrator;
    /* Besides, or instead of search.budget: the part of the multiply-adds that are of the format
     * with fewest bits, above 0, at most 1; 0: as the tolerance leaves */
    double share;
    /* Whose ranges are taken, and by whom weights are rounded, one after another in fixed memory;
     * those whose inputs are there round none. NULL: the samples that search */
    const struct ulp_samples *calibrated;
    /* a calibration cache of TensorRT's, a file, whose ranges are taken; products of values that it
     * has no scale of stay as they are. NULL: the samples' */
    const char *calibration_cache;
};

/* Samples, those held out, and *out as of ulp_search_run; errors of both. */
ULP_API enum ulp_status ulp_quantise_run(const struct ulp_model *model,
                                         const struct ulp_quantise_options *options,
                                         const struct ulp_sample *samples, size_t sample_count,
                                         const struct ulp_sample *held_out, size_t held_count,
                                         struct ulp_search *out, struct ulp_error *error);

#endif
