/* Plans with a margin that is known. A set of nodes that meets a tolerance as its samples round may
 * miss it where roundings fall otherwise, the more the fewer elements the outputs have. So the
 * search runs problems close by as well, in which every rounding is drawn anew, and is for a
 * tighter tolerance; what it finds is run in many more, in every arithmetic that the plan is for,
 * with what that fuses, and is repaired where it does not hold. */
#include <math.h>

#include "analysis/measure/quantile.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

enum { FIRST_DRAWS = 6 }; /* of what is lowered everywhere: how far errors vary */
/* Problems that a search runs: two where errors hardly vary, more where one of them says little. */
#define FREEDOM_LITTLE 8
enum { PROBLEMS = 2, PROBLEMS_LITTLE = 3 };
/* Of hundreds of sets a search finds those whose roundings happen to fall well in its problems. */
#define LUCK 0.95
_Static_assert(PROBLEMS_LITTLE - 1 <= ULP_DRAWN_MAX, "drawn problems");

/* ---- before the search ---- */

/* What has the largest error where all is lowered is searched in; of equal ones (something is not
 * finite) that with the coarser accumulator. */
enum ulp_status ulp_search_pick_target(struct ulp_searcher *search, size_t *out,
                                       struct ulp_error *error)
{
    struct ulp_beside lanes[ULP_BESIDE_MAX] = {{.keeps = {0}}};
    struct ulp_judgement judged[ULP_BESIDE_MAX];
    for (size_t t = 0; t < search->target_count; t++)
        lanes[t].arithmetic = search->lowered[t];
    const enum ulp_status status =
        ulp_emulation_beside(&search->emulation, 0, lanes, search->target_count, judged, error);
    *out = 0;
    for (size_t t = 1; t < search->target_count && status == ULP_OK; t++) {
        const bool coarser =
            search->lowered[t].accumulator.precision < search->lowered[*out].accumulator.precision;
        if (judged[t].ratio > judged[*out].ratio ||
            (judged[t].ratio == judged[*out].ratio && coarser))
            *out = t;
    }
    return status;
}

/* With what must be kept for its range, or all would be infinite. */
enum ulp_status ulp_search_prepare_draws(struct ulp_searcher *search, struct ulp_error *error)
{
    const double confidence = search->options->confidence;
    struct ulp_emulation *emulation = &search->emulation;
    const struct ulp_beside lane = {search->choices[search->narrow].arithmetic,
                                    emulation->keeps[1]};
    double ratios[FIRST_DRAWS], freedom;
    enum ulp_status status = ULP_OK;
    if (!(confidence > 0))
        return ULP_OK;
    search->verified =
        ulp_arena_take(emulation->memory, search->target_count, sizeof *search->verified);
    if (!search->verified)
        return ulp_out_of_memory(error);
    for (size_t t = 0; t < search->target_count; t++)
        if (!(search->verified[t].ratios = ulp_arena_take(emulation->memory, ULP_SEARCH_DRAWS,
                                                          sizeof *search->verified[t].ratios)))
            return ulp_out_of_memory(error);
    for (size_t d = 0; d < FIRST_DRAWS && status == ULP_OK; d++) {
        struct ulp_judgement judged = {0};
        status = ulp_emulation_draw(emulation, ULP_SEARCH_DRAWS + d, &lane, 1, &judged, error);
        ratios[d] = judged.ratio;
    }
    ulp_search_quantile(ratios, FIRST_DRAWS, confidence, &freedom);
    const size_t samples = emulation->given.sample_count,
                 wanted = freedom < FREEDOM_LITTLE ? PROBLEMS_LITTLE : PROBLEMS,
                 more = wanted > samples ? wanted - samples : 0;
    /* the largest error of so many problems, and of all but those that may fail */
    const double problems = (double)(samples + more),
                 seen = ulp_search_spread_factor(freedom,
                                                 ulp_quantile_normal(problems / (problems + 1)));
    emulation->margin =
        ulp_math_min(1, LUCK * seen /
                            ulp_search_spread_factor(freedom, ulp_quantile_normal(confidence)));
    return status == ULP_OK ? ulp_emulation_redraw(emulation, more, error) : status;
}

/* ---- after it ---- */

