/* Which integers are amounts: a float that is cast to an integer and only computed with until it is
 * a float again is a quantised number, also where no operator says so (a kernel of 8 bits written
 * out as Cast, MatMulInteger, Cast), as is one of 8 bits that the graph returns (an image). That
 * two lanes differ by a step there is an error to measure; an integer that selects, counts or is
 * compared is a decision. */
#include <limits.h>
#include <string.h>

#include "run/program/program.h"

static bool is_arithmetic(const char *op)
{
    return ulp_is_word(op, "Abs Add Clip Max Min Mul Neg Sub");
}

static bool is_float(const struct ulp_block *block, int slot)
{
    return slot >= 0 && ulp_type_is_float(block->slots[slot].shape.type);
}

/* Does input i of the step stay an amount, or become a float? */
static bool keeps_amount(const struct ulp_block *block, const struct ulp_step *step, size_t i)
{
    const char *op = step->bound.op->name;
    const int out = step->output_count ? step->outputs[0] : -1;
    if (i >= step->own_input_count || i >= step->bound.input_slot_count || out < 0)
        return false;
    const struct ulp_slot *input = &step->bound.inputs[i];
    if (strcmp(op, "DequantizeLinear") == 0)
        return i == 0;
    if (strcmp(op, "Cast") == 0 && is_float(block, out))
        return true;
    return block->slots[out].amount && !input->number && !input->compared &&
           (strcmp(op, "Cast") == 0 || is_arithmetic(op) || step->bound.op->quantizes ||
            (step->bound.op->work == ULP_WORK_MOVE && input->kind != 'p'));
}

/* Is the float an integer that has only been handed on? Then it was chosen, not rounded. */
static bool is_chosen(const struct ulp_block *block, int slot)
{
    while (is_float(block, slot)) {
        const struct ulp_step *step = ulp_block_producer(block, slot);
        if (!step || !step->own_input_count ||
            (strcmp(step->bound.op->name, "Cast") != 0 && step->bound.op->work != ULP_WORK_MOVE))
            return false;
        slot = step->inputs[0];
    }
    return true;
}

static bool begins_amount(const struct ulp_block *block, const struct ulp_step *step)
{
    if (!step->output_count || step->outputs[0] < 0 || !block->slots[step->outputs[0]].amount)
        return false;
    if (strcmp(step->bound.op->name, "Cast") == 0 && is_float(block, step->inputs[0]))
        return !is_chosen(block, step->inputs[0]);
    for (size_t i = 0; i < step->own_input_count; i++) {
        const struct ulp_step *before = ulp_block_producer(block, step->inputs[i]);
        if (before && before->quantizes)
            return true;
    }
    return false;
}

void ulp_program_amounts(struct ulp_block *block)
{
    for (size_t s = 0; s < block->slot_count; s++) {
        struct ulp_program_slot *slot = &block->slots[s];
        const enum ulp_type type = slot->shape.type;
        slot->amount =
            type != ULP_TYPE_UNDEFINED && type != ULP_TYPE_BOOL && !ulp_type_is_float(type) &&
            (slot->last_use != INT_MAX || type == ULP_TYPE_UINT8 || type == ULP_TYPE_INT8);
    }
    for (size_t s = block->step_count; s-- > 0;) {
        const struct ulp_step *step = &block->steps[s];
        const size_t count = step->bound.blocks ? step->input_count : step->own_input_count;
        for (size_t i = 0; i < count; i++)
            if (step->inputs[i] >= 0 && !keeps_amount(block, step, i))
                block->slots[step->inputs[i]].amount = false;
    }
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        step->quantizes = step->bound.op->quantizes || begins_amount(block, step);
    }
}
