/* The one rounding at the end of a wide sum, from limbs whose distance from the exact sum is bounded: it is done only when
 * every number within the bound rounds to the same P bits (Ziv's test), else the caller computes exactly. */
#include "kernels/wide_parts.h"

/* The sum in other roundings or formats: through MPFR, from exact limbs only. */
static bool round_generally(const struct ulp_wide_call *call, struct ulp_wide_place place, mp_limb_t *x, size_t count,
                            int64_t exponent, bool negative, uint64_t error)
{
    if (error)
        return false;
    mpfr_t all, sum;
    mp_limb_t limbs[(ULP_MPFR_PRECISION_MAX + ULP_WIDE_EXTRA_BITS) / GMP_NUMB_BITS + 1];
    mpfr_custom_init_set(all, negative ? -MPFR_REGULAR_KIND : MPFR_REGULAR_KIND, exponent,
                         (mpfr_prec_t)count * GMP_NUMB_BITS, x);
    mpfr_custom_init_set(sum, MPFR_ZERO_KIND, 0, call->precision + ULP_WIDE_EXTRA_BITS, limbs);
    if (mpfr_set(sum, all, MPFR_RNDZ))
        ulp_wide_make_odd(sum);
    ulp_wide_store(call, place, sum);
    return true;
}

void ulp_wide_store_special(const struct ulp_wide_call *call, struct ulp_wide_place place, int kind)
{
    if (call->direct) {
        struct ulp_record *record =
            ulp_record_at(call->problem.out->data, (size_t)ulp_wide_out(&call->problem, place), call->precision);
        record->kind = kind;
        record->exponent = 0;
        memset(record->limbs, 0, ulp_record_bytes(call->precision) - sizeof *record);
        return;
    }
    mpfr_t sum;
    mp_limb_t limb = 0;
    mpfr_custom_init_set(sum, kind, 0, GMP_NUMB_BITS, &limb);
    ulp_wide_store(call, place, sum);
}

/* The 64 bits of x that follow its first P, x having its top bit set; *rest says whether any lower bit is set. */
static uint64_t bits_after(const mp_limb_t *x, size_t count, size_t kept, int unused, bool *rest)
{
    *rest = false;
    if (count < kept)
        return 0;
    size_t below = count - kept; /* limbs below those that hold the first P bits */
    uint64_t next = below ? x[below - 1] : 0;
    for (size_t i = 0; i + 1 < below; i++)
        *rest |= x[i] != 0;
    if (!unused)
        return next;
    *rest |= next << (64 - unused) != 0;
    return x[below] << (64 - unused) | next >> unused;
}

bool ulp_wide_round(const struct ulp_wide_call *call, struct ulp_wide_place place, mp_limb_t *x, size_t count, int64_t lsb,
                    bool negative, uint64_t error)
{
    while (count && x[count - 1] == 0)
        count--;
    if (!count) {
        if (!error)
            ulp_wide_store_special(call, place, MPFR_ZERO_KIND);
        return !error;
    }
    int shift = __builtin_clzll(x[count - 1]);
    if (shift)
        mpn_lshift(x, x, (mp_size_t)count, (unsigned)shift);
    int64_t exponent = lsb + 64 * (int64_t)count - shift;
    if (!call->direct)
        return round_generally(call, place, x, count, exponent, negative, error);

    size_t kept = ((size_t)call->precision + 63) / 64;
    int unused = (int)(64 * kept) - call->precision;
    bool rest, up;
    uint64_t after = bits_after(x, count, kept, unused, &rest);
    if (error) {
        /* The error in units of `after`, whose last bit is `scale` bits of the caller's unit up. Two more: the bits
         * cut off from the error, and those of x below `after`. Below 2^62 no change of binade can matter. */
        int64_t scale = 64 * (int64_t)count - call->precision - 64 - shift;
        if (scale < 0 && (scale <= -64 || error >> (64 + scale)))
            return false;
        error = (scale >= 64 ? 0 : scale >= 0 ? error >> scale : error << -scale) + 2;
        uint64_t half = (uint64_t)1 << 63, distance = after > half ? after - half : half - after;
        if (error >= half >> 1 || distance <= error)
            return false;
        up = after > half;
    } else {
        const uint64_t half = (uint64_t)1 << 63;
        bool odd = count >= kept && (x[count - kept] >> unused & 1);
        up = after > half || (after == half && (rest || odd));
    }
    struct ulp_record *record =
        ulp_record_at(call->problem.out->data, (size_t)ulp_wide_out(&call->problem, place), call->precision);
    for (size_t i = 0; i < kept; i++) {
        size_t down = kept - 1 - i; /* limbs from the top */
        record->limbs[i] = down < count ? x[count - 1 - down] : 0;
    }
    record->limbs[0] &= ~(mp_limb_t)0 << unused;
    if (up && mpn_add_1(record->limbs, record->limbs, (mp_size_t)kept, (mp_limb_t)1 << unused)) {
        record->limbs[kept - 1] = (mp_limb_t)1 << 63;
        exponent++;
    }
    record->exponent = exponent;
    record->kind = negative ? -MPFR_REGULAR_KIND : MPFR_REGULAR_KIND;
    return true;
}
