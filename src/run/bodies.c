/* If, Loop and Scan in all lanes. Lanes that take the same branch and the same number of
 * iterations as the reference run the body in lockstep with it, so the nodes inside are audited
 * one by one and the If, Loop or Scan itself adds no error. A lane that differs runs the whole
 * node alone. */
#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/control/control.h"
#include "run/walk.h"

struct lane_body {
    struct ulp_step_call call;
    struct ulp_inputs inputs;
    struct ulp_temporary *temporaries;
    struct ulp_control control;
    bool open;
};

struct bodies {
    struct ulp_walk *walk;
    const struct ulp_frame *frame;
    const struct ulp_step *step;
    struct lane_body *lanes;
    bool *absent;           /* lanes that are not here, or on a way of their own */
    struct ulp_frame inner; /* of the body; block NULL before the first iteration */
    const char **names;     /* of the body's inputs, in the making */
    struct ulp_arena *arena;
};

/* Does the lane have values of its own? In an isolated run only the reference has. */
static bool is_driven(const struct bodies *b, size_t lane)
{
    return !b->absent[lane] && (lane == 0 || !b->walk->options->isolated);
}

static enum ulp_status begin_lane(struct bodies *b, size_t lane, struct ulp_evaluation *evaluation,
                                  struct ulp_error *error)
{
    struct lane_body *body = &b->lanes[lane];
    struct ulp_lane *own = &b->frame->lanes[lane];
    ULP_TRY(ulp_inputs_create(&body->inputs, own, b->step, b->arena, error));
    ULP_TRY(ulp_lane_inputs(own, b->step, &body->inputs, error));
    ULP_TRY(ulp_evaluation_create(evaluation, b->step, b->arena, error));
    ULP_TRY(ulp_step_open(&body->call, b->step, own, body->inputs.at, evaluation->entire, error));
    body->open = true;
    ULP_TRY(ulp_call_open(&body->call.call, &body->temporaries, error));
    return ulp_control_begin(&body->control, &body->call.call);
}

static void close_lane(struct lane_body *body)
{
    ulp_inputs_free(&body->inputs);
    if (!body->open)
        return;
    ulp_control_free(&body->control);
    ulp_call_close(&body->call.call, ULP_OK);
    ulp_step_close(&body->call);
    body->open = false;
}

/* Lanes that would go on otherwise than the reference are alone from here on. */
static void part_lanes(struct bodies *b)
{
    for (size_t l = 1; l < b->walk->program->lane_count; l++) {
        if (!is_driven(b, l) || b->lanes[l].control.body == b->lanes[0].control.body)
            continue;
        close_lane(&b->lanes[l]);
        b->absent[l] = true;
        if (b->inner.block) {
            ulp_lane_free(&b->inner.lanes[l]);
            b->inner.absent[l] = true;
        }
    }
}

/* What observers know a value by: a result of the body, or an input of the step. NULL: a constant,
 * or nothing, as a result is when there was no iteration. */
static const char *find_name(const struct bodies *b, struct ulp_control_source source)
{
    bool inside = source.result >= 0;
    int slot = inside              ? b->inner.block ? b->inner.block->outputs[source.result] : -1
               : source.input >= 0 ? b->step->inputs[source.input]
                                   : -1;
    const struct ulp_frame *frame = inside ? &b->inner : b->frame;
    return slot < 0 || frame->block->slots[slot].constant ? NULL : frame->names[slot];
}

static enum ulp_status open_body(struct bodies *b, struct ulp_error *error)
{
    const struct ulp_control *control = &b->lanes[0].control;
    if (b->inner.block != control->body) {
        ULP_TRY(ulp_frame_create(&b->inner, b->walk, control->body, b->frame, b->absent, error));
        for (size_t l = 0; l < b->walk->program->lane_count; l++)
            b->inner.lanes[l].keeps_constants = control->kind != ULP_CONTROL_IF;
        ULP_TAKE(b->names, b->arena, control->input_count + 1, error);
    }
    for (size_t l = 0; l < b->walk->program->lane_count; l++) {
        const struct ulp_control *own = &b->lanes[l].control;
        if (is_driven(b, l))
            ULP_TRY(ulp_body_enter(&b->inner.lanes[l], &b->lanes[l].call.call, own->input_count,
                                   own->inputs, own->result_count, error));
    }
    for (size_t i = 0; i < control->input_count; i++)
        b->names[i] = find_name(b, ulp_control_input_source(control, i));
    for (size_t i = 0; i < control->input_count; i++)
        b->inner.names[control->body->inputs[i]] = b->names[i];
    return ULP_OK;
}

static enum ulp_status walk_iteration(struct bodies *b, struct ulp_error *error)
{
    enum ulp_status status = open_body(b, error);
    ULP_THEN(status, ulp_walk_block(b->walk, &b->inner, error));
    for (size_t l = 0; l < b->walk->program->lane_count && status == ULP_OK; l++) {
        struct ulp_control *control = &b->lanes[l].control;
        if (b->absent[l])
            continue;
        if (is_driven(b, l))
            status =
                ulp_body_leave(&b->inner.lanes[l], control->result_count, control->results, error);
        ulp_lane_clear(&b->inner.lanes[l]);
        if (status == ULP_OK && is_driven(b, l))
            status = ulp_control_take(control);
        ulp_fail_at(error, status, "in %s", ulp_program_lane_name(b->walk->program, l));
    }
    if (status == ULP_OK)
        part_lanes(b);
    return status;
}

/* P(r) and R(p) of a node that only hands on: the values themselves, rounded where the other
 * arithmetic's storage is narrower. */
