/* ulpscope plan: find the nodes to keep in a wider arithmetic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct plan_options {
    struct common_options common;
    const char *cost, *reference, *html, *out;
    struct texts tolerances, always, never, validate;
    struct texts formats, targets;
    double seconds;
    bool lower_io;
    enum ulp_task task;
    const char *arithmetic, *keep_in, *apply, *reference_model;
    double budget, bits, confidence;
    bool frontier;
};

static bool is_scaled(const char *name)
{
    char text[80];
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    return snprintf(text, sizeof text, "bf16,factor=%s,unit=none", name) < (int)sizeof text &&
           ulp_arithmetic_find(text, &arithmetic, &error) == ULP_OK &&
           arithmetic.scaling[0].name[0];
}

/* Of --formats: a name only, without parts. */
static enum ulp_status check_format(const char *name, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    return is_scaled(name) ? ULP_OK : ulp_arithmetic_find(name, &arithmetic, error);
}

static bool is_trt(const struct plan_options *options)
{
    return options->targets.count == 1 && strncmp(options->targets.items[0], "trt", 3) == 0;
}

static void read_budget(void *parsed, char *text)
{
    struct plan_options *options = parsed;
    if (strncmp(text, "bits=", 5) == 0)
        options->bits = read_number("--budget bits", text + 5, 1, 64);
    else
        options->budget = read_number("--budget", text, 1e-9, 1e18);
}

static void check_plan(void *parsed)
{
    const struct plan_options *options = parsed;
    const bool formats = options->formats.count > 0;
    if (formats && options->targets.count && !is_trt(options))
        refuse("--formats does not go with --for but trt: it gives each product one of a list");
    if (formats && options->budget > 0)
        refuse("--budget of --formats is bits=MEAN, as bits=5");
    if (!formats && options->bits > 0)
        refuse("--budget bits=%g needs --formats: it counts their bits", options->bits);
}

static enum ulp_status say_mixed(const struct ulp_mixed *mixed, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_mixed_text(mixed, &text, error));
    fputs(text, stdout);
    return ULP_OK;
}

/* --apply */
static enum ulp_status apply(const struct plan_options *options, const struct ulp_model *model,
                             struct ulp_mixed *mixed, struct ulp_error *error)
{
    ULP_SCOPED(free_search_samples) struct search_samples samples = {0};
    ULP_SCOPED(ulp_precision_plan_free) struct ulp_precision_plan plan = {0};
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    ULP_TRY(ulp_precision_plan_read(options->apply, options->common.budget, &plan, error));
    ULP_TRY(read_search_samples(model, &options->common, NULL, 0, &samples, error));
    progress_init(&progress, options->common.quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    const struct ulp_mixed_options wanted = {.arithmetic = plan.arithmetic,
                                             .keeps = plan.keeps,
                                             .lower_io = options->lower_io,
                                             .thread_count = options->common.threads,
                                             .progress = &observer};
    return ulp_mixed_write(model, &wanted, samples.searched, samples.given.count, options->out,
                           mixed, error);
}

static enum ulp_status run_apply(const struct plan_options *options, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_mixed_free) struct ulp_mixed mixed = {0};
    ULP_TRY(load_with_shapes(&options->common, options->out, &model, error));
    ULP_TRY(apply(options, model, &mixed, error));
    ULP_TRY(say_mixed(&mixed, error));
    return mixed.reason ? ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s", "") : ULP_OK;
}

/* ---- the search ---- */

static enum ulp_status find_plans(const struct plan_options *options,
                                  struct ulp_search_options *search, const struct ulp_model *model,
                                  struct ulp_search *found, struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    ULP_SCOPED(free_search_samples) struct search_samples samples = {0};
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    search->tolerances = (const char *const *)options->tolerances.items;
    search->tolerance_count = options->tolerances.count;
    search->cost = options->cost;
    search->always = (const char *const *)options->always.items;
    search->always_count = options->always.count;
    search->never = (const char *const *)options->never.items;
    search->never_count = options->never.count;
    search->formats =
        options->formats.count ? (const char *const *)options->formats.items : search->formats;
    search->format_count = options->formats.count ? options->formats.count : search->format_count;
    search->seconds = options->seconds;
    search->lower_io = options->lower_io;
    search->task = options->task;
    search->allow_nonfinite_inputs = common->allow_nonfinite_inputs;
    search->thread_count = common->threads;
    ULP_TRY(ulp_arithmetic_find(options->reference, &search->reference, error));
    ULP_TRY(read_search_samples(model, common, options->validate.items, options->validate.count,
                                &samples, error));
    progress_init(&progress, common->quiet, samples.given.count);
    const struct ulp_observer observer = progress_observer(&progress);
    search->progress = &observer;
    return ulp_search_run(model, search, samples.searched, samples.given.count, samples.validated,
                          samples.held_out.count, found, error);
}

WRITES(write_search, ulp_search_write)

