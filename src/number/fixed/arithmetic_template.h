/* Sums, products, quotients and roots of one element, exact up to the one rounding. Parameters as
 * of fixed/element_template.h: SIGNIFICAND, NAME(x). What depends on the operands' bits is masks
 * and shifts: a branch that is taken as often as not costs more than a product. A quotient or root
 * of values of one precision is never a tie. */

#define LIMBS (SIGNIFICAND + 1)
#define DIVISOR (SIGNIFICAND > 2 ? SIGNIFICAND : 2) /* limbs that ulp_limbs_divide works on */
#if SIGNIFICAND > 2
#define ROOT 4 /* and roots */
#else
#define ROOT 2
#endif

/* *out = (y + low 2^-64 ulp) 2^exponent rounded to nearest even; y has its top bit set; sticky:
 * something follows low. */
ULP_LIMBS_INLINE bool NAME(round)(struct ulp_record *out, const uint64_t *y, uint64_t low,
                                  bool sticky, int64_t exponent, bool negative, int precision)
{
    const int unused = 64 * SIGNIFICAND - precision;
    uint64_t window = low, rest = sticky, z[SIGNIFICAND];
    if (unused) {
        window = y[0] << (64 - unused);
        rest |= low;
    }
    const uint64_t half = UINT64_C(1) << 63, odd = y[0] >> unused & 1;
    const uint64_t up = window >> 63 & (uint64_t)((window << 1 | odd | rest) != 0);
    ulp_limbs_copy(z, y, SIGNIFICAND);
    z[0] &= ~UINT64_C(0) << unused;
    if (ulp_limbs_add_one(z, z, up << unused, SIGNIFICAND)) {
        z[SIGNIFICAND - 1] = half;
        exponent++;
    }
    ulp_limbs_copy(out->limbs, z, SIGNIFICAND);
    out->exponent = exponent;
    out->kind = MPFR_REGULAR_KIND * (1 - 2 * (int)negative);
    return true;
}

/* x + y or, flip = true, x - y. Exponents that differ by less than 64: the smaller operand, moved,
 * fits LIMBS limbs. */
ULP_LIMBS_INLINE bool NAME(sum)(struct ulp_record *out, const struct ulp_record *x,
                                const struct ulp_record *y, int precision, bool flip)
{
    const bool swap = x->exponent < y->exponent;
    const struct ulp_record *const both[2] = {x, y}, *big = both[swap], *small = both[!swap];
    const int64_t distance = big->exponent - small->exponent, exponent = big->exponent;
    if (distance >= 64)
        return false;
    const bool subtract = ((x->kind ^ y->kind) < 0) ^ flip;
    bool negative = (big->kind < 0) ^ (flip & swap);
    const uint64_t mask = -(uint64_t)subtract;
    uint64_t a[LIMBS], b[LIMBS];
    a[0] = b[0] = 0;
    ulp_limbs_copy(a + 1, big->limbs, SIGNIFICAND);
    ulp_limbs_copy(b + 1, small->limbs, SIGNIFICAND);
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < LIMBS; i++) b[i] =
        b[i] >> distance | b[i + 1] << 1 << (63 - distance);
    b[LIMBS - 1] >>= distance;
    ULP_LIMBS_UNROLL for (int i = 0; i < LIMBS; i++) b[i] ^= mask;
    uint64_t carry = mask & 1;
    ULP_LIMBS_UNROLL for (int i = 0; i < LIMBS; i++)
    {
        const ulp_limbs_pair s = (ulp_limbs_pair)a[i] + b[i] + carry;
        a[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    if (subtract && !carry) { /* equal exponents, the second is larger */
        uint64_t zero[LIMBS];
        ulp_limbs_zero(zero, LIMBS);
        ulp_limbs_sub(a, zero, a, LIMBS);
        negative = !negative;
    }
    /* A sum has at most one bit more, and the last bit of LIMBS limbs is 0. */
    const int more = (int)(carry & ~mask & 1);
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < LIMBS; i++) a[i] =
        a[i] >> more | a[i + 1] << 1 << (63 - more);
    a[LIMBS - 1] = a[LIMBS - 1] >> more | (uint64_t)more << 63;
    if (a[LIMBS - 1] == 0)
        return false;
    const int shift = __builtin_clzll(a[LIMBS - 1]);
    ulp_limbs_shift_left(a, a, shift, LIMBS);
    return NAME(round)(out, a + 1, a[0], false, exponent + more - shift, negative, precision);
}

