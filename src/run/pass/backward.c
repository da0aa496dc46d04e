#include "run/pass/backward.h"

#include <float.h>
#include <math.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/product/quantize_rows.h"
#include "ops/trace/trace.h"
#include "run/lane.h"
#include "run/pass/amounts.h"
#include "run/pass/cross_steps.h"
#include "run/pass/settled_order.h"
#include "run/pass/weigh.h"

/* Outputs of a node inside a body whose cotangents are reported. */
#define POSITIONS 8

/* The course of sweeps. */
struct course {
    const struct ulp_reverse *sweep; /* `count` of them, with the first one's plan and values */
    size_t count;
    struct handed *handed;            /* room for one of each */
    struct ulp_arithmetic arithmetic; /* fp64 */
    struct ulp_mix mix;
    struct ulp_lane lane; /* for constants only */
    struct ulp_trace *trace;
};

enum ulp_status ulp_reverse_cotangents(const struct ulp_reverse *sweep, int slot, size_t count,
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
    enum ulp_status status = ULP_OK;
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++) {
        const int slot = step->outputs[o];
        if (slot >= 0 && sweep->cotangents[slot])
            status = sweep->node(sweep->context, step->number, 0, (int)o, sweep->cotangents[slot],
                                 sweep->values[slot].count, introduced, error);
    }
    return status;
}

/* A value as names. */
static enum ulp_status name_value(struct course *course, int slot, double at,
                                  struct ulp_tensor *named, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    const float *errors = at != 0 ? sweep->errors[slot] : NULL;
    const enum ulp_status status =
        ulp_trace_name(course->trace, named, &sweep->values[slot], error);
    if (status == ULP_OK && errors)
        ulp_trace_shift(course->trace, named, at, errors);
    return status;
}

static enum ulp_status find_inputs(struct course *course, const struct ulp_step *step, double at,
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
            status = name_value(course, slot, at, &named[i], error);
            in[i] = &named[i];
        }
    }
    return status;
}

static enum ulp_status seed_outputs(struct course *course, const struct ulp_reverse *sweep,
                                    const struct ulp_step *step, const struct ulp_tensor *outputs,
                                    bool *named, struct ulp_error *error)
{
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
static enum ulp_status notify_bodies(struct course *course, const struct ulp_reverse *sweep,
                                     double *introduced, struct ulp_error *error)
{
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
        ulp_trace_cotangents(course->trace, &mark->named, 1, memory);
        status = sweep->node(sweep->context, mark->key, execution, mark->position, memory,
                             mark->named.count, introduced, error);
        ulp_free(memory);
    }
    ulp_free(counts);
    return status;
}

/* ---- one step ---- */

/* What a step hands on to its inputs in one sweep, all points on the way together. */
struct handed {
    const struct ulp_reverse *sweep;
    double **owed; /* by input; NULL: it is no float */
    bool derived;
    /* as shares: what the step introduces, what its inputs' errors make of its results', what is
     * handed on of that */
    double introduced, wanted, carried;
    struct handed *middle; /* of a mean over the way: what derivatives at its middle hand on */
};

/* One sweep's way back over what the trace has recorded. */
static enum ulp_status reverse_sweep(struct course *course, const struct ulp_step *step,
                                     const struct ulp_tensor *named,
                                     const struct ulp_tensor *outputs, double weight, bool bodies,
                                     struct handed *handed, struct ulp_error *error)
{
    bool derived = false;
    enum ulp_status status = seed_outputs(course, handed->sweep, step, outputs, &derived, error);
    if (status == ULP_OK && derived)
        status = ulp_trace_reverse(course->trace, error);
    if (status == ULP_OK && derived && bodies)
        status = notify_bodies(course, handed->sweep, &handed->introduced, error);
    for (size_t i = 0; status == ULP_OK && i < step->input_count; i++) {
        void *owed = handed->owed[i];
        if (!named[i].data)
            continue;
        if (!owed)
            status = ulp_allocate_zero(&owed, named[i].count, sizeof(double), course->sweep->budget,
                                       "cotangents", error);
        handed->owed[i] = owed;
        if (status == ULP_OK && derived)
            ulp_trace_cotangents(course->trace, &named[i], weight, owed);
    }
    handed->derived = derived;
    return status;
}

/* Backwards at one point, the middle and `at` times the error, in `count` sweeps. */
static enum ulp_status reverse_at(struct course *course, const struct ulp_step *step, double at,
                                  double weight, bool bodies, struct handed *handed, size_t count,
                                  struct ulp_error *error)
{
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, course->sweep->budget, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_tensor **in = ulp_arena_take(arena, step->input_count + 1, sizeof *in);
    struct ulp_tensor *named = ulp_arena_take(arena, step->input_count + 1, sizeof *named),
                      *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    status = in && named && outputs ? find_inputs(course, step, at, named, in, error)
                                    : ulp_out_of_memory(error);
    if (status == ULP_OK)
        status = ulp_step_run(step, &course->lane, in, outputs, error);
    for (size_t h = 0; h < count && status == ULP_OK; h++)
        status = reverse_sweep(course, step, named, outputs, weight, bodies, &handed[h], error);
    for (size_t i = 0; named && outputs && i < step->input_count; i++)
        ulp_tensor_free(&named[i]);
    for (size_t o = 0; named && outputs && o < step->output_count; o++)
        ulp_tensor_free(&outputs[o]);
    ulp_trace_clear(course->trace);
    ulp_lane_clear(&course->lane);
    ulp_arena_free(arena);
    return status;
}

