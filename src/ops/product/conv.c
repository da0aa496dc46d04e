/* Convolution and its transpose. Both only lay out which elements multiply which. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/move.h"
#include "ops/window.h"

/* The input as a contraction's factor: with zeros around it and a map of them, or as it is when
 * none are needed. */
struct padded {
    struct ulp_tensor tensor;
    uint8_t *padding;
    int64_t strides[ULP_RANK_MAX]; /* of the spatial axes */
    int64_t channel;               /* elements of one */
};

/* 1 where an axis' table says ULP_NOWHERE, for every element of dims: one channel, then copies of
 * it. */
static void mark_padding(uint8_t *mark, const int64_t *dims, const int64_t *const *tables, int rank)
{
    size_t channel = (size_t)ulp_product(dims + 2, rank - 2),
           row = rank > 2 ? (size_t)dims[rank - 1] : 1;
    for (size_t r = 0; r * row < channel && dims[0] * dims[1] > 0; r++) {
        size_t rest = r;
        bool exists = true;
        for (int d = rank - 2; d >= 2; d--) {
            exists = exists && tables[d][rest % (size_t)dims[d]] != ULP_NOWHERE;
            rest /= (size_t)dims[d];
        }
        for (size_t i = 0; i < row; i++)
            mark[r * row + i] = !exists || (rank > 2 && tables[rank - 1][i] == ULP_NOWHERE);
    }
    for (int64_t c = 1; c < dims[0] * dims[1]; c++)
        memcpy(mark + (size_t)c * channel, mark, channel);
}

static enum ulp_status pad_input(struct ulp_call *call, const struct ulp_tensor *in, int rank,
                                 const int64_t *before, const int64_t *size, struct padded *out,
                                 struct ulp_error *error)
{
    int64_t dims[ULP_RANK_MAX], strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    bool same = true;
    memcpy(dims, in->dims, 2 * sizeof *dims);
    for (int d = 0; d < rank; d++) {
        dims[2 + d] = size[d];
        same = same && size[d] == in->dims[2 + d];
    }
    *out = (struct padded){.tensor = ulp_tensor_view(in), .channel = ulp_product(size, rank)};
    struct ulp_tensor zero, mark;
    enum ulp_status status = ULP_OK;
    if (!same)
        status = ulp_tensor_describe(&out->tensor, in->type, in->element, in->precision, rank + 2,
                                     dims, error);
    ulp_strides(&out->tensor, strides);
    memcpy(out->strides, strides + 2, (size_t)rank * sizeof *strides);
    if (same)
        return ULP_OK;
    if (status == ULP_OK)
        status = ulp_call_temporary(call, &out->tensor, error);
    if (status == ULP_OK)
        status =
            ulp_tensor_describe(&mark, ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 0, rank + 2, dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, &mark, error);
    if (status == ULP_OK) {
        zero = (struct ulp_tensor){.type = in->type,
                                   .element = in->element,
                                   .precision = in->precision,
                                   .count = 1,
                                   .element_bytes = in->element_bytes};
        status = ulp_call_temporary(call, &zero, error);
    }
    if (status != ULP_OK)
        return status;
    ulp_tensor_set_int(&zero, 0, 0);
    ulp_strides(in, strides);
    for (int d = 0; d < rank + 2; d++) {
        int64_t start = d < 2 ? 0 : -before[d - 2];
        if ((status = ulp_call_take(call, (size_t)dims[d], sizeof *tables[d], &tables[d], error)) !=
            ULP_OK)
            return status;
        for (int64_t i = 0; i < dims[d]; i++)
            tables[d][i] =
                start + i >= 0 && start + i < in->dims[d] ? (start + i) * strides[d] : ULP_NOWHERE;
    }
    status = ulp_move_axes(&out->tensor, in, (const int64_t *const *)tables, zero.data, call->pool,
                           error);
    if (status == ULP_OK)
        mark_padding(mark.data, dims, (const int64_t *const *)tables, rank + 2);
    out->padding = mark.data;
    return status;
}

/* Positions of a box of `rank` axes, row-major: table[i] = sum of (start[d] + index[d] * step[d]) *
 * strides[d]. */
