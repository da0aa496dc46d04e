/* Taylor series in fixed point for the wide carrier's functions, their coefficients computed by
 * MPFR on first use. */
#pragma once

#include "number/fixed/limbs.h"

#ifdef ULP_LIMBS

#define ULP_SERIES_LIMBS_MIN 2
#define ULP_SERIES_LIMBS_MAX 5
/* In ulps, of every function's fraction before its rounding (README.md, section 8). */
#define ULP_SERIES_ERROR (UINT64_C(1) << 13)

enum ulp_series_kind {
    ULP_SERIES_EXP,        /* exp(x), 0 <= x < 0.7 */
    ULP_SERIES_LOG1P,      /* log(1 + x), 0 <= x < 1 */
    ULP_SERIES_ERF,        /* erf(x), 0 <= x < ulp_series_erf_end */
    ULP_SERIES_SIN,        /* sin(x), 0 <= x < 1.58 */
    ULP_SERIES_COS,        /* cos(x), 0 <= x < 1.58 */
    ULP_SERIES_TANH_SMALL, /* tanh(x) / x as a function of x^2 < 2^-10 */
    ULP_SERIES_ERF_SMALL,  /* erf(x) / x as a function of x^2 < 2^-10 */
    ULP_SERIES_COUNT
};

/* The function is cut into cells of width 2^-width_bits. In cell i, at x = (i + u) 2^-width_bits,
 * an eighth of it is the sum over k of c_k u^k; |c_k| shrinks with k, so the leading steps of
 * Horner's rule, from the highest k, have few limbs. */
struct ulp_series {
    int limbs;
    int width_bits;
    int steps[ULP_SERIES_LIMBS_MAX + 1]; /* [l]: coefficients of l limbs */
    size_t stride;                       /* limbs of a cell */
    /* log 2 (EXP, LOG1P) or pi/2 (SIN, COS): limbs + 1 of fraction, one of integer */
    uint64_t constant[ULP_LIMBS_MAX];
    uint64_t coefficients[]; /* by cell, then from the highest k; two's complement */
};

/* erf(x) rounds to 1 at every precision that `limbs` limbs serve, from here on: erfc(x) <
 * exp(-x^2). */
static inline int ulp_series_erf_end(int limbs)
{
    return 4 + 2 * limbs;
}

/* The series, made on first use and kept; NULL when memory lacks. Any thread may call it. */
const struct ulp_series *ulp_series_get(enum ulp_series_kind kind, int limbs);

/* y = the series at cell and u, both of n = series->limbs limbs, an eighth of the function, in
 * two's complement with an error below 2^9 ulp: a step of l limbs errs by less than l for the
 * product, 1/2 for what is cut off u (as |sum| < 2^(64 l - 1) ulp), 1/2 for the coefficient, and u
 * < 1 does not amplify the sum's earlier errors; there are at most 60 steps. */
ULP_LIMBS_INLINE void ulp_series_steps(uint64_t *sum, const uint64_t **c,
                                       const struct ulp_series *series, const uint64_t *u, int l,
                                       int n)
{
    if (l > n)
        return;
    sum[l - 1] = l > 1 ? (uint64_t)((int64_t)sum[l > 1 ? l - 2 : 0] >> 63) : 0;
    for (int i = series->steps[l]; i > 0; i--, *c += l) {
        uint64_t product[ULP_LIMBS_MAX], negative[ULP_LIMBS_MAX];
        const uint64_t mask = (uint64_t)((int64_t)sum[l - 1] >> 63);
        ULP_LIMBS_UNROLL for (int k = 0; k < l; k++) negative[k] = u[n - l + k] & mask;
        ulp_limbs_multiply_high(product, sum, u + n - l, l);
        ulp_limbs_sub(product, product, negative, l);
        ulp_limbs_add(sum, product, *c, l);
    }
}

ULP_LIMBS_INLINE void ulp_series_evaluate(uint64_t *y, const struct ulp_series *series, size_t cell,
                                          const uint64_t *u, int n)
{
    const uint64_t *c = series->coefficients + cell * series->stride;
    uint64_t sum[ULP_SERIES_LIMBS_MAX];
    ulp_series_steps(sum, &c, series, u, 1, n);
    ulp_series_steps(sum, &c, series, u, 2, n);
    ulp_series_steps(sum, &c, series, u, 3, n);
    ulp_series_steps(sum, &c, series, u, 4, n);
    ulp_series_steps(sum, &c, series, u, 5, n);
    ulp_limbs_copy(y, sum, n);
}

#endif
