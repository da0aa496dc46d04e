/* Evaluation against the oracle, every element and every bit: arithmetics, orders, lengths around a strip, both ways of
 * walking rows; then what does not fit that pattern: integers, aliasing, several outputs, empty rows, threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula_test.h"
#include "oracle.h"

/* Operands: x, y one per element, z one per row, w one per position, s one, c a constant. */
static const char *const names[] = {"x", "y", "z", "w", "s", "c"};
#define OPERANDS 6
#define CONSTANT "0.1"

struct laid {
    struct ulp_arithmetic arithmetic;
    struct ulp_rows rows;
    struct ulp_tensor tensors[OPERANDS];
    struct ulp_operand operands[OPERANDS];
    double *values[OPERANDS]; /* expanded, for the oracle */
};

static void lay(struct laid *laid, const char *arithmetic, size_t row_count, size_t row_length, bool specials,
                uint64_t seed)
{
    static const int row_strides[] = {1, 1, 1, 0, 0}, position_strides[] = {1, 1, 0, 1, 0};
    struct source source = {.key = seed};
    *laid = (struct laid){.arithmetic = find_arithmetic(arithmetic),
                          .rows = {.row_count = row_count, .row_length = row_length}};
    for (int i = 0; i < OPERANDS; i++) {
        if (i == OPERANDS - 1) {
            laid->operands[i].constant = CONSTANT;
            break;
        }
        laid->values[i] = calloc(row_count * row_length + 1, sizeof(double));
        const size_t rows = row_strides[i] ? row_count : 1, length = position_strides[i] ? row_length : 1;
        double *own = calloc(rows * length + 1, sizeof *own);
        for (size_t k = 0; k < rows * length; k++)
            own[k] = draw_value(&source, &laid->arithmetic.storage, specials);
        laid->tensors[i] = make_tensor(&laid->arithmetic, 1, (int64_t[]){(int64_t)(rows * length)}, own);
        laid->operands[i] = (struct ulp_operand){
            .tensor = &laid->tensors[i], .row_stride = row_strides[i] ? (int64_t)length : 0,
            .position_stride = position_strides[i]};
        for (size_t row = 0; row < row_count; row++)
            for (size_t p = 0; p < row_length; p++)
                laid->values[i][row * row_length + p] =
                    own[(rows > 1 ? row * length : 0) + (length > 1 ? p : 0)];
        free(own);
    }
}

static void unlay(struct laid *laid)
{
    for (int i = 0; i < OPERANDS; i++) {
        ulp_tensor_free(&laid->tensors[i]);
        free(laid->values[i]);
    }
}

static bool is_per_row(const struct ulp_tape *tape, int output)
{
    return tape->instructions[tape->outputs[output]].per_row;
}

