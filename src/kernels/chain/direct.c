/* Chains of which one side is read where it lies: a convolution's places. They are neighbours in
 * the input (or every second one) and in the output, so a tile's factors need no packing; the
 * channels' weights are its other side, packed once, and its sums stay in registers from the first
 * k to the last. Places whose vectors are whole cache lines, as those of a 1x1 kernel, are the
 * tile's columns: lines of the output are then written once. Others are its rows. */
#include "kernels/chain/direct.h"

#include <stdatomic.h>

#include "base/tuning.h"
#include "kernels/chain/form.h"
#include "kernels/operand/packed.h"

/* Places [place, place + count), of which the first `skip` are another piece's, too. step: between
 * those that are rows; 0: they are columns. */
struct piece {
    size_t place;
    uint8_t count, skip, step;
};

struct direct {
    const struct ulp_chains_job *job;
    const struct piece *pieces;
    size_t piece_count, panel_count, width; /* lines of a panel */
    size_t block, blocks; /* panels of a block, which stays in the cache; number of blocks */
    int64_t pitch;        /* between outputs of neighbouring lines */
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

/* Cuts the places into rows; pieces NULL: only counts. *cost: of all pieces, in rows. */
static size_t find_rows(const struct ulp_tile *tile, const int64_t *offset, size_t row_count,
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
                pieces[count] = (struct piece){.place = row + at - skip,
                                               .count = (uint8_t)rows,
                                               .skip = (uint8_t)skip,
                                               .step = every_second ? 2 : 1};
        }
    }
    return count;
}

/* Cuts the places into columns: two vectors, or one at a run's end. 0: there are runs that are not
 * whole cache lines. *vectors: of all pieces. */
static size_t find_columns(const struct ulp_tile *tile, const struct ulp_factor *factor,
                           size_t column_count, size_t k_count, struct piece *pieces,
                           size_t *vectors)
{
    const int64_t *offset = factor->line_offset;
    size_t count = 0, apart = 0;
    for (size_t k = 0; k < k_count; k++)
        apart |= (size_t)factor->k_offset[k];
    for (size_t column = 0, run; column < column_count; column += run) {
        run = find_run(offset + column, column_count - column, 1);
        if (((apart | (size_t)offset[column] | run) & (tile->lanes - 1)) != 0)
            return 0;
        for (size_t at = 0, width; at < run; at += width, count++) {
            width = ulp_size_min(run - at, 2 * tile->lanes);
            if (pieces)
                pieces[count] = (struct piece){.place = column + at, .count = (uint8_t)width};
        }
    }
    *vectors = column_count / tile->lanes;
    return count;
}

/* What rows of panels cost with columns where they lie, in the unit of estimate_packed. They take a
 * quarter less time than the same tiles of rows in place (1x1 kernels, 160 x 160 to 28 x 28
 * places). */
static double estimate_columns(const struct ulp_tile *tile, size_t rows, size_t pieces,
                               size_t vectors)
{
    const size_t even = ulp_tile_rows_even(tile, rows), tiles = ulp_size_divide_up(rows, even);
    return 0.75 *
           ((double)(rows < 4 ? 4 : rows) * (double)vectors / 2 + 2.0 * (double)(tiles * pieces));
}

/* The same for packed panels of both sides: rows with what fills their tiles, and packing a panel
 * of columns, which takes about five, and rows, as many lines of which take about eight. */
