/* Convolution: only which elements multiply which. */
#include <string.h>

#include "base/error.h"
#include "kernels/cublas.h"
#include "number/format/gpu.h"
#include "number/format/scaling.h"
#include "ops/call/library.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/product/conv_kernel.h"
#include "ops/product/conv_layout.h"
#include "ops/spatial/window.h"

static enum ulp_status read_conv(const struct ulp_call *call, const struct ulp_tensor *x,
                                 const struct ulp_tensor *w, struct ulp_conv_groups *g,
                                 struct ulp_windows *windows)
{
    const struct ulp_tensor *bias = ulp_call_input(call, "bias");
    ULP_TRY(ulp_windows_read(call, x, w, windows));
    int64_t group = ulp_call_int(call, "group"), out = w->dims[0];
    char a[200], b[200];
    if (group < 1 || group > x->dims[1] || x->dims[1] % group != 0 ||
        x->dims[1] / group != w->dims[1] || out % group != 0 ||
        (bias && bias->count != (size_t)out))
        return ULP_REFUSE(call, "weights %s, %lld groups and bias do not fit input %s",
                          ulp_tensor_describe_text(w, a, sizeof a), (long long)group,
                          ulp_tensor_describe_text(x, b, sizeof b));
    *g = (struct ulp_conv_groups){x->dims[0], group, w->dims[1], out / group};
    return ULP_OK;
}

enum ulp_status ulp_conv_infer(struct ulp_call *call, const struct ulp_tensor *x,
                               const struct ulp_tensor *w, enum ulp_type type)
{
    struct ulp_conv_groups g = {0};
    struct ulp_windows windows;
    ULP_TRY(read_conv(call, x, w, &g, &windows));
    return ulp_conv_describe(call, type, &g, windows.out, windows.rank);
}

/* The order in which a matrix unit meets k, as implicit GEMM over channels-last data does: blocks
 * of channels as deep as the kernel's tile, in each the kernel positions, in each of these the
 * block's channels. Scalar chains keep the weight tensor's order, channel then position. Measured
 * (cuDNN 9.19 on an H200, tests/data/unit/h200_conv_channels.npz): the tile is 32 deep, for FP16
 * and BF16 64 where that divides the channels; every bit is equal for 16 to 256 channels whose tail
 * is whole blocks of the unit (a shorter tail the kernels fill up with zeros, which is not done
 * here). Of FP8 nothing is known: one block; so it is where factors have scales. */
static int64_t count_tile_channels(const struct ulp_arithmetic *arithmetic, int64_t channels)
{
    const int bits = arithmetic->factor.storage_bits;
    const bool all =
        bits <= 8 || ulp_scaling_is_used(arithmetic) || arithmetic->conv == ULP_CONV_NHWC;
    if (arithmetic->conv == ULP_CONV_NCHWC)
        return 16;
    return all ? channels : bits == 16 && channels % 64 == 0 ? 64 : 32;
}

/* Is k ordered by positions? Blocks that share a scale are of channels. */
static bool keeps_positions(const struct ulp_arithmetic *arithmetic)
{
    return *arithmetic->schedule.unit_class || ulp_scaling_is_used(arithmetic) ||
           arithmetic->conv == ULP_CONV_NHWC || arithmetic->conv == ULP_CONV_NCHWC;
}

/* Are all channels of a position neighbours in k? */
static bool tile_is_whole(const struct ulp_arithmetic *arithmetic, int64_t channels)
{
    return keeps_positions(arithmetic) && count_tile_channels(arithmetic, channels) >= channels;
}

/* The products of one result in the order of their sum; -1: a place that the kernel fills up with a
 * zero. NULL: the weight's order. */
struct taps {
    int64_t *places;
    size_t count;
};

/* Of conv=torch the recorded kernel's; that fills up where weights are floats of one group. Pairs
 * of integers are neighbours in channels-last data. */
static enum ulp_status find_taps(const struct ulp_call *call, const struct ulp_tensor *weights,
                                 const struct ulp_conv_groups *g, const struct ulp_windows *w,
                                 bool pairs, struct taps *taps)
{
    const int64_t positions = ulp_product(w->kernel, w->rank);
    struct ulp_conv_kernel kernel = {.order = ULP_CONV_TILES,
                                     .tile = pairs ? g->in
                                                   : count_tile_channels(call->arithmetic, g->in),
                                     .block = 1};
    *taps = (struct taps){NULL, (size_t)(g->in * positions)};
    if ((!pairs && !keeps_positions(call->arithmetic)) || taps->count == 0)
        return ULP_OK;
    const bool known = !pairs && ulp_convolves_as_cudnn(call->arithmetic) && g->count == 1 &&
                       ulp_conv_kernel_find(call->arithmetic, g->in, g->out, w, &kernel);
    if (!known && (g->in == 1 || positions == 1))
        return ULP_OK;
    const size_t filled = ulp_conv_kernel_order(&kernel, g->in, positions, NULL);
    ULP_TRY(ulp_move_table(call, &taps->places, filled, 0, 0));
    ulp_conv_kernel_order(&kernel, g->in, positions, taps->places);
    taps->count = filled;
    if (known && weights->element == ULP_ELEMENT_F32)
        return ULP_OK;
    taps->count = 0;
    for (size_t i = 0; i < filled; i++)
        if (taps->places[i] >= 0)
            taps->places[taps->count++] = taps->places[i];
    return ULP_OK;
}

