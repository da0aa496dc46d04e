/* Operands of matrix units: random, and of the kinds that sums are lost by. `state` counts draws.
 */
#pragma once

#include "kernels/unit/unit.h"

enum regime {
    ANY_BITS,       /* random patterns, NaN and infinities among them */
    FINITE_BITS,    /* random patterns without specials */
    NORMAL,         /* sums of uniforms around 0 */
    SPARSE,         /* two in three are zeros of either sign */
    SUBNORMAL,      /* exponents around the smallest */
    CANCELLING,     /* products in pairs of opposite sign, nearly or exactly equal */
    LARGE,          /* exponents near the largest */
    EDGES,          /* zeros, smallest, largest, 1 and its neighbours, infinities, NaN */
    DOMINANT,       /* one product far above the others */
    FULL,           /* significands all ones, exponents and signs alike: the largest sums */
    RARE,           /* ordinary, with one element in 500 infinite or NaN */
    SOME,           /* one in 100 */
    HALF,           /* one in two, and zeros among the others */
    INFINITE_LINES, /* a line in four: one infinity or NaN nearly everywhere */
    /* random exponents so low that products fall below FP32's range, and ordinary ones */
    DEEP,
    REGIME_COUNT,
};

uint64_t draw(uint64_t *state);
double draw_finite(const struct ulp_format *format, uint64_t *state);
/* The k elements of a line; side 0 for a, 1 for b. */
void draw_line(float *line, const struct ulp_format *format, enum regime regime, int side,
               size_t k_count, uint64_t *state);
float draw_accumulator(const struct ulp_unit *unit, enum regime regime, uint64_t *state);
