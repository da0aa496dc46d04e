/* Scalar chains over a whole contraction.
 *
 * One side's lines become the rows of tiles, the other's their columns. The outputs are cut into
 * blocks, each computed from beginning to end by one worker: for every block of k both sides are
 * packed (they then fit the second-level cache) and every tile of the block goes on with its sums,
 * which wait in memory between blocks of k. So each sum is formed in increasing k, whatever the
 * blocking. */
#include "kernels/chain/job.h"

#include <math.h>
#include <string.h>

#include "kernels/chain/unpacked.h"
#include "number/round/round.h"

/* Sums of slices and of promoted chains are FP32, or the accumulator's when that is wider. */
static struct ulp_format partial_format(const struct ulp_format *sum)
{
    struct ulp_format fp32;
    return ulp_format_find("fp32", &fp32, NULL) == ULP_OK && ulp_format_holds(&fp32, sum) ? fp32
                                                                                          : *sum;
}

/* Add a cut unless its segments would be the whole of what they lie in. */
static void add_cut(struct ulp_chains *chains, size_t length, size_t enclosing,
                    const struct ulp_format *format)
{
    struct ulp_cuts *cuts = &chains->cuts;
    if (length == 0 || length >= enclosing)
        return;
    cuts->length[cuts->level_count] = length;
    cuts->partial[cuts->level_count++] = ulp_step_rule_partial(&chains->rule, format);
    chains->result = *format;
}

struct ulp_chains ulp_chains_make(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem)
{
    const struct ulp_schedule *schedule = &arithmetic->schedule;
    struct ulp_chains chains = {
        .rule = ulp_step_rule_make(arithmetic),
        .pairwise = arithmetic->order == ULP_ORDER_PAIRWISE,
        .result = arithmetic->accumulator,
    };
    chains.rule.stream = problem->node_key;
    size_t split = schedule->split_k > 1 ? (size_t)schedule->split_k : 1;
    size_t slice = problem->k / split + (problem->k % split != 0);
    size_t promoted = schedule->promote > 0 && (size_t)schedule->promote < slice
                          ? (size_t)schedule->promote
                          : slice;
    size_t block = arithmetic->order == ULP_ORDER_BLOCKED ? (size_t)arithmetic->order_block : 0;
    struct ulp_format wide = partial_format(&arithmetic->accumulator);
    bool each_step = arithmetic->place == ULP_ROUND_EACH_STEP;
    add_cut(&chains, block, promoted, &arithmetic->accumulator);
    add_cut(&chains, promoted, slice, &wide);
    add_cut(&chains, slice, problem->k, each_step ? &chains.result : &wide);
    return chains;
}

/* A worker's memory: packed panels of a block of k, and the sums of tiles, all levels of one tile
 * together. */
struct scratch {
    void *memory;
    char *rows, *columns, *sums, *stack;
    bool nan; /* a sum of the block is NaN */
};

static enum ulp_status scratch_create(struct scratch *out, const struct ulp_chains_job *job,
                                      struct ulp_error *error)
{
    size_t row_panels = divide_up(job->row_block, job->tile_rows);
    size_t column_panels = divide_up(job->column_block, job->tile_columns);
    size_t tiles = job->k_block < job->k_count ? row_panels * column_panels : 1;
    size_t sums = tiles * job->tile_bytes * (size_t)(job->chains->cuts.level_count + 1);
    size_t stack =
        job->chains->pairwise ? ULP_PAIRWISE_LEVELS * job->tile_columns * job->element_bytes : 0;
    size_t rows = 0, columns = 0, total;
    if (!ulp_size_mul(round_up(row_panels * job->tile_rows * job->element_bytes, 64), job->k_block,
                      &rows) ||
        !ulp_size_mul(round_up(column_panels * job->tile_columns * job->element_bytes, 64),
                      job->k_block, &columns) ||
        !ulp_size_add(rows, columns, &total) || !ulp_size_add(total, sums + stack, &total))
        total = SIZE_MAX;
    enum ulp_status status = ulp_allocate(&out->memory, total, 1, ulp_pool_scratch(job->pool),
                                          "contraction scratch", error);
    if (status != ULP_OK)
        return status;
    out->rows = out->memory;
    out->columns = out->rows + rows;
    out->sums = out->columns + columns;
    out->stack = out->sums + sums;
    return ULP_OK;
}

