/* conformance DIR...: ONNX's test cases found, run, and their results counted. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/conformance/conformance.h"

#define ONNX_RELATIVE 1e-3
#define ONNX_ABSOLUTE 1e-7
#define DEPTH_MAX 8
#define TALLY_ROOM 1024

enum { OPTION_LIST = 512, OPTION_TOLERANCE, OPTION_MEMORY };

static const struct argp_option option_list[] = {
    {"arith", 'a', "ARITH", 0, "The arithmetic (default fp32)", 0},
    {"tolerance", OPTION_TOLERANCE, "RTOL,ATOL", 0,
     "Floats pass when |got - expected| <= ATOL + RTOL * |expected|. Default: ONNX's own "
     "1e-3,1e-7; for formats of fewer than 24 bits, 8 ulps of 1 where that is more",
     0},
    {"only", 'o', "TEXT", 0, "Run only cases whose folder name contains TEXT", 0},
    {"verbose", 'v', 0, 0, "Print a line for every case, not only for those that fail", 0},
    {"list", OPTION_LIST, 0, 0,
     "Print what is out of scope (operators, types, single cases) and why, and exit", 0},
    {"max-memory", OPTION_MEMORY, "BYTES", 0, "Of each case (default 4 GiB)", 0},
    {0},
};

static const char documentation[] =
    "Run ONNX's own test cases and count, for each operator, how many passed, failed and are out "
    "of scope. DIR is a case (a folder with model.onnx and test_data_set_N), a folder of cases, or "
    "a folder of such folders. Integers and booleans must be equal, floats within the tolerance. A "
    "written list (--list) decides what is out of scope, not what fails."
    "\vExit codes: 0 every case in scope passed; 1 one failed; 2 usage; 3 DIR cannot be read or "
    "holds no case.";

struct options {
    const char *arithmetic, *only;
    bool verbose, list, has_tolerance;
    struct tolerance tolerance;
    char **folders;
    int folder_count;
    size_t max_memory_bytes;
};

static void set_tolerance(struct argp_state *state, struct options *options, const char *text)
{
    char *end, *last;
    struct tolerance t = {.relative = strtod(text, &end)};
    bool good = end != text && *end == ',';
    const char *second = good ? end + 1 : text;
    t.absolute = strtod(second, &last);
    if (!good || last == second || *last || !(t.relative >= 0 && t.absolute >= 0))
        argp_error(state, "--tolerance %s: expected RTOL,ATOL, both at least 0, such as 1e-3,1e-7",
                   text);
    options->tolerance = t;
    options->has_tolerance = true;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'a':
        if (options->arithmetic)
            argp_error(state, "--arith %s: one arithmetic at a time, %s is another", argument,
                       options->arithmetic);
        options->arithmetic = argument;
        return 0;
    case 'o': options->only = argument; return 0;
    case 'v': options->verbose = true; return 0;
    case OPTION_LIST: options->list = true; return 0;
    case OPTION_MEMORY: options->max_memory_bytes = strtoull(argument, NULL, 10); return 0;
    case OPTION_TOLERANCE: set_tolerance(state, options, argument); return 0;
    case ARGP_KEY_ARGS:
        options->folders = state->argv + state->next;
        options->folder_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (!options->list && options->folder_count == 0)
            argp_error(state, "which cases? Give a folder");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ONNX's own, which is meant for FP32 and more; a format of p < 24 bits gets 8 ulps of 1, 2^(4 -
 * p), where that is more: an input's, a few steps' and the result's roundings, none of which the
 * expectation had. */
static struct tolerance default_tolerance(const struct ulp_arithmetic *arithmetic)
{
    double ulps = ldexp(1, 4 - arithmetic->factor.precision);
    if (arithmetic->factor.precision >= 24)
        return (struct tolerance){ONNX_RELATIVE, ONNX_ABSOLUTE};
    return (struct tolerance){ulps > ONNX_RELATIVE ? ulps : ONNX_RELATIVE,
                              ulps > ONNX_ABSOLUTE ? ulps : ONNX_ABSOLUTE};
}

static void print_list(const char *title, const struct excuse *list)
{
    puts(title);
    for (; list->what; list++)
        printf("  %-28s %s\n", list->what, list->reason);
}

/* ---- counting ---- */

struct tally {
    char op[48];
    size_t counts[VERDICT_COUNT];
};
struct session {
    const struct options *options;
    struct ulp_arithmetic arithmetic;
    struct tolerance tolerance;
    struct tally tallies[TALLY_ROOM]; /* more operators than ONNX has; the rest shares the last */
    size_t tally_count;
    struct tally total;
};

static void count_result(struct session *session, const struct case_result *result)
{
    size_t i = 0;
    while (i < session->tally_count && strcmp(session->tallies[i].op, result->op) != 0)
        i++;
    if (i == TALLY_ROOM)
        i--;
    else if (i == session->tally_count)
        snprintf(session->tallies[session->tally_count++].op, sizeof result->op, "%s", result->op);
    session->tallies[i].counts[result->verdict]++;
    session->total.counts[result->verdict]++;
}

