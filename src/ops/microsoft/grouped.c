/* Domain com.microsoft: GroupQueryAttention. Past and new keys share a buffer in which every batch
 * has its own end; query and key may be turned on the way in. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text/text.h"
#include "ops/microsoft/microsoft_attention.h"
#include "ops/microsoft/cache.h"
#include "ops/ops_move.h"

enum { QUERY_SEQLENS = 16, SCORES = 3 }; /* an input, an output */

struct grouped {
    struct ulp_attention a;
    int64_t total;       /* keys at most, the new ones too; -1: not known yet */
    int64_t buffer;      /* positions of present_key and present_value; -1: not known yet */
    int64_t capacity;    /* of caches that drop what no window reaches; 0: they drop nothing */
    enum ulp_type codes; /* of the caches; UNDEFINED: they hold floats */
};

static bool has_codes(const struct ulp_call *call)
{
    return !ulp_call_is(call, "k_quant_type", "NONE");
}

/* Does the node name that input? */
static bool is_given(const struct ulp_call *call, size_t i)
{
    return i < call->bound->node->input_count && call->bound->node->inputs[i] >= 0;
}

static enum ulp_status check_grouped(struct ulp_call *call)
{
    static const char *const kinds[] = {"k_quant_type", "v_quant_type"};
    for (int i = 0; i < 2; i++) {
        const char *kind = ulp_call_attribute(call, kinds[i])->s;
        if (!ulp_is_word(kind, "NONE PER_TENSOR PER_CHANNEL"))
            return ULP_REFUSE(call, "%s is %s: expected NONE, PER_TENSOR or PER_CHANNEL", kinds[i],
                              kind);
    }
    if (has_codes(call) == ulp_call_is(call, "v_quant_type", "NONE"))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "only one of k_quant_type and v_quant_type is NONE: expected both or none, "
                        "as the caches have one type");
    const int64_t bits = ulp_call_int(call, "kv_cache_bit_width");
    if (has_codes(call) && bits != 4 && bits != 8)
        return ULP_REFUSE(call, "kv_cache_bit_width is %lld: expected 4 or 8", (long long)bits);
    if (!ulp_call_int(call, "causal") && ulp_call_int(call, "local_window_size") >= 0)
        return ULP_REFUSE(call, "local_window_size is %lld: expected -1 with causal=0",
                          (long long)ulp_call_int(call, "local_window_size"));
    if (is_given(call, 14) != is_given(call, 15))
        return ULP_REFUSE(call,
                          "only one of q_norm_weight and k_norm_weight is given: expected both");
    if (!has_codes(call) && (is_given(call, 12) || is_given(call, 13)))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "k_scale and v_scale with k_quant_type=NONE are not supported");
    if (is_given(call, QUERY_SEQLENS) &&
        (!is_given(call, 3) || !is_given(call, 4) || !ulp_call_int(call, "causal")))
        return ULP_REFUSE(call, "query_seqlens needs past_key, past_value and causal=1");
    if (ulp_call_int(call, "sliding_window_cache") &&
        (!is_given(call, 3) || ulp_call_int(call, "local_window_size") < 1))
        return ULP_REFUSE(call,
                          "sliding_window_cache needs past_key, past_value and local_window_size");
    return ulp_microsoft_refuse(call, QUERY_SEQLENS + 1, (const char *const[]){NULL});
}

/* The type of the caches' codes: what the past has, if 8 bits may be two. */
static enum ulp_type find_codes(const struct ulp_call *call)
{
    const struct ulp_tensor *past = ulp_call_in(call, 3);
    if (!has_codes(call))
        return ULP_TYPE_UNDEFINED;
    if (ulp_call_int(call, "kv_cache_bit_width") == 4)
        return ULP_TYPE_UINT8;
    return past && past->type == ULP_TYPE_FLOAT8E4M3FN ? past->type : ULP_TYPE_INT8;
}

/* Do the caches have codes of that type, and is there a scale for the tensor or for each feature of
 * each head? */
