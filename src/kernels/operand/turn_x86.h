/* 16 x 16 elements of 32 bits, transposed in registers. */
#pragma once

#include <immintrin.h>

/* Rows and columns of r exchanged: pairs of 32 bits, then of 64, then of 128-bit quarters by two
 * steps. */
__attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl"), always_inline)) static inline void
ulp_turn_avx512(__m512i r[16])
{
    __m512i t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    /* Quarter q of r[4 g + c] is now column 4 q + c of rows 4 g .. 4 g + 3. */
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        t[c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x44);
        t[4 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x44);
        t[8 + c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xEE);
        t[12 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xEE);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        r[c] = _mm512_shuffle_i32x4(t[c], t[4 + c], 0x88);
        r[4 + c] = _mm512_shuffle_i32x4(t[c], t[4 + c], 0xDD);
        r[8 + c] = _mm512_shuffle_i32x4(t[8 + c], t[12 + c], 0x88);
        r[12 + c] = _mm512_shuffle_i32x4(t[8 + c], t[12 + c], 0xDD);
    }
}
