/* A command's arguments as its option tables read them, without parsing them for their meaning. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/suggest.h"
#include "cli/command.h"

#define OPTIONS_MAX 200 /* two more are argp's */

/* A command's options as getopt_long takes them, those of its children included. */
struct table {
    struct option longs[OPTIONS_MAX + 3];
    const struct argp_option *rows[OPTIONS_MAX]; /* an alias: the row it is of */
    char shorts[3 * OPTIONS_MAX + 2];
    size_t count;
};

static void add_options(struct table *table, const struct argp *argp)
{
    const struct argp_option *row = argp->options, *named = row;
    for (; row && (row->name || row->key || row->doc || row->group); row++) {
        if (!(row->flags & OPTION_ALIAS))
            named = row;
        if (!row->name || table->count == OPTIONS_MAX)
            continue;
        const int takes = !named->arg                          ? no_argument
                          : named->flags & OPTION_ARG_OPTIONAL ? optional_argument
                                                               : required_argument;
        if (row->key > ' ' && row->key < 127) {
            const char letter[] = {(char)row->key, takes == no_argument ? '\0' : ':', '\0'};
            strcat(table->shorts, letter);
        }
        /* its value: its place, above all letters */
        table->longs[table->count] =
            (struct option){row->name, takes, NULL, (int)table->count + 256};
        table->rows[table->count++] = named;
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        add_options(table, child->argp);
}

/* The command line as getopt_long goes through it with the command's options; it puts words behind
 * options, so it gets pointers of its own, freed with free(). NULL: out of memory. */
static char **open_line(struct table *table, const struct argp *argp, int argc, char **argv)
{
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return NULL;
    memcpy(words, argv, (size_t)argc * sizeof *words);
    *table = (struct table){.count = 0};
    add_options(table, argp);
    optind = 0;
    opterr = 0;
    return words;
}

static const struct argp_option *find_row(const struct table *table, int found)
{
    if (found >= 256)
        return table->rows[found - 256];
    for (size_t r = 0; r < table->count; r++)
        if (table->rows[r]->key == found)
            return table->rows[r];
    return NULL;
}

/* The n-th word of the documentation's first line, or the last, which may be repeated. */
static void find_word(const char *documentation, size_t n, char *out, size_t size)
{
    static const char around[] = " []";
    const char *at = documentation ? documentation : "";
    *out = '\0';
    for (size_t w = 0; w <= n; w++) {
        at += strspn(at, around);
        size_t length = strcspn(at, " []\n");
        if (!length)
            return;
        const size_t kept = length < size ? length : size - 1;
        memcpy(out, at, kept);
        out[kept] = '\0';
        if (strstr(out, "..."))
            *strstr(out, "...") = '\0';
        at += length;
    }
}

/* Whether it is one of the words that the row lists before a file: "nodes|bits|FILE". */
static bool is_listed(const struct argp_option *row, const char *value)
{
    const size_t length = strlen(value);
    for (const char *at = row->arg, *end; (end = strchr(at, '|')); at = end + 1)
        if ((size_t)(end - at) == length && strncmp(at, value, length) == 0)
            return true;
    return false;
}

bool visit_arguments(const struct argp *argp, int argc, char **argv, use_argument *use,
                     void *context)
{
    static struct table table;
    char **words = open_line(&table, argp, argc, argv), name[40];
    int found;
    bool goes_on = words != NULL;
    if (!words)
        return false;
    while (goes_on && (found = getopt_long(argc, words, table.shorts, table.longs, NULL)) != -1) {
        const struct argp_option *row = find_row(&table, found);
        const bool file = row && optarg && row->flags & OPTION_READS && !is_listed(row, optarg);
        const bool given =
            row && (file || !(row->flags & OPTION_READS)) && !is_json_stream(row, optarg);
        if (row)
            goes_on = use(context, row, given ? optarg : NULL);
    }
    for (int a = optind; a < argc && goes_on; a++) {
        find_word(argp->args_doc, (size_t)(a - optind), name, sizeof name);
        const struct argp_option word = {.arg = name,
                                         .flags = strncmp(name, "OUT", 3) == 0 ? OPTION_WRITES
                                                                               : OPTION_READS};
        goes_on = use(context, &word, words[a]);
    }
    free(words);
    return goes_on;
}

struct dashed {
    char name[40];
};

static const char *name_option(const void *dashed, size_t i)
{
    return ((const struct dashed *)dashed)[i].name;
}

/* What other programs call it. */
static const char *called_here(const char *name)
{
    static const char *const words[][2] = {{"--precision", "--arith"}, {"--dtype", "--arith"},
                                           {"--type", "--arith"},      {"--fp16", "--arith"},
                                           {"--bf16", "--arith"},      {"--half", "--arith"},
                                           {"--fp8", "--arith"},       {"--data", "--inputs"},
                                           {"--atol", "--tolerance"},  {"--rtol", "--tolerance"},
                                           {"--gpu", "--arith"},       {"--target", "--for"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strcmp(name, words[w][0]) == 0)
            return words[w][1];
    return name;
}

void refuse_unknown(const struct argp *argp, int argc, char **argv)
{
    enum { HELP = 1, USAGE }; /* argp's own, of which it has no table to read */
    static const struct option own[] = {{"help", no_argument, NULL, HELP},
                                        {"usage", no_argument, NULL, USAGE}};
    const struct argp_state state = {.root_argp = argp, .name = argv[0], .err_stream = stderr};
    static struct table table;
    static struct dashed dashed[OPTIONS_MAX + 2];
    char **words = open_line(&table, argp, argc, argv);
    if (!words)
        return; /* argp says so */
    for (size_t o = 0; o < sizeof own / sizeof *own; o++)
        table.longs[table.count++] = own[o];
    for (size_t o = 0; o < table.count; o++)
        snprintf(dashed[o].name, sizeof dashed[o].name, "--%s", table.longs[o].name);
    for (int found; (found = getopt_long(argc, words, table.shorts, table.longs, NULL)) != -1;) {
        const char *word = words[optind - 1];
        if (found == HELP || (found == '?' && strcmp(word, "-?") == 0)) {
            print_options(argp, argv[0]);
            exit(ULP_OK);
        }
        if (found != '?' || strncmp(word, "--", 2) != 0)
            continue;
        char name[64];
        bool begins = false; /* an abbreviation of several, a value too many or none: argp's */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        for (size_t o = 0; o < table.count; o++)
            begins |= strncmp(dashed[o].name, name, strlen(name)) == 0;
        struct ulp_text near = {0};
        if (!begins && strcmp(name, "--json") == 0)
            refuse(&state, "there is no option '--json': this command has no result as JSON; "
                           "--help says what it writes");
        if (!begins)
            ulp_suggest_names(&near, called_here(name), table.count, name_option, dashed);
        if (!begins)
            refuse(&state, "there is no option '%s'%s", name, near.length ? near.data : "");
        ulp_text_free(&near);
    }
    free(words);
}

const struct ulp_target *read_target(const struct argp_state *state, const char *name)
{
    struct ulp_error error;
    const struct ulp_target *target = ulp_target_find(name);
    if (!target) {
        ulp_target_refuse(name, &error);
        refuse(state, "--for %s", error.message);
    }
    return target;
}

enum ulp_task read_task(const struct argp_state *state, const char *word)
{
    for (int t = ULP_TASK_NONE; t < ULP_TASK_INTEGER; t++)
        if (strcmp(word, ulp_task_name((enum ulp_task)t)) == 0)
            return (enum ulp_task)t;
    refuse(state,
           "--task %s: expected classify, score, text, detect, segment, embed, signal or none",
           word);
    return ULP_TASK_UNKNOWN;
}

const char *read_target_name(const struct argp_state *state, const char *name)
{
    read_target(state, name);
    return name;
}

void refuse_combinations(const struct argp_state *state, const struct combination *rows,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].given && rows[i].against)
            refuse(state, "%s", rows[i].refusal);
}
