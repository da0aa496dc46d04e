/* Eight records of SIGNIFICAND limbs, their elements in the order 0 2 1 3 4 6 5 7: what their
 * transposition costs least. Parameters as of fixed/element_template.h: SIGNIFICAND, NAME(x).
 * Operations return false for batches in which an element is not theirs to decide. */

#define RECORD_BYTES (16 + 8 * SIGNIFICAND)
#define FACTOR_DIGITS ((64 * SIGNIFICAND + 51) / 52)  /* of 52 bits */
#define OPERAND_DIGITS ((64 * SIGNIFICAND + 47) / 48) /* of 48 bits */
/* 2, 3, 5, 6: at least 16 bits more than a record. */
#define QUOTIENT_DIGITS (SIGNIFICAND + SIGNIFICAND / 3 + 1)
/* Of a quotient or a root, in the 64 bits behind the limbs: 4 digits' units, twice that when they
 * move up. */
#define QUOTIENT_ERROR (UINT64_C(1) << (64 * (SIGNIFICAND + 1) - DIGIT_BITS * QUOTIENT_DIGITS + 3))

struct NAME(batch) {
    lanes exponent, kind, limbs[SIGNIFICAND];
};

OP __m256i NAME(load_first)(const char *record)
{
    return SIGNIFICAND > 1 ? _mm256_loadu_si256((const __m256i *)(const void *)record)
                           : _mm256_maskz_loadu_epi64(7, record);
}
OP __m128i NAME(load_last)(const char *record)
{
    return SIGNIFICAND > 3 ? _mm_loadu_si128((const __m128i *)(const void *)(record + 32))
                           : _mm_loadl_epi64((const __m128i *)(const void *)(record + 32));
}

OP void NAME(load)(struct NAME(batch) * x, const void *records, size_t first)
{
    const char *p = (const char *)records + first * RECORD_BYTES;
    __m512i pairs[4];
    ULP_LIMBS_UNROLL for (int i = 0; i < 4; i++)
    {
        const char *record = p + (size_t)(2 * i) * RECORD_BYTES;
        pairs[i] = SIGNIFICAND == 2
                       ? _mm512_loadu_si512(record)
                       : _mm512_inserti64x4(_mm512_castsi256_si512(NAME(load_first)(record)),
                                            NAME(load_first)(record + RECORD_BYTES), 1);
    }
    const __m512i low = _mm512_unpacklo_epi64(pairs[0], pairs[1]),
                  high = _mm512_unpackhi_epi64(pairs[0], pairs[1]);
    const __m512i low_2 = _mm512_unpacklo_epi64(pairs[2], pairs[3]),
                  high_2 = _mm512_unpackhi_epi64(pairs[2], pairs[3]);
    x->exponent = (lanes)_mm512_shuffle_i64x2(low, low_2, 0x88);
    x->kind = (lanes)_mm512_shuffle_i64x2(high, high_2, 0x88);
    x->limbs[0] = (lanes)_mm512_shuffle_i64x2(low, low_2, 0xDD);
#if SIGNIFICAND > 1
    x->limbs[1] = (lanes)_mm512_shuffle_i64x2(high, high_2, 0xDD);
#endif
#if SIGNIFICAND > 2
    __m512i last[2];
    ULP_LIMBS_UNROLL for (int i = 0; i < 2; i++)
    {
        const char *record = p + (size_t)(2 * i) * RECORD_BYTES;
        __m512i y = _mm512_castsi128_si512(NAME(load_last)(record));
        y = _mm512_inserti64x2(y, NAME(load_last)(record + RECORD_BYTES), 1);
        y = _mm512_inserti64x2(y, NAME(load_last)(record + 4 * RECORD_BYTES), 2);
        last[i] = _mm512_inserti64x2(y, NAME(load_last)(record + 5 * RECORD_BYTES), 3);
    }
    x->limbs[2] = (lanes)_mm512_unpacklo_epi64(last[0], last[1]);
#endif
#if SIGNIFICAND > 3
    x->limbs[3] = (lanes)_mm512_unpackhi_epi64(last[0], last[1]);
#endif
}

