/* ulpscope show: the report of an audit, read again: as text or as a page. */
#include <unistd.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"
struct show_options {
    const char *report, *pattern, *html;
    size_t max_memory_bytes;
};

static enum ulp_status show(const struct ulp_saved *saved, const char *pattern,
                            struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    ULP_TRY(ulp_saved_show(saved, pattern, terminal_width(STDOUT_FILENO), use_colour(STDOUT_FILENO),
                           &text, error));
    fputs(text, stdout);
    if (json_file())
        ULP_TRY(ulp_saved_show_as(saved, pattern, ULP_OUTPUT_JSON, json_file(), error));
    return markdown_file()
               ? ulp_saved_show_as(saved, pattern, ULP_OUTPUT_MARKDOWN, markdown_file(), error)
               : ULP_OK;
}

static enum ulp_status run_show(void *parsed, struct ulp_error *error)
{
    const struct show_options *options = parsed;
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *saved = NULL;
    ULP_TRY(ulp_budget_create(report_memory(options->max_memory_bytes), &budget, error));
    if (options->html)
        return ulp_saved_html(options->report, budget, options->html, error);
    ULP_TRY(ulp_saved_read(options->report, budget, &saved, error));
    return show(saved, options->pattern, error);
}

#define PARSED struct show_options
static const struct option_row rows[] = {
#include "cli/command/show_option.def"
    {0}};
const struct command command_show = {
    .name = "show",
    .summary = "look nodes up in the report of an audit, or write it as a page",
    .purpose = "Show what ulpscope audit --out wrote, without a new run: the verdicts and outputs, "
               "or all figures of the nodes that NODE names; or write it as a page (--html).",
    .examples =
        "  ulpscope show report/\n"
        "  ulpscope show report/report.json '*/attn/MatMul'\n"
        "  ulpscope show report/ '#71'\n"
        "  ulpscope show report/ op:Softmax --json - | jq '.lanes[].nodes[].share'\n"
        "  ulpscope show report/ --html report.html\n"
        "      a page with the verdict, the graph, every node and how each number was obtained",
    .notes = "NODE is a node's name with * and ?, or cut by a terminal as ...end; the name of its "
             "output; #12, its index; or op:Softmax. At most 20 nodes are shown; --json writes "
             "report.json with only these, however many, and without NODE with none.",
    .groups = {{NULL, rows, 0}, MEMORY_GROUP, JSON_GROUP, HELP_GROUP},
    .size = sizeof(struct show_options),
    .run = run_show,
};