static enum ulp_status box_table(const struct ulp_call *call, int rank, const int64_t *counts,
                                 const int64_t *start, const int64_t *step, const int64_t *strides,
                                 int64_t **table, struct ulp_error *error)
{
    int64_t steps[ULP_RANK_MAX], first = 0;
    enum ulp_status status =
        ulp_call_take(call, (size_t)ulp_product(counts, rank), sizeof **table, table, error);
    for (int d = 0; d < rank; d++) {
        first += start[d] * strides[d];
        steps[d] = step[d] * strides[d];
    }
    if (status == ULP_OK)
        ulp_box_offsets(*table, rank, counts, steps, first);
    return status;
}

/* What Conv and ConvTranspose share: batch x groups, channels in and out of a group. */
struct groups {
    int64_t batch, count, in, out;
};

/* Offsets over (image, group): the weights', the input's and the output's. */
static enum ulp_status group_tables(const struct ulp_call *call, const struct groups *g,
                                    int64_t weights, int64_t in_channel, int64_t out_channel,
                                    int64_t *tables[3], struct ulp_error *error)
{
    const int64_t steps[3] = {weights, g->in * in_channel, g->out * out_channel};
    for (int t = 0; t < 3; t++) {
        enum ulp_status status =
            ulp_move_table(call, &tables[t], (size_t)(g->batch * g->count), 0, steps[t], error);
        if (status != ULP_OK)
            return status;
    }
    for (int64_t i = 0; i < g->batch * g->count; i++)
        tables[0][i] = i % g->count * weights; /* the same for every image */
    return ULP_OK;
}

/* (channel, kernel position) row-major. */
static enum ulp_status channel_table(const struct ulp_call *call, int64_t channels, int64_t step,
                                     int64_t positions, const int64_t *offsets, int64_t **table,
                                     struct ulp_error *error)
{
    enum ulp_status status =
        ulp_call_take(call, (size_t)(channels * positions), sizeof **table, table, error);
    for (int64_t c = 0; status == ULP_OK && c < channels; c++)
        for (int64_t p = 0; p < positions; p++)
            (*table)[c * positions + p] = c * step + offsets[p];
    return status;
}

/* ---- Conv ---- */

static enum ulp_status read_conv(const struct ulp_call *call, const struct ulp_tensor *x,
                                 const struct ulp_tensor *w, struct groups *g,
                                 struct ulp_windows *windows, struct ulp_error *error)
{
    const struct ulp_tensor *bias = ulp_call_input(call, "bias");
    enum ulp_status status = ulp_windows_read(call, x, w, windows, error);
    if (status != ULP_OK)
        return status;
    int64_t group = ulp_call_int(call, "group"), out = w->dims[0];
    char a[200], b[200];
    if (group < 1 || group > x->dims[1] || x->dims[1] % group != 0 ||
        x->dims[1] / group != w->dims[1] || out % group != 0 ||
        (bias && bias->count != (size_t)out))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "weights %s, %lld groups and bias do not fit input %s",
                        ulp_tensor_describe_text(w, a, sizeof a), (long long)group,
                        ulp_tensor_describe_text(x, b, sizeof b));
    *g = (struct groups){x->dims[0], group, w->dims[1], out / group};
    return ULP_OK;
}

static enum ulp_status describe_conv(struct ulp_call *call, enum ulp_type type,
                                     const struct groups *g, const int64_t *spatial, int rank,
                                     struct ulp_error *error)
{
    int64_t dims[ULP_RANK_MAX] = {g->batch, g->count * g->out};
    memcpy(dims + 2, spatial, (size_t)rank * sizeof *dims);
    return ulp_call_describe(call, 0, type, rank + 2, dims, error);
}

enum ulp_status ulp_conv_infer(struct ulp_call *call, const struct ulp_tensor *x,
                               const struct ulp_tensor *w, enum ulp_type type,
                               struct ulp_error *error)
{
    struct groups g = {0};
    struct ulp_windows windows;
    enum ulp_status status = read_conv(call, x, w, &g, &windows, error);
    return status == ULP_OK ? describe_conv(call, type, &g, windows.out, windows.rank, error)
                            : status;
}

