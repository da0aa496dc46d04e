/* The fast path of the MPFR carrier: primitives on records of up to 256 bits, rounded to nearest
 * even exactly as MPFR rounds them. What it cannot decide it leaves to the caller, who asks MPFR:
 * so MPFR stays the definition. */
#pragma once

#include "number/strip.h"

/* Computes records 0, 1, ... of n and stops at the first that it cannot decide (zeros, infinities,
 * NaN, arguments or exponents out of range, a result too near the middle of two values): returns
 * how many it did, and has not touched the others. Operands as of ulp_strip_fn. */
typedef size_t ulp_wide_fn(int precision, void *out, const void *a, const void *b, size_t n);

/* NULL: there is none for that primitive and precision, or no memory for its tables. */
ulp_wide_fn *ulp_wide_function(enum ulp_primitive primitive, int precision);
/* *sum += x[0], x[1], ... of n records, one after the other, as that function does it: stops in
 * front of the first that it does not add, and returns how many it did. */
size_t ulp_wide_add_chain(int precision, void *sum, const void *x, size_t n);
