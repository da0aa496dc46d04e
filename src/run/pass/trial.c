#include "run/pass/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/memory/reserve.h"
#include "run/walk.h"

/* What a sample's last accepted run carries over to the next. */
struct held {
    const struct ulp_tensor_set *inputs;
    bool computed;
    uint16_t *of_node;
    struct ulp_tensor *values;         /* by slot of the main graph; inputs as views */
    const struct ulp_tensor *integers; /* of the reference; NULL: its decisions are not taken */
    struct ulp_tensor *fitted;         /* inputs of the declared types, by slot */
};

struct ulp_trial {
    const struct ulp_program *program;
    struct ulp_arena *memory;
    struct ulp_budget budget;
    struct ulp_pool *pool;
    struct ulp_mix mix; /* of the lane first, then those that nodes are kept in */
    struct ulp_lane lane;
    uint16_t *of_node;   /* of the run */
    uint16_t *own;       /* by node: of one that is not kept */
    const bool **inside; /* by step: which nodes its bodies have; NULL: it has none */
    bool holds;
    struct held *samples;
    size_t sample_count, sample_room;
    /* of the last run, until it is accepted or forgotten */
    struct held *running; /* NULL: there is none */
    bool *changed;        /* by slot: another value than is held */
    struct ulp_tensor *before;
    double work;
};

static bool *take_flags(struct ulp_trial *trial, size_t count)
{
    return ulp_arena_take(trial->memory, count + 1, sizeof(bool));
}

/* Which nodes are in a body of each step. */
static enum ulp_status find_inside(struct ulp_trial *trial, struct ulp_error *error)
{
    const struct ulp_program *program = trial->program;
    ULP_TAKE(trial->inside, trial->memory, program->main->step_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++) {
        const struct ulp_block *block = program->nodes[n].block;
        const struct ulp_step *owner = NULL;
        for (; block != program->main; block = block->parent)
            owner = block->owner;
        if (!owner)
            continue;
        const size_t s = (size_t)(owner - program->main->steps);
        bool *nodes = trial->inside[s] ? (bool *)(uintptr_t)trial->inside[s]
                                       : take_flags(trial, program->node_count);
        ULP_TRY(ulp_taken(nodes, error));
        nodes[n] = true;
        trial->inside[s] = nodes;
    }
    return ULP_OK;
}

static bool fits(const struct ulp_program *program, size_t sample_count)
{
    const size_t limit = ulp_budget_limit(ulp_model_budget(program->model));
    double bytes = 0;
    for (size_t v = 0; v < program->main->slot_count; v++)
        if (!program->main->slots[v].constant)
            bytes += (double)program->main->slots[v].shape.count * sizeof(float);
    return !limit || bytes * (double)sample_count < (double)limit / 3;
}

/* What the nodes may be computed in. */
static enum ulp_status take_arithmetics(struct ulp_trial *trial, const struct ulp_arithmetic *own,
                                        const struct ulp_arithmetic *keep_in, size_t keep_count,
                                        struct ulp_error *error)
{
    if (keep_count >= UINT16_MAX - ULP_DECLARED_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu arithmetics in one trial: at most %d",
                        keep_count, UINT16_MAX - ULP_DECLARED_MAX - 1);
    struct ulp_arithmetic *items =
        ulp_arena_take(trial->memory, keep_count + 1 + ULP_DECLARED_MAX, sizeof *trial->mix.items);
    ULP_TRY(ulp_taken(items, error));
    items[0] = *own;
    memcpy(items + 1, keep_in, keep_count * sizeof *items);
    trial->mix = (struct ulp_mix){.memory = trial->memory, .count = keep_count + 1, .items = items};
    trial->own = ulp_arena_take(trial->memory, trial->program->node_count + 1, sizeof *trial->own);
    ULP_TRY(ulp_taken(trial->own, error));
    return ulp_program_declare(trial->program, &trial->mix, trial->own, error);
}

