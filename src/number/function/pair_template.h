/* The functions of function/pair.c, once for each instruction set; parameters as of
 * function/pair_arithmetic.h. */
#include "number/function/pair_arithmetic.h"

/* exp(x) = t (1 + p): x = (128 k + i) log 2 / 128 + r, t = 2^(k + i/128), p = exp(r) - 1. */
struct NAMED(exponential) {
    PAIR t, p;
};
FUNCTION struct NAMED(exponential) NAMED(split_exp)(PAIR x)
{
    const V least = NAMED(spread)(-EXP_MAX), most = NAMED(spread)(EXP_MAX);
    const V above = NAMED(choose)(x.h < least, least, x.h),
            bounded = NAMED(choose)(above > most, most, above),
            low = NAMED(choose)(bounded == x.h, x.l, (V){0});
    const V shifted = bounded * 0x1.71547652b82fep7 + SHIFTER, k = shifted - SHIFTER;
    const PAIR near = NAMED(sum_two)(bounded - k * exp_step[0], -(k * exp_step[1]));
    const PAIR r = NAMED(sum_two)(near.h, near.l + (low - k * exp_step[2]));
    const U integer = (U)shifted;
    const V scale = (V)(((integer >> 7) + 1023) << 52);
    const PAIR row = NAMED(gather_pair)(exp_rows, (integer & 127) * 2);
    const PAIR q = NAMED(product)(r.h, r.h);
    const V tail = r.h * q.h * EVALUATE(exp_tail, r.h);
    const PAIR first = NAMED(sum_ordered)(r.h, q.h * 0.5);
    return (struct NAMED(exponential)){
        {scale * row.h, scale * row.l},
        NAMED(sum_ordered)(first.h, first.l + ((r.l + (q.l * 0.5 + r.h * r.l)) + tail))};
}
FUNCTION PAIR NAMED(take_exp)(PAIR x)
{
    const struct NAMED(exponential) e = NAMED(split_exp)(x);
    const PAIR rest = NAMED(multiply)(e.t, e.p), s = NAMED(sum_ordered)(e.t.h, rest.h);
    return NAMED(sum_ordered)(s.h, s.l + (e.t.l + rest.l));
}
/* Below -60 the result is -1 but for 2^-86. */
FUNCTION PAIR NAMED(take_expm1)(V x)
{
    const V least = NAMED(spread)(-60);
    const struct NAMED(exponential) e =
        NAMED(split_exp)(NAMED(single)(NAMED(choose)(x < least, least, x)));
    return NAMED(add)(NAMED(add_number)(e.t, -1), NAMED(multiply)(e.t, e.p));
}

/* log(u), u > 0 and normal; near: u - 1, of which u may have lost digits. u = 2^e m, sqrt(1/2) <= m
 * < sqrt(2); r = m / c - 1 for the c = i/128 nearest to m. */
