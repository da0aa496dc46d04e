/* The parts of check_formula, one file per part, and what they share. */
#pragma once

#include "base/random.h"
#include "formula/layout.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define FORMULAS "formula.cases"

/* A reproducible source of numbers. */
struct source {
    uint64_t key, counter;
};
size_t draw(struct source *source, size_t below);
/* A value of the format: mostly within [-4, 4], now and then a zero of either sign, an infinity,
 * NaN, the largest number, or a subnormal, when specials is set. */
double draw_value(struct source *source, const struct ulp_format *format, bool specials);

/* A float tensor as a lane of that arithmetic stores it, elements set from values (exact) or
 * cleared when NULL. */
struct ulp_tensor make_tensor(const struct ulp_arithmetic *arithmetic, int rank,
                              const int64_t *dims, const double *values);
struct ulp_tape *make_tape(const char *text, const char *const *operand_names, int operand_count,
                           int output_count);
/* ulp_tape_run by the caller's thread alone. */
enum ulp_status run_tape(const struct ulp_tape *tape, const struct ulp_arithmetic *arithmetic,
                         const struct ulp_rows *rows, const struct ulp_operand *operands,
                         const struct ulp_operand *outputs, struct ulp_error *error);
