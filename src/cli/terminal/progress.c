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

void progress_init(struct progress *progress, bool quiet, size_t part_count)
{
    *progress = (struct progress){.enabled = !quiet && isatty(STDERR_FILENO),
                                  .part_count = part_count,
                                  .started = ulp_seconds_now()};
}

static enum ulp_status show(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct progress *progress = context;
    (void)error;
    if (!progress->enabled)
        return ULP_OK;
    double now = ulp_seconds_now();
    if (now - progress->shown < SHOWN_EVERY_SECONDS)
        return ULP_OK;
    progress->shown = now;
    double done = ((double)progress->part + event->progress) / (double)progress->part_count,
           spent = now - progress->started;
    char left[32] = "", name[161], sample[60] = "";
    if (spent > ESTIMATE_AFTER_SECONDS && done > 0.005) {
        double seconds = spent / done * (1 - done);
        if (seconds < 100)
            snprintf(left, sizeof left, "  %.0f s left", seconds);
        else
            snprintf(left, sizeof left, "  %.0f min left", seconds / 60);
    }
    if (progress->sample_count > 1)
        snprintf(sample, sizeof sample, "sample %zu of %zu  ", progress->sample,
                 progress->sample_count);
    say(stderr, "\r\033[K%3.0f%%  %snode %zu of %zu  %s%s", 100 * done, sample, event->index + 1,
        event->node_count, ulp_show(name, sizeof name, event->name, *sample ? 25 : 40, 0), left);
    return ULP_OK;
}

struct ulp_observer progress_observer(struct progress *progress)
{
    return (struct ulp_observer){.context = progress,
                                 .node_done = show,
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
    if (progress->enabled && progress->shown > 0)
        fputs("\r\033[K", stderr);
}
