#include "growth_models.h"

#include <stdio.h>

#include "growth_build.h"

/* ---- nodes and values ---- */

static struct proto make_nodes(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++)
        add_node(&graph, (const char *[]){"Relu", "Exp", "Softmax", "Shape"}[i % 4], "x", "d%zu",
                 i);
    return end_graph(graph);
}

static struct proto make_backward_chain(size_t count)
{
    struct proto graph = start_graph();
    add_node(&graph, "Relu", "y", "d0", 0);
    for (size_t i = count; i-- > 1;) {
        char in[40], out[40];
        snprintf(in, sizeof in, "d%zu", i - 1);
        snprintf(out, sizeof out, "d%zu", i);
        struct proto node = proto_node("Relu", "", in, out);
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return end_graph(graph);
}

static struct proto make_inputs(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        add_value(&graph, GRAPH_INPUT, "i%zu", i);
        add_node(&graph, "Relu", "i%zu", "d%zu", i);
    }
    return end_graph(graph);
}

static struct proto make_symbols(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < 2 * count; i++) {
        struct proto dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
        char text[40];
        snprintf(text, sizeof text, "D%zu", i / 2);
        proto_text(&dim, 2, text);
        proto_message(&shape, 1, &dim);
        proto_int(&tensor, 1, ULP_TYPE_FLOAT);
        proto_message(&tensor, 2, &shape);
        proto_message(&type, 1, &tensor);
        snprintf(text, sizeof text, "i%zu", i);
        proto_text(&value, 1, text);
        proto_message(&value, 2, &type);
        proto_message(&graph, GRAPH_INPUT, &value);
    }
    return end_graph(graph);
}

static struct proto make_outputs(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        add_node(&graph, "Relu", "x", "d%zu", i);
        add_value(&graph, GRAPH_OUTPUT, "d%zu", i);
    }
    return end_graph(graph);
}

/* Used twice, so that packed forms are kept in between. */
static struct proto make_weights(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++)
        add_floats(&graph, "w%zu", 2, i);
    for (size_t i = 0; i < 2 * count; i++) {
        char in[40], out[40];
        snprintf(in, sizeof in, "x w%zu", i % count);
        snprintf(out, sizeof out, "d%zu", i);
        struct proto node = proto_node("MatMul", "", in, out);
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return end_graph(graph);
}

static struct proto make_declarations(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        add_node(&graph, "Relu", "x", "d%zu", i);
        add_value(&graph, GRAPH_VALUE_INFO, "d%zu", i);
        add_value(&graph, GRAPH_VALUE_INFO, "unknown%zu", i);
    }
    return end_graph(graph);
}

static struct proto make_operands(size_t count)
{
    struct proto graph = start_graph(), node = proto_node("Concat", "", "", "joined");
    for (size_t i = 0; i < count; i++)
        proto_text(&node, NODE_INPUT, "x");
    add_attribute(&node, NODE_ATTRIBUTE, "axis", 0, 2, number(0));
    proto_message(&graph, GRAPH_NODE, &node);
    node = proto_node("Split", "", "joined", "");
    for (size_t i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "p%zu", i);
        proto_text(&node, NODE_OUTPUT, name);
    }
    add_attribute(&node, NODE_ATTRIBUTE, "axis", 0, 2, number(0));
    add_attribute(&node, NODE_ATTRIBUTE, "num_outputs", 0, 2, number((int64_t)count));
    proto_message(&graph, GRAPH_NODE, &node);
    return end_graph(graph);
}

/* ---- what is not supported ---- */

static struct proto make_unknown_operators(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        char op[40];
        snprintf(op, sizeof op, "Unknown%zu", i);
        add_node(&graph, op, "x", "d%zu", i);
    }
    return end_graph(graph);
}

static struct proto make_one_unknown(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++)
        add_node(&graph, "Unknown", "x", "d%zu", i);
    return end_graph(graph);
}

static struct proto make_unknown_attributes(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        struct proto node = numbered("Relu", "x", "d%zu", i);
        add_attribute(&node, NODE_ATTRIBUTE, "a%zu", i, 2, number(1));
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return end_graph(graph);
}

static struct proto make_domains(size_t count)
{
    struct proto graph = start_graph();
    for (size_t i = 0; i < count; i++) {
        struct proto node = numbered("Unknown", "x", "d%zu", i);
        char domain[40];
        snprintf(domain, sizeof domain, "domain%zu", i);
        proto_text(&node, NODE_DOMAIN, domain);
        proto_message(&graph, GRAPH_NODE, &node);
    }
    struct proto model = end_graph(graph);
    for (size_t i = 0; i < count; i++) {
        char domain[40];
        snprintf(domain, sizeof domain, "domain%zu", i);
        proto_opset(&model, domain, 1);
    }
    return model;
}

const struct growth_model growth_models[] = {
    {"nodes", make_nodes, GROWTH_REPORT, 1000, ULP_OK},
    {"a chain in backward order", make_backward_chain, GROWTH_RUN, 5000, ULP_OK},
    {"inputs", make_inputs, GROWTH_AUDIT, 2000, ULP_OK},
    {"symbolic dimensions", make_symbols, GROWTH_RUN, 5000, ULP_OK},
    {"outputs", make_outputs, GROWTH_REPORT, 1000, ULP_OK},
    {"weights", make_weights, GROWTH_AUDIT, 5000, ULP_OK},
    {"declarations", make_declarations, GROWTH_RUN, 5000, ULP_OK},
    {"inputs and outputs of a node", make_operands, GROWTH_AUDIT, 2000, ULP_OK},
    {"unknown operators", make_unknown_operators, GROWTH_RUN, 5000, ULP_ERROR_UNSUPPORTED},
    {"one unknown operator", make_one_unknown, GROWTH_RUN, 5000, ULP_ERROR_UNSUPPORTED},
    {"unknown attributes", make_unknown_attributes, GROWTH_RUN, 5000, ULP_ERROR_UNSUPPORTED},
    {"operator sets", make_domains, GROWTH_RUN, 5000, ULP_ERROR_UNSUPPORTED},
    {"functions", make_functions, GROWTH_RUN, 5000, ULP_OK},
    {"attributes of a call", make_given_attributes, GROWTH_RUN, 5000, ULP_OK},
    {"defaults of a function", make_default_attributes, GROWTH_RUN, 5000, ULP_OK},
    {"parameters of many calls", make_parameters, GROWTH_RUN, 5000, ULP_ERROR_INPUT},
    {"Ifs", make_ifs, GROWTH_AUDIT, 2000, ULP_OK},
    {"Ifs of a known condition", make_known_ifs, GROWTH_RUN, 5000, ULP_OK},
    {"captured values", make_captures, GROWTH_AUDIT, 2000, ULP_OK},
    {"outputs of branches", make_branch_outputs, GROWTH_AUDIT, 2000, ULP_OK},
    {"nodes of a Loop", make_loop_nodes, GROWTH_AUDIT, 3000, ULP_OK},
    {"values of a Loop", make_loop_values, GROWTH_AUDIT, 2000, ULP_OK},
    {"long names of a body", make_long_names, GROWTH_RUN, 5000, ULP_ERROR_INPUT},
};
const int growth_model_count = sizeof growth_models / sizeof *growth_models;
