/* The portable tile, in the compiler's own vectors of two doubles, and the list of all tiles. */
#include "kernels/digit/digit_tile.h"

#include <string.h>

typedef double vector __attribute__((vector_size(16)));
typedef int64_t integers __attribute__((vector_size(16)));

static inline vector load(const double *p)
{
    vector x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* |s| <= 2^53 is rounded to an integer in two parts: added to 1.5 * 2^60, whose last place is 2^8,
 * and what that leaves to 1.5 * 2^52, whose last place is 1. The low bits of these sums are the
 * integers. */
static inline void flush(int64_t *sums, vector s)
{
    const vector coarse = {0x1.8p60, 0x1.8p60}, fine = {0x1.8p52, 0x1.8p52};
    const vector high = s + coarse, low = s - (high - coarse) + fine;
    integers old, new = (((integers)high - (integers)coarse) << 8) + (integers)low - (integers)fine;
    memcpy(&old, sums, sizeof old);
    old += new;
    memcpy(sums, &old, sizeof old);
}

#define SUFFIX portable
#define TARGET
#define LANES 2
#define VECTOR vector
#define DIGIT double
#define SPREAD(p) ((vector){*(p), *(p)})
#define LOAD(p) load(p)
#define ADD_HIGH(s, a, b) ((s) + (a) * (b))
#define ADD_LOW(s, a, b) ((s) + (a) * (b))
#define FLUSH(carries, sums, s) ((void)(carries), flush(sums, s))
#define INSTANCES(F) F(1, 1) F(2, 1) F(4, 1) F(1, 2) F(2, 2) F(4, 2)
#include "kernels/digit/tile_template.h"

const struct ulp_wide_tile ulp_wide_tile_portable = {
    .lanes = 2,
    .rows_max = 4,
    .vectors_max = 2,
    .carry = carry_portable,
    .run = {{run_portable_r1v1, run_portable_r1v2},
            {run_portable_r2v1, run_portable_r2v2},
            {run_portable_r4v1, run_portable_r4v2}},
};

const struct ulp_wide_tile *ulp_wide_tile_row(size_t index)
{
    static const struct ulp_wide_tile *const rows[] = {
#ifdef __x86_64__
        &ulp_wide_tile_ifma,     &ulp_wide_tile_avx512,
        &ulp_wide_tile_avx2,
#endif
        &ulp_wide_tile_portable, NULL,
    };
    return index < sizeof rows / sizeof rows[0] ? rows[index] : NULL;
}
