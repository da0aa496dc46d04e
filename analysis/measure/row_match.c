/* Matching rows: by the nearest, numbers by their order. */
#include "analysis/measure/row_match.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/measure/quantile.h"
#include "base/memory/alloc.h"

void ulp_match_weigh(const double *base, size_t count, size_t stride, size_t width, bool spread,
                     double *out)
{
    const bool one = width > ULP_MATCH_COLUMNS;
    for (size_t c = 0; c < (one ? 1 : width); c++) {
        double mean = 0, squares = 0, finite = 0;
        for (size_t r = 0; r < count; r++)
            for (size_t k = one ? 0 : c; k < (one ? width : c + 1); k++) {
                const double x = base[r * stride + k], off = x - mean;
                if (!isfinite(x))
                    continue;
                finite++;
                mean += spread ? off / finite : 0;
                squares += off * (x - mean);
            }
        out[c] = squares > 0 ? finite / squares : 1;
    }
}

static void match_row(const double *row, const double *base, size_t base_count, size_t width,
                      const double *weights, struct ulp_match *out)
{
    double least = INFINITY;
    out->of = SIZE_MAX;
    for (size_t r = 0; r < base_count; r++) {
        double sum = 0;
        for (size_t c = 0; c < width && sum < least; c++) {
            const double off = row[c] - base[r * width + c];
            sum += weights[width > ULP_MATCH_COLUMNS ? 0 : c] * off * off;
        }
        if (sum < least) {
            least = sum;
            out->of = r;
        }
    }
    out->distance = sqrt(least / (double)width);
}

void ulp_match_rows(const double *rows, size_t count, const double *base, size_t base_count,
                    size_t width, struct ulp_match *out)
{
    double weights[ULP_MATCH_COLUMNS];
    ulp_match_weigh(base, base_count, width, width, true, weights);
    for (size_t r = 0; r < count; r++)
        match_row(rows + r * width, base, base_count, width, weights, &out[r]);
}

/* Distances of numbers in their order, into the first half of `sorted`, which has room for both
 * sides. False: some are NaN. */
static bool match_numbers(const double *numbers, const double *base, size_t count, double *sorted)
{
    double weight;
    ulp_match_weigh(base, count, 1, 1, true, &weight);
    weight = sqrt(weight);
    for (size_t i = 0; i < count; i++)
        if (isnan(numbers[i]) || isnan(base[i]))
            return false;
    memcpy(sorted, numbers, count * sizeof *sorted);
    memcpy(sorted + count, base, count * sizeof *sorted);
    ulp_numbers_sort(sorted, count);
    ulp_numbers_sort(sorted + count, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] =
            sorted[i] == sorted[count + i] ? 0 : weight * fabs(sorted[i] - sorted[count + i]);
    return true;
}

enum ulp_status ulp_match_median(const double *rows, size_t count, const double *base,
                                 size_t base_count, size_t width, struct ulp_budget *budget,
                                 double *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *matches = NULL;
    *out = count == base_count ? 0 : INFINITY;
    if (!count || !base_count)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&matches, count, sizeof(struct ulp_match), budget, "matched rows", error));
    double *distances = matches;
    if (width != 1 || count != base_count || !match_numbers(rows, base, count, distances)) {
        struct ulp_match *found = matches;
        ulp_match_rows(rows, count, base, base_count, width, found);
        for (size_t r = 0; r < count; r++) /* ahead of where the next one is read */
            distances[r] = found[r].distance;
    }
    ulp_numbers_sort(distances, count);
    *out = distances[count / 2];
    return ULP_OK;
}

double ulp_match_integers(double *values, size_t count, double *base, size_t base_count)
{
    const size_t most = count > base_count ? count : base_count;
    size_t common = 0;
    ulp_numbers_sort(values, count);
    ulp_numbers_sort(base, base_count);
    for (size_t i = 0, j = 0; i < count && j < base_count;) {
        common += values[i] == base[j];
        const bool ahead = values[i] >= base[j];
        i += values[i] <= base[j];
        j += ahead;
    }
    return most ? (double)(most - common) / (double)most : 0;
}
