/* Scalar chains over a whole contraction.
 *
 * One side's lines become the rows of tiles, the other's their columns. The outputs are cut into
 * blocks, each computed from beginning to end by one worker: for every block of k both sides are
 * packed (they then fit the second-level cache) and every tile of the block goes on with its sums,
 * which wait in memory between blocks of k. So each sum is formed in increasing k, whatever the
 * blocking. */
#include "kernels/chain/block.h"

#include <string.h>

static enum ulp_status create_scratch(struct ulp_chains_scratch *out,
                                      const struct ulp_chains_job *job, struct ulp_error *error)
{
    size_t row_panels = ulp_size_divide_up(job->row_block, job->tile_rows);
    size_t column_panels = ulp_size_divide_up(job->column_block, job->tile_columns);
    size_t tiles = job->k_block < job->k_count ? row_panels * column_panels : 1;
    size_t sums = tiles * job->tile_bytes * (size_t)(job->chains->cuts.level_count + 1);
    size_t stack =
        job->chains->pairwise ? ULP_PAIRWISE_LEVELS * job->tile_columns * job->element_bytes : 0;
    size_t rows = 0, columns = 0, total;
    if (!ulp_size_mul(ulp_size_round_up(row_panels * job->tile_rows * job->element_bytes, 64),
                      job->k_block, &rows) ||
        !ulp_size_mul(ulp_size_round_up(column_panels * job->tile_columns * job->element_bytes, 64),
                      job->k_block, &columns) ||
        !ulp_size_add(rows, columns, &total) || !ulp_size_add(total, sums + stack, &total))
        total = SIZE_MAX;
    ULP_TRY(ulp_allocate(&out->memory, total, 1, ulp_pool_scratch(job->pool), "contraction scratch",
                         error));
    out->rows = out->memory;
    out->columns = out->rows + rows;
    out->sums = out->columns + columns;
    out->stack = out->sums + sums;
    return ULP_OK;
}

static void run_block(const struct ulp_chains_job *job, struct ulp_chains_scratch *scratch,
                      const struct ulp_chains_block *block)
{
    size_t k_length, tile_stride = job->tile_bytes * (size_t)(job->chains->cuts.level_count + 1);
    bool whole = job->k_block >= job->k_count;
    for (size_t first = 0; first == 0 || first < job->k_count; first += k_length) {
        k_length = ulp_size_min(job->k_block, job->k_count - first);
        size_t last = first + k_length;
        char *sums = scratch->sums;
        ulp_chains_pack_lines(job, scratch->rows, true, block->batch, block->row, block->row_count,
                              first, last);
        ulp_chains_pack_lines(job, scratch->columns, false, block->batch, block->column,
                              block->column_count, first, last);
        if (job->k_count == 0)
            memset(sums, 0, tile_stride);
        for (size_t column = 0; column < block->column_count; column += job->tile_columns)
            for (size_t row = 0; row < block->row_count; row += job->tile_rows) {
                size_t rows = ulp_size_min(job->tile_rows, block->row_count - row);
                const struct ulp_tile_place place =
                    ulp_chains_place(job, block->batch, block->row + row, block->column + column);
                ulp_chains_run_tile(job, sums, ulp_tile_rows(job->tile, rows),
                                    scratch->rows + row * k_length * job->element_bytes,
                                    scratch->columns + column * k_length * job->element_bytes,
                                    first, last, place, scratch->stack);
                if (last == job->k_count && job->meets_padding && job->nan_shows && !scratch->nan)
                    scratch->nan = ulp_chains_has_nan(job, sums, rows);
                if (last == job->k_count)
                    ulp_chains_store_tile(job, sums, block->batch, block->row + row, rows,
                                          block->column + column,
                                          ulp_size_min(job->tile_columns,
                                                       block->column_count - column));
                if (!whole)
                    sums += tile_stride;
            }
        if (job->k_count == 0)
            break;
    }
}

