/* The loops over the estimates of function/estimate.c (base/machine/each_cpu_template.h). */

/* The kind of estimate that is rounded to floats. */
#if VECTOR_BITS > 128
#define OF_FLOATS(name) fused_##name
#else
#define OF_FLOATS(name) plain_##name
#endif

/* y's bounds as floats: equal when every value within the bound rounds to that float. The upper one
 * is the result, as the lower one of -0 is -0 - -0 = +0. */
#define DECIDE(BOUND)                                                            \
    const float low = (float)(y - y * (BOUND)), high = (float)(y + y * (BOUND)); \
    out[i] = high;                                                               \
    undecided += low != high;

#define ESTIMATE(NAME, FUNCTION)                                                                \
    ULP_VECTORISE ATTRIBUTES static void NAMED(                                                 \
        estimate_##NAME)(double *restrict out, const double *restrict a, size_t n)              \
    {                                                                                           \
        for (size_t i = 0; i < n; i++) {                                                        \
            const double x = a[i];                                                              \
            out[i] = plain_##FUNCTION(x);                                                       \
        }                                                                                       \
    }                                                                                           \
    ULP_VECTORISE ATTRIBUTES static int NAMED(floats_##NAME)(float *restrict out,               \
                                                             const float *restrict a, size_t n) \
    {                                                                                           \
        int undecided = 0;                                                                      \
        for (size_t i = 0; i < n; i++) {                                                        \
            const double x = (double)a[i], y = OF_FLOATS(FUNCTION)(x);                          \
            DECIDE(ULP_ESTIMATE_ERROR)                                                          \
        }                                                                                       \
        return undecided;                                                                       \
    }
ESTIMATE(EXP, take_exp)
ESTIMATE(EXPM1, take_signed_expm1)
ESTIMATE(LOG, take_ln)
ESTIMATE(LOG1P, take_ln_1p)
ESTIMATE(SIN, take_sin)
ESTIMATE(COS, take_cos)
ESTIMATE(TAN, take_tan)
ESTIMATE(ASIN, take_asin)
ESTIMATE(ACOS, take_acos)
ESTIMATE(ATAN, take_atan)
ESTIMATE(SINH, take_sinh)
ESTIMATE(COSH, take_cosh)
ESTIMATE(TANH, take_tanh)
ESTIMATE(ASINH, take_asinh)
ESTIMATE(ACOSH, take_acosh)
ESTIMATE(ATANH, take_atanh)
ESTIMATE(ERF, take_erf)
ESTIMATE(SIGMOID, take_sigmoid)
ESTIMATE(SOFTPLUS, take_softplus)
ESTIMATE(RSQRT, take_rsqrt)

ULP_VECTORISE ATTRIBUTES static void NAMED(estimate_POW)(double *restrict out,
                                                         const double *restrict a,
                                                         const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = plain_take_pow(a[i], b[i]);
}

ULP_VECTORISE ATTRIBUTES static int NAMED(floats_POW)(float *restrict out, const float *restrict a,
                                                      const float *restrict b, size_t n)
{
    int undecided = 0;
    for (size_t i = 0; i < n; i++) {
        const double y = OF_FLOATS(take_pow)((double)a[i], (double)b[i]);
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

#undef OF_FLOATS
#undef DECIDE
#undef ESTIMATE
#undef ESTIMATE_ENTRY
#undef FLOATS_ENTRY