/* The order in which a matrix unit meets k: kernel position, then channel, as implicit GEMM over
 * channels-last data does (cuDNN on the H200: h200_layers conv3x3 is equal in every bit this way
 * and not with channels first). Scalar chains keep the weight tensor's order, channel then
 * position. */
static enum ulp_status order_taps(struct ulp_call *call, int64_t **table, int64_t channels,
                                  int64_t positions, struct ulp_error *error)
{
    if (!*call->arithmetic->schedule.unit_class || channels == 1 || positions == 1)
        return ULP_OK;
    int64_t *ordered;
    enum ulp_status status =
        ulp_move_table(call, &ordered, (size_t)(channels * positions), 0, 0, error);
    for (int64_t p = 0; p < positions && status == ULP_OK; p++)
        for (int64_t c = 0; c < channels; c++)
            ordered[p * channels + c] = (*table)[c * positions + p];
    if (status == ULP_OK)
        *table = ordered;
    return status;
}

static enum ulp_status infer_conv(struct ulp_call *call, struct ulp_error *error)
{
    return ulp_conv_infer(call, call->in[0], call->in[1], call->in[0]->type, error);
}

enum ulp_status ulp_conv_sums(struct ulp_call *call, const struct ulp_tensor *in,
                              const struct ulp_tensor *weights, struct ulp_sums *sums,
                              struct ulp_error *error)
{
    static const int64_t zeros[ULP_RANK_MAX];
    struct groups g = {0};
    struct ulp_windows w;
    struct padded x;
    int64_t size[ULP_RANK_MAX], *batch[3], *w_line, *w_k, *taps, *x_k, *x_line, *row, *column;
    enum ulp_status status = read_conv(call, in, weights, &g, &w, error);
    if (status != ULP_OK || call->out[0].count == 0)
        return status;
    for (int d = 0; d < w.rank; d++)
        size[d] = w.in[d] + w.pads[d] + w.pads_end[d];
    int64_t positions = ulp_product(w.kernel, w.rank), pixels = ulp_product(w.out, w.rank),
            k = g.in * positions;
    if ((status = pad_input(call, in, w.rank, w.pads, size, &x, error)) != ULP_OK ||
        (status = group_tables(call, &g, g.out * k, x.channel, pixels, batch, error)) != ULP_OK ||
        (status = ulp_move_table(call, &w_line, (size_t)g.out, 0, k, error)) != ULP_OK ||
        (status = ulp_move_table(call, &w_k, (size_t)k, 0, 1, error)) != ULP_OK ||
        (status = box_table(call, w.rank, w.kernel, zeros, w.dilations, x.strides, &taps, error)) !=
            ULP_OK ||
        (status = channel_table(call, g.in, x.channel, positions, taps, &x_k, error)) != ULP_OK ||
        (status = order_taps(call, &w_k, g.in, positions, error)) != ULP_OK ||
        (status = order_taps(call, &x_k, g.in, positions, error)) != ULP_OK ||
        (status = box_table(call, w.rank, w.out, zeros, w.strides, x.strides, &x_line, error)) !=
            ULP_OK ||
        (status = ulp_move_table(call, &row, (size_t)g.out, 0, pixels, error)) != ULP_OK ||
        (status = ulp_move_table(call, &column, (size_t)pixels, 0, 1, error)) != ULP_OK)
        return status;
    struct ulp_contraction problem = {
        .batch_count = (size_t)(g.batch * g.count),
        .m = (size_t)g.out,
        .n = (size_t)pixels,
        .k = (size_t)k,
        .a = {.tensor = weights, .batch_offset = batch[0], .line_offset = w_line, .k_offset = w_k},
        .b = {.tensor = &x.tensor,
              .batch_offset = batch[1],
              .line_offset = x_line,
              .k_offset = x_k,
              .padding = x.padding},
        .out_batch_offset = batch[2],
        .out_row_offset = row,
        .out_column_offset = column,
    };
    return ulp_sums_add(call, sums, &problem, error);
}

