/* Domain com.microsoft: steps around linear attention and between streams of residuals, each one
 * formula. */

#include "base/error.h"
#include "ops/infer.h"

static void lay_rows(const struct ulp_call *call, const struct ulp_layout *layout, int64_t count,
                     int64_t length)
{
    *layout->rows = (struct ulp_rows){.row_count = (size_t)count, .row_length = (size_t)length};
    for (size_t i = 0; i < call->bound->input_slot_count; i++)
        if (layout->operands[i].tensor)
            layout->operands[i] = (struct ulp_operand){.tensor = layout->operands[i].tensor,
                                                       .row_stride = length,
                                                       .position_stride = 1};
    layout->outputs[0] = (struct ulp_operand){.tensor = layout->outputs[0].tensor,
                                              .row_stride = length,
                                              .position_stride = 1};
}

/* Rows of as many elements as a branch or a head has; scale goes on with the next row where it has
 * more than a row's. */
static enum ulp_status rows_branch(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *in = call->in[0], *scale = ulp_call_input(call, "scale");
    const bool branches = call->bound->op->parameter;
    const int64_t last = in->rank ? in->dims[in->rank - 1] : 1,
                  parts = branches ? ulp_call_int(call, "num_branches") : 0,
                  given = scale ? (int64_t)scale->count : last,
                  length = !branches   ? given
                           : parts > 0 ? last / parts
                                       : last;
    if (length < 1 || last % length || given % length || (parts > 0 && last % parts))
        return ULP_REFUSE(call, "scale has %lld elements for rows of %lld", (long long)given,
                          (long long)last);
    const int64_t count = (int64_t)in->count / length;
    ULP_CALL_TAKE(int64_t, places, call, (size_t)count + 1);
    for (int64_t r = 0; r < count; r++)
        places[r] = r % (given / length) * length;
    lay_rows(call, layout, count, length);
    if (scale)
        layout->operands[ulp_call_input_index(call, "scale")] =
            (struct ulp_operand){.tensor = scale, .row_offset = places, .position_stride = 1};
    return ULP_OK;
}

/* One row; the number that multiplies is scale or, without it, alpha. */
static enum ulp_status rows_scaled(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *scale = ulp_call_input(call, "scale");
    if (scale && scale->count != 1)
        return ULP_REFUSE(call, "scale has %zu elements: expected 1", scale->count);
    ULP_CALL_SAY(alpha, call, "%a", (double)ulp_call_attribute(call, "alpha")->f);
    lay_rows(call, layout, 1, (int64_t)call->in[0]->count);
    layout->operands[ulp_call_input_index(call, "scale")] =
        (struct ulp_operand){.tensor = scale, .constant = scale ? NULL : alpha};
    return ULP_OK;
}

static enum ulp_status check_gated_add(struct ulp_call *call)
{
    const struct ulp_node *node = call->bound->node;
    return node->input_count < 4 || node->inputs[3] < 0
               ? ULP_OK
               : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "gate_weight is not supported");
}

/* clang-format off */
#define MS .domain = "com.microsoft", .since = 1
#define RMS "x / sqrt(row_mean(x * x) + epsilon)"
#define GATED MS, .inputs = "x scale gate", .outputs = "y", .infer = ulp_infer_first, .rows = rows_branch, \
    .attributes = "activation:string=silu; epsilon:float=1e-5"
const struct ulp_operator ulp_ops_microsoft_gates[] = {
    {.name = "BranchwiseRMSNorm", MS, .inputs = "x scale:f?=1", .outputs = "y",
     .infer = ulp_infer_first, .rows = rows_branch, .parameter = 1,
     .attributes = "epsilon:float=1e-5; num_branches:int=0", .formula = RMS " * scale"},
    {.name = "GatedAdd", MS, .inputs = "x y gate gate_weight?=0", .outputs = "output",
     .infer = ulp_infer_first, .check = check_gated_add, .formula = "x + y * gate"},
    {.name = "GatedRMSNorm", GATED, .when = "activation=silu",
     .formula = RMS " * scale * (gate * sigmoid(gate))"},
    {.name = "GatedRMSNorm", GATED, .when = "activation=swish",
     .formula = RMS " * scale * (gate * sigmoid(gate))"},
    {.name = "GatedRMSNorm", GATED, .when = "activation=sigmoid",
     .formula = RMS " * scale * sigmoid(gate)"},
    {.name = "LinearAttentionGate", MS, .inputs = "a dt_bias:f decay_scale:f b?=0",
     .outputs = "decay beta?", .infer = ulp_infer_first,
     .formula = "beta = sigmoid(b); decay_scale * softplus(a + dt_bias)"},
    {.name = "ScaledSiLU", MS, .inputs = "x scale:f?=1", .outputs = "y", .infer = ulp_infer_first,
     .rows = rows_scaled, .attributes = "alpha:float=1", .formula = "z = scale * x; z * sigmoid(z)"},
    {0},
};
/* clang-format on */
