/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_certainty(int value)
{
    return ulp_certainty_name((enum ulp_certainty)value);
}
static const char *word_engine_map_kind(int value)
{
    return ulp_engine_map_kind_name((enum ulp_engine_map_kind)value);
}
static const char *word_mapped_by(int value)
{
    return ulp_mapped_by_name((enum ulp_mapped_by)value);
}
static const char *word_type(int value)
{
    return ulp_type_name((enum ulp_type)value);
}
static const char *word_wish_verdict(int value)
{
    return ulp_wish_verdict_name((enum ulp_wish_verdict)value);
}

static const struct ulp_field engine_tensor[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_tensor, name)},
    {.name = "format", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_tensor, format)},
    {.name = "type", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_tensor, type), .word = word_type, .words = 27},
    {.name = "rank", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_engine_tensor, rank)},
    {.name = "dims", .kind = ULP_FIELD_INT64, .offset = offsetof(struct ulp_engine_tensor, dims), .length = 16},
};
const struct ulp_struct ulp_struct_engine_tensor = {
    "ulp_engine_tensor", sizeof(struct ulp_engine_tensor), engine_tensor, sizeof engine_tensor / sizeof *engine_tensor};

static const struct ulp_field engine_layer[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, name)},
    {.name = "kind", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, kind)},
    {.name = "kernel", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, kernel)},
    {.name = "metadata", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, metadata)},
    {.name = "origin", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, origin)},
    {.name = "activation", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_layer, activation)},
    {.name = "input_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_layer, input_count), .apart = true, .counts = true},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_layer, output_count), .apart = true, .counts = true},
    {.name = "inputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_layer, inputs), .type = &ulp_struct_engine_tensor, .points = true, .counted = true, .count = offsetof(struct ulp_engine_layer, input_count), .apart = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_layer, outputs), .type = &ulp_struct_engine_tensor, .points = true, .counted = true, .count = offsetof(struct ulp_engine_layer, output_count), .apart = true},
    {.name = "weights", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_layer, weights), .word = word_type, .words = 27},
    {.name = "bias", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_layer, bias), .word = word_type, .words = 27},
    {.name = "profile", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_engine_layer, profile)},
};
const struct ulp_struct ulp_struct_engine_layer = {
    "ulp_engine_layer", sizeof(struct ulp_engine_layer), engine_layer, sizeof engine_layer / sizeof *engine_layer};

static const struct ulp_field engine_setting[] = {
    {.name = "layer", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_setting, layer)},
    {.name = "type", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_setting, type)},
};
const struct ulp_struct ulp_struct_engine_setting = {
    "ulp_engine_setting", sizeof(struct ulp_engine_setting), engine_setting, sizeof engine_setting / sizeof *engine_setting};

static const struct ulp_field engine[] = {
    {.name = "path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine, path)},
    {.name = "form", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_engine, form), .apart = true},
    {.name = "names_only", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine, names_only)},
    {.name = "precisions", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine, precisions)},
    {.name = "version", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine, version)},
    {.name = "layer_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine, layer_count), .apart = true, .counts = true},
    {.name = "binding_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine, binding_count), .apart = true, .counts = true},
    {.name = "profile_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine, profile_count), .apart = true},
    {.name = "layers", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine, layers), .type = &ulp_struct_engine_layer, .points = true, .counted = true, .count = offsetof(struct ulp_engine, layer_count), .apart = true},
    {.name = "bindings", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine, bindings), .points = true, .counted = true, .count = offsetof(struct ulp_engine, binding_count)},
    {.name = "setting_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine, setting_count), .counts = true},
    {.name = "settings", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine, settings), .type = &ulp_struct_engine_setting, .points = true, .counted = true, .count = offsetof(struct ulp_engine, setting_count)},
};
const struct ulp_struct ulp_struct_engine = {
    "ulp_engine", sizeof(struct ulp_engine), engine, sizeof engine / sizeof *engine};

static const struct ulp_field kernel_name[] = {
    {.name = "multiply", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, multiply)},
    {.name = "accumulator", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, accumulator)},
    {.name = "epilogue", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, epilogue)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, output)},
    {.name = "certainty", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_kernel_name, certainty), .word = word_certainty, .words = 4},
    {.name = "matrix", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_kernel_name, matrix)},
    {.name = "unit", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_kernel_name, unit)},
    {.name = "winograd", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_kernel_name, winograd)},
    {.name = "slices", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_kernel_name, slices)},
    {.name = "architecture", .kind = ULP_FIELD_INT, .offset = offsetof(struct ulp_kernel_name, architecture)},
    {.name = "pattern", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, pattern)},
    {.name = "source", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_kernel_name, source)},
};
const struct ulp_struct ulp_struct_kernel_name = {
    "ulp_kernel_name", sizeof(struct ulp_kernel_name), kernel_name, sizeof kernel_name / sizeof *kernel_name};

