/* Contractions on a matrix unit by panels: columns are cut into panels of 32 lines that are decoded
 * once for a group of batches; rows are cut into chunks that a thread decodes for itself. An item
 * of work is a chunk and some of the panels. */
#include "base/memory/alloc.h"
#include "base/error.h"
#include "kernels/unit/work.h"
#include "base/tuning.h"

enum { COLUMNS = ULP_UNIT_COLUMNS };

/* Everything the workers share. */
struct panels {
    const struct ulp_unit_work *work;
    size_t chunk_rows, chunk_count; /* rows of a chunk, chunks of a batch */
    size_t panel_count, panel_bytes;
    char *memory; /* of this group's panels */
    size_t worker_bytes;
    char *scratch; /* worker_bytes for each worker */
    /* this group: batches, and panels of each, */
    size_t batch_first, batch_count, panel_first, held;
    size_t parts; /* cut into so many parts */
};

/* A worker's memory. */
struct scratch {
    struct ulp_unit_rows rows;
    struct ulp_unit_sums sums;
    float *lines; /* of one panel before decoding */
};

static size_t lay_scratch(struct scratch *scratch, const struct panels *panels, char *memory)
{
    struct scratch ignored;
    struct scratch *const s = scratch ? scratch : &ignored;
    const size_t rows =
        ulp_unit_lay_rows(&s->rows, &panels->work->layout, panels->chunk_rows, memory);
    const size_t sums =
        ulp_unit_lay_sums(&s->sums, panels->chunk_rows * COLUMNS, memory ? memory + rows : NULL);
    if (memory)
        s->lines = (float *)(void *)(memory + rows + sums);
    return rows + sums + ulp_unit_align(panels->work->problem->k * COLUMNS * sizeof(float));
}

ULP_WORK(decode_panels)
{
    const struct panels *panels = context;
    const struct ulp_unit_work *work = panels->work;
    struct scratch scratch;
    lay_scratch(&scratch, panels, panels->scratch + (size_t)worker * panels->worker_bytes);
    for (size_t i = first; i < last; i++) {
        struct ulp_unit_panel panel;
        ulp_unit_lay_panel(&panel, &work->layout, panels->memory + i * panels->panel_bytes);
        const size_t line = (panels->panel_first + i % panels->held) * COLUMNS,
                     left = work->columns.count - line;
        const struct ulp_pack_range range = {.batch = panels->batch_first + i / panels->held,
                                             .line = line,
                                             .line_count = left < COLUMNS ? left : COLUMNS,
                                             .k_count = work->problem->k};
        ulp_unit_decode_panel(work->instance, &panel, &work->layout, &work->columns.pack, range,
                              work->special_rows, scratch.lines);
    }
    return ULP_OK;
}

ULP_WORK(contract_chunks)
{
    const struct panels *panels = context;
    const struct ulp_unit_work *work = panels->work;
    struct scratch scratch;
    lay_scratch(&scratch, panels, panels->scratch + (size_t)worker * panels->worker_bytes);
    for (size_t item = first; item < last; item++) {
        const size_t chunk = item / panels->parts, part = item % panels->parts;
        const size_t group_batch = chunk / panels->chunk_count,
                     batch = panels->batch_first + group_batch;
        const size_t row = chunk % panels->chunk_count * panels->chunk_rows,
                     left = work->rows.count - row;
        const struct ulp_pack_range range = {.batch = batch,
                                             .line = row,
                                             .line_count = left < panels->chunk_rows
                                                               ? left
                                                               : panels->chunk_rows,
                                             .k_count = work->problem->k};
        if (item == first || part == 0)
            ulp_unit_decode_rows(work->instance, &scratch.rows, &work->layout, &work->rows.pack,
                                 range, work->padding, scratch.lines);
        for (size_t i = part * panels->held / panels->parts;
             i < (part + 1) * panels->held / panels->parts; i++) {
            const size_t held = work->shared ? i : group_batch * panels->held + i;
            struct ulp_unit_tile tile = {.layout = &work->layout,
                                         .rows = scratch.rows,
                                         .row_count = range.line_count};
            ulp_unit_lay_panel(&tile.panel, &work->layout,
                               panels->memory + held * panels->panel_bytes);
            const size_t column = (panels->panel_first + i) * COLUMNS,
                         columns_left = work->columns.count - column,
                         count = columns_left < COLUMNS ? columns_left : COLUMNS;
            if (work->problem->onto)
                ulp_unit_load_panel(work, scratch.sums.total, batch, row, range.line_count, column,
                                    count);
            ulp_unit_sum(work, &scratch.sums, &tile);
            ulp_unit_store_panel(work, scratch.sums.total, batch, row, range.line_count, column,
                                 count);
        }
    }
    return ULP_OK;
}

