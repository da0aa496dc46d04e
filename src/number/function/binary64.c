/* Elementary functions in 53 bits, rounded to nearest or to odd. A pair of doubles with a bound
 * (function/pair.h) decides all but about one element in 2^36; those, and what pairs say nothing
 * of, are MPFR's. */
#include "number/function/pair.h"
#include "base/bits.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define OPERAND_BITS 53

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

/* What masks make of arguments: results that are infinite, or below half the least double. */
static bool is_beyond(enum ulp_primitive primitive, double x)
{
    return (primitive == ULP_PRIMITIVE_EXP && (x > 710 || x < -746)) ||
           ((primitive == ULP_PRIMITIVE_SIGMOID || primitive == ULP_PRIMITIVE_SOFTPLUS) &&
            x < -746);
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
    ulp_function_pairs(primitive, y, low, error, a, NULL, b, NULL, n);
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
    for (size_t i = 0; i < count; i++) {
        const size_t at = place[i];
        y[at] = is_beyond(primitive, a[at]) ? (a[at] > 0 ? INFINITY : 0)
                                            : round_exactly(primitive, a[at], b ? b[at] : 0);
    }
    memcpy(out, y, n * sizeof *out);
}

/* The value to odd of an element that the pair leaves open. */
static double find_odd(enum ulp_primitive primitive, double a, double b)
{
    struct exact x;
    if (is_beyond(primitive, a))
        return a - a == 0 ? (a > 0 ? DBL_MAX : 0x1p-1074) : (a > 0 ? a : 0);
    if (primitive != ULP_PRIMITIVE_POW && a != a)
        return a;
    const int ternary = compute_exactly(&x, primitive, a, b);
    return ulp_double_to_odd(x.out, ternary);
}

/* Beside high the value may lie on either side, but no tie between normal numbers of `nearest` is
 * within less than a quarter of a unit of the double's last place. False of an error that is NaN.
 */
static bool is_apart(const struct ulp_format *nearest, double high, double error)
{
    const int cut = 53 - nearest->precision;
    return cut > 0 && error <= fabs(high) * 0x1p-56 && fabs(high) >= ldexp(1, nearest->emin) &&
           (ulp_double_bits(high) & ((UINT64_C(1) << cut) - 1)) != UINT64_C(1) << (cut - 1);
}

void ulp_function_to_odd(enum ulp_primitive primitive, const struct ulp_format *nearest,
                         double *out, const double *a, const double *b, size_t n)
{
    double y[ULP_STRIP], low[ULP_STRIP], error[ULP_STRIP];
    ulp_function_pairs(primitive, y, low, error, a, NULL, b, NULL, n);
    if (ulp_pairs_to_odd(y, low, error, n))
        for (size_t i = 0; i < n; i++)
            if (error[i] != 0 && !(nearest && is_apart(nearest, y[i], error[i])))
                y[i] = find_odd(primitive, a[i], b ? b[i] : 0);
    memcpy(out, y, n * sizeof *out);
}
