/* The functions of function/pair.c, once for each instruction set; parameters as of
 * function/pair_arithmetic.h. */
#include "number/function/pair_arithmetic.h"

/* exp(x) = t (1 + p): x = (512 k + i) log 2 / 512 + r, t = 2^(k + i/512), p = exp(r) - 1. `finely`:
 * p's error is small beside p, not only beside 1. */
struct NAMED(exponential) {
    PAIR t, p;
};
FUNCTION struct NAMED(exponential) NAMED(split_exp)(PAIR x, bool finely)
{
    const V least = NAMED(spread)(-EXP_MAX), most = NAMED(spread)(EXP_MAX);
    const V above = NAMED(choose)(x.h < least, least, x.h),
            bounded = NAMED(choose)(above > most, most, above),
            low = NAMED(choose)(bounded == x.h, x.l, (V){0});
    const V shifted = bounded * 0x1.71547652b82fep9 + SHIFTER, k = shifted - SHIFTER;
    const PAIR near = NAMED(sum_two)(bounded - k * exp_step[0], -(k * exp_step[1]));
    const PAIR r = NAMED(sum_two)(near.h, near.l + (low - k * exp_step[2]));
    const U integer = (U)shifted;
    const V scale = (V)(((integer >> 9) + 1023) << 52);
    const PAIR row = NAMED(gather_pair)(exp_rows, (integer & 511) * 2);
    /* 1/2 + r / 6 + ... */
    const PAIR s = finely
                       ? NAMED(sum_series)(exp_series, 3, r, NAMED(evaluate)(exp_tail + 1, 4, r.h))
                       : NAMED(sum_series)(exp_series, 2, r, NAMED(evaluate)(exp_tail, 4, r.h));
    return (struct NAMED(exponential)){{scale * row.h, scale * row.l},
                                       NAMED(sum_product)(r, NAMED(square)(r), s)};
}
FUNCTION PAIR NAMED(take_exp)(PAIR x)
{
    const struct NAMED(exponential) e = NAMED(split_exp)(x, false);
    return NAMED(sum_product)(e.t, e.t, e.p);
}
/* Below -75 the result is -1 but for 2^-108. */
FUNCTION PAIR NAMED(take_expm1)(PAIR x)
{
    const PAIR least = NAMED(single)(NAMED(spread)(-75));
    const struct NAMED(exponential) e =
        NAMED(split_exp)(NAMED(choose_pair)(x.h < least.h, least, x), true);
    return NAMED(sum_product)(NAMED(add_number)(e.t, -1), e.t, e.p);
}

/* log(u), u > 0 and normal; near: u - 1, of which u may have lost digits. u = 2^e m, sqrt(1/2) <= m
 * < sqrt(2); r = m / c - 1 for the c = i/512 nearest to m. */
