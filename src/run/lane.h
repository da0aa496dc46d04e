/* A lane: the arithmetics of its nodes, and its values of one block. */
#pragma once

#include "run/program/program.h"

struct ulp_lane {
    const struct ulp_mix *mix;
    const struct ulp_block *block;
    /* By slot; type UNDEFINED: there is no value. A computed value has the storage of its holder
     * (ulp_lane_holder). An input of the model is as it was given where the lane's nodes have
     * several arithmetics. Constants as they were converted for a reader lie in such runs of
     * slot_count, one for each kind of reader (constant_run in lane_convert.c), until their last
     * use. */
    struct ulp_tensor *values;
    bool keeps_constants; /* converted constants stay, for the block runs again */
    bool converts_tables; /* also what operators gather from: for readers beside them */
    /* A weight that would take more bytes than this once it is lowered is left to its operator,
     * which lowers it in blocks; SIZE_MAX: none is. */
    size_t lowered_bytes_max;
    struct ulp_budget *budget;
    struct ulp_arena *scratch; /* of one call after the other; NULL: each call has its own */
    struct ulp_pool *pool;
    struct ulp_trace *trace; /* of its calls (ops/trace/trace.h); NULL: none */
    struct ulp_probe *probe; /* of its calls (ops/probe.h); NULL: none */
    /* of the step, in a run that follows the reference: what that reads; NULL: nothing is followed
     */
    const struct ulp_tensor *const *followed;
};

enum ulp_status ulp_lane_create(struct ulp_lane *out, const struct ulp_mix *mix,
                                const struct ulp_block *block, struct ulp_budget *budget,
                                struct ulp_pool *pool, struct ulp_error *error);
void ulp_lane_free(struct ulp_lane *lane);
/* Free every value but the constants of keeps_constants: the block will run again. */
void ulp_lane_clear(struct ulp_lane *lane);
/* The same of what one step reads: of a lane in which single steps run. */
void ulp_lane_clear_inputs(struct ulp_lane *lane, const struct ulp_step *step);
/* Free what no later step needs. */
void ulp_lane_drop(struct ulp_lane *lane, const struct ulp_step *step);

/* Does every node of the lane have one arithmetic? */
static inline bool ulp_lane_is_uniform(const struct ulp_lane *lane)
{
    return !lane->mix->of_node && !lane->mix->fusion;
}
/* Is the step's result in this lane a view of its constant? */
static inline bool ulp_views_constant(const struct ulp_lane *lane, const struct ulp_step *step)
{
    return step->alias && ulp_lane_is_uniform(lane) && !lane->trace && !lane->probe;
}
/* The arithmetic in which the lane computes the step: within a kernel the inner one. */
static inline const struct ulp_arithmetic *ulp_lane_arithmetic(const struct ulp_lane *lane,
                                                               const struct ulp_step *step)
{
    return ulp_mix_computes(lane->mix, step->number);
}
/* The arithmetic whose storage the slot's value has. Not for constants, nor for inputs that are
 * held as they were given. */
const struct ulp_arithmetic *ulp_lane_holder(const struct ulp_lane *lane, int slot);
/* The format of the slot's value, of a float type. Not for constants. */
enum ulp_status ulp_lane_held(const struct ulp_lane *lane, int slot, const struct ulp_tensor *value,
                              struct ulp_format *out, struct ulp_error *error);

/* Who reads a value. */
struct ulp_reader {
    size_t arithmetic; /* of the mix's */
    bool mixed;        /* takes mixed elements, as in ulp_adapt */
    bool inside;       /* in the kernel that computed the value */
    bool declared;     /* takes constants as the model has them, but for their place in memory */
    bool packed;       /* takes a packed constant as it is */
};
/* Who reads the step's input i. */
struct ulp_reader ulp_lane_reader(const struct ulp_lane *lane, const struct ulp_step *step,
                                  size_t i);
