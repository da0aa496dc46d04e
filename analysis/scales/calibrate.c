/* ulp_calibrate: the ranges of factors over samples, for static scales. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/calibrate.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "run/program/program.h"

enum { MARGIN_MOST = 32 };

static size_t remembered(const struct ulp_calibrating *c)
{
    const size_t history = c->options->history ? c->options->history : ULP_HISTORY;
    return history < c->sample_count ? history : c->sample_count;
}

static struct ulp_seen *add_seen(struct ulp_calibrating *c, const char *node, const char *name,
                                 const char *value, const struct ulp_scaling *scaling)
{
    struct ulp_seen *seen = ulp_arena_take(c->memory, 1, sizeof *seen);
    if (!seen || !ulp_program_grow(c->memory, &c->items, c->count, &c->capacity, sizeof *c->items))
        return NULL;
    *seen = (struct ulp_seen){.node = ulp_arena_copy(c->memory, node),
                              .factor = name,
                              .value = value ? ulp_arena_copy(c->memory, value) : NULL,
                              .scaling = *scaling,
                              .range = (float)scaling->element.max_finite};
    if (c->counts)
        seen->bins = ulp_arena_take(c->memory, ulp_bin_count(seen), sizeof *seen->bins);
    if (ulp_calibrates_delayed(c))
        seen->history = ulp_arena_take(c->memory, remembered(c), sizeof *seen->history);
    if (!seen->node || (value && !seen->value) || (c->counts && !seen->bins) ||
        (ulp_calibrates_delayed(c) && !seen->history))
        return NULL;
    c->items[c->count++] = seen;
    return seen;
}

/* A value has one scale, whoever reads it; scales that are no integers' have factors of their own.
 */
static struct ulp_seen *find_seen(struct ulp_calibrating *c, const char *node, const char *name,
                                  const char *value, const struct ulp_scaling *scaling)
{
    struct ulp_seen *seen = NULL;
    for (size_t i = c->factor_count; i-- > 0;)
        if (strcmp(c->factors[i].factor, name) == 0 && strcmp(c->factors[i].node, node) == 0)
            return c->factors[i].of;
    value = ulp_scaling_is_integer(scaling) ? value : NULL;
    for (size_t i = 0; i < c->count && value; i++)
        if (c->items[i]->value && strcmp(c->items[i]->value, value) == 0)
            seen = c->items[i];
    seen = seen ? seen : add_seen(c, node, name, value, scaling);
    if (!seen || !ulp_program_grow(c->memory, &c->factors, c->factor_count, &c->factor_capacity,
                                   sizeof *c->factors))
        return NULL;
    struct ulp_seen_factor *factor = &c->factors[c->factor_count];
    *factor = (struct ulp_seen_factor){ulp_arena_copy(c->memory, node), name, seen};
    if (!factor->node)
        return NULL;
    c->factor_count++;
    return seen;
}

/* The scale of a range, as products have it. */
static double scale_of(const struct ulp_seen *seen, float range)
{
    return (double)(float)ulp_math_max((float)((double)range / seen->scaling.element.max_finite),
                                       0x1p-126);
}

/* A magnitude as the delayed scale takes it: clipped beyond the largest number by more than half a
 * step, 0 up to half of the least. */
static void add_delayed(struct ulp_seen *seen, float size)
{
    const struct ulp_format *element = &seen->scaling.element;
    const double scale = scale_of(seen, seen->range);
    if (isnan(size))
        return;
    seen->now.elements++;
    seen->now.clipped +=
        (double)size > (element->max_finite + ldexp(1, element->emax - element->precision)) * scale;
    seen->now.zeros += size > 0 && (double)size <= ldexp(scale, element->emin - element->precision);
    seen->largest = size > seen->largest ? size : seen->largest;
}

static enum ulp_status add_factor(void *context, const char *node, const char *name,
                                  const char *value, const struct ulp_scaling *scaling,
                                  const struct ulp_factor *factor, struct ulp_error *error)
{
    struct ulp_calibrating *c = context;
    const struct ulp_tensor *tensor = factor->tensor;
    struct ulp_seen *seen = find_seen(c, node, name, value, scaling);
    ULP_TRY(ulp_taken(seen, error));
    for (size_t i = 0; i < tensor->count; i++) {
        const float x = (float)ulp_tensor_get(tensor, i), size = fabsf(x),
                    end = seen->scaling.zero_point ? x : size;
        const bool padding = ulp_factor_is_padding(factor, (int64_t)i);
        if (ulp_calibrates_delayed(c) && !padding)
            add_delayed(seen, size);
        if (ulp_calibrates_delayed(c) || padding || !isfinite(size))
            continue;
        seen->largest = end > seen->largest ? end : seen->largest;
        seen->least = end < seen->least ? end : seen->least;
        seen->current = size > seen->current ? size : seen->current;
        if (seen->bins)
            seen->bins[(ulp_float_bits(size) >> ULP_BIN_SHIFT) + (end < 0 ? ULP_BINS : 0)]++;
    }
    return ULP_OK;
}

