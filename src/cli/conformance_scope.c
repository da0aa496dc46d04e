/* What is out of scope, with a reason each. Nothing else is excused. */
#include <stdio.h>
#include <string.h>

#include "cli/conformance.h"

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
    {"v1.16.2/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "wrong expectation, corrected in ONNX 1.17: it counts elements beyond the padding"},
    {"v1.13.1/test_cast_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.15.0/test_cast_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.15.0/test_castlike_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.17.0/test_cast_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.17.0/test_castlike_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.18.0/test_cast_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.18.0/test_castlike_FLOAT_to_BFLOAT16", TRUNCATED},
    {"v1.13.1/test_castlike_BFLOAT16_to_FLOAT", "its arrays do not have the shapes it declares"},
    {"v1.13.1/test_castlike_FLOAT_to_BFLOAT16", "its arrays do not have the shapes it declares"},
    {"v1.18.0/test_cast_FLOAT_to_FLOAT4E2M1", NO_NAN},
    {"v1.18.0/test_cast_FLOAT16_to_FLOAT4E2M1", NO_NAN},
    /* Debian's package holds the cases of 1.13.1 */
    {"libonnx-testdata/data/node/test_cast_FLOAT_to_BFLOAT16", TRUNCATED},
    {"libonnx-testdata/data/node/test_castlike_BFLOAT16_to_FLOAT",
     "its arrays do not have the shapes it declares"},
    {"libonnx-testdata/data/node/test_castlike_FLOAT_to_BFLOAT16",
     "its arrays do not have the shapes it declares"},
    {"node/test_dft_inverse", "the expectation is off by 1.9e-7 from an exact 0: the exact result "
                              "fails atol 1e-7"},
    {"test_bernoulli", "random numbers: another generator"},
    {"test_training_dropout", "random numbers: another generator"},
    {"test_identity_opt", OPTIONAL},
    {"test_identity_sequence", SEQUENCES},
    {0},
};
/* clang-format on */

const char *find_excuse(const struct excuse *list, const char *what)
{
    for (; list->what; list++)
        if (strcmp(list->what, what) == 0)
            return list->reason;
    return NULL;
}

static const char *excuse_folder(const char *folder)
{
    for (const struct excuse *row = excused_cases; row->what; row++) {
        char wanted[256];
        snprintf(wanted, sizeof wanted, "/%s", row->what);
        const char *at = strstr(folder, wanted), *last = strrchr(folder, '/');
        if (at && last && strstr(at, "test_") == last + 1)
            return row->reason;
    }
    return NULL;
}

static const char *excuse_model(const struct ulp_model *model)
{
    for (const struct excuse *row = excused_operators; row->what; row++)
        if (ulp_model_has_operator(model, row->what))
            return row->reason;
    for (int type = 0; type < ULP_TYPE_COUNT; type++) {
        const char *reason = find_excuse(excused_types, ulp_type_name((enum ulp_type)type));
        if (reason && ulp_model_has_type(model, (enum ulp_type)type))
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
