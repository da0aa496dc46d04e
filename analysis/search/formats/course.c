/* The search: the model proposes, emulation says what is true, and the model learns from it. */
#include <string.h>

#include "analysis/search/formats/formats.h"
#include "base/error.h"
#include "base/random.h"
#include "number/function/math.h"

/* Starts, and then exchanges, are made while the work is below so many whole runs of all samples:
 * some audits' time. */
#define STARTS_WORK 500
#define EXCHANGE_WORK 700
#define STARTS_MAX 12

static bool may_go_on(const struct ulp_searcher *search, double work)
{
    return !search->over && ulp_search_work(search) < work;
}

/* ---- starts ---- */

struct start {
    double *powers; /* as measured */
    ulp_pick *base; /* the best of one format for all layers */
    double base_cost, base_ratio;
    ulp_pick *work;
    struct ulp_search_found found;
};

static enum ulp_status make_start(const struct ulp_searcher *search, struct start *out,
                                  struct ulp_error *error)
{
    const size_t layers = search->layer_count + 1;
    struct ulp_arena *memory = search->emulation.memory;
    *out = (struct start){.base_cost = search->best_cost, .base_ratio = search->best_ratio};
    ULP_TAKE(out->powers, memory, layers, error);
    ULP_TAKE(out->work, memory, layers, error);
    ULP_TAKE(out->base, memory, layers, error);
    ULP_TAKE(out->found.of, memory, layers, error);
    memcpy(out->base, search->best, search->layer_count * sizeof *out->base);
    for (size_t l = 0; l < search->layer_count; l++)
        out->powers[l] = search->layers[l].power;
    return ULP_OK;
}

/* Where errors are too large to be added, no model is right, and other ones lead elsewhere: the
 * first learns from the best found, the next change every power by a random factor. */
void ulp_search_set_model(struct ulp_searcher *search, const double *powers, size_t number)
{
    const double widest = 3; /* as log2 */
    if (number == 1) {
        ulp_search_learn(search);
        return;
    }
    for (size_t l = 0; l < search->layer_count && number > 0; l++)
        search->layers[l].power =
            powers[l] * ulp_math_exp2(widest * (2 * ulp_random_uniform(number, l) - 1));
}

/* Layers that no model describes, say where a rounding decides, spoil all that it proposes: from
 * the cheapest that keeps to the tolerance to the model's own, as far as that goes. */
static enum ulp_status merge_start(struct ulp_searcher *search, struct start *start,
                                   struct ulp_error *error)
{
    const size_t bytes = search->layer_count * sizeof *start->work;
    struct ulp_search_found *found = &start->found;
    if (!found->given || found->cost > start->base_cost) {
        memcpy(found->of, start->base, bytes);
        found->given = true;
        found->ratio = start->base_ratio;
    }
    if (!ulp_search_solve(search, ulp_search_factor(search), start->work))
        return ULP_OK;
    const enum ulp_status status =
        ulp_search_merge(search, start->work, found->of, &found->ratio, error);
    found->cost = ulp_search_cost(search, found->of);
    return status;
}

static enum ulp_status run_starts(struct ulp_searcher *search, struct ulp_error *error)
{
    struct start start;
    ULP_TRY(make_start(search, &start, error));
    for (size_t number = 0; number < STARTS_MAX && (number == 0 || may_go_on(search, STARTS_WORK));
         number++) {
        ulp_search_set_model(search, start.powers, number);
        start.found.given = false;
        ULP_TRY(ulp_search_approach(search, start.work, &start.found, error));
        ULP_TRY(merge_start(search, &start, error));
        if (start.found.given)
            ULP_TRY(ulp_search_descend(search, start.found.of, &start.found.ratio, false, error));
    }
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].power = search->layers[l].prior;
    return ULP_OK;
}

/* ---- exchange ---- */

/* One layer gets a bit more, others what that allows: as long as it helps. */
static enum ulp_status exchange(struct ulp_searcher *search, ulp_pick *work,
                                struct ulp_error *error)
{
    size_t since = 0; /* layers that did not help since one did */
    for (size_t l = 0; since < search->layer_count && may_go_on(search, EXCHANGE_WORK);
         l = (l + 1) % search->layer_count) {
        const double before = search->best_cost;
        double ratio;
        const ptrdiff_t higher = ulp_search_higher(search, l, search->best[l]);
        since++;
        if (higher < 0)
            continue;
        memcpy(work, search->best, search->layer_count * sizeof *work);
        work[l] = (ulp_pick)higher;
        ULP_TRY(ulp_search_try(search, work, &ratio, error));
        if (ratio <= 1)
            ULP_TRY(ulp_search_descend(search, work, &ratio, true, error));
        if (search->best_cost < before)
            since = 0;
    }
    return ulp_search_finish(search, work, error);
}

/* ---- the course ---- */

enum ulp_status ulp_search_begin(struct ulp_searcher *search, ulp_pick **work,
                                 struct ulp_error *error)
{
    bool follows;
    ULP_TAKE(*work, search->emulation.memory, search->layer_count + 1, error);
    ULP_TRY(ulp_search_run_widest(search, *work, &follows, error));
    if (!search->layer_count)
        *work = NULL;
    return ULP_OK;
}

enum ulp_status ulp_search_by_model(struct ulp_searcher *search, struct ulp_search *out,
                                    struct ulp_error *error)
{
    ulp_pick *work;
    ULP_TRY(ulp_search_begin(search, &work, error));
    if (!work)
        return ULP_OK;
    ULP_TRY(ulp_search_uniforms(search, out, work, error));
    ULP_TRY(ulp_search_measure(search, work, error));
    ulp_search_uniforms_again(search, out, work);
    if (search->given)
        ULP_TRY(run_starts(search, error));
    ULP_TRY(ulp_search_finish(search, work, error));
    return search->given ? exchange(search, work, error) : ULP_OK;
}
