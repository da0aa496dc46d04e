/* com.microsoft's MoE, and QMoE, whose weights are integers: a mixture of experts. Each row of the
 * input goes to the k experts of its largest router values; an expert is a product, an activation
 * and another product, and what experts give is added by the softmax of the chosen router values,
 * or by router_weights in their places. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "ops/compare.h"
#include "ops/contraction.h"
#include "ops/microsoft/bits.h"
#include "ops/microsoft/microsoft_attention.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

enum { X, ROUTER, GLOBAL_SCALES = 15 };

struct experts {
    int64_t rows, hidden, inter, count, chosen; /* chosen: for a row */
    int64_t width;                              /* of what FC1 gives: twice inter with SwiGLU */
    int64_t bits, block; /* bits 0: floats; block 0: one scale for each output */
};

/* One of an expert's two weights: a row of k values for each of its n outputs. */
struct layer {
    const struct ulp_tensor *weights, *scales, *zeros, *bias;
    int64_t n, k, blocks;
};

static const struct activation {
    const char *name, *text; /* of x + bias; SwiGLU's of both halves */
} activations[] = {
    {"relu", "max(x + bias, 0)"},
    {"gelu", "v = x + bias; v / 2 * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))"},
    {"silu", "v = x + bias; v * sigmoid(v)"},
    {"identity", "x + bias"},
    {"swiglu", "g = x + bias; g * sigmoid(alpha * g) * (up + up_bias + beta)"},
};
/* SwiGLU with a limit */
static const char limited[] =
    "g = min(x + bias, limit); u = max(min(up + up_bias, limit), -limit); "
    "g * sigmoid(alpha * g) * (u + beta)";

static const struct ulp_formula unpacked = {"q scale zero", "y", "(q - zero) * scale"};
static const struct ulp_formula soft = {"x", "y", "e = exp(x - row_max(x)); e / row_sum(e)"};
static const struct ulp_formula normal = {"x", "y", "all = row_sum(x); all == 0 ? 0 : x / all"};
static const struct ulp_formula same = {"x", "y", "x"};
static const struct ulp_formula mixed = {"before x bias weight", "y",
                                         "before + weight * (x + bias)"};

/* ---- what is there ---- */

static enum ulp_status check_experts(struct ulp_call *call)
{
    static const char *const zeros[] = {"use_sparse_mixer",       "swiglu_limit_after_activation",
                                        "fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                        "fc3_expert_weight_bits", NULL};
    if (ulp_call_attribute(call, "quant_type")->present && !ulp_call_is(call, "quant_type", "int"))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "quant_type is not int: integer weights alone are supported");
    if (ulp_call_input(call, "fc3_experts_weights"))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "fc3_experts_weights: gate and linear part in FC1 (swiglu_fusion) alone "
                        "are supported");
    if (ulp_call_int(call, "weights_prepacked") > 0)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "weights_prepacked=1: how a GPU's kernels lay weights is not known");
    return ulp_microsoft_refuse(call, GLOBAL_SCALES, zeros);
}

static const struct activation *find_activation(const struct ulp_call *call)
{
    for (size_t a = 0; a < sizeof activations / sizeof *activations; a++)
        if (ulp_call_is(call, "activation_type", activations[a].name))
            return &activations[a];
    return NULL;
}
static bool is_gated(const struct ulp_call *call)
{
    return ulp_call_is(call, "activation_type", "swiglu");
}

static int64_t packed_bytes(const struct experts *e, int64_t values)
{
    return (ulp_dim_mul(values, e->bits) + 7) / 8;
}

/* Do scales, zero points and bias fit a layer's weights? */
static bool fits(const struct experts *e, const struct layer *layer)
{
    const struct ulp_tensor *w = layer->weights, *s = layer->scales, *z = layer->zeros,
                            *b = layer->bias;
    const int64_t zero_row = packed_bytes(e, e->block ? layer->blocks : layer->n);
    return w->rank == 3 && w->dims[0] == e->count && w->dims[1] == layer->n &&
           w->dims[2] == (e->bits ? packed_bytes(e, layer->k) : layer->k) &&
           (!e->bits || (s && s->rank == (e->block ? 3 : 2) && s->dims[0] == e->count &&
                         s->dims[1] == layer->n && (!e->block || s->dims[2] == layer->blocks))) &&
           (!z || (z->rank == s->rank && z->dims[0] == e->count &&
                   z->dims[z->rank - 1] == zero_row && (!e->block || z->dims[1] == layer->n))) &&
           (!b || (b->rank == 2 && b->dims[0] == e->count && b->dims[1] == layer->n));
}