/* x += y, strips of n elements of the job's type, in the rule's steps. */
static void add_partial(const struct ulp_step_rule *rule, enum ulp_element element, void *x,
                        const void *y, size_t n, struct ulp_draw draw)
{
    const struct ulp_step_row *step = &ulp_step_rows[rule->step];
    enum ulp_element wanted = ulp_step_element(rule->step);
    if (wanted == element) {
        step->add(rule, x, x, y, n, draw);
        return;
    }
    float narrow[2][ULP_TILE_COLUMNS_MAX];
    double wide[2][ULP_TILE_COLUMNS_MAX];
    for (size_t i = 0; i < n; i++) {
        wide[0][i] = element == ULP_ELEMENT_F32 ? (double)((float *)x)[i] : ((double *)x)[i];
        wide[1][i] =
            element == ULP_ELEMENT_F32 ? (double)((const float *)y)[i] : ((const double *)y)[i];
        narrow[0][i] = (float)wide[0][i];
        narrow[1][i] = (float)wide[1][i];
    }
    if (wanted == ULP_ELEMENT_F32)
        step->add(rule, narrow[0], narrow[0], narrow[1], n, draw);
    else
        step->add(rule, wide[0], wide[0], wide[1], n, draw);
    for (size_t i = 0; i < n; i++) {
        double sum = wanted == ULP_ELEMENT_F32 ? (double)narrow[0][i] : wide[0][i];
        if (element == ULP_ELEMENT_F32)
            ((float *)x)[i] = (float)sum;
        else
            ((double *)x)[i] = sum;
    }
}

/* The segments of every level that k lies in; [level_count] is the whole. */
struct segments {
    size_t begin[ULP_CUT_LEVELS + 1], end[ULP_CUT_LEVELS + 1];
};

static struct segments find_segments(const struct ulp_cuts *cuts, size_t k_count, size_t k)
{
    struct segments segments = {0};
    segments.end[cuts->level_count] = k_count;
    for (int level = cuts->level_count - 1; level >= 0; level--) {
        size_t begin = segments.begin[level + 1], end = segments.end[level + 1],
               length = cuts->length[level];
        segments.begin[level] = begin + (k - begin) / length * length;
        segments.end[level] = segments.begin[level] + min_size(length, end - segments.begin[level]);
    }
    return segments;
}

/* Add the sums of the segments that end with the innermost one to those they lie in. */
static void close_segments(const struct ulp_chains_job *job, char *sums, size_t row_count,
                           const struct segments *segments, struct ulp_tile_place place)
{
    const struct ulp_cuts *cuts = &job->chains->cuts;
    size_t strip = job->tile_columns * job->element_bytes;
    for (int level = 0; level < cuts->level_count && segments->end[level] == segments->end[0];
         level++) {
        char *inner = sums + (size_t)level * job->tile_bytes, *outer = inner + job->tile_bytes;
        if (segments->begin[level] == segments->begin[level + 1]) {
            memcpy(outer, inner, row_count * strip);
            continue;
        }
        struct ulp_draw draw = {.first = place.output,
                                .number = segments->end[0] * ULP_DRAWS + ULP_DRAW_PARTIAL +
                                          (unsigned)level};
        for (size_t i = 0; i < row_count; i++, draw.first += place.row_pitch)
            add_partial(&cuts->partial[level], job->element, outer + i * strip, inner + i * strip,
                        job->tile_columns, draw);
    }
}

