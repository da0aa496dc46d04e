/* Tiles of the digit method: a block of rows times a block of columns whose digits are multiplied
 * and summed without any error. Two kinds of digit: unsigned of 52 bits (AVX-512 IFMA), and signed
 * in doubles, of few enough bits that products and sums of up to 2^53 are exact (any machine). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/digit/lines.h"
#include "kernels/digit/vector.h"

#define ULP_WIDE_ROWS_MAX 8
#define ULP_WIDE_VECTORS_MAX 3
#define ULP_WIDE_COLUMNS_MAX ULP_WIDE_LINES_MAX

/* One digit of a row panel, [k][rows], and one of a column panel, [k][columns]: uint64_t or double,
 * 8 bytes each. */
struct ulp_wide_term {
    const void *a, *b;
    bool high; /* integer digits: the upper 52 bits of the products are wanted, not the lower */
};

/* sums[row][column] += the sum over all terms and k of a * b, of doubles rounded to an integer.
 * Integer kind: bits 52 and up of the
 * sum go to carries instead, as a multiple of 2^52. At most ulp_wide_addends_max(digit_bits)
 * products an element in one call. */
typedef void ulp_wide_tile_fn(int64_t *carries, int64_t *sums, const struct ulp_wide_term *terms,
                              size_t term_count, size_t k_count);

/* One row's sums, at position p and column c sums[p * position_stride + c], p = 0 .. positions, as
 * two's complement limbs limbs[limb * columns + c] in units of the last position; position p is
 * 2^gaps[p] times the next, gaps below 64. Before that row[p] is added and column[p * columns + c]
 * subtracted (row NULL: neither). There are the sum of the gaps / 64 + 2 limbs. */
typedef void ulp_wide_carry_fn(uint64_t *limbs, const int64_t *sums, size_t position_stride,
                               const int64_t *row, const int64_t *column, int positions,
                               const uint8_t *gaps, size_t columns);

/* Sums of a row, limb i of column c at limbs[i * columns + c] in units of 2^(lsb + exponents[c]),
 * each known to within `error` units, that become records of `kept` whole limbs, 1 to 4, at
 * offset[c] from `row` on, rounded to nearest even. */
#define ULP_WIDE_ROUND_LIMBS_MAX 12
struct ulp_wide_rounding {
    const uint64_t *limbs;
    size_t columns, limb_count; /* at most ULP_WIDE_ROUND_LIMBS_MAX */
    const int64_t *exponents, *offset;
    int64_t lsb;
    uint64_t error;
    int kept;
    void *row;
};
/* Eight columns from `column` on, those whose bit of `wanted` is set. Returns which were stored:
 * the others are not decided by the error's bound, or too small, or ties. */
typedef unsigned ulp_wide_round_fn(const struct ulp_wide_rounding *rounding, size_t column,
                                   unsigned wanted);

/* One instruction set's code. Panels have 1, 2, 4 or 8 rows (at most rows_max), and 1 to
 * vectors_max vectors of columns. */
struct ulp_wide_tile {
    unsigned features; /* of base/machine/cpu.h that it needs */
    bool integer;
    int lanes; /* columns in a vector */
    int rows_max, vectors_max;
    ulp_wide_carry_fn *carry;
    ulp_wide_round_fn *round;                       /* NULL: none */
    const struct ulp_wide_vector *vector;           /* NULL: none */
    const struct ulp_wide_lines_code *lines;        /* NULL: none */
    ulp_wide_tile_fn *run[4][ULP_WIDE_VECTORS_MAX]; /* [log2 rows][vectors - 1] */
};

/* Row `index` of the table, best first, until NULL; those whose features are missing may be listed
 * but not run. */
const struct ulp_wide_tile *ulp_wide_tile_row(size_t index);

/* Integer: products' halves below 2^52 in 64 bits. Doubles: products of two digits up to 2^(bits -
 * 1) in sums up to 2^53; `bits` are both sides' together. */
static inline size_t ulp_wide_addends_max(bool integer, int bits)
{
    return integer ? 4096 : (size_t)1 << (55 - bits);
}

extern const struct ulp_wide_tile ulp_wide_tile_portable;
#ifdef __x86_64__
ulp_wide_round_fn ulp_wide_round_avx512;
extern const struct ulp_wide_tile ulp_wide_tile_ifma, ulp_wide_tile_avx512, ulp_wide_tile_avx2;
#endif
