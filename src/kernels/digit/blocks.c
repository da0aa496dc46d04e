/* The digit method's loops. Threads share the work by batches when there are many: column panels
 * are packed first, a block of them at a time that bounds memory; row panels are packed as they are
 * needed, and each meets every column panel of the block. Threads that share a batch pack the side
 * with less together; each then packs for itself some panels of the other side, which its cache
 * holds, and they meet all that was packed. */
#include "kernels/digit/digit_form.h"

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/tuning.h"

/* Panels of one factor and their memory. */
struct panels {
    struct ulp_wide_panel *items;
    void *data, *half_sums, *sets;
    size_t count, width; /* panels allocated, lines of each */
};

/* Lines of b that are packed: they stay packed while the next batches use the same ones. */
struct columns {
    struct panels panels;
    const struct ulp_wide_panel *items; /* of these panels, or of the side's form */
    size_t first, count;
    int64_t batch_offset;
    bool valid;
};

struct worker {
    struct panels rows;
    /* the panels that are packed: they serve the next block of columns too */
    size_t rows_batch, rows_first, rows_count;
    struct columns columns; /* when each worker packs its own */
    struct ulp_wide_kulisch *kulisch;
    int64_t *sums; /* of ULP_TUNE_DIGIT_ROW_PANELS tiles */
};

struct run {
    const struct ulp_wide_plan *plan;
    const struct ulp_wide_call *call;
    struct worker *workers;
    size_t worker_count;
    struct ulp_budget *scratch;
    int halvings;   /* of what blocks of panels may take: memory is short */
    bool divisible; /* some block has more than a panel */
    /* when threads share a batch: */
    size_t batch;
    struct columns columns;
    struct panels rows; /* or, in their place */
};

static void free_panels(struct panels *panels)
{
    ulp_free(panels->items);
    ulp_free(panels->data);
    ulp_free(panels->half_sums);
    ulp_free(panels->sets);
}

static enum ulp_status create_panels(struct panels *panels, const struct ulp_wide_plan *plan,
                                     int side, size_t count, size_t width,
                                     struct ulp_budget *scratch, struct ulp_error *error)
{
    const char *what = "digits of a contraction's factors";
    size_t data = ulp_wide_panel_data_bytes(plan, side, width),
           half = ulp_wide_panel_half_bytes(plan);
    size_t sets = ulp_wide_panel_set_bytes(plan);
    void *items = NULL;
    enum ulp_status status =
        ulp_allocate(&items, count, sizeof *panels->items, scratch, what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&panels->data, count, data, scratch, what, error);
    if (status == ULP_OK)
        status = ulp_allocate(&panels->half_sums, count, half, scratch, what, error);
    if (status == ULP_OK && sets)
        status = ulp_allocate(&panels->sets, count, sets, scratch, what, error);
    panels->items = items;
    panels->count = count;
    panels->width = width;
    for (size_t i = 0; i < count && status == ULP_OK; i++) {
        panels->items[i].side = side;
        panels->items[i].data = (uint64_t *)((char *)panels->data + i * data);
        panels->items[i].half_sums = (int64_t *)((char *)panels->half_sums + i * half);
        panels->items[i].sets = sets ? (uint64_t *)((char *)panels->sets + i * sets) : NULL;
    }
    return status;
}

/* Panels for at most `lines` lines in about `bytes` (SIZE_MAX: all), at least one; without memory
 * when the side has a form. */
static enum ulp_status create_panels_within(struct panels *panels, struct run *run, int side,
                                            size_t lines, size_t width, size_t bytes, size_t most,
                                            struct ulp_error *error)
{
    const struct ulp_wide_plan *plan = run->plan;
    const struct ulp_wide_form *form = run->call->forms[side];
    if (form) {
        *panels = (struct panels){.count = most, .width = width};
        return ULP_OK;
    }
    const size_t room = bytes == SIZE_MAX ? bytes : bytes >> run->halvings;
    size_t count = room / ulp_wide_panel_data_bytes(plan, side, width),
           needed = (lines + width - 1) / width;
    count = count > most ? most : count;
    count = count > needed ? needed : count;
    run->divisible |= count > 1 && bytes != SIZE_MAX;
    return create_panels(panels, plan, side, count ? count : 1, width, run->scratch, error);
}

