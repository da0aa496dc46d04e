/* Rounding loops for one carrier. Included by round.c once per carrier, with
 *   REAL, BITS      the carrier and the unsigned integer of its size
 *   DIGITS, LOWEST  its precision and smallest normal exponent
 *   SUFFIX(name)    name of this instance
 *
 * A block has a constant length, so that the compiler unrolls it into vectors without a remainder
 * loop; there is no branch in a block. The magnitude a = |x| is rounded, then its range is mended,
 * then the sign is put back.
 *
 * ALIGNED (emin above the carrier's, precision below): e is the exponent of a, not below emin. With
 * C = 2^(e + DIGITS - precision) the sum a + C lies in [C, 2C), where one ulp of the carrier is the
 * format's ulp u = 2^(e - precision + 1). So a + C is a rounded to nearest, ties to even, and
 * subtracting C is exact. e is clamped to emax + 1, or C would overflow in the carrier's top
 * binades; from 2^(emax + 1) on every result is beyond max_finite whatever u is. The other modes
 * mend t = (a + C) - C by one u, from the exact d = a - t.
 *
 * FULL (the carrier's precision, emin above): the same, with C = 0 (nothing to round) from 2^emin
 * on.
 *
 * BITWISE (the carrier's emin): the ulps of format and carrier differ by a constant factor in every
 * binade and in the subnormals, so that rounding is integer arithmetic on the pattern; a carry into
 * the exponent is right. */

struct SUFFIX(plan) {
    enum round_kind kind;
    bool plain; /* subnormals and -0 are kept: nothing to do for results below 2^emin */
    BITS shift; /* exponent field that turns the pattern of 2^e into that of C */
    /* BITWISE: half an ulp less one pattern, the bits below the ulp, 1 unless there are none */
    BITS half, mask, odd;
    BITS away; /* BITWISE: half an ulp */
    int cut;
    REAL low, high, low_magic; /* 2^emin, 2^(emax + 1), and FULL's C below 2^emin */
    REAL limit, over_positive, over_negative, infinite, flush_below;
    BITS zero_sign; /* sign bit when -0 exists, else 0 */
};

