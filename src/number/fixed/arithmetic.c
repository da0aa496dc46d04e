/* The fast path's sums, products, quotients and roots, for records of one to four limbs. */
#include "number/fixed/arithmetic.h"

#include "number/fixed/limbs.h"

#ifdef ULP_LIMBS

#include <math.h>

/* s = floor(sqrt(h)) for h >= 2^126, and h - s^2. The root in double errs by less than 2^12 after
 * conversion, the second estimate by the square of that over 2 s and its own rounding: by less than
 * 2. */
static inline uint64_t take_small_root(ulp_limbs_pair *remainder, ulp_limbs_pair h)
{
    /* Conversions are of signed integers, which need no branch. */
    const double root = sqrt((double)(int64_t)(uint64_t)(h >> 65) * 0x1p65);
    uint64_t s = root >= 0x1p64 ? ~UINT64_C(0) : (uint64_t)(int64_t)(root / 2) << 1;
    const ulp_limbs_pair difference = h - (ulp_limbs_pair)s * s; /* signed, below 2^78 */
    const double size = ((double)(int64_t)(uint64_t)(difference >> 64) * 0x1p64 +
                         (double)(int64_t)((uint64_t)difference >> 1) * 2) /
                        (2 * root);
    const int64_t move = (int64_t)size - (size < 0);
    const uint64_t moved = s + (uint64_t)move;
    s = moved | -(uint64_t)((move > 0) & (moved < s));
    while ((ulp_limbs_pair)s * s > h)
        s--;
    ulp_limbs_pair r = h - (ulp_limbs_pair)s * s;
    for (; r > 2 * (ulp_limbs_pair)s; s++)
        r -= 2 * (ulp_limbs_pair)s + 1;
    *remainder = r;
    return s;
}

/* s = floor(sqrt(n)) for n = h 2^128 + low, h >= 2^126, and n - s^2, whose bit 128 is *top. One
 * step of P. Zimmermann's Karatsuba square root (INRIA RR-3805, 1999). false: a digit of 2^64. */
static inline bool take_root(ulp_limbs_pair *s, ulp_limbs_pair *remainder, int *top,
                             ulp_limbs_pair h, ulp_limbs_pair low)
{
    ulp_limbs_pair r1;
    const uint64_t s1 = take_small_root(&r1, h), next = (uint64_t)(low >> 64);
    uint64_t u;
    /* (r1 2^64 + next) / (2 s1). */
    if (r1 >> 1 >= s1)
        return false;
    const uint64_t q =
        ulp_limbs_divide_pair(&u, (uint64_t)(r1 >> 1), (uint64_t)r1 << 63 | next >> 1, s1);
    ulp_limbs_pair root = (ulp_limbs_pair)s1 << 64 | q, square = (ulp_limbs_pair)q * q;
    /* The remainder is (2 u + next's last bit) 2^64 + low's end - q^2, in 129 bits and a sign. */
    ulp_limbs_pair r = (ulp_limbs_pair)u << 65 | (ulp_limbs_pair)(next & 1) << 64 | (uint64_t)low;
    int high = (int)(u >> 63) - (r < square);
    r -= square;
    const uint64_t back = -(uint64_t)(high < 0);
    root -= back & 1;
    const ulp_limbs_pair twice = (root << 1 | 1) & ((ulp_limbs_pair)back << 64 | back);
    r += twice;
    high += (int)((r < twice) + ((uint64_t)(root >> 127) & back));
    *s = root;
    *remainder = r;
    *top = high;
    return true;
}

/* z (4 limbs) = floor(sqrt(n)) for n = m 2^256 + low 2^255, m of 4 limbs, m >= 2^254, and whether
 * the root is above z + 1/2: what remains is more than z. The same step again. false: a digit of
 * 2^128. */
