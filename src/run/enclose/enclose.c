#include "run/enclose/enclose.h"

#include <math.h>

#include "base/error.h"
#include "run/enclose/enclosed.h"

/* ---- values ---- */

static void free_value(struct ulp_slot_bounds *value)
{
    ulp_tensor_free(&value->numbers);
    ulp_enclosure_free(&value->range);
    *value = (struct ulp_slot_bounds){0};
}

static enum ulp_status set_hull(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                double lo, double hi, uint8_t may, struct ulp_error *error)
{
    const enum ulp_status status =
        ulp_enclosure_create(&out->range, out->shape.count, 0, w->from->budget, error);
    for (size_t i = 0; status == ULP_OK && i < out->shape.count; i++)
        ulp_interval_set(&out->range.at, i, lo, hi, may);
    out->is_range = status == ULP_OK;
    return status;
}

/* Nothing is known of a value but perhaps its shape: truth values are 0 or 1, integers anything. */
static enum ulp_status set_unknown(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *out,
                                   struct ulp_error *error)
{
    if (out->shape.type == ULP_TYPE_UNDEFINED)
        return ULP_OK;
    if (out->shape.type == ULP_TYPE_BOOL)
        return set_hull(w, out, 0, 1, 0, error);
    if (!ulp_type_is_float(out->shape.type))
        return set_hull(w, out, -0x1p63, 0x1p64, 0, error);
    return set_hull(w, out, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING, error);
}

/* ---- what a step reads ---- */

/* A constant as the lane has it, in doubles. */
static enum ulp_status read_constant(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                     size_t i, struct ulp_tensor *wide,
                                     const struct ulp_tensor **out, struct ulp_error *error)
{
    const struct ulp_tensor *value;
    enum ulp_status status = ulp_lane_input(&w->lane, step, i, NULL, &value, error);
    *out = value;
    if (status != ULP_OK || !ulp_element_is_float(value->element) ||
        value->element == ULP_ELEMENT_F64)
        return status;
    status =
        ulp_tensor_describe(wide, value->type, ULP_ELEMENT_F64, 0, value->rank, value->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(wide, w->from->budget, error);
    if (status == ULP_OK)
        status =
            ulp_tensor_convert(wide, value, NULL, ULP_ROUND_NEAREST_EVEN, 0, w->from->pool, error);
    *out = wide;
    return status;
}

/* Integers and truth values that are not known: as floats where the operator only hands elements
 * on, under their own type where it is a formula. */
static bool may_be_named(const struct ulp_step *step, size_t i, enum ulp_type type)
{
    const struct ulp_bound *bound = &step->bound;
    if (ulp_type_is_float(type) || bound->op->formula)
        return true;
    return i < bound->input_slot_count && bound->inputs[i].kind != 'i' &&
           bound->inputs[i].kind != 'b' && bound->op->work == ULP_WORK_MOVE;
}

/* A value that the step reads twice has one name: x * x. */
static bool share_input(const struct ulp_step *step, size_t i, const struct ulp_tensor *named,
                        const struct ulp_tensor **in)
{
    for (size_t j = 0; j < i; j++)
        if (step->inputs[j] == step->inputs[i] && named[j].data && in[j] == &named[j]) {
            in[i] = in[j];
            return true;
        }
    return false;
}

static enum ulp_status read_input(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                  size_t i, struct ulp_tensor *named, const struct ulp_tensor **out,
                                  struct ulp_error *error)
{
    const int slot = step->inputs[i];
    *out = NULL;
    if (slot < 0)
        return ULP_OK;
    if (w->block->slots[slot].constant)
        return read_constant(w, step, i, named, out, error);
    const struct ulp_slot_bounds *value = &w->values[slot];
    *out = &value->numbers;
    if (value->is_numbers)
        return ULP_OK;
    if (!value->is_range)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "the shape of '%s' is not known",
                        w->block->slots[slot].name);
    struct ulp_tensor shape = value->shape;
    if (!may_be_named(step, i, shape.type))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "what it does depends on the integers '%s', which are not known",
                        w->block->slots[slot].name);
    if (!step->bound.op->formula && !ulp_type_is_float(shape.type))
        shape.type = ULP_TYPE_FLOAT;
    *out = named;
    return ulp_trace_name_enclosure(w->trace, named, &shape, &value->range, error);
}

