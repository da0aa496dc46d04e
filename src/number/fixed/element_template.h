/* Functions of one element, for records of SIGNIFICAND limbs. The including file defines
 *   SIGNIFICAND   limbs of a record, 1 to 4
 *   NAME(x)       x with a suffix of the instance's own
 * Results are computed as fractions of LIMBS = SIGNIFICAND + 1 limbs. Every error bound is in ulp
 * of LIMBS limbs; ERROR covers all of them (README.md, section 8). */

#define LIMBS (SIGNIFICAND + 1)

/* |x| 2^extra as LIMBS limbs of fraction and one of integer, cut off; exponent + extra <= 63. */
ULP_LIMBS_INLINE void NAME(fix)(uint64_t *y, const struct ulp_record *x, int extra)
{
    uint64_t moved[LIMBS + 1];
    const int64_t shift = x->exponent + extra;
    moved[0] = 0;
    moved[LIMBS] = 0;
    ulp_limbs_copy(moved + 1, x->limbs, SIGNIFICAND);
    if (shift >= 0)
        ulp_limbs_shift_left(y, moved, (int)shift, LIMBS + 1);
    else
        ulp_limbs_shift_right(y, moved, -shift, LIMBS + 1);
}

/* *out = v 2^exponent rounded, where v, a fraction, errs by at most `error` ulp; false when another
 * value is possible. */
ULP_LIMBS_INLINE bool NAME(finish)(struct ulp_record *out, const uint64_t *v, int64_t exponent,
                                   bool negative, int precision, uint64_t error)
{
    uint64_t y[LIMBS];
    if (v[LIMBS - 1] >> (63 - SHIFT_MAX) == 0)
        return false;
    const int shift = __builtin_clzll(v[LIMBS - 1]), unused = 64 * SIGNIFICAND - precision;
    ulp_limbs_shift_left(y, v, shift, LIMBS);
    /* The 64 bits below the result's last; 2^63 is a tie. */
    const uint64_t window = y[1] << 1 << (63 - unused) | y[0] >> unused, half = UINT64_C(1) << 63;
    const uint64_t margin = error << shift;
    if (window - half + margin <= 2 * margin)
        return false;
    const uint64_t up = (window >> 63) << unused;
    y[1] &= ~UINT64_C(0) << unused;
    if (ulp_limbs_add_one(y + 1, y + 1, up, SIGNIFICAND)) {
        y[LIMBS - 1] = half;
        exponent++;
    }
    ulp_limbs_copy(out->limbs, y + 1, SIGNIFICAND);
    out->exponent = exponent - shift;
    out->kind = negative ? -MPFR_REGULAR_KIND : MPFR_REGULAR_KIND;
    return true;
}

/* The same for LIMBS limbs of fraction and one of integer. */
ULP_LIMBS_INLINE bool NAME(finish_mixed)(struct ulp_record *out, const uint64_t *v, bool negative,
                                         int precision)
{
    if (v[LIMBS] == 0)
        return NAME(finish)(out, v, 0, negative, precision, ERROR);
    uint64_t y[LIMBS + 1];
    const int bits = 64 - __builtin_clzll(v[LIMBS]);
    ulp_limbs_shift_right(y, v, bits, LIMBS + 1);
    return NAME(finish)(out, y, bits, negative, precision, ERROR);
}

/* Splits x into k and r: +-x = k c + r, 0 <= r < c + 2^-29, where c is the series' constant. x <
 * 2^16, r of LIMBS limbs of fraction and one of integer. inverse = 1 / c; the quotient in double
 * errs by less than 2^-34, so taking 2^-30 from it makes r positive. r errs by 2 ulp: one of x, one
 * of |k| times the constant's. */
ULP_LIMBS_INLINE int64_t NAME(reduce)(uint64_t *r, const uint64_t *x, bool negative,
                                      const struct ulp_series *series, double inverse)
{
    const double size = (double)x[LIMBS] + 0x1p-64 * (double)x[LIMBS - 1];
    const double quotient = (negative ? -size : size) * inverse - 0x1p-30;
    int64_t k = (int64_t)quotient;
    k -= quotient < (double)k;
    uint64_t product[LIMBS + 3];
    ulp_limbs_multiply_one(product, series->constant, (uint64_t)(k < 0 ? -k : k), LIMBS + 2);
    if (k >= 0)
        ulp_limbs_sub(r, x, product + 1, LIMBS + 1);
    else if (negative)
        ulp_limbs_sub(r, product + 1, x, LIMBS + 1);
    else
        ulp_limbs_add(r, product + 1, x, LIMBS + 1);
    return k;
}

