/* Values that a quantised graph stores as integers, besides those that products read: the results
 * of products, where a runtime's integer kernels end in QuantizeLinear, and what only moves these.
 */
#pragma once

#include "run/program/program.h"

struct ulp_stored_values {
    const struct ulp_step **product; /* by step: whose result its own is, stored; NULL: of none */
    int *as;                         /* by slot: the slot whose scale it has, too; its own */
};
/* Behind which step the result of the product is stored: itself, or the Relu (or Clip from 0 on)
 * that alone reads it, with the same numbers. NULL: it is an output of the graph, or a body reads
 * it, and it stays as it is. */
const struct ulp_step *ulp_stored_end(const struct ulp_block *block,
                                      const struct ulp_step *product);
/* Of products of these operators, words of a list; one of them may be that of a MatMul which
 * becomes a Gemm with the Add behind it. */
#define ULP_STORED_GEMM "MatMul+Add"
enum ulp_status ulp_stored_values_find(const struct ulp_program *program, const char *operators,
                                       struct ulp_arena *arena, struct ulp_stored_values *out,
                                       struct ulp_error *error);
