/* What is said of fused kernels: which there are, what choosing others changes, what has no
 * meaning. */
#include "tests/run/program/fusion_test.h"
#include "tests/support/onnx_text.h"

/* ---- what a program says ---- */

TEST(groups_are_told)
{
    const struct ulp_arithmetic lane = test_arithmetic("fp16,acc=fp16,fuse=groups");
    const struct ulp_group items[] = {GROUP(NULL, "product"), GROUP(NULL, "square", "sum")};
    const struct ulp_groups groups = {2, items, "kernels.json"};
    scoped_model *model = text_load(&forked);
    const struct ulp_program_options options = {.groups = &groups};
    struct ulp_node_kernel told;
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_assert_str_eq(ulp_program_lane_name(program, 0), "fp16,acc=fp16,fuse=kernels.json");
    for (size_t n = 0; n < 3; n++) {
        ulp_program_node_kernel(program, 0, n, &told);
        ck_assert_uint_eq(told.kernel, n == 1 ? 1 : 2);
        ck_assert(!told.unstored);
    }
}

TEST(kernels_are_told)
{
    scoped_model *model = text_load(&forked);
    scoped_tensor_set inputs = text_inputs(model, 3, 0, true);
    struct ulp_node_kernel square, product_kernel, sum;
    scoped_program *program = test_plan(model, &inputs, "fp16,fuse=pointwise");
    ulp_program_node_kernel(program, 0, 0, &square);
    ulp_program_node_kernel(program, 0, 1, &product_kernel);
    ulp_program_node_kernel(program, 0, 2, &sum);
    ck_assert_uint_ne(square.kernel, 0);
    ck_assert_uint_eq(square.kernel, sum.kernel);
    ck_assert_uint_eq(product_kernel.kernel, 0);
    ck_assert(!square.unstored && !sum.unstored);
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
    scoped_model *model = onnx_text_load(17, built[_i].text);
    scoped_tensor_set inputs = {0};
    struct ulp_node_kernel kernels[6];
    ck_ok(ulp_model_random_inputs(model, NULL, &inputs, &why));
    scoped_program *program = test_plan(model, &inputs, "trt-rtx:fp16");
    for (size_t n = 0; built[_i].kernels[n]; n++) {
        ulp_program_node_kernel(program, 0, n, &kernels[n]);
        for (size_t m = 0; m < n; m++)
            ck_assert_msg((kernels[m].kernel && kernels[m].kernel == kernels[n].kernel) ==
                              (built[_i].kernels[m] == built[_i].kernels[n]),
                          "nodes %zu and %zu", m, n);
    }
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
