/* Between the files of the walk that bounds values. */
#pragma once

#include "ops/steps.h"
#include "run/enclose/enclose_graph.h"
#include "run/lane.h"

/* What is known of a slot's value: numbers (integers that do not follow from the inputs' values),
 * or bounds. */
struct ulp_slot_bounds {
    struct ulp_tensor shape; /* type UNDEFINED: not known; data NULL */
    bool is_numbers, is_range, assumed;
    struct ulp_tensor numbers;
    struct ulp_enclosure range;
};

/* Finite, whatever it is. */
static inline bool ulp_slot_bounds_finite(const struct ulp_slot_bounds *value)
{
    for (size_t i = 0; i < value->range.count; i++)
        if (value->range.at.may[i])
            return false;
    return value->is_range;
}

/* Over the steps of a block: the main graph, or a body whose If, Loop or Scan another walk is at.
 */
struct ulp_enclosing_walk {
    const struct ulp_enclose *from;
    const struct ulp_block *block;
    const struct ulp_mix *mix; /* of the names */
    const struct ulp_arithmetic *arithmetic;
    struct ulp_arithmetic *room; /* of what ulp_enclose_computes gives, until it is asked again */
    struct ulp_arena *arena;
    /* memory for what makes bounds narrower was refused: bounds never depend on memory, so the walk
     * ends with an error */
    bool starved;
    struct ulp_slot_bounds *values; /* by slot */
    bool *keep;                     /* by slot: not freed at its last use */
    struct ulp_lane lane;           /* for constants, as the arithmetic has them */
    struct ulp_lane names;          /* FP64, in which operators run on names */
    struct ulp_trace *trace;
    struct ulp_error *error;                          /* where failures are told */
    struct ulp_written_normalisation *normalisations; /* by step; NULL: none */
    struct ulp_written_share *shares;                 /* by step */
};

/* Is the step computed in the inner format of a kernel (fuse=)? And what it is computed in. */
static inline bool ulp_enclose_is_inside(const struct ulp_enclosing_walk *w,
                                         const struct ulp_step *step)
{
    const struct ulp_fusion *fusion = w->from->program->mixes[0].fusion;
    return fusion && fusion->nodes[step->number].inner;
}
static inline const struct ulp_arithmetic *ulp_enclose_computes(const struct ulp_enclosing_walk *w,
                                                                const struct ulp_step *step)
{
    const struct ulp_tensor *in[2] = {NULL, NULL}; /* no rule reads further ones */
    struct ulp_call call = {.bound = &step->bound, .in = in};
    for (; call.input_count < 2 && call.input_count < step->own_input_count; call.input_count++) {
        const int slot = step->inputs[call.input_count];
        if (slot >= 0)
            in[call.input_count] = w->block->slots[slot].constant ? w->block->slots[slot].constant
                                   : w->values[slot].is_numbers   ? &w->values[slot].numbers
                                                                  : &w->values[slot].shape;
    }
    return ulp_steps_arithmetic(ulp_enclose_is_inside(w, step)
                                    ? ulp_mix_computes(&w->from->program->mixes[0], step->number)
                                    : w->arithmetic,
                                &call, w->room);
}

/* enclose_graph.c: a walk over a block, with the trace of the caller. */
enum ulp_status ulp_enclose_open(struct ulp_enclosing_walk *walk, const struct ulp_enclose *from,
                                 const struct ulp_block *block, const struct ulp_mix *mix,
                                 struct ulp_trace *trace, struct ulp_error *error);
void ulp_enclose_close(struct ulp_enclosing_walk *walk);
enum ulp_status ulp_enclose_steps(struct ulp_enclosing_walk *walk);
/* Elements of a value become unknowns of affine forms, where these are wanted. */
enum ulp_status ulp_enclose_give_symbols(const struct ulp_enclosing_walk *walk,
                                         struct ulp_slot_bounds *value);
/* Tell of every node of the block that nothing is known. */
enum ulp_status ulp_enclose_disown(struct ulp_enclosing_walk *walk, const struct ulp_block *block);

