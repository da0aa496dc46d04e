/* The MPFR carrier: flat records of the rule's precision. each_step false: every primitive rounded
 * by MPFR to nearest even at that precision. each_step true: computed to odd with guard bits, then
 * rounded once to the format. */
#include "number/function/function.h"
#include "base/machine/thread.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/round/round.h"
#include "number/strip/access.h"
#include "number/strip.h"
#include "number/strip/strip_bound.h"

#include <string.h>

/* Bits beyond the format's before the one rounding. Two would do for the deterministic modes; the
 * rest is the resolution of the stochastic one. */
#define GUARD_BITS 64
#define LIMBS_MAX ULP_STRIP_LIMBS(ULP_MPFR_PRECISION_MAX + GUARD_BITS)

/* out = op(operands); returns the ternary value. Unused operands are not to be read. */
typedef int compute_fn(mpfr_t out, const mpfr_t a, const mpfr_t b, const mpfr_t c,
                       mpfr_rnd_t rounding);

static void make_odd(mpfr_t x, int ternary)
{
    if (ternary == 0 || mpfr_nan_p(x) || mpfr_inf_p(x))
        return;
    if (mpfr_zero_p(x)) { /* below MPFR's smallest number, which rounds alike */
        if (mpfr_signbit(x))
            mpfr_nextbelow(x);
        else
            mpfr_nextabove(x);
        return;
    }
    const mpfr_prec_t precision = mpfr_get_prec(x),
                      whole = ULP_STRIP_LIMBS(precision) * GMP_NUMB_BITS;
    ((mp_limb_t *)mpfr_custom_get_significand(x))[0] |= (mp_limb_t)1 << (whole - precision);
}

static int64_t error_of(const struct ulp_record *record)
{
    const int32_t error = ulp_record_error(record);
    return error == 0 ? ULP_BOUND_NONE : error == INT32_MAX ? ULP_BOUND_UNKNOWN : error;
}
static void set_error(struct ulp_record *record, int64_t error)
{
    const int64_t most = INT32_MAX / 2;
    if (error != ULP_BOUND_NONE)
        ulp_record_set_error(record, error > most    ? INT32_MAX
                                     : error < -most ? (int32_t)-most
                                     : error == 0    ? 1
                                                     : (int32_t)error);
}

/* The result in memory of its own, as `out` may be an operand; of a bounded rule with the error
 * that its operands' and its own rounding make of it. */
static void run_element(compute_fn *compute, enum ulp_primitive primitive, int arity,
                        const struct ulp_strip_rule *rule, struct ulp_record *out,
                        const struct ulp_record *const operands[3], struct ulp_strip_place place)
{
    mp_limb_t limbs[LIMBS_MAX];
    mpfr_t variables[3], result, copy;
    const mpfr_srcptr x[3] = {variables[0], variables[1], variables[2]};
    int64_t errors[3], error = ULP_BOUND_NONE;
    for (int k = 0; k < 3; k++) {
        ulp_record_open_const(variables[k], operands[k], rule->precision);
        errors[k] = rule->bounded ? error_of(operands[k]) : ULP_BOUND_NONE;
    }
    mpfr_custom_init_set(result, MPFR_NAN_KIND, 0,
                         rule->precision + (rule->each_step ? GUARD_BITS : 0), limbs);
    const int ternary = compute(result, x[0], x[1], x[2], rule->each_step ? MPFR_RNDZ : MPFR_RNDN);
    if (rule->bounded)
        error = ulp_bound_of(primitive, result, ternary, x, errors, arity);
    ulp_record_begin(copy, out, rule->precision);
    if (rule->each_step) {
        make_odd(result, ternary);
        ulp_round_mpfr(&rule->format, rule->rounding, copy, result, rule->seed, place.stream,
                       place.first);
    } else {
        mpfr_set(copy, result, MPFR_RNDN);
    }
    ulp_record_close(out, copy);
    set_error(out, error);
}

static void run_primitive(compute_fn *compute, enum ulp_primitive primitive, int arity,
                          const struct ulp_strip_rule *rule, void *out, const void *a,
                          const void *b, const void *c, size_t n, struct ulp_strip_place place)
{
    const size_t step = ulp_record_bytes(rule->precision);
    const char *const operands[3] = {a, arity > 1 ? b : a, arity > 2 ? c : a};
    for (size_t i = 0; i < n; i++, place.first++) {
        const struct ulp_record *from[3];
        for (int k = 0; k < 3; k++)
            from[k] = (const struct ulp_record *)(const void *)(operands[k] + i * step);
        run_element(compute, primitive, arity, rule,
                    (struct ulp_record *)(void *)((char *)out + i * step), from, place);
    }
}

