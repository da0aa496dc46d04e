/* Running one step, and running a whole body in one lane for If, Loop and Scan. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/call.h"
#include "ops/probe.h"
#include "ops/steps.h"
#include "ops/trace/trace_enclose.h"
#include "run/lane.h"

static enum ulp_status run_body(const struct ulp_call *call, const struct ulp_block *block,
                                size_t input_count, const struct ulp_tensor *const *inputs,
                                size_t output_count, struct ulp_tensor *outputs,
                                struct ulp_error *error);

/* Whose steps the standard rounds to one type ("fp16-strict"); NULL: not so. */
static const char *find_step_type(const struct ulp_bound *bound,
                                  const struct ulp_tensor *const *inputs)
{
    const int place = bound->op->steps_as;
    if (!place || !inputs[place])
        return NULL;
    const int64_t given = ulp_call_int(&(struct ulp_call){.bound = bound}, "precision");
    const enum ulp_type type = given ? (enum ulp_type)given : inputs[place]->type;
    return type == ULP_TYPE_FLOAT16    ? "fp16-strict"
           : type == ULP_TYPE_BFLOAT16 ? "bf16-strict"
                                       : "fp32";
}

/* Bit i: its input i is a constant of the model; folded: as a runtime knows them that computes what
 * follows from constants, unless a caller may give another value. */
static uint32_t list_constants(const struct ulp_step *step, const struct ulp_integer_form *form,
                               const struct ulp_lane *lane, bool folded)
{
    const struct ulp_block *block = lane->block;
    uint32_t constants = 0;
    const size_t count = form ? form->input_count : step->own_input_count;
    for (size_t i = 0; i < count && i < 32; i++) {
        const int from_input = form ? form->from[i] : (int)i;
        const int in = from_input < 0 ? -1 : step->inputs[from_input];
        if (in < 0)
            continue;
        const struct ulp_program_slot *slot = &block->slots[in];
        const struct ulp_step *from = ulp_block_producer(block, in);
        if (slot->constant ? !folded || !slot->overridable : folded && from && from->settled)
            constants |= (uint32_t)1 << i;
    }
    return constants;
}

/* Naming an arithmetic takes longer than many a step, and steps next to each other have one. */
static enum ulp_status find_again(const char *name, struct ulp_arithmetic *out,
                                  struct ulp_error *error)
{
    static _Thread_local struct {
        char name[32];
        struct ulp_arithmetic found;
    } last;
    if (strcmp(last.name, name) == 0) {
        *out = last.found;
        return ULP_OK;
    }
    ULP_TRY(ulp_arithmetic_find(name, out, error));
    last.found = *out;
    snprintf(last.name, sizeof last.name, "%s", name);
    return ULP_OK;
}

/* "model": the arithmetic of a float type. A processor has no matrix unit. */
static enum ulp_status find_of_type(const struct ulp_arithmetic *lane, enum ulp_type type,
                                    struct ulp_arithmetic *out, struct ulp_error *error)
{
    const char *format = ulp_type_format(lane, type);
    const bool half = strcmp(format, "fp16") == 0 && lane->steps == ULP_STEPS_ORT_CPU;
    return find_again(half ? "fp16,unit=none" : format, out, error);
}

/* By the step's own rule (steps=). */
static const struct ulp_arithmetic *find_own(const struct ulp_arithmetic *arithmetic,
                                             const struct ulp_step *step,
                                             const struct ulp_lane *lane,
                                             const struct ulp_tensor *const *inputs,
                                             struct ulp_arithmetic *room)
{
    enum {
        INPUTS = sizeof((struct ulp_step_call *)0)->integers /
                 sizeof *((struct ulp_step_call *)0)->integers
    };
    const struct ulp_integer_form *form = ulp_step_integer(lane->mix, lane->block, step);
    const struct ulp_tensor *in[INPUTS];
    if (form && !(form->lanes & ULP_FORM_FLOATS))
        form = NULL;
    for (size_t i = 0; form && i < form->input_count; i++)
        in[i] = form->from[i] < 0 ? NULL : inputs[form->from[i]];
    const struct ulp_call call = {.bound = form ? &form->bound : &step->bound,
                                  .input_count = form ? form->input_count : step->own_input_count,
                                  .in = form ? in : inputs,
                                  .constants = list_constants(step, form, lane, true)};
    const struct ulp_arithmetic *own = ulp_steps_arithmetic(arithmetic, &call, room);
    if (own == room)
        ulp_enclosing_carry(lane->trace, room);
    return own;
}

/* "model": the arithmetic of the first float input's type, still obeying declared types. Nodes
 * that "ort-cpu" widens compute in FP32. */