static enum ulp_status prepare_trial(struct ulp_trial *trial, size_t sample_count,
                                     struct ulp_error *error)
{
    const struct ulp_program *program = trial->program;
    const size_t slots = program->main->slot_count;
    trial->of_node = ulp_arena_take(trial->memory, program->node_count + 1, sizeof *trial->of_node);
    trial->changed = take_flags(trial, slots);
    trial->before = ulp_arena_take(trial->memory, slots + 1, sizeof *trial->before);
    trial->samples = ulp_arena_take(trial->memory, sample_count + 1, sizeof *trial->samples);
    ULP_TRY(ulp_taken(trial->of_node && trial->changed && trial->before && trial->samples, error));
    trial->sample_room = sample_count;
    trial->holds = fits(program, sample_count);
    trial->mix.of_node = trial->of_node;
    ULP_TRY(find_inside(trial, error));
    ULP_TRY(ulp_lane_create(&trial->lane, &trial->mix, program->main, &trial->budget, trial->pool,
                            error));
    trial->lane.keeps_constants = trial->holds;
    return ULP_OK;
}

enum ulp_status ulp_trial_create(const struct ulp_program *program, size_t lane,
                                 const struct ulp_arithmetic *keep_in, size_t keep_count,
                                 size_t sample_count, struct ulp_pool *pool, struct ulp_trial **out,
                                 struct ulp_error *error)
{
    struct ulp_budget *root = ulp_model_budget(program->model);
    struct ulp_trial *trial = calloc(1, sizeof *trial);
    *out = NULL;
    ULP_TRY(ulp_taken(trial, error));
    trial->program = program;
    trial->pool = pool;
    ulp_budget_open(&trial->budget, root);
    enum ulp_status status = ulp_arena_create(&trial->memory, &trial->budget, error);
    ULP_THEN(status, take_arithmetics(trial, &program->lanes[lane], keep_in, keep_count, error));
    ULP_THEN(status, prepare_trial(trial, sample_count, error));
    if (status == ULP_OK)
        *out = trial;
    else
        ulp_trial_free(trial);
    return status;
}

double ulp_trial_work(const struct ulp_trial *trial)
{
    return trial->program->main->cost > 0 ? trial->work / trial->program->main->cost : 0;
}

enum ulp_status ulp_trial_add(struct ulp_trial *trial, const struct ulp_tensor_set *inputs,
                              struct ulp_error *error)
{
    const struct ulp_block *block = trial->program->main;
    if (trial->sample_count == trial->sample_room)
        return ulp_fail(error, ULP_ERROR_USAGE, "more samples than the trial was made for");
    struct held *held = &trial->samples[trial->sample_count];
    ULP_TRY(ulp_model_check_inputs(trial->program->model, inputs, error));
    *held = (struct held){.inputs = inputs};
    ULP_TAKE(held->of_node, trial->memory, trial->program->node_count + 1, error);
    ULP_TAKE(held->values, trial->memory, block->slot_count + 1, error);
    ULP_TAKE(held->fitted, trial->memory, block->slot_count + 1, error);
    trial->sample_count++;
    for (size_t i = 0; i < block->input_count; i++) {
        const int slot = block->inputs[i];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, block->slots[slot].name);
        if (!ulp_tensor_same_shape(given, &block->slots[slot].shape))
            return ulp_fail(error, ULP_ERROR_INPUT, "input '%s' has another shape than planned for",
                            block->slots[slot].name);
        ULP_TRY(ulp_fit_input(&held->fitted[slot], given, block->slots[slot].shape.type,
                              &trial->budget, trial->pool, error));
        held->values[slot] = ulp_tensor_view(&held->fitted[slot]);
    }
    return ULP_OK;
}

/* ---- the held values and the lane's ---- */

static void load(struct ulp_trial *trial, struct held *held)
{
    for (size_t v = 0; v < trial->program->main->slot_count; v++)
        if (!trial->program->main->slots[v].constant)
            trial->lane.values[v] = held->values[v];
    trial->running = held;
}

static void unload(struct ulp_trial *trial)
{
    for (size_t v = 0; v < trial->program->main->slot_count; v++)
        if (!trial->program->main->slots[v].constant)
            trial->lane.values[v] = (struct ulp_tensor){0};
    trial->running = NULL;
}

static void forget(struct ulp_trial *trial)
{
    if (!trial->running)
        return;
    for (size_t v = 0; v < trial->program->main->slot_count; v++)
        if (trial->changed[v]) {
            ulp_tensor_free(&trial->lane.values[v]);
            trial->before[v] = (struct ulp_tensor){0};
            trial->changed[v] = false;
        }
    unload(trial);
}

