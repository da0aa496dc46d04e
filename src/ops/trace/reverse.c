/* Replaying a trace backwards: each gate adds its results' cotangents, through its adjoint, to
 * those of the numbers that it read. */
#include "ops/trace/gate.h"

#include "base/tuning.h"

enum ulp_status ulp_trace_begin_reverse(struct ulp_trace *trace, struct ulp_error *error)
{
    void *memory;
    if (trace->cotangents) { /* those of another sweep; nothing was recorded since */
        if (trace->count)
            memset(trace->cotangents, 0, trace->count * sizeof *trace->cotangents);
        return ULP_OK;
    }
    const enum ulp_status status =
        ulp_allocate_zero(&memory, trace->count, sizeof *trace->cotangents, trace->budget,
                          "cotangents of a trace", error);
    trace->cotangents = memory;
    return status;
}

void ulp_trace_seed(struct ulp_trace *trace, const struct ulp_tensor *named,
                    const double *cotangents)
{
    const double *names = named->data;
    if (named->element != ULP_ELEMENT_F64)
        return;
    const size_t first = ulp_names_in_order(names, named->count);
    for (size_t i = 0; first != ULP_NO_NUMBER && i < named->count; i++)
        trace->cotangents[first + i] += cotangents[i];
    for (size_t i = 0; first == ULP_NO_NUMBER && i < named->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            trace->cotangents[ulp_number_of(names[i])] += cotangents[i];
}

void ulp_trace_cotangents(const struct ulp_trace *trace, const struct ulp_tensor *named,
                          double weight, double *out)
{
    const double *names = named->data;
    if (named->element != ULP_ELEMENT_F64)
        return;
    const size_t first = ulp_names_in_order(names, named->count);
    for (size_t i = 0; first != ULP_NO_NUMBER && i < named->count; i++)
        out[i] += weight * trace->cotangents[first + i];
    for (size_t i = 0; first == ULP_NO_NUMBER && i < named->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            out[i] += weight * trace->cotangents[ulp_number_of(names[i])];
}

static bool is_owed(const struct ulp_trace *trace, size_t start, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace->cotangents[start + i] != 0)
            return true;
    return false;
}

static struct ulp_tensor view_numbers(double *data, size_t count)
{
    return (struct ulp_tensor){.type = ULP_TYPE_DOUBLE,
                               .element = ULP_ELEMENT_F64,
                               .rank = 1,
                               .dims = {(int64_t)count},
                               .count = count,
                               .element_bytes = sizeof *data,
                               .data = data};
}

/* ---- formulas ---- */

/* Rows [first, first + rows.row_count) of a gate, whose operands and results begin there. */
struct span {
    struct ulp_rows rows;
    size_t first;
    struct ulp_tensor *views;             /* of operands, then of results */
    struct ulp_operand *inputs, *outputs; /* of the adjoint */
    double *owed;                         /* of each operand that is named, dense */
    int32_t *positions;
};

static void lay_operand(const struct ulp_trace_gate *gate, struct span *span, int i)
{
    struct ulp_operand *operand = &span->inputs[i];
    *operand = gate->operands[i];
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
    span->views[i] = view_numbers(trace->cotangents + result->start + span->first * result->per_row,
                                  span->rows.row_count * result->per_row);
    span->inputs[i] = (struct ulp_operand){.tensor = &span->views[i],
                                           .row_stride = (int64_t)result->per_row,
                                           .position_stride = result->per_row > 1};
}

/* What the operand's elements are owed, from dense rows. */
static void hand_on(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
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

static enum ulp_status reverse_span(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                    struct span *span, struct ulp_error *error)
{
    const size_t elements = span->rows.row_count * span->rows.row_length;
    double *owed = span->owed;
    for (int i = 0; i < gate->operand_count; i++) {
        lay_operand(gate, span, i);
        span->outputs[i] = (struct ulp_operand){0};
        if (!gate->parts[i].named)
            continue;
        struct ulp_tensor *out = &span->views[gate->operand_count + gate->output_count + i];
        *out = view_numbers(owed, elements);
        span->outputs[i] = (struct ulp_operand){.tensor = out,
                                                .row_stride = (int64_t)span->rows.row_length,
                                                .position_stride = 1};
        owed += elements;
    }
    for (int o = 0; o < gate->output_count; o++)
        lay_result(trace, gate, span, o);
    const enum ulp_status status =
        ulp_tape_run(&(struct ulp_tape_call){.tape = gate->adjoint,
                                             .arithmetic = &trace->arithmetic,
                                             .rows = &span->rows,
                                             .operands = span->inputs,
                                             .outputs = span->outputs,
                                             .pool = trace->pool},
                     error);
    for (int i = 0; i < gate->operand_count && status == ULP_OK; i++)
        if (gate->parts[i].named)
            hand_on(trace, gate, span, i, span->outputs[i].tensor->data);
    return status;
}

static enum ulp_status reverse_tape(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                    struct ulp_error *error)
{
    const size_t operands = (size_t)gate->operand_count, outputs = (size_t)gate->output_count,
                 length = gate->rows.row_length;
    struct span span = {.rows = gate->rows};
    size_t named = 0, step = gate->rows.row_count;
    bool owed = false;
    void *memory;
    for (size_t o = 0; o < outputs; o++)
        owed = owed ||
               (gate->results[o].real && is_owed(trace, gate->results[o].start,
                                                 gate->rows.row_count * gate->results[o].per_row));
    if (!owed)
        return ULP_OK;
    for (size_t i = 0; i < operands; i++)
        named += gate->parts[i].named;
    if (!gate->rows.window && named * length * step > ULP_TUNE_REVERSE_ELEMENTS)
        step = named * length < ULP_TUNE_REVERSE_ELEMENTS
                   ? ULP_TUNE_REVERSE_ELEMENTS / (named * length)
                   : 1;
    span.views = ulp_arena_take(trace->arena, 2 * operands + outputs, sizeof *span.views);
    span.inputs = ulp_arena_take(trace->arena, operands + outputs, sizeof *span.inputs);
    span.outputs = ulp_arena_take(trace->arena, operands, sizeof *span.outputs);
    span.positions = ulp_arena_take(trace->arena, length, sizeof *span.positions);
    if (!span.views || !span.inputs || !span.outputs || !span.positions)
        return ulp_trace_fail(error);
    enum ulp_status status = ulp_allocate(&memory, named * step * length, sizeof *span.owed,
                                          trace->budget, "cotangents of a formula", error);
    span.owed = memory;
    for (size_t r = 0; r < gate->rows.row_count && status == ULP_OK; r += step) {
        span.first = r;
        span.rows.row_count = ulp_size_min(step, gate->rows.row_count - r);
        status = reverse_span(trace, gate, &span, error);
    }
    ulp_free(memory);
    return status;
}

/* ---- contractions ---- */

/* One factor's side of a contraction: its lines, and the other factor's. */
struct side {
    const struct ulp_trace_part *part;
    const struct ulp_factor *own, *other;
    size_t lines, others;
    bool beside;                /* the lines are */
    int64_t *line, *other_line; /* of the sums' numbers */
    int64_t *rows, *columns, *batches;
    double *owed;
    bool adjacent; /* a line's elements are */
};

/* Lines that lie side by side, as the columns of a matrix, no number in two places. */
static bool are_beside(const struct side *side, size_t k)
{
    const struct ulp_factor *own = side->own;
    bool beside = !side->part->numbers;
    for (size_t i = 1; i < side->lines && beside; i++)
        beside = own->line_offset[i] == own->line_offset[i - 1] + 1;
    for (size_t i = 1; i < k && beside; i++)
        beside = own->k_offset[i] >= own->k_offset[i - 1] + (int64_t)side->lines;
    return beside;
}

/* A line as a whole; of lines side by side some elements of each at once, for the next element of a
 * line is far away, but that of the next line is near. */
#define AT_ONCE ((size_t)8)

static void owe_lines(struct ulp_trace *trace, const struct side *side, size_t k, size_t batch,
                      size_t first, size_t lines, const double *owed)
{
    const struct ulp_factor *own = side->own;
    const int64_t start = own->batch_offset ? own->batch_offset[batch] : 0;
    const size_t step = side->beside ? AT_ONCE : k;
    if (side->adjacent && !own->padding) {
        for (size_t i = 0; i < lines; i++)
            ulp_trace_owe_line(trace, side->part,
                               start + own->line_offset[first + i] + own->k_offset[0], 1,
                               owed + i * k, k);
        return;
    }
    for (size_t begin = 0; begin < k; begin += step)
        for (size_t i = 0; i < lines; i++) {
            const int64_t at = start + own->line_offset[first + i];
            for (size_t e = begin; e < ulp_size_min(begin + step, k); e++)
                if (!own->padding || !own->padding[at + own->k_offset[e]])
                    ulp_trace_owe(trace, side->part, at + own->k_offset[e], owed[i * k + e]);
        }
}

/* Lines of which each is owed one product, as those of a convolution of one channel are. False:
 * they are not, or the factor is no plain numbers. */
static bool multiply_lines(const struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                           const struct side *side, size_t batch, size_t batches, size_t first,
                           size_t lines)
{
    const struct ulp_factor *other = side->other;
    const size_t k = gate->problem.k;
    const bool floats = other->tensor->element == ULP_ELEMENT_F32;
    double *owed = side->owed;
    if (side->others != 1 || (!floats && other->tensor->element != ULP_ELEMENT_F64))
        return false;
    for (size_t g = batch; g < batch + batches; g++) {
        const int64_t start =
            (other->batch_offset ? other->batch_offset[g] : 0) + other->line_offset[0];
        const double *sums = trace->cotangents + gate->start + side->batches[g];
        for (size_t i = first; i < first + lines; i++)
            for (size_t e = 0; e < k; e++) {
                const int64_t at = start + other->k_offset[e];
                const double factor = other->padding && other->padding[at] ? 0
                                      : floats ? ((const float *)other->tensor->data)[at]
                                               : ((const double *)other->tensor->data)[at];
                *owed++ = sums[side->line[i]] * factor;
            }
    }
    return true;
}

static enum ulp_status reverse_lines(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                     const struct side *side, size_t batch, size_t batches,
                                     size_t first, size_t lines, struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    struct ulp_tensor sums = view_numbers(trace->cotangents + gate->start,
                                          p->batch_count * p->m * p->n),
                      out = view_numbers(side->owed, batches * lines * p->k);
    for (size_t g = 0; g < batches; g++)
        side->rows[g] = (int64_t)(g * lines * p->k);
    const struct ulp_contraction adjoint = {
        .batch_count = batches,
        .m = lines,
        .n = p->k,
        .k = side->others,
        .a = {.tensor = &sums,
              .batch_offset = side->batches + batch,
              .line_offset = side->line + first,
              .k_offset = side->other_line},
        .b = {.tensor = side->other->tensor,
              .batch_offset = side->other->batch_offset ? side->other->batch_offset + batch : NULL,
              .line_offset = side->other->k_offset,
              .k_offset = side->other->line_offset,
              .padding = side->other->padding},
        .out = &out,
        .out_batch_offset = side->rows,
        .out_row_offset = side->columns + p->k,
        .out_column_offset = side->columns,
        .store = true,
    };
    const enum ulp_status status =
        multiply_lines(trace, gate, side, batch, batches, first, lines)
            ? ULP_OK
            : ulp_contract(&trace->arithmetic, &adjoint, trace->pool, error);
    for (size_t g = 0; g < batches && status == ULP_OK; g++)
        owe_lines(trace, side, p->k, batch + g, first, lines, side->owed + g * lines * p->k);
    return status;
}

/* Tables over the sums' numbers [batch][m][n] and over dense cotangents [line][k]. */
static bool make_tables(struct ulp_trace *trace, const struct ulp_contraction *p, bool second,
                        size_t lines_at_once, struct side *side)
{
    int64_t **const tables[] = {&side->line, &side->other_line, &side->rows, &side->batches,
                                &side->columns};
    const size_t counts[] = {side->lines, side->others, p->batch_count, p->batch_count,
                             p->k + lines_at_once};
    for (int t = 0; t < 5; t++)
        if (!(*tables[t] = ulp_arena_take(trace->arena, counts[t], sizeof **tables[t])))
            return false;
    for (size_t i = 0; i < side->lines; i++)
        side->line[i] = (int64_t)(second ? i : i * p->n);
    for (size_t i = 0; i < side->others; i++)
        side->other_line[i] = (int64_t)(second ? i * p->n : i);
    for (size_t g = 0; g < p->batch_count; g++)
        side->batches[g] = (int64_t)(g * p->m * p->n);
    for (size_t k = 0; k < p->k; k++)
        side->columns[k] = (int64_t)k;
    for (size_t i = 0; i < lines_at_once; i++)
        side->columns[p->k + i] = (int64_t)(i * p->k);
    return true;
}

static enum ulp_status reverse_factor(struct ulp_trace *trace, const struct ulp_trace_gate *gate,
                                      bool second, struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    struct side side = {.part = &gate->parts[second],
                        .own = second ? &p->b : &p->a,
                        .other = second ? &p->a : &p->b,
                        .lines = second ? p->n : p->m,
                        .others = second ? p->m : p->n};
    const size_t most = ULP_TUNE_REVERSE_ELEMENTS / p->k + 1,
                 lines = ulp_size_min(side.lines, most),
                 batches = lines < side.lines ? 1 : ulp_size_min(p->batch_count, most / lines + 1);
    void *memory;
    if (!make_tables(trace, p, second, lines, &side))
        return ulp_trace_fail(error);
    enum ulp_status status = ulp_allocate(&memory, batches * lines * p->k, sizeof *side.owed,
                                          trace->budget, "cotangents of a contraction", error);
    side.owed = memory;
    side.beside = are_beside(&side, p->k);
    side.adjacent = true;
    for (size_t k = 1; k < p->k; k++)
        side.adjacent = side.adjacent && side.own->k_offset[k] == side.own->k_offset[k - 1] + 1;
    for (size_t g = 0; g < p->batch_count && status == ULP_OK; g += batches)
        for (size_t i = 0; i < side.lines && status == ULP_OK; i += lines)
            status = reverse_lines(trace, gate, &side, g, ulp_size_min(batches, p->batch_count - g),
                                   i, ulp_size_min(lines, side.lines - i), error);
    ulp_free(memory);
    return status;
}

static enum ulp_status reverse_contraction(struct ulp_trace *trace,
                                           const struct ulp_trace_gate *gate,
                                           struct ulp_error *error)
{
    const struct ulp_contraction *p = &gate->problem;
    enum ulp_status status = ULP_OK;
    if (!is_owed(trace, gate->start, p->batch_count * p->m * p->n))
        return ULP_OK;
    for (int f = 0; f < 2 && status == ULP_OK; f++)
        if (gate->parts[f].named)
            status = reverse_factor(trace, gate, f, error);
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
    enum ulp_status status = ULP_OK;
    for (const struct ulp_trace_gate *gate = trace->last; gate && status == ULP_OK;
         gate = gate->before)
        status = gate->order     ? reverse_order(trace, gate)
                 : gate->adjoint ? reverse_tape(trace, gate, error)
                                 : reverse_contraction(trace, gate, error);
    return status;
}