/* Rows of a chunk, when so many rows or batches of them are to keep the threads busy; at least
 * 1. */
static size_t count_rows(const struct ulp_unit_work *work, size_t thread_count)
{
    const size_t row_bytes = (sizeof(float) + sizeof(int16_t)) * (work->layout.slot_stride + 1);
    const size_t total = work->rows.count * work->problem->batch_count;
    const size_t fair = (total + 4 * thread_count - 1) / (4 * thread_count);
    size_t rows = ULP_TUNE_UNIT_ROWS_BYTES / row_bytes;
    rows = rows < 4 ? 4 : rows > ULP_TUNE_UNIT_ROWS_MAX ? ULP_TUNE_UNIT_ROWS_MAX : rows;
    rows = rows > fair ? fair : rows;
    rows = rows > work->rows.count ? work->rows.count : rows;
    return rows > 0 ? rows : 1;
}

static size_t count_parts(const struct panels *panels, const struct ulp_pool *pool)
{
    const size_t wanted = ULP_TUNE_UNIT_ITEMS_PER_THREAD * (size_t)ulp_pool_thread_count(pool),
                 chunks = panels->batch_count * panels->chunk_count;
    const size_t parts = (wanted + chunks - 1) / chunks,
                 most = panels->held / ULP_TUNE_UNIT_ITEM_PANELS_MIN;
    return parts < most ? parts : most > 0 ? most : 1;
}

/* One group: batches with all their panels, or a part of one batch's panels. */
static enum ulp_status contract_group(struct panels *panels, struct ulp_pool *pool,
                                      struct ulp_error *error)
{
    const size_t decoded = (panels->work->shared ? 1 : panels->batch_count) * panels->held;
    panels->parts = count_parts(panels, pool);
    const size_t items = panels->batch_count * panels->chunk_count * panels->parts;
    /* Nanoseconds, roughly: one to decode an element, a tenth for a product. */
    const double panel = (double)panels->work->problem->k * COLUMNS + 1;
    const double item =
        panel * (double)(panels->held * panels->chunk_rows) / 10 / (double)panels->parts;
    ULP_TRY(ulp_parallel_for(pool, decoded, ulp_grain(panel), decode_panels, panels, error));
    return ulp_parallel_for(pool, items, ulp_grain(item), contract_chunks, panels, error);
}

static enum ulp_status contract_groups(struct panels *panels, size_t panels_max,
                                       struct ulp_pool *pool, struct ulp_error *error)
{
    const size_t total = panels->work->problem->batch_count;
    const size_t whole = ULP_TUNE_UNIT_GROUP_BYTES / panels->panel_bytes / panels->panel_count;
    const size_t batches_max = panels->work->shared ? total : whole > 0 ? whole : 1;
    for (size_t batch = 0; batch < total; batch += batches_max)
        for (size_t panel = 0; panel < panels->panel_count; panel += panels_max) {
            const size_t left = panels->panel_count - panel;
            panels->batch_first = batch;
            panels->batch_count = total - batch < batches_max ? total - batch : batches_max;
            panels->panel_first = panel;
            panels->held = left < panels_max ? left : panels_max;
            ULP_TRY(contract_group(panels, pool, error));
        }
    return ULP_OK;
}

enum ulp_status ulp_unit_run_panels(const struct ulp_unit_work *work, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    const struct ulp_contraction *p = work->problem;
    const size_t threads = (size_t)ulp_pool_thread_count(pool);
    struct panels panels = {.work = work,
                            .chunk_rows = count_rows(work, threads),
                            .panel_count = (work->columns.count + COLUMNS - 1) / COLUMNS,
                            .panel_bytes = ulp_unit_lay_panel(NULL, &work->layout, NULL)};
    panels.chunk_count = (work->rows.count + panels.chunk_rows - 1) / panels.chunk_rows;
    panels.worker_bytes = ulp_unit_align(lay_scratch(NULL, &panels, NULL));
    size_t all_panels = 0, panels_max = ULP_TUNE_UNIT_COLUMNS_BYTES / panels.panel_bytes;
    if (!ulp_size_mul(panels.panel_count, p->batch_count, &all_panels))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a contraction of %zu x %zu products is too large",
                        p->m, p->n);
    panels_max = panels_max < 1 ? 1 : panels_max > all_panels ? all_panels : panels_max;
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    ULP_SCOPED(ulp_free_of) char *memory = NULL;
    ULP_SCOPED(ulp_free_of) char *scratch = NULL;
    ULP_TRY(
        ulp_allocate(&memory, panels_max, panels.panel_bytes, budget, "decoded columns", error));
    ULP_TRY(ulp_allocate(&scratch, threads, panels.worker_bytes, budget, "decoded rows", error));
    panels.memory = memory;
    panels.scratch = scratch;
    return contract_groups(&panels, panels_max, pool, error);
}
