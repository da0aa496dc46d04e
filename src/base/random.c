/* Philox 4x32-10, written from the paper's definition. */
#include "base/random.h"

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

void ulp_philox(uint32_t out[4], uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
    uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
    for (int round = 0; round < 10; round++) {
        uint32_t high0, low0, high1, low1;
        multiply(0xD2511F53u, c0, &high0, &low0);
        multiply(0xCD9E8D57u, c2, &high1, &low1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
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
