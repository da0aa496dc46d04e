/* What an audit says to try: whole sets of nodes, as a shell takes them. */
#include "tests/support/test.h"

#include "analysis/report/report.h"

/* A node whose exact values reach ref_max, in fp16 unless `format` is another. */
struct hinted {
    const char *name;
    double ref_max;
    bool born, reads;
};

static char *hint_of(const struct hinted *rows, size_t count, const char *format)
{
    struct ulp_audit_node nodes[32] = {0};
    struct ulp_audit_output outputs[32] = {0};
    struct ulp_audit_lane lane = {.node_count = count, .nodes = nodes};
    char model[] = "m.onnx";
    const struct ulp_audit audit = {.arguments = model};
    struct ulp_text text = {0};
    lane.arithmetic = test_arithmetic(format);
    lane.name = (char *)(uintptr_t)format;
    for (size_t n = 0; n < count; n++) {
        outputs[n].type = ULP_TYPE_FLOAT;
        outputs[n].range.ref_max = rows[n].ref_max;
        nodes[n] = (struct ulp_audit_node){.index = n,
                                           .name = (char *)(uintptr_t)rows[n].name,
                                           .op = (char *)(uintptr_t) "Mul",
                                           .kept = -1,
                                           .overflow = -1,
                                           .constant = -1,
                                           .output_count = 1,
                                           .outputs = &outputs[n],
                                           .born = rows[n].born,
                                           .reads_overflow = rows[n].reads};
    }
    ulp_report_todo(&audit, &lane, &text);
    ck_assert(!text.failed);
    return text.data ? text.data : strdup("");
}

static void expect_hint(const struct hinted *rows, size_t count, const char *format,
                        const char *expected)
{
    char *hint = hint_of(rows, count, format), command[64];
    const int length = snprintf(command, sizeof command, "ulpscope audit m.onnx -a %s ", format);
    if (*expected)
        ck_assert_msg(strncmp(hint, command, (size_t)length) == 0, "%s", hint);
    ck_assert_str_eq(hint + (*expected ? length : 0), expected);
    free(hint);
}
#define EXPECT(rows, format, expected) \
    expect_hint(rows, sizeof rows / sizeof *rows, format, expected)

TEST(names_are_quoted_for_a_shell)
{
    const struct hinted plain[] = {{"a", 1, 0, 0}, {"b c", 1e5, 1, 0}, {"it's $(d)", 1, 0, 1}};
    EXPECT(plain, "fp16", "--keep 'b c=fp32' --keep 'it'\\''s $(d)=fp32'");
    EXPECT(plain, "fp16-strict", "--keep 'b c=fp32' --keep 'it'\\''s $(d)=fp32'");
}

TEST(names_that_cannot_be_typed_are_numbers)
{
    const struct hinted hidden[] = {{"\x1b[1m", 1e5, 1, 0}, {"b", 1, 0, 1}, {"c", 1, 0, 0}},
                        word[] = {{"before:x", 1e5, 1, 0}}, unnamed[] = {{"", 1e5, 1, 0}};
    EXPECT(hidden, "fp16", "--keep '#0-1=fp32'");
    EXPECT(word, "fp16", "--keep '#0=fp32'");
    EXPECT(unnamed, "fp16", "--keep '#0=fp32'");
}

TEST(many_nodes_are_ranges)
{
    struct hinted rows[32] = {{"a", 1, 0, 0}, {"b", 1, 1, 0}, {"c", 1, 1, 0},
                              {"d", 1, 0, 0}, {"e", 1, 1, 0}, {"f", 1, 1, 0}};
    expect_hint(rows, 6, "fp16", "--keep '#1-2=fp32' --keep '#4-5=fp32'");
    for (size_t i = 0; i < 32; i++)
        rows[i] = (struct hinted){"a", 1, i % 3 == 0, 0};
    SCOPED_MEMORY char *hint = hint_of(rows, 32, "fp16");
    for (size_t i = 0; i < 32; i += 3) {
        char option[40];
        snprintf(option, sizeof option, "--keep '#%zu=fp32'", i);
        ck_assert_msg(strstr(hint, option), "no %s in %s", option, hint);
    }
}

TEST(nothing_is_said_where_fp32_is_no_help)
{
    const struct hinted none[] = {{"a", 1e5, 0, 0}}, large[] = {{"a", 2.0 * FLT_MAX, 1, 0}},
                        near[] = {{"a", 3.4e38, 1, 0}};
    EXPECT(none, "fp16", "");
    EXPECT(large, "fp16", "");
    EXPECT(near, "bf16", "");
    EXPECT(near, "fp32", "");
}

TEST_SUITE("hint", 0)
