/* Operators that move elements by a rule per axis: cut, join, turn, repeat, pad. */
#include <string.h>

#include "base/error.h"
#include "ops/move.h"

/* ---- Transpose, DepthToSpace, SpaceToDepth ---- */

static enum ulp_status read_perm(const struct ulp_call *call, int *perm, struct ulp_error *error)
{
    int rank = call->in[0]->rank;
    struct ulp_list list;
    bool seen[ULP_RANK_MAX] = {false};
    enum ulp_status status = ulp_call_list(call, "perm", &list, error);
    for (int d = 0; d < rank; d++)
        perm[d] = rank - 1 - d;
    if (status != ULP_OK || !list.given)
        return status;
    if (list.count != (size_t)rank)
        return ulp_fail(error, ULP_ERROR_INPUT, "perm has %zu entries for a tensor of rank %d", list.count, rank);
    for (int d = 0; d < rank; d++) {
        if ((status = ulp_call_axis(list.values[d], rank, &perm[d], error)) != ULP_OK)
            return status;
        if (seen[perm[d]])
            return ulp_fail(error, ULP_ERROR_INPUT, "perm names axis %d twice", perm[d]);
        seen[perm[d]] = true;
    }
    return ULP_OK;
}

static enum ulp_status infer_transpose(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    int perm[ULP_RANK_MAX];
    int64_t dims[ULP_RANK_MAX];
    enum ulp_status status = read_perm(call, perm, error);
    for (int d = 0; status == ULP_OK && d < in->rank; d++)
        dims[d] = in->dims[perm[d]];
    return status == ULP_OK ? ulp_call_describe(call, 0, in->type, in->rank, dims, error) : status;
}

static enum ulp_status run_transpose(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    int perm[ULP_RANK_MAX];
    enum ulp_status status = read_perm(call, perm, error);
    return status == ULP_OK ? ulp_move_permuted(call, &call->out[0], in, in->rank, in->dims, perm, error) : status;
}

static enum ulp_status read_block(const struct ulp_call *call, int64_t *block, struct ulp_error *error)
{
    *block = ulp_call_int(call, "blocksize");
    if (call->in[0]->rank != 4)
        return ulp_fail(error, ULP_ERROR_INPUT, "the input has rank %d: expected 4", call->in[0]->rank);
    return *block > 0 && *block < 1 << 20 ? ULP_OK : ulp_fail(error, ULP_ERROR_INPUT, "blocksize is %lld", (long long)*block);
}

