/* Predicted against true: runs in which one node is kept in the reference. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/error.h"
#include "base/random.h"
#include "run/lane.h"
#include "run/pass/replay.h"

/* One lane alone, and the values that are explained in its last run. */
struct trial {
    struct ulp_attributor *attributor;
    const struct ulp_attributed *lane;
    size_t without;            /* the node that makes no error in a replay */
    struct ulp_tensor *inputs; /* of replays, by slot */
    enum ulp_status status;    /* of looking at its values */
    struct ulp_error *error;
    struct ulp_alone alone;
    double **values; /* by slot */
};

/* An explained value, as the lane stores it: a kept node leaves it as the reference does. */
static enum ulp_status take_value(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct trial *trial = context;
    const struct ulp_program *program = trial->attributor->program;
    const struct ulp_program_node *node = &program->nodes[event->index];
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        const int slot = node->step->outputs[event->output_positions[o]];
        const struct ulp_tensor *value = event->values[o].entire;
        struct ulp_format format;
        if (node->block != program->main || !trial->attributor->wanted[slot] || !value ||
            !trial->lane->errors[slot]) /* integers that are no amounts */
            continue;
        struct ulp_tensor stored;
        status = ulp_element_is_float(value->element)
                     ? ulp_lane_format(&trial->alone.program->lanes[0], value->type, &format, error)
                     : ulp_format_find("fp64", &format, error); /* amounts are not rounded */
        ULP_THEN(status, ulp_tensor_create_like(&stored, value, ULP_ELEMENT_F64, 0,
                                                trial->attributor->budget, error));
        if (status != ULP_OK)
            return status;
        status =
            ulp_tensor_convert(&stored, value, &format, trial->alone.program->lanes[0].rounding, 0,
                               trial->attributor->pool, error);
        ulp_free(trial->values[slot]);
        trial->values[slot] = stored.data;
    }
    return status;
}

static enum ulp_status run_trial(struct trial *trial, struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count =
                                                ulp_pool_thread_count(trial->attributor->pool)};
    const struct ulp_observer observer = {.context = trial,
                                          .node_done = take_value,
                                          .modes_unused = true};
    return ulp_program_look(trial->alone.program, trial->attributor->inputs, &options, &observer,
                            NULL, NULL, error);
}

/* <weights, values>, all of what is explained. */
static double weigh(const struct trial *trial, double *const *weights)
{
    const struct ulp_attributor *attributor = trial->attributor;
    double sum = 0;
    for (size_t s = 0; s < attributor->program->main->slot_count; s++)
        for (size_t i = 0;
             weights[s] && trial->values[s] && i < attributor->program->main->slots[s].shape.count;
             i++)
            sum += weights[s][i] * trial->values[s][i];
    return sum;
}

static enum ulp_status try_kept(struct trial *trial, size_t node, double *const *weights,
                                double before, double *found, struct ulp_error *error)
{
    enum ulp_status status =
        ulp_alone_keep(&trial->alone, &node, 1, trial->attributor->program->lanes, error);
    ULP_THEN(status, run_trial(trial, error));
    *found = before - weigh(trial, weights);
    return status;
}

/* ---- replays ---- */

/* What a node hands on as it lies, such as a constant, is somebody else's; an error is put into a
 * copy of it, in FP64. */
static enum ulp_status own_value(struct trial *trial, struct ulp_tensor *value)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
    if (value->owned && value->element == ULP_ELEMENT_F64)
        return ULP_OK;
    ULP_TRY(ulp_tensor_create_like(&copy, value, ULP_ELEMENT_F64, 0, trial->attributor->budget,
                                   trial->error));
    ULP_TRY(ulp_tensor_convert(&copy, value, NULL, ULP_ROUND_NEAREST_EVEN, 0,
                               trial->attributor->pool, trial->error));
    const struct ulp_tensor before = *value;
    *value = copy;
    copy = before;
    return ULP_OK;
}

static void put_error(void *context, size_t node, int position, int slot, struct ulp_tensor *value)
{
    struct trial *trial = context;
    struct ulp_introduced *item = trial->lane->introduced[node];
    while (item && (item->execution || item->position != position))
        item = item->next;
    if (item && ulp_element_is_float(value->element) && trial->status == ULP_OK)
        trial->status = own_value(trial, value);
    double *values = value->data;
    if (value->element != ULP_ELEMENT_F64)
        return;
    if (item && node != trial->without && trial->status == ULP_OK) {
        const float *introduced = item->kept.data;
        for (size_t i = 0; introduced && i < value->count; i++)
            values[i] += (double)introduced[i];
    }
    if (!trial->attributor->wanted[slot] || trial->status != ULP_OK)
        return;
    void *copy;
    trial->status = ulp_allocate(&copy, value->count, sizeof(double), trial->attributor->budget,
                                 "values of a replay", trial->error);
    if (trial->status == ULP_OK && value->count)
        memcpy(copy, values, value->count * sizeof(double));
    ulp_free(trial->values[slot]);
    trial->values[slot] = copy;
    const double *border = node == trial->without ? NULL : trial->lane->borders[slot];
    for (size_t i = 0; border && i < value->count && trial->status == ULP_OK; i++)
        trial->values[slot][i] += border[i];
}