/* ---- what a step gives ---- */

/* Numbers that no gate has made: constants of the node itself, as they are and as they are
 * lowered. */
static void store_numbers(const struct ulp_enclosing_walk *w, const struct ulp_tensor *named,
                          const struct ulp_enclosure *range)
{
    const double most = w->arithmetic->storage.max_finite;
    const bool saturates = w->arithmetic->constants != ULP_CONSTANTS_IEEE;
    for (size_t i = 0; i < range->count; i++) {
        if (!ulp_trace_is_number(((const double *)named->data)[i]) || range->at.may[i])
            continue;
        if (saturates && fabs(range->at.lo[i]) > most)
            range->at.lo[i] = range->at.hi[i] = copysign(most, range->at.lo[i]);
        ulp_interval_store(w->arithmetic, &w->arithmetic->storage, &range->at, i);
    }
}

static enum ulp_status take_output(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                   size_t o, struct ulp_tensor *output, struct ulp_error *error)
{
    struct ulp_slot_bounds *value = &w->values[step->outputs[o]];
    const enum ulp_type declared = w->block->slots[step->outputs[o]].shape.type;
    enum ulp_status status = ULP_OK;
    value->shape = ulp_tensor_view(output);
    value->shape.data = NULL;
    if (declared != ULP_TYPE_UNDEFINED)
        value->shape.type = declared;
    if (output->element == ULP_ELEMENT_F64) {
        status = ulp_trace_take_enclosure(w->trace, output, &value->range, error);
        value->is_range = status == ULP_OK;
        if (status == ULP_OK)
            store_numbers(w, output, &value->range);
    } else if (ulp_trace_has_unknown_integers(w->trace)) {
        status = set_unknown(w, value, error);
    } else {
        value->numbers = *output;
        value->is_numbers = true;
        *output = (struct ulp_tensor){0};
    }
    return status;
}

/* Operators whose results are elements of their float inputs, or zeros, whatever their integers
 * and comparisons are. */
static const char *const choosing[] = {"Compress",        "Expand",   "Gather",
                                       "GatherElements",  "GatherND", "MaxPool",
                                       "MaxUnpool",       "OneHot",   "Pad",
                                       "ReverseSequence", "Scatter",  "ScatterElements",
                                       "ScatterND",       "Slice",    "Tile",
                                       "TensorScatter",   "TopK",     "Unique",
                                       "MaxRoiPool",      "Identity"};

static bool only_chooses(const struct ulp_step *step)
{
    for (size_t c = 0; c < sizeof choosing / sizeof *choosing; c++)
        if (strcmp(step->bound.op->name, choosing[c]) == 0)
            return true;
    return false;
}

static void widen(struct ulp_intervals *hull, const struct ulp_intervals *x, size_t i)
{
    hull->lo[0] = fmin(hull->lo[0], x->lo[i]);
    hull->hi[0] = fmax(hull->hi[0], x->hi[i]);
    hull->may[0] |= x->may[i];
}

/* The hull of the step's float inputs and 0. */
static enum ulp_status find_hull(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                 struct ulp_intervals *hull, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    ulp_interval_set(hull, 0, 0, 0, 0);
    for (size_t i = 0; i < step->own_input_count && status == ULP_OK; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || !ulp_type_is_float(w->block->slots[slot].shape.type))
            continue;
        if (w->block->slots[slot].constant) {
            struct ulp_tensor wide = {0};
            const struct ulp_tensor *value;
            double lo, hi;
            uint8_t may;
            struct ulp_intervals point = {&lo, &hi, &may};
            status = read_constant(w, step, i, &wide, &value, error);
            for (size_t e = 0; status == ULP_OK && e < value->count; e++) {
                ulp_interval_set_point(&point, 0, ulp_tensor_get(value, e));
                widen(hull, &point, 0);
            }
            ulp_tensor_free(&wide);
        } else if (w->values[slot].is_range) {
            for (size_t e = 0; e < w->values[slot].range.count; e++)
                widen(hull, &w->values[slot].range.at, e);
        } else {
            hull->may[0] |= ULP_MAY_BE_ANYTHING;
        }
    }
    return status;
}