static enum ulp_status infer_depth_to_space(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t b;
    enum ulp_status status = read_block(call, &b, error);
    if (status != ULP_OK)
        return status;
    if (in->dims[1] % (b * b) != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%lld channels do not divide by blocksize squared", (long long)in->dims[1]);
    return ulp_call_describe(call, 0, in->type, 4,
                             (int64_t[]){in->dims[0], in->dims[1] / (b * b), in->dims[2] * b, in->dims[3] * b}, error);
}

/* parameter: 0 depth-column-row (DCR), 1 column-row-depth (CRD) */
static enum ulp_status run_depth_to_space(struct ulp_call *call, struct ulp_error *error)
{
    const int64_t b = ulp_call_int(call, "blocksize"), *d = call->in[0]->dims, channels = d[1] / (b * b);
    if (call->bound->op->parameter == 1)
        return ulp_move_permuted(call, &call->out[0], call->in[0], 6, (int64_t[]){d[0], channels, b, b, d[2], d[3]},
                                 (int[]){0, 1, 4, 2, 5, 3}, error);
    return ulp_move_permuted(call, &call->out[0], call->in[0], 6, (int64_t[]){d[0], b, b, channels, d[2], d[3]},
                             (int[]){0, 3, 4, 1, 5, 2}, error);
}

static enum ulp_status infer_space_to_depth(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t b;
    enum ulp_status status = read_block(call, &b, error);
    if (status != ULP_OK)
        return status;
    if (in->dims[2] % b != 0 || in->dims[3] % b != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "%lld x %lld pixels do not divide by blocksize", (long long)in->dims[2],
                        (long long)in->dims[3]);
    return ulp_call_describe(call, 0, in->type, 4,
                             (int64_t[]){in->dims[0], in->dims[1] * b * b, in->dims[2] / b, in->dims[3] / b}, error);
}

static enum ulp_status run_space_to_depth(struct ulp_call *call, struct ulp_error *error)
{
    const int64_t b = ulp_call_int(call, "blocksize"), *d = call->in[0]->dims;
    static const int orders[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
    return ulp_move_permuted(call, &call->out[0], call->in[0], 6, (int64_t[]){d[0], d[1], d[2] / b, b, d[3] / b, b},
                             orders[call->bound->op->parameter], error);
}

/* ---- tables: one per axis of input 0 ---- */

struct axis_tables {
    int64_t *table[ULP_RANK_MAX];
    int64_t strides[ULP_RANK_MAX];
};

/* All of every axis; operators then change the axes they touch. */
static enum ulp_status make_tables(const struct ulp_call *call, struct axis_tables *tables, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *out = &call->out[0];
    enum ulp_status status = ULP_OK;
    ulp_strides(in, tables->strides);
    for (int d = 0; status == ULP_OK && d < in->rank; d++)
        status = ulp_move_table(call, &tables->table[d], (size_t)out->dims[d], 0, tables->strides[d], error);
    return status;
}

static enum ulp_status move_tables(struct ulp_call *call, const struct axis_tables *tables, const void *fill,
                                   struct ulp_error *error)
{
    return ulp_move_axes(&call->out[0], call->in[0], (const int64_t *const *)tables->table, fill, call->pool, error);
}

/* ---- Slice ---- */

struct slice {
    bool known;
    int64_t start[ULP_RANK_MAX], step[ULP_RANK_MAX], count[ULP_RANK_MAX];
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Python's slice of an axis of `size`. */
static void slice_axis(struct slice *slice, int axis, int64_t size, int64_t start, int64_t end, int64_t step)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    start = clamp(start < 0 ? start + size : start, low, high);
    end = clamp(end < 0 ? (end < -size ? low : end + size) : end, low, high);
    uint64_t distance = step < 0 ? (start > end ? (uint64_t)(start - end) : 0) : end > start ? (uint64_t)(end - start) : 0;
    uint64_t stride = step < 0 ? -(uint64_t)step : (uint64_t)step;
    slice->start[axis] = start;
    slice->step[axis] = step;
    slice->count[axis] = (int64_t)(distance / stride + (distance % stride != 0));
}

static enum ulp_status read_slice(const struct ulp_call *call, struct slice *slice, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    struct ulp_list lists[4];
    *slice = (struct slice){.known = true};
    for (int i = 0; i < 4; i++) {
        enum ulp_status status = ulp_call_list(call, names[i], &lists[i], error);
        if (status != ULP_OK)
            return status;
        slice->known = slice->known && lists[i].known;
        if (lists[i].given && lists[i].count != lists[0].count)
            return ulp_fail(error, ULP_ERROR_INPUT, "%s has %zu entries, starts has %zu", names[i], lists[i].count,
                            lists[0].count);
    }
    for (int d = 0; d < in->rank; d++)
        slice_axis(slice, d, in->dims[d], 0, in->dims[d], 1);
    for (size_t i = 0; slice->known && i < lists[0].count; i++) {
        int axis;
        enum ulp_status status = ulp_call_axis(lists[2].given ? lists[2].values[i] : (int64_t)i, in->rank, &axis, error);
        int64_t step = lists[3].given ? lists[3].values[i] : 1;
        if (status != ULP_OK)
            return status;
        if (step == 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "steps[%zu] is 0", i);
        slice_axis(slice, axis, in->dims[axis], lists[0].values[i], lists[1].values[i], step);
    }
    return ULP_OK;
}

static enum ulp_status infer_slice(struct ulp_call *call, struct ulp_error *error)
{
    struct slice slice;
    enum ulp_status status = read_slice(call, &slice, error);
    if (status != ULP_OK || !slice.known)
        return status;
    return ulp_call_describe(call, 0, call->in[0]->type, call->in[0]->rank, slice.count, error);
}

static enum ulp_status run_slice(struct ulp_call *call, struct ulp_error *error)
{
    struct slice slice;
    struct axis_tables tables;
    enum ulp_status status = read_slice(call, &slice, error);
    if (status == ULP_OK)
        status = make_tables(call, &tables, error);
    for (int d = 0; status == ULP_OK && d < call->in[0]->rank; d++)
        for (int64_t i = 0; i < slice.count[d]; i++)
            tables.table[d][i] = (slice.start[d] + i * slice.step[d]) * tables.strides[d];
    return status == ULP_OK ? move_tables(call, &tables, NULL, error) : status;
}

/* ---- Expand, Tile ---- */

static enum ulp_status infer_expand(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list shape;
    struct ulp_tensor wanted = {0};
    int rank;
    int64_t dims[ULP_RANK_MAX];
    enum ulp_status status = ulp_call_list(call, "shape", &shape, error);
    if (status != ULP_OK || !shape.known)
        return status;
    if (shape.count > ULP_RANK_MAX)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "at most %d dimensions are supported", ULP_RANK_MAX);
    status = ulp_tensor_describe(&wanted, ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 0, (int)shape.count, shape.values, error);
    if (status == ULP_OK)
        status = ulp_broadcast_shape(2, (const struct ulp_tensor *[]){in, &wanted}, &rank, dims, error);
    return status == ULP_OK ? ulp_call_describe(call, 0, in->type, rank, dims, error) : status;
}

static enum ulp_status run_expand(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *out = &call->out[0];
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX] = {NULL};
    enum ulp_status status = ULP_OK;
    ulp_strides(in, strides);
    for (int d = 0; status == ULP_OK && d < in->rank; d++)
        if (in->dims[d] != 1)
            status = ulp_move_table(call, &tables[out->rank - in->rank + d], (size_t)in->dims[d], 0, strides[d], error);
    return status == ULP_OK
               ? ulp_move_axes(&call->out[0], in, (const int64_t *const *)tables, NULL, call->pool, error)
               : status;
}

