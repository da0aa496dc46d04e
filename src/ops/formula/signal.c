/* DFT, STFT and MelWeightMatrix. A transform is a formula over rows: each output is a sum of
 * products with the roots of unity, which are computed once in the lane's arithmetic. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "number/format/base.h"
#include "ops/spatial/interpolate.h"

/* Of the matrix of roots; a longer transform would need a fast one. */
#define ROOTS_MAX ((size_t)1 << 26)

/* cosines and sines[k * columns + n] of 2 pi k n / length, in the lane's compute format. They are
 * constants: rounded once, from GUARD_BITS more, whose angle is off by less than 2^-(GUARD_BITS -
 * 4) ulp. */
#define GUARD_BITS 64

struct roots {
    struct ulp_tensor cosines, sines;
};

static const struct ulp_formula circle_points = {"i length", "c s",
                                                 "a = 2 * pi * i / length; s = sin(a); cos(a)"};

static enum ulp_status make_roots(struct ulp_call *call, size_t rows_count, size_t columns,
                                  int64_t length, struct roots *out)
{
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    struct ulp_arithmetic wide;
    struct ulp_tensor turn, circle[2];
    size_t count;
    char number[32];
    if (!ulp_size_mul(rows_count, columns, &count) || count > ROOTS_MAX)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "a transform of %zu by %zu elements is too long for this version",
                        rows_count, columns);
    const int64_t dims[2] = {(int64_t)rows_count, (int64_t)columns};
    if (inner.storage.precision + GUARD_BITS > ULP_MPFR_PRECISION_MAX)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "a transform at more than %d bits",
                        ULP_MPFR_PRECISION_MAX - GUARD_BITS);
    ULP_TRY(ulp_arithmetic_find(ulp_format_mpfr(inner.storage.precision + GUARD_BITS).name, &wide,
                                call->error));
    ULP_TRY(ulp_positions_make(call, (size_t)length, &turn));
    ULP_TRY(ulp_coordinates_make(call, &inner, (size_t)length, &circle[0]));
    ULP_TRY(ulp_coordinates_make(call, &inner, (size_t)length, &circle[1]));
    ULP_TRY(ulp_call_temporary_in(call, &out->cosines, &inner.storage, 2, dims));
    ULP_TRY(ulp_call_temporary_in(call, &out->sines, &inner.storage, 2, dims));
    ULP_CALL_TAKE(int64_t, from, call, count);
    snprintf(number, sizeof number, "%lld", (long long)length);
    const struct ulp_rows rows = {.row_count = 1, .row_length = (size_t)length};
    const struct ulp_named_operand operands[] = {{"i", {.tensor = &turn, .position_stride = 1}},
                                                 {"length", {.constant = number}}};
    const struct ulp_operand points[2] = {
        {.tensor = &circle[0], .position_stride = 1, .storage = &inner.storage},
        {.tensor = &circle[1], .position_stride = 1, .storage = &inner.storage}};
    const struct ulp_named_operand outputs[] = {{"c", points[0]}, {"s", points[1]}};
    ULP_TRY(ulp_call_formula(call, &circle_points, &wide, &rows, 2, operands, 2, outputs));
    for (size_t k = 0; k < rows_count; k++)
        for (size_t n = 0; n < columns; n++)
            from[k * columns + n] = (int64_t)(k % (size_t)length * n % (size_t)length);
    ULP_TRY(ulp_move_blocks(&out->cosines, &circle[0], from, 1, NULL, call->pool, call->error));
    return ulp_move_blocks(&out->sines, &circle[1], from, 1, NULL, call->pool, call->error);
}

/* A transform of lines: row r starts at x_row[r], its elements lie `step` apart; it uses row
 * root_row[r] of the roots. */
struct transform {
    struct ulp_rows rows;
    const struct ulp_tensor *x;
    bool is_complex, inverse;
    const int64_t *x_row, *root_row, *out_row;
    const int64_t *position;         /* of the n-th element, and */
    const struct ulp_tensor *sign;   /* the sign of its imaginary part (NULL: 1) */
    const struct ulp_tensor *window; /* NULL: 1 */
    int64_t length;
    bool real_output;
};

