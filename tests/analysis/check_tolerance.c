/* Tolerances: bounds and independent errors against sums written out by hand and in MPFR, what is
 * recommended against what is measured, and the verdict on a given tolerance. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static struct ulp_tensor_set make_inputs(const char *name, int rank, const int64_t *dims,
                                         const float *values)
{
    struct ulp_tensor_set set = {0};
    struct ulp_tensor tensor;
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, rank, dims, &why));
    memcpy(tensor.data, values, tensor.count * sizeof *values);
    ck_ok(ulp_tensor_set_add(&set, name, &tensor, &why));
    return set;
}

static struct ulp_tolerance measure(struct ulp_model *model, struct ulp_tensor_set *inputs,
                                    const char *arithmetic)
{
    struct ulp_tolerance_options options = {.elements = 4, .thread_count = 1};
    struct ulp_tolerance tolerance;
    options.reference = test_arithmetic("mpfr:128");
    options.arithmetic = test_arithmetic(arithmetic);
    const struct ulp_sample sample = {"one", inputs, 0};
    ck_ok(ulp_tolerance_run(model, &sample, 1, &options, &tolerance, &why));
    return tolerance;
}

/* y = (x * 3) * x in FP16: with a = 3x, y = a x, the parts are
 *   input    e = x16 - x,           carried by dy/dx = 6x
 *   first    d1 = round(3 x16) - 3 x16,  carried by dy/da = x
 *   second   d2 = round(a16 x16) - a16 x16
 * in doubles, which hold every product of these. Derivatives are taken in the middle of both lanes,
 * kept in FP32: within 2^-10 of those at x, and figures agree to a part in 500. */
TEST(by_hand)
{
    const int64_t dims[1] = {4};
    const float x[4] = {0.1f, 1.7f, -2.3f, 0.7f};
    scoped_model *model = onnx_text_load(
        17, "(float[4] x) => (float[4] y) <float k = {3}> { a = Mul(x, k) y = Mul(a, x) }");
    scoped_tensor_set inputs = make_inputs("x", 1, dims, x);
    scoped_tolerance tolerance = measure(model, &inputs, "fp16");
    const struct ulp_format half = test_format("fp16");
    ck_assert_uint_eq(tolerance.output_count, 1);
    const struct ulp_tolerance_output *output = &tolerance.outputs[0];
    ck_assert_uint_eq(output->element_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const double xi = (double)x[i],
                     x16 = ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, xi, 0, 0),
                     a16 = ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, 3 * x16, 0, 0),
                     y16 = ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, a16 * x16, 0, 0),
                     e = fabs(x16 - xi), d1 = fabs(a16 - 3 * x16), d2 = fabs(y16 - a16 * x16),
                     bound = 6 * fabs(xi) * e + fabs(xi) * fmax(d1, 3 * fabs(xi) * 0x1p-11) +
                             fmax(d2, 3 * xi * xi * 0x1p-11),
                     random = sqrt(pow(6 * xi * e, 2) + pow(xi * d1, 2) + d2 * d2);
        const struct ulp_tolerance_element *element = &output->elements[i];
        ck_assert_uint_eq(element->index, i);
        ck_assert_double_eq(element->error, y16 - 3 * xi * xi);
        ck_assert_msg(fabs(element->bound - bound) <= bound / 500, "%zu: %g %g", i, element->bound,
                      bound);
        ck_assert_msg(fabs(element->random - random) <= random / 500, "%zu: %g %g", i,
                      element->random, random);
        ck_assert_double_ge(element->bound * 1.002, fabs(element->error));
    }
    ck_assert_double_ge(output->max_abs, output->own_max);
    ck_assert_double_ge(output->atol, ULP_TOLERANCE_FACTOR * output->max_abs);
    ck_assert_double_le(output->atol, ULP_TOLERANCE_FACTOR * output->max_abs * 1.1 + 1e-300);
}

