/* A forecast from its start to its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/place.h"
#include "analysis/audit/overflow.h"
#include "analysis/forecast/forecaster.h"
#include "analysis/measure/judge.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"

static char *copy_text(struct ulp_forecaster *forecaster, const char *text)
{
    return ulp_arena_text(forecaster->forecast.memory, text, strlen(text));
}

static enum ulp_status prepare_lane(struct ulp_forecaster *forecaster, size_t l,
                                    struct ulp_error *error)
{
    const struct ulp_plan *plan = forecaster->forward.plan;
    struct ulp_forecast_lane *lane = &forecaster->forecast.lanes[l];
    struct ulp_forecasting *own = &forecaster->lanes[l];
    struct ulp_audit_lane *audit = &own->audit;
    lane->name = copy_text(forecaster, ulp_plan_lane_name(plan, l + 1));
    lane->arithmetic = plan->lanes[l + 1];
    own->nodes = ulp_arena_take(forecaster->memory, plan->node_count + 1, sizeof *own->nodes);
    own->hidden_capacity =
        ulp_arena_take(forecaster->memory, plan->node_count + 1, sizeof *own->hidden_capacity);
    own->poisoned =
        ulp_arena_take(forecaster->memory, plan->main->slot_count + 1, sizeof *own->poisoned);
    own->held = ulp_arena_take(forecaster->memory, plan->main->slot_count + 1, sizeof *own->held);
    own->overflow =
        ulp_arena_take(forecaster->memory, plan->main->slot_count + 1, sizeof *own->overflow);
    *audit = (struct ulp_audit_lane){.node_count = plan->node_count};
    audit->nodes = ulp_arena_take(forecaster->memory, plan->node_count + 1, sizeof *audit->nodes);
    if (!lane->name || !own->nodes || !own->hidden_capacity || !own->poisoned || !own->held ||
        !own->overflow || !audit->nodes)
        return ulp_forecast_memory(error);
    for (size_t n = 0; n < plan->node_count; n++) {
        audit->nodes[n].index = n;
        ulp_plan_node_types(plan, l + 1, n, &audit->nodes[n].types);
    }
    const enum ulp_status status =
        ulp_overflow_prepare(audit, plan, l + 1, forecaster->memory, error);
    for (size_t c = 0; c < audit->constant_count && status == ULP_OK; c++)
        own->saturates |=
            audit->constants[c].overflowed && lane->arithmetic.constants != ULP_CONSTANTS_IEEE;
    return status;
}

static enum ulp_status prepare(struct ulp_forecaster *forecaster, const struct ulp_plan *plan,
                               int thread_count, struct ulp_error *error)
{
    struct ulp_forecast *forecast = &forecaster->forecast;
    struct ulp_budget *budget = ulp_model_budget(plan->model);
    enum ulp_status status = ulp_forward_open(&forecaster->forward, plan, thread_count, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&forecaster->memory, budget, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&forecast->memory, budget, error);
    if (status != ULP_OK)
        return status;
    forecast->lane_count = plan->lane_count - 1;
    forecast->model_path = copy_text(forecaster, ulp_model_path(plan->model));
    forecast->reference = copy_text(forecaster, plan->lanes[0].name);
    forecast->lanes =
        ulp_arena_take(forecast->memory, forecast->lane_count, sizeof *forecast->lanes);
    forecaster->lanes =
        ulp_arena_take(forecaster->memory, forecast->lane_count, sizeof *forecaster->lanes);
    if (!forecast->model_path || !forecast->reference || !forecast->lanes || !forecaster->lanes)
        return ulp_forecast_memory(error);
    status = ulp_places_make(plan, forecast->memory, &forecast->places, error);
    if (status != ULP_OK)
        return status;
    forecast->place_count = ulp_plan_node_count(plan);
    forecaster->thread_count = thread_count;
    forecaster->probe = (struct ulp_probe){.tell = ulp_forecast_tell,
                                           .give = ulp_forecast_give,
                                           .context = forecaster,
                                           .budget = budget};
    for (size_t l = 0; l < forecast->lane_count && status == ULP_OK; l++)
        status = prepare_lane(forecaster, l, error);
    return status;
}

enum ulp_status ulp_forecaster_create(const struct ulp_plan *plan, int thread_count,
                                      struct ulp_forecaster **out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    *out = NULL;
    if (plan->lane_count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a forecast needs a reference and at least one arithmetic");
    struct ulp_forecaster *forecaster = calloc(1, sizeof *forecaster);
    if (!forecaster)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the forecast");
    const enum ulp_status status = prepare(forecaster, plan, thread_count, error);
    if (status == ULP_OK)
        *out = forecaster;
    else
        ulp_forecaster_free(forecaster);
    return status;
}

static void forget_values(struct ulp_forecaster *forecaster)
{
    for (size_t l = 0; forecaster->lanes && l < forecaster->forecast.lane_count; l++) {
        const struct ulp_forecasting *lane = &forecaster->lanes[l];
        const struct ulp_plan *plan = forecaster->forward.plan; /* NULL: it could not be opened */
        const size_t slots = plan && lane->poisoned && lane->held ? plan->main->slot_count : 0;
        for (size_t v = 0; v < slots; v++) {
            ulp_tensor_free(&lane->poisoned[v]);
            ulp_tensor_free(&lane->held[v]);
        }
    }
}

