#include "interval.h"

#include "tests/support/test.h"

void interval_init(struct interval *x)
{
    mpfr_inits2(INTERVAL_PRECISION, x->lo, x->hi, (mpfr_ptr)0);
    x->number = false;
    x->nan = true;
}
void interval_clear(struct interval *x)
{
    mpfr_clears(x->lo, x->hi, (mpfr_ptr)0);
}

void interval_set(struct interval *out, const mpfr_t x)
{
    out->nan = mpfr_nan_p(x);
    out->number = !out->nan;
    mpfr_set(out->lo, x, MPFR_RNDD);
    mpfr_set(out->hi, x, MPFR_RNDU);
}

void interval_copy(struct interval *out, const struct interval *x)
{
    mpfr_set(out->lo, x->lo, MPFR_RNDD);
    mpfr_set(out->hi, x->hi, MPFR_RNDU);
    out->number = x->number;
    out->nan = x->nan;
}

static bool is_point(const struct interval *x)
{
    return x->number && mpfr_equal_p(x->lo, x->hi);
}
static bool is_zero(const struct interval *x)
{
    return x->number && mpfr_zero_p(x->lo) && mpfr_zero_p(x->hi);
}
static bool has_zero(const struct interval *x)
{
    return x->number && mpfr_sgn(x->lo) <= 0 && mpfr_sgn(x->hi) >= 0;
}
static void set_all(struct interval *out)
{
    mpfr_set_inf(out->lo, -1);
    mpfr_set_inf(out->hi, 1);
    out->number = true;
}
static void set_truth(struct interval *out, bool can_be_false, bool can_be_true)
{
    mpfr_set_ui(out->lo, !can_be_false, MPFR_RNDD);
    mpfr_set_ui(out->hi, can_be_true, MPFR_RNDU);
    out->number = true;
    out->nan = false;
}
static void set_hull(struct interval *out, const struct interval *a, const struct interval *b)
{
    out->nan = a->nan || b->nan;
    out->number = a->number || b->number;
    const struct interval *first = a->number ? a : b, *second = b->number ? b : a;
    mpfr_min(out->lo, first->lo, second->lo, MPFR_RNDD);
    mpfr_max(out->hi, first->hi, second->hi, MPFR_RNDU);
}

/* ---- functions of one number ---- */

typedef int function(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding);

static int negate(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_neg(out, x, rounding);
}
static int copy(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_set(out, x, rounding);
}
static int sign(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_set_si(out, mpfr_sgn(x), rounding);
}
static int floor_of(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    (void)rounding;
    return mpfr_floor(out, x);
}
static int ceil_of(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    (void)rounding;
    return mpfr_ceil(out, x);
}
static int truncate_of(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    (void)rounding;
    return mpfr_trunc(out, x);
}
static int even_of(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    (void)rounding;
    return mpfr_roundeven(out, x);
}
static mpfr_rnd_t other(mpfr_rnd_t rounding)
{
    return rounding == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD;
}
/* 1 / (1 + exp(-x)): every step in the direction that moves the result the wanted way. */
static int sigmoid(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    mpfr_neg(out, x, rounding);
    mpfr_exp(out, out, other(rounding));
    mpfr_add_ui(out, out, 1, other(rounding));
    return mpfr_ui_div(out, 1, out, rounding);
}
static int softplus(mpfr_t out, const mpfr_t x, mpfr_rnd_t rounding)
{
    mpfr_exp(out, x, rounding);
    return mpfr_log1p(out, out, rounding);
}

