/* The coefficients of fixed/series.h. They are computed with EXTRA_BITS beyond the last limb, far
 * more than the recurrences lose, and rounded once. How many there are follows from the bounds
 * below, which are proved in README.md, not from the computed values: what is cut off is below half
 * an ulp. */
#include "number/fixed/series.h"

#ifdef ULP_LIMBS

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define EXTRA_BITS 256
#define TERMS_MAX 64
#define SCALE_BITS 3 /* coefficients are of an eighth of the function */

struct recipe {
    int width_bits;
    double end; /* cells cover [0, end); 0: a single cell */
    /* c[0 .. count): Taylor coefficients at x. Unless x is 0, c holds those of the cell before,
     * scaled as they are stored. */
    void (*expand)(mpfr_t *c, int count, const mpfr_t x);
    /* At least |f^(k)(x) / k!| for all x in the cells. */
    double (*bound)(int k);
    int (*constant)(mpfr_t, mpfr_rnd_t);
    /* expand needs coefficients until their terms are below 2^-more_bits ulp: TERMS_MAX is enough
     * for them. */
    int more_bits;
};

static void expand_exp(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_exp(c[0], x, MPFR_RNDN);
    for (int k = 1; k < count; k++)
        mpfr_div_ui(c[k], c[k - 1], (unsigned long)k, MPFR_RNDN);
}

/* The coefficients of log(1 + x) at x are (-1)^(k+1) / (k (1 + x)^k). */
static void expand_log1p(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t base, power;
    mpfr_inits2(mpfr_get_prec(c[0]), base, power, (mpfr_ptr)0);
    mpfr_log1p(c[0], x, MPFR_RNDN);
    mpfr_add_ui(base, x, 1, MPFR_RNDN);
    mpfr_set_si(power, -1, MPFR_RNDN);
    for (int k = 1; k < count; k++) {
        mpfr_div(power, power, base, MPFR_RNDN);
        mpfr_neg(power, power, MPFR_RNDN);
        mpfr_div_ui(c[k], power, (unsigned long)k, MPFR_RNDN);
    }
    mpfr_clears(base, power, (mpfr_ptr)0);
}

#define ERF_WIDTH_BITS 6

/* erf(x) and erf'(x) from the series of the cell before, at its end: the sums of c_k h^k and of k
 * c_k h^(k-1), h the cells' width; c[k] holds an eighth of c_k h^k. mpfr_erf would take ten times
 * as long. What is lost stays below 2^-40 ulp: the terms cut off are below 2^-more_bits ulp, those
 * of erf' 2^12 times that; each cell adds that much, h times the slope's share, and g(x + h) = g(x)
 * exp(-2 x h - h^2) does not amplify it; there are at most 900 cells. */
static void continue_erf(mpfr_t value, mpfr_t slope, mpfr_t *c, int count)
{
    mpfr_t term;
    mpfr_init2(term, mpfr_get_prec(value));
    mpfr_set_zero(value, 1);
    mpfr_set_zero(slope, 1);
    for (int k = count - 1; k >= 0; k--) {
        mpfr_add(value, value, c[k], MPFR_RNDN);
        mpfr_mul_ui(term, c[k], (unsigned long)k, MPFR_RNDN);
        mpfr_add(slope, slope, term, MPFR_RNDN);
    }
    mpfr_mul_2ui(value, value, SCALE_BITS, MPFR_RNDN);
    mpfr_mul_2ui(slope, slope, SCALE_BITS + ERF_WIDTH_BITS, MPFR_RNDN);
    mpfr_clear(term);
}

/* g = erf' satisfies g' = -2 x g, hence (k + 1) g_(k+1) = -2 (x g_k + g_(k-1)). */
static void expand_erf(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t g, before, next;
    mpfr_inits2(mpfr_get_prec(c[0]), g, before, next, (mpfr_ptr)0);
    if (mpfr_zero_p(x)) {
        mpfr_set_zero(next, 1);
        mpfr_const_pi(g, MPFR_RNDN);
        mpfr_rec_sqrt(g, g, MPFR_RNDN);
        mpfr_mul_2ui(g, g, 1, MPFR_RNDN);
    } else {
        continue_erf(next, g, c, count);
    }
    mpfr_set(c[0], next, MPFR_RNDN);
    mpfr_set_zero(before, 1);
    for (int k = 1; k < count; k++) {
        mpfr_div_ui(c[k], g, (unsigned long)k, MPFR_RNDN);
        mpfr_fma(next, x, g, before, MPFR_RNDN);
        mpfr_mul_si(next, next, -2, MPFR_RNDN);
        mpfr_div_ui(next, next, (unsigned long)k, MPFR_RNDN);
        mpfr_swap(before, g);
        mpfr_swap(g, next);
    }
    mpfr_clears(g, before, next, (mpfr_ptr)0);
}

