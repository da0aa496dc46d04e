/* A run from its beginning to its end: inputs are given to the lanes, the main graph is walked,
 * outputs are taken. */
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/options.h"
#include "base/memory/reserve.h"
#include "run/walk.h"

/* An input in one lane: rounded once to its storage, unless it is a parameter alone (the scales of
 * Resize and QuantizeLinear, thresholds) or the lane's nodes differ: then each rounds what it
 * reads. */
static enum ulp_status set_input(struct ulp_lane *lane, int slot, const struct ulp_tensor *given,
                                 struct ulp_error *error)
{
    struct ulp_format from = {0};
    if (!lane->block->slots[slot].data || !ulp_lane_is_uniform(lane)) {
        lane->values[slot] = ulp_tensor_view(given);
        return ULP_OK;
    }
    if (ulp_element_is_float(given->element))
        ULP_TRY(ulp_format_find(ulp_type_rows[given->type].format, &from, error));
    return ulp_adapt(&lane->values[slot], given, &from, lane->mix->items, false, lane->budget,
                     lane->pool, error);
}

/* Give the lanes the model's inputs. */
static enum ulp_status set_inputs(struct ulp_walk *walk, struct ulp_frame *frame,
                                  const struct ulp_tensor_set *inputs, struct ulp_tensor *fitted,
                                  struct ulp_error *error)
{
    const struct ulp_block *block = walk->program->main;
    for (size_t i = 0; i < block->input_count; i++) {
        const struct ulp_program_slot *slot = &block->slots[block->inputs[i]];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, slot->name);
        if (!ulp_tensor_same_shape(given, &slot->shape)) {
            char found[200], planned[200];
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input '%s' is %s, but the program was made for %s; inputs of other "
                            "shapes need a program (a command) of their own",
                            slot->name, ulp_tensor_describe_text(given, found, sizeof found),
                            ulp_tensor_describe_text(&slot->shape, planned, sizeof planned));
        }
        enum ulp_status status =
            ulp_fit_input(&fitted[i], given, slot->shape.type, &walk->budget, walk->pool, error);
        for (size_t l = 0; l < walk->program->lane_count && status == ULP_OK; l++)
            status = set_input(&frame->lanes[l], block->inputs[i], &fitted[i], error);
        ULP_TRY(ulp_fail_at(error, status, "input '%s'", slot->name));
    }
    return ULP_OK;
}

/* What the observers want. */
static void ask_observers(struct ulp_walk *walk)
{
    walk->unseen = true;
    for (size_t i = 0; i < walk->observer_count; i++) {
        const struct ulp_observer *observer = &walk->observers[i];
        walk->listened = walk->listened || observer->node_done;
        walk->unseen = walk->unseen && (!observer->node_done || observer->values_unused);
    }
}

static enum ulp_status take_memory(struct ulp_walk *walk, struct ulp_tensor **fitted,
                                   struct ulp_error *error)
{
    struct ulp_arena *memory = walk->memory;
    const size_t lanes = walk->program->lane_count;
    walk->executions =
        ulp_arena_take(memory, walk->program->node_count + 1, sizeof *walk->executions);
    walk->arithmetics = ulp_arena_take(memory, lanes, sizeof *walk->arithmetics);
    walk->shown = ulp_arena_take(memory, lanes, sizeof *walk->shown);
    walk->seconds = ulp_arena_take(memory, lanes, sizeof *walk->seconds);
    *fitted = ulp_arena_take(memory, walk->program->main->input_count + 1, sizeof **fitted);
    return walk->executions && walk->arithmetics && walk->shown && walk->seconds && *fitted
               ? ULP_OK
               : ulp_out_of_memory(error);
}

static enum ulp_status run_walk(struct ulp_walk *walk, const struct ulp_tensor_set *inputs,
                                struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    const struct ulp_program *program = walk->program;
    struct ulp_frame frame = {0};
    const size_t input_count = program->main->input_count;
    struct ulp_tensor *fitted = NULL;
    enum ulp_status status = ulp_pool_create(&walk->pool, walk->options->thread_count, error);
    if (status == ULP_OK) {
        ulp_pool_set_root(walk->pool, walk->budget.root);
        status = ulp_arena_create(&walk->memory, &walk->budget, error);
    }
    ULP_THEN(status, take_memory(walk, &fitted, error));
    ULP_THEN(status, ulp_frame_create(&frame, walk, program->main, NULL, NULL, error));
    walk->clock = ulp_seconds_now();
    ULP_THEN(status, set_inputs(walk, &frame, inputs, fitted, error));
    ulp_stream_begin(walk);
    if (status == ULP_OK && walk->listened)
        status = ulp_pace_begin(&walk->pace, program->main, walk->memory, error);
    ULP_THEN(status, ulp_walk_block(walk, &frame, error));
    for (size_t l = 0; l < program->lane_count && outputs && status == ULP_OK; l++)
        for (size_t i = 0; i < program->main->output_count && status == ULP_OK; i++)
            status = ulp_lane_output(&frame.lanes[l], program->main->outputs[i],
                                     ulp_model_output(program->model, i).name,
                                     ulp_model_budget(program->model), &outputs[l], error);
    ulp_frame_free(&frame, walk);
    ulp_tensors_free(fitted, input_count);
    return status;
}

enum ulp_status ulp_program_run(const struct ulp_program *program,
                                const struct ulp_tensor_set *inputs,
                                const struct ulp_run_options *options,
                                const struct ulp_observer *observers, size_t observer_count,
                                struct ulp_tensor_set *outputs, struct ulp_run_cost *cost,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_OPTIONS_TAKE(ulp_run_options, options, error);
    static const struct ulp_tensor_set no_inputs;
    if (!inputs)
        inputs = &no_inputs;
    struct ulp_walk walk = {.program = program,
                            .options = options,
                            .observers = observers,
                            .observer_count = observer_count,
                            .reserve_draws = ulp_reserve_draws(),
                            .cost_limit = program->main->cost};
    double started = ulp_seconds_now();
    struct ulp_budget *root = ulp_model_budget(program->model);
    ask_observers(&walk);
    ulp_budget_open(&walk.budget, root ? root : &walk.root);
    for (size_t l = 0; outputs && l < program->lane_count; l++)
        outputs[l] = (struct ulp_tensor_set){0};
    enum ulp_status status = ulp_model_check_inputs(program->model, inputs, error);
    ULP_THEN(status, ulp_program_check_memory(program, walk.options->audit, error));
    ULP_THEN(status, run_walk(&walk, inputs, outputs, error));
    ulp_arena_free(walk.memory);
    ulp_pool_free(walk.pool);
    if (cost)
        *cost = (struct ulp_run_cost){ulp_seconds_now() - started,
                                      program->constants.used_bytes + walk.budget.peak_bytes};
    for (size_t l = 0; outputs && status != ULP_OK && l < program->lane_count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}
