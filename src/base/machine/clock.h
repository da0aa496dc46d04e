/* The wall clock, for measured and estimated times. It never enters a result. */
#pragma once

#include <time.h>

/* Of the processors, by all threads of the process. */
static inline double ulp_seconds_computed(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
/* Seconds since some fixed moment; it never runs backwards. */
static inline double ulp_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
