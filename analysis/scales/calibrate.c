/* ulp_calibrate: the ranges of factors over samples, for static scales. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/scales.h"
#include "analysis/writing/json_value.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "base/text/text.h"
#include "kernels/operand/scaled_round.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "number/round/round.h"
#include "run/program/program.h"

/* Magnitudes are counted in bins of equal upper bits as FP32, which hold each value of FP16 and
 * BF16 apart; where elements have a zero point those of negative values stand behind the others. */
enum { BIN_SHIFT = 13, BINS = 1 << (31 - BIN_SHIFT), CANDIDATES = 128 };
/* Of delayed scales: what Transformer Engine remembers by default. */
enum { HISTORY = 1024, MARGIN_MOST = 32 };

/* What a delayed scale lost of one factor in one sample. */
struct lost {
    const char *sample;
    const struct seen *of;
    float range, largest;
    size_t elements, clipped, zeros;
};

struct seen {
    const char *node, *factor;
    struct ulp_scaling scaling;
    /* of all samples; where scales are delayed, of the current one: magnitudes, or with zero points
     * the ends */
    float largest, least;
    uint64_t *bins; /* NULL: the ends are enough */
    /* of delayed scales: what is remembered, of how many samples; the range for the next; and what
     * that of the current one has lost so far */
    float *history, range;
    size_t samples;
    struct lost now;
};

/* What the outputs of a sample come to with the scales that it found, and with its own. */
struct run {
    const char *sample;
    double sqnr_db, dynamic_db;
};

struct calibrating {
    const struct ulp_model *model;
    const struct ulp_calibration_options *options;
    struct ulp_arena *memory;
    struct seen **items;
    size_t count, capacity;
    size_t sample_count;
    bool counts; /* the ends of values are not enough */
    struct lost *lost;
    size_t lost_count, lost_capacity;
    struct run *runs; /* by sample */
    size_t run_count;
};

static bool is_delayed(const struct calibrating *c)
{
    return c->options->calibrator == ULP_CALIBRATOR_DELAYED;
}
static size_t remembered(const struct calibrating *c)
{
    const size_t history = c->options->history ? c->options->history : HISTORY;
    return history < c->sample_count ? history : c->sample_count;
}

static size_t bin_count(const struct seen *seen)
{
    return seen->scaling.zero_point ? 2 * BINS : BINS;
}

static struct seen *find_seen(struct calibrating *c, const char *node, const char *name,
                              const struct ulp_scaling *scaling)
{
    for (size_t i = c->count; i-- > 0;)
        if (strcmp(c->items[i]->factor, name) == 0 && strcmp(c->items[i]->node, node) == 0)
            return c->items[i];
    struct seen *seen = ulp_arena_take(c->memory, 1, sizeof *seen);
    if (!seen || !ulp_program_grow(c->memory, &c->items, c->count, &c->capacity, sizeof *c->items))
        return NULL;
    *seen = (struct seen){.node = ulp_arena_copy(c->memory, node),
                          .factor = name,
                          .scaling = *scaling,
                          .range = (float)scaling->element.max_finite};
    if (c->counts)
        seen->bins = ulp_arena_take(c->memory, bin_count(seen), sizeof *seen->bins);
    if (is_delayed(c))
        seen->history = ulp_arena_take(c->memory, remembered(c), sizeof *seen->history);
    if (!seen->node || (c->counts && !seen->bins) || (is_delayed(c) && !seen->history))
        return NULL;
    c->items[c->count++] = seen;
    return seen;
}

/* The scale of a range, as products have it. */
static double scale_of(const struct seen *seen, float range)
{
    return (double)(float)ulp_math_max((float)((double)range / seen->scaling.element.max_finite),
                                       0x1p-126);
}

/* A magnitude as the delayed scale takes it: clipped beyond the largest number by more than half a
 * step, 0 up to half of the least. */