/* Monotone functions, falling or rising, with their domains. */
static const struct monotone {
    function *run;
    bool falls, has_low, has_high;
    int low, high;
} monotones[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_COPY] = {.run = copy},
    [ULP_PRIMITIVE_NEG] = {.run = negate, .falls = true},
    [ULP_PRIMITIVE_SIGN] = {.run = sign},
    [ULP_PRIMITIVE_FLOOR] = {.run = floor_of},
    [ULP_PRIMITIVE_CEIL] = {.run = ceil_of},
    [ULP_PRIMITIVE_TRUNC] = {.run = truncate_of},
    [ULP_PRIMITIVE_ROUND] = {.run = even_of},
    [ULP_PRIMITIVE_SQRT] = {.run = mpfr_sqrt, .has_low = true, .low = 0},
    [ULP_PRIMITIVE_RSQRT] = {.run = mpfr_rec_sqrt, .falls = true, .has_low = true, .low = 0},
    [ULP_PRIMITIVE_EXP] = {.run = mpfr_exp},
    [ULP_PRIMITIVE_EXPM1] = {.run = mpfr_expm1},
    [ULP_PRIMITIVE_LOG] = {.run = mpfr_log, .has_low = true, .low = 0},
    [ULP_PRIMITIVE_LOG1P] = {.run = mpfr_log1p, .has_low = true, .low = -1},
    [ULP_PRIMITIVE_ASIN] =
        {.run = mpfr_asin, .has_low = true, .has_high = true, .low = -1, .high = 1},
    [ULP_PRIMITIVE_ACOS] =
        {.run = mpfr_acos, .falls = true, .has_low = true, .has_high = true, .low = -1, .high = 1},
    [ULP_PRIMITIVE_ATAN] = {.run = mpfr_atan},
    [ULP_PRIMITIVE_SINH] = {.run = mpfr_sinh},
    [ULP_PRIMITIVE_TANH] = {.run = mpfr_tanh},
    [ULP_PRIMITIVE_ASINH] = {.run = mpfr_asinh},
    [ULP_PRIMITIVE_ACOSH] = {.run = mpfr_acosh, .has_low = true, .low = 1},
    [ULP_PRIMITIVE_ATANH] =
        {.run = mpfr_atanh, .has_low = true, .has_high = true, .low = -1, .high = 1},
    [ULP_PRIMITIVE_ERF] = {.run = mpfr_erf},
    [ULP_PRIMITIVE_SIGMOID] = {.run = sigmoid},
    [ULP_PRIMITIVE_SOFTPLUS] = {.run = softplus},
};

static void compute_monotone(const struct monotone *f, struct interval *out,
                             const struct interval *a)
{
    struct interval x;
    interval_init(&x);
    interval_copy(&x, a);
    if (f->has_low && x.number && mpfr_cmp_si(x.lo, f->low) < 0) {
        x.nan = true;
        mpfr_set_si(x.lo, f->low, MPFR_RNDN);
        x.number = mpfr_cmp_si(x.hi, f->low) >= 0;
    }
    if (f->has_high && x.number && mpfr_cmp_si(x.hi, f->high) > 0) {
        x.nan = true;
        mpfr_set_si(x.hi, f->high, MPFR_RNDN);
        x.number = mpfr_cmp_si(x.lo, f->high) <= 0;
    }
    out->number = x.number;
    out->nan = x.nan;
    f->run(out->lo, f->falls ? x.hi : x.lo, MPFR_RNDD);
    f->run(out->hi, f->falls ? x.lo : x.hi, MPFR_RNDU);
    interval_clear(&x);
}

static void compute_abs(struct interval *out, const struct interval *a)
{
    interval_copy(out, a);
    if (mpfr_sgn(a->hi) <= 0) {
        mpfr_neg(out->lo, a->hi, MPFR_RNDD);
        mpfr_neg(out->hi, a->lo, MPFR_RNDU);
    } else if (mpfr_sgn(a->lo) < 0) {
        mpfr_neg(out->hi, a->lo, MPFR_RNDU);
        mpfr_max(out->hi, out->hi, a->hi, MPFR_RNDU);
        mpfr_set_zero(out->lo, 1);
    }
}

/* cosh rises on |x|. */
static void compute_cosh(struct interval *out, const struct interval *a)
{
    struct interval x;
    interval_init(&x);
    compute_abs(&x, a);
    interval_copy(out, &x);
    mpfr_cosh(out->lo, x.lo, MPFR_RNDD);
    mpfr_cosh(out->hi, x.hi, MPFR_RNDU);
    interval_clear(&x);
}

/* |f(x) - f(lo)| <= x - lo for sine and cosine. */
static void compute_wave(function *f, struct interval *out, const struct interval *a)
{
    interval_copy(out, a);
    if (!a->number)
        return;
    if (mpfr_inf_p(a->lo) || mpfr_inf_p(a->hi)) {
        out->nan = true;
        out->number = !is_point(a);
        mpfr_set_si(out->lo, -1, MPFR_RNDD);
        mpfr_set_si(out->hi, 1, MPFR_RNDU);
        return;
    }
    scoped_mpfr width;
    mpfr_init2(width, INTERVAL_PRECISION);
    mpfr_sub(width, a->hi, a->lo, MPFR_RNDU);
    f(out->lo, a->lo, MPFR_RNDD);
    f(out->hi, a->lo, MPFR_RNDU);
    mpfr_sub(out->lo, out->lo, width, MPFR_RNDD);
    mpfr_add(out->hi, out->hi, width, MPFR_RNDU);
    if (mpfr_cmp_si(out->lo, -1) < 0)
        mpfr_set_si(out->lo, -1, MPFR_RNDD);
    if (mpfr_cmp_si(out->hi, 1) > 0)
        mpfr_set_si(out->hi, 1, MPFR_RNDU);
}

