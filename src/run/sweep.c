#include "run/sweep.h"

#include "base/error.h"
#include "ops/trace/trace.h"
#include "run/lane.h"

/* Outputs of a node inside a body whose cotangents are reported. */
#define POSITIONS 8

/* The course of a sweep. */
struct course {
    const struct ulp_sweep *sweep;
    struct ulp_arithmetic arithmetic; /* fp64 */
    struct ulp_mix mix;
    struct ulp_lane lane; /* for constants only */
    struct ulp_trace *trace;
};

enum ulp_status ulp_sweep_cotangents(const struct ulp_sweep *sweep, int slot, size_t count,
                                     double **out, struct ulp_error *error)
{
    void *memory = sweep->cotangents[slot];
    enum ulp_status status = ULP_OK;
    if (!memory)
        status =
            ulp_allocate_zero(&memory, count, sizeof **out, sweep->budget, "cotangents", error);
    *out = sweep->cotangents[slot] = memory;
    return status;
}

static bool is_owed(const struct ulp_sweep *sweep, const struct ulp_step *step)
{
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        const double *owed = slot >= 0 ? sweep->cotangents[slot] : NULL;
        for (size_t i = 0; owed && i < sweep->values[slot].count; i++)
            if (owed[i] != 0)
                return true;
    }
    return false;
}

static enum ulp_status notify_outputs(const struct ulp_sweep *sweep, const struct ulp_step *step,
                                      struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++) {
        const int slot = step->outputs[o];
        if (slot >= 0 && sweep->cotangents[slot])
            status = sweep->node(sweep->context, step->number, 0, (int)o, sweep->cotangents[slot],
                                 sweep->values[slot].count, error);
    }
    return status;
}

/* A value as names: converted to FP64 on the way. */
static enum ulp_status name_value(struct course *course, const struct ulp_tensor *value,
                                  struct ulp_tensor *named, struct ulp_error *error)
{
    const struct ulp_sweep *sweep = course->sweep;
    struct ulp_tensor wide;
    enum ulp_status status = ulp_tensor_describe(&wide, value->type, ULP_ELEMENT_F64, 0,
                                                 value->rank, value->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(&wide, sweep->budget, error);
    if (status != ULP_OK)
        return status;
    status = ulp_tensor_convert(&wide, value, NULL, ULP_ROUND_NEAREST_EVEN, 0, sweep->pool, error);
    if (status == ULP_OK)
        status = ulp_trace_name(course->trace, named, &wide, error);
    ulp_tensor_free(&wide);
    return status;
}

static enum ulp_status find_inputs(struct course *course, const struct ulp_step *step,
                                   struct ulp_tensor *named, const struct ulp_tensor **in,
                                   struct ulp_error *error)
{
    const struct ulp_block *block = course->sweep->plan->main;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++) {
        const int slot = step->inputs[i];
        if (slot < 0)
            continue;
        const struct ulp_tensor *value = &course->sweep->values[slot];
        in[i] = value;
        if (block->slots[slot].constant) {
            status = ulp_lane_input(&course->lane, step, i, NULL, &in[i], error);
        } else if (value->type == ULP_TYPE_UNDEFINED) {
            status = ulp_fail(error, ULP_ERROR_UNSUPPORTED, "value '%s' has not been kept",
                              block->slots[slot].name);
        } else if (ulp_element_is_float(value->element)) {
            status = name_value(course, value, &named[i], error);
            in[i] = &named[i];
        }
    }
    return status;
}

static enum ulp_status seed_outputs(struct course *course, const struct ulp_step *step,
                                    const struct ulp_tensor *outputs, bool *named,
                                    struct ulp_error *error)
{
    const struct ulp_sweep *sweep = course->sweep;
    const enum ulp_status status = ulp_trace_begin_reverse(course->trace, error);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++) {
        const int slot = step->outputs[o];
        /* a body that runs otherwise where derivatives are taken gives other shapes */
        if (slot < 0 || !sweep->cotangents[slot] || outputs[o].count != sweep->values[slot].count ||
            !ulp_trace_is_named(&outputs[o]))
            continue;
        *named = true;
        ulp_trace_seed(course->trace, &outputs[o], sweep->cotangents[slot]);
    }
    return status;
}