/* The same with the second product kept in FP32, which reads x as it is given, and a from FP16. */
TEST(mixed)
{
    const int64_t dims[1] = {4};
    const float x[4] = {0.1f, 1.7f, -2.3f, 0.7f};
    scoped_model *model = onnx_text_load(
        17, "(float[4] x) => (float[4] y) <float k = {3}> { a = Mul(x, k) y = Mul(a, x) }");
    scoped_tensor_set inputs = make_inputs("x", 1, dims, x);
    const size_t second = 1;
    struct ulp_keep keep = {.nodes = &second, .node_count = 1};
    const struct ulp_keeps keeps = {1, &keep, "second"};
    struct ulp_tolerance_options options = {.keeps = &keeps, .thread_count = 1};
    scoped_tolerance tolerance = {0};
    const struct ulp_format half = test_format("fp16");
    keep.arithmetic = test_arithmetic("fp32");
    options.reference = test_arithmetic("mpfr:128");
    options.arithmetic = test_arithmetic("fp16");
    const struct ulp_sample sample = {"one", &inputs, 0};
    ck_ok(ulp_tolerance_run(model, &sample, 1, &options, &tolerance, &why));
    ck_assert_str_eq(tolerance.arithmetic, "fp16,keep=second");
    const struct ulp_tolerance_output *output = &tolerance.outputs[0];
    for (size_t i = 0; i < 4; i++) {
        const double xi = (double)x[i],
                     x16 = ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, xi, 0, 0),
                     a16 = ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, 3 * x16, 0, 0);
        ck_assert_double_eq(output->errors[i], (double)(float)(a16 * xi) - 3 * xi * xi);
    }
    /* trials, too, are of the mixed arithmetic: relative errors of two roundings to FP16 */
    ck_assert_double_gt(output->max_abs, 0);
    ck_assert_double_le(output->max_abs, 3 * 2.3 * 2.3 * 1.01 * 0x1p-10);
}

/* Of several samples, of any shapes: each output as in the sample with the largest error, and no
 * sample is beyond its atol. */
TEST(joined)
{
    static const int64_t dims[3] = {2, 5, 3};
    static const float x[3][5] = {{0.1f, 1.7f},
                                  {9.3f, -2.3f, 0.7f, 3.3f, 1.1f},
                                  {0.3f, 0.7f, 5.3f}};
    scoped_model *model =
        onnx_text_load(17,
                       "(float[N] x) => (float[N] y, float[N] z) <float k = {3}, float l = {0.7}>"
                       " { a = Mul(x, k) y = Mul(a, x) z = Div(l, x) }");
    struct ulp_tolerance all, one[3];
    struct ulp_tensor_set inputs[3];
    const char *const names[3] = {"p", "q", "r"};
    struct ulp_sample samples[3] = {0};
    struct ulp_tolerance_options options = {.elements = 4, .thread_count = 1};
    options.reference = test_arithmetic("mpfr:128");
    options.arithmetic = test_arithmetic("fp16");
    for (size_t s = 0; s < 3; s++) {
        inputs[s] = make_inputs("x", 1, &dims[s], x[s]);
        samples[s] = (struct ulp_sample){names[s], &inputs[s], 0};
        ck_ok(ulp_tolerance_run(model, &samples[s], 1, &options, &one[s], &why));
    }
    ck_ok(ulp_tolerance_run(model, samples, 3, &options, &all, &why));
    ck_assert_uint_eq(all.sample_count, 3);
    ck_assert_uint_eq(all.output_count, 2);
    for (size_t o = 0; o < 2; o++) {
        size_t worst = 0;
        for (size_t s = 1; s < 3; s++)
            worst = one[s].outputs[o].max_abs > one[worst].outputs[o].max_abs ? s : worst;
        const struct ulp_tolerance_output *output = &all.outputs[o], *of = &one[worst].outputs[o];
        ck_assert_str_eq(output->sample, names[worst]);
        ck_assert_uint_eq(output->count, (size_t)dims[worst]);
        ck_assert(memcmp(&output->max_abs, &of->max_abs, sizeof(double)) == 0);
        ck_assert(memcmp(&output->bound, &of->bound, sizeof(double)) == 0);
        ck_assert(memcmp(output->errors, of->errors, output->count * sizeof(double)) == 0);
        ck_assert_double_le(ulp_tolerance_excess(output, output->atol, 0), 1);
        /* beside their references the errors of other samples are larger */
        double excess = 0;
        for (size_t s = 0; s < 3; s++)
            excess = fmax(excess, ulp_tolerance_excess(&one[s].outputs[o], 1e-9, 1e-5));
        ck_assert_double_gt(excess, ulp_tolerance_excess(of, 1e-9, 1e-5));
        ck_assert_double_eq(ulp_tolerance_excess(output, 1e-9, 1e-5), excess);
    }
    /* 9.3 squared is the largest product, 0.7 / 0.1 the largest quotient */
    ck_assert_str_eq(all.outputs[0].sample, "q");
    ck_assert_str_eq(all.outputs[1].sample, "p");
    for (size_t s = 0; s < 3; s++) {
        ulp_tolerance_free(&one[s]);
        ulp_tensor_set_free(&inputs[s]);
    }
    ulp_tolerance_free(&all);
}

