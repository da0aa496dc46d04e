/* Operators that turn, join and part whole blocks of elements. */
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

/* ---- Transpose, DepthToSpace, SpaceToDepth ---- */

static enum ulp_status read_perm(const struct ulp_call *call, int *perm)
{
    int rank = call->in[0]->rank;
    struct ulp_list list;
    bool seen[ULP_RANK_MAX] = {false};
    ULP_TRY(ulp_call_list(call, "perm", &list));
    for (int d = 0; d < rank; d++)
        perm[d] = rank - 1 - d;
    if (!list.given)
        return ULP_OK;
    if (list.count != (size_t)rank)
        return ULP_REFUSE(call, "perm has %zu entries for a tensor of rank %d", list.count, rank);
    for (int d = 0; d < rank; d++) {
        if (list.values[d] < 0 || list.values[d] >= rank) /* ONNX's perm counts from 0 alone */
            return ULP_REFUSE(call, "perm[%d] is %lld, expected 0 to %d", d,
                              (long long)list.values[d], rank - 1);
        perm[d] = (int)list.values[d];
        if (seen[perm[d]])
            return ULP_REFUSE(call, "perm names axis %d twice", perm[d]);
        seen[perm[d]] = true;
    }
    return ULP_OK;
}

static enum ulp_status infer_transpose(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int perm[ULP_RANK_MAX];
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_perm(call, perm));
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[perm[d]];
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static enum ulp_status run_transpose(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int perm[ULP_RANK_MAX];
    ULP_TRY(read_perm(call, perm));
    return ulp_move_permuted(call, &call->out[0], in, in->rank, in->dims, perm);
}

static enum ulp_status read_block(const struct ulp_call *call, int64_t *block)
{
    *block = ulp_call_int(call, "blocksize");
    if (call->in[0]->rank != 4)
        return ULP_REFUSE(call, "the input has rank %d: expected 4", call->in[0]->rank);
    return *block > 0 && *block < 1 << 20
               ? ULP_OK
               : ULP_REFUSE(call, "blocksize is %lld", (long long)*block);
}

static enum ulp_status infer_depth_to_space(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t b;
    ULP_TRY(read_block(call, &b));
    if (in->dims[1] % (b * b) != 0)
        return ULP_REFUSE(call, "%lld channels do not divide by blocksize squared",
                          (long long)in->dims[1]);
    return ulp_call_describe(call, 0, in->type, 4,
                             (int64_t[]){in->dims[0], in->dims[1] / (b * b), in->dims[2] * b,
                                         in->dims[3] * b});
}

/* parameter: 0 depth-column-row (DCR), 1 column-row-depth (CRD) */
static enum ulp_status run_depth_to_space(struct ulp_call *call)
{
    const int64_t b = ulp_call_int(call, "blocksize"), *d = call->in[0]->dims,
                  channels = d[1] / (b * b);
    if (call->bound->op->parameter == 1)
        return ulp_move_permuted(call, &call->out[0], call->in[0], 6,
                                 (int64_t[]){d[0], channels, b, b, d[2], d[3]},
                                 (int[]){0, 1, 4, 2, 5, 3});
    return ulp_move_permuted(call, &call->out[0], call->in[0], 6,
                             (int64_t[]){d[0], b, b, channels, d[2], d[3]},
                             (int[]){0, 3, 4, 1, 5, 2});
}

static enum ulp_status infer_space_to_depth(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t b;
    ULP_TRY(read_block(call, &b));
    if (in->dims[2] % b != 0 || in->dims[3] % b != 0)
        return ULP_REFUSE(call, "%lld x %lld pixels do not divide by blocksize",
                          (long long)in->dims[2], (long long)in->dims[3]);
    return ulp_call_describe(call, 0, in->type, 4,
                             (int64_t[]){in->dims[0], ulp_dim_mul(in->dims[1], b * b),
                                         in->dims[2] / b, in->dims[3] / b});
}