static void pack_columns(struct run *run, struct columns *columns, size_t batch, size_t first_panel,
                         size_t last_panel)
{
    const size_t lanes = (size_t)run->plan->tile->lanes, width = columns->panels.width;
    for (size_t i = first_panel; i < last_panel; i++) {
        struct ulp_wide_panel *panel = &columns->panels.items[i];
        size_t left = columns->count - i * width;
        panel->first = columns->first + i * width;
        panel->count = left < width ? left : width;
        panel->width = (panel->count + lanes - 1) / lanes * lanes;
        ulp_wide_pack(panel, run->plan, &run->call->problem.b, batch);
    }
}

static size_t column_block_bytes(const struct run *run)
{
    return run->call->problem.m <= (size_t)run->plan->tile->rows_max * ULP_TUNE_DIGIT_ROW_PANELS
               ? ULP_TUNE_DIGIT_FEW_ROWS_BYTES
               : ULP_TUNE_DIGIT_SHARED_BYTES;
}

static size_t panel_count(const struct columns *columns)
{
    return (columns->count + columns->panels.width - 1) / columns->panels.width;
}

/* Makes `columns` stand for the block of lines from `first` of a batch; true: they must be packed.
 * A form has all lines. */
static bool set_columns(struct columns *columns, const struct ulp_wide_call *call, size_t batch,
                        size_t first)
{
    const struct ulp_factor *b = &call->problem.b;
    if (call->forms[1]) {
        columns->items = ulp_wide_form_panels(call->forms[1], ulp_packed_batch_offset(b, batch));
        columns->count = call->problem.n;
        return false;
    }
    columns->items = columns->panels.items;
    size_t most = columns->panels.count * columns->panels.width, left = call->problem.n - first;
    int64_t batch_offset = ulp_packed_batch_offset(b, batch);
    bool same = columns->valid && columns->first == first && columns->batch_offset == batch_offset;
    columns->first = first;
    columns->count = left < most ? left : most;
    columns->batch_offset = batch_offset;
    columns->valid = true;
    return !same;
}

/* Some row panels, packed, with every packed column panel. */
static enum ulp_status meet_columns(const struct run *run, struct worker *worker,
                                    const struct columns *columns, size_t batch,
                                    const struct ulp_wide_panel *rows, size_t row_panels,
                                    struct ulp_error *error)
{
    const struct ulp_wide_plan *plan = run->plan;
    const size_t sums_size = (size_t)(plan->positions + 2) * ULP_WIDE_TILE_ELEMENTS;
    const size_t blocks = (plan->k + plan->k_block - 1) / plan->k_block;
    struct ulp_wide_layout layouts[ULP_TUNE_DIGIT_ROW_PANELS];
    for (size_t j = 0; j < panel_count(columns); j++) {
        const struct ulp_wide_panel *b = &columns->items[j];
        for (size_t r = 0; r < row_panels; r++) {
            ulp_wide_tile_lay(&layouts[r], plan, &rows[r], b);
            memset(worker->sums + r * sums_size, 0,
                   (size_t)(layouts[r].positions + 1) * rows[r].width * b->width * sizeof(int64_t));
        }
        for (size_t block = 0; block < blocks; block++)
            for (size_t r = 0; r < row_panels; r++)
                if (!b->irregular && !rows[r].irregular)
                    ulp_wide_tile_add(worker->sums + r * sums_size, plan, &layouts[r], &rows[r], b,
                                      block);
        for (size_t r = 0; r < row_panels; r++)
            ULP_TRY(ulp_wide_tile_store(worker->sums + r * sums_size, plan, run->call, batch,
                                        &layouts[r], &rows[r], b, worker->kulisch, error));
    }
    return ULP_OK;
}