static void add_delayed(struct seen *seen, float size)
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
                                  const struct ulp_scaling *scaling,
                                  const struct ulp_factor *factor, struct ulp_error *error)
{
    struct calibrating *c = context;
    const struct ulp_tensor *tensor = factor->tensor;
    struct seen *seen = find_seen(c, node, name, scaling);
    ULP_TRY(ulp_taken(seen, error));
    for (size_t i = 0; i < tensor->count; i++) {
        const float value = (float)ulp_tensor_get(tensor, i), size = fabsf(value),
                    end = seen->scaling.zero_point ? value : size;
        const bool padding = ulp_factor_is_padding(factor, (int64_t)i);
        if (is_delayed(c) && !padding)
            add_delayed(seen, size);
        if (is_delayed(c) || padding || !isfinite(size))
            continue;
        seen->largest = end > seen->largest ? end : seen->largest;
        seen->least = end < seen->least ? end : seen->least;
        if (seen->bins)
            seen->bins[(ulp_float_bits(size) >> BIN_SHIFT) + (end < 0 ? BINS : 0)]++;
    }
    return ULP_OK;
}

/* The sample in the arithmetic, with delayed scales and with its own. */
static enum ulp_status run_delayed(struct calibrating *c, const struct ulp_sample *sample,
                                   struct ulp_error *error)
{
    struct ulp_factor_range *items;
    struct ulp_arithmetic lanes[2]; /* with delayed scales, with its own */
    double sqnr_db[2];
    const struct ulp_scales_options options = {.thread_count = c->options->thread_count,
                                               .progress = c->options->progress};
    struct run *run = &c->runs[c->run_count];
    ULP_TAKE(items, c->memory, c->count + 1, error);
    for (size_t i = 0; i < c->count; i++)
        items[i] = (struct ulp_factor_range){c->items[i]->node, c->items[i]->factor,
                                             c->items[i]->range, 0};
    qsort(items, c->count, sizeof *items, ulp_factor_range_order);
    const struct ulp_factor_ranges ranges = {c->count, items, NULL};
    ULP_TRY(ulp_arithmetic_change(&lanes[0], &c->options->arithmetic, "scales=static", error));
    lanes[0].ranges = &ranges;
    lanes[1] = c->options->arithmetic;
    ULP_TRY(ulp_scales_judge(c->model, sample->inputs, &options, lanes, 2, sqnr_db, error));
    *run = (struct run){sample->name, sqnr_db[0], sqnr_db[1]};
    c->run_count++;
    return ULP_OK;
}

/* The sample is over: its largest magnitudes are remembered, and make the ranges of the next. A
 * factor that the sample did not run keeps its own. */
