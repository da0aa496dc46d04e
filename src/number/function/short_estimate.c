/* exp, tanh, sigmoid and erf of floats by AVX-512: a table of 16 powers of two in registers and a
 * polynomial of degree 5; of erf 16 polynomials. Each errs by less than 2^-39.5 relative
 * (number/README.md, 7); SHORT_ERROR leaves a factor of 2.8. Which floats are decided here follows
 * from the estimate's bits, what they are does not: it is what every other way to them gives. */
#include "number/function/short_estimate.h"
#include "base/machine/cpu.h"

#if ULP_X86_VECTORS
#include "number/function/coefficients.h"

#include <immintrin.h>

#define TARGET __attribute__((target("fma,avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* Of 8 arguments. */
typedef __m512d estimate_fn(__m512d x);

/* exp(x) - 1 = (scale - 1) + scale q, |x| <= 110: x = k log(2) / 16 + r, q = exp(r) - 1. */
struct exponential {
    __m512d scale, q;
};

INLINE struct exponential split_exp(__m512d x)
{
    const __m512d shifter = _mm512_set1_pd(0x1.8p52);
    const __m512d shifted = _mm512_fmadd_pd(x, _mm512_set1_pd(0x1.71547652b82fep4), shifter),
                  k = _mm512_sub_pd(shifted, shifter),
                  r = _mm512_fnmadd_pd(k, _mm512_set1_pd(0x1.62e42fefa39efp-5), x);
    /* The low bits of `shifted` are k's in two's complement; the permutation reads four of them. */
    const __m512i bits = _mm512_castpd_si512(shifted),
                  power = _mm512_permutex2var_epi64(_mm512_loadu_si512(short_exp_scales), bits,
                                                    _mm512_loadu_si512(short_exp_scales + 8));
    __m512d q = _mm512_set1_pd(short_exp_terms[3]);
    for (int i = 2; i >= 0; i--)
        q = _mm512_fmadd_pd(q, r, _mm512_set1_pd(short_exp_terms[i]));
    return (struct exponential){_mm512_castsi512_pd(
                                    _mm512_add_epi64(power, _mm512_slli_epi64(bits, 48))),
                                _mm512_fmadd_pd(_mm512_mul_pd(q, r), r, r)};
}

/* 1 / d but for less than 2^-41: an error of 2^-14 to the third power. */
INLINE __m512d invert(__m512d d)
{
    const __m512d guess = _mm512_rcp14_pd(d), error = _mm512_fnmadd_pd(d, guess, _mm512_set1_pd(1));
    return _mm512_fmadd_pd(_mm512_fmadd_pd(error, error, error), guess, guess);
}

INLINE __m512d estimate_exp(__m512d x)
{
    const struct exponential e = split_exp(x);
    return _mm512_fmadd_pd(e.scale, e.q, e.scale);
}

INLINE __m512d estimate_sigmoid(__m512d x)
{
    return invert(
        _mm512_add_pd(estimate_exp(_mm512_sub_pd(_mm512_setzero_pd(), x)), _mm512_set1_pd(1)));
}

/* x >= 0 */
INLINE __m512d estimate_tanh(__m512d x)
{
    const struct exponential e = split_exp(_mm512_add_pd(x, x));
    const __m512d y = _mm512_fmadd_pd(e.scale, e.q, _mm512_sub_pd(e.scale, _mm512_set1_pd(1)));
    return _mm512_mul_pd(y, invert(_mm512_add_pd(y, _mm512_set1_pd(2))));
}

/* 0 <= x < 4 */
INLINE __m512d estimate_erf(__m512d x)
{
    const __m512d shifter = _mm512_set1_pd(0x1.8p52);
    const __m512d shifted = _mm512_fmadd_round_pd(x, _mm512_set1_pd(4), shifter,
                                                  _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC),
                  k = _mm512_sub_pd(shifted, shifter),
                  t = _mm512_fnmadd_pd(k, _mm512_set1_pd(0.25), x);
    const __m512i piece = _mm512_castpd_si512(shifted);
    __m512d y = _mm512_setzero_pd();
    for (int i = 8; i >= 0; i--)
        y = _mm512_fmadd_pd(y, t,
                            _mm512_permutex2var_pd(_mm512_loadu_pd(short_erf_terms[i]), piece,
                                                   _mm512_loadu_pd(short_erf_terms[i] + 8)));
    return _mm512_mul_pd(x, y);
}

/* Relative. */
#define SHORT_ERROR_LOG2 (-38)

/* y's lanes next to a tie of floats, y a float's normal number: those whose last 29 bits are within
 * the error, of which a unit is 2^-53 or more, of 2^28. */