static struct ulp_tensor run(const struct laid *laid, const struct ulp_tape *tape, int threads, uint64_t node_key)
{
    struct ulp_error error = {.status = ULP_OK};
    struct ulp_pool *pool;
    const bool per_row = is_per_row(tape, 0);
    const size_t count = laid->rows.row_count * (per_row ? 1 : laid->rows.row_length);
    struct ulp_tensor out = make_tensor(&laid->arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
    const struct ulp_operand output = {.tensor = &out, .row_stride = per_row ? 1 : (int64_t)laid->rows.row_length,
                                       .position_stride = !per_row};
    ck_ulp_ok(ulp_pool_create(&pool, threads, &error), error);
    ulp_pool_set_eager(pool);
    ck_ulp_ok(ulp_tape_run(tape, &laid->arithmetic, &laid->rows, laid->operands, &output, node_key, pool, &error), error);
    ulp_pool_free(pool);
    return out;
}

static void compare(const struct laid *laid, const struct ulp_tape *tape, const struct ulp_tensor *out)
{
    const size_t length = laid->rows.row_length, step = is_per_row(tape, 0) ? 1 : length;
    struct oracle oracle = {.tape = tape, .arithmetic = &laid->arithmetic, .row_length = length,
                            .operands = (const double *const *)laid->values, .constant = CONSTANT};
    mpfr_t expected;
    for (int i = 0; i < tape->instruction_count; i++)
        oracle.contiguous |= tape->instructions[i].kind == ULP_TAPE_OPERAND &&
                             laid->operands[tape->instructions[i].index].position_stride == 1;
    oracle_init(&oracle);
    mpfr_init2(expected, 700);
    for (size_t row = 0; row < laid->rows.row_count; row++)
        for (size_t p = 0; p < step; p++) {
            oracle_value(&oracle, expected, 0, row, p);
            if (!oracle_equal(out, row * step + p, expected))
                ck_abort_msg("%s, '%s', %zu rows of %zu: row %zu position %zu is %a, expected %a", laid->arithmetic.name,
                             tape->text, laid->rows.row_count, length, row, p, ulp_tensor_get(out, row * step + p),
                             mpfr_get_d(expected, MPFR_RNDN));
        }
    mpfr_clear(expected);
    oracle_clear(&oracle);
    mpfr_free_cache();
}

static void check_case(const char *arithmetic, const char *formula, size_t row_count, size_t row_length, bool specials)
{
    struct laid laid;
    struct ulp_tape *tape = make_tape(formula, names, OPERANDS, 1);
    lay(&laid, arithmetic, row_count, row_length, specials, row_length * 31 + row_count);
    struct ulp_tensor out = run(&laid, tape, 1, 7);
    compare(&laid, tape, &out);
    ulp_tensor_free(&out);
    unlay(&laid);
    ulp_tape_free(tape);
}

static const char *const arithmetics[] = {
    "fp32", "fp16", "fp16-strict", "bf16", "bf16-strict", "tf32", "fp64", "fp8-e4m3-strict", "fp8-e5m2", "e5m7",
    "mpfr:128", "mpfr:20", "fp16-strict,acc=fp32", "fp16,acc=fp16", "fp32,acc=fp64", "e6m9,round=rz", "fp16-strict,round=ru",
    "fp32,round=rd", "fp16,round=rna", "fp32,subnormals=flush",
};
#define ARITHMETICS (sizeof arithmetics / sizeof *arithmetics)

static const char *const element_formulas[] = {
    "x*y+y",
    "x",
    "a = x + y; b = a * x; x < y ? a * b - z : (b - w) / s",
    "max(min(x, 1), -1) * c",
    "abs(x) + sqrt(z * z) / (s + 3)",
    "(x + 1) * (y + 2) + (x - 1) * (y - 2) + (x * z) * (y * w)",
    "fma(x, y, z)",
    "-x",
};

START_TEST(test_elements)
{
    static const size_t lengths[] = {1, 3, 511, 512, 513, 1025};
    for (size_t f = 0; f < sizeof element_formulas / sizeof *element_formulas; f++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            if (f == 0 || lengths[i] < 4 || lengths[i] == 513)
                check_case(arithmetics[_i], element_formulas[f], 1, lengths[i], i % 2);
        check_case(arithmetics[_i], element_formulas[f], 7, 40, true);
    }
}
END_TEST

static const char *const row_formulas[] = {
    "row_sum(x)",
    "row_mean(x * y)",
    "row_max(x) - row_min(y)",
    "row_product(x / 2)",
    "e = exp(x - row_max(x)); e / row_sum(e)",
    "d = x - row_mean(x); v = row_mean(d * d); d / sqrt(v + 0.001) * w + z",
    "row_sum(z) + row_sum(s) + row_sum(1)",
    "row_sum(x) / row_size() * c",
};

/* Few long rows go through strips, many short ones through columns: both with each order and accumulator. */
START_TEST(test_rows)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1}, {3, 2}, {2, 511}, {1, 512}, {2, 513}, {1, 1025}, {40, 7}, {530, 2}, {17, 31}};
    for (size_t f = 0; f < sizeof row_formulas / sizeof *row_formulas; f++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            if (shapes[i].row_count * shapes[i].row_length < 300 || (f + i + (size_t)_i) % 4 == 0)
                check_case(arithmetics[_i], row_formulas[f], shapes[i].row_count, shapes[i].row_length, i % 2);
}
END_TEST

static const char *const orders[] = {"order=pairwise", "order=blocked:3", "order=blocked:64", "reduce=warp",
                                     "order=blocked:7,reduce=pairwise"};

START_TEST(test_orders)
{
    static const char *const bases[] = {"fp32", "fp16-strict", "bf16", "fp64"};
    static const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1025};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        char name[64];
        snprintf(name, sizeof name, "%s,%s", bases[b], orders[_i]);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            check_case(name, "row_sum(x)", 1, lengths[i], false);
        check_case(name, "row_sum(x*y) - row_max(x)", 40, 5, false);
        check_case(name, "row_product(x)", 2, 33, false);
        check_case(name, "x - row_mean(x)", 20, 131, false);
        check_case(name, "row_mean(x)", 2, 700, false);
        check_case(name, "row_sum(z)", 3, 9, false);
    }
}
END_TEST

