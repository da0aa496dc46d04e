/* Tiles for NEON, which every aarch64 has: 16 of its 32 registers hold sums, and none is spilled.
 */
#include "kernels/chain/tile.h"

#if defined(__aarch64__) && defined(__GNUC__)

#include <arm_neon.h>

#include "base/machine/cpu.h"
#include "kernels/chain/tile_rows.h"

/* The conversions are IEEE's as long as FPCR.AHP and FZ16 are 0, as a process begins and the
 * library sets them (base/machine/environment.h). */
#define SET neon
#define SET_ATTRIBUTE
#define HALF_ATTRIBUTE
#define BYTES 16
#define VECTORS 4
#define FMA_ROWS 4
#define PLAIN_ROWS 4
#define FMA32(a, b, s) vfmaq_f32(s, a, b)
#define FMA64(a, b, s) vfmaq_f64(s, a, b)
#define ROUND_HALF(x) vcvt_f32_f16(vcvt_f16_f32(x))
#define KEEP_NAN(rounded, x) vbslq_f32(vceqq_f32(x, x), rounded, x)
#include "kernels/chain/tile_set.h"

const struct ulp_tile ulp_tiles_neon[] = {
    TILE_ROWS(neon, ULP_CPU_NEON, ULP_CPU_NEON, 16, 4, RUN_4, RUN_4),
    {.serves = NULL},
};

#else

const struct ulp_tile ulp_tiles_neon[] = {{.serves = NULL}};

#endif
