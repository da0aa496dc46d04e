/* Functions of eight records of two limbs at a time, as fixed/element_template.h has them. Included
 * by batch.c. What an argument near 0 loses in a fraction is left of the bits behind the result's:
 * x g(x^2) is not needed. */

#define LEAST_EXPONENT \
    (-28)            /* of arguments: exp(x) - 1 and the like have at most 32 leading zeros */
#define SHIFT_MAX 40 /* leading zeros of a fraction, as of one element */

/* As finish of fixed/element_template.h; zeros where `zero`; false: another value is possible in a
 * lane. */
OP bool finish_batch(struct batch_2 *out, const lanes *v, lanes exponent, __mmask8 negative,
                     __mmask8 zero, int precision)
{
    const int unused = 128 - precision;
    const lanes shift = (lanes)_mm512_lzcnt_epi64((__m512i)v[FRACTION_LIMBS - 1]),
                half = set(UINT64_C(1) << 63);
    lanes y[FRACTION_LIMBS];
    move_up(y, v, shift);
    const lanes window = left_all(y[1] << 1, 63 - unused) | right_all(y[0], unused),
                margin = left(set(ULP_SERIES_ERROR), shift);
    if (less(shift, set(SHIFT_MAX + 1)) != 0xFF ||
        less(margin + margin, window - half + margin) != 0xFF)
        return false;
    close_2(out, y + 1, tops(window), exponent - shift, negative, zero, unused);
    return true;
}

/* Limbs of a fraction and one of integer moved down until that is 0; returns by how much. */
OP lanes align_batch(lanes *y)
{
    const lanes back = (lanes)_mm512_lzcnt_epi64((__m512i)y[FRACTION_LIMBS]), bits = set(64) - back;
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
        right(y[i], bits) | left(y[i + 1], back);
    return bits;
}

/* Opens eight with exponents from `least` to `most`, and zeros, which get 1/2 instead. */
OP bool open_batch(struct batch_2 *x, __mmask8 *zero, int least, int most)
{
    if (!is_finite_2(zero, x))
        return false;
    const __mmask8 other = (__mmask8) ~*zero;
    x->exponent = keep(other, x->exponent);
    x->limbs[1] = choose(other, x->limbs[1], set(UINT64_C(1) << 63));
    return less(x->exponent - set((uint64_t)(int64_t)least), set((uint64_t)(most - least + 1))) ==
           0xFF;
}

/* A power of two where x was zero. */
OP void set_where(struct batch_2 *out, __mmask8 zero, uint64_t exponent)
{
    out->exponent = choose(zero, set(exponent), out->exponent);
    out->limbs[0] = choose(zero, set(0), out->limbs[0]);
    out->limbs[1] = choose(zero, set(UINT64_C(1) << 63), out->limbs[1]);
}

/* y = y 2^-count, cut off. */
OP void shift_batch(lanes *y, lanes count)
{
    count = (lanes)_mm512_min_epu64((__m512i)count, (__m512i)set(64 * FRACTION_LIMBS));
    for (__mmask8 far; (far = (__mmask8)~less(count, set(64))) != 0;) {
        ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
            choose(far, i + 1 < FRACTION_LIMBS ? y[i + (i + 1 < FRACTION_LIMBS)] : set(0), y[i]);
        count = add_where(far, count, -set(64));
    }
    const lanes back = set(64) - count;
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < FRACTION_LIMBS; i++) y[i] =
        right(y[i], count) | left(y[i + 1], back);
    y[FRACTION_LIMBS - 1] = right(y[FRACTION_LIMBS - 1], count);
}

/* q = a / b in limbs, a < b, b's top bit set, by the digits of batch_div: too small by less than 4
 * ulp. */
