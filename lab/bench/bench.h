/* What the benchmarks share: the clock and how often a thing is measured.
 *
 *   struct bench_timer timer = {.run_max = 20, .seconds = 0.5};
 *   while (bench_next(&timer))
 *       the thing;
 *   timer.best or timer.total / timer.run_count: seconds of one
 *
 * Seconds are this process's on a processor, so that other processes do not count, or by the wall
 * when it has several threads. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_timer {
    int run_min, run_max;
    double seconds; /* no further run (after run_min) when these are used; 0: no limit */
    /* things shorter than this are timed several together after the first; one such batch is a
     * run */
    double batch_seconds;
    bool wall;

    int run_count;
    double best, total;
    int batch, batch_done; /* things in this run, and how many of them are done */
    double start;
};

static inline double bench_now(const struct bench_timer *timer)
{
    struct timespec time;
    clock_gettime(timer->wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline bool bench_next(struct bench_timer *timer)
{
    if (timer->batch && ++timer->batch_done < timer->batch)
        return true;
    if (timer->batch) {
        const double run = bench_now(timer) - timer->start, one = run / timer->batch;
        timer->total += run;
        timer->best = timer->run_count++ && timer->best < one ? timer->best : one;
    }
    if (timer->run_count >= timer->run_max ||
        (timer->seconds > 0 && timer->total >= timer->seconds &&
         timer->run_count >= timer->run_min))
        return false;
    timer->batch = timer->run_count && timer->best < timer->batch_seconds
                       ? (int)(timer->batch_seconds / (timer->best + 1e-7)) + 1
                       : 1;
    timer->batch_done = 0;
    timer->start = bench_now(timer);
    return true;
}

__attribute__((noreturn)) static inline void bench_stop(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}
