/* ulpscope tolerance: options, the measurement, the verdict on a given tolerance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

struct tolerance_options {
    struct common_options common;
    struct keep_options keep;
    struct ulp_tolerance_options tolerance;
    const char *arithmetic, *target;
    bool check;
    double atol, rtol;
};

static bool read_part(const char **text, const char *name, double *out)
{
    char *end;
    const size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0)
        return false;
    *out = strtod(*text + length, &end);
    const bool read = end > *text + length && *out >= 0 && isfinite(*out);
    *text = *end == ',' ? end + 1 : end;
    return read && (*end == ',' || !*end);
}

static void read_check(void *parsed, char *argument)
{
    struct tolerance_options *options = parsed;
    const char *text = argument;
    options->check = true;
    while (*text)
        if (!read_part(&text, "atol=", &options->atol) &&
            !read_part(&text, "rtol=", &options->rtol))
            refuse("--check %s: expected atol=NUMBER, rtol=NUMBER or both, as atol=1e-3,rtol=1e-2",
                   argument);
}

/* Each sample has a run of its own. */
static void begin_part(void *context, size_t part, size_t part_count)
{
    struct progress *progress = context;
    if (part == 0) {
        progress_clear(progress);
        progress_init(progress, !progress->enabled, part_count);
    }
    progress_part(progress, part, part_count);
}

static enum ulp_status measure_tolerance(const struct tolerance_options *options,
                                         struct ulp_tolerance *out, struct ulp_error *error)
{
    const struct common_options *common = &options->common;
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    ULP_SCOPED(close_work) struct work work = {0};
    struct ulp_tolerance_options wanted = options->tolerance;
    ULP_TRY(make_lanes(options->arithmetic, "fp16", &options->keep, common->budget, &lanes, error));
    if (lanes.count != 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%zu arithmetics: a tolerance is of one, give one at a time",
                        lanes.count - 1);
    ULP_TRY(open_work(&work, common, NULL, NULL, error));
    wanted.arithmetic = lanes.arithmetics[1];
    ULP_TRY(find_target(options->target, work.model, &wanted.arithmetic, error));
    wanted.keeps = &lanes.keeps[1];
    wanted.thread_count = common->threads;
    wanted.begins = begin_part;
    wanted.progress = &work.observer;
    return ulp_tolerance_run(work.model, work.given, work.samples.count, &wanted, out, error);
}

/* The sample that is tightest. */
static const struct ulp_tolerance_output *find_tightest(const struct ulp_tolerance_output *output,
                                                        double atol, double rtol)
{
    const struct ulp_tolerance_output *tightest = output;
    for (; output->next; output = output->next) /* the excess is that of all from here on */
        if (ulp_tolerance_excess(output->next, atol, rtol) ==
            ulp_tolerance_excess(tightest, atol, rtol))
            tightest = output->next;
    return tightest;
}

/* "FAIL fp16 cannot meet ... at OUTPUT: 12 x too tight". */
static bool is_met(const struct tolerance_options *options, const struct ulp_tolerance *tolerance)
{
    bool met = say_unjudged(stdout, "FAIL ", &tolerance->unjudged);
    for (size_t o = 0; o < tolerance->output_count; o++) {
        const struct ulp_tolerance_output *output =
            find_tightest(&tolerance->outputs[o], options->atol, options->rtol);
        const double excess = ulp_tolerance_excess(output, options->atol, options->rtol);
        if (excess <= 1)
            continue;
        met = false;
        say(stdout, "FAIL %s cannot meet atol=%g,rtol=%g at %s", tolerance->arithmetic,
            options->atol, options->rtol, output->name);
        if (tolerance->sample_count > 1)
            say(stdout, " in %s", output->sample);
        if (isinf(excess))
            say(stdout, output->nonfinite ? ": not every element is finite\n"
                                          : ": an error where none is allowed\n");
        else
            say(stdout,
                excess < 1e4 ? ": %.*f x too tight (error %.2e)\n"
                             : ": %.*e x too tight (error %.2e)\n",
                excess < 9.95 || excess >= 1e4, excess, output->max_abs);
    }
    if (met)
        say(stdout, "PASS %s meets atol=%g,rtol=%g at every output\n", tolerance->arithmetic,
            options->atol, options->rtol);
    fputs("\n", stdout);
    return met;
}

RESULT_KIND(tolerance)

static enum ulp_status run_tolerance(void *parsed, struct ulp_error *error)
{
    const struct tolerance_options *options = parsed;
    ULP_SCOPED(ulp_tolerance_free) struct ulp_tolerance tolerance = {0};
    ULP_TRY(measure_tolerance(options, &tolerance, error));
    if (options->common.allow_nonfinite_inputs)
        forget_meant(&tolerance.unjudged);
    const bool met = !options->check || is_met(options, &tolerance);
    const struct result result = {.of = &tolerance,
                                  .text_of = text_tolerance,
                                  .write = write_tolerance};
    ULP_TRY(say_result(&result, error));
    return judge(met, error);
}

#define PARSED struct tolerance_options
static const struct option_row rows[] = {
#include "cli/command/tolerance_option.def"
    {0}};
const struct command command_tolerance = {
    .name = "tolerance",
    .summary = "say what tolerance an arithmetic can meet, and why",
    .purpose = "Recommend an atol for each output of a model in an arithmetic, as Polygraphy and "
               "numpy take it. Three figures support it: the largest error over other schedules of "
               "the sums and over trials in which every rounding is drawn anew; the error of all "
               "roundings if they are independent; and the bound if all of them add up.",
    .examples = "  ulpscope tolerance model.onnx -i inputs.npz -a fp16\n"
                "  ulpscope tolerance model.onnx -i inputs.npz -a tf32@a100 --check atol=1e-5\n"
                "      can this pass, or is it too tight?\n"
                "  ulpscope tolerance model.onnx -i samples/ -a fp16\n"
                "      one atol for all samples, which may have any shapes\n"
                "  ulpscope tolerance model.onnx -a bf16 --trials 32 --json tolerance.json",
    .notes = "Exit code 1: --check is not met, or there is nothing to judge. doc/tolerance.md has "
             "the method.",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, KEEP_GROUP, HELP_GROUP},
    .size = sizeof(struct tolerance_options),
    .is_common = true,
    .run = run_tolerance,
};