static enum ulp_status run_conv(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_sums sums;
    enum ulp_status status =
        ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 2), &sums, error);
    if (status == ULP_OK)
        status = ulp_conv_sums(call, call->in[0], call->in[1], &sums, error);
    return status == ULP_OK ? ulp_sums_end(call, &sums, "--c", error) : status;
}

/* ---- ConvTranspose: output o of an axis takes kernel element k from input (o + pad - k *
 * dilation) / stride where that is whole. Outputs whose o + pad leave the same remainder by the
 * stride share their taps: one contraction each.
 * ---- */

static enum ulp_status read_conv_transpose(const struct ulp_call *call, struct groups *g,
                                           struct ulp_windows *w, struct ulp_error *error)
{
    const struct ulp_tensor *x = call->in[0], *weights = call->in[1],
                            *bias = ulp_call_input(call, "bias");
    int64_t extra[ULP_RANK_MAX];
    struct ulp_list shape;
    enum ulp_status status = ulp_windows_read_kernel(call, x, weights, w, error);
    if (status == ULP_OK)
        status = ulp_call_numbers(call, "output_padding", (size_t)w->rank, 0, extra, error);
    if (status == ULP_OK)
        status = ulp_call_list(call, "output_shape", &shape, error);
    if (status != ULP_OK)
        return status;
    int64_t group = ulp_call_int(call, "group");
    if (group < 1 || group > x->dims[1] || x->dims[1] != weights->dims[0] ||
        x->dims[1] % group != 0 || (bias && bias->count != (size_t)(group * weights->dims[1])) ||
        (shape.count && shape.count != (size_t)w->rank))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "weights, groups, bias or output_shape do not fit the input");
    bool upper = ulp_call_is(call, "auto_pad", "SAME_UPPER"),
         lower = ulp_call_is(call, "auto_pad", "SAME_LOWER");
    bool valid = ulp_call_is(call, "auto_pad", "VALID");
    for (int d = 0; d < w->rank; d++) {
        if (extra[d] < 0 || extra[d] > 1 << 20)
            return ulp_fail(error, ULP_ERROR_INPUT, "output_padding[%d] is %lld", d,
                            (long long)extra[d]);
        int64_t whole =
            w->strides[d] * (w->in[d] - 1) + extra[d] + (w->kernel[d] - 1) * w->dilations[d] + 1;
        if (valid)
            w->pads[d] = w->pads_end[d] = 0;
        w->out[d] = shape.count      ? shape.values[d]
                    : upper || lower ? w->in[d] * w->strides[d]
                                     : whole - w->pads[d] - w->pads_end[d];
        if (w->out[d] < 0 || w->out[d] > 2 * ULP_COUNT_MAX)
            return ulp_fail(error, ULP_ERROR_INPUT, "spatial axis %d would have %lld elements", d,
                            (long long)w->out[d]);
        if (shape.count || upper || lower) {
            int64_t total = whole > w->out[d] ? whole - w->out[d] : 0;
            w->pads[d] = upper ? total / 2 : total - total / 2;
        }
    }
    *g = (struct groups){x->dims[0], group, x->dims[1] / group, weights->dims[1]};
    return ULP_OK;
}

static enum ulp_status infer_conv_transpose(struct ulp_call *call, struct ulp_error *error)
{
    struct groups g = {0};
    struct ulp_windows w;
    enum ulp_status status = read_conv_transpose(call, &g, &w, error);
    return status == ULP_OK ? describe_conv(call, call->in[0]->type, &g, w.out, w.rank, error)
                            : status;
}

/* What a remainder r along an axis has. */
struct phases {
    int64_t counts[ULP_RANK_MAX]; /* of remainders that outputs have */
    int64_t
        *first_tap[ULP_RANK_MAX]; /* by r: the least k with k * dilation % stride == r; -1: none */
    int64_t tap_step[ULP_RANK_MAX]; /* from there to the next */
};

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static enum ulp_status list_phases(const struct ulp_call *call, const struct ulp_windows *w,
                                   struct phases *out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (int d = 0; d < w->rank && status == ULP_OK; d++) {
        const int64_t stride = w->strides[d], dilation = w->dilations[d],
                      step = stride / greatest_divisor(stride, dilation);
        out->counts[d] = stride < w->out[d] ? stride : w->out[d];
        out->tap_step[d] = step;
        status = ulp_move_table(call, &out->first_tap[d], (size_t)stride, -1, 0, error);
        for (int64_t k = 0; status == ULP_OK && k < step && k < w->kernel[d]; k++)
            out->first_tap[d][k * dilation % stride] = k;
    }
    return status;
}

