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
