/* RoiAlign and MaxRoiPool: pooling over regions whose places are data. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "ops/compare.h"
#include "ops/spatial/interpolate.h"

/* Of a region along one axis. */
#define BINS_MAX (1 << 20)

/* ---- RoiAlign: for each region, values at sampling points by a formula, then one row of points
 * for each bin ---- */

static enum ulp_status infer_roi_align(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *rois = call->in[1];
    int64_t height, width, points;
    ULP_TRY(ulp_call_int_within(call, "output_height", 1, BINS_MAX, &height));
    ULP_TRY(ulp_call_int_within(call, "output_width", 1, BINS_MAX, &width));
    ULP_TRY(ulp_call_int_within(call, "sampling_ratio", -BINS_MAX, BINS_MAX, &points));
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 ||
        call->in[2]->count != (size_t)rois->dims[0])
        return ULP_REFUSE(call,
                          "expected x of rank 4, regions of 4 numbers, and a batch index for each");
    return ulp_call_describe(call, 0, x->type, 4,
                             (int64_t[]){rois->dims[0], x->dims[1], height, width});
}

static enum ulp_status check_roi_align(struct ulp_call *call)
{
    if (!ulp_call_is(call, "mode", "avg") && !ulp_call_is(call, "mode", "max"))
        return ULP_REFUSE(call, "mode %s: expected avg or max",
                          ulp_call_attribute(call, "mode")->s);
    return ULP_OK;
}

/* The sampling points of one region along one axis. */
struct roi_axis {
    int64_t bins, points, length; /* bins; points in each; elements of the input */
    /* at each point: BOOL, and the weights of the two elements around it */
    struct ulp_tensor inside, low, high;
    int64_t *at; /* the first of them */
};

/* Region `r`, from its numbers `first` and first + 2. */
static enum ulp_status sample_axis(struct ulp_call *call, size_t r, size_t first,
                                   struct roi_axis *axis)
{
    const struct ulp_tensor *rois = call->in[1];
    const bool half = ulp_call_is(call, "coordinate_transformation_mode", "half_pixel");
    const double scale = (double)ulp_call_attribute(call, "spatial_scale")->f,
                 shift = half ? 0.5 : 0;
    const struct ulp_tensor *ends = rois, *places;
    ULP_TRY(ulp_call_numbers_of(call, &ends));
    double size =
        (ulp_tensor_read(ends, 4 * r + first + 2) - ulp_tensor_read(ends, 4 * r + first)) * scale;
    size = !half && size < 1 ? 1 : size;
    axis->points = ulp_call_int(call, "sampling_ratio");
    if (axis->points <= 0) {
        /* a lane's region may be infinite, or no number: it has no points */
        const double points = ceil(size / (double)axis->bins);
        axis->points = points >= 0 && points < 0x1p62 ? (int64_t)points : 0;
    }
    const size_t count = (size_t)ulp_dim_mul(axis->bins, axis->points);
    struct ulp_arithmetic arithmetic;
    const struct ulp_tensor start = ulp_tensor_view_from(rois, 4 * r + first),
                            end = ulp_tensor_view_from(rois, 4 * r + first + 2);
    struct ulp_tensor place, bin, point;
    char numbers[5][40];
    ULP_TRY(ulp_coordinate_arithmetic(call, &arithmetic));
    ULP_TRY(ulp_coordinates_make(call, &arithmetic, count, &place));
    ULP_TRY(ulp_coordinates_make(call, &arithmetic, count, &axis->low));
    ULP_TRY(ulp_coordinates_make(call, &arithmetic, count, &axis->high));
    ULP_TRY(ulp_call_make_here(call, &axis->inside, ULP_TYPE_BOOL, 1, (int64_t[]){(int64_t)count}));
    ULP_TRY(ulp_positions_make(call, count, &bin));
    ULP_TRY(ulp_positions_make(call, count, &point));
    ULP_TRY(ulp_call_take(call, count, sizeof *axis->at, &axis->at));
    if (count == 0)
        return ULP_OK;
    for (size_t i = 0; i < count; i++) {
        ((int64_t *)bin.data)[i] /= axis->points;
        ((int64_t *)point.data)[i] %= axis->points;
    }
    const double values[5] = {scale, shift, (double)axis->bins, (double)axis->points,
                              (double)axis->length};
    for (int i = 0; i < 5; i++)
        snprintf(numbers[i], sizeof numbers[i], "%a", values[i]);
    const struct ulp_named_operand operands[] = {
        {"start", {.tensor = &start}},
        {"end", {.tensor = &end}},
        {"bin", {.tensor = &bin, .position_stride = 1}},
        {"point", {.tensor = &point, .position_stride = 1}},
        {"scale", {.constant = numbers[0]}},
        {"shift", {.constant = numbers[1]}},
        {"bins", {.constant = numbers[2]}},
        {"points", {.constant = numbers[3]}},
        {"length", {.constant = numbers[4]}},
    };
    const struct ulp_named_operand outputs[] = {
        {"place", {.tensor = &place, .position_stride = 1}},
        {"inside", {.tensor = &axis->inside, .position_stride = 1}},
        {"low", {.tensor = &axis->low, .position_stride = 1}},
        {"high", {.tensor = &axis->high, .position_stride = 1}},
    };
    const struct ulp_rows rows = {.row_count = 1, .row_length = count};
    char text[400];
    snprintf(
        text, sizeof text,
        "first = start * scale - shift; whole = end * scale - shift - first; size = %s; step = "
        "size / bins; "
        "p = first + bin * step + (point + 0.5) * step / points; inside = p >= -1 && p <= length; "
        "place = min(max(p, 0), length - 1); high = place - floor(place); low = 1 - high; place",
        half ? "whole" : "max(whole, 1)");
    ULP_TRY(ulp_call_text(call, text, &arithmetic, &rows, 9, operands, 4, outputs));
    places = &place;
    ULP_TRY(ulp_call_numbers_of(call, &places));
    for (size_t i = 0; i < count; i++)
        axis->at[i] = ulp_clamp(ulp_coordinate_floor(places, i), 0, axis->length - 1);
    return ULP_OK;
}