static enum ulp_status run_transform(struct ulp_call *call, const struct transform *t,
                                     const struct roots *roots)
{
    const struct ulp_tensor imaginary = t->is_complex ? ulp_tensor_view_from(t->x, 1) : *t->x;
    struct ulp_tensor second = ulp_tensor_view_from(&call->out[0], 1);
    char number[32], text[400];
    snprintf(number, sizeof number, "%lld", (long long)t->length);
    const char *re = t->inverse ? "row_sum(r * c - i * s) / length" : "row_sum(r * c + i * s)";
    const char *im = t->inverse ? "row_sum(i * c + r * s) / length" : "row_sum(i * c - r * s)";
    const char *real_only = t->inverse ? "row_sum(r * c) / length" : "row_sum(r * c)";
    const char *real_im = t->inverse ? "row_sum(r * s) / length" : "-row_sum(r * s)";
    snprintf(text, sizeof text, "r = x * w; %sim = %s; %s",
             t->is_complex ? "i = y * sign * w; " : "", t->is_complex ? im : real_im,
             t->is_complex ? re : real_only);
    const struct ulp_operand root = {.row_offset = t->root_row, .position_stride = 1};
    const struct ulp_operand x = {.row_offset = t->x_row, .position_offset = t->position};
    struct ulp_named_operand operands[] = {
        {"x", x},
        {"y", x},
        {"c", root},
        {"s", root},
        {"w", {.tensor = t->window, .constant = t->window ? NULL : "1", .position_stride = 1}},
        {"sign", {.tensor = t->sign, .constant = t->sign ? NULL : "1", .position_stride = 1}},
        {"length", {.constant = number}}};
    operands[0].operand.tensor = t->x;
    operands[1].operand.tensor = &imaginary;
    operands[2].operand.tensor = &roots->cosines;
    operands[3].operand.tensor = &roots->sines;
    const struct ulp_named_operand outputs[] = {
        {"re", {.tensor = &call->out[0], .row_offset = t->out_row}},
        {"im", {.tensor = &second, .row_offset = t->out_row}}};
    return ulp_call_text(call, text, call->arithmetic, &t->rows, 7, operands,
                         t->real_output ? 1 : 2, outputs);
}

/* ---- DFT ---- */

struct dft {
    int axis;
    bool known, inverse, onesided, real_output;
    int64_t length, results; /* of the transform; elements along the axis of the output */
};

static enum ulp_status read_dft(const struct ulp_call *call, struct dft *dft)
{
    const struct ulp_tensor *in = call->in[0];
    const struct ulp_attribute_value *attribute = ulp_call_attribute(call, "axis");
    int64_t axis;
    bool length_known, axis_known;
    *dft = (struct dft){.inverse = ulp_call_int(call, "inverse"),
                        .onesided = ulp_call_int(call, "onesided")};
    if (in->rank < 2 || in->dims[in->rank - 1] < 1 || in->dims[in->rank - 1] > 2)
        return ULP_REFUSE(
            call, "the last axis holds the real and imaginary parts: expected 1 or 2 elements");
    ULP_TRY(
        ulp_call_number(call, "axis", attribute->present ? attribute->i : -2, &axis_known, &axis));
    ULP_TRY(ulp_call_number(call, "dft_length", -1, &length_known, &dft->length));
    dft->known = axis_known && length_known;
    if (!dft->known)
        return ULP_OK;
    ULP_TRY(ulp_call_axis(axis, in->rank, &dft->axis, call->error));
    if (dft->axis == in->rank - 1)
        return ULP_REFUSE(call, "the last axis cannot be transformed");
    dft->real_output = dft->inverse && dft->onesided;
    const int64_t size = in->dims[dft->axis];
    if (!ulp_call_in(call, 1))
        dft->length = dft->real_output ? 2 * (size - 1) : size;
    if (dft->length < 1 || dft->length > INT32_MAX)
        return ULP_REFUSE(call, "dft_length is %lld", (long long)dft->length);
    dft->results = dft->onesided && !dft->inverse ? dft->length / 2 + 1 : dft->length;
    return ULP_OK;
}

