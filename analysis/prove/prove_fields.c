/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const char *word_proof_verdict(int value)
{
    return ulp_proof_verdict_name((enum ulp_proof_verdict)value);
}

static const struct ulp_field proof_input[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_input, name)},
    {.name = "low", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_input, low)},
    {.name = "high", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_input, high)},
    {.name = "why", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_input, why)},
    {.name = "given", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof_input, given)},
    {.name = "sampled", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof_input, sampled)},
    {.name = "beyond", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof_input, beyond)},
};
const struct ulp_struct ulp_struct_proof_input = {
    "ulp_proof_input", sizeof(struct ulp_proof_input), proof_input, sizeof proof_input / sizeof *proof_input};

static const struct ulp_field proof_output[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_output, name)},
    {.name = "verdict", .kind = ULP_FIELD_WORD, .offset = offsetof(struct ulp_proof_output, verdict), .word = word_proof_verdict, .words = 3},
    {.name = "bound", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_output, bound)},
    {.name = "low", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_output, low)},
    {.name = "high", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_output, high)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_output, elements)},
    {.name = "unproven", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_output, unproven)},
    {.name = "infinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_output, infinite)},
};
const struct ulp_struct ulp_struct_proof_output = {
    "ulp_proof_output", sizeof(struct ulp_proof_output), proof_output, sizeof proof_output / sizeof *proof_output};

static const struct ulp_field proof_hidden[] = {
    {.name = "what", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_hidden, what)},
    {.name = "bound", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_hidden, bound)},
    {.name = "limit", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_hidden, limit)},
    {.name = "proven", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof_hidden, proven)},
};
const struct ulp_struct ulp_struct_proof_hidden = {
    "ulp_proof_hidden", sizeof(struct ulp_proof_hidden), proof_hidden, sizeof proof_hidden / sizeof *proof_hidden};

static const struct ulp_field proof_node[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_node, index)},
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_node, name)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_node, op)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_node, output_count), .counts = true},
    {.name = "hidden_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof_node, hidden_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_proof_node, outputs), .type = &ulp_struct_proof_output, .points = true, .counted = true, .count = offsetof(struct ulp_proof_node, output_count)},
    {.name = "hidden", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_proof_node, hidden), .type = &ulp_struct_proof_hidden, .points = true, .counted = true, .count = offsetof(struct ulp_proof_node, hidden_count)},
    {.name = "inputs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_node, inputs)},
    {.name = "normalised", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof_node, normalised)},
    {.name = "reason", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof_node, reason)},
    {.name = "grew", .kind = ULP_FIELD_INDEX, .offset = offsetof(struct ulp_proof_node, grew)},
    {.name = "grew_from", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof_node, grew_from)},
};
const struct ulp_struct ulp_struct_proof_node = {
    "ulp_proof_node", sizeof(struct ulp_proof_node), proof_node, sizeof proof_node / sizeof *proof_node};

static const struct ulp_field proof[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof, arguments)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof, arithmetic)},
    {.name = "format", .kind = ULP_FIELD_NAMED, .offset = offsetof(struct ulp_proof, format), .type = &ulp_struct_format},
    {.name = "input_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, input_count), .counts = true},
    {.name = "inputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_proof, inputs), .type = &ulp_struct_proof_input, .points = true, .counted = true, .count = offsetof(struct ulp_proof, input_count)},
    {.name = "node_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, node_count), .counts = true},
    {.name = "nodes", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_proof, nodes), .type = &ulp_struct_proof_node, .points = true, .counted = true, .count = offsetof(struct ulp_proof, node_count)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, output_count)},
    {.name = "counts", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, counts), .key = word_proof_verdict, .length = 3},
    {.name = "hidden_unproven", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, hidden_unproven)},
    {.name = "empty", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_proof, empty)},
    {.name = "place_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_proof, place_count), .counts = true},
    {.name = "places", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_proof, places), .type = &ulp_struct_place, .points = true, .counted = true, .count = offsetof(struct ulp_proof, place_count)},
    {.name = "short_of_memory", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_proof, short_of_memory)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_proof, seconds)},
};
const struct ulp_struct ulp_struct_proof = {
    "ulp_proof", sizeof(struct ulp_proof), proof, sizeof proof / sizeof *proof};
