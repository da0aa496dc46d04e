/* Tiles for AVX2 and AVX-512, chosen at run time. Instruction sets are named function by function
 * (target attributes), so the rest of the program runs on any processor. */
#include "base/machine/cpu.h"
#include "kernels/chain/tile.h"

#if ULP_X86_VECTORS

#include <immintrin.h>

#include "kernels/chain/tile_rows.h"

#define AVX2 __attribute__((target("avx2,fma")))
#define F16C __attribute__((target("avx2,fma,f16c")))
#define AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")))

/* These conversions keep subnormals whatever MXCSR says. */
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

#define SET avx512
#define SET_ATTRIBUTE AVX512
#define HALF_ATTRIBUTE AVX512
#define BYTES 64
#define VECTORS 2
#define FMA_ROWS 14
#define PLAIN_ROWS 8
#define FMA32(a, b, s) _mm512_fmadd_ps(a, b, s)
#define FMA64(a, b, s) _mm512_fmadd_pd(a, b, s)
#define ROUND_HALF(x) _mm512_cvtph_ps(_mm512_cvtps_ph(x, NEAREST))
#define KEEP_NAN(rounded, x) _mm512_mask_mov_ps(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x)
#include "kernels/chain/tile_set.h"

#define SET avx2
#define SET_ATTRIBUTE AVX2
#define HALF_ATTRIBUTE F16C
#define BYTES 32
#define VECTORS 2
#define FMA_ROWS 6
#define PLAIN_ROWS 6
#define FMA32(a, b, s) _mm256_fmadd_ps(a, b, s)
#define FMA64(a, b, s) _mm256_fmadd_pd(a, b, s)
#define ROUND_HALF(x) _mm256_cvtph_ps(_mm256_cvtps_ph(x, NEAREST))
#define KEEP_NAN(rounded, x) _mm256_blendv_ps(rounded, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q))
#include "kernels/chain/tile_set.h"

const struct ulp_tile ulp_tiles_x86[] = {
    TILE_ROWS(avx512, ULP_CPU_AVX512, ULP_CPU_AVX512, 64, 2, RUN_14, RUN_8),
    TILE_ROWS(avx2, ULP_CPU_AVX2, ULP_CPU_F16C, 32, 2, RUN_6, RUN_6),
    {.serves = NULL},
};

#else

const struct ulp_tile ulp_tiles_x86[] = {{.serves = NULL}};

#endif