static enum ulp_status hand_on_results(const struct bodies *b, size_t lane,
                                       const struct ulp_evaluation *reference,
                                       struct ulp_evaluation *evaluation, struct ulp_error *error)
{
    const struct ulp_lane *lanes = b->frame->lanes;
    for (size_t o = 0; o < b->step->output_count; o++) {
        const struct ulp_tensor *from[] = {&reference->entire[o], &evaluation->entire[o]};
        struct ulp_tensor *to[] = {&evaluation->single[o], &evaluation->here[o]};
        const struct ulp_arithmetic *ours = ulp_lane_arithmetic(&lanes[lane], b->step),
                                    *theirs = ulp_lane_arithmetic(&lanes[0], b->step);
        const struct ulp_arithmetic *held[] = {theirs, ours}, *wanted[] = {ours, theirs};
        for (int i = 0; i < 2; i++) {
            struct ulp_format format = {0};
            if (ulp_element_is_float(from[i]->element))
                ULP_TRY(ulp_lane_format(held[i], from[i]->type, &format, error));
            ULP_TRY(ulp_adapt(to[i], from[i], &format, wanted[i], true, &b->walk->budget,
                              b->walk->pool, error));
        }
    }
    return ULP_OK;
}

/* The node's outputs in every lane. */
static enum ulp_status end_lanes(struct bodies *b, const struct ulp_tensor *const *reference_inputs,
                                 struct ulp_evaluation *evaluations, struct ulp_error *error)
{
    for (size_t l = 0; l < b->walk->program->lane_count; l++) {
        enum ulp_status status = ULP_OK;
        if (b->frame->absent[l])
            continue;
        if (is_driven(b, l)) {
            status = ulp_control_end(&b->lanes[l].control);
            if (status == ULP_OK && l && b->walk->options->audit)
                status = hand_on_results(b, l, &evaluations[0], &evaluations[l], error);
        } else if (b->absent[l]) {
            status = ulp_evaluate(b->walk, b->frame, b->step, l, reference_inputs,
                                  evaluations[0].entire, &evaluations[l], b->arena, error);
        }
        ULP_TRY(ulp_fail_at(error, status, "in %s", ulp_program_lane_name(b->walk->program, l)));
    }
    return ULP_OK;
}

/* Of lanes on a way of their own the step's inputs; of the others what is handed on, under the
 * names it has in the body. */
static enum ulp_status list_handed(const struct bodies *b, const struct ulp_evaluation *evaluations,
                                   struct ulp_event_inputs *out, struct ulp_error *error)
{
    size_t lanes = b->walk->program->lane_count, count = 0;
    struct ulp_event_inputs own = {0};
    bool apart = false;
    for (size_t l = 0; l < lanes; l++)
        apart |= b->absent[l] && !b->frame->absent[l];
    if (apart && ulp_list_inputs(b->walk, b->frame, b->step, &own, b->arena, error) != ULP_OK)
        return ULP_ERROR_MEMORY;
    *out = (struct ulp_event_inputs){.apart = apart ? b->absent : NULL,
                                     .names = ulp_arena_take(b->arena,
                                                             own.count + b->step->output_count + 1,
                                                             sizeof *out->names)};
    int *outputs = ulp_arena_take(b->arena, b->step->output_count + 1, sizeof *outputs);
    ULP_TRY(ulp_taken(out->names && outputs, error));
    for (size_t i = 0; i < own.count; i++)
        out->names[i] = own.names[i];
    for (size_t o = 0; o < b->step->output_count; o++) {
        const char *name = find_name(b, ulp_control_output_source(&b->lanes[0].control, o));
        outputs[count] = (int)o;
        out->names[own.count + count] = name;
        count += name != NULL;
    }
    out->count = own.count + count;
    ULP_TAKE(out->values, b->arena, lanes * out->count + 1, error);
    for (size_t l = 0; l < lanes; l++) {
        for (size_t i = 0; i < own.count && (l == 0 || b->absent[l]); i++)
            out->values[l * out->count + i] = own.values[l * own.count + i];
        for (size_t i = 0; i < count && is_driven(b, l); i++)
            out->values[l * out->count + own.count + i].entire = &evaluations[l].entire[outputs[i]];
    }
    return ULP_OK;
}

enum ulp_status ulp_walk_bodies(struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step,
                                const struct ulp_tensor *const *reference_inputs,
                                struct ulp_evaluation *evaluations, struct ulp_event_inputs *out,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    size_t lanes = walk->program->lane_count;
    struct bodies b = {.walk = walk,
                       .frame = frame,
                       .step = step,
                       .lanes = ulp_arena_take(arena, lanes, sizeof *b.lanes),
                       .absent = ulp_arena_take(arena, lanes, sizeof *b.absent),
                       .arena = arena};
    ULP_TRY(ulp_taken(b.lanes && b.absent, error));
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < lanes; l++)
        b.absent[l] = frame->absent[l];
    for (size_t l = 0; l < lanes && status == ULP_OK; l++)
        if (is_driven(&b, l) && (status = begin_lane(&b, l, &evaluations[l], error)) != ULP_OK)
            ulp_fail_at(error, status, "in %s", ulp_program_lane_name(walk->program, l));
    if (status == ULP_OK)
        part_lanes(&b);
    while (status == ULP_OK && b.lanes[0].control.body)
        status = walk_iteration(&b, error);
    ULP_THEN(status, end_lanes(&b, reference_inputs, evaluations, error));
    ULP_THEN(status, list_handed(&b, evaluations, out, error));
    for (size_t l = 0; l < lanes; l++)
        close_lane(&b.lanes[l]);
    ulp_frame_free(&b.inner, walk);
    return ulp_fail_at(error, status, "node %s (%s)", step->name, step->bound.node->op_type);
}
