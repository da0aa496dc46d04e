#include "growth_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct proto make_functions(size_t count)
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

struct proto make_given_attributes(size_t count)
{
    return refer(count, true);
}

struct proto make_default_attributes(size_t count)
{
    return refer(count, false);
}

/* Calls of a function with as many parameters and values that no one gives or uses: too much. */
struct proto make_parameters(size_t count)
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

struct proto make_ifs(size_t count)
{
    struct proto graph = start_graph();
    add_truth(&graph, false);
    for (size_t i = 0; i < count; i++)
        add_if(&graph, numbered("If", "c", "d%zu", i), small_branch("Relu"), small_branch("Neg"));
    return end_graph(graph);
}

/* A chain of Ifs with a known condition, each of which hands on what the one before gave. */
struct proto make_known_ifs(size_t count)
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

struct proto make_captures(size_t count)
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

struct proto make_branch_outputs(size_t count)
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
    proto_numbers(&tensor, TENSOR_RAW, &rounds, sizeof rounds);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
    add_attribute(&node, NODE_ATTRIBUTE, "body", 0, 5, body(loop));
    proto_message(graph, GRAPH_NODE, &node);
}

struct proto make_loop_nodes(size_t count)
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

struct proto make_loop_values(size_t count)
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
struct proto make_long_names(size_t count)
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
