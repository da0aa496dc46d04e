#include "tests/cli/exhaust_files.h"

#include <sys/stat.h>

#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static struct proto write_function(void)
{
    struct proto function = {0}, node = proto_node("Gelu", "gelu", "a", "r"), opset = {0};
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_OUTPUT, "r");
    proto_message(&function, FUNCTION_NODE, &node);
    proto_int(&opset, 2, 20);
    proto_message(&function, FUNCTION_OPSET, &opset);
    return function;
}

/* A Loop that adds its state to itself and gathers a Tanh of it. */
static struct proto write_loop(void)
{
    struct proto body = {0}, attribute = {0},
                 node = proto_node("Loop", "loop", "rounds - f", "state gathered");
    static const char *const steps[][4] = {{"Tanh", "tanh", "s", "t"},
                                           {"Add", "grow", "s t", "next"},
                                           {"Identity", "go", "go_on", "again"}};
    for (size_t i = 0; i < 3; i++) {
        struct proto step = proto_node(steps[i][0], steps[i][1], steps[i][2], steps[i][3]);
        proto_message(&body, GRAPH_NODE, &step);
    }
    proto_text(&body, GRAPH_NAME, "body");
    proto_value(&body, GRAPH_INPUT, "number", ULP_TYPE_INT64, 0, NULL);
    proto_value(&body, GRAPH_INPUT, "go_on", ULP_TYPE_BOOL, 0, NULL);
    proto_value(&body, GRAPH_INPUT, "s", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_value(&body, GRAPH_OUTPUT, "again", ULP_TYPE_BOOL, 0, NULL);
    proto_value(&body, GRAPH_OUTPUT, "next", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_value(&body, GRAPH_OUTPUT, "t", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_text(&attribute, ATTRIBUTE_NAME, "body");
    proto_message(&attribute, ATTRIBUTE_G, &body);
    proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    proto_message(&node, NODE_ATTRIBUTE, &attribute);
    return node;
}

static void write_model(void)
{
    static const char *const plain[][4] = {{"MatMul", "product", "x w", "p"},
                                           {"Softmax", "softmax", "p", "q"},
                                           {"Erf", "erf", "q", "e"},
                                           {"F", "call", "e", "f"}};
    const int64_t square[] = {8, 8}, rows[] = {4, 8}, three = 3;
    struct proto graph = {0}, rounds = proto_tensor("rounds", ULP_TYPE_INT64, 0, NULL),
                 w = proto_tensor("w", ULP_TYPE_FLOAT, 2, square), loop = write_loop(),
                 function = write_function();
    float values[64];
    for (size_t i = 0; i < 64; i++)
        values[i] = (float)ulp_random_uniform(1, i) - 0.5f;
    proto_numbers(&w, TENSOR_RAW, values, sizeof values);
    proto_numbers(&rounds, TENSOR_RAW, &three, sizeof three);
    proto_message(&graph, GRAPH_INITIALIZER, &w);
    proto_message(&graph, GRAPH_INITIALIZER, &rounds);
    for (size_t i = 0; i < 4; i++) {
        struct proto node = proto_node(plain[i][0], plain[i][1], plain[i][2], plain[i][3]);
        if (i == 3)
            proto_text(&node, NODE_DOMAIN, "d");
        proto_message(&graph, GRAPH_NODE, &node);
    }
    proto_message(&graph, GRAPH_NODE, &loop);
    proto_text(&graph, GRAPH_NAME, "exhausting");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, rows);
    proto_value(&graph, GRAPH_OUTPUT, "state", ULP_TYPE_FLOAT, 2, rows);
    proto_value(&graph, GRAPH_OUTPUT, "gathered", ULP_TYPE_FLOAT, 3, (const int64_t[]){3, 4, 8});
    scoped_proto model = proto_model(9, 20, &graph);
    proto_opset(&model, "d", 1);
    proto_message(&model, MODEL_FUNCTION, &function);
    proto_write(&model, test_folder("model.onnx"));
}

/* What powers of two mend; log-probabilities. */
static void write_others(void)
{
    struct proto logs = onnx_text(
        17, "(float[4,8] x) => (float[4,8] y) { a = Mul(x, x) y = LogSoftmax <axis = -1> (a) }");
    proto_write(&logs, test_folder("logs.onnx"));
    proto_free(&logs);
    scoped_proto large =
        onnx_text(17, "(float[4,8] x) => (float[4,8] y) <float[8] k = {1e6, 2e6, 3e6...}, float[8] "
                      "s = {1e-6...}> { a = Mul(x, k) b = Add(a, k) c = Relu(b) y = Mul(c, s) }");
    proto_write(&large, test_folder("large.onnx"));
}

static void write_inputs(void)
{
    struct ulp_tensor x;
    struct ulp_tensor_set set = {0};
    const int64_t dims[] = {4, 8};
    float values[32];
    for (size_t i = 0; i < 32; i++)
        values[i] = (float)ulp_random_uniform(2, i) - 0.5f;
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, dims, &why));
    memcpy(x.data, values, sizeof values);
    ck_ok(ulp_tensor_set_add(&set, "x", &x, &why));
    ck_ok(ulp_tensor_set_write_npz(test_folder("inputs.npz"), &set, &why));
    ck_ok(ulp_recording_write_json(test_folder("inputs.json"), "test", &set, &why));
    ulp_tensor_set_free(&set);
    struct proto tensor = proto_tensor("x", ULP_TYPE_FLOAT, 2, dims);
    proto_numbers(&tensor, TENSOR_RAW, values, sizeof values);
    ck_assert_int_eq(mkdir(test_folder("test_data_set_0"), 0777), 0);
    proto_write(&tensor, test_folder("test_data_set_0/input_0.pb"));
    proto_free(&tensor);
    ck_assert_int_eq(mkdir(test_folder("out"), 0777), 0);
}

