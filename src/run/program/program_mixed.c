/* Which type each node of a lane gets in a graph with types, and why some stay FLOAT. */
#include "run/program/program_mixed.h"

#include <string.h>

#include "base/error.h"
#include "ops/wide.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"

static const enum ulp_type graph_types[] = {ULP_TYPE_FLOAT, ULP_TYPE_FLOAT16, ULP_TYPE_BFLOAT16};
enum { GRAPH_TYPES = sizeof graph_types / sizeof *graph_types };

enum ulp_type ulp_mixed_type(const struct ulp_arithmetic *arithmetic)
{
    for (size_t t = 0; t < GRAPH_TYPES; t++)
        if (strcmp(arithmetic->storage.name, ulp_type_rows[graph_types[t]].format) == 0)
            return graph_types[t];
    return ULP_TYPE_UNDEFINED;
}

static bool is_work(const struct ulp_step *step)
{
    return !step->folded && !step->constant;
}

/* ---- lengths ---- */

/* Planning has computed the integers that come of these floats in FP32. */
static void mark_length(const struct ulp_program *program, const struct ulp_block *block, int slot,
                        struct ulp_mixed_types *types)
{
    if (slot < 0 || block->slots[slot].constant)
        return;
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    const struct ulp_step *step = ulp_block_producer(block, slot);
    if (!step || !is_work(step) || !block->slots[slot].known ||
        types->widened[step->number] == ULP_WIDENED_LENGTH)
        return;
    types->widened[step->number] = ULP_WIDENED_LENGTH;
    for (size_t i = 0; i < step->own_input_count; i++)
        mark_length(program, block, step->inputs[i], types);
}

static void find_lengths(const struct ulp_program *program, struct ulp_mixed_types *types)
{
    for (size_t n = 0; n < program->node_count; n++) {
        const struct ulp_step *step = program->nodes[n].step;
        for (size_t i = 0; i < step->own_input_count && step->folded; i++)
            mark_length(program, program->nodes[n].block, step->inputs[i], types);
    }
}

/* ---- types ---- */

static struct ulp_lowered count_lowered(const struct ulp_program_slot *slot,
                                        const struct ulp_arithmetic *arithmetic)
{
    return ulp_tensor_count_lowered(slot->constant, &arithmetic->storage, arithmetic->constants,
                                    ULP_ROUND_NEAREST_EVEN);
}

/* The file has a BatchNormalization's own parameters, lowered: a variance that the type does not
 * hold would be another there, while the lane never stores it. */
static bool loses_parameters(const struct ulp_block *block, const struct ulp_step *step,
                             const struct ulp_arithmetic *arithmetic)
{
    for (size_t i = 1; i <= ULP_NORM_PARAMETERS && step->norm && arithmetic->batchnorm_folded;
         i++) {
        const struct ulp_lowered lowered =
            count_lowered(&block->slots[step->inputs[i]], arithmetic);
        if (lowered.overflowed || lowered.underflowed)
            return true;
    }
    return false;
}

/* Does the step read an initializer that keeps its type in the file, as an input of the graph, and
 * that the arithmetic lowers otherwise than a Cast rounds it? */
static bool loses_inputs(const struct ulp_block *block, const struct ulp_step *step,
                         const struct ulp_arithmetic *arithmetic)
{
    for (size_t i = 0; i < step->own_input_count && arithmetic->constants != ULP_CONSTANTS_IEEE;
         i++) {
        const struct ulp_program_slot *slot =
            step->inputs[i] >= 0 ? &block->slots[step->inputs[i]] : NULL;
        if (!slot || !slot->constant || !slot->overridable || ulp_is_parameter(step, i))
            continue;
        const struct ulp_lowered lowered = count_lowered(slot, arithmetic);
        if (lowered.overflowed ||
            (lowered.underflowed && arithmetic->constants != ULP_CONSTANTS_SATURATED))
            return true;
    }
    return false;
}

/* Inputs that keep their declared type, as bits. */
static uint64_t find_fixed(const struct ulp_step *step)
{
    uint64_t fixed = 0;
    for (size_t i = 0; i < step->own_input_count && i < 64; i++)
        if (ulp_is_parameter(step, i))
            fixed |= UINT64_C(1) << i;
    return fixed;
}

