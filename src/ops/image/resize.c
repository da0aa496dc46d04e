/* Resize and Upsample. Nearest moves elements; linear and cubic are one weighted sum for each axis
 * that changes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "ops/spatial/interpolate.h"
#include "ops/steps.h"

/* ---- the request ---- */

/* Of an axis; products of two fit int64. */
#define LENGTH_MAX (1 << 30)

/* One axis. The scale is numerator / denominator; width is the output's real length, of which out
 * is the integer. */
struct resized_axis {
    int64_t in, out;
    double numerator, denominator, width, start, end;
    bool changes;
};
struct resize {
    bool known;
    struct resized_axis axes[ULP_RANK_MAX];
};

/* Element i of the float list `name`, an attribute or an input. */
static double read_float(const struct ulp_call *call, const char *name, size_t i)
{
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    return tensor ? ulp_tensor_read(tensor, i) : (double)ulp_call_attribute(call, name)->floats[i];
}

static size_t float_count(const struct ulp_call *call, const char *name)
{
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    return tensor ? tensor->count : ulp_call_attribute(call, name)->count;
}

static bool is_known(const struct ulp_call *call, const char *name)
{
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    return !tensor || !tensor->count || tensor->data;
}

static enum ulp_status read_axes(const struct ulp_call *call, int *axes, size_t *count)
{
    struct ulp_list list;
    int rank = call->in[0]->rank;
    ULP_TRY(ulp_call_list(call, "axes", &list));
    *count = list.given ? list.count : (size_t)rank;
    if (*count > (size_t)rank)
        return ULP_REFUSE(call, "%zu axes for a tensor of rank %d", *count, rank);
    for (size_t i = 0; i < *count; i++)
        ULP_TRY(
            ulp_call_axis(list.given ? list.values[i] : (int64_t)i, rank, &axes[i], call->error));
    return ULP_OK;
}

static void scale_axis(struct resized_axis *axis, double scale, bool crop)
{
    axis->numerator = scale;
    axis->denominator = 1;
    axis->width = scale * (double)axis->in;
    const double out = floor(crop ? axis->width * (axis->end - axis->start) : axis->width);
    axis->out = out >= 0 && out <= LENGTH_MAX ? (int64_t)out : -1;
}

/* All axes by one ratio out : in, the smallest or the largest of those asked for; halves are
 * rounded up. */
static void keep_aspect(struct resize *resize, const int *axes, size_t count, bool smallest)
{
    const struct resized_axis *best = &resize->axes[axes[0]];
    for (size_t i = 1; i < count; i++) {
        const struct resized_axis *axis = &resize->axes[axes[i]];
        bool smaller = axis->out * best->in < best->out * axis->in;
        best = smaller == smallest ? axis : best;
    }
    int64_t numerator = best->out, denominator = best->in;
    for (size_t i = 0; i < count; i++) {
        struct resized_axis *axis = &resize->axes[axes[i]];
        axis->numerator = (double)numerator;
        axis->denominator = (double)denominator;
        axis->out = denominator ? (2 * numerator * axis->in + denominator) / (2 * denominator) : 0;
        axis->width = (double)numerator * (double)axis->in / (double)denominator;
    }
}