/* Go on with one tile through k in [first, last), whose panels begin at k = first. */
static void run_tile(const struct ulp_chains_job *job, char *sums, size_t row_count,
                     const char *rows, const char *columns, size_t first, size_t last,
                     struct ulp_tile_place place, void *stack)
{
    const struct ulp_chains *chains = job->chains;
    if (chains->cuts.level_count == 0 && !chains->pairwise) {
        place.k = first;
        if (first == 0)
            memset(sums, 0, row_count * job->tile_columns * job->element_bytes);
        job->tile->run[row_count](&chains->rule, sums, rows, columns, last - first, place);
        return;
    }
    for (size_t k = first; k < last;) {
        struct segments segments = find_segments(&chains->cuts, job->k_count, k);
        size_t end = min_size(segments.end[0], last);
        const char *a = rows + (k - first) * row_count * job->element_bytes;
        const char *b = columns + (k - first) * job->tile_columns * job->element_bytes;
        place.k = k;
        if (k == segments.begin[0])
            memset(sums, 0, job->tile_bytes);
        if (chains->pairwise)
            ulp_pairwise(&chains->rule, sums, a, b, row_count, job->tile_columns, end - k, place,
                         stack);
        else
            job->tile->run[row_count](&chains->rule, sums, a, b, end - k, place);
        if (end == segments.end[0])
            close_segments(job, sums, row_count, &segments, place);
        k = end;
    }
}

static struct ulp_tile_place place_of(const struct ulp_chains_job *job, size_t batch, size_t row,
                                      size_t column)
{
    return (struct ulp_tile_place){.output =
                                       (batch * job->row_count + row) * job->row_pitch + column,
                                   .row_pitch = job->row_pitch};
}

static void store_tile(const struct ulp_chains_job *job, char *sums, size_t batch, size_t row,
                       size_t row_count, size_t column, size_t column_count)
{
    size_t strip = job->tile_columns * job->element_bytes;
    char *result = sums + (size_t)job->chains->cuts.level_count * job->tile_bytes;
    int64_t base = job->problem->out_batch_offset ? job->problem->out_batch_offset[batch] : 0;
    struct ulp_draw draw = {.first = place_of(job, batch, row, column).output,
                            .number = job->k_count * ULP_DRAWS + ULP_DRAW_STORE};
    const int64_t *out_column = job->out_column + column;
    bool run = job->output.rounding != ULP_ROUND_STOCHASTIC &&
               (job->column_run || ulp_output_is_run(out_column, column_count));
    for (size_t i = 0; i < row_count; i++, draw.first += job->row_pitch)
        if (run)
            ulp_output_run(&job->output, base + job->out_row[row + i] + out_column[0],
                           result + i * strip, column_count);
        else
            ulp_output_strip(&job->output, base + job->out_row[row + i], out_column,
                             result + i * strip, column_count, draw);
}

/* Is any of the tile's sums NaN? Columns beyond the last are sums of zeros. */
static bool has_nan(const struct ulp_chains_job *job, const char *sums, size_t row_count)
{
    const void *result = sums + (size_t)job->chains->cuts.level_count * job->tile_bytes;
    size_t count = row_count * job->tile_columns;
    int found = 0;
    if (job->element == ULP_ELEMENT_F32)
        return ulp_output_has_nan(result, count);
    for (size_t i = 0; i < count; i++)
        found |= ((const double *)result)[i] != ((const double *)result)[i];
    return found;
}

/* A block of outputs: rows [row, row + row_count), columns likewise. */
struct block {
    size_t batch, row, row_count, column, column_count;
};

