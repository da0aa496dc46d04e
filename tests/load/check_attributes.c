/* Attributes of every kind, broken ones, and functions, whose nodes refer to theirs. */
#include "load_test.h"

static struct proto attribute_of(const char *name, int type)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    if (type)
        proto_int(&attribute, ATTRIBUTE_TYPE, type);
    return attribute;
}

TEST(attributes_of_every_kind)
{
    static const int64_t one[1] = {1};
    static const float floats[2] = {0.1f, -2};
    struct proto node = proto_node("Neg", "n", "x", "z"), a = attribute_of("f", 1);
    proto_float(&a, ATTRIBUTE_F, 0.1f);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("i", 0); /* old files do not say the type */
    proto_int(&a, ATTRIBUTE_I, -7);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("s", 3);
    proto_text(&a, ATTRIBUTE_S, "text");
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("zero", 3);
    proto_bytes(&a, ATTRIBUTE_S, "a\0b", 3);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("ints", 7);
    proto_int(&a, ATTRIBUTE_INTS, 5);
    proto_int(&a, ATTRIBUTE_INTS, INT64_MIN);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("floats", 6);
    proto_numbers(&a, ATTRIBUTE_FLOATS, floats, sizeof floats);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("strings", 8);
    proto_text(&a, ATTRIBUTE_STRINGS, "p");
    proto_text(&a, ATTRIBUTE_STRINGS, "");
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("empty", 7);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("t", 4);
    struct proto tensor = proto_tensor("", ULP_TYPE_UINT8, 1, one);
    proto_bytes(&tensor, TENSOR_RAW, "a", 1);
    proto_message(&a, ATTRIBUTE_T, &tensor);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    a = attribute_of("graphs", 10);
    proto_message(&node, NODE_ATTRIBUTE, &a);
    struct proto graph = identity_graph();
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto message = proto_model(8, 13, &graph);
    scoped_model *model = load_proto(&message);
    const struct ulp_node *n = &model->graph->nodes[1];
    ck_assert_uint_eq(n->attribute_count, 10);
    ck_assert(ulp_node_attribute(n, "f")->kind == ULP_ATTRIBUTE_FLOAT &&
              ulp_node_attribute(n, "f")->f == 0.1f);
    ck_assert(ulp_node_attribute(n, "i")->kind == ULP_ATTRIBUTE_INT &&
              ulp_node_attribute(n, "i")->i == -7);
    ck_assert_str_eq(ulp_node_attribute(n, "s")->s, "text");
    ck_assert_int_eq(ulp_node_attribute(n, "zero")->kind, ULP_ATTRIBUTE_OTHER);
    const struct ulp_attribute *ints = ulp_node_attribute(n, "ints");
    ck_assert(ints->count == 2 && ints->ints[0] == 5 && ints->ints[1] == INT64_MIN);
    const struct ulp_attribute *list = ulp_node_attribute(n, "floats");
    ck_assert(list->count == 2 && list->floats[0] == 0.1f && list->floats[1] == -2);
    const struct ulp_attribute *strings = ulp_node_attribute(n, "strings");
    ck_assert(strings->count == 2 && strcmp(strings->strings[0], "p") == 0 &&
              !*strings->strings[1]);
    ck_assert_uint_eq(ulp_node_attribute(n, "empty")->count, 0);
    ck_assert_int_eq(ulp_tensor_get(ulp_node_attribute(n, "t")->tensor, 0), 'a');
    ck_assert_int_eq(ulp_node_attribute(n, "graphs")->kind, ULP_ATTRIBUTE_OTHER);
    ck_assert_ptr_null(ulp_node_attribute(n, "none"));
}

static struct proto model_with_attribute(struct proto *attribute, int copies)
{
    struct proto node = proto_node("Neg", "n", "x", "z"), graph = identity_graph();
    for (int i = 0; i < copies; i++)
        proto_bytes(&node, NODE_ATTRIBUTE, attribute->data, attribute->count);
    proto_free(attribute);
    proto_message(&graph, GRAPH_NODE, &node);
    return proto_model(8, 13, &graph);
}

