/* Rounding vectors of doubles to a format, as ulp_round_doubles does in every mode but the stochastic one, for formats
 * below double and with a signed zero. Parameters, undefined again at the end:
 *   SUFFIX      of the names
 *   ATTRIBUTE   target attribute of the instruction set
 *   VECTOR      of doubles, BITS of as many uint64_t (vector_size attribute)
 *   MAX(x, y), MIN(x, y)  of vectors without NaN
 *   SELECT(condition, x, y)  lanes of x where the comparison's lanes are true, else of y
 * Instantiated by tile_rounded.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define SPREAD(x) ((x) - (VECTOR){0})
#define SPREAD_BITS(x) ((x) - (BITS){0})

struct JOIN(rounder, SUFFIX) {
    VECTOR smallest;     /* 2^emin */
    VECTOR shift;        /* 1.5 * 2^(53 - precision): times 2^e, what pushes the bits below the ulp out of a sum */
    VECTOR ulp;          /* 2^(1 - precision) */
    VECTOR largest;      /* max_finite */
    VECTOR flushed;      /* smaller magnitudes become zero; 0 when subnormals are kept */
    VECTOR infinite;     /* what an infinity becomes */
    VECTOR over_positive, over_negative; /* magnitudes of finite results beyond largest */
    BITS up, down, toward_zero, away; /* all ones in the rounding mode's own */
};

ATTRIBUTE static struct JOIN(rounder, SUFFIX) JOIN(make_rounder, SUFFIX)(const struct ulp_format *format,
                                                                         enum ulp_rounding rounding)
{
    const struct rounder_scalars s = make_scalars(format, rounding);
    return (struct JOIN(rounder, SUFFIX)){
        .smallest = SPREAD(s.smallest), .shift = SPREAD(s.shift), .ulp = SPREAD(s.ulp), .largest = SPREAD(s.largest),
        .flushed = SPREAD(s.flushed), .infinite = SPREAD(s.infinite), .over_positive = SPREAD(s.over_positive),
        .over_negative = SPREAD(s.over_negative),
        .up = SPREAD_BITS(rounding == ULP_ROUND_UP ? ~(uint64_t)0 : 0),
        .down = SPREAD_BITS(rounding == ULP_ROUND_DOWN ? ~(uint64_t)0 : 0),
        .toward_zero = SPREAD_BITS(rounding == ULP_ROUND_TOWARD_ZERO ? ~(uint64_t)0 : 0),
        .away = SPREAD_BITS(rounding == ULP_ROUND_NEAREST_AWAY ? ~(uint64_t)0 : 0),
    };
}

/* nearest: the mode is nearest even, so nothing else is looked at. */
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR JOIN(round, SUFFIX)(const struct JOIN(rounder, SUFFIX) *r,
                                                                                 VECTOR x, const bool nearest)
{
    const BITS sign = (BITS)x & SPREAD_BITS((uint64_t)1 << 63);
    /* The power of two at or below |x|, within the format's binades; an infinity or NaN needs no more than not to make
     * the shift infinite. */
    const VECTOR power = MIN(MAX((VECTOR)((BITS)x & SPREAD_BITS((uint64_t)0x7ff << 52)), r->smallest), SPREAD(0x1p900));
    const VECTOR shift = power * r->shift;
    VECTOR y = (x + shift) - shift;
    if (!nearest) {
        const VECTOR difference = x - y, ulp = power * r->ulp;
        const BITS negative = (BITS)(x < 0), rise = (BITS)(difference > 0), fall = (BITS)(difference < 0);
        const BITS plus = rise & (r->up | (r->toward_zero & negative));
        const BITS minus = fall & (r->down | (r->toward_zero & ~negative));
        const BITS outward = (rise & ~negative) | (fall & negative);
        const BITS tie = (BITS)((VECTOR)((BITS)difference & ~SPREAD_BITS((uint64_t)1 << 63)) == ulp * 0.5);
        y += (VECTOR)(plus & (BITS)ulp) - (VECTOR)(minus & (BITS)ulp) +
             (VECTOR)(r->away & outward & tie & ((BITS)ulp | sign));
    }
    VECTOR magnitude = (VECTOR)((BITS)y & ~SPREAD_BITS((uint64_t)1 << 63));
    const BITS kept = ~(BITS)(magnitude < r->flushed);
    VECTOR over = r->over_positive;
    if (!nearest) {
        over = SELECT(x < 0, r->over_negative, r->over_positive);
        over = SELECT(magnitude == SPREAD(__builtin_inf()), r->infinite, over);
    }
    magnitude = SELECT(magnitude > r->largest, over, magnitude);
    return (VECTOR)(((BITS)magnitude & kept) | sign);
}

/* x + y rounded to odd at 53 bits: number/odd.h. */
ATTRIBUTE static inline __attribute__((always_inline)) VECTOR JOIN(add_odd, SUFFIX)(VECTOR x, VECTOR y)
{
    const VECTOR sum = x + y, y_part = sum - x;
    const VECTOR error = (x - (sum - y_part)) + (y - y_part);
    const BITS inexact = (BITS)(error < 0) | (BITS)(error > 0);
    const BITS toward_zero = ((BITS)sum ^ (BITS)error) >> 63;
    const BITS odd = ((BITS)sum - toward_zero) | 1;
    return (VECTOR)((odd & inexact) | ((BITS)sum & ~inexact));
}

#undef JOIN
#undef JOIN_
#undef SPREAD
#undef SPREAD_BITS
#undef SUFFIX
#undef ATTRIBUTE
#undef VECTOR
#undef BITS
#undef MAX
#undef MIN
#undef SELECT