static enum ulp_status find_declared(const struct ulp_step *step, const struct ulp_lane *of,
                                     const struct ulp_arithmetic *lane,
                                     const struct ulp_tensor *const *inputs,
                                     struct ulp_arithmetic *out, struct ulp_error *error)
{
    const char *steps = lane->half_as_float ? NULL : find_step_type(&step->bound, inputs);
    const size_t input_count = step->input_count;
    struct ulp_arithmetic room;
    *out = *lane;
    for (size_t i = 0; i < input_count; i++) {
        if (!inputs[i] || !ulp_type_is_float(inputs[i]->type) ||
            ulp_type_rows[inputs[i]->type].file_bits <= 8)
            continue;
        ULP_TRY(steps ? find_again(steps, out, error)
                      : find_of_type(lane, inputs[i]->type, out, error));
        out->as_declared = true;
        out->half_as_float = lane->half_as_float;
        out->schedule.qdq_integer = lane->schedule.qdq_integer;
        out->schedule.integers_saturate = lane->schedule.integers_saturate;
        out->schedule.levels_obeyed = lane->schedule.levels_obeyed;
        out->steps = lane->steps;
        if (find_own(out, step, of, inputs, &room) != out)
            *out = room;
        return ULP_OK;
    }
    return ULP_OK;
}

enum ulp_status ulp_step_arithmetic(const struct ulp_step *step, const struct ulp_lane *lane,
                                    const struct ulp_tensor *const *inputs,
                                    struct ulp_arithmetic *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = ulp_lane_arithmetic(lane, step);
    if (arithmetic->as_declared)
        return find_declared(step, lane, arithmetic, inputs, out, error);
    const struct ulp_arithmetic *own = find_own(arithmetic, step, lane, inputs, out);
    if (own != out)
        *out = *own;
    return ULP_OK;
}

/* As what a constant is lowered that the step takes as the model has it; NULL: it takes none so. */
static const struct ulp_arithmetic *find_as_model(const struct ulp_lane *lane,
                                                  const struct ulp_step *step)
{
    if (ulp_takes_table(lane, step, 0))
        return ulp_lane_reads(lane, step, 0);
    for (size_t i = 0; i < step->own_input_count; i++)
        if (ulp_takes_blocks(lane, step, i))
            return ulp_lane_reads(lane, step, i);
    return NULL;
}

static const struct ulp_tensor *find_unscale(const struct ulp_lane *lane,
                                             const struct ulp_step *step)
{
    const int *joined = ulp_mix_joins(lane->mix, step->number);
    return joined && step->bound.op->work == ULP_WORK_CONTRACTION
               ? lane->block->slots[joined[ULP_JOINED_UNSCALE]].constant
               : NULL;
}

enum ulp_status ulp_step_open(struct ulp_step_call *out, const struct ulp_step *step,
                              const struct ulp_lane *lane, const struct ulp_tensor *const *inputs,
                              struct ulp_tensor *outputs, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = ulp_lane_arithmetic(lane, step);
    if (!arithmetic->as_declared)
        arithmetic = find_own(arithmetic, step, lane, inputs, &out->declared);
    const struct ulp_integer_form *form = ulp_step_integer(lane->mix, lane->block, step);
    for (size_t i = 0; form && i < form->input_count; i++)
        out->integers[i] = form->from[i] < 0 ? NULL : inputs[form->from[i]];
    out->call = (struct ulp_call){.bound = form ? &form->bound : &step->bound,
                                  .name = step->name,
                                  .arithmetic = arithmetic,
                                  .input_count = form                 ? form->input_count
                                                 : step->bound.blocks ? step->input_count
                                                                      : step->own_input_count,
                                  .output_count = step->output_count,
                                  .in = form ? out->integers : inputs,
                                  .out = outputs,
                                  .budget = lane->budget,
                                  .pool = lane->pool,
                                  .error = error,
                                  .behind = step->behind,
                                  .unscale = find_unscale(lane, step),
                                  .trace = lane->trace,
                                  .probe = lane->probe,
                                  .followed = lane->followed,
                                  .host = &out->host,
                                  .scratch = lane->scratch,
                                  .constants = form ? 0 : list_constants(step, NULL, lane, false),
                                  .lowering = find_as_model(lane, step)};
    out->host = (struct ulp_host){.run = run_body, .lane = lane};
    if (lane->probe) {
        out->outer = lane->probe->node;
        lane->probe->node = step->number;
    }
    memset(outputs, 0, step->output_count * sizeof *outputs);
    out->lane = lane;
    enum ulp_status status = ULP_OK;
    if (arithmetic->as_declared &&
        (status = find_declared(step, lane, arithmetic, inputs, &out->declared, error)) == ULP_OK)
        out->call.arithmetic = &out->declared;
    if (status == ULP_OK && !lane->scratch)
        return ulp_arena_create(&out->call.scratch, lane->budget, error);
    if (lane->scratch)
        out->before = ulp_arena_mark(lane->scratch);
    return status;
}

