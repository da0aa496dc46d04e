/* Shares of the nodes in the error of the outputs: doc/attribution.md. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/audit_shares.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "run/pass/backward.h"

static const char no_error[] = "the outputs equal the reference's",
                  no_memory[] =
                      "going back through the graph needs more memory: raise --max-memory";

/* The step's values into memory, for the sweep. */
static void close_step(void *context, const struct ulp_step *step)
{
    const struct ulp_course *course = context;
    for (struct ulp_introduced *item = course->lane->introduced[step->number]; item;
         item = item->next)
        ulp_attribution_release(&item->kept);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < (side ? step->output_count : step->input_count); i++) {
            const int slot = side ? step->outputs[i] : step->inputs[i];
            if (slot < 0)
                continue;
            ulp_attribution_release(&course->lane->kept[slot]);
            ulp_attribution_show(course->lane, slot);
        }
}

static enum ulp_status open_step(void *context, const struct ulp_step *step,
                                 struct ulp_error *error)
{
    const struct ulp_course *course = context;
    enum ulp_status status = ULP_OK;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < (side ? step->output_count : step->input_count); i++) {
            const int slot = side ? step->outputs[i] : step->inputs[i];
            if (slot < 0 || status != ULP_OK)
                continue;
            status = ulp_attribution_fetch(course->attributor, &course->lane->kept[slot], error);
            ulp_attribution_show(course->lane, slot);
        }
    return status;
}

/* Of an amount, in the first execution. */
static enum ulp_status show_introduced(void *context, const struct ulp_step *step,
                                       const float **out, struct ulp_error *error)
{
    const struct ulp_course *course = context;
    struct ulp_introduced *item = course->lane->introduced[step->number];
    while (item && (item->execution || item->position))
        item = item->next;
    const enum ulp_status status =
        item ? ulp_attribution_fetch(course->attributor, &item->kept, error) : ULP_OK;
    *out = item ? item->kept.data : NULL;
    return status;
}

/* Both shares of what was introduced, and the square of the condition, in one pass: each sum waits
 * for itself alone. */
static void weigh(const double *cotangents, const float *introduced, const float *values,
                  size_t count, double *shares, double *condition)
{
    double share = 0, gain = 0, squares = *condition;
    const float *gained = introduced ? introduced + count : NULL;
    for (size_t i = 0; i < count && introduced && values; i++) {
        const double c = cotangents[i], product = c * (double)values[i];
        share += c * (double)introduced[i];
        gain += c * (double)gained[i];
        squares += isfinite(product) ? product * product : 0;
    }
    for (size_t i = 0; i < count && introduced && !values; i++) {
        share += cotangents[i] * (double)introduced[i];
        gain += cotangents[i] * (double)gained[i];
    }
    for (size_t i = 0; i < count && !introduced && values; i++) {
        const double product = cotangents[i] * (double)values[i];
        squares += isfinite(product) ? product * product : 0;
    }
    shares[0] = share;
    shares[1] = gain;
    *condition = squares;
}

