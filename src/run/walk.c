/* The walk: every node once, in order; each lane computes it, observers are told, dead values are
 * freed. */
#include "run/walk.h"

#include <string.h>

#include "base/machine/clock.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/memory/reserve.h"
#include "number/function/math.h"

enum ulp_status ulp_frame_create(struct ulp_frame *out, struct ulp_walk *walk,
                                 const struct ulp_block *block, const struct ulp_frame *outer,
                                 const bool *absent, struct ulp_error *error)
{
    size_t lanes = walk->program->lane_count;
    *out = (struct ulp_frame){.block = block, .outer = outer};
    ULP_TRY(ulp_arena_create(&out->arena, &walk->budget, error));
    ULP_TAKE(out->lanes, out->arena, lanes, error);
    ULP_TAKE(out->absent, out->arena, lanes, error);
    ULP_TAKE(out->names, out->arena, block->slot_count + 1, error);
    for (size_t v = 0; v < block->slot_count; v++)
        out->names[v] = outer && block->slots[v].outer >= 0 ? outer->names[block->slots[v].outer]
                                                            : block->slots[v].name;
    if (absent)
        memcpy(out->absent, absent, lanes * sizeof *absent);
    for (size_t l = 0; l < lanes; l++) {
        if (out->absent[l])
            continue;
        ULP_TRY(ulp_lane_create(&out->lanes[l], &walk->program->mixes[l], block, &walk->budget,
                                walk->pool, error));
        ULP_TRY(ulp_arena_create(&out->lanes[l].scratch, &walk->budget, error));
        const size_t limit = ulp_budget_limit(&walk->budget);
        out->lanes[l].lowered_bytes_max = limit ? limit / ULP_TUNE_LOWERED_SHARE : SIZE_MAX;
    }
    return ULP_OK;
}

void ulp_frame_free(struct ulp_frame *frame, const struct ulp_walk *walk)
{
    for (size_t l = 0; frame->lanes && l < walk->program->lane_count; l++)
        ulp_lane_free(&frame->lanes[l]);
    ulp_arena_free(frame->arena);
    *frame = (struct ulp_frame){0};
}

static bool is_cancelled(const struct ulp_walk *walk)
{
    bool cancelled = false;
    for (size_t i = 0; i < walk->observer_count && !cancelled; i++)
        cancelled = ulp_observer_cancels(&walk->observers[i]);
    return cancelled;
}

/* The step in every lane that is here. */
static enum ulp_status evaluate_lanes(struct ulp_walk *walk, const struct ulp_frame *frame,
                                      const struct ulp_step *step,
                                      struct ulp_evaluation *evaluations,
                                      struct ulp_event_inputs *inputs, struct ulp_arena *arena,
                                      struct ulp_error *error)
{
    ULP_SCOPED(ulp_inputs_free) struct ulp_inputs reference = {0};
    if (ulp_walk_compares(walk) || (walk->options->follow && ulp_decides_inside(step))) {
        ULP_TRY(ulp_inputs_create(&reference, &frame->lanes[0], step, arena, error));
        ULP_TRY(ulp_lane_inputs(&frame->lanes[0], step, &reference, error));
    }
    if (step->bound.blocks)
        return ulp_walk_bodies(walk, frame, step, reference.at, evaluations, inputs, arena, error);
    for (size_t l = 0; l < walk->program->lane_count && !step->folded; l++) {
        if (frame->absent[l])
            continue;
        ULP_TRY(ulp_evaluation_create(&evaluations[l], step, arena, error));
        ULP_TRY(ulp_fail_at(error,
                            ulp_evaluate(walk, frame, step, l, reference.at, evaluations[0].entire,
                                         &evaluations[l], arena, error),
                            "in %s", ulp_program_lane_name(walk->program, l)));
    }
    return walk->unseen ? ULP_OK : ulp_list_inputs(walk, frame, step, inputs, arena, error);
}

/* The lane's results become its values; what else was computed goes. */
static void keep_results(struct ulp_lane *lane, const struct ulp_step *step,
                         struct ulp_evaluation *evaluation, bool keeps)
{
    struct ulp_tensor *const results[] = {evaluation->entire, evaluation->single, evaluation->here,
                                          evaluation->entire_left, evaluation->single_left};
    if (!evaluation->entire)
        return;
    for (size_t o = 0; o < step->output_count && keeps; o++)
        if (step->outputs[o] >= 0) {
            lane->values[step->outputs[o]] = evaluation->entire[o];
            evaluation->entire[o] = (struct ulp_tensor){0};
        }
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        ulp_tensors_free(results[i], step->output_count);
}

