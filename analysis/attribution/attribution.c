/* Shares of the nodes in the error of the outputs: doc/attribution.md. */
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/audit_shares.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/memory/budget.h"
#include "run/pass/backward.h"
#include "run/pass/weigh.h"

static const char no_error[] = "no output of floats differs from the reference's";

/* The readers of what the step gives have been passed, so its results may leave. */
static void close_step(void *context, const struct ulp_step *step)
{
    const struct ulp_course *course = context;
    struct ulp_attributed *lane = course->lane;
    const bool leaves = lane->leaving && !ulp_causes_wait(lane, step->number);
    for (struct ulp_introduced *item = lane->introduced[step->number]; item; item = item->next) {
        if (leaves)
            ulp_attribution_forget(&item->kept);
        ulp_free(item->beyond);
        item->beyond = NULL;
    }
    for (size_t o = 0; o < step->output_count && lane->leaving; o++)
        if (step->outputs[o] >= 0) {
            ulp_attribution_forget(&lane->kept[step->outputs[o]]);
            ulp_attribution_show(lane, step->outputs[o]);
        }
}

/* Of an amount, in the first execution. */
static const float *show_introduced(void *context, const struct ulp_step *step)
{
    const struct ulp_course *course = context;
    const struct ulp_introduced *item = ulp_attribution_find(course->lane, step->number, 0, 0);
    return item ? item->kept.data : NULL;
}

/* What the output errs by beyond the rounding of its result, until the step is closed. */
static enum ulp_status find_beyond(const struct ulp_course *course, size_t node,
                                   struct ulp_introduced *item, const struct ulp_tensor *value,
                                   const float **out, struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    const float *introduced = item->kept.data;
    *out = item->both ? introduced + item->count : item->beyond;
    if (item->both || *out)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&item->beyond, item->count, sizeof *item->beyond, attributor->budget,
                         "values of an attribution", error));
    *out = item->beyond;
    return ulp_attribution_beyond(attributor, course->lane, node, value, introduced, item->beyond,
                                  error);
}

/* What of the share of one output of a node is its gain, and the graph's; its causes. */
static enum ulp_status look_inside(const struct ulp_course *course, size_t node,
                                   struct ulp_introduced *item, const struct ulp_tensor *value,
                                   const double *cotangents, double share, struct ulp_error *error)
{
    struct ulp_pool *pool = course->attributor->pool;
    const float *introduced = item->kept.data, *beyond;
    ULP_TRY(find_beyond(course, node, item, value, &beyond, error));
    const double gain = ulp_weigh_errors(pool, cotangents, beyond, item->count);
    course->nodes[node].gain += gain;
    if (course->attributor->beside)
        course->nodes[node].causes[ULP_SHARE_GRAPH] +=
            ulp_weigh_errors(pool, cotangents, introduced + 2 * item->count, item->count);
    return ulp_causes_keep(course, node, item, cotangents, share, gain, error);
}

/* Of a node of the main graph, which runs once in a sample. */
static void add_heads(const struct ulp_course *course, size_t node, const double *cotangents,
                      const float *introduced, size_t count)
{
    const struct ulp_attributor *attributor = course->attributor;
    const struct ulp_attributed_heads *heads = &attributor->heads[node];
    const bool any = heads->count && cotangents && introduced &&
                     attributor->program->nodes[node].block == attributor->program->main;
    double *shares = any ? heads->shares[course->lane - attributor->lanes] : NULL;
    for (size_t i = 0; any && i < count; i++)
        shares[i / heads->length % heads->count] += cotangents[i] * introduced[i];
}

struct ulp_introduced *ulp_attribution_find(const struct ulp_attributed *lane, size_t node,
                                            size_t execution, int position)
{
    struct ulp_introduced *item = lane->introduced[node];
    while (item && (item->execution != execution || item->position != position))
        item = item->next;
    return item;
}

