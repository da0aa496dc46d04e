/* The integer carriers: int64, and uint64 for tensors of UINT64. Every result wraps modulo 2^64, so
 * that storing it wraps modulo 2^bits of the tensor's type; nothing traps. */
#include "number/double_pair.h"
#include "number/strip/access.h"

#include <string.h>

#define REAL uint64_t
#include "number/strip/map.h"

/* Primitives that are the same on the bits of both carriers. */
MAP_EXACT(COPY, 1, u)
MAP_EXACT(NEG, 1, -u)
MAP_EXACT(NOT, 1, u == 0)
MAP_EXACT(ADD, 2, u + v)
MAP_EXACT(SUB, 2, u - v)
MAP_EXACT(MUL, 2, u *v)
MAP_EXACT(EQUAL, 2, u == v)
MAP_EXACT(AND, 2, (u != 0) & (v != 0))
MAP_EXACT(OR, 2, (u != 0) | (v != 0))
MAP_EXACT(XOR, 2, (u != 0) ^ (v != 0))
MAP_EXACT(BIT_AND, 2, u &v)
MAP_EXACT(BIT_OR, 2, u | v)
MAP_EXACT(BIT_XOR, 2, u ^ v)
MAP_EXACT(BIT_NOT, 1, ~u)
MAP_EXACT(SHIFT_LEFT, 2, v < 64 ? u << (v & 63) : 0)
MAP_EXACT(FMA, 3, u *v + w)
MAP_EXACT(SELECT, 3, u != 0 ? v : w)

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* u and v as the signed values they are the bits of (two's complement). */
static inline int64_t signed_of(uint64_t u)
{
    int64_t value;
    memcpy(&value, &u, sizeof value);
    return value;
}
/* C division and remainder; v = -1 apart because INT64_MIN / -1 traps. */
static inline uint64_t divide_unsigned(uint64_t u, uint64_t v)
{
    return v == 0 ? 0 : v == UINT64_MAX ? -u : (uint64_t)(signed_of(u) / signed_of(v));
}
static inline uint64_t remainder_of(uint64_t u, uint64_t v)
{
    return v == 0 || v == UINT64_MAX ? 0 : (uint64_t)(signed_of(u) % signed_of(v));
}
static inline uint64_t modulo(uint64_t u, uint64_t v)
{
    const uint64_t r = remainder_of(u, v);
    return r != 0 && (signed_of(r) < 0) != (signed_of(v) < 0) ? r + v : r;
}
/* 1 / base^-v toward zero: only +-1 have an integer inverse. */
static inline uint64_t signed_power(uint64_t u, uint64_t v)
{
    if (signed_of(v) >= 0)
        return power(u, v);
    return u == 1 || u == UINT64_MAX ? power(u, v & 1) : 0;
}
static inline uint64_t shift_right_signed(uint64_t u, uint64_t v)
{
    const uint64_t sign = signed_of(u) < 0 ? UINT64_MAX : 0;
    return v < 64 ? ((u ^ sign) >> (v & 63)) ^ sign : sign;
}

MAP_EXACT(ABS, 1, signed_of(u) < 0 ? -u : u)
MAP_EXACT(SIGN, 1, signed_of(u) < 0 ? UINT64_MAX : u != 0)
MAP_EXACT(DIV, 2, divide_unsigned(u, v))
MAP_EXACT(MOD, 2, modulo(u, v))
MAP_EXACT(FMOD, 2, remainder_of(u, v))
MAP_EXACT(POW, 2, signed_power(u, v))
MAP_EXACT(MIN, 2, signed_of(u) < signed_of(v) ? u : v)
MAP_EXACT(MAX, 2, signed_of(u) < signed_of(v) ? v : u)
MAP_EXACT(LESS, 2, signed_of(u) < signed_of(v))
MAP_EXACT(LESS_EQUAL, 2, signed_of(u) <= signed_of(v))
MAP_EXACT(SHIFT_RIGHT, 2, shift_right_signed(u, v))

MAP_EXACT(SIGN_UNSIGNED, 1, u != 0)
MAP_EXACT(DIV_UNSIGNED, 2, v == 0 ? 0 : u / v)
MAP_EXACT(MOD_UNSIGNED, 2, v == 0 ? 0 : u % v)
MAP_EXACT(POW_UNSIGNED, 2, power(u, v))
MAP_EXACT(MIN_UNSIGNED, 2, u < v ? u : v)
MAP_EXACT(MAX_UNSIGNED, 2, u < v ? v : u)
MAP_EXACT(LESS_UNSIGNED, 2, u < v)
MAP_EXACT(LESS_EQUAL_UNSIGNED, 2, u <= v)
MAP_EXACT(SHIFT_RIGHT_UNSIGNED, 2, v < 64 ? u >> (v & 63) : 0)

/* A tensor of the carrier's own type: the range that floats are truncated into. */
static struct ulp_tensor carrier_range(const struct ulp_strip_rule *rule)
{
    const bool is_unsigned = rule->carrier == ULP_STRIP_UINT64;
    return (struct ulp_tensor){.type = is_unsigned ? ULP_TYPE_UINT64 : ULP_TYPE_INT64,
                               .element = is_unsigned ? ULP_ELEMENT_U64 : ULP_ELEMENT_I64};
}

static int64_t truncate_mpfr(const struct ulp_strip_rule *rule, const mpfr_t x)
{
    const double rough = mpfr_get_d(x, MPFR_RNDZ);
    const struct ulp_tensor range = carrier_range(rule);
    if (range.element == ULP_ELEMENT_U64 && rough > 0 && rough < 0x1p64)
        return (int64_t)mpfr_get_uj(x, MPFR_RNDZ);
    if (range.element == ULP_ELEMENT_I64 && rough > -0x1p63 && rough < 0x1p63)
        return mpfr_get_sj(x, MPFR_RNDZ);
    return ulp_strip_truncate(&range, rough);
}

/* A float element toward zero into the carrier's range. */
static int64_t truncate_element(const struct ulp_strip_rule *rule, const struct ulp_tensor *tensor,
                                size_t at)
{
    const struct ulp_tensor range = carrier_range(rule);
    if (tensor->element == ULP_ELEMENT_F32)
        return ulp_strip_truncate(&range, (double)((const float *)tensor->data)[at]);
    if (tensor->element == ULP_ELEMENT_F64)
        return ulp_strip_truncate(&range, ((const double *)tensor->data)[at]);
    if (tensor->element == ULP_ELEMENT_PAIR) {
        const struct ulp_double_pair *pair = (const struct ulp_double_pair *)tensor->data + at;
        return ulp_strip_truncate_pair(&range, pair->high, pair->low);
    }
    mpfr_t x;
    ulp_record_open_const(x, ulp_record_at_const(tensor->data, at, tensor->precision),
                          tensor->precision);
    return truncate_mpfr(rule, x);
}

static void load(const struct ulp_strip_rule *rule, void *out, const struct ulp_tensor *tensor,
                 int64_t base, const int64_t *offset, int64_t stride, size_t n)
{
    int64_t *y = out;
    const bool is_float = tensor->element <= ULP_ELEMENT_WIDE;
    if (!is_float && tensor->element_bytes == sizeof *y && !offset && stride == 1) {
        memcpy(y, (const int64_t *)tensor->data + base, n * sizeof *y);
        return;
    }
    if (!is_float)
        ulp_strip_get_ints(y, tensor, base, offset, stride, n);
    for (size_t i = 0; is_float && i < n; i++)
        y[i] = truncate_element(rule, tensor, ulp_strip_at(base, offset, stride, i));
}

static void store_as_float(const struct ulp_strip_rule *rule, struct ulp_tensor *tensor, size_t at,
                           int64_t value)
{
    const bool is_unsigned = rule->carrier == ULP_STRIP_UINT64;
    if (tensor->element == ULP_ELEMENT_F32) {
        ((float *)tensor->data)[at] = is_unsigned ? (float)(uint64_t)value : (float)value;
    } else if (tensor->element == ULP_ELEMENT_PAIR) {
        const __int128 x = is_unsigned ? (__int128)(uint64_t)value : (__int128)value;
        const double high = (double)x;
        ((struct ulp_double_pair *)tensor->data)[at] =
            (struct ulp_double_pair){high, (double)(x - (__int128)high)};
    } else if (tensor->element == ULP_ELEMENT_F64) {
        ((double *)tensor->data)[at] = is_unsigned ? (double)(uint64_t)value : (double)value;
    } else {
        struct ulp_record *record = ulp_record_at(tensor->data, at, tensor->precision);
        mpfr_t y;
        ulp_record_begin(y, record, tensor->precision);
        if (is_unsigned)
            mpfr_set_uj(y, (uint64_t)value, MPFR_RNDN);
        else
            mpfr_set_sj(y, value, MPFR_RNDN);
        ulp_record_close(record, y);
    }
}

/* Integers reach float tensors only where they are exact (comparisons, counts): no format rounds
 * them here. */
static void store(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                  struct ulp_tensor *tensor, int64_t base, const int64_t *offset, int64_t stride,
                  const void *in, size_t n, struct ulp_strip_place place)
{
    (void)storage, (void)place;
    const int64_t *x = in;
    const bool is_float = tensor->element <= ULP_ELEMENT_WIDE;
    if (!is_float && tensor->element_bytes == sizeof *x && !offset && stride == 1) {
        memcpy((int64_t *)tensor->data + base, x, n * sizeof *x);
        return;
    }
    if (!is_float)
        ulp_strip_set_ints(tensor, base, offset, stride, x, n);
    for (size_t i = 0; is_float && i < n; i++)
        store_as_float(rule, tensor, ulp_strip_at(base, offset, stride, i), x[i]);
}

static void fill(int64_t *y, int64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void constant(const struct ulp_strip_rule *rule, void *out, const char *text, size_t n)
{
    mp_limb_t limbs[ULP_STRIP_LIMBS(128)];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, 128, limbs);
    ulp_strip_parse(x, text);
    fill(out,
         !mpfr_inf_p(x)    ? truncate_mpfr(rule, x)
         : mpfr_signbit(x) ? rule->least
                           : rule->greatest,
         n);
}

static void spread(const struct ulp_strip_rule *rule, void *out, const void *in, size_t index,
                   size_t n)
{
    (void)rule;
    fill(out, ((const int64_t *)in)[index], n);
}

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME
#define UNSIGNED_ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME##_UNSIGNED
#define COMMON                                                                             \
    ENTRY(COPY), ENTRY(NEG), ENTRY(NOT), ENTRY(ADD), ENTRY(SUB), ENTRY(MUL), ENTRY(EQUAL), \
        ENTRY(AND), ENTRY(OR), ENTRY(XOR), ENTRY(BIT_AND), ENTRY(BIT_OR), ENTRY(BIT_XOR),  \
        ENTRY(BIT_NOT), ENTRY(SHIFT_LEFT), ENTRY(FMA), ENTRY(SELECT)

const struct ulp_strip_table ulp_strip_int64 = {
    .primitive = {COMMON, ENTRY(ABS), ENTRY(SIGN), ENTRY(DIV), ENTRY(MOD), ENTRY(FMOD), ENTRY(POW),
                  ENTRY(MIN), ENTRY(MAX), ENTRY(LESS), ENTRY(LESS_EQUAL), ENTRY(SHIFT_RIGHT)},
    .load = load,
    .store = store,
    .constant = constant,
    .spread = spread,
};
const struct ulp_strip_table ulp_strip_uint64 = {
    .primitive = {COMMON, [ULP_PRIMITIVE_ABS] = run_COPY, UNSIGNED_ENTRY(SIGN), UNSIGNED_ENTRY(DIV),
                  UNSIGNED_ENTRY(MOD), [ULP_PRIMITIVE_FMOD] = run_MOD_UNSIGNED, UNSIGNED_ENTRY(POW),
                  UNSIGNED_ENTRY(MIN), UNSIGNED_ENTRY(MAX), UNSIGNED_ENTRY(LESS),
                  UNSIGNED_ENTRY(LESS_EQUAL), UNSIGNED_ENTRY(SHIFT_RIGHT)},
    .load = load,
    .store = store,
    .constant = constant,
    .spread = spread,
};
