/* Contractions of pairs: blocks of outputs, each with all of its k, are the workers' items. */
#include "kernels/pair/pair_tile.h"

#include <math.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "kernels/pair/pair_panels.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define SIGN UINT64_C(0x8000000000000000)

/* Products between two additions of pairs. */
#define FOLD 144
/* Of a block, at most: lines, and k that are packed at once, whole blocks of FOLD. They time only:
 * columns of K_BLOCK as pairs take 590 kB. */
#define ROW_BLOCK 256
#define COLUMN_BLOCK 128
#define K_BLOCK (2 * FOLD)

/* Adds the products of k_count (row, column) of two panels to sums; by the logarithm of the rows,
 * by whether the rows and the columns have low parts. */
typedef void tile_fn(double *sums, const double *rows, const double *columns, size_t k_count);
struct tiles {
    size_t columns;
    tile_fn *sum[2][3][2][2]; /* of pairs, of triples */
};

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif
#define TEMPLATE "kernels/pair/pair_tile_template.h"
#include "base/machine/each_cpu_template.h"

struct job {
    const struct ulp_contraction *problem;
    struct ulp_pair_side rows, columns;
    const int64_t *out_row, *out_column;
    bool swapped;
    size_t parts; /* of a sum */
    tile_fn *sum;
    size_t row_block, column_block, row_blocks, column_blocks;
    unsigned char *exceptions;
    struct ulp_budget *budget;
};

/* What a worker has. */
struct room {
    double *sums, *rows, *columns; /* sums of a panel of columns: row by row */
    struct ulp_pair_range row_range[ROW_BLOCK], column_range[COLUMN_BLOCK];
};

/* The outputs of an item. */
struct part {
    size_t batch, row, row_count, column, column_count;
};

static size_t find_places(const struct job *job)
{
    return ulp_size_round_up(job->row_block, job->rows.width) * job->parts * job->columns.width;
}

static enum ulp_status take_room(struct room **out, const struct job *job, struct ulp_error *error)
{
    const size_t panels = ulp_size_divide_up(job->column_block, job->columns.width),
                 sums = panels * find_places(job), rows = K_BLOCK * ulp_pair_step(&job->rows),
                 columns = panels * K_BLOCK * ulp_pair_step(&job->columns),
                 own = ulp_size_round_up(sizeof **out, 64);
    ULP_TRY(ulp_allocate(out, 1, own + (sums + rows + columns) * sizeof(double), job->budget,
                         "sums of pairs", error));
    (*out)->sums = (double *)(void *)((char *)*out + own);
    (*out)->rows = (*out)->sums + sums;
    (*out)->columns = (*out)->rows + rows;
    memset((*out)->sums, 0, sums * sizeof(double));
    return ULP_OK;
}

/* Adds k_count products to all sums of the part. */
static void add_products(const struct job *job, struct room *room, const struct part *part,
                         size_t k, size_t k_count)
{
    const size_t width = job->columns.width, step = K_BLOCK * ulp_pair_step(&job->columns);
    for (size_t j = 0; j < part->column_count; j += width)
        ulp_pair_panel(room->columns + j / width * step, &room->column_range[j], &job->columns,
                       part->batch, part->column + j, k, k_count);
    for (size_t i = 0; i < part->row_count; i += job->rows.width) {
        ulp_pair_panel(room->rows, &room->row_range[i], &job->rows, part->batch, part->row + i, k,
                       k_count);
        for (size_t j = 0; j < part->column_count; j += width)
            job->sum(room->sums + j / width * find_places(job) + i * job->parts * width, room->rows,
                     room->columns + j / width * step, k_count);
    }
}

/* NaN, as of an infinite line and one of zeros, is an exception. */
static bool is_exception(const struct ulp_pair_range *a, const struct ulp_pair_range *b,
                         double high, double least, size_t k_count)
{
    const bool fits = a->largest * b->largest <= 0x1p900 / (double)k_count &&
                      a->largest <= 0x1p900 && b->largest <= 0x1p900,
               fine =
                   a->least * b->least >= least && a->least >= 0x1p-1000 && b->least >= 0x1p-1000;
    return !fits || !fine || (high != 0 && fabs(high) < 0x1p-900);
}

/* The sum of three doubles as a record. */
static void store_triple(struct ulp_tensor *out, int64_t at, const double *sum, size_t width)
{
    struct ulp_record *const record = ulp_record_at(out->data, (size_t)at, out->precision);
    mpfr_t y;
    ulp_record_begin(y, record, out->precision);
    mpfr_set_d(y, sum[0], MPFR_RNDN);
    mpfr_add_d(y, y, sum[width], MPFR_RNDN);
    mpfr_add_d(y, y, sum[2 * width], MPFR_RNDN);
    ulp_record_close(record, y);
}

