/* Instances of metrics_strip_template.h, and the choice between them. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/machine/cpu.h"
#include "analysis/measure/metrics_strip.h"
#include "base/vectorise.h"
#include "number/double_pair.h"

#define METRICS_LANES 8

#define TARGET ULP_VECTORISE
#define WIDTH 2
#define SUFFIX(name) name##_portable
#include "analysis/measure/metrics_strip_template.h"

#if ULP_X86_VECTORS
#define TARGET ULP_VECTORISE __attribute__((target("avx2" ULP_VECTOR_WIDTH(256))))
#define WIDTH 4
#define SUFFIX(name) name##_avx2
#include "analysis/measure/metrics_strip_template.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" ULP_VECTOR_WIDTH(512))))
#define TARGET ULP_VECTORISE AVX512
#define WIDTH 8
#define SUFFIX(name) name##_avx512
#include "analysis/measure/metrics_strip_template.h"

/* As gather_avx512, by vectors' own instruction. What is stored behind the found ones lies within
 * what has been read. */
static AVX512 size_t compress_range(double *out, const double *values, size_t count, int64_t least,
                                    int64_t beyond, size_t *below, size_t *negative)
{
    const __m512i first = _mm512_set1_epi64(least), span = _mm512_set1_epi64(beyond - least);
    size_t found = 0, i = 0, under = 0, signs = 0;
    for (; i + 8 <= count; i += 8) {
        const __m512i bits = _mm512_loadu_si512(values + i);
        const __mmask8 in = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(bits, first), span);
        _mm512_storeu_si512(out + found, _mm512_maskz_compress_epi64(in, bits));
        found += (size_t)__builtin_popcount(in);
        under += (size_t)__builtin_popcount(_mm512_cmplt_epi64_mask(bits, first));
        signs += (size_t)__builtin_popcount(_mm512_movepi64_mask(bits));
    }
    *below += under - signs;
    *negative += signs;
    _mm256_zeroupper(); /* gcc 12 leaves it out, and the caller's SSE instructions wait */
    return found +
           gather_avx512(out + found, values + i, count - i, least, beyond, below, negative);
}
#endif

#define CODE(gather, suffix)                                                                    \
    {                                                                                           \
        open_pairs_##suffix, subtract_##suffix, subtract_from_plain_##suffix, compare_##suffix, \
            sum_##suffix, gather, magnitudes_##suffix, widen_##suffix                           \
    }

struct ulp_metrics_sums ulp_metrics_add_up(const struct ulp_metrics_running *running)
{
    double sums[5];
    for (int s = 0; s < 5; s++) {
        double lanes[METRICS_LANES];
        memcpy(lanes, running->lanes[s], sizeof lanes);
        for (int half = METRICS_LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++)
                lanes[l] += lanes[l + half];
        sums[s] = lanes[0];
    }
    return (struct ulp_metrics_sums){sums[0], sums[1], sums[2], sums[3], sums[4]};
}

const struct ulp_metrics_code *ulp_metrics_code_find(void)
{
    static const struct ulp_metrics_code portable = CODE(gather_portable, portable);
#if ULP_X86_VECTORS
    static const struct ulp_metrics_code avx2 = CODE(gather_avx2, avx2),
                                         avx512 = CODE(compress_range, avx512);
#endif
    return ULP_BY_CPU(&avx512, &avx2, &portable);
}
