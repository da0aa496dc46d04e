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
#define LIST list
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

/* Where the bytes of four lanes come from when those of a set are moved together. */
#define LANE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define LANES(a, b, c, d)                  \
    {                                      \
        LANE(a), LANE(b), LANE(c), LANE(d) \
    }
static const _Alignas(16) uint8_t together[16][16] = {
    LANES(0, 0, 0, 0), LANES(0, 0, 0, 0), LANES(1, 0, 0, 0), LANES(0, 1, 0, 0),
    LANES(2, 0, 0, 0), LANES(0, 2, 0, 0), LANES(1, 2, 0, 0), LANES(0, 1, 2, 0),
    LANES(3, 0, 0, 0), LANES(0, 3, 0, 0), LANES(1, 3, 0, 0), LANES(0, 1, 3, 0),
    LANES(2, 3, 0, 0), LANES(0, 2, 3, 0), LANES(1, 2, 3, 0), LANES(0, 1, 2, 3)};

/* r[j]: row j's, then row 4 + j's elements, of 4 slots by 8 rows from x on. */
OP void turn(ints r[4], const float *x)
{
    const floats x0 = op_load(x), x1 = op_load(x + ULP_UNIT_COLUMNS),
                 x2 = op_load(x + 2 * ULP_UNIT_COLUMNS), x3 = op_load(x + 3 * ULP_UNIT_COLUMNS);
    const __m256d low[2] = {(__m256d)_mm256_unpacklo_ps(x0, x1),
                            (__m256d)_mm256_unpacklo_ps(x2, x3)},
                  high[2] = {(__m256d)_mm256_unpackhi_ps(x0, x1),
                             (__m256d)_mm256_unpackhi_ps(x2, x3)};
    r[0] = (ints)_mm256_unpacklo_pd(low[0], low[1]);
    r[1] = (ints)_mm256_unpackhi_pd(low[0], low[1]);
    r[2] = (ints)_mm256_unpacklo_pd(high[0], high[1]);
    r[3] = (ints)_mm256_unpackhi_pd(high[0], high[1]);
}

OP void store_two(void *p, size_t low, size_t high, ints x)
{
    _mm_storeu_si128((__m128i *)(void *)((uint32_t *)p + low), _mm256_castsi256_si128(x));
    _mm_storeu_si128((__m128i *)(void *)((uint32_t *)p + high), _mm256_extracti128_si256(x, 1));
}

/* What is not zero of a block of 8 rows, whose first is x. Four entries are stored at a time: those
 * behind the last are inside the block. */
TARGET static void list_block(const struct ulp_unit_lists *lists, size_t row, size_t block,
                              const float *x, ints offset, int emin)
{
    size_t at[W];
    for (size_t i = 0; i < W; i++)
        at[i] = ((row + i) * lists->blocks + block) * lists->length;
    for (size_t s = 0; s < lists->length;
         s += 4, offset = op_add(offset, op_set(4 * ULP_UNIT_COLUMNS))) {
        ints r[4];
        turn(r, x + s * ULP_UNIT_COLUMNS);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++) {
            const ints magnitude = op_and(r[j], op_set(0x7FFFFFFF));
            const ints field = op_sub(op_shift_right_23(magnitude), op_set(127)),
                       e = op_max(field, op_set(emin));
            const ints code = op_or(op_and(e, op_set(0xFFFF)), _mm256_slli_epi32(e, 16));
            const unsigned kept = ~op_signs(_mm256_cmpeq_epi32(magnitude, op_set(0)));
            const __m128i *const low = (const __m128i *)(const void *)together[kept & 15],
                                 *const high =
                                     (const __m128i *)(const void *)together[kept >> 4 & 15];
            const ints order = _mm256_inserti128_si256(_mm256_castsi128_si256(*low), *high, 1);
            store_two(lists->value, at[j], at[4 + j], _mm256_shuffle_epi8(r[j], order));
            store_two(lists->exponent, at[j], at[4 + j], _mm256_shuffle_epi8(code, order));
            store_two(lists->offset, at[j], at[4 + j], _mm256_shuffle_epi8(offset, order));
            at[j] += (size_t)__builtin_popcount(kept & 15);
            at[4 + j] += (size_t)__builtin_popcount(kept >> 4 & 15);
        }
    }
    for (size_t i = 0; i < W; i++) {
        const size_t to = (row + i) * lists->blocks + block;
        lists->count[to] = (uint8_t)(at[i] - to * lists->length);
    }
}

TARGET static void list(const struct ulp_unit_lists *lists, size_t row, const float *x, size_t slot,
                        int emin)
{
    const ints quad = _mm256_setr_epi32(0, 32, 64, 96, 0, 32, 64, 96);
    for (size_t block = 0; block < lists->blocks; block++)
        for (size_t i = 0; i < ULP_UNIT_COLUMNS; i += W) {
            const size_t first = block * lists->length;
            const ints offset = op_add(quad, op_set((int)((slot + first) * ULP_UNIT_COLUMNS)));
            list_block(lists, row + i, block, x + first * ULP_UNIT_COLUMNS + i, offset, emin);
        }
}

#include "kernels/unit/fast_template.h"
#endif