static enum ulp_status read_resize(const struct ulp_call *call, struct resize *resize)
{
    const struct ulp_tensor *in = call->in[0];
    size_t count, scales = float_count(call, "scales"), roi = float_count(call, "roi");
    int axes[ULP_RANK_MAX];
    struct ulp_list sizes;
    ULP_TRY(read_axes(call, axes, &count));
    ULP_TRY(ulp_call_list(call, "sizes", &sizes));
    bool crop = ulp_call_is(call, "coordinate_transformation_mode", "tf_crop_and_resize");
    *resize =
        (struct resize){.known = is_known(call, "scales") && is_known(call, "roi") && sizes.known};
    for (int d = 0; d < in->rank; d++)
        resize->axes[d] =
            (struct resized_axis){in->dims[d], in->dims[d], 1, 1, (double)in->dims[d], 0, 1, false};
    if (!resize->known)
        return ULP_OK;
    bool by_sizes = sizes.given && sizes.count;
    if ((by_sizes ? sizes.count : scales) != count || (crop && roi != 2 * count))
        return ULP_REFUSE(call, "scales, sizes or roi do not have one entry for each of %zu axes",
                          count);
    for (size_t i = 0; i < count; i++) {
        struct resized_axis *axis = &resize->axes[axes[i]];
        double scale = by_sizes ? 1 : read_float(call, "scales", i);
        if (crop) {
            axis->start = read_float(call, "roi", i);
            axis->end = read_float(call, "roi", count + i);
        }
        if (by_sizes) {
            axis->out = sizes.values[i];
            axis->numerator = axis->width = (double)axis->out;
            axis->denominator = (double)axis->in;
        } else {
            scale_axis(axis, scale, crop);
        }
        if (axis->in > LENGTH_MAX || axis->out < 0 || axis->out > LENGTH_MAX ||
            !(scale > 0 && scale < 0x1p24))
            return ULP_REFUSE(call, "entry %zu of scales or sizes is out of range", i);
    }
    bool smallest = ulp_call_is(call, "keep_aspect_ratio_policy", "not_larger");
    if (by_sizes && count &&
        (smallest || ulp_call_is(call, "keep_aspect_ratio_policy", "not_smaller")))
        keep_aspect(resize, axes, count, smallest);
    for (int d = 0; d < in->rank; d++) {
        struct resized_axis *axis = &resize->axes[d];
        axis->changes = axis->out != axis->in || axis->numerator != axis->denominator ||
                        axis->start != 0 || axis->end != 1;
        if (axis->out > 0 && axis->in == 0)
            return ULP_REFUSE(call, "axis %d is empty and cannot be resized", d);
    }
    return ULP_OK;
}

static enum ulp_status infer_resize(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct resize resize;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_resize(call, &resize));
    if (!resize.known)
        return ULP_OK;
    for (int d = 0; d < in->rank; d++)
        dims[d] = resize.axes[d].out;
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

/* ---- coordinates ---- */

/* The input coordinate of output o, as the attribute's text defines it. */
static const struct transformation {
    const char *name, *formula;
} transformations[] = {
    {"half_pixel", "(o + 0.5) / scale - 0.5"},
    {"half_pixel_symmetric", "length / 2 * (1 - length_out / width) + (o + 0.5) / scale - 0.5"},
    {"pytorch_half_pixel", "length_out > 1 ? (o + 0.5) / scale - 0.5 : 0"},
    {"align_corners", "width == 1 ? 0 : o * (length - 1) / (width - 1)"},
    {"asymmetric", "o / scale"},
    {"tf_half_pixel_for_nn", "(o + 0.5) / scale"},
    {"tf_crop_and_resize",
     "width == 1 ? 0.5 * (start + end) * (length - 1) "
     ": start * (length - 1) + o * (end - start) * (length - 1) / (width - 1)"},
};

static const struct transformation *find_transformation(const struct ulp_call *call)
{
    const char *name = ulp_call_attribute(call, "coordinate_transformation_mode")->s;
    for (size_t i = 0; i < sizeof transformations / sizeof *transformations; i++)
        if (strcmp(name ? name : "asymmetric", transformations[i].name) == 0)
            return &transformations[i];
    return NULL;
}

static enum ulp_status check_resize(struct ulp_call *call)
{
    static const struct {
        const char *attribute, *values[8];
    } known[] = {
        {"mode", {"nearest", "linear", "cubic"}},
        {"nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
        {"keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *const *value = known[i].values,
                          *given = ulp_call_attribute(call, known[i].attribute)->s;
        while (given && *value && strcmp(given, *value) != 0)
            value++;
        if (given && !*value)
            return ULP_REFUSE(call, "%s %s is unknown", known[i].attribute, given);
    }
    return find_transformation(call)
               ? ULP_OK
               : ULP_REFUSE(call, "coordinate_transformation_mode %s is unknown",
                            ulp_call_attribute(call, "coordinate_transformation_mode")->s);
}

static enum ulp_status make_coordinates(struct ulp_call *call,
                                        const struct ulp_arithmetic *arithmetic,
                                        const struct resized_axis *axis, struct ulp_tensor *out)
{
    const double numbers[] = {axis->numerator,   axis->denominator, (double)axis->in,
                              (double)axis->out, axis->width,       axis->start,
                              axis->end};
    static const char *const names[] = {"numerator", "denominator", "length", "length_out",
                                        "width",     "start",       "end"};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    char texts[COUNT][40], formula[256];
    struct ulp_named_operand operands[COUNT + 1];
    struct ulp_tensor positions;
    ULP_TRY(ulp_positions_make(call, (size_t)axis->out, &positions));
    ULP_TRY(ulp_coordinates_make(call, arithmetic, (size_t)axis->out, out));
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "%a", numbers[i]);
        operands[i] = (struct ulp_named_operand){names[i], {.constant = texts[i]}};
    }
    operands[COUNT] = (struct ulp_named_operand){"o", {.tensor = &positions, .position_stride = 1}};
    snprintf(formula, sizeof formula, "scale = numerator / denominator; %s",
             find_transformation(call)->formula);
    const struct ulp_rows rows = {.row_count = 1, .row_length = (size_t)axis->out};
    return ulp_call_text(call, formula, arithmetic, &rows, COUNT + 1, operands, 1,
                         (struct ulp_named_operand[]){
                             {"x", {.tensor = out, .position_stride = 1}}});
}

