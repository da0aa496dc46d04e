/* Tiles for the formats the processor does not have: every step is a double, rounded to odd where
 * it is not exact, and then rounded to the format in the same vector. One source for AVX-512, AVX2
 * and portable vectors, to nearest even; other roundings have the plain steps. */
#include "kernels/chain/tile.h"

#include <math.h>

#include "base/machine/cpu.h"
#include "number/round/round.h"

/* What rounded_template.h spreads over vectors. */
struct rounder_scalars {
    double smallest; /* 2^emin */
    /* 1.5 * 2^(53 - precision): times 2^e, what pushes the bits below the ulp out of a sum */
    double shift;
    double largest; /* max_finite */
    double over;    /* what larger magnitudes become */
    double flushed; /* smaller magnitudes become zero; 0 when subnormals are kept */
};

static struct rounder_scalars make_scalars(const struct ulp_format *format)
{
    return (struct rounder_scalars){
        .smallest = ldexp(1, format->emin),
        .shift = ldexp(1.5, 53 - format->precision),
        .largest = format->max_finite,
        .over = format->overflow == ULP_OVERFLOW_SATURATE ? format->max_finite
                : format->overflow == ULP_OVERFLOW_NAN    ? NAN
                                                          : INFINITY,
        .flushed = format->subnormals ? 0 : ldexp(1, format->emin),
    };
}

#define TEMPLATE "kernels/chain/rounded_tiles_template.h"
#include "base/machine/each_cpu_template.h"

static bool serves(const struct ulp_step_rule *rule, bool fused)
{
    return rule->step == ULP_STEP_ROUNDED && rule->rounding == ULP_ROUND_NEAREST_EVEN &&
           rule->fused == fused && rule->sum.signed_zero && rule->product.signed_zero;
}
static bool serves_fused(const struct ulp_step_rule *rule)
{
    return serves(rule, true);
}
static bool serves_mixed(const struct ulp_step_rule *rule)
{
    return serves(rule, false);
}
/* The product is rounded as the sum is: the same values, and the same beyond the largest. */
static bool serves_same(const struct ulp_step_rule *rule)
{
    return serves(rule, false) && rule->sum.precision <= 25 &&
           rule->product.overflow == rule->sum.overflow &&
           ulp_format_holds(&rule->product, &rule->sum) &&
           ulp_format_holds(&rule->sum, &rule->product);
}

#define ROW(needs, serves, tile, lanes)                         \
    {                                                           \
        needs, serves, ULP_ELEMENT_F64, 2 * (lanes),            \
            {[1] = tile##_1, [2] = tile##_2, [4] = tile##_4}, 0 \
    }

/* clang-format off */
const struct ulp_tile ulp_tiles_rounded[] = {
#if ULP_X86_VECTORS
    ROW(ULP_CPU_AVX512, serves_same, same_avx512, 8),
    ROW(ULP_CPU_AVX512, serves_mixed, mixed_avx512, 8),
    ROW(ULP_CPU_AVX512, serves_fused, fused_avx512, 8),
    ROW(ULP_CPU_AVX2, serves_same, same_avx2, 4),
    ROW(ULP_CPU_AVX2, serves_mixed, mixed_avx2, 4),
    ROW(ULP_CPU_AVX2, serves_fused, fused_avx2, 4),
#endif
    ROW(0, serves_same, same_portable, 2),
    ROW(0, serves_mixed, mixed_portable, 2),
    ROW(0, serves_fused, fused_portable, 2),
    {.serves = NULL},
};
/* clang-format on */
