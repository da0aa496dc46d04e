/* The series of eight fractions of three limbs at a time: what fixed/series.h and the reductions of
 * fixed/element_template.h do, on as many bits in four digits of 48. Included by batch.c behind its
 * templates. */

#define FRACTION_LIMBS 3
#define FRACTION_DIGITS 4
#define ARGUMENT_BITS 14 /* |x| < 2^14 */
#define CELL_MAX 64      /* limbs of a cell */

/* Sixteen times a digit: the high half of a product with it is that of digits of 48 bits, the low
 * half sixteen times theirs. */
OP lanes raise_digit(lanes digit)
{
    return digit << 4;
}

/* y = x 2^count of a fraction, without what leaves it. */
OP void move_up(lanes *y, const lanes *x, lanes count)
{
    y[0] = left(x[0], count);
    ULP_LIMBS_UNROLL for (int i = 1; i < FRACTION_LIMBS; i++) y[i] =
        left(x[i], count) | right(x[i - 1], set(64) - count);
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

/* The steps of ulp_series_steps for coefficients of l limbs. A sum s of l + 1 digits is held as s +
 * 1, so that no digit is negative: u (s + 1) is too large by u, and the complement of u's digits, 1
 * - u less an ulp, makes u s + 1 of it. u: raised digits. The lower digits of the sum are carried
 * once only and stay below 2^48 + 9. Left out are products of digits below the last column, the low
 * halves of those in the one below it, and an ulp and what is cut off u for the complement: less
 * than 11 ulp a step, the coefficient's half included. */
OP void run_steps(lanes *sum, const lanes **c, const struct ulp_series *series, const lanes *u,
                  const lanes *complement, int l)
{
    const int count = l + 1;
    sum[l] = set(DIGIT_MASK);
    for (int step = series->steps[l]; step > 0; step--, *c += l) {
        lanes high[FRACTION_DIGITS], low[FRACTION_DIGITS], carry = set(0);
        split_digits(high, l, *c, l);
        high[l] = (lanes)((signed_lanes)(*c)[l - 1] >> (DIGIT_BITS * l - 64 * (l - 1)));
        ULP_LIMBS_UNROLL for (int i = 0; i < count; i++)
        {
            high[i] += complement[FRACTION_DIGITS - count + i];
            low[i] = set(0);
        }
        ULP_LIMBS_UNROLL for (int i = 0; i < count; i++)
            ULP_LIMBS_UNROLL for (int j = FRACTION_DIGITS - 1 - i; j < FRACTION_DIGITS; j++)
        {
            const int column = i + j - (FRACTION_DIGITS - 1);
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

/* y, an eighth of the function in two's complement, of the fractions of cells that are left behind
 * `bits` of the digits x: as ulp_series_evaluate. */
TARGET static __attribute__((noinline)) void evaluate_batch(lanes *y,
                                                            const struct ulp_series *series,
                                                            lanes cells, const lanes *x)
{
    lanes u[FRACTION_DIGITS], complement[FRACTION_DIGITS], sum[FRACTION_DIGITS],
        coefficients[CELL_MAX];
    const lanes *next = coefficients;
    const int bits = series->width_bits;
    load_cells(coefficients, series, cells);
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_DIGITS; i++)
    {
        const lanes below = i > 0 ? right_all(x[i - (i > 0)], DIGIT_BITS - bits) : set(0),
                    digit = (left_all(x[i], bits) & set(DIGIT_MASK)) | below;
        u[i] = raise_digit(digit);
        complement[i] = set(DIGIT_MASK) - digit;
    }
    sum[0] = set(UINT64_C(1) << DIGIT_BITS);
    run_steps(sum, &next, series, u, complement, 1);
    run_steps(sum, &next, series, u, complement, 2);
    run_steps(sum, &next, series, u, complement, 3);
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < FRACTION_DIGITS; i++)
    {
        sum[i + 1] += sum[i] >> DIGIT_BITS;
        sum[i] &= set(DIGIT_MASK);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
        take_bits(sum, FRACTION_DIGITS, DIGIT_BITS, 64 * i);
}

/* |x| as limbs of a fraction and one of integer; its exponent is from ARGUMENT_BITS - 63 to
 * ARGUMENT_BITS. */
OP void fix_batch(lanes *y, const struct batch_2 *x)
{
    const int most = ARGUMENT_BITS;
    const lanes shift = set((uint64_t)most) - x->exponent, back = set(64) - shift;
    const lanes moved[FRACTION_LIMBS + 1] = {set(0), x->limbs[0] << most,
                                             x->limbs[1] << most | x->limbs[0] >> (64 - most),
                                             x->limbs[1] >> (64 - most)};
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_LIMBS; i++) y[i] =
        right(moved[i], shift) | left(moved[i + 1], back);
    y[FRACTION_LIMBS] = right(moved[FRACTION_LIMBS], shift);
}

/* The digits of log 2, raised; the first is the one below the last of a fraction. */
OP void split_constant(lanes *digits, const struct ulp_series *series)
{
    for (int i = 0; i <= FRACTION_DIGITS; i++) {
        const int bit = 64 - DIGIT_BITS + DIGIT_BITS * i, limb = bit / 64, within = bit % 64;
        const uint64_t bits = series->constant[limb] >> within | series->constant[limb + 1]
                                                                     << 1 << (63 - within);
        digits[i] = raise_digit(set(bits & DIGIT_MASK));
    }
}

/* r = +-x -+ |k| c in digits, carried, c the series' constant; returns what is carried out of
 * them. */
OP lanes subtract_multiple(lanes *r, __mmask8 minus_x, lanes k, const struct ulp_series *series)
{
    const lanes times = (lanes)_mm512_abs_epi64((__m512i)k);
    const __mmask8 below = tops(k);
    lanes constant[FRACTION_DIGITS + 1], carry = set(0);
    split_constant(constant, series);
    ULP_LIMBS_UNROLL for (int i = 0; i < FRACTION_DIGITS; i++)
    {
        const lanes product =
            add_high(add_low(set(0), times, constant[i + 1]) >> 4, times, constant[i]);
        const lanes own = choose(minus_x, -r[i], r[i]) + choose(below, product, -product) + carry;
        carry = (lanes)((signed_lanes)own >> DIGIT_BITS);
        r[i] = own & set(DIGIT_MASK);
    }
    const lanes product = add_high(set(0), times, constant[FRACTION_DIGITS]);
    return carry + choose(below, product, -product);
}

/* As reduce and exp_fixed of fixed/element_template.h: exp(+-x) = 8 y 2^k, y in limbs. */
TARGET static __attribute__((noinline)) lanes exp_batch(lanes *y, const struct batch_2 *x,
                                                        __mmask8 negative,
                                                        const struct ulp_series *series)
{
    lanes fixed[FRACTION_LIMBS + 1], r[FRACTION_DIGITS];
    fix_batch(fixed, x);
    const __m512d zero = _mm512_setzero_pd(),
                  size = _mm512_fmadd_pd(_mm512_cvtepu64_pd((__m512i)fixed[FRACTION_LIMBS - 1]),
                                         _mm512_set1_pd(0x1p-64),
                                         _mm512_cvtepu64_pd((__m512i)fixed[FRACTION_LIMBS]));
    const __m512d quotient =
        _mm512_sub_pd(_mm512_mul_pd(_mm512_mask_sub_pd(size, negative, zero, size),
                                    _mm512_set1_pd(0x1.71547652b82fep+0)),
                      _mm512_set1_pd(0x1p-30));
    const lanes k = (lanes)_mm512_cvtpd_epi64(
        _mm512_roundscale_pd(quotient, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
    split_digits(r, FRACTION_DIGITS, fixed, FRACTION_LIMBS);
    subtract_multiple(r, negative, k, series);
    evaluate_batch(y, series, r[FRACTION_DIGITS - 1] >> (DIGIT_BITS - 8), r);
    return k;
}

/* y = log(1 + t) of a fraction t, a fraction. */
OP void log_batch(lanes *y, const lanes *t, const struct ulp_series *series)
{
    lanes digits[FRACTION_DIGITS], eighth[FRACTION_LIMBS];
    split_digits(digits, FRACTION_DIGITS, t, FRACTION_LIMBS);
    evaluate_batch(eighth, series, digits[FRACTION_DIGITS - 1] >> (DIGIT_BITS - 7), digits);
    /* t = 0 may have become less than 0 */
    const __mmask8 some = (__mmask8)~tops(eighth[FRACTION_LIMBS - 1]);
    y[0] = keep(some, eighth[0] << 3);
    ULP_LIMBS_UNROLL for (int i = 1; i < FRACTION_LIMBS; i++) y[i] =
        keep(some, eighth[i] << 3 | eighth[i - 1] >> 61);
}
