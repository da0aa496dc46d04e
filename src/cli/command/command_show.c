/* ulpscope show: the report of an audit, read again: as text, as a page, in other tools' formats.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
struct show_options {
    const char *report, *pattern, *out, *html;
    struct ulp_saved_request request;
    const char **limits;
    size_t max_memory_bytes;
    bool list;
};

static error_t take_report_or_pattern(struct argp_state *state, struct show_options *options,
                                      char *argument)
{
    if (options->pattern)
        refuse(state, "one pattern at a time: '%s' is another", argument);
    *(options->report ? &options->pattern : &options->report) = argument;
    return 0;
}

static void check_show(struct argp_state *state, const struct show_options *options)
{
    const struct ulp_saved_request *request = &options->request;
    const char *format = request->format;
    const bool junit = format && strcmp(format, "junit") == 0;
    const struct combination rows[] = {
        {true, !options->report, "which report? Give report.json, or the folder of audit --out"},
        {options->html, format || options->out,
         "--html writes a file of its own: leave out --to and --out"},
        {options->pattern, format || options->html,
         "a format and a page have the whole report: leave out NODE"},
        {is_json_asked(), format || options->html,
         "--json is of what is shown: leave out --to and --html"},
        {options->out || request->arithmetic || request->figure, !format,
         "--out, --arith and --figure are of --to: give it a format that ulpscope show --list "
         "names"},
        {junit, !request->limit_count, "--to junit writes limits: give at least one --fail-above"},
        {request->limit_count, !junit, "--fail-above is of --to junit"}};
    if (!options->list)
        REFUSE_COMBINATIONS(state, rows);
}

static const char documentation[] =
    "Show what ulpscope audit --out wrote, without a new run: the verdicts and outputs, or all "
    "figures of the nodes that NODE names; or write it as a page (--html) or in a format that "
    "another tool reads (--to; doc/report.md describes them)."
    "\vNODE is a node's name with * and ?, or cut by a terminal as ...end; the name of its output; "
    "#12, its index; or op:Softmax. At most 20 nodes are shown; --json writes report.json "
    "with only these, however many, and without NODE with none.\n\n"
    "Examples:\n"
    "  ulpscope show report/\n"
    "  ulpscope show report/report.json '*/attn/MatMul'\n"
    "  ulpscope show report/ '#71'\n"
    "  ulpscope show report/ op:Softmax --json - | jq '.lanes[].nodes[].share'\n"
    "  ulpscope show report/ --html report.html\n"
    "      a page with the verdict, the graph, every node and how each number was obtained\n"
    "  ulpscope show report/ --to csv -o nodes.csv\n"
    "      pandas.read_csv('nodes.csv'): a line for each node\n"
    "  ulpscope show report/ --to prometheus -o /var/lib/node_exporter/ulpscope.prom\n"
    "  ulpscope show report/ --to model-explorer -a fp16 --figure headroom -o headroom.json\n"
    "      colours the nodes in Model Explorer: --node_data_paths=headroom.json\n"
    "  ulpscope show report/ --to junit --fail-above sqnr_db=40 -o limits.xml\n"
    "      limits that the audit did not know, as a CI server shows them; exit code 1";

static enum ulp_status list_formats(void)
{
    const struct ulp_saved_format *format;
    for (size_t i = 0; (format = ulp_saved_format_row(i)) != NULL; i++)
        say(stdout, "%-15s %s\n", format->name, format->meaning);
    return ULP_OK;
}

/* The report in that format; with --fail-above its limits are judged. */
static enum ulp_status write_report(const struct show_options *options, struct ulp_saved *saved,
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

/* What is looked up, where. */
struct lookup {
    const struct ulp_saved *saved;
    const char *pattern;
};

static enum ulp_status print_nodes(const void *of, int width, bool colour, char **out,
                                   struct ulp_error *error)
{
    const struct lookup *lookup = of;
    return ulp_saved_show(lookup->saved, lookup->pattern, width, colour, out, error);
}

static enum ulp_status write_nodes(const void *of, enum ulp_output_kind as, const char *path,
                                   struct ulp_error *error)
{
    const struct lookup *lookup = of;
    (void)as; /* --json alone is offered */
    return ulp_saved_show_json(lookup->saved, lookup->pattern, path, error);
}

static enum ulp_status run_show(const struct show_options *options, struct ulp_error *error)
{
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *saved = NULL;
    if (options->list)
        return list_formats();
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &budget, error));
    if (options->html)
        return ulp_saved_html(options->report, budget, options->html, error);
    ULP_TRY(ulp_saved_read(options->report, budget, &saved, error));
    if (options->request.format)
        return write_report(options, saved, error);
    const struct lookup lookup = {saved, options->pattern};
    return say_result(&(struct result){.of = &lookup, .print = print_nodes, .write = write_nodes},
                      error);
}

#define OPTIONS "cli/command/show_option.def"
#define PARSED struct show_options
#define WORDS "REPORT [NODE]"
#define CHILDREN \
    MEMORY_CHILD CHILD(judge_argp, &options->request.allow_nonfinite_inputs, NULL, 0) JSON_CHILD
#define TAKE take_report_or_pattern
#define CHECK check_show
#define RUN run_show
#include "cli/option/parser.def"

int command_show(int argc, char **argv)
{
    struct show_options options = {.max_memory_bytes = REPORT_MEMORY};
    const int code = run_command(&parser, argc, argv, &options, NULL, run_parsed);
    free(options.limits);
    return code;
}
