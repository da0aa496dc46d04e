/* ulpscope study: options, a study for each shape, its files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"

struct study_options {
    struct common_options common;
    char **sweeps, **nodes;
    size_t sweep_count, node_count;
    const char *group, *reference, *checkpoint, *csv, *html, *rows;
    size_t trials;
    double tolerance, probability, confidence;
    enum ulp_task task;
};

static void refuse_beside_rows(const struct argp_state *state, const struct study_options *options)
{
    const struct combination rows[] = {
        {options->sweep_count > 1, true, "--rows: one --sweep, an arithmetic without braces"},
        {options->node_count || options->group || options->trials, true,
         "--rows looks at outputs and products; leave out --node, --group and --trials"},
        {options->tolerance > 0 || options->reference || options->probability > 0 ||
             options->confidence > 0 || options->task || options->common.allow_nonfinite_inputs,
         true,
         "--rows compares runs with each other; leave out --tolerance, --reference, --probability, "
         "--confidence, --task and --allow-nonfinite-inputs"},
        {options->checkpoint || options->csv || options->html, true,
         "--rows writes text and --json; leave out --checkpoint, --csv and --html"},
        {count_shapes(&options->common) > 1, true, "--rows takes one --shape of each input"},
    };
    REFUSE_COMBINATIONS(state, rows);
}

static void check(const struct argp_state *state, struct study_options *options)
{
    if (options->rows) {
        refuse_beside_rows(state, options);
        return;
    }
    if (json_file() && strcmp(json_file(), "-") == 0 && count_shapes(&options->common) > 1)
        refuse(state, "--json - is of one study: give one --shape of each input, or a FILE");
    if (!options->sweep_count)
        refuse(state, "--sweep is needed, as --sweep 'e5m{4..12}'");
}

static const char documentation[] =
    "Sweep a property of an arithmetic, and say how the error follows it: bits, directions of "
    "rounding, orders of sums, matrix units, and trials of stochastic rounding. Every setting is "
    "compared with one reference at the outputs, at named nodes and in layer groups; the law that "
    "the error follows is fitted, with its residual, or it is said that none fits."
    "\vdoc/study.md says what is fitted and how trials are judged.\n\n"
    "Examples:\n"
    "  ulpscope study model.onnx -i inputs.npz --sweep 'e5m{4..12}' --tolerance 1e-3\n"
    "      how many bits are enough?\n"
    "  ulpscope study model.onnx --sweep 'fp16,round={rne,rz,ru,rd,sr}' --trials 30\n"
    "  ulpscope study model.onnx --sweep 'fp16,round={rne,rz}' --shape x=1x64 --shape x=1x256 "
    "--shape x=1x1024\n"
    "      does the error grow as n u or as sqrt(n) u?\n"
    "  ulpscope study model.onnx -i inputs.npz --rows 1..512\n"
    "      does a request's result depend on the batch it is computed in?\n"
    "  ulpscope study model.onnx --sweep 'e8m{2..10},order={sequential,pairwise}' --html "
    "study.html\n"
    "  ulpscope study model.onnx --sweep 'fp16@{v100,a100,h200}' --checkpoint work --json "
    "study.json";

struct working {
    struct ulp_model *model;
    struct sample_list samples; /* of the current shape */
    struct ulp_sample *inputs;
    size_t shape_count, count; /* of all shapes, and of those that are done */
    struct ulp_study *studies;
    char **shapes; /* by name; "" without --shape */
    double *sizes; /* elements of the inputs of a sample */
};

static void show_run(void *context, size_t run, size_t run_count)
{
    struct progress *progress = context;
    progress->part = run;
    progress->part_count = run_count;
}

/* The n-th of several shapes has files of its own: study.json, study-shape-2.json. Freed with
 * free(); NULL: no such file was asked for, or (file not NULL) out of memory. */
