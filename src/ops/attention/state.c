/* Operators that carry a state along a sequence: LinearAttention and CausalConvWithState. */
#include <stdio.h>
#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"

/* ---- LinearAttention: per step the state's update is a formula over rows of keys, and its reading
 * another ---- */

struct linear {
    int64_t batch, steps, q_heads, kv_heads, key, value; /* key and value: sizes of a head */
};

/* Is it batch x steps, as query is, x so many features? */
static bool has_features(const struct ulp_tensor *tensor, const struct ulp_tensor *query,
                         int64_t features)
{
    return tensor->rank == 3 && tensor->dims[0] == query->dims[0] &&
           tensor->dims[1] == query->dims[1] && tensor->dims[2] == features;
}

static enum ulp_status read_linear(const struct ulp_call *call, struct linear *l,
                                   struct ulp_error *error)
{
    const struct ulp_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2],
                            *state = ulp_call_in(call, 3), *decay = ulp_call_in(call, 4),
                            *beta = ulp_call_in(call, 5);
    ULP_TRY(ulp_call_int_within(call, "q_num_heads", 1, ULP_HEADS_MAX, &l->q_heads, error));
    ULP_TRY(ulp_call_int_within(call, "kv_num_heads", 1, ULP_HEADS_MAX, &l->kv_heads, error));
    if (q->rank != 3 || k->rank != 3 || v->rank != 3 || l->q_heads % l->kv_heads != 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "expected query, key and value of rank 3 and heads that divide each other");
    l->batch = q->dims[0];
    l->steps = q->dims[1];
    l->key = q->dims[2] / l->q_heads;
    l->value = v->dims[2] / l->kv_heads;
    const int64_t kv_key = l->kv_heads * l->key, kv_value = l->kv_heads * l->value;
    bool fits =
        has_features(q, q, l->q_heads * l->key) && has_features(k, q, kv_key) &&
        has_features(v, q, kv_value) &&
        (!state || (int64_t)state->count == ulp_dim_mul(ulp_dim_mul(l->batch, kv_key), l->value)) &&
        (!decay || has_features(decay, q, l->kv_heads) || has_features(decay, q, kv_key)) &&
        (!beta || has_features(beta, q, l->kv_heads) || has_features(beta, q, 1));
    bool gated = ulp_call_is(call, "update_rule", "gated") ||
                 ulp_call_is(call, "update_rule", "gated_delta");
    bool delta = ulp_call_is(call, "update_rule", "delta") ||
                 ulp_call_is(call, "update_rule", "gated_delta");
    if (!gated && !delta && !ulp_call_is(call, "update_rule", "linear"))
        return ulp_fail(error, ULP_ERROR_INPUT, "update_rule %s is unknown",
                        ulp_call_attribute(call, "update_rule")->s);
    return fits && gated == (decay != NULL) && delta == (beta != NULL)
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "the inputs do not fit each other or update_rule");
}

static enum ulp_status infer_linear(struct ulp_call *call, struct ulp_error *error)
{
    struct linear l = {0};
    ULP_TRY(read_linear(call, &l, error));
    const struct ulp_tensor *state = ulp_call_in(call, 3);
    ULP_TRY(ulp_call_describe(call, 0, call->in[0]->type, 3,
                              (int64_t[]){l.batch, l.steps, l.q_heads * l.value}, error));
    return ulp_call_describe(call, 1, state ? state->type : call->in[0]->type, 4,
                             (int64_t[]){l.batch, l.kv_heads, l.key, l.value}, error);
}

/* Offsets at step t of (batch, head, value index) rows into a packed tensor of `width` features:
 * head * head_step + value * value_step. */
static void row_offsets(int64_t *out, const struct linear *l, int64_t heads, int64_t t,
                        int64_t width, int64_t head_step, int64_t value_step)
{
    for (int64_t r = 0; r < l->batch * heads * l->value; r++) {
        int64_t b = r / (heads * l->value), h = r / l->value % heads, m = r % l->value;
        out[r] = (b * l->steps + t) * width + h * head_step + m * value_step;
    }
}

