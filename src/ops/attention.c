/* Attention: two contractions around a softmax, which is a formula over rows. As in a fused kernel, scores are not rounded
 * to storage; probabilities are, as factors of the second product. And RotaryEmbedding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/move.h"

/* ---- shapes ---- */

/* Where element (batch, head, position, feature) of a 4-D (heads first) or 3-D (heads packed in the features) tensor lies. */
struct heads {
    int64_t batch, heads, length, size;
    int64_t batch_step, head_step, step;
};

static enum ulp_status read_heads(const struct ulp_call *call, const struct ulp_tensor *t, const char *attribute, struct heads *out,
                                  struct ulp_error *error)
{
    if (t->rank == 4) {
        *out = (struct heads){t->dims[0], t->dims[1], t->dims[2], t->dims[3], t->dims[1] * t->dims[2] * t->dims[3],
                              t->dims[2] * t->dims[3], t->dims[3]};
        return ULP_OK;
    }
    int64_t heads = ulp_call_int(call, attribute);
    if (!heads)
        heads = ulp_call_int(call, "num_heads"); /* MultiHeadAttention has one for all */
    if (t->rank != 3 || heads < 1 || t->dims[2] % heads != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "an input of rank %d and %lld heads (%s): expected rank 4, or 3 and heads that divide "
                        "its last axis", t->rank, (long long)heads, attribute);
    int64_t size = t->dims[2] / heads;
    *out = (struct heads){t->dims[0], heads, t->dims[1], size, t->dims[1] * t->dims[2], size, t->dims[2]};
    return ULP_OK;
}

struct attention {
    struct heads q, k, v;       /* k and v with the past in front, when there is one */
    int64_t past, total;        /* positions of the past; of all keys */
    struct ulp_tensor keys, values;
};

static enum ulp_status read_attention(const struct ulp_call *call, struct attention *a, struct ulp_error *error)
{
    const struct ulp_tensor *past_key = ulp_call_input(call, "past_key"), *past_value = ulp_call_input(call, "past_value");
    enum ulp_status status = read_heads(call, call->in[0], "q_num_heads", &a->q, error);
    if (status == ULP_OK)
        status = read_heads(call, call->in[1], "kv_num_heads", &a->k, error);
    if (status == ULP_OK)
        status = read_heads(call, call->in[2], "kv_num_heads", &a->v, error);
    if (status != ULP_OK)
        return status;
    a->past = past_key && past_key->rank == 4 ? past_key->dims[2] : 0;
    a->total = a->past + a->k.length;
    bool fits = a->q.batch == a->k.batch && a->k.batch == a->v.batch && a->k.heads == a->v.heads && a->k.length == a->v.length &&
                a->q.size == a->k.size && a->k.heads > 0 && a->q.heads % a->k.heads == 0 && !past_key == !past_value &&
                (!past_key || (past_key->count == (size_t)(a->k.batch * a->k.heads * a->past * a->k.size) &&
                               past_value->count == (size_t)(a->v.batch * a->v.heads * a->past * a->v.size)));
    return fits ? ULP_OK : ulp_fail(error, ULP_ERROR_INPUT, "the shapes of query, key, value and past do not fit each other");
}

static enum ulp_status infer_attention(struct ulp_call *call, struct ulp_error *error)
{
    struct attention a;
    enum ulp_status status = read_attention(call, &a, error);
    if (status != ULP_OK)
        return status;
    const enum ulp_type type = call->in[0]->type;
    const int64_t y4[] = {a.q.batch, a.q.heads, a.q.length, a.v.size}, y3[] = {a.q.batch, a.q.length, a.q.heads * a.v.size};
    const int64_t key[] = {a.k.batch, a.k.heads, a.total, a.k.size}, value[] = {a.v.batch, a.v.heads, a.total, a.v.size};
    const int64_t scores[] = {a.q.batch, a.q.heads, a.q.length, a.total};
    const bool packed = call->in[0]->rank == 3;
    if ((status = ulp_call_describe(call, 0, type, packed ? 3 : 4, packed ? y3 : y4, error)) != ULP_OK ||
        (status = ulp_call_describe(call, 1, type, 4, key, error)) != ULP_OK ||
        (status = ulp_call_describe(call, 2, type, 4, value, error)) != ULP_OK)
        return status;
    return ulp_call_describe(call, 3, type, 4, scores, error);
}

/* ---- past and present ---- */

