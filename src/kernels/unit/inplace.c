/* Contractions on a matrix unit without packing columns: convolutions, and few rows by a matrix. A
 * batch's part of the tensor is decoded once into planes, from which every k reads its columns
 * where they lie (see unit/column_map.h); panels would decode an element once for every k that uses
 * it. Items that meet NaN or Inf take panels after all. */
#include <string.h>

#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "kernels/unit/work.h"
#include "number/round/round.h"
#include "base/tuning.h"

enum {
    COLUMNS = ULP_UNIT_COLUMNS,
    PLACES_MAX = 16, /* summed at a time */
};

/* Everything the workers share. */
struct inplace {
    const struct ulp_unit_work *work;
    const struct ulp_unit_column_map *map;
    size_t parts;                                          /* of one plane */
    size_t item_rows, item_places, row_items, place_items; /* of an item; items of a batch */
    size_t places_max;                                     /* of one tile */
    size_t plane_total;                                    /* elements of a batch's planes */
    float *value;                                          /* of this group's planes */
    int16_t *exponent;
    uint8_t *special; /* [batch][plane][part]: was there NaN or Inf? */
    uint8_t *nothing; /* [block] zeros: no block of these columns is special */
    size_t worker_bytes;
    char *scratch;
    size_t batch_first, batch_count; /* this group */
};

/* A worker's memory. */
struct scratch {
    struct ulp_unit_rows rows;
    struct ulp_unit_sums sums;
    struct ulp_unit_panel panel; /* when something is special */
    /* of a panel before decoding; sums of one row without the lanes between columns */
    float *lines, *line;
};

static size_t lay_scratch(struct scratch *scratch, const struct inplace *inplace, char *memory)
{
    struct scratch ignored;
    struct scratch *const s = scratch ? scratch : &ignored;
    const struct ulp_unit_layout *layout = &inplace->work->layout;
    size_t bytes = ulp_unit_lay_rows(&s->rows, layout, inplace->item_rows, memory);
    bytes += ulp_unit_lay_sums(&s->sums, inplace->item_rows * inplace->places_max * COLUMNS,
                               memory ? memory + bytes : NULL);
    bytes += ulp_unit_lay_panel(&s->panel, layout, memory ? memory + bytes : NULL);
    if (memory) {
        s->line = (float *)(void *)(memory + bytes);
        s->lines = s->line + (PLACES_MAX + 1) * COLUMNS;
    }
    return bytes +
           ((PLACES_MAX + 1) * COLUMNS + ulp_unit_align(inplace->work->problem->k * COLUMNS)) *
               sizeof(float);
}

/* x = elements 0, step, ... of `source`. */
static inline __attribute__((always_inline)) void gather_step(float *restrict x,
                                                              const float *restrict source,
                                                              size_t step, size_t count)
{
    if (step == 2)
        for (size_t i = 0; i < count; i++)
            x[i] = source[2 * i];
    else
        for (size_t i = 0; i < count; i++)
            x[i] = source[step * i];
}

#if ULP_X86_VECTORS
__attribute__((target("avx2"))) static void gather_avx2(float *x, const float *source, size_t step,
                                                        size_t count)
{
    gather_step(x, source, step, count);
}
#endif

/* x = elements start, start + step, ... of `source`, zeros from `extent` on. */
static void gather_part(const struct inplace *inplace, float *x, const float *source, size_t start,
                        size_t count)
{
    const size_t step = (size_t)inplace->map->step, extent = inplace->map->extent;
    size_t there = start < extent ? (extent - start + step - 1) / step : 0;
    there = there < count ? there : count;
    if (step == 1 && there > 0)
        memcpy(x, source + start, there * sizeof *x);
#if ULP_X86_VECTORS
    else if (inplace->work->instance != &ulp_unit_c)
        gather_avx2(x, source + start, step, there);
#endif
    else
        gather_step(x, source + start, step, there);
    memset(x + there, 0, (count - there) * sizeof *x);
}

/* The exponents of elements from source[start] on, start < extent; nothing is read beyond the
 * extent. */
static bool find_exponents(const struct inplace *inplace, int16_t *exponent, const float *source,
                           size_t start, size_t count)
{
    const struct ulp_unit_work *work = inplace->work;
    const int emin = ulp_unit_input(&work->layout.unit, work->columns.pack.side)->emin;
    const size_t extent = inplace->map->extent,
                 there = extent - start < count ? extent - start : count;
    const size_t whole = there - there % COLUMNS;
    bool finite = work->instance->find_exponents(exponent, source + start, whole, emin);
    float rest[COLUMNS] = {0};
    memcpy(rest, source + start + whole, (there - whole) * sizeof *rest);
    for (size_t i = whole; i < count; i += COLUMNS) {
        finite &= work->instance->find_exponents(exponent + i, rest, COLUMNS, emin);
        memset(rest, 0, sizeof rest);
    }
    return finite;
}

