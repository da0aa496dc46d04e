/* An audit from its start to its end: what is collected over runs (observe.c) and samples
 * (samples.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "analysis/audit/auditor.h"
#include "analysis/audit/listed.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/place.h"
#include "analysis/audit/zero.h"
#include "analysis/schedule/schedule.h"
#include "analysis/audit/divergence/qdq.h"
#include "analysis/writing/columns.h"
#include "run/idiom/idiom_read.h"

static bool reads_any(const int *slots, size_t count, const bool *of)
{
    for (size_t i = 0; i < count; i++)
        if (slots[i] >= 0 && of[slots[i]])
            return true;
    return false;
}

/* Of the body of a Loop or Scan: nodes that read a state, or what follows from it, and that the
 * state handed on follows from. */
static enum ulp_status mark_states(const struct ulp_block *block, struct ulp_audit_lane *lane,
                                   struct ulp_arena *memory, struct ulp_error *error)
{
    const struct ulp_step *owner = block->owner;
    const bool loop = owner && ulp_step_is(owner, "Loop");
    if (!loop && !(owner && ulp_step_is(owner, "Scan")))
        return ULP_OK;
    /* of a Loop the number and the condition are read first, and the condition is given first */
    const size_t first = loop ? 2 : 0,
                 others = loop ? 0 : (size_t)ulp_node_int(owner->bound.node, "num_scan_inputs", 0);
    ULP_TAKE_ARRAY(bool, before, memory, block->slot_count + 1, error);
    ULP_TAKE_ARRAY(bool, behind, memory, block->slot_count + 1, error);
    for (size_t i = first; i + others < block->input_count; i++) {
        before[block->inputs[i]] = true;
        behind[block->outputs[i - first + loop]] = true;
    }
    for (size_t k = 0; k < block->step_count; k++) {
        const struct ulp_step *step = &block->steps[k];
        for (size_t o = 0;
             reads_any(step->inputs, step->input_count, before) && o < step->output_count; o++)
            if (step->outputs[o] >= 0)
                before[step->outputs[o]] = true;
    }
    for (size_t k = block->step_count; k-- > 0;) {
        const struct ulp_step *step = &block->steps[k];
        const bool leads = reads_any(step->outputs, step->output_count, behind);
        for (size_t i = 0; leads && i < step->input_count; i++)
            if (step->inputs[i] >= 0)
                behind[step->inputs[i]] = true;
        if (leads && step->number < lane->node_count)
            lane->nodes[step->number].state = reads_any(step->inputs, step->input_count, before);
    }
    return ULP_OK;
}

/* Names are the same in every lane. */
static enum ulp_status prepare_lane(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                    const struct ulp_program *program, size_t index,
                                    struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &program->lanes[index];
    *lane = (struct ulp_audit_lane){.arithmetic = *arithmetic,
                                    .node_count = ulp_program_node_count(program),
                                    .first_born = -1,
                                    .first_decided = -1,
                                    .qdq_divergence = {.other = -1, .first = -1, .first_step = -1}};
    ULP_TAKE(lane->nodes, audit->memory, lane->node_count + 1, error);
    for (size_t n = 0; n < lane->node_count; n++) {
        struct ulp_audit_node *node = &lane->nodes[n];
        node->index = n;
        node->source = node->zeroed_by = node->zero_from = node->faint_by = -1;
        node->grew = node->first_error = node->last_error = NAN;
        node->share_worst = NAN;
#define SHARE(name) node->name = NAN;
#include "analysis/audit/share.def"
        ulp_program_node_types(program, index, n, &node->types);
        ulp_program_node_kernel(program, index, n, &node->kernel);
        node->state = index > 1 && audit->lanes[0].nodes[n].state;
        node->name = index > 1 ? audit->lanes[0].nodes[n].name
                               : ulp_arena_copy(audit->memory, ulp_program_node_name(program, n));
        node->op = index > 1 ? audit->lanes[0].nodes[n].op
                             : ulp_arena_copy(audit->memory, ulp_program_node_op(program, n));
        ULP_TRY(ulp_taken(node->name && node->op, error));
    }
    for (size_t b = 0; index == 1 && b < program->block_count; b++)
        ULP_TRY(mark_states(program->blocks[b], lane, audit->memory, error));
    ULP_TRY(ulp_mixed_prepare(lane, program, index, audit->memory, error));
    return ulp_audit_overflow_prepare(lane, program, index, audit->memory, error);
}

