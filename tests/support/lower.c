#include "tests/support/lower.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "tensor/tensor.h"
#include "tests/support/test.h"

enum { OTHER, WIDE, NARROW };

struct lowering {
    struct ulp_model *model;
    const bool *keeps;
    struct ulp_node *nodes;
    size_t node_count;
    struct ulp_value *values;
    size_t value_count;
    int *held;         /* of each old value */
    int (*read_as)[3]; /* of each old value: the value for readers of a type */
};

static void *take(struct lowering *l, size_t count, size_t bytes)
{
    void *memory = ulp_arena_take(l->model->arena, count + 1, bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static int add_value(struct lowering *l, const char *name, const struct ulp_tensor *initializer)
{
    l->values[l->value_count] = (struct ulp_value){.name = name,
                                                   .info = {.name = name, .rank = -1},
                                                   .initializer = initializer,
                                                   .outer = -1};
    return (int)l->value_count++;
}

/* FP16's nearest value, as the converter writes it into the file. */
static const struct ulp_tensor *narrow(struct lowering *l, const struct ulp_tensor *tensor)
{
    struct ulp_tensor *out = take(l, 1, sizeof *out);
    struct ulp_format half;
    struct ulp_error error;
    ck_ulp_ok(ulp_format_find("fp16", &half, &error), error);
    *out = *tensor;
    out->type = ULP_TYPE_FLOAT16;
    float *to = take(l, tensor->count, sizeof *to);
    for (size_t i = 0; i < tensor->count; i++)
        to[i] =
            (float)ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, ulp_tensor_get(tensor, i), 0, 0);
    out->data = to;
    out->owned = false;
    return out;
}

static int add_cast(struct lowering *l, int from, enum ulp_type to)
{
    int *inputs = take(l, 1, sizeof *inputs), *outputs = take(l, 1, sizeof *outputs);
    struct ulp_node cast = {.name = "cast",
                            .op_type = "Cast",
                            .domain = "",
                            .overload = "",
                            .input_count = 1,
                            .output_count = 1,
                            .attribute_count = 1,
                            .inputs = inputs,
                            .outputs = outputs};
    struct ulp_attribute *attribute = take(l, 1, sizeof *attribute);
    *attribute = (struct ulp_attribute){.name = "to", .kind = ULP_ATTRIBUTE_INT, .i = to};
    cast.attributes = attribute;
    inputs[0] = from;
    outputs[0] = add_value(l, "cast", NULL);
    l->values[outputs[0]].producer = (int)l->node_count;
    l->nodes[l->node_count++] = cast;
    return outputs[0];
}

/* The value as a reader of that type sees it. */
static int read_value(struct lowering *l, int value, bool keeps)
{
    const struct ulp_tensor *initializer = l->values[value].initializer;
    const int type = keeps ? WIDE : NARROW;
    if (l->held[value] == OTHER || l->held[value] == type)
        return value;
    int *known = &l->read_as[value][type];
    if (*known < 0)
        *known = initializer ? add_value(l, l->values[value].name, narrow(l, initializer))
                             : add_cast(l, value, keeps ? ULP_TYPE_FLOAT : ULP_TYPE_FLOAT16);
    return *known;
}

/* Floats that configure an operator stay what they are in every converter. */
static bool is_parameter(const struct ulp_node *node, size_t i)
{
    return (strcmp(node->op_type, "Resize") == 0 && i > 0 && i < 3) ||
           (strcmp(node->op_type, "Upsample") == 0 && i == 1);
}

/* The type that Cast names. */
static void lower_cast(struct lowering *l, struct ulp_node *node)
{
    struct ulp_attribute *attributes = take(l, node->attribute_count, sizeof *attributes);
    if (strcmp(node->op_type, "Cast") != 0)
        return;
    memcpy(attributes, node->attributes, node->attribute_count * sizeof *attributes);
    node->attributes = attributes;
    for (size_t a = 0; a < node->attribute_count; a++)
        if (strcmp(attributes[a].name, "to") == 0 && attributes[a].i == ULP_TYPE_FLOAT)
            attributes[a].i = ULP_TYPE_FLOAT16;
}

/* A node that holds a value is one more initializer. */
static void lower_constant(struct lowering *l, const struct ulp_node *node)
{
    struct ulp_value *value = &l->values[node->outputs[0]];
    value->initializer = node->attributes[0].tensor;
    value->producer = -1;
    l->held[node->outputs[0]] = value->initializer->type == ULP_TYPE_FLOAT ? WIDE : OTHER;
}

static void lower_node(struct lowering *l, size_t n)
{
    struct ulp_node node = l->model->graph->nodes[n];
    int *inputs = take(l, node.input_count, sizeof *inputs);
    /* ConstantOfShape's value stands in the model, too; it stays FLOAT and its readers cast. */
    const bool fill = strcmp(node.op_type, "ConstantOfShape") == 0;
    if (strcmp(node.op_type, "Constant") == 0) {
        lower_constant(l, &node);
        return;
    }
    for (size_t i = 0; i < node.input_count; i++)
        inputs[i] = node.inputs[i] < 0 || is_parameter(&node, i)
                        ? node.inputs[i]
                        : read_value(l, node.inputs[i], l->keeps[n]);
    node.inputs = inputs;
    if (!l->keeps[n])
        lower_cast(l, &node);
    for (size_t o = 0; o < node.output_count; o++)
        if (node.outputs[o] >= 0) {
            struct ulp_value *value = &l->values[node.outputs[o]];
            if (fill)
                l->held[node.outputs[o]] =
                    !node.attribute_count || node.attributes[0].tensor->type == ULP_TYPE_FLOAT
                        ? WIDE
                        : OTHER;
            else if (l->held[node.outputs[o]] != OTHER)
                l->held[node.outputs[o]] = l->keeps[n] ? WIDE : NARROW;
            value->producer = (int)l->node_count;
            value->info.type = ULP_TYPE_UNDEFINED;
        }
    node.index = (int)l->node_count;
    l->nodes[l->node_count++] = node;
}

static bool can_lower(const struct ulp_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH ||
                strcmp(node->attributes[a].name, "dtype") == 0 ||
                (strcmp(node->op_type, "Constant") == 0 &&
                 node->attributes[a].kind != ULP_ATTRIBUTE_TENSOR))
                return false;
    }
    return true;
}

