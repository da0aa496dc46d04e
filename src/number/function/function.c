/* Rounding elementary functions to FP32 and to the formats carried by double. The estimate, moved
 * down and up by its error bound, is rounded twice: where both give the same value that is the
 * correctly rounded result. Elsewhere (about one element in 2^19 for FP32, special values,
 * functions outside the estimate's range) MPFR decides. */
#include "number/function/function.h"
#include "number/fixed/function.h"
#include "number/function/estimate.h"
#include "number/mpfr_record.h"
#include "number/round/odd.h"
#include "number/round/round.h"

#include <math.h>
#include <string.h>

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

/* f(a[, b]) rounded to odd at 53 bits. */
static double compute_to_odd(enum ulp_primitive primitive, double a, double b)
{
    if (primitive != ULP_PRIMITIVE_POW && a != a)
        return a;
    struct exact x;
    const int ternary = compute_exactly(&x, primitive, a, b);
    return ulp_double_to_odd(x.out, ternary);
}

/* low[i] and high[i]: the ends of the interval that the estimate proves f(a[i][, b[i]]) to lie in,
 * in order of size or both NaN. */
static void bound(enum ulp_primitive primitive, double *restrict low, double *restrict high,
                  const double *restrict a, const double *restrict b, size_t n)
{
    const double error =
        primitive == ULP_PRIMITIVE_POW ? ULP_ESTIMATE_ERROR_POW : ULP_ESTIMATE_ERROR;
    if (primitive == ULP_PRIMITIVE_POW)
        ulp_estimate_pow(low, a, b, n);
    else
        ulp_estimate(primitive, low, a, n);
    for (size_t i = 0; i < n; i++) {
        const double y = low[i], margin = y * error;
        low[i] = y - margin;
        high[i] = y + margin;
    }
}

static bool all_equal_two(const float *b, size_t n)
{
    unsigned others = 0;
    for (size_t i = 0; i < n; i++)
        others |= b[i] != 2;
    return !others;
}

/* Replaces the elements of y, estimates rounded to float, of which another float could be the right
 * one. */
static void decide_floats(enum ulp_primitive primitive, float *y, const float *a, const float *b,
                          size_t n)
{
    double x[ULP_STRIP], w[ULP_STRIP] = {0}, low[ULP_STRIP], high[ULP_STRIP];
    for (size_t i = 0; i < n; i++)
        x[i] = (double)a[i];
    for (size_t i = 0; b && i < n; i++)
        w[i] = (double)b[i];
    bound(primitive, low, high, x, w, n);
    /* From 53 bits rounded to odd the conversion to float is the single rounding: 53 >= 24 + 2. */
    for (size_t i = 0; i < n; i++)
        if ((float)low[i] != (float)high[i])
            y[i] = (float)compute_to_odd(primitive, x[i], w[i]);
}

void ulp_function_floats(enum ulp_primitive primitive, float *out, const float *a, const float *b,
                         size_t n)
{
    /* The commonest power in models: the product is the correctly rounded square, specials
     * included. */
    if (primitive == ULP_PRIMITIVE_POW && all_equal_two(b, n)) {
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] * a[i];
        return;
    }
    float y[ULP_STRIP];
    if (ulp_estimate_floats(primitive, y, a, b, n) > 0)
        decide_floats(primitive, y, a, b, n);
    memcpy(out, y, n * sizeof *out);
}

/* The estimate's contract covers the operands of the format, and the bound is narrow against its
 * last bit. */
static bool can_estimate(const struct ulp_format *format, enum ulp_rounding rounding)
{
    return rounding != ULP_ROUND_STOCHASTIC && format->precision <= 32 && format->emin >= -126 &&
           format->emax <= 127;
}