/* ---- nearest: positions in FP64 in every lane, so that all lanes move the same elements ---- */

static double round_position(const struct ulp_call *call, const struct resized_axis *axis, double x)
{
    const char *mode = ulp_call_attribute(call, "nearest_mode")->s;
    if (!mode) /* before opset 11 */
        return axis->numerator < axis->denominator ? ceil(x) : floor(x);
    if (strcmp(mode, "floor") == 0)
        return floor(x);
    if (strcmp(mode, "ceil") == 0)
        return ceil(x);
    return strcmp(mode, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

static bool is_outside(const struct ulp_call *call, const struct resized_axis *axis, double x)
{
    return ulp_call_is(call, "coordinate_transformation_mode", "tf_crop_and_resize") &&
           !(x >= 0 && x <= (double)(axis->in - 1));
}

static enum ulp_status run_nearest(struct ulp_call *call, const struct resize *resize)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    struct ulp_arithmetic exact;
    struct ulp_tensor fill;
    ULP_TRY(ulp_arithmetic_find("fp64", &exact, call->error));
    ULP_TRY(
        ulp_call_scalar(call, &fill, in->type, ulp_call_attribute(call, "extrapolation_value")->f));
    ulp_strides(in, strides);
    for (int d = 0; d < in->rank; d++) {
        const struct resized_axis *axis = &resize->axes[d];
        struct ulp_tensor x;
        ULP_TRY(ulp_move_table(call, &tables[d], (size_t)axis->out, 0, strides[d]));
        if (axis->changes)
            ULP_TRY(make_coordinates(call, &exact, axis, &x));
        for (int64_t o = 0; axis->changes && o < axis->out; o++) {
            double at = ulp_tensor_read(&x, (size_t)o), last = (double)(axis->in - 1),
                   nearest = round_position(call, axis, at);
            nearest = nearest >= 0 ? nearest <= last ? nearest : last : 0;
            tables[d][o] = is_outside(call, axis, at) ? ULP_NOWHERE : (int64_t)nearest * strides[d];
        }
    }
    return ulp_move_axes(&call->out[0], in, (const int64_t *const *)tables, fill.data, call->pool,
                         call->error);
}

/* ---- linear and cubic ---- */

/* out = in with `axis` resized: out[.., o, ..] = sum over taps t of w[o, t] * in[.., position[o,
 * t], ..] */
static enum ulp_status sum_taps(struct ulp_call *call, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_taps *taps, const struct ulp_tensor *in,
                                struct ulp_tensor *out, int axis)
{
    const struct ulp_split from = ulp_split_at(in, axis), to = ulp_split_at(out, axis);
    /* positions run along the axis itself, else along the elements after it */
    const bool last = from.inner == 1;
    const struct ulp_rows rows = {.row_count = last ? to.outer : to.outer * to.size,
                                  .row_length = last ? to.size : to.inner};
    size_t table_size = last ? to.size : rows.row_count;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ULP_CALL_TAKE(struct ulp_named_operand, operands, call, 2 * taps->count);
    ULP_CALL_TAKE(struct ulp_tensor, weights, call, taps->count);
    for (size_t t = 0; t < taps->count; t++) {
        ULP_CALL_TAKE(int64_t, x_offset, call, table_size);
        ULP_CALL_TAKE(int64_t, w_offset, call, table_size);
        ULP_CALL_SAY(x_name, call, "x%zu", t);
        ULP_CALL_SAY(w_name, call, "w%zu", t);
        for (size_t i = 0; i < table_size; i++) {
            size_t o = i % to.size, outer = last ? 0 : i / to.size;
            int64_t at = ulp_clamp(taps->position[o * taps->count + t], 0, (int64_t)from.size - 1);
            x_offset[i] = ((int64_t)(outer * from.size) + at) * (int64_t)from.inner;
            w_offset[i] = (int64_t)ulp_taps_place(taps, o, t);
        }
        struct ulp_operand x = {.tensor = in,
                                .row_stride = last ? (int64_t)from.size : 0,
                                .position_stride = 1};
        struct ulp_operand w = {.tensor = &taps->weights};
        *(last ? &x.position_offset : &x.row_offset) = x_offset;
        *(last ? &w.position_offset : &w.row_offset) = w_offset;
        operands[2 * t] = (struct ulp_named_operand){x_name, x};
        operands[2 * t + 1] = (struct ulp_named_operand){w_name, w};
        ulp_text_add(&text, "%sw%zu * x%zu", t ? " + " : "", t, t);
    }
    const struct ulp_operand result = {.tensor = out,
                                       .row_stride = (int64_t)rows.row_length,
                                       .position_stride = 1};
    if (text.failed)
        return ulp_out_of_memory(call->error);
    return ulp_call_text(call, text.data, arithmetic, &rows, 2 * taps->count, operands, 1,
                         (struct ulp_named_operand[]){{"y", result}});
}

/* Where in a tensor each output of `axis` reads tap t (taps NULL: its own place): by row, or along
 * the last axis by position. into: the output's rows or positions; added to what stands there. */
static void add_places(const struct ulp_tensor *out, int axis, const struct ulp_taps *taps,
                       size_t t, int64_t length, int64_t stride, bool weights, int64_t *into)
{
    const struct ulp_split to = ulp_split_at(out, axis);
    const bool last = axis == out->rank - 1;
    const size_t inner = last ? 1 : to.inner / (size_t)out->dims[out->rank - 1],
                 count = last ? to.size : to.outer * to.size * inner;
    for (size_t i = 0; i < count; i++) {
        const size_t o = i / inner % to.size;
        into[i] += !taps ? (int64_t)o * stride
                   : weights
                       ? (int64_t)ulp_taps_place(taps, o, t)
                       : ulp_clamp(taps->position[o * taps->count + t], 0, length - 1) * stride;
    }
}

enum { JOINED_MAX = 3 };

/* Does a kernel interpolate along all axes at once (ONNX Runtime's CUDA provider; recorded:
 * lab/record_ort_cuda.py)? */
static bool is_joined(const struct ulp_call *call, const struct resize *resize)
{
    int count = 0;
    for (int d = 0; d < call->in[0]->rank; d++)
        count += resize->axes[d].changes;
    return call->arithmetic->steps == ULP_STEPS_ORT_CUDA &&
           call->arithmetic->storage.precision == 11 && count && count <= JOINED_MAX &&
           ulp_call_is(call, "mode", "linear") && !ulp_call_int(call, "antialias") &&
           !ulp_call_int(call, "exclude_outside") &&
           !ulp_call_is(call, "coordinate_transformation_mode", "tf_crop_and_resize");
}

/* All steps in storage: a corner's weight is the product of its axes', and corners are added one
 * after the other with one rounding each, the height's neighbour first. taps: of axes, the last
 * first. */
static enum ulp_status sum_corners(struct ulp_call *call, const struct resize *resize,
                                   const struct ulp_taps *taps, const int *axes, int count)
{
    static const char *const names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6",
                                        "x7", "a0", "a1", "b0", "b1", "c0", "c1"};
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor *out = &call->out[0];
    const size_t columns = (size_t)out->dims[out->rank - 1], row_count = out->count / columns;
    const int corners = 1 << count, bit[JOINED_MAX] = {count > 1, 0, 2};
    struct ulp_named_operand operands[14];
    struct ulp_arithmetic strict = *call->arithmetic;
    int64_t strides[ULP_RANK_MAX], *rows, *positions;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_strides(in, strides);
    for (int k = 0; k < corners + 2 * count; k++) {
        const int axis = (k - corners) / 2, tap = (k - corners) % 2;
        ULP_TRY(ulp_call_take(call, row_count, sizeof *rows, &rows));
        ULP_TRY(ulp_call_take(call, columns, sizeof *positions, &positions));
        memset(rows, 0, row_count * sizeof *rows);
        memset(positions, 0, columns * sizeof *positions);
        for (int d = 0; d < in->rank; d++) {
            const struct ulp_taps *of = NULL;
            size_t t = (size_t)tap;
            for (int i = 0; i < count && k < corners; i++)
                if (axes[i] == d) {
                    of = &taps[i];
                    t = (size_t)(k >> bit[i] & 1);
                }
            if (k >= corners && axes[axis] == d)
                of = &taps[axis];
            if (of || k < corners)
                add_places(out, d, of, t, resize->axes[d].in, strides[d], k >= corners,
                           d == in->rank - 1 ? positions : rows);
        }
        operands[k] = (struct ulp_named_operand){names[k < corners ? k : 8 + k - corners],
                                                 {.tensor = k < corners ? in : &taps[axis].weights,
                                                  .row_offset = rows,
                                                  .position_offset = positions}};
    }
    for (int c = 0; c < corners; c++) {
        ulp_text_add(&text, "w%d = ", c);
        for (int i = 0; i < count; i++)
            ulp_text_add(&text, "%s%s", i ? " * " : "", names[8 + 2 * i + (c >> bit[i] & 1)]);
        ulp_text_add(&text, "; ");
    }
    ulp_text_add(&text, "y1 = fma(x0, w0, x1 * w1); ");
    for (int c = 2; c < corners; c++)
        ulp_text_add(&text, "y%d = fma(x%d, w%d, y%d); ", c, c, c, c - 1);
    ulp_text_add(&text, "y%d", corners - 1);
    if (text.failed)
        return ulp_out_of_memory(call->error);
    ulp_steps_make_strict(&strict);
    const struct ulp_rows laid = {.row_count = row_count, .row_length = columns};
    const struct ulp_operand result = {.tensor = out,
                                       .row_stride = (int64_t)columns,
                                       .position_stride = 1};
    return ulp_call_text(call, text.data, &strict, &laid, (size_t)(corners + 2 * count), operands,
                         1, (struct ulp_named_operand[]){{"y", result}});
}

