/* A run of this program as a child process, its output read as it comes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/mcp/mcp.h"

#define TEXT_BYTES ((size_t)256 << 10) /* of each stream: more than an agent reads */

struct stream {
    int descriptor;
    char *text;
    size_t used;
    bool cut;
};

/* The rest is read and dropped, so that the child does not wait for ever. False: it has ended. */
static bool take_output(struct stream *stream)
{
    char dropped[4096];
    const size_t left = TEXT_BYTES - stream->used;
    const ssize_t count = read(stream->descriptor, left ? stream->text + stream->used : dropped,
                               left ? left : sizeof dropped);
    if (count > 0 && left)
        stream->used += (size_t)count;
    return count > 0 || (count < 0 && errno == EINTR);
}

static void take_both(struct stream streams[2])
{
    struct pollfd waits[2] = {{streams[0].descriptor, POLLIN, 0},
                              {streams[1].descriptor, POLLIN, 0}};
    while (waits[0].fd >= 0 || waits[1].fd >= 0) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < 2; i++)
            if (waits[i].fd >= 0 && waits[i].revents && !take_output(&streams[i]))
                waits[i].fd = -1;
    }
}

/* A text that was cut ends with its last whole line. */
static void end_text(struct stream *stream)
{
    while (stream->used == TEXT_BYTES || (stream->used > TEXT_BYTES / 2 && stream->cut &&
                                          stream->text[stream->used - 1] != '\n')) {
        stream->cut = true;
        stream->used--;
    }
    stream->text[stream->used] = '\0';
}

static _Noreturn void become(char *const *words, const char *folder, int out, int err)
{
    const int none = open("/dev/null", O_RDONLY);
    if (none >= 0 && dup2(none, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0 && chdir(folder) == 0)
        execv("/proc/self/exe", words);
    _exit(127);
}

enum ulp_status mcp_run(char *const *words, const char *folder, struct mcp_run *run,
                        struct ulp_error *error)
{
    int pipes[4] = {-1, -1, -1, -1}, status = 0;
    struct stream streams[2] = {{.text = malloc(TEXT_BYTES + 1)}, {.text = malloc(TEXT_BYTES + 1)}};
    pid_t child = -1;
    *run = (struct mcp_run){.code = -1, .out = streams[0].text, .err = streams[1].text};
    if (streams[0].text && streams[1].text && pipe2(pipes, O_CLOEXEC) == 0 &&
        pipe2(pipes + 2, O_CLOEXEC) == 0)
        child = fork();
    if (child == 0)
        become(words, folder, pipes[1], pipes[3]);
    const int code = errno;
    for (size_t i = 1; i < 4; i += 2)
        if (pipes[i] >= 0)
            close(pipes[i]);
    if (child > 0) {
        streams[0].descriptor = pipes[0];
        streams[1].descriptor = pipes[2];
        take_both(streams);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        run->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        end_text(&streams[0]);
        end_text(&streams[1]);
    }
    for (size_t i = 0; i < 4; i += 2)
        if (pipes[i] >= 0)
            close(pipes[i]);
    if (child > 0 && run->code != 127)
        return ULP_OK;
    mcp_run_free(run);
    return ulp_fail(error, ULP_ERROR_MEMORY, "the command cannot be started: %s", strerror(code));
}

void mcp_run_free(struct mcp_run *run)
{
    free(run->out);
    free(run->err);
    *run = (struct mcp_run){0};
}