static enum ulp_status report(const struct plan_options *options, const struct ulp_search *found,
                              struct ulp_error *error)
{
    const struct result files = {found, .write = write_search, .page = options->html};
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_search_text(found, &text, error));
    fputs(text, stdout);
    if (options->out) {
        ULP_TRY(ulp_search_write(found, ULP_OUTPUT_FOLDER, options->out, error));
        say(stdout,
            found->by_node ? "plan: %s/plan.json, and the same for TensorRT's tools beside it\n"
                           : "plan: %s/plan.json (audit --plan reads it)\n",
            options->out);
    }
    if (found->mixed.path || found->mixed.reason)
        ULP_TRY(say_mixed(&found->mixed, error));
    ULP_TRY(say_result(&files, error));
    return judge(found->met && found->validated_met == found->validated_count &&
                     !(found->mixed_ratio > 1),
                 error);
}

static enum ulp_status run_search(const struct plan_options *options,
                                  struct ulp_search_options *search, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *original = NULL;
    ULP_SCOPED(ulp_search_free) struct ulp_search found = {0};
    ULP_TRY(load_with_shapes(&options->common, options->out, &model, error));
    if (options->reference_model)
        ULP_TRY(load_model(options->reference_model, options->common.budget, &original, error));
    search->original = original;
    ULP_TRY(find_plans(options, search, model, &found, error));
    return report(options, &found, error);
}

static enum ulp_status run_plan(void *parsed, struct ulp_error *error)
{
    const struct plan_options *options = parsed;
    const char *keep_in = options->targets.count ? NULL : "fp32";
    const char *formats[] = {options->keep_in ? options->keep_in : keep_in,
                             options->targets.count ? options->targets.items[0]
                             : options->arithmetic  ? options->arithmetic
                                                    : "fp16"};
    struct ulp_search_options search = {.formats = formats,
                                        .format_count = 2,
                                        .by_node = true,
                                        .targets = (const char *const *)options->targets.items,
                                        .target_count = options->targets.count,
                                        .budget = options->budget,
                                        .confidence = options->confidence,
                                        .frontier = options->frontier,
                                        .mixed_folder = options->out};
    if (options->formats.count) {
        search.by_node = false;
        search.budget = options->bits;
        search.expected = 1;
        search.tensorrt = is_trt(options);
        search.target_count = 0;
        search.confidence = 0;
    }
    if (options->apply)
        return run_apply(options, error);
    ULP_SCOPED(ulp_range_list_free) struct ulp_range_list ranges = {0};
    ULP_SCOPED(ulp_scoped_free) char *plain = NULL;
    ULP_TRY(read_ranges(formats[1], options->common.budget, &plain, &ranges, error));
    formats[1] = plain;
    search.ranges = &ranges.ranges;
    return run_search(options, &search, error);
}

#define PARSED struct plan_options
static const struct option_row rows[] = {
#include "cli/command/plan_option.def"
    {0}};
const struct command command_plan = {
    .name = "plan",
    .summary = "find the cheapest set of nodes to keep in FP32",
    .purpose = "Find the cheapest set of nodes of MODEL to keep in FP32 so that the others can be "
               "computed in ARITH and every output meets a tolerance, also where roundings fall "
               "otherwise. Each node is run lowered by itself, which says what sets of them leave "
               "of the error; what is proposed is run in 50 draws, and the cheapest set that holds "
               "in them is the plan.",
    .examples =
        "  ulpscope plan model.onnx -i samples/ --tolerance sqnr_db=60 --out plan/\n"
        "      the nodes to keep so that every output is within 1e-3 of its rms\n"
        "  ulpscope audit model.onnx -i samples/ --plan plan/plan.json\n"
        "      the plan, node by node\n"
        "  ulpscope plan model.onnx -i samples/ --apply plan/plan.json --out plan/\n"
        "      mixed.onnx of a plan found earlier\n"
        "  ulpscope plan model.onnx -i a.npz -i b.npz --validate c.npz --tolerance "
        "logits:max_abs=0.01\n"
        "      found with two samples, judged by a third\n"
        "  ulpscope plan model.onnx -i samples/ --formats nvfp4,mxfp8,bf16 --budget bits=5 --out "
        "plan/\n"
        "      a format for each product's factors, with the least error for 5 bits on average\n"
        "  ulpscope plan model.onnx -a tf32 --tolerance sqnr_db=80 --never 'op:Conv'\n"
        "      where TF32 loses accuracy, besides convolutions",
    .notes = "Samples may have any shapes that leave the same nodes to compute.\n"
             "\n"
             "mixed.onnx is written only when `ulpscope run -a model` gives the bits of the plan "
             "on it, for every sample.\n"
             "\n"
             "Exit code 1: no plan meets the tolerance, or a held-out sample does not.",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct plan_options),
    .is_common = true,
    .is_front = true,
    .check = check_plan,
    .run = run_plan,
};
