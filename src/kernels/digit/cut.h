/* What the files that cut lines into digits share: integer digits are cut in digits.c, doubles in
 * doubles.c. */
#pragma once

#include "kernels/digit/digits.h"
#include "kernels/exact/number.h"

/* `wanted` when that many offsets are those of neighbours, else 1. */
static inline size_t ulp_wide_count_adjacent(const int64_t *offset, size_t count, size_t wanted)
{
    if (count < wanted)
        return 1;
    int64_t differ = 0;
    for (size_t i = 1; i < wanted; i++)
        differ |= offset[i] ^ (offset[0] + (int64_t)i);
    return differ ? 1 : wanted;
}

/* Of a tensor of records, which lie as those of whole limbs do. */
static inline int ulp_wide_limbs_of(const struct ulp_tensor *tensor)
{
    return (tensor->precision + 63) / 64;
}

/* A stretch of a line that is cut: k in [first, first + count); digit i of k goes to
 * out[i * stride + (k - first) * width]. */
struct ulp_wide_stretch {
    const struct ulp_tensor *tensor;
    int64_t base;
    const int64_t *offset;
    size_t first, count;
    int64_t exponent;
    uint64_t *out;
    size_t width, stride;
    int digits;
    const struct ulp_wide_tails *tails; /* of double digits */
};
typedef void ulp_wide_cut_fn(const struct ulp_wide_stretch *stretch);

/* The first `words` words of x * 2^-shift / 2, x of limb_count limbs, after the point; shift >=
 * 0. */
static inline __attribute__((always_inline)) void ulp_wide_shift_words(
    uint64_t *words, int word_count, const mp_limb_t *limbs, int limb_count, uint64_t shift)
{
    int64_t skip = (int64_t)((shift + 1) >> 6);
    unsigned bit = (shift + 1) & 63;
    if (__builtin_expect(skip == 0, 1)) {
        uint64_t above = 0;
        for (int i = 0; i < word_count; i++) {
            uint64_t own = i < limb_count ? limbs[limb_count - 1 - i] : 0;
            words[i] = above << (64 - bit) | own >> bit; /* bit > 0, as shift + 1 > 0 */
            above = own;
        }
        return;
    }
    for (int i = 0; i < word_count; i++) {
        int64_t at = i - skip;
        uint64_t own = at >= 0 && at < limb_count ? limbs[limb_count - 1 - at] : 0;
        uint64_t above = at >= 1 && at - 1 < limb_count ? limbs[limb_count - at] : 0;
        words[i] = bit ? above << (64 - bit) | own >> bit : own;
    }
}

/* 52 bits at a bit offset; reads one word beyond. */
static inline __attribute__((always_inline)) uint64_t ulp_wide_bits_at(const uint64_t *words,
                                                                       int offset, int bits)
{
    int word = offset / 64, bit = offset % 64;
    uint64_t x = bit ? words[word] << bit | words[word + 1] >> (64 - bit) : words[word];
    return x >> (64 - bits);
}

/* How a panel's lines are cut into double digits and tails. With a bias of half a digit added below
 * every digit, what is above a place is rounded there to nearest, and what is below, less the bias
 * below, is the tail. */
#define ULP_WIDE_CUT_WORDS (30 * ULP_WIDE_POSITIONS_MAX / 64 + 4)
struct ulp_wide_tails {
    int bits, digits, count;
    int word_count;
    uint64_t bias[ULP_WIDE_CUT_WORDS];
    struct ulp_wide_tail {
        int from;      /* the digit it begins with */
        uint64_t bias; /* the 63 bits of the bias from there on */
        double scale;  /* of a tail as 63 bits */
    } tails[ULP_WIDE_POSITIONS_MAX];
};
void ulp_wide_make_tails(struct ulp_wide_tails *tails, const struct ulp_wide_panel *panel,
                         const struct ulp_wide_scheme *scheme);
/* Sets the panel's tail and arrays. */
void ulp_wide_choose_tails(struct ulp_wide_panel *panel, const struct ulp_wide_scheme *scheme);
ulp_wide_cut_fn *ulp_wide_choose_double_cut(const struct ulp_tensor *tensor);