/* Those, and inputs that have no floats. */
static uint64_t find_aside(const struct ulp_block *block, const struct ulp_step *step)
{
    uint64_t aside = find_fixed(step);
    for (size_t i = 0; i < step->own_input_count && i < 64; i++) {
        const enum ulp_type type =
            step->inputs[i] >= 0 ? block->slots[step->inputs[i]].shape.type : ULP_TYPE_UNDEFINED;
        if (type != ULP_TYPE_UNDEFINED && !ulp_type_is_float(type))
            aside |= UINT64_C(1) << i;
    }
    return aside;
}

/* The type that the model has for a node: its results' where they are known. */
static enum ulp_type find_declared(const struct ulp_program *program,
                                   const struct ulp_mixed_types *types, size_t n)
{
    const struct ulp_step *step = program->nodes[n].step;
    for (size_t o = 0; o < step->output_count; o++)
        if (ulp_type_is_float(types->outputs[n][o]) &&
            ulp_type_rows[types->outputs[n][o]].file_bits > 8)
            return types->outputs[n][o];
    const enum ulp_type type = ulp_step_type(program->nodes[n].block, step);
    return type == ULP_TYPE_UNDEFINED ? ULP_TYPE_FLOAT : type;
}

/* A lane that obeys declared types has of the narrow ones that which most nodes declare. */
static enum ulp_type find_low(const struct ulp_program *program, size_t lane,
                              const struct ulp_mixed_types *types)
{
    size_t counts[GRAPH_TYPES] = {0}, most = 0;
    if (!program->lanes[lane].as_declared)
        return ulp_mixed_type(&program->lanes[lane]);
    for (size_t n = 0; n < program->node_count; n++)
        for (size_t t = 1; t < GRAPH_TYPES && is_work(program->nodes[n].step); t++)
            counts[t] += find_declared(program, types, n) == graph_types[t];
    for (size_t t = 1; t < GRAPH_TYPES; t++)
        most = counts[t] > counts[most] ? t : most;
    return graph_types[most];
}

static enum ulp_type find_type(const struct ulp_program *program,
                               const struct ulp_mixed_types *types,
                               const struct ulp_arithmetic *arithmetic, size_t n)
{
    if (!arithmetic->as_declared)
        return ulp_mixed_type(arithmetic);
    const enum ulp_type declared = find_declared(program, types, n);
    for (size_t t = 0; t < GRAPH_TYPES; t++)
        if (declared == graph_types[t])
            return declared;
    return ULP_TYPE_UNDEFINED;
}

static enum ulp_status set_type(const struct ulp_program *program, size_t lane, size_t n,
                                struct ulp_mixed_types *types, struct ulp_error *error)
{
    const struct ulp_step *step = program->nodes[n].step;
    const struct ulp_arithmetic *arithmetic = ulp_mix_arithmetic(&program->mixes[lane], n);
    enum ulp_type *type = &types->node[n];
    if (!is_work(step))
        return ULP_OK;
    *type = find_type(program, types, arithmetic, n);
    if (*type == ULP_TYPE_UNDEFINED)
        return ulp_fail(
            error, ULP_ERROR_UNSUPPORTED,
            "%s stores in %s, which is no type of a graph with types: FLOAT, FLOAT16 and BFLOAT16 "
            "are",
            arithmetic->as_declared ? ulp_program_node_name(program, n) : arithmetic->name,
            arithmetic->as_declared ? ulp_type_name(find_declared(program, types, n))
                                    : arithmetic->storage.name);
    if (*type == ULP_TYPE_FLOAT)
        types->widened[n] = ULP_WIDENED_NOT;
    else if (types->widened[n] == ULP_WIDENED_NOT &&
             ulp_op_is_wide(step->node, step->opset, *type,
                            find_aside(program->nodes[n].block, step)))
        types->widened[n] = ULP_WIDENED_OPERATOR;
    else if (types->widened[n] == ULP_WIDENED_NOT &&
             loses_parameters(program->nodes[n].block, step, arithmetic))
        types->widened[n] = ULP_WIDENED_NORM;
    else if (types->widened[n] == ULP_WIDENED_NOT &&
             loses_inputs(program->nodes[n].block, step, arithmetic))
        types->widened[n] = ULP_WIDENED_INPUT;
    if (types->widened[n] != ULP_WIDENED_NOT)
        *type = ULP_TYPE_FLOAT;
    types->differs |= *type != find_declared(program, types, n);
    return ULP_OK;
}

