/* Scalar chains over a whole contraction: how k is cut, blocking for the caches, threads, and the
 * output. */
#pragma once

#include "kernels/contract.h"
#include "kernels/chain/step.h"

/* Nested cuts of k, innermost first: a segment of level l is at most length[l] long and lies in one
 * segment of level l + 1, to whose sum its own is added by `partial[l]`; a first segment's sum is
 * taken over as it is. */
#define ULP_CUT_LEVELS 3
struct ulp_cuts {
    int level_count;
    size_t length[ULP_CUT_LEVELS];
    struct ulp_step_rule partial[ULP_CUT_LEVELS];
};

/* A contraction made ready: the rule of one step, pairwise or chain, the cuts, the format its sums
 * have at the end. */
struct ulp_chains {
    struct ulp_step_rule rule;
    bool pairwise;
    struct ulp_cuts cuts;
    struct ulp_format result;
    const struct ulp_format *stored; /* what sums of slices are rounded to; NULL: they are not */
};

struct ulp_chains ulp_chains_make(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem);
/* `cpu`: the ulp_cpu_feature set to use, or ULP_TILE_PLAIN (tile.h). Bits do not depend on it. */
enum ulp_status ulp_chains_run(const struct ulp_chains *chains,
                               const struct ulp_arithmetic *arithmetic,
                               const struct ulp_contraction *problem, unsigned cpu,
                               struct ulp_pool *pool, struct ulp_error *error);
