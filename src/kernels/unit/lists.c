/* Contractions on a matrix unit whose rows hold many zeros, as activations behind a Relu do: a
 * product with zero takes no part in a block, so rows are kept as lists of what is not zero.
 * Columns are panels; a convolution's rows are its pixels then, and no lane lies between its
 * columns.
 *
 * An item of work is a chunk of rows by all panels, or some of them. It takes a segment of the
 * blocks at a time, so that its lists stay in the caches and panels are read once for all of its
 * rows. */
#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/tuning.h"
#include "kernels/unit/work.h"
#include "number/round/round.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, PAIR = 2 * COLUMNS, STORED = 16 };

/* Everything the workers share. */
struct work {
    const struct ulp_unit_work *unit;
    size_t chunk_rows,
        chunk_count; /* rows of a chunk, whole groups of COLUMNS; chunks of a batch */
    size_t pair_count, part_pairs, parts; /* pairs of panels, of a part at most, and parts */
    size_t segment;                       /* blocks */
    size_t panel_bytes;
    char *panels;  /* decoded for this call, when none are kept */
    int64_t pitch; /* from column to column in the output; 0: it varies */
    size_t worker_bytes;
    char *scratch;
};

/* A worker's memory. */
struct scratch {
    struct ulp_unit_lists lists;
    struct ulp_unit_rows rows; /* one, with its zeros */
    float *lines;              /* [slot of a segment][COLUMNS rows] */
    float *sums;               /* [row][pair][PAIR] */
};

static size_t lay_scratch(struct scratch *scratch, const struct work *work, char *memory)
{
    const struct ulp_unit_layout *layout = &work->unit->layout;
    const size_t length = (size_t)layout->unit.block, slots = work->segment * length,
                 plane = ulp_unit_align(work->chunk_rows * slots * sizeof(float)),
                 lines = ulp_unit_align(COLUMNS * slots * sizeof(float)),
                 sums = ulp_unit_align(work->chunk_rows * work->part_pairs * PAIR * sizeof(float)),
                 rows = ulp_unit_lay_rows(&scratch->rows, layout, 1, memory);
    if (memory) {
        char *const planes = memory + rows + lines + sums;
        scratch->lines = (float *)(void *)(memory + rows);
        scratch->sums = (float *)(void *)(memory + rows + lines);
        scratch->lists = (struct ulp_unit_lists){
            .length = length,
            .value = (float *)(void *)planes,
            .exponent = (int32_t *)(void *)(planes + plane),
            .offset = (uint32_t *)(void *)(planes + 2 * plane),
            .count = (uint8_t *)(planes + 3 * plane),
        };
    }
    return rows + lines + sums + 3 * plane + ulp_unit_align(work->chunk_rows * work->segment);
}

ULP_WORK(decode_panels)
{
    const struct work *work = context;
    const struct ulp_unit_work *unit = work->unit;
    for (size_t i = first; i < last; i++) {
        const struct ulp_pack_range range = {.line = i * COLUMNS,
                                             .line_count =
                                                 ulp_size_min(COLUMNS,
                                                              unit->columns.count - i * COLUMNS),
                                             .k_count = unit->problem->k};
        struct ulp_unit_panel panel;
        ulp_unit_lay_panel(&panel, &unit->layout, work->panels + i * work->panel_bytes);
        ulp_unit_decode_panel(unit->instance, &panel, &unit->layout, &unit->columns.pack, range,
                              false, NULL);
    }
    return ULP_OK;
}

void ulp_unit_list_rows(const struct ulp_unit_instance *instance,
                        const struct ulp_unit_lists *lists, size_t row, const float *x, size_t slot,
                        int emin)
{
    if (instance->list) {
        instance->list(lists, row, x, slot, emin);
        return;
    }
    for (size_t s = 0; s < lists->blocks * lists->length; s++, x += COLUMNS) {
        int16_t code[COLUMNS];
        instance->find_exponents(code, x, COLUMNS, emin);
        for (size_t i = 0; i < COLUMNS; i++) {
            const size_t block = (row + i) * lists->blocks + s / lists->length;
            const size_t used = s % lists->length ? lists->count[block] : 0,
                         at = block * lists->length + used;
            lists->value[at] = x[i];
            lists->exponent[at] = (int32_t)((uint32_t)(uint16_t)code[i] * 0x10001u);
            lists->offset[at] = (uint32_t)((slot + s) * COLUMNS);
            lists->count[block] = (uint8_t)(used + (x[i] != 0));
        }
    }
}