/* Past and new positions as one tensor of batch x heads x total x size: the present output, or a temporary. */
static enum ulp_status join_past(struct ulp_call *call, const struct ulp_tensor *past, const struct ulp_tensor *now, struct heads *h,
                                 int64_t past_length, size_t output, struct ulp_tensor *out, struct ulp_error *error)
{
    const int64_t total = past_length + h->length, dims[] = {h->batch, h->heads, total, h->size};
    enum ulp_status status = ULP_OK;
    if (!past && !ulp_call_wants(call, output)) {
        *out = ulp_tensor_view(now);
        return ULP_OK;
    }
    if (ulp_call_wants(call, output))
        *out = ulp_tensor_view(&call->out[output]);
    else if ((status = ulp_call_describe_tensor(call, out, now->type, 4, dims, error)) == ULP_OK)
        status = ulp_call_temporary(call, out, error);
    for (int64_t i = 0; status == ULP_OK && i < h->batch * h->heads * total && h->size; i++) {
        int64_t row = i / total, at = i % total;
        int64_t from = row / h->heads * h->batch_step + row % h->heads * h->head_step + (at - past_length) * h->step;
        memcpy(ulp_element_at(out, (size_t)(i * h->size)),
               at < past_length ? ulp_element_at(past, (size_t)((row * past_length + at) * h->size)) : ulp_element_at(now, (size_t)from),
               (size_t)h->size * out->element_bytes);
    }
    *h = (struct heads){h->batch, h->heads, total, h->size, h->heads * total * h->size, total * h->size, h->size};
    return status;
}

/* ---- which keys a query sees ---- */

/* Index of (batch, head, query, key) in a mask that broadcasts to them; -1 where its last axis is too short. */
static int64_t mask_index(const struct ulp_tensor *mask, const int64_t place[4])
{
    int64_t index = 0, stride = 1;
    for (int d = mask->rank - 1; d >= 0; d--) {
        int64_t at = place[4 - mask->rank + d], size = mask->dims[d];
        if (d == mask->rank - 1 ? at >= size && size != 1 : size != 1 && at >= size)
            return -1;
        index += size == 1 && d != mask->rank - 1 ? 0 : (at < size ? at : 0) * stride;
        stride *= size;
    }
    return index;
}

/* allowed[b, h, i, j] as BOOL; of a float mask only -inf counts here. */
static enum ulp_status make_allowed(struct ulp_call *call, const struct attention *a, struct ulp_tensor *allowed,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *mask = ulp_call_in(call, 3), *lengths = ulp_call_input(call, "nonpad_kv_seqlen");
    const struct ulp_attribute_value *left = ulp_call_attribute(call, "left_window_size"),
                                     *right = ulp_call_attribute(call, "right_window_size");
    const bool causal = ulp_call_int(call, "is_causal") || ulp_call_int(call, "unidirectional");
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, a->total};
    enum ulp_status status = ulp_tensor_describe(allowed, ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 0, 4, dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, allowed, error);
    if (status == ULP_OK && mask && mask->rank > 4)
        return ulp_fail(error, ULP_ERROR_INPUT, "the mask has rank %d: expected at most 4", mask->rank);
    if (status == ULP_OK && lengths && lengths->count != (size_t)a->q.batch)
        return ulp_fail(error, ULP_ERROR_INPUT, "nonpad_kv_seqlen has %zu entries", lengths->count);
    for (size_t n = 0; status == ULP_OK && n < allowed->count; n++) {
        int64_t place[4], rest = (int64_t)n;
        for (int d = 3; d >= 0; d--) {
            place[d] = rest % dims[d];
            rest /= dims[d];
        }
        int64_t length = lengths ? ulp_tensor_get_int(lengths, (size_t)place[0]) : a->total;
        int64_t at = place[2] + (lengths ? length - a->q.length : a->past), key = place[3];
        bool sees = key < length && (!causal || key <= at) && (!left->present || left->i < 0 || at - key <= left->i) &&
                    (!right->present || right->i < 0 || key - at <= right->i);
        int64_t index = mask ? mask_index(mask, place) : 0;
        if (mask && sees)
            sees = index >= 0 && (mask->type == ULP_TYPE_BOOL ? ulp_tensor_get_int(mask, (size_t)index) != 0
                                                               : !(ulp_tensor_get(mask, (size_t)index) == -HUGE_VAL));
        ((uint8_t *)allowed->data)[n] = sees;
    }
    return status;
}

