/* Gates that wait are computed when someone reads their numbers. */
#include "base/error.h"
#include "ops/trace/gate.h"

enum ulp_status ulp_gate_run(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                             const struct ulp_tape_call *call, struct ulp_error *error)
{
    struct ulp_tape_call own = *call;
    for (int i = 0; i < call->tape->operand_count; i++)
        ULP_TRY(ulp_part_resolve(trace, &gate->parts[i], error));
    own.operands = gate->operands;
    return ulp_tape_run(&own, error);
}

static size_t find_first_number(const struct ulp_trace_gate *gate)
{
    if (!gate->tape)
        return gate->start;
    int o = 0;
    while (!gate->results[o].real)
        o++;
    return gate->results[o].start;
}

static enum ulp_status settle_tape(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                   struct ulp_error *error)
{
    struct ulp_tensor *views =
        ulp_arena_take(trace->arena, (size_t)gate->output_count, sizeof *views);
    struct ulp_operand *outputs =
        ulp_arena_take(trace->arena, (size_t)gate->output_count, sizeof *outputs);
    if (!views || !outputs)
        return ulp_trace_fail(error);
    for (int o = 0; o < gate->output_count; o++) {
        const struct ulp_trace_result *result = &gate->results[o];
        if (!result->real)
            continue;
        views[o] =
            ulp_view_numbers(trace->values + result->start, gate->rows.row_count * result->per_row);
        outputs[o] = (struct ulp_operand){.tensor = &views[o],
                                          .row_stride = (int64_t)result->per_row,
                                          .position_stride = result->per_row > 1};
    }
    return ulp_gate_run(trace, gate,
                        &(struct ulp_tape_call){.tape = gate->tape,
                                                .arithmetic = gate->arithmetic,
                                                .rows = &gate->rows,
                                                .outputs = outputs,
                                                .pool = trace->pool},
                        error);
}

/* Into [batch][m][n]. */
static enum ulp_status settle_contraction(struct ulp_trace *trace, struct ulp_trace_gate *gate,
                                          struct ulp_error *error)
{
    struct ulp_contraction p = gate->problem;
    struct ulp_tensor out =
        ulp_view_numbers(trace->values + gate->start, p.batch_count * p.m * p.n);
    int64_t *tables = ulp_arena_take(trace->arena, p.batch_count + p.m + p.n, sizeof *tables);
    ULP_TRY(tables ? ULP_OK : ulp_trace_fail(error));
    for (int f = 0; f < 2; f++)
        ULP_TRY(ulp_part_resolve(trace, &gate->parts[f], error));
    for (size_t g = 0; g < p.batch_count; g++)
        tables[g] = (int64_t)(g * p.m * p.n);
    for (size_t i = 0; i < p.m; i++)
        tables[p.batch_count + i] = (int64_t)(i * p.n);
    for (size_t j = 0; j < p.n; j++)
        tables[p.batch_count + p.m + j] = (int64_t)j;
    p.out = &out;
    p.out_batch_offset = tables;
    p.out_row_offset = tables + p.batch_count;
    p.out_column_offset = tables + p.batch_count + p.m;
    return ulp_contract(gate->arithmetic, &p, trace->pool, error);
}

enum ulp_status ulp_trace_settle(struct ulp_trace *trace, size_t end, struct ulp_error *error)
{
    ULP_TRY(ulp_trace_reserve(trace, error));
    ULP_TRY(ulp_trace_read_sources(trace, error));
    while (trace->pending && find_first_number(trace->pending) < end) {
        struct ulp_trace_gate *gate = trace->pending;
        trace->pending = gate->later; /* what it reads was made before */
        ULP_TRY(gate->tape ? settle_tape(trace, gate, error)
                           : settle_contraction(trace, gate, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_part_resolve(struct ulp_trace *trace, struct ulp_trace_part *part,
                                 struct ulp_error *error)
{
    const size_t count = part->tensor.count;
    size_t end = part->numbers ? 0 : part->start + count;
    if (!part->named)
        return ULP_OK;
    for (size_t i = 0; part->numbers && i < count; i++)
        if (part->numbers[i] != ULP_NO_NUMBER && part->numbers[i] >= end)
            end = part->numbers[i] + 1;
    ULP_TRY(ulp_trace_settle(trace, end, error));
    double *values = part->tensor.data;
    if (!part->numbers)
        part->tensor.data = trace->values + part->start;
    for (size_t i = 0; part->numbers && i < count; i++)
        if (part->numbers[i] != ULP_NO_NUMBER)
            values[i] = trace->values[part->numbers[i]];
    return ULP_OK;
}
