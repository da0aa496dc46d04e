/* Searches on samples of several shapes. The oracle runs each sample by itself, by a plan of its
 * own shapes that is told to keep the nodes, and measures the outputs in its own doubles. */
#include "analysis/emulation/emulation.h"
#include "tests/analysis/plan_oracle.h"
#include "tests/analysis/shapes_test.h"
#include "tests/support/onnx_text.h"

/* How long a sample is changes each sum, and so every rounding behind it. */
static const char text[] = "(float[N] x) => (float[N] y) <float k = {3}> { a = Mul(x, k) b = Exp(a)"
                           " s = ReduceSum<keepdims = 1>(b) d = Div(b, s) y = Tanh(d) }";

enum { SAMPLES = 4, HELD_OUT = 1, ALL = SAMPLES + HELD_OUT, NODES = 5 };
static const int64_t counts[ALL] = {3, 7, 3, 2, 5};
/* The oracle takes the reference rounded to a double, 2^-53 beside errors that here, in FP32 at
 * best, are above 2^-28 of the value: a relative 2^-25 of them, and 20 log10 of that. */
static const double DB_NEAR = 3e-7;

struct searched {
    struct ulp_model *model;
    struct ulp_tensor_set sets[ALL];
    struct ulp_sample samples[ALL];
};

static float value(size_t sample, size_t i)
{
    return 0.1f + 0.37f * (float)(i % 7) - 0.21f * (float)sample;
}