static void store(const struct job *job, const struct room *room, const struct part *part)
{
    const struct ulp_contraction *problem = job->problem;
    const size_t width = job->columns.width;
    const int64_t base = problem->out_batch_offset ? problem->out_batch_offset[part->batch] : 0;
    const double least = job->parts == 2 ? 0x1p-969 : ULP_TRIPLE_PRODUCT_LEAST;
    for (size_t i = 0; i < part->row_count; i++)
        for (size_t j = 0; j < part->column_count; j++) {
            const double *sum =
                room->sums + j / width * find_places(job) + i * job->parts * width + j % width;
            const size_t row = part->row + i, column = part->column + j,
                         a = job->swapped ? column : row, b = job->swapped ? row : column;
            const int64_t at = base + job->out_row[row] + job->out_column[column];
            if (job->parts == 2)
                ((struct ulp_double_pair *)problem->out->data)[at] =
                    (struct ulp_double_pair){sum[0], sum[width]};
            else
                store_triple(problem->out, at, sum, width);
            if (is_exception(&room->row_range[i], &room->column_range[j], sum[0], least,
                             problem->k))
                job->exceptions[(part->batch * problem->m + a) * problem->n + b] = 1;
        }
}

ULP_WORK(sum_parts)
{
    const struct job *job = context;
    const size_t blocks = job->row_blocks * job->column_blocks;
    struct room *room;
    ULP_TRY(take_room(&room, job, error));
    for (size_t item = first; item < last; item++) {
        const size_t row = item % blocks / job->column_blocks * job->row_block,
                     column = item % job->column_blocks * job->column_block;
        const struct part part = {item / blocks, row,
                                  ulp_size_min(job->row_block, job->rows.line_count - row), column,
                                  ulp_size_min(job->column_block,
                                               job->columns.line_count - column)};
        for (size_t i = 0; i < ROW_BLOCK; i++)
            room->row_range[i] = ULP_PAIR_ZEROS;
        for (size_t j = 0; j < COLUMN_BLOCK; j++)
            room->column_range[j] = ULP_PAIR_ZEROS;
        for (size_t k = 0; k < job->problem->k; k += K_BLOCK)
            add_products(job, room, &part, k, ulp_size_min(K_BLOCK, job->problem->k - k));
        store(job, room, &part);
        if (item + 1 < last)
            memset(room->sums, 0, (size_t)((char *)room->rows - (char *)room->sums));
    }
    ulp_free(room);
    return ULP_OK;
}

/* Rows are of b where its lines would leave vectors of columns empty. */
static void set_sides(struct job *job, const struct tiles *tiles)
{
    const struct ulp_contraction *problem = job->problem;
    job->swapped = problem->n < tiles->columns && problem->m > problem->n;
    const size_t m = job->swapped ? problem->n : problem->m,
                 n = job->swapped ? problem->m : problem->n;
    const int logarithm = m > 2 ? 2 : m > 1;
    ulp_pair_side_make(&job->rows, job->swapped ? &problem->b : &problem->a, m,
                       (size_t)1 << logarithm);
    ulp_pair_side_make(&job->columns, job->swapped ? &problem->a : &problem->b, n, tiles->columns);
    job->out_row = job->swapped ? problem->out_column_offset : problem->out_row_offset;
    job->out_column = job->swapped ? problem->out_row_offset : problem->out_column_offset;
    job->sum = tiles->sum[job->parts - 2][logarithm][job->rows.parts > 1][job->columns.parts > 1];
}

/* As large as registers and caches like, but a few for each thread, and no larger than there are
 * lines: a block's sums are zeroed whole. */
static void choose_blocks(struct job *job, size_t thread_count)
{
    const size_t wanted = thread_count > 1 ? 4 * thread_count : 1, rows = job->rows.line_count,
                 columns = job->columns.line_count;
    job->row_block = ROW_BLOCK;
    job->column_block = COLUMN_BLOCK;
    for (;;) {
        job->row_blocks = ulp_size_divide_up(rows, job->row_block);
        job->column_blocks = ulp_size_divide_up(columns, job->column_block);
        if (job->problem->batch_count * job->row_blocks * job->column_blocks >= wanted)
            break;
        if (job->row_block > job->column_block / 2 && job->row_block > 16)
            job->row_block /= 2;
        else if (job->column_block > 32)
            job->column_block /= 2;
        else
            break;
    }
    job->row_block = ulp_size_min(job->row_block, rows);
    job->column_block = ulp_size_min(job->column_block, columns);
}

static enum ulp_status run_tiles(const struct ulp_contraction *problem, size_t parts,
                                 unsigned char *exceptions, struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    const size_t outputs = problem->batch_count * problem->m * problem->n;
    struct job job = {.problem = problem,
                      .parts = parts,
                      .exceptions = exceptions,
                      .budget = ulp_pool_scratch(pool)};
    if (outputs == 0)
        return ULP_OK;
    if (problem->k > ULP_PAIR_K_MAX) {
        memset(exceptions, 1, outputs);
        return ULP_OK;
    }
    set_sides(&job, ULP_BY_CPU(&tiles_avx512, &tiles_avx2, &tiles_portable));
    const double nanoseconds = 0.5 * (double)outputs * (double)problem->k;
    choose_blocks(&job, (size_t)ulp_pool_threads_for(pool, nanoseconds));
    const size_t items = problem->batch_count * job.row_blocks * job.column_blocks;
    return ulp_parallel_for(pool, items, ulp_grain(nanoseconds / (double)items + 1), sum_parts,
                            &job, error);
}

enum ulp_status ulp_pair_tile(const struct ulp_contraction *problem, unsigned char *exceptions,
                              struct ulp_pool *pool, struct ulp_error *error)
{
    return run_tiles(problem, 2, exceptions, pool, error);
}

enum ulp_status ulp_triple_tile(const struct ulp_contraction *problem, unsigned char *exceptions,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    return run_tiles(problem, 3, exceptions, pool, error);
}
