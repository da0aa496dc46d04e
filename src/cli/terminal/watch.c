/* What ends the program from outside: its time is over, somebody interrupts it, or a mapped file
 * has become shorter. All are signals, and may come while any function is in its middle: one line
 * is written, of text made before, and the process ends. Files are written beside and renamed, so
 * none is left half. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/shown.h"
#include "cli/command.h"
#include "cli/ranks.h"

/* Two texts in turn: the one that is not shown is being written. */
static char texts[2][4000];
static const char *_Atomic done;    /* what is there by now */
static const char *_Atomic passing; /* a file that is removed */
static _Atomic pid_t reading;       /* the group of the command that reads it; 0: none */
static char limit[32];
static char time_is_over[96];
static char children[64];               /* the file that lists them */
static const char erase[] = "\r\033[K"; /* of the progress line */
static bool terminal;

static char *append(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

/* What the command started in sessions of its own, too: whoever's parent has ended is a child of
 * this process (PR_SET_CHILD_SUBREAPER), one generation after the other. */
static void end_children(void)
{
    enum { GENERATIONS = 100 };
    char list[4096];
    for (int g = 0; g < GENERATIONS; g++) {
        const int file = open(children, O_RDONLY | O_CLOEXEC);
        const ssize_t length = file < 0 ? 0 : read(file, list, sizeof list - 1);
        if (file >= 0)
            close(file);
        if (length <= 0)
            return;
        list[length] = '\0';
        char *at = list;
        for (char *end; (end = strchr(at, ' ')); at = end + 1) { /* a part of a number is left */
            const pid_t child = (pid_t)strtol(at, NULL, 10);
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
        }
    }
}

static void write_line(const char *what, const char *rest)
{
    char line[sizeof erase + sizeof time_is_over + sizeof texts[0] + 200];
    char *end = append(line, terminal ? erase : "");
    const char *file = passing;
    const pid_t group = reading;
    if (group > 0)
        kill(-group, SIGKILL);
    if (group > 0)
        end_children();
    if (file)
        unlink(file);
    end = append(append(append(append(end, "ulpscope: "), what), rest), "\n");
    (void)!write(STDERR_FILENO, line, (size_t)(end - line));
}

static void end_of_time(int number)
{
    (void)number;
    write_line(time_is_over, done);
    _exit(ULP_ERROR_CANCELLED);
}

/* The process ends by the signal, as whoever sent it expects. */
static void end_by_signal(int number)
{
    write_line(number == SIGTERM ? "ended by SIGTERM: " : "interrupted: ", done);
    signal(number, SIG_DFL);
    raise(number);
}

void watch_passing(const char *path, pid_t group)
{
    snprintf(children, sizeof children, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    reading = group;
    passing = path;
}

void watch_done(const char *format, ...)
{
    static int next;
    char *text = texts[next];
    va_list list;
    va_start(list, format);
    ulp_show_arguments(text, sizeof texts[0], format, list);
    va_end(list);
    done = text;
    next = !next;
}

/* Seconds, with a fraction perhaps; false: they are none. */
static bool start_clock(const char *seconds)
{
    char *end;
    const double value = strtod(seconds, &end);
    if (end == seconds || *end || !(value >= 0.001) || !(value <= 1e8) ||
        strlen(seconds) >= sizeof limit)
        return false;
    strcpy(limit, seconds);
    snprintf(time_is_over, sizeof time_is_over, "the time of --max-time %s is over: ", limit);
    const struct sigaction action = {.sa_handler = end_of_time, .sa_flags = SA_RESTART};
    const struct itimerval time = {
        .it_value = {(time_t)value, (suseconds_t)((value - (double)(time_t)value) * 1e6)}};
    return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &time, NULL) == 0;
}

int watch_time(int *argc, char **argv)
{
    static const char option[] = "--max-time";
    const size_t length = sizeof option - 1;
    for (int a = 1; a < *argc && strcmp(argv[a], "--") != 0; a++) {
        const bool joined = strncmp(argv[a], option, length) == 0 && argv[a][length] == '=',
                   apart = strcmp(argv[a], option) == 0;
        if (!joined && !apart)
            continue;
        const char *seconds = joined ? argv[a] + length + 1 : a + 1 < *argc ? argv[a + 1] : "";
        if (!start_clock(seconds)) {
            say(stderr, "ulpscope: --max-time %s: expected seconds, such as 60 or 0.5\n", seconds);
            return ULP_ERROR_USAGE;
        }
        const int gone = joined ? 1 : 2;
        memmove(argv + a, argv + a + gone, (size_t)(*argc - a - gone + 1) * sizeof *argv);
        *argc -= gone;
        a--;
    }
    return ULP_OK;
}

double watch_seconds(void)
{
    struct itimerval left = {0};
    getitimer(ITIMER_REAL, &left);
    return (double)left.it_value.tv_sec + (double)left.it_value.tv_usec * 1e-6;
}

/* A page of a mapped file that is not there any more. */
static void end_of_file(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != BUS_ADRERR) { /* no file: as without this */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    write_line(
        "a file became shorter while it was read: the model, its external data, or a file of "
        "TMPDIR; run again when nobody writes them",
        "");
    _exit(ULP_ERROR_INPUT);
}

static void watch_signal(int number)
{
    const struct sigaction action = {.sa_handler = end_by_signal,
                                     .sa_flags = SA_RESTART | SA_NODEFER};
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

void watch_signals(void)
{
    terminal = isatty(STDERR_FILENO);
    watch_done("no file was left half written");
    if (ranks_are_several()) /* mpirun ends them all, and says why */
        return;
    watch_signal(SIGINT);
    watch_signal(SIGTERM);
    watch_signal(SIGHUP);
}

void watch_files(void)
{
    const struct sigaction action = {.sa_sigaction = end_of_file,
                                     .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGBUS, &action, NULL);
}