void ulp_forecaster_free(struct ulp_forecaster *forecaster)
{
    if (!forecaster)
        return;
    forget_values(forecaster);
    ulp_plan_free(forecaster->fast);
    ulp_forward_close(&forecaster->forward);
    ulp_arena_free(forecaster->memory);
    ulp_arena_free(forecaster->forecast.memory);
    free(forecaster);
}

enum ulp_status ulp_forecaster_reshape(struct ulp_forecaster *forecaster,
                                       const struct ulp_plan *plan, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    if (!ulp_plan_same_nodes(forecaster->forward.plan, plan))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "its shapes leave other nodes to compute than the first sample's");
    ulp_plan_free(forecaster->fast);
    forecaster->fast = NULL;
    ulp_forward_close(&forecaster->forward);
    return ulp_forward_open(&forecaster->forward, plan, forecaster->thread_count, error);
}

/* ---- nodes ---- */

static enum ulp_status make_outputs(struct ulp_forecaster *forecaster,
                                    struct ulp_forecast_node *node,
                                    const struct ulp_forecast_view *view, struct ulp_error *error)
{
    const struct ulp_block *block = forecaster->forward.plan->main;
    const struct ulp_step *step = view->step;
    enum ulp_status status = ULP_OK;
    if (node->outputs)
        return ULP_OK;
    node->outputs =
        ulp_arena_take(forecaster->forecast.memory, step->output_count + 1, sizeof *node->outputs);
    if (!node->outputs)
        return ulp_forecast_memory(error);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++) {
        const int slot = step->outputs[o];
        if (slot < 0 || !ulp_type_is_float(view->exact[o].type))
            continue;
        struct ulp_forecast_output *output = &node->outputs[node->output_count++];
        output->name = copy_text(forecaster, block->slots[slot].name);
        status = output->name ? ulp_forward_format(&forecaster->forward, view->lane, step,
                                                   view->exact[o].type, &output->format, error)
                              : ulp_forecast_memory(error);
    }
    return status;
}

/* Must the lane's own arithmetic decide? */
static bool is_undecided(struct ulp_forecaster *forecaster, const struct ulp_forecast_view *view)
{
    const struct ulp_step *step = view->step;
    struct ulp_format format;
    if (forecaster->near_inside)
        return true;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && ulp_element_is_float(view->exact[o].element) &&
            ulp_forward_format(&forecaster->forward, view->lane, step, view->exact[o].type, &format,
                               NULL) == ULP_OK &&
            ulp_forecast_is_near(&view->exact[o], &format))
            return true;
    return false;
}

/* The results as the lane has them: of its own arithmetic where that must decide, else the exact
 * ones rounded. */
static enum ulp_status store_results(struct ulp_forecaster *forecaster,
                                     const struct ulp_forecast_view *view,
                                     struct ulp_tensor *stored, struct ulp_error *error)
{
    struct ulp_forward *forward = &forecaster->forward;
    struct ulp_forecasting *lane = &forecaster->lanes[view->lane - 1];
    lane->evaluated++;
    if (is_undecided(forecaster, view)) {
        lane->computed++;
        return ulp_step_run(view->step, &forward->lanes[view->lane], view->rounded, stored, error);
    }
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < view->step->output_count && status == ULP_OK; o++)
        if (view->step->outputs[o] >= 0)
            status = ulp_forward_store(forward, view->lane, view->step, &view->exact[o], &stored[o],
                                       error);
    return status;
}

static void free_tensors(struct ulp_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++)
        ulp_tensor_free(&tensors[i]);
}

