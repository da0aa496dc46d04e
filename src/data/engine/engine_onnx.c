/* ONNX Runtime's optimised model (SessionOptions.optimized_model_filepath): nodes are layers, and
 * types those that the graph declares, or that follow from them. */
#include <string.h>

#include "base/error.h"
#include "data/engine/reading.h"
#include "graph/graph.h"

/* Of the results of an operator whose type is not that of its first input. */
static const struct {
    const char *op;
    enum ulp_type type;
} results[] = {{"Shape", ULP_TYPE_INT64},     {"Size", ULP_TYPE_INT64},
               {"ArgMax", ULP_TYPE_INT64},    {"ArgMin", ULP_TYPE_INT64},
               {"NonZero", ULP_TYPE_INT64},   {"Equal", ULP_TYPE_BOOL},
               {"Greater", ULP_TYPE_BOOL},    {"Less", ULP_TYPE_BOOL},
               {"Not", ULP_TYPE_BOOL},        {"IsNaN", ULP_TYPE_BOOL},
               {"IsInf", ULP_TYPE_BOOL},      {"And", ULP_TYPE_BOOL},
               {"Or", ULP_TYPE_BOOL},         {"GreaterOrEqual", ULP_TYPE_BOOL},
               {"LessOrEqual", ULP_TYPE_BOOL}};

/* Types by value number. */
struct typed {
    const struct ulp_graph *graph;
    enum ulp_type *of;
};

static enum ulp_type type_of(const struct typed *types, int value)
{
    return value >= 0 ? types->of[value] : ULP_TYPE_UNDEFINED;
}

static enum ulp_type find_result(const struct typed *types, const struct ulp_node *node)
{
    const struct ulp_attribute *to = ulp_node_attribute(node, "to");
    if (strcmp(node->op_type, "Cast") == 0 && to)
        return to->i > 0 && to->i < ULP_TYPE_COUNT ? (enum ulp_type)to->i : ULP_TYPE_UNDEFINED;
    for (size_t r = 0; r < sizeof results / sizeof *results; r++)
        if (strcmp(results[r].op, node->op_type) == 0)
            return results[r].type;
    /* a scale gives the floats' type, a zero point the integers' */
    const size_t from = strcmp(node->op_type, "QuantizeLinear") == 0     ? 2
                        : strcmp(node->op_type, "DequantizeLinear") == 0 ? 1
                        : strcmp(node->op_type, "Where") == 0            ? 1
                                                                         : 0;
    return from < node->input_count ? type_of(types, node->inputs[from]) : ULP_TYPE_UNDEFINED;
}

static void infer(struct typed *types)
{
    const struct ulp_graph *graph = types->graph;
    for (size_t v = 0; v < graph->value_count; v++)
        types->of[v] = graph->values[v].initializer ? graph->values[v].initializer->type
                                                    : graph->values[v].info.type;
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t o = 0; o < graph->nodes[n].output_count; o++) {
            const int value = graph->nodes[n].outputs[o];
            if (value >= 0 && types->of[value] == ULP_TYPE_UNDEFINED)
                types->of[value] = find_result(types, &graph->nodes[n]);
        }
}

/* Values, without constants when `computed`. */
static enum ulp_status list_values(struct ulp_engine_reading *reading, const struct typed *types,
                                   const int *values, size_t count, bool computed,
                                   const struct ulp_engine_tensor **out, size_t *out_count,
                                   struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_engine_tensor, tensors, reading->arena, count + 1, error);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0 || (computed && types->graph->values[values[i]].initializer))
            continue;
        const char *name = types->graph->values[values[i]].name;
        struct ulp_engine_tensor *tensor = &tensors[kept++];
        *tensor =
            (struct ulp_engine_tensor){.format = "", .type = types->of[values[i]], .rank = -1};
        ULP_TRY(ulp_engine_text(reading, name, strlen(name), &tensor->name, error));
    }
    *out = tensors;
    *out_count = kept;
    return ULP_OK;
}

/* The first constant of more than one dimension. */
static enum ulp_type find_weights(const struct typed *types, const struct ulp_node *node)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0 && types->graph->values[node->inputs[i]].initializer &&
            types->graph->values[node->inputs[i]].initializer->rank > 1)
            return types->of[node->inputs[i]];
    return ULP_TYPE_UNDEFINED;
}

static enum ulp_status add_engine_layer(struct ulp_engine_reading *reading,
                                        const struct typed *types, const struct ulp_node *node,
                                        struct ulp_error *error)
{
    struct ulp_engine_layer layer = {.kernel = "", .metadata = "", .origin = "", .activation = ""};
    ULP_TRY(ulp_engine_text(reading, node->name, strlen(node->name), &layer.name, error));
    ULP_TRY(ulp_engine_text(reading, node->op_type, strlen(node->op_type), &layer.kind, error));
    ULP_TRY(list_values(reading, types, node->inputs, node->input_count, true, &layer.inputs,
                        &layer.input_count, error));
    ULP_TRY(list_values(reading, types, node->outputs, node->output_count, false, &layer.outputs,
                        &layer.output_count, error));
    layer.weights = find_weights(types, node);
    return ulp_engine_add_layer(reading, &layer, error);
}

enum ulp_status ulp_engine_read_onnx(struct ulp_engine_reading *reading, const char *path,
                                     struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_arena_budget(reading->arena);
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_free_of) enum ulp_type *of = NULL;
    ULP_TRY(ulp_model_load(path, budget, &model, error));
    reading->engine->form = ULP_ENGINE_ONNX;
    ULP_TRY(
        ulp_allocate(&of, model->graph->value_count, sizeof *of, budget, "types of values", error));
    struct typed types = {model->graph, of};
    infer(&types);
    for (size_t n = 0; n < types.graph->node_count; n++)
        ULP_TRY(add_engine_layer(reading, &types, &types.graph->nodes[n], error));
    for (size_t i = 0; i < types.graph->free_input_count; i++) {
        const char *name = types.graph->values[types.graph->free_inputs[i]].name;
        ULP_TRY(ulp_engine_add_binding(reading, name, strlen(name), error));
    }
    return ULP_OK;
}
