/* Sampling at coordinates that are data: GridSample, AffineGrid, RoiAlign, MaxRoiPool. */
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "ops/spatial/interpolate.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* ---- GridSample ---- */

#define MODES "nearest, linear (bilinear) or cubic (bicubic)"

static bool is_mode(const struct ulp_call *call, const char *name, const char *old_name)
{
    return ulp_call_is(call, "mode", name) || ulp_call_is(call, "mode", old_name);
}

static enum ulp_status check_grid(struct ulp_call *call)
{
    if (!is_mode(call, "nearest", "nearest") && !is_mode(call, "linear", "bilinear") &&
        !is_mode(call, "cubic", "bicubic"))
        return ULP_REFUSE(call, "mode %s: expected " MODES, ulp_call_attribute(call, "mode")->s);
    if (!ulp_call_is(call, "padding_mode", "zeros") &&
        !ulp_call_is(call, "padding_mode", "border") &&
        !ulp_call_is(call, "padding_mode", "reflection"))
        return ULP_REFUSE(call, "padding_mode %s: expected zeros, border or reflection",
                          ulp_call_attribute(call, "padding_mode")->s);
    return ULP_OK;
}

static enum ulp_status infer_grid(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *grid = call->in[1];
    int64_t dims[ULP_RANK_MAX];
    int rank = in->rank - 2;
    char a[200], b[200];
    if (rank < 1 || grid->rank != in->rank || grid->dims[0] != in->dims[0] ||
        grid->dims[rank + 1] != rank)
        return ULP_REFUSE(call, "grid %s does not fit input %s",
                          ulp_tensor_describe_text(grid, a, sizeof a),
                          ulp_tensor_describe_text(in, b, sizeof b));
    memcpy(dims, in->dims, 2 * sizeof *dims);
    memcpy(dims + 2, grid->dims + 1, (size_t)rank * sizeof *dims);
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

/* Axis d's coordinates of all grid points (the grid's last axis counts from the innermost one):
 * from -1 .. 1 to elements, then into the axis as padding_mode says. */
static enum ulp_status grid_coordinates(struct ulp_call *call,
                                        const struct ulp_arithmetic *arithmetic, int d,
                                        struct ulp_tensor *out)
{
    const struct ulp_tensor *in = call->in[0];
    const bool align = ulp_call_int(call, "align_corners");
    const int rank = in->rank - 2;
    const struct ulp_tensor grid = ulp_tensor_view_from(call->in[1], (size_t)(rank - 1 - d));
    char text[512], length[32], low[32], high[32];
    snprintf(length, sizeof length, "%lld", (long long)in->dims[2 + d]);
    snprintf(low, sizeof low, "%s", align ? "0" : "-0.5");
    snprintf(high, sizeof high, "%lld.%d", (long long)in->dims[2 + d] - 1, align ? 0 : 5);
    snprintf(text, sizeof text, "u = %s; x = %s; %s",
             align ? "(g + 1) / 2 * (length - 1)" : "((g + 1) * length - 1) / 2",
             is_mode(call, "nearest", "nearest") ? "round(u)" : "u",
             ulp_call_is(call, "padding_mode", "zeros") ? "x"
             : ulp_call_is(call, "padding_mode", "border")
                 ? "x < low || x > high ? min(max(x, 0), length - 1) : x"
                 : "d = x < low ? low - x : x - high; span = high - low; "
                   "r = fmod(d, span); even = mod(floor(d / span), 2) == 0; "
                   "x < low ? (even ? low + r : high - r) : "
                   "x > high ? (even ? high - r : low + r) : x");
    const size_t count = call->in[1]->count / (size_t)rank;
    ULP_TRY(ulp_coordinates_make(call, arithmetic, count, out));
    const struct ulp_rows rows = {.row_count = 1, .row_length = count};
    const struct ulp_named_operand operands[] = {
        {"g", {.tensor = &grid, .position_stride = rank}},
        {"length", {.constant = length}},
        {"low", {.constant = low}},
        {"high", {.constant = high}},
    };
    return ulp_call_text(call, text, arithmetic, &rows, 4, operands, 1,
                         (struct ulp_named_operand[]){
                             {"x", {.tensor = out, .position_stride = 1}}});
}

static ulp_pad_fn *find_padding(const struct ulp_call *call)
{
    return ulp_call_is(call, "padding_mode", "zeros")    ? ulp_pad_constant
           : ulp_call_is(call, "padding_mode", "border") ? ulp_pad_edge
           : ulp_call_int(call, "align_corners")         ? ulp_pad_reflect
                                                         : ulp_pad_symmetric;
}

/* An empty axis shows nothing. */
static void pad_positions(const struct ulp_call *call, struct ulp_taps *taps, int64_t length)
{
    ulp_pad_fn *const pad = length ? find_padding(call) : ulp_pad_constant;
    for (size_t i = 0; i < taps->coordinate_count * taps->count; i++)
        taps->position[i] = pad(taps->position[i], length);
}

/* Taps of every axis at every point; positions are padded. */
struct grid_taps {
    int rank;
    size_t points; /* of one image */
    struct ulp_taps axes[ULP_RANK_MAX];
    size_t combinations;
};

/* The places in the channel of combination c of taps at the points of image n: `nowhere` where one
 * is ULP_NOWHERE. */
static void find_places(const struct ulp_call *call, const struct grid_taps *g, size_t n, size_t c,
                        int64_t nowhere, int64_t *place)
{
    const int64_t *position[ULP_RANK_MAX];
    uint64_t strides[ULP_RANK_MAX], stride = 1;
    for (int d = g->rank - 1; d >= 0; d--) {
        const struct ulp_taps *taps = &g->axes[d];
        position[d] = taps->position + n * g->points * taps->count + c % taps->count;
        strides[d] = stride;
        c /= taps->count;
        stride *= (uint64_t)call->in[0]->dims[2 + d];
    }
    for (size_t p = 0; p < g->points; p++) {
        uint64_t sum = 0, missing = 0; /* only ULP_NOWHERE is negative */
        for (int d = 0; d < g->rank; d++) {
            const uint64_t i = (uint64_t)position[d][p * g->axes[d].count];
            missing |= i;
            sum += i * strides[d];
        }
        place[p] = missing >> 63 ? nowhere : (int64_t)sum;
    }
}

static enum ulp_status make_grid_taps(struct ulp_call *call, struct grid_taps *g)
{
    struct ulp_arithmetic arithmetic;
    const struct ulp_tap_options options = {.kernel = is_mode(call, "cubic", "bicubic")
                                                          ? ULP_KERNEL_CUBIC
                                                          : ULP_KERNEL_LINEAR,
                                            .cubic_a = -0.75,
                                            .stretch = 1};
    *g = (struct grid_taps){.rank = call->in[0]->rank - 2, .combinations = 1};
    g->points = call->in[1]->count / (size_t)(call->in[0]->dims[0] * g->rank);
    ULP_TRY(ulp_coordinate_arithmetic(call, &arithmetic));
    for (int d = 0; d < g->rank; d++) {
        struct ulp_tensor x;
        struct ulp_taps *axis = &g->axes[d];
        ULP_TRY(grid_coordinates(call, &arithmetic, d, &x));
        if (is_mode(call, "nearest", "nearest")) {
            *axis = (struct ulp_taps){.coordinate_count = x.count, .count = 1};
            ULP_TRY(ulp_call_take(call, x.count, sizeof *axis->position, &axis->position));
            const struct ulp_tensor *places = &x;
            ULP_TRY(ulp_call_numbers_of(call, &places));
            for (size_t i = 0; i < x.count; i++)
                axis->position[i] = ulp_coordinate_floor(places, i);
        } else {
            ULP_TRY(ulp_taps_make(call, &arithmetic, &x, &options, axis));
        }
        pad_positions(call, axis, call->in[0]->dims[2 + d]);
        g->combinations *= axis->count;
        if (g->combinations > ULP_CORNERS_MAX)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                            "%d spatial axes: more than %d elements around a point", g->rank,
                            ULP_CORNERS_MAX);
    }
    return ULP_OK;
}

