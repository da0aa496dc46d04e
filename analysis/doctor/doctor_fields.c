/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_doctor_reason(int value)
{
    return ulp_doctor_reason_name((enum ulp_doctor_reason)value);
}
static const char *word_grade(int value)
{
    return ulp_grade_name((enum ulp_grade)value);
}

static const struct ulp_field doctor_cause[] = {
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, text)},
    {.name = "reason", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_doctor_cause, reason), .word = word_doctor_reason, .words = 9},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, op)},
    {.name = "index", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_doctor_cause, index)},
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, value)},
    {.name = "rule", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, rule)},
    {.name = "fix", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor_cause, fix)},
};
const struct ulp_struct ulp_struct_doctor_cause = {
    "ulp_doctor_cause", sizeof(struct ulp_doctor_cause), doctor_cause, sizeof doctor_cause / sizeof *doctor_cause};

static const struct ulp_field doctor[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, model_path)},
    {.name = "target", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, target)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, arithmetic)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, reference)},
    {.name = "grade", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_doctor, grade), .word = word_grade, .words = 4},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, reason)},
    {.name = "cause_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_doctor, cause_count), .counts = true},
    {.name = "causes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, causes), .type = &ulp_struct_doctor_cause, .points = true, .counted = true, .count = offsetof(struct ulp_doctor, cause_count)},
    {.name = "remedy", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, remedy)},
    {.name = "next", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_doctor, next)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_doctor, sample_count)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_doctor, seconds)},
    {.name = "lint", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, lint), .type = &ulp_struct_lint_result, .points = true, .apart = true},
    {.name = "audit", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, audit), .type = &ulp_struct_audit, .points = true, .apart = true},
    {.name = "overflow", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, overflow), .type = &ulp_struct_overflow_forecast, .points = true, .apart = true},
    {.name = "plan", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, plan), .type = &ulp_struct_search, .points = true, .apart = true},
    {.name = "comparison", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_doctor, comparison), .type = &ulp_struct_comparison, .points = true, .apart = true},
};
const struct ulp_struct ulp_struct_doctor = {
    "ulp_doctor", sizeof(struct ulp_doctor), doctor, sizeof doctor / sizeof *doctor};
