/* Graphs of a few nodes whose figures follow by hand: decisions and steps in an audit, epilogues,
 * parameters, what stochastic roundings draw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "tests/support/proto.h"
#include "run_test.h"

/* axis = 1 */
static void add_axis(struct proto *node)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, "axis");
    proto_int(&attribute, ATTRIBUTE_I, 1);
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

struct constant {
    const char *name;
    int rank;
    int64_t dims[4];
    const void *values; /* floats */
    size_t bytes;
};

static void add_constants(struct proto *graph, const struct constant *constants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct proto tensor =
            proto_tensor(constants[i].name, ULP_TYPE_FLOAT, constants[i].rank, constants[i].dims);
        proto_elements(&tensor, TENSOR_RAW, constants[i].values, constants[i].bytes, sizeof(float));
        proto_message(graph, GRAPH_INITIALIZER, &tensor);
    }
}

/* x = [1, 1 + 1e-5, 0, 0]: FP16 stores two ones, so its ArgMax is 0 where the reference's is 1, and
 * what follows has diverged. A finite wrong index is no overflow: only the graph's output crosses
 * the limit. */
TEST(another_decision_is_a_divergence)
{
    static const int64_t dims[2] = {1, 4}, one[2] = {1, 1};
    static const float x[4] = {1, 1.00001f, 0, 0};
    struct proto graph = {0}, argmax = proto_node("ArgMax", "decide", "x", "index"),
                 relu = proto_node("Relu", "aside", "x", "y");
    struct proto where = proto_node("GatherElements", "follow", "x index", "z");
    add_axis(&argmax);
    add_axis(&where);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "z", ULP_TYPE_FLOAT, 2, one);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_message(&graph, GRAPH_NODE, &argmax);
    proto_message(&graph, GRAPH_NODE, &relu);
    proto_message(&graph, GRAPH_NODE, &where);
    struct proto message = proto_model(10, 21, &graph);
    struct ulp_model *model;
    struct ulp_tensor tensor;
    struct ulp_tensor_set inputs = {0};
    struct ulp_audit audit;
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    memcpy(tensor.data, x, sizeof x);
    ck_ok(ulp_tensor_set_add(&inputs, "x", &tensor, &why));
    audit_one(model, &inputs, "fp16", &audit);
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    ck_assert_int_eq(lane->first_born, -1);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
    ck_assert_uint_eq(lane->outputs.output_count, 2);
    ck_assert(lane->outputs.outputs[0].entire.diverged &&
              lane->outputs.outputs[0].carried.diverged);
    ck_assert(!lane->outputs.outputs[0].introduced.diverged &&
              !lane->outputs.outputs[1].entire.diverged);
    ck_assert(test_crosses(&audit, "diverged=0") && test_crosses(&audit, "z:rms=1e9"));
    /* z cannot be judged by a figure, and so no limit of all outputs is met; y by itself can */
    ck_assert(test_crosses(&audit, "rms=1e9") && !test_crosses(&audit, "y:rms=1e9"));
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&message);
}

/* x = [1.4999, 1.6]: FP16 stores 1.5 and quantises to [2, 2] where the reference has [1, 2]. A step
 * of difference, also after Flatten, is an error with a size (|difference| = 1 in one of two: rms
 * sqrt(1/2)); the ArgMax of such steps is another decision all the same. */
