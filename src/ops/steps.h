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

/* Every step and sum in storage, one after the other, as in NAME-strict. */
void ulp_steps_make_strict(struct ulp_arithmetic *out);
/* Is this recurrence computed by the runtime's CPU provider, in FP32 between two Casts? */
bool ulp_steps_elsewhere(const struct ulp_arithmetic *arithmetic, const struct ulp_call *call);
