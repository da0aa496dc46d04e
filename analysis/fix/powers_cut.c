/* Which values have another power of two, for one that does not fit: a least cut. */
#include <math.h>
#include <stdlib.h>

#include "analysis/fix/powers.h"
#include "number/function/math.h"
#include "run/program/program.h"

/* What does not fit costs more than any number of multiplications; what must not be, more than any
 * number of those. */
#define MISFIT 1e4
#define NEVER 1e12
/* Degrees are in quarters: a root of a root has whole ones. */
enum { WHOLE = 4, DEGREE_MOST = 64 };

struct degrees {
    int in[2], out;
    bool set;
};

struct carrying {
    struct ulp_powers *powers;
    struct ulp_arena *memory;
    int k;
    int *values;           /* degree by value; 0: it is not reached */
    struct degrees *nodes; /* by node */
    int *queue;
    size_t queue_count;
    struct ulp_power_arc *arcs;
    size_t arc_count, arc_capacity;
    double idle; /* what it costs to change nothing */
    bool *reached;
};

/* ---- what is reached ---- */

static void reach(struct carrying *c, int value, int degree)
{
    if (!ulp_power_computed(c->powers, value) || c->values[value] || !degree ||
        abs(degree) > DEGREE_MOST)
        return;
    c->values[value] = degree;
    c->queue[c->queue_count++] = value;
}

static int degree_of(const struct carrying *c, int value)
{
    return value >= 0 && ulp_power_computed(c->powers, value) ? c->values[value] : 0;
}

static bool is_whole(double degree)
{
    return degree == rint(degree) && fabs(degree) <= DEGREE_MOST;
}

/* Is there a constant behind the value, that can take a factor in? */
static bool has_constant(const struct carrying *c, int value)
{
    enum { FAR = 8 };
    for (int step = 0; step < FAR && value >= 0; step++) {
        const int producer = c->powers->graph->values[value].producer;
        const struct ulp_power_node *node = producer < 0 ? NULL : &c->powers->nodes[producer];
        if (!node || node->constant >= 0 || node->kind == ULP_POWER_BATCHNORM)
            return node != NULL;
        if (node->kind != ULP_POWER_SAME)
            return false;
        value = c->powers->graph->nodes[producer].inputs[0];
    }
    return false;
}

static void relate_same(struct carrying *c, const struct ulp_node *node,
                        const struct ulp_power_node *row, struct degrees *out)
{
    const bool compares = row->kind == ULP_POWER_COMPARE;
    int degree = out->set ? out->in[0] : 0;
    for (size_t i = 0; i < node->input_count && !degree; i++)
        degree = ulp_power_scales(row, i) ? degree_of(c, node->inputs[i]) : 0;
    for (size_t o = 0; o < node->output_count && !degree && !compares; o++)
        degree = degree_of(c, node->outputs[o]);
    if (!degree || out->set)
        return;
    *out = (struct degrees){{degree, degree}, compares ? 0 : degree, true};
    for (size_t i = 0; i < node->input_count; i++)
        if (ulp_power_scales(row, i))
            reach(c, node->inputs[i], degree);
    for (size_t o = 0; o < node->output_count && !compares; o++)
        reach(c, node->outputs[o], degree);
}

static void relate_power(struct carrying *c, int from, int to, double power, struct degrees *out)
{
    const int in = degree_of(c, from), result = degree_of(c, to);
    const double degree = in ? in : result / power;
    if (out->set || !(in || result) || !is_whole(degree) || !is_whole(degree * power))
        return;
    *out = (struct degrees){{(int)degree, (int)degree}, (int)(degree * power), true};
    reach(c, from, out->in[0]);
    reach(c, to, out->out);
}

/* Of two factors that are computed: when all is reached that has no choice. */
static bool relate_pair(struct carrying *c, const struct ulp_node *node, int sign,
                        struct degrees *out)
{
    int a = degree_of(c, node->inputs[0]), b = degree_of(c, node->inputs[1]);
    const int result = degree_of(c, node->outputs[0]);
    if (out->set || !(a || b || result))
        return false;
    const bool second = has_constant(c, node->inputs[1]) && !has_constant(c, node->inputs[0]);
    if (!a && !b && second)
        b = sign * result;
    else if (!a && !b)
        a = result;
    *out = (struct degrees){{a, b}, a + sign * b, true};
    reach(c, node->inputs[0], a);
    reach(c, node->inputs[1], b);
    reach(c, node->outputs[0], out->out);
    return true;
}