static int order_tallies(const void *a, const void *b)
{
    return strcmp(((const struct tally *)a)->op, ((const struct tally *)b)->op);
}

static void print_tally(const struct tally *tally)
{
    printf("%-28s %7zu %7zu %12zu\n", tally->op, tally->counts[VERDICT_PASSED],
           tally->counts[VERDICT_FAILED], tally->counts[VERDICT_OUT_OF_SCOPE]);
}

/* ---- walking folders ---- */

static enum ulp_status run_one(struct session *session, const char *path, const char *name,
                               struct ulp_error *error)
{
    static const char *const words[VERDICT_COUNT] = {"passed", "FAILED", "out"};
    struct case_result result;
    if (session->options->only && !strstr(name, session->options->only))
        return ULP_OK;
    if (!run_case_apart(path, &session->arithmetic, &session->tolerance,
                        session->options->max_memory_bytes, &result))
        return ulp_fail(error, ULP_ERROR_MEMORY, "no process could be made for %s: %s", path,
                        strerror(errno));
    count_result(session, &result);
    if (result.verdict == VERDICT_FAILED || session->options->verbose)
        printf("%-6s %s%s%s\n", words[result.verdict], name, *result.message ? ": " : "",
               result.message);
    return ULP_OK;
}

static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Every case at path and in folders below it; files are passed over. */
static enum ulp_status walk(struct session *session, const char *path, int depth,
                            struct ulp_error *error)
{
    char inner[PATH_MAX];
    enum ulp_status status = ULP_OK;
    if (snprintf(inner, sizeof inner, "%s/model.onnx", path) < (int)sizeof inner &&
        access(inner, F_OK) == 0)
        return run_one(session, path, strrchr(path, '/') + 1, error);
    struct dirent **entries;
    int count = depth < DEPTH_MAX ? scandir(path, &entries, keep_visible, alphasort) : 0;
    if (count < 0 && errno == ENOTDIR && depth > 0)
        return ULP_OK;
    if (count < 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "cannot read the folder %s: %s", path,
                        strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == ULP_OK &&
            snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name) < (int)sizeof inner)
            status = walk(session, inner, depth + 1, error);
        free(entries[i]);
    }
    if (depth < DEPTH_MAX)
        free(entries);
    return status;
}

static enum ulp_status run_folders(struct session *session, struct ulp_error *error)
{
    const struct options *options = session->options;
    ULP_TRY(ulp_arithmetic_find(options->arithmetic ? options->arithmetic : "fp32",
                                &session->arithmetic, error));
    session->tolerance =
        options->has_tolerance ? options->tolerance : default_tolerance(&session->arithmetic);
    printf("%s, floats within %.3g relative + %.3g absolute\n", session->arithmetic.name,
           session->tolerance.relative, session->tolerance.absolute);
    for (int i = 0; i < options->folder_count; i++) {
        char path[PATH_MAX];
        ULP_TRY(realpath(options->folders[i], path)
                    ? walk(session, path, 0, error)
                    : ulp_fail(error, ULP_ERROR_INPUT, "cannot read the folder %s: %s",
                               options->folders[i], strerror(errno)));
    }
    if (session->tally_count == 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "no case%s%s in %s: expected folders with model.onnx and test_data_set_0",
                        options->only ? " named " : "", options->only ? options->only : "",
                        options->folders[0]);
    return ULP_OK;
}

static void print_lists(void)
{
    print_list("operators", excused_operators);
    print_list("types", excused_types);
    print_list("cases, by the start of their name", excused_cases);
    puts("cases with wrong data, in the versions of ONNX that have it");
    for (const struct wrong_case *row = wrong_cases; row->excuse.what; row++)
        printf("  %-28s %s\n", row->excuse.what, row->excuse.reason);
}

static int fail(const struct ulp_error *error)
{
    fprintf(stderr, "conformance: %s\n", error->message);
    return (int)error->status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {.options = option_list,
                                     .parser = parse_option,
                                     .args_doc = "DIR...",
                                     .doc = documentation};
    struct options options = {.max_memory_bytes = (size_t)4 << 30};
    struct ulp_error error = {0};
    argp_err_exit_status = ULP_ERROR_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.list) {
        print_lists();
        return ULP_OK;
    }
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return ULP_ERROR_MEMORY;
    session->options = &options;
    session->total = (struct tally){.op = "total"};
    enum ulp_status status = run_folders(session, &error);
    bool failed = session->total.counts[VERDICT_FAILED] != 0;
    if (status == ULP_OK) {
        qsort(session->tallies, session->tally_count, sizeof *session->tallies, order_tallies);
        printf("%-28s %7s %7s %12s\n", "operator", "passed", "failed", "out of scope");
        for (size_t i = 0; i < session->tally_count; i++)
            print_tally(&session->tallies[i]);
        print_tally(&session->total);
    }
    free(session);
    return status != ULP_OK ? fail(&error) : failed ? 1 : ULP_OK;
}