#define CORNERS "v00 v01 v10 v11 ly hy lx hx iny inx"
static const struct ulp_formula interpolated = {CORNERS, "v",
                                                "iny && inx ? ly * lx * v00 + ly * hx * v01 + hy * "
                                                "lx * v10 + hy * hx * v11 : 0"},
                                largest_corner = {CORNERS, "v",
                                                  "iny && inx ? max(max(ly * lx * v00, ly * hx * "
                                                  "v01), max(hy * lx * v10, hy * hx * v11)) : 0"},
                                mean_of_points = {"v", "y", "row_mean(v)"},
                                largest_point = {"v", "y", "row_max(v)"};

/* Values at all points of a region (rows: channels), then bins of points (rows: channel and
 * bin). */
static enum ulp_status pool_region(struct ulp_call *call, size_t r, int64_t image,
                                   const struct roi_axis *y, const struct roi_axis *x)
{
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const bool average = ulp_call_is(call, "mode", "avg");
    const int64_t channels = call->in[0]->dims[1], plane = y->length * x->length,
                  each = ulp_dim_mul(y->points, x->points);
    const int64_t bins = y->bins * x->bins, count = ulp_dim_mul(bins, each);
    const struct ulp_tensor from =
        ulp_tensor_view_from(call->in[0], (size_t)(image * channels * plane));
    struct ulp_tensor to = ulp_tensor_view_from(&call->out[0], r * (size_t)(channels * bins)),
                      values;
    int64_t *offset[4], *y_at, *x_at;
    ULP_TRY(ulp_call_temporary_in(call, &values, &inner.storage, 2, (int64_t[]){channels, count}));
    for (int i = 0; i < 4; i++)
        ULP_TRY(ulp_call_take(call, (size_t)count, sizeof *offset[i], &offset[i]));
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof *y_at, &y_at));
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof *x_at, &x_at));
    for (int64_t i = 0; i < count; i++) {
        const int64_t bin = i / each, point = i % each;
        y_at[i] = bin / x->bins * y->points + point / x->points;
        x_at[i] = bin % x->bins * x->points + point % x->points;
        for (int64_t c = 0; c < 4; c++)
            offset[c][i] = ulp_clamp(y->at[y_at[i]] + c / 2, 0, y->length - 1) * x->length +
                           ulp_clamp(x->at[x_at[i]] + c % 2, 0, x->length - 1);
    }
    const struct ulp_named_operand operands[] = {
        {"v00", {.tensor = &from, .row_stride = plane, .position_offset = offset[0]}},
        {"v01", {.tensor = &from, .row_stride = plane, .position_offset = offset[1]}},
        {"v10", {.tensor = &from, .row_stride = plane, .position_offset = offset[2]}},
        {"v11", {.tensor = &from, .row_stride = plane, .position_offset = offset[3]}},
        {"ly", {.tensor = &y->low, .position_offset = y_at}},
        {"hy", {.tensor = &y->high, .position_offset = y_at}},
        {"lx", {.tensor = &x->low, .position_offset = x_at}},
        {"hx", {.tensor = &x->high, .position_offset = x_at}},
        {"iny", {.tensor = &y->inside, .position_offset = y_at}},
        {"inx", {.tensor = &x->inside, .position_offset = x_at}},
    };
    const struct ulp_rows points = {.row_count = (size_t)channels, .row_length = (size_t)count};
    const struct ulp_rows pools = {.row_count = (size_t)(channels * bins),
                                   .row_length = (size_t)each};
    const struct ulp_named_operand value = {
        "v", {.tensor = &values, .row_stride = count, .position_stride = 1}};
    const struct ulp_named_operand pooled = {
        "v", {.tensor = &values, .row_stride = each, .position_stride = 1}};
    const struct ulp_named_operand result = {"y", {.tensor = &to, .row_stride = 1}};
    /* max takes the largest of the four weighted elements, as ONNX's definition of the mode does */
    if (count)
        ULP_TRY(ulp_call_formula(call, average ? &interpolated : &largest_corner, &inner, &points,
                                 10, operands, 1, &value));
    if (count == 0) {
        struct ulp_tensor zero;
        ULP_TRY(ulp_call_scalar(call, &zero, to.type, 0));
        ulp_move_fill(&to, 0, pools.row_count, zero.data);
        return ULP_OK;
    }
    return ulp_call_formula(call, average ? &mean_of_points : &largest_point, call->arithmetic,
                            &pools, 1, &pooled, 1, &result);
}

