/* Domain com.microsoft: MultiHeadAttention and RotaryEmbedding, as ONNX Runtime's optimiser fuses
 * them. Attention prepares query, key, value and mask for ulp_attend. Layouts: B batches, S
 * queries, T keys, P past keys, N heads of H features. */
#include <math.h>

#include "base/error.h"
#include "ops/microsoft/microsoft_attention.h"
#include "ops/ops_move.h"

float ulp_microsoft_scale(const struct ulp_call *call)
{
    const float scale = ulp_call_attribute(call, "scale")->f;
    return scale != 0 ? scale : NAN;
}

enum ulp_status ulp_microsoft_refuse(const struct ulp_call *call, size_t first,
                                     const char *const *attributes)
{
    const struct ulp_node *node = call->bound->node;
    for (size_t i = first; i < node->input_count; i++)
        if (node->inputs[i] >= 0)
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "input %zu is not supported", i);
    for (; *attributes; attributes++)
        if (ulp_call_int(call, *attributes))
            return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "%s=%lld is not supported",
                            *attributes, (long long)ulp_call_int(call, *attributes));
    return ULP_OK;
}

/* ---- masks: where mask_filter_value is added to a score ---- */

enum ulp_status ulp_microsoft_hide(struct ulp_call *call, const struct ulp_tensor *mask,
                                   struct ulp_attention *a)
{
    const int64_t batch = a->q.batch, length = a->q.length, total = a->past + a->k.length;
    const int64_t dims[] = {batch, 1, length, total}, count = mask ? (int64_t)mask->count : 0;
    const bool ends =
        mask && mask->rank == 1 && (count == batch || count == 2 * batch || count == 3 * batch + 2);
    const bool keys = mask && mask->rank == 2 && mask->dims[0] == batch && mask->dims[1] == total;
    const bool pairs = mask && mask->rank == 3 && mask->dims[0] == batch &&
                       mask->dims[1] == length && mask->dims[2] == total;
    struct ulp_tensor *hidden;
    if (!mask)
        return ULP_OK;
    if (!ends && !keys && !pairs) {
        char text[200];
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "the mask is %s: expected %lld, %lld or %lld ends of keys, "
                        "[%lld,%lld] or [%lld,%lld,%lld]",
                        ulp_tensor_describe_text(mask, text, sizeof text), (long long)batch,
                        (long long)batch * 2, (long long)batch * 3 + 2, (long long)batch,
                        (long long)total, (long long)batch, (long long)length, (long long)total);
    }
    ULP_TRY(ulp_call_make(call, ULP_TYPE_INT32, 4, dims, &hidden));
    for (int64_t n = 0; n < (int64_t)hidden->count; n++) {
        const int64_t b = n / (length * total), j = n % total;
        const bool sees =
            ends ? j < ulp_tensor_get_int(mask, (size_t)b) &&
                       (count != 2 * batch || j >= ulp_tensor_get_int(mask, (size_t)(batch + b)))
                 : ulp_tensor_get_int(mask, (size_t)(keys ? b * total + j : n)) > 0;
        ((int32_t *)hidden->data)[n] = !sees;
    }
    a->stored = !ends && call->arithmetic->steps == ULP_STEPS_ORT_CUDA;
    a->hidden = hidden;
    a->filter = ulp_call_attribute(call, "mask_filter_value")->f;
    return ULP_OK;
}

/* ---- MultiHeadAttention ---- */

enum ulp_status ulp_microsoft_view(const struct ulp_call *call, const struct ulp_tensor *tensor,
                                   int64_t first, const struct ulp_tensor **out)
{
    ULP_CALL_TAKE(struct ulp_tensor, view, call, 1);
    *view = ulp_tensor_view_from(tensor, (size_t)first);
    *out = view;
    return ULP_OK;
}

