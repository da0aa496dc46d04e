/* Records of two limbs in batches of eight, for AVX-512, and of four, for AVX2: number i of every
 * vector is record i's. */
#pragma once

#include "number/mpfr_record.h"

#ifdef __x86_64__
#include <immintrin.h>

_Static_assert(GMP_NUMB_BITS == 64, "limbs of 64 bits");

/* Their exponents, kinds, lower and upper limbs. Two records a load: strided loads of single
 * numbers take several times as long as all that is done with them. */
static inline __attribute__((always_inline, target("avx512f"))) void ulp_records_load(
    __m512i fields[4], const void *records)
{
    const __m512i first = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13),
                  second = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    const char *from = records;
    const __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64),
                  c = _mm512_loadu_si512(from + 128), d = _mm512_loadu_si512(from + 192);
    const __m512i tops[2] = {_mm512_permutex2var_epi64(a, first, b),
                             _mm512_permutex2var_epi64(c, first, d)},
                  limbs[2] = {_mm512_permutex2var_epi64(a, second, b),
                              _mm512_permutex2var_epi64(c, second, d)};
    fields[0] = _mm512_shuffle_i64x2(tops[0], tops[1], 0x44);
    fields[1] = _mm512_shuffle_i64x2(tops[0], tops[1], 0xEE);
    fields[2] = _mm512_shuffle_i64x2(limbs[0], limbs[1], 0x44);
    fields[3] = _mm512_shuffle_i64x2(limbs[0], limbs[1], 0xEE);
}

/* The other way. */
static inline __attribute__((always_inline, target("avx512f"))) void ulp_records_store(
    void *records, const __m512i fields[4])
{
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                  back = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    for (int odd = 0; odd < 2; odd++) {
        const __m512i a = odd ? _mm512_unpackhi_epi64(fields[0], fields[1])
                              : _mm512_unpacklo_epi64(fields[0], fields[1]),
                      b = odd ? _mm512_unpackhi_epi64(fields[2], fields[3])
                              : _mm512_unpacklo_epi64(fields[2], fields[3]),
                      near = _mm512_permutex2var_epi64(a, front, b),
                      far = _mm512_permutex2var_epi64(a, back, b);
        char *to = (char *)records + 32 * odd;
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(near));
        _mm256_storeu_si256((__m256i *)(void *)(to + 64), _mm512_castsi512_si256(far));
        _mm256_storeu_si256((__m256i *)(void *)(to + 128), _mm512_extracti64x4_epi64(near, 1));
        _mm256_storeu_si256((__m256i *)(void *)(to + 192), _mm512_extracti64x4_epi64(far, 1));
    }
}

typedef int64_t ulp_four __attribute__((vector_size(32)));
#define ULP_FOUR static inline __attribute__((always_inline, target("avx2")))

ULP_FOUR ulp_four ulp_four_right(ulp_four x, int bits)
{
    return (ulp_four)_mm256_srli_epi64((__m256i)x, bits);
}

/* As ulp_records_load. */
ULP_FOUR void ulp_records_load_four(ulp_four fields[4], const void *records)
{
    const __m256i *from = records;
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1),
                  c = _mm256_loadu_si256(from + 2), d = _mm256_loadu_si256(from + 3);
    const __m256i even[2] = {_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d)},
                  odd[2] = {_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d)};
    fields[0] = (ulp_four)_mm256_permute2x128_si256(even[0], even[1], 0x20);
    fields[1] = (ulp_four)_mm256_permute2x128_si256(odd[0], odd[1], 0x20);
    fields[2] = (ulp_four)_mm256_permute2x128_si256(even[0], even[1], 0x31);
    fields[3] = (ulp_four)_mm256_permute2x128_si256(odd[0], odd[1], 0x31);
}

/* All bits of those that are zeros, and of those that are regular with |exponent| <= most. */
ULP_FOUR ulp_four ulp_four_zeros(const ulp_four fields[4])
{
    return (fields[1] == MPFR_ZERO_KIND) | (fields[1] == -MPFR_ZERO_KIND);
}
ULP_FOUR ulp_four ulp_four_regular(const ulp_four fields[4], int64_t most)
{
    return ((fields[1] == MPFR_REGULAR_KIND) | (fields[1] == -MPFR_REGULAR_KIND)) &
           (fields[0] >= -most) & (fields[0] <= most);
}
#endif
