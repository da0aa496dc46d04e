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
    const struct ulp_rows *rows = worker->plan->call->rows;
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
    const struct ulp_rows *rows = worker->plan->call->rows;
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
        if (run->plan->call->rows->window && plan->tiles) {
            run_windows(own, row, count);
        } else if (run->plan->call->rows->window) {
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

/* Of a row. */
static size_t count_pieces(const struct ulp_tape_plan *plan)
{
    return ulp_size_divide_up(plan->call->rows->row_length, ULP_OPEN_WIDTH);
}

/* A strip with open elements once more, to find the pieces that have them. */
static void mark_pieces(struct ulp_tape_worker *worker, size_t strip_begin, size_t count,
                        size_t *noted)
{
    const struct ulp_tape_run *run = worker->run;
    const size_t first = worker->first_row * count_pieces(run->plan) + strip_begin / ULP_OPEN_WIDTH;
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
        run->open->marks[row * count_pieces(run->plan)] = 1;
    *noted += found;
}

/* Open pieces alone. */
ULP_WORK(run_open_pieces)
{
    const struct ulp_tape_run *run = context;
    const size_t length = run->plan->call->rows->row_length, pieces = count_pieces(run->plan);
    size_t noted = ulp_notes_take();
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    for (size_t item = first; item < last; item++) {
        if (!run->open->marks[item])
            continue;
        const size_t begin = item % pieces * ULP_OPEN_WIDTH,
                     end = ulp_size_min(begin + ULP_OPEN_WIDTH, length);
        own->first_row = item / pieces;
        ulp_evaluate_prepare(own);
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
    return ulp_size_divide_up(run->plan->call->rows->row_length, run->plan->width);
}

/* Strips [first, last) of all rows. */
ULP_WORK(run_strips)
{
    const struct ulp_tape_run *run = context;
    const size_t length = run->plan->call->rows->row_length, width = run->plan->width,
                 strips = count_strips(run);
    struct ulp_tape_worker *own;
    ULP_TRY(ulp_evaluate_worker(&own, run, worker, error));
    size_t row = first / strips, strip = first % strips, prepared = SIZE_MAX,
           noted = ulp_notes_take();
    for (size_t item = first; item < last; item++) {
        const size_t rest = length - strip * width;
        own->first_row = row;
        if (prepared != row)
            ulp_evaluate_prepare(own);
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
    const struct ulp_rows *rows = run->plan->call->rows;
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
    const bool strips = !plan->has_reductions && !rows->window && rows->row_length > 0;
    if (plan->rule.carrier != ULP_STRIP_PAIR || open->whole)
        return ULP_OK;
    open->pieces = strips;
    const size_t per_row = strips ? count_pieces(plan) : 1;
    if (!ulp_size_mul(rows->row_count, per_row, &open->count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "more elements than memory can address");
    ULP_TRY(ulp_allocate(&open->marks, open->count, 1, budget, "which rows are open", error));
    return ULP_OK;
}

/* Streams of different instructions and nodes must not meet. */
static uint64_t make_stream(uint64_t node_key, int number)
{
    return ulp_mix(node_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1));
}

static enum ulp_status run_with(const struct ulp_tape_plan *plan, struct ulp_open_items *open,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tape_call *call = plan->call;
    const int stream_count = plan->step_count + call->tape->output_count;
    const size_t worker_count = (size_t)ulp_pool_thread_count(call->pool);
    struct ulp_tape_run run = {
        .open = open,
        .plan = plan,
    };
    if (!open->again)
        ULP_TRY(take_marks(open, plan, call->rows, ulp_pool_scratch(call->pool), error));
    ULP_TAKE(run.streams, arena, (size_t)stream_count, error);
    ULP_TAKE(run.workers, arena, worker_count, error);
    for (int i = 0; i < stream_count; i++)
        run.streams[i] = make_stream(call->node_key, i);
    const enum ulp_status status = run_plan(&run, call->pool, error);
    for (size_t i = 0; i < worker_count; i++)
        ulp_free(run.workers[i]);
    return status;
}

static enum ulp_status run_call(const struct ulp_tape_call *call, struct ulp_open_items *open,
                                struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    struct ulp_tape_plan plan;
    ULP_TRY(ulp_arena_create(&arena, ulp_pool_scratch(call->pool), error));
    ULP_TRY(ulp_evaluate_plan(&plan, call, arena, error));
    return call->rows->row_count > 0 && plan.output_count > 0 ? run_with(&plan, open, arena, error)
                                                              : ULP_OK;
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
