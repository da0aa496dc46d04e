/* Operators that give the same elements another shape, or a shape as a tensor. */
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

static enum ulp_status run_copy(struct ulp_call *call)
{
    return ulp_move_runs(&call->out[0], 0, 0, call->in[0], 0, 0, 1, call->in[0]->count, call->pool,
                         call->error);
}

/* ---- Reshape ---- */

static enum ulp_status infer_reshape(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list shape;
    ULP_TRY(ulp_call_list(call, "shape", &shape));
    if (!shape.known)
        return ULP_OK;
    if (shape.count > ULP_RANK_MAX)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "shape has %zu dimensions: at most %d are supported", shape.count,
                        ULP_RANK_MAX);
    int64_t dims[ULP_RANK_MAX], known = 1;
    int rest = -1;
    bool zero_is_zero = ulp_call_int(call, "allowzero");
    for (int d = 0; d < (int)shape.count; d++) {
        dims[d] = shape.values[d];
        if (dims[d] == 0 && !zero_is_zero) {
            if (d >= in->rank)
                return ULP_REFUSE(call, "shape[%d] is 0, but the data has rank %d", d, in->rank);
            dims[d] = in->dims[d];
        }
        if (dims[d] == -1 && rest < 0)
            rest = d;
        else if (dims[d] < 0)
            return ULP_REFUSE(call, "shape[%d] is %lld", d, (long long)dims[d]);
        else if (__builtin_mul_overflow(known, dims[d], &known))
            return ULP_REFUSE(call, "shape asks for more elements than fit in memory");
    }
    if (rest >= 0 && (known == 0 || in->count % (size_t)known != 0))
        return ULP_REFUSE(call, "%zu elements do not divide into shape's %lld%s", in->count,
                          (long long)known,
                          zero_is_zero && !known ? " (allowzero=1 makes a 0 in it a size)" : "");
    if (rest >= 0)
        dims[rest] = (int64_t)in->count / known;
    else if ((size_t)known != in->count)
        return ULP_REFUSE(call, "%zu elements do not fit shape's %lld%s", in->count,
                          (long long)known,
                          zero_is_zero && !known ? " (allowzero=1 makes a 0 in it a size)" : "");
    return ulp_call_describe(call, 0, in->type, (int)shape.count, dims);
}

static enum ulp_status infer_flatten(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t axis = ulp_call_int(call, "axis"), dims[2] = {1, 1};
    if (axis < -in->rank || axis > in->rank)
        return ULP_REFUSE(call, "axis %lld is outside a tensor of rank %d", (long long)axis,
                          in->rank);
    for (int d = 0; d < in->rank; d++)
        dims[d >= (axis < 0 ? axis + in->rank : axis)] *= in->dims[d];
    return ulp_call_describe(call, 0, in->type, 2, dims);
}

/* ---- Squeeze, Unsqueeze ---- */

/* The attribute or input `axes` as marks on `rank` axes. */
static enum ulp_status read_marks(const struct ulp_list *axes, int rank, bool *marks,
                                  struct ulp_error *error)
{
    memset(marks, 0, ULP_RANK_MAX * sizeof *marks);
    for (size_t i = 0; i < axes->count; i++) {
        int axis;
        ULP_TRY(ulp_call_axis(axes->values[i], rank, &axis, error));
        if (marks[axis])
            return ulp_fail(error, ULP_ERROR_INPUT, "axis %d is given twice", axis);
        marks[axis] = true;
    }
    return ULP_OK;
}

static enum ulp_status infer_squeeze(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list axes;
    bool marks[ULP_RANK_MAX];
    int64_t dims[ULP_RANK_MAX];
    int rank = 0;
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    if (!axes.known)
        return ULP_OK;
    ULP_TRY(read_marks(&axes, in->rank, marks, call->error));
    for (int d = 0; d < in->rank; d++) {
        if (axes.given && marks[d] && in->dims[d] != 1)
            return ULP_REFUSE(call, "axis %d has %lld elements and cannot be squeezed", d,
                              (long long)in->dims[d]);
        if (axes.given ? !marks[d] : in->dims[d] != 1)
            dims[rank++] = in->dims[d];
    }
    return ulp_call_describe(call, 0, in->type, rank, dims);
}

static enum ulp_status infer_unsqueeze(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list axes;
    bool marks[ULP_RANK_MAX];
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    if (!axes.known)
        return ULP_OK;
    ULP_TRY(ulp_check_rank(axes.count + (size_t)in->rank, call->error));
    int rank = in->rank + (int)axes.count;
    ULP_TRY(read_marks(&axes, rank, marks, call->error));
    for (int d = 0, from = 0; d < rank; d++)
        dims[d] = marks[d] ? 1 : in->dims[from++];
    return ulp_call_describe(call, 0, in->type, rank, dims);
}

/* ---- Shape, Size: only shapes are looked at, so they run without data ---- */

