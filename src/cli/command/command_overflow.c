/* ulpscope overflow: options, samples, the forecast. */
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"

struct overflow_options {
    struct common_options common;
    struct keep_options keep;
    char *formats;
    const char *target, *reference, *out, *html;
    bool no_remedies;
    int fail_on; /* the least verdict that fails; 0: none */
};

/* The default: fast, and the one of more range and digits behind it. */
#define FIRST_REFERENCE "fp64"
#define SECOND_REFERENCE "pair"

static void show_sample(void *context, size_t sample, size_t sample_count)
{
    struct progress *progress = context;
    progress->part = sample;
    progress->sample = sample + 1;
    progress->sample_count = sample_count;
}

/* --fail-on: is some node as bad as that? */
static bool fails(const struct overflow_options *options, const struct ulp_overflow_lane *lane)
{
    if (options->fail_on == ULP_OVERFLOW_HAPPENS)
        return lane->harmful_count > 0;
    for (int verdict = options->fail_on; verdict && verdict <= ULP_OVERFLOW_HAPPENS; verdict++)
        if (lane->counts[verdict])
            return true;
    return false;
}

/* --fail-on: was all shown not to overflow? */
static bool is_judged(const struct ulp_overflow_forecast *forecast)
{
    const bool all = say_unjudged(stdout, "FAIL --fail-on: ", &forecast->unjudged);
    if (forecast->beyond_reference)
        say(stdout, "FAIL --fail-on: cannot be judged: node %s is beyond the reference %s\n",
            forecast->beyond_reference, forecast->reference);
    return all && !forecast->beyond_reference;
}

RESULT_KIND(overflow)

static enum ulp_status report(const struct overflow_options *options,
                              const struct ulp_overflow_forecast *forecast, struct ulp_error *error)
{
    const struct result result = {.of = forecast,
                                  .text_of = text_overflow,
                                  .write = write_overflow,
                                  .folder = options->out,
                                  .folder_has = "overflow.json",
                                  .page = options->html};
    ULP_TRY(say_result(&result, error));
    bool holds = true;
    for (size_t l = 0; l < forecast->lane_count; l++)
        holds &= !fails(options, &forecast->lanes[l]);
    return judge(holds && (!options->fail_on || is_judged(forecast)), error);
}

static enum ulp_status forecast(const struct overflow_options *options,
                                struct ulp_overflow_forecast *forecast, struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    ULP_SCOPED(close_work) struct work work = {.held = 1};
    struct ulp_arithmetic judged, wider;
    char name[ULP_JUDGED_IN_BYTES];
    ULP_TRY(load_with_shapes(common, options->out, &work.model, error));
    if (!options->formats)
        ULP_TRY(ulp_judged_in(work.model, options->target, NULL, name, &judged, error));
    ULP_TRY(make_lanes(options->formats ? options->formats : name, "fp16", &options->keep,
                       common->budget, &lanes, error));
    ULP_TRY(ulp_arithmetic_find(options->reference ? options->reference : FIRST_REFERENCE,
                                &lanes.arithmetics[0], error));
    ULP_TRY(ulp_arithmetic_find(SECOND_REFERENCE, &wider, error));
    ULP_TRY(open_work(&work, common, NULL, NULL, error));
    const struct ulp_samples samples = lend_samples(&work);
    const struct ulp_program_options plan = lane_plans(&lanes, work.model).options;
    const struct ulp_overflow_options wanted = {.plan = &plan,
                                                .wider = options->reference ? NULL : &wider,
                                                .no_remedies = options->no_remedies,
                                                .thread_count = common->threads,
                                                .progress = &work.observer,
                                                .begins = show_sample};
    return ulp_overflow_run(work.model, lanes.arithmetics, lanes.count, &samples, &wanted, forecast,
                            error);
}

static enum ulp_status run_overflow(void *parsed, struct ulp_error *error)
{
    struct overflow_options *options = parsed;
    ULP_SCOPED(ulp_overflow_free) struct ulp_overflow_forecast made = {0};
    ULP_TRY(forecast(options, &made, error));
    if (options->common.allow_nonfinite_inputs)
        forget_meant(&made.unjudged);
    return report(options, &made, error);
}

#define PARSED struct overflow_options
static const struct option_row rows[] = {
#include "cli/command/overflow_option.def"
    {0}};
const struct command command_overflow = {
    .name = "overflow",
    .summary = "say what will overflow in a format, why, and what to do",
    .purpose = "Say what will overflow in a format, from the values of an exact run alone: for "
               "every node how far its values are below the format's largest number, which node "
               "overflows first and why, what becomes of it, and what to keep in FP32.",
    .examples =
        "  ulpscope overflow model.onnx -i inputs.npz\n"
        "      FP16, as GPU kernels compute it: FP32 inside an operator\n"
        "  ulpscope overflow model.onnx -i inputs.npz --for trt10@a100\n"
        "      as TensorRT 10 fuses and stores it\n"
        "  ulpscope overflow model.onnx -i inputs.npz --format fp16,bf16,fp8-e4m3 --out report/\n"
        "      three formats from one walk, all figures in report/overflow.json\n"
        "  ulpscope overflow model.onnx -i calibration/ --format fp16\n"
        "      many samples, one after another\n"
        "  ulpscope overflow model.onnx -i in.npz --format fp16 --keep '/norm/Pow=fp32'\n"
        "      what is left when a node is kept in FP32\n"
        "  ulpscope overflow model.onnx -i in.npz --format fp16,constants=ieee --fail-on 1bit\n"
        "      in CI: weights are rounded to infinity, as PyTorch's half() does",
    .notes =
        "Words of the report:\n"
        "  headroom    log2 of the format's largest number over the largest magnitude\n"
        "  tiny        share of elements below the format's normal numbers, or that become zero\n"
        "  upstream    the node only passes on a value that did not fit before it\n"
        "  absorbed    no result depends on the overflow, as a Softmax ignores a mask of -Inf",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, KEEP_GROUP, HELP_GROUP},
    .size = sizeof(struct overflow_options),
    .is_common = true,
    .is_front = true,
    .run = run_overflow,
};
