/* analysis: limits for exit codes, and JUnit's XML of them. */
#include "tests/support/test.h"

TEST(limits_fail_on_nan_and_in_the_right_direction)
{
    struct ulp_audit_output output = {.entire = {.rms = 0.01,
                                                 .max_abs = 0.1,
                                                 .cosine = 0.9,
                                                 .sqnr_db = 30,
                                                 .nonfinite = 0,
                                                 .count = 5},
                                      .single = {.rms = NAN, .count = 5}};
    struct ulp_audit_lane lane = {.outputs = {.output_count = 1, .outputs = &output}};
    struct ulp_audit audit = {.lane_count = 1, .lanes = &lane};
    struct ulp_error error;
    static const struct {
        const char *limit;
        bool exceeded;
    } rows[] = {
        {"rms=0.01", false},    {"rms=0.0099", true},      {"cosine=0.89", false},
        {"cosine=0.91", true},  {"sqnr_db=40", true},      {"entire.max_abs=1", false},
        {"nonfinite=0", false}, {"single.rms=1e30", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(test_crosses(&audit, rows[i].limit) == rows[i].exceeded, "%s", rows[i].limit);
    static const char *const bad[] = {"rms",     "rms=", "rms=x",     "rms=1x", "rms=nan",
                                      "bogus=1", "=1",   "single.=1", ""};
    struct ulp_crossing_list crossings;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(ulp_audit_check(&audit, bad[i], false, &crossings, &error),
                         ULP_ERROR_USAGE);
    struct ulp_audit_samples samples = {.entire_limit = output.entire,
                                        .single_limit = output.single};
    samples.entire_limit.nonfinite = 1;
    ck_assert(!test_crosses(&audit, "nonfinite=0"));
    output.samples = &samples;
    ck_assert(test_crosses(&audit, "nonfinite=0"));
}

/* What cannot be compared does not pass, and what is said of it. */
TEST(limits_fail_where_nothing_is_compared)
{
    static char logits[] = "logits", ids[] = "ids", head[] = "head", mask[] = "mask",
                first[] = "first", second[] = "second", fp16[] = "fp16";
    static char *sample_names[] = {first, second};
    struct ulp_audit_output outputs[] = {{.name = logits,
                                          .entire = {.rms = 0.5, .sqnr_db = 3, .count = 4}},
                                         {.name = ids,
                                          .entire = {.rms = 0, .sqnr_db = INFINITY, .count = 4}}};
    struct ulp_audit_node node = {.name = head, .output_count = 2, .outputs = outputs};
    struct ulp_audit_lane lane = {.name = fp16,
                                  .node_count = 1,
                                  .nodes = &node,
                                  .outputs = {.output_count = 2, .outputs = outputs}};
    struct ulp_audit audit = {.lane_count = 1, .lanes = &lane, .sample_names = sample_names};
    struct ulp_crossing_list crossings;
    ck_ok(ulp_audit_check(&audit, "sqnr_db=40", false, &crossings, &why));
    ck_assert_uint_eq(crossings.count, 1);
    ck_assert_int_eq(crossings.items[0].kind, ULP_CROSSED_VALUE);
    ck_assert_str_eq(crossings.items[0].arithmetic, "fp16");
    ck_assert_str_eq(crossings.items[0].output, "logits");
    ck_assert_str_eq(crossings.items[0].node, "head");
    ck_assert(crossings.items[0].value == 3 && crossings.items[0].limit == 40);
    ck_assert_uint_eq(crossings.items[0].more, 0);
    free(crossings.items);

    const struct {
        struct ulp_metrics logits, ids;
        enum ulp_crossing_kind kind;
        bool crosses;
    } rows[] = {
        {{.count = 4}, {.count = 4}, ULP_CROSSED_VALUE, false},
        {{.count = 4}, {.unmeasured = 4}, ULP_CROSSED_NOTHING, true}, /* NaN on both sides */
        {{.count = 4}, {.count = 2, .unmeasured = 2}, ULP_CROSSED_VALUE, false},
        {{.count = 4}, {.count = 0}, ULP_CROSSED_EMPTY, true}, /* one without elements */
        {{.count = 0}, {.count = 0}, ULP_CROSSED_EMPTY, true},
        {{.count = 4}, {.diverged = true}, ULP_CROSSED_VALUE, false}, /* the other is compared */
        {{.diverged = true}, {.diverged = true}, ULP_CROSSED_DIVERGED, true},
        {{.count = 4}, {.nonfinite = 4}, ULP_CROSSED_VALUE, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        outputs[0].entire = rows[i].logits;
        outputs[1].entire = rows[i].ids;
        ck_ok(ulp_audit_check(&audit, "nonfinite=0", false, &crossings, &why));
        ck_assert_uint_eq(crossings.count, rows[i].crosses);
        ck_assert(!crossings.count || crossings.items[0].kind == rows[i].kind);
        free(crossings.items);
    }
    outputs[0].entire = outputs[1].entire = (struct ulp_metrics){.count = 4};
    outputs[0].introduced = outputs[1].introduced = outputs[0].entire;
    outputs[1].unpaired = true;
    ck_assert(test_crosses(&audit, "rms=1") && !test_crosses(&audit, "introduced.rms=1"));
    outputs[1].unpaired = false;

    struct ulp_audit_input input = {.name = mask, .sample = 1, .count = 3};
    audit.nonfinite_inputs = &input;
    audit.nonfinite_input_count = 1;
    ck_ok(ulp_audit_check(&audit, "rms=1", true, &crossings, &why));
    ck_assert_uint_eq(crossings.count, 0);
    ck_ok(ulp_audit_check(&audit, "rms=1", false, &crossings, &why));
    ck_assert_uint_eq(crossings.count, 1);
    ck_assert_int_eq(crossings.items[0].kind, ULP_CROSSED_INPUT);
    ck_assert_str_eq(crossings.items[0].output, "mask");
    ck_assert_str_eq(crossings.items[0].sample, "second");
    ck_assert(crossings.items[0].value == 3);
    free(crossings.items);
}

/* Of two arithmetics and two outputs with names that need care: those that a limit is of. */
TEST(limits_of_one_output)
{
    static char plain[] = "fp16", named[] = "mpfr:64", y[] = "y", odd[] = "a:b=c";
    struct ulp_audit_output first[] = {{.name = y, .entire = {.rms = 1, .count = 4}},
                                       {.name = odd, .entire = {.rms = 3, .count = 4}}},
                            second[] = {{.name = y, .entire = {.rms = 2, .count = 4}},
                                        {.name = odd, .entire = {.diverged = true}}};
    struct ulp_audit_node inner = {.name = plain, .output_count = 1};
    struct ulp_audit_output overflow = {.name = plain, .entire = {.nonfinite = 2}};
    inner.outputs = &overflow;
    struct ulp_audit_lane lanes[] = {{.name = plain,
                                      .outputs = {.output_count = 2, .outputs = first},
                                      .node_count = 1,
                                      .nodes = &inner},
                                     {.name = named,
                                      .outputs = {.output_count = 2, .outputs = second}}};
    struct ulp_audit audit = {.lane_count = 2, .lanes = lanes};
    struct ulp_crossing_list crossings;
    struct ulp_error error;
    static const struct {
        const char *limit;
        bool crosses;
    } rows[] = {
        {"rms=3", true}, /* what has diverged is not left out */
        {"fp16:rms=3", false},
        {"rms=2.9", true},
        {"y:rms=2", false},
        {"y:rms=1.9", true},
        {"fp16:y:rms=1", false},
        {"fp16:y:rms=0.9", true},
        {"fp16:rms=2.9", true},
        {"mpfr:64:rms=2", true},
        {"mpfr:64:y:rms=2", false},
        {"mpfr:64:y:rms=1.9", true},
        {"a:b=c:rms=3", true},
        {"a:b=c:rms=2.9", true},
        {"fp16:a:b=c:rms=2.9", true},
        {"diverged=0", true},
        {"diverged=1", false},
        {"fp16:diverged=0", false},
        {"y:diverged=0", false},
        {"mpfr:64:diverged=0", true},
        {"mpfr:64:a:b=c:rms=9", true},
        {"nonfinite=1", true},
        {"outputs.nonfinite=0", false},
        {"y:nonfinite=0", false},
        {"mpfr:64:nonfinite=0", false},
        {"fp16@h200:y:rms=0.9", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(test_crosses(&audit, rows[i].limit) == rows[i].crosses, "%s", rows[i].limit);
    static const char *const bad[] = {"z:rms=1", "fp16:z:rms=1", "bf16:y:rms=1", "y:fp16:rms=1",
                                      ":rms=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(ulp_audit_check(&audit, bad[i], false, &crossings, &error) == ULP_ERROR_USAGE,
                      "%s", bad[i]);
        ck_ok(ulp_limit_check(bad[i], NULL, NULL, &why));
    }
}

/* An XML document with what fails, and nothing that XML does not take. */
TEST(junit)
{
    static char path[] = "a<b>&\"c\n.onnx", fp16[] = "fp16", y[] = "y<1>";
    static const char *const limits[] = {"rms=1", "rms=3"};
    struct ulp_audit_output output = {.name = y, .entire = {.rms = 2, .count = 4}};
    struct ulp_audit_lane lane = {.name = fp16, .outputs = {.output_count = 1, .outputs = &output}};
    struct ulp_audit audit = {.model_path = path, .lane_count = 1, .lanes = &lane};
    char text[2048] = "";
    test_folder_create();
    ck_ok(ulp_arena_create(&audit.memory, NULL, &why));
    ck_ok(ulp_audit_keep_limits(&audit, limits, 2, false, &why));
    ck_ok(ulp_report_junit(&audit, test_folder("out.xml"), &why));
    ulp_arena_free(audit.memory);
    FILE *file = fopen(test_folder("out.xml"), "rb");
    ck_assert(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    test_folder_remove();
    ck_assert_str_eq(
        text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<testsuite name=\"a&lt;b&gt;&amp;&quot;c\\n.onnx\" tests=\"2\" failures=\"1\" "
              "errors=\"0\" time=\"0.000\">\n"
              "  <testcase classname=\"a&lt;b&gt;&amp;&quot;c\\n.onnx\" name=\"rms=1\">\n"
              "    <failure type=\"limit\" message=\"fp16, output y&lt;1&gt;: rms 2, limit 1\"/>\n"
              "  </testcase>\n"
              "  <testcase classname=\"a&lt;b&gt;&amp;&quot;c\\n.onnx\" name=\"rms=3\"/>\n"
              "</testsuite>\n");
}

TEST_SUITE("limits", 0)
