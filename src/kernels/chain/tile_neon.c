/* Tiles for NEON, which every aarch64 has: 16 of its 32 registers hold sums, and none is spilled.
 */
#include "kernels/chain/tile.h"

#if defined(__aarch64__) && defined(__GNUC__)

#include <arm_neon.h>

#include "base/machine/cpu.h"
#include "kernels/chain/tile_serves.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* FP16 with every step rounded, in float lanes, as in tile_x86.c: twice rounded is once rounded.
 * The conversions are IEEE's as long as FPCR.AHP and FZ16 are 0, as a process begins and the
 * library sets them (base/machine/environment.h). */
static ALWAYS_INLINE float32x4_t step_fp16(float32x4_t sum, float32x4_t a, float32x4_t b)
{
    const float32x4_t product = vcvt_f32_f16(vcvt_f16_f32(vmulq_f32(a, b)));
    return vcvt_f32_f16(vcvt_f16_f32(vaddq_f32(sum, product)));
}

/* BF16 likewise; NaN is kept from the carry of the rounding. */
static ALWAYS_INLINE float32x4_t round_bf16(float32x4_t x)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(x),
                     even = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    return vbslq_f32(vceqq_f32(x, x), vreinterpretq_f32_u32(even), x);
}
static ALWAYS_INLINE float32x4_t step_bf16(float32x4_t sum, float32x4_t a, float32x4_t b)
{
    return round_bf16(vaddq_f32(sum, round_bf16(vmulq_f32(a, b))));
}

#define TILE fma_f32_neon
#define ATTRIBUTE
#define ELEMENT float
#define VECTOR float32x4_t
#define LANES 4
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) vfmaq_f32(s, a, b)
#define EVEN(x, y) vuzp1q_f32(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f32_neon
#define ATTRIBUTE
#define ELEMENT float
#define VECTOR float32x4_t
#define LANES 4
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) vuzp1q_f32(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fma_f64_neon
#define ATTRIBUTE
#define ELEMENT double
#define VECTOR float64x2_t
#define LANES 2
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) vfmaq_f64(s, a, b)
#define EVEN(x, y) vuzp1q_f64(x, y)
#include "kernels/chain/tile_template.h"

#define TILE muladd_f64_neon
#define ATTRIBUTE
#define ELEMENT double
#define VECTOR float64x2_t
#define LANES 2
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) vuzp1q_f64(x, y)
#include "kernels/chain/tile_template.h"

#define TILE fp16_neon
#define ATTRIBUTE
#define ELEMENT float
#define VECTOR float32x4_t
#define LANES 4
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) step_fp16(s, a, b)
#define EVEN(x, y) vuzp1q_f32(x, y)
#include "kernels/chain/tile_template.h"

#define TILE bf16_neon
#define ATTRIBUTE
#define ELEMENT float
#define VECTOR float32x4_t
#define LANES 4
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) step_bf16(s, a, b)
#define EVEN(x, y) vuzp1q_f32(x, y)
#include "kernels/chain/tile_template.h"

#define TILE u32_neon
#define ATTRIBUTE
#define ELEMENT uint32_t
#define VECTOR uint32x4_t
#define LANES 4
#define VECTORS 4
#define ROWS_MAX 4
#define SETUP
#define STEP(s, a, b) ((s) + (a) * (b))
#define EVEN(x, y) vuzp1q_u32(x, y)
#include "kernels/chain/tile_template.h"

/* The members of a row that follow from its template instance. Four vectors a row. */
#define RUN(tile, lanes)                                                               \
    4 * (lanes), {[1] = tile##_1, [2] = tile##_2, [4] = tile##_4}, lanes, tile##_row1, \
        tile##_row4, tile##_row1_even, tile##_row4_even

/* clang-format off */
const struct ulp_tile ulp_tiles_neon[] = {
    {ULP_CPU_NEON, serves_fma_f32, ULP_ELEMENT_F32, RUN(fma_f32_neon, 4)},
    {ULP_CPU_NEON, serves_muladd_f32, ULP_ELEMENT_F32, RUN(muladd_f32_neon, 4)},
    {ULP_CPU_NEON, serves_fma_f64, ULP_ELEMENT_F64, RUN(fma_f64_neon, 2)},
    {ULP_CPU_NEON, serves_muladd_f64, ULP_ELEMENT_F64, RUN(muladd_f64_neon, 2)},
    {ULP_CPU_NEON, serves_fp16, ULP_ELEMENT_F32, RUN(fp16_neon, 4)},
    {ULP_CPU_NEON, serves_bf16, ULP_ELEMENT_F32, RUN(bf16_neon, 4)},
    {ULP_CPU_NEON, serves_u32, ULP_ELEMENT_U32, RUN(u32_neon, 4)},
    {.serves = NULL},
};
/* clang-format on */

#else

const struct ulp_tile ulp_tiles_neon[] = {{.serves = NULL}};

#endif
