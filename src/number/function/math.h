/* What <math.h> has, correctly rounded: a libm's last bit depends on the machine, and figures of
 * reports and bounds must not. Of finite and other doubles; to nearest, ties to even. */
#pragma once

/* Of a number and NaN the number; of zeros of unlike signs, whose order fmax and fmin leave to the
 * processor, the second. */
static inline double ulp_math_max(double x, double y)
{
    return x > y || y != y ? x : y;
}
static inline double ulp_math_min(double x, double y)
{
    return x < y || y != y ? x : y;
}
/* By pairs (function/pair.h): well below a microsecond for most arguments. */
double ulp_math_exp(double x);
double ulp_math_expm1(double x);
double ulp_math_log(double x);
double ulp_math_log1p(double x);
double ulp_math_log10(double x);
double ulp_math_log2(double x);
/* By MPFR: a microsecond or a few. */
double ulp_math_erfc(double x);
double ulp_math_exp2(double x);
double ulp_math_hypot(double x, double y);
double ulp_math_pow(double x, double y);
/* For x > 0, not correctly rounded: within 10^-12 (1 + |x log x| / 1000), with the same bits
 * everywhere. */
double ulp_math_log_gamma(double x);
