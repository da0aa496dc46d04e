/* The lane of an engine computes what plain lanes compute whose arithmetic is known; undone
 * differences between two engines explain theirs. */
#include "tests/analysis/engine_test.h"
#include "tests/support/onnx_text.h"

/* All FP32 accumulators and epilogues: as FP16 with kernels of what each product is followed by.
 * All TF32: as TF32. Of a first product into FP16 the result differs from both. */
TEST(lane_computes_what_was_built)
{
    struct subject subject;
    begin(&subject, "trt10_wide.json");
    struct ulp_tensor_set wide = run_built(&subject),
                          fused = run_plain("fp16@a100,constants=tensorrt,fuse=pointwise"),
                          plain = run_plain("fp16@a100,constants=tensorrt");
    ck_assert_uint_eq(count_unequal(&wide, &fused), 0);
    ck_assert_uint_gt(count_unequal(&wide, &plain), 0);
    end(&subject);
    begin(&subject, "trt10_fp16_claimed.json");
    struct ulp_tensor_set tf32 = run_built(&subject), tf32_plain = run_plain("tf32@a100");
    ck_assert_uint_eq(count_unequal(&tf32, &tf32_plain), 0);
    end(&subject);
    begin(&subject, "trt10_half.json");
    struct ulp_tensor_set half = run_built(&subject);
    ck_assert_uint_gt(count_unequal(&half, &wide), 0);
    end(&subject);
    struct ulp_tensor_set *const sets[] = {&wide, &fused, &plain, &tf32, &tf32_plain, &half};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        ulp_tensor_set_free(sets[s]);
}

/* An FP16 accumulator with an FP16 epilogue rounds every step to FP16, so that one kernel gives
 * what several do; the second product's accumulator is FP32, as a kept node's. */
TEST(half_epilogue)
{
    struct subject subject;
    const size_t rest[] = {SECOND, SOFTMAX};
    const struct ulp_arithmetic lane = test_arithmetic("fp16@a100,acc=fp16,constants=tensorrt");
    const struct ulp_arithmetic wide = test_arithmetic("fp16@a100,constants=tensorrt");
    const struct ulp_keep keep = {.nodes = rest, .node_count = 2, .arithmetic = wide};
    const struct ulp_keeps keeps = {.count = 1, .items = &keep};
    begin(&subject, "trt10_half.json");
    struct ulp_tensor_set built = run_built(&subject),
                          expected = run_lane(&lane, &keeps, NULL, NULL);
    ck_assert_uint_eq(count_unequal(&built, &expected), 0);
    ulp_tensor_set_free(&built);
    ulp_tensor_set_free(&expected);
    end(&subject);
}

/* An INT8 row sums integers with the scales of the model's Q/DQ, whose nodes it takes in. */
TEST(integers)
{
    static const char quantised[] =
        "(float[4,32] x) => (float[4,8] y)\n"
        "<float xs = {0.05}, int8 xz = {0}, int8[32,8] wq = {3, -7, 11, 100, -90, 5, 127...},\n"
        " float ws = {0.013}, int8 wz = {0}>\n"
        "{\n"
        "  [q] xq = QuantizeLinear(x, xs, xz)\n"
        "  [dq] xd = DequantizeLinear(xq, xs, xz)\n"
        "  [wdq] wd = DequantizeLinear(wq, ws, wz)\n"
        "  [product] y = MatMul(xd, wd)\n"
        "}\n";
    static const char layers[] =
        "{\"Layers\": [{\"Name\": \"q\", \"LayerType\": \"Reformat\", \"Origin\": \"QDQ\", "
        "\"Inputs\": [{\"Name\": \"x\", \"Format/Datatype\": \"Row major linear FP32\"}], "
        "\"Outputs\": [{\"Name\": \"xq\", \"Format/Datatype\": \"Row major Int8 format\"}]}, "
        "{\"Name\": \"wq + product\", \"LayerType\": \"CaskGemmMatrixMultiply\", \"Inputs\": "
        "[{\"Name\": \"xq\", \"Format/Datatype\": \"Row major Int8 format\"}], \"Outputs\": "
        "[{\"Name\": \"y\", \"Format/Datatype\": \"Row major linear FP32\"}], \"Weights\": "
        "{\"Type\": \"Int8\", \"Count\": 256}, \"TacticName\": "
        "\"sm80_xmma_gemm_i8f32_i8i32_f32_tn_n_tensor16x8x32\"}], \"Bindings\": [\"x\", \"y\"]}";
    struct ulp_model *whole = model, *other = onnx_text_load(17, quantised);
    struct ulp_program *other_program = make_plan(other);
    struct subject subject;
    write_file("int8.json", layers);
    ck_ok(ulp_engine_read(test_folder("int8.json"), NULL, &subject.engine, &why));
    ck_ok(ulp_engine_map_make(&subject.engine, other_program, NULL, &subject.built, &why));
    ck_assert_uint_eq(subject.built.int8_products, 1);
    ck_assert_uint_eq(subject.built.int32_accumulators, 1);
    ck_assert_uint_eq(subject.built.kinds[ULP_BUILT_LOST], 0);
    model = other;
    struct ulp_tensor_set built = run_built(&subject), expected = run_plain("fp32,qdq=integer"),
                          floats = run_plain("fp32");
    ck_assert_uint_eq(count_unequal(&built, &expected), 0);
    ck_assert_uint_gt(count_unequal(&built, &floats), 0);
    ulp_tensor_set_free(&built);
    ulp_tensor_set_free(&expected);
    ulp_tensor_set_free(&floats);
    end(&subject);
    ulp_program_free(other_program);
    ulp_model_free(other);
    model = whole;
}

/* What does not tell is what the option says. */
TEST(unknown_accumulators)
{
    struct subject subject;
    const struct ulp_engine_map_options half = {.unknown_accumulator = "fp16", .gpu = "h200"},
                                        wrong = {.unknown_accumulator = "fp8"},
                                        no_gpu = {.gpu = "x"};
    write_file("hidden.json",
               "{\"Layers\": [{\"Name\": \"/fc.2/MatMul\", \"LayerType\": \"fusion\", \"Inputs\": "
               "[{\"Name\": \"h3\", \"Format/Datatype\": \"Half\"}], \"Outputs\": [{\"Name\": "
               "\"h4\", \"Format/Datatype\": \"Half\"}], \"TacticName\": \"__myl_FcAdd_0x1\"}]}");
    ck_ok(ulp_engine_read(test_folder("hidden.json"), NULL, &subject.engine, &why));
    ck_ok(ulp_engine_map_make(&subject.engine, program, NULL, &subject.built, &why));
    ck_assert_uint_eq(subject.built.unknown_accumulators, 1);
    ck_assert_ptr_null(strstr(layer_of(&subject, SECOND)->arithmetic, "acc=fp16"));
    ck_assert_ptr_nonnull(strstr(layer_of(&subject, SECOND)->assumed, "not told"));
    ulp_engine_map_free(&subject.built);
    ck_ok(ulp_engine_map_make(&subject.engine, program, &half, &subject.built, &why));
    ck_assert_ptr_nonnull(strstr(layer_of(&subject, SECOND)->arithmetic, "fp16@h200,acc=fp16"));
    ulp_engine_map_free(&subject.built);
    ck_assert_int_eq(ulp_engine_map_make(&subject.engine, program, &wrong, &subject.built, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(ulp_engine_map_make(&subject.engine, program, &no_gpu, &subject.built, &error),
                     ULP_ERROR_USAGE);
    end(&subject);
}