TEST(a_step_of_a_scale_is_an_error)
{
    static const int64_t dims[2] = {1, 2}, one[2] = {1, 1};
    static const float x[2] = {1.4999f, 1.6f}, scale = 1;
    struct proto graph = {0};
    struct proto nodes[] = {proto_node("QuantizeLinear", "q", "x s p", "steps"),
                            proto_node("Flatten", "flat", "steps", "flat"),
                            proto_node("DequantizeLinear", "dq", "flat s p", "y"),
                            proto_node("ArgMax", "decide", "flat", "index")};
    add_axis(&nodes[3]);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "s", ULP_TYPE_FLOAT, 0, NULL);
    proto_value(&graph, GRAPH_INPUT, "p", ULP_TYPE_UINT8, 0, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "flat", ULP_TYPE_UINT8, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "index", ULP_TYPE_INT64, 2, one);
    for (size_t n = 0; n < 4; n++)
        proto_message(&graph, GRAPH_NODE, &nodes[n]);
    struct proto message = proto_model(10, 21, &graph);
    struct ulp_model *model;
    struct ulp_tensor values[3];
    struct ulp_tensor_set inputs = {0};
    struct ulp_audit audit;
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    ck_ok(ulp_tensor_create(&values[0], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    ck_ok(ulp_tensor_create(&values[1], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 0, NULL, &why));
    ck_ok(ulp_tensor_create(&values[2], ULP_TYPE_UINT8, ULP_ELEMENT_COUNT, 0, 0, NULL, &why));
    memcpy(values[0].data, x, sizeof x);
    memcpy(values[1].data, &scale, sizeof scale);
    memset(values[2].data, 0, values[2].element_bytes);
    static const char *const names[] = {"x", "s", "p"};
    for (size_t i = 0; i < 3; i++)
        ck_ok(ulp_tensor_set_add(&inputs, names[i], &values[i], &why));
    audit_one(model, &inputs, "fp16", &audit);
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    const struct ulp_audit_output *outputs = lane->outputs.outputs;
    for (size_t o = 0; o < 2; o++) {
        ck_assert(!outputs[o].entire.diverged && outputs[o].entire.max_abs == 1);
        /* a few roundings of doubles */
        ck_assert(fabs(outputs[o].entire.rms - sqrt(0.5)) <= 1e-15);
    }
    ck_assert(outputs[2].entire.diverged);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&message);
}

/* The sum is 1 + 3 * 2^-13, FP16's neighbours are 2^-10 apart, the bias is 2^-12: together 1 + 5 *
 * 2^-13, which is nearer to 1 + 2^-10; the sum rounded first is 1, and 1 + 2^-12 is nearer to 1. */
TEST_LOOP(rounded_epilogues_round_twice, 0, 2)
{
    static const struct {
        const char *arithmetic;
        double wanted;
    } cases[] = {{"fp16", 1 + 0x1p-10},
                 {"fp16,epilogue=rounded", 1},
                 {"fp16,epilogue=rounded,unit=none", 1},
                 {"fp16,unit=none", 1 + 0x1p-10},
                 {"fp16,epilogue=rounded,compute=fp64,acc=fp64,unit=none", 1},
                 {"fp16,epilogue=rounded,round=ru", 1 + 0x1p-9},
                 {"fp32", 1 + 5 * 0x1p-13}};
    static const float a[] = {1, 0x1p-7f}, b[] = {1, 3 * 0x1p-6f}, bias = 0x1p-12f;
    /* Gemm's a and b are 1 x 2 and 2 x 1; Conv's have two channels of one pixel */
    const struct constant constants[] = {
        {"a", _i ? 4 : 2, {1, 2, 1, 1}, a, sizeof a},
        {"b", _i ? 4 : 2, {_i ? 1 : 2, _i ? 2 : 1, 1, 1}, b, sizeof b},
        {"bias", 1, {1}, &bias, sizeof bias}};
    struct proto graph = {0}, node = proto_node(_i ? "Conv" : "Gemm", "node", "a b bias", "y");
    add_constants(&graph, constants, 3);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, _i ? 4 : 2,
                (const int64_t[]){1, 1, 1, 1});
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("epilogue.onnx", bytes.data, bytes.count, NULL, &model, &why));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ulp_tensor_set inputs = {0}, outputs = {0};
        const struct ulp_run_options options = {.thread_count = 1};
        run_network(model, &inputs, &cases[i].arithmetic, 1, &options, (struct ulp_observer){0},
                    &outputs);
        ck_assert_uint_eq(outputs.count, 1);
        const double y = ulp_tensor_get(&outputs.items[0].tensor, 0);
        ck_assert_msg(y == cases[i].wanted, "%s: %a, expected %a", cases[i].arithmetic, y,
                      cases[i].wanted);
        ulp_tensor_set_free(&outputs);
    }
    ulp_model_free(model);
    proto_free(&bytes);
}

