/* Bounds of all values of the main graph: a walk over the program in which every value is what it
 * can be for any input of a box (ops/trace/trace_enclose.h). One arithmetic, that of the program's
 * lane 0, with every rounding. Bodies of If, Loop and Scan are walked through with them: nodes in
 * there are told of once for each iteration that is followed. */
#pragma once

#include "ops/trace/trace_enclose.h"
#include "run/program/program.h"

/* One output of a node, or an input of the model. */
struct ulp_enclosed {
    const char *name;
    int slot;
    bool is_float;
    bool assumed;     /* follows from an output that may be too large, taken as finite */
    size_t count;     /* elements; 0: not known */
    size_t unknown;   /* of them those of which nothing is known: too large, or NaN */
    size_t infinite;  /* of them those that may be an infinity that the model writes */
    double low, high; /* of the known ones; low > high: there is none */
    double bound;     /* largest finite magnitude of the others */
    /* what the unknown ones would have reached; INFINITY: that is not known either */
    double reached;
};
struct ulp_enclosed_node {
    size_t node;
    const struct ulp_block *block; /* whose slots its outputs are */
    const struct ulp_step *step;
    size_t output_count;
    const struct ulp_enclosed *outputs;
    double inputs; /* the largest bound of its float inputs; INFINITY: one is not known */
    size_t hidden_count;
    const struct ulp_hidden_bound *hidden;
    const char *normalised; /* the idiom whose result it is; NULL: none */
    const char *reason;     /* why nothing is known; NULL: no reason */
};
typedef enum ulp_status ulp_enclosed_fn(void *context, const struct ulp_enclosed_node *node,
                                        struct ulp_error *error);

struct ulp_enclose {
    const struct ulp_program *program;
    const struct ulp_input_range *ranges; /* by input of the main block (program->main->inputs) */
    ulp_enclosed_fn *node;
    void *context;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    uint32_t symbols; /* unknowns of affine forms, at most; 0: intervals and norms alone */
};
enum ulp_status ulp_enclose_run(const struct ulp_enclose *enclose, struct ulp_error *error);
