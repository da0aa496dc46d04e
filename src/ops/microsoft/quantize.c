/* Domain com.microsoft: operators on quantised values, as ONNX Runtime's quantiser writes them.
 * Each is the operator of its name between (x - zero) * scale and a rounding: QLinearConv's
 * form. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* ---- scales and zero points: one for the tensor ---- */

/* Every input whose name ends in _scale or _zero_point has one element; low and high are those of
 * output 0. */
static enum ulp_status lay_parameters(struct ulp_call *call, struct ulp_operand *operands)
{
    const struct ulp_bound *bound = call->bound;
    ULP_TRY(ulp_call_set_range(call, operands, call->out[0].type));
    for (size_t i = 0; i < bound->input_slot_count; i++) {
        const char *name = bound->inputs[i].name;
        if (!operands[i].tensor || (!strstr(name, "_scale") && !strstr(name, "_zero_point")))
            continue;
        if (operands[i].tensor->count != 1)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                            "%s has %zu elements: only one for the whole tensor is supported", name,
                            operands[i].tensor->count);
        ULP_TRY(ulp_call_along(call, &operands[i], call->out[0].rank, 0));
    }
    return ULP_OK;
}

static enum ulp_status rows_each(struct ulp_call *call, const struct ulp_layout *layout)
{
    ULP_TRY(lay_parameters(call, layout->operands));
    return ulp_layout_elementwise(layout, call->error);
}

static enum ulp_status infer_two(struct ulp_call *call)
{
    int rank;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(ulp_broadcast_shape(2, (const struct ulp_tensor *[]){call->in[0], call->in[3]}, &rank,
                                dims, call->error));
    return ulp_call_describe(call, 0, call->in[0]->type, rank, dims);
}

/* ---- pooling ---- */

/* The input with channels as axis 1, where windows want them: its shape, and unless `shape_only`
 * its elements. */
static enum ulp_status read_channels_first(struct ulp_call *call, bool shape_only,
                                           struct ulp_tensor *out)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    int perm[ULP_RANK_MAX];
    *out = ulp_tensor_view(in);
    if (!ulp_call_int(call, "channels_last"))
        return ULP_OK;
    if (in->rank < 3)
        return ULP_REFUSE(call, "an input of rank %d: expected at least 3", in->rank);
    for (int d = 0; d < in->rank; d++) {
        perm[d] = d == 0 ? 0 : d == 1 ? in->rank - 1 : d - 1;
        dims[d] = in->dims[perm[d]];
    }
    ULP_TRY(ulp_tensor_describe(out, in->type, in->element, in->precision, in->rank, dims,
                                call->error));
    if (shape_only)
        return ULP_OK;
    ULP_TRY(ulp_call_temporary(call, out));
    return ulp_move_permuted(call, out, in, in->rank, in->dims, perm);
}

static enum ulp_status infer_pool(struct ulp_call *call)
{
    /* the axes of windows come from here on */
    const int last = ulp_call_int(call, "channels_last") ? 1 : 2;
    struct ulp_tensor in;
    struct ulp_windows w;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_channels_first(call, true, &in));
    ULP_TRY(ulp_windows_read(call, &in, NULL, &w));
    dims[0] = in.dims[0];
    dims[last == 1 ? in.rank - 1 : 1] = in.dims[1];
    memcpy(dims + last, w.out, (size_t)w.rank * sizeof *dims);
    return ulp_call_describe(call, 0, in.type, in.rank, dims);
}

/* Rows are (image, channel, place); with channels last they lie in the output at (image, place,
 * channel). */
static enum ulp_status place_rows(struct ulp_call *call, const struct ulp_tensor *in,
                                  size_t row_count, struct ulp_operand *output)
{
    const int64_t channels = in->dims[1], places = (int64_t)row_count / (in->dims[0] * channels);
    ULP_CALL_TAKE(int64_t, row, call, row_count);
    for (int64_t r = 0; r < (int64_t)row_count; r++)
        row[r] = (r / (channels * places) * places + r % places) * channels + r / places % channels;
    output->row_offset = row;
    return ULP_OK;
}

static enum ulp_status rows_pool(struct ulp_call *call, const struct ulp_layout *layout)
{
    struct ulp_windows w;
    ULP_CALL_TAKE(struct ulp_tensor, in, call, 1);
    ULP_TRY(read_channels_first(call, false, in));
    ULP_TRY(ulp_windows_read(call, in, NULL, &w));
    if (!in->count)
        return ULP_REFUSE(call, "the input is empty");
    ULP_TRY(lay_parameters(call, layout->operands));
    const struct ulp_window_shape shape = ulp_windows_shape(in, &w);
    ULP_CALL_SAY(area, call, "%lld", (long long)ulp_product(w.kernel, w.rank));
    layout->operands[call->bound->input_slot_count + call->bound->attribute_count] =
        (struct ulp_operand){.constant = area};
    layout->operands[0].tensor = in;
    ULP_TRY(ulp_layout_window(layout, &shape, call->error));
    return ulp_call_int(call, "channels_last")
               ? place_rows(call, in, layout->rows->row_count, &layout->outputs[0])
               : ULP_OK;
}

