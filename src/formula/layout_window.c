/* Pooling windows as rows: one row per output element, its positions the kernel elements that lie
 * in the input. */
#include "formula/layout.h"

#include "base/memory/alloc.h"
#include "base/error.h"

/* Kernel indices [first, last) of one spatial dimension that lie in the input at one output index.
 * first and last never increase with the output index, so equal spans are neighbours: id numbers
 * the groups of equal spans. */
struct span {
    int32_t first, last;
    uint32_t id;
};

struct window_context {
    int spatial_rank;
    size_t out_count; /* windows of one outer index */
    int64_t out[ULP_RANK_MAX], kernel[ULP_RANK_MAX];
    uint64_t id_count[ULP_RANK_MAX];
    struct span *spans[ULP_RANK_MAX]; /* by output index */
};

/* Kernel indices k with low <= start + k * dilation < high. */
static struct span find_span(int64_t start, int64_t kernel, int64_t dilation, int64_t low,
                             int64_t high)
{
    int64_t first = start >= low ? 0 : (low - start + dilation - 1) / dilation;
    int64_t last = start >= high ? 0 : (high - start + dilation - 1) / dilation;
    first = first < kernel ? first : kernel;
    last = last < kernel ? last : kernel;
    return (struct span){.first = (int32_t)first, .last = (int32_t)(last > first ? last : first)};
}

static size_t fill_window(const void *context, size_t row, int32_t *positions)
{
    const struct window_context *window = context;
    struct span spans[ULP_RANK_MAX] = {{0}};
    int32_t index[ULP_RANK_MAX], base = 0;
    size_t rest = row % window->out_count, count = 1;
    const int rank = window->spatial_rank;
    for (int d = rank - 1; d >= 0; d--) {
        spans[d] = window->spans[d][rest % (size_t)window->out[d]];
        rest /= (size_t)window->out[d];
        count *= (size_t)(spans[d].last - spans[d].first);
    }
    for (int d = 0; d < rank; d++) {
        index[d] = spans[d].first;
        base = base * (int32_t)window->kernel[d] + spans[d].first;
    }
    const int32_t inner = spans[rank - 1].last - spans[rank - 1].first;
    for (size_t filled = 0; filled < count;) {
        for (int32_t k = 0; k < inner; k++)
            positions[filled++] = base + k;
        int32_t step = (int32_t)window->kernel[rank - 1];
        for (int d = rank - 2; d >= 0; d--) {
            base += step;
            if (++index[d] < spans[d].last)
                break;
            base -= step * (spans[d].last - spans[d].first);
            index[d] = spans[d].first;
            step *= (int32_t)window->kernel[d];
        }
    }
    return count;
}

/* Rows in order, so that no index is divided out again. */
static void fill_classes(const void *context, size_t first, size_t count, uint64_t *ids)
{
    const struct window_context *window = context;
    const int last = window->spatial_rank - 1;
    size_t rest = first % window->out_count;
    int64_t index[ULP_RANK_MAX] = {0};
    for (int d = last; d >= 0; d--) {
        index[d] = (int64_t)(rest % (size_t)window->out[d]);
        rest /= (size_t)window->out[d];
    }
    for (size_t i = 0; i < count;) {
        uint64_t outer = 0;
        for (int d = 0; d < last; d++)
            outer = outer * window->id_count[d] + window->spans[d][index[d]].id;
        for (; i < count && index[last] < window->out[last]; i++, index[last]++)
            ids[i] = outer * window->id_count[last] + window->spans[last][index[last]].id;
        for (int d = last; d >= 0 && index[d] == window->out[d]; d--) {
            index[d] = 0;
            if (d > 0)
                index[d - 1]++;
        }
    }
}

/* The limits keep every offset, also of elements outside the input, inside int64: with at most 2^34
 * elements, an index beyond the input by less than 2^26 times a step of at most 2^34. */
#define PARAMETER_MAX (INT64_C(1) << 24)
#define ELEMENTS_MAX (UINT64_C(1) << 34)

static bool is_usable(const struct ulp_window_shape *shape, int d)
{
    const int64_t parameters[] = {shape->kernel[d], shape->strides[d], shape->dilations[d]};
    for (int i = 0; i < 3; i++)
        if (parameters[i] < 1 || parameters[i] > PARAMETER_MAX)
            return false;
    if (shape->pads[d] > PARAMETER_MAX || shape->pads[d] < -PARAMETER_MAX || shape->in[d] < 0 ||
        shape->out[d] < 0)
        return false;
    return shape->out[d] == 0 ||
           shape->out[d] - 1 <= (shape->in[d] + 2 * PARAMETER_MAX) / shape->strides[d];
}