static enum ulp_status end_sample(struct calibrating *c, const char *sample,
                                  struct ulp_error *error)
{
    const size_t length = remembered(c);
    for (size_t i = 0; i < c->count && is_delayed(c); i++) {
        struct seen *seen = c->items[i];
        const struct lost now = seen->now;
        float most = 0;
        if (!now.elements)
            continue;
        if (now.clipped + now.zeros) {
            ULP_TRY(ulp_taken(ulp_program_grow(c->memory, &c->lost, c->lost_count,
                                               &c->lost_capacity, sizeof *c->lost),
                              error));
            c->lost[c->lost_count++] =
                (struct lost){sample,       seen,        seen->range, seen->largest,
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
        seen->now = (struct lost){0};
    }
    return ULP_OK;
}

/* What a static scale is of. */
struct ends {
    float least, largest;
};

/* The value that stands for a bin: its only one in FP16 and BF16, else its middle. */
static float bin_value(const struct calibrating *c, size_t bin)
{
    const bool alone = c->options->arithmetic.storage.precision <= 24 - BIN_SHIFT;
    const float size =
        ulp_float_from((uint32_t)(bin % BINS) << BIN_SHIFT | (alone ? 0 : 1U << (BIN_SHIFT - 1)));
    return bin < BINS ? size : -size;
}

/* Bins in the order of their values: negative ones from the largest magnitude down. */
static size_t bin_at(const struct seen *seen, size_t place)
{
    const size_t negative = bin_count(seen) - BINS;
    return place < negative ? 2 * BINS - 1 - place : place - negative;
}

/* What so many per cent of all values, or magnitudes, do not exceed; with a zero point half of the
 * rest lies below the least and half above the largest. */
static struct ends find_percentile(const struct calibrating *c, const struct seen *seen,
                                   double percentile)
{
    uint64_t all = 0, below = 0;
    struct ends out = {seen->least, seen->largest};
    for (size_t b = 0; b < bin_count(seen); b++)
        all += seen->bins[b];
    const double within = (double)all * percentile / 100, cut = ((double)all - within) / 2,
                 wanted = seen->scaling.zero_point ? (double)all - cut : within;
    bool low = !seen->scaling.zero_point;
    for (size_t place = 0; place < bin_count(seen); place++) {
        const size_t bin = bin_at(seen, place);
        const float value = bin_value(c, bin);
        below += seen->bins[bin];
        if (!low && below && (double)below > cut) {
            low = true;
            out.least = value > seen->least ? (value < 0 ? value : 0) : seen->least;
        }
        if (below && (double)below >= wanted) {
            out.largest = value < seen->largest ? (value > 0 ? value : 0) : seen->largest;
            break;
        }
    }
    return out;
}

/* The squared error of all values where the scale is of these ends. values: of the bins that count;
 * room: as many floats. */
static double sum_errors(const struct seen *seen, struct ends ends, const float *values,
                         const double *counts, size_t count, float *room)
{
    float low;
    const float scale = ulp_scaled_scale(&seen->scaling, ends.least, ends.largest, &low),
                high = seen->scaling.zero_point ? low + (float)seen->scaling.element.max_finite
                                                : INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        room[i] = values[i] / scale;
    ulp_round_floats(&seen->scaling.element, ULP_ROUND_NEAREST_EVEN, room, count, 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        const float element = room[i] > high ? high : room[i] < low ? low : room[i];
        const double d = (double)element * (double)scale - (double)values[i];
        sum += counts[i] * (d * d);
    }
    return sum;
}

static enum ulp_status find_least_error(const struct calibrating *c, const struct seen *seen,
                                        struct ends *out, struct ulp_error *error)
{
    size_t count = 0;
    for (size_t b = 0; b < bin_count(seen); b++)
        count += seen->bins[b] > 0;
    float *values = ulp_arena_take(c->memory, count + 1, sizeof *values),
          *room = ulp_arena_take(c->memory, count + 1, sizeof *room);
    double *counts = ulp_arena_take(c->memory, count + 1, sizeof *counts), least = INFINITY;
    ULP_TRY(ulp_taken(values && room && counts, error));
    count = 0;
    for (size_t b = 0; b < bin_count(seen); b++)
        if (seen->bins[b]) {
            values[count] = bin_value(c, b);
            counts[count++] = (double)seen->bins[b];
        }
    *out = (struct ends){seen->least, seen->largest};
    for (int i = CANDIDATES; i > 0 && seen->largest > seen->least; i--) {
        const struct ends ends = {(float)((double)seen->least * i / CANDIDATES),
                                  (float)((double)seen->largest * i / CANDIDATES)};
        const double sum = sum_errors(seen, ends, values, counts, count, room);
        if (sum < least) {
            least = sum;
            *out = ends;
        }
    }
    return ULP_OK;
}

static enum ulp_status find_range(const struct calibrating *c, const struct seen *seen,
                                  const struct ulp_scales_rule *rule, struct ulp_factor_range *out,
                                  struct ulp_error *error)
{
    struct ends ends = {seen->least, is_delayed(c) ? seen->range : seen->largest};
    if (rule->calibrator == ULP_CALIBRATOR_PERCENTILE)
        ends = find_percentile(c, seen, rule->percentile);
    if (rule->calibrator == ULP_CALIBRATOR_MSE)
        ULP_TRY(find_least_error(c, seen, &ends, error));
    *out = (struct ulp_factor_range){seen->node, seen->factor, ends.largest,
                                     seen->scaling.zero_point ? ends.least : -ends.largest};
    return ULP_OK;
}

static void add_lost(const struct calibrating *c, json_t **root)
{
    const struct ulp_calibration_options *options = c->options;
    json_t *list = json_array();
    ulp_json_set(root, "history",
                 json_integer((json_int_t)(options->history ? options->history : HISTORY)));
    ulp_json_set(root, "amax", ulp_json_text(options->most_recent ? "most_recent" : "max"));
    ulp_json_set(root, "margin", json_integer(options->margin));
    for (size_t i = 0; i < c->lost_count; i++) {
        const struct lost *lost = &c->lost[i];
        ulp_json_append(&list, ulp_json_object("sample", ulp_json_text(lost->sample), "node",
                                               ulp_json_text(lost->of->node), "factor",
                                               ulp_json_text(lost->of->factor), "range",
                                               ulp_json_number((double)lost->range), "largest",
                                               ulp_json_number((double)lost->largest), "elements",
                                               json_integer((json_int_t)lost->elements), "clipped",
                                               json_integer((json_int_t)lost->clipped), "zeros",
                                               json_integer((json_int_t)lost->zeros), NULL));
    }
    ulp_json_set(root, "lost", list);
    list = json_array();
    for (size_t r = 0; r < c->run_count; r++)
        ulp_json_append(&list,
                        ulp_json_object("sample", ulp_json_text(c->runs[r].sample), "sqnr_db",
                                        ulp_json_number(c->runs[r].sqnr_db), "dynamic_db",
                                        ulp_json_number(c->runs[r].dynamic_db), NULL));
    ulp_json_set(root, "runs", list);
}

/* What delayed scales lost most of, in a sentence. */
static enum ulp_status say_lost(const struct calibrating *c, char **out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const struct lost *worst = NULL;
    size_t count = 0;
    for (size_t i = 0; i < c->lost_count; i++) {
        const struct lost *lost = &c->lost[i];
        count += lost->clipped > 0;
        if (lost->clipped && (!worst || (double)lost->clipped / (double)lost->elements >
                                            (double)worst->clipped / (double)worst->elements))
            worst = lost;
    }
    if (!worst)
        ulp_text_add(&text, "Delayed scales clip nothing in these samples.\n");
    else
        ulp_text_show(&text,
                      "Delayed scales clip values %zu times, most in sample %s: %zu of %zu values "
                      "of node %s, %s, which reach %.3g where those before left a range of %.3g. A "
                      "margin, or a longer history, leaves more room.\n",
                      count, worst->sample, worst->clipped, worst->elements, worst->of->node,
                      worst->of->factor, (double)worst->largest, (double)worst->range);
    const struct run *least = c->runs;
    for (size_t r = 1; r < c->run_count; r++)
        least = c->runs[r].sqnr_db < least->sqnr_db ? &c->runs[r] : least;
    if (isfinite(least->sqnr_db))
        ulp_text_show(
            &text,
            "Run with them the worst output has %.1f dB at least (sample %s); with scales "
            "of its own that sample has %.1f.\n",
            ulp_tenths(least->sqnr_db), least->sample, ulp_tenths(least->dynamic_db));
    else if (least->sqnr_db < 0)
        ulp_text_show(&text, "Run with them an output of sample %s is not finite.\n",
                      least->sample);
    *out = text.failed ? NULL : strdup(text.data);
    return ulp_taken(*out, error);
}

/* By node and factor, of an arena of the list's own. */
static enum ulp_status list_ranges(const struct calibrating *c, const struct ulp_scales_rule *rule,
                                   struct ulp_range_list *out, struct ulp_error *error)
{
    struct ulp_arena *memory;
    struct ulp_factor_range *items;
    ULP_TRY(ulp_arena_create(&memory, ulp_arena_budget(c->memory), error));
    *out = (struct ulp_range_list){.memory = memory};
    ULP_TAKE(items, memory, c->count + 1, error);
    for (size_t i = 0; i < c->count; i++) {
        ULP_TRY(find_range(c, c->items[i], rule, &items[i], error));
        items[i].node = ulp_arena_copy(memory, items[i].node);
        ULP_TRY(ulp_taken(items[i].node, error));
    }
    qsort(items, c->count, sizeof *items, ulp_factor_range_order);
    out->ranges = (struct ulp_factor_ranges){c->count, items, "ranges"};
    return ULP_OK;
}

static void add_ranges(const struct ulp_factor_ranges *ranges, bool least, json_t **list)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct ulp_factor_range *range = &ranges->items[i];
        json_t *object = ulp_json_object("node", ulp_json_text(range->node), "factor",
                                         ulp_json_text(range->factor), "largest",
                                         ulp_json_number((double)range->largest), NULL);
        if (least)
            ulp_json_set(&object, "least", ulp_json_number((double)range->least));
        ulp_json_append(list, object);
    }
}