#define COMPUTE(NAME)                                                                   \
    static int compute_##NAME(mpfr_t y, const mpfr_t a, const mpfr_t b, const mpfr_t c, \
                              mpfr_rnd_t r)
#define UNARY(NAME, EXPRESSION)    \
    COMPUTE(NAME)                  \
    {                              \
        (void)b, (void)c, (void)r; \
        return EXPRESSION;         \
    }
#define BINARY(NAME, EXPRESSION) \
    COMPUTE(NAME)                \
    {                            \
        (void)c, (void)r;        \
        return EXPRESSION;       \
    }

static bool is_true(const mpfr_t x)
{
    return mpfr_nan_p(x) || !mpfr_zero_p(x);
}
static int set_flag(mpfr_t y, bool value)
{
    return mpfr_set_ui(y, value, MPFR_RNDN);
}

/* The sign, +0 for zeros, NaN for NaN. */
static int set_sign(mpfr_t y, const mpfr_t a)
{
    if (mpfr_nan_p(a)) {
        mpfr_set_nan(y);
        return 0;
    }
    return mpfr_set_si(y, mpfr_sgn(a), MPFR_RNDN);
}

/* MPFR's extremum of two numbers, but NaN propagates. */
static int set_extremum(mpfr_t y, const mpfr_t a, const mpfr_t b, bool greater, mpfr_rnd_t r)
{
    if (mpfr_nan_p(a) || mpfr_nan_p(b)) {
        mpfr_set_nan(y);
        return 0;
    }
    return greater ? mpfr_max(y, a, b, r) : mpfr_min(y, a, b, r);
}

/* The remainder with the divisor's sign. The remainder toward zero is exact at the operands'
 * precision. */
static int set_modulo(mpfr_t y, const mpfr_t a, const mpfr_t b, mpfr_rnd_t r)
{
    mp_limb_t limbs[LIMBS_MAX];
    mpfr_t remainder;
    const mpfr_prec_t precision =
        mpfr_get_prec(a) > mpfr_get_prec(b) ? mpfr_get_prec(a) : mpfr_get_prec(b);
    mpfr_custom_init_set(remainder, MPFR_NAN_KIND, 0, precision, limbs);
    mpfr_fmod(remainder, a, b, MPFR_RNDN);
    if (mpfr_zero_p(remainder))
        return mpfr_setsign(y, remainder, mpfr_signbit(b), r);
    if (mpfr_nan_p(remainder) || mpfr_signbit(remainder) == mpfr_signbit(b))
        return mpfr_set(y, remainder, r);
    return mpfr_add(y, remainder, b, r);
}

UNARY(COPY, mpfr_set(y, a, r))
UNARY(NEG, mpfr_neg(y, a, r))
UNARY(ABS, mpfr_abs(y, a, r))
UNARY(SIGN, set_sign(y, a))
UNARY(FLOOR, mpfr_rint_floor(y, a, r))
UNARY(CEIL, mpfr_rint_ceil(y, a, r))
UNARY(TRUNC, mpfr_rint_trunc(y, a, r))
UNARY(ROUND, mpfr_rint_roundeven(y, a, r))
UNARY(IS_NAN, set_flag(y, mpfr_nan_p(a)))
UNARY(IS_INF, set_flag(y, mpfr_inf_p(a)))
UNARY(NOT, set_flag(y, !is_true(a)))
BINARY(ADD, mpfr_add(y, a, b, r))
BINARY(SUB, mpfr_sub(y, a, b, r))
BINARY(MUL, mpfr_mul(y, a, b, r))
BINARY(DIV, mpfr_div(y, a, b, r))
BINARY(MIN, set_extremum(y, a, b, false, r))
BINARY(MAX, set_extremum(y, a, b, true, r))
BINARY(POW, mpfr_pow(y, a, b, r))
BINARY(MOD, set_modulo(y, a, b, r))
BINARY(FMOD, mpfr_fmod(y, a, b, r))
BINARY(LESS, set_flag(y, mpfr_less_p(a, b)))
BINARY(LESS_EQUAL, set_flag(y, mpfr_lessequal_p(a, b)))
BINARY(EQUAL, set_flag(y, mpfr_equal_p(a, b)))
BINARY(AND, set_flag(y, is_true(a) && is_true(b)))
BINARY(OR, set_flag(y, is_true(a) || is_true(b)))
BINARY(XOR, set_flag(y, is_true(a) != is_true(b)))
COMPUTE(FMA)
{
    return mpfr_fma(y, a, b, c, r);
}
COMPUTE(SELECT)
{
    return mpfr_set(y, is_true(a) ? b : c, r);
}
UNARY(SQRT, mpfr_sqrt(y, a, r))
#define FUNCTION(NAME) UNARY(NAME, ulp_function_mpfr(ULP_PRIMITIVE_##NAME, y, a, a, r))
ULP_UNARY_FUNCTIONS(FUNCTION)

