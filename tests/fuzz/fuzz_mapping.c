#include "tests/fuzz/fuzz_mapping.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "base/random.h"
#include "base/text/shown.h"
#include "load/load.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/proto.h"

/* ---- the model ---- */

/* The nodes of tests/data/engine's descriptions. */
static struct ulp_model *make_model(void)
{
    static const float values[64];
    const int64_t x[] = {4, 8}, w[] = {8, 8};
    struct proto graph = {0}, weight = proto_tensor("w", ULP_TYPE_FLOAT, 2, w);
    struct proto nodes[] = {proto_node("MatMul", "/fc1/MatMul", "x w", "h1"),
                            proto_node("Add", "/fc1/Add", "h1 x", "h2"),
                            proto_node("Relu", "/act/Relu", "h2", "h3"),
                            proto_node("MatMul", "/fc.2/MatMul", "h3 w", "h4"),
                            proto_node("Softmax", "/soft/Softmax", "h4", "y")};
    struct ulp_model *model = NULL;
    struct ulp_error error;
    proto_text(&graph, GRAPH_NAME, "five");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, x);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, x);
    proto_numbers(&weight, TENSOR_RAW, values, sizeof values);
    proto_message(&graph, GRAPH_INITIALIZER, &weight);
    for (size_t n = 0; n < sizeof nodes / sizeof *nodes; n++)
        proto_message(&graph, GRAPH_NODE, &nodes[n]);
    scoped_proto bytes = proto_model(9, 17, &graph);
    if (ulp_model_load_bytes("five.onnx", bytes.data, bytes.count, NULL, &model, &error) != ULP_OK)
        abort();
    return model;
}

static struct ulp_program *make_plan(const struct ulp_model *model)
{
    struct ulp_arithmetic plain;
    struct ulp_program *program;
    if (ulp_arithmetic_find("fp32", &plain, NULL) != ULP_OK ||
        ulp_program_create(model, &plain, 1, NULL, &program, NULL) != ULP_OK)
        abort();
    return program;
}

/* ---- promises ---- */

/* It may have nothing to do with the model. */
#define MAPPING (FUZZ_ALLOW(ULP_ERROR_INPUT) | FUZZ_ALLOW(ULP_ERROR_USAGE))

static const char *check_built(const struct ulp_engine_map *built)
{
    size_t kinds = 0, layers = 0, named = 0;
    for (size_t k = 0; k <= ULP_BUILT_LOST; k++)
        kinds += built->kinds[k];
    if (kinds != built->node_count)
        return "nodes that are counted twice or not at all";
    for (size_t l = 0; l < built->layer_count; l++) {
        const struct ulp_engine_map_layer *layer = &built->layers[l];
        for (size_t i = 0; i < layer->node_count; i++)
            if (layer->nodes[i] >= built->node_count ||
                (i && layer->nodes[i] <= layer->nodes[i - 1]))
                return "a layer's nodes out of order";
        if ((layer->node_count > 0) != (layer->by != ULP_MAPPED_NOT))
            return "a layer that is mapped to nothing, or by nothing";
        if (!layer->arithmetic || !layer->assumed || !layer->multiply || !layer->accumulator)
            return "a layer without its texts";
        layers += layer->node_count;
    }
    for (size_t n = 0; n < built->node_count; n++) {
        if (built->nodes[n].layer >= (ptrdiff_t)built->layer_count)
            return "a node in a layer that is not there";
        named += built->nodes[n].layer_count;
    }
    return layers == named ? NULL : "layers and nodes that do not agree";
}

static const char *check_text(const struct ulp_engine_map *built)
{
    struct ulp_error error;
    char *text;
    if (ulp_engine_map_text(built, NULL, 5, 100, false, &text, &error) != ULP_OK)
        return "what was built cannot be said";
    const bool clean = ulp_is_utf8(text) && !strchr(text, 0x1b);
    free(text);
    return clean ? NULL : "a summary that is no text";
}

static const char *check_lane(const struct ulp_engine_map *built)
{
    struct ulp_engine_map_lane lane;
    struct ulp_error error = {0};
    const enum ulp_status status =
        ulp_engine_map_lane_make(built, "engine", NULL, NULL, &lane, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, MAPPING, &error);
    ulp_engine_map_lane_free(&lane);
    return NULL;
}

