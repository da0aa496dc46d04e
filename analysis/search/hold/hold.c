/* Finds the cheapest plan that holds where roundings fall otherwise, too. How far the error varies
 * between draws says how large its mean power may be, so that few draws exceed what is allowed
 * (find_allowed); links (links.c) estimate the power that a set of kept nodes leaves. The course:
 *
 *  1. Each layer is lowered by itself in MEASURED problems, which scales the links (measure_alone).
 *  2. Links propose the cheapest sets for several powers. These run side by side in draws that
 * judge nothing, and the links learn from what they leave (look).
 *  3. The cheapest set for a power between one that held and one that failed is proposed, and all
 *     draws judge it; the links learn again, until the two powers are CLOSE (bisect).
 *  4. What stands in front of decisions is tried by itself (hold_decided.c).
 *  5. Each kept layer of the plan is lowered by itself, which says what it is kept for
 *     (measure_without).
 *
 * No set is chosen for how roundings happen to fall in one problem. */
#include <math.h>
#include <string.h>

#include "analysis/measure/quantile.h"
#include "analysis/search/hold/hold.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

enum {
    MEASURED = 2,  /* problems in which each layer is released alone */
    LOOKS = 2,     /* at several sets side by side, from which links learn */
    POINTS = 4,    /* sets of a look */
    LOOKED_AT = 8, /* draws of a look, which are not those that judge */
    VERIFIED = 8,  /* sets that are judged, at most */
    LOWER = 2      /* of these after one that holds */
};
/* Powers of the sets of a look, over what is expected to hold. */
static const double spreads[LOOKS][POINTS] = {{1, 0.5, 2, 0.25}, {1, 0.7, 1.4, 0.5}};
/* Until draws say it: directions that share the error. */
#define FREEDOM 8
/* A set is proposed to have so much of the error allowed where one in 100 draws exceeds it: 50
 * draws of 50 then hold for three sets of four. */
#define LIKELY 0.95
/* Powers that hold and that fail are not told apart further, nor is a set judged that saves less of
 * the cost. */
#define CLOSE 1.15
#define WORTH 0.98

struct holding {
    struct ulp_searcher *search;
    struct ulp_links links;
    double *alone;   /* by layer: the power that it leaves when it alone is lowered */
    size_t measured; /* problems in which that is measured */
    struct ulp_watched known[LOOKS * POINTS + VERIFIED];
    size_t known_count;
    struct judged {
        bool is, holds;
        double factor; /* its power times this is expected to hold */
    } judged[LOOKS * POINTS + VERIFIED];
    double spread; /* sum over sets of their powers' variances, over the mean's square */
    size_t spread_count;
    size_t *order;
};

static bool may_go_on(struct ulp_searcher *search)
{
    search->over |= ulp_seconds_now() > search->deadline;
    return !search->over;
}

/* ---- what the error allowed means ---- */

/* The mean power of which few draws exceed what is allowed. */
static double find_allowed(const struct holding *holding)
{
    const struct ulp_searcher *search = holding->search;
    const double variance =
                     holding->spread_count ? holding->spread / (double)holding->spread_count : 0,
                 freedom = variance > 0 ? ulp_math_max(2 / variance, 1) : FREEDOM,
                 factor =
                     ulp_search_spread_factor(freedom,
                                              ulp_quantile_normal(search->options->confidence)),
                 power = LIKELY / factor * (LIKELY / factor);
    return ulp_math_max(power - search->full * search->full, power / 16);
}

/* What some draws of a set say, in the lane where it is worst. */
static void note_draws(struct holding *holding, struct ulp_watched *watched, const double *ratios,
                       size_t count)
{
    double sum = 0, square = 0;
    const double full = holding->search->full;
    for (size_t d = 0; d < count; d++) {
        const double power = ratios[d] * ratios[d];
        sum += power;
        square += power * power;
    }
    const double mean = sum / (double)count;
    if (watched->count > 0 && !(mean - full * full > watched->power))
        return;
    watched->power = ulp_math_max(mean - full * full, 0);
    watched->count = (double)count;
    if (count > 1 && isfinite(square) && mean > 0) {
        holding->spread += (square - sum * mean) / (double)(count - 1) / (mean * mean);
        holding->spread_count++;
    }
}

/* ---- each layer alone ---- */

/* Where something is decided otherwise in some draw with everything kept, too, no layer is to blame
 * for it. */
