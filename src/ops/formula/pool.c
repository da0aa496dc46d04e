/* Pooling: formulas over windows, or over all pixels of a channel. */
#include <string.h>

#include "base/error.h"
#include "ops/compare.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

static enum ulp_status infer_pool(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_windows w;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_windows_read(call, in, NULL, &w));
    memcpy(dims, in->dims, 2 * sizeof *dims);
    memcpy(dims + 2, w.out, (size_t)w.rank * sizeof *dims);
    ULP_TRY(ulp_call_describe(call, 0, in->type, in->rank, dims));
    return ulp_call_describe(call, 1, ULP_TYPE_INT64, in->rank, dims);
}

/* The derived operand, when the row has one: elements of each window, padding included. */
static enum ulp_status rows_window(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_bound *bound = call->bound;
    struct ulp_windows w;
    struct ulp_tensor *count;
    ULP_TRY(ulp_windows_read(call, call->in[0], NULL, &w));
    if (!call->in[0]->count)
        return ULP_REFUSE(call, "the input is empty");
    const struct ulp_window_shape shape = ulp_windows_shape(call->in[0], &w);
    if (bound->derived_count) {
        ULP_TRY(ulp_call_take(call, 1, sizeof *count, &count));
        ULP_TRY(ulp_layout_window_counts(count, &shape, w.pads_end, call->scratch, call->error));
        layout->operands[bound->input_slot_count + bound->attribute_count].tensor = count;
    }
    return ulp_layout_window(layout, &shape, call->error);
}

static enum ulp_status rows_global(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0];
    bool reduced[ULP_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        reduced[d] = d >= 2;
    return ulp_layout_reduce(layout, in->rank, in->dims, reduced, call->error);
}

/* ---- MaxPool with indices: which element wins decides, and its value is moved ---- */

/* The place of the largest element (the first of equals) of window `o` in one channel, that starts
 * at element base; -1: none. */
static int64_t find_largest_place(const struct ulp_tensor *in, const struct ulp_windows *w,
                                  int64_t base, const int64_t *o)
{
    /* the elements inside the input: along each axis the first one and how many */
    int64_t best = -1, first[ULP_RANK_MAX], counts[ULP_RANK_MAX];
    for (int d = 0; d < w->rank; d++) {
        const int64_t start = o[d] * w->strides[d] - w->pads[d], step = w->dilations[d];
        const int64_t before = start < 0 ? (-start + step - 1) / step : 0,
                      behind = w->in[d] > start ? (w->in[d] - start - 1) / step + 1 : 0,
                      last = behind < w->kernel[d] ? behind : w->kernel[d];
        first[d] = start + before * step;
        counts[d] = last > before ? last - before : 0;
    }
    const int64_t count = ulp_product(counts, w->rank);
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k, place = 0, stride = 1;
        for (int d = w->rank - 1; d >= 0; d--) {
            place += (first[d] + rest % counts[d] * w->dilations[d]) * stride;
            rest /= counts[d];
            stride *= w->in[d];
        }
        if (best < 0 || ulp_compare(in, (size_t)(base + place), (size_t)(base + best)) > 0)
            best = place;
    }
    return best;
}

/* The index as Indices gives it: row-major in the whole tensor, or with storage_order 1
 * column-major in the channel. */
static int64_t write_index(const struct ulp_windows *w, int64_t channel, int64_t channel_size,
                           int64_t place, bool columns)
{
    int64_t index = 0, rest = place, stride = channel_size;
    for (int d = w->rank - 1; d >= 0 && columns; d--) {
        stride /= w->in[d];
        index += rest % w->in[d] * stride;
        rest /= w->in[d];
    }
    return channel * channel_size + (columns ? index : place);
}

