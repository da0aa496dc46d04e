#include "run/pass/backward.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/product/quantize_rows.h"
#include "ops/trace/trace.h"
#include "run/lane.h"
#include "run/pass/amounts.h"
#include "run/pass/handed.h"
#include "run/pass/settled_order.h"

/* Outputs of a node inside a body whose cotangents are reported. */
#define POSITIONS 8

/* The course of sweeps. */
struct course {
    const struct ulp_reverse *sweep; /* `count` of them, with the first one's program and values */
    size_t count;
    struct ulp_handed *handed;        /* room for one of each */
    struct ulp_arithmetic arithmetic; /* fp64 */
    struct ulp_mix mix;
    struct ulp_lane lane; /* for constants only */
    struct ulp_trace *trace;
};

enum ulp_status ulp_reverse_cotangents(const struct ulp_reverse *sweep, int slot, size_t count,
                                       double **out, struct ulp_error *error)
{
    if (!sweep->cotangents[slot])
        ULP_TRY(ulp_allocate_zero(&sweep->cotangents[slot], count, sizeof **out, sweep->budget,
                                  "cotangents", error));
    *out = sweep->cotangents[slot];
    return ULP_OK;
}

static bool is_owed(const struct ulp_reverse *sweep, const struct ulp_step *step)
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

static enum ulp_status notify_outputs(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                      double *introduced, struct ulp_error *error)
{
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (slot >= 0 && sweep->cotangents[slot] && sweep->node)
            ULP_TRY(sweep->node(sweep->context, step->number, 0, (int)o, sweep->cotangents[slot],
                                sweep->values[slot].count, introduced, error));
    }
    return ULP_OK;
}

/* A value as names, its error times so much from the middle. */
static enum ulp_status name_value(struct course *course, int slot, double at,
                                  struct ulp_tensor *named, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    const float *errors = sweep->errors ? sweep->errors[slot] : NULL;
    return ulp_trace_name(course->trace, named, &sweep->values[slot], errors ? at - 0.5 : 0, errors,
                          error);
}

static enum ulp_status find_inputs(struct course *course, const struct ulp_step *step, double at,
                                   struct ulp_tensor *named, const struct ulp_tensor **in,
                                   struct ulp_error *error)
{
    const struct ulp_block *block = course->sweep->program->main;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0)
            continue;
        const struct ulp_tensor *value = &course->sweep->values[slot];
        in[i] = value;
        if (block->slots[slot].constant) {
            ULP_TRY(ulp_lane_input(&course->lane, step, i, NULL, &in[i], error));
        } else if (value->type == ULP_TYPE_UNDEFINED) {
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "value '%s' has not been kept",
                            block->slots[slot].name);
        } else if (ulp_element_is_float(value->element)) {
            ULP_TRY(name_value(course, slot, at, &named[i], error));
            in[i] = &named[i];
        }
    }
    return ULP_OK;
}

static enum ulp_status seed_outputs(struct course *course, const struct ulp_reverse *sweep,
                                    const struct ulp_step *step, const struct ulp_tensor *outputs,
                                    bool shared, bool *named, struct ulp_error *error)
{
    /* alike however many sweeps there are. Of a step as large as the way (handed.c) the last
     * bit decides: it stays the adjoint's */
    ULP_TRY(
        ulp_trace_begin_reverse(course->trace, !ulp_is_quantizer(step->bound.op), shared, error));
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        /* a body that runs otherwise where derivatives are taken gives other shapes */
        if (slot < 0 || !sweep->cotangents[slot] || outputs[o].count != sweep->values[slot].count ||
            !ulp_trace_is_named(&outputs[o]))
            continue;
        *named = true;
        ulp_trace_seed(course->trace, &outputs[o], sweep->cotangents[slot]);
    }
    return ULP_OK;
}

