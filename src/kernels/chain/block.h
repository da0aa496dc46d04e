/* A block of outputs, computed from beginning to end by one worker: the functions that chains.c,
 * segments.c and repair.c share. */
#pragma once

#include "kernels/chain/job.h"

/* A worker's memory: packed panels of a block of k, and the sums of tiles, all levels of one tile
 * together. */
struct ulp_chains_scratch {
    void *memory;
    char *rows, *columns, *sums, *stack;
    bool nan; /* a sum of the block is NaN */
};

/* segments.c. Go on with one tile through k in [first, last), whose panels begin at k = first. */
void ulp_chains_run_tile(const struct ulp_chains_job *job, char *sums, size_t row_count,
                         const char *rows, const char *columns, size_t first, size_t last,
                         struct ulp_tile_place place, void *stack);
struct ulp_tile_place ulp_chains_place(const struct ulp_chains_job *job, size_t batch, size_t row,
                                       size_t column);
void ulp_chains_store_tile(const struct ulp_chains_job *job, char *sums, size_t batch, size_t row,
                           size_t row_count, size_t column, size_t column_count);
/* Is any of the tile's sums NaN? Columns beyond the last are sums of zeros. */
bool ulp_chains_has_nan(const struct ulp_chains_job *job, const char *sums, size_t row_count);

/* A block of outputs: rows [row, row + row_count), columns likewise. */
struct ulp_chains_block {
    size_t batch, row, row_count, column, column_count;
};

/* repair.c. Recompute the outputs of a finished block in which padding was multiplied by NaN or
 * infinity, without the products that padding excludes (pack.h). */
enum ulp_status ulp_chains_repair(const struct ulp_chains_job *job,
                                  const struct ulp_chains_scratch *worker,
                                  const struct ulp_chains_block *block, struct ulp_error *error);