static enum ulp_status run_roi_align(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0];
    if (call->out[0].count && x->count == 0)
        return ULP_REFUSE(call, "the input is empty");
    for (size_t r = 0; call->out[0].count && r < (size_t)call->out[0].dims[0]; r++) {
        const int64_t image = ulp_tensor_get_int(call->in[2], r);
        struct roi_axis rows = {.bins = call->out[0].dims[2], .length = x->dims[2]};
        struct roi_axis columns = {.bins = call->out[0].dims[3], .length = x->dims[3]};
        if (image < 0 || image >= x->dims[0])
            return ULP_REFUSE(call, "batch index %lld of region %zu is outside", (long long)image,
                              r);
        ULP_TRY(sample_axis(call, r, 1, &rows));
        ULP_TRY(sample_axis(call, r, 0, &columns));
        ULP_TRY(pool_region(call, r, image, &rows, &columns));
    }
    return ULP_OK;
}

/* ---- MaxRoiPool: bins of whole pixels; the largest element of each is moved ---- */

static enum ulp_status infer_max_roi(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *rois = call->in[1];
    const struct ulp_attribute_value *shape = ulp_call_attribute(call, "pooled_shape");
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5 || shape->count != 2 ||
        shape->ints[0] < 1 || shape->ints[1] < 1 || shape->ints[0] > BINS_MAX ||
        shape->ints[1] > BINS_MAX)
        return ULP_REFUSE(call,
                          "expected x of rank 4, regions of 5 numbers and a pooled_shape of 2");
    return ulp_call_describe(call, 0, x->type, 4,
                             (int64_t[]){rois->dims[0], x->dims[1], shape->ints[0],
                                         shape->ints[1]});
}

