/* Last uses, costs and numbers of the steps of a finished block. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/function/math.h"
#include "run/lane.h"
#include "run/program/program.h"

/* Does the step use its input i as more than a parameter? A captured value: does a body? */
static bool uses_data(const struct ulp_step *step, size_t i)
{
    size_t at = step->own_input_count;
    if (!step->bound.blocks || i < at)
        return !ulp_is_parameter(step, i);
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        const struct ulp_block *body = step->bound.blocks[a];
        if (body && i < at + body->captured_count)
            return body->slots[body->captured[i - at]].data;
        at += body ? body->captured_count : 0;
    }
    return true;
}

/* Are the step's results constants that it only moves? Not those of a Cast, which may round. */
static bool moves_constants(const struct ulp_block *block, const struct ulp_step *step,
                            const bool *moved)
{
    if (step->folded || step->bound.op->work != ULP_WORK_MOVE ||
        strcmp(step->bound.op->name, "Cast") == 0)
        return false;
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant &&
            !moved[step->inputs[i]])
            return false;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && !block->slots[step->outputs[o]].known)
            return false;
    return true;
}

static bool any_is(const struct ulp_step *step, const bool *flags)
{
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && flags[step->outputs[o]])
            return true;
    return false;
}

static bool is_data(const struct ulp_block *block, const struct ulp_step *step)
{
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0 && block->slots[step->outputs[o]].data)
            return true;
    return false;
}

/* A scale behind an Identity or Reshape is a parameter like one that is read at once: what is made
 * by moving constants, and used as parameters alone, is a constant of all lanes. Not what bodies
 * capture, which lanes hold. */
static enum ulp_status fold_parameters(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error)
{
    bool *moved = ulp_arena_take(program->arena, block->slot_count + 1, sizeof *moved);
    bool *captured = ulp_arena_take(program->arena, block->slot_count + 1, sizeof *captured);
    ULP_TRY(ulp_taken(moved && captured, error));
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const bool moves = moves_constants(block, step, moved);
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0)
                moved[step->outputs[o]] = moves;
    }
    for (size_t i = 0; i < block->output_count; i++)
        block->slots[block->outputs[i]].data = true;
    for (size_t s = block->step_count; s-- > 0;) {
        struct ulp_step *step = &block->steps[s];
        const bool folds =
            moves_constants(block, step, moved) && !is_data(block, step) && !any_is(step, captured);
        for (size_t o = 0; o < step->output_count && folds; o++)
            if (step->outputs[o] >= 0)
                block->slots[step->outputs[o]].constant = block->slots[step->outputs[o]].known;
        step->folded |= folds;
        for (size_t i = 0; i < step->input_count && !folds; i++)
            if (step->inputs[i] >= 0) {
                block->slots[step->inputs[i]].data |= uses_data(step, i);
                captured[step->inputs[i]] |= step->bound.blocks && i >= step->own_input_count;
            }
    }
    return ULP_OK;
}

/* Does the step hand a constant on as it is, under another name or shape? */
static bool hands_on(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_operator *op = step->bound.op;
    if (step->folded || step->bound.blocks || op->work != ULP_WORK_MOVE ||
        op->route != ULP_ROUTE_SAME || strncmp(op->name, "Cast", 4) == 0 ||
        step->output_count != 1 || step->outputs[0] < 0)
        return false;
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant)
            return false;
    const struct ulp_tensor *constant =
                                step->inputs[0] < 0 ? NULL : block->slots[step->inputs[0]].constant,
                            *shape = &block->slots[step->outputs[0]].shape;
    return constant && ulp_element_is_float(constant->element) &&
           constant->element != ULP_ELEMENT_PACKED && shape->type == constant->type &&
           shape->count == constant->count;
}

/* Tied weights come as an Identity for each layer, and copies of them would cost as much as the
 * rest of the model. Where every reader takes a constant in the element it is stored in, the
 * step's result is a view of the constant. Not what is an output, what a body captures, or what a
 * step hands on again. */