/* The step in FP64, looked into. */
static enum ulp_status run_probed(struct ulp_forecaster *forecaster, size_t l,
                                  const struct ulp_step *step,
                                  const struct ulp_tensor *const *inputs, struct ulp_tensor *exact,
                                  struct ulp_error *error)
{
    struct ulp_forward *forward = &forecaster->forward;
    enum ulp_status status =
        ulp_forward_format(forward, l, step, ULP_TYPE_FLOAT, &forecaster->probe.format, error);
    if (status != ULP_OK)
        return status;
    forecaster->lane = l - 1;
    forecaster->near_inside = false;
    forecaster->inside = (struct inside_overflow){0};
    forward->wide.probe = &forecaster->probe;
    status = ulp_step_run(step, &forward->wide, inputs, exact, error);
    forward->wide.probe = NULL;
    return status;
}

static enum ulp_status look_at_step(struct ulp_forecaster *forecaster, size_t l,
                                    const struct ulp_step *step, struct ulp_arena *arena,
                                    struct ulp_error *error)
{
    struct ulp_forward *forward = &forecaster->forward;
    struct ulp_forward_inputs rounded = {0}, widened = {0};
    const struct ulp_tensor *held = forecaster->lanes[l - 1].held;
    struct ulp_forecast_node *node;
    bool born = false;
    struct ulp_tensor *exact = ulp_arena_take(arena, step->output_count + 1, sizeof *exact),
                      *stored = ulp_arena_take(arena, step->output_count + 1, sizeof *stored);
    if (!exact || !stored)
        return ulp_forecast_memory(error);
    enum ulp_status status = ulp_forward_rounded(forward, l, step, arena, &rounded, error);
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        if (step->inputs[i] >= 0 && held[step->inputs[i]].type != ULP_TYPE_UNDEFINED)
            rounded.at[i] = &held[step->inputs[i]];
    if (status == ULP_OK)
        status = ulp_forward_widened(forward, l, step, rounded.at, NULL, arena, &widened, error);
    if (status == ULP_OK)
        status = run_probed(forecaster, l, step, widened.at, exact, error);
    const struct ulp_forecast_view view = {.step = step,
                                           .lane = l,
                                           .rounded = rounded.at,
                                           .widened = widened.at,
                                           .exact = exact,
                                           .stored = stored,
                                           .arena = arena};
    if (status == ULP_OK)
        status = store_results(forecaster, &view, stored, error);
    if (status == ULP_OK)
        status = ulp_forecast_node(forecaster, l - 1, step->number, &node, error);
    if (status == ULP_OK)
        status = make_outputs(forecaster, node, &view, error);
    if (status == ULP_OK)
        status = ulp_forecast_look(forecaster, node, &view, &born, error);
    if (status == ULP_OK)
        status = ulp_forecast_follow(forecaster, &view, born, error);
    if (status == ULP_OK)
        status = ulp_forecast_hold(forecaster, &view, error);
    free_tensors(stored, step->output_count); /* views of exact among them */
    free_tensors(exact, step->output_count);
    ulp_forward_inputs_free(&widened);
    ulp_forward_inputs_free(&rounded);
    return status;
}

/* ---- samples ---- */

static enum ulp_status ask(const struct ulp_observer *observer, const struct ulp_step *step,
                           struct ulp_error *error)
{
    if (!observer || !observer->cancelled)
        return ULP_OK;
    struct ulp_environment *paused = ulp_environment_pause();
    const bool cancelled = observer->cancelled(observer->context);
    ulp_environment_resume(paused);
    return cancelled
               ? ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled before node '%s'", step->name)
               : ULP_OK;
}

static enum ulp_status tell(const struct ulp_observer *observer, const struct ulp_plan *plan,
                            const struct ulp_step *step, const struct ulp_lane_seconds *seconds,
                            double done, struct ulp_error *error)
{
    struct ulp_event event = {.index = step->number,
                              .node_count = plan->node_count,
                              .name = step->name,
                              .op = step->bound.node->op_type,
                              .lane_count = plan->lane_count,
                              .lane_seconds = seconds,
                              .progress = plan->main->cost > 0 ? done / plan->main->cost : 1};
    if (!observer || !observer->node_done)
        return ULP_OK;
    for (size_t l = 0; l < plan->lane_count; l++)
        event.seconds += seconds[l].own;
    struct ulp_environment *paused = ulp_environment_pause();
    const enum ulp_status status = observer->node_done(observer->context, &event, error);
    ulp_environment_resume(paused);
    return status;
}

/* ---- may it be judged? ---- */

static const struct ulp_tensor *find_value(const struct ulp_forecaster *forecaster, int slot)
{
    const struct ulp_plan_slot *planned = &forecaster->forward.plan->main->slots[slot];
    return planned->constant ? planned->constant : ulp_forecast_truth(forecaster, slot);
}

