/* Arrays without a model: rounding against MPFR's and one number at a time, patterns there and
 * back, products against a model with one MatMul. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

#include "base/bits.h"
#include "number/round/round.h"

static void wrap(struct ulp_tensor *out, enum ulp_type type, int rank, const int64_t *dims,
                 void *data)
{
    ck_ok(ulp_tensor_wrap(out, type, rank, dims, data, &why));
}

/* Patterns from everywhere: every exponent, and values on and beside ties of few bits. */
static float make_float(size_t i)
{
    static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 65504, 65520, 448, 464, 1};
    if (i < sizeof special / sizeof *special)
        return special[i];
    const uint64_t bits = ulp_random_bits(3, i);
    const uint32_t pattern = (uint32_t)bits;
    const uint32_t kept = i % 3 == 0 ? pattern & 0xFFFFF000u : i % 3 == 1 ? pattern : pattern | 1;
    /* two of three near what FP16 and FP8 hold */
    return ulp_float_from(i % 4 == 0 ? kept : (kept & 0x80FFFFFFu) | (0x2Du + bits % 29) << 24);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

enum { VALUES = 6001 }; /* not a multiple of a block */

static double round_by_mpfr(const struct ulp_format *format, enum ulp_rounding rounding, double x,
                            uint64_t seed, uint64_t i)
{
    scoped_mpfr exact, out;
    mpfr_init2(exact, 53);
    mpfr_init2(out, 53);
    mpfr_set_d(exact, x, MPFR_RNDN);
    ulp_round_mpfr(format, rounding, out, exact, seed, 0, i);
    const double rounded = mpfr_get_d(out, MPFR_RNDN);
    return rounded;
}

static const char *const formats[] = {"fp16", "bf16", "fp8-e4m3", "fp8-e5m2", "fp8-e4m3fnuz",
                                      "tf32", "fp32", "e5m7",     "fp8-e8m0", "e8m1"};

TEST_LOOP(arrays_are_rounded_as_mpfr_rounds, 0, sizeof formats / sizeof *formats)
{
    static float in[VALUES], out[VALUES];
    static double wide_in[VALUES], wide_out[VALUES];
    const int64_t count = VALUES;
    struct ulp_tensor from, to, wide_from, wide_to;
    const struct ulp_format format = test_format(formats[_i]);
    for (size_t i = 0; i < VALUES; i++) {
        in[i] = make_float(i);
        wide_in[i] = i % 5 ? in[i] * (1 + 0x1p-40) : in[i];
    }
    wrap(&from, ULP_TYPE_FLOAT, 1, &count, in);
    wrap(&to, ULP_TYPE_FLOAT, 1, &count, out);
    wrap(&wide_from, ULP_TYPE_DOUBLE, 1, &count, wide_in);
    wrap(&wide_to, ULP_TYPE_DOUBLE, 1, &count, wide_out);
    for (int mode = ULP_ROUND_NEAREST_EVEN; mode <= ULP_ROUND_STOCHASTIC; mode++) {
        ck_ok(ulp_array_round(&to, &from, &format, mode, 7, 1 + mode % 2, &why));
        ck_ok(ulp_array_round(&wide_to, &wide_from, &format, mode, 7, 1, &why));
        for (size_t i = 0; i < VALUES; i++) {
            ck_expect(same(out[i], ulp_format_round(&format, mode, in[i], 7, i)),
                      "%s, mode %d, [%zu]: %a gives %a, alone %a", format.name, mode, i, in[i],
                      out[i], ulp_format_round(&format, mode, in[i], 7, i));
            const double exact = round_by_mpfr(&format, mode, in[i], 7, i),
                         wide = round_by_mpfr(&format, mode, wide_in[i], 7, i);
            ck_expect(format.lacks || same(out[i], exact),
                      "%s, mode %d, [%zu]: %a gives %a, not %a", format.name, mode, i, in[i],
                      out[i], exact);
            ck_expect(format.lacks || same(wide_out[i], wide),
                      "%s, mode %d, [%zu]: double %a gives %a, not %a", format.name, mode, i,
                      wide_in[i], wide_out[i], wide);
        }
    }
    /* in place */
    ck_ok(ulp_array_round(&from, &from, &format, ULP_ROUND_STOCHASTIC, 7, 2, &why));
    for (size_t i = 0; i < VALUES; i++)
        ck_expect(same(in[i], out[i]), "in place, [%zu]: %a, not %a", i, in[i], out[i]);
}

