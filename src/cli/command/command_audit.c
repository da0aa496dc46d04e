/* ulpscope audit: its lanes, the report, the limits. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command/command_audit.h"
#include "cli/ranks.h"

static enum ulp_status write_report(const struct audit_options *options,
                                    const struct audit_choices *choices,
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
    if (options->out && options->engine)
        ULP_TRY(ulp_engine_map_write(&engine->built, NULL, ULP_OUTPUT_FOLDER, options->out, error));
    if (!options->target || options->all)
        ULP_TRY(print_choices(choices, audit, error));
    watch_done("all samples were finished, and the report was being written");
    if (options->out) {
        ULP_TRY(ulp_report_write(audit, options->out, error));
        say(stdout, "report: %s/report.json, layers.csv, summary.txt\n", options->out);
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

static enum ulp_status prepare_lanes(const struct audit_options *options,
                                     struct audit_choices *choices, struct lane_list *lanes,
                                     struct ulp_model **model, struct ulp_error *error)
{
    ULP_TRY(load_with_shapes(&options->common, options->out, model, error));
    ULP_TRY(choose_arithmetics(options, *model, choices, error));
    ULP_TRY(make_lanes(choices->list, options->engine ? "fp16,fp32" : "fp16,tf32", &options->keep,
                       options->common.budget, lanes, error));
    lanes->arithmetics[0] = options->reference;
    return ULP_OK;
}

static enum ulp_status audit_lanes(const struct audit_options *options, struct work *work,
                                   struct lane_list *lanes, const struct audit_choices *choices,
                                   struct ulp_error *error)
{
    ULP_SCOPED(close_engine_lane) struct engine_lane engine = {0};
    ULP_SCOPED(ulp_audit_free) struct ulp_audit audit = {0};
    bool whole = false;
    ULP_TRY(open_work(work, &options->common, NULL, options->reference_model, error));
    if (options->engine)
        ULP_TRY(add_engine_lane(options, work, lanes, &engine, error));
    ULP_TRY(audit_samples(options, work, lanes, &audit, &whole, error));
    return whole ? write_report(options, choices, &engine, &audit, error) : ULP_OK;
}

int run_audit(const struct audit_options *options)
{
    struct ulp_error error = {0};
    ULP_SCOPED(free_lanes) struct lane_list lanes = {0};
    ULP_SCOPED(close_work) struct work work = {.held = 1, .finished = options->merge};
    struct audit_choices choices = {0};
    enum ulp_status status = prepare_lanes(options, &choices, &lanes, &work.model, &error);
    ULP_THEN(status, audit_lanes(options, &work, &lanes, &choices, &error));
    free(choices.list);
    ulp_refusal_free(&choices.refusal);
    return end_command(status, &error);
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
