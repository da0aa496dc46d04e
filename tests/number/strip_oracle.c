#include "strip_oracle.h"

#include "number/mpfr_record.h"
#include "number/round/round.h"
#include "tests/support/test.h"

uint64_t oracle_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void make_odd(mpfr_t x, int ternary)
{
    if (ternary == 0 || mpfr_nan_p(x) || mpfr_inf_p(x))
        return;
    if (mpfr_zero_p(x)) { /* below MPFR's smallest number */
        if (mpfr_signbit(x))
            mpfr_nextbelow(x);
        else
            mpfr_nextabove(x);
        return;
    }
    /* Toward zero was rounded: the next number away from zero is the other candidate, and one of
     * the two is odd. */
    scoped_mpfr half;
    mpfr_init2(half, mpfr_get_prec(x) - 1);
    if (mpfr_set(half, x, MPFR_RNDZ) == 0) { /* last bit 0 */
        if (mpfr_sgn(x) > 0)
            mpfr_nextabove(x);
        else
            mpfr_nextbelow(x);
    }
}

/* A significand of `bits` random bits, often with long runs of equal ones. */
static void random_significand(mpfr_t out, uint64_t *state, int bits)
{
    mpfr_set_ui(out, 1, MPFR_RNDN);
    const uint64_t style = oracle_random(state) % 4;
    for (int done = 1; done < bits;) {
        const int step = bits - done < 16 ? bits - done : 16;
        uint64_t chunk = oracle_random(state) & ((1u << step) - 1);
        if (style == 0)
            chunk = 0;
        else if (style == 1)
            chunk = (1u << step) - 1;
        mpfr_mul_2ui(out, out, (unsigned long)step, MPFR_RNDN);
        mpfr_add_ui(out, out, chunk, MPFR_RNDN);
        done += step;
    }
    if (style < 2 && bits > 1 && oracle_random(state) % 2)
        mpfr_nextabove(out);
    mpfr_div_2ui(out, out, (unsigned long)(bits - 1), MPFR_RNDN);
}

void oracle_operand(mpfr_t out, const struct ulp_format *format, uint64_t *state, unsigned i)
{
    /* MPFR's formats reach exponents whose functions would take for ever. */
    const int emin = format->emin < -1100 ? -150 : format->emin,
              emax = format->emax > 1100 ? 150 : format->emax;
    const int smallest = format->subnormals ? emin - format->precision + 1 : emin;
    scoped_mpfr exact;
    mpfr_init2(exact, ORACLE_PRECISION);
    if (i < ORACLE_SPECIALS) {
        static const double values[10] = {0, 1, 2, 0.5, 3, INFINITY, NAN};
        const unsigned kind = i / 2;
        if (kind < 7)
            mpfr_set_d(exact, values[kind], MPFR_RNDN);
        else if (kind == 7)
            mpfr_set_ui_2exp(exact, 1, smallest, MPFR_RNDN);
        else if (kind == 8)
            mpfr_set_ui_2exp(exact, 1, emin, MPFR_RNDN);
        else if (kind == 9) { /* the largest number below the smallest normal one */
            mpfr_set_ui_2exp(exact, 1, emin, MPFR_RNDN);
            mpfr_mul_d(exact, exact,
                       1 - ldexp(1, 1 - (format->precision < 53 ? format->precision : 53)),
                       MPFR_RNDN);
        } else if (kind == 10)
            mpfr_set_d(exact, isinf(format->max_finite) ? 0x1p150 : format->max_finite, MPFR_RNDN);
        else
            mpfr_set_d(exact, 1 + ldexp(1, 1 - (format->precision < 53 ? format->precision : 53)),
                       MPFR_RNDN);
        if (i & 1)
            mpfr_neg(exact, exact, MPFR_RNDN);
    } else {
        random_significand(exact, state, format->precision);
        const uint64_t where = oracle_random(state) % 9;
        int exponent = emin + (int)(oracle_random(state) % (uint64_t)(emax - emin + 1));
        if (where < 4) /* near 1, where functions are interesting */
            exponent = (int)(oracle_random(state) % 12) - 8;
        else if (where == 4) /* subnormal numbers */
            exponent = smallest + (int)(oracle_random(state) % (uint64_t)(format->precision + 1));
        mpfr_mul_2si(exact, exact, exponent, MPFR_RNDN);
        if (where == 5) { /* small integers and halves */
            mpfr_set_si(exact, (long)(oracle_random(state) % 33) - 16, MPFR_RNDN);
            mpfr_div_2ui(exact, exact, oracle_random(state) % 2, MPFR_RNDN);
        }
        if (where ==
            /* 1 and a few ulps: products, quotients and roots of such come very near to values and
             * ties */
            6) {
            mpfr_set_si_2exp(exact, (long)(oracle_random(state) % 25) - 8, 1 - format->precision,
                             MPFR_RNDN);
            mpfr_add_ui(exact, exact, 1, MPFR_RNDN);
        }
        if (oracle_random(state) % 2)
            mpfr_neg(exact, exact, MPFR_RNDN);
    }
    /* Into the format; toward zero, so that nothing becomes infinite. */
    ulp_round_mpfr(format, mpfr_inf_p(exact) ? ULP_ROUND_NEAREST_EVEN : ULP_ROUND_TOWARD_ZERO, out,
                   exact, 0, 0, 0);
}

