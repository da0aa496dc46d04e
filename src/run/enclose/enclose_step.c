/* One step: its operator runs on names, and what the gates have bounded is taken. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/function/math.h"
#include "ops/trace/affine.h"
#include "run/enclose/enclosed.h"
#include "run/idiom/idiom_read.h"

/* ---- what a step reads ---- */

enum ulp_status ulp_enclose_widen(struct ulp_enclosing_walk *w, struct ulp_tensor *wide,
                                  const struct ulp_tensor **value)
{
    const struct ulp_tensor *in = *value;
    if (!ulp_element_is_float(in->element) || in->element == ULP_ELEMENT_F64)
        return ULP_OK;
    ULP_TRY(ulp_tensor_create_like(wide, in, ULP_ELEMENT_F64, 0, w->from->budget, w->error));
    *value = wide;
    return ulp_tensor_convert(wide, in, NULL, ULP_ROUND_NEAREST_EVEN, 0, w->from->pool, w->error);
}

enum ulp_status ulp_enclose_constant(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                     size_t i, struct ulp_tensor *wide,
                                     const struct ulp_tensor **out)
{
    ULP_TRY(ulp_lane_input(&w->lane, step, i, NULL, out, w->error));
    return ulp_enclose_widen(w, wide, out);
}

/* Does the operator's formula compute with its input i? What it lays out by it (the axes of a
 * ReduceSum) is no operand. */
static bool computes_with(const struct ulp_bound *bound, size_t i)
{
    for (int n = 0; n < bound->tape->instruction_count; n++)
        if (bound->tape->instructions[n].kind == ULP_TAPE_OPERAND &&
            (size_t)bound->tape->instructions[n].index == i)
            return true;
    return false;
}

/* Integers and truth values that are not known: as floats where the operator only hands elements
 * on, under their own type where its formula computes with them. */
static bool may_be_named(const struct ulp_step *step, size_t i, enum ulp_type type)
{
    const struct ulp_bound *bound = &step->bound;
    if (ulp_type_is_float(type) || (bound->op->formula && computes_with(bound, i)))
        return true;
    return !bound->op->formula && i < bound->input_slot_count && bound->inputs[i].kind != 'i' &&
           bound->inputs[i].kind != 'b' && bound->op->work == ULP_WORK_MOVE &&
           !(i == 1 && ulp_step_is(step, "CastLike")); /* whose type it takes */
}

/* The slot that the lane reads as the step's input i. */
static int slot_of(const struct ulp_enclosing_walk *w, const struct ulp_step *step, size_t i)
{
    return ulp_step_slot(step, i, ulp_enclose_computes(w, step), NULL);
}

/* A value that the step reads twice has one name: x * x. */
static bool share_input(const struct ulp_enclosing_walk *w, const struct ulp_step *step, size_t i,
                        const struct ulp_tensor *named, const struct ulp_tensor **in)
{
    for (size_t j = 0; j < i; j++)
        if (slot_of(w, step, j) == slot_of(w, step, i) && named[j].data && in[j] == &named[j]) {
            in[i] = in[j];
            return true;
        }
    return false;
}

static enum ulp_status read_input(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                  size_t i, struct ulp_tensor *named, const struct ulp_tensor **out)
{
    const int slot = step->inputs[i];
    *out = NULL;
    if (slot < 0)
        return ULP_OK;
    if (w->block->slots[slot].constant)
        return ulp_enclose_constant(w, step, i, named, out);
    const struct ulp_slot_bounds *value = &w->values[slot];
    *out = &value->numbers;
    if (value->is_numbers)
        return ULP_OK;
    if (!value->is_range)
        return ulp_fail(w->error, ULP_ERROR_UNSUPPORTED, "the shape of '%s' is not known",
                        w->block->slots[slot].name);
    struct ulp_tensor shape = value->shape;
    if (!may_be_named(step, i, shape.type))
        return ulp_fail(w->error, ULP_ERROR_UNSUPPORTED,
                        "what it does depends on the integers '%s', which are not known",
                        w->block->slots[slot].name);
    if (!step->bound.op->formula && !ulp_type_is_float(shape.type))
        shape.type = ULP_TYPE_FLOAT;
    *out = named;
    return ulp_trace_name_enclosure(w->trace, named, &shape, &value->range, w->error);
}

