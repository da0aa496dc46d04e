/* Which nodes belong together. What a node stores is rounded unless the nodes that read it are
 * kept, too, and those behind a node that only moves it: a link is the path from the node that
 * stores to one that computes with it, and its error is gone when all of it is kept. Computing in
 * the narrower arithmetic is a link of the node alone.
 *
 * The order is that of peeling: again and again the layer whose links weigh least for what its
 * release saves is released, and its links are gone. Of the densest part of a graph this finds one
 * of at least half the density. */
#include "analysis/search/searcher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "number/function/math.h"

/* Links are found by walking on from each node through those that add nothing. */
#define REQUIRED 1e100 /* more than any error: what overflows goes last */
enum { DEPTH_MAX = 16, LINKS_MAX = 64 };

struct link {
    double weight;
    size_t first, count; /* of its layers */
    bool broken;
};

struct links {
    const struct ulp_searcher *search;
    size_t start;
    struct ulp_budget *budget;
    struct link *items;
    size_t count, capacity;
    size_t *layers; /* of all links */
    size_t layer_count, layer_capacity;
    /* by slot of the main graph: the steps that read it */
    size_t *readers, *first_reader;
    bool *is_output;
    size_t path[DEPTH_MAX];
    size_t made; /* from the current node */
    enum ulp_status status;
    struct ulp_error *error;
};

/* The path's first `depth` nodes, as layers. A node that has the narrowest choice anyway breaks it.
 */
static void add_link(struct links *links, double weight, size_t depth)
{
    const struct ulp_searcher *search = links->search;
    if (links->status != ULP_OK || !(weight > 0))
        return;
    for (size_t i = 0; i < depth; i++)
        if (search->layer_of[links->path[i]] < 0 &&
            ulp_search_choice_of(search, NULL, links->path[i]) == search->narrow)
            return;
    links->status = ulp_grow(&links->items, links->count, &links->capacity, sizeof *links->items,
                             links->budget, "links of nodes", links->error);
    struct link link = {.weight = weight, .first = links->layer_count};
    for (size_t i = 0; i < depth && links->status == ULP_OK; i++) {
        const ptrdiff_t layer = search->layer_of[links->path[i]];
        bool again = layer < 0;
        for (size_t k = 0; k < link.count; k++)
            again |= links->layers[link.first + k] == (size_t)layer;
        if (again)
            continue;
        links->status =
            ulp_grow(&links->layers, links->layer_count, &links->layer_capacity,
                     sizeof *links->layers, links->budget, "links of nodes", links->error);
        if (links->status != ULP_OK)
            return;
        links->layers[links->layer_count++] = (size_t)layer;
        link.count++;
    }
    if (links->status == ULP_OK)
        links->items[links->count++] = link;
}

static void follow(struct links *links, const struct ulp_step *step, double weight, size_t depth)
{
    const struct ulp_block *block = links->search->emulation.plan->main;
    size_t ways = 0;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            ways += links->first_reader[step->outputs[o] + 1] -
                    links->first_reader[step->outputs[o]] + links->is_output[step->outputs[o]];
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (slot < 0)
            continue;
        if (links->is_output[slot])
            add_link(links, weight / (double)ways, depth);
        for (size_t r = links->first_reader[slot]; r < links->first_reader[slot + 1]; r++) {
            const struct ulp_step *reader = &block->steps[links->readers[r]];
            links->path[depth] = reader->number;
            if (depth + 1 < DEPTH_MAX && links->made < LINKS_MAX &&
                links->search->nodes.passes[reader->number])
                follow(links, reader, weight / (double)ways, depth + 1);
            else
                add_link(links, weight / (double)ways, depth + 1);
            links->made++;
        }
    }
}

static enum ulp_status find_readers(struct links *links, struct ulp_arena *arena)
{
    const struct ulp_block *block = links->search->emulation.plan->main;
    size_t *first = ulp_arena_take(arena, block->slot_count + 2, sizeof *first), total = 0;
    links->is_output = ulp_arena_take(arena, block->slot_count + 1, sizeof *links->is_output);
    if (!first || !links->is_output)
        return ulp_out_of_memory(links->error);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t s = 0; s < block->step_count; s++) {
            const struct ulp_step *step = &block->steps[s];
            for (size_t i = 0; i < step->input_count && !step->folded; i++) {
                if (step->inputs[i] < 0)
                    continue;
                if (pass == 0)
                    first[step->inputs[i] + 1]++, total++;
                else
                    links->readers[first[step->inputs[i]]++] = s;
            }
        }
        if (pass == 0) {
            for (size_t v = 0; v < block->slot_count; v++)
                first[v + 1] += first[v];
            links->readers = ulp_arena_take(arena, total + 1, sizeof *links->readers);
            if (!links->readers)
                return ulp_out_of_memory(links->error);
        } else { /* each begin has moved to the next one's */
            memmove(first + 1, first, block->slot_count * sizeof *first);
            first[0] = 0;
        }
    }
    links->first_reader = first;
    for (size_t i = 0; i < block->output_count; i++)
        links->is_output[block->outputs[i]] = true;
    return ULP_OK;
}

