/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_grade(int value)
{
    return ulp_grade_name((enum ulp_grade)value);
}
static const char *word_widened(int value)
{
    return ulp_widened_name((enum ulp_widened)value);
}

static const struct ulp_field search_decided[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_decided, name)},
    {.name = "widest", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_decided, widest)},
    {.name = "found", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_decided, found)},
};
const struct ulp_struct ulp_struct_search_decided = {
    "ulp_search_decided", sizeof(struct ulp_search_decided), search_decided, sizeof search_decided / sizeof *search_decided};

static const struct ulp_field search_format[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_format, name)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_format, arithmetic)},
    {.name = "exponent", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_search_format, exponent)},
    {.name = "mantissa", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_search_format, mantissa)},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_format, bits)},
    {.name = "layer_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_format, layer_count)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_format, node_count)},
};
const struct ulp_struct ulp_struct_search_format = {
    "ulp_search_format", sizeof(struct ulp_search_format), search_format, sizeof search_format / sizeof *search_format};

static const struct ulp_field search_layer[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_layer, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_layer, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_layer, op)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_layer, node_count)},
    {.name = "weight", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, weight)},
    {.name = "cost", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, cost)},
    {.name = "format", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_layer, format), .list = "formats"},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, bits)},
    {.name = "largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, largest)},
    {.name = "smallest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, smallest)},
    {.name = "exponent_needed", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_search_layer, exponent_needed)},
    {.name = "share", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, share)},
    {.name = "predicted", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, predicted)},
    {.name = "without", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_layer, without)},
    {.name = "fewer", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_search_layer, fewer), .list = "formats"},
    {.name = "module", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_layer, module)},
};
const struct ulp_struct ulp_struct_search_layer = {
    "ulp_search_layer", sizeof(struct ulp_search_layer), search_layer, sizeof search_layer / sizeof *search_layer};

static const struct ulp_field search_node[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_node, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_node, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_node, op)},
    {.name = "format", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_node, format), .list = "formats"},
    {.name = "always", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search_node, always)},
    {.name = "never", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search_node, never)},
    {.name = "without", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_node, without)},
};
const struct ulp_struct ulp_struct_search_node = {
    "ulp_search_node", sizeof(struct ulp_search_node), search_node, sizeof search_node / sizeof *search_node};

static const struct ulp_field search_uniform[] = {
    {.name = "format", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_uniform, format), .list = "formats"},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_uniform, bits)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_uniform, ratio)},
    {.name = "emulated", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_uniform, emulated)},
};
const struct ulp_struct ulp_struct_search_uniform = {
    "ulp_search_uniform", sizeof(struct ulp_search_uniform), search_uniform, sizeof search_uniform / sizeof *search_uniform};

static const struct ulp_field search_point[] = {
    {.name = "allowed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, allowed)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, ratio)},
    {.name = "cost", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, cost)},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, bits)},
    {.name = "mantissa", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, mantissa)},
    {.name = "uniform_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_point, uniform_bits)},
};
const struct ulp_struct ulp_struct_search_point = {
    "ulp_search_point", sizeof(struct ulp_search_point), search_point, sizeof search_point / sizeof *search_point};

static const struct ulp_field search_range[] = {
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_range, node)},
    {.name = "factor", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_range, factor)},
    {.name = "largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_range, largest)},
};
const struct ulp_struct ulp_struct_search_range = {
    "ulp_search_range", sizeof(struct ulp_search_range), search_range, sizeof search_range / sizeof *search_range};

static const struct ulp_field search_target[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_target, name)},
    {.name = "draw_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_target, draw_count)},
    {.name = "held_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_target, held_count)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_target, output)},
    {.name = "metric", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_target, metric)},
    {.name = "value", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_target, value)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_target, ratio)},
    {.name = "median", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_target, median)},
    {.name = "own", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_target, own)},
    {.name = "fused_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_target, fused_count)},
    {.name = "fused_before", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_target, fused_before)},
    {.name = "kept_apart", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search_target, kept_apart)},
    {.name = "freedom", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_target, freedom)},
};
const struct ulp_struct ulp_struct_search_target = {
    "ulp_search_target", sizeof(struct ulp_search_target), search_target, sizeof search_target / sizeof *search_target};

