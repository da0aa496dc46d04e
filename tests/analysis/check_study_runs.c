/* Studies of models: an error that is known, an audit's figures, trials summed up by hand, what is
 * refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope.h>

#include "analysis/measure/quantile.h"
#include "base/random.h"
#include "tests/analysis/study_test.h"
#include "tests/support/networks.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "tests/support/text_model.h"
#include "analysis/audit/auditor.h"

static struct ulp_tensor_set make_inputs(const float *values, int64_t count)
{
    struct ulp_tensor_set set = {0};
    struct ulp_tensor tensor;
    struct ulp_error error;
    ck_ulp_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, &count, &error),
              error);
    memcpy(tensor.data, values, tensor.count * sizeof *values);
    ck_ulp_ok(ulp_tensor_set_add(&set, "x", &tensor, &error), error);
    return set;
}

/* 2 - 2^-23 rounded towards zero to m bits behind the point is 2 - 2^-m, and 1 times it is that:
 * the error is 2^-m - 2^-23, so the relative one follows u = 2^-m but for 2^(m-23). */
START_TEST(an_error_that_is_known)
{
    const float x[3] = {0x1.fffffep0f, 0x1.fffffep0f, 0x1.fffffep0f};
    struct ulp_model *model = onnx_text_load(
        17, "(float[3] x) => (float[3] y) <float one = {1}> { [/a/node] y = Mul(x, one) }");
    struct ulp_tensor_set inputs = make_inputs(x, 3);
    const char *const nodes[] = {"/a/node"};
    struct ulp_study_options options = plain;
    options.nodes = nodes;
    options.node_count = 1;
    struct ulp_study study = RUN(model, &inputs, options, "e8m{2..12},round=rz");
    ck_assert_uint_eq(study.setting_count, 11);
    ck_assert_uint_eq(study.series_count, 1);
    const struct ulp_study_series *series = &study.series[0];
    ck_assert_int_eq(series->axis, ULP_AXIS_BITS);
    ck_assert_str_eq(series->name, "e8m{2..12},round=rz");
    ck_assert_uint_eq(study.place_count, 3); /* the output, the node, its group */
    for (size_t i = 0; i < series->count; i++) {
        const double relative = (ldexp(1, -(int)(i + 2)) - 0x1p-23) / (double)0x1.fffffep0f;
        ck_assert_double_eq(series->x[i], (double)(i + 2));
        for (size_t p = 0; p < study.place_count; p++) {
            const double found = study.settings[series->settings[i]].points[p].relative;
            /* a root of a mean of three equal squares: a few roundings */
            ck_assert_msg(fabs(found - relative) <= 4e-16 * relative, "%zu %zu: %.17g, %.17g", i, p,
                          found, relative);
        }
    }
    for (size_t p = 0; p < study.place_count; p++) {
        /* log2(2^-m - 2^-23) is m(1 + 2^(m-23) / ln 2 / ...): the slope is off by 2^-11 at most */
        ck_assert_int_eq(series->fits[p].law, ULP_LAW_LINEAR);
        ck_assert_double_eq_tol(series->fits[p].slope, -1, 1e-3);
        ck_assert_uint_eq(series->fits[p].count, 11);
    }
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Sums of n terms of [1, 2), one after the other. Towards zero each step loses half an ulp of the
 * sum on average, so the error is n u; to nearest the roundings are independent, with sum(k^2) for
 * their squares, which beside n is sqrt(n) u. Terms are numbers of the format. 256 rows for an rms:
 * its slope over five doublings is good to 1 / sqrt(512) / log2(32) = 0.01 and the ulps, which do
 * not grow as evenly as sums, add some hundredths. */
static double sum_terms(int64_t terms, const char *arithmetic)
{
    enum { ROWS = 256 };
    const int64_t dims[] = {ROWS, terms};
    char text[200];
    struct ulp_tensor_set inputs = {0};
    struct ulp_tensor x;
    struct ulp_error error;
    snprintf(
        text, sizeof text,
        "(float[256,%lld] x) => (float[256,1] y) <float[%lld,1] w = {1...}> { y = MatMul(x, w) }",
        (long long)terms, (long long)terms);
    struct ulp_model *model = onnx_text_load(17, text);
    ck_ulp_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, dims, &error), error);
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] = 1 + (float)(ulp_random_bits(3, i) >> 48) * 0x1p-16f;
    ck_ulp_ok(ulp_tensor_set_add(&inputs, "x", &x, &error), error);
    struct ulp_study study = RUN(model, &inputs, plain, arithmetic);
    const double relative = study.settings[0].points[0].relative;
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    return relative;
}