FUNCTION PAIR NAMED(take_log)(PAIR u, PAIR near)
{
    const uint64_t sqrt_half = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    const U shifted = (U)u.h + (one - sqrt_half);
    const V e = (V)((shifted >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    const U significand = (shifted & UINT64_C(0x000fffffffffffff)) + sqrt_half;
    const U down = (1023 - (((U)u.h - significand) >> 52)) << 52; /* 2^-e */
    const V m = (V)significand, low = u.l * (V)down;
    const U cell = (U)(m * 512 + SHIFTER) & 1023, place = (cell - 362) * 4;
    const V inverse = NAMED(gather_pair)(log_rows, place).h;
    const PAIR p = NAMED(product)(m, inverse);
    const PAIR far = NAMED(sum_ordered)(p.h - 1, p.l + low * inverse);
    const PAIR r = NAMED(choose_pair)((M)(cell == 512) & (M)(e == 0), near, far);
    const PAIR s = SUM_SERIES(log_series, r, EVALUATE(log_tail, r.h));
    const PAIR rest = NAMED(sum_product)(r, NAMED(square)(r), s);
    const PAIR power = NAMED(sum_ordered)(e * log_2[0], e * log_2[1]);
    const PAIR base = NAMED(add)((PAIR){power.h, power.l + e * log_2[2]},
                                 NAMED(gather_pair)(log_rows + 2, place));
    return NAMED(add)(base, rest);
}
FUNCTION PAIR NAMED(take_log1p)(PAIR t)
{
    return NAMED(take_log)(NAMED(add_number)(t, 1), t);
}
FUNCTION PAIR NAMED(take_ln)(PAIR x)
{
    return NAMED(take_log)(x, NAMED(sum_ordered)(x.h - 1, x.l));
}

/* x = k pi/128 + r: sin x = S + (C sin r + S (cos r - 1)) with S, C = sin, cos(k pi/128); cos
 * alike. */
struct NAMED(angle) {
    PAIR sine, cosine;
};
FUNCTION PAIR NAMED(turn)(PAIR s, PAIR c, PAIR sine, PAIR versed)
{
    return NAMED(add)(s, NAMED(sum_product)(NAMED(multiply)(c, sine), s, versed));
}
FUNCTION struct NAMED(angle) NAMED(take_angle)(PAIR x)
{
    const V shifted = x.h * 0x1.45f306dc9c883p5 + SHIFTER, k = shifted - SHIFTER;
    const PAIR near = NAMED(sum_two)(x.h - k * sin_step[0], -(k * sin_step[1]));
    const PAIR nearer = NAMED(sum_two)(near.h, x.l);
    const PAIR r =
        NAMED(sum_two)(nearer.h, nearer.l + ((near.l - k * sin_step[2]) - k * sin_step[3]));
    const U i = (U)shifted;
    const PAIR s = NAMED(gather_pair)(sin_rows, (i & 255) * 2),
               c = NAMED(gather_pair)(sin_rows, ((i + 64) & 255) * 2);
    const PAIR q = NAMED(square)(r), cube = NAMED(multiply_loosely)(r, q);
    const PAIR sine =
        NAMED(sum_product)(r, cube, SUM_SERIES(sin_series, q, EVALUATE(sin_tail, q.h)));
    const PAIR versed = NAMED(multiply)(q, SUM_SERIES(cos_series, q, EVALUATE(cos_tail, q.h)));
    return (struct NAMED(angle)){
        NAMED(turn)(s, c, sine, versed),
        NAMED(turn)(c, (PAIR){-s.h, -s.l}, sine, versed),
    };
}
FUNCTION PAIR NAMED(take_sin)(PAIR x)
{
    return NAMED(take_angle)(x).sine;
}
FUNCTION PAIR NAMED(take_cos)(PAIR x)
{
    return NAMED(take_angle)(x).cosine;
}
FUNCTION PAIR NAMED(take_tan)(PAIR x)
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
    const PAIR t = NAMED(divide)(NAMED(subtract)(top, NAMED(scale_loosely)(bottom, c)),
                                 NAMED(add_loosely)(bottom, NAMED(scale_loosely)(top, c)));
    const PAIR q = NAMED(square)(t);
    const PAIR arc = NAMED(sum_product)(t, NAMED(multiply_loosely)(t, q),
                                        SUM_SERIES(atan_series, q, EVALUATE(atan_tail, q.h)));
    const PAIR row = NAMED(gather_pair)(atan_rows, ((U)shifted & 127) * 2);
    const PAIR angle = NAMED(add)(row, arc);
    return NAMED(choose_pair)(steep, NAMED(subtract)(NAMED(constant)(half_pi), angle), angle);
}
/* a - b where that is >= 2^-600 or 0, a + b, and sqrt(1 - m^2), 0 <= m <= 1. */
FUNCTION PAIR NAMED(take_from_one)(PAIR m)
{
    return NAMED(add_number)((PAIR){-m.h, -m.l}, 1);
}
FUNCTION PAIR NAMED(take_other_leg)(PAIR m)
{
    return NAMED(root)(NAMED(multiply_loosely)(NAMED(take_from_one)(m), NAMED(add_number)(m, 1)));
}
FUNCTION PAIR NAMED(take_asin)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h);
    return NAMED(flip_pair)(NAMED(take_direction)(m, NAMED(take_other_leg)(m)), x.h);
}
FUNCTION PAIR NAMED(take_acos)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h);
    const PAIR angle = NAMED(take_direction)(NAMED(take_other_leg)(m), m);
    const PAIR half = NAMED(constant)(half_pi), pi = {half.h * 2, half.l * 2};
    return NAMED(choose_pair)(x.h < 0, NAMED(subtract)(pi, angle), angle);
}
FUNCTION PAIR NAMED(take_atan)(PAIR x)
{
    const PAIR one = NAMED(single)(NAMED(spread)(1));
    return NAMED(flip_pair)(NAMED(take_direction)(NAMED(flip_pair)(x, x.h), one), x.h);
}

