#include "load_test.h"

struct ulp_model *load_proto(struct proto *model)
{
    struct ulp_model *out;
    ck_ok(ulp_model_load_bytes("/nonexistent/model.onnx", model->data, model->count, NULL, &out,
                               &why));
    proto_free(model);
    return out;
}

void expect_failure(struct proto *model, enum ulp_status status, const char *text)
{
    struct ulp_model *out;
    struct ulp_error error = {0};
    enum ulp_status got = ulp_model_load_bytes("/nonexistent/model.onnx", model->data, model->count,
                                               NULL, &out, &error);
    ck_assert_msg(got == status && error.status == status, "status %d (%s), expected %d: %s", got,
                  error.message, status, text);
    ck_assert_msg(strstr(error.message, text) && !strchr(error.message, '\n'), "'%s' has no '%s'",
                  error.message, text);
    ck_assert_msg(strncmp(error.message, "/nonexistent/model.onnx: ", 25) == 0, "%s",
                  error.message);
    ck_assert_ptr_null(out);
    proto_free(model);
}

struct proto identity_graph(void)
{
    static const int64_t dims[2] = {-1, 3};
    struct proto graph = {0}, node = proto_node("Identity", "", "x", "y");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_message(&graph, GRAPH_NODE, &node);
    return graph;
}

struct proto model_with_tensor(struct proto *tensor)
{
    struct proto graph = identity_graph();
    proto_message(&graph, GRAPH_INITIALIZER, tensor);
    return proto_model(8, 13, &graph);
}

TEST_SUITE("load", 600)