void ulp_trial_accept(struct ulp_trial *trial)
{
    struct held *held = trial->running;
    if (!held || !trial->holds) {
        forget(trial);
        return;
    }
    for (size_t v = 0; v < trial->program->main->slot_count; v++)
        if (trial->changed[v]) {
            ulp_tensor_free(&trial->before[v]);
            held->values[v] = trial->lane.values[v];
            trial->changed[v] = false;
        }
    memcpy(held->of_node, trial->of_node, trial->program->node_count * sizeof *held->of_node);
    held->computed = true;
    unload(trial);
}

void ulp_trial_free(struct ulp_trial *trial)
{
    if (!trial)
        return;
    forget(trial);
    for (size_t s = 0; s < trial->sample_count; s++)
        for (size_t v = 0; v < trial->program->main->slot_count; v++) {
            ulp_tensor_free(&trial->samples[s].values[v]);
            ulp_tensor_free(&trial->samples[s].fitted[v]);
        }
    ulp_lane_free(&trial->lane);
    ulp_arena_free(trial->memory);
    free(trial);
}

void ulp_trial_follow(struct ulp_trial *trial, size_t sample, const struct ulp_tensor *integers)
{
    forget(trial);
    trial->samples[sample].integers = integers;
    trial->samples[sample].computed = false;
}

/* ---- one run ---- */

static bool is_moved(const struct ulp_trial *trial, const struct ulp_step *step)
{
    const struct held *held = trial->running;
    const bool *inside = trial->inside[step - trial->program->main->steps];
    bool moved = !held->computed || held->of_node[step->number] != trial->of_node[step->number];
    if (step->integer) { /* its integer form needs that of the product, too */
        const size_t product = trial->program->main->steps[step->integer->product].number;
        moved |= held->of_node[product] != trial->of_node[product];
    }
    for (const struct ulp_integer_form *form = step->integer; form; form = form->next)
        for (size_t i = 0; i < form->taken_count; i++) {
            const size_t taken = trial->program->main->steps[form->taken[i]].number;
            moved |= held->of_node[taken] != trial->of_node[taken];
        }
    for (size_t n = 0; inside && !moved && n < trial->program->node_count; n++)
        moved = inside[n] && held->of_node[n] != trial->of_node[n];
    return moved;
}

static bool same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->element == b->element && a->precision == b->precision &&
           ulp_tensor_same_shape(a, b) &&
           memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
}

/* Does the step, in the same arithmetic, read input i otherwise than it did? */
static enum ulp_status compare_input(struct ulp_trial *trial, const struct ulp_step *step, size_t i,
                                     bool *differs, struct ulp_error *error)
{
    struct ulp_lane *lane = &trial->lane;
    const int slot = step->inputs[i];
    if (slot < 0 || !trial->changed[slot])
        return ULP_OK;
    const struct ulp_tensor *old = &trial->before[slot], *now;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor converted = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor adapted = {0};
    const uint16_t was = trial->running->of_node[ulp_slot_holder(lane->block, slot)];
    if (ulp_is_captured(step, i) || !ulp_tensor_same_shape(old, &lane->values[slot])) {
        *differs = true;
        return ULP_OK;
    }
    struct ulp_format from;
    ULP_TRY(ulp_lane_input(lane, step, i, &converted, &now, error));
    if (ulp_element_is_float(old->element) && was != trial->of_node[step->number]) {
        ULP_TRY(ulp_lane_format(&trial->mix.items[was], old->type, &from, error));
        ULP_TRY(ulp_adapt(&adapted, old, &from, ulp_lane_arithmetic(lane, step),
                          ulp_takes_mixed(step, i), lane->budget, lane->pool, error));
        old = &adapted;
    }
    *differs = !same_bits(old, now);
    return ULP_OK;
}

static enum ulp_status must_run(struct ulp_trial *trial, const struct ulp_step *step, bool *out,
                                struct ulp_error *error)
{
    *out = is_moved(trial, step);
    for (size_t i = 0; i < step->input_count && !*out; i++)
        ULP_TRY(compare_input(trial, step, i, out, error));
    return ULP_OK;
}