/* Lists of the blocks [first, first + lists->blocks) of a chunk's rows. */
static void make_lists(const struct work *work, const struct scratch *scratch,
                       struct ulp_pack_range rows, size_t first)
{
    const struct ulp_unit_work *unit = work->unit;
    const struct ulp_unit_lists *lists = &scratch->lists;
    const int emin = ulp_unit_input(&unit->layout.unit, unit->rows.pack.side)->emin;
    const size_t slots = lists->blocks * lists->length, slot = first * lists->length;
    for (size_t row = 0; row < rows.line_count; row += COLUMNS) {
        const struct ulp_pack_range range = {.batch = rows.batch,
                                             .line = rows.line + row,
                                             .line_count =
                                                 ulp_size_min(COLUMNS, rows.line_count - row),
                                             .k = slot,
                                             .k_count =
                                                 ulp_size_min(slots, unit->problem->k - slot)};
        ulp_pack_panels_float(scratch->lines, &unit->rows.pack, range, COLUMNS);
        memset(scratch->lines + range.k_count * COLUMNS, 0,
               (slots - range.k_count) * COLUMNS * sizeof(float));
        ulp_unit_list_rows(unit->instance, lists, row, scratch->lines, slot, emin);
    }
}

/* A row's blocks that are not all certain, with its zeros, to sums[PAIR]. */
static void sum_row(const struct work *work, const struct scratch *scratch,
                    const struct ulp_unit_panel panels[2], size_t row, size_t first, float *sums)
{
    const struct ulp_unit_layout *layout = &work->unit->layout;
    const struct ulp_unit_lists *lists = &scratch->lists;
    const struct ulp_unit_rows *rows = &scratch->rows;
    const size_t slot = first * lists->length;
    memset(rows->special, 0, layout->block_count);
    for (size_t s = slot; s < slot + lists->blocks * lists->length; s++) {
        rows->value[s] = 0;
        rows->exponent[s] = (int32_t)((uint32_t)(uint16_t)ULP_UNIT_ZERO * 0x10001u);
    }
    for (size_t block = row * lists->blocks; block < (row + 1) * lists->blocks; block++)
        for (size_t i = block * lists->length; i < block * lists->length + lists->count[block];
             i++) {
            rows->value[lists->offset[i] / COLUMNS] = lists->value[i];
            rows->exponent[lists->offset[i] / COLUMNS] = lists->exponent[i];
        }
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_unit_tile tile = {.layout = layout,
                                           .rows = *rows,
                                           .panel = panels[i],
                                           .slot_offset = layout->panel_offset,
                                           .place = &(const int64_t){0},
                                           .row_count = 1,
                                           .place_count = 1,
                                           .block_first = first,
                                           .block_last = first + lists->blocks,
                                           .c = sums + i * COLUMNS};
        work->unit->instance->run(&tile);
    }
}

/* The blocks of the lists, which begin with `first`, by a pair of panels. */
static void sum_pair(const struct work *work, const struct scratch *scratch, size_t row_count,
                     size_t first, size_t pair, float *sums)
{
    const struct ulp_unit_work *unit = work->unit;
    struct ulp_unit_panel panels[2];
    struct ulp_unit_list_tile tile = {.layout = &unit->layout,
                                      .lists = scratch->lists,
                                      .row_count = row_count,
                                      .c = sums,
                                      .stride = work->part_pairs * PAIR};
    for (size_t i = 0; i < 2; i++) {
        const size_t panel = ulp_size_min(2 * pair + i, (unit->columns.count - 1) / COLUMNS);
        if (unit->forms[1])
            ulp_unit_form_panel(&panels[i], unit, 0, panel);
        else
            ulp_unit_lay_panel(&panels[i], &unit->layout, work->panels + panel * work->panel_bytes);
        tile.value[i] = panels[i].value;
        tile.exponent[i] = panels[i].exponent;
    }
    for (size_t row = 0; (row = unit->instance->run_lists(&tile, row)) < row_count; row++)
        sum_row(work, scratch, panels, row, first, sums + row * tile.stride);
}