static enum ulp_status check_decisions(struct ulp_searcher *search, const ulp_pick *wide,
                                       struct ulp_error *error)
{
    const bool asked = isfinite(search->before) || search->emulation.follows;
    struct ulp_attempt lane = {.arithmetic = search->targets[0]};
    struct ulp_judgement judged;
    ULP_TRY(ulp_search_keeps(search, wide, &lane.keeps, error));
    for (size_t d = 0; d < LOOKED_AT && !asked && !search->emulation.follows; d++)
        ULP_TRY(ulp_search_draw(search, ULP_SEARCH_DRAWS + d, &lane, 1, &judged, error));
    return !asked && search->emulation.follows
               ? ulp_search_emulate(search, wide, &search->full, error)
               : ULP_OK;
}

/* In the first problem and the last, or in all: the mean power, and the worst ratio. */
static enum ulp_status measure_power(struct holding *holding, const ulp_pick *of, bool all,
                                     double *power, double *worst, struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    const size_t problems = search->emulation.problem_count,
                 count = all ? problems : holding->measured;
    const uint16_t *kept = ulp_search_as_run(search, of);
    *power = *worst = 0;
    for (size_t p = 0; p < count; p++) {
        struct ulp_judgement judgement = {0};
        ULP_TRY(ulp_emulation_problem(&search->emulation, p ? problems - p : 0, kept, &judgement,
                                      error));
        *power += judgement.ratio * judgement.ratio / (double)count;
        *worst = ulp_math_max(*worst, judgement.ratio);
    }
    *power = ulp_math_max(*power - search->full * search->full, 0);
    return ULP_OK;
}

static enum ulp_status measure_alone(struct holding *holding, ulp_pick *of, struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    double worst;
    for (size_t l = 0; l < search->layer_count && may_go_on(search); l++) {
        /* kept for its range in some sample, as far as an audit can tell */
        bool *required = &search->nodes.required[search->layers[l].first];
        of[l] = (ulp_pick)search->narrow;
        ULP_TRY(measure_power(holding, of, *required, &holding->alone[l], &worst, error));
        *required &= !isfinite(holding->alone[l]);
        of[l] = 0;
    }
    if (!search->over)
        ULP_TRY(ulp_links_scale(&holding->links, holding->alone, error));
    return ULP_OK;
}

/* Of the plan: what each of its layers is kept for. */
static enum ulp_status measure_without(struct holding *holding, ulp_pick *of,
                                       struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    double power;
    memcpy(of, search->best, search->layer_count * sizeof *of);
    ULP_TRY(ulp_search_emulate(search, of, &search->best_ratio, error));
    for (size_t l = 0; l < search->layer_count && may_go_on(search); l++) {
        if (of[l])
            continue;
        of[l] = (ulp_pick)search->narrow;
        ULP_TRY(measure_power(holding, of, false, &power, &search->without[l], error));
        search->fewer[l] = (ptrdiff_t)search->narrow;
        of[l] = 0;
    }
    return ULP_OK;
}

static enum ulp_status learn(struct holding *holding, struct ulp_error *error)
{
    return ulp_links_learn(&holding->links, holding->alone, (double)holding->measured,
                           holding->known, holding->known_count, error);
}

/* ---- sets ---- */

/* The cheapest by links that leaves so much: its place among those known. */
static enum ulp_status propose(struct holding *holding, double power, size_t *out,
                               struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    struct ulp_watched *next = &holding->known[holding->known_count];
    size_t count, bytes = search->layer_count * sizeof *next->of;
    ulp_search_same(search, 0, next->of);
    ULP_TRY(ulp_links_peel(&holding->links, next->of, power, holding->order, &count, error));
    for (size_t i = 0; i < count; i++)
        next->of[holding->order[i]] = (ulp_pick)search->narrow;
    for (*out = 0; *out < holding->known_count; ++*out)
        if (memcmp(holding->known[*out].of, next->of, bytes) == 0)
            return ULP_OK;
    next->power = next->count = 0;
    holding->known_count++;
    return ULP_OK;
}

/* The sets known from `first` on side by side in draws: all share a draw's problem and reference.
 */
