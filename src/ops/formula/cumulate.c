/* CumSum and CumProd: running folds of the lines along the axis; results are rounded to storage,
 * the accumulator is not. Where rows are added as a GPU does (reduce=warp): as PyTorch's scan
 * kernels, in storage. Col2Im: sums of the blocks that overlap in a pixel. */
#include <string.h>

#include "base/error.h"
#include "ops/combine.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* Values of the input's type as sums hold them, and the arithmetic that rounds to that. */
static enum ulp_status make_accumulator(struct ulp_call *call, enum ulp_type type, int rank,
                                        const int64_t *dims, struct ulp_tensor *out,
                                        struct ulp_arithmetic *arithmetic)
{
    *arithmetic = *call->arithmetic;
    if (ulp_type_is_float(type)) {
        arithmetic->storage = arithmetic->rows;
        return ulp_call_temporary_in(call, out, &arithmetic->storage, rank, dims);
    }
    ULP_TRY(ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, rank, dims, call->error));
    return ulp_call_temporary(call, out);
}

static enum ulp_status fill_from(struct ulp_call *call, struct ulp_tensor *out, float value)
{
    struct ulp_tensor element = *out;
    const struct ulp_tensor from = ulp_tensor_list(ULP_TYPE_FLOAT, &value, 0, 1);
    element.rank = 0;
    element.count = 1;
    ULP_TRY(ulp_call_temporary(call, &element));
    ULP_TRY(
        ulp_tensor_convert(&element, &from, NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL, call->error));
    ulp_move_fill(out, 0, out->count, element.data);
    return ULP_OK;
}

/* Lines along the axis are the rows of x and y, their positions in the order of the sum. */
static enum ulp_status lay_lines(struct ulp_call *call, const struct ulp_split *split, bool reverse,
                                 struct ulp_operand *x, struct ulp_operand *y)
{
    const size_t size = split->size, inner = split->inner, count = split->outer * inner;
    int64_t *lines = NULL, *positions = NULL;
    if (inner > 1 && split->outer > 1)
        ULP_TRY(ulp_call_take(call, count, sizeof *lines, &lines));
    if (reverse)
        ULP_TRY(ulp_call_take(call, size, sizeof *positions, &positions));
    for (size_t i = 0; lines && i < count; i++)
        lines[i] = (int64_t)(i / inner * inner * size + i % inner);
    for (size_t i = 0; positions && i < size; i++)
        positions[i] = (int64_t)((size - 1 - i) * inner);
    x->row_offset = y->row_offset = lines;
    x->row_stride = y->row_stride = inner == 1 ? (int64_t)size : 1;
    x->position_offset = y->position_offset = positions;
    x->position_stride = y->position_stride = (int64_t)inner;
    return ULP_OK;
}

/* Threads of PyTorch's scan along the last axis (get_log_num_threads_x_inner_scan in
 * ScanUtils.cuh): about 512 in a block, shared between lines and positions as these are. */
static size_t count_scan_threads(size_t lines, size_t size)
{
    int columns = 0, rows = 0;
    while ((size_t)1 << columns < size)
        columns++;
    while ((size_t)1 << rows < lines)
        rows++;
    const int log = (9 + columns - rows) / 2;
    return (size_t)1 << (log < 4 ? 4 : log > 9 ? 9 : log);
}

/* The positions [first, last) that a step of width s adds to, and what it adds to them. Returns
 * their number. */
static size_t list_scan(int64_t *to, int64_t *from, size_t first, size_t last, size_t s,
                        size_t size, bool reverse)
{
    size_t count = 0;
    for (size_t i = 0; first + i < last; i++)
        if (i & s) {
            const size_t source = first + (i & ~(2 * s - 1)) + s - 1;
            to[count] = (int64_t)(reverse ? size - 1 - first - i : first + i);
            from[count++] = (int64_t)(reverse ? size - 1 - source : source);
        }
    return count;
}

static const struct ulp_formula scan_sum = {"a b", "a", "a + b"},
                                scan_product = {"a b", "a", "a * b"};

/* Sklansky's prefix sum in blocks of two positions a thread, the total of those before added to a
 * block's first. Bits of an H200: lab/compare_h200.py, layer cumsum. */
