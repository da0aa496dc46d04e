/* Computing a tile: rows side by side, one or several. A strip holds a few positions of all its
 * rows, the rows of a position together; where that is what lies in a tensor, the tensor is used in
 * place. The reduction of one row goes through the state of its order (number/strip.h); the
 * reductions of several are primitives on that many partial results, the first position's values
 * combined with each next one's in order, which is what a sequential reduction does in every row.
 * Where rows are short enough, values that a later phase needs are kept instead of computed again.
 */
#include "formula/evaluate/evaluate.h"

#include <string.h>

/* Positions [first, first + count) of a tile: one strip. */
struct span {
    size_t first, count;
};

static struct ulp_strip_place place_of(const struct ulp_tape_worker *worker, int stream,
                                       size_t position)
{
    const uint64_t row = worker->first_row, length = worker->plan->call->rows->row_length;
    return (struct ulp_strip_place){.stream = worker->run->streams[stream],
                                    .first = row * length + position};
}

/* ---- where elements lie ---- */

/* Row tables are often progressions for a while (the columns of an image): strides are faster than
 * offsets. */
static bool is_progression(const int64_t *offsets, size_t n)
{
    const int64_t stride = n > 1 ? offsets[1] - offsets[0] : 0;
    int64_t different = 0;
    for (size_t i = 1; i < n; i++)
        different |= (offsets[i] - offsets[i - 1]) ^ stride;
    return different == 0;
}

/* Of n rows; gathered has room for the offsets of rows of a table that repeats. */
static struct ulp_row_address address_rows(const struct ulp_tape_worker *worker,
                                           const struct ulp_operand *operand, size_t n,
                                           int64_t *gathered)
{
    const bool in_table = operand->row_offset && !operand->row_period;
    const int64_t *offsets = in_table ? operand->row_offset + worker->first_row : NULL;
    if (operand->row_period) {
        for (size_t i = 0; i < n; i++)
            gathered[i] = ulp_row_base(operand, worker->first_row + i);
        offsets = gathered;
    }
    if (!offsets)
        return (struct ulp_row_address){.base = (int64_t)worker->first_row * operand->row_stride,
                                        .stride = operand->row_stride};
    if (is_progression(offsets, n))
        return (struct ulp_row_address){.base = offsets[0],
                                        .stride = n > 1 ? offsets[1] - offsets[0] : 0};
    return (struct ulp_row_address){.offsets = offsets};
}

static void address_tile(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    int64_t *gathered = ulp_slot_of(worker, plan->gathered_slot);
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].needed && plan->steps[i].operand >= 0)
            worker->addresses[i] =
                address_rows(worker, ulp_step_operand(worker, &plan->steps[i]), worker->row_count,
                             gathered + (size_t)i * plan->tile_rows);
    for (int i = plan->step_count; i < plan->step_count + plan->output_count; i++)
        worker->addresses[i] =
            address_rows(worker, ulp_output_operand(worker, &plan->outputs[i - plan->step_count]),
                         worker->row_count, gathered + (size_t)i * plan->tile_rows);
}

/* `number`: the instruction's, or that of an output behind them. */
static struct ulp_row_address find_rows(const struct ulp_tape_worker *worker,
                                        const struct ulp_operand *operand, int number)
{
    if (worker->row_count > 1)
        return worker->addresses[number];
    return (struct ulp_row_address){.base = ulp_row_base(operand, worker->first_row)};
}

static int64_t position_base(const struct ulp_tape_worker *worker,
                             const struct ulp_operand *operand, size_t number)
{
    const size_t position = worker->positions ? (size_t)worker->positions[number] : number;
    return operand->position_offset ? operand->position_offset[position]
                                    : (int64_t)position * operand->position_stride;
}

/* The elements of a span in a tensor: those of one position in several rows, or those of one row.
 * The address is of the elements instead of the rows. */
