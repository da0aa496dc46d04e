/* Telling the observers about a step: building its event. */
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "run/walk.h"

bool ulp_observer_cancels(const struct ulp_observer *observer)
{
    if (!observer || !observer->cancelled)
        return false;
    struct ulp_environment *paused = ulp_environment_pause();
    const bool cancels = observer->cancelled(observer->context);
    ulp_environment_resume(paused);
    return cancels;
}

enum ulp_status ulp_list_inputs(const struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step, struct ulp_event_inputs *out,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_block *block = frame->block;
    size_t all = step->bound.blocks ? step->input_count : step->own_input_count,
           lanes = walk->program->lane_count;
    *out = (struct ulp_event_inputs){.names = ulp_arena_take(arena, all + 1, sizeof *out->names)};
    int *slots = ulp_arena_take(arena, all + 1, sizeof *slots);
    ULP_TRY(ulp_taken(out->names && slots, error));
    for (size_t i = 0; i < all; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant &&
            frame->names[step->inputs[i]]) {
            out->names[out->count] = frame->names[step->inputs[i]];
            slots[out->count++] = step->inputs[i];
        }
    ULP_TAKE(out->values, arena, lanes * out->count + 1, error);
    for (size_t l = 0; l < lanes; l++)
        for (size_t i = 0; i < out->count && !frame->absent[l]; i++)
            out->values[l * out->count + i].entire = &frame->lanes[l].values[slots[i]];
    return ULP_OK;
}

/* The values of one lane's output. */
static struct ulp_lane_value find_lane_value(const struct ulp_walk *walk,
                                             const struct ulp_frame *frame,
                                             const struct ulp_step *step,
                                             const struct ulp_evaluation *evaluations, size_t lane,
                                             int position)
{
    const struct ulp_evaluation *evaluation = &evaluations[lane];
    const struct ulp_tensor *constant =
        step->folded ? frame->block->slots[step->outputs[position]].constant : NULL;
    if (constant && !frame->absent[lane])
        return (struct ulp_lane_value){constant, lane ? constant : NULL, lane ? constant : NULL,
                                       constant};
    if (!evaluation->entire || evaluation->skipped)
        return (struct ulp_lane_value){0};
    struct ulp_lane_value value = {.held = &evaluation->entire[position]};
    value.entire = evaluation->entire_left ? &evaluation->entire_left[position] : value.held;
    if (lane == 0 || !walk->options->audit)
        return value;
    value.single = evaluation->single_is_entire ? value.entire
                   : evaluation->single_left    ? &evaluation->single_left[position]
                                                : &evaluation->single[position];
    value.here = evaluation->here_is_reference ? &evaluations[0].entire[position]
                 : evaluation->here_is_entire  ? value.held
                                               : &evaluation->here[position];
    return value;
}

/* The step's results in the storage of its arithmetic, where the lane holds them otherwise. */
static enum ulp_status round_results(const struct ulp_lane *lane, const struct ulp_step *step,
                                     const struct ulp_tensor *results, struct ulp_arena *arena,
                                     struct ulp_tensor **out, struct ulp_error *error)
{
    struct ulp_format held;
    ULP_TAKE(*out, arena, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++) {
        (*out)[o] = ulp_tensor_view(&results[o]);
        if (!results[o].data || !ulp_element_is_float(results[o].element))
            continue;
        ULP_TRY(
            ulp_lane_format(ulp_mix_holds(lane->mix, step->number), results[o].type, &held, error));
        ULP_TRY(ulp_adapt(&(*out)[o], &results[o], &held,
                          ulp_mix_arithmetic(lane->mix, step->number), false, lane->budget,
                          lane->pool, error));
    }
    return ULP_OK;
}

/* Does the lane round the step's results where they leave the graph? */
static bool leaves_rounded(const struct ulp_frame *frame, const struct ulp_step *step, size_t lane)
{
    const struct ulp_fusion *fusion = frame->absent[lane] ? NULL : frame->lanes[lane].mix->fusion;
    return fusion && !frame->outer && fusion->nodes[step->number].leaves;
}

