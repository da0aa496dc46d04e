/* The adjoint of a tape is a tape: reverse-mode differentiation of a formula as another formula,
 * made from its instructions and the derivatives of primitives (columns of primitive.def). It runs
 * over the same rows, in any arithmetic. */
#pragma once

#include "formula/tape.h"

/* The cotangents of a tape's operands, as a tape whose operands are u0, u1, ... (the tape's own, in
 * its order), then g0, g1, ... (the cotangents of its outputs); its outputs are d0, d1, ... (of
 * each operand, one value an element). Freed with ulp_tape_free.
 *
 * Outputs whose instruction is per_row: spread[i] says that output i lies at every position of its
 * row, so that its cotangent is summed over the row; false: it is one value a row, and so is its
 * cotangent. spread NULL: all false. Of outputs the tape does not have nothing is read.
 *
 * To first order, with the winner of min, max and ?: as it is at the given values. A cotangent of 0
 * stays 0 where the derivative is infinite (the branch not taken of a formula). A largest (or
 * smallest) value that occurs several times in a row shares its cotangent equally. */
enum ulp_status ulp_tape_adjoint(struct ulp_tape **out, const struct ulp_tape *tape,
                                 const bool *spread, struct ulp_budget *budget,
                                 struct ulp_error *error);

/* Does the result of the primitive never follow its arguments continuously? */
bool ulp_primitive_is_decision(enum ulp_primitive primitive);
