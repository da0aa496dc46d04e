/* Instances of metrics_strip_template.h, and the choice between them. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "analysis/measure/metrics_strip.h"
#include "base/vectorise.h"
#include "number/double_pair.h"
#include "number/record_batch.h"

_Static_assert(GMP_NUMB_BITS == 64, "limbs of 64 bits");

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
#define AVX2 __attribute__((target("avx2")))

/* An integer up to 2^53 times the power of two whose pattern is given, with a sign: both halves as
 * the last bits of a double. */
ULP_FOUR void store_four(double *out, ulp_four integer, ulp_four power, ulp_four sign)
{
    const __m256d top = _mm256_castsi256_pd(
                      (__m256i)(ulp_four_right(integer, 32) | 0x4530000000000000)),
                  low = _mm256_castsi256_pd((__m256i)((integer & 0xFFFFFFFF) | 0x4330000000000000));
    const __m256d whole = _mm256_add_pd(_mm256_sub_pd(top, _mm256_set1_pd(0x1p84)),
                                        _mm256_sub_pd(low, _mm256_set1_pd(0x1p52)));
    const __m256d part = _mm256_mul_pd(whole, _mm256_castsi256_pd((__m256i)power));
    _mm256_storeu_pd(out, _mm256_or_pd(part, _mm256_castsi256_pd((__m256i)sign)));
}

typedef bool open_fn(struct ulp_metrics_side *restrict side, const void *records, int limb_count,
                     size_t count);

/* Records from `first` on, behind those that were opened in batches. */
static bool open_rest(open_fn *open, struct ulp_metrics_side *restrict side, const void *records,
                      int limb_count, size_t first, size_t count)
{
    struct ulp_metrics_side rest;
    const size_t step = 2 + (size_t)limb_count, left = count - first;
    const bool easy = open(&rest, (const int64_t *)records + step * first, limb_count, left);
    memcpy(side->nearest + first, rest.nearest, left * sizeof(double));
    memcpy(side->high + first, rest.high, left * sizeof(double));
    memcpy(side->middle + first, rest.middle, left * sizeof(double));
    memcpy(side->low + first, rest.low, left * sizeof(double));
    memcpy(side->hard + first, rest.hard, left * sizeof(int64_t));
    return easy;
}

