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
#include "run/program/program.h"

static struct ulp_seen *add_seen(struct ulp_calibrating *c, const char *node, const char *name,
                                 const char *value, const struct ulp_scaling *scaling)
{
    struct ulp_seen *seen = ulp_arena_take(c->memory, 1, sizeof *seen);
    if (!seen || !ULP_ARENA_GROWS(c->items, c->memory, c->count, c->capacity))
        return NULL;
    *seen = (struct ulp_seen){.node = ulp_arena_copy(c->memory, node),
                              .factor = name,
                              .value = value ? ulp_arena_copy(c->memory, value) : NULL,
                              .scaling = *scaling};
    if (!seen->node || (value && !seen->value))
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
    if (!seen || !ULP_ARENA_GROWS(c->factors, c->memory, c->factor_count, c->factor_capacity))
        return NULL;
    struct ulp_seen_factor *factor = &c->factors[c->factor_count];
    *factor = (struct ulp_seen_factor){ulp_arena_copy(c->memory, node), name, seen};
    if (!factor->node)
        return NULL;
    c->factor_count++;
    return seen;
}

static enum ulp_status add_factor(void *context, const char *node, const char *name,
                                  const char *value, const struct ulp_scaling *scaling,
                                  const struct ulp_factor *factor, struct ulp_error *error)
{
    struct ulp_calibrating *c = context;
    const struct ulp_tensor *tensor = factor->tensor;
    struct ulp_seen *seen = find_seen(c, node, name, value, scaling);
    ULP_TRY(ulp_taken(seen, error));
    struct ulp_seen_half *half = &seen->halves[c->half];
    const double *wide = tensor->element == ULP_ELEMENT_F64 ? tensor->data : NULL;
    for (size_t i = 0; i < tensor->count; i++) {
        const float x = (float)(wide ? wide[i] : ulp_tensor_get(tensor, i)), size = fabsf(x),
                    end = seen->scaling.zero_point ? x : size;
        if (ulp_factor_is_padding(factor, (int64_t)i) || !isfinite(size))
            continue;
        half->ends = ulp_ends_join(half->ends, (struct ulp_ends){end, end});
        seen->current = size > seen->current ? size : seen->current;
        if (!c->counts)
            continue;
        const size_t bin = (ulp_float_bits(size) >> ULP_BIN_SHIFT) + (end < 0 ? ULP_BINS : 0);
        uint64_t **octave = &half->octaves[bin / ULP_OCTAVE];
        if (!*octave)
            ULP_TAKE(*octave, c->memory, ULP_OCTAVE, error);
        (*octave)[bin % ULP_OCTAVE]++;
    }
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

/* Of one value by each rule into the place of every factor that shares it. */
static enum ulp_status set_ranges(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                  size_t half, const struct ulp_scales_rule *rules, size_t count,
                                  struct ulp_arena *memory, struct ulp_factor_range **items,
                                  struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *scratch = NULL;
    struct ulp_filled_bins bins;
    ULP_TRY(ulp_arena_create(&scratch, ulp_model_budget(c->model), error));
    ULP_TRY(ulp_calibrate_fill(c, seen, half, scratch, &bins, error));
    for (size_t r = 0; r < count; r++) {
        struct ulp_ends ends;
        ULP_TRY(ulp_calibrate_range(seen, &bins, &rules[r], scratch, &ends, error));
        for (size_t i = 0; i < c->factor_count; i++)
            if (c->factors[i].of == seen) {
                items[r][i] = (struct ulp_factor_range){
                    .node = ulp_arena_copy(memory, c->factors[i].node),
                    .factor = c->factors[i].factor,
                    .value = seen->value ? ulp_arena_copy(memory, seen->value) : NULL,
                    .largest = ends.largest,
                    .least = seen->scaling.zero_point ? ends.least : -ends.largest};
                ULP_TRY(ulp_taken(items[r][i].node, error));
            }
    }
    return ULP_OK;
}

/* By node and factor, into memory, of each rule a list. */
static enum ulp_status list_ranges(const struct ulp_calibrating *c, size_t half,
                                   const struct ulp_scales_rule *rules, size_t count,
                                   struct ulp_arena *memory, struct ulp_factor_ranges *out,
                                   struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_factor_range *, items, memory, count, error);
    for (size_t r = 0; r < count; r++)
        ULP_TAKE(items[r], memory, c->factor_count + 1, error);
    for (size_t s = 0; s < c->count; s++)
        ULP_TRY(set_ranges(c, c->items[s], half, rules, count, memory, items, error));
    for (size_t r = 0; r < count; r++) {
        qsort(items[r], c->factor_count, sizeof **items, ulp_factor_range_order);
        out[r] = (struct ulp_factor_ranges){c->factor_count, items[r], "ranges"};
    }
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
    if ((options->calibrator == ULP_CALIBRATOR_MSE ||
         options->calibrator == ULP_CALIBRATOR_ENTROPY) &&
        arithmetic->scaling[0].tensor_scale)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: blocks have scales of their own, beside which the tensor's has no "
                        "least error; take max or percentile",
                        arithmetic->asked);
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE &&
        !(options->percentile > 0 && options->percentile <= 100))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "percentile=%g: a number above 0 and at most 100 is needed",
                        options->percentile);
    return ULP_OK;
}

