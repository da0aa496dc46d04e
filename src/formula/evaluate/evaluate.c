/* Running a tape over rows. Without reductions the work is cut into strips, inside rows too; with
 * reductions into tiles of rows, each of which one worker reduces in order. A tile's
 * windows have the same positions. */
#include "formula/evaluate/evaluate.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/tuning.h"
#include "number/double_pair.h"
#include "number/format/base.h"

/* ---- tiles ---- */

/* Rows of one window's positions: row `row` and those behind it. */
static void run_window(struct ulp_tape_worker *worker, size_t row, size_t count)
{
    const struct ulp_rows *rows = worker->run->rows;
    int32_t *positions = ulp_slot_of(worker, worker->plan->positions_slot);
    worker->first_row = row;
    worker->row_count = count;
    worker->position_count = rows->window(rows->window_context, row, positions);
    worker->positions = worker->position_count < rows->row_length ? positions : NULL;
    ulp_evaluate_tile(worker);
}

/* Neighbours among `count` rows whose windows are alike are a tile. */
static void run_windows(struct ulp_tape_worker *worker, size_t first, size_t count)
{
    const struct ulp_rows *rows = worker->run->rows;
    uint64_t *ids = ulp_slot_of(worker, worker->plan->ids_slot);
    rows->window_classes(rows->window_context, first, count, ids);
    for (size_t row = 0, alike; row < count; row += alike) {
        for (alike = 1; row + alike < count && ids[row + alike] == ids[row];)
            alike++;
        run_window(worker, first + row, alike);
    }
}

/* Is none of these items to be computed? */
static bool is_settled(const struct ulp_open_items *open, size_t first, size_t count)
{
    return open->again && !memchr(open->marks + first, 1, count);
}

/* After items: what their stores noted. */
static void mark(const struct ulp_open_items *open, size_t first, size_t count, size_t *noted)
{
    if (!open->marks)
        return;
    const size_t found = ulp_notes_take();
    memset(open->marks + first, found != 0, count);
    *noted += found;
}

/* Rows [first, last). */
ULP_WORK(run_tiles)
{
    const struct ulp_tape_run *run = context;
    const struct ulp_tape_plan *plan = run->plan;
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    size_t noted = ulp_notes_take(); /* of items before, which are marked already */
    for (size_t row = first; row < last; row += plan->tile_rows) {
        const size_t count = last - row < plan->tile_rows ? last - row : plan->tile_rows;
        if (is_settled(run->open, row, count))
            continue;
        if (run->rows->window && plan->tiles) {
            run_windows(own, row, count);
        } else if (run->rows->window) {
            run_window(own, row, 1);
        } else {
            own->first_row = row;
            own->row_count = count;
            ulp_evaluate_tile(own);
        }
        mark(run->open, row, count, &noted);
    }
    ulp_note(noted);
    return ULP_OK;
}

/* A strip with open elements once more, to find the pieces that have them. */
static void mark_pieces(struct ulp_tape_worker *worker, size_t strip_begin, size_t count,
                        size_t *noted)
{
    const struct ulp_tape_run *run = worker->run;
    const size_t pieces = ulp_size_divide_up(run->rows->row_length, ULP_OPEN_WIDTH),
                 first = worker->first_row * pieces + strip_begin / ULP_OPEN_WIDTH;
    if (!run->open->marks)
        return;
    const bool some = ulp_notes_take() != 0;
    memset(run->open->marks + first, 0, ulp_size_divide_up(count, ULP_OPEN_WIDTH));
    for (size_t at = 0; some && at < count; at += ULP_OPEN_WIDTH) {
        ulp_evaluate_strip(worker, strip_begin + at, ulp_size_min(ULP_OPEN_WIDTH, count - at));
        mark(run->open, first + at / ULP_OPEN_WIDTH, 1, noted);
    }
}

