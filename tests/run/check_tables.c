/* Constants that a node reads in parts: the rows that Gather chooses of a table are lowered, not
 * the table; MatMulNBits widens its weights a block of columns at a time. Bits and causes are those
 * of the whole. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static void expect_equal(const struct ulp_tensor_set *outputs, const char *a, const char *b,
                         const char *lane)
{
    const struct ulp_tensor *x = ulp_tensor_set_find(outputs, a),
                            *y = ulp_tensor_set_find(outputs, b);
    ck_assert(x && y && x->count && x->element == y->element && ulp_tensor_same_shape(x, y));
    ck_assert_msg(memcmp(x->data, y->data, x->count * x->element_bytes) == 0, "%s: %s is not %s",
                  lane, a, b);
}

/* The table through a product with 1, which is exact in every arithmetic, is the whole of it as the
 * lane lowers it. The values are beyond formats, between their numbers, below their least, and none
 * at all; the rows in turn from the end and from the beginning. */
static const char *const gathers =
    "(float[] one = {1}, int64[2,3] i = {3, -1, 0, -4, 2, 1}) => (float[2,3,5] y, float[2,3,5] z, "
    "float[4,6] v, float[4,6] u,"
    " float16[6,5] a, float16[6,5] b)\n"
    "<float[4,5] w = {1, 1.0001, 70000, -1e6, 3.4e38, 1e-9, -1e-7, 6e-8, 0, -0.0, inf, 1.5e-45,"
    " 65519, 65520, 449, 0.3, 0.1, -57344.5, 2049, 1e-40}, float16[4,5] h = {1, 3, 5, 7, 9...},"
    " int64[6] k = {4, 0, 3, 3, 1, -5}, int64[2] flat = {2, 3}, int64[1] six = {6}, float16 one16 "
    "= {1}>\n"
    "{ y = Gather(w, i)\n whole = Mul(w, one)\n z = Gather(whole, i)\n"
    "  v = Gather<axis=1>(w, k)\n u = Gather<axis=1>(whole, k)\n"
    "  j = Reshape(i, six)\n a = Gather(h, j)\n half = Cast<to=10>(one)\n halves = Mul(h, half)\n"
    "  b = Gather(halves, j) }";

TEST(chosen_rows_are_those_of_the_lowered_table)
{
    static const char *const names[] = {"mpfr:128",
                                        "fp16",
                                        "fp16,constants=ieee",
                                        "fp16,constants=tensorrt",
                                        "fp16,constants=onnxconverter-common",
                                        "bf16-strict",
                                        "fp8-e4m3",
                                        "model"};
    enum { LANES = sizeof names / sizeof *names };
    scoped_tensor_set inputs = {0};
    struct ulp_tensor_set outputs[LANES] = {0};
    scoped_model *model = onnx_text_given(17, gathers, &inputs, NULL);
    scoped_program *program = test_plan_names(model, &inputs, names, LANES);
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, outputs, NULL, &why));
    for (size_t l = 0; l < LANES; l++) {
        expect_equal(&outputs[l], "y", "z", names[l]);
        expect_equal(&outputs[l], "v", "u", names[l]);
        expect_equal(&outputs[l], "a", "b", names[l]);
        ulp_tensor_set_free(&outputs[l]);
    }
}

/* Nor is there a copy of it: in 128 bits 200,000 elements would take 6.4 MB. */
TEST(a_table_is_not_copied)
{
    scoped_model *model = onnx_text_load(17, "(int64[2] i) => (float[2,10] y)\n<float[20000,10] w "
                                             "= {0.1...}>\n{ y = Gather(w, i) }");
    scoped_tensor_set inputs = {0};
    struct ulp_arithmetic lanes[2] = {test_arithmetic("mpfr:128"), test_arithmetic("fp16")};
    scoped_program *program = NULL;
    struct ulp_run_cost cost;
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    ck_ok(ulp_model_random_inputs(model, NULL, &inputs, &why));
    ck_ok(ulp_program_create(model, lanes, 2, &(struct ulp_program_options){.inputs = &inputs},
                             &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, NULL, &cost, &why));
    ck_assert_uint_lt(cost.peak_bytes, 1 << 20);
}

/* Scales of the model's and the same ones computed: their products with 1 are they themselves, but
 * in 128 bits a third is not FP32's. */