/* The values that the reference goes on with in place of its own. */
static enum ulp_status take_given(struct ulp_walk *walk, struct ulp_lane *lane,
                                  const struct ulp_step *step, struct ulp_error *error)
{
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        struct ulp_tensor *own = slot >= 0 ? &lane->values[slot] : NULL;
        const struct ulp_tensor *given =
            own ? ulp_tensor_set_find(walk->options->given, lane->block->slots[slot].name) : NULL;
        if (!given || !ulp_tensor_same_shape(given, own) || !ulp_type_is_float(given->type) ||
            !ulp_type_is_float(own->type))
            continue;
        struct ulp_tensor fitted, taken = {0};
        struct ulp_format format = {0};
        enum ulp_status status =
            ulp_fit_input(&fitted, given, own->type, &walk->budget, walk->pool, error);
        ULP_THEN(status, ulp_lane_held(lane, slot, own, &format, error));
        ULP_THEN(status, ulp_tensor_create_like(&taken, own, own->element, own->precision,
                                                &walk->budget, error));
        ULP_THEN(status, ulp_tensor_convert(&taken, &fitted, &format, ULP_ROUND_NEAREST_EVEN, 0,
                                            walk->pool, error));
        ulp_tensor_free(&fitted);
        if (status != ULP_OK) {
            ulp_tensor_free(&taken);
            return ulp_fail_at(error, status, "given value '%s'", lane->block->slots[slot].name);
        }
        ulp_tensor_free(own);
        *own = taken;
    }
    return ULP_OK;
}

/* The observers are told of a step. */
static enum ulp_status tell_step(struct ulp_walk *walk, const struct ulp_frame *frame,
                                 const struct ulp_step *step, struct ulp_evaluation *evaluations,
                                 const struct ulp_event_inputs *inputs, struct ulp_arena *arena,
                                 struct ulp_error *error)
{
    if (!walk->listened)
        return ULP_OK;
    const enum ulp_status status = ulp_notify(walk, frame, step, evaluations, inputs, arena, error);
    if (!walk->unseen)
        walk->clock = ulp_seconds_now();
    return status;
}

/* The step in every lane, and the observers told of it. The clock is read when lanes have computed,
 * and again when observers have looked at values; else telling them is the next node's. */
static enum ulp_status compute_step(struct ulp_walk *walk, struct ulp_frame *frame,
                                    const struct ulp_step *step, struct ulp_evaluation *evaluations,
                                    struct ulp_arena *arena, struct ulp_error *error)
{
    double limit = walk->cost_limit, done = ulp_math_min(walk->cost_done + step->cost, limit);
    struct ulp_event_inputs inputs = {0};
    enum ulp_status status = ULP_OK;
    walk->cost_limit = done;
    if (!(walk->unseen && step->folded))
        status = evaluate_lanes(walk, frame, step, evaluations, &inputs, arena, error);
    ULP_THEN(status, ulp_reserve_check(walk->reserve_draws, error));
    walk->cost_limit = limit;
    walk->cost_done = done;
    if (step->bound.blocks || (!walk->unseen && step->folded))
        walk->clock = ulp_seconds_now();
    return status == ULP_OK ? tell_step(walk, frame, step, evaluations, &inputs, arena, error)
                            : status;
}

static enum ulp_status walk_step(struct ulp_walk *walk, struct ulp_frame *frame,
                                 const struct ulp_step *step, struct ulp_arena *arena,
                                 struct ulp_error *error)
{
    size_t lanes = walk->program->lane_count;
    ULP_TAKE_ARRAY(struct ulp_evaluation, evaluations, arena, lanes, error);
    enum ulp_status status = compute_step(walk, frame, step, evaluations, arena, error);
    for (size_t l = 0; l < lanes; l++)
        if (!frame->absent[l]) {
            keep_results(&frame->lanes[l], step, &evaluations[l],
                         status == ULP_OK && (l == 0 || !walk->options->isolated));
            if (l == 0 && status == ULP_OK && walk->options->given && !frame->outer)
                status = take_given(walk, &frame->lanes[l], step, error);
            ulp_lane_drop(&frame->lanes[l], step);
        }
    ulp_stream_behind(walk, frame, step);
    return status;
}

/* In the main graph what a step takes of the arena goes with it; a body's steps share it, for
 * iterations are many and short. */
enum ulp_status ulp_walk_block(struct ulp_walk *walk, struct ulp_frame *frame,
                               struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    enum ulp_status status = ULP_OK;
    if (frame->outer)
        walk->clock = ulp_seconds_now();
    for (size_t s = 0; s < frame->block->step_count && status == ULP_OK; s++) {
        const struct ulp_step *step = &frame->block->steps[s];
        if (is_cancelled(walk))
            status = ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled before node '%s'", step->name);
        if (status == ULP_OK && !arena)
            status = ulp_arena_create(&arena, &walk->budget, error);
        ulp_stream_ahead(walk, frame, s);
        const double before = walk->clock;
        ULP_THEN(status, walk_step(walk, frame, step, arena, error));
        if (!frame->outer && arena)
            ulp_arena_clear(arena);
        if (!frame->outer && walk->listened)
            ulp_pace_step(&walk->pace, step, walk->clock - before);
    }
    return status;
}
