/* The timings as tables, and where most of the time goes in a sentence. */
#include <ulpscope/timings.h>

#include <math.h>
#include <string.h>

#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/environment.h"

#define SLOWEST_SHOWN 10
#define OPERATORS_SHOWN 40

struct sheet {
    const struct ulp_timings *timings;
    struct ulp_text *out;
    double runs;
};

/* A phase, or a lane in all nodes. */
static void add_total(const struct sheet *sheet, const char *what, const char *name, double seconds,
                      double runs)
{
    char shown[ULP_SHOWN_BYTES];
    ULP_SCOPED(ulp_text_free) struct ulp_text label = {0};
    ulp_text_add(&label, "%s%s", what, name);
    ulp_text_add(sheet->out, "  %s %11.6f s %6.1f %%\n",
                 ulp_show(shown, sizeof shown, label.data ? label.data : "", 40, 40),
                 seconds / runs, 100 * seconds / sheet->timings->seconds);
    sheet->out->failed |= label.failed;
}

static void add_totals(const struct sheet *sheet)
{
    const struct ulp_timings *timings = sheet->timings;
    for (int t = ULP_TIMED_LOADING; t < ULP_TIMED_MEASURING; t++)
        if (timings->phases[t] > 0)
            add_total(sheet, ulp_timed_name(t), t == ULP_TIMED_RUNNING ? ", but for nodes" : "",
                      timings->phases[t], t == ULP_TIMED_RUNNING ? sheet->runs : 1);
    for (size_t l = 0; l < timings->lane_count; l++)
        add_total(sheet, l == 0 && timings->lane_count > 1 ? "reference " : "", timings->lanes[l],
                  timings->lane_seconds[l], sheet->runs);
    for (int t = ULP_TIMED_MEASURING; t < ULP_TIMED_COUNT; t++)
        if (timings->phases[t] > 0)
            add_total(sheet, ulp_timed_name(t), "", timings->phases[t], 1);
    add_total(sheet, ulp_timed_name(ULP_TIMED_OTHER), "", timings->phases[ULP_TIMED_OTHER], 1);
    add_total(sheet, "in all", "", timings->seconds, 1);
}

static double sum_arithmetics(const struct ulp_timings *timings, const struct ulp_time *time)
{
    double sum = 0;
    for (size_t l = 1; l < timings->lane_count; l++)
        sum += time->lanes[l];
    return sum;
}

static void add_row(const struct sheet *sheet, const char *label, const struct ulp_time *time)
{
    const struct ulp_timings *timings = sheet->timings;
    char shown[ULP_SHOWN_BYTES];
    ulp_text_add(sheet->out, "  %s", ulp_show(shown, sizeof shown, label, 30, 30));
    if (!time->name)
        ulp_text_add(sheet->out, " %6zu", time->nodes);
    else
        ulp_text_add(sheet->out, " %s", ulp_show(shown, sizeof shown, time->op, 18, 18));
    if (timings->lane_count > 1)
        ulp_text_add(sheet->out, " %11.6f %11.6f %11.6f", time->lanes[0] / sheet->runs,
                     sum_arithmetics(timings, time) / sheet->runs,
                     (time->measuring + time->attributing) / sheet->runs);
    ulp_text_add(sheet->out, " %11.6f s", time->seconds / sheet->runs);
    if (sheet->runs > 1)
        ulp_text_add(sheet->out, " %11.6f s", time->fastest / sheet->runs);
    ulp_text_add(sheet->out, "\n");
}

static void add_head(const struct sheet *sheet, const char *label, const char *second, int columns)
{
    ulp_text_add(sheet->out, "\n  %-30s %*s", label, columns - 1, second);
    if (sheet->timings->lane_count > 1)
        ulp_text_add(sheet->out, " %11s %11s %11s", "reference", "arithmetics", "observing");
    ulp_text_add(sheet->out, sheet->runs > 1 ? " %11s %13s\n" : " %11s\n", "in all", "fastest");
}

