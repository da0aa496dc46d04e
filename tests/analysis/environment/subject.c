#include "subject.h"

#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "base/random.h"
#include "digest.h"

static void digest_formats(struct digest *digest)
{
    struct ulp_format format;
    CALL(ulp_format_find("e5m7", &format, e));
    add_bytes(digest, &format.max_finite, sizeof format.max_finite);
    CALL(ulp_format_find("fp16", &format, e));
    const double subnormal = 0x1.8p-1060, large = 0x1.ffbp0;
    float few[] = {0x1p-140f, 1.0003f, -7e4f}, rounded[3];
    uint16_t patterns[3];
    const int64_t count = 3;
    struct ulp_tensor in, out, bits;
    CALL(ulp_tensor_wrap(&in, ULP_TYPE_FLOAT, 1, &count, few, e));
    CALL(ulp_tensor_wrap(&out, ULP_TYPE_FLOAT, 1, &count, rounded, e));
    CALL(ulp_tensor_wrap(&bits, ULP_TYPE_UINT16, 1, &count, patterns, e));
    CALL(ulp_array_round(&out, &in, &format, ULP_ROUND_UP, 0, 2, e));
    add_bytes(digest, rounded, sizeof rounded);
    CALL(ulp_array_encode(&bits, &in, &format, 2, e));
    add_bytes(digest, patterns, sizeof patterns);
    CALL(ulp_array_decode(&out, &bits, &format, 2, e));
    add_bytes(digest, rounded, sizeof rounded);
    const double results[] = {
        ulp_format_ulp(&format, subnormal),
        ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, large, 0, 0),
        ulp_format_round(&format, ULP_ROUND_UP, subnormal, 0, 0),
        ulp_format_round(&format, ULP_ROUND_DOWN, large, 0, 0),
        ulp_format_round(&format, ULP_ROUND_STOCHASTIC, large, 1, 2),
    };
    expect_state("functions of formats");
    add_bytes(digest, results, sizeof results);
}

static void digest_arithmetics(struct digest *digest)
{
    static const char *const names[] = {"fp16", "e5m7,round=rz", "mpfr:77", "tf32@a100",
                                        "fp32,order=blocked:17"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct ulp_arithmetic arithmetic;
        char text[4096];
        CALL(ulp_arithmetic_find(names[i], &arithmetic, e));
        ulp_arithmetic_describe(&arithmetic, text, sizeof text);
        expect_state("ulp_arithmetic_describe");
        add_bytes(digest, text, strlen(text));
    }
}

/* Subnormals, halves of units, and integers that double rounds. */
static void digest_elements(struct digest *digest)
{
    const int64_t dims[] = {3};
    const uint32_t patterns[] = {1, 0x807FFFFF, 0x3F800001};
    scoped_tensor floats = {0}, integers = {0};
    CALL(ulp_tensor_create(&floats, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, dims, e));
    CALL(ulp_tensor_create(&integers, ULP_TYPE_INT64, ULP_ELEMENT_COUNT, 0, 1, dims, e));
    memcpy(floats.data, patterns, sizeof patterns);
    for (size_t i = 0; i < 3; i++)
        ((int64_t *)integers.data)[i] = ((int64_t)1 << 60) + (int64_t)(i * 64 + 1);
    for (size_t i = 0; i < 3; i++) {
        const double x[] = {ulp_tensor_get(&floats, i), ulp_tensor_get(&integers, i)};
        add_bytes(digest, x, sizeof x);
    }
    expect_state("ulp_tensor_get");
}

/* A product whose sums lie among subnormal numbers, as an array and as a model in memory. */
static void digest_product(struct digest *digest)
{
    float x[] = {0x1p-140f, 3, 0x1p-20f, -0x1p-126f};
    struct ulp_arithmetic arithmetic;
    struct ulp_tensor in, product;
    unsigned char *bytes;
    size_t count;
    struct ulp_model *read;
    CALL(ulp_arithmetic_find("fp32", &arithmetic, e));
    CALL(ulp_tensor_wrap(&in, ULP_TYPE_FLOAT, 2, (const int64_t[]){2, 2}, x, e));
    CALL(ulp_array_matmul(&product, &arithmetic, &in, &in, 2, e));
    add_tensor(digest, &product);
    ulp_tensor_free(&product);
    ck_ok(ulp_file_read(test_source("examples/digits/model.onnx"), 1 << 24, NULL, &bytes, &count,
                        &why));
    CALL(ulp_model_load_bytes("digits", bytes, count, NULL, &read, e));
    ulp_model_free(read);
    ulp_free(bytes);
}

static struct ulp_model *load_digits(void)
{
    struct ulp_model *digits = NULL;
    CALL(ulp_model_load(test_source("examples/digits/model.onnx"), NULL, &digits, e));
    return digits;
}

