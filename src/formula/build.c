/* Building a tape: equal instructions are merged. */
#include "formula/build.h"

#include <string.h>

static bool is_same(const struct ulp_instruction *a, const struct ulp_instruction *b)
{
    return a->kind == b->kind && a->index == b->index && a->primitive == b->primitive &&
           a->reduction == b->reduction && a->kernel == b->kernel &&
           !memcmp(a->arguments, b->arguments, sizeof a->arguments);
}

/* A reduction is ready one phase after the strips it was fed in. */
static void find_phase(const struct ulp_instruction *all, struct ulp_instruction *instruction)
{
    instruction->phase = 0;
    instruction->per_row =
        instruction->kind != ULP_TAPE_OPERAND && instruction->kind != ULP_TAPE_SCAN;
    for (int i = 0; i < 3; i++) {
        if (instruction->arguments[i] < 0)
            continue;
        const struct ulp_instruction *argument = &all[instruction->arguments[i]];
        const int ready = argument->phase + (argument->kind == ULP_TAPE_REDUCTION);
        if (ready > instruction->phase)
            instruction->phase = ready;
        if (!argument->per_row && instruction->kind == ULP_TAPE_PRIMITIVE)
            instruction->per_row = false;
    }
}

int ulp_tape_build(struct ulp_tape_builder *builder, const struct ulp_instruction *wanted)
{
    for (int i = 0; i < builder->instruction_count; i++)
        if (is_same(&builder->instructions[i], wanted))
            return i;
    if (builder->instruction_count == builder->most) {
        builder->too_long = true;
        return -1;
    }
    struct ulp_instruction *instruction = &builder->instructions[builder->instruction_count];
    *instruction = *wanted;
    find_phase(builder->instructions, instruction);
    return builder->instruction_count++;
}

int ulp_tape_build_constant(struct ulp_tape_builder *builder, const char *text, size_t length,
                            int column)
{
    struct ulp_instruction instruction = {.kind = ULP_TAPE_CONSTANT,
                                          .index = builder->constant_count,
                                          .arguments = {-1, -1, -1},
                                          .column = column};
    for (int i = 0; i < builder->constant_count; i++)
        if (strlen(builder->constants[i]) == length && !memcmp(builder->constants[i], text, length))
            instruction.index = i;
    if (instruction.index == builder->constant_count) {
        if (builder->constant_count == builder->most) {
            builder->too_long = true;
            return -1;
        }
        builder->constants[instruction.index] = ulp_arena_text(builder->arena, text, length);
        if (!builder->constants[instruction.index])
            return -1;
        builder->constant_count++;
    }
    return ulp_tape_build(builder, &instruction);
}
