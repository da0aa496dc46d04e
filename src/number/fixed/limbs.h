/* Numbers of a few 64-bit limbs, least significant first, for the fast paths of the wide carrier.
 * Every count of limbs is a constant where these are used, so that the loops unroll and the arrays
 * live in registers. As fractions, n limbs a stand for a 2^(-64 n) in [0, 1); the unit of the last
 * limb is an ulp here. */
#pragma once

#include "number/mpfr_record.h"

#include <stdbool.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if GMP_NUMB_BITS == 64 && defined(__SIZEOF_INT128__)
#define ULP_LIMBS 1
#define ULP_LIMBS_INLINE static inline __attribute__((always_inline))
#define ULP_LIMBS_UNROLL _Pragma("GCC unroll 8")
#define ULP_LIMBS_MAX 7 /* limbs of the longest intermediate */

__extension__ typedef unsigned __int128 ulp_limbs_pair;

/* Records of so many limbs, whatever their precision. */
ULP_LIMBS_INLINE const struct ulp_record *ulp_limbs_record_const(const void *records, size_t i,
                                                                 int limbs)
{
    return ulp_record_at_const(records, i, 64 * limbs);
}
ULP_LIMBS_INLINE struct ulp_record *ulp_limbs_record(void *records, size_t i, int limbs)
{
    return ulp_record_at(records, i, 64 * limbs);
}

ULP_LIMBS_INLINE void ulp_limbs_copy(uint64_t *y, const uint64_t *a, int n)
{
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++) y[i] = a[i];
}

ULP_LIMBS_INLINE void ulp_limbs_zero(uint64_t *y, int n)
{
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++) y[i] = 0;
}

/* a + b + carry and a - b - carry, one limb; the carry out. */
#if defined(__x86_64__)
ULP_LIMBS_INLINE unsigned char ulp_limbs_add_limb(uint64_t *y, uint64_t a, uint64_t b,
                                                  unsigned char carry)
{
    unsigned long long sum; /* of its own: the arrays stay in registers */
    carry = _addcarry_u64(carry, a, b, &sum);
    *y = sum;
    return carry;
}
ULP_LIMBS_INLINE unsigned char ulp_limbs_sub_limb(uint64_t *y, uint64_t a, uint64_t b,
                                                  unsigned char carry)
{
    unsigned long long difference;
    carry = _subborrow_u64(carry, a, b, &difference);
    *y = difference;
    return carry;
}
#else
ULP_LIMBS_INLINE unsigned char ulp_limbs_add_limb(uint64_t *y, uint64_t a, uint64_t b,
                                                  unsigned char carry)
{
    const ulp_limbs_pair sum = (ulp_limbs_pair)a + b + carry;
    *y = (uint64_t)sum;
    return (unsigned char)(sum >> 64);
}
ULP_LIMBS_INLINE unsigned char ulp_limbs_sub_limb(uint64_t *y, uint64_t a, uint64_t b,
                                                  unsigned char carry)
{
    const ulp_limbs_pair difference = (ulp_limbs_pair)a - b - carry;
    *y = (uint64_t)difference;
    return (unsigned char)(difference >> 64) & 1;
}
#endif

/* y = a + b; the carry out. */
ULP_LIMBS_INLINE uint64_t ulp_limbs_add(uint64_t *y, const uint64_t *a, const uint64_t *b, int n)
{
    unsigned char carry = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++) carry =
        ulp_limbs_add_limb(&y[i], a[i], b[i], carry);
    return carry;
}

/* y = a - b; the borrow out. */
ULP_LIMBS_INLINE uint64_t ulp_limbs_sub(uint64_t *y, const uint64_t *a, const uint64_t *b, int n)
{
    unsigned char borrow = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++) borrow =
        ulp_limbs_sub_limb(&y[i], a[i], b[i], borrow);
    return borrow;
}

/* y = a + carry; the carry out. */
ULP_LIMBS_INLINE uint64_t ulp_limbs_add_one(uint64_t *y, const uint64_t *a, uint64_t carry, int n)
{
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++)
    {
        const uint64_t sum = a[i] + carry;
        carry = sum < carry;
        y[i] = sum;
    }
    return carry;
}

