/* Moving, comparing and testing MPFR records, and rounding them to integers. Records are canonical:
 * zeros, infinities and NaN have exponent 0 and zero limbs, NaN no sign (mpfr_record.h). */
#include "number/strip/move.h"

#include "number/mpfr_record.h"

#define ABSOLUTE(KIND) ((KIND) < 0 ? -(KIND) : (KIND))

static bool is_true(const struct ulp_record *x)
{
    return ABSOLUTE(x->kind) != MPFR_ZERO_KIND;
}
static bool is_nan(const struct ulp_record *x)
{
    return x->kind == MPFR_NAN_KIND;
}
static bool is_infinite(const struct ulp_record *x)
{
    return ABSOLUTE(x->kind) == MPFR_INF_KIND;
}

static void copy_record(struct ulp_record *out, const struct ulp_record *x, size_t bytes)
{
    if (bytes == 32) /* 128 bits */
        memmove(out, x, 32);
    else
        memmove(out, x, bytes);
}

/* -1, 0 or 1. */
static void set_sign(struct ulp_record *out, int sign, size_t bytes)
{
    memset(out, 0, bytes);
    out->kind = sign ? sign * MPFR_REGULAR_KIND : MPFR_ZERO_KIND;
    out->exponent = sign != 0;
    mp_limb_t *const top = &out->limbs[(bytes - sizeof *out) / sizeof(mp_limb_t) - 1];
    *top = sign ? (mp_limb_t)1 << (GMP_NUMB_BITS - 1) : 0;
}

/* Zeros below and infinities above all exponents. */
static int64_t find_top(const struct ulp_record *x)
{
    const int64_t kind = ABSOLUTE(x->kind);
    return kind == MPFR_REGULAR_KIND ? x->exponent : kind == MPFR_ZERO_KIND ? INT64_MIN : INT64_MAX;
}

/* |x| < |y|; neither is NaN. */
static bool is_smaller(const struct ulp_record *x, const struct ulp_record *y, size_t bytes)
{
    const int64_t top_x = find_top(x), top_y = find_top(y);
    if (top_x != top_y)
        return top_x < top_y;
    for (size_t i = (bytes - sizeof *x) / sizeof(mp_limb_t); i-- > 0;)
        if (x->limbs[i] != y->limbs[i])
            return x->limbs[i] < y->limbs[i];
    return false;
}

/* x < y, where -0 is less than +0; neither is NaN. */
static bool is_below(const struct ulp_record *x, const struct ulp_record *y, size_t bytes)
{
    if ((x->kind < 0) != (y->kind < 0))
        return x->kind < 0;
    return x->kind < 0 ? is_smaller(y, x, bytes) : is_smaller(x, y, bytes);
}

static bool is_less(const struct ulp_record *x, const struct ulp_record *y, size_t bytes)
{
    return !is_nan(x) && !is_nan(y) && (is_true(x) || is_true(y)) && is_below(x, y, bytes);
}
static bool is_equal(const struct ulp_record *x, const struct ulp_record *y, size_t bytes)
{
    return !is_nan(x) && ((!is_true(x) && !is_true(y)) || memcmp(x, y, bytes) == 0);
}

static void set_extremum(struct ulp_record *out, const struct ulp_record *x,
                         const struct ulp_record *y, bool greater, size_t bytes)
{
    const bool second = is_nan(y) || (!is_nan(x) && is_below(x, y, bytes) == greater);
    copy_record(out, second ? y : x, bytes);
}

/* x to an integer: to the nearest, even at ties, or by its sign alone. Its fraction is below
 * `point` bits; without one nothing changes, and a sum of one more fits where the fraction was. */
