/* Laying out a contraction by scalar chains: sides, tiles, blocks, panels. It decides speed only;
 * every sum is formed in increasing k whatever is chosen here. */
#include "kernels/chain/job.h"

#include "base/tuning.h"

static bool is_contiguous(const int64_t *offset, size_t count)
{
    for (size_t i = 1; i < count && i < 64; i++)
        if (offset[i] != offset[i - 1] + 1)
            return false;
    return true;
}

/* Share of a tile's work that is not spent on lines that do not exist. */
static double filled(size_t count, size_t tile)
{
    return (double)count / (double)ulp_size_round_up(count, tile);
}

/* Work of a product, relative, when tiles are `columns` wide: what lines that do not exist cost,
 * and what it costs to write an output that does not lie in runs. */
static double estimate_work(const struct ulp_chains_job *job, const struct ulp_contraction *problem,
                            size_t count, const int64_t *out)
{
    return 1 / filled(count, job->tile_columns) +
           (is_contiguous(out, count)
                ? 0
                : ULP_TUNE_SCATTERED_OUTPUT_PRODUCTS / ((double)problem->k + 1));
}

/* Which side becomes the columns? Stochastic rounding counts its numbers along outputs, which are
 * neighbours in b's lines; in a's only where b has one. */
bool ulp_chains_prefers_swap(const struct ulp_chains_job *job,
                             const struct ulp_contraction *problem)
{
    return (job->chains->rule.rounding != ULP_ROUND_STOCHASTIC || problem->n == 1) &&
           estimate_work(job, problem, problem->m, problem->out_row_offset) <
               estimate_work(job, problem, problem->n, problem->out_column_offset);
}

void ulp_chains_set_sides(struct ulp_chains_job *job, const struct ulp_arithmetic *arithmetic,
                          const struct ulp_contraction *problem, bool swap)
{
    job->rows = ulp_pack_make(arithmetic, problem, swap);
    job->columns = ulp_pack_make(arithmetic, problem, !swap);
    job->row_count = swap ? problem->n : problem->m;
    job->column_count = swap ? problem->m : problem->n;
    job->out_row = swap ? problem->out_column_offset : problem->out_row_offset;
    job->out_column = swap ? problem->out_row_offset : problem->out_column_offset;
    job->row_pitch = job->column_count;
    job->k_count = problem->k;
}

double ulp_chains_estimate(const struct ulp_chains_job *job, size_t row_count, size_t column_count)
{
    const enum ulp_step_kind step = job->chains->rule.step;
    const double vector = step == ULP_STEP_ROUNDED ? 1.5 : 0.3, lanes = (double)job->tile->lanes;
    const double step_nanoseconds = job->tile->lanes         ? vector / lanes
                                    : step == ULP_STEP_EXACT ? 100
                                                             : 1;
    const double k_count = (double)job->k_count + 1, pack_nanoseconds = 0.3;
    return (double)row_count * (double)column_count * k_count * step_nanoseconds +
           ((double)row_count + (double)column_count) * k_count * pack_nanoseconds;
}

/* The length of blocks of so many panels beside all `lines` of the shared side, of which blocks
 * that share nothing have `line_limit` at most: none longer than `limit`, nor with more sums than
 * those would have; of several threads so many that one that is held up can leave some to the
 * others. */
static size_t find_length(size_t panels, size_t limit, size_t lines, size_t line_limit,
                          size_t thread_count)
{
    const size_t pieces = thread_count > 1 ? ULP_TUNE_PIECES_PER_THREAD * thread_count : 1;
    if (lines > line_limit)
        limit = limit * line_limit / lines;
    return ulp_size_min(limit ? limit : 1, ulp_size_divide_up(panels, pieces));
}

/* Several blocks of one product pack the smaller side once, together, when all of it fits in the
 * outer caches and a block of k of it beside a block of the other side in the second-level
 * cache. several: there are, or one thread would leave the others nothing. */
static void choose_shared(struct ulp_chains_job *job, bool several, size_t batch_count,
                          size_t thread_count)
{
    size_t rows = ulp_size_round_up(job->row_count, job->tile_rows),
           columns = ulp_size_round_up(job->column_count, job->tile_columns);
    size_t lines = ulp_size_min(rows, columns);
    job->share_rows = rows <= columns;
    job->shared_lines = 0;
    if (several && batch_count < 2 * thread_count && !job->chains->pairwise && job->k_count &&
        lines <= ULP_TUNE_SHARED_SLICE_BYTES / job->element_bytes / (job->k_block + 1) &&
        lines <= ULP_TUNE_SHARED_SIDE_BYTES / job->element_bytes / job->k_count &&
        ulp_chains_estimate(job, rows, columns) > 8 * ULP_TUNE_GRAIN_NANOSECONDS)
        job->shared_lines = lines;
}