ULP_LIMBS_INLINE bool ulp_limbs_less(const uint64_t *a, const uint64_t *b, int n)
{
    uint64_t y[ULP_LIMBS_MAX];
    return ulp_limbs_sub(y, a, b, n);
}

/* y = a << bits, 0 <= bits < 64. */
ULP_LIMBS_INLINE void ulp_limbs_shift_left(uint64_t *y, const uint64_t *a, int bits, int n)
{
    ULP_LIMBS_UNROLL for (int i = n - 1; i > 0; i--) y[i] =
        a[i] << bits | a[i - 1] >> 1 >> (63 - bits);
    y[0] = a[0] << bits;
}

/* y = a >> bits, cut off; any bits >= 0. */
ULP_LIMBS_INLINE void ulp_limbs_shift_right(uint64_t *y, const uint64_t *a, int64_t bits, int n)
{
    uint64_t moved[ULP_LIMBS_MAX];
    ulp_limbs_copy(moved, a, n);
    if (bits >= 64 * n) {
        ulp_limbs_zero(y, n);
        return;
    }
    for (; bits >= 64; bits -= 64)
        ULP_LIMBS_UNROLL for (int i = 0; i < n; i++) moved[i] = i + 1 < n ? moved[i + 1] : 0;
    ULP_LIMBS_UNROLL for (int i = 0; i + 1 < n; i++) y[i] =
        moved[i] >> bits | moved[i + 1] << 1 << (63 - bits);
    y[n - 1] = moved[n - 1] >> bits;
}

/* The product of two fractions without the columns below limb n - 1: too small by less than n ulp.
 * Proof: the columns left out are sum of a_i b_j 2^(64 (i + j - 2n)) over i + j <= n - 2; column n
 * - 2 has n - 1 products of at most (2^64 - 1)^2, and what these miss of 2^128 exceeds the columns
 * below. So much is below n - 1 ulp; cutting off column n - 1 adds less than one. */
ULP_LIMBS_INLINE void ulp_limbs_multiply_high(uint64_t *y, const uint64_t *a, const uint64_t *b,
                                              int n)
{
    uint64_t t[ULP_LIMBS_MAX + 1];
    ulp_limbs_zero(t, n + 1);
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++)
    {
        uint64_t carry = 0;
        ULP_LIMBS_UNROLL for (int j = n - 1 - i; j < n; j++)
        {
            const ulp_limbs_pair sum = (ulp_limbs_pair)a[i] * b[j] + t[i + j - (n - 1)] + carry;
            t[i + j - (n - 1)] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        t[i + 1] = carry;
    }
    ulp_limbs_copy(y, t + 1, n);
}