static void add_tables(const struct sheet *sheet)
{
    const struct ulp_timings *timings = sheet->timings;
    add_head(sheet, "operator", "nodes", 7);
    double rest = 0;
    for (size_t i = 0; i < timings->operator_count; i++)
        if (i < OPERATORS_SHOWN)
            add_row(sheet, timings->operators[i].op, &timings->operators[i]);
        else
            rest += timings->operators[i].seconds;
    if (timings->operator_count > OPERATORS_SHOWN)
        ulp_text_add(sheet->out, "  %zu others: %.6f s\n",
                     timings->operator_count - OPERATORS_SHOWN, rest / sheet->runs);
    add_head(sheet, "slowest nodes", "", 19);
    for (size_t i = 0; i < timings->node_count && i < SLOWEST_SHOWN; i++)
        add_row(sheet, timings->nodes[i].name, &timings->nodes[i]);
}

/* What can be given a name: an operator in a lane, or a phase. */
struct part {
    const struct ulp_time *kind; /* NULL: the phase */
    size_t lane;
    enum ulp_timed phase;
    double seconds;
};

static const char *const phase_words[ULP_TIMED_COUNT] = {
    [ULP_TIMED_OTHER] = "to other work",
    [ULP_TIMED_LOADING] = "to loading",
    [ULP_TIMED_PLANNING] = "to planning",
    [ULP_TIMED_RUNNING] = "to handing values on",
    [ULP_TIMED_MEASURING] = "to measuring errors",
    [ULP_TIMED_ATTRIBUTING] = "to shares (--no-attribute leaves them out)",
    [ULP_TIMED_ORIGINAL] = "to the reference model",
    [ULP_TIMED_CERTIFYING] = "to the certificate",
    [ULP_TIMED_SCHEDULES] = "to other schedules",
    [ULP_TIMED_WRITING] = "to writing"};

/* The largest part below the one before. */
static struct part find_next(const struct ulp_timings *timings, double below)
{
    struct part next = {0};
    for (int t = 0; t < ULP_TIMED_COUNT; t++)
        if (timings->phases[t] > next.seconds && timings->phases[t] < below)
            next = (struct part){.phase = t, .seconds = timings->phases[t]};
    for (size_t i = 0; i < timings->operator_count; i++)
        for (size_t l = 0; l < timings->lane_count; l++) {
            const double seconds = timings->operators[i].lanes[l];
            if (seconds > next.seconds && seconds < below)
                next = (struct part){.kind = &timings->operators[i], .lane = l, .seconds = seconds};
        }
    return next;
}

/* "41 % of the time goes to measuring errors, 22 % to Conv in the reference mpfr:128." */
static void add_sentence(const struct sheet *sheet)
{
    const struct ulp_timings *timings = sheet->timings;
    double below = INFINITY;
    for (int shown = 0; shown < 3; shown++) {
        const struct part part = find_next(timings, below);
        const double percent = 100 * part.seconds / timings->seconds;
        if (!(percent >= 0) || (shown > 0 && percent < 10))
            break;
        ulp_text_add(sheet->out, shown ? ", %.0f %% " : "\n%.0f %% of the time goes ", percent);
        if (part.kind)
            ulp_text_show(sheet->out, "to %s in %s%s", part.kind->op,
                          part.lane == 0 && timings->lane_count > 1 ? "the reference " : "",
                          timings->lanes[part.lane]);
        else
            ulp_text_add(sheet->out, "%s", phase_words[part.phase]);
        below = part.seconds;
    }
    ulp_text_add(sheet->out, ".\n");
}

enum ulp_status ulp_timings_text(const struct ulp_timings *timings, size_t runs, char **out,
                                 struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct sheet sheet = {timings, &text, runs > 0 ? (double)runs : 1};
    if (runs > 1)
        ulp_text_add(&text, "  times of nodes are means of %zu runs\n", runs);
    add_totals(&sheet);
    if (timings->operator_count)
        add_tables(&sheet);
    add_sentence(&sheet);
    return ulp_page_take(&text, ULP_OK, out, error);
}