static enum ulp_status check_shape(const struct ulp_window_shape *shape, size_t *kernel_count,
                                   size_t *out_count, struct ulp_error *error)
{
    size_t in_count = 1;
    *kernel_count = *out_count = 1;
    if (shape->spatial_rank < 1 || shape->spatial_rank > ULP_RANK_MAX || shape->outer_count < 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "a pooling window has %d spatial dimensions, expected 1 to %d",
                        shape->spatial_rank, ULP_RANK_MAX);
    for (int d = 0; d < shape->spatial_rank; d++) {
        if (!is_usable(shape, d))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "pooling dimension %d: input %lld, output %lld, kernel %lld, stride "
                            "%lld, dilation %lld, padding %lld do not make windows",
                            d, (long long)shape->in[d], (long long)shape->out[d],
                            (long long)shape->kernel[d], (long long)shape->strides[d],
                            (long long)shape->dilations[d], (long long)shape->pads[d]);
        if (!ulp_size_mul(*kernel_count, (size_t)shape->kernel[d], kernel_count) ||
            *kernel_count > INT32_MAX)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "a pooling kernel has more than 2^31 elements");
        if (!ulp_size_mul(in_count, (size_t)shape->in[d], &in_count) || in_count > ELEMENTS_MAX ||
            !ulp_size_mul(*out_count, (size_t)shape->out[d], out_count) ||
            *out_count > ELEMENTS_MAX)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "a pooling image has more than 2^34 elements");
    }
    return ULP_OK;
}

/* The spans of every dimension; *complete: every window lies wholly in the input. */
static enum ulp_status make_context(struct window_context **out,
                                    const struct ulp_window_shape *shape, size_t out_count,
                                    struct ulp_arena *arena, bool *complete,
                                    struct ulp_error *error)
{
    struct window_context *context = ulp_arena_take(arena, 1, sizeof *context);
    *complete = true;
    ULP_TRY(ulp_taken(context, error));
    context->spatial_rank = shape->spatial_rank;
    context->out_count = out_count;
    for (int d = 0; d < shape->spatial_rank; d++) {
        context->out[d] = shape->out[d];
        context->kernel[d] = shape->kernel[d];
        context->spans[d] =
            ulp_arena_take(arena, (size_t)shape->out[d] + 1, sizeof **context->spans);
        ULP_TRY(ulp_taken(context->spans[d], error));
        for (int64_t o = 0; o < shape->out[d]; o++) {
            struct span span = find_span(o * shape->strides[d] - shape->pads[d], shape->kernel[d],
                                         shape->dilations[d], 0, shape->in[d]);
            const struct span *before = o ? &context->spans[d][o - 1] : NULL;
            span.id = before
                          ? before->id + (before->first != span.first || before->last != span.last)
                          : 0;
            context->id_count[d] = span.id + 1;
            context->spans[d][o] = span;
            *complete = *complete && span.first == 0 && span.last == shape->kernel[d];
        }
    }
    *out = context;
    return ULP_OK;
}

/* Where the input's elements lie: a table by row of a channel (of the window's first element, which
 * may lie outside) and one by position. */
static enum ulp_status address_input(struct ulp_operand *input,
                                     const struct ulp_window_shape *shape, size_t out_count,
                                     size_t kernel_count, struct ulp_arena *arena,
                                     struct ulp_error *error)
{
    const int rank = shape->spatial_rank;
    const size_t outer = (size_t)shape->outer_count;
    int64_t out_steps[ULP_RANK_MAX], kernel_steps[ULP_RANK_MAX], start = 0, step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        out_steps[d] = step * shape->strides[d];
        kernel_steps[d] = step * shape->dilations[d];
        start -= step * shape->pads[d];
        step *= shape->in[d];
    }
    int64_t *rows = ulp_arena_take(arena, out_count + 1, sizeof *rows);
    int64_t *positions = ulp_arena_take(arena, kernel_count, sizeof *positions);
    ULP_TRY(ulp_taken(rows && positions, error));
    ulp_box_offsets(rows, rank, shape->out, out_steps, start);
    ulp_box_offsets(positions, rank, shape->kernel, kernel_steps, 0);
    *input = (struct ulp_operand){.tensor = input->tensor,
                                  .constant = input->constant,
                                  .row_offset = rows,
                                  .row_period = out_count,
                                  .row_stride = step,
                                  .position_offset = positions};
    if (input->tensor && input->tensor->count != outer * (size_t)step)
        return ulp_fail(error, ULP_ERROR_INPUT, "a pooling input has %zu elements, expected %zu",
                        input->tensor->count, outer * (size_t)step);
    return ULP_OK;
}

