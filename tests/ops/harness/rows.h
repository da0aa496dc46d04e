/* Tests that walk the operator table: one forked test a row, which runs the row's cases. */
#pragma once

#include <check.h>

#include "cases.h"

/* Zeroed memory that forked tests share, for totals; it ends the program when there is none. */
void *rows_share(size_t bytes);
/* Run the test for every row of the table, whose number is _i; ULPSCOPE_TEST_ROW=NAME: for that
 * operator's only. Returns the exit code. */
int rows_run(const char *suite, const TTest *test, int seconds);
/* check() of each of the row's cases in the lane of that name; cases are made by its hints or from
 * its texts. False for a case that is another row's; when all are, so is the result. */
typedef bool rows_check(const struct ulp_operator *row, const struct hint *hint, const char *lane);
bool rows_check_cases(const struct ulp_operator *row, rows_check *check, const char *lane);

/* Input i is a float that derivatives and bounds are taken of. */
bool case_is_variable(const struct node_case *c, const struct ulp_bound *bound, size_t i);
/* ulp_call_run or ulp_call_infer on the case's node: `call` says with what, but for the counts, the
 * outputs and the scratch memory. outputs: CASE_INPUTS, to be freed by case_free_outputs. */
enum ulp_status case_call(const struct node_case *c, struct ulp_call call,
                          enum ulp_status (*function)(struct ulp_call *, struct ulp_error *),
                          struct ulp_tensor *outputs, struct ulp_error *error);
void case_free_outputs(struct ulp_tensor *outputs);
