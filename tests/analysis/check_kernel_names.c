/* Kernels' names (ulpscope/engine.h): the grammar of doc/engine.md, and the names in the
 * descriptions of real engines, which are read when ULPSCOPE_TEST_DATA is set. */
#include "tests/analysis/engine_test.h"

/* The grammar of doc/engine.md; names of engines and libraries as they are published. */
TEST(kernel_names)
{
    static const struct {
        const char *name, *multiply, *accumulator, *epilogue, *output;
        enum ulp_certainty certainty;
        int slices, architecture;
        bool unit, winograd;
    } cases[] = {
        {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_"
         "warpsize2x1x2_g1_tensor16x8x16_aACCESS",
         "fp16", "fp16", "fp16", "fp16", ULP_CERTAINTY_OBSERVED, 2, 80, true, false},
        {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_"
         "tensor16x8x16",
         "fp16", "fp32", "fp32", "fp16", ULP_CERTAINTY_OBSERVED, 1, 80, true, false},
        {"sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
         "warpsize2x2x1_g1_tensor16x8x8_simple_t1r1s1",
         "tf32", "fp32", "fp32", "fp32", ULP_CERTAINTY_INFERRED, 1, 80, true, false},
        {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_"
         "warpsize1x2x1_g1_ffma_aligna4_alignc4",
         "fp32", "fp32", "fp32", "fp32", ULP_CERTAINTY_INFERRED, 1, 80, false, false},
        {"sm80_xmma_fprop_implicit_gemm_interleaved_i8f16_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_"
         "nchw_vect_c_32_tilesize128x128x64_stage4_warpsize2x2x1_g1_tensor16x8x32_t1r1s1",
         "int8", "int32", "fp32", "fp16", ULP_CERTAINTY_OBSERVED, 1, 80, true, false},
        {"sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu", "fp16", "fp16",
         "fp16", "fp16", ULP_CERTAINTY_INFERRED, 1, 70, false, false},
        {"sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided",
         "fp16", "fp32", "fp32", "fp16", ULP_CERTAINTY_INFERRED, 1, 50, false, false},
        {"sm80_xmma_fprop_wngd_f32f32_f32_f32_nchwkcrs_nchw_tilesize8x16x64x8_warpsize8x1x1_"
         "wngd2x2",
         "fp32", "fp32", "fp32", "fp32", ULP_CERTAINTY_INFERRED, 1, 80, false, true},
        {"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "fp32", "fp32", "fp32",
         "fp32", ULP_CERTAINTY_INFERRED, 1, 80, false, true},
        {"ampere_h16816cudnn_128x64_sliced1x2_ldg8_relu_exp_stages_64x3_small_nhwc_tn_v1", "fp16",
         "fp16", "fp16", "fp16", ULP_CERTAINTY_INFERRED, 2, 80, true, false},
        {"trt_turing_cutlass_image_network_first_layer_hmma_fprop_f16f16f32_nhwc_nhwc_k64r7s7c4_"
         "stride2x2",
         "fp16", "fp32", "fp32", "", ULP_CERTAINTY_INFERRED, 1, 75, true, false},
        {"turing_fp16_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1", "int8", "int32", "fp32", "",
         ULP_CERTAINTY_INFERRED, 1, 75, true, false},
        {"cutlass3x_sm100_tensorop_s128x128x8tf32implicit_gemm_fprop_f32_f32_f32_f32_f32_f32_"
         "128x128x32",
         "tf32", "fp32", "", "", ULP_CERTAINTY_DOCUMENTED, 1, 100, true, false},
        {"sm50_xmma_convolution_depthwiseHMMA_FP16NHWCx8_TR3_TS3_STRIDEH1_STRIDEW1", "fp16", "", "",
         "fp16", ULP_CERTAINTY_UNKNOWN, 1, 50, false, false},
        {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1",
         "fp8-e4m3", "fp32", "fp32", "bf16", ULP_CERTAINTY_INFERRED, 1, 90, true, false},
        {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize64x64x64 + split-k", "bf16", "fp32",
         "fp32", "bf16", ULP_CERTAINTY_INFERRED, 0, 80, false, false},
        {"nvjet_hsh_64x8_64x16_1x4_h_bz_splitK_NNT", "fp16", "fp32", "fp32", "fp16",
         ULP_CERTAINTY_OBSERVED, 0, 0, true, false},
        {"sm80_xmma_gemm_f16f16_f16f16_f16_nn_n_splitK_64x64_tensor16x8x16", "fp16", "fp16", "fp16",
         "fp16", ULP_CERTAINTY_OBSERVED, 0, 80, true, false},
        {"sm80_xmma_gemm_f16f16_f16f16_f16_nn_n_tilesize64x64x64_splitK_4", "fp16", "fp16", "fp16",
         "fp16", ULP_CERTAINTY_OBSERVED, 4, 80, false, false},
        {"sm75_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tensor16x8x8 numSplitK: 12 "
         "numBuffers: 0 numKernels: 1",
         "fp16", "fp32", "fp32", "fp16", ULP_CERTAINTY_OBSERVED, 12, 75, true, false}};
    struct ulp_kernel_name name;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ulp_kernel_name_read(cases[c].name, &name);
        ck_assert_msg(name.matrix && strcmp(name.multiply, cases[c].multiply) == 0 &&
                          strcmp(name.accumulator, cases[c].accumulator) == 0 &&
                          strcmp(name.epilogue, cases[c].epilogue) == 0 &&
                          strcmp(name.output, cases[c].output) == 0,
                      "%s: %s into %s, %s, %s (%s)", cases[c].name, name.multiply, name.accumulator,
                      name.epilogue, name.output, name.pattern);
        ck_assert_msg(name.certainty == cases[c].certainty && name.slices == cases[c].slices &&
                          name.architecture == cases[c].architecture &&
                          name.unit == cases[c].unit && name.winograd == cases[c].winograd,
                      "%s: %s, %d slices, sm%d, unit %d, winograd %d", cases[c].name,
                      ulp_certainty_name(name.certainty), name.slices, name.architecture, name.unit,
                      name.winograd);
        ck_assert(*name.source);
    }
    static const char *const none[] = {"", "sm50_xmma_pooling_fw_4d_FP16FP32NHWC_Average_FastDiv",
                                       "__myl_MaxrSubExpSum_0x574acd", "f16f16", "____"};
    for (size_t c = 0; c < sizeof none / sizeof *none; c++) {
        ulp_kernel_name_read(none[c], &name);
        ck_assert_msg(!name.matrix, "%s is taken for a product by %s", none[c], name.pattern);
    }
}

