/* ulp_quantise_run: ranges of the samples, then the search with them. */
#include <math.h>
#include <stdio.h>
#include <ulpscope/quantise.h>
#include <ulpscope/target.h>

#include "analysis/scales/scales.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "number/format/scaling.h"
#include "number/function/math.h"

/* The formats of a search: the one without scales, in which all else is computed, the first whose
 * values' scales are the tensors', and the fewest and most bits of a factor's value. */
struct formats {
    const char *plain, *calibrated; /* calibrated NULL: none */
    bool scaled;
    double least, most;
};

static enum ulp_status look_at_formats(const struct ulp_search_options *search, struct formats *out,
                                       struct ulp_error *error)
{
    *out = (struct formats){.plain = "fp32", .least = INFINITY};
    for (size_t f = 0; f < search->format_count; f++) {
        const char *name = search->formats[f];
        struct ulp_scaling scaling[2];
        struct ulp_arithmetic plain;
        double bits;
        if (ulp_scaling_find_word(name, scaling)) {
            bits = (ulp_scaling_bits(&scaling[0]) + ulp_scaling_bits(&scaling[1])) / 2;
            out->scaled = true;
            if (!out->calibrated && ulp_scaling_is_integer(&scaling[0]) &&
                ulp_scaling_has_tensor(&scaling[0]))
                out->calibrated = name;
        } else {
            ULP_TRY(ulp_arithmetic_find(name, &plain, error));
            bits = plain.storage.storage_bits;
            out->plain = name;
        }
        out->least = ulp_math_min(out->least, bits);
        out->most = ulp_math_max(out->most, bits);
    }
    return ULP_OK;
}

/* What is tried where no calibrator is asked for. */
static const struct ulp_scales_rule rules[] = {{ULP_CALIBRATOR_MAX, 0},
                                               {ULP_CALIBRATOR_MSE, 0},
                                               {ULP_CALIBRATOR_ENTROPY, 0},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.999},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.99},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.9}};
enum { RULES = sizeof rules / sizeof *rules };

/* Of the lists the first with which the worst output of all samples is best. */
static enum ulp_status choose_list(const struct ulp_model *model,
                                   const struct ulp_calibration_options *options,
                                   const struct ulp_range_list *lists, size_t count,
                                   const struct ulp_sample *samples, size_t sample_count,
                                   size_t *best, struct ulp_error *error)
{
    const struct ulp_scales_options run = {.thread_count = options->thread_count,
                                           .progress = options->progress};
    struct ulp_arithmetic lanes[RULES];
    double worst[RULES], now[RULES];
    for (size_t l = 0; l < count; l++) {
        ULP_TRY(ulp_arithmetic_change(&lanes[l], &options->arithmetic, "scales=static", error));
        lanes[l].ranges = &lists[l].ranges;
        worst[l] = INFINITY;
    }
    for (size_t s = 0; s < sample_count; s++) {
        ULP_TRY(ulp_scales_judge(model, samples[s].inputs, &run, lanes, count, now, error));
        for (size_t l = 0; l < count; l++)
            worst[l] = ulp_math_min(worst[l], now[l]);
    }
    *best = 0;
    for (size_t l = 1; l < count; l++)
        *best = worst[l] > worst[*best] ? l : *best;
    return ULP_OK;
}

