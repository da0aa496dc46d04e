#include "run/enclose/enclose_graph.h"

#include <math.h>

#include "base/error.h"
#include "number/function/math.h"
#include "run/enclose/enclosed.h"

/* Where a value is unknown it is taken as finite from here on, of that magnitude at most, so that
 * what follows from this node alone is told apart from what is wrong by itself. */
static void assume_finite(struct ulp_slot_bounds *value, double most)
{
    for (size_t i = 0; value->is_range && i < value->range.count; i++)
        if (value->range.at.may[i] & ULP_MAY_BE_ANYTHING) {
            ulp_interval_set(&value->range.at, i, -most, most, 0);
            value->assumed = true;
        }
}

/* The largest finite number that a reader of the step's output can find: of its storage, or of a
 * type that lanes keep its own; what a kernel holds is finite in the inner format alone where it is
 * not stored, or is stored as a finite number whatever it is. */
static double largest_read(const struct ulp_enclosing_walk *w, const struct ulp_step *step,
                           int slot)
{
    const struct ulp_fusion *fusion = w->from->program->mixes[0].fusion;
    const struct ulp_fused_node *node = fusion ? &fusion->nodes[step->number] : NULL;
    const struct ulp_format *storage = &w->arithmetic->storage;
    const bool nearest = w->arithmetic->rounding == ULP_ROUND_NEAREST_EVEN ||
                         w->arithmetic->rounding == ULP_ROUND_NEAREST_AWAY;
    struct ulp_format own;
    double most = storage->max_finite;
    if (node && node->held && node->stored && nearest && storage->overflow != ULP_OVERFLOW_SATURATE)
        most *= 1 + ldexp(1, 1 - storage->precision);
    else if (node && node->held)
        most = ulp_math_max(most, ulp_enclose_computes(w, step)->storage.max_finite);
    if (ulp_lane_format(w->arithmetic, w->values[slot].shape.type, &own, NULL) == ULP_OK)
        most = ulp_math_max(most, own.max_finite);
    return most;
}

/* A value whose type is not known either is taken for a float: it must not be left out. */
static bool may_be_float(const struct ulp_program_slot *slot)
{
    const enum ulp_type type = ulp_slot_type(slot);
    return type == ULP_TYPE_UNDEFINED || ulp_type_is_float(type);
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
        out->is_float = may_be_float(&w->block->slots[slot]);
        out->unknown = 1;
        out->reached = INFINITY;
    }
    if (!value->is_range)
        return;
    for (size_t i = 0; i < value->range.count; i++) {
        if (at->may[i] & ULP_MAY_BE_ANYTHING)
            out->unknown++;
        else
            out->bound = ulp_math_max(out->bound, ulp_interval_magnitude(at, i));
        if (!(at->may[i] & ULP_MAY_BE_ANYTHING)) {
            out->low = ulp_math_min(out->low, at->lo[i]);
            out->high = ulp_math_max(out->high, at->hi[i]);
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
            reached = ulp_math_max(reached, hidden[h].largest);
    }
    (void)step;
    return reached > most ? reached : INFINITY;
}

static enum ulp_status tell(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                            const char *normalised, const char *reason, bool assumed)
{
    struct ulp_enclosed_node node = {.node = step->number,
                                     .block = w->block,
                                     .step = step,
                                     .normalised = normalised,
                                     .reason = reason};
    ULP_SCOPED(ulp_free_of) struct ulp_enclosed *outputs = NULL;
    ULP_TRY(ulp_allocate_zero(&outputs, step->output_count + 1, sizeof *node.outputs,
                              w->from->budget, "bounds of a node", w->error));
    node.hidden = ulp_trace_hidden(w->trace, &node.hidden_count);
    for (size_t i = 0; i < step->own_input_count; i++) {
        struct ulp_enclosed input;
        if (step->inputs[i] < 0 || w->block->slots[step->inputs[i]].constant)
            continue;
        describe_value(w, step->inputs[i], &input);
        if (input.is_float)
            node.inputs = ulp_math_max(node.inputs, input.unknown ? INFINITY : input.bound);
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
        ULP_TRY(w->from->node(w->from->context, &node, w->error));
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            assume_finite(&w->values[step->outputs[o]], largest_read(w, step, step->outputs[o]));
    return ULP_OK;
}

static bool follows_assumption(const struct ulp_enclosing_walk *w, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && w->values[step->inputs[i]].assumed)
            return true;
    return false;
}

enum ulp_status ulp_enclose_give_symbols(const struct ulp_enclosing_walk *w,
                                         struct ulp_slot_bounds *value)
{
    return w->from->symbols && value->is_range && ulp_type_is_float(value->shape.type)
               ? ulp_trace_give_symbols(w->trace, &value->range, w->error)
               : ULP_OK;
}

