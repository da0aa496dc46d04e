/* Reductions of windows in the native carriers: for any processor, for AVX2 and for AVX-512. */
#include "number/strip/windows.h"

#include <string.h>

#include "base/machine/cpu.h"
#include "number/strip/map.h"

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif

#define FAMILY floats
#define ATTRIBUTE
#define REAL float
#define BITS uint32_t
#define SIGN_BIT UINT32_C(0x80000000)
#define LANES 4
#include "number/strip/windows_template.h"

#define FAMILY doubles
#define ATTRIBUTE
#define REAL double
#define BITS uint64_t
#define SIGN_BIT UINT64_C(0x8000000000000000)
#define LANES 2
#include "number/strip/windows_template.h"

#if ULP_X86_VECTORS

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl")))

#define FAMILY floats_avx2
#define ATTRIBUTE AVX2
#define REAL float
#define BITS uint32_t
#define SIGN_BIT UINT32_C(0x80000000)
#define LANES 8
#include "number/strip/windows_template.h"

#define FAMILY doubles_avx2
#define ATTRIBUTE AVX2
#define REAL double
#define BITS uint64_t
#define SIGN_BIT UINT64_C(0x8000000000000000)
#define LANES 4
#include "number/strip/windows_template.h"

/* vrange orders -0 below +0, but prefers a number to NaN. */
#define RANGE_LESSER 4
#define RANGE_GREATER 5
#define PART(n) ((1u << (n)) - 1)

#define FAMILY floats_avx512
#define ATTRIBUTE AVX512
#define REAL float
#define BITS uint32_t
#define SIGN_BIT UINT32_C(0x80000000)
#define LANES 16
#define LOAD_PART(p, n) _mm512_maskz_loadu_ps((__mmask16)PART(n), p)
#define STORE_PART(p, n, x) _mm512_mask_storeu_ps(p, (__mmask16)PART(n), x)
#define RANGE_F32(u, w, which) \
    _mm512_mask_add_ps(_mm512_range_ps(u, w, which), _mm512_cmp_ps_mask(u, w, _CMP_UNORD_Q), u, w)
#define GREATER(u, w) RANGE_F32(u, w, RANGE_GREATER)
#define LESSER(u, w) RANGE_F32(u, w, RANGE_LESSER)
#include "number/strip/windows_template.h"

#define FAMILY doubles_avx512
#define ATTRIBUTE AVX512
#define REAL double
#define BITS uint64_t
#define SIGN_BIT UINT64_C(0x8000000000000000)
#define LANES 8
#define LOAD_PART(p, n) _mm512_maskz_loadu_pd((__mmask8)PART(n), p)
#define STORE_PART(p, n, x) _mm512_mask_storeu_pd(p, (__mmask8)PART(n), x)
#define RANGE_F64(u, w, which) \
    _mm512_mask_add_pd(_mm512_range_pd(u, w, which), _mm512_cmp_pd_mask(u, w, _CMP_UNORD_Q), u, w)
#define GREATER(u, w) RANGE_F64(u, w, RANGE_GREATER)
#define LESSER(u, w) RANGE_F64(u, w, RANGE_LESSER)
#include "number/strip/windows_template.h"

#endif

#define OF_CPU(REALS, WHAT) \
    ULP_BY_FEATURES(cpu, REALS##_avx512##WHAT, REALS##_avx2##WHAT, REALS##WHAT)
#define CHOOSE(TYPE, NAME, WHAT)                                     \
    TYPE *NAME(enum ulp_strip_carrier carrier, unsigned cpu)         \
    {                                                                \
        return carrier == ULP_STRIP_FLOAT    ? OF_CPU(floats, WHAT)  \
               : carrier == ULP_STRIP_DOUBLE ? OF_CPU(doubles, WHAT) \
                                             : NULL;                 \
    }
CHOOSE(ulp_windows_fn, ulp_windows_of, _windows)
CHOOSE(ulp_reduce_fn, ulp_reduce_of, _reduce)