/* A scale that is an input of the graph keeps its value in every lane: 240 / 1.3 is 185 (nearest),
 * 240 / 1.25 would be 192 and 240 / 1.375 would be 175. Used as data too, it is rounded. */
TEST_LOOP(parameters_keep_their_values, 0, 2)
{
    static const char *const arithmetics[] = {"fp32", "fp8-e4m3", "mpfr:128", "fp16-strict"};
    struct proto graph = {0}, quantize = proto_node("QuantizeLinear", "", "x scale", "y"),
                 copy = proto_node("Neg", "", "scale", "z");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 1, (const int64_t[]){1});
    proto_value(&graph, GRAPH_INPUT, "scale", ULP_TYPE_FLOAT, 0, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_UINT8, 1, (const int64_t[]){1});
    proto_message(&graph, GRAPH_NODE, &quantize);
    if (_i)
        proto_message(&graph, GRAPH_NODE, &copy);
    else
        proto_free(&copy);
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("parameter.onnx", bytes.data, bytes.count, NULL, &model, &why));
    struct ulp_tensor_set inputs = {0};
    for (int i = 0; i < 2; i++) {
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1 - i,
                                (const int64_t[]){1}, &why));
        *(float *)tensor.data = i ? 1.3f : 240;
        ck_ok(ulp_tensor_set_add(&inputs, i ? "scale" : "x", &tensor, &why));
    }
    for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++) {
        struct ulp_tensor_set outputs = {0};
        const struct ulp_run_options options = {.thread_count = 1};
        run_network(model, &inputs, &arithmetics[i], 1, &options, (struct ulp_observer){0},
                    &outputs);
        const double y = ulp_tensor_get(&outputs.items[0].tensor, 0),
                     wanted = _i && i == 1 ? 192 : 185;
        ck_assert_msg(y == wanted, "%s: %g, expected %g", arithmetics[i], y, wanted);
        ulp_tensor_set_free(&outputs);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&bytes);
}

/* 4096 sums of 1 + 2^-11, half way between FP16's neighbours, in two nodes: each result is either
 * neighbour, and the two nodes agree in half of them; so do a sum's rounding and that of its bias,
 * 2^-11 (epilogue=rounded): equally often both are up, one, or none. Limits are five standard
 * deviations of 4096 fair coins, 32. */
TEST_LOOP(stochastic_roundings_draw_their_own_numbers, 0, 3)
{
    enum { COUNT = 4096 };
    static float a[COUNT][2];
    static const float b[] = {1, 0x1p-5f}, bias = 0x1p-11f, none = 0;
    static const char *const arithmetics[] = {"fp16,round=sr", "fp16,round=sr,epilogue=rounded",
                                              "fp16,round=sr,unit=none"};
    const char *const arithmetic = arithmetics[_i];
    const struct constant constants[] = {{"a", 2, {COUNT, 2}, a, sizeof a},
                                         {"b", 2, {2, 1}, b, sizeof b},
                                         {"bias", 1, {1}, &bias, sizeof bias},
                                         {"none", 1, {1}, &none, sizeof none}};
    static const char *const names[][3] = {{"first", "a b none", "y"},
                                           {"second", "a b none", "z"},
                                           {"third", "a b bias", "w"}};
    for (size_t i = 0; i < COUNT; i++) {
        a[i][0] = 1;
        a[i][1] = 0x1p-6f;
    }
    struct proto graph = {0};
    add_constants(&graph, constants, 4);
    for (int i = 0; i < 3; i++) {
        struct proto node = proto_node("Gemm", names[i][0], names[i][1], names[i][2]);
        proto_value(&graph, GRAPH_OUTPUT, names[i][2], ULP_TYPE_FLOAT, 2,
                    (const int64_t[]){COUNT, 1});
        proto_message(&graph, GRAPH_NODE, &node);
    }
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("stochastic.onnx", bytes.data, bytes.count, NULL, &model, &why));
    struct ulp_tensor_set inputs = {0}, outputs = {0};
    const struct ulp_run_options options = {.thread_count = 1};
    run_network(model, &inputs, &arithmetic, 1, &options, (struct ulp_observer){0}, &outputs);
    ck_assert_uint_eq(outputs.count, 3);
    int up = 0, equal = 0, once = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double y = ulp_tensor_get(&outputs.items[0].tensor, i),
                     z = ulp_tensor_get(&outputs.items[1].tensor, i),
                     w = ulp_tensor_get(&outputs.items[2].tensor, i);
        ck_assert(y == 1 || y == 1 + 0x1p-10);
        up += y > 1;
        equal += y == z;
        once += w == 1 + 0x1p-10;
    }
    ck_assert_msg(abs(up - COUNT / 2) < 160, "%s: %d up", arithmetic, up);
    ck_assert_msg(abs(equal - COUNT / 2) < 160, "%s: two nodes agree in %d", arithmetic, equal);
    if (_i == 1)
        ck_assert_msg(abs(once - COUNT / 2) < 160, "%s: sum and bias agree in %d", arithmetic,
                      COUNT - once);
    else
        ck_assert_int_eq(once, COUNT); /* exact */
    ulp_tensor_set_free(&outputs);
    ulp_model_free(model);
    proto_free(&bytes);
}

