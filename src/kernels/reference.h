/* Contractions of the reference: accumulator mpfr:P. Every output is the correctly rounded exact
 * sum of exact products, so results depend on nothing but the operands: not on threads, instruction
 * set. */
#pragma once

#include "kernels/contract.h"

/* Computes the contraction when arithmetic->accumulator is mpfr:P. Factors are F32, F64 or WIDE
 * tensors of any precision, rounded to arithmetic->factor first when that is another format than
 * arithmetic->storage. The exact sum is rounded once to P bits in arithmetic->rounding (a sum that
 * is zero is +0, an empty one too), then, when problem->store, to arithmetic->storage. out is WIDE;
 * with store it may be any float element. Padding elements are skipped. */
enum ulp_status ulp_contract_wide(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error);
