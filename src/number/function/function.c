/* Rounding elementary functions to FP32 and to the formats carried by double. The estimate, moved
 * down and up by its error bound, is rounded twice: where both give the same value that is the
 * correctly rounded result. Elsewhere (about one element in 2^19 for FP32, special values,
 * functions outside the estimate's range) what is rounded is the value to odd
 * (function/binary64.c). */
#include "number/function/function.h"
#include "number/function/estimate.h"
#include "number/function/short_estimate.h"
#include "number/round/round.h"

#include <math.h>
#include <string.h>

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

/* y anew, estimates of which some left a choice: those that leave one again go the exact way.
 * (Estimates of doubles and of floats may differ in their last bits.) */
static void decide_floats(enum ulp_primitive primitive, float *y, const float *a, const float *b,
                          size_t n)
{
    double x[ULP_STRIP] = {0}, w[ULP_STRIP] = {0}, low[ULP_STRIP], high[ULP_STRIP];
    for (size_t i = 0; i < n; i++)
        x[i] = (double)a[i];
    for (size_t i = 0; b && i < n; i++)
        w[i] = (double)b[i];
    bound(primitive, low, high, x, w, n);
    /* From 53 bits rounded to odd the conversion to float is the single rounding: 53 >= 24 + 2. */
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)high[i];
        if ((float)low[i] != y[i]) {
            ulp_function_to_odd(primitive, x + i, x + i, w + i, 1);
            y[i] = (float)x[i];
        }
    }
}

/* y and a apart. */
static void settle_floats(enum ulp_primitive primitive, float *y, const float *a, const float *b,
                          size_t n)
{
    if (ulp_estimate_floats(primitive, y, a, b, n) > 0)
        decide_floats(primitive, y, a, b, n);
}

/* The elements whose bits are set, which a short estimate left. */
static void settle_left(enum ulp_primitive primitive, float *out, const float *a, size_t n,
                        const uint16_t *left)
{
    float x[ULP_STRIP], y[ULP_STRIP];
    size_t places[ULP_STRIP], count = 0;
    for (size_t i = 0; i < n; i += ULP_SHORT_LANES)
        for (unsigned bits = left[i / ULP_SHORT_LANES]; bits; bits &= bits - 1)
            places[count++] = i + (size_t)__builtin_ctz(bits);
    for (size_t i = 0; i < count; i++)
        x[i] = a[places[i]];
    settle_floats(primitive, y, x, NULL, count);
    for (size_t i = 0; i < count; i++)
        out[places[i]] = y[i];
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
    uint16_t left[ULP_STRIP / ULP_SHORT_LANES];
    ulp_short_estimate_fn *estimate = ulp_short_estimate_of(primitive);
    if (estimate) {
        if (estimate(out, a, n, left) > 0)
            settle_left(primitive, out, a, n, left);
        return;
    }
    settle_floats(primitive, y, a, b, n);
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
        ulp_function_to_odd(primitive, out, a, b, n);
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
            ulp_function_to_odd(primitive, &high[i], a + i, b ? b + i : NULL, 1);
            ulp_round_doubles(format, rounding, &high[i], 1, 0, 0, 0);
        }
    for (size_t i = 0; i < n; i++)
        out[i] = high[i]; /* not low, whose zero lost its sign: -0 - -0 = +0 */
}
