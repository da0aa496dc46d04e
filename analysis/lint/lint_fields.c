/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_severity(int value)
{
    return ulp_severity_name((enum ulp_severity)value);
}

static const struct ulp_field finding[] = {
    {.name = "row", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_finding, row), .apart = true},
    {.name = "rule", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, rule)},
    {.name = "severity", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_finding, severity), .word = word_severity, .words = 3},
    {.name = "what", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, what)},
    {.name = "fix", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, fix)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, op)},
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, value)},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_finding, text)},
};
const struct ulp_struct ulp_struct_finding = {
    "ulp_finding", sizeof(struct ulp_finding), finding, sizeof finding / sizeof *finding};

static const struct ulp_field lint_result[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_lint_result, model_path)},
    {.name = "targets", .kind = ULP_FIELD_UINT, .offset = offsetof(struct ulp_lint_result, targets), .apart = true},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_lint_result, node_count)},
    {.name = "counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_lint_result, counts), .key = word_severity, .length = 3},
    {.name = "finding_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_lint_result, finding_count), .counts = true},
    {.name = "assumed", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_lint_result, assumed)},
    {.name = "unplanned", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_lint_result, unplanned)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_lint_result, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_lint_result, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_lint_result, place_count)},
    {.name = "findings", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_lint_result, findings), .type = &ulp_struct_finding, .points = true, .counted = true, .count = offsetof(struct ulp_lint_result, finding_count)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_lint_result, seconds)},
};
const struct ulp_struct ulp_struct_lint_result = {
    "ulp_lint_result", sizeof(struct ulp_lint_result), lint_result, sizeof lint_result / sizeof *lint_result};
