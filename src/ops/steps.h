/* What an operator computes in where a runtime's kernel for it rounds otherwise than the others
 * (steps=RUNTIME, steps.def). */
#pragma once

#include <ulpscope/format.h>

#include "ops/operator.h"

/* The arithmetic itself, or *room, which becomes the one by the rule of the operator's row: of the
 * call it reads bound, input_count and in (of these shapes, and axes where they are known). */
const struct ulp_arithmetic *ulp_steps_arithmetic(const struct ulp_arithmetic *arithmetic,
                                                  const struct ulp_call *call,
                                                  struct ulp_arithmetic *room);
/* The formula that the runtime's kernel has in the place of the operator's own; NULL: none. */
const char *ulp_steps_formula(const struct ulp_operator *op, enum ulp_variant variant);
/* The gate of a cell is right to so many steps to 1; 0: as the arithmetic says. */
int ulp_steps_grid(const struct ulp_call *call, const char *gate, const char *activation);

/* Every step and sum in storage, one after the other, as in NAME-strict. */
void ulp_steps_make_strict(struct ulp_arithmetic *out);
/* Are this operator's cells computed step by step in storage, its products on the matrix unit? */
bool ulp_steps_halve(const struct ulp_arithmetic *arithmetic, const struct ulp_operator *op);