static enum ulp_status add_node_shares(void *context, size_t node, size_t execution, int position,
                                       const double *cotangents, size_t count, double *part,
                                       struct ulp_error *error)
{
    struct ulp_course *course = context;
    struct ulp_pool *pool = course->attributor->pool;
    const struct ulp_program_node *where = &course->attributor->program->nodes[node];
    struct ulp_introduced *item = ulp_attribution_find(course->lane, node, execution, position);
    const struct ulp_tensor *value = where->block == course->attributor->program->main
                                         ? &course->lane->values[where->step->outputs[position]]
                                         : NULL;
    if (value && value->element == ULP_ELEMENT_F32 && !course->projection) {
        const float *difference = course->lane->differences[where->step->outputs[position]];
        course->nodes[node].condition +=
            ulp_weigh_squares(pool, cotangents, value->data, difference, count);
        course->nodes[node].passes += ulp_weigh_errors(pool, cotangents, difference, count);
    }
    if (!item || item->count != count)
        return ULP_OK;
    const float *introduced = item->kept.data;
    if (course->projection && item->single) /* as it errs where its inputs are right */
        introduced += (1 + item->both) * count;
    const double share = ulp_weigh_errors(pool, cotangents, introduced, count);
    course->nodes[node].share += share;
    *part += share;
    if (course->attributor->heads && position == 0)
        add_heads(course, node, cotangents, introduced, count);
    return course->projection ? ULP_OK
                              : look_inside(course, node, item, value, cotangents, share, error);
}

/* <e, e> of a target; its own error of a single element. */
static double measure_target(const struct ulp_attributed *lane,
                             const struct ulp_attributed_value *target)
{
    const double *e = lane->errors[target->slot];
    double sum = 0;
    if (!e || target->one)
        return e ? e[target->index] : 0;
    for (size_t i = 0; i < lane->values[target->slot].count; i++)
        sum += e[i] * e[i];
    return sum;
}

/* What the course explains: its first target, and how many there are. */
static const struct ulp_attributed_value *find_targets(const struct ulp_course *course,
                                                       size_t *count)
{
    const struct ulp_attributor *attributor = course->attributor;
    *count = attributor->each ? 1 : attributor->target_count;
    return attributor->targets + (attributor->each ? course->group : 0);
}

/* How large the error is that the course explains. */
static void measure_course(struct ulp_course *course)
{
    const struct ulp_attributed *lane = course->lane;
    size_t count;
    const struct ulp_attributed_value *targets = find_targets(course, &count);
    for (size_t t = 0; t < count; t++) {
        const double size = measure_target(lane, &targets[t]);
        course->whole += targets[t].sign * size;
        course->erring += size != 0;
        if (lane->errors[targets[t].slot] && (size != 0 || course->attributor->difference))
            course->scale += (targets[t].one ? fabs(size) : sqrt(size)) /
                             lane->norms[targets[t].slot] / (double)count;
    }
    course->any = course->attributor->difference
                      ? course->whole != 0
                      : course->erring > 0 || course->attributor->weights;
    course->scale = course->any ? course->scale : 0;
}

#define NEAR_WORST 0.5

static bool is_among_worst(const struct ulp_course *courses, size_t count, size_t g)
{
    size_t worse = 0;
    for (size_t other = 0; other < count && worse < ULP_EXPLAINED_MAX; other++)
        worse += courses[other].scale > courses[g].scale ||
                 (courses[other].scale == courses[g].scale && other < g);
    return worse < ULP_EXPLAINED_MAX;
}

/* Integers that differ, and values of another shape, have no error: their course is of the decision
 * that they follow, one course of each. */
static void explain_decisions(struct ulp_course *courses, size_t count)
{
    const struct ulp_attributor *attributor = courses->attributor;
    for (size_t g = 0; g < count && !attributor->output; g++) {
        size_t targets;
        const struct ulp_attributed_value *target = find_targets(&courses[g], &targets);
        for (size_t t = 0; t < targets && !courses[g].decides; t++)
            courses[g].decides = ulp_attribution_follows(attributor, courses[g].lane,
                                                         target[t].slot, &courses[g].root);
        for (size_t before = 0; before < g && courses[g].decides; before++)
            courses[g].decides =
                !courses[before].decides || courses[before].root != courses[g].root;
        courses[g].any |= courses[g].decides;
    }
}

/* Which courses are swept, and the worst of them. */
static size_t choose_courses(struct ulp_course *courses, size_t count)
{
    size_t worst = 0;
    for (size_t g = 0; g < count; g++) {
        measure_course(&courses[g]);
        if (courses[g].scale > courses[worst].scale)
            worst = g;
    }
    for (size_t g = 0; g < count && !courses->attributor->every; g++)
        courses[g].any &= !(courses[g].scale < NEAR_WORST * courses[worst].scale) &&
                          is_among_worst(courses, count, g);
    explain_decisions(courses, count);
    return worst;
}

