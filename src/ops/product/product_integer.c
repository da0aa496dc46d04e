/* MatMul, Gemm and Conv as an INT8 kernel computes them: the quantised values' sum, exact in INT32,
 * an INT32 bias added to it, then one multiplication by the product of the scales. With the
 * QuantizeLinear that follows, the scales are one factor x_scale * w_scale / y_scale and the result
 * is rounded once; a bias that is a float is divided by y_scale and added before. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, INTEGER_BIAS, BIAS, Y_SCALE, Y_ZERO };

static enum ulp_status infer_integer(struct ulp_call *call)
{
    const struct ulp_tensor *zero = ulp_call_in(call, Y_ZERO), *x = call->in[X], *w = call->in[W];
    const enum ulp_type type = call->input_count <= Y_SCALE ? ULP_TYPE_FLOAT
                               : zero                       ? zero->type
                                                            : ULP_TYPE_UINT8;
    switch (call->bound->op->parameter) {
    case ULP_PRODUCT_CONV: return ulp_conv_infer(call, x, w, type);
    case ULP_PRODUCT_GEMM: return ulp_gemm_infer(call, x, w, type);
    default: return ulp_matmul_infer(call, x, w, type);
    }
}

static enum ulp_status run_integer(struct ulp_call *call)
{
    const enum ulp_product product = (enum ulp_product)call->bound->op->parameter;
    const bool conv = product == ULP_PRODUCT_CONV;
    const struct ulp_tensor *bias = ulp_call_in(call, INTEGER_BIAS);
    struct ulp_tensor biased;
    struct ulp_sums sums;
    ULP_TRY(ulp_integer_product(call, (const struct ulp_tensor *[]){call->in[X], call->in[W]},
                                (const struct ulp_tensor *[]){ulp_call_in(call, X_ZERO),
                                                              ulp_call_in(call, W_ZERO)},
                                product, true, &sums));
    if (bias) {
        ULP_TRY(ulp_integer_combine(call, &biased, "x + zero", &sums.acc, bias,
                                    conv ? 1 : sums.acc.rank - 1));
        sums.acc = biased;
    }
    return ulp_sums_end(call, &sums, conv ? "-b--c--cbb" : "-b--b--bbb");
}

#define FACTORS \
    "x:i x_scale:p x_zero_point:i?=0 w:i w_scale:p w_zero_point:i?=0 integer_bias:i?=0 bias:f?=-0"
#define CONV_ATTRIBUTES                                                                   \
    "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; pads:ints; " \
    "strides:ints; "
#define GEMM_ATTRIBUTES "alpha:float=1; beta:float=1; transA:int=0; transB:int=0; "
#define QUANTIZED "q = round(acc * (x_scale * w_scale / y_scale) + bias / y_scale) + y_zero_point; "
#define ROW(op, kind, texts)                                                                    \
    {                                                                                           \
        .name = op, .since = 1, .outputs = "y", .attributes = texts, .infer = infer_integer,    \
        .run = run_integer, .work = ULP_WORK_CONTRACTION, .weights = "w", .integer_sums = true, \
        .pairs = ULP_PAIRS_ANY, .parameter = kind
#define ENDS(op, kind, texts)                                                                   \
    [3 * kind + ULP_INTEGER_FLOAT] = ROW(op, kind, texts "rectified:int=0"), .inputs = FACTORS, \
                .epilogue = "acc * (x_scale * w_scale) + bias"                                  \
    }                                                                                           \
    , [3 * kind + ULP_INTEGER_QUANTIZED] = ROW(op, kind, texts "rectified:int=0"),              \
                  .inputs = FACTORS " y_scale:p y_zero_point:i?=0", .derived = "low high",      \
                  .epilogue = QUANTIZED "min(max(q, low), high)"                                \
    }                                                                                           \
    , [3 * kind + ULP_INTEGER_RELU] = ROW(op, kind, texts "rectified:int=1"),                   \
                  .inputs = FACTORS " y_scale:p y_zero_point:i?=0", .derived = "low high",      \
                  .epilogue = QUANTIZED "min(max(max(q, y_zero_point), low), high)"             \
    }

/* clang-format off */
static const struct ulp_operator rows[] = {
    ENDS("Conv", ULP_PRODUCT_CONV, CONV_ATTRIBUTES), ENDS("MatMul", ULP_PRODUCT_MATMUL, ""),
    ENDS("Gemm", ULP_PRODUCT_GEMM, GEMM_ATTRIBUTES),
};
/* clang-format on */

const struct ulp_operator *ulp_operator_integer(const char *op_type, enum ulp_integer_end end)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r += 3)
        if (strcmp(rows[r].name, op_type) == 0)
            return &rows[r + end];
    return NULL;
}
