/* The search: from all nodes kept to a set that no single node can leave. */
#include "analysis/plan/search.h"

#include <math.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory for a plan");
}

static size_t count_kept(const struct ulp_search *search, const bool *kept)
{
    size_t count = 0;
    for (size_t n = 0; n < search->plan->node_count; n++)
        count += kept[n];
    return count;
}

/* Besides those that are always kept. */
static size_t count_left(const struct ulp_search *search)
{
    return count_kept(search, search->kept) - count_kept(search, search->always);
}

/* ---- trying a set ---- */

static enum ulp_status check_cancelled(const struct ulp_search *search, struct ulp_error *error)
{
    const struct ulp_observer *progress = search->options->progress;
    bool cancelled = false;
    if (progress && progress->cancelled) {
        struct ulp_environment *paused = ulp_environment_pause();
        cancelled = progress->cancelled(progress->context);
        ulp_environment_resume(paused);
    }
    return cancelled ? ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled while searching a plan")
                     : ULP_OK;
}

static enum ulp_status try_sample(struct ulp_search *search, const bool *kept, size_t sample,
                                  struct ulp_judgement *out, struct ulp_error *error)
{
    struct ulp_tensor_set outputs;
    enum ulp_status status = check_cancelled(search, error);
    if (status == ULP_OK)
        status = ulp_trial_run(search->trial, sample, kept, &outputs, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "%s", search->samples[sample].name);
    search->runs++;
    status = ulp_search_judge(search, &outputs, &search->truths[sample], out, error);
    ulp_tensor_set_free(&outputs);
    return status;
}

static void note_seen(struct ulp_search *search, const bool *kept, double ratio)
{
    double *seen = &search->seen[count_kept(search, kept)];
    if (!(*seen <= ratio))
        *seen = ratio;
}

/* A set that fails is left at its first sample that does; the sample that failed last is the
 * likeliest to fail again. */
static enum ulp_status try_set(struct ulp_search *search, const bool *kept, double *ratio,
                               struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    size_t tried = 0;
    *ratio = 0;
    for (; tried < search->sample_count && status == ULP_OK && *ratio <= 1; tried++) {
        const size_t sample = (search->first_sample + tried) % search->sample_count;
        struct ulp_judgement judgement;
        status = try_sample(search, kept, sample, &judgement, error);
        if (status != ULP_OK)
            return status;
        if (judgement.ratio <= 1)
            ulp_trial_accept(search->trial);
        else
            search->first_sample = sample;
        *ratio = fmax(*ratio, judgement.ratio);
    }
    if (tried == search->sample_count)
        note_seen(search, kept, *ratio);
    return status;
}

enum ulp_status ulp_search_judge_all(struct ulp_search *search, const bool *kept,
                                     struct ulp_judgement *judgements, double *ratio,
                                     struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *ratio = 0;
    for (size_t s = 0; s < search->sample_count && status == ULP_OK; s++) {
        status = try_sample(search, kept, s, &judgements[s], error);
        if (status == ULP_OK) {
            ulp_trial_accept(search->trial);
            *ratio = fmax(*ratio, judgements[s].ratio);
        }
    }
    if (status == ULP_OK)
        note_seen(search, kept, *ratio);
    return status;
}

/* ---- releasing ---- */

