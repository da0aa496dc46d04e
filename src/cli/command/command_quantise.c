/* ulpscope quantise: what formats with scales cost, a format for each product, quantised.onnx; and
 * the look at one arithmetic's factors, which --arith asks for. */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct quantise_options {
    struct common_options common;
    const char *arithmetic, *cache, *calibrate, *html, *out, *target;
    struct ulp_scales_options scales;
    struct ulp_calibration_options calibration;
    struct ulp_quantise_options quantise;
    struct score_options score;
    char **validate;
    size_t validate_count;
    bool calibrator; /* one is asked for */
};

/* Of more samples so many, evenly among all, search; all calibrate. */
enum { SEARCHED = 32 };

static bool find_scaled(const char *name, struct ulp_arithmetic *out)
{
    char text[80];
    struct ulp_error error;
    return snprintf(text, sizeof text, "bf16,factor=%s,unit=none", name) < (int)sizeof text &&
           ulp_arithmetic_find(text, out, &error) == ULP_OK && out->scaling[0].name[0];
}

/* Of --formats: a name only, without parts. */
static enum ulp_status check_format(const char *name, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    return find_scaled(name, &arithmetic) ? ULP_OK : ulp_arithmetic_find(name, &arithmetic, error);
}

static void read_budget(void *parsed, char *text)
{
    struct quantise_options *options = parsed;
    if (strncmp(text, "bits=", 5) != 0)
        refuse("--budget %s: expected bits=MEAN, as bits=5", text);
    options->quantise.search.budget = read_number("--budget bits", text + 5, 1, 64);
}

static void read_calibrator(void *parsed, char *argument)
{
    struct quantise_options *options = parsed;
    struct ulp_calibration_options *out = &options->calibration;
    static const char percentile[] = "percentile=";
    char *end = NULL;
    options->calibrator = true;
    if (strncmp(argument, percentile, strlen(percentile)) == 0) {
        out->calibrator = ULP_CALIBRATOR_PERCENTILE;
        out->percentile = strtod(argument + strlen(percentile), &end);
    } else if (strcmp(argument, "mse") == 0) {
        out->calibrator = ULP_CALIBRATOR_MSE;
    } else if (strcmp(argument, "entropy") == 0) {
        out->calibrator = ULP_CALIBRATOR_ENTROPY;
    } else if (strcmp(argument, "max") != 0) {
        end = (char *)(uintptr_t)argument;
    }
    if (end && (*end || end == argument + strlen(percentile)))
        refuse("--calibrator %s: known are max, percentile=P (as percentile=99.9), mse and "
               "entropy",
               argument);
}

static enum ulp_status calibrate(const struct quantise_options *options,
                                 const struct ulp_scales_options *wanted, const struct work *work,
                                 struct ulp_error *error)
{
    struct ulp_calibration_options calibration = options->calibration;
    calibration.arithmetic = wanted->arithmetic;
    calibration.allow_nonfinite_inputs = wanted->allow_nonfinite_inputs;
    calibration.thread_count = wanted->thread_count;
    calibration.progress = wanted->progress;
    const enum ulp_status status = ulp_calibrate(work->model, work->given, work->samples.count,
                                                 &calibration, options->calibrate, error);
    if (status == ULP_OK)
        say(stdout, "%s has the ranges of factors over %zu %s. Take them with -a %s,scales=%s%s\n",
            options->calibrate, work->samples.count,
            work->samples.count == 1 ? "sample" : "samples", options->arithmetic,
            strpbrk(options->calibrate, "./") ? "" : "./", options->calibrate);
    return status;
}

RESULT_KIND(scales)

static enum ulp_status look_at_scales(const struct quantise_options *options,
                                      struct ulp_error *error)
{
    ULP_SCOPED(ulp_scales_free) struct ulp_scales scales = {0};
    ULP_SCOPED(close_work) struct work work = {0};
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    const struct keep_options none = {0};
    struct ulp_scales_options wanted = options->scales;
    ULP_TRY(make_lanes(options->arithmetic, NULL, &none, options->common.budget, &lanes, error));
    if (lanes.count != 2)
        return ulp_fail(error, ULP_ERROR_USAGE, "-a %s: quantise looks at one arithmetic, give one",
                        options->arithmetic);
    ULP_TRY(open_work(&work, &options->common, NULL, NULL, error));
    if (work.samples.count > 1 && !options->calibrate)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu samples: --arith looks at one, give one",
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
    const struct result result = {.of = &scales,
                                  .text_of = text_scales,
                                  .write = write_scales,
                                  .page = options->html};
    return say_result(&result, error);
}

/* ---- a format for each product ---- */

/* TensorRT has operators of its own for formats with scales that are no integers. */
static bool has_own_operators(const struct quantise_options *options)
{
    const struct ulp_search_options *search = &options->quantise.search;
    struct ulp_arithmetic arithmetic;
    bool own = false;
    for (size_t f = 0; f < search->format_count && options->target; f++)
        own |= strncmp(options->target, "trt", 3) == 0 &&
               find_scaled(search->formats[f], &arithmetic) &&
               arithmetic.scaling[0].element.emin < arithmetic.scaling[0].element.emax;
    return own;
}

