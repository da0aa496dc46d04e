/* Which products of double digits are formed, and how. A line f, |f| < 1, is
 *
 *   f = sum of d_i 2^(1 - bits (i + 1)),  d_i integers, |d_i| <= 2^(bits - 1),
 *
 * and its tail from digit j on, t_j, is what the digits before leave: |t_j| <= 2^(-bits j) (1 +
 * 2^-10). The sides may have digits of different lengths. One side is called deep, with digits a_i
 * and tails s_i, the other shallow, with b_j and t_j. With m_i that do not increase, and the deep
 * side's D digits,
 *
 *   a b = sum over i < D, j < m_i of a_i b_j + sum over i < D of a_i t_(m_i) + s_D b.
 *
 * The first products are summed exactly, by weight: that of a_i b_j is bits_a i + bits_b j. The
 * others are at most 2^-reach (1 + 2^-10) and are formed in double arithmetic, with tails rounded
 * to 53 bits: D + 1 products for what exact digits need some times as many for. Where b is short,
 * all of the tails but b itself are zero. The bounds are in digit/product.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ULP_WIDE_POSITIONS_MAX 200

struct ulp_wide_scheme {
    int bits[2];   /* of a digit, by side */
    int digits[2]; /* of a line at most: D, and m_0 of the shallow side */
    int deep;      /* the side */
    int reach;
    int chain; /* products with tails that a call of the tile adds */
    /* Tails are scaled so that products with them are at most 2^(53 - share) units of the last
     * position. */
    int share;
    uint8_t met[ULP_WIDE_POSITIONS_MAX]; /* [i], i <= D: m_i, and 0 for D */
};

/* What a scheme is chosen by. */
struct ulp_wide_need {
    int bits;      /* the error is to be below 2^-bits of the lines' scales */
    int widths[2]; /* of most lines of a side: bits from the scale down to the last set one */
    size_t k, k_block;
};
/* Returns how many positions sums have at most; 0: there is no scheme. */
int ulp_wide_scheme_choose(struct ulp_wide_scheme *scheme, const struct ulp_wide_need *need);

/* The last position's unit is 2^-weight times the first one's. */
static inline int ulp_wide_scheme_last_weight(const struct ulp_wide_scheme *scheme)
{
    return scheme->reach + 55 - scheme->bits[0] - scheme->bits[1] - scheme->share;
}

/* A bound on the tails' error in units of the last position, `tails` products for each k. */
uint64_t ulp_wide_scheme_error(const struct ulp_wide_scheme *scheme, int tails, size_t k,
                               size_t k_block);
