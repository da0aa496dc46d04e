/* TensorRT's quantisation operators (domain trt), as ModelOpt writes them into ONNX files.
 *
 * Scales of MXFP8 are UINT8 codes of E8M0, 255 being NaN. The dynamic scale of MXFP8 is rounded up,
 * to the smallest power of two that clips nothing, as ModelOpt rounds those of weights. That of FP4
 * is the block's largest magnitude over 6 and over the scale of the tensor, rounded to E4M3.
 * TensorRT does not publish what it does with NaN and infinities: here they make the scale of their
 * block NaN, as in products of blocks. */
#include "base/error.h"
#include "ops/call.h"
#include "ops/product/quantize_rows.h"

/* input: an index; absent ones pass. */
static enum ulp_status check_type(const struct ulp_call *call, size_t input, enum ulp_type type)
{
    const struct ulp_tensor *in = ulp_call_in(call, input);
    return !in || in->type == type
               ? ULP_OK
               : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                          "%s has type %s; only %s is supported", call->bound->inputs[input].name,
                          ulp_type_name(in->type), ulp_type_name(type));
}

/* To the row's type, which a zero point has, too. */
static enum ulp_status infer_to(struct ulp_call *call)
{
    const enum ulp_type type = (enum ulp_type)call->bound->op->parameter;
    const struct ulp_tensor *x = call->in[0];
    ULP_TRY(check_type(call, 2, type));
    return ulp_call_describe(call, 0, type, x->rank, x->dims);
}

static enum ulp_status infer_from(struct ulp_call *call)
{
    const enum ulp_type type = (enum ulp_type)call->bound->op->parameter;
    ULP_TRY(check_type(call, 0, type));
    ULP_TRY(check_type(call, 2, type));
    return ulp_dequantize_infer(call);
}

static enum ulp_status infer_mxfp8_from(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0];
    enum ulp_type type;
    ULP_TRY(check_type(call, 0, ULP_TYPE_FLOAT8E4M3FN));
    ULP_TRY(check_type(call, 1, ULP_TYPE_UINT8));
    ULP_TRY(check_type(call, 2, ULP_TYPE_FLOAT8E4M3FN));
    ULP_TRY(ulp_quantize_type(call, ULP_TYPE_FLOAT, &type));
    if (!ulp_type_is_float(type))
        return ULP_REFUSE(call, "output_dtype is %s; it must be a type of floats",
                          ulp_type_name(type));
    return ulp_call_describe(call, 0, type, x->rank, x->dims);
}

/* An attribute that names a type of which there is one. */
static enum ulp_status check_named(const struct ulp_call *call, const char *name,
                                   enum ulp_type only)
{
    const int64_t given = ulp_call_int(call, name);
    return given == only ? ULP_OK
                         : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                                    "%s is %lld; only %d (%s) is supported", name, (long long)given,
                                    (int)only, ulp_type_name(only));
}

/* Blocks lie along the last axis, which they fill. */
static enum ulp_status infer_blocks(struct ulp_call *call, enum ulp_type elements,
                                    enum ulp_type scales)
{
    const struct ulp_tensor *x = call->in[0];
    const int64_t block = ulp_call_int(call, "block_size");
    int64_t dims[ULP_RANK_MAX];
    int axis = 0;
    if (!ulp_type_is_float(x->type))
        return ULP_REFUSE(call, "x has type %s; it must be one of floats", ulp_type_name(x->type));
    if (x->rank == 0)
        return ULP_REFUSE(call, "blocks need an axis, and x is a scalar");
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "axis"), x->rank, &axis, call->error));
    const int last = x->rank - 1;
    if (axis != last || block < 1 || x->dims[last] % block != 0)
        return ulp_fail(
            call->error, ULP_ERROR_UNSUPPORTED,
            "blocks of %lld along axis %d of %d: they must fill the last axis, which has "
            "%lld elements",
            (long long)block, axis, x->rank, (long long)x->dims[last]);
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == last ? x->dims[d] / block : x->dims[d];
    ULP_TRY(ulp_call_describe(call, 0, elements, x->rank, x->dims));
    return ulp_call_describe(call, 1, scales, x->rank, dims);
}

static enum ulp_status infer_mxfp8(struct ulp_call *call)
{
    ULP_TRY(check_named(call, "output_dtype", ULP_TYPE_FLOAT8E4M3FN));
    return infer_blocks(call, ULP_TYPE_FLOAT8E4M3FN, ULP_TYPE_UINT8);
}

static enum ulp_status infer_fp4(struct ulp_call *call)
{
    ULP_TRY(check_named(call, "scale_type", ULP_TYPE_FLOAT8E4M3FN));
    if (call->in[1]->count != 1)
        return ULP_REFUSE(call, "scale has %zu elements; the tensor has one", call->in[1]->count);
    return infer_blocks(call, ULP_TYPE_FLOAT4E2M1, ULP_TYPE_FLOAT8E4M3FN);
}

