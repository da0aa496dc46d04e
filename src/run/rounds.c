/* If, Loop and Scan in all lanes. Lanes that take the same branch and the same number of
 * iterations as the reference run the body in lockstep with it, so the nodes inside are audited
 * one by one and the If, Loop or Scan itself adds no error. A lane that differs runs the whole
 * node alone. */
#include "base/error.h"
#include "ops/control.h"
#include "run/walk.h"

struct lane_rounds {
    struct ulp_step_call call;
    struct ulp_inputs inputs;
    struct ulp_temporary *temporaries;
    struct ulp_control control;
    bool open;
};

struct rounds {
    struct ulp_walk *walk;
    const struct ulp_frame *frame;
    const struct ulp_step *step;
    struct lane_rounds *lanes;
    bool *absent;           /* lanes that are not here, or on a way of their own */
    struct ulp_frame inner; /* of the body; block NULL before the first round */
    const char **names;     /* of the body's inputs, in the making */
    struct ulp_arena *arena;
};

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory");
}

/* Does the lane have values of its own? In an isolated run only the reference has. */
static bool is_driven(const struct rounds *r, size_t lane)
{
    return !r->absent[lane] && (lane == 0 || !r->walk->options->isolated);
}

static enum ulp_status begin_lane(struct rounds *r, size_t lane, struct ulp_evaluation *evaluation,
                                  struct ulp_error *error)
{
    struct lane_rounds *rounds = &r->lanes[lane];
    struct ulp_lane *own = &r->frame->lanes[lane];
    enum ulp_status status = ulp_inputs_create(&rounds->inputs, own, r->step, r->arena, error);
    if (status == ULP_OK)
        status = ulp_lane_inputs(own, r->step, &rounds->inputs, error);
    if (status == ULP_OK)
        status = ulp_evaluation_create(evaluation, r->step, r->arena, error);
    if (status == ULP_OK)
        status = ulp_step_open(&rounds->call, r->step, own, rounds->inputs.at, evaluation->entire,
                               error);
    if (status != ULP_OK)
        return status;
    rounds->open = true;
    status = ulp_call_open(&rounds->call.call, &rounds->temporaries, error);
    return status == ULP_OK ? ulp_control_begin(&rounds->control, &rounds->call.call, error)
                            : status;
}

static void close_lane(struct lane_rounds *rounds)
{
    ulp_inputs_free(&rounds->inputs);
    if (!rounds->open)
        return;
    ulp_control_free(&rounds->control);
    ulp_call_close(&rounds->call.call, ULP_OK, NULL);
    ulp_step_close(&rounds->call);
    rounds->open = false;
}

/* Lanes that would go on otherwise than the reference are alone from here on. */
static void part_lanes(struct rounds *r)
{
    for (size_t l = 1; l < r->walk->plan->lane_count; l++) {
        if (!is_driven(r, l) || r->lanes[l].control.body == r->lanes[0].control.body)
            continue;
        close_lane(&r->lanes[l]);
        r->absent[l] = true;
        if (r->inner.block) {
            ulp_lane_free(&r->inner.lanes[l]);
            r->inner.absent[l] = true;
        }
    }
}

/* What observers know a value by: a result of the body, or an input of the step. NULL: a constant,
 * or nothing, as a result is when there was no round. */
static const char *find_name(const struct rounds *r, struct ulp_control_source source)
{
    bool inside = source.result >= 0;
    int slot = inside              ? r->inner.block ? r->inner.block->outputs[source.result] : -1
               : source.input >= 0 ? r->step->inputs[source.input]
                                   : -1;
    const struct ulp_frame *frame = inside ? &r->inner : r->frame;
    return slot < 0 || frame->block->slots[slot].constant ? NULL : frame->names[slot];
}

