/* The fast path of matrix units with AVX-512 (F, BW, DQ, VL). */
#include "base/machine/cpu.h"
#include "kernels/unit/fast.h"

#if ULP_X86_VECTORS
#include <immintrin.h>

#define NAME ulp_unit_avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define OP TARGET static inline __attribute__((always_inline))
#define W 16
#define STRIP_ROWS 2
#define STRIP_BLOCKS 1
#define EACH(name) _mm512_##name
#define WHOLE(name) _mm512_##name##_si512
#define OP_REGISTER "v"
typedef __m512 floats;
typedef __m512i ints, shorts;

#include "kernels/unit/vector_template.h"

OP unsigned op_signs(ints x)
{
    return _mm512_movepi32_mask(x);
}

/* As integers: these broadcasts are part of the load on more processors. */
OP floats op_broadcast(const float *p)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32((int)ulp_float_bits(*p)));
}

/* The lower halves of low, then of high. */
OP void op_shorts_store(int16_t *p, ints low, ints high)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(low));
    _mm256_storeu_si256((__m256i *)(p + W), _mm512_cvtepi32_epi16(high));
}
OP ints op_widen_low(shorts x)
{
    return _mm512_cvtepi16_epi32(_mm512_castsi512_si256(x));
}
OP ints op_widen_high(shorts x)
{
    return _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(x, 1));
}

/* y where x is zero, else z. */
OP ints op_select_zero(ints x, ints y, ints z)
{
    return _mm512_mask_mov_epi32(z, _mm512_testn_epi32_mask(x, x), y);
}
/* 1 where x differs from y, else 0. */
OP ints op_not_equal_1(ints x, ints y)
{
    return _mm512_maskz_set1_epi32(_mm512_cmpneq_epi32_mask(x, y), 1);
}
/* Sign bit: sum = x + y left int32. */
OP ints op_overflow(ints sum, ints x, ints y)
{
    return _mm512_ternarylogic_epi32(sum, x, y, 0x18); /* sum differs from x, and from y */
}
/* The sum truncated to 24 bits. */
OP floats op_truncate_sum(ints x)
{
    return _mm512_cvt_roundepi32_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
/* Instructions say how they round. */
OP unsigned op_set_rounding(unsigned mode)
{
    return mode;
}
/* Lanes that hold a term and have e outside of [low, high]. */
OP unsigned op_outside(ints e, const struct ulp_unit_limits *limits)
{
    const ints above_low = op_sub(e, op_set(limits->low));
    return _mm512_mask_cmpgt_epu32_mask(_mm512_cmpgt_epi32_mask(e, op_set(ULP_UNIT_NO_TERM)),
                                        above_low, op_set(limits->high - limits->low));
}

/* Lanes of the set from y, the others from z. */
OP floats op_choose(uint32_t set, floats y, floats z)
{
    return _mm512_mask_mov_ps(z, (__mmask16)set, y);
}

#include "kernels/unit/fast_template.h"
#endif