static enum ulp_status step_state(struct ulp_call *call, const struct linear *l,
                                  const struct ulp_arithmetic *inner, int64_t t, int64_t *tables[4],
                                  struct ulp_tensor *state, struct ulp_error *error)
{
    const struct ulp_tensor *decay = ulp_call_in(call, 4), *beta = ulp_call_in(call, 5);
    const bool per_key = decay && decay->dims[2] == l->kv_heads * l->key && l->key != 1;
    char text[256];
    row_offsets(tables[0], l, l->kv_heads, t, l->kv_heads * l->key, l->key, 0);
    row_offsets(tables[1], l, l->kv_heads, t, l->kv_heads * l->value, l->value, 1);
    if (decay)
        row_offsets(tables[2], l, l->kv_heads, t, decay->dims[2], per_key ? l->key : 1, 0);
    if (beta)
        row_offsets(tables[3], l, l->kv_heads, t, beta->dims[2], beta->dims[2] == 1 ? 0 : 1, 0);
    snprintf(text, sizeof text, "kept = %s; u = %s; kept + k * u",
             decay ? "state * exp(g)" : "state", beta ? "beta * (v - row_sum(kept * k))" : "v");
    const struct ulp_rows rows = {.row_count = (size_t)(l->batch * l->kv_heads * l->value),
                                  .row_length = (size_t)l->key};
    const struct ulp_named_operand operands[] = {
        {"state", {.tensor = state, .row_stride = l->key, .position_stride = 1}},
        {"k", {.tensor = call->in[1], .row_offset = tables[0], .position_stride = 1}},
        {"v", {.tensor = call->in[2], .row_offset = tables[1]}},
        {"g",
         {.tensor = decay,
          .constant = decay ? NULL : "0",
          .row_offset = tables[2],
          .position_stride = per_key}},
        {"beta", {.tensor = beta, .constant = beta ? NULL : "0", .row_offset = tables[3]}},
    };
    return ulp_call_text(call, text, inner, &rows, 5, operands, 1, operands, error);
}

static const struct ulp_formula read_scaled = {"q state number", "y",
                                               "number * row_sum(q * state)"},
                                read_by_size = {"q state number", "y",
                                                "1 / sqrt(number) * row_sum(q * state)"};

static enum ulp_status read_state(struct ulp_call *call, const struct linear *l, int64_t t,
                                  int64_t *tables[4], const struct ulp_tensor *state,
                                  struct ulp_error *error)
{
    const int64_t repeat = l->q_heads / l->kv_heads;
    const struct ulp_attribute_value *scale = ulp_call_attribute(call, "scale");
    const bool given = scale->present && scale->f != 0;
    char number[40];
    snprintf(number, sizeof number, given ? "%a" : "%.0f",
             given ? (double)scale->f : (double)l->key);
    row_offsets(tables[0], l, l->q_heads, t, l->q_heads * l->key, l->key, 0);
    row_offsets(tables[1], l, l->q_heads, t, l->q_heads * l->value, l->value, 1);
    for (int64_t r = 0; r < l->batch * l->q_heads * l->value; r++) {
        int64_t b = r / (l->q_heads * l->value), h = r / l->value % l->q_heads / repeat;
        tables[2][r] = ((b * l->kv_heads + h) * l->value + r % l->value) * l->key;
    }
    const struct ulp_rows rows = {.row_count = (size_t)(l->batch * l->q_heads * l->value),
                                  .row_length = (size_t)l->key};
    const struct ulp_named_operand operands[] = {
        {"q", {.tensor = call->in[0], .row_offset = tables[0], .position_stride = 1}},
        {"state", {.tensor = state, .row_offset = tables[2], .position_stride = 1}},
        {"number", {.constant = number}},
    };
    const struct ulp_named_operand result = {"y",
                                             {.tensor = &call->out[0], .row_offset = tables[1]}};
    return ulp_call_formula(call, given ? &read_scaled : &read_by_size, call->arithmetic, &rows, 3,
                            operands, 1, &result, error);
}

static const struct ulp_formula copy = {"x", "y", "copy(x)"};

/* The state as rows of keys (batch, head, value, key), unrounded, from or to the tensor's (batch,
 * head, key, value). */