/* Outputs of remainder r along an axis: first, first + stride, ...; its taps: first_tap, +
 * tap_step,
 * ... */
struct phase {
    int64_t r[ULP_RANK_MAX];
    /* (first + pad - r) / stride */
    int64_t first[ULP_RANK_MAX], outputs[ULP_RANK_MAX], quotient[ULP_RANK_MAX];
    int64_t first_tap[ULP_RANK_MAX], taps[ULP_RANK_MAX];
};

static void make_phase(const struct ulp_windows *w, const struct phases *phases, int64_t number,
                       struct phase *p)
{
    for (int d = w->rank - 1; d >= 0; d--) {
        const int64_t stride = w->strides[d], i = number % phases->counts[d];
        /* of few outputs not every remainder is one's */
        const int64_t r = phases->counts[d] == stride ? i : (i + w->pads[d]) % stride;
        number /= phases->counts[d];
        p->r[d] = r;
        p->first[d] = ((r - w->pads[d]) % stride + stride) % stride;
        p->outputs[d] = w->out[d] > p->first[d] ? (w->out[d] - p->first[d] - 1) / stride + 1 : 0;
        p->quotient[d] = (p->first[d] + w->pads[d] - r) / stride;
        p->first_tap[d] = phases->first_tap[d][r];
        p->taps[d] = p->first_tap[d] < 0
                         ? 0
                         : (w->kernel[d] - 1 - p->first_tap[d]) / phases->tap_step[d] + 1;
    }
}

/* Offsets of the phase's taps in the kernel and in the padded input, row-major. */
static enum ulp_status tap_tables(const struct ulp_call *call, const struct ulp_windows *w,
                                  const struct phases *phases, const struct phase *p,
                                  const int64_t *lead, const int64_t *x_strides, int64_t **kernel,
                                  int64_t **input, struct ulp_error *error)
{
    int64_t count = ulp_product(p->taps, w->rank);
    enum ulp_status status = ulp_call_take(call, (size_t)count, sizeof **kernel, kernel, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, (size_t)count, sizeof **input, input, error);
    for (int64_t i = 0; status == ULP_OK && i < count; i++) {
        int64_t rest = i, stride = 1;
        for (int d = w->rank - 1; d >= 0; d--) {
            const int64_t tap = p->first_tap[d] + rest % p->taps[d] * phases->tap_step[d],
                          shift = (tap * w->dilations[d] - p->r[d]) / w->strides[d];
            rest /= p->taps[d];
            (*kernel)[i] += tap * stride;
            (*input)[i] += (lead[d] - shift) * x_strides[d];
            stride *= w->kernel[d];
        }
    }
    return status;
}

