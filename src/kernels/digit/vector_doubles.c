/* Rows of double digits times floats, by instruction sets. */
#include "kernels/digit/vector.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

typedef int64_t integers_4 __attribute__((vector_size(32)));
typedef int64_t integers_8 __attribute__((vector_size(64)));

#define SUFFIX avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 4
#define VECTOR __m256d
#define INTEGERS integers_4
#define FMA(a, b, s) _mm256_fmadd_pd(a, b, s)
#define WIDEN(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#include "kernels/digit/vector_doubles_template.h"

#define SUFFIX avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define LANES 8
#define VECTOR __m512d
#define INTEGERS integers_8
#define FMA(a, b, s) _mm512_fmadd_pd(a, b, s)
#define WIDEN(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#include "kernels/digit/vector_doubles_template.h"

const struct ulp_wide_vector ulp_wide_vector_avx2 = {.columns = 8,
                                                     .digits_max = ULP_WIDE_VECTOR_DOUBLES_MAX,
                                                     .scan = scan_avx2,
                                                     .pairs = pairs_avx2};
const struct ulp_wide_vector ulp_wide_vector_avx512 = {.columns = 16,
                                                       .digits_max = ULP_WIDE_VECTOR_DOUBLES_MAX,
                                                       .scan = scan_avx512,
                                                       .pairs = pairs_avx512};
#endif
