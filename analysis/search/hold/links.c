/* Which nodes belong together. What a node stores is rounded unless the nodes that read it are
 * kept, too, and those behind a node that only moves it: a link is the path from the node that
 * stores to one that computes with it, and its error is gone when all of it is kept. Computing in
 * the narrower arithmetic is a link of the node alone.
 *
 * The order is that of peeling: again and again the layer whose links weigh least for what its
 * release saves is released, and its links are gone. Of the densest part of a graph this finds one
 * of at least half the density. */
#include "analysis/search/hold/hold.h"

#include <string.h>

#include "base/error.h"
#include "number/function/math.h"

/* Links are found by walking on from each node through those that add nothing. */
enum { DEPTH_MAX = 16, LINKS_MAX = 64 };

/* While they are found. */
struct finding {
    struct ulp_links *links;
    size_t path[DEPTH_MAX];
    size_t made; /* from the current node */
    enum ulp_status status;
    struct ulp_error *error;
};

enum ulp_status ulp_links_add(struct ulp_links *links, double weight, const size_t *layers,
                              size_t count, struct ulp_error *error)
{
    struct ulp_error_link link = {.weight = weight, .first = links->layer_count};
    ULP_TRY(ulp_grow(&links->items, links->count, &links->capacity, sizeof *links->items,
                     links->budget, "links of nodes", error));
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        for (size_t k = 0; k < link.count; k++)
            again |= links->layers[link.first + k] == layers[i];
        if (again)
            continue;
        ULP_TRY(ulp_grow(&links->layers, links->layer_count, &links->layer_capacity,
                         sizeof *links->layers, links->budget, "links of nodes", error));
        links->layers[links->layer_count++] = layers[i];
        link.count++;
    }
    links->items[links->count++] = link;
    return ULP_OK;
}

/* The path's first `depth` nodes, as layers. A node that has the narrowest choice anyway breaks it.
 */
static void add_link(struct finding *finding, double weight, size_t depth)
{
    const struct ulp_searcher *search = finding->links->search;
    size_t layers[DEPTH_MAX], count = 0;
    if (finding->status != ULP_OK || !(weight > 0))
        return;
    for (size_t i = 0; i < depth; i++) {
        const ptrdiff_t layer = search->layer_of[finding->path[i]];
        if (layer >= 0)
            layers[count++] = (size_t)layer;
        else if (ulp_search_choice_of(search, NULL, finding->path[i]) == search->narrow)
            return;
    }
    finding->status = ulp_links_add(finding->links, weight, layers, count, finding->error);
}

static void follow(struct finding *finding, const struct ulp_step *step, double weight,
                   size_t depth)
{
    const struct ulp_block *block = finding->links->search->emulation.program->main;
    const struct ulp_reading *all;
    size_t ways = 0;
    for (size_t o = 0; o < step->output_count; o++)
        ways += ulp_block_readings(block, step->outputs[o], &all);
    for (size_t o = 0; o < step->output_count; o++) {
        const size_t count = ulp_block_readings(block, step->outputs[o], &all);
        if (count && all[count - 1].step < 0)
            add_link(finding, weight / (double)ways, depth);
        for (size_t r = 0; r < count && all[r].step >= 0; r++) {
            const struct ulp_step *reader = &block->steps[all[r].step];
            finding->path[depth] = reader->number;
            if (depth + 1 < DEPTH_MAX && finding->made < LINKS_MAX &&
                finding->links->search->nodes.passes[reader->number])
                follow(finding, reader, weight / (double)ways, depth + 1);
            else
                add_link(finding, weight / (double)ways, depth + 1);
            finding->made++;
        }
    }
}

static void find_links(struct finding *finding)
{
    const struct ulp_searcher *search = finding->links->search;
    for (size_t n = 0; n < search->emulation.program->node_count && finding->status == ULP_OK;
         n++) {
        const double stored = search->nodes.stored[n];
        finding->path[0] = n;
        finding->made = 0;
        add_link(finding, search->nodes.own[n], 1);
        if (stored > 0 &&
            search->emulation.program->nodes[n].block == search->emulation.program->main)
            follow(finding, search->emulation.program->nodes[n].step, stored, 1);
        else
            add_link(finding, stored, 1);
    }
}

