/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_cause_kind(int value)
{
    return ulp_cause_name((enum ulp_cause_kind)value);
}
static const char *word_type(int value)
{
    return ulp_type_name((enum ulp_type)value);
}

static const struct ulp_field ranked[] = {
    {.name = "arithmetic", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_ranked, arithmetic), .list = "arithmetics"},
    {.name = "explains", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_ranked, explains)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_ranked, elements)},
    {.name = "equal", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_ranked, equal)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_ranked, ratio)},
    {.name = "misfit", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_ranked, misfit)},
};
const struct ulp_struct ulp_struct_ranked = {
    "ulp_ranked", sizeof(struct ulp_ranked), ranked, sizeof ranked / sizeof *ranked};

static const struct ulp_field cause[] = {
    {.name = "kind", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_cause, kind), .word = word_cause_kind, .words = 7},
    {.name = "text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_cause, text)},
    {.name = "input", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_cause, input)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_cause, arithmetic)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_cause, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_cause, nodes), .points = true, .counted = true, .count = offsetof(struct ulp_cause, node_count)},
};
const struct ulp_struct ulp_struct_cause = {
    "ulp_cause", sizeof(struct ulp_cause), cause, sizeof cause / sizeof *cause};

static const struct ulp_field compared_file[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_file, name)},
    {.name = "tensor_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_file, tensor_count)},
    {.name = "explained", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_file, explained)},
    {.name = "by", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_compared_file, by), .list = "arithmetics"},
    {.name = "better", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_compared_file, better), .list = "arithmetics"},
    {.name = "ranked_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_file, ranked_count), .counts = true},
    {.name = "ranked", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_file, ranked), .type = &ulp_struct_ranked, .points = true, .counted = true, .count = offsetof(struct ulp_compared_file, ranked_count)},
    {.name = "first_unexplained", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_compared_file, first_unexplained), .list = "tensors"},
    {.name = "unmatched_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_file, unmatched_count), .counts = true},
    {.name = "unmatched", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_file, unmatched), .points = true, .counted = true, .count = offsetof(struct ulp_compared_file, unmatched_count)},
    {.name = "cause", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_file, cause), .type = &ulp_struct_cause},
};
const struct ulp_struct ulp_struct_compared_file = {
    "ulp_compared_file", sizeof(struct ulp_compared_file), compared_file, sizeof compared_file / sizeof *compared_file};

static const struct ulp_field expected_error[] = {
    {.name = "rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_expected_error, rms)},
    {.name = "max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_expected_error, max_abs)},
    {.name = "freedom", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_expected_error, freedom)},
    {.name = "trials", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_expected_error, trials)},
    {.name = "floor", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_expected_error, floor)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_expected_error, nonfinite)},
    {.name = "open", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_expected_error, open)},
    {.name = "shapeless", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_expected_error, shapeless)},
};
const struct ulp_struct ulp_struct_expected_error = {
    "ulp_expected_error", sizeof(struct ulp_expected_error), expected_error, sizeof expected_error / sizeof *expected_error};

static const struct ulp_field compared_value[] = {
    {.name = "recorded", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_value, recorded), .apart = true},
    {.name = "reshaped", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_value, reshaped)},
    {.name = "turned", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_value, turned)},
    {.name = "truth", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_value, truth), .type = &ulp_struct_metrics},
    {.name = "judged", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_value, judged), .type = &ulp_struct_judged},
    {.name = "arithmetics", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_value, arithmetics), .type = &ulp_struct_metrics, .points = true, .apart = true},
    {.name = "others", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_value, others), .type = &ulp_struct_metrics, .points = true, .apart = true},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_value, nonfinite)},
    {.name = "stored", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_value, stored)},
    {.name = "explained", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_value, explained)},
    {.name = "by", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_value, by), .list = "arithmetics"},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_compared_value, ratio)},
    {.name = "limit", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_compared_value, limit)},
    {.name = "max_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_compared_value, max_ratio)},
    {.name = "max_limit", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_compared_value, max_limit)},
};
const struct ulp_struct ulp_struct_compared_value = {
    "ulp_compared_value", sizeof(struct ulp_compared_value), compared_value, sizeof compared_value / sizeof *compared_value};

static const struct ulp_field compared_tensor[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_tensor, name)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_tensor, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_tensor, op)},
    {.name = "index", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_compared_tensor, index)},
    {.name = "type", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_compared_tensor, type), .word = word_type, .words = 27},
    {.name = "rank", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_compared_tensor, rank), .counts = true},
    {.name = "dims", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_compared_tensor, dims), .length = 16, .counted = true, .count = offsetof(struct ulp_compared_tensor, rank), .count_is_int = true},
    {.name = "range", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_tensor, range), .type = &ulp_struct_range},
    {.name = "expected", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_tensor, expected), .type = &ulp_struct_expected_error, .points = true, .apart = true},
    {.name = "values", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_compared_tensor, values), .type = &ulp_struct_compared_value, .points = true, .apart = true},
};
const struct ulp_struct ulp_struct_compared_tensor = {
    "ulp_compared_tensor", sizeof(struct ulp_compared_tensor), compared_tensor, sizeof compared_tensor / sizeof *compared_tensor};

static const struct ulp_field compared_slices[] = {
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_slices, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_slices, op)},
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, index)},
    {.name = "arithmetic", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, arithmetic), .list = "arithmetics"},
    {.name = "file", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, file), .list = "files"},
    {.name = "slices", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_compared_slices, slices)},
    {.name = "tile", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_compared_slices, tile)},
    {.name = "found", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_compared_slices, found)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, elements)},
    {.name = "equal", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, equal)},
    {.name = "next", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_compared_slices, next)},
    {.name = "others", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_compared_slices, others)},
};
const struct ulp_struct ulp_struct_compared_slices = {
    "ulp_compared_slices", sizeof(struct ulp_compared_slices), compared_slices, sizeof compared_slices / sizeof *compared_slices};

static const struct ulp_field comparison[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, arguments)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, reference)},
    {.name = "arithmetic_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, arithmetic_count), .counts = true},
    {.name = "arithmetics", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, arithmetics), .points = true, .counted = true, .count = offsetof(struct ulp_comparison, arithmetic_count)},
    {.name = "asked", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, asked)},
    {.name = "unranked", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, unranked)},
    {.name = "trials", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, trials)},
    {.name = "born", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_comparison, born)},
    {.name = "file_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, file_count), .counts = true},
    {.name = "files", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_comparison, files), .type = &ulp_struct_compared_file, .points = true, .counted = true, .count = offsetof(struct ulp_comparison, file_count)},
    {.name = "tensor_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, tensor_count), .counts = true},
    {.name = "tensors", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_comparison, tensors), .type = &ulp_struct_compared_tensor, .points = true, .counted = true, .count = offsetof(struct ulp_comparison, tensor_count)},
    {.name = "slice_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, slice_count), .counts = true},
    {.name = "slices", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_comparison, slices), .type = &ulp_struct_compared_slices, .points = true, .counted = true, .count = offsetof(struct ulp_comparison, slice_count)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_comparison, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_comparison, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_comparison, place_count)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_comparison, seconds)},
};
const struct ulp_struct ulp_struct_comparison = {
    "ulp_comparison", sizeof(struct ulp_comparison), comparison, sizeof comparison / sizeof *comparison};
