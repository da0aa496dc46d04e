/* ulpscope engine: what a runtime built of a model, and whether wishes were obeyed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"

struct engine_options {
    struct common_options common;
    struct ulp_engine_map_options built;
    const char *path; /* of the description */
    const char *plan, *layer_precisions, *out, *html;
    bool fail_on_disobeyed;
    size_t shown;
};

/* What the run holds. */
struct session {
    const struct engine_options *options;
    struct ulp_model *model;
    struct sample_list samples;
    struct ulp_program *program;
    struct ulp_engine engine;
    struct ulp_engine_map built;
    struct ulp_wishes wishes;
};

static enum ulp_status open_model(struct session *session, struct ulp_error *error)
{
    const struct common_options *common = &session->options->common;
    struct ulp_arithmetic plain;
    ULP_TRY(ulp_arithmetic_find("fp32", &plain, error));
    ULP_TRY(load_with_shapes(common, session->options->out, &session->model, error));
    ULP_TRY(read_samples(session->model, common, false, &session->samples, error));
    const struct ulp_program_options options = {.dims = common->dims,
                                                .dim_count = common->dim_count,
                                                .inputs = &session->samples.items[0].inputs};
    return ulp_program_create(session->model, &plain, 1, &options, &session->program, error);
}

static enum ulp_status judge_wishes(struct session *session, struct ulp_error *error)
{
    const struct engine_options *options = session->options;
    ULP_SCOPED(ulp_precision_plan_free) struct ulp_precision_plan plan = {0};
    if (options->plan)
        ULP_TRY(ulp_precision_plan_read(options->plan, options->common.budget, &plan, error));
    if (options->plan || options->layer_precisions)
        ULP_TRY(ulp_engine_map_wishes(&session->built, options->plan ? &plan : NULL,
                                      options->layer_precisions, &session->wishes, error));
    if (options->fail_on_disobeyed && !session->wishes.count)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        options->plan || options->layer_precisions
                            ? "--fail-on disobeyed: nothing to obey: what was given keeps no node"
                            : "--fail-on disobeyed: nothing to obey: give --plan or "
                              "--layer-precisions");
    return ULP_OK;
}

static enum ulp_status run_engine(struct session *session, struct ulp_error *error)
{
    const struct engine_options *options = session->options;
    ULP_TRY(open_model(session, error));
    ULP_TRY(ulp_engine_read(options->path, options->common.budget, &session->engine, error));
    ULP_TRY(ulp_engine_map_make(&session->engine, session->program, &options->built,
                                &session->built, error));
    return judge_wishes(session, error);
}

static enum ulp_status write_engine(const void *of, enum ulp_output_kind as, const char *path,
                                    struct ulp_error *error)
{
    const struct session *session = of;
    return ulp_engine_map_write(&session->built, &session->wishes, as, path, error);
}

static enum ulp_status text_engine(const void *of, int width, bool colour, char **text,
                                   struct ulp_error *error)
{
    const struct session *session = of;
    return ulp_engine_map_text(&session->built, &session->wishes, session->options->shown, width,
                               colour, text, error);
}

static enum ulp_status say_engine(const struct session *session, struct ulp_error *error)
{
    const struct engine_options *options = session->options;
    const struct result result = {.of = session,
                                  .text_of = text_engine,
                                  .write = write_engine,
                                  .folder = options->out,
                                  .folder_has = "engine.json",
                                  .page = options->html};
    return say_result(&result, error);
}

static void close_session(struct session *session)
{
    ulp_wishes_free(&session->wishes);
    ulp_engine_map_free(&session->built);
    ulp_engine_free(&session->engine);
    ulp_program_free(session->program);
    free_samples(&session->samples);
    ulp_model_free(session->model);
}

/* An engine of a model that TensorRT's parser refuses was built of something else. */
static enum ulp_status say_refusal(const struct session *session, struct ulp_error *error)
{
    static const char product[] = "TensorRT ";
    char target[16];
    const char *version = session->engine.version;
    ULP_SCOPED(ulp_refusal_free) struct ulp_refusal refusal = {0};
    if (strncmp(version, product, sizeof product - 1) != 0)
        return ULP_OK;
    snprintf(target, sizeof target, "trt%d", atoi(version + sizeof product - 1));
    ULP_TRY(ulp_lint_refusal(session->model, target, NULL, &refusal, error));
    ULP_TRY(print_refusal(&refusal, error));
    if (refusal.refuses)
        say(stdout,
            "        the engine was built of another file, or with a plugin of that name\n");
    return ULP_OK;
}

static enum ulp_status run_engine_command(void *parsed, struct ulp_error *error)
{
    const struct engine_options *options = parsed;
    ULP_SCOPED(close_session) struct session session = {.options = options};
    const struct ulp_wishes *wishes = &session.wishes;
    ULP_TRY(run_engine(&session, error));
    ULP_TRY(say_refusal(&session, error));
    ULP_TRY(say_engine(&session, error));
    return judge(!options->fail_on_disobeyed || wishes->counts[ULP_WISH_OBEYED] == wishes->count,
                 error);
}

#define PARSED struct engine_options
static const struct option_row rows[] = {
#include "cli/command/engine_option.def"
    {0}};
const struct command command_engine = {
    .name = "engine",
    .summary = "say what TensorRT or ONNX Runtime built, and whether a plan was obeyed",
    .purpose =
        "Say what a runtime built of MODEL: which kernel computes which nodes, in which types, "
        "with which accumulator and how sure that is; whether a plan or --layerPrecisions was "
        "obeyed. ENGINE is TensorRT's layer information of any version "
        "(trtexec --exportLayerInfo=FILE --profilingVerbosity=detailed), or the .onnx that ONNX "
        "Runtime optimised (optimized_model_filepath).",
    .examples =
        "  ulpscope engine model.onnx layers.json\n"
        "      which precision ran, and with which accumulators?\n"
        "  ulpscope engine model.onnx layers.json --plan plan/plan.json --fail-on disobeyed\n"
        "      in CI: was the plan obeyed?\n",
    .notes = "Words of the report:\n"
             "  accumulate   the format that products are added in\n"
             "  sure         documented by NVIDIA, observed in every known engine, inferred from "
             "names and\n"
             "               machine code, or unknown (doc/engine.md)\n"
             "  mapped by    what says which nodes a layer computes: metadata, its name, the "
             "tensors around\n"
             "               it; bounded: somewhere among these nodes\n"
             "\n"
             "ulpscope audit MODEL --engine ENGINE.json computes exactly that, beside other "
             "arithmetics;\n"
             "ulpscope diff of the audits of two builds says which nodes one makes worse.",
    .groups = {{NULL, rows, 0},
               JSON_GROUP,
               {"What is not told:", built_rows, offsetof(PARSED, built)},
               COMMON_GROUP,
               HELP_GROUP},
    .size = sizeof(struct engine_options),
    .is_common = true,
    .is_front = true,
    .run = run_engine_command,
};
