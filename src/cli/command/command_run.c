/* ulpscope run: one arithmetic, its outputs. */
#include <stdio.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

ULP_FREES(ulp_borders_free, struct ulp_border)
struct run_options {
    struct common_options common;
    struct keep_options keep;
    char *arithmetic;
    const char *outputs, *target;
    bool all_values;
    int repeat;
};

struct kept_values {
    struct ulp_tensor_set *set;
    struct ulp_budget *budget;
};

/* Keeps copies of every node's outputs; those of iteration k of a Loop or Scan, 0 being the first,
 * as "name[k]". */
static enum ulp_status keep_values(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    const struct kept_values *kept = context;
    struct ulp_tensor_set *set = kept->set;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *value = event->values[o].entire;
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
        ulp_text_add(&name, event->execution ? "%s[%zu]" : "%s", event->output_names[o],
                     event->execution);
        if (name.failed) {
            ULP_TRY(out_of_memory(error));
        } else if (!ulp_tensor_set_find(set, name.data)) {
            ULP_TRY(ulp_tensor_copy(&copy, value, kept->budget, error));
            ULP_TRY(ulp_tensor_set_add(set, name.data, &copy, error));
        }
    }
    return ULP_OK;
}

static void print_outputs(const struct ulp_tensor_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct ulp_tensor *tensor = &set->items[i].tensor;
        size_t shown = tensor->count < 4 ? tensor->count : 4;
        say(stdout, "%s %s[", set->items[i].name, ulp_type_name(tensor->type));
        for (int d = 0; d < tensor->rank; d++)
            say(stdout, d ? ",%lld" : "%lld", (long long)tensor->dims[d]);
        say(stdout, "] =");
        for (size_t e = 0; e < shown; e++)
            say(stdout, " %.9g", ulp_tensor_get(tensor, e));
        say(stdout, "%s\n", tensor->count > shown ? " ..." : "");
    }
}

/* The run, as often as asked; what an earlier one gave is dropped. */
static enum ulp_status run_repeatedly(const struct run_options *options,
                                      const struct ulp_program *program,
                                      const struct ulp_tensor_set *inputs,
                                      struct ulp_tensor_set *outputs, struct ulp_tensor_set *values,
                                      struct ulp_run_cost *cost, struct ulp_error *error)
{
    struct ulp_run_options run = {.thread_count = options->common.threads};
    struct kept_values kept = {values, options->common.budget};
    enum ulp_status status = ULP_OK;
    for (int i = 0; i < options->repeat && status == ULP_OK; i++) {
        struct progress progress;
        struct ulp_observer observers[2] = {progress_observer(&progress)};
        size_t observer_count = 1;
        if (options->all_values)
            observers[observer_count++] =
                (struct ulp_observer){.context = &kept, .node_done = keep_values};
        ulp_tensor_set_free(outputs);
        ulp_tensor_set_free(values);
        progress_init(&progress, options->common.quiet, 1);
        status =
            ulp_program_run(program, inputs, &run, observers, observer_count, outputs, cost, error);
        progress_clear(&progress);
        if (status == ULP_OK && options->repeat > 1 && !options->common.quiet)
            say(stderr, "run %.6f s\n", cost->seconds);
    }
    return status;
}

/* Where a graph with these nodes kept would have its Casts. */
static enum ulp_status note_borders(const struct ulp_program *program, struct ulp_error *error)
{
    ULP_SCOPED(ulp_borders_free_of) struct ulp_border *borders = NULL;
    size_t count;
    ULP_TRY(ulp_program_borders(program, 0, &borders, &count, error));
    for (size_t b = 0; b < count; b++)
        say(stderr, "ulpscope: border: %s, %s to %s\n", borders[b].value, borders[b].from->name,
            borders[b].to->name);
    return ULP_OK;
}

struct running {
    const struct run_options *options;
    const struct ulp_program *program;
    struct ulp_recording_writer *writer; /* of a .json; NULL: none */
    struct ulp_run_cost cost;            /* of all samples */
};

/* What was asked for of the values, of which the outputs are a part. */
static enum ulp_status hand_on_values(struct running *running, const struct ulp_tensor_set *set,
                                      struct ulp_error *error)
{
    const char *path = running->options->outputs;
    if (!path)
        print_outputs(set);
    else if (running->writer)
        return ulp_recording_writer_add(running->writer, set, error);
    else
        return ulp_tensor_set_write_npz(path, set, error);
    return ULP_OK;
}

static enum ulp_status run_sample(struct running *running, const struct ulp_tensor_set *inputs,
                                  struct ulp_error *error)
{
    const struct run_options *options = running->options;
    struct ulp_tensor_set outputs = {0}, values = {0};
    struct ulp_run_cost cost = {0};
    enum ulp_status status =
        run_repeatedly(options, running->program, inputs, &outputs, &values, &cost, error);
    for (size_t i = 0; i < outputs.count && status == ULP_OK && options->all_values; i++)
        if (!ulp_tensor_set_find(&values, outputs.items[i].name))
            status =
                ulp_tensor_set_add(&values, outputs.items[i].name, &outputs.items[i].tensor, error);
    ULP_THEN(status, hand_on_values(running, options->all_values ? &values : &outputs, error));
    running->cost.seconds += cost.seconds;
    if (cost.peak_bytes > running->cost.peak_bytes)
        running->cost.peak_bytes = cost.peak_bytes;
    ulp_tensor_set_free(&values);
    ulp_tensor_set_free(&outputs);
    return status;
}