/* E = exp(|x|) - 1: sinh = (E + E / (E + 1)) / 2; tanh = F / (F + 2), F = exp(2 |x|) - 1. */
FUNCTION PAIR NAMED(take_sinh)(PAIR x)
{
    const PAIR e = NAMED(take_expm1)(NAMED(flip_pair)(x, x.h));
    const PAIR other = NAMED(divide)(e, NAMED(add_number)(e, 1));
    return NAMED(flip_pair)(NAMED(halve)(NAMED(add)(e, other)), x.h);
}
FUNCTION PAIR NAMED(take_cosh)(PAIR x)
{
    const PAIR e = NAMED(take_exp)(NAMED(flip_pair)(x, x.h));
    const PAIR one = NAMED(single)(NAMED(spread)(1));
    return NAMED(halve)(NAMED(add)(e, NAMED(divide)(one, e)));
}
/* From 50 on the result is 1 but for 2^-143. */
FUNCTION PAIR NAMED(take_tanh)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h), most = NAMED(single)(NAMED(spread)(50));
    const PAIR bounded = NAMED(choose_pair)(m.h > most.h, most, m);
    const PAIR f = NAMED(take_expm1)((PAIR){2 * bounded.h, 2 * bounded.l});
    return NAMED(flip_pair)(NAMED(divide)(f, NAMED(add_number)(f, 2)), x.h);
}
FUNCTION PAIR NAMED(take_rsqrt)(PAIR x)
{
    return NAMED(divide)(NAMED(single)(NAMED(spread)(1)), NAMED(root)(x));
}
/* log1p(m + m^2 / (1 + sqrt(1 + m^2))) */
FUNCTION PAIR NAMED(take_asinh)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h);
    const PAIR q = NAMED(square)(m), root = NAMED(root)(NAMED(add_number)(q, 1));
    const PAIR rest = NAMED(divide)(q, NAMED(add_number)(root, 1));
    return NAMED(flip_pair)(NAMED(take_log1p)(NAMED(add)(m, rest)), x.h);
}
FUNCTION PAIR NAMED(take_acosh)(PAIR x)
{
    const PAIR d = NAMED(add_number)(x, -1), s = NAMED(add_number)(x, 1);
    return NAMED(take_log1p)(NAMED(add)(d, NAMED(root)(NAMED(multiply)(d, s))));
}
FUNCTION PAIR NAMED(take_atanh)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h);
    const PAIR t = NAMED(divide)((PAIR){2 * m.h, 2 * m.l}, NAMED(take_from_one)(m));
    return NAMED(flip_pair)(NAMED(halve)(NAMED(take_log1p)(t)), x.h);
}

/* The Taylor series about the nearest c = i/32. From 8 on the result is 1 but for 2^-96. */
FUNCTION PAIR NAMED(take_erf)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h), most = NAMED(single)(NAMED(spread)(8));
    const PAIR bounded = NAMED(choose_pair)(m.h < most.h, m, most);
    const V shifted = bounded.h * 32 + SHIFTER, c = (shifted - SHIFTER) * 0x1p-5;
    const PAIR h = NAMED(sum_two)(bounded.h - c, bounded.l);
    const U place = ((U)shifted & 511) * ERF_ROW;
    V tail = (V){0};
    for (int k = ERF_ROW - 2; k >= 14; k -= 2) {
        const PAIR two = NAMED(gather_pair)(erf_rows + k, place);
        tail = (tail * h.h + two.l) * h.h + two.h;
    }
    const PAIR sixth = NAMED(gather_pair)(erf_rows + 12, place);
    const V last = h.h * tail;
    PAIR y = NAMED(sum_ordered)(sixth.h, last);
    y.l += sixth.l;
    for (int k = 5; k >= 0; k--) {
        const PAIR row = NAMED(gather_pair)(erf_rows + 2 * k, place),
                   p = NAMED(multiply_loosely)(h, y), s = NAMED(sum_ordered)(row.h, p.h);
        y = (PAIR){s.h, s.l + (row.l + p.l)};
    }
    return NAMED(flip_pair)(NAMED(sum_ordered)(y.h, y.l), x.h);
}
/* From 100 on the result is 1 but for 2^-144. */
FUNCTION PAIR NAMED(take_sigmoid)(PAIR x)
{
    const PAIR one = NAMED(single)(NAMED(spread)(1)), most = NAMED(single)(NAMED(spread)(100));
    const PAIR bounded = NAMED(choose_pair)(x.h > most.h, most, x);
    const PAIR m = NAMED(flip_pair)(bounded, bounded.h);
    const PAIR e = NAMED(take_exp)((PAIR){-m.h, -m.l});
    return NAMED(divide)(NAMED(choose_pair)(x.h < 0, e, one), NAMED(add_number)(e, 1));
}
FUNCTION PAIR NAMED(take_softplus)(PAIR x)
{
    const PAIR m = NAMED(flip_pair)(x, x.h), zero = {{0}, {0}};
    const PAIR e = NAMED(take_exp)((PAIR){-m.h, -m.l});
    return NAMED(add)(NAMED(choose_pair)(x.h > 0, x, zero), NAMED(take_log1p)(e));
}