/* The bias as the first product of every chain, by ones that lie behind the input; w_k and x_k have
 * a place for it, the lines of problem->a are one longer than the weights'. */
static enum ulp_status begin_with_bias(const struct ulp_call *call, const struct ulp_tensor *bias,
                                       struct ulp_padded *x, struct ulp_contraction *problem)
{
    const struct ulp_tensor *weights = problem->a.tensor;
    const size_t k = problem->k - 1, count = x->tensor.count;
    uint8_t *padding = NULL;
    ULP_CALL_TAKE(struct ulp_tensor, longer, call, 1);
    ULP_CALL_TAKE(float, values, call, weights->count + bias->count);
    ULP_CALL_TAKE(float, input, call, 2 * count);
    if (x->padding)
        ULP_TRY(ulp_call_take(call, 2 * count, 1, &padding));
    for (size_t i = 0; i < bias->count; i++) {
        values[i * (k + 1)] = ((const float *)bias->data)[i];
        memcpy(values + i * (k + 1) + 1, (const float *)weights->data + i * k, k * sizeof *values);
    }
    memcpy(input, x->tensor.data, count * sizeof *input);
    for (size_t i = count; i < 2 * count; i++)
        input[i] = 1;
    if (padding) {
        for (size_t i = 0; i < count; i++)
            padding[i] = x->padding[i % (size_t)x->channel];
        memset(padding + count, 0, count);
    }
    ulp_make_flat(longer, weights, values, bias->count, k + 1);
    ulp_make_flat(&x->tensor, &x->tensor, input, 2, count);
    problem->a.tensor = longer;
    problem->b.padding = padding;
    problem->b.padding_period = 0;
    return ULP_OK;
}

static enum ulp_status infer_conv(struct ulp_call *call)
{
    return ulp_conv_infer(call, call->in[0], call->in[1], call->in[0]->type);
}

/* first: NULL, or the bias that chains begin with. */
static enum ulp_status add_sums(struct ulp_call *call, const struct ulp_tensor *in,
                                const struct ulp_tensor *weights, const struct ulp_tensor *first,
                                struct ulp_sums *sums)
{
    static const int64_t zeros[ULP_RANK_MAX];
    struct ulp_conv_groups g = {0};
    struct ulp_windows w;
    struct ulp_padded x;
    struct taps order;
    int64_t size[ULP_RANK_MAX], *batch[3], *w_line, *w_k, *taps, *x_k, *x_line, *row, *column;
    const int64_t *x_order;
    ULP_TRY(read_conv(call, in, weights, &g, &w));
    if (call->out[0].count == 0)
        return ULP_OK;
    for (int d = 0; d < w.rank; d++)
        size[d] = w.in[d] + w.pads[d] + w.pads_end[d];
    int64_t positions = ulp_product(w.kernel, w.rank), pixels = ulp_product(w.out, w.rank),
            k = g.in * positions;
    const int64_t k_whole = k + (first ? 1 : 0);
    ULP_TRY(ulp_pad_input(call, in, w.rank, w.pads, size, &x));
    ULP_TRY(ulp_conv_group_tables(call, &g, g.out * k_whole, x.channel, pixels, batch));
    ULP_TRY(ulp_move_table(call, &w_line, (size_t)g.out, 0, k_whole));
    ULP_TRY(ulp_move_table(call, &w_k, (size_t)k_whole, 0, 1));
    ULP_TRY(ulp_box_table(call, w.rank, w.kernel, zeros, w.dilations, x.strides, &taps));
    ULP_TRY(ulp_conv_channel_table(call, g.in, x.channel, positions, taps, &x_k));
    ULP_TRY(find_taps(call, weights, &g, &w, sums->pairs, &order));
    x_order = x_k;
    if (order.places)
        ULP_TRY(ulp_reorder(call, order.places, order.count, &x_order));
    ULP_TRY(ulp_box_table(call, w.rank, w.out, zeros, w.strides, x.strides, &x_line));
    ULP_TRY(ulp_move_table(call, &row, (size_t)g.out, 0, pixels));
    ULP_TRY(ulp_move_table(call, &column, (size_t)pixels, 0, 1));
    if (first) {
        int64_t *longer;
        ULP_TRY(ulp_move_table(call, &longer, (size_t)k_whole, 0, 0));
        longer[0] = (int64_t)x.tensor.count;
        memcpy(longer + 1, x_order, (size_t)k * sizeof *longer);
        x_order = longer;
    }
    struct ulp_contraction problem = {
        .batch_count = (size_t)(g.batch * g.count),
        .m = (size_t)g.out,
        .n = (size_t)pixels,
        .is_cudnn = true,
        .k = first ? (size_t)k_whole : order.count,
        .k_run = tile_is_whole(call->arithmetic, g.in) ? (size_t)g.in : 0,
        .a = {.tensor = weights, .batch_offset = batch[0], .line_offset = w_line, .k_offset = w_k},
        .b = {.tensor = &x.tensor,
              .batch_offset = batch[1],
              .line_offset = x_line,
              .k_offset = x_order,
              .padding = x.padding,
              .padding_period = (size_t)x.channel},
        .out_batch_offset = batch[2],
        .out_row_offset = row,
        .out_column_offset = column,
    };
    if (order.count > (size_t)k)
        ULP_TRY(ulp_fill_lines(call, order.places, order.count, (size_t)g.out, &problem.a));
    else if (order.places)
        ULP_TRY(ulp_reorder(call, order.places, order.count, &problem.a.k_offset));
    if (first)
        ULP_TRY(begin_with_bias(call, first, &x, &problem));
    return ulp_sums_add(call, sums, &problem);
}

