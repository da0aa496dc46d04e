/* Evaluation against the oracle, every element and every bit: arithmetics, orders, lengths around a
 * strip, both ways of walking rows; then threads, stochastic rounding, empty rows, refusals. */
#include "formula/evaluate/evaluate.h"
#include "laid.h"

static const char *const arithmetics[] = {
    "fp32",
    "fp16",
    "fp16-strict",
    "bf16",
    "bf16-strict",
    "tf32",
    "fp64",
    "fp8-e4m3-strict",
    "fp8-e5m2",
    "e5m7",
    "mpfr:128",
    "mpfr:20",
    "fp16-strict,acc=fp32",
    "fp16,acc=fp16",
    "fp32,acc=fp64",
    "e6m9,round=rz",
    "fp16-strict,round=ru",
    "fp32,round=rd",
    "fp16,round=rna",
    "fp32,subnormals=flush",
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

TEST_LOOP(test_elements, 0, ARITHMETICS)
{
    static const size_t lengths[] = {1, 3, 511, 512, 513, 1025};
    for (size_t f = 0; f < sizeof element_formulas / sizeof *element_formulas; f++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            if (f == 0 || lengths[i] < 4 || lengths[i] == 513)
                laid_check(arithmetics[_i], element_formulas[f], 1, lengths[i], i % 2);
        laid_check(arithmetics[_i], element_formulas[f], 7, 40, true);
    }
}

static const char *const row_formulas[] = {
    "row_sum(x)",
    "row_mean(x * y)",
    "row_max(x) - row_min(y)",
    "row_product(x / 2)",
    "e = exp(x - row_max(x)); e / row_sum(e)",
    "d = x - row_mean(x); v = row_mean(d * d); d / sqrt(v + 0.001) * w + z",
    "row_sum(z) + row_sum(s) + row_sum(1)",
    "row_sum(x) / row_size() * c",
    "running_sum(x)",
    "r = running_product(x / 2); r - row_max(r) * running_sum(s) + running_sum(r * y)",
};

/* Few long rows go through strips, many short ones through columns: both with each order and
 * accumulator. */
TEST_LOOP(test_rows, 0, ARITHMETICS)
{
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 1},    {3, 2},  {2, 511}, {1, 512}, {2, 513},
                  {1, 1025}, {40, 7}, {530, 2}, {17, 31}, {37, 70}};
    for (size_t f = 0; f < sizeof row_formulas / sizeof *row_formulas; f++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            if ((shapes[i].row_count * shapes[i].row_length < 300 ||
                 (f + i + (size_t)_i) % 4 == 0) &&
                test_takes(f + i + (size_t)_i, 8))
                laid_check(arithmetics[_i], row_formulas[f], shapes[i].row_count,
                           shapes[i].row_length, i % 2);
}

static const char *const orders[] = {"order=pairwise", "order=blocked:3", "order=blocked:64",
                                     "reduce=warp", "order=blocked:7,reduce=pairwise"};

TEST_LOOP(test_orders, 0, sizeof orders / sizeof *orders)
{
    static const char *const bases[] = {"fp32", "fp16-strict", "bf16", "fp64"};
    static const size_t lengths[] = {1,  2,  3,  4,   5,   7,   8,   9,   31,  32,  33,
                                     63, 64, 65, 127, 128, 129, 511, 512, 513, 1025};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        char name[64];
        snprintf(name, sizeof name, "%s,%s", bases[b], orders[_i]);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            laid_check(name, "row_sum(x)", 1, lengths[i], false);
        laid_check(name, "row_sum(x*y) - row_max(x)", 40, 5, false);
        laid_check(name, "row_product(x)", 2, 33, false);
        laid_check(name, "x - row_mean(x)", 20, 131, false);
        laid_check(name, "row_mean(x)", 2, 700, false);
        laid_check(name, "row_sum(z)", 3, 9, false);
    }
}

/* The order is seen in the bits: sums of the same numbers differ. */
TEST(test_order_matters)
{
    static const char *const variants[] = {"fp32", "fp32,order=pairwise", "fp32,order=blocked:64"};
    scoped_tape *tape = make_tape("row_sum(x)", laid_names, LAID_OPERANDS, 1);
    double sums[3][8];
    for (int i = 0; i < 3; i++) {
        struct laid laid;
        laid_create(&laid, variants[i], 8, 1025, false, 5);
        struct ulp_tensor out = laid_run(&laid, tape, 1, 7);
        for (size_t row = 0; row < 8; row++)
            sums[i][row] = ulp_tensor_get(&out, row);
        ulp_tensor_free(&out);
        laid_free(&laid);
    }
    ck_assert(memcmp(sums[0], sums[1], sizeof *sums) && memcmp(sums[0], sums[2], sizeof *sums) &&
              memcmp(sums[1], sums[2], sizeof *sums));
}