/* Row panels that are packed. */
static enum ulp_status meet_packed(const struct run *run, struct worker *worker,
                                   const struct columns *columns, size_t batch,
                                   const struct ulp_wide_panel *rows, size_t count,
                                   struct ulp_error *error)
{
    for (size_t panel = 0, met; panel < count; panel += met) {
        met = count - panel < ULP_TUNE_DIGIT_ROW_PANELS ? count - panel : ULP_TUNE_DIGIT_ROW_PANELS;
        ULP_TRY(meet_columns(run, worker, columns, batch, rows + panel, met, error));
    }
    return ULP_OK;
}

static const struct ulp_wide_panel *form_rows(const struct run *run, size_t batch)
{
    const struct ulp_wide_call *call = run->call;
    return ulp_wide_form_panels(call->forms[0], ulp_packed_batch_offset(&call->problem.a, batch));
}

static void pack_rows(const struct run *run, struct ulp_wide_panel *rows, size_t width,
                      size_t batch, size_t panel)
{
    const size_t first = panel * width, left = run->call->problem.m - first;
    rows->first = first;
    rows->count = left < width ? left : width;
    rows->width = ulp_wide_row_width(run->plan->tile, rows->count);
    ulp_wide_pack(rows, run->plan, &run->call->problem.a, batch);
}

/* Row panels [first, last) of a batch. */
static enum ulp_status run_rows(const struct run *run, struct worker *worker,
                                const struct columns *columns, size_t batch, size_t first,
                                size_t last, struct ulp_error *error)
{
    if (run->call->forms[0])
        return meet_packed(run, worker, columns, batch, form_rows(run, batch) + first, last - first,
                           error);
    for (size_t panel = first; panel < last;) {
        const size_t count = last - panel < worker->rows.count ? last - panel : worker->rows.count;
        const bool packed = worker->rows_batch == batch && worker->rows_first == panel &&
                            worker->rows_count >= count;
        for (size_t i = 0; i < count && !packed; i++)
            pack_rows(run, &worker->rows.items[i], worker->rows.width, batch, panel + i);
        if (!packed) {
            worker->rows_batch = batch;
            worker->rows_first = panel;
            worker->rows_count = count;
        }
        panel += count;
        ULP_TRY(meet_columns(run, worker, columns, batch, worker->rows.items, count, error));
    }
    return ULP_OK;
}

/* A worker's number may come from an outer pool when this call runs inside one of its workers, but
 * then it is alone. */
static struct worker *find_worker(struct run *run, int worker)
{
    return &run->workers[(size_t)worker % run->worker_count];
}

static size_t row_panel_count(const struct run *run)
{
    const size_t width = ulp_wide_row_width(run->plan->tile, run->call->problem.m);
    return (run->call->problem.m + width - 1) / width;
}

ULP_WORK(work_on_batches)
{
    struct run *run = context;
    struct worker *own = find_worker(run, worker);
    struct columns *columns = &own->columns;
    for (size_t batch = first; batch < last; batch++)
        for (size_t column = 0; column < run->call->problem.n; column += columns->count) {
            if (set_columns(columns, run->call, batch, column))
                pack_columns(run, columns, batch, 0, panel_count(columns));
            ULP_TRY(run_rows(run, own, columns, batch, 0, row_panel_count(run), error));
        }
    return ULP_OK;
}

ULP_WORK(work_on_columns)
{
    struct run *run = context;
    pack_columns(run, &run->columns, run->batch, first, last);
    return ULP_OK;
}

ULP_WORK(work_on_rows)
{
    struct run *run = context;
    return run_rows(run, find_worker(run, worker), &run->columns, run->batch, first, last, error);
}

ULP_WORK(work_on_shared_rows)
{
    struct run *run = context;
    for (size_t i = first; i < last; i++)
        pack_rows(run, &run->rows.items[i], run->rows.width, run->batch, i);
    return ULP_OK;
}

