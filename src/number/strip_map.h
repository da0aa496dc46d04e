/* The shape of a strip function over native numbers: y[i] = expression of u, v, w, which are a[i], b[i], c[i].
 * The including file defines REAL (the element type) and round_results(rule, y, n, place).
 * MAP_EXACT: the expression's value needs no rounding. MAP_ROUNDED: results are then rounded by the rule.
 * out may be the same memory as an operand, which carries no dependency from one element to another: ivdep. */
/* Functions for instruction sets found at run time can be compiled. */
#if defined(__x86_64__) && defined(__GNUC__)
#define ULP_STRIP_X86
#endif

#define STRIP_ARGUMENTS                                                                                                \
    const struct ulp_strip_rule *rule, void *out, const void *a, const void *b, const void *c, size_t n,               \
        struct ulp_strip_place place

#define MAP_LOOP(ARITY, EXPRESSION)                                                                                    \
    REAL *y = out;                                                                                                     \
    const REAL *us = a, *vs = (ARITY) > 1 ? b : a, *ws = (ARITY) > 2 ? c : a;                                          \
    _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                                                                \
    {                                                                                                                  \
        const REAL u = us[i], v = vs[i], w = ws[i];                                                                    \
        (void)u, (void)v, (void)w;                                                                                     \
        y[i] = EXPRESSION;                                                                                             \
    }

#define MAP_EXACT(NAME, ARITY, EXPRESSION)                                                                             \
    static void run_##NAME(STRIP_ARGUMENTS)                                                                            \
    {                                                                                                                  \
        (void)rule, (void)b, (void)c, (void)place;                                                                     \
        MAP_LOOP(ARITY, EXPRESSION)                                                                                    \
    }

#define MAP_ROUNDED(NAME, ARITY, EXPRESSION)                                                                           \
    static void run_##NAME(STRIP_ARGUMENTS)                                                                            \
    {                                                                                                                  \
        (void)b, (void)c;                                                                                              \
        MAP_LOOP(ARITY, EXPRESSION)                                                                                    \
        round_results(rule, y, n, place);                                                                              \
    }