OP void divide_batch(lanes *q, const lanes *a, const lanes *b)
{
    lanes r[FRACTION_DIGITS], t[FRACTION_DIGITS], digits[FRACTION_DIGITS], found[FRACTION_DIGITS];
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_DIGITS; i++)
    {
        r[i] = -operand_digit_2(a, FRACTION_LIMBS, i);
        t[i] = operand_digit_2(b, FRACTION_LIMBS, i);
    }
    const __m512d divisor = doubles((b[FRACTION_LIMBS - 1] >> 11) + set(7)),
                  inverse = _mm512_div_pd(_mm512_set1_pd(-0x1p53), divisor);
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_DIGITS; i++)
    {
        found[i] = estimate_digit(r, FRACTION_DIGITS, inverse);
        if (i + 1 < FRACTION_DIGITS)
            remain(r, FRACTION_DIGITS, found[i], t, FRACTION_DIGITS);
    }
    ULP_LIMBS_UNROLL for (int i = FRACTION_DIGITS - 1; i > 0; i--)
    {
        found[i - 1] += found[i] >> DIGIT_BITS;
        digits[FRACTION_DIGITS - 1 - i] = found[i] & set(DIGIT_MASK);
    }
    digits[FRACTION_DIGITS - 1] = found[0];
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) q[i] =
        take_bits(digits, FRACTION_DIGITS, DIGIT_BITS, 64 * i);
}

/* A batch of a function by its series; false: an element is not its own to decide. */
typedef bool function_batch(struct batch_2 *out, struct batch_2 *x, int precision,
                            const struct ulp_series *series, const struct ulp_series *second);
#define FUNCTION(NAME)                                                                     \
    TARGET static bool batch_##NAME(struct batch_2 *out, struct batch_2 *x, int precision, \
                                    const struct ulp_series *series,                       \
                                    const struct ulp_series *second)

FUNCTION(exp)
{
    __mmask8 zero;
    lanes y[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, ARGUMENT_BITS - 63, ARGUMENT_BITS))
        return false;
    const lanes k = exp_batch(y, x, tops(x->kind), series);
    if (!finish_batch(out, y, k + set(3), 0, 0, precision))
        return false;
    set_where(out, zero, 1);
    return true;
}

/* y = e / 2 and f, e = exp(-|x|) = 8 f 2^k, k < 0; returns k. */
OP lanes half_exp(lanes *y, lanes *f, const struct batch_2 *x, const struct ulp_series *series)
{
    const lanes k = exp_batch(f, x, 0xFF, series);
    move_up(y, f, set(1));
    shift_batch(y, -k - set(1));
    return k;
}

/* 1 / (1 + e) and e / (1 + e), e = exp(-|x|). */
FUNCTION(sigmoid)
{
    __mmask8 zero;
    lanes f[FRACTION_LIMBS], y[FRACTION_LIMBS], q[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, ARGUMENT_BITS - 63, ARGUMENT_BITS))
        return false;
    const lanes k = half_exp(y, f, x, series);
    const __mmask8 positive = (__mmask8)~tops(x->kind);
    y[FRACTION_LIMBS - 1] |= set(UINT64_C(1) << 63); /* (1 + e) / 2 */
    /* 1/2 less an ulp: below y */
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) f[i] =
        choose(positive, set(~UINT64_C(0) >> (i + 1 == FRACTION_LIMBS)), f[i]);
    divide_batch(q, f, y);
    if (!finish_batch(out, q, choose(positive, set(0), k + set(2)), 0, 0, precision))
        return false;
    set_where(out, zero, 0);
    return true;
}

/* (1 - e) / (1 + e), e = exp(-2 |x|). */
FUNCTION(tanh)
{
    __mmask8 zero;
    lanes f[FRACTION_LIMBS], y[FRACTION_LIMBS], q[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, LEAST_EXPONENT, ARGUMENT_BITS - 1))
        return false;
    x->exponent += set(1);
    half_exp(y, f, x, series);
    /* (1 - e) / 2, an ulp too small: below the divisor */
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) f[i] = ~y[i];
    f[FRACTION_LIMBS - 1] &= set(~UINT64_C(0) >> 1);
    y[FRACTION_LIMBS - 1] |= set(UINT64_C(1) << 63);
    divide_batch(q, f, y);
    return finish_batch(out, q, set(0), tops(x->kind), zero, precision);
}

