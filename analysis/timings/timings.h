/* What the files of the timings share. */
#pragma once

#include <ulpscope/timings.h>

#include "base/memory/alloc.h"

/* What was collected of one node. */
struct ulp_timed_node {
    char *name, *op;
    size_t executions;
    double rest;    /* of no single lane */
    double fastest; /* of the executions, all lanes */
    double watched[ULP_TIMED_COUNT];
};

struct ulp_timer {
    double started, phase_started;
    enum ulp_timed phase;
    double phases[ULP_TIMED_COUNT];    /* of those that are over */
    const struct ulp_program *program; /* valid while its runs are observed */
    struct ulp_arena *memory;          /* of what follows; NULL: no run was observed */
    size_t node_count, lane_count;
    char **lane_names;
    struct ulp_timed_node *nodes;
    double *lanes; /* [node * lane_count + lane] */
    struct ulp_watch {
        struct ulp_timer *timer;
        enum ulp_timed timed;
        struct ulp_observer observer;
        double started;
    } watches[ULP_TIMED_COUNT];
};

/* An observer that hands everything to *observer, which is copied, and counts what that takes as
 * `timed`, behind ulp_timer_observer's in the run's list. At most one of each kind at a time; a
 * later one takes its place. */
struct ulp_observer ulp_timer_watch(struct ulp_timer *timer, enum ulp_timed timed,
                                    const struct ulp_observer *observer);
