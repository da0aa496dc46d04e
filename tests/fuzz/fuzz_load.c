#include "tests/fuzz/fuzz_load.h"

#include <string.h>

#include "load/load.h"

static const char *check_graph(const struct ulp_graph *graph, const struct ulp_graph *parent);

static const char *check_value(const struct ulp_graph *graph, const struct ulp_value *value)
{
    const struct ulp_tensor *tensor = value->initializer;
    if (!value->name || !*value->name || value->info.name != value->name)
        if (!(value->outer >= 0 && value->info.name && strcmp(value->info.name, value->name) == 0))
            return "a value without its name";
    if (value->info.rank < -1 || value->info.rank > ULP_RANK_MAX ||
        (unsigned)value->info.type >= ULP_TYPE_COUNT)
        return "a declaration out of range";
    if (value->producer < -1 || value->producer >= (int)graph->node_count)
        return "a producer out of range";
    if (value->outer >= 0 && (!graph->parent || (size_t)value->outer >= graph->parent->value_count))
        return "a capture out of range";
    if ((value->producer >= 0) + (value->outer >= 0) + (tensor != NULL) > 1)
        return "a value with two origins";
    if (tensor && (tensor->data == NULL) != (tensor->element == ULP_ELEMENT_COUNT))
        return "a tensor without data";
    /* Reading the last element shows whether data is as long as it says. */
    if (tensor && tensor->data && tensor->count &&
        ulp_tensor_get(tensor, tensor->count - 1) == 0x1.5p1000)
        return "an unlikely element";
    return NULL;
}

static const char *check_number(const struct ulp_graph *graph, int value, int producer_below)
{
    if (value < -1 || value >= (int)graph->value_count)
        return "a value number out of range";
    if (value >= 0 && graph->values[value].producer >= producer_below)
        return "a node before its producer";
    return NULL;
}

static const char *check_node(const struct ulp_graph *graph, size_t index)
{
    const struct ulp_node *node = &graph->nodes[index];
    const char *wrong = NULL;
    if (node->index != (int)index || !node->name || !*node->name || !*node->op_type ||
        !node->domain || !node->scopes)
        return "a node without index, name or operator";
    for (size_t i = 0; !wrong && i < node->input_count; i++)
        wrong = check_number(graph, node->inputs[i], (int)index);
    for (size_t i = 0; !wrong && i < node->output_count; i++) {
        wrong = check_number(graph, node->outputs[i], (int)graph->node_count);
        if (!wrong && node->outputs[i] >= 0 &&
            graph->values[node->outputs[i]].producer != (int)index)
            wrong = "an output with another producer";
    }
    for (size_t a = 0; !wrong && a < node->attribute_count; a++) {
        const struct ulp_attribute *attribute = &node->attributes[a];
        if (ulp_node_attribute(node, attribute->name) != attribute)
            wrong = "an attribute that is not found";
        if (!wrong && attribute->graph)
            wrong = check_graph(attribute->graph, graph);
        for (size_t v = 0; !wrong && attribute->graph && v < attribute->graph->value_count; v++)
            wrong = check_number(graph, attribute->graph->values[v].outer, (int)index);
    }
    return wrong;
}

static const char *check_graph(const struct ulp_graph *graph, const struct ulp_graph *parent)
{
    const char *wrong = graph->parent == parent ? NULL : "a subgraph with another parent";
    for (size_t v = 0; !wrong && v < graph->value_count; v++)
        wrong = check_value(graph, &graph->values[v]);
    for (size_t i = 0; !wrong && i < graph->input_count; i++)
        wrong = graph->inputs[i] < 0 ? "an input without a number"
                                     : check_number(graph, graph->inputs[i], 0);
    for (size_t n = 0; !wrong && n < graph->node_count; n++)
        wrong = check_node(graph, n);
    for (size_t i = 0; !wrong && i < graph->output_count; i++)
        wrong = graph->outputs[i] < 0
                    ? "an output without a number"
                    : check_number(graph, graph->outputs[i], (int)graph->node_count);
    return wrong;
}

const char *fuzz_load(const uint8_t *bytes, size_t count)
{
    struct ulp_model *model;
    struct ulp_error error = {0};
    enum ulp_status status =
        ulp_model_load_bytes("/nonexistent/model.onnx", bytes, count, NULL, &model, &error);
    if (status != ULP_OK) {
        if (model || error.status != status || !*error.message || strchr(error.message, '\n'))
            return "a failure without a clean message";
        return status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED
                   ? NULL
                   : "another failure than expected";
    }
    const char *wrong = check_graph(model->graph, NULL);
    for (size_t i = 0; !wrong && i < model->function_count; i++)
        wrong = check_graph(model->functions[i].body, NULL);
    ulp_model_free(model);
    return wrong;
}