/* The lane's new value of a slot; what is held waits until the run is accepted or forgotten. */
static void put_trial_value(struct ulp_trial *trial, const struct ulp_step *step, int slot,
                            struct ulp_tensor *value)
{
    struct ulp_tensor *current = &trial->lane.values[slot];
    const bool held = trial->running->computed;
    if (held && trial->running->of_node[step->number] == trial->of_node[step->number] &&
        same_bits(current, value)) {
        ulp_tensor_free(value);
        return;
    }
    trial->before[slot] = *current;
    *current = *value;
    trial->changed[slot] = true;
}

/* Integers made of floats become the reference's. */
static enum ulp_status decide(struct ulp_trial *trial, const struct ulp_step *step,
                              const struct ulp_inputs *inputs, struct ulp_tensor *outputs,
                              struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tensor *integers = trial->running->integers;
    bool reads_floats = false;
    for (size_t i = 0; i < step->input_count; i++)
        reads_floats |= inputs->at[i] && ulp_element_is_float(inputs->at[i]->element) &&
                        !trial->lane.block->slots[step->inputs[i]].constant;
    if (!integers || !reads_floats)
        return ULP_OK;
    ULP_TAKE_ARRAY(struct ulp_tensor, reference, arena, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            reference[o] = integers[step->outputs[o]];
    return ulp_follow(step, &trial->lane, inputs->at, reference, outputs, error);
}

static enum ulp_status run_step(struct ulp_trial *trial, const struct ulp_step *step,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_inputs inputs = {0};
    struct ulp_tensor *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    const size_t draws = ulp_reserve_draws();
    enum ulp_status status = outputs ? ulp_inputs_create(&inputs, &trial->lane, step, arena, error)
                                     : ulp_out_of_memory(error);
    ULP_THEN(status, ulp_lane_inputs(&trial->lane, step, &inputs, error));
    ULP_THEN(status, ulp_step_run(step, &trial->lane, inputs.at, outputs, error));
    ULP_THEN(status, decide(trial, step, &inputs, outputs, arena, error));
    ULP_THEN(status, ulp_reserve_check(draws, error));
    trial->work += step->cost;
    ulp_inputs_free(&inputs);
    /* what compiling has made a constant stays one: the lane holds it in its own way */
    for (size_t o = 0; outputs && o < step->output_count; o++)
        if (status == ULP_OK && step->outputs[o] >= 0 &&
            !trial->program->main->slots[step->outputs[o]].constant)
            put_trial_value(trial, step, step->outputs[o], &outputs[o]);
        else
            ulp_tensor_free(&outputs[o]);
    return status;
}

static enum ulp_status visit(struct ulp_trial *trial, const struct ulp_step *step,
                             struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    bool runs = false;
    if (step->folded)
        return ULP_OK;
    ULP_TRY(must_run(trial, step, &runs, error));
    if (!runs)
        return ULP_OK;
    ULP_TRY(ulp_arena_create(&arena, &trial->budget, error));
    return ulp_fail_at(error, run_step(trial, step, arena, error), "node '%s'", step->name);
}

enum ulp_status ulp_trial_run(struct ulp_trial *trial, size_t sample, const uint16_t *kept,
                              struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    ULP_ENTER(error);
    const struct ulp_block *block = trial->program->main;
    forget(trial);
    for (size_t n = 0; n < trial->program->node_count; n++)
        trial->of_node[n] = kept[n] ? kept[n] : trial->own[n];
    load(trial, &trial->samples[sample]);
    enum ulp_status status = ULP_OK;
    for (size_t s = 0; s < block->step_count && status == ULP_OK; s++) {
        status = visit(trial, &block->steps[s], error);
        if (!trial->holds)
            ulp_lane_drop(&trial->lane, &block->steps[s]);
    }
    *outputs = (struct ulp_tensor_set){0};
    for (size_t i = 0; i < block->output_count && status == ULP_OK; i++)
        status = ulp_lane_output(&trial->lane, block->outputs[i],
                                 ulp_model_output(trial->program->model, i).name,
                                 ulp_model_budget(trial->program->model), outputs, error);
    if (status != ULP_OK) {
        ulp_tensor_set_free(outputs);
        forget(trial);
    }
    return status;
}
