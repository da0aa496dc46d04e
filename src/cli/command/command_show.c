/* ulpscope show: the report of an audit, read again. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"
struct show_options {
    const char *report, *pattern;
    size_t max_memory_bytes;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct show_options *options = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &options->max_memory_bytes;
        return 0;
    }
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
    "#12, its index; or op:Softmax. At most 20 nodes are shown; --json writes report.json "
    "with only these, however many, and without NODE with none.\n\n"
    "Examples:\n"
    "  ulpscope show report/\n"
    "  ulpscope show report/report.json '*/attn/MatMul'\n"
    "  ulpscope show report/ '#71'\n"
    "  ulpscope show report/ op:Softmax --json - | jq '.lanes[].nodes[].share'";

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

static enum ulp_status show(void *of, struct ulp_error *error)
{
    const struct show_options *options = of;
    ULP_SCOPED(ulp_budget_free_of) struct ulp_budget *budget = NULL;
    ULP_SCOPED(ulp_saved_free_of) struct ulp_saved *saved = NULL;
    ULP_TRY(ulp_budget_create(options->max_memory_bytes, &budget, error));
    ULP_TRY(ulp_saved_read(options->report, budget, &saved, error));
    const struct lookup lookup = {saved, options->pattern};
    return say_result(&(struct result){.of = &lookup, .print = print_nodes, .write = write_nodes},
                      error);
}

int command_show(int argc, char **argv)
{
    static const struct argp_child children[] = {{&memory_argp, 0, NULL, 0},
                                                 {&json_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {.parser = parse_option,
                                     .args_doc = "REPORT [NODE]",
                                     .doc = documentation,
                                     .children = children};
    struct show_options options = {.max_memory_bytes = REPORT_MEMORY};
    return run_command(&argp, argc, argv, &options, NULL, show);
}
