/* DeformConv: the elements under the moved kernel are interpolated into columns, as GPU kernels do,
 * and the columns are contracted with the weights. */
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "ops/contraction.h"
#include "ops/spatial/interpolate.h"
#include "ops/spatial/window.h"

struct deform {
    struct ulp_windows w;
    /* taps of the kernel; pixels of the output */
    int64_t batch, channels, groups, offset_groups, taps, pixels;
};

static enum ulp_status read_deform(const struct ulp_call *call, struct deform *d)
{
    const struct ulp_tensor *x = call->in[0], *weights = call->in[1], *offset = call->in[2],
                            *bias = ulp_call_in(call, 3), *mask = ulp_call_in(call, 4);
    ULP_TRY(ulp_windows_read(call, x, weights, &d->w));
    d->batch = x->dims[0];
    d->channels = x->dims[1];
    d->groups = ulp_call_int(call, "group");
    d->offset_groups = ulp_call_int(call, "offset_group");
    d->taps = ulp_product(d->w.kernel, d->w.rank);
    d->pixels = ulp_product(d->w.out, d->w.rank);
    const int64_t each = ulp_dim_mul(d->taps, d->pixels);
    if (d->groups < 1 || d->offset_groups < 1 || d->groups > d->channels ||
        d->offset_groups > d->channels || d->channels % d->groups != 0 ||
        d->channels / d->groups != weights->dims[1] || weights->dims[0] % d->groups != 0 ||
        d->channels % d->offset_groups != 0)
        return ULP_REFUSE(call, "groups or weights do not fit the input");
    const int64_t sets = ulp_dim_mul(d->batch * d->offset_groups, each);
    if (offset->count != (size_t)ulp_dim_mul(sets, d->w.rank) ||
        (mask && mask->count != (size_t)sets) || (bias && bias->count != (size_t)weights->dims[0]))
        return ULP_REFUSE(call, "offsets, mask or bias do not fit the input");
    return 1 << d->w.rank <= ULP_CORNERS_MAX ? ULP_OK
                                             : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                                                        "%d spatial axes are too many", d->w.rank);
}

static enum ulp_status infer_deform(struct ulp_call *call)
{
    struct deform d;
    ULP_TRY(read_deform(call, &d));
    int64_t dims[ULP_RANK_MAX] = {d.batch, call->in[1]->dims[0]};
    memcpy(dims + 2, d.w.out, (size_t)d.w.rank * sizeof *dims);
    return ulp_call_describe(call, 0, call->in[0]->type, d.w.rank + 2, dims);
}

static const struct ulp_formula place_of_tap = {"base offset", "place", "base + offset"};

/* Taps along an axis at every (image, offset group, kernel element, pixel): its place in the grid
 * plus its offset. */
static enum ulp_status axis_taps(struct ulp_call *call, const struct deform *d, int axis,
                                 struct ulp_taps *out)
{
    const int rank = d->w.rank;
    const int64_t sets = d->batch * d->offset_groups * d->taps;
    const struct ulp_tap_options options = {.kernel = ULP_KERNEL_LINEAR, .stretch = 1};
    struct ulp_arithmetic arithmetic;
    struct ulp_tensor base, place;
    int64_t *offset_row, tap_stride = 1, pixel_stride = 1;
    ULP_TRY(ulp_coordinate_arithmetic(call, &arithmetic));
    ULP_TRY(ulp_positions_make(call, (size_t)(sets * d->pixels), &base));
    ULP_TRY(ulp_coordinates_make(call, &arithmetic, base.count, &place));
    ULP_TRY(ulp_call_take(call, (size_t)sets, sizeof *offset_row, &offset_row));
    for (int e = axis + 1; e < rank; e++) {
        tap_stride *= d->w.kernel[e];
        pixel_stride *= d->w.out[e];
    }
    for (int64_t s = 0; s < sets; s++) {
        const int64_t tap = s % d->taps / tap_stride % d->w.kernel[axis];
        offset_row[s] = (s * rank + axis) * d->pixels;
        for (int64_t p = 0; p < d->pixels; p++)
            ((int64_t *)base.data)[s * d->pixels + p] =
                p / pixel_stride % d->w.out[axis] * d->w.strides[axis] - d->w.pads[axis] +
                tap * d->w.dilations[axis];
    }
    const struct ulp_rows rows = {.row_count = (size_t)sets, .row_length = (size_t)d->pixels};
    const struct ulp_named_operand operands[] = {
        {"base", {.tensor = &base, .row_stride = d->pixels, .position_stride = 1}},
        {"offset", {.tensor = call->in[2], .row_offset = offset_row, .position_stride = 1}},
    };
    const struct ulp_named_operand result = {
        "place", {.tensor = &place, .row_stride = d->pixels, .position_stride = 1}};
    ULP_TRY(ulp_call_formula(call, &place_of_tap, &arithmetic, &rows, 2, operands, 1, &result));
    return ulp_taps_make(call, &arithmetic, &place, &options, out);
}