/* Exponents that the factor has: of elements start, start + step, ... */
static void take_exponents(const struct inplace *inplace, int16_t *exponent, const int16_t *source,
                           size_t start, size_t count)
{
    const size_t step = (size_t)inplace->map->step, extent = inplace->map->extent;
    for (size_t i = 0; i < count && start + i * step < extent; i++)
        exponent[i] = source[start + i * step];
}

static size_t first_element(const struct inplace *inplace, size_t batch)
{
    const int64_t *offset = inplace->work->columns.pack.factor->batch_offset;
    return (size_t)((offset ? offset[batch] : 0) + inplace->map->first);
}

/* Is a batch's part of the tensor its value plane? */
static bool reads_tensor(const struct inplace *inplace)
{
    const struct ulp_unit_column_map *map = inplace->map;
    const struct ulp_pack *pack = &inplace->work->columns.pack;
    return map->step == 1 && map->inside && !pack->round;
}

ULP_WORK(decode_parts)
{
    const struct inplace *inplace = context;
    const struct ulp_unit_work *work = inplace->work;
    const struct ulp_unit_column_map *map = inplace->map;
    const struct ulp_pack *pack = &work->columns.pack;
    const int emin = ulp_unit_input(&work->layout.unit, pack->side)->emin;
    const size_t step = (size_t)map->step;
    for (size_t item = first; item < last; item++) {
        const size_t part = item % inplace->parts * ULP_TUNE_UNIT_DECODED,
                     plane = item / inplace->parts % step;
        const size_t group_batch = item / inplace->parts / step,
                     batch = inplace->batch_first + group_batch;
        const size_t left = map->plane_length - part,
                     count = left < ULP_TUNE_UNIT_DECODED ? left : ULP_TUNE_UNIT_DECODED;
        const size_t place = group_batch * inplace->plane_total + plane * map->plane_length + part;
        const size_t offset = first_element(inplace, batch);
        const float *source = (const float *)pack->factor->tensor->data + offset;
        float *const value = inplace->value + place;
        bool finite;
        if (reads_tensor(inplace)) {
            finite = find_exponents(inplace, inplace->exponent + place, source, part, count);
        } else {
            gather_part(inplace, value, source, part * step + plane, count);
            if (pack->round)
                ulp_round_floats(&pack->format, pack->rounding, value, count, 0, 0, 0);
            finite = work->instance->find_exponents(inplace->exponent + place, value, count, emin);
        }
        if (pack->factor->exponent)
            take_exponents(inplace, inplace->exponent + place, pack->factor->exponent + offset,
                           part * step + plane, count);
        inplace->special[item] = !finite;
    }
    return ULP_OK;
}

static float *find_values(const struct inplace *inplace, size_t group_batch)
{
    const size_t batch = inplace->batch_first + group_batch;
    return reads_tensor(inplace) ? (float *)inplace->work->columns.pack.factor->tensor->data +
                                       first_element(inplace, batch)
                                 : inplace->value + group_batch * inplace->plane_total;
}

/* Is there NaN or Inf in the columns of a batch of the group, or in the rows? */
static bool is_special(const struct inplace *inplace, size_t group_batch,
                       const struct ulp_unit_rows *rows, size_t row_count)
{
    const size_t parts = inplace->parts * (size_t)inplace->map->step;
    return memchr(inplace->special + group_batch * parts, 1, parts) ||
           memchr(rows->special, 1, row_count * inplace->work->layout.block_count);
}

/* Rows and places of an item, by panels. */
static void contract_by_panels(const struct inplace *inplace, const struct scratch *scratch,
                               struct ulp_unit_tile tile, size_t batch, size_t row,
                               size_t place_first, size_t place_last)
{
    const struct ulp_unit_work *work = inplace->work;
    const size_t last = inplace->map->column[place_last];
    tile.panel = scratch->panel;
    tile.slot_offset = work->layout.panel_offset;
    tile.place = &(const int64_t){0};
    tile.place_count = 1;
    for (size_t column = inplace->map->column[place_first]; column < last; column += COLUMNS) {
        const struct ulp_pack_range range = {.batch = batch,
                                             .line = column,
                                             .line_count =
                                                 last - column < COLUMNS ? last - column : COLUMNS,
                                             .k_count = work->problem->k};
        ulp_unit_decode_panel(work->instance, &tile.panel, &work->layout, &work->columns.pack,
                              range, true, scratch->lines);
        ulp_unit_sum(work, &scratch->sums, &tile);
        ulp_unit_store_panel(work, scratch->sums.total, batch, row, tile.row_count, column,
                             range.line_count);
    }
}

/* line = a row's sums of `place_count` places, without the lanes between columns. Copies whole
 * vectors: what is too much is written over by the next run, or lies beyond the last. */
