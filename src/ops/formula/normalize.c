/* Normalisations: formulas over rows whose elements all matter to each other. */

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/infer.h"

/* ---- which axes a row runs along ---- */

/* The attribute axis alone. */
static enum ulp_status rows_axis(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX] = {false};
    if (in->rank == 0)
        return ulp_layout_reduce(layout, 1, (int64_t[]){1}, (bool[]){true}, call->error);
    ULP_CALL_AXIS(axis, call);
    reduced[axis] = true;
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* Everything from the attribute axis on, as if the tensor were a matrix. axis may be the rank. */
static enum ulp_status rows_from_axis(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t axis = ulp_call_int(call, "axis");
    bool reduced[ULP_RANK_MAX];
    if (axis < -in->rank || axis > in->rank)
        return ULP_REFUSE(call, "axis %lld is outside a tensor of rank %d", (long long)axis,
                          in->rank);
    for (int d = 0; d < in->rank; d++)
        reduced[d] = d >= (axis < 0 ? axis + in->rank : axis);
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* The same with a bias of fewer rows: each for several that follow one another, or all in turn. */
static enum ulp_status rows_biased(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0], *bias = call->in[1];
    const bool inner = ulp_call_int(call, "is_inner_broadcast");
    size_t row = 1;
    ULP_CALL_AXIS(axis, call);
    for (int d = axis; d < in->rank; d++)
        row *= (size_t)in->dims[d];
    const size_t rows = row ? in->count / row : 0, given = row ? bias->count / row : 0;
    if (row == 0 || given == 0 || bias->count % row || rows % given)
        return ULP_REFUSE(call, "the bias has %zu elements: expected rows of %zu, for %zu",
                          bias->count, row, rows);
    const int64_t few = (int64_t)given, times = (int64_t)(rows / given), own = (int64_t)row;
    const int64_t dims[3] = {inner ? few : times, inner ? times : few, own};
    const int64_t biased[3] = {inner ? few : 1, inner ? 1 : few, own};
    layout->operands[0].tensor = ulp_layout_view(call->scratch, in, 3, dims);
    layout->operands[1].tensor = ulp_layout_view(call->scratch, bias, 3, biased);
    layout->outputs[0].tensor = ulp_layout_view(call->scratch, layout->outputs[0].tensor, 3, dims);
    ULP_TRY(ulp_taken(layout->operands[0].tensor && layout->operands[1].tensor &&
                          layout->outputs[0].tensor,
                      call->error));
    return ulp_layout_reduce(layout, 3, dims, (bool[]){false, false, true}, call->error);
}

static enum ulp_status rows_axes(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX] = {false};
    struct ulp_list axes;
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    for (size_t i = 0; i < axes.count; i++) {
        int axis;
        ULP_TRY(ulp_call_axis(axes.values[i], in->rank, &axis, call->error));
        reduced[axis] = true;
    }
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* Inputs after the first lie along axis 1 and are as long as it. */
static enum ulp_status lay_channels(struct ulp_call *call, struct ulp_operand *operands)
{
    const struct ulp_tensor *in = call->in[0];
    if (in->rank < 2)
        return ULP_REFUSE(call, "the input has rank %d: expected batch and channels", in->rank);
    for (size_t i = 1; i < call->bound->input_slot_count; i++)
        if (call->in[i]->count != (size_t)in->dims[1])
            return ULP_REFUSE(
                call, "input %zu, %s, has %zu elements: expected one for each of %lld channels", i,
                call->bound->inputs[i].name, call->in[i]->count, (long long)in->dims[1]);
        else
            ULP_TRY(ulp_call_along(call, &operands[i], in->rank, 1));
    return ULP_OK;
}

enum ulp_status ulp_rows_channels(struct ulp_call *call, const struct ulp_layout *layout)
{
    ULP_TRY(lay_channels(call, layout->operands));
    return ulp_layout_elementwise(layout, call->error);
}