static enum ulp_status turn_state(struct ulp_call *call, const struct linear *l,
                                  const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_tensor *from, struct ulp_tensor *to, bool in,
                                  struct ulp_error *error)
{
    const int64_t rows_count = l->batch * l->kv_heads * l->value;
    int64_t *turned;
    ULP_TRY(ulp_call_take(call, (size_t)rows_count, sizeof *turned, &turned, error));
    for (int64_t r = 0; r < rows_count; r++)
        turned[r] = r / l->value * l->key * l->value + r % l->value;
    const struct ulp_rows rows = {.row_count = (size_t)rows_count, .row_length = (size_t)l->key};
    struct ulp_operand straight = {.row_stride = l->key, .position_stride = 1};
    struct ulp_operand across = {.row_offset = turned, .position_stride = l->value};
    struct ulp_named_operand x = {"x", in ? across : straight}, y = {"y", in ? straight : across};
    x.operand.tensor = from;
    x.operand.constant = from ? NULL : "0";
    y.operand.tensor = to;
    return ulp_call_formula(call, &copy, arithmetic, &rows, 1, &x, 1, &y, error);
}

static enum ulp_status run_linear(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    struct linear l = {0};
    struct ulp_tensor state;
    int64_t *tables[4];
    ULP_TRY(read_linear(call, &l, error));
    ULP_TRY(ulp_call_temporary_in(call, &state, &inner.storage, 4,
                                  (int64_t[]){l.batch, l.kv_heads, l.value, l.key}, error));
    for (int i = 0; i < 4; i++)
        ULP_TRY(ulp_call_take(call, (size_t)(l.batch * l.q_heads * l.value), sizeof *tables[i],
                              &tables[i], error));
    if (state.count == 0)
        return ULP_OK;
    ULP_TRY(turn_state(call, &l, &inner, ulp_call_in(call, 3), &state, true, error));
    for (int64_t t = 0; t < l.steps; t++) {
        ULP_TRY(step_state(call, &l, &inner, t, tables, &state, error));
        if (ulp_call_wants(call, 0))
            ULP_TRY(read_state(call, &l, t, tables, &state, error));
    }
    return ulp_call_wants(call, 1)
               ? turn_state(call, &l, call->arithmetic, &state, &call->out[1], false, error)
               : ULP_OK;
}

/* ---- CausalConvWithState: each channel's own kernel over the past state and the input ---- */

static int64_t dilation(const struct ulp_call *call)
{
    const struct ulp_attribute_value *given = ulp_call_attribute(call, "dilation");
    return given->present && given->i > 1 ? given->i : 1;
}

/* How many positions before it the kernel's first product lies. */
static int64_t past_length(const struct ulp_call *call)
{
    return ulp_dim_mul(call->in[1]->dims[2] - 1, dilation(call));
}

static enum ulp_status infer_causal(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *x = call->in[0], *w = call->in[1], *bias = ulp_call_in(call, 2),
                            *past = ulp_call_in(call, 3);
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1 || (bias && bias->count != (size_t)x->dims[1]) ||
        (past && past->count != (size_t)ulp_dim_mul(x->dims[0] * x->dims[1], past_length(call))))
        return ulp_fail(
            error, ULP_ERROR_INPUT,
            "weights, bias or past_state do not fit an input of batch x channels x length");
    ULP_TRY(ulp_call_describe(call, 0, x->type, 3, x->dims, error));
    return ulp_call_describe(call, 1, x->type, 3,
                             (int64_t[]){x->dims[0], x->dims[1], past_length(call)}, error);
}

static enum ulp_status run_causal(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *x = call->in[0], *w = call->in[1], *past = ulp_call_in(call, 3);
    const int64_t lines = x->dims[0] * x->dims[1], length = x->dims[2], k = w->dims[2],
                  reach = past_length(call), whole = length + reach;
    int64_t *w_batch, *x_batch, *o_batch;
    struct ulp_tensor padded, zero;
    struct ulp_sums sums;
    ULP_TRY(ulp_call_make_here(call, &padded, x->type, 2, (int64_t[]){lines, whole}, error));
    ULP_TRY(ulp_call_scalar(call, &zero, x->type, 0, error));
    for (int64_t i = 0; i < lines; i++) {
        if (past && reach > 0)
            ulp_move_run(&padded, (size_t)(i * whole), past, (size_t)(i * reach), (size_t)reach);
        else
            ulp_move_fill(&padded, (size_t)(i * whole), (size_t)reach, zero.data);
        ulp_move_run(&padded, (size_t)(i * whole + reach), x, (size_t)(i * length), (size_t)length);
        if (ulp_call_wants(call, 1))
            ulp_move_run(&call->out[1], (size_t)(i * reach), &padded, (size_t)(i * whole + length),
                         (size_t)reach);
    }
    if (!ulp_call_wants(call, 0) || call->out[0].count == 0)
        return ULP_OK;
    ULP_TRY(ulp_call_take(call, (size_t)lines, sizeof *w_batch, &w_batch, error));
    ULP_TRY(ulp_move_table(call, &x_batch, (size_t)lines, 0, whole, error));
    ULP_TRY(ulp_move_table(call, &o_batch, (size_t)lines, 0, length, error));
    ULP_TRY(ulp_sums_begin(call, x->type, true, &sums, error));
    for (int64_t i = 0; i < lines; i++)
        w_batch[i] = i % x->dims[1] * k;
    struct ulp_contraction problem = {
        .batch_count = (size_t)lines,
        .m = 1,
        .n = (size_t)length,
        .k = (size_t)k,
        .a = {.tensor = w, .batch_offset = w_batch},
        .b = {.tensor = &padded, .batch_offset = x_batch},
        .out_batch_offset = o_batch,
    };
    ULP_TRY(ulp_product_lay(
        call, &problem,
        (struct ulp_product_steps){.a_k = 1, .b_line = 1, .b_k = dilation(call), .column = 1},
        error));
    ULP_TRY(ulp_sums_add(call, &sums, &problem, error));
    return ulp_sums_end(call, &sums, "--c-", error);
}