static bool is_square(const struct ulp_node *node, const struct ulp_power_node *row)
{
    return row->kind == ULP_POWER_PRODUCT && row->constant < 0 &&
           node->inputs[0] == node->inputs[1];
}

static void relate(struct carrying *c, int n)
{
    const struct ulp_node *node = &c->powers->graph->nodes[n];
    const struct ulp_power_node *row = &c->powers->nodes[n];
    if (row->kind == ULP_POWER_SAME || row->kind == ULP_POWER_COMPARE)
        relate_same(c, node, row, &c->nodes[n]);
    else if (row->kind == ULP_POWER_POWER)
        relate_power(c, node->inputs[0], node->outputs[0], row->power, &c->nodes[n]);
    else if (is_square(node, row)) {
        relate_power(c, node->inputs[0], node->outputs[0], 2, &c->nodes[n]);
        c->nodes[n].out = 2 * c->nodes[n].in[0];
    }
}

static void spread(struct carrying *c)
{
    const struct ulp_graph *graph = c->powers->graph;
    for (size_t q = 0;;) {
        for (; q < c->queue_count; q++) {
            const int value = c->queue[q];
            if (graph->values[value].producer >= 0)
                relate(c, graph->values[value].producer);
            for (size_t r = 0; r < ulp_lint_reader_count(c->powers->view, value); r++)
                relate(c, ulp_lint_reader(c->powers->view, value, r).node->index);
        }
        bool more = false;
        for (size_t n = 0; n < graph->node_count && !more; n++) {
            const struct ulp_power_node *row = &c->powers->nodes[n];
            if ((row->kind == ULP_POWER_PRODUCT || row->kind == ULP_POWER_QUOTIENT) &&
                row->constant < 0 && !is_square(&graph->nodes[n], row))
                more = relate_pair(c, &graph->nodes[n], row->kind == ULP_POWER_PRODUCT ? 1 : -1,
                                   &c->nodes[n]);
        }
        if (!more)
            return;
    }
}

/* ---- what it costs ---- */

enum { SOURCE, SINK, FIRST };

static int vertex_of(int value)
{
    return FIRST + value;
}

static int vertex_of_node(const struct carrying *c, size_t n)
{
    return FIRST + (int)(c->powers->graph->value_count + n);
}

static int moved(const struct carrying *c, int degree)
{
    return c->k * degree / WHOLE;
}

static void add_arc(struct carrying *c, int from, int to, double cost)
{
    if (!(cost > 0))
        return;
    if (!ULP_ARENA_GROWS(c->arcs, c->memory, c->arc_count, c->arc_capacity)) {
        c->powers->failed = true;
        return;
    }
    c->arcs[c->arc_count++] = (struct ulp_power_arc){from, to, cost};
}

/* A multiplication where the value has the factor 2^-e. */
static double cost_of(const struct carrying *c, int value, int e)
{
    return ulp_power_fits(c->powers, value, e) ? 1 : MISFIT;
}

/* Between a value and a node that reads (inward) or gives it, by what the node has there. */
static void tie(struct carrying *c, int value, size_t n, int degree, int own, bool inward)
{
    const struct ulp_node *node = &c->powers->graph->nodes[n];
    const int at = vertex_of_node(c, n), v = vertex_of(value), here = own + moved(c, degree),
              before = c->powers->of[value];
    const bool edits =
        inward ? node->input_count <= ULP_EDIT_INPUTS_MAX : ulp_power_may_follow(node);
    const double much = edits ? 0 : MISFIT;
    if (!c->values[value] && !degree)
        return;
    if (c->values[value] == degree) {
        add_arc(c, v, at, much + cost_of(c, value, own));
        add_arc(c, at, v, much + cost_of(c, value, here));
        return;
    }
    if (c->values[value])
        add_arc(c, v, SINK, much + cost_of(c, value, own));
    if (degree)
        add_arc(c, at, SINK, much + cost_of(c, value, inward ? here : before));
}