static enum ulp_status infer_dft(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct dft dft;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_dft(call, &dft));
    if (!dft.known)
        return ULP_OK;
    memcpy(dims, in->dims, sizeof dims);
    dims[dft.axis] = dft.results;
    dims[in->rank - 1] = dft.real_output ? 1 : 2;
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static enum ulp_status run_dft(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *out = &call->out[0];
    struct dft dft;
    struct roots roots;
    struct ulp_tensor sign;
    ULP_TRY(read_dft(call, &dft));
    if (out->count == 0)
        return ULP_OK;
    const struct ulp_split from = ulp_split_at(in, dft.axis), to = ulp_split_at(out, dft.axis);
    const size_t parts_in = (size_t)in->dims[in->rank - 1],
                 parts_out = (size_t)out->dims[out->rank - 1];
    const size_t inner = from.inner / parts_in,
                 used = dft.real_output || (int64_t)from.size > dft.length ? (size_t)dft.length
                                                                           : from.size;
    const size_t row_count = to.outer * to.size * inner;
    ULP_TRY(make_roots(call, to.size, used, dft.length, &roots));
    ULP_CALL_TAKE(int64_t, x_row, call, row_count);
    ULP_CALL_TAKE(int64_t, root_row, call, row_count);
    ULP_CALL_TAKE(int64_t, out_row, call, row_count);
    ULP_CALL_TAKE(int64_t, position, call, used);
    ULP_TRY(ulp_positions_make(call, used, &sign));
    for (size_t r = 0; r < row_count; r++) {
        size_t o = r / (to.size * inner), k = r / inner % to.size, i = r % inner;
        x_row[r] = (int64_t)(o * from.size * from.inner + i * parts_in);
        root_row[r] = (int64_t)(k * used);
        out_row[r] = (int64_t)((o * to.size + k) * to.inner + i * parts_out);
    }
    /* a one-sided spectrum's other half is the conjugate of the first */
    for (size_t n = 0; n < used; n++) {
        bool mirrored = dft.real_output && (int64_t)n > dft.length / 2;
        size_t at = mirrored ? (size_t)dft.length - n : n;
        bool exists = at < from.size;
        position[n] = (int64_t)(exists ? at * from.inner : 0);
        ((int64_t *)sign.data)[n] = mirrored ? -1 : 1;
        if (!exists)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                            "a one-sided spectrum of %zu elements does not give %lld", from.size,
                            (long long)dft.length);
    }
    const struct transform transform = {
        .rows = {.row_count = row_count, .row_length = used},
        .x = in,
        .is_complex = parts_in == 2,
        .inverse = dft.inverse,
        .x_row = x_row,
        .root_row = root_row,
        .out_row = out_row,
        .position = position,
        .sign = dft.real_output ? &sign : NULL,
        .length = dft.length,
        .real_output = dft.real_output,
    };
    return run_transform(call, &transform, &roots);
}

/* ---- STFT ---- */

struct stft {
    bool known;
    int64_t step, length, frames, bins;
};