static char *name_file(const struct study_options *options, const char *file, size_t n)
{
    const char *slash = file ? strrchr(file, '/') : NULL,
               *dot = file ? strrchr(slash ? slash + 1 : file, '.') : NULL;
    struct ulp_text name = {0};
    if (!file)
        return NULL;
    ulp_text_add(&name, "%.*s", (int)(dot ? (size_t)(dot - file) : strlen(file)), file);
    if (count_shapes(&options->common) > 1)
        ulp_text_add(&name, "-shape-%zu", n + 1);
    ulp_text_add(&name, "%s", dot ? dot : "");
    if (name.failed)
        ulp_text_free(&name);
    return name.data;
}

/* The files of several shapes, whose names are not among the options. */
static enum ulp_status claim_files(const struct study_options *options, struct ulp_error *error)
{
    static const char *const names[] = {"--json", "--csv", "--html"};
    const char *const files[] = {json_file(), options->csv, options->html};
    const size_t kinds = sizeof files / sizeof *files, shapes = count_shapes(&options->common);
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < kinds * shapes && shapes > 1 && status == ULP_OK; i++) {
        char *file = name_file(options, files[i % kinds], i / kinds);
        if (files[i % kinds])
            status = file ? claim_output(names[i % kinds], file, error) : out_of_memory(error);
        free(file);
    }
    return status;
}

static enum ulp_status open_work(const struct study_options *options, struct working *work,
                                 struct ulp_error *error)
{
    work->studies = calloc(work->shape_count, sizeof *work->studies);
    work->sizes = calloc(work->shape_count, sizeof *work->sizes);
    work->shapes = calloc(work->shape_count, sizeof *work->shapes);
    ULP_TRY(taken(work->studies && work->sizes && work->shapes, error));
    ULP_TRY(claim_files(options, error));
    return load_model(options->common.model, options->common.budget, &work->model, error);
}

static void close_shape(struct working *work)
{
    free(work->inputs);
    free_samples(&work->samples);
    work->inputs = NULL;
    work->samples = (struct sample_list){0};
}

static enum ulp_status open_shape(const struct study_options *options, struct working *work,
                                  size_t n, struct ulp_error *error)
{
    ULP_TRY(set_shapes(work->model, &options->common, n, &work->shapes[n], error));
    ULP_TRY(read_samples(work->model, &options->common, true, &work->samples, error));
    work->inputs = list_samples(&work->samples);
    ULP_TRY(taken(work->inputs, error));
    for (size_t i = 0; i < work->inputs[0].inputs->count; i++)
        work->sizes[n] += (double)work->inputs[0].inputs->items[i].tensor.count;
    return ULP_OK;
}

/* The n-th shape. */
static enum ulp_status run_shape(const struct study_options *options, struct working *work,
                                 size_t n, struct ulp_error *error)
{
    struct progress progress;
    struct ulp_study_options wanted = {.sweeps = (const char *const *)options->sweeps,
                                       .sweep_count = options->sweep_count,
                                       .nodes = (const char *const *)options->nodes,
                                       .node_count = options->node_count,
                                       .group = options->group,
                                       .trials = options->trials,
                                       .seed = options->common.seed,
                                       .probability = options->probability,
                                       .confidence = options->confidence,
                                       .task = options->task,
                                       .allow_nonfinite_inputs =
                                           options->common.allow_nonfinite_inputs,
                                       .tolerance = options->tolerance,
                                       .checkpoint = options->checkpoint,
                                       .thread_count = options->common.threads,
                                       .begins = show_run};
    ULP_TRY(ulp_arithmetic_find(options->reference ? options->reference : "mpfr:128",
                                &wanted.reference, error));
    ULP_TRY(open_shape(options, work, n, error));
    if (!options->common.quiet)
        note_choices(work->model, &work->samples);
    if (options->checkpoint)
        watch_done("the settings finished so far are in %s; the same command resumes after them",
                   options->checkpoint);
    progress_init(&progress, options->common.quiet, 1);
    const struct ulp_observer observer = progress_observer(&progress);
    wanted.progress = &observer;
    enum ulp_status status = ulp_study_run(work->model, work->inputs, work->samples.count, &wanted,
                                           &work->studies[n], error);
    progress_clear(&progress);
    work->count += status == ULP_OK;
    return status;
}

