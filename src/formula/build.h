/* Building a tape: the parser asks for instructions, the builder gives each distinct one a number
 * once and at the end keeps those that an output needs. Between parse.c and tape.c only. */
#pragma once

#include "base/memory/alloc.h"
#include "formula/tape.h"

/* Beside 16 for each operand, which derivatives need: far beyond any operator; bounds the time of
 * the search for equal instructions and every walk's scratch. */
#define ULP_TAPE_INSTRUCTIONS_MAX 1024

struct ulp_tape_builder {
    struct ulp_arena *arena; /* of everything under construction */
    struct ulp_instruction *instructions;
    int instruction_count, most; /* of instructions, and of constants */
    char **constants;
    int constant_count;
    bool too_long; /* beyond them */
};

/* The number of the instruction equal to *wanted, added when there is none; -1 where memory
 * ends, or with too_long set. Fills phase and per_row. */
int ulp_tape_build(struct ulp_tape_builder *builder, const struct ulp_instruction *wanted);
/* The instruction that gives a constant spelled by length bytes of text. */
int ulp_tape_build_constant(struct ulp_tape_builder *builder, const char *text, size_t length,
                            int column);

/* Parse text into the builder; outputs[i] becomes output i's instruction or -1. */
enum ulp_status ulp_tape_parse(struct ulp_tape_builder *builder, const char *text,
                               const char *const *operand_names, int operand_count,
                               const char *const *output_names, int output_count, int *outputs,
                               struct ulp_error *error);
