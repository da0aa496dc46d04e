/* Rounding vectors of doubles to a format, to nearest even, as ulp_round_doubles does, for formats
 * below double and with a signed zero. Includer: rounded_tiles_template.h, which has the
 * parameters. */

#define SPREAD(x) ((x) - (VECTOR){0})
#define SIGN ((uint64_t)1 << 63)

struct NAMED(rounder) {
    VECTOR smallest, shift, largest, over, flushed;
};

ATTRIBUTE static struct NAMED(rounder) NAMED(make_rounder)(const struct ulp_format *format)
{
    const struct rounder_scalars s = make_scalars(format);
    return (struct NAMED(rounder)){
        .smallest = SPREAD(s.smallest),
        .shift = SPREAD(s.shift),
        .largest = SPREAD(s.largest),
        .over = SPREAD(s.over),
        .flushed = SPREAD(s.flushed),
    };
}

ATTRIBUTE static inline __attribute__((always_inline)) VECTOR NAMED(round)(
    const struct NAMED(rounder) * r, VECTOR x)
{
    const BITS sign = (BITS)x & SIGN;
    const VECTOR magnitude = (VECTOR)((BITS)x & ~SIGN);
    /* The power of two at or below |x|, within the format's binades; for an infinity or NaN any
     * that leaves the shift finite will do. */
    const VECTOR binade = (VECTOR)((BITS)x & (uint64_t)0x7ff << 52),
                 within = SELECT(binade < r->smallest, r->smallest, binade),
                 power = SELECT(within < SPREAD(0x1p900), within, SPREAD(0x1p900));
    const VECTOR shift = power * r->shift;
    VECTOR y = (magnitude + shift) - shift;
    y = SELECT(y < r->flushed, SPREAD(0.0), y);
    y = SELECT(r->largest < y, r->over, y);
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
