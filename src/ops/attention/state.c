/* Operators that carry a state along a sequence: LinearAttention, GatedDeltaNet and
 * CausalConvWithState. */
#include <stdio.h>
#include "base/error.h"
#include "base/text/text.h"
#include "ops/attention/attention.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* ---- LinearAttention and GatedDeltaNet: per step the state's update is a formula over rows of
 * keys, and its reading another ---- */

/* Where the heads of a token (or of a batch) lie in a tensor: from `first` on in each `width`. */
struct part {
    const struct ulp_tensor *tensor;
    int64_t heads, first, width;
    bool of_batch;
};

struct linear {
    int64_t batch, steps, heads, out_heads; /* steps: of the longest sequence; heads: of states */
    int64_t key, value;                     /* sizes of a head */
    struct part q, k, v, decay, beta;
    const struct ulp_tensor
        *cumulated;     /* where each batch's tokens begin; NULL: all have `steps` */
    bool values_first;  /* states are batch x head x value x key */
    int64_t *places[7]; /* of a formula's rows */
};

/* Is it batch x steps, as query is, x so many features? */
static bool has_features(const struct ulp_tensor *tensor, const struct ulp_tensor *query,
                         int64_t features)
{
    return tensor->rank == 3 && tensor->dims[0] == query->dims[0] &&
           tensor->dims[1] == query->dims[1] && tensor->dims[2] == features;
}

static struct part whole(const struct ulp_tensor *tensor, int64_t heads, int64_t size)
{
    return (struct part){.tensor = tensor, .heads = heads, .width = heads * size};
}

/* Does update_rule ask for what is given? */
static enum ulp_status check_rule(const struct ulp_call *call, bool gate, bool rate)
{
    const bool both = ulp_call_is(call, "update_rule", "gated_delta"),
               gated = both || ulp_call_is(call, "update_rule", "gated"),
               delta = both || ulp_call_is(call, "update_rule", "delta");
    if (!gated && !delta && !ulp_call_is(call, "update_rule", "linear"))
        return ULP_REFUSE(call, "update_rule %s is unknown",
                          ulp_call_attribute(call, "update_rule")->s);
    return gated == gate && delta == rate
               ? ULP_OK
               : ULP_REFUSE(call, "decay and beta are not those of update_rule=%s",
                            ulp_call_attribute(call, "update_rule")->s);
}

static enum ulp_status read_linear(const struct ulp_call *call, struct linear *l)
{
    const struct ulp_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2],
                            *state = ulp_call_in(call, 3), *decay = ulp_call_in(call, 4),
                            *beta = ulp_call_in(call, 5);
    int64_t q_heads;
    ULP_TRY(ulp_call_int_within(call, "q_num_heads", 1, ULP_HEADS_MAX, &q_heads));
    ULP_TRY(ulp_call_int_within(call, "kv_num_heads", 1, ULP_HEADS_MAX, &l->heads));
    if (q->rank != 3 || k->rank != 3 || v->rank != 3 || q_heads % l->heads != 0)
        return ULP_REFUSE(
            call, "expected query, key and value of rank 3 and heads that divide each other");
    l->batch = q->dims[0];
    l->steps = q->dims[1];
    l->out_heads = q_heads;
    l->key = q->dims[2] / q_heads;
    l->value = v->dims[2] / l->heads;
    const int64_t kv_key = l->heads * l->key, kv_value = l->heads * l->value;
    if (!has_features(q, q, q_heads * l->key) || !has_features(k, q, kv_key) ||
        !has_features(v, q, kv_value) ||
        (state && (int64_t)state->count != ulp_dim_mul(ulp_dim_mul(l->batch, kv_key), l->value)) ||
        (decay && !has_features(decay, q, l->heads) && !has_features(decay, q, kv_key)) ||
        (beta && !has_features(beta, q, l->heads) && !has_features(beta, q, 1)))
        return ULP_REFUSE(call, "the inputs do not fit each other");
    l->q = whole(q, q_heads, l->key);
    l->k = whole(k, l->heads, l->key);
    l->v = whole(v, l->heads, l->value);
    if (decay)
        l->decay = whole(decay, l->heads, decay->dims[2] / l->heads);
    if (beta)
        l->beta = whole(beta, beta->dims[2], 1);
    return check_rule(call, decay, beta);
}