static enum ulp_status run_joined(struct ulp_call *call, const struct resize *resize)
{
    const struct ulp_tap_options options = {.kernel = ULP_KERNEL_LINEAR, .stretch = 1};
    struct ulp_arithmetic arithmetic;
    struct ulp_tensor found, coordinates;
    struct ulp_taps taps[JOINED_MAX];
    int axes[JOINED_MAX], count = 0;
    ULP_TRY(ulp_coordinate_arithmetic(call, &arithmetic));
    for (int d = call->in[0]->rank - 1; d >= 0; d--) {
        if (!resize->axes[d].changes)
            continue;
        const struct resized_axis *axis = &resize->axes[d];
        const size_t length = (size_t)axis->out;
        const struct ulp_rows rows = {.row_count = 1, .row_length = length};
        struct ulp_named_operand at = {"o", {.tensor = &found, .position_stride = 1}},
                                 to = {"x", {.tensor = &coordinates, .position_stride = 1}};
        char text[64]; /* no neighbour outside counts */
        snprintf(text, sizeof text, "min(max(o, 0), %a)", (double)(axis->in - 1));
        ULP_TRY(make_coordinates(call, &arithmetic, axis, &found));
        ULP_TRY(ulp_coordinates_make(call, &arithmetic, length, &coordinates));
        ULP_TRY(ulp_call_text(call, text, &arithmetic, &rows, 1, &at, 1, &to));
        ULP_TRY(ulp_taps_make(call, &arithmetic, &coordinates, &options, &taps[count]));
        axes[count++] = d;
    }
    return sum_corners(call, resize, taps, axes, count);
}

