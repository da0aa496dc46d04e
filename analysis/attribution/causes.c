/* The causes of one node's share apart: the nodes that matter run once more in steps between the
 * reference and their own arithmetic (run/pass/stages.h), on the values that they had in the lane:
 * while the sweep is at them, or, where those are not kept, in another run of the lane. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/difference.h"
#include "base/memory/alloc.h"
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

static const struct ulp_mix *mix_of(const struct ulp_course *course)
{
    const struct ulp_attributor *attributor = course->attributor;
    return &attributor->program->mixes[1 + (course->lane - attributor->lanes)];
}

/* Is all that the node reads and gives kept as the lane holds it, and nothing read for another
 * lane's sake (integers of qdq=integer)? Its causes are found as soon as it is told what it is
 * owed, then. */
static bool is_shown(const struct ulp_course *course, const struct ulp_program_node *node)
{
    const struct ulp_attributed *lane = course->lane;
    const struct ulp_program *program = course->attributor->program;
    const struct ulp_mix *mix = mix_of(course);
    const struct ulp_step *step = node->step;
    bool shown = node->block == program->main && !mix->of_node && !mix->fusion &&
                 !mix->items->batchnorm_folded && !lane->nonfinite &&
                 step->input_count == step->own_input_count;
    for (size_t i = 0; i < step->own_input_count && shown; i++)
        shown = step->inputs[i] < 0 || program->main->slots[step->inputs[i]].constant ||
                lane->as_held[step->inputs[i]];
    for (size_t o = 0; o < step->output_count && shown; o++)
        shown = step->outputs[o] < 0 || lane->as_held[step->outputs[o]];
    return shown;
}

/* What is not taken apart: the rounding of the result, and the rest. */
static void begin_causes(const struct ulp_course *course, size_t node)
{
    double *causes = course->nodes[node].causes;
    causes[ULP_SHARE_RESULT] =
        course->nodes[node].share - course->nodes[node].gain - causes[ULP_SHARE_GRAPH];
    causes[ULP_SHARE_INSIDE] = course->nodes[node].gain;
}

enum ulp_status ulp_causes_keep(const struct ulp_course *course, size_t node,
                                const struct ulp_introduced *introduced, const double *cotangents,
                                double share, double gain, struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    struct ulp_attributed *lane = course->lane;
    const size_t bytes = introduced->count * sizeof *cotangents;
    struct ulp_owed *owed;
    const struct ulp_program_node *where = &attributor->program->nodes[node];
    const bool shown = is_shown(course, where);
    begin_causes(course, node);
    if (!attributor->causes || !(fabs(gain) >= MATTERS) ||
        (where->block == attributor->program->main &&
         attributor->amounts[where->step->outputs[introduced->position]]) ||
        (!shown && !attributor->folder && bytes > lane->room))
        return ULP_OK;
    ULP_TRY(
        ulp_allocate_zero(&owed, 1, sizeof *owed, attributor->budget, "causes of errors", error));
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
    if (shown) {
        owed->borrowed = true;
        owed->kept.data = (double *)(uintptr_t)cotangents; /* which are read */
        return ULP_OK;
    }
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
        if (!owed->borrowed)
            ulp_attribution_forget(&owed->kept);
        ulp_free(owed);
    }
    lane->owed[node] = NULL;
}

bool ulp_causes_wait(const struct ulp_attributed *lane, size_t node)
{
    const struct ulp_owed *owed = lane->owed[node];
    while (owed && owed->visited)
        owed = owed->next;
    return owed != NULL;
}

/* ---- one execution of a node ---- */

struct visit {
    struct ulp_attributor *attributor;
    struct ulp_attributed *lane;
    const struct ulp_course *courses; /* by group */
    size_t node, execution;
    const struct ulp_tensor **values;  /* by own input, as the lane holds them; NULL: constants */
    const struct ulp_tensor **results; /* by output; NULL: not shown */
    struct ulp_owed *owed;             /* the list of the node */
};

/* The value less what was there before, which it then is. */
struct change {
    struct ulp_owed *owed;
    const struct ulp_tensor *value;
};

static void form_change(const struct change *job, size_t first, size_t count)
{
    double x[ULP_METRICS_STRIP], *before = job->owed->before + first,
                                 *change = job->owed->change + first;
    ulp_side_read(x, job->value, first, count);
    for (size_t i = 0; i < count; i++) {
        const bool same = x[i] == before[i] || (isnan(x[i]) && isnan(before[i]));
        change[i] = same ? 0 : x[i] - before[i];
        before[i] = x[i];
    }
}

