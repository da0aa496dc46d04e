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

/* P(T > t), t >= 0 (DLMF 8.17, Abramowitz and Stegun 26.7.1). */
static double student_tail(double t, double freedom)
{
    return ulp_incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
}

/* P(X <= x) (Abramowitz and Stegun 26.4.6), and 1 less it where that is smaller: both are series of
 * positive terms. upper: the latter, a finite sum (26.4.4, 26.4.5). */
static double chi_squared(double x, size_t freedom, bool upper)
{
    const double half = x / 2, log_front = half > 0 ? ulp_math_log(half) : -INFINITY;
    if (!upper) { /* (x/2)^(k/2) e^(-x/2) / Gamma(k/2 + 1) * (1 + x/(k+2) + ...) */
        double term = 1, sum = 1;
        for (double k = (double)freedom + 2; term > 1e-17 * sum; k += 2)
            sum += term *= x / k;
        return sum * ulp_math_exp(log_front * (double)freedom / 2 - half -
                                  ulp_math_log_gamma((double)freedom / 2 + 1));
    }
    double sum = freedom % 2 ? ulp_math_erfc(sqrt(half)) : ulp_math_exp(-half);
    for (double j = freedom % 2 ? 0.5 : 1; j < (double)freedom / 2; j++)
        sum += ulp_math_exp(log_front * j - half - ulp_math_log_gamma(j + 1));
    return sum;
}

/* The x of [0, high] at which `below(x)` turns from true to false. */
struct search {
    double probability;
    size_t freedom;
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

static bool student_below(const struct search *search, double x)
{
    return student_tail(x, (double)search->freedom) > search->probability;
}

static bool chi_squared_below(const struct search *search, double x)
{
    return search->probability < 0.5
               ? chi_squared(x, search->freedom, false) < search->probability
               : chi_squared(x, search->freedom, true) > 1 - search->probability;
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

double ulp_quantile_student(double probability, size_t freedom)
{
    ULP_ENTER_ENVIRONMENT;
    if (!freedom)
        return NAN;
    return find_even(
        &(struct search){.probability = probability, .freedom = freedom, .below = student_below});
}

double ulp_quantile_chi_squared(double probability, size_t freedom)
{
    ULP_ENTER_ENVIRONMENT;
    if (!freedom || !(probability > 0 && probability < 1))
        return NAN;
    return bisect(&(struct search){.probability = probability,
                                   .freedom = freedom,
                                   .below = chi_squared_below},
                  (double)freedom);
}

double ulp_significant_loss(size_t trials, double probability, double confidence)
{
    ULP_ENTER_ENVIRONMENT;
    if (trials < 2)
        return NAN;
    const double freedom = (double)(trials - 1),
                 least = ulp_quantile_chi_squared((1 - confidence) / 2, trials - 1);
    return ulp_math_log2(freedom / least) / 2 +
           ulp_math_log2(ulp_quantile_normal((probability + 1) / 2));
}
