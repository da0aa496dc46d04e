/* Counter-based random numbers (Philox 4x32-10; Salmon et al., "Parallel Random Numbers: As Easy as
 * 1, 2, 3", SC11): the value at (key, counter) is a pure function, so streams do not depend on
 * threads or on the order in which elements are visited. */
#pragma once

#include <stdint.h>

/* Four words at (key, counter_low, counter_high). Known-answer tested against the paper's
 * vectors. */
void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* out[w][i]: word w of the counter i further on. */
#define ULP_PHILOX_BLOCK 16
void ulp_philox_block(uint32_t out[4][ULP_PHILOX_BLOCK], uint64_t key, uint64_t counter_low,
                      uint64_t counter_high);

/* Doubles uniform in [0, 1) with 53 bits, two from each counter from counter_low on: of the words
 * 0 and 1, then of 2 and 3. To be expanded in functions of an instruction set. */
#define ULP_DRAW_BLOCK (2 * ULP_PHILOX_BLOCK)
static inline __attribute__((always_inline)) void ulp_draw_block(double out[ULP_DRAW_BLOCK],
                                                                 uint64_t key, uint64_t counter_low,
                                                                 uint64_t counter_high)
{
    uint32_t c[4][ULP_PHILOX_BLOCK];
    ulp_philox_block(c, key, counter_low, counter_high);
    /* signed conversions have instructions everywhere: the upper word less 2^31, exact. Unrolled
     * whole, the loop would become scalar code. */
    for (int half = 0; half < 4; half += 2)
        _Pragma("GCC unroll 1") for (int i = 0; i < ULP_PHILOX_BLOCK; i++) out[2 * i + half / 2] =
            ((double)(int32_t)(c[half][i] ^ 0x80000000u) + 0x1p31) * 0x1p-32 +
            (double)(int32_t)(c[half + 1][i] >> 11) * 0x1p-53;
}

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
