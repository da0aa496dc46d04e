/* Cutting lines into double digits and tails: see digit/scheme.h. */
#include <math.h>

#include "base/tuning.h"
#include "kernels/digit/cut.h"

void ulp_wide_choose_tails(struct ulp_wide_panel *panel, const struct ulp_wide_scheme *scheme)
{
    const int digits = scheme->digits[scheme->deep];
    panel->tail = 0;
    if (panel->side == scheme->deep) {
        panel->arrays = panel->digits + !panel->exact;
        return;
    }
    while (panel->tail < digits && panel->exact && panel->digits <= scheme->met[panel->tail])
        panel->tail++;
    panel->arrays = panel->digits + digits + 1 - panel->tail;
}

/* A tail t of the shallow side is as many units of the last position as it takes for products with
 * integers a_i: t 2^(1 - deep_bits (i + 1)) 2^-(2 - deep_bits - shallow_bits - last weight); as 63
 * bits t is v 2^-63 2^(1 - shallow_bits from), where `from` 0 makes up for lines being cut halved.
 * The deep side's is as many units of digit D: v 2^-63 2^(1 - deep_bits D) 2^-(1 - deep_bits (D +
 * 1)). */
void ulp_wide_make_tails(struct ulp_wide_tails *tails, const struct ulp_wide_panel *panel,
                         const struct ulp_wide_scheme *scheme)
{
    const bool deep = panel->side == scheme->deep;
    const int bits = scheme->bits[panel->side], deep_bits = scheme->bits[scheme->deep],
              last = ulp_wide_scheme_last_weight(scheme);
    int cuts = panel->exact ? panel->digits - 1 : panel->digits;
    tails->bits = bits;
    tails->digits = panel->digits;
    tails->count = panel->arrays - panel->digits;
    tails->word_count = (bits * panel->digits + (tails->count ? 64 : 0) + 63) / 64;
    memset(tails->bias, 0, sizeof tails->bias);
    for (int i = 1; i <= cuts; i++)
        tails->bias[bits * i / 64] |= (uint64_t)1 << (63 - bits * i % 64);
    for (int t = 0; t < tails->count; t++) {
        const int i = panel->tail + t, from = deep ? panel->digits : scheme->met[i];
        tails->tails[t] = (struct ulp_wide_tail){
            .from = from,
            .bias = ulp_wide_bits_at(tails->bias, bits * from, 64) >> 1,
            .scale = ldexp(1, deep ? bits - 63 : last - 63 - bits * (from - 1) - deep_bits * i)};
    }
}

static inline __attribute__((always_inline)) void put_double(uint64_t *out, double value)
{
    memcpy(out, &value, sizeof value);
}

static inline __attribute__((always_inline)) void cut_numbers(
    const struct ulp_wide_stretch *stretch, enum ulp_element element, int limb_count,
    int word_count)
{
    const struct ulp_wide_tails *tails = stretch->tails;
    const int digits = tails->digits, bits = tails->bits;
    const int64_t half = (int64_t)1 << (bits - 1);
    uint64_t words[ULP_WIDE_CUT_WORDS];
    uint64_t *out = stretch->out;
    const void *data = stretch->tensor->data;
    const int precision = 64 * limb_count; /* of records */
    for (size_t k = stretch->first; k < stretch->first + stretch->count;
         k++, out += stretch->width) {
        struct ulp_wide_number x;
        uint64_t *to = out;
        ulp_wide_read_as(&x, element, data, precision, stretch->base + stretch->offset[k]);
        if (__builtin_expect(x.kind != MPFR_REGULAR_KIND, 0)) {
            for (int i = 0; i < digits + tails->count; i++, to += stretch->stride)
                *to = 0;
            continue;
        }
        ulp_wide_shift_words(words, word_count, x.limbs, limb_count,
                             (uint64_t)(stretch->exponent - x.exponent));
        words[word_count] = 0;
        uint64_t carry = 0;
        for (int i = word_count - 1; i >= 0; i--) {
            const bool first = __builtin_add_overflow(words[i], carry, &words[i]);
            carry = (uint64_t)first |
                    (uint64_t)__builtin_add_overflow(words[i], tails->bias[i], &words[i]);
        }
        const double sign = x.negative ? -1 : 1;
        int64_t bias = 0; /* of the first digit; half of the others */
        for (int i = 0; i < digits; i++, bias = half, to += stretch->stride)
            put_double(to,
                       sign * (double)((int64_t)ulp_wide_bits_at(words, bits * i, bits) - bias));
        for (int t = 0; t < tails->count; t++, to += stretch->stride) {
            const struct ulp_wide_tail *tail = &tails->tails[t];
            const uint64_t below = ulp_wide_bits_at(words, bits * tail->from, 64) >> 1;
            put_double(to, sign * tail->scale * (double)(int64_t)(below - tail->bias));
        }
    }
}