static int set_bool(mpfr_t out, bool value)
{
    return mpfr_set_ui(out, value, MPFR_RNDZ);
}
static bool truth(const mpfr_t x)
{
    return mpfr_nan_p(x) || !mpfr_zero_p(x);
}

/* a - b floor(a / b), from the exact quotient. */
static int compute_modulo(mpfr_t out, const mpfr_t a, const mpfr_t b)
{
    if (mpfr_nan_p(a) || mpfr_nan_p(b) || mpfr_inf_p(a) || mpfr_zero_p(b)) {
        mpfr_set_nan(out);
        return 0;
    }
    if (mpfr_zero_p(a) || mpfr_inf_p(b)) {
        if (!mpfr_zero_p(a) && mpfr_signbit(a) != mpfr_signbit(b))
            return mpfr_set(out, b, MPFR_RNDZ);
        return mpfr_zero_p(a) ? mpfr_setsign(out, a, mpfr_signbit(b), MPFR_RNDZ)
                              : mpfr_set(out, a, MPFR_RNDZ);
    }
    const mpfr_exp_t span = mpfr_get_exp(a) - mpfr_get_exp(b);
    scoped_mpfr quotient;
    mpfr_init2(quotient, (span > 0 ? span : 0) + 2 * ORACLE_PRECISION);
    mpfr_div(quotient, a, b, MPFR_RNDD);
    mpfr_floor(quotient, quotient);
    mpfr_mul(quotient, quotient, b, MPFR_RNDN);
    mpfr_sub(quotient, a, quotient, MPFR_RNDN);
    const int ternary = mpfr_zero_p(quotient)
                            ? mpfr_setsign(out, quotient, mpfr_signbit(b), MPFR_RNDZ)
                            : mpfr_set(out, quotient, MPFR_RNDZ);
    return ternary;
}

/* (1 + tanh(x / 2)) / 2 for x > 0, exp(x) / (1 + exp(x)) below, by a lower bound closer than any
 * rounding here sees; the sticky last bit then stands for the rest. */
static int compute_sigmoid(mpfr_t out, const mpfr_t x)
{
    if (mpfr_nan_p(x))
        return mpfr_set(out, x, MPFR_RNDZ);
    if (mpfr_inf_p(x))
        return set_bool(out, mpfr_sgn(x) > 0);
    if (mpfr_zero_p(x))
        return mpfr_set_d(out, 0.5, MPFR_RNDZ);
    scoped_mpfr t, e;
    mpfr_inits2(mpfr_get_prec(out) + 200, t, e, (mpfr_ptr)0);
    if (mpfr_sgn(x) > 0) {
        mpfr_div_2ui(t, x, 1, MPFR_RNDN);
        mpfr_tanh(t, t, MPFR_RNDZ);
        mpfr_add_ui(t, t, 1, MPFR_RNDZ);
        mpfr_div_2ui(t, t, 1, MPFR_RNDZ);
    } else {
        mpfr_exp(e, x, MPFR_RNDZ);
        mpfr_add_ui(t, e, 1, MPFR_RNDU);
        mpfr_div(t, e, t, MPFR_RNDZ);
    }
    mpfr_set(out, t, MPFR_RNDZ);
    return 1;
}

/* max(x, 0) + log1p(exp(-|x|)), by a lower bound again: both functions and the sum are rounded
 * toward zero. */
static int compute_softplus(mpfr_t out, const mpfr_t x)
{
    if (mpfr_nan_p(x) || mpfr_inf_p(x))
        return mpfr_inf_p(x) && mpfr_sgn(x) < 0 ? mpfr_set_ui(out, 0, MPFR_RNDZ)
                                                : mpfr_set(out, x, MPFR_RNDZ);
    scoped_mpfr t;
    mpfr_init2(t, mpfr_get_prec(out) + 200);
    mpfr_abs(t, x, MPFR_RNDN);
    mpfr_neg(t, t, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDZ);
    mpfr_log1p(t, t, MPFR_RNDZ);
    if (mpfr_sgn(x) > 0)
        mpfr_add(t, t, x, MPFR_RNDZ);
    mpfr_set(out, t, MPFR_RNDZ);
    return 1;
}

