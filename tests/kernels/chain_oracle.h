/* What a scalar chain is, written from include/ulpscope/format.h alone: exact MPFR values, one
 * rounding per step. */
#pragma once

#include <stddef.h>
#include <ulpscope/format.h>

/* The sum of x[k] * y[k], k < count, of factor-format values, in the arithmetic's order; output
 * number `output` of the node's stochastic stream. Not rounded to storage. */
double chain_oracle(const struct ulp_arithmetic *arithmetic, const double *x, const double *y,
                    size_t count, uint64_t stream, uint64_t output);
