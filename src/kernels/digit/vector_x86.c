/* A row of digits times floats cut in registers, in AVX-512 IFMA: along k where a column's floats
 * are neighbours, else along columns. */
#include "kernels/digit/vector.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512ifma")))
#define INLINE static inline __attribute__((always_inline)) TARGET
/* Vectors of k between two flushes, and few more: each adds two halves below 2^52 to a lane. */
#define FLUSH_AFTER 2000

INLINE __m512i low52(__m512i x)
{
    return _mm512_and_si512(x, _mm512_set1_epi64(0xfffffffffffffll));
}

/* Eight floats' digits: x * scale + 1.5 * 2^52 is exact, and its low 52 bits are the digit. */
INLINE __m512i cut(__m256 x, __m512d scale)
{
    return low52(
        _mm512_castpd_si512(_mm512_fmadd_pd(_mm512_cvtps_pd(x), scale, _mm512_set1_pd(0x1.8p52))));
}

INLINE __mmask16 first_lanes(size_t count)
{
    return (__mmask16)(count >= 16 ? 0xffff : (1u << count) - 1);
}
INLINE __mmask8 first_8(size_t count)
{
    return (__mmask8)(count >= 8 ? 0xff : (1u << count) - 1);
}

/* ---- along k ---- */

INLINE void scan_along_k(int32_t *largest, int32_t *smallest_less_1,
                         const struct ulp_wide_floats *f)
{
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX), one = _mm512_set1_epi32(1);
    for (size_t c = 0; c < f->columns; c++) {
        const float *x = f->data + f->column[c];
        __m512i large = _mm512_setzero_si512(), small = magnitude;
        for (size_t k = 0; k < f->k_count; k += 16) {
            const __m512i bits =
                _mm512_castps_si512(_mm512_maskz_loadu_ps(first_lanes(f->k_count - k), x + k));
            large = _mm512_max_epi32(large, _mm512_and_si512(bits, magnitude));
            small =
                _mm512_min_epi32(small, _mm512_and_si512(_mm512_sub_epi32(bits, one), magnitude));
        }
        largest[c] = _mm512_reduce_max_epi32(large);
        smallest_less_1[c] = _mm512_reduce_min_epi32(small);
    }
}

/* The lanes of two accumulators of one position. */
INLINE void flush_along_k(int64_t *sums, size_t width, __m512i s, __m512i t)
{
    sums[0] += _mm512_reduce_add_epi64(
        _mm512_add_epi64(_mm512_srli_epi64(s, 52), _mm512_srli_epi64(t, 52)));
    sums[width] += _mm512_reduce_add_epi64(_mm512_add_epi64(low52(s), low52(t)));
}

/* One vector of k: the products and the digits themselves. */
INLINE void add_vector(__m512i *s, __m512i *total, int digits, const uint64_t *x, size_t stride,
                       __m512i d, __mmask8 lanes)
{
    *total = _mm512_add_epi64(*total, d);
#pragma GCC unroll 4
    for (int i = 0; i < digits; i++) {
        const __m512i a = _mm512_maskz_loadu_epi64(lanes, x + (size_t)i * stride);
        s[i] = _mm512_madd52hi_epu64(s[i], a, d);
        s[i + 1] = _mm512_madd52lo_epu64(s[i + 1], a, d);
    }
}

INLINE void sum_along_k(int64_t *sums, int positions, int64_t *digit_sums, size_t width,
                        const uint64_t *x, size_t stride, const int digits,
                        const struct ulp_wide_floats *f, const double *scales)
{
    for (size_t c = 0; c < f->columns; c++) {
        const float *b = f->data + f->column[c];
        const __m512d scale = _mm512_set1_pd(scales[c]);
        for (size_t first = 0; first < f->k_count; first += 16 * FLUSH_AFTER) {
            __m512i s[ULP_WIDE_VECTOR_DIGITS_MAX + 1], t[ULP_WIDE_VECTOR_DIGITS_MAX + 1], totals[2];
            const size_t left = f->k_count - first,
                         last = left < 16 * FLUSH_AFTER ? f->k_count : first + 16 * FLUSH_AFTER;
            totals[0] = totals[1] = _mm512_setzero_si512();
#pragma GCC unroll 5
            for (int i = 0; i <= digits; i++)
                s[i] = t[i] = _mm512_setzero_si512();
            size_t k = first;
            for (; k + 16 <= last; k += 16) {
                add_vector(s, &totals[0], digits, x + k, stride, cut(_mm256_loadu_ps(b + k), scale),
                           0xff);
                add_vector(t, &totals[1], digits, x + k + 8, stride,
                           cut(_mm256_loadu_ps(b + k + 8), scale), 0xff);
            }
            for (; k < last; k += 8) {
                const __mmask8 lanes = first_8(last - k);
                const __m512i d =
                    _mm512_maskz_mov_epi64(lanes, cut(_mm256_maskz_loadu_ps(lanes, b + k), scale));
                add_vector(s, &totals[0], digits, x + k, stride, d, lanes);
            }
            flush_along_k(digit_sums + c, width, totals[0], totals[1]);
#pragma GCC unroll 5
            for (int i = 0; i <= digits; i++)
                if (i < positions)
                    flush_along_k(sums + (size_t)i * width + c, width, s[i], t[i]);
        }
    }
}

/* ---- along columns ---- */