static enum ulp_status rows_blocks(struct ulp_call *call, const struct ulp_layout *layout)
{
    const int64_t block = ulp_call_int(call, "block_size");
    ULP_CALL_TAKE(struct ulp_format, scales, call, 1);
    if (ulp_type_is_float(call->out[1].type)) {
        ULP_TRY(ulp_call_storage(call, call->out[1].type, scales));
        layout->outputs[1].storage = scales;
    }
    *layout->rows = (struct ulp_rows){.row_count = call->in[0]->count / (size_t)block,
                                      .row_length = (size_t)block};
    layout->operands[0].row_stride = layout->outputs[0].row_stride = block;
    layout->operands[0].position_stride = layout->outputs[0].position_stride = 1;
    layout->outputs[1].row_stride = 1;
    return ULP_OK;
}

/* The exponents' logarithms are one off at most, which comparisons of exact powers mend.
 * p: the smallest with 448 * 2^p >= m. */
#define MXFP8                                                                                     \
    "m = row_max(abs(x)); guess = min(max(ceil(log(m / 448) / log(2)), -127), 127); "             \
    "right = 448 * pow(2, guess) < m ? guess + 1 : (448 * pow(2, guess - 1) < m ? guess : guess " \
    "- 1); p = min(max(right, -127), 127); y_scale = m - m == 0 ? p + 127 : 255; "                \
    "min(max(x / (m - m == 0 ? pow(2, p) : inf - inf), -448), 448)"
/* s: m / 6 / scale in E4M3, of 4 bits and at least 2^-9; e: its exponent, that of 2^-6 below. */
#define FP4                                                                                     \
    "m = row_max(abs(x)); exact = m / 6 / scale; guess = floor(log(exact) / log(2)); "          \
    "right = pow(2, guess) > exact ? guess - 1 : (pow(2, guess + 1) > exact ? guess : guess + " \
    "1); unit = pow(2, min(max(right, -6), 8) - 3); s = min(round(exact / unit) * unit, 448); " \
    "y_scale = m - m == 0 ? s : inf - inf; s == 0 ? 0 : min(max(x / (s * scale), -6), 6)"

/* clang-format off */
const struct ulp_operator ulp_ops_tensorrt[] = {
    {.name = "DequantizeLinear", .domain = "trt", .since = 1, ULP_DEQUANTIZE,
     .infer = ulp_dequantize_infer, .attributes = "axis:int=1; block_size:int=0"},
    {.name = "QuantizeLinear", .domain = "trt", .since = 1, ULP_QUANTIZE, .infer = ulp_quantize_infer,
     .attributes = "axis:int=1; block_size:int=0; saturate:int=1"},
    {.name = "TRT_FP4DynamicQuantize", .domain = "trt", .since = 1, .quantizes = true,
     .inputs = "x scale:p", .outputs = "y y_scale",
     .attributes = "axis:int=-1; block_size:int=16; scale_type:int=17",
     .infer = infer_fp4, .rows = rows_blocks, .formula = FP4},
    {.name = "TRT_FP8DequantizeLinear", .domain = "trt", .since = 1, ULP_DEQUANTIZE,
     .parameter = ULP_TYPE_FLOAT8E4M3FN, .infer = infer_from, .attributes = "axis:int=1"},
    {.name = "TRT_FP8QuantizeLinear", .domain = "trt", .since = 1, ULP_QUANTIZE,
     .parameter = ULP_TYPE_FLOAT8E4M3FN, .infer = infer_to, .attributes = "axis:int=1"},
    {.name = "TRT_INT4DequantizeLinear", .domain = "trt", .since = 1, ULP_DEQUANTIZE,
     .parameter = ULP_TYPE_INT4, .infer = infer_from,
     .attributes = "axis:int=1; block_size:int=0"},
    {.name = "TRT_INT4QuantizeLinear", .domain = "trt", .since = 1, ULP_QUANTIZE,
     .parameter = ULP_TYPE_INT4, .infer = infer_to, .attributes = "axis:int=1; block_size:int=0"},
    {.name = "TRT_MXFP8DequantizeLinear", .domain = "trt", .since = 1,
     .inputs = "x:*u x_scale:i x_zero_point:*?=0", .outputs = "y",
     .check = ulp_quantize_check, .rows = ulp_quantize_rows,
     .formula = "(x - x_zero_point) * (x_scale == 255 ? inf - inf : pow(2, x_scale - 127))",
     .infer = infer_mxfp8_from,
     .attributes = "axis:int=-1; block_size:int=32; output_dtype:int=1"},
    {.name = "TRT_MXFP8DynamicQuantize", .domain = "trt", .since = 1, .quantizes = true,
     .inputs = "x", .outputs = "y y_scale",
     .attributes = "axis:int=-1; block_size:int=32; output_dtype:int=17",
     .infer = infer_mxfp8, .rows = rows_blocks, .formula = MXFP8},
    {0},
};
/* clang-format on */