/* What observers are shown of a graph's output is what the run hands out (ulp_lane_output). */
static enum ulp_status round_leaving(const struct ulp_walk *walk, const struct ulp_frame *frame,
                                     const struct ulp_step *step,
                                     struct ulp_evaluation *evaluations, struct ulp_arena *arena,
                                     struct ulp_error *error)
{
    for (size_t l = 0; l < walk->program->lane_count; l++) {
        struct ulp_evaluation *evaluation = &evaluations[l];
        if (!evaluation->entire || evaluation->skipped || !leaves_rounded(frame, step, l))
            continue;
        ULP_TRY(round_results(&frame->lanes[l], step, evaluation->entire, arena,
                              &evaluation->entire_left, error));
        if (l > 0 && walk->options->audit && !evaluation->single_is_entire)
            ULP_TRY(round_results(&frame->lanes[l], step, evaluation->single, arena,
                                  &evaluation->single_left, error));
    }
    return ULP_OK;
}

/* A constant under other names has one mark. */
static const void *find_mark(const struct ulp_walk *walk, const struct ulp_frame *frame,
                             const struct ulp_step *step)
{
    if (!step->settled || frame->outer || walk->options->given || walk->options->isolated)
        return NULL;
    for (size_t l = 0; l < walk->program->lane_count; l++)
        if (!ulp_views_constant(&frame->lanes[l], step))
            return step;
    return frame->block->slots[step->inputs[0]].constant;
}

/* The observers, those that want it in the caller's environment. */
static enum ulp_status tell(const struct ulp_walk *walk, const struct ulp_event *event,
                            struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < walk->observer_count && status == ULP_OK; i++) {
        const struct ulp_observer *observer = &walk->observers[i];
        const bool pauses = observer->node_done && !observer->modes_unused;
        struct ulp_environment *paused = pauses ? ulp_environment_pause() : NULL;
        if (observer->node_done)
            status = observer->node_done(observer->context, event, error);
        if (pauses)
            ulp_environment_resume(paused);
    }
    return status;
}

enum ulp_status ulp_notify(struct ulp_walk *walk, const struct ulp_frame *frame,
                           const struct ulp_step *step, struct ulp_evaluation *evaluations,
                           const struct ulp_event_inputs *inputs, struct ulp_arena *arena,
                           struct ulp_error *error)
{
    const size_t lanes = walk->program->lane_count, shown = walk->unseen ? 0 : step->output_count;
    size_t outputs = 0;
    if (!walk->listened)
        return ULP_OK;
    const char **output_names = NULL;
    int *positions = NULL;
    struct ulp_lane_value *values = NULL;
    if (shown) {
        ULP_TAKE(output_names, arena, shown, error);
        ULP_TAKE(positions, arena, shown, error);
        ULP_TAKE(values, arena, lanes * shown, error);
    }
    for (size_t o = 0; o < shown; o++)
        if (step->outputs[o] >= 0) {
            output_names[outputs] = frame->block->slots[step->outputs[o]].name;
            positions[outputs++] = (int)o;
        }
    for (size_t l = 0; l < lanes; l++) {
        const struct ulp_mix *mix = &walk->program->mixes[l];
        const struct ulp_arithmetic *holds = leaves_rounded(frame, step, l)
                                                 ? ulp_mix_arithmetic(mix, step->number)
                                                 : ulp_mix_holds(mix, step->number);
        if (walk->shown[l] != holds)
            walk->arithmetics[l] = *holds;
        walk->shown[l] = holds;
        walk->seconds[l] = evaluations[l].seconds;
    }
    ULP_TRY(walk->unseen ? ULP_OK : round_leaving(walk, frame, step, evaluations, arena, error));
    for (size_t l = 0; l < lanes; l++)
        for (size_t o = 0; o < outputs; o++)
            values[l * outputs + o] =
                find_lane_value(walk, frame, step, evaluations, l, positions[o]);
    struct ulp_event event = {
        .index = step->number,
        .node_count = walk->program->node_count,
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
        .lane_seconds = walk->seconds,
        .progress = walk->program->main->cost > 0 ? walk->cost_done / walk->program->main->cost : 1,
        .left = walk->pace.left,
        .settled = walk->unseen ? NULL : find_mark(walk, frame, step),
    };
    return tell(walk, &event, error);
}
