/* ulpscope show: the report of an audit, read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

enum { OPTION_JSON = 512 };

struct show_options {
    const char *report, *pattern;
    size_t max_memory_bytes;
    bool json;
};

/* clang-format off */
static const struct argp_option option_list[] = {
    {"json", OPTION_JSON, 0, 0, "As JSON: report.json with only these nodes, however many; without NODE, with none", 0},
    {0},
};
/* clang-format on */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct show_options *options = state->input;
    if (key == ARGP_KEY_INIT)
        state->child_inputs[0] = &options->max_memory_bytes;
    if (key == OPTION_JSON)
        options->json = true;
    if (key == ARGP_KEY_INIT || key == OPTION_JSON)
        return 0;
    if (key == ARGP_KEY_ARG && options->json && strcmp(argument, "-") == 0)
        return 0; /* --json -, as other commands have it */
    if (key == ARGP_KEY_ARG && state->arg_num < 2) {
        *(state->arg_num ? &options->pattern : &options->report) = argument;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        refuse(state, "one pattern at a time: '%s' is another", argument);
    if (key == ARGP_KEY_END && !options->report)
        refuse(state, "which report? Give report.json, or the folder of audit --out");
    return key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

static const char documentation[] =
    "Show what ulpscope audit --out wrote: the verdicts and outputs, or all figures of the nodes "
    "that NODE names, without a new run."
    "\vNODE is a node's name with * and ?, or cut by a terminal as ...end; the name of its output; "
    "#12, its index; or op:Softmax. At most 20 nodes are shown.\n\n"
    "Examples:\n"
    "  ulpscope show report/\n"
    "  ulpscope show report/report.json '*/attn/MatMul'\n"
    "  ulpscope show report/ '#71'\n"
    "  ulpscope show report/ op:Softmax --json | jq '.lanes[].nodes[].share'";

static enum ulp_status make_text(const struct show_options *options, const struct ulp_saved *saved,
                                 char **text, struct ulp_error *error)
{
    return options->json ? ulp_saved_show_json(saved, options->pattern, text, error)
                         : ulp_saved_show(saved, options->pattern, terminal_width(STDOUT_FILENO),
                                          use_colour(STDOUT_FILENO), text, error);
}

int command_show(int argc, char **argv)
{
    static const struct argp_child children[] = {{&memory_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {option_list,   parse_option, "REPORT [NODE]",
                                     documentation, children,     NULL,
                                     NULL};
    struct show_options options = {.max_memory_bytes = REPORT_MEMORY};
    struct ulp_budget *budget = NULL;
    struct ulp_saved *saved = NULL;
    struct ulp_error error;
    char *text = NULL;
    int code = parse_arguments(&argp, argc, argv, &options);
    if (code == ULP_OK && (ulp_budget_create(options.max_memory_bytes, &budget, &error) != ULP_OK ||
                           ulp_saved_read(options.report, budget, &saved, &error) != ULP_OK ||
                           make_text(&options, saved, &text, &error) != ULP_OK))
        code = fail(&error);
    if (text)
        fputs(text, stdout);
    free(text);
    ulp_saved_free(saved);
    ulp_budget_free(budget);
    return code;
}