static enum ulp_status infer_tile(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list repeats;
    int64_t dims[ULP_RANK_MAX];
    enum ulp_status status = ulp_call_list(call, "repeats", &repeats, error);
    if (status != ULP_OK || !repeats.known)
        return status;
    if (repeats.count != (size_t)in->rank)
        return ulp_fail(error, ULP_ERROR_INPUT, "repeats has %zu entries for a tensor of rank %d", repeats.count, in->rank);
    for (int d = 0; d < in->rank; d++)
        if (__builtin_mul_overflow(in->dims[d], repeats.values[d], &dims[d]))
            return ulp_fail(error, ULP_ERROR_INPUT, "repeats[%d] is %lld", d, (long long)repeats.values[d]);
    return ulp_call_describe(call, 0, in->type, in->rank, dims, error);
}

static enum ulp_status run_tile(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *out = &call->out[0];
    struct axis_tables tables;
    enum ulp_status status = make_tables(call, &tables, error);
    for (int d = 0; status == ULP_OK && d < in->rank; d++)
        for (int64_t i = in->dims[d]; i < out->dims[d]; i++)
            tables.table[d][i] = tables.table[d][i - in->dims[d]];
    return status == ULP_OK ? move_tables(call, &tables, NULL, error) : status;
}

/* ---- Pad, CenterCropPad ---- */

struct pads {
    bool known;
    int64_t begin[ULP_RANK_MAX], end[ULP_RANK_MAX]; /* negative: cut */
};

static enum ulp_status read_pads(const struct ulp_call *call, struct pads *pads, struct ulp_error *error)
{
    int rank = call->in[0]->rank;
    struct ulp_list amounts, axes;
    *pads = (struct pads){.known = true};
    enum ulp_status status = ulp_call_list(call, "pads", &amounts, error);
    if (status == ULP_OK)
        status = ulp_call_list(call, "axes", &axes, error);
    if (status != ULP_OK)
        return status;
    pads->known = amounts.known && axes.known;
    size_t count = axes.given ? axes.count : (size_t)rank;
    if (amounts.count != 2 * count)
        return ulp_fail(error, ULP_ERROR_INPUT, "pads has %zu entries: expected %zu", amounts.count, 2 * count);
    for (size_t i = 0; pads->known && i < count; i++) {
        int axis;
        if ((status = ulp_call_axis(axes.given ? axes.values[i] : (int64_t)i, rank, &axis, error)) != ULP_OK)
            return status;
        pads->begin[axis] = amounts.values[i];
        pads->end[axis] = amounts.values[count + i];
    }
    return ULP_OK;
}