/* What only moves numbers rounds nothing: no error, no bound. */
TEST(exact)
{
    const int64_t dims[2] = {2, 2};
    const float x[4] = {0.5f, 1, 2, -3};
    scoped_model *model =
        onnx_text_load(17, "(float[2,2] x) => (float[2,2] y) { a = Transpose(x) y = Relu(a) }");
    scoped_tensor_set inputs = make_inputs("x", 2, dims, x);
    scoped_tolerance tolerance = measure(model, &inputs, "bf16");
    ck_assert_double_eq(tolerance.outputs[0].own_max, 0);
    for (size_t k = 0; k < tolerance.outputs[0].element_count; k++)
        ck_assert_double_eq(tolerance.outputs[0].elements[k].bound, 0);
    ck_assert_double_eq(ulp_tolerance_excess(&tolerance.outputs[0], 0, 0), 0);
}

/* Infinite outputs have no bound and meet nothing. */
TEST(overflowing)
{
    const int64_t dims[1] = {2};
    const float x[2] = {1, 1000};
    scoped_model *model = onnx_text_load(17, "(float[2] x) => (float[2] y) { y = Mul(x, x) }");
    scoped_tensor_set inputs = make_inputs("x", 1, dims, x);
    scoped_tolerance tolerance = measure(model, &inputs, "fp16");
    SCOPED_MEMORY char *text = NULL;
    ck_assert_ptr_nonnull(tolerance.no_bound);
    ck_assert_uint_ge(tolerance.outputs[0].nonfinite, 1);
    ck_assert(isnan(tolerance.outputs[0].bound));
    ck_assert(isinf(ulp_tolerance_excess(&tolerance.outputs[0], 1e9, 1)));
    ck_ok(ulp_tolerance_text(&tolerance, 0, false, &text, &why));
    ck_assert_msg(strstr(text, "no tolerance holds"), "%s", text);
}

/* Where something overflows inside and the outputs are finite, a tolerance that such an error meets
 * is met by zeros, too: 1 / x^2 of 1000 is 0. */
TEST(zeros_would_pass)
{
    const int64_t dims[1] = {2};
    const float x[2] = {1000, 2000};
    scoped_model *model =
        onnx_text_load(17, "(float[2] x) => (float[2] y) { s = Mul(x, x) y = Reciprocal(s) }");
    scoped_tensor_set inputs = make_inputs("x", 1, dims, x);
    scoped_tolerance tolerance = measure(model, &inputs, "fp16");
    SCOPED_MEMORY char *text = NULL;
    ck_assert_uint_eq(tolerance.outputs[0].nonfinite, 0);
    ck_assert(isnan(tolerance.outputs[0].atol));
    ck_ok(ulp_tolerance_text(&tolerance, 0, false, &text, &why));
    ck_assert_msg(strstr(text, "no tolerance at y") && !strstr(text, "--atol"), "%s", text);
}

/* The ratio of error and allowance, scaled to the measured largest. */
TEST(excess)
{
    double references[3] = {1, -10, 0}, errors[3] = {0.01, 0.05, 0};
    struct ulp_tolerance_output output = {
        .count = 3, .references = references, .errors = errors, .own_max = 0.05, .max_abs = 0.1};
    ck_assert_double_eq_tol(ulp_tolerance_excess(&output, 0.1, 0), 1, 1e-12);
    ck_assert_double_eq_tol(ulp_tolerance_excess(&output, 0, 0.01), 2, 1e-12);
    ck_assert_double_eq_tol(ulp_tolerance_excess(&output, 0.05, 0.005), 1, 1e-12);
    ck_assert(isinf(ulp_tolerance_excess(&output, 0, 0)));
    errors[2] = NAN;
    ck_assert(isinf(ulp_tolerance_excess(&output, 1, 1)));
}

TEST_SUITE("tolerance", 0)
