/* Audits of the lanes' own values alone, and the outputs that an audit shows: figures are those of
 * the whole audit, outputs those of runs of each lane, for stochastic rounding too, which has no
 * bias. */
#include "tests/analysis/shapes_test.h"
#include "tests/support/onnx_text.h"

enum { LANES = 4, SAMPLES = 3, TRIALS = 50, ELEMENTS = 512 };

static const char *const names[LANES] = {"mpfr:128", "e5m4", "bf16,order=pairwise",
                                         "e8m6,round=sr,seed=7"};
static const char *const text =
    "(float[N] x) => (float[N] y) <float k = {3}> { a = Mul(x, k) y = Mul(a, x) }";

static float value(size_t sample, size_t i)
{
    return 0.3f + 1.7f * (float)i + 4.1f * (float)sample;
}

struct given {
    struct ulp_model *model;
    struct ulp_arithmetic lanes[LANES];
    struct ulp_tensor_set sets[SAMPLES];
    struct ulp_sample items[SAMPLES];
    struct ulp_samples samples;
};

static void give(struct given *given)
{
    static const int64_t counts[SAMPLES] = {3, 7, 3};
    *given = (struct given){.model = onnx_text_load(17, text)};
    for (size_t l = 0; l < LANES; l++)
        given->lanes[l] = test_arithmetic(names[l]);
    for (size_t i = 0; i < SAMPLES; i++) {
        given->sets[i] = shaped_inputs(i, counts[i], value);
        given->items[i] = (struct ulp_sample){.name = "one", .inputs = &given->sets[i]};
    }
    given->samples = (struct ulp_samples){.items = given->items, .count = SAMPLES};
}

static void take_back(struct given *given)
{
    for (size_t i = 0; i < SAMPLES; i++)
        ulp_tensor_set_free(&given->sets[i]);
    ulp_model_free(given->model);
}

TEST(figures_are_the_whole_audits)
{
    struct given given;
    struct ulp_audit whole, alone;
    give(&given);
    for (int only = 0; only < 2; only++) {
        const struct ulp_audit_options options = {.entire_only = only, .thread_count = 1};
        ck_ok(ulp_audit_run(given.model, given.lanes, LANES, &given.samples, &options,
                            only ? &alone : &whole, &why));
    }
    for (size_t l = 0; l + 1 < LANES; l++)
        for (size_t n = 0; n < whole.lanes[l].node_count; n++) {
            const struct ulp_audit_output *a = &whole.lanes[l].nodes[n].outputs[0],
                                          *b = &alone.lanes[l].nodes[n].outputs[0];
            ck_assert_uint_gt(a->entire.count, 0);
            ck_assert(a->entire.rms == b->entire.rms && a->entire.max_abs == b->entire.max_abs &&
                      a->range.ref_rms == b->range.ref_rms && a->worst_sample == b->worst_sample);
            ck_assert_uint_gt(a->introduced.count, 0);
            ck_assert_uint_eq(b->introduced.count + b->carried.count + b->single.count, 0);
        }
    ulp_audit_free(&whole);
    ulp_audit_free(&alone);
    take_back(&given);
}

struct seen {
    const struct given *given;
    size_t count;
};

/* Each lane by itself gives the same bits: the lanes of a sample one after the other. */
static enum ulp_status look(void *context, const struct ulp_tensor_set *outputs, double *out,
                            struct ulp_error *error)
{
    struct seen *seen = context;
    const struct ulp_tensor_set *inputs = &seen->given->sets[seen->count / LANES];
    const struct ulp_arithmetic *lane = &seen->given->lanes[seen->count++ % LANES];
    scoped_program *program = test_plan_lanes(seen->given->model, inputs, lane, 1);
    scoped_tensor_set own = {0};
    ck_ulp_ok(ulp_program_run(program, inputs, NULL, NULL, 0, &own, NULL, error), *error);
    const struct ulp_tensor *a = &outputs->items[0].tensor, *b = &own.items[0].tensor;
    ck_assert_str_eq(outputs->items[0].name, "y");
    ck_assert(ulp_tensor_same_shape(a, b));
    for (size_t i = 0; i < a->count; i++)
        ck_assert_double_eq(ulp_tensor_get(a, i), ulp_tensor_get(b, i));
    *out = ulp_tensor_get(a, 0);
    return ULP_OK;
}