/* All samples in FP64, in their order; one at a time is in memory, but those that are given. */
static enum ulp_status look_at_samples(struct ulp_calibrating *c, struct ulp_error *error)
{
    const struct ulp_calibration_options *options = c->options;
    const struct ulp_samples *samples = c->samples;
    const struct ulp_scales_options looking = {.arithmetic = options->arithmetic,
                                               .thread_count = options->thread_count,
                                               .progress = options->progress};
    const struct ulp_factor_taker taker = {add_factor, c->results ? ulp_calibrate_weight : NULL, c,
                                           c->results ? c->results : ""};
    for (size_t s = 0, loaded = 0; s < samples->count; s++) {
        const struct ulp_tensor_set *inputs = samples->items[s].inputs;
        c->half = (inputs ? loaded++ : s) % ULP_HALVES;
        c->fits_now = c->apart ? !inputs : !ulp_calibrate_judges(s, samples->count);
        const bool opens = !inputs && samples->open;
        enum ulp_status status =
            opens ? samples->open(samples->context, s, &inputs, error) : ULP_OK;
        if (status == ULP_OK && !options->allow_nonfinite_inputs)
            status = ulp_judge_inputs(inputs, samples->items[s].name, error);
        ULP_THEN(status, ulp_scales_tell(c->model, inputs, &looking, &taker, error));
        if (opens)
            samples->close(samples->context, s);
        if (status != ULP_OK)
            return status;
        for (size_t i = 0; i < c->count; i++)
            end_current(c->items[i], samples->items[s].name);
    }
    return ULP_OK;
}

enum ulp_status ulp_scales_calibrate(const struct ulp_model *model,
                                     const struct ulp_samples *samples, bool apart,
                                     const struct ulp_calibration_options *options,
                                     const char *results, const struct ulp_scales_rule *rules,
                                     size_t count, bool halves, struct ulp_factor_ranges *lists,
                                     struct ulp_arena *results_memory,
                                     struct ulp_stretched_list *stretched,
                                     struct ulp_factor_ranges *weights, struct ulp_error *error)
{
    struct ulp_calibrating c = {
        .model = model, .options = options, .samples = samples, .apart = apart, .results = results};
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
    ULP_TRY(look_at_samples(&c, error));
    ULP_TRY(list_ranges(&c, ULP_HALVES, rules, count, results_memory, lists, error));
    for (size_t h = 0; h < ULP_HALVES && halves; h++)
        ULP_TRY(list_ranges(&c, h, rules, count, results_memory, lists + (1 + h) * count, error));
    ULP_TRY(ulp_calibrate_fit(&c, results_memory, weights, error));
    return ulp_calibrate_stretched(&c, results_memory, stretched, error);
}

enum ulp_status ulp_calibrate(const struct ulp_model *model, const struct ulp_sample *samples,
                              size_t sample_count, const struct ulp_calibration_options *options,
                              const char *path, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_OPTIONS_TAKE(ulp_calibration_options, options, error);
    const struct ulp_samples all = {.count = sample_count, .items = samples};
    const struct ulp_scales_rule rule = {options->calibrator, options->percentile};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_factor_ranges ranges, weights;
    struct ulp_stretched_list stretched;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    ULP_TRY(ulp_scales_calibrate(model, &all, false, options, NULL, &rule, 1, false, &ranges,
                                 memory, &stretched, &weights, error));
    return ulp_calibrate_write(options, sample_count, &ranges, path, error);
}
