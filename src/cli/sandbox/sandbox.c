#define _GNU_SOURCE
#include "cli/sandbox/sandbox.h"

#include <errno.h>
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

bool sandbox_is_asked(void)
{
    return asked != NOT_ASKED;
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

static enum ulp_status allow_listed(void *context, const char *path, struct ulp_error *error)
{
    (void)error;
    *(bool *)context &= allow_input(path);
    return ULP_OK;
}

/* The paths in a list of samples, as --inputs reads it. A pipe is read once. */
static bool allow_list(const char *list)
{
    struct ulp_error ignored; /* the command says it */
    struct stat info;
    bool allowed = true;
    if (stat(list, &info) == 0 && S_ISREG(info.st_mode))
        visit_list(list, allow_listed, &allowed, &ignored);
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

static bool allow_argument(void *context, const struct option_row *row, const char *value)
{
    bool *entered = context;
    if (strcmp(row->name, "attribute") == 0)
        *entered = make_scratch();
    else if (value)
        *entered = row->writes  ? allow_output(value, row->value)
                   : row->reads ? allow_input(value)
                                : allow_files_within(value);
    return *entered;
}

int sandbox_enter(void)
{
    if (!asked)
        return ULP_OK;
    bool entered = true;
    if (rules < 0) {
        rules = landlock_open();
        entered = rules >= 0 && allow_system();
    }
    if (entered)
        visit_arguments(allow_argument, &entered);
    if (entered && !waiting)
        entered = landlock_enter(rules) == 0;
    waiting = false;
    if (entered)
        return ULP_OK;
    say(stderr, "ulpscope: --sandbox: cannot be entered: %s\n", strerror(errno));
    return ULP_ERROR_INPUT;
}
