/* ulpscope scales: options, the look at factors with scales, other choices. */
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct scales_options {
    struct common_options common;
    const char *arithmetic, *calibrate, *html;
    struct ulp_scales_options scales;
    struct ulp_calibration_options calibration;
};

/* "delayed,history=16,amax=most_recent,margin=1", of whose parts each may be left out. */
static bool read_delayed(const char *argument, struct ulp_calibration_options *out)
{
    static const char delayed[] = "delayed";
    const char *rest = argument + strlen(delayed);
    if (strncmp(argument, delayed, strlen(delayed)) != 0)
        return false;
    out->calibrator = ULP_CALIBRATOR_DELAYED;
    while (*rest) {
        static const char history[] = ",history=", amax[] = ",amax=", margin[] = ",margin=";
        char *end = NULL;
        if (strncmp(rest, history, strlen(history)) == 0) {
            const long long count = strtoll(rest += strlen(history), &end, 10);
            if (count < 1)
                return false;
            out->history = (size_t)count;
        } else if (strncmp(rest, margin, strlen(margin)) == 0) {
            const long long by = strtoll(rest += strlen(margin), &end, 10);
            out->margin = by < INT_MIN ? INT_MIN : by > INT_MAX ? INT_MAX : (int)by;
        } else if (strncmp(rest, amax, strlen(amax)) == 0) {
            rest += strlen(amax);
            const size_t length = strcspn(rest, ",");
            out->most_recent =
                length == strlen("most_recent") && strncmp(rest, "most_recent", length) == 0;
            if (!out->most_recent && (length != strlen("max") || strncmp(rest, "max", length) != 0))
                return false;
            end = (char *)(uintptr_t)(rest + length);
        }
        if (!end || end == rest || (*end && *end != ','))
            return false;
        rest = end;
    }
    return true;
}

static void read_calibrator(void *parsed, char *argument)
{
    struct ulp_calibration_options *out = &((struct scales_options *)parsed)->calibration;
    static const char percentile[] = "percentile=";
    char *end = NULL;
    if (strncmp(argument, percentile, strlen(percentile)) == 0) {
        out->calibrator = ULP_CALIBRATOR_PERCENTILE;
        out->percentile = strtod(argument + strlen(percentile), &end);
    } else if (strcmp(argument, "mse") == 0) {
        out->calibrator = ULP_CALIBRATOR_MSE;
    } else if (!read_delayed(argument, out) && strcmp(argument, "max") != 0) {
        end = (char *)(uintptr_t)argument;
    }
    if (end && (*end || end == argument + strlen(percentile)))
        refuse("--calibrator %s: known are max, percentile=P (as percentile=99.9), mse and "
               "delayed (as delayed,history=16,amax=most_recent,margin=1)",
               argument);
}

static enum ulp_status calibrate(const struct scales_options *options,
                                 const struct ulp_scales_options *wanted, const struct work *work,
                                 struct ulp_error *error)
{
    struct ulp_calibration_options calibration = options->calibration;
    calibration.arithmetic = wanted->arithmetic;
    calibration.allow_nonfinite_inputs = wanted->allow_nonfinite_inputs;
    calibration.thread_count = wanted->thread_count;
    calibration.progress = wanted->progress;
    ULP_SCOPED(ulp_scoped_free) char *missed = NULL;
    const enum ulp_status status = ulp_calibrate(work->model, work->given, work->samples.count,
                                                 &calibration, options->calibrate, &missed, error);
    if (status == ULP_OK)
        say(stdout, "%s has the ranges of factors over %zu %s. Take them with -a %s,scales=%s%s\n",
            options->calibrate, work->samples.count,
            work->samples.count == 1 ? "sample" : "samples", options->arithmetic,
            strpbrk(options->calibrate, "./") ? "" : "./", options->calibrate);
    if (missed)
        fputs(missed, stdout);
    return status;
}

PRINTS(print_scales, ulp_scales_text)
WRITES(write_scales, ulp_scales_write)

static enum ulp_status look_at_scales(void *parsed, struct ulp_error *error)
{
    const struct scales_options *options = parsed;
    ULP_SCOPED(ulp_scales_free) struct ulp_scales scales = {0};
    ULP_SCOPED(close_work) struct work work = {0};
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    const struct keep_options none = {0};
    struct ulp_scales_options wanted = options->scales;
    ULP_TRY(make_lanes(options->arithmetic, NULL, &none, options->common.budget, &lanes, error));
    if (lanes.count != 2)
        return ulp_fail(error, ULP_ERROR_USAGE, "-a %s: scales looks at one arithmetic, give one",
                        options->arithmetic);
    ULP_TRY(open_work(&work, &options->common, NULL, NULL, error));
    if (work.samples.count > 1 && !options->calibrate)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu samples: scales looks at one, give one",
                        work.samples.count);
    wanted.arithmetic = lanes.arithmetics[1];
    wanted.allow_nonfinite_inputs = options->common.allow_nonfinite_inputs;
    wanted.thread_count = options->common.threads;
    wanted.progress = &work.observer;
    if (options->calibrate)
        return calibrate(options, &wanted, &work, error);
    ULP_TRY(ulp_scales_run(work.model, work.given->inputs, &wanted, &scales, error));
    progress_clear(&work.progress);
    free_samples(&work.samples); /* not held while it is written */
    return say_result(&(struct result){&scales, print_scales, write_scales, .page = options->html},
                      error);
}

#define PARSED struct scales_options
static const struct option_row rows[] = {
#include "cli/command/scales_option.def"
    {0}};
const struct command command_scales = {
    .name = "scales",
    .summary = "say what a format with scales does to each factor of products, and what helps",
    .purpose =
        "Say what a format with scales (NVFP4, MXFP8, FP8 by rows, ...) does to each factor of a "
        "model's products: what becomes zero, what is clipped, what range blocks have, how much of "
        "the error is the elements' rounding, the scales' or clipping, and which channel or token "
        "is to blame. Then what other rules, formats and nodes left out gain, each by a run.",
    .examples = "  ulpscope scales model.onnx -i inputs.npz -a bf16,factor=nvfp4\n"
                "  ulpscope scales model.onnx -i inputs.npz -a bf16,weights=mxfp4 --json "
                "scales.json --html scales.html\n"
                "  ulpscope scales model.onnx -i samples/ -a bf16,factor=fp8-tensor --calibrate "
                "ranges.json",
    .notes = "doc/scales.md says what each format is.",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct scales_options),
    .is_common = true,
    .run = look_at_scales,
};