static enum ulp_status stop(void *context, const struct ulp_tensor_set *outputs, double *out,
                            struct ulp_error *error)
{
    (void)context, (void)outputs, (void)out, (void)error;
    return ULP_ERROR_CANCELLED;
}

/* With shares, whose further runs show nothing, and without. */
TEST(outputs_are_shown)
{
    struct given given;
    struct ulp_audit audit;
    struct ulp_error error;
    give(&given);
    for (int shares = 0; shares < 2; shares++) {
        struct seen seen = {&given, 0};
        struct ulp_scorer scorer = {look, &seen, 1};
        struct ulp_audit_options options = {.shares = shares,
                                            .entire_only = !shares,
                                            .scorer = &scorer};
        ck_ok(
            ulp_audit_run(given.model, given.lanes, LANES, &given.samples, &options, &audit, &why));
        ck_assert_uint_eq(seen.count, SAMPLES * LANES);
        ck_assert_uint_eq(audit.lanes[0].score.sample_count, SAMPLES);
        ulp_audit_free(&audit);
        scorer.score = stop;
        ck_assert_int_eq(ulp_audit_run(given.model, given.lanes, LANES, &given.samples, &options,
                                       &audit, &error),
                         ULP_ERROR_CANCELLED);
    }
    const struct ulp_audit_options both = {.shares = true, .entire_only = true};
    ck_fails(ULP_ERROR_USAGE, "entire_only",
             ulp_audit_run(given.model, given.lanes, LANES, &given.samples, &both, &audit, &why));
    take_back(&given);
}

static float third(size_t sample, size_t i)
{
    (void)sample, (void)i;
    return 1 + 1 / 3.0f;
}

/* 1 + 1/3 rounded once to 4 bits behind the point, 1.3125 or 1.375, goes up with probability 1/3:
 * of n elements times N trials the mean is off by 0 +- 2^-4 sqrt(2)/3 / sqrt(n N). Towards zero it
 * is off by -2^-4/3 in every one. */
TEST(stochastic_rounding_has_no_bias)
{
    scoped_model *model =
        onnx_text_load(17,
                       "(float[512] x) => (float[512] y) <float one = {1}> { y = Mul(x, one) }");
    scoped_tensor_set inputs = shaped_inputs(0, ELEMENTS, third);
    const struct ulp_sample sample = {.name = "0", .inputs = &inputs};
    const struct ulp_samples samples = {.items = &sample, .count = 1};
    const struct ulp_audit_options options = {.entire_only = true};
    struct ulp_arithmetic lanes[TRIALS + 2] = {test_arithmetic("mpfr:128"),
                                               test_arithmetic("e8m4,round=rz")};
    scoped_audit audit = {0};
    double bias = 0;
    for (size_t t = 0; t < TRIALS; t++) {
        char name[60];
        snprintf(name, sizeof name, "e8m4,round=sr,seed=%llu",
                 (unsigned long long)ulp_random_bits(0, t));
        lanes[2 + t] = test_arithmetic(name);
    }
    ck_ok(ulp_audit_run(model, lanes, TRIALS + 2, &samples, &options, &audit, &why));
    for (size_t t = 0; t < TRIALS; t++)
        bias += audit.lanes[1 + t].outputs.outputs[0].entire.mean / TRIALS;
    ck_assert_double_le(fabs(bias), 4 * 0x1p-4 * sqrt(2) / 3 / sqrt(ELEMENTS * (double)TRIALS));
    ck_assert_double_eq_tol(audit.lanes[0].outputs.outputs[0].entire.mean, -0x1p-4 / 3, 1e-7);
}

/* A folder of finished samples is of a model's file. */
TEST(bytes_have_no_checkpoint)
{
    static const char *const folders[] = {"never made"};
    struct given given;
    struct ulp_audit audit;
    give(&given); /* onnx_text_load loads bytes */
    struct ulp_checkpoint checkpoint = {.folders = folders, .folder_count = 1};
    const struct ulp_audit_options options = {.checkpoint = &checkpoint};
    ck_fails(ULP_ERROR_INPUT, "loaded from bytes, expected a file",
             ulp_audit_run(given.model, given.lanes, LANES, &given.samples, &options, &audit,
                           &why));
    take_back(&given);
}

TEST_SUITE("audits of the lanes' own values", 0)