static enum ulp_status add_node(void *context, size_t node, size_t execution, int position,
                                const double *cotangents, size_t count, double *part,
                                struct ulp_error *error)
{
    struct ulp_course *course = context;
    const struct ulp_plan_node *where = &course->attributor->plan->nodes[node];
    struct ulp_introduced *item = course->lane->introduced[node];
    while (item && (item->execution != execution || item->position != position))
        item = item->next;
    const struct ulp_tensor *value = where->block == course->attributor->plan->main
                                         ? &course->lane->values[where->step->outputs[position]]
                                         : NULL;
    const float *values = value && value->element == ULP_ELEMENT_F32 ? value->data : NULL;
    double shares[2];
    if (!item || item->count != count) {
        weigh(cotangents, NULL, values, count, shares, &course->condition[node]);
        return ULP_OK;
    }
    const enum ulp_status status = ulp_attribution_fetch(course->attributor, &item->kept, error);
    if (status != ULP_OK)
        return status;
    weigh(cotangents, item->kept.data, values, count, shares, &course->condition[node]);
    const float *graph =
        course->attributor->beside ? (const float *)item->kept.data + 2 * count : NULL;
    for (size_t i = 0; graph && i < count; i++)
        course->causes[node][ULP_SHARE_GRAPH] += cotangents[i] * (double)graph[i];
    course->share[node] += shares[0];
    course->gain[node] += shares[1];
    *part += shares[0];
    ulp_attribution_release(&item->kept);
    return ulp_causes_keep(course, node, item, cotangents, shares[0], shares[1], error);
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

/* The cotangents of what the course explains, and its scale and `any`. */
static enum ulp_status seed_targets(struct ulp_course *course, const struct ulp_reverse *sweep,
                                    struct ulp_error *error)
{
    const struct ulp_attributor *attributor = course->attributor;
    const struct ulp_attributed *lane = course->lane;
    const size_t target_count = attributor->each ? 1 : attributor->target_count;
    const struct ulp_attributed_value *targets =
        attributor->targets + (attributor->each ? course->group : 0);
    double whole = 0;
    size_t count = 0;
    for (size_t t = 0; t < target_count; t++) {
        const double size = measure_target(lane, &targets[t]);
        whole += targets[t].sign * size;
        count += size != 0;
    }
    course->any = attributor->difference ? whole != 0 : count > 0;
    course->scale = 0;
    enum ulp_status status = ULP_OK;
    for (size_t t = 0; t < target_count && course->any && status == ULP_OK; t++) {
        const struct ulp_attributed_value *target = &targets[t];
        const double size = measure_target(lane, target), *e = lane->errors[target->slot];
        const size_t elements = lane->values[target->slot].count;
        double *seeds;
        if (!e || (size == 0 && !attributor->difference))
            continue;
        status = ulp_reverse_cotangents(sweep, target->slot, elements, &seeds, error);
        if (status != ULP_OK)
            break;
        if (target->one)
            seeds[target->index] += target->sign / (attributor->difference ? whole : size);
        for (size_t i = 0; !target->one && i < elements; i++)
            seeds[i] += e[i] / (size * (double)count);
        course->scale += (target->one ? fabs(size) : sqrt(size)) / lane->norms[target->slot] /
                         (double)target_count;
    }
    return status;
}

/* What rounding the model's inputs makes of the error. */
static double sum_inputs(const struct ulp_attributor *attributor, const struct ulp_attributed *lane,
                         double *const *cotangents)
{
    const struct ulp_block *block = attributor->plan->main;
    double sum = 0;
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const double *owed = cotangents[slot], *e = lane->errors[slot];
        for (size_t k = 0; owed && e && k < lane->values[slot].count; k++)
            sum += owed[k] * e[k];
    }
    return sum;
}

/* A decision that shows. */
#define DECIDED 1e-4

/* Values that are not finite may be absorbed, and then the sum is whole without them. */
#define WHOLE 0.02

static double sum_nodes(const struct ulp_course *course, const double *figures)
{
    double sum = 0;
    for (size_t n = 0; n < course->attributor->plan->node_count; n++)
        sum += figures[n];
    return sum;
}

static void add_node_sums(struct ulp_node_shares *to, const struct ulp_course *course, size_t n)
{
    const struct ulp_bound *bound = &course->attributor->plan->nodes[n].step->bound;
    to->share += course->share[n];
    to->gain += course->gain[n];
    to->decision += course->decision[n];
    to->missing += course->missing[n];
    for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
        to->causes[c] += course->causes[n][c];
    to->condition += sqrt(course->condition[n]) * course->scale;
    if (fabs(course->share[n]) > fabs(to->share_worst))
        to->share_worst = course->share[n];
    to->stops |= !course->passed[n] && (course->stopped[n] || fabs(course->decision[n]) > DECIDED ||
                                        (course->lane->decided[n] && course->condition[n] > 0) ||
                                        (bound->stops && course->condition[n] > 0));
}

static void add_sample(const struct ulp_course *course)
{
    struct ulp_output_shares *to = &course->lane->sums[course->group];
    const double decisions = sum_nodes(course, course->decision),
                 sum = course->inputs + sum_nodes(course, course->share) + decisions;
    if (!course->any)
        return;
    for (size_t n = 0; n < course->attributor->plan->node_count; n++)
        add_node_sums(&to->nodes[n], course, n);
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
        if (courses[g].any && lane->nonfinite &&
            !(fabs(1 - courses[g].inputs - sum_nodes(&courses[g], courses[g].share)) <= WHOLE))
            lane->reason = ulp_attribution_nonfinite;
    }
    if (!any)
        lane->reason = no_error;
    for (size_t g = 0; g < count && !lane->reason; g++)
        add_sample(&courses[g]);
}