static void open_searched(struct searched *s)
{
    static const char *const names[ALL] = {"three", "seven", "again", "two", "five"};
    struct proto bytes = onnx_text(13, text);
    proto_write(&bytes, test_folder("model.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("model.onnx"), NULL, &s->model, &why));
    for (size_t i = 0; i < ALL; i++) {
        s->sets[i] = shaped_inputs(i, counts[i], value);
        s->samples[i] = (struct ulp_sample){names[i], &s->sets[i], 0};
    }
}

static void close_searched(struct searched *s)
{
    for (size_t i = 0; i < ALL; i++)
        ulp_tensor_set_free(&s->sets[i]);
    ulp_model_free(s->model);
}

/* sqnr_db of the sample alone, with node n kept in of[n], which is a name. */
static double run_alone(const struct searched *s, size_t sample, const char *base,
                        const char *const *of)
{
    struct ulp_keep items[NODES];
    size_t nodes[NODES];
    for (size_t n = 0; n < NODES; n++) {
        nodes[n] = n;
        items[n] = (struct ulp_keep){.nodes = &nodes[n],
                                     .node_count = 1,
                                     .arithmetic = test_arithmetic(of[n])};
    }
    const struct ulp_precision_plan plan = {.arithmetic = test_arithmetic(base),
                                            .keeps = {.count = NODES, .items = items}};
    return oracle_outputs_db(s->model, &s->sets[sample], &plan);
}

/* ---- plans ---- */

static void find_plan(const struct searched *s, double limit, int threads, const char *folder,
                      struct ulp_search *out)
{
    char tolerance[40];
    const char *const tolerances[] = {tolerance};
    static const char *const formats[] = {"fp32", "bf16"};
    const struct ulp_search_options options = {.formats = formats,
                                               .format_count = 2,
                                               .by_node = true,
                                               .reference = test_arithmetic("mpfr:128"),
                                               .tolerances = tolerances,
                                               .tolerance_count = 1,
                                               .mixed_folder = folder,
                                               .thread_count = threads};
    snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", limit);
    ck_ok(ulp_search_run(s->model, &options, s->samples, SAMPLES, s->samples + SAMPLES, HELD_OUT,
                         out, &why));
}

static void expect_plan(const struct searched *s, const struct ulp_search *found, double limit)
{
    const char *of[NODES] = {"bf16", "bf16", "bf16", "bf16", "bf16"};
    for (size_t k = 0; k < found->kept_count; k++)
        of[found->kept[k].index] = "fp32";
    ck_assert(found->met);
    ck_assert_uint_eq(found->sample_count, SAMPLES);
    for (size_t i = 0; i < ALL; i++) {
        const struct ulp_search_sample *sample =
            i < SAMPLES ? &found->samples[i] : &found->validated[i - SAMPLES];
        const double db = run_alone(s, i, "bf16", of);
        ck_assert_str_eq(sample->name, s->samples[i].name);
        ck_assert_double_eq_tol(sample->value, db, DB_NEAR);
        ck_assert(i >= SAMPLES || db >= limit);
    }
    ck_assert_uint_eq(found->validated_met, run_alone(s, SAMPLES, "bf16", of) >= limit);
}

static void expect_same(const struct ulp_search *a, const struct ulp_search *b)
{
    ck_assert_uint_eq(a->kept_count, b->kept_count);
    for (size_t k = 0; k < a->kept_count; k++)
        ck_assert_uint_eq(a->kept[k].index, b->kept[k].index);
    for (size_t i = 0; i < SAMPLES; i++)
        ck_assert(memcmp(&a->samples[i].value, &b->samples[i].value, sizeof(double)) == 0);
}

TEST(plans_of_any_shapes)
{
    struct searched s;
    size_t kept = 0;
    open_searched(&s);
    for (double limit = 41.25; limit < 95; limit += 7) {
        scoped_search found = {0}, other = {0};
        const char *folder = limit > 70 ? NULL : test_folder("mixed");
        ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
        find_plan(&s, limit, 1, folder, &found);
        find_plan(&s, limit, 3, folder, &other);
        expect_plan(&s, &found, limit);
        expect_same(&found, &other);
        kept += found.kept_count;
        if (folder && found.mixed.path)
            ck_assert_uint_eq(found.mixed.sample_count, SAMPLES);
        ck_assert(!folder || found.mixed.path || found.kept_count == NODES);
    }
    ck_assert_uint_gt(kept, 5);
    close_searched(&s);
}

/* ---- what it stands on ---- */

static void judge(struct ulp_emulation *emulation, const uint16_t *kept,
                  struct ulp_judgement *judgements)
{
    double ratio;
    ck_ok(ulp_emulation_judge_all(emulation, kept, judgements, &ratio, &why));
}

/* A trial that was closed, as where memory is short, gives the same when it is opened again. */
TEST(trials_are_opened_again)
{
    static const char *const tolerances[] = {"sqnr_db=60"};
    const struct ulp_arithmetic reference = test_arithmetic("mpfr:128"),
                                arithmetic = test_arithmetic("bf16"),
                                keep_in = test_arithmetic("fp32");
    struct ulp_judgement first[SAMPLES], again[SAMPLES];
    struct ulp_emulation emulation;
    struct ulp_audit audit;
    struct searched s;
    open_searched(&s);
    const struct ulp_emulated given = {.model = s.model,
                                       .reference = &reference,
                                       .arithmetic = &arithmetic,
                                       .samples = s.samples,
                                       .sample_count = SAMPLES,
                                       .tolerances = tolerances,
                                       .tolerance_count = 1,
                                       .thread_count = 1,
                                       .what = "a test"};
    ck_ok(ulp_emulation_open(&emulation, &given, &why));
    ck_ok(ulp_emulation_audit(&emulation, &audit, &why));
    ck_assert_uint_eq(audit.sample_count, SAMPLES);
    ulp_audit_free(&audit);
    ck_ok(ulp_emulation_choices(&emulation, &keep_in, 1, &why));
    ck_assert_uint_eq(emulation.shape_count, 3);
    for (unsigned bits = 0; bits < 1u << NODES; bits++) {
        uint16_t kept[NODES];
        for (unsigned n = 0; n < NODES; n++)
            kept[n] = bits >> n & 1;
        judge(&emulation, kept, first);
        const double work = ulp_emulation_work(&emulation);
        ulp_emulation_close_trials(&emulation, bits % 3);
        /* sums of a few numbers in another order */
        ck_assert_double_eq_tol(ulp_emulation_work(&emulation), work, 1e-13 * work);
        judge(&emulation, kept, again);
        for (size_t i = 0; i < SAMPLES; i++)
            ck_assert(memcmp(&first[i].value, &again[i].value, sizeof(double)) == 0);
        for (size_t k = 0; k < emulation.shape_count; k++)
            ck_assert_ptr_nonnull(emulation.shapes[k].trial);
    }
    ulp_emulation_close(&emulation);
    close_searched(&s);
}

TEST(other_nodes)
{
    scoped_model *model = onnx_text_load(17, SHAPES_CHOOSE_NODES);
    static const char *const tolerances[] = {"sqnr_db=60"};
    struct ulp_tensor_set sets[] = {shaped_inputs(0, 3, value), shaped_inputs(1, 4, value)};
    const struct ulp_sample samples[] = {{"three", &sets[0], 0}, {"four", &sets[1], 0}};
    static const char *const formats[] = {"fp32", "bf16"};
    const struct ulp_search_options plan = {.formats = formats,
                                            .format_count = 2,
                                            .by_node = true,
                                            .reference = test_arithmetic("mpfr:128"),
                                            .tolerances = tolerances,
                                            .tolerance_count = 1};
    struct ulp_search found;
    struct ulp_error error;
    for (size_t held_out = 0; held_out < 2; held_out++) {
        ck_assert_int_eq(ulp_search_run(model, &plan, samples, 2 - held_out, &samples[1], held_out,
                                        &found, &error),
                         ULP_ERROR_INPUT);
        ck_assert_msg(strstr(error.message, "four") && strstr(error.message, "other nodes"), "%s",
                      error.message);
    }
    ulp_tensor_set_free(&sets[0]);
    ulp_tensor_set_free(&sets[1]);
}

TEST_MAIN("searches on samples of several shapes", 600)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
