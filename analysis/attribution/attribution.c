/* Shares of the nodes in the error of the outputs: doc/attribution.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/memory/budget.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/memory/scratch.h"
#include "run/pass/sweep.h"

static const char no_error[] = "the outputs equal the reference's",
                  no_output[] = "no float output of the graph is computed",
                  no_memory[] =
                      "going back through the graph needs more memory: raise --max-memory";

static bool prepare_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane)
{
    const size_t slots = attributor->plan->main->slot_count + 1,
                 nodes = attributor->plan->node_count + 1;
    struct ulp_arena *memory = attributor->memory;
    double **const sums[] = {&lane->share, &lane->gain,     &lane->condition,
                             &lane->worst, &lane->decision, &lane->missing};
    lane->values = ulp_arena_take(memory, slots, sizeof *lane->values);
    lane->kept = ulp_arena_take(memory, slots, sizeof *lane->kept);
    lane->differences = ulp_arena_take(memory, slots, sizeof *lane->differences);
    lane->errors = ulp_arena_take(memory, slots, sizeof *lane->errors);
    lane->norms = ulp_arena_take(memory, slots, sizeof *lane->norms);
    lane->introduced = ulp_arena_take(memory, nodes, sizeof *lane->introduced);
    lane->owed = ulp_arena_take(memory, nodes, sizeof *lane->owed);
    lane->causes = ulp_arena_take(memory, nodes, sizeof *lane->causes);
    lane->decided = ulp_arena_take(memory, nodes, sizeof *lane->decided);
    lane->stops = ulp_arena_take(memory, nodes, sizeof *lane->stops);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (!(*sums[i] = ulp_arena_take(memory, nodes, sizeof **sums[i])))
            return false;
    return lane->values && lane->kept && lane->differences && lane->errors && lane->norms &&
           lane->introduced && lane->owed && lane->causes && lane->decided && lane->stops;
}

enum ulp_status ulp_attributor_create(const struct ulp_plan *plan, const char *output,
                                      int thread_count, struct ulp_attributor **out,
                                      struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_budget *budget = ulp_model_budget(plan->model);
    struct ulp_attributor *attributor = calloc(1, sizeof *attributor);
    *out = NULL;
    if (!attributor)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the attribution");
    attributor->plan = plan;
    attributor->budget = budget;
    attributor->file = -1;
    enum ulp_status status = ulp_pool_create(&attributor->pool, thread_count, error);
    if (status == ULP_OK)
        ulp_pool_set_root(attributor->pool, budget);
    if (status == ULP_OK)
        status = ulp_arena_create(&attributor->memory, budget, error);
    if (status == ULP_OK)
        status = ulp_attribution_targets(attributor, output, error);
    const size_t lanes = plan->lane_count - 1;
    if (status == ULP_OK && !(attributor->lanes = ulp_arena_take(attributor->memory, lanes + 1,
                                                                 sizeof *attributor->lanes)))
        status = ulp_attributor_memory(error);
    for (size_t l = 0; l < lanes && status == ULP_OK; l++)
        if (prepare_lane(attributor, &attributor->lanes[l]))
            attributor->lane_count++;
        else
            status = ulp_attributor_memory(error);
    ulp_attribution_limit(attributor);
    if (status == ULP_OK)
        *out = attributor;
    else
        ulp_attributor_free(attributor);
    return status;
}

enum ulp_status ulp_attributor_sample(struct ulp_attributor *attributor,
                                      const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    for (size_t l = 0; l < attributor->lane_count; l++) {
        ulp_attribution_drop(attributor, &attributor->lanes[l]);
        attributor->lanes[l].reason = attributor->target_count ? NULL : no_output;
        attributor->lanes[l].nonfinite = false;
    }
    attributor->kept_bytes = 0;
    attributor->file_end = 0;
    attributor->inputs = inputs;
    return ulp_attribution_inputs(attributor, inputs, error);
}

void ulp_attributor_free(struct ulp_attributor *attributor)
{
    if (!attributor)
        return;
    for (size_t l = 0; l < attributor->lane_count; l++)
        ulp_attribution_drop(attributor, &attributor->lanes[l]);
    ulp_arena_free(attributor->memory);
    ulp_pool_free(attributor->pool);
    ulp_scratch_close(attributor->file);
    free(attributor);
}

enum ulp_status ulp_attributor_spill(struct ulp_attributor *attributor, const char *folder,
                                     struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    attributor->folder = ulp_arena_text(attributor->memory, folder, strlen(folder));
    return attributor->folder ? ULP_OK : ulp_attributor_memory(error);
}

struct ulp_observer ulp_attributor_observer(struct ulp_attributor *attributor)
{
    return (struct ulp_observer){.context = attributor, .node_done = ulp_attribution_collect};
}

/* ---- the sweep ---- */

