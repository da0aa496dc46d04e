/* Emulating an allocation, and what is remembered of it. */
#include <math.h>
#include <string.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

size_t ulp_search_choice_of(const struct ulp_searcher *search, const ulp_pick *of, size_t node)
{
    return search->layer_of[node] >= 0 ? of[search->layer_of[node]]
           : search->fixed[node] >= 0  ? (size_t)search->fixed[node]
                                       : search->base;
}

/* Runs count the other choices from 1 on. */
const uint16_t *ulp_search_as_run(const struct ulp_searcher *search, const ulp_pick *of)
{
    for (size_t n = 0; n < search->emulation.program->node_count; n++) {
        const size_t choice = ulp_search_choice_of(search, of, n);
        search->kept[n] = (uint16_t)(choice == search->base ? 0 : choice + (choice < search->base));
    }
    return search->kept;
}

enum ulp_status ulp_search_keeps(const struct ulp_searcher *search, const ulp_pick *of,
                                 struct ulp_keeps *out, struct ulp_error *error)
{
    const size_t count = search->emulation.program->node_count;
    struct ulp_arena *memory = search->emulation.memory;
    size_t *nodes = ulp_arena_take(memory, count + 1, sizeof *nodes), used = 0;
    struct ulp_keep *keeps = ulp_arena_take(memory, search->choice_count, sizeof *keeps);
    *out = (struct ulp_keeps){.items = keeps};
    ULP_TRY(ulp_taken(nodes && keeps, error));
    for (size_t c = 0; c < search->choice_count; c++) {
        struct ulp_keep *keep = &keeps[out->count];
        *keep =
            (struct ulp_keep){.nodes = &nodes[used], .arithmetic = search->choices[c].arithmetic};
        for (size_t n = 0; n < count && c != search->base; n++)
            if (ulp_search_choice_of(search, of, n) == c)
                nodes[used + keep->node_count++] = n;
        used += keep->node_count;
        out->count += keep->node_count > 0;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_keep(struct ulp_searcher *search, const ulp_pick *of,
                                struct ulp_error *error)
{
    struct ulp_keeps keeps;
    ULP_TRY(ulp_search_keeps(search, of, &keeps, error));
    return ulp_emulation_keep(&search->emulation, &keeps, error);
}

void ulp_search_make_best(struct ulp_searcher *search, const ulp_pick *of, double ratio)
{
    memcpy(search->best, of, search->layer_count * sizeof *of);
    search->best_cost = ulp_search_cost(search, of);
    search->best_ratio = ratio;
    search->given = true;
    search->minimal = false;
}

/* emulated: the ratio without what the model expects. */
static void remember(struct ulp_searcher *search, const ulp_pick *of, double emulated, double ratio)
{
    const double cost = ulp_search_cost(search, of);
    search->seen_count++;
    const bool within = search->limit < INFINITY, cheaper = cost < search->best_cost,
               nearer = ratio < search->best_ratio;
    if (within ? !(cost <= search->limit && emulated <= search->most) : !(ratio <= 1))
        return;
    if (!search->given || (within ? nearer || (cheaper && ratio == search->best_ratio)
                                  : cheaper || (nearer && cost == search->best_cost)))
        ulp_search_make_best(search, of, ratio);
}

/* What is emulated, or what the model expects where that is limited and comes to more. */
static double find_ratio(const struct ulp_searcher *search, const ulp_pick *of, double ratio)
{
    const double limit = search->options->expected;
    return limit > 0 && search->measured
               ? ulp_math_max(ratio, ulp_search_expect(search, of) / limit)
               : ratio;
}

double ulp_search_judge_again(struct ulp_searcher *search, const ulp_pick *of, double emulated)
{
    const double ratio = find_ratio(search, of, emulated);
    remember(search, of, emulated, ratio);
    return ratio;
}

/* Something was tried before the time was over, so that there is a result. */
static bool is_over(struct ulp_searcher *search)
{
    search->over |= search->seen_count > 0 && ulp_seconds_now() > search->deadline;
    return search->over;
}

/* Around a run, which the time ends at the sample that it has come to. */
static void begin_run(struct ulp_searcher *search)
{
    search->emulation.deadline =
        search->seen_count > 0 && search->deadline < INFINITY ? search->deadline : 0;
}

static bool ends_late(struct ulp_searcher *search)
{
    search->emulation.deadline = 0;
    search->over |= search->emulation.late;
    return search->emulation.late;
}

enum ulp_status ulp_search_judge(struct ulp_searcher *search, const ulp_pick *of,
                                 struct ulp_judgement *judgements, double *ratio,
                                 struct ulp_error *error)
{
    *ratio = INFINITY;
    if (is_over(search))
        return ULP_OK;
    begin_run(search);
    ULP_TRY(ulp_emulation_judge_all(&search->emulation, ulp_search_as_run(search, of), judgements,
                                    ratio, error));
    if (ends_late(search))
        return ULP_OK;
    search->emulated = *ratio;
    *ratio = ulp_search_judge_again(search, of, search->emulated);
    return ULP_OK;
}

enum ulp_status ulp_search_emulate(struct ulp_searcher *search, const ulp_pick *of, double *ratio,
                                   struct ulp_error *error)
{
    return ulp_search_judge(search, of, NULL, ratio, error);
}

enum ulp_status ulp_search_try(struct ulp_searcher *search, const ulp_pick *of, double *ratio,
                               struct ulp_error *error)
{
    bool all = false;
    *ratio = INFINITY;
    if (is_over(search))
        return ULP_OK;
    const double expected = find_ratio(search, of, 0);
    if (expected > 1) {
        *ratio = expected;
        return ULP_OK;
    }
    begin_run(search);
    ULP_TRY(
        ulp_emulation_try(&search->emulation, ulp_search_as_run(search, of), ratio, &all, error));
    if (!ends_late(search) && all)
        remember(search, of, *ratio, *ratio);
    return ULP_OK;
}

bool ulp_search_same(const struct ulp_searcher *search, ulp_pick choice, ulp_pick *out)
{
    bool fits = true;
    for (size_t l = 0; l < search->layer_count; l++) {
        fits &= search->layers[l].bits[choice] > 0;
        out[l] = choice;
    }
    return fits;
}

enum ulp_status ulp_search_run_widest(struct ulp_searcher *search, ulp_pick *work, bool *follows,
                                      struct ulp_error *error)
{
    ulp_search_same(search, 0, work);
    ULP_TRY(ulp_search_judge(search, work, search->judgements, &search->full, error));
    if (search->over)
        search->full = NAN; /* not run */
    *follows = !search->over && ulp_emulation_diverged(&search->emulation, search->judgements);
    if (!*follows)
        return ULP_OK;
    ulp_emulation_follow(&search->emulation);
    search->seen_count = 0;
    search->given = false;
    return ulp_search_emulate(search, work, &search->full, error);
}

double ulp_search_work(const struct ulp_searcher *search)
{
    return ulp_emulation_work(&search->emulation) / (double)search->emulation.given.sample_count;
}
