/* Threads that rest between the runs of their owners, over all pools of the process. */
#pragma once

#include <stdbool.h>

/* Are so many more, or less, within ULP_TUNE_RESTING_THREADS, or alone? They are counted then. A
 * process that has forked begins with none. */
bool ulp_count_resting(int more);