/* Rising as long as no pole, an odd multiple of pi / 2, lies between: the cosine keeps its sign and
 * the interval is short. */
static void compute_tan(struct interval *out, const struct interval *a)
{
    interval_copy(out, a);
    if (!a->number)
        return;
    scoped_mpfr low, high;
    mpfr_inits2(INTERVAL_PRECISION, low, high, (mpfr_ptr)0);
    mpfr_sub(high, a->hi, a->lo, MPFR_RNDU);
    bool brief = mpfr_cmp_si(high, 3) < 0;
    mpfr_cos(low, a->lo, MPFR_RNDN);
    mpfr_cos(high, a->hi, MPFR_RNDN);
    if (mpfr_inf_p(a->lo) || mpfr_inf_p(a->hi)) {
        set_all(out);
        out->nan = true;
    } else if (!brief || mpfr_sgn(low) != mpfr_sgn(high)) {
        set_all(out);
    } else {
        mpfr_tan(out->lo, a->lo, MPFR_RNDD);
        mpfr_tan(out->hi, a->hi, MPFR_RNDU);
    }
}

/* ---- functions of two ---- */

typedef int function2(mpfr_t out, const mpfr_t x, const mpfr_t y, mpfr_rnd_t rounding);

/* Smallest and largest of f at the four corners: exact for f monotone in each operand. A corner
 * that is NaN (inf - inf, 0 * inf) makes NaN and everything possible, unless the operands are
 * points. */
static void compute_corners(function2 *f, struct interval *out, const struct interval *a,
                            const struct interval *b)
{
    scoped_mpfr value;
    mpfr_init2(value, INTERVAL_PRECISION);
    out->nan = a->nan || b->nan;
    out->number = a->number && b->number;
    bool invalid = false;
    for (int corner = 0; out->number && corner < 4; corner++) {
        const mpfr_srcptr x = corner & 1 ? a->hi : a->lo, y = corner & 2 ? b->hi : b->lo;
        f(value, x, y, MPFR_RNDD);
        invalid = invalid || mpfr_nan_p(value);
        if (corner == 0 || mpfr_less_p(value, out->lo))
            mpfr_set(out->lo, value, MPFR_RNDD);
        f(value, x, y, MPFR_RNDU);
        if (corner == 0 || mpfr_greater_p(value, out->hi))
            mpfr_set(out->hi, value, MPFR_RNDU);
    }
    if (invalid) {
        out->nan = true;
        out->number = !is_point(a) || !is_point(b);
        mpfr_set_inf(out->lo, -1);
        mpfr_set_inf(out->hi, 1);
    }
}

static void compute_divide(struct interval *out, const struct interval *a, const struct interval *b)
{
    if (!a->number || !b->number || !has_zero(b)) {
        compute_corners(mpfr_div, out, a, b);
        return;
    }
    set_all(out); /* the sign of a zero is not kept: every quotient, and 0 / 0 */
    out->nan = a->nan || b->nan || has_zero(a);
    out->number = !(is_zero(a) && is_zero(b));
}

/* x^y is monotone in each operand for x > 0; for other x only points are computed. */
static void compute_power(struct interval *out, const struct interval *a, const struct interval *b)
{
    bool positive = a->number && mpfr_sgn(a->lo) > 0;
    bool whole = is_point(b) && mpfr_integer_p(b->lo) && mpfr_sgn(b->lo) > 0;
    if (!a->number || !b->number) { /* x^0 and 1^y are 1 for NaN, too */
        set_all(out);
        out->nan = true;
    } else if (positive || (is_point(a) && is_point(b))) {
        compute_corners(mpfr_pow, out, a, b);
    } else if (whole) {
        compute_corners(mpfr_pow, out, a, b);
        if (has_zero(a) && mpfr_sgn(out->lo) > 0)
            mpfr_set_zero(out->lo, 1);
    } else {
        set_all(out);
        out->nan = true;
    }
}

/* The remainder of points exactly; of others only what its size says: |r| < |b|, r has the sign of
 * b (mod) or of a (fmod), |r| <= |a|. */
