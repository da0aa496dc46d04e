/* Loading and storing strips in the rare cases: values that a carrier cannot hold, constants,
 * integers. */
#include "number/strip/access.h"
#include "number/round/round.h"

#include <math.h>
#include <string.h>

double ulp_strip_round_mpfr(const struct ulp_strip_rule *rule, const mpfr_t x, uint64_t index)
{
    if (!rule->each_step)
        return rule->carrier == ULP_STRIP_FLOAT ? mpfr_get_flt(x, MPFR_RNDN)
                                                : mpfr_get_d(x, MPFR_RNDN);
    mp_limb_t limbs[ULP_STRIP_LIMBS(53)];
    mpfr_t rounded;
    mpfr_custom_init_set(rounded, MPFR_NAN_KIND, 0, 53, limbs);
    ulp_round_mpfr(&rule->format, rule->rounding, rounded, x, rule->seed, ULP_STRIP_LOAD_STREAM,
                   index);
    return mpfr_get_d(rounded, MPFR_RNDN);
}

double ulp_strip_round_double(const struct ulp_strip_rule *rule, double value, uint64_t index)
{
    mp_limb_t limbs[ULP_STRIP_LIMBS(53)];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, 53, limbs);
    mpfr_set_d(x, value, MPFR_RNDN);
    return ulp_strip_round_mpfr(rule, x, index);
}

static double round_magnitude(const struct ulp_strip_rule *rule, uint64_t magnitude, bool negative,
                              uint64_t index)
{
    mp_limb_t limbs[ULP_STRIP_LIMBS(64)];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, 64, limbs);
    mpfr_set_uj(x, magnitude, MPFR_RNDN);
    if (negative)
        mpfr_neg(x, x, MPFR_RNDN);
    return ulp_strip_round_mpfr(rule, x, index);
}

double ulp_strip_round_int64(const struct ulp_strip_rule *rule, int64_t value, uint64_t index)
{
    return round_magnitude(rule, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, index);
}

double ulp_strip_round_uint64(const struct ulp_strip_rule *rule, uint64_t value, uint64_t index)
{
    return round_magnitude(rule, value, false, index);
}

void ulp_strip_parse(mpfr_t out, const char *text)
{
    const bool pi = strcmp(text, "pi") == 0;
    const int ternary =
        pi ? mpfr_const_pi(out, MPFR_RNDZ) : mpfr_strtofr(out, text, NULL, 0, MPFR_RNDZ);
    if (ternary == 0 || !mpfr_regular_p(out))
        return;
    const mpfr_prec_t precision = mpfr_get_prec(out),
                      whole = ULP_STRIP_LIMBS(precision) * GMP_NUMB_BITS;
    mp_limb_t *limbs = mpfr_custom_get_significand(out);
    limbs[0] |= (mp_limb_t)1 << (whole - precision);
}

double ulp_strip_round_text(const struct ulp_strip_rule *rule, const char *text)
{
    /* to odd at 128 bits: any later rounding to at most 126 is the only one */
    mp_limb_t limbs[ULP_STRIP_LIMBS(128)];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, 128, limbs);
    ulp_strip_parse(x, text);
    return ulp_strip_round_mpfr(rule, x, 0);
}

struct ulp_integer_kind ulp_integer_kind(enum ulp_type type, enum ulp_element element)
{
    static const struct ulp_integer_kind elements[ULP_ELEMENT_COUNT + 1] = {
        [ULP_ELEMENT_I8] = {8, true},    [ULP_ELEMENT_U8] = {8, false},
        [ULP_ELEMENT_I16] = {16, true},  [ULP_ELEMENT_U16] = {16, false},
        [ULP_ELEMENT_I32] = {32, true},  [ULP_ELEMENT_U32] = {32, false},
        [ULP_ELEMENT_I64] = {64, true},  [ULP_ELEMENT_U64] = {64, false},
        [ULP_ELEMENT_BOOL] = {1, false},
    };
    switch (type) {
    case ULP_TYPE_INT4: return (struct ulp_integer_kind){4, true};
    case ULP_TYPE_UINT4: return (struct ulp_integer_kind){4, false};
    case ULP_TYPE_INT2: return (struct ulp_integer_kind){2, true};
    case ULP_TYPE_UINT2: return (struct ulp_integer_kind){2, false};
    default: return elements[element];
    }
}

