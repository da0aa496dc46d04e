/* A least cut, as the largest flow by shortest paths. */
#include <math.h>

#include "analysis/fix/powers.h"
#include "number/function/math.h"

struct flow {
    const struct ulp_power_arc *arcs;
    size_t count;
    double *left;     /* of arc a, and behind them of its reverse */
    int *first, *arc; /* by vertex: its arcs, both ways */
    int *queue, *by;  /* by: the arc by which a vertex was reached, plus 1 */
};

static int end_of(const struct flow *flow, int arc)
{
    const struct ulp_power_arc *of = &flow->arcs[(size_t)arc % flow->count];
    return (size_t)arc < flow->count ? of->to : of->from;
}

/* Is the sink reached? */
static bool find_path(const struct flow *flow, size_t vertex_count, bool *reached)
{
    size_t count = 1;
    memset(reached, 0, vertex_count * sizeof *reached);
    flow->queue[0] = 0;
    reached[0] = true;
    for (size_t q = 0; q < count; q++) {
        const int vertex = flow->queue[q];
        for (int i = flow->first[vertex]; i < flow->first[vertex + 1]; i++) {
            const int end = end_of(flow, flow->arc[i]);
            if (reached[end] || !(flow->left[flow->arc[i]] > 0))
                continue;
            reached[end] = true;
            flow->by[end] = flow->arc[i];
            flow->queue[count++] = end;
        }
    }
    return reached[1];
}

static double push(const struct flow *flow)
{
    const size_t count = flow->count;
    double most = INFINITY;
    for (int v = 1; v != 0; v = end_of(flow, (int)((size_t)flow->by[v] + count) % (int)(2 * count)))
        most = ulp_math_min(most, flow->left[flow->by[v]]);
    for (int v = 1; v != 0;
         v = end_of(flow, (int)((size_t)flow->by[v] + count) % (int)(2 * count))) {
        flow->left[flow->by[v]] -= most;
        flow->left[((size_t)flow->by[v] + count) % (2 * count)] += most;
    }
    return most;
}

double ulp_power_cut(struct ulp_arena *memory, struct ulp_power_arc *arcs, size_t count,
                     size_t vertex_count, bool *reached)
{
    struct flow flow = {.arcs = arcs,
                        .count = count,
                        .left = ulp_arena_take(memory, 2 * count + 1, sizeof *flow.left),
                        .arc = ulp_arena_take(memory, 2 * count + 1, sizeof *flow.arc),
                        .first = ulp_arena_take(memory, vertex_count + 2, sizeof *flow.first),
                        .queue = ulp_arena_take(memory, vertex_count, sizeof *flow.queue),
                        .by = ulp_arena_take(memory, vertex_count, sizeof *flow.by)};
    double cost = 0;
    if (!flow.left || !flow.arc || !flow.first || !flow.queue || !flow.by)
        return -1;
    for (size_t a = 0; a < 2 * count; a++) { /* arcs counted by the vertex that they leave */
        flow.left[a] = a < count ? arcs[a].cost : 0;
        flow.first[(a < count ? arcs[a].from : arcs[a - count].to) + 2]++;
    }
    for (size_t v = 1; v < vertex_count + 1; v++)
        flow.first[v + 1] += flow.first[v];
    for (size_t a = 0; a < 2 * count; a++)
        flow.arc[flow.first[(a < count ? arcs[a].from : arcs[a - count].to) + 1]++] = (int)a;
    while (count && find_path(&flow, vertex_count, reached))
        cost += push(&flow);
    return cost;
}