static void free_cotangents(const struct ulp_reverse *sweep)
{
    for (size_t s = 0; sweep->cotangents && s < sweep->plan->main->slot_count; s++)
        ulp_free(sweep->cotangents[s]);
}

/* Of the course. */
static enum ulp_status verify_lane(struct ulp_course *course, struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    struct ulp_reverse weights = {.plan = attributor->plan,
                                  .values = course->lane->values,
                                  .budget = attributor->budget};
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, attributor->budget, error);
    if (status != ULP_OK)
        return status;
    weights.cotangents =
        ulp_arena_take(arena, attributor->plan->main->slot_count + 1, sizeof *weights.cotangents);
    status = weights.cotangents ? seed_targets(course, &weights, error) : ulp_out_of_memory(error);
    if (status == ULP_OK)
        status = ulp_attribution_verify(attributor, (size_t)(course->lane - attributor->lanes),
                                        course->share, course->gain, weights.cotangents, error);
    course->lane->verified_group = course->group;
    free_cotangents(&weights);
    ulp_arena_free(arena);
    return status;
}

static bool take_course(struct ulp_course *course, struct ulp_arena *arena)
{
    const size_t nodes = course->attributor->plan->node_count + 1;
    double **const figures[] = {&course->share, &course->gain, &course->condition,
                                &course->decision, &course->missing};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!(*figures[i] = ulp_arena_take(arena, nodes, sizeof **figures[i])))
            return false;
    course->causes = ulp_arena_take(arena, nodes, sizeof *course->causes);
    course->stopped = ulp_arena_take(arena, nodes, sizeof *course->stopped);
    course->passed = ulp_arena_take(arena, nodes, sizeof *course->passed);
    return course->causes && course->stopped && course->passed;
}

static enum ulp_status sweep_course(struct ulp_course *course, struct ulp_arena *arena,
                                    struct ulp_error *error)
{
    struct ulp_attributor *attributor = course->attributor;
    const struct ulp_plan *plan = attributor->plan;
    struct ulp_reverse sweep = {.plan = plan,
                                .values = course->lane->values,
                                .errors = course->lane->differences,
                                .budget = attributor->budget,
                                .pool = attributor->pool,
                                .node = add_node,
                                .introduced = show_introduced,
                                .open = open_step,
                                .close = close_step,
                                .context = course};
    if (!take_course(course, arena))
        return ulp_out_of_memory(error);
    sweep.stopped = course->stopped;
    sweep.passed = course->passed;
    sweep.cotangents = ulp_arena_take(arena, plan->main->slot_count + 1, sizeof *sweep.cotangents);
    sweep.remainders = ulp_arena_take(arena, plan->node_count + 1, sizeof *sweep.remainders);
    if (!sweep.cotangents || !sweep.remainders)
        return ulp_out_of_memory(error);
    enum ulp_status status = seed_targets(course, &sweep, error);
    if (status == ULP_OK && course->any)
        status = ulp_reverse_run(&sweep, error);
    if (status == ULP_OK && course->any)
        status =
            ulp_attribution_decisions(attributor, course->lane, sweep.stopped, sweep.remainders,
                                      course->decision, course->missing, error);
    course->inputs = sum_inputs(attributor, course->lane, sweep.cotangents);
    free_cotangents(&sweep);
    return status;
}

static enum ulp_status sweep_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                  struct ulp_error *error)
{
    const size_t groups = ulp_attribution_groups(attributor);
    struct ulp_arena *arena;
    size_t worst = 0;
    enum ulp_status status = ulp_arena_create(&arena, attributor->budget, error);
    if (status != ULP_OK)
        return status;
    struct ulp_course *courses = ulp_arena_take(arena, groups + 1, sizeof *courses);
    if (!courses)
        status = ulp_out_of_memory(error);
    for (size_t g = 0; g < groups && status == ULP_OK; g++) {
        courses[g] = (struct ulp_course){.attributor = attributor, .lane = lane, .group = g};
        status = sweep_course(&courses[g], arena, error);
        if (courses[g].scale > courses[worst].scale)
            worst = g;
    }
    if (status == ULP_OK && !lane->reason)
        status =
            ulp_attribution_causes(attributor, (size_t)(lane - attributor->lanes), courses, error);
    if (status == ULP_OK && courses[worst].any && attributor->verify_count)
        status = verify_lane(&courses[worst], error);
    if (status == ULP_OK)
        add_courses(lane, courses, groups);
    ulp_arena_free(arena);
    return status;
}