/* The strip functions: one line each, from the scalars above. */
#define STRIP(NAME, ARITY)                                                                        \
    static void run_##NAME(const struct ulp_strip_rule *rule, void *out, const void *a,           \
                           const void *b, const void *c, size_t n, struct ulp_strip_place place)  \
    {                                                                                             \
        run_primitive(compute_##NAME, ULP_PRIMITIVE_##NAME, ARITY, rule, out, a, b, c, n, place); \
    }
#define BINARY_STRIPS(X) \
    X(ADD)               \
    X(SUB)               \
    X(MUL)               \
    X(DIV) X(MIN) X(MAX) X(POW) X(MOD) X(FMOD) X(LESS) X(LESS_EQUAL) X(EQUAL) X(AND) X(OR) X(XOR)
#define UNARY_STRIPS(X)    \
    ULP_UNARY_FUNCTIONS(X) \
    X(SQRT)                \
    X(COPY) X(NEG) X(ABS) X(SIGN) X(FLOOR) X(CEIL) X(TRUNC) X(ROUND) X(IS_NAN) X(IS_INF) X(NOT)
#define STRIP_1(NAME) STRIP(NAME, 1)
#define STRIP_2(NAME) STRIP(NAME, 2)
UNARY_STRIPS(STRIP_1)
BINARY_STRIPS(STRIP_2)
STRIP(FMA, 3)
STRIP(SELECT, 3)

void ulp_exact_open(struct ulp_exact *x, const struct ulp_tensor *tensor, size_t at)
{
    const bool pair = tensor->element == ULP_ELEMENT_PAIR;
    if (tensor->element == ULP_ELEMENT_WIDE) {
        ulp_record_open_const(x->value, ulp_record_at_const(tensor->data, at, tensor->precision),
                              tensor->precision);
        return;
    }
    mpfr_custom_init_set(x->value, MPFR_NAN_KIND, 0, pair ? ULP_PAIR_RECORD_BITS_MAX : 64,
                         x->limbs);
    if (pair) {
        const struct ulp_double_pair *from = (const struct ulp_double_pair *)tensor->data + at;
        ulp_pair_get(x->value, from->high, from->low);
    } else if (tensor->element == ULP_ELEMENT_F32) {
        mpfr_set_flt(x->value, ((const float *)tensor->data)[at], MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_F64) {
        mpfr_set_d(x->value, ((const double *)tensor->data)[at], MPFR_RNDN);
    } else if (tensor->element == ULP_ELEMENT_U64) {
        mpfr_set_uj(x->value, ((const uint64_t *)tensor->data)[at], MPFR_RNDN);
    } else {
        mpfr_set_sj(x->value, ulp_strip_get_int(tensor, at), MPFR_RNDN);
    }
}

static void load(const struct ulp_strip_rule *rule, void *out, const struct ulp_tensor *tensor,
                 int64_t base, const int64_t *offset, int64_t stride, size_t n)
{
    const size_t step = ulp_record_bytes(rule->precision);
    const bool same = tensor->element == ULP_ELEMENT_WIDE && tensor->precision == rule->precision;
    if (same && !offset && stride == 1) {
        memcpy(out, (const char *)tensor->data + (size_t)base * step, n * step);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = ulp_strip_at(base, offset, stride, i);
        struct ulp_record *record = (struct ulp_record *)((char *)out + i * step);
        if (same) {
            const char *from = (const char *)tensor->data + at * step;
            memcpy(record, from, step);
            continue;
        }
        struct ulp_exact x;
        mpfr_t y;
        ulp_exact_open(&x, tensor, at);
        ulp_record_begin(y, record, rule->precision);
        const int ternary = mpfr_set(y, x.value, MPFR_RNDN);
        if (ternary != 0 && rule->each_step)
            ulp_round_mpfr(&rule->format, rule->rounding, y, x.value, rule->seed,
                           ULP_STRIP_LOAD_STREAM, at);
        ulp_record_close(record, y);
        if (ternary != 0 && rule->bounded) /* a pair whose parts lie far apart */
            set_error(record, mpfr_get_exp(y) - rule->precision);
    }
}

/* What no pair holds is noted. */
static void store_pair(struct ulp_tensor *tensor, size_t at, const mpfr_t x)
{
    bool exact;
    if (!ulp_pair_set((struct ulp_double_pair *)tensor->data + at, x, &exact))
        ulp_note(ULP_NOTE_OUTSIDE);
}

/* x into element `at` of a float tensor, rounded once to storage. */
static void store_float(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                        struct ulp_tensor *tensor, size_t at, const mpfr_t x,
                        struct ulp_strip_place place, size_t i)
{
    mp_limb_t limbs[ULP_STRIP_LIMBS(53)];
    mpfr_t y;
    struct ulp_record *record = NULL;
    if (tensor->element == ULP_ELEMENT_WIDE) {
        record = ulp_record_at(tensor->data, at, tensor->precision);
        ulp_record_begin(y, record, tensor->precision);
    } else {
        mpfr_custom_init_set(y, MPFR_NAN_KIND, 0, 53, limbs);
    }
    if (storage)
        ulp_round_mpfr(storage, rule->rounding, y, x, rule->seed, place.stream, place.first + i);
    else
        mpfr_set(y, x, MPFR_RNDN);
    if (record)
        ulp_record_close(record, y);
    else if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[at] = mpfr_get_flt(y, MPFR_RNDN);
    else if (tensor->element == ULP_ELEMENT_PAIR)
        store_pair(tensor, at, storage && storage->carrier != ULP_CARRIER_MPFR ? y : x);
    else
        ((double *)tensor->data)[at] = mpfr_get_d(y, MPFR_RNDN);
}

/* Toward zero into the type's range; beyond 64 bits the double already says which end. */
static void store_integer(struct ulp_tensor *tensor, size_t at, const mpfr_t x)
{
    if (tensor->element == ULP_ELEMENT_BOOL) {
        ((uint8_t *)tensor->data)[at] = is_true(x);
        return;
    }
    const double rough = mpfr_get_d(x, MPFR_RNDZ);
    if (tensor->element == ULP_ELEMENT_U64 && rough > 0 && rough < 0x1p64)
        ((uint64_t *)tensor->data)[at] = mpfr_get_uj(x, MPFR_RNDZ);
    else if (tensor->element == ULP_ELEMENT_I64 && rough > -0x1p63 && rough < 0x1p63)
        ((int64_t *)tensor->data)[at] = mpfr_get_sj(x, MPFR_RNDZ);
    else
        ulp_strip_set_int(tensor, at, ulp_strip_truncate(tensor, rough));
}

/* The records are values of the tensor's own format already: the rule rounds every step to it. */
static bool stores_as_is(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                         const struct ulp_tensor *tensor)
{
    if (tensor->element != ULP_ELEMENT_WIDE || tensor->precision != rule->precision)
        return false;
    return !storage || (!rule->each_step && storage->precision == rule->precision &&
                        storage->carrier == ULP_CARRIER_MPFR && storage->storage_bits == 0);
}

/* Does the error leave open to what x is rounded in a tensor of doubles or a format of these? */
static bool rounds_alike(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                         const struct ulp_tensor *tensor, const mpfr_t x, int64_t error)
{
    mp_limb_t limbs[LIMBS_MAX], step_limb[1], rounded_limb[1];
    mpfr_t end, step, y;
    double values[2];
    mpfr_custom_init_set(end, MPFR_NAN_KIND, 0, rule->precision, limbs);
    mpfr_custom_init_set(step, MPFR_NAN_KIND, 0, 2, step_limb);
    mpfr_custom_init_set(y, MPFR_NAN_KIND, 0, 53, rounded_limb);
    for (int side = 0; side < 2; side++) {
        mpfr_set_si_2exp(step, side ? 1 : -1, (mpfr_exp_t)error, MPFR_RNDN);
        mpfr_add(end, x, step, side ? MPFR_RNDU : MPFR_RNDD);
        if (storage && storage->carrier != ULP_CARRIER_MPFR)
            ulp_round_mpfr(storage, rule->rounding, y, end, 0, 0, 0);
        else
            mpfr_set(y, end, MPFR_RNDN);
        values[side] = tensor->element == ULP_ELEMENT_F32 ? (double)mpfr_get_flt(y, MPFR_RNDN)
                                                          : mpfr_get_d(y, MPFR_RNDN);
    }
    return values[0] == values[1];
}

/* Does a record's error leave open what is stored: too few bits, or which number of a format,
 * integer or truth? */
static bool is_open(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                    const struct ulp_tensor *tensor, const struct ulp_record *record)
{
    const int64_t error = error_of(record);
    mpfr_t x;
    const mpfr_srcptr operands[3] = {x, x, x};
    const int64_t errors[3] = {error, error, error};
    if (rule->precision >= ULP_PAIR_RECORD_BITS_MAX) /* what is open even so stays */
        return false;
    if (error == ULP_BOUND_NONE || error == ULP_BOUND_UNKNOWN)
        return error != ULP_BOUND_NONE;
    ulp_record_open_const(x, record, rule->precision);
    if (tensor->element > ULP_ELEMENT_WIDE)
        return ulp_bound_of(tensor->element == ULP_ELEMENT_BOOL ? ULP_PRIMITIVE_NOT
                                                                : ULP_PRIMITIVE_TRUNC,
                            x, 0, operands, errors, 1) != ULP_BOUND_NONE;
    if ((storage && storage->carrier != ULP_CARRIER_MPFR) || tensor->element <= ULP_ELEMENT_F64)
        return !rounds_alike(rule, storage, tensor, x, error);
    return !mpfr_regular_p(x) || error > mpfr_get_exp(x) - 1 - ULP_PAIR_SETTLED_BITS;
}

static void store(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                  struct ulp_tensor *tensor, int64_t base, const int64_t *offset, int64_t stride,
                  const void *in, size_t n, struct ulp_strip_place place)
{
    const size_t step = ulp_record_bytes(rule->precision);
    const bool to_float = tensor->element <= ULP_ELEMENT_WIDE;
    const bool as_is = !rule->bounded && stores_as_is(rule, storage, tensor);
    if (as_is && !offset && stride == 1) {
        memcpy((char *)tensor->data + (size_t)base * step, in, n * step);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = ulp_strip_at(base, offset, stride, i);
        const struct ulp_record *record = (const struct ulp_record *)((const char *)in + i * step);
        mpfr_t x;
        if (rule->bounded)
            ulp_note(is_open(rule, storage, tensor, record));
        if (as_is) {
            memcpy((char *)tensor->data + at * step, record, step);
            continue;
        }
        ulp_record_open_const(x, record, rule->precision);
        if (to_float)
            store_float(rule, storage, tensor, at, x, place, i);
        else
            store_integer(tensor, at, x);
    }
}

static void spread(const struct ulp_strip_rule *rule, void *out, const void *in, size_t index,
                   size_t n)
{
    const size_t step = ulp_record_bytes(rule->precision);
    memmove(out, (const char *)in + index * step, step);
    for (size_t done = 1, more; done < n; done += more) { /* twice as many each time */
        more = done < n - done ? done : n - done;
        memcpy((char *)out + done * step, out, more * step);
    }
}

static void constant(const struct ulp_strip_rule *rule, void *out, const char *text, size_t n)
{
    mp_limb_t limbs[LIMBS_MAX];
    mpfr_t x, y;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, rule->precision + GUARD_BITS, limbs);
    ulp_strip_parse(x, text);
    ulp_record_begin(y, out, rule->precision);
    int ternary = 0;
    if (rule->each_step)
        ulp_round_mpfr(&rule->format, rule->rounding, y, x, rule->seed, ULP_STRIP_LOAD_STREAM, 0);
    else
        ternary = mpfr_set(y, x, MPFR_RNDN);
    ulp_record_close(out, y);
    if (rule->bounded && ternary != 0)
        set_error(out, mpfr_get_exp(y) - rule->precision);
    spread(rule, out, out, 0, n);
}

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME,
const struct ulp_strip_table ulp_strip_mpfr = {
    .primitive = {UNARY_STRIPS(ENTRY) BINARY_STRIPS(ENTRY) ENTRY(FMA) ENTRY(SELECT)},
    .load = load,
    .store = store,
    .constant = constant,
    .spread = spread,
};