int64_t ulp_strip_truncate(const struct ulp_tensor *tensor, double x)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(tensor->type, tensor->element);
    if (isnan(x))
        return 0;
    const double end = ldexp(1, kind.bits - kind.is_signed); /* one beyond the largest */
    const uint64_t largest = UINT64_MAX >> (64 - kind.bits + kind.is_signed);
    if (x >= end)
        return (int64_t)largest;
    if (x <= -end)
        return kind.is_signed ? -(int64_t)largest - 1 : 0;
    if (!kind.is_signed)
        return x < 0 ? 0 : (int64_t)(uint64_t)x;
    return (int64_t)x;
}

int64_t ulp_strip_truncate_pair(const struct ulp_tensor *tensor, double high, double low)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(tensor->type, tensor->element);
    if (!(fabs(high) >= 0x1p52 && fabs(high) < 0x1p65) || kind.bits < 64) {
        /* the integer part is the high one's, but just below an integer */
        const double whole = trunc(high);
        const bool beyond = whole == high && low != 0 && high != 0 && (low < 0) != (high < 0);
        return ulp_strip_truncate(tensor, beyond ? whole - copysign(1, high) : whole);
    }
    const __int128 x = (__int128)high, rest = (__int128)low,
                   least = kind.is_signed ? -((__int128)1 << 63) : 0,
                   most = ((__int128)1 << (64 - kind.is_signed)) - 1;
    const bool toward = low != trunc(low) && (low < 0) != (high < 0);
    const __int128 sum = x + rest - (toward ? (high < 0 ? -1 : 1) : 0);
    return (int64_t)(sum < least ? least : sum > most ? most : sum);
}

/* The low bits of value, sign-extended for signed types. */
static int64_t wrap(struct ulp_integer_kind kind, int64_t value)
{
    if (kind.bits == 64)
        return value;
    const int64_t low = value & (((int64_t)1 << kind.bits) - 1),
                  sign = (int64_t)1 << (kind.bits - 1);
    return kind.is_signed ? (low ^ sign) - sign : low;
}

static int64_t get_packed(const struct ulp_tensor *tensor, size_t at)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(tensor->type, tensor->element);
    const size_t bit = at * (size_t)kind.bits;
    return wrap(kind, ((const uint8_t *)tensor->data)[bit / 8] >> bit % 8);
}

int64_t ulp_strip_get_int(const struct ulp_tensor *tensor, size_t at)
{
    switch (tensor->element) {
    case ULP_ELEMENT_PACKED: return get_packed(tensor, at);
    case ULP_ELEMENT_I8: return ((const int8_t *)tensor->data)[at];
    case ULP_ELEMENT_I16: return ((const int16_t *)tensor->data)[at];
    case ULP_ELEMENT_U16: return ((const uint16_t *)tensor->data)[at];
    case ULP_ELEMENT_I32: return ((const int32_t *)tensor->data)[at];
    case ULP_ELEMENT_U32: return ((const uint32_t *)tensor->data)[at];
    case ULP_ELEMENT_I64: return ((const int64_t *)tensor->data)[at];
    case ULP_ELEMENT_U64: return (int64_t)((const uint64_t *)tensor->data)[at];
    default: return ((const uint8_t *)tensor->data)[at];
    }
}

