#include "rows.h"

#include <sys/mman.h>

#include "tests/support/test.h"

void *rows_share(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        exit(99);
    return shared;
}

int rows_run(const char *name, const TTest *test, int seconds)
{
    Suite *suite = suite_create(name);
    TCase *table = tcase_create("table");
    const char *only = getenv("ULPSCOPE_TEST_ROW");
    tcase_set_timeout(table, seconds);
    for (int i = 0; ulp_operator_row((size_t)i); i++)
        if (!only || strcmp(ulp_operator_row((size_t)i)->name, only) == 0)
            tcase_add_loop_test(table, test, i, i + 1);
    suite_add_tcase(suite, table);
    return test_run(suite, NULL);
}

bool rows_check_cases(const struct ulp_operator *row, rows_check *check, const char *lane)
{
    const struct hint *hint = case_hint(row, 0);
    bool found = !hint && check(row, NULL, lane);
    for (size_t n = 1; hint; hint = case_hint(row, n++))
        found |= check(row, hint, lane);
    return found;
}

bool case_is_variable(const struct node_case *c, const struct ulp_bound *bound, size_t i)
{
    return c->in[i] && ulp_type_is_float(c->in[i]->type) && i < bound->input_slot_count &&
           ulp_type_rows[c->in[i]->type].file_bits > 8 && bound->inputs[i].kind != 'p' &&
           !bound->inputs[i].number;
}

enum ulp_status case_call(const struct node_case *c, struct ulp_call call,
                          enum ulp_status (*function)(struct ulp_call *, struct ulp_error *),
                          struct ulp_tensor *outputs, struct ulp_error *error)
{
    scoped_arena *arena = NULL;
    ck_assert_int_eq(ulp_arena_create(&arena, NULL, NULL), ULP_OK);
    memset(outputs, 0, CASE_INPUTS * sizeof *outputs);
    call.input_count = c->node.input_count;
    call.output_count = c->node.output_count;
    call.out = outputs;
    call.scratch = arena;
    const enum ulp_status status = function(&call, error);
    return status;
}

void case_free_outputs(struct ulp_tensor *outputs)
{
    for (size_t i = 0; i < CASE_INPUTS; i++)
        ulp_tensor_free(&outputs[i]);
}