/* A row for each image and channel. */
static enum ulp_status rows_instances(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        reduced[d] = d >= 2;
    ULP_TRY(lay_channels(call, layout->operands));
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* A row for each channel of the whole batch. */
static enum ulp_status rows_batch(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        reduced[d] = d != 1;
    ULP_TRY(lay_channels(call, layout->operands));
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* A row for each image and group of channels: N x groups x channels of a group x the rest. Scale
 * and bias are per channel, or (parameter 1) per group. */
static enum ulp_status rows_groups(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t groups = ulp_call_int(call, "num_groups"), channels = in->rank > 1 ? in->dims[1] : 0;
    if (in->rank < 2 || groups < 1 || channels % groups != 0)
        return ULP_REFUSE(call, "num_groups is %lld for %lld channels", (long long)groups,
                          (long long)channels);
    int64_t inner = 1;
    for (int d = 2; d < in->rank; d++)
        inner *= in->dims[d];
    const bool per_group = call->bound->op->parameter == 1;
    const int64_t dims[4] = {in->dims[0], groups, channels / groups, inner};
    const int64_t parameters[4] = {1, groups, per_group ? 1 : channels / groups, 1};
    layout->operands[0].tensor = ulp_layout_view(call->scratch, in, 4, dims);
    layout->outputs[0].tensor = ulp_layout_view(call->scratch, layout->outputs[0].tensor, 4, dims);
    for (int i = 1; i < 3; i++) {
        if (call->in[i]->count != (size_t)(parameters[1] * parameters[2]))
            return ULP_REFUSE(call, "input %d has %zu elements: expected %lld", i,
                              call->in[i]->count, (long long)(parameters[1] * parameters[2]));
        layout->operands[i].tensor = ulp_layout_view(call->scratch, call->in[i], 4, parameters);
    }
    ULP_TRY(ulp_taken(layout->operands[0].tensor && layout->outputs[0].tensor &&
                          layout->operands[1].tensor && layout->operands[2].tensor,
                      call->error));
    return ulp_layout_reduce(layout, 4, dims, (bool[]){false, false, true, true}, call->error);
}

/* LRN: a row for each element, its positions the channels around it. */
struct neighbours {
    int64_t channels, pixels, before;
    size_t size;
};

static size_t fill_neighbours(const void *context, size_t row, int32_t *positions)
{
    const struct neighbours *n = context;
    int64_t channel = (int64_t)row / n->pixels % n->channels;
    size_t count = 0;
    for (size_t p = 0; p < n->size; p++)
        if (channel + (int64_t)p >= n->before && channel + (int64_t)p - n->before < n->channels)
            positions[count++] = (int32_t)p;
    return count;
}

static enum ulp_status rows_neighbours(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t size = ulp_call_int(call, "size");
    if (in->rank < 2 || size < 1 || size > 1 << 16)
        return ULP_REFUSE(call, "size %lld, rank %d: expected a positive size and channels",
                          (long long)size, in->rank);
    ULP_CALL_TAKE(struct neighbours, n, call, 1);
    const struct ulp_split split = ulp_split_at(in, 1);
    *n = (struct neighbours){(int64_t)split.size, (int64_t)split.inner, (size - 1) / 2,
                             (size_t)size};
    *layout->rows = (struct ulp_rows){.row_count = in->count,
                                      .row_length = n->size,
                                      .window = fill_neighbours,
                                      .window_context = n};
    ULP_CALL_TAKE(int64_t, first, call, in->count);
    for (size_t i = 0; i < in->count; i++)
        first[i] = (int64_t)i - n->before * n->pixels;
    layout->operands[0].row_stride = layout->outputs[0].row_stride = 1;
    layout->operands[call->bound->input_slot_count + call->bound->attribute_count] =
        (struct ulp_operand){.tensor = in, .row_offset = first, .position_stride = n->pixels};
    return ULP_OK;
}

/* ---- shapes ---- */

/* The last one without that attribute. */
static enum ulp_status find_axis(const struct ulp_call *call, int *axis)
{
    const struct ulp_attribute_value *given = ulp_call_attribute(call, "axis");
    return ulp_call_axis(given->present ? given->i : -1, call->in[0]->rank, axis, call->error);
}

enum ulp_status ulp_infer_norm(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    int axis;
    ULP_TRY(find_axis(call, &axis));
    for (int d = 0; d < in->rank; d++)
        dims[d] = d < axis ? in->dims[d] : 1;
    for (size_t i = 0; i < call->output_count; i++)
        ULP_TRY(ulp_call_describe(call, i, in->type, in->rank, i == 0 || i == 3 ? in->dims : dims));
    return ULP_OK;
}

enum ulp_status ulp_rows_norm(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX];
    int axis;
    ULP_TRY(find_axis(call, &axis));
    for (int d = 0; d < in->rank; d++)
        reduced[d] = d >= axis;
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

static enum ulp_status infer_batch_norm(struct ulp_call *call)
{
    ULP_TRY(ulp_call_describe(call, 0, call->in[0]->type, call->in[0]->rank, call->in[0]->dims));
    for (size_t i = 1; i < 3 && call->bound->op->parameter; i++)
        ULP_TRY(ulp_call_describe(call, i, call->in[3]->type, 1, call->in[3]->dims));
    return ULP_OK;
}

#define SAME .outputs = "y", .infer = ulp_infer_first
#define SOFTMAX "e = exp(x - row_max(x)); e / row_sum(e)"
#define LOG_SOFTMAX "d = x - row_max(x); d - log(row_sum(exp(d)))"
/* As coremltools writes it (apple/coremltools#2728). */
#define PLAIN_LOG_SOFTMAX "e = exp(x - row_max(x)); log(e / row_sum(e))"
#define BATCH_NORM "(x - mean) / sqrt(var + epsilon) * scale + bias"
/* As PyTorch 2.11 computes it: with the GPU's reciprocal root every channel of 32 recorded ones has
 * the bits of FP32 (h200_layers.npz). */
#define TORCH_BATCH_NORM "fma(scale * (x - mean), rsqrt(var + epsilon), bias)"
/* The same of layernorm's rows, given their mean and variance: 57 of 64 recorded rows, where the
 * order of these two sums leaves a few ulps open. */
#define TORCH_LAYER_NORM                                                                 \
    "mean = row_mean(x); d = x - mean; inv_std_dev = rsqrt(row_mean(d * d) + epsilon); " \
    "fma(d * inv_std_dev, scale, bias)"
#define GROUP_NORM "d = x - row_mean(x); scale * (d / sqrt(row_mean(d * d) + epsilon)) + bias"

/* clang-format off */
const struct ulp_operator ulp_ops_normalize[] = {
    {.name = "BatchNormalization", .since = 7, .when = "spatial=0",
     .inputs = "x scale bias mean var", .outputs = "y",
     .attributes = "epsilon:float=1e-5; momentum:float=0.9; spatial:int=1",
     .infer = infer_batch_norm,
     .formula = BATCH_NORM, .torch = TORCH_BATCH_NORM},
    {.name = "BatchNormalization", .since = 7, .when = "spatial=1",
     .inputs = "x scale bias mean var", .outputs = "y",
     .attributes = "epsilon:float=1e-5; momentum:float=0.9; spatial:int=1",
     .infer = infer_batch_norm,
     .rows = ulp_rows_channels, .formula = BATCH_NORM, .torch = TORCH_BATCH_NORM},
    {.name = "BatchNormalization", .since = 9, .inputs = "x scale bias mean var", .outputs = "y",
     .attributes = "epsilon:float=1e-5; momentum:float=0.9", .infer = infer_batch_norm,
     .rows = ulp_rows_channels,
     .formula = BATCH_NORM, .torch = TORCH_BATCH_NORM},
    {.name = "BatchNormalization", .since = 14, .when = "training_mode=0",
     .inputs = "x scale:f bias:f mean:f var:f",
     .outputs = "y", .attributes = "epsilon:float=1e-5; momentum:float=0.9; training_mode:int=0",
     .infer = infer_batch_norm, .rows = ulp_rows_channels, .formula = BATCH_NORM, .torch = TORCH_BATCH_NORM},
    {.name = "BatchNormalization", .since = 14, .when = "training_mode=1",
     .inputs = "x scale:f bias:f input_mean:f input_var:f",
     .outputs = "y running_mean? running_var?",
     .attributes = "epsilon:float=1e-5; momentum:float=0.9; training_mode:int=0",
     .infer = infer_batch_norm,
     .parameter = 1, .rows = rows_batch,
     .formula = "mean = row_mean(x); d = x - mean; var = row_mean(d * d); "
                "running_mean = input_mean * momentum + mean * (1 - momentum); "
                "running_var = input_var * momentum + var * (1 - momentum); d / sqrt(var + "
                "epsilon) * scale + bias"},
    {.name = "BiasSoftmax", .domain = "com.microsoft", .since = 1, .inputs = "a bias", SAME,
     .attributes = "axis:int=1; is_inner_broadcast:int", .rows = rows_biased,
     .formula = "x = a + bias; " SOFTMAX},
    {.name = "GroupNormalization", .since = 18, .until = 20, .inputs = "x scale bias", SAME,
     .attributes = "epsilon:float=1e-5; num_groups:!int", .rows = rows_groups, .parameter = 1,
     .formula = GROUP_NORM},
    {.name = "GroupNormalization", .since = 21, .inputs = "x scale bias", SAME,
     .attributes = "epsilon:float=1e-5; num_groups:!int; stash_type:int=1", .rows = rows_groups,
     .formula = GROUP_NORM},
    {.name = "InstanceNormalization", .since = 6, .inputs = "x scale bias", SAME,
     .attributes = "epsilon:float=1e-5",
     .rows = rows_instances, .formula = "d = x - row_mean(x); scale * d / sqrt(row_mean(d * d) + "
                                        "epsilon) + bias",
     .torch = "d = x - row_mean(x); fma(scale * d, rsqrt(row_mean(d * d) + epsilon), bias)"},
    {.name = "LRN", .since = 1, .inputs = "x", SAME,
     .attributes = "alpha:float=0.0001; beta:float=0.75; bias:float=1; size:!int",
     .derived = "near",
     .rows = rows_neighbours, .formula = "x / pow(bias + alpha / size * row_sum(near * near), "
                                        "beta)"},
    {.name = "LayerNormalization", .since = 17, .inputs = "x scale bias?=-0",
     .outputs = "y mean? inv_std_dev?",
     .attributes = "axis:int=-1; epsilon:float=1e-5; stash_type:int=1", .infer = ulp_infer_norm,
     .rows = rows_from_axis,
     .formula = "mean = row_mean(x); d = x - mean; s = sqrt(row_mean(d * d) + epsilon); "
                "inv_std_dev = 1 / s; "
                "d / s * scale + bias", .torch = TORCH_LAYER_NORM},
    {.name = "LogSoftmax", .since = 1, .inputs = "x", SAME, .attributes = "axis:int=1",
     .rows = rows_from_axis,
     .formula = LOG_SOFTMAX, .plain = PLAIN_LOG_SOFTMAX},
    {.name = "LogSoftmax", .since = 13, .inputs = "x", SAME, .attributes = "axis:int=-1",
     .rows = rows_axis,
     .formula = LOG_SOFTMAX, .plain = PLAIN_LOG_SOFTMAX},
    {.name = "LpNormalization", .since = 1, .when = "p=1", .inputs = "x", SAME,
     .attributes = "axis:int=-1; p:int=2",
     .rows = rows_axis, .formula = "n = row_sum(abs(x)); n == 0 ? 0 : x / n"},
    {.name = "LpNormalization", .since = 1, .when = "p=2", .inputs = "x", SAME,
     .attributes = "axis:int=-1; p:int=2",
     .rows = rows_axis, .formula = "n = sqrt(row_sum(x * x)); n == 0 ? 0 : x / n"},
    {.name = "MeanVarianceNormalization", .since = 1 /* experimental before 9 */,
     .inputs = "x", SAME,
     .attributes = "axes:ints=0,2,3", .rows = rows_axes,
     .formula = "d = x - row_mean(x); d / (sqrt(row_mean(d * d)) + 1e-9)"},
    {.name = "RMSNormalization", .since = 23, .inputs = "x scale:f", SAME,
     .attributes = "axis:int=-1; epsilon:float=1e-5; stash_type:int=1", .rows = rows_from_axis,
     .formula = "x / sqrt(row_mean(x * x) + epsilon) * scale",
     .torch = "x * rsqrt(row_mean(x * x) + epsilon) * scale"},
    {.name = "Softmax", .since = 1, .inputs = "x", SAME, .attributes = "axis:int=1",
     .rows = rows_from_axis,
     .formula = SOFTMAX},
    {.name = "Softmax", .since = 13, .inputs = "x", SAME, .attributes = "axis:int=-1",
     .rows = rows_axis,
     .formula = SOFTMAX},
    {0},
};
/* clang-format on */