/* What is decided otherwise in a draw even with the widest format everywhere is not the plan's
 * doing: then figures are those with the reference's decisions, as everywhere. */
static enum ulp_status check_decisions(struct ulp_searcher *search, struct ulp_error *error)
{
    struct ulp_beside lane = {search->targets[0], {0}};
    struct ulp_judgement judged;
    size_t failing = ULP_SEARCH_DRAWS;
    for (size_t t = 0; t < search->target_count && !search->emulation.follows; t++)
        for (size_t d = search->verified[t].count; d-- > 0;)
            if (!isfinite(search->verified[t].ratios[d]))
                failing = d;
    if (failing == ULP_SEARCH_DRAWS)
        return ULP_OK;
    ulp_pick *wide =
        ulp_arena_take(search->emulation.memory, search->layer_count + 1, sizeof *wide);
    if (!wide)
        return ulp_out_of_memory(error);
    ulp_search_same(search, 0, wide);
    enum ulp_status status = ulp_search_keeps(search, wide, &lane.keeps, error);
    if (status == ULP_OK)
        status = ulp_emulation_draw(&search->emulation, failing, &lane, 1, &judged, error);
    if (status == ULP_OK && !isfinite(judged.ratio)) {
        ulp_emulation_follow(&search->emulation);
        status = ulp_search_verify(search, search->best, error);
    }
    return status;
}

/* Ratios are of what is allowed again. */
static void leave_margin(struct ulp_searcher *search)
{
    const double margin = search->emulation.margin;
    search->before *= margin;
    search->full *= margin;
    search->best_ratio *= margin;
    for (size_t l = 0; l < search->layer_count; l++)
        search->without[l] *= margin;
    for (size_t s = 0; s < search->emulation.given.sample_count; s++)
        search->judged[s].ratio *= margin;
    search->emulation.margin = 1;
}

/* The widest format meets the tolerance, but not the tighter one: what it meets is asked for. */
static bool relax(struct ulp_searcher *search)
{
    const double full = search->full * search->emulation.margin;
    if (!(search->full > 1) || !(full <= 1))
        return false;
    search->emulation.margin = ulp_math_min(1, full * 1.02);
    search->given = false;
    return true;
}

/* Where nothing needs to be kept there is nothing to search. Else what this has found is in units
 * of what the search is for, as all that follows: the time may be over before it runs anything. */
static enum ulp_status try_nothing(struct ulp_searcher *search, double margin,
                                   struct ulp_error *error)
{
    ulp_pick *narrow =
        ulp_arena_take(search->emulation.memory, search->layer_count + 1, sizeof *narrow);
    if (!narrow)
        return ulp_out_of_memory(error);
    ulp_search_same(search, (ulp_pick)search->narrow, narrow);
    enum ulp_status status =
        ulp_search_judge(search, narrow, search->judged, &search->before, error);
    if (status == ULP_OK && search->before <= 1)
        status = ulp_search_verify(search, narrow, error);
    search->minimal = search->holds;
    search->given = search->holds;
    search->full = NAN;
    if (status != ULP_OK || search->holds)
        return status;
    search->emulation.margin = margin;
    search->before /= margin;
    for (size_t s = 0; s < search->emulation.given.sample_count; s++)
        search->judged[s].ratio /= margin;
    ulp_search_forget_draws(search);
    return status;
}

enum ulp_status ulp_search_surely(struct ulp_searcher *search, struct ulp_error *error)
{
    const double margin = search->emulation.margin;
    enum ulp_status status = ULP_OK;
    search->emulation.margin = 1;
    if (search->verified)
        status = try_nothing(search, margin, error);
    if (status != ULP_OK || search->holds)
        return status;
    status = ulp_search_by_order(search, error);
    if (status == ULP_OK && relax(search))
        status = ulp_search_by_order(search, error);
    leave_margin(search);
    if (status != ULP_OK || !search->verified || search->over || !(search->best_ratio <= 1))
        return status;
    status = ulp_search_verify(search, search->best, error);
    if (status == ULP_OK && !search->holds)
        status = check_decisions(search, error);
    return status == ULP_OK && !search->holds && !search->over && !(search->options->budget > 0)
               ? ulp_search_repair(search, error)
               : status;
}
