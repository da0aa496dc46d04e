/* Steps that may be run as one: a contraction or a formula, and formulas behind it that go by the
 * element and read what is among them (ops/join.h). */
#include "ops/join.h"
#include "run/program/program.h"

/* Its one result, when that is a float of a known shape; NULL. */
static const struct ulp_program_slot *find_result(const struct ulp_block *block,
                                                  const struct ulp_step *step)
{
    const struct ulp_program_slot *slot =
        step->output_count == 1 && step->outputs[0] >= 0 ? &block->slots[step->outputs[0]] : NULL;
    return slot && !slot->constant && !step->settled && !step->constant && slot->shape.count &&
                   ulp_type_is_float(slot->shape.type) &&
                   ulp_type_rows[slot->shape.type].file_bits > 8
               ? slot
               : NULL;
}

/* Does the step read a result of steps [first, step)? */
static bool reads_any(const struct ulp_block *block, const struct ulp_step *step, size_t first)
{
    for (size_t i = 0; i < step->own_input_count; i++) {
        const struct ulp_step *from = ulp_block_producer(block, step->inputs[i]);
        if (from && from >= &block->steps[first] && from < step && !from->folded)
            return true;
    }
    return false;
}

/* Is it a formula whose run follows from shapes and constants alone, so that it may be run as one
 * of one step? */
static bool stands_alone(const struct ulp_block *block, const struct ulp_step *step)
{
    if (ulp_join_follows(&step->bound))
        return true;
    for (size_t i = 0; i < step->own_input_count; i++) {
        const struct ulp_program_slot *slot =
            step->inputs[i] >= 0 ? &block->slots[step->inputs[i]] : NULL;
        if (slot && !slot->constant && !ulp_type_is_float(slot->shape.type))
            return false;
    }
    return ulp_join_lays_rows(&step->bound) &&
           ulp_join_operand_count(&step->bound) <= ULP_JOIN_OPERANDS_MAX;
}

/* Steps from `first` on that make one; 0: it begins none. Each ends where all that was computed
 * before in it has had its last use. */
static size_t find_length(const struct ulp_block *block, size_t first)
{
    const struct ulp_program_slot *begin = find_result(block, &block->steps[first]);
    size_t members = 1, operands = ulp_join_operand_count(&block->steps[first].bound);
    size_t length = begin && stands_alone(block, &block->steps[first]) ? 1 : 0;
    if (!begin || !ulp_join_begins(&block->steps[first].bound))
        return length;
    int needed = begin->last_use;
    for (size_t s = first + 1; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (step->folded)
            continue;
        const struct ulp_program_slot *slot = find_result(block, step);
        operands += ulp_join_operand_count(&step->bound);
        if (!slot || slot->shape.type != begin->shape.type ||
            !ulp_tensor_same_shape(&slot->shape, &begin->shape) ||
            !ulp_join_follows(&step->bound) || !reads_any(block, step, first) ||
            ++members > ULP_JOIN_MEMBERS_MAX || operands > ULP_JOIN_OPERANDS_MAX)
            break;
        if (needed <= (int)s)
            length = s + 1 - first;
        needed = slot->last_use > needed ? slot->last_use : needed;
    }
    return length;
}

void ulp_program_find_joins(struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        step->joined = step->folded ? 0 : find_length(block, s);
        if (step->joined)
            s += step->joined - 1;
    }
}