/* The place in a channel of corner c (a bit an axis) of point i; -1: outside. */
static int64_t find_corner(const struct deform *d, const struct ulp_taps *taps, size_t i, size_t c)
{
    int64_t place = 0;
    for (int axis = 0; axis < d->w.rank; axis++) {
        int64_t at = taps[axis].position[2 * i + (c >> axis & 1)];
        if (at < 0 || at >= d->w.in[axis])
            return -1;
        place = place * d->w.in[axis] + at;
    }
    return place;
}

/* Columns of one image and offset group: rows are its channels, positions kernel elements and
 * pixels. */
static enum ulp_status fill_columns(struct ulp_call *call, const struct deform *d,
                                    const struct ulp_taps *taps, int64_t set,
                                    const struct ulp_tensor *source, struct ulp_tensor *columns,
                                    const char *formula)
{
    const int rank = d->w.rank;
    const size_t corners = (size_t)1 << rank, count = (size_t)(d->taps * d->pixels),
                 first = (size_t)set * count;
    const int64_t channels = d->channels / d->offset_groups, plane = source->dims[1];
    const struct ulp_tensor from = ulp_tensor_view_from(source, (size_t)(set * channels * plane));
    const struct ulp_tensor to = ulp_tensor_view_from(columns, (size_t)(set * channels) * count);
    struct ulp_tensor weights[2 * ULP_RANK_MAX], mask = {0};
    ULP_CALL_TAKE(struct ulp_named_operand, operands, call, corners + 2 * ULP_RANK_MAX + 1);
    size_t used = 0;
    for (size_t c = 0; c < corners; c++, used++) {
        ULP_CALL_TAKE(int64_t, offset, call, count);
        for (size_t i = 0; i < count; i++) {
            int64_t place = find_corner(d, taps, first + i, c);
            offset[i] = place < 0 ? plane - 1 : place;
        }
        ULP_CALL_SAY(name, call, "x%zu", c);
        operands[used] = (struct ulp_named_operand){
            name, {.tensor = &from, .row_stride = plane, .position_offset = offset}};
    }
    for (int a = 0; a < 2 * rank; a++, used++) {
        const struct ulp_taps *along = &taps[a / 2];
        weights[a] =
            ulp_tensor_view_from(&along->weights, ulp_taps_place(along, first, (size_t)(a % 2)));
        ULP_CALL_SAY(name, call, "w%d_%d", a / 2, a % 2);
        operands[used] = (struct ulp_named_operand){name,
                                                    {.tensor = &weights[a],
                                                     .position_stride = along->point_step}};
    }
    operands[used] = (struct ulp_named_operand){"mask", {.constant = "1"}};
    if (ulp_call_in(call, 4)) {
        mask = ulp_tensor_view_from(call->in[4], first);
        operands[used].operand = (struct ulp_operand){.tensor = &mask, .position_stride = 1};
    }
    const struct ulp_rows rows = {.row_count = (size_t)channels, .row_length = count};
    const struct ulp_named_operand result = {
        "y", {.tensor = &to, .row_stride = (int64_t)count, .position_stride = 1}};
    return ulp_call_text(call, formula, call->arithmetic, &rows, used + 1, operands, 1, &result);
}

