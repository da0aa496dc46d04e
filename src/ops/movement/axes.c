/* Operators that choose elements along each axis by a rule: cut, repeat, pad. */
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

/* Along each axis of input 0 element i is that of index(start + i * step), where there is one, else
 * the fill. step NULL: 1. */
static enum ulp_status move_along(struct ulp_call *call, const int64_t *start, const int64_t *step,
                                  ulp_pad_fn *index, const void *fill)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor *out = &call->out[0];
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    ulp_strides(in, strides);
    for (int d = 0; d < in->rank; d++) {
        const size_t count = (size_t)out->dims[d];
        ULP_TRY(ulp_call_take(call, count, sizeof **tables, &tables[d]));
        for (size_t i = 0; i < count; i++) {
            const int64_t at = start[d] + (int64_t)i * (step ? step[d] : 1),
                          from = index(at, in->dims[d]);
            tables[d][i] = from == ULP_NOWHERE ? from : from * strides[d];
        }
    }
    return ulp_move_axes(out, in, (const int64_t *const *)tables, fill, call->pool, call->error);
}

/* ---- Slice ---- */

struct slice {
    bool known;
    int64_t start[ULP_RANK_MAX], step[ULP_RANK_MAX], count[ULP_RANK_MAX];
};

/* Python's slice of an axis of `size`. */
static void slice_axis(struct slice *slice, int axis, int64_t size, int64_t start, int64_t end,
                       int64_t step)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    start = ulp_clamp(start < 0 ? start + size : start, low, high);
    end = ulp_clamp(end < 0 ? (end < -size ? low : end + size) : end, low, high);
    uint64_t distance = step < 0      ? (start > end ? (uint64_t)(start - end) : 0)
                        : end > start ? (uint64_t)(end - start)
                                      : 0;
    uint64_t stride = step < 0 ? -(uint64_t)step : (uint64_t)step;
    slice->start[axis] = start;
    slice->step[axis] = step;
    slice->count[axis] = (int64_t)(distance / stride + (distance % stride != 0));
}

static enum ulp_status read_slice(const struct ulp_call *call, struct slice *slice)
{
    const struct ulp_tensor *in = call->in[0];
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    struct ulp_list lists[4];
    *slice = (struct slice){.known = true};
    for (int i = 0; i < 4; i++) {
        ULP_TRY(ulp_call_list(call, names[i], &lists[i]));
        slice->known = slice->known && lists[i].known;
        if (lists[i].given && lists[i].count != lists[0].count)
            return ULP_REFUSE(call, "%s has %zu entries, starts has %zu", names[i], lists[i].count,
                              lists[0].count);
    }
    for (int d = 0; d < in->rank; d++)
        slice_axis(slice, d, in->dims[d], 0, in->dims[d], 1);
    for (size_t i = 0; slice->known && i < lists[0].count; i++) {
        int axis;
        ULP_TRY(ulp_call_axis(lists[2].given ? lists[2].values[i] : (int64_t)i, in->rank, &axis,
                              call->error));
        int64_t step = lists[3].given ? lists[3].values[i] : 1;
        if (step == 0)
            return ULP_REFUSE(call, "steps[%zu] is 0", i);
        slice_axis(slice, axis, in->dims[axis], lists[0].values[i], lists[1].values[i], step);
    }
    return ULP_OK;
}

static enum ulp_status infer_slice(struct ulp_call *call)
{
    struct slice slice;
    ULP_TRY(read_slice(call, &slice));
    if (!slice.known)
        return ULP_OK;
    return ulp_call_describe(call, 0, call->in[0]->type, call->in[0]->rank, slice.count);
}

static enum ulp_status run_slice(struct ulp_call *call)
{
    struct slice slice;
    ULP_TRY(read_slice(call, &slice));
    return move_along(call, slice.start, slice.step, ulp_pad_constant, NULL);
}

/* ---- Expand, Tile ---- */

