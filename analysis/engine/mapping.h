/* Mapping an engine's layers to nodes: what the files of this room share. */
#pragma once

#include <ulpscope/engine.h>

#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "run/program/program.h"

/* A layer while nodes are added. */
struct ulp_layer_nodes {
    size_t *items;
    size_t count, capacity;
};

/* A tensor of the engine, by name. */
struct ulp_engine_value {
    int slot;          /* the model's value of that name, in the main graph; -1: none */
    ptrdiff_t copy_of; /* the tensor that a copy or a change of layout made it of; -1: none */
    ptrdiff_t copy;    /* one that was made of it so; -1: none */
};

struct ulp_layer_map {
    const struct ulp_engine *engine;
    const struct ulp_program *program;
    const struct ulp_block *main;
    struct ulp_engine_map *built;
    struct ulp_arena *arena;
    /* a node's number by its name, by operator and index ("Conv_0"), by its name as Myelin writes
     * it; a value's slot by its name, initializers included */
    struct ulp_names nodes, numbered, mangled, values;
    size_t longest; /* no known name is longer */
    struct ulp_names tensors;
    struct ulp_engine_value *engine_values;
    struct ulp_layer_nodes *of_layer; /* by layer of `built` */
    uint32_t *stamp, stamp_now;       /* by node: of the walk that last met it */
    size_t *stack;
    size_t named; /* layers that name a node or write a value of the model */
};

/* Is the node in the main graph, and computed while the model runs? */
static inline bool ulp_is_computed(const struct ulp_layer_map *mapping, size_t node)
{
    return !mapping->program->nodes[node].step->folded &&
           !mapping->program->nodes[node].step->constant;
}

/* engine_names.c: tables of the model's names; then the nodes that the layers' metadata and names
 * name. */
enum ulp_status ulp_mapping_index(struct ulp_layer_map *mapping, struct ulp_error *error);
enum ulp_status ulp_mapping_names(struct ulp_layer_map *mapping, struct ulp_error *error);
/* Is the layer the runtime's own, by its name and kind? */
bool ulp_layer_is_copy(const struct ulp_engine_layer *layer);
/* The ends of "{ForeignNode[first...last]}", as nodes; -1: the end is none. false: no such name. */
bool ulp_foreign_ends(const struct ulp_layer_map *mapping, const char *name, ptrdiff_t *first,
                      ptrdiff_t *last);

/* tensors.c: nodes between a layer's tensors, and what is left beside or inside layers. */
enum ulp_status ulp_mapping_tensors(struct ulp_layer_map *mapping, struct ulp_error *error);
enum ulp_status ulp_mapping_rest(struct ulp_layer_map *mapping, struct ulp_error *error);

/* Add a node to a layer, once. kind: of the node, when it had no layer. */
enum ulp_status ulp_mapping_add(struct ulp_layer_map *mapping, size_t layer, size_t node,
                                enum ulp_engine_map_kind kind, struct ulp_error *error);

/* engine_arithmetic.c: types, multiply and accumulator, and the arithmetic of a layer. */
enum ulp_status ulp_layer_arithmetic(struct ulp_layer_map *mapping,
                                     struct ulp_engine_map_layer *layer,
                                     const struct ulp_engine_map_options *options,
                                     struct ulp_error *error);
