/* See histogram.h. */
#include "analysis/measure/histogram.h"

#include <string.h>

#include "base/error.h"

void ulp_exponents_count(struct ulp_exponents *counts, const double *x, size_t count)
{
    size_t zeros = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t pattern;
        memcpy(&pattern, &x[i], sizeof pattern);
        counts->fields[pattern >> 52 & ULP_EXPONENT_NONFINITE]++;
        zeros += x[i] == 0;
    }
    counts->zeros += zeros;
}

void ulp_exponents_join(struct ulp_exponents *all, const struct ulp_exponents *part)
{
    for (size_t f = 0; f < ULP_EXPONENT_FIELDS; f++)
        if (part->fields[f])
            __atomic_fetch_add(&all->fields[f], part->fields[f], __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->zeros, part->zeros, __ATOMIC_RELAXED);
}

/* Counts of exponents [first, last], where those before stand in their places. */
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
    ULP_TRY(ulp_taken(counts, error));
    if (all->count)
        memcpy(counts + (all->first - first), all->counts, all->count * sizeof *counts);
    all->first = first;
    all->count = count;
    all->counts = counts;
    return ULP_OK;
}

enum ulp_status ulp_histogram_add(struct ulp_histogram *all, const struct ulp_exponents *counts,
                                  struct ulp_arena *memory, struct ulp_error *error)
{
    const size_t tiny = counts->fields[0] - counts->zeros; /* not 0, and below 2^-1022 */
    int first = tiny ? 0 : 1, last = ULP_EXPONENT_NONFINITE - 1;
    all->zeros += counts->zeros;
    all->nonfinite += counts->fields[ULP_EXPONENT_NONFINITE];
    while (first <= last && first && !counts->fields[first])
        first++;
    while (last > first && !counts->fields[last])
        last--;
    if (first > last)
        return ULP_OK;
    ULP_TRY(widen(all, first - ULP_EXPONENT_BIAS, last - ULP_EXPONENT_BIAS, memory, error));
    for (int f = first; f <= last; f++)
        all->counts[f - ULP_EXPONENT_BIAS - all->first] += f ? counts->fields[f] : tiny;
    return ULP_OK;
}

enum ulp_status ulp_histogram_join(struct ulp_histogram *all, const struct ulp_histogram *more,
                                   struct ulp_arena *memory, struct ulp_error *error)
{
    all->zeros += more->zeros;
    all->nonfinite += more->nonfinite;
    if (!more->count)
        return ULP_OK;
    ULP_TRY(widen(all, more->first, more->first + (int)more->count - 1, memory, error));
    for (size_t i = 0; i < more->count; i++)
        all->counts[(size_t)(more->first - all->first) + i] += more->counts[i];
    return ULP_OK;
}
