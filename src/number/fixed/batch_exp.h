/* exp and sigmoid of eight records of two limbs at a time: what fixed/element_template.h does with
 * three limbs, on as many bits in four digits of 48. Included by batch.c behind its templates. */

#define EXP_LIMBS 3
#define EXP_DIGITS 4
#define EXP_ARGUMENT_BITS 14 /* |x| < 2^14 */
#define EXP_SHIFT_MAX 40     /* leading zeros of a fraction, as of one element */
#define EXP_CELL_MAX 48      /* limbs of a cell */

/* Sixteen times a digit: the high half of a product with it is that of digits of 48 bits, the low
 * half sixteen times theirs. */
OP lanes raise_digit(lanes digit)
{
    return digit << 4;
}

/* Digits 0, 1, ... of n limbs. */
OP void split_digits(lanes *digits, int count, const lanes *limbs, int n)
{
    ULP_LIMBS_UNROLL for (int i = 0; i < count; i++) digits[i] =
        take_bits(limbs, n, 64, DIGIT_BITS * i) & set(DIGIT_MASK);
}

/* The eight by eight numbers mirrored: out[i] gets number i of every row. */
OP void transpose(lanes *out, const __m512i *rows)
{
    ULP_LIMBS_UNROLL for (int odd = 0; odd < 2; odd++)
    {
        __m512i pairs[4];
        ULP_LIMBS_UNROLL for (int i = 0; i < 4; i++) pairs[i] =
            odd ? _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1])
                : _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1]);
        const __m512i a = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0x44),
                      b = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0x44),
                      c = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0xEE),
                      d = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0xEE);
        out[odd] = (lanes)_mm512_shuffle_i64x2(a, b, 0x88);
        out[2 + odd] = (lanes)_mm512_shuffle_i64x2(a, b, 0xDD);
        out[4 + odd] = (lanes)_mm512_shuffle_i64x2(c, d, 0x88);
        out[6 + odd] = (lanes)_mm512_shuffle_i64x2(c, d, 0xDD);
    }
}

/* The coefficients of each lane's cell, limb by limb. */
OP void load_cells(lanes *out, const struct ulp_series *series, lanes cells)
{
    uint64_t cell[BATCH];
    _mm512_storeu_si512(cell, (__m512i)cells);
    for (size_t first = 0; first < series->stride; first += BATCH) {
        const size_t rest = series->stride - first;
        const __mmask8 there = rest < BATCH ? (__mmask8)((1u << rest) - 1) : 0xFF;
        __m512i rows[BATCH];
        ULP_LIMBS_UNROLL for (int i = 0; i < BATCH; i++) rows[i] =
            _mm512_maskz_loadu_epi64(there,
                                     series->coefficients + cell[i] * series->stride + first);
        transpose(out + first, rows);
    }
}

/* The steps of ulp_series_steps for coefficients of l limbs, none negative; u: raised digits. The
 * lower digits of the sum are carried once only and stay below 2^48 + 8. Left out are products of
 * digits below the last column and the low halves of those in the one below it: less than 8 ulp a
 * step. */
OP void run_steps(lanes *sum, const lanes **c, const struct ulp_series *series, const lanes *u,
                  int l)
{
    const int count = l + 1;
    sum[l] = set(0);
    for (int step = series->steps[l]; step > 0; step--, *c += l) {
        lanes high[EXP_DIGITS], low[EXP_DIGITS], carry = set(0);
        split_digits(high, count, *c, l);
        ULP_LIMBS_UNROLL for (int i = 0; i < count; i++) low[i] = set(0);
        ULP_LIMBS_UNROLL for (int i = 0; i < count; i++)
            ULP_LIMBS_UNROLL for (int j = EXP_DIGITS - 1 - i; j < EXP_DIGITS; j++)
        {
            const int column = i + j - (EXP_DIGITS - 1);
            high[column] = add_high(high[column], sum[i], u[j]);
            if (column > 0)
                low[column - (column > 0)] = add_low(low[column - (column > 0)], sum[i], u[j]);
        }
        ULP_LIMBS_UNROLL for (int i = 0; i < count; i++)
        {
            const lanes column = high[i] + (low[i] >> 4);
            sum[i] = (i + 1 < count ? column & set(DIGIT_MASK) : column) + carry;
            carry = column >> DIGIT_BITS;
        }
    }
}

