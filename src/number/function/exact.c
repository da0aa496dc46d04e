/* Elementary functions at any precision: MPFR's, and sigmoid and softplus, which MPFR lacks, by
 * Ziv's strategy (A. Ziv, "Fast evaluation of elementary mathematical functions with correctly
 * rounded last bit", ACM TOMS 17, 1991). */
#include "number/function/function.h"

#include <string.h>

typedef int unary_fn(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

/* Set *out to base + sign * (something positive too small to reach the next breakpoint of out's
 * precision). */
static int set_beside(mpfr_t out, const mpfr_t base, int sign, mpfr_rnd_t rounding)
{
    const mpfr_prec_t precision =
        mpfr_get_prec(out) > mpfr_get_prec(base) ? mpfr_get_prec(out) : mpfr_get_prec(base);
    mpfr_t tiny;
    mpfr_init2(tiny, 2);
    mpfr_set_si_2exp(tiny, sign, mpfr_get_exp(base) - precision - 8, MPFR_RNDN);
    const int ternary = mpfr_add(out, base, tiny, rounding);
    mpfr_clear(tiny);
    return ternary;
}

/* *y = 1 / (1 + exp(-x)) at y's precision with at most 4 ulp of error; false when exp
 * underflows. */
static bool estimate_sigmoid(mpfr_t y, const mpfr_t x)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(y));
    mpfr_neg(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(t, y, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, t, MPFR_RNDN);
    mpfr_clear(t);
    return mpfr_regular_p(y) != 0;
}

/* *y = log(1 + exp(x)), max(x, 0) + log1p(exp(-|x|)), as above: exp and log1p err by a relative
 * 2^-w each (log1p's condition number on (0, 1] is below 1), the sum by one more. */
