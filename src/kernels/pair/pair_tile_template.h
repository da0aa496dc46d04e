/* The tiles of kernels/pair/pair_tile.c, once for each instruction set; parameters as of
 * number/function/pair_arithmetic.h. Only the residual of a product is a fused multiply-add, and
 * the order of a sum's additions follows from k alone, so all give the same bits.
 *
 * The error, with u = 2^-53, of a sum whose products' magnitudes are N together. A block is of
 * FOLD = 144 products, of magnitudes N' together:
 *   a product's high parts: high + residual, exactly. The products with low parts, each at most u
 *     of |a b|, are rounded, as is their sum, low parts with each other left out: 5 u^2. The
 *     residual with these, at most 3 u |a b|, is rounded: 3 u^2. For all: 8 u^2 N'.
 *   s = high parts, by exact sums; what each leaves is at most u N', from the second on. That with
 *     the above is rounded: 143 u^2 N' + 3 u^2 N' for all.
 *   their sum, at most (k - 1) u N' + 3 u N' after k products, is rounded: 143 * 144 / 2 + 3 * 143.
 * A block errs by 10,879 u^2 N'. The blocks, up to 2^20 / 144 < 7,282, are added as pairs; such a
 * sum errs by less than 3 u^2 of itself (M. Joldes, J.-M. Muller, V. Popescu, ACM TOMS 44(2), 2017,
 * algorithm 6), the first not at all: 21,843 u^2 N. Together 32,722 u^2 N < 2^-91 N. */
#include "number/function/pair_arithmetic.h"

/* Of a tile: its sums are in registers as far as these reach. */
#if VECTOR_BITS == 512
#define VECTORS 2
#elif VECTOR_BITS == 256
#define VECTORS 1
#else
#define VECTORS 2
#endif
#define COLUMNS (VECTORS * WIDTH)

/* sum_two's numbers: an addition is a multiplication by 1 as well, for which some processors have
 * units of their own. */
FUNCTION PAIR NAMED(sum_balanced)(V a, V b)
{
#ifdef FUSE
    const V one = NAMED(spread)(1), s = a + b, t = s - a;
    return (PAIR){s, FUSE(one, FUSE(one, t - s, a), FUSE(-one, t, b))};
#else
    return NAMED(sum_two)(a, b);
#endif
}

/* sum + s, whose parts may overlap. */
FUNCTION PAIR NAMED(fold)(PAIR sum, PAIR s)
{
    const PAIR block = NAMED(sum_two)(s.h, s.l);
    const PAIR high = NAMED(sum_two)(sum.h, block.h), low = NAMED(sum_two)(sum.l, block.l);
    const PAIR both = NAMED(sum_ordered)(high.h, high.l + low.h);
    return NAMED(sum_ordered)(both.h, low.l + both.l);
}

/* sums: of each row the columns' high parts, then their low parts. */
FUNCTION void NAMED(sum_tile)(double *sums, const double *rows, const double *columns,
                              size_t k_count, const int row_count, const bool row_low,
                              const bool column_low)
{
    for (size_t first = 0; first < k_count; first += FOLD) {
        const size_t last = first + FOLD < k_count ? first + FOLD : k_count;
        PAIR s[4][VECTORS] = {{{{0}, {0}}}};
        for (size_t k = first; k < last; k++) {
            PAIR b[VECTORS];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                memcpy(&b[v].h, columns + v * WIDTH, sizeof(V));
                if (column_low)
                    memcpy(&b[v].l, columns + COLUMNS + v * WIDTH, sizeof(V));
            }
#pragma GCC unroll 4
            for (int i = 0; i < row_count; i++) {
                const V high = NAMED(spread)(rows[i]),
                        low = row_low ? NAMED(spread)(rows[row_count + i]) : high;
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++) {
                    const PAIR p = NAMED(product)(high, b[v].h),
                               t = NAMED(sum_balanced)(s[i][v].h, p.h);
                    V rest = p.l;
                    if (row_low && column_low)
                        rest += low * b[v].h + high * b[v].l;
                    else if (row_low)
                        rest += low * b[v].h;
                    else if (column_low)
                        rest += high * b[v].l;
                    s[i][v] = (PAIR){t.h, s[i][v].l + (t.l + rest)};
                }
            }
            rows += row_count << row_low;
            columns += COLUMNS << column_low;
        }
        for (int i = 0; i < row_count; i++)
            for (int v = 0; v < VECTORS; v++) {
                double *at = sums + i * 2 * COLUMNS + v * WIDTH;
                PAIR sum;
                memcpy(&sum.h, at, sizeof(V));
                memcpy(&sum.l, at + COLUMNS, sizeof(V));
                sum = NAMED(fold)(sum, s[i][v]);
                memcpy(at, &sum.h, sizeof(V));
                memcpy(at + COLUMNS, &sum.l, sizeof(V));
            }
    }
}

#define TILE(rows, row_low, column_low)                                                            \
    ATTRIBUTES static void NAMED(                                                                  \
        sum_##rows##_##row_low##column_low)(double *sums, const double *row, const double *column, \
                                            size_t k_count)                                        \
    {                                                                                              \
        NAMED(sum_tile)(sums, row, column, k_count, rows, row_low, column_low);                    \
    }
#define TILES(rows) TILE(rows, 0, 0) TILE(rows, 0, 1) TILE(rows, 1, 0) TILE(rows, 1, 1)
TILES(1)
TILES(2)
TILES(4)

#define ROW(rows)                                          \
    {                                                      \
        {NAMED(sum_##rows##_00), NAMED(sum_##rows##_01)},  \
        {                                                  \
            NAMED(sum_##rows##_10), NAMED(sum_##rows##_11) \
        }                                                  \
    }
static const struct tiles NAMED(tiles) = {COLUMNS, {ROW(1), ROW(2), ROW(4)}};

#undef ROW
#undef TILES
#undef TILE
#undef VECTORS
#undef COLUMNS
#include "number/function/pair_arithmetic_end.h"
