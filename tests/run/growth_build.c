#include "growth_build.h"

#include <stdio.h>

struct proto numbered(const char *op, const char *inputs, const char *outputs, size_t i)
{
    char in[200], out[200];
    snprintf(in, sizeof in, inputs, i, i, i);
    snprintf(out, sizeof out, outputs, i, i, i);
    return proto_node(op, "", in, out);
}

void add_node(struct proto *graph, const char *op, const char *inputs, const char *outputs,
              size_t i)
{
    struct proto node = numbered(op, inputs, outputs, i);
    proto_message(graph, GRAPH_NODE, &node);
}

void add_value(struct proto *graph, int field, const char *name, size_t i)
{
    char text[100];
    snprintf(text, sizeof text, name, i);
    proto_value(graph, field, text, ULP_TYPE_FLOAT, 1, ONE_DIM);
}

void add_floats(struct proto *graph, const char *name, int rank, size_t i)
{
    char text[100];
    float ones[16];
    const int64_t dims[2] = {4, 4};
    snprintf(text, sizeof text, name, i);
    for (int e = 0; e < 16; e++)
        ones[e] = 1;
    struct proto tensor = proto_tensor(text, ULP_TYPE_FLOAT, rank, dims);
    proto_numbers(&tensor, TENSOR_RAW, ones, (rank == 2 ? 16 : rank == 1 ? 4 : 1) * sizeof *ones);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

struct proto start_graph(void)
{
    struct proto graph = {0};
    add_value(&graph, GRAPH_INPUT, "x", 0);
    add_value(&graph, GRAPH_OUTPUT, "y", 0);
    add_node(&graph, "Relu", "x", "y", 0);
    return graph;
}

struct proto end_graph(struct proto graph)
{
    return proto_model(10, 21, &graph);
}

void add_attribute(struct proto *node, int field, const char *name, size_t i, int type,
                   struct proto value)
{
    char text[100];
    snprintf(text, sizeof text, name, i);
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, text);
    proto_int(&attribute, ATTRIBUTE_TYPE, type);
    proto_raw(&attribute, value.data, value.count);
    proto_free(&value);
    proto_message(node, field, &attribute);
}

struct proto number(int64_t value)
{
    struct proto message = {0};
    proto_int(&message, ATTRIBUTE_I, value);
    return message;
}

struct proto fraction(float value)
{
    struct proto message = {0};
    proto_float(&message, ATTRIBUTE_F, value);
    return message;
}

struct proto body(struct proto graph)
{
    struct proto message = {0};
    proto_message(&message, ATTRIBUTE_G, &graph);
    return message;
}
