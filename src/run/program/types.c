/* The type that a product's weights are stored in and the type that it computes in, which differ
 * in a Q/DQ graph. */
#include <stdio.h>

#include "run/program/program.h"

/* Through DequantizeLinear, and what else only moves or renames a constant, to the constant. */
static enum ulp_type find_stored(const struct ulp_block *block, int slot)
{
    for (int depth = 0; slot >= 0 && depth < 8; depth++) {
        for (; !block->slots[slot].constant && block->slots[slot].outer >= 0; block = block->parent)
            slot = block->slots[slot].outer;
        if (block->slots[slot].constant)
            return block->slots[slot].constant->type;
        const struct ulp_step *step = ulp_block_producer(block, slot);
        if (!step || step->own_input_count == 0)
            break;
        const char *op = step->bound.op->name;
        if (!ulp_is_word(op, "DequantizeLinear Identity Transpose Reshape Cast"))
            break;
        slot = step->inputs[0];
    }
    return ULP_TYPE_UNDEFINED;
}

void ulp_program_node_types(const struct ulp_program *program, size_t lane, size_t index,
                            struct ulp_node_types *out)
{
    const struct ulp_block *block = program->nodes[index].block;
    const struct ulp_step *step = program->nodes[index].step;
    const struct ulp_arithmetic *arithmetic = ulp_program_node_arithmetic(program, lane, index);
    *out = (struct ulp_node_types){.weight = ULP_TYPE_UNDEFINED};
    out->moves = step->bound.op->work == ULP_WORK_MOVE;
    out->product = step->bound.op->work == ULP_WORK_CONTRACTION;
    if (!out->product)
        return;
    const struct ulp_integer_form *form = ulp_step_integer(&program->mixes[lane], block, step);
    out->integer = step->bound.op->integer_sums || (form && !(form->lanes & ULP_FORM_FLOATS));
    for (size_t i = step->own_input_count; i-- > 0;)
        if (ulp_is_weight(&step->bound, i))
            out->weight = find_stored(block, step->inputs[i]);
    snprintf(out->compute, sizeof out->compute, "%s",
             out->integer              ? "int8"
             : arithmetic->as_declared ? "declared"
                                       : arithmetic->factor.name);
}
