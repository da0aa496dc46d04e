/* Philox 4x32-10, written from the paper's definition. */
#include "base/random.h"

/* Of the paper's 4x32-10: rounds, what they multiply words 0 and 2 by, what the halves of the key
 * grow by. */
#define ROUNDS 10
#define MULTIPLIER0 UINT64_C(0xD2511F53)
#define MULTIPLIER1 UINT64_C(0xCD9E8D57)
#define STEP0 0x9E3779B9u
#define STEP1 0xBB67AE85u

/* The words of `count` counters. */
static inline __attribute__((always_inline)) void run_rounds(uint32_t *c0, uint32_t *c1,
                                                             uint32_t *c2, uint32_t *c3,
                                                             uint64_t key, uint64_t low,
                                                             uint64_t high, const int count)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < count; i++) {
        c0[i] = (uint32_t)(low + (uint64_t)i);
        c1[i] = (uint32_t)((low + (uint64_t)i) >> 32);
        c2[i] = (uint32_t)high;
        c3[i] = (uint32_t)(high >> 32);
    }
    for (int round = 0; round < ROUNDS; round++, k0 += STEP0, k1 += STEP1)
        /* unrolled whole, the loop would become scalar code */
        _Pragma("GCC unroll 1") for (int i = 0; i < count; i++)
        {
            const uint64_t a = MULTIPLIER0 * c0[i], b = MULTIPLIER1 * c2[i];
            c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)b;
            c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)a;
        }
}

void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    run_rounds(&out[0], &out[1], &out[2], &out[3], key, counter_low, counter_high, 1);
}

void ulp_philox_block(uint32_t out[4][ULP_PHILOX_BLOCK], uint64_t key, uint64_t counter_low,
                      uint64_t counter_high)
{
    run_rounds(out[0], out[1], out[2], out[3], key, counter_low, counter_high, ULP_PHILOX_BLOCK);
}

uint64_t ulp_random_bits(uint64_t key, uint64_t counter)
{
    uint32_t word[4];
    ulp_philox(word, key, counter, 0);
    return (uint64_t)word[1] << 32 | word[0];
}

double ulp_random_uniform(uint64_t key, uint64_t counter)
{
    return (double)(ulp_random_bits(key, counter) >> 11) * 0x1p-53;
}
