/* ulpscope extract: a part of a model for a bug report. */

#include "base/error.h"
#include "cli/command.h"

struct extract_options {
    struct common_options common;
    const char *part, *out;
};

static error_t take_part(struct argp_state *state, struct extract_options *options, char *argument)
{
    if (!options->common.model)
        return ARGP_ERR_UNKNOWN; /* the model's */
    if (options->part)
        refuse(state, "one part is expected, NODE or FIRST,LAST; '%s' is too much", argument);
    options->part = argument;
    return 0;
}

static void check_part(const struct argp_state *state, const struct extract_options *options)
{
    if (!options->part)
        refuse(state, "say which part: NODE, or FIRST,LAST for all nodes from one to the other");
    if (!options->out)
        refuse(state, "give --out FOLDER, where the part is written");
    refuse_shapes(state, &options->common, "extract takes one --shape of each input");
}

static const char documentation[] =
    "Write the nodes of MODEL from FIRST to LAST, or one NODE, as a model of their own, with what "
    "they read in an exact run of MODEL, rounded once to their types, and the exact outputs for "
    "that: a small file that shows what a runtime gets wrong."
    "\vA node in a body or function stands for the node of the main graph that has it. Integers "
    "that follow from shapes alone become constants.\n\n"
    "Examples:\n"
    "  ulpscope extract model.onnx /layer.3/MatMul -i inputs.npz -o bug/\n"
    "  ulpscope extract model.onnx /norm/Pow,/norm/Div -i inputs.npz -o bug/\n"
    "      the normalisation by itself\n"
    "  cd bug && polygraphy run model.onnx --trt --data-loader-script load_data.py --load-outputs "
    "outputs.json\n"
    "  ulpscope audit bug/model.onnx -i bug/inputs.npz -a trt:fp16";

static enum ulp_status extract(const struct extract_options *options, struct ulp_error *error)
{
    struct ulp_extracted extracted;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    struct ulp_extract_options wanted = {.part = options->part,
                                         .thread_count = options->common.threads};
    ULP_TRY(load_with_shapes(&options->common, NULL, &model, error));
    ULP_TRY(read_samples(model, &options->common, false, &samples, error));
    ULP_TRY(ulp_arithmetic_find("pair", &wanted.reference, error));
    progress_init(&progress, options->common.quiet, 1);
    const struct ulp_observer observer = progress_observer(&progress);
    wanted.progress = &observer;
    ULP_TRY(ulp_extract(model, &wanted, samples.count ? &samples.items[0].inputs : NULL,
                        options->out, &extracted, error));
    progress_clear(&progress);
    say(stdout,
        "%s/model.onnx: %zu node%s, %zu input%s, %zu output%s; exact outputs are beside it "
        "(test_data_set_0, outputs.npz)\n",
        options->out, extracted.node_count, extracted.node_count == 1 ? "" : "s",
        extracted.input_count, extracted.input_count == 1 ? "" : "s", extracted.output_count,
        extracted.output_count == 1 ? "" : "s");
    return ULP_OK;
}

#define OPTIONS "cli/command/extract_option.def"
#define PARSED struct extract_options
#define WORDS "MODEL.onnx NODE|FIRST,LAST"
#define CHILDREN COMMON_CHILD(1)
#define TAKE take_part
#define CHECK check_part
#define RUN extract
#include "cli/option/parser.def"

int command_extract(int argc, char **argv)
{
    struct extract_options options = {0};
    return run_command(&parser, argc, argv, &options, &options.common, run_parsed);
}
