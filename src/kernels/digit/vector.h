/* One or a few vectors times a matrix of floats. Each element of the matrix is used so rarely that
 * storing its digits would not pay, so it is cut in registers. For columns whose floats are one
 * integer digit each or two doubles, as those of nearly all weights are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ULP_WIDE_VECTOR_COLUMNS 16 /* at a time, at most */
#define ULP_WIDE_VECTOR_DIGITS_MAX 4
#define ULP_WIDE_VECTOR_DOUBLES_MAX 6

/* Columns of floats: (k, c) is data[column[c] + k * k_step]. k_step is 1, or else the columns are
 * neighbours. */
struct ulp_wide_floats {
    const float *data;
    const int64_t *column;
    int64_t k_step;
    size_t columns, k_count;
};

/* A row's double digits and tail, `stride` apart, times floats: with the digit i (0: the first) of
 * the row and j of a column, sums[2 * i + j][column] += their products; with the tails, sums[2 *
 * digits][column]. No lane adds more than `addends` of one kind before it is rounded to an integer.
 */
struct ulp_wide_pairs {
    int64_t *sums[2 * ULP_WIDE_VECTOR_DOUBLES_MAX + 1];
    const double *x;
    size_t stride, addends;
    int digits;
    bool tail;
    /* as in struct ulp_wide_floats */
    const float *floats;
    const int64_t *column;
    int64_t k_step;
    size_t columns, k_count;
    const double *scale;  /* of a column's floats to their first digits */
    double step, to_tail; /* from what that leaves to the second; to the tail */
};

/* One instruction set's code. */
struct ulp_wide_vector {
    size_t columns; /* at a time */
    int digits_max; /* of a row */
    /* Of each column the largest magnitude, as a bit pattern, and one less than the smallest of
     * those that are not zero (INT32_MAX: there are none; padding lanes: anything). */
    void (*scan)(int32_t *largest, int32_t *smallest_less_1, const struct ulp_wide_floats *floats);
    /* sums[position + 1][width] += the products of a row's digits, the first at x, `stride` apart,
     * with the columns' digits, which are those of floats * scale[c] (below 2^51); carries go one
     * position up. Positions from `positions` on are left out. digit_sums[2][width] += the columns'
     * digits, and their carries before. */
    void (*sum)(int64_t *sums, int positions, int64_t *digit_sums, size_t width, const uint64_t *x,
                size_t stride, int digits, const struct ulp_wide_floats *floats,
                const double *scale);
    /* of double digits, in its place */
    void (*pairs)(const struct ulp_wide_pairs *pairs);
};

#ifdef __x86_64__
extern const struct ulp_wide_vector ulp_wide_vector_ifma, ulp_wide_vector_avx512,
    ulp_wide_vector_avx2;
#endif