/* What the node introduces off its result: the exact result that stages begin with. */
struct exact {
    const struct ulp_tensor *result;
    const float *introduced;
    double *out;
};

ULP_WORK(find_exact_range)
{
    const struct exact *job = context;
    for (size_t at = first, count; at < last; at += count) {
        count = ulp_size_min(last - at, ULP_METRICS_STRIP);
        ulp_side_read(job->out + at, job->result, at, count);
        for (size_t i = at; i < at + count; i++)
            job->out[i] -= (double)job->introduced[i];
    }
    return ULP_OK;
}

/* The first of several is told the change before the others. */
static double weigh_part(const void *context, size_t begin, size_t end)
{
    const struct change *job = context;
    const struct ulp_owed *owed = job->owed;
    double sums[8] = {0};
    for (size_t first = begin, count; first < end; first += count) {
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        if (owed->first == owed)
            form_change(job, first, count);
        const double *cotangents = (const double *)owed->kept.data + first,
                     *change = owed->first->change + first;
        size_t i = 0;
        for (; i + 8 <= count; i += 8)
            for (size_t j = 0; j < 8; j++)
                sums[j] += cotangents[i + j] * change[i + j];
        for (size_t j = 0; i < count; i++, j++)
            sums[j] += cotangents[i] * change[i];
    }
    return ulp_weigh_eight(sums);
}

