/* run: what follows from constants alone is computed by the second run of a plan and left to
 * further ones, which have the bits of a first run and compute none of it. */
#include <string.h>

#include "run/kept.h"
#include "run/plan/plan.h"
#include "tests/support/text_model.h"

/* Behind constants alone: two nodes of a weight, one of which others read, an output, and one that
 * a branch captures. */
static const struct text_graph settled = {
    "x b_c",
    "y u e",
    {NODE("Transpose", "left_turn", "w", "t"), NODE("Mul", "left_scale", "t two", "v"),
     NODE("MatMul", "product", "x v", "y"), NODE("Neg", "left_out", "row", "u"),
     NODE("Add", "left_row", "row two", "r"),
     CONTROL("If", "if", "b_c", "e",
             &(const struct text_graph){"", "f", {NODE("Add", "add", "x r", "f")}},
             &(const struct text_graph){"", "f", {NODE("Neg", "minus", "x", "f")}})}};

/* Nodes of that name that took time, and others that took none. */
struct took {
    size_t left, none;
};
static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct took *took = context;
    bool any = false;
    (void)error;
    for (size_t l = 0; l < event->lane_count; l++)
        any = any || event->lane_seconds[l].own > 0;
    if (strncmp(event->name, "left_", 5) == 0)
        took->left += any;
    else
        took->none += !any && strcmp(event->op, "If") != 0;
    return ULP_OK;
}

static struct ulp_tensor_set *run(const struct ulp_plan *plan, const struct ulp_tensor_set *inputs,
                                  bool unused, bool audit, struct took *took)
{
    static struct ulp_tensor_set outputs[2];
    struct ulp_error error;
    const struct ulp_observer observer = {.context = took,
                                          .node_done = look,
                                          .values_unused = unused};
    const struct ulp_run_options options = {.thread_count = 1, .audit = audit};
    *took = (struct took){0};
    ck_ulp_ok(ulp_plan_run(plan, inputs, &options, &observer, 1, outputs, NULL, &error), error);
    return outputs;
}

static void expect_same(const struct ulp_tensor_set *first, struct ulp_tensor_set *again)
{
    for (size_t l = 0; l < 2; l++) {
        for (size_t o = 0; o < first[l].count; o++)
            ck_assert_msg(test_same_bits(&first[l].items[o].tensor, &again[l].items[o].tensor),
                          "%s", first[l].items[o].name);
        ulp_tensor_set_free(&again[l]);
    }
}

START_TEST(further_runs_compute_none_of_it)
{
    struct ulp_budget budget = {0};
    struct ulp_model *model = text_load_within(&settled, &budget);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true), first[2];
    struct ulp_error error;
    for (size_t l = 0; l + 1 < TEXT_LANES; l++) {
        struct ulp_plan *plan = text_plan(model, &inputs, l, 2);
        struct took took;
        memcpy(first, run(plan, &inputs, false, false, &took), sizeof first);
        ck_assert(took.left == 4 && took.none == 0);
        /* the second run leaves it; who looks at values, or audits, has them computed */
        for (int r = 1; r < 8; r++) {
            const bool unused = r != 3, audit = r == 5;
            expect_same(first, run(plan, &inputs, unused, audit, &took));
            ck_assert_msg(took.left == (r == 1 || !unused || audit ? 4 : 0) && took.none == 0,
                          "run %d: %zu left nodes, %zu others", r, took.left, took.none);
        }
        /* other constants */
        const struct ulp_perturbation moved = {.precision = 8, .seed = 1};
        ck_ulp_ok(ulp_plan_perturb(plan, &moved, &error), error);
        struct ulp_tensor_set *now = run(plan, &inputs, true, false, &took);
        ck_assert(took.left == 4 &&
                  !test_same_bits(&first[0].items[0].tensor, &now[0].items[0].tensor));
        for (size_t i = 0; i < 2; i++) {
            ulp_tensor_set_free(&first[i]);
            first[i] = now[i];
        }
        for (int r = 0; r < 3; r++)
            expect_same(first, run(plan, &inputs, true, false, &took));
        ck_assert_uint_eq(took.left, 0);
        /* by every limit of memory, without a leak */
        size_t works = 0;
        for (size_t limit = 0; limit < 200000; limit += 3000) {
            budget.limit_bytes = budget.used_bytes - ulp_kept_bytes(plan->kept) + limit;
            struct ulp_tensor_set *outputs = (struct ulp_tensor_set[2]){{0}};
            const enum ulp_status status =
                ulp_plan_run(plan, &inputs, NULL, NULL, 0, outputs, NULL, &error);
            ck_assert(status == ULP_OK || (status == ULP_ERROR_MEMORY && !works));
            works += status == ULP_OK;
            if (status == ULP_OK)
                expect_same(first, outputs);
        }
        ck_assert_uint_gt(works, 0);
        budget.limit_bytes = 0;
        ulp_tensor_set_free(&first[0]);
        ulp_tensor_set_free(&first[1]);
        ulp_plan_free(plan);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("left");
    TCase *tests = tcase_create("left");
    tcase_add_test(tests, further_runs_compute_none_of_it);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
