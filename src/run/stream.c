/* Weights that are more than a part of the memory limit go through memory: those of the next steps
 * are read ahead, and those that no later step needs are given back. */
#include "run/walk.h"

#include "base/tuning.h"

void ulp_stream_begin(struct ulp_walk *walk)
{
    const size_t limit = ulp_budget_limit(&walk->budget);
    walk->streams =
        limit && ulp_model_mapped_bytes(walk->program->model) > limit / ULP_TUNE_STREAMED_SHARE;
}

static size_t fetch(const struct ulp_walk *walk, const struct ulp_frame *frame,
                    const struct ulp_step *step, size_t bytes_max)
{
    size_t bytes = 0;
    for (size_t i = 0; i < step->own_input_count && !step->folded; i++) {
        const bool table = i < step->bound.input_slot_count && step->bound.inputs[i].table;
        const int slot = table ? -1 : step->inputs[i];
        const struct ulp_tensor *constant = slot >= 0 ? frame->block->slots[slot].constant : NULL;
        if (constant && bytes < bytes_max)
            bytes += ulp_model_fetch(walk->program->model, constant, bytes_max - bytes);
    }
    return bytes;
}

void ulp_stream_ahead(struct ulp_walk *walk, const struct ulp_frame *frame, size_t step)
{
    if (!walk->streams || frame->outer)
        return;
    /* as the walk comes to what was fetched, there is room for more */
    if (walk->fetched_steps <= step + 1) {
        walk->fetched_steps = step + 1;
        walk->fetched_bytes = 0;
    }
    while (walk->fetched_steps < frame->block->step_count &&
           walk->fetched_bytes < ULP_TUNE_FETCHED_BYTES)
        walk->fetched_bytes += fetch(walk, frame, &frame->block->steps[walk->fetched_steps++],
                                     ULP_TUNE_FETCHED_BYTES - walk->fetched_bytes);
}

void ulp_stream_behind(const struct ulp_walk *walk, const struct ulp_frame *frame,
                       const struct ulp_step *step)
{
    for (size_t d = 0; d < step->dead_count && walk->streams && !frame->outer; d++) {
        const struct ulp_tensor *constant = frame->block->slots[step->dead[d]].constant;
        if (constant)
            ulp_model_give_back(walk->program->model, constant);
    }
}
