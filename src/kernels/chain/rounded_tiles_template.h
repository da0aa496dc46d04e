/* The three kinds of ROUNDED tiles for one instruction set. Included by
 * base/machine/each_cpu_template.h. */

typedef double NAMED(f64) __attribute__((vector_size(VECTOR_BITS / 8), may_alias));
typedef uint64_t NAMED(u64) __attribute__((vector_size(VECTOR_BITS / 8), may_alias));

#define ATTRIBUTE ATTRIBUTES
#define VECTOR NAMED(f64)
#define BITS NAMED(u64)
#define LANES (VECTOR_BITS / 64)
/* Lanes of u where the condition holds, else (NaN too) of v. */
#define SELECT(condition, u, v) \
    (VECTOR)(((BITS)(condition) & (BITS)(u)) | (~(BITS)(condition) & (BITS)(v)))

#include "kernels/chain/rounded_template.h"

#define ELEMENT double
#define VECTORS 2
#define ROWS_MAX 4

#define SETUP const struct NAMED(rounder) r = NAMED(make_rounder)(&rule->sum);
/* Two roundings to nearest in the same format of at most 25 bits: double rounding of its sums is
 * innocuous. */
#define TILE NAMED(same)
#define STEP(s, a, b) NAMED(round)(&r, (s) + NAMED(round)(&r, (a) * (b)))
#include "kernels/chain/tile_template.h"

/* Fused. */
#define TILE NAMED(fused)
#define STEP(s, a, b) NAMED(round)(&r, NAMED(add_odd)((s), (a) * (b)))
#include "kernels/chain/tile_template.h"
#undef SETUP

#define SETUP                                                            \
    const struct NAMED(rounder) p = NAMED(make_rounder)(&rule->product), \
                                r = NAMED(make_rounder)(&rule->sum);
/* The product in another format. */
#define TILE NAMED(mixed)
#define STEP(s, a, b) NAMED(round)(&r, NAMED(add_odd)((s), NAMED(round)(&p, (a) * (b))))
#include "kernels/chain/tile_template.h"
#undef SETUP

#undef ATTRIBUTE
#undef VECTOR
#undef BITS
#undef LANES
#undef SELECT
#undef ELEMENT
#undef VECTORS
#undef ROWS_MAX