static double weigh_change(const struct visit *visit, struct ulp_owed *owed,
                           const struct ulp_tensor *value)
{
    const struct change change = {owed, value};
    return ulp_weigh(visit->attributor->pool, owed->count, weigh_part, &change);
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

/* Room for what is looked at of an output, and its exact result. */
static enum ulp_status open_output(struct visit *visit, struct ulp_owed *owed,
                                   const struct ulp_tensor *result, struct ulp_tensor *exact,
                                   struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_attributor *attributor = visit->attributor;
    struct ulp_introduced *item = visit->lane->introduced[visit->node];
    owed->before = ulp_arena_room(arena, owed->count + 1, sizeof *owed->before);
    owed->change = ulp_arena_room(arena, owed->count + 1, sizeof *owed->change);
    ULP_TRY(ulp_taken(owed->before && owed->change, error));
    while (item->execution != owed->execution || item->position != owed->position)
        item = item->next;
    ULP_TRY(ulp_tensor_describe(exact, result->type, ULP_ELEMENT_F64, 0, result->rank, result->dims,
                                error));
    exact->data = owed->before;
    struct exact job = {result, item->kept.data, owed->before};
    return ulp_parallel_for(attributor->pool, owed->count, ulp_grain(4), find_exact_range, &job,
                            error);
}

static enum ulp_status open_visit(struct visit *visit, struct ulp_tensor *exact,
                                  struct ulp_arena *arena, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (struct ulp_owed *owed = visit->owed; owed && status == ULP_OK; owed = owed->next) {
        const struct ulp_tensor *result = visit->results[owed->position];
        owed->first = NULL;
        if (owed->visited || owed->execution != visit->execution || !result ||
            result->count != owed->count)
            continue;
        struct ulp_owed *first = visit->owed;
        while (first != owed && (!first->first || first->position != owed->position))
            first = first->next;
        owed->first = first;
        if (first == owed)
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
        double *total = visit->courses[owed->group].nodes[visit->node].causes;
        const double last = weigh_change(visit, owed, visit->results[owed->position]),
                     steps = owed->causes[ULP_SHARE_STEPS];
        owed->causes[ULP_SHARE_STEPS] = results_first ? last : steps;
        owed->causes[ULP_SHARE_RESULT] = results_first ? steps : last;
        double sum = 0;
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            sum += owed->causes[c];
        if (!(fabs(sum - owed->share) <= AGREES * (1 + fabs(owed->share))))
            continue;
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            total[c] += owed->causes[c];
        total[ULP_SHARE_RESULT] -= owed->share - owed->gain;
        total[ULP_SHARE_INSIDE] += owed->share - sum - owed->gain;
    }
}

/* fill: what is shown of the inputs and results; false: not all that is needed. */
static enum ulp_status make_visit(struct visit *visit, const struct ulp_mix *mix,
                                  const struct ulp_program_node *node,
                                  bool (*fill)(const struct visit *visit, const void *context),
                                  const void *context, struct ulp_error *error)
{
    const struct ulp_step *step = node->step;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct ulp_stages stages = {.mix = mix,
                                .block = node->block,
                                .step = step,
                                .budget = visit->attributor->budget,
                                .pool = visit->attributor->pool,
                                .stage = look_at_stage,
                                .context = visit};
    bool results_first = false;
    visit->owed = visit->lane->owed[visit->node];
    if (!visit->owed || !ulp_stages_apply(&stages))
        return ULP_OK;
    ULP_TRY(ulp_arena_create(&arena, visit->attributor->budget, error));
    ULP_TAKE_ARRAY(struct ulp_tensor, exact, arena, step->output_count + 1, error);
    ULP_TAKE(visit->values, arena, step->own_input_count + 1, error);
    ULP_TAKE(visit->results, arena, step->output_count + 1, error);
    stages.values = visit->values;
    stages.exact = exact;
    if (!fill(visit, context))
        return ULP_OK;
    ULP_TRY(open_visit(visit, exact, arena, error));
    ULP_TRY(ulp_stages_run(&stages, &results_first, error));
    close_visit(visit, results_first);
    return ULP_OK;
}

/* ---- while going back ---- */

static bool fill_from_kept(const struct visit *visit, const void *context)
{
    const struct ulp_step *step = context;
    const struct ulp_block *block = visit->attributor->program->main;
    for (size_t i = 0; i < step->own_input_count; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant)
            visit->values[i] = &visit->lane->values[step->inputs[i]];
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            visit->results[o] = &visit->lane->values[step->outputs[o]];
    return true;
}

enum ulp_status ulp_causes_visit(void *context, const struct ulp_step *step,
                                 struct ulp_error *error)
{
    const struct ulp_course *course = context;
    struct ulp_attributed *lane = course->lane;
    const struct ulp_program *program = course->attributor->program;
    struct visit visit = {.attributor = course->attributor,
                          .lane = lane,
                          .courses = course - course->group,
                          .node = step->number};
    struct ulp_owed *owed = lane->owed[step->number];
    if (!owed || !owed->borrowed)
        return ULP_OK;
    ULP_TRY(make_visit(&visit, mix_of(course), &program->nodes[step->number], fill_from_kept, step,
                       error));
    for (; owed; owed = owed->next)
        owed->visited = true;
    return ULP_OK;
}

/* ---- the second run ---- */

struct second {
    struct ulp_attributor *attributor;
    struct ulp_attributed *lane;
    const struct ulp_program *program; /* of the lane alone */
    const struct ulp_course *courses;
};

struct shown {
    const struct ulp_event *event;
    const struct ulp_program_node *node;
};

static bool fill_from_event(const struct visit *visit, const void *context)
{
    const struct shown *shown = context;
    const struct ulp_event *event = shown->event;
    const struct ulp_step *step = shown->node->step;
    size_t next = 0;
    for (size_t o = 0; o < event->output_count; o++)
        visit->results[event->output_positions[o]] = event->values[o].held;
    for (size_t i = 0; i < step->own_input_count; i++) {
        if (step->inputs[i] < 0 || shown->node->block->slots[step->inputs[i]].constant)
            continue;
        if (next == event->input_count)
            return false;
        visit->values[i] = event->inputs[next++].entire;
    }
    return next == event->input_count;
}

static enum ulp_status visit_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    const struct second *second = context;
    struct visit visit = {.attributor = second->attributor,
                          .lane = second->lane,
                          .courses = second->courses,
                          .node = event->index,
                          .execution = event->execution};
    const struct shown shown = {event, &second->program->nodes[event->index]};
    return make_visit(&visit, second->program->mixes, shown.node, fill_from_event, &shown, error);
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
    const struct ulp_observer observer = {.context = &second,
                                          .node_done = visit_node,
                                          .modes_unused = true};
    struct ulp_alone alone;
    enum ulp_status status = ULP_OK;
    if (lane->owed_any) {
        status =
            ulp_alone_create(attributor->program, l + 1, false, attributor->inputs, &alone, error);
        second.program = alone.program;
        ULP_THEN(status, ulp_program_look(alone.program, attributor->inputs, &options, &observer,
                                          NULL, NULL, error));
        ulp_alone_free(&alone);
    }
    for (size_t g = 0; g < ulp_attribution_groups(attributor) && status == ULP_OK; g++)
        for (size_t n = 0; n < attributor->program->node_count; n++)
            if (lane->owed[n])
                drop_noise(lane->owed[n], g, courses[g].nodes[n].causes);
    return status == ULP_ERROR_UNSUPPORTED ? ULP_OK : status;
}