enum ulp_status ulp_attributor_sweep(struct ulp_attributor *attributor, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < attributor->lane_count && status == ULP_OK; l++)
        if (!attributor->lanes[l].reason) {
            const size_t refusals = ulp_budget_refusals(attributor->budget);
            status = sweep_lane(attributor, &attributor->lanes[l], error);
            if (status == ULP_ERROR_MEMORY && ulp_budget_refusals(attributor->budget) > refusals) {
                attributor->lanes[l].reason = no_memory;
                status = ULP_OK;
            }
            ulp_attribution_drop(attributor, &attributor->lanes[l]);
        }
    attributor->verify_count = 0;
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "shares of the output error");
}

/* Means of what is summed, under the output's name. */
static enum ulp_status finish_group(const struct ulp_attributor *attributor,
                                    const struct ulp_output_shares *sums, size_t group,
                                    const struct ulp_audit *audit, struct ulp_output_shares *out,
                                    struct ulp_error *error)
{
    const struct ulp_plan *plan = attributor->plan;
    const char *name = ulp_attribution_output(attributor, group);
    *out = *sums;
    out->output = ulp_arena_text(audit->memory, name, strlen(name));
    out->node_count = plan->node_count;
    out->nodes = ulp_arena_take(audit->memory, plan->node_count + 1, sizeof *out->nodes);
    if (!out->output || !out->nodes)
        return ulp_out_of_memory(error);
    memcpy(out->nodes, sums->nodes, plan->node_count * sizeof *out->nodes);
    ulp_shares_divide(out, plan->node_count);
    return ULP_OK;
}

static enum ulp_status finish_verified(const struct ulp_attributor *attributor,
                                       const struct ulp_attributed *from,
                                       const struct ulp_audit *audit, struct ulp_attribution *to,
                                       struct ulp_error *error)
{
    to->verified = ulp_arena_take(audit->memory, from->verified_count + 1, sizeof *to->verified);
    if (!to->verified)
        return ulp_out_of_memory(error);
    to->verified_count = from->verified_count;
    if (from->verified_count)
        memcpy(to->verified, from->verified, from->verified_count * sizeof *to->verified);
    if (!attributor->each || !from->verified_count)
        return ULP_OK;
    const char *name = ulp_attribution_output(attributor, from->verified_group);
    to->verified_output = ulp_arena_text(audit->memory, name, strlen(name));
    return to->verified_output ? ULP_OK : ulp_out_of_memory(error);
}

static enum ulp_status finish_lane(const struct ulp_attributor *attributor, size_t l,
                                   struct ulp_audit *audit, struct ulp_error *error)
{
    const struct ulp_attributed *from = &attributor->lanes[l];
    struct ulp_audit_lane *lane = &audit->lanes[l];
    struct ulp_attribution *to = &lane->attribution;
    const size_t groups = ulp_attribution_groups(attributor);
    *to = (struct ulp_attribution){.reason = from->reason};
    if (attributor->output && !(to->output = ulp_arena_text(audit->memory, attributor->output,
                                                            strlen(attributor->output))))
        return ulp_out_of_memory(error);
    enum ulp_status status = finish_verified(attributor, from, audit, to, error);
    struct ulp_output_shares *outputs = ulp_arena_take(audit->memory, groups + 1, sizeof *outputs);
    if (!outputs)
        return ulp_out_of_memory(error);
    for (size_t g = 0; g < groups && status == ULP_OK; g++)
        status = finish_group(attributor, &from->sums[g], g, audit, &outputs[g], error);
    if (status != ULP_OK)
        return status;
    to->outputs = outputs;
    to->output_count = attributor->each ? groups : 0;
    if (attributor->each)
        ulp_shares_name(lane);
    else
        ulp_shares_take(lane, outputs);
    return ULP_OK;
}

enum ulp_status ulp_attributor_finish(struct ulp_attributor *attributor, struct ulp_audit *audit,
                                      struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < attributor->lane_count && status == ULP_OK; l++)
        status = finish_lane(attributor, l, audit, error);
    return status;
}