static void find_links(struct links *links)
{
    const struct ulp_searcher *search = links->search;
    const bool random = links->start >= ULP_ESTIMATE_COUNT;
    const size_t estimate = random ? ULP_ESTIMATE_CONDITION : links->start;
    for (size_t n = 0; n < search->emulation.plan->node_count && links->status == ULP_OK; n++) {
        const double factor =
                         random ? ulp_math_exp2(6 * ulp_random_uniform(links->start, n) - 3) : 1,
                     stored = factor * search->nodes.stored[estimate][n];
        links->path[0] = n;
        links->made = 0;
        add_link(links, factor * search->nodes.own[estimate][n], 1);
        if (stored > 0 && search->emulation.plan->nodes[n].block == search->emulation.plan->main)
            follow(links, search->emulation.plan->nodes[n].step, stored, 1);
        else
            add_link(links, stored, 1);
    }
}

/* What each layer's links weigh, those of which it is the only one free counting as much as any. */
static enum ulp_status weigh(struct links *links, const ulp_pick *of, double *weight, size_t *first,
                             size_t **of_layer, struct ulp_arena *arena)
{
    const struct ulp_searcher *search = links->search;
    const size_t layers = search->layer_count;
    *of_layer = ulp_arena_take(arena, links->layer_count + 1, sizeof **of_layer);
    if (!*of_layer)
        return ulp_out_of_memory(links->error);
    for (size_t l = 0; l < links->count; l++)
        for (size_t i = 0; i < links->items[l].count; i++) {
            const size_t layer = links->layers[links->items[l].first + i];
            first[layer + 1]++;
            links->items[l].broken |= of[layer] == search->narrow;
        }
    for (size_t l = 0; l < layers; l++)
        first[l + 1] += first[l];
    for (size_t l = 0; l < links->count; l++)
        for (size_t i = 0; i < links->items[l].count; i++) {
            const size_t layer = links->layers[links->items[l].first + i];
            (*of_layer)[first[layer]++] = l;
            weight[layer] += links->items[l].broken ? 0 : links->items[l].weight;
        }
    memmove(first + 1, first, layers * sizeof *first);
    first[0] = 0;
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        if (search->layer_of[n] >= 0)
            weight[search->layer_of[n]] += search->nodes.required[n] ? REQUIRED : 0;
    return ULP_OK;
}

static enum ulp_status peel(struct links *links, const ulp_pick *of, size_t *out, size_t *count,
                            struct ulp_arena *arena)
{
    const struct ulp_searcher *search = links->search;
    const size_t layers = search->layer_count;
    double *weight = ulp_arena_take(arena, layers + 1, sizeof *weight),
           *saved = ulp_arena_take(arena, layers + 1, sizeof *saved);
    size_t *first = ulp_arena_take(arena, layers + 2, sizeof *first), *of_layer;
    if (!weight || !first || !saved)
        return ulp_out_of_memory(links->error);
    const enum ulp_status status = weigh(links, of, weight, first, &of_layer, arena);
    for (size_t l = 0; l < layers; l++)
        saved[l] = search->layers[l].cost[of[l]] - search->layers[l].cost[search->narrow];
    for (*count = 0; status == ULP_OK; ++*count) {
        size_t least = layers;
        for (size_t l = 0; l < layers; l++)
            if (saved[l] > 0 &&
                (least == layers || weight[l] / saved[l] < weight[least] / saved[least]))
                least = l;
        if (least == layers)
            break;
        saved[least] = 0;
        out[*count] = least;
        for (size_t k = first[least]; k < first[least + 1]; k++) {
            struct link *link = &links->items[of_layer[k]];
            for (size_t i = 0; i < link->count && !link->broken; i++)
                weight[links->layers[link->first + i]] -= link->weight;
            link->broken = true;
        }
    }
    return status;
}

enum ulp_status ulp_search_order(const struct ulp_searcher *search, const ulp_pick *of,
                                 size_t start, size_t *out, size_t *count, struct ulp_error *error)
{
    struct links links = {.search = search,
                          .start = start,
                          .budget = ulp_model_budget(search->emulation.plan->model),
                          .error = error};
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, links.budget, error);
    if (status != ULP_OK)
        return status;
    status = find_readers(&links, arena);
    if (status == ULP_OK) {
        find_links(&links);
        status = links.status;
    }
    if (status == ULP_OK)
        status = peel(&links, of, out, count, arena);
    ulp_free(links.items);
    ulp_free(links.layers);
    ulp_arena_free(arena);
    return status;
}