void ulp_strip_set_int(struct ulp_tensor *tensor, size_t at, int64_t value)
{
    const int64_t wrapped = wrap(ulp_integer_kind(tensor->type, tensor->element), value);
    switch (tensor->element) {
    case ULP_ELEMENT_I8: ((int8_t *)tensor->data)[at] = (int8_t)wrapped; break;
    case ULP_ELEMENT_U8: ((uint8_t *)tensor->data)[at] = (uint8_t)wrapped; break;
    case ULP_ELEMENT_I16: ((int16_t *)tensor->data)[at] = (int16_t)wrapped; break;
    case ULP_ELEMENT_U16: ((uint16_t *)tensor->data)[at] = (uint16_t)wrapped; break;
    case ULP_ELEMENT_I32: ((int32_t *)tensor->data)[at] = (int32_t)wrapped; break;
    case ULP_ELEMENT_U32: ((uint32_t *)tensor->data)[at] = (uint32_t)wrapped; break;
    case ULP_ELEMENT_I64: ((int64_t *)tensor->data)[at] = value; break;
    case ULP_ELEMENT_U64: ((uint64_t *)tensor->data)[at] = (uint64_t)value; break;
    default: ((uint8_t *)tensor->data)[at] = value != 0;
    }
}

#define EACH(TYPE, STATEMENT)                                        \
    {                                                                \
        TYPE *const data = tensor->data;                             \
        for (size_t i = 0; i < n; i++) {                             \
            const size_t at = ulp_strip_at(base, offset, stride, i); \
            STATEMENT;                                               \
        }                                                            \
        break;                                                       \
    }

void ulp_strip_get_ints(int64_t *y, const struct ulp_tensor *tensor, int64_t base,
                        const int64_t *offset, int64_t stride, size_t n)
{
    switch (tensor->element) {
    case ULP_ELEMENT_I8: EACH(const int8_t, y[i] = data[at])
    case ULP_ELEMENT_U8: EACH(const uint8_t, y[i] = data[at])
    case ULP_ELEMENT_I32: EACH(const int32_t, y[i] = data[at])
    default: EACH(const void, ((void)data, y[i] = ulp_strip_get_int(tensor, at)))
    }
}

void ulp_strip_set_ints(struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                        int64_t stride, const int64_t *x, size_t n)
{
    /* the element wraps as the type does */
    const bool whole =
        (size_t)ulp_integer_kind(tensor->type, tensor->element).bits == 8 * tensor->element_bytes;
    switch (whole ? tensor->element : ULP_ELEMENT_COUNT) {
    case ULP_ELEMENT_I8: EACH(int8_t, data[at] = (int8_t)x[i])
    case ULP_ELEMENT_U8: EACH(uint8_t, data[at] = (uint8_t)x[i])
    case ULP_ELEMENT_I32: EACH(int32_t, data[at] = (int32_t)x[i])
    default: EACH(void, ((void)data, ulp_strip_set_int(tensor, at, x[i])))
    }
}

void ulp_strip_set_truncated(struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                             int64_t stride, const double *x, size_t n)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(tensor->type, tensor->element);
    int64_t y[ULP_STRIP];
    if (kind.bits <= 8) { /* what quantization makes */
        const double high = (double)((1 << (kind.bits - kind.is_signed)) - 1),
                     low = kind.is_signed ? -high - 1 : 0;
        int32_t small[ULP_STRIP];
        for (size_t i = 0; i < n; i++) {
            const double above = x[i] > low ? x[i] : low, within = above < high ? above : high;
            small[i] = (int32_t)(x[i] == x[i] ? within : 0);
        }
        switch (tensor->element) {
        case ULP_ELEMENT_I8: EACH(int8_t, data[at] = (int8_t)small[i])
        default: EACH(uint8_t, data[at] = (uint8_t)small[i])
        }
        return;
    }
    if (kind.bits > 32) { /* the ends are no doubles */
        for (size_t i = 0; i < n; i++)
            y[i] = ulp_strip_truncate(tensor, x[i]);
    } else {
        const double high = (double)(UINT64_MAX >> (64 - kind.bits + kind.is_signed)),
                     low = kind.is_signed ? -high - 1 : 0;
        for (size_t i = 0; i < n; i++) {
            const double within = x[i] < low ? low : x[i] > high ? high : x[i];
            y[i] = (int64_t)(within == within ? within : 0);
        }
    }
    ulp_strip_set_ints(tensor, base, offset, stride, y, n);
}
