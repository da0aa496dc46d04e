/* Quantiles, by bisection of distribution functions. */
#include "analysis/measure/quantile.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/machine/environment.h"
#include "number/function/math.h"

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void ulp_numbers_sort(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, by_size);
}

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

double ulp_incomplete_beta(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    const double front =
        ulp_math_exp(ulp_math_log_gamma(a + b) - ulp_math_log_gamma(a) - ulp_math_log_gamma(b) +
                     a * ulp_math_log(x) + b * ulp_math_log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The x of [0, high] at which `below(x)` turns from true to false. */
struct search {
    double probability;
    bool (*below)(const struct search *search, double x);
};
static double bisect(const struct search *search, double high)
{
    double low = 0;
    while (search->below(search, high) && high < 1e300)
        low = high, high *= 2;
    for (int step = 0; step < 200; step++) {
        const double middle = low + (high - low) / 2;
        *(search->below(search, middle) ? &low : &high) = middle;
    }
    return high;
}

static bool normal_below(const struct search *search, double x)
{
    return ulp_math_erfc(x / sqrt(2)) / 2 > search->probability;
}

/* Of a distribution that is the same on both sides of 0; `below` looks at its upper tail. */
static double find_even(struct search *search)
{
    const bool upper = search->probability > 0.5;
    if (!(search->probability > 0 && search->probability < 1))
        return NAN;
    if (search->probability == 0.5)
        return 0;
    if (upper)
        search->probability = 1 - search->probability;
    return upper ? bisect(search, 1) : -bisect(search, 1);
}

double ulp_quantile_normal(double probability)
{
    ULP_ENTER_ENVIRONMENT;
    return find_even(&(struct search){.probability = probability, .below = normal_below});
}
