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
 * algorithm 6), the first not at all: 21,843 u^2 N. Together 32,722 u^2 N < 2^-91 N.
 *
 * Of triples x = x0 + x1 + x2, |x1| <= u |x0|, |x2| <= u |x1|, where x1 y2, x2 y1 and x2 y2 are
 * left out: 3 u^3. First parts: exact sums that leave at most u N' each. Second parts take these,
 * the product's residual and x1 y0, x0 y1, at most (k + 3) u N' after k products, exactly; their up
 * to 4 additions leave (k + 3) u^2 N' each. Third parts take those, what x1 y0 and x0 y1 leave, and
 * x1 y1, x0 y2, x2 y0, at most 4 k (k + 3) u^2 N' + 5 u^2 N' in all, by up to 9 rounded additions a
 * product, 3 of them of rounded products: 9 k (4 k (k + 3) + 6) u^3 N' < 2^26.8 u^3 N' for k = 144.
 * Blocks are added likewise, by 3 rounded additions of third parts that 2 * 7,282 residues of at
 * most (2^14 + 3) u^2 N and the blocks' make, below 2^29 u^2 N: 3 * 7,282 * 2^29 u^3 N < 2^44 u^3
 * N. Together below 2^-114 N; the order of magnitude met is 2^-150. */
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

/* s + p, where a later part takes what the one before it leaves. */
FUNCTION void NAMED(add_first)(V s[3], V p)
{
    const PAIR first = NAMED(sum_two)(s[0], p), second = NAMED(sum_two)(s[1], first.l);
    s[0] = first.h;
    s[1] = second.h;
    s[2] += second.l;
}
FUNCTION void NAMED(add_second)(V s[3], V p)
{
    const PAIR second = NAMED(sum_two)(s[1], p);
    s[1] = second.h;
    s[2] += second.l;
}

/* The same of triples: x and y have three parts, or one; the bits do not depend on which is which.
 */
FUNCTION void NAMED(add_triples)(V s[3], const V x[3], const V y[3], const bool x_low,
                                 const bool y_low)
{
    const PAIR p = NAMED(product)(x[0], y[0]);
    NAMED(add_first)(s, p.h);
    NAMED(add_second)(s, p.l);
    if (x_low && y_low) {
        const PAIR q = NAMED(product)(x[1], y[0]), r = NAMED(product)(x[0], y[1]),
                   both = NAMED(sum_two)(q.h, r.h);
        NAMED(add_second)(s, both.h);
        s[2] += (both.l + (q.l + r.l)) + ((x[2] * y[0] + x[0] * y[2]) + x[1] * y[1]);
    } else if (x_low || y_low) {
        const PAIR q = x_low ? NAMED(product)(x[1], y[0]) : NAMED(product)(x[0], y[1]);
        NAMED(add_second)(s, q.h);
        s[2] += q.l + (x_low ? x[2] * y[0] : x[0] * y[2]);
    }
}

/* sums: of each row the columns' first, second and third parts. */
FUNCTION void NAMED(sum_triples)(double *sums, const double *rows, const double *columns,
                                 size_t k_count, const int row_count, const bool row_low,
                                 const bool column_low)
{
    for (size_t first = 0; first < k_count; first += FOLD) {
        const size_t last = first + FOLD < k_count ? first + FOLD : k_count;
        V s[4][VECTORS][3] = {{{{0}}}};
        for (size_t k = first; k < last; k++) {
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                V y[3];
                for (int part = 0; part < (column_low ? 3 : 1); part++)
                    memcpy(&y[part], columns + part * COLUMNS + v * WIDTH, sizeof(V));
#pragma GCC unroll 4
                for (int i = 0; i < row_count; i++) {
                    V x[3];
                    for (int part = 0; part < (row_low ? 3 : 1); part++)
                        x[part] = NAMED(spread)(rows[part * row_count + i]);
                    NAMED(add_triples)(s[i][v], x, y, row_low, column_low);
                }
            }
            rows += row_count * (row_low ? 3 : 1);
            columns += COLUMNS * (column_low ? 3 : 1);
        }
        for (int i = 0; i < row_count; i++)
            for (int v = 0; v < VECTORS; v++) {
                double *at = sums + i * 3 * COLUMNS + v * WIDTH;
                V sum[3];
                for (int part = 0; part < 3; part++)
                    memcpy(&sum[part], at + part * COLUMNS, sizeof(V));
                NAMED(add_first)(sum, s[i][v][0]);
                NAMED(add_second)(sum, s[i][v][1]);
                sum[2] += s[i][v][2];
                for (int part = 0; part < 3; part++)
                    memcpy(at + part * COLUMNS, &sum[part], sizeof(V));
            }
    }
}

#define TILE(rows, row_low, column_low)                                                            \
    ATTRIBUTES static void NAMED(                                                                  \
        sum_##rows##_##row_low##column_low)(double *sums, const double *row, const double *column, \
                                            size_t k_count)                                        \
    {                                                                                              \
        NAMED(sum_tile)(sums, row, column, k_count, rows, row_low, column_low);                    \
    }                                                                                              \
    ATTRIBUTES static void NAMED(                                                                  \
        triples_##rows##_##row_low##column_low)(double *sums, const double *row,                   \
                                                const double *column, size_t k_count)              \
    {                                                                                              \
        NAMED(sum_triples)(sums, row, column, k_count, rows, row_low, column_low);                 \
    }
#define TILES(rows) TILE(rows, 0, 0) TILE(rows, 0, 1) TILE(rows, 1, 0) TILE(rows, 1, 1)
TILES(1)
TILES(2)
TILES(4)

#define ROW(sum, rows)                                         \
    {                                                          \
        {NAMED(sum##_##rows##_00), NAMED(sum##_##rows##_01)},  \
        {                                                      \
            NAMED(sum##_##rows##_10), NAMED(sum##_##rows##_11) \
        }                                                      \
    }
static const struct tiles NAMED(tiles) = {COLUMNS,
                                          {{ROW(sum, 1), ROW(sum, 2), ROW(sum, 4)},
                                           {ROW(triples, 1), ROW(triples, 2), ROW(triples, 4)}}};

#undef ROW
#undef TILES
#undef TILE
#undef VECTORS
#undef COLUMNS
#include "number/function/pair_arithmetic_end.h"