/* The additive mask's place for every row, as an operand; a bool mask or none: 0. */
static enum ulp_status lay_bias(struct ulp_call *call, const struct attention *a, struct ulp_operand *out, struct ulp_error *error)
{
    const struct ulp_tensor *mask = ulp_call_in(call, 3);
    *out = (struct ulp_operand){.constant = "0"};
    if (!mask || mask->type == ULP_TYPE_BOOL || !mask->count)
        return ULP_OK;
    const int64_t rows = a->q.batch * a->q.heads * a->q.length, keys = mask->rank ? mask->dims[mask->rank - 1] : 1;
    int64_t *row, *column;
    enum ulp_status status = ulp_call_take(call, (size_t)rows, sizeof *row, &row, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, (size_t)a->total, sizeof *column, &column, error);
    for (int64_t r = 0; status == ULP_OK && r < rows; r++) {
        const int64_t place[4] = {r / (a->q.heads * a->q.length), r / a->q.length % a->q.heads, r % a->q.length, 0};
        row[r] = mask_index(mask, place);
        if (row[r] < 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "the mask does not broadcast to the scores");
    }
    for (int64_t j = 0; status == ULP_OK && j < a->total; j++)
        column[j] = j < keys ? j : 0; /* what lies beyond is not allowed */
    *out = (struct ulp_operand){.tensor = mask, .row_offset = row, .position_offset = column};
    return status;
}

/* ---- the two products ---- */

/* out[b, h, i, j] = sum over c of a(b, h, i, c) * b(b, h / repeat, j, c); the steps say where. */
struct product {
    const struct ulp_tensor *a, *b;
    struct heads a_heads, b_heads;
    int64_t b_line_step, b_k_step, n, k;
    struct ulp_tensor *out;
    struct heads out_heads;
    bool store;
};

static enum ulp_status multiply(struct ulp_call *call, const struct product *p, struct ulp_error *error)
{
    const int64_t batches = p->a_heads.batch * p->a_heads.heads, m = p->a_heads.length;
    const int64_t repeat = p->a_heads.heads / p->b_heads.heads;
    int64_t *a_batch, *b_batch, *o_batch, *a_line, *a_k, *b_line, *b_k, *row, *column;
    enum ulp_status status;
    if ((status = ulp_call_take(call, (size_t)batches, sizeof *a_batch, &a_batch, error)) != ULP_OK ||
        (status = ulp_call_take(call, (size_t)batches, sizeof *b_batch, &b_batch, error)) != ULP_OK ||
        (status = ulp_call_take(call, (size_t)batches, sizeof *o_batch, &o_batch, error)) != ULP_OK ||
        (status = ulp_move_table(call, &a_line, (size_t)m, 0, p->a_heads.step, error)) != ULP_OK ||
        (status = ulp_move_table(call, &a_k, (size_t)p->k, 0, 1, error)) != ULP_OK ||
        (status = ulp_move_table(call, &b_line, (size_t)p->n, 0, p->b_line_step, error)) != ULP_OK ||
        (status = ulp_move_table(call, &b_k, (size_t)p->k, 0, p->b_k_step, error)) != ULP_OK ||
        (status = ulp_move_table(call, &row, (size_t)m, 0, p->out_heads.step, error)) != ULP_OK ||
        (status = ulp_move_table(call, &column, (size_t)p->n, 0, 1, error)) != ULP_OK)
        return status;
    for (int64_t g = 0; g < batches; g++) {
        int64_t b = g / p->a_heads.heads, h = g % p->a_heads.heads;
        a_batch[g] = b * p->a_heads.batch_step + h * p->a_heads.head_step;
        b_batch[g] = b * p->b_heads.batch_step + h / repeat * p->b_heads.head_step;
        o_batch[g] = b * p->out_heads.batch_step + h * p->out_heads.head_step;
    }
    const struct ulp_contraction problem = {
        .batch_count = (size_t)batches, .m = (size_t)m, .n = (size_t)p->n, .k = (size_t)p->k, .out = p->out, .store = p->store,
        .a = {.tensor = p->a, .batch_offset = a_batch, .line_offset = a_line, .k_offset = a_k},
        .b = {.tensor = p->b, .batch_offset = b_batch, .line_offset = b_line, .k_offset = b_k},
        .out_batch_offset = o_batch, .out_row_offset = row, .out_column_offset = column,
    };
    return ulp_contract(call->arithmetic, &problem, call->pool, error);
}