/* After the stores of a row's own values, which its first piece makes again. */
static void mark_row(const struct ulp_tape_run *run, size_t row, size_t *noted)
{
    const size_t found = run->open->marks ? ulp_notes_take() : 0;
    if (found)
        run->open->marks[row * ulp_size_divide_up(run->rows->row_length, ULP_OPEN_WIDTH)] = 1;
    *noted += found;
}

/* Open pieces alone. */
ULP_WORK(run_open_pieces)
{
    const struct ulp_tape_run *run = context;
    const size_t length = run->rows->row_length,
                 pieces = ulp_size_divide_up(length, ULP_OPEN_WIDTH);
    size_t noted = ulp_notes_take();
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    for (size_t item = first; item < last; item++) {
        if (!run->open->marks[item])
            continue;
        const size_t begin = item % pieces * ULP_OPEN_WIDTH,
                     end = ulp_size_min(begin + ULP_OPEN_WIDTH, length);
        own->first_row = item / pieces;
        ulp_evaluate_prepare(own, own->first_row + 1);
        for (size_t at = begin; at < end; at += run->plan->width)
            ulp_evaluate_strip(own, at, ulp_size_min(run->plan->width, end - at));
        if (begin == 0)
            ulp_evaluate_store_rows(own);
        mark(run->open, item, 1, &noted);
    }
    ulp_note(noted);
    return ULP_OK;
}

/* ---- without reductions every strip stands for itself ---- */

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
    size_t row = first / strips, strip = first % strips, prepared = SIZE_MAX,
           noted = ulp_notes_take();
    const size_t row_last = (last - 1) / strips + 1;
    for (size_t item = first; item < last; item++) {
        const size_t rest = length - strip * width;
        own->first_row = row;
        if (prepared != row)
            ulp_evaluate_prepare(own, row_last);
        prepared = row;
        ulp_evaluate_strip(own, strip * width, rest < width ? rest : width);
        mark_pieces(own, strip * width, rest < width ? rest : width, &noted);
        if (strip == 0) {
            ulp_evaluate_store_rows(own);
            mark_row(run, row, &noted);
        }
        if (++strip == strips) {
            strip = 0;
            row++;
        }
    }
    ulp_note(noted);
    return ULP_OK;
}

/* ---- a run ---- */

static enum ulp_status run_plan(const struct ulp_tape_run *run, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    const struct ulp_rows *rows = run->rows;
    const bool strips = !run->plan->has_reductions && !rows->window && rows->row_length > 0;
    size_t count = rows->row_count;
    if (strips && run->open->again)
        return ulp_parallel_for(pool, run->open->count, 1, run_open_pieces, (void *)(uintptr_t)run,
                                error);
    if (strips && !ulp_size_mul(count, count_strips(run), &count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "more elements than memory can address");
    return ulp_parallel_for(pool, count, run->plan->grain, strips ? run_strips : run_tiles,
                            (void *)(uintptr_t)run, error);
}

/* In pairs, room for marks of the run's items. */
static enum ulp_status take_marks(struct ulp_open_items *open, const struct ulp_tape_plan *plan,
                                  const struct ulp_rows *rows, struct ulp_budget *budget,
                                  struct ulp_error *error)
{
    void *memory;
    const bool strips = !plan->has_reductions && !rows->window && rows->row_length > 0;
    if (plan->rule.carrier != ULP_STRIP_PAIR || open->whole)
        return ULP_OK;
    open->pieces = strips;
    const size_t per_row = strips ? ulp_size_divide_up(rows->row_length, ULP_OPEN_WIDTH) : 1;
    if (!ulp_size_mul(rows->row_count, per_row, &open->count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "more elements than memory can address");
    ULP_TRY(ulp_allocate(&memory, open->count, 1, budget, "which rows are open", error));
    open->marks = memory;
    return ULP_OK;
}

/* Streams of different instructions and nodes must not meet. */
static uint64_t make_stream(uint64_t node_key, int number)
{
    return ulp_mix(node_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1));
}

static enum ulp_status run_with(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                struct ulp_open_items *open, struct ulp_error *error)
{
    enum { FEW_STREAMS = 48, FEW_WORKERS = 8, NEAR_BYTES = 1 << 14 };
    alignas(64) unsigned char near[NEAR_BYTES];
    const int stream_count = plan->step_count + call->tape->output_count;
    const size_t stream_bytes = (size_t)stream_count * sizeof(uint64_t),
                 worker_count = (size_t)plan->made_for.worker_count;
    uint64_t few_streams[FEW_STREAMS];
    struct ulp_tape_worker *few_workers[FEW_WORKERS];
    struct ulp_tape_run run = {.open = open,
                               .plan = plan,
                               .rows = call->rows,
                               .operands = call->operands,
                               .outputs = call->outputs,
                               .scratch = ulp_pool_scratch(call->pool),
                               .near = plan->worker_bytes <= NEAR_BYTES ? near : NULL};
    void *memory = NULL;
    enum ulp_status status = ULP_OK;
    if (!open->again)
        ULP_TRY(take_marks(open, plan, call->rows, run.scratch, error));
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

static enum ulp_status run_call(const struct ulp_tape_call *call, struct ulp_open_items *open,
                                struct ulp_error *error)
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
        status = run_with(plan, call, open, error);
    if (made && !keeps)
        ulp_arena_free(made->arena);
    ulp_free(many);
    return status;
}

/* The arithmetic in records whose values carry bounds. */
static struct ulp_arithmetic as_bounded(const struct ulp_arithmetic *pairs, int precision)
{
    struct ulp_arithmetic out = *pairs;
    struct ulp_format records = ulp_format_mpfr(precision), *const formats[] = {&out.storage,
                                                                                &out.factor,
                                                                                &out.accumulator,
                                                                                &out.compute,
                                                                                &out.rows};
    records.bounded = true;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->pairs)
            *formats[i] = records;
    return out;
}

