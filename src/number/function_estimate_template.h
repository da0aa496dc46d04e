/* The loops over the estimates of function_estimate.c, once for each instruction set. Parameters:
 *   NAMED(name)   the name with the instruction set's suffix
 *   ATTRIBUTES    of the functions: __attribute__((target(...))) or nothing */
#define ESTIMATE(NAME, EXPRESSION)                                                                                     \
    ATTRIBUTES static void NAMED(estimate_##NAME)(double *restrict out, const double *restrict a, size_t n)            \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const double x = a[i];                                                                                     \
            out[i] = EXPRESSION;                                                                                       \
        }                                                                                                              \
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

ATTRIBUTES static void NAMED(estimate_POW)(double *restrict out, const double *restrict a, const double *restrict b,
                                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = take_pow(a[i], b[i]);
}

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = NAMED(estimate_##NAME),
static const struct estimates NAMED(estimates) = {.unary = {ULP_UNARY_FUNCTIONS(ENTRY)}, .pow = NAMED(estimate_POW)};

#undef ESTIMATE
#undef ENTRY