INLINE __mmask8 find_ties(__m512d y)
{
    const uint64_t error = UINT64_C(1) << (53 + SHORT_ERROR_LOG2), tie = UINT64_C(1) << 28;
    const __m512i above =
        _mm512_sub_epi64(_mm512_castpd_si512(y), _mm512_set1_epi64((long long)(tie - error)));
    return _mm512_cmple_epu64_mask(_mm512_slli_epi64(above, 64 - 29),
                                   _mm512_set1_epi64((long long)(2 * error << (64 - 29))));
}

/* The estimate of 16 arguments; *ties: lanes that it leaves open. */
INLINE __m512 estimate_floats(estimate_fn *estimate, __m512 x, __mmask16 *ties)
{
    const __m512d low = estimate(_mm512_cvtps_pd(_mm512_castps512_ps256(x))),
                  high = estimate(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
    *ties = _mm512_kunpackb(find_ties(high), find_ties(low));
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

/* Lanes of x in [low, high]; a NaN is not. */
INLINE __mmask16 lie_between(float low, __m512 x, float high)
{
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, _mm512_set1_ps(low), _CMP_GE_OQ), x,
                                   _mm512_set1_ps(high), _CMP_LE_OQ);
}
INLINE __mmask16 lie_below(__m512 x, float high)
{
    return _mm512_cmp_ps_mask(x, _mm512_set1_ps(high), _CMP_LE_OQ);
}
INLINE __m512 clamp(float low, __m512 x, float high)
{
    return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(low)), _mm512_set1_ps(high));
}

/* Results and the lanes that are decided. Below -104 exp and sigmoid round to 0, as their estimates
 * at -110 do; results that are subnormal or overflow are left. */
INLINE __m512 take_exp(__m512 x, __mmask16 *decided)
{
    __mmask16 ties;
    const __m512 y = estimate_floats(estimate_exp, clamp(-110, x, 110), &ties);
    *decided = ~ties & (lie_between(-87.3F, x, 88.7F) | lie_below(x, -104));
    return y;
}
INLINE __m512 take_sigmoid(__m512 x, __mmask16 *decided)
{
    __mmask16 ties;
    const __m512 y = estimate_floats(estimate_sigmoid, clamp(-110, x, 110), &ties);
    *decided = ~ties & (lie_between(-87.3F, x, __builtin_inff()) | lie_below(x, -104));
    return y;
}
/* Of an odd function that from `high` on is 1 to floats. */
INLINE __m512 take_odd(estimate_fn *estimate, __m512 x, float high, __mmask16 *decided)
{
    const __m512 sign = _mm512_set1_ps(-0.0F), m = _mm512_andnot_ps(sign, x);
    __mmask16 ties;
    const __m512 y = estimate_floats(estimate, clamp(0, m, high), &ties);
    *decided = ~ties & (lie_between(0x1p-100F, m, __builtin_inff()) | lie_below(m, 0));
    return _mm512_or_ps(y, _mm512_and_ps(sign, x));
}
/* tanh is 1 - 2^-42 there, erf 1 - 2^-25.8. */
INLINE __m512 take_tanh(__m512 x, __mmask16 *decided)
{
    return take_odd(estimate_tanh, x, 15, decided);
}
INLINE __m512 take_erf(__m512 x, __mmask16 *decided)
{
    return take_odd(estimate_erf, x, 3.99F, decided);
}

#define LOOP(NAME)                                                                       \
    TARGET static int short_##NAME(float *out, const float *a, size_t n, uint16_t *left) \
    {                                                                                    \
        int count = 0;                                                                   \
        for (size_t i = 0; i < n; i += ULP_SHORT_LANES) {                                \
            const size_t rest = n - i;                                                   \
            const __mmask16 there = rest < ULP_SHORT_LANES ? (1U << rest) - 1 : 0xffff;  \
            __mmask16 decided;                                                           \
            const __m512 y = take_##NAME(_mm512_maskz_loadu_ps(there, a + i), &decided); \
            _mm512_mask_storeu_ps(out + i, there & decided, y);                          \
            left[i / ULP_SHORT_LANES] = there & (uint16_t)~decided;                      \
            count += __builtin_popcount(left[i / ULP_SHORT_LANES]);                      \
        }                                                                                \
        return count;                                                                    \
    }
LOOP(exp)
LOOP(sigmoid)
LOOP(tanh)
LOOP(erf)

ulp_short_estimate_fn *ulp_short_estimate_of(enum ulp_primitive function)
{
    if (!(ulp_cpu_features() & ULP_CPU_AVX512))
        return NULL;
    return function == ULP_PRIMITIVE_EXP       ? short_exp
           : function == ULP_PRIMITIVE_SIGMOID ? short_sigmoid
           : function == ULP_PRIMITIVE_TANH    ? short_tanh
           : function == ULP_PRIMITIVE_ERF     ? short_erf
                                               : NULL;
}
#else
ulp_short_estimate_fn *ulp_short_estimate_of(enum ulp_primitive function)
{
    (void)function;
    return NULL;
}
#endif