static enum ulp_status read_stft(const struct ulp_call *call, struct stft *stft)
{
    const struct ulp_tensor *signal = call->in[0], *window = ulp_call_in(call, 2);
    bool step_known, length_known;
    *stft = (struct stft){0};
    if (signal->rank < 2 || signal->rank > 3 ||
        (signal->rank == 3 && (signal->dims[2] < 1 || signal->dims[2] > 2)))
        return ULP_REFUSE(call, "the signal has rank %d: expected batch x length x 1 or 2",
                          signal->rank);
    const int64_t whole = window ? (int64_t)window->count : signal->dims[1];
    ULP_TRY(ulp_call_number(call, "frame_step", 1, &step_known, &stft->step));
    ULP_TRY(ulp_call_number(call, "frame_length", whole, &length_known, &stft->length));
    stft->known = step_known && length_known;
    if (!stft->known)
        return ULP_OK;
    if (stft->step < 1 || stft->length < 1 || stft->length > signal->dims[1] ||
        (window && (int64_t)window->count != stft->length))
        return ULP_REFUSE(call, "frames of %lld every %lld do not fit a signal of %lld",
                          (long long)stft->length, (long long)stft->step,
                          (long long)signal->dims[1]);
    stft->frames = (signal->dims[1] - stft->length) / stft->step + 1;
    stft->bins = ulp_call_int(call, "onesided") ? stft->length / 2 + 1 : stft->length;
    return ULP_OK;
}

static enum ulp_status infer_stft(struct ulp_call *call)
{
    struct stft s;
    ULP_TRY(read_stft(call, &s));
    if (!s.known)
        return ULP_OK;
    return ulp_call_describe(call, 0, call->in[0]->type, 4,
                             (int64_t[]){call->in[0]->dims[0], s.frames, s.bins, 2});
}

static enum ulp_status run_stft(struct ulp_call *call)
{
    const struct ulp_tensor *signal = call->in[0];
    struct stft s;
    struct roots roots;
    int64_t *x_row, *root_row, *out_row, *position;
    ULP_TRY(read_stft(call, &s));
    if (call->out[0].count == 0)
        return ULP_OK;
    const int64_t parts = signal->rank == 3 ? signal->dims[2] : 1;
    const size_t row_count = call->out[0].count / 2;
    ULP_TRY(make_roots(call, (size_t)s.bins, (size_t)s.length, s.length, &roots));
    ULP_TRY(ulp_call_take(call, row_count, sizeof *x_row, &x_row));
    ULP_TRY(ulp_call_take(call, row_count, sizeof *root_row, &root_row));
    ULP_TRY(ulp_move_table(call, &out_row, row_count, 0, 2));
    ULP_TRY(ulp_move_table(call, &position, (size_t)s.length, 0, parts));
    for (size_t r = 0; r < row_count; r++) {
        int64_t k = (int64_t)r % s.bins, frame = (int64_t)r / s.bins % s.frames,
                batch = (int64_t)r / (s.bins * s.frames);
        x_row[r] = (batch * signal->dims[1] + frame * s.step) * parts;
        root_row[r] = k * s.length;
    }
    const struct transform transform = {
        .rows = {.row_count = row_count, .row_length = (size_t)s.length},
        .x = signal,
        .is_complex = parts == 2,
        .x_row = x_row,
        .root_row = root_row,
        .out_row = out_row,
        .position = position,
        .window = ulp_call_in(call, 2),
        .length = s.length,
    };
    return run_transform(call, &transform, &roots);
}

/* ---- MelWeightMatrix: the bands' edges are positions, computed in FP64 in every lane ---- */

static enum ulp_status infer_mel(struct ulp_call *call)
{
    const int64_t type = ulp_call_int(call, "output_datatype");
    for (int i = 0; i < 5; i++)
        if (call->in[i]->count != 1)
            return ULP_REFUSE(call, "input %d has %zu elements: expected 1", i, call->in[i]->count);
        else if (!call->in[i]->data)
            return ULP_OK;
    const int64_t bands = ulp_tensor_get_int(call->in[0], 0),
                  length = ulp_tensor_get_int(call->in[1], 0);
    if (type < 1 || type >= ULP_TYPE_COUNT || bands < 1 || bands > INT32_MAX || length < 1 ||
        length > INT32_MAX)
        return ULP_REFUSE(call, "output_datatype, num_mel_bins or dft_length is out of range");
    return ulp_call_describe(call, 0, (enum ulp_type)type, 2, (int64_t[]){length / 2 + 1, bands});
}

