/* The five kinds of ROUNDED tiles for one instruction set. Parameters, undefined again at the end:
 *   NAME(x)     joins x and the instruction set
 *   ATTRIBUTE   its target attribute
 *   VECTOR      of LANES doubles, BITS of as many uint64_t (vector_size attribute)
 *   MAX(x, y), MIN(x, y)       of vectors without NaN
 *   WHERE_LESS(x, y, u, v)     lanes of u where x < y, else (NaN too) of v
 *   WHERE_NONZERO(x, u, v)     lanes of u where x < 0 or x > 0, else (NaN too) of v
 * Instantiated by tile_rounded.c. */

#include "kernels/chain/rounded_template.h"

#define ELEMENT double
#define VECTORS 2
#define ROWS_MAX 4

#define SETUP const struct NAME(rounder) r = NAME(make_rounder)(&rule->sum, rule->rounding);
/* Two roundings to nearest in the same format of at most 25 bits: double rounding of its sums is
 * innocuous. */
#define TILE NAME(same)
#define STEP(s, a, b) NAME(round)(&r, (s) + NAME(round)(&r, (a) * (b), true), true)
#include "kernels/chain/tile_template.h"

/* Nearest even, fused. */
#define TILE NAME(fused)
#define STEP(s, a, b) NAME(round)(&r, NAME(add_odd)((s), (a) * (b)), true)
#include "kernels/chain/tile_template.h"

/* The other modes, fused. */
#define TILE NAME(any_fused)
#define STEP(s, a, b) NAME(round)(&r, NAME(add_odd)((s), (a) * (b)), false)
#include "kernels/chain/tile_template.h"
#undef SETUP

#define SETUP                                                                          \
    const struct NAME(rounder) p = NAME(make_rounder)(&rule->product, rule->rounding), \
                               r = NAME(make_rounder)(&rule->sum, rule->rounding);
/* Nearest even, the product in another format. */
#define TILE NAME(mixed)
#define STEP(s, a, b) NAME(round)(&r, NAME(add_odd)((s), NAME(round)(&p, (a) * (b), true)), true)
#include "kernels/chain/tile_template.h"

/* The other modes. */
#define TILE NAME(any)
#define STEP(s, a, b) NAME(round)(&r, NAME(add_odd)((s), NAME(round)(&p, (a) * (b), false)), false)
#include "kernels/chain/tile_template.h"
#undef SETUP

#undef NAME
#undef ATTRIBUTE
#undef VECTOR
#undef BITS
#undef LANES
#undef WHERE_LESS
#undef WHERE_NONZERO
#undef MAX
#undef MIN
#undef ELEMENT
#undef VECTORS
#undef ROWS_MAX
