/* Scales and integer digits of lines eight side by side, in AVX-512: records of two limbs, each
 * loaded from where it lies, and floats. */
#include "kernels/digit/lines.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "base/tuning.h"
#include "number/mpfr_record.h"

#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define LANES 8

_Static_assert(sizeof(struct ulp_record) == 2 * sizeof(int64_t) && GMP_NUMB_BITS == 64,
               "an exponent, a kind, then limbs of 64 bits");

/* Eight numbers 0.L * 2^exponent, L the limbs high and low; those that are not regular have neither
 * a meaning there. */
struct numbers {
    __m512i exponent, high, low;
    __mmask8 regular, zero, negative;
};

/* Where eight lines begin. */
struct group {
    const char *at[LANES];
    __m512i base;
    bool adjacent;
};

/* Lines that are not there repeat the last one. */
INLINE void begin_group(struct group *group, const struct ulp_wide_lines *lines, size_t first)
{
    int64_t base[LANES];
    const size_t bytes = lines->floats ? sizeof(float) : 32;
    group->adjacent = true;
    for (size_t i = 0; i < LANES; i++) {
        const size_t line = first + i < lines->count ? first + i : lines->count - 1;
        base[i] = lines->base[line];
        group->at[i] = (const char *)lines->data + base[i] * (int64_t)bytes;
        group->adjacent &= base[i] == base[0] + (int64_t)i;
    }
    group->base = _mm512_loadu_si512(base);
}

INLINE __m512i load_two(const char *first, const char *second)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(
                                  _mm256_loadu_si256((const __m256i *)(const void *)first)),
                              _mm256_loadu_si256((const __m256i *)(const void *)second), 1);
}

INLINE void load_records(struct numbers *x, const struct group *group, int64_t offset)
{
    const int64_t skip = offset * 32;
    const char *const *at = group->at;
    const __m512i a = load_two(at[0] + skip, at[2] + skip),
                  b = load_two(at[1] + skip, at[3] + skip),
                  c = load_two(at[4] + skip, at[6] + skip),
                  d = load_two(at[5] + skip, at[7] + skip);
    const __m512i even[2] = {_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d)},
                  odd[2] = {_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d)};
    const __m512i kind = _mm512_shuffle_i64x2(odd[0], odd[1], 0x88), size = _mm512_abs_epi64(kind);
    x->exponent = _mm512_shuffle_i64x2(even[0], even[1], 0x88);
    x->low = _mm512_shuffle_i64x2(even[0], even[1], 0xDD);
    x->high = _mm512_shuffle_i64x2(odd[0], odd[1], 0xDD);
    x->regular = _mm512_cmpeq_epi64_mask(size, _mm512_set1_epi64(MPFR_REGULAR_KIND));
    x->zero = _mm512_cmpeq_epi64_mask(size, _mm512_set1_epi64(MPFR_ZERO_KIND));
    x->negative = _mm512_movepi64_mask(kind);
}

/* As doubles, in which floats are zeros or normal. */
INLINE __m512d load_doubles(const struct ulp_wide_lines *lines, const struct group *group,
                            int64_t offset)
{
    const float *data = lines->data;
    if (group->adjacent)
        return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(const void *)group->at[0] + offset));
    return _mm512_cvtps_pd(
        _mm512_i64gather_ps(_mm512_add_epi64(group->base, _mm512_set1_epi64(offset)), data,
                            sizeof *data));
}

INLINE void load_floats(struct numbers *x, const struct ulp_wide_lines *lines,
                        const struct group *group, int64_t offset)
{
    const __m512i bits = _mm512_castpd_si512(load_doubles(lines, group, offset)),
                  biased = _mm512_and_si512(_mm512_srli_epi64(bits, 52), _mm512_set1_epi64(0x7ff)),
                  magnitude = _mm512_slli_epi64(bits, 1);
    const __mmask8 some = _mm512_test_epi64_mask(magnitude, magnitude),
                   finite = _mm512_cmpneq_epi64_mask(biased, _mm512_set1_epi64(0x7ff));
    x->exponent = _mm512_sub_epi64(biased, _mm512_set1_epi64(1022));
    x->high = _mm512_or_si512(_mm512_slli_epi64(bits, 11), _mm512_set1_epi64(INT64_MIN));
    x->low = _mm512_setzero_si512();
    x->regular = some & finite;
    x->zero = (__mmask8)~some;
    x->negative = _mm512_movepi64_mask(bits);
}

INLINE void load_numbers(struct numbers *x, const struct ulp_wide_lines *lines,
                         const struct group *group, size_t k, const bool floats)
{
    if (floats)
        load_floats(x, lines, group, lines->offset[k]);
    else
        load_records(x, group, lines->offset[k]);
}

/* Elements ahead that are asked for while lines are looked at: with each k a page of their own, as
 * an image's channels have, the processor does not foresee them. Two lie in a line of the cache. */
