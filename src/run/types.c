/* The type a node's weights are stored in and the type it computes in: they differ in a Q/DQ
 * graph. */
#include <stdio.h>
#include <string.h>

#include "run/plan.h"

/* Which input is the second factor; 0: no product. Integers: the operator's own definition says
 * so. */
static const struct product {
    const char *op;
    size_t weight;
    bool integer;
} products[] = {
    {"Conv", 1, false},         {"ConvTranspose", 1, false}, {"DeformConv", 1, false},
    {"Gemm", 1, false},         {"MatMul", 1, false},        {"FusedMatMul", 1, false},
    {"ConvInteger", 1, true},   {"MatMulInteger", 1, true},  {"QLinearConv", 3, true},
    {"QLinearMatMul", 3, true},
};

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
        if (strcmp(op, "DequantizeLinear") != 0 && strcmp(op, "Identity") != 0 &&
            strcmp(op, "Transpose") != 0 && strcmp(op, "Reshape") != 0 && strcmp(op, "Cast") != 0)
            break;
        slot = step->inputs[0];
    }
    return ULP_TYPE_UNDEFINED;
}

void ulp_plan_node_types(const struct ulp_plan *plan, size_t lane, size_t index,
                         struct ulp_node_types *out)
{
    const struct ulp_block *block = plan->nodes[index].block;
    const struct ulp_step *step = plan->nodes[index].step;
    const struct ulp_arithmetic *arithmetic = ulp_plan_node_arithmetic(plan, lane, index);
    *out = (struct ulp_node_types){.weight = ULP_TYPE_UNDEFINED};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strcmp(products[i].op, step->bound.op->name) == 0 &&
            products[i].weight < step->own_input_count) {
            out->product = true;
            out->integer = products[i].integer || ulp_step_integer(&plan->mixes[lane], block, step);
            out->weight = find_stored(block, step->inputs[products[i].weight]);
            snprintf(out->compute, sizeof out->compute, "%s",
                     out->integer              ? "int8"
                     : arithmetic->as_declared ? "declared"
                                               : arithmetic->factor.name);
        }
}