/* Part `part` of the `parts` that lie beside each other for every head: B x S x N x parts x H. */
static enum ulp_status read_packed(const struct ulp_call *call, const struct ulp_tensor *in,
                                   int64_t parts, int64_t part, const struct ulp_tensor **out,
                                   struct ulp_heads *h)
{
    if (in->rank != 5 || in->dims[3] != parts)
        return ULP_REFUSE(call,
                          "packed heads of rank %d: expected batch x positions x heads x %lld x "
                          "features",
                          in->rank, (long long)parts);
    const int64_t heads = in->dims[2], size = in->dims[4], step = heads * parts * size;
    *h = (struct ulp_heads){in->dims[0],        heads,        in->dims[1], size,
                            in->dims[1] * step, parts * size, step,        0};
    return ulp_microsoft_view(call, in, part * size, out);
}

static enum ulp_status read_multi_head(const struct ulp_call *call, struct ulp_attention *a)
{
    const struct ulp_tensor *q = call->in[0], *k = ulp_call_in(call, 1), *v = ulp_call_in(call, 2);
    const int64_t heads = ulp_call_int(call, "num_heads");
    *a = (struct ulp_attention){.mask = ulp_call_in(call, 5),
                                .past_key = ulp_call_in(call, 6),
                                .left = -1,
                                .right = -1,
                                .past_value = ulp_call_in(call, 7),
                                .scale = ulp_microsoft_scale(call),
                                .query = q,
                                .causal = ulp_call_int(call, "unidirectional")};
    a->past = a->past_key && a->past_key->rank == 4 ? a->past_key->dims[2] : 0;
    const bool all = !k, both = k && !v;
    ULP_TRY(all ? read_packed(call, q, 3, 0, &a->query, &a->q)
                : ulp_heads_read(q, heads, &a->q, call->error));
    a->key = k;
    a->value = v;
    ULP_TRY(all    ? read_packed(call, q, 3, 1, &a->key, &a->k)
            : both ? read_packed(call, k, 2, 0, &a->key, &a->k)
                   : ulp_heads_read(k, heads, &a->k, call->error));
    ULP_TRY(all    ? read_packed(call, q, 3, 2, &a->value, &a->v)
            : both ? read_packed(call, k, 2, 1, &a->value, &a->v)
                   : ulp_heads_read(v, heads, &a->v, call->error));
    if (a->q.heads != heads)
        return ULP_REFUSE(call, "query has %lld heads, num_heads is %lld", (long long)a->q.heads,
                          (long long)heads);
    a->y = ulp_heads_packed(a->q.batch, heads, a->q.length, a->v.size);
    return ulp_attention_check(a, call->error);
}

static enum ulp_status infer_multi_head(struct ulp_call *call)
{
    struct ulp_attention a;
    ULP_TRY(read_multi_head(call, &a));
    const int64_t y[] = {a.q.batch, a.q.length, a.q.heads * a.v.size}, total = a.past + a.k.length;
    const int64_t key[] = {a.k.batch, a.k.heads, total, a.k.size},
                  value[] = {a.v.batch, a.v.heads, total, a.v.size};
    ULP_TRY(ulp_call_describe(call, 0, call->in[0]->type, 3, y));
    ULP_TRY(ulp_call_describe(call, 1, call->in[0]->type, 4, key));
    return ulp_call_describe(call, 2, call->in[0]->type, 4, value);
}

static enum ulp_status check_multi_head(struct ulp_call *call)
{
    return ulp_microsoft_refuse(call, 8, (const char *const[]){NULL});
}

static const struct ulp_formula biased = {"x bias", "y", "x + bias"};

/* *in plus the part of the bias from `first` on, for each position the same; *in and *h become
 * those of the sum. */
