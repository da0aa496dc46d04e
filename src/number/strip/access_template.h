/* load, store, constant and spread of the native floating-point carriers. Parameters, defined by
 * the including file:
 *   REAL, REAL_MAX     float or double, and its largest number
 *   REAL_BITS          its significand bits, 24 or 53
 *   REAL_EMIN, REAL_EMAX
 *   round_to           round.h's function for REAL: static void (format, rounding, REAL *x, n,
 *                      seed, stream, first) */
#include "number/double_pair.h"
#include "number/strip/access.h"
#include "number/round/round.h"

#include <string.h>

/* Every REAL is a value of the format, so storing rounds nothing. */
static bool holds_all(const struct ulp_format *format)
{
    return format->precision >= REAL_BITS && format->emin <= REAL_EMIN &&
           format->emax >= REAL_EMAX && format->max_finite >= REAL_MAX && format->subnormals &&
           format->signed_zero && format->overflow == ULP_OVERFLOW_INFINITY;
}

static inline REAL real_of_int64(const struct ulp_strip_rule *rule, int64_t value, uint64_t index)
{
    const uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (size >> REAL_BITS == 0 || !rule->each_step || ulp_strip_fits(size, REAL_BITS))
        return (REAL)value;
    return (REAL)ulp_strip_round_int64(rule, value, index);
}

static REAL real_of_uint64(const struct ulp_strip_rule *rule, uint64_t value, uint64_t index)
{
    if (!rule->each_step || ulp_strip_fits(value, REAL_BITS))
        return (REAL)value;
    return (REAL)ulp_strip_round_uint64(rule, value, index);
}

static REAL real_of_double(const struct ulp_strip_rule *rule, double value, uint64_t index)
{
    const REAL nearest = (REAL)value;
    if (!rule->each_step || nearest == value || value != value)
        return nearest;
    return (REAL)ulp_strip_round_double(rule, value, index);
}

static REAL real_of_wide(const struct ulp_strip_rule *rule, const struct ulp_tensor *tensor,
                         size_t at)
{
    mpfr_t x;
    ulp_record_open_const(x, ulp_record_at_const(tensor->data, at, tensor->precision),
                          tensor->precision);
    const REAL nearest = sizeof(REAL) == sizeof(float) ? (REAL)mpfr_get_flt(x, MPFR_RNDN)
                                                       : (REAL)mpfr_get_d(x, MPFR_RNDN);
    if (!rule->each_step || mpfr_nan_p(x) || mpfr_cmp_d(x, (double)nearest) == 0)
        return nearest;
    return (REAL)ulp_strip_round_mpfr(rule, x, at);
}

static REAL real_of_pair(const struct ulp_strip_rule *rule, const struct ulp_double_pair *pair,
                         size_t at)
{
    const REAL nearest = (REAL)pair->high;
    const bool rounds = rule->each_step || sizeof(REAL) < sizeof(double);
    if (!rounds ||
        (pair->low == 0 && !((double)nearest < pair->high) && !((double)nearest > pair->high)))
        return nearest;
    mp_limb_t limbs[ULP_STRIP_LIMBS(ULP_PAIR_RECORD_BITS)];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, ULP_PAIR_RECORD_BITS, limbs);
    ulp_pair_get(x, pair->high, pair->low);
    return (REAL)ulp_strip_round_mpfr(rule, x, at);
}

#define LOAD_LOOP(TYPE, EXPRESSION)                                  \
    {                                                                \
        const TYPE *in = tensor->data;                               \
        for (size_t i = 0; i < n; i++) {                             \
            const size_t at = ulp_strip_at(base, offset, stride, i); \
            y[i] = EXPRESSION;                                       \
        }                                                            \
        break;                                                       \
    }

/* Elements that are the carrier's. */
static void load_native(REAL *restrict y, const REAL *restrict in, const int64_t *offset,
                        int64_t stride, size_t n)
{
    if (offset)
        for (size_t i = 0; i < n; i++)
            y[i] = in[offset[i]];
    else if (stride == 1)
        memcpy(y, in, n * sizeof *y);
    else
        for (size_t i = 0; i < n; i++, in += stride)
            y[i] = *in;
}

/* False: some number needs rounding. */
static bool load_int32(const struct ulp_strip_rule *rule, REAL *restrict y,
                       const int32_t *restrict in, size_t n)
{
    uint32_t bits = 0; /* of any magnitude, or of one less */
    for (size_t i = 0; i < n; i++)
        bits |= (uint32_t)(in[i] ^ in[i] >> 31);
    if (REAL_BITS < 31 && rule->each_step && bits >> (REAL_BITS < 31 ? REAL_BITS : 31))
        return false;
    for (size_t i = 0; i < n; i++)
        y[i] = (REAL)in[i];
    return true;
}

