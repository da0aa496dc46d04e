/* Topological order of a graph's nodes: Kahn's algorithm, the ready node earliest in the file
 * first. */
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "graph/graph.h"

struct sorter {
    struct ulp_arena *arena; /* of what follows */
    const struct ulp_graph *graph;
    const struct ulp_node *nodes;
    size_t node_count, edge_count;
    size_t *first;  /* node_count + 1: where a node's consumers start in `consumers` */
    int *consumers; /* one for each edge */
    int *waiting;   /* how many inputs of a node are not computed yet */
    int *ready;     /* binary heap of nodes, the smallest on top */
    size_t ready_count;
    int *order; /* node_count */
};

typedef void edge_fn(struct sorter *s, int producer, int consumer);

static void visit_value(struct sorter *s, int value, int consumer, edge_fn *visit)
{
    if (value >= 0 && s->graph->values[value].producer >= 0)
        visit(s, s->graph->values[value].producer, consumer);
}

/* Calls visit for every value a node needs: its inputs and what its subgraphs capture from this
 * graph. */
static void visit_edges(struct sorter *s, edge_fn *visit)
{
    for (size_t n = 0; n < s->node_count; n++) {
        const struct ulp_node *node = &s->nodes[n];
        for (size_t i = 0; i < node->input_count; i++)
            visit_value(s, node->inputs[i], (int)n, visit);
        for (size_t a = 0; a < node->attribute_count; a++) {
            const struct ulp_graph *subgraph = node->attributes[a].graph;
            for (size_t v = 0; subgraph && v < subgraph->value_count; v++)
                visit_value(s, subgraph->values[v].outer, (int)n, visit);
        }
    }
}

static void count_edge(struct sorter *s, int producer, int consumer)
{
    s->first[producer + 1]++;
    s->waiting[consumer]++;
    s->edge_count++;
}

/* Moves first[producer] up to where the next producer's consumers start. */
static void fill_edge(struct sorter *s, int producer, int consumer)
{
    s->consumers[s->first[producer]++] = consumer;
}

static void push_ready(struct sorter *s, int node)
{
    size_t at = s->ready_count++;
    for (; at > 0 && s->ready[(at - 1) / 2] > node; at = (at - 1) / 2)
        s->ready[at] = s->ready[(at - 1) / 2];
    s->ready[at] = node;
}

static int pop_ready(struct sorter *s)
{
    int top = s->ready[0], last = s->ready[--s->ready_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->ready_count; at = child) {
        if (child + 1 < s->ready_count && s->ready[child + 1] < s->ready[child])
            child++;
        if (s->ready[child] >= last)
            break;
        s->ready[at] = s->ready[child];
    }
    s->ready[at] = last;
    return top;
}

static size_t take_order(struct sorter *s)
{
    size_t done = 0;
    for (size_t n = 0; n < s->node_count; n++)
        if (s->waiting[n] == 0)
            push_ready(s, (int)n);
    while (s->ready_count) {
        int node = pop_ready(s);
        s->order[done++] = node;
        for (size_t e = s->first[node]; e < s->first[node + 1]; e++)
            if (--s->waiting[s->consumers[e]] == 0)
                push_ready(s, s->consumers[e]);
    }
    return done;
}

/* A node that waits waits for another one that waits: going from consumer to producer must come
 * round. */
static void find_producer(struct sorter *s, int producer, int consumer)
{
    if (s->waiting[producer] > 0)
        s->order[consumer] = producer;
}

static enum ulp_status report_cycle(struct sorter *s, struct ulp_error *error)
{
    visit_edges(s, find_producer);
    size_t at = 0;
    while (s->waiting[at] == 0)
        at++;
    int node = (int)at;
    /* now certainly on the cycle, not on a way into it */
    for (size_t steps = 0; steps < s->node_count; steps++)
        node = s->order[node];
    char names[1000] = "";
    size_t used = 0, length = 0;
    int start = node;
    do {
        if (length++ < 8)
            used += (size_t)snprintf(names + used, sizeof names - used, "'%.80s' needs ",
                                     s->nodes[node].name);
        node = s->order[node];
    } while (node != start);
    return ulp_fail(error, ULP_ERROR_INPUT, "the nodes form a cycle of %zu: %s%s'%.80s'", length,
                    names, length > 8 ? "... needs " : "", s->nodes[start].name);
}

/* Moves nodes[] and the producers into s->order. */
static enum ulp_status apply_order(struct sorter *s, struct ulp_graph *graph,
                                   struct ulp_node *nodes, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_node, copy, s->arena, s->node_count + 1, error);
    memcpy(copy, nodes, s->node_count * sizeof *copy);
    for (size_t i = 0; i < s->node_count; i++) {
        nodes[i] = copy[s->order[i]];
        nodes[i].index = (int)i;
        s->waiting[s->order[i]] = (int)i; /* the inverse: where the node went */
    }
    for (size_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].producer >= 0)
            graph->values[v].producer = s->waiting[graph->values[v].producer];
    return ULP_OK;
}

static enum ulp_status sort(struct sorter *s, struct ulp_graph *graph, struct ulp_node *nodes,
                            struct ulp_error *error)
{
    visit_edges(s, count_edge);
    for (size_t n = 0; n < s->node_count; n++)
        s->first[n + 1] += s->first[n];
    ULP_TAKE(s->consumers, s->arena, s->edge_count + 1, error);
    visit_edges(s, fill_edge);
    for (size_t n = s->node_count; n > 0; n--)
        s->first[n] = s->first[n - 1];
    s->first[0] = 0;
    if (take_order(s) < s->node_count)
        return report_cycle(s, error);
    return apply_order(s, graph, nodes, error);
}

enum ulp_status ulp_graph_sort(struct ulp_graph *graph, struct ulp_node *nodes,
                               struct ulp_budget *budget, struct ulp_error *error)
{
    size_t count = graph->node_count;
    struct sorter s = {.graph = graph, .nodes = nodes, .node_count = count};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, budget, error));
    s.arena = arena;
    ULP_TAKE(s.first, arena, count + 2, error);
    ULP_TAKE(s.waiting, arena, count + 1, error);
    ULP_TAKE(s.ready, arena, count + 1, error);
    ULP_TAKE(s.order, arena, count + 1, error);
    return sort(&s, graph, nodes, error);
}
