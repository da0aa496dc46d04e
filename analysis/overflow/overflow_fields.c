/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_overflow_cause(int value)
{
    return ulp_overflow_cause_name((enum ulp_overflow_cause)value);
}
static const char *word_overflow_effect(int value)
{
    return ulp_overflow_effect_name((enum ulp_overflow_effect)value);
}
static const char *word_overflow_verdict(int value)
{
    return ulp_overflow_verdict_name((enum ulp_overflow_verdict)value);
}

static const struct ulp_field extreme[] = {
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_extreme, count)},
    {.name = "location", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, location)},
    {.name = "scale", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, scale)},
    {.name = "shape", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, shape)},
    {.name = "chance", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, chance)},
    {.name = "low", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, low)},
    {.name = "high", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_extreme, high)},
};
const struct ulp_struct ulp_struct_extreme = {
    "ulp_extreme", sizeof(struct ulp_extreme), extreme, sizeof extreme / sizeof *extreme};

static const struct ulp_field overflow_output[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_output, name)},
    {.name = "format", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_overflow_output, format), .type = &ulp_struct_format},
    {.name = "largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, largest)},
    {.name = "smallest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, smallest)},
    {.name = "count", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, count)},
    {.name = "subnormal", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, subnormal)},
    {.name = "zero", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, zero)},
    {.name = "headroom_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, headroom_bits)},
    {.name = "verdict", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_output, verdict), .word = word_overflow_verdict, .words = 4},
    {.name = "overflowed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, overflowed)},
    {.name = "cause", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_output, cause), .word = word_overflow_cause, .words = 8},
    {.name = "culprit", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_output, culprit)},
    {.name = "sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_output, sample)},
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_output, index)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_output, sample_count), .counts = true, .said = true},
    {.name = "sample_largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_output, sample_largest), .points = true, .counted = true, .count = offsetof(struct ulp_overflow_output, sample_count), .apart = true},
    {.name = "unseen", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_output, unseen), .type = &ulp_struct_extreme},
    {.name = "masked", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_output, masked)},
};
const struct ulp_struct ulp_struct_overflow_output = {
    "ulp_overflow_output", sizeof(struct ulp_overflow_output), overflow_output, sizeof overflow_output / sizeof *overflow_output};

static const struct ulp_field overflow_inside[] = {
    {.name = "format", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_overflow_inside, format), .type = &ulp_struct_format},
    {.name = "verdict", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_inside, verdict), .word = word_overflow_verdict, .words = 4},
    {.name = "headroom_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_inside, headroom_bits)},
};
const struct ulp_struct ulp_struct_overflow_inside = {
    "ulp_overflow_inside", sizeof(struct ulp_overflow_inside), overflow_inside, sizeof overflow_inside / sizeof *overflow_inside};

static const struct ulp_field overflow_hidden[] = {
    {.name = "words", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_hidden, words)},
    {.name = "sum", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_hidden, sum)},
    {.name = "largest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, largest)},
    {.name = "smallest", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, smallest)},
    {.name = "bound", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, bound)},
    {.name = "count", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, count)},
    {.name = "subnormal", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, subnormal)},
    {.name = "zero", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_hidden, zero)},
    {.name = "sample", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_hidden, sample)},
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_hidden, index)},
    {.name = "k", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_overflow_hidden, k)},
    {.name = "first", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_overflow_hidden, first)},
    {.name = "own", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_hidden, own), .type = &ulp_struct_overflow_inside},
    {.name = "narrow", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_hidden, narrow), .type = &ulp_struct_overflow_inside},
};
const struct ulp_struct ulp_struct_overflow_hidden = {
    "ulp_overflow_hidden", sizeof(struct ulp_overflow_hidden), overflow_hidden, sizeof overflow_hidden / sizeof *overflow_hidden};

