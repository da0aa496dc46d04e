/* ulpscope audit: each shape, its report, the limits. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/command_audit.h"
#include "cli/ranks.h"

static enum ulp_status write_report(const struct audit_options *options,
                                    const struct audit_choices *choices, const char *folder,
                                    const struct engine_lane *engine, struct ulp_audit *audit,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *summary = NULL;
    ULP_TRY(ulp_audit_keep_limits(audit, options->limits, options->limit_count,
                                  options->common.allow_nonfinite_inputs, error));
    const enum ulp_status scored = say_scores(&options->score, audit, error);
    if (scored != ULP_ERROR_LIMIT)
        ULP_TRY(scored);
    ULP_TRY(print_refusal(&choices->refusal, error));
    audit->target = options->target;
    audit->as_is = choices->as_is ? audit->lanes[choices->as_is].name : NULL;
    audit->refused = choices->refusal.what;
    audit->refused_fix = choices->refusal.fix;
    if (options->engine)
        ULP_TRY(print_engine_verdict(engine, error));
    struct ulp_audit shown = *audit;
    if (options->target && !options->all) {
        size_t worst;
        ULP_TRY(print_target(options, choices, audit, &worst, error));
        ULP_TRY(print_choices(choices, audit, error));
        say(stdout, "\n");
        shown.lanes += worst;
        shown.lane_count = 1;
    }
    ULP_TRY(ulp_report_text(&shown, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO),
                            &summary, error));
    fputs(summary, stdout);
    if (shown.lane_count < audit->lane_count)
        say(stdout, "\n--all shows the other %zu arithmetic%s like this\n", audit->lane_count - 1,
            audit->lane_count == 2 ? "" : "s");
    if (folder && options->engine)
        ULP_TRY(ulp_engine_map_write(&engine->built, NULL, ULP_OUTPUT_FOLDER, folder, error));
    if (!options->target || options->all)
        ULP_TRY(print_choices(choices, audit, error));
    watch_done("all samples were finished, and the report was being written");
    if (folder) {
        ULP_TRY(ulp_report_write(audit, folder, error));
        say(stdout, "report: %s/report.json, layers.csv, summary.txt\n", folder);
    }
    if (json_file())
        ULP_TRY(ulp_audit_write_json(audit, json_file(), error));
    if (markdown_file())
        ULP_TRY(ulp_report_markdown(audit, markdown_file(), error));
    if (options->html) {
        ULP_TRY(ulp_report_html(audit, options->html, error));
        say(stdout, "page: %s\n", options->html);
    }
    const enum ulp_status crossed = say_crossings(stdout, audit, error);
    if (options->junit)
        ULP_TRY(ulp_report_junit(audit, options->junit, error));
    ULP_TRY(crossed);
    ULP_TRY(scored);
    return judge(!choices->refusal.refuses, error);
}

static int report(const struct audit_options *options, const struct audit_choices *choices,
                  const char *folder, const struct engine_lane *engine, struct ulp_audit *audit)
{
    struct ulp_error error = {0};
    return end_command(write_report(options, choices, folder, engine, audit, &error), &error);
}

/* The n-th of several shapes has a folder of its own. */
static enum ulp_status choose_folder(const struct audit_options *options, size_t n, char **out,
                                     struct ulp_error *error)
{
    struct ulp_text text = {0};
    *out = NULL;
    if (!options->out)
        return ULP_OK;
    ulp_text_add(&text, "%s", options->out);
    if (count_shapes(&options->common) > 1)
        ulp_text_add(&text, "/shape-%zu", n + 1);
    *out = text.data;
    return text.failed ? out_of_memory(error) : ULP_OK;
}

/* The reports of several shapes, whose folders are not among the options. */
static enum ulp_status claim_folders(const struct audit_options *options, struct ulp_error *error)
{
    const size_t shapes = count_shapes(&options->common);
    for (size_t n = 0; n < shapes && shapes > 1; n++) {
        ULP_SCOPED(ulp_scoped_free) char *folder = NULL;
        ULP_TRY(choose_folder(options, n, &folder, error));
        if (folder)
            ULP_TRY(claim_report("--out", folder, files_written("out"), error));
    }
    return ULP_OK;
}

