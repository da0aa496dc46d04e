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

static void add_words(struct argp_state *state, const char *option, struct texts *words, char *list)
{
    char *rest;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        add_argument(state, &words->items, &words->count, word);
    if (!words->count)
        refuse(state, "%s: expected names of rules, as eps-zero,square-in-half", option);
}

static void check_fixing(const struct argp_state *state, struct fix_options *options)
{
    struct ulp_fix_options *fix = &options->fix;
    const struct combination rows[] = {
        {!fix->path, true, "give the new model's name: -o fixed.onnx"},
        {fix->target && fix->arithmetic, true, "--for chooses the arithmetic: leave out --arith"},
        {count_shapes(&options->common) > 1, true, "fix takes one --shape of each input"},
    };
    REFUSE_COMBINATIONS(state, rows);
}

static const char documentation[] =
    "Make of MODEL, which comes out wrong where it is to run, one that comes out right, in one "
    "file: edits of its graph, each tried by a run (operators written out, masks and epsilons that "
    "the format does not hold, scales behind products), and where these are not enough the nodes "
    "that ulpscope plan keeps in FP32, with types and Casts. Each edit is said with its reason, "
    "its gain and what it changes in exact arithmetic; what gains nothing is not made."
    "\vdoc/fix.md has the edits. A model that is fine already is left alone: no file is "
    "written.\n\nExit code 1: nothing that was tried meets the tolerance.\n\n"
    "Examples:\n"
    "  ulpscope fix model.onnx -i inputs.npz --for trt -o fixed.onnx\n"
    "  ulpscope fix model.onnx -i samples/ --for torch --tolerance sqnr_db=60 -o fixed.onnx\n"
    "      every output within 1e-3 of its rms\n"
    "  ulpscope fix model.onnx -i inputs.npz --for ort-cuda --only decomposed-layernorm -o "
    "fixed.onnx\n"
    "      no edit but that, and a plan for the rest\n"
    "  ulpscope fix model.onnx -i inputs.npz --for coreml-ane --allow-value-change -o fixed.onnx\n"
    "      also masks of -1e4 and epsilons of 6e-5";

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

static enum ulp_status run_fix(const struct fix_options *options, struct ulp_error *error)
{
    ULP_SCOPED(finish_fix) struct making making = {.options = options};
    ULP_SCOPED(ulp_fix_free) struct ulp_fix fix = {0};
    const struct result result = {&fix, print_fix, write_fix, .page = options->html};
    ULP_TRY(mend(&making, &fix, error));
    ULP_TRY(say_result(&result, error));
    return judge(fix.met, error);
}

#define OPTIONS "cli/command/fix_option.def"
#define PARSED struct fix_options
#define CHILDREN COMMON_CHILD(1) JUDGE_CHILD JSON_CHILD
#define CHECK check_fixing
#define RUN run_fix
#include "cli/option/parser.def"

int command_fix(int argc, char **argv)
{
    struct fix_options options = {.reference = "pair", .fix.confidence = 0.99};
    const int code = run_command(&parser, argc, argv, &options, &options.common, run_parsed);
    free(options.tolerances.items);
    free(options.only.items);
    free(options.without.items);
    return code;
}
