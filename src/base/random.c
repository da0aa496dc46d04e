/* Philox 4x32-10, written from the paper's definition. */
#include "base/random.h"

#include "base/machine/cpu.h"

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif

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

#if ULP_X86_VECTORS
/* Words are in the lower halves of lanes, where factors are taken from. */
__attribute__((target("avx512f"))) static void run_avx512(uint32_t out[4][ULP_PHILOX_BLOCK],
                                                          uint64_t key, uint64_t low, uint64_t high)
{
    enum { LANES = 8, VECTORS = ULP_PHILOX_BLOCK / LANES };
    const __m512i m0 = _mm512_set1_epi64(MULTIPLIER0), m1 = _mm512_set1_epi64(MULTIPLIER1);
    __m512i c[4][VECTORS];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int v = 0; v < VECTORS; v++) {
        c[0][v] = _mm512_add_epi64(_mm512_set1_epi64((long long)(low + (uint64_t)(LANES * v))),
                                   _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
        c[1][v] = _mm512_srli_epi64(c[0][v], 32);
        c[2][v] = _mm512_set1_epi64((long long)high);
        c[3][v] = _mm512_srli_epi64(c[2][v], 32);
    }
    for (int round = 0; round < ROUNDS; round++, k0 += STEP0, k1 += STEP1)
        for (int v = 0; v < VECTORS; v++) {
            const __m512i a = _mm512_mul_epu32(c[0][v], m0), b = _mm512_mul_epu32(c[2][v], m1);
            c[0][v] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(b, 32), c[1][v]),
                                       _mm512_set1_epi64(k0));
            c[1][v] = b;
            c[2][v] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(a, 32), c[3][v]),
                                       _mm512_set1_epi64(k1));
            c[3][v] = a;
        }
    for (int w = 0; w < 4; w++)
        for (int v = 0; v < VECTORS; v++)
            _mm256_storeu_si256((__m256i *)(void *)(out[w] + LANES * v),
                                _mm512_cvtepi64_epi32(c[w][v]));
}
#endif

void ulp_philox_block(uint32_t out[4][ULP_PHILOX_BLOCK], uint64_t key, uint64_t counter_low,
                      uint64_t counter_high)
{
#if ULP_X86_VECTORS
    if (ulp_cpu_features() & ULP_CPU_AVX512) {
        run_avx512(out, key, counter_low, counter_high);
        return;
    }
#endif
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
