/* Graphs: order, names, captures, versions, declarations. */
#include "load_test.h"

static void add_node(struct proto *graph, const char *op, const char *name, const char *inputs,
                     const char *outputs)
{
    struct proto node = proto_node(op, name, inputs, outputs);
    proto_message(graph, GRAPH_NODE, &node);
}

static void add_io(struct proto *graph, const char *input, const char *output)
{
    static const int64_t dims[2] = {-1, 3};
    if (*input)
        proto_value(graph, GRAPH_INPUT, input, ULP_TYPE_FLOAT, 2, dims);
    if (*output)
        proto_value(graph, GRAPH_OUTPUT, output, ULP_TYPE_FLOAT, 2, dims);
}

/* The names of the graph's nodes in order, separated by spaces. */
static const char *node_names(const struct ulp_graph *graph)
{
    static char text[1000];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < graph->node_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? " %s" : "%s",
                                 graph->nodes[i].name);
    return text;
}

TEST(the_public_view)
{
    struct proto graph = {0};
    static const int64_t dims[2] = {-1, 3}, one[1] = {1};
    proto_text(&graph, GRAPH_NAME, "g");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT16, 2, dims);
    /* IR 3: initializers are inputs too */
    proto_value(&graph, GRAPH_INPUT, "w", ULP_TYPE_FLOAT, 1, one);
    proto_value(&graph, GRAPH_INPUT, "free", ULP_TYPE_INT64, -1, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    struct proto weight = proto_tensor("w", ULP_TYPE_FLOAT, 1, one),
                 clip = proto_node("Clip", "", "x - w", "y");
    proto_bytes(&weight, TENSOR_RAW, "\0\0\200?", 4);
    proto_message(&graph, GRAPH_INITIALIZER, &weight);
    struct proto entry = {0};
    proto_text(&entry, 1, "pkg.torch.onnx.name_scopes");
    proto_text(&entry, 2, "['', 'clip']");
    proto_message(&clip, NODE_METADATA, &entry);
    proto_text(&clip, NODE_DOMAIN, "ai.onnx");
    proto_message(&graph, GRAPH_NODE, &clip);
    add_node(&graph, "Dropout", "d", "y", "z -");
    struct proto message = proto_model(3, 7, &graph);
    proto_opset(&message, "ai.onnx.ml", 2);
    scoped_model *model = load_proto(&message);
    ck_assert_int_eq(ulp_model_ir_version(model), 3);
    ck_assert_int_eq(ulp_model_opset(model, "ai.onnx"), 7);
    ck_assert_int_eq(ulp_model_opset(model, ""), 7);
    ck_assert_int_eq(ulp_model_opset(model, "ai.onnx.ml"), 2);
    ck_assert_int_eq(ulp_model_opset(model, "com.example"), 0);
    ck_assert_uint_eq(ulp_model_input_count(model), 2);
    struct ulp_value_info x = ulp_model_input(model, 0), unknown = ulp_model_input(model, 1);
    ck_assert_str_eq(x.name, "x");
    ck_assert(x.type == ULP_TYPE_FLOAT16 && x.rank == 2 && x.dims[0] == -1 && x.dims[1] == 3);
    ck_assert_str_eq(x.dim_names[0], "N");
    ck_assert_ptr_null(x.dim_names[1]);
    ck_assert(strcmp(unknown.name, "free") == 0 && unknown.rank == -1);
    ck_assert_ptr_null(ulp_model_input(model, 2).name);
    ck_assert_uint_eq(ulp_model_output_count(model), 1);
    ck_assert_str_eq(ulp_model_output(model, 0).name, "y");
    ck_assert_uint_eq(ulp_model_node_count(model), 2);
    ck_assert_str_eq(ulp_model_node_name(model, 0), "Clip_0");
    ck_assert_str_eq(ulp_model_node_op(model, 1), "Dropout");
    ck_assert_ptr_null(ulp_model_node_name(model, 2));
    const struct ulp_node *node = &model->graph->nodes[0];
    ck_assert(node->input_count == 3 && node->inputs[1] == -1);
    ck_assert_str_eq(node->domain, "");
    ck_assert_str_eq(node->scopes, "['', 'clip']");
    ck_assert_ptr_nonnull(model->graph->values[node->inputs[2]].initializer);
    ck_assert_int_eq(model->graph->nodes[1].outputs[1], -1);
}