/* What is handed on, as shares. */
static double measure_handed(const struct ulp_step *step, const struct handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    double sum = 0;
    for (size_t i = 0; i < step->input_count; i++)
        if (handed->owed[i])
            sum += ulp_weigh_errors(sweep->pool, handed->owed[i], sweep->errors[step->inputs[i]],
                                    sweep->values[step->inputs[i]].count);
    return sum;
}

static void free_handed(const struct ulp_step *step, struct handed *handed)
{
    for (size_t i = 0; handed->owed && i < step->input_count; i++)
        ulp_free(handed->owed[i]);
}

/* A derivative that is infinite (of a root at 0), or that times 0, says nothing of an error: such
 * an element hands nothing on, and what is not explained so is missing at this step alone. */
static void drop_infinite(const struct ulp_step *step, const struct handed *handed)
{
    const struct ulp_tensor *values = handed->sweep->values;
    for (size_t i = 0; i < step->input_count; i++)
        for (size_t e = 0; handed->owed[i] && e < values[step->inputs[i]].count; e++)
            handed->owed[i][e] = fabs(handed->owed[i][e]) <= DBL_MAX ? handed->owed[i][e] : 0;
}

/* A node whose derivative changes on the way between both ends, by so much that it shows (1 is the
 * whole error of the outputs), is gone over at the middles of POINTS parts of the way: the mean of
 * the derivatives times the way is what it carries, also across a kink, but not across a jump. */
#define CURVED 1e-4
#define POINTS 8

static bool is_curved(const struct ulp_step *step, const struct handed *handed)
{
    return handed->sweep->errors && handed->derived && !step->bound.blocks &&
           !ulp_is_quantizer(step->bound.op) && fabs(handed->wanted - handed->carried) > CURVED;
}

static enum ulp_status refine(struct course *course, const struct ulp_step *step,
                              struct ulp_arena *arena, struct handed *handed, size_t count,
                              struct ulp_error *error)
{
    struct handed *means = ulp_arena_take(arena, count, sizeof *means);
    size_t found = 0;
    enum ulp_status status = means ? ULP_OK : ulp_out_of_memory(error);
    for (size_t h = 0; h < count && status == ULP_OK; h++)
        if (is_curved(step, &handed[h])) {
            means[found] = handed[h];
            means[found].middle = &handed[h];
            means[found].owed = ulp_arena_take(arena, step->input_count + 1, sizeof *means->owed);
            if (!means[found++].owed)
                status = ulp_out_of_memory(error);
        }
    for (int p = 0; p < POINTS && found && status == ULP_OK; p++)
        status = reverse_at(course, step, (p + 0.5) / POINTS - 0.5, 1.0 / POINTS, false, means,
                            found, error);
    for (size_t m = 0; m < found; m++) {
        struct handed *middle = means[m].middle;
        if (status == ULP_OK) {
            drop_infinite(step, &means[m]);
            means[m].carried = measure_handed(step, &means[m]);
        }
        if (status == ULP_OK &&
            fabs(middle->wanted - means[m].carried) < fabs(middle->wanted - middle->carried)) {
            double **const before = middle->owed;
            middle->owed = means[m].owed;
            middle->carried = means[m].carried;
            means[m].owed = before;
        }
        free_handed(step, &means[m]);
    }
    return status;
}

static void hand_on(const struct ulp_step *step, struct handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        const double *from = handed->owed[i];
        if (!from)
            continue;
        const size_t count = sweep->values[slot].count;
        bool *passed = &sweep->passed[step->number];
        for (size_t e = 0; e < count && !*passed; e++)
            *passed = from[e] != 0;
        if (!sweep->cotangents[slot]) { /* the first to owe the value something */
            sweep->cotangents[slot] = handed->owed[i];
            handed->owed[i] = NULL;
            continue;
        }
        for (size_t e = 0; e < count; e++)
            sweep->cotangents[slot][e] += from[e];
    }
}

/* Of a Cast of amounts. */
static enum ulp_status copy_cotangents(const struct ulp_step *step, struct handed *handed,
                                       struct ulp_error *error)
{
    const struct ulp_reverse *sweep = handed->sweep;
    const size_t count = sweep->values[step->outputs[0]].count;
    void *owed;
    const enum ulp_status status =
        ulp_allocate(&owed, count, sizeof(double), sweep->budget, "cotangents", error);
    if (status != ULP_OK)
        return status;
    if (count)
        memcpy(owed, sweep->cotangents[step->outputs[0]], count * sizeof(double));
    handed->owed[0] = owed;
    handed->derived = true;
    return ULP_OK;
}