static enum ulp_status find_aliases(struct ulp_program *program, struct ulp_block *block,
                                    struct ulp_error *error)
{
    ULP_TAKE_ARRAY(bool, taken, program->arena, block->slot_count + 1, error);
    for (size_t i = 0; i < block->output_count; i++)
        taken[block->outputs[i]] = true;
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t i = 0; i < block->steps[s].input_count; i++) {
            const struct ulp_step *step = &block->steps[s];
            if (step->inputs[i] >= 0 && (step->bound.blocks || i >= step->own_input_count ||
                                         ulp_is_parameter(step, i) || !ulp_takes_mixed(step, i)))
                taken[step->inputs[i]] = true;
        }
    for (size_t s = 0; s < block->step_count; s++)
        block->steps[s].alias =
            hands_on(block, &block->steps[s]) && !taken[block->steps[s].outputs[0]];
    return ULP_OK;
}

static void find_settled(struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        step->settled = !step->folded && !step->bound.blocks;
        for (size_t i = 0; i < step->input_count && step->settled; i++) {
            const struct ulp_step *from = ulp_block_producer(block, step->inputs[i]);
            step->settled = step->inputs[i] < 0 || block->slots[step->inputs[i]].constant ||
                            (from && from->settled);
        }
    }
}

static enum ulp_status set_last_uses(struct ulp_program *program, struct ulp_block *block,
                                     struct ulp_error *error)
{
    size_t *dead_counts =
        ulp_arena_take(program->arena, block->step_count + 1, sizeof *dead_counts);
    int *dead = ulp_arena_take(program->arena, block->slot_count + 1, sizeof *dead);
    ULP_TRY(ulp_taken(dead_counts && dead, error));
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        for (size_t i = 0; i < step->input_count; i++)
            if (step->inputs[i] >= 0)
                block->slots[step->inputs[i]].last_use = (int)s;
        for (size_t i = 0; i < step->output_count; i++)
            if (step->outputs[i] >= 0)
                block->slots[step->outputs[i]].last_use = (int)s; /* until a later step uses it */
    }
    for (size_t i = 0; i < block->output_count; i++)
        block->slots[block->outputs[i]].last_use = INT_MAX;
    for (size_t s = 0; s < block->step_count; s++)
        if (block->steps[s].alias) { /* the constant must be there as long as its views are */
            const int end = block->slots[block->steps[s].outputs[0]].last_use;
            struct ulp_program_slot *constant = &block->slots[block->steps[s].inputs[0]];
            constant->last_use = constant->last_use > end ? constant->last_use : end;
        }
    for (size_t v = 0; v < block->slot_count; v++)
        if (block->slots[v].last_use >= 0 && block->slots[v].last_use != INT_MAX)
            dead_counts[block->slots[v].last_use]++;
    size_t next = 0;
    for (size_t s = 0; s < block->step_count; s++) {
        block->steps[s].dead = dead + next;
        next += dead_counts[s];
    }
    for (size_t v = 0; v < block->slot_count; v++)
        if (block->slots[v].last_use >= 0 && block->slots[v].last_use != INT_MAX) {
            struct ulp_step *step = &block->steps[block->slots[v].last_use];
            dead[(size_t)(step->dead - dead) + step->dead_count++] = (int)v;
        }
    return ULP_OK;
}

/* ---- costs ---- */

/* Products of one sum. Where the second factor is a matrix its columns are the sums, where it is a
 * convolution's its first axis gives the output's channels. Else (batches of matrices, gates) what
 * its axes are is not known here: m k values and k n values give m n sums. */
static double estimate_sum(const struct ulp_tensor *first, const struct ulp_tensor *second,
                           const struct ulp_tensor *out)
{
    const double count = (double)second->count;
    if (second->rank == 0 || out->count == 0)
        return count;
    if (second->rank <= 2)
        return count / ulp_math_max(1, (double)second->dims[second->rank - 1]);
    if (second->rank == out->rank && second->dims[0] == out->dims[1])
        return count / ulp_math_max(1, (double)second->dims[0]);
    return sqrt((double)first->count * count / (double)out->count);
}

static const struct ulp_tensor *shape_of(const struct ulp_block *block, int slot)
{
    const struct ulp_program_slot *value = &block->slots[slot];
    return value->constant ? value->constant : &value->shape;
}

