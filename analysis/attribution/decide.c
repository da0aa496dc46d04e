/* Decisions: what derivatives cannot say, given to the nodes that took it otherwise than the
 * reference. */
#include "analysis/attribution/attribution.h"
#include "base/error.h"
#include "formula/adjoint.h"

/* A formula jumps somewhere: a comparison, a rounding to integers. */
static bool has_jump(const struct ulp_tape *tape)
{
    for (int i = 0; tape && i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_PRIMITIVE &&
            ulp_primitive_is_decision(tape->instructions[i].primitive))
            return true;
    return false;
}

static bool can_jump(const struct ulp_bound *bound)
{
    if (bound->stops || bound->compares || has_jump(bound->tape))
        return true;
    for (size_t f = 0; bound->formulas && bound->op->formulas[f]; f++)
        if (has_jump(bound->formulas[f]))
            return true;
    return false;
}

/* The node whose integers, other than the reference's, the step reads; SIZE_MAX: it reads none. */
static size_t find_decided(const struct ulp_attributed *lane, const size_t *producers,
                           const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        if (slot >= 0 && producers[slot] != SIZE_MAX && lane->decided[producers[slot]] &&
            !ulp_element_is_float(lane->values[slot].element))
            return producers[slot];
    }
    return SIZE_MAX;
}

enum ulp_status ulp_attribution_decisions(const struct ulp_attributor *attributor,
                                          const struct ulp_attributed *lane, const bool *stopped,
                                          const double *remainders, double *decisions,
                                          double *missing, struct ulp_error *error)
{
    const struct ulp_block *block = attributor->program->main;
    const struct ulp_program_node *nodes = attributor->program->nodes;
    void *memory;
    ULP_TRY(ulp_allocate(&memory, block->slot_count + 1, sizeof(size_t), attributor->budget,
                         "producers of values", error));
    size_t *producers = memory;
    for (size_t s = 0; s < block->slot_count; s++)
        producers[s] = SIZE_MAX;
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t o = 0; o < block->steps[s].output_count; o++)
            if (block->steps[s].outputs[o] >= 0)
                producers[block->steps[s].outputs[o]] = block->steps[s].number;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        size_t root = step->number;
        /* integers may have passed through others: back to where they were floats */
        for (size_t next; (next = find_decided(lane, producers, nodes[root].step)) != SIZE_MAX;)
            root = next;
        const bool decided =
            root != step->number || lane->decided[root] || stopped[root] || can_jump(&step->bound);
        (decided ? decisions : missing)[decided ? root : step->number] += remainders[step->number];
    }
    ulp_free(memory);
    return ULP_OK;
}
