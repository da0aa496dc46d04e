/* The lower median of many numbers: near the median of a sample lie few of them, which vectors
 * gather; these are sorted out. Where it lies elsewhere, more are. */
#include "analysis/measure/median.h"

#include <math.h>
#include <stdint.h>

#include "analysis/measure/metrics_strip.h"
#include "base/bits.h"
#include "base/memory/alloc.h"

enum { SAMPLE_PART = 16, SAMPLE_LEAST = 32, SAMPLE_MOST = 1024, CHUNK = 1024 };
/* Of a sample of n numbers, those below the median are n / 2 with a deviation of sqrt(n) / 2 at
 * most: so many deviations to each side is what is gathered. */
#define AIM_DEVIATIONS 3

/* The k-th smallest of a[0 .. count), which is reordered (Hoare's selection). After each pass a[low
 * .. j] <= pivot <= a[j + 1 .. high] and low <= j < high. */
static double select_kth(double *a, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = a[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (a[i] < pivot)
                i++;
            while (pivot < a[j])
                j--;
            if (i >= j)
                break;
            double swap = a[i];
            a[i++] = a[j];
            a[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return a[k];
}

/* Patterns of numbers >= 0, which are ordered as the numbers: [least, beyond). */
struct range {
    int64_t least, beyond;
};

/* Around the median of a sample. */
static struct range aim(const double *values, size_t count)
{
    struct range range = {0, INT64_MAX};
    double sample[SAMPLE_MOST];
    const size_t most = ulp_size_min(count / SAMPLE_PART, SAMPLE_MOST);
    size_t taken = 0;
    for (size_t i = 0; i < most && most >= SAMPLE_LEAST; i++) {
        const double value = values[count / most * i];
        if (value >= 0)
            sample[taken++] = value;
    }
    if (taken < SAMPLE_LEAST)
        return range;
    const size_t middle = taken / 2, away = (size_t)(AIM_DEVIATIONS * sqrt((double)taken) / 2);
    range.least =
        (int64_t)ulp_double_bits(select_kth(sample, taken, middle - ulp_size_min(middle, away)));
    range.beyond = 1 + (int64_t)ulp_double_bits(
                           select_kth(sample, taken, ulp_size_min(middle + away, taken - 1)));
    return range;
}

/* How many lie in the range; *below, *negative: likewise. */
static size_t count_within(const double *values, size_t count, const struct range *range,
                           size_t *below, size_t *negative)
{
    double ignored[CHUNK];
    size_t within = 0;
    for (size_t i = 0; i < count; i += CHUNK)
        within +=
            ulp_metrics_code_find()->gather(ignored, values + i, ulp_size_min(count - i, CHUNK),
                                            range->least, range->beyond, below, negative);
    return within;
}

double ulp_median_find(double *values, size_t count)
{
    struct range range = aim(values, count);
    size_t below = 0, negative = 0, passed[2] = {0};
    size_t within = count_within(values, count, &range, &below, &negative);
    if (negative == count)
        return NAN;
    const size_t rank = (count - negative - 1) / 2;
    if (rank < below) {
        range = (struct range){0, range.least};
        below = 0;
    } else if (rank >= below + within) {
        range = (struct range){range.beyond, INT64_MAX};
        below += within;
    }
    if (range.beyond == range.least + 1)
        return ulp_double_from((uint64_t)range.least);
    within = ulp_metrics_code_find()->gather(values, values, count, range.least, range.beyond,
                                             &passed[0], &passed[1]);
    return select_kth(values, within, rank - below);
}
