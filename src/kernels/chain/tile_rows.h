/* Which rules a tile of vectors computes, and the rows of the tiles that tile_set.h defines: the
 * same of every instruction set. */
#pragma once

#include "kernels/chain/tile.h"
#include "number/round/round.h"

static inline bool serves_fma_f32(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_FLOAT && rule->fused;
}
static inline bool serves_muladd_f32(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_FLOAT && !rule->fused;
}
static inline bool serves_fma_f64(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_DOUBLE && rule->fused;
}
static inline bool serves_muladd_f64(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_DOUBLE && !rule->fused;
}

/* Products and sums, each rounded to nearest even in one IEEE-like format, which the factors are
 * values of. */
static inline bool serves_strict(const struct ulp_step_rule *rule, int precision, int emax)
{
    return rule->step == ULP_STEP_ROUNDED && !rule->fused &&
           rule->rounding == ULP_ROUND_NEAREST_EVEN &&
           ulp_format_is_ieee(&rule->product, precision, emax) &&
           ulp_format_is_ieee(&rule->sum, precision, emax) &&
           ulp_format_holds(&rule->sum, &rule->factor);
}
static inline bool serves_fp16(const struct ulp_step_rule *rule)
{
    return serves_strict(rule, 11, 15);
}
static inline bool serves_bf16(const struct ulp_step_rule *rule)
{
    return serves_strict(rule, 8, 127);
}

/* The tiles of so many rows. */
#define RUN_4(tile)                                    \
    {                                                  \
        [1] = tile##_1, [2] = tile##_2, [4] = tile##_4 \
    }
#define RUN_6(tile)                                                    \
    {                                                                  \
        [1] = tile##_1, [2] = tile##_2, [4] = tile##_4, [6] = tile##_6 \
    }
#define RUN_8(tile)                                                    \
    {                                                                  \
        [1] = tile##_1, [2] = tile##_2, [4] = tile##_4, [8] = tile##_8 \
    }
#define RUN_14(tile)                                                                      \
    {                                                                                     \
        [1] = tile##_1, [2] = tile##_2, [4] = tile##_4, [8] = tile##_8, [10] = tile##_10, \
        [12] = tile##_12, [14] = tile##_14                                                \
    }
#define TILE_ROW(set, cpu, name, element, lanes, vectors, run)                                   \
    {                                                                                            \
        cpu, serves_##name, ULP_ELEMENT_##element, (vectors) * (lanes), run(name##_##set), lanes \
    }
#define TILE_ROWS(set, cpu, half_cpu, bytes, vectors, fma, plain)         \
    TILE_ROW(set, cpu, fma_f32, F32, (bytes) / 4, vectors, fma),          \
        TILE_ROW(set, cpu, muladd_f32, F32, (bytes) / 4, vectors, plain), \
        TILE_ROW(set, cpu, fma_f64, F64, (bytes) / 8, vectors, fma),      \
        TILE_ROW(set, cpu, muladd_f64, F64, (bytes) / 8, vectors, plain), \
        TILE_ROW(set, half_cpu, fp16, F32, (bytes) / 4, vectors, plain),  \
        TILE_ROW(set, cpu, bf16, F32, (bytes) / 4, vectors, plain)
