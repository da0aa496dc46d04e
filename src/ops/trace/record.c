/* Recording a trace while an operator runs: each gate notes which numbers it read and which it
 * made. */
#include "base/error.h"
#include "ops/bounds.h"
#include "ops/trace/gate.h"

/* A copy of the table, each entry less by `first`. */
static enum ulp_status copy_table(struct ulp_trace *trace, const int64_t **table, size_t count,
                                  int64_t first, struct ulp_error *error)
{
    int64_t *copy;
    if (!*table)
        return ULP_OK;
    ULP_TRY(ulp_trace_take(trace, count, sizeof *copy, &copy, error));
    for (size_t i = 0; i < count; i++)
        copy[i] = (*table)[i] - first;
    *table = copy;
    return ULP_OK;
}

/* ---- formulas ---- */

/* Which positions exist in each row, as bits: what a window is told from may be gone on the way
 * back. */
struct windows {
    size_t words, length;
    uint64_t *bits;
};

static size_t read_window(const void *context, size_t row, int32_t *positions)
{
    const struct windows *windows = context;
    const uint64_t *bits = windows->bits + row * windows->words;
    size_t count = 0;
    for (size_t p = 0; p < windows->length; p++)
        if (bits[p / 64] >> p % 64 & 1)
            positions[count++] = (int32_t)p;
    return count;
}

static void read_classes(const void *context, size_t first, size_t count, uint64_t *ids)
{
    const struct windows *windows = context;
    memcpy(ids, windows->bits + first, count * sizeof *ids);
}

static enum ulp_status copy_windows(struct ulp_trace *trace, struct ulp_rows *rows,
                                    struct ulp_error *error)
{
    struct windows *windows;
    int32_t *positions;
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *windows, &windows, error));
    ULP_TRY(ulp_trace_take(trace, rows->row_length, sizeof *positions, &positions, error));
    *windows = (struct windows){.words = (rows->row_length + 63) / 64, .length = rows->row_length};
    ULP_TRY(ulp_trace_take(trace, rows->row_count * windows->words, sizeof *windows->bits,
                           &windows->bits, error));
    for (size_t r = 0; r < rows->row_count; r++) {
        const size_t count = rows->window(rows->window_context, r, positions);
        for (size_t i = 0; i < count; i++)
            windows->bits[r * windows->words + (size_t)positions[i] / 64] |= (uint64_t)1
                                                                             << positions[i] % 64;
    }
    *rows = (struct ulp_rows){.row_count = rows->row_count,
                              .row_length = rows->row_length,
                              .window = read_window,
                              .window_classes = windows->words == 1 ? read_classes : NULL,
                              .window_context = windows};
    return ULP_OK;
}

/* Windows leave positions out, so that what a gate reads is the whole tensor then. */
static enum ulp_status take_operand(struct ulp_trace *trace, const struct ulp_rows *rows,
                                    struct ulp_operand *operand, struct ulp_trace_part *part,
                                    struct ulp_error *error)
{
    struct ulp_offset_range range = {.fits = true};
    if (!operand->tensor) {
        const char *constant = operand->constant;
        operand->constant = constant ? ulp_arena_copy(trace->arena, constant) : NULL;
        return constant && !operand->constant ? ulp_trace_fail(error) : ULP_OK;
    }
    if (rows->window) {
        range.high = (int64_t)operand->tensor->count - 1;
    } else {
        ulp_offsets_add_rows(&range, operand, rows->row_count);
        ulp_offsets_add(&range, operand->position_offset, operand->position_stride,
                        rows->row_length);
    }
    const int64_t low = range.low, high = range.high; /* bounds were checked */
    ULP_TRY(ulp_part_take(trace, part, operand->tensor, low, high, error));
    /* steps backwards start behind the first element */
    if (operand->row_period || (low && !operand->row_offset && !operand->position_offset)) {
        int64_t *table;
        ULP_TRY(ulp_trace_take(trace, rows->row_count, sizeof *table, &table, error));
        for (size_t r = 0; r < rows->row_count; r++)
            table[r] = ulp_row_base(operand, r) - low;
        operand->row_offset = table;
        operand->row_period = 0;
    } else {
        ULP_TRY(copy_table(trace, &operand->row_offset, rows->row_count, low, error));
    }
    operand->tensor = &part->tensor;
    return copy_table(trace, &operand->position_offset, rows->row_length,
                      operand->row_offset ? 0 : low, error);
}

/* An element that was just computed gets a name; one that has been met already keeps it. A number
 * of FP64 may look like a name (gate.h), but like one of these only with all its low bits 0. */
static void name_element(struct ulp_trace *trace, double *element, size_t number, size_t start)
{
    const size_t named = ulp_number_of(*element);
    const bool again = named != ULP_NO_NUMBER && named >= start && named < number;
    trace->values[number] = again ? trace->values[named] : *element;
    if (!again)
        *element = ulp_name_of(number);
}

/* The rows, of so many elements each, follow one another. */
static bool lie_in_order(const struct ulp_operand *output, size_t rows, size_t per_row)
{
    return !output->row_offset && !output->position_offset &&
           (rows == 1 || output->row_stride == (int64_t)per_row) &&
           (per_row == 1 || output->position_stride == 1);
}

