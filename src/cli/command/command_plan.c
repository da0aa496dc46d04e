/* ulpscope plan: find the nodes to keep in a wider arithmetic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

enum {
    OPTION_TOLERANCE = 512,
    OPTION_FOR,
    OPTION_KEEP_IN,
    OPTION_REFERENCE,
    OPTION_VALIDATE,
    OPTION_ALWAYS,
    OPTION_NEVER,
    OPTION_BUDGET,
    OPTION_FRONTIER,
    OPTION_APPLY,
    OPTION_LOWER_IO,
    OPTION_HTML
};

/* The arguments of an option that may be repeated. */
struct texts {
    char **items;
    size_t count;
};

struct plan_options {
    struct common_options common;
    const char *arithmetic, *target, *keep_in, *reference, *out, *html, *apply;
    struct texts tolerances, always, never, validate;
    size_t budget;
    bool frontier, lower_io;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"arith", 'a', "ARITH", 0,
     "The arithmetic of the nodes that are not kept (default fp16; ulpscope arith explains them)", 0},
    {"for", OPTION_FOR, "trt8|trt10|trt11|trt|torch|torch-compile|ort", 0,
     "Instead of --arith: what the nodes that are not kept are computed in by this target (trt: the newest TensorRT; @GPU may "
     "follow), node by node (fuse=none)", 0},
    {"tolerance", OPTION_TOLERANCE, "METRIC=VALUE", 0,
     "The limit for every graph output in every sample, written as for audit --fail-above: "
     "sqnr_db=60 is an rms error of 1e-3 of the output's rms. OUTPUT:METRIC=VALUE judges only that "
     "output. May be repeated", 0},
    {"keep-in", OPTION_KEEP_IN, "ARITH", 0,
     "The arithmetic of the kept nodes (default fp32)", 0},
    {"reference", OPTION_REFERENCE, "ARITH", 0,
     "The arithmetic that outputs are compared with (default mpfr:128)", 0},
    {"validate", OPTION_VALIDATE, "FILE", OPTION_READS,
     "Samples that are not searched by, only judged with the plan found, as --inputs takes them. "
     "May be repeated", 0},
    {"always", OPTION_ALWAYS, "PATTERN", 0,
     "Nodes to keep whatever happens, as --keep of audit names them; may be repeated", 0},
    {"never", OPTION_NEVER, "PATTERN", 0, "Nodes not to keep; may be repeated", 0},
    {"budget", OPTION_BUDGET, "N", 0,
     "Keep N nodes at most: the least error found for so many", 0},
    {"frontier", OPTION_FRONTIER, 0, 0,
     "Also run plans of other sizes, and with --out write the error against the number of kept nodes "
     "as frontier.csv and frontier.svg", 0},
    {"out", 'o', "FOLDER", OPTION_WRITES,
     "Write into FOLDER plan.json, which audit --plan reads; mixed.onnx, the model with these types and "
     "Casts, for TensorRT 11 and other runtimes; and the plan for trtexec and Polygraphy up to "
     "TensorRT 10, and for AutoCast", 0},
    {"html", OPTION_HTML, "FILE", OPTION_WRITES, "Write the result as one HTML file, to look at and to hand on; it needs no network", 0},
    {"apply", OPTION_APPLY, "FILE", OPTION_READS,
     "Search nothing: write mixed.onnx of the plan in FILE (plan.json of an earlier search, or one "
     "written by hand) into --out, and check it with the inputs", 0},
    {"lower-io", OPTION_LOWER_IO, 0, 0,
     "mixed.onnx: float inputs and outputs of the graph get ARITH's type, too", 0},
    {0},
};
/* clang-format on */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct plan_options *options = state->input;
    struct ulp_error error;
    int64_t count;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->common.allow_nonfinite_inputs;
        return 0;
    case ARGP_KEY_END:
        if (options->apply && (!options->out || options->tolerances.count))
            refuse(state, options->out ? "--apply searches nothing: it takes no --tolerance"
                                       : "--apply writes mixed.onnx: give --out");
        if (options->target && options->arithmetic)
            refuse(state, "--for chooses the arithmetic: leave out --arith");
        if (!options->apply && !options->tolerances.count)
            refuse(state, "give a --tolerance, as --tolerance sqnr_db=60");
        if (options->apply && options->html)
            refuse(state, "--apply searches nothing: it takes no --html");
        if (options->lower_io && !options->out)
            refuse(state, "--lower-io is about mixed.onnx: give --out");
        if (count_shapes(&options->common) > 1)
            refuse(state, "plan takes one --shape of each input");
        return 0;
    case 'a': options->arithmetic = argument; return 0;
    case OPTION_FOR: options->target = read_target_name(state, argument); return 0;
    case 'o': options->out = argument; return 0;
    case OPTION_TOLERANCE:
        if (ulp_limit_check(argument, NULL, NULL, &error) != ULP_OK)
            refuse(state, "--tolerance: %s", error.message);
        add_argument(state, &options->tolerances.items, &options->tolerances.count, argument);
        return 0;
    case OPTION_KEEP_IN: options->keep_in = argument; return 0;
    case OPTION_REFERENCE: options->reference = argument; return 0;
    case OPTION_VALIDATE:
        add_argument(state, &options->validate.items, &options->validate.count, argument);
        return 0;
    case OPTION_ALWAYS:
        add_argument(state, &options->always.items, &options->always.count, argument);
        return 0;
    case OPTION_NEVER:
        add_argument(state, &options->never.items, &options->never.count, argument);
        return 0;
    case OPTION_BUDGET:
        if (!parse_integer(argument, 1, 1000000, &count))
            refuse(state, "--budget %s: expected 1 to 1000000", argument);
        options->budget = (size_t)count;
        return 0;
    case OPTION_FRONTIER: options->frontier = true; return 0;
    case OPTION_HTML: options->html = argument; return 0;
    case OPTION_APPLY: options->apply = argument; return 0;
    case OPTION_LOWER_IO: options->lower_io = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Find the smallest set of nodes of MODEL to keep in FP32 so that the others can be computed in "
    "ARITH and every output meets a tolerance. An audit proposes the nodes, and every plan that is "
    "considered is run. In the end each kept node has been released once by itself, and the "
    "tolerance failed."
    "\vSamples may have any shapes that leave the same nodes to compute.\n\nmixed.onnx is written "
    "only when `ulpscope run -a model` gives the bits of the plan on it, "
    "for "
    "every sample.\n\nExit code 1: no plan meets the tolerance, or a held-out sample does not.\n\n"
    "Examples:\n"
    "  ulpscope plan model.onnx -i samples/ --tolerance sqnr_db=60 --out plan/\n"
    "      the nodes to keep so that every output is within 1e-3 of its rms\n"
    "  ulpscope audit model.onnx -i samples/ --plan plan/plan.json\n"
    "      the plan, node by node\n"
    "  ulpscope plan model.onnx -i samples/ --apply plan/plan.json --out plan/\n"
    "      mixed.onnx of a plan found earlier\n"
    "  ulpscope plan model.onnx -i a.npz -i b.npz --validate c.npz --tolerance "
    "logits:max_abs=0.01\n"
    "      found with two samples, judged by a third\n"
    "  ulpscope plan model.onnx -a tf32 --tolerance sqnr_db=80 --never 'op:Conv'\n"
    "      where TF32 loses accuracy, besides convolutions";

