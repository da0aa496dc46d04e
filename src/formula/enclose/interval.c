#include "formula/enclose/interval.h"
#include "number/function/math.h"

#include <math.h>

#include "base/bits.h"
#include "tensor/odd.h"

/* One operation on doubles errs by 2^-53 relatively, functions of the double strips too; four times
 * as much pays for the few steps that make an endpoint. */
#define DOUBLE_UNIT 0x1p-51
#define DOUBLE_TINY 0x1p-1070

#define PIECE ULP_STRIP

bool ulp_interval_overflows(const struct ulp_format *format, enum ulp_rounding rounding)
{
    return format->overflow == ULP_OVERFLOW_INFINITY &&
           (rounding == ULP_ROUND_NEAREST_EVEN || rounding == ULP_ROUND_NEAREST_AWAY ||
            rounding == ULP_ROUND_UP);
}

double ulp_interval_sum_error(enum ulp_rounding rounding, double steps, double unit)
{
    return rounding == ULP_ROUND_NEAREST_EVEN || rounding == ULP_ROUND_NEAREST_AWAY ||
                   rounding == ULP_ROUND_TOWARD_ZERO
               ? steps * unit
               : ulp_math_expm1(ulp_math_min(steps * unit, 700)) * (1 + 0x1p-40);
}

struct ulp_interval_rule ulp_interval_rule_make(const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_format *compute = &arithmetic->compute, *sum = &arithmetic->rows;
    const double unit = ldexp(1, 1 - compute->precision);
    return (struct ulp_interval_rule){
        .unit = unit,
        .functions = arithmetic->cuda_functions ? 4 * unit : unit,
        .sum_unit = ulp_math_max(unit, ldexp(1, 1 - sum->precision)),
        .tiny = ulp_math_max(ldexp(1, compute->emin), ldexp(1, sum->emin)),
        .largest = ulp_math_min(ulp_math_min(compute->max_finite, sum->max_finite), 0x1p1000),
        .infinity = compute->overflow == ULP_OVERFLOW_INFINITY ? INFINITY
                    : compute->overflow == ULP_OVERFLOW_NAN    ? NAN
                                                               : compute->max_finite,
        .rounding = arithmetic->rounding,
        .infinite = ulp_interval_overflows(compute, arithmetic->rounding) &&
                    ulp_interval_overflows(sum, arithmetic->rounding)};
}

void ulp_interval_set_point(const struct ulp_intervals *x, size_t i, double value)
{
    if (isfinite(value))
        ulp_interval_set(x, i, value, value, 0);
    else
        ulp_interval_set(x, i, INFINITY, -INFINITY,
                         isnan(value) ? ULP_MAY_BE_ANYTHING
                         : value > 0  ? ULP_MAY_BE_HIGH
                                      : ULP_MAY_BE_LOW);
}

void ulp_interval_set_element(const struct ulp_intervals *x, size_t i,
                              const struct ulp_tensor *tensor, size_t element)
{
    const bool has_more = tensor->element == ULP_ELEMENT_WIDE ||
                          tensor->element == ULP_ELEMENT_I64 || tensor->element == ULP_ELEMENT_U64;
    double value;
    if (has_more)
        ulp_odd_read(tensor, element, 1, &value);
    else
        value = ulp_tensor_get(tensor, element);
    /* where bits were cut the last one is set */
    if (has_more && isfinite(value) && ulp_double_bits(value) & 1)
        ulp_interval_set(x, i, nextafter(value, -INFINITY), nextafter(value, INFINITY), 0);
    else
        ulp_interval_set_point(x, i, value);
}

double ulp_interval_magnitude(const struct ulp_intervals *x, size_t i)
{
    if (x->may[i] & ULP_MAY_BE_ANYTHING)
        return INFINITY;
    return x->lo[i] > x->hi[i] ? 0 : ulp_math_max(fabs(x->lo[i]), fabs(x->hi[i]));
}