static const char *const scales =
    "(float[2,32] x, float[1] third, float[1] one) => (float[2,3] y, float[2,3] z, float[2,3] w, "
    "float[2,3] v)\n"
    "<uint8[3,2,8] q = {17, 254, 3, 200...}, float[6] s = {0.1, 0.7, 3, 0.3, 1e-3, 5}>\n"
    "{ y = com.microsoft.MatMulNBits<K=32, N=3, bits=4, block_size=16>(x, q, s)\n"
    "  s1 = Mul(s, one)\n z = com.microsoft.MatMulNBits<K=32, N=3, bits=4, block_size=16>(x, q, "
    "s1)\n"
    "  s3 = Div(s, third)\n w = com.microsoft.MatMulNBits<K=32, N=3, bits=4, block_size=16>(x, q, "
    "s3)\n"
    "  x3 = Div(x, third)\n v = com.microsoft.MatMulNBits<K=32, N=3, bits=4, block_size=16>(x3, q, "
    "s) }";

TEST(computed_scales_keep_their_digits)
{
    static const char *const names[] = {"mpfr:128", "fp32"};
    scoped_model *model = onnx_text_load(17, scales);
    struct ulp_tensor_set inputs = {0}, outputs[2] = {0};
    const struct ulp_input_range ranges[] = {{"third", 3, 3}, {"one", 1, 1}, {"x", -1, 1}};
    const struct ulp_random_options options = {.seed = 7, .ranges = ranges, .range_count = 3};
    ck_ok(ulp_model_random_inputs(model, &options, &inputs, &why));
    scoped_program *program = test_plan_names(model, &inputs, names, 2);
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, outputs, NULL, &why));
    for (size_t l = 0; l < 2; l++)
        expect_equal(&outputs[l], "y", "z", names[l]);
    /* a third of the scales is a third of the products: 32 products whose factors are right to
     * 2^-127, and doubles that show 2^-53 of them */
    const struct ulp_tensor *w = ulp_tensor_set_find(&outputs[0], "w"),
                            *v = ulp_tensor_set_find(&outputs[0], "v");
    for (size_t i = 0; i < w->count; i++)
        ck_assert_double_le(fabs(ulp_tensor_get(w, i) - ulp_tensor_get(v, i)),
                            0x1p-52 * fabs(ulp_tensor_get(v, i)));
    for (size_t l = 0; l < 2; l++)
        ulp_tensor_set_free(&outputs[l]);
    ulp_tensor_set_free(&inputs);
}

/* 70 columns of 65536 are two blocks; two halves of 35 are one block each. */
static const char *const blocks =
    "(float[2,65536] x, uint8[70,1024,32] q, float[70,1024] s, uint8[70,512] o) => (float[2,70] y, "
    "float[2,70] z)\n"
    "{ c = Constant<value_ints=[71680]>()\n d = Constant<value_ints=[35840]>()\n"
    "  e = Constant<value_ints=[17920]>()\n f = Constant<value_ints=[35840]>()\n"
    "  sf = Reshape(s, c)\n of = Reshape(o, f)\n"
    "  y = com.microsoft.MatMulNBits<K=65536, N=70, bits=4, block_size=64>(x, q, sf, of)\n"
    "  q0, q1 = Split<axis=0>(q)\n s0, s2 = Split<axis=0>(s)\n o0, o1 = Split<axis=0>(o)\n"
    "  t0 = Reshape(s0, d)\n t1 = Reshape(s2, d)\n p0 = Reshape(o0, e)\n p1 = Reshape(o1, e)\n"
    "  z0 = com.microsoft.MatMulNBits<K=65536, N=35, bits=4, block_size=64>(x, q0, t0, p0)\n"
    "  z1 = com.microsoft.MatMulNBits<K=65536, N=35, bits=4, block_size=64>(x, q1, t1, p1)\n"
    "  z = Concat<axis=1>(z0, z1) }";

TEST(blocks_of_columns_are_the_whole_product)
{
    static const char *const names[] = {"mpfr:128", "fp32", "fp16", "tf32", "fp64"};
    enum { LANES = sizeof names / sizeof *names };
    scoped_model *model = onnx_text_load(17, blocks);
    struct ulp_tensor_set inputs = {0}, outputs[LANES] = {0};
    const struct ulp_input_range ranges[] = {{"q", 0, 255}, {"o", 0, 255}, {"x", -1, 1}};
    const struct ulp_random_options options = {.seed = 7, .ranges = ranges, .range_count = 3};
    ck_ok(ulp_model_random_inputs(model, &options, &inputs, &why));
    scoped_program *program = test_plan_names(model, &inputs, names, LANES);
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, outputs, NULL, &why));
    for (size_t l = 0; l < LANES; l++) {
        expect_equal(&outputs[l], "y", "z", names[l]);
        ulp_tensor_set_free(&outputs[l]);
    }
    ulp_tensor_set_free(&inputs);
}

TEST_SUITE("tables", 120)