/* tf_crop_and_resize: outputs whose coordinate is outside take extrapolation_value. */
static enum ulp_status extrapolate(struct ulp_call *call, const struct resized_axis *axis,
                                   const struct ulp_tensor *x, int d)
{
    struct ulp_tensor *out = &call->out[0], value;
    const struct ulp_split split = ulp_split_at(out, d);
    ULP_TRY(ulp_call_scalar(call, &value, out->type,
                            ulp_call_attribute(call, "extrapolation_value")->f));
    for (size_t o = 0; o < split.size; o++)
        for (size_t i = 0; is_outside(call, axis, ulp_tensor_read(x, o)) && i < split.outer; i++)
            ulp_move_fill(out, (i * split.size + o) * split.inner, split.inner, value.data);
    return ULP_OK;
}

static enum ulp_status run_smooth(struct ulp_call *call, const struct resize *resize)
{
    const bool antialias = ulp_call_int(call, "antialias"),
               exclude = ulp_call_int(call, "exclude_outside");
    const struct ulp_arithmetic unrounded = ulp_call_unrounded(call);
    struct ulp_arithmetic arithmetic;
    struct ulp_tensor coordinates[ULP_RANK_MAX], current = *call->in[0];
    int first = 0; /* axes are resized from the last to this one */
    ULP_TRY(ulp_coordinate_arithmetic(call, &arithmetic));
    while (first < current.rank && !resize->axes[first].changes)
        first++;
    if (first == current.rank)
        ulp_move_all(&call->out[0], call->in[0]);
    for (int d = current.rank - 1; d >= first; d--) {
        const struct resized_axis *axis = &resize->axes[d];
        struct ulp_taps taps;
        struct ulp_tensor next = call->out[0];
        int64_t dims[ULP_RANK_MAX];
        if (!axis->changes)
            continue;
        double scale = axis->numerator / axis->denominator;
        const struct ulp_tap_options options = {
            .kernel = ulp_call_is(call, "mode", "cubic") ? ULP_KERNEL_CUBIC : ULP_KERNEL_LINEAR,
            .cubic_a = (double)ulp_call_attribute(call, "cubic_coeff_a")->f,
            .stretch = antialias && scale < 1 ? scale : 1,
            .inside = exclude ? axis->in : 0,
        };
        ULP_TRY(make_coordinates(call, &arithmetic, axis, &coordinates[d]));
        ULP_TRY(ulp_taps_make(call, &arithmetic, &coordinates[d], &options, &taps));
        memcpy(dims, current.dims, sizeof dims);
        dims[d] = axis->out;
        if (d > first)
            ULP_TRY(ulp_call_temporary_in(call, &next, &unrounded.storage, current.rank, dims));
        ULP_TRY(
            sum_taps(call, d > first ? &unrounded : call->arithmetic, &taps, &current, &next, d));
        current = next;
    }
    for (int d = first; d < current.rank; d++)
        if (resize->axes[d].changes &&
            ulp_call_is(call, "coordinate_transformation_mode", "tf_crop_and_resize"))
            ULP_TRY(extrapolate(call, &resize->axes[d], &coordinates[d], d));
    return ULP_OK;
}