/* The sample in the arithmetic, with delayed scales and with its own. */
static enum ulp_status run_delayed(struct ulp_calibrating *c, const struct ulp_sample *sample,
                                   struct ulp_error *error)
{
    struct ulp_factor_range *items;
    struct ulp_arithmetic lanes[2]; /* with delayed scales, with its own */
    double sqnr_db[2];
    const struct ulp_scales_options options = {.thread_count = c->options->thread_count,
                                               .progress = c->options->progress};
    struct ulp_delayed_run *run = &c->runs[c->run_count];
    ULP_TAKE(items, c->memory, c->count + 1, error);
    for (size_t i = 0; i < c->count; i++)
        items[i] = (struct ulp_factor_range){.node = c->items[i]->node,
                                             .factor = c->items[i]->factor,
                                             .largest = c->items[i]->range};
    qsort(items, c->count, sizeof *items, ulp_factor_range_order);
    const struct ulp_factor_ranges ranges = {c->count, items, NULL};
    ULP_TRY(ulp_arithmetic_change(&lanes[0], &c->options->arithmetic, "scales=static", error));
    lanes[0].ranges = &ranges;
    lanes[1] = c->options->arithmetic;
    ULP_TRY(ulp_scales_judge(c->model, sample->inputs, &options, lanes, 2, sqnr_db, error));
    *run = (struct ulp_delayed_run){sample->name, sqnr_db[0], sqnr_db[1]};
    c->run_count++;
    return ULP_OK;
}

static void end_current(struct ulp_seen *seen, const char *sample)
{
    if (seen->current > seen->most) {
        seen->others = seen->most;
        seen->most = seen->current;
        seen->most_sample = sample;
    } else if (seen->current > seen->others) {
        seen->others = seen->current;
    }
    seen->current = 0;
}

/* The sample is over: its largest magnitudes are remembered, and make the ranges of the next. A
 * factor that the sample did not run keeps its own. */
static enum ulp_status end_sample(struct ulp_calibrating *c, const char *sample,
                                  struct ulp_error *error)
{
    const size_t length = remembered(c);
    for (size_t i = 0; i < c->count; i++)
        end_current(c->items[i], sample);
    for (size_t i = 0; i < c->count && ulp_calibrates_delayed(c); i++) {
        struct ulp_seen *seen = c->items[i];
        const struct ulp_delayed_lost now = seen->now;
        float most = 0;
        if (!now.elements)
            continue;
        if (now.clipped + now.zeros) {
            ULP_TRY(ulp_taken(ulp_program_grow(c->memory, &c->lost, c->lost_count,
                                               &c->lost_capacity, sizeof *c->lost),
                              error));
            c->lost[c->lost_count++] =
                (struct ulp_delayed_lost){sample,       seen,        seen->range, seen->largest,
                                          now.elements, now.clipped, now.zeros};
        }
        seen->history[seen->samples++ % length] = seen->largest;
        for (size_t h = 0; h < length && h < seen->samples; h++)
            most = seen->history[h] > most ? seen->history[h] : most;
        most = c->options->most_recent ? seen->largest : most;
        const float range = (float)ldexp((double)most, c->options->margin);
        if (range > 0 && isfinite(range))
            seen->range = range;
        seen->largest = 0;
        seen->now = (struct ulp_delayed_lost){0};
    }
    return ULP_OK;
}

/* By node and factor, into memory. */
static enum ulp_status list_ranges(const struct ulp_calibrating *c,
                                   const struct ulp_scales_rule *rule, struct ulp_arena *memory,
                                   struct ulp_factor_ranges *out, struct ulp_error *error)
{
    struct ulp_factor_range *items;
    ULP_TAKE(items, memory, c->factor_count + 1, error);
    for (size_t s = 0; s < c->count; s++) {
        const struct ulp_seen *seen = c->items[s];
        struct ulp_ends ends;
        ULP_TRY(ulp_calibrate_range(c, seen, rule, &ends, error));
        for (size_t i = 0; i < c->factor_count; i++)
            if (c->factors[i].of == seen)
                items[i] =
                    (struct ulp_factor_range){.node = ulp_arena_copy(memory, c->factors[i].node),
                                              .factor = c->factors[i].factor,
                                              .largest = ends.largest,
                                              .least = seen->scaling.zero_point ? ends.least
                                                                                : -ends.largest};
    }
    for (size_t i = 0; i < c->factor_count; i++)
        ULP_TRY(ulp_taken(items[i].node, error));
    qsort(items, c->factor_count, sizeof *items, ulp_factor_range_order);
    *out = (struct ulp_factor_ranges){c->factor_count, items, "ranges"};
    return ULP_OK;
}

