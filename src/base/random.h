/* Counter-based random numbers (Philox 4x32-10; Salmon et al., "Parallel Random Numbers: As Easy as
 * 1, 2, 3", SC11): the value at (key, counter) is a pure function, so streams do not depend on
 * threads or on the order in which elements are visited. */
#ifndef ULP_BASE_RANDOM_H
#define ULP_BASE_RANDOM_H

#include <stdint.h>

/* Four words at (key, counter_low, counter_high). Known-answer tested against the paper's
 * vectors. */
void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* One 64-bit word, and one double uniform in [0, 1) with 53 bits, at that place. */
uint64_t ulp_random_bits(uint64_t key, uint64_t counter);
double ulp_random_uniform(uint64_t key, uint64_t counter);

/* splitmix64's bijective mixer (Steele, Lea, Flood, OOPSLA 2014): neighbours become keys that have
 * nothing to do with each other, and different ones stay different. */
static inline uint64_t ulp_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