/* Does the reference itself overflow here? Its infinity may be exact (1 / 0); which of the two, a
 * reference of more range says. */
static enum ulp_status look_at_reference(struct ulp_forecaster *forecaster,
                                         const struct ulp_step *step, struct ulp_error *error)
{
    bool infinite = false, finite = true;
    if (forecaster->forecast.beyond_reference ||
        forecaster->forward.plan->lanes[0].storage.carrier == ULP_CARRIER_MPFR)
        return ULP_OK;
    for (size_t o = 0; o < step->output_count && !infinite; o++) {
        const int slot = step->outputs[o];
        const struct ulp_tensor *value = slot < 0 ? NULL : ulp_forecast_truth(forecaster, slot);
        for (size_t i = 0; value && ulp_element_is_float(value->element) && i < value->count; i++)
            infinite |= isinf(ulp_tensor_get(value, i)) != 0;
    }
    for (size_t i = 0; i < step->input_count && infinite && finite; i++)
        finite = step->inputs[i] < 0 ||
                 !ulp_judge_count_nonfinite(find_value(forecaster, step->inputs[i]));
    if (!infinite || !finite)
        return ULP_OK;
    forecaster->forecast.beyond_reference = copy_text(forecaster, step->name);
    return forecaster->forecast.beyond_reference ? ULP_OK : ulp_forecast_memory(error);
}

enum ulp_status ulp_forecast_judge_output(struct ulp_forecaster *forecaster, const char *name,
                                          const struct ulp_tensor *value, struct ulp_error *error)
{
    struct ulp_forecast *forecast = &forecaster->forecast;
    const enum ulp_crossing_kind kind = ulp_judge_reference(value);
    return kind == ULP_CROSSED_VALUE ||
                   ulp_unjudged_add(
                       forecast->memory, &forecast->unjudged,
                       (struct ulp_unjudged){.name = name,
                                             .sample = forecast->sample_names[forecaster->sample],
                                             .reason = ulp_judge_reason(kind)})
               ? ULP_OK
               : ulp_forecast_memory(error);
}

static enum ulp_status judge_outputs(struct ulp_forecaster *forecaster, struct ulp_error *error)
{
    const struct ulp_block *block = forecaster->forward.plan->main;
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < block->output_count && status == ULP_OK; o++)
        status = ulp_forecast_judge_output(forecaster, block->slots[block->outputs[o]].name,
                                           find_value(forecaster, block->outputs[o]), error);
    return status;
}

/* `done`: of the plan's cost, with this step. */
static enum ulp_status run_step(struct ulp_forecaster *forecaster, const struct ulp_step *step,
                                const struct ulp_observer *observer, double done,
                                struct ulp_error *error)
{
    const struct ulp_plan *plan = forecaster->forward.plan;
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, forecaster->forward.budget, error);
    if (status != ULP_OK)
        return status;
    struct ulp_lane_seconds *seconds = ulp_arena_take(arena, plan->lane_count, sizeof *seconds);
    double before = ulp_seconds_now();
    status = seconds ? ulp_forward_step(&forecaster->forward, step, arena, error)
                     : ulp_forecast_memory(error);
    if (status == ULP_OK)
        status = look_at_reference(forecaster, step, error);
    for (size_t l = 0; l < plan->lane_count && status == ULP_OK; l++) {
        if (l > 0)
            status = look_at_step(forecaster, l, step, arena, error);
        const double now = ulp_seconds_now();
        seconds[l].own = now - before;
        before = now;
    }
    if (status == ULP_OK)
        status = tell(observer, plan, step, seconds, done, error);
    ulp_arena_free(arena);
    return status;
}

static enum ulp_status run_sample(struct ulp_forecaster *forecaster,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_observer *observer, struct ulp_error *error)
{
    struct ulp_forward *forward = &forecaster->forward;
    const struct ulp_block *block = forward->plan->main;
    double done = 0;
    enum ulp_status status = ulp_forward_begin(forward, inputs, error);
    for (size_t s = 0; s < block->step_count && status == ULP_OK; s++) {
        const struct ulp_step *step = &block->steps[s];
        done += step->cost;
        status = ask(observer, step, error);
        if (status == ULP_OK && !step->folded)
            status = run_step(forecaster, step, observer, done, error);
        ulp_forward_drop(forward, step);
        for (size_t l = 0; l < forecaster->forecast.lane_count; l++)
            ulp_forecast_drop(&forecaster->lanes[l], step);
    }
    for (size_t l = 0; l < forecaster->forecast.lane_count && status == ULP_OK; l++)
        ulp_forecast_reach(forecaster, l);
    if (status == ULP_OK)
        status = judge_outputs(forecaster, error);
    forget_values(forecaster);
    ulp_forward_end(forward);
    return status;
}