static enum ulp_status infer_pad(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    struct pads pads;
    int64_t dims[ULP_RANK_MAX];
    enum ulp_status status = read_pads(call, &pads, error);
    if (status != ULP_OK || !pads.known)
        return status;
    for (int d = 0; d < in->rank; d++) {
        if (__builtin_add_overflow(in->dims[d], pads.begin[d], &dims[d]) ||
            __builtin_add_overflow(dims[d], pads.end[d], &dims[d]))
            return ulp_fail(error, ULP_ERROR_INPUT, "pads of axis %d are out of range", d);
        if (in->dims[d] == 0 && dims[d] > 0 && !ulp_call_is(call, "mode", "constant"))
            return ulp_fail(error, ULP_ERROR_INPUT, "axis %d is empty and can only be padded with a constant", d);
    }
    return ulp_call_describe(call, 0, in->type, in->rank, dims, error);
}

static int64_t floor_mod(int64_t x, int64_t n)
{
    int64_t rest = x % n;
    return rest < 0 ? rest + n : rest;
}

/* The element of an axis of n that padding shows at index i, outside or inside. */
static int64_t pad_constant(int64_t i, int64_t n)
{
    return i >= 0 && i < n ? i : ULP_NOWHERE;
}
static int64_t pad_edge(int64_t i, int64_t n)
{
    return clamp(i, 0, n - 1);
}
static int64_t pad_reflect(int64_t i, int64_t n)
{
    int64_t j = n == 1 ? 0 : floor_mod(i, 2 * (n - 1));
    return j < n ? j : 2 * (n - 1) - j;
}
static int64_t pad_wrap(int64_t i, int64_t n)
{
    return floor_mod(i, n);
}

static const struct pad_mode {
    const char *name;
    int64_t (*index)(int64_t i, int64_t n);
} pad_modes[] = {{"constant", pad_constant}, {"edge", pad_edge}, {"reflect", pad_reflect}, {"wrap", pad_wrap}};

static enum ulp_status check_pad(struct ulp_call *call, struct ulp_error *error)
{
    for (size_t i = 0; i < sizeof pad_modes / sizeof *pad_modes; i++)
        if (ulp_call_is(call, "mode", pad_modes[i].name))
            return ULP_OK;
    return ulp_fail(error, ULP_ERROR_INPUT, "mode %s: expected constant, edge, reflect or wrap",
                    ulp_call_attribute(call, "mode")->s);
}

static enum ulp_status run_pad(struct ulp_call *call, struct ulp_error *error)
{
    const struct pad_mode *mode = pad_modes;
    const struct ulp_tensor *value = ulp_call_input(call, "constant_value");
    struct ulp_tensor constant;
    struct axis_tables tables;
    struct pads pads;
    while (!ulp_call_is(call, "mode", mode->name))
        mode++;
    if (value && value->count != 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "constant_value has %zu elements: expected 1", value->count);
    enum ulp_status status = read_pads(call, &pads, error);
    if (status == ULP_OK && !value)
        status = ulp_call_scalar(call, &constant, call->in[0]->type, ulp_call_attribute(call, "value")->f, error);
    if (status == ULP_OK)
        status = make_tables(call, &tables, error);
    if (status != ULP_OK)
        return status;
    for (int d = 0; d < call->in[0]->rank; d++)
        for (int64_t i = 0; i < call->out[0].dims[d]; i++) {
            int64_t from = mode->index(i - pads.begin[d], call->in[0]->dims[d]);
            tables.table[d][i] = from == ULP_NOWHERE ? from : from * tables.strides[d];
        }
    return move_tables(call, &tables, value ? value->data : constant.data, error);
}

static enum ulp_status infer_center(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list shape, axes;
    int64_t dims[ULP_RANK_MAX];
    enum ulp_status status = ulp_call_list(call, "shape", &shape, error);
    if (status == ULP_OK)
        status = ulp_call_list(call, "axes", &axes, error);
    if (status != ULP_OK || !shape.known)
        return status;
    if (shape.count != (axes.given ? axes.count : (size_t)in->rank))
        return ulp_fail(error, ULP_ERROR_INPUT, "shape has %zu entries", shape.count);
    memcpy(dims, in->dims, sizeof dims);
    for (size_t i = 0; i < shape.count; i++) {
        int axis;
        if ((status = ulp_call_axis(axes.given ? axes.values[i] : (int64_t)i, in->rank, &axis, error)) != ULP_OK)
            return status;
        dims[axis] = shape.values[i];
    }
    return ulp_call_describe(call, 0, in->type, in->rank, dims, error);
}

