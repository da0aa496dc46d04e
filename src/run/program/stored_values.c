#include "run/program/stored_values.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"

/* The step that alone reads the slot; NULL: several, or none. False: it leaves the graph. */
static bool find_reader(const struct ulp_block *block, int slot, const struct ulp_step **out)
{
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    *out = NULL;
    for (size_t r = 0; r < count; r++) {
        if (all[r].step < 0 || all[r].input >= (int)block->steps[all[r].step].own_input_count)
            return false;
        *out = count == 1 ? &block->steps[all[r].step] : NULL;
    }
    return count > 0;
}

/* Codes below that of 0 are 0 with a zero point at the end of their range: as Relu makes them. */
static bool ends_at_zero(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_attribute *least = ulp_node_attribute(step->bound.node, "min");
    const int slot = step->own_input_count > 1 ? step->inputs[1] : -1;
    const struct ulp_tensor *given = slot >= 0 ? block->slots[slot].constant : NULL;
    return strcmp(step->bound.op->name, "Relu") == 0 ||
           (strcmp(step->bound.op->name, "Clip") == 0 &&
            ((least && least->f == 0) ||
             (given && given->count == 1 && ulp_tensor_get(given, 0) == 0)));
}

const struct ulp_step *ulp_stored_end(const struct ulp_block *block, const struct ulp_step *product)
{
    const struct ulp_step *reader, *behind;
    const enum ulp_type type = block->slots[product->outputs[0]].shape.type;
    if ((type != ULP_TYPE_FLOAT && type != ULP_TYPE_UNDEFINED) ||
        !find_reader(block, product->outputs[0], &reader))
        return NULL;
    if (!reader || !ends_at_zero(block, reader))
        return product;
    return find_reader(block, reader->outputs[0], &behind) ? reader : NULL;
}

/* Products of matrices that an Add of a constant alone reads become a Gemm, whose bias is no
 * integer, where the runtime knows the shapes or the values are matrices. */
static bool becomes_gemm(const struct ulp_program *program, const struct ulp_step *product)
{
    const struct ulp_block *block = program->main;
    const struct ulp_step *reader;
    bool is_free = false;
    if (strcmp(product->bound.op->name, "MatMul") != 0 ||
        block->slots[product->inputs[1]].shape.rank != 2 ||
        !find_reader(block, product->outputs[0], &reader) || !reader ||
        strcmp(reader->bound.op->name, "Add") != 0)
        return false;
    for (size_t i = 0; i < ulp_model_input_count(program->model); i++) {
        const struct ulp_value_info info = ulp_model_input(program->model, i);
        is_free |= info.rank < 0;
        for (int d = 0; d < info.rank; d++)
            is_free |= info.dims[d] < 0;
    }
    const int other = reader->inputs[reader->inputs[0] == product->outputs[0]];
    return other >= 0 && block->slots[other].constant &&
           (!is_free || block->slots[product->inputs[0]].shape.rank == 2);
}

static bool is_asked(const struct ulp_program *program, const struct ulp_step *step,
                     const char *operators)
{
    return ulp_is_word(step->bound.op->name, operators) ||
           (ulp_is_word(ULP_STORED_GEMM, operators) && becomes_gemm(program, step));
}

static int find_root(const struct ulp_stored_values *values, int slot)
{
    while (values->as[slot] != slot)
        slot = values->as[slot];
    return slot;
}

enum kind { AS_IT_IS, STORED, STORED_POSITIVE }; /* behind a Relu, whose codes begin at 0 */

/* What a step that moves elements gives has the scale of what it takes, if that is stored. Values
 * with and without negative codes keep scales of their own: a Relu goes into its product's kernel
 * where 0 is the least code. */
static void join(const struct ulp_stored_values *values, const enum kind *kinds,
                 const struct ulp_step *step)
{
    const bool moves =
        step->bound.op->work == ULP_WORK_MOVE || strcmp(step->bound.op->name, "MaxPool") == 0;
    int from = -1;
    for (size_t i = 0; moves && i < step->own_input_count; i++) {
        const int root = step->inputs[i] >= 0 ? find_root(values, step->inputs[i]) : -1;
        if (root < 0 || kinds[root] == AS_IT_IS)
            continue;
        if (from >= 0 && kinds[root] != kinds[from])
            return;
        from = root;
    }
    for (size_t i = 0; from >= 0 && i < step->own_input_count; i++) {
        const int root = step->inputs[i] >= 0 ? find_root(values, step->inputs[i]) : -1;
        if (root >= 0 && kinds[root] != AS_IT_IS)
            values->as[root] = from;
    }
    for (size_t o = 0; from >= 0 && o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            values->as[step->outputs[o]] = from;
}

enum ulp_status ulp_stored_values_find(const struct ulp_program *program, const char *operators,
                                       struct ulp_arena *arena, struct ulp_stored_values *out,
                                       struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    ULP_TAKE(out->product, arena, block->step_count + 1, error);
    ULP_TAKE(out->as, arena, block->slot_count + 1, error);
    ULP_TAKE_ARRAY(enum kind, kinds, arena, block->slot_count + 1, error);
    for (size_t s = 0; s < block->slot_count; s++)
        out->as[s] = (int)s;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s],
                              *end = !step->folded && is_asked(program, step, operators)
                                         ? ulp_stored_end(block, step)
                                         : NULL;
        if (end) {
            out->product[end - block->steps] = step;
            kinds[end->outputs[0]] = end == step ? STORED : STORED_POSITIVE;
        }
    }
    for (size_t s = 0; s < block->step_count; s++)
        join(out, kinds, &block->steps[s]);
    for (size_t s = 0; s < block->slot_count; s++)
        out->as[s] = find_root(out, (int)s);
    return ULP_OK;
}