static enum ulp_status open_body(struct rounds *r, struct ulp_error *error)
{
    const struct ulp_control *control = &r->lanes[0].control;
    enum ulp_status status = ULP_OK;
    if (r->inner.block != control->body) {
        status = ulp_frame_create(&r->inner, r->walk, control->body, r->frame, r->absent, error);
        for (size_t l = 0;
             l < r->walk->plan->lane_count && status == ULP_OK && control->kind != ULP_CONTROL_IF;
             l++)
            r->inner.lanes[l].keeps_constants = r->inner.lanes[l].repeats = true;
        r->names = ulp_arena_take(r->arena, control->input_count + 1, sizeof *r->names);
        if (status != ULP_OK || !r->names)
            return status != ULP_OK ? status : out_of_memory(error);
    }
    for (size_t l = 0; l < r->walk->plan->lane_count && status == ULP_OK; l++) {
        const struct ulp_control *own = &r->lanes[l].control;
        if (is_driven(r, l))
            status = ulp_body_enter(&r->inner.lanes[l], &r->lanes[l].call.call, own->input_count,
                                    own->inputs, own->result_count, error);
    }
    for (size_t i = 0; i < control->input_count && status == ULP_OK; i++)
        r->names[i] = find_name(r, ulp_control_input_source(control, i));
    for (size_t i = 0; i < control->input_count && status == ULP_OK; i++)
        r->inner.names[control->body->inputs[i]] = r->names[i];
    return status;
}

static enum ulp_status walk_round(struct rounds *r, struct ulp_error *error)
{
    enum ulp_status status = open_body(r, error);
    if (status == ULP_OK)
        status = ulp_walk_block(r->walk, &r->inner, error);
    for (size_t l = 0; l < r->walk->plan->lane_count && status == ULP_OK; l++) {
        struct ulp_control *control = &r->lanes[l].control;
        if (r->absent[l])
            continue;
        if (is_driven(r, l))
            status =
                ulp_body_leave(&r->inner.lanes[l], control->result_count, control->results, error);
        ulp_lane_clear(&r->inner.lanes[l]);
        if (status == ULP_OK && is_driven(r, l))
            status = ulp_control_take(control, error);
        if (status != ULP_OK)
            ulp_fail_at(error, status, "in %s", ulp_plan_lane_name(r->walk->plan, l));
    }
    if (status == ULP_OK)
        part_lanes(r);
    return status;
}

/* P(r) and R(p) of a node that only hands on: the values themselves, rounded where the other
 * arithmetic's storage is narrower. */
static enum ulp_status hand_on(const struct rounds *r, size_t lane,
                               const struct ulp_evaluation *reference,
                               struct ulp_evaluation *evaluation, struct ulp_error *error)
{
    const struct ulp_lane *lanes = r->frame->lanes;
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < r->step->output_count && status == ULP_OK; o++) {
        const struct ulp_tensor *from[] = {&reference->entire[o], &evaluation->entire[o]};
        struct ulp_tensor *to[] = {&evaluation->single[o], &evaluation->here[o]};
        const struct ulp_arithmetic *ours = ulp_lane_arithmetic(&lanes[lane], r->step),
                                    *theirs = ulp_lane_arithmetic(&lanes[0], r->step);
        const struct ulp_arithmetic *held[] = {theirs, ours}, *wanted[] = {ours, theirs};
        for (int i = 0; i < 2 && status == ULP_OK; i++) {
            struct ulp_format format = {0};
            if (ulp_element_is_float(from[i]->element))
                status = ulp_lane_format(held[i], from[i]->type, &format, error);
            if (status == ULP_OK)
                status = ulp_adapt(to[i], from[i], &format, wanted[i], true, &r->walk->budget,
                                   r->walk->pool, error);
        }
    }
    return status;
}

/* The node's outputs in every lane. */
static enum ulp_status end_lanes(struct rounds *r, const struct ulp_tensor *const *reference_inputs,
                                 struct ulp_evaluation *evaluations, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < r->walk->plan->lane_count && status == ULP_OK; l++) {
        if (r->frame->absent[l])
            continue;
        if (is_driven(r, l)) {
            status = ulp_control_end(&r->lanes[l].control, error);
            if (status == ULP_OK && l && r->walk->options->audit)
                status = hand_on(r, l, &evaluations[0], &evaluations[l], error);
        } else if (r->absent[l]) {
            status = ulp_evaluate(r->walk, r->frame, r->step, l, reference_inputs,
                                  evaluations[0].entire, &evaluations[l], r->arena, error);
        }
        if (status != ULP_OK)
            ulp_fail_at(error, status, "in %s", ulp_plan_lane_name(r->walk->plan, l));
    }
    return status;
}

