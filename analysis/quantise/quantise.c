/* ulp_quantise_run: ranges of the samples, then the search with them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope/quantise.h>
#include <ulpscope/target.h>

#include "analysis/scales/scales.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "data/calibration_cache.h"
#include "number/format/scaling.h"
#include "number/function/math.h"

/* The formats of a search: the one without scales, in which all else is computed, the first whose
 * values' scales are the tensors', and the fewest and most bits of a factor's value. */
struct formats {
    const char *plain, *calibrated; /* calibrated NULL: none */
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

/* What is tried where no calibrator is asked for, by how little of the values it cuts off. */
static const struct ulp_scales_rule rules[] = {{ULP_CALIBRATOR_MAX, 0},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.999},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.99},
                                               {ULP_CALIBRATOR_MSE, 0},
                                               {ULP_CALIBRATOR_PERCENTILE, 99.9},
                                               {ULP_CALIBRATOR_ENTROPY, 0}};
enum { RULES = sizeof rules / sizeof *rules, FEW = 4 };

/* Lists of ranges on the same samples: noise over signal of the worst output, summed over samples,
 * and products of two lists' noises. One sample's worst output is as much chance as merit. */
struct judged {
    const struct ulp_factor_ranges *lists; /* halves: then of one half of the samples, and so on */
    size_t count, left, order[RULES];      /* order: of those left, by list */
    double noise[RULES], products[RULES][RULES], samples;
    bool halves;
};

/* Those go on after n samples that are no others' equals, nor worse than the best by more than so
 * few samples may be by chance. */
static void leave_behind(struct judged *judged)
{
    double least = INFINITY;
    size_t kept = 0;
    for (size_t l = 0; l < judged->left; l++)
        least = ulp_math_min(least, judged->noise[judged->order[l]]);
    for (size_t l = 0; l < judged->left && judged->samples >= FEW; l++) {
        const double own = judged->noise[judged->order[l]];
        bool goes_on = !(own > least * (1 + FEW / judged->samples));
        for (size_t k = 0; k < kept; k++)
            goes_on &= judged->noise[judged->order[k]] != own;
        if (goes_on)
            judged->order[kept++] = judged->order[l];
    }
    judged->left = judged->samples >= FEW ? kept : judged->left;
}

static void add_noises(struct judged *judged, const double *db)
{
    double own[RULES];
    for (size_t l = 0; l < judged->left; l++) {
        own[l] = ulp_math_exp2(-db[l] / 10 * ulp_math_log2(10));
        judged->noise[judged->order[l]] += own[l];
    }
    for (size_t l = 0; l < judged->left; l++)
        for (size_t k = 0; k < judged->left; k++)
            judged->products[judged->order[l]][judged->order[k]] += own[l] * own[k];
    judged->samples++;
}

/* judges: of those samples alone that chose no weights. halves: with the ranges that the other half
 * of the samples has, as those that cut off values are good for the samples that they were cut
 * from. Of the samples those that the deadline leaves, of which one is the first. */
static enum ulp_status judge_lists(const struct ulp_model *model,
                                   const struct ulp_calibration_options *options,
                                   const struct ulp_sample *samples, size_t sample_count,
                                   bool judges, double deadline, struct judged *judged,
                                   struct ulp_error *error)
{
    const struct ulp_scales_options run = {.thread_count = options->thread_count,
                                           .progress = options->progress};
    struct ulp_arithmetic lanes[RULES];
    double now[RULES];
    judged->left = judged->count;
    for (size_t l = 0; l < judged->count; l++) {
        judged->order[l] = l;
        ULP_TRY(ulp_arithmetic_change(&lanes[l], &options->arithmetic, "scales=static", error));
    }
    for (size_t s = 0; s < sample_count && (judged->left > 1 || !(judged->samples > 0)); s++) {
        const size_t other = judged->halves ? (2 - s % 2) * judged->count : 0;
        if ((judges && !ulp_calibrate_judges(s, sample_count)) ||
            (judged->samples > 0 && ulp_seconds_now() > deadline))
            continue;
        for (size_t l = 0; l < judged->left; l++)
            lanes[l].ranges = &judged->lists[other + judged->order[l]];
        ULP_TRY(ulp_scales_judge(model, samples[s].inputs, &run, lanes, judged->left, now, error));
        add_noises(judged, now);
        if (judged->count > 2)
            leave_behind(judged);
    }
    return ULP_OK;
}

/* Of the lists that are left one that cuts off more takes the place of one that cuts off less where
 * what it gains is more than two standard errors. */
static size_t find_best(const struct judged *judged)
{
    const double n = judged->samples;
    size_t best = judged->order[0];
    for (size_t l = 1; l < judged->left; l++) {
        const size_t own = judged->order[l];
        const double gain = judged->noise[best] - judged->noise[own],
                     squares = judged->products[best][best] + judged->products[own][own] -
                               2 * judged->products[best][own];
        if (gain > 0 && (n < FEW || gain * gain > 4 * (squares * n - gain * gain) / (n - 1)))
            best = own;
    }
    return best;
}