static inline __attribute__((always_inline)) void compress_runs(
    float *restrict line, const struct ulp_unit_column_map *map, size_t place_first,
    size_t place_count, const float *restrict total)
{
    enum { VECTOR = 16 };
    for (size_t i = 0; i < place_count; i++, total += COLUMNS)
        for (size_t r = map->run_first[place_first + i]; r < map->run_first[place_first + i + 1];
             r++) {
            const struct ulp_unit_run run = map->runs[r];
            for (size_t lane = 0; lane < run.count; lane += VECTOR)
                for (size_t j = lane; j < lane + VECTOR; j++)
                    line[j] = total[run.lane + j];
            line += run.count;
        }
}

#if ULP_X86_VECTORS
__attribute__((target("avx2"))) static void compress_avx2(float *line,
                                                          const struct ulp_unit_column_map *map,
                                                          size_t place_first, size_t place_count,
                                                          const float *total)
{
    compress_runs(line, map, place_first, place_count, total);
}
#endif

static void compress_lanes(const struct inplace *inplace, float *line, size_t place_first,
                           size_t place_count, const float *total)
{
#if ULP_X86_VECTORS
    if (inplace->work->instance != &ulp_unit_c) {
        compress_avx2(line, inplace->map, place_first, place_count, total);
        return;
    }
#endif
    compress_runs(line, inplace->map, place_first, place_count, total);
}

/* The sums of the rows and of tile->place_count places from place_first on, to their places in the
 * output. */
static void store_places(const struct inplace *inplace, const struct scratch *scratch,
                         const struct ulp_unit_tile *tile, size_t batch, size_t row,
                         size_t place_first)
{
    const struct ulp_unit_work *work = inplace->work;
    const struct ulp_unit_column_map *map = inplace->map;
    const int64_t base =
        work->problem->out_batch_offset ? work->problem->out_batch_offset[batch] : 0;
    const size_t column = map->column[place_first],
                 count = map->column[place_first + tile->place_count] - column;
    const int64_t *out = work->columns.out_offset + column;
    for (size_t i = 0; i < tile->row_count; i++) {
        const int64_t line = base + work->rows.out_offset[row + i];
        compress_lanes(inplace, scratch->line, place_first, tile->place_count,
                       scratch->sums.total + i * tile->place_count * COLUMNS);
        if (work->out_is_run)
            ulp_output_run(&work->output, line + out[0], scratch->line, count);
        for (size_t j = 0; j < count && !work->out_is_run; j += 64)
            ulp_output_strip(&work->output, line, out + j, scratch->line + j,
                             count - j < 64 ? count - j : 64, (struct ulp_draw){0});
    }
}

ULP_WORK(contract_items)
{
    const struct inplace *inplace = context;
    const struct ulp_unit_work *work = inplace->work;
    const struct ulp_unit_column_map *map = inplace->map;
    struct scratch scratch;
    lay_scratch(&scratch, inplace, inplace->scratch + (size_t)worker * inplace->worker_bytes);
    for (size_t item = first; item < last; item++) {
        const size_t place = item % inplace->place_items * inplace->item_places;
        const size_t row = item / inplace->place_items % inplace->row_items * inplace->item_rows;
        const size_t group_batch = item / inplace->place_items / inplace->row_items;
        const size_t batch = inplace->batch_first + group_batch,
                     columns = work->shared ? 0 : group_batch;
        const size_t rows_left = work->rows.count - row, places_left = map->place_count - place;
        const size_t place_end =
            place + (places_left < inplace->item_places ? places_left : inplace->item_places);
        const struct ulp_pack_range range = {.batch = batch,
                                             .line = row,
                                             .line_count = rows_left < inplace->item_rows
                                                               ? rows_left
                                                               : inplace->item_rows,
                                             .k_count = work->problem->k};
        if (work->forms[0])
            scratch.rows = ulp_unit_form_rows(work, batch, row);
        else
            ulp_unit_decode_rows(work->instance, &scratch.rows, &work->layout, &work->rows.pack,
                                 range, work->padding, scratch.lines);
        struct ulp_unit_tile tile = {.layout = &work->layout,
                                     .rows = scratch.rows,
                                     .panel = {.value = find_values(inplace, columns),
                                               .exponent = inplace->exponent +
                                                           columns * inplace->plane_total,
                                               .special = inplace->nothing},
                                     .slot_offset = map->slot_offset,
                                     .row_count = range.line_count};
        if (is_special(inplace, columns, &scratch.rows, range.line_count)) {
            contract_by_panels(inplace, &scratch, tile, batch, row, place, place_end);
            continue;
        }
        for (size_t p = place; p < place_end; p += tile.place_count) {
            tile.place = map->place + p;
            tile.place_count =
                place_end - p < inplace->places_max ? place_end - p : inplace->places_max;
            ulp_unit_sum(work, &scratch.sums, &tile);
            store_places(inplace, &scratch, &tile, batch, row, p);
        }
    }
    return ULP_OK;
}

