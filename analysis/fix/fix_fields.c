/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_fix_done(int value)
{
    return ulp_fix_done_name((enum ulp_fix_done)value);
}
static const char *word_grade(int value)
{
    return ulp_grade_name((enum ulp_grade)value);
}

static const struct ulp_field fix_state[] = {
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_state, output)},
    {.name = "metric", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_state, metric)},
    {.name = "value", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix_state, value)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix_state, ratio)},
    {.name = "grade", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_fix_state, grade), .word = word_grade, .words = 4},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_state, text)},
};
const struct ulp_struct ulp_struct_fix_state = {
    "ulp_fix_state", sizeof(struct ulp_fix_state), fix_state, sizeof fix_state / sizeof *fix_state};

static const struct ulp_field fix_edit[] = {
    {.name = "rule", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_edit, rule)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_edit, node)},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_edit, text)},
    {.name = "done", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_fix_edit, done), .word = word_fix_done, .words = 7},
    {.name = "gain", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix_edit, gain)},
    {.name = "change", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix_edit, change)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix_edit, reason)},
};
const struct ulp_struct ulp_struct_fix_edit = {
    "ulp_fix_edit", sizeof(struct ulp_fix_edit), fix_edit, sizeof fix_edit / sizeof *fix_edit};

static const struct ulp_field fix[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, model_path)},
    {.name = "path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, path)},
    {.name = "target", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, target)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, arithmetic)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, reference)},
    {.name = "met", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_fix, met)},
    {.name = "types", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_fix, types)},
    {.name = "lowered", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_fix, lowered)},
    {.name = "tolerance_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, tolerance_count), .counts = true},
    {.name = "tolerances", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, tolerances), .points = true, .counted = true, .count = offsetof(struct ulp_fix, tolerance_count)},
    {.name = "before", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, before), .type = &ulp_struct_fix_state},
    {.name = "edited", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, edited), .type = &ulp_struct_fix_state},
    {.name = "after", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, after), .type = &ulp_struct_fix_state},
    {.name = "edit_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, edit_count), .counts = true},
    {.name = "edits", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, edits), .type = &ulp_struct_fix_edit, .points = true, .counted = true, .count = offsetof(struct ulp_fix, edit_count)},
    {.name = "made_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, made_count)},
    {.name = "change", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix, change)},
    {.name = "checked", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, checked)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, node_count)},
    {.name = "kept_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, kept_count), .counts = true},
    {.name = "kept", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, kept), .points = true, .counted = true, .count = offsetof(struct ulp_fix, kept_count)},
    {.name = "kept_macs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix, kept_macs)},
    {.name = "macs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix, macs)},
    {.name = "draw_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, draw_count)},
    {.name = "held_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, held_count)},
    {.name = "with_edits_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, with_edits_count)},
    {.name = "without_edits_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, without_edits_count)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fix, reason)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, sample_count)},
    {.name = "runs", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fix, runs)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix, seconds)},
    {.name = "plan_seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fix, plan_seconds)},
    {.name = "plan", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, plan), .type = &ulp_struct_search, .points = true, .apart = true},
    {.name = "mixed", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fix, mixed), .type = &ulp_struct_mixed, .apart = true},
};
const struct ulp_struct ulp_struct_fix = {
    "ulp_fix", sizeof(struct ulp_fix), fix, sizeof fix / sizeof *fix};
