/* The lower median of many numbers: which bin of a histogram holds it, then its place in that bin.
 */
#include "analysis/measure/median.h"
#include "analysis/measure/metrics_strip.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/error.h"

#define CHUNK 4096
/* Beside a bin of zeros, for most elements often equal the reference's, for few elements there is
 * one bin more; else parts of a binade: of more elements smaller parts, so that what lies in one is
 * soon sorted out. */
#define FEW_COUNT ((size_t)1 << 8)
#define MANY_COUNT ((size_t)1 << 17)
#define QUARTER_BITS 2 /* of the significand */
#define FINE_BITS 5
/* The binades that have bins of their own, so that bins are few enough for the caches; bin 1 and
 * the last take the rest. */
#define BINADE_FIRST (-128)
#define BINADE_COUNT 192
/* What is kept of the numbers behind a sample: those between its quantiles, 1/2 less and plus this;
 * and room for more of them than the sample's share says. A median that lies elsewhere costs a
 * second pass. */
#define AIM_QUANTILE 0.1
#define AIM_ROOM 1.25

/* A chunk's values that lie in the median's bin: so many at the chunk's front, and the patterns of
 * their least and largest. */
struct median_part {
    size_t count;
    int64_t low, high;
};

static enum ulp_status allocate(double **out, size_t count, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    void *memory = NULL;
    const enum ulp_status status =
        ulp_allocate(&memory, count, sizeof(double), ulp_pool_scratch(pool), "measures", error);
    *out = memory;
    return status;
}

enum ulp_status ulp_median_create(struct ulp_median *out, size_t count, size_t expected,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    const int bits = count < MANY_COUNT ? QUARTER_BITS : FINE_BITS;
    *out = (struct ulp_median){
        .count = count,
        .worker_count = (size_t)ulp_pool_thread_count(pool),
        .bin_count = count < FEW_COUNT ? 2 : ((size_t)BINADE_COUNT << bits) + 1,
        .bin_first = ((int64_t)(BINADE_FIRST + DBL_MAX_EXP - 1) << bits) - 1,
        .bin_shift = DBL_MANT_DIG - 1 - bits,
        .least = 1,
        .beyond = INT64_MAX,
        .capacity = expected,
    };
    void *bins = NULL;
    ULP_TRY(allocate(&out->kept, out->capacity, pool, error));
    ULP_TRY(ulp_allocate_zero(&bins, out->worker_count * (out->bin_count + 1), sizeof(size_t),
                              ulp_pool_scratch(pool), "measures", error));
    out->bins = bins;
    return ULP_OK;
}

void ulp_median_free(struct ulp_median *median)
{
    ulp_free(median->kept);
    ulp_free(median->bins);
    *median = (struct ulp_median){0};
}

/* Of one worker: bin 0 counts those below what is kept, and one behind the others those above. */
static size_t *find_bins(const struct ulp_median *median, size_t worker)
{
    return median->bins + worker * (median->bin_count + 1);
}

size_t ulp_median_take(struct ulp_median *median, double *chosen, const double *values,
                       size_t count, int worker)
{
    /* Without a pool of its own the caller may be any worker of another. */
    size_t *bins = find_bins(median, (size_t)worker % median->worker_count), below = 0,
           negative = 0;
    const size_t found = ulp_metrics_code_find()->gather(chosen, values, count, median->least,
                                                         median->beyond, &below, &negative);
    bins[0] += below;
    bins[median->bin_count] += count - found - below - negative;
    return found;
}

void ulp_median_keep(struct ulp_median *median, const double *chosen, size_t count, int worker)
{
    size_t *bins = find_bins(median, (size_t)worker % median->worker_count);
    const struct ulp_metrics_code *code = ulp_metrics_code_find();
    int32_t strip[ULP_METRICS_STRIP];
    for (size_t i = 0, part; i < count; i += part) {
        part = ulp_size_min(count - i, ULP_METRICS_STRIP);
        code->bins(strip, chosen + i, part, median->bin_shift, median->bin_first,
                   (int64_t)median->bin_count - 1);
        for (size_t j = 0; j < part; j++)
            bins[strip[j]]++;
    }
    const size_t at = atomic_fetch_add(&median->kept_count, count);
    if (at < median->capacity)
        memcpy(median->kept + at, chosen,
               ulp_size_min(count, median->capacity - at) * sizeof *chosen);
}

/* All workers' counts into the first's; of all bins together. */
static size_t join_bins(struct ulp_median *median)
{
    size_t *all = median->bins, count = 0;
    for (size_t w = 1; w < median->worker_count; w++) {
        size_t *bins = find_bins(median, w);
        for (size_t bin = 0; bin <= median->bin_count; bin++) {
            all[bin] += bins[bin];
            bins[bin] = 0;
        }
    }
    for (size_t bin = 0; bin <= median->bin_count; bin++)
        count += all[bin];
    return count;
}

/* The bin of the number that so many lie before, fewer than there are; *rank: of them, in it. */
static size_t find_bin(const struct ulp_median *median, size_t before, size_t *rank)
{
    size_t bin = 0;
    for (; median->bins[bin] <= before; bin++)
        before -= median->bins[bin];
    *rank = before;
    return bin;
}

/* The least pattern that lies in a bin of numbers that may be kept, or, of the bin behind the last,
 * beyond all that do. */
static int64_t first_pattern(const struct ulp_median *median, size_t bin)
{
    return bin <= 1 ? 1
           : bin == median->bin_count
               ? INT64_MAX
               : (median->bin_first + (int64_t)bin) * ((int64_t)1 << median->bin_shift);
}

