/* What a run of the model as it is gives, and parts of a model that is read otherwise, computed on
 * that: nothing is computed again that a change does not reach. */
#pragma once

#include "analysis/compare/cause/reread.h"

struct ulp_cut_base {
    struct ulp_program *program; /* of the model as it is, in one arithmetic */
    const struct ulp_tensor_set *inputs;
    struct ulp_tensor *values; /* by slot of its main graph; type UNDEFINED: not held */
    /* values are held, so that parts begin with them; false: every part begins with the inputs,
     * since nodes are computed together, or memory is limited */
    bool cuts;
    double cost; /* what has been computed, as a step's is */
};
/* What nodes of the graph that are marked read and give. Free it in any case. */
enum ulp_status ulp_cut_open(struct ulp_cut_base *out, const struct ulp_program *program,
                             const struct ulp_arithmetic *arithmetic,
                             const struct ulp_tensor_set *inputs, const bool *nodes,
                             const struct ulp_run_options *run, struct ulp_error *error);
void ulp_cut_close(struct ulp_cut_base *held);
/* A value of the graph: constant, given or held; NULL: none of these. */
const struct ulp_tensor *ulp_cut_value(const struct ulp_cut_base *held,
                                       const struct ulp_graph *graph, int value);

/* Nodes of the graph that is read otherwise (read->graph). */
struct ulp_cut {
    bool *in;     /* by node */
    size_t count; /* of those in it */
};
/* Those that are not as in the model, and, with `to` (a value) >= 0, those through which they reach
 * it. Memory is read's. */
enum ulp_status ulp_cut_find(const struct ulp_reread *read, int to, struct ulp_cut *out,
                             struct ulp_error *error);
/* The values wanted[] of the part; what it reads and nothing holds is computed, too. */
enum ulp_status ulp_cut_run(struct ulp_cut_base *held, const struct ulp_reread *read,
                            const struct ulp_cut *part, const int *wanted, size_t wanted_count,
                            const struct ulp_run_options *run, struct ulp_tensor_set *out,
                            struct ulp_error *error);
