/* Sums, products, quotients and square roots of doubles rounded to odd: exact results stay, others
 * become the neighbour whose last significand bit is 1. From that any rounding to at most 51 bits
 * is the single correct rounding (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded
 * sums", IEEE TC 57(4), 2008; number/README.md). */
#pragma once

#include <float.h>
#include <stdint.h>

#include "base/bits.h"

/* The value nearest + error (of which nearest is the rounding to nearest; only error's sign
 * counts), rounded to odd. error NaN, as beside an infinity, counts as 0. Branch-free, in a form
 * that compilers turn into vectors. */
static inline double ulp_odd(double nearest, double error)
{
    const uint64_t bits = ulp_double_bits(nearest);
    /* Toward zero when the error points there: the bits of |x| are ordered as |x|. Zero cannot have
     * an error. */
    const uint64_t toward_zero = (bits ^ ulp_double_bits(error)) >> 63;
    const double moved = ulp_double_from((bits - toward_zero) | 1);
    const double above = error > 0 ? moved : nearest;
    return error < 0 ? moved : above;
}

/* a + b. Fast2Sum on ordered operands never overflows when the sum does not, and is exact with
 * subnormals. An overflow from finite operands rounds to the largest double, which is odd. */
static inline double ulp_odd_add(double a, double b)
{
    const double sum = a + b, aa = __builtin_fabs(a), ab = __builtin_fabs(b);
    const double large = aa < ab ? b : a, small = aa < ab ? a : b;
    const double odd = ulp_odd(sum, small - (sum - large));
    const double largest = sum < 0 ? -DBL_MAX : DBL_MAX;
    const double beyond = __builtin_fabs(large) <= DBL_MAX ? largest : sum;
    return __builtin_fabs(sum) > DBL_MAX ? beyond : odd;
}

/* a * b - product exactly, by Dekker's product (Veltkamp's split at 27 bits); exact when |a|, |b|
 * and |a * b| lie in 2^-900 .. 2^900 or are zero. */
static inline double ulp_odd_product_error(double a, double b, double product)
{
    const double ca = 0x8000001p0 * a, cb = 0x8000001p0 * b;
    const double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
}

/* The following are right when operands and result are zero, infinite, NaN or have exponents within
 * +-400. */
static inline double ulp_odd_mul(double a, double b)
{
    const double product = a * b;
    return ulp_odd(product, ulp_odd_product_error(a, b, product));
}
/* The remainder a - q b is a double; q b is product + error. */
static inline double ulp_odd_div(double a, double b)
{
    const double q = a / b, product = q * b;
    const double remainder = (a - product) - ulp_odd_product_error(q, b, product);
    return ulp_odd(q, b < 0 ? -remainder : remainder);
}
static inline double ulp_odd_sqrt(double a)
{
    const double s = __builtin_sqrt(a), square = s * s;
    return ulp_odd(s, (a - square) - ulp_odd_product_error(s, s, square));
}
/* a * b + c as Boldo and Melquiond sum three doubles: the low parts first, to odd. */
static inline double ulp_odd_fma(double a, double b, double c)
{
    const double product = a * b, low = ulp_odd_product_error(a, b, product);
    const double plain = product + c;
    /* (uh, ul) = c + low, (th, tl) = product + uh, both exactly by TwoSum */
    const double uh = c + low, ub = uh - c, ul = (c - (uh - ub)) + (low - ub);
    const double th = product + uh, tb = th - product, tl = (product - (th - tb)) + (uh - tb);
    const double exact = ulp_odd_add(th, ulp_odd_add(tl, ul));
    const double finite = exact == 0 ? plain : exact; /* whose zero has the right sign */
    return __builtin_fabs(plain) <= DBL_MAX ? finite : plain;
}
