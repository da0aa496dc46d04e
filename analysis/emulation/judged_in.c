/* In what a model is judged that is to run at a target. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/emulation/emulation.h"
#include "ops/product/saturating.h"
#include "base/machine/environment.h"

static bool graph_declares(const struct ulp_graph *graph, enum ulp_type type);

/* By a constant or a body that it has, or by the type that it names. */
static bool node_declares(const struct ulp_node *node, enum ulp_type type)
{
    static const char types[] = "to dtype output_dtype";
    bool found = false;
    for (size_t a = 0; a < node->attribute_count && !found; a++) {
        const struct ulp_attribute *attribute = &node->attributes[a];
        found = attribute->kind == ULP_ATTRIBUTE_TENSOR  ? attribute->tensor->type == type
                : attribute->kind == ULP_ATTRIBUTE_GRAPH ? graph_declares(attribute->graph, type)
                : attribute->kind == ULP_ATTRIBUTE_INT && ulp_is_word(attribute->name, types)
                    ? attribute->i == (int64_t)type
                    : false;
    }
    return found;
}

static bool graph_declares(const struct ulp_graph *graph, enum ulp_type type)
{
    bool found = false;
    for (size_t v = 0; v < graph->value_count && !found; v++)
        found = type == (graph->values[v].initializer ? graph->values[v].initializer->type
                                                      : graph->values[v].info.type);
    for (size_t n = 0; n < graph->node_count && !found; n++)
        found = node_declares(&graph->nodes[n], type);
    return found;
}

/* Types that follow from these need no declaration of their own. */
static bool declares(const struct ulp_model *model, enum ulp_type type)
{
    bool found = graph_declares(model->graph, type);
    for (size_t f = 0; f < model->function_count && !found; f++)
        found = graph_declares(model->functions[f].body, type);
    return found;
}

enum { LOWERED_BYTES = 64 };

/* The target's arithmetic of models that are lowered, or its BF16 one where that is the model's
 * only half type. */
static void find_lowered(const struct ulp_model *model, const struct ulp_target *target,
                         char out[LOWERED_BYTES])
{
    struct ulp_arithmetic found;
    struct ulp_error ignored;
    snprintf(out, LOWERED_BYTES, "%s", target->lowered);
    char *half = strstr(out, ":fp16");
    if (!half || !declares(model, ULP_TYPE_BFLOAT16) || declares(model, ULP_TYPE_FLOAT16))
        return;
    memcpy(half + 1, "bf16", 4);
    if (ulp_arithmetic_find(out, &found, &ignored) != ULP_OK)
        memcpy(half + 1, "fp16", 4);
}

enum ulp_status ulp_judged_in(const struct ulp_model *model, const char *target_name,
                              const char *arithmetic, char name[ULP_JUDGED_IN_BYTES],
                              struct ulp_arithmetic *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    static const char *const settings[] = {
        [ULP_TF32_USUAL] = "", [ULP_TF32_ALLOWED] = ",floats=", [ULP_TF32_FORBIDDEN] = ",floats="};
    struct ulp_target_name named = {0};
    if (target_name && !ulp_target_read(target_name, &named))
        return ulp_target_refuse(target_name, error);
    const struct ulp_target *target = named.target;
    /* ORT follows declared types in an arithmetic of its own */
    const bool obeys = target && !target->wider && target->bit != ULP_TARGET_ORT;
    const bool half = declares(model, ULP_TYPE_FLOAT16) || declares(model, ULP_TYPE_BFLOAT16);
    const bool typed = obeys && half;
    char lowered[LOWERED_BYTES];
    const bool integers = target && target->bit == ULP_TARGET_ORT &&
                          ulp_model_has_operator(model, "DequantizeLinear");
    const struct ulp_target_tf32 *tf32 = target ? ulp_target_tf32(target) : NULL;
    if (arithmetic)
        snprintf(name, ULP_JUDGED_IN_BYTES, "%s", arithmetic);
    else if (!target)
        snprintf(name, ULP_JUDGED_IN_BYTES, "%s", half ? "model" : "fp16");
    else {
        find_lowered(model, target, lowered);
        snprintf(name, ULP_JUDGED_IN_BYTES, "%s%s%s%s%s%s", lowered, integers ? ",qdq=integer" : "",
                 named.gpu, typed ? ",types=declared" : "", typed ? settings[named.tf32] : "",
                 !typed || !tf32 || named.tf32 == ULP_TF32_USUAL ? ""
                 : named.tf32 == ULP_TF32_ALLOWED                ? tf32->allowed
                                                                 : "fp32");
    }
    return ulp_arithmetic_find(name, out, error);
}

const struct ulp_target_choice *ulp_judged_processors(const struct ulp_model *model,
                                                      const struct ulp_target *target)
{
    const struct ulp_target_choice *row;
    for (size_t i = 0; target && (row = ulp_target_choice(i)); i++)
        if (row->processors && strcmp(row->target, target->name) == 0)
            return ulp_saturating_any(model) ? row : NULL;
    return NULL;
}