/* Of lanes on a way of their own the step's inputs; of the others what is handed on, under the
 * names it has in the body. */
static enum ulp_status list_handed(const struct rounds *r, const struct ulp_evaluation *evaluations,
                                   struct ulp_told_inputs *told, struct ulp_error *error)
{
    size_t lanes = r->walk->plan->lane_count, count = 0;
    struct ulp_told_inputs own = {0};
    bool apart = false;
    for (size_t l = 0; l < lanes; l++)
        apart |= r->absent[l] && !r->frame->absent[l];
    if (apart && ulp_list_inputs(r->walk, r->frame, r->step, &own, r->arena, error) != ULP_OK)
        return ULP_ERROR_MEMORY;
    *told = (struct ulp_told_inputs){.apart = apart ? r->absent : NULL,
                                     .names = ulp_arena_take(r->arena,
                                                             own.count + r->step->output_count + 1,
                                                             sizeof *told->names)};
    int *outputs = ulp_arena_take(r->arena, r->step->output_count + 1, sizeof *outputs);
    if (!told->names || !outputs)
        return out_of_memory(error);
    for (size_t i = 0; i < own.count; i++)
        told->names[i] = own.names[i];
    for (size_t o = 0; o < r->step->output_count; o++) {
        const char *name = find_name(r, ulp_control_output_source(&r->lanes[0].control, o));
        outputs[count] = (int)o;
        told->names[own.count + count] = name;
        count += name != NULL;
    }
    told->count = own.count + count;
    told->values = ulp_arena_take(r->arena, lanes * told->count + 1, sizeof *told->values);
    if (!told->values)
        return out_of_memory(error);
    for (size_t l = 0; l < lanes; l++) {
        for (size_t i = 0; i < own.count && (l == 0 || r->absent[l]); i++)
            told->values[l * told->count + i] = own.values[l * own.count + i];
        for (size_t i = 0; i < count && is_driven(r, l); i++)
            told->values[l * told->count + own.count + i].entire =
                &evaluations[l].entire[outputs[i]];
    }
    return ULP_OK;
}

enum ulp_status ulp_walk_rounds(struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step,
                                const struct ulp_tensor *const *reference_inputs,
                                struct ulp_evaluation *evaluations, struct ulp_told_inputs *told,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    size_t lanes = walk->plan->lane_count;
    struct rounds r = {.walk = walk,
                       .frame = frame,
                       .step = step,
                       .lanes = ulp_arena_take(arena, lanes, sizeof *r.lanes),
                       .absent = ulp_arena_take(arena, lanes, sizeof *r.absent),
                       .arena = arena};
    if (!r.lanes || !r.absent)
        return out_of_memory(error);
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < lanes; l++)
        r.absent[l] = frame->absent[l];
    for (size_t l = 0; l < lanes && status == ULP_OK; l++)
        if (is_driven(&r, l) && (status = begin_lane(&r, l, &evaluations[l], error)) != ULP_OK)
            ulp_fail_at(error, status, "in %s", ulp_plan_lane_name(walk->plan, l));
    if (status == ULP_OK)
        part_lanes(&r);
    while (status == ULP_OK && r.lanes[0].control.body)
        status = walk_round(&r, error);
    if (status == ULP_OK)
        status = end_lanes(&r, reference_inputs, evaluations, error);
    if (status == ULP_OK)
        status = list_handed(&r, evaluations, told, error);
    for (size_t l = 0; l < lanes; l++)
        close_lane(&r.lanes[l]);
    ulp_frame_free(&r.inner, walk);
    return status == ULP_OK
               ? ULP_OK
               : ulp_fail_at(error, status, "node %s (%s)", step->name, step->bound.node->op_type);
}
