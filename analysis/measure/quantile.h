/* Distributions that intervals are made of. */
#pragma once

#include <stddef.h>

/* Ascending, of no NaN. */
void ulp_numbers_sort(double *numbers, size_t count);

/* The regularised incomplete beta function I_x(a, b), to 1e-13. */
double ulp_incomplete_beta(double a, double b, double x);

/* Quantiles of Student's t and of chi squared for whole degrees of freedom, and of the normal
 * distribution: the x with P(X <= x) = probability, to 12 digits. NaN outside 0 < probability < 1
 * or without freedom. */
double ulp_quantile_student(double probability, size_t freedom);
double ulp_quantile_chi_squared(double probability, size_t freedom);
double ulp_quantile_normal(double probability);
/* The bits that are lost to the number of trials: with the given confidence, a result of mean 1 and
 * sample deviation s over `trials` trials has at least -log2(s) - this significant bits with the
 * given probability, if trials are distributed normally around it:
 *     1/2 log2((n - 1) / chi2) + log2(z)
 * chi2: the quantile of (1 - confidence) / 2, z: the normal one of (probability + 1) / 2. Sohier,
 * de Oliveira Castro, Fevotte, Lathuiliere, Petit, Jamond, "Confidence Intervals for Stochastic
 * Arithmetic", ACM TOMS 47(2), 2021, theorem 2. NaN for fewer than 2 trials. */
double ulp_significant_loss(size_t trials, double probability, double confidence);