OP void NAME(store_first)(char *record, __m256i x)
{
    if (SIGNIFICAND > 1)
        _mm256_storeu_si256((__m256i *)(void *)record, x);
    else
        _mm256_mask_storeu_epi64(record, 7, x);
}
OP void NAME(store_last)(char *record, __m128i x)
{
    if (SIGNIFICAND > 3)
        _mm_storeu_si128((__m128i *)(void *)(record + 32), x);
    else
        _mm_storel_epi64((__m128i *)(void *)(record + 32), x);
}

OP void NAME(store)(void *records, size_t first, const struct NAME(batch) * x)
{
    char *p = (char *)records + first * RECORD_BYTES;
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const __m512i exponent = (__m512i)x->exponent, kind = (__m512i)x->kind,
                  limb = (__m512i)x->limbs[0];
    const __m512i next = SIGNIFICAND > 1 ? (__m512i)x->limbs[SIGNIFICAND > 1] : limb;
    const __m512i head[2] = {_mm512_unpacklo_epi64(exponent, kind),
                             _mm512_unpackhi_epi64(exponent, kind)};
    const __m512i tail[2] = {_mm512_unpacklo_epi64(limb, next), _mm512_unpackhi_epi64(limb, next)};
    ULP_LIMBS_UNROLL for (int i = 0; i < 4; i++)
    {
        const __m512i pair =
            _mm512_permutex2var_epi64(head[i & 1], i < 2 ? front : back, tail[i & 1]);
        char *record = p + (size_t)(2 * i) * RECORD_BYTES;
        if (SIGNIFICAND == 2) {
            _mm512_storeu_si512(record, pair);
        } else {
            NAME(store_first)(record, _mm512_castsi512_si256(pair));
            NAME(store_first)(record + RECORD_BYTES, _mm512_extracti64x4_epi64(pair, 1));
        }
    }
#if SIGNIFICAND > 2
    const __m512i third = (__m512i)x->limbs[2], fourth = (__m512i)x->limbs[SIGNIFICAND - 1];
    ULP_LIMBS_UNROLL for (int i = 0; i < 2; i++)
    {
        const __m512i last =
            i ? _mm512_unpackhi_epi64(third, fourth) : _mm512_unpacklo_epi64(third, fourth);
        char *record = p + (size_t)(2 * i) * RECORD_BYTES;
        NAME(store_last)(record, _mm512_castsi512_si128(last));
        NAME(store_last)(record + RECORD_BYTES, _mm512_extracti64x2_epi64(last, 1));
        NAME(store_last)(record + 4 * RECORD_BYTES, _mm512_extracti64x2_epi64(last, 2));
        NAME(store_last)(record + 5 * RECORD_BYTES, _mm512_extracti64x2_epi64(last, 3));
    }
#endif
}

/* Which are zeros, and whether all others are regular with an exponent far inside MPFR's range. */
OP bool NAME(is_finite)(__mmask8 *zero, const struct NAME(batch) * x)
{
    const lanes kind = (lanes)_mm512_abs_epi64((__m512i)x->kind);
    *zero = equal(kind, set(MPFR_ZERO_KIND));
    const __mmask8 regular = equal(kind, set(MPFR_REGULAR_KIND)) &
                             less(x->exponent + set(EXPONENT_MAX), set(2 * EXPONENT_MAX));
    return (__mmask8)(*zero | regular) == 0xFF;
}

/* *out = y 2^exponent, plus one unit in the last of `precision` bits where `up`; zeros where
 * `zero`. */
