/* Traces of elementwise steps, whose derivatives are as many numbers as their elements. */
#include "ops/trace/gate.h"

bool ulp_gate_is_diagonal(const struct ulp_trace_gate *gate)
{
    const struct ulp_tape *tape = gate->adjoint;
    return gate->output_count == 1 && gate->results->real &&
           (gate->results->per_row <= 1 || !ulp_tape_reduces(tape));
}

/* Element e is of row e / row_length, at position e % row_length. */
static bool is_dense(const struct ulp_operand *operand, const struct ulp_rows *rows)
{
    return !operand->row_offset && !operand->position_offset &&
           (rows->row_count == 1 || operand->row_stride == (int64_t)rows->row_length) &&
           (rows->row_length == 1 || operand->position_stride == 1);
}

/* Numbers from `start` on are `count` of a named input, or results of a gate before `gate`. */
static bool is_known(const struct ulp_trace_gate *gate, const struct ulp_tensor *inputs,
                     size_t input_count, size_t start, size_t count)
{
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i].data && inputs[i].count == count &&
            ulp_number_of(*(const double *)inputs[i].data) == start)
            return true;
    for (; gate; gate = gate->before)
        if (gate->results && gate->results->start == start)
            return true;
    return false;
}

static bool is_elementwise(const struct ulp_trace_gate *gate, const struct ulp_tensor *inputs,
                           size_t input_count, size_t count)
{
    const size_t length = gate->rows.row_length;
    if (!gate->adjoint || gate->rows.window || !ulp_gate_is_diagonal(gate) ||
        gate->results->per_row != length || gate->rows.row_count * length != count)
        return false;
    for (int i = 0; i < gate->operand_count; i++) {
        const struct ulp_trace_part *part = &gate->parts[i];
        if (part->named && (part->numbers || part->tensor.count != count ||
                            !is_dense(&gate->operands[i], &gate->rows) ||
                            !is_known(gate->before, inputs, input_count, part->start, count)))
            return false;
    }
    return true;
}

bool ulp_trace_is_elementwise(const struct ulp_trace *trace, const struct ulp_tensor *inputs,
                              size_t count, const struct ulp_tensor *output)
{
    if (output->element != ULP_ELEMENT_F64 || !output->count)
        return false;
    for (const struct ulp_trace_gate *gate = trace->last; gate; gate = gate->before)
        if (!is_elementwise(gate, inputs, count, output->count))
            return false;
    const size_t start = ulp_names_in_order(trace, output->data, output->count);
    return start != ULP_NO_NUMBER && is_known(trace->last, inputs, count, start, output->count);
}