static void set_anything(const struct ulp_intervals *x, size_t i)
{
    ulp_interval_set(x, i, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
}

void ulp_interval_set_step(const struct ulp_interval_rule *rule, const struct ulp_intervals *x,
                           size_t i, double lo, double hi, uint8_t may, double unit,
                           double *largest)
{
    if (lo > hi) {
        ulp_interval_set(x, i, lo, hi, may);
        return;
    }
    const double error = unit + DOUBLE_UNIT, tiny = unit > 0 ? rule->tiny : DOUBLE_TINY;
    double low = lo - fabs(lo) * error - tiny, high = hi + fabs(hi) * error + tiny;
    /* rounding never crosses zero */
    low = lo >= 0 && low < 0 ? 0 : low;
    high = hi <= 0 && high > 0 ? 0 : high;
    const double most = ulp_math_max(fabs(low), fabs(high));
    *largest = isnan(most) ? INFINITY : ulp_math_max(*largest, most);
    if (most <= rule->largest)
        ulp_interval_set(x, i, low, high, may);
    else
        set_anything(x, i);
}

static bool has_numbers(const struct ulp_intervals *x, size_t i)
{
    return x->lo[i] <= x->hi[i];
}

/* ---- monotone functions ---- */

/* Domain and range, ends included; infinite: none. */
static const struct monotone {
    bool is, falls;
    double from, to, least, most;
} monotones[ULP_PRIMITIVE_COUNT] = {
#define EVERYWHERE -INFINITY, INFINITY
    [ULP_PRIMITIVE_SIGN] = {true, false, EVERYWHERE, -1, 1},
    [ULP_PRIMITIVE_FLOOR] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_CEIL] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_TRUNC] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_ROUND] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_SQRT] = {true, false, 0, INFINITY, 0, INFINITY},
    [ULP_PRIMITIVE_RSQRT] = {true, true, 0x1p-1022, INFINITY, 0, INFINITY},
    [ULP_PRIMITIVE_EXP] = {true, false, EVERYWHERE, 0, INFINITY},
    [ULP_PRIMITIVE_EXPM1] = {true, false, EVERYWHERE, -1, INFINITY},
    [ULP_PRIMITIVE_LOG] = {true, false, 0x1p-1022, INFINITY, EVERYWHERE},
    [ULP_PRIMITIVE_LOG1P] = {true, false, -1 + 0x1p-52, INFINITY, EVERYWHERE},
    [ULP_PRIMITIVE_ASIN] = {true, false, -1, 1, EVERYWHERE},
    [ULP_PRIMITIVE_ACOS] = {true, true, -1, 1, 0, INFINITY},
    [ULP_PRIMITIVE_ATAN] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_SINH] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_TANH] = {true, false, EVERYWHERE, -1, 1},
    [ULP_PRIMITIVE_ASINH] = {true, false, EVERYWHERE, EVERYWHERE},
    [ULP_PRIMITIVE_ACOSH] = {true, false, 1, INFINITY, 0, INFINITY},
    [ULP_PRIMITIVE_ATANH] = {true, false, -1 + 0x1p-52, 1 - 0x1p-52, EVERYWHERE},
    [ULP_PRIMITIVE_ERF] = {true, false, EVERYWHERE, -1, 1},
    [ULP_PRIMITIVE_SIGMOID] = {true, false, EVERYWHERE, 0, 1},
    [ULP_PRIMITIVE_SOFTPLUS] = {true, false, EVERYWHERE, 0, INFINITY},
#undef EVERYWHERE
};

/* f of the endpoints in FP64, correctly rounded by the double strips. */
static void evaluate(enum ulp_primitive primitive, double *out, const double *x, size_t n)
{
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_DOUBLE,
                                               .precision = 53,
                                               .rounding = ULP_ROUND_NEAREST_EVEN};
    ulp_strip_tables[ULP_STRIP_DOUBLE]->primitive[primitive](&rule, out, x, NULL, NULL, n,
                                                             (struct ulp_strip_place){0});
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Ends of the operand, in the function's range; where it is no number: 1. */
static void take_ends(const struct monotone *f, const struct ulp_intervals *a, const double *ends,
                      size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = has_numbers(a, i) ? clamp(ends[i], f->from, f->to) : 1;
}