TEST(nodes_are_sorted_and_stable)
{
    struct proto graph = {0};
    add_io(&graph, "x", "e");
    add_node(&graph, "Add", "E", "d c", "e");
    add_node(&graph, "Neg", "B", "a", "b");
    add_node(&graph, "Neg", "A", "x", "a");
    add_node(&graph, "Neg", "F", "x", "f");
    add_node(&graph, "Neg", "C", "b", "c");
    add_node(&graph, "Add", "D", "a a", "d");
    struct proto message = proto_model(8, 13, &graph);
    scoped_model *model = load_proto(&message);
    ck_assert_str_eq(node_names(model->graph), "A B F C D E");
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(model->graph->nodes[i].index, (int)i);
        ck_assert_int_eq(model->graph->values[model->graph->nodes[i].outputs[0]].producer, (int)i);
    }
}

TEST(a_cycle_is_named)
{
    struct proto graph = {0};
    add_io(&graph, "x", "d");
    add_node(&graph, "Add", "A", "x c", "a");
    add_node(&graph, "Neg", "B", "a", "b");
    add_node(&graph, "Neg", "C", "b", "c");
    add_node(&graph, "Neg", "D", "c", "d");
    struct proto message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "form a cycle of 3: ");
    graph = (struct proto){0};
    add_io(&graph, "x", "a");
    add_node(&graph, "Add", "A", "x a", "a");
    message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "form a cycle of 1: 'A' needs 'A'");
    graph = (struct proto){0};
    add_io(&graph, "x", "v0");
    for (int i = 0; i < 100; i++) {
        char in[16], out[16];
        snprintf(in, sizeof in, "v%d", (i + 1) % 100);
        snprintf(out, sizeof out, "v%d", i);
        add_node(&graph, "Neg", out, in, out);
    }
    message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "form a cycle of 100: ");
}

static void set_graph(struct proto *node, const char *name, struct proto *graph)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    proto_message(&attribute, ATTRIBUTE_G, graph);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

/* An If around an If around a node that reads `inner` from the main graph; both lie before what
 * they read. */
TEST(captures_pass_every_level)
{
    struct proto inner = {0}, middle = {0}, graph = {0};
    add_node(&inner, "Neg", "deep", "late", "r");
    add_io(&inner, "", "r");
    struct proto node = proto_node("If", "if2", "flag", "q");
    set_graph(&node, "then_branch", &inner);
    proto_message(&middle, GRAPH_NODE, &node);
    add_io(&middle, "", "q");
    node = proto_node("If", "if1", "flag", "p");
    set_graph(&node, "then_branch", &middle);
    add_io(&graph, "flag", "p");
    proto_message(&graph, GRAPH_NODE, &node);
    add_node(&graph, "Neg", "producer", "flag", "late");
    struct proto message = proto_model(8, 13, &graph);
    scoped_model *model = load_proto(&message);
    const struct ulp_graph *top = model->graph;
    ck_assert_str_eq(node_names(top), "producer if1");
    const struct ulp_graph *mid = ulp_node_attribute(&top->nodes[1], "then_branch")->graph;
    ck_assert_ptr_eq(mid->parent, top);
    const struct ulp_graph *low = ulp_node_attribute(&mid->nodes[0], "then_branch")->graph;
    const struct ulp_value *value = &low->values[low->nodes[0].inputs[0]];
    ck_assert(strcmp(value->name, "late") == 0 && value->producer == -1);
    ck_assert_int_ge(value->outer, 0);
    value = &mid->values[value->outer];
    ck_assert(strcmp(value->name, "late") == 0 && value->producer == -1);
    ck_assert_int_ge(value->outer, 0);
    value = &top->values[value->outer];
    ck_assert(strcmp(value->name, "late") == 0 && value->producer == 0);
    ck_assert_str_eq(mid->values[mid->nodes[0].inputs[0]].name, "flag");
}

