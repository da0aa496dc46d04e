/* Attention: two contractions around a softmax, which is a formula over rows; and
 * RotaryEmbedding. */
#include "ops/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include "base/error.h"
#include "ops/contraction.h"
#include "ops/move.h"
#include "ops/window.h"

/* ---- shapes ---- */

struct ulp_heads ulp_heads_first(int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    return (struct ulp_heads){batch,         heads, length, size, heads * length * size,
                              length * size, size};
}

struct ulp_heads ulp_heads_packed(int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    return (struct ulp_heads){batch, heads,       length, size, heads * length * size,
                              size,  heads * size};
}

enum ulp_status ulp_heads_read(const struct ulp_tensor *t, int64_t heads, struct ulp_heads *out,
                               struct ulp_error *error)
{
    if (t->rank == 4) {
        *out = ulp_heads_first(t->dims[0], t->dims[1], t->dims[2], t->dims[3]);
        return ULP_OK;
    }
    if (t->rank != 3 || heads < 1 || heads > ULP_HEADS_MAX || t->dims[2] % heads != 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "an input of rank %d and %lld heads: expected rank 4, or 3 and heads that "
                        "divide its last axis",
                        t->rank, (long long)heads);
    *out = ulp_heads_packed(t->dims[0], heads, t->dims[1], t->dims[2] / heads);
    return ULP_OK;
}

static bool fits_past(const struct ulp_tensor *past, const struct ulp_heads *h, int64_t length)
{
    return !past ||
           past->count ==
               (size_t)ulp_product((const int64_t[]){h->batch, h->heads, length, h->size}, 4);
}

enum ulp_status ulp_attention_check(const struct ulp_attention *a, struct ulp_error *error)
{
    const bool fits = a->q.batch == a->k.batch && a->k.batch == a->v.batch &&
                      a->k.heads == a->v.heads && a->k.length == a->v.length &&
                      a->q.size == a->k.size && a->k.heads > 0 && a->q.heads % a->k.heads == 0 &&
                      !a->past_key == !a->past_value && fits_past(a->past_key, &a->k, a->past) &&
                      fits_past(a->past_value, &a->v, a->past);
    return fits ? ULP_OK
                : ulp_fail(error, ULP_ERROR_INPUT,
                           "the shapes of query, key, value and past do not fit each other");
}

/* ---- past and present ---- */

/* Past and new positions as one tensor of batch x heads x total x size: the present output, or a
 * temporary. *out is a view of `now` when there is nothing to join. */
static enum ulp_status join_past(struct ulp_call *call, const struct ulp_tensor *past,
                                 int64_t past_length, const struct ulp_tensor *now,
                                 struct ulp_heads *h, const struct ulp_tensor *present,
                                 struct ulp_tensor *out, struct ulp_error *error)
{
    const int64_t total = past_length + h->length, dims[] = {h->batch, h->heads, total, h->size};
    const enum ulp_type type = present ? present->type : now->type;
    *out = ulp_tensor_view(present ? present : now);
    if (!past && !present)
        return ULP_OK;
    enum ulp_status status = ulp_call_as(call, &now, type, error);
    if (status == ULP_OK)
        status = ulp_call_as(call, &past, type, error);
    if (status == ULP_OK && !present &&
        (status = ulp_call_describe_tensor(call, out, type, 4, dims, error)) == ULP_OK)
        status = ulp_call_temporary(call, out, error);
    for (int64_t i = 0; status == ULP_OK && i < h->batch * h->heads * total && h->size; i++) {
        int64_t row = i / total, at = i % total;
        int64_t from = row / h->heads * h->batch_step + row % h->heads * h->head_step +
                       (at - past_length) * h->step;
        const bool old = at < past_length;
        ulp_move_run(out, (size_t)(i * h->size), old ? past : now,
                     (size_t)(old ? (row * past_length + at) * h->size : from), (size_t)h->size);
    }
    *h = ulp_heads_first(h->batch, h->heads, total, h->size);
    return status;
}

/* ---- which keys a query sees ---- */

/* Index of (batch, head, query, key) in a mask that broadcasts to them; -1 where its last axis is
 * too short. */
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

/* allowed[b, h, i, j] as BOOL; of a float mask only -inf counts here. keys: a->k with the past in
 * front. */
