/* Joining the figures of several iterations of a Loop into one tensor's, and those of several
 * samples into means and worst cases. */
#include <math.h>

#include "analysis/measure/metrics.h"
#include "analysis/measure/figure.h"
#include "number/function/math.h"

/* sqrt(a^2 + b^2) where the squares might overflow. */
static double join_norms(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return most > 0 ? most * sqrt(1 + (least / most) * (least / most)) : most;
}

/* A share of a cosine between joined vectors. */
static double cosine_share(const struct ulp_metrics *part, double value_norm, double base_norm)
{
    return part->value_norm > 0 && part->base_norm > 0
               ? part->cosine * (part->value_norm / value_norm) * (part->base_norm / base_norm)
               : 0;
}

void ulp_metrics_join(struct ulp_metrics *all, const struct ulp_metrics *more)
{
    struct ulp_metrics joined = all->count ? *all : *more;
    double n = (double)all->count, m = (double)more->count;
    if (all->count && more->count) {
        double norm = join_norms(all->rms * sqrt(n), more->rms * sqrt(m));
        joined.value_norm = join_norms(all->value_norm, more->value_norm);
        joined.base_norm = join_norms(all->base_norm, more->base_norm);
        joined.max_abs = ulp_math_max(all->max_abs, more->max_abs);
        joined.max_rel = ulp_math_max(all->max_rel, more->max_rel);
        joined.max_ulp = ulp_math_max(all->max_ulp, more->max_ulp);
        joined.median_ulp = ulp_math_max(all->median_ulp, more->median_ulp);
        joined.rms = norm / sqrt(n + m);
        joined.mean = (all->mean * n + more->mean * m) / (n + m);
        double cosine = cosine_share(all, joined.value_norm, joined.base_norm) +
                        cosine_share(more, joined.value_norm, joined.base_norm);
        joined.cosine = !(joined.value_norm > 0 && joined.base_norm > 0) ? NAN
                        : cosine > 1                                     ? 1
                        : cosine < -1                                    ? -1
                                                                         : cosine;
        joined.sqnr_db = norm > 0 ? 20 * ulp_math_log10(joined.base_norm / norm) : INFINITY;
    }
    joined.count = all->count + more->count;
    joined.nonfinite = all->nonfinite + more->nonfinite;
    joined.unmeasured = all->unmeasured + more->unmeasured;
    joined.diverged = all->diverged || more->diverged;
    bool later = all->nonfinite    ? false
                 : more->nonfinite ? true
                                   : more->count && !(more->max_abs <= all->max_abs);
    joined.worst_index = later ? more->worst_index : all->worst_index;
    *all = joined;
}

double ulp_relative_rms(const struct ulp_metrics *metrics, const struct ulp_range *range)
{
    if (metrics->diverged || !(metrics->rms > 0))
        return 0;
    return range->ref_rms > 0 ? metrics->rms / range->ref_rms : INFINITY;
}

bool ulp_metrics_worse(const struct ulp_metrics *a, const struct ulp_metrics *b)
{
    if (a->diverged != b->diverged)
        return a->diverged;
    if (a->nonfinite != b->nonfinite)
        return a->nonfinite > b->nonfinite;
    if (!a->count != !b->count) /* where nothing is finite nothing is measured */
        return a->count > 0;
    return !(a->rms <= b->rms);
}

void ulp_metrics_merge_mean(struct ulp_metrics *mean, const struct ulp_metrics *sample,
                            size_t before)
{
    const double n = (double)before;
    for (int f = 0; f < ULP_FIGURE_COUNT; f++) {
        double *into = ulp_figure(mean, f), from = ulp_figure_get(sample, f);
        *into = before ? (*into * n + from) / (n + 1) : from;
    }
    mean->nonfinite = before ? mean->nonfinite + sample->nonfinite : sample->nonfinite;
    mean->count = before ? mean->count + sample->count : sample->count;
    mean->unmeasured = before ? mean->unmeasured + sample->unmeasured : sample->unmeasured;
    mean->diverged = (before && mean->diverged) || sample->diverged;
}

/* Of a tensor without elements, or without any that is finite in the reference. */
static bool has_figures(const struct ulp_metrics *metrics)
{
    return metrics->count || metrics->nonfinite || metrics->diverged;
}

void ulp_metrics_merge_limit(struct ulp_metrics *limit, const struct ulp_metrics *sample,
                             size_t before)
{
    const size_t unmeasured = before ? limit->unmeasured + sample->unmeasured : sample->unmeasured;
    const bool first = before == 0 || !has_figures(limit);
    if (first)
        *limit = *sample;
    limit->unmeasured = unmeasured;
    if (first || !has_figures(sample))
        return;
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        if (ulp_figure_worse(f, ulp_figure_get(sample, f), ulp_figure_get(limit, f)))
            *ulp_figure(limit, f) = ulp_figure_get(sample, f);
    limit->nonfinite = sample->nonfinite > limit->nonfinite ? sample->nonfinite : limit->nonfinite;
    limit->count += sample->count;
    limit->diverged |= sample->diverged;
}

void ulp_range_merge(struct ulp_range *range, const struct ulp_range *sample, size_t before,
                     const struct ulp_format *format)
{
    double n = (double)before;
    range->ref_rms =
        sqrt((range->ref_rms * range->ref_rms * n + sample->ref_rms * sample->ref_rms) / (n + 1));
    range->ref_max = ulp_math_max(range->ref_max, sample->ref_max);
    range->ref_min_nonzero = ulp_math_min(range->ref_min_nonzero, sample->ref_min_nonzero);
    range->headroom_bits = ulp_range_headroom(range->ref_max, format);
}
