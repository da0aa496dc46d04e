/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_grade(int value)
{
    return ulp_grade_name((enum ulp_grade)value);
}
static const char *word_study_axis(int value)
{
    return ulp_study_axis_name((enum ulp_study_axis)value);
}
static const char *word_study_law(int value)
{
    return ulp_study_law_name((enum ulp_study_law)value);
}
static const char *word_study_place_kind(int value)
{
    return ulp_study_place_kind_name((enum ulp_study_place_kind)value);
}

static const struct ulp_field study_place[] = {
    {.name = "kind", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_study_place, kind), .word = word_study_place_kind, .words = 3},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_place, name)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_place, node_count)},
};
const struct ulp_struct ulp_struct_study_place = {
    "ulp_study_place", sizeof(struct ulp_study_place), study_place, sizeof study_place / sizeof *study_place};

static const struct ulp_field study_trials[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_trials, count)},
    {.name = "mean", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, mean)},
    {.name = "deviation", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, deviation)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_trials, elements)},
    {.name = "left_out", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_trials, left_out)},
    {.name = "exact", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_trials, exact)},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bits)},
    {.name = "bits_least", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bits_least)},
    {.name = "bits_low", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bits_low)},
    {.name = "bias", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bias)},
    {.name = "bias_error", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bias_error)},
    {.name = "bias_width", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bias_width)},
    {.name = "bias_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, bias_rms)},
    {.name = "biased", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_trials, biased)},
};
const struct ulp_struct ulp_struct_study_trials = {
    "ulp_study_trials", sizeof(struct ulp_study_trials), study_trials, sizeof study_trials / sizeof *study_trials};

static const struct ulp_field study_point[] = {
    {.name = "relative", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_point, relative)},
    {.name = "ref_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_point, ref_rms)},
    {.name = "metrics", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_point, metrics), .type = &ulp_struct_metrics},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_point, nonfinite)},
    {.name = "diverged", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_study_point, diverged)},
    {.name = "trials", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_point, trials), .type = &ulp_struct_study_trials},
    {.name = "grade", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_study_point, grade), .word = word_grade, .words = 4},
};
const struct ulp_struct ulp_struct_study_point = {
    "ulp_study_point", sizeof(struct ulp_study_point), study_point, sizeof study_point / sizeof *study_point};

static const struct ulp_field study_setting[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_setting, name), .whole = true},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_setting, text), .whole = true},
    {.name = "trials", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_setting, trials), .whole = true},
    {.name = "overflows", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_setting, overflows)},
    {.name = "point_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_setting, point_count), .counts = true},
    {.name = "points", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_setting, points), .type = &ulp_struct_study_point, .points = true, .counted = true, .count = offsetof(struct ulp_study_setting, point_count)},
};
const struct ulp_struct ulp_struct_study_setting = {
    "ulp_study_setting", sizeof(struct ulp_study_setting), study_setting, sizeof study_setting / sizeof *study_setting};

static const struct ulp_field study_fit[] = {
    {.name = "law", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_study_fit, law), .word = word_study_law, .words = 5},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_fit, reason)},
    {.name = "slope", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, slope)},
    {.name = "intercept", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, intercept)},
    {.name = "slope_error", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, slope_error)},
    {.name = "slope_low", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, slope_low)},
    {.name = "slope_high", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, slope_high)},
    {.name = "residual", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, residual)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, count)},
    {.name = "lost", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, lost)},
    {.name = "unusable", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, unusable)},
    {.name = "floored", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, floored)},
    {.name = "first", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, first)},
    {.name = "last", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_fit, last)},
    {.name = "floor", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_fit, floor)},
};
const struct ulp_struct ulp_struct_study_fit = {
    "ulp_study_fit", sizeof(struct ulp_study_fit), study_fit, sizeof study_fit / sizeof *study_fit};

static const struct ulp_field study_series[] = {
    {.name = "sweep", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_series, sweep)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_series, name)},
    {.name = "axis", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_study_series, axis), .word = word_study_axis, .words = 4},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_series, count), .counts = true},
    {.name = "settings", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_series, settings), .points = true, .counted = true, .count = offsetof(struct ulp_study_series, count)},
    {.name = "texts", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_series, texts), .points = true, .counted = true, .count = offsetof(struct ulp_study_series, count)},
    {.name = "x", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_series, x), .points = true, .counted = true, .count = offsetof(struct ulp_study_series, count)},
    {.name = "fit_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_series, fit_count), .counts = true},
    {.name = "fits", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_series, fits), .type = &ulp_struct_study_fit, .points = true, .counted = true, .count = offsetof(struct ulp_study_series, fit_count)},
};
const struct ulp_struct ulp_struct_study_series = {
    "ulp_study_series", sizeof(struct ulp_study_series), study_series, sizeof study_series / sizeof *study_series};

