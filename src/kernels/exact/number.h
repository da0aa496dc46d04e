/* An element of a factor as sign, exponent and limbs, whatever its type: what the wide kernels read
 * operands with. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "kernels/contract.h"
#include "number/mpfr_record.h"

/* The number is 0.L * 2^exponent, L the limbs, the top bit of the most significant one set. */
struct ulp_wide_number {
    int kind; /* MPFR_NAN_KIND, MPFR_INF_KIND, MPFR_ZERO_KIND or MPFR_REGULAR_KIND */
    bool negative;
    int limb_count;
    int64_t exponent;
    /* least significant first; of this struct's own memory for F32 and F64 */
    const mp_limb_t *limbs;
    mp_limb_t limb;
};

static inline void ulp_wide_read_double(struct ulp_wide_number *x, double value)
{
    const uint64_t bits = ulp_double_bits(value);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52) & 0x7ff;
    x->negative = bits >> 63;
    x->limb_count = 1;
    x->limbs = &x->limb;
    if (biased == 0x7ff) {
        x->kind = fraction ? MPFR_NAN_KIND : MPFR_INF_KIND;
    } else if (biased) {
        x->kind = MPFR_REGULAR_KIND;
        x->limb = fraction << 11 | (uint64_t)1 << 63;
        x->exponent = biased - 1022;
    } else if (fraction) {
        int shift = __builtin_clzll(fraction);
        x->kind = MPFR_REGULAR_KIND;
        x->limb = fraction << shift;
        x->exponent = -1010 - shift;
    } else {
        x->kind = MPFR_ZERO_KIND;
    }
}

static inline void ulp_wide_read(struct ulp_wide_number *x, const struct ulp_tensor *tensor,
                                 int64_t index)
{
    if (tensor->element == ULP_ELEMENT_F32) {
        ulp_wide_read_double(x, (double)((const float *)tensor->data)[index]);
        return;
    }
    if (tensor->element == ULP_ELEMENT_F64) {
        ulp_wide_read_double(x, ((const double *)tensor->data)[index]);
        return;
    }
    const struct ulp_record *record =
        ulp_record_at_const(tensor->data, (size_t)index, tensor->precision);
    x->negative = record->kind < 0;
    x->kind = abs((int)record->kind);
    x->exponent = record->exponent;
    x->limb_count = (tensor->precision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
    x->limbs = record->limbs;
}
