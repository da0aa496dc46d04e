/* Where the sums of a contraction draw their random numbers of stochastic rounding. */
#pragma once

#include <stdint.h>

/* Where a strip's roundings are in the stochastic stream: output first + i, rounding number
 * `number` of it. Roundings are numbered k * ULP_DRAWS + kind, so that the number of a rounding
 * does not depend on how the work is cut. */
struct ulp_draw {
    uint64_t first, number;
};
enum {
    ULP_DRAW_PRODUCT = 0,
    ULP_DRAW_SUM = 1,      /* + the level in a pairwise tree, < 64 */
    ULP_DRAW_PARTIAL = 65, /* + the level of the partial sum, < 3 */
    ULP_DRAW_STORE = 68,
    ULP_DRAWS = 72,
};