static enum ulp_status set_outputs(const struct ulp_program *program, size_t n,
                                   struct ulp_mixed_types *types, struct ulp_arena *arena,
                                   struct ulp_error *error)
{
    const struct ulp_block *block = program->nodes[n].block;
    const struct ulp_step *step = program->nodes[n].step;
    ULP_TAKE_ARRAY(enum ulp_type, outputs, arena, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++) {
        const struct ulp_program_slot *slot =
            step->outputs[o] >= 0 ? &block->slots[step->outputs[o]] : NULL;
        outputs[o] = slot ? ulp_slot_type(slot) : ULP_TYPE_UNDEFINED;
    }
    types->outputs[n] = outputs;
    return ULP_OK;
}

enum ulp_status ulp_mixed_types_begin(const struct ulp_program *program,
                                      struct ulp_mixed_types *out, struct ulp_arena *arena,
                                      struct ulp_error *error)
{
    const size_t count = program->node_count + 1;
    *out = (struct ulp_mixed_types){.node = ulp_arena_take(arena, count, sizeof *out->node),
                                    .casts_first = program->lanes[0].steps == ULP_STEPS_ORT_CUDA,
                                    .widened = ulp_arena_take(arena, count, sizeof *out->widened),
                                    .outputs = ulp_arena_take(arena, count, sizeof *out->outputs)};
    ULP_TRY(ulp_taken(out->node && out->widened && out->outputs, error));
    for (size_t n = 0; n < program->node_count; n++)
        ULP_TRY(set_outputs(program, n, out, arena, error));
    return ULP_OK;
}

enum ulp_status ulp_mixed_types_find(const struct ulp_program *program, size_t lane,
                                     struct ulp_mixed_types *out, struct ulp_error *error)
{
    enum ulp_type first = ULP_TYPE_UNDEFINED;
    out->low = find_low(program, lane, out);
    out->constants = program->lanes[lane].constants;
    find_lengths(program, out);
    for (size_t n = 0; n < program->node_count; n++) {
        ULP_TRY(set_type(program, lane, n, out, error));
        if (first == ULP_TYPE_UNDEFINED)
            first = out->node[n];
        out->mixes |= out->node[n] != ULP_TYPE_UNDEFINED && out->node[n] != first;
    }
    return ULP_OK;
}

static bool has_unknown(const struct ulp_program *program, const struct ulp_mixed_types *types,
                        const struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t o = 0; o < block->steps[s].output_count && is_work(&block->steps[s]); o++)
            if (block->steps[s].outputs[o] >= 0 &&
                types->outputs[block->steps[s].number][o] == ULP_TYPE_UNDEFINED)
                return true;
    return block->parent && block->parent->owner && has_unknown(program, types, block->parent);
}

static bool is_unknown_body(const struct ulp_program *program, const struct ulp_mixed_types *types,
                            size_t b)
{
    const struct ulp_block *block = program->blocks[b];
    return !block->inlined_in && block->owner && has_unknown(program, types, block);
}

bool ulp_mixed_types_lack(const struct ulp_program *program, const struct ulp_mixed_types *types)
{
    bool lack = false;
    for (size_t b = 0; b < program->block_count && !lack; b++)
        lack = is_unknown_body(program, types, b);
    return lack;
}

void ulp_mixed_types_leave(const struct ulp_program *program, struct ulp_mixed_types *types)
{
    for (size_t b = 0; b < program->block_count; b++) {
        const struct ulp_block *block = program->blocks[b];
        const bool leave = is_unknown_body(program, types, b);
        for (size_t s = 0; s < block->step_count && leave; s++) {
            types->node[block->steps[s].number] = ULP_TYPE_UNDEFINED;
            types->widened[block->steps[s].number] = ULP_WIDENED_NOT;
        }
    }
}

/* ---- norms in more than one type ---- */

/* From opset 17 on ONNX Runtime makes one LayerNormalization of its nodes and passes over Casts in
 * front of them and before the scale; where that leaves input and parameters of two types it
 * refuses the whole model. What it looks for has a Pow: the square is a product instead. */
