/* Parts of tensors that say more than all of it: behind a choice of rows (TopK, NonMaxSuppression,
 * a comparison) how far rows are from those of the reference that they match; of products the
 * errors of small elements. */
#include <math.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "analysis/measure/difference.h"
#include "analysis/measure/row_match.h"
#include "analysis/measure/quantile.h"
#include "base/error.h"
#include "number/function/math.h"

/* Products of a distance that is looked for; of more rows every n-th is. */
#define PRODUCTS_MAX 2e8

size_t ulp_matched_width(const struct ulp_compared_tensor *tensor)
{
    size_t long_axes = 0;
    for (int d = 0; d < tensor->rank; d++)
        long_axes += tensor->dims[d] != 1;
    return long_axes > 1 ? (size_t)tensor->dims[tensor->rank - 1] : 1;
}

double ulp_matched_resized(const struct ulp_comparing *comparing, size_t tensor,
                           const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    const size_t width = ulp_matched_width(&comparing->out->tensors[tensor]),
                 count = width ? value->count / width : 0,
                 base = width ? (truth ? truth->count : comparing->work[tensor].count) / width : 0;
    return (double)(count > base ? count - base : base - count);
}

/* Every step-th row. */
static enum ulp_status read_rows(const struct ulp_tensor *tensor, size_t width, size_t step,
                                 double **rows, size_t *count, struct ulp_budget *budget,
                                 struct ulp_error *error)
{
    *count = ulp_size_divide_up(tensor->count / width, step);
    ULP_TRY(ulp_allocate(rows, *count * width, sizeof **rows, budget, "rows", error));
    for (size_t r = 0; r < *count; r++)
        ulp_side_read(*rows + r * width, tensor, r * step * width, width);
    return ULP_OK;
}

enum ulp_status ulp_matched_distance(const struct ulp_comparing *comparing, size_t number,
                                     const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                     double *out, struct ulp_error *error)
{
    const struct ulp_compared_work *work = &comparing->work[number];
    const size_t width = ulp_matched_width(&comparing->out->tensors[number]),
                 base_count = truth ? truth->count : work->count;
    struct ulp_budget *const budget = ulp_comparing_budget(comparing);
    ULP_SCOPED(ulp_free_of) double *rows = NULL;
    ULP_SCOPED(ulp_free_of) double *base = NULL;
    size_t count, all;
    *out = INFINITY;
    if (!width || value->count % width || base_count % width)
        return ULP_OK;
    const double products = (double)(value->count / width) * (double)base_count;
    const bool sorted = work->integers || (width == 1 && value->count == base_count);
    const double step = sorted ? 1 : ceil(products / PRODUCTS_MAX);
    ULP_TRY(read_rows(value, width, step > 1 ? (size_t)step : 1, &rows, &count, budget, error));
    if (truth)
        ULP_TRY(read_rows(truth, width, 1, &base, &all, budget, error));
    if (work->integers) {
        if (!truth) {
            ULP_TRY(ulp_allocate(&base, base_count, sizeof *base, budget, "rows", error));
            memcpy(base, work->reference, base_count * sizeof *base);
        }
        *out = ulp_match_integers(rows, count, base, base_count);
        return ULP_OK;
    }
    return ulp_match_median(rows, count, truth ? base : work->reference, base_count / width, width,
                            budget, out, error);
}

double ulp_small_rms(const struct ulp_compared_work *work, const struct ulp_tensor *value,
                     const struct ulp_tensor *truth)
{
    double squares = 0, count = 0;
    for (size_t i = 0; i < work->count && work->small > 0; i++) {
        const double off =
            ulp_tensor_get(value, i) - (truth ? ulp_tensor_get(truth, i) : work->reference[i]);
        if (!(fabs(work->reference[i]) < work->small) || !isfinite(off))
            continue;
        squares += off * off;
        count++;
    }
    return count > 0 ? sqrt(squares / count) : 0;
}

double ulp_matched_expected(const struct ulp_row_distances *matched, double least)
{
    const double trials = matched->count ? sqrt(matched->squares / (double)matched->count) : 0;
    return ulp_math_max(least, ulp_math_max(matched->actual, trials));
}

void ulp_matched_add(struct ulp_row_distances *all, double distance)
{
    /* of 0 no logarithm is taken: it says nothing of how distances spread */
    const double log = distance > 0 && isfinite(distance) ? ulp_math_log(distance) : 0;
    all->squares += distance * distance;
    all->count++;
    all->logs += log;
    all->log_squares += log * log;
    all->log_count += log != 0;
}

/* Student's t of their logarithms; of too few, or where some are 0, a ratio of one direction. */
double ulp_matched_chance(const struct ulp_row_distances *matched, int draws, double probability)
{
    const double n = (double)matched->log_count, mean = n > 0 ? matched->logs / n : 0,
                 variance = n > 1 ? (matched->log_squares - n * mean * mean) / (n - 1) : 0;
    const double trials = (double)(matched->count ? matched->count : 1);
    double low = 0, high = 1e4;
    if (n < 3 || n < trials)
        return ulp_ratio_limit(1, draws == 2 ? 1 : trials, probability);
    for (int step = 0; step < 60; step++) {
        const double t = (low + high) / 2,
                     tail = ulp_incomplete_beta((n - 1) / 2, 0.5, (n - 1) / (n - 1 + t * t)) / 2;
        *(tail > probability ? &low : &high) = t;
    }
    return ulp_math_exp(high * sqrt(ulp_math_max(variance, 0) * (draws == 2 ? 2 : 1 + 1 / n)));
}