/* first = f(x), second = f'(x), where f'' = -f. */
static void expand_circular(mpfr_t *c, int count, mpfr_t first, mpfr_t second)
{
    for (int k = 0; k < count; k++) {
        mpfr_set(c[k], k % 2 ? second : first, MPFR_RNDN);
        if (k % 4 >= 2)
            mpfr_neg(c[k], c[k], MPFR_RNDN);
        mpfr_div_ui(first, first, (unsigned long)k + 1, MPFR_RNDN);
        mpfr_div_ui(second, second, (unsigned long)k + 1, MPFR_RNDN);
    }
}

static void expand_sin(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t sine, cosine;
    mpfr_inits2(mpfr_get_prec(c[0]), sine, cosine, (mpfr_ptr)0);
    mpfr_sin_cos(sine, cosine, x, MPFR_RNDN);
    expand_circular(c, count, sine, cosine);
    mpfr_clears(sine, cosine, (mpfr_ptr)0);
}

static void expand_cos(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t sine, cosine;
    mpfr_inits2(mpfr_get_prec(c[0]), sine, cosine, (mpfr_ptr)0);
    mpfr_sin_cos(sine, cosine, x, MPFR_RNDN);
    mpfr_neg(sine, sine, MPFR_RNDN);
    expand_circular(c, count, cosine, sine);
    mpfr_clears(sine, cosine, (mpfr_ptr)0);
}

/* t = tanh satisfies t' = 1 - t^2: with t = sum t_k x^(2k+1), (2k + 1) t_k = -sum of t_i t_j over i
 * + j = k - 1. */
static void expand_tanh(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t sum;
    (void)x;
    mpfr_init2(sum, mpfr_get_prec(c[0]));
    mpfr_set_ui(c[0], 1, MPFR_RNDN);
    for (int k = 1; k < count; k++) {
        mpfr_set_zero(sum, 1);
        for (int i = 0; i < k; i++)
            mpfr_fma(sum, c[i], c[k - 1 - i], sum, MPFR_RNDN);
        mpfr_div_si(c[k], sum, -(2 * (long)k + 1), MPFR_RNDN);
    }
    mpfr_clear(sum);
}

/* erf(x) = 2 / sqrt(pi) sum of (-1)^k x^(2k+1) / (k! (2k + 1)). */
static void expand_erf_small(mpfr_t *c, int count, const mpfr_t x)
{
    mpfr_t term;
    (void)x;
    mpfr_init2(term, mpfr_get_prec(c[0]));
    mpfr_const_pi(term, MPFR_RNDN);
    mpfr_rec_sqrt(term, term, MPFR_RNDN);
    mpfr_mul_2ui(term, term, 1, MPFR_RNDN);
    for (int k = 0; k < count; k++) {
        mpfr_div_ui(c[k], term, 2 * (unsigned long)k + 1, MPFR_RNDN);
        mpfr_div_si(term, term, -((long)k + 1), MPFR_RNDN);
    }
    mpfr_clear(term);
}

static double bound_factorial(int k)
{
    double bound = 2.02;
    for (int i = 2; i <= k; i++)
        bound /= i;
    return bound;
}
static double bound_one(int k)
{
    (void)k;
    return 1.2;
}
/* Cauchy's bound for erf' on circles of radius sqrt(m / 2), m = k - 1: 2/sqrt(pi) (2e/m)^(m/2), and
 * 1/k for erf; squared factors in the loop, as 2e/m needs no root for even m and (2e/m)^((m-1)/2)
 * suffices for odd m >= 6. */
static double bound_erf(int k)
{
    const int m = k - 1;
    double bound = 2;
    for (int i = 0; m >= 6 && i < m / 2; i++)
        bound *= 5.4366 / m;
    return bound;
}

/* clang-format off */
static const struct recipe recipes[ULP_SERIES_COUNT] = {
    [ULP_SERIES_EXP] = {8, 0.7, expand_exp, bound_factorial, mpfr_const_log2, 0},
    [ULP_SERIES_LOG1P] = {7, 1, expand_log1p, bound_one, mpfr_const_log2, 0},
    [ULP_SERIES_ERF] = {ERF_WIDTH_BITS, 0, expand_erf, bound_erf, NULL, 72},
    [ULP_SERIES_SIN] = {7, 1.58, expand_sin, bound_factorial, mpfr_const_pi, 0},
    [ULP_SERIES_COS] = {7, 1.58, expand_cos, bound_factorial, mpfr_const_pi, 0},
    [ULP_SERIES_TANH_SMALL] = {10, 0, expand_tanh, bound_one, NULL, 0},
    [ULP_SERIES_ERF_SMALL] = {10, 0, expand_erf_small, bound_one, NULL, 0},
};
/* clang-format on */