static enum ulp_status scan_lines(struct ulp_call *call, const struct ulp_split *split,
                                  bool product)
{
    const size_t size = split->size, block = 2 * count_scan_threads(split->outer, size);
    const bool reverse = ulp_call_int(call, "reverse");
    const struct ulp_formula *const combine = product ? &scan_product : &scan_sum;
    struct ulp_rows rows = {.row_count = split->outer, .row_length = size};
    struct ulp_named_operand x = {
        "a", {.tensor = call->in[0], .row_stride = (int64_t)size, .position_stride = 1}};
    struct ulp_named_operand y = x, other = {"b", {.constant = product ? "1" : "0"}};
    int64_t *to, *from = NULL;
    y.operand.tensor = &call->out[0];
    ULP_TRY(ulp_call_take(call, block, sizeof *to, &to));
    ULP_TRY(ulp_call_take(call, block, sizeof *from, &from));
    /* the kernel starts from a zero, too */
    ULP_TRY(ulp_call_formula(call, combine, call->arithmetic, &rows, 2,
                             (struct ulp_named_operand[]){x, other}, 1, &y));
    y.operand.position_offset = to;
    other = y;
    other.name = "b";
    other.operand.position_offset = from;
    for (size_t first = 0; first < size; first += block) {
        const size_t last = first + block < size ? first + block : size;
        to[0] = (int64_t)(reverse ? size - 1 - first : first);
        from[0] = to[0] + (reverse ? 1 : -1);
        rows.row_length = first > 0;
        for (size_t s = 0; s < block; s = s ? 2 * s : 1) {
            if (s)
                rows.row_length = list_scan(to, from, first, last, s, size, reverse);
            if (rows.row_length)
                ULP_TRY(ulp_call_formula(call, combine, call->arithmetic, &rows, 2,
                                         (struct ulp_named_operand[]){y, other}, 1, &y));
        }
    }
    return ULP_OK;
}

static const struct ulp_formula running_sum = {"x", "y", "running_sum(x)"},
                                running_product = {"x", "y", "running_product(x)"};

static enum ulp_status run_cumulate(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const bool product = call->bound->op->parameter == 1,
               exclusive = ulp_call_int(call, "exclusive"), reverse = ulp_call_int(call, "reverse");
    int64_t wanted;
    int axis;
    bool known;
    ULP_TRY(ulp_call_number(call, "axis", 0, &known, &wanted));
    ULP_TRY(ulp_call_axis(wanted, in->rank, &axis, call->error));
    const struct ulp_split split = ulp_split_at(in, axis);
    const bool as_gpu = call->arithmetic->reduce == ULP_ORDER_WARP && ulp_type_is_float(in->type);
    if (as_gpu && split.inner == 1 && !exclusive)
        return scan_lines(call, &split, product);
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    if (as_gpu)
        arithmetic.rows = arithmetic.storage;
    const struct ulp_rows rows = {.row_count = split.outer * split.inner,
                                  .row_length = split.size - exclusive};
    const struct ulp_tensor behind = ulp_tensor_view_from(&call->out[0], split.inner);
    struct ulp_named_operand x = {"x", {.tensor = in}}, y = {"y", {.tensor = &call->out[0]}};
    ULP_TRY(lay_lines(call, &split, reverse, &x.operand, &y.operand));
    if (exclusive) {
        ULP_TRY(fill_from(call, &call->out[0], product));
        if (reverse)
            y.operand.position_offset++;
        else
            y.operand.tensor = &behind;
    }
    return rows.row_length ? ulp_call_formula(call, product ? &running_product : &running_sum,
                                              &arithmetic, &rows, 1, &x, 1, &y)
                           : ULP_OK;
}

/* ---- Col2Im ---- */

/* No product of two such numbers overflows. */
#define NUMBER_MAX INT32_MAX

struct blocks {
    int rank;
    bool known;
    int64_t image[ULP_RANK_MAX], block[ULP_RANK_MAX], strides[ULP_RANK_MAX],
        dilations[ULP_RANK_MAX], pads[2 * ULP_RANK_MAX];
    int64_t steps[ULP_RANK_MAX]; /* blocks along each axis */
};