/* The lane's own inputs. */
static enum ulp_status make_inputs(struct trial *trial, struct ulp_error *error)
{
    const struct ulp_block *block = trial->attributor->program->main;
    ULP_TAKE(trial->inputs, trial->alone.memory, block->slot_count + 1, error);
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const struct ulp_tensor *kept = &trial->lane->values[slot];
        struct ulp_tensor *input = &trial->inputs[slot];
        *input = ulp_tensor_view(kept);
        if (kept->element != ULP_ELEMENT_F32 || !kept->data)
            continue;
        ULP_TAKE_ARRAY(double, values, trial->alone.memory, kept->count + 1, error);
        for (size_t k = 0; k < kept->count; k++)
            values[k] = (double)((const float *)kept->data)[k];
        input->element = ULP_ELEMENT_F64;
        input->element_bytes = sizeof *values;
        input->data = values;
    }
    return ULP_OK;
}

/* Without the error of one node; SIZE_MAX: of none. */
static enum ulp_status replay(struct trial *trial, size_t without, double *const *weights,
                              double *sum, struct ulp_error *error)
{
    const struct ulp_replay run = {.program = trial->attributor->program,
                                   .inputs = trial->inputs,
                                   .output = put_error,
                                   .context = trial,
                                   .budget = trial->attributor->budget,
                                   .pool = trial->attributor->pool};
    trial->without = without;
    trial->status = ULP_OK;
    trial->error = error;
    const enum ulp_status status = ulp_replay_run(&run, error);
    *sum = status == ULP_OK && trial->status == ULP_OK ? weigh(trial, weights) : 0;
    return status == ULP_OK ? trial->status : status;
}

static bool is_tried(const struct ulp_attributor *attributor, const struct ulp_node_shares *shares,
                     size_t node)
{
    return shares[node].share != 0 &&
           attributor->program->nodes[node].block == attributor->program->main;
}

/* The nodes to be tried: the largest, then random ones. */
static size_t choose_nodes(const struct ulp_attributor *attributor,
                           const struct ulp_node_shares *shares, struct ulp_verified *out)
{
    const size_t nodes = attributor->program->node_count;
    size_t count = 0;
    for (size_t draw = 0; count < 2 * attributor->verify_count && draw < 64 * nodes; draw++) {
        size_t best = nodes;
        for (size_t n = 0; n < nodes && count < attributor->verify_count; n++) {
            bool taken = !is_tried(attributor, shares, n);
            for (size_t i = 0; i < count; i++)
                taken |= out[i].node == n;
            if (!taken && (best == nodes || fabs(shares[n].share) > fabs(shares[best].share)))
                best = n;
        }
        if (best == nodes) { /* all of the largest are chosen */
            best = (size_t)(ulp_random_uniform(UINT64_C(0x5eed), draw) * (double)nodes);
            bool taken = !is_tried(attributor, shares, best);
            for (size_t i = 0; i < count; i++)
                taken |= out[i].node == best;
            if (taken)
                continue;
        }
        out[count++] = (struct ulp_verified){.node = best, .share = shares[best].share};
    }
    return count;
}

static enum ulp_status try_nodes(struct trial *trial, struct ulp_verified *tried, size_t count,
                                 const struct ulp_node_shares *shares, double *const *weights,
                                 struct ulp_error *error)
{
    double before = 0, after;
    enum ulp_status status = replay(trial, SIZE_MAX, weights, &before, error);
    for (size_t i = 0; i < count && status == ULP_OK; i++) {
        status = replay(trial, tried[i].node, weights, &after, error);
        tried[i].held = before - after;
        tried[i].gain = shares[tried[i].node].gain;
    }
    ULP_THEN(status, run_trial(trial, error));
    before = status == ULP_OK ? weigh(trial, weights) : 0;
    for (size_t i = 0; i < count && status == ULP_OK; i++)
        status = try_kept(trial, tried[i].node, weights, before, &tried[i].kept, error);
    return status;
}

enum ulp_status ulp_attribution_verify(struct ulp_attributor *attributor, size_t l,
                                       const struct ulp_node_shares *shares, double *const *weights,
                                       struct ulp_error *error)
{
    const struct ulp_program *program = attributor->program;
    struct ulp_attributed *lane = &attributor->lanes[l];
    struct trial trial = {.attributor = attributor, .lane = lane};
    enum ulp_status status =
        ulp_alone_create(program, l + 1, false, attributor->inputs, &trial.alone, error);
    if (status == ULP_ERROR_UNSUPPORTED)
        status = ulp_fail_at(error, status, "--verify");
    lane->verified =
        ulp_arena_take(attributor->memory, 2 * attributor->verify_count, sizeof *lane->verified);
    if (status == ULP_OK)
        trial.values =
            ulp_arena_take(trial.alone.memory, program->main->slot_count + 1, sizeof *trial.values);
    if (status == ULP_OK && !(lane->verified && trial.values))
        status = ulp_out_of_memory(error);
    ULP_THEN(status, make_inputs(&trial, error));
    if (status == ULP_OK) {
        lane->verified_count = choose_nodes(attributor, shares, lane->verified);
        status = try_nodes(&trial, lane->verified, lane->verified_count, shares, weights, error);
    }
    for (size_t s = 0; trial.values && s < program->main->slot_count; s++)
        ulp_free(trial.values[s]);
    ulp_alone_free(&trial.alone);
    return status;
}
