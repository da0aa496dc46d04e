/* Domain com.microsoft: GroupQueryAttention. Past and new keys share a buffer in which every batch
 * has its own end; query and key may be turned on the way in. */
#include "base/error.h"
#include "ops/microsoft/attention.h"
#include "ops/move.h"

struct grouped {
    struct ulp_attention a;
    int64_t buffer; /* positions of present_key and present_value; -1: not known yet */
};

static enum ulp_status check_grouped(struct ulp_call *call, struct ulp_error *error)
{
    static const char *const kinds[] = {"k_quant_type", "v_quant_type"};
    for (int i = 0; i < 2; i++)
        if (!ulp_call_is(call, kinds[i], "NONE"))
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "%s: quantised caches are not supported",
                            kinds[i]);
    if (!ulp_call_int(call, "causal"))
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "causal=0 is not supported");
    return ulp_microsoft_refuse(call, 12,
                                (const char *const[]){"qk_output", "sliding_window_cache", NULL},
                                error);
}

static enum ulp_status read_grouped(const struct ulp_call *call, struct grouped *g,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *q = call->in[0], *k = ulp_call_in(call, 1), *v = ulp_call_in(call, 2);
    const struct ulp_tensor *past_key = ulp_call_in(call, 3), *past_value = ulp_call_in(call, 4),
                            *total = call->in[6];
    int64_t heads, groups;
    enum ulp_status status =
        ulp_call_int_within(call, "num_heads", 1, ULP_HEADS_MAX, &heads, error);
    if (status == ULP_OK)
        status = ulp_call_int_within(call, "kv_num_heads", 1, ULP_HEADS_MAX, &groups, error);
    if (status != ULP_OK)
        return status;
    const int64_t window = ulp_call_int(call, "local_window_size");
    *g = (struct grouped){.a = {.query = q,
                                .key = k,
                                .value = v,
                                .causal = true,
                                .right = -1,
                                .left = window < 0 ? -1 : window - 1,
                                .scale = ulp_microsoft_scale(call),
                                .softcap = ulp_call_attribute(call, "softcap")->f,
                                .mask = ulp_call_in(call, 10),
                                .sink = ulp_call_in(call, 11),
                                .smooth = ulp_call_int(call, "smooth_softmax") > 0},
                          .buffer = -1};
    struct ulp_attention *a = &g->a;
    const int64_t parts = k ? heads : heads + 2 * groups;
    if (q->rank != 3 || !k != !v || q->dims[2] % parts != 0 || window == 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "query, key, value, %lld heads and %lld kv heads do not fit each other",
                        (long long)heads, (long long)groups);
    const int64_t size = q->dims[2] / parts;
    a->q = ulp_heads_packed(q->dims[0], heads, q->dims[1], size);
    if (k) {
        if ((status = ulp_heads_read(k, groups, &a->k, error)) != ULP_OK ||
            (status = ulp_heads_read(v, groups, &a->v, error)) != ULP_OK)
            return status;
    } else {
        a->q.step = q->dims[2];
        a->q.batch_step = q->dims[1] * q->dims[2];
        a->k = a->v = a->q;
        a->k.heads = a->v.heads = groups;
        if ((status = ulp_microsoft_view(call, q, heads * size, &a->key, error)) != ULP_OK ||
            (status = ulp_microsoft_view(call, q, (heads + groups) * size, &a->value, error)) !=
                ULP_OK)
            return status;
    }
    a->y = ulp_heads_packed(a->q.batch, heads, a->q.length, a->v.size);
    if (!past_key != !past_value || (past_key && (past_key->rank != 4 || past_value->rank != 4 ||
                                                  past_key->dims[2] != past_value->dims[2])))
        return ulp_fail(error, ULP_ERROR_INPUT, "past_key and past_value do not fit each other");
    const struct ulp_heads *kh = &a->k, *vh = &a->v;
    const int64_t past = past_key ? past_key->dims[2] : 0;
    if (kh->length != a->q.length || call->in[5]->count != (size_t)kh->batch || total->count != 1 ||
        (past_key && (past_key->count != (size_t)(kh->batch * kh->heads * past * kh->size) ||
                      past_value->count != (size_t)(vh->batch * vh->heads * past * vh->size))))
        return ulp_fail(error, ULP_ERROR_INPUT, "key, past and seqlens_k do not fit query");
    if (total->data) {
        g->buffer = ulp_tensor_get_int(total, 0);
        if (g->buffer < a->q.length || g->buffer > INT32_MAX)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "total_sequence_length is %lld for %lld new positions",
                            (long long)g->buffer, (long long)a->q.length);
        if (g->buffer < past)
            g->buffer = past;
    }
    return ulp_attention_check(a, error);
}