/* "(w0_0 * w1_0 * x0 + ...) * mask" */
static void write_corners(struct ulp_text *text, int rank)
{
    ulp_text_add(text, "(");
    for (unsigned c = 0; c < 1u << rank; c++) {
        ulp_text_add(text, "%s", c ? " + " : "");
        for (int axis = 0; axis < rank; axis++)
            ulp_text_add(text, "w%d_%u * ", axis, c >> axis & 1);
        ulp_text_add(text, "x%u", c);
    }
    ulp_text_add(text, ") * mask");
}

static enum ulp_status contract_columns(struct ulp_call *call, const struct deform *d,
                                        const struct ulp_tensor *columns)
{
    const int64_t out = call->in[1]->dims[0] / d->groups, k = d->channels / d->groups * d->taps,
                  batches = d->batch * d->groups;
    int64_t *w_batch, *x_batch, *o_batch;
    struct ulp_sums sums;
    ULP_TRY(ulp_move_table(call, &w_batch, (size_t)batches, 0, 0));
    ULP_TRY(ulp_move_table(call, &x_batch, (size_t)batches, 0, k * d->pixels));
    ULP_TRY(ulp_move_table(call, &o_batch, (size_t)batches, 0, out * d->pixels));
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 3), &sums));
    for (int64_t g = 0; g < batches; g++)
        w_batch[g] = g % d->groups * out * k;
    struct ulp_contraction problem = {
        .batch_count = (size_t)batches,
        .m = (size_t)out,
        .n = (size_t)d->pixels,
        .k = (size_t)k,
        .a = {.tensor = call->in[1], .batch_offset = w_batch},
        .b = {.tensor = columns, .batch_offset = x_batch},
        .out_batch_offset = o_batch,
    };
    ULP_TRY(ulp_product_lay(call, &problem,
                            (struct ulp_product_steps){k, 1, 1, d->pixels, d->pixels, 1}));
    ULP_TRY(ulp_sums_add(call, &sums, &problem));
    return ulp_sums_end(call, &sums, "---c-");
}

static enum ulp_status run_deform(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0];
    struct deform d;
    struct ulp_taps taps[ULP_RANK_MAX];
    struct ulp_tensor zero, source, columns;
    ULP_TRY(read_deform(call, &d));
    if (call->out[0].count == 0)
        return ULP_OK;
    const int64_t planes = d.batch * d.channels, plane = ulp_product(d.w.in, d.w.rank);
    for (int axis = 0; axis < d.w.rank; axis++)
        ULP_TRY(axis_taps(call, &d, axis, &taps[axis]));
    ULP_TRY(ulp_call_scalar(call, &zero, x->type, 0));
    ULP_TRY(ulp_call_make_here(call, &source, x->type, 2, (int64_t[]){planes, plane + 1}));
    ULP_TRY(ulp_call_make_here(call, &columns, x->type, 2, (int64_t[]){planes, d.taps * d.pixels}));
    /* every channel with a zero behind it, which stands for the outside */
    for (int64_t i = 0; i < planes; i++) {
        memcpy(ulp_element_at(&source, (size_t)(i * (plane + 1))),
               ulp_element_at(x, (size_t)(i * plane)), (size_t)plane * x->element_bytes);
        ulp_move_fill(&source, (size_t)(i * (plane + 1) + plane), 1, zero.data);
    }
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    write_corners(&text, d.w.rank);
    if (text.failed)
        return ulp_out_of_memory(call->error);
    for (int64_t set = 0; set < d.batch * d.offset_groups; set++)
        ULP_TRY(fill_columns(call, &d, taps, set, &source, &columns, text.data));
    return contract_columns(call, &d, &columns);
}

/* clang-format off */
const struct ulp_operator ulp_ops_deform[] = {
    {.name = "DeformConv", .since = 19, .inputs = "x w offset:n bias?=-0 mask?", .outputs = "y",
     .attributes = "dilations:ints; group:int=1; kernel_shape:ints; offset_group:int=1; "
                   "pads:ints; strides:ints",
     .infer = infer_deform, .run = run_deform, .work = ULP_WORK_CONTRACTION, .weights = "w",
     .formulas = ULP_FORMULAS(&place_of_tap), .epilogue = "acc + bias"},
    {0},
};
/* clang-format on */
