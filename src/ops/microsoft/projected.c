/* Domain com.microsoft: Attention and QAttention. Query, key and value are three parts of input *
 * weights + bias. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/microsoft/microsoft_attention.h"
#include "ops/ops_move.h"

struct projected {
    /* the features of query (and of key), and of value */
    int64_t batch, length, heads, past, query, value;
    const struct ulp_tensor *mask, *past_both;
};

static enum ulp_status check_projected(struct ulp_call *call)
{
    return ulp_microsoft_refuse(call, call->bound->op->parameter ? 9 : 6,
                                (const char *const[]){"past_present_share_buffer", NULL});
}

static enum ulp_status read_projected(const struct ulp_call *call, struct projected *p)
{
    const struct ulp_tensor *in = call->in[0], *weights = call->in[1];
    const struct ulp_attribute_value *sizes = ulp_call_attribute(call, "qkv_hidden_sizes");
    *p = (struct projected){.heads = ulp_call_int(call, "num_heads"),
                            .mask = ulp_call_input(call, "mask_index"),
                            .past_both = ulp_call_input(call, "past")};
    if (in->rank != 3 || weights->rank != 2 || weights->dims[0] != in->dims[2])
        return ULP_REFUSE(call,
                          "input and weights: expected batch x positions x features and features "
                          "x those of query, key and value");
    const bool given = sizes && sizes->present && sizes->count == 3;
    p->batch = in->dims[0];
    p->length = in->dims[1];
    p->query = given ? sizes->ints[0] : weights->dims[1] / 3;
    p->value = given ? sizes->ints[2] : weights->dims[1] / 3;
    const int64_t size = p->heads > 0 ? p->query / p->heads : 0;
    const struct ulp_tensor *past = p->past_both;
    p->past = past && past->rank == 5 ? past->dims[3] : 0;
    const bool fits = p->heads > 0 && p->query >= 0 && p->query <= weights->dims[1] &&
                      p->value >= 0 && p->value <= weights->dims[1] &&
                      (!given || sizes->ints[1] == p->query) && p->query % p->heads == 0 &&
                      p->value % p->heads == 0 && 2 * p->query + p->value == weights->dims[1];
    const bool fits_past =
        !past || (past->rank == 5 && past->dims[0] == 2 && past->dims[1] == p->batch &&
                  past->dims[2] == p->heads && past->dims[4] == size);
    if (!fits || !fits_past || ((past || call->output_count > 1) && p->query != p->value))
        return ULP_REFUSE(call,
                          "weights for %lld features, %lld heads and past do not fit each other",
                          (long long)weights->dims[1], (long long)p->heads);
    return ULP_OK;
}

static enum ulp_status infer_projected(struct ulp_call *call)
{
    struct projected p;
    const bool quantized = call->bound->op->parameter;
    ULP_TRY(read_projected(call, &p));
    const enum ulp_type type = call->in[quantized ? 2 : 0]->type;
    const int64_t y[] = {p.batch, p.length, p.value};
    const int64_t present[] = {2, p.batch, p.heads, p.past + p.length, p.value / p.heads};
    ULP_TRY(ulp_call_describe(call, 0, type, 3, y));
    return ulp_call_describe(call, 1, type, 5, present);
}

/* One of the two halves of past or present, heads first. */
static enum ulp_status view_half(const struct ulp_call *call, const struct ulp_tensor *both,
                                 int64_t half, struct ulp_tensor **out)
{
    ULP_TRY(ulp_call_take(call, 1, sizeof **out, out));
    **out = ulp_tensor_view(both);
    (*out)->rank = 4;
    memcpy((*out)->dims, both->dims + 1, 4 * sizeof *both->dims);
    (*out)->count = both->count / 2;
    if ((*out)->count)
        (*out)->data = ulp_element_at(both, (size_t)half * (*out)->count);
    return ULP_OK;
}

static enum ulp_status project(struct ulp_call *call, struct ulp_tensor *all)
{
    struct ulp_call inner = *call;
    struct ulp_sums sums;
    inner.out = all;
    inner.output_count = 1;
    if (call->bound->op->parameter)
        return ulp_integer_sums(&inner, (const struct ulp_tensor *[]){call->in[0], call->in[1]},
                                (const struct ulp_tensor *[]){ulp_call_in(call, 6),
                                                              ulp_call_in(call, 7)},
                                ULP_PRODUCT_MATMUL, "--bbb----");
    ULP_TRY(ulp_sums_begin(&inner, all->type, ulp_call_in(call, 2), &sums));
    ULP_TRY(ulp_matmul_sums(&inner, call->in[0], call->in[1], &sums));
    return ulp_sums_end(&inner, &sums, "--b---");
}

/* ---- do_rotary: what ONNX Runtime's CUDA kernel computes ---- */

static const struct ulp_formula angles = {
    "place pair size", "cosine sine",
    "angle = place / pow(10000, 2 * pair / size); sine = sin(angle); cos(angle)"};