/* dims[*first .. *last) are the ones asked for. */
static void read_range(const struct ulp_call *call, int64_t *first, int64_t *last)
{
    int64_t rank = call->in[0]->rank;
    const struct ulp_attribute_value *start = ulp_call_attribute(call, "start"),
                                     *end = ulp_call_attribute(call, "end");
    *first = start->present ? start->i : 0;
    *last = end->present ? end->i : rank;
    for (int i = 0; i < 2; i++) {
        int64_t *bound = i ? last : first;
        *bound += *bound < 0 ? rank : 0;
        *bound = *bound < 0 ? 0 : *bound > rank ? rank : *bound;
    }
    *last = *last < *first ? *first : *last;
}

static enum ulp_status infer_shape(struct ulp_call *call)
{
    int64_t first, last;
    read_range(call, &first, &last);
    return ulp_call_describe(call, 0, ULP_TYPE_INT64, 1, (int64_t[]){last - first});
}

static enum ulp_status run_shape(struct ulp_call *call)
{
    int64_t first, last;
    read_range(call, &first, &last);
    for (int64_t d = first; d < last; d++)
        ulp_tensor_set_int(&call->out[0], (size_t)(d - first), call->in[0]->dims[d]);
    return ULP_OK;
}

static enum ulp_status infer_size(struct ulp_call *call)
{
    return ulp_call_describe(call, 0, ULP_TYPE_INT64, 0, NULL);
}

static enum ulp_status run_size(struct ulp_call *call)
{
    ulp_tensor_set_int(&call->out[0], 0, (int64_t)call->in[0]->count);
    return ULP_OK;
}

/* ---- Dropout, as it is at inference ---- */

static enum ulp_status infer_dropout(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    ULP_TRY(ulp_call_describe(call, 0, in->type, in->rank, in->dims));
    return ulp_call_describe(call, 1, ULP_TYPE_BOOL, in->rank, in->dims);
}

static enum ulp_status run_dropout(struct ulp_call *call)
{
    const struct ulp_tensor *ratio = ulp_call_input(call, "ratio");
    int64_t training = 0;
    bool known;
    ULP_TRY(ulp_call_number(call, "training_mode", 0, &known, &training));
    if (training && !(ratio && ratio->count == 1 && ulp_tensor_read(ratio, 0) == 0))
        return ulp_fail(
            call->error, ULP_ERROR_UNSUPPORTED,
            "training_mode true is not supported: Dropout is only computed at inference");
    ulp_move_all(&call->out[0], call->in[0]);
    if (ulp_call_wants(call, 1))
        memset(call->out[1].data, 1, call->out[1].count);
    return ULP_OK;
}

#define SAME \
    .inputs = "x:*", .outputs = "y", .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME

/* clang-format off */
const struct ulp_operator ulp_ops_shape[] = {
    {.name = "Dropout", .since = 7, .inputs = "data", .outputs = "output mask?",
     .attributes = "ratio:float=0.5",
     .infer = infer_dropout, .run = run_dropout, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Dropout", .since = 12, .inputs = "data ratio:f? training_mode:b?",
     .outputs = "output mask?",
     .attributes = "seed:int", .infer = infer_dropout, .run = run_dropout, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Flatten", .since = 1, SAME, .attributes = "axis:int=1", .infer = infer_flatten},
    {.name = "Identity", .since = 1, SAME, .infer = ulp_infer_first},
    /* copies between memories, in graphs that ONNX Runtime has saved */
    {.name = "MemcpyFromHost", .since = 1, SAME, .infer = ulp_infer_first},
    {.name = "MemcpyToHost", .since = 1, SAME, .infer = ulp_infer_first},
    {.name = "Reshape", .since = 5, .inputs = "data shape:i", .outputs = "reshaped",
     .infer = infer_reshape,
     .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Reshape", .since = 14, .inputs = "data shape:i", .outputs = "reshaped",
     .attributes = "allowzero:int=0",
     .infer = infer_reshape, .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Shape", .since = 1, .inputs = "data", .outputs = "shape", .infer = infer_shape,
     .run = run_shape, .work = ULP_WORK_MOVE,
     .shape_only = true},
    {.name = "Shape", .since = 15, .inputs = "data", .outputs = "shape",
     .attributes = "start:int=0; end:int",
     .infer = infer_shape, .run = run_shape, .work = ULP_WORK_MOVE, .shape_only = true},
    {.name = "Size", .since = 1, .inputs = "data", .outputs = "size", .infer = infer_size,
     .run = run_size, .work = ULP_WORK_MOVE,
     .shape_only = true},
    {.name = "Squeeze", .since = 1, .inputs = "data", .outputs = "squeezed",
     .attributes = "axes:ints",
     .infer = infer_squeeze, .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Squeeze", .since = 13, .inputs = "data axes:i?", .outputs = "squeezed",
     .infer = infer_squeeze,
     .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Unsqueeze", .since = 1, .inputs = "data", .outputs = "expanded",
     .attributes = "axes:!ints",
     .infer = infer_unsqueeze, .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {.name = "Unsqueeze", .since = 13, .inputs = "data axes:i", .outputs = "expanded",
     .infer = infer_unsqueeze,
     .run = run_copy, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME},
    {0},
};
/* clang-format on */