INLINE void scan_along_columns(int32_t *largest, int32_t *smallest_less_1,
                               const struct ulp_wide_floats *f)
{
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX), one = _mm512_set1_epi32(1);
    const __mmask16 lanes = first_lanes(f->columns);
    const float *x = f->data + f->column[0];
    __m512i large = _mm512_setzero_si512(), small = magnitude;
    for (size_t k = 0; k < f->k_count; k++, x += f->k_step) {
        const __m512i bits = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, x));
        large = _mm512_max_epi32(large, _mm512_and_si512(bits, magnitude));
        small = _mm512_min_epi32(small, _mm512_and_si512(_mm512_sub_epi32(bits, one), magnitude));
    }
    _mm512_mask_storeu_epi32(largest, lanes, large);
    _mm512_mask_storeu_epi32(smallest_less_1, lanes, small);
}

INLINE void flush_along_columns(int64_t *sums, size_t width, __m512i s)
{
    _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_loadu_si512(sums), _mm512_srli_epi64(s, 52)));
    _mm512_storeu_si512(sums + width, _mm512_add_epi64(_mm512_loadu_si512(sums + width), low52(s)));
}

/* vectors: 1 or 2, of eight columns. */
INLINE void sum_vectors(int64_t *sums, int positions, int64_t *digit_sums, size_t width,
                        const uint64_t *x, size_t stride, const int digits,
                        const struct ulp_wide_floats *f, const double *scales, const size_t vectors)
{
    __mmask8 lanes[2];
    __m512d scale[2];
    for (size_t v = 0; v < vectors; v++) {
        lanes[v] = first_8(f->columns - 8 * v);
        scale[v] = _mm512_maskz_loadu_pd(lanes[v], scales + 8 * v);
    }
    for (size_t first = 0; first < f->k_count; first += FLUSH_AFTER) {
        __m512i s[2][ULP_WIDE_VECTOR_DIGITS_MAX + 1], totals[2];
        const size_t last = f->k_count - first < FLUSH_AFTER ? f->k_count : first + FLUSH_AFTER;
        const float *b = f->data + f->column[0] + (int64_t)first * f->k_step;
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++) {
            totals[v] = _mm512_setzero_si512();
#pragma GCC unroll 5
            for (int i = 0; i <= digits; i++)
                s[v][i] = _mm512_setzero_si512();
        }
        for (size_t k = first; k < last; k++, b += f->k_step) {
            __m512i a[ULP_WIDE_VECTOR_DIGITS_MAX];
#pragma GCC unroll 4
            for (int i = 0; i < digits; i++)
                a[i] = _mm512_set1_epi64((long long)x[(size_t)i * stride + k]);
#pragma GCC unroll 2
            for (size_t v = 0; v < vectors; v++) {
                const __m512i d = cut(_mm256_maskz_loadu_ps(lanes[v], b + 8 * v), scale[v]);
                totals[v] = _mm512_add_epi64(totals[v], d);
#pragma GCC unroll 4
                for (int i = 0; i < digits; i++) {
                    s[v][i] = _mm512_madd52hi_epu64(s[v][i], a[i], d);
                    s[v][i + 1] = _mm512_madd52lo_epu64(s[v][i + 1], a[i], d);
                }
            }
        }
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++) {
            flush_along_columns(digit_sums + 8 * v, width, totals[v]);
#pragma GCC unroll 5
            for (int i = 0; i <= digits; i++)
                if (i < positions)
                    flush_along_columns(sums + (size_t)i * width + 8 * v, width, s[v][i]);
        }
    }
}

/* ---- by the number of digits ---- */

#define SUM(digits)                                                                           \
    TARGET static void sum_##digits(int64_t *sums, int positions, int64_t *digit_sums,        \
                                    size_t width, const uint64_t *x, size_t stride,           \
                                    const struct ulp_wide_floats *f, const double *scales)    \
    {                                                                                         \
        if (f->k_step == 1)                                                                   \
            sum_along_k(sums, positions, digit_sums, width, x, stride, digits, f, scales);    \
        else if (f->columns > 8)                                                              \
            sum_vectors(sums, positions, digit_sums, width, x, stride, digits, f, scales, 2); \
        else                                                                                  \
            sum_vectors(sums, positions, digit_sums, width, x, stride, digits, f, scales, 1); \
    }
SUM(1)
SUM(2)
SUM(3)
SUM(4)

static void sum(int64_t *sums, int positions, int64_t *digit_sums, size_t width, const uint64_t *x,
                size_t stride, int digits, const struct ulp_wide_floats *floats,
                const double *scale)
{
    static void (*const by_digits[])(int64_t *, int, int64_t *, size_t, const uint64_t *, size_t,
                                     const struct ulp_wide_floats *,
                                     const double *) = {sum_1, sum_2, sum_3, sum_4};
    by_digits[digits - 1](sums, positions, digit_sums, width, x, stride, floats, scale);
}

TARGET static void scan(int32_t *largest, int32_t *smallest_less_1,
                        const struct ulp_wide_floats *floats)
{
    if (floats->k_step == 1)
        scan_along_k(largest, smallest_less_1, floats);
    else
        scan_along_columns(largest, smallest_less_1, floats);
}

const struct ulp_wide_vector ulp_wide_vector_ifma = {.columns = ULP_WIDE_VECTOR_COLUMNS,
                                                     .digits_max = ULP_WIDE_VECTOR_DIGITS_MAX,
                                                     .scan = scan,
                                                     .sum = sum};
#endif