/* What was remembered of the bodies. Executions are counted as the walk counts them. */
static enum ulp_status notify_bodies(struct course *course, const struct ulp_reverse *sweep,
                                     double *introduced, struct ulp_error *error)
{
    const struct ulp_trace_mark *first = ulp_trace_remembered(course->trace);
    ULP_SCOPED(ulp_free_of) size_t *executions = NULL;
    if (!first || !sweep->node)
        return ULP_OK;
    ULP_TRY(ulp_allocate_zero(&executions, sweep->program->node_count * POSITIONS,
                              sizeof *executions, sweep->budget, "executions of nodes", error));
    for (const struct ulp_trace_mark *mark = first; mark; mark = mark->next) {
        if (mark->position >= POSITIONS)
            continue;
        const size_t execution = executions[mark->key * POSITIONS + (size_t)mark->position]++;
        if (!ulp_trace_is_named(&mark->named))
            continue;
        ULP_SCOPED(ulp_free_of) double *owed = NULL;
        ULP_TRY(ulp_allocate(&owed, mark->named.count, sizeof *owed, sweep->budget, "cotangents",
                             error));
        ulp_trace_cotangents(course->trace, &mark->named, 1, false, owed);
        ULP_TRY(sweep->node(sweep->context, mark->key, execution, mark->position, owed,
                            mark->named.count, introduced, error));
    }
    return ULP_OK;
}

/* ---- one step ---- */

/* What the trace's cotangents are of the inputs, added to owed[]; derived: there are some. */
static enum ulp_status take_cotangents(struct course *course, const struct ulp_step *step,
                                       const struct ulp_tensor *named, double weight, double **owed,
                                       bool derived, struct ulp_error *error)
{
    for (size_t i = 0; i < step->input_count; i++) {
        const bool add = owed[i] != NULL;
        if (!named[i].data)
            continue;
        if (!add)
            ULP_TRY((derived ? ulp_allocate
                             : ulp_allocate_zero)(&owed[i], named[i].count, sizeof(double),
                                                  course->sweep->budget, "cotangents", error));
        if (derived)
            ulp_trace_cotangents(course->trace, &named[i], weight, add, owed[i]);
    }
    return ULP_OK;
}

/* One sweep's way back over what the trace has recorded. */
static enum ulp_status reverse_sweep(struct course *course, const struct ulp_step *step,
                                     const struct ulp_tensor *named,
                                     const struct ulp_tensor *outputs, double weight, bool bodies,
                                     bool shared, struct ulp_handed *handed,
                                     struct ulp_error *error)
{
    bool derived = false;
    ULP_TRY(seed_outputs(course, handed->sweep, step, outputs, shared, &derived, error));
    if (derived)
        ULP_TRY(ulp_trace_reverse(course->trace, error));
    if (derived && bodies)
        ULP_TRY(notify_bodies(course, handed->sweep, &handed->introduced, error));
    ULP_TRY(take_cotangents(course, step, named, weight, handed->owed, derived, error));
    handed->derived = derived;
    return ULP_OK;
}

/* The derivatives of an elementwise step, which all sweeps have in common, added to slopes[]. */
static enum ulp_status add_slopes(struct course *course, const struct ulp_step *step,
                                  const struct ulp_tensor *named, const struct ulp_tensor *output,
                                  double weight, double **slopes, struct ulp_error *error)
{
    bool found = false;
    ULP_TRY(
        ulp_trace_slopes(course->trace, named, step->input_count, weight, slopes, &found, error));
    if (found)
        return ULP_OK;
    ULP_TRY(ulp_trace_begin_reverse(course->trace, false, false, error));
    ulp_trace_seed(course->trace, output, NULL);
    ULP_TRY(ulp_trace_reverse(course->trace, error));
    return take_cotangents(course, step, named, weight, slopes, true, error);
}

/* Backwards at one point, the middle and `at` times the error, in `count` sweeps; of an elementwise
 * step to its slopes, which others do not touch. */