/* One image: rows are channels, positions the grid's points; `source` holds every channel with a
 * zero behind it. */
static enum ulp_status sample_image(struct ulp_call *call, const struct grid_taps *g, size_t n,
                                    const struct ulp_tensor *source, const char *formula)
{
    const int64_t plane = source->dims[1];
    const size_t channels = (size_t)call->in[0]->dims[1];
    const struct ulp_tensor from = ulp_tensor_view_from(source, n * channels * (size_t)plane);
    struct ulp_tensor to = ulp_tensor_view_from(&call->out[0], n * channels * g->points), *weights;
    size_t count = 0;
    for (int d = 0; d < g->rank; d++)
        count += g->axes[d].count;
    ULP_CALL_TAKE(struct ulp_named_operand, operands, call, g->combinations + count);
    ULP_TRY(ulp_call_take(call, count, sizeof *weights, &weights));
    for (size_t c = 0; c < g->combinations; c++) {
        ULP_CALL_TAKE(int64_t, offset, call, g->points);
        ULP_CALL_SAY(name, call, "x%zu", c);
        find_places(call, g, n, c, plane - 1, offset);
        operands[c] = (struct ulp_named_operand){
            name, {.tensor = &from, .row_stride = plane, .position_offset = offset}};
    }
    for (int d = 0, k = 0; d < g->rank; d++)
        for (size_t t = 0; t < g->axes[d].count; t++, k++) {
            ULP_CALL_SAY(name, call, "w%d_%zu", d, t);
            const struct ulp_taps *taps = &g->axes[d];
            weights[k] =
                ulp_tensor_view_from(&taps->weights, ulp_taps_place(taps, n * g->points, t));
            operands[g->combinations + (size_t)k] = (struct ulp_named_operand){
                name, {.tensor = &weights[k], .position_stride = taps->point_step}};
        }
    const struct ulp_rows rows = {.row_count = channels, .row_length = g->points};
    const struct ulp_operand result = {.tensor = &to,
                                       .row_stride = (int64_t)g->points,
                                       .position_stride = 1};
    return ulp_call_text(call, formula, call->arithmetic, &rows, g->combinations + count, operands,
                         1, (struct ulp_named_operand[]){{"y", result}});
}

