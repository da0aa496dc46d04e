/* Distributions that intervals are made of; the quantiles are in ulpscope/study.h. */
#ifndef ULP_ANALYSIS_QUANTILE_H
#define ULP_ANALYSIS_QUANTILE_H

/* The regularised incomplete beta function I_x(a, b), to 1e-13. */
double ulp_incomplete_beta(double a, double b, double x);

#endif
