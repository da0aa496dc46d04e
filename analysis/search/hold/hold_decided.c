/* What decisions need. Where rounding turns one (a TopK of a router, a comparison), the error
 * jumps, and a mean power by links says little: by links a whole network is kept for a margin that
 * the few nodes in front of it take up. So the nodes before decisions are tried by themselves,
 * further and further back until draws hold, then without each decision's, then without each layer.
 */
#include <math.h>
#include <string.h>

#include "analysis/search/hold/hold.h"
#include "base/error.h"
#include "base/machine/clock.h"

/* LOOKED_AT: draws that judge nothing; in all as many as a search makes by itself. */
enum { FAR = 12, LOOKED_AT = 24, TIMES = 3, LOOKS_LEAST = 400, LOOKS_EACH = 2 };

struct deciding {
    struct ulp_searcher *search;
    size_t *roots, root_count; /* nodes that decide */
    int *distance;             /* by node: from the nearest root; -1: none */
    size_t *queue;
    size_t looked_at, looks; /* draws of a look, and all so far */
    ulp_pick *of, *next;
    struct ulp_kept_draws *draws; /* of the best */
    bool held;
};

static bool may_look(const struct deciding *d)
{
    d->search->over |= ulp_seconds_now() > d->search->deadline;
    return !d->search->over && d->looks < LOOKS_LEAST + LOOKS_EACH * d->search->layer_count;
}

static bool decides(const struct ulp_program_node *node)
{
    static const char ops[] = "TopK ArgMax ArgMin NonMaxSuppression QMoE MoE Greater Less "
                              "GreaterOrEqual LessOrEqual Equal";
    return node->block && ulp_is_word(node->step->bound.node->op_type, ops);
}

static void add_near(struct deciding *d, size_t node, int distance, size_t *count)
{
    if (d->distance[node] >= 0)
        return;
    d->distance[node] = distance;
    d->queue[(*count)++] = node;
}

/* How far each node is in front of a decision. */
static void find_distances(struct deciding *d)
{
    const struct ulp_program *program = d->search->emulation.program;
    const struct ulp_block *block = program->main;
    size_t count = 0;
    for (size_t n = 0; n < program->node_count; n++)
        d->distance[n] = -1;
    for (size_t r = 0; r < d->root_count; r++)
        add_near(d, d->roots[r], 0, &count);
    for (size_t q = 0; q < count; q++) {
        const struct ulp_step *step = program->nodes[d->queue[q]].step;
        for (size_t i = 0; i < step->input_count && program->nodes[d->queue[q]].block == block;
             i++) {
            const struct ulp_step *maker =
                step->inputs[i] >= 0 ? ulp_block_producer(block, step->inputs[i]) : NULL;
            if (maker)
                add_near(d, maker->number, d->distance[d->queue[q]] + 1, &count);
        }
    }
}

/* Layers so near keep the widest choice, and those that must for their range. */
static void choose_near(const struct deciding *d, int far, ulp_pick *of)
{
    const struct ulp_searcher *search = d->search;
    ulp_search_same(search, (ulp_pick)search->narrow, of);
    for (size_t l = 0; l < search->layer_count; l++)
        if (search->nodes.required[search->layers[l].first])
            of[l] = 0;
    for (size_t n = 0; n < search->emulation.program->node_count; n++)
        if (d->distance[n] >= 0 && d->distance[n] <= far && search->layer_of[n] >= 0)
            of[search->layer_of[n]] = 0;
}

/* Do some draws hold that judge nothing? */
static enum ulp_status look(struct deciding *d, const ulp_pick *of, bool *hold,
                            struct ulp_error *error)
{
    struct ulp_searcher *search = d->search;
    struct ulp_attempt lanes[ULP_BESIDE_MAX];
    struct ulp_judgement judged[ULP_BESIDE_MAX];
    struct ulp_keeps keeps;
    ULP_TRY(ulp_search_keeps(search, of, &keeps, error));
    ULP_TRY(ulp_search_lanes(search, &keeps, lanes, error));
    *hold = true;
    for (size_t draw = 0; draw < d->looked_at && *hold; draw++, d->looks++) {
        ULP_TRY(ulp_search_draw(search, ULP_SEARCH_DRAWS + draw, lanes, search->judged_in_count,
                                judged, error));
        for (size_t l = 0; l < search->judged_in_count; l++)
            *hold &= judged[l].ratio <= 1;
    }
    return ULP_OK;
}