/* ---- what a step gives ---- */

/* Numbers that no gate has made: constants of the node itself, as they are and as they are
 * lowered (also the -infinity of a window beside its input, which not every format has); and
 * integers that a Cast has made floats, which no lane saturates. */
static void store_numbers(const struct ulp_enclosing_walk *w, const struct ulp_step *step,
                          const struct ulp_tensor *named, const struct ulp_enclosure *range)
{
    const double most = w->arithmetic->storage.max_finite;
    const bool saturates = w->arithmetic->constants != ULP_CONSTANTS_IEEE &&
                           ulp_step_is(step, "ConstantOfShape") && !ulp_enclose_is_inside(w, step);
    for (size_t i = 0; i < range->count; i++) {
        if (!ulp_trace_is_number(((const double *)named->data)[i]))
            continue;
        if (saturates && !range->at.may[i] && fabs(range->at.lo[i]) > most)
            range->at.lo[i] = range->at.hi[i] = copysign(most, range->at.lo[i]);
        ulp_interval_store(w->arithmetic, &w->arithmetic->storage, &range->at, i);
    }
}

void ulp_enclose_store_kernel(const struct ulp_enclosing_walk *w, struct ulp_enclosure *range)
{
    const struct ulp_format *format = &w->arithmetic->storage;
    const double u = ldexp(1, 1 - format->precision), tiny = ldexp(1, format->emin);
    for (size_t i = 0; i < range->count; i++) {
        ulp_interval_store(w->arithmetic, format, &range->at, i);
        if (range->affine && range->at.may[i])
            range->affine[i].rest = INFINITY;
        else if (range->affine)
            ulp_affine_store(&range->affine[i], format);
        if (range->joint[i] == ULP_NO_JOINT)
            continue;
        struct ulp_joint *joint = &range->joints[range->joint[i]];
        joint->l1 += tiny;
        joint->l2 += tiny;
    }
    for (size_t j = 0; j < range->joint_count; j++) {
        range->joints[j].l1 *= 1 + u;
        range->joints[j].l2 *= 1 + u;
    }
}

static enum ulp_status take_output(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                   size_t o, struct ulp_tensor *output)
{
    struct ulp_slot_bounds *value = &w->values[step->outputs[o]];
    const enum ulp_type declared = w->block->slots[step->outputs[o]].shape.type;
    value->shape = ulp_tensor_view(output);
    value->shape.data = NULL;
    if (declared != ULP_TYPE_UNDEFINED)
        value->shape.type = declared;
    if (output->element == ULP_ELEMENT_F64) {
        ULP_TRY(ulp_trace_take_enclosure(w->trace, output, &value->range, w->error));
        value->is_range = true;
        store_numbers(w, step, output, &value->range);
        if (ulp_enclose_is_inside(w, step))
            ulp_enclose_store_kernel(w, &value->range);
    } else if (ulp_trace_has_unknown_integers(w->trace)) {
        return ulp_bounds_set_unknown(w, value);
    } else {
        value->numbers = *output;
        value->is_numbers = true;
        *output = (struct ulp_tensor){0};
    }
    return ULP_OK;
}

/* Operators whose results are elements of their float inputs, or zeros, whatever their integers
 * and comparisons are. */
static const char choosing[] =
    "Compress Expand Gather GatherElements GatherND MaxPool MaxUnpool OneHot Pad ReverseSequence "
    "Scatter ScatterElements ScatterND Slice Tile TensorScatter TopK Unique MaxRoiPool Identity";

