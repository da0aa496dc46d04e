/* Loads and stores of the pair carrier. A store notes what is unknown, what no pair holds, and what
 * is certain to fewer bits than ULP_PAIR_CERTAIN_BITS: ulp_step_run then has the step computed by
 * MPFR. */
#include "base/machine/thread.h"
#include "number/round/odd.h"
#include "number/round/round.h"
#include "number/strip/strip_pair.h"

/* An error of more leaves fewer leading bits than ULP_PAIR_CERTAIN_BITS. */
#define CERTAIN (1.0 / (1 << ULP_PAIR_CERTAIN_BITS))

static struct ulp_strip_pair of_integer(__int128 x)
{
    struct ulp_strip_pair y = {(double)x, 0, 0};
    y.low = (double)(x - (__int128)y.high);
    return y;
}

static struct ulp_strip_pair read_element(const struct ulp_tensor *tensor, size_t at)
{
    switch (tensor->element) {
    case ULP_ELEMENT_F32:
        return (struct ulp_strip_pair){(double)((const float *)tensor->data)[at], 0, 0};
    case ULP_ELEMENT_F64: return (struct ulp_strip_pair){((const double *)tensor->data)[at], 0, 0};
    case ULP_ELEMENT_PAIR: {
        const struct ulp_double_pair *x = (const struct ulp_double_pair *)tensor->data + at;
        return (struct ulp_strip_pair){x->high, x->low, 0};
    }
    case ULP_ELEMENT_WIDE: {
        mpfr_t x;
        ulp_record_open_const(x, ulp_record_at_const(tensor->data, at, tensor->precision),
                              tensor->precision);
        return ulp_strip_pair_from(x);
    }
    case ULP_ELEMENT_U64: return of_integer(((const uint64_t *)tensor->data)[at]);
    default: return of_integer(ulp_strip_get_int(tensor, at));
    }
}

void ulp_strip_pair_load(const struct ulp_strip_rule *rule, void *out,
                         const struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                         int64_t stride, size_t n)
{
    (void)rule;
    struct ulp_strip_pair *restrict y = out;
    const struct ulp_double_pair *pairs = tensor->data;
    const float *floats = tensor->data;
    if (tensor->element == ULP_ELEMENT_PAIR && !offset) {
        for (size_t i = 0; i < n; i++) {
            const struct ulp_double_pair x = pairs[base + (int64_t)i * stride];
            y[i] = (struct ulp_strip_pair){x.high, x.low, 0};
        }
        return;
    }
    if (tensor->element == ULP_ELEMENT_F32 && !offset) {
        for (size_t i = 0; i < n; i++)
            y[i] = (struct ulp_strip_pair){(double)floats[base + (int64_t)i * stride], 0, 0};
        return;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = read_element(tensor, ulp_strip_at(base, offset, stride, i));
}

/* x rounded once to a format whose values doubles hold (NULL: to the nearest double). */
static double round_pair(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                         double high, double low)
{
    if (!storage)
        return high;
    if (storage->precision <= 51) {
        double x = ulp_odd(high, low);
        ulp_round_doubles(storage, rule->rounding, &x, 1, 0, 0, 0);
        return x;
    }
    mp_limb_t limbs[2][ULP_STRIP_LIMBS(ULP_PAIR_RECORD_BITS)];
    mpfr_t x, y;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, ULP_PAIR_RECORD_BITS, limbs[0]);
    mpfr_custom_init_set(y, MPFR_NAN_KIND, 0, 53, limbs[1]);
    ulp_pair_get(x, high, low);
    ulp_round_mpfr(storage, rule->rounding, y, x, 0, 0, 0);
    return mpfr_get_d(y, MPFR_RNDN);
}

/* false: the error leaves open to what it is rounded. */
static bool round_surely(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                         const struct ulp_strip_pair *x, double *out)
{
    *out = round_pair(rule, storage, x->high, x->low);
    for (int side = -1; side < 2 && x->error > 0; side += 2) {
        double low;
        const double high = ulp_pair_add(x->high, x->low + side * x->error * (1 + 0x1p-40), &low);
        if (round_pair(rule, storage, high, low) != *out)
            return false;
    }
    return x->error < INFINITY;
}