/* As decibels of the mean over samples. */
static double noise_in_db(const struct judged *judged, size_t list)
{
    const double noise = judged->noise[list];
    return noise > 0 ? -10 * ulp_math_log10(noise / judged->samples) : INFINITY;
}

/* Ranges and weights in one list. */
static enum ulp_status join_lists(const struct ulp_factor_ranges *ranges,
                                  const struct ulp_factor_ranges *weights, struct ulp_arena *memory,
                                  struct ulp_factor_ranges *out, struct ulp_error *error)
{
    *out = *ranges;
    ULP_TAKE_ARRAY(struct ulp_factor_range, items, memory, ranges->count + weights->count + 1,
                   error);
    memcpy(items, ranges->items, ranges->count * sizeof *items);
    memcpy(items + ranges->count, weights->items, weights->count * sizeof *items);
    out->items = items;
    out->count += weights->count;
    qsort(items, out->count, sizeof *items, ulp_factor_range_order);
    return ULP_OK;
}

/* What was found in the samples before the search; of `memory`. */
struct prepared {
    struct ulp_arena *memory;
    struct ulp_factor_ranges ranges;
    struct ulp_stretched_list stretched;
    struct ulp_search_remedy weights; /* what: NULL: not tried */
    double deadline;                  /* by ulp_seconds_now; INFINITY: none */
};

/* Weights rounded by what the samples multiply them with stay where samples that did not choose
 * them are better for it. */
static enum ulp_status try_weights(const struct ulp_model *model,
                                   const struct ulp_calibration_options *options,
                                   const struct ulp_factor_ranges *weights,
                                   const struct ulp_sample *samples, size_t count, bool apart,
                                   struct prepared *out, struct ulp_error *error)
{
    static char what[] = "weights rounded by the errors of their sums";
    struct ulp_factor_ranges both[2] = {out->ranges, out->ranges};
    struct judged judged = {.lists = both, .count = 2};
    if (!weights->count || ulp_seconds_now() > out->deadline)
        return ULP_OK;
    ULP_TRY(join_lists(&out->ranges, weights, out->memory, &both[1], error));
    ULP_TRY(judge_lists(model, options, samples, count, !apart, out->deadline, &judged, error));
    const double before = noise_in_db(&judged, 0), after = noise_in_db(&judged, 1);
    out->weights = (struct ulp_search_remedy){what, before, after, after > before};
    out->ranges = both[out->weights.kept];
    return ULP_OK;
}

/* Scales of the cache in place of the samples'. Products of values without one, as TensorRT
 * computes them, are added to those that stay. */
static enum ulp_status take_cache(const struct ulp_calibration_cache *cache,
                                  struct prepared *prepared, struct ulp_search_options *search,
                                  struct ulp_error *error)
{
    const struct ulp_factor_ranges *ranges = &prepared->ranges;
    ULP_TAKE_ARRAY(struct ulp_factor_range, items, prepared->memory, ranges->count + 1, error);
    ULP_TAKE_ARRAY(const char *, always, prepared->memory, search->always_count + ranges->count + 1,
                   error);
    for (size_t a = 0; a < search->always_count; a++)
        always[a] = search->always[a];
    search->always = always;
    for (size_t i = 0; i < ranges->count; i++) {
        const float scale = ulp_calibration_cache_find(cache, ranges->items[i].value);
        items[i] = ranges->items[i];
        if (scale > 0) {
            items[i].largest = scale * 127;
            items[i].least = -items[i].largest;
        } else if (!search->always_count ||
                   strcmp(always[search->always_count - 1], items[i].node) != 0) {
            always[search->always_count++] = items[i].node;
        }
    }
    prepared->ranges.items = items;
    return ULP_OK;
}