static enum ulp_status look_at_sets(struct holding *holding, size_t first, struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    const size_t in = search->judged_in_count, count = (holding->known_count - first) * in;
    struct ulp_attempt lanes[ULP_BESIDE_MAX];
    struct ulp_judgement judged[ULP_BESIDE_MAX];
    double ratios[ULP_BESIDE_MAX][LOOKED_AT];
    for (size_t k = first; k < holding->known_count; k++) {
        struct ulp_keeps keeps;
        ULP_TRY(ulp_search_keeps(search, holding->known[k].of, &keeps, error));
        ULP_TRY(ulp_search_lanes(search, &keeps, &lanes[(k - first) * in], error));
    }
    for (size_t d = 0; d < LOOKED_AT && count; d++) {
        ULP_TRY(ulp_search_draw(search, ULP_SEARCH_DRAWS + d, lanes, count, judged, error));
        for (size_t l = 0; l < count; l++)
            ratios[l][d] = judged[l].ratio;
    }
    for (size_t l = 0; l < count; l++)
        note_draws(holding, &holding->known[first + l / in], ratios[l], LOOKED_AT);
    return ULP_OK;
}

static enum ulp_status look_on_draws(struct holding *holding, struct ulp_error *error)
{
    const size_t most = ulp_size_min(POINTS, ULP_BESIDE_MAX / holding->search->judged_in_count);
    for (size_t i = 0; i < LOOKS && may_go_on(holding->search); i++) {
        const double allowed = find_allowed(holding);
        const size_t first = holding->known_count;
        size_t place;
        for (size_t p = 0; p < most; p++)
            ULP_TRY(propose(holding, allowed * spreads[i][p], &place, error));
        ULP_TRY(look_at_sets(holding, first, error));
        ULP_TRY(learn(holding, error));
    }
    return ULP_OK;
}

/* ---- judged ---- */

/* What is said where nothing holds but everything kept. */
static void note_nearly(struct ulp_searcher *search, const ulp_pick *of)
{
    struct ulp_search_nearly now = {0};
    bool met = !search->holds;
    for (size_t n = 0; n < search->emulation.program->node_count; n++)
        now.kept += ulp_search_choice_of(search, of, n) != search->narrow;
    for (size_t t = 0; t < search->target_count; t++) {
        const struct ulp_search_verified *verified = &search->verified[t];
        met &= verified->own <= 1;
        if (t == 0 || verified->held * now.drawn < now.held * verified->count) {
            now.held = verified->held;
            now.drawn = verified->count;
        }
    }
    if (met && now.held && (!search->nearly.kept || now.kept < search->nearly.kept))
        search->nearly = now;
}

static enum ulp_status judge_set(struct holding *holding, size_t place, struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    struct ulp_watched *set = &holding->known[place];
    double quantile = 0, freedom;
    ULP_TRY(ulp_search_verify(search, set->of, error));
    note_nearly(search, set->of);
    set->count = 0;
    for (size_t t = 0; t < search->target_count; t++) {
        const struct ulp_search_verified *verified = &search->verified[t];
        if (!verified->count)
            continue;
        note_draws(holding, set, verified->ratios, verified->count);
        quantile =
            ulp_math_max(quantile, isfinite(set->power)
                                       ? ulp_search_quantile(verified->ratios, verified->count,
                                                             search->options->confidence, &freedom)
                                       : INFINITY);
    }
    holding->judged[place] =
        (struct judged){true, search->holds,
                        quantile > 0 ? LIKELY / quantile * (LIKELY / quantile) : INFINITY};
    return ULP_OK;
}

/* By links as they are now: between the power of what holds and of what fails; 0: they are not told
 * apart further. */
static double find_next(const struct holding *holding)
{
    double holds = 0, fails = INFINITY, more = 1, less = 1;
    for (size_t k = 0; k < holding->known_count; k++) {
        const struct judged *judged = &holding->judged[k];
        const double power = ulp_links_power(&holding->links, holding->known[k].of);
        if (judged->is && judged->holds && power > holds) {
            holds = power;
            more = judged->factor;
        } else if (judged->is && !judged->holds && power < fails) {
            fails = power;
            less = judged->factor;
        }
    }
    if (holds > 0 && fails < INFINITY)
        return fails / holds < CLOSE ? 0 : sqrt(holds * fails);
    return holds > 0          ? holds * ulp_math_min(ulp_math_max(more, CLOSE), 4)
           : fails < INFINITY ? fails * ulp_math_min(ulp_math_max(less, 0.5), 0.9)
                              : find_allowed(holding);
}

