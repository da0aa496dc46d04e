/* The one walk: items of work are cut into tiles of rows, a tile is walked once per phase, strip by
 * strip. */
#include "formula/evaluate.h"

#include "base/error.h"

static void walk_strip(struct ulp_tape_worker *worker, int number, struct ulp_tape_span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_list *elements = &plan->phases[number].elements;
    for (int i = 0; number > 0 && i < plan->kept.count; i++) {
        const int kept = plan->kept.items[i];
        worker->values[kept] = (char *)ulp_evaluate_slot(worker, plan->steps[kept].strip) +
                               span.first * worker->lanes * plan->numbers.bytes;
    }
    for (int i = 0; i < elements->count; i++)
        if (plan->steps[elements->items[i]].kind == ULP_TAPE_FOLD)
            ulp_evaluate_add_fold(worker, elements->items[i], span);
        else
            ulp_evaluate_element(worker, elements->items[i], span);
    for (int i = 0; number == plan->phase_count - 1 && i < plan->stored.count; i++)
        ulp_evaluate_store(worker, plan->stored.items[i], span);
}

/* The strips of all rows, or those of one after the other. */
static void walk_rows(struct ulp_tape_worker *worker, int number)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_tile *tile = &worker->tile;
    const struct ulp_tape_phase *phase = &plan->phases[number];
    for (worker->row = 0; worker->row < tile->row_count; worker->row += worker->lanes) {
        for (int i = 0; i < phase->spreads.count; i++)
            ulp_evaluate_spread(worker, phase->spreads.items[i]);
        if (!phase->elements.count && number < plan->phase_count - 1)
            continue;
        const bool last = worker->row + worker->lanes == tile->row_count;
        const size_t end = last ? tile->end : tile->position_count;
        struct ulp_tape_span span = {.first = worker->row ? 0 : tile->begin,
                                     .count = worker->span_count};
        for (; span.first < end; span.first += span.count) {
            if (end - span.first < span.count)
                span.count = end - span.first;
            walk_strip(worker, number, span);
        }
    }
    worker->row = 0;
}

static void run_tile(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    worker->lanes = plan->cut.across ? worker->tile.row_count : 1;
    worker->span_count = plan->cut.across ? plan->cut.width / worker->lanes : plan->cut.width;
    ulp_evaluate_address(worker, &plan->row_tensors);
    if (worker->lanes > 1)
        ulp_evaluate_address(worker, &plan->element_tensors);
    for (int p = 0; p < plan->phase_count; p++) {
        const struct ulp_tape_list *rows = &plan->phases[p].rows, *folds = &plan->phases[p].folds;
        for (int i = 0; i < rows->count; i++)
            ulp_evaluate_value(worker, rows->items[i]);
        for (int i = 0; i < folds->count; i++)
            ulp_evaluate_begin_fold(worker, folds->items[i]);
        if (plan->batch)
            ulp_evaluate_batch(worker);
        else if (plan->fold_windows && p == 0)
            ulp_evaluate_fold_windows(worker, folds->items[0]);
        else
            walk_rows(worker, p);
        for (int i = 0; i < folds->count; i++)
            ulp_evaluate_end_fold(worker, folds->items[i]);
    }
    for (int i = 0; i < plan->output_count; i++)
        if (!plan->outputs[i].per_position)
            ulp_evaluate_store_rows(worker, i);
}

/* Values that never change: computed once, and spread over a strip. */
static void fill_once(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    worker->tile = (struct ulp_tape_tile){.row_count = 1,
                                          .position_count = worker->job->call->rows->row_length};
    for (int i = 0; i < plan->once.count; i++) {
        const int index = plan->once.items[i], operand = plan->steps[index].operand;
        if (operand >= 0)
            ulp_evaluate_address(worker, &(struct ulp_tape_list){(int[]){operand}, 1});
        ulp_evaluate_value(worker, index);
    }
    for (int i = 0; i < plan->once.count && plan->cut.once_width > 1; i++) {
        void *out = ulp_evaluate_slot(worker, plan->steps[plan->once.items[i]].strip);
        numbers->table->spread(&numbers->rule, out, out, 0, plan->cut.once_width);
    }
    if (numbers->narrow && plan->slots.unit)
        numbers->sum_table->constant(&numbers->sum_rule,
                                     ulp_evaluate_slot(worker, plan->slots.unit), "1",
                                     plan->cut.tile_rows);
}

