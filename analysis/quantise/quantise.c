/* ulp_quantise_run: ranges of the samples, then the search with them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <ulpscope/quantise.h>

#include "analysis/scales/scales.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "base/text/text.h"
#include "number/format/scaling.h"

/* The formats of integers that runtimes' own quantisers make by default. */
static const struct {
    const char *target; /* what its name begins with */
    const char *format;
    bool unsigned_weights; /* the CPU provider adds products of two unsigned bytes exactly
                              everywhere */
} made[] = {
    {"ort-", "uint8", false}, {"ort", "uint8", true}, {"openvino", "uint8", false},
    {"qnn", "uint8", false},  {"trt", "int8", false}, {"coreml", "int8", false},
    {"rknn", "int8", false},  {"", "int8", false},
};

static size_t find_made(const char *target)
{
    size_t i = 0;
    while (strncmp(target ? target : "", made[i].target, strlen(made[i].target)) != 0)
        i++;
    return i;
}

const char *ulp_quantise_format(const char *target)
{
    return made[find_made(target)].format;
}

static bool is_plain(const char *format)
{
    return ulp_is_word(format, "fp32 fp16 bf16");
}

/* The arithmetic that ranges are of: the first format whose values' scales are the tensors'. */
static enum ulp_status find_calibrated(const struct ulp_search_options *search, bool *found,
                                       struct ulp_arithmetic *out, struct ulp_error *error)
{
    const char *plain = "fp32";
    char text[96];
    *found = false;
    for (size_t f = 0; f < search->format_count; f++)
        plain = is_plain(search->formats[f]) ? search->formats[f] : plain;
    for (size_t f = 0; f < search->format_count && !*found; f++) {
        struct ulp_scaling scaling[2];
        if (is_plain(search->formats[f]))
            continue;
        if (!ulp_scaling_find_both(search->formats[f], scaling) &&
            !ulp_scaling_find(search->formats[f], &scaling[0]))
            continue;
        *found = ulp_scaling_is_integer(&scaling[0]) && ulp_scaling_has_tensor(&scaling[0]);
        if (*found) {
            snprintf(text, sizeof text, "%s,factor=%s,unit=none", plain, search->formats[f]);
            ULP_TRY(ulp_arithmetic_find(text, out, error));
        }
    }
    return ULP_OK;
}

/* The mean bits of a factor's value where that part of the multiply-adds has the fewest. */
static enum ulp_status set_budget(struct ulp_search_options *search, double share,
                                  struct ulp_error *error)
{
    double least = INFINITY, most = 0;
    for (size_t f = 0; f < search->format_count; f++) {
        struct ulp_scaling scaling[2];
        struct ulp_format plain;
        const char *name = search->formats[f];
        const bool both = ulp_scaling_find_both(name, scaling);
        double bits;
        if (both || ulp_scaling_find(name, &scaling[0])) {
            scaling[1] = both ? scaling[1] : scaling[0];
            bits = (ulp_scaling_bits(&scaling[0]) + ulp_scaling_bits(&scaling[1])) / 2;
        } else {
            ULP_TRY(ulp_format_find(name, &plain, error));
            bits = plain.storage_bits;
        }
        least = bits < least ? bits : least;
        most = bits > most ? bits : most;
    }
    search->budget = most - share * (most - least);
    return ULP_OK;
}

/* The ranges of one calibrator, and what the worst output of all samples has with them. */
struct tried {
    struct ulp_range_list ranges;
    double sqnr_db;
};

