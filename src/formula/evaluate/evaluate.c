/* Running a tape over rows. Without reductions the work is cut into strips, inside rows too; with
 * reductions into tiles of rows, each of which one worker reduces in order. Rows of a tile whose
 * windows have unlike positions are separated into classes. */
#include "formula/evaluate/evaluate.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/random.h"
#include "base/tuning.h"

/* ---- tiles ---- */

/* Put each of `count` rows into the class of its window; returns the number of classes. members[i]
 * is the next row of row i's class. */
static int classify_rows(struct ulp_tape_worker *worker, size_t first, size_t count,
                         struct ulp_window_class *classes, int *members)
{
    const struct ulp_rows *rows = worker->run->rows;
    uint64_t *ids = ulp_slot_of(worker, worker->plan->ids_slot);
    int class_count = 0, found = 0;
    rows->window_classes(rows->window_context, first, count, ids);
    for (size_t i = 0; i < count; i++) {
        if (class_count == 0 || classes[found].id != ids[i])
            for (found = class_count - 1; found >= 0 && classes[found].id != ids[i];)
                found--;
        members[i] = -1;
        if (found < 0) {
            found = class_count++;
            classes[found] =
                (struct ulp_window_class){.id = ids[i], .first_row = (int)i, .last_row = (int)i};
        } else {
            members[classes[found].last_row] = (int)i;
            classes[found].last_row = (int)i;
        }
    }
    return class_count;
}

/* The rows of one window's positions: row `row` and those behind it, or those of indices. */
static void run_window(struct ulp_tape_worker *worker, size_t row, size_t count,
                       const size_t *indices)
{
    const struct ulp_rows *rows = worker->run->rows;
    int32_t *positions = ulp_slot_of(worker, worker->plan->positions_slot);
    worker->first_row = row;
    worker->row_count = count;
    worker->indices = indices;
    worker->position_count = rows->window(rows->window_context, row, positions);
    worker->positions = worker->position_count < rows->row_length ? positions : NULL;
    ulp_evaluate_tile(worker);
}

static void run_classes(struct ulp_tape_worker *worker, size_t first, size_t count)
{
    const struct ulp_tape_plan *plan = worker->plan;
    struct ulp_window_class *classes = ulp_slot_of(worker, plan->classes_slot);
    int *members = ulp_slot_of(worker, plan->members_slot);
    size_t *indices = ulp_slot_of(worker, plan->indices_slot);
    const int class_count = classify_rows(worker, first, count, classes, members);
    for (int k = 0; k < class_count; k++) {
        size_t found = 0;
        for (int i = classes[k].first_row; i >= 0; i = members[i])
            indices[found++] = first + (size_t)i;
        const bool consecutive = indices[found - 1] - indices[0] + 1 == found;
        run_window(worker, indices[0], found, consecutive ? NULL : indices);
    }
}

/* Rows [first, last). */
ULP_WORK(run_tiles)
{
    const struct ulp_tape_run *run = context;
    const struct ulp_tape_plan *plan = run->plan;
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    for (size_t row = first; row < last; row += plan->tile_rows) {
        const size_t count = last - row < plan->tile_rows ? last - row : plan->tile_rows;
        if (run->rows->window && plan->tiles && !plan->reduce_windows) {
            run_classes(own, row, count);
        } else if (run->rows->window && !plan->tiles) {
            run_window(own, row, 1, NULL);
        } else {
            own->first_row = row;
            own->row_count = count;
            ulp_evaluate_tile(own);
        }
    }
    return ULP_OK;
}

/* ---- without reductions every strip stands for itself ---- */

/* Rows [first, last), as many at once as their values are computed ahead. */
static void run_batches(struct ulp_tape_worker *worker, size_t first, size_t last)
{
    const bool per_row = worker->plan->row_part[0].count;
    for (size_t row = first, count; row < last; row += count) {
        worker->first_row = row;
        ulp_evaluate_prepare(worker, last);
        count = per_row ? worker->prepared_count - worker->ahead : last - row;
        ulp_evaluate_batch(worker, count);
    }
}

