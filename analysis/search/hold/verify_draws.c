/* An allocation in many draws: does it hold, and how far do its errors vary? */
#include <math.h>

#include "analysis/measure/quantile.h"
#include "analysis/search/hold/hold.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

enum { ENOUGH = 10 }; /* draws of an allocation of which too many fail */
/* The quantile by the spread of all draws, itself known to about a tenth, is no more than this. */
#define SPREAD_MOST 1.1

/* ---- how errors vary ---- */

/* An error that f independent directions share has a mean square of chi squared over f, times its
 * mean; the quantile of its root for a standard normal z (Wilson, Hilferty, PNAS 17, 1931: off by
 * some percent at most, f = 1 included). */
double ulp_search_spread_factor(double freedom, double z)
{
    const double part = 2 / (9 * freedom);
    return ulp_math_pow(ulp_math_max(1 - part + z * sqrt(part), 1e-3), 1.5);
}

double ulp_search_quantile(const double *ratios, size_t count, double confidence, double *freedom)
{
    double sum = 0, square = 0, n = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(ratios[i])) {
            const double power = ratios[i] * ratios[i];
            sum += power;
            square += power * power;
            n++;
        }
    const double mean = n > 0 ? sum / n : 0, variance = n > 1 ? (square - sum * mean) / (n - 1) : 0;
    *freedom = variance > 0 ? 2 * mean * mean / variance : 1e4;
    *freedom = ulp_math_min(ulp_math_max(*freedom, 1), 1e4);
    return sqrt(mean) * ulp_search_spread_factor(*freedom, ulp_quantile_normal(confidence));
}

/* ---- draws ---- */

/* Nodes that are kept, which a plan has of one arithmetic, are computed as each target does. */
enum ulp_status ulp_search_lanes(struct ulp_searcher *search, const struct ulp_keeps *keeps,
                                 struct ulp_attempt *out, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_keep, own, search->emulation.memory, search->target_count + 1, error);
    for (size_t l = 0; l < search->judged_in_count; l++) {
        const size_t t = search->judged_in[l].target;
        out[l] =
            (struct ulp_attempt){.arithmetic = *search->judged_in[l].arithmetic, .keeps = *keeps};
        if (keeps->count != 1)
            continue;
        own[t] = keeps->items[0];
        own[t].arithmetic = search->floats[t];
        out[l].keeps.items = &own[t];
    }
    return ULP_OK;
}

/* Of each target the worse judgement. */
static void fold(const struct ulp_searcher *search, const struct ulp_judgement *judged,
                 struct ulp_judgement *out)
{
    for (size_t l = 0; l < search->judged_in_count; l++) {
        const size_t t = search->judged_in[l].target;
        const bool first = l == 0 || search->judged_in[l - 1].target != t;
        if (first || judged[l].ratio > out[t].ratio)
            out[t] = judged[l];
    }
}

static void note(struct ulp_search_verified *verified, const struct ulp_judgement *judged)
{
    if (!verified->count || judged->ratio > verified->worst.ratio)
        verified->worst = *judged;
    verified->ratios[verified->count++] = judged->ratio;
    verified->held += judged->ratio <= 1;
}

/* What is decided otherwise in a draw even with the widest format everywhere is not the plan's
 * doing: then figures are those with the reference's decisions, as everywhere. */
static enum ulp_status check_decisions(struct ulp_searcher *search, size_t draw, bool *follows,
                                       struct ulp_error *error)
{
    struct ulp_attempt lane = {.arithmetic = search->targets[0]};
    struct ulp_judgement judged;
    ULP_TAKE_ARRAY(ulp_pick, wide, search->emulation.memory, search->layer_count + 1, error);
    ulp_search_same(search, 0, wide);
    ULP_TRY(ulp_search_keeps(search, wide, &lane.keeps, error));
    ulp_emulation_forget_decided(&search->emulation);
    ULP_TRY(ulp_emulation_draw(&search->emulation, draw, &lane, 1, &judged, error));
    *follows = !isfinite(judged.ratio);
    if (*follows)
        ulp_emulation_follow(&search->emulation);
    return ULP_OK;
}