static enum ulp_status enclose_step(struct ulp_enclosing_walk *w, size_t s)
{
    const struct ulp_step *step = &w->block->steps[s];
    const char *normalised = NULL, *reason = NULL;
    struct ulp_error own = {0}, *const error = w->error;
    bool done = false, assumed = follows_assumption(w, step);
    ULP_TRY(ulp_trace_enclose(w->trace, ulp_enclose_computes(w, step), w->from->symbols, w->error));
    ULP_TRY(ulp_enclose_special(w, step, &done));
    if (done && ulp_enclose_is_inside(w, step) && w->values[step->outputs[0]].is_range)
        ulp_enclose_store_kernel(w, &w->values[step->outputs[0]].range);
    enum ulp_status status = ULP_OK;
    if (!done) {
        w->error = &own; /* a step that fails is a reason, not the walk's end */
        const enum ulp_status run = step->bound.blocks ? ulp_enclose_bodies(w, step, &assumed)
                                                       : ulp_enclose_run_step(w, step);
        w->error = error;
        if (run == ULP_ERROR_MEMORY)
            return ulp_fail_lines(error, run, own.message);
        if (run != ULP_OK) {
            reason = own.message;
            status = ulp_enclose_give_up(w, step);
        }
    }
    if (status == ULP_OK && !reason)
        status = ulp_enclose_shares(w, s);
    if (status == ULP_OK)
        normalised = ulp_enclose_normalised(w, s, &assumed, own.message, sizeof own.message);
    if (status == ULP_OK && w->starved)
        status = ulp_out_of_memory(w->error);
    if (!reason && !normalised && *own.message && !done)
        reason = own.message;
    ULP_THEN(status, tell(w, step, normalised, reason, assumed));
    ulp_trace_enclose_clear(w->trace);
    for (size_t o = 0; o < step->output_count && status == ULP_OK; o++)
        if (step->outputs[o] >= 0)
            status = ulp_enclose_give_symbols(w, &w->values[step->outputs[o]]);
    ulp_lane_clear_inputs(&w->names, step);
    for (size_t d = 0; d < step->dead_count; d++)
        if (!w->keep[step->dead[d]])
            ulp_bounds_free(&w->values[step->dead[d]]);
    ulp_lane_drop(&w->lane, step);
    return status;
}

/* An integer of which one value is possible is a known number. */
static bool is_number(const struct ulp_tensor *shape, const struct ulp_input_range *range)
{
    return !ulp_type_is_float(shape->type) && range->low == range->high &&
           range->low == floor(range->low) && fabs(range->low) < 0x1p53;
}

static enum ulp_status set_number(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *value,
                                  int64_t number)
{
    const struct ulp_tensor *shape = &value->shape;
    ULP_TRY(ulp_tensor_create_like(&value->numbers, shape, ULP_ELEMENT_COUNT, 0, w->from->budget,
                                   w->error));
    for (size_t i = 0; i < value->numbers.count; i++)
        ulp_tensor_set_int(&value->numbers, i, number);
    value->is_numbers = true;
    return ULP_OK;
}

static enum ulp_status set_inputs(struct ulp_enclosing_walk *w)
{
    struct ulp_format declared;
    for (size_t i = 0; i < w->block->input_count; i++) {
        const int slot = w->block->inputs[i];
        const struct ulp_input_range *range = &w->from->ranges[i];
        struct ulp_slot_bounds *value = &w->values[slot];
        if (w->block->slots[slot].constant)
            continue;
        value->shape = w->block->slots[slot].shape;
        value->shape.data = NULL;
        if (value->shape.type == ULP_TYPE_UNDEFINED)
            continue;
        if (is_number(&value->shape, range)) {
            ULP_TRY(set_number(w, value, (int64_t)range->low));
            continue;
        }
        ULP_TRY(ulp_bounds_set_hull(w, value, range->low, range->high, 0));
        for (size_t e = 0; e < value->range.count; e++)
            if (ulp_type_is_float(value->shape.type)) {
                /* rounded to what the model declares first */
                if (ulp_format_find(ulp_type_rows[value->shape.type].format, &declared, w->error) ==
                    ULP_OK)
                    ulp_interval_store(w->arithmetic, &declared, &value->range.at, e);
                ulp_interval_store(w->arithmetic, &w->arithmetic->storage, &value->range.at, e);
            }
        /* what a range beyond the format gives is conditional */
        assume_finite(value, w->arithmetic->storage.max_finite);
        ULP_TRY(ulp_enclose_give_symbols(w, value));
    }
    return ULP_OK;
}

