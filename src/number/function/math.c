#include "number/function/math.h"

#include <math.h>

#include "number/function/function.h"
#include "number/function/pair.h"

static double by_table(enum ulp_primitive primitive, double x)
{
    double y;
    ulp_function_binary64(primitive, &y, &x, NULL, 1);
    return y;
}

double ulp_math_exp(double x)
{
    return by_table(ULP_PRIMITIVE_EXP, x);
}
double ulp_math_expm1(double x)
{
    return by_table(ULP_PRIMITIVE_EXPM1, x);
}
double ulp_math_log(double x)
{
    return by_table(ULP_PRIMITIVE_LOG, x);
}
double ulp_math_log1p(double x)
{
    return by_table(ULP_PRIMITIVE_LOG1P, x);
}

/* Cut off to 64 bits whose last says that something was cut off, so that one conversion to double,
 * subnormal or not, is the rounding. mpfr_custom_get_significand is of whole limbs here. */
static double round_cut(mpfr_t y, int ternary)
{
    if (ternary != 0 && mpfr_regular_p(y))
        *(mp_limb_t *)mpfr_custom_get_significand(y) |= 1;
    const double rounded = mpfr_get_d(y, MPFR_RNDN);
    mpfr_clear(y);
    return rounded;
}

static double by_mpfr(int (*function)(mpfr_t, mpfr_srcptr, mpfr_rnd_t), double x)
{
    mpfr_t y, a;
    mpfr_init2(y, 64);
    mpfr_init2(a, 53);
    mpfr_set_d(a, x, MPFR_RNDN);
    const int ternary = function(y, a, MPFR_RNDZ);
    mpfr_clear(a);
    return round_cut(y, ternary);
}

static double by_mpfr_of_two(int (*function)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t),
                             double x, double y)
{
    mpfr_t z, a, b;
    mpfr_init2(z, 64);
    mpfr_init2(a, 53);
    mpfr_init2(b, 53);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    const int ternary = function(z, a, b, MPFR_RNDZ);
    mpfr_clear(a);
    mpfr_clear(b);
    return round_cut(z, ternary);
}

/* Stirling's series, 12 further on: the first term left out is below y^-9 / 1188. */
double ulp_math_log_gamma(double x)
{
    double product = 1;
    for (; x < 12; x++)
        product *= x;
    const double r = 1 / x, s = r * r;
    const double series = r / 12 * (1 - s / 30 * (1 - s * 2 / 7 * (1 - s * 3 / 4)));
    return (x - 0.5) * ulp_math_log(x) - x + (0.91893853320467274 + series) -
           (product == 1 ? 0 : ulp_math_log(product));
}

double ulp_math_erfc(double x)
{
    return by_mpfr(mpfr_erfc, x);
}
double ulp_math_exp2(double x)
{
    return by_mpfr(mpfr_exp2, x);
}
double ulp_math_hypot(double x, double y)
{
    return by_mpfr_of_two(mpfr_hypot, x, y);
}

/* The logarithm times high + low, which is 1 / log(base) within 2^-108: a product of two pairs,
 * exact in its first term and rounded in sums of some 2^-52 of it, whose errors the slack of the
 * logarithm's bound covers by far. Both ends of the bound round alike for all but one in some
 * hundreds; those, and what pairs say nothing of, are MPFR's. */
static double by_log(int (*function)(mpfr_t, mpfr_srcptr, mpfr_rnd_t), double x, double high,
                     double low)
{
    double y, rest, error;
    ulp_function_pairs(ULP_PRIMITIVE_LOG, &y, &rest, &error, &x, NULL, NULL, NULL, 1);
    const double product = y * high, below = fma(y, high, -product) + (y * low + rest * high);
    const double least = product + (below - error * high), most = product + (below + error * high);
    return least == most ? least : by_mpfr(function, x);
}
double ulp_math_log10(double x)
{
    return by_log(mpfr_log10, x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}
double ulp_math_log2(double x)
{
    return by_log(mpfr_log2, x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}
double ulp_math_pow(double x, double y)
{
    return by_mpfr_of_two(mpfr_pow, x, y);
}