/* The order is seen in the bits: sums of the same numbers differ. */
START_TEST(test_order_matters)
{
    static const char *const variants[] = {"fp32", "fp32,order=pairwise", "fp32,order=blocked:64"};
    struct ulp_tape *tape = make_tape("row_sum(x)", names, OPERANDS, 1);
    double sums[3][8];
    for (int i = 0; i < 3; i++) {
        struct laid laid;
        lay(&laid, variants[i], 8, 1025, false, 5);
        struct ulp_tensor out = run(&laid, tape, 1, 7);
        for (size_t row = 0; row < 8; row++)
            sums[i][row] = ulp_tensor_get(&out, row);
        ulp_tensor_free(&out);
        unlay(&laid);
    }
    ck_assert(memcmp(sums[0], sums[1], sizeof *sums) && memcmp(sums[0], sums[2], sizeof *sums) &&
              memcmp(sums[1], sums[2], sizeof *sums));
    ulp_tape_free(tape);
}
END_TEST

static const char *const threaded[] = {"fp32", "fp16-strict", "mpfr:70", "fp16,round=sr,seed=3", "fp16-strict,round=sr",
                                       "fp32,order=pairwise", "fp32,reduce=warp", "fp16"};

START_TEST(test_threads)
{
    static const char *const formulas[] = {"x*y+y", "x*z+w", "e = exp(x - row_max(x)); e / row_sum(e)", "row_sum(x)"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 20011}, {50, 700}, {3000, 4}, {300, 64}};
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct laid laid;
            struct ulp_tape *tape = make_tape(formulas[f], names, OPERANDS, 1);
            lay(&laid, threaded[_i], shapes[i].row_count, shapes[i].row_length, true, 11);
            struct ulp_tensor one = run(&laid, tape, 1, 7), two = run(&laid, tape, 2, 7), seven = run(&laid, tape, 7, 7);
            const size_t bytes = one.count * one.element_bytes;
            if (one.element == ULP_ELEMENT_WIDE) /* limbs of zeros and NaNs are whatever memory held */
                for (size_t k = 0; k < one.count; k++) {
                    ck_assert(memcmp(&(double){ulp_tensor_get(&one, k)}, &(double){ulp_tensor_get(&two, k)}, 8) == 0);
                    ck_assert(memcmp(&(double){ulp_tensor_get(&one, k)}, &(double){ulp_tensor_get(&seven, k)}, 8) == 0);
                }
            else
                ck_assert_msg(!memcmp(one.data, two.data, bytes) && !memcmp(one.data, seven.data, bytes), "%s: %s",
                              threaded[_i], formulas[f]);
            ulp_tensor_free(&one);
            ulp_tensor_free(&two);
            ulp_tensor_free(&seven);
            unlay(&laid);
            ulp_tape_free(tape);
        }
}
END_TEST

/* Stochastic rounding: nodes, instructions, strips and rows draw unlike numbers, and a fraction of 1/4 goes up a quarter
 * of the time: of n = 4096 draws n/4 +- 5 sigma, sigma = sqrt(n * 3/16) = 27.7. */
START_TEST(test_stochastic)
{
    struct laid laid;
    struct ulp_tape *once = make_tape("x * 0 + 1 + 0x1p-12", names, OPERANDS, 1);
    struct ulp_tape *twice = make_tape("(1 + (x * 0 + 0x1p-12)) - ((1 + 0x1p-10) + (x * 0 + 0x1p-12))", names, OPERANDS, 1);
    lay(&laid, "fp16-strict,round=sr,seed=9", 1, 4096, false, 5);
    struct ulp_tensor a = run(&laid, once, 1, 7), b = run(&laid, once, 1, 8), c = run(&laid, twice, 1, 7);
    int up = 0, other = 0, different = 0, strips = 0;
    for (size_t i = 0; i < 4096; i++) {
        const double x = ulp_tensor_get(&a, i), y = ulp_tensor_get(&b, i);
        ck_assert(x == 1 || x == 1 + 0x1p-10);
        up += x > 1;
        other += (x > 1) != (y > 1);
        strips += i >= 512 && (x > 1) != (ulp_tensor_get(&a, i - 512) > 1);
        different += ulp_tensor_get(&c, i) != -0x1p-10;
    }
    ck_assert_int_ge(up, 1024 - 139);
    ck_assert_int_le(up, 1024 + 139);
    ck_assert_int_ge(other, 1000);
    ck_assert_int_ge(different, 1000);
    ck_assert_int_ge(strips, 1000);
    laid.rows = (struct ulp_rows){.row_count = 64, .row_length = 64};
    laid.operands[0].row_stride = 64;
    struct ulp_tensor d = run(&laid, once, 1, 7);
    ck_assert_int_eq(memcmp(a.data, d.data, a.count * a.element_bytes), 0); /* the place in the tensor is the same */
    ulp_tensor_free(&d);
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    ulp_tensor_free(&c);
    unlay(&laid);
    ulp_tape_free(once);
    ulp_tape_free(twice);
}
END_TEST