/* y = x W + b and z = x * b with a W of 16 elements, which is moved, and a b of 4, which is not. */
TEST(perturbed_plans_are_close)
{
    static const int64_t dims[2] = {1, 4};
    float w[16], x[4] = {1.25f, -0.5f, 3, 0.75f}, b[4] = {0.1f, 0.2f, 0.3f, 0.4f};
    for (int i = 0; i < 16; i++)
        w[i] = 1 / (float)(i + 3);
    const struct constant constants[] = {{"w", 2, {4, 4}, w, sizeof w}, {"b", 1, {4}, b, sizeof b}};
    struct proto graph = {0}, matmul = proto_node("MatMul", "", "x w", "y"),
                 mul = proto_node("Mul", "", "x b", "z");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "z", ULP_TYPE_FLOAT, 2, dims);
    add_constants(&graph, constants, 2);
    proto_message(&graph, GRAPH_NODE, &matmul);
    proto_message(&graph, GRAPH_NODE, &mul);
    struct proto message = proto_model(10, 21, &graph);
    struct ulp_model *model;
    struct ulp_tensor tensor;
    struct ulp_tensor_set inputs = {0}, outputs[4];
    struct ulp_arithmetic lane;
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    memcpy(tensor.data, x, sizeof x);
    ck_ok(ulp_tensor_set_add(&inputs, "x", &tensor, &why));
    find_lanes(&lane, (const char *const[]){"fp64"}, 1);
    for (uint64_t seed = 0; seed < 4; seed++) { /* 0: the model itself; 3: as 2 */
        const struct ulp_program_options options = {.inputs = &inputs,
                                                    .perturbation = {.precision = seed ? 11 : 0,
                                                                     .seed = seed < 3 ? seed : 2}};
        struct ulp_program *program;
        ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs[seed], NULL, &why));
        ulp_program_free(program);
    }
    for (int i = 0; i < 4; i++) {
        double y[4], most = 0;
        for (int s = 0; s < 4; s++)
            y[s] = ulp_tensor_get(&outputs[s].items[0].tensor, (size_t)i);
        for (int k = 0; k < 4; k++)
            most += fabs((double)x[k] * (double)w[4 * k + i]) * 0x1p-9;
        ck_assert(y[1] != y[0] && y[2] != y[0] && y[1] != y[2]);
        ck_assert(fabs(y[1] - y[0]) <= most * 1.001 && fabs(y[2] - y[0]) <= most * 1.001);
        ck_assert(y[2] == y[3]);
        for (int s = 1; s < 4; s++)
            ck_assert(ulp_tensor_get(&outputs[s].items[1].tensor, (size_t)i) ==
                      ulp_tensor_get(&outputs[0].items[1].tensor, (size_t)i));
    }
    for (int s = 0; s < 4; s++)
        ulp_tensor_set_free(&outputs[s]);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&message);
}