/* |x| as digits of a fraction and, from double, about |x|; its exponent is from EXP_ARGUMENT_BITS -
 * 63 to EXP_ARGUMENT_BITS. */
OP __m512d fix_batch(lanes *digits, const struct batch_2 *x)
{
    const int most = EXP_ARGUMENT_BITS;
    const lanes shift = set((uint64_t)most) - x->exponent, back = set(64) - shift;
    const lanes moved[EXP_LIMBS + 1] = {set(0), x->limbs[0] << most,
                                        x->limbs[1] << most | x->limbs[0] >> (64 - most),
                                        x->limbs[1] >> (64 - most)};
    lanes y[EXP_LIMBS + 1];
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_LIMBS; i++) y[i] =
        right(moved[i], shift) | left(moved[i + 1], back);
    y[EXP_LIMBS] = right(moved[EXP_LIMBS], shift);
    split_digits(digits, EXP_DIGITS, y, EXP_LIMBS);
    return _mm512_fmadd_pd(_mm512_cvtepu64_pd((__m512i)y[EXP_LIMBS - 1]), _mm512_set1_pd(0x1p-64),
                           _mm512_cvtepu64_pd((__m512i)y[EXP_LIMBS]));
}

/* The digits of log 2, raised; the first is the one below the last of a fraction. */
OP void split_constant(lanes *digits, const struct ulp_series *series)
{
    for (int i = 0; i <= EXP_DIGITS; i++) {
        const int bit = 64 - DIGIT_BITS + DIGIT_BITS * i, limb = bit / 64, within = bit % 64;
        const uint64_t bits = series->constant[limb] >> within | series->constant[limb + 1]
                                                                     << 1 << (63 - within);
        digits[i] = raise_digit(set(bits & DIGIT_MASK));
    }
}

/* As reduce and exp_fixed of fixed/element_template.h: exp(+-x) = 8 y 2^k, y in limbs. */
OP lanes exp_batch(lanes *y, const struct batch_2 *x, __mmask8 negative,
                   const struct ulp_series *series)
{
    lanes r[EXP_DIGITS], constant[EXP_DIGITS + 1], u[EXP_DIGITS], sum[EXP_DIGITS],
        coefficients[EXP_CELL_MAX], carry = set(0);
    const __m512d size = fix_batch(r, x), zero = _mm512_setzero_pd();
    const __m512d quotient =
        _mm512_sub_pd(_mm512_mul_pd(_mm512_mask_sub_pd(size, negative, zero, size),
                                    _mm512_set1_pd(0x1.71547652b82fep+0)),
                      _mm512_set1_pd(0x1p-30));
    const lanes k = (lanes)_mm512_cvtpd_epi64(
        _mm512_roundscale_pd(quotient, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
    const lanes times = (lanes)_mm512_abs_epi64((__m512i)k);
    const __mmask8 below = tops(k);
    split_constant(constant, series);
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_DIGITS; i++)
    {
        const lanes product =
            add_high(add_low(set(0), times, constant[i + 1]) >> 4, times, constant[i]);
        const lanes own = choose(negative, -r[i], r[i]) + choose(below, product, -product) + carry;
        carry = (lanes)((signed_lanes)own >> DIGIT_BITS);
        r[i] = own & set(DIGIT_MASK);
    }
    load_cells(coefficients, series, r[EXP_DIGITS - 1] >> (DIGIT_BITS - 8));
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_DIGITS; i++) u[i] = raise_digit(
        (r[i] << 8 & set(DIGIT_MASK)) | (i > 0 ? r[i - (i > 0)] >> (DIGIT_BITS - 8) : set(0)));
    const lanes *next = coefficients;
    sum[0] = set(0);
    run_steps(sum, &next, series, u, 1);
    run_steps(sum, &next, series, u, 2);
    run_steps(sum, &next, series, u, 3);
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < EXP_DIGITS; i++)
    {
        sum[i + 1] += sum[i] >> DIGIT_BITS;
        sum[i] &= set(DIGIT_MASK);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_LIMBS; i++) y[i] =
        take_bits(sum, EXP_DIGITS, DIGIT_BITS, 64 * i);
    return k;
}