/* What com.microsoft's have beyond ai.onnx's is refused but where it says what ai.onnx's do. */
static enum ulp_status check_state(struct ulp_call *call, struct ulp_error *error)
{
    static const struct {
        const char *name;
        int64_t plain;
    } options[] = {{"ndim", 1},
                   {"channels_last", 0},
                   {"state_window", 0},
                   {"input_channels", 0},
                   {"input_channel_offset", 0},
                   {"state_length", 0},
                   {"state_update_capacity", 0}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct ulp_attribute_value *given = ulp_call_attribute(call, options[i].name);
        if (given->present && given->i != options[i].plain)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s=%lld is not supported",
                            options[i].name, (long long)given->i);
    }
    return ULP_OK;
}

#define CAUSAL                                                                        \
    .inputs = "input weight bias?=-0 past_state?", .outputs = "output present_state", \
    .infer = infer_causal, .run = run_causal, .work = ULP_WORK_CONTRACTION, .weights = "weight"
#define ACTIVATION "activation:string=none"
#define MS_CAUSAL                                                                              \
    .domain = "com.microsoft", .since = 1, CAUSAL, .check = check_state,                       \
    .attributes =                                                                              \
        ACTIVATION "; channels_last:int; dilation:int; input_channel_offset:int; "             \
                   "input_channels:int; ndim:int; state_channels_last:int; state_length:int; " \
                   "state_update_capacity:int; state_window:int"
#define LINEAR                                                                                 \
    .inputs = "query key value past_state:f? decay? beta?", .outputs = "output present_state", \
    .infer = infer_linear, .run = run_linear,                                                  \
    .formulas = ULP_FORMULAS(&read_scaled, &read_by_size, &copy)
#define RULE                                                                  \
    "chunk_size:int=64; kv_num_heads:!int; q_num_heads:!int; scale:float=0; " \
    "update_rule:string=gated_delta"
#define SILU "y = acc + bias; y * sigmoid(y)"

/* clang-format off */
const struct ulp_operator ulp_ops_state[] = {
    {.name = "CausalConvWithState", .since = 27, .when = "activation=none", CAUSAL,
     .attributes = ACTIVATION, .epilogue = "acc + bias"},
    {.name = "CausalConvWithState", .since = 27, .when = "activation=silu", CAUSAL,
     .attributes = ACTIVATION, .epilogue = SILU},
    {.name = "CausalConvWithState", .since = 27, .when = "activation=swish", CAUSAL,
     .attributes = ACTIVATION, .epilogue = SILU},
    {.name = "CausalConvWithState", .when = "activation=none", MS_CAUSAL, .epilogue = "acc + bias"},
    {.name = "CausalConvWithState", .when = "activation=silu", MS_CAUSAL, .epilogue = SILU},
    {.name = "CausalConvWithState", .when = "activation=swish", MS_CAUSAL, .epilogue = SILU},
    {.name = "LinearAttention", .since = 27, LINEAR, .attributes = RULE},
    {.name = "LinearAttention", .domain = "com.microsoft", .since = 1, LINEAR,
     .attributes = RULE "; state_window:int", .check = check_state},
    {0},
};
/* clang-format on */
