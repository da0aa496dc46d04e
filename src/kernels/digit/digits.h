/* The digit method of wide contractions (Ozaki, Ogita, Oishi and Rump, "Error-free transformations
 * of matrix multiplication by using fast routines of matrix multiplication and its applications",
 * Numerical Algorithms 59, 2012, with the digits' products summed in registers instead of by a
 * BLAS).
 *
 * A line (a row's k elements of a factor) is scaled by a power of two to |f| < 1 and cut into
 * digits of `digit_bits` bits. Products of digits are summed by position, exactly; positions beyond
 * the plan's are left out, with a bound on what that loses. Integer digits are unsigned: they are
 * those of f' = (f + 1) / 2, and sum f g = 4 sum f' g' - 2 sum f' - 2 sum g' + k. Double digits are
 * signed, and what they do not hold is in tails (digit/scheme.h). */
#pragma once

#include "kernels/exact/parts.h"
#include "kernels/digit/scheme.h"
#include "kernels/digit/digit_tile.h"

/* How a call is computed. */
struct ulp_wide_plan {
    const struct ulp_wide_tile *tile;
    int positions; /* of a sum, that are kept; of integer digits as many of a line, too */
    struct ulp_wide_scheme scheme; /* of double digits */
    size_t k, k_block;
    bool special; /* a factor holds infinities or NaN */
};

/* A line's scale, and what is unusual about it. */
struct ulp_wide_line {
    int64_t exponent; /* |x| < 2^exponent for each element; 0 when there is none but zeros */
    int64_t lowest;   /* each is a multiple of 2^lowest */
    bool zero;        /* all elements are zeros */
    bool irregular;   /* NaN, Inf or exponents beyond +-2^60: its outputs are found one by one */
};

/* Lines cut into digits and laid out for the tiles, `width` lines side by side. */
struct ulp_wide_panel {
    size_t first, count, width; /* the lines; width >= count, absent ones are zeros */
    int side;                   /* 0: of rows, 1: of columns */
    int digits;                 /* a line has */
    int arrays;                 /* digits, and of doubles tails, that data has */
    int tail;                   /* the first digit of the other side with a tail here */
    bool exact;                 /* no line has bits beyond the digits */
    struct ulp_wide_line lines[ULP_WIDE_COLUMNS_MAX];
    /* [position + 1][line]: what half of the sum of the line's f' (integer digits) takes from each
     * position of the sum. Position -1 has weight 1. */
    int64_t *half_sums;
    uint64_t *data; /* blocks of k: [array][k][width] */
    uint64_t *sets; /* what ulp_wide_sort found, where the plan is special */
    bool irregular; /* every line is irregular: digits are not looked at */
};

/* Bytes of a panel's data and half_sums under the plan. */
size_t ulp_wide_panel_data_bytes(const struct ulp_wide_plan *plan, int side, size_t width);
size_t ulp_wide_panel_half_bytes(const struct ulp_wide_plan *plan);

size_t ulp_wide_panel_set_bytes(const struct ulp_wide_plan *plan);

/* The lines of a row panel when there are `count` rows: the smallest the tile has for them, or its
 * most. */
static inline size_t ulp_wide_row_width(const struct ulp_wide_tile *tile, size_t count)
{
    const size_t most = (size_t)tile->rows_max;
    return count >= most ? most : count <= 2 ? count : count <= 4 ? 4 : 8;
}
/* The lines of a column panel. */
static inline size_t ulp_wide_column_width(const struct ulp_wide_tile *tile)
{
    return (size_t)(tile->lanes * tile->vectors_max);
}

/* Fills in the panel, whose first, count, width, side, half_sums, data and sets are set. In two
 * steps: the lines' scales and how many digits they have, for which data and half_sums need not be
 * set yet, then the digits. */
void ulp_wide_measure(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                      const struct ulp_factor *factor, size_t batch);
void ulp_wide_cut(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                  const struct ulp_factor *factor, size_t batch);
static inline void ulp_wide_pack(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                                 const struct ulp_factor *factor, size_t batch)
{
    ulp_wide_measure(panel, plan, factor, batch);
    ulp_wide_cut(panel, plan, factor, batch);
}

