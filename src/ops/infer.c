/* Shape rules and layouts that many rows share. */
#include "ops/infer.h"

#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"

enum ulp_status ulp_infer_first(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    for (size_t i = 0; i < call->output_count; i++)
        ULP_TRY(ulp_call_describe(call, i, in->type, in->rank, in->dims));
    return ULP_OK;
}

enum ulp_status ulp_infer_first_bool(struct ulp_call *call)
{
    return ulp_call_describe(call, 0, ULP_TYPE_BOOL, call->in[0]->rank, call->in[0]->dims);
}

static enum ulp_status describe_broadcast(struct ulp_call *call, enum ulp_type type)
{
    int rank;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_broadcast_shape((int)call->input_count, call->in, &rank, dims, call->error));
    return ulp_call_describe(call, 0, type, rank, dims);
}

enum ulp_status ulp_infer_broadcast(struct ulp_call *call)
{
    size_t i = 0;
    while (call->bound->inputs[i].kind != 0)
        i++;
    return describe_broadcast(call, call->in[i]->type);
}

enum ulp_status ulp_infer_broadcast_bool(struct ulp_call *call)
{
    return describe_broadcast(call, ULP_TYPE_BOOL);
}

enum ulp_status ulp_infer_global(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        dims[d] = d < 2 ? in->dims[d] : 1;
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

enum ulp_status ulp_check_rank(size_t rank, struct ulp_error *error)
{
    return rank <= ULP_RANK_MAX ? ULP_OK
                                : ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                                           "at most %d dimensions are supported", ULP_RANK_MAX);
}

struct ulp_split ulp_split_at(const struct ulp_tensor *tensor, int axis)
{
    struct ulp_split split = {1, (size_t)tensor->dims[axis], 1};
    for (int d = 0; d < axis; d++)
        split.outer *= (size_t)tensor->dims[d];
    for (int d = axis + 1; d < tensor->rank; d++)
        split.inner *= (size_t)tensor->dims[d];
    return split;
}

void ulp_strides(const struct ulp_tensor *tensor, int64_t *strides)
{
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride = ulp_dim_mul(stride, tensor->dims[d]);
    }
}

struct ulp_layout ulp_call_layout(const struct ulp_call *call, struct ulp_rows *rows,
                                  struct ulp_operand *operands, struct ulp_operand *outputs)
{
    const struct ulp_tape *tape = call->bound->tape;
    return (struct ulp_layout){.rows = rows,
                               .operands = operands,
                               .outputs = outputs,
                               .operand_count = tape->operand_count,
                               .output_count = tape->output_count,
                               .arena = call->scratch};
}

enum ulp_status ulp_call_along(const struct ulp_call *call, struct ulp_operand *operand, int rank,
                               int axis)
{
    int64_t dims[ULP_RANK_MAX];
    if (!operand->tensor)
        return ULP_OK;
    for (int d = 0; d < rank; d++)
        dims[d] = d == axis ? (int64_t)operand->tensor->count : 1;
    if (rank == 0 && operand->tensor->count != 1)
        return ULP_REFUSE(call, "%zu elements beside a scalar", operand->tensor->count);
    operand->tensor = ulp_layout_view(call->scratch, operand->tensor, rank, dims);
    return ulp_taken(operand->tensor, call->error);
}

enum ulp_status ulp_call_set_range(const struct ulp_call *call, struct ulp_operand *operands,
                                   enum ulp_type type)
{
    const struct ulp_bound *bound = call->bound;
    const bool is_float = ulp_type_is_float(type), is_wide = ulp_type_rows[type].file_bits > 32;
    double least, most;
    if (is_wide && !is_float && bound->derived_count)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "results of type %s are not supported",
                        ulp_type_name(type));
    if (is_wide || !bound->derived_count)
        return ULP_OK;
    ulp_integer_range(type, &least, &most);
    ULP_CALL_SAY(low, call, "%.0f", is_float ? -INFINITY : least);
    ULP_CALL_SAY(high, call, "%.0f", is_float ? INFINITY : most);
    for (size_t i = 0; i < bound->derived_count; i++) {
        const char *name = bound->derived[i].name;
        const char *text = strcmp(name, "low") == 0       ? low
                           : strcmp(name, "high") == 0    ? high
                           : strcmp(name, "integer") == 0 ? (is_float ? "0" : "1")
                                                          : NULL;
        if (text)
            operands[bound->input_slot_count + bound->attribute_count + i] =
                (struct ulp_operand){.constant = text};
    }
    return ULP_OK;
}