static enum ulp_status write_ranges(const struct calibrating *c,
                                    const struct ulp_factor_ranges *ranges, size_t samples,
                                    const char *path, struct ulp_error *error)
{
    static const char *const names[] = {"max", "percentile", "mse", "delayed"};
    const struct ulp_calibration_options *options = c->options;
    json_t *list = json_array(), *root = json_object();
    add_ranges(ranges, options->arithmetic.scaling[0].zero_point, &list);
    ulp_json_set(&root, "arithmetic", ulp_json_text(options->arithmetic.asked));
    ulp_json_set(&root, "calibrator", ulp_json_text(names[options->calibrator]));
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE)
        ulp_json_set(&root, "percentile", ulp_json_number(options->percentile));
    if (is_delayed(c))
        add_lost(c, &root);
    ulp_json_set(&root, "samples", json_integer((json_int_t)samples));
    ulp_json_set(&root, "ranges", list);
    return ulp_json_write(root, path, error);
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
    if ((options->calibrator == ULP_CALIBRATOR_MSE || delayed) &&
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
static enum ulp_status look_at_samples(struct calibrating *c, const struct ulp_sample *samples,
                                       struct ulp_error *error)
{
    const struct ulp_calibration_options *options = c->options;
    const struct ulp_scales_options looking = {.arithmetic = options->arithmetic,
                                               .thread_count = options->thread_count,
                                               .progress = options->progress};
    const struct ulp_factor_taker taker = {add_factor, c};
    ULP_TAKE(c->runs, c->memory, c->sample_count + 1, error);
    for (size_t s = 0; s < c->sample_count; s++) {
        if (!options->allow_nonfinite_inputs)
            ULP_TRY(ulp_judge_inputs(samples[s].inputs, samples[s].name, error));
        ULP_TRY(ulp_scales_tell(c->model, samples[s].inputs, &looking, &taker, error));
        if (c->count && is_delayed(c))
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
                                     const struct ulp_scales_rule *rules, size_t count,
                                     struct ulp_range_list *lists, struct ulp_error *error)
{
    struct calibrating c = {.model = model, .options = options, .sample_count = sample_count};
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
        ULP_TRY(list_ranges(&c, &rules[r], &lists[r], error));
    return ULP_OK;
}

enum ulp_status ulp_calibrate(const struct ulp_model *model, const struct ulp_sample *samples,
                              size_t sample_count, const struct ulp_calibration_options *options,
                              const char *path, char **missed, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_calibration_options, options, error);
    struct calibrating calibrating = {.model = model,
                                      .options = options,
                                      .sample_count = sample_count};
    const struct ulp_scales_rule rule = {options->calibrator, options->percentile};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_SCOPED(ulp_range_list_free) struct ulp_range_list ranges = {0};
    if (missed)
        *missed = NULL;
    ULP_TRY(check_calibration_options(options, error));
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(model), error));
    calibrating.memory = memory;
    calibrating.counts = rule.calibrator != ULP_CALIBRATOR_MAX && !is_delayed(&calibrating);
    ULP_TRY(look_at_samples(&calibrating, samples, error));
    ULP_TRY(list_ranges(&calibrating, &rule, &ranges, error));
    ULP_TRY(write_ranges(&calibrating, &ranges.ranges, sample_count, path, error));
    return missed && is_delayed(&calibrating) ? say_lost(&calibrating, missed, error) : ULP_OK;
}
