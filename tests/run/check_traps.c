/* load and run: oddities of real model files, each a small model with a result known by hand. */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <ulpscope.h>

#include "load/load.h"
#include "tests/support/proto.h"

static const float ramp[] = {1, 2, 3, 4, 5, 6, 7, 8};

static void add_constant(struct proto *graph, const char *name, enum ulp_type type, int64_t count,
                         const void *data)
{
    struct proto tensor = proto_tensor(name, (int)type, 1, &count);
    const size_t each = type == ULP_TYPE_INT64 ? 8 : 4;
    proto_elements(&tensor, TENSOR_RAW, data, (size_t)count * each, each);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void add_ints(struct proto *node, const char *name, bool list, int64_t first, int64_t second)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, list ? ATTRIBUTE_INTS : ATTRIBUTE_I, first);
    if (list && second >= 0)
        proto_int(&attribute, ATTRIBUTE_INTS, second);
    proto_int(&attribute, ATTRIBUTE_TYPE, list ? 7 : 2);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_node(struct proto *graph, const char *op, const char *inputs, const char *outputs)
{
    struct proto node = proto_node(op, op, inputs, outputs);
    proto_message(graph, GRAPH_NODE, &node);
}

/* The graph's input x, of rank dims filled with 1, 2, 3, ...; its only output y must be wanted[0 ..
 * count). */
static void expect_model(struct proto *model, int rank, const int64_t *dims, size_t count,
                         const double *wanted)
{
    struct ulp_model *loaded;
    struct ulp_arithmetic lane;
    struct ulp_program *program;
    struct ulp_tensor_set inputs = {0}, outputs;
    struct ulp_tensor x;
    ck_ok(ulp_model_load_bytes("trap.onnx", model->data, model->count, NULL, &loaded, &why));
    proto_free(model);
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, rank, dims, &why));
    memcpy(x.data, ramp, x.count * sizeof *ramp);
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    const struct ulp_program_options options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1};
    lane = test_arithmetic("fp32");
    ck_ok(ulp_program_create(loaded, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &run, NULL, 0, &outputs, NULL, &why));
    ck_assert_uint_eq(outputs.items[0].tensor.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(ulp_tensor_get(&outputs.items[0].tensor, i) == wanted[i],
                      "y[%zu] = %.9g, expected %.9g", i,
                      ulp_tensor_get(&outputs.items[0].tensor, i), wanted[i]);
    ulp_tensor_set_free(&outputs);
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_tensor_free(&x);
    ulp_model_free(loaded);
}

/* x of dims (-1: symbolic) and y of symbolic dimensions. */
static struct proto begin_shaped(int rank, const int64_t *dims)
{
    static const int64_t any[] = {-1, -1, -1, -1};
    struct proto graph = {0};
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, rank, dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, rank, any);
    return graph;
}

static struct proto begin_graph(void)
{
    return begin_shaped(1, (const int64_t[]){-1});
}

TEST(nodes_out_of_order)
{
    struct proto graph = begin_graph();
    add_node(&graph, "Add", "b x", "y");
    add_node(&graph, "Neg", "a", "b");
    add_node(&graph, "Mul", "x x", "a");
    struct proto model = proto_model(8, 13, &graph);
    expect_model(&model, 1, (const int64_t[]){3}, 3, (const double[]){0, -2, -6});
}

/* "ai.onnx" is the default domain's other name: as an opset's, and as a node's. And domains no node
 * uses are no reason to refuse. */
TEST(domains_spelled_out_and_unused)
{
    struct proto graph = begin_graph(), model = {0}, node = proto_node("Add", "add", "x x", "y");
    proto_text(&node, NODE_DOMAIN, "ai.onnx");
    proto_message(&graph, GRAPH_NODE, &node);
    proto_int(&model, MODEL_IR, 8);
    proto_opset(&model, "com.microsoft.nchwc", 1);
    proto_opset(&model, "org.example.nobody", 77);
    proto_opset(&model, "ai.onnx", 13);
    proto_message(&model, MODEL_GRAPH, &graph);
    expect_model(&model, 1, (const int64_t[]){2}, 2, (const double[]){2, 4});
}

TEST(initializers_listed_as_inputs)
{
    struct proto graph = begin_graph();
    const int64_t three = 3;
    add_constant(&graph, "w", ULP_TYPE_FLOAT, 3, ramp + 4);
    proto_value(&graph, GRAPH_INPUT, "w", ULP_TYPE_FLOAT, 1, &three);
    add_node(&graph, "Add", "x w", "y");
    struct proto model = proto_model(3, 8, &graph);
    expect_model(&model, 1, &three, 3, (const double[]){6, 8, 10});
}