static enum ulp_status reverse_at(struct course *course, const struct ulp_step *step, double at,
                                  double weight, bool bodies, double **slopes,
                                  struct ulp_handed *handed, size_t count, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, course->sweep->budget, error));
    ULP_TAKE_ARRAY(const struct ulp_tensor *, in, arena, step->input_count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_tensor, named, arena, step->input_count + 1, error);
    ULP_TAKE_ARRAY(struct ulp_tensor, outputs, arena, step->output_count + 1, error);
    enum ulp_status status = find_inputs(course, step, at, named, in, error);
    ULP_THEN(status, ulp_step_run(step, &course->lane, in, outputs, error));
    const bool quantizer = ulp_is_quantizer(step->bound.op);
    const bool elementwise =
        status == ULP_OK && !quantizer && step->output_count == 1 && !step->bound.blocks &&
        outputs->count == course->sweep->values[step->outputs[0]].count &&
        ulp_trace_is_elementwise(course->trace, named, step->input_count, outputs);
    if (elementwise)
        status = add_slopes(course, step, named, outputs, weight, slopes, error);
    for (size_t h = 0; h < count && status == ULP_OK && !elementwise; h++)
        status = reverse_sweep(course, step, named, outputs, weight, bodies, count > 1, &handed[h],
                               error);
    ulp_tensors_free(named, step->input_count);
    ulp_tensors_free(outputs, step->output_count);
    ulp_trace_clear(course->trace);
    ulp_lane_clear_inputs(&course->lane, step);
    return status;
}

/* A node whose derivative changes on the way between both ends, by so much that it shows (1 is the
 * whole error of the outputs), is gone over at the middles of POINTS parts of the way: the mean of
 * the derivatives times the way is what it carries, also across a kink, but not across a jump. */
#define CURVED 1e-4
#define POINTS 8

static bool is_curved(const struct ulp_step *step, const struct ulp_handed *handed)
{
    return !handed->sweep->plain && handed->derived && !step->bound.blocks &&
           !ulp_is_quantizer(step->bound.op) && fabs(handed->wanted - handed->carried) > CURVED;
}

static enum ulp_status refine(struct course *course, const struct ulp_step *step,
                              struct ulp_arena *arena, double **slopes, struct ulp_handed *handed,
                              size_t count, struct ulp_error *error)
{
    struct ulp_handed *means = ulp_arena_take(arena, count, sizeof *means);
    size_t found = 0;
    enum ulp_status status = ulp_taken(means, error);
    for (size_t h = 0; h < count && status == ULP_OK; h++)
        if (is_curved(step, &handed[h])) {
            means[found] = handed[h];
            means[found].middle = &handed[h];
            means[found].owed = ulp_arena_take(arena, step->input_count + 1, sizeof *means->owed);
            if (!means[found++].owed)
                status = ulp_out_of_memory(error);
        }
    for (int p = 0; p < POINTS && found && status == ULP_OK; p++)
        status = reverse_at(course, step, (p + 0.5) / POINTS - 0.5, 1.0 / POINTS, false, slopes,
                            means, found, error);
    ULP_THEN(status, ulp_handed_apply_slopes(step, slopes, means, found, error));
    for (size_t m = 0; m < found; m++) {
        struct ulp_handed *middle = means[m].middle;
        if (status == ULP_OK)
            ulp_handed_measure(step, &means[m]);
        if (status == ULP_OK &&
            fabs(middle->wanted - means[m].carried) < fabs(middle->wanted - middle->carried)) {
            double **const before = middle->owed;
            middle->owed = means[m].owed;
            middle->carried = means[m].carried;
            means[m].owed = before;
        }
        ulp_handed_free(step, &means[m]);
    }
    return status;
}