static const struct ulp_field overflow_node[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_node, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_node, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_node, op)},
    {.name = "moves", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_node, moves)},
    {.name = "born", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_node, born)},
    {.name = "reads_overflow", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_node, reads_overflow)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_node, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_node, outputs), .type = &ulp_struct_overflow_output, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_node, output_count)},
    {.name = "verdict", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_node, verdict), .word = word_overflow_verdict, .words = 4},
    {.name = "hidden_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_node, hidden_count), .counts = true},
    {.name = "hidden", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_node, hidden), .type = &ulp_struct_overflow_hidden, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_node, hidden_count)},
    {.name = "own", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_node, own), .word = word_overflow_verdict, .words = 4},
    {.name = "narrow", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_node, narrow), .word = word_overflow_verdict, .words = 4},
    {.name = "additions", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_node, additions)},
    {.name = "absorbed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_node, absorbed)},
    {.name = "effect", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_overflow_node, effect), .word = word_overflow_effect, .words = 5},
    {.name = "effect_node", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_overflow_node, effect_node), .node = true},
    {.name = "keep", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_overflow_node, keep)},
};
const struct ulp_struct ulp_struct_overflow_node = {
    "ulp_overflow_node", sizeof(struct ulp_overflow_node), overflow_node, sizeof overflow_node / sizeof *overflow_node};

static const struct ulp_field overflow_remedy[] = {
    {.name = "what", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_remedy, what)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_remedy, node_count)},
    {.name = "cast_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_remedy, cast_count)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_remedy, nonfinite)},
    {.name = "turned", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_remedy, turned)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_remedy, sqnr_db)},
    {.name = "output", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_remedy, output)},
};
const struct ulp_struct ulp_struct_overflow_remedy = {
    "ulp_overflow_remedy", sizeof(struct ulp_overflow_remedy), overflow_remedy, sizeof overflow_remedy / sizeof *overflow_remedy};

static const struct ulp_field overflow_lane[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_lane, name)},
    {.name = "arithmetic", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_overflow_lane, arithmetic), .type = &ulp_struct_arithmetic},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_lane, nodes), .type = &ulp_struct_overflow_node, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_lane, node_count)},
    {.name = "born_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, born_count)},
    {.name = "harmful_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, harmful_count)},
    {.name = "counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, counts), .key = word_overflow_verdict, .length = 4},
    {.name = "keep_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, keep_count)},
    {.name = "narrow_counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, narrow_counts), .key = word_overflow_verdict, .length = 4},
    {.name = "unseen", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_lane, unseen), .type = &ulp_struct_extreme},
    {.name = "remedy_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_lane, remedy_count), .counts = true},
    {.name = "remedies", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_lane, remedies), .type = &ulp_struct_overflow_remedy, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_lane, remedy_count)},
    {.name = "computed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_lane, computed)},
};
const struct ulp_struct ulp_struct_overflow_lane = {
    "ulp_overflow_lane", sizeof(struct ulp_overflow_lane), overflow_lane, sizeof overflow_lane / sizeof *overflow_lane};

static const struct ulp_field overflow_forecast[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_forecast, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_forecast, arguments)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_forecast, reference)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_forecast, sample_count), .counts = true},
    {.name = "sample_names", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_forecast, sample_names), .points = true, .counted = true, .count = offsetof(struct ulp_overflow_forecast, sample_count)},
    {.name = "scanned_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_forecast, scanned_count)},
    {.name = "lane_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_forecast, lane_count), .counts = true},
    {.name = "lanes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_forecast, lanes), .type = &ulp_struct_overflow_lane, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_forecast, lane_count)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_overflow_forecast, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_forecast, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_overflow_forecast, place_count)},
    {.name = "unjudged", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_overflow_forecast, unjudged), .type = &ulp_struct_unjudged_list},
    {.name = "beyond_reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_overflow_forecast, beyond_reference)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_overflow_forecast, seconds)},
};
const struct ulp_struct ulp_struct_overflow_forecast = {
    "ulp_overflow_forecast", sizeof(struct ulp_overflow_forecast), overflow_forecast, sizeof overflow_forecast / sizeof *overflow_forecast};
