/* A lane that computes what was built: of each node the arithmetic of its layer, and the layers'
 * nodes as kernels. */
#include <stdio.h>
#include <string.h>

#include "analysis/engine/mapping.h"
#include "base/error.h"
#include "base/machine/environment.h"

struct making {
    const struct ulp_engine_map *built, *other;
    const bool *of_other;
    struct ulp_engine_map_lane *out;
    struct ulp_arena *arena;
    const char **arithmetics; /* by node; NULL: none yet */
};

static const struct ulp_engine_map *built_of(const struct making *making, size_t node)
{
    return making->other && making->of_other[node] ? making->other : making->built;
}

/* Of a node that no layer computes: what the nodes before it are in, so that nothing is rounded
 * that was not. */
static const char *inherit(const struct making *making, size_t node)
{
    const struct ulp_program_node *at = &making->built->program->nodes[node];
    for (size_t i = 0; i < at->step->input_count; i++) {
        const struct ulp_step *from = ulp_block_producer(at->block, at->step->inputs[i]);
        if (from && making->arithmetics[from->number] && !from->folded)
            return making->arithmetics[from->number];
    }
    return NULL;
}

static void find_arithmetics(const struct making *making)
{
    const size_t count = making->built->node_count;
    for (size_t n = 0; n < count; n++) {
        const struct ulp_engine_map *built = built_of(making, n);
        const ptrdiff_t layer = built->nodes[n].layer;
        making->arithmetics[n] = layer >= 0 && *built->layers[layer].arithmetic
                                     ? built->layers[layer].arithmetic
                                     : inherit(making, n);
    }
}

/* The most frequent, of those that fuse where any does: a lane fuses when its own arithmetic
 * does. */
static const char *find_base(const struct making *making, const char **names, size_t *counts,
                             size_t *name_count)
{
    const char *base = NULL;
    size_t most = 0;
    bool fuses = false;
    for (size_t n = 0; n < making->built->node_count; n++) {
        size_t i = 0;
        if (!making->arithmetics[n])
            continue;
        while (i < *name_count && strcmp(names[i], making->arithmetics[n]) != 0)
            i++;
        if (i == *name_count) {
            names[(*name_count)++] = making->arithmetics[n];
            counts[i] = 0;
        }
        counts[i]++;
    }
    for (size_t i = 0; i < *name_count; i++) {
        const bool here = strstr(names[i], "fuse=groups") != NULL;
        if ((here && !fuses) || (here == fuses && counts[i] > most)) {
            base = names[i];
            most = counts[i];
            fuses |= here;
        }
    }
    return base ? base : "fp32";
}

/* Where no kernel has several nodes nothing fuses. */
static enum ulp_status find_arithmetic(const struct making *making, const char *name,
                                       struct ulp_arithmetic *out, struct ulp_error *error)
{
    struct ulp_arithmetic found = {0};
    const enum ulp_status status = ulp_arithmetic_find(name, &found, error);
    *out = found;
    return status == ULP_OK && !making->out->groups.count && found.fuse != ULP_FUSE_NONE
               ? ulp_arithmetic_change(out, &found, "fuse=none", error)
               : status;
}

/* An entry for each arithmetic, with its nodes. */
static enum ulp_status list_keeps(struct making *making, const char *base, const char **names,
                                  size_t name_count, struct ulp_error *error)
{
    const size_t node_count = making->built->node_count;
    ULP_TAKE_ARRAY(struct ulp_keep, items, making->arena, name_count + 1, error);
    size_t count = 0;
    for (size_t i = 0; i < name_count; i++) {
        size_t *nodes = ulp_arena_take(making->arena, node_count + 1, sizeof *nodes);
        if (strcmp(names[i], base) == 0)
            continue;
        ULP_TRY(ulp_taken(nodes, error));
        struct ulp_keep *keep = &items[count++];
        keep->nodes = nodes;
        for (size_t n = 0; n < node_count; n++)
            if (making->arithmetics[n] && strcmp(making->arithmetics[n], names[i]) == 0)
                nodes[keep->node_count++] = n;
        ULP_TRY(find_arithmetic(making, names[i], &keep->arithmetic, error));
    }
    making->out->keeps.items = items;
    making->out->keeps.count = count;
    return ULP_OK;
}

/* The layers of one engine whose nodes all are as there, as groups. */
static enum ulp_status list_groups(struct making *making, const struct ulp_engine_map *built,
                                   struct ulp_group *items, size_t *count, struct ulp_error *error)
{
    for (size_t l = 0; l < built->layer_count; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        bool all = layer->node_count > 1 && layer->by != ULP_MAPPED_BOUND;
        for (size_t i = 0; i < layer->node_count && all; i++)
            all = built_of(making, layer->nodes[i]) == built;
        if (!all)
            continue;
        ULP_TAKE_ARRAY(const char *, names, making->arena, layer->node_count, error);
        for (size_t i = 0; i < layer->node_count; i++) {
            char number[32];
            snprintf(number, sizeof number, "#%zu", layer->nodes[i]);
            names[i] = ulp_arena_copy(making->arena, number);
            ULP_TRY(ulp_taken(names[i], error));
        }
        items[(*count)++] = (struct ulp_group){.name = layer->layer->name,
                                               .nodes = names,
                                               .node_count = layer->node_count};
    }
    return ULP_OK;
}

static enum ulp_status make(struct making *making, const char *name, struct ulp_error *error)
{
    const size_t count = making->built->node_count,
                 layers =
                     making->built->layer_count + (making->other ? making->other->layer_count : 0);
    struct ulp_engine_map_lane *out = making->out;
    const char **names = ulp_arena_take(making->arena, count + 1, sizeof *names);
    size_t *counts = ulp_arena_take(making->arena, count + 1, sizeof *counts), name_count = 0;
    struct ulp_group *groups = ulp_arena_take(making->arena, layers + 1, sizeof *groups);
    making->arithmetics = ulp_arena_take(making->arena, count + 1, sizeof *making->arithmetics);
    out->name = ulp_arena_copy(making->arena, name);
    ULP_TRY(ulp_taken(names && counts && groups && making->arithmetics && out->name, error));
    find_arithmetics(making);
    const char *base = find_base(making, names, counts, &name_count);
    ULP_TRY(list_groups(making, making->built, groups, &out->groups.count, error));
    if (making->other)
        ULP_TRY(list_groups(making, making->other, groups, &out->groups.count, error));
    ULP_TRY(find_arithmetic(making, base, &out->arithmetic, error));
    ULP_TRY(list_keeps(making, base, names, name_count, error));
    out->groups.items = groups;
    out->groups.name = out->name;
    return ULP_OK;
}

enum ulp_status ulp_engine_map_lane_make(const struct ulp_engine_map *built, const char *name,
                                         const struct ulp_engine_map *other, const bool *of_other,
                                         struct ulp_engine_map_lane *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct making making = {.built = built, .other = other, .of_other = of_other, .out = out};
    *out = (struct ulp_engine_map_lane){0};
    ULP_TRY(ulp_arena_create(&making.arena, ulp_arena_budget(built->memory), error));
    out->memory = making.arena;
    enum ulp_status status = make(&making, name, error);
    if (status != ULP_OK)
        ulp_engine_map_lane_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_engine_map_lane_free, struct ulp_engine_map_lane)