static void compute_monotone(const struct ulp_interval_rule *rule, enum ulp_primitive primitive,
                             size_t n, const struct ulp_intervals *out,
                             const struct ulp_intervals *a, double *largest)
{
    const struct monotone *f = &monotones[primitive];
    const int kind = ulp_primitive_rows[primitive].result;
    const double unit = kind == ULP_RESULT_FUNCTION  ? rule->functions
                        : kind == ULP_RESULT_ROUNDED ? rule->unit
                                                     : 0;
    double x[PIECE], low[PIECE], high[PIECE];
    take_ends(f, a, f->falls ? a->hi : a->lo, n, x);
    evaluate(primitive, low, x, n);
    take_ends(f, a, f->falls ? a->lo : a->hi, n, x);
    evaluate(primitive, high, x, n);
    for (size_t i = 0; i < n; i++) {
        double lo = low[i], hi = high[i];
        uint8_t may = 0;
        if ((a->may[i] & ULP_MAY_BE_ANYTHING) ||
            (has_numbers(a, i) && (a->lo[i] < f->from || a->hi[i] > f->to))) {
            set_anything(out, i);
            continue;
        }
        /* what underflows here is not 0 where a rounding goes up */
        if (kind == ULP_RESULT_FUNCTION && f->least == 0 && hi == 0)
            hi = 0x1p-1074;
        if (!has_numbers(a, i))
            lo = INFINITY, hi = -INFINITY;
        /* at the infinities of the domain: the range's end, when it has one */
        if (a->may[i] & ULP_MAY_BE_LOW) {
            if (isfinite(f->least) && isinf(f->from))
                lo = f->least, hi = ulp_math_max(hi, f->least);
            else
                may = ULP_MAY_BE_ANYTHING;
        }
        if (a->may[i] & ULP_MAY_BE_HIGH) {
            if (isfinite(f->most) && isinf(f->to))
                hi = f->most, lo = ulp_math_min(lo, f->most);
            else
                may = ULP_MAY_BE_ANYTHING;
        }
        if (may || (f->falls && a->may[i])) {
            set_anything(out, i);
            continue;
        }
        ulp_interval_set_step(rule, out, i, lo, hi, 0, unit, largest);
        if (has_numbers(out, i) && !out->may[i]) {
            out->lo[i] = clamp(out->lo[i], f->least, f->most);
            out->hi[i] = clamp(out->hi[i], f->least, f->most);
        }
    }
}

/* ---- the others, one at a time ---- */

struct set {
    double lo, hi;
    uint8_t may;
};

static struct set anything(void)
{
    return (struct set){INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING};
}
static bool is_empty(struct set x)
{
    return x.lo > x.hi;
}
static struct set hull(struct set a, struct set b)
{
    return (struct set){ulp_math_min(a.lo, b.lo), ulp_math_max(a.hi, b.hi), a.may | b.may};
}
static uint8_t swapped(uint8_t may)
{
    return (uint8_t)((may & ULP_MAY_BE_LOW ? ULP_MAY_BE_HIGH : 0) |
                     (may & ULP_MAY_BE_HIGH ? ULP_MAY_BE_LOW : 0) | (may & ULP_MAY_BE_ANYTHING));
}
static struct set negated(struct set a)
{
    return (struct set){-a.hi, -a.lo, swapped(a.may)};
}

static struct set add_intervals(struct set a, struct set b)
{
    if ((a.may & ULP_MAY_BE_LOW && b.may & ULP_MAY_BE_HIGH) ||
        (a.may & ULP_MAY_BE_HIGH && b.may & ULP_MAY_BE_LOW))
        return anything();
    if (is_empty(a) || is_empty(b))
        return (struct set){INFINITY, -INFINITY, a.may | b.may};
    return (struct set){a.lo + b.lo, a.hi + b.hi, a.may | b.may};
}

/* 0 where a factor is: what underflows in double is not 0 where a rounding goes away from it. */
static double times(double a, double b)
{
    const double product = a * b;
    return product == 0 && a != 0 && b != 0 ? copysign(0x1p-1074, product) : product;
}