OP void NAME(close)(struct NAME(batch) * out, const lanes *y, __mmask8 up, lanes exponent,
                    __mmask8 negative, __mmask8 zero, int unused)
{
    const lanes kept = left_all(set(~UINT64_C(0)), unused);
    lanes z = add_where(up, y[0] & kept, left_all(set(1), unused));
    const __mmask8 other = (__mmask8)~zero;
    __mmask8 carry = _mm512_mask_testn_epi64_mask(up, (__m512i)z, (__m512i)z);
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++)
    {
        if (i > 0) {
            z = add_where(carry, y[i], set(1));
            carry = _mm512_mask_testn_epi64_mask(carry, (__m512i)z, (__m512i)z);
        }
        if (i == SIGNIFICAND - 1)
            z = choose(carry, set(UINT64_C(1) << 63), z);
        out->limbs[i] = keep(other, z);
    }
    out->exponent = keep(other, add_where(carry, exponent, set(1)));
    const lanes kind = choose(zero, set(MPFR_ZERO_KIND), set(MPFR_REGULAR_KIND));
    out->kind =
        (lanes)_mm512_mask_sub_epi64((__m512i)kind, negative, (__m512i)set(0), (__m512i)kind);
}

/* *out = (y + low 2^-64 ulp) 2^exponent rounded to nearest even; y has its top bit set; where
 * `rest` is not 0 something follows low. */
OP void NAME(round_exact)(struct NAME(batch) * out, const lanes *y, lanes low, lanes rest,
                          lanes exponent, __mmask8 negative, __mmask8 zero, int precision)
{
    const int unused = 64 * SIGNIFICAND - precision;
    if (unused) {
        rest |= low;
        low = left_all(y[0], 64 - unused);
    }
    const lanes odd = right_all(y[0], unused) & set(1);
    const __mmask8 up = tops(low) & nonzero(low << 1 | odd | rest);
    NAME(close)(out, y, up, exponent, negative, zero, unused);
}

/* The same of digits, most significant first, whose first bit is number `width`, or the one below
 * it: then the exponent is one less. The value is never a tie, and up to QUOTIENT_ERROR more than
 * the digits say; false: that may decide. */
OP bool NAME(round_digits)(struct NAME(batch) * out, lanes *q, int width, lanes exponent,
                           __mmask8 negative, __mmask8 zero, int precision)
{
    const int unused = 64 * SIGNIFICAND - precision;
    lanes digits[QUOTIENT_DIGITS], y[SIGNIFICAND], low;
    ULP_LIMBS_UNROLL for (int i = QUOTIENT_DIGITS - 1; i > 0; i--)
    {
        q[i - 1] += q[i] >> DIGIT_BITS;
        digits[QUOTIENT_DIGITS - 1 - i] = q[i] & set(DIGIT_MASK);
    }
    digits[QUOTIENT_DIGITS - 1] = q[0];
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++) y[i] =
        take_bits(digits, QUOTIENT_DIGITS, DIGIT_BITS, width - 64 * (SIGNIFICAND - i));
    low = take_bits(digits, QUOTIENT_DIGITS, DIGIT_BITS, width - 64 * (SIGNIFICAND + 1));
    const __mmask8 small = (__mmask8)~tops(y[SIGNIFICAND - 1]);
    ULP_LIMBS_UNROLL for (int i = SIGNIFICAND - 1; i >= 0; i--) y[i] =
        choose(small, y[i] << 1 | (i > 0 ? y[i - (i > 0)] : low) >> 63, y[i]);
    low = add_where(small, low, low);
    const lanes window = unused ? left_all(y[0], 64 - unused) | right_all(low, unused) : low;
    const __mmask8 up = tops(window), close = tops(window + set(QUOTIENT_ERROR)) & (__mmask8)~up;
    NAME(close)(out, y, up, add_where(small, exponent, set(~UINT64_C(0))), negative, zero, unused);
    return (close & (__mmask8)~zero) == 0;
}

/* Digit i of 48 bits, most significant first, of n limbs. */
OP lanes NAME(operand_digit)(const lanes *limbs, int n, int i)
{
    return DIGIT_BITS * i < 64 * n
               ? take_bits(limbs, n, 64, 64 * n - DIGIT_BITS * (i + 1)) & set(DIGIT_MASK)
               : set(0);
}

