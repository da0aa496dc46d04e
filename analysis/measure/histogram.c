/* See histogram.h. The exponent is a field of the double's pattern, so an element costs a shift and
 * an increment beside reading it. */
#include "analysis/measure/histogram.h"

#include <string.h>

#include "analysis/measure/difference.h"
#include "analysis/measure/metrics_strip.h"
#include "base/error.h"

/* Values of the exponent's field: 0 has zeros and doubles below 2^-1022, the last one infinities
 * and NaN. */
enum { FIELDS = 2048, NONFINITE = FIELDS - 1, BIAS = 1023 };

struct counting {
    const struct ulp_tensor *tensor;
    size_t fields[FIELDS], zeros;
};

/* Items are strips; parts of the sum are added at the end, by whole numbers. */
static enum ulp_status count_strips(void *context, size_t first, size_t last, int worker,
                                    struct ulp_error *error)
{
    (void)worker, (void)error;
    struct counting *c = context;
    size_t fields[FIELDS] = {0}, zeros = 0;
    for (size_t s = first; s < last; s++) {
        double strip[ULP_METRICS_STRIP];
        const size_t begin = s * ULP_METRICS_STRIP, left = c->tensor->count - begin;
        const size_t count = left < ULP_METRICS_STRIP ? left : ULP_METRICS_STRIP;
        ulp_side_read(strip, c->tensor, begin, count);
        for (size_t i = 0; i < count; i++) {
            uint64_t pattern;
            memcpy(&pattern, &strip[i], sizeof pattern);
            fields[pattern >> 52 & NONFINITE]++;
            zeros += strip[i] == 0;
        }
    }
    for (size_t f = 0; f < FIELDS; f++)
        if (fields[f])
            __atomic_fetch_add(&c->fields[f], fields[f], __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->zeros, zeros, __ATOMIC_RELAXED);
    return ULP_OK;
}

/* Counts of exponents [first, first + count), where those before stand in their places. */
static enum ulp_status widen(struct ulp_histogram *all, int first, int last,
                             struct ulp_arena *memory, struct ulp_error *error)
{
    if (all->count) {
        const int end = all->first + (int)all->count - 1;
        first = first < all->first ? first : all->first;
        last = last > end ? last : end;
    }
    const size_t count = (size_t)(last - first) + 1;
    if (count == all->count)
        return ULP_OK;
    size_t *counts = ulp_arena_take(memory, count, sizeof *counts); /* zeros */
    if (!counts)
        return ulp_fail_memory(error, "out of memory for a histogram");
    if (all->count)
        memcpy(counts + (all->first - first), all->counts, all->count * sizeof *counts);
    all->first = first;
    all->count = count;
    all->counts = counts;
    return ULP_OK;
}

enum ulp_status ulp_histogram_add(struct ulp_histogram *all, const struct ulp_tensor *tensor,
                                  struct ulp_arena *memory, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    struct counting c = {.tensor = tensor};
    const size_t strips = (tensor->count + ULP_METRICS_STRIP - 1) / ULP_METRICS_STRIP;
    int first = 0, last = NONFINITE - 1;
    /* some 2 ns an element; never fails */
    ulp_parallel_for(pool, strips, ulp_grain(2 * ULP_METRICS_STRIP), count_strips, &c, NULL);
    all->zeros += c.zeros;
    all->nonfinite += c.fields[NONFINITE];
    c.fields[0] -= c.zeros;
    while (first <= last && !c.fields[first])
        first++;
    while (last > first && !c.fields[last])
        last--;
    if (first > last)
        return ULP_OK;
    const enum ulp_status status = widen(all, first - BIAS, last - BIAS, memory, error);
    for (int f = first; f <= last && status == ULP_OK; f++)
        all->counts[f - BIAS - all->first] += c.fields[f];
    return status;
}

enum ulp_status ulp_histogram_join(struct ulp_histogram *all, const struct ulp_histogram *more,
                                   struct ulp_arena *memory, struct ulp_error *error)
{
    all->zeros += more->zeros;
    all->nonfinite += more->nonfinite;
    if (!more->count)
        return ULP_OK;
    const enum ulp_status status =
        widen(all, more->first, more->first + (int)more->count - 1, memory, error);
    for (size_t i = 0; i < more->count && status == ULP_OK; i++)
        all->counts[(size_t)(more->first - all->first) + i] += more->counts[i];
    return status;
}
