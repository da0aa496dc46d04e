/* Plans with a margin that is known. A set of nodes that meets a tolerance as its samples round may
 * miss it where roundings fall otherwise, the more the fewer elements the outputs have. So a plan
 * is judged by draws, in every arithmetic that it is for, with what that fuses. */
#include <math.h>

#include "analysis/search/hold/hold.h"
#include "base/error.h"
#include "number/function/math.h"

/* Problems that a search has: what each node does alone is measured in a sample and one drawn, or
 * in two samples. */
enum { PROBLEMS = 2 };

/* ---- before the search ---- */

/* What has the largest error where all is lowered is searched in; of equal ones (something is not
 * finite) that with the coarser accumulator. */
enum ulp_status ulp_search_pick_target(struct ulp_searcher *search, size_t *out,
                                       struct ulp_error *error)
{
    struct ulp_attempt lanes[ULP_BESIDE_MAX] = {{.keeps = {0}}};
    struct ulp_judgement judged[ULP_BESIDE_MAX];
    for (size_t t = 0; t < search->target_count; t++)
        lanes[t].arithmetic = search->lowered[t];
    ULP_TRY(
        ulp_emulation_beside(&search->emulation, 0, lanes, search->target_count, judged, error));
    *out = 0;
    for (size_t t = 1; t < search->target_count; t++) {
        const bool coarser =
            search->lowered[t].accumulator.precision < search->lowered[*out].accumulator.precision;
        if (judged[t].ratio > judged[*out].ratio ||
            (judged[t].ratio == judged[*out].ratio && coarser))
            *out = t;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_prepare_draws(struct ulp_searcher *search, struct ulp_error *error)
{
    struct ulp_emulation *emulation = &search->emulation;
    const size_t samples = emulation->given.sample_count;
    if (!search->options->by_node)
        return ULP_OK;
    ULP_TAKE(search->verified, emulation->memory, search->target_count, error);
    for (size_t t = 0; t < search->target_count; t++)
        ULP_TAKE(search->verified[t].ratios, emulation->memory, ULP_SEARCH_DRAWS, error);
    return ulp_emulation_redraw(emulation, samples < PROBLEMS ? PROBLEMS - samples : 0, error);
}

/* ---- the course ---- */

/* The time was over while nothing spoke against it: the samples meet it, and each draw that was. */
static bool is_left(const struct ulp_searcher *search)
{
    bool left = search->over && search->before <= 1;
    for (size_t t = 0; t < search->target_count; t++)
        left &= search->verified[t].held == search->verified[t].count;
    return left;
}

/* Where nothing needs to be kept there is nothing to search. Beside a single sample a draw is
 * judged, which may be one of those that may fail. */
static enum ulp_status try_nothing(struct ulp_searcher *search, ulp_pick *narrow,
                                   struct ulp_error *error)
{
    ulp_search_same(search, (ulp_pick)search->narrow, narrow);
    ULP_TRY(ulp_search_judge(search, narrow, search->judged, &search->before, error));
    if (search->before <= 1 || ulp_search_may_fail(search) > 0)
        ULP_TRY(ulp_search_verify(search, narrow, error));
    if (search->holds && !(search->before <= 1)) {
        search->before = 0; /* of the samples alone */
        for (size_t t = 0; t < search->target_count; t++)
            search->before = ulp_math_max(search->before, search->verified[t].own);
        ulp_search_make_best(search, narrow, search->before);
    }
    search->minimal = search->holds;
    search->given = search->holds || is_left(search);
    search->full = NAN;
    if (!search->given)
        ulp_search_forget_draws(search);
    return ULP_OK;
}

/* As many as may be paid for: the draws say how far it holds. */
static enum ulp_status keep_budget(struct ulp_searcher *search, struct ulp_search *out,
                                   struct ulp_error *error)
{
    ULP_TRY(ulp_search_within(search, out, error));
    out->uniform_count = 0; /* they are told as what is without the plan, and with all kept */
    return !search->over && search->best_ratio <= 1 ? ulp_search_verify(search, search->best, error)
                                                    : ULP_OK;
}

enum ulp_status ulp_search_surely(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error)
{
    bool follows = false;
    ULP_TAKE_ARRAY(ulp_pick, work, search->emulation.memory, search->layer_count + 1, error);
    ULP_TRY(try_nothing(search, work, error));
    if (search->given)
        return ULP_OK;
    ULP_TRY(ulp_search_run_widest(search, work, &follows, error));
    if (follows) {
        ulp_search_same(search, (ulp_pick)search->narrow, work);
        ULP_TRY(ulp_search_judge(search, work, search->judged, &search->before, error));
        ulp_search_same(search, 0, work);
    }
    return search->options->budget > 0 ? keep_budget(search, out, error)
                                       : ulp_search_hold(search, work, error);
}