static enum ulp_status infer_linear(struct ulp_call *call)
{
    struct linear l = {0};
    ULP_TRY(read_linear(call, &l));
    const struct ulp_tensor *state = ulp_call_in(call, 3);
    ULP_TRY(ulp_call_describe(call, 0, call->in[0]->type, 3,
                              (int64_t[]){l.batch, l.steps, l.out_heads * l.value}));
    return ulp_call_describe(call, 1, state ? state->type : call->in[0]->type, 4,
                             (int64_t[]){l.batch, l.heads, l.key, l.value});
}

enum { DELTA_STATE = 6, DELTA_LOG = 7, DELTA_BIAS = 8 }; /* inputs of GatedDeltaNet */

/* Query, key and value side by side: the state says their heads and sizes. */
static enum ulp_status split_packed(const struct ulp_call *call, struct linear *l)
{
    const struct ulp_tensor *q = call->in[0], *state = ulp_call_in(call, DELTA_STATE);
    if (!state || state->rank != 4)
        return ULP_REFUSE(call, "packed query, key and value need initial_state");
    l->heads = state->dims[1];
    l->value = state->dims[2];
    l->key = state->dims[3];
    const int64_t width = q->dims[q->rank - 1], keys = (width - l->heads * l->value) / 2,
                  heads = l->key ? keys / l->key : 0;
    if (heads < 1 || 2 * heads * l->key + l->heads * l->value != width)
        return ULP_REFUSE(call, "packed query does not fit initial_state");
    l->q = l->k = l->v = whole(q, heads, l->key);
    l->v.heads = l->heads;
    l->k.first = keys;
    l->v.first = 2 * keys;
    l->q.width = l->k.width = l->v.width = width;
    return ULP_OK;
}

/* A tensor of tokens x heads x features. */
static struct part of_tokens(const struct ulp_tensor *tensor, int64_t tokens, int64_t heads)
{
    return whole(tensor, heads, tokens && heads ? (int64_t)tensor->count / tokens / heads : 0);
}

static enum ulp_status read_delta(const struct ulp_call *call, struct linear *l)
{
    const struct ulp_tensor *q = call->in[0], *k = ulp_call_in(call, 1), *v = ulp_call_in(call, 2),
                            *decay = ulp_call_in(call, 4), *beta = ulp_call_in(call, 5),
                            *state = ulp_call_in(call, DELTA_STATE);
    const int axes = q->rank - (k ? 2 : 1); /* of tokens: 1, or batch and steps */
    const int64_t tokens = axes > 0 ? ulp_product(q->dims, axes) : 0;
    l->values_first = true;
    l->cumulated = ulp_call_in(call, 3);
    if (!k != !v || axes < 1 || axes > 2 || (k && (k->rank != q->rank || v->rank != q->rank)) ||
        (axes == 2 && l->cumulated) || (axes == 1 && !l->cumulated && !state) ||
        (l->cumulated && l->cumulated->rank != 1))
        return ULP_REFUSE(call,
                          "expected query, key and value of tokens x heads x features, or batch x "
                          "positions x heads x features, and cu_seqlens or initial_state");
    if (!k) {
        ULP_TRY(split_packed(call, l));
    } else {
        l->heads = v->dims[axes];
        l->key = q->dims[axes + 1];
        l->value = v->dims[axes + 1];
        l->q = whole(q, q->dims[axes], l->key);
        l->k = whole(k, k->dims[axes], l->key);
        l->v = whole(v, l->heads, l->value);
    }
    l->out_heads = l->heads;
    l->batch = axes == 2 ? q->dims[0] : l->cumulated ? l->cumulated->dims[0] - 1 : state->dims[0];
    l->steps = axes == 2 ? q->dims[1] : l->cumulated || !l->batch ? tokens : tokens / l->batch;
    if (decay)
        l->decay = of_tokens(decay, tokens, l->heads);
    if (beta)
        l->beta = of_tokens(beta, tokens, l->heads);
    const int64_t all = ulp_dim_mul(l->heads * l->value, l->key);
    if (l->q.heads < 1 || l->q.heads != l->k.heads || l->heads % l->q.heads ||
        (k &&
         ((int64_t)k->count != tokens * l->k.width || (int64_t)v->count != tokens * l->v.width)) ||
        (!l->cumulated && l->batch * l->steps != tokens) || l->batch < 0 ||
        (state && (state->rank != 4 || (int64_t)state->count != ulp_dim_mul(l->batch, all))) ||
        (decay && l->decay.width != l->heads && l->decay.width != l->heads * l->key) ||
        (beta && l->beta.width != l->heads))
        return ULP_REFUSE(call, "the inputs do not fit each other");
    return check_rule(call, decay, beta);
}