static void add_recording(struct digest *digest, const char *path)
{
    struct ulp_recording_list list = {0};
    CALL(ulp_recording_read(path, NULL, NULL, &list, e));
    add_set(digest, &list.items[0].tensors);
    ulp_recording_list_free(&list);
}

static void digest_files(struct digest *digest)
{
    struct ulp_model *digits = load_digits();
    struct ulp_tensor_set made, read;
    const struct ulp_input_range range = {NULL, -1e-39, 3e-39};
    const struct ulp_random_options random = {.seed = 5, .ranges = &range, .range_count = 1};
    CALL(ulp_model_random_inputs(digits, &random, &made, e));
    CALL(ulp_model_take_inputs(digits, &made, NULL, e));
    CALL(ulp_model_take_outputs(digits, &made, NULL, e));
    struct ulp_arithmetic judged;
    char name[ULP_JUDGED_IN_BYTES];
    CALL(ulp_judged_in(digits, "trt", NULL, name, &judged, e));
    CALL(ulp_model_check_inputs(digits, &made, e));
    const struct ulp_chosen_range chosen = ulp_model_input_range(digits, 0, &random);
    add_bytes(digest, &chosen.low, sizeof chosen.low);
    add_set(digest, &made);
    CALL(ulp_tensor_set_write_npz(test_folder("made.npz"), &made, e));
    CALL(ulp_tensor_set_read(test_folder("made.npz"), NULL, &read, e));
    add_set(digest, &read);
    add_recording(digest, test_folder("made.npz"));
    CALL(ulp_recording_write_json(test_folder("made.json"), "runner", &made, e));
    add_recording(digest, test_folder("made.json"));
    ulp_tensor_set_free(&made);
    ulp_tensor_set_free(&read);
    ulp_model_free(digits);
    /* TensorProto: dims 3, FLOAT, its name, two halves of units and a subnormal number */
    static const unsigned char proto[] = "\x08\x03\x10\x01\x42\x01x\x4A\x0C"
                                         "\x01\x00\x80\x3F\xFF\xFF\x7F\x3F\x01\x00\x00\x00";
    ck_ok(ulp_file_write(test_folder("input_0.pb"), proto, sizeof proto - 1, &why));
    CALL(ulp_test_data_set_read(test_folder(""), "input", NULL, NULL, &read, e));
    add_set(digest, &read);
    ulp_tensor_set_free(&read);
}

