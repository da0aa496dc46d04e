/* The estimates of function/estimate.c. Parameters:
 *   KIND(name)       the name with the kind's prefix
 *   STEP(a, b, c)    a b + c, rounded twice or once: the bounds hold for both */
INLINE double KIND(evaluate)(const double *coefficients, int count, double x)
{
    double y = coefficients[count - 1];
    _Pragma("GCC unroll 16") for (int k = count - 2; k >= 0; k--) y = STEP(y, x, coefficients[k]);
    return y;
}
#define EVALUATE(coefficients, x) KIND(evaluate)(coefficients, COUNT(coefficients), x)

/* exp(x) - 1 = 2^k (q + 1) - 1 with x = k ln 2 + r, |r| <= ln 2 / 2 and q = exp(r) - 1. */
struct KIND(exponential) {
    double scale, q;
};
INLINE struct KIND(exponential) KIND(split_exp)(double x)
{
    /* Beyond +-200 the result is beyond 2^+-288, as is the estimate: no float-like format tells
     * them apart. */
    const double clamped = x > 200 ? 200 : x < -200 ? -200 : x;
    const double shifted = clamped * 0x1.71547652b82fep0 + SHIFTER, k = shifted - SHIFTER;
    const double r = (clamped - k * ln2_parts[0]) - k * ln2_parts[1];
    return (struct KIND(exponential)){ulp_double_from((ulp_double_bits(shifted) + 1023) << 52),
                                      STEP(r * r, EVALUATE(exp_terms, r), r)};
}
INLINE double KIND(take_exp)(double x)
{
    const struct KIND(exponential) e = KIND(split_exp)(x);
    return STEP(e.scale, e.q, e.scale);
}
/* Below -45 the result is -1 + 2^-64. */
INLINE double KIND(take_expm1)(double x)
{
    const struct KIND(exponential) e = KIND(split_exp)(x < -45 ? -45 : x);
    return STEP(e.scale, e.q, e.scale - 1);
}

/* log(u) = e ln 2 + log(m), sqrt(1/2) <= m < sqrt(2), log(m) = 2 atanh(s), s = f / (2 + f), f = m -
 * 1. near_one is u - 1 before u was rounded: it replaces f where e = 0. u > 0 and normal, else
 * garbage. */
