/* --metric: a task's own figure, by a script that reads outputs from a file and prints a number. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sandbox/sandbox.h"

#define PLACE "{outputs}"

extern char **environ;

static void check_metric(const struct score_options *options)
{
    const char *at = options->metric ? strstr(options->metric, PLACE) : NULL;
    if (!options->metric)
        return;
    if (!at || strstr(at + 1, PLACE))
        refuse("--metric %s: expected a command with " PLACE " once, the place of the file that "
               "it reads, as 'python score.py " PLACE "'",
               options->metric);
    if (sandbox_is_asked())
        refuse("--metric runs a command of yours, which --sandbox does not allow: leave out one of "
               "them");
}

/* A name without characters that a shell reads otherwise stands as it is, also between quotes of
 * the command's own; others get quotes. */
static enum ulp_status write_command(const char *metric, const char *file, struct ulp_text *out,
                                     struct ulp_error *error)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";
    const char *at = strstr(metric, PLACE), *quote = file[strspn(file, plain)] ? "'" : "";
    if (strpbrk(file, "'\"\\$`"))
        return ulp_fail(error, ULP_ERROR_USAGE, "--metric: TMPDIR has one of '\"\\$` in it");
    ulp_text_add(out, "%.*s%s%s%s%s", (int)(at - metric), metric, quote, file, quote,
                 at + strlen(PLACE));
    return out->failed ? out_of_memory(error) : ULP_OK;
}

/* A shell in a group of its own, so that whatever it starts ends with this program, too. */
static bool start(const char *command, FILE **out, pid_t *group)
{
    int ends[2];
    const char *const words[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    errno = posix_spawn(group, "/bin/sh", &actions, &attributes, (char *const *)(uintptr_t)words,
                        environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    *out = errno == 0 ? fdopen(ends[0], "r") : NULL;
    if (!*out)
        close(ends[0]);
    return *out != NULL;
}

static enum ulp_status read_number_of(const char *metric, FILE *pipe, pid_t group, double *out,
                                      struct ulp_error *error)
{
    int code = 0;
    char text[256], *end = text;
    const size_t length = fread(text, 1, sizeof text - 1, pipe);
    text[length] = '\0';
    const bool endless = length + 1 == sizeof text; /* no number: what is left is not waited for */
    if (endless)
        kill(-group, SIGKILL);
    fclose(pipe);
    while (waitpid(group, &code, 0) < 0 && errno == EINTR)
        ;
    if (code != 0 && !endless)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "--metric: '%s' ended with %s %d; run it by itself on an .npz of "
                        "ulpscope run -o",
                        metric, WIFEXITED(code) ? "exit code" : "signal",
                        WIFEXITED(code) ? WEXITSTATUS(code) : WTERMSIG(code));
    *out = strtod(text, &end);
    const bool none = end == text;
    end += strspn(end, " \n\r\t");
    return !none && end == text + length && !endless
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "--metric: '%s' printed \"%.60s\": expected one number, larger "
                          "being better, and nothing else",
                          metric, text);
}

/* Files of this thread get their names when the command is over; this one is read at once. */
struct writing {
    const char *path;
    const struct ulp_tensor_set *outputs;
    enum ulp_status status;
    struct ulp_error error;
};

static void *write_apart(void *context)
{
    struct writing *writing = context;
    writing->status = ulp_tensor_set_write_npz(writing->path, writing->outputs, &writing->error);
    return NULL;
}

static enum ulp_status write_now(const char *path, const struct ulp_tensor_set *outputs,
                                 struct ulp_error *error)
{
    struct writing writing = {.path = path, .outputs = outputs};
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_apart, &writing) != 0)
        return out_of_memory(error);
    pthread_join(thread, NULL);
    if (writing.status != ULP_OK)
        *error = writing.error;
    return writing.status;
}

static enum ulp_status score_outputs(void *context, const struct ulp_tensor_set *outputs,
                                     double *out, struct ulp_error *error)
{
    const struct score_options *options = context;
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    ULP_SCOPED(ulp_text_free) struct ulp_text file = {0}, command = {0};
    ulp_text_add(&file, "%s/ulpscope-XXXXXX.npz", folder);
    if (file.failed)
        return out_of_memory(error);
    const int descriptor = mkstemps(file.data, 4);
    if (descriptor < 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: cannot write: %s", file.data, strerror(errno));
    close(descriptor);
    watch_passing(file.data, 0);
    enum ulp_status status = write_now(file.data, outputs, error);
    ULP_THEN(status, write_command(options->metric, file.data, &command, error));
    fflush(NULL);
    FILE *pipe = NULL;
    pid_t group = 0;
    if (status == ULP_OK && !start(command.data, &pipe, &group))
        status =
            ulp_fail(error, ULP_ERROR_INPUT, "--metric: cannot start a shell: %s", strerror(errno));
    if (pipe) {
        watch_passing(file.data, group);
        status = read_number_of(options->metric, pipe, group, out, error);
    }
    watch_passing(NULL, 0);
    unlink(file.data);
    return status;
}

struct ulp_scorer make_scorer(const struct score_options *options)
{
    check_metric(options);
    if (options->metric) /* so that watch.c finds what the command leaves behind */
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return (struct ulp_scorer){.score = score_outputs,
                               .context = (void *)(uintptr_t)options,
                               .loss = options->loss};
}

enum ulp_status say_scores(const struct score_options *options, const struct ulp_audit *audit,
                           struct ulp_error *error)
{
    bool met = true;
    for (size_t l = 0; l < audit->lane_count && options->metric; l++) {
        const struct ulp_audit_score *score = &audit->lanes[l].score;
        const bool fine = score->lost <= score->allowed;
        met &= fine;
        say_wrapped(
            2,
            "%s: %s by --metric: %g, the reference %g (means of %zu sample%s); at most %g less in "
            "one, of %g that may be",
            audit->lanes[l].name, fine ? "fine" : "broken", score->mean, score->reference,
            score->sample_count, score->sample_count == 1 ? "" : "s",
            score->lost > 0 ? score->lost : 0.0, score->allowed);
    }
    return judge(met, error);
}