static enum ulp_status contract_groups(struct inplace *inplace, size_t batches_max,
                                       struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_unit_work *work = inplace->work;
    const size_t total = work->problem->batch_count, planes = (size_t)inplace->map->step;
    /* Nanoseconds, roughly: a tenth for an element to decode, and for a product. */
    const size_t lanes = inplace->item_rows * inplace->item_places * COLUMNS;
    const double item = (double)(work->problem->k + 10) * (double)lanes / 10;
    for (size_t batch = 0; batch < total; batch += inplace->batch_count) {
        inplace->batch_first = batch;
        inplace->batch_count =
            work->shared || total - batch < batches_max ? total - batch : batches_max;
        const size_t decoded = (work->shared ? 1 : inplace->batch_count) * planes * inplace->parts;
        const size_t items = inplace->batch_count * inplace->row_items * inplace->place_items;
        ULP_TRY(ulp_parallel_for(pool, decoded, ulp_grain(ULP_TUNE_UNIT_DECODED / 10), decode_parts,
                                 inplace, error));
        ULP_TRY(ulp_parallel_for(pool, items, ulp_grain(item), contract_items, inplace, error));
    }
    return ULP_OK;
}

/* Items: rows as panels would have them; places are divided only when there are too few other
 * items. */
static void plan_items(struct inplace *inplace, size_t threads)
{
    const struct ulp_unit_work *work = inplace->work;
    const size_t slots = work->layout.slot_count, places = inplace->map->place_count;
    inplace->item_rows = ulp_unit_item_rows(work, threads);
    inplace->row_items = (work->rows.count + inplace->item_rows - 1) / inplace->item_rows;
    const size_t others = inplace->row_items * work->problem->batch_count,
                 wanted = threads > 1 ? 4 * threads : 1;
    const size_t cuts = others >= wanted ? 1 : (wanted + others - 1) / others;
    inplace->item_places = (places + cuts - 1) / cuts;
    inplace->place_items = (places + inplace->item_places - 1) / inplace->item_places;
    size_t at_once = 2 * ULP_TUNE_UNIT_TILE_SLOTS / slots;
    at_once = at_once > PLACES_MAX ? PLACES_MAX : at_once > 0 ? at_once : 1;
    inplace->places_max = at_once < inplace->item_places ? at_once : inplace->item_places;
}

enum ulp_status ulp_unit_run_inplace(const struct ulp_unit_work *work,
                                     const struct ulp_unit_column_map *map, struct ulp_pool *pool,
                                     struct ulp_error *error)
{
    const size_t threads = (size_t)ulp_pool_thread_count(pool),
                 batch_total = work->problem->batch_count;
    struct inplace inplace = {.work = work,
                              .map = map,
                              .parts = (map->plane_length + ULP_TUNE_UNIT_DECODED - 1) /
                                       ULP_TUNE_UNIT_DECODED,
                              .plane_total = map->plane_length * (size_t)map->step};
    plan_items(&inplace, threads);
    inplace.worker_bytes = ulp_unit_align(lay_scratch(NULL, &inplace, NULL));
    const size_t plane_bytes = inplace.plane_total * (sizeof(float) + sizeof(int16_t));
    size_t batches = ULP_TUNE_UNIT_GROUP_BYTES / plane_bytes;
    batches = batches > batch_total ? batch_total : batches;
    batches = work->shared || batches == 0 ? 1 : batches;
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    ULP_SCOPED(ulp_free_of) void *value = NULL;
    ULP_SCOPED(ulp_free_of) void *exponent = NULL;
    ULP_SCOPED(ulp_free_of) void *special = NULL;
    ULP_SCOPED(ulp_free_of) void *nothing = NULL;
    ULP_SCOPED(ulp_free_of) void *scratch = NULL;
    ULP_TRY(ulp_allocate(&value, batches, inplace.plane_total * sizeof(float), budget,
                         "decoded columns", error));
    ULP_TRY(ulp_allocate(&exponent, batches, inplace.plane_total * sizeof(int16_t), budget,
                         "decoded columns", error));
    ULP_TRY(ulp_allocate(&special, batches, inplace.parts * (size_t)map->step, budget,
                         "decoded columns", error));
    ULP_TRY(
        ulp_allocate_zero(&nothing, work->layout.block_count, 1, budget, "decoded columns", error));
    ULP_TRY(ulp_allocate(&scratch, threads, inplace.worker_bytes, budget, "decoded rows", error));
    inplace.value = value;
    inplace.exponent = exponent;
    inplace.special = special;
    inplace.nothing = nothing;
    inplace.scratch = scratch;
    return contract_groups(&inplace, batches, pool, error);
}
