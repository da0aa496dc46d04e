/* What a timer has collected, added up and ordered. */
#include <stdlib.h>
#include <string.h>

#include "analysis/timings/timings.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

/* Phases by the clock; what lanes and observers took is theirs, not the run's. */
static void read_phases(const struct ulp_timer *timer, struct ulp_timings *out)
{
    const double now = ulp_seconds_now();
    double taken = 0;
    memcpy(out->phases, timer->phases, sizeof out->phases);
    out->phases[timer->phase] += now - timer->phase_started;
    out->seconds = now - timer->started;
    for (size_t n = 0; n < timer->node_count; n++)
        for (int t = 0; t < ULP_TIMED_COUNT; t++) {
            out->phases[t] += timer->nodes[n].watched[t];
            taken += timer->nodes[n].watched[t];
        }
    for (size_t i = 0; i < timer->node_count * timer->lane_count; i++)
        taken += timer->lanes[i];
    double *running = &out->phases[ULP_TIMED_RUNNING];
    *running = *running > taken ? *running - taken : 0;
}

static int by_seconds(const void *a, const void *b)
{
    const struct ulp_time *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_operator(const void *a, const void *b)
{
    const struct ulp_time *x = a, *y = b;
    const int order = strcmp(x->op, y->op);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* The nodes that were computed, in order. */
static bool read_nodes(const struct ulp_timer *timer, struct ulp_arena *memory,
                       struct ulp_timings *out)
{
    for (size_t n = 0; n < timer->node_count; n++) {
        const struct ulp_timed_node *from = &timer->nodes[n];
        const double *lanes = &timer->lanes[n * timer->lane_count];
        struct ulp_time *to = &out->nodes[out->node_count];
        if (!from->executions)
            continue;
        *to = (struct ulp_time){.name = ulp_arena_copy(memory, from->name),
                                .op = ulp_arena_copy(memory, from->op),
                                .index = n,
                                .nodes = 1,
                                .executions = from->executions,
                                .seconds = from->rest,
                                .fastest = from->fastest * (double)from->executions,
                                .lanes = ulp_arena_take(memory, out->lane_count, sizeof *lanes),
                                .lane_count = out->lane_count,
                                .measuring = from->watched[ULP_TIMED_MEASURING],
                                .attributing = from->watched[ULP_TIMED_ATTRIBUTING]};
        if (!to->name || !to->op || !to->lanes)
            return false;
        memcpy(to->lanes, lanes, out->lane_count * sizeof *lanes);
        for (size_t l = 0; l < out->lane_count; l++) {
            to->seconds += lanes[l];
            out->lane_seconds[l] += lanes[l];
        }
        to->seconds += to->measuring + to->attributing;
        out->node_count++;
    }
    return true;
}

/* One row for each kind, of the nodes ordered by operator. */
static bool join_operators(struct ulp_arena *memory, struct ulp_timings *out)
{
    for (size_t n = 0; n < out->node_count; n++) {
        const struct ulp_time *node = &out->nodes[n];
        struct ulp_time *row = &out->operators[out->operator_count];
        if (n > 0 && strcmp(node->op, node[-1].op) == 0) {
            row--;
        } else {
            *row = (struct ulp_time){.op = node->op,
                                     .index = node->index,
                                     .lane_count = out->lane_count,
                                     .lanes = ulp_arena_take(memory, out->lane_count,
                                                             sizeof *row->lanes)};
            if (!row->lanes)
                return false;
            out->operator_count++;
        }
        row->nodes++;
        row->executions += node->executions;
        row->seconds += node->seconds;
        row->fastest += node->fastest;
        row->measuring += node->measuring;
        row->attributing += node->attributing;
        for (size_t l = 0; l < out->lane_count; l++)
            row->lanes[l] += node->lanes[l];
    }
    return true;
}

static bool read_plan(const struct ulp_timer *timer, struct ulp_arena *memory,
                      struct ulp_timings *out)
{
    const size_t room = timer->node_count + 1;
    out->lanes = ulp_arena_take(memory, timer->lane_count, sizeof *out->lanes);
    out->lane_seconds = ulp_arena_take(memory, timer->lane_count, sizeof *out->lane_seconds);
    out->nodes = ulp_arena_take(memory, room, sizeof *out->nodes);
    out->operators = ulp_arena_take(memory, room, sizeof *out->operators);
    if (!out->lanes || !out->lane_seconds || !out->nodes || !out->operators)
        return false;
    for (size_t l = 0; l < timer->lane_count; l++)
        if (!(out->lanes[l] = ulp_arena_copy(memory, timer->lane_names[l])))
            return false;
    out->lane_count = timer->lane_count;
    if (!read_nodes(timer, memory, out))
        return false;
    qsort(out->nodes, out->node_count, sizeof *out->nodes, by_operator);
    if (!join_operators(memory, out))
        return false;
    qsort(out->nodes, out->node_count, sizeof *out->nodes, by_seconds);
    qsort(out->operators, out->operator_count, sizeof *out->operators, by_seconds);
    return true;
}

enum ulp_status ulp_timings_read(struct ulp_timer *timer, struct ulp_timings *out,
                                 struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_arena *memory = NULL;
    *out = (struct ulp_timings){0};
    if (!timer)
        return ULP_OK;
    enum ulp_status status = ulp_arena_create(&memory, NULL, error);
    if (status == ULP_OK && timer->memory && !read_plan(timer, memory, out))
        status = ulp_out_of_memory(error);
    if (status != ULP_OK) {
        ulp_arena_free(memory);
        *out = (struct ulp_timings){0};
        return status;
    }
    read_phases(timer, out);
    out->memory = memory;
    return ULP_OK;
}

void ulp_timings_free(struct ulp_timings *timings)
{
    ulp_arena_free(timings->memory);
    *timings = (struct ulp_timings){0};
}
