/* The one rounding at the end of a wide sum, from limbs whose distance from the exact sum is
 * bounded: it is done only when every number within the bound rounds to the same P bits (Ziv's
 * test), else the caller computes exactly. */
#include "kernels/exact/parts.h"

#include "base/machine/thread.h"
#include "number/round/round.h"

/* An mpfr_t on memory of its own, for any precision that occurs here. */
struct local {
    mpfr_t value;
    mp_limb_t limbs[(ULP_MPFR_PRECISION_MAX + ULP_WIDE_EXTRA_BITS) / GMP_NUMB_BITS + 1];
};

static void local_begin(struct local *local, int precision)
{
    mpfr_custom_init_set(local->value, MPFR_ZERO_KIND, 0, precision, local->limbs);
}

void ulp_wide_store(const struct ulp_wide_call *call, int64_t element, const mpfr_t sum)
{
    const struct ulp_contraction *problem = &call->problem;
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    struct ulp_tensor *out = problem->out;
    struct local accumulator, stored;
    local_begin(&accumulator, call->precision);
    if (mpfr_zero_p(sum))
        mpfr_set_zero(accumulator.value, +1);
    else if (call->nearest || !mpfr_regular_p(sum))
        mpfr_set(accumulator.value, sum, MPFR_RNDN);
    else
        ulp_round_mpfr(&arithmetic->accumulator, arithmetic->rounding, accumulator.value, sum,
                       arithmetic->seed, 0, (uint64_t)element);
    local_begin(&stored, arithmetic->storage.precision);
    mpfr_srcptr result = accumulator.value;
    if (problem->store && !call->same_storage) {
        ulp_round_mpfr(&arithmetic->storage, arithmetic->rounding, stored.value, accumulator.value,
                       arithmetic->seed, 1, (uint64_t)element);
        result = stored.value;
    }
    if (out->element == ULP_ELEMENT_F32) {
        ((float *)out->data)[element] = mpfr_get_flt(result, MPFR_RNDN);
    } else if (out->element == ULP_ELEMENT_F64) {
        ((double *)out->data)[element] = mpfr_get_d(result, MPFR_RNDN);
    } else if (out->element == ULP_ELEMENT_PAIR) {
        bool exact;
        ulp_note(!ulp_pair_set((struct ulp_double_pair *)out->data + element, result, &exact));
    } else {
        struct ulp_record *record = ulp_record_at(out->data, (size_t)element, out->precision);
        mpfr_t x;
        ulp_record_begin(x, record, out->precision);
        mpfr_set(x, result, MPFR_RNDN);
        ulp_record_close(record, x);
    }
}

/* The sum in other roundings: through MPFR, from exact limbs only. */
static bool round_generally(const struct ulp_wide_call *call, int64_t element, mp_limb_t *x,
                            size_t count, int64_t exponent, bool negative, uint64_t error)
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
    ulp_wide_store(call, element, sum);
    return true;
}

void ulp_wide_store_special(const struct ulp_wide_call *call, int64_t element, int kind)
{
    if (call->as_records) {
        struct ulp_record *record =
            ulp_record_at(call->problem.out->data, (size_t)element, call->precision);
        record->kind = kind;
        record->exponent = 0;
        memset(record->limbs, 0, ulp_record_bytes(call->precision) - sizeof *record);
        return;
    }
    mpfr_t sum;
    mp_limb_t limb = 0;
    mpfr_custom_init_set(sum, kind, 0, GMP_NUMB_BITS, &limb);
    ulp_wide_store(call, element, sum);
}

/* 64 bits of x from bit 64 * i + shift below its top on. */
static inline uint64_t word_from_top(const mp_limb_t *x, size_t count, size_t i, int shift)
{
    uint64_t high = i < count ? x[count - 1 - i] : 0, low = i + 1 < count ? x[count - 2 - i] : 0;
    return high << shift | low >> 1 >> (63 - shift);
}