TEST(integers_are_rounded_once)
{
    /* 2^60 + 2^34 is a tie of 26 bits; one more lies above it, which a double does not see */
    int64_t in[] = {(INT64_C(1) << 60) + (INT64_C(1) << 36),
                    (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, -3, 0};
    float out[4];
    const int64_t count = 4;
    struct ulp_tensor from, to;
    wrap(&from, ULP_TYPE_INT64, 1, &count, in);
    wrap(&to, ULP_TYPE_FLOAT, 1, &count, out);
    const struct ulp_format format = test_format("fp32");
    ck_ok(ulp_array_round(&to, &from, &format, ULP_ROUND_NEAREST_EVEN, 0, 1, &why));
    ck_assert(out[0] == 0x1p60f && out[1] == 0x1.000002p60f && out[2] == -3 && out[3] == 0);
}

TEST_LOOP(patterns_go_there_and_back, 0, 6)
{
    static const struct {
        const char *format;
        enum ulp_type type;
    } rows[] = {{"fp16", ULP_TYPE_UINT16},    {"bf16", ULP_TYPE_UINT16},
                {"fp8-e4m3", ULP_TYPE_UINT8}, {"fp8-e5m2", ULP_TYPE_UINT32},
                {"fp8-e8m0", ULP_TYPE_UINT8}, {"fp4-e2m1", ULP_TYPE_UINT8}};
    static unsigned char patterns[65536 * 4], back[65536 * 4];
    static float values[65536];
    struct ulp_tensor in, out, again;
    const struct ulp_format format = test_format(rows[_i].format);
    const int64_t count = INT64_C(1) << format.storage_bits;
    wrap(&in, rows[_i].type, 1, &count, patterns);
    wrap(&again, rows[_i].type, 1, &count, back);
    wrap(&out, ULP_TYPE_FLOAT, 1, &count, values);
    for (size_t i = 0; i < in.count; i++)
        ulp_tensor_set_int(&in, i, (int64_t)i);
    ck_ok(ulp_array_decode(&out, &in, &format, 2, &why));
    ck_ok(ulp_array_encode(&again, &out, &format, 2, &why));
    for (size_t i = 0; i < in.count; i++) {
        const bool equal = memcmp(patterns + i * in.element_bytes, back + i * in.element_bytes,
                                  in.element_bytes) == 0;
        ck_expect(isnan(values[i]) || equal, "%s: pattern %zu is %a", format.name, i, values[i]);
    }
    ck_assert(format.lacks == ULP_LACKS_ZERO_AND_SIGN || (values[0] == 0 && values[1] > 0));
}

/* 1 + 2^-11 is a tie of FP16 that goes to 1; 0x3C00. */
TEST(values_are_rounded_before_they_are_encoded)
{
    float x[] = {1 + 0x1p-11f, 1e6f, -2};
    uint16_t bits[3];
    const int64_t count = 3;
    struct ulp_tensor values, patterns;
    wrap(&values, ULP_TYPE_FLOAT, 1, &count, x);
    wrap(&patterns, ULP_TYPE_UINT16, 1, &count, bits);
    const struct ulp_format format = test_format("fp16");
    ck_ok(ulp_array_encode(&patterns, &values, &format, 1, &why));
    ck_assert(bits[0] == 0x3C00 && bits[1] == 0x7C00 && bits[2] == 0xC000);
}

static void expect_usage(enum ulp_status status, const struct ulp_error *error, const char *says)
{
    ck_assert_int_eq(status, ULP_ERROR_USAGE);
    ck_assert_msg(strstr(error->message, says), "%s", error->message);
}

TEST(what_does_not_fit_is_refused)
{
    float x[4] = {0};
    uint8_t bytes[4] = {200, 0, 0, 0};
    const int64_t four = 4, three = 3;
    struct ulp_tensor in, few, patterns, product;
    struct ulp_error error;
    wrap(&in, ULP_TYPE_FLOAT, 1, &four, x);
    wrap(&few, ULP_TYPE_FLOAT, 1, &three, x);
    wrap(&patterns, ULP_TYPE_UINT8, 1, &four, bytes);
    const struct ulp_format wide = test_format("e11m40");
    const struct ulp_format mpfr = test_format("mpfr:64");
    const struct ulp_format fp16 = test_format("fp16");
    const struct ulp_format fp4 = test_format("fp4-e2m1");
    const struct ulp_arithmetic model_types = test_arithmetic("model");
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    expect_usage(ulp_array_round(&in, &in, &wide, 0, 0, 1, &error), &error, "expected DOUBLE");
    expect_usage(ulp_array_round(&in, &in, &mpfr, 0, 0, 1, &error), &error, "expected a format");
    expect_usage(ulp_array_round(&few, &in, &fp16, 0, 0, 1, &error), &error, "4 elements");
    expect_usage(ulp_array_encode(&patterns, &in, &fp16, 1, &error), &error, "at least 16 bits");
    expect_usage(ulp_array_encode(&patterns, &in, &mpfr, 1, &error), &error, "no bit patterns");
    expect_usage(ulp_array_decode(&in, &patterns, &fp4, 1, &error), &error, "0xc8");
    expect_usage(ulp_array_matmul(&product, &model_types, &in, &in, 1, &error), &error, "a model");
    expect_usage(ulp_array_matmul(&product, &fp32, &in, &patterns, 1, &error), &error, "one type");
    expect_usage(ulp_tensor_wrap(&product, ULP_TYPE_FLOAT, 1, &four, NULL, &error), &error,
                 "no memory");
    ck_assert_int_eq(ulp_array_matmul(&product, &fp32, &in, &few, 1, &error), ULP_ERROR_INPUT);
    ck_assert_ptr_null(product.data);
}

static const char *const arithmetics[] = {
    "fp32",        "fp64",     "fp16@h200", "fp16@a100,split-k=4",  "bf16@h200",
    "tf32@h200",   "mpfr:100", "e5m7",      "fp16,round=sr,seed=9", "fp8-e4m3",
    "fp16-strict",
};

static void run_model(const struct ulp_arithmetic *arithmetic, struct ulp_tensor_set *inputs,
                      struct ulp_tensor_set *outputs)
{
    scoped_model *model = onnx_text_load(13, "(float[2,5,70] a, float[70,9] b) => "
                                             "(float[2,5,9] y) { [MatMul] y = MatMul(a, b) }");
    scoped_program *program = test_plan_lanes(model, inputs, arithmetic, 1);
    ck_ok(ulp_program_run(program, inputs, NULL, NULL, 0, outputs, NULL, &why));
}

TEST_LOOP(products_are_those_of_a_model, 0, sizeof arithmetics / sizeof *arithmetics)
{
    static float a[2 * 5 * 70], b[70 * 9];
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = (float)(ulp_random_uniform(1, i) - 0.5) * 4;
    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        b[i] = (float)(ulp_random_uniform(2, i) - 0.5) * 0.25f;
    struct ulp_tensor in[2], copies[2], product;
    scoped_tensor_set inputs = {0}, outputs = {0};
    const struct ulp_arithmetic arithmetic = test_arithmetic(arithmetics[_i]);
    wrap(&in[0], ULP_TYPE_FLOAT, 3, (int64_t[]){2, 5, 70}, a);
    wrap(&in[1], ULP_TYPE_FLOAT, 2, (int64_t[]){70, 9}, b);
    for (int i = 0; i < 2; i++) {
        copies[i] = in[i];
        ck_ok(ulp_tensor_set_add(&inputs, i ? "b" : "a", &copies[i], &why));
    }
    run_model(&arithmetic, &inputs, &outputs);
    for (int threads = 1; threads <= 2; threads++) {
        ck_ok(ulp_array_matmul(&product, &arithmetic, &in[0], &in[1], threads, &why));
        ck_assert_msg(test_same_bits(&product, &outputs.items[0].tensor), "%s", arithmetic.name);
        ulp_tensor_free(&product);
    }
}

TEST(integers_are_multiplied_exactly)
{
    int32_t a[] = {INT32_MAX, 1, 2, 3}, b[] = {2, 5};
    struct ulp_tensor in[2], product;
    const struct ulp_arithmetic arithmetic = test_arithmetic("fp16@h200");
    wrap(&in[0], ULP_TYPE_INT32, 2, (int64_t[]){2, 2}, a);
    wrap(&in[1], ULP_TYPE_INT32, 1, (int64_t[]){2}, b);
    ck_ok(ulp_array_matmul(&product, &arithmetic, &in[0], &in[1], 1, &why));
    ck_assert_int_eq(product.rank, 1);
    ck_assert_int_eq(((int32_t *)product.data)[0], 3); /* 2^32 - 2 + 5 */
    ck_assert_int_eq(((int32_t *)product.data)[1], 19);
    ulp_tensor_free(&product);
}

TEST_SUITE("array", 0)
