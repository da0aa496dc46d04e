/* A layer's nodes while they are found. */
#include "base/error.h"
#include "analysis/engine/mapping.h"

enum ulp_status ulp_mapping_add(struct ulp_layer_map *mapping, size_t layer, size_t node,
                                enum ulp_engine_map_kind kind, struct ulp_error *error)
{
    struct ulp_layer_nodes *nodes = &mapping->of_layer[layer];
    struct ulp_engine_map_node *out = &mapping->built->nodes[node];
    /* a layer gets the nodes that it names at one go, later only nodes that no layer has */
    if (out->layer == (ptrdiff_t)layer)
        return ULP_OK;
    ULP_TRY(ulp_grow(&nodes->items, nodes->count, &nodes->capacity, sizeof *nodes->items,
                     ulp_arena_budget(mapping->arena), "nodes of a layer", error));
    nodes->items[nodes->count++] = node;
    mapping->built->layers[layer].node_count = nodes->count;
    if (out->layer < 0)
        out->kind = kind;
    out->layer = (ptrdiff_t)layer;
    out->layer_count++;
    return ULP_OK;
}
