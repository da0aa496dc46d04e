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
    bool column_run; /* out_column counts up by one everywhere */
    /* between outputs of neighbouring rows and columns; 0: not the same everywhere, or sums are not
     * stored as the floats that they are */
    int64_t row_step, column_step;
    struct ulp_output output;
    struct ulp_pool *pool;
    /* the side all blocks need whole, packed once; NULL: shared_lines is 0, and every block packs
     * both sides */
    char *shared;
    bool share_rows;
    size_t thread_count; /* for which the blocks were chosen */
    /* of shared: lines with those that fill the last tile, and the batch it holds */
    size_t shared_lines, batch;
};

/* Are b's lines rather the rows? The job's tile and chains are set. */
bool ulp_chains_prefers_swap(const struct ulp_chains_job *job,
                             const struct ulp_contraction *problem);
/* rows, columns and where their outputs lie; swap: b's lines are the rows. */
void ulp_chains_set_sides(struct ulp_chains_job *job, const struct ulp_arithmetic *arithmetic,
                          const struct ulp_contraction *problem, bool swap);
/* Nanoseconds of a block that size, roughly: only how work is cut depends on it. */
double ulp_chains_estimate(const struct ulp_chains_job *job, size_t row_count, size_t column_count);
/* Blocks, and what of them is shared; the sides are chosen. */
void ulp_chains_choose_blocks(struct ulp_chains_job *job, size_t batch_count, size_t thread_count);

/* Panels of lines [line, line + count) of the rows or the columns, k in [first, last). */
void ulp_chains_pack_lines(const struct ulp_chains_job *job, char *out, bool rows, size_t batch,
                           size_t line, size_t count, size_t first, size_t last);

/* Packs job->shared, on all threads: the shared side's lines, of batch job->batch. */
enum ulp_status ulp_chains_pack_shared(struct ulp_chains_job *job, struct ulp_error *error);

/* Lines of one tile of the shared side. */
static inline size_t ulp_chains_shared_tile(const struct ulp_chains_job *job)
{
    return job->share_rows ? job->tile_rows : job->tile_columns;
}
