/* Tiles in plain C, from the steps: always built, the definition of what faster tiles must equal.
 * And pairwise sums. */
#include "kernels/chain/tile.h"

#include <string.h>

#define ROWS 4
#define COLUMNS 32

static struct ulp_draw draw_at(struct ulp_tile_place place, size_t row, size_t k, unsigned kind)
{
    return (struct ulp_draw){.first = place.output + row * place.row_pitch,
                             .number = (place.k + k) * ULP_DRAWS + kind};
}

static inline __attribute__((always_inline)) void run_chain(const struct ulp_step_rule *rule,
                                                            void *sums, const void *rows,
                                                            const void *columns, size_t k_count,
                                                            struct ulp_tile_place place,
                                                            size_t row_count)
{
    const struct ulp_step_row *step = &ulp_step_rows[rule->step];
    size_t bytes = ulp_element_bytes(ulp_step_element(rule->step), 0);
    double product[COLUMNS];
    for (size_t k = 0; k < k_count; k++)
        for (size_t i = 0; i < row_count; i++) {
            const char *a = (const char *)rows + (k * row_count + i) * bytes;
            const char *b = (const char *)columns + k * COLUMNS * bytes;
            char *sum = (char *)sums + i * COLUMNS * bytes;
            if (rule->fused) {
                step->multiply_add(rule, sum, a, b, COLUMNS, draw_at(place, i, k, ULP_DRAW_SUM));
            } else {
                step->multiply(rule, product, a, b, COLUMNS,
                               draw_at(place, i, k, ULP_DRAW_PRODUCT));
                step->add(rule, sum, sum, product, COLUMNS, draw_at(place, i, k, ULP_DRAW_SUM));
            }
        }
}

static void run_one_row(const struct ulp_step_rule *rule, void *sums, const void *rows,
                        const void *columns, size_t k_count, struct ulp_tile_place place)
{
    run_chain(rule, sums, rows, columns, k_count, place, 1);
}

static void run_rows(const struct ulp_step_rule *rule, void *sums, const void *rows,
                     const void *columns, size_t k_count, struct ulp_tile_place place)
{
    run_chain(rule, sums, rows, columns, k_count, place, ROWS);
}

#define PLAIN(of)                                                                          \
    {                                                                                      \
        .element = of, .columns = COLUMNS, .run = { [1] = run_one_row, [ROWS] = run_rows } \
    }
/* One for every step's element. */
static const struct ulp_tile plain_tiles[] = {PLAIN(ULP_ELEMENT_F32), PLAIN(ULP_ELEMENT_F64),
                                              PLAIN(ULP_ELEMENT_U32), PLAIN(ULP_ELEMENT_U64)};

static const struct ulp_tile *find_in(const struct ulp_tile *tiles,
                                      const struct ulp_step_rule *rule, unsigned cpu)
{
    for (; tiles->serves; tiles++)
        if ((tiles->needs & cpu) == tiles->needs && tiles->serves(rule))
            return tiles;
    return NULL;
}

const struct ulp_tile *ulp_tile_find(const struct ulp_step_rule *rule, unsigned cpu)
{
    static const struct ulp_tile *const sets[] = {ulp_tiles_x86, ulp_tiles_neon, ulp_tiles_rounded};
    const struct ulp_tile *tile = NULL, *plain = plain_tiles;
    for (size_t i = 0; i < sizeof sets / sizeof *sets && cpu != ULP_TILE_PLAIN && !tile; i++)
        tile = find_in(sets[i], rule, cpu);
    while (plain->element != ulp_step_element(rule->step))
        plain++;
    return tile ? tile : plain;
}

size_t ulp_tile_rows_max(const struct ulp_tile *tile)
{
    size_t rows = ULP_TILE_ROWS_MAX;
    while (!tile->run[rows])
        rows--;
    return rows;
}

size_t ulp_tile_rows(const struct ulp_tile *tile, size_t wanted)
{
    while (!tile->run[wanted])
        wanted++;
    return wanted;
}

size_t ulp_tile_rows_even(const struct ulp_tile *tile, size_t row_count)
{
    const size_t tiles = ulp_size_divide_up(row_count, ulp_tile_rows_max(tile));
    return ulp_tile_rows(tile, ulp_size_divide_up(row_count, tiles));
}

/* One row. The stack holds sums of complete subtrees, largest first; product k completes as many as
 * k has trailing ones. */
static void sum_row(const struct ulp_step_rule *rule, void *sum, const char *a, size_t a_pitch,
                    const char *b, size_t n, size_t k_count, struct ulp_tile_place place,
                    char *stack)
{
    const struct ulp_step_row *step = &ulp_step_rows[rule->step];
    size_t strip = n * ulp_element_bytes(ulp_step_element(rule->step), 0);
    char *top = stack; /* one past the last strip */
    for (size_t k = 0; k < k_count; k++, a += a_pitch, b += strip, top += strip) {
        step->multiply(rule, top, a, b, n, draw_at(place, 0, k, ULP_DRAW_PRODUCT));
        for (unsigned level = 0; k >> level & 1; level++, top -= strip)
            step->add(rule, top - strip, top - strip, top, n,
                      draw_at(place, 0, k, ULP_DRAW_SUM + level));
    }
    /* counts down: the levels above are fewer than the trailing zeros of k_count */
    unsigned level = 63;
    for (top -= strip; top > stack; level--, top -= strip)
        step->add(rule, top - strip, top - strip, top, n,
                  draw_at(place, 0, k_count - 1, ULP_DRAW_SUM + level));
    memcpy(sum, stack, strip);
}

void ulp_pairwise(const struct ulp_step_rule *rule, void *sums, const void *rows,
                  const void *columns, size_t row_count, size_t column_count, size_t k_count,
                  struct ulp_tile_place place, void *scratch)
{
    size_t bytes = ulp_element_bytes(ulp_step_element(rule->step), 0);
    for (size_t i = 0; i < row_count; i++, place.output += place.row_pitch)
        sum_row(rule, (char *)sums + i * column_count * bytes, (const char *)rows + i * bytes,
                row_count * bytes, columns, column_count, k_count, place, scratch);
}
