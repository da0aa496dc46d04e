/* Where the time of a command goes: per phase, per lane, per kind of operator, per node.
 *
 * A timer is for one thread at a time. Functions take NULL for a timer, too, and then do nothing:
 * who was not asked for times need not look. All times are seconds of the wall clock, whatever the
 * number of threads, and enter no other result. */
#ifndef ULPSCOPE_TIMINGS_H
#define ULPSCOPE_TIMINGS_H

#include <ulpscope/run.h>

/* What the time was spent on. */
enum ulp_timed {
    ULP_TIMED_OTHER,
    ULP_TIMED_LOADING,  /* the model, the samples */
    ULP_TIMED_PLANNING, /* ulp_program_create */
    /* ulp_program_run. In struct ulp_timings without what the lanes and observers took of it:
     * mostly handing on values, freeing them and telling observers */
    ULP_TIMED_RUNNING,
    ULP_TIMED_MEASURING,   /* the figures of errors (ulp_auditor_observer, ulp_auditor_follower) */
    ULP_TIMED_ATTRIBUTING, /* shares: keeping the values, and going back along the derivatives */
    ULP_TIMED_ORIGINAL,    /* the reference model */
    ULP_TIMED_CERTIFYING,  /* the reference's own error */
    ULP_TIMED_SCHEDULES,   /* other schedules of products */
    ULP_TIMED_WRITING,     /* reports */
    ULP_TIMED_COUNT
};
/* "loading"; as in report.json. Static storage. */
ULP_API const char *ulp_timed_name(enum ulp_timed timed);

struct ulp_timer;
/* A stopwatch that starts now, in phase ULP_TIMED_OTHER. Free with ulp_timer_free. */
ULP_API enum ulp_status ulp_timer_create(struct ulp_timer **out, struct ulp_error *error);
ULP_API void ulp_timer_free(struct ulp_timer *timer);
/* Forget everything, and start anew. */
ULP_API void ulp_timer_restart(struct ulp_timer *timer);
/* The phase ends; what follows is of this one. */
ULP_API void ulp_timer_phase(struct ulp_timer *timer, enum ulp_timed phase);
/* An observer for runs of the plan: what the nodes take. A restart must come before another
 * program's. */
ULP_API struct ulp_observer ulp_timer_observer(struct ulp_timer *timer,
                                               const struct ulp_program *program);
/* The times of one node, or of all nodes of one kind of operator. */
struct ulp_time {
    char *name; /* NULL: of all nodes of the kind */
    char *op;
    size_t index; /* of the node */
    size_t nodes; /* of the kind, that were computed */
    size_t executions;
    double seconds; /* in all: lanes, observers, and what is of no single lane */
    /* by lane. Lane 0 has all that is computed in the reference's arithmetic: R(r), and R(p) for
     * each other lane; these have P(p) and P(r) */
    double *lanes;
    size_t lane_count;
    /* as `seconds` if every execution of each node had taken no longer than its fastest: what other
     * work on the machine disturbs least; without observers */
    double fastest;
    double measuring, attributing; /* of watched observers */
};

struct ulp_timings {
    double seconds;                 /* since the timer's start */
    double phases[ULP_TIMED_COUNT]; /* [by ulp_timed] */
    size_t lane_count;
    char **lanes; /* names */
    /* of all nodes, as in struct ulp_time; with phases they add up to `seconds` [count lane_count]
     */
    double *lane_seconds;
    size_t operator_count, node_count;
    struct ulp_time *operators, *nodes; /* the longest first */
    void *memory;                       /* private: holds the rest */
};
/* The times so far; the timer goes on. NULL, or no run observed: only phases. Free with
 * ulp_timings_free. */
ULP_API enum ulp_status ulp_timings_read(struct ulp_timer *timer, struct ulp_timings *out,
                                         struct ulp_error *error);
ULP_API void ulp_timings_free(struct ulp_timings *timings);
/* Tables of phases and lanes, of kinds of operators and of the slowest nodes, and where most of the
 * time goes in a sentence. Figures of nodes and lanes are divided by runs (at least 1), the number
 * of runs of the program when the mean is asked for; of several the fastest is shown, too. *out is
 * freed with free(). */
ULP_API enum ulp_status ulp_timings_text(const struct ulp_timings *timings, size_t runs, char **out,
                                         struct ulp_error *error);

#endif
