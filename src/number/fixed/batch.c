/* Records in batches of eight: a vector holds one limb of each (AVX-512 F, BW, DQ, VL, CD and
 * IFMA). */
#include "number/fixed/batch.h"

#include "base/machine/cpu.h"
#include "number/fixed/arithmetic.h"
#include "number/fixed/element.h"
#include "number/fixed/limbs.h"
#include "number/fixed/series.h"

#if defined(ULP_LIMBS) && ULP_X86_VECTORS
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512ifma")))
#define OP TARGET ULP_LIMBS_INLINE
#define BATCH 8
#define EXPONENT_MAX 0x1000000 /* of operands: no result leaves MPFR's range */

typedef uint64_t lanes __attribute__((vector_size(64)));
typedef int64_t signed_lanes __attribute__((vector_size(64)));

OP lanes set(uint64_t x)
{
    return (lanes)_mm512_set1_epi64((long long)x);
}
OP lanes choose(__mmask8 mask, lanes yes, lanes no)
{
    return (lanes)_mm512_mask_mov_epi64((__m512i)no, mask, (__m512i)yes);
}
OP lanes keep(__mmask8 mask, lanes x)
{
    return (lanes)_mm512_maskz_mov_epi64(mask, (__m512i)x);
}
OP lanes add_where(__mmask8 mask, lanes x, lanes y)
{
    return (lanes)_mm512_mask_add_epi64((__m512i)x, mask, (__m512i)x, (__m512i)y);
}
OP __mmask8 tops(lanes x)
{
    return _mm512_movepi64_mask((__m512i)x);
}
OP __mmask8 nonzero(lanes x)
{
    return _mm512_test_epi64_mask((__m512i)x, (__m512i)x);
}
OP __mmask8 equal(lanes x, lanes y)
{
    return _mm512_cmpeq_epi64_mask((__m512i)x, (__m512i)y);
}
OP __mmask8 less(lanes x, lanes y)
{
    return _mm512_cmplt_epu64_mask((__m512i)x, (__m512i)y);
}
/* Any count: none of the bits are left from 64 on. */
OP lanes left(lanes x, lanes count)
{
    return (lanes)_mm512_sllv_epi64((__m512i)x, (__m512i)count);
}
OP lanes right(lanes x, lanes count)
{
    return (lanes)_mm512_srlv_epi64((__m512i)x, (__m512i)count);
}
OP lanes left_all(lanes x, int count)
{
    return (lanes)_mm512_sll_epi64((__m512i)x, _mm_cvtsi32_si128(count));
}
OP lanes right_all(lanes x, int count)
{
    return (lanes)_mm512_srl_epi64((__m512i)x, _mm_cvtsi32_si128(count));
}
/* sum + the low or the high 52 bits of the product of the operands' low 52 bits. */
OP lanes add_low(lanes sum, lanes x, lanes y)
{
    return (lanes)_mm512_madd52lo_epu64((__m512i)sum, (__m512i)x, (__m512i)y);
}
OP lanes add_high(lanes sum, lanes x, lanes y)
{
    return (lanes)_mm512_madd52hi_epu64((__m512i)sum, (__m512i)x, (__m512i)y);
}
OP __m512d doubles(lanes x)
{
    return _mm512_cvtepi64_pd((__m512i)x);
}

/* Bits [bit, bit + 64) of the sum of digits[i] 2^(radix i): digits below 2^radix, of the last one
 * bit more. */
OP lanes take_bits(const lanes *digits, int count, int radix, int bit)
{
    lanes y = set(0);
    ULP_LIMBS_UNROLL for (int i = 0; i < count; i++)
    {
        const int shift = radix * i - bit;
        if (shift >= 0 && shift < 64)
            y |= digits[i] << shift;
        else if (shift < 0 && shift >= -radix && shift > -64)
            y |= digits[i] >> -shift;
    }
    return y;
}

