/* The causes of one node's share apart: the nodes that matter run once more in steps between the
 * reference and their own arithmetic (run/pass/stages.h), on the values that they had in the lane.
 */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/difference.h"
#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "run/pass/stages.h"
#include "run/pass/weigh.h"

/* What happens inside a node is taken apart from this part of the error on; the rest of a share is
 * the rounding of the result. */
#define MATTERS 0.005
/* So near the parts come to the share, or they are none of this run's; what is missing counts as
 * not taken apart. */
#define AGREES 1e-3
/* Introduced errors are kept as floats: a cause may be off by so much of what they make, magnitudes
 * added. */
#define UNIT 0x1p-24

enum ulp_status ulp_causes_keep(const struct ulp_course *course, size_t node,
                                const struct ulp_introduced *introduced, const double *cotangents,
                                double share, double gain, struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    struct ulp_attributed *lane = course->lane;
    const size_t bytes = introduced->count * sizeof *cotangents;
    void *memory;
    const struct ulp_plan_node *where = &attributor->plan->nodes[node];
    if (!attributor->causes || !(fabs(gain) >= MATTERS) ||
        (where->block == attributor->plan->main &&
         attributor->amounts[where->step->outputs[introduced->position]]) ||
        (!attributor->folder && bytes > lane->room))
        return ULP_OK;
    ULP_TRY(ulp_allocate_zero(&memory, 1, sizeof(struct ulp_owed), attributor->budget,
                              "causes of errors", error));
    struct ulp_owed *owed = memory;
    *owed = (struct ulp_owed){.next = lane->owed[node],
                              .execution = introduced->execution,
                              .count = introduced->count,
                              .group = course->group,
                              .position = introduced->position,
                              .share = share,
                              .gain = gain,
                              .bound = UNIT * ulp_weigh_magnitudes(attributor->pool, cotangents,
                                                                   introduced->kept.data,
                                                                   introduced->count)};
    lane->owed[node] = owed;
    lane->owed_any = true;
    ULP_TRY(ulp_allocate(&owed->kept.data, owed->count, sizeof *cotangents, attributor->budget,
                         "causes of errors", error));
    memcpy(owed->kept.data, cotangents, bytes);
    return ulp_attribution_settle(attributor, lane, &owed->kept, bytes, &lane->room, error);
}

void ulp_causes_drop(struct ulp_attributed *lane, size_t node)
{
    for (struct ulp_owed *owed = lane->owed[node], *next; owed; owed = next) {
        next = owed->next;
        ulp_attribution_forget(&owed->kept);
        ulp_free(owed);
    }
    lane->owed[node] = NULL;
}

/* ---- the second run ---- */

struct second {
    struct ulp_attributor *attributor;
    struct ulp_attributed *lane;
    const struct ulp_plan *plan; /* of the lane alone */
    const struct ulp_course *courses;
};

/* One execution of a node. */
struct visit {
    const struct second *second;
    const struct ulp_event *event;
    struct ulp_owed *owed; /* the list of its node */
};

static const struct ulp_tensor *find_result(const struct ulp_event *event, int position)
{
    for (size_t o = 0; o < event->output_count; o++)
        if (event->output_positions[o] == position)
            return event->values[o].held;
    return NULL;
}

/* The value less what was there before, which it then is. */
struct change {
    struct ulp_owed *owed;
    const struct ulp_tensor *value;
};

static enum ulp_status change_range(void *context, size_t begin, size_t end, int worker,
                                    struct ulp_error *error)
{
    const struct change *job = context;
    double x[ULP_METRICS_STRIP];
    (void)worker;
    (void)error;
    for (size_t first = begin, count; first < end; first += count) {
        double *before = job->owed->before + first, *change = job->owed->change + first;
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        ulp_side_read(x, job->value, first, count);
        for (size_t i = 0; i < count; i++) {
            const bool same = x[i] == before[i] || (isnan(x[i]) && isnan(before[i]));
            change[i] = same ? 0 : x[i] - before[i];
            before[i] = x[i];
        }
    }
    return ULP_OK;
}

/* What the node introduces off its result: the exact result that stages begin with. */
struct exact {
    const struct ulp_tensor *result;
    const float *introduced;
    double *out;
};

static enum ulp_status find_exact_range(void *context, size_t begin, size_t end, int worker,
                                        struct ulp_error *error)
{
    const struct exact *job = context;
    (void)worker;
    (void)error;
    for (size_t first = begin, count; first < end; first += count) {
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        ulp_side_read(job->out + first, job->result, first, count);
        for (size_t i = first; i < first + count; i++)
            job->out[i] -= (double)job->introduced[i];
    }
    return ULP_OK;
}