/* One lane's sweep, and what it gives by node. */
struct course {
    struct ulp_attributor *attributor;
    struct ulp_attributed *lane;
    double *share, *gain, *condition; /* condition: a sum of squares */
    double *decision, *missing;
    double (*causes)[ULP_SHARE_CAUSES];
};

/* The step's values into memory, for the sweep. */
static void close_step(void *context, const struct ulp_step *step)
{
    const struct course *course = context;
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
    const struct course *course = context;
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

static enum ulp_status add_node(void *context, size_t node, size_t execution, int position,
                                const double *cotangents, size_t count, double *part,
                                struct ulp_error *error)
{
    struct course *course = context;
    const struct ulp_plan_node *where = &course->attributor->plan->nodes[node];
    struct ulp_introduced *item = course->lane->introduced[node];
    while (item && (item->execution != execution || item->position != position))
        item = item->next;
    if (item && item->count == count) {
        const enum ulp_status status =
            ulp_attribution_fetch(course->attributor, &item->kept, error);
        if (status != ULP_OK)
            return status;
        const float *introduced = item->kept.data, *gain = introduced + count;
        double share = 0, gained = 0;
        for (size_t i = 0; i < count; i++) {
            share += cotangents[i] * (double)introduced[i];
            gained += cotangents[i] * (double)gain[i];
        }
        course->share[node] += share;
        course->gain[node] += gained;
        *part += share;
        ulp_attribution_release(&item->kept);
        const enum ulp_status kept = ulp_causes_keep(course->attributor, course->lane, node, item,
                                                     cotangents, share, gained, error);
        if (kept != ULP_OK)
            return kept;
    }
    if (where->block != course->attributor->plan->main)
        return ULP_OK;
    const struct ulp_tensor *value = &course->lane->values[where->step->outputs[position]];
    const float *values = value->element == ULP_ELEMENT_F32 ? value->data : NULL;
    for (size_t i = 0; values && i < count; i++) {
        const double product = cotangents[i] * (double)values[i];
        course->condition[node] += isfinite(product) ? product * product : 0;
    }
    return ULP_OK;
}

/* <e, e> of a target; its own error of a single element. */
static double measure_target(const struct ulp_attributed *lane, const struct ulp_target *target)
{
    const double *e = lane->errors[target->slot];
    double sum = 0;
    if (!e || target->one)
        return e ? e[target->index] : 0;
    for (size_t i = 0; i < lane->values[target->slot].count; i++)
        sum += e[i] * e[i];
    return sum;
}

/* The cotangents of what is explained; *scale: its relative error. False: there is no error. */
static enum ulp_status seed_targets(const struct ulp_attributor *attributor,
                                    const struct ulp_attributed *lane,
                                    const struct ulp_sweep *sweep, double *scale, bool *any,
                                    struct ulp_error *error)
{
    const struct ulp_target *targets = attributor->targets;
    double whole = 0;
    size_t count = 0;
    for (size_t t = 0; t < attributor->target_count; t++) {
        const double size = measure_target(lane, &targets[t]);
        whole += targets[t].sign * size;
        count += size != 0;
    }
    *any = attributor->difference ? whole != 0 : count > 0;
    *scale = 0;
    enum ulp_status status = ULP_OK;
    for (size_t t = 0; t < attributor->target_count && *any && status == ULP_OK; t++) {
        const struct ulp_target *target = &targets[t];
        const double size = measure_target(lane, target), *e = lane->errors[target->slot];
        const size_t elements = lane->values[target->slot].count;
        double *seeds;
        if (!e || (size == 0 && !attributor->difference))
            continue;
        status = ulp_sweep_cotangents(sweep, target->slot, elements, &seeds, error);
        if (status != ULP_OK)
            break;
        if (target->one)
            seeds[target->index] += target->sign / (attributor->difference ? whole : size);
        for (size_t i = 0; !target->one && i < elements; i++)
            seeds[i] += e[i] / (size * (double)count);
        *scale += (target->one ? fabs(size) : sqrt(size)) / lane->norms[target->slot] /
                  (double)attributor->target_count;
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

static void add_sample(const struct ulp_attributor *attributor, struct ulp_attributed *lane,
                       const struct course *course, const bool *stopped, double inputs,
                       double scale)
{
    double sum = inputs, decisions = 0;
    for (size_t n = 0; n < attributor->plan->node_count; n++) {
        sum += course->share[n];
        decisions += course->decision[n];
    }
    if (lane->nonfinite && !(fabs(1 - sum) <= WHOLE)) {
        lane->reason = ulp_attribution_nonfinite;
        return;
    }
    sum += decisions;
    for (size_t n = 0; n < attributor->plan->node_count; n++) {
        const struct ulp_operator *op = attributor->plan->nodes[n].step->bound.op;
        lane->share[n] += course->share[n];
        lane->gain[n] += course->gain[n];
        lane->decision[n] += course->decision[n];
        lane->missing[n] += course->missing[n];
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            lane->causes[n][c] += course->causes[n][c];
        lane->condition[n] += sqrt(course->condition[n]) * scale;
        if (fabs(course->share[n]) > fabs(lane->worst[n]))
            lane->worst[n] = course->share[n];
        lane->stops[n] |= stopped[n] || fabs(course->decision[n]) > DECIDED || lane->decided[n] ||
                          (op->stops && course->condition[n] > 0);
    }
    lane->sum += sum;
    lane->inputs += inputs;
    lane->decisions += decisions;
    if (fabs(1 - sum) > fabs(lane->residual_worst))
        lane->residual_worst = 1 - sum;
    lane->sample_count++;
}

static enum ulp_status verify_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                   const struct course *course, struct ulp_error *error)
{
    const size_t slots = attributor->plan->main->slot_count;
    struct ulp_sweep weights = {.plan = attributor->plan,
                                .values = lane->values,
                                .budget = attributor->budget};
    double scale;
    bool any;
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, attributor->budget, error);
    if (status != ULP_OK)
        return status;
    weights.cotangents = ulp_arena_take(arena, slots + 1, sizeof *weights.cotangents);
    status = weights.cotangents ? seed_targets(attributor, lane, &weights, &scale, &any, error)
                                : ulp_attributor_memory(error);
    if (status == ULP_OK)
        status = ulp_attribution_verify(attributor, (size_t)(lane - attributor->lanes),
                                        course->share, course->gain, weights.cotangents, error);
    for (size_t s = 0; weights.cotangents && s < slots; s++)
        ulp_free(weights.cotangents[s]);
    ulp_arena_free(arena);
    return status;
}

static enum ulp_status sweep_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                  struct ulp_error *error)
{
    const struct ulp_plan *plan = attributor->plan;
    struct ulp_arena *arena;
    bool any = false;
    double scale = 0;
    enum ulp_status status = ulp_arena_create(&arena, attributor->budget, error);
    if (status != ULP_OK)
        return status;
    struct course course = {.attributor = attributor, .lane = lane};
    struct ulp_sweep sweep = {.plan = plan,
                              .values = lane->values,
                              .errors = lane->differences,
                              .budget = attributor->budget,
                              .pool = attributor->pool,
                              .node = add_node,
                              .open = open_step,
                              .close = close_step,
                              .context = &course};
    course.share = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.share);
    course.gain = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.gain);
    course.condition = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.condition);
    course.decision = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.decision);
    course.missing = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.missing);
    course.causes = ulp_arena_take(arena, plan->node_count + 1, sizeof *course.causes);
    sweep.cotangents = ulp_arena_take(arena, plan->main->slot_count + 1, sizeof *sweep.cotangents);
    sweep.stopped = ulp_arena_take(arena, plan->node_count + 1, sizeof *sweep.stopped);
    sweep.remainders = ulp_arena_take(arena, plan->node_count + 1, sizeof *sweep.remainders);
    if (!course.share || !course.gain || !course.condition || !course.decision || !course.missing ||
        !course.causes || !sweep.cotangents || !sweep.stopped || !sweep.remainders)
        status = ulp_attributor_memory(error);
    if (status == ULP_OK)
        status = seed_targets(attributor, lane, &sweep, &scale, &any, error);
    if (status == ULP_OK && any)
        status = ulp_sweep_run(&sweep, error);
    if (status == ULP_OK && any)
        status = ulp_attribution_decisions(attributor, lane, sweep.stopped, sweep.remainders,
                                           course.decision, course.missing, error);
    if (status == ULP_OK && any && !lane->reason)
        status = ulp_attribution_causes(attributor, (size_t)(lane - attributor->lanes),
                                        course.share, course.gain, course.causes, error);
    if (status == ULP_OK && any && attributor->verify_count)
        status = verify_lane(attributor, lane, &course, error);
    if (status == ULP_OK && any)
        add_sample(attributor, lane, &course, sweep.stopped,
                   sum_inputs(attributor, lane, sweep.cotangents), scale);
    else if (status == ULP_OK)
        lane->reason = no_error;
    for (size_t s = 0; sweep.cotangents && s < plan->main->slot_count; s++)
        ulp_free(sweep.cotangents[s]);
    ulp_arena_free(arena);
    return status;
}

