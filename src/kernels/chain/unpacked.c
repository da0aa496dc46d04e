/* Contractions of one or two rows, such as a depthwise convolution or a vector by a matrix: every
 * element of the columns is used so few times that packing it would cost more than the sums. The
 * columns are read where they lie, in pieces that are contiguous in the output, and in the tensor
 * contiguous or every second element. */
#include "kernels/chain/unpacked.h"

#include "base/error.h"
#include "base/tuning.h"

#define VECTORS 4

struct piece {
    size_t column, count;
    size_t step; /* between the columns' elements in the tensor: 1 or 2 */
};

/* Everything the workers share. */
struct unpacked {
    const struct ulp_unpacked_problem *problem;
    const struct ulp_tile *tile;
    const struct piece *pieces;
    size_t piece_count, element_bytes;
    int64_t k_offset_max;
    struct ulp_budget *scratch;
};

/* A worker's memory: a batch's rows of factors, a panel for the columns at the end of the tensor,
 * and its offsets. */
struct scratch {
    char *rows, *panel;
    int64_t *panel_offset;
};

/* Places from one column to the next, when the output goes on with the next element and a row
 * function can step so; else 0. */
static size_t step_after(const struct ulp_unpacked_problem *problem, size_t column)
{
    const int64_t *line = problem->columns->factor->line_offset, *out = problem->out_column;
    int64_t step = line[column + 1] - line[column];
    return out[column + 1] == out[column] + 1 && (step == 1 || step == 2) ? (size_t)step : 0;
}

static struct piece find_piece(const struct ulp_unpacked_problem *problem, size_t column,
                               size_t length)
{
    struct piece piece = {.column = column, .count = 1, .step = 1};
    for (; column + 1 < problem->column_count && piece.count < length; column++, piece.count++) {
        size_t step = step_after(problem, column);
        if (step == 0 || (piece.count > 1 && step != piece.step))
            break;
        piece.step = step;
    }
    return piece;
}

/* Cuts the columns into pieces of that length at most; pieces NULL: only counts, up to one more
 * than `most`. */
static size_t find_pieces(const struct ulp_unpacked_problem *problem, size_t length, size_t most,
                          struct piece *pieces)
{
    size_t count = 0;
    for (size_t column = 0; column < problem->column_count && count <= most; count++) {
        struct piece piece = find_piece(problem, column, length);
        if (pieces)
            pieces[count] = piece;
        column += piece.count;
    }
    return count;
}

/* Part of a piece: its count <= VECTORS vectors. Whole vectors are read: what lies beyond the
 * columns is computed with and dropped, unless it is beyond the tensor. */
static void run_columns(const struct unpacked *unpacked, const struct scratch *scratch,
                        size_t batch, size_t row, const struct piece *part)
{
    const struct ulp_unpacked_problem *problem = unpacked->problem;
    const struct ulp_factor *factor = problem->columns->factor;
    const struct ulp_tile *tile = unpacked->tile;
    bool narrow = part->count <= tile->lanes, even = part->step == 2;
    size_t width = (narrow ? 1 : VECTORS) * tile->lanes;
    int64_t first = (factor->batch_offset ? factor->batch_offset[batch] : 0) +
                    factor->line_offset[part->column];
    const char *data =
        (const char *)factor->tensor->data + first * (int64_t)unpacked->element_bytes;
    const int64_t *k_offset = factor->k_offset;
    if ((size_t)(first + unpacked->k_offset_max) + width * part->step > factor->tensor->count) {
        struct ulp_pack_range range = {.batch = batch,
                                       .line = part->column,
                                       .line_count = part->count,
                                       .k_count = problem->k_count};
        ulp_pack_panels(scratch->panel, tile->element, problem->columns, range, width);
        for (size_t k = 0; k < problem->k_count; k++)
            scratch->panel_offset[k] = (int64_t)(k * width);
        data = scratch->panel;
        k_offset = scratch->panel_offset;
        even = false;
    }
    _Alignas(64) char sums[ULP_TILE_COLUMNS_MAX * sizeof(double)];
    ulp_row_fn *run =
        even ? (narrow ? tile->row1_even : tile->row4_even) : (narrow ? tile->row1 : tile->row4);
    run(problem->rule, sums, scratch->rows + row * problem->k_count * unpacked->element_bytes, data,
        k_offset, problem->k_count);
    int64_t base = (problem->out_batch ? problem->out_batch[batch] : 0) + problem->out_row[row];
    ulp_output_run(problem->output, base + problem->out_column[part->column], sums, part->count);
}