OP bool NAME(batch_div)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    __mmask8 zero, none;
    if (!NAME(is_finite)(&zero, x) || !NAME(is_finite)(&none, y) || none)
        return false;
    lanes r[QUOTIENT_DIGITS], q[QUOTIENT_DIGITS], t[OPERAND_DIGITS];
    ULP_LIMBS_UNROLL for (int i = 0; i < QUOTIENT_DIGITS; i++) r[i] =
        -NAME(operand_digit)(x->limbs, SIGNIFICAND, i);
    ULP_LIMBS_UNROLL for (int i = 0; i < OPERAND_DIGITS; i++) t[i] =
        NAME(operand_digit)(y->limbs, SIGNIFICAND, i);
    const __m512d divisor = doubles((y->limbs[SIGNIFICAND - 1] >> 11) + set(7));
    const __m512d inverse = _mm512_div_pd(_mm512_set1_pd(-0x1p53), divisor);
    ULP_LIMBS_UNROLL for (int i = 0; i < QUOTIENT_DIGITS; i++)
    {
        q[i] = estimate_digit(r, QUOTIENT_DIGITS, inverse);
        if (i + 1 < QUOTIENT_DIGITS)
            remain(r, QUOTIENT_DIGITS, q[i], t, OPERAND_DIGITS);
    }
    return NAME(round_digits)(out, q, DIGIT_BITS * QUOTIENT_DIGITS + 1,
                              x->exponent - y->exponent + set(1), tops(x->kind ^ y->kind), zero,
                              precision);
}

OP bool NAME(batch_sqrt)(struct NAME(batch) * out, const struct NAME(batch) * x,
                         const struct NAME(batch) * y, int precision)
{
    (void)y;
    __mmask8 zero;
    const __mmask8 negative = tops(x->kind);
    if (!NAME(is_finite)(&zero, x) || (negative & (__mmask8)~zero))
        return false;
    const lanes odd = x->exponent & set(1);
    const __mmask8 halve = nonzero(odd);
    lanes m[SIGNIFICAND + 1], r[QUOTIENT_DIGITS], q[QUOTIENT_DIGITS], t[QUOTIENT_DIGITS];
    m[0] = keep(halve, x->limbs[0] << 63);
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++)
    {
        const lanes above =
            i + 1 < SIGNIFICAND ? x->limbs[i + (i + 1 < SIGNIFICAND)] << 63 : set(0);
        m[i + 1] = choose(halve, x->limbs[i] >> 1 | above, x->limbs[i]);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i < QUOTIENT_DIGITS; i++) r[i] =
        -NAME(operand_digit)(m, SIGNIFICAND + 1, i);
    const __m512d top = _mm512_mul_pd(doubles(m[SIGNIFICAND] >> 11), _mm512_set1_pd(0x1p-53));
    const __m512d root = _mm512_sqrt_pd(top);
    const __m512d above = _mm512_mul_pd(root, _mm512_set1_pd(1 + 0x6p-52));
    const __m512d inverse = _mm512_div_pd(_mm512_set1_pd(-0.5), above);
    q[0] = (lanes)_mm512_cvttpd_epi64(_mm512_mul_pd(root, _mm512_set1_pd(0x1p48 * (1 - 0x1p-50))));
    ULP_LIMBS_UNROLL for (int i = 0; i < QUOTIENT_DIGITS; i++)
    {
        if (i > 0)
            q[i] = estimate_digit(r, QUOTIENT_DIGITS, inverse);
        /* The new root's square less the old one's is q (2 root + q). */
        t[i] = q[i];
        if (i + 1 < QUOTIENT_DIGITS)
            remain(r, QUOTIENT_DIGITS, q[i], t, i + 1);
        t[i] += q[i];
    }
    const lanes exponent = (lanes)((signed_lanes)(x->exponent + odd) >> 1);
    return NAME(round_digits)(out, q, DIGIT_BITS * QUOTIENT_DIGITS, exponent, negative, zero,
                              precision);
}