/* The cotangents of the errors that the course explains. */
static enum ulp_status seed_targets(const struct ulp_course *course,
                                    const struct ulp_reverse *sweep, struct ulp_error *error)
{
    const struct ulp_attributed *lane = course->lane;
    const bool difference = course->attributor->difference;
    size_t count;
    const struct ulp_attributed_value *targets = find_targets(course, &count);
    for (size_t t = 0; t < count; t++) {
        const struct ulp_attributed_value *target = &targets[t];
        const double size = measure_target(lane, target), *e = lane->errors[target->slot];
        const size_t elements = lane->values[target->slot].count;
        const double *weights = course->attributor->weights;
        double *seeds;
        if (!e || (size == 0 && !difference && !weights))
            continue;
        ULP_TRY(ulp_reverse_cotangents(sweep, target->slot, elements, &seeds, error));
        for (size_t i = 0; weights && i < elements; i++)
            seeds[i] += weights[i];
        if (weights)
            continue;
        if (target->one)
            seeds[target->index] += target->sign / (difference ? course->whole : size);
        for (size_t i = 0; !target->one && i < elements; i++)
            seeds[i] += e[i] / (size * (double)course->erring);
    }
    return ULP_OK;
}

/* What is rounded where values leave the graph: the seeds alone owe it, no node reads it. */
static void add_borders(const struct ulp_course *course, double *const *seeds)
{
    const struct ulp_block *block = course->attributor->program->main;
    for (size_t s = 0; s < block->slot_count; s++) {
        const double *border = seeds[s] ? course->lane->borders[s] : NULL;
        for (size_t i = 0; border && i < course->lane->values[s].count; i++)
            course->nodes[ulp_slot_holder(block, (int)s)].share += seeds[s][i] * border[i];
    }
}

/* What rounding the model's inputs makes of the error, by the nodes that read them first. */
static void sum_inputs(struct ulp_course *course, double *const *cotangents)
{
    const struct ulp_block *block = course->attributor->program->main;
    const struct ulp_attributed *lane = course->lane;
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const double *owed = cotangents[slot], *e = lane->errors[slot];
        const struct ulp_reading *all = NULL;
        const bool read = owed && e && ulp_block_readings(block, slot, &all) && all->step >= 0;
        double sum = 0;
        for (size_t k = 0; owed && e && k < lane->values[slot].count; k++)
            sum += owed[k] * e[k];
        course->inputs += sum;
        if (read)
            course->nodes[block->steps[all->step].number].given += sum;
    }
}

/* A decision that shows. */
#define DECIDED 1e-4

static double sum_nodes(const struct ulp_course *course, bool decisions)
{
    double sum = 0;
    for (size_t n = 0; n < course->attributor->program->node_count; n++)
        sum += decisions ? course->nodes[n].decision : course->nodes[n].share;
    return sum;
}

static void add_node_sums(struct ulp_node_shares *to, const struct ulp_course *course, size_t n)
{
    const struct ulp_bound *bound = &course->attributor->program->nodes[n].step->bound;
    struct ulp_node_shares node = course->nodes[n];
    node.stops =
        !course->passed[n] && node.shows == 0 &&
        (course->stopped[n] || fabs(node.decision) > DECIDED ||
         (course->lane->decided[n] && node.condition > 0) || (bound->stops && node.condition > 0));
    node.condition = sqrt(node.condition) * course->scale;
    node.share_worst = node.share;
    ulp_node_shares_add(to, &node);
}

static void add_sample(const struct ulp_course *course)
{
    struct ulp_output_shares *to = &course->lane->sums[course->group];
    const double decisions = sum_nodes(course, true),
                 sum = course->inputs + sum_nodes(course, false) + decisions;
    if (!course->any)
        return;
    for (size_t n = 0; n < course->attributor->program->node_count; n++)
        add_node_sums(&to->nodes[n], course, n);
    to->of_decisions |= course->decides;
    to->sum += sum;
    to->inputs += course->inputs;
    to->decisions += decisions;
    if (fabs(1 - sum) > fabs(to->worst))
        to->worst = 1 - sum;
    to->sample_count++;
}

/* The sample's courses into the lane's sums, if all are whole. */
static void add_courses(struct ulp_attributed *lane, const struct ulp_course *courses, size_t count)
{
    bool any = false;
    for (size_t g = 0; g < count; g++) {
        any |= courses[g].any;
        /* with weights it is not 1: who gives them knows the whole */
        if (courses[g].any && lane->nonfinite && !courses[g].attributor->weights &&
            !(fabs(1 - courses[g].inputs - sum_nodes(&courses[g], false)) <= ULP_ATTRIBUTION_WHOLE))
            lane->reason = ulp_attribution_nonfinite;
    }
    if (!any)
        lane->reason = lane->parted == SIZE_MAX ? no_error : ulp_attribution_parted;
    for (size_t g = 0; g < count && !lane->reason; g++)
        add_sample(&courses[g]);
}