/* exp(x) - 1 = 2^(k+3) (f - 2^(-k-3)), or for x < 0 the negative of 2 (1/2 - 4 f 2^k). */
FUNCTION(expm1)
{
    __mmask8 zero;
    lanes f[FRACTION_LIMBS], y[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, LEAST_EXPONENT, ARGUMENT_BITS))
        return false;
    const __mmask8 negative = tops(x->kind);
    const lanes k = exp_batch(f, x, negative, series);
    ULP_LIMBS_UNROLL for (int i = FRACTION_LIMBS - 1; i >= 0; i--)
    {
        const bool top = i + 1 == FRACTION_LIMBS;
        y[i] = choose(negative, f[i] << 1 | (i > 0 ? f[i - (i > 0)] >> 63 : set(0)),
                      set((uint64_t)top << 61));
        f[i] = choose(negative, set((uint64_t)top << 63), f[i]);
    }
    shift_batch(y, choose(negative, -k - set(1), k));
    __mmask8 borrow = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++)
    {
        const __mmask8 next = less(f[i], y[i]) | (borrow & equal(f[i], y[i]));
        f[i] = add_where(borrow, f[i] - y[i], set(~UINT64_C(0)));
        borrow = next;
    }
    return finish_batch(out, f, choose(negative, set(1), k + set(3)), negative, zero, precision);
}

/* *out = log(m 2^exponent), 1/2 <= m < 1: (exponent - 1) log 2 + log(1 + t), t = 2 m - 1. */
OP bool log_of_batch(struct batch_2 *out, const lanes *m, lanes exponent, __mmask8 zero,
                     int precision, const struct ulp_series *series)
{
    lanes t[FRACTION_LIMBS], y[FRACTION_LIMBS + 1], digits[FRACTION_DIGITS];
    const lanes k = exponent - set(1);
    move_up(t, m, set(1));
    log_batch(y, t, series);
    split_digits(digits, FRACTION_DIGITS, y, FRACTION_LIMBS);
    y[FRACTION_LIMBS] =
        subtract_multiple(digits, tops(k), -(lanes)_mm512_abs_epi64((__m512i)k), series);
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
        take_bits(digits, FRACTION_DIGITS, DIGIT_BITS, 64 * i);
    const __mmask8 below = tops(y[FRACTION_LIMBS]);
    const lanes bits = align_batch(y);
    return !below && finish_batch(out, y, bits, tops(k), zero, precision);
}

FUNCTION(log)
{
    __mmask8 zero;
    const lanes m[FRACTION_LIMBS] = {set(0), x->limbs[0], x->limbs[1]};
    (void)second;
    return open_batch(x, &zero, -0x10000, 0x10000) && !zero && !tops(x->kind) &&
           log_of_batch(out, m, x->exponent, 0, precision, series);
}

/* log of 1 + x, which is exact: no bit of x is below 2^-157. Only from 2^-9 on. */
FUNCTION(log1p)
{
    __mmask8 zero;
    lanes w[FRACTION_LIMBS + 1], m[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, LEAST_EXPONENT, ARGUMENT_BITS))
        return false;
    const __mmask8 negative = tops(x->kind);
    fix_batch(w, x);
    __mmask8 borrow = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i <= FRACTION_LIMBS; i++)
    {
        const lanes difference = add_where(borrow, -w[i], set(~UINT64_C(0)));
        borrow |= nonzero(w[i]);
        w[i] = choose(negative, difference, w[i]);
    }
    w[FRACTION_LIMBS] += set(1);
    const __mmask8 below = tops(w[FRACTION_LIMBS]);
    const lanes bits = align_batch(w),
                shift = (lanes)_mm512_lzcnt_epi64((__m512i)w[FRACTION_LIMBS - 1]);
    move_up(m, w, shift);
    return !below && less(shift, set(9)) == 0xFF &&
           log_of_batch(out, m, bits - shift, zero, precision, series);
}

