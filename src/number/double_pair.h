/* Pairs of doubles: high + low with high the nearest double, ties to even, so that a number has one
 * pair and pairs compare as (high, low). What the reference's values lie in (number/README.md,
 * section 9). */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <mpfr.h>

struct ulp_double_pair {
    double high, low; /* low +0 where high is zero, infinite or NaN */
};

/* Numbers in a tensor of pairs lie within these: products then neither overflow nor lose the bits
 * below their 53rd. */
#define ULP_PAIR_LEAST 0x1p-900
#define ULP_PAIR_MOST 0x1p900
/* Of records for what pairs do not hold, and of MPFR where it decides; where these leave something
 * open, twice as many, up to so many, which hold any pair exactly. */
#define ULP_PAIR_RECORD_BITS 256
#define ULP_PAIR_RECORD_BITS_MAX 2048
/* In ulp_note, beside the number of elements that are open: one that no pair holds. */
#define ULP_NOTE_OUTSIDE ((size_t)1 << 32)
/* How many elements the calling thread had settled by MPFR, in formulas, since it last asked. */
void ulp_pairs_settled(size_t count);
size_t ulp_pairs_settled_take(void);
/* Of records whose sums are of triples of doubles. */
#define ULP_TRIPLE_RECORD_BITS 192
/* So many leading bits of a value that is not exact hold in pairs, and of one that MPFR settled. */
#define ULP_PAIR_CERTAIN_BITS 30
#define ULP_PAIR_SETTLED_BITS 60

/* Is a tensor of pairs allowed it: zero, not finite, or a number within the ends? */
static inline bool ulp_pair_holds(double high)
{
    const double size = fabs(high);
    return !(size < INFINITY) || size == 0 || (size >= ULP_PAIR_LEAST && size <= ULP_PAIR_MOST);
}

#define ULP_PAIR_STEP static inline __attribute__((always_inline))

/* a + b = sum + *rest, for any, and where |a| >= |b| or a is 0. */
ULP_PAIR_STEP double ulp_pair_add(double a, double b, double *rest)
{
    const double sum = a + b, other = sum - a;
    *rest = (a - (sum - other)) + (b - other);
    return sum;
}
ULP_PAIR_STEP double ulp_pair_join(double a, double b, double *rest)
{
    const double sum = a + b;
    *rest = b - (sum - a);
    return sum;
}
/* a b = product + *rest for factors of at most 2^996 and a product of 2^-900 to 2^1000: the
 * processor's fused step, or Dekker's. */
ULP_PAIR_STEP double ulp_pair_multiply(bool fused, double a, double b, double *rest)
{
    const double product = a * b;
    if (fused) {
        *rest = __builtin_fma(a, b, -product);
        return product;
    }
    const double a_part = a * 0x1.0000002p27, b_part = b * 0x1.0000002p27;
    const double a_high = a_part - (a_part - a), b_high = b_part - (b_part - b);
    const double a_low = a - a_high, b_low = b - b_high;
    *rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return product;
}

/* Its exact value, where x has bits enough (ULP_PAIR_RECORD_BITS_MAX are; ULP_PAIR_RECORD_BITS but
 * for a low part that is far below): returns MPFR's ternary value. */
static inline int ulp_pair_get(mpfr_t x, double high, double low)
{
    mpfr_set_d(x, high, MPFR_RNDN);
    return low == 0 ? 0 : mpfr_add_d(x, x, low, MPFR_RNDN);
}
/* The nearest pair, |error| <= 2^-106 |x|; *exact: it is x. false: no pair of a tensor holds x. */
bool ulp_pair_set(struct ulp_double_pair *out, const mpfr_t x, bool *exact);