/* The slot's constant for a reader, converted once. */
enum ulp_status ulp_lane_constant(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                                  const struct ulp_tensor **out, struct ulp_error *error);
/* The slot's value for a reader: the lane's own; the slot's constant, converted once; or, where the
 * value is held in another format, *converted, which the caller frees. NULL with ULP_OK for an
 * omitted input. Valid until the slot's last use. */
enum ulp_status ulp_lane_value(struct ulp_lane *lane, int slot, struct ulp_reader reader,
                               struct ulp_tensor *converted, const struct ulp_tensor **out,
                               struct ulp_error *error);
/* The arithmetic to whose storage the step's input i is rounded when it is read. */
const struct ulp_arithmetic *ulp_lane_reads(const struct ulp_lane *lane,
                                            const struct ulp_step *step, size_t i);

/* Is the step's input i a value that one of its bodies captures? */
static inline bool ulp_is_captured(const struct ulp_step *step, size_t i)
{
    return step->bound.blocks && i >= step->own_input_count;
}
/* Is the value an input of the model that is used as a parameter only? Every lane holds such an
 * input as it was given. */
bool ulp_is_as_given(const struct ulp_block *block, int slot);

/* Does the step take its weight, input i, as the model has it, in blocks? */
bool ulp_takes_blocks(const struct ulp_lane *lane, const struct ulp_step *step, size_t i);
/* Does the step read input i packed, where it is a constant of less than 8 bits? */
static inline bool ulp_takes_packed(const struct ulp_step *step, size_t i)
{
    return i < step->bound.input_slot_count && step->bound.inputs[i].packed;
}
/* Does the step gather from a constant, which it takes as the model has it? */
static inline bool ulp_takes_table(const struct ulp_lane *lane, const struct ulp_step *step,
                                   size_t i)
{
    const struct ulp_tensor *constant = i < step->bound.input_slot_count &&
                                                step->bound.inputs[i].table &&
                                                step->inputs[i] >= 0 && !lane->converts_tables
                                            ? lane->block->slots[step->inputs[i]].constant
                                            : NULL;
    return constant && ulp_element_is_float(constant->element);
}

/* A step's inputs (own, then captured), and those among them that were converted for it. */
struct ulp_inputs {
    size_t count;
    const struct ulp_tensor **at;
    struct ulp_tensor *converted; /* NULL: a lane whose nodes do not differ converts none */
};
enum ulp_status ulp_inputs_create(struct ulp_inputs *out, const struct ulp_lane *lane,
                                  const struct ulp_step *step, struct ulp_arena *arena,
                                  struct ulp_error *error);
void ulp_inputs_free(struct ulp_inputs *inputs);
/* Input i of a step, and all of them, in its lane: as ulp_lane_value. A constant parameter is as
 * the model has it; a value that bodies capture is as the lane holds it. */
enum ulp_status ulp_lane_input(struct ulp_lane *lane, const struct ulp_step *step, size_t i,
                               struct ulp_tensor *converted, const struct ulp_tensor **out,
                               struct ulp_error *error);
enum ulp_status ulp_lane_inputs(struct ulp_lane *lane, const struct ulp_step *step,
                                struct ulp_inputs *out, struct ulp_error *error);

/* A copy of the slot's value, under the name of a graph output, in the storage of the node that
 * computes it. */
enum ulp_status ulp_lane_output(struct ulp_lane *lane, int slot, const char *name,
                                struct ulp_budget *budget, struct ulp_tensor_set *outputs,
                                struct ulp_error *error);

/* The format in which a lane of that arithmetic holds a tensor of a float type. */
enum ulp_status ulp_lane_format(const struct ulp_arithmetic *arithmetic, enum ulp_type type,
                                struct ulp_format *out, struct ulp_error *error);

/* Whether an operator in an arithmetic of that storage needs *value, of a float type held in format
 * `from`, converted: in memory, for one as it is stored is decoded in any case. */
bool ulp_needs_conversion(const struct ulp_tensor *value, const struct ulp_format *from,
                          const struct ulp_format *storage, bool mixed);
