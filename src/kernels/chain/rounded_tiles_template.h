/* The five kinds of ROUNDED tiles for one instruction set. Parameters, undefined again at the end:
 *   NAME(kind)   of a tile: joins kind and the instruction set
 *   TILE_ATTRIBUTE, TILE_VECTOR, TILE_LANES  as ATTRIBUTE, ... of tile_template.h
 *   ROUNDER, MAKE, ROUND, ADD_ODD  from rounded_template.h: struct, make_rounder, round, add_odd
 * Instantiated by tile_rounded.c. */

/* Two roundings to nearest in the same format of at most 25 bits: double rounding of its sums is
 * innocuous. */
#define TILE NAME(same)
#define ATTRIBUTE TILE_ATTRIBUTE
#define ELEMENT double
#define VECTOR TILE_VECTOR
#define LANES TILE_LANES
#define VECTORS 2
#define ROWS_MAX 4
#define SETUP const ROUNDER r = MAKE(&rule->sum, rule->rounding);
#define STEP(s, a, b) ROUND(&r, (s) + ROUND(&r, (a) * (b), true), true)
#include "kernels/chain/tile_template.h"

/* Nearest even, the product in another format. */
#define TILE NAME(mixed)
#define ATTRIBUTE TILE_ATTRIBUTE
#define ELEMENT double
#define VECTOR TILE_VECTOR
#define LANES TILE_LANES
#define VECTORS 2
#define ROWS_MAX 4
#define SETUP \
    const ROUNDER p = MAKE(&rule->product, rule->rounding), r = MAKE(&rule->sum, rule->rounding);
#define STEP(s, a, b) ROUND(&r, ADD_ODD((s), ROUND(&p, (a) * (b), true)), true)
#include "kernels/chain/tile_template.h"

/* Nearest even, fused. */
#define TILE NAME(fused)
#define ATTRIBUTE TILE_ATTRIBUTE
#define ELEMENT double
#define VECTOR TILE_VECTOR
#define LANES TILE_LANES
#define VECTORS 2
#define ROWS_MAX 4
#define SETUP const ROUNDER r = MAKE(&rule->sum, rule->rounding);
#define STEP(s, a, b) ROUND(&r, ADD_ODD((s), (a) * (b)), true)
#include "kernels/chain/tile_template.h"

/* The other modes. */
#define TILE NAME(any)
#define ATTRIBUTE TILE_ATTRIBUTE
#define ELEMENT double
#define VECTOR TILE_VECTOR
#define LANES TILE_LANES
#define VECTORS 2
#define ROWS_MAX 4
#define SETUP \
    const ROUNDER p = MAKE(&rule->product, rule->rounding), r = MAKE(&rule->sum, rule->rounding);
#define STEP(s, a, b) ROUND(&r, ADD_ODD((s), ROUND(&p, (a) * (b), false)), false)
#include "kernels/chain/tile_template.h"

#define TILE NAME(any_fused)
#define ATTRIBUTE TILE_ATTRIBUTE
#define ELEMENT double
#define VECTOR TILE_VECTOR
#define LANES TILE_LANES
#define VECTORS 2
#define ROWS_MAX 4
#define SETUP const ROUNDER r = MAKE(&rule->sum, rule->rounding);
#define STEP(s, a, b) ROUND(&r, ADD_ODD((s), (a) * (b)), false)
#include "kernels/chain/tile_template.h"

#undef NAME
#undef TILE_ATTRIBUTE
#undef TILE_VECTOR
#undef TILE_LANES
#undef ROUNDER
#undef MAKE
#undef ROUND
#undef ADD_ODD
