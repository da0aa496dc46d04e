#include "base/machine/resting.h"

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "base/tuning.h"

/* The process's number, which a fork changes, and in the lower half the count. */
static _Atomic uint64_t resting;

bool ulp_count_resting(int more)
{
    const uint64_t process = (uint64_t)getpid() << 32;
    uint64_t old = atomic_load(&resting), now;
    do {
        const int64_t count = old >> 32 == process >> 32 ? (int64_t)(old & UINT32_MAX) : 0;
        if (more > 0 && count > 0 && count + more > ULP_TUNE_RESTING_THREADS)
            return false;
        now = process | (uint64_t)(count + more);
    } while (!atomic_compare_exchange_weak(&resting, &old, now));
    return true;
}
