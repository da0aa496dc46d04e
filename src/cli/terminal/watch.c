/* What ends the program from outside: its time is over, or a mapped file has become shorter. Both
 * are signals, and may come while any function is in its middle: one line is written, of text made
 * before, and the process ends. Files are written beside and renamed, so none is left half. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text/shown.h"
#include "cli/command.h"

/* Two lines in turn: the one that is not shown is being written. */
static char lines[2][4096];
static const char *_Atomic line;
static char limit[32];
static const char erase[] = "\r\033[K"; /* of the progress line */
static bool terminal;

static void write_line(const char *text)
{
    if (terminal)
        (void)!write(STDERR_FILENO, erase, sizeof erase - 1);
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void end_of_time(int number)
{
    (void)number;
    write_line(line);
    _exit(ULP_ERROR_CANCELLED);
}

void watch_done(const char *format, ...)
{
    static int next;
    char said[3800];
    va_list list;
    if (!*limit)
        return;
    va_start(list, format);
    ulp_show_arguments(said, sizeof said, format, list);
    va_end(list);
    snprintf(lines[next], sizeof lines[next], "ulpscope: the time of --max-time %s is over: %s\n",
             limit, said);
    line = lines[next];
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
    watch_done("no file was left half written");
    const struct sigaction action = {.sa_handler = end_of_time, .sa_flags = SA_RESTART};
    const struct itimerval time = {
        .it_value = {(time_t)value, (suseconds_t)((value - (double)(time_t)value) * 1e6)}};
    return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &time, NULL) == 0;
}

int watch_time(int *argc, char **argv)
{
    static const char option[] = "--max-time";
    const size_t length = sizeof option - 1;
    terminal = isatty(STDERR_FILENO);
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
        "ulpscope: a file became shorter while it was read: the model, its external data, or "
        "a file of TMPDIR; run again when nobody writes them\n");
    _exit(ULP_ERROR_INPUT);
}

void watch_files(void)
{
    const struct sigaction action = {.sa_sigaction = end_of_file,
                                     .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGBUS, &action, NULL);
}