/* The cycle goes through a subgraph's capture. */
TEST(a_capture_can_close_a_cycle)
{
    struct proto inner = {0}, graph = {0};
    add_node(&inner, "Neg", "deep", "y", "r");
    add_io(&inner, "", "r");
    struct proto node = proto_node("If", "if", "flag", "p");
    set_graph(&node, "then_branch", &inner);
    add_io(&graph, "flag", "p");
    proto_message(&graph, GRAPH_NODE, &node);
    add_node(&graph, "Neg", "n", "p", "y");
    struct proto message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "form a cycle of 2: ");
}

static struct proto nested(int depth)
{
    struct proto graph = {0};
    add_node(&graph, "Neg", "", "flag", "r");
    add_io(&graph, "", "r");
    for (int i = 0; i < depth; i++) {
        struct proto node = proto_node("If", "", "flag", "r");
        set_graph(&node, "then_branch", &graph);
        graph = (struct proto){0};
        proto_message(&graph, GRAPH_NODE, &node);
        add_io(&graph, i == depth - 1 ? "flag" : "", "r");
    }
    return proto_model(8, 13, &graph);
}

TEST(nesting_is_limited)
{
    struct proto message = nested(ULP_LOAD_DEPTH_MAX);
    ulp_model_free(load_proto(&message));
    message = nested(ULP_LOAD_DEPTH_MAX + 1);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "nested more than 64 deep");
    message = nested(5000);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "nested more than 64 deep");
}

TEST(names_that_do_not_fit)
{
    static const struct {
        const char *nodes[3][4]; /* op, name, inputs, outputs */
        const char *output, *text;
    } rows[] = {
        {{{"Neg", "A", "x", "y"}, {"Neg", "B", "x", "y"}},
         "y",
         "node 'B' (Neg): output 'y' is already computed by node 'A'"},
        {{{"Neg", "A", "x", "x"}}, "x", "output 'x' is already an input or an initializer"},
        {{{"Add", "A", "x w", "y"}},
         "y",
         "node 'A' (Add): input 1, 'w', is neither an input of the graph"},
        {{{"Neg", "A", "x", "y"}}, "z", "output 0, 'z', is computed by no node"},
        {{{"", "A", "x", "y"}}, "y", "node 0 ('A') has no operator"},
        {{{"Neg", "line\nbreak", "w", "y"}}, "y", "node 'line\\nbreak' (Neg)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct proto graph = {0};
        add_io(&graph, "x", rows[i].output);
        for (size_t n = 0; n < 3 && rows[i].nodes[n][0]; n++)
            add_node(&graph, rows[i].nodes[n][0], rows[i].nodes[n][1], rows[i].nodes[n][2],
                     rows[i].nodes[n][3]);
        struct proto message = proto_model(8, 13, &graph);
        expect_failure(&message, ULP_ERROR_INPUT, rows[i].text);
    }
}

TEST(doubled_and_empty_names)
{
    static const int64_t one[1] = {1};
    struct proto graph = identity_graph();
    add_io(&graph, "x", "");
    struct proto message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "two inputs have the name 'x'");
    graph = identity_graph();
    for (int i = 0; i < 2; i++) {
        struct proto tensor = proto_tensor("w", ULP_TYPE_UINT8, 1, one);
        proto_bytes(&tensor, TENSOR_RAW, "a", 1);
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    }
    message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "two initializers have the name 'w'");
    struct proto tensor = proto_tensor("", ULP_TYPE_UINT8, 1, one);
    proto_bytes(&tensor, TENSOR_RAW, "a", 1);
    message = model_with_tensor(&tensor);
    expect_failure(&message, ULP_ERROR_INPUT, "an initializer has no name");
    tensor = proto_tensor("x", ULP_TYPE_UINT8, 1, one);
    proto_bytes(&tensor, TENSOR_RAW, "a", 1);
    message = model_with_tensor(&tensor);
    expect_failure(&message, ULP_ERROR_INPUT,
                   "initializer 'x' has type UINT8, but the input of that name declares FLOAT");
    graph = identity_graph();
    struct proto node = proto_node("Neg", "", "x", "");
    proto_bytes(&node, NODE_OUTPUT, "a\0b", 3);
    proto_message(&graph, GRAPH_NODE, &node);
    message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_INPUT,
                   "node 'Neg_1' (Neg): an output's name has a zero byte inside: 'a'");
}