static enum ulp_status prepare_audit(struct ulp_auditor *auditor, struct ulp_error *error)
{
    const struct ulp_program *program = auditor->program;
    struct ulp_budget *budget = ulp_model_budget(program->model);
    struct ulp_audit *audit = &auditor->audit;
    const size_t lanes = program->lane_count - 1, nodes = ulp_program_node_count(program) + 1;
    ULP_TRY(ulp_auditor_threads(auditor, 1, error));
    ULP_TRY(ulp_arena_create(&auditor->arena, budget, error));
    ULP_TRY(ulp_arena_create(&audit->memory, budget, error));
    audit->lanes = ulp_arena_take(audit->memory, lanes, sizeof *audit->lanes);
    audit->model_path = ulp_arena_copy(audit->memory, ulp_model_path(program->model));
    audit->arguments = ulp_model_words(audit->memory, program->model);
    audit->reference = ulp_arena_copy(audit->memory, program->lanes[0].name);
    audit->ir_version = ulp_model_ir_version(program->model);
    audit->attentions_joined = program->written.joined;
    audit->attentions_apart = program->written.apart;
    if (program->written.apart) {
        audit->attention_apart = ulp_arena_copy(audit->memory, program->written.node);
        audit->attention_why = ulp_arena_copy(audit->memory, program->written.why);
        ULP_TRY(ulp_taken(audit->attention_apart && audit->attention_why, error));
    }
    audit->opset = ulp_model_opset(program->model, "");
    ULP_TAKE(auditor->taints, auditor->arena, lanes, error);
    ULP_TAKE(auditor->sampled, auditor->arena, lanes, error);
    ULP_TAKE(auditor->listed, auditor->arena, lanes + 1, error);
    ULP_TRY(ulp_taken(audit->lanes && audit->model_path && audit->arguments && audit->reference,
                      error));
    for (audit->lane_count = 0; audit->lane_count < lanes; audit->lane_count++) {
        const size_t l = audit->lane_count;
        auditor->taints[l].budget = budget;
        auditor->sampled[l] = ulp_arena_take(auditor->arena, nodes, sizeof **auditor->sampled);
        ULP_TRY(auditor->sampled[l] ? prepare_lane(audit, &audit->lanes[l], program, l + 1, error)
                                    : ulp_out_of_memory(error));
    }
    ULP_TAKE(audit->costs, audit->memory, lanes + 1, error);
    for (; audit->cost_count <= lanes; audit->cost_count++) {
        const size_t c = audit->cost_count;
        audit->costs[c].name = c ? audit->lanes[c - 1].name : audit->reference;
    }
    ULP_TRY(ulp_places_make(program, audit->memory, &audit->places, error));
    audit->place_count = ulp_program_node_count(program);
    auditor->births = (struct ulp_birth_watch){.program = program,
                                               .memory = audit->memory,
                                               .taints.budget = budget};
    auditor->lost = (struct ulp_lost){.program = program,
                                      .bits = ulp_lost_bits(&program->lanes[0]),
                                      .values.budget = budget};
    ULP_TRY(ulp_given_create(&auditor->given, program, error));
    ulp_qdq_divergence_prepare(audit);
    return ULP_OK;
}