/* y (n limbs) = x 2^(64 limbs) rounded to an integer, in two's complement. */
static void put_fixed(uint64_t *y, const mpfr_t x, int limbs, int n)
{
    mpz_t integer;
    mpz_init(integer);
    mpfr_t scaled;
    mpfr_init2(scaled, mpfr_get_prec(x));
    mpfr_mul_2ui(scaled, x, 64 * (unsigned long)limbs, MPFR_RNDN);
    mpfr_get_z(integer, scaled, MPFR_RNDN);
    const uint64_t sign = mpz_sgn(integer) < 0 ? ~UINT64_C(0) : 0;
    uint64_t carry = sign & 1;
    for (int i = 0; i < n; i++) {
        y[i] = (mpz_getlimbn(integer, i) ^ sign) + carry;
        carry &= y[i] == 0;
    }
    mpfr_clear(scaled);
    mpz_clear(integer);
}

/* The number of coefficients, and steps[l] of them with l limbs: the sum of the terms from a step
 * on has to stay below 3/8 of 2^(64 l), where l limbs hold up to 1/2. *expanded: with those that
 * expand needs besides. */
static int plan_steps(int steps[ULP_SERIES_LIMBS_MAX + 1], int *expanded,
                      const struct recipe *recipe, int limbs)
{
    double terms[TERMS_MAX + 1], scale = 1.0 / (1 << SCALE_BITS), ulp = 1, rest = 0, cell = 1;
    for (int i = 0; i < limbs; i++)
        ulp *= 0x1p-64;
    for (int i = 0; i < recipe->width_bits; i++)
        cell /= 2;
    for (int k = 0; k <= TERMS_MAX; k++, scale *= cell)
        terms[k] = recipe->bound(k) * scale;
    int count = 1; /* each later term is at most half of the one before */
    while (count < TERMS_MAX && terms[count] > ulp / 8)
        count++;
    *expanded = count;
    for (double least = ldexp(ulp, -recipe->more_bits);
         recipe->more_bits && *expanded < TERMS_MAX && terms[*expanded] > least;)
        ++*expanded;
    for (int k = count - 1, l = 1; k >= 0; k--) {
        rest += terms[k];
        double room = 0.375 * ulp;
        for (int i = 0; i < l; i++)
            room *= 0x1p64;
        if (rest >= room)
            l++;
        steps[l]++;
    }
    return count;
}

static struct ulp_series *create(enum ulp_series_kind kind, int limbs)
{
    const struct recipe *recipe = &recipes[kind];
    const double end = kind == ULP_SERIES_ERF ? ulp_series_erf_end(limbs) : recipe->end;
    const size_t cells = (size_t)(end * (1 << recipe->width_bits)) + 1;
    int steps[ULP_SERIES_LIMBS_MAX + 1] = {0};
    int expanded;
    const int count = plan_steps(steps, &expanded, recipe, limbs);
    size_t stride = 0;
    for (int l = 1; l <= limbs; l++)
        stride += (size_t)(l * steps[l]);
    struct ulp_series *series =
        calloc(1, sizeof *series + cells * stride * sizeof series->coefficients[0]);
    if (!series)
        return NULL;
    series->limbs = limbs;
    series->width_bits = recipe->width_bits;
    series->stride = stride;
    memcpy(series->steps, steps, sizeof steps);
    mpfr_t x, c[TERMS_MAX];
    mpfr_init2(x, 64 * limbs + EXTRA_BITS);
    for (int k = 0; k < expanded; k++)
        mpfr_init2(c[k], 64 * limbs + EXTRA_BITS);
    uint64_t *next = series->coefficients;
    for (size_t cell = 0; cell < cells; cell++) {
        mpfr_set_ui_2exp(x, cell, -recipe->width_bits, MPFR_RNDN);
        recipe->expand(c, expanded, x);
        for (int k = 0; k < expanded; k++)
            mpfr_div_2ui(c[k], c[k], (unsigned long)(SCALE_BITS + k * recipe->width_bits),
                         MPFR_RNDN);
        for (int k = count - 1, l = 1, left = steps[1]; k >= 0; k--, left--) {
            while (left == 0)
                left = steps[++l];
            put_fixed(next, c[k], limbs, l);
            next += l;
        }
    }
    if (recipe->constant) {
        recipe->constant(x, MPFR_RNDN);
        if (recipe->constant == mpfr_const_pi)
            mpfr_div_2ui(x, x, 1, MPFR_RNDN);
        put_fixed(series->constant, x, limbs + 1, limbs + 2);
    }
    for (int k = 0; k < expanded; k++)
        mpfr_clear(c[k]);
    mpfr_clear(x);
    return series;
}

static _Atomic(struct ulp_series *) all[ULP_SERIES_COUNT][ULP_SERIES_LIMBS_MAX + 1];
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

const struct ulp_series *ulp_series_get(enum ulp_series_kind kind, int limbs)
{
    struct ulp_series *series = all[kind][limbs];
    if (series)
        return series;
    pthread_mutex_lock(&all_lock);
    series = all[kind][limbs];
    if (!series)
        all[kind][limbs] = series = create(kind, limbs);
    pthread_mutex_unlock(&all_lock);
    return series;
}

#endif
