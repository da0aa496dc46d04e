/* ai.onnx's Attention. */
#include "ops/attention/attention.h"

#include <math.h>

#include "base/error.h"

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
    ULP_TRY(ulp_heads_read(a->query, ulp_call_int(call, "q_num_heads"), &a->q, error));
    ULP_TRY(ulp_heads_read(a->key, ulp_call_int(call, "kv_num_heads"), &a->k, error));
    ULP_TRY(ulp_heads_read(a->value, ulp_call_int(call, "kv_num_heads"), &a->v, error));
    a->y = a->query->rank == 3 ? ulp_heads_packed(a->q.batch, a->q.heads, a->q.length, a->v.size)
                               : ulp_heads_first(a->q.batch, a->q.heads, a->q.length, a->v.size);
    return ulp_attention_check(a, error);
}

static enum ulp_status infer_attention(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_attention a;
    ULP_TRY(read_attention(call, &a, error));
    const enum ulp_type type = call->in[0]->type;
    const int64_t total = a.past + a.k.length, y4[] = {a.q.batch, a.q.heads, a.q.length, a.v.size};
    const int64_t y3[] = {a.q.batch, a.q.length, a.q.heads * a.v.size},
                  key[] = {a.k.batch, a.k.heads, total, a.k.size};
    const int64_t value[] = {a.v.batch, a.v.heads, total, a.v.size};
    const int64_t scores[] = {a.q.batch, a.q.heads, a.q.length, total};
    const bool packed = call->in[0]->rank == 3;
    ULP_TRY(ulp_call_describe(call, 0, type, packed ? 3 : 4, packed ? y3 : y4, error));
    ULP_TRY(ulp_call_describe(call, 1, type, 4, key, error));
    ULP_TRY(ulp_call_describe(call, 2, type, 4, value, error));
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
    ULP_TRY(read_attention(call, &a, error));
    if (mode < 0 || mode > 3)
        return ulp_fail(error, ULP_ERROR_INPUT, "qk_matmul_output_mode is %lld", (long long)mode);
    if (given && given->count != (size_t)a.q.batch)
        return ulp_fail(error, ULP_ERROR_INPUT, "nonpad_kv_seqlen has %zu entries", given->count);
    if (given) {
        ULP_TRY(ulp_call_take(call, given->count, sizeof *lengths, &lengths, error));
        ULP_TRY(ulp_call_take(call, given->count, sizeof *starts, &starts, error));
    }
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

#define ATTENTION                                                                            \
    .outputs = "y? present_key? present_value? qk_matmul_output?", .infer = infer_attention, \
    .run = run_attention, .work = ULP_WORK_CONTRACTION, .kernel = "attention",               \
    .formulas = ULP_FORMULAS(&ulp_attend_average)
#define INPUTS "q k v:f attn_mask:*? past_key? past_value:f?"
#define OPTIONS                                                                         \
    "is_causal:int=0; kv_num_heads:int; q_num_heads:int; qk_matmul_output_mode:int=0; " \
    "scale:float; softcap:float=0; softmax_precision:int"

/* clang-format off */
const struct ulp_operator ulp_ops_attention[] = {
    {.name = "Attention", .since = 23, .inputs = INPUTS, ATTENTION, .attributes = OPTIONS},
    {.name = "Attention", .since = 24, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION,
     .attributes = OPTIONS},
    {.name = "Attention", .since = 25, .inputs = INPUTS " nonpad_kv_seqlen:i?", ATTENTION,
     .attributes = OPTIONS "; left_window_size:int=-1; right_window_size:int=-1"},
    {0},
};
/* clang-format on */

/* ---- written out ---- */

/* Batch, heads: of rank 3 the first axis is the heads. */
static int64_t axis(const struct ulp_tensor *t, int from_end)
{
    return t->rank >= from_end ? t->dims[t->rank - from_end] : 1;
}

static enum ulp_status read_written(const struct ulp_call *call, struct ulp_attention *a,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    if (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "query, key and value have ranks %d, %d, %d: expected 3 or 4, all the same",
                        q->rank, k->rank, v->rank);
    *a = (struct ulp_attention){
        .query = q,
        .key = k,
        .value = v,
        .mask = ulp_call_in(call, 3),
        .left = -1,
        .right = -1,
        .scale = ulp_call_attribute(call, "scale")->f,
        .q = ulp_heads_first(axis(q, 4), axis(q, 3), axis(q, 2), axis(q, 1)),
        .k = ulp_heads_first(axis(k, 4), axis(k, 3), axis(k, 1), axis(k, 2)),
        .v = ulp_heads_first(axis(v, 4), axis(v, 3), axis(v, 2), axis(v, 1)),
    };
    a->k.step = 1;
    a->k.across = a->k.length;
    a->y = ulp_heads_first(a->q.batch, a->q.heads, a->q.length, a->v.size);
    return ulp_attention_check(a, error);
}

static enum ulp_status infer_written(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_attention a;
    int64_t dims[4];
    const int rank = call->in[0]->rank;
    ULP_TRY(read_written(call, &a, error));
    for (int d = 0; d < rank - 1; d++)
        dims[d] = call->in[0]->dims[d];
    dims[rank - 1] = a.v.size;
    return ulp_call_describe(call, 0, call->in[0]->type, rank, dims, error);
}

/* Which keys are seen, of a mask that says which are not. */
static enum ulp_status turn_mask(struct ulp_call *call, const struct ulp_tensor *mask,
                                 struct ulp_tensor *seen, struct ulp_error *error)
{
    ULP_TRY(ulp_call_make_here(call, seen, ULP_TYPE_BOOL, mask->rank, mask->dims, error));
    for (size_t i = 0; i < seen->count; i++)
        ((uint8_t *)seen->data)[i] = ulp_tensor_get_int(mask, i) == 0;
    return ULP_OK;
}

static enum ulp_status run_written(struct ulp_call *call, struct ulp_error *error)
{
    struct ulp_attention a;
    struct ulp_tensor seen;
    ULP_TRY(read_written(call, &a, error));
    if (a.mask && ulp_call_int(call, "hides")) {
        ULP_TRY(turn_mask(call, a.mask, &seen, error));
        a.mask = &seen;
    }
    a.out = &call->out[0];
    return ulp_attend(call, &a, error);
}

/* clang-format off */
const struct ulp_operator ulp_operator_written_attention = {
    .name = "Attention", .since = 1, .inputs = "q k v:f mask:*?", .outputs = "y", .attributes = "hides:int=0; scale:float=1",
    .infer = infer_written, .run = run_written, .work = ULP_WORK_CONTRACTION, .kernel = "attention",
    .formulas = ULP_FORMULAS(&ulp_attend_average)};
/* clang-format on */