/* by_row: the formula gives one value a row. One that it gives at every position may be written to
 * one place, which is then the first's. */
static enum ulp_status name_results(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                    bool by_row, const struct ulp_operand *output,
                                    struct ulp_trace_result *result, struct ulp_error *error)
{
    const size_t rows = gate->rows.row_count, length = gate->rows.row_length;
    double *elements = output->tensor->data;
    int32_t *positions = NULL;
    const bool one = by_row && !ulp_gate_has_positions(output);
    result->real = true;
    result->per_row = one ? 1 : length;
    result->start = trace->count;
    trace->count += rows * result->per_row;
    ULP_TRY(ulp_trace_reserve(trace, error));
    if (!gate->rows.window && lie_in_order(output, rows, result->per_row)) {
        memcpy(trace->values + result->start, elements, rows * result->per_row * sizeof *elements);
        for (size_t i = 0; i < rows * result->per_row; i++)
            elements[i] = ulp_name_of(result->start + i);
        return ULP_OK;
    }
    if (gate->rows.window)
        ULP_TRY(ulp_trace_take(trace, length, sizeof *positions, &positions, error));
    memset(trace->values + result->start, 0, rows * result->per_row * sizeof *trace->values);
    for (size_t r = 0; r < rows; r++) {
        const size_t count = one ? 1
                             : positions
                                 ? gate->rows.window(gate->rows.window_context, r, positions)
                                 : length;
        for (size_t i = 0; i < count; i++) {
            const size_t p = positions && !one ? (size_t)positions[i] : i;
            name_element(trace, &elements[ulp_operand_place(output, r, p)],
                         result->start + r * result->per_row + p, result->start);
        }
    }
    return ULP_OK;
}

/* The results of a gate that is not computed yet: names alone. */
static void promise_results(struct ulp_trace *trace, const struct ulp_trace_gate *gate, bool by_row,
                            const struct ulp_operand *output, struct ulp_trace_result *result)
{
    const bool one = by_row && !ulp_gate_has_positions(output);
    double *elements = output->tensor->data;
    *result = (struct ulp_trace_result){.real = true,
                                        .start = trace->count,
                                        .per_row = one ? 1 : gate->rows.row_length};
    const size_t count = gate->rows.row_count * result->per_row;
    for (size_t i = 0; i < count; i++)
        elements[i] = ulp_name_of(trace->count++);
}

/* Types of 8 bits and less are quantised values: steps, which follow no input (ulp_call_convert).
 */
static bool is_named_float(const struct ulp_operand *output)
{
    return output->tensor && output->tensor->element == ULP_ELEMENT_F64 &&
           ulp_type_rows[output->tensor->type].file_bits > 8;
}

static bool is_by_row(const struct ulp_tape *tape, int output)
{
    return tape->outputs[output] >= 0 && tape->instructions[tape->outputs[output]].per_row;
}

/* May the results wait until someone reads them? They are named floats in order. */
static bool can_wait(const struct ulp_trace_gate *gate, const struct ulp_tape_call *call)
{
    for (int o = 0; o < call->tape->output_count; o++) {
        const struct ulp_operand *output = &call->outputs[o];
        const bool one = is_by_row(call->tape, o) && !ulp_gate_has_positions(output);
        if (output->tensor &&
            (!is_named_float(output) ||
             !lie_in_order(output, gate->rows.row_count, one ? 1 : gate->rows.row_length)))
            return false;
    }
    return !gate->rows.window;
}

static enum ulp_status wait_for(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                const struct ulp_arithmetic *arithmetic, struct ulp_error *error)
{
    struct ulp_arithmetic *copy;
    ULP_TRY(ulp_trace_room(trace, 1, sizeof *copy, &copy, error));
    *copy = *arithmetic;
    gate->arithmetic = copy;
    *(trace->pending ? &trace->last_pending->later : &trace->pending) = gate;
    trace->last_pending = gate;
    return ULP_OK;
}

static enum ulp_status name_outputs(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                    const struct ulp_tape_call *call, bool waits,
                                    struct ulp_error *error)
{
    for (int o = 0; o < call->tape->output_count; o++)
        if (is_named_float(&call->outputs[o]) && waits)
            promise_results(trace, gate, is_by_row(call->tape, o), &call->outputs[o],
                            &gate->results[o]);
        else if (is_named_float(&call->outputs[o]))
            ULP_TRY(name_results(trace, gate, is_by_row(call->tape, o), &call->outputs[o],
                                 &gate->results[o], error));
    return waits ? wait_for(trace, gate, call->arithmetic, error) : ULP_OK;
}

