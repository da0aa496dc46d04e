#include "run/pass/backward.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "base/error.h"
#include "ops/product/quantize_rows.h"
#include "ops/trace/trace.h"
#include "run/lane.h"
#include "run/pass/amounts.h"
#include "run/pass/settled_order.h"

/* Outputs of a node inside a body whose cotangents are reported. */
#define POSITIONS 8

/* The course of a sweep. */
struct course {
    const struct ulp_reverse *sweep;
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

/* A value as names: converted to FP64 on the way. */
static enum ulp_status name_value(struct course *course, int slot, double at,
                                  struct ulp_tensor *named, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    const struct ulp_tensor *value = &sweep->values[slot];
    const float *errors = at != 0 ? sweep->errors[slot] : NULL;
    struct ulp_tensor wide;
    enum ulp_status status = ulp_tensor_describe(&wide, value->type, ULP_ELEMENT_F64, 0,
                                                 value->rank, value->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(&wide, sweep->budget, error);
    if (status != ULP_OK)
        return status;
    status = ulp_tensor_convert(&wide, value, NULL, ULP_ROUND_NEAREST_EVEN, 0, sweep->pool, error);
    for (size_t i = 0; status == ULP_OK && errors && i < wide.count; i++)
        ((double *)wide.data)[i] += at * (double)errors[i];
    if (status == ULP_OK)
        status = ulp_trace_name(course->trace, named, &wide, error);
    ulp_tensor_free(&wide);
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

static enum ulp_status seed_outputs(struct course *course, const struct ulp_step *step,
                                    const struct ulp_tensor *outputs, bool *named,
                                    struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
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
static enum ulp_status notify_bodies(struct course *course, double *introduced,
                                     struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
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

/* What a step hands on to its inputs, all points on the way together. */
struct handed {
    double **owed; /* by input; NULL: it is no float */
    bool derived;
};

static double multiply(const double *cotangents, const float *errors, size_t count)
{
    double sum = 0;
    for (size_t i = 0; cotangents && errors && i < count; i++)
        sum += cotangents[i] * (double)errors[i];
    return sum;
}

/* Backwards at one point: the middle and `at` times the error. */
static enum ulp_status reverse_at(struct course *course, const struct ulp_step *step, double at,
                                  double weight, struct handed *handed, double *introduced,
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
    status = in && named && outputs ? find_inputs(course, step, at, named, in, error)
                                    : ulp_out_of_memory(error);
    if (status == ULP_OK)
        status = ulp_step_run(step, &course->lane, in, outputs, error);
    if (status == ULP_OK)
        status = seed_outputs(course, step, outputs, &derived, error);
    if (status == ULP_OK && derived)
        status = ulp_trace_reverse(course->trace, error);
    if (status == ULP_OK && derived && introduced)
        status = notify_bodies(course, introduced, error);
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
static double measure_handed(const struct ulp_reverse *sweep, const struct ulp_step *step,
                             const struct handed *handed)
{
    double sum = 0;
    for (size_t i = 0; i < step->input_count; i++)
        if (handed->owed[i])
            sum += multiply(handed->owed[i], sweep->errors[step->inputs[i]],
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
static void drop_infinite(const struct ulp_reverse *sweep, const struct ulp_step *step,
                          const struct handed *handed)
{
    for (size_t i = 0; i < step->input_count; i++)
        for (size_t e = 0; handed->owed[i] && e < sweep->values[step->inputs[i]].count; e++)
            if (!isfinite(handed->owed[i][e]))
                handed->owed[i][e] = 0;
}

/* A node whose derivative changes on the way between both ends, by so much that it shows (1 is the
 * whole error of the outputs), is gone over at the middles of POINTS parts of the way: the mean of
 * the derivatives times the way is what it carries, also across a kink, but not across a jump. */
#define CURVED 1e-4
#define POINTS 8

static enum ulp_status refine(struct course *course, const struct ulp_step *step,
                              struct ulp_arena *arena, double wanted, struct handed *handed,
                              double *explained, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    struct handed mean = {.owed = ulp_arena_take(arena, step->input_count + 1, sizeof *mean.owed)};
    if (!mean.owed)
        return ulp_out_of_memory(error);
    enum ulp_status status = ULP_OK;
    for (int p = 0; p < POINTS && status == ULP_OK; p++)
        status =
            reverse_at(course, step, (p + 0.5) / POINTS - 0.5, 1.0 / POINTS, &mean, NULL, error);
    if (status == ULP_OK)
        drop_infinite(sweep, step, &mean);
    const double by_mean = status == ULP_OK ? measure_handed(sweep, step, &mean) : 0;
    if (status == ULP_OK && fabs(wanted - by_mean) < fabs(wanted - *explained)) {
        *explained = by_mean;
        const struct handed before = *handed;
        handed->owed = mean.owed;
        mean.owed = before.owed;
    }
    free_handed(step, &mean);
    return status;
}

/* The least and the largest amount of a type. */
static enum ulp_status find_limits(enum ulp_type type, double *low, double *high,
                                   struct ulp_error *error)
{
    struct ulp_format format;
    if (!ulp_type_is_float(type)) {
        ulp_integer_range(type, low, high);
        return ULP_OK;
    }
    const enum ulp_status status = ulp_format_find(ulp_type_rows[type].format, &format, error);
    *high = status == ULP_OK ? format.max_finite : INFINITY;
    *low = -*high;
    return status;
}

/* Quantised amounts: an error of a step and more is handed on by the slope of the chord between
 * both ends, clipping included. Smaller ones cross a step by chance, with the derivative of the
 * scale on average, where the amounts are not at the end of their type; all together they hand on
 * no more than was crossed, and the rest of that is a decision. */
static enum ulp_status cross_steps(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                   const struct handed *handed, struct ulp_error *error)
{
    const int in = step->inputs[0], out = step->outputs[0];
    const float *way = sweep->errors ? sweep->errors[in] : NULL,
                *crossed = sweep->errors ? sweep->errors[out] : NULL, *introduced = NULL,
                *amounts = sweep->values[out].data;
    const double *cotangents = sweep->cotangents[out];
    const size_t count = sweep->values[in].count;
    double *owed = handed->owed[0], low, high, passed = 0, passes = 0;
    if (!owed || !cotangents || !amounts || sweep->values[out].element != ULP_ELEMENT_F32)
        return ULP_OK;
    enum ulp_status status =
        find_limits(sweep->plan->main->slots[out].shape.type, &low, &high, error);
    if (status == ULP_OK && way && crossed)
        status = sweep->introduced(sweep->context, step, &introduced, error);
    for (int pass = 0; pass < 2 && status == ULP_OK; pass++)
        for (size_t i = 0; i < count; i++) {
            const double steps = way ? (double)way[i] : 0,
                         carried = (crossed ? (double)crossed[i] : 0) -
                                   (introduced ? (double)introduced[i] : 0);
            if (steps != 0 && fabs(owed[i] * steps) >= fabs(cotangents[i])) {
                owed[i] = pass ? cotangents[i] * carried / steps : owed[i];
            } else if (pass) {
                owed[i] *=
                    way && passes != 0 ? ulp_math_max(0, ulp_math_min(1, passed / passes)) : 1;
            } else {
                if ((double)amounts[i] <= low || (double)amounts[i] >= high)
                    owed[i] = 0;
                passes += owed[i] * steps;
                passed += cotangents[i] * carried;
            }
        }
    return status;
}

static enum ulp_status hand_on(const struct ulp_reverse *sweep, const struct ulp_step *step,
                               struct handed *handed, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++) {
        double *owed;
        const size_t count = handed->owed[i] ? sweep->values[step->inputs[i]].count : 0;
        if (!handed->owed[i])
            continue;
        for (size_t e = 0; e < count && !sweep->passed[step->number]; e++)
            sweep->passed[step->number] = handed->owed[i][e] != 0;
        if (!sweep->cotangents[step->inputs[i]]) {
            sweep->cotangents[step->inputs[i]] = handed->owed[i];
            handed->owed[i] = NULL;
            continue;
        }
        status = ulp_reverse_cotangents(sweep, step->inputs[i], count, &owed, error);
        for (size_t e = 0; status == ULP_OK && e < count; e++)
            owed[e] += handed->owed[i][e];
    }
    return status;
}

/* Of a Cast of amounts. */
static enum ulp_status copy_cotangents(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                       struct handed *handed, struct ulp_error *error)
{
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

/* introduced: of the step's own outputs. */
static enum ulp_status reverse_step(struct course *course, const struct ulp_step *step,
                                    double introduced, struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, sweep->budget, error);
    if (status != ULP_OK)
        return status;
    struct handed handed = {.owed =
                                ulp_arena_take(arena, step->input_count + 1, sizeof *handed.owed)};
    const bool cast = ulp_casts_amounts(sweep->plan->main, step) &&
                      ulp_element_is_float(sweep->values[step->inputs[0]].element);
    double entire = 0, wanted = 0, explained = 0;
    for (size_t o = 0; sweep->errors && o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            entire += multiply(sweep->cotangents[step->outputs[o]], sweep->errors[step->outputs[o]],
                               sweep->values[step->outputs[o]].count);
    status = !handed.owed ? ulp_out_of_memory(error)
             : cast       ? copy_cotangents(sweep, step, &handed, error)
                          : reverse_at(course, step, 0, 1, &handed, &introduced, error);
    if (status == ULP_OK)
        drop_infinite(sweep, step, &handed);
    if (status == ULP_OK && ulp_is_quantizer(step->bound.op))
        status = cross_steps(sweep, step, &handed, error);
    if (status == ULP_OK && sweep->errors) {
        wanted = entire - introduced;
        explained = measure_handed(sweep, step, &handed);
        if (handed.derived && !step->bound.blocks && !ulp_is_quantizer(step->bound.op) &&
            fabs(wanted - explained) > CURVED)
            status = refine(course, step, arena, wanted, &handed, &explained, error);
    }
    for (size_t i = 0; status == ULP_OK && i < step->input_count; i++)
        sweep->stopped[step->number] |= !handed.derived && handed.owed[i];
    if (status == ULP_OK && sweep->errors)
        sweep->remainders[step->number] = wanted - explained;
    if (status == ULP_OK)
        status = hand_on(sweep, step, &handed, error);
    free_handed(step, &handed);
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

static enum ulp_status visit_step(struct course *course, const struct ulp_step *step,
                                  struct ulp_error *error)
{
    const struct ulp_reverse *sweep = course->sweep;
    enum ulp_status status = ULP_OK;
    if (!step->folded && is_owed(sweep, step)) {
        double introduced = 0;
        status = sweep->open(sweep->context, step, error);
        if (status == ULP_OK)
            status = notify_outputs(sweep, step, &introduced, error);
        if (status == ULP_OK && has_variable(sweep, step))
            status = reverse_step(course, step, introduced, error);
        sweep->close(sweep->context, step);
    }
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0) {
            ulp_free(sweep->cotangents[step->outputs[o]]);
            sweep->cotangents[step->outputs[o]] = NULL;
        }
    return status;
}

enum ulp_status ulp_reverse_run(const struct ulp_reverse *sweep, struct ulp_error *error)
{
    const struct ulp_block *block = sweep->plan->main;
    struct course course = {.sweep = sweep, .mix = {.count = 1, .items = &course.arithmetic}};
    struct ulp_settled_order settled = {0};
    enum ulp_status status = ulp_arithmetic_find("fp64", &course.arithmetic, error);
    if (status == ULP_OK)
        status = ulp_trace_create(&course.trace, sweep->budget, sweep->pool, error);
    if (status == ULP_OK)
        status =
            ulp_lane_create(&course.lane, &course.mix, block, sweep->budget, sweep->pool, error);
    course.lane.trace = course.trace;
    if (status == ULP_OK)
        ulp_trace_pass_steps(course.trace);
    if (status == ULP_OK)
        status = ulp_settled_order(block, sweep->budget, &settled, error);
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
    return status;
}
