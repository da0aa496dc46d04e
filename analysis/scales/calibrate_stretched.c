/* Ranges that few values stretch: what one sample has alone, and numbers far beyond all others, as
 * a mask's -65504, of which every other value's code suffers. */
#include <math.h>
#include <stdlib.h>

#include "analysis/scales/calibrate.h"
#include "base/error.h"

/* One sample's are named from 4 times the others' on, two bits of eight; numbers with nothing below
 * them for 64 times where they are a thousandth of all, or the same but for four bins' width. */
enum { SAMPLE_TIMES = 4, GAP_TIMES = 64, BINS_ALIKE = 4 };
#define PART_FEW 1e-3

/* The bin's values of both signs. */
static double count_bin(const struct ulp_seen *seen, size_t bin)
{
    return (double)ulp_bin_count(seen, ULP_HALVES, bin) +
           (double)ulp_bin_count(seen, ULP_HALVES, ULP_BINS + bin);
}

/* From the largest magnitude down to the first gap. */
static bool find_gap(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                     struct ulp_stretched *out)
{
    double all = 0, above = 0;
    size_t filled = 0;
    float last = 0;
    for (size_t b = 1; b < ULP_BINS; b++) /* zeros are no smaller values */
        all += count_bin(seen, b);
    for (size_t b = ULP_BINS; b-- > 1;) {
        const double count = count_bin(seen, b);
        const float size = ulp_bin_value(c, b);
        if (count == 0)
            continue;
        if (filled && last > GAP_TIMES * size) {
            out->rest = size;
            out->part = above / all;
            return above <= PART_FEW * all || filled <= BINS_ALIKE;
        }
        above += count;
        filled++;
        last = size;
    }
    return false;
}

static bool is_stretched(const struct ulp_calibrating *c, const struct ulp_seen *seen,
                         struct ulp_stretched *out)
{
    *out = (struct ulp_stretched){.largest = seen->most, .rest = seen->most, .part = NAN};
    if (!(seen->most > 0)) /* a range of nothing but zeros says nothing of other samples */
        return true;
    if (c->counts && find_gap(c, seen, out)) {
        out->sample = seen->others <= 2 * out->rest ? seen->most_sample : NULL;
        return true;
    }
    out->rest = seen->others;
    out->part = NAN;
    out->sample = seen->most_sample;
    return c->samples->count > 2 && seen->others > 0 && seen->most >= SAMPLE_TIMES * seen->others;
}

/* Numbers far out come first, by how far; then samples, whose values stretch range after range, in
 * the order of the graph. */
static int by_cause(const void *a, const void *b)
{
    const struct ulp_stretched *x = a, *y = b;
    const bool counted[2] = {isfinite(x->part), isfinite(y->part)};
    const double p = (double)x->largest / (double)x->rest, q = (double)y->largest / (double)y->rest;
    if (counted[0] != counted[1])
        return counted[0] ? -1 : 1;
    return counted[0] && p != q ? (p > q ? -1 : 1) : x->place < y->place ? -1 : x->place > y->place;
}

enum ulp_status ulp_calibrate_stretched(const struct ulp_calibrating *c, struct ulp_arena *memory,
                                        struct ulp_stretched_list *out, struct ulp_error *error)
{
    out->count = 0;
    ULP_TAKE(out->items, memory, c->count + 1, error);
    for (size_t i = 0; i < c->count; i++) {
        struct ulp_stretched *item = &out->items[out->count];
        if (!is_stretched(c, c->items[i], item))
            continue;
        item->node = ulp_arena_copy(memory, c->items[i]->node);
        item->factor = c->items[i]->factor;
        item->place = i;
        ULP_TRY(ulp_taken(item->node, error));
        out->count++;
    }
    qsort(out->items, out->count, sizeof *out->items, by_cause);
    return ULP_OK;
}