typedef int unary_fn(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
typedef int binary_fn(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

/* MPFR's functions, which return the ternary value. */
static unary_fn *const unary[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_NEG] = mpfr_neg,        [ULP_PRIMITIVE_ABS] = mpfr_abs,
    [ULP_PRIMITIVE_SQRT] = mpfr_sqrt,      [ULP_PRIMITIVE_EXP] = mpfr_exp,
    [ULP_PRIMITIVE_EXPM1] = mpfr_expm1,    [ULP_PRIMITIVE_LOG] = mpfr_log,
    [ULP_PRIMITIVE_LOG1P] = mpfr_log1p,    [ULP_PRIMITIVE_SIN] = mpfr_sin,
    [ULP_PRIMITIVE_COS] = mpfr_cos,        [ULP_PRIMITIVE_TAN] = mpfr_tan,
    [ULP_PRIMITIVE_ASIN] = mpfr_asin,      [ULP_PRIMITIVE_ACOS] = mpfr_acos,
    [ULP_PRIMITIVE_ATAN] = mpfr_atan,      [ULP_PRIMITIVE_SINH] = mpfr_sinh,
    [ULP_PRIMITIVE_COSH] = mpfr_cosh,      [ULP_PRIMITIVE_TANH] = mpfr_tanh,
    [ULP_PRIMITIVE_ASINH] = mpfr_asinh,    [ULP_PRIMITIVE_ACOSH] = mpfr_acosh,
    [ULP_PRIMITIVE_ATANH] = mpfr_atanh,    [ULP_PRIMITIVE_ERF] = mpfr_erf,
    [ULP_PRIMITIVE_RSQRT] = mpfr_rec_sqrt,
};
static binary_fn *const binary[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_ADD] = mpfr_add, [ULP_PRIMITIVE_SUB] = mpfr_sub,
    [ULP_PRIMITIVE_MUL] = mpfr_mul, [ULP_PRIMITIVE_DIV] = mpfr_div,
    [ULP_PRIMITIVE_POW] = mpfr_pow, [ULP_PRIMITIVE_FMOD] = mpfr_fmod,
};

static int compute_sign(mpfr_t out, const mpfr_t a)
{
    return mpfr_nan_p(a) ? mpfr_set(out, a, MPFR_RNDZ) : mpfr_set_si(out, mpfr_sgn(a), MPFR_RNDZ);
}

static int compute_extremum(mpfr_t out, const mpfr_t a, const mpfr_t b, bool greater)
{
    if (mpfr_nan_p(a) || mpfr_nan_p(b))
        return mpfr_set(out, mpfr_nan_p(a) ? a : b, MPFR_RNDZ);
    if (mpfr_equal_p(a, b)) /* of two zeros the negative one is smaller */
        return mpfr_set(out, (mpfr_signbit(a) != 0) == greater ? b : a, MPFR_RNDZ);
    return mpfr_set(out, mpfr_greater_p(a, b) == greater ? a : b, MPFR_RNDZ);
}

/* 0 when exact. */
static int compute(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                   const mpfr_t c)
{
    if (unary[primitive])
        return unary[primitive](out, a, MPFR_RNDZ);
    if (binary[primitive])
        return binary[primitive](out, a, b, MPFR_RNDZ);
    switch (primitive) {
    case ULP_PRIMITIVE_COPY: return mpfr_set(out, a, MPFR_RNDZ);
    case ULP_PRIMITIVE_SIGN: return compute_sign(out, a);
    case ULP_PRIMITIVE_FLOOR: mpfr_floor(out, a); return 0;
    case ULP_PRIMITIVE_CEIL: mpfr_ceil(out, a); return 0;
    case ULP_PRIMITIVE_TRUNC: mpfr_trunc(out, a); return 0;
    case ULP_PRIMITIVE_ROUND: mpfr_roundeven(out, a); return 0;
    case ULP_PRIMITIVE_IS_NAN: return set_bool(out, mpfr_nan_p(a));
    case ULP_PRIMITIVE_IS_INF: return set_bool(out, mpfr_inf_p(a));
    case ULP_PRIMITIVE_NOT: return set_bool(out, !truth(a));
    case ULP_PRIMITIVE_SIGMOID: return compute_sigmoid(out, a);
    case ULP_PRIMITIVE_SOFTPLUS: return compute_softplus(out, a);
    case ULP_PRIMITIVE_MIN: return compute_extremum(out, a, b, false);
    case ULP_PRIMITIVE_MAX: return compute_extremum(out, a, b, true);
    case ULP_PRIMITIVE_MOD: return compute_modulo(out, a, b);
    case ULP_PRIMITIVE_LESS: return set_bool(out, mpfr_less_p(a, b));
    case ULP_PRIMITIVE_LESS_EQUAL: return set_bool(out, mpfr_lessequal_p(a, b));
    case ULP_PRIMITIVE_EQUAL: return set_bool(out, mpfr_equal_p(a, b));
    case ULP_PRIMITIVE_AND: return set_bool(out, truth(a) && truth(b));
    case ULP_PRIMITIVE_OR: return set_bool(out, truth(a) || truth(b));
    case ULP_PRIMITIVE_XOR: return set_bool(out, truth(a) != truth(b));
    case ULP_PRIMITIVE_FMA: return mpfr_fma(out, a, b, c, MPFR_RNDZ);
    case ULP_PRIMITIVE_SELECT: return mpfr_set(out, truth(a) ? b : c, MPFR_RNDZ);
    default: ck_abort_msg("the oracle lacks %s", ulp_primitive_rows[primitive].name);
    }
    return 0;
}