static size_t count_strips(const struct ulp_tape_run *run)
{
    return ulp_size_divide_up(run->rows->row_length, run->plan->width);
}

/* Strips [first, last) of all rows. */
ULP_WORK(run_strips)
{
    const struct ulp_tape_run *run = context;
    const size_t length = run->rows->row_length, width = run->plan->width,
                 strips = count_strips(run);
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    if (run->plan->batch) {
        run_batches(own, first, last);
        return ULP_OK;
    }
    size_t row = first / strips, strip = first % strips, prepared = SIZE_MAX;
    const size_t row_last = (last - 1) / strips + 1;
    for (size_t item = first; item < last; item++) {
        const size_t rest = length - strip * width;
        own->first_row = row;
        if (prepared != row)
            ulp_evaluate_prepare(own, row_last);
        prepared = row;
        ulp_evaluate_strip(own, strip * width, rest < width ? rest : width);
        if (strip == 0)
            ulp_evaluate_store_rows(own);
        if (++strip == strips) {
            strip = 0;
            row++;
        }
    }
    return ULP_OK;
}

/* ---- a run ---- */

static enum ulp_status run_plan(const struct ulp_tape_run *run, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    const struct ulp_rows *rows = run->rows;
    const bool strips = !run->plan->has_reductions && !rows->window && rows->row_length > 0;
    size_t count = rows->row_count;
    if (strips && !ulp_size_mul(count, count_strips(run), &count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "more elements than memory can address");
    return ulp_parallel_for(pool, count, run->plan->grain, strips ? run_strips : run_tiles,
                            (void *)(uintptr_t)run, error);
}

/* Streams of different instructions and nodes must not meet. */
static uint64_t make_stream(uint64_t node_key, int number)
{
    return ulp_mix(node_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1));
}

static enum ulp_status run_with(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                struct ulp_error *error)
{
    enum { FEW_STREAMS = 48, FEW_WORKERS = 8, NEAR_BYTES = 1 << 14 };
    alignas(64) unsigned char near[NEAR_BYTES];
    const int stream_count = plan->step_count + call->tape->output_count;
    const size_t stream_bytes = (size_t)stream_count * sizeof(uint64_t),
                 worker_count = (size_t)plan->made_for.worker_count;
    uint64_t few_streams[FEW_STREAMS];
    struct ulp_tape_worker *few_workers[FEW_WORKERS];
    struct ulp_tape_run run = {.plan = plan,
                               .rows = call->rows,
                               .operands = call->operands,
                               .outputs = call->outputs,
                               .scratch = ulp_pool_scratch(call->pool),
                               .near = plan->worker_bytes <= NEAR_BYTES ? near : NULL};
    void *memory = NULL;
    enum ulp_status status = ULP_OK;
    run.streams = few_streams;
    run.workers = few_workers;
    if (stream_count > FEW_STREAMS || worker_count > FEW_WORKERS) {
        status = ulp_allocate(&memory, 1, stream_bytes + worker_count * sizeof *run.workers,
                              run.scratch, "a formula's run", error);
        if (status != ULP_OK)
            return status;
        run.streams = memory;
        run.workers = (struct ulp_tape_worker **)(run.streams + stream_count);
    }
    for (int i = 0; i < stream_count; i++)
        run.streams[i] = make_stream(call->node_key, i);
    for (size_t i = 0; i < worker_count; i++)
        run.workers[i] = NULL;
    status = run_plan(&run, call->pool, error);
    for (size_t i = run.near ? 1 : 0; i < worker_count; i++)
        ulp_free(run.workers[i]);
    ulp_free(memory);
    return status;
}

/* ---- plans that are kept ---- */