static struct layer read_layer(const struct ulp_call *call, const struct experts *e, int which)
{
    static const char *const names[2][4] = {{"fc1_experts_weights", "fc1_scales",
                                             "fc1_experts_bias", "fc1_zero_points"},
                                            {"fc2_experts_weights", "fc2_scales",
                                             "fc2_experts_bias", "fc2_zero_points"}};
    struct layer layer = {.weights = ulp_call_input(call, names[which][0]),
                          .scales = ulp_call_input(call, names[which][1]),
                          .bias = ulp_call_input(call, names[which][2]),
                          .zeros = ulp_call_input(call, names[which][3]),
                          .n = which ? e->hidden : e->width,
                          .k = which ? e->inter : e->hidden};
    layer.blocks = e->block ? layer.k / e->block : 1;
    return layer;
}

static enum ulp_status read_experts(const struct ulp_call *call, struct experts *e)
{
    const struct ulp_tensor *x = call->in[X], *router = call->in[ROUTER],
                            *fc1 = ulp_call_input(call, "fc1_experts_weights"),
                            *weights = ulp_call_input(call, "router_weights");
    const struct ulp_attribute_value *block = ulp_call_attribute(call, "block_size");
    const int64_t fusion = ulp_call_int(call, "swiglu_fusion");
    *e = (struct experts){.chosen = ulp_call_int(call, "k"),
                          .bits = ulp_element_is_float(fc1->element)
                                      ? 0
                                      : ulp_call_int(call, "expert_weight_bits"),
                          .block = block->present ? block->i : 0};
    if (!find_activation(call) || (is_gated(call) && fusion != 1 && fusion != 2))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "activation_type and swiglu_fusion: relu, gelu, silu, identity, and swiglu "
                        "with swiglu_fusion of 1 or 2 are supported");
    if ((e->bits && e->bits != 2 && e->bits != 4 && e->bits != 8) || e->block < 0 ||
        (e->block && (e->block < 16 || e->block & (e->block - 1))))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "weights of %lld bits in blocks of %lld: expected 2, 4 or 8 bits and "
                        "blocks of a power of two, at least 16",
                        (long long)e->bits, (long long)e->block);
    if (x->rank < 2 || x->rank > 3 || router->rank != 2 || fc1->rank != 3)
        return ULP_REFUSE(
            call, "expected an input of rows x features (or batch x positions x features), "
                  "router values of rows x experts and weights of experts x outputs x bytes");
    e->hidden = x->dims[x->rank - 1];
    e->rows = ulp_product(x->dims, x->rank - 1);
    e->count = router->dims[1];
    e->width = fc1->dims[1];
    e->inter = is_gated(call) ? e->width / 2 : e->width;
    const struct layer first = read_layer(call, e, 0), second = read_layer(call, e, 1);
    if (router->dims[0] != e->rows || !fits(e, &first) || !fits(e, &second) ||
        (is_gated(call) && e->width % 2) ||
        (e->block && (e->hidden % e->block || e->inter % e->block)) ||
        (weights &&
         (weights->rank != 2 || weights->dims[0] != e->rows || weights->dims[1] != e->count)))
        return ULP_REFUSE(call,
                          "weights, scales, zero points, biases or router values do not fit %lld "
                          "rows of %lld features, %lld experts and %lld features inside",
                          (long long)e->rows, (long long)e->hidden, (long long)e->count,
                          (long long)e->inter);
    if (e->chosen < 1 || e->chosen > e->count)
        return ULP_REFUSE(call, "k is %lld of %lld experts", (long long)e->chosen,
                          (long long)e->count);
    return ULP_OK;
}

static enum ulp_status infer_experts(struct ulp_call *call)
{
    struct experts e;
    const struct ulp_tensor *x = call->in[X];
    ULP_TRY(read_experts(call, &e));
    return ulp_call_describe(call, 0, x->type, x->rank, x->dims);
}