static bool has_any(const struct ulp_model *model, const char *words)
{
    char op[64];
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        snprintf(op, sizeof op, "%.*s", (int)length, words);
        if (ulp_model_has_operator(model, op))
            return true;
    }
    return false;
}

/* Does a rule say anything of this model? Constants that change are counted by reports, and what
 * FLOAT nodes are is judged by itself. */
static bool concerns(const struct ulp_rule *rule, const struct ulp_model *model)
{
#define MATRICES "Einsum FusedGemm FusedMatMul Gemm MatMul MatMulNBits"
#define PRODUCTS MATRICES " Attention Conv ConvTranspose FusedConv GRU LSTM MultiHeadAttention RNN"
#define ROWS \
    "InstanceNormalization LayerNormalization RMSNormalization SimplifiedLayerNormalization"
    static const char *const parts[][2] = {
        {"acc=", PRODUCTS},
        {"attention=", "Attention GroupQueryAttention MultiHeadAttention"},
        {"batchnorm=", "BatchNormalization"},
        {"constants=", ""},
        {"conv=", "Conv FusedConv"},
        {"epilogue=", "Conv ConvTranspose FusedConv FusedGemm Gemm"},
        {"exponentials=", "LogSoftmax Mish ReduceLogSumExp Softplus"},
        {"floats=", ""},
        {"integers=", "DequantizeLinear MatMulInteger QLinearConv QLinearMatMul"},
        {"matmul=", MATRICES},
        {"norms=", "BatchNormalization " ROWS},
        {"qdq=", "DequantizeLinear"},
        {"recurrence=", "GRU LSTM"},
        {"unit=", PRODUCTS},
        {"vectors=", PRODUCTS}};
    char op[64];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(rule->rule, parts[i][0], strlen(parts[i][0])) == 0)
            return has_any(model, parts[i][1]);
    snprintf(op, sizeof op, "%.*s", (int)strcspn(rule->rule, ":"), rule->rule);
    return !strchr(rule->rule, ':') || ulp_model_has_operator(model, op);
}

/* Is "ONNX Runtime 1.31.1, H100" of version 1.31? */
static bool is_version(const char *on, const char *version)
{
    const size_t length = strlen(version);
    for (const char *word = on; *word; word += strcspn(word, " "), word += strspn(word, " "))
        if (strncmp(word, version, length) == 0 && !isdigit((unsigned char)word[length]))
            return true;
    return false;
}

enum ulp_status ulp_judged_rests(const struct ulp_model *model, const char *arithmetic,
                                 const char *target, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_rule rule;
    struct ulp_text text = {0};
    enum ulp_known weakest = ULP_KNOWN_DOCUMENTED;
    for (size_t i = 0; ulp_target_rule(i, &rule); i++)
        if (rule.known > weakest && ulp_rule_holds(&rule, arithmetic) && concerns(&rule, model))
            weakest = rule.known;
    for (size_t i = 0; weakest > ULP_KNOWN_DOCUMENTED && ulp_target_rule(i, &rule); i++)
        if (rule.known == weakest && ulp_rule_holds(&rule, arithmetic) && concerns(&rule, model))
            ulp_text_add(&text, "%s%s%s%.*s", text.length ? ", " : "rules that are ",
                         text.length ? "" : ulp_known_name(weakest), text.length ? "" : ": ",
                         (int)strcspn(rule.rule, ":"), rule.rule);
    struct ulp_target_name named = {0};
    const char *said = "";
    if (target && ulp_target_read(target, &named) && *named.version)
        for (size_t i = 0; ulp_target_rule(i, &rule); i++)
            if (rule.known == ULP_KNOWN_RECORDED && ulp_rule_holds(&rule, arithmetic) &&
                concerns(&rule, model) && !is_version(rule.on, named.version) &&
                strcmp(said, rule.on) != 0)
                ulp_text_add(&text, "%srules recorded on %s, not on %s", text.length ? "; " : "",
                             said = rule.on, named.version);
    *out = text.data;
    return text.failed ? ulp_out_of_memory(error) : ULP_OK;
}

bool ulp_judged_deaf(const struct ulp_target *target, const char *arithmetic)
{
    return target &&
           (target->keeps == ULP_KEEPS_NOTHING || strstr(arithmetic, "qdq=integer") != NULL);
}

enum ulp_status ulp_judged_in_worse(const struct ulp_model *model, const char *target,
                                    const char *arithmetic, char *name, struct ulp_arithmetic *out,
                                    struct ulp_error *error)
{
    const struct ulp_target_choice *row =
        arithmetic ? NULL : ulp_judged_processors(model, target ? ulp_target_find(target) : NULL);
    ULP_TRY(ulp_judged_in(model, target, arithmetic, name, out, error));
    if (!row)
        return ULP_OK;
    snprintf(name, ULP_JUDGED_IN_BYTES, "%s", row->other);
    return ulp_arithmetic_find(name, out, error);
}
