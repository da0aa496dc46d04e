/* run: seconds that are left, by the rates of what was computed. By hand. */
#include <math.h>

#include "run/pace.h"
#include "tests/support/test.h"

static const struct ulp_operator matmul = {.name = "MatMul"}, function = {.name = "Exp"};
static struct ulp_step steps[] = {
    {.bound = {.op = &matmul}, .cost = 100}, {.bound = {.op = &function}, .cost = 10},
    {.bound = {.op = &matmul}, .cost = 200}, {.bound = {.op = &function}, .cost = 30},
    {.bound = {.op = &matmul}, .cost = 0},
};
static const struct ulp_block block = {.steps = steps, .step_count = 5};

static struct ulp_pace begin(struct ulp_arena **arena)
{
    struct ulp_pace pace;
    ck_ok(ulp_arena_create(arena, NULL, &why));
    ck_ok(ulp_pace_begin(&pace, &block, *arena, &why));
    ck_assert(isnan(pace.left));
    return pace;
}

/* Of 2 s for 100, 200 take 4 s; of 1 s for 10, 30 take 3 s. Before that 40 are as all: 0.8 s
 * of 6.8, more than a tenth. */
TEST(left_by_operator)
{
    struct ulp_arena *arena;
    struct ulp_pace pace = begin(&arena);
    ulp_pace_step(&pace, &steps[0], 2);
    ck_assert(isnan(pace.left));
    ulp_pace_step(&pace, &steps[1], 1);
    ck_assert_double_eq(pace.left, 7);
    ulp_pace_step(&pace, &steps[2], 1); /* faster: 3 s for 300 */
    ck_assert_double_eq(pace.left, 3);
    ulp_pace_step(&pace, &steps[3], 4);
    ck_assert_double_eq(pace.left, 0);
    ulp_pace_step(&pace, &steps[4], 1);
    ck_assert_double_eq(pace.left, 0);
    ulp_arena_free(arena);
}

/* What has no cost is no rate of others. */
TEST(left_without_cost)
{
    struct ulp_arena *arena;
    struct ulp_pace pace = begin(&arena);
    ulp_pace_step(&pace, &steps[4], 1);
    ck_assert(isnan(pace.left));
    ulp_arena_free(arena);
}

TEST_SUITE("pace", 0)
