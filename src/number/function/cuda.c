/* CUDA's functions: models whose form and coefficients were fitted to recorded results
 * (lab/fit_cuda_functions.py), in exact fused multiply-adds, so that the bits are the same on
 * every machine. */
#include "number/function/cuda.h"
#include "base/bits.h"
#include "base/machine/cpu.h"
#include "base/vectorise.h"
#include "number/function/cuda_coefficients.h"
#include "number/round/odd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    ERF_DEGREE = sizeof erf_near / sizeof erf_near[0] - 1,
    TANH_TERMS = sizeof tanh_near / sizeof tanh_near[0]
};

#define INLINE static inline __attribute__((always_inline))

INLINE float magnitude(float x)
{
    return ulp_float_from(ulp_float_bits(x) & INT32_MAX);
}
INLINE float with_sign(float m, float x)
{
    return ulp_float_from(ulp_float_bits(m) | (ulp_float_bits(x) & UINT32_C(0x80000000)));
}

/* condition ? a : b, both computed: a branch would keep loops from becoming vectors. */
INLINE float select(bool condition, float a, float b)
{
    const uint32_t mask = -(uint32_t)condition;
    return ulp_float_from((ulp_float_bits(a) & mask) | (ulp_float_bits(b) & ~mask));
}
/* x between -limit and limit; NaN is -limit. */
INLINE float bound(float x, float limit)
{
    return select(x > -limit, select(x < limit, x, limit), -limit);
}

typedef void cuda_fn(float *out, const float *a, size_t n);

/* The square of 17 bits as the GPU's special-function unit forms it, in units of 2^19: products of
 * two bits that weigh less are left out. */
INLINE int32_t cut_square(int32_t place)
{
    const int32_t high = place >> 9, low = place & 511;
    int32_t square = (high * high - (high & 1)) >> 1;
    _Pragma("GCC unroll 8") for (int bit = 10; bit < 17; bit++) square +=
        low >> (18 - bit) & -(place >> bit & 1);
    return square;
}

/* A parabola of the unit at one of 2^17 places, which is a whole number of units; every operation
 * is exact: 42 bits at most. */
#define TAKE_PARABOLA(NAME, segment, place)                                                 \
    (int32_t)(NAME##_constant[segment] + (double)(place)*0x1p-17 * NAME##_linear[segment] + \
              (double)cut_square(place) * 0x1p-15 * NAME##_square[segment])

/* The GPU's exponent unit, for |x| < 126: x cut to 23 fraction bits, a negative one as its ones'
 * complement unless nothing is left; the leading six of them choose a parabola in the other 17. */
INLINE float take_ex2(float x)
{
    const int32_t cut = (int32_t)(magnitude(x) * 0x1p23f), fixed = cut ^ -((x < 0) & (cut > 0));
    /* as wide as the double that it finds: vectors gather by it */
    const int64_t segment = fixed >> 17 & 63;
    const int32_t units = TAKE_PARABOLA(ex2, segment, fixed & 0x1ffff);
    return ulp_float_from(((uint32_t)((fixed >> 23) + 126) << 23) + (uint32_t)units);
}

/* Its reciprocal of 1 to 2^126: seven bits of the significand choose a parabola in the other 16. */
INLINE float take_rcp(float x)
{
    const int32_t bits = (int32_t)ulp_float_bits(x);
    const int64_t segment = bits >> 16 & 127;
    const int32_t units = TAKE_PARABOLA(rcp, segment, (bits & 0xffff) << 1);
    return (float)units * 0x1p-24f * ulp_float_from((uint32_t)(254 - (bits >> 23)) << 23);
}

/* Its reciprocal root: the exponent's last bit and six of the significand choose the parabola. A
 * power of four is exact. Subnormal numbers are scaled, as CUDA's rsqrtf does. */
static float take_rsqrt(float x)
{
    if (!(x > 0) || x > FLT_MAX)
        return x == 0 ? with_sign(INFINITY, x) : x > 0 ? 0 : NAN;
    if (x < FLT_MIN)
        return take_rsqrt(x * 0x1p24f) * 0x1p12f;
    const int32_t bits = (int32_t)ulp_float_bits(x), exponent = (bits >> 23) - 127;
    const int32_t segment = (exponent & 1) << 6 | (bits >> 17 & 63);
    const bool power = !(bits & 0x7fffff) && !(exponent & 1);
    const int32_t units = power ? 1 << 24 : TAKE_PARABOLA(rsqrt, segment, bits & 0x1ffff);
    return (float)units * 0x1p-24f *
           ulp_float_from((uint32_t)(127 - (exponent - (exponent & 1)) / 2) << 23);
}
static void run_RSQRT(float *out, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = take_rsqrt(a[i]);
}

/* 2^k as a float, -126 <= k <= 127. */
INLINE float take_power(float k)
{
    return ulp_float_from((uint32_t)((int32_t)k + 127) << 23);
}

#define TEMPLATE "number/function/cuda_template.h"
#include "base/machine/each_cpu_template.h"

void ulp_cuda_ex2(float *out, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = a[i];
        const float y = take_ex2(bound(x, 125));
        const float scaled = x < -125  ? take_ex2(bound(x + 64, 125)) * 0x1p-64f
                             : x > 125 ? take_ex2(bound(x - 64, 125)) * 0x1p64f
                                       : y;
        out[i] = x != x ? x : scaled < FLT_MIN ? 0 : scaled;
    }
}

void ulp_cuda_rcp(float *out, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = take_rcp(a[i]);
}

bool ulp_cuda_function(enum ulp_primitive primitive, float *out, const float *a, size_t n)
{
    cuda_fn *const run =
        ULP_BY_CPU(functions_avx512, functions_avx2, functions_portable)[primitive];
    if (run)
        run(out, a, n);
    return run != NULL;
}
