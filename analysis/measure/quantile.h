/* Distributions that intervals are made of. */
#pragma once

#include <stddef.h>

/* Ascending, of no NaN. */
void ulp_numbers_sort(double *numbers, size_t count);

/* The regularised incomplete beta function I_x(a, b), to 1e-13. */
double ulp_incomplete_beta(double a, double b, double x);

/* The x with P(X <= x) = probability of the normal distribution, to 12 digits. NaN outside
 * 0 < probability < 1. */
double ulp_quantile_normal(double probability);
