/* ulpscope bits: the fewest bits for each layer. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

enum {
    OPTION_TOLERANCE = 512,
    OPTION_FORMATS,
    OPTION_PARTS,
    OPTION_WEIGH,
    OPTION_HEADROOM,
    OPTION_EXPECTED,
    OPTION_REFERENCE,
    OPTION_VALIDATE,
    OPTION_STOP_AFTER,
    OPTION_HTML
};

struct bits_options {
    struct common_options common;
    const char *reference, *parts, *out, *html;
    char **tolerances, **formats, **validate;
    size_t tolerance_count, format_count, validate_count;
    enum ulp_bits_weight weight;
    double headroom, expected, seconds;
    char *list; /* of --formats: what `formats` points into */
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"tolerance", OPTION_TOLERANCE, "METRIC=VALUE", 0,
     "The limit for every graph output in every sample, written as for audit --fail-above: "
     "sqnr_db=40 is an rms error of 1e-2 of the output's rms. OUTPUT:METRIC=VALUE judges only that "
     "output. May be repeated", 0},
    {"formats", OPTION_FORMATS, "FORMAT,FORMAT...", 0,
     "Give each layer one of these, as fp8-e4m3,bf16,fp16,tf32,fp32, instead of any of 2 to 8 exponent "
     "and 1 to 23 mantissa bits", 0},
    {"parts", OPTION_PARTS, "PART,PART...", 0,
     "How layers of any number of bits compute (default " ULP_BITS_PARTS ": in FP32 inside, one "
     "rounding when the result is stored; ulpscope arith explains the parts)", 0},
    {"weigh", OPTION_WEIGH, "layers|weights|memory|work", 0,
     "What bits are counted by: every layer alike (default), elements of its weights, also of its "
     "results, or its multiply-adds", 0},
    {"headroom", OPTION_HEADROOM, "BITS", 0,
     "Binades that stay free above the largest magnitude seen (default 1: inputs may be twice as large)", 0},
    {"expected", OPTION_EXPECTED, "RATIO", 0,
     "The model's error, as if layers' errors did not know each other, is also at most RATIO times what is "
     "allowed: 1 for an allocation that does not lean on how these samples round", 0},
    {"reference", OPTION_REFERENCE, "ARITH", 0,
     "The arithmetic that outputs are compared with (default mpfr:128)", 0},
    {"validate", OPTION_VALIDATE, "FILE", OPTION_READS,
     "Samples that are not searched by, only judged with the allocation found, as --inputs takes "
     "them. May be repeated", 0},
    {"stop-after", OPTION_STOP_AFTER, "SECONDS", 0,
     "End the search then, and give the best so far", 0},
    {"out", 'o', "FOLDER", OPTION_WRITES,
     "Write into FOLDER bits.json, which audit --plan reads, and frontier.csv", 0},
    {"html", OPTION_HTML, "FILE", OPTION_WRITES, "Write the result as one HTML file with the bits of each layer and the frontier as pictures; it needs no network", 0},
    {0},
};
/* clang-format on */

static enum ulp_bits_weight read_weight(struct argp_state *state, const char *text)
{
    size_t weight = 0;
    while (ulp_bits_weight_name(weight) && strcmp(ulp_bits_weight_name(weight), text) != 0)
        weight++;
    if (!ulp_bits_weight_name(weight))
        refuse(state, "--weigh %s: expected layers, weights, memory or work", text);
    return (enum ulp_bits_weight)weight;
}

/* Of names only: what has parts has commas. */
static void read_formats(struct argp_state *state, struct bits_options *options, const char *text)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    char *rest;
    if (options->list)
        refuse(state, "--formats is there twice: name all formats in one list");
    if (!(options->list = strdup(text)))
        refuse_memory(state);
    for (char *name = strtok_r(options->list, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest)) {
        if (ulp_arithmetic_find(name, &arithmetic, &error) != ULP_OK)
            refuse(state, "--formats: %s", error.message);
        add_argument(state, &options->formats, &options->format_count, name);
    }
    if (!options->format_count)
        refuse(state, "--formats: expected names, as fp16,fp32");
}

