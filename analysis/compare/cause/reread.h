/* A model in which nodes are read otherwise than it says: lists of its graph are copied, all else
 * is the model's own. */
#pragma once

#include "graph/graph.h"
#include "run/program/program.h"

struct ulp_reread {
    struct ulp_model model; /* to be compiled; never freed */
    struct ulp_graph graph;
    struct ulp_node *nodes;
    struct ulp_arena *arena;
    const struct ulp_program *program; /* of the model as it is, for shapes */
    /* what was recorded of a node's result is ahead by in each channel, on average; count 0: that
     * says nothing */
    const char *target;
    const double *ahead;
    size_t ahead_count;
    unsigned long long given; /* a hash of the attributes that changes gave; 0: none did */
    double own, number;       /* @fitted: constants that are the one are the other */
};
/* At most `most` nodes will be read otherwise. Free out->arena in any case. */
enum ulp_status ulp_reread_open(const struct ulp_program *program, size_t most,
                                struct ulp_reread *out, struct ulp_error *error);
/* Node n is read as `change` says (reading.def); *changed: there was something to change. Of
 * several nodes the last first, since a change may put a node in front. */
enum ulp_status ulp_reread_node(struct ulp_reread *reread, size_t n, const char *change,
                                bool *changed, struct ulp_error *error);

/* One word of a change, at a node. */
struct ulp_reread_change {
    struct ulp_reread *reread;
    size_t n; /* the node */
    const char *word;
    size_t input;
    char *text;                    /* behind the input, or in its place; NULL: nothing */
    const struct ulp_tensor *from; /* the constant that a map changes */
    bool changed;                  /* there was something to change */
};
typedef enum ulp_status ulp_reread_fn(struct ulp_reread_change *change, struct ulp_error *error);
static inline struct ulp_node *ulp_reread_at(const struct ulp_reread_change *change)
{
    return &change->reread->nodes[change->n];
}

/* reread_part.c */
/* The value of that name; -1: none. */
int ulp_reread_find(const struct ulp_graph *graph, const char *name);
struct ulp_value *ulp_reread_add_value(struct ulp_reread *reread, const char *like);
const struct ulp_tensor *ulp_reread_constant(const struct ulp_reread *reread,
                                             const struct ulp_node *node, size_t input);
enum ulp_status ulp_reread_set_input(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                     int value, struct ulp_error *error);
enum ulp_status ulp_reread_set_constant(struct ulp_reread *reread, struct ulp_node *node,
                                        size_t input, struct ulp_tensor *tensor,
                                        struct ulp_error *error);
enum ulp_status ulp_reread_make_constant(struct ulp_reread *reread, const struct ulp_tensor *like,
                                         int rank, const int64_t *dims, struct ulp_tensor *out,
                                         double **numbers, struct ulp_error *error);
enum ulp_status ulp_reread_fill_constant(struct ulp_reread *reread, struct ulp_node *node,
                                         size_t input, struct ulp_tensor *tensor,
                                         const double *numbers, struct ulp_error *error);
enum ulp_status ulp_reread_set_attribute(struct ulp_reread *reread, struct ulp_node *node,
                                         const struct ulp_attribute *attribute,
                                         struct ulp_error *error);
enum ulp_status ulp_reread_set_ints(struct ulp_reread *reread, struct ulp_node *node,
                                    const char *name, const int64_t *values, size_t count,
                                    struct ulp_error *error);
enum ulp_status ulp_reread_set_int(struct ulp_reread *reread, struct ulp_node *node,
                                   const char *name, int64_t i, struct ulp_error *error);
/* A list of integers as an input: those from `from` on, or, NULL, from count - 1 down to 0. */
enum ulp_status ulp_reread_set_list(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                    const int64_t *from, int64_t count, struct ulp_error *error);
/* Of an input, or of the result (-1); NULL: it is not known. */
const struct ulp_tensor *ulp_reread_shape(const struct ulp_reread *reread,
                                          const struct ulp_node *node, int input);

/* reread_pads.c: windows with other padding, or without dilations. */
ulp_reread_fn ulp_reread_pads;
/* reread_map.c: constants, element by element. */
ulp_reread_fn ulp_reread_map;
/* reread_move.c: nodes in another order. */
ulp_reread_fn ulp_reread_move;
/* reread_before.c: nodes that are put before an input. */
ulp_reread_fn ulp_reread_layout, ulp_reread_reverse, ulp_reread_invert, ulp_reread_exchange,
    ulp_reread_repeat, ulp_reread_hide, ulp_reread_scale, ulp_reread_offset, ulp_reread_wrap,
    ulp_reread_floor, ulp_reread_sum;

/* least.c: the number, of the first one's sign, at which `distance` is least; 0: none that halves
 * it was found. */
struct ulp_least {
    void *context;
    enum ulp_status (*distance)(void *context, double number, double *out, struct ulp_error *error);
};
enum ulp_status ulp_find_least(const struct ulp_least *least, double first, double *number,
                               struct ulp_error *error);