/* The worker of that number, allocated and its constants filled at first use. */
static enum ulp_status open_worker(struct ulp_tape_worker **out, const struct ulp_tape_job *job,
                                   int number, struct ulp_error *error)
{
    const struct ulp_tape_plan *plan = job->plan;
    /* Work that runs inside another pool's worker comes with that worker's number, and alone. */
    struct ulp_tape_worker **place = &job->workers[number < job->worker_count ? number : 0];
    if (!*place) {
        void *memory;
        const enum ulp_status status =
            ulp_allocate(&memory, plan->slots.bytes, 1, NULL, "scratch memory of a formula", error);
        if (status != ULP_OK)
            return status;
        struct ulp_tape_worker *worker = memory;
        *worker = (struct ulp_tape_worker){.job = job, .plan = plan};
        worker->values = ulp_evaluate_slot(worker, plan->slots.values);
        worker->addresses = ulp_evaluate_slot(worker, plan->slots.addresses);
        for (int i = 0; i < plan->step_count; i++)
            worker->values[i] = ulp_evaluate_slot(worker, plan->steps[i].strip);
        fill_once(worker);
        *place = worker;
    }
    *out = *place;
    return ULP_OK;
}

/* Items are strips of rows, or whole rows. */
static enum ulp_status run_items(void *context, size_t first, size_t last, int number,
                                 struct ulp_error *error)
{
    const struct ulp_tape_job *job = context;
    const struct ulp_tape_cut *cut = &job->plan->cut;
    const struct ulp_rows *rows = job->call->rows;
    struct ulp_tape_worker *worker;
    const enum ulp_status status = open_worker(&worker, job, number, error);
    const size_t last_row = (last - 1) / cut->strips + 1;
    if (status != ULP_OK)
        return status;
    for (size_t row = first / cut->strips; row < last_row; row += worker->tile.row_count) {
        const size_t left = last_row - row;
        worker->tile =
            (struct ulp_tape_tile){.first_row = row,
                                   .row_count = left < cut->tile_rows ? left : cut->tile_rows,
                                   .position_count = rows->row_length,
                                   .end = rows->row_length};
        if (first > row * cut->strips)
            worker->tile.begin = first % cut->strips * cut->width;
        if (left <= cut->tile_rows && last % cut->strips)
            worker->tile.end = last % cut->strips * cut->width;
        if (rows->window && cut->across && !job->plan->fold_windows) {
            ulp_evaluate_classes(worker, run_tile);
            continue;
        }
        if (rows->window && !cut->across)
            ulp_evaluate_open_window(worker);
        run_tile(worker);
    }
    return ULP_OK;
}

static enum ulp_status run_plan(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tape_cut *cut = &plan->cut;
    struct ulp_tape_job job = {.plan = plan,
                               .call = call,
                               .worker_count = ulp_pool_thread_count(call->pool)};
    const size_t grain = ulp_grain(cut->nanoseconds), least = cut->across ? cut->tile_rows : 1;
    size_t count;
    job.workers = ulp_arena_take(arena, (size_t)job.worker_count, sizeof *job.workers);
    if (!job.workers || !ulp_size_mul(call->rows->row_count, cut->strips, &count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a formula's run");
    if (count == 0 || plan->output_count == 0)
        return ULP_OK;
    const enum ulp_status status =
        ulp_parallel_for(call->pool, count, grain < least ? least : grain, run_items, &job, error);
    for (int i = 0; i < job.worker_count; i++)
        ulp_free(job.workers[i]);
    return status;
}

enum ulp_status ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_arena *arena;
    struct ulp_tape_plan plan;
    enum ulp_status status = ulp_arena_create(&arena, error);
    if (status != ULP_OK)
        return status;
    status = ulp_evaluate_plan(&plan, call, arena, error);
    if (status == ULP_OK)
        status = run_plan(&plan, call, arena, error);
    ulp_arena_free(arena);
    return status;
}

enum ulp_status ulp_tape_plan_create(struct ulp_tape_plan **out, const struct ulp_tape_call *call,
                                     struct ulp_error *error)
{
    struct ulp_arena *arena;
    *out = NULL;
    enum ulp_status status = ulp_arena_create(&arena, error);
    if (status != ULP_OK)
        return status;
    struct ulp_tape_plan *plan = ulp_arena_take(arena, 1, sizeof *plan);
    status = plan ? ulp_evaluate_plan(plan, call, arena, error)
                  : ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a formula's plan");
    if (status == ULP_OK)
        *out = plan;
    else
        ulp_arena_free(arena);
    return status;
}

void ulp_tape_plan_free(struct ulp_tape_plan *plan)
{
    if (plan)
        ulp_arena_free(plan->arena);
}

enum ulp_status ulp_tape_plan_run(const struct ulp_tape_plan *plan,
                                  const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_arena *arena;
    enum ulp_status status = ulp_arena_create(&arena, error);
    if (status == ULP_OK)
        status = run_plan(plan, call, arena, error);
    ulp_arena_free(arena);
    return status;
}
