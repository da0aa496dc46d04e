/* Readings that are tried (cause_reading.c), each on its node alone first (reading_alone.c). */
#pragma once

#include "analysis/compare/cause/cut.h"
#include "analysis/compare/comparing.h"

struct ulp_known_reading { /* reading.def */
    const char *ops, *change, *words;
    size_t number; /* the smaller, the plainer */
    const struct ulp_known_reading *next;
};

/* What a node's change makes of the tensor is seen, to first order, in so many numbers: its product
 * with the tensor's error, and with signs that are drawn. */
#define ULP_PROBES 4

/* Of the time in which an answer is wanted: until then what is likeliest is run. */
#define ULP_READINGS_RUN 0.8

/* A reading of nodes: of one, of those of an operator, of those of them at one place. */
struct ulp_tried_reading {
    const struct ulp_known_reading *reading; /* NULL: an input of the node is another value */
    size_t only;                             /* a node; SIZE_MAX: several */
    const char *op;                          /* of those the ones of this operator */
    unsigned long long place;                /* those of them that have this place; 0: all */
    size_t wired;              /* of a node alone: which of its inputs is another value */
    int value;                 /* which; reading NULL */
    size_t changed, first;     /* nodes, and the first of them */
    unsigned long long given;  /* see reread.h */
    unsigned long long result; /* of what the nodes give alone: a hash; 0: not known */
    bool told;                 /* moved[] says what it makes of the tensor */
    double moved[ULP_PROBES];
    double own, number; /* see reread.h; 0: none is fitted */
    double key;         /* the smaller, the sooner it is tried */
    size_t order;       /* the smaller, the plainer */
    double distance;
};

struct ulp_trying {
    struct ulp_comparing *comparing;
    size_t file, tensor;
    struct ulp_cut_base base;
    int target;       /* the tensor's value in the graph; -1: it has none there */
    double unchanged; /* how far what the model as it is gives is from what was recorded */
    const struct ulp_known_reading *readings, **last; /* the first; where the next one is put */
    size_t reading_count;
    bool *suspects;                   /* by node; false behind the last */
    bool *read;                       /* those that the last model reads otherwise */
    const unsigned long long *places; /* by node */
    const double *ahead;              /* see reread.h */
    size_t ahead_count;
    bool wires;                       /* other values are tried as inputs, and not readings */
    const struct ulp_tensor **shapes; /* by value: its shape; NULL: a constant, or not known */
    /* what a change that explains all of the error would give: first the error's square */
    double seeds[ULP_PROBES];
    struct ulp_tried_reading *alone; /* of single nodes, that give something else so */
    size_t alone_count, alone_capacity;
    double cost_max; /* so much may be computed, as a step's cost is */
    bool *left;      /* by node: not all that could be was tried of it */
};
static inline const struct ulp_graph *ulp_trying_graph(const struct ulp_trying *trying)
{
    return trying->comparing->model->graph;
}
/* The graph's node of a step; of one in a body or a function that behind the last. */
static inline size_t ulp_trying_node(const struct ulp_trying *trying, const struct ulp_step *step)
{
    const struct ulp_graph *graph = ulp_trying_graph(trying);
    const size_t n = (size_t)step->node->index;
    return n < graph->node_count && step->node == &graph->nodes[n] ? n : graph->node_count;
}
/* reading_alone.c */
/* Has that part of what may be computed been, or is that part of the time over, so that what is
 * next of node n is left? */
bool ulp_trying_leaves(struct ulp_trying *trying, size_t n, double cost_part, double time_part);
bool ulp_tried_reads(const struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                     size_t n);
/* The model so read; free out->arena in any case. */
enum ulp_status ulp_tried_reread(const struct ulp_trying *trying, struct ulp_tried_reading *trial,
                                 struct ulp_reread *out, struct ulp_error *error);
/* How far the tensor is from what was recorded then, into trial->distance. */
enum ulp_status ulp_tried_measure(struct ulp_trying *trying, struct ulp_tried_reading *trial,
                                  struct ulp_error *error);
/* Into trying->alone. */
enum ulp_status ulp_tried_add(struct ulp_trying *trying, const struct ulp_tried_reading *trial,
                              struct ulp_error *error);
/* reading_alone.c: all that can be tried of single nodes, into trying->alone. */
enum ulp_status ulp_try_alone(struct ulp_trying *trying, struct ulp_error *error);
/* reading_number.c: numbers, fitted and measured (@fitted), in place of those. */
enum ulp_status ulp_try_numbers(struct ulp_trying *trying, struct ulp_error *error);
