/* The primitives whose code is the same in every native floating-point carrier. Parameters, defined
 * by the including file:
 *   REAL           float or double
 *   BITS           the unsigned integer type of its size
 *   SIGN_BIT       its sign bit
 *   INTEGER_FROM   2^(p - 1): every REAL of at least this magnitude is an integer
 *   FMOD_REAL      fmodf or fmod, which are exact
 *   REAL_MAX       its largest number
 *   round_results  static void (rule, REAL *y, n, place): round y to the rule's format
 * Everything is branch-free over the elements, so the loops vectorise, and no libm function whose
 * bits could vary is used. */
#include "number/strip/map.h"

#include <string.h>

static inline BITS bits_of(REAL x)
{
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline REAL real_of(BITS bits)
{
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline REAL magnitude(REAL x)
{
    return real_of(bits_of(x) & ~SIGN_BIT);
}
static inline REAL with_sign(REAL x, REAL sign)
{
    return real_of((bits_of(x) & ~SIGN_BIT) | (bits_of(sign) & SIGN_BIT));
}

/* To the nearest integer, ties to even, keeping the sign of zero: adding 2^(p - 1) rounds at the
 * unit. */
static inline REAL round_to_integer(REAL x)
{
    const REAL m = magnitude(x), r = (m + INTEGER_FROM) - INTEGER_FROM;
    return m < INTEGER_FROM ? with_sign(r, x) : x;
}
static inline REAL floor_to_integer(REAL x)
{
    const REAL r = round_to_integer(x);
    return r > x ? r - 1 : r;
}
/* ceil(-0.5) is -0, as IEEE 754 has it. */
static inline REAL ceil_to_integer(REAL x)
{
    const REAL r = round_to_integer(x);
    return with_sign(r < x ? r + 1 : r, x);
}
static inline REAL truncate_to_integer(REAL x)
{
    const REAL m = magnitude(x), r = round_to_integer(m);
    return with_sign(r > m ? r - 1 : r, x);
}

/* IEEE 754-2019 section 9.6 minimum and maximum: NaN propagates, -0 is below +0. Two equal values
 * differ in their bits only when they are zeros, so AND and OR of the bits give the right zero. */
static inline REAL greater_of(REAL u, REAL v)
{
    const REAL ordered = u > v ? u : u < v ? v : real_of(bits_of(u) & bits_of(v));
    return u != u || v != v ? u + v : ordered;
}
static inline REAL lesser_of(REAL u, REAL v)
{
    const REAL ordered = u < v ? u : u > v ? v : real_of(bits_of(u) | bits_of(v));
    return u != u || v != v ? u + v : ordered;
}

/* u - v * floor(u / v) = remainder + addend: the exact remainder takes the divisor's sign by one
 * addition. A zero has the divisor's sign. */
static inline REAL modulo_addend(REAL remainder, REAL v)
{
    return (remainder < 0) != (v < 0) && remainder != 0 ? v : with_sign(0, remainder);
}
static inline REAL modulo_remainder(REAL u, REAL v)
{
    const REAL r = FMOD_REAL(u, v);
    return r == 0 ? with_sign(r, v) : r;
}

MAP_EXACT(COPY, 1, u)
MAP_EXACT(ABS, 1, magnitude(u))
MAP_EXACT(SIGN, 1, u > 0 ? 1 : u < 0 ? -1 : u == 0 ? 0 : u)
MAP_EXACT(IS_NAN, 1, u != u)
MAP_EXACT(IS_INF, 1, magnitude(u) > REAL_MAX)
MAP_EXACT(NOT, 1, u == 0)
MAP_EXACT(MIN, 2, lesser_of(u, v))
MAP_EXACT(MAX, 2, greater_of(u, v))
MAP_EXACT(LESS, 2, u < v)
MAP_EXACT(LESS_EQUAL, 2, u <= v)
MAP_EXACT(EQUAL, 2, u == v)
MAP_EXACT(AND, 2, (u != 0) & (v != 0))
MAP_EXACT(OR, 2, (u != 0) | (v != 0))
MAP_EXACT(XOR, 2, (u != 0) ^ (v != 0))
MAP_EXACT(SELECT, 3, u != 0 ? v : w)
/* These are exact as real numbers, but the format may lack the result: -0, an integer after its
 * largest fraction, or (FMOD) a subnormal that it flushes. */
MAP_ROUNDED(NEG, 1, -u)
MAP_ROUNDED(FLOOR, 1, floor_to_integer(u))
MAP_ROUNDED(CEIL, 1, ceil_to_integer(u))
MAP_ROUNDED(TRUNC, 1, truncate_to_integer(u))
MAP_ROUNDED(ROUND, 1, round_to_integer(u))
MAP_ROUNDED(FMOD, 2, FMOD_REAL(u, v))

#define TEMPLATE_ENTRIES                                                                           \
    [ULP_PRIMITIVE_COPY] = run_COPY, [ULP_PRIMITIVE_ABS] = run_ABS,                                \
    [ULP_PRIMITIVE_SIGN] = run_SIGN, [ULP_PRIMITIVE_IS_NAN] = run_IS_NAN,                          \
    [ULP_PRIMITIVE_IS_INF] = run_IS_INF, [ULP_PRIMITIVE_NOT] = run_NOT,                            \
    [ULP_PRIMITIVE_MIN] = run_MIN, [ULP_PRIMITIVE_MAX] = run_MAX, [ULP_PRIMITIVE_FMOD] = run_FMOD, \
    [ULP_PRIMITIVE_LESS] = run_LESS, [ULP_PRIMITIVE_LESS_EQUAL] = run_LESS_EQUAL,                  \
    [ULP_PRIMITIVE_EQUAL] = run_EQUAL, [ULP_PRIMITIVE_AND] = run_AND, [ULP_PRIMITIVE_OR] = run_OR, \
    [ULP_PRIMITIVE_XOR] = run_XOR, [ULP_PRIMITIVE_SELECT] = run_SELECT,                            \
    [ULP_PRIMITIVE_NEG] = run_NEG, [ULP_PRIMITIVE_FLOOR] = run_FLOOR,                              \
    [ULP_PRIMITIVE_CEIL] = run_CEIL, [ULP_PRIMITIVE_TRUNC] = run_TRUNC,                            \
    [ULP_PRIMITIVE_ROUND] = run_ROUND