static enum ulp_status make_allowed(struct ulp_call *call, const struct ulp_attention *a,
                                    const struct ulp_heads *keys, struct ulp_tensor *allowed,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *mask = a->mask;
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, keys->length};
    enum ulp_status status =
        ulp_tensor_describe(allowed, ULP_TYPE_BOOL, ULP_ELEMENT_BOOL, 0, 4, dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, allowed, error);
    if (status == ULP_OK && mask && mask->rank > 4)
        return ulp_fail(error, ULP_ERROR_INPUT, "the mask has rank %d: expected at most 4",
                        mask->rank);
    for (size_t n = 0; status == ULP_OK && n < allowed->count; n++) {
        int64_t place[4], rest = (int64_t)n;
        for (int d = 3; d >= 0; d--) {
            place[d] = rest % dims[d];
            rest /= dims[d];
        }
        const int64_t length = a->lengths ? a->lengths[place[0]] : keys->length, key = place[3];
        const int64_t at = place[2] + (a->starts ? a->starts[place[0]] : a->past);
        bool sees = key < length && (!a->causal || key <= at) &&
                    (a->left < 0 || at - key <= a->left) && (a->right < 0 || key - at <= a->right);
        int64_t index = mask ? mask_index(mask, place) : 0;
        if (mask && sees)
            sees = index >= 0 && (mask->type == ULP_TYPE_BOOL
                                      ? ulp_tensor_get_int(mask, (size_t)index) != 0
                                      : !(ulp_tensor_get(mask, (size_t)index) == -HUGE_VAL));
        ((uint8_t *)allowed->data)[n] = sees;
    }
    return status;
}

/* A mask's place for every row, as an operand; a bool mask or none: 0. */
static enum ulp_status lay_mask(struct ulp_call *call, const struct ulp_attention *a, int64_t total,
                                const struct ulp_tensor *mask, struct ulp_operand *out,
                                struct ulp_error *error)
{
    *out = (struct ulp_operand){.constant = "0"};
    if (!mask || mask->type == ULP_TYPE_BOOL || !mask->count)
        return ULP_OK;
    const int64_t rows = a->q.batch * a->q.heads * a->q.length,
                  keys = mask->rank ? mask->dims[mask->rank - 1] : 1;
    int64_t *row, *column;
    enum ulp_status status = ulp_call_take(call, (size_t)rows, sizeof *row, &row, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, (size_t)total, sizeof *column, &column, error);
    for (int64_t r = 0; status == ULP_OK && r < rows; r++) {
        const int64_t place[4] = {r / (a->q.heads * a->q.length), r / a->q.length % a->q.heads,
                                  r % a->q.length, 0};
        row[r] = mask_index(mask, place);
        if (row[r] < 0)
            return ulp_fail(error, ULP_ERROR_INPUT, "the mask does not broadcast to the scores");
    }
    for (int64_t j = 0; status == ULP_OK && j < total; j++)
        column[j] = j < keys ? j : 0; /* what lies beyond is not allowed */
    *out = (struct ulp_operand){.tensor = mask, .row_offset = row, .position_offset = column};
    return status;
}

/* The sink of each row's head; 0 when `smooth`. */
static enum ulp_status lay_sink(struct ulp_call *call, const struct ulp_attention *a,
                                struct ulp_operand *out, struct ulp_error *error)
{
    const int64_t rows = a->q.batch * a->q.heads * a->q.length;
    int64_t *row;
    *out = (struct ulp_operand){.constant = "0"};
    if (!a->sink)
        return ULP_OK;
    if (a->sink->count != (size_t)a->q.heads)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "a sink of %zu elements: expected one for each of %lld heads",
                        a->sink->count, (long long)a->q.heads);
    enum ulp_status status = ulp_call_take(call, (size_t)rows, sizeof *row, &row, error);
    for (int64_t r = 0; status == ULP_OK && r < rows; r++)
        row[r] = r / a->q.length % a->q.heads;
    *out = (struct ulp_operand){.tensor = a->sink, .row_offset = row};
    return status;
}

