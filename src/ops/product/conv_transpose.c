/* ConvTranspose: output o of an axis takes kernel element k from input (o + pad - k *
 * dilation) / stride where that is whole. Outputs whose o + pad leave the same remainder by the
 * stride share their taps: one contraction each. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/product/conv_layout.h"
#include "ops/spatial/window.h"

static enum ulp_status read_conv_transpose(const struct ulp_call *call, struct ulp_conv_groups *g,
                                           struct ulp_windows *w)
{
    const struct ulp_tensor *x = call->in[0], *weights = call->in[1],
                            *bias = ulp_call_input(call, "bias");
    int64_t extra[ULP_RANK_MAX];
    struct ulp_list shape;
    ULP_TRY(ulp_windows_read_kernel(call, x, weights, w));
    ULP_TRY(ulp_call_numbers(call, "output_padding", (size_t)w->rank, 0, extra));
    ULP_TRY(ulp_call_list(call, "output_shape", &shape));
    int64_t group = ulp_call_int(call, "group");
    if (group < 1 || group > x->dims[1] || x->dims[1] != weights->dims[0] ||
        x->dims[1] % group != 0 || (bias && bias->count != (size_t)(group * weights->dims[1])) ||
        (shape.count && shape.count != (size_t)w->rank))
        return ULP_REFUSE(call, "weights, groups, bias or output_shape do not fit the input");
    bool upper = ulp_call_is(call, "auto_pad", "SAME_UPPER"),
         lower = ulp_call_is(call, "auto_pad", "SAME_LOWER");
    bool valid = ulp_call_is(call, "auto_pad", "VALID");
    for (int d = 0; d < w->rank; d++) {
        if (extra[d] < 0 || extra[d] > 1 << 20)
            return ULP_REFUSE(call, "output_padding[%d] is %lld", d, (long long)extra[d]);
        int64_t whole =
            w->strides[d] * (w->in[d] - 1) + extra[d] + (w->kernel[d] - 1) * w->dilations[d] + 1;
        if (valid)
            w->pads[d] = w->pads_end[d] = 0;
        w->out[d] = shape.count      ? shape.values[d]
                    : upper || lower ? w->in[d] * w->strides[d]
                                     : whole - w->pads[d] - w->pads_end[d];
        if (w->out[d] < 0 || w->out[d] > 2 * ULP_COUNT_MAX)
            return ULP_REFUSE(call, "spatial axis %d would have %lld elements", d,
                              (long long)w->out[d]);
        if (shape.count || upper || lower) {
            int64_t total = whole > w->out[d] ? whole - w->out[d] : 0;
            w->pads[d] = upper ? total / 2 : total - total / 2;
        }
    }
    *g = (struct ulp_conv_groups){x->dims[0], group, x->dims[1] / group, weights->dims[1]};
    return ULP_OK;
}

static enum ulp_status infer_conv_transpose(struct ulp_call *call)
{
    struct ulp_conv_groups g = {0};
    struct ulp_windows w;
    ULP_TRY(read_conv_transpose(call, &g, &w));
    return ulp_conv_describe(call, call->in[0]->type, &g, w.out, w.rank);
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
                                   struct phases *out)
{
    for (int d = 0; d < w->rank; d++) {
        const int64_t stride = w->strides[d], dilation = w->dilations[d],
                      step = stride / greatest_divisor(stride, dilation);
        out->counts[d] = stride < w->out[d] ? stride : w->out[d];
        out->tap_step[d] = step;
        ULP_TRY(ulp_move_table(call, &out->first_tap[d], (size_t)stride, -1, 0));
        for (int64_t k = 0; k < step && k < w->kernel[d]; k++)
            out->first_tap[d][k * dilation % stride] = k;
    }
    return ULP_OK;
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
                                  int64_t **input)
{
    int64_t count = ulp_product(p->taps, w->rank);
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof **kernel, kernel));
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof **input, input));
    for (int64_t i = 0; i < count; i++) {
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
    return ULP_OK;
}

static enum ulp_status run_phase(struct ulp_call *call, const struct ulp_conv_groups *g,
                                 const struct ulp_windows *w, const struct phases *phases,
                                 int64_t number, const struct ulp_padded *x, const int64_t *lead,
                                 int64_t *const batch[3], struct ulp_sums *sums)
{
    static const int64_t ones[ULP_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct phase p;
    int64_t o_strides[ULP_RANK_MAX], *kernel, *input, *w_line, *w_k, *x_k, *x_line, *row, *column;
    int64_t positions = ulp_product(w->kernel, w->rank), pixels = ulp_product(w->out, w->rank);
    make_phase(w, phases, number, &p);
    int64_t taps = ulp_product(p.taps, w->rank), outputs = ulp_product(p.outputs, w->rank);
    struct ulp_tensor out = {.rank = w->rank};
    memcpy(out.dims, w->out, sizeof out.dims);
    ulp_strides(&out, o_strides);
    if (outputs == 0)
        return ULP_OK;
    ULP_TRY(tap_tables(call, w, phases, &p, lead, x->strides, &kernel, &input));
    ULP_TRY(ulp_move_table(call, &w_line, (size_t)g->out, 0, positions));
    ULP_TRY(ulp_conv_channel_table(call, g->in, g->out * positions, taps, kernel, &w_k));
    ULP_TRY(ulp_conv_channel_table(call, g->in, x->channel, taps, input, &x_k));
    ULP_TRY(ulp_box_table(call, w->rank, p.outputs, p.quotient, ones, x->strides, &x_line));
    ULP_TRY(ulp_move_table(call, &row, (size_t)g->out, 0, pixels));
    ULP_TRY(ulp_box_table(call, w->rank, p.outputs, p.first, w->strides, o_strides, &column));
    struct ulp_contraction problem = {
        .batch_count = (size_t)(g->batch * g->count),
        .m = (size_t)g->out,
        .n = (size_t)outputs,
        .is_cudnn = true,
        .k = (size_t)(g->in * taps),
        .a = {.tensor = call->in[1],
              .batch_offset = batch[0],
              .line_offset = w_line,
              .k_offset = w_k},
        .b = {.tensor = &x->tensor,
              .batch_offset = batch[1],
              .line_offset = x_line,
              .k_offset = x_k,
              .padding = x->padding,
              .padding_period = (size_t)x->channel},
        .out_batch_offset = batch[2],
        .out_row_offset = row,
        .out_column_offset = column,
    };
    return ulp_sums_add(call, sums, &problem);
}

static enum ulp_status run_conv_transpose(struct ulp_call *call)
{
    struct ulp_conv_groups g = {0};
    struct ulp_windows w;
    struct ulp_padded x;
    struct phases phases;
    struct ulp_sums sums;
    struct ulp_arithmetic own;
    struct ulp_call beside = *call;
    int64_t lead[ULP_RANK_MAX], size[ULP_RANK_MAX], *batch[3];
    beside.arithmetic = ulp_conv_searched(call, &own);
    call = &beside;
    ULP_TRY(read_conv_transpose(call, &g, &w));
    if (call->out[0].count == 0)
        return ULP_OK;
    for (int d = 0; d < w.rank; d++) {
        int64_t last = (w.out[d] - 1 + w.pads[d]) / w.strides[d];    /* the largest quotient */
        lead[d] = (w.kernel[d] - 1) * w.dilations[d] / w.strides[d]; /* the largest shift */
        size[d] = lead[d] + (last + 1 > w.in[d] ? last + 1 : w.in[d]);
    }
    int64_t positions = ulp_product(w.kernel, w.rank), pixels = ulp_product(w.out, w.rank);
    ULP_TRY(ulp_pad_input(call, call->in[0], w.rank, lead, size, &x));
    ULP_TRY(ulp_conv_group_tables(call, &g, g.in * g.out * positions, x.channel, pixels, batch));
    ULP_TRY(list_phases(call, &w, &phases));
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 2), &sums));
    for (int64_t i = 0; i < ulp_product(phases.counts, w.rank); i++)
        ULP_TRY(run_phase(call, &g, &w, &phases, i, &x, lead, batch, &sums));
    return ulp_sums_end(call, &sums, "--c");
}

/* clang-format off */
const struct ulp_operator ulp_ops_conv_transpose[] = {
    {.name = "ConvTranspose", .since = 1, .inputs = "x:m w bias:m?=-0", .outputs = "y",
     .attributes = "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; "
                   "output_padding:ints; "
                   "output_shape:ints; pads:ints; strides:ints", .infer = infer_conv_transpose,
     .run = run_conv_transpose, .work = ULP_WORK_CONTRACTION, .weights = "w",
     .epilogue = "acc + bias"},
    {0},
};
/* clang-format on */