/* The step could not be followed: what is known of its results all the same. */
static enum ulp_status give_up(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                               struct ulp_error *error)
{
    double lo, hi;
    uint8_t may;
    struct ulp_intervals hull = {&lo, &hi, &may};
    const bool chooses = only_chooses(step);
    enum ulp_status status = chooses ? find_hull(w, step, &hull, error) : ULP_OK;
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++) {
        const int slot = step->outputs[o];
        if (slot < 0)
            continue;
        struct ulp_slot_bounds *value = &w->values[slot];
        free_value(value);
        value->shape = w->block->slots[slot].shape;
        if (value->shape.type == ULP_TYPE_UNDEFINED)
            continue;
        status = chooses && ulp_type_is_float(value->shape.type)
                     ? set_hull(w, value, lo, hi, may, error)
                     : set_unknown(w, value, error);
    }
    return status;
}

/* ---- the walk ---- */

static enum ulp_status run_step(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                struct ulp_error *error)
{
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, w->from->budget, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_tensor **in = ulp_arena_take(arena, step->input_count + 1, sizeof *in);
    struct ulp_tensor *named = ulp_arena_take(arena, step->input_count + 1, sizeof *named),
                      *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    if (!in || !named || !outputs)
        status = ulp_fail_memory(error, "out of memory");
    if (status == ULP_OK && step->bound.blocks)
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its bodies are not followed");
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        if (!share_input(step, i, named, in))
            status = read_input(w, step, i, &named[i], &in[i], error);
    if (status == ULP_OK)
        status = ulp_step_run(step, &w->names, in, outputs, error);
    /* a formula's own outputs may be unknown integers; what a run function does by them is not */
    if (status == ULP_OK && ulp_trace_has_unknown_integers(w->trace) && !step->bound.op->formula)
        status = ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                          "what it does depends on integers that are not known");
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        if (step->outputs[o] >= 0)
            status = take_output(w, step, o, &outputs[o], error);
    for (size_t i = 0; named && outputs && i < step->input_count; i++)
        ulp_tensor_free(&named[i]);
    for (size_t o = 0; named && outputs && o < step->output_count; o++)
        ulp_tensor_free(&outputs[o]);
    ulp_arena_free(arena);
    return status;
}

/* Where a value is unknown it is taken as finite from here on, so that what follows from this node
 * alone is told apart from what is wrong by itself. */
static void assume_finite(const struct ulp_enclosing_walk *w, struct ulp_slot_bounds *value)
{
    const double most = w->arithmetic->storage.max_finite;
    for (size_t i = 0; value->is_range && i < value->range.count; i++)
        if (value->range.at.may[i] & ULP_MAY_BE_ANYTHING) {
            ulp_interval_set(&value->range.at, i, -most, most, 0);
            value->assumed = true;
        }
}

static void describe_value(const struct ulp_enclosing_walk *w, int slot, struct ulp_enclosed *out)
{
    const struct ulp_slot_bounds *value = &w->values[slot];
    const struct ulp_intervals *at = &value->range.at;
    const enum ulp_type type = value->shape.type;
    *out = (struct ulp_enclosed){.name = w->block->slots[slot].name,
                                 .slot = slot,
                                 .low = INFINITY,
                                 .high = -INFINITY,
                                 .is_float = ulp_type_is_float(type),
                                 .assumed = value->assumed,
                                 .count = value->shape.count};
    if (type == ULP_TYPE_UNDEFINED) {
        out->is_float = ulp_type_is_float(
            w->block->slots[slot].info ? w->block->slots[slot].info->type : ULP_TYPE_FLOAT);
        out->unknown = 1;
        out->reached = INFINITY;
    }
    if (!value->is_range)
        return;
    out->range = &value->range;
    for (size_t i = 0; i < value->range.count; i++) {
        if (at->may[i] & ULP_MAY_BE_ANYTHING)
            out->unknown++;
        else
            out->bound = fmax(out->bound, ulp_interval_magnitude(at, i));
        if (!(at->may[i] & ULP_MAY_BE_ANYTHING)) {
            out->low = fmin(out->low, at->lo[i]);
            out->high = fmax(out->high, at->hi[i]);
        }
        out->infinite += at->may[i] && !(at->may[i] & ULP_MAY_BE_ANYTHING);
    }
}

