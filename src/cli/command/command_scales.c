/* ulpscope scales: options, the look at factors with scales, other choices. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"

enum { OPTION_JSON = 512, OPTION_NODES, OPTION_NO_CHOICES };

struct scales_options {
    struct common_options common;
    const char *arithmetic, *json;
    size_t nodes;
    bool no_choices;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"arith", 'a', "ARITH", 0, "The arithmetic, with factor= or weights= (default bf16,factor=nvfp4; doc/scales.md has the formats)", 0},
    {"nodes", OPTION_NODES, "N", 0, "How many nodes to leave out, one at a time, those of the largest errors first (default 3)", 0},
    {"no-choices", OPTION_NO_CHOICES, NULL, 0, "Do not run other formats, rules and nodes left out", 0},
    {"json", OPTION_JSON, "FILE", OPTION_WRITES, "Write all figures as JSON", 0},
    {0},
};
/* clang-format on */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct scales_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->common.allow_nonfinite_inputs;
        return 0;
    case 'a': options->arithmetic = argument; return 0;
    case OPTION_NODES: options->nodes = read_count(state, "--nodes", argument, 1); return 0;
    case OPTION_NO_CHOICES: options->no_choices = true; return 0;
    case OPTION_JSON: options->json = argument; return 0;
    case ARGP_KEY_END:
        if (count_shapes(&options->common) > 1)
            refuse(state, "--shape once: one sample is looked at");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Say what a format with scales (NVFP4, MXFP8, FP8 by rows, ...) does to each factor of a "
    "model's products: "
    "what becomes zero, what is clipped, what range blocks have, how much of the error is the "
    "elements' rounding, "
    "the scales' or clipping, and which channel or token is to blame. Then what other rules, "
    "formats and nodes "
    "left out gain, each by a run."
    "\vdoc/scales.md says what each format is.\n\n"
    "Examples:\n"
    "  ulpscope scales model.onnx -i inputs.npz -a bf16,factor=nvfp4\n"
    "  ulpscope scales model.onnx -i inputs.npz -a bf16,weights=mxfp4 --json scales.json";

static enum ulp_status look(const struct scales_options *options, struct ulp_model **model,
                            struct ulp_scales *scales, struct ulp_error *error)
{
    struct progress progress;
    struct sample_list samples = {0};
    struct ulp_scales_options wanted = {.nodes = options->nodes,
                                        .no_choices = options->no_choices,
                                        .allow_nonfinite_inputs =
                                            options->common.allow_nonfinite_inputs,
                                        .thread_count = options->common.threads};
    char *shapes = NULL;
    enum ulp_status status = ulp_arithmetic_find(options->arithmetic, &wanted.arithmetic, error);
    if (status == ULP_OK)
        status = load_model(options->common.model, options->common.budget, model, error);
    if (status == ULP_OK)
        status = set_shapes(*model, &options->common, 0, &shapes, error);
    free(shapes);
    if (status == ULP_OK)
        status = read_samples(*model, &options->common, true, &samples, error);
    if (status == ULP_OK && samples.count > 1)
        status = ulp_fail(error, ULP_ERROR_USAGE, "%zu samples: scales looks at one, give one",
                          samples.count);
    if (status == ULP_OK) {
        if (!options->common.quiet)
            note_choices(*model, &samples);
        progress_init(&progress, options->common.quiet, 1);
        const struct ulp_observer observer = progress_observer(&progress);
        wanted.progress = &observer;
        status = ulp_scales_run(*model, &samples.items[0].inputs, &wanted, scales, error);
        progress_clear(&progress);
    }
    free_samples(&samples);
    return status;
}

static int report(const struct scales_options *options, const struct ulp_scales *scales)
{
    struct ulp_error error;
    char *summary;
    if (ulp_scales_text(scales, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO), &summary,
                        &error) != ULP_OK)
        return fail(&error);
    fputs(summary, stdout);
    free(summary);
    return options->json && ulp_scales_write_json(scales, options->json, &error) != ULP_OK
               ? fail(&error)
               : ULP_OK;
}

int command_scales(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, "Inputs and running:", 1},
                                                 {&judge_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {option_list, parse_option, "MODEL.onnx", documentation,
                                     children,    NULL,         NULL};
    struct scales_options options = {.arithmetic = "bf16,factor=nvfp4"};
    struct ulp_model *model = NULL;
    struct ulp_scales scales = {0};
    struct ulp_error error;
    common_init(&options.common);
    int code = parse_model_arguments(&argp, argc, argv, &options, &options.common);
    if (code == ULP_OK)
        code = look(&options, &model, &scales, &error) == ULP_OK ? report(&options, &scales)
                                                                 : fail(&error);
    ulp_scales_free(&scales);
    ulp_model_free(model);
    common_free(&options.common);
    return code;
}
