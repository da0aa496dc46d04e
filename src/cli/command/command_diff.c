/* ulpscope diff: two reports of audits side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

struct diff_options {
    const char *reports[2], *html;
    double factor;
    enum ulp_saved_form form;
    size_t max_memory_bytes;
    bool fail_if_worse, allow_nonfinite_inputs;
};

static void check_reports(const struct argp_state *state, struct diff_options *options)
{
    if (!options->reports[1])
        refuse(state, "which reports? Give two of audit --out: the old one, then the new one");
}

static error_t take_report(struct argp_state *state, struct diff_options *options, char *argument)
{
    if (state->arg_num >= 2)
        refuse(state, "two reports: '%s' is a third", argument);
    options->reports[state->arg_num] = argument;
    return 0;
}

static const char documentation[] =
    "Say what became better or worse from one audit to another: outputs of each arithmetic, and "
    "the nodes that introduce more than before. Arithmetics are paired by name, or where each "
    "report has one, those."
    "\vExit code 1: --fail-if-worse.\n\n"
    "Examples:\n"
    "  ulpscope diff report-main/ report-branch/\n"
    "  ulpscope diff report-main/ report-branch/ --fail-if-worse --factor 1.5\n"
    "      in CI\n"
    "  ulpscope diff report-main/ report-branch/ --to markdown >>\"$GITHUB_STEP_SUMMARY\"";

static enum ulp_status compare_reports(const struct diff_options *options, struct ulp_saved *before,
                                       struct ulp_saved *after, struct ulp_error *error)
{
    struct ulp_saved_changes changes;
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    const struct ulp_saved_comparison how = {
        options->factor,           options->form, terminal_width(STDOUT_FILENO),
        use_colour(STDOUT_FILENO), json_file(),   options->html};
    ULP_TRY(ulp_saved_compare(before, after, &how, &changes, &text, error));
    fputs(text, stdout);
    if (options->html && options->form == ULP_FORM_TEXT)
        say(stdout, "page: %s\n", options->html);
    const size_t inputs = options->allow_nonfinite_inputs ? 0 : changes.nonfinite_inputs;
    const bool empty = !(changes.worse + changes.better + changes.equal);
    FILE *stream = options->form == ULP_FORM_TEXT ? stdout : stderr;
    if (!options->fail_if_worse || (!changes.worse && !inputs && !empty))
        return ULP_OK;
    if (inputs)
        say(stream,
            "\nFAIL --fail-if-worse: %zu input%s with NaN or infinity (when that is meant: "
            "--allow-nonfinite-inputs)\n",
            inputs, inputs == 1 ? "" : "s");
    else if (empty)
        say(stream, "\nFAIL --fail-if-worse: there is no output to compare\n");
    else
        say(stream, "\nFAIL --fail-if-worse: %zu output%s\n", changes.worse,
            changes.worse == 1 ? "" : "s");
    return judge(false, error);
}

static enum ulp_status run_diff(const struct diff_options *options, struct ulp_error *error)
{
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *before = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *after = NULL;
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &budget, error));
    ULP_TRY(ulp_saved_read(options->reports[0], budget, &before, error));
    ULP_TRY(ulp_saved_read(options->reports[1], budget, &after, error));
    return compare_reports(options, before, after, error);
}
#define OPTIONS "cli/command/diff_option.def"
#define PARSED struct diff_options
#define WORDS "OLD NEW"
#define CHILDREN \
    MEMORY_CHILD CHILD(judge_argp, &options->allow_nonfinite_inputs, NULL, 0) JSON_CHILD
#define TAKE take_report
#define CHECK check_reports
#define RUN run_diff
#include "cli/option/parser.def"

int command_diff(int argc, char **argv)
{
    struct diff_options options = {.max_memory_bytes = REPORT_MEMORY};
    return run_command(&parser, argc, argv, &options, NULL, run_parsed);
}