/* Offsets of the rows (batch, head, position) in a tensor. */
static enum ulp_status list_rows(struct ulp_call *call, const struct ulp_heads *h, int64_t **out,
                                 struct ulp_error *error)
{
    const int64_t count = h->batch * h->heads * h->length;
    enum ulp_status status = ulp_call_take(call, (size_t)count, sizeof **out, out, error);
    for (int64_t r = 0; status == ULP_OK && r < count; r++)
        (*out)[r] = r / (h->heads * h->length) * h->batch_step +
                    r / h->length % h->heads * h->head_step + r % h->length * h->step;
    return status;
}

/* ---- the two products ---- */

/* out[b, h, i, j] = sum over c of a(b, h, i, c) * b(b, h / repeat, j, c); the steps say where. */
struct product {
    const struct ulp_tensor *a, *b;
    struct ulp_heads a_heads, b_heads;
    int64_t b_line_step, b_k_step, n, k;
    struct ulp_tensor *out;
    struct ulp_heads out_heads;
    bool store;
};

static enum ulp_status multiply(struct ulp_call *call, const struct product *p,
                                struct ulp_error *error)
{
    const int64_t batches = p->a_heads.batch * p->a_heads.heads, m = p->a_heads.length;
    const int64_t repeat = p->a_heads.heads / p->b_heads.heads;
    int64_t *a_batch, *b_batch, *o_batch, *a_line, *a_k, *b_line, *b_k, *row, *column;
    enum ulp_status status;
    if ((status = ulp_call_take(call, (size_t)batches, sizeof *a_batch, &a_batch, error)) !=
            ULP_OK ||
        (status = ulp_call_take(call, (size_t)batches, sizeof *b_batch, &b_batch, error)) !=
            ULP_OK ||
        (status = ulp_call_take(call, (size_t)batches, sizeof *o_batch, &o_batch, error)) !=
            ULP_OK ||
        (status = ulp_move_table(call, &a_line, (size_t)m, 0, p->a_heads.step, error)) != ULP_OK ||
        (status = ulp_move_table(call, &a_k, (size_t)p->k, 0, 1, error)) != ULP_OK ||
        (status = ulp_move_table(call, &b_line, (size_t)p->n, 0, p->b_line_step, error)) !=
            ULP_OK ||
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
    struct ulp_contraction problem = {
        .batch_count = (size_t)batches,
        .m = (size_t)m,
        .n = (size_t)p->n,
        .k = (size_t)p->k,
        .out = p->out,
        .store = p->store,
        .a = {.tensor = p->a, .batch_offset = a_batch, .line_offset = a_line, .k_offset = a_k},
        .b = {.tensor = p->b, .batch_offset = b_batch, .line_offset = b_line, .k_offset = b_k},
        .out_batch_offset = o_batch,
        .out_row_offset = row,
        .out_column_offset = column,
    };
    return ulp_call_contract(call, &problem, error);
}

/* Rows are queries, positions keys. A query that sees no key has only zeros. With sums (one a row,
 * values as sums are held) the probabilities are not yet divided by them. */
static enum ulp_status softmax_scores(struct ulp_call *call, const struct ulp_attention *a,
                                      int64_t total, const struct ulp_tensor *acc,
                                      const struct ulp_tensor *allowed,
                                      struct ulp_tensor *probabilities, struct ulp_tensor *sums,
                                      struct ulp_error *error)
{
    char text[512], number[40], cap[40], filter[40];
    struct ulp_operand bias, hidden, sink;
    const bool has_sink = a->sink || a->smooth, scaled = !isnan(a->scale);
    snprintf(number, sizeof number, scaled ? "%a" : "%.0f",
             scaled ? (double)a->scale : (double)a->q.size);
    snprintf(cap, sizeof cap, "%a", (double)a->softcap);
    snprintf(filter, sizeof filter, "%a", (double)a->filter);
    snprintf(text, sizeof text,
             "raw = acc * %s; capped = %s; masked = allowed ? capped + bias%s : -inf; top = %s; "
             "sees = !(top == -inf); e = sees ? exp(masked - top) : 0; all = row_sum(e)%s; p = "
             "sees ? e / all : 0; %s",
             scaled ? "number" : "(1 / sqrt(number))",
             a->softcap > 0 ? "cap * tanh(raw / cap)" : "raw",
             a->hidden ? " + (hidden == 0 ? 0 : filter)" : "",
             has_sink ? "max(row_max(masked), sink)" : "row_max(masked)",
             has_sink ? " + exp(sink - top)" : "", sums ? "e" : "p");
    enum ulp_status status = lay_mask(call, a, total, a->mask, &bias, error);
    if (status == ULP_OK)
        status = lay_mask(call, a, total, a->hidden, &hidden, error);
    if (status == ULP_OK)
        status = lay_sink(call, a, &sink, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_rows rows = {.row_count = (size_t)(a->q.batch * a->q.heads * a->q.length),
                                  .row_length = (size_t)total};
    const struct ulp_operand full = {.row_stride = total, .position_stride = 1};
    struct ulp_named_operand operands[] = {
        {"acc", full},
        {"allowed", full},
        {"bias", bias},
        {"number", {.constant = number}},
        {"cap", {.constant = cap}},
        {"hidden", hidden},
        {"filter", {.constant = filter}},
        {"sink", sink},
    };
    operands[0].operand.tensor = acc;
    operands[1].operand.tensor = allowed;
    struct ulp_named_operand outputs[] = {
        {"", full},
        {"all", {.tensor = sums, .row_stride = 1, .storage = &call->arithmetic->accumulator}},
        {a->show, full}};
    outputs[0].operand.tensor = probabilities;
    outputs[2].operand.tensor = a->shown;
    return ulp_call_text(call, text, call->arithmetic, &rows, sizeof operands / sizeof *operands,
                         operands, a->shown ? 3 : 2, outputs, error);
}

const struct ulp_formula ulp_attend_average = {"acc all", "y", "all == 0 ? 0 : acc / all"};

/* The second product, in acc, divided: one sum a row. */
static enum ulp_status divide_by_sums(struct ulp_call *call, const struct ulp_tensor *acc,
                                      const struct ulp_tensor *sums, const struct ulp_heads *y,
                                      struct ulp_tensor *out, struct ulp_error *error)
{
    int64_t *places;
    enum ulp_status status = list_rows(call, y, &places, error);
    const struct ulp_rows rows = {.row_count = (size_t)(y->batch * y->heads * y->length),
                                  .row_length = (size_t)y->size};
    const struct ulp_named_operand operands[] = {
        {"acc", {.tensor = acc, .row_stride = y->size, .position_stride = 1}},
        {"all", {.tensor = sums, .row_stride = 1}}};
    const struct ulp_named_operand result = {
        "y", {.tensor = out, .row_offset = places, .position_stride = 1}};
    return status == ULP_OK ? ulp_call_formula(call, &ulp_attend_average, call->arithmetic, &rows,
                                               2, operands, 1, &result, error)
                            : status;
}

/* A temporary that holds sums of products, heads first. */
static enum ulp_status make_sums(struct ulp_call *call, enum ulp_type type,
                                 const struct ulp_heads *h, struct ulp_tensor *out,
                                 struct ulp_error *error)
{
    const int64_t dims[] = {h->batch, h->heads, h->length, h->size};
    const enum ulp_status status =
        ulp_tensor_describe(out, type, ulp_accumulator_element(call->arithmetic),
                            call->arithmetic->accumulator.precision, 4, dims, error);
    return status == ULP_OK ? ulp_call_temporary(call, out, error) : status;
}

enum ulp_status ulp_attend(struct ulp_call *call, const struct ulp_attention *a,
                           struct ulp_error *error)
{
    const enum ulp_type type = a->query->type;
    struct ulp_heads k = a->k, v = a->v;
    struct ulp_tensor keys, values, acc, allowed, probabilities, weighted, sums;
    const bool flash = call->arithmetic->reduce == ULP_ORDER_WARP && a->out;
    enum ulp_status status = ulp_attention_check(a, error);
    if (status != ULP_OK ||
        (status = join_past(call, a->past_key, a->past, a->key, &k, a->present_key, &keys,
                            error)) != ULP_OK ||
        (status = join_past(call, a->past_value, a->past, a->value, &v, a->present_value, &values,
                            error)) != ULP_OK)
        return status;
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, k.length};
    const struct ulp_heads scores = ulp_heads_first(dims[0], dims[1], dims[2], dims[3]);
    if ((status = make_sums(call, type, &scores, &acc, error)) != ULP_OK ||
        (status = ulp_call_describe_tensor(call, &probabilities, type, 4, dims, error)) != ULP_OK ||
        (status = ulp_call_temporary(call, &probabilities, error)) != ULP_OK ||
        (status = make_allowed(call, a, &k, &allowed, error)) != ULP_OK)
        return status;
    const struct product first = {.a = a->query,
                                  .b = &keys,
                                  .a_heads = a->q,
                                  .b_heads = k,
                                  .b_line_step = k.step,
                                  .b_k_step = 1,
                                  .n = k.length,
                                  .k = a->q.size,
                                  .out = &acc,
                                  .out_heads = scores};
    struct product second = {.a = &probabilities,
                             .b = &values,
                             .a_heads = scores,
                             .b_heads = v,
                             .b_line_step = 1,
                             .b_k_step = v.step,
                             .n = v.size,
                             .k = v.length,
                             .out = a->out,
                             .out_heads = a->y,
                             .store = true};
    if (flash) {
        const struct ulp_heads whole =
            ulp_heads_first(a->y.batch, a->y.heads, a->y.length, a->y.size);
        const struct ulp_heads one = ulp_heads_first(a->y.batch, a->y.heads, a->y.length, 1);
        if ((status = make_sums(call, type, &whole, &weighted, error)) != ULP_OK ||
            (status = make_sums(call, type, &one, &sums, error)) != ULP_OK)
            return status;
        second.out = &weighted;
        second.out_heads = whole;
        second.store = false;
    }
    if ((status = multiply(call, &first, error)) == ULP_OK)
        status = softmax_scores(call, a, k.length, &acc, &allowed, &probabilities,
                                flash ? &sums : NULL, error);
    if (status == ULP_OK && a->out)
        status = multiply(call, &second, error);
    return status == ULP_OK && flash ? divide_by_sums(call, &weighted, &sums, &a->y, a->out, error)
                                     : status;
}

/* ---- ai.onnx Attention ---- */

static enum ulp_status read_attention(const struct ulp_call *call, struct ulp_attention *a,
                                      struct ulp_error *error)
{
    const struct ulp_attribute_value *left = ulp_call_attribute(call, "left_window_size"),
                                     *right = ulp_call_attribute(call, "right_window_size"),
                                     *scale = ulp_call_attribute(call, "scale");
    *a = (struct ulp_attention){
        .query = call->in[0],
        .key = call->in[1],
        .value = call->in[2],
        .mask = ulp_call_in(call, 3),
        .past_key = ulp_call_input(call, "past_key"),
        .past_value = ulp_call_input(call, "past_value"),
        .causal = ulp_call_int(call, "is_causal"),
        .left = left->present ? left->i : -1,
        .right = right->present ? right->i : -1,
        .scale = scale->present ? scale->f : NAN,
        .softcap = ulp_call_attribute(call, "softcap")->f,
    };
    a->past = a->past_key && a->past_key->rank == 4 ? a->past_key->dims[2] : 0;
    enum ulp_status status =
        ulp_heads_read(a->query, ulp_call_int(call, "q_num_heads"), &a->q, error);
    if (status == ULP_OK)
        status = ulp_heads_read(a->key, ulp_call_int(call, "kv_num_heads"), &a->k, error);
    if (status == ULP_OK)
        status = ulp_heads_read(a->value, ulp_call_int(call, "kv_num_heads"), &a->v, error);
    if (status != ULP_OK)
        return status;
    a->y = a->query->rank == 3 ? ulp_heads_packed(a->q.batch, a->q.heads, a->q.length, a->v.size)
                               : ulp_heads_first(a->q.batch, a->q.heads, a->q.length, a->v.size);
    return ulp_attention_check(a, error);
}

static enum ulp_status infer_attention(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_attention a;
    enum ulp_status status = read_attention(call, &a, error);
    if (status != ULP_OK)
        return status;
    const enum ulp_type type = call->in[0]->type;
    const int64_t total = a.past + a.k.length, y4[] = {a.q.batch, a.q.heads, a.q.length, a.v.size};
    const int64_t y3[] = {a.q.batch, a.q.length, a.q.heads * a.v.size},
                  key[] = {a.k.batch, a.k.heads, total, a.k.size};
    const int64_t value[] = {a.v.batch, a.v.heads, total, a.v.size};
    const int64_t scores[] = {a.q.batch, a.q.heads, a.q.length, total};
    const bool packed = call->in[0]->rank == 3;
    if ((status = ulp_call_describe(call, 0, type, packed ? 3 : 4, packed ? y3 : y4, error)) !=
            ULP_OK ||
        (status = ulp_call_describe(call, 1, type, 4, key, error)) != ULP_OK ||
        (status = ulp_call_describe(call, 2, type, 4, value, error)) != ULP_OK)
        return status;
    return ulp_call_describe(call, 3, type, 4, scores, error);
}

static enum ulp_status run_attention(struct ulp_call *call, struct ulp_error *error)
{
    /* by qk_matmul_output_mode */
    static const char *const shown[] = {"raw", "capped", "masked", "p"};
    const struct ulp_tensor *given = ulp_call_input(call, "nonpad_kv_seqlen");
    const int64_t mode = ulp_call_int(call, "qk_matmul_output_mode");
    struct ulp_attention a;
    int64_t *lengths, *starts;
    enum ulp_status status = read_attention(call, &a, error);
    if (status != ULP_OK)
        return status;
    if (mode < 0 || mode > 3)
        return ulp_fail(error, ULP_ERROR_INPUT, "qk_matmul_output_mode is %lld", (long long)mode);
    if (given && given->count != (size_t)a.q.batch)
        return ulp_fail(error, ULP_ERROR_INPUT, "nonpad_kv_seqlen has %zu entries", given->count);
    if (given &&
        ((status = ulp_call_take(call, given->count, sizeof *lengths, &lengths, error)) != ULP_OK ||
         (status = ulp_call_take(call, given->count, sizeof *starts, &starts, error)) != ULP_OK))
        return status;
    for (size_t b = 0; given && b < given->count; b++) {
        lengths[b] = ulp_tensor_get_int(given, b);
        if (lengths[b] < 0 || lengths[b] > a.past + a.k.length)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "nonpad_kv_seqlen[%zu] is %lld: there are %lld keys", b,
                            (long long)lengths[b], (long long)(a.past + a.k.length));
        starts[b] = lengths[b] - a.q.length;
    }
    a.lengths = given ? lengths : NULL;
    a.starts = given ? starts : NULL;
    a.out = ulp_call_wants(call, 0) ? &call->out[0] : NULL;
    a.present_key = ulp_call_wants(call, 1) ? &call->out[1] : NULL;
    a.present_value = ulp_call_wants(call, 2) ? &call->out[2] : NULL;
    a.shown = ulp_call_wants(call, 3) ? &call->out[3] : NULL;
    a.show = shown[mode];
    return ulp_attend(call, &a, error);
}