INLINE double KIND(take_log)(double u, double near_one)
{
    const uint64_t sqrt_half = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    const uint64_t shifted = ulp_double_bits(u) + (one - sqrt_half);
    const uint64_t exponent_bits = shifted >> 52;
    const double e =
        ulp_double_from(exponent_bits | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    const double m = ulp_double_from((shifted & UINT64_C(0x000fffffffffffff)) + sqrt_half);
    const double f = e == 0 ? near_one : m - 1;
    const double s = f / (2 + f), z = s * s;
    return e * ln2_parts[0] + ((2 * s + s * z * EVALUATE(log_terms, z)) + e * ln2_parts[1]);
}
/* log(1 + t) for t > -1, relatively accurate near 0. */
INLINE double KIND(take_log1p)(double t)
{
    return KIND(take_log)(1 + t, t);
}

/* x = k pi/2 + r, |r| <= pi/4: sine and cosine of r, and k modulo 4. Beyond 2^20 the parts of pi/2
 * no longer multiply exactly: undecided. */
struct KIND(angle) {
    double sine, cosine;
    uint64_t quadrant;
};
INLINE struct KIND(angle) KIND(reduce_angle)(double x)
{
    const double shifted = x * 0x1.45f306dc9c883p-1 + SHIFTER, k = shifted - SHIFTER;
    const double r = ((x - k * half_pi_parts[0]) - k * half_pi_parts[1]) - k * half_pi_parts[2],
                 z = r * r;
    const double sine = r + r * z * EVALUATE(sin_terms, z),
                 cosine = 1 - (0.5 * z - z * z * EVALUATE(cos_terms, z));
    return (struct KIND(angle)){magnitude(x) <= 0x1p20 ? sine : UNDECIDED,
                                magnitude(x) <= 0x1p20 ? cosine : UNDECIDED,
                                ulp_double_bits(shifted)};
}
INLINE double KIND(take_sin)(double x)
{
    const struct KIND(angle) t = KIND(reduce_angle)(x);
    const double value = negate_if(t.quadrant & 1 ? t.cosine : t.sine, t.quadrant >> 1 & 1);
    return x == 0 ? x : value;
}
INLINE double KIND(take_cos)(double x)
{
    const struct KIND(angle) t = KIND(reduce_angle)(x);
    return negate_if(t.quadrant & 1 ? t.sine : t.cosine, (t.quadrant + 1) >> 1 & 1);
}
INLINE double KIND(take_tan)(double x)
{
    const struct KIND(angle) t = KIND(reduce_angle)(x);
    const double top = t.quadrant & 1 ? t.cosine : t.sine,
                 bottom = t.quadrant & 1 ? t.sine : t.cosine;
    return x == 0 ? x : negate_if(top / bottom, t.quadrant & 1);
}

/* asin(s) for 0 <= s <= 1/2. Beyond 1/2: asin(m) = pi/2 - 2 asin(sqrt((1 - m) / 2)). */
struct KIND(arc) {
    double core;
    double large; /* m > 1/2: core is asin(sqrt((1 - m) / 2)) */
};
INLINE struct KIND(arc) KIND(reduce_arc)(double m)
{
    const double half = 0.5 * (1 - m), z = m > 0.5 ? half : m * m,
                 s = m > 0.5 ? __builtin_sqrt(half) : m;
    return (struct KIND(arc)){s + s * z * EVALUATE(asin_terms, z), m > 0.5};
}
INLINE double KIND(take_asin)(double x)
{
    const double m = magnitude(x);
    const struct KIND(arc) t = KIND(reduce_arc)(m);
    return with_sign(m > 0.5 ? HALF_PI - 2 * t.core : t.core, x);
}
INLINE double KIND(take_acos)(double x)
{
    const double m = magnitude(x);
    const struct KIND(arc) t = KIND(reduce_arc)(m);
    const double small = HALF_PI - with_sign(t.core, x),
                 large = x > 0 ? 2 * t.core : PI - 2 * t.core;
    return m > 0.5 ? large : small;
}

/* atan(m) = base + atan(t), |t| <= sqrt(2) - 1: t is m, (m - 1) / (m + 1) or -1 / m. */
INLINE double KIND(take_atan)(double x)
{
    const double m = magnitude(x);
    const double top = m > 0x1.3504f333f9de6p1 ? -1 : m > 0x1.a827999fcef32p-2 ? m - 1 : m;
    const double bottom = m > 0x1.3504f333f9de6p1 ? m : m > 0x1.a827999fcef32p-2 ? m + 1 : 1;
    const double base = m > 0x1.3504f333f9de6p1    ? HALF_PI
                        : m > 0x1.a827999fcef32p-2 ? HALF_PI / 2
                                                   : 0;
    const double t = top / bottom, z = t * t;
    return with_sign(base + (t + t * z * EVALUATE(atan_terms, z)), x);
}

INLINE double KIND(take_sinh)(double x)
{
    const double e = KIND(take_expm1)(magnitude(x));
    return with_sign(0.5 * (e + e / (e + 1)), x);
}
INLINE double KIND(take_cosh)(double x)
{
    const double e = KIND(take_exp)(magnitude(x));
    return 0.5 * (e + 1 / e);
}
/* Beyond 22 tanh is 1 - 2^-62. */
INLINE double KIND(take_tanh)(double x)
{
    const double m = magnitude(x), e = KIND(take_expm1)(m > 22 ? 44 : 2 * m);
    return with_sign(e / (e + 2), x);
}
INLINE double KIND(take_asinh)(double x)
{
    const double m = magnitude(x), square = m * m;
    const double y = KIND(take_log1p)(m + square / (1 + __builtin_sqrt(1 + square)));
    return with_sign(m <= FLT_MAX ? y : UNDECIDED, x);
}
INLINE double KIND(take_rsqrt)(double x)
{
    return x > 0 && x <= FLT_MAX ? 1 / __builtin_sqrt(x) : UNDECIDED;
}
INLINE double KIND(take_acosh)(double x)
{
    const double d = x - 1, y = KIND(take_log1p)(d + __builtin_sqrt(d * (x + 1)));
    return x >= 1 && x <= FLT_MAX ? y : UNDECIDED;
}
INLINE double KIND(take_atanh)(double x)
{
    const double m = magnitude(x), y = 0.5 * KIND(take_log1p)(2 * m / (1 - m));
    return with_sign(m < 1 ? y : UNDECIDED, x);
}

/* x P(x^2) up to 1.5, else 1 - erfc(x); from 6 on erfc is below 2^-54. */
INLINE double KIND(take_erf)(double x)
{
    const double m = magnitude(x), z = x * x;
    const double c = m > 6 ? 6 : m, inverse = 1 / (c + 2);
    const double large =
        1 - KIND(take_exp)(-c * c) * (EVALUATE(erfc_terms, (c - 2) * inverse) * inverse);
    const double small = m * EVALUATE(erf_terms, z);
    return with_sign(m > 1.5 ? large : small, x);
}
INLINE double KIND(take_sigmoid)(double x)
{
    return 1 / (1 + KIND(take_exp)(-x));
}
/* The first term keeps a NaN. */
INLINE double KIND(take_softplus)(double x)
{
    return (x < 0 ? 0 : x) + KIND(take_log1p)(KIND(take_exp)(-magnitude(x)));
}

INLINE double KIND(take_ln)(double x)
{
    const double y = KIND(take_log)(x, x - 1);
    return x > 0 && x <= FLT_MAX ? y : UNDECIDED;
}
INLINE double KIND(take_ln_1p)(double x)
{
    const double y = KIND(take_log1p)(x);
    return x == 0 ? x : x > -1 && x <= FLT_MAX ? y : UNDECIDED;
}
INLINE double KIND(take_signed_expm1)(double x)
{
    const double y = KIND(take_expm1)(x);
    return x == 0 ? x : y;
}

/* |x|^y with the sign of an odd y; y not an integer and x < 0: undecided (NaN), as are zero and
 * infinite x. */
INLINE double KIND(take_pow)(double x, double y)
{
    const double m = magnitude(x), shifted = y + SHIFTER;
    const double value = KIND(take_exp)(y * KIND(take_log)(m, m - 1));
    const double result = ulp_double_from(ulp_double_bits(value) ^
                                          (ulp_double_bits(shifted) << 63 & ulp_double_bits(x)));
    const double of_integer =
        shifted - SHIFTER == y ? magnitude(y) < 0x1p51 ? result : UNDECIDED : UNDECIDED;
    const double of_sign = x > 0 ? result : of_integer;
    return m > 0 ? m <= FLT_MAX ? of_sign : UNDECIDED : UNDECIDED;
}

#undef EVALUATE