#define DIGIT_BITS 48 /* of quotients and roots */
#define DIGIT_MASK ((UINT64_C(1) << DIGIT_BITS) - 1)

/* Quotients and roots by long division: digits q_0, q_1, ... of 48 bits, most significant first,
 * each an estimate in double that is never too large and too small by less than 4 (README.md,
 * section 8). r holds the negative of what remains, n signed digits r[i] 2^(-48 (i + 1)). */

/* The next digit: what remains times 2^48 by the divisor; `inverse` is the negative of at most 1 /
 * divisor. */
OP lanes estimate_digit(const lanes *r, int n, __m512d inverse)
{
    const __m512d unit = _mm512_set1_pd(0x1p-48);
    const __m512d below =
        n > 2 ? _mm512_fmadd_pd(doubles(r[2]), unit, doubles(r[1])) : doubles(r[1]);
    return (lanes)_mm512_cvttpd_epi64(
        _mm512_mul_pd(_mm512_fmadd_pd(below, unit, doubles(r[0])), inverse));
}

/* r = r 2^48 + q t for the `count` digits of t, below 2^52. Digits beyond the first two are not
 * carried: they stay below 2^57. */
OP void remain(lanes *r, int n, lanes q, const lanes *t, int count)
{
    const lanes zero = set(0), top = r[0] + (add_high(zero, q, t[0]) << 4);
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++)
    {
        r[i] = i + 1 < n ? r[i + 1] : zero;
        if (i < count)
            r[i] = add_low(r[i], q, t[i]);
        if (i + 1 < count)
            r[i] += add_high(zero, q, t[i + 1]) << 4;
    }
    r[0] += (top << DIGIT_BITS) + (lanes)((signed_lanes)r[1] >> DIGIT_BITS);
    r[1] &= set(DIGIT_MASK);
}

#define WIDE_TEMPLATE "number/fixed/batch_template.h"
#include "number/fixed/instances.h"

#include "number/fixed/batch_series.h"

#include "number/fixed/batch_function.h"

ulp_wide_fn *ulp_wide_batch(enum ulp_primitive primitive, int precision)
{
    static ulp_wide_fn *const functions[4][ULP_PRIMITIVE_COUNT] = {
#define ROW(LIMBS)                                                                \
    [ULP_PRIMITIVE_ADD] = run_add_##LIMBS, [ULP_PRIMITIVE_SUB] = run_sub_##LIMBS, \
    [ULP_PRIMITIVE_MUL] = run_mul_##LIMBS, [ULP_PRIMITIVE_DIV] = run_div_##LIMBS, \
    [ULP_PRIMITIVE_MIN] = run_min_##LIMBS, [ULP_PRIMITIVE_MAX] = run_max_##LIMBS, \
    [ULP_PRIMITIVE_SQRT] = run_sqrt_##LIMBS
        {ROW(1)},
        {ROW(2), [ULP_PRIMITIVE_EXP] = run_exp_2, [ULP_PRIMITIVE_EXPM1] = run_expm1_2,
         [ULP_PRIMITIVE_SIGMOID] = run_sigmoid_2, [ULP_PRIMITIVE_TANH] = run_tanh_2,
         [ULP_PRIMITIVE_ERF] = run_erf_2, [ULP_PRIMITIVE_LOG] = run_log_2,
         [ULP_PRIMITIVE_LOG1P] = run_log1p_2, [ULP_PRIMITIVE_SOFTPLUS] = run_softplus_2},
        {ROW(3)},
        {ROW(4)},
    };
    if (precision > 256 || !(ulp_cpu_features() & ULP_CPU_AVX512IFMA))
        return NULL;
    const int limbs = (precision + 63) / 64;
    return functions[limbs - 1][primitive];
}

#else

ulp_wide_fn *ulp_wide_batch(enum ulp_primitive primitive, int precision)
{
    (void)primitive, (void)precision;
    return NULL;
}

#endif