static void compute_remainder(bool floored, struct interval *out, const struct interval *a,
                              const struct interval *b)
{
    if (!is_point(a) || !is_point(b) || a->nan || b->nan) {
        set_all(out);
        out->nan = true;
        return;
    }
    scoped_mpfr value;
    mpfr_init2(value, INTERVAL_PRECISION);
    mpfr_fmod(value, a->lo, b->lo, MPFR_RNDN);
    if (floored && mpfr_regular_p(value) && mpfr_signbit(value) != mpfr_signbit(b->lo))
        mpfr_add(value, value, b->lo, MPFR_RNDN);
    interval_set(out, value);
}

static void compute_extreme(bool max, struct interval *out, const struct interval *a,
                            const struct interval *b)
{
    out->nan = a->nan || b->nan;
    out->number = a->number && b->number;
    (max ? mpfr_max : mpfr_min)(out->lo, a->lo, b->lo, MPFR_RNDD);
    (max ? mpfr_max : mpfr_min)(out->hi, a->hi, b->hi, MPFR_RNDU);
}

static void compute_fma(struct interval *out, const struct interval *a, const struct interval *b,
                        const struct interval *c)
{
    struct interval product; /* exact: factors have at most 128 bits, INTERVAL_PRECISION is 320 */
    interval_init(&product);
    compute_corners(mpfr_mul, &product, a, b);
    compute_corners(mpfr_add, out, &product, c);
    interval_clear(&product);
}

/* ---- truth ---- */

/* a OP b is certain when it holds for all pairs of values; NaN compares false. */
static void compute_comparison(enum ulp_primitive primitive, struct interval *out,
                               const struct interval *a, const struct interval *b)
{
    bool nan = a->nan || b->nan, can_be_false = nan, can_be_true = false;
    if (a->number && b->number) {
        int always, possible;
        if (primitive == ULP_PRIMITIVE_LESS) {
            always = mpfr_less_p(a->hi, b->lo);
            possible = mpfr_less_p(a->lo, b->hi);
        } else if (primitive == ULP_PRIMITIVE_LESS_EQUAL) {
            always = mpfr_lessequal_p(a->hi, b->lo);
            possible = mpfr_lessequal_p(a->lo, b->hi);
        } else {
            always = is_point(a) && is_point(b) && mpfr_equal_p(a->lo, b->lo);
            possible = mpfr_lessequal_p(a->lo, b->hi) && mpfr_lessequal_p(b->lo, a->hi);
        }
        can_be_false = nan || !always;
        can_be_true = possible;
    }
    set_truth(out, can_be_false, can_be_true);
}

static void compute_logic(enum ulp_primitive primitive, struct interval *out,
                          const struct interval *a, const struct interval *b)
{
    bool af = has_zero(a), at = a->nan || !is_zero(a), bf = has_zero(b), bt = b->nan || !is_zero(b);
    if (primitive == ULP_PRIMITIVE_AND)
        set_truth(out, af || bf, at && bt);
    else if (primitive == ULP_PRIMITIVE_OR)
        set_truth(out, af && bf, at || bt);
    else
        set_truth(out, (af && bf) || (at && bt), (af && bt) || (at && bf));
}

static void compute_select(struct interval *out, const struct interval *a, const struct interval *b,
                           const struct interval *c)
{
    bool can_be_true = a->nan || !is_zero(a), can_be_false = has_zero(a);
    if (can_be_true && can_be_false)
        set_hull(out, b, c);
    else
        interval_copy(out, can_be_true ? b : c);
}