/* Rows are queries, positions keys. A query that sees no key has only zeros. */
static enum ulp_status softmax_scores(struct ulp_call *call, const struct attention *a, const struct ulp_tensor *acc,
                                      const struct ulp_tensor *allowed, struct ulp_tensor *probabilities, struct ulp_error *error)
{
    static const char *const shown[] = {"raw", "capped", "masked", "p"}; /* by qk_matmul_output_mode */
    const struct ulp_attribute_value *scale = ulp_call_attribute(call, "scale");
    const int64_t mode = ulp_call_int(call, "qk_matmul_output_mode");
    char text[512], number[40], cap[40];
    struct ulp_operand bias;
    if (mode < 0 || mode > 3)
        return ulp_fail(error, ULP_ERROR_INPUT, "qk_matmul_output_mode is %lld", (long long)mode);
    snprintf(number, sizeof number, scale->present ? "%a" : "%.0f", scale->present ? (double)scale->f : (double)a->q.size);
    snprintf(cap, sizeof cap, "%a", (double)ulp_call_attribute(call, "softcap")->f);
    snprintf(text, sizeof text,
             "raw = acc * %s; capped = %s; masked = allowed ? capped + bias : -inf; top = row_max(masked); sees = !(top == -inf); "
             "e = sees ? exp(masked - top) : 0; p = sees ? e / row_sum(e) : 0; p",
             scale->present ? "number" : "(1 / sqrt(number))", ulp_call_attribute(call, "softcap")->f > 0 ? "cap * tanh(raw / cap)" : "raw");
    enum ulp_status status = lay_bias(call, a, &bias, error);
    const struct ulp_rows rows = {.row_count = (size_t)(a->q.batch * a->q.heads * a->q.length), .row_length = (size_t)a->total};
    const struct ulp_operand full = {.row_stride = a->total, .position_stride = 1};
    struct ulp_named_operand operands[] = {{"acc", full}, {"allowed", full}, {"bias", bias}, {"number", {.constant = number}},
                                           {"cap", {.constant = cap}}};
    operands[0].operand.tensor = acc;
    operands[1].operand.tensor = allowed;
    struct ulp_named_operand outputs[] = {{"", full}, {shown[mode], full}};
    outputs[0].operand.tensor = probabilities;
    outputs[1].operand.tensor = ulp_call_wants(call, 3) ? &call->out[3] : NULL;
    return status == ULP_OK ? ulp_call_formula(call, text, call->arithmetic, &rows, 5, operands, ulp_call_wants(call, 3) ? 2 : 1,
                                               outputs, error)
                            : status;
}

static enum ulp_status run_attention(struct ulp_call *call, struct ulp_error *error)
{
    struct attention a;
    struct ulp_tensor acc, allowed, probabilities;
    enum ulp_status status = read_attention(call, &a, error);
    if (status != ULP_OK ||
        (status = join_past(call, ulp_call_input(call, "past_key"), call->in[1], &a.k, a.past, 1, &a.keys, error)) != ULP_OK ||
        (status = join_past(call, ulp_call_input(call, "past_value"), call->in[2], &a.v, a.past, 2, &a.values, error)) != ULP_OK)
        return status;
    const int64_t dims[] = {a.q.batch, a.q.heads, a.q.length, a.total};
    const struct heads scores = {a.q.batch, a.q.heads, a.q.length, a.total, a.q.heads * a.q.length * a.total, a.q.length * a.total,
                                 a.total};
    const bool packed = call->in[0]->rank == 3;
    const int64_t row = packed ? a.q.heads * a.v.size : a.v.size;
    const struct heads y = {a.q.batch, a.q.heads, a.q.length, a.v.size, a.q.length * a.q.heads * a.v.size,
                            packed ? a.v.size : a.q.length * a.v.size, row};
    if ((status = ulp_tensor_describe(&acc, call->in[0]->type, ulp_accumulator_element(call->arithmetic),
                                      call->arithmetic->accumulator.precision, 4, dims, error)) != ULP_OK ||
        (status = ulp_call_temporary(call, &acc, error)) != ULP_OK ||
        (status = ulp_call_describe_tensor(call, &probabilities, call->in[0]->type, 4, dims, error)) != ULP_OK ||
        (status = ulp_call_temporary(call, &probabilities, error)) != ULP_OK ||
        (status = make_allowed(call, &a, &allowed, error)) != ULP_OK)
        return status;
    const struct product first = {.a = call->in[0], .b = &a.keys, .a_heads = a.q, .b_heads = a.k, .b_line_step = a.k.step,
                                  .b_k_step = 1, .n = a.total, .k = a.q.size, .out = &acc, .out_heads = scores};
    const struct product second = {.a = &probabilities, .b = &a.values, .a_heads = scores, .b_heads = a.v, .b_line_step = 1,
                                   .b_k_step = a.v.step, .n = a.v.size, .k = a.total, .out = &call->out[0], .out_heads = y,
                                   .store = true};
    if ((status = multiply(call, &first, error)) == ULP_OK)
        status = softmax_scores(call, &a, &acc, &allowed, &probabilities, error);
    return status == ULP_OK && ulp_call_wants(call, 0) ? multiply(call, &second, error) : status;
}