/* The set without some of the order's nodes. False: they had left before. */
static bool leave(const struct ulp_search *search, const bool *from, const size_t *order,
                  size_t first, size_t last, bool *out)
{
    bool changes = false;
    memcpy(out, from, search->plan->node_count * sizeof *out);
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
    const size_t bytes = search->plan->node_count * sizeof *work;
    size_t low = 0, high = count + 1; /* so many can go, so many cannot */
    bool *all = ulp_arena_take(search->memory, bytes + 1, 1);
    enum ulp_status status = all ? ULP_OK : out_of_memory(error);
    if (status == ULP_OK)
        memcpy(all, search->kept, bytes);
    while (high - low > 1 && status == ULP_OK) {
        const size_t middle = low + (high - low) / 2;
        double ratio;
        leave(search, all, order, 0, middle, work);
        status = try_set(search, work, &ratio, error);
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
        if (!leave(search, search->kept, order, i, ulp_size_min(i + group, count), work))
            continue;
        if (group == 1 && *failed == count_left(search))
            break; /* each of them has failed alone since the last one left */
        status = try_set(search, work, &ratio, error);
        if (status != ULP_OK)
            break;
        if (group == 1)
            search->without[order[i]] = ratio;
        *failed = ratio <= 1 ? 0 : *failed + (group == 1);
        *released |= ratio <= 1;
        if (ratio <= 1)
            memcpy(search->kept, work, search->plan->node_count * sizeof *work);
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
static enum ulp_status release_to(struct ulp_search *search, size_t budget, bool *work,
                                  struct ulp_error *error)
{
    const size_t nodes = search->plan->node_count;
    enum ulp_status status = ULP_OK;
    struct ulp_judgement *judgements =
        ulp_arena_take(search->memory, search->sample_count + 1, sizeof *judgements);
    if (!judgements)
        return out_of_memory(error);
    while (count_left(search) > budget && status == ULP_OK) {
        size_t best = nodes;
        double least = INFINITY, ratio;
        for (size_t n = 0; n < nodes && status == ULP_OK; n++) {
            if (!search->kept[n] || search->always[n])
                continue;
            leave(search, search->kept, &n, 0, 1, work);
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

/* Sets of about equally many sizes, by the order in which nodes would be released. */
#define FRONTIER_SETS 24

static enum ulp_status run_frontier(struct ulp_search *search, const bool *all, const size_t *order,
                                    size_t count, bool *work, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 1; i < FRONTIER_SETS && status == ULP_OK; i++) {
        double ratio;
        leave(search, all, order, 0, count * i / FRONTIER_SETS, work);
        status = ulp_search_judge_all(search, work, search->after, &ratio, error);
    }
    return status;
}

/* ---- the course ---- */

static enum ulp_status release(struct ulp_search *search, struct ulp_found *found,
                               struct ulp_error *error)
{
    const size_t nodes = search->plan->node_count;
    bool *work = ulp_arena_take(search->memory, nodes + 1, sizeof *work);
    bool *all = ulp_arena_take(search->memory, nodes + 1, sizeof *all);
    size_t *order = ulp_arena_take(search->memory, nodes + 1, sizeof *order), count = 0,
           budget = search->options->budget;
    if (!work || !all || !order)
        return out_of_memory(error);
    memcpy(all, search->kept, nodes * sizeof *all);
    enum ulp_status status = ulp_search_order(search, all, order, &count, error);
    if (status == ULP_OK && found->reaches)
        status = release_first(search, order, count, work, error);
    else if (status == ULP_OK && budget && budget < count) /* the tolerance is no guide */
        leave(search, all, order, 0, count - budget, search->kept);
    if (status == ULP_OK && search->options->frontier)
        status = run_frontier(search, all, order, count, work, error);
    if (status == ULP_OK && found->reaches)
        status = ulp_search_order(search, search->kept, order, &count, error);
    if (status == ULP_OK && found->reaches)
        status = release_each(search, order, count, work, error);
    found->minimal = found->reaches;
    if (status == ULP_OK && budget && count_left(search) > budget) {
        status = release_to(search, budget, work, error);
        found->minimal = false;
    }
    return status;
}

enum ulp_status ulp_search_run(struct ulp_search *search, struct ulp_found *found,
                               struct ulp_error *error)
{
    const size_t nodes = search->plan->node_count;
    memcpy(search->kept, search->always, nodes * sizeof *search->kept);
    enum ulp_status status =
        ulp_search_judge_all(search, search->kept, search->before, &found->before, error);
    found->met = found->minimal = found->reaches = status == ULP_OK && found->before <= 1;
    found->full = NAN;
    if (status == ULP_OK && !found->met) {
        for (size_t n = 0; n < nodes; n++)
            search->kept[n] |= search->free[n];
        status = ulp_search_judge_all(search, search->kept, search->after, &found->full, error);
        found->reaches = found->full <= 1;
        if (status == ULP_OK)
            status = release(search, found, error);
    }
    if (status == ULP_OK)
        status = ulp_search_judge_all(search, search->kept, search->after, &found->after, error);
    found->met = found->after <= 1;
    found->minimal &= found->met;
    return status;
}
