/* CUDA's functions: models whose form and coefficients were fitted to recorded results
 * (scripts/fit_cuda_functions.py), in exact fused multiply-adds, so that the bits are the same on
 * every machine. */
#include "number/function/cuda.h"
#include "base/bits.h"
#include "base/machine/cpu.h"
#include "base/vectorise.h"
#include "number/function/cuda_coefficients.h"
#include "number/round/odd.h"

#include <float.h>
#include <string.h>

enum { ERF_DEGREE = sizeof erf_near / sizeof erf_near[0] - 1 };

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

/* The GPU's exponent unit, for |x| < 126: x cut to 23 fraction bits, a negative one as its ones'
 * complement unless nothing is left; the leading six of them choose a parabola in the other 17. */
INLINE float take_ex2(float x)
{
    const int32_t cut = (int32_t)(magnitude(x) * 0x1p23f), fixed = cut ^ -((x < 0) & (cut > 0));
    /* as wide as the double that it finds: vectors gather by it */
    const int64_t segment = fixed >> 17 & 63;
    const double place = (double)(fixed & 0x1ffff) * 0x1p-17;
    const double units =
        ex2_constant[segment] + place * (ex2_linear[segment] + place * ex2_square[segment]);
    return ulp_float_from(((uint32_t)((fixed >> 23) + 127) << 23) +
                          (uint32_t)(int32_t)(units + 0.5));
}

/* 2^k as a float, -126 <= k <= 127. */
INLINE float take_power(float k)
{
    return ulp_float_from((uint32_t)((int32_t)k + 127) << 23);
}

typedef void cuda_fn(float *out, const float *a, size_t n);

/* The product of two floats is exact in double; its sum with c, rounded to odd, then rounds
 * once. */
#define FUSE(a, b, c) (float)ulp_odd_add((double)(a) * (double)(b), (double)(c))
#define NAMED(name) name##_portable
#define ATTRIBUTES ULP_VECTORISE
#include "number/function/cuda_template.h"
#undef FUSE
#undef NAMED
#undef ATTRIBUTES

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_X86_VECTORS 1
#define FUSE(a, b, c) __builtin_fmaf(a, b, c)
#define NAMED(name) name##_avx2
#define ATTRIBUTES ULP_VECTORISE __attribute__((target("avx2,fma")))
#include "number/function/cuda_template.h"
#undef NAMED
#undef ATTRIBUTES
#define NAMED(name) name##_avx512
#define ATTRIBUTES \
    ULP_VECTORISE  \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma" ULP_VECTOR_WIDTH(512))))
#include "number/function/cuda_template.h"
#undef NAMED
#undef ATTRIBUTES
#undef FUSE
#endif

static cuda_fn *choose(enum ulp_primitive primitive)
{
#ifdef HAVE_X86_VECTORS
    const unsigned features = ulp_cpu_features();
    if (features & ULP_CPU_AVX512)
        return functions_avx512[primitive];
    if (features & ULP_CPU_AVX2)
        return functions_avx2[primitive];
#endif
    return functions_portable[primitive];
}

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

bool ulp_cuda_function(enum ulp_primitive primitive, float *out, const float *a, size_t n)
{
    cuda_fn *const run = choose(primitive);
    if (run)
        run(out, a, n);
    return run != NULL;
}