static enum ulp_status infer_delta(struct ulp_call *call)
{
    struct linear l = {0};
    ULP_TRY(read_delta(call, &l));
    const struct ulp_tensor *q = call->in[0];
    const int axes = q->rank - (ulp_call_in(call, 1) ? 2 : 1);
    int64_t dims[4] = {q->dims[0], q->dims[1]};
    dims[axes] = l.out_heads;
    dims[axes + 1] = l.value;
    ULP_TRY(ulp_call_describe(call, 0, q->type, axes + 2, dims));
    return ulp_call_describe(call, 1, ULP_TYPE_FLOAT, 4,
                             (int64_t[]){l.batch, l.heads, l.value, l.key});
}

static enum ulp_status check_delta(struct ulp_call *call)
{
    const char *gate = ulp_call_attribute(call, "gate_activation")->s,
               *rate = ulp_call_attribute(call, "beta_activation")->s;
    if (ulp_call_int(call, "state_update_capacity"))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "state_update_capacity is not supported");
    return ulp_is_word(gate, "none softplus qwen sigmoid kda") && ulp_is_word(rate, "none sigmoid")
               ? ULP_OK
               : ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                          "gate_activation is %s, beta_activation %s: expected none, softplus or "
                          "sigmoid, and none or sigmoid",
                          gate, rate);
}

/* Of batch b the first token, and how many it has. */
static int64_t first_token(const struct linear *l, int64_t b)
{
    return l->cumulated ? ulp_tensor_get_int(l->cumulated, (size_t)b) : b * l->steps;
}
static bool has_token(const struct linear *l, int64_t b, int64_t t)
{
    return t < first_token(l, b + 1) - first_token(l, b);
}

static enum ulp_status check_tokens(const struct linear *l, const struct ulp_tensor *query,
                                    struct ulp_error *error)
{
    const int64_t tokens = l->q.width ? (int64_t)query->count / l->q.width : 0;
    bool ordered = first_token(l, 0) == 0 && first_token(l, l->batch) == tokens;
    for (int64_t b = 0; b < l->batch; b++)
        ordered = ordered && first_token(l, b) <= first_token(l, b + 1);
    return ordered
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "cu_seqlens does not go from 0 to the %lld tokens", (long long)tokens);
}

/* Rows of a step: (batch, head, value index) of the batches that have a token t. *operand gets
 * where each begins in the part, in that table, a head having `size` elements there and a value
 * index `each`. Returns the number of rows. */