/* The ranges of the samples by the calibrator that is asked for, or by the best, or a cache's. */
static enum ulp_status prepare_ranges(const struct ulp_model *model,
                                      const struct ulp_quantise_options *options,
                                      struct ulp_search_options *search,
                                      const struct formats *formats, const char *results,
                                      const struct ulp_sample *samples, size_t count,
                                      struct prepared *out, struct ulp_error *error)
{
    const struct ulp_scales_rule asked = {options->calibrator, options->percentile};
    const size_t list_count = options->best_calibrator && !options->calibration_cache ? RULES : 1;
    const struct ulp_samples all = {.count = count, .items = samples},
                             *calibrated = options->calibrated ? options->calibrated : &all;
    struct ulp_calibration_options calibration = {.allow_nonfinite_inputs =
                                                      search->allow_nonfinite_inputs,
                                                  .thread_count = search->thread_count,
                                                  .progress = search->progress};
    struct ulp_factor_ranges lists[3 * RULES], weights;
    struct judged judged = {.lists = lists,
                            .count = list_count,
                            .halves = list_count > 1 && count >= FEW};
    struct ulp_calibration_cache cache;
    char text[96];
    if (options->calibration_cache)
        ULP_TRY(ulp_calibration_cache_read(options->calibration_cache, out->memory, &cache, error));
    snprintf(text, sizeof text, "%s,factor=%s,unit=none", formats->plain, formats->calibrated);
    ULP_TRY(ulp_arithmetic_find(text, &calibration.arithmetic, error));
    ULP_TRY(ulp_scales_calibrate(model, calibrated, calibrated != &all, &calibration, results,
                                 options->best_calibrator ? rules : &asked, list_count,
                                 judged.halves, lists, out->memory, &out->stretched, &weights,
                                 error));
    if (list_count > 1 && lists[0].count) /* else there is no product to choose for */
        ULP_TRY(
            judge_lists(model, &calibration, samples, count, false, out->deadline, &judged, error));
    out->ranges = lists[list_count > 1 && lists[0].count ? find_best(&judged) : 0];
    if (options->calibration_cache)
        ULP_TRY(take_cache(&cache, out, search, error));
    return try_weights(model, &calibration, &weights, samples, count, calibrated != &all, out,
                       error);
}

/* Whose ranges were asked for, in the command for the same search. */
static enum ulp_status report_asked(const struct ulp_quantise_options *options,
                                    struct ulp_search *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_add(&text, "%s", out->asked);
    if (options->calibration_cache)
        ulp_option_add(&text, " --calibration-cache", options->calibration_cache);
    else if (!options->best_calibrator)
        ulp_text_add(&text, " --calibrator %s", ulp_calibrator_names[options->calibrator]);
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE && !options->best_calibrator)
        ulp_text_add(&text, "=%.17g", options->percentile);
    out->asked = ulp_text_keep(&text, out->memory);
    return ulp_taken(out->asked, error);
}

static enum ulp_status report_prepared(const struct prepared *prepared, struct ulp_search *out,
                                       struct ulp_error *error)
{
    const struct ulp_stretched_list *list = &prepared->stretched;
    ULP_TAKE(out->remedies, out->memory, 1, error);
    if (prepared->weights.what)
        out->remedies[out->remedy_count++] = prepared->weights;
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
    ULP_ENTER(error);
    ULP_OPTIONS_TAKE(ulp_quantise_options, options, error);
    struct ulp_search_options search = options->search;
    struct formats found;
    struct ulp_target_name target;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct prepared prepared = {.deadline = INFINITY};
    const double started = ulp_seconds_now();
    if (search.target_count && !ulp_target_read(search.targets[0], &target))
        return ulp_target_refuse(search.targets[0], error);
    if (!(options->share >= 0 && options->share <= 1))
        return ulp_fail(error, ULP_ERROR_USAGE, "share: %g: expected 0 to 1", options->share);
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    prepared.memory = memory;
    if (search.seconds > 0)
        prepared.deadline = started + search.seconds;
    const struct ulp_target_integers *integers =
        search.target_count ? ulp_target_integers(target.target) : NULL;
    const char *formats[] = {integers ? integers->format : "int8", "fp32"};
    if (!search.format_count) {
        search.formats = formats;
        search.format_count = 2;
    }
    ULP_TRY(look_at_formats(&search, &found, error));
    if (options->calibration_cache && (!found.calibrated || strcmp(found.calibrated, "int8") != 0))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a calibration cache has scales of INT8: give int8 among the formats, as "
                        "trt10 takes");
    if (found.calibrated)
        ULP_TRY(prepare_ranges(model, options, &search, &found, integers ? integers->results : "",
                               samples, sample_count, &prepared, error));
    if (search.seconds > 0) /* what is left of them */
        search.seconds = ulp_math_max(prepared.deadline - ulp_seconds_now(), 1e-3);
    search.ranges = found.calibrated ? &prepared.ranges : search.ranges;
    search.unsigned_codes = integers && integers->unsigned_codes;
    search.expected = 1;
    if (!search.cost)
        search.cost = "macs";
    const bool asked = search.tolerance_count || search.budget > 0;
    search.budget_yields = options->share == 0 && !asked;
    if (options->share > 0 || !asked)
        search.budget =
            found.most - (options->share > 0 ? options->share : 1) * (found.most - found.least);
    ULP_TRY(
        ulp_search_run(model, &search, samples, sample_count, held_out, held_count, out, error));
    enum ulp_status status = report_prepared(&prepared, out, error);
    ULP_THEN(status, report_asked(options, out, error));
    if (status != ULP_OK)
        ulp_search_free(out);
    return status;
}