TEST(versions_are_checked)
{
    static const struct {
        int64_t ir, opset, second_opset;
        enum ulp_status status;
        const char *text;
    } rows[] = {
        {3, 1, 0, ULP_OK, ""},
        {13, 26, 0, ULP_OK, ""},
        {13, 26, 26, ULP_OK, ""},
        {14, 28, 0, ULP_OK, ""},
        {15, 26, 0, ULP_ERROR_UNSUPPORTED,
         "IR version 15 is newer than 14, the newest this version knows"},
        {INT64_MAX, 26, 0, ULP_ERROR_UNSUPPORTED, "is newer than 14"},
        {2, 7, 0, ULP_ERROR_INPUT, "IR version 2 cannot import operator sets"},
        {0, 7, 0, ULP_ERROR_INPUT, "IR version 0 is not one of ONNX's"},
        {-1, 7, 0, ULP_ERROR_INPUT, "IR version -1 is not one of ONNX's"},
        {8, 0, 0, ULP_ERROR_INPUT, "operator set 'ai.onnx' has version 0"},
        {8, 13, 12, ULP_ERROR_INPUT, "operator set 'ai.onnx' is imported twice, as 13 and as 12"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct proto graph = identity_graph(),
                     message = proto_model(rows[i].ir, rows[i].opset, &graph);
        if (rows[i].second_opset)
            proto_opset(&message, "ai.onnx", rows[i].second_opset);
        if (rows[i].status == ULP_OK)
            ulp_model_free(load_proto(&message));
        else
            expect_failure(&message, rows[i].status, rows[i].text);
    }
    struct proto graph = identity_graph(), message = {0};
    proto_int(&message, MODEL_IR, 8);
    proto_message(&message, MODEL_GRAPH, &graph);
    expect_failure(&message, ULP_ERROR_INPUT, "imports no operator set");
    proto_int(&message, MODEL_IR, 1);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "IR version 1 is older than 3");
    proto_int(&message, MODEL_IR, 8);
    proto_opset(&message, "", 13);
    expect_failure(&message, ULP_ERROR_INPUT, "the model has no graph");
}

TEST(declarations_out_of_range)
{
    int64_t dims[ULP_RANK_MAX + 1] = {0};
    struct proto graph = identity_graph();
    proto_value(&graph, GRAPH_INPUT, "far", ULP_TYPE_FLOAT, ULP_RANK_MAX + 1, dims);
    struct proto message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "value 'far': declares rank 17");
    graph = identity_graph();
    proto_value(&graph, GRAPH_INPUT, "new", 28, 1, dims);
    message = proto_model(8, 13, &graph);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "value 'new': declares element type 28");
    struct proto type = {0}, value = {0};
    proto_bytes(&type, 4, "", 0);
    proto_text(&value, 1, "list");
    proto_message(&value, 2, &type);
    graph = identity_graph();
    proto_message(&graph, GRAPH_INPUT, &value);
    message = proto_model(8, 13, &graph);
    scoped_model *model = load_proto(&message);
    ck_assert_str_eq(model->graph->values[model->graph->inputs[1]].container, "sequence");
}
