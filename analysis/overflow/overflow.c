/* A forecast from its start to its end. */

#include "analysis/audit/place.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/overflow/meter.h"
#include "analysis/writing/columns.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"

static enum ulp_status prepare_lane(struct ulp_overflow_meter *meter, size_t l,
                                    struct ulp_error *error)
{
    const struct ulp_program *program = meter->forward.program;
    struct ulp_overflow_lane *lane = &meter->forecast.lanes[l];
    struct ulp_overflow_course *own = &meter->lanes[l];
    struct ulp_audit_lane *audit = &own->audit;
    lane->name = ulp_arena_copy(meter->forecast.memory, ulp_program_lane_name(program, l + 1));
    lane->arithmetic = program->lanes[l + 1];
    ULP_TRY(ulp_taken(lane->name, error));
    ULP_TAKE(own->nodes, meter->memory, program->node_count + 1, error);
    ULP_TAKE(own->hidden_capacity, meter->memory, program->node_count + 1, error);
    ULP_TAKE(own->poisoned, meter->memory, program->main->slot_count + 1, error);
    ULP_TAKE(own->held, meter->memory, program->main->slot_count + 1, error);
    ULP_TAKE(own->overflow, meter->memory, program->main->slot_count + 1, error);
    *audit = (struct ulp_audit_lane){.node_count = program->node_count};
    ULP_TAKE(audit->nodes, meter->memory, program->node_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++) {
        audit->nodes[n].index = n;
        ulp_program_node_types(program, l + 1, n, &audit->nodes[n].types);
    }
    ULP_TRY(ulp_audit_overflow_prepare(audit, program, l + 1, meter->memory, error));
    for (size_t c = 0; c < audit->constant_count; c++)
        own->saturates |=
            audit->constants[c].overflowed && lane->arithmetic.constants != ULP_CONSTANTS_IEEE;
    return ULP_OK;
}

static enum ulp_status prepare_meter(struct ulp_overflow_meter *meter,
                                     const struct ulp_program *program, int thread_count,
                                     struct ulp_error *error)
{
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    struct ulp_budget *budget = ulp_model_budget(program->model);
    ULP_TRY(ulp_forward_open(&meter->forward, program, thread_count, error));
    ULP_TRY(ulp_arena_create(&meter->memory, budget, error));
    ULP_TRY(ulp_arena_create(&forecast->memory, budget, error));
    forecast->lane_count = program->lane_count - 1;
    forecast->model_path = ulp_arena_copy(meter->forecast.memory, ulp_model_path(program->model));
    forecast->arguments = ulp_model_words(forecast->memory, program->model);
    forecast->reference = ulp_arena_copy(meter->forecast.memory, program->lanes[0].name);
    ULP_TAKE(forecast->lanes, forecast->memory, forecast->lane_count, error);
    ULP_TAKE(meter->lanes, meter->memory, forecast->lane_count, error);
    ULP_TRY(ulp_taken(forecast->model_path && forecast->arguments && forecast->reference, error));
    ULP_TRY(ulp_places_make(program, forecast->memory, &forecast->places, error));
    forecast->place_count = ulp_program_node_count(program);
    meter->thread_count = thread_count;
    meter->lost.values.budget = budget;
    meter->probe =
        (struct ulp_probe){.tell = ulp_overflow_tell, .give = ulp_overflow_give, .context = meter};
    for (size_t l = 0; l < forecast->lane_count; l++)
        ULP_TRY(prepare_lane(meter, l, error));
    return ULP_OK;
}

static void forget_values(struct ulp_overflow_meter *meter)
{
    for (size_t l = 0; meter->lanes && l < meter->forecast.lane_count; l++) {
        const struct ulp_overflow_course *lane = &meter->lanes[l];
        const struct ulp_program *program =
            meter->forward.program; /* NULL: it could not be opened */
        const size_t slots = program ? program->main->slot_count : 0;
        ulp_tensors_free(lane->poisoned, slots);
        ulp_tensors_free(lane->held, slots);
    }
}

void ulp_overflow_meter_free(struct ulp_overflow_meter *meter)
{
    forget_values(meter);
    ulp_taint_clear(&meter->lost.values);
    ulp_forward_close(&meter->forward);
    ulp_arena_free(meter->memory);
    ulp_arena_free(meter->forecast.memory);
}

enum ulp_status ulp_overflow_meter_take(struct ulp_overflow_meter *meter,
                                        const struct ulp_program *program, int thread_count,
                                        struct ulp_error *error)
{
    if (!meter->forward.program)
        return prepare_meter(meter, program, thread_count, error);
    if (!ulp_program_same_nodes(meter->forward.program, program))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "its shapes leave other nodes to compute than the first sample's");
    ulp_forward_close(&meter->forward);
    return ulp_forward_open(&meter->forward, program, thread_count, error);
}

/* ---- nodes ---- */

