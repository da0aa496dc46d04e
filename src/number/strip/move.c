/* Moving, comparing and testing MPFR records. Records are canonical: zeros, infinities and NaN
 * have exponent 0 and zero limbs, NaN no sign (mpfr_record.h). */
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

static void copy(struct ulp_record *out, const struct ulp_record *x, size_t bytes)
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
    copy(out, second ? y : x, bytes);
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
STRIP(COPY, copy(to, x, bytes))
STRIP(NEG, copy(to, x, bytes); to->kind = -to->kind)
STRIP(ABS, copy(to, x, bytes); to->kind = ABSOLUTE(to->kind))
STRIP(SIGN, if (is_nan(x)) copy(to, x, bytes);
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
STRIP(SELECT, copy(to, is_true(x) ? y : z, bytes))

ulp_strip_fn *ulp_strip_move(enum ulp_primitive primitive)
{
    static ulp_strip_fn *const functions[ULP_PRIMITIVE_COUNT] = {
#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME
        ENTRY(COPY),  ENTRY(NEG), ENTRY(ABS), ENTRY(SIGN),   ENTRY(IS_NAN), ENTRY(IS_INF),
        ENTRY(NOT),   ENTRY(AND), ENTRY(OR),  ENTRY(XOR),    ENTRY(LESS),   ENTRY(LESS_EQUAL),
        ENTRY(EQUAL), ENTRY(MIN), ENTRY(MAX), ENTRY(SELECT),
    };
    return functions[primitive];
}
