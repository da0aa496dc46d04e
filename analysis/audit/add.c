/* Audits of one sample each, added up (part.h). */
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/audit_shares.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/part.h"
#include "analysis/audit/place.h"
#include "analysis/audit/zero.h"
#include "analysis/measure/judged.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

/* Of two indexes that may be -1, the first in the graph. */
static ptrdiff_t first_of(ptrdiff_t a, ptrdiff_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static enum ulp_status add_divergence(const struct ulp_audit *audit,
                                      struct ulp_audit_output *output,
                                      const struct ulp_divergence *from, struct ulp_error *error)
{
    if (!from)
        return ULP_OK;
    if (!output->divergence) {
        ULP_TAKE(output->divergence, audit->memory, 1, error);
        *output->divergence = *from;
        return ULP_OK;
    }
    struct ulp_followed *followed = &output->divergence->followed;
    if (from->followed.given &&
        (!followed->given || ulp_metrics_worse(&from->followed.metrics, &followed->metrics)))
        *followed = from->followed;
    return ULP_OK;
}

static enum ulp_status prepare_outputs(struct ulp_auditor *auditor, size_t l,
                                       struct ulp_audit_node *node,
                                       const struct ulp_audit_node *from, struct ulp_error *error)
{
    const struct ulp_audit *audit = &auditor->audit;
    struct ulp_sampled **sampled = &auditor->sampled[l][node->index];
    if (node->outputs)
        return node->output_count == from->output_count
                   ? ULP_OK
                   : ulp_fail(error, ULP_ERROR_INPUT, "node '%s' has another number of outputs",
                              node->name);
    ULP_TAKE(node->outputs, audit->memory, from->output_count + 1, error);
    ULP_TAKE(*sampled, auditor->arena, from->output_count + 1, error);
    node->output_count = from->output_count;
    for (size_t o = 0; o < from->output_count; o++) {
        struct ulp_audit_output *output = &node->outputs[o];
        output->type = from->outputs[o].type;
        output->rank = from->outputs[o].rank;
        memcpy(output->dims, from->outputs[o].dims, sizeof output->dims);
        if (!(output->name = ulp_arena_copy(audit->memory, from->outputs[o].name)))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

static enum ulp_status add_sample_output(struct ulp_auditor *auditor, size_t l,
                                         const struct ulp_audit_node *node, size_t o,
                                         const struct ulp_audit_output *from,
                                         struct ulp_error *error)
{
    struct ulp_audit_output *output = &node->outputs[o];
    struct ulp_round round = {.range = from->range,
                              .format = ulp_audit_format(&auditor->audit.lanes[l], node, output),
                              .rank = from->rank};
    memcpy(round.dims, from->dims, sizeof round.dims);
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        round.views[v] = *ulp_view_get(from, v);
    output->unpaired |= from->unpaired;
    ulp_judged_add(&output->judged, &from->judged);
    ULP_TRY(add_divergence(&auditor->audit, output, from->divergence, error));
    return ulp_auditor_add_round(auditor, output, &auditor->sampled[l][node->index][o], &round,
                                 error);
}

/* Its results are there already. */
static enum ulp_status add_sample_node(struct ulp_auditor *auditor, size_t l, size_t n,
                                       const struct ulp_audit_node *from,
                                       const ptrdiff_t *overflows, struct ulp_error *error)
{
    struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[n];
    if (!from->executions)
        return ULP_OK;
    ULP_TRY(prepare_outputs(auditor, l, node, from, error));
    for (size_t o = 0; o < from->output_count; o++)
        ULP_TRY(add_sample_output(auditor, l, node, o, &from->outputs[o], error));
    node->executions += from->executions;
    node->born |= from->born;
    node->poisoned |= from->poisoned;
    node->reads_overflow |= from->reads_overflow;
    node->absorbs |= from->absorbs;
    node->decided |= from->decided;
    node->choices.count += from->choices.count;
    node->choices.differing += from->choices.differing;
    node->choices.near += from->choices.near;
    node->zeroes |= from->zeroes;
    if (from->zeroed && !node->zeroed) {
        node->zeroed_by = from->zeroed_by;
        if (!(node->zeroed = ulp_arena_copy(auditor->audit.memory, from->zeroed)))
            return ulp_out_of_memory(error);
    }
    if (from->zeroed && strcmp(from->zeroed, node->zeroed) == 0) {
        node->zeroed_count += from->zeroed_count;
        node->zeroed_of += from->zeroed_of;
    }
    node->faint_by = from->faint_by >= 0 ? from->faint_by : node->faint_by;
    node->faint_count += from->faint_count;
    node->faint_zeros += from->faint_zeros;
    node->faint_of += from->faint_of;
    ulp_zero_join(node, from->zero_from);
    node->source = from->source >= 0 ? from->source : node->source;
    node->grew = ulp_math_max(node->grew, from->grew);
    node->first_error = isnan(from->last_error) ? node->first_error : from->first_error;
    node->last_error = isnan(from->last_error) ? node->last_error : from->last_error;
    if (from->overflow >= 0)
        node->overflow = overflows[from->overflow];
    return ULP_OK;
}

/* The reason that other files compare by address. */
static const char *find_reason(const struct ulp_audit *audit, const char *reason)
{
    return strcmp(reason, ulp_attribution_nonfinite) == 0 ? ulp_attribution_nonfinite
                                                          : ulp_arena_copy(audit->memory, reason);
}

/* Room for the sums of as many outputs as the sample has: one where all are one. The means follow
 * when all samples are there. */
static enum ulp_status prepare_shares(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                      const struct ulp_attribution *one, struct ulp_error *error)
{
    struct ulp_attribution *to = &lane->attribution;
    const size_t count = one->output_count ? one->output_count : 1;
    if (to->outputs)
        return ULP_OK;
    to->output_count = one->output_count;
    ULP_TAKE(to->outputs, audit->memory, count, error);
    for (size_t o = 0; o < count; o++) {
        struct ulp_output_shares *shares = &to->outputs[o];
        shares->node_count = lane->node_count;
        shares->nodes = ulp_arena_take(audit->memory, lane->node_count + 1, sizeof *shares->nodes);
        shares->output = one->output_count ? ulp_arena_copy(audit->memory, one->outputs[o].output)
                                           : ulp_arena_copy(audit->memory, "");
        ULP_TRY(ulp_taken(shares->nodes && shares->output, error));
    }
    return ULP_OK;
}

static enum ulp_status add_shares(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                  const struct ulp_audit_lane *from, struct ulp_error *error)
{
    const struct ulp_attribution *one = &from->attribution;
    struct ulp_attribution *to = &lane->attribution;
    struct ulp_output_shares only = {.sample_count = 1,
                                     .sum = one->sum,
                                     .worst = one->worst,
                                     .inputs = one->inputs,
                                     .decisions = one->decisions,
                                     .of_decisions = one->of_decisions};
    ULP_TRY(prepare_shares(audit, lane, one, error));
    for (size_t o = 0; o < to->output_count; o++)
        ulp_shares_add(&to->outputs[o], &one->outputs[o], lane->node_count);
    if (to->output_count)
        return ULP_OK;
    if (!(only.nodes = calloc(lane->node_count + 1, sizeof *only.nodes)))
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < lane->node_count; n++)
        only.nodes[n] = ulp_shares_of(&from->nodes[n]);
    ulp_shares_add(to->outputs, &only, lane->node_count);
    free(only.nodes);
    return ULP_OK;
}

static enum ulp_status add_attribution(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                       const struct ulp_audit_lane *from, struct ulp_error *error)
{
    struct ulp_attribution *to = &lane->attribution;
    const struct ulp_attribution *one = &from->attribution;
    to->reason = one->reason ? find_reason(audit, one->reason) : NULL;
    if (one->reason && !to->reason)
        return ulp_out_of_memory(error);
    if (one->output && !one->output_count && !to->output &&
        !(to->output = ulp_arena_copy(audit->memory, one->output)))
        return ulp_out_of_memory(error);
    if (one->verified_count && !to->verified_count) {
        ULP_TAKE(to->verified, audit->memory, one->verified_count, error);
        memcpy(to->verified, one->verified, one->verified_count * sizeof *to->verified);
        to->verified_count = one->verified_count;
        if (one->verified_output &&
            !(to->verified_output = ulp_arena_copy(audit->memory, one->verified_output)))
            return ulp_out_of_memory(error);
    }
    if (!one->given)
        return ULP_OK;
    to->given = true;
    return add_shares(audit, lane, from, error);
}

static enum ulp_status add_sample_lane(struct ulp_auditor *auditor, size_t l,
                                       const struct ulp_audit_lane *from, struct ulp_error *error)
{
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    ptrdiff_t *overflows = calloc(from->overflow_count + 1, sizeof *overflows);
    enum ulp_status status = ulp_taken(overflows, error);
    if (status == ULP_OK)
        ulp_audit_overflow_add(lane, from, overflows);
    for (size_t n = 0; n < lane->node_count && status == ULP_OK; n++)
        status = add_sample_node(auditor, l, n, &from->nodes[n], overflows, error);
    free(overflows);
    ULP_THEN(status, add_attribution(&auditor->audit, lane, from, error));
    lane->first_decided = first_of(lane->first_decided, from->first_decided);
    lane->qdq_divergence.first = first_of(lane->qdq_divergence.first, from->qdq_divergence.first);
    lane->qdq_divergence.first_step =
        first_of(lane->qdq_divergence.first_step, from->qdq_divergence.first_step);
    lane->qdq_divergence.steps += from->qdq_divergence.steps;
    lane->qdq_divergence.count += from->qdq_divergence.count;
    return status;
}

static enum ulp_status add_certificate(struct ulp_certificate *to,
                                       const struct ulp_certificate *from, struct ulp_error *error)
{
    if (!from->given)
        return ULP_OK;
    if (!to->given || from->node_digits < to->node_digits) {
        char *node = from->node ? strdup(from->node) : NULL;
        if (from->node && !node)
            return ulp_out_of_memory(error);
        free(to->node);
        to->node = node;
        to->node_digits = from->node_digits;
    }
    if (!to->given || from->output_digits < to->output_digits) {
        to->output_digits = from->output_digits;
        to->lost = from->lost;
        to->lost_at = from->lost_at;
    }
    to->given = true;
    return ULP_OK;
}

static enum ulp_status add_inputs(struct ulp_auditor *auditor, const struct ulp_audit *from,
                                  struct ulp_error *error)
{
    struct ulp_audit *audit = &auditor->audit;
    for (size_t i = 0; i < from->nonfinite_input_count; i++) {
        char *name = ulp_arena_copy(audit->memory, from->nonfinite_inputs[i].name);
        ULP_TRY(ulp_taken(name, error));
        ULP_GROW(audit->nonfinite_inputs, audit->memory, audit->nonfinite_input_count,
                 auditor->given.capacity, error);
        audit->nonfinite_inputs[audit->nonfinite_input_count++] =
            (struct ulp_audit_input){.name = name,
                                     .sample = auditor->sample,
                                     .count = from->nonfinite_inputs[i].count};
    }
    return ULP_OK;
}

static enum ulp_status add_births(struct ulp_auditor *auditor, const struct ulp_audit *from,
                                  struct ulp_error *error)
{
    for (size_t b = 0; b < from->birth_count; b++) {
        struct ulp_birth birth = from->births[b];
        birth.sample = auditor->sample;
        ULP_TRY(ulp_auditor_add_birth(auditor, &birth, error));
    }
    return ULP_OK;
}

static bool is_alike(const struct ulp_audit *audit, const struct ulp_audit *sample)
{
    if (audit->lane_count != sample->lane_count || sample->sample_count != 1 ||
        audit->place_count != sample->place_count || audit->cost_count != sample->cost_count)
        return false;
    for (size_t n = 0; n < audit->place_count; n++)
        if (audit->places[n].histograms && sample->places[n].histograms &&
            audit->places[n].output_count != sample->places[n].output_count)
            return false;
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t n = 0; n < audit->lanes[l].node_count; n++) {
            const struct ulp_audit_node *node = &audit->lanes[l].nodes[n],
                                        *other = &sample->lanes[l].nodes[n];
            if (audit->lanes[l].node_count != sample->lanes[l].node_count ||
                (node->outputs && other->executions && node->output_count != other->output_count))
                return false;
        }
    return true;
}

enum ulp_status ulp_auditor_add(struct ulp_auditor *auditor, const struct ulp_audit *sample,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_audit *audit = &auditor->audit;
    if (!is_alike(audit, sample))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an audit is added to one of the same model and arithmetics");
    auditor->adds = true;
    ULP_TRY(ulp_auditor_sample(auditor, sample->sample_names[0], error));
    audit->drawn |= sample->drawn;
    ULP_TRY(add_inputs(auditor, sample, error));
    ULP_TRY(add_births(auditor, sample, error));
    ULP_TRY(ulp_places_add(audit, sample, error));
    for (size_t l = 0; l < audit->lane_count; l++)
        ULP_TRY(add_sample_lane(auditor, l, &sample->lanes[l], error));
    ULP_TRY(add_certificate(&audit->certificate, &sample->certificate, error));
    audit->seconds += sample->seconds;
    for (size_t c = 0; c < audit->cost_count; c++) {
        audit->costs[c].seconds += sample->costs[c].seconds;
        audit->costs[c].by_pairs += sample->costs[c].by_pairs;
        audit->costs[c].by_mpfr += sample->costs[c].by_mpfr;
    }
    if (audit->peak_bytes < sample->peak_bytes)
        audit->peak_bytes = sample->peak_bytes;
    return ULP_OK;
}

enum ulp_status ulp_auditor_add_part(struct ulp_auditor *auditor, const void *bytes, size_t count,
                                     struct ulp_error *error)
{
    ULP_ENTER(error);
    const struct ulp_audit *audit = &auditor->audit;
    struct ulp_audit sample;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(auditor->program->model), error));
    ULP_TRY(ulp_part_decode(&sample, bytes, count, audit->lane_count, audit->lanes[0].node_count,
                            arena, error));
    if (!is_alike(audit, &sample))
        return ulp_fail(error, ULP_ERROR_INPUT, "holds figures of another model");
    return ulp_auditor_add(auditor, &sample, error);
}
