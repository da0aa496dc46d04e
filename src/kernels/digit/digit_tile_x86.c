/* The tiles for x86-64: AVX-512 IFMA on integers, AVX-512 and AVX2 with FMA on doubles. */
#include "kernels/digit/digit_tile.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#include "base/machine/cpu.h"

#define MASK52 0xfffffffffffffll

#define TARGET_IFMA __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512ifma")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define TARGET_AVX2 __attribute__((target("avx2,fma")))

TARGET_IFMA static inline void flush_ifma(int64_t *carries, int64_t *sums, __m512i s)
{
    __m512i low = _mm512_and_si512(s, _mm512_set1_epi64(MASK52));
    _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_loadu_si512(sums), low));
    _mm512_storeu_si512(carries,
                        _mm512_add_epi64(_mm512_loadu_si512(carries), _mm512_srli_epi64(s, 52)));
}

#define SUFFIX ifma
#define TARGET TARGET_IFMA
#define LANES 8
#define VECTOR __m512i
#define DIGIT uint64_t
#define SPREAD(p) _mm512_set1_epi64((long long)*(p))
#define LOAD(p) _mm512_loadu_si512(p)
#define ADD_HIGH(s, a, b) _mm512_madd52hi_epu64(s, a, b)
#define ADD_LOW(s, a, b) _mm512_madd52lo_epu64(s, a, b)
#define FLUSH(carries, sums, s) flush_ifma(carries, sums, s)
#define INSTANCES(F) \
    F(1, 1) F(2, 1) F(4, 1) F(8, 1) F(1, 2) F(2, 2) F(4, 2) F(8, 2) F(1, 3) F(2, 3) F(4, 3) F(8, 3)
#include "kernels/digit/tile_template.h"

const struct ulp_wide_tile ulp_wide_tile_ifma = {
    .features = ULP_CPU_AVX512IFMA,
    .integer = true,
    .lanes = 8,
    .rows_max = 8,
    .vectors_max = 3,
    .carry = carry_ifma,
    .round = ulp_wide_round_avx512,
    .vector = &ulp_wide_vector_ifma,
    .lines = &ulp_wide_lines_avx512,
    .run = {{run_ifma_r1v1, run_ifma_r1v2, run_ifma_r1v3},
            {run_ifma_r2v1, run_ifma_r2v2, run_ifma_r2v3},
            {run_ifma_r4v1, run_ifma_r4v2, run_ifma_r4v3},
            {run_ifma_r8v1, run_ifma_r8v2, run_ifma_r8v3}},
};

TARGET_AVX512 static inline void flush_avx512(int64_t *sums, __m512d s)
{
    _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_loadu_si512(sums), _mm512_cvtpd_epi64(s)));
}

#define SUFFIX avx512
#define TARGET TARGET_AVX512
#define LANES 8
#define VECTOR __m512d
#define DIGIT double
#define SPREAD(p) _mm512_set1_pd(*(p))
#define LOAD(p) _mm512_loadu_pd(p)
#define ADD_HIGH(s, a, b) _mm512_fmadd_pd(a, b, s)
#define ADD_LOW(s, a, b) _mm512_fmadd_pd(a, b, s)
#define FLUSH(carries, sums, s) ((void)(carries), flush_avx512(sums, s))
#define INSTANCES(F) \
    F(1, 1) F(2, 1) F(4, 1) F(8, 1) F(1, 2) F(2, 2) F(4, 2) F(8, 2) F(1, 3) F(2, 3) F(4, 3) F(8, 3)
#include "kernels/digit/tile_template.h"

const struct ulp_wide_tile ulp_wide_tile_avx512 = {
    .features = ULP_CPU_AVX512,
    .lanes = 8,
    .rows_max = 8,
    .vectors_max = 3,
    .carry = carry_avx512,
    .round = ulp_wide_round_avx512,
    .vector = &ulp_wide_vector_avx512,
    .lines = &ulp_wide_lines_avx512,
    .run = {{run_avx512_r1v1, run_avx512_r1v2, run_avx512_r1v3},
            {run_avx512_r2v1, run_avx512_r2v2, run_avx512_r2v3},
            {run_avx512_r4v1, run_avx512_r4v2, run_avx512_r4v3},
            {run_avx512_r8v1, run_avx512_r8v2, run_avx512_r8v3}},
};

/* As in the portable tile. */
TARGET_AVX2 static inline void flush_avx2(int64_t *sums, __m256d s)
{
    const __m256d coarse = _mm256_set1_pd(0x1.8p60), fine = _mm256_set1_pd(0x1.8p52);
    const __m256d high = _mm256_add_pd(s, coarse),
                  low = _mm256_add_pd(_mm256_sub_pd(s, _mm256_sub_pd(high, coarse)), fine);
    const __m256i above = _mm256_sub_epi64(_mm256_castpd_si256(high), _mm256_castpd_si256(coarse));
    const __m256i below = _mm256_sub_epi64(_mm256_castpd_si256(low), _mm256_castpd_si256(fine));
    const __m256i old = _mm256_loadu_si256((const __m256i *)sums);
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi64(_mm256_add_epi64(old, below),
                                                          _mm256_slli_epi64(above, 8)));
}

#define SUFFIX avx2
#define TARGET TARGET_AVX2
#define LANES 4
#define VECTOR __m256d
#define DIGIT double
#define SPREAD(p) _mm256_set1_pd(*(p))
#define LOAD(p) _mm256_loadu_pd(p)
#define ADD_HIGH(s, a, b) _mm256_fmadd_pd(a, b, s)
#define ADD_LOW(s, a, b) _mm256_fmadd_pd(a, b, s)
#define FLUSH(carries, sums, s) ((void)(carries), flush_avx2(sums, s))
#define INSTANCES(F) F(1, 1) F(2, 1) F(4, 1) F(1, 2) F(2, 2) F(4, 2) F(1, 3) F(2, 3) F(4, 3)
#include "kernels/digit/tile_template.h"

const struct ulp_wide_tile ulp_wide_tile_avx2 = {
    .features = ULP_CPU_AVX2,
    .lanes = 4,
    .rows_max = 4,
    .vectors_max = 3,
    .carry = carry_avx2,
    .vector = &ulp_wide_vector_avx2,
    .run = {{run_avx2_r1v1, run_avx2_r1v2, run_avx2_r1v3},
            {run_avx2_r2v1, run_avx2_r2v2, run_avx2_r2v3},
            {run_avx2_r4v1, run_avx2_r4v2, run_avx2_r4v3}},
};
#endif
