/* The search: the model proposes, emulation says what is true, and the model learns from it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "base/random.h"
#include "number/function/math.h"

/* Starts, and then exchanges, are made while the work is below so many whole runs of all samples:
 * some audits' time. */
#define STARTS_WORK 500
#define EXCHANGE_WORK 700
#define STARTS_MAX 12
#define APPROACHES 8

static bool may_go_on(const struct ulp_bits_search *search, double work)
{
    return !search->over && ulp_bits_work(search) < work;
}

/* ---- starts ---- */

struct start {
    double *powers;    /* as measured */
    ulp_bits_of *base; /* the best of one format for all layers */
    double base_cost, base_ratio;
    ulp_bits_of *work;
    struct ulp_bits_found found;
};

static enum ulp_status make_start(const struct ulp_bits_search *search, struct start *out,
                                  struct ulp_error *error)
{
    const size_t layers = search->layer_count + 1;
    struct ulp_arena *memory = search->emulation.memory;
    *out = (struct start){.powers = ulp_arena_take(memory, layers, sizeof *out->powers),
                          .work = ulp_arena_take(memory, layers, sizeof *out->work),
                          .base = ulp_arena_take(memory, layers, sizeof *out->base),
                          .base_cost = search->best_cost,
                          .base_ratio = search->best_ratio,
                          .found.of = ulp_arena_take(memory, layers, sizeof *out->found.of)};
    if (!out->powers || !out->work || !out->base || !out->found.of)
        return ulp_out_of_memory(error);
    memcpy(out->base, search->best, search->layer_count * sizeof *out->base);
    for (size_t l = 0; l < search->layer_count; l++)
        out->powers[l] = search->layers[l].power;
    return ULP_OK;
}

/* Where errors are too large to be added, no model is right, and other ones lead elsewhere: the
 * first learns from the best found, the next change every power by a random factor. */
static void set_model(struct ulp_bits_search *search, const struct start *start, size_t number)
{
    const double widest = 3; /* as log2 */
    if (number == 1) {
        ulp_bits_learn(search);
        return;
    }
    for (size_t l = 0; l < search->layer_count && number > 0; l++)
        search->layers[l].power =
            start->powers[l] * ulp_math_exp2(widest * (2 * ulp_random_uniform(number, l) - 1));
}

/* Layers that no model describes, say where a rounding decides, spoil all that it proposes: from
 * the cheapest that keeps to the tolerance to the model's own, as far as that goes. */
static enum ulp_status merge_start(struct ulp_bits_search *search, struct start *start,
                                   struct ulp_error *error)
{
    const size_t bytes = search->layer_count * sizeof *start->work;
    struct ulp_bits_found *found = &start->found;
    if (!found->given || found->cost > start->base_cost) {
        memcpy(found->of, start->base, bytes);
        found->given = true;
        found->ratio = start->base_ratio;
    }
    if (!ulp_bits_solve(search, search->allowed * ulp_bits_factor(search), start->work))
        return ULP_OK;
    const enum ulp_status status =
        ulp_bits_merge(search, start->work, found->of, &found->ratio, error);
    found->cost = ulp_bits_cost(search, found->of);
    return status;
}

static enum ulp_status run_starts(struct ulp_bits_search *search, struct ulp_error *error)
{
    struct start start;
    enum ulp_status status = make_start(search, &start, error);
    for (size_t number = 0;
         number < STARTS_MAX && status == ULP_OK && (number == 0 || may_go_on(search, STARTS_WORK));
         number++) {
        set_model(search, &start, number);
        start.found.given = false;
        status = ulp_bits_approach(search, APPROACHES, start.work, &start.found, error);
        if (status == ULP_OK)
            status = merge_start(search, &start, error);
        if (status == ULP_OK && start.found.given)
            status = ulp_bits_descend(search, start.found.of, &start.found.ratio, false, error);
    }
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].power = search->layers[l].prior;
    return status;
}

/* From the best on until no single layer of it can get fewer bits. */
static enum ulp_status finish(struct ulp_bits_search *search, ulp_bits_of *work,
                              struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (double before = INFINITY; search->given && !search->minimal && !search->over &&
                                   search->best_cost < before && status == ULP_OK;) {
        double ratio = search->best_ratio;
        before = search->best_cost;
        memcpy(work, search->best, search->layer_count * sizeof *work);
        status = ulp_bits_descend(search, work, &ratio, false, error);
    }
    return status;
}

/* ---- exchange ---- */

/* One layer gets a bit more, others what that allows: as long as it helps. */
static enum ulp_status exchange(struct ulp_bits_search *search, ulp_bits_of *work,
                                struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    size_t since = 0; /* layers that did not help since one did */
    for (size_t l = 0;
         since < search->layer_count && status == ULP_OK && may_go_on(search, EXCHANGE_WORK);
         l = (l + 1) % search->layer_count) {
        const double before = search->best_cost;
        double ratio;
        const ptrdiff_t higher = ulp_bits_higher(search, l, search->best[l]);
        since++;
        if (higher < 0)
            continue;
        memcpy(work, search->best, search->layer_count * sizeof *work);
        work[l] = (ulp_bits_of)higher;
        status = ulp_bits_try(search, work, &ratio, error);
        if (status == ULP_OK && ratio <= 1)
            status = ulp_bits_descend(search, work, &ratio, true, error);
        if (search->best_cost < before)
            since = 0;
    }
    return status == ULP_OK ? finish(search, work, error) : status;
}

/* ---- the course ---- */

static enum ulp_status run_widest(struct ulp_bits_search *search, ulp_bits_of *work,
                                  struct ulp_error *error)
{
    struct ulp_judgement *judgements =
        ulp_arena_take(search->emulation.memory, search->emulation.given.sample_count + 1,
                       sizeof *judgements);
    if (!judgements)
        return ulp_out_of_memory(error);
    ulp_bits_same(search, 0, work);
    memset(search->kept, 0, search->emulation.plan->node_count * sizeof *search->kept);
    enum ulp_status status =
        ulp_emulation_judge_all(&search->emulation, search->kept, judgements, &search->full, error);
    if (status == ULP_OK && ulp_emulation_diverged(&search->emulation, judgements))
        ulp_emulation_follow(&search->emulation);
    return status == ULP_OK ? ulp_bits_emulate(search, work, &search->full, error) : status;
}

enum ulp_status ulp_bits_run(struct ulp_bits_search *search, struct ulp_bits *out,
                             struct ulp_error *error)
{
    ulp_bits_of *work =
        ulp_arena_take(search->emulation.memory, search->layer_count + 1, sizeof *work);
    out->uniform = -1;
    search->allowed = 1;
    enum ulp_status status = work ? run_widest(search, work, error) : ulp_out_of_memory(error);
    if (status != ULP_OK || !search->layer_count)
        return status;
    status = ulp_bits_uniforms(search, out, error);
    if (status == ULP_OK)
        status = ulp_bits_measure(search, work, error);
    if (status == ULP_OK)
        status = ulp_bits_uniforms_again(search, out, error);
    if (status == ULP_OK && search->given)
        status = run_starts(search, error);
    if (status == ULP_OK)
        status = finish(search, work, error);
    if (status == ULP_OK && search->given)
        status = exchange(search, work, error);
    if (status == ULP_OK)
        status = ulp_bits_frontier(search, out, error);
    search->allowed = 1;
    if (status == ULP_OK) /* the frontier may have met the tolerance with fewer bits */
        status = finish(search, work, error);
    return status == ULP_OK ? ulp_bits_points(search, out, error) : status;
}
