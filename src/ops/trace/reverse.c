/* Replaying a trace backwards: each gate adds its results' cotangents, through its adjoint, to
 * those of the numbers that it read. */
#include "ops/trace/gate.h"

#include "base/error.h"
#include "base/tuning.h"

enum ulp_status ulp_trace_begin_reverse(struct ulp_trace *trace, bool sloped, bool shared,
                                        struct ulp_error *error)
{
    trace->sloped = sloped;
    trace->shared = shared;
    if (trace->cotangents) { /* those of another sweep; nothing was recorded since */
        if (trace->count)
            memset(trace->cotangents, 0, trace->count * sizeof *trace->cotangents);
        return ULP_OK;
    }
    ULP_TRY(ulp_allocate_zero(&trace->cotangents, trace->count, sizeof *trace->cotangents,
                              trace->budget, "cotangents of a trace", error));
    return ULP_OK;
}

void ulp_trace_seed(struct ulp_trace *trace, const struct ulp_tensor *named,
                    const double *cotangents)
{
    const double *names = named->data;
    if (named->element != ULP_ELEMENT_F64)
        return;
    const size_t first = ulp_names_in_order(trace, names, named->count);
    for (size_t i = 0; first != ULP_NO_NUMBER && i < named->count; i++)
        trace->cotangents[first + i] += cotangents ? cotangents[i] : 1;
    for (size_t i = 0; first == ULP_NO_NUMBER && i < named->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            trace->cotangents[ulp_number_of(names[i])] += cotangents ? cotangents[i] : 1;
}

void ulp_trace_cotangents(const struct ulp_trace *trace, const struct ulp_tensor *named,
                          double weight, bool add, double *out)
{
    const double *names = named->data;
    const size_t first = named->element == ULP_ELEMENT_F64
                             ? ulp_names_in_order(trace, names, named->count)
                             : ULP_NO_NUMBER;
    if (first != ULP_NO_NUMBER && add) {
        for (size_t i = 0; i < named->count; i++)
            out[i] += weight * trace->cotangents[first + i];
        return;
    }
    for (size_t i = 0; first != ULP_NO_NUMBER && i < named->count; i++)
        out[i] = weight * trace->cotangents[first + i];
    if (first != ULP_NO_NUMBER)
        return;
    if (!add && named->count)
        memset(out, 0, named->count * sizeof *out);
    for (size_t i = 0; named->element == ULP_ELEMENT_F64 && i < named->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            out[i] += weight * trace->cotangents[ulp_number_of(names[i])];
}

/* ---- formulas ---- */

/* Rows [first, first + rows.row_count) of a gate, whose operands and results begin there. */
struct span {
    struct ulp_rows rows;
    size_t first;
    struct ulp_tensor *views;             /* of operands, then of results */
    struct ulp_operand *inputs, *outputs; /* of the adjoint */
    double *owed, **owed_by;              /* of each operand that is named, dense; by operand */
    size_t named;                         /* operands */
    int32_t *positions;
};

static bool reads_operand(const struct ulp_tape *tape, int operand)
{
    for (int i = 0; i < tape->instruction_count; i++)
        if (tape->instructions[i].kind == ULP_TAPE_OPERAND &&
            tape->instructions[i].index == operand)
            return true;
    return false;
}

static void lay_operand(const struct ulp_trace_gate *gate, struct span *span, int i)
{
    struct ulp_operand *operand = &span->inputs[i];
    *operand = gate->operands[i];
    if (!reads_operand(gate->adjoint, i))
        *operand = (struct ulp_operand){.constant = "0"};
    if (!operand->tensor)
        return;
    span->views[i] = *operand->tensor;
    operand->tensor = &span->views[i];
    if (operand->row_offset) {
        operand->row_offset += span->first;
        return;
    }
    const size_t before = span->first * (size_t)operand->row_stride;
    span->views[i].data = (char *)span->views[i].data + before * span->views[i].element_bytes;
    span->views[i].count -= before;
    span->views[i].dims[0] -= (int64_t)before;
}

static void lay_result(const struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                       struct span *span, int o)
{
    const struct ulp_trace_result *result = &gate->results[o];
    const int i = gate->operand_count + o;
    span->inputs[i] = (struct ulp_operand){.constant = "0"};
    if (!result->real)
        return;
    span->views[i] =
        ulp_view_numbers(trace->cotangents + result->start + span->first * result->per_row,
                         span->rows.row_count * result->per_row);
    span->inputs[i] = (struct ulp_operand){.tensor = &span->views[i],
                                           .row_stride = (int64_t)result->per_row,
                                           .position_stride = result->per_row > 1};
}

/* What the operand's elements are owed, from dense rows. */
static void hand_on_owed(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                         const struct span *span, int i, const double *owed)
{
    const struct ulp_operand *operand = &gate->operands[i];
    const struct ulp_trace_part *part = &gate->parts[i];
    size_t length = span->rows.row_length, rows = span->rows.row_count;
    if (!span->rows.window && !operand->position_offset) {
        if (!operand->row_offset && operand->position_stride == 1 &&
            operand->row_stride == (int64_t)length) {
            length *= rows;
            rows = 1;
        }
        const size_t first = span->first;
        for (size_t r = 0; r < rows; r++)
            ulp_trace_owe_line(trace, part, ulp_operand_place(operand, first + r, 0),
                               operand->position_stride, owed + r * length, length);
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        const size_t count = span->rows.window
                                 ? span->rows.window(span->rows.window_context, r, span->positions)
                                 : length;
        for (size_t n = 0; n < count; n++) {
            const size_t p = span->rows.window ? (size_t)span->positions[n] : n;
            ulp_trace_owe(trace, part, ulp_operand_place(operand, span->first + r, p),
                          owed[r * length + p]);
        }
    }
}

/* The adjoint of the span's rows into owed_by[]; `ones`: of cotangents of 1. */
static enum ulp_status run_adjoint(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                   struct span *span, bool ones, struct ulp_error *error)
{
    const size_t elements = span->rows.row_count * span->rows.row_length;
    for (int i = 0; i < gate->operand_count; i++) {
        lay_operand(gate, span, i);
        span->outputs[i] = (struct ulp_operand){0};
        if (!gate->parts[i].named)
            continue;
        struct ulp_tensor *out = &span->views[gate->operand_count + gate->output_count + i];
        *out = ulp_view_numbers(span->owed_by[i], elements);
        span->outputs[i] = (struct ulp_operand){.tensor = out,
                                                .row_stride = (int64_t)span->rows.row_length,
                                                .position_stride = 1};
    }
    for (int o = 0; o < gate->output_count; o++)
        if (ones)
            span->inputs[gate->operand_count + o] = (struct ulp_operand){.constant = "1"};
        else
            lay_result(trace, gate, span, o);
    return ulp_tape_run(&(struct ulp_tape_call){.tape = gate->adjoint,
                                                .arithmetic = &trace->arithmetic,
                                                .rows = &span->rows,
                                                .operands = span->inputs,
                                                .outputs = span->outputs,
                                                .pool = trace->pool},
                        error);
}

/* A cotangent of 0 stays 0 where the derivative is infinite. */
static inline double multiply_slope(double slope, double cotangent)
{
    return cotangent != 0 ? slope * cotangent : 0;
}

/* What slopes owe an operand whose rows follow one another. */
static void owe_dense(double *owed, const double *slopes, const double *results, size_t per_row,
                      size_t rows, size_t length)
{
    if (per_row > 1) {
        for (size_t i = 0; i < rows * length; i++)
            owed[i] += multiply_slope(slopes[i], results[i]);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < length; p++)
            owed[r * length + p] += multiply_slope(slopes[r * length + p], results[r]);
}

/* slopes: of the span's elements; they may be span->owed_by[i]. */
static void owe_slopes(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                       const struct span *span, int i, const double *slopes)
{
    const struct ulp_operand *operand = &gate->operands[i];
    const struct ulp_trace_part *part = &gate->parts[i];
    const size_t length = span->rows.row_length, per_row = gate->results->per_row,
                 rows = span->rows.row_count;
    const double *results = trace->cotangents + gate->results->start + span->first * per_row;
    double *owed = span->owed_by[i];
    const bool dense = !span->rows.window && !operand->position_offset && !operand->row_offset &&
                       operand->position_stride == 1 && operand->row_stride == (int64_t)length &&
                       !part->numbers;
    if (dense) {
        owed = trace->cotangents + part->start + ulp_operand_place(operand, span->first, 0);
        owe_dense(owed, slopes, results, per_row, rows, length);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < length; p++)
            owed[r * length + p] = multiply_slope(slopes[r * length + p],
                                                  results[r * per_row + (per_row > 1 ? p : 0)]);
    hand_on_owed(trace, gate, span, i, owed);
}

/* sloped: as slopes times cotangents, whether all sweeps have the slopes in common or not. */
static enum ulp_status reverse_span(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                    struct span *span, bool sloped, struct ulp_error *error)
{
    const size_t length = gate->rows.row_length, elements = span->rows.row_count * length;
    double *owed = span->owed;
    for (int i = 0; i < gate->operand_count; i++) {
        span->owed_by[i] = owed;
        owed += gate->parts[i].named ? elements : 0;
    }
    if (!gate->slopes)
        ULP_TRY(run_adjoint(trace, gate, span, sloped, error));
    for (int i = 0; i < gate->operand_count; i++)
        if (gate->parts[i].named && sloped)
            owe_slopes(trace, gate, span, i,
                       gate->slopes ? gate->slopes[i] + span->first * length : span->owed_by[i]);
        else if (gate->parts[i].named)
            hand_on_owed(trace, gate, span, i, span->owed_by[i]);
    return ULP_OK;
}

static void begin_span(const struct ulp_trace_gate *gate, struct span *span, size_t first,
                       size_t step)
{
    span->first = first;
    span->rows.row_count = ulp_size_min(step, gate->rows.row_count - first);
}

/* slopes: by operand, of those that are named. */
static enum ulp_status fill_slopes(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                   struct span *span, size_t step, double *const *slopes,
                                   struct ulp_error *error)
{
    for (size_t r = 0; r < gate->rows.row_count; r += step) {
        begin_span(gate, span, r, step);
        for (int i = 0; i < gate->operand_count; i++)
            span->owed_by[i] = slopes[i] ? slopes[i] + r * gate->rows.row_length : NULL;
        ULP_TRY(run_adjoint(trace, gate, span, true, error));
    }
    return ULP_OK;
}

static enum ulp_status find_slopes(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                   struct span *span, size_t step, struct ulp_error *error)
{
    const size_t count = gate->rows.row_count * gate->rows.row_length;
    double **slopes;
    ULP_TRY(ulp_trace_take(trace, (size_t)gate->operand_count, sizeof *slopes, &slopes, error));
    for (int i = 0; i < gate->operand_count; i++)
        if (gate->parts[i].named)
            ULP_TRY(ulp_trace_take(trace, count, sizeof **slopes, &slopes[i], error));
    ULP_TRY(fill_slopes(trace, gate, span, step, slopes, error));
    gate->slopes = slopes;
    return ULP_OK;
}

/* What the adjoint reads, as numbers, and room to run it in spans of *step rows. */
static enum ulp_status open_span(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                 struct span *span, size_t *step, struct ulp_error *error)
{
    const size_t operands = (size_t)gate->operand_count, outputs = (size_t)gate->output_count,
                 length = gate->rows.row_length;
    size_t named = 0;
    for (size_t i = 0; i < operands; i++) {
        named += gate->parts[i].named;
        if (!gate->slopes && reads_operand(gate->adjoint, (int)i))
            ULP_TRY(ulp_part_resolve(trace, &gate->parts[i], error));
    }
    *span = (struct span){.rows = gate->rows};
    *step = gate->rows.row_count;
    if (!gate->rows.window && named * length * *step > ULP_TUNE_REVERSE_ELEMENTS)
        *step = named * length < ULP_TUNE_REVERSE_ELEMENTS
                    ? ULP_TUNE_REVERSE_ELEMENTS / (named * length)
                    : 1;
    span->views = ulp_arena_take(trace->arena, 2 * operands + outputs, sizeof *span->views);
    span->inputs = ulp_arena_take(trace->arena, operands + outputs, sizeof *span->inputs);
    span->outputs = ulp_arena_take(trace->arena, operands, sizeof *span->outputs);
    span->owed_by = ulp_arena_take(trace->arena, operands + 1, sizeof *span->owed_by);
    span->positions = ulp_arena_take(trace->arena, length, sizeof *span->positions);
    span->named = named;
    return span->views && span->inputs && span->outputs && span->owed_by && span->positions
               ? ULP_OK
               : ulp_trace_fail(error);
}

static enum ulp_status reverse_tape(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                    struct ulp_error *error)
{
    struct span span;
    size_t step;
    bool owed = false;
    ULP_SCOPED(ulp_free_of) double *room = NULL;
    for (int o = 0; o < gate->output_count; o++)
        owed = owed || (gate->results[o].real &&
                        ulp_trace_is_owed(trace, gate->results[o].start,
                                          gate->rows.row_count * gate->results[o].per_row));
    if (!owed)
        return ULP_OK;
    ULP_TRY(open_span(trace, gate, &span, &step, error));
    ULP_TRY(ulp_allocate(&room, span.named * step * gate->rows.row_length, sizeof *span.owed,
                         trace->budget, "cotangents of a formula", error));
    span.owed = room;
    const bool sloped = trace->sloped && ulp_gate_is_diagonal(gate);
    if (sloped && trace->shared && !gate->slopes)
        ULP_TRY(find_slopes(trace, gate, &span, step, error));
    for (size_t r = 0; r < gate->rows.row_count; r += step) {
        begin_span(gate, &span, r, step);
        ULP_TRY(reverse_span(trace, gate, &span, sloped, error));
    }
    return ULP_OK;
}

/* The input that the part is; `count`: none, or one that an operand before it is, too. */
static size_t find_input(const struct ulp_trace_part *part, const struct ulp_tensor *inputs,
                         size_t count, double *const *made)
{
    size_t i = 0;
    while (i < count &&
           !(inputs[i].data && ulp_number_of(*(const double *)inputs[i].data) == part->start))
        i++;
    return i < count && !made[i] ? i : count;
}

/* Slopes of one point into those of all. */
struct weighted {
    double weight, *slopes;
    const double *sum; /* of the points before; NULL: it is the first */
};

static enum ulp_status weigh_range(void *context, size_t begin, size_t end, int worker,
                                   struct ulp_error *error)
{
    const struct weighted *job = context;
    const double weight = job->weight, *sum = job->sum;
    double *slopes = job->slopes;
    (void)worker;
    (void)error;
    for (size_t e = begin; e < end && !sum; e++)
        slopes[e] = weight * (0 + slopes[e]); /* as a cotangent of 0 that is owed it */
    for (size_t e = begin; e < end && sum; e++)
        slopes[e] = sum[e] + weight * (0 + slopes[e]);
    return ULP_OK;
}

static enum ulp_status make_slopes(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                   const struct ulp_tensor *inputs, size_t count, double **made,
                                   bool *found, struct ulp_error *error)
{
    struct span span;
    size_t step;
    ULP_TRY(open_span(trace, gate, &span, &step, error));
    ULP_TAKE_ARRAY(double *, slopes, trace->arena, (size_t)gate->operand_count, error);
    for (int i = 0; i < gate->operand_count; i++) {
        if (!gate->parts[i].named)
            continue;
        const size_t input = find_input(&gate->parts[i], inputs, count, made);
        if (input == count)
            return ULP_OK;
        ULP_TRY(ulp_allocate(&made[input], inputs[input].count, sizeof **made, trace->budget,
                             "derivatives", error));
        slopes[i] = made[input];
    }
    *found = true;
    return fill_slopes(trace, gate, &span, step, slopes, error);
}

enum ulp_status ulp_trace_slopes(struct ulp_trace *trace, const struct ulp_tensor *inputs,
                                 size_t count, double weight, double **sums, bool *found,
                                 struct ulp_error *error)
{
    struct ulp_trace_gate *gate = trace->last;
    *found = false;
    if (!gate || gate->before || !gate->adjoint)
        return ULP_OK;
    ULP_TAKE_ARRAY(double *, made, trace->arena, count + 1, error);
    enum ulp_status status = make_slopes(trace, gate, inputs, count, made, found, error);
    for (size_t i = 0; i < count; i++) {
        struct weighted job = {weight, made[i], sums[i]};
        if (!*found || status != ULP_OK) {
            ulp_free(made[i]);
            continue;
        }
        if (made[i] && (weight != 1 || sums[i]))
            status = ulp_parallel_for(trace->pool, inputs[i].count, ulp_grain(1), weigh_range, &job,
                                      error);
        if (made[i]) {
            ulp_free(sums[i]);
            sums[i] = made[i];
        }
    }
    return status;
}

static enum ulp_status reverse_order(struct ulp_trace *trace, const struct ulp_trace_gate *gate)
{
    for (size_t i = 0; i < gate->parts[0].tensor.count; i++)
        ulp_trace_owe(trace, &gate->parts[0], (int64_t)gate->order[i],
                      trace->cotangents[gate->start + i]);
    return ULP_OK;
}

enum ulp_status ulp_trace_reverse(struct ulp_trace *trace, struct ulp_error *error)
{
    for (struct ulp_trace_gate *gate = trace->last; gate; gate = gate->before)
        ULP_TRY(gate->order     ? reverse_order(trace, gate)
                : gate->adjoint ? reverse_tape(trace, gate, error)
                                : ulp_gate_reverse_contraction(trace, gate, error));
    return ULP_OK;
}