/* Is any bit of x set from bit 64 * i + shift below its top on? */
static bool any_from_top(const mp_limb_t *x, size_t count, size_t i, int shift)
{
    uint64_t any = 0;
    for (; i < count; i++, shift = 0)
        any |= x[count - 1 - i] << shift;
    return any != 0;
}

/* Ziv's test. `after`: the 64 bits that follow the first P of x, which has `count` limbs and
 * `shift` zero bits on top. Is every number within `error` units of x's last bit on the same side
 * of the middle? */
static bool is_decided(uint64_t after, uint64_t error, size_t count, int shift, int precision)
{
    const uint64_t half = (uint64_t)1 << 63;
    /* The error in units of `after`, whose last bit is `scale` bits above x's. Two more: what is
     * cut off from the error, and from x below `after`. With an error below 2^62 a change of binade
     * within it cannot matter. */
    int64_t scale = 64 * (int64_t)count - shift - precision - 64;
    if (scale < 0 && (scale <= -64 || error >> (64 + scale)))
        return false;
    error = (scale >= 64 ? 0 : scale >= 0 ? error >> scale : error << -scale) + 2;
    return error < half >> 1 && (after > half ? after - half : half - after) > error;
}

/* ulp_wide_round, P a constant where this is called. */
static inline __attribute__((always_inline)) bool round_sum(const struct ulp_wide_call *call,
                                                            int64_t element, mp_limb_t *x,
                                                            size_t count, int64_t lsb,
                                                            bool negative, uint64_t error,
                                                            int precision)
{
    while (count && x[count - 1] == 0)
        count--;
    if (!count) {
        if (!error)
            ulp_wide_store_special(call, element, MPFR_ZERO_KIND);
        return !error;
    }
    const int shift = __builtin_clzll(x[count - 1]);
    int64_t exponent = lsb + 64 * (int64_t)count - shift;
    if (!call->nearest) {
        if (shift)
            mpn_lshift(x, x, (mp_size_t)count, (unsigned)shift);
        return round_generally(call, element, x, count, exponent, negative, error);
    }
    const size_t kept = ((size_t)precision + 63) / 64;
    const int unused = (int)(64 * kept) - precision;
    uint64_t last = word_from_top(x, count, kept - 1, shift),
             next = word_from_top(x, count, kept, shift);
    uint64_t after = unused ? last << (64 - unused) | next >> unused : next;
    const uint64_t half = (uint64_t)1 << 63;
    if (error && !is_decided(after, error, count, shift, precision))
        return false;
    bool up = after > half;
    if (after == half)
        up = (last >> unused & 1) || (unused && next << (64 - unused)) ||
             any_from_top(x, count, kept + 1, shift);

    _Alignas(struct ulp_record) char local[sizeof(struct ulp_record) + ULP_MPFR_PRECISION_MAX / 8];
    struct ulp_record *record = (struct ulp_record *)local;
    if (call->as_records)
        record = ulp_record_at(call->problem.out->data, (size_t)element, precision);
    uint64_t carry = (uint64_t)up << unused;
    last &= ~(uint64_t)0 << unused;
    for (size_t i = kept; i-- > 0; last = i ? word_from_top(x, count, i - 1, shift) : 0)
        carry = __builtin_add_overflow(last, carry, &record->limbs[kept - 1 - i]);
    if (carry) {
        record->limbs[kept - 1] = half;
        exponent++;
    }
    record->exponent = exponent;
    record->kind = negative ? -MPFR_REGULAR_KIND : MPFR_REGULAR_KIND;
    if (!call->as_records) {
        mpfr_t sum;
        ulp_record_open(sum, record, call->precision);
        ulp_wide_store(call, element, sum);
    }
    return true;
}

bool ulp_wide_round(const struct ulp_wide_call *call, int64_t element, mp_limb_t *x, size_t count,
                    int64_t lsb, bool negative, uint64_t error)
{
    return call->precision == 128
               ? round_sum(call, element, x, count, lsb, negative, error, 128)
               : round_sum(call, element, x, count, lsb, negative, error, call->precision);
}