/* A plan in an arena of its own. One that is kept has a copy of its case. */
static enum ulp_status make_plan(struct ulp_tape_plan **out, const struct ulp_tape_case *found,
                                 bool keeps, struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_arena *arena;
    struct ulp_tape_case made_for = *found;
    ULP_TRY(ulp_arena_create(&arena, budget, error));
    *out = ulp_arena_take(arena, 1, sizeof **out);
    enum ulp_status status = *out && (!keeps || ulp_evaluate_copy_case(&made_for, found, arena))
                                 ? ulp_evaluate_plan(*out, &made_for, arena, error)
                                 : ulp_out_of_memory(error);
    if (status == ULP_OK)
        (*out)->arena = arena;
    else
        ulp_arena_free(arena);
    return status;
}

/* The list that the case's plan is in. */
static size_t find_list(const struct ulp_tape_case *wanted)
{
    const size_t mixed = (wanted->row_count * 31 + wanted->row_length) * 31 +
                         (size_t)wanted->arithmetic->storage.precision;
    return (mixed ^ mixed >> 8) % ULP_TAPE_PLAN_LISTS;
}

static const struct ulp_tape_plan *find_plan(const struct ulp_tape_plans *plans,
                                             const struct ulp_tape_case *wanted)
{
    const struct ulp_tape_plan *plan = plans ? atomic_load(&plans->first[find_list(wanted)]) : NULL;
    while (plan && !ulp_evaluate_is_case(&plan->made_for, wanted))
        plan = plan->next;
    return plan;
}

bool ulp_tape_plans_have_room(const struct ulp_tape_plans *plans)
{
    return plans && atomic_load(&plans->count) < ULP_TUNE_PLANS_MAX &&
           (!plans->budget || !plans->bytes_max ||
            ulp_budget_used(plans->budget) < plans->bytes_max);
}

static void keep_plan(struct ulp_tape_plans *plans, struct ulp_tape_plan *plan)
{
    _Atomic(struct ulp_tape_plan *) *first = &plans->first[find_list(&plan->made_for)];
    plan->next = atomic_load(first);
    while (!atomic_compare_exchange_weak(first, &plan->next, plan))
        ;
    atomic_fetch_add(&plans->count, 1);
}

void ulp_tape_plans_free(struct ulp_tape_plans *plans)
{
    for (size_t i = 0; i < ULP_TAPE_PLAN_LISTS; i++)
        for (struct ulp_tape_plan *plan = atomic_exchange(&plans->first[i], NULL), *next; plan;
             plan = next) {
            next = plan->next;
            ulp_arena_free(plan->arena);
        }
    atomic_store(&plans->count, 0);
}

/* Accesses of this many operands and outputs lie on the stack. */
#define ACCESSES_MAX 48

enum ulp_status ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_tape_access few[ACCESSES_MAX], *accesses = few;
    struct ulp_tape_case wanted;
    const size_t count = (size_t)call->tape->operand_count + (size_t)call->tape->output_count;
    void *many = NULL;
    enum ulp_status status = ULP_OK;
    if (count > ACCESSES_MAX) {
        status = ulp_allocate(&many, count, sizeof *accesses, ulp_pool_scratch(call->pool),
                              "a formula's operands", error);
        accesses = many;
    }
    if (status != ULP_OK)
        return status;
    ulp_evaluate_describe(&wanted, call, accesses);
    const struct ulp_tape_plan *plan = find_plan(call->plans, &wanted);
    struct ulp_tape_plan *made = NULL;
    const bool keeps = !plan && ulp_tape_plans_have_room(call->plans);
    if (!plan)
        status = make_plan(&made, &wanted, keeps,
                           keeps ? call->plans->budget : ulp_pool_scratch(call->pool), error);
    if (status != ULP_OK)
        made = NULL;
    plan = plan ? plan : made;
    if (made && keeps)
        keep_plan(call->plans, made);
    if (status == ULP_OK && call->rows->row_count > 0 && plan->output_count > 0)
        status = run_with(plan, call, error);
    if (made && !keeps)
        ulp_arena_free(made->arena);
    ulp_free(many);
    return status;
}