static struct ulp_row_address find_elements(const struct ulp_tape_worker *worker,
                                            const struct ulp_operand *operand,
                                            struct ulp_row_address rows, struct span span)
{
    if (worker->row_count > 1 || worker->positions) {
        if (span.count == 1) {
            rows.base += position_base(worker, operand, span.first);
            return rows;
        }
        int64_t *offsets = ulp_slot_of(worker, worker->plan->offsets_slot);
        for (size_t i = 0; i < span.count; i++)
            offsets[i] = position_base(worker, operand, span.first + i);
        rows.offsets = offsets;
    } else if (operand->position_offset) {
        rows.offsets = operand->position_offset + span.first;
    } else {
        rows.base += (int64_t)span.first * operand->position_stride;
        rows.stride = operand->position_stride;
    }
    return rows;
}

/* ---- elements ---- */

/* Positions that one load or store takes. */
static size_t count_together(const struct ulp_tape_worker *worker, struct span span)
{
    return worker->row_count == 1 ? span.count : 1;
}

static void load_span(struct ulp_tape_worker *worker, int index, void *out, struct span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_operand *operand = ulp_step_operand(worker, step);
    const struct ulp_row_address rows = find_rows(worker, operand, index);
    const size_t together = count_together(worker, span), n = together * worker->row_count;
    worker->values[index] = out;
    for (size_t t = 0; t < span.count; t += together) {
        const struct ulp_row_address at =
            find_elements(worker, operand, rows, (struct span){span.first + t, together});
        if (step->native && !step->kept && together == span.count && !at.offsets &&
            at.stride == 1) {
            worker->values[index] = ulp_tape_element(operand->tensor, at.base);
            return;
        }
        plan->table->load(&plan->rule, (char *)out + t * n * plan->element_bytes, operand->tensor,
                          at.base, at.offsets, at.stride, n);
    }
}

static void store_span(const struct ulp_tape_worker *worker, int number, struct span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_output *output = &plan->outputs[number];
    const struct ulp_operand *operand = ulp_output_operand(worker, output);
    const struct ulp_row_address rows = find_rows(worker, operand, plan->step_count + number);
    const size_t together = count_together(worker, span), n = together * worker->row_count;
    const char *values = worker->values[output->step];
    for (size_t t = 0; t < span.count; t += together) {
        const struct ulp_row_address at =
            find_elements(worker, operand, rows, (struct span){span.first + t, together});
        plan->table->store(&plan->rule, output->storage,
                           (struct ulp_tensor *)(uintptr_t)operand->tensor, at.base, at.offsets,
                           at.stride, values + t * n * plan->element_bytes, n,
                           place_of(worker, plan->step_count + output->number, span.first + t));
    }
}

static void run_element(struct ulp_tape_worker *worker, int index, struct span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const size_t n = worker->row_count * span.count;
    const void *arguments[3] = {NULL, NULL, NULL};
    void *out = ulp_slot_of(worker, step->strip);
    if (step->kept)
        out = (char *)out + span.first * worker->row_count * plan->element_bytes;
    if (step->kind == ULP_TAPE_OPERAND) {
        load_span(worker, index, out, span);
        return;
    }
    worker->values[index] = out;
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0)
            arguments[k] = worker->values[step->arguments[k]];
    const struct ulp_strip_place place = place_of(worker, index, span.first);
    if (step->kind == ULP_TAPE_SCAN)
        ulp_evaluate_scan(worker, step, out, arguments[0], worker->row_count, span.first,
                          span.count, place);
    else
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], n, place);
}

/* ---- one value a row ---- */

/* The values are there: spread them over a strip when strips of elements use them. */
static void spread_rows(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const size_t bytes = worker->row_count * plan->element_bytes;
    char *strip = ulp_slot_of(worker, step->strip);
    const void *one = ulp_slot_of(worker, step->one);
    if (step->spread && worker->row_count == 1)
        plan->table->spread(&plan->rule, strip, one, 0, worker->span_count);
    for (size_t t = 0; t < worker->span_count && step->spread && worker->row_count > 1; t++)
        memcpy(strip + t * bytes, one, bytes);
}

