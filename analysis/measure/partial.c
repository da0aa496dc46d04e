/* See partial.h. */
#include "analysis/measure/partial.h"

#include <math.h>

#include "analysis/measure/metrics.h"
#include "base/bits.h"
#include "number/function/math.h"

/* The exponent of the power of two that a maximum's terms are divided by. Held away from double's
 * ends, so that the inverse is a normal double; squares of what is beyond neither overflow nor
 * vanish either. */
int ulp_metrics_scale(double maximum)
{
    const int exponent = (int)(ulp_double_bits(maximum) >> 52) - 1023;
    return maximum == 0 ? 0 : exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

double ulp_metrics_inverse(double maximum)
{
    return ulp_double_from((uint64_t)(1023 - ulp_metrics_scale(maximum)) << 52);
}

/* Equal non-finite values (the same infinity, or both NaN) agree; any other pair with a non-finite
 * side does not. */
static bool agree_not_finite(double value, double base)
{
    return (isnan(value) && isnan(base)) || (isinf(value) && value == base);
}

/* Patterns of doubles that are not negative order as they do. */
static void raise(double *maximum, int64_t bits)
{
    const double x = ulp_double_from((uint64_t)bits);
    if (x > *maximum)
        *maximum = x;
}

/* Sums scaled by old maxima become sums scaled by larger ones. Without an old maximum all terms are
 * 0. */
static double find_factor(double before, double now)
{
    return before > 0 ? ldexp(1, ulp_metrics_scale(before) - ulp_metrics_scale(now)) : 1;
}

static void rescale(struct ulp_metrics_running *running, double value, double base,
                    double difference)
{
    const double by[5] = {difference, difference * difference, base * base, value * value,
                          value * base};
    for (int s = 0; s < 5; s++)
        for (int l = 0; l < 8; l++)
            running->lanes[s][l] *= by[s];
}

static void sum(struct ulp_partial *p, struct ulp_partial_desk *desk,
                const struct ulp_partial_rule *rule, double *value, double *base,
                double *difference, size_t count)
{
    const struct ulp_metrics_scales by = {ulp_metrics_inverse(p->max_value),
                                          ulp_metrics_inverse(p->max_base),
                                          ulp_metrics_inverse(p->max_abs)};
    rule->code->sum(&desk->running, value, base, difference, count, &by);
    p->count += count;
}

/* Those that are finite, in eights, so that the order of sums depends on no strip's end. */
static void sum_finite(struct ulp_partial *p, struct ulp_partial_desk *desk,
                       const struct ulp_partial_rule *rule, const struct ulp_partial_strip *strip)
{
    size_t count = desk->waiting;
    for (size_t i = 0; i < strip->count; i++)
        if (isfinite(strip->value[i]) && isfinite(strip->base[i]) &&
            isfinite(strip->difference[i])) {
            desk->value[count] = strip->value[i];
            desk->base[count] = strip->base[i];
            desk->difference[count++] = strip->difference[i];
        }
    const size_t whole = count / 8 * 8;
    sum(p, desk, rule, desk->value, desk->base, desk->difference, whole);
    desk->waiting = count - whole;
    for (size_t i = 0; i < desk->waiting; i++) {
        desk->value[i] = desk->value[whole + i];
        desk->base[i] = desk->base[whole + i];
        desk->difference[i] = desk->difference[whole + i];
    }
}

/* The largest, and the ulps; whether all is finite. */
static bool look_at_strip(struct ulp_partial *p, const struct ulp_partial_rule *rule,
                          const struct ulp_partial_strip *strip)
{
    struct ulp_metrics_summary summary;
    double *ulps = strip->ulps;
    const double before = p->max_abs;
    const size_t count = strip->count;
    rule->code->compare(&summary, ulps, strip->value, strip->base, strip->difference, count,
                        rule->format->emin, rule->format->precision, rule->units, p->max_rel);
    raise(&p->max_abs, summary.max_abs);
    raise(&p->max_value, summary.max_value);
    raise(&p->max_base, summary.max_base);
    raise(&p->max_rel, summary.max_rel);
    if (rule->units || rule->integers)
        raise(&p->max_ulp, summary.max_ulp);
    else /* ulps that, or whose inverses, are no normal doubles; 0 of them stay 0 */
        for (size_t i = 0; i < count; i++)
            if (ulps[i] > 0) {
                ulps[i] /= ulp_format_ulp(rule->format, strip->base[i]);
                p->max_ulp = ulp_math_max(p->max_ulp, ulps[i]);
            }
    for (size_t i = 0; i < count && p->max_abs > before; i++)
        if (ulps[i] >= 0 && fabs(strip->difference[i]) == p->max_abs) {
            p->worst = strip->first + i;
            break;
        }
    p->integer_differs |= rule->integers && summary.max_abs != 0;
    return (size_t)summary.finite == count;
}

void ulp_partial_begin(struct ulp_partial *partial, struct ulp_partial_desk *desk, size_t first)
{
    *partial = (struct ulp_partial){.first_nonfinite = SIZE_MAX, .worst = first};
    desk->running = (struct ulp_metrics_running){0};
    desk->waiting = 0;
}

void ulp_partial_add(struct ulp_partial *p, struct ulp_partial_desk *desk,
                     const struct ulp_partial_rule *rule, const struct ulp_partial_strip *strip)
{
    const double before[] = {p->max_value, p->max_base, p->max_abs};
    const bool all_finite = look_at_strip(p, rule, strip);
    if (p->max_value > before[0] || p->max_base > before[1] || p->max_abs > before[2])
        rescale(&desk->running, find_factor(before[0], p->max_value),
                find_factor(before[1], p->max_base), find_factor(before[2], p->max_abs));
    if (all_finite && !desk->waiting) {
        sum(p, desk, rule, strip->value, strip->base, strip->difference, strip->count);
        return;
    }
    for (size_t i = 0; i < strip->count && !all_finite; i++)
        if (strip->ulps[i] == -1 && !agree_not_finite(strip->value[i], strip->base[i])) {
            const size_t at = strip->first + i;
            p->nonfinite++;
            p->first_nonfinite = at < p->first_nonfinite ? at : p->first_nonfinite;
        }
    sum_finite(p, desk, rule, strip);
}

void ulp_partial_end(struct ulp_partial *p, struct ulp_partial_desk *desk,
                     const struct ulp_partial_rule *rule)
{
    if (desk->waiting)
        sum(p, desk, rule, desk->value, desk->base, desk->difference, desk->waiting);
    p->sums = ulp_metrics_add_up(&desk->running);
}

/* The rounding of its sums must not carry a cosine beyond 1; NaN stays. */
static double clamp(double cosine)
{
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

/* log10(2), rounded once. */
#define LOG10_2 0.30102999566398119521

void ulp_partial_combine(const struct ulp_partial *partials, size_t partial_count, size_t count,
                         struct ulp_metrics *out)
{
    struct ulp_partial all = {.first_nonfinite = SIZE_MAX};
    for (size_t c = 0; c < partial_count; c++) {
        const struct ulp_partial *p = &partials[c];
        if (p->max_abs > all.max_abs) {
            all.max_abs = p->max_abs;
            all.worst = p->worst;
        }
        all.max_rel = ulp_math_max(all.max_rel, p->max_rel);
        all.max_ulp = ulp_math_max(all.max_ulp, p->max_ulp);
        all.max_value = ulp_math_max(all.max_value, p->max_value);
        all.max_base = ulp_math_max(all.max_base, p->max_base);
        all.count += p->count;
        all.nonfinite += p->nonfinite;
        all.first_nonfinite =
            p->first_nonfinite < all.first_nonfinite ? p->first_nonfinite : all.first_nonfinite;
        all.integer_differs |= p->integer_differs;
    }
    const int abs_scale = ulp_metrics_scale(all.max_abs),
              base_scale = ulp_metrics_scale(all.max_base),
              value_scale = ulp_metrics_scale(all.max_value);
    struct ulp_metrics_sums sums = {0};
    for (size_t c = 0; c < partial_count; c++) {
        const struct ulp_partial *p = &partials[c];
        const double d = ldexp(1, ulp_metrics_scale(p->max_abs) - abs_scale),
                     b = ldexp(1, ulp_metrics_scale(p->max_base) - base_scale);
        const double v = ldexp(1, ulp_metrics_scale(p->max_value) - value_scale);
        sums.d += p->sums.d * d;
        sums.d2 += p->sums.d2 * d * d;
        sums.b2 += p->sums.b2 * b * b;
        sums.v2 += p->sums.v2 * v * v;
        sums.vb += p->sums.vb * v * b;
    }
    const double n = (double)all.count, rms = ldexp(sqrt(sums.d2) / sqrt(n), abs_scale);
    int exponent; /* of norms' quotient, which may lie beyond double */
    const double quotient = sums.d2 > 0 ? frexp(sqrt(sums.b2) / sqrt(sums.d2), &exponent) : 0;
    *out = (struct ulp_metrics){
        .max_abs = all.max_abs,
        .rms = ulp_math_min(rms, all.max_abs) /* but for roundings it is */,
        .mean = ldexp(sums.d / n, abs_scale),
        .max_rel = all.max_rel,
        .max_ulp = all.max_ulp,
        .cosine = clamp(sums.vb / (sqrt(sums.v2) * sqrt(sums.b2))),
        .sqnr_db = sums.d2 > 0 ? 20 * (ulp_math_log10(quotient) +
                                       (exponent + base_scale - abs_scale) * LOG10_2)
                               : INFINITY,
        .nonfinite = all.nonfinite,
        .unmeasured = count - all.count - all.nonfinite,
        .worst_index = all.nonfinite ? all.first_nonfinite : all.worst,
        .count = all.count,
        .diverged = all.integer_differs,
        .value_norm = ldexp(sqrt(sums.v2), value_scale),
        .base_norm = ldexp(sqrt(sums.b2), base_scale),
    };
    if (all.count == 0)
        out->max_abs = out->rms = out->mean = out->max_rel = out->max_ulp = out->cosine =
            out->sqnr_db = NAN;
}
