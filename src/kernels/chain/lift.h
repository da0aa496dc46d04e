/* Subnormal factors, of which every product takes a processor a hundred times as long. */
#pragma once

#include "kernels/chain/chains.h"

/* Two factors beside their problem's, of which one was multiplied by 2^64, the other by 2^-64. */
struct ulp_lifted {
    struct ulp_contraction problem;
    struct ulp_tensor factors[2];
    void *memory;
};

/* The problem to compute in place of `problem`: the same, or *lifted, where one factor has
 * subnormal numbers, and all elements times these powers are exact. Their products are the same
 * real numbers, which a fused step adds before it rounds: results have equal bits. Neither factor
 * is one that stays from run to run. */
const struct ulp_contraction *ulp_lift(struct ulp_lifted *lifted, const struct ulp_chains *chains,
                                       const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem,
                                       struct ulp_pool *pool);
