/* The course of a plan: layers leave the wider of two choices by the order of their links, until
 * none can, from several starts; or join those that have it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/search/hold/hold.h"
#include "base/error.h"

ULP_FREES(ulp_borders_free, struct ulp_border)

/* Starts with other estimates, and then the search from below, are made while the work is below so
 * many whole runs of all samples: some audits' time. */
#define STARTS_WORK 160
#define ADD_WORK 600
#define STARTS_MAX 12
/* A layer without which the error is so many times too large stays. */
#define NEEDED_RATIO 100
/* Sets of about equally many sizes, by the order in which layers would be released. */
#define FRONTIER_SETS 24

struct release {
    struct ulp_searcher *search;
    ulp_pick *wide, *narrow; /* all layers */
    size_t *order;
    struct ulp_search_way way;
    /* Of what no single layer can leave the cheapest; of equal ones that with fewer Casts, then
     * that with the smaller error. */
    struct settled {
        ulp_pick *of;
        double *without;
        size_t casts;
        double cost, ratio;
        bool given;
    } best;
};

static enum ulp_status open_release(struct release *release, struct ulp_searcher *search,
                                    struct ulp_error *error)
{
    struct ulp_arena *memory = search->emulation.memory;
    const size_t layers = search->layer_count + 1;
    struct settled *best = &release->best;
    struct ulp_search_way *way = &release->way;
    *release = (struct release){.search = search};
    ULP_TAKE(release->wide, memory, layers, error);
    ULP_TAKE(release->narrow, memory, layers, error);
    ULP_TAKE(release->order, memory, layers, error);
    ULP_TAKE(best->of, memory, layers, error);
    ULP_TAKE(best->without, memory, layers, error);
    *way = (struct ulp_search_way){.search = search,
                                   .target = release->narrow,
                                   .order = release->order};
    ULP_TAKE(way->of, memory, layers, error);
    ULP_TAKE(way->next, memory, layers, error);
    ULP_TAKE(way->without, memory, layers, error);
    ulp_search_same(search, 0, release->wide);
    ulp_search_same(search, (ulp_pick)search->narrow, release->narrow);
    return ULP_OK;
}

static void set_way(struct release *release, const ulp_pick *of, double ratio)
{
    const size_t layers = release->search->layer_count;
    memcpy(release->way.of, of, layers * sizeof *of);
    memcpy(release->way.next, of, layers * sizeof *of);
    release->way.ratio = ratio;
    release->way.failed = 0;
    for (size_t l = 0; l < layers; l++)
        release->way.without[l] = NAN;
}

static enum ulp_status find_order(struct release *release, size_t start, struct ulp_error *error)
{
    return ulp_search_order(release->search, release->way.of, start, release->order,
                            &release->way.count, error);
}

/* ---- from above ---- */

/* As many of the order's first layers at once as can go, by bisection. */
static enum ulp_status release_first(struct release *release, const ulp_pick *from,
                                     struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    struct ulp_search_way *way = &release->way;
    const size_t bytes = search->layer_count * sizeof *from;
    size_t low = 0, high = way->count + 1; /* so many can go, so many cannot */
    enum ulp_status status = ULP_OK;
    while (high - low > 1 && status == ULP_OK && !search->over) {
        const size_t middle = low + (high - low) / 2;
        double now;
        memcpy(way->next, from, bytes);
        ulp_search_take(way, 0, middle, false, way->next);
        status = ulp_search_attempt(search, way->next, &now, error);
        if (status != ULP_OK || now > search->allowed) {
            high = middle;
            continue;
        }
        low = middle;
        memcpy(way->of, way->next, bytes);
        way->ratio = now;
    }
    memcpy(way->next, way->of, bytes);
    return status;
}

/* An eighth of the order at once, then half of that and so on, then each layer, until none can go.
 */
static enum ulp_status release_each(struct release *release, struct ulp_error *error)
{
    struct ulp_search_way *way = &release->way;
    bool released = true;
    for (size_t group = (way->count + 7) / 8; (group > 1 || released) && !release->search->over;) {
        ULP_TRY(ulp_search_pass(way, group, error));
        released = way->moved || group > 1;
        group = group > 1 ? group / 2 : 1;
    }
    return ULP_OK;
}

static enum ulp_status count_casts(struct ulp_searcher *search, const ulp_pick *of, size_t *casts,
                                   struct ulp_error *error)
{
    ULP_SCOPED(ulp_borders_free_of) struct ulp_border *borders = NULL;
    ULP_TRY(ulp_search_keep(search, of, error));
    return ulp_program_borders(search->emulation.program, 1, &borders, casts, error);
}