/* What was remembered of the bodies. Executions are counted as the walk counts them. */
static enum ulp_status notify_bodies(struct course *course, struct ulp_error *error)
{
    const struct ulp_sweep *sweep = course->sweep;
    const struct ulp_trace_mark *first = ulp_trace_remembered(course->trace);
    void *memory, *counts;
    if (!first)
        return ULP_OK;
    enum ulp_status status =
        ulp_allocate_zero(&counts, sweep->plan->node_count * POSITIONS, sizeof(size_t),
                          sweep->budget, "executions of nodes", error);
    size_t *executions = counts;
    for (const struct ulp_trace_mark *mark = first; mark && status == ULP_OK; mark = mark->next) {
        if (mark->position >= POSITIONS)
            continue;
        const size_t execution = executions[mark->key * POSITIONS + (size_t)mark->position]++;
        if (!ulp_trace_is_named(&mark->named))
            continue;
        status = ulp_allocate_zero(&memory, mark->named.count, sizeof(double), sweep->budget,
                                   "cotangents", error);
        if (status != ULP_OK)
            break;
        ulp_trace_cotangents(course->trace, &mark->named, memory);
        status = sweep->node(sweep->context, mark->key, execution, mark->position, memory,
                             mark->named.count, error);
        ulp_free(memory);
    }
    ulp_free(counts);
    return status;
}

static enum ulp_status hand_on(struct course *course, const struct ulp_step *step,
                               const struct ulp_tensor *named, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++) {
        double *owed;
        if (!named[i].data)
            continue;
        status = ulp_sweep_cotangents(course->sweep, step->inputs[i], named[i].count, &owed, error);
        if (status == ULP_OK)
            ulp_trace_cotangents(course->trace, &named[i], owed);
    }
    return status;
}

static enum ulp_status reverse_step(struct course *course, const struct ulp_step *step,
                                    struct ulp_error *error)
{
    struct ulp_arena *arena;
    bool derived = false;
    enum ulp_status status = ulp_arena_create(&arena, course->sweep->budget, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_tensor **in = ulp_arena_take(arena, step->input_count + 1, sizeof *in);
    struct ulp_tensor *named = ulp_arena_take(arena, step->input_count + 1, sizeof *named),
                      *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    status = in && named && outputs ? find_inputs(course, step, named, in, error)
                                    : ulp_fail_memory(error, "out of memory");
    if (status == ULP_OK)
        status = ulp_step_run(step, &course->lane, in, outputs, error);
    if (status == ULP_OK)
        status = seed_outputs(course, step, outputs, &derived, error);
    if (status == ULP_OK && derived)
        status = ulp_trace_reverse(course->trace, error);
    if (status == ULP_OK && derived)
        status = notify_bodies(course, error);
    if (status == ULP_OK && derived)
        status = hand_on(course, step, named, error);
    for (size_t i = 0; named && outputs && i < step->input_count; i++) {
        course->sweep->stopped[step->number] |= !derived && named[i].data;
        ulp_tensor_free(&named[i]);
    }
    for (size_t o = 0; named && outputs && o < step->output_count; o++)
        ulp_tensor_free(&outputs[o]);
    ulp_trace_clear(course->trace);
    ulp_lane_clear(&course->lane);
    ulp_arena_free(arena);
    return status;
}

static bool has_variable(const struct ulp_sweep *sweep, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !sweep->plan->main->slots[step->inputs[i]].constant)
            return true;
    return false;
}

enum ulp_status ulp_sweep_run(const struct ulp_sweep *sweep, struct ulp_error *error)
{
    const struct ulp_block *block = sweep->plan->main;
    struct course course = {.sweep = sweep, .mix = {.count = 1, .items = &course.arithmetic}};
    enum ulp_status status = ulp_arithmetic_find("fp64", &course.arithmetic, error);
    if (status == ULP_OK)
        status = ulp_trace_create(&course.trace, sweep->budget, sweep->pool, error);
    if (status == ULP_OK)
        status =
            ulp_lane_create(&course.lane, &course.mix, block, sweep->budget, sweep->pool, error);
    course.lane.trace = course.trace;
    for (size_t s = block->step_count; s-- > 0 && status == ULP_OK;) {
        const struct ulp_step *step = &block->steps[s];
        if (!step->folded && is_owed(sweep, step)) {
            status = sweep->open(sweep->context, step, error);
            if (status == ULP_OK)
                status = notify_outputs(sweep, step, error);
            if (status == ULP_OK && has_variable(sweep, step))
                status = reverse_step(&course, step, error);
            sweep->close(sweep->context, step);
        }
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0) {
                ulp_free(sweep->cotangents[step->outputs[o]]);
                sweep->cotangents[step->outputs[o]] = NULL;
            }
    }
    if (course.lane.values)
        ulp_lane_free(&course.lane);
    ulp_trace_free(course.trace);
    return status;
}