/* Infinities times a number that has a sign keep or change theirs. */
static struct set multiply_intervals(struct set a, struct set b)
{
    if (a.may && !b.may && !is_empty(b) && (b.lo > 0 || b.hi < 0)) {
        struct set finite = a;
        finite.may = 0;
        finite = is_empty(a) ? a : multiply_intervals(finite, b);
        finite.may = b.lo > 0 ? a.may : swapped(a.may);
        return finite;
    }
    if (!a.may && b.may && !is_empty(a) && (a.lo > 0 || a.hi < 0))
        return multiply_intervals(b, a);
    if (a.may || b.may)
        return anything();
    const double p = times(a.lo, b.lo), q = times(a.lo, b.hi), r = times(a.hi, b.lo),
                 s = times(a.hi, b.hi);
    return (struct set){ulp_math_min(ulp_math_min(p, q), ulp_math_min(r, s)),
                        ulp_math_max(ulp_math_max(p, q), ulp_math_max(r, s)), 0};
}

static struct set divide_intervals(struct set a, struct set b)
{
    if (b.may || is_empty(b) || (b.lo <= 0 && b.hi >= 0))
        return anything();
    /* 1 / b errs by half an ulp more, which DOUBLE_UNIT pays for */
    return multiply_intervals(a, (struct set){1 / b.hi, 1 / b.lo, 0});
}

static struct set largest_of(struct set a, struct set b)
{
    struct set out = {INFINITY, -INFINITY, (uint8_t)((a.may | b.may) & ULP_MAY_BE_HIGH)};
    if (a.may & b.may & ULP_MAY_BE_LOW)
        out.may |= ULP_MAY_BE_LOW;
    if (!is_empty(a) && !is_empty(b))
        out = hull(out, (struct set){ulp_math_max(a.lo, b.lo), ulp_math_max(a.hi, b.hi), 0});
    if (!is_empty(a) && b.may & ULP_MAY_BE_LOW)
        out = hull(out, (struct set){a.lo, a.hi, 0});
    if (!is_empty(b) && a.may & ULP_MAY_BE_LOW)
        out = hull(out, (struct set){b.lo, b.hi, 0});
    return out;
}

static struct set magnitude_of(struct set a)
{
    const uint8_t may = a.may ? ULP_MAY_BE_HIGH : 0;
    if (is_empty(a))
        return (struct set){a.lo, a.hi, may};
    const double least = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0;
    return (struct set){least, ulp_math_max(fabs(a.lo), fabs(a.hi)), may};
}

/* pow(a, b) for one exponent, or a positive base. */
static struct set power(struct set a, struct set b)
{
    if (a.may || b.may || is_empty(a) || is_empty(b))
        return anything();
    if (b.lo == b.hi && b.lo == floor(b.lo) && b.lo >= 0 && b.lo <= 64) {
        const bool even = fmod(b.lo, 2) == 0;
        const struct set base = even ? magnitude_of(a) : a;
        struct set out = {1, 1, 0};
        const double x = base.lo, y = base.hi;
        for (int i = 0; i < (int)b.lo; i++)
            out = (struct set){times(out.lo, x), times(out.hi, y), 0};
        return out;
    }
    if (a.lo == 0 && a.hi == 0 && b.lo > 0)
        return (struct set){0, 0, 0};
    if (a.lo < 0 || (a.lo == 0 && b.lo <= 0))
        return anything();
    double x[4] = {a.lo, a.lo, a.hi, a.hi}, y[4] = {b.lo, b.hi, b.lo, b.hi}, z[4];
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_DOUBLE,
                                               .precision = 53,
                                               .rounding = ULP_ROUND_NEAREST_EVEN};
    ulp_strip_tables[ULP_STRIP_DOUBLE]->primitive[ULP_PRIMITIVE_POW](&rule, z, x, y, NULL, 4,
                                                                     (struct ulp_strip_place){0});
    const double most = ulp_math_max(ulp_math_max(z[0], z[1]), ulp_math_max(z[2], z[3]));
    return (struct set){ulp_math_min(ulp_math_min(z[0], z[1]), ulp_math_min(z[2], z[3])),
                        most == 0 && a.hi > 0 ? 0x1p-1074 : most, 0};
}