static enum ulp_status infer_expand(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list shape;
    struct ulp_tensor wanted = {0};
    int rank;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_call_list(call, "shape", &shape));
    if (!shape.known)
        return ULP_OK;
    ULP_TRY(ulp_check_rank(shape.count, call->error));
    ULP_TRY(ulp_tensor_describe(&wanted, ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 0, (int)shape.count,
                                shape.values, call->error));
    ULP_TRY(ulp_broadcast_shape(2, (const struct ulp_tensor *[]){in, &wanted}, &rank, dims,
                                call->error));
    return ulp_call_describe(call, 0, in->type, rank, dims);
}

static enum ulp_status run_expand(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *out = &call->out[0];
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX] = {NULL};
    ulp_strides(in, strides);
    for (int d = 0; d < in->rank; d++)
        if (in->dims[d] != 1)
            ULP_TRY(ulp_move_table(call, &tables[out->rank - in->rank + d], (size_t)in->dims[d], 0,
                                   strides[d]));
    return ulp_move_axes(&call->out[0], in, (const int64_t *const *)tables, NULL, call->pool,
                         call->error);
}

static enum ulp_status infer_tile(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list repeats;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_call_list(call, "repeats", &repeats));
    if (!repeats.known)
        return ULP_OK;
    if (repeats.count != (size_t)in->rank)
        return ULP_REFUSE(call, "repeats has %zu entries for a tensor of rank %d", repeats.count,
                          in->rank);
    for (int d = 0; d < in->rank; d++)
        if (__builtin_mul_overflow(in->dims[d], repeats.values[d], &dims[d]))
            return ULP_REFUSE(call, "repeats[%d] is %lld", d, (long long)repeats.values[d]);
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static enum ulp_status run_tile(struct ulp_call *call)
{
    return move_along(call, (int64_t[ULP_RANK_MAX]){0}, NULL, ulp_pad_wrap, NULL);
}

/* ---- Pad, CenterCropPad ---- */

struct pads {
    bool known;
    int64_t begin[ULP_RANK_MAX], end[ULP_RANK_MAX]; /* negative: cut */
};

static enum ulp_status read_pads(const struct ulp_call *call, struct pads *pads)
{
    int rank = call->in[0]->rank;
    struct ulp_list amounts, axes;
    *pads = (struct pads){.known = true};
    ULP_TRY(ulp_call_list(call, "pads", &amounts));
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    pads->known = amounts.known && axes.known;
    size_t count = axes.given ? axes.count : (size_t)rank;
    if (amounts.count != 2 * count)
        return ULP_REFUSE(call, "pads has %zu entries: expected %zu", amounts.count, 2 * count);
    for (size_t i = 0; pads->known && i < count; i++) {
        int axis;
        ULP_TRY(ulp_call_axis(axes.given ? axes.values[i] : (int64_t)i, rank, &axis, call->error));
        pads->begin[axis] = amounts.values[i];
        pads->end[axis] = amounts.values[count + i];
        if (pads->begin[axis] < -ULP_COUNT_MAX || pads->begin[axis] > ULP_COUNT_MAX ||
            pads->end[axis] < -ULP_COUNT_MAX || pads->end[axis] > ULP_COUNT_MAX)
            return ULP_REFUSE(call, "pads of axis %d are out of range", axis);
    }
    return ULP_OK;
}

static enum ulp_status infer_pad(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct pads pads;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_pads(call, &pads));
    if (!pads.known)
        return ULP_OK;
    for (int d = 0; d < in->rank; d++) {
        dims[d] = in->dims[d] + pads.begin[d] + pads.end[d];
        if (in->dims[d] == 0 && dims[d] > 0 && !ulp_call_is(call, "mode", "constant"))
            return ULP_REFUSE(call, "axis %d is empty and can only be padded with a constant", d);
    }
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static const struct pad_mode {
    const char *name;
    ulp_pad_fn *index;
} pad_modes[] = {{"constant", ulp_pad_constant},
                 {"edge", ulp_pad_edge},
                 {"reflect", ulp_pad_reflect},
                 {"wrap", ulp_pad_wrap}};

static enum ulp_status check_pad(struct ulp_call *call)
{
    for (size_t i = 0; i < sizeof pad_modes / sizeof *pad_modes; i++)
        if (ulp_call_is(call, "mode", pad_modes[i].name))
            return ULP_OK;
    return ULP_REFUSE(call, "mode %s: expected constant, edge, reflect or wrap",
                      ulp_call_attribute(call, "mode")->s);
}