/* Several outputs, one per element and two per row, one of them unwanted. */
START_TEST(test_outputs)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{3, 1300}, {3, 100}, {400, 6}};
    for (size_t i = 0; i < 3; i++) {
        struct laid laid;
        struct ulp_error error = {.status = ULP_OK};
        struct ulp_tape *tape =
            make_tape("second = row_mean(x); d = x - second; third = 1 / row_max(d); d * third", names, OPERANDS, 3);
        lay(&laid, "fp32", shapes[i].row_count, shapes[i].row_length, false, 3);
        const size_t length = shapes[i].row_length;
        const int64_t rows = (int64_t)shapes[i].row_count;
        struct ulp_tensor out = make_tensor(&laid.arithmetic, 1, (int64_t[]){rows * (int64_t)length}, NULL);
        struct ulp_tensor mean = make_tensor(&laid.arithmetic, 1, &rows, NULL);
        struct ulp_tensor scale = make_tensor(&laid.arithmetic, 1, &rows, NULL);
        struct ulp_operand outputs[3] = {{.tensor = &out, .row_stride = (int64_t)length, .position_stride = 1},
                                         {.tensor = &mean, .row_stride = 1},
                                         {.tensor = &scale, .row_stride = 1}};
        ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, 1, NULL, &error), error);
        const float *x = laid.tensors[0].data;
        for (size_t row = 0; row < shapes[i].row_count; row++) {
            float sum = x[row * length], most = -INFINITY;
            for (size_t p = 1; p < length; p++)
                sum += x[row * length + p];
            const float expected = sum / (float)length;
            for (size_t p = 0; p < length; p++)
                most = fmaxf(most, x[row * length + p] - expected);
            ck_assert(((float *)mean.data)[row] == expected && ((float *)scale.data)[row] == 1 / most);
            for (size_t p = 0; p < length; p++)
                ck_assert(((float *)out.data)[row * length + p] == (x[row * length + p] - expected) * (1 / most));
        }
        memset(mean.data, 0, mean.count * mean.element_bytes);
        const struct ulp_tensor *unwanted = outputs[0].tensor;
        outputs[0].tensor = outputs[2].tensor = NULL;
        ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, 1, NULL, &error), error);
        ck_assert(((float *)mean.data)[0] != 0);
        outputs[0].tensor = unwanted;
        ulp_tape_free(tape);
        tape = make_tape("x", names, OPERANDS, 2);
        ck_assert_int_eq(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, 1, NULL, &error),
                         ULP_ERROR_USAGE);
        ulp_tape_free(tape);
        ulp_tensor_free(&out);
        ulp_tensor_free(&mean);
        ulp_tensor_free(&scale);
        unlay(&laid);
    }
}
END_TEST

/* Several outputs, each with a value per position, the first of them needed no more when the last is computed. */
START_TEST(test_full_outputs)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1300}, {3, 100}, {400, 6}};
    static const char *const sums[] = {"", " + row_sum(x)"};
    for (size_t i = 0; i < 6; i++) {
        struct laid laid;
        struct ulp_error error = {.status = ULP_OK};
        char text[200];
        snprintf(text, sizeof text, "second = x + y; third = second * x; (x - y) * (x + 2) - (y + 3) * (x * 5 - y)%s",
                 sums[i / 3]);
        struct ulp_tape *tape = make_tape(text, names, OPERANDS, 3);
        lay(&laid, "fp32", shapes[i % 3].row_count, shapes[i % 3].row_length, false, 3);
        const size_t length = shapes[i % 3].row_length, count = length * shapes[i % 3].row_count;
        struct ulp_tensor tensors[3];
        struct ulp_operand outputs[3];
        for (int k = 0; k < 3; k++) {
            tensors[k] = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
            outputs[k] = (struct ulp_operand){.tensor = &tensors[k], .row_stride = (int64_t)length, .position_stride = 1};
        }
        ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, 1, NULL, &error), error);
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
        unlay(&laid);
        ulp_tape_free(tape);
    }
}
END_TEST

