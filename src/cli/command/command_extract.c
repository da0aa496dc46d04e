/* ulpscope extract: a part of a model for a bug report. */

#include "base/error.h"
#include "cli/command.h"

struct extract_options {
    struct common_options common;
    const char *part, *out;
};

static enum ulp_status extract(void *parsed, struct ulp_error *error)
{
    const struct extract_options *options = parsed;
    struct ulp_extracted extracted;
    ULP_SCOPED(close_work) struct work work = {0};
    struct ulp_extract_options wanted = {.part = options->part,
                                         .thread_count = options->common.threads,
                                         .progress = &work.observer};
    ULP_TRY(ulp_arithmetic_find("pair", &wanted.reference, error));
    ULP_TRY(open_work(&work, &options->common, NULL, NULL, error));
    ULP_TRY(ulp_extract(work.model, &wanted, work.given->inputs, options->out, &extracted, error));
    progress_clear(&work.progress);
    say_wrapped(2,
                "%s/model.onnx: %zu node%s, %zu input%s, %zu output%s; exact outputs are beside it "
                "(test_data_set_0, outputs.npz)",
                options->out, extracted.node_count, extracted.node_count == 1 ? "" : "s",
                extracted.input_count, extracted.input_count == 1 ? "" : "s",
                extracted.output_count, extracted.output_count == 1 ? "" : "s");
    return ULP_OK;
}

#define PARSED struct extract_options
static const struct option_row rows[] = {
#include "cli/command/extract_option.def"
    {0}};
const struct command command_extract = {
    .name = "extract",
    .summary = "write a part of a model with exact outputs, for a bug report",
    .purpose = "Write the nodes of MODEL from FIRST to LAST, or one NODE, as a model of their own, "
               "with what they read in an exact run of MODEL, rounded once to their types, and the "
               "exact outputs for that: a small file that shows what a runtime gets wrong.",
    .examples = "  ulpscope extract model.onnx /layer.3/MatMul -i inputs.npz -o bug/\n"
                "  ulpscope extract model.onnx /norm/Pow,/norm/Div -i inputs.npz -o bug/\n"
                "      the normalisation by itself\n"
                "  cd bug && polygraphy run model.onnx --trt --data-loader-script load_data.py "
                "--load-outputs outputs.json\n"
                "  ulpscope audit bug/model.onnx -i bug/inputs.npz -a trt:fp16",
    .notes = "A node in a body or function stands for the node of the main graph that has it. "
             "Integers that follow from shapes alone become constants.",
    .groups = {{NULL, rows, 0}, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct extract_options),
    .is_common = true,
    .run = extract,
};