/* enclose_bodies.c: the outputs of an If, Loop or Scan. *assumed: set when they follow from a value
 * inside that may be too large. ULP_ERROR_UNSUPPORTED: they are not followed. */
enum ulp_status ulp_enclose_bodies(struct ulp_enclosing_walk *walk, const struct ulp_step *step,
                                   bool *assumed);

/* enclose_step.c: the outputs of any other step; what is known of those of one that cannot be
 * followed; a constant as the lane has it, in doubles, which *wide may own. */
enum ulp_status ulp_enclose_run_step(struct ulp_enclosing_walk *walk, const struct ulp_step *step);
/* Of a step inside a kernel: what is computed in the inner format is read there, and stored,
 * rounded once more, for readers outside. Both are enclosed. */
void ulp_enclose_store_kernel(const struct ulp_enclosing_walk *walk, struct ulp_enclosure *range);
enum ulp_status ulp_enclose_give_up(struct ulp_enclosing_walk *walk, const struct ulp_step *step);
enum ulp_status ulp_enclose_constant(struct ulp_enclosing_walk *walk, const struct ulp_step *step,
                                     size_t i, struct ulp_tensor *wide,
                                     const struct ulp_tensor **out);
/* The tensor in doubles, when it is of floats. */
enum ulp_status ulp_enclose_widen(struct ulp_enclosing_walk *walk, struct ulp_tensor *wide,
                                  const struct ulp_tensor **value);

/* values.c */
void ulp_bounds_free(struct ulp_slot_bounds *value);
/* Every element of the value, whose shape is known, is any of these; or nothing is known of it. */
enum ulp_status ulp_bounds_set_hull(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *out,
                                    double lo, double hi, uint8_t may);
enum ulp_status ulp_bounds_set_unknown(struct ulp_enclosing_walk *walk,
                                       struct ulp_slot_bounds *out);
enum ulp_status ulp_bounds_set_tensor(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *out,
                                      const struct ulp_tensor *value);
enum ulp_status ulp_bounds_copy(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *out,
                                const struct ulp_slot_bounds *from);
/* Element i's row where the axes (bits) are reduced: rows in the order of the other axes. */
size_t ulp_bounds_row(const struct ulp_tensor *shape, uint32_t axes, size_t i);
/* Either of two values. *grew: set when `into` did; `widen`: what grew may be anything. */
enum ulp_status ulp_bounds_join(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *into,
                                struct ulp_slot_bounds *other, bool widen, bool *grew);
/* Slice number `index` along an axis, which goes; slices put together along a new one. */
enum ulp_status ulp_bounds_slice(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *out,
                                 const struct ulp_slot_bounds *from, int axis, size_t index);
enum ulp_status ulp_bounds_stack(struct ulp_enclosing_walk *walk, struct ulp_slot_bounds *out,
                                 struct ulp_slot_bounds *parts, size_t count, int axis,
                                 bool reverse);

/* Operators whose bounds do not follow from their gates: a Cast from integers, and a Gather with
 * any index. *done: the outputs' bounds are set. */
enum ulp_status ulp_enclose_special(struct ulp_enclosing_walk *walk, const struct ulp_step *step,
                                    bool *done);

/* Normalisations that the graph writes out: found before the walk; then the result of step s is
 * bounded anew when it is one: from what is divided alone, so that *assumed becomes that value's.
 * Returns a name for it, or NULL; then `why` (of that size) may say why not. */
enum ulp_status ulp_enclose_find_normalised(struct ulp_enclosing_walk *walk);
const char *ulp_enclose_normalised(struct ulp_enclosing_walk *walk, size_t s, bool *assumed,
                                   char *why, size_t size);

/* shares.c: parts of a Softmax that the graph writes out, found before the walk; then what is known
 * of the result of step s beside its interval. */
enum ulp_status ulp_enclose_find_shares(struct ulp_enclosing_walk *walk);
enum ulp_status ulp_enclose_shares(struct ulp_enclosing_walk *walk, size_t s);
