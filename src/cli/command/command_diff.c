/* ulpscope diff: two reports of audits side by side. */
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"

struct diff_options {
    const char *reports[2], *html;
    double factor;
    size_t max_memory_bytes;
    bool fail_if_worse, allow_nonfinite_inputs;
};

static enum ulp_status compare_reports(const struct diff_options *options, struct ulp_saved *before,
                                       struct ulp_saved *after, struct ulp_error *error)
{
    struct ulp_saved_changes changes;
    ULP_SCOPED(ulp_scoped_free) char *text = NULL;
    const struct ulp_saved_comparison how = {options->factor,
                                             terminal_width(STDOUT_FILENO),
                                             use_colour(STDOUT_FILENO),
                                             json_file(),
                                             options->html,
                                             markdown_file()};
    ULP_TRY(ulp_saved_compare(before, after, &how, &changes, &text, error));
    fputs(text, stdout);
    if (options->html)
        say(stdout, "page: %s\n", options->html);
    const size_t inputs = options->allow_nonfinite_inputs ? 0 : changes.nonfinite_inputs;
    const bool empty = !(changes.worse + changes.better + changes.equal);
    if (!options->fail_if_worse || (!changes.worse && !inputs && !empty))
        return ULP_OK;
    if (inputs)
        say(stdout,
            "\nFAIL --fail-if-worse: %zu input%s with NaN or infinity (when that is meant: "
            "--allow-nonfinite-inputs)\n",
            inputs, inputs == 1 ? "" : "s");
    else if (empty)
        say(stdout, "\nFAIL --fail-if-worse: there is no output to compare\n");
    else
        say(stdout, "\nFAIL --fail-if-worse: %zu output%s\n", changes.worse,
            changes.worse == 1 ? "" : "s");
    return judge(false, error);
}

static enum ulp_status run_diff(void *parsed, struct ulp_error *error)
{
    const struct diff_options *options = parsed;
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *before = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *after = NULL;
    ULP_TRY(ulp_budget_create(report_memory(options->max_memory_bytes), &budget, error));
    ULP_TRY(ulp_saved_read(options->reports[0], budget, &before, error));
    ULP_TRY(ulp_saved_read(options->reports[1], budget, &after, error));
    return compare_reports(options, before, after, error);
}

#define PARSED struct diff_options
static const struct option_row rows[] = {
#include "cli/command/diff_option.def"
    {0}};
const struct command command_diff = {
    .name = "diff",
    .summary = "say what became better or worse between two audits",
    .purpose = "Say what became better or worse from one audit to another: outputs of each "
               "arithmetic, and the nodes that introduce more than before. Arithmetics are paired "
               "by name, or where each report has one, those.",
    .examples = "  ulpscope diff report-main/ report-branch/\n"
                "  ulpscope diff report-main/ report-branch/ --fail-if-worse --factor 1.5\n"
                "      in CI\n"
                "  ulpscope diff report-main/ report-branch/ --markdown \"$GITHUB_STEP_SUMMARY\"",
    .notes = "Exit code 1: --fail-if-worse.",
    .groups = {{NULL, rows, 0},
               MEMORY_GROUP,
               {NULL, judge_rows, offsetof(PARSED, allow_nonfinite_inputs)},
               JSON_GROUP,
               HELP_GROUP},
    .size = sizeof(struct diff_options),
    .run = run_diff,
};
