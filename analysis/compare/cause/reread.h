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
/* At most `most` nodes will be read otherwise. Free out->arena in any case. */
enum ulp_status ulp_reread_open(const struct ulp_program *program, size_t most,
                                struct ulp_reread *out, struct ulp_error *error);
/* Node n is read as `change` says (reading.def); *changed: there was something to change. Of
 * several nodes the last first, since a change may put a node in front. */
enum ulp_status ulp_reread_node(struct ulp_reread *reread, size_t n, const char *change,
                                bool *changed, struct ulp_error *error);
/* Node n reads that value as its input. */
enum ulp_status ulp_reread_wire(struct ulp_reread *reread, size_t n, size_t input, int value,
                                struct ulp_error *error);

/* reread_part.c */
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

/* reread_pads.c: of an input, or of the result (-1); NULL: it is not known. */
const struct ulp_tensor *ulp_reread_shape(const struct ulp_reread *reread,
                                          const struct ulp_node *node, int input);
/* Padding that follows from the shapes: of ceil_mode, whose places beyond the end count, or SAME.
 */
enum ulp_status ulp_reread_pads(struct ulp_reread *reread, struct ulp_node *node,
                                const char *change, bool *changed, struct ulp_error *error);

/* reread_map.c: element i of a constant by the map of that name; NULL: there is none, or it changes
 * nothing that such a constant is read for. */
typedef double (*ulp_reread_map)(const struct ulp_tensor *from, size_t i);
ulp_reread_map ulp_reread_map_find(const char *name, const struct ulp_tensor *from);
