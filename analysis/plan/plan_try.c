/* Running a set of nodes and judging it. */
#include "analysis/plan/plan_search.h"

size_t ulp_search_count(const struct ulp_search *search, const bool *kept)
{
    size_t count = 0;
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        count += kept[n];
    return count;
}

const uint16_t *ulp_search_as_run(const struct ulp_search *search, const bool *kept)
{
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        search->runs_with[n] = kept[n];
    return search->runs_with;
}

static void note_seen(struct ulp_search *search, const bool *kept, double ratio)
{
    double *seen = &search->seen[ulp_search_count(search, kept)];
    if (!(*seen <= ratio))
        *seen = ratio;
}

enum ulp_status ulp_search_try(struct ulp_search *search, const bool *kept, double *ratio,
                               struct ulp_error *error)
{
    bool all = false;
    const enum ulp_status status =
        ulp_emulation_try(&search->emulation, ulp_search_as_run(search, kept), ratio, &all, error);
    if (status == ULP_OK && all)
        note_seen(search, kept, *ratio);
    return status;
}

enum ulp_status ulp_search_judge_all(struct ulp_search *search, const bool *kept,
                                     struct ulp_judgement *judgements, double *ratio,
                                     struct ulp_error *error)
{
    const enum ulp_status status =
        ulp_emulation_judge_all(&search->emulation, ulp_search_as_run(search, kept), judgements,
                                ratio, error);
    if (status == ULP_OK)
        note_seen(search, kept, *ratio);
    return status;
}