static enum ulp_status weigh_step(const struct ulp_step *step, struct handed *handed,
                                  struct ulp_error *error)
{
    const struct ulp_reverse *sweep = handed->sweep;
    enum ulp_status status = ULP_OK;
    drop_infinite(step, handed);
    if (ulp_is_quantizer(step->bound.op))
        status = ulp_cross_steps(handed->sweep, step, handed->owed[0], error);
    if (status != ULP_OK || !sweep->errors)
        return status;
    handed->wanted = -handed->introduced;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            handed->wanted += ulp_weigh_errors(sweep->pool, sweep->cotangents[step->outputs[o]],
                                               sweep->errors[step->outputs[o]],
                                               sweep->values[step->outputs[o]].count);
    handed->carried = measure_handed(step, handed);
    return ULP_OK;
}

static void finish_step(const struct ulp_step *step, struct handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    for (size_t i = 0; i < step->input_count; i++)
        sweep->stopped[step->number] |= !handed->derived && handed->owed[i];
    if (sweep->errors)
        sweep->remainders[step->number] = handed->wanted - handed->carried;
    hand_on(step, handed);
}

/* handed: of the sweeps in which the step is owed something. */
static enum ulp_status reverse_step(struct course *course, const struct ulp_step *step,
                                    struct handed *handed, size_t count, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    const bool cast = ulp_casts_amounts(sweep->plan->main, step) &&
                      ulp_element_is_float(sweep->values[step->inputs[0]].element);
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, sweep->budget, error);
    if (status != ULP_OK)
        return status;
    for (size_t h = 0; h < count && status == ULP_OK; h++) {
        handed[h].owed = ulp_arena_take(arena, step->input_count + 1, sizeof *handed->owed);
        if (!handed[h].owed)
            status = ulp_out_of_memory(error);
        else if (cast)
            status = copy_cotangents(step, &handed[h], error);
    }
    if (status == ULP_OK && !cast)
        status = reverse_at(course, step, 0, 1, true, handed, count, error);
    for (size_t h = 0; h < count && status == ULP_OK; h++)
        status = weigh_step(step, &handed[h], error);
    if (status == ULP_OK)
        status = refine(course, step, arena, handed, count, error);
    for (size_t h = 0; h < count; h++) {
        if (status == ULP_OK)
            finish_step(step, &handed[h]);
        free_handed(step, &handed[h]);
    }
    ulp_arena_free(arena);
    return status;
}

static bool has_variable(const struct ulp_reverse *sweep, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !sweep->plan->main->slots[step->inputs[i]].constant)
            return true;
    return false;
}

/* The sweeps in which the step is owed something, into course->handed. */
static size_t find_owing(const struct course *course, const struct ulp_step *step)
{
    size_t found = 0;
    for (size_t g = 0; g < course->count && !step->folded; g++)
        if (is_owed(&course->sweep[g], step))
            course->handed[found++] = (struct handed){.sweep = &course->sweep[g]};
    return found;
}

static enum ulp_status visit_step(struct course *course, const struct ulp_step *step,
                                  struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    struct handed *handed = course->handed;
    const size_t owing = find_owing(course, step);
    enum ulp_status status = ULP_OK;
    if (owing) {
        status = sweep->open(sweep->context, step, error);
        for (size_t h = 0; h < owing && status == ULP_OK; h++)
            status = notify_outputs(handed[h].sweep, step, &handed[h].introduced, error);
        if (status == ULP_OK && has_variable(sweep, step))
            status = reverse_step(course, step, handed, owing, error);
        sweep->close(sweep->context, step);
    }
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
    const struct ulp_block *block = sweeps->plan->main;
    struct ulp_budget *budget = sweeps->budget;
    struct course course = {.sweep = sweeps,
                            .count = count,
                            .mix = {.count = 1, .items = &course.arithmetic}};
    struct ulp_settled_order settled = {0};
    void *memory;
    enum ulp_status status =
        ulp_allocate(&memory, count, sizeof *course.handed, budget, "cotangents", error);
    if (status != ULP_OK)
        return status;
    course.handed = memory;
    status = ulp_arithmetic_find("fp64", &course.arithmetic, error);
    if (status == ULP_OK)
        status = ulp_trace_create(&course.trace, budget, sweeps->pool, error);
    if (status == ULP_OK)
        status = ulp_lane_create(&course.lane, &course.mix, block, budget, sweeps->pool, error);
    course.lane.trace = course.trace;
    if (status == ULP_OK)
        ulp_trace_pass_steps(course.trace);
    if (status == ULP_OK)
        status = ulp_settled_order(block, budget, &settled, error);
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
    ulp_free(memory);
    return status;
}
