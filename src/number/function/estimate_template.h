/* The loops over the estimates of function/estimate.c, once for each instruction set. Parameters:
 *   NAMED(name)   the name with the instruction set's suffix
 *   ATTRIBUTES    of the functions: __attribute__((target(...))) or nothing */

/* y's bounds as floats: equal when every value within the bound rounds to that float. The upper one
 * is the result, as the lower one of -0 is -0 - -0 = +0. */
#define DECIDE(BOUND)                                                            \
    const float low = (float)(y - y * (BOUND)), high = (float)(y + y * (BOUND)); \
    out[i] = high;                                                               \
    undecided += low != high;

#define ESTIMATE(NAME, EXPRESSION)                                                                \
    ATTRIBUTES static void NAMED(estimate_##NAME)(double *restrict out, const double *restrict a, \
                                                  size_t n)                                       \
    {                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            const double x = a[i];                                                                \
            out[i] = EXPRESSION;                                                                  \
        }                                                                                         \
    }                                                                                             \
    ATTRIBUTES static int NAMED(floats_##NAME)(float *restrict out, const float *restrict a,      \
                                               size_t n)                                          \
    {                                                                                             \
        int undecided = 0;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                          \
            const double x = (double)a[i], y = EXPRESSION;                                        \
            DECIDE(ULP_ESTIMATE_ERROR)                                                            \
        }                                                                                         \
        return undecided;                                                                         \
    }
ESTIMATE(EXP, take_exp(x))
ESTIMATE(EXPM1, take_signed_expm1(x))
ESTIMATE(LOG, take_ln(x))
ESTIMATE(LOG1P, take_ln_1p(x))
ESTIMATE(SIN, take_sin(x))
ESTIMATE(COS, take_cos(x))
ESTIMATE(TAN, take_tan(x))
ESTIMATE(ASIN, take_asin(x))
ESTIMATE(ACOS, take_acos(x))
ESTIMATE(ATAN, take_atan(x))
ESTIMATE(SINH, take_sinh(x))
ESTIMATE(COSH, take_cosh(x))
ESTIMATE(TANH, take_tanh(x))
ESTIMATE(ASINH, take_asinh(x))
ESTIMATE(ACOSH, take_acosh(x))
ESTIMATE(ATANH, take_atanh(x))
ESTIMATE(ERF, take_erf(x))
ESTIMATE(SIGMOID, take_sigmoid(x))
ESTIMATE(SOFTPLUS, take_softplus(x))

ATTRIBUTES static void NAMED(estimate_POW)(double *restrict out, const double *restrict a,
                                           const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = take_pow(a[i], b[i]);
}

ATTRIBUTES static int NAMED(floats_POW)(float *restrict out, const float *restrict a,
                                        const float *restrict b, size_t n)
{
    int undecided = 0;
    for (size_t i = 0; i < n; i++) {
        const double y = take_pow((double)a[i], (double)b[i]);
        DECIDE(ULP_ESTIMATE_ERROR_POW)
    }
    return undecided;
}

#define ESTIMATE_ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = NAMED(estimate_##NAME),
#define FLOATS_ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = NAMED(floats_##NAME),
static const struct estimates NAMED(estimates) = {
    .unary = {ULP_UNARY_FUNCTIONS(ESTIMATE_ENTRY)},
    .pow = NAMED(estimate_POW),
    .unary_floats = {ULP_UNARY_FUNCTIONS(FLOATS_ENTRY)},
    .pow_floats = NAMED(floats_POW),
};

#undef DECIDE
#undef ESTIMATE
#undef ESTIMATE_ENTRY
#undef FLOATS_ENTRY