void interval_compute(enum ulp_primitive primitive, struct interval *out, const struct interval *a,
                      const struct interval *b, const struct interval *c)
{
    if (monotones[primitive].run) {
        compute_monotone(&monotones[primitive], out, a);
        return;
    }
    switch (primitive) {
    case ULP_PRIMITIVE_ABS: compute_abs(out, a); break;
    case ULP_PRIMITIVE_COSH: compute_cosh(out, a); break;
    case ULP_PRIMITIVE_SIN: compute_wave(mpfr_sin, out, a); break;
    case ULP_PRIMITIVE_COS: compute_wave(mpfr_cos, out, a); break;
    case ULP_PRIMITIVE_TAN: compute_tan(out, a); break;
    case ULP_PRIMITIVE_IS_NAN: set_truth(out, a->number, a->nan); break;
    case ULP_PRIMITIVE_IS_INF: {
        bool inf = a->number && (mpfr_inf_p(a->lo) || mpfr_inf_p(a->hi));
        set_truth(out, !(inf && is_point(a) && !a->nan), inf);
        break;
    }
    case ULP_PRIMITIVE_NOT: set_truth(out, a->nan || !is_zero(a), has_zero(a)); break;
    case ULP_PRIMITIVE_ADD: compute_corners(mpfr_add, out, a, b); break;
    case ULP_PRIMITIVE_SUB: compute_corners(mpfr_sub, out, a, b); break;
    case ULP_PRIMITIVE_MUL: compute_corners(mpfr_mul, out, a, b); break;
    case ULP_PRIMITIVE_DIV: compute_divide(out, a, b); break;
    case ULP_PRIMITIVE_MIN: compute_extreme(false, out, a, b); break;
    case ULP_PRIMITIVE_MAX: compute_extreme(true, out, a, b); break;
    case ULP_PRIMITIVE_POW: compute_power(out, a, b); break;
    case ULP_PRIMITIVE_MOD: compute_remainder(true, out, a, b); break;
    case ULP_PRIMITIVE_FMOD: compute_remainder(false, out, a, b); break;
    case ULP_PRIMITIVE_LESS:
    case ULP_PRIMITIVE_LESS_EQUAL:
    case ULP_PRIMITIVE_EQUAL: compute_comparison(primitive, out, a, b); break;
    case ULP_PRIMITIVE_AND:
    case ULP_PRIMITIVE_OR:
    case ULP_PRIMITIVE_XOR: compute_logic(primitive, out, a, b); break;
    case ULP_PRIMITIVE_FMA: compute_fma(out, a, b, c); break;
    case ULP_PRIMITIVE_SELECT: compute_select(out, a, b, c); break;
    default:
        ck_abort_msg("primitive %s has no interval: add one to tests/ops/harness/interval.c",
                     ulp_primitive_rows[primitive].name);
    }
}

/* ---- rounding ---- */

/* On the grid 2^(max(e, emin) - p + 1) of the format, by an integer rounding that is exact. */
static void round_number(mpfr_t x, const struct ulp_format *format, mpfr_rnd_t rounding)
{
    if (!mpfr_regular_p(x))
        return;
    if (format->carrier == ULP_CARRIER_MPFR) {
        mpfr_prec_round(x, format->precision, rounding);
        mpfr_prec_round(x, INTERVAL_PRECISION, MPFR_RNDN);
        return;
    }
    long exponent = mpfr_get_exp(x) - 1;
    long grid = (exponent < format->emin ? format->emin : exponent) - format->precision + 1;
    mpfr_mul_2si(x, x, -grid, MPFR_RNDN);
    if (rounding == MPFR_RNDN)
        mpfr_roundeven(x, x);
    else
        (rounding == MPFR_RNDD ? mpfr_floor : mpfr_ceil)(x, x);
    mpfr_mul_2si(x, x, grid, MPFR_RNDN);
    if (mpfr_cmp_d(x, format->max_finite) > 0) {
        if (rounding == MPFR_RNDD)
            mpfr_set_d(x, format->max_finite, MPFR_RNDN);
        else
            mpfr_set_inf(x, 1);
    } else if (mpfr_cmp_d(x, -format->max_finite) < 0) {
        if (rounding == MPFR_RNDU)
            mpfr_set_d(x, -format->max_finite, MPFR_RNDN);
        else
            mpfr_set_inf(x, -1);
    }
}

void interval_round(struct interval *x, const struct ulp_format *format,
                    enum interval_rounding rounding)
{
    if (!x->number)
        return;
    round_number(x->lo, format, rounding == INTERVAL_STEP ? MPFR_RNDN : MPFR_RNDD);
    round_number(x->hi, format, rounding == INTERVAL_STEP ? MPFR_RNDN : MPFR_RNDU);
}

void interval_truncate(struct interval *x)
{
    if (x->number) {
        mpfr_trunc(x->lo, x->lo);
        mpfr_trunc(x->hi, x->hi);
    }
}

bool interval_holds(const struct interval *x, const mpfr_t value, double slack)
{
    if (mpfr_nan_p(value))
        return x->nan;
    if (!x->number)
        return false;
    if (mpfr_inf_p(value))
        return mpfr_lessequal_p(x->lo, value) && mpfr_lessequal_p(value, x->hi);
    scoped_mpfr room, low, high;
    mpfr_inits2(INTERVAL_PRECISION, room, low, high, (mpfr_ptr)0);
    mpfr_abs(room, value, MPFR_RNDU);
    mpfr_mul_d(room, room, slack, MPFR_RNDU);
    mpfr_sub(low, x->lo, room, MPFR_RNDD);
    mpfr_add(high, x->hi, room, MPFR_RNDU);
    bool holds = mpfr_lessequal_p(low, value) && mpfr_lessequal_p(value, high);
    return holds;
}