/* Bin `bin` of a region from start to end (pixels, inclusive), cut to the axis. */
static void bin_range(int64_t start, int64_t end, int64_t bins, int64_t bin, int64_t length,
                      int64_t *first, int64_t *last)
{
    const int64_t size = end - start + 1 > 1 ? end - start + 1 : 1;
    *first = ulp_clamp(bin * size / bins + start, 0, length);
    *last = ulp_clamp(((bin + 1) * size + bins - 1) / bins + start, 0, length);
}

static enum ulp_status run_max_roi(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *rois = call->in[1];
    const double scale = (double)ulp_call_attribute(call, "spatial_scale")->f;
    const int64_t *d = call->out[0].dims, height = x->dims[2], width = x->dims[3];
    struct ulp_tensor zero;
    ULP_CALL_TAKE(int64_t, from, call, call->out[0].count);
    ULP_TRY(ulp_call_scalar(call, &zero, x->type, 0));
    for (int64_t i = 0; i < (int64_t)call->out[0].count; i++) {
        const int64_t column = i % d[3], row = i / d[3] % d[2], channel = i / (d[3] * d[2]) % d[1],
                      r = i / (d[3] * d[2] * d[1]);
        int64_t edges[5], top, bottom, left, right, best = -1;
        for (int k = 0; k < 5; k++) {
            double value = ulp_tensor_read(rois, (size_t)(5 * r + k)) * (k ? scale : 1);
            edges[k] = fabs(value) < 0x1p30 ? (int64_t)floor(value + (k ? 0.5 : 0)) : -1;
        }
        if (edges[0] < 0 || edges[0] >= x->dims[0])
            return ULP_REFUSE(call, "the batch index of region %lld is outside", (long long)r);
        bin_range(edges[2], edges[4], d[2], row, height, &top, &bottom);
        bin_range(edges[1], edges[3], d[3], column, width, &left, &right);
        const int64_t plane = (edges[0] * x->dims[1] + channel) * height * width;
        for (int64_t v = top; v < bottom; v++)
            for (int64_t h = left; h < right; h++) {
                const int64_t at = plane + v * width + h;
                if (best < 0 || ulp_compare(x, (size_t)at, (size_t)best) > 0)
                    best = at;
            }
        from[i] = best < 0 ? ULP_NOWHERE : best;
    }
    return ulp_move_blocks(&call->out[0], x, from, 1, zero.data, call->pool, call->error);
}

#define ROI_ALIGN                                                                   \
    .inputs = "x rois:f batch_indices:i", .outputs = "y", .infer = infer_roi_align, \
    .check = check_roi_align, .run = run_roi_align,                                 \
    .formulas = ULP_FORMULAS(&interpolated, &largest_corner, &mean_of_points, &largest_point)
#define OPTIONS                                                                        \
    "mode:string=avg; output_height:int=1; output_width:int=1; sampling_ratio:int=0; " \
    "spatial_scale:float=1"

/* clang-format off */
const struct ulp_operator ulp_ops_roi[] = {
    {.name = "MaxRoiPool", .since = 1, .inputs = "x:c rois:n", .outputs = "y",
     .attributes = "pooled_shape:!ints; spatial_scale:float=1", .infer = infer_max_roi,
     .run = run_max_roi},
    {.name = "RoiAlign", .since = 10, ROI_ALIGN, .attributes = OPTIONS},
    {.name = "RoiAlign", .since = 16, ROI_ALIGN,
     .attributes = OPTIONS "; coordinate_transformation_mode:string=half_pixel"},
    {0},
};
/* clang-format on */