/* y (2n limbs) = a b. */
ULP_LIMBS_INLINE void ulp_limbs_multiply(uint64_t *y, const uint64_t *a, const uint64_t *b, int n)
{
    ulp_limbs_zero(y, 2 * n);
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++)
    {
        uint64_t carry = 0;
        ULP_LIMBS_UNROLL for (int j = 0; j < n; j++)
        {
            const ulp_limbs_pair sum = (ulp_limbs_pair)a[i] * b[j] + y[i + j] + carry;
            y[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        y[i + n] = carry;
    }
}

/* y (n + 1 limbs) = a k. */
ULP_LIMBS_INLINE void ulp_limbs_multiply_one(uint64_t *y, const uint64_t *a, uint64_t k, int n)
{
    uint64_t carry = 0;
    ULP_LIMBS_UNROLL for (int i = 0; i < n; i++)
    {
        const ulp_limbs_pair sum = (ulp_limbs_pair)a[i] * k + carry;
        y[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    y[n] = carry;
}

/* (high, low) / d, for high < d. */
ULP_LIMBS_INLINE uint64_t ulp_limbs_divide_pair(uint64_t *remainder, uint64_t high, uint64_t low,
                                                uint64_t d)
{
#if defined(__x86_64__)
    uint64_t quotient;
    __asm__("divq %4" : "=a"(quotient), "=d"(*remainder) : "0"(low), "1"(high), "r"(d) : "cc");
    return quotient;
#else
    const ulp_limbs_pair number = (ulp_limbs_pair)high << 64 | low;
    *remainder = (uint64_t)(number % d);
    return (uint64_t)(number / d);
#endif
}

/* floor((2^192 - 1) / d) - 2^64 for d of two limbs, its top bit set (N. Moeller, T. Granlund,
 * "Improved division by invariant integers", IEEE Trans. Computers 60(2), 2011, algorithm 6). */
ULP_LIMBS_INLINE uint64_t ulp_limbs_reciprocal(const uint64_t *d)
{
    const uint64_t d1 = d[1], d0 = d[0];
    uint64_t unused, v = ulp_limbs_divide_pair(&unused, ~d1, ~UINT64_C(0), d1), p = d1 * v + d0;
    /* The paper's decisions as masks: they are as likely as not. */
    const uint64_t over = -(uint64_t)(p < d0), twice = over & -(uint64_t)(p >= d1);
    v += over + twice;
    p -= (d1 & over) + (d1 & twice);
    const ulp_limbs_pair t = (ulp_limbs_pair)v * d0;
    p += (uint64_t)(t >> 64);
    const uint64_t more = -(uint64_t)(p < (uint64_t)(t >> 64));
    const uint64_t rest[2] = {(uint64_t)t, p};
    return v + more + (more & -(uint64_t)!ulp_limbs_less(rest, d, 2));
}

/* Quotient and, in u, remainder of (u, low) by d, two limbs each, u < d, v the reciprocal of d: the
 * same paper's algorithm 5. */
ULP_LIMBS_INLINE uint64_t ulp_limbs_divide_step(uint64_t *u, uint64_t low, const uint64_t *d,
                                                uint64_t v)
{
    const ulp_limbs_pair product = (ulp_limbs_pair)v * u[1];
    const uint64_t parts[2] = {(uint64_t)product, (uint64_t)(product >> 64)};
    uint64_t q[2], r[2], back[2];
    ulp_limbs_add(q, parts, u, 2);
    const ulp_limbs_pair t = (ulp_limbs_pair)d[0] * q[1];
    const uint64_t taken[2] = {(uint64_t)t, (uint64_t)(t >> 64)};
    r[0] = low;
    r[1] = u[0] - q[1] * d[1];
    ulp_limbs_sub(r, r, taken, 2);
    ulp_limbs_sub(r, r, d, 2);
    /* As likely as not: a mask, no branch. */
    const uint64_t mask = -(uint64_t)(r[1] >= q[0]);
    back[0] = d[0] & mask;
    back[1] = d[1] & mask;
    ulp_limbs_add(u, r, back, 2);
    q[1] += 1 + mask;
    if (__builtin_expect(u[1] >= d[1], 0) && !ulp_limbs_less(u, d, 2)) {
        q[1]++;
        ulp_limbs_sub(u, u, d, 2);
    }
    return q[1];
}

/* q = floor(2^(64 n) (a + low 2^-64) / b) for a < b, the top bit of b set, n >= 2; a becomes the
 * remainder. Beyond two limbs the quotient of the leading limbs is the digit or one too many. */
ULP_LIMBS_INLINE void ulp_limbs_divide(uint64_t *q, uint64_t *a, uint64_t low, const uint64_t *b,
                                       int n)
{
    const uint64_t v = ulp_limbs_reciprocal(b + n - 2);
    if (n == 2) {
        q[1] = ulp_limbs_divide_step(a, low, b, v);
        q[0] = ulp_limbs_divide_step(a, 0, b, v);
        return;
    }
    ULP_LIMBS_UNROLL for (int i = n - 1; i >= 0; i--)
    {
        uint64_t u[2] = {a[n - 2], a[n - 1]};
        uint64_t digit = ulp_limbs_less(u, b + n - 2, 2)
                             ? ulp_limbs_divide_step(u, a[n - 3], b + n - 2, v)
                             : ~UINT64_C(0);
        uint64_t product[ULP_LIMBS_MAX], next[ULP_LIMBS_MAX];
        next[0] = i == n - 1 ? low : 0;
        ulp_limbs_copy(next + 1, a, n);
        ulp_limbs_multiply_one(product, b, digit, n);
        if (ulp_limbs_sub(next, next, product, n + 1)) {
            digit--;
            ulp_limbs_add(next, next, b, n);
        }
        ulp_limbs_copy(a, next, n);
        q[i] = digit;
    }
}

#endif
