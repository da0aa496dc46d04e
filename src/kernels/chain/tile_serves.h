/* Which rules a tile of vectors computes: the same of every instruction set. */
#pragma once

#include "kernels/chain/step.h"
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
static inline bool serves_u32(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_UINT32;
}
static inline bool serves_u64(const struct ulp_step_rule *rule)
{
    return rule->step == ULP_STEP_UINT64;
}

static inline bool is_ieee(const struct ulp_format *format, int precision, int emax)
{
    return format->precision == precision && format->emax == emax && format->emin == 1 - emax &&
           format->subnormals && format->signed_zero && format->overflow == ULP_OVERFLOW_INFINITY;
}

/* Products and sums, each rounded to nearest even in one IEEE-like format, which the factors are
 * values of. */
static inline bool serves_strict(const struct ulp_step_rule *rule, int precision, int emax)
{
    return rule->step == ULP_STEP_ROUNDED && !rule->fused &&
           rule->rounding == ULP_ROUND_NEAREST_EVEN && is_ieee(&rule->product, precision, emax) &&
           is_ieee(&rule->sum, precision, emax) && ulp_format_holds(&rule->sum, &rule->factor);
}
static inline bool serves_fp16(const struct ulp_step_rule *rule)
{
    return serves_strict(rule, 11, 15);
}
static inline bool serves_bf16(const struct ulp_step_rule *rule)
{
    return serves_strict(rule, 8, 127);
}