static enum ulp_status judge(struct deciding *d, bool *holds, struct ulp_error *error)
{
    struct ulp_searcher *search = d->search;
    ULP_TRY(ulp_search_verify(search, d->of, error));
    *holds = search->holds && ulp_search_cost(search, d->of) < search->best_cost;
    if (*holds) {
        ulp_search_make_best(search, d->of, NAN);
        ulp_search_copy_draws(search, d->draws, false);
    } else {
        ulp_search_copy_draws(search, d->draws, true);
    }
    search->holds = d->held |= *holds;
    return ULP_OK;
}

/* Further and further back, as long as that is cheaper than the best so far. */
static enum ulp_status find_far(struct deciding *d, bool *holds, struct ulp_error *error)
{
    *holds = false;
    for (int far = 0; far <= FAR && !*holds && may_look(d); far++) {
        choose_near(d, far, d->of);
        if (ulp_search_cost(d->search, d->of) >= d->search->best_cost)
            return ULP_OK;
        ULP_TRY(look(d, d->of, holds, error));
        if (*holds)
            ULP_TRY(judge(d, holds, error));
    }
    return ULP_OK;
}

/* Layers that need not be kept: halves of those that are in the graph's order, then quarters, to
 * single ones. */
static enum ulp_status leave_out(struct deciding *d, struct ulp_error *error)
{
    struct ulp_searcher *search = d->search;
    const size_t bytes = search->layer_count * sizeof *d->of;
    size_t count = 0;
    bool hold;
    for (size_t l = 0; l < search->layer_count; l++)
        if (!d->of[l] && !search->nodes.required[search->layers[l].first])
            d->queue[count++] = l;
    for (size_t size = (count + 1) / 2; size; size = size > 1 ? (size + 1) / 2 : 0)
        for (size_t first = 0; first < count && may_look(d); first += size) {
            memcpy(d->next, d->of, bytes);
            for (size_t i = first; i < first + size && i < count; i++)
                d->next[d->queue[i]] = (ulp_pick)search->narrow;
            if (memcmp(d->next, d->of, bytes) == 0)
                continue;
            ULP_TRY(look(d, d->next, &hold, error));
            if (hold)
                memcpy(d->of, d->next, bytes);
        }
    return ULP_OK;
}

static enum ulp_status open_deciding(struct deciding *d, struct ulp_error *error)
{
    struct ulp_arena *memory = d->search->emulation.memory;
    const struct ulp_program *program = d->search->emulation.program;
    const size_t nodes = program->node_count + 1, layers = d->search->layer_count + 1;
    ULP_TAKE(d->roots, memory, nodes, error);
    ULP_TAKE(d->distance, memory, nodes, error);
    ULP_TAKE(d->queue, memory, nodes, error);
    ULP_TAKE(d->draws, memory, 1, error);
    ULP_TAKE(d->of, memory, layers, error);
    ULP_TAKE(d->next, memory, layers, error);
    for (size_t n = 0; n < program->node_count; n++)
        if (decides(&program->nodes[n]))
            d->roots[d->root_count++] = n;
    return ULP_OK;
}

enum ulp_status ulp_search_decided(struct ulp_searcher *search, struct ulp_error *error)
{
    struct deciding d = {.search = search, .looked_at = LOOKED_AT, .held = search->holds};
    bool holds;
    ULP_TRY(open_deciding(&d, error));
    if (!d.root_count)
        return ULP_OK;
    ulp_search_copy_draws(search, d.draws, false);
    find_distances(&d);
    ULP_TRY(find_far(&d, &holds, error));
    if (!holds)
        return ULP_OK;
    for (int t = 0; t < TIMES && holds && may_look(&d); t++, d.looked_at *= 2) {
        memcpy(d.of, search->best, search->layer_count * sizeof *d.of);
        ULP_TRY(leave_out(&d, error));
        if (!(ulp_search_cost(search, d.of) < search->best_cost))
            return ULP_OK;
        ULP_TRY(judge(&d, &holds, error));
        holds = !holds; /* with more draws that may say no */
    }
    return ULP_OK;
}