int oracle_precision(enum ulp_primitive primitive)
{
    const bool function = ulp_primitive_rows[primitive].result == ULP_RESULT_FUNCTION ||
                          primitive == ULP_PRIMITIVE_SQRT || primitive == ULP_PRIMITIVE_DIV;
    return function ? ORACLE_FUNCTION_PRECISION : ORACLE_PRECISION;
}

void oracle_compute(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                    const mpfr_t c)
{
    /* In MPFR's whole range of exponents, so that a result below the range strips compute in is
     * told from its smallest number. */
    const mpfr_exp_t emin = mpfr_get_emin();
    mpfr_set_emin(mpfr_get_emin_min());
    make_odd(out, compute(primitive, out, a, b, c));
    mpfr_set_emin(emin);
}

void oracle_round(const struct ulp_strip_rule *rule, mpfr_t out, const mpfr_t x, uint64_t stream,
                  uint64_t index)
{
    struct ulp_format native = rule->format;
    if (!rule->each_step && rule->carrier == ULP_STRIP_MPFR) {
        mpfr_check_range(out, mpfr_set(out, x, MPFR_RNDN), MPFR_RNDN);
        return;
    }
    if (!rule->each_step)
        ulp_format_find(rule->carrier == ULP_STRIP_FLOAT ? "fp32" : "fp64", &native, NULL);
    ulp_round_mpfr(&native, rule->each_step ? rule->rounding : ULP_ROUND_NEAREST_EVEN, out, x,
                   rule->seed, stream, index);
}

bool oracle_same(const mpfr_t a, const mpfr_t b)
{
    if (mpfr_nan_p(a) || mpfr_nan_p(b))
        return mpfr_nan_p(a) && mpfr_nan_p(b);
    return mpfr_equal_p(a, b) && (!mpfr_zero_p(a) || !mpfr_signbit(a) == !mpfr_signbit(b));
}

void strip_put(const struct ulp_strip_rule *rule, void *strip, size_t i, const mpfr_t x)
{
    if (rule->carrier == ULP_STRIP_FLOAT) {
        ((float *)strip)[i] = mpfr_get_flt(x, MPFR_RNDN);
    } else if (rule->carrier == ULP_STRIP_DOUBLE) {
        ((double *)strip)[i] = mpfr_get_d(x, MPFR_RNDN);
    } else {
        mpfr_t y;
        struct ulp_record *record = ulp_record_at(strip, i, rule->precision);
        ulp_record_begin(y, record, rule->precision);
        mpfr_set(y, x, MPFR_RNDN);
        ulp_record_close(record, y);
    }
}

void strip_get(const struct ulp_strip_rule *rule, const void *strip, size_t i, mpfr_t x)
{
    if (rule->carrier == ULP_STRIP_FLOAT) {
        mpfr_set_flt(x, ((const float *)strip)[i], MPFR_RNDN);
    } else if (rule->carrier == ULP_STRIP_DOUBLE) {
        mpfr_set_d(x, ((const double *)strip)[i], MPFR_RNDN);
    } else {
        mpfr_t y;
        ulp_record_open_const(y, ulp_record_at_const(strip, i, rule->precision), rule->precision);
        mpfr_set(x, y, MPFR_RNDN);
    }
}

struct ulp_strip_rule oracle_rule(const char *arithmetic)
{
    const struct ulp_arithmetic found = test_arithmetic(arithmetic);
    return ulp_strip_rule_make(&found, &found.compute);
}
