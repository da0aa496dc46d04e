/* Samples of several shapes: what each shape gives by itself, put together by the figures'
 * definitions. */
#include <math.h>
#include <string.h>
#include <ulpscope.h>

#include "tests/analysis/study_test.h"
#include "tests/analysis/shapes_test.h"
#include "tests/support/onnx_text.h"

enum { SAMPLES = 4, TRIALS = 6 };

static float value(size_t sample, size_t i)
{
    return 0.3f + 1.7f * (float)i + 4.1f * (float)sample;
}

/* The error of the worst sample beside the rms of all samples' references, each counted once. */
static void expect_point(const struct ulp_study_point *all, const struct ulp_study_point *ones[])
{
    const struct ulp_study_point *worst = ones[0];
    double squares = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        worst = ones[i]->metrics.rms > worst->metrics.rms ? ones[i] : worst;
        squares += ones[i]->ref_rms * ones[i]->ref_rms / SAMPLES;
    }
    ck_assert(memcmp(&all->metrics.rms, &worst->metrics.rms, sizeof(double)) == 0);
    ck_assert(memcmp(&all->metrics.max_abs, &worst->metrics.max_abs, sizeof(double)) == 0);
    /* roots and means of four squares, in another order: some units in the last place */
    ck_assert_double_le(fabs(all->ref_rms - sqrt(squares)), 1e-15 * sqrt(squares));
    const double relative = worst->metrics.rms / sqrt(squares);
    ck_assert_msg(fabs(all->relative - relative) <= 4e-15 * relative, "%.17g, not %.17g",
                  all->relative, relative);
}

/* Every element of every sample counts once. */
static void expect_trials(const struct ulp_study_trials *all, const struct ulp_study_point *ones[])
{
    size_t elements = 0, exact = 0;
    double least = INFINITY, bias = 0, biased = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct ulp_study_trials *one = &ones[i]->trials;
        ck_assert_uint_eq(one->count, TRIALS);
        elements += one->elements;
        exact += one->exact;
        least = fmin(least, one->bits_least);
        bias += one->bias * (double)one->elements;
        biased += one->biased * (double)one->elements;
    }
    ck_assert_uint_eq(all->count, TRIALS);
    ck_assert_uint_eq(all->elements, elements);
    ck_assert_uint_eq(all->exact, exact);
    ck_assert_double_eq(all->bits_least, least);
    ck_assert_double_eq_tol(all->bias, bias / (double)elements, 1e-13);
    ck_assert_double_eq_tol(all->biased, biased / (double)elements, 1e-13);
}

START_TEST(any_shapes)
{
    static const int64_t counts[SAMPLES] = {3, 7, 3, 2};
    static const char *const sweeps[] = {"e8m{4..6}", "e8m6,round=sr"};
    struct ulp_model *model = onnx_text_load(
        17, "(float[N] x) => (float[N] y) <float k = {3}> { a = Mul(x, k) y = Mul(a, x) }");
    struct ulp_study_options options = plain;
    struct ulp_sample samples[SAMPLES];
    struct ulp_tensor_set sets[SAMPLES];
    struct ulp_study all, ones[SAMPLES];
    struct ulp_error error;
    options.trials = TRIALS;
    options.reference = test_arithmetic("mpfr:128");
    options.sweeps = sweeps;
    options.sweep_count = 2;
    for (size_t i = 0; i < SAMPLES; i++) {
        sets[i] = shaped_inputs(i, counts[i], value);
        samples[i] = (struct ulp_sample){.name = "one", .inputs = &sets[i]};
        ck_ulp_ok(ulp_study_run(model, &samples[i], 1, &options, &ones[i], &error), error);
    }
    ck_ulp_ok(ulp_study_run(model, samples, SAMPLES, &options, &all, &error), error);
    ck_assert_uint_eq(all.setting_count, 4);
    for (size_t s = 0; s < all.setting_count; s++) {
        const struct ulp_study_point *points[SAMPLES];
        for (size_t i = 0; i < SAMPLES; i++)
            points[i] = &ones[i].settings[s].points[0];
        if (all.settings[s].trials)
            expect_trials(&all.settings[s].points[0].trials, points);
        else
            expect_point(&all.settings[s].points[0], points);
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        ulp_study_free(&ones[i]);
        ulp_tensor_set_free(&sets[i]);
    }
    ulp_study_free(&all);
    ulp_model_free(model);
}
END_TEST

START_TEST(other_nodes)
{
    struct ulp_model *model = onnx_text_load(17, SHAPES_CHOOSE_NODES);
    static const char *const sweeps[] = {"e8m4"};
    struct ulp_tensor_set sets[] = {shaped_inputs(0, 3, value), shaped_inputs(1, 4, value)};
    const struct ulp_sample samples[] = {{"0", &sets[0], 0}, {"1", &sets[1], 0}};
    struct ulp_study_options options = plain;
    struct ulp_study study;
    struct ulp_error error;
    options.reference = test_arithmetic("mpfr:128");
    options.sweeps = sweeps;
    options.sweep_count = 1;
    ck_assert_int_eq(ulp_study_run(model, samples, 2, &options, &study, &error), ULP_ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "sample 1"));
    ck_assert_ptr_nonnull(strstr(error.message, "other nodes"));
    ulp_tensor_set_free(&sets[0]);
    ulp_tensor_set_free(&sets[1]);
    ulp_model_free(model);
}
END_TEST

TEST_MAIN("studies of samples of several shapes", 0)
{
    tcase_add_test(tests, any_shapes);
    tcase_add_test(tests, other_nodes);
}