/* "w0_0 * w1_0 * x0 + w0_0 * w1_1 * x1 + ..." */
static void write_sum(struct ulp_text *text, const struct grid_taps *g)
{
    for (size_t c = 0; c < g->combinations; c++) {
        size_t rest = c, index[ULP_RANK_MAX];
        for (int d = g->rank - 1; d >= 0; d--) {
            index[d] = rest % g->axes[d].count;
            rest /= g->axes[d].count;
        }
        ulp_text_add(text, "%s", c ? " + " : "");
        for (int d = 0; d < g->rank; d++)
            ulp_text_add(text, "w%d_%zu * ", d, index[d]);
        ulp_text_add(text, "x%zu", c);
    }
}

static enum ulp_status move_nearest(struct ulp_call *call, const struct grid_taps *g)
{
    const struct ulp_tensor *in = call->in[0];
    const size_t images = (size_t)in->dims[0], channels = (size_t)in->dims[1];
    const int64_t plane = ulp_product(in->dims + 2, g->rank);
    struct ulp_tensor zero;
    ULP_TRY(ulp_call_scalar(call, &zero, in->type, 0));
    ULP_CALL_TAKE(int64_t, from, call, call->out[0].count);
    ULP_CALL_TAKE(int64_t, place, call, g->points);
    for (size_t n = 0; n < images; n++) {
        find_places(call, g, n, 0, ULP_NOWHERE, place);
        for (size_t c = n * channels; c < (n + 1) * channels; c++)
            for (size_t p = 0; p < g->points; p++)
                from[c * g->points + p] =
                    place[p] == ULP_NOWHERE ? ULP_NOWHERE : (int64_t)c * plane + place[p];
    }
    return ulp_move_blocks(&call->out[0], in, from, 1, zero.data, call->pool, call->error);
}

static enum ulp_status run_grid(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct grid_taps g;
    struct ulp_tensor zero, source;
    if (call->out[0].count == 0)
        return ULP_OK;
    ULP_TRY(make_grid_taps(call, &g));
    if (is_mode(call, "nearest", "nearest"))
        return move_nearest(call, &g);
    const int64_t planes = in->dims[0] * in->dims[1], plane = ulp_product(in->dims + 2, g.rank);
    ULP_TRY(ulp_call_scalar(call, &zero, in->type, 0));
    ULP_TRY(ulp_call_make_here(call, &source, in->type, 2, (int64_t[]){planes, plane + 1}));
    ULP_TRY(ulp_move_runs(&source, 0, (size_t)plane + 1, in, 0, (size_t)plane, (size_t)planes,
                          (size_t)plane, call->pool, call->error));
    for (int64_t i = 0; i < planes; i++)
        ulp_move_fill(&source, (size_t)(i * (plane + 1) + plane), 1, zero.data);
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    write_sum(&text, &g);
    if (text.failed)
        return ulp_out_of_memory(call->error);
    for (size_t n = 0; n < (size_t)in->dims[0]; n++)
        ULP_TRY(sample_image(call, &g, n, &source, text.data));
    return ULP_OK;
}

/* ---- AffineGrid: point (z, y, x, 1) of the evenly spaced grid times theta, as one sum ---- */