static inline REAL SUFFIX(from_bits)(BITS bits)
{
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline BITS SUFFIX(to_bits)(REAL x)
{
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#undef SIGN_BIT
#define SIGN_BIT ((BITS)1 << (8 * sizeof(BITS) - 1))

static struct SUFFIX(plan)
    SUFFIX(make_plan)(const struct ulp_format *format, enum ulp_rounding rounding)
{
    const int cut = DIGITS - format->precision;
    const BITS ulp = (BITS)1 << cut;
    return (struct SUFFIX(plan)){
        .kind = format->emin <= LOWEST ? ROUND_BITWISE
                : cut == 0             ? ROUND_FULL
                                       : ROUND_ALIGNED,
        .plain = format->subnormals && format->signed_zero,
        .shift = (BITS)cut << (DIGITS - 1),
        .half = cut ? ulp / 2 - 1 : 0,
        .mask = ulp - 1,
        .odd = cut ? 1 : 0,
        .away = ulp / 2,
        .cut = cut,
        .low = (REAL)ldexp(1.0, format->emin),
        .high = (REAL)ldexp(1.0, format->emax + 1),
        .low_magic = (REAL)ldexp(1.0, format->emin + cut),
        .limit = (REAL)format->max_finite,
        .over_positive = (REAL)find_overflow(format, rounding, false),
        .over_negative = (REAL)find_overflow(format, rounding, true),
        .infinite = (REAL)find_infinite(format),
        .flush_below = format->subnormals ? 0 : (REAL)ldexp(1.0, format->emin),
        .zero_sign = format->signed_zero ? SIGN_BIT : 0,
    };
}

/* a on the format's grid, BITWISE and otherwise. kind and rounding are constants where these are
 * expanded. outward: do the modes up and down round x away from zero? */
static inline __attribute__((always_inline)) REAL SUFFIX(round_bitwise)(
    const struct SUFFIX(plan) * plan, const enum ulp_rounding rounding, REAL a, bool outward,
    double uniform)
{
    const BITS magnitude = SUFFIX(to_bits)(a);
    BITS add = 0;
    if (rounding == ULP_ROUND_NEAREST_EVEN)
        add = plan->half + (magnitude >> plan->cut & plan->odd);
    else if (rounding == ULP_ROUND_NEAREST_AWAY)
        add = plan->away;
    else if (rounding == ULP_ROUND_UP || rounding == ULP_ROUND_DOWN)
        add = outward ? plan->mask : 0;
    else if (rounding == ULP_ROUND_STOCHASTIC)
        add =
            uniform * (double)(plan->mask + 1) < (double)(magnitude & plan->mask) ? plan->mask : 0;
    const REAL r = SUFFIX(from_bits)((magnitude + add) & ~plan->mask);
    return a != a ? a : r; /* a carry out of a NaN's fraction would look like a number */
}

static inline __attribute__((always_inline)) REAL SUFFIX(round_aligned)(
    const struct SUFFIX(plan) * plan, const enum round_kind kind, const enum ulp_rounding rounding,
    REAL a, bool outward, double uniform)
{
    const BITS exponent_field = (BITS)(3 - 2 * LOWEST) << (DIGITS - 1);
    const BITS digits_field = (BITS)(DIGITS - 1) << (DIGITS - 1);
    REAL power = SUFFIX(from_bits)(SUFFIX(to_bits)(a) & exponent_field);
    power = power < plan->low ? plan->low : power;
    power = power > plan->high ? plan->high : power;
    const BITS c_bits = SUFFIX(to_bits)(power) + plan->shift;
    const REAL u = SUFFIX(from_bits)(c_bits - digits_field);
    const REAL c = kind == ROUND_ALIGNED ? SUFFIX(from_bits)(c_bits)
                   : a < plan->low       ? plan->low_magic
                                         : 0;
    REAL r = (a + c) - c;
    const REAL d = a - r;
    if (rounding == ULP_ROUND_NEAREST_AWAY) {
        r += d + d >= u ? u : 0;
    } else if (rounding == ULP_ROUND_TOWARD_ZERO) {
        r -= d < 0 ? u : 0;
    } else if (rounding == ULP_ROUND_UP || rounding == ULP_ROUND_DOWN) {
        const REAL step = outward ? u : 0;
        r += d > 0 ? step : 0;
        r -= d < 0 ? u - step : 0;
    } else if (rounding == ULP_ROUND_STOCHASTIC) {
        r -= d < 0 ? u : 0;
        r += uniform * (double)u < (double)(a - r) ? u : 0;
    }
    return r;
}

static inline __attribute__((always_inline)) REAL SUFFIX(round_element)(
    const struct SUFFIX(plan) * plan, const enum round_kind kind, const enum ulp_rounding rounding,
    const bool plain, REAL x, double uniform)
{
    const BITS sign = SUFFIX(to_bits)(x) & SIGN_BIT;
    const REAL a = SUFFIX(from_bits)(SUFFIX(to_bits)(x) ^ sign);
    const bool outward = rounding == ULP_ROUND_UP ? x > 0 : x < 0;
    REAL r = kind == ROUND_BITWISE
                 ? SUFFIX(round_bitwise)(plan, rounding, a, outward, uniform)
                 : SUFFIX(round_aligned)(plan, kind, rounding, a, outward, uniform);
    if (rounding == ULP_ROUND_TOWARD_ZERO || rounding == ULP_ROUND_UP ||
        rounding == ULP_ROUND_DOWN) {
        const REAL over = x < 0 ? plan->over_negative : plan->over_positive;
        r = r > plan->limit ? over : r;
        r = a == (REAL)INFINITY ? plan->infinite : r;
    } else {
        r = r > plan->limit ? plan->infinite : r; /* overflow and infinity are the same there */
    }
    if (plain)
        return SUFFIX(from_bits)(SUFFIX(to_bits)(r) | sign);
    r = r < plan->flush_below ? 0 : r;
    return SUFFIX(from_bits)(SUFFIX(to_bits)(r) | (r == 0 ? sign & plan->zero_sign : sign));
}

static inline __attribute__((always_inline)) void SUFFIX(round_blocks)(
    const struct SUFFIX(plan) * plan, const enum round_kind kind, const enum ulp_rounding rounding,
    const bool plain, REAL *x, size_t block_count)
{
    const struct SUFFIX(plan) own = *plan; /* which stores to x cannot change */
    for (size_t block = 0; block < block_count; block++, x += ROUND_BLOCK)
        for (int i = 0; i < ROUND_BLOCK; i++)
            x[i] = SUFFIX(round_element)(&own, kind, rounding, plain, x[i], 0);
}

/* Expands every loop of one instruction set. The most used mode has loops without the cases of few
 * formats. */
static inline __attribute__((always_inline)) void SUFFIX(choose_blocks)(
    const struct SUFFIX(plan) * plan, enum ulp_rounding rounding, REAL *x, size_t block_count)
{
#define CASE(kind, rounding)                                               \
    case kind * 8 + rounding:                                              \
        SUFFIX(round_blocks)(plan, kind, rounding, false, x, block_count); \
        break
#define CASES(kind)                                                                          \
    case kind * 8 + ULP_ROUND_NEAREST_EVEN:                                                  \
        if (plan->plain)                                                                     \
            SUFFIX(round_blocks)(plan, kind, ULP_ROUND_NEAREST_EVEN, true, x, block_count);  \
        else                                                                                 \
            SUFFIX(round_blocks)(plan, kind, ULP_ROUND_NEAREST_EVEN, false, x, block_count); \
        break;                                                                               \
        CASE(kind, ULP_ROUND_NEAREST_AWAY);                                                  \
        CASE(kind, ULP_ROUND_TOWARD_ZERO);                                                   \
        CASE(kind, ULP_ROUND_UP);                                                            \
        CASE(kind, ULP_ROUND_DOWN)
    switch ((int)plan->kind * 8 + (int)rounding) {
        CASES(ROUND_ALIGNED);
        CASES(ROUND_FULL);
        CASES(ROUND_BITWISE);
    }
#undef CASES
#undef CASE
}

/* The elements of blocks whose first one has the first number of a counter. */
static inline __attribute__((always_inline)) void SUFFIX(draw_blocks)(const struct SUFFIX(plan) *
                                                                          plan,
                                                                      const enum round_kind kind,
                                                                      REAL *x, size_t block_count,
                                                                      const struct draw *draw)
{
    const struct SUFFIX(plan) own = *plan;
    for (size_t block = 0; block < block_count; block++, x += ULP_DRAW_BLOCK) {
        double uniform[ULP_DRAW_BLOCK];
        ulp_draw_block(uniform, draw->seed, draw->index / 2 + block * (ULP_DRAW_BLOCK / 2),
                       draw->stream);
        for (int i = 0; i < ULP_DRAW_BLOCK; i++)
            x[i] = SUFFIX(round_element)(&own, kind, ULP_ROUND_STOCHASTIC, false, x[i], uniform[i]);
    }
}

static inline __attribute__((always_inline)) void SUFFIX(choose_draws)(
    const struct SUFFIX(plan) * plan, REAL *x, size_t block_count, const struct draw *draw)
{
    switch (plan->kind) {
    case ROUND_ALIGNED: SUFFIX(draw_blocks)(plan, ROUND_ALIGNED, x, block_count, draw); break;
    case ROUND_FULL: SUFFIX(draw_blocks)(plan, ROUND_FULL, x, block_count, draw); break;
    case ROUND_BITWISE: SUFFIX(draw_blocks)(plan, ROUND_BITWISE, x, block_count, draw); break;
    }
}

/* One function an instruction set; their results are the same bits. */
#define INSTANCE(name, attributes)                                                                \
    attributes static void SUFFIX(name)(const struct SUFFIX(plan) * plan,                         \
                                        enum ulp_rounding rounding, REAL * x, size_t block_count) \
    {                                                                                             \
        SUFFIX(choose_blocks)(plan, rounding, x, block_count);                                    \
    }                                                                                             \
    attributes static void SUFFIX(name##_drawn)(const struct SUFFIX(plan) * plan, REAL * x,       \
                                                size_t block_count, const struct draw *draw)      \
    {                                                                                             \
        SUFFIX(choose_draws)(plan, x, block_count, draw);                                         \
    }
INSTANCE(round_portable, )
#if ULP_X86_VECTORS
INSTANCE(round_avx2, __attribute__((target("avx2"))))
INSTANCE(round_avx512, __attribute__((target(ROUND_AVX512))))
#endif
#undef INSTANCE

static void SUFFIX(round_array)(const struct SUFFIX(plan) * plan, enum ulp_rounding rounding,
                                REAL *x, size_t n)
{
    void (*const run)(const struct SUFFIX(plan) *, enum ulp_rounding, REAL *, size_t) =
        ULP_BY_CPU(SUFFIX(round_avx512), SUFFIX(round_avx2), SUFFIX(round_portable));
    const size_t block_count = n / ROUND_BLOCK, rest = n % ROUND_BLOCK;
    run(plan, rounding, x, block_count);
    if (rest > 0) {
        REAL padded[ROUND_BLOCK] = {0};
        memcpy(padded, x + n - rest, rest * sizeof x[0]);
        run(plan, rounding, padded, 1);
        memcpy(x + n - rest, padded, rest * sizeof x[0]);
    }
}

static void SUFFIX(round_few_drawn)(const struct SUFFIX(plan) * plan, REAL *x, size_t n,
                                    struct draw *draw)
{
    for (size_t i = 0; i < n; i++)
        x[i] = SUFFIX(round_element)(plan, plan->kind, ULP_ROUND_STOCHASTIC, false, x[i],
                                     draw_uniform(draw));
}

static void SUFFIX(round_stochastic)(const struct SUFFIX(plan) * plan, REAL *x, size_t n,
                                     struct draw draw)
{
    void (*const run)(const struct SUFFIX(plan) *, REAL *, size_t, const struct draw *) =
        ULP_BY_CPU(SUFFIX(round_avx512_drawn), SUFFIX(round_avx2_drawn),
                   SUFFIX(round_portable_drawn));
    REAL padded[ULP_DRAW_BLOCK] = {0};
    while (n >= DRAWN_APART) {
        const size_t odd = draw.index % 2, blocks = odd ? 0 : n / ULP_DRAW_BLOCK,
                     room = ULP_DRAW_BLOCK - odd, part = n < room ? n : room,
                     count = blocks ? blocks * ULP_DRAW_BLOCK : part;
        draw.index -= odd; /* a block begins with an even number */
        if (blocks) {
            run(plan, x, blocks, &draw);
        } else {
            memcpy(padded + odd, x, count * sizeof *x);
            run(plan, padded, 1, &draw);
            memcpy(x, padded + odd, count * sizeof *x);
        }
        draw.index += odd + count;
        x += count;
        n -= count;
    }
    SUFFIX(round_few_drawn)(plan, x, n, &draw);
}