static enum ulp_status run_center(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_tensor zero;
    struct axis_tables tables;
    enum ulp_status status = ulp_call_scalar(call, &zero, call->in[0]->type, 0, error);
    if (status == ULP_OK)
        status = make_tables(call, &tables, error);
    if (status != ULP_OK)
        return status;
    for (int d = 0; d < call->in[0]->rank; d++) {
        int64_t from = call->in[0]->dims[d], to = call->out[0].dims[d];
        int64_t start = to > from ? -((to - from) / 2) : (from - to) / 2;
        for (int64_t i = 0; i < to; i++) {
            int64_t at = pad_constant(start + i, from);
            tables.table[d][i] = at == ULP_NOWHERE ? at : at * tables.strides[d];
        }
    }
    return move_tables(call, &tables, zero.data, error);
}

/* ---- Trilu, ReverseSequence ---- */

static enum ulp_status run_trilu(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *shift = ulp_call_input(call, "k");
    struct ulp_tensor *out = &call->out[0], zero;
    bool upper = ulp_call_int(call, "upper");
    if (in->rank < 2)
        return ulp_fail(error, ULP_ERROR_INPUT, "the input has rank %d: expected at least 2", in->rank);
    enum ulp_status status = ulp_call_scalar(call, &zero, in->type, 0, error);
    if (status != ULP_OK || in->count == 0)
        return status;
    int64_t columns = in->dims[in->rank - 1], rows = in->dims[in->rank - 2];
    int64_t k = shift ? clamp(ulp_tensor_get_int(shift, 0), -rows - columns, rows + columns) : 0;
    ulp_move_all(out, in);
    for (size_t r = 0; r < in->count / (size_t)columns; r++) {
        int64_t diagonal = (int64_t)(r % (size_t)rows) + k; /* the column of the k-th diagonal in this row */
        int64_t first = upper ? 0 : clamp(diagonal + 1, 0, columns), last = upper ? clamp(diagonal, 0, columns) : columns;
        if (first < last)
            ulp_move_fill(out, r * (size_t)columns + (size_t)first, (size_t)(last - first), zero.data);
    }
    return ULP_OK;
}

static enum ulp_status run_reverse_sequence(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *lengths = call->in[1];
    int64_t time_axis = ulp_call_int(call, "time_axis"), batch_axis = ulp_call_int(call, "batch_axis"), *from;
    if (in->rank < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "batch_axis and time_axis must be 0 and 1 of at least two axes");
    int64_t times = in->dims[time_axis], batches = in->dims[batch_axis];
    if (lengths->count != (size_t)batches)
        return ulp_fail(error, ULP_ERROR_INPUT, "sequence_lens has %zu entries: expected %lld", lengths->count,
                        (long long)batches);
    if (in->count == 0)
        return ULP_OK;
    int64_t run = (int64_t)in->count / (times * batches);
    enum ulp_status status = ulp_call_take(call, (size_t)(times * batches), sizeof *from, &from, error);
    for (int64_t b = 0; status == ULP_OK && b < batches; b++) {
        int64_t length = ulp_tensor_get_int(lengths, (size_t)b);
        if (length < 0 || length > times)
            return ulp_fail(error, ULP_ERROR_INPUT, "sequence_lens[%lld] is %lld, beyond the time axis of %lld", (long long)b,
                            (long long)length, (long long)times);
        for (int64_t t = 0; t < times; t++) {
            int64_t source = t < length ? length - 1 - t : t;
            from[time_axis ? b * times + t : t * batches + b] = (time_axis ? b * times + source : source * batches + b) * run;
        }
    }
    return status == ULP_OK ? ulp_move_blocks(&call->out[0], in, from, (size_t)run, NULL, call->pool, error) : status;
}

/* ---- Concat, Split ---- */