OP bool NAME(batch_mul)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    __mmask8 zero_x, zero_y;
    if (!NAME(is_finite)(&zero_x, x) || !NAME(is_finite)(&zero_y, y))
        return false;
    lanes a[FACTOR_DIGITS], b[FACTOR_DIGITS], columns[2 * FACTOR_DIGITS], p[SIGNIFICAND + 1],
        rest = set(0);
    ULP_LIMBS_UNROLL for (int i = 0; i < FACTOR_DIGITS; i++)
    {
        a[i] = take_bits(x->limbs, SIGNIFICAND, 64, 52 * i);
        b[i] = take_bits(y->limbs, SIGNIFICAND, 64, 52 * i);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i < 2 * FACTOR_DIGITS; i++) columns[i] = set(0);
    ULP_LIMBS_UNROLL for (int i = 0; i < FACTOR_DIGITS; i++)
        ULP_LIMBS_UNROLL for (int j = 0; j < FACTOR_DIGITS; j++)
    {
        columns[i + j] = add_low(columns[i + j], a[i], b[j]);
        columns[i + j + 1] = add_high(columns[i + j + 1], a[i], b[j]);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < 2 * FACTOR_DIGITS; i++)
    {
        columns[i + 1] += columns[i] >> 52;
        columns[i] &= set((UINT64_C(1) << 52) - 1);
    }
    const int low = 64 * (SIGNIFICAND - 1); /* bits below the one limb behind the result */
    ULP_LIMBS_UNROLL for (int i = 0; i < 2 * FACTOR_DIGITS; i++)
    {
        const int below = low - 52 * i; /* bits of this column */
        if (below > 0)
            rest |= below >= 52 ? columns[i] : columns[i] << (64 - below);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i <= SIGNIFICAND; i++) p[i] =
        take_bits(columns, 2 * FACTOR_DIGITS, 52, low + 64 * i);
    const __mmask8 small = (__mmask8)~tops(p[SIGNIFICAND]);
    ULP_LIMBS_UNROLL for (int i = SIGNIFICAND; i > 0; i--) p[i] =
        choose(small, p[i] << 1 | p[i - 1] >> 63, p[i]);
    p[0] = add_where(small, p[0], p[0]);
    NAME(round_exact)
    (out, p + 1, p[0], rest, add_where(small, x->exponent + y->exponent, set(~UINT64_C(0))),
     tops(x->kind ^ y->kind), zero_x | zero_y, precision);
    return true;
}

/* Where |x| < |y|; `x_top` and `y_top` stand for the exponents. */
OP __mmask8 NAME(find_smaller)(const struct NAME(batch) * x, const struct NAME(batch) * y,
                               lanes x_top, lanes y_top)
{
    __mmask8 smaller = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++) smaller =
        less(x->limbs[i], y->limbs[i]) | (smaller & equal(x->limbs[i], y->limbs[i]));
    return _mm512_cmplt_epi64_mask((__m512i)x_top, (__m512i)y_top) |
           (smaller & equal(x_top, y_top));
}

