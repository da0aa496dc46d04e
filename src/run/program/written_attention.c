/* Attention that a graph writes out as one step. The idioms (run/idiom) say where it is; the last
 * MatMul becomes the step, and what only it reads leaves the block. In all lanes of the plan: a
 * reference computes the same function of the same values, so that errors are the kernel's. */
#include <string.h>

#include "base/error.h"
#include "run/program/program.h"
#include "run/program/written.h"

/* Others may share its tapes: they are freed with the program. */
static enum ulp_status leave(struct ulp_program *program, const struct ulp_bound *bound,
                             struct ulp_error *error)
{
    ULP_GROW(program->removed, program->arena, program->removed_count, program->removed_capacity,
             error);
    program->removed[program->removed_count++] = *bound;
    return ULP_OK;
}

/* A list of numbers as an attribute. */
static enum ulp_status add_numbers(struct ulp_arena *arena, const char *name, const int64_t *from,
                                   size_t count, struct ulp_attribute *out, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(int64_t, numbers, arena, count + 1, error);
    memcpy(numbers, from, count * sizeof *from);
    *out = (struct ulp_attribute){.name = name,
                                  .kind = ULP_ATTRIBUTE_INTS,
                                  .count = count,
                                  .ints = numbers};
    return ULP_OK;
}

static enum ulp_status add_text(struct ulp_arena *arena, const char *name, const char *text,
                                struct ulp_attribute *out, struct ulp_error *error)
{
    *out = (struct ulp_attribute){.name = name,
                                  .kind = ULP_ATTRIBUTE_STRING,
                                  .s = ulp_arena_copy(arena, text)};
    return ulp_taken(out->s, error);
}

static enum ulp_status join_attention(struct ulp_program *program, struct ulp_block *block,
                                      const struct ulp_written *written, struct ulp_error *error)
{
    enum { SCALE, ROLES, BETWEEN, SHAPE, LAYOUT, DIMS, ATTRIBUTES };
    struct ulp_arena *arena = program->arena;
    struct ulp_step *step = &block->steps[written->steps[0]];
    const struct ulp_tensor *y = &block->slots[step->outputs[0]].shape;
    const size_t count = 3 + written->operand_count;
    struct ulp_attribute *attributes = ulp_arena_take(arena, ATTRIBUTES, sizeof *attributes);
    struct ulp_node *node = ulp_arena_take(arena, 1, sizeof *node);
    int *inputs = ulp_arena_take(arena, 2 * count, sizeof *inputs), *numbers = inputs + count;
    ULP_TRY(ulp_taken(attributes && node && inputs, error));
    memcpy(inputs, written->slots, count * sizeof *inputs);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (int)i;
    ULP_TAKE_ARRAY(float, scale, arena, 2, error); /* and what its float leaves */
    scale[0] = (float)written->scale;
    scale[1] = (float)(written->scale - scale[0]);
    attributes[SCALE] = (struct ulp_attribute){.name = "scale",
                                               .kind = ULP_ATTRIBUTE_FLOATS,
                                               .count = 2,
                                               .floats = scale};
    ULP_TRY(add_text(arena, "roles", written->roles, &attributes[ROLES], error));
    ULP_TRY(add_text(arena, "between", written->between, &attributes[BETWEEN], error));
    ULP_TRY(add_numbers(arena, "shape", y->dims, (size_t)y->rank, &attributes[SHAPE], error));
    ULP_TRY(add_numbers(arena, "layout", (const int64_t *)written->layout,
                        sizeof written->layout / (sizeof(int64_t)), &attributes[LAYOUT], error));
    ULP_TRY(add_numbers(arena, "dims", written->dims[0], 4 * written->operand_count,
                        &attributes[DIMS], error));
    *node = *step->bound.node;
    node->attributes = attributes;
    node->attribute_count = ATTRIBUTES;
    node->inputs = numbers;
    node->input_count = count;
    struct ulp_bound bound;
    ULP_TRY(leave(program, &step->bound, error));
    ULP_TRY(ulp_bind_row(&bound, &ulp_operator_written_attention, node, step->opset, arena, error));
    bound.key = step->bound.key;
    step->bound = bound;
    ulp_program_charge_prepared(program, &step->bound);
    step->inputs = inputs;
    step->input_count = step->own_input_count = count;
    return ULP_OK;
}

/* Steps that are marked leave. */
static enum ulp_status drop_joined(struct ulp_program *program, struct ulp_block *block,
                                   const bool *dropped, struct ulp_error *error)
{
    size_t kept = 0;
    for (size_t s = 0; s < block->step_count; s++) {
        if (!dropped[s]) {
            block->steps[kept++] = block->steps[s];
            continue;
        }
        for (size_t o = 0; o < block->steps[s].output_count; o++)
            if (block->steps[s].outputs[o] >= 0)
                block->slots[block->steps[s].outputs[o]].producer = -1;
        ULP_TRY(leave(program, &block->steps[s].bound, error));
    }
    block->step_count = kept;
    return ULP_OK;
}

static void stay_apart(struct ulp_program *program, const struct ulp_block *block, int root,
                       const char *why)
{
    if (program->written.apart++)
        return;
    program->written.node = block->steps[root].name;
    program->written.why = why;
}

static enum ulp_status join_all(struct ulp_program *program, struct ulp_block *block,
                                struct ulp_arena *memory, struct ulp_error *error)
{
    struct ulp_idiom *idioms;
    size_t count;
    struct ulp_written written;
    const char *why;
    ULP_TAKE_ARRAY(bool, dropped, memory, block->step_count + 1, error);
    ULP_TAKE_ARRAY(const struct ulp_idiom *, softmaxes, memory, block->step_count + 1, error);
    ULP_TRY(ulp_idioms_find(block, memory, &idioms, &count, error));
    for (size_t i = 0; i < count; i++)
        if (idioms[i].kind == ULP_IDIOM_SOFTMAX && !softmaxes[idioms[i].root])
            softmaxes[idioms[i].root] = &idioms[i];
    for (size_t s = 0; s < block->step_count; s++) {
        if (block->steps[s].folded || !ulp_written_find(block, (int)s, softmaxes, &written, &why))
            continue;
        if (why) {
            stay_apart(program, block, (int)s, why);
            continue;
        }
        program->written.joined++;
        ULP_TRY(join_attention(program, block, &written, error));
        for (size_t i = 1; i < written.step_count; i++)
            dropped[written.steps[i]] = true;
    }
    return drop_joined(program, block, dropped, error);
}

/* The steps of a program are those of all its lanes; what is exact anyway may stand beside. */
static enum ulp_status check_lanes(const struct ulp_program *program, struct ulp_error *error)
{
    enum { EXACT_BITS = 53 };
    for (size_t l = 0; l < program->lane_count && program->written.joined; l++)
        if (!program->lanes[l].attention_joined &&
            (program->lanes[l].as_declared || program->lanes[l].storage.precision < EXACT_BITS))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "written-attention=kernel (which formats of caches bring) makes other "
                            "nodes of the graph, which all arithmetics of a run have: add it to "
                            "'%s', too, or run that by itself",
                            program->lanes[l].name);
    return ULP_OK;
}

enum ulp_status ulp_program_join_attention(struct ulp_program *program, struct ulp_block *block,
                                           struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, &program->budget, error));
    ULP_TRY(join_all(program, block, memory, error));
    return check_lanes(program, error);
}