/* exp(+-x) = 8 y 2^k, 1/8 <= y < 1/4 + 2^-29. */
ULP_LIMBS_INLINE int64_t NAME(exp_fixed)(uint64_t *y, const uint64_t *x, bool negative,
                                         const struct ulp_series *series)
{
    uint64_t r[LIMBS + 1], u[LIMBS];
    const int64_t k = NAME(reduce)(r, x, negative, series, 0x1.71547652b82fep+0);
    ulp_limbs_shift_left(u, r, 8, LIMBS);
    ulp_series_evaluate(y, series, r[LIMBS - 1] >> 56, u, LIMBS);
    return k;
}

/* y = exp(-x 2^doublings) < 1, errs by 2^12 ulp; false where x is too small or large. x >=
 * 2^-64. */
ULP_LIMBS_INLINE bool NAME(exp_below_one)(uint64_t *y, uint64_t *f, int64_t *k,
                                          const struct ulp_record *x, int doublings,
                                          const struct ulp_series *series)
{
    uint64_t fixed[LIMBS + 1];
    if (x->exponent > ARGUMENT_BITS || x->exponent < -60)
        return false;
    NAME(fix)(fixed, x, doublings);
    *k = NAME(exp_fixed)(f, fixed, true, series);
    if (*k > -3)
        ulp_limbs_shift_left(y, f, (int)(3 + *k), LIMBS);
    else
        ulp_limbs_shift_right(y, f, -3 - *k, LIMBS);
    return true;
}

static bool NAME(exp)(struct ulp_record *out, const struct ulp_record *x, int precision,
                      const struct ulp_series *series)
{
    uint64_t fixed[LIMBS + 1], y[LIMBS];
    if (x->exponent > ARGUMENT_BITS)
        return false;
    NAME(fix)(fixed, x, 0);
    const int64_t k = NAME(exp_fixed)(y, fixed, x->kind < 0, series);
    return NAME(finish)(out, y, k + 3, false, precision, ERROR);
}

/* exp(x) - 1 = 2^(k+3) (y - 2^(-k-3)), or for k < 0 the negative of 1 - 8 y 2^k. */
static bool NAME(expm1)(struct ulp_record *out, const struct ulp_record *x, int precision,
                        const struct ulp_series *series)
{
    uint64_t y[LIMBS], z[LIMBS], fixed[LIMBS + 1], one[LIMBS];
    int64_t k;
    if (x->kind < 0) {
        if (!NAME(exp_below_one)(y, z, &k, x, 0, series))
            return false;
        ULP_LIMBS_UNROLL for (int i = 0; i < LIMBS; i++) z[i] = ~y[i]; /* an ulp too small: not 1 */
        return NAME(finish)(out, z, 0, true, precision, ERROR);
    }
    if (x->exponent > ARGUMENT_BITS || x->exponent < -60)
        return false;
    NAME(fix)(fixed, x, 0);
    k = NAME(exp_fixed)(y, fixed, false, series);
    if (k < 0)
        return false;
    ulp_limbs_zero(one, LIMBS);
    one[LIMBS - 1] = UINT64_C(1) << 61;
    ulp_limbs_shift_right(one, one, k, LIMBS);
    ulp_limbs_sub(z, y, one, LIMBS);
    return NAME(finish)(out, z, k + 3, false, precision, ERROR);
}