static enum ulp_status make_outputs(struct ulp_overflow_meter *meter,
                                    struct ulp_overflow_node *node,
                                    const struct ulp_overflow_view *view, struct ulp_error *error)
{
    const struct ulp_block *block = meter->forward.program->main;
    const struct ulp_step *step = view->step;
    if (node->outputs)
        return ULP_OK;
    ULP_TAKE(node->outputs, meter->forecast.memory, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (slot < 0 || !ulp_type_is_float(view->exact[o].type))
            continue;
        struct ulp_overflow_output *output = &node->outputs[node->output_count++];
        output->name = ulp_arena_copy(meter->forecast.memory, block->slots[slot].name);
        ULP_TRY(output->name ? ulp_forward_format(&meter->forward, view->lane, step,
                                                  view->exact[o].type, &output->format, error)
                             : ulp_out_of_memory(error));
    }
    return ULP_OK;
}

/* Must the lane's own arithmetic decide? */
static bool is_undecided(struct ulp_overflow_meter *meter, const struct ulp_overflow_view *view)
{
    const struct ulp_step *step = view->step;
    struct ulp_format format;
    if (meter->near_inside)
        return true;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && ulp_element_is_float(view->exact[o].element) &&
            ulp_forward_format(&meter->forward, view->lane, step, view->exact[o].type, &format,
                               NULL) == ULP_OK &&
            ulp_overflow_is_near(&view->exact[o], &format))
            return true;
    return false;
}

/* The results as the lane has them: of its own arithmetic where that must decide, else the exact
 * ones rounded. */
static enum ulp_status store_results(struct ulp_overflow_meter *meter,
                                     const struct ulp_overflow_view *view,
                                     struct ulp_tensor *stored, struct ulp_error *error)
{
    struct ulp_forward *forward = &meter->forward;
    struct ulp_overflow_course *lane = &meter->lanes[view->lane - 1];
    lane->evaluated++;
    if (is_undecided(meter, view)) {
        lane->computed++;
        return ulp_step_run(view->step, &forward->lanes[view->lane], view->rounded, stored, error);
    }
    for (size_t o = 0; o < view->step->output_count; o++)
        if (view->step->outputs[o] >= 0)
            ULP_TRY(ulp_forward_store(forward, view->lane, view->step, &view->exact[o], &stored[o],
                                      error));
    return ULP_OK;
}

/* The step in FP64, looked into. */
static enum ulp_status run_probed(struct ulp_overflow_meter *meter, size_t l,
                                  const struct ulp_step *step,
                                  const struct ulp_tensor *const *inputs, struct ulp_tensor *exact,
                                  struct ulp_error *error)
{
    struct ulp_forward *forward = &meter->forward;
    ULP_TRY(ulp_forward_format(forward, l, step, ULP_TYPE_FLOAT, &meter->probe.format, error));
    meter->lane = l - 1;
    meter->near_inside = false;
    meter->inside = (struct inside_overflow){0};
    /* what it holds inside is of the formula that the lane has */
    forward->arithmetic.plain_exponentials = forward->program->lanes[l].plain_exponentials;
    const enum ulp_steps steps = forward->program->lanes[l].steps;
    forward->arithmetic.steps = steps == ULP_STEPS_HTP ? ULP_STEPS_ALIKE : steps; /* sizes alone */
    forward->wide.probe = &meter->probe;
    enum ulp_status status = ulp_step_run(step, &forward->wide, inputs, exact, error);
    forward->wide.probe = NULL;
    return status;
}

static enum ulp_status look_at_step(struct ulp_overflow_meter *meter, size_t l,
                                    const struct ulp_step *step, struct ulp_arena *arena,
                                    struct ulp_error *error)
{
    struct ulp_forward *forward = &meter->forward;
    struct ulp_forward_inputs rounded = {0}, widened = {0};
    const struct ulp_tensor *held = meter->lanes[l - 1].held;
    struct ulp_overflow_node *node;
    bool born = false;
    ULP_TAKE_ARRAY(struct ulp_tensor, exact, arena, step->output_count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_tensor, stored, arena, step->output_count + 1, error);
    enum ulp_status status = ulp_forward_rounded(forward, l, step, arena, &rounded, error);
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        if (step->inputs[i] >= 0 && held[step->inputs[i]].type != ULP_TYPE_UNDEFINED)
            rounded.at[i] = &held[step->inputs[i]];
    ULP_THEN(status,
             ulp_forward_widened(forward, l, step, rounded.at, NULL, arena, &widened, error));
    ULP_THEN(status, run_probed(meter, l, step, widened.at, exact, error));
    const struct ulp_overflow_view view = {.step = step,
                                           .lane = l,
                                           .rounded = rounded.at,
                                           .exact = exact,
                                           .stored = stored,
                                           .arena = arena};
    ULP_THEN(status, store_results(meter, &view, stored, error));
    ULP_THEN(status, ulp_overflow_node(meter, l - 1, step->number, &node, error));
    ULP_THEN(status, make_outputs(meter, node, &view, error));
    ULP_THEN(status, ulp_overflow_look(meter, node, &view, &born, error));
    ULP_THEN(status, ulp_overflow_follow(meter, &view, born, error));
    ULP_THEN(status, ulp_overflow_hold(meter, &view, error));
    ulp_tensors_free(stored, step->output_count); /* views of exact among them */
    ulp_tensors_free(exact, step->output_count);
    ulp_forward_inputs_free(&widened);
    ulp_forward_inputs_free(&rounded);
    return status;
}