void ulp_function_doubles(const struct ulp_format *format, enum ulp_rounding rounding,
                          enum ulp_primitive primitive, double *out, const double *a,
                          const double *b, size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    if (!can_estimate(format, rounding)) {
        for (size_t i = 0; i < n; i++)
            out[i] = compute_to_odd(primitive, a[i], b ? b[i] : 0);
        ulp_round_doubles(format, rounding, out, n, seed, stream, first);
        return;
    }
    double low[ULP_STRIP], high[ULP_STRIP];
    bound(primitive, low, high, a, b, n);
    /* At infinity the estimate is only that of a large number; here its bounds may round
     * differently from the limit. */
    for (size_t i = 0; i < n; i++)
        low[i] = a[i] - a[i] == 0 && (!b || b[i] - b[i] == 0) ? low[i] : NAN;
    ulp_round_doubles(format, rounding, low, n, 0, 0, 0);
    ulp_round_doubles(format, rounding, high, n, 0, 0, 0);
    for (size_t i = 0; i < n; i++)
        if (low[i] != high[i]) {
            high[i] = compute_to_odd(primitive, a[i], b ? b[i] : 0);
            ulp_round_doubles(format, rounding, &high[i], 1, 0, 0, 0);
        }
    for (size_t i = 0; i < n; i++)
        out[i] = high[i]; /* not low, whose zero lost its sign: -0 - -0 = +0 */
}

/* To odd at 64 bits, so that one conversion to double, subnormal or not, is the rounding. */
static double compute_binary64(enum ulp_primitive primitive, double a, double b)
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
    memcpy(out, &bits, sizeof *out);
    return true;
}

/* x^2, and x^3 from the exact square: h + l = x^2, y + m = h x exactly, so x^3 = y + m + l x, which
 * rounds like y + (m + l x) moved by more than the error of these two operations, 2^-104 y. False:
 * neither, or not decided. */
static bool take_power(double *out, double x, double power)
{
    const double h = x * x, y = h * x, size = __builtin_fabs(y);
    if (power == 2) {
        *out = h;
        return true;
    }
    if (power != 3 || !(size > 0x1p-300 && size < 0x1p300))
        return false;
    const double rest = ulp_odd_product_error(h, x, y) + ulp_odd_product_error(x, x, h) * x,
                 margin = size * 0x1p-100;
    if (y + (rest - margin) != y + (rest + margin))
        return false;
    *out = y + rest;
    return true;
}

/* The elements that the reference's fast path decides (fixed/function.h); the others are MPFR's. */
static void compute_by_records(enum ulp_primitive primitive, ulp_wide_fn *quick, double *out,
                               const double *a, size_t n)
{
    struct ulp_record *records[2];
    uint64_t memory[2][RECORD_WORDS * ULP_STRIP];
    for (int r = 0; r < 2; r++)
        records[r] = (struct ulp_record *)memory[r];
    for (size_t i = 0; i < n; i++)
        ulp_record_set_double(ulp_record_at(records[0], i, OPERAND_BITS), a[i], OPERAND_BITS);
    for (size_t i = 0; i < n; i++) {
        size_t end = i + quick(OPERAND_BITS, records[1], ulp_record_at(records[0], i, OPERAND_BITS),
                               NULL, n - i);
        for (size_t r = 0;
             i < end && take_binary64(&out[i], ulp_record_at(records[1], r, OPERAND_BITS)); r++)
            i++;
        if (i < n)
            out[i] = compute_binary64(primitive, a[i], 0);
    }
}

void ulp_function_binary64(enum ulp_primitive primitive, double *out, const double *a,
                           const double *b, size_t n)
{
    const bool power = primitive == ULP_PRIMITIVE_POW;
    ulp_wide_fn *quick = power ? NULL : ulp_wide_function(primitive, OPERAND_BITS);
    if (quick)
        compute_by_records(primitive, quick, out, a, n);
    for (size_t i = 0; !quick && i < n; i++)
        if (!power || !take_power(&out[i], a[i], b[i]))
            out[i] = compute_binary64(primitive, a[i], b ? b[i] : 0);
}
