/* " 37%  sample 3 of 8  node 41 of 95  /layer/Conv  12 s left" on one line of the terminal. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/machine/clock.h"
#include "base/text/shown.h"
#include "cli/command.h"

#define SHOWN_EVERY_SECONDS 0.1
/* Before this the estimate of the time left is noise. */
#define ESTIMATE_AFTER_SECONDS 1.0
/* So much of a run tells how long it takes: the first layers of a network, not its first nodes. */
#define ESTIMATE_AFTER_SHARE 0.04
#define ESTIMATE_AFTER_RUN_SECONDS 0.3
#define SAID_FROM_SECONDS 10.0
#define SAID_FROM_SECONDS_UNSEEN 60.0

void progress_init(struct progress *progress, bool quiet, size_t part_count)
{
    const double now = ulp_seconds_now();
    *progress = (struct progress){.enabled = !quiet,
                                  .terminal = isatty(STDERR_FILENO),
                                  .part_count = part_count,
                                  .started = now,
                                  .run_started = now,
                                  .told = now};
}

/* "40 s", "12 min", "3.5 h" */
static const char *time_text(char *out, size_t size, double seconds)
{
    if (seconds < 100)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(out, size, "%.*f min", seconds < 600, seconds / 60);
    else
        snprintf(out, size, "%.1f h", seconds / 3600);
    return out;
}

/* Once, of the first run, `run` being what it takes. */
static void say_time(struct progress *progress, double run)
{
    char least[32], most[32];
    const double from = progress->terminal ? SAID_FROM_SECONDS : SAID_FROM_SECONDS_UNSEEN;
    time_text(least, sizeof least, progress->least * run);
    time_text(most, sizeof most, progress->most * run);
    if (progress->most > 0 && progress->most * run >= from) {
        progress_clear(progress);
        say(stderr, "ulpscope: all takes about %s%s%s\n", least,
            strcmp(least, most) == 0 ? "" : " to ", strcmp(least, most) == 0 ? "" : most);
    }
    progress->most = 0;
}

static void show_line(const struct progress *progress, const struct ulp_event *event, double share,
                      double left)
{
    char text[32] = "", name[161], sample[60] = "";
    if (left >= 0)
        time_text(text, sizeof text, left);
    if (progress->sample_count > 1)
        snprintf(sample, sizeof sample, "sample %zu of %zu  ", progress->sample,
                 progress->sample_count);
    say(stderr, "\r\033[K%3.0f%%  %snode %zu of %zu  %s%s%s%s", 100 * share, sample,
        event->index + 1, event->node_count,
        ulp_show(name, sizeof name, event->name, *sample ? 25 : 40, 0), *text ? "  " : "", text,
        *text ? " left" : "");
}

static enum ulp_status show(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct progress *progress = context;
    (void)error;
    if (!progress->enabled)
        return ULP_OK;
    const double now = ulp_seconds_now(), parts = (double)progress->part_count,
                 share = ((double)progress->part + event->progress) / parts;
    if (event->progress < progress->done) { /* another run */
        say_time(progress, progress->told - progress->run_started);
        progress->run_started = progress->told;
    }
    progress->told = now;
    progress->done = event->progress;
    const double spent = now - progress->run_started, run = spent + event->left;
    if (spent >= ESTIMATE_AFTER_RUN_SECONDS && spent >= ESTIMATE_AFTER_SHARE * run)
        say_time(progress, run);
    if (!progress->terminal || now - progress->shown < SHOWN_EVERY_SECONDS)
        return ULP_OK;
    progress->shown = now;
    show_line(progress, event, share,
              now - progress->started > ESTIMATE_AFTER_SECONDS
                  ? event->left + (parts - (double)progress->part - 1) * run
                  : -1);
    return ULP_OK;
}

/* From a GiB on. What is mapped of the model's files comes and goes as the machine likes. */
static void say_needs(void *context, double values, double all, double lacking, double runs,
                      double most)
{
    struct progress *progress = context;
    if (progress->foreseen)
        return;
    progress->foreseen = true;
    if (!(progress->most > 0) && runs > 0) {
        progress->least = runs;
        progress->most = most;
    }
    if (progress->enabled && all + lacking >= 0x1p30)
        say(stderr,
            "ulpscope: about %.1f GiB of memory beside the model's files (%.1f without shares)%s%s"
            "\n",
            all / 0x1p30, values / 0x1p30,
            lacking > 0
                ? "; shares may find no room: shorter inputs or fewer arithmetics at once need less"
                : "",
            lacking > 0 && progress->spills ? ", --attribute keeps values in a file" : "");
}

struct ulp_observer progress_observer(struct progress *progress)
{
    return (struct ulp_observer){.context = progress,
                                 .node_done = show,
                                 .needs = say_needs,
                                 .values_unused = true,
                                 .modes_unused = true};
}

void progress_part(void *context, size_t part, size_t part_count)
{
    struct progress *progress = context;
    progress->part = part;
    progress->part_count = part_count;
}

void progress_clear(struct progress *progress)
{
    if (progress->enabled && progress->terminal && progress->shown > 0)
        fputs("\r\033[K", stderr);
}
