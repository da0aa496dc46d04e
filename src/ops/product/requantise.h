/* Sums of integers made quantised again without floats, as kernels of devices do: requant=. */
#pragma once

#include "ops/call.h"

/* multiplier * 2^(shift - 31), multiplier of 31 bits. */
struct ulp_fixed_scale {
    int32_t multiplier;
    int shift;
};

/* The nearest to a scale, halves away from zero; 0 where it is below 2^-32. */
struct ulp_fixed_scale ulp_fixed_scale_of(double scale);
/* sum * scale. DOUBLE: twice sum * multiplier is rounded to its upper 32 bits, halves up, and
 * shifted, halves away from zero; SINGLE: one shift, halves up. */
int32_t ulp_requantise(int32_t sum, struct ulp_fixed_scale scale, enum ulp_requant requant);
/* The same of a sum of 48 bits: one shift, halves up; DOUBLE: by the upper 16 bits of the
 * multiplier, rounded. */
int32_t ulp_requantise_wide(int64_t sum, struct ulp_fixed_scale scale, enum ulp_requant requant);

/* Is the call one whose rows are computed so, in place of its formula? Contractions of integers
 * with a quantised result, QLinearAdd and QLinearMul are. */
bool ulp_requantises(const struct ulp_call *call);
enum ulp_status ulp_requantise_rows(struct ulp_call *call, const struct ulp_rows *rows,
                                    const struct ulp_operand *operands,
                                    const struct ulp_operand *output);