/* The remainder is smaller than the divisor; with the dividend's sign no larger than it. */
static struct set remainder_of(struct set a, struct set b, bool floored)
{
    if (a.may || b.may || is_empty(a) || is_empty(b) || (b.lo <= 0 && b.hi >= 0))
        return anything();
    const double most = ulp_math_max(fabs(b.lo), fabs(b.hi));
    if (floored)
        return b.lo > 0 ? (struct set){0, most, 0} : (struct set){-most, 0, 0};
    return (struct set){a.lo < 0 ? -ulp_math_min(most, -a.lo) : 0,
                        a.hi > 0 ? ulp_math_min(most, a.hi) : 0, 0};
}

/* A truth value, known when the intervals do not meet. */
static struct set compare_intervals(enum ulp_primitive primitive, struct set a, struct set b)
{
    const bool numbers = !a.may && !b.may && !is_empty(a) && !is_empty(b);
    bool always = false, never = false;
    if (numbers && primitive == ULP_PRIMITIVE_LESS)
        always = a.hi < b.lo, never = a.lo >= b.hi;
    else if (numbers && primitive == ULP_PRIMITIVE_LESS_EQUAL)
        always = a.hi <= b.lo, never = a.lo > b.hi;
    else if (numbers && primitive == ULP_PRIMITIVE_EQUAL)
        always = a.lo == b.hi && a.hi == b.lo, never = a.hi < b.lo || b.hi < a.lo;
    return (struct set){always, !never, 0};
}

/* AND, OR, XOR, NOT of 0 and 1. */
static struct set combine_truth(enum ulp_primitive primitive, struct set a, struct set b)
{
    const bool a0 = a.may || a.lo <= 0, a1 = a.may || a.hi != 0 || a.lo != 0,
               b0 = b.may || b.lo <= 0, b1 = b.may || b.hi != 0 || b.lo != 0;
    bool can[2] = {false, false};
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++)
            if ((x ? a1 : a0) && (y ? b1 : b0))
                can[primitive == ULP_PRIMITIVE_AND  ? x && y
                    : primitive == ULP_PRIMITIVE_OR ? x || y
                                                    : x != y] = true;
    return (struct set){can[0] ? 0 : 1, can[1] ? 1 : 0, 0};
}

static struct set choose_interval(struct set condition, struct set a, struct set b)
{
    const bool number = !condition.may && !is_empty(condition);
    if (number && condition.lo == 0 && condition.hi == 0)
        return b;
    if (number && (condition.lo > 0 || condition.hi < 0))
        return a;
    return hull(a, b);
}