static enum ulp_status read_plan_samples(const struct plan_options *options,
                                         const struct ulp_model *model, struct search_samples *out,
                                         struct ulp_error *error)
{
    return read_search_samples(model, &options->common, options->validate.items,
                               options->validate.count, out, error);
}

/* A search goes node by node, so that what the target fuses is not. */
static enum ulp_status find_arithmetic(const struct plan_options *options,
                                       struct ulp_arithmetic *out, struct ulp_error *error)
{
    char name[80];
    struct ulp_arithmetic fused;
    if (!options->target)
        return ulp_arithmetic_find(options->arithmetic ? options->arithmetic : "fp16", out, error);
    snprintf(name, sizeof name, "%s%s", ulp_target_find(options->target)->lowered,
             options->target + strcspn(options->target, "@"));
    enum ulp_status status = ulp_arithmetic_find(name, out, error);
    fused = *out;
    return status == ULP_OK && fused.fuse != ULP_FUSE_NONE
               ? ulp_arithmetic_change(out, &fused, "fuse=none", error)
               : status;
}

static enum ulp_status find(const struct plan_options *options, const struct ulp_model *model,
                            struct ulp_found *found, struct ulp_error *error)
{
    struct progress progress;
    struct search_samples samples = {0};
    struct ulp_find_options search = {.tolerances = (const char *const *)options->tolerances.items,
                                      .tolerance_count = options->tolerances.count,
                                      .always = (const char *const *)options->always.items,
                                      .always_count = options->always.count,
                                      .never = (const char *const *)options->never.items,
                                      .never_count = options->never.count,
                                      .budget = options->budget,
                                      .frontier = options->frontier,
                                      .mixed_folder = options->out,
                                      .lower_io = options->lower_io,
                                      .allow_nonfinite_inputs =
                                          options->common.allow_nonfinite_inputs,
                                      .thread_count = options->common.threads};
    enum ulp_status status = find_arithmetic(options, &search.arithmetic, error);
    if (status == ULP_OK)
        status = ulp_arithmetic_find(options->keep_in, &search.keep_in, error);
    if (status == ULP_OK)
        status = ulp_arithmetic_find(options->reference, &search.reference, error);
    if (status == ULP_OK)
        status = read_plan_samples(options, model, &samples, error);
    progress_init(&progress, options->common.quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    search.progress = &observer;
    if (status == ULP_OK)
        status = ulp_plan_find(model, &search, samples.searched, samples.given.count,
                               samples.validated, samples.held_out.count, found, error);
    progress_clear(&progress);
    free_search_samples(&samples);
    return status;
}

static int report_mixed(const struct ulp_mixed *mixed)
{
    struct ulp_error error;
    char *text;
    if (ulp_mixed_text(mixed, &text, &error) != ULP_OK)
        return fail(&error);
    fputs(text, stdout);
    free(text);
    return ULP_OK;
}

static int report(const struct plan_options *options, const struct ulp_found *found)
{
    struct ulp_error error;
    char *text;
    if (ulp_found_text(found, &text, &error) != ULP_OK)
        return fail(&error);
    fputs(text, stdout);
    free(text);
    if (options->out && ulp_found_write(found, options->out, &error) != ULP_OK)
        return fail(&error);
    if (options->out) {
        say(stdout, "plan: %s/plan.json, and the same for TensorRT's tools beside it\n",
            options->out);
        const int code = report_mixed(&found->mixed);
        if (code != ULP_OK)
            return code;
    }
    if (options->html && ulp_found_html(found, options->html, &error) != ULP_OK)
        return fail(&error);
    if (options->html)
        say(stdout, "page: %s\n", options->html);
    return found->met && found->validated_met == found->validated_count && !(found->mixed_ratio > 1)
               ? ULP_OK
               : ULP_ERROR_LIMIT;
}

/* --apply */
static int apply(const struct plan_options *options, const struct ulp_model *model)
{
    struct ulp_error error = {0};
    struct progress progress;
    struct search_samples samples = {0};
    struct ulp_precision_plan plan = {0};
    struct ulp_mixed mixed = {0};
    enum ulp_status status =
        ulp_precision_plan_read(options->apply, options->common.budget, &plan, &error);
    if (status == ULP_OK)
        status = read_plan_samples(options, model, &samples, &error);
    progress_init(&progress, options->common.quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    const struct ulp_mixed_options wanted = {.arithmetic = plan.arithmetic,
                                             .keeps = plan.keeps,
                                             .lower_io = options->lower_io,
                                             .thread_count = options->common.threads,
                                             .progress = &observer};
    if (status == ULP_OK)
        status = ulp_mixed_write(model, &wanted, samples.searched, samples.given.count,
                                 options->out, &mixed, &error);
    progress_clear(&progress);
    int code = status == ULP_OK ? report_mixed(&mixed) : fail(&error);
    if (code == ULP_OK && mixed.reason)
        code = ULP_ERROR_UNSUPPORTED;
    ulp_mixed_free(&mixed);
    ulp_precision_plan_free(&plan);
    free_search_samples(&samples);
    return code;
}

static int run_plan(const struct plan_options *options)
{
    struct ulp_error error = {0};
    struct ulp_model *model = NULL;
    struct ulp_found found = {0};
    enum ulp_status status = open_search(&options->common, options->out, &model, &error);
    if (status == ULP_OK && !options->apply)
        status = find(options, model, &found, &error);
    const int code = status != ULP_OK ? fail(&error)
                     : options->apply ? apply(options, model)
                                      : report(options, &found);
    ulp_found_free(&found);
    ulp_model_free(model);
    return code;
}

int command_plan(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, "Inputs and running:", 1},
                                                 {&judge_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {option_list, parse_option, "MODEL.onnx", documentation,
                                     children,    NULL,         NULL};
    struct plan_options options = {.keep_in = "fp32", .reference = "mpfr:128"};
    common_init(&options.common);
    int code = parse_model_arguments(&argp, argc, argv, &options, &options.common);
    if (code == ULP_OK)
        code = run_plan(&options);
    common_free(&options.common);
    free(options.tolerances.items);
    free(options.always.items);
    free(options.never.items);
    free(options.validate.items);
    return code;
}