void ulp_evaluate_row_value(const struct ulp_tape_worker *worker, int index)
{
    const size_t n = worker->row_count;
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_strip_place place = place_of(worker, index, 0);
    const void *arguments[3] = {NULL, NULL, NULL};
    void *out = ulp_slot_of(worker, step->one);
    if (step->kind == ULP_TAPE_OPERAND) {
        const struct ulp_operand *operand = ulp_step_operand(worker, step);
        const struct ulp_row_address rows = find_rows(worker, operand, index);
        plan->table->load(&plan->rule, out, operand->tensor, rows.base, rows.offsets, rows.stride,
                          n);
    } else if (step->kind == ULP_TAPE_ROW_SIZE) {
        ulp_evaluate_row_size(worker, out, n, place);
    } else {
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = ulp_slot_of(worker, plan->steps[step->arguments[k]].one);
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], n, place);
    }
}

void ulp_evaluate_prepare(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_steps *part = &plan->row_part[0];
    worker->span_count = plan->width;
    for (int i = 0; i < part->count; i++) {
        ulp_evaluate_row_value(worker, part->items[i]);
        spread_rows(worker, &plan->steps[part->items[i]]);
    }
}

void ulp_evaluate_store_rows(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < plan->output_count; i++) {
        const struct ulp_tape_output *output = &plan->outputs[i];
        const struct ulp_operand *operand = ulp_output_operand(worker, output);
        if (output->per_position)
            continue;
        const struct ulp_row_address rows = find_rows(worker, operand, plan->step_count + i);
        plan->table->store(&plan->rule, output->storage,
                           (struct ulp_tensor *)(uintptr_t)operand->tensor, rows.base, rows.offsets,
                           rows.stride, ulp_slot_of(worker, plan->steps[output->step].one),
                           worker->row_count,
                           place_of(worker, plan->step_count + output->number, 0));
    }
}

/* ---- reductions ---- */

static void begin_reduction(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step)
{
    enum { ALIGNED = 4 };
    const struct ulp_tape_plan *plan = worker->plan;
    struct ulp_reduction_order order = ulp_evaluate_order(plan, step);
    if (plan->tiles)
        return;
    order.head = (ALIGNED - worker->first_row * order.length % ALIGNED) % ALIGNED;
    ulp_reduction_begin(ulp_slot_of(worker, step->reduction), &plan->sum_rule, step->reduction_kind,
                        order);
}

static void add_reduction(const struct ulp_tape_worker *worker, int index, struct span span)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_strip_place place = place_of(worker, index, span.first);
    const size_t n = worker->row_count;
    void *sums = ulp_slot_of(worker, step->reduction);
    const char *values =
        ulp_evaluate_widen(worker, worker->values[step->arguments[0]], n * span.count);
    if (!plan->tiles) {
        ulp_reduction_add(sums, values, span.count, place);
        return;
    }
    /* a sequential reduction has one part */
    ulp_strip_fn *function =
        plan->sum_table->primitive[ulp_reduction_rows[step->reduction_kind].combine];
    const size_t parts = (size_t)plan->order.parts, bytes = n * plan->sum_bytes;
    for (size_t t = span.first; t < span.first + span.count; t++, values += bytes) {
        void *sum = (char *)sums + t % parts * bytes;
        if (t < parts)
            memcpy(sum, values, bytes);
        else
            function(&plan->sum_rule, sum, sum, values, NULL, n, place);
    }
}

static void end_reduction(const struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_strip_place place = {.stream = ~worker->run->streams[index],
                                          .first = worker->first_row};
    void *sums = ulp_slot_of(worker, step->reduction);
    if (!plan->tiles) {
        void *sum = ulp_slot_of(worker, plan->sum_slot);
        ulp_reduction_end(sums, sum);
        sums = sum;
    } else if (worker->position_count == 0) {
        plan->sum_table->constant(&plan->sum_rule, sums,
                                  ulp_reduction_rows[step->reduction_kind].empty,
                                  worker->row_count);
    } else if (plan->order.parts > 1) {
        ulp_reduction_join(&plan->sum_rule, step->reduction_kind, plan->order, sums,
                           worker->row_count, worker->position_count, place);
    }
    ulp_evaluate_narrow(worker, ulp_slot_of(worker, step->one), sums, worker->row_count, place);
    spread_rows(worker, step);
}

