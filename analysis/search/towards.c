/* From one allocation towards another, as far as the error allows. */
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"

struct way {
    struct ulp_searcher *search;
    const ulp_pick *target;
    ulp_pick *of, *next; /* next: room for one, the same at first */
    double ratio;
};

/* The layers from first to last get the target's choice in `next`; dearer: where that costs more,
 * else where it costs less. False: there are none. */
static bool take(const struct way *way, size_t first, size_t last, bool dearer)
{
    bool any = false;
    for (size_t l = first; l < last && l < way->search->layer_count; l++) {
        const double *cost = way->search->layers[l].cost, now = cost[way->next[l]],
                     then = cost[way->target[l]];
        if (then == now || (then > now) != dearer)
            continue;
        way->next[l] = way->target[l];
        any = true;
    }
    return any;
}

/* way->of becomes way->next if that meets the tolerance, else way->next what way->of is. */
static enum ulp_status settle(struct way *way, struct ulp_error *error)
{
    const size_t bytes = way->search->layer_count * sizeof *way->of;
    double now;
    const enum ulp_status status = ulp_search_try(way->search, way->next, &now, error);
    if (status != ULP_OK || !(now <= 1)) {
        memcpy(way->next, way->of, bytes);
        return status;
    }
    way->ratio = now;
    memcpy(way->of, way->next, bytes);
    return ULP_OK;
}

enum ulp_status ulp_search_merge(struct ulp_searcher *search, const ulp_pick *target, ulp_pick *of,
                                 double *ratio, struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(search->emulation.given.model), error));
    struct way way = {.search = search,
                      .target = target,
                      .of = of,
                      .next = ulp_arena_take(memory, layers + 1, sizeof *way.next),
                      .ratio = *ratio};
    ULP_TRY(ulp_taken(way.next, error));
    memcpy(way.next, of, layers * sizeof *way.next);
    if (take(&way, 0, layers, true))
        ULP_TRY(settle(&way, error));
    for (size_t group = layers; group > 0; group /= 2)
        for (size_t first = 0; first < layers && !search->over; first += group)
            if (take(&way, first, first + group, false))
                ULP_TRY(settle(&way, error));
    *ratio = way.ratio;
    return ULP_OK;
}