TEST(weights_in_constant_nodes)
{
    struct proto graph = begin_graph(), value = {0},
                 node = proto_node("Constant", "weights", "", "w");
    const int64_t three = 3;
    struct proto tensor = proto_tensor("", ULP_TYPE_FLOAT, 1, &three);
    proto_numbers(&tensor, TENSOR_RAW, ramp + 4, 12);
    proto_text(&value, ATTRIBUTE_NAME, "value");
    proto_message(&value, ATTRIBUTE_T, &tensor);
    proto_int(&value, ATTRIBUTE_TYPE, 4);
    proto_message(&node, NODE_ATTRIBUTE, &value);
    proto_message(&graph, GRAPH_NODE, &node);
    add_node(&graph, "Mul", "x w", "y");
    struct proto model = proto_model(8, 13, &graph);
    expect_model(&model, 1, &three, 3, (const double[]){5, 12, 21});
}

/* A branch that is `op` of `inputs`, or (inner) an If of its own. */
static struct proto make_branch(const char *op, const char *inputs, const char *output)
{
    struct proto branch = {0};
    add_node(&branch, op, inputs, output);
    proto_text(&branch, GRAPH_NAME, op);
    proto_value(&branch, GRAPH_OUTPUT, output, ULP_TYPE_FLOAT, 1, (const int64_t[]){-1});
    return branch;
}

static struct proto make_if(const char *condition, const char *output, struct proto *then_branch,
                            struct proto *else_branch)
{
    struct proto node = proto_node("If", "if", condition, output), attributes[2] = {{0}, {0}};
    proto_text(&attributes[0], ATTRIBUTE_NAME, "then_branch");
    proto_message(&attributes[0], ATTRIBUTE_G, then_branch);
    proto_text(&attributes[1], ATTRIBUTE_NAME, "else_branch");
    proto_message(&attributes[1], ATTRIBUTE_G, else_branch);
    for (int a = 0; a < 2; a++) {
        proto_int(&attributes[a], ATTRIBUTE_TYPE, 5);
        proto_message(&node, NODE_ATTRIBUTE, &attributes[a]);
    }
    return node;
}

/* if (sum(x) > 5) { if (max(x) > 7) x - d else x + d } else -x, where d = x * x is computed outside
 * of both and x is the graph's input. */
TEST_LOOP(nested_if_captures_outer_names, 0, 2)
{
    static const double wanted[][4] = {{2, 6, 12, 20}, {-1, -2}};
    struct proto graph = begin_graph(), inner_graph = {0};
    struct proto less = make_branch("Sub", "x d", "t"), more = make_branch("Add", "x d", "e"),
                 negative = make_branch("Neg", "x", "n");
    struct proto inner = make_if("big", "i", &less, &more);
    add_constant(&graph, "five", ULP_TYPE_FLOAT, 1, ramp + 4);
    add_constant(&graph, "seven", ULP_TYPE_FLOAT, 1, ramp + 6);
    proto_message(&inner_graph, GRAPH_NODE, &inner);
    proto_text(&inner_graph, GRAPH_NAME, "outer then");
    proto_value(&inner_graph, GRAPH_OUTPUT, "i", ULP_TYPE_FLOAT, 1, (const int64_t[]){-1});
    struct proto outer = make_if("many", "y", &inner_graph, &negative);
    add_node(&graph, "Mul", "x x", "d");
    add_node(&graph, "ReduceSum", "x", "sum");
    add_node(&graph, "ReduceMax", "x", "max");
    add_node(&graph, "Greater", "sum five", "many");
    add_node(&graph, "Greater", "max seven", "big");
    proto_message(&graph, GRAPH_NODE, &outer);
    struct proto model = proto_model(8, 13, &graph);
    expect_model(&model, 1, (const int64_t[]){_i ? 2 : 4}, _i ? 2 : 4, wanted[_i]);
}

/* Of equal values: before opset 13 over all axes from `axis` on (4 of them: 1/4), from 13 on over
 * that axis alone (1/2). */
TEST_LOOP(softmax_before_13_flattens, 0, 2)
{
    static const int64_t dims[] = {1, 2, 2};
    struct proto graph = begin_shaped(3, dims), node = proto_node("Softmax", "softmax", "z", "y");
    add_node(&graph, "Sub", "x x", "z");
    add_ints(&node, "axis", false, 1, 0);
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto model = proto_model(8, _i ? 13 : 11, &graph);
    const double v = _i ? 0.5 : 0.25;
    expect_model(&model, 3, dims, 4, (const double[]){v, v, v, v});
}

