/* ulpscope compare: options, recordings, the comparison. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

/* Seconds that a person waits for an answer on a quiet machine. */
#define PATIENCE 60

struct compare_options {
    struct common_options common;
    char *arithmetics;
    struct ulp_compare_options compare;
    const char *out, *html, *recorded_inputs, *target;
    char **files;
    size_t file_count, iteration;
};

static void check_compared(void *parsed)
{
    const struct compare_options *options = parsed;
    if (options->common.shape_count)
        refuse("--shape is for random inputs, which no other framework ran on");
}

struct comparing {
    struct ulp_arithmetic *arithmetics;
    struct ulp_model *model;
    struct ulp_recording_list read;   /* every iteration */
    struct ulp_recording *recordings; /* those that are compared; the list owns what they hold */
    size_t recording_count;
    struct ulp_tensor_set recorded_inputs, inputs;
    struct ulp_comparison comparison;
};

/* Adds the recording of that iteration, which files without iterations have none but the first of,
 * from each runner in the file. */
static enum ulp_status read_recordings(const struct compare_options *options, struct comparing *c,
                                       struct ulp_error *error)
{
    for (size_t f = 0; f < options->file_count; f++) {
        const size_t before = c->read.count;
        bool any = false;
        ULP_TRY(read_recording(c->model, &options->common, options->files[f], &c->read, error));
        for (size_t r = before; r < c->read.count; r++)
            any |= c->read.items[r].iteration == options->iteration;
        if (!any)
            return ulp_fail(error, ULP_ERROR_INPUT, "%s: has no iteration %zu", options->files[f],
                            options->iteration);
    }
    c->recordings = calloc(c->read.count + 1, sizeof *c->recordings);
    ULP_TRY(taken(c->recordings, error));
    for (size_t r = 0; r < c->read.count; r++)
        if (c->read.items[r].iteration == options->iteration)
            c->recordings[c->recording_count++] = c->read.items[r];
    return ULP_OK;
}

/* Copies of the tensors that are inputs of the model. */
static enum ulp_status add_inputs(const struct ulp_model *model, struct ulp_budget *budget,
                                  const struct ulp_tensor_set *from, struct ulp_tensor_set *out,
                                  struct ulp_error *error)
{
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const char *name = ulp_model_input(model, i).name;
        const struct ulp_tensor *found = ulp_tensor_set_find(from, name);
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        if (!found || ulp_tensor_set_find(out, name))
            continue;
        ULP_TRY(ulp_tensor_copy(&copy, found, budget, error));
        ULP_TRY(ulp_tensor_set_add(out, name, &copy, error));
    }
    return ULP_OK;
}

/* --recorded-inputs: those of its arrays that are inputs of the model. */
static enum ulp_status read_recorded_inputs(const struct compare_options *options,
                                            struct comparing *c, struct ulp_error *error)
{
    ULP_SCOPED(ulp_recording_list_free) struct ulp_recording_list list = {0};
    struct ulp_tensor_set *out = &c->recorded_inputs;
    if (!options->recorded_inputs)
        return ULP_OK;
    ULP_TRY(ulp_recording_read(options->recorded_inputs, c->model, options->common.budget, &list,
                               error));
    for (size_t r = 0; r < list.count; r++)
        if (list.items[r].iteration == options->iteration)
            ULP_TRY(
                add_inputs(c->model, options->common.budget, &list.items[r].tensors, out, error));
    if (!out->count)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s: none of its arrays of iteration %zu is named as an input of the "
                        "model (the first is '%s')",
                        options->recorded_inputs, options->iteration,
                        ulp_model_input_count(c->model) ? ulp_model_input(c->model, 0).name
                                                        : "none");
    return ULP_OK;
}

/* Without --inputs: what was recorded as inputs. */
static enum ulp_status take_recorded(const struct compare_options *options, struct comparing *c,
                                     struct ulp_error *error)
{
    ULP_TRY(add_inputs(c->model, options->common.budget, &c->recorded_inputs, &c->inputs, error));
    for (size_t r = 0; r < c->recording_count; r++)
        ULP_TRY(add_inputs(c->model, options->common.budget, &c->recordings[r].tensors, &c->inputs,
                           error));
    for (size_t i = 0; i < ulp_model_input_count(c->model); i++)
        if (!ulp_tensor_set_find(&c->inputs, ulp_model_input(c->model, i).name))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "which inputs did it run on? '%s' is not among the recordings: give "
                            "--inputs",
                            ulp_model_input(c->model, i).name);
    return ULP_OK;
}

static enum ulp_status read_inputs(const struct compare_options *options, struct comparing *c,
                                   struct ulp_error *error)
{
    struct sample_list samples;
    if (!options->common.input_count)
        return take_recorded(options, c, error);
    ULP_TRY(read_samples(c->model, &options->common, false, &samples, error));
    const size_t wanted = samples.count > 1 ? options->iteration : 0;
    enum ulp_status status = ULP_OK;
    if (wanted < samples.count) {
        c->inputs = samples.items[wanted].inputs;
        samples.items[wanted].inputs = (struct ulp_tensor_set){0};
    } else {
        status =
            ulp_fail(error, ULP_ERROR_INPUT, "--inputs hold %zu samples, none for iteration %zu",
                     samples.count, options->iteration);
    }
    free_samples(&samples);
    return status;
}

RESULT_KIND(comparison)

