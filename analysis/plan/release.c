/* Nodes leave a set that meets the tolerance, or join one that does not. */
#include "analysis/plan/plan_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Besides those that are always kept. */
static size_t count_left(const struct ulp_search *search)
{
    return ulp_search_count(search, search->kept) - ulp_search_count(search, search->always);
}

/* The set without some of the order's nodes. False: they had left before. */
bool ulp_search_leave(const struct ulp_search *search, const bool *from, const size_t *order,
                      size_t first, size_t last, bool *out)
{
    bool changes = false;
    memcpy(out, from, search->emulation.plan->node_count * sizeof *out);
    for (size_t i = first; i < last; i++) {
        changes |= out[order[i]];
        out[order[i]] = false;
    }
    return changes;
}

/* As many of the order's first nodes at once as can go, by bisection. */
static enum ulp_status release_first(struct ulp_search *search, const size_t *order, size_t count,
                                     bool *work, struct ulp_error *error)
{
    const size_t bytes = search->emulation.plan->node_count * sizeof *work;
    size_t low = 0, high = count + 1; /* so many can go, so many cannot */
    bool *all = ulp_arena_take(search->emulation.memory, bytes + 1, 1);
    enum ulp_status status = all ? ULP_OK : ulp_out_of_memory(error);
    if (status == ULP_OK)
        memcpy(all, search->kept, bytes);
    while (high - low > 1 && status == ULP_OK) {
        const size_t middle = low + (high - low) / 2;
        double ratio;
        ulp_search_leave(search, all, order, 0, middle, work);
        status = ulp_search_try(search, work, &ratio, error);
        if (status != ULP_OK || ratio > 1) {
            high = middle;
            continue;
        }
        low = middle;
        memcpy(search->kept, work, bytes);
    }
    return status;
}

/* One pass over the order in groups. *released: some have left. */
static enum ulp_status release_groups(struct ulp_search *search, const size_t *order, size_t count,
                                      size_t group, bool *work, size_t *failed, bool *released,
                                      struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *released = false;
    for (size_t i = 0; i < count && status == ULP_OK; i += group) {
        double ratio;
        if (!ulp_search_leave(search, search->kept, order, i, ulp_size_min(i + group, count), work))
            continue;
        if (group == 1 && *failed == count_left(search))
            break; /* each of them has failed alone since the last one left */
        status = ulp_search_try(search, work, &ratio, error);
        if (status != ULP_OK)
            break;
        if (group == 1)
            search->without[order[i]] = ratio;
        *failed = ratio <= 1 ? 0 : *failed + (group == 1);
        *released |= ratio <= 1;
        if (ratio <= 1)
            memcpy(search->kept, work, search->emulation.plan->node_count * sizeof *work);
    }
    return status;
}

/* An eighth of the order at once, then half of that and so on, then each node, until none can go.
 */
static enum ulp_status release_each(struct ulp_search *search, const size_t *order, size_t count,
                                    bool *work, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    size_t failed = 0;
    bool released = true;
    for (size_t group = (count + 7) / 8; status == ULP_OK && (group > 1 || released);) {
        status = release_groups(search, order, count, group, work, &failed, &released, error);
        released |= group > 1;
        group = group > 1 ? group / 2 : 1;
    }
    return status;
}

/* Beyond the tolerance: of all nodes the one without which the error is least goes, until no more
 * than `budget` are left. */
enum ulp_status ulp_search_release_to(struct ulp_search *search, size_t budget, bool *work,
                                      struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count;
    enum ulp_status status = ULP_OK;
    struct ulp_judgement *judgements =
        ulp_arena_take(search->emulation.memory, search->emulation.given.sample_count + 1,
                       sizeof *judgements);
    if (!judgements)
        return ulp_out_of_memory(error);
    while (count_left(search) > budget && status == ULP_OK) {
        size_t best = nodes;
        double least = INFINITY, ratio;
        for (size_t n = 0; n < nodes && status == ULP_OK; n++) {
            if (!search->kept[n] || search->always[n])
                continue;
            ulp_search_leave(search, search->kept, &n, 0, 1, work);
            status = ulp_search_judge_all(search, work, judgements, &ratio, error);
            search->without[n] = ratio;
            if (status == ULP_OK && (best == nodes || ratio < least)) {
                best = n;
                least = ratio;
            }
        }
        if (best < nodes)
            search->kept[best] = false;
    }
    return status;
}

enum ulp_status ulp_search_release(struct ulp_search *search, size_t start, bool *work,
                                   struct ulp_error *error)
{
    size_t *order = ulp_arena_take(search->emulation.memory, search->emulation.plan->node_count + 1,
                                   sizeof *order),
           count = 0;
    if (!order)
        return ulp_out_of_memory(error);
    enum ulp_status status = ulp_search_order(search, search->kept, start, order, &count, error);
    if (status == ULP_OK)
        status = release_first(search, order, count, work, error);
    if (status == ULP_OK)
        status = ulp_search_order(search, search->kept, start, order, &count, error);
    return status == ULP_OK ? release_each(search, order, count, work, error) : status;
}

/* ---- adding ---- */

/* After the first round only so many that helped most are tried again. */
#define CANDIDATES 24

struct candidate {
    size_t node;
    double ratio;
};

static int by_ratio(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->ratio < y->ratio ? -1 : x->ratio > y->ratio ? 1 : x->node < y->node ? -1 : 1;
}

/* Each candidate in addition to what is kept; then they are in order. */
static enum ulp_status try_candidates(struct ulp_search *search, struct candidate *candidates,
                                      size_t count, bool *work, struct ulp_judgement *judgements,
                                      struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    memcpy(work, search->kept, search->emulation.plan->node_count * sizeof *work);
    for (size_t c = 0; c < count && status == ULP_OK; c++) {
        work[candidates[c].node] = true;
        status = ulp_search_judge_all(search, work, judgements, &candidates[c].ratio, error);
        work[candidates[c].node] = false;
    }
    qsort(candidates, count, sizeof *candidates, by_ratio);
    return status;
}

enum ulp_status ulp_search_add(struct ulp_search *search, size_t than, bool *work, bool *found,
                               struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count;
    struct candidate *candidates =
        ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *candidates);
    struct ulp_judgement *judgements =
        ulp_arena_take(search->emulation.memory, search->emulation.given.sample_count + 1,
                       sizeof *judgements);
    size_t count = 0;
    if (!candidates || !judgements)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < nodes; n++)
        if (search->free[n] && !search->kept[n])
            candidates[count++] = (struct candidate){.node = n};
    enum ulp_status status = ULP_OK;
    *found = false;
    while (!*found && count && ulp_search_count(search, search->kept) + 1 < than &&
           status == ULP_OK) {
        status = try_candidates(search, candidates, count, work, judgements, error);
        search->kept[candidates[0].node] = true;
        *found = status == ULP_OK && candidates[0].ratio <= 1;
        count = ulp_size_min(count, CANDIDATES + 1) - 1;
        memmove(candidates, candidates + 1, count * sizeof *candidates);
    }
    return status;
}