bool lower_model(struct ulp_model *model, const bool *keeps, const char *const *float_names,
                 size_t float_count)
{
    struct ulp_graph *graph = model->graph;
    struct lowering l = {.model = model, .keeps = keeps};
    size_t uses = 0;
    if (!can_lower(graph))
        return false;
    for (size_t n = 0; n < graph->node_count; n++)
        uses += graph->nodes[n].input_count;
    l.nodes = take(&l, graph->node_count + uses, sizeof *l.nodes);
    l.values = take(&l, graph->value_count + uses, sizeof *l.values);
    l.held = take(&l, graph->value_count, sizeof *l.held);
    l.read_as = take(&l, graph->value_count, sizeof *l.read_as);
    memcpy(l.values, graph->values, graph->value_count * sizeof *l.values);
    l.value_count = graph->value_count;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct ulp_value *value = &graph->values[v];
        bool is_float = value->initializer ? value->initializer->type == ULP_TYPE_FLOAT : false;
        for (size_t i = 0; i < float_count; i++)
            is_float |= strcmp(value->name, float_names[i]) == 0;
        l.held[v] = is_float ? WIDE : OTHER;
        memset(l.read_as[v], -1, sizeof l.read_as[v]);
    }
    for (size_t n = 0; n < graph->node_count; n++)
        lower_node(&l, n);
    graph->nodes = l.nodes;
    graph->node_count = l.node_count;
    graph->values = l.values;
    graph->value_count = l.value_count;
    return true;
}

size_t lower_node_count(const struct ulp_model *model)
{
    return model->graph->node_count;
}

const char *lower_node_name(const struct ulp_model *model, size_t node)
{
    return model->graph->nodes[node].name;
}