/* max(x, 0) + log(1 + exp(-|x|)). */
FUNCTION(softplus)
{
    __mmask8 zero;
    lanes e[FRACTION_LIMBS], f[FRACTION_LIMBS], y[FRACTION_LIMBS + 1], fixed[FRACTION_LIMBS + 1];
    if (!open_batch(x, &zero, LEAST_EXPONENT, ARGUMENT_BITS))
        return false;
    half_exp(e, f, x, series);
    ULP_LIMBS_UNROLL for (int i = FRACTION_LIMBS - 1; i > 0; i--) e[i] =
        choose(zero, set(~UINT64_C(0)), e[i] << 1 | e[i - 1] >> 63);
    e[0] = choose(zero, set(~UINT64_C(0)), e[0] << 1);
    log_batch(y, e, second);
    const __mmask8 positive = (__mmask8) ~(tops(x->kind) | zero);
    __mmask8 carry = 0;
    fix_batch(fixed, x);
    y[FRACTION_LIMBS] = set(0);
    ULP_LIMBS_UNROLL for (int i = 0; i <= FRACTION_LIMBS; i++)
    {
        const lanes term = keep(positive, fixed[i]), sum = y[i] + term;
        y[i] = add_where(carry, sum, set(1));
        carry = less(sum, term) | (carry & equal(sum, set(~UINT64_C(0))));
    }
    const lanes bits = align_batch(y);
    return finish_batch(out, y, bits, 0, 0, precision);
}

FUNCTION(erf)
{
    __mmask8 zero;
    lanes fixed[FRACTION_LIMBS + 1], digits[FRACTION_DIGITS], y[FRACTION_LIMBS];
    (void)second;
    if (!open_batch(x, &zero, LEAST_EXPONENT, ARGUMENT_BITS))
        return false;
    fix_batch(fixed, x);
    const __mmask8 one =
        (__mmask8)~less(fixed[FRACTION_LIMBS], set((uint64_t)ulp_series_erf_end(FRACTION_LIMBS)));
    split_digits(digits, FRACTION_DIGITS, fixed, FRACTION_LIMBS);
    const lanes cells = fixed[FRACTION_LIMBS] << 6 | fixed[FRACTION_LIMBS - 1] >> 58;
    evaluate_batch(y, series, keep((__mmask8)~one, cells), digits);
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
        choose(one, set((uint64_t)(i + 1 == FRACTION_LIMBS) << 61), y[i]);
    return !tops(y[FRACTION_LIMBS - 1]) &&
           finish_batch(out, y, set(3), tops(x->kind), zero, precision);
}

/* Strips, as STRIP of fixed/batch_template.h. */
TARGET static size_t run_function(function_batch *function, enum ulp_primitive primitive,
                                  enum ulp_series_kind kind, enum ulp_series_kind second_kind,
                                  int precision, void *out, const void *a, size_t n)
{
    const struct ulp_series *const series = ulp_series_get(kind, FRACTION_LIMBS),
                                   *const second = ulp_series_get(second_kind, FRACTION_LIMBS);
    ulp_wide_fn *const scalar = ulp_wide_element(primitive, precision);
    if (!series || !second)
        return 0;
    const bool fits = series->stride <= CELL_MAX && second->stride <= CELL_MAX;
    for (size_t i = 0; i < n;) {
        const size_t count = n - i < BATCH ? n - i : BATCH, skip = i * 32;
        struct batch_2 x, z;
        if (count == BATCH && fits) {
            load_2(&x, a, i);
            if (function(&z, &x, precision, series, second)) {
                store_2(out, i, &z);
                i += BATCH;
                continue;
            }
        }
        const char *const from = (const char *)a + skip;
        const size_t done = scalar(precision, (char *)out + skip, from, from, count);
        i += done;
        if (done < count)
            return i;
    }
    return n;
}
#define FUNCTION_STRIP(NAME, PRIMITIVE, SERIES, SECOND)                                            \
    static size_t run_##NAME##_2(int precision, void *out, const void *a, const void *b, size_t n) \
    {                                                                                              \
        (void)b;                                                                                   \
        return run_function(batch_##NAME, ULP_PRIMITIVE_##PRIMITIVE, ULP_SERIES_##SERIES,          \
                            ULP_SERIES_##SECOND, precision, out, a, n);                            \
    }
FUNCTION_STRIP(exp, EXP, EXP, EXP)
FUNCTION_STRIP(expm1, EXPM1, EXP, EXP)
FUNCTION_STRIP(sigmoid, SIGMOID, EXP, EXP)
FUNCTION_STRIP(tanh, TANH, EXP, EXP)
FUNCTION_STRIP(erf, ERF, ERF, ERF)
FUNCTION_STRIP(log, LOG, LOG1P, LOG1P)
FUNCTION_STRIP(log1p, LOG1P, LOG1P, LOG1P)
FUNCTION_STRIP(softplus, SOFTPLUS, EXP, LOG1P)