enum ulp_status ulp_conv_sums(struct ulp_call *call, const struct ulp_tensor *in,
                              const struct ulp_tensor *weights, struct ulp_sums *sums)
{
    return add_sums(call, in, weights, NULL, sums);
}

static bool find_kernel(const struct ulp_call *call, struct ulp_windows *windows,
                        struct ulp_conv_kernel *kernel)
{
    /* where this fails the sums, which read the windows again, fail */
    return ulp_windows_read(call, call->in[0], call->in[1], windows) == ULP_OK &&
           ulp_conv_kernel_find(call->arithmetic, call->in[1]->dims[1], call->in[1]->dims[0],
                                windows, kernel);
}

/* The two chains of a 1x1 kernel that is a matrix times a vector; true: there are two. */
static bool cut_vector(struct ulp_arithmetic *own, const struct ulp_windows *w, int64_t channels,
                       int64_t features)
{
    const size_t k = (size_t)channels;
    const struct ulp_cublas_order order =
        ulp_cublas_find(true, 1, (size_t)features, (size_t)ulp_product(w->out, w->rank), k, false);
    if (ulp_product(w->kernel, w->rank) != 1 || !order.chunk || 2 * order.chunk < k)
        return false;
    own->schedule.split_k = 2;
    own->schedule.slice_tile = (int)order.chunk;
    return true;
}

/* is_narrow of a transposed convolution: 282 of 300 shapes in two dimensions and 469 of 500 in one
 * follow, where of none being TF32 262 and 440 would. */
static bool is_narrow_transposed(const struct ulp_tensor *in, const struct ulp_tensor *weights)
{
    enum { POSITIONS = 6, SUM = 832, PRODUCTS = 64000000 };
    const int rank = weights->rank - 2;
    const int64_t positions = ulp_product(weights->dims + 2, rank);
    if (positions == 1)
        return false;
    return rank == 1 ? positions > POSITIONS || weights->dims[0] * positions <= SUM
                     : (double)in->count * (double)weights->dims[1] * (double)positions < PRODUCTS;
}

/* Did cuDNN's search find no TF32 kernel for such a shape, or a faster one in FP32? Recorded on an
 * H200 (lab/record_ort_choices.py): of 1,957 shapes in one group 1,801 follow, with a bias and
 * without, and of 201 in 30 networks that decided little before 185. A single row or column is no
 * product for it; square kernels at stride 1 are faster transformed, in FP32, up to so many sums.
 * Most that do not follow are in one dimension, sums of 200 to 500 products, which were seen both
 * ways. */