/* ---- who goes where ---- */

/* As ONNX Runtime's CPU provider orders them: the largest first, of equals the later one. */
struct best {
    const struct ulp_tensor *router;
    size_t first; /* of the row */
};
static int order_experts(const void *a, const void *b, void *context)
{
    const struct best *best = context;
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const int order = ulp_compare(best->router, best->first + (size_t)j, best->first + (size_t)i);
    return order ? order : (i < j) - (i > j);
}

/* The softmax of all router values of each row. */
static enum ulp_status weigh_all(struct ulp_call *call, const struct experts *e,
                                 const struct ulp_arithmetic *inner, struct ulp_tensor *out)
{
    const struct ulp_rows rows = {.row_count = (size_t)e->rows, .row_length = (size_t)e->count};
    const struct ulp_operand whole = {.row_stride = e->count, .position_stride = 1};
    struct ulp_named_operand operand = {"x", whole}, result = {"y", whole};
    ULP_TRY(ulp_call_temporary_in(call, out, &inner->storage, 2, (int64_t[]){e->rows, e->count}));
    operand.operand.tensor = call->in[ROUTER];
    result.operand.tensor = out;
    return ulp_call_formula(call, &soft, inner, &rows, 1, &operand, 1, &result);
}

/* The experts of each row, [row][chosen], and what their results are multiplied by. */
static enum ulp_status choose_experts(struct ulp_call *call, const struct experts *e,
                                      int64_t **experts, struct ulp_tensor *weights)
{
    const struct ulp_tensor *router = call->in[ROUTER],
                            *from = ulp_call_input(call, "router_weights");
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const int64_t dims[] = {e->rows, e->chosen};
    /* without it MoE adds by the softmax of all experts, QMoE of those chosen */
    const bool normalises = ulp_call_int(call, "normalize_routing_weights"),
               all = !e->bits && !normalises;
    struct ulp_tensor *values, full;
    struct best best = {.router = call->followed ? call->followed[ROUTER] : router};
    ULP_TRY(ulp_call_numbers_of(call, &best.router));
    ULP_CALL_TAKE(int64_t, order, call, (size_t)e->count);
    ULP_TRY(ulp_call_take(call, (size_t)(e->rows * e->chosen), sizeof **experts, experts));
    ULP_TRY(ulp_call_make(call, router->type, 2, dims, &values));
    ULP_TRY(ulp_call_temporary_in(call, weights, &inner.storage, 2, dims));
    if (all) {
        ULP_TRY(weigh_all(call, e, &inner, &full));
        values = weights;
        from = &full;
    }
    for (int64_t row = 0; row < e->rows; row++) {
        best.first = (size_t)(row * e->count);
        for (int64_t i = 0; i < e->count; i++)
            order[i] = i;
        qsort_r(order, (size_t)e->count, sizeof *order, order_experts, &best);
        for (int64_t c = 0; c < e->chosen; c++) {
            (*experts)[row * e->chosen + c] = order[c];
            ulp_move_run(values, (size_t)(row * e->chosen + c), from ? from : router,
                         best.first + (size_t)order[c], 1);
        }
    }
    if (all)
        return ULP_OK;
    const struct ulp_rows rows = {.row_count = (size_t)e->rows, .row_length = (size_t)e->chosen};
    const struct ulp_operand whole = {.row_stride = e->chosen, .position_stride = 1};
    struct ulp_named_operand operand = {"x", whole}, result = {"y", whole};
    operand.operand.tensor = values;
    result.operand.tensor = weights;
    const struct ulp_formula *formula = !from ? &soft : normalises ? &normal : &same;
    return ulp_call_formula(call, formula, &inner, &rows, 1, &operand, 1, &result);
}

/* ---- an expert ---- */

