/* Tiles for AVX2 and AVX-512, chosen at run time. Instruction sets are named function by function
 * (target attributes), so the rest of the program runs on any processor. */
#include "base/machine/cpu.h"
#include "kernels/chain/tile.h"

#if ULP_X86_VECTORS

#include <immintrin.h>
#include <math.h>

#include "kernels/chain/tile_serves.h"

#define AVX2 __attribute__((target("avx2,fma")))
#define F16C __attribute__((target("avx2,fma,f16c")))
#define AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")))
#define ALWAYS_INLINE inline __attribute__((always_inline))

typedef uint32_t u32x8 __attribute__((vector_size(32), may_alias));
typedef uint32_t u32x16 __attribute__((vector_size(64), may_alias));
typedef uint64_t u64x4 __attribute__((vector_size(32), may_alias));
typedef uint64_t u64x8 __attribute__((vector_size(64), may_alias));

/* FP16 with every step rounded, in float lanes: a product of two FP16 values is exact in float, and
 * a sum rounded to float (24 >= 2 * 11 + 2 bits) and then to FP16 is the single rounding (Figueroa,
 * "When is double rounding innocuous?", 1995). The conversion keeps subnormals whatever MXCSR
 * says. */
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
AVX512 static ALWAYS_INLINE __m512 step_fp16_avx512(__m512 sum, __m512 a, __m512 b)
{
    __m512 product = _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_mul_ps(a, b), NEAREST));
    return _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_add_ps(sum, product), NEAREST));
}
F16C static ALWAYS_INLINE __m256 step_fp16_avx2(__m256 sum, __m256 a, __m256 b)
{
    __m256 product = _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_mul_ps(a, b), NEAREST));
    return _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_add_ps(sum, product), NEAREST));
}

/* BF16 likewise. A product has 16 bits; it is inexact in float only below 2^-134, where BF16 has no
 * value but zero and the nearest-even tie to it. NaN is kept from the carry of the rounding. */
AVX512 static ALWAYS_INLINE __m512 round_bf16_avx512(__m512 x)
{
    u32x16 bits = (u32x16)x;
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    return _mm512_mask_mov_ps((__m512)bits, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}
AVX512 static ALWAYS_INLINE __m512 step_bf16_avx512(__m512 sum, __m512 a, __m512 b)
{
    return round_bf16_avx512(_mm512_add_ps(sum, round_bf16_avx512(_mm512_mul_ps(a, b))));
}
AVX2 static ALWAYS_INLINE __m256 round_bf16_avx2(__m256 x)
{
    u32x8 bits = (u32x8)x;
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    return _mm256_blendv_ps((__m256)bits, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
AVX2 static ALWAYS_INLINE __m256 step_bf16_avx2(__m256 sum, __m256 a, __m256 b)
{
    return round_bf16_avx2(_mm256_add_ps(sum, round_bf16_avx2(_mm256_mul_ps(a, b))));
}

AVX512 static ALWAYS_INLINE __m512 even_f32_avx512(__m512 x, __m512 y)
{
    return _mm512_permutex2var_ps(
        x, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), y);
}
AVX512 static ALWAYS_INLINE __m512d even_f64_avx512(__m512d x, __m512d y)
{
    return _mm512_permutex2var_pd(x, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), y);
}
AVX2 static ALWAYS_INLINE __m256 even_f32_avx2(__m256 x, __m256 y)
{
    return (__m256)_mm256_permute4x64_pd((__m256d)_mm256_shuffle_ps(x, y, 0x88), 0xD8);
}
AVX2 static ALWAYS_INLINE __m256d even_f64_avx2(__m256d x, __m256d y)
{
    return _mm256_permute4x64_pd(_mm256_shuffle_pd(x, y, 0), 0xD8);
}

#define TILE fma_f32_avx512
#define ATTRIBUTE AVX512
#define ELEMENT float
#define VECTOR __m512
#define LANES 16
#define VECTORS 2
#define ROWS_MAX 14
#define SETUP
#define STEP(s, a, b) _mm512_fmadd_ps(a, b, s)
#define EVEN(x, y) even_f32_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fma_f32_avx2
#define ATTRIBUTE AVX2
#define ELEMENT float
#define VECTOR __m256
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) _mm256_fmadd_ps(a, b, s)
#define EVEN(x, y) even_f32_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f32_avx512
#define ATTRIBUTE AVX512
#define ELEMENT float
#define VECTOR __m512
#define LANES 16
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) even_f32_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f32_avx2
#define ATTRIBUTE AVX2
#define ELEMENT float
#define VECTOR __m256
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) even_f32_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fma_f64_avx512
#define ATTRIBUTE AVX512
#define ELEMENT double
#define VECTOR __m512d
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 14
#define SETUP
#define STEP(s, a, b) _mm512_fmadd_pd(a, b, s)
#define EVEN(x, y) even_f64_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fma_f64_avx2
#define ATTRIBUTE AVX2
#define ELEMENT double
#define VECTOR __m256d
#define LANES 4
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) _mm256_fmadd_pd(a, b, s)
#define EVEN(x, y) even_f64_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f64_avx512
#define ATTRIBUTE AVX512
#define ELEMENT double
#define VECTOR __m512d
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) even_f64_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f64_avx2
#define ATTRIBUTE AVX2
#define ELEMENT double
#define VECTOR __m256d
#define LANES 4
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) even_f64_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fp16_avx512
#define ATTRIBUTE AVX512
#define ELEMENT float
#define VECTOR __m512
#define LANES 16
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) step_fp16_avx512(s, a, b)
#define EVEN(x, y) even_f32_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fp16_f16c
#define ATTRIBUTE F16C
#define ELEMENT float
#define VECTOR __m256
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) step_fp16_avx2(s, a, b)
#define EVEN(x, y) even_f32_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE bf16_avx512
#define ATTRIBUTE AVX512
#define ELEMENT float
#define VECTOR __m512
#define LANES 16
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) step_bf16_avx512(s, a, b)
#define EVEN(x, y) even_f32_avx512(x, y)
#include "kernels/chain/tile_template.h"

