/* ulpscope show: the report of an audit, read again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"

struct show_options {
    const char *report, *pattern;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct show_options *options = state->input;
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
    "  ulpscope show report/ '#71'";

int command_show(int argc, char **argv)
{
    static const struct argp argp = {NULL, parse_option, "REPORT [NODE]", documentation, NULL,
                                     NULL, NULL};
    struct show_options options = {0};
    struct ulp_saved *saved = NULL;
    struct ulp_error error;
    char *text = NULL;
    if (parse_arguments(&argp, argc, argv, &options) != ULP_OK)
        return ULP_ERROR_MEMORY;
    enum ulp_status status = ulp_saved_read(options.report, NULL, &saved, &error);
    if (status == ULP_OK)
        status = ulp_saved_show(saved, options.pattern, terminal_width(STDOUT_FILENO),
                                use_colour(STDOUT_FILENO), &text, &error);
    if (status == ULP_OK)
        fputs(text, stdout);
    free(text);
    ulp_saved_free(saved);
    return status == ULP_OK ? ULP_OK : fail(&error);
}
