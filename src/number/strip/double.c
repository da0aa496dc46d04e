/* The double carrier: binary64 itself (each_step false), and every format of at most 51 bits in any
 * rounding mode, by computing each primitive to odd at 53 bits and rounding that once to the
 * format. */
#include "number/function/function.h"
#include "number/round/odd.h"
#include "number/round/round.h"
#include "number/strip.h"

#include <float.h>
#include <math.h>

#define REAL double
#define BITS uint64_t
#define SIGN_BIT UINT64_C(0x8000000000000000)
#define INTEGER_FROM 0x1p52
#define REAL_MAX DBL_MAX
#define REAL_BITS 53
#define REAL_EMIN (-1022)
#define REAL_EMAX 1023
#define REAL_ELEMENT ULP_ELEMENT_F64
#define FMOD_REAL fmod

static void round_to(const struct ulp_format *format, enum ulp_rounding rounding, double *x,
                     size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    ulp_round_doubles(format, rounding, x, n, seed, stream, first);
}

static void round_results(const struct ulp_strip_rule *rule, double *y, size_t n,
                          struct ulp_strip_place place)
{
    if (rule->each_step)
        ulp_round_doubles(&rule->format, rule->rounding, y, n, rule->seed, place.stream,
                          place.first);
}

#include "number/strip/strip_template.h"
#include "number/strip/access_template.h"

/* How a primitive's exact result reaches the format. */
enum method {
    /* binary64's operation: its own rounding is the last, or harmless (README.md, 3.1) */
    METHOD_PLAIN,
    METHOD_ODD,   /* error-free transformations */
    METHOD_EXACT, /* MPFR: exponents where a product's low part would underflow */
};

static enum method choose_method(const struct ulp_strip_rule *rule)
{
    const struct ulp_format *f = &rule->format;
    if (!rule->each_step)
        return METHOD_PLAIN;
    if (f->emin < -300 || f->emax > 300)
        return METHOD_EXACT;
    return rule->rounding == ULP_ROUND_NEAREST_EVEN && f->precision <= 25 ? METHOD_PLAIN
                                                                          : METHOD_ODD;
}

typedef int exact_fn(mpfr_t out, const mpfr_t a, const mpfr_t b, const mpfr_t c,
                     mpfr_rnd_t rounding);
static int multiply_mpfr(mpfr_t out, const mpfr_t a, const mpfr_t b, const mpfr_t c,
                         mpfr_rnd_t rounding)
{
    (void)c;
    return mpfr_mul(out, a, b, rounding);
}
static int divide_mpfr(mpfr_t out, const mpfr_t a, const mpfr_t b, const mpfr_t c,
                       mpfr_rnd_t rounding)
{
    (void)c;
    return mpfr_div(out, a, b, rounding);
}
static int take_root(mpfr_t out, const mpfr_t a, const mpfr_t b, const mpfr_t c,
                     mpfr_rnd_t rounding)
{
    (void)b, (void)c;
    return mpfr_sqrt(out, a, rounding);
}

/* One result to odd through MPFR. */
static double compute_exactly(exact_fn *compute, double a, double b, double c)
{
    mp_limb_t limbs[4][ULP_STRIP_LIMBS(64)];
    const double operands[3] = {a, b, c};
    mpfr_t x[4];
    for (int k = 0; k < 4; k++) {
        mpfr_custom_init_set(x[k], MPFR_NAN_KIND, 0, k < 3 ? 53 : 64, limbs[k]);
        if (k < 3)
            mpfr_set_d(x[k], operands[k], MPFR_RNDN);
    }
    const int ternary = compute(x[3], x[0], x[1], x[2], MPFR_RNDZ);
    return ulp_double_to_odd(x[3], ternary);
}

/* A primitive by the method of its rule: PLAIN, ODD, EXACT are expressions of u, v, w. */
#define MAP_METHODS(NAME, ARITY, PLAIN, ODD, EXACT)     \
    static void run_##NAME(STRIP_ARGUMENTS)             \
    {                                                   \
        (void)b, (void)c;                               \
        const enum method method = choose_method(rule); \
        if (method == METHOD_PLAIN) {                   \
            MAP_LOOP(ARITY, PLAIN)                      \
        } else if (method == METHOD_ODD) {              \
            MAP_LOOP(ARITY, ODD)                        \
        } else {                                        \
            MAP_LOOP(ARITY, EXACT)                      \
        }                                               \
        round_results(rule, out, n, place);             \
    }

MAP_METHODS(ADD, 2, u + v, ulp_odd_add(u, v), ulp_odd_add(u, v))
MAP_METHODS(SUB, 2, u - v, ulp_odd_add(u, -v), ulp_odd_add(u, -v))
MAP_METHODS(MUL, 2, u *v, ulp_odd_mul(u, v), compute_exactly(multiply_mpfr, u, v, 0))
MAP_METHODS(DIV, 2, u / v, ulp_odd_div(u, v), compute_exactly(divide_mpfr, u, v, 0))
MAP_METHODS(SQRT, 1, __builtin_sqrt(u), ulp_odd_sqrt(u), compute_exactly(take_root, u, 0, 0))
MAP_METHODS(MOD, 2, modulo_remainder(u, v) + modulo_addend(modulo_remainder(u, v), v),
            ulp_odd_add(modulo_remainder(u, v), modulo_addend(modulo_remainder(u, v), v)),
            ulp_odd_add(modulo_remainder(u, v), modulo_addend(modulo_remainder(u, v), v)))

#define FUSE_BUILTIN __builtin_fma
#define FUSE_SOFTWARE __builtin_fma /* the C library's where there is no instruction */
#include "number/strip/fma_template.h"

/* PLAIN: products of a format of at most 25 bits are exact, but the sum still needs rounding to
 * odd. */
MAP_METHODS(ROUNDED_FMA, 3, ulp_odd_add(u *v, w), ulp_odd_fma(u, v, w),
            compute_exactly(mpfr_fma, u, v, w))
static void run_FMA(STRIP_ARGUMENTS)
{
    if (rule->each_step)
        run_ROUNDED_FMA(rule, out, a, b, c, n, place);
    else
        fuse(out, a, b, c, n);
}

static void run_function(enum ulp_primitive primitive, STRIP_ARGUMENTS)
{
    (void)c;
    if (rule->each_step)
        ulp_function_doubles(&rule->format, rule->rounding, primitive, out, a, b, n, rule->seed,
                             place.stream, place.first);
    else
        ulp_function_binary64(primitive, out, a, b, n);
}

#define FUNCTION(NAME)                                                    \
    static void run_##NAME(STRIP_ARGUMENTS)                               \
    {                                                                     \
        run_function(ULP_PRIMITIVE_##NAME, rule, out, a, b, c, n, place); \
    }
ULP_UNARY_FUNCTIONS(FUNCTION)
FUNCTION(POW)

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME,
const struct ulp_strip_table ulp_strip_double = {
    .primitive = {ULP_UNARY_FUNCTIONS(ENTRY) ENTRY(POW) ENTRY(MOD) ENTRY(ADD) ENTRY(SUB) ENTRY(MUL)
                      ENTRY(DIV) ENTRY(SQRT) ENTRY(FMA) TEMPLATE_ENTRIES},
    .load = load,
    .store = store,
    .constant = constant,
    .spread = spread,
};
