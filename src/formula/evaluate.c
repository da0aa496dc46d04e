/* Running a tape over rows. Without folds the work is cut into strips, inside rows too; with folds
 * into rows, each of which one worker folds in order. */
#include "formula/evaluate.h"

#include "base/error.h"

static struct ulp_strip_place place_of(const struct ulp_tape_worker *worker, uint64_t stream,
                                       size_t position)
{
    return (struct ulp_strip_place){.stream = stream,
                                    .first =
                                        (uint64_t)worker->row * worker->plan->rows->row_length +
                                        position};
}

/* Offsets in the tensor of positions [first, first + n) of the row, or NULL when they are base + i
 * * stride. */
static const int64_t *find_offsets(const struct ulp_tape_worker *worker,
                                   const struct ulp_operand *operand, size_t first, size_t n)
{
    if (!worker->positions)
        return operand->position_offset ? operand->position_offset + first : NULL;
    int64_t *offsets = ulp_slot_of(worker, worker->plan->offsets_slot);
    for (size_t i = 0; i < n; i++) {
        const int32_t position = worker->positions[first + i];
        offsets[i] = operand->position_offset ? operand->position_offset[position]
                                              : position * operand->position_stride;
    }
    return offsets;
}

static void load_element(struct ulp_tape_worker *worker, int index, size_t first, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_operand *operand = step->operand;
    int64_t base = ulp_row_base(operand, worker->row);
    if (step->direct) {
        worker->values[index] = ulp_tape_element(operand->tensor, base + (int64_t)first);
        return;
    }
    const int64_t *offsets = find_offsets(worker, operand, first, n);
    if (!offsets)
        base += (int64_t)first * operand->position_stride;
    plan->table->load(&plan->rule, ulp_slot_of(worker, step->strip), operand->tensor, base, offsets,
                      operand->position_stride, n);
}

static void store_output(struct ulp_tape_worker *worker, const struct ulp_tape_output *output,
                         const void *values, size_t first, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_operand *operand = output->operand;
    struct ulp_tensor tensor = output->tensor;
    int64_t base = ulp_row_base(operand, worker->row);
    const int64_t *offsets = output->per_position ? find_offsets(worker, operand, first, n) : NULL;
    if (!offsets)
        base += (int64_t)first * operand->position_stride;
    plan->table->store(&plan->rule, output->storage, &tensor, base, offsets,
                       operand->position_stride, values, n,
                       place_of(worker, output->stream, first));
}

/* One instruction that changes from position to position, on n positions from `first`. */
static void run_element(struct ulp_tape_worker *worker, int index, size_t first, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const void *arguments[3] = {NULL, NULL, NULL};
    if (step->kind == ULP_TAPE_OPERAND) {
        load_element(worker, index, first, n);
        return;
    }
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0)
            arguments[k] = worker->values[step->arguments[k]];
    void *out;
    if (step->direct_output < 0) {
        out = ulp_slot_of(worker, step->strip);
    } else {
        const struct ulp_tape_output *output = &plan->outputs[step->direct_output];
        out = ulp_tape_element(&output->tensor,
                               ulp_row_base(output->operand, worker->row) + (int64_t)first);
    }
    if (step->kind == ULP_TAPE_SCAN)
        ulp_evaluate_scan(worker, step, out, arguments[0], 1, first, n,
                          place_of(worker, step->stream, first));
    else if (step->chain)
        ulp_evaluate_chain(worker, step, out, n);
    else
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], n,
                       place_of(worker, step->stream, first));
}

/* A ULP_REACH_ROW value is there: spread it when strips of elements use it. */
static void spread_row(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = worker->plan;
    if (step->spread)
        plan->table->spread(&plan->rule, ulp_slot_of(worker, step->strip),
                            ulp_row_value(worker, step), 0,
                            worker->length < plan->width ? worker->length : plan->width);
}

/* The values of n rows from the worker's on; more than one only without folds. */
static void run_row_values(struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                           size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_operand *operand = step->operand;
    void *out = ulp_slot_of(worker, step->one);
    const void *arguments[3] = {NULL, NULL, NULL};
    if (step->kind == ULP_TAPE_OPERAND) {
        const int64_t *offsets = operand->row_offset ? operand->row_offset + worker->row : NULL;
        plan->table->load(&plan->rule, out, operand->tensor,
                          offsets ? 0 : ulp_row_base(operand, worker->row), offsets,
                          operand->row_stride, n);
    } else if (step->kind == ULP_TAPE_ROW_SIZE) {
        ulp_evaluate_row_size(worker, out, n, place_of(worker, step->stream, 0));
    } else {
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = ulp_slot_of(worker, plan->steps[step->arguments[k]].one);
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], n,
                       place_of(worker, step->stream, 0));
    }
}

