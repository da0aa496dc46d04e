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
static size_t bin_at(const struct ulp_seen *seen, size_t place)
{
    const size_t negative = ulp_bin_count(seen) - ULP_BINS;
    return place < negative ? 2 * ULP_BINS - 1 - place : place - negative;
}

/* What so many per cent of all values, or magnitudes, do not exceed; with a zero point half of the
 * rest lies below the least and half above the largest. */
static struct ulp_ends find_percentile(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                       double percentile)
{
    uint64_t all = 0, below = 0;
    struct ulp_ends out = {seen->least, seen->largest};
    for (size_t b = 0; b < ulp_bin_count(seen); b++)
        all += seen->bins[b];
    const double within = (double)all * percentile / 100, cut = ((double)all - within) / 2,
                 wanted = seen->scaling.zero_point ? (double)all - cut : within;
    bool low = !seen->scaling.zero_point;
    for (size_t place = 0; place < ulp_bin_count(seen); place++) {
        const size_t bin = bin_at(seen, place);
        const float value = ulp_bin_value(c, bin);
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

/* The bins that count. */
struct filled_bins {
    float *values, *room; /* room: as many floats */
    double *counts;
    size_t count;
};

static enum ulp_status fill_bins(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                 struct filled_bins *out, struct ulp_error *error)
{
    size_t count = 0;
    for (size_t b = 0; b < ulp_bin_count(seen); b++)
        count += seen->bins[b] > 0;
    *out = (struct filled_bins){0};
    ULP_TAKE(out->values, c->memory, count + 1, error);
    ULP_TAKE(out->room, c->memory, count + 1, error);
    ULP_TAKE(out->counts, c->memory, count + 1, error);
    for (size_t b = 0; b < ulp_bin_count(seen); b++)
        if (seen->bins[b]) {
            out->values[out->count] = ulp_bin_value(c, b);
            out->counts[out->count++] = (double)seen->bins[b];
        }
    return ULP_OK;
}

/* The squared error of all values where the scale is of these ends. */
static double sum_errors(const struct ulp_seen *seen, struct ulp_ends ends,
                         const struct filled_bins *bins)
{
    float *const room = bins->room;
    float low;
    const float scale = ulp_scaled_scale(&seen->scaling, ends.least, ends.largest, &low),
                high = seen->scaling.zero_point ? low + (float)seen->scaling.element.max_finite
                                                : INFINITY;
    double sum = 0;
    for (size_t i = 0; i < bins->count; i++)
        room[i] = bins->values[i] / scale;
    ulp_round_floats(&seen->scaling.element, ULP_ROUND_NEAREST_EVEN, room, bins->count, 0, 0, 0);
    for (size_t i = 0; i < bins->count; i++) {
        const float element = room[i] > high ? high : room[i] < low ? low : room[i];
        const double d = (double)element * (double)scale - (double)bins->values[i];
        sum += bins->counts[i] * (d * d);
    }
    return sum;
}

static void find_least_error(const struct ulp_seen *seen, const struct filled_bins *bins,
                             struct ulp_ends *out)
{
    double least = INFINITY;
    for (int i = CANDIDATES; i > 0 && seen->largest > seen->least; i--) {
        const struct ulp_ends ends = {(float)((double)seen->least * i / CANDIDATES),
                                      (float)((double)seen->largest * i / CANDIDATES)};
        const double sum = sum_errors(seen, ends, bins);
        if (sum < least) {
            least = sum;
            *out = ends;
        }
    }
}

/* How far magnitudes in so many of PLACES equal parts, those beyond in the last one, are from what
 * LEVELS levels leave of them, as Kullback and Leibler measure it: each level's values lie evenly
 * over its parts that have any. Parts without are as if each had a ten-thousandth. */
static double find_divergence(const double *parts, size_t count, double beyond, size_t levels,
                              double *left)
{
    double all = 0, all_left = 0, sum = 0;
    for (size_t l = 0; l < levels; l++) {
        const size_t first = l * count / levels, end = (l + 1) * count / levels;
        double level = 0, filled = 0;
        for (size_t p = first; p < end; p++) {
            level += parts[p];
            filled += parts[p] > 0;
        }
        for (size_t p = first; p < end; p++)
            left[p] = parts[p] > 0 ? level / filled : SMOOTH;
    }
    for (size_t p = 0; p < count; p++) {
        all += parts[p] + (p + 1 == count ? beyond : 0);
        all_left += left[p];
    }
    for (size_t p = 0; p < count && all > 0; p++) {
        const double part = (parts[p] + (p + 1 == count ? beyond : 0)) / all;
        if (part > 0)
            sum += part * ulp_math_log2(part * all_left / left[p]);
    }
    return sum;
}

/* The magnitude up to which values lose least information, as TensorRT's entropy calibration. */
static enum ulp_status find_least_divergence(const struct ulp_calibrating *c,
                                             const struct ulp_seen *seen,
                                             const struct filled_bins *bins, struct ulp_ends *out,
                                             struct ulp_error *error)
{
    const double most = ulp_math_max((double)seen->largest, -(double)seen->least);
    const bool both = !seen->scaling.zero_point || seen->least < 0;
    const size_t all_levels = (size_t)seen->scaling.element.max_finite + 1,
                 levels = seen->scaling.zero_point && both ? all_levels / 2 : all_levels;
    double *parts, *left, least = INFINITY, beyond = 0, end = most;
    ULP_TAKE(parts, c->memory, PLACES, error);
    ULP_TAKE(left, c->memory, PLACES, error);
    for (size_t i = 0; i < bins->count && most > 0; i++) {
        const double place = fabs((double)bins->values[i]) / most * PLACES;
        parts[place < PLACES ? (size_t)place : PLACES - 1] += bins->counts[i];
    }
    for (size_t count = PLACES; count >= levels && count > 0; count -= PLACES / CANDIDATES) {
        const double now = find_divergence(parts, count, beyond, levels, left);
        if (now < least) {
            least = now;
            end = most * (double)count / PLACES;
        }
        for (size_t p = count - ulp_size_min(count, PLACES / CANDIDATES); p < count; p++)
            beyond += parts[p];
    }
    out->largest = (float)ulp_math_min((double)seen->largest, end);
    out->least = (float)ulp_math_max((double)seen->least, -end);
    return ULP_OK;
}

static bool has_bins(const struct ulp_scales_rule *rule)
{
    return rule->calibrator == ULP_CALIBRATOR_MSE || rule->calibrator == ULP_CALIBRATOR_ENTROPY;
}

enum ulp_status ulp_calibrate_range(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                                    const struct ulp_scales_rule *rule, struct ulp_ends *out,
                                    struct ulp_error *error)
{
    *out = (struct ulp_ends){seen->least, seen->largest};
    if (rule->calibrator == ULP_CALIBRATOR_PERCENTILE)
        *out = find_percentile(c, seen, rule->percentile);
    if (!has_bins(rule))
        return ULP_OK;
    struct filled_bins bins;
    ULP_TRY(fill_bins(c, seen, &bins, error));
    if (rule->calibrator == ULP_CALIBRATOR_MSE)
        find_least_error(seen, &bins, out);
    else
        ULP_TRY(find_least_divergence(c, seen, &bins, out, error));
    return ULP_OK;
}
