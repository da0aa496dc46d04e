/* Domain com.microsoft: what ONNX Runtime's optimiser fuses. Each is the sequence of ONNX operators
 * it replaces, written as one formula or one contraction with an epilogue. And LayerNormalization
 * before opset 17 and SimplifiedLayerNormalization, which ONNX Runtime added to ai.onnx itself. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"

/* ---- EmbedLayerNormalization: a row is a position, its elements the features of three tables'
 * rows ---- */

static enum ulp_status infer_embed(struct ulp_call *call)
{
    const struct ulp_tensor *ids = call->in[0], *words = ulp_call_input(call, "word_embedding");
    if (ids->rank != 2 || words->rank != 2)
        return ULP_REFUSE(call, "input_ids of rank %d, word_embedding of rank %d: expected 2 and 2",
                          ids->rank, words->rank);
    const int64_t dims[] = {ids->dims[0], ids->dims[1], words->dims[1]};
    ULP_TRY(ulp_call_describe(call, 0, words->type, 3, dims));
    ULP_TRY(ulp_call_describe(call, 1, ULP_TYPE_INT32, 1, dims));
    return ulp_call_describe(call, 2, words->type, 3, dims);
}

/* The rows of a table that ids (NULL: the position) ask for. ids may have one row for every
 * batch. */
static enum ulp_status lay_table(const struct ulp_call *call, const char *table,
                                 const struct ulp_tensor *ids, struct ulp_operand *operands)
{
    struct ulp_operand *operand = &operands[ulp_call_input_index(call, table)];
    const int64_t length = call->in[0]->dims[1], count = (int64_t)call->in[0]->count,
                  size = call->out[0].dims[2];
    const int64_t rows = size ? (int64_t)operand->tensor->count / size : 0;
    if (operand->tensor->rank != 2 || operand->tensor->dims[1] != size ||
        (ids && (int64_t)ids->count != count && (int64_t)ids->count != length))
        return ULP_REFUSE(call, "%s or its ids do not fit %lld positions of %lld features", table,
                          (long long)count, (long long)size);
    ULP_CALL_TAKE(int64_t, row, call, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t id =
            ids ? ulp_tensor_get_int(ids, (size_t)(i % (int64_t)ids->count)) : i % length;
        if (id < 0 || id >= rows)
            return ULP_REFUSE(call, "%s: row %lld of %lld", table, (long long)id, (long long)rows);
        row[i] = id * size;
    }
    *operand =
        (struct ulp_operand){.tensor = operand->tensor, .row_offset = row, .position_stride = 1};
    return ULP_OK;
}

/* mask_index: how many of a batch's positions have mask 1. */
static void count_mask(const struct ulp_call *call, const struct ulp_tensor *mask)
{
    const size_t length = (size_t)call->in[0]->dims[1];
    for (size_t b = 0; b < call->out[1].count; b++) {
        int64_t count = 0;
        for (size_t i = 0; mask && i < length && b * length + i < mask->count; i++)
            count += ulp_tensor_get_int(mask, b * length + i) == 1;
        ulp_tensor_set_int(&call->out[1], b, count);
    }
}

static enum ulp_status rows_embed(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *ids = call->in[0],
                            *segments = ulp_call_input(call, "segment_embedding");
    const int64_t size = call->out[0].dims[2];
    *layout->rows = (struct ulp_rows){.row_count = ids->count, .row_length = (size_t)size};
    ULP_TRY(lay_table(call, "word_embedding", ids, layout->operands));
    ULP_TRY(lay_table(call, "position_embedding", ulp_call_input(call, "position_ids"),
                      layout->operands));
    if (segments && !ulp_call_input(call, "segment_ids"))
        return ULP_REFUSE(call, "segment_embedding is there without segment_ids");
    if (segments)
        ULP_TRY(lay_table(call, "segment_embedding", ulp_call_input(call, "segment_ids"),
                          layout->operands));
    for (size_t i = 0; i < call->bound->input_slot_count; i++) {
        const char *name = call->bound->inputs[i].name;
        if (strcmp(name, "gamma") == 0 || strcmp(name, "beta") == 0) {
            if (layout->operands[i].tensor->count != (size_t)size)
                return ULP_REFUSE(call, "%s has %zu elements: expected %lld", name,
                                  layout->operands[i].tensor->count, (long long)size);
            layout->operands[i].position_stride = 1;
        } else if (!strstr(name, "_embedding")) {
            /* ids and mask are no numbers of the formula */
            layout->operands[i] = (struct ulp_operand){.constant = "0"};
        }
    }
    if (ulp_call_wants(call, 1))
        count_mask(call, ulp_call_input(call, "mask"));
    for (int i = 0; i < call->bound->tape->output_count; i++) {
        const struct ulp_tensor *tensor = i == 1 ? NULL : layout->outputs[i].tensor;
        layout->outputs[i] =
            (struct ulp_operand){.tensor = tensor, .row_stride = size, .position_stride = 1};
    }
    return ULP_OK;
}

/* ---- FusedMatMul ---- */

/* A factor with axis 0 moved behind the batch axes (`batch`), then its last two axes exchanged
 * (`last`), as the attributes of these names ask: its shape, and unless `shape_only` its
 * elements. */
