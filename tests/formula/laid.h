/* Six operands laid out every way an operand can be, a formula run over them, and the comparison,
 * bit for bit, with the oracle. */
#pragma once

#include "formula_test.h"

/* x, y one per element, z one per row, w one per position, s one, c a constant. */
#define LAID_OPERANDS 6
extern const char *const laid_names[LAID_OPERANDS];

struct laid {
    struct ulp_arithmetic arithmetic;
    struct ulp_rows rows;
    struct ulp_tensor tensors[LAID_OPERANDS];
    struct ulp_operand operands[LAID_OPERANDS];
    double *values[LAID_OPERANDS]; /* expanded, for the oracle */
};
void laid_create(struct laid *laid, const char *arithmetic, size_t row_count, size_t row_length,
                 bool specials, uint64_t seed);
void laid_free(struct laid *laid);

/* Does the tape's output have one value a row? */
bool is_per_row(const struct ulp_tape *tape, int output);
/* A new tensor: the tape's only output. */
struct ulp_tensor laid_run(const struct laid *laid, const struct ulp_tape *tape, int threads,
                           uint64_t node_key);
/* The formula over such operands: every element, bit for bit. */
void laid_check(const char *arithmetic, const char *formula, size_t row_count, size_t row_length,
                bool specials);
