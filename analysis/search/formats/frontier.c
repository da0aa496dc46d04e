/* The error against the number of bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/search/formats/formats.h"
#include "base/error.h"
#include "number/function/math.h"

/* Tolerances from 2^FIRST to 2^LAST times the one that was asked for. */
enum { FIRST = -3, LAST = 5, ROUNDS = 3 };
/* Every single step is tried while the work is below so many whole runs of all samples. */
#define FRONTIER_WORK 900

static double find_uniform(const struct ulp_search *out, double allowed)
{
    double least = NAN;
    for (size_t u = 0; u < out->uniform_count; u++)
        if (out->uniforms[u].ratio <= allowed && !(out->uniforms[u].bits >= least))
            least = out->uniforms[u].bits;
    return least;
}

static void add_point(const struct ulp_searcher *search, struct ulp_search *out, double allowed)
{
    const struct ulp_search_seen *best = NULL;
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct ulp_search_seen *seen = &search->seen[i];
        if (seen->ratio <= allowed && (!best || seen->cost < best->cost ||
                                       (seen->cost == best->cost && seen->ratio < best->ratio)))
            best = seen;
    }
    if (!best)
        return;
    out->frontier[out->point_count++] =
        (struct ulp_search_point){.allowed = allowed,
                                  .ratio = best->ratio,
                                  .cost = best->cost,
                                  .bits = best->bits,
                                  .uniform_bits = find_uniform(out, allowed)};
}

/* What the neighbour's allocation becomes for another tolerance: `from` with its ratio, and the one
 * that the search goes on from. */
struct point {
    ulp_pick *from, *work;
    double ratio;
    struct ulp_search_found found;
};

/* From the neighbour's where that keeps to the tolerance. */
static enum ulp_status run_point(struct ulp_searcher *search, struct point *point,
                                 struct ulp_error *error)
{
    const size_t bytes = search->layer_count * sizeof *point->from;
    struct ulp_search_found *found = &point->found;
    found->given = false;
    ulp_search_offer(search, found, point->from, point->ratio);
    ULP_TRY(ulp_search_approach(search, ROUNDS, point->work, found, error));
    if (!found->given)
        return ULP_OK;
    ULP_TRY(ulp_search_descend(search, found->of, &found->ratio,
                               ulp_search_work(search) > FRONTIER_WORK, error));
    memcpy(point->from, found->of, bytes);
    point->ratio = found->ratio;
    return ULP_OK;
}

static enum ulp_status run_points(struct ulp_searcher *search, int last, struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    const int direction = last > 0 ? 1 : -1;
    struct ulp_arena *memory = search->emulation.memory;
    struct point point = {.ratio = search->full};
    ULP_TAKE(point.from, memory, layers + 1, error);
    ULP_TAKE(point.work, memory, layers + 1, error);
    ULP_TAKE(point.found.of, memory, layers + 1, error);
    ulp_search_same(search, 0, point.from);
    if (search->given) {
        memcpy(point.from, search->best, layers * sizeof *point.from);
        point.ratio = search->best_ratio;
    }
    for (int i = direction; i != last + direction && !search->over; i += direction) {
        search->allowed = ulp_math_exp2(i);
        ULP_TRY(run_point(search, &point, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_search_frontier(struct ulp_searcher *search, struct ulp_error *error)
{
    ULP_TRY(run_points(search, FIRST, error));
    return run_points(search, LAST, error);
}

/* ---- points ---- */

static int by_paid(const void *a, const void *b)
{
    const struct ulp_search_seen *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* Those that no cheaper one is as near as. */
static void add_undominated(const struct ulp_searcher *search, struct ulp_search *out)
{
    double least = INFINITY;
    qsort(search->seen, search->seen_count, sizeof *search->seen, by_paid);
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct ulp_search_seen *seen = &search->seen[i];
        if (!(seen->ratio < least) && out->point_count)
            continue;
        least = seen->ratio;
        out->frontier[out->point_count++] = (struct ulp_search_point){.allowed = least,
                                                                      .ratio = least,
                                                                      .cost = seen->cost,
                                                                      .bits = seen->bits,
                                                                      .uniform_bits = NAN};
    }
}

enum ulp_status ulp_search_points(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error)
{
    if (!search->options->frontier || !search->layer_count)
        return ULP_OK;
    const bool by_cost = search->options->by_node || search->limit < INFINITY;
    ULP_TAKE(out->frontier, out->memory, search->seen_count + LAST - FIRST + 1, error);
    if (by_cost)
        add_undominated(search, out);
    for (int i = LAST; i >= FIRST && !by_cost; i--)
        add_point(search, out, ulp_math_exp2(i));
    return ULP_OK;
}
