/* The least error for what may be paid: the model proposes, and every allocation is emulated. */
#include <string.h>

#include "analysis/search/formats/formats.h"
#include "base/error.h"
#include "number/function/math.h"

/* Starts, and then exchanges, are made while the work is below so many whole runs of all samples,
 * or below a share of them where less is paid than may be. */
#define STARTS_WORK 300
#define EXCHANGE_WORK 1200
#define STARTS_MAX 24
/* Of a budget of nodes: for so many half of the work is done. */
#define HALF_AT 8

/* ---- exchanges ---- */

/* One layer gets another choice, and others give way or take what is left. */
static enum ulp_status try_change(struct ulp_searcher *search, size_t layer, size_t choice,
                                  ulp_pick *work, struct ulp_error *error)
{
    double ratio;
    const size_t bytes = search->layer_count * sizeof *work;
    memcpy(work, search->best, bytes);
    work[layer] = (ulp_pick)choice;
    if (!search->layers[layer].bits[choice] || !ulp_search_fit_limit(search, layer, work) ||
        memcmp(work, search->best, bytes) == 0)
        return ULP_OK;
    return ulp_search_emulate(search, work, &ratio, error);
}

/* Every layer in every other choice, until all were tried since the last that helped. */
static enum ulp_status exchange(struct ulp_searcher *search, double share, ulp_pick *work,
                                struct ulp_error *error)
{
    const size_t moves = search->layer_count * search->choice_count;
    size_t since = 0;
    for (size_t m = 0;
         since < moves && !search->over && ulp_search_work(search) < share * EXCHANGE_WORK;
         m = (m + 1) % moves) {
        const size_t layer = m / search->choice_count, choice = m % search->choice_count;
        const double before = search->best_ratio;
        since++;
        if (search->best[layer] != choice)
            ULP_TRY(try_change(search, layer, choice, work, error));
        if (search->best_ratio < before)
            since = 0;
    }
    search->minimal = since == moves && !search->over;
    return ULP_OK;
}

/* ---- the course ---- */

/* No allocation is taken that is emulated worse than one format everywhere is. */
static void limit_error(struct ulp_searcher *search, const struct ulp_search *out, ulp_pick *work)
{
    for (size_t u = 0; u < out->uniform_count; u++) {
        ulp_search_same(search, (ulp_pick)out->uniforms[u].format, work);
        if (ulp_search_cost(search, work) <= search->limit)
            search->most = ulp_math_min(search->most, out->uniforms[u].ratio);
    }
}

static enum ulp_status run_starts(struct ulp_searcher *search, double share, ulp_pick *work,
                                  struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    ULP_TAKE_ARRAY(double, powers, search->emulation.memory, layers + 1, error);
    for (size_t l = 0; l < layers; l++)
        powers[l] = search->layers[l].power;
    for (size_t number = 0; number < STARTS_MAX && !search->over &&
                            (number == 0 || ulp_search_work(search) < share * STARTS_WORK);
         number++) {
        double ratio;
        ulp_search_set_model(search, powers, number ? number + 1 : 0);
        if (ulp_search_solve_limit(search, work))
            ULP_TRY(ulp_search_emulate(search, work, &ratio, error));
    }
    for (size_t l = 0; l < layers; l++)
        search->layers[l].power = powers[l];
    return ULP_OK;
}

/* For a budget of nodes as for each smaller one before: what they find may be taken, too, so that
 * with more nodes no plan is worse. The share of the work after each does not depend on the budget.
 */
static enum ulp_status search_steps(struct ulp_searcher *search, ulp_pick *work,
                                    struct ulp_error *error)
{
    const bool nodes =
        search->options->by_node && strcmp(ulp_search_cost_used(search), "nodes") == 0;
    const double limit = search->limit;
    const size_t steps = nodes ? (size_t)ulp_math_min(limit, (double)search->layer_count) : 1;
    for (size_t paid = 1; paid <= steps && !search->over; paid++) {
        const double share = nodes ? (double)paid / (double)(paid + HALF_AT) : 1;
        search->limit = nodes ? (double)paid : limit; /* what is not kept costs nothing */
        ULP_TRY(run_starts(search, share, work, error));
        if (search->given)
            ULP_TRY(exchange(search, share, work, error));
    }
    search->limit = limit;
    return ULP_OK;
}

enum ulp_status ulp_search_within(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error)
{
    ulp_pick *work;
    ULP_TRY(ulp_search_begin(search, &work, error));
    if (!work)
        return ULP_OK;
    if (!ulp_search_solve_limit(search, work))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a budget of %g bits: the fewest that these formats have for the products "
                        "are %.4g",
                        search->options->budget, ulp_search_mean_bits(search, work));
    ULP_TRY(ulp_search_uniforms(search, out, work, error));
    ULP_TRY(ulp_search_measure(search, work, error));
    limit_error(search, out, work);
    ulp_search_uniforms_again(search, out, work);
    return search_steps(search, work, error);
}