/* The ranges of the samples by the calibrator that is asked for, or by the best. */
static enum ulp_status find_ranges(const struct ulp_model *model,
                                   const struct ulp_quantise_options *options,
                                   const struct formats *formats, const char *results,
                                   const struct ulp_sample *samples, size_t count,
                                   struct ulp_range_list *out, struct ulp_arena *memory,
                                   struct ulp_stretched_list *stretched, struct ulp_error *error)
{
    const struct ulp_search_options *search = &options->search;
    const struct ulp_scales_rule asked = {options->calibrator, options->percentile};
    const size_t lists = options->best_calibrator ? RULES : 1;
    struct ulp_calibration_options calibration = {.allow_nonfinite_inputs =
                                                      search->allow_nonfinite_inputs,
                                                  .thread_count = search->thread_count,
                                                  .progress = search->progress};
    struct ulp_range_list all[RULES] = {{{0}, NULL}};
    size_t best = 0;
    char text[96];
    snprintf(text, sizeof text, "%s,factor=%s,unit=none", formats->plain, formats->calibrated);
    ULP_TRY(ulp_arithmetic_find(text, &calibration.arithmetic, error));
    enum ulp_status status = ulp_scales_calibrate(model, samples, count, &calibration, results,
                                                  options->best_calibrator ? rules : &asked, lists,
                                                  all, memory, stretched, error);
    if (status == ULP_OK && lists > 1)
        status = choose_list(model, &calibration, all, lists, samples, count, &best, error);
    if (status == ULP_OK) {
        *out = all[best];
        all[best] = (struct ulp_range_list){0};
    }
    for (size_t l = 0; l < lists; l++)
        ulp_range_list_free(&all[l]);
    return status;
}

static enum ulp_status report_stretched(const struct ulp_stretched_list *list,
                                        struct ulp_search *out, struct ulp_error *error)
{
    ULP_TAKE(out->stretched, out->memory, list->count + 1, error);
    for (size_t i = 0; i < list->count; i++) {
        const struct ulp_stretched *from = &list->items[i];
        struct ulp_search_stretched *to = &out->stretched[out->stretched_count++];
        *to = (struct ulp_search_stretched){.node = ulp_arena_copy(out->memory, from->node),
                                            .factor = ulp_arena_copy(out->memory, from->factor),
                                            .largest = (double)from->largest,
                                            .rest = (double)from->rest,
                                            .part = from->part};
        if (from->sample)
            to->sample = ulp_arena_copy(out->memory, from->sample);
        ULP_TRY(ulp_taken(to->node && to->factor && (to->sample || !from->sample), error));
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
    struct ulp_quantise_options wanted = *options;
    struct formats found;
    struct ulp_target_name target;
    ULP_SCOPED(ulp_range_list_free) struct ulp_range_list ranges = {0};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_stretched_list stretched = {0};
    if (search.target_count && !ulp_target_read(search.targets[0], &target))
        return ulp_target_refuse(search.targets[0], error);
    if (!(options->share >= 0 && options->share <= 1))
        return ulp_fail(error, ULP_ERROR_USAGE, "share: %g: expected 0 to 1", options->share);
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    const struct ulp_target_integers *integers =
        search.target_count ? ulp_target_integers(target.target) : NULL;
    const char *formats[] = {integers ? integers->format : "int8", "fp32"};
    if (!search.format_count) {
        search.formats = formats;
        search.format_count = 2;
    }
    ULP_TRY(look_at_formats(&search, &found, error));
    wanted.search = search;
    if (found.calibrated)
        ULP_TRY(find_ranges(model, &wanted, &found, integers ? integers->results : "", samples,
                            sample_count, &ranges, memory, &stretched, error));
    search.ranges = found.calibrated ? &ranges.ranges : search.ranges;
    search.unsigned_codes = integers && integers->unsigned_codes;
    search.expected = 1;
    if (found.scaled && !search.cost)
        search.cost = "macs";
    const bool asked = search.tolerance_count || search.budget > 0;
    search.budget_yields = options->share == 0 && !asked;
    if (found.scaled && (options->share > 0 || !asked))
        search.budget =
            found.most - (options->share > 0 ? options->share : 1) * (found.most - found.least);
    ULP_TRY(
        ulp_search_run(model, &search, samples, sample_count, held_out, held_count, out, error));
    const enum ulp_status status = report_stretched(&stretched, out, error);
    if (status != ULP_OK)
        ulp_search_free(out);
    return status;
}