/* 1 / (1 + e) and e / (1 + e), e = exp(-|x|) = 8 f 2^k. */
static bool NAME(sigmoid)(struct ulp_record *out, const struct ulp_record *x, int precision,
                          const struct ulp_series *series)
{
    uint64_t y[LIMBS], f[LIMBS], q[LIMBS];
    int64_t k;
    if (!NAME(exp_below_one)(y, f, &k, x, 0, series))
        return false;
    ulp_limbs_shift_right(y, y, 1, LIMBS);
    y[LIMBS - 1] |= UINT64_C(1) << 63; /* (1 + e) / 2 */
    if (x->kind > 0) {
        /* 1/2 less an ulp: below y */
        ULP_LIMBS_UNROLL for (int i = 0; i < LIMBS; i++) f[i] = ~UINT64_C(0);
        f[LIMBS - 1] >>= 1;
    }
    ulp_limbs_divide(q, f, 0, y, LIMBS);
    return NAME(finish)(out, q, x->kind > 0 ? 0 : k + 2, false, precision, ERROR);
}

/* x g(x^2), g of the series, for |x| < 2^-5. */
ULP_LIMBS_INLINE bool NAME(odd)(struct ulp_record *out, const struct ulp_record *x, int precision,
                                const struct ulp_series *small)
{
    uint64_t m[LIMBS], u[LIMBS], y[LIMBS];
    m[0] = 0;
    ulp_limbs_copy(m + 1, x->limbs, SIGNIFICAND);
    ulp_limbs_multiply_high(u, m, m, LIMBS);
    ulp_limbs_shift_right(u, u, -2 * x->exponent - 10, LIMBS);
    ulp_series_evaluate(y, small, 0, u, LIMBS);
    ulp_limbs_multiply_high(y, y, m, LIMBS);
    return NAME(finish)(out, y, x->exponent + 3, x->kind < 0, precision, ERROR);
}

/* (1 - e) / (1 + e), e = exp(-2 |x|). */
static bool NAME(tanh)(struct ulp_record *out, const struct ulp_record *x, int precision,
                       const struct ulp_series *series, const struct ulp_series *small)
{
    if (x->exponent <= -5)
        return x->exponent >= EXPONENT_MIN && NAME(odd)(out, x, precision, small);
    uint64_t y[LIMBS], f[LIMBS], q[LIMBS];
    int64_t k;
    if (!NAME(exp_below_one)(y, f, &k, x, 1, series))
        return false;
    /* an ulp too small: below the divisor */
    ULP_LIMBS_UNROLL for (int i = 0; i < LIMBS; i++) f[i] = ~y[i];
    ulp_limbs_shift_right(f, f, 1, LIMBS);
    ulp_limbs_shift_right(y, y, 1, LIMBS);
    y[LIMBS - 1] |= UINT64_C(1) << 63;
    ulp_limbs_divide(q, f, 0, y, LIMBS);
    return NAME(finish)(out, q, 0, x->kind < 0, precision, ERROR);
}

static bool NAME(erf)(struct ulp_record *out, const struct ulp_record *x, int precision,
                      const struct ulp_series *series, const struct ulp_series *small)
{
    if (x->exponent <= -5)
        return x->exponent >= EXPONENT_MIN && NAME(odd)(out, x, precision, small);
    if (x->exponent > EXPONENT_MAX)
        return false;
    uint64_t fixed[LIMBS + 1], u[LIMBS], y[LIMBS];
    if (x->exponent <= 4)
        NAME(fix)(fixed, x, 0);
    if (x->exponent > 4 || fixed[LIMBS] >= (uint64_t)ulp_series_erf_end(LIMBS)) {
        ulp_limbs_zero(out->limbs, SIGNIFICAND);
        out->limbs[SIGNIFICAND - 1] = UINT64_C(1) << 63;
        out->exponent = 1;
        out->kind = x->kind;
        return true;
    }
    ulp_limbs_shift_left(u, fixed, 6, LIMBS);
    ulp_series_evaluate(y, series, fixed[LIMBS] << 6 | fixed[LIMBS - 1] >> 58, u, LIMBS);
    return NAME(finish)(out, y, 3, x->kind < 0, precision, ERROR);
}

/* y = log(1 + t), a fraction. */
ULP_LIMBS_INLINE void NAME(log_fixed)(uint64_t *y, const uint64_t *t,
                                      const struct ulp_series *series)
{
    uint64_t u[LIMBS];
    ulp_limbs_shift_left(u, t, 7, LIMBS);
    ulp_series_evaluate(y, series, t[LIMBS - 1] >> 57, u, LIMBS);
    ulp_limbs_shift_left(y, y, 3, LIMBS);
}