/* An output that is folded as well. */
START_TEST(test_folded_output)
{
    static const size_t lengths[] = {5, 600};
    for (size_t i = 0; i < 4; i++) {
        struct laid laid;
        struct ulp_error error = {.status = ULP_OK};
        struct ulp_tape *tape = make_tape("d = x * y; second = row_sum(d); d", names, OPERANDS, 2);
        const size_t length = lengths[i % 2], rows = i < 2 ? 2 : 20;
        lay(&laid, "fp32", rows, length, false, 3);
        struct ulp_tensor full = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)(rows * length)}, NULL);
        struct ulp_tensor sums = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)rows}, NULL);
        const struct ulp_operand outputs[] = {{.tensor = &full, .row_stride = (int64_t)length, .position_stride = 1},
                                              {.tensor = &sums, .row_stride = 1}};
        ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, outputs, 1, NULL, &error), error);
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
        unlay(&laid);
        ulp_tape_free(tape);
    }
}
END_TEST

/* The output may be an operand's memory. */
START_TEST(test_aliasing)
{
    static const char *const formulas[] = {"x*y+x", "e = exp(x - row_max(x)); e / row_sum(e)", "x - row_mean(x)",
                                           "x + row_sum(x * x)"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1300}, {5, 100}, {400, 6}};
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 3; i++) {
            struct laid laid;
            struct ulp_error error = {.status = ULP_OK};
            struct ulp_tape *tape = make_tape(formulas[f], names, OPERANDS, 1);
            lay(&laid, _i ? "fp16-strict" : "fp32", shapes[i].row_count, shapes[i].row_length, false, 3);
            struct ulp_tensor out = run(&laid, tape, 1, 7);
            ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &laid.operands[0], 7, NULL, &error),
                      error);
            ck_assert_msg(!memcmp(out.data, laid.tensors[0].data, out.count * out.element_bytes), "%s", formulas[f]);
            ulp_tensor_free(&out);
            unlay(&laid);
            ulp_tape_free(tape);
        }
}
END_TEST

START_TEST(test_empty)
{
    check_case("fp32", "row_sum(x)", 3, 0, false);
    check_case("fp16", "row_max(x) + row_product(x)", 3, 0, false);
    check_case("fp32", "row_min(x)", 30, 0, false);
    check_case("mpfr:64", "row_sum(x) + row_size()", 3, 0, false);
    check_case("fp32", "x - row_sum(x)", 3, 0, false);
    check_case("fp32", "x + row_sum(x)", 0, 5, false);
    check_case("fp32", "x + y", 0, 5, false);
    check_case("fp32", "x + y", 5, 0, false);
}
END_TEST

/* One value a row, asked for at every position. */
START_TEST(test_repeated_output)
{
    static const char *const formulas[] = {"row_sum(x)", "z * 2", "s", "1.5"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{2, 1100}, {5, 20}, {300, 3}};
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 3; i++) {
            struct laid laid;
            struct ulp_error error = {.status = ULP_OK};
            struct ulp_tape *tape = make_tape(formulas[f], names, OPERANDS, 1);
            lay(&laid, "fp32", shapes[i].row_count, shapes[i].row_length, false, 3);
            const size_t count = shapes[i].row_count, length = shapes[i].row_length;
            struct ulp_tensor full = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)(count * length)}, NULL);
            struct ulp_tensor each = make_tensor(&laid.arithmetic, 1, (int64_t[]){(int64_t)count}, NULL);
            const struct ulp_operand to_full = {.tensor = &full, .row_stride = (int64_t)length, .position_stride = 1};
            const struct ulp_operand to_each = {.tensor = &each, .row_stride = 1};
            ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &to_full, 7, NULL, &error), error);
            ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &to_each, 7, NULL, &error), error);
            for (size_t k = 0; k < count * length; k++)
                ck_assert_msg(((float *)full.data)[k] == ((float *)each.data)[k / length] && ((float *)full.data)[k] != 0,
                              "'%s', %zu of %zu: element %zu is %a, its row's %a", formulas[f], count, length, k,
                              (double)((float *)full.data)[k], (double)((float *)each.data)[k / length]);
            ulp_tensor_free(&full);
            ulp_tensor_free(&each);
            unlay(&laid);
            ulp_tape_free(tape);
        }
}
END_TEST