static void check(struct argp_state *state, const struct bits_options *options)
{
    if (!options->tolerance_count)
        refuse(state, "give a --tolerance, as --tolerance sqnr_db=40");
    if (options->format_count && options->parts)
        refuse(state, "--parts is for layers of any number of bits: not with --formats");
    if (count_shapes(&options->common) > 1)
        refuse(state, "bits takes one --shape of each input");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct bits_options *options = state->input;
    struct ulp_error error;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->common.allow_nonfinite_inputs;
        return 0;
    case ARGP_KEY_END: check(state, options); return 0;
    case 'o': options->out = argument; return 0;
    case OPTION_TOLERANCE:
        if (ulp_limit_check(argument, NULL, NULL, &error) != ULP_OK)
            refuse(state, "--tolerance: %s", error.message);
        add_argument(state, &options->tolerances, &options->tolerance_count, argument);
        return 0;
    case OPTION_FORMATS: read_formats(state, options, argument); return 0;
    case OPTION_HTML: options->html = argument; return 0;
    case OPTION_PARTS: options->parts = argument; return 0;
    case OPTION_WEIGH: options->weight = read_weight(state, argument); return 0;
    case OPTION_HEADROOM:
        options->headroom = read_number(state, "--headroom", argument, 0, 64);
        return 0;
    case OPTION_EXPECTED:
        options->expected = read_number(state, "--expected", argument, 1e-3, 1e9);
        return 0;
    case OPTION_REFERENCE: options->reference = argument; return 0;
    case OPTION_VALIDATE:
        add_argument(state, &options->validate, &options->validate_count, argument);
        return 0;
    case OPTION_STOP_AFTER:
        options->seconds = read_number(state, "--stop-after", argument, 1e-3, 1e9);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Find the fewest bits for each layer of MODEL, mantissa and exponent apart, with which every "
    "output meets a tolerance. Exponent bits follow from the range of the values, mantissa bits "
    "from "
    "the layers' shares in the error; every allocation is then emulated, and in the end each layer "
    "was given one bit less by itself, and the tolerance failed."
    "\vA layer is a node with the nodes behind it that only hand its values on. Samples may have "
    "any "
    "shapes that leave the same nodes to compute.\n\n"
    "Exit code 1: no allocation meets the tolerance, or a held-out sample does not.\n\nExamples:\n"
    "  ulpscope bits model.onnx -i samples/ --tolerance sqnr_db=40 --out bits/\n"
    "      the fewest bits for an error of 1e-2 of every output's rms\n"
    "  ulpscope audit model.onnx -i samples/ --plan bits/bits.json\n"
    "      the allocation, node by node\n"
    "  ulpscope bits model.onnx -i samples/ --tolerance sqnr_db=30 --formats "
    "fp8-e4m3,bf16,fp16,fp32\n"
    "      one of these formats for each layer\n"
    "  ulpscope bits model.onnx -i a.npz --validate b.npz --tolerance logits:max_abs=0.01 --weigh "
    "weights\n"
    "      the fewest bits of weights, judged by a second sample";

static enum ulp_status find(const struct bits_options *options, const struct ulp_model *model,
                            struct ulp_bits *bits, struct ulp_error *error)
{
    struct progress progress;
    struct search_samples samples = {0};
    struct ulp_bits_options search = {.formats = (const char *const *)options->formats,
                                      .format_count = options->format_count,
                                      .parts = options->parts,
                                      .tolerances = (const char *const *)options->tolerances,
                                      .tolerance_count = options->tolerance_count,
                                      .weight = options->weight,
                                      .headroom = options->headroom,
                                      .expected = options->expected,
                                      .seconds = options->seconds,
                                      .allow_nonfinite_inputs =
                                          options->common.allow_nonfinite_inputs,
                                      .thread_count = options->common.threads};
    enum ulp_status status = ulp_arithmetic_find(options->reference, &search.reference, error);
    if (status == ULP_OK)
        status = read_search_samples(model, &options->common, options->validate,
                                     options->validate_count, &samples, error);
    progress_init(&progress, options->common.quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    search.progress = &observer;
    if (status == ULP_OK)
        status = ulp_bits_find(model, &search, samples.searched, samples.given.count,
                               samples.validated, samples.held_out.count, bits, error);
    progress_clear(&progress);
    free_search_samples(&samples);
    return status;
}

static int report(const struct bits_options *options, const struct ulp_bits *bits)
{
    struct ulp_error error;
    char *text;
    if (ulp_bits_text(bits, &text, &error) != ULP_OK)
        return fail(&error);
    fputs(text, stdout);
    free(text);
    if (options->out && ulp_bits_write(bits, options->out, &error) != ULP_OK)
        return fail(&error);
    if (options->out && bits->met)
        say(stdout, "allocation: %s/bits.json (audit --plan reads it)\n", options->out);
    if (options->html && ulp_bits_html(bits, options->html, &error) != ULP_OK)
        return fail(&error);
    if (options->html)
        say(stdout, "page: %s\n", options->html);
    return bits->met && bits->validated_met == bits->validated_count ? ULP_OK : ULP_ERROR_LIMIT;
}

static int run_bits(const struct bits_options *options)
{
    struct ulp_error error = {0};
    struct ulp_model *model = NULL;
    struct ulp_bits bits = {0};
    enum ulp_status status = open_search(&options->common, options->out, &model, &error);
    if (status == ULP_OK)
        status = find(options, model, &bits, &error);
    const int code = status == ULP_OK ? report(options, &bits) : fail(&error);
    ulp_bits_free(&bits);
    ulp_model_free(model);
    return code;
}

int command_bits(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, "Inputs and running:", 1},
                                                 {&judge_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {option_list, parse_option, "MODEL.onnx", documentation,
                                     children,    NULL,         NULL};
    struct bits_options options = {.reference = "mpfr:128", .headroom = 1};
    common_init(&options.common);
    int code = parse_model_arguments(&argp, argc, argv, &options, &options.common);
    if (code == ULP_OK)
        code = run_bits(&options);
    common_free(&options.common);
    free(options.tolerances);
    free(options.formats);
    free(options.validate);
    free(options.list);
    return code;
}