static enum ulp_status settle(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    const struct ulp_search_way *way = &release->way;
    struct settled *best = &release->best;
    const double cost = ulp_search_cost(search, way->of);
    size_t casts = 0;
    if (search->over || (best->given && cost > best->cost))
        return ULP_OK;
    ULP_TRY(count_casts(search, way->of, &casts, error));
    if (best->given && cost == best->cost &&
        (casts > best->casts || (casts == best->casts && way->ratio >= best->ratio)))
        return ULP_OK;
    memcpy(best->of, way->of, search->layer_count * sizeof *best->of);
    memcpy(best->without, way->without, search->layer_count * sizeof *best->without);
    best->cost = cost;
    best->casts = casts;
    best->ratio = way->ratio;
    best->given = true;
    return ULP_OK;
}

/* From the way's allocation, which meets the tolerance. */
static enum ulp_status release_from(struct release *release, size_t start, const ulp_pick *from,
                                    struct ulp_error *error)
{
    ULP_TRY(find_order(release, start, error));
    ULP_TRY(release_first(release, from, error));
    ULP_TRY(find_order(release, start, error));
    ULP_TRY(release_each(release, error));
    return settle(release, error);
}

/* ---- from below ---- */

/* After the first round only so many that helped most are tried again. */
#define CANDIDATES 24

struct candidate {
    size_t layer;
    double ratio;
};

static int by_ratio(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->ratio < y->ratio   ? -1
           : x->ratio > y->ratio ? 1
                                 : (x->layer > y->layer) - (x->layer < y->layer);
}

/* Each candidate in addition to those that are wide; then they are in order. */
static enum ulp_status try_candidates(struct release *release, struct candidate *candidates,
                                      size_t count, struct ulp_error *error)
{
    struct ulp_search_way *way = &release->way;
    memcpy(way->next, way->of, release->search->layer_count * sizeof *way->of);
    for (size_t c = 0; c < count; c++) {
        way->next[candidates[c].layer] = 0;
        ULP_TRY(ulp_search_emulate(release->search, way->next, &candidates[c].ratio, error));
        way->next[candidates[c].layer] = (ulp_pick)release->search->narrow;
    }
    qsort(candidates, count, sizeof *candidates, by_ratio);
    return ULP_OK;
}

/* Without those that would cost as much as the best does. How many are left. */
static size_t leave_dear(const struct release *release, struct candidate *candidates, size_t count)
{
    const struct ulp_searcher *search = release->search;
    const double now = ulp_search_cost(search, release->way.of);
    size_t left = 0;
    for (size_t c = 0; c < count; c++) {
        const double *cost = search->layers[candidates[c].layer].cost;
        if (now + cost[0] - cost[search->narrow] < release->best.cost)
            candidates[left++] = candidates[c];
    }
    return left;
}

/* From a few layers on, those that help most are added while the cost stays below the best's. */
static enum ulp_status add_layers(struct release *release, bool *found, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    struct ulp_search_way *way = &release->way;
    struct candidate *candidates;
    size_t count = 0;
    ULP_TAKE(candidates, search->emulation.memory, search->layer_count + 1, error);
    for (size_t l = 0; l < search->layer_count; l++)
        if (way->of[l] == search->narrow)
            candidates[count++] = (struct candidate){.layer = l};
    *found = false;
    while (!*found && !search->over && (count = leave_dear(release, candidates, count)) > 0) {
        ULP_TRY(try_candidates(release, candidates, count, error));
        way->of[candidates[0].layer] = 0;
        way->ratio = candidates[0].ratio;
        *found = way->ratio <= 1;
        count = ulp_size_min(count, CANDIDATES + 1) - 1;
        memmove(candidates, candidates + 1, count * sizeof *candidates);
    }
    return ULP_OK;
}

/* From those layers without which nothing is finite, or little. */
static enum ulp_status search_from_below(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    const struct settled *best = &release->best;
    bool found = false;
    set_way(release, release->narrow, NAN);
    for (size_t l = 0; l < search->layer_count; l++)
        if (best->of[l] != search->narrow && !(best->without[l] <= NEEDED_RATIO))
            release->way.of[l] = 0;
    ULP_TRY(add_layers(release, &found, error));
    if (!found)
        return ULP_OK;
    ulp_pick *from;
    ULP_TAKE(from, search->emulation.memory, search->layer_count + 1, error);
    memcpy(from, release->way.of, search->layer_count * sizeof *from);
    return release_from(release, ULP_ESTIMATE_CONDITION, from, error);
}

/* ---- the course ---- */

static size_t count_wide(const struct ulp_searcher *search, const ulp_pick *of)
{
    size_t count = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        count += of[l] != search->narrow;
    return count;
}