static enum ulp_status check_calibration_options(const struct ulp_calibration_options *options,
                                                 struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &options->arithmetic;
    if (!ulp_scaling_has_tensor(&arithmetic->scaling[0]))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: no factor has a scale of its whole tensor; calibrate for fp8-tensor, "
                        "fp8-e5m2-tensor, nvfp4 or integers, as bf16,factor=fp8-tensor",
                        arithmetic->asked);
    const bool delayed = options->calibrator == ULP_CALIBRATOR_DELAYED;
    if (delayed && ulp_scaling_is_integer(&arithmetic->scaling[0]))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: delayed scales are of fp8-tensor and fp8-e5m2-tensor",
                        arithmetic->asked);
    if ((options->calibrator == ULP_CALIBRATOR_MSE ||
         options->calibrator == ULP_CALIBRATOR_ENTROPY || delayed) &&
        arithmetic->scaling[0].tensor_scale)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        delayed ? "%s: blocks have scales of their own; delayed scales are of "
                                  "fp8-tensor and fp8-e5m2-tensor"
                                : "%s: blocks have scales of their own, beside which the tensor's "
                                  "has no least error; take max or percentile",
                        arithmetic->asked);
    if (delayed && (options->margin < -MARGIN_MOST || options->margin > MARGIN_MOST))
        return ulp_fail(error, ULP_ERROR_USAGE, "margin=%d: a number from -%d to %d is needed",
                        options->margin, MARGIN_MOST, MARGIN_MOST);
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE &&
        !(options->percentile > 0 && options->percentile <= 100))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "percentile=%g: a number above 0 and at most 100 is needed",
                        options->percentile);
    return ULP_OK;
}

/* All samples in FP64, in their order. */
static enum ulp_status look_at_samples(struct ulp_calibrating *c, const struct ulp_sample *samples,
                                       struct ulp_error *error)
{
    const struct ulp_calibration_options *options = c->options;
    const struct ulp_scales_options looking = {.arithmetic = options->arithmetic,
                                               .thread_count = options->thread_count,
                                               .progress = options->progress};
    const struct ulp_factor_taker taker = {add_factor, c->results ? ulp_calibrate_weight : NULL, c,
                                           c->results ? c->results : ""};
    ULP_TAKE(c->runs, c->memory, c->sample_count + 1, error);
    for (size_t s = 0; s < c->sample_count; s++) {
        c->fits_now = !ulp_calibrate_judges(s, c->sample_count);
        if (!options->allow_nonfinite_inputs)
            ULP_TRY(ulp_judge_inputs(samples[s].inputs, samples[s].name, error));
        ULP_TRY(ulp_scales_tell(c->model, samples[s].inputs, &looking, &taker, error));
        if (c->count && ulp_calibrates_delayed(c))
            ULP_TRY(run_delayed(c, &samples[s], error));
        ULP_TRY(end_sample(c, samples[s].name, error));
    }
    return c->count ? ULP_OK
                    : ulp_fail(error, ULP_ERROR_LIMIT,
                               "no product in the main graph takes %s of a value that is no "
                               "weight: there is nothing to calibrate",
                               options->arithmetic.asked);
}

enum ulp_status ulp_scales_calibrate(const struct ulp_model *model,
                                     const struct ulp_sample *samples, size_t sample_count,
                                     const struct ulp_calibration_options *options,
                                     const char *results, const struct ulp_scales_rule *rules,
                                     size_t count, struct ulp_factor_ranges *lists,
                                     struct ulp_arena *results_memory,
                                     struct ulp_stretched_list *stretched,
                                     struct ulp_factor_ranges *weights, struct ulp_error *error)
{
    struct ulp_calibrating c = {.model = model,
                                .options = options,
                                .sample_count = sample_count,
                                .results = results};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    c.memory = memory;
    for (size_t r = 0; r < count; r++) {
        struct ulp_calibration_options own = *options;
        own.calibrator = rules[r].calibrator;
        own.percentile = rules[r].percentile;
        ULP_TRY(check_calibration_options(&own, error));
        c.counts |= own.calibrator != ULP_CALIBRATOR_MAX;
    }
    ULP_TRY(look_at_samples(&c, samples, error));
    for (size_t r = 0; r < count; r++)
        ULP_TRY(list_ranges(&c, &rules[r], results_memory, &lists[r], error));
    ULP_TRY(ulp_calibrate_fit(&c, results_memory, weights, error));
    return ulp_calibrate_stretched(&c, results_memory, stretched, error);
}

enum ulp_status ulp_calibrate(const struct ulp_model *model, const struct ulp_sample *samples,
                              size_t sample_count, const struct ulp_calibration_options *options,
                              const char *path, char **missed, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_calibration_options, options, error);
    struct ulp_calibrating calibrating = {.model = model,
                                          .options = options,
                                          .sample_count = sample_count};
    const struct ulp_scales_rule rule = {options->calibrator, options->percentile};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_factor_ranges ranges;
    if (missed)
        *missed = NULL;
    ULP_TRY(check_calibration_options(options, error));
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    calibrating.memory = memory;
    calibrating.counts =
        rule.calibrator != ULP_CALIBRATOR_MAX && !ulp_calibrates_delayed(&calibrating);
    ULP_TRY(look_at_samples(&calibrating, samples, error));
    ULP_TRY(list_ranges(&calibrating, &rule, memory, &ranges, error));
    ULP_TRY(ulp_calibrate_write(&calibrating, &ranges, path, error));
    return missed && ulp_calibrates_delayed(&calibrating)
               ? ulp_calibrate_say_lost(&calibrating, missed, error)
               : ULP_OK;
}
