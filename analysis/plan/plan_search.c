/* The search: from all nodes kept to a set that no single node can leave. */
#include "analysis/plan/plan_search.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* Sets of about equally many sizes, by the order in which nodes would be released. */
#define FRONTIER_SETS 24

static enum ulp_status run_frontier(struct ulp_search *search, const bool *all, const size_t *order,
                                    size_t count, bool *work, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 1; i < FRONTIER_SETS && status == ULP_OK; i++) {
        double ratio;
        ulp_search_leave(search, all, order, 0, count * i / FRONTIER_SETS, work);
        status = ulp_search_judge_all(search, work, search->after, &ratio, error);
    }
    return status;
}

/* ---- the course ---- */

/* Starts with other estimates, and then the search from below, are made while the work is below so
 * many whole runs of all samples: some audits' time. */
#define STARTS_WORK 100
#define ADD_WORK 250
#define STARTS_MAX 12
/* A node without which the error is so many times too large stays. */
#define NEEDED_RATIO 100

/* The smallest set so far; of equal ones the one with fewer Casts, then the smaller error. */
struct best {
    bool *kept;
    double *without;
    size_t count, casts;
    double ratio;
    bool given;
};

static double find_work(const struct ulp_search *search)
{
    return ulp_emulation_work(&search->emulation) / (double)search->emulation.given.sample_count;
}

static enum ulp_status note_best(struct ulp_search *search, struct best *best,
                                 struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count,
                 count = ulp_search_count(search, search->kept);
    struct ulp_border *borders = NULL;
    size_t casts = 0;
    double ratio = 0;
    if (best->given && count > best->count)
        return ULP_OK;
    enum ulp_status status = ulp_search_keep(search, search->kept, error);
    if (status == ULP_OK)
        status = ulp_plan_borders(search->emulation.plan, 1, &borders, &casts, error);
    ulp_borders_free(borders);
    if (status == ULP_OK)
        status = ulp_search_judge_all(search, search->kept, search->after, &ratio, error);
    if (status != ULP_OK ||
        (best->given && count == best->count &&
         (casts > best->casts || (casts == best->casts && ratio >= best->ratio))))
        return status;
    memcpy(best->kept, search->kept, nodes * sizeof *best->kept);
    memcpy(best->without, search->without, nodes * sizeof *best->without);
    best->count = count;
    best->casts = casts;
    best->ratio = ratio;
    best->given = true;
    return ULP_OK;
}

/* From those nodes without which nothing is finite, or little: a smaller set than the best. */
static enum ulp_status search_from_below(struct ulp_search *search, struct best *best, bool *work,
                                         struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count;
    bool found = false;
    for (size_t n = 0; n < nodes; n++)
        search->kept[n] =
            search->always[n] || (best->kept[n] && !(best->without[n] <= NEEDED_RATIO));
    enum ulp_status status = ulp_search_add(search, best->count, work, &found, error);
    if (status == ULP_OK && found)
        status = ulp_search_release(search, ULP_ESTIMATE_CONDITION, work, error);
    return status == ULP_OK && found ? note_best(search, best, error) : status;
}

static enum ulp_status search_all(struct ulp_search *search, const bool *all, bool *work,
                                  struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count, bytes = nodes * sizeof *work;
    struct best best = {.kept = ulp_arena_take(search->emulation.memory, bytes + 1, 1),
                        .without =
                            ulp_arena_take(search->emulation.memory, nodes + 1, sizeof(double))};
    enum ulp_status status = best.kept && best.without ? ULP_OK : ulp_out_of_memory(error);
    size_t free_count = 0;
    for (size_t n = 0; n < nodes; n++)
        free_count += search->free[n];
    for (size_t start = 0; start < STARTS_MAX && status == ULP_OK &&
                           (start == 0 || (find_work(search) < STARTS_WORK && best.count > 1));
         start++) {
        memcpy(search->kept, all, bytes);
        status = ulp_search_release(search, start, work, error);
        if (status == ULP_OK)
            status = note_best(search, &best, error);
    }
    if (status == ULP_OK && best.count > 1 && find_work(search) + (double)free_count / 2 < ADD_WORK)
        status = search_from_below(search, &best, work, error);
    if (status != ULP_OK)
        return status;
    memcpy(search->kept, best.kept, bytes);
    memcpy(search->without, best.without, nodes * sizeof *best.without);
    return ULP_OK;
}

static enum ulp_status release(struct ulp_search *search, struct ulp_found *found,
                               struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count, budget = search->options->budget;
    bool *work = ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *work);
    bool *all = ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *all);
    size_t *order = ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *order), count = 0;
    if (!work || !all || !order)
        return ulp_out_of_memory(error);
    memcpy(all, search->kept, nodes * sizeof *all);
    enum ulp_status status = ulp_search_order(search, all, 0, order, &count, error);
    if (status == ULP_OK && found->reaches)
        status = search_all(search, all, work, error);
    else if (status == ULP_OK && budget && budget < count) /* the tolerance is no guide */
        ulp_search_leave(search, all, order, 0, count - budget, search->kept);
    if (status == ULP_OK && search->options->frontier)
        status = run_frontier(search, all, order, count, work, error);
    found->minimal = found->reaches;
    if (status == ULP_OK && budget &&
        ulp_search_count(search, search->kept) >
            budget + ulp_search_count(search, search->always)) {
        status = ulp_search_release_to(search, budget, work, error);
        found->minimal = false;
    }
    return status;
}

/* With every node kept. Where even so something is decided otherwise, figures are those with the
 * reference's decisions, as everywhere. */
static enum ulp_status run_whole(struct ulp_search *search, struct ulp_found *found,
                                 struct ulp_error *error)
{
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        search->kept[n] = search->always[n] || search->free[n];
    enum ulp_status status =
        ulp_search_judge_all(search, search->kept, search->after, &found->full, error);
    if (status != ULP_OK || !ulp_emulation_diverged(&search->emulation, search->after))
        return status;
    ulp_emulation_follow(&search->emulation);
    for (size_t n = 0; n <= search->emulation.plan->node_count; n++)
        search->seen[n] = NAN;
    status = ulp_search_judge_all(search, search->always, search->before, &found->before, error);
    return status == ULP_OK
               ? ulp_search_judge_all(search, search->kept, search->after, &found->full, error)
               : status;
}

enum ulp_status ulp_search_run(struct ulp_search *search, struct ulp_found *found,
                               struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count;
    memcpy(search->kept, search->always, nodes * sizeof *search->kept);
    enum ulp_status status =
        ulp_search_judge_all(search, search->kept, search->before, &found->before, error);
    found->met = found->minimal = found->reaches = status == ULP_OK && found->before <= 1;
    found->full = NAN;
    if (status == ULP_OK && !found->met) {
        status = run_whole(search, found, error);
        found->reaches = found->full <= 1;
        found->minimal = found->before <= 1;
        if (status == ULP_OK && found->minimal)
            memcpy(search->kept, search->always, nodes * sizeof *search->kept);
        else if (status == ULP_OK)
            status = release(search, found, error);
    }
    if (status == ULP_OK)
        status = ulp_search_judge_all(search, search->kept, search->after, &found->after, error);
    found->met = found->after <= 1;
    found->minimal &= found->met;
    return status;
}
