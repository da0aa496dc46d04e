/* A lock for a few hundred instructions. */
#pragma once

#include <sched.h>
#include <stdatomic.h>

/* 0: open. A word: RISC-V exchanges nothing smaller without libatomic. */
typedef _Atomic unsigned ulp_spin;

static inline void ulp_spin_lock(ulp_spin *spin)
{
    while (atomic_exchange_explicit(spin, 1, memory_order_acquire))
        sched_yield();
}

static inline void ulp_spin_unlock(ulp_spin *spin)
{
    atomic_store_explicit(spin, 0, memory_order_release);
}