/* What an output that is too large would have reached: the last thing that its formula computes, or
 * its sums. */
static double find_reached(const struct ulp_step *step, const struct ulp_hidden_bound *hidden,
                           size_t count, double most)
{
    double reached = 0;
    for (size_t h = 0; h < count; h++) {
        bool output = !hidden[h].tape;
        for (int o = 0; hidden[h].tape && o < hidden[h].tape->output_count; o++)
            output |= hidden[h].tape->outputs[o] == hidden[h].instruction;
        if (output)
            reached = fmax(reached, hidden[h].largest);
    }
    (void)step;
    return reached > most ? reached : INFINITY;
}

static enum ulp_status tell(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                            const char *normalised, const char *reason, bool assumed,
                            struct ulp_error *error)
{
    struct ulp_enclosed_node node = {.node = step->number,
                                     .step = step,
                                     .normalised = normalised,
                                     .reason = reason};
    void *memory;
    enum ulp_status status =
        ulp_allocate_zero(&memory, step->output_count + 1, sizeof *node.outputs, w->from->budget,
                          "bounds of a node", error);
    if (status != ULP_OK)
        return status;
    struct ulp_enclosed *outputs = memory;
    node.hidden = ulp_trace_hidden(w->trace, &node.hidden_count);
    for (size_t i = 0; i < step->own_input_count; i++) {
        struct ulp_enclosed input;
        if (step->inputs[i] < 0 || w->block->slots[step->inputs[i]].constant)
            continue;
        describe_value(w, step->inputs[i], &input);
        if (input.is_float)
            node.inputs = fmax(node.inputs, input.unknown ? INFINITY : input.bound);
    }
    for (size_t o = 0; o < step->output_count; o++) {
        if (step->outputs[o] < 0 || w->block->slots[step->outputs[o]].constant)
            continue;
        struct ulp_slot_bounds *value = &w->values[step->outputs[o]];
        value->assumed = assumed;
        struct ulp_enclosed *out = &outputs[node.output_count++];
        describe_value(w, step->outputs[o], out);
        if (out->unknown)
            out->reached = find_reached(step, node.hidden, node.hidden_count,
                                        w->arithmetic->storage.max_finite);
    }
    node.outputs = outputs;
    if (node.output_count)
        status = w->from->node(w->from->context, &node, error);
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            assume_finite(w, &w->values[step->outputs[o]]);
    ulp_free(memory);
    return status;
}

static bool follows_assumption(const struct ulp_enclosing_walk *w, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && w->values[step->inputs[i]].assumed)
            return true;
    return false;
}

/* What is known of a value is known by affine forms, too: its elements' unknowns begin here. */
static enum ulp_status give_symbols(const struct ulp_enclosing_walk *w,
                                    struct ulp_slot_bounds *value, struct ulp_error *error)
{
    return w->from->symbols && value->is_range && ulp_type_is_float(value->shape.type)
               ? ulp_trace_give_symbols(w->trace, &value->range, error)
               : ULP_OK;
}

static enum ulp_status enclose_step(struct ulp_enclosing_walk *w, size_t s, struct ulp_error *error)
{
    const struct ulp_step *step = &w->block->steps[s];
    const char *normalised = NULL, *reason = NULL;
    struct ulp_error own = {0};
    bool done = false, assumed = follows_assumption(w, step);
    enum ulp_status status = ulp_trace_enclose(w->trace, w->arithmetic, w->from->symbols, error);
    if (status == ULP_OK)
        status = ulp_enclose_special(w, step, &done, error);
    if (status != ULP_OK)
        return status;
    if (!done) {
        const enum ulp_status run = run_step(w, step, &own);
        if (run == ULP_ERROR_MEMORY) {
            *error = own;
            return run;
        }
        if (run != ULP_OK) {
            reason = own.message;
            status = give_up(w, step, error);
        }
    }
    if (status == ULP_OK && step->output_count && !reason)
        ulp_enclose_deviation(w, step);
    if (status == ULP_OK)
        normalised = ulp_enclose_normalised(w, s, &assumed, own.message, sizeof own.message);
    if (!reason && !normalised && *own.message && !done)
        reason = own.message;
    if (status == ULP_OK)
        status = tell(w, step, normalised, reason, assumed, error);
    ulp_trace_enclose_clear(w->trace);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        if (step->outputs[o] >= 0)
            status = give_symbols(w, &w->values[step->outputs[o]], error);
    ulp_lane_clear(&w->names);
    for (size_t d = 0; d < step->dead_count; d++)
        if (!w->keep[step->dead[d]])
            free_value(&w->values[step->dead[d]]);
    ulp_lane_drop(&w->lane, step);
    return status;
}