/* Rounded as the problem says, to their places. */
static void store_rows(const struct work *work, float *sums, struct ulp_pack_range rows,
                       size_t column, size_t columns)
{
    const struct ulp_unit_work *unit = work->unit;
    const struct ulp_output *output = &unit->output;
    const struct ulp_contraction *p = unit->problem;
    const size_t width = work->part_pairs * PAIR;
    const int64_t *row_offset = unit->rows.out_offset + rows.line,
                  *column_offset = unit->columns.out_offset + column;
    const int64_t base = (p->out_batch_offset ? p->out_batch_offset[rows.batch] : 0);
    for (size_t row = 0, count; row < rows.line_count; row += count) {
        count = ulp_size_min(STORED, rows.line_count - row);
        float *const x = sums + row * width;
        if (work->pitch && output->tensor->element == ULP_ELEMENT_F32 &&
            ulp_output_is_run(row_offset + row, count)) {
            for (size_t i = 0; output->round && i < count; i++)
                ulp_round_floats(&output->format, output->rounding, x + i * width, columns, 0, 0,
                                 0);
            ulp_output_turned(output, base + row_offset[row] + column_offset[0], x,
                              &(struct ulp_output_block){.rows = count,
                                                         .columns = columns,
                                                         .width = width,
                                                         .pitch = work->pitch});
            continue;
        }
        for (size_t i = 0; i < count; i++)
            if (unit->out_is_run)
                ulp_output_run(output, base + row_offset[row + i] + column_offset[0], x + i * width,
                               columns);
            else
                for (size_t j = 0; j < columns; j += 64)
                    ulp_output_strip(output, base + row_offset[row + i], column_offset + j,
                                     x + i * width + j, ulp_size_min(64, columns - j),
                                     (struct ulp_draw){0});
    }
}

ULP_WORK(contract_items)
{
    const struct work *work = context;
    const struct ulp_unit_work *unit = work->unit;
    struct scratch scratch;
    lay_scratch(&scratch, work, work->scratch + (size_t)worker * work->worker_bytes);
    for (size_t item = first; item < last; item++) {
        const size_t chunk = item / work->parts, pair = item % work->parts * work->part_pairs,
                     row = chunk % work->chunk_count * work->chunk_rows, column = pair * PAIR;
        const size_t pairs = ulp_size_min(work->part_pairs, work->pair_count - pair),
                     columns = ulp_size_min(pairs * PAIR, unit->columns.count - column);
        const struct ulp_pack_range rows = {.batch = chunk / work->chunk_count,
                                            .line = row,
                                            .line_count = ulp_size_min(work->chunk_rows,
                                                                       unit->rows.count - row)};
        memset(scratch.sums, 0, rows.line_count * work->part_pairs * PAIR * sizeof *scratch.sums);
        for (size_t block = 0; block < unit->layout.block_count; block += work->segment) {
            scratch.lists.blocks = ulp_size_min(work->segment, unit->layout.block_count - block);
            make_lists(work, &scratch, rows, block);
            for (size_t i = 0; i < pairs; i++)
                sum_pair(work, &scratch, rows.line_count, block, pair + i, scratch.sums + i * PAIR);
        }
        store_rows(work, scratch.sums, rows, column, columns);
    }
    return ULP_OK;
}

/* Chunks large enough to read panels seldom; parts where chunks are too few for the threads. */
static void plan_items(struct work *work, size_t threads)
{
    const struct ulp_unit_work *unit = work->unit;
    const size_t batches = unit->problem->batch_count, rows = unit->rows.count,
                 most = ulp_size_min(ULP_TUNE_UNIT_ROWS_MAX,
                                     ulp_size_divide_up(rows * batches, threads)),
                 chunks = ulp_size_divide_up(rows, most);
    work->chunk_rows = ulp_size_round_up(ulp_size_divide_up(rows, chunks), COLUMNS);
    work->chunk_count = ulp_size_divide_up(rows, work->chunk_rows);
    const size_t items = work->chunk_count * batches;
    work->pair_count = ulp_size_divide_up(unit->columns.count, PAIR);
    work->part_pairs = ulp_size_divide_up(work->pair_count, ulp_size_divide_up(threads, items));
    work->part_pairs = ulp_size_min(work->part_pairs, ULP_TUNE_UNIT_LIST_PAIRS);
    work->parts = ulp_size_divide_up(work->pair_count, work->part_pairs);
    work->segment = ulp_size_min(unit->layout.block_count,
                                 ULP_TUNE_UNIT_TILE_SLOTS / (size_t)unit->layout.unit.block);
}