static enum ulp_status infer_global(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    if (!ulp_call_int(call, "channels_last"))
        return ulp_infer_global(call);
    for (int d = 0; d < in->rank; d++)
        dims[d] = d == 0 || d == in->rank - 1 ? in->dims[d] : 1;
    return ulp_call_describe(call, 0, in->type, in->rank, dims);
}

static enum ulp_status rows_reduced(struct ulp_call *call, const struct ulp_layout *layout,
                                    const bool *reduced)
{
    ULP_TRY(lay_parameters(call, layout->operands));
    return ulp_layout_reduce(layout, call->in[0]->rank, call->in[0]->dims, reduced, call->error);
}

static enum ulp_status rows_global(struct ulp_call *call, const struct ulp_layout *layout)
{
    const int last = ulp_call_int(call, "channels_last") ? call->in[0]->rank - 1 : 1;
    bool reduced[ULP_RANK_MAX];
    for (int d = 0; d < call->in[0]->rank; d++)
        reduced[d] = d != 0 && d != last;
    return rows_reduced(call, layout, reduced);
}

/* The attribute opset is that of the Softmax it stands for: before 13 everything from the axis on
 * is one row. */
static enum ulp_status rows_softmax(struct ulp_call *call, const struct ulp_layout *layout)
{
    const bool flat = ulp_call_int(call, "opset") < 13;
    const struct ulp_attribute_value *given = ulp_call_attribute(call, "axis");
    bool reduced[ULP_RANK_MAX] = {false};
    int axis;
    ULP_TRY(ulp_call_axis(given->present ? given->i
                          : flat         ? 1
                                         : -1,
                          call->in[0]->rank, &axis, call->error));
    for (int d = 0; d < call->in[0]->rank; d++)
        reduced[d] = flat ? d >= axis : d == axis;
    return rows_reduced(call, layout, reduced);
}

/* ---- QLinearConcat: y_scale, y_zero_point, then tensor, scale and zero point of each part ---- */

static enum ulp_status infer_concat(struct ulp_call *call)
{
    const struct ulp_tensor *first = call->input_count > 2 ? call->in[2] : NULL;
    int64_t dims[ULP_RANK_MAX];
    int axis;
    if (!first || call->input_count % 3 != 2)
        return ULP_REFUSE(call,
                          "%zu inputs: expected y_scale, y_zero_point, then three for each tensor",
                          call->input_count);
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "axis"), first->rank, &axis, call->error));
    memcpy(dims, first->dims, sizeof dims);
    for (size_t i = 0; i < call->input_count; i++)
        if ((i < 2 || i % 3 != 2) && call->in[i]->count != 1)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                            "input %zu, a scale or zero point, has %zu elements: expected one", i,
                            call->in[i]->count);
    for (size_t i = 5; i < call->input_count; i += 3) {
        bool fits = call->in[i] && call->in[i]->rank == first->rank;
        for (int d = 0; fits && d < first->rank; d++)
            fits = d == axis || call->in[i]->dims[d] == first->dims[d];
        if (!fits)
            return ULP_REFUSE(call, "input %zu does not fit the first tensor's shape", i);
        dims[axis] += call->in[i]->dims[axis];
    }
    return ulp_call_describe(call, 0, call->in[1]->type, first->rank, dims);
}

static const struct ulp_formula requantized = {
    "x x_scale x_zero_point y_scale y_zero_point low high", "y",
    "q = round((x - x_zero_point) * x_scale / y_scale) + y_zero_point; min(max(q, low), high)"};

static enum ulp_status run_concat(struct ulp_call *call)
{
    struct ulp_tensor *out = &call->out[0];
    int axis;
    size_t done = 0;
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "axis"), out->rank, &axis, call->error));
    if (out->count == 0)
        return ULP_OK;
    const struct ulp_split whole = ulp_split_at(out, axis);
    const bool is_signed = out->type == ULP_TYPE_INT8;
    for (size_t i = 2; i < call->input_count; i += 3) {
        const struct ulp_tensor *in = call->in[i];
        const size_t run = (size_t)in->dims[axis] * whole.inner;
        const struct ulp_tensor part = ulp_tensor_view_from(out, done);
        done += run;
        const struct ulp_rows rows = {.row_count = whole.outer, .row_length = run};
        const struct ulp_named_operand operands[] =
            {
                {"x", {.tensor = in, .row_stride = (int64_t)run, .position_stride = 1}},
                {"x_scale", {.tensor = call->in[i + 1]}},
                {"x_zero_point", {.tensor = call->in[i + 2]}},
                {"y_scale", {.tensor = call->in[0]}},
                {"y_zero_point", {.tensor = call->in[1]}},
                {"low", {.constant = is_signed ? "-128" : "0"}},
                {"high", {.constant = is_signed ? "127" : "255"}},
            },
                                       result = {"y",
                                                 {.tensor = &part,
                                                  .row_stride = (int64_t)(whole.size * whole.inner),
                                                  .position_stride = 1}};
        if (in->count)
            ULP_TRY(ulp_call_formula(call, &requantized, call->arithmetic, &rows,
                                     sizeof operands / sizeof *operands, operands, 1, &result));
    }
    return ULP_OK;
}