enum ulp_status ulp_trace_tape(struct ulp_trace *trace, const struct ulp_tape_call *call,
                               struct ulp_error *error)
{
    const struct ulp_tape *tape = call->tape;
    struct ulp_trace_gate *gate;
    uint64_t spread = 0;
    bool named = false, real = false;
    if (trace->instead)
        return trace->instead->tape(trace, call, error);
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *gate, &gate, error));
    *gate = (struct ulp_trace_gate){.rows = *call->rows,
                                    .tape = tape,
                                    .operand_count = tape->operand_count,
                                    .output_count = tape->output_count};
    if (!call->rows->row_count || !call->rows->row_length)
        return ulp_tape_run(call, error);
    const size_t operands = (size_t)tape->operand_count, outputs = (size_t)tape->output_count;
    ULP_TRY(ulp_trace_take(trace, operands, sizeof *gate->parts, &gate->parts, error));
    ULP_TRY(ulp_trace_take(trace, operands, sizeof *gate->operands, &gate->operands, error));
    ULP_TRY(ulp_trace_take(trace, outputs, sizeof *gate->results, &gate->results, error));
    for (int i = 0; i < tape->operand_count; i++) {
        gate->operands[i] = call->operands[i];
        ULP_TRY(take_operand(trace, call->rows, &gate->operands[i], &gate->parts[i], error));
        named |= gate->parts[i].named;
    }
    const bool waits = named && can_wait(gate, call);
    if (!waits)
        ULP_TRY(ulp_gate_run(trace, gate, call, error));
    for (int o = 0; o < tape->output_count && o < 64; o++) {
        real |= is_named_float(&call->outputs[o]);
        spread |= (uint64_t)(is_named_float(&call->outputs[o]) &&
                             ulp_gate_has_positions(&call->outputs[o]))
                  << o;
    }
    if (!named || !real)
        return ULP_OK;
    if (gate->rows.window)
        ULP_TRY(copy_windows(trace, &gate->rows, error));
    else /* whole windows need nothing of what the call has laid out, which goes with it */
        gate->rows = (struct ulp_rows){.row_count = gate->rows.row_count,
                                       .row_length = gate->rows.row_length};
    gate->before = trace->last;
    trace->last = gate;
    ULP_TRY(name_outputs(trace, gate, call, waits, error));
    return ulp_trace_adjoint(trace, tape, spread, &gate->adjoint, error);
}

/* ---- contractions ---- */

static enum ulp_status take_factor(struct ulp_trace *trace, struct ulp_factor *factor,
                                   struct ulp_trace_part *part, size_t batches, size_t lines,
                                   size_t depth, struct ulp_error *error)
{
    struct ulp_offset_range range = {.fits = true};
    ulp_offsets_add(&range, factor->batch_offset, 0, batches);
    ulp_offsets_add(&range, factor->line_offset, 0, lines);
    ulp_offsets_add(&range, factor->k_offset, 0, depth);
    const int64_t low = range.low, high = range.high; /* bounds were checked */
    ULP_TRY(ulp_part_take(trace, part, factor->tensor, low, high, error));
    if (factor->padding) {
        uint8_t *padding;
        ULP_TRY(ulp_trace_take(trace, part->tensor.count, 1, &padding, error));
        for (size_t i = 0; i < part->tensor.count; i++)
            padding[i] = ulp_factor_is_padding(factor, low + (int64_t)i);
        factor->padding = padding;
        factor->padding_period = 0;
    }
    ULP_TRY(copy_table(trace, &factor->batch_offset, batches, 0, error));
    ULP_TRY(copy_table(trace, &factor->line_offset, lines, low, error));
    ULP_TRY(copy_table(trace, &factor->k_offset, depth, 0, error));
    factor->tensor = &part->tensor;
    return ULP_OK;
}

static void name_sums(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                      const struct ulp_contraction *p)
{
    double *elements = p->out->data;
    gate->start = trace->count;
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++) {
            double *row = elements + (p->out_batch_offset ? p->out_batch_offset[g] : 0) +
                          p->out_row_offset[i];
            for (size_t j = 0; j < p->n; j++)
                row[p->out_column_offset[j]] = ulp_name_of(trace->count++);
        }
}

enum ulp_status ulp_trace_contract(struct ulp_trace *trace, const struct ulp_arithmetic *arithmetic,
                                   const struct ulp_contraction *problem, struct ulp_pool *pool,
                                   struct ulp_error *error)
{
    struct ulp_trace_gate *gate;
    if (!problem->batch_count || !problem->m || !problem->n || !problem->k ||
        problem->out->element != ULP_ELEMENT_F64)
        return ulp_contract(arithmetic, problem, pool, error);
    if (trace->instead)
        return trace->instead->contract(trace, arithmetic, problem, pool, error);
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *gate, &gate, error));
    *gate = (struct ulp_trace_gate){.problem = *problem};
    struct ulp_contraction *p = &gate->problem;
    ULP_TRY(ulp_trace_take(trace, 2, sizeof *gate->parts, &gate->parts, error));
    ULP_TRY(take_factor(trace, &p->a, &gate->parts[0], p->batch_count, p->m, p->k, error));
    ULP_TRY(take_factor(trace, &p->b, &gate->parts[1], p->batch_count, p->n, p->k, error));
    if (!gate->parts[0].named && !gate->parts[1].named)
        return ulp_contract(arithmetic, p, pool, error);
    name_sums(trace, gate, problem);
    gate->before = trace->last;
    trace->last = gate;
    return wait_for(trace, gate, arithmetic, error);
}