enum whole { NEAREST, TRUNCATED, FLOORED, CEILED };
static void round_to_whole(struct ulp_record *out, const struct ulp_record *x, enum whole how,
                           size_t bytes)
{
    const size_t limb_count = (bytes - sizeof *out) / sizeof(mp_limb_t);
    const int64_t width = (int64_t)limb_count * GMP_NUMB_BITS, exponent = x->exponent;
    const bool negative = x->kind < 0;
    copy_record(out, x, bytes);
    if (ABSOLUTE(x->kind) != MPFR_REGULAR_KIND || exponent >= width)
        return;
    const bool tiny = exponent < 0; /* below 1/2 */
    const size_t point = (size_t)(width - (tiny ? 0 : exponent)),
                 last = (point - 1) / GMP_NUMB_BITS;
    const mp_limb_t half = (mp_limb_t)1 << (point - 1) % GMP_NUMB_BITS;
    mp_limb_t rest = tiny | (out->limbs[last] & (half - 1));
    for (size_t i = 0; i < last; i++) {
        rest |= out->limbs[i];
        out->limbs[i] = 0;
    }
    const bool above = !tiny && (out->limbs[last] & half), fraction = above || rest;
    out->limbs[last] &= ~(half | (half - 1));
    const bool odd = exponent > 0 && out->limbs[point / GMP_NUMB_BITS] >> point % GMP_NUMB_BITS & 1;
    const bool away = how == NEAREST   ? above && (rest || odd)
                      : how == FLOORED ? negative && fraction
                                       : how == CEILED && !negative && fraction;
    if (exponent <= 0) {
        set_sign(out, away ? (negative ? -1 : 1) : 0, bytes);
        if (!away && negative)
            out->kind = -MPFR_ZERO_KIND;
    } else if (away) {
        mp_limb_t carry = (mp_limb_t)1 << point % GMP_NUMB_BITS;
        for (size_t i = point / GMP_NUMB_BITS; carry && i < limb_count; i++) {
            out->limbs[i] += carry;
            carry = out->limbs[i] < carry;
        }
        if (carry) {
            out->limbs[limb_count - 1] = (mp_limb_t)1 << (GMP_NUMB_BITS - 1);
            out->exponent++;
        }
    }
}

/* x, y, z: element i of the operands, of `bytes`; an operand that the primitive lacks is not
 * read. */
#define STRIP(NAME, STATEMENT)                                                                     \
    static void run_##NAME(const struct ulp_strip_rule *rule, void *out, const void *a,            \
                           const void *b, const void *c, size_t n, struct ulp_strip_place place)   \
    {                                                                                              \
        const size_t bytes = ulp_record_bytes(rule->precision);                                    \
        (void)place;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            struct ulp_record *const to = ulp_record_at(out, i, rule->precision);                  \
            const struct ulp_record *const x = ulp_record_at_const(a, i, rule->precision);         \
            const struct ulp_record *const y = b ? ulp_record_at_const(b, i, rule->precision) : x; \
            const struct ulp_record *const z = c ? ulp_record_at_const(c, i, rule->precision) : x; \
            (void)y, (void)z;                                                                      \
            STATEMENT;                                                                             \
        }                                                                                          \
    }
STRIP(COPY, copy_record(to, x, bytes))
STRIP(NEG, copy_record(to, x, bytes); to->kind = -to->kind)
STRIP(ABS, copy_record(to, x, bytes); to->kind = ABSOLUTE(to->kind))
STRIP(SIGN, if (is_nan(x)) copy_record(to, x, bytes);
      else set_sign(to, is_true(x) ? (x->kind < 0 ? -1 : 1) : 0, bytes))
STRIP(IS_NAN, set_sign(to, is_nan(x), bytes))
STRIP(IS_INF, set_sign(to, is_infinite(x), bytes))
STRIP(NOT, set_sign(to, !is_true(x), bytes))
STRIP(AND, set_sign(to, is_true(x) && is_true(y), bytes))
STRIP(OR, set_sign(to, is_true(x) || is_true(y), bytes))
STRIP(XOR, set_sign(to, is_true(x) != is_true(y), bytes))
STRIP(LESS, set_sign(to, is_less(x, y, bytes), bytes))
STRIP(LESS_EQUAL, set_sign(to, is_less(x, y, bytes) || is_equal(x, y, bytes), bytes))
STRIP(EQUAL, set_sign(to, is_equal(x, y, bytes), bytes))
STRIP(MIN, set_extremum(to, x, y, false, bytes))
STRIP(MAX, set_extremum(to, x, y, true, bytes))
STRIP(SELECT, copy_record(to, is_true(x) ? y : z, bytes))
STRIP(ROUND, round_to_whole(to, x, NEAREST, bytes))
STRIP(TRUNC, round_to_whole(to, x, TRUNCATED, bytes))
STRIP(FLOOR, round_to_whole(to, x, FLOORED, bytes))
STRIP(CEIL, round_to_whole(to, x, CEILED, bytes))

ulp_strip_fn *ulp_strip_move(enum ulp_primitive primitive)
{
    static ulp_strip_fn *const functions[ULP_PRIMITIVE_COUNT] = {
#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME
        ENTRY(COPY),   ENTRY(NEG),        ENTRY(ABS),   ENTRY(SIGN),  ENTRY(IS_NAN),
        ENTRY(IS_INF), ENTRY(NOT),        ENTRY(AND),   ENTRY(OR),    ENTRY(XOR),
        ENTRY(LESS),   ENTRY(LESS_EQUAL), ENTRY(EQUAL), ENTRY(MIN),   ENTRY(MAX),
        ENTRY(SELECT), ENTRY(ROUND),      ENTRY(TRUNC), ENTRY(FLOOR), ENTRY(CEIL),
    };
    return functions[primitive];
}