INLINE void ask_ahead(const struct ulp_wide_lines *lines, const struct group *group, size_t k,
                      const bool floats)
{
    if (floats || k + ULP_TUNE_DIGIT_SCAN_AHEAD >= lines->k_count)
        return;
    const int64_t skip = lines->offset[k + ULP_TUNE_DIGIT_SCAN_AHEAD] * 32;
    for (int i = 0; i < LANES; i += 2)
        _mm_prefetch(group->at[i] + skip, _MM_HINT_T0);
}

/* k in [first, last). A lowest bit is found as the exponent of that power of two in double. */
INLINE void scan_group(struct ulp_wide_scales *scales, const struct ulp_wide_lines *lines,
                       size_t group_first, size_t first, size_t last, const bool floats)
{
    struct group group;
    const __m512i zero = _mm512_setzero_si512();
    __m512i exponent = _mm512_loadu_si512(scales->exponent + group_first),
            lowest = _mm512_loadu_si512(scales->lowest + group_first);
    __mmask8 irregular = (__mmask8)(scales->irregular >> group_first);
    begin_group(&group, lines, group_first);
    for (size_t k = first; k < last; k++) {
        struct numbers x;
        ask_ahead(lines, &group, k, floats);
        load_numbers(&x, lines, &group, k, floats);
        const __mmask8 upper = _mm512_testn_epi64_mask(x.low, x.low);
        const __m512i limb = _mm512_mask_mov_epi64(x.low, upper, x.high),
                      power = _mm512_and_si512(limb, _mm512_sub_epi64(zero, limb));
        const __m512i biased =
            _mm512_srli_epi64(_mm512_castpd_si512(_mm512_cvtepu64_pd(power)), 52);
        __m512i low =
            _mm512_add_epi64(_mm512_sub_epi64(x.exponent, _mm512_set1_epi64(128 + 1023)), biased);
        low = _mm512_mask_add_epi64(low, upper, low, _mm512_set1_epi64(64));
        exponent = _mm512_mask_max_epi64(exponent, x.regular, exponent, x.exponent);
        lowest = _mm512_mask_min_epi64(lowest, x.regular, lowest, low);
        irregular |= (__mmask8) ~(x.regular | x.zero);
    }
    _mm512_storeu_si512(scales->exponent + group_first, exponent);
    _mm512_storeu_si512(scales->lowest + group_first, lowest);
    scales->irregular |= (uint32_t)irregular << group_first;
}

INLINE void scan_as(struct ulp_wide_scales *scales, const struct ulp_wide_lines *lines,
                    const bool floats)
{
    for (size_t first = 0, last; first < lines->k_count; first = last) {
        last = lines->k_count - first < ULP_TUNE_DIGIT_PACK_RUN ? lines->k_count
                                                                : first + ULP_TUNE_DIGIT_PACK_RUN;
        for (size_t group = 0; group < lines->count; group += LANES)
            scan_group(scales, lines, group, first, last, floats);
    }
}

TARGET static void scan_lines(struct ulp_wide_scales *scales, const struct ulp_wide_lines *lines)
{
    if (lines->floats)
        scan_as(scales, lines, true);
    else
        scan_as(scales, lines, false);
}

/* `limb`, whose top bit is bit 64 * place - 1 of a number's words from the point on, shifted right
 * by `shift`: what of it is in word 0. Shifts by more than 63, as negative ones are when unsigned,
 * give 0. */
INLINE __m512i part_of(__m512i limb, __m512i shift, int place)
{
    const __m512i right = _mm512_add_epi64(shift, _mm512_set1_epi64(64 * (long long)place)),
                  left = _mm512_sub_epi64(_mm512_setzero_si512(), right);
    return _mm512_or_si512(_mm512_srlv_epi64(limb, right), _mm512_sllv_epi64(limb, left));
}

/* The digits of (f + 1) / 2, f = x * 2^-exponent cut off toward zero: those of cut_integers in
 * digits.c, in the same steps. */