static enum ulp_status run_resize(struct ulp_call *call)
{
    struct resize resize;
    ULP_TRY(read_resize(call, &resize));
    if (call->out[0].count == 0)
        return ULP_OK;
    return ulp_call_is(call, "mode", "nearest") ? run_nearest(call, &resize)
           : is_joined(call, &resize)           ? run_joined(call, &resize)
                                                : run_smooth(call, &resize);
}

#define RESIZE .outputs = "y", .infer = infer_resize, .run = run_resize, .check = check_resize
#define OPTIONS                                                                     \
    "coordinate_transformation_mode:string=half_pixel; cubic_coeff_a:float=-0.75; " \
    "exclude_outside:int=0; "                                                       \
    "extrapolation_value:float=0; mode:string=nearest; nearest_mode:string=round_prefer_floor"

/* clang-format off */
const struct ulp_operator ulp_ops_resize[] = {
    {.name = "Resize", .since = 10, .inputs = "x scales:p", RESIZE,
     .attributes = "mode:string=nearest"},
    {.name = "Resize", .since = 11, .inputs = "x roi:p? scales:p? sizes:i?", RESIZE,
     .attributes = OPTIONS},
    {.name = "Resize", .since = 18, .inputs = "x roi:p? scales:p? sizes:i?", RESIZE,
     .attributes = OPTIONS "; antialias:int=0; axes:ints; keep_aspect_ratio_policy:string=stretch"},
    {.name = "Upsample", .since = 7, .until = 8, .inputs = "x", RESIZE,
     .attributes = "mode:string=nearest; scales:!floats"},
    {.name = "Upsample", .since = 9, .until = 9, .inputs = "x scales:p", RESIZE,
     .attributes = "mode:string=nearest"},
    {0},
};
/* clang-format on */
