/* Philox 4x32-10, written from the paper's definition. */
#include "base/random.h"

void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
    uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
    for (int round = 0; round < ULP_PHILOX_ROUNDS; round++) {
        ulp_philox_round(&c0, &c1, &c2, &c3, k0, k1);
        k0 += ULP_PHILOX_STEP0;
        k1 += ULP_PHILOX_STEP1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
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