static size_t lay_rows(const struct linear *l, struct part part, int64_t heads, int64_t t,
                       int64_t size, int64_t each, size_t table, struct ulp_operand *operand)
{
    int64_t *places = l->places[table];
    size_t count = 0;
    for (int64_t b = 0; b < l->batch; b++)
        for (int64_t r = 0; r < heads * l->value && has_token(l, b, t); r++)
            places[count++] = (part.of_batch ? b : first_token(l, b) + t) * part.width +
                              part.first + r / l->value / (heads / part.heads) * size +
                              r % l->value * each;
    *operand = (struct ulp_operand){.tensor = part.tensor, .row_offset = places};
    return count;
}

/* What of attributes and inputs GatedDeltaNet alone has. */
struct fused {
    const char *gate, *rate, *key, *query; /* of g, beta, k and q */
    const struct ulp_tensor *log, *bias;
};

static struct fused read_fused(const struct ulp_call *call, const struct linear *l)
{
    struct fused fused = {.gate = "g", .rate = "beta", .key = "k", .query = "q"};
    if (!l->values_first)
        return fused;
    fused.log = ulp_call_in(call, DELTA_LOG);
    fused.bias = ulp_call_in(call, DELTA_BIAS);
    if (ulp_is_word(ulp_call_attribute(call, "gate_activation")->s, "softplus qwen"))
        fused.gate = "-exp(log) * softplus(g + bias)";
    else if (ulp_is_word(ulp_call_attribute(call, "gate_activation")->s, "sigmoid kda"))
        fused.gate = "lower * sigmoid(exp(log) * (g + bias))";
    if (ulp_call_is(call, "beta_activation", "sigmoid"))
        fused.rate = "sigmoid(beta)";
    if (ulp_call_int(call, "qk_l2_norm")) {
        fused.key = "k / sqrt(row_sum(k * k) + 1e-6)";
        fused.query = "q / sqrt(row_sum(q * q) + 1e-6)";
    }
    return fused;
}

static struct part states(const struct linear *l, const struct ulp_tensor *state)
{
    return (struct part){.tensor = state,
                         .heads = l->heads,
                         .width = l->heads * l->value * l->key,
                         .of_batch = true};
}

static enum ulp_status step_state(struct ulp_call *call, const struct linear *l,
                                  const struct ulp_arithmetic *inner, const struct fused *fused,
                                  int64_t t, struct ulp_tensor *state)
{
    const int64_t sizes = l->decay.tensor ? l->decay.width / l->heads : 1,
                  biases = fused->bias ? (int64_t)fused->bias->count / l->heads : 1;
    char text[512], lower[40];
    struct ulp_named_operand operands[] = {
        {"state", {.constant = "0"}}, {"k", {.constant = "0"}},      {"v", {.constant = "0"}},
        {"g", {.constant = "0"}},     {"beta", {.constant = "0"}},   {"log", {.constant = "0"}},
        {"bias", {.constant = "0"}},  {"lower", {.constant = lower}}};
    const struct {
        struct part part;
        int64_t size, each;
    } laid[] = {{states(l, state), l->value * l->key, l->key},
                {l->k, l->key, 0},
                {l->v, l->value, 1},
                {l->decay, sizes, 0},
                {l->beta, 1, 0},
                {{.tensor = fused->log, .heads = l->heads}, 1, 0},
                {{.tensor = fused->bias, .heads = l->heads}, biases, 0}};
    size_t count = 0;
    snprintf(lower, sizeof lower, "%a",
             l->values_first ? (double)ulp_call_attribute(call, "gate_lower_bound")->f : 0.0);
    snprintf(text, sizeof text, "key = %s; kept = %s%s%s; u = %s%s%s; kept + key * u", fused->key,
             l->decay.tensor ? "state * exp(" : "state", l->decay.tensor ? fused->gate : "",
             l->decay.tensor ? ")" : "", l->beta.tensor ? "(" : "v",
             l->beta.tensor ? fused->rate : "",
             l->beta.tensor ? ") * (v - row_sum(kept * key))" : "");
    for (size_t i = 0; i < sizeof laid / sizeof *laid; i++)
        if (laid[i].part.tensor)
            count = lay_rows(l, laid[i].part, l->heads, t, laid[i].size, laid[i].each, i,
                             &operands[i].operand);
    operands[0].operand.position_stride = operands[1].operand.position_stride = 1;
    operands[3].operand.position_stride = sizes > 1;
    operands[6].operand.position_stride = biases > 1;
    const struct ulp_rows rows = {.row_count = count, .row_length = (size_t)l->key};
    return ulp_call_text(call, text, inner, &rows, sizeof operands / sizeof *operands, operands, 1,
                         operands);
}

