/* ulpscope fix: from a model that fails to one that holds. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct fix_options {
    struct common_options common;
    struct ulp_fix_options fix;
    struct texts tolerances, only, without;
    const char *reference, *reference_model, *html;
};

/* One fix while it is made. */
struct making {
    const struct fix_options *options;
    struct ulp_model *model, *original;
    struct search_samples samples;
    struct progress progress;
};

/* Of a large model, before hours of it are gone. */
static void announce_plan(void *context, double seconds)
{
    struct making *making = context;
    if (making->options->common.quiet || seconds < 60)
        return;
    progress_clear(&making->progress);
    say(stderr,
        "ulpscope: a plan takes about %.0f minutes here: --stop-after SECONDS ends its search\n",
        seconds / 60);
}

static enum ulp_status mend(struct making *making, struct ulp_fix *out, struct ulp_error *error)
{
    const struct fix_options *options = making->options;
    const struct common_options *common = &options->common;
    struct ulp_fix_options wanted = options->fix;
    ULP_TRY(ulp_arithmetic_find(options->reference, &wanted.reference, error));
    ULP_TRY(load_with_shapes(common, NULL, &making->model, error));
    if (options->reference_model)
        ULP_TRY(load_model(options->reference_model, common->budget, &making->original, error));
    wanted.original = making->original;
    ULP_TRY(read_search_samples(making->model, common, NULL, 0, &making->samples, error));
    progress_init(&making->progress, common->quiet, making->samples.given.count);
    const struct ulp_observer observer = progress_observer(&making->progress);
    wanted.tolerances = (const char *const *)options->tolerances.items;
    wanted.tolerance_count = options->tolerances.count;
    wanted.only = (const char *const *)options->only.items;
    wanted.only_count = options->only.count;
    wanted.without = (const char *const *)options->without.items;
    wanted.without_count = options->without.count;
    wanted.dims = common->dims;
    wanted.dim_count = common->dim_count;
    wanted.allow_nonfinite_inputs = common->allow_nonfinite_inputs;
    wanted.thread_count = common->threads;
    wanted.progress = &observer;
    wanted.plans = announce_plan;
    wanted.plans_context = making;
    enum ulp_status status = ulp_fix_run(making->model, &wanted, making->samples.searched,
                                         making->samples.given.count, out, error);
    progress_clear(&making->progress);
    return status;
}

PRINTS(print_fix, ulp_fix_text)
WRITES(write_fix, ulp_fix_write)

static void finish_fix(struct making *making)
{
    free_search_samples(&making->samples);
    ulp_model_free(making->original);
    ulp_model_free(making->model);
}

static enum ulp_status run_fix(void *parsed, struct ulp_error *error)
{
    const struct fix_options *options = parsed;
    ULP_SCOPED(finish_fix) struct making making = {.options = options};
    ULP_SCOPED(ulp_fix_free) struct ulp_fix fix = {0};
    const struct result result = {&fix, print_fix, write_fix, .page = options->html};
    ULP_TRY(mend(&making, &fix, error));
    ULP_TRY(say_result(&result, error));
    return judge(fix.met, error);
}

#define PARSED struct fix_options
static const struct option_row rows[] = {
#include "cli/command/fix_option.def"
    {0}};
const struct command command_fix = {
    .name = "fix",
    .summary = "write a model that comes out right there: edits, and what to keep in FP32",
    .purpose = "Make of MODEL, which comes out wrong where it is to run, one that comes out right, "
               "in one file: edits of its graph, each tried by a run (operators written out, masks "
               "and epsilons that the format does not hold, scales behind products), and where "
               "these are not enough the nodes that ulpscope plan keeps in FP32, with types and "
               "Casts. Each edit is said with its reason, its gain and what it changes in exact "
               "arithmetic; what gains nothing is not made.",
    .examples =
        "  ulpscope fix model.onnx -i inputs.npz --for trt -o fixed.onnx\n"
        "  ulpscope fix model.onnx -i samples/ --for torch --tolerance sqnr_db=60 -o fixed.onnx\n"
        "      every output within 1e-3 of its rms\n"
        "  ulpscope fix model.onnx -i inputs.npz --for ort-cuda --only decomposed-layernorm -o "
        "fixed.onnx\n"
        "      no edit but that, and a plan for the rest\n"
        "  ulpscope fix model.onnx -i inputs.npz --for coreml-ane --allow-value-change -o "
        "fixed.onnx\n"
        "      also masks of -1e4 and epsilons of 6e-5",
    .notes = "doc/fix.md has the edits. A model that is fine already is left alone: no file is "
             "written.\n"
             "\n"
             "Exit code 1: nothing that was tried meets the tolerance.",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct fix_options),
    .is_common = true,
    .is_front = true,
    .run = run_fix,
};