/* |x|^y with the sign of an odd y. */
FUNCTION PAIR NAMED(take_pow)(PAIR x, PAIR y)
{
    const PAIR power = NAMED(multiply)(NAMED(take_ln)(NAMED(flip_pair)(x, x.h)), y);
    const V odd = (V)((U)(y.h + SHIFTER) << 63);
    return NAMED(flip_pair)(NAMED(take_exp)(power), (V)((U)odd & (U)x.h));
}

/* Where the formula's error is bounded, and where the result is `value`. */
struct NAMED(place) {
    M inside, exactly;
    V value;
};
FUNCTION void NAMED(store)(double *high, double *low, double *error, PAIR y, V size, V bound,
                           struct NAMED(place) place)
{
    const M fine = place.inside & (M)(size > 0x1p-900) & (M)(size < 0x1p900);
    const PAIR exact = {place.value, NAMED(flip)((V){0}, place.value)};
    const PAIR result = NAMED(choose_pair)(place.exactly, exact, y);
    const V e =
        NAMED(choose)(place.exactly, (V){0}, NAMED(choose)(fine, bound, NAMED(spread)(UNDECIDED)));
    memcpy(high, &result.h, sizeof e);
    memcpy(low, &result.l, sizeof e);
    memcpy(error, &e, sizeof e);
}

#define LOOP(NAME, VALUE, INSIDE, EXACTLY, EXACT, ERROR)                               \
    ATTRIBUTES static void NAMED(run_##NAME)(double *high, double *low, double *error, \
                                             const double *const in[4], size_t n)      \
    {                                                                                  \
        for (size_t i = 0; i < n; i += WIDTH) {                                        \
            PAIR x, y;                                                                 \
            memcpy(&x.h, in[0] + i, sizeof(V));                                        \
            memcpy(&x.l, in[1] + i, sizeof(V));                                        \
            memcpy(&y.h, in[2] + i, sizeof(V));                                        \
            memcpy(&y.l, in[3] + i, sizeof(V));                                        \
            const V m = NAMED(magnitude)(x.h), away = NAMED(flip)(x.l, x.h);           \
            const V value = (EXACT) - (V){0};                                          \
            const struct NAMED(place) place = {(M)(INSIDE), (M)(EXACTLY), value};      \
            const PAIR result = VALUE;                                                 \
            const V size = NAMED(magnitude)(result.h);                                 \
            (void)m, (void)y, (void)away;                                              \
            NAMED(store)(high + i, low + i, error + i, result, size, ERROR, place);    \
        }                                                                              \
    }
#define NEVER \
    (M)       \
    {         \
        0     \
    }