static enum ulp_status infer_grouped(struct ulp_call *call, struct ulp_error *error)
{
    struct grouped g;
    enum ulp_status status = read_grouped(call, &g, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_attention *a = &g.a;
    const enum ulp_type type = call->in[0]->type;
    const int64_t y[] = {a->q.batch, a->q.length, a->q.heads * a->v.size};
    const int64_t key[] = {a->k.batch, a->k.heads, g.buffer, a->k.size};
    const int64_t value[] = {a->v.batch, a->v.heads, g.buffer, a->v.size};
    if ((status = ulp_call_describe(call, 0, type, 3, y, error)) != ULP_OK || g.buffer < 0 ||
        (status = ulp_call_describe(call, 1, type, 4, key, error)) != ULP_OK)
        return status;
    return ulp_call_describe(call, 2, type, 4, value, error);
}

/* The first `starts` positions of each batch of the past, the new ones behind them, zeros to the
 * buffer's end. */
static enum ulp_status join_buffer(struct ulp_call *call, const struct ulp_tensor *past,
                                   const struct ulp_tensor **now, struct ulp_heads *h,
                                   int64_t buffer, const int64_t *starts,
                                   struct ulp_tensor *present, struct ulp_error *error)
{
    const int64_t dims[] = {h->batch, h->heads, buffer, h->size},
                  past_length = past ? past->dims[2] : 0;
    const struct ulp_heads from = *h;
    struct ulp_tensor zero;
    const enum ulp_type type = present ? present->type : (*now)->type;
    enum ulp_status status = ulp_call_scalar(call, &zero, type, 0, error);
    if (status == ULP_OK)
        status = ulp_call_as(call, now, type, error);
    if (status == ULP_OK)
        status = ulp_call_as(call, &past, type, error);
    if (status == ULP_OK && !present &&
        (status = ulp_call_take(call, 1, sizeof *present, &present, error)) == ULP_OK &&
        (status = ulp_call_describe_tensor(call, present, type, 4, dims, error)) == ULP_OK)
        status = ulp_call_temporary(call, present, error);
    for (int64_t i = 0; status == ULP_OK && i < h->batch * h->heads * buffer && h->size; i++) {
        const int64_t row = i / buffer, b = row / h->heads, head = row % h->heads, at = i % buffer;
        const int64_t fresh = at - starts[b];
        const size_t to = (size_t)(i * h->size), size = (size_t)h->size;
        if (fresh >= 0 && fresh < h->length)
            ulp_move_run(present, to, *now,
                         (size_t)(b * from.batch_step + head * from.head_step + fresh * from.step),
                         size);
        else if (fresh < 0 && at < past_length)
            ulp_move_run(present, to, past, (size_t)((row * past_length + at) * h->size), size);
        else
            ulp_move_fill(present, to, size, zero.data);
    }
    *now = present;
    *h = ulp_heads_first(from.batch, from.heads, buffer, from.size);
    return status;
}

/* Query and key turned by their places among the keys, or by position_ids (a prompt's first entry
 * counts alone). */
static enum ulp_status rotate(struct ulp_call *call, struct ulp_attention *a, bool prompt,
                              struct ulp_error *error)
{
    const struct ulp_tensor *cosines = ulp_call_in(call, 7), *sines = ulp_call_in(call, 8);
    const struct ulp_tensor *given = ulp_call_in(call, 9);
    const int64_t length = a->q.length, dims[] = {a->q.batch, length};
    struct ulp_tensor ids, *turned[2];
    if (!cosines || !sines || cosines->rank != 2)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "do_rotary=1 needs cos_cache and sin_cache of rank 2");
    const struct ulp_rotation rotation = {.cosines = cosines,
                                          .sines = sines,
                                          .ids = given && !prompt ? given : &ids,
                                          .turned = 2 * cosines->dims[1],
                                          .interleaved = ulp_call_int(call, "rotary_interleaved")};
    const int64_t first = given && prompt && given->count ? ulp_tensor_get_int(given, 0) : 0;
    if (first < 0 || first > cosines->dims[0])
        return ulp_fail(error, ULP_ERROR_INPUT, "position %lld is outside the cache of %lld",
                        (long long)first, (long long)cosines->dims[0]);
    enum ulp_status status =
        ulp_tensor_describe(&ids, ULP_TYPE_INT64, ULP_ELEMENT_I64, 0, 2, dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, &ids, error);
    for (int64_t i = 0; status == ULP_OK && i < (int64_t)ids.count; i++)
        ((int64_t *)ids.data)[i] = first + a->starts[i / length] + i % length;
    for (int i = 0; status == ULP_OK && i < 2; i++) {
        const struct ulp_tensor **in = i ? &a->key : &a->query;
        struct ulp_heads *h = i ? &a->k : &a->q;
        const struct ulp_heads to = ulp_heads_packed(h->batch, h->heads, h->length, h->size);
        const int64_t shape[] = {h->batch, h->length, h->heads, h->size};
        if ((status = ulp_call_take(call, 1, sizeof **turned, &turned[i], error)) == ULP_OK &&
            (status = ulp_call_describe_tensor(call, turned[i], (*in)->type, 4, shape, error)) ==
                ULP_OK &&
            (status = ulp_call_temporary(call, turned[i], error)) == ULP_OK)
            status = ulp_rotate(call, &rotation, turned[i], &to, *in, h, error);
        *in = turned[i];
        *h = to;
    }
    return status;
}