/* ---- samples ---- */

static enum ulp_status ask(const struct ulp_observer *observer, const struct ulp_step *step,
                           struct ulp_error *error)
{
    return ulp_observer_cancels(observer)
               ? ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled before node '%s'", step->name)
               : ULP_OK;
}

static enum ulp_status tell(const struct ulp_observer *observer, const struct ulp_program *program,
                            const struct ulp_step *step, const struct ulp_lane_seconds *seconds,
                            double done, struct ulp_error *error)
{
    const struct ulp_event event = {.index = step->number,
                                    .node_count = program->node_count,
                                    .name = step->name,
                                    .op = step->bound.node->op_type,
                                    .lane_count = program->lane_count,
                                    .lane_seconds = seconds,
                                    .progress =
                                        program->main->cost > 0 ? done / program->main->cost : 1};
    if (!observer || !observer->node_done)
        return ULP_OK;
    struct ulp_environment *paused = ulp_environment_pause();
    const enum ulp_status status = observer->node_done(observer->context, &event, error);
    ulp_environment_resume(paused);
    return status;
}

/* `done`: of the program's cost, with this step. */
static enum ulp_status run_step(struct ulp_overflow_meter *meter, const struct ulp_step *step,
                                const struct ulp_observer *observer, double done,
                                struct ulp_error *error)
{
    const struct ulp_program *program = meter->forward.program;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, meter->forward.budget, error));
    struct ulp_lane_seconds *seconds = ulp_arena_take(arena, program->lane_count, sizeof *seconds);
    double before = ulp_seconds_now();
    ULP_TRY(seconds ? ulp_forward_step(&meter->forward, step, arena, error)
                    : ulp_out_of_memory(error));
    ULP_TRY(ulp_overflow_look_at_reference(meter, step, arena, error));
    for (size_t l = 0; l < program->lane_count; l++) {
        if (l > 0)
            ULP_TRY(look_at_step(meter, l, step, arena, error));
        const double now = ulp_seconds_now();
        seconds[l].own = now - before;
        before = now;
    }
    return tell(observer, program, step, seconds, done, error);
}

static enum ulp_status run_sample(struct ulp_overflow_meter *meter,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_observer *observer, struct ulp_error *error)
{
    struct ulp_forward *forward = &meter->forward;
    const struct ulp_block *block = forward->program->main;
    double done = 0;
    enum ulp_status status = ulp_forward_begin(forward, inputs, error);
    for (size_t s = 0; s < block->step_count && status == ULP_OK; s++) {
        const struct ulp_step *step = &block->steps[s];
        done += step->cost;
        status = ask(observer, step, error);
        if (status == ULP_OK && !step->folded)
            status = run_step(meter, step, observer, done, error);
        ulp_forward_drop(forward, step);
        for (size_t l = 0; l < meter->forecast.lane_count; l++)
            ulp_overflow_drop(&meter->lanes[l], step);
    }
    for (size_t l = 0; l < meter->forecast.lane_count && status == ULP_OK; l++)
        ulp_overflow_reach(meter, l);
    ULP_THEN(status, ulp_overflow_judge_outputs(meter, inputs, error));
    forget_values(meter);
    ulp_forward_end(forward);
    return status;
}

enum ulp_status ulp_overflow_meter_sample(struct ulp_overflow_meter *meter, const char *name,
                                          const struct ulp_tensor_set *inputs,
                                          const struct ulp_observer *observer,
                                          struct ulp_error *error)
{
    static const struct ulp_tensor_set no_inputs;
    const double started = ulp_seconds_now();
    ULP_TRY(ulp_overflow_begin(meter, name, inputs, error));
    ULP_TRY(run_sample(meter, inputs ? inputs : &no_inputs, observer, error));
    meter->forecast.seconds += ulp_seconds_now() - started;
    return ULP_OK;
}

/* ---- the end ---- */

enum ulp_status ulp_overflow_meter_finish(struct ulp_overflow_meter *meter,
                                          struct ulp_overflow_forecast *out,
                                          struct ulp_error *error)
{
    const struct ulp_program *program = meter->forward.program;
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    for (size_t l = 0; l < forecast->lane_count; l++) {
        struct ulp_overflow_lane *lane = &forecast->lanes[l];
        const struct ulp_overflow_course *from = &meter->lanes[l];
        ULP_TAKE(lane->nodes, forecast->memory, program->node_count + 1, error);
        lane->computed = from->evaluated ? (double)from->computed / (double)from->evaluated : 0;
        ulp_overflow_judge(program, from, lane);
    }
    *out = *forecast;
    *forecast = (struct ulp_overflow_forecast){0};
    return ULP_OK;
}
