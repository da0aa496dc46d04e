/* A row of double digits times floats cut in registers into two digits and a tail. Parameters,
 * undefined at the end:
 *   SUFFIX, TARGET    of the functions
 *   LANES             doubles in a vector
 *   VECTOR, INTEGERS  types of LANES doubles and int64_t
 *   FMA(a, b, s)      a b + s, rounded once
 *   WIDEN(p)          LANES floats from p as doubles */
#define NAME__(name, suffix) name##_##suffix
#define NAME_(name, suffix) NAME__(name, suffix)
#define NAME(name) NAME_(name, SUFFIX)
#define INLINE_TARGET static inline __attribute__((always_inline)) TARGET

/* The lanes of a sum as integers: digit_tile.c says how. */
INLINE_TARGET INTEGERS NAME(round_lanes)(VECTOR s)
{
    const VECTOR coarse = s - s + 0x1.8p60, fine = s - s + 0x1.8p52;
    const VECTOR high = s + coarse, low = s - (high - coarse) + fine;
    return (((INTEGERS)high - (INTEGERS)coarse) << 8) + ((INTEGERS)low - (INTEGERS)fine);
}

/* Floats from k on: LANES neighbours, or fewer and zeros. */
INLINE_TARGET VECTOR NAME(load_floats)(const float *p, size_t count)
{
    if (__builtin_expect(count >= LANES, 1))
        return WIDEN(p);
    float padded[LANES] = {0};
    memcpy(padded, p, count * sizeof *p);
    return WIDEN(padded);
}

INLINE_TARGET VECTOR NAME(load_digits)(const double *p, size_t count)
{
    VECTOR x = {0};
    memcpy(&x, p, (count >= LANES ? LANES : count) * sizeof *p);
    return x;
}

/* One vector of floats y, scaled to their first digits: 2 products with each digit x of the row,
 * and that of the tails. */
INLINE_TARGET void NAME(add_products)(VECTOR *s, const int digits, const bool tail, const VECTOR *x,
                                      VECTOR y, VECTOR step, VECTOR to_tail)
{
    const VECTOR magic = step - step + 0x1.8p52;
    const VECTOR first = (y + magic) - magic, second = (y - first) * step;
#pragma GCC unroll 6
    for (int i = 0; i < digits; i++) {
        s[2 * i] = FMA(x[i], first, s[2 * i]);
        s[2 * i + 1] = FMA(x[i], second, s[2 * i + 1]);
    }
    if (tail)
        s[2 * digits] = FMA(x[digits], y * to_tail, s[2 * digits]);
}

INLINE_TARGET void NAME(pairs_along_k)(const struct ulp_wide_pairs *pairs, const int digits,
                                       const bool tail, size_t column)
{
    const float *b = pairs->floats + pairs->column[column];
    const VECTOR zero = {0}, scale = zero + pairs->scale[column], step = zero + pairs->step,
                 to_tail = zero + pairs->to_tail;
    for (size_t first = 0; first < pairs->k_count; first += LANES * pairs->addends) {
        VECTOR s[2 * ULP_WIDE_VECTOR_DOUBLES_MAX + 1], x[ULP_WIDE_VECTOR_DOUBLES_MAX + 1];
        const size_t left = pairs->k_count - first, last = left < LANES * pairs->addends
                                                               ? pairs->k_count
                                                               : first + LANES * pairs->addends;
#pragma GCC unroll 13
        for (int i = 0; i <= 2 * digits; i++)
            s[i] = zero;
        size_t k = first;
        for (; k + LANES <= last; k += LANES) {
#pragma GCC unroll 7
            for (int i = 0; i < digits + tail; i++)
                memcpy(&x[i], pairs->x + (size_t)i * pairs->stride + k, sizeof x[i]);
            NAME(add_products)(s, digits, tail, x, WIDEN(b + k) * scale, step, to_tail);
        }
        if (k < last) {
#pragma GCC unroll 7
            for (int i = 0; i < digits + tail; i++)
                x[i] = NAME(load_digits)(pairs->x + (size_t)i * pairs->stride + k, last - k);
            NAME(add_products)
            (s, digits, tail, x, NAME(load_floats)(b + k, last - k) * scale, step, to_tail);
        }
#pragma GCC unroll 13
        for (int i = 0; i < 2 * digits + tail; i++) {
            const INTEGERS lanes = NAME(round_lanes)(s[i]);
            for (int lane = 0; lane < LANES; lane++)
                pairs->sums[i][column] += lanes[lane];
        }
    }
}

