/* A chain tile that keeps its sums in registers. The first two parameters are undefined again at
 * the end:
 *   TILE           the functions are TILE_1, TILE_2, TILE_4, ... by number of rows
 *   STEP(s, a, b)  the sum s with a * b added, as a VECTOR expression
 *   ATTRIBUTE      target attribute of the instruction set
 *   ELEMENT        float, double, uint32_t or uint64_t
 *   VECTOR, LANES  a vector of LANES elements (vector_size attribute)
 *   VECTORS        vectors a row: the tile has VECTORS * LANES columns
 *   ROWS_MAX       most rows, 4, 6, 8 or 14: VECTORS * ROWS_MAX sums and a few vectors more are
 *                  what the registers hold
 *   SETUP          declarations from `rule` that STEP uses, or empty
 * Instantiated by tile_set.h and rounded_tiles_template.h. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

ATTRIBUTE static inline __attribute__((always_inline)) void JOIN(TILE, run)(
    const struct ulp_step_rule *rule, ELEMENT *sums, const ELEMENT *rows, const ELEMENT *columns,
    size_t k_count, const int row_count)
{
    VECTOR *const out = (VECTOR *)sums;
    (void)rule;
    SETUP
    VECTOR s[ROWS_MAX][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < row_count; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            s[i][v] = out[i * VECTORS + v];
    for (size_t k = 0; k < k_count; k++) {
        const ELEMENT *row = rows + k * (size_t)row_count, *column = columns + k * VECTORS * LANES;
        VECTOR b[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            __builtin_memcpy(&b[v], column + v * LANES, sizeof b[v]);
#pragma GCC unroll 16
        for (int i = 0; i < row_count; i++) {
            VECTOR a = row[i] - (VECTOR){0};
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                s[i][v] = STEP(s[i][v], a, b[v]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < row_count; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            out[i * VECTORS + v] = s[i][v];
}

#define TILE_OF(count)                                                                             \
    ATTRIBUTE static void JOIN(TILE, count)(const struct ulp_step_rule *rule, void *sums,          \
                                            const void *rows, const void *columns, size_t k_count, \
                                            struct ulp_tile_place place)                           \
    {                                                                                              \
        (void)place;                                                                               \
        JOIN(TILE, run)(rule, sums, rows, columns, k_count, count);                                \
    }
TILE_OF(1)
TILE_OF(2)
TILE_OF(4)
#if ROWS_MAX == 6
TILE_OF(6)
#elif ROWS_MAX == 8
TILE_OF(8)
#elif ROWS_MAX == 14
TILE_OF(8)
TILE_OF(10)
TILE_OF(12)
TILE_OF(14)
#endif

#undef TILE_OF

#undef JOIN
#undef JOIN_
#undef TILE
#undef STEP
