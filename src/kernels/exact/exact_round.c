/* The one rounding at the end of a wide sum. */
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