/* The scale of a line of floats: the largest magnitude's pattern, and one less than that of the
 * smallest that is not zero (INT32_MAX: there are none). */
struct ulp_wide_line ulp_wide_line_of_floats(int32_t largest, int32_t smallest_less_1);
/* Sets digits, exact, tail and arrays: how many digits hold every bit of the panel's lines, if that
 * is no more than the plan keeps. */
void ulp_wide_choose_digits(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan);
/* half_sums of sums[line][1 + digit], which are below 2^52 but for sums[line][0]. What falls below
 * the last kept position is dropped: less than one of its units. */
void ulp_wide_halve(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                    int64_t sums[][ULP_WIDE_POSITIONS_MAX + 2]);

/* Fills in the panel's sets: which elements are which kind. */
void ulp_wide_sort(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                   const struct ulp_factor *factor, size_t batch);
/* Stores an output of sorted panels when it is an infinity or NaN; false: it is neither, and
 * nothing is stored. */
bool ulp_wide_store_sorted(const struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                           int64_t element, const struct ulp_wide_panel *a, size_t row,
                           const struct ulp_wide_panel *b, size_t column);

/* The scale of a line, elements' exponents and lowest bits looked at. */
struct ulp_wide_line ulp_wide_scan(const struct ulp_factor *factor, size_t batch, size_t line,
                                   size_t k);

/* Sums of one tile: room for [position + 1][row][column]. */
#define ULP_WIDE_TILE_ELEMENTS (ULP_WIDE_ROWS_MAX * ULP_WIDE_COLUMNS_MAX)

/* The positions of the sums of two panels that are not both irregular: at most plan->positions +
 * 1. */
struct ulp_wide_layout {
    int positions;
    /* Of double digits: products of each k that have a tail, all at the last position; and the
     * positions' weights, that of the product of two first digits being 0. */
    int tails;
    size_t ends; /* times that one of them was rounded besides those that scheme.c counts */
    int weights[ULP_WIDE_POSITIONS_MAX + 2];
    uint8_t gaps[ULP_WIDE_POSITIONS_MAX + 2]; /* tile.h */
};
void ulp_wide_tile_lay(struct ulp_wide_layout *layout, const struct ulp_wide_plan *plan,
                       const struct ulp_wide_panel *a, const struct ulp_wide_panel *b);
/* Of integer digits: positions that hold every product of every pair. */
int ulp_wide_full_positions(const struct ulp_wide_panel *a, const struct ulp_wide_panel *b);
/* sums += the products of k block `block`. */
void ulp_wide_tile_add(int64_t *sums, const struct ulp_wide_plan *plan,
                       const struct ulp_wide_layout *layout, const struct ulp_wide_panel *a,
                       const struct ulp_wide_panel *b, size_t block);
/* Rounds and stores the tile's outputs, those that cannot be decided by `kulisch`. */
enum ulp_status ulp_wide_tile_store(const int64_t *sums, const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, size_t batch,
                                    const struct ulp_wide_layout *layout,
                                    const struct ulp_wide_panel *a, const struct ulp_wide_panel *b,
                                    struct ulp_wide_kulisch *kulisch, struct ulp_error *error);

/* Chooses digits and positions for the tile. Returns false when outputs are better found one by
 * one. */
bool ulp_wide_plan_make(struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                        const struct ulp_wide_tile *tile);

/* Outputs that are looked at to make a plan. */
size_t ulp_wide_sample_count(const struct ulp_contraction *problem);

/* digit/vector.h: may the call's columns be cut as they are met? Then its a is regular, and its b
 * taken to be. */
bool ulp_wide_vector_serves(const struct ulp_wide_call *call, const struct ulp_wide_tile *tile);
/* Computes it so, unless the rows have too many digits: *done is false. */
enum ulp_status ulp_wide_run_vector(const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, bool *done,
                                    struct ulp_pool *pool, struct ulp_error *error);

/* Computes the call by the plan. */
enum ulp_status ulp_wide_run_digits(const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, struct ulp_pool *pool,
                                    struct ulp_error *error);