ULP_LIMBS_INLINE bool NAME(add)(struct ulp_record *out, const struct ulp_record *x,
                                const struct ulp_record *y, int precision)
{
    return NAME(sum)(out, x, y, precision, false);
}
ULP_LIMBS_INLINE bool NAME(sub)(struct ulp_record *out, const struct ulp_record *x,
                                const struct ulp_record *y, int precision)
{
    return NAME(sum)(out, x, y, precision, true);
}

ULP_LIMBS_INLINE bool NAME(mul)(struct ulp_record *out, const struct ulp_record *x,
                                const struct ulp_record *y, int precision)
{
    uint64_t p[2 * SIGNIFICAND];
    ulp_limbs_multiply(p, x->limbs, y->limbs, SIGNIFICAND);
    const int shift = 1 - (int)(p[2 * SIGNIFICAND - 1] >> 63);
    ulp_limbs_shift_left(p, p, shift, 2 * SIGNIFICAND);
    uint64_t rest = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND - 1; i++) rest |= p[i];
    return NAME(round)(out, p + SIGNIFICAND, p[SIGNIFICAND - 1], rest != 0,
                       x->exponent + y->exponent - shift, (x->kind ^ y->kind) < 0, precision);
}

ULP_LIMBS_INLINE bool NAME(div)(struct ulp_record *out, const struct ulp_record *x,
                                const struct ulp_record *y, int precision)
{
    uint64_t a[DIVISOR + 1], b[DIVISOR], z[DIVISOR + 1];
    ulp_limbs_zero(a, DIVISOR + 1);
    ulp_limbs_zero(b, DIVISOR);
    ulp_limbs_copy(a + DIVISOR - SIGNIFICAND, x->limbs, SIGNIFICAND);
    ulp_limbs_copy(b + DIVISOR - SIGNIFICAND, y->limbs, SIGNIFICAND);
    /* Half the dividend where it is not below the divisor: the quotient is in [1/2, 1). */
    const int whole = !ulp_limbs_less(a, b, DIVISOR);
    const uint64_t low = (a[0] & (uint64_t)whole) << 63;
    ULP_LIMBS_UNROLL for (int i = 0; i < DIVISOR; i++) a[i] =
        a[i] >> whole | a[i + 1] << 1 << (63 - whole);
    ulp_limbs_divide(z + 1, a, low, b, DIVISOR);
    /* The next bit: twice the remainder is not below the divisor. */
    const uint64_t top = a[DIVISOR - 1] >> 63;
    ulp_limbs_shift_left(a, a, 1, DIVISOR);
    z[0] = (uint64_t)(top | !ulp_limbs_less(a, b, DIVISOR)) << 63;
    return NAME(round)(out, z + DIVISOR + 1 - SIGNIFICAND, z[DIVISOR - SIGNIFICAND], true,
                       x->exponent - y->exponent + whole, (x->kind ^ y->kind) < 0, precision);
}

ULP_LIMBS_INLINE bool NAME(sqrt)(struct ulp_record *out, const struct ulp_record *x,
                                 const struct ulp_record *y, int precision)
{
    (void)y;
    if (x->kind < 0)
        return false;
    const int odd = (int)(x->exponent & 1);
    uint64_t m[ROOT + 1], z[ROOT + 1];
    ulp_limbs_zero(m, ROOT + 1);
    ulp_limbs_copy(m + ROOT - SIGNIFICAND, x->limbs, SIGNIFICAND);
    const uint64_t low = m[0] & (uint64_t)odd;
    ULP_LIMBS_UNROLL for (int i = 0; i < ROOT; i++) m[i] = m[i] >> odd | m[i + 1] << 1
                                                                                  << (63 - odd);
    bool above;
#if ROOT == 2
    ulp_limbs_pair s, r;
    int top;
    if (!take_root(&s, &r, &top, (ulp_limbs_pair)m[1] << 64 | m[0], (ulp_limbs_pair)low << 127))
        return false;
    above = (top > 0) | (r > s);
    z[1] = (uint64_t)s;
    z[2] = (uint64_t)(s >> 64);
#else
    if (!take_long_root(z + 1, &above, m, low))
        return false;
#endif
    z[0] = (uint64_t)above << 63;
    return NAME(round)(out, z + ROOT + 1 - SIGNIFICAND, z[ROOT - SIGNIFICAND], true,
                       (x->exponent + odd) / 2, false, precision);
}

