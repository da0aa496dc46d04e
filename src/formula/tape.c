/* The tape: equal instructions merged as they are built, unneeded ones dropped at the end, the rest
 * kept in the order of the text, which is an order of dependency. */
#include "formula/build.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"

/* The tape with the memory it lives in. */
struct tape_owner {
    struct ulp_tape tape;
    struct ulp_arena *arena;
};

/* Copy what the outputs need into the tape, renumbered, in the same order. */
static bool keep_needed(struct ulp_tape *tape, struct ulp_arena *arena,
                        const struct ulp_tape_builder *builder, const int *outputs)
{
    const size_t most = (size_t)builder->most;
    bool *needed = ulp_arena_take(builder->arena, most, sizeof *needed);
    int *renumbered = ulp_arena_take(builder->arena, most, sizeof *renumbered),
        *constants = ulp_arena_take(builder->arena, most, sizeof *constants);
    if (!needed || !renumbered || !constants)
        return false;
    for (int i = 0; i < tape->output_count; i++)
        if (outputs[i] >= 0)
            needed[outputs[i]] = true;
    for (int i = builder->instruction_count - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < 3; k++)
            if (builder->instructions[i].arguments[k] >= 0)
                needed[builder->instructions[i].arguments[k]] = true;
    tape->instructions =
        ulp_arena_take(arena, (size_t)builder->instruction_count, sizeof *tape->instructions);
    tape->constants =
        ulp_arena_take(arena, (size_t)builder->constant_count + 1, sizeof *tape->constants);
    tape->outputs = ulp_arena_take(arena, (size_t)tape->output_count + 1, sizeof *tape->outputs);
    if (!tape->instructions || !tape->constants || !tape->outputs)
        return false;
    memset(constants, -1, most * sizeof *constants);
    for (int i = 0; i < builder->instruction_count; i++) {
        if (!needed[i])
            continue;
        struct ulp_instruction *instruction = &tape->instructions[tape->instruction_count];
        *instruction = builder->instructions[i];
        for (int k = 0; k < 3; k++)
            if (instruction->arguments[k] >= 0)
                instruction->arguments[k] = renumbered[instruction->arguments[k]];
        if (instruction->kind == ULP_TAPE_CONSTANT) {
            const char *text = builder->constants[instruction->index];
            if (constants[instruction->index] < 0) {
                tape->constants[tape->constant_count] = ulp_arena_copy(arena, text);
                if (!tape->constants[tape->constant_count])
                    return false;
                constants[instruction->index] = tape->constant_count++;
            }
            instruction->index = constants[instruction->index];
        }
        if (instruction->phase >= tape->phase_count)
            tape->phase_count = instruction->phase + 1;
        renumbered[i] = tape->instruction_count++;
    }
    for (int i = 0; i < tape->output_count; i++)
        tape->outputs[i] = outputs[i] < 0 ? -1 : renumbered[outputs[i]];
    return true;
}

static enum ulp_status make_tape(struct tape_owner *owner, struct ulp_tape_builder *builder,
                                 const char *text, const char *const *operand_names,
                                 const char *const *output_names, struct ulp_error *error)
{
    struct ulp_tape *tape = &owner->tape;
    const size_t most = ULP_TAPE_INSTRUCTIONS_MAX + 16 * (size_t)tape->operand_count;
    builder->most = (int)most;
    builder->instructions = ulp_arena_take(builder->arena, most, sizeof *builder->instructions);
    builder->constants = ulp_arena_take(builder->arena, most, sizeof *builder->constants);
    int *outputs = ulp_arena_take(builder->arena, (size_t)tape->output_count + 1, sizeof *outputs);
    tape->text = ulp_arena_copy(owner->arena, text);
    ULP_TRY(ulp_taken(builder->instructions && builder->constants && outputs && tape->text, error));
    ULP_TRY(ulp_tape_parse(builder, tape->text, operand_names, tape->operand_count, output_names,
                           tape->output_count, outputs, error));
    ULP_TRY(ulp_taken(keep_needed(tape, owner->arena, builder, outputs), error));
    return ULP_OK;
}

enum ulp_status ulp_tape_create(struct ulp_tape **out, const char *text,
                                const char *const *operand_names, int operand_count,
                                const char *const *output_names, int output_count,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    *out = NULL;
    if (strlen(text) >= INT_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "formula:1: the formula is longer than 2^31 bytes");
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL, *building = NULL;
    struct tape_owner *owner;
    ULP_TRY(ulp_arena_create(&arena, budget, error));
    ULP_TRY(ulp_arena_create(&building, budget, error));
    ULP_TAKE(owner, arena, 1, error);
    owner->arena = arena;
    owner->tape.operand_count = operand_count;
    owner->tape.output_count = output_count;
    struct ulp_tape_builder builder = {.arena = building};
    ULP_TRY(make_tape(owner, &builder, text, operand_names, output_names, error));
    *out = &owner->tape;
    arena = NULL; /* it is the tape's */
    return ULP_OK;
}

void ulp_tape_free(struct ulp_tape *tape)
{
    if (tape)
        ulp_arena_free(((struct tape_owner *)tape)->arena);
}

static bool is_exact(const struct ulp_tape *tape, const struct ulp_instruction *instruction,
                     int operand_count)
{
    const char *constant =
        instruction->kind == ULP_TAPE_CONSTANT ? tape->constants[instruction->index] : "";
    switch (instruction->kind) {
    case ULP_TAPE_OPERAND: return instruction->index < operand_count;
    case ULP_TAPE_CONSTANT: return strcmp(constant, "0") == 0 || strcmp(constant, "1") == 0;
    case ULP_TAPE_PRIMITIVE:
        return ulp_primitive_rows[instruction->primitive].result == ULP_RESULT_EXACT;
    case ULP_TAPE_REDUCTION:
    case ULP_TAPE_SCAN:
        return instruction->reduction == ULP_REDUCTION_MAX ||
               instruction->reduction == ULP_REDUCTION_MIN;
    case ULP_TAPE_ROW_SIZE: return false;
    }
    return false;
}

bool ulp_tape_reduces(const struct ulp_tape *tape)
{
    for (int i = 0; i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_REDUCTION ||
            tape->instructions[i].kind == ULP_TAPE_SCAN)
            return true;
    return false;
}

bool ulp_tape_is_exact(const struct ulp_tape *tape, int operand_count)
{
    for (int i = 0; i < tape->instruction_count; i++)
        if (!is_exact(tape, &tape->instructions[i], operand_count))
            return false;
    return true;
}