static const struct ulp_field search_input[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_input, name)},
    {.name = "least", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_input, least)},
    {.name = "first", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_input, first)},
    {.name = "largest", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_input, largest)},
};
const struct ulp_struct ulp_struct_search_input = {
    "ulp_search_input", sizeof(struct ulp_search_input), search_input, sizeof search_input / sizeof *search_input};

static const struct ulp_field search_sample[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_sample, name)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_sample, output)},
    {.name = "metric", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_sample, metric)},
    {.name = "value", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_sample, value)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search_sample, ratio)},
};
const struct ulp_struct ulp_struct_search_sample = {
    "ulp_search_sample", sizeof(struct ulp_search_sample), search_sample, sizeof search_sample / sizeof *search_sample};

static const struct ulp_field search_entry[] = {
    {.name = "pattern", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_entry, pattern)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_entry, arithmetic)},
};
const struct ulp_struct ulp_struct_search_entry = {
    "ulp_search_entry", sizeof(struct ulp_search_entry), search_entry, sizeof search_entry / sizeof *search_entry};

static const struct ulp_field search_cast[] = {
    {.name = "value", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search_cast, value)},
    {.name = "format", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_cast, format), .list = "formats"},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_cast, elements)},
    {.name = "reader_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search_cast, reader_count)},
};
const struct ulp_struct ulp_struct_search_cast = {
    "ulp_search_cast", sizeof(struct ulp_search_cast), search_cast, sizeof search_cast / sizeof *search_cast};

static const struct ulp_field mixed_widened[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed_widened, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed_widened, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed_widened, op)},
    {.name = "why", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_mixed_widened, why), .word = word_widened, .words = 4},
};
const struct ulp_struct ulp_struct_mixed_widened = {
    "ulp_mixed_widened", sizeof(struct ulp_mixed_widened), mixed_widened, sizeof mixed_widened / sizeof *mixed_widened};