static double estimate_packed(const struct ulp_tile *tile, size_t rows, size_t columns)
{
    const size_t even = ulp_tile_rows_even(tile, rows), tiles = ulp_size_divide_up(rows, even);
    return (double)ulp_size_divide_up(columns, tile->columns) *
               ((double)(tiles * (even + 2)) +
                5.0 * (double)ulp_size_divide_up(rows, ULP_TUNE_MC)) +
           8.0 * (double)rows / (double)tile->columns *
               (double)ulp_size_divide_up(columns, ULP_TUNE_NC);
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

enum ulp_direct ulp_direct_find(const struct ulp_chains_job *job,
                                const struct ulp_arithmetic *arithmetic,
                                const struct ulp_contraction *problem)
{
    const struct ulp_tile *tile = job->tile;
    const size_t m = problem->m, n = problem->n, tail = (m - 1) % tile->columns + 1;
    size_t rows, vectors;
    if (!tile->read || job->chains->pairwise || job->chains->cuts.level_count || problem->k == 0 ||
        problem->b.tensor->element != job->element || problem->out->element != job->element ||
        job->output.round || ulp_pack_make(arithmetic, problem, 1).round ||
        !ulp_offset_step(problem->out_row_offset, m) ||
        !ulp_output_is_run(problem->out_column_offset, n))
        return ULP_DIRECT_NONE;
    /* weights are packed once, too, and then lie closer than in their tensor */
    if (ulp_packed_is_kept(problem->packed,
                           &(struct ulp_packed_view){&problem->b, problem->batch_count, n,
                                                     problem->k}) ||
        crowds_sets(problem->b.k_offset, problem->k, job->element_bytes))
        return ULP_DIRECT_NONE;
    find_rows(tile, problem->b.line_offset, n, NULL, &rows);
    const size_t pieces = find_columns(tile, &problem->b, n, problem->k, NULL, &vectors);
    const double panels = (double)((m - tail) / tile->columns) + (tail <= tile->lanes ? 0.6 : 1),
                 as_rows = (double)rows * panels,
                 as_columns = pieces ? estimate_columns(tile, m, pieces, vectors) : as_rows,
                 packed = estimate_packed(tile, m, n), turned = estimate_packed(tile, n, m),
                 least = packed < turned ? packed : turned;
    if (as_columns < as_rows && as_columns < least)
        return ULP_DIRECT_COLUMNS;
    return as_rows < least ? ULP_DIRECT_ROWS : ULP_DIRECT_NONE;
}

/* Panel `panel` with a piece whose first place and first line are at `out`. Columns go from
 * registers to the output, rows by way of `sums`. */
static void run_panel(struct direct *direct, float *sums, const struct piece *piece,
                      const float *data, const char *panels, size_t panel, float *out)
{
    const struct ulp_chains_job *job = direct->job;
    const struct ulp_contraction *problem = job->problem;
    const size_t line = panel * direct->width,
                 lines = ulp_size_min(direct->width, problem->m - line), width = job->tile_columns,
                 rows = piece->step ? piece->count : ulp_tile_rows(job->tile, lines),
                 run = piece->step ? piece->count : lines;
    const bool wide = (piece->step ? lines : piece->count) > job->tile->lanes,
               at_once = !piece->step && rows == lines;
    const struct ulp_tile_ahead ahead =
        ulp_tile_ahead_make(out, direct->pitch * (int64_t)sizeof *out, piece->count * sizeof *out,
                            lines);
    float *to = at_once ? out : sums;
    const int64_t pitch = at_once ? direct->pitch : (int64_t)width;
    job->tile->read[piece->step][wide][rows](&job->chains->rule, to, pitch, data,
                                             problem->b.k_offset,
                                             panels + line * problem->k * job->element_bytes,
                                             problem->k, &ahead);
    for (size_t i = 0; i < run && job->meets_padding; i++)
        if (ulp_output_has_nan(to + (int64_t)i * pitch, piece->step ? width : piece->count))
            direct->nan = true;
    const struct ulp_output_block block = {.skip = piece->skip,
                                           .rows = run,
                                           .columns = piece->step ? lines : piece->count,
                                           .width = width,
                                           .pitch = direct->pitch};
    if (!at_once)
        (piece->step ? ulp_output_turned : ulp_output_rows)(&job->output,
                                                            out - (float *)problem->out->data, sums,
                                                            &block);
}

static void run_piece(struct direct *direct, float *sums, size_t batch, const struct piece *piece,
                      const char *panels, size_t first, size_t last)
{
    const struct ulp_contraction *problem = direct->job->problem;
    const struct ulp_factor *places = &problem->b;
    float *out = (float *)problem->out->data +
                 (problem->out_batch_offset ? problem->out_batch_offset[batch] : 0) +
                 problem->out_column_offset[piece->place];
    const float *data = (const float *)places->tensor->data +
                        (places->batch_offset ? places->batch_offset[batch] : 0) +
                        places->line_offset[piece->place];
    for (size_t panel = first; panel < last; panel++)
        run_panel(direct, sums, piece, data, panels, panel,
                  out + problem->out_row_offset[panel * direct->width]);
}

/* Items: the pieces with a block of panels, which stays in the cache, one after the other. */
ULP_WORK(work_on_pieces)
{
    struct direct *direct = context;
    const struct ulp_chains_job *job = direct->job;
    _Alignas(64) float sums[ULP_TILE_ROWS_MAX * ULP_TILE_COLUMNS_MAX] = {0};
    for (size_t item = first; item < last; item++) {
        const struct piece *piece = &direct->pieces[item % direct->piece_count];
        const size_t number = item / direct->piece_count,
                     panel = number % direct->blocks * direct->block,
                     batch = job->batch + number / direct->blocks;
        const struct ulp_chains_form *form = job->forms[!job->share_rows];
        const char *panels =
            form ? ulp_chains_form_panels(form, ulp_packed_batch_offset(&job->problem->a, batch))
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
    const struct ulp_contraction *problem = job->problem;
    const bool packs = !job->forms[!job->share_rows];
    const size_t together = packs ? 1 : problem->batch_count,
                 items = direct->piece_count * direct->blocks,
                 grain = ulp_grain(
                     ulp_chains_estimate(job, problem->n / direct->piece_count + 1,
                                         ulp_size_min(direct->block * direct->width, problem->m)));
    for (job->batch = 0; job->batch < problem->batch_count; job->batch += together) {
        if (packs)
            ULP_TRY(ulp_chains_pack_shared(job, error));
        ULP_TRY(
            ulp_parallel_for(job->pool, items * together, grain, work_on_pieces, direct, error));
    }
    return ULP_OK;
}

/* NULL: only counts. */
static size_t find_pieces(const struct ulp_chains_job *job, struct piece *pieces)
{
    size_t cost;
    const struct ulp_contraction *problem = job->problem;
    return job->direct == ULP_DIRECT_ROWS
               ? find_rows(job->tile, problem->b.line_offset, problem->n, pieces, &cost)
               : find_columns(job->tile, &problem->b, problem->n, problem->k, pieces, &cost);
}

enum ulp_status ulp_direct_run(const struct ulp_chains_job *whole, enum ulp_direct way, bool *nan,
                               struct ulp_error *error)
{
    struct ulp_chains_job own = *whole, *job = &own;
    const struct ulp_contraction *problem = job->problem;
    struct ulp_budget *budget = ulp_pool_scratch(job->pool);
    void *pieces = NULL, *shared = NULL;
    job->k_block = job->k_count;
    job->direct = way;
    job->share_rows = way == ULP_DIRECT_COLUMNS;
    struct direct direct = {.job = job,
                            .piece_count = find_pieces(job, NULL),
                            .width = ulp_chains_shared_tile(job),
                            .pitch = problem->m > 1
                                         ? problem->out_row_offset[1] - problem->out_row_offset[0]
                                         : 0};
    direct.panel_count = ulp_size_divide_up(problem->m, direct.width);
    const size_t panel_bytes = problem->k * direct.width * job->element_bytes;
    direct.block =
        ulp_size_min(panel_bytes < ULP_TUNE_DIRECT_BYTES ? ULP_TUNE_DIRECT_BYTES / panel_bytes : 1,
                     direct.panel_count);
    direct.blocks = ulp_size_divide_up(direct.panel_count, direct.block);
    ulp_chains_forms_open(job);
    enum ulp_status status = ulp_allocate(&pieces, direct.piece_count, sizeof *direct.pieces,
                                          budget, "contraction pieces", error);
    if (status == ULP_OK && !job->forms[!job->share_rows])
        status =
            ulp_allocate(&shared, direct.panel_count, panel_bytes, budget, "packed lines", error);
    if (status == ULP_OK) {
        find_pieces(job, pieces);
        direct.pieces = pieces;
        job->shared = shared;
        job->shared_lines = direct.panel_count * direct.width;
        status = run_batches(&direct, job, error);
    }
    ulp_chains_forms_close(job);
    ulp_free(shared);
    ulp_free(pieces);
    *nan = direct.nan;
    return status;
}