PRINTS(print_rows, ulp_study_rows_text)

/* Of the first shape: prints and writes. */
static enum ulp_status study_rows(const struct study_options *options, struct working *work,
                                  struct ulp_error *error)
{
    ULP_SCOPED(progress_clear) struct progress progress = {0};
    ULP_SCOPED(ulp_study_rows_free) struct ulp_study_rows study = {0};
    struct ulp_arithmetic arithmetic;
    size_t rows[ULP_STUDY_ROWS_MAX], count;
    ULP_TRY(ulp_study_rows_read(options->rows, rows, &count, error));
    ULP_TRY(ulp_arithmetic_find(options->sweep_count ? options->sweeps[0] : "fp16@h100",
                                &arithmetic, error));
    if (arithmetic.schedule.split_k)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s: --rows says how k is cut; leave out split-k=", arithmetic.name);
    ULP_TRY(open_work(options, work, error));
    ULP_TRY(open_shape(options, work, 0, error));
    if (!options->common.quiet)
        note_choices(work->model, &work->samples);
    progress_init(&progress, options->common.quiet, 2 * work->samples.count);
    const struct ulp_observer observer = progress_observer(&progress);
    ULP_TRY(ulp_study_rows_run(work->model, work->inputs, work->samples.count, &arithmetic, rows,
                               count, options->common.threads, &observer, &study, error));
    progress_clear(&progress);
    ULP_TRY(say_result(&(struct result){.of = &study, .print = print_rows}, error));
    return json_file() ? ulp_study_rows_write_json(&study, json_file(), error) : ULP_OK;
}

static enum ulp_status run_study(const struct study_options *options, struct working *work,
                                 struct ulp_error *error)
{
    enum ulp_status status = open_work(options, work, error);
    for (size_t n = 0; n < work->shape_count && status == ULP_OK; n++) {
        status = run_shape(options, work, n, error);
        close_shape(work);
    }
    return status;
}

/* ---- several shapes: the law over the size of the inputs ---- */

static void say_size_law(const struct working *work, size_t setting, size_t place)
{
    static const char *const how[] = {[ULP_LAW_LINEAR] = "grows as n u",
                                      [ULP_LAW_ROOT] = "grows as sqrt(n) u",
                                      [ULP_LAW_FLAT] = "does not depend on n"};
    const struct ulp_study *first = &work->studies[0];
    const char *name = first->settings[setting].text, *output = first->places[place].name;
    double *relative = calloc(work->count, sizeof *relative);
    struct ulp_study_fit fit;
    for (size_t n = 0; relative && n < work->count; n++)
        relative[n] = work->studies[n].settings[setting].points[place].relative;
    if (!relative)
        return;
    ulp_study_fit(work->sizes, relative, work->count, true, &fit);
    free(relative);
    if (fit.law == ULP_LAW_NONE) {
        say(stdout, "%s: no law fits the error of %s over %zu sizes: %s.\n", name, output,
            work->count, fit.reason);
        return;
    }
    if (fit.law == ULP_LAW_POWER)
        say(stdout, "%s: the error of %s goes with n^%.2f", name, output, fit.slope);
    else
        say(stdout, "%s: the error of %s %s", name, output, how[fit.law]);
    say(stdout, " (slope %.2f +- %.2f, residual %.2f bits).\n", fit.slope, fit.slope_error,
        fit.residual);
}

static bool is_output(const struct ulp_study *study, size_t place)
{
    return place < study->place_count && study->places[place].kind == ULP_PLACE_OUTPUT;
}