/* Those in memory, which search. */
static struct ulp_sample *list_loaded(const struct work *work, size_t *count)
{
    struct ulp_sample *list = calloc(work->samples.count + 1, sizeof *list);
    *count = 0;
    for (size_t s = 0; list && s < work->samples.count; s++)
        if (work->given[s].inputs)
            list[(*count)++] = work->given[s];
    return list;
}

static enum ulp_status search_formats(const struct quantise_options *options, struct work *work,
                                      struct ulp_search *found, struct ulp_error *error)
{
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_SCOPED(ulp_scoped_free) struct ulp_sample *validated = NULL, *loaded = NULL;
    const struct ulp_samples all = lend_samples(work);
    size_t loaded_count;
    struct ulp_quantise_options wanted = options->quantise;
    ULP_TRY(read_held_out(work, options->validate, options->validate_count, &samples, &validated,
                          error));
    const struct ulp_scorer scorer = make_scorer(&options->score);
    wanted.search.scorer = options->score.metric ? &scorer : NULL;
    wanted.search.tensorrt = has_own_operators(options);
    wanted.search.targets = &options->target;
    wanted.search.target_count = options->target && !wanted.search.tensorrt;
    wanted.search.mixed_folder = options->out;
    wanted.search.allow_nonfinite_inputs = options->common.allow_nonfinite_inputs;
    wanted.search.thread_count = options->common.threads;
    wanted.search.progress = &work->observer;
    work->progress.least = 0.6; /* as 9 searches took */
    work->progress.most = 1.7;
    wanted.calibrator = options->calibration.calibrator;
    wanted.percentile = options->calibration.percentile;
    wanted.best_calibrator = !options->calibrator;
    wanted.share /= 100;
    wanted.calibration_cache = options->cache;
    loaded = list_loaded(work, &loaded_count);
    ULP_TRY(taken(loaded, error));
    wanted.calibrated = loaded_count < all.count ? &all : NULL;
    ULP_TRY(ulp_arithmetic_find("pair", &wanted.search.reference, error));
    ULP_TRY(ulp_quantise_run(work->model, &wanted, loaded, loaded_count, validated, samples.count,
                             found, error));
    progress_clear(&work->progress);
    return ULP_OK;
}

RESULT_KIND(search)

static enum ulp_status run_quantise(void *parsed, struct ulp_error *error)
{
    const struct quantise_options *options = parsed;
    ULP_SCOPED(close_work) struct work work = {.held = SEARCHED};
    ULP_SCOPED(ulp_search_free) struct ulp_search found = {0};
    if (options->arithmetic)
        return look_at_scales(options, error);
    ULP_TRY(open_work(&work, &options->common, options->out, NULL, error));
    ULP_TRY(search_formats(options, &work, &found, error));
    ULP_TRY(print_result(text_search, &found, error));
    if (options->out) {
        ULP_TRY(ulp_search_write(&found, ULP_OUTPUT_FOLDER, options->out, error));
        say(stdout, "plan: %s/plan.json (audit --plan reads it)\n", options->out);
    }
    const struct result result = {.of = &found, .write = write_search, .page = options->html};
    ULP_TRY(say_result(&result, error));
    return judge(found.met && found.validated_met == found.validated_count, error);
}

#define PARSED struct quantise_options
static const struct option_row rows[] = {
#include "cli/command/quantise_option.def"
    {0}};
const struct command command_quantise = {
    .name = "quantise",
    .summary = "say what INT8, INT4, FP8 would cost, where, and write the model that holds",
    .purpose =
        "Say what quantising a float model would cost: ranges of values over the samples, the "
        "products (MatMul, Gemm, Conv) in integers or another format with scales, the error that "
        "each brings, and which to leave out; and write quantised.onnx with QuantizeLinear and "
        "DequantizeLinear. With --arith look at what one format does to each factor: what becomes "
        "zero or is clipped, whose fault the error is, and what other rules and formats gain.",
    .examples =
        "  ulpscope quantise model.onnx -i samples/ --for ort --out quantised/\n"
        "      every product in UINT8 by INT8, and which layers cost most\n"
        "  ulpscope quantise model.onnx -i samples/ --for ort --tolerance sqnr_db=30 --out q/\n"
        "      as many multiply-adds in integers as 30 dB allow\n"
        "  ulpscope quantise model.onnx -i samples/ --formats uint8,fp32 --share 90 --validate "
        "others/\n"
        "      the least error with 90 % of the multiply-adds in integers, judged by others\n"
        "  ulpscope quantise model.onnx -i samples/ --formats nvfp4,mxfp8,bf16 --budget bits=5\n"
        "  ulpscope quantise model.onnx -i inputs.npz -a bf16,factor=nvfp4\n"
        "      what NVFP4 does to each factor, and what helps\n"
        "  ulpscope quantise model.onnx -i samples/ -a bf16,factor=fp8-tensor --calibrate "
        "ranges.json",
    .notes = "doc/quantise.md says how, doc/scales.md what each format is.\n"
             "\n"
             "Exit code 1: what is asked for is not met, or a held-out sample does not meet it.",
    .groups = {{NULL, rows, 0}, SCORE_GROUP, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct quantise_options),
    .is_common = true,
    .is_front = true,
    .run = run_quantise,
};
