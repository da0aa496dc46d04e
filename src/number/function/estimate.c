/* Elementary functions estimated in double: plain C on + - * / sqrt, without branches, so that the
 * loops vectorise and the bits are the same on every machine (of those that leave this file as
 * doubles: estimate_functions.h). Each estimate errs by less than 2^-46 relative (pow: 2^-44),
 * derived in README.md and measured by the tests; ULP_ESTIMATE_ERROR leaves a factor of 4.
 * Arguments outside a function's range here, and every special value that does not fall out of the
 * formula, give NaN: "not decided". */
#include "number/function/estimate.h"
#include "base/bits.h"
#include "base/machine/cpu.h"
#include "base/vectorise.h"
#include "number/function/coefficients.h"

#include <float.h>
#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define INLINE static inline __attribute__((always_inline))

/* Adding 1.5 * 2^52 rounds to an integer, which the sum's low bits then hold in two's
 * complement. */
#define SHIFTER 0x1.8p52
#define UNDECIDED ((double)__builtin_nanf(""))

INLINE double magnitude(double x)
{
    return ulp_double_from(ulp_double_bits(x) & ~(UINT64_C(1) << 63));
}
/* m >= 0 with the sign of x. */
INLINE double with_sign(double m, double x)
{
    return ulp_double_from(ulp_double_bits(m) | (ulp_double_bits(x) & UINT64_C(1) << 63));
}

INLINE double negate_if(double x, uint64_t bit)
{
    return ulp_double_from(ulp_double_bits(x) ^ bit << 63);
}
#define PI 0x1.921fb54442d18p1
#define HALF_PI 0x1.921fb54442d18p0

/* Rounded after every operation: the same bits on every machine. */
#define KIND(name) plain_##name
#define STEP(a, b, c) ((a) * (b) + (c))
#include "number/function/estimate_functions.h"
#undef KIND
#undef STEP
/* What is rounded to floats and decided by the bound may be fused: its last bits are seen by
 * nobody. */
#if ULP_X86_VECTORS
#define KIND(name) fused_##name
#define STEP(a, b, c) __builtin_fma(a, b, c)
#include "number/function/estimate_functions.h"
#undef KIND
#undef STEP
#endif

/* The loops over one instruction set's vectors. */
struct estimates {
    void (*unary[ULP_PRIMITIVE_COUNT])(double *restrict out, const double *restrict a, size_t n);
    void (*pow)(double *restrict out, const double *restrict a, const double *restrict b, size_t n);
    int (*unary_floats[ULP_PRIMITIVE_COUNT])(float *restrict out, const float *restrict a,
                                             size_t n);
    int (*pow_floats)(float *restrict out, const float *restrict a, const float *restrict b,
                      size_t n);
};

#define TEMPLATE "number/function/estimate_template.h"
#include "base/machine/each_cpu_template.h"

static const struct estimates *choose_estimates(void)
{
    return ULP_BY_CPU(&estimates_avx512, &estimates_avx2, &estimates_portable);
}

void ulp_estimate(enum ulp_primitive function, double *restrict out, const double *restrict a,
                  size_t n)
{
    choose_estimates()->unary[function](out, a, n);
}

void ulp_estimate_pow(double *restrict out, const double *restrict a, const double *restrict b,
                      size_t n)
{
    choose_estimates()->pow(out, a, b, n);
}

int ulp_estimate_floats(enum ulp_primitive function, float *restrict out, const float *restrict a,
                        const float *restrict b, size_t n)
{
    const struct estimates *estimates = choose_estimates();
    return function == ULP_PRIMITIVE_POW ? estimates->pow_floats(out, a, b, n)
                                         : estimates->unary_floats[function](out, a, n);
}