static const struct ulp_field engine_map_layer[] = {
    {.name = "layer", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map_layer, layer), .type = &ulp_struct_engine_layer, .points = true},
    {.name = "by", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_layer, by), .word = word_mapped_by, .words = 5},
    {.name = "helper", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_layer, helper)},
    {.name = "product", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_layer, product)},
    {.name = "converts", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_layer, converts)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_layer, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_layer, nodes), .points = true, .counted = true, .count = offsetof(struct ulp_engine_map_layer, node_count), .node = true},
    {.name = "input", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_layer, input), .word = word_type, .words = 27},
    {.name = "weights", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_layer, weights), .word = word_type, .words = 27},
    {.name = "output", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_layer, output), .word = word_type, .words = 27},
    {.name = "kernel", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map_layer, kernel), .type = &ulp_struct_kernel_name},
    {.name = "multiply", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_layer, multiply)},
    {.name = "accumulator", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_layer, accumulator)},
    {.name = "certainty", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_layer, certainty), .word = word_certainty, .words = 4},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_layer, arithmetic)},
    {.name = "assumed", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_layer, assumed)},
};
const struct ulp_struct ulp_struct_engine_map_layer = {
    "ulp_engine_map_layer", sizeof(struct ulp_engine_map_layer), engine_map_layer, sizeof engine_map_layer / sizeof *engine_map_layer};

static const struct ulp_field engine_map_node[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_node, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_node, op)},
    {.name = "kind", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_engine_map_node, kind), .word = word_engine_map_kind, .words = 6},
    {.name = "layer", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_engine_map_node, layer)},
    {.name = "layer_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_node, layer_count)},
};
const struct ulp_struct ulp_struct_engine_map_node = {
    "ulp_engine_map_node", sizeof(struct ulp_engine_map_node), engine_map_node, sizeof engine_map_node / sizeof *engine_map_node};

static const struct ulp_field engine_map[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map, model_path)},
    {.name = "engine", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map, engine), .type = &ulp_struct_engine, .points = true},
    {.name = "layer_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, layer_count), .counts = true},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, node_count), .counts = true},
    {.name = "layers", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map, layers), .type = &ulp_struct_engine_map_layer, .points = true, .counted = true, .count = offsetof(struct ulp_engine_map, layer_count)},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map, nodes), .type = &ulp_struct_engine_map_node, .points = true, .counted = true, .count = offsetof(struct ulp_engine_map, node_count)},
    {.name = "numbered", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map, numbered)},
    {.name = "gpu", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map, gpu)},
    {.name = "kinds", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, kinds), .key = word_engine_map_kind, .length = 6},
    {.name = "products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, products)},
    {.name = "fp16_accumulators", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, fp16_accumulators)},
    {.name = "fp32_accumulators", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, fp32_accumulators)},
    {.name = "int32_accumulators", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, int32_accumulators)},
    {.name = "unknown_accumulators", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, unknown_accumulators)},
    {.name = "fp32_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, fp32_products)},
    {.name = "tf32_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, tf32_products)},
    {.name = "fp16_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, fp16_products)},
    {.name = "bf16_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, bf16_products)},
    {.name = "int8_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, int8_products)},
    {.name = "fp8_products", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, fp8_products)},
    {.name = "winograd", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, winograd)},
    {.name = "sliced", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map, sliced)},
};
const struct ulp_struct ulp_struct_engine_map = {
    "ulp_engine_map", sizeof(struct ulp_engine_map), engine_map, sizeof engine_map / sizeof *engine_map};

static const struct ulp_field wish[] = {
    {.name = "pattern", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_wish, pattern)},
    {.name = "type", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_wish, type)},
    {.name = "verdict", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_wish, verdict), .word = word_wish_verdict, .words = 5},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wish, node_count)},
    {.name = "obeyed", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wish, obeyed)},
    {.name = "disobeyed", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wish, disobeyed)},
    {.name = "unknown", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wish, unknown)},
    {.name = "node", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_wish, node), .node = true},
    {.name = "layer", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_wish, layer)},
    {.name = "ran", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_wish, ran)},
    {.name = "hint", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_wish, hint)},
};
const struct ulp_struct ulp_struct_wish = {
    "ulp_wish", sizeof(struct ulp_wish), wish, sizeof wish / sizeof *wish};

static const struct ulp_field wishes[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wishes, count), .counts = true},
    {.name = "counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_wishes, counts), .key = word_wish_verdict, .length = 5},
    {.name = "items", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_wishes, items), .type = &ulp_struct_wish, .points = true, .counted = true, .count = offsetof(struct ulp_wishes, count)},
};
const struct ulp_struct ulp_struct_wishes = {
    "ulp_wishes", sizeof(struct ulp_wishes), wishes, sizeof wishes / sizeof *wishes};

static const struct ulp_field engine_map_change[] = {
    {.name = "layer", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_change, layer)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_change, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_change, nodes), .points = true, .counted = true, .count = offsetof(struct ulp_engine_map_change, node_count), .node = true},
    {.name = "kernel", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_change, kernel)},
    {.name = "type", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_change, type)},
    {.name = "accumulator", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_change, accumulator)},
    {.name = "fusion", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_engine_map_change, fusion)},
    {.name = "was", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_change, was)},
    {.name = "is", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_change, is)},
    {.name = "without", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_engine_map_change, without)},
};
const struct ulp_struct ulp_struct_engine_map_change = {
    "ulp_engine_map_change", sizeof(struct ulp_engine_map_change), engine_map_change, sizeof engine_map_change / sizeof *engine_map_change};

static const struct ulp_field engine_map_changes[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_engine_map_changes, count), .counts = true},
    {.name = "items", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_engine_map_changes, items), .type = &ulp_struct_engine_map_change, .points = true, .counted = true, .count = offsetof(struct ulp_engine_map_changes, count)},
    {.name = "first", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_engine_map_changes, first)},
    {.name = "second", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_engine_map_changes, second)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_engine_map_changes, output)},
};
const struct ulp_struct ulp_struct_engine_map_changes = {
    "ulp_engine_map_changes", sizeof(struct ulp_engine_map_changes), engine_map_changes, sizeof engine_map_changes / sizeof *engine_map_changes};