static enum ulp_status add_bias(struct ulp_call *call, const struct ulp_tensor *bias, int64_t first,
                                const struct ulp_tensor **in, struct ulp_heads *h)
{
    const struct ulp_heads from = *h, to = ulp_heads_packed(h->batch, h->heads, h->length, h->size);
    const int64_t count = h->batch * h->length * h->heads,
                  dims[] = {h->batch, h->length, h->heads, h->size};
    struct ulp_tensor *out;
    if (first + h->heads * h->size > (int64_t)bias->count)
        return ULP_REFUSE(call,
                          "a bias of %zu elements: expected one for each feature of query, key "
                          "and value",
                          bias->count);
    ULP_TRY(ulp_call_make(call, (*in)->type, 4, dims, &out));
    ULP_CALL_TAKE(int64_t, x_row, call, (size_t)count);
    ULP_CALL_TAKE(int64_t, bias_row, call, (size_t)count);
    if (out->count == 0)
        return ULP_OK;
    for (int64_t r = 0; r < count; r++) {
        const int64_t head = r % from.heads;
        x_row[r] = r / (from.length * from.heads) * from.batch_step +
                   r / from.heads % from.length * from.step + head * from.head_step;
        bias_row[r] = first + head * from.size;
    }
    const struct ulp_rows rows = {.row_count = (size_t)count, .row_length = (size_t)from.size};
    const struct ulp_named_operand operands[] = {
        {"x", {.tensor = *in, .row_offset = x_row, .position_stride = 1}},
        {"bias", {.tensor = bias, .row_offset = bias_row, .position_stride = 1}},
    };
    const struct ulp_named_operand result = {
        "y", {.tensor = out, .row_stride = from.size, .position_stride = 1}};
    *in = out;
    *h = to;
    return ulp_call_formula(call, &biased, call->arithmetic, &rows, 2, operands, 1, &result);
}

static enum ulp_status run_multi_head(struct ulp_call *call)
{
    const struct ulp_tensor *bias = ulp_call_in(call, 3), *k = ulp_call_in(call, 1);
    struct ulp_attention a;
    ULP_TRY(read_multi_head(call, &a));
    const int64_t features = a.q.heads * a.q.size;
    if (bias)
        ULP_TRY(add_bias(call, bias, 0, &a.query, &a.q));
    /* keys with heads first are another call's, bias and all */
    if (bias && !(k && k->rank == 4)) {
        ULP_TRY(add_bias(call, bias, features, &a.key, &a.k));
        ULP_TRY(add_bias(call, bias, 2 * features, &a.value, &a.v));
    }
    ULP_TRY(ulp_microsoft_hide(call, ulp_call_in(call, 4), &a));
    a.out = ulp_call_wants(call, 0) ? &call->out[0] : NULL;
    a.present_key = ulp_call_wants(call, 1) ? &call->out[1] : NULL;
    a.present_value = ulp_call_wants(call, 2) ? &call->out[2] : NULL;
    return ulp_attend(call, &a);
}

/* ---- RotaryEmbedding: position_ids before the caches; one entry is the first position of every
 * batch ---- */

static enum ulp_status check_rotary(struct ulp_call *call)
{
    if (ulp_call_attribute(call, "scale")->f != 1)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "a scale other than 1 is not supported");
    return ulp_microsoft_refuse(call, 4, (const char *const[]){NULL});
}

static enum ulp_status run_rotary(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *given = call->in[1], *cosines = call->in[2];
    const int64_t turned = ulp_call_int(call, "rotary_embedding_dim"),
                  heads = ulp_call_int(call, "num_heads");
    const bool one = given->count == 1;
    struct ulp_heads h;
    if (cosines->rank != 2 || x->rank < 3 || cosines->dims[1] < 1)
        return ULP_REFUSE(call, "input of rank %d and cos_cache of rank %d: expected 3 or 4, and 2",
                          x->rank, cosines->rank);
    ULP_TRY(
        ulp_heads_read(x, heads ? heads : x->dims[2] / (2 * cosines->dims[1]), &h, call->error));
    const struct ulp_rotation rotation = {.cosines = cosines,
                                          .sines = call->in[3],
                                          .ids = one ? NULL : given,
                                          .counted = one,
                                          .first = one ? ulp_tensor_get_int(given, 0) : 0,
                                          .turned = turned ? turned : 2 * cosines->dims[1],
                                          .interleaved = ulp_call_int(call, "interleaved")};
    return ulp_rotate(call, &rotation, &call->out[0], &h, x, &h);
}

/* ---- MRotaryEmbedding: positions in time, height and width; each pair of features is turned by
 * one of the three ---- */

/* Which of the three turns pair i of `half`: in runs of mrope_section, or every third. */
static int64_t find_stream(const int64_t *sections, bool interleaved, int64_t i)
{
    if (interleaved)
        return i % 3 && i < 3 * sections[i % 3] ? i % 3 : 0;
    return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
}

