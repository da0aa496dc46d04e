#include <math.h>

#include "analysis/scales/calibrate.h"
#include "base/bits.h"
#include "base/error.h"
#include "kernels/operand/scaled_round.h"
#include "number/function/math.h"
#include "number/round/round.h"

/* Ends that are tried; parts of magnitudes, and what one without a value counts as. */
enum { CANDIDATES = 128, PLACES = 2048 };
#define SMOOTH 1e-4

float ulp_bin_value(const struct ulp_calibrating *c, size_t bin)
{
    const bool alone = c->options->arithmetic.storage.precision <= 24 - ULP_BIN_SHIFT;
    const float size = ulp_float_from((uint32_t)(bin % ULP_BINS) << ULP_BIN_SHIFT |
                                      (alone ? 0 : 1U << (ULP_BIN_SHIFT - 1)));
    return bin < ULP_BINS ? size : -size;
}

/* Bins in the order of their values: negative ones from the largest magnitude down. */
static size_t bin_at(size_t place, size_t negative)
{
    return place < negative ? 2 * ULP_BINS - 1 - place : place - negative;
}

enum ulp_status ulp_calibrate_fill(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                   size_t half, struct ulp_arena *memory,
                                   struct ulp_filled_bins *out, struct ulp_error *error)
{
    const size_t negative = seen->scaling.zero_point ? ULP_BINS : 0;
    size_t room = 1;
    *out = (struct ulp_filled_bins){0};
    for (size_t h = 0; h < ULP_HALVES; h++) {
        const struct ulp_seen_half *own = &seen->halves[h];
        if (half != ULP_HALVES && half != h)
            continue;
        out->ends = ulp_ends_join(out->ends, own->ends);
        for (size_t o = 0; o < 2 * ULP_BINS / ULP_OCTAVE; o++)
            room += own->octaves[o] ? ULP_OCTAVE : 0;
    }
    ULP_TAKE(out->values, memory, room, error);
    ULP_TAKE(out->room, memory, room, error);
    ULP_TAKE(out->counts, memory, room, error);
    for (size_t place = 0; place < negative + ULP_BINS && room > 1; place++) {
        const size_t bin = bin_at(place, negative);
        const uint64_t count = ulp_bin_count(seen, half, bin);
        if (!count)
            continue;
        out->values[out->count] = ulp_bin_value(c, bin);
        out->counts[out->count++] = (double)count;
    }
    return ULP_OK;
}

/* What so many per cent of all values, or magnitudes, do not exceed; with a zero point half of the
 * rest lies below the least and half above the largest. */
static struct ulp_ends find_percentile(const struct ulp_seen *seen,
                                       const struct ulp_filled_bins *bins, double percentile)
{
    double all = 0, below = 0;
    struct ulp_ends out = bins->ends;
    for (size_t b = 0; b < bins->count; b++)
        all += bins->counts[b];
    const double within = all * percentile / 100, cut = (all - within) / 2,
                 wanted = seen->scaling.zero_point ? all - cut : within;
    bool low = !seen->scaling.zero_point;
    for (size_t b = 0; b < bins->count; b++) {
        const float value = bins->values[b];
        below += bins->counts[b];
        if (!low && below > cut) {
            low = true;
            out.least = value > out.least ? (value < 0 ? value : 0) : out.least;
        }
        if (below >= wanted) {
            out.largest = value < out.largest ? (value > 0 ? value : 0) : out.largest;
            break;
        }
    }
    return out;
}

/* The squared error of values [first, end) where the scale is of these ends; to *beyond is added
 * that of those outside of them. */
static double sum_errors(const struct ulp_seen *seen, struct ulp_ends ends,
                         const struct ulp_filled_bins *bins, size_t first, size_t end,
                         double *beyond)
{
    float *const room = bins->room;
    float low;
    const float scale = ulp_scaled_scale(&seen->scaling, ends.least, ends.largest, &low),
                high = seen->scaling.zero_point ? low + (float)seen->scaling.element.max_finite
                                                : INFINITY;
    double sum = 0;
    for (size_t i = first; i < end; i++)
        room[i] = bins->values[i] / scale;
    ulp_round_floats(&seen->scaling.element, ULP_ROUND_NEAREST_EVEN, room + first, end - first, 0,
                     0, 0);
    for (size_t i = first; i < end; i++) {
        const float element = room[i] > high  ? high
                              : room[i] < low ? low
                                              : room[i],
                    value = bins->values[i];
        const double d = (double)element * (double)scale - (double)value,
                     own = bins->counts[i] * (d * d);
        sum += own;
        if (value > ends.largest || (seen->scaling.zero_point && value < ends.least))
            *beyond += own;
    }
    return sum;
}

/* What lies outside grows as ends come nearer: where that alone is twice the least error, no nearer
 * ones have less. Values that the nearest ends take to 0, too, add the same to all. */