/* ---- what is left ---- */

enum ulp_status ulp_links_open(struct ulp_links *links, const struct ulp_searcher *search,
                               struct ulp_error *error)
{
    struct finding finding = {.links = links, .error = error};
    *links = (struct ulp_links){.search = search,
                                .budget = ulp_model_budget(search->emulation.program->model)};
    find_links(&finding);
    return finding.status;
}

void ulp_links_close(struct ulp_links *links)
{
    ulp_free(links->items);
    ulp_free(links->layers);
}

bool ulp_link_is_broken(const struct ulp_links *links, const struct ulp_error_link *link,
                        const ulp_pick *of)
{
    bool broken = false;
    for (size_t i = 0; i < link->count; i++)
        broken |= of[links->layers[link->first + i]] == links->search->narrow;
    return broken;
}

double ulp_links_power(const struct ulp_links *links, const ulp_pick *of)
{
    double power = 0;
    for (size_t l = 0; l < links->count; l++)
        power += ulp_link_is_broken(links, &links->items[l], of) ? links->items[l].weight : 0;
    return power;
}

/* What each layer's links weigh, those of which it is the only one free counting as much as any. */
static enum ulp_status weigh(struct ulp_links *links, const ulp_pick *of, double *weight,
                             size_t *first, size_t **of_layer, struct ulp_arena *arena,
                             struct ulp_error *error)
{
    const struct ulp_searcher *search = links->search;
    const size_t layers = search->layer_count;
    ULP_TAKE(*of_layer, arena, links->layer_count + 1, error);
    for (size_t l = 0; l < links->count; l++) {
        links->items[l].broken = ulp_link_is_broken(links, &links->items[l], of);
        for (size_t i = 0; i < links->items[l].count; i++)
            first[links->layers[links->items[l].first + i] + 1]++;
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
    for (size_t n = 0; n < search->emulation.program->node_count; n++)
        if (search->layer_of[n] >= 0)
            weight[search->layer_of[n]] += search->nodes.required[n] ? ULP_LINK_REQUIRED : 0;
    return ULP_OK;
}

/* The layer that goes next; all: none. */
static size_t find_least(const double *weight, const double *saved, size_t all, double most)
{
    size_t least = all;
    for (size_t l = 0; l < all; l++)
        if (saved[l] > 0 && weight[l] <= most &&
            (least == all || weight[l] / saved[l] < weight[least] / saved[least]))
            least = l;
    return least;
}

static void release(struct ulp_links *links, const size_t *of_layer, size_t count, double *weight)
{
    for (size_t k = 0; k < count; k++) {
        struct ulp_error_link *link = &links->items[of_layer[k]];
        for (size_t i = 0; i < link->count && !link->broken; i++)
            weight[links->layers[link->first + i]] -= link->weight;
        link->broken = true;
    }
}

enum ulp_status ulp_links_peel(struct ulp_links *links, const ulp_pick *of, double most,
                               size_t *out, size_t *count, struct ulp_error *error)
{
    const struct ulp_searcher *search = links->search;
    const size_t layers = search->layer_count;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    size_t *of_layer = NULL, *first;
    ULP_TRY(ulp_arena_create(&arena, links->budget, error));
    ULP_TAKE_ARRAY(double, weight, arena, layers + 1, error);
    ULP_TAKE_ARRAY(double, saved, arena, layers + 1, error);
    ULP_TAKE(first, arena, layers + 2, error);
    ULP_TRY(weigh(links, of, weight, first, &of_layer, arena, error));
    *count = 0;
    for (size_t l = 0; l < layers; l++)
        saved[l] = search->layers[l].cost[of[l]] - search->layers[l].cost[search->narrow];
    for (size_t next; (next = find_least(weight, saved, layers, most)) < layers;) {
        saved[next] = 0;
        most -= ulp_math_max(weight[next], 0);
        out[(*count)++] = next;
        release(links, &of_layer[first[next]], first[next + 1] - first[next], weight);
    }
    return ULP_OK;
}
