/* The stopwatch: phases by the clock, nodes by the events of runs, observers by watching them. */
#include <stdlib.h>

#include "analysis/timings/timings.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "run/program/program.h"

const char *ulp_timed_name(enum ulp_timed timed)
{
    static const char *const names[ULP_TIMED_COUNT] = {
        [ULP_TIMED_OTHER] = "other",         [ULP_TIMED_LOADING] = "loading",
        [ULP_TIMED_PLANNING] = "planning",   [ULP_TIMED_RUNNING] = "running",
        [ULP_TIMED_MEASURING] = "measuring", [ULP_TIMED_ATTRIBUTING] = "attributing",
        [ULP_TIMED_ORIGINAL] = "original",   [ULP_TIMED_CERTIFYING] = "certifying",
        [ULP_TIMED_SCHEDULES] = "schedules", [ULP_TIMED_WRITING] = "writing"};
    return names[timed];
}

enum ulp_status ulp_timer_create(struct ulp_timer **out, struct ulp_error *error)
{
    *out = calloc(1, sizeof **out);
    ULP_TRY(ulp_taken(*out, error));
    ulp_timer_restart(*out);
    return ULP_OK;
}

void ulp_timer_free(struct ulp_timer *timer)
{
    if (!timer)
        return;
    ulp_arena_free(timer->memory);
    free(timer);
}

void ulp_timer_restart(struct ulp_timer *timer)
{
    if (!timer)
        return;
    ULP_ENTER_ENVIRONMENT;
    ulp_arena_free(timer->memory);
    *timer = (struct ulp_timer){.started = ulp_seconds_now()};
    timer->phase_started = timer->started;
}

void ulp_timer_phase(struct ulp_timer *timer, enum ulp_timed phase)
{
    if (!timer)
        return;
    ULP_ENTER_ENVIRONMENT;
    const double now = ulp_seconds_now();
    timer->phases[timer->phase] += now - timer->phase_started;
    timer->phase_started = now;
    timer->phase = phase;
}

static bool copy(struct ulp_arena *memory, const char *text, char **out)
{
    *out = ulp_arena_copy(memory, text);
    return *out;
}

/* Names are copied: programs are freed before their times are read. */
static bool make_room(struct ulp_timer *timer, const struct ulp_event *event)
{
    const size_t nodes = event->node_count, lanes = event->lane_count;
    timer->nodes = ulp_arena_take(timer->memory, nodes, sizeof *timer->nodes);
    timer->lanes = ulp_arena_take(timer->memory, nodes * lanes, sizeof *timer->lanes);
    timer->lane_names = ulp_arena_take(timer->memory, lanes, sizeof *timer->lane_names);
    if (!timer->nodes || !timer->lanes || !timer->lane_names)
        return false;
    for (size_t l = 0; l < lanes; l++)
        if (!copy(timer->memory, ulp_program_lane_name(timer->program, l), &timer->lane_names[l]))
            return false;
    for (size_t n = 0; n < nodes; n++)
        if (!copy(timer->memory, ulp_program_node_name(timer->program, n), &timer->nodes[n].name) ||
            !copy(timer->memory, ulp_program_node_op(timer->program, n), &timer->nodes[n].op))
            return false;
    timer->node_count = nodes;
    timer->lane_count = lanes;
    return true;
}

/* At the first event of a program's runs. */
static enum ulp_status prepare(struct ulp_timer *timer, const struct ulp_event *event,
                               struct ulp_error *error)
{
    if (timer->memory)
        return timer->node_count == event->node_count && timer->lane_count == event->lane_count
                   ? ULP_OK
                   : ulp_fail(error, ULP_ERROR_USAGE, "the timer has observed another plan");
    ULP_TRY(ulp_arena_create(&timer->memory, NULL, error));
    if (!make_room(timer, event)) {
        ulp_arena_free(timer->memory);
        timer->memory = NULL;
        return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

static enum ulp_status add_node(void *context, const struct ulp_event *event,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_timer *timer = context;
    ULP_TRY(prepare(timer, event, error));
    struct ulp_timed_node *node = &timer->nodes[event->index];
    double *lanes = &timer->lanes[event->index * timer->lane_count], sum = 0;
    node->executions++;
    for (size_t l = 0; l < event->lane_count; l++) {
        const struct ulp_lane_seconds *seconds = &event->lane_seconds[l];
        lanes[l] += seconds->own;
        lanes[0] += seconds->reference;
        sum += seconds->own + seconds->reference;
    }
    const double rest = event->seconds > sum ? event->seconds - sum : 0;
    node->rest += rest;
    if (node->executions == 1 || sum + rest < node->fastest)
        node->fastest = sum + rest;
    return ULP_OK;
}

struct ulp_observer ulp_timer_observer(struct ulp_timer *timer, const struct ulp_program *program)
{
    if (!timer)
        return (struct ulp_observer){0};
    timer->program = program;
    return (struct ulp_observer){.context = timer,
                                 .node_done = add_node,
                                 .values_unused = true,
                                 .modes_unused = true};
}

/* In the library's environment, apart from the observer, which is called in the host's. */
static void start_watch(struct ulp_watch *watch)
{
    ULP_ENTER_ENVIRONMENT;
    watch->started = ulp_seconds_now();
}

static void stop_watch(const struct ulp_watch *watch, size_t node)
{
    ULP_ENTER_ENVIRONMENT;
    if (watch->timer->memory)
        watch->timer->nodes[node].watched[watch->timed] += ulp_seconds_now() - watch->started;
}

static enum ulp_status watch_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct ulp_watch *watch = context;
    start_watch(watch);
    ULP_TRY(watch->observer.node_done(watch->observer.context, event, error));
    stop_watch(watch, event->index);
    return ULP_OK;
}

static bool ask_cancelled(void *context)
{
    const struct ulp_watch *watch = context;
    return watch->observer.cancelled(watch->observer.context);
}

struct ulp_observer ulp_timer_watch(struct ulp_timer *timer, enum ulp_timed timed,
                                    const struct ulp_observer *observer)
{
    if (!timer)
        return *observer;
    struct ulp_watch *watch = &timer->watches[timed];
    *watch = (struct ulp_watch){timer, timed, *observer, 0};
    return (struct ulp_observer){.context = watch,
                                 .node_done = observer->node_done ? watch_node : NULL,
                                 .cancelled = observer->cancelled ? ask_cancelled : NULL};
}
