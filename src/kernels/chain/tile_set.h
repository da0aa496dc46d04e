/* All tiles of one instruction set, whose rows tile_rows.h has. Parameters, undefined again at the
 * end:
 *   SET                             what the names of the tiles end in
 *   SET_ATTRIBUTE, HALF_ATTRIBUTE   target attribute; that of FP16's tile
 *   BYTES, VECTORS                  bytes of a vector, vectors a row of a tile
 *   FMA_ROWS, PLAIN_ROWS            ROWS_MAX of tile_template.h: of fused steps, of others
 *   FMA32, FMA64(a, b, s)           a * b + s, rounded once
 *   ROUND_HALF(x)                   floats rounded to FP16, to nearest even, subnormals kept
 *   KEEP_NAN(rounded, x)            x where it is NaN, else rounded
 * Instantiated by tile_x86.c and tile_neon.c. */

#define JOINED_(a, b) a##_##b
#define JOINED(a, b) JOINED_(a, b)
#define SET_NAME(name) JOINED(name, SET)
#define VECTOR_OF(element, name) \
    typedef element SET_NAME(name) __attribute__((vector_size(BYTES), may_alias))

VECTOR_OF(float, f32);
VECTOR_OF(double, f64);
VECTOR_OF(uint32_t, u32_vector);

/* BF16 with every step rounded, as FP16. A product has 16 bits; it is inexact in float only below
 * 2^-134, where BF16 has no value but zero and the nearest-even tie to it. NaN is kept from the
 * carry of the rounding. */
SET_ATTRIBUTE static inline __attribute__((always_inline)) SET_NAME(f32)
    SET_NAME(round_bf16)(SET_NAME(f32) x)
{
    const SET_NAME(u32_vector) bits = (SET_NAME(u32_vector))x;
    return KEEP_NAN((SET_NAME(f32))((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u), x);
}

#define ATTRIBUTE SET_ATTRIBUTE
#define SETUP
#define LANES (BYTES / (int)sizeof(ELEMENT))

#define ELEMENT float
#define VECTOR SET_NAME(f32)
#define ROWS_MAX FMA_ROWS
#define TILE SET_NAME(fma_f32)
#define STEP(s, a, b) FMA32(a, b, s)
#include "kernels/chain/tile_template.h"
#undef ROWS_MAX

#define ROWS_MAX PLAIN_ROWS
#define TILE SET_NAME(muladd_f32)
#define STEP(s, a, b) ((s) + (a) * (b))
#include "kernels/chain/tile_template.h"

#define TILE SET_NAME(bf16)
#define STEP(s, a, b) SET_NAME(round_bf16)((s) + SET_NAME(round_bf16)((a) * (b)))
#include "kernels/chain/tile_template.h"
#undef ATTRIBUTE

/* FP16 with every step rounded, in float lanes: a product of two FP16 values is exact in float, and
 * a sum rounded to float (24 >= 2 * 11 + 2 bits) and then to FP16 is the single rounding (Figueroa,
 * "When is double rounding innocuous?", 1995). */
#define ATTRIBUTE HALF_ATTRIBUTE
#define TILE SET_NAME(fp16)
#define STEP(s, a, b) ROUND_HALF((s) + ROUND_HALF((a) * (b)))
#include "kernels/chain/tile_template.h"
#undef ATTRIBUTE
#define ATTRIBUTE SET_ATTRIBUTE
#undef ELEMENT
#undef VECTOR

#define ELEMENT double
#define VECTOR SET_NAME(f64)
#define TILE SET_NAME(muladd_f64)
#define STEP(s, a, b) ((s) + (a) * (b))
#include "kernels/chain/tile_template.h"
#undef ROWS_MAX

#define ROWS_MAX FMA_ROWS
#define TILE SET_NAME(fma_f64)
#define STEP(s, a, b) FMA64(a, b, s)
#include "kernels/chain/tile_template.h"
#undef ROWS_MAX
#undef ELEMENT
#undef VECTOR

#undef SET
#undef SET_ATTRIBUTE
#undef HALF_ATTRIBUTE
#undef BYTES
#undef VECTORS
#undef FMA_ROWS
#undef PLAIN_ROWS
#undef FMA32
#undef FMA64
#undef ROUND_HALF
#undef KEEP_NAN
#undef ATTRIBUTE
#undef SETUP
#undef LANES
#undef SET_NAME
#undef VECTOR_OF
#undef JOINED
#undef JOINED_