static enum ulp_status try_calibrator(const struct ulp_model *model,
                                      const struct ulp_calibration_options *calibration,
                                      const struct ulp_sample *samples, size_t count, bool judged,
                                      struct tried *out, struct ulp_error *error)
{
    struct ulp_scales_options look = {.no_choices = true,
                                      .thread_count = calibration->thread_count,
                                      .progress = calibration->progress};
    out->sqnr_db = INFINITY;
    ULP_TRY(ulp_calibrate(model, samples, count, calibration, NULL, &out->ranges, NULL, error));
    ULP_TRY(
        ulp_arithmetic_change(&look.arithmetic, &calibration->arithmetic, "scales=static", error));
    look.arithmetic.ranges = &out->ranges.ranges;
    for (size_t s = 0; s < count && judged; s++) {
        ULP_SCOPED(ulp_scales_free) struct ulp_scales scales = {0};
        ULP_TRY(ulp_arena_create(&scales.memory, ulp_model_budget(model), error));
        ULP_TRY(ulp_scales_choose(model, samples[s].inputs, &look, &scales, error));
        out->sqnr_db = scales.sqnr_db < out->sqnr_db ? scales.sqnr_db : out->sqnr_db;
    }
    return ULP_OK;
}

/* Of the calibrators that may be asked for the one whose outputs are best: where none is. */
static enum ulp_status choose_ranges(const struct ulp_model *model,
                                     struct ulp_calibration_options *calibration, bool open,
                                     const struct ulp_sample *samples, size_t count,
                                     struct ulp_range_list *out, struct ulp_error *error)
{
    static const struct {
        enum ulp_calibrator calibrator;
        double percentile;
    } rows[] = {{ULP_CALIBRATOR_MAX, 0},
                {ULP_CALIBRATOR_MSE, 0},
                {ULP_CALIBRATOR_PERCENTILE, 99.999},
                {ULP_CALIBRATOR_PERCENTILE, 99.99},
                {ULP_CALIBRATOR_PERCENTILE, 99.9}};
    double best = -INFINITY;
    for (size_t r = 0; r < (open ? sizeof rows / sizeof *rows : 1); r++) {
        struct tried tried = {0};
        if (open) {
            calibration->calibrator = rows[r].calibrator;
            calibration->percentile = rows[r].percentile;
        }
        const enum ulp_status status =
            try_calibrator(model, calibration, samples, count, open, &tried, error);
        const bool better = status == ULP_OK && (!out->memory || tried.sqnr_db > best);
        best = better ? tried.sqnr_db : best;
        ulp_range_list_free(better ? out : &tried.ranges);
        *out = better ? tried.ranges : *out;
        ULP_TRY(status);
    }
    return ULP_OK;
}

enum ulp_status ulp_quantise_run(const struct ulp_model *model,
                                 const struct ulp_quantise_options *options,
                                 const struct ulp_sample *samples, size_t sample_count,
                                 const struct ulp_sample *held_out, size_t held_count,
                                 struct ulp_search *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_quantise_options, options, error);
    struct ulp_search_options search = options->search;
    ULP_SCOPED(ulp_range_list_free) struct ulp_range_list ranges = {0};
    const size_t row = find_made(search.target_count ? search.targets[0] : NULL);
    const char *formats[] = {made[row].format, "fp32"};
    struct ulp_calibration_options calibration = {.calibrator = options->calibrator,
                                                  .percentile = options->percentile,
                                                  .allow_nonfinite_inputs =
                                                      search.allow_nonfinite_inputs,
                                                  .thread_count = search.thread_count,
                                                  .progress = search.progress};
    bool calibrates;
    search.unsigned_weights = made[row].unsigned_weights;
    if (!search.format_count) {
        search.formats = formats;
        search.format_count = 2;
    }
    ULP_TRY(find_calibrated(&search, &calibrates, &calibration.arithmetic, error));
    if (calibrates)
        ULP_TRY(choose_ranges(model, &calibration, options->best_calibrator, samples, sample_count,
                              &ranges, error));
    search.ranges = calibrates ? &ranges.ranges : search.ranges;
    search.expected = 1;
    bool scaled = false;
    for (size_t f = 0; f < search.format_count; f++)
        scaled |= ulp_scaling_find_any(search.formats[f]);
    if (scaled && !search.cost)
        search.cost = "macs";
    const bool asked = search.tolerance_count || search.budget > 0;
    search.budget_yields = options->share == 0 && !asked;
    if (scaled && (options->share > 0 || !asked))
        ULP_TRY(set_budget(&search, options->share > 0 ? options->share : 1, error));
    return ulp_search_run(model, &search, samples, sample_count, held_out, held_count, out, error);
}