/* Items are blocks of the columns that a worker packs for itself. */
ULP_WORK(work_on_own_columns)
{
    struct run *run = context;
    struct worker *own = find_worker(run, worker);
    struct columns *columns = &own->columns;
    const struct ulp_wide_panel *rows =
        run->call->forms[0] ? form_rows(run, run->batch) : run->rows.items;
    for (size_t item = first; item < last; item++) {
        if (set_columns(columns, run->call, run->batch,
                        item * columns->panels.count * columns->panels.width))
            pack_columns(run, columns, run->batch, 0, panel_count(columns));
        ULP_TRY(meet_packed(run, own, columns, run->batch, rows, row_panel_count(run), error));
    }
    return ULP_OK;
}

static enum ulp_status share_rows(struct run *run, struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_contraction *problem = &run->call->problem;
    const struct panels *columns = &run->workers[0].columns.panels;
    const size_t own = columns->count * columns->width;
    for (run->batch = 0; run->batch < problem->batch_count; run->batch++) {
        if (!run->call->forms[0])
            ULP_TRY(
                ulp_parallel_for(pool, row_panel_count(run), 1, work_on_shared_rows, run, error));
        ULP_TRY(ulp_parallel_for(pool, (problem->n + own - 1) / own, 1, work_on_own_columns, run,
                                 error));
    }
    return ULP_OK;
}

static enum ulp_status share_columns(struct run *run, struct ulp_pool *pool,
                                     struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (run->batch = 0; run->batch < run->call->problem.batch_count; run->batch++)
        for (size_t column = 0; column < run->call->problem.n; column += run->columns.count) {
            if (set_columns(&run->columns, run->call, run->batch, column))
                status = ulp_parallel_for(pool, panel_count(&run->columns), 1, work_on_columns, run,
                                          error);
            if (status == ULP_OK)
                status = ulp_parallel_for(pool, row_panel_count(run), 1, work_on_rows, run, error);
            if (status != ULP_OK)
                return status;
        }
    return ULP_OK;
}

/* How threads share the work. */
enum way { BY_BATCHES, SHARED_COLUMNS, SHARED_ROWS };

static size_t column_panels(const struct run *run)
{
    const size_t width = ulp_wide_column_width(run->plan->tile);
    return (run->call->problem.n + width - 1) / width;
}

/* Of a side's panels, or 0 when they are a form's. */
static double packed_bytes(const struct run *run, int side, size_t lines)
{
    return run->call->forms[side]
               ? 0
               : (double)ulp_wide_panel_data_bytes(run->plan, side, 1) * (double)lines;
}

static enum way choose_way(const struct run *run)
{
    const struct ulp_contraction *problem = &run->call->problem;
    const double rows = packed_bytes(run, 0, problem->m),
                 columns = packed_bytes(run, 1, problem->n);
    if (problem->batch_count >= 2 * run->worker_count)
        return BY_BATCHES;
    const size_t panel =
        ulp_wide_panel_data_bytes(run->plan, 1, ulp_wide_column_width(run->plan->tile));
    if (rows < columns && rows <= ULP_TUNE_DIGIT_SHARED_BYTES &&
        panel <= ULP_TUNE_DIGIT_SHARED_BYTES / run->worker_count &&
        column_panels(run) >= ULP_TUNE_DIGIT_OWN_BLOCKS_MIN * run->worker_count)
        return SHARED_ROWS;
    return run->worker_count == 1 ? BY_BATCHES : SHARED_COLUMNS;
}

/* Bytes of the columns that a worker packs for itself. */
static size_t own_column_bytes(const struct run *run, enum way way)
{
    const size_t panel =
        ulp_wide_panel_data_bytes(run->plan, 1, ulp_wide_column_width(run->plan->tile));
    const size_t even =
        column_panels(run) / (ULP_TUNE_DIGIT_OWN_BLOCKS_MIN * run->worker_count) * panel;
    if (way == BY_BATCHES)
        return column_block_bytes(run) / run->worker_count;
    /* of double digits less than half is used, and the rows that pass are longer */
    const size_t own = ULP_TUNE_DIGIT_OWN_BYTES * (run->plan->tile->integer ? 1 : 8);
    return even < own ? even : own;
}

