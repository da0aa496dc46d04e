/* An attributor's life: what it is asked for, a sample's beginning, and what it gives in the end.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/audit/audit_shares.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/budget.h"
#include "base/memory/scratch.h"

static bool fits_apart(const struct ulp_attributor *attributor)
{
    return attributor->target_count <= ULP_SHARES_APART_MAX / (attributor->program->node_count + 1);
}

static enum ulp_status prepare_lane(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                    struct ulp_error *error)
{
    const size_t slots = attributor->program->main->slot_count + 1,
                 nodes = attributor->program->node_count + 1,
                 groups = fits_apart(attributor) ? attributor->target_count + 1 : 1;
    struct ulp_arena *memory = attributor->memory;
    ULP_TAKE(lane->values, memory, slots, error);
    ULP_TAKE(lane->kept, memory, slots, error);
    ULP_TAKE(lane->differences, memory, slots, error);
    ULP_TAKE(lane->as_held, memory, slots, error);
    ULP_TAKE(lane->errors, memory, slots, error);
    ULP_TAKE(lane->norms, memory, slots, error);
    ULP_TAKE(lane->borders, memory, slots, error);
    ULP_TAKE(lane->introduced, memory, nodes, error);
    ULP_TAKE(lane->owed, memory, nodes, error);
    ULP_TAKE(lane->decided, memory, nodes, error);
    ULP_TAKE(lane->moved, memory, nodes, error);
    ULP_TAKE(lane->sums, memory, groups, error);
    for (size_t g = 0; g < groups; g++)
        ULP_TAKE(lane->sums[g].nodes, memory, nodes, error);
    return ULP_OK;
}

enum ulp_status ulp_attributor_create(const struct ulp_program *program, const char *output,
                                      int thread_count, struct ulp_attributor **out,
                                      struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_budget *budget = ulp_model_budget(program->model);
    struct ulp_attributor *attributor = calloc(1, sizeof *attributor);
    *out = NULL;
    ULP_TRY(ulp_taken(attributor, error));
    attributor->program = program;
    attributor->budget = budget;
    attributor->file = -1;
    enum ulp_status status = ulp_pool_create(&attributor->pool, thread_count, error);
    if (status == ULP_OK) {
        ulp_pool_set_root(attributor->pool, budget);
    }
    ULP_THEN(status, ulp_arena_create(&attributor->memory, budget, error));
    ULP_THEN(status, ulp_attribution_targets(attributor, output, error));
    const size_t lanes = program->lane_count - 1;
    if (status == ULP_OK && !(attributor->lanes = ulp_arena_take(attributor->memory, lanes + 1,
                                                                 sizeof *attributor->lanes)))
        status = ulp_out_of_memory(error);
    for (size_t l = 0; l < lanes && status == ULP_OK; l++) {
        status = prepare_lane(attributor, &attributor->lanes[l], error);
        attributor->lane_count += status == ULP_OK;
    }
    attributor->kept_max = ulp_attribution_limit(program);
    if (status == ULP_OK)
        *out = attributor;
    else
        ulp_attributor_free(attributor);
    return status;
}

enum ulp_status ulp_attributor_sample(struct ulp_attributor *attributor,
                                      const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    ULP_ENTER(error);
    for (size_t l = 0; l < attributor->lane_count; l++) {
        ulp_attribution_drop(attributor, &attributor->lanes[l]);
        attributor->lanes[l].reason =
            attributor->target_count ? NULL : "no float output of the graph is computed";
        attributor->lanes[l].nonfinite = false;
    }
    attributor->room = attributor->kept_max;
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
    ULP_ENTER(error);
    attributor->folder = ulp_arena_copy(attributor->memory, folder);
    return ulp_taken(attributor->folder, error);
}

struct ulp_observer ulp_attributor_observer(struct ulp_attributor *attributor)
{
    return (struct ulp_observer){.context = attributor,
                                 .node_done = ulp_attribution_collect,
                                 .modes_unused = true};
}

void ulp_attributor_beside(struct ulp_attributor *attributor, const struct ulp_tensor_set *values)
{
    attributor->beside = values;
    attributor->causes = false;
}

void ulp_attributor_verify(struct ulp_attributor *attributor, size_t count)
{
    attributor->verify_count = count;
}

void ulp_attributor_weigh(struct ulp_attributor *attributor, const double *weights)
{
    attributor->weights = weights;
}

void ulp_attributor_causes(struct ulp_attributor *attributor, bool every)
{
    attributor->causes = true;
    attributor->every = every;
    attributor->each = !attributor->output && !attributor->difference &&
                       attributor->target_count > 1 && fits_apart(attributor);
}

/* ---- in the end ---- */

/* Means of what is summed, under the output's name. */
static enum ulp_status finish_group(const struct ulp_attributor *attributor,
                                    const struct ulp_output_shares *sums, size_t group,
                                    const struct ulp_audit *audit, struct ulp_output_shares *out,
                                    struct ulp_error *error)
{
    const struct ulp_program *program = attributor->program;
    const char *name = ulp_attribution_output(attributor, group);
    *out = *sums;
    out->output = ulp_arena_copy(audit->memory, name);
    out->node_count = program->node_count;
    out->nodes = ulp_arena_take(audit->memory, program->node_count + 1, sizeof *out->nodes);
    ULP_TRY(ulp_taken(out->output && out->nodes, error));
    memcpy(out->nodes, sums->nodes, program->node_count * sizeof *out->nodes);
    ulp_shares_divide(out, program->node_count);
    return ULP_OK;
}

static enum ulp_status finish_verified(const struct ulp_attributor *attributor,
                                       const struct ulp_attributed *from,
                                       const struct ulp_audit *audit, struct ulp_attribution *to,
                                       struct ulp_error *error)
{
    ULP_TAKE(to->verified, audit->memory, from->verified_count + 1, error);
    to->verified_count = from->verified_count;
    if (from->verified_count)
        memcpy(to->verified, from->verified, from->verified_count * sizeof *to->verified);
    if (!attributor->each || !from->verified_count)
        return ULP_OK;
    const char *name = ulp_attribution_output(attributor, from->verified_group);
    to->verified_output = ulp_arena_copy(audit->memory, name);
    return ulp_taken(to->verified_output, error);
}

static enum ulp_status finish_lane(const struct ulp_attributor *attributor, size_t l,
                                   struct ulp_audit *audit, struct ulp_error *error)
{
    const struct ulp_attributed *from = &attributor->lanes[l];
    struct ulp_audit_lane *lane = &audit->lanes[l];
    struct ulp_attribution *to = &lane->attribution;
    const size_t groups = ulp_attribution_groups(attributor);
    *to = (struct ulp_attribution){.reason = from->reason};
    if (attributor->output && !(to->output = ulp_arena_copy(audit->memory, attributor->output)))
        return ulp_out_of_memory(error);
    enum ulp_status status = finish_verified(attributor, from, audit, to, error);
    ULP_TAKE_ARRAY(struct ulp_output_shares, outputs, audit->memory, groups + 1, error);
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
    ULP_ENTER(error);
    for (size_t l = 0; l < attributor->lane_count; l++)
        ULP_TRY(finish_lane(attributor, l, audit, error));
    return ULP_OK;
}