enum ulp_status ulp_forecast_begin(struct ulp_forecaster *forecaster, const char *name,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_forecast *forecast = &forecaster->forecast;
    if (!ulp_plan_grow(forecast->memory, &forecast->sample_names, forecast->sample_count,
                       &forecaster->sample_capacity, sizeof *forecast->sample_names) ||
        !(forecast->sample_names[forecast->sample_count] = copy_text(forecaster, name)))
        return ulp_forecast_memory(error);
    for (size_t l = 0; l < forecast->lane_count; l++)
        forecaster->lanes[l].ratio = 0;
    forecaster->sample = forecast->sample_count++;
    const bool added =
        ulp_unjudged_add_inputs(forecast->memory, &forecast->unjudged, inputs, name) &&
        (forecaster->forward.plan->main->output_count || forecast->sample_count > 1 ||
         ulp_unjudged_add(forecast->memory, &forecast->unjudged,
                          (struct ulp_unjudged){.reason =
                                                    ulp_judge_reason(ULP_CROSSED_NO_OUTPUT)}));
    return added ? ULP_OK : ulp_forecast_memory(error);
}

enum ulp_status ulp_forecast_end(struct ulp_forecaster *forecaster, struct ulp_error *error)
{
    for (size_t l = 0; l < forecaster->forecast.lane_count; l++) {
        struct ulp_forecasting *lane = &forecaster->lanes[l];
        if (!ulp_plan_grow(forecaster->memory, &lane->ratios, forecaster->sample,
                           &lane->ratio_capacity, sizeof *lane->ratios))
            return ulp_forecast_memory(error);
        lane->ratios[forecaster->sample] = lane->ratio;
    }
    return ULP_OK;
}

enum ulp_status ulp_forecaster_sample(struct ulp_forecaster *forecaster, const char *name,
                                      const struct ulp_tensor_set *inputs,
                                      const struct ulp_observer *observer, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    static const struct ulp_tensor_set no_inputs;
    const double started = ulp_seconds_now();
    enum ulp_status status = ulp_forecast_begin(forecaster, name, inputs, error);
    if (status == ULP_OK)
        status = run_sample(forecaster, inputs ? inputs : &no_inputs, observer, error);
    forecaster->forecast.seconds += ulp_seconds_now() - started;
    return status == ULP_OK ? ulp_forecast_end(forecaster, error) : status;
}

/* ---- the end ---- */

/* Outputs with more headroom than this are not asked for the chance of an overflow. */
#define FAR_BITS 4

/* What the samples say of unseen ones. */
static enum ulp_status estimate(const struct ulp_forecaster *forecaster,
                                const struct ulp_forecasting *from, struct ulp_forecast_lane *lane,
                                struct ulp_error *error)
{
    enum ulp_status status = ulp_extreme_estimate(from->ratios, forecaster->forecast.sample_count,
                                                  1, 0, &lane->unseen, error);
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count && status == ULP_OK; o++) {
            struct ulp_forecast_output *output = &lane->nodes[n].outputs[o];
            if (output->headroom_bits < FAR_BITS)
                status = ulp_extreme_estimate(output->sample_largest, output->sample_count,
                                              output->format.max_finite, lane->nodes[n].index,
                                              &output->unseen, error);
        }
    return status;
}

enum ulp_status ulp_forecaster_finish(struct ulp_forecaster *forecaster, struct ulp_forecast *out,
                                      struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    const struct ulp_plan *plan = forecaster->forward.plan;
    struct ulp_forecast *forecast = &forecaster->forecast;
    for (size_t l = 0; l < forecast->lane_count; l++) {
        struct ulp_forecast_lane *lane = &forecast->lanes[l];
        const struct ulp_forecasting *from = &forecaster->lanes[l];
        lane->nodes = ulp_arena_take(forecast->memory, plan->node_count + 1, sizeof *lane->nodes);
        if (!lane->nodes)
            return ulp_forecast_memory(error);
        lane->computed = from->evaluated ? (double)from->computed / (double)from->evaluated : 0;
        ulp_forecast_judge(plan, from, lane);
        const enum ulp_status status = estimate(forecaster, from, lane, error);
        if (status != ULP_OK)
            return status;
    }
    *out = *forecast;
    *forecast = (struct ulp_forecast){0};
    return ULP_OK;
}

void ulp_forecast_free(struct ulp_forecast *forecast)
{
    ulp_arena_free(forecast->memory);
    *forecast = (struct ulp_forecast){0};
}
