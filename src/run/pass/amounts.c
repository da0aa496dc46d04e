/* Integers that are amounts in steps of a scale: what QuantizeLinear gives, as far as only moves
 * and DequantizeLinear read it. */
#include "run/pass/amounts.h"

#include "ops/product/quantize_rows.h"

bool ulp_casts_amounts(const struct ulp_block *block, const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "Cast") == 0 && step->inputs[0] >= 0 &&
           step->outputs[0] >= 0 && !ulp_type_is_float(block->slots[step->inputs[0]].shape.type) &&
           !ulp_type_is_float(block->slots[step->outputs[0]].shape.type);
}

static bool is_moved(const struct ulp_block *block, const struct ulp_step *step)
{
    if (ulp_casts_amounts(block, step))
        return true;
    for (size_t i = 1; i < step->input_count; i++)
        if (step->inputs[i] >= 0 &&
            block->slots[step->inputs[i]].shape.type == block->slots[step->inputs[0]].shape.type)
            return false;
    return step->bound.op->work == ULP_WORK_MOVE && step->output_count == 1;
}

/* Does the step read its input i, such an amount, as a number with fractions, too? */
static bool reads_amount(const struct ulp_block *block, const struct ulp_step *step, size_t i,
                         const bool *amounts)
{
    if (i >= step->own_input_count && !step->bound.blocks)
        return true; /* of the integer form alone */
    return i == 0 && step->inputs[0] >= 0 &&
           (ulp_is_dequantizer(step->bound.op) ||
            (is_moved(block, step) && step->outputs[0] >= 0 && amounts[step->outputs[0]]));
}

void ulp_find_amounts(const struct ulp_block *block, bool *amounts)
{
    bool changed = true;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (!step->folded && step->output_count && step->outputs[0] >= 0 && step->inputs[0] >= 0)
            amounts[step->outputs[0]] = ulp_is_quantizer(step->bound.op) ||
                                        (amounts[step->inputs[0]] && is_moved(block, step));
    }
    while (changed) {
        changed = false;
        for (size_t s = block->step_count; s-- > 0;) {
            const struct ulp_step *step = &block->steps[s];
            for (size_t i = 0; i < step->input_count; i++) {
                const int slot = step->inputs[i];
                if (slot < 0 || !amounts[slot] || reads_amount(block, step, i, amounts))
                    continue;
                amounts[slot] = false;
                changed = true;
            }
            if (step->output_count && step->outputs[0] >= 0 && amounts[step->outputs[0]] &&
                !ulp_is_quantizer(step->bound.op) && !amounts[step->inputs[0]]) {
                amounts[step->outputs[0]] = false;
                changed = true;
            }
        }
    }
}
