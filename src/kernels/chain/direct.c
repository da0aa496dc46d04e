/* Chains whose rows are read where they lie: a convolution's places. They are neighbours in the
 * input (or every second one) and in the output, so a tile's factors need no packing; the channels'
 * weights are its columns, packed once, and its sums stay in registers from the first k to the
 * last. */
#include "kernels/chain/direct.h"

#include <stdatomic.h>

#include "base/tuning.h"
#include "kernels/chain/form.h"
#include "kernels/operand/packed.h"

/* Rows [row, row + count), of which the first `skip` are another piece's, too. */
struct piece {
    size_t row;
    uint8_t count, skip, step;
};

struct direct {
    const struct ulp_chains_job *job;
    const struct piece *pieces;
    const char *panels; /* of batch job->batch; NULL: the form has them */
    size_t piece_count, panel_count;
    size_t block, blocks; /* panels of a block, which stays in the cache; number of blocks */
    int64_t pitch;
    _Atomic bool nan;
};

/* How many rows from the first on are `step` apart. */
static size_t find_run(const int64_t *offset, size_t count, int64_t step)
{
    size_t i = 1;
    for (; i + 16 <= count; i += 16) {
        int64_t differences = 0;
        for (size_t j = 0; j < 16; j++)
            differences |= offset[i + j] - offset[0] - (int64_t)(i + j) * step;
        if (differences)
            break;
    }
    while (i < count && offset[i] == offset[0] + (int64_t)i * step)
        i++;
    return i;
}

/* Rows of the equal tiles that cost least for so many: fewer than 4 wait for their sums, and each
 * tile costs about two rows more. *cost: in rows. */
static size_t find_tile_rows(const struct ulp_tile *tile, size_t count, size_t *cost)
{
    size_t best = 1;
    *cost = SIZE_MAX;
    for (size_t rows = ulp_tile_rows_max(tile); rows; rows--) {
        const size_t now = ulp_size_divide_up(count, rows) * ((rows < 4 ? 4 : rows) + 2);
        if (tile->run[rows] && rows <= count && now < *cost)
            best = rows, *cost = now;
    }
    return best;
}

/* Cuts the rows; pieces NULL: only counts. *cost: of all pieces, in rows. */
static size_t find_pieces(const struct ulp_tile *tile, const int64_t *offset, size_t row_count,
                          struct piece *pieces, size_t *cost)
{
    size_t count = 0, rows = 0, length = 0, each = 0;
    *cost = 0;
    for (size_t row = 0, run; row < row_count; row += run) {
        const bool every_second = row + 1 < row_count && offset[row + 1] == offset[row] + 2;
        run = find_run(offset + row, row_count - row, every_second ? 2 : 1);
        if (run != length)
            rows = find_tile_rows(tile, length = run, &each);
        *cost += each;
        for (size_t at = 0; at < run; at += rows, count++) {
            const size_t skip = at + rows > run ? at + rows - run : 0;
            if (pieces)
                pieces[count] = (struct piece){.row = row + at - skip,
                                               .count = (uint8_t)rows,
                                               .skip = (uint8_t)skip,
                                               .step = every_second ? 2 : 1};
        }
    }
    return count;
}

/* The same for packed panels of both sides: rows with what fills their tiles, and packing a panel
 * of columns, which takes about five. */
static double estimate_packed(const struct ulp_tile *tile, size_t rows, size_t columns)
{
    const size_t even = ulp_tile_rows_even(tile, rows), tiles = ulp_size_divide_up(rows, even);
    return (double)ulp_size_divide_up(columns, tile->columns) *
           ((double)(tiles * (even + 2)) + 5.0 * (double)ulp_size_divide_up(rows, ULP_TUNE_MC));
}

/* Do rows of many k meet in a few sets of the second cache, as where they lie powers of two apart?
 * Each tile would fetch them anew. Neighbours in one line count once. */
static bool crowds_sets(const int64_t *k_offset, size_t k_count, size_t element_bytes)
{
    enum { LINE = 64, SETS = 1024, WAYS = 16 };
    uint8_t there[SETS] = {0};
    for (size_t k = 0, last = SIZE_MAX; k < k_count; k++) {
        const size_t line = (size_t)k_offset[k] * element_bytes / LINE;
        if (line != last && ++there[line % SETS] > WAYS)
            return true;
        last = line;
    }
    return false;
}

bool ulp_direct_serves(const struct ulp_chains_job *job, const struct ulp_arithmetic *arithmetic,
                       const struct ulp_contraction *problem)
{
    const struct ulp_tile *tile = job->tile;
    const size_t m = problem->m, n = problem->n, tail = (m - 1) % tile->columns + 1;
    size_t rows;
    if (!tile->read || job->chains->pairwise || job->chains->cuts.level_count || problem->k == 0 ||
        problem->b.tensor->element != job->element || problem->out->element != job->element ||
        job->output.round || ulp_pack_make(arithmetic, problem, 1).round ||
        !ulp_offset_step(problem->out_row_offset, m) ||
        !ulp_output_is_run(problem->out_column_offset, n) ||
        crowds_sets(problem->b.k_offset, problem->k, job->element_bytes))
        return false;
    /* weights are packed once, too, and then lie closer than in their tensor */
    if (ulp_packed_is_kept(problem->packed,
                           &(struct ulp_packed_view){&problem->b, problem->batch_count, n,
                                                     problem->k}))
        return false;
    find_pieces(tile, problem->b.line_offset, n, NULL, &rows);
    const double panels = (double)((m - tail) / tile->columns) + (tail <= tile->lanes ? 0.6 : 1);
    const double packed = estimate_packed(tile, m, n), turned = estimate_packed(tile, n, m);
    return (double)rows * panels < (packed < turned ? packed : turned);
}

