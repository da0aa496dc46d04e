/* What quantisation operators share: scales of tensors, axes and blocks laid over the elements. */
#pragma once

#include "ops/call.h"

/* Operands 1 and 2 are scale and zero point: one for the tensor, for each index of the axis, or for
 * each block along it. */
enum ulp_status ulp_quantize_rows(struct ulp_call *call, const struct ulp_layout *layout);
/* block_size, where the row has it: 0, there are no blocks, or more. */
enum ulp_status ulp_quantize_check(struct ulp_call *call);
/* The type that output_dtype names; 0 or absent: `fallback`. */
enum ulp_status ulp_quantize_type(const struct ulp_call *call, enum ulp_type fallback,
                                  enum ulp_type *out);
/* The result has the zero point's type, or the one that output_dtype names. */
enum ulp_status ulp_quantize_infer(struct ulp_call *call);
/* The result has the type of the scale, unless output_dtype names one. */
enum ulp_status ulp_dequantize_infer(struct ulp_call *call);

/* The axis of a product's second factor, of that rank, along which it has its output channels
 * (transposed: Gemm's transB); -1: it has none. */
int ulp_output_channels(const char *op, int rank, bool transposed);

/* Rows of ULP_QUANTIZE, and of ULP_DEQUANTIZE and its like. */
static inline bool ulp_is_quantizer(const struct ulp_operator *op)
{
    return op->rows == ulp_quantize_rows && op->quantizes;
}
static inline bool ulp_is_dequantizer(const struct ulp_operator *op)
{
    return op->rows == ulp_quantize_rows && !op->quantizes;
}

#define ULP_QUANTIZE                                                                       \
    .quantizes = true, .inputs = "x:* y_scale:p y_zero_point:*?=0", .outputs = "y",        \
    .check = ulp_quantize_check, .rows = ulp_quantize_rows, .derived = "integer low high", \
    .formula =                                                                             \
        "r = x / y_scale; q = (integer ? round(r) : r) + y_zero_point; min(max(q, low), high)"
#define ULP_DEQUANTIZE                                                                         \
    .inputs = "x:*u x_scale:p x_zero_point:*?=0", .outputs = "y", .check = ulp_quantize_check, \
    .rows = ulp_quantize_rows, .formula = "(x - x_zero_point) * x_scale"
