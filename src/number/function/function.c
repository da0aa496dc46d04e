/* Elementary functions rounded to FP32 and to the formats carried by double: from the value to odd
 * at 53 bits (function/binary64.c) any rounding to 51 bits or fewer is the only one. */
#include "number/function/function.h"
#include "number/round/round.h"

static bool all_equal_two(const float *b, size_t n)
{
    unsigned others = 0;
    for (size_t i = 0; i < n; i++)
        others |= b[i] != 2;
    return !others;
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
    static const struct ulp_format single = {.precision = 24, .emin = -126};
    double x[ULP_STRIP] = {0}, power[ULP_STRIP] = {0};
    for (size_t i = 0; i < n; i++)
        x[i] = (double)a[i];
    for (size_t i = 0; b && i < n; i++)
        power[i] = (double)b[i];
    ulp_function_to_odd(primitive, &single, x, x, b ? power : NULL, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)x[i];
}

void ulp_function_doubles(const struct ulp_format *format, enum ulp_rounding rounding,
                          enum ulp_primitive primitive, double *out, const double *a,
                          const double *b, size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    ulp_function_to_odd(primitive, rounding == ULP_ROUND_NEAREST_EVEN ? format : NULL, out, a, b,
                        n);
    ulp_round_doubles(format, rounding, out, n, seed, stream, first);
}
