/* A plan that does not hold where roundings fall otherwise is repaired by keeping more: layers join
 * it in the order of their links, those first that would be released last, as many as draws say. Of
 * several numbers each is a lane, and all share a draw's problem and its reference. */
#include <math.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

enum {
    POINTS = 4,     /* numbers of layers side by side */
    LOOKED_AT = 12, /* draws of each */
    PASSES = 3,     /* of which each leaves a fifth of what is between what fails and what holds */
    VERIFIED = 7    /* numbers that are verified in all draws */
};

/* What so few draws say is off by some percent. */
#define LIKELY 0.95

struct repair {
    struct ulp_searcher *search;
    const ulp_pick *from;
    ulp_pick *of;
    size_t *order, count; /* the layers that may join, the first first */
};

/* The plan with so many more, in repair->of. */
static const ulp_pick *join(struct repair *repair, size_t more)
{
    memcpy(repair->of, repair->from, repair->search->layer_count * sizeof *repair->of);
    for (size_t i = 0; i < more; i++)
        repair->of[repair->order[i]] = 0;
    return repair->of;
}

/* Each of the numbers in every target and some draws: by their spread, the ratio that few exceed.
 */
static enum ulp_status look(struct repair *repair, const size_t *points, size_t count,
                            double *quantiles, struct ulp_error *error)
{
    struct ulp_searcher *search = repair->search;
    const size_t in = search->judged_in_count, lane_count = count * in;
    struct ulp_beside lanes[ULP_BESIDE_MAX];
    struct ulp_judgement judged[ULP_BESIDE_MAX];
    double ratios[ULP_BESIDE_MAX][LOOKED_AT], freedom;
    enum ulp_status status = ULP_OK;
    for (size_t p = 0; p < count && status == ULP_OK; p++) {
        struct ulp_keeps keeps;
        status = ulp_search_keeps(search, join(repair, points[p]), &keeps, error);
        if (status == ULP_OK)
            ulp_search_lanes(search, &keeps, &lanes[p * in]);
        quantiles[p] = 0;
    }
    for (size_t d = 0; d < LOOKED_AT && status == ULP_OK; d++) {
        status = ulp_emulation_draw(&search->emulation, d, lanes, lane_count, judged, error);
        for (size_t l = 0; l < lane_count && status == ULP_OK; l++) {
            ratios[l][d] = judged[l].ratio;
            quantiles[l / in] =
                ulp_math_max(quantiles[l / in], isfinite(judged[l].ratio) ? 0 : INFINITY);
        }
    }
    for (size_t l = 0; l < lane_count && status == ULP_OK; l++)
        quantiles[l / in] =
            ulp_math_max(quantiles[l / in],
                         ulp_search_quantile(ratios[l], LOOKED_AT, search->options->confidence,
                                             &freedom));
    return status;
}

/* Between low, which fails, and high: numbers about equally far apart, the last that fails and the
 * first that holds become these. */
static enum ulp_status narrow_down(struct repair *repair, size_t *low, size_t *high,
                                   struct ulp_error *error)
{
    const size_t most = ulp_size_min(POINTS, ULP_BESIDE_MAX / repair->search->judged_in_count);
    size_t points[POINTS], count = 0;
    double quantiles[POINTS];
    for (size_t p = 1; p <= most; p++) {
        const size_t point = *low + (*high - *low) * p / (most + 1);
        if (point > *low && (!count || point > points[count - 1]))
            points[count++] = point;
    }
    const enum ulp_status status = look(repair, points, count, quantiles, error);
    for (size_t p = 0; p < count && status == ULP_OK; p++) {
        if (quantiles[p] <= LIKELY) {
            *high = points[p];
            break;
        }
        *low = points[p];
    }
    return status;
}

static enum ulp_status open_repair(struct repair *repair, struct ulp_searcher *search,
                                   struct ulp_error *error)
{
    const size_t layers = search->layer_count + 1;
    struct ulp_arena *memory = search->emulation.memory;
    ulp_pick *from = ulp_arena_take(memory, layers, sizeof *from);
    *repair = (struct repair){.search = search,
                              .from = from,
                              .of = ulp_arena_take(memory, layers, sizeof *repair->of),
                              .order = ulp_arena_take(memory, layers, sizeof *repair->order)};
    if (!from || !repair->of || !repair->order)
        return ulp_out_of_memory(error);
    memcpy(from, search->best, search->layer_count * sizeof *from);
    ulp_search_same(search, 0, repair->of);
    size_t all = 0;
    const enum ulp_status status =
        ulp_search_order(search, repair->of, ULP_ESTIMATE_CONDITION, repair->order, &all, error);
    /* the last to be released is the first to join */
    for (size_t i = 0; i < all / 2; i++) {
        const size_t layer = repair->order[i];
        repair->order[i] = repair->order[all - 1 - i];
        repair->order[all - 1 - i] = layer;
    }
    for (size_t i = 0; i < all; i++)
        if (from[repair->order[i]] == search->narrow)
            repair->order[repair->count++] = repair->order[i];
    return status;
}

static bool may_go_on(struct ulp_searcher *search)
{
    search->over |= ulp_seconds_now() > search->deadline;
    return !search->over;
}

enum ulp_status ulp_search_repair(struct ulp_searcher *search, struct ulp_error *error)
{
    struct repair repair;
    struct ulp_search_verified as_it_was[ULP_SEARCH_TARGETS_MAX];
    memcpy(as_it_was, search->verified, search->target_count * sizeof *as_it_was);
    enum ulp_status status = open_repair(&repair, search, error);
    size_t low = 0, high = repair.count;
    for (size_t pass = 0; pass < PASSES && high - low > 1 && status == ULP_OK && may_go_on(search);
         pass++)
        status = narrow_down(&repair, &low, &high, error);
    for (size_t i = 0; i < VERIFIED && high > 0 && status == ULP_OK && may_go_on(search); i++) {
        status = ulp_search_verify(search, join(&repair, high), error);
        if (status == ULP_OK && search->holds) {
            memcpy(search->best, repair.of, search->layer_count * sizeof *search->best);
            search->best_cost = ulp_search_cost(search, search->best);
            search->minimal = false;
            search->added = high;
            return ULP_OK;
        }
        if (high == repair.count)
            break;
        const size_t step = (size_t)1 << i;
        high = i + 2 == VERIFIED
                   ? repair.count
                   : ulp_size_min(repair.count, high + (step > high / 4 ? step : high / 4));
    }
    /* in vain: what is known of the plan as it was */
    memcpy(search->verified, as_it_was, search->target_count * sizeof *as_it_was);
    return status;
}