static const char *const threaded[] = {"fp32",
                                       "fp16-strict",
                                       "mpfr:70",
                                       "fp16,round=sr,seed=3",
                                       "fp16-strict,round=sr",
                                       "fp32,order=pairwise",
                                       "fp32,reduce=warp",
                                       "fp16"};

TEST_LOOP(test_threads, 0, sizeof threaded / sizeof *threaded)
{
    static const char *const formulas[] = {"x*y+y", "x*z+w",
                                           "e = exp(x - row_max(x)); e / row_sum(e)", "row_sum(x)"};
    static const struct {
        size_t row_count, row_length;
    } shapes[] = {{1, 20011}, {50, 700}, {3000, 4}, {300, 64}};
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if (!test_takes(f + i + (size_t)_i, 4))
                continue;
            struct laid laid;
            scoped_tape *tape = make_tape(formulas[f], laid_names, LAID_OPERANDS, 1);
            laid_create(&laid, threaded[_i], shapes[i].row_count, shapes[i].row_length, true, 11);
            struct ulp_tensor one = laid_run(&laid, tape, 1, 7), two = laid_run(&laid, tape, 2, 7),
                              seven = laid_run(&laid, tape, 7, 7);
            const size_t bytes = one.count * one.element_bytes;
            /* limbs of zeros and NaNs are whatever memory held */
            if (one.element == ULP_ELEMENT_WIDE)
                for (size_t k = 0; k < one.count; k++) {
                    ck_assert(memcmp(&(double){ulp_tensor_get(&one, k)},
                                     &(double){ulp_tensor_get(&two, k)}, 8) == 0);
                    ck_assert(memcmp(&(double){ulp_tensor_get(&one, k)},
                                     &(double){ulp_tensor_get(&seven, k)}, 8) == 0);
                }
            else
                ck_assert_msg(!memcmp(one.data, two.data, bytes) &&
                                  !memcmp(one.data, seven.data, bytes),
                              "%s: %s", threaded[_i], formulas[f]);
            ulp_tensor_free(&one);
            ulp_tensor_free(&two);
            ulp_tensor_free(&seven);
            laid_free(&laid);
        }
}

/* Stochastic rounding: nodes, instructions, strips and rows draw unlike numbers, and a fraction of
 * 1/4 goes up a quarter of the time: of n = 4096 draws n/4 +- 5 sigma, sigma = sqrt(n * 3/16) =
 * 27.7. */
TEST(test_stochastic)
{
    struct laid laid;
    scoped_tape *once = make_tape("x * 0 + 1 + 0x1p-12", laid_names, LAID_OPERANDS, 1);
    scoped_tape *twice = make_tape("(1 + (x * 0 + 0x1p-12)) - ((1 + 0x1p-10) + (x * 0 + 0x1p-12))",
                                   laid_names, LAID_OPERANDS, 1);
    laid_create(&laid, "fp16-strict,round=sr,seed=9", 1, 4096, false, 5);
    struct ulp_tensor a = laid_run(&laid, once, 1, 7), b = laid_run(&laid, once, 1, 8),
                      c = laid_run(&laid, twice, 1, 7);
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
    struct ulp_tensor d = laid_run(&laid, once, 1, 7);
    /* the place in the tensor is the same */
    ck_assert_int_eq(memcmp(a.data, d.data, a.count * a.element_bytes), 0);
    ulp_tensor_free(&d);
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    ulp_tensor_free(&c);
    laid_free(&laid);
}

TEST(test_empty)
{
    laid_check("fp32", "row_sum(x)", 3, 0, false);
    laid_check("fp16", "row_max(x) + row_product(x)", 3, 0, false);
    laid_check("fp32", "row_min(x)", 30, 0, false);
    laid_check("mpfr:64", "row_sum(x) + row_size()", 3, 0, false);
    laid_check("fp32", "x - row_sum(x)", 3, 0, false);
    laid_check("fp32", "x + row_sum(x)", 0, 5, false);
    laid_check("fp32", "x + y", 0, 5, false);
    laid_check("fp32", "x + y", 5, 0, false);
}

TEST(test_refusals)
{
    struct laid laid;
    struct ulp_error error = {.status = ULP_OK};
    struct ulp_tape *tape = make_tape("row_sum(x) + x", laid_names, LAID_OPERANDS, 1);
    laid_create(&laid, "fp32", 2, 3, false, 3);
    struct ulp_tensor out = make_tensor(&laid.arithmetic, 1, (int64_t[]){2}, NULL);
    const struct ulp_operand output = {.tensor = &out, .row_stride = 1};
    ck_assert_int_eq(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, &error),
                     ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, "formula:12: an output with one element a row is given one "
                                    "value per position");
    laid.operands[0] = (struct ulp_operand){.tensor = NULL};
    ck_assert_int_eq(run_tape(tape, &laid.arithmetic, &laid.rows, laid.operands, &output, &error),
                     ULP_ERROR_USAGE);
    ck_assert_str_eq(error.message, "formula:9: operand 0 has no value");
    ulp_tape_free(tape);
    ulp_tensor_free(&out);
    laid_free(&laid);
}