static void run_piece(struct direct *direct, float *sums, size_t batch, const struct piece *piece,
                      const char *panels, size_t first, size_t last)
{
    const struct ulp_chains_job *job = direct->job;
    const struct ulp_factor *rows = job->rows.factor;
    const size_t width = job->tile_columns;
    const int64_t out =
        (job->problem->out_batch_offset ? job->problem->out_batch_offset[batch] : 0) +
        job->out_row[piece->row];
    const float *data = (const float *)rows->tensor->data +
                        (rows->batch_offset ? rows->batch_offset[batch] : 0) +
                        rows->line_offset[piece->row];
    for (size_t panel = first; panel < last; panel++) {
        const size_t column = panel * width,
                     columns = ulp_size_min(width, job->column_count - column);
        const int64_t place = out + job->out_column[column];
        for (size_t i = 0; i < columns; i++)
            ulp_output_fetch(&job->output, place + (int64_t)i * direct->pitch, 1);
        job->tile->read[piece->step - 1][columns > job->tile->lanes][piece->count](
            &job->chains->rule, sums, data, rows->k_offset,
            panels + panel * width * job->k_count * job->element_bytes, job->k_count);
        if (job->meets_padding && ulp_output_has_nan(sums, piece->count * width))
            direct->nan = true;
        ulp_output_turned(&job->output, place, sums,
                          &(struct ulp_output_block){.skip = piece->skip,
                                                     .rows = piece->count,
                                                     .columns = columns,
                                                     .width = width,
                                                     .pitch = direct->pitch});
    }
}

/* Items: the pieces with a block of panels, which stays in the cache, one after the other. */
static enum ulp_status work_on_pieces(void *context, size_t first, size_t last, int worker,
                                      struct ulp_error *error)
{
    struct direct *direct = context;
    const struct ulp_chains_job *job = direct->job;
    _Alignas(64) float sums[ULP_TILE_ROWS_MAX * ULP_TILE_COLUMNS_MAX] = {0};
    (void)worker, (void)error;
    for (size_t item = first; item < last; item++) {
        const struct piece *piece = &direct->pieces[item % direct->piece_count];
        const size_t number = item / direct->piece_count,
                     panel = number % direct->blocks * direct->block,
                     batch = job->batch + number / direct->blocks;
        const char *panels =
            job->forms[1]
                ? ulp_chains_form_panels(job->forms[1],
                                         ulp_packed_batch_offset(job->columns.factor, batch))
                : job->shared;
        run_piece(direct, sums, batch, piece, panels, panel,
                  ulp_size_min(panel + direct->block, direct->panel_count));
    }
    return ULP_OK;
}

/* All batches at once where a form has their panels; else one after the other. */
static enum ulp_status run_batches(struct direct *direct, struct ulp_chains_job *job,
                                   struct ulp_error *error)
{
    const size_t batch_count = job->problem->batch_count,
                 together = job->forms[1] ? batch_count : 1,
                 items = direct->piece_count * direct->blocks,
                 grain =
                     ulp_grain(ulp_chains_estimate(job, job->row_count / direct->piece_count + 1,
                                                   ulp_size_min(direct->block * job->tile_columns,
                                                                job->column_count)));
    for (job->batch = 0; job->batch < batch_count; job->batch += together) {
        if (!job->forms[1])
            ULP_TRY(ulp_chains_pack_shared(job, error));
        ULP_TRY(
            ulp_parallel_for(job->pool, items * together, grain, work_on_pieces, direct, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_direct_run(const struct ulp_chains_job *whole, bool *nan,
                               struct ulp_error *error)
{
    size_t cost;
    struct ulp_chains_job own = *whole, *job = &own;
    const int64_t *offset = job->rows.factor->line_offset;
    struct ulp_budget *budget = ulp_pool_scratch(job->pool);
    void *pieces = NULL, *shared = NULL;
    struct direct direct = {.job = job,
                            .piece_count =
                                find_pieces(job->tile, offset, job->row_count, NULL, &cost),
                            .panel_count = ulp_size_divide_up(job->column_count, job->tile_columns),
                            .pitch = job->column_count > 1 ? job->out_column[1] - job->out_column[0]
                                                           : 0};
    job->k_block = job->k_count;
    job->is_direct = true;
    const size_t panel_bytes = job->k_count * job->tile_columns * job->element_bytes;
    direct.block =
        ulp_size_min(panel_bytes < ULP_TUNE_DIRECT_BYTES ? ULP_TUNE_DIRECT_BYTES / panel_bytes : 1,
                     direct.panel_count);
    direct.blocks = ulp_size_divide_up(direct.panel_count, direct.block);
    ulp_chains_forms_open(job);
    enum ulp_status status = ulp_allocate(&pieces, direct.piece_count, sizeof *direct.pieces,
                                          budget, "contraction pieces", error);
    if (status == ULP_OK && !job->forms[1])
        status =
            ulp_allocate(&shared, direct.panel_count, panel_bytes, budget, "packed lines", error);
    if (status == ULP_OK) {
        find_pieces(job->tile, offset, job->row_count, pieces, &cost);
        direct.pieces = pieces;
        job->shared = shared;
        job->shared_lines = direct.panel_count * job->tile_columns;
        job->share_rows = false;
        status = run_batches(&direct, job, error);
    }
    ulp_chains_forms_close(job);
    ulp_free(shared);
    ulp_free(pieces);
    *nan = direct.nan;
    return status;
}
