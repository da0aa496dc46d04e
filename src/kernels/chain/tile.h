/* Tiles: the innermost loops of a contraction. A tile adds products to a block of `rows` times
 * `columns` sums held in contiguous memory (row-major), from packed panels: rows k-major of width
 * `rows`, columns likewise. */
#pragma once

#include "kernels/chain/step.h"

#define ULP_TILE_ROWS_MAX 16
#define ULP_TILE_COLUMNS_MAX 64

/* Where a tile is in the problem, for stochastic rounding: output of its first sum, outputs between
 * rows, first k. */
struct ulp_tile_place {
    uint64_t output, row_pitch, k;
};

typedef void ulp_tile_fn(const struct ulp_step_rule *rule, void *sums, const void *rows,
                         const void *columns, size_t k_count, struct ulp_tile_place place);

struct ulp_tile {
    unsigned needs; /* ulp_cpu_feature */
    bool (*serves)(const struct ulp_step_rule *rule);
    enum ulp_element element; /* of panels and sums */
    size_t columns;
    ulp_tile_fn *run[ULP_TILE_ROWS_MAX + 1]; /* [number of rows]; NULL: use the next that is not */
    size_t lanes;                            /* of a vector; 0: of one that rounds, or none */
};

/* Fastest first, closed by a row whose `serves` is NULL. */
extern const struct ulp_tile ulp_tiles_x86[], ulp_tiles_neon[], ulp_tiles_rounded[];

/* The fastest tile for the rule among those that `cpu` can run. There always is one. ULP_TILE_PLAIN
 * in place of a set of features: the definition, in steps. */
#define ULP_TILE_PLAIN (~0u)
const struct ulp_tile *ulp_tile_find(const struct ulp_step_rule *rule, unsigned cpu);
size_t ulp_tile_rows_max(const struct ulp_tile *tile);
/* The fewest rows >= wanted (<= rows_max) the tile can do. */
size_t ulp_tile_rows(const struct ulp_tile *tile, size_t wanted);
/* The rows of even tiles for so many: 16 are 8 and 8, not 14 and 2, whose two sums a vector of
 * columns would wait for each other. */
size_t ulp_tile_rows_even(const struct ulp_tile *tile, size_t row_count);

/* In place of a chain: each sum becomes the pairwise sum of its k_count products, neighbours added
 * level by level, an odd last one moving up unchanged. scratch: ULP_PAIRWISE_LEVELS * columns
 * elements. */
#define ULP_PAIRWISE_LEVELS 64
void ulp_pairwise(const struct ulp_step_rule *rule, void *sums, const void *rows,
                  const void *columns, size_t row_count, size_t column_count, size_t k_count,
                  struct ulp_tile_place place, void *scratch);
