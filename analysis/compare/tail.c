/* Quantiles of Fisher's F distribution. */
#include <math.h>

#include "analysis/compare/comparing.h"
#include "number/function/math.h"

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method: about
 * sqrt(max(a, b)) steps. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return value;
}

/* The regularised incomplete beta function I_x(a, b), given the logarithm of 1 / B(a, b). */
static double beta(double a, double b, double x, double log_scale)
{
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    const double front = ulp_math_exp(log_scale + a * ulp_math_log(x) + b * ulp_math_log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ulp_ratio_limit(double freedom, size_t trials, double probability)
{
    const double above = freedom, below = freedom * (double)trials, a = below / 2, b = above / 2;
    const double log_scale =
        ulp_math_log_gamma(a + b) - ulp_math_log_gamma(a) - ulp_math_log_gamma(b);
    double low = 0, high = 200; /* of log F; P(F > f) = I_{below / (below + above f)} */
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        const double tail = beta(a, b, below / (below + above * ulp_math_exp(middle)), log_scale);
        *(tail > probability ? &low : &high) = middle;
    }
    return ulp_math_exp(high / 2);
}
