#include "growth_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_DIM ((const int64_t[]){4})

/* A node of names that hold its number as %zu, any number of times up to three. */
static struct proto numbered(const char *op, const char *inputs, const char *outputs, size_t i)
{
    char in[200], out[200];
    snprintf(in, sizeof in, inputs, i, i, i);
    snprintf(out, sizeof out, outputs, i, i, i);
    return proto_node(op, "", in, out);
}

static void add_node(struct proto *graph, const char *op, const char *inputs, const char *outputs,
                     size_t i)
{
    struct proto node = numbered(op, inputs, outputs, i);
    proto_message(graph, GRAPH_NODE, &node);
}

static void add_value(struct proto *graph, int field, const char *name, size_t i)
{
    char text[100];
    snprintf(text, sizeof text, name, i);
    proto_value(graph, field, text, ULP_TYPE_FLOAT, 1, ONE_DIM);
}

/* A constant of `rank` dimensions of 4, all ones. */
static void add_floats(struct proto *graph, const char *name, int rank, size_t i)
{
    char text[100];
    float ones[16];
    const int64_t dims[2] = {4, 4};
    snprintf(text, sizeof text, name, i);
    for (int e = 0; e < 16; e++)
        ones[e] = 1;
    struct proto tensor = proto_tensor(text, ULP_TYPE_FLOAT, rank, dims);
    proto_bytes(&tensor, TENSOR_RAW, ones, (rank == 2 ? 16 : rank == 1 ? 4 : 1) * sizeof *ones);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

/* The graph x -> y, and the model around one. */
static struct proto start_graph(void)
{
    struct proto graph = {0};
    add_value(&graph, GRAPH_INPUT, "x", 0);
    add_value(&graph, GRAPH_OUTPUT, "y", 0);
    add_node(&graph, "Relu", "x", "y", 0);
    return graph;
}

static struct proto end_graph(struct proto graph)
{
    return proto_model(10, 21, &graph);
}

static void add_attribute(struct proto *node, int field, const char *name, size_t i, int type,
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

static struct proto number(int64_t value)
{
    struct proto message = {0};
    proto_int(&message, ATTRIBUTE_I, value);
    return message;
}

static struct proto fraction(float value)
{
    struct proto message = {0};
    proto_float(&message, ATTRIBUTE_F, value);
    return message;
}

static struct proto body(struct proto graph)
{
    struct proto message = {0};
    proto_message(&message, ATTRIBUTE_G, &graph);
    return message;
}

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

/* ---- functions ---- */

static struct proto start_function(const char *name, size_t i)
{
    char text[40];
    struct proto function = {0}, opset = {0};
    snprintf(text, sizeof text, name, i);
    proto_text(&function, FUNCTION_NAME, text);
    proto_text(&function, FUNCTION_DOMAIN, "local");
    proto_text(&opset, 1, "");
    proto_int(&opset, 2, 21);
    proto_message(&function, FUNCTION_OPSET, &opset);
    return function;
}

static void add_call(struct proto *graph, const char *function, size_t i, struct proto node)
{
    char text[40];
    snprintf(text, sizeof text, function, i);
    proto_text(&node, NODE_OP, text);
    proto_text(&node, NODE_DOMAIN, "local");
    proto_message(graph, GRAPH_NODE, &node);
}

static struct proto end_model(struct proto graph, struct proto functions)
{
    struct proto model = end_graph(graph);
    proto_opset(&model, "local", 1);
    proto_raw(&model, functions.data, functions.count);
    proto_free(&functions);
    return model;
}

static struct proto make_functions(size_t count)
{
    struct proto graph = start_graph(), functions = {0};
    for (size_t i = 0; i < count; i++) {
        struct proto function = start_function("F%zu", i), node = proto_node("Relu", "", "a", "b");
        proto_text(&function, FUNCTION_INPUT, "a");
        proto_text(&function, FUNCTION_OUTPUT, "b");
        proto_message(&function, FUNCTION_NODE, &node);
        proto_message(&functions, MODEL_FUNCTION, &function);
        add_call(&graph, "F%zu", i, numbered("", "x", "d%zu", i));
    }
    return end_model(graph, functions);
}

/* Nodes of a body that refer to an attribute each, which the call gives or a default does. */
static struct proto refer(size_t count, bool given)
{
    struct proto graph = start_graph(), functions = {0}, function = start_function("F", 0),
                 call = proto_node("", "", "x", "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_OUTPUT, "b0");
    for (size_t i = 0; i < count; i++) {
        struct proto node = numbered("LeakyRelu", "a", "b%zu", i), reference = {0};
        char name[40];
        snprintf(name, sizeof name, "slope%zu", i);
        proto_text(&reference, ATTRIBUTE_REFERENCE, name);
        add_attribute(&node, NODE_ATTRIBUTE, "alpha", 0, 1, reference);
        proto_message(&function, FUNCTION_NODE, &node);
        if (given)
            proto_text(&function, FUNCTION_ATTRIBUTE, name);
        add_attribute(given ? &call : &function, given ? NODE_ATTRIBUTE : FUNCTION_DEFAULT,
                      "slope%zu", i, 1, fraction(0.5f));
    }
    proto_message(&functions, MODEL_FUNCTION, &function);
    add_call(&graph, "F", 0, call);
    return end_model(graph, functions);
}

static struct proto make_given_attributes(size_t count)
{
    return refer(count, true);
}

static struct proto make_default_attributes(size_t count)
{
    return refer(count, false);
}

/* Calls of a function with as many parameters and values that no one gives or uses: too much. */
static struct proto make_parameters(size_t count)
{
    struct proto graph = start_graph(), functions = {0}, function = start_function("F", 0),
                 node = proto_node("Relu", "", "p0", "b");
    proto_text(&function, FUNCTION_OUTPUT, "b");
    proto_message(&function, FUNCTION_NODE, &node);
    for (size_t i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "p%zu", i);
        proto_text(&function, FUNCTION_INPUT, name);
        add_call(&graph, "F", 0, numbered("", "x", "d%zu", i));
    }
    proto_message(&functions, MODEL_FUNCTION, &function);
    return end_model(graph, functions);
}

/* ---- bodies ---- */

static void add_truth(struct proto *graph, bool known)
{
    if (!known) {
        proto_value(graph, GRAPH_INPUT, "c", ULP_TYPE_BOOL, 0, NULL);
        return;
    }
    struct proto tensor = proto_tensor("c", ULP_TYPE_BOOL, 0, NULL);
    proto_bytes(&tensor, TENSOR_RAW, "\1", 1);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void add_if(struct proto *graph, struct proto node, struct proto then_graph,
                   struct proto else_graph)
{
    add_attribute(&node, NODE_ATTRIBUTE, "then_branch", 0, 5, body(then_graph));
    add_attribute(&node, NODE_ATTRIBUTE, "else_branch", 0, 5, body(else_graph));
    proto_message(graph, GRAPH_NODE, &node);
}

static struct proto small_branch(const char *op)
{
    struct proto branch = {0};
    add_node(&branch, op, "x", "t", 0);
    proto_value(&branch, GRAPH_OUTPUT, "t", ULP_TYPE_FLOAT, -1, NULL);
    return branch;
}

static struct proto make_ifs(size_t count)
{
    struct proto graph = start_graph();
    add_truth(&graph, false);
    for (size_t i = 0; i < count; i++)
        add_if(&graph, numbered("If", "c", "d%zu", i), small_branch("Relu"), small_branch("Neg"));
    return end_graph(graph);
}

/* A chain of Ifs with a known condition, each of which hands on what the one before gave. */
static struct proto make_known_ifs(size_t count)
{
    struct proto graph = start_graph();
    add_truth(&graph, true);
    add_node(&graph, "Relu", "x", "d0", 0);
    for (size_t i = 1; i < count; i++) {
        struct proto branch = {0};
        char before[40];
        snprintf(before, sizeof before, "d%zu", i - 1);
        proto_value(&branch, GRAPH_OUTPUT, before, ULP_TYPE_FLOAT, -1, NULL);
        add_if(&graph, numbered("If", "c", "d%zu", i), branch, small_branch("Neg"));
    }
    return end_graph(graph);
}

static struct proto make_captures(size_t count)
{
    struct proto graph = start_graph(), branch = small_branch("Relu");
    add_truth(&graph, false);
    for (size_t i = 0; i < count; i++) {
        add_node(&graph, "Relu", "x", "d%zu", i);
        add_node(&branch, "Relu", "d%zu", "t%zu", i);
    }
    add_if(&graph, proto_node("If", "", "c", "z"), branch, small_branch("Neg"));
    return end_graph(graph);
}

static struct proto make_branch_outputs(size_t count)
{
    struct proto graph = start_graph(), branches[2] = {{0}, {0}},
                 node = proto_node("If", "", "c", "");
    add_truth(&graph, false);
    for (size_t i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "z%zu", i);
        proto_text(&node, NODE_OUTPUT, name);
        for (int b = 0; b < 2; b++) {
            add_node(&branches[b], "Relu", "x", "t%zu", i);
            snprintf(name, sizeof name, "t%zu", i);
            proto_value(&branches[b], GRAPH_OUTPUT, name, ULP_TYPE_FLOAT, -1, NULL);
        }
    }
    add_if(&graph, node, branches[0], branches[1]);
    return end_graph(graph);
}

static struct proto start_loop_body(void)
{
    struct proto graph = {0};
    proto_value(&graph, GRAPH_INPUT, "round", ULP_TYPE_INT64, 0, NULL);
    proto_value(&graph, GRAPH_INPUT, "go", ULP_TYPE_BOOL, 0, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "on", ULP_TYPE_BOOL, 0, NULL);
    add_node(&graph, "Identity", "go", "on", 0);
    return graph;
}

static void add_loop(struct proto *graph, struct proto node, struct proto loop)
{
    const int64_t rounds = 3;
    struct proto tensor = proto_tensor("rounds", ULP_TYPE_INT64, 0, NULL);
    proto_bytes(&tensor, TENSOR_RAW, &rounds, sizeof rounds);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
    add_attribute(&node, NODE_ATTRIBUTE, "body", 0, 5, body(loop));
    proto_message(graph, GRAPH_NODE, &node);
}

static struct proto make_loop_nodes(size_t count)
{
    struct proto graph = start_graph(), loop = start_loop_body();
    for (size_t i = 0; i < count; i++) {
        add_floats(&loop, "w%zu", 2, i);
        add_node(&loop, "MatMul", "x w%zu", "t%zu", i);
    }
    add_value(&loop, GRAPH_OUTPUT, "t%zu", 0);
    add_loop(&graph, proto_node("Loop", "", "rounds -", "first"), loop);
    return end_graph(graph);
}

static struct proto make_loop_values(size_t count)
{
    struct proto graph = start_graph(), loop = start_loop_body(),
                 node = proto_node("Loop", "", "rounds -", "");
    for (size_t i = 0; i < count; i++) {
        char name[40];
        proto_text(&node, NODE_INPUT, "x");
        snprintf(name, sizeof name, "z%zu", i);
        proto_text(&node, NODE_OUTPUT, name);
        add_node(&loop, "Relu", "v%zu", "w%zu", i);
        add_value(&loop, GRAPH_INPUT, "v%zu", i);
        add_value(&loop, GRAPH_OUTPUT, "w%zu", i);
    }
    add_loop(&graph, node, loop);
    return end_graph(graph);
}

/* A body of many nodes in a node of a long name, which they all would get. */
static struct proto make_long_names(size_t count)
{
    struct proto graph = start_graph(), loop = start_loop_body();
    char *name = calloc(32 * count + 1, 1);
    memset(name, 'n', 32 * count);
    for (size_t i = 0; i < count; i++)
        add_node(&loop, "Relu", "x", "t%zu", i);
    add_value(&loop, GRAPH_OUTPUT, "t%zu", 0);
    add_loop(&graph, proto_node("Loop", name, "rounds -", "first"), loop);
    free(name);
    return end_graph(graph);
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