static enum ulp_status run_grouped(struct ulp_call *call, struct ulp_error *error)
{
    struct grouped g;
    int64_t *lengths, *starts;
    enum ulp_status status = read_grouped(call, &g, error);
    struct ulp_attention *a = &g.a;
    if (status != ULP_OK ||
        (status = ulp_call_take(call, (size_t)a->q.batch, sizeof *lengths, &lengths, error)) !=
            ULP_OK ||
        (status = ulp_call_take(call, (size_t)a->q.batch, sizeof *starts, &starts, error)) !=
            ULP_OK)
        return status;
    const bool prompt = ulp_tensor_get_int(call->in[6], 0) == a->q.length;
    for (int64_t b = 0; b < a->q.batch; b++) {
        const int64_t last = ulp_tensor_get_int(call->in[5], (size_t)b);
        if (last < (prompt ? 0 : a->q.length - 1) || last >= g.buffer)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "seqlens_k[%lld] is %lld: expected less than the total of %lld and "
                            "no less than the new positions",
                            (long long)b, (long long)last, (long long)g.buffer);
        lengths[b] = last + 1;
        starts[b] = prompt ? 0 : lengths[b] - a->q.length;
    }
    a->lengths = lengths;
    a->starts = starts;
    if (ulp_call_int(call, "do_rotary") && (status = rotate(call, a, prompt, error)) != ULP_OK)
        return status;
    if ((status = join_buffer(call, ulp_call_in(call, 3), &a->key, &a->k, g.buffer, starts,
                              ulp_call_wants(call, 1) ? &call->out[1] : NULL, error)) != ULP_OK ||
        (status = join_buffer(call, ulp_call_in(call, 4), &a->value, &a->v, g.buffer, starts,
                              ulp_call_wants(call, 2) ? &call->out[2] : NULL, error)) != ULP_OK)
        return status;
    a->out = ulp_call_wants(call, 0) ? &call->out[0] : NULL;
    return ulp_attend(call, a, error);
}

/* clang-format off */
#define MS .domain = "com.microsoft", .since = 1
const struct ulp_operator ulp_ops_microsoft_grouped[] = {
    {.name = "GroupQueryAttention", MS,
     .inputs = "query key? value? past_key? past_value? seqlens_k:i total_sequence_length:i "
               "cos_cache? sin_cache? "
               "position_ids:i? attention_bias? head_sink? k_scale:f? v_scale:f? q_norm_weight? "
               "k_norm_weight?",
     .outputs = "y present_key? present_value?",
     .attributes = "causal:int=1; do_rotary:int=0; k_quant_type:string=NONE; "
                   "kv_cache_bit_width:int=0; "
                   "kv_num_heads:!int; local_window_size:int=-1; num_heads:!int; "
                   "qk_norm_epsilon:float; "
                   "qk_output:int=0; rotary_interleaved:int=0; scale:float=0; "
                   "sliding_window_cache:int=0; "
                   "smooth_softmax:int=0; softcap:float=0; v_quant_type:string=NONE",
     .infer = infer_grouped, .run = run_grouped, .work = ULP_WORK_CONTRACTION, .mixed = true,
     .formulas = ULP_FORMULAS(&ulp_attend_average, &ulp_rotate_pairs), .check = check_grouped},
    {0},
};
/* clang-format on */
