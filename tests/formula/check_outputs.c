/* Where results go: several outputs, reduced ones, into an operand's memory, one value of a row at
 * every position. */
#include "laid.h"

/* Several outputs, one per element and two per row, one of them unwanted. */
TEST(test_outputs)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{3, 1300}, {3, 100}, {400, 6}};
    for (size_t i = 0; i < 3; i++) {
        struct laid laid;
        struct ulp_error error = {.status = ULP_OK};
        struct ulp_tape *tape =
            make_tape("second = row_mean(x); d = x - second; third = 1 / row_max(d); d * third",
                      laid_names, LAID_OPERANDS, 3);
        laid_create(&laid, "fp32", shapes[i].row_count, shapes[i].row_length, false, 3);
        const size_t length = shapes[i].row_length;
        const int64_t rows = (int64_t)shapes[i].row_count;
        struct ulp_tensor out =
            make_tensor(&laid.arithmetic, 1, (int64_t[]){rows * (int64_t)length}, NULL);
        struct ulp_tensor mean = make_tensor(&laid.arithmetic, 1, &rows, NULL);
        struct ulp_tensor scale = make_tensor(&laid.arithmetic, 1, &rows, NULL);
        struct ulp_operand outputs[3] = {{.tensor = &out,
                                          .row_stride = (int64_t)length,
                                          .position_stride = 1},
                                         {.tensor = &mean, .row_stride = 1},
                                         {.tensor = &scale, .row_stride = 1}};
        ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, &why));
        const float *x = laid.tensors[0].data;
        for (size_t row = 0; row < shapes[i].row_count; row++) {
            float sum = x[row * length], most = -INFINITY;
            for (size_t p = 1; p < length; p++)
                sum += x[row * length + p];
            const float expected = sum / (float)length;
            for (size_t p = 0; p < length; p++)
                most = fmaxf(most, x[row * length + p] - expected);
            ck_assert(((float *)mean.data)[row] == expected &&
                      ((float *)scale.data)[row] == 1 / most);
            for (size_t p = 0; p < length; p++)
                ck_assert(((float *)out.data)[row * length + p] ==
                          (x[row * length + p] - expected) * (1 / most));
        }
        memset(mean.data, 0, mean.count * mean.element_bytes);
        const struct ulp_tensor *unwanted = outputs[0].tensor;
        outputs[0].tensor = outputs[2].tensor = NULL;
        ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, &why));
        ck_assert(((float *)mean.data)[0] != 0);
        outputs[0].tensor = unwanted;
        ulp_tape_free(tape);
        tape = make_tape("x", laid_names, LAID_OPERANDS, 2);
        ck_assert_int_eq(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs,
                                  &error),
                         ULP_ERROR_USAGE);
        ulp_tape_free(tape);
        ulp_tensor_free(&out);
        ulp_tensor_free(&mean);
        ulp_tensor_free(&scale);
        laid_free(&laid);
    }
}

/* Several outputs, each with a value per position, the first of them needed no more when the last
 * is computed. */
TEST(test_full_outputs)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1300}, {3, 100}, {400, 6}};
    static const char *const sums[] = {"", " + row_sum(x)"};
    for (size_t i = 0; i < 6; i++) {
        struct laid laid;
        char text[200];
        snprintf(text, sizeof text,
                 "second = x + y; third = second * x; (x - y) * (x + 2) - (y + 3) * (x * 5 - y)%s",
                 sums[i / 3]);
        scoped_tape *tape = make_tape(text, laid_names, LAID_OPERANDS, 3);
        laid_create(&laid, "fp32", shapes[i % 3].row_count, shapes[i % 3].row_length, false, 3);
        const size_t length = shapes[i % 3].row_length, count = length * shapes[i % 3].row_count;
        struct ulp_tensor tensors[3];
        struct ulp_operand outputs[3];
        for (int k = 0; k < 3; k++) {
            tensors[k] = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
            outputs[k] = (struct ulp_operand){.tensor = &tensors[k],
                                              .row_stride = (int64_t)length,
                                              .position_stride = 1};
        }
        ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, &why));
        const float *x = laid.tensors[0].data, *y = laid.tensors[1].data;
        float sum = 0;
        for (size_t k = 0; k < count; k++) {
            if (k % length == 0) {
                sum = x[k];
                for (size_t p = 1; p < length; p++)
                    sum += x[k + p];
            }
            const float value = (x[k] - y[k]) * (x[k] + 2) - (y[k] + 3) * (x[k] * 5 - y[k]);
            ck_assert(((float *)tensors[0].data)[k] == (i / 3 ? value + sum : value));
            ck_assert(((float *)tensors[1].data)[k] == x[k] + y[k]);
            ck_assert(((float *)tensors[2].data)[k] == (x[k] + y[k]) * x[k]);
        }
        for (int k = 0; k < 3; k++)
            ulp_tensor_free(&tensors[k]);
        laid_free(&laid);
    }
}