/* ---- products of integers with a float result ---- */

static enum ulp_status infer_to_float(struct ulp_call *call)
{
    return ulp_matmul_infer(call, call->in[0], call->in[1], call->in[2]->type);
}
static enum ulp_status run_to_float(struct ulp_call *call)
{
    return ulp_integer_sums(call, (const struct ulp_tensor *[]){call->in[0], call->in[1]},
                            (const struct ulp_tensor *[]){ulp_call_in(call, 4),
                                                          ulp_call_in(call, 5)},
                            ULP_PRODUCT_MATMUL, "--rb--b");
}

/* ---- DynamicQuantizeMatMul: DynamicQuantizeLinear of a, then the same ---- */

static enum ulp_status infer_dynamic_matmul(struct ulp_call *call)
{
    return ulp_matmul_infer(call, call->in[0], call->in[1], call->in[0]->type);
}

static enum ulp_status run_dynamic_matmul(struct ulp_call *call)
{
    const struct ulp_tensor *a = call->in[0], **in;
    struct ulp_tensor values, scale, zero;
    ULP_TRY(ulp_quantize_dynamic(call, a, &values, &scale, &zero));
    ULP_TRY(ulp_call_take(call, call->input_count, sizeof *in, &in));
    memcpy(in, call->in, call->input_count * sizeof *in);
    in[0] = &scale; /* what the epilogue calls a */
    struct ulp_call product = *call;
    product.in = in;
    return ulp_integer_sums(&product, (const struct ulp_tensor *[]){&values, call->in[1]},
                            (const struct ulp_tensor *[]){&zero, ulp_call_in(call, 3)},
                            ULP_PRODUCT_MATMUL, "b-b-b");
}

/* ---- QGemm: quantised again where y_scale and y_zero_point are given ---- */

static enum ulp_status infer_gemm(struct ulp_call *call)
{
    const struct ulp_tensor *zero = ulp_call_in(call, 8);
    return ulp_gemm_infer(call, call->in[0], call->in[3], zero ? zero->type : call->in[1]->type);
}
static enum ulp_status run_gemm(struct ulp_call *call)
{
    return ulp_integer_sums(call, (const struct ulp_tensor *[]){call->in[0], call->in[3]},
                            (const struct ulp_tensor *[]){call->in[2], call->in[5]},
                            ULP_PRODUCT_GEMM, "-b--b-bbb");
}

#define Q .domain = "com.microsoft", .since = 1, .quantizes = true
#define UNARY "x:i x_scale:p x_zero_point:i?=0 y_scale:p y_zero_point:i?=0"
#define BINARY \
    "a:i a_scale:p a_zero_point:i?=0 b:i b_scale:p b_zero_point:i?=0 y_scale:p y_zero_point:i?=0"
#define POOL                                                                                  \
    "auto_pad:string=NOTSET; ceil_mode:int=0; channels_last:int=0; count_include_pad:int=0; " \
    "kernel_shape:!ints; pads:ints; strides:ints"
#define REQUANTIZE(value) "q = round((" value ") / y_scale) + y_zero_point; min(max(q, low), high)"
#define GEMM                                                                            \
    .outputs = "y", .attributes = "alpha:float=1; transA:int=0; transB:int=0",          \
    .infer = infer_gemm, .run = run_gemm, .work = ULP_WORK_CONTRACTION, .weights = "b", \
    .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED
#define FACTORS "a:i a_scale:p a_zero_point:i b:i b_scale:p b_zero_point:i c:i?=0"
#define X "(x - x_zero_point) * x_scale"
/* No attributes of a model. raise: 128 where ONNX Runtime has made bytes of a Q/DQ graph unsigned,
 * whose zero points are so much higher (integer_form.c). What is added before rounding decides
 * ties. rectified: a Relu is behind it (of requant=). */