static const struct ulp_field study[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study, arguments)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study, reference)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, sample_count)},
    {.name = "trials", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, trials)},
    {.name = "seed", .kind = ULP_FIELD_UINT64, .offset = offsetof(struct ulp_study, seed)},
    {.name = "probability", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study, probability)},
    {.name = "confidence", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study, confidence)},
    {.name = "tolerance", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study, tolerance)},
    {.name = "sweep_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, sweep_count), .counts = true},
    {.name = "sweeps", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study, sweeps), .points = true, .counted = true, .count = offsetof(struct ulp_study, sweep_count)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study, places), .type = &ulp_struct_study_place, .points = true, .counted = true, .count = offsetof(struct ulp_study, place_count)},
    {.name = "grouping", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study, grouping)},
    {.name = "setting_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, setting_count), .counts = true},
    {.name = "settings", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study, settings), .type = &ulp_struct_study_setting, .points = true, .counted = true, .count = offsetof(struct ulp_study, setting_count)},
    {.name = "series_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, series_count), .counts = true},
    {.name = "series", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study, series), .type = &ulp_struct_study_series, .points = true, .counted = true, .count = offsetof(struct ulp_study, series_count)},
    {.name = "walks", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study, walks), .apart = true},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study, seconds), .apart = true},
};
const struct ulp_struct ulp_struct_study = {
    "ulp_study", sizeof(struct ulp_study), study, sizeof study / sizeof *study};

static const struct ulp_field study_rows_class[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_class, count), .counts = true},
    {.name = "rows", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_class, rows), .points = true, .counted = true, .count = offsetof(struct ulp_study_rows_class, count)},
};
const struct ulp_struct ulp_struct_study_rows_class = {
    "ulp_study_rows_class", sizeof(struct ulp_study_rows_class), study_rows_class, sizeof study_rows_class / sizeof *study_rows_class};

static const struct ulp_field study_rows_output[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_rows_output, name)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_output, elements)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_output, nonfinite)},
    {.name = "differing", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_output, differing)},
    {.name = "width_max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_rows_output, width_max_abs)},
    {.name = "width_relative", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_rows_output, width_relative)},
    {.name = "choices", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_output, choices)},
    {.name = "flipped", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_output, flipped)},
};
const struct ulp_struct ulp_struct_study_rows_output = {
    "ulp_study_rows_output", sizeof(struct ulp_study_rows_output), study_rows_output, sizeof study_rows_output / sizeof *study_rows_output};

static const struct ulp_field study_rows_node[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_node, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_rows_node, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_rows_node, op)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_node, elements)},
    {.name = "differing", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows_node, differing)},
    {.name = "width_max_ulp", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_rows_node, width_max_ulp)},
};
const struct ulp_struct ulp_struct_study_rows_node = {
    "ulp_study_rows_node", sizeof(struct ulp_study_rows_node), study_rows_node, sizeof study_rows_node / sizeof *study_rows_node};

static const struct ulp_field study_rows[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_rows, model_path)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_study_rows, arithmetic)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, sample_count)},
    {.name = "row_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, row_count), .counts = true},
    {.name = "rows", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, rows), .points = true, .counted = true, .count = offsetof(struct ulp_study_rows, row_count)},
    {.name = "class_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, class_count), .counts = true},
    {.name = "classes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_rows, classes), .type = &ulp_struct_study_rows_class, .points = true, .counted = true, .count = offsetof(struct ulp_study_rows, class_count)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_rows, outputs), .type = &ulp_struct_study_rows_output, .points = true, .counted = true, .count = offsetof(struct ulp_study_rows, output_count)},
    {.name = "product_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, product_count)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_study_rows, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_study_rows, nodes), .type = &ulp_struct_study_rows_node, .points = true, .counted = true, .count = offsetof(struct ulp_study_rows, node_count)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_study_rows, seconds), .apart = true},
};
const struct ulp_struct ulp_struct_study_rows = {
    "ulp_study_rows", sizeof(struct ulp_study_rows), study_rows, sizeof study_rows / sizeof *study_rows};