static void run_row_value(struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    run_row_values(worker, step, 1);
    spread_row(worker, step);
}

/* The worker's row's values, computed for more rows, below `last`, when they are not there. */
static void prepare_row(struct ulp_tape_worker *worker, size_t last)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_steps *part = &plan->row_part[0];
    if (worker->row - worker->prepared_row >= worker->prepared_count) {
        worker->prepared_row = worker->row;
        worker->prepared_count =
            last - worker->row < plan->rows_ahead ? last - worker->row : plan->rows_ahead;
        for (int i = 0; i < part->count; i++)
            run_row_values(worker, &plan->steps[part->items[i]], worker->prepared_count);
    }
    worker->ahead = worker->row - worker->prepared_row;
    for (int i = 0; i < part->count; i++)
        spread_row(worker, &plan->steps[part->items[i]]);
}

static void begin_fold(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = worker->plan;
    ulp_fold_begin(ulp_slot_of(worker, step->fold), &plan->sum_rule, step->fold_kind, plan->order);
}

static void add_fold(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                     size_t first, size_t n)
{
    ulp_fold_add(ulp_slot_of(worker, step->fold),
                 ulp_evaluate_widen(worker, worker->values[step->arguments[0]], n), n,
                 place_of(worker, step->stream, first));
}

static void end_fold(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = worker->plan;
    void *sum = ulp_slot_of(worker, plan->sum_slot);
    ulp_fold_end(ulp_slot_of(worker, step->fold), sum);
    ulp_evaluate_narrow(worker, ulp_slot_of(worker, step->one), sum, 1,
                        (struct ulp_strip_place){.stream = ~step->stream, .first = worker->row});
    spread_row(worker, step);
}

static void store_strip(struct ulp_tape_worker *worker, size_t first, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < plan->output_count; i++) {
        const struct ulp_tape_output *output = &plan->outputs[i];
        if (output->per_position && plan->steps[output->step].direct_output < 0)
            store_output(worker, output, worker->values[output->step], first, n);
    }
}

static void store_row(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < plan->output_count; i++)
        if (!plan->outputs[i].per_position)
            store_output(worker, &plan->outputs[i],
                         ulp_row_value(worker, &plan->steps[plan->outputs[i].step]), 0, 1);
}

/* A row that fits in a strip: every instruction once, in the tape's order. */
static void run_short_row(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const size_t n = worker->length;
    for (int i = 0; i < plan->program.count; i++) {
        const int index = plan->program.items[i];
        const struct ulp_tape_step *step = &plan->steps[index];
        if (step->kind == ULP_TAPE_FOLD) {
            begin_fold(worker, step);
            if (n)
                add_fold(worker, step, 0, n);
            end_fold(worker, step);
        } else if (step->reach == ULP_REACH_ROW) {
            run_row_value(worker, step);
        } else if (n) {
            run_element(worker, index, 0, n);
        }
    }
    if (n)
        store_strip(worker, 0, n);
}

static void run_long_row(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int phase = 0; phase < plan->phase_count; phase++) {
        const struct ulp_tape_steps *row = &plan->row_part[phase], *folds = &plan->fold_part[phase];
        const struct ulp_tape_steps *elements = &plan->element_part[phase];
        const bool stores = phase == plan->phase_count - 1;
        for (int i = 0; i < row->count; i++)
            run_row_value(worker, &plan->steps[row->items[i]]);
        for (int i = 0; i < folds->count; i++)
            begin_fold(worker, &plan->steps[folds->items[i]]);
        for (size_t first = 0; first < worker->length && (stores || elements->count);
             first += plan->width) {
            const size_t rest = worker->length - first, n = rest < plan->width ? rest : plan->width;
            for (int i = 0; i < elements->count; i++) {
                const struct ulp_tape_step *step = &plan->steps[elements->items[i]];
                if (step->kind == ULP_TAPE_FOLD)
                    add_fold(worker, step, first, n);
                else
                    run_element(worker, elements->items[i], first, n);
            }
            if (stores)
                store_strip(worker, first, n);
        }
        for (int i = 0; i < folds->count; i++)
            end_fold(worker, &plan->steps[folds->items[i]]);
    }
}

static enum ulp_status run_rows(void *context, size_t first, size_t last, int number,
                                struct ulp_error *error)
{
    const struct ulp_tape_plan *plan = context;
    struct ulp_tape_worker *worker;
    const enum ulp_status status = ulp_evaluate_worker(&worker, plan, number, error);
    if (status != ULP_OK)
        return status;
    for (size_t row = first; row < last; row++) {
        worker->row = row;
        if (plan->rows->window) {
            int32_t *positions = ulp_slot_of(worker, plan->positions_slot);
            worker->length = plan->rows->window(plan->rows->window_context, row, positions);
            worker->positions = worker->length < plan->rows->row_length ? positions : NULL;
        }
        if (worker->length <= plan->width)
            run_short_row(worker);
        else
            run_long_row(worker);
        store_row(worker);
    }
    return ULP_OK;
}

