/* load and run: small models whose results are known, in tests/data/cases/known.cases, and what
 * such a text cannot say. */
#include "load/load.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "known.cases"

/* "ARITHMETIC NUMBER NUMBER ...", up to a semicolon or the end, which is returned. "..." repeats
 * the last number. */
static const char *expect_outputs(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, const char *text)
{
    char name[100];
    int length;
    ck_assert_int_eq(sscanf(text, " %99s%n", name, &length), 1);
    scoped_tensor_set outputs = test_outputs(model, inputs, name);
    double wanted = 0;
    char *at = (char *)(uintptr_t)text + length;
    for (size_t o = 0; o < outputs.count; o++)
        for (size_t i = 0; i < outputs.items[o].tensor.count; i++) {
            if (strncmp(at, " ...", 4) != 0)
                wanted = strtod(at, &at);
            const double found = ulp_tensor_get(&outputs.items[o].tensor, i);
            ck_assert_msg(found == wanted, "%s: %s[%zu] is %a, not %a", name, outputs.items[o].name,
                          i, found, wanted);
        }
    at += strncmp(at, " ...", 4) == 0 ? 4 : 0;
    ck_assert_msg(!*at || *at == ';', "%s: outputs have not all of: %s", name, at);
    return at;
}

TEST_LOOP(known_results, 0, text_case_count(CASES))
{
    const struct text_head head = text_case_head(CASES, (size_t)_i);
    scoped_tensor_set inputs = {0};
    scoped_model *model =
        onnx_text_given(head.opset, text_case(CASES, (size_t)_i, "model", 0), &inputs, NULL);
    const char *at = text_case(CASES, (size_t)_i, "gives", 0);
    while (*(at = expect_outputs(model, &inputs, at)))
        at++;
}

/* The graph's input x is 1, 2, 3, and y is -x. */
static void expect_negated(struct proto *graph, bool spelled)
{
    struct proto message = {0}, node = proto_node("Neg", "neg", "x", "y");
    scoped_tensor_set inputs = {0};
    scoped_model *model = NULL;
    ulp_model_free(
        onnx_text_given(13, "(float[3] x = {1, 2, 3}) => (float y) { y = Neg(x) }", &inputs, NULL));
    if (spelled)
        proto_text(&node, NODE_DOMAIN, "ai.onnx");
    proto_message(graph, GRAPH_NODE, &node);
    proto_int(&message, MODEL_IR, 8);
    if (spelled) {
        proto_opset(&message, "com.microsoft.nchwc", 1);
        proto_opset(&message, "org.example.nobody", 77);
    }
    proto_opset(&message, spelled ? "ai.onnx" : "", 13);
    proto_message(&message, MODEL_GRAPH, graph);
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    expect_outputs(model, &inputs, "fp32 -1 -2 -3");
    proto_free(&message);
}

/* "ai.onnx" is the default domain's other name: as an opset's, and as a node's. And domains no node
 * uses are no reason to refuse. */
TEST(domains_spelled_out_and_unused)
{
    struct proto graph = {0};
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 1, (const int64_t[]){-1});
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 1, (const int64_t[]){-1});
    expect_negated(&graph, true);
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
    expect_negated(&graph, false);
}

TEST_SUITE("known", 0)