enum ulp_status ulp_auditor_create(const struct ulp_program *program, struct ulp_auditor **out,
                                   struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = NULL;
    if (program->lane_count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an audit needs a reference and at least one arithmetic");
    struct ulp_auditor *auditor = calloc(1, sizeof *auditor);
    ULP_TRY(ulp_taken(auditor, error));
    auditor->program = program;
    enum ulp_status status = prepare_audit(auditor, error);
    if (status == ULP_OK)
        *out = auditor;
    else
        ulp_auditor_free(auditor);
    return status;
}

enum ulp_status ulp_auditor_threads(struct ulp_auditor *auditor, int thread_count,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    ulp_pool_free(auditor->pool);
    ULP_TRY(ulp_pool_create(&auditor->pool, thread_count, error));
    ulp_pool_set_root(auditor->pool, ulp_model_budget(auditor->program->model));
    return ULP_OK;
}

static void free_collecting(struct ulp_auditor *auditor, size_t lane_count)
{
    for (size_t l = 0; auditor->listed && l < lane_count; l++) {
        ulp_taint_clear(&auditor->taints[l]);
        ulp_listed_clear(&auditor->listed[l], auditor);
    }
    ulp_arena_free(auditor->arena);
    auditor->arena = NULL;
    ulp_birth_forget(&auditor->births);
    ulp_lost_start(&auditor->lost);
    ulp_given_free(&auditor->given);
    auditor->sampled = NULL;
    auditor->taints = NULL;
    auditor->listed = NULL;
}

void ulp_auditor_free(struct ulp_auditor *auditor)
{
    if (!auditor)
        return;
    free_collecting(auditor, auditor->audit.lane_count);
    ulp_pool_free(auditor->pool);
    ulp_audit_free(&auditor->audit);
    free(auditor);
}

enum ulp_status ulp_auditor_sample(struct ulp_auditor *auditor, const char *name,
                                   struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_audit *audit = &auditor->audit;
    ULP_TRY(ulp_auditor_keep_samples(auditor, error));
    if (!ULP_ARENA_GROWS(audit->sample_names, audit->memory, audit->sample_count,
                         auditor->sample_capacity) ||
        !(audit->sample_names[audit->sample_count] = ulp_arena_copy(audit->memory, name)))
        return ulp_out_of_memory(error);
    auditor->sample = audit->sample_count++;
    auditor->diverged = auditor->reordered = auditor->lists = false;
    for (size_t l = 0; l < audit->lane_count; l++) {
        ulp_taint_clear(&auditor->taints[l]);
        ulp_listed_clear(&auditor->listed[l], auditor);
    }
    ulp_birth_forget(&auditor->births);
    ulp_lost_start(&auditor->lost);
    auditor->births.sample = auditor->sample;
    ulp_given_start(&auditor->given);
    return ULP_OK;
}

/* Of one node the samples' births are one, whose outputs are those of all. */
enum ulp_status ulp_auditor_add_birth(struct ulp_auditor *auditor, const struct ulp_birth *birth,
                                      struct ulp_error *error)
{
    struct ulp_audit *audit = &auditor->audit;
    const size_t outputs = auditor->program->main->output_count;
    size_t b = 0;
    while (b < audit->birth_count && (audit->births[b].node != birth->node ||
                                      strcmp(audit->births[b].value, birth->value) != 0))
        b++;
    if (b == audit->birth_count) {
        struct ulp_birth made = *birth;
        char **const texts[] = {&made.name, &made.op, &made.value, &made.is, &made.why};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            if (*texts[t] && !(*texts[t] = ulp_arena_copy(audit->memory, *texts[t])))
                return ulp_out_of_memory(error);
        made.output_count = 0;
        ULP_TAKE(made.outputs, audit->memory, outputs + 1, error);
        ULP_GROW(audit->births, audit->memory, audit->birth_count, auditor->birth_capacity, error);
        audit->births[audit->birth_count++] = made;
    }
    struct ulp_birth *to = &audit->births[b];
    for (size_t o = 0; o < birth->output_count; o++) {
        if (to->output_count < outputs && !ulp_birth_of(to, 1, birth->outputs[o]) &&
            !(to->outputs[to->output_count++] = ulp_arena_copy(audit->memory, birth->outputs[o])))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

enum ulp_status ulp_auditor_settle(struct ulp_auditor *auditor, const struct ulp_tensor_set *inputs,
                                   int thread_count, struct ulp_error *error)
{
    struct ulp_birth_watch *watch = &auditor->births;
    enum ulp_status status = ulp_birth_settle(watch, inputs, thread_count, error);
    for (size_t b = 0; b < watch->count && status == ULP_OK; b++)
        status = ulp_auditor_add_birth(auditor, &watch->items[b], error);
    ulp_birth_forget(watch);
    return status;
}

enum ulp_status ulp_auditor_truth(struct ulp_auditor *auditor, const struct ulp_truth *truth,
                                  const char *path, struct ulp_error *error)
{
    auditor->audit.reference_model = ulp_arena_copy(auditor->audit.memory, path);
    auditor->truth = truth;
    return ulp_taken(auditor->audit.reference_model, error);
}

/* How many node outputs have a partner: the same in every lane. */
static void count_pairs(struct ulp_audit *audit)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                audit->unpaired_count++;
            else
                audit->paired_count++;
}

/* The figures of a value of the main graph; NULL: no node computes it. */
static struct ulp_audit_output *find_output(const struct ulp_audit_lane *lane,
                                            const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    for (size_t i = 0, o = 0; step && i < step->output_count; o += step->outputs[i++] >= 0)
        if (step->outputs[i] == slot && o < lane->nodes[step->number].output_count)
            return &lane->nodes[step->number].outputs[o];
    return NULL;
}

/* The graph's outputs, under their names. One that is a constant or an input has nothing to measure
 * and is left out. */
static enum ulp_status collect_outputs(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                       const struct ulp_program *program, struct ulp_error *error)
{
    size_t count = program->main->output_count;
    ULP_TAKE(lane->outputs.outputs, audit->memory, count + 1, error);
    for (size_t i = 0; i < count; i++) {
        struct ulp_audit_output *from = find_output(lane, program->main, program->main->outputs[i]);
        if (!from)
            continue;
        ULP_TRY(ulp_taken(ulp_audit_grade(audit, from), error));
        struct ulp_audit_output *to = &lane->outputs.outputs[lane->outputs.output_count];
        *to = *from;
        if (!(to->name = ulp_arena_copy(audit->memory, ulp_model_output(program->model, i).name)))
            return ulp_out_of_memory(error);
        lane->outputs.output_count++;
    }
    return ULP_OK;
}

enum ulp_status ulp_auditor_finish(struct ulp_auditor *auditor, struct ulp_audit *out,
                                   struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_TRY(ulp_auditor_keep_samples(auditor, error));
    for (size_t l = 0; l < auditor->audit.lane_count; l++) {
        ULP_TRY(
            collect_outputs(&auditor->audit, &auditor->audit.lanes[l], auditor->program, error));
        ulp_audit_overflow_finish(&auditor->audit.lanes[l]);
        ulp_zero_follow(&auditor->audit, &auditor->audit.lanes[l]);
    }
    if (auditor->truth && !auditor->adds)
        ULP_TRY(ulp_truth_check(auditor->truth, &auditor->audit, error));
    if (auditor->truth)
        count_pairs(&auditor->audit);
    if (auditor->adds)
        ulp_auditor_finish_added(&auditor->audit);
    *out = auditor->audit;
    auditor->audit = (struct ulp_audit){0};
    free_collecting(auditor, out->lane_count);
    return ULP_OK;
}

void ulp_audit_free(struct ulp_audit *audit)
{
    if (!audit)
        return;
    free(audit->certificate.node);
    for (size_t i = 0; i < audit->spread_count; i++)
        ulp_spreads_free(&audit->spreads[i]);
    free(audit->spreads);
    ulp_arena_free(audit->memory);
    *audit = (struct ulp_audit){0};
}
