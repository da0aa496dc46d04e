/* The shape of a strip function over native numbers: y[i] = expression of u, v, w, which are a[i],
 * b[i], c[i]. The including file defines REAL (the element type) and round_results(rule, y, n,
 * place). MAP_EXACT: the expression's value needs no rounding. MAP_ROUNDED: results are then
 * rounded by the rule. out may be the same memory as an operand, which carries no dependency from
 * one element to another: ivdep. */
#include "base/machine/cpu.h"
#include "base/vectorise.h"

#define STRIP_ARGUMENTS                                                                        \
    const struct ulp_strip_rule *rule, void *out, const void *a, const void *b, const void *c, \
        size_t n, struct ulp_strip_place place

#define MAP_LOOP(ARITY, EXPRESSION)                                           \
    REAL *y = out;                                                            \
    const REAL *us = a, *vs = (ARITY) > 1 ? b : a, *ws = (ARITY) > 2 ? c : a; \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                       \
    {                                                                         \
        const REAL u = us[i], v = vs[i], w = ws[i];                           \
        (void)u, (void)v, (void)w;                                            \
        y[i] = EXPRESSION;                                                    \
    }

/* Each loop is compiled twice, for any processor and for AVX2: the same operations, so the same
 * bits. */
#if ULP_X86_VECTORS
#define MAP_TWICE(NAME, ARITY, EXPRESSION)                                                    \
    ULP_VECTORISE                                                                             \
    __attribute__((target("avx2"))) static void map_avx2_##NAME(void *out, const void *a,     \
                                                                const void *b, const void *c, \
                                                                size_t n)                     \
    {                                                                                         \
        (void)b, (void)c;                                                                     \
        MAP_LOOP(ARITY, EXPRESSION)                                                           \
    }                                                                                         \
    static void map_##NAME(void *out, const void *a, const void *b, const void *c, size_t n)  \
    {                                                                                         \
        if (ulp_cpu_features() & ULP_CPU_AVX2) {                                              \
            map_avx2_##NAME(out, a, b, c, n);                                                 \
            return;                                                                           \
        }                                                                                     \
        MAP_LOOP(ARITY, EXPRESSION)                                                           \
    }
#else
#define MAP_TWICE(NAME, ARITY, EXPRESSION)                                                   \
    static void map_##NAME(void *out, const void *a, const void *b, const void *c, size_t n) \
    {                                                                                        \
        (void)b, (void)c;                                                                    \
        MAP_LOOP(ARITY, EXPRESSION)                                                          \
    }
#endif

#define MAP_EXACT(NAME, ARITY, EXPRESSION)  \
    MAP_TWICE(NAME, ARITY, EXPRESSION)      \
    static void run_##NAME(STRIP_ARGUMENTS) \
    {                                       \
        (void)rule, (void)place;            \
        map_##NAME(out, a, b, c, n);        \
    }

#define MAP_ROUNDED(NAME, ARITY, EXPRESSION)        \
    MAP_TWICE(NAME, ARITY, EXPRESSION)              \
    static void run_##NAME(STRIP_ARGUMENTS)         \
    {                                               \
        map_##NAME(out, a, b, c, n);                \
        round_results(rule, (REAL *)out, n, place); \
    }
