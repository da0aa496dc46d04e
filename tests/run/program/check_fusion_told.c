/* What is said of fused kernels: which there are, what choosing others changes, what has no
 * meaning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run/program/fusion_test.h"
#include "tests/support/onnx_text.h"

/* ---- what a program says ---- */

TEST(groups_are_told)
{
    const struct ulp_arithmetic lane = test_arithmetic("fp16,acc=fp16,fuse=groups");
    const struct ulp_group items[] = {GROUP(NULL, "product"), GROUP(NULL, "square", "sum")};
    const struct ulp_groups groups = {2, items, "kernels.json"};
    struct ulp_model *model = text_load(&forked);
    const struct ulp_program_options options = {.groups = &groups};
    struct ulp_node_kernel told;
    struct ulp_program *program;
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_assert_str_eq(ulp_program_lane_name(program, 0), "fp16,acc=fp16,fuse=kernels.json");
    for (size_t n = 0; n < 3; n++) {
        ulp_program_node_kernel(program, 0, n, &told);
        ck_assert_uint_eq(told.kernel, n == 1 ? 1 : 2);
        ck_assert(!told.unstored);
    }
    ulp_program_free(program);
    ulp_model_free(model);
}

TEST(kernels_are_told)
{
    const struct ulp_arithmetic lane = test_arithmetic("fp16,fuse=pointwise");
    struct ulp_model *model = text_load(&forked);
    struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true);
    const struct ulp_program_options options = {.inputs = &inputs};
    struct ulp_node_kernel square, product_kernel, sum;
    struct ulp_program *program;
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ulp_program_node_kernel(program, 0, 0, &square);
    ulp_program_node_kernel(program, 0, 1, &product_kernel);
    ulp_program_node_kernel(program, 0, 2, &sum);
    ck_assert_uint_ne(square.kernel, 0);
    ck_assert_uint_eq(square.kernel, sum.kernel);
    ck_assert_uint_eq(product_kernel.kernel, 0);
    ck_assert(!square.unstored && !sum.unstored);
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

/* What TensorRT-RTX 1.7.1 built of these in FP16 (lab/compare_rtx.py), as of each node the number
 * of its kernel, the first node's being 1. */
#define HEADS(size)                                                                      \
    "(float[1,2,16," size "] q, float[1,2," size ",16] k, float[1,2,16," size "] v) => " \
    "(float[1,2,16," size "] y) { s = MatMul(q, k)\n p = Softmax(s)\n y = MatMul(p, v) }"
#define ROWS(outputs)                                                 \
    "(float[32,64] x) => (" outputs ") <float[64,64] w = {1, 2...}, " \
    "float[64] b = {3, 1...}> "
#define IMAGE(output)                                                           \
    "(float[1,16,16,16] x, float[1,16,16,16] r) => (float[1,16," output "] y) " \
    "<float[16,16,3,3] w = {1, 2...}> "
#define CONV "Conv<pads=[1, 1, 1, 1]>"
static const struct {
    const char *text;
    int kernels[6];
} built[] = {
    {ROWS("float[32,64] y") "{ m = MatMul(x, w)\n y = Add(m, b) }", {1, 1}},
    {ROWS("float[32,64] y, float[32,64] z") "{ m = MatMul(x, w)\n n = MatMul(x, w)\n y = Add(m, "
                                            "b)\n z = Add(n, b) }",
     {1, 2, 3, 4}},
    {ROWS("float[32,64] y") "{ m = MatMul(x, w)\n a = Add(m, b)\n y = Softmax(a) }", {1, 2, 2}},
    {HEADS("16"), {1, 1, 1}},
    {HEADS("8"), {1, 2, 3}},
    {IMAGE("16,16") "{ c = " CONV "(x, w)\n a = Add(c, r)\n b = Relu(a)\n y = " CONV "(b, w) }",
     {1, 1, 1, 2}},
    {IMAGE("1,1") "{ c = " CONV "(x, w)\n b = Relu(c)\n y = GlobalAveragePool(b) }", {1, 1, 2}},
    {IMAGE("1,1") "{ c = " CONV "(x, w)\n b = HardSwish(c)\n y = GlobalAveragePool(b) }",
     {1, 2, 2}},
};

