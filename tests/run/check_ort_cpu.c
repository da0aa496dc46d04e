/* run: "ort-cpu" rounds to FP16 where ONNX Runtime's CPU provider does. x = 1 + 2^-10 and c =
 * 1 + 2^-9, so x x - c is 2^-20 in FP32, and 0 when x x is rounded to FP16. Each expectation was
 * recorded from ONNX Runtime 1.31 with its optimisations off; lab/compare_ort.py compares whole
 * networks. */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <ulpscope.h>

#include "load/load.h"
#include "tests/support/proto.h"

struct node {
    const char *op, *inputs, *outputs;
    int64_t to; /* of a Cast */
};
#define NODE(op, inputs, outputs) \
    {                             \
        op, inputs, outputs, 0    \
    }
#define CAST(input, output, to)   \
    {                             \
        "Cast", input, output, to \
    }
static const struct ort_case {
    const char *name;
    struct node nodes[6];
    const char *outputs; /* of FP16; those that begin with f of FP32 */
    double expected;     /* of y, or fy */
} cases[] = {
    {"two nodes", {NODE("Mul", "x x", "a"), NODE("Sub", "a c", "y")}, "y", 0x1p-20},
    {"a kernel alone",
     {NODE("Mul", "x x", "a"), NODE("Identity", "a", "b"), NODE("Sub", "b c", "y")},
     "y",
     0x1p-20},
    {"a kernel with a constant",
     {NODE("Mul", "x x", "a"), NODE("Max", "a c", "b"), NODE("Sub", "b c", "y")},
     "y",
     0x1p-20},
    {"a kernel with an input",
     {NODE("Mul", "x x", "a"), NODE("Max", "a x", "b"), NODE("Sub", "b c", "y")},
     "y",
     0x1p-20},
    {"two kernels",
     {NODE("Mul", "x x", "a"), NODE("Transpose", "a", "b"), NODE("Identity", "b", "d"),
      NODE("Sub", "d c", "y")},
     "y",
     0},
    {"a kernel that gives an output",
     {NODE("Mul", "x x", "a"), NODE("Transpose", "a", "b"), NODE("Sub", "b c", "y")},
     "y b",
     0},
    {"beside a kernel",
     {NODE("Mul", "x x", "a"), NODE("Transpose", "a", "b"), NODE("Identity", "b", "z"),
      NODE("Sub", "a c", "y")},
     "y z",
     0x1p-20},
    {"a Cast up",
     {NODE("Mul", "x x", "a"), CAST("a", "f", 1), CAST("c", "fc", 1), NODE("Sub", "f fc", "fy")},
     "fy",
     0x1p-20},
    {"a Cast down",
     {CAST("x", "f", 1), NODE("Mul", "f f", "fa"), CAST("fa", "a", 10), NODE("Sub", "a c", "y")},
     "y",
     0x1p-20},
    {"a Cast down, one up behind it",
     {CAST("x", "f", 1), NODE("Mul", "f f", "fa"), CAST("fa", "a", 10), NODE("Sub", "a c", "y"),
      CAST("a", "fb", 1), NODE("Neg", "fb", "fz")},
     "y fz",
     0},
    {"an output", {NODE("Mul", "x x", "y")}, "y", 1 + 0x1p-9},
};

static struct ulp_model *load_case(const struct ort_case *row)
{
    static const int64_t dims[] = {1};
    static const uint16_t c = 0x3C02; /* 1 + 2^-9 */
    struct proto graph = {0}, tensor = proto_tensor("c", ULP_TYPE_FLOAT16, 1, dims);
    struct ulp_model *model;
    char name[8];
    proto_numbers(&tensor, TENSOR_RAW, &c, sizeof c);
    proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT16, 1, dims);
    for (const char *p = row->outputs; *p; p += strspn(p, " ")) {
        const size_t length = strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, p);
        proto_value(&graph, GRAPH_OUTPUT, name, *p == 'f' ? ULP_TYPE_FLOAT : ULP_TYPE_FLOAT16, 1,
                    dims);
        p += length;
    }
    for (const struct node *n = row->nodes; n < row->nodes + 6 && n->op; n++) {
        struct proto node = proto_node(n->op, n->outputs, n->inputs, n->outputs);
        if (n->to) {
            struct proto to = {0};
            proto_text(&to, ATTRIBUTE_NAME, "to");
            proto_int(&to, ATTRIBUTE_I, n->to);
            proto_int(&to, ATTRIBUTE_TYPE, 2);
            proto_message(&node, NODE_ATTRIBUTE, &to);
        }
        proto_message(&graph, GRAPH_NODE, &node);
    }
    struct proto message = proto_model(8, 17, &graph);
    ck_ok(ulp_model_load_bytes("case.onnx", message.data, message.count, NULL, &model, &why));
    proto_free(&message);
    return model;
}

static double run_case(const struct ulp_model *model, const char *arithmetic)
{
    const int64_t dims[] = {1};
    struct ulp_arithmetic lane;
    struct ulp_program *program;
    struct ulp_tensor x;
    struct ulp_tensor_set inputs = {0}, outputs;
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT16, ULP_ELEMENT_COUNT, 0, 1, dims, &why));
    *(float *)x.data = 1 + 0x1p-10f;
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    const struct ulp_program_options options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1};
    lane = test_arithmetic(arithmetic);
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &run, NULL, 0, &outputs, NULL, &why));
    const double y = ulp_tensor_get(&outputs.items[0].tensor, 0);
    ulp_tensor_set_free(&outputs);
    ulp_tensor_set_free(&inputs);
    ulp_program_free(program);
    return y;
}

TEST_LOOP(rounds_where_the_provider_does, 0, sizeof cases / sizeof *cases)
{
    const struct ort_case *row = &cases[_i];
    struct ulp_model *model = load_case(row);
    ck_assert_msg(run_case(model, "ort-cpu") == row->expected, "%s: %g, expected %g", row->name,
                  run_case(model, "ort-cpu"), row->expected);
    /* every FP16 is obeyed */
    ck_assert(run_case(model, "model") == (strcmp(row->name, "an output") ? 0 : 1 + 0x1p-9));
    ulp_model_free(model);
}

TEST_SUITE("ort-cpu", 0)