static double weigh_part(const void *context, size_t begin, size_t end)
{
    const struct ulp_owed *owed = context;
    const double *cotangents = owed->kept.data, *change = owed->first->change;
    double sums[8] = {0};
    size_t i = begin;
    for (; i + 8 <= end; i += 8)
        for (size_t j = 0; j < 8; j++)
            sums[j] += cotangents[i + j] * change[i + j];
    for (size_t j = 0; i < end; i++, j++)
        sums[j] += cotangents[i] * change[i];
    return ulp_weigh_eight(sums);
}

/* The first of several is told the change before the others. */
static double weigh_change(const struct visit *visit, struct ulp_owed *owed,
                           const struct ulp_tensor *value)
{
    struct ulp_pool *pool = visit->second->attributor->pool;
    struct change change = {owed, value};
    struct ulp_error error; /* none fails */
    if (owed->first == owed)
        ulp_parallel_for(pool, owed->count, ulp_grain(4), change_range, &change, &error);
    return ulp_weigh(pool, owed->count, weigh_part, owed);
}

static enum ulp_status look_at_stage(void *context, enum ulp_stage stage,
                                     const struct ulp_tensor *outputs, struct ulp_error *error)
{
    static const enum ulp_share_cause causes[ULP_STAGE_COUNT] = {ULP_SHARE_WEIGHTS,
                                                                 ULP_SHARE_INPUTS, ULP_SHARE_SUMS,
                                                                 ULP_SHARE_STEPS};
    const struct visit *visit = context;
    (void)error;
    for (struct ulp_owed *owed = visit->owed; owed; owed = owed->next)
        if (owed->first && outputs[owed->position].count == owed->count)
            owed->causes[causes[stage]] = weigh_change(visit, owed, &outputs[owed->position]);
    return ULP_OK;
}

/* What the node's inputs are in the lane; false: the event does not show all. */
static bool take_values(const struct ulp_event *event, const struct ulp_plan_node *node,
                        const struct ulp_tensor **values)
{
    const struct ulp_step *step = node->step;
    size_t next = 0;
    for (size_t i = 0; i < step->own_input_count; i++) {
        const int slot = step->inputs[i];
        values[i] = NULL;
        if (slot < 0 || node->block->slots[slot].constant)
            continue;
        if (next == event->input_count)
            return false;
        values[i] = event->inputs[next++].entire;
    }
    return next == event->input_count;
}

/* Room for what is looked at of an output, and its exact result. */
static enum ulp_status open_output(struct visit *visit, struct ulp_owed *owed,
                                   const struct ulp_tensor *result, struct ulp_tensor *exact,
                                   struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_attributor *attributor = visit->second->attributor;
    struct ulp_introduced *item = visit->second->lane->introduced[visit->event->index];
    owed->before = ulp_arena_room(arena, owed->count + 1, sizeof *owed->before);
    owed->change = ulp_arena_room(arena, owed->count + 1, sizeof *owed->change);
    ULP_TRY(ulp_taken(owed->before && owed->change, error));
    while (item->execution != owed->execution || item->position != owed->position)
        item = item->next;
    ULP_TRY(ulp_tensor_describe(exact, result->type, ULP_ELEMENT_F64, 0, result->rank, result->dims,
                                error));
    ULP_TRY(ulp_attribution_fetch(attributor, &item->kept, error));
    exact->data = owed->before;
    struct exact job = {result, item->kept.data, owed->before};
    enum ulp_status status = ulp_parallel_for(attributor->pool, owed->count, ulp_grain(4),
                                              find_exact_range, &job, error);
    ulp_attribution_release(&item->kept);
    return status;
}

static enum ulp_status open_visit(struct visit *visit, struct ulp_tensor *exact,
                                  struct ulp_arena *arena, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (struct ulp_owed *owed = visit->owed; owed && status == ULP_OK; owed = owed->next) {
        const struct ulp_tensor *result = find_result(visit->event, owed->position);
        owed->first = NULL;
        if (owed->execution != visit->event->execution || !result || result->count != owed->count)
            continue;
        status = ulp_attribution_fetch(visit->second->attributor, &owed->kept, error);
        struct ulp_owed *first = visit->owed;
        while (first != owed && (!first->first || first->position != owed->position))
            first = first->next;
        owed->first = first;
        if (first == owed && status == ULP_OK)
            status = open_output(visit, owed, result, &exact[owed->position], arena, error);
    }
    return status;
}