static enum ulp_status run_space_to_depth(struct ulp_call *call)
{
    const int64_t b = ulp_call_int(call, "blocksize"), *d = call->in[0]->dims;
    static const int orders[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
    return ulp_move_permuted(call, &call->out[0], call->in[0], 6,
                             (int64_t[]){d[0], d[1], d[2] / b, b, d[3] / b, b},
                             orders[call->bound->op->parameter]);
}

/* ---- Trilu, ReverseSequence ---- */

static enum ulp_status run_trilu(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor *out = &call->out[0], zero;
    bool upper = ulp_call_int(call, "upper"), known;
    int64_t k;
    if (in->rank < 2)
        return ULP_REFUSE(call, "the input has rank %d: expected at least 2", in->rank);
    ULP_TRY(ulp_call_number(call, "k", 0, &known, &k));
    ULP_TRY(ulp_call_scalar(call, &zero, in->type, 0));
    int64_t columns = in->dims[in->rank - 1], rows = in->dims[in->rank - 2];
    k = ulp_clamp(k, -rows - columns, rows + columns);
    ulp_move_all(out, in);
    for (size_t r = 0; r < in->count / (size_t)columns; r++) {
        /* the column of the k-th diagonal in this row */
        int64_t diagonal = (int64_t)(r % (size_t)rows) + k;
        int64_t first = upper ? 0 : ulp_clamp(diagonal + 1, 0, columns),
                last = upper ? ulp_clamp(diagonal, 0, columns) : columns;
        if (first < last)
            ulp_move_fill(out, r * (size_t)columns + (size_t)first, (size_t)(last - first),
                          zero.data);
    }
    return ULP_OK;
}

static enum ulp_status run_reverse_sequence(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *lengths = call->in[1];
    int64_t time_axis = ulp_call_int(call, "time_axis"),
            batch_axis = ulp_call_int(call, "batch_axis"), *from;
    if (in->rank < 2 || time_axis < 0 || time_axis > 1 || batch_axis != 1 - time_axis)
        return ULP_REFUSE(call, "batch_axis and time_axis must be 0 and 1 of at least two axes");
    int64_t times = in->dims[time_axis], batches = in->dims[batch_axis];
    if (lengths->count != (size_t)batches)
        return ULP_REFUSE(call, "sequence_lens has %zu entries: expected %lld", lengths->count,
                          (long long)batches);
    int64_t run = (int64_t)in->count / (times * batches);
    ULP_TRY(ulp_call_take(call, (size_t)(times * batches), sizeof *from, &from));
    for (int64_t b = 0; b < batches; b++) {
        int64_t length = ulp_tensor_get_int(lengths, (size_t)b);
        if (length < 0 || length > times)
            return ULP_REFUSE(call, "sequence_lens[%lld] is %lld, beyond the time axis of %lld",
                              (long long)b, (long long)length, (long long)times);
        for (int64_t t = 0; t < times; t++) {
            int64_t source = t < length ? length - 1 - t : t;
            from[time_axis ? b * times + t : t * batches + b] =
                (time_axis ? b * times + source : source * batches + b) * run;
        }
    }
    return ulp_move_blocks(&call->out[0], in, from, (size_t)run, NULL, call->pool, call->error);
}

/* ---- Concat, Split ---- */

static enum ulp_status infer_concat(struct ulp_call *call)
{
    const struct ulp_tensor *first = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    ULP_CALL_AXIS(axis, call);
    memcpy(dims, first->dims, sizeof dims);
    for (size_t i = 1; i < call->input_count; i++) {
        const struct ulp_tensor *in = call->in[i];
        bool fits = in->rank == first->rank;
        for (int d = 0; fits && d < in->rank; d++)
            fits = d == axis || in->dims[d] == first->dims[d];
        char a[200], b[200];
        if (!fits || __builtin_add_overflow(dims[axis], in->dims[axis], &dims[axis]))
            return ULP_REFUSE(call, "input %zu, %s, does not fit beside input 0, %s, along axis %d",
                              i, ulp_tensor_describe_text(in, a, sizeof a),
                              ulp_tensor_describe_text(first, b, sizeof b), axis);
    }
    return ulp_call_describe(call, 0, first->type, first->rank, dims);
}

static enum ulp_status run_concat(struct ulp_call *call)
{
    ULP_CALL_AXIS(axis, call);
    const struct ulp_split whole = ulp_split_at(&call->out[0], axis);
    size_t step = whole.size * whole.inner, at = 0;
    for (size_t i = 0; i < call->input_count; i++) {
        size_t run = (size_t)call->in[i]->dims[axis] * whole.inner;
        ULP_TRY(ulp_move_runs(&call->out[0], at, step, call->in[i], 0, run, whole.outer, run,
                              call->pool, call->error));
        at += run;
    }
    return ULP_OK;
}

static enum ulp_status infer_split(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list sizes;
    int64_t dims[ULP_RANK_MAX], used = 0, parts = (int64_t)call->output_count;
    const struct ulp_attribute_value *wanted = ulp_call_attribute(call, "num_outputs");
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(ulp_call_list(call, "split", &sizes));
    if (!sizes.known)
        return ULP_OK;
    if ((sizes.given && sizes.count != (size_t)parts) || (wanted->present && wanted->i != parts))
        return ULP_REFUSE(call, "the node has %lld outputs: split or num_outputs asks for %lld",
                          (long long)parts,
                          (long long)(sizes.given ? (int64_t)sizes.count : wanted->i));
    memcpy(dims, in->dims, sizeof dims);
    int64_t whole = in->dims[axis], even = whole / parts + (whole % parts != 0);
    for (int64_t i = 0; i < parts; i++) {
        int64_t left = whole - used;
        dims[axis] = sizes.given ? sizes.values[i] : even < left ? even : left;
        if (dims[axis] < 0 || dims[axis] > left)
            return ULP_REFUSE(call, "split[%lld] is %lld where %lld elements are left",
                              (long long)i, (long long)dims[axis], (long long)left);
        used += dims[axis];
        ULP_TRY(ulp_call_describe(call, (size_t)i, in->type, in->rank, dims));
    }
    if (used != whole)
        return ULP_REFUSE(call, "split adds up to %lld of %lld elements", (long long)used,
                          (long long)whole);
    return ULP_OK;
}

static enum ulp_status run_split(struct ulp_call *call)
{
    struct ulp_list sizes;
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(ulp_call_list(call, "split", &sizes));
    const struct ulp_split whole = ulp_split_at(call->in[0], axis);
    size_t even = (whole.size + call->output_count - 1) / call->output_count, at = 0;
    for (size_t i = 0; i < call->output_count; i++) {
        size_t left = whole.size - at, size = sizes.given   ? (size_t)sizes.values[i]
                                              : even < left ? even
                                                            : left;
        if (ulp_call_wants(call, i))
            ULP_TRY(ulp_move_runs(&call->out[i], 0, size * whole.inner, call->in[0],
                                  at * whole.inner, whole.size * whole.inner, whole.outer,
                                  size * whole.inner, call->pool, call->error));
        at += size;
    }
    return ULP_OK;
}

#define DEPTH_TO_SPACE                                                     \
    .inputs = "input", .outputs = "output", .infer = infer_depth_to_space, \
    .run = run_depth_to_space, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_INDEXED
#define SPACE_TO_DEPTH                                                     \
    .inputs = "input", .outputs = "output", .infer = infer_space_to_depth, \
    .run = run_space_to_depth, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_INDEXED
#define SPLIT                                                                             \
    .outputs = "outputs*", .infer = infer_split, .run = run_split, .work = ULP_WORK_MOVE, \
    .route = ULP_ROUTE_INDEXED

/* clang-format off */
const struct ulp_operator ulp_ops_blocks[] = {
    {.name = "Concat", .since = 4, .inputs = "inputs*", .outputs = "concat_result",
     .attributes = "axis:!int",
     .infer = infer_concat, .run = run_concat, .work = ULP_WORK_MOVE,
     .route = ULP_ROUTE_JOINED},
    {.name = "DepthToSpace", .since = 1, DEPTH_TO_SPACE, .attributes = "blocksize:!int"},
    {.name = "DepthToSpace", .since = 11, .when = "mode=DCR", DEPTH_TO_SPACE,
     .attributes = "blocksize:!int; mode:string=DCR"},
    {.name = "DepthToSpace", .since = 11, .when = "mode=CRD", DEPTH_TO_SPACE,
     .attributes = "blocksize:!int; mode:string=DCR", .parameter = 1},
    {.name = "ReverseSequence", .since = 10, .inputs = "input sequence_lens:i", .outputs = "y",
     .attributes = "batch_axis:int=1; time_axis:int=0", .infer = ulp_infer_first,
     .run = run_reverse_sequence, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "SpaceToDepth", .since = 1, SPACE_TO_DEPTH, .attributes = "blocksize:!int"},
    {.name = "SpaceToDepth", .since = 28, .when = "mode=DCR", SPACE_TO_DEPTH,
     .attributes = "blocksize:!int; mode:string=DCR"},
    {.name = "SpaceToDepth", .since = 28, .when = "mode=CRD", SPACE_TO_DEPTH,
     .attributes = "blocksize:!int; mode:string=DCR", .parameter = 1},
    {.name = "Split", .since = 2, .inputs = "input", .attributes = "axis:int=0; split:ints", SPLIT},
    {.name = "Split", .since = 13, .inputs = "input split:i?", .attributes = "axis:int=0", SPLIT},
    {.name = "Split", .since = 18, .inputs = "input split:i?",
     .attributes = "axis:int=0; num_outputs:int", SPLIT},
    {.name = "Transpose", .since = 1, .inputs = "data", .outputs = "transposed",
     .attributes = "perm:ints",
     .infer = infer_transpose, .run = run_transpose, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_INDEXED},
    {.name = "Trilu", .since = 14, .inputs = "input k:i?", .outputs = "output",
     .attributes = "upper:int=1",
     .infer = ulp_infer_first, .run = run_trilu, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "Trilu", .domain = "com.microsoft", .since = 1, .inputs = "input k:i?", .outputs = "output",
     .attributes = "upper:int=1",
     .infer = ulp_infer_first, .run = run_trilu, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {0},
};
/* clang-format on */