ULP_WORK(work_on_pieces)
{
    const struct unpacked *unpacked = context;
    const struct ulp_unpacked_problem *problem = unpacked->problem;
    size_t width = VECTORS * unpacked->tile->lanes, bytes = unpacked->element_bytes,
           k_count = problem->k_count, total;
    void *memory;
    if (!ulp_size_mul((width + problem->row_count) * bytes + sizeof(int64_t), k_count, &total) ||
        !ulp_size_add(total, 64, &total))
        total = SIZE_MAX;
    ULP_TRY(ulp_allocate(&memory, total, 1, unpacked->scratch, "contraction scratch", error));
    struct scratch scratch = {.panel = memory,
                              .panel_offset =
                                  (int64_t *)(void *)((char *)memory + width * k_count * bytes)};
    scratch.rows = (char *)(scratch.panel_offset + k_count);
    size_t packed = SIZE_MAX; /* batch whose rows scratch.rows holds */
    for (size_t item = first; item < last; item++) {
        const struct piece *piece = &unpacked->pieces[item % unpacked->piece_count];
        const size_t batch = item / unpacked->piece_count;
        struct ulp_pack_range range = {.batch = batch,
                                       .line_count = problem->row_count,
                                       .k_count = k_count};
        if (packed != batch)
            ulp_pack_rows(scratch.rows, unpacked->tile->element, problem->rows, range, k_count);
        packed = batch;
        for (size_t done = 0; done < piece->count; done += width) {
            struct piece part = {.column = piece->column + done,
                                 .count = ulp_size_min(piece->count - done, width),
                                 .step = piece->step};
            /* the second row finds the columns in the cache */
            for (size_t row = 0; row < problem->row_count; row++)
                run_columns(unpacked, &scratch, batch, row, &part);
        }
    }
    ulp_free(memory);
    return ULP_OK;
}

bool ulp_unpacked_serves(const struct ulp_unpacked_problem *problem, const struct ulp_tile *tile)
{
    if (!tile->lanes || problem->row_count > 2 || problem->rule->rounding == ULP_ROUND_STOCHASTIC ||
        problem->columns->round || problem->columns->factor->tensor->element != tile->element ||
        problem->k_count == 0)
        return false;
    /* Pieces shorter than half a vector would waste more than packing costs. */
    const size_t most = problem->column_count / (tile->lanes / 2);
    return find_pieces(problem, ULP_TUNE_UNPACKED_COLUMNS, most, NULL) <= most;
}

/* Of a column: its sums, and its elements, which come from memory where they are used once. */
static double estimate_column(const struct ulp_unpacked_problem *problem,
                              const struct ulp_tile *tile)
{
    const double step = (problem->rule->step == ULP_STEP_ROUNDED ? 2 : 0.8) / (double)tile->lanes,
                 elements = (double)problem->columns->factor->tensor->count /
                            ((double)problem->batch_count * (double)problem->column_count);
    return (double)problem->k_count * (double)problem->row_count * step + 0.1 * elements;
}

/* The length of pieces: whole vectors, and so many that threads end together. */
static size_t find_length(const struct ulp_unpacked_problem *problem, const struct ulp_tile *tile,
                          double column_nanoseconds, const struct ulp_pool *pool)
{
    const size_t batches = problem->batch_count, columns = problem->column_count,
                 threads = (size_t)ulp_pool_threads_for(pool, (double)batches * (double)columns *
                                                                  column_nanoseconds),
                 pieces = threads > 1
                              ? ulp_size_divide_up(ULP_TUNE_BLOCKS_PER_THREAD * threads, batches)
                              : 1;
    return ulp_size_min(ulp_size_round_up(ulp_size_divide_up(columns, pieces),
                                          VECTORS * tile->lanes),
                        ULP_TUNE_UNPACKED_COLUMNS);
}

enum ulp_status ulp_unpacked_run(const struct ulp_unpacked_problem *problem,
                                 const struct ulp_tile *tile, struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    const double nanoseconds = estimate_column(problem, tile);
    const size_t length = find_length(problem, tile, nanoseconds, pool);
    struct unpacked unpacked = {.problem = problem,
                                .tile = tile,
                                .scratch = ulp_pool_scratch(pool),
                                .piece_count = find_pieces(problem, length, SIZE_MAX - 1, NULL),
                                .element_bytes = ulp_element_bytes(tile->element, 0)};
    ULP_SCOPED(ulp_free_of) void *pieces = NULL;
    ULP_TRY(ulp_allocate(&pieces, unpacked.piece_count, sizeof *unpacked.pieces, unpacked.scratch,
                         "contraction pieces", error));
    find_pieces(problem, length, SIZE_MAX - 1, pieces);
    unpacked.pieces = pieces;
    for (size_t k = 0; k < problem->k_count; k++)
        if (problem->columns->factor->k_offset[k] > unpacked.k_offset_max)
            unpacked.k_offset_max = problem->columns->factor->k_offset[k];
    const double piece_columns = (double)problem->column_count / (double)unpacked.piece_count;
    return ulp_parallel_for(pool, problem->batch_count * unpacked.piece_count,
                            ulp_grain(piece_columns * nanoseconds + 25), work_on_pieces, &unpacked,
                            error);
}