/* 0, 1, ... plus first. */
static enum ulp_status count_from(struct ulp_call *call, int64_t first, int64_t count,
                                  struct ulp_tensor *out)
{
    ULP_TRY(ulp_call_make_here(call, out, ULP_TYPE_INT64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        ((int64_t *)out->data)[i] = first + i;
    return ULP_OK;
}

/* Cosines and sines of the places of the new positions, in FP32 at least. */
static enum ulp_status make_angles(struct ulp_call *call, const struct projected *p, int64_t turned,
                                   struct ulp_tensor caches[2])
{
    struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const int64_t half = turned / 2, dims[] = {p->length, half};
    struct ulp_tensor places, pairs;
    char size[24];
    ULP_TRY(inner.storage.precision < 24 ? ulp_arithmetic_find("fp32", &inner, call->error)
                                         : ULP_OK);
    ULP_TRY(count_from(call, p->past, p->length, &places));
    ULP_TRY(count_from(call, 0, half, &pairs));
    for (int i = 0; i < 2; i++)
        ULP_TRY(ulp_call_temporary_in(call, &caches[i], &inner.storage, 2, dims));
    snprintf(size, sizeof size, "%lld", (long long)turned);
    const struct ulp_rows rows = {.row_count = (size_t)p->length, .row_length = (size_t)half};
    const struct ulp_named_operand operands[] = {
        {"place", {.tensor = &places, .row_stride = 1}},
        {"pair", {.tensor = &pairs, .position_stride = 1}},
        {"size", {.constant = size}},
    };
    const struct ulp_operand whole = {.row_stride = half, .position_stride = 1};
    struct ulp_named_operand outputs[] = {{"cosine", whole}, {"sine", whole}};
    for (int i = 0; i < 2; i++)
        outputs[i].operand.tensor = &caches[i];
    return ulp_call_formula(call, &angles, &inner, &rows, 3, operands, 2, outputs);
}

/* Query and key turned by their places behind the past, whose keys have been turned; a pair is two
 * features half of rotary_embedding_dim apart. */
static enum ulp_status rotate(struct ulp_call *call, const struct projected *p,
                              struct ulp_attention *a)
{
    const int64_t given =
        call->bound->op->parameter ? 0 : ulp_call_int(call, "rotary_embedding_dim");
    const int64_t turned = given ? given : a->q.size;
    struct ulp_tensor caches[2];
    if (turned < 2 || turned % 2 != 0 || turned > a->q.size)
        return ULP_REFUSE(call,
                          "do_rotary turns %lld features of a head: expected an even number of the "
                          "%lld it has",
                          (long long)turned, (long long)a->q.size);
    ULP_TRY(make_angles(call, p, turned, caches));
    const struct ulp_rotation rotation = {.cosines = &caches[0],
                                          .sines = &caches[1],
                                          .counted = true,
                                          .turned = turned};
    ULP_TRY(ulp_rotate_heads(call, &rotation, &a->query, &a->q));
    return ulp_rotate_heads(call, &rotation, &a->key, &a->k);
}

static enum ulp_status run_projected(struct ulp_call *call)
{
    struct projected p;
    struct ulp_tensor all, *halves[4] = {NULL};
    ULP_TRY(read_projected(call, &p));
    const int64_t width = 2 * p.query + p.value, dims[] = {p.batch, p.length, width};
    ULP_TRY(ulp_call_make_here(call, &all, call->out[0].type, 3, dims));
    ULP_TRY(project(call, &all));
    const int64_t size = p.query / p.heads, v_size = p.value / p.heads;
    struct ulp_attention a = {
        .query = &all,
        .q = {p.batch, p.heads, p.length, size, p.length * width, size, width, 0},
        .k = {p.batch, p.heads, p.length, size, p.length * width, size, width, 0},
        .v = {p.batch, p.heads, p.length, v_size, p.length * width, v_size, width, 0},
        .past = p.past,
        .mask = ulp_call_input(call, "attention_bias"),
        .left = -1,
        .right = -1,
        .scale = ulp_microsoft_scale(call),
        .causal = ulp_call_int(call, "unidirectional"),
        .out = &call->out[0],
        .y = ulp_heads_packed(p.batch, p.heads, p.length, v_size),
    };
    ULP_TRY(ulp_microsoft_view(call, &all, p.query, &a.key));
    ULP_TRY(ulp_microsoft_view(call, &all, 2 * p.query, &a.value));
    if (ulp_call_int(call, "do_rotary"))
        ULP_TRY(rotate(call, &p, &a));
    for (int64_t i = 0; i < 2 && p.past_both; i++)
        ULP_TRY(view_half(call, p.past_both, i, &halves[i]));
    for (int64_t i = 0; i < 2 && ulp_call_wants(call, 1); i++)
        ULP_TRY(view_half(call, &call->out[1], i, &halves[2 + i]));
    a.past_key = halves[0];
    a.past_value = halves[1];
    a.present_key = halves[2];
    a.present_value = halves[3];
    ULP_TRY(ulp_microsoft_hide(call, p.mask, &a));
    return ulp_attend(call, &a);
}

#define MS .domain = "com.microsoft", .since = 1
#define PROJECTED                                                                 \
    .infer = infer_projected, .run = run_projected, .work = ULP_WORK_CONTRACTION, \
    .formulas = ULP_FORMULAS(&ulp_attend_average, &angles, &ulp_rotate_pairs),    \
    .check = check_projected
#define MASKED                                                          \
    "do_rotary:int=0; mask_filter_value:float=-10000; num_heads:!int; " \
    "past_present_share_buffer:int=0; "                                 \
    "scale:float=0; unidirectional:int=0"

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_projected[] = {
    {.name = "Attention", MS, .kernel = "attention",
     .inputs = "input:m weights:m bias:m?=-0 mask_index:i? past:m? attention_bias:m? past_sequence_length:i?",
     .outputs = "y present?", .attributes = "qkv_hidden_sizes:ints; rotary_embedding_dim:int; "
                                        "" MASKED, PROJECTED,
     .weights = "weights", .epilogue = "acc + bias"},
    {.name = "QAttention", MS, .kernel = "attention",
     .inputs = "input:i weight:i bias:fm input_scale:pm weight_scale:pm mask_index:i? "
               "input_zero_point:i? weight_zero_point:i? past:m?",
     .outputs = "y present?", .attributes = MASKED, PROJECTED, .parameter = 1,
     .weights = "weight", .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED,
     .epilogue = "acc * (input_scale * weight_scale) + bias"},
    {0},
};
/* clang-format on */