/* As finish of fixed/element_template.h; false: another value is possible in a lane. */
OP bool finish_batch(struct batch_2 *out, const lanes *v, lanes exponent, int precision)
{
    const int unused = 128 - precision;
    const lanes shift = (lanes)_mm512_lzcnt_epi64((__m512i)v[EXP_LIMBS - 1]),
                back = set(64) - shift, half = set(UINT64_C(1) << 63);
    lanes y[EXP_LIMBS];
    y[0] = left(v[0], shift);
    ULP_LIMBS_UNROLL for (int i = 1; i < EXP_LIMBS; i++) y[i] =
        left(v[i], shift) | right(v[i - 1], back);
    const lanes window = left_all(y[1] << 1, 63 - unused) | right_all(y[0], unused),
                margin = left(set(ULP_SERIES_ERROR), shift);
    if (less(shift, set(EXP_SHIFT_MAX + 1)) != 0xFF ||
        less(margin + margin, window - half + margin) != 0xFF)
        return false;
    close_2(out, y + 1, tops(window), exponent - shift, 0, 0, unused);
    return true;
}

/* Opens the eight: zeros get limbs of 0; false where an argument is out of range. */
OP bool open_batch(struct batch_2 *x, __mmask8 *zero)
{
    if (!is_finite_2(zero, x))
        return false;
    const __mmask8 other = (__mmask8) ~*zero;
    x->exponent = keep(other, x->exponent);
    ULP_LIMBS_UNROLL for (int i = 0; i < 2; i++) x->limbs[i] = keep(other, x->limbs[i]);
    return less(set(EXP_ARGUMENT_BITS) - x->exponent, set(64)) == 0xFF;
}

/* A power of two where x was zero. */
OP void set_where(struct batch_2 *out, __mmask8 zero, uint64_t exponent)
{
    out->exponent = choose(zero, set(exponent), out->exponent);
    out->kind = choose(zero, set(MPFR_REGULAR_KIND), out->kind);
    out->limbs[0] = choose(zero, set(0), out->limbs[0]);
    out->limbs[1] = choose(zero, set(UINT64_C(1) << 63), out->limbs[1]);
}

OP bool batch_exp(struct batch_2 *out, struct batch_2 *x, int precision,
                  const struct ulp_series *series)
{
    __mmask8 zero;
    lanes y[EXP_LIMBS];
    if (!open_batch(x, &zero))
        return false;
    const lanes k = exp_batch(y, x, tops(x->kind), series);
    if (!finish_batch(out, y, k + set(3), precision))
        return false;
    set_where(out, zero, 1);
    return true;
}

/* y = y 2^-count, cut off. */
OP void shift_batch(lanes *y, lanes count)
{
    count = (lanes)_mm512_min_epu64((__m512i)count, (__m512i)set(64 * EXP_LIMBS));
    for (__mmask8 far; (far = (__mmask8)~less(count, set(64))) != 0;) {
        ULP_LIMBS_UNROLL for (int i = 0; i < EXP_LIMBS; i++) y[i] =
            choose(far, i + 1 < EXP_LIMBS ? y[i + (i + 1 < EXP_LIMBS)] : set(0), y[i]);
        count = add_where(far, count, -set(64));
    }
    const lanes back = set(64) - count;
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < EXP_LIMBS; i++) y[i] =
        right(y[i], count) | left(y[i + 1], back);
    y[EXP_LIMBS - 1] = right(y[EXP_LIMBS - 1], count);
}

/* q = a / b in limbs, a < b, b's top bit set, by the digits of batch_div: too small by less than 4
 * ulp. */
