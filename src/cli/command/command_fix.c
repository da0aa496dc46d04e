/* ulpscope fix: from a model that fails to one that holds. */

#include "base/error.h"
#include "cli/command.h"

struct fix_options {
    struct common_options common;
    struct ulp_fix_options fix;
    const char *reference_model, *html;
};

/* Of a large model, before hours of it are gone. */
static void announce_plan(void *context, double seconds)
{
    struct work *work = context;
    if (work->common->quiet || seconds < 60)
        return;
    progress_clear(&work->progress);
    say(stderr,
        "ulpscope: a plan takes about %.0f minutes here: --stop-after SECONDS ends its search\n",
        seconds / 60);
}

RESULT_KIND(fix)

static enum ulp_status run_fix(void *parsed, struct ulp_error *error)
{
    const struct fix_options *options = parsed;
    const struct common_options *common = &options->common;
    ULP_SCOPED(close_work) struct work work = {0};
    ULP_SCOPED(ulp_fix_free) struct ulp_fix fix = {0};
    struct ulp_fix_options wanted = options->fix;
    ULP_TRY(open_work(&work, common, NULL, options->reference_model, error));
    wanted.original = work.original;
    wanted.dims = common->dims;
    wanted.dim_count = common->dim_count;
    wanted.allow_nonfinite_inputs = common->allow_nonfinite_inputs;
    wanted.thread_count = common->threads;
    wanted.progress = &work.observer;
    wanted.plans = announce_plan;
    wanted.plans_context = &work;
    ULP_TRY(ulp_fix_run(work.model, &wanted, work.given, work.samples.count, &fix, error));
    progress_clear(&work.progress);
    const struct result result = {.of = &fix,
                                  .text_of = text_fix,
                                  .write = write_fix,
                                  .page = options->html};
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