static void cost_constant(struct carrying *c, size_t n)
{
    const struct ulp_power_node *row = &c->powers->nodes[n];
    const struct ulp_node *node = &c->powers->graph->nodes[n];
    const int constant = node->inputs[row->constant], x = node->inputs[1 - row->constant],
              y = node->outputs[0];
    const int dx = degree_of(c, x), dy = degree_of(c, y);
    const int sign = row->kind == ULP_POWER_PRODUCT || row->constant == 0 ? 1 : -1;
    const int from = dx ? vertex_of(x) : SINK, to = dy ? vertex_of(y) : SINK;
    for (int in = 0; in < 2; in++)
        for (int out = 0; out < 2; out++) {
            if (in == out)
                continue;
            const int s = sign * (c->powers->of[y] + out * moved(c, dy)) -
                          (row->kind == ULP_POWER_QUOTIENT && row->constant == 0 ? -1 : sign) *
                              (c->powers->of[x] + in * moved(c, dx));
            if (!ulp_power_constant_fits(c->powers, constant, s) && (in ? dx : dy))
                add_arc(c, in ? from : to, in ? to : from, MISFIT);
        }
}

static void cost_reader(struct carrying *c, int value, size_t n)
{
    const struct ulp_node *node = &c->powers->graph->nodes[n];
    const struct ulp_power_node *row = &c->powers->nodes[n];
    for (size_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != value)
            continue;
        const bool scaled = ulp_power_scales(row, i);
        if (row->kind == ULP_POWER_FIXED || !scaled)
            add_arc(c, vertex_of(value), SINK, cost_of(c, value, 0));
        else if (row->kind == ULP_POWER_LOG)
            add_arc(c, vertex_of(value), SINK, 1);
    }
}

static void cost_value(struct carrying *c, int value)
{
    const struct ulp_powers *powers = c->powers;
    const int producer = powers->graph->values[value].producer, v = vertex_of(value),
              e = powers->of[value] + moved(c, c->values[value]);
    if (powers->bound[value])
        add_arc(c, v, SINK, NEVER);
    if (!ulp_power_fits(powers, value, powers->of[value])) {
        add_arc(c, SOURCE, v, MISFIT);
        c->idle += MISFIT;
    }
    if (!ulp_power_fits(powers, value, e))
        add_arc(c, v, SINK, MISFIT);
    for (size_t r = 0; r < ulp_lint_reader_count(powers->view, value); r++)
        cost_reader(c, value, (size_t)ulp_lint_reader(powers->view, value, r).node->index);
    if (producer < 0)
        return;
    const struct ulp_power_node *row = &powers->nodes[producer];
    if (row->kind == ULP_POWER_NORM && row->constant >= 0)
        add_arc(c, v, SINK,
                ulp_power_constant_fits(powers, powers->graph->nodes[producer].inputs[1], e)
                    ? 0
                    : MISFIT);
    else if (row->kind == ULP_POWER_FIXED || row->kind == ULP_POWER_LOG ||
             row->kind == ULP_POWER_NORM)
        add_arc(c, v, SINK,
                ulp_power_may_follow(&powers->graph->nodes[producer]) ? cost_of(c, value, 0)
                                                                      : MISFIT);
}

static void cost_node(struct carrying *c, size_t n)
{
    const struct ulp_power_node *row = &c->powers->nodes[n];
    const struct ulp_node *node = &c->powers->graph->nodes[n];
    const struct degrees *degrees = &c->nodes[n];
    if (row->kind != ULP_POWER_NORM && row->constant >= 0)
        cost_constant(c, n);
    if (!row->tied)
        return;
    for (size_t i = 0; i < node->input_count; i++) {
        const bool second = i == 1 && row->kind != ULP_POWER_SAME;
        if (!ulp_power_scales(row, i))
            continue;
        if (ulp_power_computed(c->powers, node->inputs[i]) &&
            !(second && node->inputs[1] == node->inputs[0]))
            tie(c, node->inputs[i], n, degrees->in[second], row->in[second], true);
        else if (node->inputs[i] >= 0 &&
                 !ulp_power_constant_fits(c->powers, node->inputs[i],
                                          row->in[0] + moved(c, degrees->in[0])) &&
                 ulp_power_constant_fits(c->powers, node->inputs[i], row->in[0]))
            add_arc(c, vertex_of_node(c, n), SINK, degrees->set ? 2 : 0);
    }
    for (size_t o = 0; o < node->output_count && row->kind != ULP_POWER_COMPARE; o++)
        if (ulp_power_computed(c->powers, node->outputs[o]))
            tie(c, node->outputs[o], n, degrees->out, row->out, false);
}

/* ---- all of it ---- */

