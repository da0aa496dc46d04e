#define _GNU_SOURCE
#include "cli/sandbox/sandbox.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/text.h"
#include "cli/command.h"
#include "cli/ranks.h"
#include "cli/sandbox/landlock.h"

static enum { NOT_ASKED, TRY, ASKED } asked;
static bool waiting;
static int rules = -1;

static int refuse_to_go_on(const char *what)
{
    say(stderr,
        "ulpscope: --sandbox: %s; leave it out, or give --sandbox=try to go on without one\n",
        what);
    return ULP_ERROR_USAGE;
}

int sandbox_ask(int *argc, char **argv)
{
    static const char option[] = "--sandbox";
    const size_t length = sizeof option - 1;
    for (int a = 1; a < *argc && strcmp(argv[a], "--") != 0; a++) {
        const char *rest = argv[a] + length;
        if (strncmp(argv[a], option, length) != 0 || (*rest && *rest != '='))
            continue;
        if (*rest && strcmp(rest, "=try") != 0) {
            say(stderr, "ulpscope: %s: expected --sandbox or --sandbox=try\n", argv[a]);
            return ULP_ERROR_USAGE;
        }
        asked = *rest ? TRY : ASKED;
        memmove(argv + a, argv + a + 1, (size_t)(*argc - a) * sizeof *argv);
        (*argc)--;
        a--;
    }
    if (asked == ASKED && !landlock_version())
        return refuse_to_go_on("this kernel has no Landlock (Linux 5.13 and later, with landlock "
                               "among CONFIG_LSM or lsm=)");
    if (asked && ranks_are_several())
        return refuse_to_go_on("MPI opens files and sockets of its own");
    if (asked == TRY && !landlock_version()) {
        say(stderr, "ulpscope: no sandbox: this kernel has no Landlock\n");
        asked = NOT_ASKED;
    }
    return ULP_OK;
}

void sandbox_wait(void)
{
    waiting = true;
}

/* ---- rules ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* false: errno says why. */
static bool allow_folder_of(const char *path, enum landlock_right right)
{
    char *target = realpath(path, NULL), *copy = target ? target : strdup(path);
    const bool allowed = copy && landlock_allow(rules, dirname(copy), right) == 0;
    free(copy);
    return allowed;
}

static bool allow_input(const char *path);