/* handed: of the sweeps in which the step is owed something. */
static enum ulp_status reverse_step(struct course *course, const struct ulp_step *step,
                                    struct ulp_handed *handed, size_t count,
                                    struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    const bool cast = ulp_casts_amounts(sweep->program->main, step) &&
                      ulp_element_is_float(sweep->values[step->inputs[0]].element);
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, sweep->budget, error));
    ULP_TAKE_ARRAY(double *, slopes, arena, step->input_count + 1, error);
    enum ulp_status status = ULP_OK;
    for (size_t h = 0; h < count && status == ULP_OK; h++) {
        handed[h].owed = ulp_arena_take(arena, step->input_count + 1, sizeof *handed->owed);
        if (!handed[h].owed)
            status = ulp_out_of_memory(error);
        else if (cast)
            status = ulp_handed_copy(step, &handed[h], error);
    }
    if (status == ULP_OK && !cast)
        status = reverse_at(course, step, 0, 1, true, slopes, handed, count, error);
    ULP_THEN(status, ulp_handed_apply_slopes(step, slopes, handed, count, error));
    for (size_t h = 0; h < count && status == ULP_OK; h++)
        status = ulp_handed_weigh(step, &handed[h], error);
    ULP_THEN(status, refine(course, step, arena, slopes, handed, count, error));
    for (size_t h = 0; h < count; h++) {
        if (status == ULP_OK)
            ulp_handed_finish(step, &handed[h]);
        ulp_handed_free(step, &handed[h]);
    }
    for (size_t i = 0; i < step->input_count; i++)
        ulp_free(slopes[i]);
    return status;
}

static bool has_variable(const struct ulp_reverse *sweep, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !sweep->program->main->slots[step->inputs[i]].constant)
            return true;
    return false;
}

/* The sweeps in which the step is owed something, into course->handed. */
static size_t find_owing(const struct course *course, const struct ulp_step *step)
{
    size_t found = 0;
    for (size_t g = 0; g < course->count && !step->folded; g++)
        if (is_owed(&course->sweep[g], step))
            course->handed[found++] = (struct ulp_handed){.sweep = &course->sweep[g]};
    return found;
}

static enum ulp_status visit_step(struct course *course, const struct ulp_step *step,
                                  struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    struct ulp_handed *handed = course->handed;
    const size_t owing = find_owing(course, step);
    enum ulp_status status = ULP_OK;
    if (owing) {
        for (size_t h = 0; h < owing && status == ULP_OK; h++)
            status = notify_outputs(handed[h].sweep, step, &handed[h].introduced, error);
        if (status == ULP_OK && sweep->told)
            status = sweep->told(sweep->context, step, error);
        if (status == ULP_OK && has_variable(sweep, step))
            status = reverse_step(course, step, handed, owing, error);
        if (sweep->close)
            sweep->close(sweep->context, step);
    }
    for (size_t g = 0; g < course->count && status == ULP_OK && sweep->decided; g++)
        status = sweep->decided(&sweep[g], step, error);
    for (size_t g = 0; g < course->count; g++)
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0) {
                ulp_free(sweep[g].cotangents[step->outputs[o]]);
                sweep[g].cotangents[step->outputs[o]] = NULL;
            }
    return status;
}

enum ulp_status ulp_reverse_run(const struct ulp_reverse *sweeps, size_t count,
                                struct ulp_error *error)
{
    const struct ulp_block *block = sweeps->program->main;
    struct ulp_budget *budget = sweeps->budget;
    struct course course = {.sweep = sweeps,
                            .count = count,
                            .mix = {.count = 1, .items = &course.arithmetic}};
    struct ulp_settled_order settled = {0};
    ULP_TRY(
        ulp_allocate(&course.handed, count, sizeof *course.handed, budget, "cotangents", error));
    enum ulp_status status = ulp_arithmetic_find("fp64", &course.arithmetic, error);
    ULP_THEN(status, ulp_trace_create(&course.trace, budget, sweeps->pool, error));
    ULP_THEN(status,
             ulp_lane_create(&course.lane, &course.mix, block, budget, sweeps->pool, error));
    course.lane.trace = course.trace;
    if (status == ULP_OK)
        ulp_trace_pass_steps(course.trace);
    ULP_THEN(status, ulp_settled_order(block, budget, &settled, error));
    for (size_t s = block->step_count; s-- > 0 && status == ULP_OK;) {
        if (!block->steps[s].settled)
            status = visit_step(&course, &block->steps[s], error);
        for (size_t p = settled.first[s]; p < block->step_count && status == ULP_OK;
             p = settled.next[p])
            status = visit_step(&course, &block->steps[p], error);
    }
    ulp_settled_order_free(&settled);
    if (course.lane.values)
        ulp_lane_free(&course.lane);
    ulp_trace_free(course.trace);
    ulp_free(course.handed);
    return status;
}