static enum ulp_status infer_concat(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *first = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    int axis;
    enum ulp_status status = ulp_call_first_axis(call, &axis, error);
    if (status != ULP_OK)
        return status;
    memcpy(dims, first->dims, sizeof dims);
    for (size_t i = 1; i < call->input_count; i++) {
        const struct ulp_tensor *in = call->in[i];
        bool fits = in->rank == first->rank;
        for (int d = 0; fits && d < in->rank; d++)
            fits = d == axis || in->dims[d] == first->dims[d];
        char a[200], b[200];
        if (!fits || __builtin_add_overflow(dims[axis], in->dims[axis], &dims[axis]))
            return ulp_fail(error, ULP_ERROR_INPUT, "input %zu, %s, does not fit beside input 0, %s, along axis %d", i,
                            ulp_tensor_describe_text(in, a, sizeof a), ulp_tensor_describe_text(first, b, sizeof b), axis);
    }
    return ulp_call_describe(call, 0, first->type, first->rank, dims, error);
}

/* Copy `outer` blocks of `run` elements between tensors whose blocks are from_step and to_step elements apart. */
static void copy_blocks(struct ulp_tensor *to, size_t to_first, size_t to_step, const struct ulp_tensor *from,
                        size_t from_first, size_t from_step, size_t outer, size_t run)
{
    if (run == 0)
        return;
    for (size_t o = 0; o < outer; o++)
        memcpy(ulp_element_at(to, to_first + o * to_step), ulp_element_at(from, from_first + o * from_step),
               run * to->element_bytes);
}

