#include "run/pass/replay.h"

#include "base/memory/alloc.h"
#include "base/error.h"
#include "run/lane.h"

static enum ulp_status replay_step(const struct ulp_replay *replay, struct ulp_lane *lane,
                                   const struct ulp_step *step, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct ulp_inputs inputs;
    ULP_TRY(ulp_arena_create(&arena, replay->budget, error));
    struct ulp_tensor *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    ULP_TRY(outputs ? ulp_inputs_create(&inputs, lane, step, arena, error)
                    : ulp_out_of_memory(error));
    ULP_TRY(ulp_lane_inputs(lane, step, &inputs, error));
    ULP_TRY(ulp_step_run(step, lane, inputs.at, outputs, error));
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0) {
            replay->output(replay->context, step->number, (int)o, step->outputs[o], &outputs[o]);
            lane->values[step->outputs[o]] = outputs[o];
        } else {
            ulp_tensor_free(&outputs[o]);
        }
    return ULP_OK;
}

enum ulp_status ulp_replay_run(const struct ulp_replay *replay, struct ulp_error *error)
{
    const struct ulp_block *block = replay->program->main;
    struct ulp_arithmetic arithmetic;
    const struct ulp_mix mix = {.count = 1, .items = &arithmetic};
    ULP_SCOPED(ulp_lane_free) struct ulp_lane lane = {0};
    ULP_TRY(ulp_arithmetic_find("fp64", &arithmetic, error));
    ULP_TRY(ulp_lane_create(&lane, &mix, block, replay->budget, replay->pool, error));
    for (size_t i = 0; i < block->input_count; i++)
        lane.values[block->inputs[i]] = ulp_tensor_view(&replay->inputs[block->inputs[i]]);
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (!step->folded)
            ULP_TRY(replay_step(replay, &lane, step, error));
        ulp_lane_drop(&lane, step);
    }
    return ULP_OK;
}