/* All samples; several are iterations of one .json. */
static enum ulp_status run_samples(struct running *running, const struct sample_list *samples,
                                   struct ulp_error *error)
{
    const struct run_options *options = running->options;
    char runner[320];
    enum ulp_status status = ULP_OK;
    if (options->outputs && ulp_text_ends(options->outputs, ".json")) {
        snprintf(runner, sizeof runner, "ulpscope-%s", ulp_program_lane_name(running->program, 0));
        status = ulp_recording_writer_open(options->outputs, runner, &running->writer, error);
    }
    for (size_t s = 0; s < samples->count && status == ULP_OK; s++) {
        if (samples->count > 1 && !options->outputs)
            say(stdout, "sample %s\n", samples->items[s].name);
        status = run_sample(running, &samples->items[s].inputs, error);
    }
    const enum ulp_status closed = ulp_recording_writer_close(running->writer, status == ULP_OK,
                                                              status == ULP_OK ? error : NULL);
    return status == ULP_OK ? closed : status;
}

static void note_run(const struct running *running)
{
    const struct run_options *options = running->options;
    say(stderr, "ulpscope: %s in %s: %.3f s, peak %.1f MiB of tensors, %.1f in all%s%s\n",
        options->common.model, ulp_program_lane_name(running->program, 0), running->cost.seconds,
        (double)running->cost.peak_bytes / 0x1p20,
        (double)ulp_budget_peak(options->common.budget) / 0x1p20,
        options->outputs ? ", written to " : "", options->outputs ? options->outputs : "");
}

static enum ulp_status check_samples(const struct run_options *options,
                                     const struct sample_list *samples, struct ulp_error *error)
{
    return samples->count == 1 || !options->outputs || ulp_text_ends(options->outputs, ".json")
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "an npz holds the outputs of one sample; %zu were given: write them to "
                          "--outputs FILE.json, where each is an iteration",
                          samples->count);
}

static enum ulp_status run_model(void *parsed, struct ulp_error *error)
{
    const struct run_options *options = parsed;
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(free_samples) struct sample_list samples = {0};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(make_lanes(options->arithmetic, "fp32", &options->keep, options->common.budget, &lanes,
                       error));
    if (lanes.count != 2)
        return ulp_fail(error, ULP_ERROR_USAGE, "run takes one arithmetic; %zu were given",
                        lanes.count - 1);
    ULP_TRY(load_with_shapes(&options->common, NULL, &model, error));
    ULP_TRY(find_target(options->target, model, &lanes.arithmetics[1], error));
    ULP_TRY(read_samples(model, &options->common, false, &samples, error));
    if (!options->common.quiet)
        note_choices(model, &samples);
    ULP_TRY(check_samples(options, &samples, error));
    const struct ulp_program_options plan_options = {.inputs = &samples.items[0].inputs,
                                                     .keeps = &lanes.keeps[1],
                                                     .groups = &lanes.groups[1]};
    ULP_TRY(ulp_program_create(model, &lanes.arithmetics[1], 1, &plan_options, &program, error));
    struct running running = {.options = options, .program = program};
    ULP_TRY(run_samples(&running, &samples, error));
    if (options->common.quiet)
        return ULP_OK;
    ULP_TRY(note_borders(program, error));
    note_run(&running);
    return ULP_OK;
}

#define PARSED struct run_options
static const struct option_row rows[] = {
#include "cli/command/run_option.def"
    {0}};
const struct command command_run = {
    .name = "run",
    .summary = "run a model in one arithmetic and write its outputs",
    .purpose =
        "Run MODEL in one arithmetic and write its outputs. Values of formats that numpy has no "
        "type for are written as FP32, which is exact; values of mpfr:P as the nearest FP64.",
    .examples =
        "  ulpscope run model.onnx --inputs inputs.npz --outputs out.npz\n"
        "  ulpscope run model.onnx -i inputs.npz --arith fp16@a100 --outputs out.npz --all-values\n"
        "  ulpscope run model.onnx -i polygraphy-inputs.json -a fp16 --outputs fp16.json\n"
        "      polygraphy run model.onnx --trt --fp16 --load-inputs polygraphy-inputs.json "
        "--load-outputs fp16.json\n"
        "  ulpscope run model.onnx --arith mpfr:256 --dim batch=2 --val-range -1,1 --seed 7",
    .groups = {{NULL, rows, 0}, COMMON_GROUP, KEEP_GROUP, HELP_GROUP},
    .size = sizeof(struct run_options),
    .is_common = true,
    .run = run_model,
};