static enum ulp_status run_starts(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    const struct settled *best = &release->best;
    const struct ulp_emulation *emulation = &search->emulation;
    /* each layer's addition, of which a run computes half */
    const double below = (double)search->layer_count / 2 * (double)emulation->problem_count /
                         (double)emulation->given.sample_count;
    for (size_t start = 0; start < STARTS_MAX && !search->over &&
                           (start == 0 || (ulp_search_work(search) < STARTS_WORK &&
                                           count_wide(search, best->of) > 1));
         start++) {
        set_way(release, release->wide, search->full);
        ULP_TRY(release_from(release, start, release->wide, error));
    }
    if (!search->over && count_wide(search, best->of) > 1 &&
        ulp_search_work(search) + below < ADD_WORK)
        ULP_TRY(search_from_below(release, error));
    if (!best->given)
        return ULP_OK;
    ulp_search_make_best(search, best->of, best->ratio);
    search->minimal = true;
    for (size_t l = 0; l < search->layer_count; l++) {
        const bool wide = best->of[l] != search->narrow;
        search->without[l] = wide ? best->without[l] : NAN;
        search->fewer[l] = wide && !isnan(best->without[l]) ? (ptrdiff_t)search->narrow : -1;
    }
    return ULP_OK;
}

static enum ulp_status run_sets(struct release *release, struct ulp_error *error)
{
    struct ulp_search_way *way = &release->way;
    set_way(release, release->wide, release->search->full);
    ULP_TRY(find_order(release, 0, error));
    for (size_t i = 1; i < FRONTIER_SETS; i++) {
        double ratio;
        memcpy(way->next, release->wide, release->search->layer_count * sizeof *way->next);
        ulp_search_take(way, 0, way->count * i / FRONTIER_SETS, false, way->next);
        ULP_TRY(ulp_search_emulate(release->search, way->next, &ratio, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_search_sets(struct ulp_searcher *search, struct ulp_error *error)
{
    struct release release;
    ULP_TRY(open_release(&release, search, error));
    return run_sets(&release, error);
}

/* Beyond the tolerance: of all layers the one without which the error is least goes, until no more
 * is paid than the budget. Far from meeting it, at first as many as the order says. */
static enum ulp_status keep_budget(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    struct ulp_search_way *way = &release->way;
    const double budget = search->options->budget + ulp_search_cost(search, release->narrow);
    set_way(release, search->best, search->best_ratio);
    if (!(search->best_ratio <= 1) && ulp_search_cost(search, way->of) > budget) {
        ULP_TRY(find_order(release, 0, error));
        for (size_t i = 0; i < way->count && ulp_search_cost(search, way->of) > budget; i++)
            ulp_search_take(way, i, i + 1, false, way->of);
        search->minimal = false;
        ULP_TRY(ulp_search_emulate(search, way->of, &way->ratio, error));
    }
    while (ulp_search_cost(search, way->of) > budget && !search->over) {
        size_t best = search->layer_count;
        double least = INFINITY, ratio;
        search->minimal = false;
        for (size_t l = 0; l < search->layer_count; l++) {
            if (search->layers[l].cost[search->narrow] >= search->layers[l].cost[way->of[l]])
                continue;
            memcpy(way->next, way->of, search->layer_count * sizeof *way->next);
            way->next[l] = (ulp_pick)search->narrow;
            ULP_TRY(ulp_search_emulate(search, way->next, &ratio, error));
            search->without[l] = ratio;
            search->fewer[l] = (ptrdiff_t)search->narrow;
            if (best == search->layer_count || ratio < least) {
                best = l;
                least = ratio;
            }
        }
        if (best == search->layer_count)
            break;
        way->of[best] = (ulp_pick)search->narrow;
        way->ratio = least;
        search->fewer[best] = -1;
        search->without[best] = NAN;
    }
    ulp_search_make_best(search, way->of, way->ratio);
    return ULP_OK;
}

static enum ulp_status release_all(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    if (search->full <= 1)
        ULP_TRY(run_starts(release, error));
    else
        ulp_search_make_best(search, release->wide, search->full);
    const double cost = search->best_cost;
    if (search->options->frontier && !search->over)
        ULP_TRY(run_sets(release, error));
    if (search->full <= 1 && search->best_cost < cost)
        ULP_TRY(ulp_search_finish(search, release->way.next, error)); /* a lucky set of these */
    return search->options->budget > 0 ? keep_budget(release, error) : ULP_OK;
}

static enum ulp_status run_narrow(struct release *release, struct ulp_error *error)
{
    struct ulp_searcher *search = release->search;
    double before;
    const enum ulp_status status =
        ulp_search_judge(search, release->narrow, search->judged, &before, error);
    if (!search->over) /* else what is known of it remains */
        search->before = before;
    return status;
}

enum ulp_status ulp_search_by_order(struct ulp_searcher *search, struct ulp_error *error)
{
    struct release release;
    bool follows = false;
    search->full = NAN;
    ULP_TRY(open_release(&release, search, error));
    ULP_TRY(run_narrow(&release, error));
    if (!(search->before <= 1)) {
        ULP_TRY(ulp_search_run_widest(search, release.way.next, &follows, error));
        if (follows)
            ULP_TRY(run_narrow(&release, error));
    }
    if (!(search->before <= 1))
        return release_all(&release, error);
    ulp_search_make_best(search, release.narrow, search->before);
    search->minimal = true;
    return ULP_OK;
}