enum ulp_status ulp_search_draw(struct ulp_searcher *search, size_t draw,
                                const struct ulp_attempt *lanes, size_t count,
                                struct ulp_judgement *out, struct ulp_error *error)
{
    bool finite = true, follows = false;
    ULP_TRY(ulp_emulation_draw(&search->emulation, draw, lanes, count, out, error));
    for (size_t l = 0; l < count; l++)
        finite &= isfinite(out[l].ratio);
    if (!finite && !search->emulation.follows)
        ULP_TRY(check_decisions(search, draw, &follows, error));
    return follows ? ulp_emulation_draw(&search->emulation, draw, lanes, count, out, error)
                   : ULP_OK;
}

/* Every sample in each target: what fuses gives other figures than the search has seen. */
static enum ulp_status run_samples(struct ulp_searcher *search, const struct ulp_attempt *lanes,
                                   struct ulp_error *error)
{
    struct ulp_judgement each[ULP_BESIDE_MAX], judged[ULP_SEARCH_TARGETS_MAX];
    for (size_t s = 0; s < search->emulation.given.sample_count; s++) {
        ULP_TRY(ulp_emulation_beside(&search->emulation, s, lanes, search->judged_in_count, each,
                                     error));
        fold(search, each, judged);
        for (size_t t = 0; t < search->target_count; t++)
            search->verified[t].own = ulp_math_max(search->verified[t].own, judged[t].ratio);
    }
    return ULP_OK;
}

/* All draws were made, so many hold in each target, and by their spread others do. */
static bool hold(struct ulp_searcher *search)
{
    const double confidence = search->options->confidence;
    bool all = true;
    for (size_t t = 0; t < search->target_count; t++) {
        struct ulp_search_verified *verified = &search->verified[t];
        const double quantile = ulp_search_quantile(verified->ratios, verified->count, confidence,
                                                    &verified->freedom),
                     least = confidence * ULP_SEARCH_DRAWS - 1e-9;
        all &= verified->own <= 1 && verified->count == ULP_SEARCH_DRAWS &&
               (double)verified->held >= least && quantile <= SPREAD_MOST;
    }
    return all;
}

void ulp_search_forget_draws(struct ulp_searcher *search)
{
    for (size_t t = 0; t < search->target_count; t++)
        search->verified[t] = (struct ulp_search_verified){.ratios = search->verified[t].ratios};
}

/* One draw is made even when the time is over: what is reported is of something. */
static bool is_over(struct ulp_searcher *search, size_t draws)
{
    search->over |= draws > 0 && ulp_seconds_now() > search->deadline;
    return draws > 0 && search->over;
}

size_t ulp_search_may_fail(const struct ulp_searcher *search)
{
    return (size_t)floor(ULP_SEARCH_DRAWS * (1 - search->options->confidence) + 1e-9);
}

enum ulp_status ulp_search_verify(struct ulp_searcher *search, const ulp_pick *of,
                                  struct ulp_error *error)
{
    const size_t may_fail = ulp_search_may_fail(search);
    struct ulp_attempt lanes[ULP_BESIDE_MAX];
    struct ulp_judgement each[ULP_BESIDE_MAX], judged[ULP_SEARCH_TARGETS_MAX];
    struct ulp_keeps keeps;
    size_t failures = 0;
    ULP_TRY(ulp_search_keeps(search, of, &keeps, error));
    ulp_search_forget_draws(search);
    ULP_TRY(ulp_search_lanes(search, &keeps, lanes, error));
    ULP_TRY(run_samples(search, lanes, error));
    for (size_t d = 0;
         d < ULP_SEARCH_DRAWS && (failures <= may_fail || d < ENOUGH) && !is_over(search, d); d++) {
        bool failed = false;
        ULP_TRY(ulp_search_draw(search, d, lanes, search->judged_in_count, each, error));
        fold(search, each, judged);
        for (size_t t = 0; t < search->target_count; t++) {
            note(&search->verified[t], &judged[t]);
            failed |= !(judged[t].ratio <= 1);
        }
        failures += failed;
    }
    search->holds = hold(search);
    return ULP_OK;
}

void ulp_search_copy_draws(struct ulp_searcher *search, struct ulp_kept_draws *kept, bool back)
{
    for (size_t t = 0; t < search->target_count; t++) {
        struct ulp_search_verified *verified = &search->verified[t];
        double *ratios = verified->ratios;
        if (back)
            *verified = kept->of[t];
        else
            kept->of[t] = *verified;
        verified->ratios = ratios;
        memcpy(back ? ratios : kept->ratios[t], back ? kept->ratios[t] : ratios,
               sizeof kept->ratios[t]);
    }
}