static bool is_narrow(const struct ulp_call *call)
{
    enum {
        SUM = 288,
        SUM_IN_LINE = 250,
        SUM_SQUARE = 432,
        SQUARE_LEAST = 100,
        SQUARE_MOST = 7000,
        LARGE = 7,
        LARGE_MOST = 480,
        CHANNELS = 12,
        CHANNELS_STRIDED = 256
    };
    const struct ulp_tensor *weights = call->in[1];
    const int64_t channels = weights->dims[1];
    int64_t stride = 1;
    struct ulp_windows w;
    if (ulp_call_int(call, "group") > 1)
        return true;
    if (strcmp(call->bound->op->name, "ConvTranspose") == 0)
        return is_narrow_transposed(call->in[0], weights);
    if (ulp_windows_read(call, call->in[0], weights, &w) != ULP_OK)
        return false;
    const int64_t sums = ulp_product(w.out, w.rank) * call->in[0]->dims[0],
                  positions = ulp_product(w.kernel, w.rank);
    for (int d = 0; d < w.rank; d++)
        stride = w.strides[d] > stride ? w.strides[d] : stride;
    if (positions == 1)
        return channels < (stride > 1 ? CHANNELS_STRIDED : CHANNELS) || sums == 1 ||
               weights->dims[0] == 1;
    if (w.rank == 2 && (w.kernel[0] == 1 || w.kernel[1] == 1))
        return channels * positions < SUM_IN_LINE;
    if (w.rank == 2 && stride == 1 && w.kernel[0] == w.kernel[1] && sums >= SQUARE_LEAST &&
        sums <= SQUARE_MOST)
        return channels * positions < SUM_SQUARE || (w.kernel[0] >= LARGE && sums < LARGE_MOST);
    return channels * positions < SUM;
}

const struct ulp_arithmetic *ulp_conv_searched(const struct ulp_call *call,
                                               struct ulp_arithmetic *own)
{
    if (call->arithmetic->conv != ULP_CONV_SEARCHED || !is_narrow(call))
        return call->arithmetic;
    *own = *call->arithmetic;
    ulp_leave_unit(own);
    return own;
}

/* As PyTorch 2.11 and cuDNN 9.19 compute what is no product for a matrix unit, found from the
 * convolutions of 27 networks on an H100 (lab/compare_bits.py): scalar chains in
 * the weight's order for 1 to 3 channels, for one channel a group, and for the shapes that the
 * table of kernels says so of. Chains
 * begin with the bias, which is PyTorch's own kernel for one channel a group, or the bias is added
 * after the sum is rounded, which is cuDNN's (FP16 with 32 channels or more). *first: the bias that
 * chains begin with, or NULL. Where k is cut, that is set, too; true: *own is another arithmetic.
 */
static bool take_kernel(const struct ulp_call *call, struct ulp_arithmetic *own,
                        const struct ulp_tensor **first)
{
    const int64_t groups = ulp_call_int(call, "group"), channels = call->in[1]->dims[1],
                  features = call->in[1]->dims[0];
    const bool depthwise = groups > 1 && channels == 1 && features == groups;
    struct ulp_windows windows;
    struct ulp_conv_kernel kernel = {.slices = 1};
    if (ulp_conv_searched(call, own) == own)
        return true;
    *own = *call->arithmetic;
    if (!ulp_convolves_as_cudnn(own) || !(depthwise || groups == 1))
        return false;
    const bool known = groups == 1 && find_kernel(call, &windows, &kernel),
               tf32 = strcmp(own->factor.name, "tf32") == 0;
    own->schedule.split_k = own->schedule.promote = 0;
    if (known && tf32 && cut_vector(own, &windows, channels, features))
        return true;
    if (!depthwise && channels > 3 && !(known && kernel.order == ULP_CONV_CHAIN)) {
        own->schedule.split_k = kernel.slices;
        own->schedule.slice_tile = kernel.slice;
        if (kernel.ties_away)
            own->schedule.operand_rounding = ULP_ROUND_NEAREST_AWAY;
        return kernel.slices > 1 || kernel.ties_away;
    }
    ulp_leave_unit(own);
    if (own->conv == ULP_CONV_TORCH && depthwise &&
        (groups < 32 || strcmp(own->storage.name, "fp16") != 0))
        *first = ulp_call_in(call, 2);
    return true;
}

static enum ulp_status run_conv(struct ulp_call *call)
{
    struct ulp_sums sums;
    struct ulp_arithmetic own;
    struct ulp_call beside = *call;
    const struct ulp_tensor *first = NULL;
    if (take_kernel(call, &own, &first)) {
        beside.arithmetic = &own;
        call = &beside;
    }
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, !first && ulp_call_in(call, 2), &sums));
    ULP_TRY(add_sums(call, call->in[0], call->in[1], first, &sums));
    return ulp_sums_end(call, &sums, "--c");
}

/* clang-format off */
const struct ulp_operator ulp_ops_conv[] = {
    {.name = "Conv", .since = 1, .inputs = "x:m w bias:m?=-0", .outputs = "y",
     .attributes = "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; "
                   "pads:ints; strides:ints",
     .infer = infer_conv, .run = run_conv, .work = ULP_WORK_CONTRACTION, .weights = "w",
     .epilogue = "acc + bias"},
    {0},
};
/* clang-format on */