/* How far the largest of what is changed is beyond the format, in powers of the root's. */
static int find_lack(const struct carrying *c)
{
    int most = c->k;
    for (size_t v = 0; v < c->powers->graph->value_count && c->k > 0; v++) {
        const struct ulp_power_range *range = &c->powers->ranges[v];
        if (c->values[v] <= 0 || !c->reached[vertex_of((int)v)] || !range->count)
            continue;
        const double log =
            ulp_math_log2(range->most * 4 / c->powers->format->max_finite) - c->powers->of[v];
        most = (int)ulp_math_max(most, ceil(WHOLE * log / c->values[v]));
    }
    return most;
}

static bool is_integral(const struct carrying *c)
{
    bool is = true;
    for (size_t v = 0; v < c->powers->graph->value_count; v++)
        is &= !c->reached[vertex_of((int)v)] || c->k * c->values[v] % WHOLE == 0;
    for (size_t n = 0; n < c->powers->graph->node_count; n++)
        is &= !c->reached[vertex_of_node(c, n)] ||
              (c->k * c->nodes[n].in[0] % WHOLE == 0 && c->k * c->nodes[n].in[1] % WHOLE == 0 &&
               c->k * c->nodes[n].out % WHOLE == 0);
    return is;
}

static bool cut(struct carrying *c, int root)
{
    const struct ulp_graph *graph = c->powers->graph;
    c->arc_count = 0;
    c->idle = MISFIT;
    for (size_t v = 0; v < graph->value_count; v++)
        if (c->values[v])
            cost_value(c, (int)v);
    for (size_t n = 0; n < graph->node_count; n++)
        cost_node(c, n);
    add_arc(c, SOURCE, root, NEVER);
    const double cost = ulp_power_cut(c->memory, c->arcs, c->arc_count,
                                      FIRST + graph->value_count + graph->node_count, c->reached);
    c->powers->failed |= cost < 0;
    return !c->powers->failed && cost < c->idle;
}

static void apply(struct carrying *c)
{
    for (size_t v = 0; v < c->powers->graph->value_count; v++)
        if (c->reached[vertex_of((int)v)])
            c->powers->of[v] += moved(c, c->values[v]);
    for (size_t n = 0; n < c->powers->graph->node_count; n++)
        if (c->reached[vertex_of_node(c, n)]) {
            struct ulp_power_node *node = &c->powers->nodes[n];
            node->in[0] += moved(c, c->nodes[n].in[0]);
            node->in[1] += moved(c, c->nodes[n].in[1]);
            node->out += moved(c, c->nodes[n].out);
        }
}

static bool carry(struct carrying *c, int value, int root)
{
    enum { TRIES = 6 };
    const struct ulp_graph *graph = c->powers->graph;
    const size_t values = graph->value_count, nodes = graph->node_count;
    c->values = ulp_arena_take(c->memory, values + 1, sizeof *c->values);
    c->queue = ulp_arena_take(c->memory, values + 1, sizeof *c->queue);
    c->nodes = ulp_arena_take(c->memory, nodes + 1, sizeof *c->nodes);
    c->reached = ulp_arena_take(c->memory, FIRST + values + nodes, sizeof *c->reached);
    c->powers->failed |= !c->values || !c->queue || !c->nodes || !c->reached;
    if (c->powers->failed)
        return false;
    reach(c, value >= 0 ? value : graph->nodes[root].outputs[0], WHOLE);
    spread(c);
    const int at = value >= 0 ? vertex_of(value) : vertex_of_node(c, (size_t)root);
    for (int t = 0; t < TRIES && c->k; t++) {
        if (!cut(c, at)) {
            c->k = c->k < 0 && !c->powers->failed ? c->k / 2 : 0;
            continue;
        }
        const int lack = find_lack(c);
        if (lack == c->k && is_integral(c))
            return true;
        c->k = (lack + (lack > 0 ? WHOLE - 1 : 1 - WHOLE)) / WHOLE * WHOLE;
    }
    return false;
}

bool ulp_powers_carry(struct ulp_powers *powers, int value, int root, int k)
{
    struct carrying c = {.powers = powers, .memory = powers->p->lint.arena, .k = k};
    const struct ulp_arena_mark mark = ulp_arena_mark(c.memory);
    const bool done = carry(&c, value, root);
    if (done)
        apply(&c);
    ulp_arena_release(c.memory, mark);
    return done;
}
