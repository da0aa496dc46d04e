/* Formulas of integers, which are exact in every arithmetic, and of integers and booleans beside
 * floats. */
#include "laid.h"

static struct ulp_tensor make_integers(enum ulp_type type, size_t count, const int64_t *values)
{
    struct ulp_tensor tensor;
    const int64_t dims[] = {(int64_t)count};
    ck_ok(ulp_tensor_create(&tensor, type, ULP_ELEMENT_COUNT, 0, 1, dims, &why));
    for (size_t i = 0; i < count; i++)
        ulp_tensor_set_int(&tensor, i, values ? values[i] : 0);
    return tensor;
}

static enum ulp_status run_integers(const char *formula, enum ulp_type type, enum ulp_type out_type,
                                    size_t count, const int64_t *x, const int64_t *y, int64_t *out,
                                    struct ulp_error *error)
{
    const struct ulp_arithmetic arithmetic = test_arithmetic("fp16");
    scoped_tape *tape = make_tape(formula, laid_names, 2, 1);
    scoped_tensor a = make_integers(type, count, x), b = make_integers(type, count, y);
    const bool per_row = is_per_row(tape, 0);
    scoped_tensor c = make_integers(out_type, per_row ? 1 : count, NULL);
    const struct ulp_rows rows = {.row_count = 1, .row_length = count};
    const struct ulp_operand operands[] = {{.tensor = &a, .position_stride = 1},
                                           {.tensor = &b, .position_stride = 1}};
    const struct ulp_operand output = {.tensor = &c, .position_stride = !per_row};
    const enum ulp_status status = run_tape(tape, &arithmetic, &rows, operands, &output, error);
    for (size_t i = 0; i < c.count; i++)
        out[i] = ulp_tensor_get_int(&c, i);
    return status;
}

/* ONNX: of no values ReduceMax gives the least value of the type, ReduceMin the greatest. */
TEST(test_rows_of_nothing)
{
    static const struct {
        enum ulp_type type;
        int64_t least, greatest;
    } ends[] = {{ULP_TYPE_BOOL, 0, 1},
                {ULP_TYPE_INT4, -8, 7},
                {ULP_TYPE_UINT4, 0, 15},
                {ULP_TYPE_INT8, INT8_MIN, INT8_MAX},
                {ULP_TYPE_UINT8, 0, UINT8_MAX},
                {ULP_TYPE_INT16, INT16_MIN, INT16_MAX},
                {ULP_TYPE_UINT16, 0, UINT16_MAX},
                {ULP_TYPE_INT32, INT32_MIN, INT32_MAX},
                {ULP_TYPE_UINT32, 0, UINT32_MAX},
                {ULP_TYPE_INT64, INT64_MIN, INT64_MAX},
                {ULP_TYPE_UINT64, 0, (int64_t)UINT64_MAX}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int64_t out = 77;
        ck_ok(run_integers("row_max(x)", ends[i].type, ends[i].type, 0, NULL, NULL, &out, &why));
        ck_assert_int_eq(out, ends[i].least);
        ck_ok(run_integers("row_min(x)", ends[i].type, ends[i].type, 0, NULL, NULL, &out, &why));
        ck_assert_int_eq(out, ends[i].greatest);
    }
}

TEST(test_integers)
{
    static const int64_t x[] = {5, -7, INT64_C(9007199254740993), INT64_MAX, 0},
                         y[] = {3, 2, 1, 2, -1};
    int64_t out[5];
    struct ulp_error error = {.status = ULP_OK};
    ck_ok(run_integers("x * y + 1", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out, &why));
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(out[i], (int64_t)((uint64_t)x[i] * (uint64_t)y[i] + 1));
    ck_ok(run_integers("x < y || x == 0", ULP_TYPE_INT64, ULP_TYPE_BOOL, 5, x, y, out, &why));
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(out[i], x[i] < y[i] || x[i] == 0);
    /* Exact although the arithmetic is fp16: 2^53 + 1 is no double. */
    ck_ok(run_integers("x - 9007199254740992", ULP_TYPE_INT64, ULP_TYPE_INT64, 3, x, y, out, &why));
    ck_assert_int_eq(out[2], 1);
    ck_ok(run_integers("row_sum(x * y)", ULP_TYPE_INT32, ULP_TYPE_INT32, 3,
                       (int64_t[]){1, 2, 1000000}, (int64_t[]){3, 4, 1000000}, out, &why));
    ck_assert_int_eq(out[0], (int32_t)(3 + 8 + 1000000000000));
    ck_ok(run_integers("row_max(x)", ULP_TYPE_UINT64, ULP_TYPE_UINT64, 3, (int64_t[]){1, -1, 7}, y,
                       out, &why));
    ck_assert_int_eq(out[0], -1);
    ck_ok(run_integers("x && !y", ULP_TYPE_BOOL, ULP_TYPE_BOOL, 4, (int64_t[]){0, 1, 0, 1},
                       (int64_t[]){0, 0, 1, 1}, out, &why));
    ck_assert(!out[0] && out[1] && !out[2] && !out[3]);
    ck_assert_int_eq(run_integers("x + exp(y)", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out,
                                  &error),
                     ULP_ERROR_UNSUPPORTED);
    ck_assert_str_eq(error.message, "formula:5: 'exp' has no meaning for integers");
    ck_assert_int_eq(run_integers("row_sum(x) + y", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out,
                                  NULL),
                     ULP_OK);
}

/* A boolean beside floats is the number 0 or 1. */
TEST(test_mixed)
{
    struct laid laid;
    struct ulp_tape *tape = make_tape("x ? y * 0.1 : -y", laid_names, LAID_OPERANDS, 1);
    laid_create(&laid, "fp16-strict", 1, 4, false, 3);
    struct ulp_tensor flags = make_integers(ULP_TYPE_BOOL, 4, (int64_t[]){1, 0, 1, 0});
    struct ulp_tensor out = make_tensor(&laid.arithmetic, 1, (int64_t[]){4}, NULL);
    struct ulp_tensor big = make_integers(ULP_TYPE_INT32, 4, (int64_t[]){2049, 2051, -65520, 3});
    const struct ulp_operand output = {.tensor = &out, .position_stride = 1};
    laid.operands[0].tensor = &flags;
    ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, &why));
    const struct ulp_format *half = &laid.arithmetic.storage;
    const double tenth = ulp_format_round(half, ULP_ROUND_NEAREST_EVEN, 0.1, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        const double y = ulp_tensor_get(&laid.tensors[1], i);
        ck_assert(ulp_tensor_get(&out, i) ==
                  (i % 2 ? -y : ulp_format_round(half, ULP_ROUND_NEAREST_EVEN, y * tenth, 0, 0)));
    }
    ulp_tape_free(tape);
    /* An integer that FP16 lacks is rounded when it is stored, even when no primitive rounded
     * it. */
    tape = make_tape("max(x, x)", laid_names, LAID_OPERANDS, 1);
    laid.operands[0].tensor = &big;
    ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, &why));
    ck_assert(ulp_tensor_get(&out, 0) == 2048 && ulp_tensor_get(&out, 1) == 2052 &&
              ulp_tensor_get(&out, 2) == -INFINITY);
    ulp_tape_free(tape);
    ulp_tensor_free(&flags);
    ulp_tensor_free(&big);
    ulp_tensor_free(&out);
    laid_free(&laid);
}