/* All draws that the time sufficed for. */
static bool holds_so_far(const struct ulp_searcher *search)
{
    bool all = true;
    for (size_t t = 0; t < search->target_count; t++)
        all &=
            search->verified[t].own <= 1 && search->verified[t].held == search->verified[t].count;
    return all;
}

static enum ulp_status bisect(struct holding *holding, struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    size_t after = 0; /* one that holds */
    double most = INFINITY;
    ULP_TAKE_ARRAY(struct ulp_kept_draws, draws, search->emulation.memory, 1, error);
    for (size_t i = 0, place; i < VERIFIED && after <= LOWER; i++) {
        const double power = ulp_math_min(find_next(holding), most);
        if (!(power > 0) || !may_go_on(search))
            break;
        ULP_TRY(propose(holding, power, &place, error));
        if (holding->judged[place].is && after == 0) { /* the same again */
            most = power / 2;
            continue;
        }
        const struct ulp_watched *set = &holding->known[place];
        struct judged *judged = &holding->judged[place];
        if (judged->is ||
            (after > 0 && ulp_search_cost(search, set->of) >= WORTH * search->best_cost))
            break;
        ULP_TRY(judge_set(holding, place, error));
        if (judged->holds || (search->over && after == 0 && holds_so_far(search))) {
            ulp_search_make_best(search, set->of, NAN);
            ulp_search_copy_draws(search, draws, false);
        }
        ULP_TRY(learn(holding, error));
        after += after > 0 || judged->holds;
        if (after == 0) /* links that were weighed too little are chosen again and again */
            most = power * ulp_math_min(ulp_math_max(judged->factor, 0.4), 0.8);
        else
            most = INFINITY;
        search->holds = after > 0;
    }
    if (after > 0)
        ulp_search_copy_draws(search, draws, true);
    return ULP_OK;
}

/* Everything is kept. */
static enum ulp_status fall_back(struct ulp_searcher *search, const ulp_pick *wide,
                                 struct ulp_error *error)
{
    ulp_search_make_best(search, wide, search->full);
    ulp_search_forget_draws(search);
    return may_go_on(search) ? ulp_search_verify(search, wide, error) : ULP_OK;
}

static enum ulp_status open_holding(struct ulp_searcher *search, struct holding **out,
                                    struct ulp_error *error)
{
    struct ulp_arena *memory = search->emulation.memory;
    const size_t layers = search->layer_count + 1;
    struct holding *holding;
    ULP_TAKE(*out, memory, 1, error);
    holding = *out;
    holding->search = search;
    holding->measured = ulp_size_min(MEASURED, search->emulation.problem_count);
    ULP_TAKE(holding->alone, memory, layers, error);
    ULP_TAKE(holding->order, memory, layers, error);
    for (size_t k = 0; k < sizeof holding->known / sizeof *holding->known; k++)
        ULP_TAKE(holding->known[k].of, memory, layers, error);
    return ULP_OK;
}

static enum ulp_status find_set(struct holding *holding, const ulp_pick *wide,
                                struct ulp_error *error)
{
    struct ulp_searcher *search = holding->search;
    ulp_pick *work = holding->known[0].of;
    memcpy(work, wide, search->layer_count * sizeof *wide);
    ULP_TRY(ulp_links_open(&holding->links, search, error));
    ULP_TRY(measure_alone(holding, work, error));
    if (!search->over)
        ULP_TRY(learn(holding, error));
    ULP_TRY(look_on_draws(holding, error));
    ULP_TRY(bisect(holding, error));
    if (!search->given)
        ULP_TRY(fall_back(search, wide, error));
    ULP_TRY(ulp_search_decided(search, error));
    return search->holds ? measure_without(holding, work, error) : ULP_OK;
}

enum ulp_status ulp_search_hold(struct ulp_searcher *search, const ulp_pick *wide,
                                struct ulp_error *error)
{
    struct holding *holding;
    ulp_search_make_best(search, wide, search->full);
    if (!(search->full <= 1))
        return ULP_OK;
    ULP_TRY(check_decisions(search, wide, error));
    ULP_TRY(open_holding(search, &holding, error));
    search->given = false;
    const enum ulp_status status = find_set(holding, wide, error);
    ulp_links_close(&holding->links);
    return status;
}