enum ulp_status ulp_median_aim(struct ulp_median *median, struct ulp_pool *pool,
                               struct ulp_error *error)
{
    const size_t seen = join_bins(median), kept_before = median->kept_count;
    const double last = seen ? (double)(seen - 1) : 0;
    double *const sample = median->kept;
    size_t *bins = median->bins, low = 1, high = 0, within = 0, rank, passed[2] = {0};
    if (seen) {
        low = find_bin(median, (size_t)(last * (0.5 - AIM_QUANTILE)), &rank);
        high = find_bin(median, (size_t)(last * (0.5 + AIM_QUANTILE)), &rank);
        low = low ? low : 1;
    }
    for (size_t bin = 1; bin < median->bin_count; bin++)
        if (bin >= low && bin <= high) {
            within += bins[bin];
        } else {
            bins[bin < low ? 0 : median->bin_count] += bins[bin];
            bins[bin] = 0;
        }
    median->least = first_pattern(median, low);
    median->beyond = first_pattern(median, high + 1);
    const double room = (double)within / (last + 1) * AIM_ROOM * (double)median->count;
    median->capacity = ulp_size_min(median->count, (size_t)room + within);
    const enum ulp_status status = allocate(&median->kept, median->capacity, pool, error);
    if (status == ULP_OK) {
        median->kept_count =
            ulp_metrics_code_find()->gather(sample, sample, kept_before, median->least,
                                            median->beyond, &passed[0], &passed[1]);
        memcpy(median->kept, sample, median->kept_count * sizeof *sample);
    }
    ulp_free(sample);
    return status;
}

bool ulp_median_settle(struct ulp_median *median)
{
    const size_t count = join_bins(median);
    median->bin = median->bin_count;
    if (!count)
        return true;
    median->bin = find_bin(median, (count - 1) / 2, &median->rank);
    return median->bin == 0
               ? median->least == 1
               : median->bin < median->bin_count && median->kept_count <= median->capacity;
}

enum ulp_status ulp_median_again(struct ulp_median *median, struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    const size_t kept = median->kept_count;
    if (median->bin == 0)
        median->beyond = median->least, median->least = 1;
    else if (median->bin == median->bin_count)
        median->least = median->beyond, median->beyond = INT64_MAX;
    median->capacity =
        median->bin == 0 || median->bin == median->bin_count ? median->bins[median->bin] : kept;
    median->kept_count = 0;
    memset(median->bins, 0, (median->bin_count + 1) * sizeof *median->bins);
    ulp_free(median->kept);
    return allocate(&median->kept, median->capacity, pool, error);
}

struct gathering {
    struct ulp_median *median;
    struct median_part *parts;
};

ULP_WORK(gather_chunks)
{
    const struct gathering *g = context;
    const struct ulp_median *median = g->median;
    const struct ulp_metrics_code *code = ulp_metrics_code_find();
    /* Patterns of numbers >= 0 are ordered as the numbers; those of negative ones are below. */
    const int64_t least = first_pattern(median, median->bin),
                  beyond = first_pattern(median, median->bin + 1);
    for (size_t chunk = first; chunk < last; chunk++) {
        double *values = median->kept + chunk * CHUNK;
        struct median_part *part = &g->parts[chunk];
        size_t passed[2] = {0};
        part->count =
            code->gather(values, values, ulp_size_min(median->kept_count - chunk * CHUNK, CHUNK),
                         least, beyond, &passed[0], &passed[1]);
        part->low = INT64_MAX;
        part->high = 0;
        for (size_t i = 0; i < part->count; i++) {
            const int64_t bits = (int64_t)ulp_double_bits(values[i]);
            part->low = bits < part->low ? bits : part->low;
            part->high = bits > part->high ? bits : part->high;
        }
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

/* Of the numbers in the median's bin. */
static enum ulp_status find_in_bin(struct ulp_median *median, struct ulp_pool *pool, double *out,
                                   struct ulp_error *error)
{
    const size_t chunk_count = ulp_size_divide_up(median->kept_count, CHUNK);
    struct gathering g = {.median = median};
    size_t found = 0;
    int64_t low = INT64_MAX, high = 0;
    ULP_SCOPED(ulp_free_of) void *parts = NULL;
    ULP_TRY(ulp_allocate(&parts, chunk_count, sizeof(struct median_part), ulp_pool_scratch(pool),
                         "measures", error));
    g.parts = parts;
    ULP_TRY(ulp_parallel_for(pool, chunk_count, 1, gather_chunks, &g, error));
    for (size_t chunk = 0; chunk < chunk_count; chunk++) {
        const struct median_part *part = &g.parts[chunk];
        low = part->low < low ? part->low : low;
        high = part->high > high ? part->high : high;
        memmove(median->kept + found, median->kept + chunk * CHUNK,
                part->count * sizeof *median->kept);
        found += part->count;
    }
    *out = low == high ? ulp_double_from((uint64_t)low)
                       : select_kth(median->kept, found, median->rank);
    return ULP_OK;
}

enum ulp_status ulp_median_find(struct ulp_median *median, struct ulp_pool *pool, double *out,
                                struct ulp_error *error)
{
    *out = median->bin == median->bin_count ? NAN : 0;
    return median->bin == median->bin_count || median->bin == 0
               ? ULP_OK
               : find_in_bin(median, pool, out, error);
}