static enum ulp_status turn(struct ulp_call *call, const struct ulp_tensor *in, const char *last,
                            const char *batch, bool shape_only, struct ulp_tensor *out)
{
    *out = ulp_tensor_view(in);
    const int rank = in->rank;
    const bool exchange = ulp_call_int(call, last), move = ulp_call_int(call, batch);
    if (rank < 2 || (!exchange && !move))
        return ULP_OK;
    int perm[ULP_RANK_MAX];
    for (int d = 0; d < rank; d++) {
        const int place = exchange && d >= rank - 2 ? 2 * rank - 3 - d : d;
        perm[d] = !move || place == rank - 1 ? place : place == rank - 2 ? 0 : place + 1;
    }
    return ulp_move_transposed(call, out, in, perm, shape_only);
}

static enum ulp_status turn_both(struct ulp_call *call, bool shape_only, struct ulp_tensor *a,
                                 struct ulp_tensor *b)
{
    ULP_TRY(turn(call, call->in[0], "transA", "transBatchA", shape_only, a));
    return turn(call, call->in[1], "transB", "transBatchB", shape_only, b);
}

static enum ulp_status infer_fused_matmul(struct ulp_call *call)
{
    struct ulp_tensor a, b;
    ULP_TRY(turn_both(call, true, &a, &b));
    return ulp_matmul_infer(call, &a, &b, call->in[0]->type);
}

static enum ulp_status run_fused_matmul(struct ulp_call *call)
{
    struct ulp_tensor a, b;
    struct ulp_sums sums;
    ULP_TRY(turn_both(call, false, &a, &b));
    ULP_TRY(
        ulp_sums_begin(call, call->in[0]->type, ulp_call_attribute(call, "alpha")->f != 1, &sums));
    ULP_TRY(ulp_matmul_sums(call, &a, &b, &sums));
    return ulp_sums_end(call, &sums, "--");
}

#define MS .domain = "com.microsoft", .since = 1
#define UNARY .inputs = "x", .outputs = "y", .infer = ulp_infer_first
#define ERF_GELU(x) "0.5 * " x " * (1 + erf(" x " / sqrt(2)))"
#define NORM .infer = ulp_infer_norm, .rows = ulp_rows_norm
#define LAYER_NORM(x)                                                                 \
    "mean = row_mean(" x "); d = " x " - mean; s = sqrt(row_mean(d * d) + epsilon); " \
    "inv_std_dev = 1 / s; "
#define RMS(x) "s = sqrt(row_mean(" x " * " x ") + epsilon); inv_std_dev = 1 / s; " x " / s * scale"
#define TORCH_RMS(x) \
    "inv_std_dev = rsqrt(row_mean(" x " * " x ") + epsilon); " x " * inv_std_dev * scale"

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft[] = {
    {.name = "BiasGelu", MS, .inputs = "a b", .outputs = "c", .infer = ulp_infer_broadcast,
     .formula = "x = a + b; " ERF_GELU("x")},
    {.name = "EmbedLayerNormalization", MS,
     .inputs = "input_ids:i segment_ids:i? word_embedding position_embedding "
               "segment_embedding?=-0 gamma beta mask:i? position_ids:i?",
     .outputs = "y mask_index? embedding_sum?", .attributes = "epsilon:float=1e-12; "
                                        "mask_index_type:int",
     .infer = infer_embed, .rows = rows_embed,
     .formula = "embedding_sum = word_embedding + position_embedding + segment_embedding; "
                LAYER_NORM("embedding_sum") "d / s * gamma + beta"},
    {.name = "FastGelu", MS, .inputs = "x bias?=-0", .outputs = "y", .infer = ulp_infer_first,
     .formula = "v = x + bias; 0.5 * v * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * pow(v, 3))))"},
    {.name = "FusedMatMul", MS, .inputs = "a:m b", .outputs = "y",
     .attributes = "alpha:float=1; transA:int=0; transB:int=0; transBatchA:int=0; "
                   "transBatchB:int=0",
     .infer = infer_fused_matmul,
     .run = run_fused_matmul, .work = ULP_WORK_CONTRACTION, .weights = "b",
     .epilogue = "alpha * acc"},
    {.name = "Gelu", MS, UNARY, .formula = ERF_GELU("x")},
    {.name = "LayerNormalization", .since = 1, .until = 16, .inputs = "x scale bias?=-0",
     .outputs = "y mean? inv_std_dev?",
     .attributes = "axis:int=-1; epsilon:float=1e-5; stash_type:int=1", NORM,
     .formula = LAYER_NORM("x") "d / s * scale + bias"},
    {.name = "QuickGelu", MS, UNARY, .attributes = "alpha:float=1.702",
     .formula = "x * sigmoid(alpha * x)"},
    {.name = "SimplifiedLayerNormalization", .since = 1, .inputs = "x scale:f",
     .outputs = "y inv_std_dev?",
     .attributes = "axis:int=-1; epsilon:float=1e-5; stash_type:int=1", NORM, .formula = RMS("x"),
     .torch = TORCH_RMS("x")},
    {.name = "SkipLayerNormalization", MS, .inputs = "x skip scale beta?=-0 bias?=-0",
     .outputs = "y mean? inv_std_dev? input_skip_bias_sum?", .attributes = "epsilon:float=1e-12",
     NORM,
     .formula = "input_skip_bias_sum = x + skip + bias; " LAYER_NORM("input_skip_bias_sum") "d / "
                                        "s * scale + beta"},
    {.name = "SkipSimplifiedLayerNormalization", MS, .inputs = "x skip scale bias?=-0",
     .outputs = "y mean? inv_std_dev? input_skip_bias_sum?", .attributes = "epsilon:float=1e-12",
     NORM,
     .formula = "input_skip_bias_sum = x + skip + bias; mean = row_mean(input_skip_bias_sum); "
                RMS("input_skip_bias_sum")},
    {0},
};
/* clang-format on */
