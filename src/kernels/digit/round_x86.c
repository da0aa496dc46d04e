/* ulp_wide_round for eight columns at a time, in AVX-512: precisions of whole limbs, to nearest
 * even. */
#include "kernels/digit/digit_tile.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "number/mpfr_record.h"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Zero bits on top; x is not 0. Without the bits that follow a set one, x does not round up to the
 * next power of two. */
INLINE __m512i count_leading_zeros(__m512i x)
{
    const __m512d d = _mm512_cvtepu64_pd(_mm512_andnot_si512(_mm512_srli_epi64(x, 1), x));
    return _mm512_sub_epi64(_mm512_set1_epi64(1086), _mm512_srli_epi64(_mm512_castpd_si512(d), 52));
}

/* (high, low) << shift, the upper half; counts of 64 give 0. */
INLINE __m512i shift_pair(__m512i high, __m512i low, __m512i shift)
{
    const __m512i back = _mm512_sub_epi64(_mm512_set1_epi64(64), shift);
    return _mm512_or_si512(_mm512_sllv_epi64(high, shift), _mm512_srlv_epi64(low, back));
}

/* The lanes whose 64 bits after the kept ones decide the rounding: `is_decided` of
 * exact/exact_round.c. scale: how many bits the last of these lies above the sum's last. A tie is
 * none of these. */
INLINE __mmask8 find_decided(__m512i after, __m512i scale, uint64_t error)
{
    const __m512i half = _mm512_set1_epi64(INT64_MIN), zero = _mm512_setzero_si512();
    if (error == 0)
        return _mm512_cmpneq_epi64_mask(after, half);
    /* shifts by more than 63, as negative ones are when unsigned, give 0 */
    const __m512i all = _mm512_set1_epi64((long long)error), back = _mm512_sub_epi64(zero, scale);
    const __m512i scaled =
        _mm512_or_si512(_mm512_srlv_epi64(all, scale), _mm512_sllv_epi64(all, back));
    const __m512i bound = _mm512_add_epi64(scaled, _mm512_set1_epi64(2));
    const __mmask8 fits = _mm512_cmplt_epi64_mask(back, _mm512_set1_epi64(__builtin_clzll(error)));
    const __mmask8 above = _mm512_cmpgt_epu64_mask(after, half);
    const __m512i distance =
        _mm512_mask_sub_epi64(_mm512_sub_epi64(half, after), above, after, half);
    return fits & _mm512_cmplt_epu64_mask(bound, _mm512_set1_epi64(INT64_MAX / 2)) &
           _mm512_cmpgt_epu64_mask(distance, bound);
}

/* kept: limbs of the result. */
INLINE unsigned round_lanes(const struct ulp_wide_rounding *r, size_t column, unsigned wanted,
                            const int kept)
{
    const size_t count = r->limb_count;
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi64(1);
    __m512i x[ULP_WIDE_ROUND_LIMBS_MAX + 6], y[6];
    const __m512i top = _mm512_loadu_si512(r->limbs + (count - 1) * r->columns + column);
    const __mmask8 negative = _mm512_movepi64_mask(top);
    const __m512i flip = _mm512_movm_epi64(negative);
    __mmask8 carry = negative;
    /* x[i + 6] is limb i of the magnitude; zeros below */
    for (int i = 0; i < 6; i++)
        x[i] = zero;
    for (size_t i = 0; i < count; i++) {
        const __m512i limb =
            _mm512_xor_si512(_mm512_loadu_si512(r->limbs + i * r->columns + column), flip);
        x[i + 6] = _mm512_mask_add_epi64(limb, carry, limb, one);
        carry &= _mm512_cmpeq_epi64_mask(x[i + 6], zero);
    }
    /* y[j]: limb j from the top one that is not 0, if that is among the first three */
    const __m512i *first = x + count + 5;
    const __mmask8 second = _mm512_cmpeq_epi64_mask(first[0], zero),
                   third = second & _mm512_cmpeq_epi64_mask(first[-1], zero);
#pragma GCC unroll 6
    for (int j = 0; j < kept + 2; j++)
        y[j] = _mm512_mask_mov_epi64(_mm512_mask_mov_epi64(first[-j], second, first[-j - 1]), third,
                                     first[-j - 2]);
    __mmask8 done = (__mmask8)wanted & _mm512_cmpneq_epi64_mask(y[0], zero);
    const __m512i shift = count_leading_zeros(y[0]);
    /* bits of the magnitude */
    __m512i bits = _mm512_set1_epi64(64 * (long long)count);
    bits = _mm512_mask_sub_epi64(bits, second, bits, _mm512_set1_epi64(64));
    bits = _mm512_mask_sub_epi64(bits, third, bits, _mm512_set1_epi64(64));
    bits = _mm512_sub_epi64(bits, shift);
#pragma GCC unroll 6
    for (int j = 0; j < kept + 1; j++)
        y[j] = shift_pair(y[j], y[j + 1], shift);
    done &=
        find_decided(y[kept], _mm512_sub_epi64(bits, _mm512_set1_epi64(64 * (kept + 1))), r->error);
    carry = _mm512_movepi64_mask(y[kept]);
#pragma GCC unroll 6
    for (int j = kept - 1; j >= 0; j--) {
        y[j] = _mm512_mask_add_epi64(y[j], carry, y[j], one);
        carry &= _mm512_cmpeq_epi64_mask(y[j], zero);
    }
    y[0] = _mm512_mask_mov_epi64(y[0], carry, _mm512_set1_epi64(INT64_MIN));
    __m512i exponent =
        _mm512_add_epi64(_mm512_set1_epi64(r->lsb), _mm512_loadu_si512(r->exponents + column));
    exponent = _mm512_add_epi64(exponent, bits);
    exponent = _mm512_mask_add_epi64(exponent, carry, exponent, one);
    _Static_assert(sizeof(struct ulp_record) == 2 * sizeof(int64_t),
                   "an exponent, a kind, then the limbs");
    _Alignas(64) int64_t words[6][8];
    _mm512_store_si512(words[0], exponent);
    _mm512_store_si512(words[1],
                       _mm512_mask_mov_epi64(_mm512_set1_epi64(MPFR_REGULAR_KIND), negative,
                                             _mm512_set1_epi64(-MPFR_REGULAR_KIND)));
#pragma GCC unroll 6
    for (int j = 0; j < kept; j++)
        _mm512_store_si512(words[2 + j], y[kept - 1 - j]);
    for (unsigned left = done; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        int64_t *record = (int64_t *)r->row + r->offset[column + lane] * (2 + kept);
#pragma GCC unroll 6
        for (int j = 0; j < 2 + kept; j++)
            record[j] = words[j][lane];
    }
    return done;
}

TARGET unsigned ulp_wide_round_avx512(const struct ulp_wide_rounding *r, size_t column,
                                      unsigned wanted)
{
    switch (r->kept) {
    case 1: return round_lanes(r, column, wanted, 1);
    case 2: return round_lanes(r, column, wanted, 2);
    case 3: return round_lanes(r, column, wanted, 3);
    default: return round_lanes(r, column, wanted, 4);
    }
}
#endif