OP bool NAME(batch_sum)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision, bool flip)
{
    __mmask8 zero_x, zero_y;
    if (!NAME(is_finite)(&zero_x, x) || !NAME(is_finite)(&zero_y, y))
        return false;
    /* A zero has the other's exponent here. */
    const lanes x_top = choose(zero_x, y->exponent, x->exponent),
                y_top = choose(zero_y, x->exponent, y->exponent);
    const __mmask8 swap = NAME(find_smaller)(x, y, x_top, y_top);
    const __mmask8 sign_x = tops(x->kind), sign_y = flip ? (__mmask8)~tops(y->kind) : tops(y->kind);
    const __mmask8 subtract = sign_x ^ sign_y,
                   negative = (sign_x & (__mmask8)~swap) | (sign_y & swap);
    /* the larger and the smaller, and a limb behind them */
    lanes a[SIGNIFICAND + 1], b[SIGNIFICAND + 1];
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++)
    {
        a[i + 1] = choose(swap, y->limbs[i], x->limbs[i]);
        b[i + 1] = choose(swap, x->limbs[i], y->limbs[i]);
    }
    a[0] = b[0] = set(0);
    lanes exponent = choose(swap, y_top, x_top),
          distance = choose(swap, y_top - x_top, x_top - y_top), lost = set(0);
    __mmask8 far = (__mmask8)~less(distance, set(64));
    if (far) {
        distance =
            (lanes)_mm512_min_epu64((__m512i)distance, (__m512i)set(64 * (SIGNIFICAND + 2) - 1));
        for (; far; far = (__mmask8)~less(distance, set(64))) {
            lost |= keep(far, b[0]);
            ULP_LIMBS_UNROLL for (int i = 0; i <= SIGNIFICAND; i++) b[i] =
                choose(far, i < SIGNIFICAND ? b[i + (i < SIGNIFICAND)] : set(0), b[i]);
            distance = add_where(far, distance, -set(64));
        }
        lost |= left(b[0], set(64) - distance);
    }
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++) b[i] =
        right(b[i], distance) | left(b[i + 1], set(64) - distance);
    b[SIGNIFICAND] = right(b[SIGNIFICAND], distance);
    /* What is lost is at least two bits below the result's last and its rounding bit: any odd
     * number stands for it. */
    b[0] |= keep(nonzero(lost), set(1));
    __mmask8 carry = subtract;
    const lanes ones = set(~UINT64_C(0));
    ULP_LIMBS_UNROLL for (int i = 0; i <= SIGNIFICAND; i++)
    {
        const lanes flipped =
            (lanes)_mm512_mask_xor_epi64((__m512i)b[i], subtract, (__m512i)b[i], (__m512i)ones);
        const lanes s = a[i] + flipped, t = add_where(carry, s, set(1));
        carry = less(s, flipped) | _mm512_mask_testn_epi64_mask(carry, (__m512i)t, (__m512i)t);
        a[i] = t;
    }
    const __mmask8 more = carry & (__mmask8)~subtract;
    const lanes last = a[0] & set(1);
    lanes any = a[0];
    ULP_LIMBS_UNROLL for (int i = 1; i <= SIGNIFICAND; i++) any |= a[i];
    const __mmask8 zero = (__mmask8) ~(nonzero(any) | more);
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++) a[i] =
        choose(more, a[i] >> 1 | a[i + 1] << 63, a[i]);
    a[0] |= keep(more, last);
    a[SIGNIFICAND] = choose(more, a[SIGNIFICAND] >> 1 | set(UINT64_C(1) << 63), a[SIGNIFICAND]);
    exponent = add_where(more, exponent, set(1));
    for (__mmask8 empty; (empty = (__mmask8) ~(nonzero(a[SIGNIFICAND]) | zero)) != 0;) {
        ULP_LIMBS_UNROLL for (int i = SIGNIFICAND; i >= 0; i--) a[i] =
            choose(empty, i > 0 ? a[i - (i > 0)] : set(0), a[i]);
        exponent = add_where(empty, exponent, -set(64));
    }
    const lanes shift = (lanes)_mm512_lzcnt_epi64((__m512i)a[SIGNIFICAND]);
    ULP_LIMBS_UNROLL for (int i = SIGNIFICAND; i > 0; i--) a[i] =
        left(a[i], shift) | right(a[i - 1], set(64) - shift);
    a[0] = left(a[0], shift);
    NAME(round_exact)
    (out, a + 1, a[0], set(0), exponent - shift, (negative & (__mmask8)~zero) | (sign_x & sign_y),
     zero, precision);
    return true;
}

OP bool NAME(batch_add)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    return NAME(batch_sum)(out, x, y, precision, false);
}
OP bool NAME(batch_sub)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    return NAME(batch_sum)(out, x, y, precision, true);
}

