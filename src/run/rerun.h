/* Formulas that are run as one (program_join.c), once more: all that their run follows from, but
 * for where values lie, is noted after one run of the program, and further runs with operands of
 * these shapes go straight to the tape's plan. Only which plan that is changes in a note, in one
 * step, so several threads may go by it. */
#pragma once

#include "ops/join.h"
#include "run/lane.h"

struct ulp_rerun;

/* What the lane's join had before its first formula, steps[first]: of a contraction's epilogue. */
struct ulp_rerun_begin {
    size_t first, operands, sources;
};
/* A note of what the join has just run, up to steps[last], freed with ulp_free; NULL: it cannot be
 * run likewise, or there is no room. */
struct ulp_rerun *ulp_rerun_note(struct ulp_lane *lane, struct ulp_rerun_begin begin, size_t last);
/* The result of the steps' last; *ran false: operands have other shapes, and the join must be cut
 * back to what it had before. */
enum ulp_status ulp_rerun_run(struct ulp_rerun *rerun, struct ulp_lane *lane,
                              struct ulp_tensor *result, bool *ran, struct ulp_error *error);
