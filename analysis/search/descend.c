/* Layers get fewer bits, one by one, until none can. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/function/math.h"

/* A layer with fewer bits. */
struct move {
    size_t layer;
    ulp_pick from, to;
    double power; /* of all layers then, by the model */
    double merit; /* bits saved for what that adds */
};

/* So much too large an error is expected of steps that are tried first. */
#define LIKELY 1.25

struct descent {
    struct ulp_searcher *search;
    ulp_pick *of;
    struct move *moves;
    size_t count;
    double *without; /* by layer, since the last layer got fewer bits; NaN: not tried */
    ptrdiff_t *fewer;
    size_t failed; /* moves since then */
};

static int by_merit(const void *a, const void *b)
{
    const struct move *x = a, *y = b;
    if (x->merit != y->merit)
        return x->merit > y->merit ? -1 : 1;
    return x->layer != y->layer ? (x->layer < y->layer ? -1 : 1)
                                : (x->to > y->to) - (x->to < y->to);
}

/* All of them, those first that save most for the error they are expected to add. */
static void list_moves(struct descent *descent, double ratio)
{
    struct ulp_searcher *search = descent->search;
    descent->count = 0;
    for (size_t l = 0; l < search->layer_count; l++) {
        const struct ulp_searched_layer *layer = &search->layers[l];
        const ulp_pick from = descent->of[l];
        ptrdiff_t to;
        for (size_t n = 0; (to = ulp_search_lower(search, l, from, n)) >= 0; n++) {
            const double more =
                ulp_search_power(search, l, (ulp_pick)to) - ulp_search_power(search, l, from);
            descent->moves[descent->count++] =
                (struct move){l, from, (ulp_pick)to, ratio * ratio + more,
                              (layer->cost[from] - layer->cost[to]) / ulp_math_max(more, 1e-300)};
        }
    }
    qsort(descent->moves, descent->count, sizeof *descent->moves, by_merit);
}

static void forget(struct descent *descent)
{
    for (size_t l = 0; l < descent->search->layer_count; l++) {
        descent->without[l] = NAN;
        descent->fewer[l] = -1;
    }
    descent->failed = 0;
}

static enum ulp_status try_move(struct descent *descent, const struct move *move, double *ratio,
                                struct ulp_error *error)
{
    const ulp_pick from = descent->of[move->layer];
    descent->of[move->layer] = move->to;
    const enum ulp_status status = ulp_search_try(descent->search, descent->of, ratio, error);
    if (status == ULP_OK && *ratio <= 1) {
        forget(descent);
        return status;
    }
    descent->of[move->layer] = from;
    if (status != ULP_OK || descent->search->over)
        return status;
    descent->failed++;
    if (!(descent->without[move->layer] <= *ratio)) {
        descent->without[move->layer] = *ratio;
        descent->fewer[move->layer] = (ptrdiff_t)move->to;
    }
    return status;
}

/* Those of an expected ratio up to `likely`; a layer that got fewer bits moves again in the next
 * pass. *moved: one has. */
static enum ulp_status pass(struct descent *descent, double likely, bool *moved, double *ratio,
                            struct ulp_error *error)
{
    struct ulp_searcher *search = descent->search;
    *moved = false;
    list_moves(descent, *ratio);
    forget(descent);
    for (size_t i = 0; i < descent->count && !search->over; i++) {
        const struct move *move = &descent->moves[i];
        double now;
        if (!(move->power <= likely * likely) ||
            search->layers[move->layer].cost[descent->of[move->layer]] <=
                search->layers[move->layer].cost[move->to])
            continue;
        ULP_TRY(try_move(descent, move, &now, error));
        if (now <= 1) {
            *moved = true;
            *ratio = now;
        }
    }
    return ULP_OK;
}

/* ---- several at once ---- */

/* The moves of first to last, one of each layer. False: there are none. */
static bool apply(struct descent *descent, size_t first, size_t last)
{
    bool any = false;
    for (size_t i = first; i < last && i < descent->count; i++) {
        const struct move *move = &descent->moves[i];
        if (descent->of[move->layer] != move->from)
            continue;
        descent->of[move->layer] = move->to;
        any = true;
    }
    return any;
}

static enum ulp_status pass_groups(struct descent *descent, size_t group, ulp_pick *before,
                                   bool *moved, double *ratio, struct ulp_error *error)
{
    struct ulp_searcher *search = descent->search;
    const size_t bytes = search->layer_count * sizeof *before;
    *moved = false;
    list_moves(descent, *ratio);
    for (size_t i = 0; i < descent->count && !search->over; i += group) {
        double now;
        memcpy(before, descent->of, bytes);
        if (!apply(descent, i, i + group))
            continue;
        ULP_TRY(ulp_search_try(search, descent->of, &now, error));
        if (now <= 1) {
            *moved = true;
            *ratio = now;
        } else {
            memcpy(descent->of, before, bytes);
        }
    }
    return ULP_OK;
}

/* Half of the layers at once, a quarter and so on, each a few times while some can. */
#define GROUP_PASSES 3

static enum ulp_status descend_groups(struct descent *descent, ulp_pick *before, double *ratio,
                                      struct ulp_error *error)
{
    for (size_t group = descent->search->layer_count / 2; group > 1; group /= 2) {
        bool moved = true;
        for (int i = 0; i < GROUP_PASSES && moved; i++)
            ULP_TRY(pass_groups(descent, group, before, &moved, ratio, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_search_descend(struct ulp_searcher *search, ulp_pick *of, double *ratio,
                                   bool likely, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, ulp_model_budget(search->emulation.given.model), error));
    const size_t layers = search->layer_count + 1;
    struct descent descent = {.search = search, .of = of};
    ULP_TAKE(descent.moves, memory, layers * (search->choice_count + 1), error);
    ULP_TAKE(descent.without, memory, layers, error);
    ULP_TAKE(descent.fewer, memory, layers, error);
    ULP_TAKE_ARRAY(ulp_pick, before, memory, layers, error);
    ULP_TRY(descend_groups(&descent, before, ratio, error));
    /* first what the model expects to do, then everything */
    for (bool moved = true, all = false; !search->over && (moved || !(all || likely));) {
        all = !moved;
        ULP_TRY(pass(&descent, all ? INFINITY : LIKELY, &moved, ratio, error));
    }
    if (!search->over && descent.failed == descent.count && search->layer_count &&
        memcmp(of, search->best, search->layer_count * sizeof *of) == 0) {
        memcpy(search->without, descent.without, search->layer_count * sizeof *search->without);
        memcpy(search->fewer, descent.fewer, search->layer_count * sizeof *search->fewer);
        search->minimal = true;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_finish(struct ulp_searcher *search, ulp_pick *work,
                                  struct ulp_error *error)
{
    for (double before = INFINITY;
         search->given && !search->minimal && !search->over && search->best_cost < before;) {
        double ratio = search->best_ratio;
        before = search->best_cost;
        memcpy(work, search->best, search->layer_count * sizeof *work);
        ULP_TRY(ulp_search_descend(search, work, &ratio, false, error));
    }
    return ULP_OK;
}