void ulp_step_close(struct ulp_step_call *call)
{
    if (call->call.probe)
        call->call.probe->node = call->outer;
    if (call->lane->scratch)
        ulp_arena_release(call->call.scratch, call->before);
    else
        ulp_arena_free(call->call.scratch);
    call->call.scratch = NULL;
}

/* What a graph or a body hands out in FP16 is that, however it was computed. */
static enum ulp_status round_results(const struct ulp_lane *lane, const struct ulp_step *step,
                                     struct ulp_tensor *outputs, struct ulp_error *error)
{
    struct ulp_format half;
    ULP_TRY(ulp_format_find("fp16", &half, error));
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && outputs[o].type == ULP_TYPE_FLOAT16 && outputs[o].owned &&
            lane->block->slots[step->outputs[o]].last_use == INT_MAX)
            ULP_TRY(ulp_tensor_convert(&outputs[o], &outputs[o], &half, ULP_ROUND_NEAREST_EVEN, 0,
                                       lane->pool, error));
    return ULP_OK;
}

/* What ends a kernel was computed in the inner format and is stored. */
static enum ulp_status store_results(const struct ulp_lane *lane, const struct ulp_step *step,
                                     struct ulp_tensor *outputs, struct ulp_error *error)
{
    const struct ulp_fused_node *node = &lane->mix->fusion->nodes[step->number];
    const struct ulp_arithmetic *stores = ulp_mix_arithmetic(lane->mix, step->number);
    for (size_t o = 0; o < step->output_count && node->inner && !node->held; o++)
        if (outputs[o].data && ulp_element_is_float(outputs[o].element) &&
            ulp_type_rows[outputs[o].type].file_bits > 8)
            ULP_TRY(ulp_tensor_convert(&outputs[o], &outputs[o], &stores->storage, stores->rounding,
                                       stores->seed ^ step->bound.key, lane->pool, error));
    return ULP_OK;
}

/* The constant as the lane reads it, in the shape of the step's result. */
static void view_constant(const struct ulp_step *step, const struct ulp_lane *lane,
                          const struct ulp_tensor *input, struct ulp_tensor *output)
{
    const struct ulp_tensor *shape = &lane->block->slots[step->outputs[0]].shape;
    *output = ulp_tensor_view(input);
    output->rank = shape->rank;
    memcpy(output->dims, shape->dims, sizeof output->dims);
}

static enum ulp_status run_step(const struct ulp_step *step, struct ulp_lane *lane,
                                const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                                struct ulp_error *error)
{
    struct ulp_step_call call;
    memset(outputs, 0, step->output_count * sizeof *outputs);
    if (ulp_views_constant(lane, step)) {
        view_constant(step, lane, inputs[0], &outputs[0]);
        return ULP_OK;
    }
    ULP_TRY(ulp_step_open(&call, step, lane, inputs, outputs, error));
    struct ulp_tensor bias;
    bool biased;
    enum ulp_status status = ulp_call_take_bias(&call.call, &bias, &biased);
    if (status == ULP_OK && biased) {
        const struct ulp_tensor *const own[] = {inputs[0], inputs[1], &bias};
        memcpy(call.integers, own, sizeof own);
        call.call.in = call.integers;
    }
    ULP_THEN(status, ulp_call_run(&call.call, error));
    if (status == ULP_OK && call.call.arithmetic->scales_static && step->output_count)
        status = ulp_result_take_range(call.call.arithmetic, step->name, &outputs[0], error);
    ulp_step_close(&call);
    if (status == ULP_OK && ulp_lane_arithmetic(lane, step)->half_as_float)
        status = round_results(lane, step, outputs, error);
    if (status == ULP_OK && lane->mix->fusion)
        status = store_results(lane, step, outputs, error);
    return status;
}

enum ulp_status ulp_step_run(const struct ulp_step *step, struct ulp_lane *lane,
                             const struct ulp_tensor *const *inputs, struct ulp_tensor *outputs,
                             struct ulp_error *error)
{
    return ulp_lane_arithmetic(lane, step)->storage.pairs
               ? ulp_pairs_run(run_step, step, lane, inputs, outputs, error)
               : run_step(step, lane, inputs, outputs, error);
}

