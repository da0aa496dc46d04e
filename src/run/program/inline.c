/* Replacing an If whose condition is known while compiling by the steps of its branch, as a call is
 * replaced by its function. Exporters leave such Ifs wherever a script asked for a shape. */
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "run/program/program.h"

static int find_slot(const struct ulp_block *block, int slot)
{
    while (slot >= 0 && block->slots[slot].same_as >= 0)
        slot = block->slots[slot].same_as;
    return slot;
}

/* The slots renumbered: by `map`, or (NULL) what a block's own slots stand for. */
static enum ulp_status renumber(struct ulp_program *program, const struct ulp_block *block,
                                const int *map, const int **slots, size_t count,
                                struct ulp_error *error)
{
    const size_t room = count + ULP_INPUTS_LOOKED_AT;
    ULP_TAKE_ARRAY(int, renumbered, program->arena, room, error);
    for (size_t i = 0; i < room; i++)
        renumbered[i] = i >= count || (*slots)[i] < 0 ? -1
                        : map                         ? map[(*slots)[i]]
                                                      : find_slot(block, (*slots)[i]);
    *slots = renumbered;
    return ULP_OK;
}

/* The step and what its bodies capture, in terms of `block`. */
static enum ulp_status move_step(struct ulp_program *program, struct ulp_block *block,
                                 const int *map, struct ulp_step *step, struct ulp_error *error)
{
    ULP_TRY(renumber(program, block, map, &step->inputs, step->input_count, error));
    ULP_TRY(renumber(program, block, map, &step->outputs, step->output_count, error));
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++) {
        struct ulp_block *body = step->bound.blocks[a];
        for (size_t i = 0; body && i < body->captured_count; i++) {
            int *outer = &body->slots[body->captured[i]].outer;
            *outer = map ? map[*outer] : find_slot(block, *outer);
        }
        if (body)
            body->parent = block;
    }
    return ULP_OK;
}

enum ulp_status ulp_program_resolve(struct ulp_program *program, struct ulp_block *block,
                                    struct ulp_error *error)
{
    return renumber(program, block, NULL, &block->outputs, block->output_count, error);
}

enum ulp_status ulp_program_resolve_step(struct ulp_program *program, struct ulp_block *block,
                                         struct ulp_step *step, struct ulp_error *error)
{
    return move_step(program, block, NULL, step, error);
}

struct ulp_block *ulp_program_known_branch(const struct ulp_block *block,
                                           const struct ulp_step *step)
{
    if (!step->bound.blocks || step->bound.op->domain || strcmp(step->bound.op->name, "If") != 0 ||
        step->inputs[0] < 0)
        return NULL;
    const struct ulp_tensor *condition = block->slots[step->inputs[0]].constant;
    if (!condition || condition->count != 1 || ulp_element_is_float(condition->element))
        return NULL;
    const char *wanted = ulp_tensor_get_int(condition, 0) ? "then_branch" : "else_branch";
    for (size_t a = 0; a < step->bound.attribute_count; a++) {
        struct ulp_block *branch = step->bound.blocks[a];
        if (branch && strcmp(step->bound.attribute_slots[a].name, wanted) == 0)
            return branch->input_count == 0 && branch->output_count == step->output_count ? branch
                                                                                          : NULL;
    }
    return NULL;
}

/* Where each of the branch's values lives in the block. What the branch computes for an output
 * takes the If's own slot; the If's slot of a captured value, a constant or a value given twice
 * comes to stand for another. */
static int *place_values(struct ulp_program *program, struct ulp_block *block,
                         const struct ulp_step *step, const struct ulp_block *branch)
{
    int *map = ulp_arena_take(program->arena, branch->slot_count + 1, sizeof *map);
    if (!map)
        return NULL;
    for (size_t v = 0; v < branch->slot_count; v++)
        map[v] = branch->slots[v].outer;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && map[branch->outputs[o]] < 0 &&
            !branch->slots[branch->outputs[o]].constant)
            map[branch->outputs[o]] = step->outputs[o];
    for (size_t v = 0; v < branch->slot_count; v++) {
        if (map[v] >= 0)
            continue;
        map[v] = ulp_block_add_slot(program, block, branch->slots[v].name);
        if (map[v] < 0)
            return NULL;
        struct ulp_program_slot *slot = &block->slots[map[v]];
        slot->info = branch->slots[v].info;
        slot->overridable = branch->slots[v].overridable;
        ulp_slot_set_constant(slot, branch->slots[v].constant);
    }
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && map[branch->outputs[o]] != step->outputs[o])
            block->slots[step->outputs[o]].same_as = map[branch->outputs[o]];
    return map;
}

static enum ulp_status note_inlined(struct ulp_program *program, const struct ulp_step *step,
                                    const struct ulp_block *branch, struct ulp_error *error)
{
    ULP_GROW(program->inlined, program->arena, program->inlined_count, program->inlined_capacity,
             error);
    size_t a = 0;
    while (step->bound.blocks[a] != branch)
        a++;
    program->inlined[program->inlined_count++] =
        (struct ulp_inlined){step->node, step->call, step->bound.attribute_slots[a].name};
    return ULP_OK;
}

enum ulp_status ulp_program_inline(struct ulp_program *program, struct ulp_block *block,
                                   const struct ulp_step *step, struct ulp_block *branch,
                                   struct ulp_error *error)
{
    const int *map = place_values(program, block, step, branch);
    ULP_TRY(ulp_taken(map, error));
    for (size_t s = 0; s < branch->step_count; s++)
        ULP_TRY(move_step(program, block, map, &branch->steps[s], error));
    branch->inlined_in = block;
    return note_inlined(program, step, branch, error);
}