enum ulp_status ulp_unit_run_lists(const struct ulp_unit_work *unit, struct ulp_pool *pool,
                                   struct ulp_error *error)
{
    const size_t threads = (size_t)ulp_pool_thread_count(pool),
                 panels = ulp_size_divide_up(unit->columns.count, COLUMNS);
    struct work work = {.unit = unit,
                        .panel_bytes = ulp_unit_lay_panel(NULL, &unit->layout, NULL),
                        .pitch = ulp_offset_step(unit->columns.out_offset, unit->columns.count)};
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    struct scratch ignored;
    plan_items(&work, threads);
    work.worker_bytes = ulp_unit_align(lay_scratch(&ignored, &work, NULL));
    ULP_SCOPED(ulp_free_of) void *memory = NULL;
    ULP_SCOPED(ulp_free_of) void *scratch = NULL;
    if (!unit->forms[1])
        ULP_TRY(ulp_allocate(&memory, panels, work.panel_bytes, budget, "decoded columns", error));
    ULP_TRY(ulp_allocate(&scratch, threads, work.worker_bytes, budget, "decoded rows", error));
    work.panels = memory;
    work.scratch = scratch;
    const double k = (double)unit->problem->k;
    if (!unit->forms[1])
        ULP_TRY(ulp_parallel_for(pool, panels, ulp_grain(k * COLUMNS + 1), decode_panels, &work,
                                 error));
    return ulp_parallel_for(pool, unit->problem->batch_count * work.chunk_count * work.parts,
                            ulp_grain(k * (double)(work.chunk_rows * work.part_pairs * PAIR) / 30),
                            contract_items, &work, error);
}

/* The share of the rows' elements that are not zero, of a sample: it decides nothing but time. */
static double measure_density(const struct ulp_pack *pack)
{
    enum { SAMPLES = 64, RUN = 32 };
    const struct ulp_tensor *tensor = pack->factor->tensor;
    const float *x = tensor->data;
    size_t run = tensor->count / SAMPLES, found = 0;
    if (run < RUN)
        return 1;
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t j = 0; j < RUN; j++)
            found += x[i * run + j] != 0;
    return (double)found / (SAMPLES * RUN);
}

static bool serves(const struct ulp_unit_work *work)
{
    const struct ulp_contraction *p = work->problem;
    const struct ulp_pack *rows = &work->rows.pack;
    const size_t panels = ulp_size_divide_up(work->columns.count, COLUMNS);
    return work->instance->run_lists && work->layout.dense && work->layout.one_chain &&
           work->shared && !p->onto && p->k > 0 &&
           work->arithmetic->rounding != ULP_ROUND_STOCHASTIC &&
           !(rows->round && rows->rounding == ULP_ROUND_STOCHASTIC) && !p->a.exponent &&
           !p->b.exponent && rows->factor->tensor->element == ULP_ELEMENT_F32 &&
           (ulp_unit_form_serves(work, true) ||
            ulp_unit_lay_panel(NULL, &work->layout, NULL) <= ULP_TUNE_UNIT_COLUMNS_BYTES / panels);
}

double ulp_unit_cost_of_lists(const struct ulp_unit_work *work)
{
    if (!serves(work))
        return INFINITY;
    const size_t panels = ulp_size_divide_up(work->columns.count, COLUMNS);
    const double k = (double)work->problem->k, pairs = (double)ulp_size_divide_up(panels, 2),
                 decoded = ulp_unit_form_serves(work, true) ? 0 : 10 * k,
                 listed = work->instance->list ? 0.7 : 6,
                 product = 16.0 / work->layout.unit.block + 4 * measure_density(&work->rows.pack);
    return (double)panels * (200 + decoded) +
           (double)work->rows.count *
               (listed * k + 0.4 * (double)work->columns.count + pairs * (20 + product * k));
}
