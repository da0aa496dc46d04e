/* The wall clock, for measured and estimated times. It never enters a result. */
#pragma once

#include <time.h>

/* Seconds since some fixed moment; it never runs backwards. */
static inline double ulp_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
