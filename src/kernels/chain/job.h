/* One run of scalar chains: which side becomes the rows, and how the outputs are cut into
 * blocks. */
#pragma once

#include "kernels/chain/chains.h"
#include "kernels/operand/output.h"
#include "kernels/operand/pack.h"
#include "kernels/chain/tile.h"

/* Everything the workers share. */
struct ulp_chains_job {
    const struct ulp_chains *chains;
    const struct ulp_contraction *problem;
    struct ulp_pack rows, columns;
    const int64_t *out_row, *out_column;
    size_t row_count, column_count, k_count;
    /* outputs between rows, for stochastic rounding; columns are then neighbours */
    uint64_t row_pitch;
    const struct ulp_tile *tile;
    enum ulp_element element;
    size_t element_bytes, tile_rows, tile_columns, tile_bytes;
    size_t row_block, column_block, row_blocks, column_blocks, k_block;
    bool meets_padding;
    /* where padding met a non-finite element the sum is NaN: only such outputs need a second
     * look */
    bool nan_shows;
    struct ulp_output output;
    struct ulp_pool *pool;
};

/* Are b's lines rather the rows? The job's tile and chains are set. */
bool ulp_chains_prefers_swap(const struct ulp_chains_job *job,
                             const struct ulp_contraction *problem);
/* rows, columns and where their outputs lie; swap: b's lines are the rows. */
void ulp_chains_set_sides(struct ulp_chains_job *job, const struct ulp_arithmetic *arithmetic,
                          const struct ulp_contraction *problem, bool swap);
/* Nanoseconds of a block that size, roughly: only how work is cut depends on it. */
double ulp_chains_estimate(const struct ulp_chains_job *job, size_t row_count, size_t column_count);
/* Blocks; the sides are chosen. */
void ulp_chains_choose_blocks(struct ulp_chains_job *job, size_t batch_count, size_t thread_count);

/* Panels of lines [line, line + count) of the rows or the columns, k in [first, last). */
void ulp_chains_pack_lines(const struct ulp_chains_job *job, char *out, bool rows, size_t batch,
                           size_t line, size_t count, size_t first, size_t last);