static enum ulp_status run_rotary_streams(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *ids = call->in[1];
    const struct ulp_attribute_value *sections = ulp_call_attribute(call, "mrope_section");
    const int64_t given = ulp_call_int(call, "rotary_embedding_dim"),
                  heads = ulp_call_int(call, "num_heads"),
                  half = call->in[2]->rank == 2 ? call->in[2]->dims[1] : 0;
    struct ulp_tensor *angles[2];
    struct ulp_heads h;
    if (x->rank < 3 || half < 1 || sections->count != 3 || sections->ints[0] < 0 ||
        sections->ints[1] < 0 || sections->ints[2] < 0 ||
        sections->ints[0] + sections->ints[1] + sections->ints[2] != half)
        return ULP_REFUSE(
            call,
            "expected an input of rank 3 or 4, cos_cache of rank 2 and a mrope_section "
            "of three sizes that are its %lld columns together",
            (long long)half);
    ULP_TRY(ulp_heads_read(x, heads ? heads : x->dims[2] / (2 * half), &h, call->error));
    const int64_t positions = h.batch * h.length, dims[] = {positions, half};
    if (ids->count != (size_t)(3 * positions))
        return ULP_REFUSE(call, "position_ids has %zu elements: expected 3 x %lld", ids->count,
                          (long long)positions);
    for (int a = 0; a < 2; a++) {
        const struct ulp_tensor *cache = call->in[2 + a];
        ULP_TRY(ulp_call_make(call, cache->type, 2, dims, &angles[a]));
        for (int64_t i = 0; i < positions * half; i++) {
            const int64_t stream =
                find_stream(sections->ints, ulp_call_int(call, "mrope_layout") == 1, i % half);
            const int64_t at = ulp_tensor_get_int(ids, (size_t)(stream * positions + i / half));
            if (at < 0 || at >= (int64_t)cache->count / half)
                return ULP_REFUSE(call, "position %lld is outside the cache", (long long)at);
            ulp_move_run(angles[a], (size_t)i, cache, (size_t)(at * half + i % half), 1);
        }
    }
    const struct ulp_rotation rotation = {.cosines = angles[0],
                                          .sines = angles[1],
                                          .turned = given ? given : 2 * half,
                                          .interleaved = ulp_call_int(call, "interleaved")};
    return ulp_rotate(call, &rotation, &call->out[0], &h, x, &h);
}

#define MS .domain = "com.microsoft", .since = 1

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_attention[] = {
    {.name = "MultiHeadAttention", MS,
     .inputs = "query:m key:m? value:m? bias:m? key_padding_mask:i? attention_bias:m? past_key:m? past_value:m? "
               "past_sequence_length:i? cache_indirection:i?",
     .outputs = "y present_key? present_value?",
     .attributes = "mask_filter_value:float=-10000; num_heads:!int; scale:float=0; "
                   "unidirectional:int=0",
     .infer = infer_multi_head, .run = run_multi_head, .work = ULP_WORK_CONTRACTION,
     .kernel = "attention",
     .formulas = ULP_FORMULAS(&ulp_attend_average, &biased),
     .check = check_multi_head},
    {.name = "MRotaryEmbedding", MS,
     .inputs = "input:m position_ids:i cos_cache:m sin_cache:m", .outputs = "y",
     .attributes = "interleaved:int=0; is_packed_batching:int=0; mrope_layout:int=0; "
                   "mrope_section:!ints; num_heads:int=0; rotary_embedding_dim:int=0; "
                   "scale:float=1",
     .infer = ulp_infer_first, .run = run_rotary_streams,
     .formulas = ULP_FORMULAS(&ulp_rotate_pairs), .check = check_rotary},
    {.name = "RotaryEmbedding", MS, .inputs = "input:m position_ids:i cos_cache:m sin_cache:m",
     .outputs = "y",
     .attributes = "interleaved:int=0; is_packed_batching:int=0; num_heads:int=0; "
                   "rotary_embedding_dim:int=0; "
                   "scale:float=1",
     .infer = ulp_infer_first, .run = run_rotary,
     .formulas = ULP_FORMULAS(&ulp_rotate_pairs), .check = check_rotary},
    {0},
};
/* clang-format on */