static enum ulp_status check_codes(const struct ulp_call *call, const struct grouped *g)
{
    static const char *const kinds[] = {"k_quant_type", "v_quant_type"},
                             *const names[] = {"key", "value"}, letters[] = {'k', 'v'};
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_tensor *scale = ulp_call_in(call, 12 + i),
                                *past = ulp_call_in(call, 3 + i);
        const struct ulp_heads *h = i ? &g->a.v : &g->a.k;
        const int64_t count = ulp_call_is(call, kinds[i], "PER_CHANNEL") ? h->heads * h->size : 1;
        if (past && past->type != g->codes)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                            "past_%s is %s: expected %s for a cache of %lld bits", names[i],
                            ulp_type_name(past->type), ulp_type_name(g->codes),
                            (long long)ulp_call_int(call, "kv_cache_bit_width"));
        if (!scale || scale->count != (size_t)count)
            return ULP_REFUSE(call, "%c_scale has %zu elements: %s=%s needs %lld", letters[i],
                              scale ? scale->count : 0, kinds[i],
                              ulp_call_attribute(call, kinds[i])->s, (long long)count);
    }
    return ULP_OK;
}

enum ulp_status ulp_grouped_heads(const struct ulp_call *call, struct ulp_attention *a)
{
    int64_t heads, groups;
    ULP_TRY(ulp_call_int_within(call, "num_heads", 1, ULP_HEADS_MAX, &heads));
    ULP_TRY(ulp_call_int_within(call, "kv_num_heads", 1, ULP_HEADS_MAX, &groups));
    const struct ulp_tensor *q = a->query;
    const int64_t parts = a->key ? heads : heads + 2 * groups;
    if (q->rank != 3 || !a->key != !a->value || q->dims[2] % parts != 0)
        return ULP_REFUSE(call,
                          "query, key, value, %lld heads and %lld kv heads do not fit each other",
                          (long long)heads, (long long)groups);
    const int64_t size = q->dims[2] / parts;
    a->q = ulp_heads_packed(q->dims[0], heads, q->dims[1], size);
    if (a->key) {
        ULP_TRY(ulp_heads_read(a->key, groups, &a->k, call->error));
        ULP_TRY(ulp_heads_read(a->value, groups, &a->v, call->error));
    } else {
        a->q.step = q->dims[2];
        a->q.batch_step = q->dims[1] * q->dims[2];
        a->k = a->v = a->q;
        a->k.heads = a->v.heads = groups;
        ULP_TRY(ulp_microsoft_view(call, q, heads * size, &a->key));
        ULP_TRY(ulp_microsoft_view(call, q, (heads + groups) * size, &a->value));
    }
    a->y = ulp_heads_packed(a->q.batch, heads, a->q.length, a->v.size);
    return ULP_OK;
}

/* The caches, and how long the buffer is that they are in. */
static enum ulp_status read_past(const struct ulp_call *call, struct grouped *g)
{
    const struct ulp_tensor *key = ulp_call_in(call, 3), *value = ulp_call_in(call, 4),
                            *total = call->in[6];
    const struct ulp_heads *q = &g->a.q, *k = &g->a.k, *v = &g->a.v;
    if (!key != !value ||
        (key && (key->rank != 4 || value->rank != 4 || key->dims[2] != value->dims[2])))
        return ULP_REFUSE(call, "past_key and past_value do not fit each other");
    const int64_t past = key ? key->dims[2] : 0, rows = k->batch * k->heads * past;
    const struct ulp_tensor *valid = ulp_call_in(call, QUERY_SEQLENS);
    if (k->length != q->length || (valid && valid->count != (size_t)q->batch) ||
        call->in[5]->count != (size_t)k->batch || total->count != 1 ||
        (key && (key->count != (size_t)(rows * ulp_cache_size(g->codes, k->size)) ||
                 value->count !=
                     (size_t)(v->batch * v->heads * past * ulp_cache_size(g->codes, v->size)))))
        return ULP_REFUSE(call, "key, past and seqlens_k do not fit query");
    ULP_TRY(g->codes ? check_codes(call, g) : ULP_OK);
    if (!total->data)
        return ULP_OK;
    g->total = g->buffer = ulp_tensor_get_int(total, 0);
    if (g->buffer < q->length || g->buffer > INT32_MAX)
        return ULP_REFUSE(call, "total_sequence_length is %lld for %lld new positions",
                          (long long)g->buffer, (long long)q->length);
    if (ulp_call_int(call, "sliding_window_cache"))
        g->capacity = past;
    else if (g->buffer < past)
        g->buffer = past;
    return !g->capacity || g->capacity > g->a.left
               ? ULP_OK
               : ULP_REFUSE(call, "a cache of %lld positions for a window of %lld", (long long)past,
                            (long long)g->a.left + 1);
}

