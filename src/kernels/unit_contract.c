/* Contractions on a matrix unit. Columns are cut into panels of 32 lines that are decoded once for a group of batches;
 * rows are cut into chunks, the items of work, that a thread decodes for itself. Either factor may give the rows:
 * products commute. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/cpu.h"
#include "kernels/output.h"
#include "kernels/unit_fast.h"
#include "number/round.h"

enum {
    COLUMNS = ULP_UNIT_COLUMNS,
    SLOT_BYTES = sizeof(float) + sizeof(int32_t), /* of a row's planes; a panel's are smaller */
    ROWS_MAX = 64,
    ROWS_BYTES = 512 << 10,   /* a chunk of rows stays in L2 */
    PANELS_BYTES = 16 << 20,  /* panels of a batch held at a time, unless one alone is larger */
    GROUP_BYTES = 1 << 20,    /* and of several batches together */
    TILE_SLOTS = 128,         /* of a panel used at a time: 24 KB, in L1 */
};

size_t ulp_unit_slice_length(const struct ulp_unit *unit, size_t k, int split)
{
    size_t count = split > 1 ? (size_t)split : 1, block = (size_t)unit->block;
    if (k % count == 0)
        return k / count;
    size_t length = k / count + 1;
    return (length + block - 1) / block * block;
}

/* Is the sum of slices rounded to FP16 as it grows? Measured on the H200 (cutlass h16816gemm and h161616gemm). */
static bool adds_slices_in_half(const struct ulp_unit *unit, const struct ulp_schedule *schedule)
{
    return unit->output == ULP_UNIT_RNE_FP16 && schedule->promote <= 0;
}

float ulp_unit_schedule(const struct ulp_unit *unit, const struct ulp_schedule *schedule, const double *a,
                        const double *b, size_t k)
{
    struct ulp_format fp16;
    ulp_format_find("fp16", &fp16, NULL);
    size_t length = ulp_unit_slice_length(unit, k, schedule->split_k);
    float total = 0;
    for (size_t first = 0; first < k; first += length) {
        size_t last = k - first < length ? k : first + length;
        size_t interval = schedule->promote > 0 ? (size_t)schedule->promote : length;
        float sum = 0;
        for (size_t start = first; start < last; start += interval) {
            size_t count = last - start < interval ? last - start : interval;
            sum += (float)ulp_unit_chain(unit, a + start, b + start, NULL, NULL, count, 0);
        }
        total += sum;
        if (adds_slices_in_half(unit, schedule))
            total = (float)ulp_format_round(&fp16, ULP_ROUND_NEAREST_EVEN, total, 0, 0);
    }
    return total;
}

/* The side that gives rows, and the side that gives columns. */
struct side {
    struct ulp_pack pack;
    size_t count; /* lines of a batch */
    const int64_t *out_offset;
};

struct work {
    const struct ulp_arithmetic *arithmetic;
    const struct ulp_contraction *problem;
    struct ulp_output output;
    struct ulp_unit_layout layout;
    const struct ulp_unit_instance *instance;
    struct side rows, columns;
    bool padding; /* may meet NaN or Inf */
    bool shared;  /* every batch has the same columns */
    size_t chunk_rows, chunk_count; /* rows of an item, items of a batch */
    size_t panel_count, panel_bytes;
    char *panels;  /* of this group */
    size_t worker_bytes;
    char *scratch; /* worker_bytes for each worker */
    size_t batch_first, batch_count, panel_first, panels_held; /* this group: batches, and panels of each */
};