/* Addresses of a tensor with one element, one per row, or one per window of an outer index. */
static enum ulp_status address_other(struct ulp_operand *operand, const char *what, int number,
                                     size_t row_count, size_t out_count, struct ulp_arena *arena,
                                     struct ulp_error *error)
{
    const struct ulp_tensor *tensor = operand->tensor;
    *operand = (struct ulp_operand){.tensor = tensor, .constant = operand->constant};
    if (!tensor || tensor->count == 1)
        return ULP_OK;
    if (tensor->count == row_count) {
        operand->row_stride = 1;
        return ULP_OK;
    }
    if (tensor->count != out_count)
        return ulp_fail(error, ULP_ERROR_INPUT, "pooling %s %d has %zu elements, expected %zu",
                        what, number, tensor->count, row_count);
    ULP_TAKE_ARRAY(int64_t, rows, arena, row_count, error);
    for (size_t i = 0; i < row_count; i++)
        rows[i] = (int64_t)(i % out_count);
    operand->row_offset = rows;
    return ULP_OK;
}

enum ulp_status ulp_layout_window(const struct ulp_layout *layout,
                                  const struct ulp_window_shape *shape, struct ulp_error *error)
{
    struct window_context *context = NULL;
    size_t kernel_count, out_count;
    bool complete;
    ULP_TRY(check_shape(shape, &kernel_count, &out_count, error));
    ULP_TRY(make_context(&context, shape, out_count, layout->arena, &complete, error));
    ULP_TRY(
        address_input(&layout->operands[0], shape, out_count, kernel_count, layout->arena, error));
    size_t row_count;
    ULP_TRY(ulp_taken(ulp_size_mul((size_t)shape->outer_count, out_count, &row_count), error));
    for (int i = 1; i < layout->operand_count; i++)
        ULP_TRY(address_other(&layout->operands[i], "operand", i, row_count, out_count,
                              layout->arena, error));
    for (int i = 0; i < layout->output_count; i++) {
        if (layout->outputs[i].tensor && layout->outputs[i].tensor->count != row_count)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "pooling output %d has %zu elements, expected %zu", i,
                            layout->outputs[i].tensor->count, row_count);
        layout->outputs[i] = (struct ulp_operand){.tensor = layout->outputs[i].tensor,
                                                  .row_stride = 1,
                                                  .storage = layout->outputs[i].storage};
    }
    *layout->rows = (struct ulp_rows){.row_count = row_count,
                                      .row_length = kernel_count,
                                      .window = complete ? NULL : fill_window,
                                      .window_classes = fill_classes,
                                      .window_context = context};
    return ULP_OK;
}

enum ulp_status ulp_layout_window_counts(struct ulp_tensor *out,
                                         const struct ulp_window_shape *shape,
                                         const int64_t *pads_end, struct ulp_arena *arena,
                                         struct ulp_error *error)
{
    size_t kernel_count, out_count;
    ULP_TRY(check_shape(shape, &kernel_count, &out_count, error));
    ULP_TRY(ulp_tensor_describe(out, ULP_TYPE_INT64, ULP_ELEMENT_I64, 0, shape->spatial_rank,
                                shape->out, error));
    ULP_TAKE_ARRAY(int64_t, counts, arena, out_count + 1, error);
    for (size_t i = 0; i < out_count; i++) {
        size_t rest = i;
        counts[i] = 1;
        for (int d = shape->spatial_rank - 1; d >= 0; d--) {
            const int64_t o = (int64_t)(rest % (size_t)shape->out[d]);
            const struct span span =
                find_span(o * shape->strides[d] - shape->pads[d], shape->kernel[d],
                          shape->dilations[d], -shape->pads[d], shape->in[d] + pads_end[d]);
            rest /= (size_t)shape->out[d];
            counts[i] *= span.last - span.first;
        }
    }
    out->data = counts;
    return ULP_OK;
}