static struct set compute_one(enum ulp_primitive primitive, struct set a, struct set b,
                              struct set c)
{
    switch (primitive) {
    case ULP_PRIMITIVE_LESS:
    case ULP_PRIMITIVE_LESS_EQUAL:
    case ULP_PRIMITIVE_EQUAL: return compare_intervals(primitive, a, b);
    case ULP_PRIMITIVE_AND:
    case ULP_PRIMITIVE_OR:
    case ULP_PRIMITIVE_XOR: return combine_truth(primitive, a, b);
    case ULP_PRIMITIVE_NOT: {
        const struct set all = {1, 1, 0};
        return combine_truth(ULP_PRIMITIVE_XOR, a, all);
    }
    case ULP_PRIMITIVE_IS_NAN: return (struct set){0, a.may & ULP_MAY_BE_ANYTHING ? 1 : 0, 0};
    case ULP_PRIMITIVE_IS_INF:
        return (struct set){!a.may || !is_empty(a) || a.may & ULP_MAY_BE_ANYTHING ? 0 : 1,
                            a.may ? 1 : 0, 0};
    case ULP_PRIMITIVE_SELECT: return choose_interval(a, b, c);
    default: break;
    }
    if ((a.may | b.may | c.may) & ULP_MAY_BE_ANYTHING)
        return anything();
    switch (primitive) {
    case ULP_PRIMITIVE_COPY: return a;
    case ULP_PRIMITIVE_NEG: return negated(a);
    case ULP_PRIMITIVE_ABS: return magnitude_of(a);
    case ULP_PRIMITIVE_ADD: return add_intervals(a, b);
    case ULP_PRIMITIVE_SUB: return add_intervals(a, negated(b));
    case ULP_PRIMITIVE_MUL: return multiply_intervals(a, b);
    case ULP_PRIMITIVE_DIV: return divide_intervals(a, b);
    case ULP_PRIMITIVE_FMA: return add_intervals(multiply_intervals(a, b), c);
    case ULP_PRIMITIVE_MAX: return largest_of(a, b);
    case ULP_PRIMITIVE_MIN: return negated(largest_of(negated(a), negated(b)));
    case ULP_PRIMITIVE_POW: return power(a, b);
    case ULP_PRIMITIVE_MOD: return remainder_of(a, b, true);
    case ULP_PRIMITIVE_FMOD: return remainder_of(a, b, false);
    case ULP_PRIMITIVE_SIN:
    case ULP_PRIMITIVE_COS: return a.may ? anything() : (struct set){-1, 1, 0};
    case ULP_PRIMITIVE_COSH:
        if (a.may || is_empty(a) || ulp_math_max(-a.lo, a.hi) > 700)
            return anything();
        a = magnitude_of(a);
        return (struct set){1, ulp_math_exp2(ceil(a.hi * 1.4427 + 1e-3)), 0};
    default: return anything(); /* bits of integers, tan */
    }
}

static struct set get(const struct ulp_intervals *x, size_t i)
{
    return x ? (struct set){x->lo[i], x->hi[i], x->may[i]} : (struct set){0, 0, 0};
}

static void compute_piece(const struct ulp_interval_rule *rule, enum ulp_primitive primitive,
                          size_t n, const struct ulp_intervals *out, const struct ulp_intervals *a,
                          const struct ulp_intervals *b, const struct ulp_intervals *c,
                          double *largest)
{
    const struct ulp_primitive_row *row = &ulp_primitive_rows[primitive];
    const double unit = row->result == ULP_RESULT_FUNCTION  ? rule->functions
                        : row->result == ULP_RESULT_ROUNDED ? rule->unit
                                                            : 0;
    if (monotones[primitive].is) {
        compute_monotone(rule, primitive, n, out, a, largest);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct set y =
            compute_one(primitive, get(a, i), row->arity > 1 ? get(b, i) : get(NULL, 0),
                        row->arity > 2 ? get(c, i) : get(NULL, 0));
        if (y.may & ULP_MAY_BE_ANYTHING) {
            *largest = INFINITY;
            set_anything(out, i);
        } else if (unit == 0) {
            ulp_interval_set(out, i, y.lo, y.hi, y.may);
            if (!is_empty(y))
                *largest = ulp_math_max(*largest, ulp_math_max(fabs(y.lo), fabs(y.hi)));
        } else {
            ulp_interval_set_step(rule, out, i, y.lo, y.hi, y.may, unit, largest);
        }
    }
}

static struct ulp_intervals from_place(const struct ulp_intervals *x, size_t i)
{
    return x ? (struct ulp_intervals){x->lo + i, x->hi + i, x->may + i}
             : (struct ulp_intervals){NULL, NULL, NULL};
}

void ulp_interval_compute(const struct ulp_interval_rule *rule, enum ulp_primitive primitive,
                          size_t n, const struct ulp_intervals *out, const struct ulp_intervals *a,
                          const struct ulp_intervals *b, const struct ulp_intervals *c,
                          double *largest)
{
    for (size_t i = 0; i < n; i += PIECE) {
        const struct ulp_intervals o = from_place(out, i), x = from_place(a, i),
                                   y = from_place(b, i), z = from_place(c, i);
        compute_piece(rule, primitive, n - i < PIECE ? n - i : PIECE, &o, &x, &y, &z, largest);
    }
}