void ulp_attributor_verify(struct ulp_attributor *attributor, size_t count)
{
    attributor->verify_count = count;
}

void ulp_attributor_causes(struct ulp_attributor *attributor)
{
    attributor->causes = true;
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

enum ulp_status ulp_attributor_finish(struct ulp_attributor *attributor, struct ulp_audit *audit,
                                      struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    for (size_t l = 0; l < attributor->lane_count; l++) {
        const struct ulp_attributed *from = &attributor->lanes[l];
        struct ulp_audit_lane *lane = &audit->lanes[l];
        const double count = (double)from->sample_count;
        struct ulp_attribution *to = &lane->attribution;
        *to = (struct ulp_attribution){.given = count > 0,
                                       .reason = from->reason,
                                       .sample_count = from->sample_count,
                                       .sum = from->sum / count,
                                       .residual = 1 - from->sum / count,
                                       .worst = from->residual_worst,
                                       .inputs = from->inputs / count,
                                       .decisions = from->decisions / count};
        if (attributor->output && !(to->output = ulp_arena_text(audit->memory, attributor->output,
                                                                strlen(attributor->output))))
            return ulp_attributor_memory(error);
        to->verified =
            ulp_arena_take(audit->memory, from->verified_count + 1, sizeof *to->verified);
        if (!to->verified)
            return ulp_attributor_memory(error);
        to->verified_count = from->verified_count;
        if (from->verified_count)
            memcpy(to->verified, from->verified, from->verified_count * sizeof *to->verified);
        for (size_t n = 0; n < lane->node_count && to->given; n++) {
            struct ulp_audit_node *node = &lane->nodes[n];
            node->share = from->share[n] / count;
            node->gain = from->gain[n] / count;
            node->decision = from->decision[n] / count;
            node->missing = from->missing[n] / count;
            node->condition = from->condition[n] / count;
            for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
                node->causes[c] = from->causes[n][c] / count;
            node->share_worst = from->worst[n];
            node->stops = from->stops[n];
        }
    }
    return ULP_OK;
}