static enum ulp_status read_state(struct ulp_call *call, const struct linear *l,
                                  const struct fused *fused, int64_t t,
                                  const struct ulp_tensor *state)
{
    const struct ulp_attribute_value *scale = ulp_call_attribute(call, "scale");
    const bool given = scale->present && scale->f != 0;
    char number[40], text[128];
    struct ulp_named_operand operands[3] = {{.name = "q"}, {.name = "state"}, {.name = "number"}},
                             y = {.name = "y"};
    snprintf(number, sizeof number, given ? "%a" : "%.0f",
             given ? (double)scale->f : (double)l->key);
    snprintf(text, sizeof text, "query = %s; %s * row_sum(query * state)", fused->query,
             given ? "number" : "1 / sqrt(number)");
    lay_rows(l, l->q, l->out_heads, t, l->key, 0, 0, &operands[0].operand);
    lay_rows(l, states(l, state), l->out_heads, t, l->value * l->key, l->key, 1,
             &operands[1].operand);
    const size_t count = lay_rows(l, whole(&call->out[0], l->out_heads, l->value), l->out_heads, t,
                                  l->value, 1, 2, &y.operand);
    operands[0].operand.position_stride = operands[1].operand.position_stride = 1;
    operands[2].operand.constant = number;
    const struct ulp_rows rows = {.row_count = count, .row_length = (size_t)l->key};
    return ulp_call_text(call, text, call->arithmetic, &rows, 3, operands, 1, &y);
}

static const struct ulp_formula copy = {"x", "y", "copy(x)"};

/* The state as rows of keys (batch, head, value, key), unrounded, from or to the tensor's, which
 * may be (batch, head, key, value). */
static enum ulp_status turn_state(struct ulp_call *call, const struct linear *l,
                                  const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_tensor *from, struct ulp_tensor *to, bool in)
{
    const int64_t rows_count = l->batch * l->heads * l->value;
    ULP_CALL_TAKE(int64_t, turned, call, (size_t)rows_count);
    for (int64_t r = 0; r < rows_count; r++)
        turned[r] = r / l->value * l->key * l->value + r % l->value;
    const struct ulp_rows rows = {.row_count = (size_t)rows_count, .row_length = (size_t)l->key};
    const struct ulp_operand straight = {.row_stride = l->key, .position_stride = 1};
    const struct ulp_operand across =
        l->values_first ? straight
                        : (struct ulp_operand){.row_offset = turned, .position_stride = l->value};
    struct ulp_named_operand x = {"x", in ? across : straight}, y = {"y", in ? straight : across};
    x.operand.tensor = from;
    x.operand.constant = from ? NULL : "0";
    y.operand.tensor = to;
    return ulp_call_formula(call, &copy, arithmetic, &rows, 1, &x, 1, &y);
}