/* The last step, and what the parts come to. */
static void close_visit(const struct visit *visit, bool results_first)
{
    for (struct ulp_owed *owed = visit->owed; owed; owed = owed->next) {
        if (!owed->first)
            continue;
        double *total = visit->second->courses[owed->group].causes[visit->event->index];
        const double last = weigh_change(visit, owed, find_result(visit->event, owed->position)),
                     steps = owed->causes[ULP_SHARE_STEPS];
        owed->causes[ULP_SHARE_STEPS] = results_first ? last : steps;
        owed->causes[ULP_SHARE_RESULT] = results_first ? steps : last;
        double sum = 0;
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            sum += owed->causes[c];
        ulp_attribution_release(&owed->kept);
        if (!(fabs(sum - owed->share) <= AGREES * (1 + fabs(owed->share))))
            continue;
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            total[c] += owed->causes[c];
        total[ULP_SHARE_RESULT] -= owed->share - owed->gain;
        total[ULP_SHARE_INSIDE] += owed->share - sum - owed->gain;
    }
}

static enum ulp_status visit_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const struct second *second = context;
    const struct ulp_plan_node *node = &second->plan->nodes[event->index];
    struct visit visit = {.second = second,
                          .event = event,
                          .owed = second->lane->owed[event->index]};
    struct ulp_stages stages = {.mix = second->plan->mixes,
                                .block = node->block,
                                .step = node->step,
                                .budget = second->attributor->budget,
                                .pool = second->attributor->pool,
                                .stage = look_at_stage,
                                .context = &visit};
    bool results_first = false;
    struct ulp_arena *arena;
    if (!visit.owed || !ulp_stages_apply(&stages))
        return ULP_OK;
    ULP_TRY(ulp_arena_create(&arena, second->attributor->budget, error));
    const struct ulp_tensor **values =
        ulp_arena_take(arena, node->step->own_input_count + 1, sizeof *values);
    struct ulp_tensor *exact = ulp_arena_take(arena, node->step->output_count + 1, sizeof *exact);
    enum ulp_status status = ULP_OK;
    if (!values || !exact)
        status = ulp_out_of_memory(error);
    stages.values = values;
    stages.exact = exact;
    if (status == ULP_OK && take_values(event, node, values)) {
        status = open_visit(&visit, exact, arena, error);
        if (status == ULP_OK)
            status = ulp_stages_run(&stages, &results_first, error);
        if (status == ULP_OK)
            close_visit(&visit, results_first);
    }
    ulp_arena_free(arena);
    return status;
}

/* Causes that cannot be told from none are none; what they have goes to the largest, so that the
 * sum stays. */
static void drop_noise(const struct ulp_owed *list, size_t group, double *causes)
{
    double bound = 0;
    size_t largest = 0;
    for (const struct ulp_owed *owed = list; owed; owed = owed->next)
        bound += owed->group == group ? owed->bound : 0;
    if (!isfinite(bound)) /* and says nothing */
        return;
    for (size_t c = 1; c < ULP_SHARE_CAUSES; c++)
        if (fabs(causes[c]) > fabs(causes[largest]))
            largest = c;
    for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
        if (c != largest && c != ULP_SHARE_GRAPH && fabs(causes[c]) <= bound) {
            causes[largest] += causes[c];
            causes[c] = 0;
        }
}

enum ulp_status ulp_attribution_causes(struct ulp_attributor *attributor, size_t l,
                                       const struct ulp_course *courses, struct ulp_error *error)
{
    struct ulp_attributed *lane = &attributor->lanes[l];
    struct second second = {.attributor = attributor, .lane = lane, .courses = courses};
    const struct ulp_run_options options = {.thread_count =
                                                ulp_pool_thread_count(attributor->pool)};
    const struct ulp_observer observer = {.context = &second, .node_done = visit_node};
    struct ulp_alone alone;
    for (size_t g = 0; g < ulp_attribution_groups(attributor); g++)
        for (size_t n = 0; n < attributor->plan->node_count; n++) {
            const struct ulp_course *course = &courses[g];
            course->causes[n][ULP_SHARE_RESULT] =
                course->share[n] - course->gain[n] - course->causes[n][ULP_SHARE_GRAPH];
            course->causes[n][ULP_SHARE_INSIDE] = course->gain[n];
        }
    if (!lane->owed_any)
        return ULP_OK;
    enum ulp_status status =
        ulp_alone_create(attributor->plan, l + 1, false, attributor->inputs, &alone, error);
    second.plan = alone.plan;
    if (status == ULP_OK)
        status =
            ulp_plan_run(alone.plan, attributor->inputs, &options, &observer, 1, NULL, NULL, error);
    ulp_alone_free(&alone);
    for (size_t g = 0; g < ulp_attribution_groups(attributor) && status == ULP_OK; g++)
        for (size_t n = 0; n < attributor->plan->node_count; n++)
            if (lane->owed[n])
                drop_noise(lane->owed[n], g, courses[g].causes[n]);
    return status == ULP_ERROR_UNSUPPORTED ? ULP_OK : status;
}