static void free_cotangents(const struct ulp_reverse *sweep)
{
    for (size_t s = 0; sweep->cotangents && s < sweep->program->main->slot_count; s++)
        ulp_free(sweep->cotangents[s]);
}

/* Of the course. */
static enum ulp_status verify_lane(struct ulp_course *course, struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    struct ulp_reverse weights = {.program = attributor->program,
                                  .values = course->lane->values,
                                  .budget = attributor->budget};
    struct ulp_arena *arena;
    ULP_TRY(ulp_arena_create(&arena, attributor->budget, error));
    weights.cotangents = ulp_arena_take(arena, attributor->program->main->slot_count + 1,
                                        sizeof *weights.cotangents);
    enum ulp_status status =
        weights.cotangents ? seed_targets(course, &weights, error) : ulp_out_of_memory(error);
    ULP_THEN(status, ulp_attribution_verify(attributor, (size_t)(course->lane - attributor->lanes),
                                            course->nodes, weights.cotangents, error));
    course->lane->verified_group = course->group;
    free_cotangents(&weights);
    ulp_arena_free(arena);
    return status;
}

static bool take_course(struct ulp_course *course, struct ulp_arena *arena)
{
    const size_t nodes = course->attributor->program->node_count + 1;
    course->nodes = ulp_arena_take(arena, nodes, sizeof *course->nodes);
    course->stopped = ulp_arena_take(arena, nodes, sizeof *course->stopped);
    course->passed = ulp_arena_take(arena, nodes, sizeof *course->passed);
    return course->nodes && course->stopped && course->passed;
}

static enum ulp_status open_sweep(struct ulp_course *course, struct ulp_arena *arena,
                                  struct ulp_reverse *sweep, struct ulp_error *error)
{
    const struct ulp_attributor *attributor = course->attributor;
    const struct ulp_program *program = attributor->program;
    *sweep = (struct ulp_reverse){.program = program,
                                  .values = course->lane->values,
                                  .errors = course->lane->differences,
                                  .plain = course->projection != 0,
                                  .cotangents = ulp_arena_take(arena, program->main->slot_count + 1,
                                                               sizeof *sweep->cotangents),
                                  .stopped = course->stopped,
                                  .passed = course->passed,
                                  .remainders = ulp_arena_take(arena, program->node_count + 1,
                                                               sizeof *sweep->remainders),
                                  .budget = ulp_pool_scratch(attributor->pool),
                                  .pool = attributor->pool,
                                  .node = add_node_shares,
                                  .introduced = show_introduced,
                                  .told = course->projection ? NULL : ulp_causes_visit,
                                  .decided = ulp_attribution_decide,
                                  .close = close_step,
                                  .context = course};
    ULP_TRY(ulp_taken(sweep->cotangents && sweep->remainders, error));
    if (course->decides) {
        course->nodes[course->root].decision = 1;
        return ULP_OK;
    }
    ULP_TRY(course->projection ? ulp_alone_seed(course, sweep, error)
                               : seed_targets(course, sweep, error));
    add_borders(course, sweep->cotangents);
    return ULP_OK;
}

/* Courses of a lane, side by side. */
static enum ulp_status sweep_courses(struct ulp_course *const *courses, size_t count,
                                     struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_reverse *sweeps = ulp_arena_take(arena, count, sizeof *sweeps);
    size_t opened = 0;
    enum ulp_status status = ulp_taken(sweeps, error);
    for (; opened < count && status == ULP_OK; opened++)
        status = open_sweep(courses[opened], arena, &sweeps[opened], error);
    ULP_THEN(status, ulp_reverse_run(sweeps, count, error));
    for (size_t s = 0; s < opened && sweeps[s].cotangents; s++) {
        sum_inputs(courses[s], sweeps[s].cotangents);
        free_cotangents(&sweeps[s]);
    }
    return status;
}

/* How many sweeps or courses of the lane may have memory at a time; 0: memory is limited, and more
 * than one are not sure to find it. */
static size_t count_together(const struct ulp_attributor *attributor,
                             const struct ulp_attributed *lane, size_t bytes)
{
    const struct ulp_program *program = attributor->program;
    const double limit = (double)ulp_budget_limit(attributor->budget);
    size_t most = 1;
    if (limit != 0 && (double)ulp_budget_used(attributor->budget) + ULP_TUNE_SWEPT_BYTES +
                              ulp_program_peak(program, true, NULL) >
                          limit)
        return 0;
    for (size_t s = 0; s < program->main->step_count; s++) {
        const struct ulp_step *step = &program->main->steps[s];
        size_t elements = 0;
        for (size_t i = 0; i < step->input_count; i++)
            elements += step->inputs[i] >= 0 ? lane->values[step->inputs[i]].count : 0;
        for (size_t o = 0; o < step->output_count; o++)
            elements += step->outputs[o] >= 0 ? lane->values[step->outputs[o]].count : 0;
        most = elements > most ? elements : most;
    }
    return ULP_TUNE_SWEPT_BYTES / bytes / most + 1;
}