INLINE void cut_numbers(__m512i *out, const struct numbers *x, __m512i exponent, __mmask8 wanted,
                        const int digits, const bool floats)
{
    const int word_count = (52 * digits + 63) / 64;
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi64(1);
    const __mmask8 some = x->regular & wanted;
    const __m512i high = _mm512_maskz_mov_epi64(some, x->high),
                  low = _mm512_maskz_mov_epi64(some, x->low),
                  shift = _mm512_add_epi64(_mm512_sub_epi64(exponent, x->exponent), one),
                  flip = _mm512_movm_epi64(x->negative);
    __m512i words[5];
    __mmask8 carry = x->negative;
#pragma GCC unroll 4
    for (int i = 0; i < word_count; i++) {
        words[i] = part_of(high, shift, -i);
        if (!floats)
            words[i] = _mm512_or_si512(words[i], part_of(low, shift, 1 - i));
    }
    words[word_count - 1] =
        _mm512_and_si512(words[word_count - 1],
                         _mm512_set1_epi64(
                             -(long long)((uint64_t)1 << (64 * word_count - 52 * digits))));
#pragma GCC unroll 4
    for (int i = word_count - 1; i >= 0; i--) {
        const __m512i word = _mm512_xor_si512(words[i], flip);
        words[i] = _mm512_mask_add_epi64(word, carry, word, one);
        carry &= _mm512_testn_epi64_mask(words[i], words[i]);
    }
    words[0] = _mm512_add_epi64(words[0], _mm512_set1_epi64(INT64_MIN));
    words[word_count] = zero;
#pragma GCC unroll 4
    for (int i = 0; i < digits; i++) {
        const int word = 52 * i / 64, bit = 52 * i % 64;
        const __m512i top =
            bit ? _mm512_or_si512(_mm512_slli_epi64(words[word], (unsigned)bit),
                                  _mm512_srli_epi64(words[word + 1], (unsigned)(64 - bit)))
                : words[word];
        out[i] = _mm512_srli_epi64(top, 12);
    }
}

/* Floats of lines that one digit holds, as in cut_floats_once of digits.c. `scale` is 0 where the
 * line is not wanted. */
INLINE __m512i cut_double(__m512d x, __m512d scale, __mmask8 wanted)
{
    const __m512d sum =
        _mm512_add_pd(_mm512_maskz_mul_pd(wanted, x, scale), _mm512_set1_pd(0x1.8p52));
    return _mm512_and_si512(_mm512_castpd_si512(sum), _mm512_set1_epi64(0xfffffffffffff));
}

INLINE void cut_group(const struct ulp_wide_lines_cut *cut, size_t group_first, size_t first,
                      size_t last, const int digits, const bool floats)
{
    const struct ulp_wide_lines *lines = cut->lines;
    const size_t left = lines->count - group_first;
    const __mmask8 there = (__mmask8)(left < LANES ? (1u << left) - 1 : 0xff),
                   wanted = (__mmask8)(cut->wanted >> group_first) & there;
    const __m512i exponent = _mm512_maskz_loadu_epi64(there, cut->exponent + group_first);
    /* 2^(51 - exponent) of a float's scale, -148 to 128 */
    const __m512d scale = _mm512_castsi512_pd(
        _mm512_slli_epi64(_mm512_sub_epi64(_mm512_set1_epi64(51 + 1023), exponent), 52));
    struct group group;
    begin_group(&group, lines, group_first);
    uint64_t *out = cut->out + first * cut->width + group_first;
    for (size_t k = first; k < last; k++, out += cut->width) {
        __m512i parts[4];
        struct numbers x;
        if (floats && digits == 1 && cut->exact) {
            parts[0] = cut_double(load_doubles(lines, &group, lines->offset[k]), scale, wanted);
        } else {
            load_numbers(&x, lines, &group, k, floats);
            cut_numbers(parts, &x, exponent, wanted, digits, floats);
        }
#pragma GCC unroll 4
        for (int i = 0; i < digits; i++)
            _mm512_mask_storeu_epi64(out + (size_t)i * cut->stride, there, parts[i]);
    }
}

INLINE void cut_as(const struct ulp_wide_lines_cut *cut, const int digits, const bool floats)
{
    const size_t k_count = cut->lines->k_count;
    for (size_t first = 0, last; first < k_count; first = last) {
        last =
            k_count - first < ULP_TUNE_DIGIT_PACK_RUN ? k_count : first + ULP_TUNE_DIGIT_PACK_RUN;
        for (size_t group = 0; group < cut->lines->count; group += LANES)
            cut_group(cut, group, first, last, digits, floats);
    }
}

#define CUT(digits)                                                               \
    TARGET static void cut_floats_##digits(const struct ulp_wide_lines_cut *cut)  \
    {                                                                             \
        cut_as(cut, digits, true);                                                \
    }                                                                             \
    TARGET static void cut_records_##digits(const struct ulp_wide_lines_cut *cut) \
    {                                                                             \
        cut_as(cut, digits, false);                                               \
    }
CUT(1)
CUT(2)
CUT(3)
CUT(4)

static void cut_lines(const struct ulp_wide_lines_cut *cut)
{
    static void (*const functions[2][ULP_WIDE_LINES_DIGITS_MAX])(
        const struct ulp_wide_lines_cut *) = {{cut_records_1, cut_records_2, cut_records_3,
                                               cut_records_4},
                                              {cut_floats_1, cut_floats_2, cut_floats_3,
                                               cut_floats_4}};
    functions[cut->lines->floats][cut->digits - 1](cut);
}

const struct ulp_wide_lines_code ulp_wide_lines_avx512 = {.scan = scan_lines, .cut = cut_lines};
#endif