/* ---- RotaryEmbedding ---- */

const struct ulp_formula ulp_rotate_pairs = {
    "x1 x2 cos sin", "real imaginary", "imaginary = sin * x1 + cos * x2; cos * x1 - sin * x2"};

enum ulp_status ulp_rotate(struct ulp_call *call, const struct ulp_rotation *rotation,
                           struct ulp_tensor *out, const struct ulp_heads *out_heads,
                           const struct ulp_tensor *in, const struct ulp_heads *h,
                           struct ulp_error *error)
{
    const struct ulp_tensor *ids = rotation->ids;
    const int64_t turned = rotation->turned, half = turned / 2, positions = h->batch * h->length;
    const int64_t caches = half > 0 ? (int64_t)rotation->cosines->count / half : 0,
                  rows_count = positions * h->heads;
    int64_t *in_row, *out_row, *cache_row;
    if (turned < 2 || turned % 2 != 0 || turned > h->size ||
        rotation->cosines->count != rotation->sines->count ||
        (int64_t)rotation->cosines->count % half != 0 ||
        (ids ? ids->count != (size_t)positions : caches != positions))
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "the caches or position_ids do not fit %lld positions of %lld features",
                        (long long)positions, (long long)turned);
    enum ulp_status status = ulp_call_as(call, &in, out->type, error);
    if (status == ULP_OK)
        status = list_rows(call, h, &in_row, error);
    if (status == ULP_OK)
        status = list_rows(call, out_heads, &out_row, error);
    if (status == ULP_OK)
        status = ulp_call_take(call, (size_t)rows_count, sizeof *cache_row, &cache_row, error);
    for (int64_t r = 0; status == ULP_OK && r < rows_count; r++) {
        const int64_t at = r / (h->heads * h->length) * h->length + r % h->length;
        const int64_t id = ids ? ulp_tensor_get_int(ids, (size_t)at) : at;
        if (id < 0 || id >= caches)
            return ulp_fail(error, ULP_ERROR_INPUT, "position %lld is outside the cache of %lld",
                            (long long)id, (long long)caches);
        cache_row[r] = id * half;
        ulp_move_run(out, (size_t)out_row[r], in, (size_t)in_row[r], (size_t)h->size);
    }
    if (status != ULP_OK)
        return status;
    const int64_t step = rotation->interleaved ? 2 : 1;
    const size_t second = rotation->interleaved ? 1 : (size_t)half;
    const struct ulp_tensor x2 = ulp_tensor_view_from(in, second),
                            y2 = ulp_tensor_view_from(out, second);
    const struct ulp_rows rows = {.row_count = (size_t)rows_count, .row_length = (size_t)half};
    const struct ulp_named_operand operands[] = {
        {"x1", {.tensor = in, .row_offset = in_row, .position_stride = step}},
        {"x2", {.tensor = &x2, .row_offset = in_row, .position_stride = step}},
        {"cos", {.tensor = rotation->cosines, .row_offset = cache_row, .position_stride = 1}},
        {"sin", {.tensor = rotation->sines, .row_offset = cache_row, .position_stride = 1}},
    };
    const struct ulp_named_operand outputs[] = {
        {"real", {.tensor = out, .row_offset = out_row, .position_stride = step}},
        {"imaginary", {.tensor = &y2, .row_offset = out_row, .position_stride = step}},
    };
    return ulp_call_formula(call, &ulp_rotate_pairs, call->arithmetic, &rows, 4, operands, 2,
                            outputs, error);
}

