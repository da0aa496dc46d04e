/* --json FILE and --markdown FILE. Of "-" what the library writes goes through a pipe to the standard output that the
 * program was started with, whatever that is: a file, a socket. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

static const char *file, *markdown; /* NULL: not asked for */
static bool settled;     /* by the first command line (sandbox_wait) */
static struct {
    bool begun;
    int ends[2], output; /* the pipe's; where it leads */
    int code;            /* errno of the first failure; 0: none */
    pthread_t thread;
    char path[32]; /* by which the library opens the pipe */
} stream;

void take_json(void *options, char *text)
{
    (void)options;
    file = settled ? file : text;
}

void take_markdown(void *options, char *text)
{
    (void)options;
    markdown = settled ? markdown : text;
}

const char *markdown_file(void)
{
    return markdown;
}

const char *json_file(void)
{
    return file;
}

static void write_stream(const char *bytes, size_t count)
{
    while (count && !stream.code) {
        const ssize_t written = write(stream.output, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            stream.code = written < 0 ? errno : EIO;
            return;
        }
        bytes += written;
        count -= (size_t)written;
    }
}

/* Reads on after a failure: who writes into the pipe must not wait. */
static void *copy_stream(void *context)
{
    char bytes[4096];
    (void)context;
    for (ssize_t count; (count = read(stream.ends[0], bytes, sizeof bytes)) != 0;)
        if (count > 0)
            write_stream(bytes, (size_t)count);
        else if (errno != EINTR)
            return NULL;
    return NULL;
}

static bool is_stream(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

static int fail_to_stream(int code)
{
    say(stderr, "ulpscope: --%s -: cannot write to standard output: %s\n",
        file == stream.path || is_stream(file) ? "json" : "markdown", strerror(code));
    return ULP_ERROR_INPUT;
}

int begin_json(void)
{
    settled = true;
    if (is_stream(file) && is_stream(markdown))
        refuse("--json - and --markdown -: standard output can have one of them");
    if (!is_stream(file) && !is_stream(markdown))
        return ULP_OK;
    fflush(stdout);
    stream.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (stream.output < 0 || pipe(stream.ends) != 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fail_to_stream(errno);
    for (int e = 0; e < 2; e++)
        fcntl(stream.ends[e], F_SETFD, FD_CLOEXEC);
    snprintf(stream.path, sizeof stream.path, "/dev/fd/%d", stream.ends[1]);
    *(is_stream(file) ? &file : &markdown) = stream.path;
    stream.begun = pthread_create(&stream.thread, NULL, copy_stream, NULL) == 0;
    return stream.begun ? ULP_OK : fail_memory();
}

int end_json(int code)
{
    if (!stream.begun)
        return code;
    stream.begun = false;
    close(stream.ends[1]);
    pthread_join(stream.thread, NULL);
    return stream.code ? fail_to_stream(stream.code) : code;
}
