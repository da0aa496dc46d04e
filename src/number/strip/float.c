/* The float carrier: binary32 itself (each_step false: the hardware's rounding is the
 * arithmetic's), and formats so much smaller that rounding the binary32 result again equals
 * rounding once (ulp_strip_rule_make says which). */
#include "number/function/function.h"
#include "number/function/cuda.h"
#include "number/function/mlas.h"
#include "number/round/odd.h"
#include "number/round/round.h"
#include "number/strip.h"

#include <float.h>
#include <math.h>

#define REAL float
#define BITS uint32_t
#define SIGN_BIT UINT32_C(0x80000000)
#define INTEGER_FROM 0x1p23f
#define REAL_MAX FLT_MAX
#define REAL_BITS 24
#define REAL_EMIN (-126)
#define REAL_EMAX 127
#define REAL_ELEMENT ULP_ELEMENT_F32
#define FMOD_REAL fmodf

static void round_to(const struct ulp_format *format, enum ulp_rounding rounding, float *x,
                     size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    ulp_round_floats(format, rounding, x, n, seed, stream, first);
}

static void round_results(const struct ulp_strip_rule *rule, float *y, size_t n,
                          struct ulp_strip_place place)
{
    if (rule->each_step)
        ulp_round_floats(&rule->format, rule->rounding, y, n, rule->seed, place.stream,
                         place.first);
}

#include "number/strip/strip_template.h"
#include "number/strip/access_template.h"

MAP_ROUNDED(ADD, 2, u + v)
MAP_ROUNDED(SUB, 2, u - v)
MAP_ROUNDED(MUL, 2, u *v)
MAP_ROUNDED(DIV, 2, u / v)
MAP_ROUNDED(SQRT, 1, __builtin_sqrtf(u))
MAP_ROUNDED(MOD, 2, modulo_remainder(u, v) + modulo_addend(modulo_remainder(u, v), v))

#define FUSE_BUILTIN __builtin_fmaf
/* The product of two floats is exact in double; its sum with c, rounded to odd, then rounds once to
 * any format. */
#define FUSE_SOFTWARE(u, v, w) ((float)ulp_odd_add((double)(u) * (v), w))
#include "number/strip/fma_template.h"

static void run_FMA(STRIP_ARGUMENTS)
{
    const float *u = a, *v = b, *w = c;
    float *y = out;
    if (!rule->each_step) {
        fuse(y, u, v, w, n);
        return;
    }
    double exact[ULP_STRIP];
    for (size_t i = 0; i < n; i++)
        exact[i] = ulp_odd_add((double)u[i] * v[i], w[i]);
    ulp_round_doubles(&rule->format, rule->rounding, exact, n, rule->seed, place.stream,
                      place.first);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)exact[i];
}

static void run_function(enum ulp_primitive primitive, STRIP_ARGUMENTS)
{
    (void)c;
    if (rule->cuda_functions && !(rule->tanh_rounded && primitive == ULP_PRIMITIVE_TANH) &&
        ulp_cuda_function(primitive, out, a, n))
        return;
    if (rule->mlas_functions && ulp_mlas_function(primitive, out, a, n))
        return;
    if (!rule->each_step) {
        ulp_function_floats(primitive, out, a, b, n);
        return;
    }
    double x[ULP_STRIP], w[ULP_STRIP];
    const float *us = a, *vs = b ? b : a;
    float *y = out;
    for (size_t i = 0; i < n; i++) {
        x[i] = us[i];
        w[i] = vs[i];
    }
    ulp_function_doubles(&rule->format, rule->rounding, primitive, x, x, w, n, rule->seed,
                         place.stream, place.first);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

#define FUNCTION(NAME)                                                    \
    static void run_##NAME(STRIP_ARGUMENTS)                               \
    {                                                                     \
        run_function(ULP_PRIMITIVE_##NAME, rule, out, a, b, c, n, place); \
    }
ULP_UNARY_FUNCTIONS(FUNCTION)
FUNCTION(POW)

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME,
const struct ulp_strip_table ulp_strip_float = {
    .primitive = {ULP_UNARY_FUNCTIONS(ENTRY) ENTRY(POW) ENTRY(MOD) ENTRY(ADD) ENTRY(SUB) ENTRY(MUL)
                      ENTRY(DIV) ENTRY(SQRT) ENTRY(FMA) TEMPLATE_ENTRIES},
    .load = load,
    .store = store,
    .constant = constant,
    .spread = spread,
};
