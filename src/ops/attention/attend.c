/* Two contractions around a softmax, which is a formula over rows. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "ops/attention/mask.h"
#include "ops/attention/scores.h"
#include "ops/attention/tiles.h"
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
                                 struct ulp_tensor *out)
{
    const int64_t total = past_length + h->length, dims[] = {h->batch, h->heads, total, h->size};
    const enum ulp_type type = present ? present->type : now->type;
    *out = ulp_tensor_view(present ? present : now);
    if (!past && !present)
        return ULP_OK;
    ULP_TRY(ulp_call_as(call, &now, type));
    ULP_TRY(ulp_call_as(call, &past, type));
    if (!present)
        ULP_TRY(ulp_call_make_here(call, out, type, 4, dims));
    for (int64_t i = 0; i < h->batch * h->heads * total && h->size; i++) {
        int64_t row = i / total, at = i % total;
        int64_t from = row / h->heads * h->batch_step + row % h->heads * h->head_step +
                       (at - past_length) * h->step;
        const bool old = at < past_length;
        ulp_move_run(out, (size_t)(i * h->size), old ? past : now,
                     (size_t)(old ? (row * past_length + at) * h->size : from), (size_t)h->size);
    }
    *h = ulp_heads_first(h->batch, h->heads, total, h->size);
    return ULP_OK;
}

const struct ulp_formula ulp_attend_average = {"acc all", "y", "all == 0 ? 0 : acc / all"};

/* The second product, in acc, divided: one sum a row. */
static enum ulp_status divide_by_sums(struct ulp_call *call, const struct ulp_tensor *acc,
                                      const struct ulp_tensor *sums, const struct ulp_heads *y,
                                      struct ulp_tensor *out)
{
    int64_t *places;
    ULP_TRY(ulp_heads_rows(call, y, &places));
    const struct ulp_rows rows = {.row_count = (size_t)(y->batch * y->heads * y->length),
                                  .row_length = (size_t)y->size};
    const struct ulp_named_operand operands[] = {
        {"acc", {.tensor = acc, .row_stride = y->size, .position_stride = 1}},
        {"all", {.tensor = sums, .row_stride = 1}}};
    const struct ulp_named_operand result = {
        "y", {.tensor = out, .row_offset = places, .position_stride = 1}};
    return ulp_call_formula(call, &ulp_attend_average, call->arithmetic, &rows, 2, operands, 1,
                            &result);
}

/* A temporary that holds sums of products, heads first. */
static enum ulp_status make_sums(struct ulp_call *call, enum ulp_type type,
                                 const struct ulp_heads *h, struct ulp_tensor *out)
{
    const int64_t dims[] = {h->batch, h->heads, h->length, h->size};
    ULP_TRY(ulp_tensor_describe(out, type, ulp_accumulator_element(call->arithmetic),
                                call->arithmetic->accumulator.precision, 4, dims, call->error));
    return ulp_call_temporary(call, out);
}

/* All keys and values are there. */
static enum ulp_status attend_joined(struct ulp_call *call, const struct ulp_attention *a,
                                     const struct ulp_tensor *keys, const struct ulp_heads *k,
                                     const struct ulp_tensor *values, const struct ulp_heads *v)
{
    const enum ulp_type type = a->query->type;
    struct ulp_tensor acc, allowed, probabilities, weighted, sums;
    const bool tiled = !a->stored && ulp_attention_is_tiled(call, a),
               flash =
                   tiled || (call->arithmetic->reduce == ULP_ORDER_WARP && a->out && !a->stored);
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, k->length};
    const struct ulp_heads scores = ulp_heads_first(dims[0], dims[1], dims[2], dims[3]);
    ULP_TRY(a->stored ? ulp_call_make_here(call, &acc, type, 4, dims)
                      : make_sums(call, type, &scores, &acc));
    ULP_TRY(
        ulp_attention_is_wide(call)
            ? ulp_call_temporary_in(call, &probabilities, &call->arithmetic->accumulator, 4, dims)
            : ulp_call_make_here(call, &probabilities, type, 4, dims));
    ULP_TRY(ulp_attention_allowed(call, a, k, &allowed));
    const struct ulp_attention_product first = {.a = a->query,
                                                .b = keys,
                                                .a_heads = a->q,
                                                .b_heads = *k,
                                                .b_line_step = k->step,
                                                .b_k_step = k->across ? k->across : 1,
                                                .n = k->length,
                                                .k = a->q.size,
                                                .out = &acc,
                                                .store = a->stored,
                                                .out_heads = scores};
    struct ulp_attention_product second = {.a = &probabilities,
                                           .b = values,
                                           .a_heads = scores,
                                           .b_heads = *v,
                                           .b_line_step = 1,
                                           .b_k_step = v->step,
                                           .n = v->size,
                                           .k = v->length,
                                           .out = a->out,
                                           .out_heads = a->y,
                                           .store = true};
    if (flash) {
        const struct ulp_heads whole =
            ulp_heads_first(a->y.batch, a->y.heads, a->y.length, a->y.size);
        const struct ulp_heads one = ulp_heads_first(a->y.batch, a->y.heads, a->y.length, 1);
        ULP_TRY(make_sums(call, type, &whole, &weighted));
        ULP_TRY(make_sums(call, type, &one, &sums));
        second.out = &weighted;
        second.out_heads = whole;
        second.store = false;
    }
    ULP_TRY(ulp_attention_multiply(call, &first));
    if (tiled) {
        for (size_t i = 0; i < sums.count; i++)
            ((float *)sums.data)[i] = 1; /* what is weighted is divided already */
        ULP_TRY(ulp_attend_tiles(call, a, k->length, &acc, &allowed, &second));
    } else {
        ULP_TRY(ulp_attention_scores(call, a, k->length, &acc, &allowed, flash ? "e" : "p",
                                     &probabilities, flash ? &sums : NULL));
        if (a->out)
            ULP_TRY(ulp_attention_multiply(call, &second));
    }
    return flash ? divide_by_sums(call, &weighted, &sums, &a->y, a->out) : ULP_OK;
}