/* The larger or the smaller of each; -0 is less than +0. */
OP bool NAME(batch_extremum)(struct NAME(batch) * out, const struct NAME(batch) * x,
                             const struct NAME(batch) * y, bool greater)
{
    /* Zeros below and infinities above all exponents; NaN is MPFR's. */
    const lanes kind_x = (lanes)_mm512_abs_epi64((__m512i)x->kind),
                kind_y = (lanes)_mm512_abs_epi64((__m512i)y->kind);
    if (~(nonzero(x->kind) & nonzero(y->kind)) & 0xFF)
        return false;
    const lanes lowest = set(UINT64_C(1) << 63), highest = ~lowest, zero = set(MPFR_ZERO_KIND),
                infinity = set(MPFR_INF_KIND);
    const lanes x_top =
        choose(equal(kind_x, infinity), highest, choose(equal(kind_x, zero), lowest, x->exponent));
    const lanes y_top =
        choose(equal(kind_y, infinity), highest, choose(equal(kind_y, zero), lowest, y->exponent));
    const __mmask8 smaller = NAME(find_smaller)(x, y, x_top, y_top), sign_x = tops(x->kind),
                   sign_y = tops(y->kind);
    const __mmask8 below =
        (sign_x & (__mmask8)~sign_y) | ((__mmask8) ~(sign_x ^ sign_y) & (smaller ^ sign_x));
    const __mmask8 second = greater ? below : (__mmask8)~below;
    out->exponent = choose(second, y->exponent, x->exponent);
    out->kind = choose(second, y->kind, x->kind);
    ULP_LIMBS_UNROLL for (int i = 0; i < SIGNIFICAND; i++) out->limbs[i] =
        choose(second, y->limbs[i], x->limbs[i]);
    return true;
}
OP bool NAME(batch_max)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    (void)precision;
    return NAME(batch_extremum)(out, x, y, true);
}
OP bool NAME(batch_min)(struct NAME(batch) * out, const struct NAME(batch) * x,
                        const struct NAME(batch) * y, int precision)
{
    (void)precision;
    return NAME(batch_extremum)(out, x, y, false);
}

/* Strips. Batches that are refused, and what is left behind the last, are the scalar code's. */
#define STRIP(FUNCTION, PRIMITIVE, ARITY)                                                      \
    TARGET static size_t NAME(run_##FUNCTION)(int precision, void *out, const void *a,         \
                                              const void *b, size_t n)                         \
    {                                                                                          \
        ulp_wide_fn *const scalar = ulp_wide_arithmetic(ULP_PRIMITIVE_##PRIMITIVE, precision); \
        for (size_t i = 0; i < n;) {                                                           \
            const size_t count = n - i < BATCH ? n - i : BATCH, skip = i * RECORD_BYTES;       \
            struct NAME(batch) x, y, z;                                                        \
            if (count == BATCH) {                                                              \
                NAME(load)(&x, a, i);                                                          \
                NAME(load)(&y, (ARITY) > 1 ? b : a, i);                                        \
                if (NAME(batch_##FUNCTION)(&z, &x, &y, precision)) {                           \
                    NAME(store)(out, i, &z);                                                   \
                    i += BATCH;                                                                \
                    continue;                                                                  \
                }                                                                              \
            }                                                                                  \
            const size_t done =                                                                \
                scalar ? scalar(precision, (char *)out + skip, (const char *)a + skip,         \
                                (const char *)b + skip, count)                                 \
                       : 0;                                                                    \
            i += done;                                                                         \
            if (done < count)                                                                  \
                return i;                                                                      \
        }                                                                                      \
        return n;                                                                              \
    }
STRIP(add, ADD, 2)
STRIP(sub, SUB, 2)
STRIP(mul, MUL, 2)
STRIP(div, DIV, 2)
STRIP(sqrt, SQRT, 1)
STRIP(min, MIN, 2)
STRIP(max, MAX, 2)

#undef STRIP
#undef RECORD_BYTES
#undef FACTOR_DIGITS
#undef OPERAND_DIGITS
#undef QUOTIENT_DIGITS
#undef QUOTIENT_ERROR
#undef SIGNIFICAND
#undef NAME
