/* ulpscope report: the report of an audit in other tools' formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
struct report_options {
    const char *report, *out, *html;
    struct ulp_saved_request request;
    const char **limits;
    size_t max_memory_bytes;
    bool list;
};

static void check_options(struct argp_state *state, const struct report_options *options)
{
    const char *format = options->request.format;
    const bool junit = format && strcmp(format, "junit") == 0;
    const struct combination rows[] = {
        {true, !options->report, "which report? Give report.json, or the folder of audit --out"},
        {options->html, format || options->out,
         "--html writes a file of its own: leave out --to and --out"},
        {!options->html, !format,
         "which format? Give --to with one that ulpscope report --list names, or --html FILE"},
        {junit, !options->request.limit_count,
         "--to junit writes limits: give at least one --fail-above"},
        {options->request.limit_count, !junit, "--fail-above is of --to junit"}};
    if (!options->list)
        REFUSE_COMBINATIONS(state, rows);
}

static error_t take(struct argp_state *state, struct report_options *options, char *argument)
{
    if (options->report)
        refuse(state, "one report at a time: '%s' is another", argument);
    options->report = argument;
    return 0;
}

static const char documentation[] =
    "Write the report of ulpscope audit --out in a format that another tool reads. doc/report.md "
    "describes the formats."
    "\vExamples:\n"
    "  ulpscope report report/ --html report.html\n"
    "      a page with the verdict, the graph, every node and how each number was obtained\n"
    "  ulpscope report report/ --to csv -o nodes.csv\n"
    "      pandas.read_csv('nodes.csv'): a line for each node\n"
    "  ulpscope report report/ --to prometheus -o /var/lib/node_exporter/ulpscope.prom\n"
    "  ulpscope report report/ --to model-explorer -a fp16 --figure headroom -o headroom.json\n"
    "      colours the nodes in Model Explorer: --node_data_paths=headroom.json\n"
    "  ulpscope report report/ --to junit --fail-above sqnr_db=40 -o limits.xml\n"
    "      limits that the audit did not know, as a CI server shows them; exit code 1";

static enum ulp_status list_formats(void)
{
    const struct ulp_saved_format *format;
    for (size_t i = 0; (format = ulp_saved_format_row(i)) != NULL; i++)
        say(stdout, "%-15s %s\n", format->name, format->meaning);
    return ULP_OK;
}

/* The report in that format; with --fail-above its limits are judged. */
static enum ulp_status write_report(const struct report_options *options, struct ulp_saved *saved,
                                    struct ulp_error *error)
{
    const struct ulp_saved_request *request = &options->request;
    const struct ulp_audit *audit;
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(options->out ? ulp_saved_write(saved, request, options->out, error)
                         : ulp_saved_export(saved, request, &text, error));
    if (text)
        fputs(text, stdout);
    if (!request->limit_count)
        return ULP_OK;
    ULP_TRY(ulp_saved_audit(saved, &audit, error));
    return say_crossings(options->out ? stdout : stderr, audit, request->limits,
                         request->limit_count, request->allow_nonfinite_inputs, error);
}

static enum ulp_status run(const struct report_options *options, struct ulp_error *error)
{
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *saved = NULL;
    if (options->list)
        return list_formats();
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &budget, error));
    if (options->html)
        return ulp_saved_html(options->report, budget, options->html, error);
    ULP_TRY(ulp_saved_read(options->report, budget, &saved, error));
    return write_report(options, saved, error);
}

#define OPTIONS "cli/command/report_option.def"
#define PARSED struct report_options
#define WORDS "REPORT"
#define CHILDREN MEMORY_CHILD CHILD(judge_argp, &options->request.allow_nonfinite_inputs, NULL, 0)
#define TAKE take
#define CHECK check_options
#define RUN run
#include "cli/option/parser.def"

int command_report(int argc, char **argv)
{
    struct report_options options = {.max_memory_bytes = REPORT_MEMORY};
    const int code = run_command(&parser, argc, argv, &options, NULL, run_parsed);
    free(options.limits);
    return code;
}