static enum ulp_status run_rotary(struct ulp_call *call, struct ulp_error *error)
{
    const int64_t turned = ulp_call_int(call, "rotary_embedding_dim");
    struct ulp_heads h;
    enum ulp_status status =
        ulp_heads_read(call->in[0], ulp_call_int(call, "num_heads"), &h, error);
    const struct ulp_rotation rotation = {.cosines = call->in[1],
                                          .sines = call->in[2],
                                          .ids = ulp_call_in(call, 3),
                                          .turned = turned ? turned : h.size,
                                          .interleaved = ulp_call_int(call, "interleaved")};
    return status == ULP_OK ? ulp_rotate(call, &rotation, &call->out[0], &h, call->in[0], &h, error)
                            : status;
}

#define ATTENTION                                                                            \
    .outputs = "y? present_key? present_value? qk_matmul_output?", .infer = infer_attention, \
    .run = run_attention, .work = ULP_WORK_CONTRACTION,                                      \
    .formulas = ULP_FORMULAS(&ulp_attend_average)
#define INPUTS "q k v:f attn_mask:*? past_key? past_value:f?"
#define OPTIONS                                                                         \
    "is_causal:int=0; kv_num_heads:int; q_num_heads:int; qk_matmul_output_mode:int=0; " \
    "scale:float; "                                                                     \
    "softcap:float=0; softmax_precision:int"

/* clang-format off */
const struct ulp_operator ulp_ops_attention[] = {
    {.name = "Attention", .since = 23, .inputs = INPUTS, ATTENTION, .attributes = OPTIONS},
    {.name = "Attention", .since = 24, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION,
     .attributes = OPTIONS},
    {.name = "Attention", .since = 25, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION,
     .attributes = OPTIONS "; left_window_size:int=-1; right_window_size:int=-1"},
    {.name = "RotaryEmbedding", .since = 23, .inputs = "x cos_cache sin_cache position_ids:i?",
     .outputs = "y",
     .attributes = "interleaved:int=0; num_heads:int; rotary_embedding_dim:int=0",
     .infer = ulp_infer_first,
     .run = run_rotary, .formulas = ULP_FORMULAS(&ulp_rotate_pairs)},
    {0},
};
/* clang-format on */