static enum ulp_status read_grouped(const struct ulp_call *call, struct grouped *g)
{
    const int64_t window = ulp_call_int(call, "local_window_size");
    *g = (struct grouped){.a = {.query = call->in[0],
                                .key = ulp_call_in(call, 1),
                                .value = ulp_call_in(call, 2),
                                .causal = ulp_call_int(call, "causal"),
                                .right = -1,
                                .left = window < 0 ? -1 : window - 1,
                                .scale = ulp_microsoft_scale(call),
                                .softcap = ulp_call_attribute(call, "softcap")->f,
                                .mask = ulp_call_in(call, 10),
                                .sink = ulp_call_in(call, 11),
                                .smooth = ulp_call_int(call, "smooth_softmax") > 0},
                          .total = -1,
                          .buffer = -1,
                          .codes = find_codes(call)};
    if (window == 0)
        return ULP_REFUSE(call, "local_window_size is 0");
    ULP_TRY(ulp_grouped_heads(call, &g->a));
    ULP_TRY(read_past(call, g));
    return ulp_attention_check(&g->a, call->error);
}

static enum ulp_status infer_grouped(struct ulp_call *call)
{
    struct grouped g;
    ULP_TRY(read_grouped(call, &g));
    const struct ulp_attention *a = &g.a;
    const enum ulp_type type = call->in[0]->type, cached = g.codes ? g.codes : type;
    const int64_t y[] = {a->q.batch, a->q.length, a->q.heads * a->v.size};
    const int64_t places = g.capacity ? g.capacity : g.buffer;
    const int64_t key[] = {a->k.batch, a->k.heads, places, ulp_cache_size(g.codes, a->k.size)};
    const int64_t value[] = {a->v.batch, a->v.heads, places, ulp_cache_size(g.codes, a->v.size)};
    ULP_TRY(ulp_call_describe(call, 0, type, 3, y));
    if (g.buffer < 0)
        return ULP_OK;
    const int64_t scores[] = {a->q.batch, a->q.heads, a->q.length, g.total};
    ULP_TRY(ulp_call_describe(call, 1, cached, 4, key));
    ULP_TRY(ulp_call_describe(call, 2, cached, 4, value));
    return ulp_call_describe(call, SCORES, type, 4, scores);
}

static const struct ulp_formula normal = {"x scale epsilon", "y",
                                          "x / sqrt(row_mean(x * x) + epsilon) * scale"};

/* *in, whose features of a head get a root mean square of 1, times q_norm_weight or k_norm_weight:
 * *in and *h become those of the result. */
static enum ulp_status normalize(struct ulp_call *call, bool key, const struct ulp_tensor **in,
                                 struct ulp_heads *h)
{
    const struct ulp_attribute_value *own =
        ulp_call_attribute(call, key ? "k_norm_epsilon" : "q_norm_epsilon");
    const double epsilon =
        (double)(own->present ? own : ulp_call_attribute(call, "qk_norm_epsilon"))->f;
    const struct ulp_tensor *weight = ulp_call_in(call, key ? 15 : 14);
    const struct ulp_heads to = ulp_heads_first(h->batch, h->heads, h->length, h->size);
    const int64_t dims[] = {h->batch, h->heads, h->length, h->size};
    const struct ulp_rows rows = {.row_count = (size_t)(h->batch * h->heads * h->length),
                                  .row_length = (size_t)h->size};
    struct ulp_tensor *out;
    int64_t *places;
    char number[32];
    if (weight->rank != 1 || weight->dims[0] != h->size || !(epsilon > 0 && isfinite(epsilon)))
        return ULP_REFUSE(call,
                          "%c_norm_weight has %zu elements, its epsilon is %g: expected %lld, a "
                          "head's features, and a positive number",
                          key ? 'k' : 'q', weight->count, epsilon, (long long)h->size);
    ULP_TRY(ulp_call_make(call, (*in)->type, 4, dims, &out));
    ULP_TRY(ulp_heads_rows(call, h, &places));
    snprintf(number, sizeof number, "%a", epsilon);
    const struct ulp_named_operand operands[] = {
        {"x", {.tensor = *in, .row_offset = places, .position_stride = 1}},
        {"scale", {.tensor = weight, .position_stride = 1}},
        {"epsilon", {.constant = number}},
    };
    const struct ulp_named_operand y = {
        "y", {.tensor = out, .row_stride = h->size, .position_stride = 1}};
    ULP_TRY(ulp_call_formula(call, &normal, call->arithmetic, &rows, 3, operands, 1, &y));
    *in = out;
    *h = to;
    return ULP_OK;
}

