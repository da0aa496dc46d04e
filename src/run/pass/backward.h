/* The reverse sweep: from cotangents of some of the main graph's values to those of every node's
 * outputs, each node's derivative taken from its own gates (ops/trace/trace.h) in FP64. Nodes
 * inside If, Loop and Scan are gone through with the node whose bodies they are in. */
#pragma once

#include "run/program/program.h"

/* The cotangents of one output of a node, the execution-th time that it ran. *introduced: what they
 * make of the error that the node introduces there. */
typedef enum ulp_status ulp_reverse_fn(void *context, size_t node, size_t execution, int position,
                                       const double *cotangents, size_t count, double *introduced,
                                       struct ulp_error *error);

struct ulp_reverse {
    const struct ulp_program *program;
    /* by slot of the main graph. Floats of any element, also in place of quantised amounts
     * (amounts.h); data NULL: constants, and what no node needs */
    const struct ulp_tensor *values;
    /* by slot: the values' errors; derivatives are taken at the values less half of them. NULL: of
     * none, and `plain` */
    const float **errors;
    bool plain; /* derivatives are taken at one point each, and there are no remainders */
    /* by slot: seeded by the caller (ulp_reverse_cotangents), who frees what is left, those of the
     * model's inputs: the others are freed on the way */
    double **cotangents;
    bool *stopped; /* by node: something is owed to it and it hands nothing on */
    bool *passed;  /* by node: it hands something on */
    /* by node of the main graph: what its results' errors make of the outputs' less what it
     * introduces and what its derivatives make of its inputs' errors: of second order, or where
     * derivatives stop */
    double *remainders;
    struct ulp_budget *budget;
    struct ulp_pool *pool;
    ulp_reverse_fn *node; /* NULL: no one asks */
    /* what the step has introduced at output 0; NULL: nothing. Where there are errors */
    const float *(*introduced)(void *context, const struct ulp_step *step);
    /* `node` has been told all of the step's outputs, whose cotangents stay until this returns; of
     * bodies' nodes it is told later. NULL: no one asks */
    enum ulp_status (*told)(void *context, const struct ulp_step *step, struct ulp_error *error);
    /* The step has been gone back over, or no one owes it anything: its remainder is known, and
     * more may be owed to what it reads (ulp_reverse_cotangents). NULL: no one asks */
    enum ulp_status (*decided)(const struct ulp_reverse *sweep, const struct ulp_step *step,
                               struct ulp_error *error);
    /* After a step has been gone back over: its values may leave memory. Their shapes are always
     * there. NULL: they stay */
    void (*close)(void *context, const struct ulp_step *step);
    void *context;
};
/* The cotangents of a slot of `count` elements, zero when they are new. */
enum ulp_status ulp_reverse_cotangents(const struct ulp_reverse *sweep, int slot, size_t count,
                                       double **out, struct ulp_error *error);
/* Sweeps of one program side by side, which differ in what they are seeded with: `values`,
 * `errors`, memory, `told` and `close` are the first one's. */
enum ulp_status ulp_reverse_run(const struct ulp_reverse *sweeps, size_t count,
                                struct ulp_error *error);