/* ---- com.microsoft MultiHeadAttention: a bias for query, key and value first; the rest is Attention, its mask input 5 ---- */

static enum ulp_status check_scale(const struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_attribute_value *scale = ulp_call_attribute(call, "scale");
    if (scale->present && scale->f == 0)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "scale=0 is not supported: leave it out for 1 / sqrt(head size)");
    return ULP_OK;
}

static enum ulp_status check_multi_head(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_node *node = call->bound->node;
    if (node->input_count > 4 && node->inputs[4] >= 0)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "key_padding_mask is not supported");
    return check_scale(call, error);
}

/* in plus the part of the bias from `first` on, for its last axis. */
static enum ulp_status add_bias(struct ulp_call *call, const struct ulp_tensor *in, const struct ulp_tensor *bias, int64_t first,
                                const struct ulp_tensor **sum, struct ulp_error *error)
{
    const int64_t size = in->dims[in->rank - 1];
    struct ulp_tensor *out, part = *bias;
    part.data = ulp_element_at(bias, (size_t)first);
    enum ulp_status status = ulp_call_take(call, 1, sizeof *out, &out, error);
    if (status == ULP_OK)
        status = ulp_call_describe_tensor(call, out, in->type, in->rank, in->dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, out, error);
    if (status != ULP_OK || in->count == 0)
        return status;
    *sum = out;
    const struct ulp_rows rows = {.row_count = in->count / (size_t)size, .row_length = (size_t)size};
    const struct ulp_named_operand operands[] = {{"x", {.tensor = in, .row_stride = size, .position_stride = 1}},
                                                 {"bias", {.tensor = &part, .position_stride = 1}}};
    const struct ulp_named_operand result = {"y", {.tensor = out, .row_stride = size, .position_stride = 1}};
    return ulp_call_formula(call, "x + bias", call->arithmetic, &rows, 2, operands, 1, &result, error);
}

static enum ulp_status run_multi_head(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *bias = ulp_call_in(call, 3), **in;
    enum ulp_status status = ulp_call_take(call, call->input_count + 1, sizeof *in, &in, error);
    if (status != ULP_OK)
        return status;
    memcpy(in, call->in, call->input_count * sizeof *in);
    int64_t first = 0;
    for (size_t i = 0; bias && i < 3; first += call->in[i++]->dims[2])
        if (call->in[i]->rank != 3 || first + call->in[i]->dims[2] > (int64_t)bias->count)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "a bias of %zu elements beside inputs of these shapes is not supported", bias->count);
        else if ((status = add_bias(call, call->in[i], bias, first, &in[i], error)) != ULP_OK)
            return status;
    in[3] = ulp_call_in(call, 5);
    struct ulp_call inner = *call;
    inner.in = in;
    inner.input_count = call->input_count < 4 ? 4 : call->input_count;
    return run_attention(&inner, error);
}

/* ---- com.microsoft Attention: query, key and value are three parts of input * weights + bias ---- */

static enum ulp_status check_projected(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_node *node = call->bound->node;
    for (size_t i = 4; i < node->input_count; i++)
        if (node->inputs[i] >= 0)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "input %zu (past, attention_bias or past_sequence_length) is not supported", i);
    return check_scale(call, error);
}

