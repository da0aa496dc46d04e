/* The error against the number of bits. */
#include <math.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "number/function/math.h"

/* Tolerances from 2^FIRST to 2^LAST times the one that was asked for. */
enum { FIRST = -3, LAST = 5, ROUNDS = 3 };
/* Every single step is tried while the work is below so many whole runs of all samples. */
#define FRONTIER_WORK 900

static double find_uniform(const struct ulp_bits *out, double allowed)
{
    double least = NAN;
    for (size_t u = 0; u < out->uniform_count; u++)
        if (out->uniforms[u].ratio <= allowed && !(out->uniforms[u].bits >= least))
            least = out->uniforms[u].bits;
    return least;
}

static void add_point(const struct ulp_bits_search *search, struct ulp_bits *out, double allowed)
{
    const struct ulp_bits_seen *best = NULL;
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct ulp_bits_seen *seen = &search->seen[i];
        if (seen->ratio <= allowed && (!best || seen->cost < best->cost ||
                                       (seen->cost == best->cost && seen->ratio < best->ratio)))
            best = seen;
    }
    if (!best)
        return;
    out->frontier[out->point_count++] =
        (struct ulp_bits_point){.allowed = allowed,
                                .ratio = best->ratio,
                                .bits = best->cost / search->total_weight,
                                .mantissa = best->mantissa,
                                .uniform_bits = find_uniform(out, allowed)};
}

/* Every layer with so many mantissa bits more; where there are none, as it is. Of a list: the next
 * format. */
static void shift(const struct ulp_bits_search *search, int steps, ulp_bits_of *of)
{
    for (size_t l = 0; l < search->layer_count; l++)
        for (size_t c = 0; c < search->choice_count && search->grid; c++)
            if (search->choices[c].exponent == search->choices[of[l]].exponent &&
                search->choices[c].mantissa == search->choices[of[l]].mantissa + steps &&
                search->layers[l].bits[c]) {
                of[l] = (ulp_bits_of)c;
                break;
            }
}

/* What the neighbour's allocation becomes for another tolerance: `from` with its ratio, and the one
 * that the search goes on from. */
struct point {
    ulp_bits_of *from, *work;
    double ratio;
    struct ulp_bits_found found;
};

/* A wider tolerance: every layer that can has one bit less. */
static enum ulp_status loosen(struct ulp_bits_search *search, struct point *point,
                              struct ulp_error *error)
{
    const size_t bytes = search->layer_count * sizeof *point->from;
    memcpy(point->found.of, point->from, bytes);
    point->found.given = true;
    point->found.ratio = point->ratio;
    memcpy(point->work, point->from, bytes);
    shift(search, -1, point->work);
    return ulp_bits_merge(search, point->work, point->found.of, &point->found.ratio, error);
}

/* A tighter one: all have more bits, then those as before that can. */
static enum ulp_status tighten(struct ulp_bits_search *search, struct point *point,
                               struct ulp_error *error)
{
    enum { MORE_MAX = 4 };
    enum ulp_status status = ULP_OK;
    struct ulp_bits_found *found = &point->found;
    found->given = false;
    memcpy(point->work, point->from, search->layer_count * sizeof *point->from);
    for (int i = 0; i < MORE_MAX && !found->given && status == ULP_OK && !search->over; i++) {
        double ratio;
        shift(search, 1, point->work);
        status = ulp_bits_emulate(search, point->work, &ratio, error);
        if (status == ULP_OK)
            ulp_bits_offer(search, found, point->work, ratio);
    }
    return status == ULP_OK && found->given
               ? ulp_bits_merge(search, point->from, found->of, &found->ratio, error)
               : status;
}

static enum ulp_status run_point(struct ulp_bits_search *search, bool wider, struct point *point,
                                 struct ulp_error *error)
{
    struct ulp_bits_found *found = &point->found;
    enum ulp_status status = wider && point->ratio <= search->allowed
                                 ? loosen(search, point, error)
                                 : tighten(search, point, error);
    found->cost = ulp_bits_cost(search, found->of);
    if (status == ULP_OK)
        status = ulp_bits_approach(search, ROUNDS, point->work, found, error);
    if (status == ULP_OK && found->given)
        status = ulp_bits_descend(search, found->of, &found->ratio,
                                  ulp_bits_work(search) > FRONTIER_WORK, error);
    if (found->given) {
        memcpy(point->from, found->of, search->layer_count * sizeof *found->of);
        point->ratio = found->ratio;
    }
    return status;
}

static enum ulp_status run_points(struct ulp_bits_search *search, int last, struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    const int direction = last > 0 ? 1 : -1;
    struct ulp_arena *memory = search->emulation.memory;
    struct point point = {.from = ulp_arena_take(memory, layers + 1, sizeof *point.from),
                          .work = ulp_arena_take(memory, layers + 1, sizeof *point.work),
                          .found.of = ulp_arena_take(memory, layers + 1, sizeof *point.found.of)};
    if (!point.from || !point.work || !point.found.of)
        return ulp_out_of_memory(error);
    ulp_bits_same(search, 0, point.from);
    point.ratio = search->full;
    if (search->given) {
        memcpy(point.from, search->best, layers * sizeof *point.from);
        point.ratio = search->best_ratio;
    }
    enum ulp_status status = ULP_OK;
    for (int i = direction; i != last + direction && status == ULP_OK && !search->over;
         i += direction) {
        search->allowed = ulp_math_exp2(i);
        status = run_point(search, direction > 0, &point, error);
    }
    return status;
}

enum ulp_status ulp_bits_frontier(struct ulp_bits_search *search, struct ulp_bits *out,
                                  struct ulp_error *error)
{
    enum ulp_status status = ulp_bits_more_uniforms(search, ulp_math_exp2(FIRST), out, error);
    if (status == ULP_OK)
        status = run_points(search, FIRST, error);
    return status == ULP_OK ? run_points(search, LAST, error) : status;
}

enum ulp_status ulp_bits_points(struct ulp_bits_search *search, struct ulp_bits *out,
                                struct ulp_error *error)
{
    out->frontier = ulp_arena_take(out->memory, LAST - FIRST + 1, sizeof *out->frontier);
    if (!out->frontier)
        return ulp_out_of_memory(error);
    for (int i = LAST; i >= FIRST; i--)
        add_point(search, out, ulp_math_exp2(i));
    return ULP_OK;
}
