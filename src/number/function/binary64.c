/* Elementary functions in 53 bits, rounded to nearest or to odd. A pair of doubles with a bound
 * (function/pair.h) decides all but about one element in a thousand; those are computed in fixed
 * point where it has the function, and by MPFR. */
#include "number/fixed/fixed_function.h"
#include "number/function/pair.h"
#include "number/mpfr_record.h"
#include "number/round/odd.h"

#include <math.h>

#define OPERAND_BITS 53
#define RECORD_WORDS 3 /* of such an operand */

/* The operands and result of one element as MPFR values, without allocation. */
struct exact {
    mpfr_t a, b, out;
    mp_limb_t limbs[3][(64 + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS];
};

/* x->out = f(a[, b]) at 64 bits toward zero; returns the ternary value. */
static int compute_exactly(struct exact *x, enum ulp_primitive primitive, double a, double b)
{
    mpfr_custom_init_set(x->a, MPFR_NAN_KIND, 0, OPERAND_BITS, x->limbs[0]);
    mpfr_custom_init_set(x->b, MPFR_NAN_KIND, 0, OPERAND_BITS, x->limbs[1]);
    mpfr_custom_init_set(x->out, MPFR_NAN_KIND, 0, 64, x->limbs[2]);
    mpfr_set_d(x->a, a, MPFR_RNDN);
    mpfr_set_d(x->b, b, MPFR_RNDN);
    return ulp_function_mpfr(primitive, x->out, x->a, x->b, MPFR_RNDZ);
}

/* To odd at 64 bits, so that one conversion to double, subnormal or not, is the rounding. */
static double round_exactly(enum ulp_primitive primitive, double a, double b)
{
    struct exact x;
    const int ternary = compute_exactly(&x, primitive, a, b);
    if (ternary != 0 && mpfr_regular_p(x.out))
        x.limbs[2][0] |= 1;
    return mpfr_get_d(x.out, MPFR_RNDN);
}

/* A record of 53 bits as a double. False: it is none, or a subnormal, whose rounding is another. */
static bool take_binary64(double *out, const struct ulp_record *x)
{
    const bool negative = x->kind < 0;
    if ((negative ? -x->kind : x->kind) != MPFR_REGULAR_KIND || x->exponent < -1021 ||
        x->exponent > 1024)
        return false;
    const uint64_t bits = (uint64_t)negative << 63 | (uint64_t)(x->exponent + 1022) << 52 |
                          (x->limbs[0] >> 11 & ((UINT64_C(1) << 52) - 1));
    *out = ulp_double_from(bits);
    return true;
}

/* In place; the elements that the reference's fast path does not decide (fixed/fixed_function.h)
 * are MPFR's. */
static void compute_by_records(enum ulp_primitive primitive, ulp_wide_fn *quick, double *x,
                               size_t n)
{
    struct ulp_record *records[2];
    uint64_t memory[2][RECORD_WORDS * ULP_STRIP];
    for (int r = 0; r < 2; r++)
        records[r] = (struct ulp_record *)memory[r];
    for (size_t i = 0; i < n; i++)
        ulp_record_set_double(ulp_record_at(records[0], i, OPERAND_BITS), x[i], OPERAND_BITS);
    for (size_t i = 0; i < n; i++) {
        size_t end = i + quick(OPERAND_BITS, records[1], ulp_record_at(records[0], i, OPERAND_BITS),
                               NULL, n - i);
        for (size_t r = 0;
             i < end && take_binary64(&x[i], ulp_record_at(records[1], r, OPERAND_BITS)); r++)
            i++;
        if (i < n)
            x[i] = round_exactly(primitive, x[i], 0);
    }
}

/* What a mask makes of exp's arguments: results beyond every double. */
static bool is_beyond(enum ulp_primitive primitive, double *out, double x)
{
    if (primitive != ULP_PRIMITIVE_EXP || !(x > 710 || x < -746))
        return false;
    *out = x > 0 ? INFINITY : 0;
    return true;
}

/* y[place[i]] = f(a[place[i]]...) for elements that pairs leave open. */
static void decide(enum ulp_primitive primitive, double *y, const double *a, const double *b,
                   const uint16_t *place, size_t n)
{
    ulp_wide_fn *quick =
        primitive == ULP_PRIMITIVE_POW ? NULL : ulp_wide_function(primitive, OPERAND_BITS);
    uint16_t left[ULP_STRIP];
    double x[ULP_STRIP];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t at = place[i];
        if (is_beyond(primitive, &y[at], a[at]))
            continue;
        if (!quick) {
            y[at] = round_exactly(primitive, a[at], b ? b[at] : 0);
            continue;
        }
        x[count] = a[at];
        left[count++] = place[i];
    }
    if (count)
        compute_by_records(primitive, quick, x, count);
    for (size_t i = 0; i < count; i++)
        y[left[i]] = x[i];
}

static bool are_two(const double *b, size_t n)
{
    unsigned others = 0;
    for (size_t i = 0; i < n; i++)
        others |= b[i] != 2;
    return !others;
}

void ulp_function_binary64(enum ulp_primitive primitive, double *out, const double *a,
                           const double *b, size_t n)
{
    if (primitive == ULP_PRIMITIVE_POW && are_two(b, n)) {
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] * a[i];
        return;
    }
    double y[ULP_STRIP], low[ULP_STRIP], error[ULP_STRIP], open[ULP_STRIP];
    uint16_t place[ULP_STRIP];
    ulp_function_pairs(primitive, y, low, error, a, b, n);
    /* Both ends of the interval round alike. That l -+ e is rounded moves them by 2^-106, which the
     * bound's slack covers. */
    for (size_t i = 0; i < n; i++) {
        const double least = y[i] + (low[i] - error[i]), most = y[i] + (low[i] + error[i]);
        y[i] = least; /* of a zero the one with high's sign */
        open[i] = most - least;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        place[count] = (uint16_t)i;
        count += open[i] != 0;
    }
    if (count)
        decide(primitive, y, a, b, place, count);
    memcpy(out, y, n * sizeof *out);
}

void ulp_function_to_odd(enum ulp_primitive primitive, double *out, const double *a,
                         const double *b, size_t n)
{
    double high[ULP_STRIP], low[ULP_STRIP], error[ULP_STRIP];
    ulp_function_pairs(primitive, high, low, error, a, b, n);
    for (size_t i = 0; i < n; i++) {
        const double nearest = high[i] + low[i], rest = low[i] - (nearest - high[i]);
        if (error[i] == 0) {
            out[i] = high[i];
        } else if (__builtin_fabs(rest) > error[i]) {
            out[i] = ulp_odd(nearest, rest);
        } else if (primitive != ULP_PRIMITIVE_POW && a[i] != a[i]) {
            out[i] = a[i];
        } else {
            struct exact x;
            const int ternary = compute_exactly(&x, primitive, a[i], b ? b[i] : 0);
            out[i] = ulp_double_to_odd(x.out, ternary);
        }
    }
}