/* How many of the lanes are swept in a thread each: as many as keep all threads busy, where none
 * writes to the file. Each of the others has all threads. */
static size_t count_apart(const struct ulp_attributor *attributor)
{
    const size_t threads = ulp_size_min((size_t)ulp_pool_thread_count(attributor->pool),
                                        attributor->lane_count),
                 bytes =
                     ULP_SWEEP_BYTES + (ulp_attribution_groups(attributor) - 1) * ULP_COURSE_BYTES;
    size_t first = 0;
    while (first < attributor->lane_count && attributor->lanes[first].reason)
        first++;
    return first == attributor->lane_count || attributor->folder || attributor->verify_count ||
                   count_together(attributor, &attributor->lanes[first], bytes) < threads
               ? 0
               : attributor->lane_count - attributor->lane_count % threads;
}

static enum ulp_status sweep_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                  struct ulp_error *error)
{
    /* a few at least: seldom does more than one come to the largest step (logits) */
    const size_t groups = ulp_attribution_groups(attributor),
                 projections = ulp_alone_count(attributor, lane), all = groups + projections,
                 room = count_together(attributor, lane, ULP_COURSE_BYTES),
                 together = room ? room + ULP_EXPLAINED_MAX : 1;
    size_t swept = 0;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, attributor->budget, error));
    ULP_TAKE_ARRAY(struct ulp_course, courses, arena, all + 1, error);
    ULP_TAKE_ARRAY(struct ulp_course *, any, arena, all + 1, error);
    for (size_t g = 0; g < all; g++) {
        courses[g] = (struct ulp_course){.attributor = attributor,
                                         .lane = lane,
                                         .group = g < groups ? g : 0,
                                         .projection = g < groups ? 0 : g - groups + 1,
                                         .any = g >= groups};
        ULP_TRY(ulp_taken(take_course(&courses[g], arena), error));
    }
    const size_t worst = choose_courses(courses, groups);
    for (size_t g = 0; g < all; g++)
        if (courses[g].any)
            any[swept++] = &courses[g];
    for (size_t c = 0; c < swept; c += together) {
        lane->leaving = c + together >= swept && !attributor->verify_count;
        ULP_TRY(sweep_courses(any + c, ulp_size_min(together, swept - c), arena, error));
    }
    ulp_alone_add(courses, groups, projections);
    if (!lane->reason)
        ULP_TRY(
            ulp_attribution_causes(attributor, (size_t)(lane - attributor->lanes), courses, error));
    if (courses[worst].any && !courses[worst].decides && attributor->verify_count)
        ULP_TRY(verify_lane(&courses[worst], error));
    add_courses(lane, courses, groups);
    return ULP_OK;
}

ULP_WORK(sweep_lanes)
{
    struct ulp_attributor *attributor = context;
    enum ulp_status status = ULP_OK;
    for (size_t l = first; l < last && status == ULP_OK; l++) {
        struct ulp_attributed *lane = &attributor->lanes[l];
        if (lane->reason)
            continue;
        const size_t refusals = ulp_budget_refusals(attributor->budget);
        status = sweep_lane(attributor, lane, error);
        if (ulp_budget_refused(attributor->budget, refusals, status)) {
            lane->reason = ulp_attribution_no_memory;
            status = ULP_OK;
        }
        ulp_attribution_drop(attributor, lane);
    }
    return status;
}

enum ulp_status ulp_attributor_sweep(struct ulp_attributor *attributor, struct ulp_error *error)
{
    ULP_ENTER(error);
    for (size_t l = 0; l < attributor->lane_count; l++) /* alike however many run at a time */
        attributor->lanes[l].room = attributor->room / attributor->lane_count;
    const size_t apart = count_apart(attributor);
    enum ulp_status status =
        ulp_parallel_for(attributor->pool, apart, 1, sweep_lanes, attributor, error);
    ULP_THEN(status, sweep_lanes(attributor, apart, attributor->lane_count, 0, error));
    attributor->verify_count = 0;
    return ulp_fail_at(error, status, "shares of the output error");
}
