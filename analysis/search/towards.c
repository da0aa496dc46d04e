/* From one allocation towards another, as far as the error allows. */
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"

static size_t layer_at(const struct ulp_search_way *way, size_t i)
{
    return way->order ? way->order[i] : i;
}

bool ulp_search_take(const struct ulp_search_way *way, size_t first, size_t last, bool dearer,
                     ulp_pick *of)
{
    bool any = false;
    for (size_t i = first; i < last && i < way->count; i++) {
        const size_t l = layer_at(way, i);
        const double *cost = way->search->layers[l].cost, now = cost[of[l]],
                     then = cost[way->target[l]];
        if (then == now || (then > now) != dearer)
            continue;
        of[l] = way->target[l];
        any = true;
    }
    return any;
}

/* way->of becomes way->next if that is allowed, else way->next what way->of is. */
static enum ulp_status settle(struct ulp_search_way *way, double *now, struct ulp_error *error)
{
    const size_t bytes = way->search->layer_count * sizeof *way->of;
    const enum ulp_status status = ulp_search_attempt(way->search, way->next, now, error);
    if (status != ULP_OK || !(*now <= way->search->allowed)) {
        memcpy(way->next, way->of, bytes);
        return status;
    }
    way->ratio = *now;
    way->moved = true;
    memcpy(way->of, way->next, bytes);
    return ULP_OK;
}

/* Layers that could still be given the target's choice. */
static size_t count_left(const struct ulp_search_way *way)
{
    size_t left = 0;
    for (size_t i = 0; i < way->count; i++) {
        const size_t l = layer_at(way, i);
        left +=
            way->search->layers[l].cost[way->target[l]] < way->search->layers[l].cost[way->of[l]];
    }
    return left;
}

enum ulp_status ulp_search_pass(struct ulp_search_way *way, size_t group, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    way->moved = false;
    for (size_t i = 0; i < way->count && status == ULP_OK && !way->search->over; i += group) {
        const bool single = group == 1 && way->without;
        double now;
        if (single && way->failed == count_left(way))
            break; /* each of them has failed alone since the last one was given it */
        if (!ulp_search_take(way, i, i + group, false, way->next))
            continue;
        status = settle(way, &now, error);
        if (status != ULP_OK || way->search->over)
            break;
        if (single)
            way->without[layer_at(way, i)] = now;
        way->failed = now <= way->search->allowed ? 0 : way->failed + (group == 1);
    }
    return status;
}

enum ulp_status ulp_search_merge(struct ulp_searcher *search, const ulp_pick *target, ulp_pick *of,
                                 double *ratio, struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    double now;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(search->emulation.given.model), error));
    struct ulp_search_way way = {.search = search,
                                 .target = target,
                                 .count = layers,
                                 .of = of,
                                 .next = ulp_arena_take(memory, layers + 1, sizeof *way.next),
                                 .ratio = *ratio};
    ULP_TRY(ulp_taken(way.next, error));
    memcpy(way.next, of, layers * sizeof *way.next);
    if (ulp_search_take(&way, 0, layers, true, way.next))
        ULP_TRY(settle(&way, &now, error));
    for (size_t group = layers; group > 0; group /= 2)
        ULP_TRY(ulp_search_pass(&way, group, error));
    *ratio = way.ratio;
    return ULP_OK;
}