static enum ulp_status read_blocks(const struct ulp_call *call, struct blocks *b)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_list image, block;
    ULP_TRY(ulp_call_list(call, "image_shape", &image));
    ULP_TRY(ulp_call_list(call, "block_shape", &block));
    *b = (struct blocks){.rank = (int)image.count, .known = image.known && block.known};
    if (in->rank != 3 || image.count != block.count || image.count < 1 ||
        image.count > ULP_RANK_MAX - 2)
        return ULP_REFUSE(call, "image_shape has %zu entries, block_shape %zu, the input rank %d",
                          image.count, block.count, in->rank);
    ULP_TRY(ulp_call_numbers(call, "strides", image.count, 1, b->strides));
    ULP_TRY(ulp_call_numbers(call, "dilations", image.count, 1, b->dilations));
    ULP_TRY(ulp_call_numbers(call, "pads", 2 * image.count, 0, b->pads));
    if (!b->known)
        return ULP_OK;
    for (int d = 0; d < b->rank; d++) {
        b->image[d] = image.values[d];
        b->block[d] = block.values[d];
        const int64_t numbers[] = {b->image[d],     b->block[d], b->strides[d],
                                   b->dilations[d], b->pads[d],  b->pads[b->rank + d]};
        for (int i = 0; i < 6; i++)
            if (numbers[i] < (i < 4) || numbers[i] > NUMBER_MAX)
                return ULP_REFUSE(
                    call, "image, block, stride, dilation or pads of axis %d are out of range", d);
        int64_t room = b->image[d] + b->pads[d] + b->pads[b->rank + d] -
                       b->dilations[d] * (b->block[d] - 1) - 1;
        if (room < 0)
            return ULP_REFUSE(call, "blocks do not fit the image along axis %d", d);
        b->steps[d] = room / b->strides[d] + 1;
    }
    int64_t block_size = ulp_product(b->block, b->rank);
    if (in->dims[1] % block_size != 0 || in->dims[2] != ulp_product(b->steps, b->rank))
        return ULP_REFUSE(call,
                          "the input has %lld x %lld columns: expected a multiple of %lld x %lld",
                          (long long)in->dims[1], (long long)in->dims[2], (long long)block_size,
                          (long long)ulp_product(b->steps, b->rank));
    return ULP_OK;
}

static enum ulp_status infer_col2im(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct blocks b;
    ULP_TRY(read_blocks(call, &b));
    if (!b.known)
        return ULP_OK;
    int64_t dims[ULP_RANK_MAX] = {in->dims[0], in->dims[1] / ulp_product(b.block, b.rank)};
    memcpy(dims + 2, b.image, (size_t)b.rank * sizeof *dims);
    return ulp_call_describe(call, 0, in->type, b.rank + 2, dims);
}

/* The pixel of element `tap` of block `step`; -1: in the padding. */
static int64_t find_pixel(const struct blocks *b, int64_t tap, int64_t step)
{
    int64_t place = 0, stride = 1;
    for (int d = b->rank - 1; d >= 0; d--) {
        int64_t i =
            step % b->steps[d] * b->strides[d] - b->pads[d] + tap % b->block[d] * b->dilations[d];
        step /= b->steps[d];
        tap /= b->block[d];
        if (i < 0 || i >= b->image[d])
            return -1;
        place += i * stride;
        stride *= b->image[d];
    }
    return place;
}

static const struct ulp_formula joined = {"old update", "new", "old + update"},
                                stored = {"acc", "y", "copy(acc)"};

static enum ulp_status run_col2im(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor *out = &call->out[0], sums;
    struct ulp_arithmetic inner;
    struct blocks b;
    ULP_TRY(read_blocks(call, &b));
    if (out->count == 0)
        return ULP_OK;
    ULP_CALL_TAKE(int64_t, places, call, in->count);
    ULP_TRY(make_accumulator(call, in->type, out->rank, out->dims, &sums, &inner));
    ULP_TRY(fill_from(call, &sums, 0));
    const int64_t steps = in->dims[2], taps = ulp_product(b.block, b.rank),
                  pixels = ulp_product(b.image, b.rank);
    for (int64_t i = 0; i < (int64_t)in->count; i++) {
        int64_t pixel = find_pixel(&b, i / steps % taps, i % steps);
        places[i] = pixel < 0 ? -1 : i / (steps * taps) * pixels + pixel;
    }
    ULP_TRY(ulp_combine(call, &joined, &inner, &sums, in, places, in->count, 1));
    const struct ulp_rows rows = {.row_count = 1, .row_length = out->count};
    const struct ulp_named_operand acc = {"acc", {.tensor = &sums, .position_stride = 1}};
    const struct ulp_named_operand result = {"y", {.tensor = out, .position_stride = 1}};
    return ulp_call_formula(call, &stored, call->arithmetic, &rows, 1, &acc, 1, &result);
}

#define CUMULATE                                                                          \
    .inputs = "x axis:i", .outputs = "y", .attributes = "exclusive:int=0; reverse:int=0", \
    .infer = ulp_infer_first, .run = run_cumulate

/* clang-format off */
const struct ulp_operator ulp_ops_cumulate[] = {
    {.name = "Col2Im", .since = 18, .inputs = "input image_shape:i block_shape:i",
     .outputs = "output",
     .attributes = "dilations:ints; pads:ints; strides:ints", .infer = infer_col2im,
     .run = run_col2im, .formulas = ULP_FORMULAS(&joined, &stored)},
    {.name = "CumProd", .since = 26, CUMULATE, .parameter = 1,
     .formulas = ULP_FORMULAS(&running_product, &scan_product)},
    {.name = "CumSum", .since = 11, CUMULATE,
     .formulas = ULP_FORMULAS(&running_sum, &scan_sum)},
    {0},
};
/* clang-format on */
