/* Two contractions around a softmax, which is a formula over rows. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "ops/attention/mask.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

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
    enum ulp_status status = ulp_attention_lay_mask(call, a, total, a->mask, &bias, error);
    if (status == ULP_OK)
        status = ulp_attention_lay_mask(call, a, total, a->hidden, &hidden, error);
    if (status == ULP_OK)
        status = ulp_attention_lay_sink(call, a, &sink, error);
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
        {"all", {.tensor = sums, .row_stride = 1, .storage = &call->arithmetic->rows}},
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
    enum ulp_status status = ulp_heads_rows(call, y, &places, error);
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
        (status = ulp_attention_allowed(call, a, &k, &allowed, error)) != ULP_OK)
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
