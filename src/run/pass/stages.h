/* A node once more on the inputs that it had in a lane, with ever more of what the lane's
 * arithmetic rounds: from the exact result of these inputs, which is known, towards the lane's own.
 * Differences of neighbours add up to the error that the node introduces, each being that of one
 * cause. What is not rounded is in FP64; a stage that rounds nothing more is not run. */
#pragma once

#include "run/lane.h"

enum ulp_stage {
    ULP_STAGE_WEIGHTS, /* constants, as the lane reads them; those of products also as factors */
    ULP_STAGE_INPUTS,  /* values: by Casts at borders, and all factors of products */
    ULP_STAGE_SUMS,    /* sums of products and of rows, in the lane's order */
    /* everything but the result. Where each step is rounded to the storage, the last one is the
     * result: then this is the stage before, its results rounded to the storage */
    ULP_STAGE_STEPS,
    ULP_STAGE_COUNT
};

struct ulp_stages {
    const struct ulp_mix *mix; /* of the lane */
    const struct ulp_block *block;
    const struct ulp_step *step;
    /* by the step's own input: the value as the lane holds it; NULL: a constant, or omitted */
    const struct ulp_tensor *const *values;
    /* by output: the exact result, as FP64; data NULL: it is not looked at */
    const struct ulp_tensor *exact;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    /* is shown what the node gives at each stage that runs, in order; `exact` is not read
     * afterwards */
    enum ulp_status (*stage)(void *context, enum ulp_stage stage, const struct ulp_tensor *outputs,
                             struct ulp_error *error);
    void *context;
};

/* Can the step be taken apart? Not If, Loop and Scan, sums of integers, and a storage that FP64 is
 * not exact beside. */
bool ulp_stages_apply(const struct ulp_stages *stages);
/* *results_first: ULP_STAGE_STEPS follows the stage before by the rounding of the result, and the
 * lane's own result follows by that of the steps; else the other way round. */
enum ulp_status ulp_stages_run(const struct ulp_stages *stages, bool *results_first,
                               struct ulp_error *error);