static void load(const struct ulp_strip_rule *rule, void *out, const struct ulp_tensor *tensor,
                 int64_t base, const int64_t *offset, int64_t stride, size_t n)
{
    REAL *y = out;
    if (tensor->element == REAL_ELEMENT) {
        load_native(y, (const REAL *)tensor->data + base, offset, stride, n);
        return;
    }
    if (tensor->element == ULP_ELEMENT_I32 && !offset && stride == 1 &&
        load_int32(rule, y, (const int32_t *)tensor->data + base, n))
        return;
    switch (tensor->element) {
    case ULP_ELEMENT_F32: LOAD_LOOP(float, (REAL)in[at])
    case ULP_ELEMENT_F64: LOAD_LOOP(double, real_of_double(rule, in[at], at))
    case ULP_ELEMENT_PAIR: LOAD_LOOP(struct ulp_double_pair, real_of_pair(rule, &in[at], at))
    case ULP_ELEMENT_WIDE: LOAD_LOOP(void, ((void)in, real_of_wide(rule, tensor, at)))
    case ULP_ELEMENT_I8: LOAD_LOOP(int8_t, in[at])
    case ULP_ELEMENT_U8: LOAD_LOOP(uint8_t, in[at])
    case ULP_ELEMENT_I16: LOAD_LOOP(int16_t, in[at])
    case ULP_ELEMENT_U16: LOAD_LOOP(uint16_t, in[at])
    case ULP_ELEMENT_I32: LOAD_LOOP(int32_t, real_of_int64(rule, in[at], at))
    case ULP_ELEMENT_U32: LOAD_LOOP(uint32_t, real_of_uint64(rule, in[at], at))
    case ULP_ELEMENT_I64: LOAD_LOOP(int64_t, real_of_int64(rule, in[at], at))
    case ULP_ELEMENT_U64: LOAD_LOOP(uint64_t, real_of_uint64(rule, in[at], at))
    case ULP_ELEMENT_BOOL: LOAD_LOOP(uint8_t, in[at] != 0)
    case ULP_ELEMENT_PACKED: LOAD_LOOP(void, ((void)in, (REAL)ulp_strip_get_int(tensor, at)))
    case ULP_ELEMENT_STORED: /* decoded by whoever reads it of the model */
    case ULP_ELEMENT_COUNT: break;
    }
}

/* x into a record of the tensor, rounded to storage, whose values need not fit REAL. */
static void store_wide(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                       struct ulp_tensor *tensor, size_t at, REAL value,
                       struct ulp_strip_place place, size_t i)
{
    mp_limb_t limbs[ULP_STRIP_LIMBS(53)];
    mpfr_t x, y;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, 53, limbs);
    mpfr_set_d(x, (double)value, MPFR_RNDN);
    struct ulp_record *record = ulp_record_at(tensor->data, at, tensor->precision);
    ulp_record_begin(y, record, tensor->precision);
    if (storage && !holds_all(storage))
        ulp_round_mpfr(storage, rule->rounding, y, x, rule->seed, place.stream, place.first + i);
    else
        mpfr_set(y, x, MPFR_RNDN);
    ulp_record_close(record, y);
}

#define STORE_LOOP(TYPE)                                                \
    {                                                                   \
        TYPE *to = tensor->data;                                        \
        if (!offset && stride == 1)                                     \
            for (size_t i = 0; i < n; i++)                              \
                to[(size_t)base + i] = (TYPE)x[i];                      \
        else                                                            \
            for (size_t i = 0; i < n; i++)                              \
                to[ulp_strip_at(base, offset, stride, i)] = (TYPE)x[i]; \
        break;                                                          \
    }

/* In double, because a format wider than float may round a float to a value that float lacks. */
static void store_rounded_f64(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                              struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                              int64_t stride, const REAL *in, size_t n,
                              struct ulp_strip_place place)
{
    double x[ULP_STRIP], *to = tensor->data;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)in[i];
    ulp_round_doubles(storage, rule->rounding, x, n, rule->seed, place.stream, place.first);
    for (size_t i = 0; i < n; i++)
        to[ulp_strip_at(base, offset, stride, i)] = x[i];
}

/* To neighbours of the carrier's type, rounded where they lie. */
static void store_native(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                         REAL *out, const REAL *x, size_t n, struct ulp_strip_place place)
{
    memmove(out, x, n * sizeof *x);
    if (storage && !holds_all(storage))
        round_to(storage, rule->rounding, out, n, rule->seed, place.stream, place.first);
}

static void store(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                  struct ulp_tensor *tensor, int64_t base, const int64_t *offset, int64_t stride,
                  const void *in, size_t n, struct ulp_strip_place place)
{
    const REAL *x = in;
    REAL rounded[ULP_STRIP];
    double wide[ULP_STRIP];
    const bool rounds = storage && !holds_all(storage);
    if (tensor->element == REAL_ELEMENT && !offset && stride == 1) {
        store_native(rule, storage, (REAL *)tensor->data + base, x, n, place);
        return;
    }
    switch (tensor->element) {
    case ULP_ELEMENT_F32:
        if (rounds) {
            memcpy(rounded, x, n * sizeof *x);
            round_to(storage, rule->rounding, rounded, n, rule->seed, place.stream, place.first);
            x = rounded;
        }
        STORE_LOOP(float)
    case ULP_ELEMENT_F64:
        if (rounds) {
            store_rounded_f64(rule, storage, tensor, base, offset, stride, x, n, place);
            break;
        }
        STORE_LOOP(double)
    case ULP_ELEMENT_PAIR:
        for (size_t i = 0; i < n; i++)
            ((struct ulp_double_pair *)tensor->data)[ulp_strip_at(base, offset, stride, i)] =
                (struct ulp_double_pair){(double)x[i], 0};
        break;
    case ULP_ELEMENT_WIDE:
        for (size_t i = 0; i < n; i++)
            store_wide(rule, storage, tensor, ulp_strip_at(base, offset, stride, i), x[i], place,
                       i);
        break;
    case ULP_ELEMENT_BOOL:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)tensor->data)[ulp_strip_at(base, offset, stride, i)] = x[i] != 0;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            wide[i] = (double)x[i];
        ulp_strip_set_truncated(tensor, base, offset, stride, wide, n);
    }
}

static void fill(REAL *y, REAL value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void constant(const struct ulp_strip_rule *rule, void *out, const char *text, size_t n)
{
    fill(out, (REAL)ulp_strip_round_text(rule, text), n);
}

static void spread(const struct ulp_strip_rule *rule, void *out, const void *in, size_t index,
                   size_t n)
{
    (void)rule;
    fill(out, ((const REAL *)in)[index], n);
}