/* The weights of expert x, [n][k], rounded once if they are integers. */
static enum ulp_status unpack(struct ulp_call *call, const struct experts *e,
                              const struct layer *layer, int64_t x, struct ulp_tensor **out)
{
    const int64_t dims[] = {layer->n, layer->k}, blocks = layer->blocks;
    const int64_t places = e->block ? layer->n * blocks : layer->n;
    struct ulp_tensor *values, *zeros = NULL, scales;
    if (!e->bits) {
        ULP_TRY(ulp_call_take(call, 1, sizeof **out, out));
        **out = ulp_tensor_view_from(layer->weights, (size_t)(x * layer->n * layer->k));
        return ULP_OK;
    }
    ULP_TRY(ulp_call_make(call, ULP_TYPE_UINT8, 2, dims, &values));
    if (layer->zeros)
        ULP_TRY(ulp_call_make(call, ULP_TYPE_UINT8, 1, &places, &zeros));
    ULP_TRY(ulp_call_make(call, call->in[X]->type, 2, dims, out));
    ULP_CALL_TAKE(int64_t, block_of, call, (size_t)layer->k);
    for (int64_t k = 0; k < layer->k; k++)
        block_of[k] = e->block ? k / e->block : 0;
    ulp_unpack_bits(layer->weights, x * layer->n, layer->n, layer->k, packed_bytes(e, layer->k),
                    e->bits, values);
    if (zeros && e->block)
        ulp_unpack_bits(layer->zeros, x * layer->n, layer->n, blocks, packed_bytes(e, blocks),
                        e->bits, zeros);
    else if (zeros)
        ulp_unpack_bits(layer->zeros, x, 1, layer->n, packed_bytes(e, layer->n), e->bits, zeros);
    const struct ulp_rows rows = {.row_count = (size_t)layer->n, .row_length = (size_t)layer->k};
    const struct ulp_operand lines = {.row_stride = layer->k, .position_stride = 1},
                             scaled = {.row_stride = blocks, .position_offset = block_of};
    struct ulp_named_operand operands[] = {{"q", lines}, {"scale", scaled}, {"zero", scaled}};
    struct ulp_named_operand result = {"y", lines};
    scales = ulp_tensor_view_from(layer->scales, (size_t)(x * places));
    operands[0].operand.tensor = values;
    operands[1].operand.tensor = &scales;
    operands[2].operand.tensor = zeros;
    if (!zeros)
        operands[2].operand = (struct ulp_operand){.constant = ulp_bits_middle[e->bits]};
    result.operand.tensor = *out;
    return ulp_call_formula(call, &unpacked, call->arithmetic, &rows, 3, operands, 1, &result);
}

/* Does ONNX Runtime's CPU provider multiply bytes here? Of blocks of 8 bits always, of 4 where
 * accuracy_level allows it. */
static bool multiplies_bytes(const struct ulp_call *call, const struct experts *e)
{
    return call->arithmetic->schedule.levels_obeyed && !call->trace && e->block &&
           (e->bits == 8 || (e->bits == 4 && ulp_call_int(call, "accuracy_level") == 4)) &&
           call->in[X]->element == ULP_ELEMENT_F32;
}

/* The products of so many lines, each beginning at lines[i] of x, with an expert's weights: sums
 * that are not rounded yet. */
static enum ulp_status multiply_lines(struct ulp_call *call, const struct ulp_tensor *x,
                                      const int64_t *lines, int64_t count,
                                      const struct layer *layer, const struct ulp_tensor *weights,
                                      struct ulp_tensor *out)
{
    const int64_t dims[] = {count, layer->n};
    struct ulp_call inner = *call;
    struct ulp_tensor *result;
    struct ulp_sums sums;
    ULP_TRY(ulp_call_make(call, call->in[X]->type, 2, dims, &result));
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = (size_t)count,
        .n = (size_t)layer->n,
        .k = (size_t)layer->k,
        .a = {.tensor = x, .line_offset = lines},
        .b = {.tensor = weights},
    };
    const struct ulp_product_steps steps = {
        .a_k = 1, .b_line = layer->k, .b_k = 1, .row = layer->n, .column = 1};
    inner.out = result;
    inner.output_count = 1;
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    ULP_TRY(ulp_sums_begin(&inner, result->type, true, &sums));
    ULP_TRY(ulp_sums_add(&inner, &sums, &problem));
    *out = *sums.out;
    return ULP_OK;
}

/* One element of each place behind `first`, of an input that may be left out. */
static struct ulp_operand along(const struct ulp_tensor *tensor, struct ulp_tensor *view,
                                int64_t first, int64_t step)
{
    if (!tensor)
        return (struct ulp_operand){.constant = "-0"};
    *view = ulp_tensor_view_from(tensor, (size_t)first);
    return (struct ulp_operand){.tensor = view, .position_stride = step};
}