static const char *check_mapping(const struct ulp_engine *engine)
{
    static const struct ulp_program *program; /* made once */
    struct ulp_engine_map built;
    struct ulp_error error = {0};
    if (!program)
        program = make_plan(make_model());
    const enum ulp_status status = ulp_engine_map_make(engine, program, NULL, &built, &error);
    const char *wrong =
        status == ULP_OK ? check_built(&built) : fuzz_failure(status, MAPPING, &error);
    if (status == ULP_OK && !wrong)
        wrong = check_text(&built);
    if (status == ULP_OK && !wrong)
        wrong = check_lane(&built);
    if (status == ULP_OK)
        ulp_engine_map_free(&built);
    return wrong;
}

const char *fuzz_mapping(const uint8_t *bytes, size_t count)
{
    scoped_engine engine = {0};
    struct ulp_error error = {0};
    if (ulp_engine_read(fuzz_file(bytes, count), fuzz_budget(), &engine, &error) != ULP_OK)
        return NULL; /* fuzz_engine judges that */
    const char *wrong = check_mapping(&engine);
    return wrong;
}

/* ---- damage ---- */

static const char *const hostile[] = {
    "",
    "\\u001b[31m",
    "{ForeignNode[/fc1/MatMul.../soft/Softmax]}",
    "{ForeignNode[.../soft/Softmax...]}",
    "/fc1/MatMul + /fc1/Add",
    "PWN(PWN(/act/Relu), ",
    "/fc1/MatMul+/fc1/Add_myl0_1",
    "_myl0_99999999999999999999",
    "[ONNX Layer: /fc.2/MatMul][ONNX Layer: ",
    "sm80_xmma_gemm_f16f16_f16f16_f16_splitK_99999999999_warpsize2x1x999999999999_",
    "Row major linear FP16 format",
    "N/A due to dynamic shapes",
    "x",
    "y",
};

struct source {
    uint64_t seed, counter;
};

static size_t draw(struct source *source, size_t below)
{
    return (size_t)(ulp_random_bits(source->seed, source->counter++) % below);
}

/* What is between the quotes of string `index`, counted around. */
static bool find_string(const uint8_t *bytes, size_t count, size_t index, size_t *start,
                        size_t *length)
{
    size_t seen = 0, open = 0;
    bool inside = false;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < count; i++) {
            if (bytes[i] != '"' || (i && bytes[i - 1] == '\\'))
                continue;
            if (inside && (seen == index || round)) {
                *start = open + 1;
                *length = i - open - 1;
                return true;
            }
            seen += inside;
            inside = !inside;
            open = i;
        }
    return false;
}

static uint8_t *replace(uint8_t *bytes, size_t *count, size_t start, size_t length,
                        const uint8_t *by, size_t by_length)
{
    uint8_t *out = malloc(*count - length + by_length + 1);
    if (!out)
        abort();
    memcpy(out, bytes, start);
    if (by_length)
        memcpy(out + start, by, by_length);
    memcpy(out + start + by_length, bytes + start + length, *count - start - length);
    *count = *count - length + by_length;
    free(bytes);
    return out;
}

uint8_t *fuzz_mapping_mutate(const uint8_t *bytes, size_t count, uint64_t seed, size_t *out_count)
{
    struct source source = {.seed = seed};
    uint8_t *out = malloc(count + 1), joined[4096];
    if (!out)
        abort();
    memcpy(out, bytes, count);
    *out_count = count;
    for (size_t steps = 1 + draw(&source, 5); steps > 0; steps--) {
        size_t to, to_length, from, from_length;
        if (!find_string(out, *out_count, draw(&source, 400), &to, &to_length) ||
            !find_string(out, *out_count, draw(&source, 400), &from, &from_length))
            break;
        const char *word = hostile[draw(&source, sizeof hostile / sizeof *hostile)];
        size_t length = from_length < 1024 ? from_length : 1024;
        memcpy(joined, out + from, length);
        switch (draw(&source, 4)) {
        case 0: length = 0; /* a hostile word */ /* fall through */
        case 1:                                  /* behind another string */
            memcpy(joined + length, word, strlen(word));
            length += strlen(word);
            break;
        case 2: break; /* another string */
        case 3:        /* joined with itself */
            memcpy(joined + length, " + ", 3);
            memcpy(joined + length + 3, out + from, length);
            length += 3 + length;
        }
        out = replace(out, out_count, to, to_length, joined, length);
    }
    return out;
}