static size_t align64(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Cut memory into the parts of one panel; NULL memory: only the size. */
static size_t lay_panel(struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout, char *memory)
{
    const size_t value = align64(layout->slot_count * COLUMNS * sizeof *panel->value);
    const size_t exponent = align64(layout->slot_count * COLUMNS * sizeof *panel->exponent);
    const size_t special = align64(layout->block_count + 1); /* never 0, also when k is */
    if (memory) {
        panel->value = (float *)(void *)memory;
        panel->exponent = (int16_t *)(void *)(memory + value);
        panel->special = (uint8_t *)(memory + value + exponent);
        panel->kinds = (uint32_t *)(void *)(memory + value + exponent + special);
    }
    return value + exponent + special + align64(ULP_UNIT_SET_COUNT * layout->slot_count * sizeof *panel->kinds);
}

/* A worker's memory. */
struct scratch {
    struct ulp_unit_rows rows;
    float *lines; /* of one panel before decoding */
    float *c, *chain, *sum, *total; /* [chunk_rows][COLUMNS] */
};

static size_t lay_scratch(struct scratch *scratch, const struct work *work, char *memory)
{
    const struct ulp_unit_layout *layout = &work->layout;
    const size_t plane = align64(work->chunk_rows * layout->slot_stride * sizeof(float));
    const size_t special = align64(work->chunk_rows * layout->block_count);
    const size_t lines = align64(work->problem->k * COLUMNS * sizeof(float));
    const size_t tile = work->chunk_rows * COLUMNS * sizeof(float);
    if (memory) {
        scratch->rows.value = (float *)(void *)memory;
        scratch->rows.exponent = (int32_t *)(void *)(memory + plane);
        scratch->rows.special = (uint8_t *)(memory + 2 * plane);
        scratch->lines = (float *)(void *)(memory + 2 * plane + special);
        float *tiles = (float *)(void *)(memory + 2 * plane + special + lines);
        scratch->c = tiles;
        scratch->chain = tiles + work->chunk_rows * COLUMNS;
        scratch->sum = scratch->chain + work->chunk_rows * COLUMNS;
        scratch->total = scratch->sum + work->chunk_rows * COLUMNS;
    }
    return 2 * plane + special + lines + 4 * tile;
}

static enum ulp_status decode_panels(void *context, size_t first, size_t last, int worker, struct ulp_error *error)
{
    (void)error;
    const struct work *work = context;
    struct scratch scratch;
    lay_scratch(&scratch, work, work->scratch + (size_t)worker * work->worker_bytes);
    for (size_t i = first; i < last; i++) {
        struct ulp_unit_panel panel;
        lay_panel(&panel, &work->layout, work->panels + i * work->panel_bytes);
        const size_t line = (work->panel_first + i % work->panels_held) * COLUMNS, left = work->columns.count - line;
        const struct ulp_pack_range range = {.batch = work->batch_first + i / work->panels_held,
                                             .line = line,
                                             .line_count = left < COLUMNS ? left : COLUMNS,
                                             .k_count = work->problem->k};
        ulp_unit_decode_panel(work->instance, &panel, &work->layout, &work->columns.pack, range, work->padding,
                              scratch.lines);
    }
    return ULP_OK;
}

/* target += source in FP32, rounded to a narrower format if one is given; source = 0. */
static void add_tile(float *restrict target, float *restrict source, size_t count, const struct ulp_format *round)
{
    for (size_t i = 0; i < count; i++) {
        target[i] += source[i];
        source[i] = 0;
    }
    if (round)
        ulp_round_floats(round, ULP_ROUND_NEAREST_EVEN, target, count, 0, 0, 0);
}

/* scratch->total = the sums of row_count rows and one panel. */
static void sum_tile(const struct work *work, const struct scratch *scratch, const struct ulp_unit_panel *panel,
                     size_t row_count)
{
    const struct ulp_unit_layout *layout = &work->layout;
    const size_t count = row_count * COLUMNS;
    float *const chain = layout->halves ? scratch->chain : scratch->c;
    const struct ulp_format *accumulator =
        layout->unit.output == ULP_UNIT_RNE_FP16 ? &work->arithmetic->accumulator : NULL;
    const bool half = adds_slices_in_half(&layout->unit, &work->arithmetic->schedule);
    struct ulp_unit_tile tile = {
        .layout = layout, .rows = scratch->rows, .panel = *panel, .row_count = row_count, .c = chain};
    memset(scratch->c, 0, count * sizeof(float));
    memset(scratch->chain, 0, count * sizeof(float));
    memset(scratch->sum, 0, count * sizeof(float));
    memset(scratch->total, 0, count * sizeof(float));
    while (tile.block_first < layout->block_count) {
        tile.block_last = tile.block_first;
        while (!layout->block_end[tile.block_last++] && tile.block_last < layout->block_count &&
               (tile.block_last - tile.block_first) * (size_t)layout->unit.block < TILE_SLOTS)
            continue;
        work->instance->run(&tile);
        const unsigned end = layout->block_end[tile.block_last - 1];
        if (end & ULP_UNIT_ENDS_INSTRUCTION)
            add_tile(scratch->c, scratch->chain, count, accumulator);
        if (end & ULP_UNIT_ENDS_CHAIN)
            add_tile(scratch->sum, scratch->c, count, NULL);
        if (end & ULP_UNIT_ENDS_SLICE)
            add_tile(scratch->total, scratch->sum, count, half ? accumulator : NULL);
        tile.block_first = tile.block_last;
    }
}

/* Stochastic rounding numbers outputs along b's lines, which are the columns then. */
static void store_tile(const struct work *work, const float *total, size_t batch, size_t row, size_t row_count,
                       size_t column, size_t column_count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base = p->out_batch_offset ? p->out_batch_offset[batch] : 0;
    struct ulp_draw draw = {.first = (batch * p->m + row) * p->n + column, .number = p->k * ULP_DRAWS + ULP_DRAW_STORE};
    for (size_t i = 0; i < row_count; i++, draw.first += p->n)
        ulp_output_strip(&work->output, base + work->rows.out_offset[row + i], work->columns.out_offset + column,
                         total + i * COLUMNS, column_count, draw);
}

static enum ulp_status contract_chunks(void *context, size_t first, size_t last, int worker, struct ulp_error *error)
{
    (void)error;
    const struct work *work = context;
    struct scratch scratch;
    lay_scratch(&scratch, work, work->scratch + (size_t)worker * work->worker_bytes);
    for (size_t item = first; item < last; item++) {
        const size_t group_batch = item / work->chunk_count, batch = work->batch_first + group_batch;
        const size_t row = item % work->chunk_count * work->chunk_rows, left = work->rows.count - row;
        const struct ulp_pack_range range = {.batch = batch,
                                             .line = row,
                                             .line_count = left < work->chunk_rows ? left : work->chunk_rows,
                                             .k_count = work->problem->k};
        ulp_unit_decode_rows(work->instance, &scratch.rows, &work->layout, &work->rows.pack, range, work->padding,
                             scratch.lines);
        for (size_t i = 0; i < work->panels_held; i++) {
            struct ulp_unit_panel panel;
            const size_t held = work->shared ? i : group_batch * work->panels_held + i;
            lay_panel(&panel, &work->layout, work->panels + held * work->panel_bytes);
            sum_tile(work, &scratch, &panel, range.line_count);
            const size_t column = (work->panel_first + i) * COLUMNS, columns_left = work->columns.count - column;
            store_tile(work, scratch.total, batch, row, range.line_count, column,
                       columns_left < COLUMNS ? columns_left : COLUMNS);
        }
    }
    return ULP_OK;
}

/* One group: batches with all their panels, or a part of one batch's panels. */
static enum ulp_status contract_group(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    const size_t decoded = (work->shared ? 1 : work->batch_count) * work->panels_held;
    /* Roughly a nanosecond to decode an element, half a one for a product. */
    const double panel = (double)work->problem->k * COLUMNS + 1, chunk = panel * (double)(work->panels_held * work->chunk_rows) / 2;
    enum ulp_status status = ulp_parallel_for(pool, decoded, ulp_grain(panel), decode_panels, work, error);
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, work->batch_count * work->chunk_count, ulp_grain(chunk), contract_chunks, work, error);
    return status;
}