static struct ulp_tensor make_integers(enum ulp_type type, size_t count, const int64_t *values)
{
    struct ulp_tensor tensor;
    struct ulp_error error = {.status = ULP_OK};
    const int64_t dims[] = {(int64_t)count};
    ck_ulp_ok(ulp_tensor_create(&tensor, type, ULP_ELEMENT_COUNT, 0, 1, dims, &error), error);
    for (size_t i = 0; i < count; i++)
        ulp_tensor_set_int(&tensor, i, values ? values[i] : 0);
    return tensor;
}

static enum ulp_status run_integers(const char *formula, enum ulp_type type, enum ulp_type out_type, size_t count,
                                    const int64_t *x, const int64_t *y, int64_t *out, struct ulp_error *error)
{
    const struct ulp_arithmetic arithmetic = find_arithmetic("fp16");
    struct ulp_tape *tape = make_tape(formula, names, 2, 1);
    struct ulp_tensor a = make_integers(type, count, x), b = make_integers(type, count, y);
    const bool per_row = is_per_row(tape, 0);
    struct ulp_tensor c = make_integers(out_type, per_row ? 1 : count, NULL);
    const struct ulp_rows rows = {.row_count = 1, .row_length = count};
    const struct ulp_operand operands[] = {{.tensor = &a, .position_stride = 1}, {.tensor = &b, .position_stride = 1}};
    const struct ulp_operand output = {.tensor = &c, .position_stride = !per_row};
    const enum ulp_status status = ulp_tape_run(tape, &arithmetic, &rows, operands, &output, 1, NULL, error);
    for (size_t i = 0; i < c.count; i++)
        out[i] = ulp_tensor_get_int(&c, i);
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    ulp_tensor_free(&c);
    ulp_tape_free(tape);
    return status;
}

START_TEST(test_integers)
{
    static const int64_t x[] = {5, -7, INT64_C(9007199254740993), INT64_MAX, 0}, y[] = {3, 2, 1, 2, -1};
    int64_t out[5];
    struct ulp_error error = {.status = ULP_OK};
    ck_ulp_ok(run_integers("x * y + 1", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out, &error), error);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(out[i], (int64_t)((uint64_t)x[i] * (uint64_t)y[i] + 1));
    ck_ulp_ok(run_integers("x < y || x == 0", ULP_TYPE_INT64, ULP_TYPE_BOOL, 5, x, y, out, &error), error);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(out[i], x[i] < y[i] || x[i] == 0);
    /* Exact although the arithmetic is fp16: 2^53 + 1 is no double. */
    ck_ulp_ok(run_integers("x - 9007199254740992", ULP_TYPE_INT64, ULP_TYPE_INT64, 3, x, y, out, &error), error);
    ck_assert_int_eq(out[2], 1);
    ck_ulp_ok(run_integers("row_sum(x * y)", ULP_TYPE_INT32, ULP_TYPE_INT32, 3, (int64_t[]){1, 2, 1000000},
                           (int64_t[]){3, 4, 1000000}, out, &error), error);
    ck_assert_int_eq(out[0], (int32_t)(3 + 8 + 1000000000000));
    ck_ulp_ok(run_integers("row_max(x)", ULP_TYPE_UINT64, ULP_TYPE_UINT64, 3, (int64_t[]){1, -1, 7}, y, out, &error), error);
    ck_assert_int_eq(out[0], -1);
    ck_ulp_ok(run_integers("x && !y", ULP_TYPE_BOOL, ULP_TYPE_BOOL, 4, (int64_t[]){0, 1, 0, 1}, (int64_t[]){0, 0, 1, 1},
                           out, &error), error);
    ck_assert(!out[0] && out[1] && !out[2] && !out[3]);
    ck_assert_int_eq(run_integers("x + exp(y)", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out, &error),
                     ULP_ERROR_UNSUPPORTED);
    ck_assert_str_eq(error.message, "formula:5: 'exp' has no meaning for integers");
    ck_assert_int_eq(run_integers("row_sum(x) + y", ULP_TYPE_INT64, ULP_TYPE_INT64, 5, x, y, out, NULL), ULP_OK);
}
END_TEST