/* A long name is read in time that grows with its square at most. */
TEST(long_kernel_name)
{
    const size_t length = 200000;
    char *name = malloc(length + 1);
    struct ulp_kernel_name out;
    ck_assert_ptr_nonnull(name);
    for (size_t i = 0; i < length; i++)
        name[i] = "_f16"[i % 4];
    name[length] = 0;
    ulp_kernel_name_read(name, &out);
    free(name);
    const char *source;
    enum ulp_certainty certainty;
    size_t rows = 0;
    for (; ulp_kernel_name_pattern(rows, &source, &certainty); rows++)
        ck_assert(*source);
    ck_assert_uint_gt(rows, 20);
}

/* Counts of accumulators and of operands, as a count of substrings of the kernels' names gives them
 * (engines' files: 209 "f16f16_f16f16", "h16816", ... of 251 rows in FP16 engines). */
TEST(real_kernels)
{
    static const struct {
        const char *file;
        int half, wide, whole, hidden, tf32, fp32, winograd;
    } cases[] = {{"a100_trt8.4_resnet18_fp16", 20, 1, 0, 0, 0, 0, 0},
                 {"a100_trt8.4_resnet18_fp32", 0, 21, 0, 0, 20, 1, 0},
                 {"a100_trt8.4_resnet18_qat", 0, 0, 21, 0, 0, 0, 0},
                 {"a100_trt8.4_resnet18_qat-residual", 0, 0, 20, 0, 0, 0, 0},
                 {"a100_trt8.4_resnet18_qat-residual-qgap", 0, 0, 20, 0, 0, 0, 0},
                 {"b200_trt11_mnist_tf32", 0, 4, 0, 0, 4, 0, 0},
                 {"h100_trt10.16_mnist_fp32", 0, 3, 0, 0, 0, 3, 0},
                 {"jetson-orin_trt10_resnet18_torchtrt-fp16", 20, 1, 0, 0, 0, 0, 0},
                 {"rtx3060laptop_trt10.1_alexnet_torchtrt-fp16", 5, 3, 0, 0, 0, 0, 0},
                 {"rtx3060laptop_trt10.1_mobilenetv2_torchtrt-fp16", 35, 1, 0, 17, 0, 0, 0},
                 {"rtx3060laptop_trt10.1_resnet18_torchtrt-fp16", 21, 0, 0, 0, 0, 0, 0},
                 {"rtx3060laptop_trt10.4_mobilenetv2_fp16", 35, 1, 0, 17, 0, 0, 0},
                 {"rtx3060laptop_trt10.4_resnet18_fp16", 20, 0, 0, 0, 0, 0, 0},
                 {"rtx3060laptop_trt10_alexnet_fp16-claimed-but-fp32", 0, 8, 0, 0, 2, 6, 3},
                 {"rtx3060laptop_trt10_resnet18_fp16-claimed-but-fp32", 0, 21, 0, 0, 1, 20, 11},
                 {"rtx3090_trt8.4_resnet50keras_fp16", 53, 1, 0, 0, 0, 0, 0},
                 {"rtx3090_trt8.4_resnet50keras_fp32", 0, 53, 0, 0, 40, 13, 6},
                 {"rtx3090_trt8.4_resnet50keras_qat", 0, 0, 54, 0, 0, 0, 0},
                 {"titanrtx_trt8.2_mobilenetv2residuals_qat", 0, 1, 27, 0, 0, 0, 0},
                 {"titanrtx_trt8.4_mobilenet_qat", 0, 1, 35, 0, 0, 0, 0},
                 {"titanrtx_trt8.4_mobilenetv2residuals_qat", 0, 1, 33, 0, 0, 0, 0},
                 {"unknown_trt10_mlp3_torchtrt-strongly-typed", 0, 0, 0, 0, 0, 0, 0},
                 {"unknown_trt10_mlp3_torchtrt-weakly-typed", 0, 0, 0, 0, 0, 0, 0},
                 {"unknown_trt8.6_resnet-detector_qat_names-only", 0, 0, 0, 0, 0, 0, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases && test_shared("engines"); c++) {
        char path[256];
        struct ulp_engine engine;
        int half = 0, wide = 0, whole = 0, hidden = 0, tf32 = 0, fp32 = 0, winograd = 0;
        snprintf(path, sizeof path, "engines/%s.json", cases[c].file);
        ck_ok(ulp_engine_read(test_shared(path), NULL, &engine, &why));
        ck_assert_uint_gt(engine.layer_count, 2);
        for (size_t l = 0; l < engine.layer_count; l++) {
            struct ulp_kernel_name name;
            ulp_kernel_name_read(engine.layers[l].kernel, &name);
            if (!name.matrix || strcmp(engine.layers[l].kind, "kgen") == 0)
                continue;
            half += strcmp(name.accumulator, "fp16") == 0;
            wide += strcmp(name.accumulator, "fp32") == 0;
            whole += strcmp(name.accumulator, "int32") == 0;
            hidden += !*name.accumulator;
            tf32 += strcmp(name.multiply, "tf32") == 0;
            fp32 += strcmp(name.multiply, "fp32") == 0;
            winograd += name.winograd;
            /* the name's output is the row's, wherever both tell */
            if (*name.output && engine.layers[l].output_count)
                ck_assert_msg((strcmp(name.output, "fp16") == 0) ==
                                  (engine.layers[l].outputs[0].type == ULP_TYPE_FLOAT16),
                              "%s: %s writes %s", cases[c].file, engine.layers[l].kernel,
                              engine.layers[l].outputs[0].format);
        }
        ck_assert_msg(half == cases[c].half && wide == cases[c].wide && whole == cases[c].whole &&
                          hidden == cases[c].hidden && tf32 == cases[c].tf32 &&
                          fp32 == cases[c].fp32 && winograd == cases[c].winograd,
                      "%s: %d fp16, %d fp32, %d int32, %d hidden; %d tf32, %d fp32, %d winograd",
                      cases[c].file, half, wide, whole, hidden, tf32, fp32, winograd);
        ulp_engine_free(&engine);
    }
}