static enum ulp_status run_concat(struct ulp_call *call, struct ulp_error *error)
{
    int axis;
    enum ulp_status status = ulp_call_first_axis(call, &axis, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_split whole = ulp_split_at(&call->out[0], axis);
    size_t step = whole.size * whole.inner, at = 0;
    for (size_t i = 0; i < call->input_count; i++) {
        size_t run = (size_t)call->in[i]->dims[axis] * whole.inner;
        copy_blocks(&call->out[0], at, step, call->in[i], 0, run, whole.outer, run);
        at += run;
    }
    return ULP_OK;
}

static enum ulp_status infer_split(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list sizes;
    int axis;
    int64_t dims[ULP_RANK_MAX], used = 0, parts = (int64_t)call->output_count;
    const struct ulp_attribute_value *wanted = ulp_call_attribute(call, "num_outputs");
    enum ulp_status status = ulp_call_first_axis(call, &axis, error);
    if (status == ULP_OK)
        status = ulp_call_list(call, "split", &sizes, error);
    if (status != ULP_OK || !sizes.known)
        return status;
    if ((sizes.given && sizes.count != (size_t)parts) || (wanted->present && wanted->i != parts))
        return ulp_fail(error, ULP_ERROR_INPUT, "the node has %lld outputs: split or num_outputs asks for %lld",
                        (long long)parts, (long long)(sizes.given ? (int64_t)sizes.count : wanted->i));
    memcpy(dims, in->dims, sizeof dims);
    int64_t whole = in->dims[axis], even = whole / parts + (whole % parts != 0);
    for (int64_t i = 0; status == ULP_OK && i < parts; i++) {
        int64_t left = whole - used;
        dims[axis] = sizes.given ? sizes.values[i] : even < left ? even : left;
        if (dims[axis] < 0 || dims[axis] > left)
            return ulp_fail(error, ULP_ERROR_INPUT, "split[%lld] is %lld where %lld elements are left", (long long)i,
                            (long long)dims[axis], (long long)left);
        used += dims[axis];
        status = ulp_call_describe(call, (size_t)i, in->type, in->rank, dims, error);
    }
    if (status == ULP_OK && used != whole)
        return ulp_fail(error, ULP_ERROR_INPUT, "split adds up to %lld of %lld elements", (long long)used, (long long)whole);
    return status;
}

static enum ulp_status run_split(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_list sizes;
    int axis;
    enum ulp_status status = ulp_call_first_axis(call, &axis, error);
    if (status == ULP_OK)
        status = ulp_call_list(call, "split", &sizes, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_split whole = ulp_split_at(call->in[0], axis);
    size_t even = (whole.size + call->output_count - 1) / call->output_count, at = 0;
    for (size_t i = 0; i < call->output_count; i++) {
        size_t left = whole.size - at, size = sizes.given ? (size_t)sizes.values[i] : even < left ? even : left;
        if (ulp_call_wants(call, i))
            copy_blocks(&call->out[i], 0, size * whole.inner, call->in[0], at * whole.inner, whole.size * whole.inner,
                        whole.outer, size * whole.inner);
        at += size;
    }
    return ULP_OK;
}

#define PAD .infer = infer_pad, .check = check_pad, .run = run_pad
#define DEPTH_TO_SPACE .inputs = "input", .outputs = "output", .infer = infer_depth_to_space, .run = run_depth_to_space
#define SPACE_TO_DEPTH .inputs = "input", .outputs = "output", .infer = infer_space_to_depth, .run = run_space_to_depth
#define SLICE .outputs = "output", .infer = infer_slice, .run = run_slice
#define SPLIT .outputs = "outputs*", .infer = infer_split, .run = run_split

const struct ulp_operator ulp_ops_rearrange[] = {
    {.name = "CenterCropPad", .since = 18, .inputs = "input_data shape:i", .outputs = "output_data", .attributes = "axes:ints",
     .infer = infer_center, .run = run_center},
    {.name = "Concat", .since = 4, .inputs = "inputs*", .outputs = "concat_result", .attributes = "axis:!int",
     .infer = infer_concat, .run = run_concat},
    {.name = "DepthToSpace", .since = 1, DEPTH_TO_SPACE, .attributes = "blocksize:!int"},
    {.name = "DepthToSpace", .since = 11, .when = "mode=DCR", DEPTH_TO_SPACE, .attributes = "blocksize:!int; mode:string=DCR"},
    {.name = "DepthToSpace", .since = 11, .when = "mode=CRD", DEPTH_TO_SPACE, .attributes = "blocksize:!int; mode:string=DCR",
     .parameter = 1},
    {.name = "Expand", .since = 8, .inputs = "input shape:i", .outputs = "output", .infer = infer_expand, .run = run_expand},
    {.name = "Pad", .since = 2, .inputs = "data", .outputs = "output",
     .attributes = "mode:string=constant; pads:!ints; value:float=0", PAD},
    {.name = "Pad", .since = 11, .inputs = "data pads:i constant_value?", .outputs = "output",
     .attributes = "mode:string=constant", PAD},
    {.name = "Pad", .since = 18, .inputs = "data pads:i constant_value? axes:i?", .outputs = "output",
     .attributes = "mode:string=constant", PAD},
    {.name = "ReverseSequence", .since = 10, .inputs = "input sequence_lens:i", .outputs = "y",
     .attributes = "batch_axis:int=1; time_axis:int=0", .infer = ulp_infer_first, .run = run_reverse_sequence},
    {.name = "Slice", .since = 1, .inputs = "data", .attributes = "axes:ints; ends:!ints; starts:!ints", SLICE},
    {.name = "Slice", .since = 10, .inputs = "data starts:i ends:i axes:i? steps:i?", SLICE},
    {.name = "SpaceToDepth", .since = 1, SPACE_TO_DEPTH, .attributes = "blocksize:!int"},
    {.name = "SpaceToDepth", .since = 28, .when = "mode=DCR", SPACE_TO_DEPTH, .attributes = "blocksize:!int; mode:string=DCR"},
    {.name = "SpaceToDepth", .since = 28, .when = "mode=CRD", SPACE_TO_DEPTH, .attributes = "blocksize:!int; mode:string=DCR",
     .parameter = 1},
    {.name = "Split", .since = 2, .inputs = "input", .attributes = "axis:int=0; split:ints", SPLIT},
    {.name = "Split", .since = 13, .inputs = "input split:i?", .attributes = "axis:int=0", SPLIT},
    {.name = "Split", .since = 18, .inputs = "input split:i?", .attributes = "axis:int=0; num_outputs:int", SPLIT},
    {.name = "Tile", .since = 6, .inputs = "input repeats:i", .outputs = "output", .infer = infer_tile, .run = run_tile},
    {.name = "Transpose", .since = 1, .inputs = "data", .outputs = "transposed", .attributes = "perm:ints",
     .infer = infer_transpose, .run = run_transpose},
    {.name = "Trilu", .since = 14, .inputs = "input k:i?", .outputs = "output", .attributes = "upper:int=1",
     .infer = ulp_infer_first, .run = run_trilu},
    {0},
};
