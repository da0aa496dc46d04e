/* Rounding vectors of doubles to a format, as ulp_round_doubles does, for formats below double and
 * with a signed zero. Parameters, undefined again at
 * the end:
 *   SUFFIX      of the names
 *   ATTRIBUTE   target attribute of the instruction set
 *   VECTOR      of doubles, BITS of as many uint64_t (vector_size attribute)
 *   MAX(x, y), MIN(x, y)       of vectors without NaN
 *   WHERE_LESS(x, y, u, v)     lanes of u where x < y, else (NaN too) of v
 *   WHERE_NONZERO(x, u, v)     lanes of u where x < 0 or x > 0, else (NaN too) of v
 * Instantiated by tile_rounded.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define SPREAD(x) ((x) - (VECTOR){0})
#define SIGN ((uint64_t)1 << 63)

struct JOIN(rounder, SUFFIX) {
    VECTOR smallest, shift, ulp, largest, flushed, infinite;
    VECTOR threshold_positive, threshold_negative, over_positive, over_negative;
};

ATTRIBUTE static struct JOIN(rounder, SUFFIX)
    JOIN(make_rounder, SUFFIX)(const struct ulp_format *format, enum ulp_rounding rounding)
{
    const struct rounder_scalars s = make_scalars(format, rounding);
    return (struct JOIN(rounder, SUFFIX)){
        .smallest = SPREAD(s.smallest),
        .shift = SPREAD(s.shift),
        .ulp = SPREAD(s.ulp),
        .largest = SPREAD(s.largest),
        .flushed = SPREAD(s.flushed),
        .infinite = SPREAD(s.infinite),
        .threshold_positive = SPREAD(s.threshold[0]),
        .threshold_negative = SPREAD(s.threshold[1]),
        .over_positive = SPREAD(s.over[0]),
        .over_negative = SPREAD(s.over[1]),
    };
}

/* nearest: the mode is nearest even, so nothing else is looked at. */
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR JOIN(round, SUFFIX)(
    const struct JOIN(rounder, SUFFIX) * r, VECTOR x, const bool nearest)
{
    const BITS sign = (BITS)x & SIGN;
    const VECTOR magnitude = (VECTOR)((BITS)x & ~SIGN);
    /* The power of two at or below |x|, within the format's binades; for an infinity or NaN any
     * that leaves the shift finite will do. */
    const VECTOR power =
        MIN(MAX((VECTOR)((BITS)x & (uint64_t)0x7ff << 52), r->smallest), SPREAD(0x1p900));
    const VECTOR shift = power * r->shift;
    VECTOR y = (magnitude + shift) - shift, over = r->over_positive;
    if (!nearest) {
        const VECTOR ulp = power * r->ulp, side = (VECTOR)((BITS)SPREAD(1.0) | sign);
        const VECTOR threshold =
            WHERE_LESS(side, SPREAD(0.0), r->threshold_negative, r->threshold_positive);
        y = WHERE_LESS(magnitude, y, y - ulp, y);
        y = WHERE_LESS(magnitude - y, MAX(power * threshold, SPREAD(0x1p-1074)), y, y + ulp);
        over = WHERE_LESS(side, SPREAD(0.0), r->over_negative, over);
        over = WHERE_LESS(SPREAD(0x1.fffffffffffffp1023), magnitude, r->infinite, over);
    }
    y = WHERE_LESS(y, r->flushed, SPREAD(0.0), y);
    y = WHERE_LESS(r->largest, y, over, y);
    return (VECTOR)((BITS)y | sign);
}

/* x + y rounded to odd at 53 bits: number/round/odd.h. */
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR JOIN(add_odd, SUFFIX)(VECTOR x,
                                                                                    VECTOR y)
{
    const VECTOR sum = x + y, y_part = sum - x;
    const VECTOR error = (x - (sum - y_part)) + (y - y_part);
    const BITS toward_zero = ((BITS)sum ^ (BITS)error) >> 63;
    return WHERE_NONZERO(error, (VECTOR)(((BITS)sum - toward_zero) | 1), sum);
}

#undef JOIN
#undef JOIN_
#undef SPREAD
#undef SIGN
#undef SUFFIX
#undef ATTRIBUTE
#undef VECTOR
#undef BITS
#undef MAX
#undef MIN
#undef WHERE_LESS
#undef WHERE_NONZERO
