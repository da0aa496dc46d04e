/* What is concluded about a model. */
#include "analysis/measure/quantile.h"
#include "digest.h"

void digest_forecast(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    scoped_overflow_forecast forecast = {0};
    size_t told = 0;
    SCOPED_MEMORY char *text = NULL;
    const struct ulp_observer observer = {.context = &told,
                                          .node_done = see_host,
                                          .cancelled = ask_host};
    const struct ulp_sample sample = {"sample", &inputs, 0};
    const struct ulp_samples samples = {.count = 1, .items = &sample};
    const struct ulp_overflow_options options = {.thread_count = 2,
                                                 .progress = &observer,
                                                 .begins = tell_host};
    find_lanes(lanes);
    CALL(ulp_overflow_run(model, lanes, LANE_COUNT, &samples, &options, &forecast, e));
    ck_assert_uint_ge(told, 6);
    CALL(ulp_overflow_text(&forecast, 0, false, &text, e));
    CALL(ulp_overflow_write(&forecast, ULP_OUTPUT_FOLDER, test_folder("forecast"), e));
    CALL(ulp_overflow_write(&forecast, ULP_OUTPUT_JSON, test_folder("forecast/alone.json"), e));
    CALL(ulp_overflow_write(&forecast, ULP_OUTPUT_HTML, test_folder("forecast/page.html"), e));
    add_bytes(digest, text, strlen(text));
}

void digest_comparison(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    scoped_tensor_set outputs = {0};
    scoped_program *program = NULL;
    scoped_comparison comparison = {0};
    size_t told = 0;
    char *summary, name[] = "recorded";
    const struct ulp_observer observer = {.context = &told,
                                          .node_done = see_host,
                                          .cancelled = ask_host};
    const struct ulp_program_options plan_options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1};
    find_lanes(lanes);
    CALL(ulp_program_create(model, &lanes[1], 1, &plan_options, &program, e));
    CALL(ulp_program_run(program, &inputs, &run, NULL, 0, &outputs, NULL, e));
    const struct ulp_recording recording = {.name = name, .tensors = outputs};
    const struct ulp_compare_options options = {.reference = lanes[0],
                                                .arithmetics = &lanes[2],
                                                .arithmetic_count = 1,
                                                .trials = 2,
                                                .thread_count = run.thread_count,
                                                .progress = &observer,
                                                .begins = tell_host};
    CALL(ulp_comparison_run(model, &inputs, &recording, 1, &options, &comparison, e));
    ck_assert_uint_ge(told, 10);
    comparison.seconds = 0;
    CALL(ulp_comparison_text(&comparison, 100, false, &summary, e));
    add_bytes(digest, summary, strlen(summary));
    CALL(ulp_comparison_write(&comparison, ULP_OUTPUT_FOLDER, test_folder("comparison"), e));
    CALL(ulp_comparison_write(&comparison, ULP_OUTPUT_JSON, test_folder("comparison/alone.json"),
                              e));
    CALL(
        ulp_comparison_write(&comparison, ULP_OUTPUT_HTML, test_folder("comparison/page.html"), e));
    add_file(digest, test_folder("comparison/compare.json"));
    free(summary);
}

void digest_plan(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    scoped_search found = {0};
    SCOPED_MEMORY char *text = NULL;
    size_t told = 0;
    const struct ulp_observer observer = {.context = &told, .cancelled = ask_host};
    const struct ulp_sample sample = {"one", &inputs, 0};
    const char *const tolerance = "sqnr_db=60.5";
    find_lanes(lanes);
    static const char *const formats[] = {"fp32", "fp16"};
    const struct ulp_search_options options = {.reference = lanes[0],
                                               .formats = formats,
                                               .format_count = 2,
                                               .by_node = true,
                                               .tolerances = &tolerance,
                                               .tolerance_count = 1,
                                               .thread_count = 1,
                                               .progress = &observer};
    CALL(ulp_search_run(model, &options, &sample, 1, &sample, 1, &found, e));
    ck_assert_uint_ge(told, 10);
    CALL(ulp_search_text(&found, 0, false, &text, e));
    add_bytes(digest, text, strlen(text));
    found.seconds = found.audit_seconds = 0;
    CALL(ulp_search_write(&found, ULP_OUTPUT_FOLDER, test_folder("plan"), e));
    CALL(ulp_search_write(&found, ULP_OUTPUT_JSON, test_folder("plan/alone.json"), e));
    CALL(ulp_search_write(&found, ULP_OUTPUT_HTML, test_folder("plan/page.html"), e));
    add_file(digest, test_folder("plan/page.html"));
    add_file(digest, test_folder("plan/plan.json"));
}

