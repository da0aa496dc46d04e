/* Names back to numbers, and in the numbers' order. */
#include <stdlib.h>

#include "base/error.h"
#include "ops/trace/gate.h"

enum ulp_status ulp_trace_unname(struct ulp_trace *trace, struct ulp_tensor *tensor,
                                 struct ulp_error *error)
{
    double *names = tensor->data;
    ULP_TRY(ulp_trace_settle(trace, trace->count, error));
    for (size_t i = 0; tensor->element == ULP_ELEMENT_F64 && i < tensor->count; i++)
        if (ulp_number_of(names[i]) != ULP_NO_NUMBER)
            names[i] = trace->values[ulp_number_of(names[i])];
    return ULP_OK;
}

enum ulp_status ulp_trace_numbers(struct ulp_trace *trace, const struct ulp_tensor **in,
                                  struct ulp_error *error)
{
    struct ulp_tensor *out;
    double *numbers;
    if (!ulp_trace_is_named(*in))
        return ULP_OK;
    if (trace->instead)
        return trace->instead->numbers(trace, in, error);
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *out, &out, error));
    ULP_TRY(ulp_trace_room(trace, (*in)->count, sizeof *numbers, &numbers, error));
    memcpy(numbers, (*in)->data, (*in)->count * sizeof *numbers);
    *out = ulp_tensor_view(*in);
    out->data = numbers;
    *in = out;
    return ulp_trace_unname(trace, out, error);
}

struct place {
    double value;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->index > y->index ? -1 : x->index < y->index; /* of equals the first is the greatest */
}

enum ulp_status ulp_trace_order(struct ulp_trace *trace, const struct ulp_tensor **in,
                                struct ulp_error *error)
{
    struct ulp_trace_gate *gate;
    struct place *places;
    struct ulp_tensor *out;
    const size_t count = (*in)->count;
    if (!ulp_trace_is_named(*in))
        return ULP_OK;
    if (trace->instead)
        return trace->instead->numbers(trace, in, error);
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *gate, &gate, error));
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *gate->parts, &gate->parts, error));
    ULP_TRY(ulp_trace_take(trace, 1, sizeof *out, &out, error));
    ULP_TRY(ulp_trace_take(trace, count, sizeof *places, &places, error));
    ULP_TRY(ulp_trace_take(trace, count, sizeof *gate->order, &gate->order, error));
    ULP_TRY(ulp_part_take(trace, &gate->parts[0], *in, 0, (int64_t)count - 1, error));
    ULP_TRY(ulp_part_resolve(trace, &gate->parts[0], error));
    *out = ulp_tensor_view(*in);
    ULP_TRY(ulp_trace_take(trace, count, sizeof(double), &out->data, error));
    const double *values = gate->parts[0].tensor.data;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){values[i], i};
    qsort(places, count, sizeof *places, compare_places);
    gate->start = trace->count;
    trace->count += count;
    ULP_TRY(ulp_trace_reserve(trace, error));
    for (size_t i = 0; i < count; i++) {
        gate->order[i] = places[i].index;
        trace->values[gate->start + i] = places[i].value;
        ((double *)out->data)[places[i].index] = ulp_name_of(gate->start + i);
    }
    gate->before = trace->last;
    trace->last = gate;
    *in = out;
    return ULP_OK;
}