/* Panels of lines [line, line + count) of the rows or the columns, k in [first, last). */
static void pack_lines(const struct ulp_chains_job *job, char *out, bool rows, size_t batch,
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

/* The side's panels for k in [first, last) from the block's first line on, packed now unless they
 * are shared. */
static const char *pack_side(const struct ulp_chains_job *job, const struct scratch *scratch,
                             const struct block *block, bool rows, size_t first, size_t last)
{
    size_t line = rows ? block->row : block->column;
    if (job->shared && rows == job->share_rows)
        return job->shared +
               (first * job->shared_lines + line * (last - first)) * job->element_bytes;
    char *out = rows ? scratch->rows : scratch->columns;
    pack_lines(job, out, rows, block->batch, line, rows ? block->row_count : block->column_count,
               first, last);
    return out;
}

/* Pieces of the shared side: some panels of one block of k. */
#define SHARED_PANELS 4

static enum ulp_status pack_shared(void *context, size_t first, size_t last, int worker,
                                   struct ulp_error *error)
{
    const struct ulp_chains_job *job = context;
    size_t width = SHARED_PANELS * shared_tile(job);
    size_t line_count = job->share_rows ? job->row_count : job->column_count,
           pieces = divide_up(line_count, width);
    (void)worker, (void)error;
    for (size_t item = first; item < last; item++) {
        size_t line = item % pieces * width, k = item / pieces * job->k_block,
               end = min_size(k + job->k_block, job->k_count);
        pack_lines(job,
                   job->shared + (k * job->shared_lines + line * (end - k)) * job->element_bytes,
                   job->share_rows, job->batch, line, min_size(width, line_count - line), k, end);
    }
    return ULP_OK;
}

static void run_block(const struct ulp_chains_job *job, struct scratch *scratch,
                      const struct block *block)
{
    size_t k_length, tile_stride = job->tile_bytes * (size_t)(job->chains->cuts.level_count + 1);
    bool whole = job->k_block >= job->k_count;
    for (size_t first = 0; first == 0 || first < job->k_count; first += k_length) {
        k_length = min_size(job->k_block, job->k_count - first);
        size_t last = first + k_length;
        char *sums = scratch->sums;
        const char *packed_rows = pack_side(job, scratch, block, true, first, last);
        const char *packed_columns = pack_side(job, scratch, block, false, first, last);
        if (job->k_count == 0)
            memset(sums, 0, tile_stride);
        for (size_t column = 0; column < block->column_count; column += job->tile_columns)
            for (size_t row = 0; row < block->row_count; row += job->tile_rows) {
                size_t rows = min_size(job->tile_rows, block->row_count - row);
                run_tile(job, sums, ulp_tile_rows(job->tile, rows),
                         packed_rows + row * k_length * job->element_bytes,
                         packed_columns + column * k_length * job->element_bytes, first, last,
                         place_of(job, block->batch, block->row + row, block->column + column),
                         scratch->stack);
                if (last == job->k_count && job->meets_padding && job->nan_shows && !scratch->nan)
                    scratch->nan = has_nan(job, sums, rows);
                if (last == job->k_count)
                    store_tile(job, sums, block->batch, block->row + row, rows,
                               block->column + column,
                               min_size(job->tile_columns, block->column_count - column));
                if (!whole)
                    sums += tile_stride;
            }
        if (job->k_count == 0)
            break;
    }
}

/* One output again, with the products that padding excludes left out (pack.h). */
static void repair_output(const struct ulp_chains_job *job, const struct scratch *scratch,
                          double *pair, size_t batch, size_t row, size_t column)
{
    size_t k_count = job->k_count, k_length;
    ulp_pack_pair(pair, pair + k_count, &job->rows, &job->columns, batch, row, column, k_count);
    for (size_t first = 0; first < k_count; first += k_length) {
        k_length = min_size(job->k_block, k_count - first);
        memset(scratch->columns, 0, k_length * job->tile_columns * job->element_bytes);
        for (size_t k = 0; k < k_length; k++) {
            size_t at = k * job->tile_columns;
            if (job->element == ULP_ELEMENT_F32) {
                ((float *)(void *)scratch->rows)[k] = (float)pair[first + k];
                ((float *)(void *)scratch->columns)[at] = (float)pair[k_count + first + k];
            } else {
                ((double *)(void *)scratch->rows)[k] = pair[first + k];
                ((double *)(void *)scratch->columns)[at] = pair[k_count + first + k];
            }
        }
        run_tile(job, scratch->sums, 1, scratch->rows, scratch->columns, first, first + k_length,
                 place_of(job, batch, row, column), scratch->stack);
    }
    store_tile(job, scratch->sums, batch, row, 1, column, 1);
}

struct line {
    bool padding, finite;
};

static enum ulp_status repair_block(const struct ulp_chains_job *job, const struct scratch *scratch,
                                    const struct block *block, struct ulp_error *error)
{
    struct line *lines;
    double *pair;
    void *memory, *pairs = NULL;
    size_t line_count = block->row_count + block->column_count, k_count = job->k_count;
    struct ulp_budget *budget = ulp_pool_scratch(job->pool);
    enum ulp_status status =
        ulp_allocate(&memory, line_count, sizeof *lines, budget, "padding flags", error);
    if (status == ULP_OK)
        status = ulp_allocate(&pairs, 2 * k_count, sizeof *pair, budget, "a pair of lines", error);
    lines = memory, pair = pairs;
    for (size_t i = 0; status == ULP_OK && i < line_count; i++) {
        const struct ulp_pack *pack = i < block->row_count ? &job->rows : &job->columns;
        size_t line = i < block->row_count ? block->row + i : block->column + i - block->row_count;
        lines[i] =
            (struct line){.padding = ulp_pack_line_has_padding(pack, block->batch, line, k_count),
                          .finite = ulp_pack_line_is_finite(pack, block->batch, line, k_count)};
    }
    for (size_t i = 0; status == ULP_OK && i < block->row_count; i++)
        for (size_t j = 0; j < block->column_count; j++) {
            const struct line *row = &lines[i], *column = &lines[block->row_count + j];
            if ((row->padding && !column->finite) || (column->padding && !row->finite))
                repair_output(job, scratch, pair, block->batch, block->row + i, block->column + j);
        }
    ulp_free(pairs);
    ulp_free(memory);
    return status;
}

static struct block find_block(const struct ulp_chains_job *job, size_t item)
{
    size_t row = item % job->row_blocks * job->row_block, rest = item / job->row_blocks;
    size_t column = rest % job->column_blocks * job->column_block;
    return (struct block){.batch = job->batch + rest / job->column_blocks,
                          .row = row,
                          .column = column,
                          .row_count = min_size(job->row_block, job->row_count - row),
                          .column_count = min_size(job->column_block, job->column_count - column)};
}

/* Items of every thread of a shared product: as many blocks for each, and a piece of those left
 * over: they are cut along their shared side when threads would have none. Every piece packs the
 * block's other side again, so no thread has two. */
static size_t share_length(const struct ulp_chains_job *job)
{
    return divide_up(job->row_blocks * job->column_blocks, job->thread_count);
}

static struct block find_share(const struct ulp_chains_job *job, size_t item)
{
    size_t threads = job->thread_count, blocks = job->row_blocks * job->column_blocks,
           whole = blocks / threads, left = blocks % threads;
    size_t thread = item / share_length(job), number = item % share_length(job);
    if (number < whole)
        return find_block(job, thread * whole + number);
    size_t pieces = threads / left, piece = thread % pieces;
    if (thread / pieces >= left)
        return (struct block){.row_count = 0};
    struct block block = find_block(job, threads * whole + thread / pieces);
    size_t tile = shared_tile(job), tiles = job->shared_lines / tile;
    size_t *line = job->share_rows ? &block.row : &block.column,
           *count = job->share_rows ? &block.row_count : &block.column_count;
    *line = tiles * piece / pieces * tile;
    *count = min_size(*count, tiles * (piece + 1) / pieces * tile) - *line;
    return block;
}

static enum ulp_status work_on_blocks(void *context, size_t first, size_t last, int worker,
                                      struct ulp_error *error)
{
    (void)worker;
    const struct ulp_chains_job *job = context;
    struct scratch scratch;
    enum ulp_status status = scratch_create(&scratch, job, error);
    if (status != ULP_OK)
        return status;
    for (size_t item = first; item < last && status == ULP_OK; item++) {
        struct block block = job->shared ? find_share(job, item) : find_block(job, item);
        if (block.row_count == 0 || block.column_count == 0)
            continue; /* no piece is left, or it has fewer tiles than threads */
        scratch.nan = false;
        run_block(job, &scratch, &block);
        if (job->meets_padding && (scratch.nan || !job->nan_shows))
            status = repair_block(job, &scratch, &block, error);
    }
    ulp_free(scratch.memory);
    return status;
}

/* Batch after batch: the shared side first, then all blocks. */
static enum ulp_status run_shared(struct ulp_chains_job *job, size_t batch_count,
                                  struct ulp_error *error)
{
    void *memory;
    enum ulp_status status =
        ulp_allocate(&memory, job->shared_lines * job->k_count, job->element_bytes,
                     ulp_pool_scratch(job->pool), "packed lines", error);
    size_t panels = divide_up(job->shared_lines, shared_tile(job));
    size_t pieces = divide_up(panels, SHARED_PANELS) * divide_up(job->k_count, job->k_block);
    size_t grain =
        ulp_grain(0.3 * (double)job->shared_lines * (double)job->k_count / (double)pieces);
    job->shared = memory;
    for (job->batch = 0; job->batch < batch_count && status == ULP_OK; job->batch++) {
        status = ulp_parallel_for(job->pool, pieces, grain, pack_shared, job, error);
        if (status == ULP_OK)
            status = ulp_parallel_for(job->pool, job->thread_count * share_length(job), 1,
                                      work_on_blocks, job, error);
    }
    ulp_free(memory);
    return status;
}

/* Steps in the carrier's own arithmetic give NaN for 0 * Inf and keep it. */
static bool shows_nan(const struct ulp_chains *chains)
{
    bool shows = chains->rule.step == ULP_STEP_FLOAT || chains->rule.step == ULP_STEP_DOUBLE;
    for (int level = 0; level < chains->cuts.level_count; level++) {
        enum ulp_step step = chains->cuts.partial[level].step;
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
    job.tile_rows = ulp_tile_rows_max(job.tile);
    job.tile_columns = job.tile->columns;
    job.tile_bytes = job.tile_rows * job.tile_columns * job.element_bytes;
    ulp_chains_choose_sides(&job, arithmetic, problem);
    job.nan_shows = shows_nan(chains);
    job.column_run = ulp_output_is_run(job.out_column, job.column_count);
    enum ulp_status status =
        ulp_output_make(&job.output, arithmetic, problem, &chains->result, job.element, error);
    if (status != ULP_OK)
        return status;
    struct ulp_direct_problem direct = {
        .rule = &chains->rule,
        .rows = &job.rows,
        .columns = &job.columns,
        .output = &job.output,
        .out_batch = problem->out_batch_offset,
        .out_row = job.out_row,
        .out_column = job.out_column,
        .batch_count = problem->batch_count,
        .row_count = job.row_count,
        .column_count = job.column_count,
        .k_count = job.k_count,
    };
    bool has_padding =
        ulp_element_is_float(job.element) && (problem->a.padding || problem->b.padding);
    if (!chains->pairwise && chains->cuts.level_count == 0 &&
        ulp_direct_serves(&direct, job.tile) &&
        !(has_padding && ulp_pack_meets_padding(&job.rows, &job.columns, pool)))
        return ulp_direct_run(&direct, job.tile, pool, error);
    job.meets_padding =
        has_padding && (job.nan_shows || ulp_pack_meets_padding(&job.rows, &job.columns, pool));
    double nanoseconds =
        (double)problem->batch_count * ulp_chains_estimate(&job, job.row_count, job.column_count);
    ulp_chains_choose_blocks(&job, problem->batch_count,
                             (size_t)ulp_pool_threads_for(pool, nanoseconds));
    if (job.shared_lines)
        return run_shared(&job, problem->batch_count, error);
    size_t items = problem->batch_count * job.row_blocks * job.column_blocks;
    size_t grain = ulp_grain(ulp_chains_estimate(&job, job.row_block, job.column_block));
    return ulp_parallel_for(pool, items, grain, work_on_blocks, &job, error);
}