/* A boolean beside floats is the number 0 or 1. */
START_TEST(test_mixed)
{
    struct laid laid;
    struct ulp_error error = {.status = ULP_OK};
    struct ulp_tape *tape = make_tape("x ? y * 0.1 : -y", names, OPERANDS, 1);
    lay(&laid, "fp16-strict", 1, 4, false, 3);
    struct ulp_tensor flags = make_integers(ULP_TYPE_BOOL, 4, (int64_t[]){1, 0, 1, 0});
    struct ulp_tensor out = make_tensor(&laid.arithmetic, 1, (int64_t[]){4}, NULL);
    struct ulp_tensor big = make_integers(ULP_TYPE_INT32, 4, (int64_t[]){2049, 2051, -65520, 3});
    const struct ulp_operand output = {.tensor = &out, .position_stride = 1};
    laid.operands[0].tensor = &flags;
    ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, 7, NULL, &error), error);
    const struct ulp_format *half = &laid.arithmetic.storage;
    const double tenth = ulp_format_round(half, ULP_ROUND_NEAREST_EVEN, 0.1, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        const double y = ulp_tensor_get(&laid.tensors[1], i);
        ck_assert(ulp_tensor_get(&out, i) == (i % 2 ? -y : ulp_format_round(half, ULP_ROUND_NEAREST_EVEN, y * tenth, 0, 0)));
    }
    ulp_tape_free(tape);
    /* An integer that FP16 lacks is rounded when it is stored, even when no primitive rounded it. */
    tape = make_tape("max(x, x)", names, OPERANDS, 1);
    laid.operands[0].tensor = &big;
    ck_ulp_ok(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, 7, NULL, &error), error);
    ck_assert(ulp_tensor_get(&out, 0) == 2048 && ulp_tensor_get(&out, 1) == 2052 && ulp_tensor_get(&out, 2) == -INFINITY);
    ulp_tape_free(tape);
    ulp_tensor_free(&flags);
    ulp_tensor_free(&big);
    ulp_tensor_free(&out);
    unlay(&laid);
}
END_TEST

START_TEST(test_refusals)
{
    struct laid laid;
    struct ulp_error error = {.status = ULP_OK};
    struct ulp_tape *tape = make_tape("row_sum(x) + x", names, OPERANDS, 1);
    lay(&laid, "fp32", 2, 3, false, 3);
    struct ulp_tensor out = make_tensor(&laid.arithmetic, 1, (int64_t[]){2}, NULL);
    const struct ulp_operand output = {.tensor = &out, .row_stride = 1};
    ck_assert_int_eq(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, 7, NULL, &error),
                     ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, "formula:12: an output with one element a row is given one value per position");
    laid.operands[0] = (struct ulp_operand){.tensor = NULL};
    ck_assert_int_eq(ulp_tape_run(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, 7, NULL, &error),
                     ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, "formula:9: operand 0 has no value");
    ulp_tape_free(tape);
    ulp_tensor_free(&out);
    unlay(&laid);
}
END_TEST

Suite *evaluate_suite(void)
{
    Suite *suite = suite_create("formula_evaluate");
    TCase *tcase = tcase_create("evaluate");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_elements, 0, ARITHMETICS);
    tcase_add_loop_test(tcase, test_rows, 0, ARITHMETICS);
    tcase_add_loop_test(tcase, test_orders, 0, sizeof orders / sizeof *orders);
    tcase_add_test(tcase, test_order_matters);
    tcase_add_loop_test(tcase, test_threads, 0, sizeof threaded / sizeof *threaded);
    tcase_add_test(tcase, test_stochastic);
    tcase_add_test(tcase, test_outputs);
    tcase_add_test(tcase, test_full_outputs);
    tcase_add_test(tcase, test_folded_output);
    tcase_add_loop_test(tcase, test_aliasing, 0, 2);
    tcase_add_test(tcase, test_empty);
    tcase_add_test(tcase, test_repeated_output);
    tcase_add_test(tcase, test_integers);
    tcase_add_test(tcase, test_mixed);
    tcase_add_test(tcase, test_refusals);
    suite_add_tcase(suite, tcase);
    return suite;
}