void digest_listed(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    scoped_search found = {0};
    SCOPED_MEMORY char *text = NULL;
    size_t told = 0;
    const struct ulp_observer observer = {.context = &told, .cancelled = ask_host};
    const struct ulp_sample sample = {"one", &inputs, 0};
    const char *const tolerance = "sqnr_db=30.5";
    static const char *const formats[] = {"mxfp4", "nvfp4", "mxfp8", "fp32"};
    find_lanes(lanes);
    const struct ulp_search_options options = {.reference = lanes[0],
                                               .formats = formats,
                                               .format_count = 4,
                                               .tolerances = &tolerance,
                                               .tolerance_count = 1,
                                               .thread_count = 1,
                                               .progress = &observer};
    CALL(ulp_search_run(model, &options, &sample, 1, &sample, 1, &found, e));
    ck_assert_uint_ge(told, 10);
    CALL(ulp_search_text(&found, 0, false, &text, e));
    add_bytes(digest, text, strlen(text));
    found.seconds = found.audit_seconds = 0;
    CALL(ulp_search_write(&found, ULP_OUTPUT_FOLDER, test_folder("formats"), e));
    add_file(digest, test_folder("formats/plan.json"));
}

void digest_proof(struct digest *digest)
{
    struct ulp_arithmetic arithmetic;
    scoped_program *program = NULL;
    scoped_proof proof = {0};
    SCOPED_MEMORY char *text = NULL;
    const struct ulp_program_options options = {.inputs = &inputs};
    /* too wide for some nodes, so that affine forms are made, too */
    const struct ulp_input_range range = {NULL, -300, 300.5};
    CALL(ulp_arithmetic_find("fp16", &arithmetic, e));
    CALL(ulp_program_create(model, &arithmetic, 1, &options, &program, e));
    const struct ulp_prove_box box = {.ranges = &range, .range_count = 1};
    CALL(ulp_proof_run(model, program, &box, 2, &proof, e));
    ck_assert_uint_gt(proof.counts[ULP_PROOF_PROVEN], 0);
    ck_assert_uint_gt(proof.counts[ULP_PROOF_NOT_PROVEN], 0);
    proof.seconds = 0;
    CALL(ulp_proof_text(&proof, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    CALL(ulp_proof_write(&proof, ULP_OUTPUT_FOLDER, test_folder("proof"), e));
    CALL(ulp_proof_write(&proof, ULP_OUTPUT_JSON, test_folder("proof/alone.json"), e));
    add_file(digest, test_folder("proof/proof.json"));
}

void digest_scales(struct digest *digest)
{
    struct ulp_scales scales;
    size_t told = 0;
    char *text;
    const struct ulp_observer observer = {.context = &told, .cancelled = ask_host};
    struct ulp_scales_options options = {.thread_count = 1, .progress = &observer};
    CALL(ulp_arithmetic_find("bf16,factor=nvfp4", &options.arithmetic, e));
    CALL(ulp_scales_run(product_model, &inputs, &options, &scales, e));
    scales.seconds = 0;
    CALL(ulp_scales_text(&scales, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    CALL(ulp_scales_write(&scales, ULP_OUTPUT_JSON, test_folder("scales.json"), e));
    add_file(digest, test_folder("scales.json"));
    CALL(ulp_scales_write(&scales, ULP_OUTPUT_HTML, test_folder("scales.html"), e));
    free(text);
    ulp_scales_free(&scales);
    const struct ulp_sample sample = {.inputs = &inputs};
    const struct ulp_calibration_options calibration = {.arithmetic = options.arithmetic,
                                                        .calibrator = ULP_CALIBRATOR_PERCENTILE,
                                                        .percentile = 99,
                                                        .thread_count = 1,
                                                        .progress = &observer};
    struct ulp_range_list list;
    CALL(ulp_calibrate(product_model, &sample, 1, &calibration, test_folder("ranges.json"), e));
    add_file(digest, test_folder("ranges.json"));
    CALL(ulp_range_list_read(test_folder("ranges.json"), NULL, &list, e));
    ulp_range_list_free(&list);
}

void digest_tolerance(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    scoped_tolerance tolerance = {0};
    size_t told = 0;
    SCOPED_MEMORY char *text = NULL;
    const struct ulp_observer observer = {.context = &told,
                                          .node_done = see_host,
                                          .cancelled = ask_host};
    find_lanes(lanes);
    struct ulp_tolerance_options options = {.reference = lanes[0],
                                            .trials = 2,
                                            .elements = 2,
                                            .thread_count = 1,
                                            .progress = &observer,
                                            .begins = tell_host};
    CALL(ulp_arithmetic_find("fp16", &options.arithmetic, e));
    const struct ulp_sample sample = {"one", &inputs, 0};
    CALL(ulp_tolerance_run(model, &sample, 1, &options, &tolerance, e));
    ck_assert_uint_ge(told, 10);
    const double excess = ulp_tolerance_excess(&tolerance.outputs[0], 1e-3, 1e-4);
    expect_state("ulp_tolerance_excess");
    add_bytes(digest, &excess, sizeof excess);
    tolerance.seconds = 0;
    CALL(ulp_tolerance_text(&tolerance, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    CALL(ulp_tolerance_write(&tolerance, ULP_OUTPUT_JSON, test_folder("tolerance.json"), e));
    add_file(digest, test_folder("tolerance.json"));
}

void digest_between(struct digest *digest)
{
    struct ulp_arithmetic lanes[LANE_COUNT];
    struct ulp_between between;
    size_t told = 0;
    SCOPED_MEMORY char *text = NULL;
    const struct ulp_observer observer = {.context = &told, .node_done = see_host};
    const struct ulp_sample sample = {.name = "", .inputs = &inputs};
    find_lanes(lanes);
    struct ulp_between_options options = {.reference = lanes[0],
                                          .first = lanes[1],
                                          .output = ulp_model_output(logs_model, 0).name,
                                          .thread_count = 1,
                                          .progress = &observer};
    CALL(ulp_arithmetic_find("bf16", &options.second, e));
    CALL(ulp_between_run(logs_model, &sample, 1, &options, &between, e));
    ck_assert_uint_ge(told, 2);
    between.seconds = 0;
    CALL(ulp_between_text(&between, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    CALL(ulp_between_write(&between, ULP_OUTPUT_JSON, test_folder("between.json"), e));
    add_file(digest, test_folder("between.json"));
    ulp_between_free(&between);
}

void digest_quantiles(struct digest *digest)
{
    const double quantile = ulp_quantile_normal(0.9);
    expect_state("quantiles");
    add_bytes(digest, &quantile, sizeof quantile);
}

void digest_lint(struct digest *digest)
{
    struct ulp_lint_result result;
    char *text;
    const struct ulp_lint_options options = {.layer_precisions = "exp:fp16",
                                             .layer_output_types = NULL};
    CALL(ulp_lint_run(model, &options, &result, e));
    result.seconds = 0;
    CALL(ulp_lint_text(&result, 3, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    CALL(ulp_lint_write(&result, ULP_OUTPUT_JSON, test_folder("lint.json"), e));
    CALL(ulp_lint_write(&result, ULP_OUTPUT_HTML, test_folder("lint.html"), e));
    add_file(digest, test_folder("lint.html"));
    CALL(ulp_lint_write_sarif(&result, test_folder("lint.sarif"), e));
    add_file(digest, test_folder("lint.json"));
    add_file(digest, test_folder("lint.sarif"));
    free(text);
    ulp_lint_free(&result);
    struct ulp_refusal refusal;
    CALL(ulp_lint_refusal(model, "trt10", NULL, &refusal, e));
    CALL(ulp_refusal_text(&refusal, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    free(text);
    ulp_refusal_free(&refusal);
}

void digest_fix(struct digest *digest)
{
    static const char *const tolerances[] = {"sqnr_db=60"};
    struct ulp_fix fix;
    char *text;
    const struct ulp_sample sample = {.name = "sample", .inputs = &inputs};
    struct ulp_fix_options options = {.path = test_folder("mended.onnx"),
                                      .arithmetic = "bf16",
                                      .tolerances = tolerances,
                                      .tolerance_count = 1,
                                      .allow_value_change = true,
                                      .best = true,
                                      .thread_count = 1};
    CALL(ulp_arithmetic_find("mpfr:128", &options.reference, e));
    CALL(ulp_fix_run(model, &options, &sample, 1, &fix, e));
    fix.seconds = fix.plan_seconds = 0;
    CALL(ulp_fix_text(&fix, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    free(text);
    CALL(ulp_fix_write(&fix, ULP_OUTPUT_JSON, test_folder("fix.json"), e));
    CALL(ulp_fix_write(&fix, ULP_OUTPUT_HTML, test_folder("fix.html"), e));
    add_file(digest, test_folder("fix.json"));
    ulp_fix_free(&fix);
}

void digest_doctor(struct digest *digest)
{
    struct ulp_doctor doctor;
    size_t told = 0;
    char *text;
    const struct ulp_sample sample = {.name = "sample", .inputs = &inputs};
    const struct ulp_observer observer = {.context = &told,
                                          .node_done = see_host,
                                          .cancelled = ask_host};
    struct ulp_doctor_options options = {.arithmetic = "fp8-e4m3",
                                         .thread_count = 1,
                                         .progress = &observer};
    CALL(ulp_arithmetic_find("mpfr:128", &options.reference, e));
    CALL(ulp_doctor_run(model, &options, &sample, 1, &doctor, e));
    ck_assert_uint_ge(told, 5);
    doctor.seconds = doctor.audit->seconds = 0;
    for (size_t c = 0; c < doctor.audit->cost_count; c++)
        doctor.audit->costs[c].seconds = 0;
    CALL(ulp_doctor_text(&doctor, 100, false, &text, e));
    add_bytes(digest, text, strlen(text));
    free(text);
    CALL(ulp_doctor_write(&doctor, ULP_OUTPUT_FOLDER, test_folder("diagnosis"), e));
    CALL(ulp_doctor_write(&doctor, ULP_OUTPUT_JSON, test_folder("diagnosis/alone.json"), e));
    CALL(ulp_doctor_write(&doctor, ULP_OUTPUT_HTML, test_folder("diagnosis/page.html"), e));
    add_file(digest, test_folder("diagnosis/doctor.json"));
    ulp_doctor_free(&doctor);
}
