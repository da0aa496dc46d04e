/* ulp_calibrate: the ranges of factors over samples, for static scales. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/scales.h"
#include "analysis/writing/json_value.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "number/round/round.h"
#include "run/plan/plan.h"

/* Magnitudes are counted in bins of equal upper bits as FP32, which hold each value of FP16 and
 * BF16 apart. */
enum { BIN_SHIFT = 13, BINS = 1 << (31 - BIN_SHIFT), CANDIDATES = 128 };

struct seen {
    const char *node, *factor;
    struct ulp_format element;
    float largest;
    uint64_t *bins; /* NULL: the largest is enough */
};

struct calibrating {
    const struct ulp_calibration_options *options;
    struct ulp_arena *memory;
    struct seen *items;
    size_t count, capacity;
};

static struct seen *find_seen(struct calibrating *c, const char *node, const char *name,
                              const struct ulp_scaling *scaling)
{
    for (size_t i = c->count; i-- > 0;)
        if (strcmp(c->items[i].factor, name) == 0 && strcmp(c->items[i].node, node) == 0)
            return &c->items[i];
    if (!ulp_plan_grow(c->memory, &c->items, c->count, &c->capacity, sizeof *c->items))
        return NULL;
    struct seen *seen = &c->items[c->count];
    *seen = (struct seen){.node = ulp_arena_copy(c->memory, node),
                          .factor = name,
                          .element = scaling->element};
    if (c->options->calibrator != ULP_CALIBRATOR_MAX)
        seen->bins = ulp_arena_take(c->memory, BINS, sizeof *seen->bins);
    if (!seen->node || (c->options->calibrator != ULP_CALIBRATOR_MAX && !seen->bins))
        return NULL;
    c->count++;
    return seen;
}

static enum ulp_status add_factor(void *context, const char *node, const char *name,
                                  const struct ulp_scaling *scaling,
                                  const struct ulp_factor *factor, struct ulp_error *error)
{
    struct calibrating *c = context;
    const struct ulp_tensor *tensor = factor->tensor;
    struct seen *seen = find_seen(c, node, name, scaling);
    if (!seen)
        return ulp_out_of_memory(error);
    for (size_t i = 0; i < tensor->count; i++) {
        const float size = fabsf((float)ulp_tensor_get(tensor, i));
        if (!isfinite(size) || (factor->padding && factor->padding[i]))
            continue;
        seen->largest = size > seen->largest ? size : seen->largest;
        if (seen->bins)
            seen->bins[ulp_float_bits(size) >> BIN_SHIFT]++;
    }
    return ULP_OK;
}

/* The magnitude that stands for a bin: its only one in FP16 and BF16, else its middle. */
static float bin_value(const struct calibrating *c, size_t bin)
{
    const bool alone = c->options->arithmetic.storage.precision <= 24 - BIN_SHIFT;
    return ulp_float_from((uint32_t)bin << BIN_SHIFT | (alone ? 0 : 1U << (BIN_SHIFT - 1)));
}

static float find_percentile(const struct calibrating *c, const struct seen *seen)
{
    uint64_t all = 0, below = 0;
    for (size_t b = 0; b < BINS; b++)
        all += seen->bins[b];
    const double wanted = (double)all * c->options->percentile / 100;
    for (size_t b = 0; b < BINS; b++) {
        below += seen->bins[b];
        if (below && (double)below >= wanted)
            return bin_value(c, b) < seen->largest ? bin_value(c, b) : seen->largest;
    }
    return seen->largest;
}

/* The squared error of all values where the scale is of that magnitude. values: of the bins that
 * count; room: as many floats. */
static double sum_errors(const struct seen *seen, float range, const float *values,
                         const double *counts, size_t count, float *room)
{
    const float scale =
        (float)ulp_math_max((float)((double)range / seen->element.max_finite), 0x1p-126);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        room[i] = values[i] / scale;
    ulp_round_floats(&seen->element, ULP_ROUND_NEAREST_EVEN, room, count, 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        const double d = (double)room[i] * (double)scale - (double)values[i];
        sum += counts[i] * (d * d);
    }
    return sum;
}