static enum ulp_status run_pad(struct ulp_call *call)
{
    const struct pad_mode *mode = pad_modes;
    const struct ulp_tensor *value = ulp_call_input(call, "constant_value");
    struct ulp_tensor constant;
    struct pads pads;
    int64_t start[ULP_RANK_MAX];
    while (!ulp_call_is(call, "mode", mode->name))
        mode++;
    if (value && value->count != 1)
        return ULP_REFUSE(call, "constant_value has %zu elements: expected 1", value->count);
    ULP_TRY(read_pads(call, &pads));
    if (!value)
        ULP_TRY(ulp_call_scalar(call, &constant, call->in[0]->type,
                                ulp_call_attribute(call, "value")->f));
    for (int d = 0; d < call->in[0]->rank; d++)
        start[d] = -pads.begin[d];
    return move_along(call, start, NULL, mode->index, value ? value->data : constant.data);
}

static enum ulp_status infer_center(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list shape, axes;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_call_list(call, "shape", &shape));
    ULP_TRY(ulp_call_list(call, "axes", &axes));
    if (!shape.known)
        return ULP_OK;
    if (shape.count != (axes.given ? axes.count : (size_t)in->rank))
        return ULP_REFUSE(call, "shape has %zu entries", shape.count);
    memcpy(dims, in->dims, sizeof dims);
    for (size_t i = 0; i < shape.count; i++) {
        int axis;
        ULP_TRY(
            ulp_call_axis(axes.given ? axes.values[i] : (int64_t)i, in->rank, &axis, call->error));
        dims[axis] = shape.values[i];
    }
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static enum ulp_status run_center(struct ulp_call *call)
{
    struct ulp_tensor zero;
    int64_t start[ULP_RANK_MAX];
    ULP_TRY(ulp_call_scalar(call, &zero, call->in[0]->type, 0));
    for (int d = 0; d < call->in[0]->rank; d++) {
        int64_t from = call->in[0]->dims[d], to = call->out[0].dims[d];
        start[d] = to > from ? -((to - from) / 2) : (from - to) / 2;
    }
    return move_along(call, start, NULL, ulp_pad_constant, zero.data);
}

#define PAD                                                                        \
    .infer = infer_pad, .check = check_pad, .run = run_pad, .work = ULP_WORK_MOVE, \
    .route = ULP_ROUTE_COPIED
#define SLICE                                                                           \
    .outputs = "output", .infer = infer_slice, .run = run_slice, .work = ULP_WORK_MOVE, \
    .route = ULP_ROUTE_INDEXED

/* clang-format off */
const struct ulp_operator ulp_ops_axes[] = {
    {.name = "CenterCropPad", .since = 18, .inputs = "input_data shape:i", .outputs = "output_data",
     .attributes = "axes:ints", .infer = infer_center, .run = run_center, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "DynamicSlice", .since = 1 /* experimental */, .until = 9,
     .inputs = "data starts:i ends:i axes:i?",
     SLICE},
    {.name = "Expand", .since = 8, .inputs = "input shape:i", .outputs = "output",
     .infer = infer_expand,
     .run = run_expand, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_INDEXED},
    {.name = "Pad", .since = 2, .inputs = "data", .outputs = "output",
     .attributes = "mode:string=constant; pads:!ints; value:float=0", PAD},
    {.name = "Pad", .since = 11, .inputs = "data pads:i constant_value?", .outputs = "output",
     .attributes = "mode:string=constant", PAD},
    {.name = "Pad", .since = 18, .inputs = "data pads:i constant_value? axes:i?",
     .outputs = "output",
     .attributes = "mode:string=constant", PAD},
    {.name = "Slice", .since = 1, .inputs = "data", .attributes = "axes:ints; ends:!ints; "
                                        "starts:!ints", SLICE},
    {.name = "Slice", .since = 10, .inputs = "data starts:i ends:i axes:i? steps:i?", SLICE},
    {.name = "Tile", .since = 6, .inputs = "input repeats:i", .outputs = "output",
     .infer = infer_tile,
     .run = run_tile, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {0},
};
/* clang-format on */