static inline bool take_long_root(uint64_t *z, bool *above, const uint64_t *m, uint64_t low)
{
    ulp_limbs_pair s, r;
    int top;
    if (!take_root(&s, &r, &top, (ulp_limbs_pair)m[3] << 64 | m[2],
                   (ulp_limbs_pair)m[1] << 64 | m[0]))
        return false;
    const ulp_limbs_pair half = (ulp_limbs_pair)(unsigned)top << 127 | r >> 1;
    if (half >= s)
        return false;
    const uint64_t d[2] = {(uint64_t)s, (uint64_t)(s >> 64)}, v = ulp_limbs_reciprocal(d);
    uint64_t u[2] = {(uint64_t)half, (uint64_t)(half >> 64)}, q[2], square[4], rest[5], twice[5];
    q[1] = ulp_limbs_divide_step(u, (uint64_t)r << 63 | low << 62, d, v);
    q[0] = ulp_limbs_divide_step(u, 0, d, v);
    ulp_limbs_multiply(square, q, q, 2);
    rest[0] = rest[1] = 0;
    rest[2] = u[0] << 1;
    rest[3] = u[1] << 1 | u[0] >> 63;
    rest[4] = u[1] >> 63;
    rest[4] -= ulp_limbs_sub(rest, rest, square, 4);
    ulp_limbs_copy(z, q, 2);
    ulp_limbs_copy(z + 2, d, 2);
    if (rest[4] >> 63) {
        const uint64_t one[4] = {1, 0, 0, 0};
        ulp_limbs_sub(z, z, one, 4);
        ulp_limbs_shift_left(twice, z, 1, 4);
        twice[0] |= 1;
        rest[4] += (z[3] >> 63) + ulp_limbs_add(rest, rest, twice, 4);
    }
    *above = rest[4] != 0 || ulp_limbs_less(z, rest, 4);
    return true;
}

/* Regular, with an exponent far inside MPFR's range, so that no result leaves it. */
ULP_LIMBS_INLINE bool is_ordinary(const struct ulp_record *x)
{
    return (x->kind * x->kind == MPFR_REGULAR_KIND * MPFR_REGULAR_KIND) &
           ((uint64_t)x->exponent + 0x1000000 < 0x2000000);
}

/* What stands for the exponent in comparisons: zeros below and infinities above all numbers; not
 * for NaN. Unsigned. */
ULP_LIMBS_INLINE uint64_t find_top(const struct ulp_record *x)
{
    const int64_t kind = x->kind < 0 ? -x->kind : x->kind;
    const uint64_t top = (uint64_t)x->exponent ^ UINT64_C(1) << 63;
    return kind == MPFR_REGULAR_KIND ? top : kind == MPFR_ZERO_KIND ? 0 : ~UINT64_C(0);
}

#define WIDE_TEMPLATE "number/fixed/arithmetic_template.h"
#include "number/fixed/instances.h"

ulp_wide_fn *ulp_wide_arithmetic(enum ulp_primitive primitive, int precision)
{
    static ulp_wide_fn *const functions[4][ULP_PRIMITIVE_COUNT] = {
#define ROW(LIMBS)                                                                \
    [ULP_PRIMITIVE_ADD] = run_add_##LIMBS, [ULP_PRIMITIVE_SUB] = run_sub_##LIMBS, \
    [ULP_PRIMITIVE_MUL] = run_mul_##LIMBS, [ULP_PRIMITIVE_DIV] = run_div_##LIMBS, \
    [ULP_PRIMITIVE_MIN] = run_min_##LIMBS, [ULP_PRIMITIVE_MAX] = run_max_##LIMBS, \
    [ULP_PRIMITIVE_SQRT] = run_sqrt_##LIMBS
        {ROW(1)},
        {ROW(2)},
        {ROW(3)},
        {ROW(4)},
    };
    return precision <= 256 ? functions[(precision - 1) / 64][primitive] : NULL;
}

size_t ulp_wide_add_chain(int precision, void *sum, const void *x, size_t n)
{
    switch ((precision + 63) / 64) {
    case 1: return run_chain_1(precision, sum, x, n);
    case 2: return run_chain_2(precision, sum, x, n);
    case 3: return run_chain_3(precision, sum, x, n);
    case 4: return run_chain_4(precision, sum, x, n);
    default: return 0;
    }
}

#else

size_t ulp_wide_add_chain(int precision, void *sum, const void *x, size_t n)
{
    (void)precision, (void)sum, (void)x, (void)n;
    return 0;
}

ulp_wide_fn *ulp_wide_arithmetic(enum ulp_primitive primitive, int precision)
{
    (void)primitive, (void)precision;
    return NULL;
}

#endif