static enum ulp_status run_body_step(struct ulp_lane *lane, const struct ulp_step *step,
                                     struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_inputs inputs;
    struct ulp_tensor *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    ULP_TRY(outputs ? ulp_inputs_create(&inputs, lane, step, arena, error)
                    : ulp_out_of_memory(error));
    enum ulp_status status = ulp_lane_inputs(lane, step, &inputs, error);
    ULP_THEN(status, ulp_step_run(step, lane, inputs.at, outputs, error));
    if (status == ULP_OK && lane->probe && lane->probe->give)
        status = lane->probe->give(lane->probe->context, step->number, inputs.at,
                                   step->own_input_count, outputs, error);
    ulp_inputs_free(&inputs);
    for (size_t i = 0; i < step->output_count && status == ULP_OK && lane->trace; i++)
        if (step->outputs[i] >= 0)
            status = ulp_trace_remember(lane->trace, step->number, (int)i, &outputs[i], error);
    for (size_t i = 0; i < step->output_count; i++)
        if (status == ULP_OK && step->outputs[i] >= 0)
            lane->values[step->outputs[i]] = outputs[i];
        else
            ulp_tensor_free(&outputs[i]);
    return status;
}

/* The body's result i into *out, owned by the caller: moved when the lane computed it, copied when
 * it is a constant, an input or already given. */
static enum ulp_status take_output(struct ulp_lane *lane, int slot, struct ulp_tensor *out,
                                   struct ulp_error *error)
{
    const struct ulp_tensor *from;
    struct ulp_tensor converted = {0}, *value = &lane->values[slot];
    const struct ulp_reader reader = {.arithmetic =
                                          ulp_mix_index(lane->mix, lane->block->owner->number)};
    ULP_TRY(ulp_lane_value(lane, slot, reader, &converted, &from, error));
    if (from == &converted && converted.owned) {
        *out = converted;
    } else if (from == value && value->owned) {
        *out = *value;
        value->owned = false;
    } else {
        ULP_TRY(ulp_tensor_copy(out, from, lane->budget, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_body_enter(struct ulp_lane *lane, const struct ulp_call *call,
                               size_t input_count, const struct ulp_tensor *const *inputs,
                               size_t output_count, struct ulp_error *error)
{
    const struct ulp_block *block = lane->block;
    if (input_count != block->input_count || output_count > block->output_count)
        return ulp_fail(
            error, ULP_ERROR_INPUT,
            "body '%s' has %zu inputs and %zu outputs; the node gives %zu and takes %zu",
            block->name, block->input_count, block->output_count, input_count, output_count);
    for (size_t i = 0; i < input_count; i++)
        lane->values[block->inputs[i]] = ulp_tensor_view(inputs[i]);
    /* Captured values follow the node's own inputs; with several bodies (If) each has its own run
     * of them. */
    size_t captured = call->bound->node->input_count;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        const struct ulp_block *other = call->bound->blocks[a];
        for (size_t i = 0; other && i < other->captured_count; i++, captured++)
            if (other == block && call->in[captured])
                lane->values[block->captured[i]] = ulp_tensor_view(call->in[captured]);
    }
    return ULP_OK;
}

enum ulp_status ulp_body_leave(struct ulp_lane *lane, size_t output_count,
                               struct ulp_tensor *outputs, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < output_count && status == ULP_OK; i++)
        status = take_output(lane, lane->block->outputs[i], &outputs[i], error);
    for (size_t i = 0; i < output_count && status != ULP_OK; i++)
        ulp_tensor_free(&outputs[i]);
    return status;
}

static enum ulp_status run_body(const struct ulp_call *call, const struct ulp_block *block,
                                size_t input_count, const struct ulp_tensor *const *inputs,
                                size_t output_count, struct ulp_tensor *outputs,
                                struct ulp_error *error)
{
    ULP_SCOPED(ulp_lane_free) struct ulp_lane lane = {0};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    memset(outputs, 0, output_count * sizeof *outputs);
    ULP_TRY(ulp_lane_create(&lane, call->host->lane->mix, block, call->budget, call->pool, error));
    lane.trace = call->trace;
    lane.probe = call->probe;
    ULP_TRY(ulp_arena_create(&arena, call->budget, error));
    ULP_TRY(ulp_body_enter(&lane, call, input_count, inputs, output_count, error));
    for (size_t s = 0; s < block->step_count; s++) {
        if (!block->steps[s].folded)
            ULP_TRY(run_body_step(&lane, &block->steps[s], arena, error));
        ulp_lane_drop(&lane, &block->steps[s]);
    }
    return ulp_body_leave(&lane, output_count, outputs, error);
}