static const struct ulp_formula mel_edges = {"bands dft_length rate low high i", "edge",
                                             "from = 2595 * log1p(low / 700) / log(10); to = "
                                             "2595 * log1p(high / 700) / log(10); "
                                             "mel = i * ((to - from) / (bands + 2)) + from; "
                                             "hertz = 700 * expm1(mel / 2595 * log(10)); "
                                             "floor((dft_length + 1) * hertz / rate)"};

static enum ulp_status find_edges(struct ulp_call *call, size_t count, struct ulp_tensor *edges)
{
    static const char *const names[] = {"bands", "dft_length", "rate", "low", "high"};
    struct ulp_arithmetic exact;
    struct ulp_tensor positions;
    struct ulp_named_operand operands[6];
    ULP_TRY(ulp_arithmetic_find("fp64", &exact, call->error));
    ULP_TRY(ulp_positions_make(call, count, &positions));
    ULP_TRY(ulp_coordinates_make(call, &exact, count, edges));
    for (int i = 0; i < 5; i++)
        operands[i] = (struct ulp_named_operand){names[i], {.tensor = call->in[i]}};
    operands[5] = (struct ulp_named_operand){"i", {.tensor = &positions, .position_stride = 1}};
    const struct ulp_rows rows = {.row_count = 1, .row_length = count};
    const struct ulp_named_operand result = {"edge", {.tensor = edges, .position_stride = 1}};
    return ulp_call_formula(call, &mel_edges, &exact, &rows, 6, operands, 1, &result);
}

static enum ulp_status run_mel(struct ulp_call *call)
{
    struct ulp_tensor *out = &call->out[0], edges, exact;
    const size_t bins = (size_t)out->dims[0], bands = (size_t)out->dims[1];
    ULP_TRY(find_edges(call, bands + 2, &edges));
    ULP_TRY(ulp_tensor_describe(&exact, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 2, out->dims,
                                call->error));
    ULP_TRY(ulp_call_temporary(call, &exact));
    for (size_t b = 0; b < bands; b++) {
        const double left = ulp_tensor_read(&edges, b), centre = ulp_tensor_read(&edges, b + 1),
                     right = ulp_tensor_read(&edges, b + 2);
        for (size_t j = 0; j < bins; j++) {
            const double at = (double)j;
            ((double *)exact.data)[j * bands + b] =
                at >= centre && at < right                   ? (right - at) / (right - centre)
                : at == centre                               ? 1
                : at >= left && at < centre && centre > left ? (at - left) / (centre - left)
                                                             : 0;
        }
    }
    return ulp_call_convert(call, out, &exact);
}

/* clang-format off */
const struct ulp_operator ulp_ops_signal[] = {
    {.name = "DFT", .since = 17, .inputs = "input dft_length:i?", .outputs = "output",
     .attributes = "axis:int=1; inverse:int=0; onesided:int=0", .infer = infer_dft, .run = run_dft,
     .formulas = ULP_FORMULAS(&circle_points)},
    {.name = "DFT", .since = 20, .inputs = "input dft_length:i? axis:i?", .outputs = "output",
     .attributes = "inverse:int=0; onesided:int=0", .infer = infer_dft, .run = run_dft,
     .formulas = ULP_FORMULAS(&circle_points)},
    {.name = "MelWeightMatrix", .since = 17,
     .inputs = "num_mel_bins:i dft_length:i sample_rate:i lower_edge_hertz:p upper_edge_hertz:p",
     .outputs = "output",
     .attributes = "output_datatype:int=1", .infer = infer_mel, .run = run_mel,
     .formulas = ULP_FORMULAS(&mel_edges)},
    {.name = "STFT", .since = 17, .inputs = "signal frame_step:i window? frame_length:i?",
     .outputs = "output",
     .attributes = "onesided:int=1", .infer = infer_stft, .run = run_stft,
     .formulas = ULP_FORMULAS(&circle_points)},
    {0},
};
/* clang-format on */