static enum ulp_status contract_groups(struct work *work, size_t panels_max, struct ulp_pool *pool,
                                       struct ulp_error *error)
{
    const size_t total = work->problem->batch_count, whole = GROUP_BYTES / work->panel_bytes / work->panel_count;
    const size_t batches_max = work->shared ? total : whole > 0 ? whole : 1;
    enum ulp_status status = ULP_OK;
    for (size_t batch = 0; batch < total && status == ULP_OK; batch += batches_max)
        for (size_t panel = 0; panel < work->panel_count && status == ULP_OK; panel += panels_max) {
            work->batch_first = batch;
            work->batch_count = total - batch < batches_max ? total - batch : batches_max;
            work->panel_first = panel;
            work->panels_held = work->panel_count - panel < panels_max ? work->panel_count - panel : panels_max;
            status = contract_group(work, pool, error);
        }
    return status;
}

/* Rows cost as they are, columns are padded to whole panels: choose which factor gives which. */
static void choose_sides(struct work *work)
{
    const struct ulp_contraction *p = work->problem;
    const struct side a = {ulp_pack_make(work->arithmetic, p, 0), p->m, p->out_row_offset};
    const struct side b = {ulp_pack_make(work->arithmetic, p, 1), p->n, p->out_column_offset};
    const size_t a_panels = (p->m + COLUMNS - 1) / COLUMNS, b_panels = (p->n + COLUMNS - 1) / COLUMNS;
    const bool swapped = work->arithmetic->rounding != ULP_ROUND_STOCHASTIC &&
                         (double)a_panels * (double)p->n < (double)b_panels * (double)p->m;
    const int64_t *column_batches = swapped ? p->a.batch_offset : p->b.batch_offset;
    work->shared = true;
    for (size_t g = 1; column_batches && g < p->batch_count; g++)
        work->shared &= column_batches[g] == column_batches[0];
    work->rows = swapped ? b : a;
    work->columns = swapped ? a : b;
    work->panel_count = swapped ? a_panels : b_panels;
    work->padding = ulp_pack_meets_padding(&a.pack, &b.pack);
}