enum ulp_status ulp_grouped_rotate(struct ulp_call *call, struct ulp_attention *a, size_t cosine,
                                   const struct ulp_tensor *given, bool prompt)
{
    const struct ulp_tensor *cosines = ulp_call_in(call, cosine),
                            *sines = ulp_call_in(call, cosine + 1);
    const bool counted = !given || prompt;
    if (!cosines || !sines || cosines->rank != 2)
        return ULP_REFUSE(call, "do_rotary=1 needs cos_cache and sin_cache of rank 2");
    const struct ulp_rotation rotation = {.cosines = cosines,
                                          .sines = sines,
                                          .ids = counted ? NULL : given,
                                          .counted = counted,
                                          .first = given && counted && given->count
                                                       ? ulp_tensor_get_int(given, 0)
                                                       : 0,
                                          .starts = a->starts,
                                          .turned = 2 * cosines->dims[1],
                                          .interleaved = ulp_call_int(call, "rotary_interleaved")};
    ULP_TRY(ulp_rotate_heads(call, &rotation, &a->query, &a->q));
    return ulp_rotate_heads(call, &rotation, &a->key, &a->k);
}

/* Of each batch the number of its keys, and the place of its first new one. */
static enum ulp_status read_lengths(struct ulp_call *call, const struct grouped *g, bool prompt,
                                    int64_t *lengths, int64_t *starts)
{
    const struct ulp_tensor *valid = ulp_call_in(call, QUERY_SEQLENS);
    const int64_t length = g->a.q.length;
    for (int64_t b = 0; b < g->a.q.batch; b++) {
        const int64_t count = valid ? ulp_tensor_get_int(valid, (size_t)b) : length;
        lengths[b] = ulp_tensor_get_int(call->in[5], (size_t)b) + 1;
        starts[b] = prompt ? 0 : lengths[b] - count;
        if (count < 0 || count > length || starts[b] < 0 || lengths[b] < 1 ||
            lengths[b] > g->buffer)
            return ULP_REFUSE(call,
                              "seqlens_k[%lld] is %lld: expected less than the total of %lld and "
                              "no less than the new positions",
                              (long long)b, (long long)lengths[b] - 1, (long long)g->buffer);
    }
    return ULP_OK;
}

/* How many of t positions a cache holds that drops `spare` at once: the newest, in order. */
static int64_t count_resident(const struct grouped *g, int64_t t)
{
    const int64_t spare = g->capacity - g->a.left, over = t - g->capacity;
    return over <= 0 ? t : t - spare * ((over + spare - 1) / spare);
}

/* What is resident of each batch's first ends[b] positions, from or to its places in a buffer of
 * all positions; what else `out` has is 0. */
static enum ulp_status move_resident(struct ulp_call *call, const struct grouped *g,
                                     const struct ulp_tensor *from, bool spread,
                                     const int64_t *ends, struct ulp_tensor *out)
{
    const size_t size = (size_t)out->dims[3];
    const int64_t heads = out->dims[1];
    struct ulp_tensor zero;
    ULP_TRY(ulp_call_scalar(call, &zero, out->type, 0));
    ulp_move_fill(out, 0, out->count, zero.data);
    for (int64_t row = 0; size && row < out->dims[0] * heads; row++) {
        const int64_t end = ends[row / heads], count = count_resident(g, end),
                      held = row * g->capacity, all = row * g->buffer + end - count;
        ulp_move_run(out, (size_t)(spread ? all : held) * size, from,
                     (size_t)(spread ? held : all) * size, (size_t)count * size);
    }
    return ULP_OK;
}

/* A tensor as an output is, with all positions. */
static enum ulp_status make_whole(struct ulp_call *call, const struct grouped *g,
                                  const struct ulp_tensor *like, struct ulp_tensor **out)
{
    const int64_t dims[] = {like->dims[0], like->dims[1], g->buffer, like->dims[3]};
    return ulp_call_make(call, like->type, 4, dims, out);
}

/* Past and new positions joined in present_key or present_value. A cache that drops positions is
 * spread over a buffer of all first, as the window hides those that it has dropped. */
static enum ulp_status join_cache(struct ulp_call *call, struct grouped *g, size_t i,
                                  const int64_t *starts, const int64_t *lengths)
{
    struct ulp_tensor *present = ulp_call_wants(call, 1 + i) ? &call->out[1 + i] : NULL,
                      *past = NULL, *whole = present;
    struct ulp_cache cache = {.past = ulp_call_in(call, 3 + i),
                              .scale = g->codes ? ulp_call_in(call, 12 + i) : NULL,
                              .codes = g->codes,
                              .length = g->buffer,
                              .starts = starts};
    if (g->capacity) {
        ULP_TRY(make_whole(call, g, cache.past, &past));
        ULP_TRY(ulp_call_as(call, &cache.past, cache.past->type));
        ULP_TRY(move_resident(call, g, cache.past, true, starts, past));
        cache.past = past;
        if (present)
            ULP_TRY(make_whole(call, g, present, &whole));
    }
    cache.present = whole;
    ULP_TRY(ulp_cache_join(call, &cache, i ? &g->a.value : &g->a.key, i ? &g->a.v : &g->a.k));
    return g->capacity && present ? move_resident(call, g, whole, false, lengths, present) : ULP_OK;
}