/* The audit with the n-th shape; returns an exit code. */
static int audit_shape(const struct audit_options *options, struct ulp_model *model,
                       const struct lane_list *lanes, const struct audit_choices *choices, size_t n,
                       struct shape_results *results)
{
    struct ulp_error error = {0};
    struct sample_list samples = {0};
    struct ulp_audit audit = {0};
    struct engine_lane engine = {0};
    char *shape = NULL, *folder = NULL;
    bool whole = false;
    enum ulp_status status = set_shapes(model, &options->common, n, &shape, &error);
    if (status == ULP_OK)
        status = choose_folder(options, n, &folder, &error);
    if (status == ULP_OK)
        status = open_samples(model, &options->common, !options->merge, &samples, &error);
    if (status == ULP_OK) {
        if (!options->common.quiet)
            note_choices(model, &samples);
        if (options->engine)
            status = open_engine_lane(options, model, &samples, lanes, &engine, &error);
        if (status == ULP_OK)
            status = audit_samples(options, model, options->engine ? &engine.lanes : lanes,
                                   &samples, &audit, &whole, &error);
    }
    if (status == ULP_OK && options->common.shape_count && ranks_self() == 0)
        say(stdout, n ? "\nshape %s\n" : "shape %s\n", shape);
    if (status == ULP_OK && whole && count_shapes(&options->common) > 1)
        status = add_shape_result(results, shape, &audit, &error);
    if (status != ULP_OK && count_shapes(&options->common) > 1)
        ulp_fail_at(&error, status, "shape %s", shape ? shape : "");
    const int code = status != ULP_OK ? fail(&error)
                     : whole          ? report(options, choices, folder, &engine, &audit)
                                      : ULP_OK;
    ulp_audit_free(&audit);
    close_engine_lane(&engine);
    free_samples(&samples);
    free(shape);
    free(folder);
    return code;
}

static enum ulp_status prepare_lanes(const struct audit_options *options,
                                     struct audit_choices *choices, struct lane_list *lanes,
                                     struct ulp_model **model, struct ulp_error *error)
{
    ULP_TRY(load_model(options->common.model, options->common.budget, model, error));
    ULP_TRY(choose_arithmetics(options, *model, choices, error));
    ULP_TRY(make_lanes(choices->list, options->engine ? "fp16,fp32" : "fp16,tf32", &options->keep,
                       options->common.budget, lanes, error));
    lanes->arithmetics[0] = options->reference;
    ULP_TRY(claim_folders(options, error));
    return options->out ? ulp_report_prepare(options->out, error) : ULP_OK;
}

int run_audit(const struct audit_options *options)
{
    struct ulp_error error = {0};
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(free_shape_results) struct shape_results results = {0};
    struct audit_choices choices = {0};
    int code =
        prepare_lanes(options, &choices, &lanes, &model, &error) == ULP_OK ? ULP_OK : fail(&error);
    for (size_t n = 0;
         n < count_shapes(&options->common) && (code == ULP_OK || code == ULP_ERROR_LIMIT); n++) {
        const int one = audit_shape(options, model, &lanes, &choices, n, &results);
        code = one == ULP_OK ? code : one;
    }
    if (code == ULP_OK || code == ULP_ERROR_LIMIT)
        print_shape_results(&results, lanes.count - 1 + (options->engine != NULL));
    free(choices.list);
    ulp_refusal_free(&choices.refusal);
    return code;
}

/* Without MPI processes do not know of each other. */
static void note_ranks(const struct audit_options *options)
{
    if (ranks_started() > 1 && ranks_own_start() == 0 && !ranks_are_possible() && !options->shard &&
        !options->common.quiet)
        say(stderr,
            "ulpscope: mpirun or srun started %zu processes, and this ulpscope was built without "
            "MPI (./configure --with-mpi): each of them does all of the audit; --shard K/%zu gives "
            "each a part\n",
            ranks_started(), ranks_started());
}

enum ulp_status audit_model(void *parsed, struct ulp_error *error)
{
    struct audit_options *options = parsed;
    if (options->between || options->kv_cache)
        return audit_between(options, error);
    ranks_join();
    options->common.quiet |= ranks_self() > 0;
    note_ranks(options);
    const int code = ranks_leave(run_audit(options));
    return code == ULP_OK ? ULP_OK : ulp_fail(error, (enum ulp_status)code, "%s", "");
}
