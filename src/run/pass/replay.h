/* The main graph forward in FP64, with errors put in: what the outputs would be if nodes made these
 * and no others. */
#pragma once

#include "run/program/program.h"

struct ulp_replay {
    const struct ulp_program *program;
    const struct ulp_tensor *inputs; /* by slot, those of the model: F64, or integers */
    /* may change the values of a node's output, and look at them */
    void (*output)(void *context, size_t node, int position, int slot, struct ulp_tensor *value);
    void *context;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
};
enum ulp_status ulp_replay_run(const struct ulp_replay *replay, struct ulp_error *error);