/* Inputs without names, of another type, beside a constant of the model. */
static void write_taken(void)
{
    static const int64_t dims[2][2] = {{4, 8}, {8, 8}};
    struct ulp_tensor x, w;
    scoped_tensor_set set = {0};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_INT64, ULP_ELEMENT_COUNT, 0, 2, dims[0], &why));
    ck_ok(ulp_tensor_create(&w, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, dims[1], &why));
    for (size_t i = 0; i < 32; i++)
        ((int64_t *)x.data)[i] = (int64_t)i % 5 - 2;
    for (size_t i = 0; i < 64; i++)
        ((float *)w.data)[i] = (float)ulp_random_uniform(1, i) - 0.5f; /* as write_model has it */
    ck_ok(ulp_tensor_set_add(&set, "arr_0", &x, &why));
    ck_ok(ulp_tensor_set_add(&set, "arr_1", &w, &why));
    ck_ok(ulp_tensor_set_write_npz(test_folder("taken.npz"), &set, &why));
}

/* What FP32 gives. */
static void write_recording(void)
{
    scoped_model *model = NULL;
    scoped_program *program = NULL;
    scoped_tensor_set inputs = {0}, outputs = {0};
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    ck_ok(ulp_model_load(test_folder("model.onnx"), NULL, &model, &why));
    ck_ok(ulp_tensor_set_read(test_folder("inputs.npz"), NULL, &inputs, &why));
    ck_ok(ulp_program_create(model, &fp32, 1, NULL, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs, NULL, &why));
    ck_ok(ulp_tensor_set_write_npz(test_folder("recorded.npz"), &outputs, &why));
}

static void write_text(const char *name, const char *text)
{
    scoped_proto bytes = {0};
    proto_raw(&bytes, text, strlen(text));
    proto_write(&bytes, test_folder(name));
}

/* Two layers of the model, as TensorRT 10 describes them. */
static void write_engine(void)
{
    static const char text[] =
        "{\"Layers\": [{\"Name\": \"product\", \"LayerType\": \"CaskGemmMatrixMultiply\", "
        "\"Inputs\": [{\"Name\": \"x\", \"Dimensions\": [4, 8], \"Format/Datatype\": \"Half\"}], "
        "\"Outputs\": [{\"Name\": \"p\", \"Dimensions\": [4, 8], \"Format/Datatype\": \"Half\"}], "
        "\"TacticName\": \"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64\", "
        "\"Metadata\": \"[ONNX Layer: product]\"}, "
        "{\"Name\": \"softmax\", \"LayerType\": \"SoftMax\", "
        "\"Inputs\": [{\"Name\": \"p\", \"Dimensions\": [4, 8], \"Format/Datatype\": \"Half\"}], "
        "\"Outputs\": [{\"Name\": \"q\", \"Dimensions\": [4, 8], \"Format/Datatype\": \"Float\"}], "
        "\"TacticName\": \"\", \"Metadata\": \"[ONNX Layer: softmax]\"}], "
        "\"Bindings\": [\"x\", \"state\", \"gathered\"]}";
    write_text("engine.json", text);
}

void exhaust_files_create(void)
{
    test_folder_create();
    write_model();
    write_others();
    write_inputs();
    write_recording();
    write_taken();
    write_text("plan.json", "{\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": [\"softmax\", "
                            "\"*/gelu\"], \"arithmetic\": \"fp32\"}]}");
    write_text("samples.txt", "inputs.npz\ntest_data_set_0\n");
    write_engine();
}
