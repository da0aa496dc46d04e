/* Telling the observers about a step: building its event. */
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "run/walk.h"

enum ulp_status ulp_list_inputs(const struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step, struct ulp_event_inputs *out,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_block *block = frame->block;
    size_t all = step->bound.blocks ? step->input_count : step->own_input_count,
           lanes = walk->plan->lane_count;
    *out = (struct ulp_event_inputs){.names = ulp_arena_take(arena, all + 1, sizeof *out->names)};
    int *slots = ulp_arena_take(arena, all + 1, sizeof *slots);
    if (!out->names || !slots)
        return ulp_out_of_memory(error);
    for (size_t i = 0; i < all; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant &&
            frame->names[step->inputs[i]]) {
            out->names[out->count] = frame->names[step->inputs[i]];
            slots[out->count++] = step->inputs[i];
        }
    out->values = ulp_arena_take(arena, lanes * out->count + 1, sizeof *out->values);
    if (!out->values)
        return ulp_out_of_memory(error);
    for (size_t l = 0; l < lanes; l++)
        for (size_t i = 0; i < out->count && !frame->absent[l]; i++)
            out->values[l * out->count + i].entire = &frame->lanes[l].values[slots[i]];
    return ULP_OK;
}

/* The values of one lane's output. */
static struct ulp_lane_value find_value(const struct ulp_walk *walk, const struct ulp_frame *frame,
                                        const struct ulp_step *step,
                                        const struct ulp_evaluation *evaluations, size_t lane,
                                        int position)
{
    const struct ulp_evaluation *evaluation = &evaluations[lane];
    const struct ulp_tensor *constant =
        step->folded ? frame->block->slots[step->outputs[position]].constant : NULL;
    if (constant && !frame->absent[lane])
        return (struct ulp_lane_value){constant, lane ? constant : NULL, lane ? constant : NULL};
    if (!evaluation->entire || evaluation->skipped)
        return (struct ulp_lane_value){0};
    struct ulp_lane_value value = {.entire = &evaluation->entire[position]};
    if (lane == 0 || !walk->options->audit)
        return value;
    value.single = evaluation->single_is_entire ? value.entire : &evaluation->single[position];
    value.here = evaluation->here_is_reference ? &evaluations[0].entire[position]
                 : evaluation->here_is_entire  ? value.entire
                                               : &evaluation->here[position];
    return value;
}

/* A constant under other names has one mark. */
static const void *find_mark(const struct ulp_walk *walk, const struct ulp_frame *frame,
                             const struct ulp_step *step)
{
    if (!step->settled || frame->outer || walk->options->given || walk->options->isolated)
        return NULL;
    for (size_t l = 0; l < walk->plan->lane_count; l++)
        if (!ulp_views_constant(&frame->lanes[l], step))
            return step;
    return frame->block->slots[step->inputs[0]].constant;
}

enum ulp_status ulp_notify(struct ulp_walk *walk, const struct ulp_frame *frame,
                           const struct ulp_step *step, const struct ulp_evaluation *evaluations,
                           const struct ulp_event_inputs *inputs, double seconds,
                           struct ulp_arena *arena, struct ulp_error *error)
{
    size_t lanes = walk->plan->lane_count, outputs = 0;
    const char **output_names = ulp_arena_take(arena, step->output_count + 1, sizeof *output_names);
    int *positions = ulp_arena_take(arena, step->output_count + 1, sizeof *positions);
    struct ulp_lane_value *values =
        ulp_arena_take(arena, lanes * step->output_count + 1, sizeof *values);
    struct ulp_lane_seconds *lane_seconds = ulp_arena_take(arena, lanes, sizeof *lane_seconds);
    if (!output_names || !positions || !values || !lane_seconds)
        return ulp_out_of_memory(error);
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0) {
            output_names[outputs] = frame->block->slots[step->outputs[o]].name;
            positions[outputs++] = (int)o;
        }
    for (size_t l = 0; l < lanes; l++) {
        const struct ulp_arithmetic *shown = ulp_mix_holds(&walk->plan->mixes[l], step->number);
        if (walk->shown[l] != shown)
            walk->arithmetics[l] = *shown;
        walk->shown[l] = shown;
        lane_seconds[l] = evaluations[l].seconds;
    }
    for (size_t l = 0; l < lanes; l++)
        for (size_t o = 0; o < outputs; o++)
            values[l * outputs + o] = find_value(walk, frame, step, evaluations, l, positions[o]);
    struct ulp_event event = {
        .index = step->number,
        .node_count = walk->plan->node_count,
        .execution = walk->executions[step->number]++,
        .name = step->name,
        .op = step->bound.node->op_type,
        .quantizes = step->quantizes,
        .output_count = outputs,
        .output_names = output_names,
        .output_positions = positions,
        .lane_count = lanes,
        .arithmetics = walk->arithmetics,
        .values = values,
        .apart = inputs->apart,
        .input_count = inputs->count,
        .input_names = inputs->names,
        .inputs = inputs->values,
        .seconds = seconds,
        .lane_seconds = lane_seconds,
        .progress = walk->plan->main->cost > 0 ? walk->cost_done / walk->plan->main->cost : 1,
        .settled = find_mark(walk, frame, step),
    };
    enum ulp_status status = ULP_OK;
    struct ulp_environment *paused = ulp_environment_pause();
    for (size_t i = 0; i < walk->observer_count && status == ULP_OK; i++)
        if (walk->observers[i].node_done)
            status = walk->observers[i].node_done(walk->observers[i].context, &event, error);
    ulp_environment_resume(paused);
    return status;
}