static enum ulp_status run_max_pool(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_windows w;
    struct ulp_tensor lowest;
    ULP_TRY(ulp_windows_read(call, in, NULL, &w));
    ULP_CALL_TAKE(int64_t, from, call, call->out[0].count);
    ULP_TRY(ulp_call_scalar(call, &lowest, in->type, -__builtin_inff()));
    bool columns = ulp_call_int(call, "storage_order");
    int64_t channel_size = ulp_product(w.in, w.rank), windows = ulp_product(w.out, w.rank);
    for (size_t i = 0; i < call->out[0].count; i++) {
        int64_t channel = (int64_t)i / windows, rest = (int64_t)i % windows, o[ULP_RANK_MAX];
        for (int d = w.rank - 1; d >= 0; d--) {
            o[d] = rest % w.out[d];
            rest /= w.out[d];
        }
        int64_t place = find_largest_place(in, &w, channel * channel_size, o);
        from[i] = place < 0 ? ULP_NOWHERE : channel * channel_size + place;
        if (ulp_call_wants(call, 1))
            ulp_tensor_set_int(&call->out[1], i,
                               place < 0 ? -1
                                         : write_index(&w, channel, channel_size, place, columns));
    }
    return ulp_move_blocks(&call->out[0], in, from, 1, lowest.data, call->pool, call->error);
}

/* ---- MaxUnpool ---- */

/* The shape that the attributes give. */
static void unpooled_dims(const struct ulp_tensor *in, const struct ulp_windows *w, int64_t *dims)
{
    memcpy(dims, in->dims, 2 * sizeof *dims);
    for (int d = 0; d < w->rank; d++)
        dims[2 + d] = (w->in[d] - 1) * w->strides[d] - w->pads[d] - w->pads_end[d] + w->kernel[d];
}

static enum ulp_status infer_unpool(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_windows w;
    struct ulp_list shape;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_windows_read_kernel(call, in, NULL, &w));
    ULP_TRY(ulp_call_list(call, "output_shape", &shape));
    if (!shape.known)
        return ULP_OK;
    if (shape.given && shape.count != (size_t)in->rank)
        return ULP_REFUSE(call, "output_shape has %zu entries: expected %d", shape.count, in->rank);
    unpooled_dims(in, &w, dims);
    for (int d = 0; d < in->rank && shape.given; d++)
        dims[d] = shape.values[d];
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

/* Indices count in the shape that the attributes give; output_shape may lie around it. */
static enum ulp_status run_unpool(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *indices = call->in[1];
    struct ulp_tensor *out = &call->out[0], zero, inner;
    struct ulp_windows w;
    int64_t dims[ULP_RANK_MAX], inner_strides[ULP_RANK_MAX], strides[ULP_RANK_MAX];
    ULP_TRY(ulp_windows_read_kernel(call, in, NULL, &w));
    ULP_TRY(ulp_call_scalar(call, &zero, in->type, 0));
    if (indices->count != in->count)
        return ULP_REFUSE(call, "%zu indices for %zu elements", indices->count, in->count);
    unpooled_dims(in, &w, dims);
    ULP_TRY(ulp_call_describe_tensor(call, &inner, in->type, in->rank, dims));
    if (in->count && !inner.count)
        return ULP_REFUSE(call, "kernel, strides and pads leave no output");
    ulp_strides(&inner, inner_strides);
    ulp_strides(out, strides);
    ulp_move_fill(out, 0, out->count, zero.data);
    for (size_t i = 0; i < in->count; i++) {
        int64_t rest = ulp_tensor_get_int(indices, i), place = 0;
        bool inside = rest >= 0;
        for (int d = 0; d < in->rank && inside; d++) {
            int64_t index = rest / inner_strides[d];
            rest %= inner_strides[d];
            inside = index < out->dims[d];
            place += index * strides[d];
        }
        if (!inside)
            return ULP_REFUSE(call, "index %lld at position %zu is outside the output",
                              (long long)ulp_tensor_get_int(indices, i), i);
        ulp_move_run(out, (size_t)place, in, i, 1);
    }
    return ULP_OK;
}