/* Of each setting and output: the law, then a row for each size. */
static void say_sizes(const struct working *work)
{
    const struct ulp_study *first = &work->studies[0];
    for (size_t s = 0; s < first->setting_count; s++)
        for (size_t p = 0; is_output(first, p); p++)
            say_size_law(work, s, p);
    say(stdout, "\n%10s %10s  setting, output; n: elements of the inputs\n", "n", "relative");
    for (size_t s = 0; s < first->setting_count; s++)
        for (size_t p = 0; is_output(first, p); p++)
            for (size_t n = 0; n < work->count; n++)
                say(stdout, "%10.0f %10.2e  %s, %s\n", work->sizes[n],
                    work->studies[n].settings[s].points[p].relative, first->settings[s].text,
                    first->places[p].name);
}

static void note_kept(const struct study_options *options, const struct ulp_study *study)
{
    size_t kept = 0;
    for (size_t i = 0; i < study->setting_count; i++)
        kept += study->settings[i].kept;
    if (kept && !options->common.quiet)
        say(stderr, "ulpscope: %zu of %zu settings were in %s already\n", kept,
            study->setting_count, options->checkpoint);
}

PRINTS(print_study, ulp_study_text)

/* The files of the n-th shape. */
static enum ulp_status write_files(const struct study_options *options,
                                   const struct ulp_study *study, size_t n, struct ulp_error *error)
{
    const char *const files[] = {json_file(), options->csv, options->html};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ULP_SCOPED(ulp_scoped_free) char *file = name_file(options, files[i], n);
        if (!files[i])
            continue;
        ULP_TRY(taken(file, error));
        ULP_TRY(i == 1 ? ulp_study_write_csv(study, file, error)
                       : ulp_study_write(study, i == 0 ? ULP_OUTPUT_JSON : ULP_OUTPUT_HTML, file,
                                         error));
        if (i == 2)
            say(stdout, "page: %s\n", file);
    }
    return ULP_OK;
}

/* Of several shapes the law over their sizes; of one, or with a tolerance that each may meet or
 * not, each study. */
static enum ulp_status report(const struct study_options *options, const struct working *work,
                              struct ulp_error *error)
{
    if (work->count > 1)
        say_sizes(work);
    for (size_t n = 0; n < work->count; n++) {
        const struct result result = {.of = &work->studies[n], .print = print_study};
        note_kept(options, &work->studies[n]);
        if (work->count > 1 && options->tolerance > 0)
            say(stdout, "\nshape %s\n", work->shapes[n]);
        if (work->count == 1 || options->tolerance > 0)
            ULP_TRY(say_result(&result, error));
        ULP_TRY(write_files(options, &work->studies[n], n, error));
    }
    return ULP_OK;
}

static void close_work(struct working *work)
{
    for (size_t n = 0; n < work->count; n++)
        ulp_study_free(&work->studies[n]);
    for (size_t n = 0; work->shapes && n < work->shape_count; n++)
        free(work->shapes[n]);
    free(work->shapes);
    close_shape(work);
    free(work->studies);
    free(work->sizes);
    ulp_model_free(work->model);
}

static enum ulp_status run(const struct study_options *options, struct ulp_error *error)
{
    ULP_SCOPED(close_work) struct working work = {.shape_count = count_shapes(&options->common)};
    if (options->rows)
        return study_rows(options, &work, error);
    ULP_TRY(run_study(options, &work, error));
    return report(options, &work, error);
}

#define OPTIONS "cli/command/study_option.def"
#define PARSED struct study_options
#define CHILDREN COMMON_CHILD(2) JUDGE_CHILD JSON_CHILD
#define CHECK check
#define RUN run
#include "cli/option/parser.def"

int command_study(int argc, char **argv)
{
    struct study_options options = {0};
    const int code = run_command(&parser, argc, argv, &options, &options.common, run_parsed);
    free(options.sweeps);
    free(options.nodes);
    return code;
}