static enum ulp_status create_worker(struct worker *worker, struct run *run, enum way way,
                                     struct ulp_error *error)
{
    const struct ulp_wide_plan *plan = run->plan;
    const struct ulp_contraction *problem = &run->call->problem;
    const struct ulp_wide_tile *tile = plan->tile;
    enum ulp_status status = ULP_OK;
    if (way != SHARED_ROWS)
        status = create_panels_within(&worker->rows, run, 0, problem->m,
                                      ulp_wide_row_width(tile, problem->m),
                                      ULP_TUNE_DIGIT_ROW_BYTES, ULP_TUNE_DIGIT_ROW_PANELS, error);
    if (status == ULP_OK && way != SHARED_COLUMNS)
        status = create_panels_within(&worker->columns.panels, run, 1, problem->n,
                                      ulp_wide_column_width(tile), own_column_bytes(run, way),
                                      SIZE_MAX, error);
    if (status == ULP_OK)
        status = ulp_wide_kulisch_create(&worker->kulisch, run->scratch, error);
    void *sums = NULL;
    if (status == ULP_OK)
        status = ulp_allocate(&sums,
                              ULP_TUNE_DIGIT_ROW_PANELS * (size_t)(plan->positions + 2) *
                                  ULP_WIDE_TILE_ELEMENTS,
                              sizeof(int64_t), run->scratch, "sums of a contraction", error);
    worker->sums = sums;
    return status;
}

static enum ulp_status create_shared(struct run *run, enum way way, struct ulp_error *error)
{
    const struct ulp_wide_plan *plan = run->plan;
    const struct ulp_contraction *problem = &run->call->problem;
    if (way == SHARED_COLUMNS)
        return create_panels_within(&run->columns.panels, run, 1, problem->n,
                                    ulp_wide_column_width(plan->tile), column_block_bytes(run),
                                    SIZE_MAX, error);
    if (way == SHARED_ROWS)
        return create_panels_within(&run->rows, run, 0, problem->m,
                                    ulp_wide_row_width(plan->tile, problem->m), SIZE_MAX, SIZE_MAX,
                                    error);
    return ULP_OK;
}

static void close_run(struct run *run)
{
    for (size_t i = 0; run->workers && i < run->worker_count; i++) {
        free_panels(&run->workers[i].rows);
        free_panels(&run->workers[i].columns.panels);
        ulp_wide_kulisch_free(run->workers[i].kulisch);
        ulp_free(run->workers[i].sums);
    }
    free_panels(&run->columns.panels);
    free_panels(&run->rows);
    ulp_free(run->workers);
    run->columns = (struct columns){0};
    run->rows = (struct panels){0};
    run->workers = NULL;
}

static enum ulp_status open_run(struct run *run, enum way way, struct ulp_error *error)
{
    void *workers;
    run->divisible = false;
    run->workers = NULL; /* where there are none, none are closed */
    ULP_TRY(ulp_allocate_zero(&workers, run->worker_count, sizeof *run->workers, run->scratch,
                              "workers", error));
    run->workers = workers;
    for (size_t i = 0; i < run->worker_count; i++)
        ULP_TRY(create_worker(&run->workers[i], run, way, error));
    return create_shared(run, way, error);
}

/* Blocks of panels take what the limit leaves: they only bound how often a panel is packed. */
enum ulp_status ulp_wide_run_digits(const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    struct run run = {.plan = plan,
                      .call = call,
                      .worker_count = (size_t)ulp_pool_thread_count(pool),
                      .scratch = ulp_pool_scratch(pool)};
    const enum way way = choose_way(&run);
    enum ulp_status status = open_run(&run, way, error);
    while (status == ULP_ERROR_MEMORY && run.divisible) {
        close_run(&run);
        run.halvings++;
        status = open_run(&run, way, error);
    }
    if (status == ULP_OK)
        status = way == BY_BATCHES    ? ulp_parallel_for(pool, call->problem.batch_count, 1,
                                                         work_on_batches, &run, error)
                 : way == SHARED_ROWS ? share_rows(&run, pool, error)
                                      : share_columns(&run, pool, error);
    close_run(&run);
    return status;
}