#define RAISE "raise:float=0"
#define JOINED RAISE "; rectified:int=0"
#define RAISED(value) \
    "q = round(" value " + (y_zero_point + raise)) - raise; min(max(q, low), high)"

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_quantize[] = {
    {.name = "DynamicQuantizeMatMul", Q, .inputs = "a b:i b_scale:p b_zero_point:i? bias?=-0",
     .outputs = "y",
     .infer = infer_dynamic_matmul, .run = run_dynamic_matmul, .work = ULP_WORK_CONTRACTION,
     .weights = "b", .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED,
     .formulas = ULP_FORMULAS(&ulp_quantized_dynamic),
     .epilogue = "acc * (a * b_scale) + bias"},
    {.name = "MatMulIntegerToFloat", Q,
     .inputs = "a:i b:i a_scale:p b_scale:p a_zero_point:i? b_zero_point:i? bias?=-0",
     .outputs = "y",
     .infer = infer_to_float, .run = run_to_float, .work = ULP_WORK_CONTRACTION, .weights = "b",
     .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED, .epilogue = "acc * (a_scale * b_scale) + bias"},
    {.name = "QGemm", Q, .when = "inputs=9", .inputs = FACTORS " y_scale:p y_zero_point:i", GEMM,
     .derived = "low high",
     .epilogue = "q = round((acc + c) * (alpha * a_scale * b_scale / y_scale)) + y_zero_point; "
                 "min(max(q, low), high)"},
    {.name = "QGemm", Q, .inputs = FACTORS, GEMM,
     .epilogue = "(acc + c) * (alpha * a_scale * b_scale)"},
    {.name = "QLinearAdd", Q, .inputs = BINARY, .outputs = "y", .attributes = JOINED,
     .derived = "low high",
     .infer = infer_two,
     .rows = rows_each,
     .formula = "u = a_scale / y_scale; v = b_scale / y_scale; k = (y_zero_point + raise) - (u * "
                "(a_zero_point + raise) + v * (b_zero_point + raise)); q = round(fma(a + raise, u, "
                "fma(b + raise, v, k))) - raise; min(max(q, low), high)"},
    {.name = "QLinearAveragePool", Q, .when = "count_include_pad=0", .inputs = UNARY,
     .outputs = "y",
     .attributes = POOL "; " RAISE,
     .derived = "area low high", .infer = infer_pool, .rows = rows_pool,
     .formula = RAISED("row_mean(" X ") / y_scale")},
    {.name = "QLinearAveragePool", Q, .when = "count_include_pad=1", .inputs = UNARY,
     .outputs = "y",
     .attributes = POOL "; " RAISE,
     .derived = "area low high", .infer = infer_pool, .rows = rows_pool,
     .formula = RAISED("row_sum(" X ") / area / y_scale")},
    {.name = "QLinearConcat", Q, .inputs = "y_scale:p y_zero_point:i x:**", .outputs = "y",
     .attributes = "axis:!int",
     .infer = infer_concat, .run = run_concat, .formulas = ULP_FORMULAS(&requantized)},
    {.name = "QLinearGlobalAveragePool", Q, .inputs = UNARY, .outputs = "y",
     .attributes = "channels_last:int=0; " RAISE,
     .derived = "low high", .infer = infer_global, .rows = rows_global,
     .formula = "q = round(row_sum(x - x_zero_point) * (x_scale / (y_scale * row_size()))) + "
                "y_zero_point; min(max(q, low), high)"},
    {.name = "QLinearLeakyRelu", Q, .inputs = UNARY, .outputs = "y",
     .attributes = "alpha:float=0.01",
     .derived = "low high",
     .infer = ulp_infer_first, .rows = rows_each, .formula = "v = " X "; " REQUANTIZE("v < 0 ? "
                                        "alpha * v : v")},
    {.name = "QLinearMul", Q, .inputs = BINARY, .outputs = "y", .attributes = JOINED,
     .derived = "low high",
     .infer = infer_two,
     .rows = rows_each,
     .formula =
         RAISED("(a - a_zero_point) * (b - b_zero_point) * (a_scale * b_scale / y_scale)")},
    {.name = "QLinearSigmoid", Q, .inputs = UNARY, .outputs = "y", .derived = "low high",
     .infer = ulp_infer_first,
     .rows = rows_each,
     .formula = REQUANTIZE("sigmoid(" X ")")},
    {.name = "QLinearSoftmax", Q, .inputs = UNARY, .outputs = "y",
     .attributes = "axis:int; opset:!int; " RAISE,
     .derived = "low high",
     .infer = ulp_infer_first, .rows = rows_softmax,
     /* whole multiples of 1 / y_scale without its fraction, halves up */
     .formula = "e = exp((x - row_max(x)) * x_scale); q = floor(e / row_sum(e) * "
                "floor(1 / y_scale) + 0.5) + y_zero_point; min(max(q, low), high)"},
    {0},
};
/* clang-format on */