/* Floats, exactly: digits are what adding 1.5 * 2^52 rounds to. */
static void cut_floats(const struct ulp_wide_stretch *stretch)
{
    const struct ulp_wide_tails *tails = stretch->tails;
    const float *x = (const float *)stretch->tensor->data + stretch->base;
    const int64_t *offset = stretch->offset + stretch->first;
    const double step = ldexp(1, tails->bits),
                 scale = ldexp(1, tails->bits - 1 - (int)stretch->exponent);
    double rest[ULP_TUNE_DIGIT_PACK_RUN] = {0};
    const size_t count = stretch->count, width = stretch->width;
    if (ulp_wide_count_adjacent(offset, count, count) == count)
        for (size_t k = 0; k < count; k++)
            rest[k] = (double)x[offset[0] + (int64_t)k] * scale;
    else
        for (size_t k = 0; k < count; k++)
            rest[k] = (double)x[offset[k]] * scale;
    for (int i = 0; i <= tails->digits; i++) {
        for (int t = 0; t < tails->count; t++) {
            const double to_tail = ldexp(tails->tails[t].scale, 63 - tails->bits);
            uint64_t *out = stretch->out + (size_t)(tails->digits + t) * stretch->stride;
            for (size_t k = 0; tails->tails[t].from == i && k < count; k++)
                put_double(out + k * width, rest[k] * to_tail);
        }
        if (i == tails->digits)
            break;
        uint64_t *out = stretch->out + (size_t)i * stretch->stride;
        double digit[ULP_TUNE_DIGIT_PACK_RUN];
        for (size_t k = 0; k < ULP_TUNE_DIGIT_PACK_RUN; k++) {
            digit[k] = rest[k] + 0x1.8p52 - 0x1.8p52;
            rest[k] = (rest[k] - digit[k]) * step;
        }
        for (size_t k = 0; k < count; k++)
            put_double(out + k * width, digit[k]);
    }
}

#define CUT_NUMBERS(name, element, limbs)                    \
    static void name(const struct ulp_wide_stretch *stretch) \
    {                                                        \
        const int words = stretch->tails->word_count;        \
        if (words == 3) /* of 128 bits, mostly */            \
            cut_numbers(stretch, element, limbs, 3);         \
        else                                                 \
            cut_numbers(stretch, element, limbs, words);     \
    }
CUT_NUMBERS(cut_f64, ULP_ELEMENT_F64, 1)
CUT_NUMBERS(cut_wide_128, ULP_ELEMENT_WIDE, 2)
CUT_NUMBERS(cut_wide, ULP_ELEMENT_WIDE, ulp_wide_limbs_of(stretch->tensor))

ulp_wide_cut_fn *ulp_wide_choose_double_cut(const struct ulp_tensor *tensor)
{
    return tensor->element == ULP_ELEMENT_F32   ? cut_floats
           : tensor->element == ULP_ELEMENT_F64 ? cut_f64
           : ulp_wide_limbs_of(tensor) == 2     ? cut_wide_128
                                                : cut_wide;
}