static enum ulp_status report(const struct compare_options *options,
                              const struct ulp_comparison *comparison, struct ulp_error *error)
{
    bool explained = !comparison->ill;
    const struct result result = {.of = comparison,
                                  .text_of = text_comparison,
                                  .write = write_comparison,
                                  .folder = options->out,
                                  .folder_has = "compare.json",
                                  .page = options->html};
    ULP_TRY(say_result(&result, error));
    for (size_t f = 0; f < comparison->file_count; f++)
        explained &= comparison->files[f].explained;
    return judge(explained, error);
}

/* Those asked about; none: the types that the model declares. */
static enum ulp_status choose_compared(const struct compare_options *options, struct comparing *c,
                                       size_t *count, struct ulp_error *error)
{
    char name[ULP_JUDGED_IN_BYTES];
    struct ulp_arithmetic judged;
    ULP_TRY(ulp_judged_in(c->model, NULL, NULL, name, &judged, error));
    ULP_TRY(parse_arithmetics(options->arithmetics ? options->arithmetics
                              : judged.as_declared ? name
                                                   : "fp32",
                              &c->arithmetics, count, error));
    return find_target(options->target, c->model, &c->arithmetics[0], error);
}

static void show_run(void *context, size_t part, size_t part_count)
{
    progress_part(context, part, part_count);
    watch_done("%zu of %zu runs known by then had been done, too few for a verdict", part,
               part_count);
}

static enum ulp_status compare_recordings(const struct compare_options *options,
                                          struct comparing *c, struct ulp_error *error)
{
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    struct common_options said = options->common; /* also what a proposed command names as inputs */
    char *recorded = (char *)(uintptr_t)options->recorded_inputs;
    struct ulp_compare_options wanted = options->compare;
    wanted.thread_count = options->common.threads;
    wanted.allow_nonfinite_inputs = options->common.allow_nonfinite_inputs;
    wanted.begins = show_run;
    wanted.seconds = watch_seconds();
    wanted.patience = PATIENCE;
    if (!said.input_count && recorded) {
        said.inputs = &recorded;
        said.input_count = 1;
    }
    ULP_TRY(load_with_shapes(&said, options->out, &c->model, error));
    ULP_TRY(choose_compared(options, c, &wanted.arithmetic_count, error));
    ULP_TRY(read_recordings(options, c, error));
    ULP_TRY(read_recorded_inputs(options, c, error));
    ULP_TRY(read_inputs(options, c, error));
    progress_init(&progress, options->common.quiet, 1);
    const struct ulp_observer observer = progress_observer(&progress);
    wanted.arithmetics = c->arithmetics;
    wanted.progress = &observer;
    wanted.recorded_inputs = c->recorded_inputs.count ? &c->recorded_inputs : NULL;
    return ulp_comparison_run(c->model, &c->inputs, c->recordings, c->recording_count, &wanted,
                              &c->comparison, error);
}

static void free_comparing(struct comparing *c)
{
    ulp_comparison_free(&c->comparison);
    ulp_recording_list_free(&c->read);
    free(c->recordings);
    ulp_tensor_set_free(&c->recorded_inputs);
    ulp_tensor_set_free(&c->inputs);
    ulp_model_free(c->model);
    free(c->arithmetics);
}

static enum ulp_status run_compare(void *parsed, struct ulp_error *error)
{
    const struct compare_options *options = parsed;
    ULP_SCOPED(free_comparing) struct comparing comparing = {0};
    ULP_TRY(compare_recordings(options, &comparing, error));
    return report(options, &comparing.comparison, error);
}

#define PARSED struct compare_options
static const struct option_row rows[] = {
#include "cli/command/compare_option.def"
    {0}};
const struct command command_compare = {
    .name = "compare",
    .summary = "say whether an arithmetic explains what another framework recorded",
    .purpose =
        "Say whether an arithmetic explains the tensors that another framework recorded: whether "
        "their errors are as small as that arithmetic's. If not, name the first tensor that it "
        "does not explain, and the cause. A recording is an .npz, the .json of Polygraphy's "
        "--save-outputs, an ONNX test_data_set folder or a folder of .npy files. It may hold any "
        "of the graph's tensors, under their names, in any float type.",
    .examples =
        "  ulpscope compare model.onnx -i inputs.npz trt.json --arith fp16\n"
        "      is the engine's output what FP16 makes of these inputs?\n"
        "  ulpscope compare model.onnx -i inputs.npz ort.npz trt.json --arith fp32,fp16 --out "
        "cmp/\n"
        "      two frameworks compared with the truth and with each other; all figures in "
        "compare.json\n"
        "  ulpscope compare model.onnx -i inputs.npz app.npz --recorded-inputs app_inputs.npz\n"
        "      an application: was its preprocessing right, and if not, what was wrong?\n"
        "  ulpscope compare model.onnx -i in.npz dump/ --arith tf32 --trials 16\n"
        "      inner tensors, one .npy each: which node is the first that computes something else?",
    .notes = "Exit code 1: something is not explained, or the reference itself is not finite or "
             "lost its digits. doc/compare.md says what explained means.",
    .groups = {{NULL, rows, 0}, JUDGE_GROUP, JSON_GROUP, COMMON_GROUP, HELP_GROUP},
    .size = sizeof(struct compare_options),
    .is_common = true,
    .is_front = true,
    .check = check_compared,
    .run = run_compare,
};