static enum ulp_status infer_projected(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0], *weights = call->in[1], *mask = ulp_call_in(call, 3);
    if (in->rank != 3 || weights->rank != 2 || weights->dims[0] != in->dims[2] || weights->dims[1] % 3 != 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "input and weights: expected batch x positions x features and features x 3 parts");
    if (mask && (mask->rank != 2 || mask->dims[0] != in->dims[0] || mask->dims[1] != in->dims[1]))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "only a mask_index of batch x positions is supported");
    return ulp_call_describe(call, 0, in->type, 3, (int64_t[]){in->dims[0], in->dims[1], weights->dims[1] / 3}, error);
}

/* What is added to the scores: mask_filter_value where mask_index is 0. */
static enum ulp_status make_filter(struct ulp_call *call, const struct ulp_tensor *mask, struct ulp_tensor *out, struct ulp_error *error)
{
    char filter[40];
    snprintf(filter, sizeof filter, "%a", (double)ulp_call_attribute(call, "mask_filter_value")->f);
    enum ulp_status status = ulp_call_describe_tensor(call, out, call->in[0]->type, 4, (int64_t[]){mask->dims[0], 1, 1, mask->dims[1]}, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, out, error);
    const struct ulp_rows rows = {.row_count = 1, .row_length = mask->count};
    const struct ulp_named_operand operands[] = {{"mask", {.tensor = mask, .position_stride = 1}}, {"filter", {.constant = filter}}};
    const struct ulp_named_operand result = {"y", {.tensor = out, .position_stride = 1}};
    return status == ULP_OK && mask->count
               ? ulp_call_formula(call, "mask > 0 ? 0 : filter", call->arithmetic, &rows, 2, operands, 1, &result, error)
               : status;
}

static enum ulp_status run_projected(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *x = call->in[0], *mask = ulp_call_in(call, 3);
    const int64_t size = call->out[0].dims[2], dims[] = {x->dims[0], x->dims[1], 3 * size}, positions = dims[0] * dims[1];
    struct ulp_tensor all, parts[3], filter;
    struct ulp_sums sums;
    struct ulp_call inner = *call;
    enum ulp_status status = ulp_call_describe_tensor(call, &all, x->type, 3, dims, error);
    if (status != ULP_OK || (status = ulp_call_temporary(call, &all, error)) != ULP_OK)
        return status;
    inner.out = &all;
    inner.output_count = 1;
    if ((status = ulp_sums_begin(&inner, x->type, ulp_call_in(call, 2), &sums, error)) != ULP_OK ||
        (status = ulp_matmul_sums(&inner, x, call->in[1], &sums, error)) != ULP_OK ||
        (status = ulp_sums_end(&inner, &sums, "--b-", error)) != ULP_OK)
        return status;
    for (int64_t i = 0; i < 3; i++) {
        if ((status = ulp_call_describe_tensor(call, &parts[i], x->type, 3, call->out[0].dims, error)) != ULP_OK ||
            (status = ulp_call_temporary(call, &parts[i], error)) != ULP_OK)
            return status;
        for (int64_t p = 0; p < positions && size; p++)
            memcpy(ulp_element_at(&parts[i], (size_t)(p * size)), ulp_element_at(&all, (size_t)((3 * p + i) * size)),
                   (size_t)size * all.element_bytes);
    }
    if (mask && (status = make_filter(call, mask, &filter, error)) != ULP_OK)
        return status;
    const struct ulp_tensor *in[4] = {&parts[0], &parts[1], &parts[2], mask ? &filter : NULL};
    inner = *call;
    inner.in = in;
    inner.input_count = 4;
    return run_attention(&inner, error);
}

/* ---- RotaryEmbedding: pairs of features turned by the angle of their position ---- */

