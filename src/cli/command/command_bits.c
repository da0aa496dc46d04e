/* ulpscope bits: the fewest bits for each layer. */

#include "cli/command.h"

struct bits_options {
    struct common_options common;
    struct search_options search;
    const char *parts;
    double headroom, expected;
};

static void check(struct argp_state *state, const struct bits_options *options)
{
    if (!options->search.tolerances.count)
        refuse(state, "give a --tolerance, as --tolerance sqnr_db=40");
    if (options->search.formats.count && options->parts)
        refuse(state, "--parts is for layers of any number of bits: not with --formats");
    if (options->search.never.count && !options->search.formats.count)
        refuse(state, "--never is about the narrowest of --formats: give these");
    if (options->search.lower_io && (!options->search.out || !options->search.formats.count))
        refuse(state, "--lower-io is about mixed.onnx: give --out and --formats");
    if (count_shapes(&options->common) > 1)
        refuse(state, "bits takes one --shape of each input");
}

static const char documentation[] =
    "Find the fewest bits for each layer of MODEL, mantissa and exponent apart, with which every "
    "output meets a tolerance. Exponent bits follow from the range of the values, mantissa bits "
    "from the layers' shares in the error; every allocation is then emulated, and in the end each "
    "layer was given one bit less by itself, and the tolerance failed."
    "\vA layer is a node with the nodes behind it that only hand its values on. Samples may have "
    "any shapes that leave the same nodes to compute.\n\n"
    "Exit code 1: no allocation meets the tolerance, or a held-out sample does not.\n\nExamples:\n"
    "  ulpscope bits model.onnx -i samples/ --tolerance sqnr_db=40 --out bits/\n"
    "      the fewest bits for an error of 1e-2 of every output's rms\n"
    "  ulpscope audit model.onnx -i samples/ --plan bits/bits.json\n"
    "      the allocation, node by node\n"
    "  ulpscope bits model.onnx -i samples/ --tolerance sqnr_db=30 --formats "
    "fp8-e4m3,bf16,fp16,fp32\n"
    "      one of these formats for each layer\n"
    "  ulpscope bits model.onnx -i a.npz --validate b.npz --tolerance logits:max_abs=0.01 --cost "
    "weights\n"
    "      the fewest bits of weights, judged by a second sample";

static enum ulp_status run_bits(const struct bits_options *options, struct ulp_error *error)
{
    struct ulp_search_options search = {.parts = options->parts,
                                        .frontier = true,
                                        .mixed_folder = options->search.formats.count
                                                            ? options->search.out
                                                            : NULL,
                                        .headroom = options->headroom,
                                        .expected = options->expected};
    return run_search(&options->common, &options->search, &search, error);
}

#define OPTIONS "cli/command/bits_option.def"
#define PARSED struct bits_options
#define CHILDREN \
    COMMON_CHILD(1) JUDGE_CHILD CHILD(search_argp, &options->search, NULL, 0) JSON_CHILD
#define CHECK check
#define RUN run_bits
#include "cli/option/parser.def"

int command_bits(int argc, char **argv)
{
    struct bits_options options = {.search.reference = "mpfr:128", .headroom = 1, .expected = 1};
    const int code = run_command(&parser, argc, argv, &options, &options.common, run_parsed);
    search_free(&options.search);
    return code;
}