/* Even blocks below the limits; more of them when there are too few for the threads. */
void ulp_chains_choose_blocks(struct ulp_chains_job *job, size_t batch_count, size_t thread_count)
{
    size_t k_blocks = job->chains->pairwise ? 1 : ulp_size_divide_up(job->k_count, ULP_TUNE_KC);
    job->k_block = k_blocks ? ulp_size_divide_up(job->k_count, k_blocks) : 0;
    size_t rows = ulp_size_divide_up(job->row_count, job->tile_rows),
           columns = ulp_size_divide_up(job->column_count, job->tile_columns);
    size_t row_limit = job->chains->pairwise ? 1 : ulp_size_divide_up(ULP_TUNE_MC, job->tile_rows);
    size_t column_limit =
        job->chains->pairwise ? 1 : ulp_size_divide_up(ULP_TUNE_NC, job->tile_columns);
    size_t row_blocks = ulp_size_divide_up(rows, row_limit),
           column_blocks = ulp_size_divide_up(columns, column_limit);
    /* Cutting one side packs the other once more: cut the one that has more lines. */
    while (thread_count > 1 &&
           batch_count * row_blocks * column_blocks < ULP_TUNE_BLOCKS_PER_THREAD * thread_count) {
        bool cut_columns = columns / column_blocks >= 2, cut_rows = rows / row_blocks >= 2;
        if (cut_columns &&
            (!cut_rows || job->column_count / column_blocks >= job->row_count / row_blocks))
            column_blocks *= 2;
        else if (cut_rows)
            row_blocks *= 2;
        else
            break;
    }
    choose_shared(job, thread_count > 1 || row_blocks * column_blocks > 1, batch_count,
                  thread_count);
    if (job->shared_lines && job->share_rows) {
        row_blocks = 1;
        column_blocks = ulp_size_divide_up(columns, find_length(columns, column_limit, rows,
                                                                row_limit, thread_count));
    } else if (job->shared_lines) {
        column_blocks = 1;
        row_blocks = ulp_size_divide_up(rows, find_length(rows, row_limit, columns, column_limit,
                                                          thread_count));
    }
    job->thread_count = thread_count;
    job->row_block = ulp_size_divide_up(rows, row_blocks) * job->tile_rows;
    job->column_block = ulp_size_divide_up(columns, column_blocks) * job->tile_columns;
    job->row_blocks = ulp_size_divide_up(job->row_count, job->row_block);
    job->column_blocks = ulp_size_divide_up(job->column_count, job->column_block);
}

void ulp_chains_pack_lines(const struct ulp_chains_job *job, char *out, bool rows, size_t batch,
                           size_t line, size_t count, size_t first, size_t last)
{
    struct ulp_pack_range range = {
        .batch = batch, .line = line, .k = first, .k_count = last - first, .line_count = count};
    if (!rows) {
        ulp_pack_panels(out, job->element, &job->columns, range, job->tile_columns);
        return;
    }
    size_t full = count / job->tile_rows * job->tile_rows, rest = count - full;
    range.line_count = full;
    ulp_pack_panels(out, job->element, &job->rows, range, job->tile_rows);
    range.line += full;
    range.line_count = rest;
    if (rest)
        ulp_pack_panels(out + full * range.k_count * job->element_bytes, job->element, &job->rows,
                        range, ulp_tile_rows(job->tile, rest));
}

ULP_WORK(pack_shared)
{
    const struct ulp_chains_job *job = context;
    size_t width = ULP_TUNE_SHARED_PANELS * ulp_chains_shared_tile(job);
    size_t line_count = job->share_rows ? job->row_count : job->column_count,
           pieces = ulp_size_divide_up(line_count, width);
    for (size_t item = first; item < last; item++) {
        size_t line = item % pieces * width, k = item / pieces * job->k_block,
               end = ulp_size_min(k + job->k_block, job->k_count);
        ulp_chains_pack_lines(job,
                              job->shared +
                                  (k * job->shared_lines + line * (end - k)) * job->element_bytes,
                              job->share_rows, job->batch, line,
                              ulp_size_min(width, line_count - line), k, end);
    }
    return ULP_OK;
}

enum ulp_status ulp_chains_pack_shared(struct ulp_chains_job *job, struct ulp_error *error)
{
    const size_t panels = ulp_size_divide_up(job->shared_lines, ulp_chains_shared_tile(job)),
                 pieces = ulp_size_divide_up(panels, ULP_TUNE_SHARED_PANELS) *
                          ulp_size_divide_up(job->k_count, job->k_block);
    return ulp_parallel_for(job->pool, pieces,
                            ulp_grain(0.3 * (double)job->shared_lines * (double)job->k_count /
                                      (double)pieces),
                            pack_shared, job, error);
}