/* log(m 2^exponent), 1/2 <= m < 1: (exponent - 1) log 2 + log(1 + t), t = 2 m - 1. */
ULP_LIMBS_INLINE bool NAME(log_of)(struct ulp_record *out, const uint64_t *m, int64_t exponent,
                                   int precision, const struct ulp_series *series)
{
    uint64_t t[LIMBS], y[LIMBS + 1], product[LIMBS + 3];
    ulp_limbs_shift_left(t, m, 1, LIMBS);
    NAME(log_fixed)(y, t, series);
    y[LIMBS] = 0;
    const int64_t k = exponent - 1;
    ulp_limbs_multiply_one(product, series->constant, (uint64_t)(k < 0 ? -k : k), LIMBS + 2);
    if (k >= 0)
        ulp_limbs_add(y, product + 1, y, LIMBS + 1);
    else if (ulp_limbs_sub(y, product + 1, y, LIMBS + 1))
        return false;
    return NAME(finish_mixed)(out, y, k < 0, precision);
}

static bool NAME(log)(struct ulp_record *out, const struct ulp_record *x, int precision,
                      const struct ulp_series *series)
{
    uint64_t m[LIMBS];
    if (x->kind < 0 || x->exponent > EXPONENT_MAX || x->exponent < EXPONENT_MIN)
        return false;
    m[0] = 0;
    ulp_limbs_copy(m + 1, x->limbs, SIGNIFICAND);
    return NAME(log_of)(out, m, x->exponent, precision, series);
}

static bool NAME(log1p)(struct ulp_record *out, const struct ulp_record *x, int precision,
                        const struct ulp_series *series)
{
    uint64_t w[LIMBS + 1];
    if (x->exponent > ARGUMENT_BITS || x->exponent < -60)
        return false;
    NAME(fix)(w, x, 0);
    if (x->kind > 0) {
        w[LIMBS]++;
        const int bits = 64 - __builtin_clzll(w[LIMBS]);
        ulp_limbs_shift_right(w, w, bits, LIMBS + 1);
        return NAME(log_of)(out, w, bits, precision, series);
    }
    uint64_t rest[LIMBS] = {0};
    ulp_limbs_sub(rest, rest, w, LIMBS);
    /* the ulp of error becomes at most 2^8 ulp of the significand */
    if (w[LIMBS] != 0 || rest[LIMBS - 1] >> 55 == 0)
        return false;
    const int shift = __builtin_clzll(rest[LIMBS - 1]);
    ulp_limbs_shift_left(rest, rest, shift, LIMBS);
    return NAME(log_of)(out, rest, -shift, precision, series);
}

/* max(x, 0) + log(1 + exp(-|x|)). */
static bool NAME(softplus)(struct ulp_record *out, const struct ulp_record *x, int precision,
                           const struct ulp_series *series, const struct ulp_series *log_series)
{
    uint64_t e[LIMBS], f[LIMBS], y[LIMBS + 1], fixed[LIMBS + 1];
    int64_t k;
    if (!NAME(exp_below_one)(e, f, &k, x, 0, series))
        return false;
    NAME(log_fixed)(y, e, log_series);
    y[LIMBS] = 0;
    if (x->kind > 0) {
        NAME(fix)(fixed, x, 0);
        ulp_limbs_add(y, y, fixed, LIMBS + 1);
    }
    return NAME(finish_mixed)(out, y, false, precision);
}

/* sin or cos of |x| = k pi/2 + r: quadrants counted from the sine's. */
ULP_LIMBS_INLINE bool NAME(circular)(struct ulp_record *out, const struct ulp_record *x,
                                     int precision, int64_t quadrant, bool negative,
                                     const struct ulp_series *sine, const struct ulp_series *cosine)
{
    uint64_t fixed[LIMBS + 1], r[LIMBS + 1], u[LIMBS], y[LIMBS];
    if (x->exponent > ARGUMENT_BITS)
        return false;
    NAME(fix)(fixed, x, 0);
    quadrant += NAME(reduce)(r, fixed, false, sine, 0x1.45f306dc9c883p-1);
    ulp_limbs_shift_left(u, r, 7, LIMBS);
    ulp_series_evaluate(y, quadrant & 1 ? cosine : sine, r[LIMBS] << 7 | r[LIMBS - 1] >> 57, u,
                        LIMBS);
    if ((int64_t)y[LIMBS - 1] < 0)
        return false;
    return NAME(finish)(out, y, 3, negative ^ ((quadrant & 2) != 0), precision, ERROR);
}
static bool NAME(sin)(struct ulp_record *out, const struct ulp_record *x, int precision,
                      const struct ulp_series *sine, const struct ulp_series *cosine)
{
    return NAME(circular)(out, x, precision, 0, x->kind < 0, sine, cosine);
}
static bool NAME(cos)(struct ulp_record *out, const struct ulp_record *x, int precision,
                      const struct ulp_series *sine, const struct ulp_series *cosine)
{
    return NAME(circular)(out, x, precision, 1, false, sine, cosine);
}

