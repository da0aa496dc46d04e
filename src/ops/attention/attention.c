/* ai.onnx's Attention. */
#include "ops/attention/attention.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static enum ulp_status read_attention(const struct ulp_call *call, struct ulp_attention *a)
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
    ULP_TRY(ulp_heads_read(a->query, ulp_call_int(call, "q_num_heads"), &a->q, call->error));
    ULP_TRY(ulp_heads_read(a->key, ulp_call_int(call, "kv_num_heads"), &a->k, call->error));
    ULP_TRY(ulp_heads_read(a->value, ulp_call_int(call, "kv_num_heads"), &a->v, call->error));
    a->y = a->query->rank == 3 ? ulp_heads_packed(a->q.batch, a->q.heads, a->q.length, a->v.size)
                               : ulp_heads_first(a->q.batch, a->q.heads, a->q.length, a->v.size);
    return ulp_attention_check(a, call->error);
}

static enum ulp_status infer_attention(struct ulp_call *call)
{
    struct ulp_attention a;
    ULP_TRY(read_attention(call, &a));
    const enum ulp_type type = call->in[0]->type;
    const int64_t total = a.past + a.k.length, y4[] = {a.q.batch, a.q.heads, a.q.length, a.v.size};
    const int64_t y3[] = {a.q.batch, a.q.length, a.q.heads * a.v.size},
                  key[] = {a.k.batch, a.k.heads, total, a.k.size};
    const int64_t value[] = {a.v.batch, a.v.heads, total, a.v.size};
    const int64_t scores[] = {a.q.batch, a.q.heads, a.q.length, total};
    const bool packed = call->in[0]->rank == 3;
    ULP_TRY(ulp_call_describe(call, 0, type, packed ? 3 : 4, packed ? y3 : y4));
    ULP_TRY(ulp_call_describe(call, 1, type, 4, key));
    ULP_TRY(ulp_call_describe(call, 2, type, 4, value));
    return ulp_call_describe(call, 3, type, 4, scores);
}

static enum ulp_status run_attention(struct ulp_call *call)
{
    /* by qk_matmul_output_mode */
    static const char *const shown[] = {"raw", "capped", "masked", "p"};
    const struct ulp_tensor *given = ulp_call_input(call, "nonpad_kv_seqlen");
    const int64_t mode = ulp_call_int(call, "qk_matmul_output_mode");
    struct ulp_attention a;
    int64_t *lengths, *starts;
    ULP_TRY(read_attention(call, &a));
    if (mode < 0 || mode > 3)
        return ULP_REFUSE(call, "qk_matmul_output_mode is %lld", (long long)mode);
    if (given && given->count != (size_t)a.q.batch)
        return ULP_REFUSE(call, "nonpad_kv_seqlen has %zu entries", given->count);
    if (given) {
        ULP_TRY(ulp_call_take(call, given->count, sizeof *lengths, &lengths));
        ULP_TRY(ulp_call_take(call, given->count, sizeof *starts, &starts));
    }
    for (size_t b = 0; given && b < given->count; b++) {
        lengths[b] = ulp_tensor_get_int(given, b);
        if (lengths[b] < 0 || lengths[b] > a.past + a.k.length)
            return ULP_REFUSE(call, "nonpad_kv_seqlen[%zu] is %lld: there are %lld keys", b,
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
    return ulp_attend(call, &a);
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

enum { OPERANDS_FROM = 3, OPERANDS_MAX = 8 };

static enum ulp_status read_written(const struct ulp_call *call, struct ulp_attention *a)
{
    const struct ulp_attribute_value *layout = ulp_call_attribute(call, "layout"),
                                     *scale = ulp_call_attribute(call, "scale");
    struct ulp_heads *const of[] = {&a->q, &a->k, &a->v, &a->y};
    const size_t size = sizeof a->q / sizeof(int64_t);
    *a = (struct ulp_attention){.query = call->in[0],
                                .key = call->in[1],
                                .value = call->in[2],
                                .left = -1,
                                .right = -1,
                                .scale = (double)scale->floats[0] + scale->floats[1]};
    for (size_t i = 0; i < 4; i++)
        memcpy(of[i], layout->ints + i * size, sizeof *of[i]);
    return ulp_attention_check(a, call->error);
}

static enum ulp_status infer_written(struct ulp_call *call)
{
    const struct ulp_attribute_value *shape = ulp_call_attribute(call, "shape");
    return ulp_call_describe(call, 0, call->in[0]->type, (int)shape->count, shape->ints);
}

/* Which keys all masks of roles 's' (seen) and 'h' (hidden) leave. */
static enum ulp_status join_masks(struct ulp_call *call, const char *roles,
                                  const struct ulp_tensor *masks, struct ulp_tensor *seen)
{
    int64_t dims[4] = {1, 1, 1, 1};
    for (size_t m = 0; roles[m]; m++)
        for (int d = 0; d < 4 && strchr("sh", roles[m]); d++)
            dims[d] = masks[m].dims[d] > dims[d] ? masks[m].dims[d] : dims[d];
    ULP_TRY(ulp_call_make_here(call, seen, ULP_TYPE_BOOL, 4, dims));
    for (size_t i = 0; i < seen->count; i++) {
        bool sees = true;
        for (size_t m = 0; roles[m]; m++) {
            size_t index = 0, rest = i, stride = 1;
            for (int d = 3; d >= 0 && strchr("sh", roles[m]); d--) {
                index += masks[m].dims[d] == 1 ? 0 : rest % (size_t)dims[d] * stride;
                rest /= (size_t)dims[d];
                stride *= (size_t)masks[m].dims[d];
            }
            if (strchr("sh", roles[m]))
                sees = sees && (ulp_tensor_get_int(&masks[m], index) != 0) == (roles[m] == 's');
        }
        ((uint8_t *)seen->data)[i] = sees;
    }
    return ULP_OK;
}

static enum ulp_status run_written(struct ulp_call *call)
{
    const char *roles = ulp_call_attribute(call, "roles")->s;
    const int64_t *dims = ulp_call_attribute(call, "dims")->ints;
    struct ulp_attention a;
    struct ulp_tensor operands[OPERANDS_MAX], seen;
    ULP_TRY(read_written(call, &a));
    for (size_t m = 0; m < OPERANDS_MAX && roles[m]; m++) {
        operands[m] = ulp_tensor_view(call->in[OPERANDS_FROM + m]);
        operands[m].rank = 4;
        memcpy(operands[m].dims, dims + 4 * m, 4 * sizeof *dims);
        a.mask = roles[m] == 'a' ? &operands[m] : a.mask;
        a.sink = roles[m] == 'z' ? &operands[m] : a.sink;
    }
    if (strpbrk(roles, "sh")) {
        ULP_TRY(join_masks(call, roles, operands, &seen));
        a.seen = &seen;
    }
    a.between = ulp_call_attribute(call, "between")->s;
    a.operands = operands;
    a.operand_count = strlen(roles);
    a.out = &call->out[0];
    return ulp_attend(call, &a);
}

/* clang-format off */
const struct ulp_operator ulp_operator_written_attention = {
    .name = "Attention", .since = 1, .inputs = "q k v:f m0:*? m1:*? m2:*? m3:*? m4:*? m5:*? m6:*? m7:*?", .outputs = "y",
    .attributes = "between:string; dims:ints; layout:ints; roles:string; scale:floats; shape:ints",
    .infer = infer_written, .run = run_written, .work = ULP_WORK_CONTRACTION, .kernel = "attention",
    .formulas = ULP_FORMULAS(&ulp_attend_average)};
/* clang-format on */