static struct ulp_chains_block find_block(const struct ulp_chains_job *job, size_t item)
{
    size_t row = item % job->row_blocks * job->row_block, rest = item / job->row_blocks;
    size_t column = rest % job->column_blocks * job->column_block;
    return (
        struct ulp_chains_block){.batch = rest / job->column_blocks,
                                 .row = row,
                                 .column = column,
                                 .row_count = ulp_size_min(job->row_block, job->row_count - row),
                                 .column_count =
                                     ulp_size_min(job->column_block, job->column_count - column)};
}

ULP_WORK(work_on_blocks)
{
    const struct ulp_chains_job *job = context;
    struct ulp_chains_scratch scratch;
    ULP_TRY(create_scratch(&scratch, job, error));
    enum ulp_status status = ULP_OK;
    for (size_t item = first; item < last && status == ULP_OK; item++) {
        const struct ulp_chains_block block = find_block(job, item);
        scratch.nan = false;
        run_block(job, &scratch, &block);
        if (job->meets_padding && (scratch.nan || !job->nan_shows))
            status = ulp_chains_repair(job, &scratch, &block, error);
    }
    ulp_free(scratch.memory);
    return status;
}

static enum ulp_status run_blocks(struct ulp_chains_job *job, size_t batch_count,
                                  struct ulp_error *error)
{
    size_t items = batch_count * job->row_blocks * job->column_blocks;
    size_t grain = ulp_grain(ulp_chains_estimate(job, job->row_block, job->column_block));
    return ulp_parallel_for(job->pool, items, grain, work_on_blocks, job, error);
}

/* Steps in the carrier's own arithmetic give NaN for 0 * Inf and keep it. */
static bool shows_nan(const struct ulp_chains *chains)
{
    bool shows = chains->rule.step == ULP_STEP_FLOAT || chains->rule.step == ULP_STEP_DOUBLE;
    for (int level = 0; level < chains->cuts.level_count; level++) {
        enum ulp_step_kind step = chains->cuts.partial[level].step;
        shows = shows && (step == ULP_STEP_FLOAT || step == ULP_STEP_DOUBLE);
    }
    return shows;
}

enum ulp_status ulp_chains_run(const struct ulp_chains *chains,
                               const struct ulp_arithmetic *arithmetic,
                               const struct ulp_contraction *problem, unsigned cpu,
                               struct ulp_pool *pool, struct ulp_error *error)
{
    if (problem->batch_count == 0 || problem->m == 0 || problem->n == 0)
        return ULP_OK;
    /* Only chains have fast tiles: partial sums and pairwise sums are formed by the plain steps. */
    struct ulp_chains_job job = {.chains = chains, .problem = problem, .pool = pool};
    job.tile = ulp_tile_find(&chains->rule, chains->pairwise ? ULP_TILE_PLAIN : cpu);
    job.element = job.tile->element;
    job.element_bytes = ulp_element_bytes(job.element, 0);
    job.tile_columns = job.tile->columns;
    ULP_TRY(ulp_output_make(&job.output, arithmetic, problem, &chains->result, job.element, error));
    ulp_chains_set_sides(&job, arithmetic, problem, ulp_chains_prefers_swap(&job, problem));
    job.tile_rows = ulp_tile_rows_even(job.tile, job.row_count);
    job.tile_bytes = job.tile_rows * job.tile_columns * job.element_bytes;
    job.nan_shows = shows_nan(chains);
    bool has_padding =
        ulp_element_is_float(job.element) && (problem->a.padding || problem->b.padding);
    job.meets_padding =
        has_padding && (job.nan_shows || ulp_pack_meets_padding(&job.rows, &job.columns, pool));
    double nanoseconds =
        (double)problem->batch_count * ulp_chains_estimate(&job, job.row_count, job.column_count);
    ulp_chains_choose_blocks(&job, problem->batch_count,
                             (size_t)ulp_pool_threads_for(pool, nanoseconds));
    return run_blocks(&job, problem->batch_count, error);
}