static enum ulp_status run_linear(struct ulp_call *call)
{
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const bool delta = call->bound->op->parameter;
    struct linear l = {0};
    struct ulp_tensor state;
    ULP_TRY(delta ? read_delta(call, &l) : read_linear(call, &l));
    ULP_TRY(check_tokens(&l, call->in[0], call->error));
    ULP_TRY(ulp_call_temporary_in(call, &state, &inner.storage, 4,
                                  (int64_t[]){l.batch, l.heads, l.value, l.key}));
    if (state.count == 0)
        return ULP_OK;
    const struct fused fused = read_fused(call, &l);
    for (size_t i = 0; i < sizeof l.places / sizeof *l.places; i++)
        ULP_TRY(ulp_call_take(call, (size_t)(l.batch * l.out_heads * l.value), sizeof **l.places,
                              &l.places[i]));
    ULP_TRY(turn_state(call, &l, &inner, ulp_call_in(call, delta ? DELTA_STATE : 3), &state, true));
    for (int64_t t = 0; t < l.steps; t++) {
        ULP_TRY(step_state(call, &l, &inner, &fused, t, &state));
        if (ulp_call_wants(call, 0))
            ULP_TRY(read_state(call, &l, &fused, t, &state));
    }
    return ulp_call_wants(call, 1)
               ? turn_state(call, &l, call->arithmetic, &state, &call->out[1], false)
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

static enum ulp_status infer_causal(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *w = call->in[1], *bias = ulp_call_in(call, 2),
                            *past = ulp_call_in(call, 3);
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1 || (bias && bias->count != (size_t)x->dims[1]) ||
        (past && past->count != (size_t)ulp_dim_mul(x->dims[0] * x->dims[1], past_length(call))))
        return ULP_REFUSE(
            call, "weights, bias or past_state do not fit an input of batch x channels x length");
    ULP_TRY(ulp_call_describe(call, 0, x->type, 3, x->dims));
    return ulp_call_describe(call, 1, x->type, 3,
                             (int64_t[]){x->dims[0], x->dims[1], past_length(call)});
}

static enum ulp_status run_causal(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *w = call->in[1], *past = ulp_call_in(call, 3);
    const int64_t lines = x->dims[0] * x->dims[1], length = x->dims[2], k = w->dims[2],
                  reach = past_length(call), whole = length + reach;
    int64_t *w_batch, *x_batch, *o_batch;
    struct ulp_tensor padded, zero;
    struct ulp_sums sums;
    ULP_TRY(ulp_call_make_here(call, &padded, x->type, 2, (int64_t[]){lines, whole}));
    ULP_TRY(ulp_call_scalar(call, &zero, x->type, 0));
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
    ULP_TRY(ulp_call_take(call, (size_t)lines, sizeof *w_batch, &w_batch));
    ULP_TRY(ulp_move_table(call, &x_batch, (size_t)lines, 0, whole));
    ULP_TRY(ulp_move_table(call, &o_batch, (size_t)lines, 0, length));
    ULP_TRY(ulp_sums_begin(call, x->type, true, &sums));
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
        (struct ulp_product_steps){.a_k = 1, .b_line = 1, .b_k = dilation(call), .column = 1}));
    ULP_TRY(ulp_sums_add(call, &sums, &problem));
    return ulp_sums_end(call, &sums, "--c-");
}

/* What com.microsoft's have beyond ai.onnx's is refused but where it says what ai.onnx's do. */
static enum ulp_status check_state(struct ulp_call *call)
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
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "%s=%lld is not supported",
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
    .infer = infer_linear, .run = run_linear, .formulas = ULP_FORMULAS(&copy)
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
    {.name = "GatedDeltaNet", .domain = "com.microsoft", .since = 1,
     .inputs = "query key? value? cu_seqlens:i? decay:f? beta:f? initial_state:f? a_log:f? "
               "dt_bias:f? capture_count:i? state_update_active:i?",
     .outputs = "output final_state? state_update?", .check = check_delta, .infer = infer_delta,
     .run = run_linear, .parameter = 1, .formulas = ULP_FORMULAS(&copy),
     .attributes = "beta_activation:string=none; chunk_size:int; gate_activation:string=none; "
                   "gate_lower_bound:float=-5; qk_l2_norm:int=0; scale:float=0; "
                   "state_update_capacity:int=0; update_rule:string=gated_delta"},
    {0},
};
/* clang-format on */
