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
};
/* Free out->arena in any case. */
enum ulp_status ulp_reread_open(const struct ulp_program *program, struct ulp_reread *out,
                                struct ulp_error *error);
/* Node n is read as `change` says (reading.def); *changed: there was something to change. Of
 * several nodes the last first, since a change may put a node in front. */
enum ulp_status ulp_reread_node(struct ulp_reread *reread, size_t n, const char *change,
                                bool *changed, struct ulp_error *error);
/* Node n reads that value as its input. */
enum ulp_status ulp_reread_wire(struct ulp_reread *reread, size_t n, size_t input, int value,
                                struct ulp_error *error);

/* reread_map.c: element i of a constant by the map of that name; NULL: there is none, or it changes
 * nothing that such a constant is read for. */
typedef double (*ulp_reread_map)(const struct ulp_tensor *from, size_t i);
ulp_reread_map ulp_reread_map_find(const char *name, const struct ulp_tensor *from);