/* Windows that lie beside the input or whose elements do: the largest of none is -infinity. */
static bool may_have_empty_windows(const struct ulp_step *step)
{
    const struct ulp_attribute *pads = ulp_node_attribute(step->bound.node, "pads"),
                               *kernel = ulp_node_attribute(step->bound.node, "kernel_shape"),
                               *dilations = ulp_node_attribute(step->bound.node, "dilations"),
                               *ceils = ulp_node_attribute(step->bound.node, "ceil_mode");
    for (size_t d = 0; dilations && d < dilations->count; d++)
        if (dilations->ints[d] != 1)
            return true;
    for (size_t p = 0; pads && p < pads->count; p++)
        if (pads->ints[p] > 0 &&
            (!kernel || !kernel->count || pads->ints[p] >= kernel->ints[p % kernel->count]))
            return true;
    return ceils && ceils->i;
}

/* Of the scattering ones those that replace elements alone: a sum or product of two is none. */
static bool only_chooses(const struct ulp_step *step)
{
    const struct ulp_attribute *reduction = ulp_node_attribute(step->bound.node, "reduction");
    if (reduction && reduction->s && strcmp(reduction->s, "none") != 0)
        return false;
    if (ulp_step_is(step, "MaxPool") && may_have_empty_windows(step))
        return false;
    return ulp_is_word(step->bound.op->name, choosing);
}

static void widen(struct ulp_intervals *hull, const struct ulp_intervals *x, size_t i)
{
    hull->lo[0] = ulp_math_min(hull->lo[0], x->lo[i]);
    hull->hi[0] = ulp_math_max(hull->hi[0], x->hi[i]);
    hull->may[0] |= x->may[i];
}

/* The hull of the step's float inputs and 0. */
static enum ulp_status find_hull(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                 struct ulp_intervals *hull)
{
    ulp_interval_set(hull, 0, 0, 0, 0);
    for (size_t i = 0; i < step->own_input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || !ulp_type_is_float(w->block->slots[slot].shape.type))
            continue;
        if (w->block->slots[slot].constant) {
            ULP_SCOPED(ulp_tensor_free) struct ulp_tensor wide = {0};
            const struct ulp_tensor *value;
            double lo, hi;
            uint8_t may;
            struct ulp_intervals point = {&lo, &hi, &may};
            ULP_TRY(ulp_enclose_constant(w, step, i, &wide, &value));
            for (size_t e = 0; e < value->count; e++) {
                ulp_interval_set_element(&point, 0, value, e);
                widen(hull, &point, 0);
            }
        } else if (w->values[slot].is_range) {
            for (size_t e = 0; e < w->values[slot].range.count; e++)
                widen(hull, &w->values[slot].range.at, e);
        } else {
            hull->may[0] |= ULP_MAY_BE_ANYTHING;
        }
    }
    /* a table is read as the model has it, and what is taken of it lowered */
    ulp_interval_store(w->arithmetic, &w->arithmetic->storage, hull, 0);
    return ULP_OK;
}

/* The step could not be followed: what is known of its results all the same. */
enum ulp_status ulp_enclose_give_up(struct ulp_enclosing_walk *w, const struct ulp_step *step)
{
    double lo, hi;
    uint8_t may;
    struct ulp_intervals hull = {&lo, &hi, &may};
    const bool chooses = only_chooses(step);
    ULP_TRY(chooses ? find_hull(w, step, &hull) : ULP_OK);
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (slot < 0)
            continue;
        struct ulp_slot_bounds *value = &w->values[slot];
        ulp_bounds_free(value);
        value->shape = w->block->slots[slot].shape;
        if (value->shape.type == ULP_TYPE_UNDEFINED)
            continue;
        ULP_TRY(chooses && ulp_type_is_float(value->shape.type)
                    ? ulp_bounds_set_hull(w, value, lo, hi, may)
                    : ulp_bounds_set_unknown(w, value));
    }
    return ULP_OK;
}

/* ---- running ---- */

static enum ulp_status fail_shape(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                    "the shape of its result depends on values that are not known");
}

/* The shapes of the step's results, found without what is not known of its inputs: an operator that
 * finds none would take names for numbers (Range, OneHot's depth, the size of a window). */