TEST(bad_attributes_are_named)
{
    static const struct {
        const char *name;
        int type, field; /* field 0: none but name and type */
        const char *value;
        int copies;
        enum ulp_status status;
        const char *text;
    } rows[] = {
        {"k", 2, 0, "", 2, ULP_ERROR_INPUT, "node 'n' (Neg): attribute 'k' is there twice"},
        {"", 2, 0, "", 1, ULP_ERROR_INPUT, "attribute 0 has no name"},
        {"k", 4, 0, "", 1, ULP_ERROR_INPUT, "attribute 'k': is a tensor, but there is none"},
        {"k", 5, 0, "", 1, ULP_ERROR_INPUT, "attribute 'k': is a graph, but there is none"},
        {"k", 5, ATTRIBUTE_G, "\xff", 1, ULP_ERROR_INPUT,
         "attribute 'k': the subgraph is not valid ONNX protobuf"},
        {"k", 77, 0, "", 1, ULP_ERROR_UNSUPPORTED, "attribute 'k': has type 77"},
        {"k", 2, ATTRIBUTE_REFERENCE, "r", 1, ULP_ERROR_INPUT,
         "attribute 'k': refers to a function's attribute"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct proto attribute = attribute_of(rows[i].name, rows[i].type);
        if (rows[i].field)
            proto_text(&attribute, rows[i].field, rows[i].value);
        struct proto message = model_with_attribute(&attribute, rows[i].copies);
        expect_failure(&message, rows[i].status, rows[i].text);
    }
}

static struct proto scaled_function(const char *input)
{
    struct proto function = {0}, node = proto_node("LeakyRelu", "", input, "b"),
                 a = attribute_of("alpha", 1);
    proto_text(&a, ATTRIBUTE_REFERENCE, "slope");
    proto_message(&node, NODE_ATTRIBUTE, &a);
    proto_text(&function, FUNCTION_NAME, "Leaky");
    proto_text(&function, FUNCTION_DOMAIN, "local");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_OUTPUT, "b");
    proto_text(&function, FUNCTION_ATTRIBUTE, "needed");
    proto_message(&function, FUNCTION_NODE, &node);
    a = attribute_of("slope", 1);
    proto_float(&a, ATTRIBUTE_F, 0.25f);
    proto_message(&function, FUNCTION_DEFAULT, &a);
    struct proto opset = {0};
    proto_text(&opset, 1, "ai.onnx");
    proto_int(&opset, 2, 16);
    proto_message(&function, FUNCTION_OPSET, &opset);
    return function;
}

TEST(functions_keep_references_and_defaults)
{
    struct proto graph = identity_graph(), message = proto_model(9, 18, &graph),
                 function = scaled_function("a");
    proto_message(&message, MODEL_FUNCTION, &function);
    struct ulp_model *model = load_proto(&message);
    ck_assert_uint_eq(model->function_count, 1);
    const struct ulp_function *f = &model->functions[0];
    ck_assert(!strcmp(f->name, "Leaky") && !strcmp(f->domain, "local") && !*f->overload);
    ck_assert(f->input_count == 1 && f->output_count == 1 && f->attribute_default_count == 1);
    ck_assert_str_eq(f->attribute_defaults[0].name, "slope");
    ck_assert(f->attribute_defaults[0].f == 0.25f);
    ck_assert(f->opset_count == 1 && !*f->opsets[0].domain && f->opsets[0].version == 16);
    const struct ulp_attribute *alpha = ulp_node_attribute(&f->body->nodes[0], "alpha");
    ck_assert_str_eq(alpha->reference, "slope");
    ck_assert_int_eq(alpha->kind, ULP_ATTRIBUTE_FLOAT);
    ck_assert_str_eq(f->body->values[f->body->inputs[0]].name, "a");
    ck_assert_str_eq(f->body->values[f->body->outputs[0]].name, "b");
    ulp_model_free(model);
    graph = identity_graph();
    message = proto_model(9, 18, &graph);
    for (int i = 0; i < 2; i++) {
        function = scaled_function("a");
        proto_message(&message, MODEL_FUNCTION, &function);
    }
    expect_failure(&message, ULP_ERROR_INPUT, "function 'local::Leaky' is there twice");
    graph = identity_graph();
    message = proto_model(9, 18, &graph);
    function = scaled_function("x"); /* the main graph's value is not a function's */
    proto_message(&message, MODEL_FUNCTION, &function);
    expect_failure(&message, ULP_ERROR_INPUT,
                   "function 'local::Leaky': node 'LeakyRelu_0' (LeakyRelu): input 0, 'x'");
}