#define REL (size * ULP_PAIR_ERROR)
#define ANGLE ULP_PAIR_ERROR_ANGLE
/* Pairs on 1's inner or outer side, as near as products of the difference allow. */
#define BELOW_ONE ((m < 1) | ((m == 1) & (away < -0x1p-600)))
/* clang-format off */
LOOP(EXP, NAMED(take_exp)(x), m <= EXP_MAX, x.h == 0, 1, REL)
LOOP(EXPM1, NAMED(take_expm1)(x), x.h <= EXP_MAX, x.h == 0, x.h, REL)
LOOP(LOG, NAMED(take_ln)(x), (x.h >= DBL_MIN) & ((x.h <= 0x1p900) | ((x.h <= DBL_MAX) & (x.l == 0))), (x.h == 1) & (x.l == 0), 0, REL)
LOOP(LOG1P, NAMED(take_log1p)(x), ((x.h > -1) | BELOW_ONE) & (x.h < 0x1p900), x.h == 0, x.h, REL)
LOOP(SIN, NAMED(take_sin)(x), m <= ANGLE_MAX, x.h == 0, x.h, REL + ANGLE)
LOOP(COS, NAMED(take_cos)(x), m <= ANGLE_MAX, x.h == 0, 1, REL + ANGLE)
LOOP(TAN, NAMED(take_tan)(x), m <= ANGLE_MAX, x.h == 0, x.h, REL + ANGLE * (1 + size * size))
LOOP(ASIN, NAMED(take_asin)(x), BELOW_ONE | ((m == 1) & (x.l == 0)), x.h == 0, x.h, REL)
LOOP(ACOS, NAMED(take_acos)(x), BELOW_ONE | ((m == 1) & (x.l == 0)), (x.h == 1) & (x.l == 0), 0, REL)
LOOP(ATAN, NAMED(take_atan)(x), m <= 0x1p900, x.h == 0, x.h, REL)
LOOP(SINH, NAMED(take_sinh)(x), m <= 600, x.h == 0, x.h, REL)
LOOP(COSH, NAMED(take_cosh)(x), m <= 600, x.h == 0, 1, REL)
LOOP(TANH, NAMED(take_tanh)(x), m == m, x.h == 0, x.h, REL)
LOOP(ASINH, NAMED(take_asinh)(x), m <= 0x1p440, x.h == 0, x.h, REL)
LOOP(ACOSH, NAMED(take_acosh)(x), ((x.h > 1) | ((x.h == 1) & (x.l > 0x1p-600))) & (x.h <= 0x1p440), (x.h == 1) & (x.l == 0), 0, REL)
LOOP(ATANH, NAMED(take_atanh)(x), BELOW_ONE, x.h == 0, x.h, REL)
LOOP(ERF, NAMED(take_erf)(x), m == m, x.h == 0, x.h, REL)
LOOP(SIGMOID, NAMED(take_sigmoid)(x), x.h >= -600, x.h == 0, 0.5, REL)
LOOP(SOFTPLUS, NAMED(take_softplus)(x), (x.h >= -600) & (x.h <= 0x1p900), NEVER, 0, REL)
LOOP(RSQRT, NAMED(take_rsqrt)(x), (x.h >= 0x1p-900) & (x.h <= 0x1p900), (x.h == 1) & (x.l == 0), 1, REL)
LOOP(POW, NAMED(take_pow)(x, y),
     (m >= DBL_MIN) & ((m <= 0x1p900) | ((m <= DBL_MAX) & (x.l == 0))) & (NAMED(magnitude)(y.h) <= 0x1p300) &
         ((x.h > 0) | (((y.h + SHIFTER) - SHIFTER == y.h) & (y.l == 0) & (NAMED(magnitude)(y.h) < 0x1p51))),
     (x.h == 1) & (x.l == 0), 1, REL + size * NAMED(magnitude)(y.h) * 0x1p-102)
/* clang-format on */

/* The bits of magnitudes are ordered as these are, so the neighbour toward zero is one less. */
ATTRIBUTES static bool NAMED(round_to_odd)(double *high, const double *low, double *error, size_t n)
{
    M open = {0};
    for (size_t i = 0; i < n; i += WIDTH) {
        V h, l, e;
        memcpy(&h, high + i, sizeof h);
        memcpy(&l, low + i, sizeof l);
        memcpy(&e, error + i, sizeof e);
        const M exact = (M)(e == 0), decided = exact | (M)(NAMED(magnitude)(l) > e);
        const U moved = ((U)h - (((U)h ^ (U)l) >> 63)) | 1;
        h = NAMED(choose)(decided & ~exact, (V)moved, h);
        e = NAMED(choose)(decided, (V){0}, e);
        open |= ~decided;
        memcpy(high + i, &h, sizeof h);
        memcpy(error + i, &e, sizeof e);
    }
    bool any = false;
    for (int i = 0; i < WIDTH; i++)
        any |= open[i] != 0;
    return any;
}

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = NAMED(run_##NAME),
static pair_fn *const NAMED(functions)[ULP_PRIMITIVE_COUNT] = {ULP_UNARY_FUNCTIONS(ENTRY)
                                                                   ENTRY(POW)};

#undef LOOP
#undef NEVER
#undef REL
#undef ANGLE
#undef BELOW_ONE
#undef ENTRY
#include "number/function/pair_arithmetic_end.h"