static enum ulp_status activate(struct ulp_call *call, const struct experts *e,
                                const struct layer *layer, int64_t x, int64_t count,
                                const struct ulp_tensor *sums, struct ulp_tensor **out)
{
    const struct activation *activation = find_activation(call);
    const struct ulp_attribute_value *limit = ulp_call_attribute(call, "swiglu_limit");
    const bool gated = is_gated(call), limits = gated && limit->present;
    const bool interleaved = ulp_call_int(call, "swiglu_fusion") == 1;
    const int64_t dims[] = {count, e->inter}, step = gated && interleaved ? 2 : 1,
                  up = interleaved ? 1 : e->inter;
    struct ulp_tensor parts[2], biases[2];
    char alpha[40], beta[40], limit_text[40];
    ULP_TRY(ulp_call_make(call, call->in[X]->type, 2, dims, out));
    snprintf(alpha, sizeof alpha, "%a", (double)ulp_call_attribute(call, "activation_alpha")->f);
    snprintf(beta, sizeof beta, "%a", (double)ulp_call_attribute(call, "activation_beta")->f);
    snprintf(limit_text, sizeof limit_text, "%a", limits ? (double)limit->f : 0.0);
    const struct ulp_rows rows = {.row_count = (size_t)count, .row_length = (size_t)e->inter};
    struct ulp_named_operand operands[] = {
        {"x", along(sums, &parts[0], 0, step)},
        {"bias", along(layer->bias, &biases[0], x * e->width, step)},
        {"up", along(sums, &parts[1], gated ? up : 0, step)},
        {"up_bias", along(layer->bias, &biases[1], x * e->width + (gated ? up : 0), step)},
        {"alpha", {.constant = alpha}},
        {"beta", {.constant = beta}},
        {"limit", {.constant = limit_text}},
    };
    operands[0].operand.row_stride = operands[2].operand.row_stride = e->width;
    const struct ulp_named_operand result = {
        "y", {.tensor = *out, .row_stride = e->inter, .position_stride = 1}};
    return ulp_call_text(call, limits ? limited : activation->text, call->arithmetic, &rows,
                         !gated   ? 2
                         : limits ? 7
                                  : 6,
                         operands, 1, &result);
}

/* What the expert makes of its rows, added to theirs of *acc. route: [row][chosen] of each */
static enum ulp_status add_expert(struct ulp_call *call, const struct experts *e, int64_t x,
                                  const int64_t *route, int64_t count,
                                  const struct ulp_tensor *weights, struct ulp_tensor *acc)
{
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const struct layer layers[] = {read_layer(call, e, 0), read_layer(call, e, 1)};
    struct ulp_tensor *w, *active, sums, bias;
    int64_t *lines, *next;
    ULP_TRY(ulp_move_table(call, &lines, (size_t)count, 0, 0));
    ULP_TRY(ulp_move_table(call, &next, (size_t)count, 0, e->inter));
    for (int64_t i = 0; i < count; i++)
        lines[i] = route[i] / e->chosen * e->hidden;
    const struct ulp_tensor *in = call->in[X], *inner_lines;
    if (multiplies_bytes(call, e))
        ULP_TRY(ulp_bits_code_lines(call, (size_t)e->hidden, (size_t)e->block, &in));
    ULP_TRY(unpack(call, e, &layers[0], x, &w));
    ULP_TRY(multiply_lines(call, in, lines, count, &layers[0], w, &sums));
    ULP_TRY(activate(call, e, &layers[0], x, count, &sums, &active));
    ULP_TRY(unpack(call, e, &layers[1], x, &w));
    inner_lines = active;
    if (multiplies_bytes(call, e))
        ULP_TRY(ulp_bits_code_lines(call, (size_t)e->inter, (size_t)e->block, &inner_lines));
    ULP_TRY(multiply_lines(call, inner_lines, next, count, &layers[1], w, &sums));
    const struct ulp_rows rows = {.row_count = (size_t)count, .row_length = (size_t)e->hidden};
    const struct ulp_operand kept = {.tensor = acc, .row_offset = lines, .position_stride = 1};
    const struct ulp_named_operand operands[] = {
        {"before", kept},
        {"x", {.tensor = &sums, .row_stride = e->hidden, .position_stride = 1}},
        {"bias", along(layers[1].bias, &bias, x * e->hidden, 1)},
        {"weight", {.tensor = weights, .row_offset = route}},
    };
    const struct ulp_named_operand result = {"y", kept};
    return ulp_call_formula(call, &mixed, &inner, &rows, 4, operands, 1, &result);
}

