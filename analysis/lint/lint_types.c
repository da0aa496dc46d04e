/* The types of values, as far as they follow from the graph without shapes. What an operator gives
 * is the type of its first input, or what its row here says. */
#include "analysis/lint/lint.h"

#include "number/round/round.h"
#include "tensor/tensor.h"

/* Where the type of output 0 comes from. */
enum source {
    OF_INPUT,     /* of input `number`; with a `name` first of that attribute */
    OF_ATTRIBUTE, /* a TensorProto.DataType in the attribute `name`, else `fallback` */
    OF_TENSOR,    /* of the attribute's tensor, else `fallback` */
    FIXED,        /* `fallback` */
    UNKNOWN,      /* of an output, as it is declared */
};
static const struct {
    const char *op;
    enum source source;
    int number;
    const char *name;
    enum ulp_type fallback;
    enum ulp_type others; /* of the outputs after the first; UNDEFINED: as output 0 */
} rows[] = {
    {"ArgMax", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"ArgMin", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"And", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"Bernoulli", OF_ATTRIBUTE, 0, "dtype", ULP_TYPE_UNDEFINED, 0},
    {"BlackmanWindow", OF_ATTRIBUTE, 0, "output_datatype", ULP_TYPE_FLOAT, 0},
    {"Cast", OF_ATTRIBUTE, 0, "to", ULP_TYPE_UNDEFINED, 0},
    {"CastLike", OF_INPUT, 1, NULL, 0, 0},
    {"Compress", OF_INPUT, 0, NULL, 0, 0},
    {"Constant", OF_TENSOR, 0, "value", ULP_TYPE_UNDEFINED, 0},
    {"ConstantOfShape", OF_TENSOR, 0, "value", ULP_TYPE_FLOAT, 0},
    {"ConvInteger", FIXED, 0, NULL, ULP_TYPE_INT32, 0},
    {"DequantizeLinear", OF_INPUT, 1, "output_dtype", 0, 0},
    {"Dropout", OF_INPUT, 0, NULL, 0, ULP_TYPE_BOOL},
    {"DynamicQuantizeLinear", FIXED, 0, NULL, ULP_TYPE_UINT8, ULP_TYPE_UNDEFINED},
    {"Equal", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"EyeLike", OF_ATTRIBUTE, 0, "dtype", ULP_TYPE_UNDEFINED, 0},
    {"Greater", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"GreaterOrEqual", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"HammingWindow", OF_ATTRIBUTE, 0, "output_datatype", ULP_TYPE_FLOAT, 0},
    {"HannWindow", OF_ATTRIBUTE, 0, "output_datatype", ULP_TYPE_FLOAT, 0},
    {"If", UNKNOWN, 0, NULL, 0, 0},
    {"IsInf", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"IsNaN", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"Less", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"LessOrEqual", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"Loop", UNKNOWN, 0, NULL, 0, 0},
    {"MatMulInteger", FIXED, 0, NULL, ULP_TYPE_INT32, 0},
    {"MaxPool", OF_INPUT, 0, NULL, 0, ULP_TYPE_INT64},
    {"NonMaxSuppression", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"NonZero", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"Not", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"OneHot", OF_INPUT, 2, NULL, 0, 0},
    {"Optional", UNKNOWN, 0, NULL, 0, 0},
    {"Or", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
    {"QLinearConv", OF_INPUT, 7, NULL, 0, 0},
    {"QLinearMatMul", OF_INPUT, 7, NULL, 0, 0},
    {"QuantizeLinear", OF_INPUT, 2, "output_dtype", ULP_TYPE_UINT8, 0},
    {"RandomNormal", OF_ATTRIBUTE, 0, "dtype", ULP_TYPE_FLOAT, 0},
    {"RandomUniform", OF_ATTRIBUTE, 0, "dtype", ULP_TYPE_FLOAT, 0},
    {"Scan", UNKNOWN, 0, NULL, 0, 0},
    {"Shape", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"Size", FIXED, 0, NULL, ULP_TYPE_INT64, 0},
    {"SequenceAt", UNKNOWN, 0, NULL, 0, 0},
    {"TopK", OF_INPUT, 0, NULL, 0, ULP_TYPE_INT64},
    {"Unique", OF_INPUT, 0, NULL, 0, ULP_TYPE_INT64},
    {"Where", OF_INPUT, 1, NULL, 0, 0},
    {"Xor", FIXED, 0, NULL, ULP_TYPE_BOOL, 0},
};

/* These compute every output in a type of its own; only output 0 is known. */
static const char first_only[] =
    "DynamicQuantizeLinear LayerNormalization BatchNormalization Attention";

static enum ulp_type find_type(struct ulp_lint_place place)
{
    size_t r = 0;
    while (r < sizeof rows / sizeof *rows && !ulp_lint_is(place, rows[r].op))
        r++;
    const bool known = r < sizeof rows / sizeof *rows;
    const char *name = known ? rows[r].name : NULL;
    const struct ulp_attribute *attribute = name ? ulp_node_attribute(place.node, name) : NULL;
    if (known && rows[r].source == UNKNOWN)
        return ULP_TYPE_UNDEFINED;
    if (known && rows[r].source == OF_TENSOR && attribute &&
        attribute->kind == ULP_ATTRIBUTE_TENSOR)
        return attribute->tensor->type;
    if (attribute && attribute->kind == ULP_ATTRIBUTE_INT && attribute->i > 0 &&
        attribute->i < ULP_TYPE_COUNT)
        return (enum ulp_type)attribute->i;
    if (known && rows[r].source != OF_INPUT && rows[r].fallback != ULP_TYPE_UNDEFINED)
        return rows[r].fallback;
    if (ulp_lint_is(place, "Constant")) {
        const struct ulp_tensor *tensor = ulp_lint_constant(place.graph, ulp_lint_output(place, 0));
        return tensor ? tensor->type : ULP_TYPE_UNDEFINED;
    }
    if (*place.node->domain && !known)
        return ULP_TYPE_UNDEFINED; /* a function, or another vendor's */
    const int from = ulp_lint_input(place, known ? (size_t)rows[r].number : 0);
    return from < 0 && known ? rows[r].fallback : ulp_lint_type(place.graph, from);
}

static enum ulp_type find_other_type(struct ulp_lint_place place, enum ulp_type first)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (ulp_lint_is(place, rows[r].op) && rows[r].others != ULP_TYPE_UNDEFINED)
            return rows[r].others;
    return ulp_lint_is_any(place, first_only) ? ULP_TYPE_UNDEFINED : first;
}

