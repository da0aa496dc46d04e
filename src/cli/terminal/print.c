/* Printing names from foreign files without their control characters. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/shown.h"
#include "base/text/text.h"
#include "cli/command.h"

void say(FILE *stream, const char *format, ...)
{
    va_list list;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    va_start(list, format);
    ulp_text_show_list(&text, format, list);
    va_end(list);
    if (text.failed) { /* no memory is needed for the beginning of it */
        char beginning[1024];
        va_start(list, format);
        ulp_show_arguments(beginning, sizeof beginning, format, list);
        va_end(list);
        fputs(beginning, stream);
    } else {
        fputs(text.data, stream);
    }
}

void refuse(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    ulp_show_arguments(text, sizeof text, format, list);
    va_end(list);
    say(stderr, "ulpscope %s: ", command_in_use());
    fputs(text, stderr);
    say(stderr, "\nTry `ulpscope %s --help' for more information.\n", command_in_use());
    exit(ULP_ERROR_USAGE);
}

void refuse_memory(void)
{
    exit(fail_memory());
}

/* Output that is lost must not look like success, and a full disk may show when the last of it is
 * written. A closed stream is no error when nothing was to be written. */
static void close_stdout(void)
{
    const bool pending = __fpending(stdout) != 0, failed = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) == 0 ? !failed : !failed && !pending && errno == EBADF)
        return;
    say(stderr, "ulpscope: cannot write to standard output: %s\n",
        errno ? strerror(errno) : "what was written before is lost");
    _exit(ULP_ERROR_INPUT);
}

void open_streams(void)
{
    /* A closed descriptor would be the next file that is opened: messages would go into it. */
    for (int d = STDIN_FILENO; d <= STDERR_FILENO; d++)
        if (fcntl(d, F_GETFD) < 0 && open("/dev/null", d == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(ULP_ERROR_INPUT);
    if (atexit(close_stdout) != 0)
        _exit(ULP_ERROR_MEMORY);
}
