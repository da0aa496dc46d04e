/* Records of two limbs in batches of eight, for AVX-512: number i of every vector is record i's. */
#ifndef ULP_NUMBER_RECORD_BATCH_H
#define ULP_NUMBER_RECORD_BATCH_H

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
#endif

#endif
