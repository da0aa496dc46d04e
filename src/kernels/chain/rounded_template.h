/* Rounding vectors of doubles to a format, as ulp_round_doubles does, for formats below double and
 * with a signed zero. Includer: rounded_tiles_template.h, which has the parameters. */

#define SPREAD(x) ((x) - (VECTOR){0})
#define SIGN ((uint64_t)1 << 63)

struct NAMED(rounder) {
    VECTOR smallest, shift, ulp, largest, flushed, infinite;
    VECTOR threshold_positive, threshold_negative, over_positive, over_negative;
};

ATTRIBUTE static struct NAMED(rounder)
    NAMED(make_rounder)(const struct ulp_format *format, enum ulp_rounding rounding)
{
    const struct rounder_scalars s = make_scalars(format, rounding);
    return (struct NAMED(rounder)){
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
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR NAMED(round)(
    const struct NAMED(rounder) * r, VECTOR x, const bool nearest)
{
    const BITS sign = (BITS)x & SIGN;
    const VECTOR magnitude = (VECTOR)((BITS)x & ~SIGN);
    /* The power of two at or below |x|, within the format's binades; for an infinity or NaN any
     * that leaves the shift finite will do. */
    const VECTOR binade = (VECTOR)((BITS)x & (uint64_t)0x7ff << 52),
                 within = SELECT(binade < r->smallest, r->smallest, binade),
                 power = SELECT(within < SPREAD(0x1p900), within, SPREAD(0x1p900));
    const VECTOR shift = power * r->shift;
    VECTOR y = (magnitude + shift) - shift, over = r->over_positive;
    if (!nearest) {
        const VECTOR ulp = power * r->ulp, side = (VECTOR)((BITS)SPREAD(1.0) | sign);
        const VECTOR threshold =
            SELECT(side < SPREAD(0.0), r->threshold_negative, r->threshold_positive);
        y = SELECT(magnitude < y, y - ulp, y);
        const VECTOR least = power * threshold,
                     excess = SELECT(least < SPREAD(0x1p-1074), SPREAD(0x1p-1074), least);
        y = SELECT(magnitude - y < excess, y, y + ulp);
        over = SELECT(side < SPREAD(0.0), r->over_negative, over);
        over = SELECT(SPREAD(0x1.fffffffffffffp1023) < magnitude, r->infinite, over);
    }
    y = SELECT(y < r->flushed, SPREAD(0.0), y);
    y = SELECT(r->largest < y, over, y);
    return (VECTOR)((BITS)y | sign);
}

/* x + y rounded to odd at 53 bits: number/round/odd.h. */
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR NAMED(add_odd)(VECTOR x, VECTOR y)
{
    const VECTOR sum = x + y, y_part = sum - x;
    const VECTOR error = (x - (sum - y_part)) + (y - y_part);
    const BITS toward_zero = ((BITS)sum ^ (BITS)error) >> 63;
    return SELECT((error < 0) | (error > 0), (VECTOR)(((BITS)sum - toward_zero) | 1), sum);
}

#undef SPREAD
#undef SIGN