/* 7: scales are an attribute; 9: an input; Resize-10: x, scales (later x, roi, scales). Nearest by
 * 2 in width. */
TEST_LOOP(upsample_and_resize_of_7_to_10, 0, 3)
{
    static const float scales[] = {1, 1, 1, 2};
    static const int64_t opsets[] = {7, 9, 10}, dims[] = {1, 1, 1, 2};
    struct proto graph = begin_shaped(4, dims), node = proto_node(_i == 2 ? "Resize" : "Upsample",
                                                                  "up", _i ? "x scales" : "x", "y");
    if (_i) {
        add_constant(&graph, "scales", ULP_TYPE_FLOAT, 4, scales);
    } else {
        struct proto attribute = {0};
        proto_text(&attribute, ATTRIBUTE_NAME, "scales");
        for (int i = 0; i < 4; i++)
            proto_float(&attribute, ATTRIBUTE_FLOATS, scales[i]);
        proto_int(&attribute, ATTRIBUTE_TYPE, 6);
        proto_message(&node, NODE_ATTRIBUTE, &attribute);
    }
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto model = proto_model(4, opsets[_i], &graph);
    expect_model(&model, 4, dims, 4, (const double[]){1, 1, 2, 2});
}

/* Squeeze, ReduceSum and Unsqueeze before and from 13 on. */
TEST(axes_as_attribute_or_input)
{
    static const char *const ops[] = {"Unsqueeze", "ReduceSum", "Squeeze"};
    static const int64_t one[] = {1}, dims[] = {2, 3};
    for (int opset = 11; opset <= 13; opset += 2) {
        struct proto graph = begin_shaped(2, dims);
        add_constant(&graph, "axes", ULP_TYPE_INT64, 1, one);
        static const char *const values[] = {"x", "a", "b", "c"};
        /* [2, 3] -> [2, 1, 3] -> [2, 1, 3] summed over axis 1 -> [2, 3] */
        for (int i = 0; i < 3; i++) {
            char inputs[32];
            snprintf(inputs, sizeof inputs, opset < 13 ? "%s" : "%s axes", values[i]);
            struct proto node = proto_node(ops[i], ops[i], inputs, values[i + 1]);
            if (opset < 13)
                add_ints(&node, "axes", true, 1, -1);
            proto_message(&graph, GRAPH_NODE, &node);
        }
        add_node(&graph, "Add", "c x", "y");
        struct proto model = proto_model(8, opset, &graph);
        expect_model(&model, 2, dims, 6, (const double[]){2, 4, 6, 8, 10, 12});
    }
}

/* A dimension that is the number -1 instead of a name or nothing: unknown. */
TEST(dimensions_of_minus_one)
{
    struct proto graph = {0};
    /* ValueInfo {name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1 {dim_value
     * = 1}}}}} */
    for (int io = 0; io < 2; io++) {
        struct proto dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
        proto_int(&dim, 1, -1);
        proto_message(&shape, 1, &dim);
        proto_int(&tensor, 1, ULP_TYPE_FLOAT);
        proto_message(&tensor, 2, &shape);
        proto_message(&type, 1, &tensor);
        proto_text(&value, 1, io ? "y" : "x");
        proto_message(&value, 2, &type);
        proto_message(&graph, io ? GRAPH_OUTPUT : GRAPH_INPUT, &value);
    }
    add_node(&graph, "Neg", "x", "y");
    struct proto model = proto_model(8, 13, &graph);
    expect_model(&model, 1, (const int64_t[]){3}, 3, (const double[]){-1, -2, -3});
}

/* Clip(x, "", max), and TopK whose values' name is empty. */
TEST(empty_names_are_omitted_values)
{
    struct proto graph = begin_graph(), cast = proto_node("Cast", "cast", "indices", "i");
    const int64_t two = 2;
    const float limit = 2.5f;
    struct proto tensor = proto_tensor("limit", ULP_TYPE_FLOAT, 0, NULL);
    proto_numbers(&tensor, TENSOR_RAW, &limit, 4);
    proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    add_constant(&graph, "k", ULP_TYPE_INT64, 1, &two);
    add_node(&graph, "TopK", "x k", "- indices");
    add_ints(&cast, "to", false, ULP_TYPE_FLOAT, 0);
    proto_message(&graph, GRAPH_NODE, &cast);
    add_node(&graph, "Clip", "i - limit", "y");
    struct proto model = proto_model(8, 13, &graph);
    expect_model(&model, 1, (const int64_t[]){4}, 2, (const double[]){2.5, 2});
}

TEST_SUITE("traps", 0)