/* As open_wide_avx2, which does what is no batch of records of two limbs. */
static AVX2 bool open_fours(struct ulp_metrics_side *restrict side, const void *records,
                            int limb_count, size_t count)
{
    size_t i = 0;
    ulp_four any = {0};
    for (; limb_count == 2 && i + 4 <= count; i += 4) {
        ulp_four fields[4];
        ulp_records_load_four(fields, (const int64_t *)records + 4 * i);
        const ulp_four sign = fields[1] & INT64_MIN, zero = ulp_four_zeros(fields),
                       kept = ulp_four_regular(fields, 800);
        const ulp_four lower = fields[2] & kept, upper = fields[3] & kept;
        const ulp_four scale = (fields[0] & kept) + 1023, first = ulp_four_right(upper, 11),
                       below = (upper & 0x3FF) | lower,
                       up = ulp_four_right(upper, 10) & 1 & (first | (below != 0));
        store_four(side->high + i, first, (scale - 53) << 52, sign);
        store_four(side->nearest + i, first + up, (scale - 53) << 52, sign);
        store_four(side->middle + i, (upper & 0x7FF) << 42 | ulp_four_right(lower, 22),
                   (scale - 106) << 52, sign);
        store_four(side->low + i, lower & 0x3FFFFF, (scale - 128) << 52, sign);
        const ulp_four hard = ~(zero | kept);
        memcpy(side->hard + i, &hard, sizeof hard);
        any |= hard;
    }
    const bool easy = _mm256_testz_si256((__m256i)any, (__m256i)any);
    return i == count ? easy
                      : open_rest(open_wide_avx2, side, records, limb_count, i, count) && easy;
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" ULP_VECTOR_WIDTH(512))))
#define TARGET ULP_VECTORISE AVX512
#define WIDTH 8
#define SUFFIX(name) name##_avx512
#include "analysis/measure/metrics_strip_template.h"

/* An integer below 2^53 times the power of two whose pattern is given, with a sign. */
static inline __attribute__((always_inline)) AVX512 void store_part(double *out, __m512i integer,
                                                                    __m512i power, __m512i sign)
{
    const __m512d part = _mm512_mul_pd(_mm512_cvtepi64_pd(integer), _mm512_castsi512_pd(power));
    _mm512_storeu_pd(out, _mm512_or_pd(part, _mm512_castsi512_pd(sign)));
}

/* Bytes of records asked for ahead: a reader of several tensors comes back to each only after a
 * strip of the others, where the processor has forgotten that it was read in order. */
enum { OPENED_AHEAD = 2048 };

/* As open_wide_avx512, which does what is no batch of records of two limbs. */
static AVX512 bool open_records(struct ulp_metrics_side *restrict side, const void *records,
                                int limb_count, size_t count)
{
    const __m512i all = _mm512_set1_epi64(-1), one = _mm512_set1_epi64(1);
    size_t i = 0;
    bool easy = true;
    for (; limb_count == 2 && i + 8 <= count; i += 8) {
        __m512i fields[4];
        const int64_t *from = (const int64_t *)records + 4 * i;
        for (int line = 0; line < 4; line++)
            __builtin_prefetch((const char *)from + OPENED_AHEAD + 64 * line);
        ulp_records_load(fields, from);
        const __m512i sign = _mm512_and_si512(fields[1], _mm512_set1_epi64(INT64_MIN)),
                      kind = _mm512_abs_epi64(fields[1]);
        const __mmask8 zero = _mm512_cmpeq_epi64_mask(kind, _mm512_set1_epi64(MPFR_ZERO_KIND)),
                       kept = _mm512_cmpeq_epi64_mask(kind, _mm512_set1_epi64(MPFR_REGULAR_KIND)) &
                              _mm512_cmple_epu64_mask(_mm512_add_epi64(fields[0],
                                                                       _mm512_set1_epi64(800)),
                                                      _mm512_set1_epi64(1600));
        const __m512i upper = _mm512_maskz_mov_epi64(kept, fields[3]),
                      lower = _mm512_maskz_mov_epi64(kept, fields[2]);
        /* 2^(exponent - bits) */
#define POWER(BITS)                                                             \
    _mm512_slli_epi64(_mm512_add_epi64(_mm512_maskz_mov_epi64(kept, fields[0]), \
                                       _mm512_set1_epi64(1023 - (BITS))),       \
                      52)
        const __m512i first = _mm512_srli_epi64(upper, 11),
                      below =
                          _mm512_or_si512(_mm512_and_si512(upper, _mm512_set1_epi64(0x3FF)), lower);
        const __mmask8 up =
            _mm512_test_epi64_mask(upper, _mm512_set1_epi64(0x400)) &
            (_mm512_test_epi64_mask(first, one) | _mm512_test_epi64_mask(below, below));
        const __m512i middle =
            _mm512_or_si512(_mm512_slli_epi64(_mm512_and_si512(upper, _mm512_set1_epi64(0x7FF)),
                                              42),
                            _mm512_srli_epi64(lower, 22));
        store_part(side->high + i, first, POWER(53), sign);
        store_part(side->nearest + i, _mm512_mask_add_epi64(first, up, first, one), POWER(53),
                   sign);
        store_part(side->middle + i, middle, POWER(106), sign);
        store_part(side->low + i, _mm512_and_si512(lower, _mm512_set1_epi64(0x3FFFFF)), POWER(128),
                   sign);
#undef POWER
        const __mmask8 hard = (__mmask8) ~(zero | kept);
        _mm512_storeu_si512(side->hard + i, _mm512_maskz_mov_epi64(hard, all));
        easy &= hard == 0;
    }
    return i == count ? easy
                      : open_rest(open_wide_avx512, side, records, limb_count, i, count) && easy;
}

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

#define CODE(open, gather, suffix)                                                      \
    {                                                                                   \
        open, open_pairs_##suffix, subtract_##suffix, subtract_from_plain_##suffix,     \
            compare_##suffix, sum_##suffix, bins_##suffix, gather, magnitudes_##suffix, \
            widen_##suffix, move_##suffix                                               \
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
    static const struct ulp_metrics_code portable =
        CODE(open_wide_portable, gather_portable, portable);
#if ULP_X86_VECTORS
    static const struct ulp_metrics_code avx2 = CODE(open_fours, gather_avx2, avx2),
                                         avx512 = CODE(open_records, compress_range, avx512);
#endif
    return ULP_BY_CPU(&avx512, &avx2, &portable);
}
