/* The fast path of matrix units with AVX2, FMA3 (unused) and F16C. */
#include "base/machine/cpu.h"
#include "kernels/unit/fast.h"

#if ULP_X86_VECTORS
#include <immintrin.h>

#define NAME ulp_unit_avx2
#define TARGET __attribute__((target("avx2,f16c")))
#define OP TARGET static inline __attribute__((always_inline))
#define W 8
#define STRIP_ROWS 2
#define STRIP_BLOCKS 4
#define EACH(name) _mm256_##name
#define WHOLE(name) _mm256_##name##_si256
#define OP_REGISTER "x"
typedef __m256 floats;
typedef __m256i ints, shorts;

#include "kernels/unit/vector_template.h"

OP unsigned op_signs(ints x)
{
    return (unsigned)_mm256_movemask_ps(op_floats(x));
}

OP floats op_broadcast(const float *p)
{
    return _mm256_broadcast_ss(p);
}

/* The lower halves of low, then of high; they fit. */
OP void op_shorts_store(int16_t *p, ints low, ints high)
{
    _mm256_storeu_si256((__m256i *)p,
                        _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8));
}
OP ints op_widen_low(shorts x)
{
    return _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x));
}
OP ints op_widen_high(shorts x)
{
    return _mm256_cvtepi16_epi32(_mm256_extracti128_si256(x, 1));
}

/* y where x is zero, else z. */
OP ints op_select_zero(ints x, ints y, ints z)
{
    return _mm256_blendv_epi8(z, y, _mm256_cmpeq_epi32(x, op_set(0)));
}
/* 1 where x differs from y, else 0. */
OP ints op_not_equal_1(ints x, ints y)
{
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(x, y), op_set(1));
}
/* Sign bit: sum = x + y left int32. */
OP ints op_overflow(ints sum, ints x, ints y)
{
    return op_and(op_xor(sum, x), op_xor(sum, y));
}
/* The sum truncated to 24 bits: by the mode in which tiles run. */
OP floats op_truncate_sum(ints x)
{
    return _mm256_cvtepi32_ps(x);
}
/* Returns the mode before. */
OP unsigned op_set_rounding(unsigned mode)
{
    const unsigned before = _MM_GET_ROUNDING_MODE();
    _MM_SET_ROUNDING_MODE(mode);
    return before;
}
/* Lanes that hold a term and have e outside of [low, high]. */
OP unsigned op_outside(ints e, const struct ulp_unit_limits *limits)
{
    const ints out = op_or(_mm256_cmpgt_epi32(op_set(limits->low), e),
                           _mm256_cmpgt_epi32(e, op_set(limits->high)));
    return op_signs(op_and(out, _mm256_cmpgt_epi32(e, op_set(ULP_UNIT_NO_TERM))));
}

/* Lanes of the set from y, the others from z. */
OP floats op_choose(uint32_t set, floats y, floats z)
{
    const ints bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_blendv_ps(z, y,
                            op_floats(_mm256_cmpeq_epi32(op_and(op_set((int)set), bit), bit)));
}

#include "kernels/unit/fast_template.h"
#endif
