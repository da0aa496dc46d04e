/* Reductions along axes: formulas over rows. */

#include "base/error.h"
#include "ops/infer.h"

/* Which axes go. An axes input that is not known yet leaves *known false. */
static enum ulp_status read_reduced(const struct ulp_call *call, bool *reduced, bool *known)
{
    int rank = call->in[0]->rank;
    struct ulp_list axes;
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    *known = axes.known;
    bool all = axes.count == 0 && !ulp_call_int(call, "noop_with_empty_axes");
    for (int d = 0; d < rank; d++)
        reduced[d] = all;
    for (size_t i = 0; axes.known && i < axes.count; i++) {
        int axis;
        ULP_TRY(ulp_call_axis(axes.values[i], rank, &axis, call->error));
        reduced[axis] = true;
    }
    return ULP_OK;
}

static enum ulp_status infer_reduce(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX], known;
    int64_t dims[ULP_RANK_MAX];
    int rank = 0;
    ULP_TRY(read_reduced(call, reduced, &known));
    if (!known)
        return ULP_OK;
    const bool keep = ulp_call_int(call, "keepdims") == 1; /* as ONNX Runtime; others mean 0 */
    for (int d = 0; d < in->rank; d++)
        if (!reduced[d] || keep)
            dims[rank++] = reduced[d] ? 1 : in->dims[d];
    return ulp_call_describe(call, 0, in->type, rank, dims);
}

static enum ulp_status rows_reduce(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX], known;
    ULP_TRY(read_reduced(call, reduced, &known));
    for (size_t i = 1; i < call->bound->input_slot_count; i++)
        layout->operands[i] = (struct ulp_operand){0}; /* axes are no numbers of the formula */
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

#define REDUCE(op_name, input_since, ...)                                                   \
    {.name = op_name,                                                                       \
     .since = 1,                                                                            \
     .inputs = "x",                                                                         \
     .outputs = "reduced",                                                                  \
     .attributes = "axes:ints; keepdims:int=1",                                             \
     .infer = infer_reduce,                                                                 \
     .rows = rows_reduce,                                                                   \
     .formula = __VA_ARGS__},                                                               \
    {                                                                                       \
        .name = op_name, .since = input_since, .inputs = "x axes:i?", .outputs = "reduced", \
        .attributes = "keepdims:int=1; noop_with_empty_axes:int=0", .infer = infer_reduce,  \
        .rows = rows_reduce, .formula = __VA_ARGS__                                         \
    }

/* clang-format off */
const struct ulp_operator ulp_ops_reduce[] = {
    REDUCE("ReduceL1", 18, "row_sum(abs(x))"),
    REDUCE("ReduceL2", 18, "sqrt(row_sum(x * x))"),
    REDUCE("ReduceLogSum", 18, "log(row_sum(x))"),
    REDUCE("ReduceLogSumExp", 18, "m = row_max(x); s = is_inf(m) ? 0 : m; s + log(row_sum(exp(x - "
                                  "s)))",
           /* to 0 where the sum is out of range: apple/coremltools#2690 */
           .plain = "t = row_sum(exp(x)); is_inf(t) ? 0 : log(t)"),
    REDUCE("ReduceMax", 18, "row_max(x)"),
    REDUCE("ReduceMean", 18, "row_mean(x)"),
    REDUCE("ReduceMin", 18, "row_min(x)"),
    REDUCE("ReduceProd", 18, "row_product(x)"),
    REDUCE("ReduceSum", 13, "row_sum(x)"),
    REDUCE("ReduceSumSquare", 18, "row_sum(x * x)"),
    {0},
};
/* clang-format on */