void ulp_lint_infer(struct ulp_lint *lint, struct ulp_lint_graph *view)
{
    const struct ulp_graph *graph = view->graph;
    (void)lint;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct ulp_value *value = &graph->values[v];
        view->types[v] =
            (unsigned char)(value->outer >= 0 && view->parent ? view->parent->types[value->outer]
                            : view->constants[v]              ? view->constants[v]->type
                                                              : value->info.type);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_lint_place place = {view, &graph->nodes[n]};
        const enum ulp_type first = find_type(place);
        for (size_t o = 0; o < place.node->output_count; o++) {
            const int out = place.node->outputs[o];
            const enum ulp_type type = o ? find_other_type(place, first) : first;
            if (out >= 0 && type != ULP_TYPE_UNDEFINED)
                view->types[out] = (unsigned char)type;
        }
    }
}

const char *ulp_lint_type_text(enum ulp_type type)
{
    static const char *const names[ULP_TYPE_COUNT] = {
        [ULP_TYPE_FLOAT] = "FP32",       [ULP_TYPE_FLOAT16] = "FP16",
        [ULP_TYPE_BFLOAT16] = "BF16",    [ULP_TYPE_DOUBLE] = "FP64",
        [ULP_TYPE_FLOAT8E4M3FN] = "FP8", [ULP_TYPE_FLOAT8E5M2] = "FP8 (E5M2)",
    };
    return (unsigned)type < ULP_TYPE_COUNT && names[type] ? names[type] : ulp_type_name(type);
}

bool ulp_lint_type_holds(enum ulp_type wide, enum ulp_type narrow)
{
    struct ulp_format formats[2];
    const char *names[2] = {ulp_type_rows[wide].format, ulp_type_rows[narrow].format};
    return names[0] && names[1] && ulp_format_find(names[0], &formats[0], NULL) == ULP_OK &&
           ulp_format_find(names[1], &formats[1], NULL) == ULP_OK &&
           ulp_format_holds(&formats[0], &formats[1]);
}