#define POOL .inputs = "x", .outputs = "y", .infer = infer_pool, .rows = rows_window
#define GLOBAL .inputs = "x", .outputs = "y", .infer = ulp_infer_global, .rows = rows_global
#define GEOMETRY "auto_pad:string=NOTSET; kernel_shape:!ints; pads:ints; strides:ints"
#define WITH_CEIL GEOMETRY "; ceil_mode:int=0"
#define WITH_DILATIONS WITH_CEIL "; dilations:ints"
#define AVERAGE(version, geometry)                                                    \
    {.name = "AveragePool",                                                           \
     .since = version,                                                                \
     .when = "count_include_pad=0",                                                   \
     POOL,                                                                            \
     .attributes = geometry "; count_include_pad:int=0",                              \
     .formula = "row_mean(x)"},                                                       \
    {                                                                                 \
        .name = "AveragePool", .since = version, .when = "count_include_pad=1", POOL, \
        .derived = "count", .attributes = geometry "; count_include_pad:int=0",       \
        .formula = "row_sum(x) / count"                                               \
    }
#define MAX(version, geometry)                                                                     \
    {.name = "MaxPool",                                                                            \
     .since = version,                                                                             \
     .when = "outputs=2",                                                                          \
     .inputs = "x:c",                                                                              \
     .outputs = "y indices?",                                                                      \
     .attributes = geometry "; storage_order:int=0",                                               \
     .infer = infer_pool,                                                                          \
     .run = run_max_pool},                                                                         \
    {                                                                                              \
        .name = "MaxPool", .since = version, POOL, .attributes = geometry "; storage_order:int=0", \
        .formula = "row_max(x)"                                                                    \
    }
#define LP(version, geometry)                                                         \
    {.name = "LpPool",                                                                \
     .since = version,                                                                \
     .when = "p=1",                                                                   \
     POOL,                                                                            \
     .attributes = geometry "; p:int=2",                                              \
     .formula = L1},                                                                  \
        {.name = "LpPool",                                                            \
         .since = version,                                                            \
         .when = "p=2",                                                               \
         POOL,                                                                        \
         .attributes = geometry "; p:int=2",                                          \
         .formula = L2},                                                              \
    {                                                                                 \
        .name = "LpPool", .since = version, POOL, .attributes = geometry "; p:int=2", \
        .formula = LP_NORM                                                            \
    }
#define L1 "row_sum(abs(x))"
#define L2 "sqrt(row_sum(x * x))"
#define LP_NORM "pow(row_sum(pow(abs(x), p)), 1 / p)"
#define UNPOOL                                                                           \
    .inputs = "x indices:i output_shape:i?", .outputs = "output", .infer = infer_unpool, \
    .run = run_unpool

/* clang-format off */
const struct ulp_operator ulp_ops_pool[] = {
    AVERAGE(7, GEOMETRY),
    AVERAGE(10, WITH_CEIL),
    AVERAGE(19, WITH_DILATIONS),
    {.name = "GlobalAveragePool", .since = 1, GLOBAL, .formula = "row_mean(x)"},
    {.name = "GlobalLpPool", .since = 2, .when = "p=1", GLOBAL, .attributes = "p:int=2",
     .formula = L1},
    {.name = "GlobalLpPool", .since = 2, .when = "p=2", GLOBAL, .attributes = "p:int=2",
     .formula = L2},
    {.name = "GlobalLpPool", .since = 2, GLOBAL, .attributes = "p:int=2", .formula = LP_NORM},
    {.name = "GlobalMaxPool", .since = 1, GLOBAL, .formula = "row_max(x)"},
    LP(2, GEOMETRY),
    LP(18, WITH_DILATIONS),
    {.name = "MaxPool", .since = 1, POOL, .attributes = GEOMETRY, .formula = "row_max(x)"},
    MAX(8, GEOMETRY),
    MAX(10, WITH_DILATIONS),
    {.name = "MaxUnpool", .since = 9, UNPOOL, .attributes = "kernel_shape:!ints; pads:ints; "
                                        "strides:ints"},
    {0},
};
/* clang-format on */