/* The paths in a list of samples, as --inputs reads it. */
static bool allow_list(const char *list)
{
    const char *slash = strrchr(list, '/');
    struct stat info;
    /* a pipe is read once */
    FILE *file = stat(list, &info) == 0 && S_ISREG(info.st_mode) ? fopen(list, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    bool allowed = true;
    while (file && allowed && getline(&line, &room, file) >= 0) {
        struct ulp_text path = {0};
        line[strcspn(line, "\r\n")] = '\0';
        if (slash && *line != '/')
            ulp_text_put(&path, list, (size_t)(slash + 1 - list));
        ulp_text_put(&path, line, strlen(line));
        if (*line && *line != '#')
            allowed = !path.failed && allow_input(path.data);
        ulp_text_free(&path);
    }
    free(line);
    if (file)
        fclose(file);
    return allowed;
}

/* A path, or something else that is no path and allows nothing. */
static bool allow_input(const char *path)
{
    if (landlock_allow(rules, path, LANDLOCK_READ) != 0)
        return false;
    if (ulp_text_ends(path, ".onnx"))
        return allow_folder_of(path, LANDLOCK_READ);
    return !ulp_text_ends(path, ".txt") || allow_list(path);
}

/* "fp16,fuse=groups.json": each file behind '='. */
static bool allow_files_within(const char *value)
{
    bool allowed = true;
    for (const char *at = strchr(value, '='); at && allowed; at = strchr(at + 1, '=')) {
        char *word = strndup(at + 1, strcspn(at + 1, ",="));
        allowed = word && (is_folder(word) || allow_input(word));
        free(word);
    }
    return allowed;
}

static bool allow_output(const char *path, const char *placeholder)
{
    struct ulp_error ignored; /* the command says it */
    struct stat info;
    if (strcmp(placeholder, "FOLDER") == 0) {
        ulp_report_prepare(path, &ignored);
        return landlock_allow(rules, path, LANDLOCK_WRITE) == 0;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return landlock_allow(rules, path, LANDLOCK_WRITE) == 0; /* a device, or a pipe */
    return allow_folder_of(path, LANDLOCK_WRITE);
}

/* A folder of its own in TMPDIR, which the process removes when it ends. */
static char scratch[4096];

static void remove_scratch(void)
{
    rmdir(scratch);
}

static bool make_scratch(void)
{
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (snprintf(scratch, sizeof scratch, "%s/ulpscope-XXXXXX", parent) >= (int)sizeof scratch ||
        !mkdtemp(scratch))
        return true; /* what needs it says so */
    atexit(remove_scratch);
    return setenv("TMPDIR", scratch, 1) == 0 && landlock_allow(rules, parent, LANDLOCK_TIDY) == 0 &&
           landlock_allow(rules, scratch, LANDLOCK_WRITE) == 0;
}

/* What the process asks of the system: its memory, its processors, its own open files. */
static bool allow_system(void)
{
    static const char *const paths[] = {"/proc/meminfo", "/proc/self", "/sys/fs/cgroup",
                                        "/sys/devices/system/cpu"};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
        if (landlock_allow(rules, paths[p], LANDLOCK_READ) != 0)
            return false;
    return true;
}

/* ---- arguments ---- */

static bool allow_option(const char *name, const char *placeholder, const char *value)
{
    static const char *const outputs[] = {"out",   "outputs", "html",  "json",
                                          "sarif", "csv",     "junit", "checkpoint"};
    if (strcmp(name, "attribute") == 0)
        return make_scratch();
    if (!value || !placeholder)
        return true;
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++)
        if (strcmp(name, outputs[o]) == 0)
            return allow_output(value, placeholder);
    if (strstr(placeholder, "FILE") || strstr(placeholder, "FOLDER") ||
        strstr(placeholder, "PATH") || strchr(placeholder, '.'))
        return allow_input(value);
    return allow_files_within(value);
}

#define OPTIONS_MAX 200

/* A command's options as getopt_long takes them, those of its children included. */
struct table {
    struct option longs[OPTIONS_MAX + 1];
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

static const struct argp_option *find_row(const struct table *table, int found)
{
    if (found >= 256)
        return table->rows[found - 256];
    for (size_t r = 0; r < table->count; r++)
        if (table->rows[r]->key == found)
            return table->rows[r];
    return NULL;
}

static bool allow_arguments(const struct argp *argp, int argc, char **argv)
{
    static struct table table;
    int found;
    bool allowed = true;
    table = (struct table){.count = 0};
    add_options(&table, argp);
    optind = 0;
    opterr = 0;
    while (allowed && (found = getopt_long(argc, argv, table.shorts, table.longs, NULL)) != -1) {
        const struct argp_option *row = find_row(&table, found);
        if (row)
            allowed = allow_option(row->name, row->arg, optarg);
    }
    for (int a = optind; a < argc && allowed; a++)
        allowed = allow_input(argv[a]);
    return allowed;
}

int sandbox_enter(const struct argp *argp, int argc, char **argv)
{
    if (!asked)
        return ULP_OK;
    bool entered = true;
    if (rules < 0) {
        rules = landlock_open();
        entered = rules >= 0 && allow_system();
    }
    entered = entered && allow_arguments(argp, argc, argv);
    if (entered && !waiting)
        entered = landlock_enter(rules) == 0;
    waiting = false;
    if (entered)
        return ULP_OK;
    say(stderr, "ulpscope: --sandbox: cannot be entered: %s\n", strerror(errno));
    return ULP_ERROR_INPUT;
}
