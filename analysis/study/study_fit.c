/* The law that errors follow over bits or lengths: ordinary least squares of log2(error), over the
 * points that can follow one. */
#include <math.h>
#include <ulpscope/study.h>

#include "analysis/measure/quantile.h"

#include "base/machine/environment.h"
#include "number/function/math.h"

#define LOST 0.5          /* of the reference's rms: there is nothing left that a law is about */
#define RESIDUAL_MOST 0.5 /* bits: a factor of sqrt(2) */
#define SLOPE_NEAR 0.15   /* beside a law's own */
#define FLOOR_SPREAD 0.5  /* bits between the points of a floor */
enum { FLOOR_LEAST = 3, FIT_LEAST = 3 };

/* The points that are used, in the order of the series. */
struct points {
    size_t count, index[ULP_STUDY_SETTINGS_MAX];
    double x[ULP_STUDY_SETTINGS_MAX], y[ULP_STUDY_SETTINGS_MAX];
};

static void gather(struct points *points, const double *x, const double *relative, size_t count,
                   bool lengths, struct ulp_study_fit *out)
{
    for (size_t i = 0; i < count && i < ULP_STUDY_SETTINGS_MAX; i++) {
        const bool usable =
            isfinite(relative[i]) && relative[i] > 0 && isfinite(x[i]) && (!lengths || x[i] > 0);
        out->unusable += !usable;
        out->lost += usable && relative[i] > LOST;
        if (!usable || relative[i] > LOST)
            continue;
        points->index[points->count] = i;
        points->x[points->count] = lengths ? ulp_math_log2(x[i]) : x[i];
        points->y[points->count++] = ulp_math_log2(relative[i]);
    }
}

/* Points at the end of many bits that lie within half a bit of each other, when there is one before
 * them that is above; x ascends there, or descends: the end with the larger x is meant. */
static void cut_floor(struct points *points, struct ulp_study_fit *out)
{
    const bool ascends = points->count && points->x[points->count - 1] > points->x[0];
    const size_t n = points->count;
    size_t length = 0;
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (; length < n; length++) {
        const double y = points->y[ascends ? n - 1 - length : length];
        if (ulp_math_max(high, y) - ulp_math_min(low, y) > FLOOR_SPREAD)
            break;
        low = ulp_math_min(low, y);
        high = ulp_math_max(high, y);
        sum += ulp_math_exp2(2 * y);
    }
    if (length < FLOOR_LEAST || length == n)
        return;
    out->floored = length;
    out->floor = sqrt(sum / (double)length);
    points->count -= length;
    for (size_t i = 0; !ascends && i < points->count; i++) {
        points->index[i] = points->index[i + length];
        points->x[i] = points->x[i + length];
        points->y[i] = points->y[i + length];
    }
}

static void fit_line(const struct points *points, struct ulp_study_fit *out)
{
    const size_t n = points->count;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += points->x[i] / (double)n;
        mean_y += points->y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (points->x[i] - mean_x) * (points->x[i] - mean_x);
        xy += (points->x[i] - mean_x) * (points->y[i] - mean_y);
    }
    if (n < 2 || !(xx > 0))
        return;
    out->slope = xy / xx;
    out->intercept = mean_y - out->slope * mean_x;
    for (size_t i = 0; i < n; i++) {
        const double beside = points->y[i] - (out->intercept + out->slope * points->x[i]);
        rest += beside * beside;
    }
    if (n < 3)
        return;
    out->residual = sqrt(rest / (double)n);
    out->slope_error = sqrt(rest / (double)(n - 2) / xx);
    const double half = out->slope_error * ulp_quantile_student(0.975, n - 2);
    out->slope_low = out->slope - half;
    out->slope_high = out->slope + half;
}

static const char *find_reason(const struct ulp_study_fit *fit, size_t count)
{
    return fit->count < FIT_LEAST && fit->lost >= count - fit->lost
               ? "the error is as large as the values"
           : fit->count < FIT_LEAST && fit->unusable >= count - fit->unusable
               ? "errors are zero, not finite or diverged"
           : fit->count < FIT_LEAST ? "fewer than three points can follow one"
           : !isfinite(fit->slope)  ? "all points are at one place"
                                    : "points lie more than half a bit beside a line";
}

static enum ulp_study_law find_law(double slope, bool lengths)
{
    const double linear = lengths ? 1 : -1;
    return fabs(slope - linear) <= SLOPE_NEAR           ? ULP_LAW_LINEAR
           : lengths && fabs(slope - 0.5) <= SLOPE_NEAR ? ULP_LAW_ROOT
           : fabs(slope) <= SLOPE_NEAR                  ? ULP_LAW_FLAT
                                                        : ULP_LAW_POWER;
}

void ulp_study_fit(const double *x, const double *relative, size_t count, bool lengths,
                   struct ulp_study_fit *out)
{
    ULP_ENTER_ENVIRONMENT;
    struct points points = {0};
    *out = (struct ulp_study_fit){.slope = NAN,
                                  .intercept = NAN,
                                  .slope_error = NAN,
                                  .slope_low = NAN,
                                  .slope_high = NAN,
                                  .residual = NAN,
                                  .floor = NAN};
    gather(&points, x, relative, count, lengths, out);
    if (!lengths)
        cut_floor(&points, out);
    out->count = points.count;
    out->first = points.count ? points.index[0] : 0;
    out->last = points.count ? points.index[points.count - 1] : 0;
    fit_line(&points, out);
    if (points.count >= FIT_LEAST && out->residual <= RESIDUAL_MOST)
        out->law = find_law(out->slope, lengths);
    else
        out->reason = find_reason(out, count);
}

const char *ulp_study_law_name(enum ulp_study_law law)
{
    static const char *const names[] = {"none", "power", "linear", "root", "flat"};
    return law >= 0 && (size_t)law < sizeof names / sizeof *names ? names[law] : "none";
}