enum ulp_status ulp_enclose_disown(struct ulp_enclosing_walk *w, const struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        struct ulp_enclosed *outputs =
            ulp_arena_take(w->arena, step->output_count + 1, sizeof *outputs);
        struct ulp_enclosed_node node = {.node = step->number,
                                         .block = block,
                                         .step = step,
                                         .outputs = outputs,
                                         .inputs = INFINITY,
                                         .reason = "the node it is inside of is not followed"};
        ULP_TRY(ulp_taken(outputs, w->error));
        if (step->folded)
            continue;
        for (size_t o = 0; o < step->output_count; o++) {
            const int slot = step->outputs[o];
            if (slot < 0 || block->slots[slot].constant)
                continue;
            const struct ulp_program_slot *of = &block->slots[slot];
            outputs[node.output_count++] = (struct ulp_enclosed){.name = of->name,
                                                                 .slot = slot,
                                                                 .is_float = may_be_float(of),
                                                                 .unknown = 1,
                                                                 .low = INFINITY,
                                                                 .high = -INFINITY,
                                                                 .reached = INFINITY};
        }
        if (node.output_count)
            ULP_TRY(w->from->node(w->from->context, &node, w->error));
        for (int a = 0; step->bound.blocks && a < ULP_ATTRIBUTES_MAX; a++)
            if (step->bound.blocks[a])
                ULP_TRY(ulp_enclose_disown(w, step->bound.blocks[a]));
    }
    return ULP_OK;
}

enum ulp_status ulp_enclose_open(struct ulp_enclosing_walk *w, const struct ulp_enclose *from,
                                 const struct ulp_block *block, const struct ulp_mix *mix,
                                 struct ulp_trace *trace, struct ulp_error *error)
{
    const size_t slots = block->slot_count + 1;
    *w = (struct ulp_enclosing_walk){.from = from,
                                     .block = block,
                                     .mix = mix,
                                     .arithmetic = &from->program->lanes[0],
                                     .trace = trace,
                                     .error = error};
    ULP_TRY(ulp_arena_create(&w->arena, from->budget, error));
    ULP_TRY(ulp_allocate_zero(&w->values, slots, sizeof *w->values, from->budget,
                              "bounds of values", error));
    ULP_TAKE(w->keep, w->arena, slots, error);
    ULP_TAKE(w->room, w->arena, 1, error);
    ULP_TRY(ulp_enclose_find_normalised(w));
    ULP_TRY(ulp_enclose_find_shares(w));
    ULP_TRY(ulp_lane_create(&w->lane, &from->program->mixes[0], block, from->budget, from->pool,
                            error));
    ULP_TRY(ulp_lane_create(&w->names, mix, block, from->budget, from->pool, error));
    w->names.trace = trace;
    /* a draw is another one where an element is rounded behind the table */
    w->lane.converts_tables = w->names.converts_tables =
        w->arithmetic->rounding != ULP_ROUND_STOCHASTIC;
    return ULP_OK;
}

void ulp_enclose_close(struct ulp_enclosing_walk *w)
{
    for (size_t v = 0; w->values && v < w->block->slot_count; v++)
        ulp_bounds_free(&w->values[v]);
    ulp_free(w->values);
    if (w->lane.values)
        ulp_lane_free(&w->lane);
    if (w->names.values)
        ulp_lane_free(&w->names);
    ulp_arena_free(w->arena);
}

enum ulp_status ulp_enclose_steps(struct ulp_enclosing_walk *w)
{
    for (size_t s = 0; s < w->block->step_count; s++)
        if (!w->block->steps[s].folded)
            ULP_TRY(enclose_step(w, s));
    return ULP_OK;
}

enum ulp_status ulp_enclose_run(const struct ulp_enclose *enclose, struct ulp_error *error)
{
    const struct ulp_program *program = enclose->program;
    struct ulp_arithmetic names = ulp_enclosing_names(&program->lanes[0]);
    const struct ulp_mix names_mix = {.count = 1, .items = &names};
    ULP_SCOPED(ulp_trace_free_of) struct ulp_trace *trace = NULL;
    ULP_SCOPED(ulp_enclose_close) struct ulp_enclosing_walk w = {0};
    ULP_TRY(ulp_trace_create(&trace, enclose->budget, enclose->pool, error));
    ULP_TRY(ulp_trace_enclose(trace, &program->lanes[0], enclose->symbols, error));
    ULP_TRY(ulp_enclose_open(&w, enclose, program->main, &names_mix, trace, error));
    ULP_TRY(set_inputs(&w));
    return ulp_enclose_steps(&w);
}