/* Rows [first, last), as many at once as their values are computed ahead. */
static void run_batches(struct ulp_tape_worker *worker, size_t first, size_t last)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (size_t row = first, count; row < last; row += count) {
        worker->row = row;
        prepare_row(worker, last);
        count = plan->row_part[0].count ? worker->prepared_count - worker->ahead : last - row;
        ulp_evaluate_batch(worker, count);
    }
}

/* Without folds every strip stands for itself: strips [first, last) of all rows. */
static enum ulp_status run_strips(void *context, size_t first, size_t last, int number,
                                  struct ulp_error *error)
{
    const struct ulp_tape_plan *plan = context;
    const size_t length = plan->rows->row_length, strips = (length + plan->width - 1) / plan->width;
    struct ulp_tape_worker *worker;
    const enum ulp_status status = ulp_evaluate_worker(&worker, plan, number, error);
    if (status != ULP_OK)
        return status;
    if (plan->batch) {
        run_batches(worker, first, last);
        return ULP_OK;
    }
    size_t row = first / strips, position = first % strips * plan->width, spread = SIZE_MAX;
    const size_t row_last = (last - 1) / strips + 1;
    for (size_t item = first; item < last; item++) {
        const size_t n = length - position < plan->width ? length - position : plan->width;
        worker->row = row;
        if (spread != row) {
            prepare_row(worker, row_last);
            spread = row;
        }
        for (int i = 0; i < plan->element_part[0].count; i++)
            run_element(worker, plan->element_part[0].items[i], position, n);
        store_strip(worker, position, n);
        if (position == 0)
            store_row(worker);
        position += plan->width;
        if (position >= length) {
            position = 0;
            row++;
        }
    }
    return ULP_OK;
}

/* Nanoseconds of all instructions on one element, roughly (doc/performance.md): only who works on
 * it depends on them. */
static double estimate_element(const struct ulp_tape_plan *plan, const struct ulp_tape *tape)
{
    static const struct cost {
        double step, function;
    } costs[ULP_STRIP_CARRIER_COUNT] = {[ULP_STRIP_FLOAT] = {0.2, 2},
                                        [ULP_STRIP_DOUBLE] = {1, 20},
                                        [ULP_STRIP_MPFR] = {60, 2000},
                                        [ULP_STRIP_INT64] = {0.5, 0.5},
                                        [ULP_STRIP_UINT64] = {0.5, 0.5}},
      few_limbs = {6, 130};
    const bool fast = plan->rule.carrier == ULP_STRIP_MPFR && plan->rule.precision <= 256;
    const struct cost *cost = fast ? &few_limbs : &costs[plan->rule.carrier];
    double sum = 0;
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *instruction = &tape->instructions[i];
        const bool function =
            instruction->kind == ULP_TAPE_PRIMITIVE && !instruction->per_row &&
            ulp_primitive_rows[instruction->primitive].result == ULP_RESULT_FUNCTION;
        sum += function ? cost->function : cost->step;
    }
    return sum;
}

static enum ulp_status run_plan(const struct ulp_tape_plan *plan, const struct ulp_tape *tape,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_rows *rows = plan->rows;
    const bool strips = !plan->has_folds && !rows->window && rows->row_length > 0;
    const size_t length = strips && rows->row_length > plan->width ? plan->width : rows->row_length;
    const double cost =
        estimate_element(plan, tape) * (double)length + 20 * (double)plan->step_count;
    const size_t grain = ulp_grain(cost);
    size_t count = rows->row_count;
    if (strips && !ulp_size_mul(count, (rows->row_length + plan->width - 1) / plan->width, &count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "more elements than memory can address");
    const size_t least = plan->tiles ? plan->tile_rows : 1;
    return ulp_parallel_for(pool, count, grain < least ? least : grain,
                            strips        ? run_strips
                            : plan->tiles ? ulp_evaluate_tiles
                                          : run_rows,
                            (void *)(uintptr_t)plan, error);
}

enum ulp_status ulp_tape_run(const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_arena *arena;
    struct ulp_tape_plan plan;
    enum ulp_status status = ulp_arena_create(&arena, ulp_pool_scratch(call->pool), error);
    if (status != ULP_OK)
        return status;
    status = ulp_evaluate_plan(&plan, call, arena, error);
    plan.scratch = ulp_pool_scratch(call->pool);
    if (status == ULP_OK && call->rows->row_count > 0 && plan.output_count > 0)
        status = run_plan(&plan, call->tape, call->pool, error);
    for (int i = 0; plan.workers && i < plan.worker_count; i++)
        ulp_free(plan.workers[i]);
    ulp_arena_free(arena);
    return status;
}
