/* ulpscope plan: find the nodes to keep in a wider arithmetic. */
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"

struct plan_options {
    struct common_options common;
    struct ulp_search_options search;
    struct score_options score;
    char **validate;
    size_t validate_count;
    const char *html, *out, *arithmetic, *keep_in, *apply, *reference_model;
};

static enum ulp_status say_mixed(const struct ulp_mixed *mixed, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_mixed_text(mixed, &text, error));
    fputs(text, stdout);
    return ULP_OK;
}

static enum ulp_status run_apply(const struct plan_options *options, struct ulp_error *error)
{
    ULP_SCOPED(close_work) struct work work = {0};
    ULP_SCOPED(ulp_precision_plan_free) struct ulp_precision_plan plan = {0};
    ULP_SCOPED(ulp_mixed_free) struct ulp_mixed mixed = {0};
    ULP_TRY(ulp_precision_plan_read(options->apply, options->common.budget, &plan, error));
    ULP_TRY(open_work(&work, &options->common, options->out, NULL, error));
    const struct ulp_mixed_options wanted = {.arithmetic = plan.arithmetic,
                                             .keeps = plan.keeps,
                                             .lower_io = options->search.lower_io,
                                             .thread_count = options->common.threads,
                                             .progress = &work.observer};
    ULP_TRY(ulp_mixed_write(work.model, &wanted, work.given, work.samples.count, options->out,
                            &mixed, error));
    progress_clear(&work.progress);
    ULP_TRY(say_mixed(&mixed, error));
    return mixed.reason ? ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s", "") : ULP_OK;
}

RESULT_KIND(search)

/* ---- the search ---- */

static enum ulp_status report(const struct plan_options *options, const struct ulp_search *found,
                              struct ulp_error *error)
{
    ULP_TRY(print_result(text_search, found, error));
    if (options->out) {
        ULP_TRY(ulp_search_write(found, ULP_OUTPUT_FOLDER, options->out, error));
        say(stdout, "plan: %s/plan.json, and the same for TensorRT's tools beside it\n",
            options->out);
    }
    if (found->mixed.path || found->mixed.reason)
        ULP_TRY(say_mixed(&found->mixed, error));
    const struct result result = {.of = found, .write = write_search, .page = options->html};
    ULP_TRY(say_result(&result, error));
    return judge(found->met && found->validated_met == found->validated_count &&
                     !(found->mixed_ratio > 1),
                 error);
}

static enum ulp_status run_search(const struct plan_options *options,
                                  struct ulp_search_options *search, struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    ULP_SCOPED(close_work) struct work work = {0};
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_SCOPED(ulp_scoped_free) struct ulp_sample *validated = NULL;
    ULP_SCOPED(ulp_search_free) struct ulp_search found = {0};
    ULP_TRY(open_work(&work, common, options->out, options->reference_model, error));
    ULP_TRY(read_held_out(&work, options->validate, options->validate_count, &samples, &validated,
                          error));
    search->original = work.original;
    search->allow_nonfinite_inputs = common->allow_nonfinite_inputs;
    search->thread_count = common->threads;
    search->progress = &work.observer;
    /* an audit of the samples, and draws, trials and their compiling, which other models and limits
     * took 3 to 27 first runs for */
    work.progress.least = 2 + 1.2 * (double)work.samples.count;
    work.progress.most = 26 + 1.5 * (double)work.samples.count;
    ULP_TRY(ulp_search_run(work.model, search, work.given, work.samples.count, validated,
                           samples.count, &found, error));
    progress_clear(&work.progress);
    return report(options, &found, error);
}

static enum ulp_status run_plan(void *parsed, struct ulp_error *error)
{
    const struct plan_options *options = parsed;
    struct ulp_search_options search = options->search;
    if (options->apply)
        return run_apply(options, error);
    const struct ulp_scorer scorer = make_scorer(&options->score);
    search.scorer = options->score.metric ? &scorer : NULL;
    search.mixed_folder = options->out;
    search.by_node = true;
    const char *keep_in = search.target_count ? NULL : "fp32";
    const char *formats[] = {options->keep_in ? options->keep_in : keep_in,
                             search.target_count   ? search.targets[0]
                             : options->arithmetic ? options->arithmetic
                                                   : "fp16"};
    ULP_SCOPED(ulp_range_list_free) struct ulp_range_list ranges = {0};
    ULP_SCOPED(ulp_scoped_free) char *plain = NULL;
    ULP_TRY(read_ranges(formats[1], options->common.budget, &plain, &ranges, error));
    formats[1] = plain;
    search.formats = formats;
    search.format_count = 2;
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
    .examples = "  ulpscope plan model.onnx -i samples/ --tolerance sqnr_db=60 --out plan/\n"
                "      the nodes to keep so that every output is within 1e-3 of its rms\n"
                "  ulpscope audit model.onnx -i samples/ --plan plan/plan.json\n"
                "      the plan, node by node\n"
                "  ulpscope plan model.onnx -i samples/ --apply plan/plan.json --out plan/\n"
                "      mixed.onnx of a plan found earlier\n"
                "  ulpscope plan model.onnx -i a.npz -i b.npz --validate c.npz --tolerance "
                "logits:max_abs=0.01\n"
                "      found with two samples, judged by a third\n"
                "  ulpscope plan model.onnx -a tf32 --tolerance sqnr_db=80 --never 'op:Conv'\n"
                "      where TF32 loses accuracy, besides convolutions",
    .notes = "Samples may have any shapes that leave the same nodes to compute.\n"
             "\n"
             "mixed.onnx is written only when `ulpscope run -a model` gives the bits of the plan "
             "on it, for every sample.\n"
             "\n"
             "Exit code 1: no plan meets the tolerance, or a held-out sample does not.",
    .groups = {{NULL, rows, 0}, SCORE_GROUP, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct plan_options),
    .is_common = true,
    .is_front = true,
    .run = run_plan,
};