/* Strips. */
#define UNARY(FUNCTION, SERIES)                                                                \
    static size_t NAME(run_##FUNCTION)(int precision, void *out, const void *a, const void *b, \
                                       size_t n)                                               \
    {                                                                                          \
        const struct ulp_series *const first = ulp_series_get(ULP_SERIES_##SERIES, LIMBS);     \
        size_t i = 0;                                                                          \
        (void)b;                                                                               \
        if (!first)                                                                            \
            return 0;                                                                          \
        for (; i < n; i++) {                                                                   \
            const struct ulp_record *x = ulp_limbs_record_const(a, i, SIGNIFICAND);            \
            if (!is_regular(x) ||                                                              \
                !NAME(FUNCTION)(ulp_limbs_record(out, i, SIGNIFICAND), x, precision, first))   \
                break;                                                                         \
        }                                                                                      \
        return i;                                                                              \
    }
#define UNARY_OF_TWO(FUNCTION, SERIES, SECOND)                                                 \
    static size_t NAME(run_##FUNCTION)(int precision, void *out, const void *a, const void *b, \
                                       size_t n)                                               \
    {                                                                                          \
        const struct ulp_series *const first = ulp_series_get(ULP_SERIES_##SERIES, LIMBS);     \
        const struct ulp_series *const second = ulp_series_get(ULP_SERIES_##SECOND, LIMBS);    \
        size_t i = 0;                                                                          \
        (void)b;                                                                               \
        if (!first || !second)                                                                 \
            return 0;                                                                          \
        for (; i < n; i++) {                                                                   \
            const struct ulp_record *x = ulp_limbs_record_const(a, i, SIGNIFICAND);            \
            if (!is_regular(x) || !NAME(FUNCTION)(ulp_limbs_record(out, i, SIGNIFICAND), x,    \
                                                  precision, first, second))                   \
                break;                                                                         \
        }                                                                                      \
        return i;                                                                              \
    }
UNARY(exp, EXP)
UNARY(expm1, EXP)
UNARY(sigmoid, EXP)
UNARY(log, LOG1P)
UNARY(log1p, LOG1P)
UNARY_OF_TWO(tanh, EXP, TANH_SMALL)
UNARY_OF_TWO(erf, ERF, ERF_SMALL)
UNARY_OF_TWO(softplus, EXP, LOG1P)
UNARY_OF_TWO(sin, SIN, COS)
UNARY_OF_TWO(cos, SIN, COS)

static ulp_wide_fn *const NAME(functions)[ULP_PRIMITIVE_COUNT] = {
    [ULP_PRIMITIVE_EXP] = NAME(run_exp),         [ULP_PRIMITIVE_EXPM1] = NAME(run_expm1),
    [ULP_PRIMITIVE_SIGMOID] = NAME(run_sigmoid), [ULP_PRIMITIVE_TANH] = NAME(run_tanh),
    [ULP_PRIMITIVE_ERF] = NAME(run_erf),         [ULP_PRIMITIVE_LOG] = NAME(run_log),
    [ULP_PRIMITIVE_LOG1P] = NAME(run_log1p),     [ULP_PRIMITIVE_SOFTPLUS] = NAME(run_softplus),
    [ULP_PRIMITIVE_SIN] = NAME(run_sin),         [ULP_PRIMITIVE_COS] = NAME(run_cos),
};

#undef UNARY
#undef UNARY_OF_TWO
#undef LIMBS
#undef SIGNIFICAND
#undef NAME
