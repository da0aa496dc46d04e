/* ulpscope report: the report of an audit in other tools' formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

enum { OPTION_TO = 512, OPTION_FIGURE, OPTION_LIST, OPTION_HTML };

struct report_options {
    const char *report, *format, *arithmetic, *figure, *out, *html;
    bool list;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"to", OPTION_TO, "FORMAT", 0, "csv, jsonl, prometheus or model-explorer (--list describes them)", 0},
    {"html", OPTION_HTML, "FILE", 0,
     "Write one HTML file to look at, of report.json, overflow.json, plan.json, compare.json, engine.json, proof.json or lint --json, or of all of these in the folder REPORT", 0},
    {"out", 'o', "FILE", 0, "Write to FILE (default: standard output)", 0},
    {"arith", 'a', "ARITH", 0, "The arithmetic, of a format that holds one (default: the report's first)", 0},
    {"figure", OPTION_FIGURE, "FIGURE", 0,
     "share, introduced, entire, headroom or nonfinite, of a format that holds one (default: share where the report has shares, else introduced)", 0},
    {"list", OPTION_LIST, 0, 0, "List the formats; no report is read", 0},
    {0},
};
/* clang-format on */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct report_options *options = state->input;
    switch (key) {
    case OPTION_TO: options->format = argument; return 0;
    case OPTION_FIGURE: options->figure = argument; return 0;
    case OPTION_HTML: options->html = argument; return 0;
    case OPTION_LIST: options->list = true; return 0;
    case 'a': options->arithmetic = argument; return 0;
    case 'o': options->out = argument; return 0;
    case ARGP_KEY_ARG:
        if (options->report)
            refuse(state, "one report at a time: '%s' is another", argument);
        options->report = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->list && !options->report)
            refuse(state, "which report? Give report.json, or the folder of audit --out");
        if (!options->list && !options->format && !options->html)
            refuse(state, "which format? Give --to csv, jsonl, prometheus or model-explorer, or "
                          "--html FILE");
        if (options->html && (options->format || options->out))
            refuse(state, "--html writes a file of its own: leave out --to and --out");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
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
    "      colours the nodes in Model Explorer: --node_data_paths=headroom.json";

static int list_formats(void)
{
    const struct ulp_saved_format *format;
    for (size_t i = 0; (format = ulp_saved_format_row(i)) != NULL; i++)
        say(stdout, "%-15s %s\n", format->name, format->meaning);
    return ULP_OK;
}

int command_report(int argc, char **argv)
{
    static const struct argp argp = {option_list, parse_option, "REPORT", documentation,
                                     NULL,        NULL,         NULL};
    struct report_options options = {0};
    struct ulp_saved *saved = NULL;
    struct ulp_error error;
    char *text = NULL;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return fail_memory();
    if (options.list)
        return list_formats();
    if (options.html)
        return ulp_saved_html(options.report, NULL, options.html, &error) == ULP_OK ? ULP_OK
                                                                                  : fail(&error);
    enum ulp_status status = ulp_saved_read(options.report, NULL, &saved, &error);
    if (status == ULP_OK && options.out)
        status = ulp_saved_write(saved, options.format, options.arithmetic, options.figure,
                                 options.out, &error);
    else if (status == ULP_OK)
        status = ulp_saved_export(saved, options.format, options.arithmetic, options.figure, &text,
                                  &error);
    if (text)
        fputs(text, stdout);
    free(text);
    ulp_saved_free(saved);
    return status == ULP_OK ? ULP_OK : fail(&error);
}
