/* The least cut under fix's powers of two, against every division of the vertices. */
#include "analysis/fix/powers.h"
#include "tests/support/test.h"

enum { VERTICES_MAX = 9, ARCS_MAX = 24 };

static double cost_of(const struct ulp_power_arc *arcs, size_t count, unsigned side)
{
    double cost = 0;
    for (size_t a = 0; a < count; a++)
        cost += side >> arcs[a].from & 1 && !(side >> arcs[a].to & 1) ? arcs[a].cost : 0;
    return cost;
}

static int draw(unsigned *state, int below)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 8) % below;
}

/* Costs are whole numbers, so that sums are exact. */
TEST(least_cuts)
{
    unsigned state = 1;
    scoped_arena *memory = NULL;
    ck_ok(ulp_arena_create(&memory, NULL, &why));
    for (int trial = 0; trial < 3000; trial++) {
        struct ulp_power_arc arcs[ARCS_MAX];
        bool reached[VERTICES_MAX] = {0};
        const int vertices = 2 + draw(&state, VERTICES_MAX - 1), count = draw(&state, ARCS_MAX + 1);
        double least = INFINITY;
        for (int a = 0; a < count; a++)
            arcs[a] = (struct ulp_power_arc){draw(&state, vertices), draw(&state, vertices),
                                             draw(&state, 4) ? 1 + draw(&state, 3) : 10000};
        for (unsigned side = 1; side < 1u << vertices; side++)
            if ((side & 3) == 1)
                least = fmin(least, cost_of(arcs, (size_t)count, side));
        const double cost = ulp_power_cut(memory, arcs, (size_t)count, (size_t)vertices, reached);
        unsigned side = 1;
        for (int v = 0; v < vertices; v++)
            side |= (unsigned)reached[v] << v;
        ck_assert(cost == least && !(side & 2) && cost_of(arcs, (size_t)count, side) == least);
        ulp_arena_clear(memory);
    }
}

TEST_SUITE("powers", 0)
