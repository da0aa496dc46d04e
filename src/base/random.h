/* Counter-based random numbers (Philox 4x32-10; Salmon et al., "Parallel Random Numbers: As Easy as
 * 1, 2, 3", SC11): the value at (key, counter) is a pure function, so streams do not depend on
 * threads or on the order in which elements are visited. */
#ifndef ULP_BASE_RANDOM_H
#define ULP_BASE_RANDOM_H

#include <stdint.h>

/* Four words at (key, counter_low, counter_high). Known-answer tested against the paper's
 * vectors. */
void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* A round of Philox on a counter, with the round's key. */
static inline __attribute__((always_inline)) void ulp_philox_round(uint32_t *c0, uint32_t *c1,
                                                                   uint32_t *c2, uint32_t *c3,
                                                                   uint32_t k0, uint32_t k1)
{
    const uint64_t a = UINT64_C(0xD2511F53) * *c0, b = UINT64_C(0xCD9E8D57) * *c2;
    *c0 = (uint32_t)(b >> 32) ^ *c1 ^ k0;
    *c1 = (uint32_t)b;
    *c2 = (uint32_t)(a >> 32) ^ *c3 ^ k1;
    *c3 = (uint32_t)a;
}
#define ULP_PHILOX_ROUNDS 10
#define ULP_PHILOX_STEP0 0x9E3779B9u
#define ULP_PHILOX_STEP1 0xBB67AE85u

/* Doubles uniform in [0, 1) with 53 bits, two from each counter from counter_low on: of the words
 * 0 and 1, then of 2 and 3. To be expanded in functions of an instruction set. */
#define ULP_DRAW_BLOCK 32
static inline __attribute__((always_inline)) void ulp_draw_block(double out[ULP_DRAW_BLOCK],
                                                                 uint64_t key, uint64_t counter_low,
                                                                 uint64_t counter_high)
{
    enum { COUNTERS = ULP_DRAW_BLOCK / 2 };
    uint32_t c[4][COUNTERS], k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < COUNTERS; i++) {
        c[0][i] = (uint32_t)(counter_low + (uint64_t)i);
        c[1][i] = (uint32_t)((counter_low + (uint64_t)i) >> 32);
        c[2][i] = (uint32_t)counter_high;
        c[3][i] = (uint32_t)(counter_high >> 32);
    }
    for (int round = 0; round < ULP_PHILOX_ROUNDS; round++) {
        for (int i = 0; i < COUNTERS; i++)
            ulp_philox_round(&c[0][i], &c[1][i], &c[2][i], &c[3][i], k0, k1);
        k0 += ULP_PHILOX_STEP0;
        k1 += ULP_PHILOX_STEP1;
    }
    /* signed conversions have instructions everywhere: the upper word less 2^31, exact */
    for (int half = 0; half < 4; half += 2)
        for (int i = 0; i < COUNTERS; i++)
            out[2 * i + half / 2] =
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

#endif