static double estimate_node(const struct ulp_block *block, const struct ulp_step *step)
{
    double elements = 1;
    size_t second = 1;
    for (size_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] >= 0)
            elements += (double)block->slots[step->outputs[i]].shape.count;
    while (second < step->own_input_count && step->bound.weights &&
           !ulp_is_weight(&step->bound, second))
        second++;
    if (step->bound.op->work != ULP_WORK_CONTRACTION || second >= step->own_input_count ||
        step->inputs[0] < 0 || step->inputs[second] < 0 || step->outputs[0] < 0)
        return elements;
    return elements * (1 + estimate_sum(shape_of(block, step->inputs[0]),
                                        shape_of(block, step->inputs[second]),
                                        &block->slots[step->outputs[0]].shape));
}

/* How often a body will run, as far as compiling knows; at least once. */
static double estimate_iterations(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_program_slot *slot =
        step->own_input_count && step->inputs[0] >= 0 ? &block->slots[step->inputs[0]] : NULL;
    double iterations = 1;
    if (slot && strcmp(step->bound.op->name, "Loop") == 0 && slot->constant &&
        slot->constant->count == 1)
        iterations = (double)ulp_tensor_get_int(slot->constant, 0);
    if (strcmp(step->bound.op->name, "Scan") == 0 && step->inputs[step->own_input_count - 1] >= 0) {
        const struct ulp_tensor *scanned =
            &block->slots[step->inputs[step->own_input_count - 1]].shape;
        iterations = scanned->rank > 0 ? (double)scanned->dims[0] : 1;
    }
    return iterations >= 1 && iterations <= 1e6 ? iterations : 1;
}

/* The dearest body of an If, the iterations of a Loop or Scan. */
static double estimate_bodies(const struct ulp_block *block, const struct ulp_step *step)
{
    double most = 0;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++)
        if (step->bound.blocks[a] && step->bound.blocks[a]->cost > most)
            most = step->bound.blocks[a]->cost;
    return most * (step->bound.blocks ? estimate_iterations(block, step) : 1);
}

enum ulp_status ulp_program_order(struct ulp_program *program, struct ulp_block *block,
                                  struct ulp_error *error)
{
    ULP_TRY(fold_parameters(program, block, error));
    ULP_TRY(find_aliases(program, block, error));
    find_settled(block);
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        step->cost = step->folded ? 0 : estimate_node(block, step) + estimate_bodies(block, step);
        block->cost += step->cost;
    }
    ULP_TRY(set_last_uses(program, block, error));
    ULP_TRY(ulp_block_find_readers(program, block, error));
    ulp_program_find_behind(block);
    return ULP_OK;
}

/* ---- numbers ---- */

static size_t count_nodes(const struct ulp_block *block)
{
    size_t count = block->step_count;
    for (size_t s = 0; s < block->step_count; s++)
        for (int a = 0; a < ULP_ATTRIBUTES_MAX && block->steps[s].bound.blocks; a++)
            if (block->steps[s].bound.blocks[a])
                count += count_nodes(block->steps[s].bound.blocks[a]);
    return count;
}

/* The nodes of bodies, of an If's then_branch first, come before the node that has them, as they
 * run. */
static void number_nodes(struct ulp_program *program, struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        for (int a = ULP_ATTRIBUTES_MAX - 1; a >= 0 && step->bound.blocks; a--)
            if (step->bound.blocks[a]) {
                step->bound.blocks[a]->owner = step;
                number_nodes(program, step->bound.blocks[a]);
            }
        step->number = program->node_count;
        program->nodes[program->node_count++] = (struct ulp_program_node){block, step};
    }
}

enum ulp_status ulp_program_number(struct ulp_program *program, struct ulp_error *error)
{
    ULP_TAKE(program->nodes, program->arena, count_nodes(program->main) + 1, error);
    number_nodes(program, program->main);
    return ULP_OK;
}

size_t ulp_slot_holder(const struct ulp_block *block, int slot)
{
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    const struct ulp_step *producer = ulp_block_producer(block, slot);
    return block->slots[slot].constant ? ULP_NO_NODE
           : producer                  ? producer->number
           : block->owner              ? block->owner->number
                                       : ULP_NO_NODE;
}