static enum ulp_status infer_results(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                     const struct ulp_tensor *const *in,
                                     const struct ulp_tensor *named, struct ulp_tensor *results,
                                     struct ulp_arena *arena)
{
    const struct ulp_tensor **known = ulp_arena_take(arena, step->input_count + 1, sizeof *known);
    struct ulp_tensor *views = ulp_arena_take(arena, step->input_count + 1, sizeof *views);
    bool unknown = false;
    ULP_TRY(ulp_taken(known && views, w->error));
    for (size_t i = 0; i < step->input_count; i++) {
        known[i] = in[i];
        if (!in[i] || in[i] < named || in[i] >= named + step->input_count ||
            w->block->slots[step->inputs[i]].constant)
            continue;
        const struct ulp_tensor *value = w->block->slots[step->inputs[i]].known;
        views[i] = ulp_tensor_view(value ? value : in[i]);
        if (!value)
            views[i].data = NULL, unknown = true;
        known[i] = &views[i];
    }
    struct ulp_call call = {.bound = &step->bound,
                            .arithmetic = ulp_lane_arithmetic(&w->names, step),
                            .input_count =
                                step->bound.blocks ? step->input_count : step->own_input_count,
                            .output_count = step->output_count,
                            .in = known,
                            .out = results,
                            .scratch = arena,
                            .budget = w->from->budget,
                            .pool = w->from->pool};
    ULP_TRY(ulp_call_infer(&call, w->error));
    for (size_t o = 0; o < step->output_count && unknown; o++)
        if (step->outputs[o] >= 0 && results[o].type == ULP_TYPE_UNDEFINED)
            ULP_TRY(fail_shape(w->error));
    return ULP_OK;
}

static enum ulp_status run_on_names(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                    const struct ulp_tensor *const *in,
                                    const struct ulp_tensor *named, struct ulp_tensor *outputs,
                                    struct ulp_arena *arena)
{
    ULP_TAKE_ARRAY(struct ulp_tensor, results, arena, step->output_count + 1, w->error);
    enum ulp_status status = infer_results(w, step, in, named, results, arena);
    ULP_THEN(status, ulp_step_run(step, &w->names, in, outputs, w->error));
    /* memory that was short is the reason, whatever came of it */
    if (status == ULP_OK || ulp_trace_enclosed(w->trace, NULL) != ULP_OK)
        status = ulp_trace_enclosed(w->trace, w->error);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        if (step->outputs[o] >= 0 && results[o].type != ULP_TYPE_UNDEFINED &&
            !ulp_tensor_same_shape(&outputs[o], &results[o]))
            status = fail_shape(w->error);
    return status;
}

enum ulp_status ulp_enclose_run_step(struct ulp_enclosing_walk *w, const struct ulp_step *step)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, w->from->budget, w->error));
    ULP_TAKE_ARRAY(const struct ulp_tensor *, in, arena, step->input_count + 1, w->error);
    ULP_TAKE_ARRAY(struct ulp_tensor, named, arena, step->input_count + 1, w->error);
    ULP_TAKE_ARRAY(struct ulp_tensor, outputs, arena, step->output_count + 1, w->error);
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        if (!share_input(w, step, i, named, in))
            status = read_input(w, step, i, &named[i], &in[i]);
    ULP_THEN(status, run_on_names(w, step, in, named, outputs, arena));
    /* a formula's own outputs may be unknown integers; what a run function does by them is not */
    if (status == ULP_OK && ulp_trace_has_unknown_integers(w->trace) && !step->bound.op->formula &&
        !step->bound.op->hands_integers)
        status = ulp_fail(w->error, ULP_ERROR_UNSUPPORTED,
                          "what it does depends on integers that are not known");
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        if (step->outputs[o] >= 0)
            status = take_output(w, step, o, &outputs[o]);
    ulp_tensors_free(named, step->input_count);
    ulp_tensors_free(outputs, step->output_count);
    return status;
}
