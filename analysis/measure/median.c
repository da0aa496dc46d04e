/* The lower median of many numbers in two passes: which bin of a histogram holds it, then its
 * place in that bin. */
#include "analysis/measure/median.h"
#include "analysis/measure/metrics_strip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "number/function/math.h"

#define CHUNK 4096
/* A bin of zeros, for most elements often equal the reference's, and for few elements one bin more;
 * else parts of a binade: of more elements smaller parts, so that what lies in one is soon sorted
 * out. */
#define FEW_COUNT ((size_t)1 << 13)
#define MANY_COUNT ((size_t)1 << 17)
#define QUARTER_BITS 2 /* of the significand */
#define FINE_BITS 5
/* The binades that have bins of their own, so that bins are few enough for the caches; bin 1 and
 * the last take the rest. */
#define BINADE_FIRST (-128)
#define BINADE_COUNT 192

/* A chunk's values that lie in the median's bin: so many at the chunk's front, and their least and
 * largest. */
struct ulp_median_part {
    size_t count;
    double low, high;
};

static size_t count_chunks(const struct ulp_median *median)
{
    return (median->count + CHUNK - 1) / CHUNK;
}

enum ulp_status ulp_median_create(struct ulp_median *out, size_t count, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    const int bits = count < MANY_COUNT ? QUARTER_BITS : FINE_BITS;
    *out = (struct ulp_median){
        .count = count,
        .worker_count = (size_t)ulp_pool_thread_count(pool),
        .bin_count = count < FEW_COUNT ? 2 : ((size_t)BINADE_COUNT << bits) + 1,
        .bin_first = ((int64_t)(BINADE_FIRST + DBL_MAX_EXP - 1) << bits) - 1,
        .bin_shift = DBL_MANT_DIG - 1 - bits,
    };
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    void *values = NULL, *bins = NULL, *parts = NULL;
    enum ulp_status status =
        ulp_allocate(&values, count, sizeof(double), budget, "measures", error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&bins, out->worker_count * (out->bin_count + 1), sizeof(size_t),
                                   budget, "measures", error);
    if (status == ULP_OK)
        status = ulp_allocate(&parts, count_chunks(out), sizeof(struct ulp_median_part), budget,
                              "measures", error);
    out->values = values;
    out->bins = bins;
    out->parts = parts;
    return status;
}

void ulp_median_free(struct ulp_median *median)
{
    ulp_free(median->values);
    ulp_free(median->bins);
    ulp_free(median->parts);
    *median = (struct ulp_median){0};
}

void ulp_median_count(struct ulp_median *median, size_t first, size_t last, int worker)
{
    /* Without a pool of its own the caller may be any worker of another. */
    size_t *bins = median->bins + (size_t)worker % median->worker_count * (median->bin_count + 1);
    const struct ulp_metrics_code *code = ulp_metrics_code_find();
    int32_t strip[ULP_METRICS_STRIP];
    for (size_t i = first, count; i < last; i += count) {
        count = ulp_size_min(last - i, ULP_METRICS_STRIP);
        code->bins(strip, median->values + i, count, median->bin_shift, median->bin_first,
                   (int64_t)median->bin_count - 1);
        for (size_t j = 0; j < count; j++)
            bins[strip[j]]++;
    }
}

/* The least pattern that lies in a bin other than that of zeros, or, of the bin behind the last,
 * beyond all that do. */
static int64_t first_pattern(const struct ulp_median *median, size_t bin)
{
    return bin == 1 ? 1
           : bin == median->bin_count
               ? INT64_MAX
               : (median->bin_first + (int64_t)bin) * ((int64_t)1 << median->bin_shift);
}

static enum ulp_status gather_chunks(void *context, size_t first, size_t last, int worker,
                                     struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct ulp_median *median = context;
    const struct ulp_metrics_code *code = ulp_metrics_code_find();
    /* Patterns of numbers >= 0 are ordered as the numbers; those of negative ones are below. */
    const int64_t least = first_pattern(median, median->bin),
                  beyond = first_pattern(median, median->bin + 1);
    for (size_t chunk = first; chunk < last; chunk++) {
        const size_t begin = chunk * CHUNK,
                     end = median->count - begin < CHUNK ? median->count : begin + CHUNK;
        struct ulp_median_part *part = &median->parts[chunk];
        part->count = code->gather(median->values + begin, end - begin, least, beyond, &part->low,
                                   &part->high);
    }
    return ULP_OK;
}

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

enum ulp_status ulp_median_find(struct ulp_median *median, struct ulp_pool *pool, double *out,
                                struct ulp_error *error)
{
    size_t *bins = median->bins, kept = 0, below = 0, found = 0;
    for (size_t w = 1; w < median->worker_count; w++)
        for (size_t i = 0; i < median->bin_count; i++)
            bins[i] += bins[w * (median->bin_count + 1) + i];
    for (size_t i = 0; i < median->bin_count; i++)
        kept += bins[i];
    *out = kept ? 0 : NAN;
    const size_t middle = (kept - 1) / 2;
    if (bins[0] > middle || !kept)
        return ULP_OK;
    for (median->bin = 0; below + bins[median->bin] <= middle; median->bin++)
        below += bins[median->bin];
    enum ulp_status status =
        ulp_parallel_for(pool, count_chunks(median), 1, gather_chunks, median, error);
    if (status != ULP_OK)
        return status;
    double low = INFINITY, high = 0;
    for (size_t chunk = 0; chunk < count_chunks(median); chunk++) {
        low = ulp_math_min(low, median->parts[chunk].low);
        high = ulp_math_max(high, median->parts[chunk].high);
    }
    if (low == high) {
        *out = low;
        return ULP_OK;
    }
    for (size_t chunk = 0; chunk < count_chunks(median); chunk++) {
        memmove(median->values + found, median->values + chunk * CHUNK,
                median->parts[chunk].count * sizeof *median->values);
        found += median->parts[chunk].count;
    }
    *out = select_kth(median->values, found, middle - below);
    return ULP_OK;
}