/* Scores of every place of the buffer, cut to the output's. */
static void cut_scores(const struct ulp_tensor *scores, struct ulp_tensor *out)
{
    const size_t total = (size_t)out->dims[3], buffer = (size_t)scores->dims[3];
    for (size_t row = 0; total && row < out->count / total; row++)
        ulp_move_run(out, row * total, scores, row * buffer, total);
}

static enum ulp_status run_grouped(struct ulp_call *call)
{
    static const char *const shown[] = {NULL, "seen", "p"};
    const int64_t mode = ulp_call_int(call, "qk_output");
    struct grouped g;
    struct ulp_tensor *scores = NULL;
    ULP_TRY(read_grouped(call, &g));
    struct ulp_attention *a = &g.a;
    ULP_CALL_TAKE(int64_t, lengths, call, (size_t)a->q.batch);
    ULP_CALL_TAKE(int64_t, starts, call, (size_t)a->q.batch);
    const bool prompt = !ulp_call_in(call, QUERY_SEQLENS) && g.total == a->q.length;
    ULP_TRY(read_lengths(call, &g, prompt, lengths, starts));
    a->lengths = lengths;
    a->starts = starts;
    if (ulp_call_in(call, 14)) {
        ULP_TRY(normalize(call, false, &a->query, &a->q));
        ULP_TRY(normalize(call, true, &a->key, &a->k));
    }
    if (ulp_call_int(call, "do_rotary"))
        ULP_TRY(ulp_grouped_rotate(call, a, 7, ulp_call_in(call, 9), prompt));
    for (size_t i = 0; i < 2; i++)
        ULP_TRY(join_cache(call, &g, i, starts, lengths));
    a->coded = g.codes != ULP_TYPE_UNDEFINED;
    a->out = ulp_call_wants(call, 0) ? &call->out[0] : NULL;
    if (ulp_call_wants(call, SCORES)) {
        const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, g.buffer};
        if (mode != 1 && mode != 2)
            return ULP_REFUSE(call, "qk_output is %lld: expected 1 or 2", (long long)mode);
        ULP_TRY(ulp_call_make(call, call->out[SCORES].type, 4, dims, &scores));
        a->shown = scores;
        a->show = shown[mode];
    }
    ULP_TRY(ulp_attend(call, a));
    if (scores)
        cut_scores(scores, &call->out[SCORES]);
    return ULP_OK;
}

/* clang-format off */
#define MS .domain = "com.microsoft", .since = 1
const struct ulp_operator ulp_ops_microsoft_grouped[] = {
    {.name = "GroupQueryAttention", MS, .kernel = "attention",
     .inputs = "query:m key:m? value:m? past_key:*m? past_value:*m? seqlens_k:i total_sequence_length:i "
               "cos_cache:m? sin_cache:m? "
               "position_ids:i? attention_bias:m? head_sink:m? k_scale:pm? v_scale:pm? q_norm_weight:m? "
               "k_norm_weight:m? query_seqlens:i?",
     .outputs = "y present_key? present_value? output_qk?",
     .attributes = "causal:int=1; do_rotary:int=0; k_quant_type:string=NONE; "
                   "kv_cache_bit_width:int=0; "
                   "k_norm_epsilon:float; kv_num_heads:!int; local_window_size:int=-1; "
                   "num_heads:!int; q_norm_epsilon:float; qk_norm_epsilon:float=1e-6; "
                   "qk_output:int=0; rotary_interleaved:int=0; scale:float=0; "
                   "sliding_window_cache:int=0; "
                   "smooth_softmax:int=0; softcap:float=0; v_quant_type:string=NONE",
     .infer = infer_grouped, .run = run_grouped, .work = ULP_WORK_CONTRACTION,
     .formulas = ULP_FORMULAS(&ulp_attend_average, &normal, &ulp_rotate_pairs, &ulp_cache_quantize,
                              &ulp_cache_lower, &ulp_cache_dequantize),
     .check = check_grouped, .quantizes = true, .hands_integers = true},
    {0},
};
/* clang-format on */