/* *value, which is held in format `from`, for an operator in `arithmetic`: *out is a view when the
 * arithmetic can use it as it is (integers; a value its storage contains, in the same element or
 * for an operator that takes mixed elements), else an owned conversion, rounded once to the
 * storage. Freed with ulp_tensor_free in either case. */
enum ulp_status ulp_adapt(struct ulp_tensor *out, const struct ulp_tensor *value,
                          const struct ulp_format *from, const struct ulp_arithmetic *arithmetic,
                          bool mixed, struct ulp_budget *budget, struct ulp_pool *pool,
                          struct ulp_error *error);
/* Whether the step's input i may be a float of another element than the lane's storage. */
static inline bool ulp_takes_mixed(const struct ulp_step *step, size_t i)
{
    const struct ulp_bound *bound = &step->bound;
    return bound->op->formula || (i < bound->input_slot_count && bound->inputs[i].mixed) ||
           ulp_is_weight(bound, i);
}

/* An array of another float type than the model declares, rounded once to the declared one; else a
 * view. Freed with ulp_tensor_free. */
enum ulp_status ulp_fit_input(struct ulp_tensor *out, const struct ulp_tensor *given,
                              enum ulp_type declared, struct ulp_budget *budget,
                              struct ulp_pool *pool, struct ulp_error *error);

/* What the step computes in on these inputs: the lane's arithmetic, or what they declare. */
enum ulp_status ulp_step_arithmetic(const struct ulp_step *step, const struct ulp_lane *lane,
                                    const struct ulp_tensor *const *inputs,
                                    struct ulp_arithmetic *out, struct ulp_error *error);
/* One step in the lane's arithmetic on given inputs (explicit, then captured). outputs:
 * output_count tensors, filled. */
enum ulp_status ulp_step_run(const struct ulp_step *step, struct ulp_lane *lane,
                             const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                             struct ulp_error *error);

/* run_pairs.c: a step of a lane in pairs by `run`, and once more in records where it noted that
 * pairs do not settle it. */
typedef enum ulp_status ulp_step_fn(const struct ulp_step *step, struct ulp_lane *lane,
                                    const struct ulp_tensor *const *inputs,
                                    struct ulp_tensor *outputs, struct ulp_error *error);
enum ulp_status ulp_pairs_run(ulp_step_fn *run, const struct ulp_step *step, struct ulp_lane *lane,
                              const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                              struct ulp_error *error);

/* How many numbers the calling thread's steps in pairs have given since it last asked, and how many
 * of their results were MPFR's. */
void ulp_pairs_counts_take(size_t *by_pairs, size_t *by_mpfr);

/* A call of a step and what it points to: it must stay where it is. */
struct ulp_step_call {
    struct ulp_call call;
    struct ulp_host host;
    struct ulp_arithmetic declared; /* or by steps= */
    const struct ulp_tensor *integers[12];
    size_t outer; /* the node that the lane's probe was in before */
    const struct ulp_lane *lane;
    struct ulp_arena_mark before; /* in the lane's scratch */
};
enum ulp_status ulp_step_open(struct ulp_step_call *out, const struct ulp_step *step,
                              const struct ulp_lane *lane, const struct ulp_tensor *const *inputs,
                              struct ulp_tensor *outputs, struct ulp_error *error);
void ulp_step_close(struct ulp_step_call *call);

/* Give the lane of a body its inputs and captured values, as views of the call's; and take the
 * results out, owned by the caller and in the arithmetic of the If, Loop or Scan. */
enum ulp_status ulp_body_enter(struct ulp_lane *lane, const struct ulp_call *call,
                               size_t input_count, const struct ulp_tensor *const *inputs,
                               size_t output_count, struct ulp_error *error);
enum ulp_status ulp_body_leave(struct ulp_lane *lane, size_t output_count,
                               struct ulp_tensor *outputs, struct ulp_error *error);