/* ---- the tile ---- */

static void run_elements(struct ulp_tape_worker *worker, const struct ulp_tape_steps *list,
                         struct span span, bool stores)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < list->count; i++)
        if (plan->steps[list->items[i]].kind == ULP_TAPE_REDUCTION)
            add_reduction(worker, list->items[i], span);
        else
            run_element(worker, list->items[i], span);
    for (int i = 0; i < plan->output_count && stores; i++)
        if (plan->outputs[i].per_position)
            store_span(worker, i, span);
}

void ulp_evaluate_strip(struct ulp_tape_worker *worker, size_t first, size_t count)
{
    run_elements(worker, &worker->plan->element_part[0], (struct span){first, count}, true);
}

/* A row that fits in a strip: every instruction once, in the tape's order. */
static void run_program(struct ulp_tape_worker *worker)
{
    static const struct ulp_tape_steps none;
    const struct ulp_tape_plan *plan = worker->plan;
    const struct span span = {0, worker->position_count};
    for (int i = 0; i < plan->program.count; i++) {
        const int index = plan->program.items[i];
        const struct ulp_tape_step *step = &plan->steps[index];
        if (step->kind == ULP_TAPE_REDUCTION) {
            begin_reduction(worker, step);
            if (span.count)
                add_reduction(worker, index, span);
            end_reduction(worker, index);
        } else if (step->reach == ULP_REACH_ROW) {
            ulp_evaluate_row_value(worker, index);
            spread_rows(worker, step);
        } else if (span.count) {
            run_element(worker, index, span);
        }
    }
    if (span.count)
        run_elements(worker, &none, span, true);
}

/* What an earlier phase kept. */
static void find_kept(struct ulp_tape_worker *worker, size_t first)
{
    const struct ulp_tape_plan *plan = worker->plan;
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kept)
            worker->values[i] = (char *)ulp_slot_of(worker, plan->steps[i].strip) +
                                first * worker->row_count * plan->element_bytes;
}

static void run_phase(struct ulp_tape_worker *worker, int phase)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_steps *row = &plan->row_part[phase],
                                *reductions = &plan->reduction_part[phase];
    const struct ulp_tape_steps *elements = &plan->element_part[phase];
    const bool stores = phase == plan->phase_count - 1, walks = elements->count || stores;
    for (int i = 0; i < row->count; i++) {
        ulp_evaluate_row_value(worker, row->items[i]);
        spread_rows(worker, &plan->steps[row->items[i]]);
    }
    for (int i = 0; i < reductions->count; i++)
        begin_reduction(worker, &plan->steps[reductions->items[i]]);
    for (size_t first = 0; first < worker->position_count && walks; first += worker->span_count) {
        const size_t rest = worker->position_count - first;
        if (phase && plan->keep)
            find_kept(worker, first);
        run_elements(worker, elements,
                     (struct span){first, rest < worker->span_count ? rest : worker->span_count},
                     stores);
    }
    for (int i = 0; i < reductions->count; i++)
        end_reduction(worker, reductions->items[i]);
}

void ulp_evaluate_tile(struct ulp_tape_worker *worker)
{
    const struct ulp_tape_plan *plan = worker->plan;
    worker->span_count = plan->width / worker->row_count;
    if (worker->span_count > worker->position_count)
        worker->span_count = worker->position_count;
    if (worker->row_count > 1)
        address_tile(worker);
    if (!plan->tiles && worker->position_count <= plan->width)
        run_program(worker);
    else
        for (int phase = 0; phase < plan->phase_count; phase++)
            run_phase(worker, phase);
    ulp_evaluate_store_rows(worker);
}