OP void divide_batch(lanes *q, const lanes *a, const lanes *b)
{
    lanes r[EXP_DIGITS], t[EXP_DIGITS], digits[EXP_DIGITS], found[EXP_DIGITS];
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_DIGITS; i++)
    {
        r[i] = -operand_digit_2(a, EXP_LIMBS, i);
        t[i] = operand_digit_2(b, EXP_LIMBS, i);
    }
    const __m512d divisor = doubles((b[EXP_LIMBS - 1] >> 11) + set(7)),
                  inverse = _mm512_div_pd(_mm512_set1_pd(-0x1p53), divisor);
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_DIGITS; i++)
    {
        found[i] = estimate_digit(r, EXP_DIGITS, inverse);
        if (i + 1 < EXP_DIGITS)
            remain(r, EXP_DIGITS, found[i], t, EXP_DIGITS);
    }
    ULP_LIMBS_UNROLL for (int i = EXP_DIGITS - 1; i > 0; i--)
    {
        found[i - 1] += found[i] >> DIGIT_BITS;
        digits[EXP_DIGITS - 1 - i] = found[i] & set(DIGIT_MASK);
    }
    digits[EXP_DIGITS - 1] = found[0];
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_LIMBS; i++) q[i] =
        take_bits(digits, EXP_DIGITS, DIGIT_BITS, 64 * i);
}

/* 1 / (1 + e) and e / (1 + e), e = exp(-|x|) = 8 f 2^k, k < 0. */
OP bool batch_sigmoid(struct batch_2 *out, struct batch_2 *x, int precision,
                      const struct ulp_series *series)
{
    __mmask8 zero;
    lanes f[EXP_LIMBS], y[EXP_LIMBS], q[EXP_LIMBS];
    if (!open_batch(x, &zero))
        return false;
    const lanes k = exp_batch(f, x, 0xFF, series);
    const __mmask8 positive = (__mmask8)~tops(x->kind);
    y[0] = f[0] << 1;
    ULP_LIMBS_UNROLL for (int i = 1; i < EXP_LIMBS; i++) y[i] = f[i] << 1 | f[i - 1] >> 63;
    shift_batch(y, -k - set(1));
    y[EXP_LIMBS - 1] |= set(UINT64_C(1) << 63); /* (1 + e) / 2 */
    /* 1/2 less an ulp: below y */
    ULP_LIMBS_UNROLL for (int i = 0; i < EXP_LIMBS; i++) f[i] =
        choose(positive, set(~UINT64_C(0) >> (i + 1 == EXP_LIMBS)), f[i]);
    divide_batch(q, f, y);
    if (!finish_batch(out, q, choose(positive, set(0), k + set(2)), precision))
        return false;
    set_where(out, zero, 0);
    return true;
}

/* Strips, as STRIP of fixed/batch_template.h. */
#define EXP_STRIP(FUNCTION, PRIMITIVE)                                                        \
    TARGET static size_t run_##FUNCTION##_2(int precision, void *out, const void *a,          \
                                            const void *b, size_t n)                          \
    {                                                                                         \
        const struct ulp_series *const series = ulp_series_get(ULP_SERIES_EXP, EXP_LIMBS);    \
        ulp_wide_fn *const scalar = ulp_wide_element(ULP_PRIMITIVE_##PRIMITIVE, precision);   \
        if (!series)                                                                          \
            return 0;                                                                         \
        for (size_t i = 0; i < n;) {                                                          \
            const size_t count = n - i < BATCH ? n - i : BATCH, skip = i * 32;                \
            struct batch_2 x, z;                                                              \
            if (count == BATCH && series->stride <= EXP_CELL_MAX) {                           \
                load_2(&x, a, i);                                                             \
                if (batch_##FUNCTION(&z, &x, precision, series)) {                            \
                    store_2(out, i, &z);                                                      \
                    i += BATCH;                                                               \
                    continue;                                                                 \
                }                                                                             \
            }                                                                                 \
            const size_t done = scalar(precision, (char *)out + skip, (const char *)a + skip, \
                                       (const char *)b + skip, count);                        \
            i += done;                                                                        \
            if (done < count)                                                                 \
                return i;                                                                     \
        }                                                                                     \
        return n;                                                                             \
    }
EXP_STRIP(exp, EXP)
EXP_STRIP(sigmoid, SIGMOID)