static enum ulp_status set_inputs(struct ulp_enclosing_walk *w, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < w->block->input_count && status == ULP_OK; i++) {
        const int slot = w->block->inputs[i];
        const struct ulp_input_range *range = &w->from->ranges[i];
        struct ulp_slot_bounds *value = &w->values[slot];
        if (w->block->slots[slot].constant)
            continue;
        value->shape = w->block->slots[slot].shape;
        value->shape.data = NULL;
        if (value->shape.type == ULP_TYPE_UNDEFINED)
            continue;
        status = set_hull(w, value, range->low, range->high, 0, error);
        for (size_t e = 0; status == ULP_OK && e < value->range.count; e++)
            if (ulp_type_is_float(value->shape.type))
                ulp_interval_store(w->arithmetic, &w->arithmetic->storage, &value->range.at, e);
        assume_finite(w, value);
        value->assumed = false;
        if (status == ULP_OK)
            status = give_symbols(w, value, error);
    }
    return status;
}

static enum ulp_status take_memory(struct ulp_enclosing_walk *w, struct ulp_error *error)
{
    const size_t slots = w->block->slot_count + 1;
    void *values, *keep;
    enum ulp_status status = ulp_arena_create(&w->arena, w->from->budget, error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&values, slots, sizeof *w->values, w->from->budget,
                                   "bounds of values", error);
    if (status != ULP_OK)
        return status;
    w->values = values;
    w->keep = keep = ulp_arena_take(w->arena, slots, sizeof *w->keep);
    if (!keep)
        return ulp_fail_memory(error, "out of memory");
    return ulp_enclose_find_normalised(w, error);
}

enum ulp_status ulp_enclose_run(const struct ulp_enclose *enclose, struct ulp_error *error)
{
    const struct ulp_plan *plan = enclose->plan;
    struct ulp_arithmetic names = ulp_enclosing_names(&plan->lanes[0]);
    const struct ulp_mix names_mix = {.count = 1, .items = &names};
    struct ulp_enclosing_walk w = {.from = enclose,
                                   .block = plan->main,
                                   .arithmetic = &plan->lanes[0]};
    enum ulp_status status = take_memory(&w, error);
    if (status == ULP_OK)
        status = ulp_trace_create(&w.trace, enclose->budget, enclose->pool, error);
    if (status == ULP_OK)
        status = ulp_lane_create(&w.lane, &plan->mixes[0], plan->main, enclose->budget,
                                 enclose->pool, error);
    if (status == ULP_OK)
        status = ulp_lane_create(&w.names, &names_mix, plan->main, enclose->budget, enclose->pool,
                                 error);
    w.names.trace = w.trace;
    if (status == ULP_OK)
        status = ulp_trace_enclose(w.trace, w.arithmetic, enclose->symbols, error);
    if (status == ULP_OK)
        status = set_inputs(&w, error);
    for (size_t s = 0; s < plan->main->step_count && status == ULP_OK; s++)
        if (!plan->main->steps[s].folded)
            status = enclose_step(&w, s, error);
    for (size_t v = 0; w.values && v < plan->main->slot_count; v++)
        free_value(&w.values[v]);
    ulp_free(w.values);
    if (w.lane.values)
        ulp_lane_free(&w.lane);
    if (w.names.values)
        ulp_lane_free(&w.names);
    ulp_trace_free(w.trace);
    ulp_arena_free(w.arena);
    return status;
}