/* To a tensor of another element than pairs. */
static bool store_other(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                        struct ulp_tensor *tensor, size_t at, const struct ulp_strip_pair *x)
{
    double value;
    bool sure;
    if (storage && storage->carrier == ULP_CARRIER_MPFR)
        storage = NULL;
    switch (tensor->element) {
    case ULP_ELEMENT_F32:
    case ULP_ELEMENT_F64: {
        struct ulp_format fp32;
        if (!storage && tensor->element == ULP_ELEMENT_F32 &&
            ulp_format_find("fp32", &fp32, NULL) == ULP_OK)
            storage = &fp32;
        sure = round_surely(rule, storage, x, &value);
        if (tensor->element == ULP_ELEMENT_F32)
            ((float *)tensor->data)[at] = (float)value;
        else
            ((double *)tensor->data)[at] = value;
        return sure;
    }
    case ULP_ELEMENT_WIDE: {
        struct ulp_record *record = ulp_record_at(tensor->data, at, tensor->precision);
        mpfr_t y;
        ulp_record_begin(y, record, tensor->precision);
        ulp_pair_get(y, x->high, x->low);
        ulp_record_close(record, y);
        return x->error <= CERTAIN * fabs(x->high) || (x->error == 0 && !isnan(x->error));
    }
    case ULP_ELEMENT_BOOL: {
        const int truth = ulp_strip_pair_truth(x);
        ((uint8_t *)tensor->data)[at] = truth > 0;
        return truth >= 0;
    }
    default: {
        const struct ulp_strip_pair whole = ulp_strip_pair_truncate(*x);
        ulp_strip_set_int(tensor, at, ulp_strip_truncate_pair(tensor, whole.high, whole.low));
        return whole.error == 0;
    }
    }
}

/* Pairs as they are, without branches; what they note. */
static size_t store_pairs(struct ulp_double_pair *restrict out, int64_t stride,
                          const struct ulp_strip_pair *restrict x, size_t n)
{
    size_t unsure = 0, outside = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(x[i].high), error = x[i].error;
        const bool sure = (error == 0) | (error <= CERTAIN * size),
                   holds = !(size < INFINITY) | (size == 0) |
                           ((size >= ULP_PAIR_LEAST) & (size <= ULP_PAIR_MOST));
        out[(int64_t)i * stride] = (struct ulp_double_pair){x[i].high, x[i].low};
        unsure += !sure;
        outside += sure & !holds;
    }
    return unsure + outside * ULP_NOTE_OUTSIDE;
}

void ulp_strip_pair_store(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                          struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                          int64_t stride, const void *in, size_t n, struct ulp_strip_place place)
{
    (void)place; /* of stochastic rounding, which the reference has not */
    const struct ulp_strip_pair *x = in;
    struct ulp_double_pair *pairs = tensor->element == ULP_ELEMENT_PAIR ? tensor->data : NULL;
    size_t unknown = 0;
    const bool rounds = storage && storage->carrier != ULP_CARRIER_MPFR;
    const bool plain = pairs && !rounds && !offset;
    if (plain)
        unknown = store_pairs(pairs + base, stride, x, n);
    for (size_t i = 0; i < n && !plain; i++) {
        const size_t at = ulp_strip_at(base, offset, stride, i);
        if (!pairs) {
            unknown += !store_other(rule, storage, tensor, at, &x[i]);
            continue;
        }
        const bool sure = x[i].error == 0 || x[i].error <= CERTAIN * fabs(x[i].high);
        if (rounds) {
            double value;
            unknown += !round_surely(rule, storage, &x[i], &value);
            pairs[at] = (struct ulp_double_pair){value, 0};
            continue;
        }
        pairs[at] = (struct ulp_double_pair){x[i].high, x[i].low};
        unknown += !sure ? 1 : ulp_pair_holds(x[i].high) ? 0 : ULP_NOTE_OUTSIDE;
    }
    if (unknown)
        ulp_note(unknown);
}