/* x times a factor in FP32, in the same layout. */
static enum ulp_status scale(struct ulp_call *call, const struct ulp_tensor *x, double factor,
                             struct ulp_tensor *out)
{
    char number[40];
    const struct ulp_rows rows = {.row_count = 1, .row_length = x->count};
    snprintf(number, sizeof number, "%a", factor);
    const struct ulp_named_operand operands[] = {{"x", {.tensor = x, .position_stride = 1}},
                                                 {"factor", {.constant = number}}};
    const struct ulp_named_operand result = {"y", {.tensor = out, .position_stride = 1}};
    ULP_TRY(ulp_call_temporary_in(call, out, &call->arithmetic->storage, x->rank, x->dims));
    return ulp_call_text(call, "y = x * factor; y", call->arithmetic, &rows, 2, operands, 1,
                         &result);
}

/* Written out in FP32: query and key times the root of the scale, and one rounding at the end. */
static enum ulp_status attend_in_fp32(struct ulp_call *call, const struct ulp_attention *a,
                                      const struct ulp_tensor *keys, const struct ulp_heads *k,
                                      const struct ulp_tensor *values, const struct ulp_heads *v)
{
    const double root = sqrt(isnan(a->scale) ? 1 / sqrt((double)a->q.size) : a->scale);
    struct ulp_arithmetic fp32 = ulp_call_chains(call);
    struct ulp_call inner = *call;
    struct ulp_attention own = *a;
    struct ulp_tensor query, scaled, wide, ones;
    fp32.attention = ULP_ATTENTION_WHOLE;
    inner.arithmetic = &fp32;
    own.query = &query;
    own.scale = 1;
    own.out = &wide;
    own.y = ulp_heads_first(a->y.batch, a->y.heads, a->y.length, a->y.size);
    const struct ulp_heads one = ulp_heads_first(a->y.batch, a->y.heads, a->y.length, 1);
    ULP_TRY(scale(&inner, a->query, (float)root, &query));
    ULP_TRY(scale(&inner, keys, (float)root, &scaled));
    ULP_TRY(make_sums(&inner, a->query->type, &own.y, &wide));
    ULP_TRY(make_sums(&inner, a->query->type, &one, &ones));
    ULP_TRY(attend_joined(&inner, &own, &scaled, k, values, v));
    for (size_t i = 0; i < ones.count; i++)
        ((float *)ones.data)[i] = 1;
    return divide_by_sums(call, &wide, &ones, &a->y, a->out);
}

enum ulp_status ulp_attend(struct ulp_call *call, const struct ulp_attention *a)
{
    struct ulp_heads k = a->k, v = a->v;
    struct ulp_tensor keys, values;
    struct ulp_arithmetic uncut = *call->arithmetic;
    struct ulp_call own = *call;
    if (ulp_attention_is_tiled(call, a)) { /* how other kernels cut k is not how this one goes */
        uncut.schedule.split_k = uncut.schedule.promote = 0;
        own.arithmetic = &uncut;
        call = &own;
    }
    ULP_TRY(ulp_attention_check(a, call->error));
    ULP_TRY(join_past(call, a->past_key, a->past, a->key, &k, a->present_key, &keys));
    ULP_TRY(join_past(call, a->past_value, a->past, a->value, &v, a->present_value, &values));
    if (!a->coded) {
        ULP_TRY(ulp_attention_cached(call, 0, &keys, &k));
        ULP_TRY(ulp_attention_cached(call, 1, &values, &v));
    }
    return call->arithmetic->attention == ULP_ATTENTION_MATH && a->out && !a->shown
               ? attend_in_fp32(call, a, &keys, &k, &values, &v)
               : attend_joined(call, a, &keys, &k, &values, &v);
}