static void digest_report(struct digest *digest, struct ulp_audit *audit)
{
    SCOPED_MEMORY char *summary = NULL;
    struct ulp_crossing_list crossings;
    audit->seconds = 0;
    for (size_t c = 0; c < audit->cost_count; c++)
        audit->costs[c].seconds = 0;
    static const char *const limits[] = {"max_abs=0.5"};
    CALL(ulp_limit_check(limits[0], NULL, NULL, e));
    CALL(ulp_audit_check(audit, limits[0], true, &crossings, e));
    for (size_t c = 0; c < crossings.count; c++) {
        SCOPED_MEMORY char *text = NULL;
        CALL(ulp_crossing_text(&crossings.items[c], limits[0], &text, e));
        add_bytes(digest, text, strlen(text));
        add_bytes(digest, &crossings.items[c].value, sizeof crossings.items[c].value);
    }
    CALL(ulp_audit_keep_limits(audit, limits, 1, true, e));
    CALL(ulp_report_junit(audit, test_folder("out.xml"), e));
    add_file(digest, test_folder("out.xml"));
    free(crossings.items);
    CALL(ulp_report_text(audit, 100, false, &summary, e));
    char *text;
    CALL(ulp_report_why(audit, 0, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    free(text);
    add_bytes(digest, summary, strlen(summary));
    CALL(ulp_report_prepare(test_folder("report"), e));
    CALL(ulp_report_write(audit, test_folder("report"), e));
    CALL(ulp_audit_write_json(audit, test_folder("report/alone.json"), e));
    add_file(digest, test_folder("report/report.json"));
    add_file(digest, test_folder("report/layers.csv"));
    add_file(digest, test_folder("report/summary.txt"));
    CALL(ulp_report_markdown(audit, test_folder("report/page.md"), e));
    CALL(ulp_report_html(audit, test_folder("report/page.html"), e));
    add_file(digest, test_folder("report/page.html"));
    CALL(ulp_saved_html(test_folder("report"), NULL, test_folder("report/page.html"), e));
    add_file(digest, test_folder("report/page.html"));
}

/* Some nodes of the second lane in another arithmetic, from a file. */
static void keep_some(struct ulp_program *program, struct digest *digest)
{
    static const char text[] = "{\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": \"op:Exp\", "
                               "\"arithmetic\": \"e5m7,round=ru\"}]}";
    static const char groups[] = "{\"groups\": [{\"nodes\": [\"a\"]}]}";
    struct ulp_precision_plan file;
    struct ulp_group_list list;
    struct ulp_keep keep;
    struct ulp_border *borders;
    size_t length, count;
    ck_assert_int_eq(ulp_file_write(test_folder("plan.json"), text, strlen(text),
                                    &(struct ulp_error){0}),
                     ULP_OK);
    CALL(ulp_keep_parse("op:Exp=e5m7,round=ru", &keep, &length, e));
    add_bytes(digest, &keep.arithmetic.storage.max_finite, sizeof(double));
    CALL(ulp_precision_plan_read(test_folder("plan.json"), NULL, &file, e));
    CALL(ulp_program_keep(program, 1, &file.keeps, e));
    CALL(ulp_program_borders(program, 1, &borders, &count, e));
    ck_assert_uint_eq(count, 2);
    ulp_borders_free(borders);
    ulp_precision_plan_free(&file);
    ck_assert_int_eq(ulp_file_write(test_folder("groups.json"), groups, strlen(groups),
                                    &(struct ulp_error){0}),
                     ULP_OK);
    CALL(ulp_group_list_read(test_folder("groups.json"), NULL, &list, e));
    ulp_group_list_free(&list);
}

/* What an audit calls back. */
static size_t told;

static enum ulp_status open_host(void *context, size_t index, const struct ulp_tensor_set **out,
                                 struct ulp_error *error)
{
    (void)context, (void)index, (void)error;
    tell_host(&told, 0, 1);
    *out = &inputs;
    return ULP_OK;
}

static void close_host(void *context, size_t index)
{
    (void)context;
    tell_host(&told, index, 1);
}

static enum ulp_status plan_host(void *context, const struct ulp_program *program,
                                 struct ulp_error *error)
{
    (void)context, (void)program, (void)error;
    tell_host(&told, 0, 1);
    return ULP_OK;
}

static void begin_host(void *context, size_t sample, size_t run, size_t run_count)
{
    (void)context, (void)sample;
    tell_host(&told, run, run_count);
}

static enum ulp_status score_host(void *context, const struct ulp_tensor_set *outputs, double *out,
                                  struct ulp_error *error)
{
    (void)context, (void)error;
    ck_assert_uint_gt(outputs->count, 0);
    *out = 1;
    tell_host(&told, 0, 2);
    return ULP_OK;
}

static void run_audit(struct digest *digest, const struct ulp_arithmetic *lanes, size_t count,
                      struct ulp_audit_options options)
{
    static const struct ulp_sample items[] = {{"one", NULL, 1}, {"two", NULL, 2}};
    const struct ulp_samples samples = {.count = 2,
                                        .items = items,
                                        .open = open_host,
                                        .close = close_host};
    const struct ulp_observer observer = {.context = &told,
                                          .node_done = see_host,
                                          .cancelled = ask_host};
    scoped_audit audit = {0};
    told = 0;
    options.thread_count = 2;
    options.progress = &observer;
    options.compiled = plan_host;
    options.begins = begin_host;
    options.finished = close_host;
    const struct ulp_scorer scorer = {.score = score_host};
    options.scorer = &scorer;
    CALL(ulp_audit_run(model, lanes, count, &samples, &options, &audit, e));
    ck_assert_uint_ge(told, 20);
    ck_assert_uint_eq(audit.sample_count, 2);
    audit.seconds = 0;
    audit.peak_bytes = 0;
    if (options.shares)
        CALL(ulp_audit_group_shares(&audit, "op", e));
    digest_report(digest, &audit);
}

/* FP64 as the reference. */
static void digest_fp64(struct digest *digest)
{
    struct ulp_arithmetic lanes[2];
    CALL(ulp_arithmetic_find("fp64", &lanes[0], e));
    CALL(ulp_arithmetic_find("fp16", &lanes[1], e));
    run_audit(digest, lanes, 2, (struct ulp_audit_options){0});
}

/* The reference's digits, and other schedules. */
static void digest_certificate(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    find_lanes(lanes);
    CALL(ulp_arithmetic_find("mpfr:60", &lanes[0], e));
    run_audit(digest, lanes, 2, (struct ulp_audit_options){.certify = true, .schedules = true});
}

/* Finished samples are kept, and found. */
static void digest_checkpoint(struct digest *digest, const struct ulp_arithmetic *lanes)
{
    const char *const folders[] = {test_folder("kept")};
    struct ulp_checkpoint checkpoint = {.folders = folders,
                                        .folder_count = 1,
                                        .note = "note",
                                        .note_bytes = 4};
    const struct ulp_audit_options options = {.shares = true, .checkpoint = &checkpoint};
    SCOPED_MEMORY unsigned char *note = NULL;
    size_t count;
    if (!ulp_model_is_read_from(model, ulp_model_path(model))) /* some are read from memory */
        return;
    run_audit(digest, lanes, LANE_COUNT, options);
    run_audit(digest, lanes, LANE_COUNT, options);
    ck_assert_uint_eq(checkpoint.found, 2);
    CALL(ulp_checkpoint_note(folders[0], &note, &count, e));
    ck_assert_uint_eq(count, 4);
}

static void digest_audit(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    struct ulp_tensor_set outputs[LANE_COUNT];
    struct ulp_program *program;
    struct ulp_metrics metrics;
    struct ulp_changed_constants changed;
    const struct ulp_program_options plan_options = {.inputs = &inputs};
    const struct ulp_run_options options = {.thread_count = 2, .audit = true};
    find_lanes(lanes);
    CALL(ulp_program_create(model, lanes, LANE_COUNT, &plan_options, &program, e));
    keep_some(program, digest);
    CALL(ulp_program_constants(program, 1, &changed, e));
    add_bytes(digest, &changed.count, sizeof changed.count);
    ulp_changed_constants_free(&changed);
    CALL(ulp_program_run(program, &inputs, &options, NULL, 0, outputs, NULL, e));
    for (size_t l = 0; l < LANE_COUNT; l++) {
        CALL(ulp_metrics_measure(&outputs[l].items[0].tensor, &outputs[0].items[0].tensor,
                                 &lanes[1].storage, &metrics, e));
        add_bytes(digest, &metrics, offsetof(struct ulp_metrics, diverged));
        add_set(digest, &outputs[l]);
    }
    for (size_t l = 0; l < LANE_COUNT; l++)
        ulp_tensor_set_free(&outputs[l]);
    ulp_program_free(program);
    run_audit(digest, lanes, LANE_COUNT,
              (struct ulp_audit_options){.shares = true, .spill = test_folder("")});
    digest_checkpoint(digest, lanes);
}

/* FP16 patterns, subnormal ones among them. */
static void digest_units(struct digest *digest)
{
    const int64_t dims[] = {1, 8, 16};
    scoped_tensor_set arrays = {0};
    scoped_tensor d = {0};
    for (int side = 0; side < 2; side++) {
        struct ulp_tensor patterns;
        CALL(ulp_tensor_create(&patterns, ULP_TYPE_UINT16, ULP_ELEMENT_COUNT, 0, 3, dims, e));
        for (size_t i = 0; i < patterns.count; i++)
            ((uint16_t *)patterns.data)[i] =
                (uint16_t)(ulp_random_uniform(11 + (uint64_t)side, i) * 0x5C00);
        CALL(ulp_tensor_set_add(&arrays, side ? "b" : "a", &patterns, e));
    }
    CALL(ulp_unit_multiply("h200.mma.f16.f32", &arrays, 2, NULL, &d, e));
    add_tensor(digest, &d);
}

static void digest_mixed(struct digest *digest)
{
    scoped_model *digits = load_digits();
    scoped_tensor_set given = {0};
    scoped_mixed mixed = {0};
    SCOPED_MEMORY char *text = NULL;
    told = 0;
    const struct ulp_observer observer = {.context = &told, .cancelled = ask_host};
    const struct ulp_random_options random = {.seed = 5};
    CALL(ulp_model_random_inputs(digits, &random, &given, e));
    const struct ulp_sample sample = {"one", &given, 0};
    struct ulp_mixed_options options = {.thread_count = 1, .progress = &observer};
    CALL(ulp_arithmetic_find("fp16", &options.arithmetic, e));
    CALL(ulp_report_prepare(test_folder("plan"), e));
    CALL(ulp_mixed_write(digits, &options, &sample, 1, test_folder("plan"), &mixed, e));
    ck_assert_uint_ge(told, 2);
    CALL(ulp_mixed_text(&mixed, &text, e));
    add_file(digest, test_folder("plan/mixed.onnx"));
}

const struct subject subjects[] = {
    {"formats", digest_formats},
    {"arithmetics", digest_arithmetics},
    {"elements", digest_elements},
    {"product", digest_product},
    {"files", digest_files},
    {"units", digest_units},
    {"the audit", digest_audit},
    {"the forecast", digest_forecast},
    {"the certificate", digest_certificate},
    {"the FP64 reference", digest_fp64},
    {"the comparison", digest_comparison},
    {"the plan", digest_plan},
    {"formats of layers", digest_listed},
    {"engines", digest_engine},
    {"the proof", digest_proof},
    {"scales", digest_scales},
    {"the tolerance", digest_tolerance},
    {"between two arithmetics", digest_between},
    {"quantiles", digest_quantiles},
    {"the lint", digest_lint},
    {"the doctor", digest_doctor},
    {"the fix", digest_fix},
    {"the graph with types", digest_mixed},
};
const int subject_count = sizeof subjects / sizeof *subjects;