static enum ulp_status infer_affine(struct ulp_call *call)
{
    const struct ulp_tensor *theta = call->in[0];
    struct ulp_list size;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_call_list(call, "size", &size));
    if (!size.known)
        return ULP_OK;
    int rank = (int)size.count - 2;
    if (rank < 2 || rank > 3 || theta->rank != 3 || theta->dims[0] != size.values[0] ||
        theta->dims[1] != rank || theta->dims[2] != rank + 1)
        return ULP_REFUSE(call, "theta does not fit size: expected N x 2 x 3 or N x 3 x 4");
    dims[0] = size.values[0];
    memcpy(dims + 1, size.values + 2, (size_t)rank * sizeof *dims);
    dims[rank + 1] = rank;
    return ulp_call_describe(call, 0, theta->type, rank + 2, dims);
}

/* Derived: i0 i1 i2, a point's index along x, y and z, and t0 .. t3, the columns of theta. A plane
 * has z = 0 in a row of length 1. */
static enum ulp_status rows_affine(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *theta = call->in[0], *out = &call->out[0];
    const int rank = out->rank - 2;
    const size_t points = out->count / (size_t)rank,
                 first = (size_t)call->bound->tape->operand_count - 10;
    ULP_CALL_TAKE(struct ulp_tensor, numbers, call, 3);
    ULP_CALL_TAKE(struct ulp_tensor, columns, call, 4);
    ULP_CALL_TAKE(int64_t, theta_row, call, points);
    *layout->rows = (struct ulp_rows){.row_count = points, .row_length = (size_t)rank};
    for (int a = 0; a < 3; a++) {
        int64_t length = a < rank ? out->dims[rank - a] : 1, inner = 1;
        for (int b = 0; b < a && b < rank; b++)
            inner *= out->dims[rank - b];
        ULP_TRY(ulp_positions_make(call, points, &numbers[a]));
        for (size_t p = 0; p < points; p++)
            ((int64_t *)numbers[a].data)[p] = (int64_t)p / inner % length;
        ULP_CALL_SAY(text, call, "%lld", (long long)length);
        layout->operands[first + (size_t)a] =
            (struct ulp_operand){.tensor = &numbers[a], .row_stride = 1};
        layout->operands[first + 3 + (size_t)a] = (struct ulp_operand){.constant = text};
    }
    for (size_t p = 0; p < points; p++)
        theta_row[p] = (int64_t)(p / (points / (size_t)out->dims[0])) * rank * (rank + 1);
    for (int c = 0; c < 4; c++) {
        int column = c == 3 ? rank : c; /* the last is the translation */
        bool exists = column < rank || c == 3;
        columns[c] = ulp_tensor_view_from(theta, exists ? (size_t)column : 0);
        layout->operands[first + 6 + (size_t)c] =
            exists ? (struct ulp_operand){.tensor = &columns[c],
                                          .row_offset = theta_row,
                                          .position_stride = rank + 1}
                   : (struct ulp_operand){.constant = "0"};
    }
    layout->outputs[0].row_stride = rank;
    layout->outputs[0].position_stride = 1;
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_sample[] = {
    {.name = "AffineGrid", .since = 20, .when = "align_corners=0", .inputs = "theta size:i",
     .outputs = "grid",
     .attributes = "align_corners:int=0", .derived = "i0 i1 i2 n0 n1 n2 t0 t1 t2 t3",
     .infer = infer_affine,
     .rows = rows_affine,
     .formula = "x = (2 * i0 + 1) / n0 - 1; y = (2 * i1 + 1) / n1 - 1; z = (2 * i2 + 1) / n2 - 1; "
                "t0 * x + t1 * y + t2 * z + t3"},
    {.name = "AffineGrid", .since = 20, .when = "align_corners=1", .inputs = "theta size:i",
     .outputs = "grid",
     .attributes = "align_corners:int=0", .derived = "i0 i1 i2 n0 n1 n2 t0 t1 t2 t3",
     .infer = infer_affine,
     .rows = rows_affine,
     .formula = "x = n0 > 1 ? 2 * i0 / (n0 - 1) - 1 : 0; y = n1 > 1 ? 2 * i1 / (n1 - 1) - 1 : 0; "
                "z = n2 > 1 ? 2 * i2 / (n2 - 1) - 1 : 0; t0 * x + t1 * y + t2 * z + t3"},
    {.name = "GridSample", .since = 16, .inputs = "x grid:f", .outputs = "y",
     .attributes = "align_corners:int=0; mode:string=bilinear; padding_mode:string=zeros",
     .infer = infer_grid,
     .check = check_grid, .run = run_grid},
    {.name = "GridSample", .since = 20, .inputs = "x grid:f", .outputs = "y",
     .attributes = "align_corners:int=0; mode:string=linear; padding_mode:string=zeros",
     .infer = infer_grid,
     .check = check_grid, .run = run_grid},
    {0},
};
/* clang-format on */
