/* The list of what conformance leaves out, with a reason for each. Nothing else is
 * excused. */
#include <stdio.h>
#include <string.h>

#include "tests/conformance/conformance.h"

#define SEQUENCES "sequences"
#define OPTIONAL "optional values"
#define STRINGS "strings"
#define TRAINING "training"
#define MACHINE_LEARNING "ai.onnx.ml"
#define TRUNCATED \
    "wrong expectation, corrected in ONNX 1.19: BFLOAT16 truncated instead of rounded to nearest"
#define NO_NAN "undefined: it expects NaN, which FP4 lacks, to become 6; since ONNX 1.19 it is 0"

/* clang-format off */
const struct excuse excused_operators[] = {
    {"Adagrad", TRAINING},
    {"Adam", TRAINING},
    {"ArrayFeatureExtractor", MACHINE_LEARNING},
    {"Binarizer", MACHINE_LEARNING},
    {"FlexAttention", "ai.onnx.preview"},
    {"Gradient", TRAINING},
    {"ImageDecoder", "decodes image files"},
    {"LabelEncoder", MACHINE_LEARNING},
    {"Momentum", TRAINING},
    {"NegativeLogLikelihoodLoss", TRAINING},
    {"Optional", OPTIONAL},
    {"OptionalGetElement", OPTIONAL},
    {"OptionalHasElement", OPTIONAL},
    {"RegexFullMatch", STRINGS},
    {"SequenceAt", SEQUENCES},
    {"SequenceConstruct", SEQUENCES},
    {"SequenceEmpty", SEQUENCES},
    {"SequenceErase", SEQUENCES},
    {"SequenceInsert", SEQUENCES},
    {"SequenceLength", SEQUENCES},
    {"SequenceMap", SEQUENCES},
    {"ConcatFromSequence", SEQUENCES},
    {"SplitToSequence", SEQUENCES},
    {"SoftmaxCrossEntropyLoss", TRAINING},
    {"StringConcat", STRINGS},
    {"StringNormalizer", STRINGS},
    {"StringSplit", STRINGS},
    {"TreeEnsemble", MACHINE_LEARNING},
    {0},
};
/* clang-format on */

/* clang-format off */
const struct excuse excused_types[] = {
    {"STRING", STRINGS},
    {"COMPLEX64", "complex numbers"},
    {"COMPLEX128", "complex numbers"},
    {0},
};
/* clang-format on */

/* clang-format off */
const struct excuse excused_cases[] = {
    {"test_bernoulli", "random numbers: another generator"},
    {"test_training_dropout", "random numbers: another generator"},
    {"test_identity_opt", OPTIONAL},
    {"test_identity_sequence", SEQUENCES},
    {0},
};
/* clang-format on */

#define EXPECTED "test_data_set_0/output_0.pb"

/* clang-format off */
const struct wrong_case wrong_cases[] = {
    {{"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
      "wrong expectation, corrected in ONNX 1.17: it counts elements beyond the padding"},
     EXPECTED, 0x29dfe5e5295b9315},
    {{"test_cast_FLOAT_to_BFLOAT16", TRUNCATED}, EXPECTED, 0x9d049563e06a25c1},
    {{"test_castlike_FLOAT_to_BFLOAT16", TRUNCATED}, EXPECTED, 0x9d049563e06a25c1},
    {{"test_cast_FLOAT_to_FLOAT4E2M1", NO_NAN}, EXPECTED, 0x630ba6a77a12e2b7},
    {{"test_cast_FLOAT16_to_FLOAT4E2M1", NO_NAN}, EXPECTED, 0x630ba6a77a12e2b7},
    {{"test_castlike_BFLOAT16_to_FLOAT",
      "ONNX 1.13: its arrays do not have the shapes it declares"},
     "model.onnx", 0x926eb2b1230a74ed},
    {{"test_castlike_BFLOAT16_to_FLOAT_expanded",
      "ONNX 1.13: its arrays do not have the shapes it declares"},
     "model.onnx", 0xb23408d2c521988f},
    {{"test_dft_inverse", "the expectation is off by 1.9e-7 from an exact 0: the exact result "
                          "fails atol 1e-7"},
     EXPECTED, 0xdece62748f8d538b},
    {{0}, NULL, 0},
};
/* clang-format on */

const char *find_excuse(const struct excuse *list, const char *what)
{
    for (; list->what; list++)
        if (strcmp(list->what, what) == 0)
            return list->reason;
    return NULL;
}

/* 64-bit FNV-1a of a file of the case; 0: it cannot be read. */
static uint64_t hash_file(const char *folder, const char *file)
{
    char path[CASE_PATH_ROOM];
    snprintf(path, sizeof path, "%.4200s/%s", folder, file);
    FILE *in = fopen(path, "rb");
    uint64_t hash = 0xcbf29ce484222325;
    if (!in)
        return 0;
    for (int byte; (byte = getc(in)) != EOF;)
        hash = (hash ^ (uint64_t)byte) * 0x100000001b3;
    fclose(in);
    return hash;
}

static const char *excuse_folder(const char *folder)
{
    const char *last = strrchr(folder, '/'), *name = last ? last + 1 : folder;
    for (const struct excuse *row = excused_cases; row->what; row++)
        if (strncmp(name, row->what, strlen(row->what)) == 0)
            return row->reason;
    for (const struct wrong_case *row = wrong_cases; row->excuse.what; row++)
        if (strncmp(name, row->excuse.what, strlen(row->excuse.what)) == 0 &&
            hash_file(folder, row->file) == row->hash)
            return row->excuse.reason;
    return NULL;
}

bool graph_has_type(const struct ulp_graph *graph, enum ulp_type type)
{
    bool found = false;
    for (size_t v = 0; v < graph->value_count && !found; v++)
        found = graph->values[v].info.type == type;
    for (size_t n = 0; n < graph->node_count && !found; n++)
        for (size_t a = 0; a < graph->nodes[n].attribute_count && !found; a++)
            found = graph->nodes[n].attributes[a].kind == ULP_ATTRIBUTE_GRAPH &&
                    graph_has_type(graph->nodes[n].attributes[a].graph, type);
    return found;
}

static const char *excuse_model(const struct ulp_model *model)
{
    for (const struct excuse *row = excused_operators; row->what; row++)
        if (ulp_model_has_operator(model, row->what))
            return row->reason;
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        const char *reason = find_excuse(excused_types, ulp_type_name((enum ulp_type)type));
        if (reason && graph_has_type(model->graph, (enum ulp_type)type))
            return reason;
    }
    return NULL;
}

const char *excuse_case(const char *folder, const struct ulp_model *model)
{
    const char *reason = excuse_folder(folder);
    if (!reason && model && ulp_model_opset(model, "") &&
        ulp_model_opset(model, "") < CONFORMANCE_OPSET_MIN)
        reason = "an opset before 7";
    return reason || !model ? reason : excuse_model(model);
}