static const struct ulp_field mixed[] = {
    {.name = "path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed, path), .apart = true},
    {.name = "low_type", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed, low_type)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed, reason)},
    {.name = "low_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, low_count)},
    {.name = "float_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, float_count)},
    {.name = "other_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, other_count)},
    {.name = "cast_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, cast_count)},
    {.name = "constant_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, constant_count)},
    {.name = "duplicate_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, duplicate_count)},
    {.name = "widened_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, widened_count), .counts = true},
    {.name = "widened", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_mixed, widened), .type = &ulp_struct_mixed_widened, .points = true, .counted = true, .count = offsetof(struct ulp_mixed, widened_count)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_mixed, sample_count)},
    {.name = "checked", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_mixed, checked)},
    {.name = "external", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_mixed, external)},
};
const struct ulp_struct ulp_struct_mixed = {
    "ulp_mixed", sizeof(struct ulp_mixed), mixed, sizeof mixed / sizeof *mixed};

static const struct ulp_field search[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, arguments)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, reference)},
    {.name = "cost", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, cost)},
    {.name = "base", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, base), .apart = true},
    {.name = "by_node", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, by_node)},
    {.name = "scaled", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, scaled)},
    {.name = "budget", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, budget)},
    {.name = "tolerance_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, tolerance_count), .counts = true},
    {.name = "tolerances", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, tolerances), .points = true, .counted = true, .count = offsetof(struct ulp_search, tolerance_count)},
    {.name = "by_default", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, by_default)},
    {.name = "headroom", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, headroom)},
    {.name = "follows", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, follows)},
    {.name = "decided_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, decided_count), .counts = true},
    {.name = "decided", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, decided), .type = &ulp_struct_search_decided, .points = true, .counted = true, .count = offsetof(struct ulp_search, decided_count)},
    {.name = "before", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, before)},
    {.name = "full", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, full)},
    {.name = "met", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, met)},
    {.name = "minimal", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, minimal)},
    {.name = "timed_out", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, timed_out)},
    {.name = "ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, ratio)},
    {.name = "predicted", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, predicted)},
    {.name = "grade", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_search, grade), .word = word_grade, .words = 4},
    {.name = "grade_text", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, grade_text)},
    {.name = "bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, bits)},
    {.name = "mantissa", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, mantissa)},
    {.name = "exponent", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, exponent)},
    {.name = "relaxed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, relaxed)},
    {.name = "total_cost", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, total_cost)},
    {.name = "total_weight", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, total_weight)},
    {.name = "format_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, format_count), .counts = true},
    {.name = "formats", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, formats), .type = &ulp_struct_search_format, .points = true, .counted = true, .count = offsetof(struct ulp_search, format_count)},
    {.name = "layer_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, layer_count), .counts = true, .said = true},
    {.name = "layers", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, layers), .type = &ulp_struct_search_layer, .points = true, .counted = true, .count = offsetof(struct ulp_search, layer_count), .apart = true},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, node_count), .counts = true, .said = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, nodes), .type = &ulp_struct_search_node, .points = true, .counted = true, .count = offsetof(struct ulp_search, node_count), .apart = true},
    {.name = "narrow", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, narrow), .list = "formats"},
    {.name = "kept_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, kept_count), .counts = true},
    {.name = "kept", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, kept), .type = &ulp_struct_search_node, .points = true, .counted = true, .count = offsetof(struct ulp_search, kept_count)},
    {.name = "uniform", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_search, uniform)},
    {.name = "uniform_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, uniform_count), .counts = true, .said = true},
    {.name = "uniforms", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, uniforms), .type = &ulp_struct_search_uniform, .points = true, .counted = true, .count = offsetof(struct ulp_search, uniform_count), .apart = true},
    {.name = "point_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, point_count), .counts = true},
    {.name = "frontier", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, frontier), .type = &ulp_struct_search_point, .points = true, .counted = true, .count = offsetof(struct ulp_search, point_count)},
    {.name = "range_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, range_count), .counts = true},
    {.name = "ranges", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, ranges), .type = &ulp_struct_search_range, .points = true, .counted = true, .count = offsetof(struct ulp_search, range_count)},
    {.name = "confidence", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, confidence)},
    {.name = "target_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, target_count), .counts = true},
    {.name = "targets", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, targets), .type = &ulp_struct_search_target, .points = true, .counted = true, .count = offsetof(struct ulp_search, target_count)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_search, place_count)},
    {.name = "kept_macs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, kept_macs)},
    {.name = "macs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, macs)},
    {.name = "kept_bytes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, kept_bytes)},
    {.name = "bytes", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, bytes)},
    {.name = "input_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, input_count), .counts = true},
    {.name = "inputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, inputs), .type = &ulp_struct_search_input, .points = true, .counted = true, .count = offsetof(struct ulp_search, input_count)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, sample_count), .counts = true},
    {.name = "before_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, before_count), .counts = true},
    {.name = "validated_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, validated_count), .counts = true},
    {.name = "validated_met", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, validated_met)},
    {.name = "samples", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, samples), .type = &ulp_struct_search_sample, .points = true, .counted = true, .count = offsetof(struct ulp_search, sample_count)},
    {.name = "before_samples", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, before_samples), .type = &ulp_struct_search_sample, .points = true, .counted = true, .count = offsetof(struct ulp_search, before_count)},
    {.name = "validated", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, validated), .type = &ulp_struct_search_sample, .points = true, .counted = true, .count = offsetof(struct ulp_search, validated_count)},
    {.name = "entry_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, entry_count), .apart = true, .counts = true},
    {.name = "entries", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, entries), .type = &ulp_struct_search_entry, .points = true, .counted = true, .count = offsetof(struct ulp_search, entry_count), .apart = true},
    {.name = "cast_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, cast_count), .counts = true},
    {.name = "cast_elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, cast_elements)},
    {.name = "cast_bytes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, cast_bytes)},
    {.name = "casts", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, casts), .type = &ulp_struct_search_cast, .points = true, .counted = true, .count = offsetof(struct ulp_search, cast_count)},
    {.name = "mixed", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_search, mixed), .type = &ulp_struct_mixed, .apart = true},
    {.name = "mixed_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, mixed_ratio)},
    {.name = "unit_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, unit_ratio)},
    {.name = "unit", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, unit)},
    {.name = "quantised", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, quantised)},
    {.name = "quantised_reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_search, quantised_reason)},
    {.name = "quantised_opset", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_search, quantised_opset)},
    {.name = "tensorrt", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_search, tensorrt)},
    {.name = "quantised_constants", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, quantised_constants)},
    {.name = "quantised_values", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, quantised_values)},
    {.name = "declared_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, declared_ratio)},
    {.name = "runs", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, runs)},
    {.name = "tried", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_search, tried)},
    {.name = "work", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, work)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, seconds)},
    {.name = "audit_seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_search, audit_seconds), .apart = true},
};
const struct ulp_struct ulp_struct_search = {
    "ulp_search", sizeof(struct ulp_search), search, sizeof search / sizeof *search};