static bool has_one_type(const struct ulp_block *block, const struct ulp_idiom *idiom,
                         const struct ulp_mixed_types *types, enum ulp_type io)
{
    const int x = idiom->holes[ULP_IDIOM_X];
    const size_t holder = ulp_slot_holder(block, x);
    const enum ulp_type type = holder != ULP_NO_NODE      ? types->node[holder]
                               : io != ULP_TYPE_UNDEFINED ? io
                                                          : block->slots[x].shape.type;
    for (size_t i = 0; i < idiom->step_count; i++) {
        const struct ulp_step *step = &block->steps[idiom->steps[i]];
        if (is_work(step) && types->node[step->number] != type)
            return false;
    }
    return idiom->holes[ULP_IDIOM_BETA] >= 0; /* else more of it may be computed */
}

static bool is_square(const struct ulp_block *block, const struct ulp_step *step)
{
    double exponent;
    return ulp_step_is(step, "Pow") && is_work(step) &&
           ulp_slot_is_scalar(block, ulp_step_input(step, 1), &exponent) && exponent == 2 &&
           block->slots[step->inputs[1]].shape.rank <= block->slots[step->inputs[0]].shape.rank;
}

static enum ulp_status mark_squares(const struct ulp_program *program,
                                    const struct ulp_mixed_types *types, enum ulp_type io,
                                    struct ulp_mixed_node *nodes, struct ulp_arena *arena,
                                    struct ulp_error *error)
{
    for (size_t b = 0; b < program->block_count; b++) {
        const struct ulp_block *block = program->blocks[b];
        struct ulp_idiom *idioms;
        size_t count = 0;
        if (!block->inlined_in)
            ULP_TRY(ulp_idioms_find(block, arena, &idioms, &count, error));
        for (size_t i = 0; i < count; i++) {
            const bool one = idioms[i].kind != ULP_IDIOM_LAYER_NORM ||
                             has_one_type(block, &idioms[i], types, io);
            for (size_t s = 0; s < idioms[i].step_count && !one; s++) {
                const struct ulp_step *step = &block->steps[idioms[i].steps[s]];
                if (is_square(block, step))
                    nodes[step->number].squares = true;
            }
        }
    }
    return ULP_OK;
}

/* ---- the file ---- */

/* Does the node only hand its first input on, in no more elements? */
static bool hands_on(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_operator *op = step->bound.op;
    return op->work == ULP_WORK_MOVE && !ulp_step_is(step, "Cast") && step->output_count == 1 &&
           (op->route == ULP_ROUTE_SAME || op->route == ULP_ROUTE_INDEXED) &&
           step->outputs[0] >= 0 && step->own_input_count && step->inputs[0] >= 0 &&
           block->slots[step->outputs[0]].shape.count <= block->slots[step->inputs[0]].shape.count;
}

enum ulp_status ulp_mixed_types_write(const struct ulp_program *program,
                                      const struct ulp_mixed_types *types, enum ulp_type io,
                                      const char *path, struct ulp_mixed_written *out,
                                      struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(program->model), error));
    const size_t count = program->node_count + program->inlined_count;
    struct ulp_mixed_node *nodes = ulp_arena_take(arena, count + 1, sizeof *nodes);
    struct ulp_mixed_request request = {.model = program->model,
                                        .nodes = nodes,
                                        .node_count = count,
                                        .low = types->low,
                                        .constants = types->constants,
                                        .casts_first = types->casts_first,
                                        .io = io,
                                        .path = path};
    for (size_t n = 0; nodes && n < program->node_count; n++) {
        const struct ulp_step *step = program->nodes[n].step;
        nodes[n] = (struct ulp_mixed_node){.node = step->node,
                                           .call = step->call,
                                           .type = types->node[n],
                                           .fixed = find_fixed(step),
                                           .hands_on = hands_on(program->nodes[n].block, step),
                                           .outputs = types->outputs[n]};
    }
    for (size_t i = 0; nodes && i < program->inlined_count; i++)
        nodes[program->node_count + i] =
            (struct ulp_mixed_node){.node = program->inlined[i].node,
                                    .call = program->inlined[i].call,
                                    .branch = program->inlined[i].branch};
    ULP_TRY(nodes ? mark_squares(program, types, io, nodes, arena, error)
                  : ulp_out_of_memory(error));
    ulp_mixed_sort(nodes, count);
    return ulp_mixed_write_file(&request, out, error);
}