static bool estimate_softplus(mpfr_t y, const mpfr_t x)
{
    mpfr_abs(y, x, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_log1p(y, y, MPFR_RNDN);
    if (mpfr_sgn(x) > 0)
        mpfr_add(y, y, x, MPFR_RNDN);
    return mpfr_regular_p(y) != 0;
}

/* Ziv's loop: estimate at growing precision until all values within the error round alike. x is
 * regular. The first rounding of x to the working precision is exact because that precision is at
 * least x's. */
static int round_estimate(mpfr_t out, bool (*estimate)(mpfr_t, const mpfr_t), const mpfr_t x,
                          mpfr_rnd_t rounding)
{
    const mpfr_prec_t precision = mpfr_get_prec(out);
    mpfr_prec_t working = (precision > mpfr_get_prec(x) ? precision : mpfr_get_prec(x)) + 32;
    mpfr_t y;
    mpfr_init2(y, working);
    int ternary;
    for (;; working += working / 2) {
        mpfr_set_prec(y, working);
        /* exp(x) is below MPFR's smallest number: so is the result, with the same sign */
        if (!estimate(y, x)) {
            ternary = mpfr_exp(out, x, rounding);
            break;
        }
        /* To nearest, y must not lie on a tie: cut off one bit lower the neighbours have to
         * agree. */
        const bool nearest = rounding == MPFR_RNDN;
        if (mpfr_can_round(y, working - 4, MPFR_RNDN, nearest ? MPFR_RNDZ : rounding,
                           precision + nearest)) {
            ternary = mpfr_set(out, y, rounding);
            break;
        }
    }
    mpfr_clear(y);
    return ternary;
}

static int compute_sigmoid(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    if (mpfr_nan_p(x)) {
        mpfr_set_nan(out);
        return 0;
    }
    if (mpfr_inf_p(x))
        return mpfr_set_ui(out, mpfr_sgn(x) > 0, rounding);
    if (mpfr_zero_p(x))
        return mpfr_set_ui_2exp(out, 1, -1, rounding);
    const mpfr_prec_t precision = mpfr_get_prec(out);
    mpfr_t base;
    int ternary;
    /* |x| < 2^(-p - 8): 1/2 + x/4 - x^3/48 ... lies between 1/2 and the next breakpoint. x > p + 8:
     * so does 1 - exp(-x), as exp(-x) < 2^(-p - 8). In both cases no finite precision near 3p or
     * exp(x) is needed. */
    const bool small = mpfr_get_exp(x)<-precision - 8, large = mpfr_cmp_si(x, precision + 8)> 0;
    if (!small && !large)
        return round_estimate(out, estimate_sigmoid, x, rounding);
    mpfr_init2(base, 2);
    mpfr_set_ui_2exp(base, 1, small ? -1 : 0, MPFR_RNDN);
    ternary = set_beside(out, base, small && mpfr_sgn(x) > 0 ? 1 : -1, rounding);
    mpfr_clear(base);
    return ternary;
}

static int compute_softplus(mpfr_t out, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    if (mpfr_nan_p(x)) {
        mpfr_set_nan(out);
        return 0;
    }
    if (mpfr_inf_p(x))
        return mpfr_sgn(x) > 0 ? mpfr_set_inf(out, 1), 0 : mpfr_set_ui(out, 0, rounding);
    mpfr_t zero;
    if (mpfr_zero_p(x)) {
        mpfr_init2(zero, 2);
        mpfr_set_ui(zero, 0, MPFR_RNDN);
        const int ternary = round_estimate(out, estimate_softplus, zero, rounding);
        mpfr_clear(zero);
        return ternary;
    }
    /* x > max(p, precision of x) + 8: exp(-x) is below every distance from x to a breakpoint, as x
     * >= 1. */
    const mpfr_prec_t precision =
        mpfr_get_prec(out) > mpfr_get_prec(x) ? mpfr_get_prec(out) : mpfr_get_prec(x);
    if (mpfr_cmp_si(x, precision + 8) > 0)
        return set_beside(out, x, 1, rounding);
    return round_estimate(out, estimate_softplus, x, rounding);
}

static unary_fn *const unary_functions[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_SQRT] = mpfr_sqrt,
    [ULP_PRIMITIVE_RSQRT] = mpfr_rec_sqrt,
    [ULP_PRIMITIVE_EXP] = mpfr_exp,
    [ULP_PRIMITIVE_EXPM1] = mpfr_expm1,
    [ULP_PRIMITIVE_LOG] = mpfr_log,
    [ULP_PRIMITIVE_LOG1P] = mpfr_log1p,
    [ULP_PRIMITIVE_SIN] = mpfr_sin,
    [ULP_PRIMITIVE_COS] = mpfr_cos,
    [ULP_PRIMITIVE_TAN] = mpfr_tan,
    [ULP_PRIMITIVE_ASIN] = mpfr_asin,
    [ULP_PRIMITIVE_ACOS] = mpfr_acos,
    [ULP_PRIMITIVE_ATAN] = mpfr_atan,
    [ULP_PRIMITIVE_SINH] = mpfr_sinh,
    [ULP_PRIMITIVE_COSH] = mpfr_cosh,
    [ULP_PRIMITIVE_TANH] = mpfr_tanh,
    [ULP_PRIMITIVE_ASINH] = mpfr_asinh,
    [ULP_PRIMITIVE_ACOSH] = mpfr_acosh,
    [ULP_PRIMITIVE_ATANH] = mpfr_atanh,
    [ULP_PRIMITIVE_ERF] = mpfr_erf,
    [ULP_PRIMITIVE_SIGMOID] = compute_sigmoid,
    [ULP_PRIMITIVE_SOFTPLUS] = compute_softplus,
};

int ulp_function_mpfr(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                      mpfr_rnd_t rounding)
{
    return primitive == ULP_PRIMITIVE_POW ? mpfr_pow(out, a, b, rounding)
                                          : unary_functions[primitive](out, a, rounding);
}

double ulp_double_to_odd(const mpfr_t x, int ternary)
{
    double d = mpfr_get_d(x, MPFR_RNDZ);
    if (!mpfr_number_p(x) || (ternary == 0 && mpfr_cmp_d(x, d) == 0))
        return d;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    /* DBL_MAX, what overflow truncates to, is odd; zero becomes the smallest subnormal of its
     * sign */
    bits |= 1;
    memcpy(&d, &bits, sizeof d);
    return d;
}
