/* ulpscope doctor: the whole walk, one verdict. */

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/command_audit.h"

struct doctor_options {
    struct common_options common;
    struct ulp_engine_map_options built;
    struct ulp_doctor_options doctor;
    struct score_options score;
    const char *engine, *reference_model, *out, *html;
    char **recorded;
    size_t recorded_count;
};

/* One diagnosis while it is made. */
struct making {
    const struct doctor_options *options;
    struct work work;
    struct ulp_recording_list recordings;
    struct ulp_text engine_arguments;
    struct engine_lane engine;
};

static void list_engine(struct making *making)
{
    const struct doctor_options *options = making->options;
    struct ulp_text *out = &making->engine_arguments;
    if (!options->engine)
        return;
    ulp_option_add(out, " --engine", options->engine);
    if (options->built.unknown_accumulator)
        ulp_text_add(out, " -A unknown=%s", options->built.unknown_accumulator);
    if (options->built.gpu)
        ulp_option_add(out, " -G", options->built.gpu);
}

static enum ulp_status prepare_diagnosis(struct making *making, struct ulp_error *error)
{
    const struct doctor_options *options = making->options;
    const struct common_options *common = &options->common;
    ULP_TRY(open_work(&making->work, common, options->out, options->reference_model, error));
    for (size_t r = 0; r < options->recorded_count; r++)
        ULP_TRY(read_recording(making->work.model, common, options->recorded[r],
                               &making->recordings, error));
    if (options->engine)
        ULP_TRY(open_engine(options->engine, making->work.model, &making->work.samples,
                            &options->built, &making->engine, error));
    list_engine(making);
    return taken(!making->engine_arguments.failed, error);
}

static void show_step(void *context, const char *step, size_t index, size_t step_count)
{
    struct progress *progress = context;
    (void)step;
    progress->part = index;
    progress->part_count = step_count;
}

static enum ulp_status diagnose(struct making *making, struct ulp_doctor *out,
                                struct ulp_error *error)
{
    const struct doctor_options *options = making->options;
    struct ulp_doctor_options wanted = options->doctor;
    struct work *work = &making->work;
    const struct ulp_scorer scorer = make_scorer(&options->score);
    wanted.scorer = options->score.metric ? &scorer : NULL;
    ULP_TRY(prepare_diagnosis(making, error));
    wanted.original = work->original;
    wanted.engine = options->engine ? &making->engine.lane : NULL;
    wanted.recordings = making->recordings.items;
    wanted.recording_count = making->recordings.count;
    wanted.dims = options->common.dims;
    wanted.dim_count = options->common.dim_count;
    wanted.engine_arguments = making->engine_arguments.data;
    wanted.allow_nonfinite_inputs = options->common.allow_nonfinite_inputs;
    wanted.thread_count = options->common.threads;
    wanted.progress = &work->observer;
    wanted.begins = show_step;
    wanted.seconds = watch_seconds();
    /* of 12 diagnoses, each of one sample, all took so many first runs */
    work->progress.least = 1.2 * (double)work->samples.count;
    work->progress.most = 2 * (double)work->samples.count;
    enum ulp_status status =
        ulp_doctor_run(work->model, &wanted, work->given, work->samples.count, out, error);
    progress_clear(&work->progress);
    return status;
}

static void finish_doctor(struct making *making)
{
    close_engine_lane(&making->engine);
    ulp_recording_list_free(&making->recordings);
    ulp_text_free(&making->engine_arguments);
    close_work(&making->work);
}

RESULT_KIND(doctor)

static enum ulp_status run_doctor(void *parsed, struct ulp_error *error)
{
    const struct doctor_options *options = parsed;
    ULP_SCOPED(finish_doctor) struct making making = {.options = options};
    ULP_SCOPED(ulp_doctor_free) struct ulp_doctor doctor = {0};
    ULP_TRY(diagnose(&making, &doctor, error));
    const struct result result = {.of = &doctor,
                                  .text_of = text_doctor,
                                  .write = write_doctor,
                                  .folder = options->out,
                                  .folder_has = "doctor.json, and those of the steps",
                                  .page = options->html};
    ULP_TRY(say_result(&result, error));
    return judge(doctor.grade == ULP_GRADE_FINE, error);
}

#define PARSED struct doctor_options
static const struct option_row rows[] = {
#include "cli/command/doctor_option.def"
    {0}};
const struct command command_doctor = {
    .name = "doctor",
    .summary = "say whether a model comes out right where it is to run, and if not, why",
    .purpose = "Say whether MODEL comes out right where it is to run, and if not, why: lint, "
               "audit, overflow, comparison and plan in one walk, with the most probable cause "
               "first, what to do about it, and the command to go on with.",
    .examples = "  ulpscope doctor model.onnx -i inputs.npz --for trt\n"
                "  ulpscope doctor model.onnx -i inputs.npz --for torch --html doctor.html\n"
                "      one page with every step\n"
                "  ulpscope doctor model.onnx -i inputs.npz --for trt --recorded outputs.json\n"
                "      does the format explain what the engine gave?\n"
                "  ulpscope doctor model.onnx -i inputs.npz --for trt10 --engine layers.json\n"
                "      as it was built",
    .notes = "doc/doctor.md says by which rules causes are found, doc/verdicts.md what is fine, "
             "borderline and broken.\n"
             "\n"
             "Exit code 0: fine; 1: borderline, broken or not judged.",
    .groups = {{NULL, rows, 0},
               SCORE_GROUP,
               JUDGE_GROUP,
               {NULL, built_rows, offsetof(PARSED, built)},
               JSON_GROUP,
               COMMON_GROUP,
               HELP_GROUP},
    .size = sizeof(struct doctor_options),
    .is_common = true,
    .is_front = true,
    .run = run_doctor,
};