static enum ulp_status run_rotary(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *x = call->in[0], *cosines = call->in[1], *sines = call->in[2], *ids = ulp_call_in(call, 3);
    const bool interleaved = ulp_call_int(call, "interleaved");
    struct heads h = {0};
    int64_t *x_row, *cache_row;
    enum ulp_status status = read_heads(call, x, "num_heads", &h, error);
    if (status != ULP_OK)
        return status;
    const int64_t turned = ulp_call_int(call, "rotary_embedding_dim") ? ulp_call_int(call, "rotary_embedding_dim") : h.size;
    const int64_t half = turned / 2, rows_per_cache = half ? (int64_t)cosines->count / half : 0, positions = h.batch * h.length;
    if (turned < 2 || turned % 2 != 0 || turned > h.size || cosines->count != sines->count || (int64_t)cosines->count % half != 0 ||
        (ids ? ids->count != (size_t)positions : rows_per_cache != positions))
        return ulp_fail(error, ULP_ERROR_INPUT, "the caches or position_ids do not fit %lld positions of %lld features",
                        (long long)positions, (long long)turned);
    ulp_move_all(&call->out[0], x);
    const int64_t rows_count = positions * h.heads;
    if ((status = ulp_call_take(call, (size_t)rows_count, sizeof *x_row, &x_row, error)) != ULP_OK ||
        (status = ulp_call_take(call, (size_t)rows_count, sizeof *cache_row, &cache_row, error)) != ULP_OK)
        return status;
    for (int64_t r = 0; r < rows_count; r++) {
        int64_t b = r / (h.heads * h.length), head = r / h.length % h.heads, at = r % h.length;
        int64_t id = ids ? ulp_tensor_get_int(ids, (size_t)(b * h.length + at)) : b * h.length + at;
        if (id < 0 || id >= rows_per_cache)
            return ulp_fail(error, ULP_ERROR_INPUT, "position %lld is outside the cache of %lld", (long long)id,
                            (long long)rows_per_cache);
        x_row[r] = b * h.batch_step + head * h.head_step + at * h.step;
        cache_row[r] = id * half;
    }
    const int64_t step = interleaved ? 2 : 1;
    const size_t second = interleaved ? 1 : (size_t)half;
    struct ulp_tensor x2 = *x, y2 = call->out[0];
    x2.data = ulp_element_at(x, second);
    y2.data = ulp_element_at(&call->out[0], second);
    const struct ulp_rows rows = {.row_count = (size_t)rows_count, .row_length = (size_t)half};
    const struct ulp_named_operand operands[] = {
        {"x1", {.tensor = x, .row_offset = x_row, .position_stride = step}},
        {"x2", {.tensor = &x2, .row_offset = x_row, .position_stride = step}},
        {"cos", {.tensor = cosines, .row_offset = cache_row, .position_stride = 1}},
        {"sin", {.tensor = sines, .row_offset = cache_row, .position_stride = 1}},
    };
    const struct ulp_named_operand outputs[] = {
        {"real", {.tensor = &call->out[0], .row_offset = x_row, .position_stride = step}},
        {"imaginary", {.tensor = &y2, .row_offset = x_row, .position_stride = step}},
    };
    return ulp_call_formula(call, "imaginary = sin * x1 + cos * x2; cos * x1 - sin * x2", call->arithmetic, &rows, 4, operands, 2,
                            outputs, error);
}

#define ATTENTION .outputs = "y? present_key? present_value? qk_matmul_output?", .infer = infer_attention, .run = run_attention
#define INPUTS "q k v:f attn_mask:*? past_key? past_value:f?"
#define OPTIONS "is_causal:int=0; kv_num_heads:int; q_num_heads:int; qk_matmul_output_mode:int=0; scale:float; " \
    "softcap:float=0; softmax_precision:int"

const struct ulp_operator ulp_ops_attention[] = {
    {.name = "Attention", .since = 23, .inputs = INPUTS, ATTENTION, .attributes = OPTIONS},
    {.name = "Attention", .since = 24, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION, .attributes = OPTIONS},
    {.name = "Attention", .since = 25, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION,
     .attributes = OPTIONS "; left_window_size:int=-1; right_window_size:int=-1"},
    {.name = "RotaryEmbedding", .since = 23, .inputs = "x cos_cache sin_cache position_ids:i?", .outputs = "y",
     .attributes = "interleaved:int=0; num_heads:int; rotary_embedding_dim:int=0", .infer = ulp_infer_first, .run = run_rotary},
    {.name = "Attention", .domain = "com.microsoft", .since = 1, .inputs = "input weights bias?=-0 mask_index:i? past? attention_bias?",
     .outputs = "y", .attributes = "mask_filter_value:float=-10000; num_heads:!int; scale:float; unidirectional:int=0",
     .infer = infer_projected, .run = run_projected, .mixed = true, .check = check_projected, .epilogue = "acc + bias"},
    {.name = "MultiHeadAttention", .domain = "com.microsoft", .since = 1,
     .inputs = "query key value bias? key_padding_mask:i? attention_bias? past_key? past_value?",
     .outputs = "y present_key? present_value?",
     .attributes = "mask_filter_value:float=-10000; num_heads:!int; scale:float; unidirectional:int=0", .infer = infer_attention,
     .run = run_multi_head, .mixed = true, .check = check_multi_head},
    {0},
};