static enum ulp_status contract(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_contraction *p = work->problem;
    const size_t threads = (size_t)ulp_pool_thread_count(pool);
    choose_sides(work);
    size_t rows = ROWS_BYTES / SLOT_BYTES / (work->layout.slot_stride + 1);
    const size_t fair = (work->rows.count * p->batch_count + 4 * threads - 1) / (4 * threads);
    rows = rows < 4 ? 4 : rows > ROWS_MAX ? ROWS_MAX : rows;
    rows = rows > fair ? fair : rows;
    work->chunk_rows = rows > 0 ? rows : 1;
    work->chunk_count = (work->rows.count + work->chunk_rows - 1) / work->chunk_rows;
    work->panel_bytes = lay_panel(NULL, &work->layout, NULL);
    work->worker_bytes = align64(lay_scratch(NULL, work, NULL));
    size_t all_panels = 0, panels_max = PANELS_BYTES / work->panel_bytes;
    if (!ulp_size_mul(work->panel_count, p->batch_count, &all_panels))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a contraction of %zu x %zu products is too large", p->m, p->n);
    panels_max = panels_max < 1 ? 1 : panels_max > all_panels ? all_panels : panels_max;
    void *panels = NULL, *scratch = NULL;
    enum ulp_status status = ulp_allocate(&panels, panels_max, work->panel_bytes, NULL, "decoded columns", error);
    if (status == ULP_OK)
        status = ulp_allocate(&scratch, threads, work->worker_bytes, NULL, "decoded rows", error);
    work->panels = panels;
    work->scratch = scratch;
    if (status == ULP_OK)
        status = contract_groups(work, panels_max, pool, error);
    ulp_free(panels);
    ulp_free(scratch);
    return status;
}

static enum ulp_status make_output(struct work *work, struct ulp_error *error)
{
    const struct ulp_schedule *schedule = &work->arithmetic->schedule;
    struct ulp_format sum = work->arithmetic->accumulator;
    if (schedule->promote > 0) /* its sums are FP32 whatever the accumulator is */
        ulp_format_find("fp32", &sum, NULL);
    return ulp_output_make(&work->output, work->arithmetic, work->problem, &sum, ULP_ELEMENT_F32, error);
}

enum ulp_status ulp_unit_contract(unsigned cpu, const struct ulp_unit *unit, const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool, struct ulp_error *error)
{
    if (unit->kind != ULP_UNIT_TRUNCATED && unit->kind != ULP_UNIT_HALVES)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "arithmetic %s: contractions do not run on the unit %s.%s.%s.%s",
                        arithmetic->name, unit->gpu, unit->unit_class, unit->input, unit->accumulator);
    if (problem->batch_count == 0 || problem->m == 0 || problem->n == 0)
        return ULP_OK;
    struct work work = {.arithmetic = arithmetic, .problem = problem, .instance = ulp_unit_choose(cpu)};
    enum ulp_status status = make_output(&work, error);
    if (status == ULP_OK)
        status = ulp_unit_layout_create(&work.layout, unit, &arithmetic->schedule, problem->k, error);
    if (status == ULP_OK)
        status = contract(&work, pool, error);
    ulp_unit_layout_free(&work.layout);
    return status;
}

enum ulp_status ulp_contract_unit(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_unit *unit = ulp_unit_of(arithmetic, error);
    return unit ? ulp_unit_contract(ulp_cpu_features(), unit, arithmetic, problem, pool, error) : ULP_ERROR_UNSUPPORTED;
}