/* An output that is reduced as well. */
TEST(test_folded_output)
{
    static const size_t lengths[] = {5, 600};
    for (size_t i = 0; i < 4; i++) {
        struct laid laid;
        scoped_tape *tape =
            make_tape("d = x * y; second = row_sum(d); d", laid_names, LAID_OPERANDS, 2);
        const size_t length = lengths[i % 2], rows = i < 2 ? 2 : 20;
        laid_create(&laid, "fp32", rows, length, false, 3);
        struct ulp_tensor full =
            make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)(rows * length)}, NULL);
        struct ulp_tensor sums = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)rows}, NULL);
        const struct ulp_operand outputs[] = {{.tensor = &full,
                                               .row_stride = (int64_t)length,
                                               .position_stride = 1},
                                              {.tensor = &sums, .row_stride = 1}};
        ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, &why));
        const float *x = laid.tensors[0].data, *y = laid.tensors[1].data, *products = full.data;
        for (size_t row = 0; row < rows; row++) {
            float sum = x[row * length] * y[row * length];
            for (size_t p = 1; p < length; p++)
                sum += x[row * length + p] * y[row * length + p];
            ck_assert(((float *)sums.data)[row] == sum);
        }
        for (size_t k = 0; k < rows * length; k++)
            ck_assert(products[k] == x[k] * y[k]);
        ulp_tensor_free(&full);
        ulp_tensor_free(&sums);
        laid_free(&laid);
    }
}

/* Each output is rounded to its own format. */
TEST(test_storage)
{
    static const size_t lengths[] = {5, 600};
    const struct ulp_arithmetic fp64 = test_arithmetic("fp64");
    for (size_t i = 0; i < 4; i++) {
        struct laid laid;
        scoped_tape *tape =
            make_tape("second = row_sum(x); third = x / 3; x / 3", laid_names, LAID_OPERANDS, 3);
        const size_t length = lengths[i % 2], rows = i < 2 ? 2 : 20;
        laid_create(&laid, "fp16,compute=fp64,acc=fp64,unit=none", rows, length, false, 3);
        const int64_t count = (int64_t)(rows * length);
        struct ulp_tensor half = make_tensor(&laid.arithmetic, 1, &count, NULL),
                          exact = make_tensor(&fp64, 1, &count, NULL),
                          sums = make_tensor(&fp64, 1, (int64_t[]){(int64_t)rows}, NULL);
        struct ulp_operand outputs[] = {
            {.tensor = &half, .row_stride = (int64_t)length, .position_stride = 1},
            {.tensor = &sums, .row_stride = 1, .storage = &fp64.storage},
            {.tensor = &exact,
             .row_stride = (int64_t)length,
             .position_stride = 1,
             .storage = &fp64.storage}};
        ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, &why));
        for (size_t row = 0; row < rows; row++) {
            double sum = 0;
            for (size_t k = row * length; k < (row + 1) * length; k++) {
                const double x = ulp_tensor_get(&laid.tensors[0], k);
                sum += x;
                ck_assert(ulp_tensor_get(&exact, k) == x / 3);
                ck_assert(ulp_tensor_get(&half, k) == ulp_format_round(&laid.arithmetic.storage,
                                                                       ULP_ROUND_NEAREST_EVEN,
                                                                       x / 3, 0, 0));
            }
            ck_assert(ulp_tensor_get(&sums, row) == sum);
        }
        ulp_tensor_free(&half);
        ulp_tensor_free(&exact);
        ulp_tensor_free(&sums);
        laid_free(&laid);
    }
}

/* The output may be an operand's memory. */
TEST_LOOP(test_aliasing, 0, 2)
{
    static const char *const formulas[] = {"x*y+x", "e = exp(x - row_max(x)); e / row_sum(e)",
                                           "x - row_mean(x)", "x + row_sum(x * x)"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1300}, {5, 100}, {400, 6}};
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 3; i++) {
            struct laid laid;
            scoped_tape *tape = make_tape(formulas[f], laid_names, LAID_OPERANDS, 1);
            laid_create(&laid, _i ? "fp16-strict" : "fp32", shapes[i].row_count,
                        shapes[i].row_length, false, 3);
            struct ulp_tensor out = laid_run(&laid, tape, 1, 7);
            ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &laid.operands[0],
                           &why));
            ck_assert_msg(!memcmp(out.data, laid.tensors[0].data, out.count * out.element_bytes),
                          "%s", formulas[f]);
            ulp_tensor_free(&out);
            laid_free(&laid);
        }
}

/* One value a row, asked for at every position. */
TEST(test_repeated_output)
{
    static const char *const formulas[] = {"row_sum(x)", "z * 2", "s", "1.5"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{2, 1100}, {5, 20}, {300, 3}};
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 3; i++) {
            struct laid laid;
            scoped_tape *tape = make_tape(formulas[f], laid_names, LAID_OPERANDS, 1);
            laid_create(&laid, "fp32", shapes[i].row_count, shapes[i].row_length, false, 3);
            const size_t count = shapes[i].row_count, length = shapes[i].row_length;
            struct ulp_tensor full =
                make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)(count * length)}, NULL);
            struct ulp_tensor each =
                make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
            const struct ulp_operand to_full = {.tensor = &full,
                                                .row_stride = (int64_t)length,
                                                .position_stride = 1};
            const struct ulp_operand to_each = {.tensor = &each, .row_stride = 1};
            ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &to_full, &why));
            ck_ok(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &to_each, &why));
            for (size_t k = 0; k < count * length; k++)
                ck_assert_msg(((float *)full.data)[k] == ((float *)each.data)[k / length] &&
                                  ((float *)full.data)[k] != 0,
                              "'%s', %zu of %zu: element %zu is %a, its row's %a", formulas[f],
                              count, length, k, (double)((float *)full.data)[k],
                              (double)((float *)each.data)[k / length]);
            ulp_tensor_free(&full);
            ulp_tensor_free(&each);
            laid_free(&laid);
        }
}
