/* Numbering the items of work: which block of outputs each is, and a fair share of blocks for
 * every thread. */
#include "kernels/chain/block.h"

struct ulp_chains_block ulp_chains_find_block(const struct ulp_chains_job *job, size_t item)
{
    size_t row = item % job->row_blocks * job->row_block, rest = item / job->row_blocks;
    size_t column = rest % job->column_blocks * job->column_block;
    return (
        struct ulp_chains_block){.batch = job->batch + rest / job->column_blocks,
                                 .row = row,
                                 .column = column,
                                 .row_count = ulp_size_min(job->row_block, job->row_count - row),
                                 .column_count =
                                     ulp_size_min(job->column_block, job->column_count - column)};
}

size_t ulp_chains_share_length(const struct ulp_chains_job *job)
{
    return ulp_size_divide_up(job->row_blocks * job->column_blocks, job->thread_count);
}

struct ulp_chains_block ulp_chains_find_share(const struct ulp_chains_job *job, size_t item)
{
    size_t threads = job->thread_count, blocks = job->row_blocks * job->column_blocks,
           whole = blocks / threads, left = blocks % threads;
    size_t thread = item / ulp_chains_share_length(job),
           number = item % ulp_chains_share_length(job);
    if (number < whole)
        return ulp_chains_find_block(job, thread * whole + number);
    size_t pieces = threads / left, piece = thread % pieces;
    if (thread / pieces >= left)
        return (struct ulp_chains_block){.row_count = 0};
    struct ulp_chains_block block = ulp_chains_find_block(job, threads * whole + thread / pieces);
    size_t tile = ulp_chains_shared_tile(job), tiles = job->shared_lines / tile;
    size_t *line = job->share_rows ? &block.row : &block.column,
           *count = job->share_rows ? &block.row_count : &block.column_count;
    *line = tiles * piece / pieces * tile;
    *count = ulp_size_min(*count, tiles * (piece + 1) / pieces * tile) - *line;
    return block;
}