static enum ulp_status run_phase(struct ulp_call *call, const struct groups *g,
                                 const struct ulp_windows *w, const struct phases *phases,
                                 int64_t number, const struct padded *x, const int64_t *lead,
                                 int64_t *const batch[3], struct ulp_sums *sums,
                                 struct ulp_error *error)
{
    static const int64_t ones[ULP_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct phase p;
    int64_t o_strides[ULP_RANK_MAX], *kernel, *input, *w_line, *w_k, *x_k, *x_line, *row, *column;
    int64_t positions = ulp_product(w->kernel, w->rank), pixels = ulp_product(w->out, w->rank);
    enum ulp_status status = ULP_OK;
    make_phase(w, phases, number, &p);
    int64_t taps = ulp_product(p.taps, w->rank), outputs = ulp_product(p.outputs, w->rank);
    struct ulp_tensor out = {.rank = w->rank};
    memcpy(out.dims, w->out, sizeof out.dims);
    ulp_strides(&out, o_strides);
    if (outputs == 0 ||
        (status = tap_tables(call, w, phases, &p, lead, x->strides, &kernel, &input, error)) !=
            ULP_OK ||
        (status = ulp_move_table(call, &w_line, (size_t)g->out, 0, positions, error)) != ULP_OK ||
        (status = channel_table(call, g->in, g->out * positions, taps, kernel, &w_k, error)) !=
            ULP_OK ||
        (status = channel_table(call, g->in, x->channel, taps, input, &x_k, error)) != ULP_OK ||
        (status = box_table(call, w->rank, p.outputs, p.quotient, ones, x->strides, &x_line,
                            error)) != ULP_OK ||
        (status = ulp_move_table(call, &row, (size_t)g->out, 0, pixels, error)) != ULP_OK ||
        (status = box_table(call, w->rank, p.outputs, p.first, w->strides, o_strides, &column,
                            error)) != ULP_OK)
        return status;
    struct ulp_contraction problem = {
        .batch_count = (size_t)(g->batch * g->count),
        .m = (size_t)g->out,
        .n = (size_t)outputs,
        .k = (size_t)(g->in * taps),
        .a = {.tensor = call->in[1],
              .batch_offset = batch[0],
              .line_offset = w_line,
              .k_offset = w_k},
        .b = {.tensor = &x->tensor,
              .batch_offset = batch[1],
              .line_offset = x_line,
              .k_offset = x_k,
              .padding = x->padding},
        .out_batch_offset = batch[2],
        .out_row_offset = row,
        .out_column_offset = column,
    };
    return ulp_sums_add(call, sums, &problem, error);
}

static enum ulp_status run_conv_transpose(struct ulp_call *call, struct ulp_error *error)
{
    struct groups g = {0};
    struct ulp_windows w;
    struct padded x;
    struct phases phases;
    struct ulp_sums sums;
    int64_t lead[ULP_RANK_MAX], size[ULP_RANK_MAX], *batch[3];
    enum ulp_status status = read_conv_transpose(call, &g, &w, error);
    if (status != ULP_OK || call->out[0].count == 0)
        return status;
    for (int d = 0; d < w.rank; d++) {
        int64_t last = (w.out[d] - 1 + w.pads[d]) / w.strides[d];    /* the largest quotient */
        lead[d] = (w.kernel[d] - 1) * w.dilations[d] / w.strides[d]; /* the largest shift */
        size[d] = lead[d] + (last + 1 > w.in[d] ? last + 1 : w.in[d]);
    }
    int64_t positions = ulp_product(w.kernel, w.rank), pixels = ulp_product(w.out, w.rank);
    if ((status = pad_input(call, call->in[0], w.rank, lead, size, &x, error)) != ULP_OK ||
        (status = group_tables(call, &g, g.in * g.out * positions, x.channel, pixels, batch,
                               error)) != ULP_OK ||
        (status = list_phases(call, &w, &phases, error)) != ULP_OK ||
        (status = ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 2), &sums, error)) !=
            ULP_OK)
        return status;
    for (int64_t i = 0; status == ULP_OK && i < ulp_product(phases.counts, w.rank); i++)
        status = run_phase(call, &g, &w, &phases, i, &x, lead, batch, &sums, error);
    return status == ULP_OK ? ulp_sums_end(call, &sums, "--c", error) : status;
}

/* clang-format off */
const struct ulp_operator ulp_ops_conv[] = {
    {.name = "Conv", .since = 1, .inputs = "x w bias?=-0", .outputs = "y",
     .attributes = "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; "
                   "pads:ints; strides:ints",
     .infer = infer_conv, .run = run_conv, .work = ULP_WORK_CONTRACTION, .weights = "w",
     .mixed = true, .epilogue = "acc + bias"},
    {.name = "ConvTranspose", .since = 1, .inputs = "x w bias?=-0", .outputs = "y",
     .attributes = "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; "
                   "output_padding:ints; "
                   "output_shape:ints; pads:ints; strides:ints", .infer = infer_conv_transpose,
     .run = run_conv_transpose, .work = ULP_WORK_CONTRACTION, .weights = "w", .mixed = true,
     .epilogue = "acc + bias"},
    {0},
};
/* clang-format on */