#define TILE bf16_avx2
#define ATTRIBUTE AVX2
#define ELEMENT float
#define VECTOR __m256
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) step_bf16_avx2(s, a, b)
#define EVEN(x, y) even_f32_avx2(x, y)
#include "kernels/chain/tile_template.h"

#define TILE u32_avx512
#define ATTRIBUTE AVX512
#define ELEMENT uint32_t
#define VECTOR u32x16
#define LANES 16
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) (u32x16) even_f32_avx512((__m512)(x), (__m512)(y))
#include "kernels/chain/tile_template.h"

#define TILE u32_avx2
#define ATTRIBUTE AVX2
#define ELEMENT uint32_t
#define VECTOR u32x8
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 6
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) (u32x8) even_f32_avx2((__m256)(x), (__m256)(y))
#include "kernels/chain/tile_template.h"

#define TILE u64_avx512
#define ATTRIBUTE AVX512
#define ELEMENT uint64_t
#define VECTOR u64x8
#define LANES 8
#define VECTORS 2
#define ROWS_MAX 8
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) (u64x8) even_f64_avx512((__m512d)(x), (__m512d)(y))
#include "kernels/chain/tile_template.h"

/* The members of a row that follow from its template instance. Two vectors a row. */
#define ROWS_OF(tile, lanes) lanes, tile##_row1, tile##_row4, tile##_row1_even, tile##_row4_even
#define RUN_14(tile, lanes)                                                            \
    2 * (lanes), {[1] = tile##_1,   [2] = tile##_2,   [4] = tile##_4,  [8] = tile##_8, \
                  [10] = tile##_10, [12] = tile##_12, [14] = tile##_14},               \
        ROWS_OF(tile, lanes)
#define RUN_8(tile, lanes)                                                         \
    2 * (lanes), {[1] = tile##_1, [2] = tile##_2, [4] = tile##_4, [8] = tile##_8}, \
        ROWS_OF(tile, lanes)
#define RUN_6(tile, lanes)                                                         \
    2 * (lanes), {[1] = tile##_1, [2] = tile##_2, [4] = tile##_4, [6] = tile##_6}, \
        ROWS_OF(tile, lanes)

/* clang-format off */
const struct ulp_tile ulp_tiles_x86[] = {
    {ULP_CPU_AVX512, serves_fma_f32, ULP_ELEMENT_F32, RUN_14(fma_f32_avx512, 16)},
    {ULP_CPU_AVX512, serves_muladd_f32, ULP_ELEMENT_F32, RUN_8(muladd_f32_avx512, 16)},
    {ULP_CPU_AVX512, serves_fma_f64, ULP_ELEMENT_F64, RUN_14(fma_f64_avx512, 8)},
    {ULP_CPU_AVX512, serves_muladd_f64, ULP_ELEMENT_F64, RUN_8(muladd_f64_avx512, 8)},
    {ULP_CPU_AVX512, serves_fp16, ULP_ELEMENT_F32, RUN_8(fp16_avx512, 16)},
    {ULP_CPU_AVX512, serves_bf16, ULP_ELEMENT_F32, RUN_8(bf16_avx512, 16)},
    {ULP_CPU_AVX512, serves_u32, ULP_ELEMENT_U32, RUN_8(u32_avx512, 16)},
    {ULP_CPU_AVX512, serves_u64, ULP_ELEMENT_U64, RUN_8(u64_avx512, 8)},
    {ULP_CPU_AVX2, serves_fma_f32, ULP_ELEMENT_F32, RUN_6(fma_f32_avx2, 8)},
    {ULP_CPU_AVX2, serves_muladd_f32, ULP_ELEMENT_F32, RUN_6(muladd_f32_avx2, 8)},
    {ULP_CPU_AVX2, serves_fma_f64, ULP_ELEMENT_F64, RUN_6(fma_f64_avx2, 4)},
    {ULP_CPU_AVX2, serves_muladd_f64, ULP_ELEMENT_F64, RUN_6(muladd_f64_avx2, 4)},
    {ULP_CPU_F16C, serves_fp16, ULP_ELEMENT_F32, RUN_6(fp16_f16c, 8)},
    {ULP_CPU_AVX2, serves_bf16, ULP_ELEMENT_F32, RUN_6(bf16_avx2, 8)},
    {ULP_CPU_AVX2, serves_u32, ULP_ELEMENT_U32, RUN_6(u32_avx2, 8)},
    {.serves = NULL},
};
/* clang-format on */

#else

const struct ulp_tile ulp_tiles_x86[] = {{.serves = NULL}};

#endif