TEST_LOOP(kernels_are_as_tensorrt_builds_them, 0, sizeof built / sizeof *built)
{
    const struct ulp_arithmetic lane = test_arithmetic("trt-rtx:fp16");
    struct ulp_model *model = onnx_text_load(17, built[_i].text);
    struct ulp_tensor_set inputs = {0};
    struct ulp_node_kernel kernels[6];
    struct ulp_program *program;
    ck_ok(ulp_model_random_inputs(model, NULL, &inputs, &why));
    const struct ulp_program_options options = {.inputs = &inputs};
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    for (size_t n = 0; built[_i].kernels[n]; n++) {
        ulp_program_node_kernel(program, 0, n, &kernels[n]);
        for (size_t m = 0; m < n; m++)
            ck_assert_msg((kernels[m].kernel && kernels[m].kernel == kernels[n].kernel) ==
                              (built[_i].kernels[m] == built[_i].kernels[n]),
                          "nodes %zu and %zu", m, n);
    }
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

/* ---- what a choice changes ---- */

/* Two lanes of two nodes, whose figures are made up: the second overflows at `born` and nowhere
 * else, and its values are off by `error` of 1, or not finite. */
static void make_lane(struct ulp_audit_lane *lane, struct ulp_audit_node nodes[2],
                      struct ulp_audit_output outputs[3], double error, int born, bool unstored)
{
    static char first[] = "first", last[] = "last", out[] = "out";
    for (int o = 0; o < 3; o++) {
        outputs[o] = (struct ulp_audit_output){.name = out, .type = ULP_TYPE_FLOAT};
        outputs[o].entire.rms = o ? error : error / 8;
        outputs[o].entire.nonfinite = o && isinf(error) ? 1 : 0;
        outputs[o].entire.count = 1;
        outputs[o].range.ref_rms = 1;
    }
    nodes[0] = (struct ulp_audit_node){.name = first,
                                       .output_count = 1,
                                       .outputs = &outputs[0],
                                       .born = born == 0,
                                       .kernel.unstored = unstored};
    nodes[1] = (struct ulp_audit_node){
        .index = 1, .name = last, .output_count = 1, .outputs = &outputs[1], .born = born == 1};
    *lane = (struct ulp_audit_lane){.node_count = 2, .nodes = nodes};
    lane->outputs.output_count = 1;
    lane->outputs.outputs = &outputs[2];
}

TEST_LOOP(choices_are_told, 0, 7)
{
    static const struct {
        double a, b;
        int born_a, born_b;
        const char *said[3];
    } cases[] = {
        {1e-3,
         4e-3,
         -1,
         -1,
         {"4 times as large with b as with a", "1.00e-03     4.00e-03  out",
          "b: the same overflows, or none"}},
        {1e-3,
         1.1e-3,
         -1,
         -1,
         {"1.10 times as large with b as with a: the choice changes little",
          "1 of 2 nodes have a stored value in all; at 0 of them", ""}},
        {INFINITY,
         1e-3,
         1,
         -1,
         {"not finite with a and is with b", "b: 1 overflow vanish",
          "   not finite     1.00e-03  1 last"}},
        {1e-3,
         INFINITY,
         -1,
         1,
         {"not finite with b and is with a", "b: 1 overflow appear", "at 1 of them errors differ"}},
        {INFINITY, INFINITY, 1, 1, {"not finite in either", "b: the same overflows", ""}},
        {0, 0, -1, -1, {"exact in both", "", ""}},
        {0, 1e-3, -1, -1, {"exact with a alone", "", ""}},
    };
    struct ulp_audit_lane lanes[2];
    struct ulp_audit_node nodes[2][2];
    struct ulp_audit_output outputs[2][3];
    make_lane(&lanes[0], nodes[0], outputs[0], cases[_i].a, cases[_i].born_a, false);
    make_lane(&lanes[1], nodes[1], outputs[1], cases[_i].b, cases[_i].born_b, true);
    static char names[][2] = {"a", "b"};
    lanes[0].name = names[0];
    lanes[1].name = names[1];
    const struct ulp_audit audit = {.lane_count = 2, .lanes = lanes};
    const struct ulp_choice choice = {"title", 2, (const size_t[]){0, 1},
                                      (const char *const[]){"a", "b"}, true};
    const struct ulp_choice wrong = {"title", 2, (const size_t[]){0, 2},
                                     (const char *const[]){"a", "b"}, true};
    struct ulp_error error;
    char *text;
    ck_ok(ulp_report_choice(&audit, &choice, 100, false, &text, &why));
    for (int s = 0; s < 3; s++)
        ck_assert_msg(strstr(text, cases[_i].said[s]) != NULL, "no \"%s\" in:\n%s",
                      cases[_i].said[s], text);
    free(text);
    ck_assert_int_eq(ulp_report_choice(&audit, &wrong, 100, false, &text, &error), ULP_ERROR_USAGE);
    ck_assert_ptr_null(text);
}

TEST_LOOP(what_has_no_meaning_is_refused, 0, 6)
{
    static const char *const names[] = {
        "fp32,fuse=reduce", "fp16-strict,fuse=pointwise",       "fp16,fuse-inner=fp16",
        "fp16,fuse=all",    "fp16,fuse=reduce,fuse-inner=fp64", "bf16,fuse=reduce,fuse-inner=fp16"};
    struct ulp_arithmetic out;
    struct ulp_error error;
    ck_assert_int_eq(ulp_arithmetic_find(names[_i], &out, &error), ULP_ERROR_USAGE);
    ck_assert_uint_gt(strlen(error.message), 20);
}

TEST_SUITE("what is said of fusion", 0)