FUNCTION PAIR NAMED(take_log)(PAIR u, PAIR near)
{
    const uint64_t sqrt_half = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    const U shifted = (U)u.h + (one - sqrt_half);
    const V e = (V)((shifted >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    const U significand = (shifted & UINT64_C(0x000fffffffffffff)) + sqrt_half;
    const U down = (1023 - (((U)u.h - significand) >> 52)) << 52; /* 2^-e */
    const V m = (V)significand, low = u.l * (V)down;
    const U cell = (U)(m * 128 + SHIFTER) & 255, place = (cell - 90) * 3;
    const V inverse = NAMED(gather)(log_rows, place);
    const PAIR p = NAMED(product)(m, inverse);
    const PAIR far = NAMED(sum_ordered)(p.h - 1, p.l + low * inverse);
    const PAIR r = NAMED(choose_pair)((M)(cell == 128) & (M)(e == 0), near, far);
    /* r - r^2 / 2 + r^3 / 3 + r^4 (...) */
    const PAIR q = NAMED(square)(r);
    const PAIR cube = NAMED(multiply)(NAMED(multiply)(q, r), NAMED(constant)(third));
    const V tail = q.h * q.h * EVALUATE(log_tail, r.h);
    const PAIR upper = NAMED(add)(r, (PAIR){q.h * -0.5, q.l * -0.5});
    const PAIR series = NAMED(add)(upper, (PAIR){cube.h, cube.l + tail});
    const PAIR row = NAMED(gather_pair)(log_rows + 1, place);
    const PAIR base = NAMED(sum_ordered)(e * log_2[0], row.h);
    return NAMED(add)((PAIR){base.h, base.l + (e * log_2[1] + row.l)}, series);
}
FUNCTION PAIR NAMED(take_log1p)(PAIR t)
{
    const PAIR s = NAMED(sum_two)(NAMED(spread)(1), t.h);
    return NAMED(take_log)(NAMED(sum_ordered)(s.h, s.l + t.l), t);
}
FUNCTION PAIR NAMED(take_ln)(V x)
{
    return NAMED(take_log)(NAMED(single)(x), NAMED(single)(x - 1));
}

/* x = k pi/128 + r: sin x = S + (C sin r + S (cos r - 1)) with S, C = sin, cos(k pi/128); cos
 * alike. */
struct NAMED(angle) {
    PAIR sine, cosine;
};
FUNCTION PAIR NAMED(turn)(PAIR s, PAIR c, PAIR sine, PAIR versed)
{
    return NAMED(add)(s, NAMED(add)(NAMED(multiply)(c, sine), NAMED(multiply)(s, versed)));
}
FUNCTION struct NAMED(angle) NAMED(take_angle)(V x)
{
    const V shifted = x * 0x1.45f306dc9c883p5 + SHIFTER, k = shifted - SHIFTER;
    const PAIR near = NAMED(sum_two)(x - k * sin_step[0], -(k * sin_step[1]));
    const PAIR r = NAMED(sum_two)(near.h, (near.l - k * sin_step[2]) - k * sin_step[3]);
    const U i = (U)shifted;
    const PAIR s = NAMED(gather_pair)(sin_rows, (i & 255) * 2),
               c = NAMED(gather_pair)(sin_rows, ((i + 64) & 255) * 2);
    const PAIR q = NAMED(square)(r);
    const PAIR sine = NAMED(sum_ordered)(r.h, r.l + r.h * q.h * EVALUATE(sin_tail, q.h));
    const PAIR versed =
        NAMED(sum_ordered)(q.h * -0.5, q.l * -0.5 + q.h * q.h * EVALUATE(cos_tail, q.h));
    return (struct NAMED(angle)){
        NAMED(turn)(s, c, sine, versed),
        NAMED(turn)(c, (PAIR){-s.h, -s.l}, sine, versed),
    };
}
FUNCTION PAIR NAMED(take_sin)(V x)
{
    return NAMED(take_angle)(x).sine;
}
FUNCTION PAIR NAMED(take_cos)(V x)
{
    return NAMED(take_angle)(x).cosine;
}
FUNCTION PAIR NAMED(take_tan)(V x)
{
    const struct NAMED(angle) t = NAMED(take_angle)(x);
    return NAMED(divide)(t.sine, t.cosine);
}

/* The angle of (x, y), both >= 0 and not both 0: atan(z) = atan(c) + atan((z - c) / (1 + z c)), c =
 * i/64, with z = y / x or its inverse. */
FUNCTION PAIR NAMED(take_direction)(PAIR y, PAIR x)
{
    const M steep = (M)(y.h > x.h);
    const PAIR top = NAMED(choose_pair)(steep, x, y), bottom = NAMED(choose_pair)(steep, y, x);
    const V one = NAMED(spread)(1), quotient = top.h / bottom.h,
            z = NAMED(choose)(quotient < one, quotient, one);
    const V shifted = z * 64 + SHIFTER, c = (shifted - SHIFTER) * 0x1p-6;
    const PAIR t = NAMED(divide)(NAMED(subtract)(top, NAMED(scale)(bottom, c)),
                                 NAMED(add)(bottom, NAMED(scale)(top, c)));
    const V q = t.h * t.h;
    const PAIR arc = NAMED(sum_ordered)(t.h, t.l + t.h * q * EVALUATE(atan_tail, q));
    const PAIR row = NAMED(gather_pair)(atan_rows, ((U)shifted & 127) * 2);
    const PAIR angle = NAMED(add)(row, arc);
    return NAMED(choose_pair)(steep, NAMED(subtract)(NAMED(constant)(half_pi), angle), angle);
}
/* sqrt(1 - m^2), 0 <= m <= 1 */
FUNCTION PAIR NAMED(take_other_leg)(V m)
{
    const V one = NAMED(spread)(1);
    return NAMED(root)(NAMED(multiply)(NAMED(sum_two)(one, -m), NAMED(sum_two)(one, m)));
}
FUNCTION PAIR NAMED(take_asin)(V x)
{
    const V m = NAMED(magnitude)(x);
    return NAMED(flip_pair)(NAMED(take_direction)(NAMED(single)(m), NAMED(take_other_leg)(m)), x);
}
FUNCTION PAIR NAMED(take_acos)(V x)
{
    const V m = NAMED(magnitude)(x);
    const PAIR angle = NAMED(take_direction)(NAMED(take_other_leg)(m), NAMED(single)(m));
    const PAIR half = NAMED(constant)(half_pi), pi = {half.h * 2, half.l * 2};
    return NAMED(choose_pair)(x < 0, NAMED(subtract)(pi, angle), angle);
}
FUNCTION PAIR NAMED(take_atan)(V x)
{
    const PAIR one = NAMED(single)(NAMED(spread)(1));
    return NAMED(flip_pair)(NAMED(take_direction)(NAMED(single)(NAMED(magnitude)(x)), one), x);
}

/* E = exp(|x|) - 1: sinh = (E + E / (E + 1)) / 2; tanh = F / (F + 2), F = exp(2 |x|) - 1. */
FUNCTION PAIR NAMED(take_sinh)(V x)
{
    const PAIR e = NAMED(take_expm1)(NAMED(magnitude)(x));
    const PAIR other = NAMED(divide)(e, NAMED(add_number)(e, 1));
    return NAMED(flip_pair)(NAMED(halve)(NAMED(add)(e, other)), x);
}
FUNCTION PAIR NAMED(take_cosh)(V x)
{
    const PAIR e = NAMED(take_exp)(NAMED(single)(NAMED(magnitude)(x)));
    const PAIR one = NAMED(single)(NAMED(spread)(1));
    return NAMED(halve)(NAMED(add)(e, NAMED(divide)(one, e)));
}
FUNCTION PAIR NAMED(take_tanh)(V x)
{
    const V m = NAMED(magnitude)(x), most = NAMED(spread)(TANH_MAX);
    const PAIR f = NAMED(take_expm1)(2 * NAMED(choose)(m > most, most, m));
    return NAMED(flip_pair)(NAMED(divide)(f, NAMED(add_number)(f, 2)), x);
}
FUNCTION PAIR NAMED(take_rsqrt)(V x)
{
    return NAMED(divide)(NAMED(single)(NAMED(spread)(1)), NAMED(root)(NAMED(single)(x)));
}
/* log1p(m + m^2 / (1 + sqrt(1 + m^2))) */
FUNCTION PAIR NAMED(take_asinh)(V x)
{
    const V m = NAMED(magnitude)(x);
    const PAIR q = NAMED(product)(m, m), root = NAMED(root)(NAMED(add_number)(q, 1));
    const PAIR rest = NAMED(divide)(q, NAMED(add_number)(root, 1));
    return NAMED(flip_pair)(NAMED(take_log1p)(NAMED(add)(NAMED(single)(m), rest)), x);
}
FUNCTION PAIR NAMED(take_acosh)(V x)
{
    const V one = NAMED(spread)(1);
    const PAIR d = NAMED(sum_two)(x, -one), s = NAMED(sum_two)(x, one);
    return NAMED(take_log1p)(NAMED(add)(d, NAMED(root)(NAMED(multiply)(d, s))));
}
FUNCTION PAIR NAMED(take_atanh)(V x)
{
    const V m = NAMED(magnitude)(x);
    const PAIR t = NAMED(divide)(NAMED(single)(2 * m), NAMED(sum_two)(NAMED(spread)(1), -m));
    return NAMED(flip_pair)(NAMED(halve)(NAMED(take_log1p)(t)), x);
}

/* The Taylor series about the nearest i/16. */
FUNCTION PAIR NAMED(take_erf)(V x)
{
    const V m = NAMED(magnitude)(x), most = NAMED(spread)(ERF_MAX),
            bounded = NAMED(choose)(m < most, m, most);
    const V shifted = bounded * 16 + SHIFTER, h = bounded - (shifted - SHIFTER) * 0x1p-4;
    const U place = ((U)shifted & 127) * ERF_ROW;
    V tail = NAMED(gather)(erf_rows + ERF_ROW - 1, place);
    for (int k = ERF_ROW - 2; k >= 6; k--)
        tail = NAMED(step)(tail, h, NAMED(gather)(erf_rows + k, place));
    const PAIR q = NAMED(product)(h, h);
    const PAIR first = NAMED(scale)(NAMED(gather_pair)(erf_rows + 2, place), h);
    const PAIR second = NAMED(multiply)(NAMED(gather_pair)(erf_rows + 4, place), q);
    const PAIR rest = NAMED(add)(first, (PAIR){second.h, second.l + tail * (h * q.h)});
    return NAMED(flip_pair)(NAMED(add)(NAMED(gather_pair)(erf_rows, place), rest), x);
}
FUNCTION PAIR NAMED(take_sigmoid)(V x)
{
    const PAIR one = NAMED(single)(NAMED(spread)(1));
    const PAIR e = NAMED(take_exp)(NAMED(single)(-NAMED(magnitude)(x)));
    return NAMED(divide)(NAMED(choose_pair)(x < 0, e, one), NAMED(add_number)(e, 1));
}
FUNCTION PAIR NAMED(take_softplus)(V x)
{
    const PAIR e = NAMED(take_exp)(NAMED(single)(-NAMED(magnitude)(x)));
    const V positive = NAMED(choose)(x > 0, x, (V){0});
    return NAMED(add)(NAMED(single)(positive), NAMED(take_log1p)(e));
}

/* |x|^y with the sign of an odd y. */
FUNCTION PAIR NAMED(take_pow)(V x, V y)
{
    const PAIR power = NAMED(scale)(NAMED(take_ln)(NAMED(magnitude)(x)), y);
    const V odd = (V)((U)(y + SHIFTER) << 63);
    return NAMED(flip_pair)(NAMED(take_exp)(power), (V)((U)odd & (U)x));
}

/* What there is besides the formula: where its error is bounded, where the result is `value`, and
 * where it is 1 less at most 2^-55, with x's sign. */
struct NAMED(place) {
    M inside, exactly, saturated;
    V value;
};
FUNCTION void NAMED(store)(double *restrict high, double *restrict low, double *restrict error,
                           PAIR y, V x, struct NAMED(place) place, double relative, double absolute)
{
    const V size = NAMED(magnitude)(y.h), near_one = NAMED(spread)(0x1p-56);
    const M fine = place.inside & (M)(size > 0x1p-900) & (M)(size < 0x1p900);
    const PAIR one = {NAMED(flip)(NAMED(spread)(1), x), NAMED(flip)(-near_one, x)};
    const PAIR exact = {place.value, NAMED(flip)((V){0}, place.value)};
    const PAIR result =
        NAMED(choose_pair)(place.exactly, exact, NAMED(choose_pair)(place.saturated, one, y));
    V e = NAMED(choose)(fine, size * relative + absolute, NAMED(spread)(UNDECIDED));
    e = NAMED(choose)(place.saturated, near_one, e);
    e = NAMED(choose)(place.exactly, (V){0}, e);
    memcpy(high, &result.h, sizeof e);
    memcpy(low, &result.l, sizeof e);
    memcpy(error, &e, sizeof e);
}

#define LOOP(NAME, VALUE, INSIDE, EXACTLY, EXACT, SATURATED, RELATIVE, ABSOLUTE)                  \
    ATTRIBUTES static void NAMED(run_##NAME)(double *restrict high, double *restrict low,         \
                                             double *restrict error, const double *restrict a,    \
                                             const double *restrict b, size_t n)                  \
    {                                                                                             \
        for (size_t i = 0; i < n; i += WIDTH) {                                                   \
            V x, y;                                                                               \
            memcpy(&x, a + i, sizeof x);                                                          \
            memcpy(&y, b + i, sizeof y);                                                          \
            const V m = NAMED(magnitude)(x), value = (EXACT) - (V){0};                            \
            const struct NAMED(place) place = {(M)(INSIDE), (M)(EXACTLY), (M)(SATURATED), value}; \
            (void)m, (void)y;                                                                     \
            NAMED(store)(high + i, low + i, error + i, VALUE, x, place, RELATIVE, ABSOLUTE);      \
        }                                                                                         \
    }
#define NEVER \
    (M)       \
    {         \
        0     \
    }
#define REL ULP_PAIR_ERROR
#define ANGLE ULP_PAIR_ERROR_ANGLE
/* clang-format off */
LOOP(EXP, NAMED(take_exp)(NAMED(single)(x)), m <= EXP_MAX, x == 0, 1, NEVER, REL, 0)
LOOP(EXPM1, NAMED(take_expm1)(x), x <= EXP_MAX, x == 0, x, NEVER, REL, 0)
LOOP(LOG, NAMED(take_ln)(x), (x >= DBL_MIN) & (x <= DBL_MAX), x == 1, 0, NEVER, REL, 0)
LOOP(LOG1P, NAMED(take_log1p)(NAMED(single)(x)), (x > -1) & (x < 0x1p900), x == 0, x, NEVER, REL, 0)
LOOP(SIN, NAMED(take_sin)(x), m <= ANGLE_MAX, x == 0, x, NEVER, REL, ANGLE)
LOOP(COS, NAMED(take_cos)(x), m <= ANGLE_MAX, x == 0, 1, NEVER, REL, ANGLE)
LOOP(TAN, NAMED(take_tan)(x), m <= ANGLE_MAX, x == 0, x, NEVER, REL, ANGLE)
LOOP(ASIN, NAMED(take_asin)(x), m <= 1, x == 0, x, NEVER, REL, 0)
LOOP(ACOS, NAMED(take_acos)(x), m <= 1, x == 1, 0, NEVER, REL, 0)
LOOP(ATAN, NAMED(take_atan)(x), m <= 0x1p300, x == 0, x, NEVER, REL, 0)
LOOP(SINH, NAMED(take_sinh)(x), m <= 600, x == 0, x, NEVER, REL, 0)
LOOP(COSH, NAMED(take_cosh)(x), m <= 600, x == 0, 1, NEVER, REL, 0)
LOOP(TANH, NAMED(take_tanh)(x), m <= TANH_MAX, x == 0, x, m > TANH_MAX, REL, 0)
LOOP(ASINH, NAMED(take_asinh)(x), m <= 0x1p300, x == 0, x, NEVER, REL, 0)
LOOP(ACOSH, NAMED(take_acosh)(x), (x >= 1) & (x <= 0x1p300), x == 1, 0, NEVER, REL, 0)
LOOP(ATANH, NAMED(take_atanh)(x), m < 1, x == 0, x, NEVER, REL, 0)
LOOP(ERF, NAMED(take_erf)(x), m <= ERF_MAX, x == 0, x, m > ERF_MAX, ULP_PAIR_ERROR_ERF, 0)
LOOP(SIGMOID, NAMED(take_sigmoid)(x), m <= 600, x == 0, 0.5, x > SIGMOID_MAX, REL, 0)
LOOP(SOFTPLUS, NAMED(take_softplus)(x), m <= 600, NEVER, 0, NEVER, REL, 0)
LOOP(RSQRT, NAMED(take_rsqrt)(x), (x >= 0x1p-900) & (x <= 0x1p900), x == 1, 1, NEVER, REL, 0)
LOOP(POW, NAMED(take_pow)(x, y),
     (m >= DBL_MIN) & (m <= DBL_MAX) & (NAMED(magnitude)(y) <= 0x1p300) &
         ((x > 0) | (((y + SHIFTER) - SHIFTER == y) & (NAMED(magnitude)(y) < 0x1p51))),
     x == 1, 1, NEVER, REL, 0)
/* clang-format on */

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = NAMED(run_##NAME),
static pair_fn *const NAMED(functions)[ULP_PRIMITIVE_COUNT] = {ULP_UNARY_FUNCTIONS(ENTRY)
                                                                   ENTRY(POW)};

#undef LOOP
#undef NEVER
#undef REL
#undef ANGLE
#undef ENTRY
#undef EVALUATE
#undef FUNCTION
#undef PAIR
#undef V
#undef U
#undef M
#undef WIDTH
#undef FUSE
#undef ROOT