START_TEST(laws_of_sizes)
{
    static const char *const arithmetics[] = {"e8m20,round=rz", "e8m20,round=rne"};
    for (int a = 0; a < 2; a++) {
        double x[6], relative[6];
        struct ulp_study_fit fit;
        for (int i = 0; i < 6; i++) {
            x[i] = ldexp(64, i);
            relative[i] = sum_terms((int64_t)x[i], arithmetics[a]);
        }
        ulp_study_fit(x, relative, 6, true, &fit);
        ck_assert_msg(fit.law == (a ? ULP_LAW_ROOT : ULP_LAW_LINEAR),
                      "%s: slope %.3f +- %.3f, residual %.3f", arithmetics[a], fit.slope,
                      fit.slope_error, fit.residual);
        ck_assert_uint_eq(fit.count, 6);
    }
}
END_TEST

/* The sentence about a tolerance, and a setting of two sweeps, which is run once. */
START_TEST(conclusions)
{
    const float x[4] = {1.1f, 1.3f, 1.7f, 1.9f};
    struct ulp_model *model =
        onnx_text_load(17, "(float[4] x) => (float[4] y) <float one = {1}> { y = Mul(x, one) }");
    struct ulp_tensor_set inputs = make_inputs(x, 4);
    struct ulp_study_options options = plain;
    struct ulp_error error;
    char *text;
    options.tolerance = 1e-3;
    struct ulp_study study =
        RUN(model, &inputs, options, "e8m{2..12}", "e8m6,round={rz,rne}", "e8m{2,3}");
    ck_ulp_ok(ulp_study_text(&study, 100, false, &text, &error), error);
    size_t enough = 0; /* the fewest bits that every wider setting keeps to */
    for (size_t i = 0; i < 11; i++)
        if (!(study.settings[i].points[0].relative <= 1e-3))
            enough = i + 1;
    char expected[60];
    snprintf(expected, sizeof expected, "e8m%zu suffices for 0.001", enough + 2);
    ck_assert_msg(strstr(text, expected) != NULL, "%s: %s", expected, text);
    ck_assert_ptr_nonnull(strstr(text, "e8m6,round=rne has the least error of y"));
    ck_assert_ptr_nonnull(strstr(text, "e8m{2,3}: no law fits"));
    ck_assert_uint_eq(study.setting_count, 12); /* e8m6, e8m2 and e8m3 are there once */
    ck_assert_uint_eq(study.series_count, 3);
    free(text);
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Every axis is found by what it changes. */
START_TEST(axes)
{
    static const struct {
        const char *sweep;
        enum ulp_study_axis axis;
        size_t series, count;
    } rows[] = {{"e5m{4..6}", ULP_AXIS_BITS, 1, 3},
                {"e{4..6}m5", ULP_AXIS_EXPONENT, 1, 3},
                {"mpfr:{20,30}", ULP_AXIS_BITS, 1, 2},
                {"e{4,5}m{4..6}", ULP_AXIS_BITS, 2, 3},
                {"fp16,round={rne,rz}", ULP_AXIS_WORDS, 1, 2},
                {"{fp16,bf16,fp32}", ULP_AXIS_WORDS, 1, 3},
                {"fp32,order=blocked:{4,8,16}", ULP_AXIS_LENGTH, 1, 3},
                {"fp32,order={sequential,blocked:8}", ULP_AXIS_WORDS, 1, 2},
                {"fp32,round={rne,rz},reduce=blocked:{4,8}", ULP_AXIS_LENGTH, 2, 2},
                {"fp32", ULP_AXIS_WORDS, 1, 1}};
    const float x[2] = {1.1f, 1.3f};
    struct ulp_model *model = onnx_text_load(17, "(float[2] x) => (float[2] y) { y = Mul(x, x) }");
    struct ulp_tensor_set inputs = make_inputs(x, 2);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ulp_study study = RUN(model, &inputs, plain, rows[r].sweep);
        ck_assert_msg(study.series_count == rows[r].series &&
                          study.series[0].axis == rows[r].axis &&
                          study.series[0].count == rows[r].count,
                      "%s: %zu series, %s, %zu", rows[r].sweep, study.series_count,
                      ulp_study_axis_name(study.series[0].axis), study.series[0].count);
        ulp_study_free(&study);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- an audit's figures ---- */

static void expect_audited(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                           const struct ulp_study *study)
{
    for (size_t i = 0; i < study->setting_count; i++) {
        const struct ulp_arithmetic lanes[] = {test_arithmetic("mpfr:128"),
                                               study->settings[i].arithmetic};
        const struct ulp_program_options options = {.inputs = inputs};
        const struct ulp_run_options audited = {.thread_count = 2, .audit = true};
        struct ulp_program *program;
        struct ulp_auditor *auditor;
        struct ulp_audit audit;
        struct ulp_error error;
        ck_ulp_ok(ulp_program_create(model, lanes, 2, &options, &program, &error), error);
        ck_ulp_ok(ulp_auditor_create(program, &auditor, &error), error);
        const struct ulp_observer observer = ulp_auditor_observer(auditor);
        ck_ulp_ok(ulp_auditor_sample(auditor, "s", &error), error);
        ck_ulp_ok(ulp_program_run(program, inputs, &audited, &observer, 1, NULL, NULL, &error),
                  error);
        ck_ulp_ok(ulp_auditor_finish(auditor, &audit, &error), error);
        ck_assert_uint_gt(audit.lanes[0].outputs.output_count, 0);
        for (size_t o = 0; o < audit.lanes[0].outputs.output_count; o++) {
            const struct ulp_audit_output *output = &audit.lanes[0].outputs.outputs[o];
            const struct ulp_study_point *point = &study->settings[i].points[o];
            ck_assert_str_eq(study->places[o].name, output->name);
            ck_assert_msg(audit_same_metrics(&point->metrics, &output->entire), "%s at %s",
                          study->settings[i].text, output->name);
            ck_assert(memcmp(&point->ref_rms, &output->range.ref_rms, sizeof(double)) == 0);
            if (!output->entire.diverged && !output->entire.nonfinite && output->entire.rms > 0)
                ck_assert_double_eq(point->relative,
                                    sqrt(pow(output->entire.rms / output->range.ref_rms, 2)));
        }
        ulp_audit_free(&audit);
        ulp_auditor_free(auditor);
        ulp_program_free(program);
    }
}

START_TEST(an_audits_figures)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    if (!network_load(_i, &model, &inputs))
        return;
    struct ulp_study study =
        RUN(model, &inputs, plain, "e5m{6,10}", "fp16@{a100,h200}",
            "bf16,order={pairwise,blocked:64},round={rne,rz}", "fp16,round=sr,seed=7");
    expect_audited(model, &inputs, &study);
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- trials ---- */

enum { ELEMENTS = 5, TRIALS = 12 };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each trial run by itself with the seed that the header promises, and everything formed again in
 * long double by definitions of two passes. */
START_TEST(trials_by_hand)
{
    const float x[ELEMENTS] = {1.1f, -2.7f, 0.3f, 5.9f, 1024};
    struct ulp_model *model = onnx_text_load(
        17, "(float[5] x) => (float[5] y) <float k = {3}> { a = Mul(x, k) y = Mul(a, x) }");
    struct ulp_tensor_set inputs = make_inputs(x, ELEMENTS);
    struct ulp_study_options options = plain;
    struct ulp_error error;
    long double value[TRIALS][ELEMENTS];
    options.trials = TRIALS;
    options.seed = 99;
    options.confidence = 0.9;
    struct ulp_study study = RUN(model, &inputs, options, "e8m6,round=sr");
    const struct ulp_study_trials *trials = &study.settings[0].points[0].trials;
    for (int t = 0; t < TRIALS; t++) {
        char name[60];
        snprintf(name, sizeof name, "e8m6,round=sr,seed=%llu",
                 (unsigned long long)ulp_random_bits(99, (uint64_t)t));
        const struct ulp_arithmetic lane = test_arithmetic(name);
        struct ulp_tensor_set outputs;
        struct ulp_program *program;
        const struct ulp_program_options of = {.inputs = &inputs};
        ck_ulp_ok(ulp_program_create(model, &lane, 1, &of, &program, &error), error);
        ck_ulp_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs, NULL, &error), error);
        for (size_t i = 0; i < ELEMENTS; i++)
            value[t][i] = (long double)ulp_tensor_get(&outputs.items[0].tensor, i);
        ulp_tensor_set_free(&outputs);
        ulp_program_free(program);
    }
    double bits[ELEMENTS];
    long double errors[TRIALS] = {0}, bias = 0, spread = 0, biases = 0;
    size_t biased = 0, exact = 0;
    const long double student = (long double)ulp_quantile_student(0.95, TRIALS - 1);
    for (size_t i = 0; i < ELEMENTS; i++) {
        const long double reference = 3.0L * (long double)x[i] * (long double)x[i];
        long double mean = 0, squares = 0;
        for (int t = 0; t < TRIALS; t++) {
            mean += value[t][i] / TRIALS;
            errors[t] += (value[t][i] - reference) / ELEMENTS;
        }
        for (int t = 0; t < TRIALS; t++)
            squares += (value[t][i] - mean) * (value[t][i] - mean);
        const long double deviation = sqrtl(squares / (TRIALS - 1));
        exact += squares == 0;
        bits[i] = squares == 0 ? INFINITY : (double)-log2l(deviation / fabsl(mean));
        biases += (mean - reference) * (mean - reference) - deviation * deviation / TRIALS;
        biased += fabsl(mean - reference) > student * deviation / sqrtl(TRIALS);
    }
    for (int t = 0; t < TRIALS; t++)
        bias += errors[t] / TRIALS;
    for (int t = 0; t < TRIALS; t++)
        spread += (errors[t] - bias) * (errors[t] - bias);
    qsort(bits, ELEMENTS, sizeof *bits, by_size);
    const double error_of_bias = (double)sqrtl(spread / (TRIALS - 1) / TRIALS);
    ck_assert_uint_eq(trials->count, TRIALS);
    ck_assert_uint_eq(trials->elements, ELEMENTS);
    ck_assert_uint_eq(trials->left_out, 0);
    ck_assert_uint_eq(trials->exact, exact);
    ck_assert_uint_ge(exact, 1); /* 1024 is a number of the format, and 3 * 2^20 */
    /* differences of a few roundings of doubles, of numbers of 7 bits: 1e-13 of the largest */
    ck_assert_double_eq_tol(trials->bits, bits[ELEMENTS / 2], 1e-12);
    ck_assert_double_eq_tol(trials->bits_least, bits[0], 1e-12);
    ck_assert_double_eq_tol(trials->bits_low,
                            bits[ELEMENTS / 2] - ulp_significant_loss(TRIALS, 0.95, 0.9), 1e-12);
    ck_assert_double_eq_tol(trials->bias, (double)bias, 1e-12);
    ck_assert_double_eq_tol(trials->bias_error, error_of_bias, 1e-12);
    ck_assert_double_eq_tol(trials->bias_width, error_of_bias * (double)student, 1e-11);
    ck_assert_double_eq_tol(trials->biased, (double)biased / ELEMENTS, 1e-15);
    ck_assert_double_eq_tol(trials->bias_rms, (double)sqrtl(fmaxl(0, biases / ELEMENTS)), 1e-12);
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* 1 + 1/3 rounded once to 4 bits behind the point, 1.3125 or 1.375, goes up with probability 1/3:
 * of n elements times N trials the mean is off by 0 +- 2^-4 sqrt(2)/3 / sqrt(n N). Towards zero it
 * is off by -2^-4/3 in every one. */
START_TEST(stochastic_rounding_has_no_bias)
{
    enum { COUNT = 512 };
    float x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = 1 + 1 / 3.0f;
    struct ulp_model *model =
        onnx_text_load(17,
                       "(float[512] x) => (float[512] y) <float one = {1}> { y = Mul(x, one) }");
    struct ulp_tensor_set inputs = make_inputs(x, COUNT);
    struct ulp_study_options options = plain;
    options.trials = 50;
    struct ulp_study study = RUN(model, &inputs, options, "e8m4,round={sr,rz}");
    const struct ulp_study_trials *trials = &study.settings[0].points[0].trials;
    const double expected = 0x1p-4 * sqrt(2) / 3 / sqrt(COUNT * 50.0);
    ck_assert_double_le(fabs(trials->bias), 4 * expected);
    /* its estimate from 50 trials: within 4 of its own deviations, 1/sqrt(2 * 49) each */
    ck_assert_double_le(fabs(trials->bias_error / expected - 1), 4 / sqrt(98));
    /* 512 times a chance of 0.05 that is not quite Student's, since elements have two values */
    ck_assert_double_le(trials->biased, 0.05 + 4 * sqrt(0.05 * 0.95 / COUNT) + 0.02);
    /* a deviation of 2^-4 sqrt(2)/3 of 4/3, estimated from 50 */
    ck_assert_double_eq_tol(trials->bits, -log2(0x1p-4 * sqrt(2) / 3 / (4 / 3.0)), 0.1);
    ck_assert_double_eq_tol(study.settings[1].points[0].metrics.mean, -0x1p-4 / 3, 1e-7);
    ck_assert_uint_eq(study.settings[1].points[0].trials.count, 0);
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- refusals, and what cannot be measured ---- */

START_TEST(refused)
{
    const float x[2] = {1.1f, 1.3f};
    struct ulp_model *model = onnx_text_load(17, "(float[2] x) => (float[2] y) { y = Mul(x, x) }");
    struct ulp_tensor_set inputs = make_inputs(x, 2);
    const struct ulp_sample sample = {.name = "0", .inputs = &inputs};
    const char *const good[] = {"fp16"}, *const bad[] = {"fp16,round={rne,xx}"},
                      *const many[] = {"e5m{1..20},order=blocked:{1..40}",
                                       "e5m{1..20},order=blocked:{41..80}"},
                      *const nodes[] = {"nothing"};
    const struct {
        struct ulp_study_options options;
        const char *part;
    } rows[] = {
        {{.sweeps = bad, .sweep_count = 1}, "round=xx"},
        {{.sweeps = many, .sweep_count = 2}, "more than 1000"},
        {{.sweep_count = 0}, "needs a sweep"},
        {{.sweeps = good, .sweep_count = 1, .trials = 1}, "trials"},
        {{.sweeps = good, .sweep_count = 1, .confidence = 1.5}, "confidence"},
        {{.sweeps = good, .sweep_count = 1, .probability = NAN}, "probability"},
        {{.sweeps = good, .sweep_count = 1, .tolerance = NAN}, "tolerance"},
        {{.sweeps = good, .sweep_count = 1, .tolerance = -1}, "tolerance"},
        {{.sweeps = good, .sweep_count = 1, .seed = UINT64_MAX}, "seed"},
        {{.sweeps = good, .sweep_count = 1, .group = "cause"}, "groups by cause"},
        {{.sweeps = good, .sweep_count = 1, .group = "prefix:0"}, "groups by prefix:0"},
        {{.sweeps = good, .sweep_count = 1, .nodes = nodes, .node_count = 1}, "nothing"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ulp_study_options options = rows[r].options;
        struct ulp_study study;
        struct ulp_error error;
        options.reference = test_arithmetic("mpfr:128");
        options.thread_count = 1;
        ck_assert_int_eq(ulp_study_run(model, &sample, 1, &options, &study, &error),
                         ULP_ERROR_USAGE);
        ck_assert_msg(strstr(error.message, rows[r].part) != NULL, "%s", error.message);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* 300^3 overflows five exponent bits, whatever the mantissa; an index is right or is not. */
START_TEST(overflows_and_decisions)
{
    const float x[3] = {300, 299.9f, 1};
    struct ulp_model *model = onnx_text_load(
        17, "(float[3] x) => (float[3] y, int64[1] i) { a = Mul(x, x) [cube] y = Mul(a, x) "
            "i = ArgMax<axis=0>(x) }");
    struct ulp_tensor_set inputs = make_inputs(x, 3);
    struct ulp_error error;
    char *text;
    struct ulp_study study = RUN(model, &inputs, plain, "e5m{4..8}", "e8m{4..12}");
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_gt(study.settings[i].points[0].nonfinite, 0);
        ck_assert_double_nan(study.settings[i].points[0].relative);
        ck_assert_ptr_nonnull(study.settings[i].overflows);
    }
    ck_assert_int_eq(study.series[0].fits[0].law, ULP_LAW_NONE);
    for (size_t i = 5; i < study.setting_count; i++) {
        ck_assert_double_le(study.settings[i].points[0].relative, 0.2);
        ck_assert_ptr_null(study.settings[i].overflows);
    }
    ck_assert_uint_eq(study.series[1].fits[1].unusable, 9); /* equal indexes: no error */
    ck_ulp_ok(ulp_study_text(&study, 0, false, &text, &error), error);
    ck_assert_ptr_nonnull(strstr(text, "exponent bits are missing"));
    free(text);
    ulp_study_free(&study);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("studies");
    TCase *small = tcase_create("small"), *nets = tcase_create("networks");
    suite_add_tcase(suite, small);
    suite_add_tcase(suite, nets);
    tcase_add_test(small, an_error_that_is_known);
    tcase_add_test(small, laws_of_sizes);
    tcase_add_test(small, conclusions);
    tcase_add_test(small, axes);
    tcase_add_test(small, trials_by_hand);
    tcase_add_test(small, stochastic_rounding_has_no_bias);
    tcase_add_test(small, refused);
    tcase_add_test(small, overflows_and_decisions);
    tcase_set_timeout(nets, 60);
    tcase_add_loop_test(nets, an_audits_figures, 0, 3);
    return test_run(suite, (Suite *)NULL);
}