static size_t NAME(run_chain)(int precision, void *sum, const void *x, size_t n)
{
    struct ulp_record *const s = sum;
    size_t i = 0;
    for (; i < n; i++) {
        const struct ulp_record *term = ulp_limbs_record_const(x, i, SIGNIFICAND);
        if (!is_ordinary(s) || !is_ordinary(term) || !NAME(add)(s, s, term, precision))
            break;
    }
    return i;
}

/* x or y, the larger or the smaller; -0 is less than +0. */
ULP_LIMBS_INLINE bool NAME(extremum)(struct ulp_record *out, const struct ulp_record *x,
                                     const struct ulp_record *y, bool greater)
{
    if (x->kind == MPFR_NAN_KIND || y->kind == MPFR_NAN_KIND)
        return false;
    uint64_t a[SIGNIFICAND + 1], b[SIGNIFICAND + 1];
    ulp_limbs_copy(a, x->limbs, SIGNIFICAND);
    ulp_limbs_copy(b, y->limbs, SIGNIFICAND);
    a[SIGNIFICAND] = find_top(x);
    b[SIGNIFICAND] = find_top(y);
    /* Of equal magnitudes and signs either. */
    const bool smaller = ulp_limbs_less(a, b, SIGNIFICAND + 1), negative = x->kind < 0;
    const bool below = (x->kind ^ y->kind) < 0 ? negative : smaller ^ negative;
    const struct ulp_record *const chosen = below == greater ? y : x;
    const int64_t exponent = chosen->exponent, kind = chosen->kind;
    ulp_limbs_copy(a, chosen->limbs, SIGNIFICAND);
    ulp_limbs_copy(out->limbs, a, SIGNIFICAND);
    out->exponent = exponent;
    out->kind = kind;
    return true;
}

/* Strips. */
#define BINARY(FUNCTION, ARITY)                                                                \
    static size_t NAME(run_##FUNCTION)(int precision, void *out, const void *a, const void *b, \
                                       size_t n)                                               \
    {                                                                                          \
        size_t i = 0;                                                                          \
        for (; i < n; i++) {                                                                   \
            const struct ulp_record *x = ulp_limbs_record_const(a, i, SIGNIFICAND);            \
            const struct ulp_record *y =                                                       \
                (ARITY) > 1 ? ulp_limbs_record_const(b, i, SIGNIFICAND) : x;                   \
            if (!is_ordinary(x) || !is_ordinary(y) ||                                          \
                !NAME(FUNCTION)(ulp_limbs_record(out, i, SIGNIFICAND), x, y, precision))       \
                break;                                                                         \
        }                                                                                      \
        return i;                                                                              \
    }
BINARY(add, 2)
BINARY(sub, 2)
BINARY(mul, 2)
BINARY(div, 2)
BINARY(sqrt, 1)

#define EXTREMUM(FUNCTION, GREATER)                                                            \
    static size_t NAME(run_##FUNCTION)(int precision, void *out, const void *a, const void *b, \
                                       size_t n)                                               \
    {                                                                                          \
        size_t i = 0;                                                                          \
        (void)precision;                                                                       \
        while (i < n && NAME(extremum)(ulp_limbs_record(out, i, SIGNIFICAND),                  \
                                       ulp_limbs_record_const(a, i, SIGNIFICAND),              \
                                       ulp_limbs_record_const(b, i, SIGNIFICAND), GREATER))    \
            i++;                                                                               \
        return i;                                                                              \
    }
EXTREMUM(min, false)
EXTREMUM(max, true)

#undef BINARY
#undef EXTREMUM
#undef LIMBS
#undef DIVISOR
#undef ROOT
#undef SIGNIFICAND
#undef NAME