static enum ulp_status find_least_error(const struct calibrating *c, const struct seen *seen,
                                        float *out, struct ulp_error *error)
{
    size_t count = 0;
    for (size_t b = 0; b < BINS; b++)
        count += seen->bins[b] > 0;
    float *values = ulp_arena_take(c->memory, count + 1, sizeof *values),
          *room = ulp_arena_take(c->memory, count + 1, sizeof *room);
    double *counts = ulp_arena_take(c->memory, count + 1, sizeof *counts), least = INFINITY;
    if (!values || !room || !counts)
        return ulp_out_of_memory(error);
    count = 0;
    for (size_t b = 0; b < BINS; b++)
        if (seen->bins[b]) {
            values[count] = bin_value(c, b);
            counts[count++] = (double)seen->bins[b];
        }
    *out = seen->largest;
    for (int i = CANDIDATES; i > 0 && seen->largest > 0; i--) {
        const float range = (float)((double)seen->largest * i / CANDIDATES);
        const double sum = sum_errors(seen, range, values, counts, count, room);
        if (sum < least) {
            least = sum;
            *out = range;
        }
    }
    return ULP_OK;
}

static enum ulp_status add_range(const struct calibrating *c, const struct seen *seen,
                                 json_t **list, struct ulp_error *error)
{
    float range = seen->largest;
    enum ulp_status status = ULP_OK;
    if (c->options->calibrator == ULP_CALIBRATOR_PERCENTILE)
        range = find_percentile(c, seen);
    if (c->options->calibrator == ULP_CALIBRATOR_MSE)
        status = find_least_error(c, seen, &range, error);
    json_t *object = json_object();
    ulp_json_set(&object, "node", ulp_json_text(seen->node));
    ulp_json_set(&object, "factor", ulp_json_text(seen->factor));
    ulp_json_set(&object, "largest", ulp_json_number((double)range));
    ulp_json_append(list, object);
    return status;
}

static enum ulp_status write_ranges(const struct calibrating *c, size_t samples, const char *path,
                                    struct ulp_error *error)
{
    static const char *const names[] = {"max", "percentile", "mse"};
    const struct ulp_calibration_options *options = c->options;
    json_t *list = json_array(), *root = json_object();
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < c->count && status == ULP_OK; i++)
        status = add_range(c, &c->items[i], &list, error);
    ulp_json_set(&root, "arithmetic", ulp_json_text(options->arithmetic.asked));
    ulp_json_set(&root, "calibrator", ulp_json_text(names[options->calibrator]));
    if (options->calibrator == ULP_CALIBRATOR_PERCENTILE)
        ulp_json_set(&root, "percentile", ulp_json_number(options->percentile));
    ulp_json_set(&root, "samples", json_integer((json_int_t)samples));
    ulp_json_set(&root, "ranges", list);
    if (status == ULP_OK)
        return ulp_json_write(root, path, error);
    json_decref(root);
    return status;
}

static enum ulp_status check_options(const struct ulp_calibration_options *options,
                                     struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &options->arithmetic;
    if (!ulp_scaling_has_tensor(&arithmetic->scaling[0]))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: no factor has a scale of its whole tensor; calibrate for fp8-tensor, "
                        "fp8-e5m2-tensor or nvfp4, as bf16,factor=fp8-tensor",
                        arithmetic->asked);
    if (options->calibrator == ULP_CALIBRATOR_MSE && arithmetic->scaling[0].tensor_scale)
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

enum ulp_status ulp_calibrate(const struct ulp_model *model, const struct ulp_sample *samples,
                              size_t sample_count, const struct ulp_calibration_options *options,
                              const char *path, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    ULP_OPTIONS_TAKE(ulp_calibration_options, options, error);
    const struct ulp_scales_options looking = {.arithmetic = options->arithmetic,
                                               .thread_count = options->thread_count,
                                               .progress = options->progress};
    struct calibrating calibrating = {.options = options};
    const struct ulp_factor_taker taker = {add_factor, &calibrating};
    enum ulp_status status = check_options(options, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&calibrating.memory, ulp_model_budget(model), error);
    for (size_t s = 0; s < sample_count && status == ULP_OK; s++) {
        if (!options->allow_nonfinite_inputs)
            status = ulp_judge_inputs(samples[s].inputs, samples[s].name, error);
        if (status == ULP_OK)
            status = ulp_scales_tell(model, samples[s].inputs, &looking, &taker, error);
    }
    if (status == ULP_OK && !calibrating.count)
        status = ulp_fail(error, ULP_ERROR_LIMIT,
                          "no product in the main graph takes %s of a value that is no weight: "
                          "there is nothing to calibrate",
                          options->arithmetic.asked);
    if (status == ULP_OK)
        status = write_ranges(&calibrating, sample_count, path, error);
    ulp_arena_free(calibrating.memory);
    return status;
}
