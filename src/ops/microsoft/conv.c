/* Domain com.microsoft: Conv with an activation (FusedConv), and with channels as the last axis
 * (NhwcConv, QLinearConv), which is Conv between two transpositions. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"

enum conv { FUSED, NHWC, QUANTIZED };

/* NhwcConv: weights too are M x kernel x C / group. QLinearConv's channels_last leaves them M x C /
 * group x kernel. */
static bool is_turned(const struct ulp_call *call, size_t input)
{
    const enum conv kind = (enum conv)call->bound->op->parameter;
    return kind == NHWC || (kind == QUANTIZED && ulp_call_int(call, "channels_last") && input == 0);
}

/* in with its last axis as axis 1 (or, `back`, the reverse) into the described *out; shape_only: no
 * elements. */
static enum ulp_status turn(struct ulp_call *call, const struct ulp_tensor *in, bool back,
                            bool shape_only, struct ulp_tensor *out)
{
    const int rank = in->rank;
    int perm[ULP_RANK_MAX];
    if (rank < 3)
        return ULP_REFUSE(call, "an input of rank %d: expected at least 3", rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d == 0 ? 0 : back ? (d == rank - 1 ? 1 : d + 1) : d == 1 ? rank - 1 : d - 1;
    if (back && !shape_only)
        return ulp_move_permuted(call, out, in, rank, in->dims, perm);
    return ulp_move_transposed(call, out, in, perm, shape_only);
}

/* Input and weights, channels first. */
static enum ulp_status read_factors(struct ulp_call *call, bool shape_only,
                                    struct ulp_tensor factors[2])
{
    const bool quantized = call->bound->op->parameter == QUANTIZED;
    for (int i = 0; i < 2; i++) {
        const size_t input = i == 0 ? 0 : quantized ? 3 : 1;
        factors[i] = ulp_tensor_view(call->in[input]);
        if (is_turned(call, input))
            ULP_TRY(turn(call, call->in[input], false, shape_only, &factors[i]));
    }
    return ULP_OK;
}

static enum ulp_status infer_conv(struct ulp_call *call)
{
    const enum ulp_type type = call->in[call->bound->op->parameter == QUANTIZED ? 7 : 0]->type;
    struct ulp_tensor factors[2], turned;
    ULP_TRY(read_factors(call, true, factors));
    ULP_TRY(ulp_conv_infer(call, &factors[0], &factors[1], type));
    if (!is_turned(call, 0))
        return ULP_OK;
    ULP_TRY(turn(call, &call->out[0], true, true, &turned));
    return ulp_call_describe(call, 0, type, turned.rank, turned.dims);
}

static enum ulp_status run_channels_first(struct ulp_call *call, const struct ulp_tensor factors[2])
{
    const enum conv kind = (enum conv)call->bound->op->parameter;
    struct ulp_sums sums;
    if (kind == QUANTIZED)
        return ulp_integer_sums(call, (const struct ulp_tensor *[]){&factors[0], &factors[1]},
                                (const struct ulp_tensor *[]){ulp_call_in(call, 2),
                                                              ulp_call_in(call, 5)},
                                ULP_PRODUCT_CONV, "-b--c-bbc");
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, kind == FUSED || ulp_call_in(call, 2), &sums));
    if (kind == FUSED)
        ULP_TRY(ulp_sums_begin_with(call, 3, 1, &sums));
    ULP_TRY(ulp_conv_sums(call, &factors[0], &factors[1], &sums));
    return ulp_sums_end(call, &sums, kind == FUSED ? "--cb" : "--c");
}

static enum ulp_status run_conv(struct ulp_call *call)
{
    struct ulp_tensor factors[2], out;
    ULP_TRY(read_factors(call, false, factors));
    if (!is_turned(call, 0))
        return run_channels_first(call, factors);
    ULP_TRY(turn(call, &call->out[0], false, true, &out));
    ULP_TRY(ulp_call_temporary(call, &out));
    struct ulp_call inner = *call;
    inner.out = &out;
    ULP_TRY(run_channels_first(&inner, factors));
    return turn(call, &out, true, false, &call->out[0]);
}

/* The row without `when` is for nodes without an activation; the others need their parameters. */
static enum ulp_status check_activation(struct ulp_call *call)
{
    const struct ulp_operator *op = call->bound->op;
    const struct ulp_attribute_value *name = ulp_call_attribute(call, "activation"),
                                     *given = ulp_call_attribute(call, "activation_params");
    const size_t needed = !op->derived ? 0 : strchr(op->derived, ' ') ? 2 : 1;
    if (!op->when && name->present && *name->s)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "activation %.40s is not supported: Clip, HardSigmoid, LeakyRelu, Relu, "
                        "Sigmoid and Tanh are",
                        name->s);
    if (given->count < needed)
        return ULP_REFUSE(call, "activation_params has %zu entries: expected %zu", given->count,
                          needed);
    return ULP_OK;
}

#define MS .domain = "com.microsoft", .since = 1
#define GEOMETRY                                                                          \
    "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; pads:ints; " \
    "strides:ints"
#define CONV                                                                            \
    .outputs = "y", .infer = infer_conv, .run = run_conv, .work = ULP_WORK_CONTRACTION, \
    .weights = "w"
#define FUSED_CONV                                                                           \
    .name = "FusedConv", MS, CONV, .inputs = "x:m w bias:m?=-0 z:m?=-0", .parameter = FUSED, \
    .check = check_activation,                                                               \
    .attributes = "activation:string; activation_params:floats; " GEOMETRY
#define SUM "acc + bias + z"

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_conv[] = {
    {FUSED_CONV, .when = "activation=Clip", .derived = "parameter0 parameter1",
     .epilogue = "min(max(" SUM ", parameter0), parameter1)"},
    {FUSED_CONV, .when = "activation=HardSigmoid", .derived = "parameter0 parameter1",
     .epilogue = "max(0, min(1, parameter0 * (" SUM ") + parameter1))"},
    {FUSED_CONV, .when = "activation=LeakyRelu", .derived = "parameter0",
     .epilogue = "v = " SUM "; v < 0 ? parameter0 * v : v"},
    {FUSED_CONV, .when = "activation=Relu", .epilogue = "max(" SUM ", 0)"},
    {FUSED_CONV, .when = "activation=Sigmoid", .epilogue = "sigmoid(" SUM ")"},
    {FUSED_CONV, .when = "activation=Tanh", .epilogue = "tanh(" SUM ")"},
    {FUSED_CONV, .epilogue = SUM},
    {.name = "NhwcConv", MS, CONV, .inputs = "x:m w bias:m?=-0", .attributes = GEOMETRY,
     .parameter = NHWC,
     .epilogue = "acc + bias"},
    {.name = "QLinearConv", MS, .quantizes = true, .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED, CONV, .parameter = QUANTIZED,
     .inputs = "x:i x_scale:p x_zero_point:i w:i w_scale:p w_zero_point:i y_scale:p "
               "y_zero_point:i bias:i?=0",
     .attributes = "channels_last:int=0; " GEOMETRY, .derived = "low high",
     .epilogue = "q = round((acc + bias) * (x_scale * w_scale / y_scale)) + y_zero_point; "
                 "min(max(q, low), high)"},
    {0},
};
/* clang-format on */