static enum ulp_status run_experts(struct ulp_call *call)
{
    struct experts e;
    struct ulp_tensor weights, acc;
    int64_t *experts, *route;
    ULP_TRY(read_experts(call, &e));
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    const int64_t dims[] = {e.rows, e.hidden};
    if (e.bits && (!ulp_bits_are_known(ulp_call_input(call, "fc1_experts_weights")) ||
                   !ulp_bits_are_known(ulp_call_input(call, "fc2_experts_weights"))))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "its packed integers are not known");
    ULP_TRY(choose_experts(call, &e, &experts, &weights));
    ULP_TRY(ulp_call_take(call, (size_t)(e.rows * e.chosen), sizeof *route, &route));
    ULP_TRY(ulp_call_temporary_in(call, &acc, &inner.storage, 2, dims));
    const struct ulp_rows rows = {.row_count = (size_t)e.rows, .row_length = (size_t)e.hidden};
    const struct ulp_operand whole = {.row_stride = e.hidden, .position_stride = 1};
    struct ulp_named_operand operand = {"x", {.constant = "0"}}, result = {"y", whole};
    result.operand.tensor = &acc;
    ULP_TRY(ulp_call_formula(call, &same, &inner, &rows, 1, &operand, 1, &result));
    for (int64_t x = 0; x < e.count; x++) {
        int64_t count = 0;
        for (int64_t r = 0; r < e.rows * e.chosen; r++)
            if (experts[r] == x)
                route[count++] = r;
        if (count)
            ULP_TRY(add_expert(call, &e, x, route, count, &weights, &acc));
    }
    operand.operand = whole;
    operand.operand.tensor = &acc;
    result.operand.tensor = &call->out[0];
    return ulp_call_formula(call, &same, call->arithmetic, &rows, 1, &operand, 1, &result);
}

/* clang-format off */
#define EXPERTS                                                                                 \
    .outputs = "y", .check = check_experts, .infer = infer_experts, .run = run_experts,         \
    .work = ULP_WORK_CONTRACTION, .weights = "fc1_experts_weights fc2_experts_weights",         \
    .formulas = ULP_FORMULAS(&unpacked, &soft, &normal, &same, &mixed, &ulp_bits_coded)
#define OPTIONS                                                                                 \
    "activation_alpha:float=1; activation_beta:float=0; activation_type:string=relu; k:int=1; " \
    "normalize_routing_weights:int=0; swiglu_fusion:int=0; swiglu_limit:float; "                \
    "swiglu_limit_after_activation:int=0; use_sparse_mixer:int=0"
const struct ulp_operator ulp_ops_microsoft_experts[] = {
    {.name = "MoE", .domain = "com.microsoft", .since = 1,
     .inputs = "input router_probs:c fc1_experts_weights fc1_experts_bias? fc2_experts_weights "
               "fc2_experts_bias? fc3_experts_weights? fc3_experts_bias?",
     EXPERTS, .attributes = OPTIONS},
    {.name = "QMoE", .domain = "com.microsoft", .since = 1,
     .inputs = "input router_probs:c fc1_experts_weights:i fc1_scales:fm? fc1_experts_bias:m? "
               "fc2_experts_weights:i fc2_scales:fm? fc2_experts_bias:m? fc3_experts_weights:i? "
               "fc3_scales:fm? fc3_experts_bias:m? fc1_zero_points:i? fc2_zero_points:i? "
               "fc3_zero_points:i? router_weights:m?",
     EXPERTS,
     .attributes = OPTIONS "; accuracy_level:int=0; block_size:int; expert_weight_bits:int=4; "
                   "fc1_expert_weight_bits:int=0; fc2_expert_weight_bits:int=0; "
                   "fc3_expert_weight_bits:int=0; quant_type:string=int; weights_prepacked:int=-1"},
    {.name = NULL},
};
/* clang-format on */