/* LANES columns from `column` on. */
INLINE_TARGET void NAME(pairs_along_columns)(const struct ulp_wide_pairs *pairs, const int digits,
                                             const bool tail, size_t column)
{
    const size_t count = pairs->columns - column;
    const VECTOR zero = {0}, scale = NAME(load_digits)(pairs->scale + column, count),
                 step = zero + pairs->step, to_tail = zero + pairs->to_tail;
    const float *b = pairs->floats + pairs->column[column];
    for (size_t first = 0; first < pairs->k_count; first += pairs->addends) {
        VECTOR s[2 * ULP_WIDE_VECTOR_DOUBLES_MAX + 1], x[ULP_WIDE_VECTOR_DOUBLES_MAX + 1];
        const size_t left = pairs->k_count - first,
                     last = left < pairs->addends ? pairs->k_count : first + pairs->addends;
#pragma GCC unroll 13
        for (int i = 0; i <= 2 * digits; i++)
            s[i] = zero;
        for (size_t k = first; k < last; k++, b += pairs->k_step) {
#pragma GCC unroll 7
            for (int i = 0; i < digits + tail; i++)
                x[i] = zero + pairs->x[(size_t)i * pairs->stride + k];
            NAME(add_products)
            (s, digits, tail, x, NAME(load_floats)(b, count) * scale, step, to_tail);
        }
#pragma GCC unroll 13
        for (int i = 0; i < 2 * digits + tail; i++) {
            const INTEGERS lanes = NAME(round_lanes)(s[i]);
            for (size_t lane = 0; lane < LANES && lane < count; lane++)
                pairs->sums[i][column + lane] += lanes[lane];
        }
    }
}

INLINE_TARGET void NAME(pairs_of)(const struct ulp_wide_pairs *pairs, const int digits,
                                  const bool tail)
{
    if (pairs->k_step == 1)
        for (size_t c = 0; c < pairs->columns; c++)
            NAME(pairs_along_k)(pairs, digits, tail, c);
    else
        for (size_t c = 0; c < pairs->columns; c += LANES)
            NAME(pairs_along_columns)(pairs, digits, tail, c);
}

#define PAIRS(digits)                                                           \
    TARGET static void NAME(pairs_##digits)(const struct ulp_wide_pairs *pairs) \
    {                                                                           \
        if (pairs->tail)                                                        \
            NAME(pairs_of)(pairs, digits, true);                                \
        else                                                                    \
            NAME(pairs_of)(pairs, digits, false);                               \
    }
PAIRS(1)
PAIRS(2)
PAIRS(3)
PAIRS(4)
PAIRS(5)
PAIRS(6)
#undef PAIRS

static void NAME(pairs)(const struct ulp_wide_pairs *pairs)
{
    static void (*const by_digits[])(
        const struct ulp_wide_pairs *) = {NAME(pairs_1), NAME(pairs_2), NAME(pairs_3),
                                          NAME(pairs_4), NAME(pairs_5), NAME(pairs_6)};
    by_digits[pairs->digits - 1](pairs);
}

/* Magnitudes' bit patterns, as in digits.c; sixteen columns or elements at a time, which compilers
 * have vectors for. */
TARGET static void NAME(scan)(int32_t *largest, int32_t *smallest_less_1,
                              const struct ulp_wide_floats *f)
{
    const size_t lines = f->k_step == 1 ? f->columns : 1;
    for (size_t line = 0; line < lines; line++) {
        const float *x = f->data + f->column[line];
        const size_t along = f->k_step == 1 ? f->k_count : f->columns,
                     turns = f->k_step == 1 ? (f->k_count + 15) / 16 : f->k_count;
        int32_t large[16] = {0}, small[16];
        for (int i = 0; i < 16; i++)
            small[i] = INT32_MAX;
        for (size_t turn = 0; turn < turns; turn++) {
            const size_t at = f->k_step == 1 ? 16 * turn : 0,
                         left = along - at < 16 ? along - at : 16;
            const float *here = x + (f->k_step == 1 ? (int64_t)at : (int64_t)turn * f->k_step);
            uint32_t bits[16] = {0};
            if (left == 16)
                memcpy(bits, here, sizeof bits);
            else
                memcpy(bits, here, left * sizeof *bits);
            for (int i = 0; i < 16; i++) {
                const int32_t magnitude = (int32_t)(bits[i] & INT32_MAX),
                              less_1 = (int32_t)((bits[i] - 1) & INT32_MAX);
                large[i] = magnitude > large[i] ? magnitude : large[i];
                small[i] = less_1 < small[i] ? less_1 : small[i];
            }
        }
        if (f->k_step != 1) {
            memcpy(largest, large, f->columns * sizeof *large);
            memcpy(smallest_less_1, small, f->columns * sizeof *small);
            return;
        }
        largest[line] = large[0];
        smallest_less_1[line] = small[0];
        for (int i = 1; i < 16; i++) {
            largest[line] = large[i] > largest[line] ? large[i] : largest[line];
            smallest_less_1[line] =
                small[i] < smallest_less_1[line] ? small[i] : smallest_less_1[line];
        }
    }
}
#undef NAME__
#undef NAME_
#undef NAME
#undef INLINE_TARGET
#undef SUFFIX
#undef TARGET
#undef LANES
#undef VECTOR
#undef INTEGERS
#undef FMA
#undef WIDEN