static void find_least_error(const struct ulp_seen *seen, const struct ulp_filled_bins *bins,
                             struct ulp_ends *out)
{
    const struct ulp_ends whole = bins->ends;
    const double small = ((double)whole.largest - (double)whole.least) / CANDIDATES /
                         (2 * (double)seen->scaling.element.max_finite + 1) / 4;
    size_t first = 0, end;
    double least = INFINITY, beyond = 0;
    while (first < bins->count && (double)bins->values[first] <= -small)
        first++;
    for (end = first; end < bins->count && (double)bins->values[end] < small;)
        end++;
    for (int i = CANDIDATES; i > 0 && whole.largest > whole.least && !(beyond > 2 * least); i--) {
        const struct ulp_ends ends = {(float)((double)whole.least * i / CANDIDATES),
                                      (float)((double)whole.largest * i / CANDIDATES)};
        beyond = 0;
        const double sum = sum_errors(seen, ends, bins, 0, first, &beyond) +
                           sum_errors(seen, ends, bins, end, bins->count, &beyond);
        if (sum < least) {
            least = sum;
            *out = ends;
        }
    }
}

/* How far magnitudes in so many of PLACES equal parts, those beyond in the last one, are from what
 * LEVELS levels leave of them, as Kullback and Leibler measure it: each level's values lie evenly
 * over its parts that have any. Parts without are as if each had a ten-thousandth. logs: each
 * part's number times its logarithm. */
static double find_divergence(const double *parts, const double *logs, size_t count, double beyond,
                              size_t levels)
{
    const double last = parts[count - 1];
    double all = beyond, left = 0, sum = 0;
    for (size_t l = 0; l < levels; l++) {
        const size_t first = l * count / levels, end = (l + 1) * count / levels;
        double level = 0, filled = 0;
        for (size_t p = first; p < end; p++) {
            level += parts[p];
            sum += logs[p];
            filled += parts[p] > 0;
        }
        all += level;
        left += level + (double)(end - first - (size_t)filled) * SMOOTH;
        if (end == count && beyond > 0) /* the last part has more, and its level has not */
            sum += (last + beyond) * ulp_math_log2(last + beyond) - logs[end - 1] -
                   beyond * ulp_math_log2(last > 0 ? level / filled : SMOOTH);
        if (level > 0)
            sum -= level * ulp_math_log2(level / filled);
    }
    return all > 0 ? sum / all + ulp_math_log2(left / all) : 0;
}

/* The magnitude up to which values lose least information, as TensorRT's entropy calibration. */
static enum ulp_status find_least_divergence(const struct ulp_seen *seen,
                                             const struct ulp_filled_bins *bins,
                                             struct ulp_arena *memory, struct ulp_ends *out,
                                             struct ulp_error *error)
{
    const double most = ulp_math_max((double)bins->ends.largest, -(double)bins->ends.least);
    const bool both = !seen->scaling.zero_point || bins->ends.least < 0;
    const size_t all_levels = (size_t)seen->scaling.element.max_finite + 1,
                 levels = seen->scaling.zero_point && both ? all_levels / 2 : all_levels;
    double *parts, *logs, least = INFINITY, beyond = 0, end = most;
    ULP_TAKE(parts, memory, PLACES, error);
    ULP_TAKE(logs, memory, PLACES, error);
    for (size_t i = 0; i < bins->count && most > 0; i++) {
        const double place = fabs((double)bins->values[i]) / most * PLACES;
        parts[place < PLACES ? (size_t)place : PLACES - 1] += bins->counts[i];
    }
    for (size_t p = 0; p < PLACES; p++)
        logs[p] = parts[p] > 0 ? parts[p] * ulp_math_log2(parts[p]) : 0;
    for (size_t count = PLACES; count >= levels && count > 0; count -= PLACES / CANDIDATES) {
        const double now = find_divergence(parts, logs, count, beyond, levels);
        if (now < least) {
            least = now;
            end = most * (double)count / PLACES;
        }
        for (size_t p = count - ulp_size_min(count, PLACES / CANDIDATES); p < count; p++)
            beyond += parts[p];
    }
    out->largest = (float)ulp_math_min((double)bins->ends.largest, end);
    out->least = (float)ulp_math_max((double)bins->ends.least, -end);
    return ULP_OK;
}

enum ulp_status ulp_calibrate_range(const struct ulp_seen *seen, const struct ulp_filled_bins *bins,
                                    const struct ulp_scales_rule *rule, struct ulp_arena *memory,
                                    struct ulp_ends *out, struct ulp_error *error)
{
    *out = bins->ends;
    if (rule->calibrator == ULP_CALIBRATOR_PERCENTILE)
        *out = find_percentile(seen, bins, rule->percentile);
    else if (rule->calibrator == ULP_CALIBRATOR_MSE)
        find_least_error(seen, bins, out);
    else if (rule->calibrator == ULP_CALIBRATOR_ENTROPY)
        ULP_TRY(find_least_divergence(seen, bins, memory, out, error));
    return ULP_OK;
}