/* Items that pairs leave open, again by MPFR, with more bits while some are open; those with
 * values that no pair holds are left to the caller. */
static enum ulp_status settle(const struct ulp_tape_call *call, struct ulp_open_items *open,
                              size_t *noted, struct ulp_error *error)
{
    struct ulp_arithmetic records;
    struct ulp_tape_call again = *call;
    const size_t length = open->pieces ? ULP_OPEN_WIDTH : call->rows->row_length;
    size_t items = 0;
    again.arithmetic = &records;
    again.plans = NULL;
    open->again = true;
    for (size_t i = 0; i < open->count; i++)
        items += open->marks[i];
    ulp_pairs_settled(items * length);
    for (int precision = ULP_PAIR_RECORD_BITS; *noted && *noted < ULP_NOTE_OUTSIDE;
         precision *= 2) {
        records = as_bounded(call->arithmetic, precision);
        ULP_TRY(run_call(&again, open, error));
        *noted = ulp_notes_take();
        if (precision == ULP_PAIR_RECORD_BITS_MAX)
            break;
    }
    return ULP_OK;
}

/* Does an output lie where an operand does, as of an epilogue in place? Its rows cannot be computed
 * again. */
static bool is_in_place(const struct ulp_tape_call *call)
{
    for (int o = 0; o < call->tape->output_count; o++)
        for (int i = 0; i < call->tape->operand_count; i++) {
            const struct ulp_tensor *out = call->outputs[o].tensor, *in = call->operands[i].tensor;
            if (!out || !in)
                continue;
            const char *a = out->data, *b = in->data;
            if (a < b + in->count * in->element_bytes && b < a + out->count * out->element_bytes)
                return true;
        }
    return false;
}

enum ulp_status ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_open_items open = {0};
    if (!call->arithmetic->compute.pairs)
        return run_call(call, &open, error);
    open.whole = is_in_place(call);
    const size_t before = ulp_notes_take();
    enum ulp_status status = run_call(call, &open, error);
    size_t noted = ulp_notes_take();
    if (status == ULP_OK && open.marks && noted)
        status = settle(call, &open, &noted, error);
    ulp_free(open.marks);
    ulp_note(before + noted);
    return status;
}
