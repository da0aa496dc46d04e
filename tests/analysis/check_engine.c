/* Engines (ulpscope/engine.h): every form of a description is read alike, layers are mapped to
 * nodes, the lane computes what plain lanes compute whose arithmetic is known, wishes are judged,
 * and two engines compared. The descriptions are written by scripts/sample_engines.py; those of
 * real engines are read when ULPSCOPE_TEST_DATA is set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static const char text[] =
    "(float[4,32] x) => (float[4,8] y)\n"
    "<float[32,32] w1 = {0.5, -0.3, 0.11, 0.7, -0.9, 0.2, 0.013, -0.4, 0.31...},\n"
    " float[32] b1 = {0.3, -2.0, 0.001, 0.7...}, float[32,8] w2 = {0.2, 0.7, -1.1, 0.05...}>\n"
    "{\n"
    "  [/fc1/MatMul] h1 = MatMul(x, w1)\n"
    "  [/fc1/Add] h2 = Add(h1, b1)\n"
    "  [/act/Relu] h3 = Relu(h2)\n"
    "  [/fc.2/MatMul] h4 = MatMul(h3, w2)\n"
    "  [/soft/Softmax] y = Softmax<axis=1>(h4)\n"
    "}\n";
enum { NODES = 5, MATMUL = 0, ADD, RELU, SECOND, SOFTMAX };

static struct ulp_model *model;
static struct ulp_plan *plan;
static struct ulp_tensor_set inputs;
static struct ulp_error error;

static struct ulp_plan *make_plan(struct ulp_model *of)
{
    struct ulp_arithmetic plain;
    struct ulp_plan *out;
    ck_ulp_ok(ulp_arithmetic_find("fp32", &plain, &error), error);
    ck_ulp_ok(ulp_plan_create(of, &plain, 1, &(struct ulp_plan_options){0}, &out, &error), error);
    return out;
}

static void setup(void)
{
    const struct ulp_input_range range = {NULL, -3, 3};
    const struct ulp_random_options options = {.ranges = &range, .range_count = 1, .seed = 5};
    test_folder_create();
    model = onnx_text_load(17, text);
    plan = make_plan(model);
    ck_ulp_ok(ulp_model_random_inputs(model, &options, &inputs, &error), error);
}

static void teardown(void)
{
    ulp_tensor_set_free(&inputs);
    ulp_plan_free(plan);
    ulp_model_free(model);
    test_folder_remove();
}

/* An engine, mapped. */
struct subject {
    struct ulp_engine engine;
    struct ulp_built built;
};

static void begin_with(struct subject *out, const char *file,
                       const struct ulp_built_options *options)
{
    char path[256];
    snprintf(path, sizeof path, "engine/%s", file);
    ck_ulp_ok(ulp_engine_read(test_data(path), NULL, &out->engine, &error), error);
    ck_ulp_ok(ulp_built_make(&out->engine, plan, options, &out->built, &error), error);
}

static void begin(struct subject *out, const char *file)
{
    begin_with(out, file, NULL);
}

static void end(struct subject *subject)
{
    ulp_built_free(&subject->built);
    ulp_engine_free(&subject->engine);
}

/* The layer that computes a node. */
static const struct ulp_built_layer *layer_of(const struct subject *subject, size_t node)
{
    ck_assert_int_ge(subject->built.nodes[node].layer, 0);
    return &subject->built.layers[subject->built.nodes[node].layer];
}

/* ---- reading and mapping ---- */

/* The same engine in every form: two products, FP16 then FP32 accumulators, three nodes in one. */
START_TEST(forms)
{
    static const struct {
        const char *file;
        size_t layers;
        enum ulp_engine_form form;
        enum ulp_mapped_by by;
    } cases[] = {{"trt10_half.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_METADATA},
                 {"trt84_numbered.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_NAME},
                 {"trt11_half.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_METADATA},
                 {"concatenated.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_METADATA},
                 {"profiles.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_METADATA},
                 {"oneline.txt", 5, ULP_ENGINE_TEXT, ULP_MAPPED_METADATA},
                 {"verbose.log", 5, ULP_ENGINE_TEXT, ULP_MAPPED_NAME}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject;
        begin(&subject, cases[c].file);
        const struct ulp_built *built = &subject.built;
        ck_assert_msg(built->layer_count == cases[c].layers, "%s: %zu layers", cases[c].file,
                      built->layer_count);
        ck_assert_int_eq(subject.engine.form, cases[c].form);
        ck_assert_msg(built->products == 2 && built->fp16_accumulators == 1 &&
                          built->fp32_accumulators == 1 && built->fp16_products == 2,
                      "%s: %zu products, %zu and %zu", cases[c].file, built->products,
                      built->fp16_accumulators, built->fp32_accumulators);
        const struct ulp_built_layer *first = layer_of(&subject, MATMUL);
        ck_assert_msg(first->by == cases[c].by && first->node_count == 3, "%s: %s, %zu nodes",
                      cases[c].file, ulp_mapped_by_name(first->by), first->node_count);
        for (size_t i = 0; i < 3; i++)
            ck_assert_uint_eq(first->nodes[i], i);
        ck_assert_int_eq(first->input, ULP_TYPE_FLOAT16);
        ck_assert_int_eq(first->output, ULP_TYPE_FLOAT16);
        ck_assert_ptr_eq(layer_of(&subject, SECOND), first + 1);
        ck_assert_ptr_eq(layer_of(&subject, SOFTMAX), first + 2);
        ck_assert_uint_eq(built->kinds[ULP_BUILT_LOST], 0);
        ck_assert(built->numbered == (strcmp(cases[c].file, "trt84_numbered.json") == 0));
        end(&subject);
    }
}
END_TEST

/* What a log says beside the layers. */
START_TEST(facts_of_a_log)
{
    struct subject subject;
    begin(&subject, "verbose.log");
    ck_assert_str_eq(subject.engine.precisions, "FP32+FP16");
    ck_assert_str_eq(subject.engine.version, "TensorRT 8.5.3");
    end(&subject);
    begin(&subject, "trt11_half.json");
    ck_assert_int_eq(layer_of(&subject, MATMUL)->weights, ULP_TYPE_FLOAT16);
    end(&subject);
}
END_TEST

/* Names alone tell no type; a ForeignNode's inside is bounded, and its rows are no products. */
START_TEST(what_cannot_be_read)
{
    struct subject subject;
    char *summary;
    begin(&subject, "names_only.json");
    ck_assert(subject.engine.names_only);
    ck_assert_uint_eq(subject.built.products, 2); /* by the nodes that the names name */
    ck_assert_uint_eq(subject.built.unknown_accumulators, 2);
    ck_ulp_ok(ulp_built_summary(&subject.built, NULL, 0, 0, false, &summary, &error), error);
    ck_assert_ptr_eq(strstr(summary, "Only names are told"), summary);
    free(summary);
    end(&subject);
    begin(&subject, "foreign.json");
    ck_assert_uint_eq(subject.built.kinds[ULP_BUILT_INSIDE], NODES);
    ck_assert_int_eq(subject.built.layers[0].by, ULP_MAPPED_BOUND);
    ck_assert_uint_eq(subject.built.products, 0);
    end(&subject);
}
END_TEST

/* OpenVINO's graph: layers by the names they were made of, one by the value it computes. */
START_TEST(openvino)
{
    struct subject subject;
    char *verdict;
    begin(&subject, "openvino.xml");
    const struct ulp_built *built = &subject.built;
    ck_assert_int_eq(subject.engine.form, ULP_ENGINE_OPENVINO);
    ck_assert_uint_eq(built->kinds[ULP_BUILT_MAPPED], NODES);
    ck_assert_uint_eq(layer_of(&subject, MATMUL)->node_count, 3);
    ck_assert_int_eq(layer_of(&subject, MATMUL)->output, ULP_TYPE_BFLOAT16);
    ck_assert_int_eq(layer_of(&subject, SECOND)->output, ULP_TYPE_FLOAT);
    ck_assert_str_eq(layer_of(&subject, SOFTMAX)->arithmetic, "fp32");
    ck_assert_uint_eq(built->bf16_products, 2);
    ck_assert_uint_eq(built->fp32_accumulators, 2);
    ck_ulp_ok(ulp_built_verdict(built, &verdict, &error), error);
    ck_assert_str_eq(verdict,
                     "This engine accumulates all 2 products in FP32; it multiplies 2 in BF16.\n");
    free(verdict);
    end(&subject);
}
END_TEST

/* ONNX Runtime's optimised model: nodes by their names and by the values they compute; Casts that
 * it inserted are copies. */
START_TEST(onnxruntime)
{
    static const char optimised[] =
        "(float[4,32] x) => (float[4,8] y)\n"
        "<float[32,32] w1 = {0.5...}, float[32] b1 = {0.3...}, float16[32,8] w2 = {0.2...}>\n"
        "{\n"
        "  [/fc1/MatMul/MatMulAddFusion] h2 = Gemm(x, w1, b1)\n"
        "  [/act/Relu] h3 = Relu(h2)\n"
        "  [InsertedPrecisionFreeCast_h3] c3 = Cast<to=10>(h3)\n"
        "  [second] c4 = MatMul(c3, w2)\n"
        "  [InsertedPrecisionFreeCast_h4] h4 = Cast<to=1>(c4)\n"
        "  [/soft/Softmax] y = Softmax<axis=1>(h4)\n"
        "}\n";
    struct subject subject;
    struct proto message = onnx_text(17, optimised);
    FILE *file = fopen(test_folder("optimised.onnx"), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(message.data, 1, message.count, file), message.count);
    ck_assert_int_eq(fclose(file), 0);
    proto_free(&message);
    ck_ulp_ok(ulp_engine_read(test_folder("optimised.onnx"), NULL, &subject.engine, &error), error);
    ck_ulp_ok(ulp_built_make(&subject.engine, plan, NULL, &subject.built, &error), error);
    ck_assert_int_eq(subject.engine.form, ULP_ENGINE_ONNX);
    ck_assert_ptr_eq(layer_of(&subject, MATMUL), &subject.built.layers[0]);
    ck_assert_ptr_eq(layer_of(&subject, ADD), &subject.built.layers[0]);
    ck_assert_ptr_eq(layer_of(&subject, RELU), &subject.built.layers[1]);
    ck_assert_ptr_eq(layer_of(&subject, SECOND), &subject.built.layers[3]);
    ck_assert_ptr_eq(layer_of(&subject, SOFTMAX), &subject.built.layers[5]);
    ck_assert(subject.built.layers[2].helper && subject.built.layers[4].helper);
    ck_assert_str_eq(layer_of(&subject, MATMUL)->multiply, "fp32");
    ck_assert_str_eq(layer_of(&subject, SECOND)->multiply, "fp16");
    ck_assert_str_eq(layer_of(&subject, SECOND)->accumulator, "fp32");
    end(&subject);
}
END_TEST

static void write_file(const char *name, const char *content)
{
    FILE *file = fopen(test_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* Malformed files, and those that hold no engine. */
START_TEST(refused)
{
    static const struct {
        const char *content, *message;
    } cases[] = {{"", "holds no layer"},
                 {"{\"Layers\": []}", "holds no layer"},
                 {"{\"Layers\": [1]}", "neither a name nor an object"},
                 {"{\"Layers\": [{\"LayerType\": \"kgen\"}]}", "neither a name nor an object"},
                 {"{\"Layers\": [{\"Name\": 3}]}", "neither a name nor an object"},
                 {"{\"Layers\": ", "line 1"},
                 {"{\"Rows\": [\"a\"]}", "expected an object with \"Layers\""},
                 {"[11/20/2026-10:00:00] [I] nothing here\n", "holds no layer"},
                 {"Name: a, LayerType: kgen", "names a node"},
                 {"{\"Layers\": [\"unrelated\"]}", "names a node"},
                 {"<net><layers><layer name='a'>", "line 1"},
                 {"<a/>", "no <net>"},
                 {"<!DOCTYPE a [<!ENTITY b 'c'>]><net/>", "document type"},
                 {"<net/>", "holds no layer"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject = {0};
        write_file("bad.json", cases[c].content);
        enum ulp_status status =
            ulp_engine_read(test_folder("bad.json"), NULL, &subject.engine, &error);
        if (status == ULP_OK)
            status = ulp_built_make(&subject.engine, plan, NULL, &subject.built, &error);
        ck_assert_msg(status != ULP_OK && strstr(error.message, cases[c].message),
                      "case %zu: %d %s", c, (int)status, error.message);
        end(&subject);
    }
}
END_TEST

/* Names that hold what joins names; a tensor of more dimensions than any; control characters. */
START_TEST(odd_names)
{
    struct subject subject = {0};
    struct ulp_model *odd = onnx_text_load(
        17, "(float[2] x) => (float[2] z)\n<float[2] w = {1, 2}>\n{ [a.b] y = Mul(x, w)\n [c] z = "
            "Relu(y) }");
    struct ulp_plan *odd_plan = make_plan(odd);
    write_file("odd.json",
               "{\"Layers\": [{\"Name\": \"PWN(PWN(w + a.b), c)\", \"LayerType\": \"PointWiseV2\", "
               "\"Inputs\": [{\"Name\": \"x\", \"Dimensions\": "
               "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2], \"Format/Datatype\": \"N/A due to dynamic "
               "shapes\"}], \"Outputs\": [{\"Name\": \"z\", \"Dimensions\": [2], "
               "\"Format/Datatype\": \"Half\"}], \"Metadata\": \"\x1e\"}]}");
    ck_ulp_ok(ulp_engine_read(test_folder("odd.json"), NULL, &subject.engine, &error), error);
    ck_assert_int_eq(subject.engine.layers[0].inputs[0].rank, -1);
    ck_assert_int_eq(subject.engine.layers[0].inputs[0].type, ULP_TYPE_UNDEFINED);
    ck_ulp_ok(ulp_built_make(&subject.engine, odd_plan, NULL, &subject.built, &error), error);
    ck_assert_uint_eq(subject.built.layers[0].node_count, 2);
    ck_assert_uint_eq(subject.built.kinds[ULP_BUILT_MAPPED], 2);
    ck_assert_int_eq(subject.built.layers[0].output, ULP_TYPE_FLOAT16);
    end(&subject);
    ulp_plan_free(odd_plan);
    ulp_model_free(odd);
}
END_TEST

/* ---- kernels' names ---- */

/* The grammar of doc/engine.md; names of engines and libraries as they are published. */
START_TEST(kernel_names)
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
END_TEST

/* A long name is read in time that grows with its square at most. */
START_TEST(long_kernel_name)
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
END_TEST

/* ---- computing ---- */

/* The outputs of one lane. */
static struct ulp_tensor_set run_lane(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_keeps *keeps,
                                      const struct ulp_groups *groups, const char *name)
{
    struct ulp_tensor_set out = {0};
    struct ulp_plan *of;
    const struct ulp_plan_options options = {.inputs = &inputs,
                                             .keeps = keeps,
                                             .groups = groups,
                                             .names = name ? &name : NULL};
    const struct ulp_run_options run = {.thread_count = 1};
    ck_ulp_ok(ulp_plan_create(model, arithmetic, 1, &options, &of, &error), error);
    if (name)
        ck_assert_str_eq(ulp_plan_lane_name(of, 0), name);
    ck_ulp_ok(ulp_plan_run(of, &inputs, &run, NULL, 0, &out, NULL, &error), error);
    ulp_plan_free(of);
    return out;
}

static struct ulp_tensor_set run_built(const struct subject *subject)
{
    struct ulp_built_lane lane;
    ck_ulp_ok(ulp_built_lane_make(&subject->built, "engine", NULL, NULL, &lane, &error), error);
    struct ulp_tensor_set out = run_lane(&lane.arithmetic, &lane.keeps, &lane.groups, lane.name);
    ulp_built_lane_free(&lane);
    return out;
}

static struct ulp_tensor_set run_plain(const char *name)
{
    struct ulp_arithmetic arithmetic;
    ck_ulp_ok(ulp_arithmetic_find(name, &arithmetic, &error), error);
    return run_lane(&arithmetic, NULL, NULL, NULL);
}

static size_t count_unequal(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    size_t unequal = 0;
    for (size_t i = 0; i < a->items[0].tensor.count; i++)
        unequal += ulp_tensor_get(&a->items[0].tensor, i) != ulp_tensor_get(&b->items[0].tensor, i);
    return unequal;
}

/* All FP32 accumulators and epilogues: as FP16 with kernels of what each product is followed by.
 * All TF32: as TF32. Of a first product into FP16 the result differs from both. */
START_TEST(lane_computes_what_was_built)
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
END_TEST

/* An FP16 accumulator with an FP16 epilogue rounds every step to FP16, so that one kernel gives
 * what several do; the second product's accumulator is FP32, as a kept node's. */
START_TEST(half_epilogue)
{
    struct subject subject;
    struct ulp_arithmetic lane, wide;
    const size_t rest[] = {SECOND, SOFTMAX};
    ck_ulp_ok(ulp_arithmetic_find("fp16@a100,acc=fp16,constants=tensorrt", &lane, &error), error);
    ck_ulp_ok(ulp_arithmetic_find("fp16@a100,constants=tensorrt", &wide, &error), error);
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
END_TEST

/* An INT8 row sums integers with the scales of the model's Q/DQ, whose nodes it takes in. */
START_TEST(integers)
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
    struct ulp_plan *other_plan = make_plan(other);
    struct subject subject;
    write_file("int8.json", layers);
    ck_ulp_ok(ulp_engine_read(test_folder("int8.json"), NULL, &subject.engine, &error), error);
    ck_ulp_ok(ulp_built_make(&subject.engine, other_plan, NULL, &subject.built, &error), error);
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
    ulp_plan_free(other_plan);
    ulp_model_free(other);
    model = whole;
}
END_TEST

/* What does not tell is what the option says. */
START_TEST(unknown_accumulators)
{
    struct subject subject;
    const struct ulp_built_options half = {.unknown_accumulator = "fp16", .gpu = "h200"},
                                   wrong = {.unknown_accumulator = "fp8"}, no_gpu = {.gpu = "x"};
    write_file("hidden.json",
               "{\"Layers\": [{\"Name\": \"/fc.2/MatMul\", \"LayerType\": \"fusion\", \"Inputs\": "
               "[{\"Name\": \"h3\", \"Format/Datatype\": \"Half\"}], \"Outputs\": [{\"Name\": "
               "\"h4\", \"Format/Datatype\": \"Half\"}], \"TacticName\": \"__myl_FcAdd_0x1\"}]}");
    ck_ulp_ok(ulp_engine_read(test_folder("hidden.json"), NULL, &subject.engine, &error), error);
    ck_ulp_ok(ulp_built_make(&subject.engine, plan, NULL, &subject.built, &error), error);
    ck_assert_uint_eq(subject.built.unknown_accumulators, 1);
    ck_assert_ptr_null(strstr(layer_of(&subject, SECOND)->arithmetic, "acc=fp16"));
    ck_assert_ptr_nonnull(strstr(layer_of(&subject, SECOND)->assumed, "not told"));
    ulp_built_free(&subject.built);
    ck_ulp_ok(ulp_built_make(&subject.engine, plan, &half, &subject.built, &error), error);
    ck_assert_ptr_nonnull(strstr(layer_of(&subject, SECOND)->arithmetic, "fp16@h200,acc=fp16"));
    ulp_built_free(&subject.built);
    ck_assert_int_eq(ulp_built_make(&subject.engine, plan, &wrong, &subject.built, &error),
                     ULP_ERROR_USAGE);
    ck_assert_int_eq(ulp_built_make(&subject.engine, plan, &no_gpu, &subject.built, &error),
                     ULP_ERROR_USAGE);
    end(&subject);
}
END_TEST

/* ---- wishes ---- */

static void check_wish(const struct ulp_wish *wish, enum ulp_wish_verdict verdict, const char *ran,
                       const char *hint)
{
    ck_assert_msg(wish->verdict == verdict && strcmp(wish->ran, ran) == 0 &&
                      strstr(wish->hint, hint),
                  "%s:%s: %s, ran '%s', hint '%s'", wish->pattern, wish->type,
                  ulp_wish_verdict_name(wish->verdict), wish->ran, wish->hint);
}

/* A plan all of whose entries were obeyed, one of which half were, and one that names kernels. */
START_TEST(plans)
{
    static const struct {
        const char *engine, *keep;
        size_t counts[ULP_WISH_UNKNOWABLE + 1];
        enum ulp_wish_verdict verdict;
        const char *ran, *hint, *verdict_text;
    } cases[] = {
        {"trt10_mixed.json",
         "{\"nodes\": [\"/fc.2/MatMul\", \"op:Softmax\"], \"arithmetic\": \"fp32\"}",
         {2},
         ULP_WISH_OBEYED,
         "tf32",
         "",
         "All 2 constraints were obeyed."},
        {"trt10_mixed.json",
         "{\"nodes\": \"op:MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 1},
         ULP_WISH_PARTLY,
         "fp16",
         "",
         "0 of 1 constraints were obeyed, 1 partly obeyed."},
        {"trt10_half.json",
         "{\"nodes\": \"/fc.2/MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 0, 1},
         ULP_WISH_DISOBEYED,
         "fp16",
         "",
         "0 of 1 constraints were obeyed, 1 not obeyed."},
        {"trt10_half.json",
         "{\"nodes\": [\"/fc1/MatMul + /fc1/Add + /act/Relu\", \"/fc2/MatMul\"], \"arithmetic\": "
         "\"fp32\"}",
         {0, 0, 0, 2},
         ULP_WISH_NO_MATCH,
         "",
         "name its nodes: /fc1/MatMul, /fc1/Add, /act/Relu",
         "0 of 2 constraints were obeyed, 2 match nothing."},
        {"names_only.json",
         "{\"nodes\": \"/fc.2/MatMul\", \"arithmetic\": \"fp32\"}",
         {0, 0, 0, 0, 1},
         ULP_WISH_UNKNOWABLE,
         "",
         "",
         "1 unknowable."},
        {"foreign.json",
         "{\"nodes\": \"op:Softmax\", \"arithmetic\": \"fp32\"}",
         {0, 0, 0, 0, 1},
         ULP_WISH_UNKNOWABLE,
         "",
         "",
         "1 unknowable."}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject;
        struct ulp_precision_plan wanted;
        struct ulp_wishes wishes;
        char content[512], *summary;
        snprintf(content, sizeof content, "{\"arithmetic\": \"fp16\", \"keep\": [%s]}",
                 cases[c].keep);
        write_file("plan.json", content);
        begin(&subject, cases[c].engine);
        ck_ulp_ok(ulp_precision_plan_read(test_folder("plan.json"), NULL, &wanted, &error), error);
        ck_ulp_ok(ulp_built_wishes(&subject.built, &wanted, NULL, &wishes, &error), error);
        for (int v = 0; v <= ULP_WISH_UNKNOWABLE; v++)
            ck_assert_msg(wishes.counts[v] == cases[c].counts[v], "case %zu: %zu %s", c,
                          wishes.counts[v], ulp_wish_verdict_name((enum ulp_wish_verdict)v));
        check_wish(&wishes.items[0], cases[c].verdict, cases[c].ran, cases[c].hint);
        ck_ulp_ok(ulp_built_summary(&subject.built, &wishes, 0, 0, false, &summary, &error), error);
        ck_assert_ptr_nonnull(strstr(summary, cases[c].verdict_text));
        free(summary);
        ulp_wishes_free(&wishes);
        ulp_precision_plan_free(&wanted);
        end(&subject);
    }
}
END_TEST

/* trtexec's text; names that match nothing have near ones. */
START_TEST(layer_precisions)
{
    struct subject subject;
    struct ulp_wishes wishes;
    begin(&subject, "trt10_half.json");
    ck_ulp_ok(ulp_built_wishes(&subject.built, NULL,
                               "/fc1/MatMul:fp16,/fc*:fp32,/fc1/MatMull:fp32,/soft/Softmax:fp16",
                               &wishes, &error),
              error);
    ck_assert_uint_eq(wishes.count, 4);
    check_wish(&wishes.items[0], ULP_WISH_OBEYED, "fp16", "");
    check_wish(&wishes.items[1], ULP_WISH_DISOBEYED, "fp16", "");
    ck_assert_uint_eq(wishes.items[1].disobeyed, 3);
    check_wish(&wishes.items[2], ULP_WISH_NO_MATCH, "", "did you mean \"/fc1/MatMul\"");
    check_wish(&wishes.items[3], ULP_WISH_OBEYED, "fp16", "");
    ulp_wishes_free(&wishes);
    ck_assert_int_eq(ulp_built_wishes(&subject.built, NULL, "a", &wishes, &error), ULP_ERROR_USAGE);
    end(&subject);
}
END_TEST

/* An engine called FP16 that multiplies nothing in FP16 is said so first. */
/* A log says which layers trtexec set: these are judged where nothing else is asked; of an entry
 * that matches nodes of which it sets none, it says so. */
START_TEST(settings_of_a_log)
{
    static const char said[] =
        "[11/20/2026-10:00:00] [I] Set layer /fc.2/MatMul to precision fp32\n"
        "[11/20/2026-10:00:00] [I] Set layer /fc1/MatMul to precision FP16\n"
        "[11/20/2026-10:00:00] [I] Set layer /fc1/MatMul to precision fp32\n" /* said before */
        "[11/20/2026-10:00:00] [I] Set layer a to precision b to precision fp16\n"
        "[11/20/2026-10:00:00] [I] Set layer  to precision fp16\n"
        "[11/20/2026-10:00:00] [I] Set layer x\n";
    unsigned char *bytes;
    size_t count;
    struct subject subject;
    struct ulp_wishes wishes;
    ck_ulp_ok(ulp_file_read(test_data("engine/verbose.log"), 1 << 20, NULL, &bytes, &count, &error),
              error);
    char *log = malloc(sizeof said + count);
    ck_assert_ptr_nonnull(log);
    memcpy(log, said, sizeof said - 1);
    memcpy(log + sizeof said - 1, bytes, count);
    log[sizeof said - 1 + count] = 0;
    write_file("set.log", log);
    free(log);
    ulp_free(bytes);
    ck_ulp_ok(ulp_engine_read(test_folder("set.log"), NULL, &subject.engine, &error), error);
    ck_ulp_ok(ulp_built_make(&subject.engine, plan, NULL, &subject.built, &error), error);
    ck_assert_uint_eq(subject.engine.setting_count, 4);
    ck_assert_str_eq(subject.engine.settings[1].type, "fp16");
    ck_assert_str_eq(subject.engine.settings[3].layer, "a to precision b");
    ck_ulp_ok(ulp_built_wishes(&subject.built, NULL, NULL, &wishes, &error), error);
    ck_assert_uint_eq(wishes.count, 3);
    check_wish(&wishes.items[0], ULP_WISH_DISOBEYED, "fp16", "");
    check_wish(&wishes.items[1], ULP_WISH_OBEYED, "fp16", "");
    check_wish(&wishes.items[2], ULP_WISH_UNKNOWABLE, "", "no node of the model");
    ulp_wishes_free(&wishes);
    ck_ulp_ok(ulp_built_wishes(&subject.built, NULL, "/fc1/*:fp16,/act/Relu:fp16,/fc1/Add:fp32",
                               &wishes, &error),
              error);
    check_wish(&wishes.items[0], ULP_WISH_OBEYED, "fp16", "");
    check_wish(&wishes.items[1], ULP_WISH_OBEYED, "fp16", "did not apply");
    check_wish(&wishes.items[2], ULP_WISH_DISOBEYED, "fp16", "did not apply");
    ulp_wishes_free(&wishes);
    end(&subject);
    /* without such lines there is nothing to judge */
    begin(&subject, "verbose.log");
    ck_ulp_ok(ulp_built_wishes(&subject.built, NULL, NULL, &wishes, &error), error);
    ck_assert_uint_eq(wishes.count, 0);
    ulp_wishes_free(&wishes);
    end(&subject);
}
END_TEST

START_TEST(false_claim)
{
    struct subject subject;
    char *verdict;
    begin(&subject, "trt10_fp16_claimed.json");
    ck_ulp_ok(ulp_built_verdict(&subject.built, &verdict, &error), error);
    ck_assert_str_eq(verdict,
                     "Called FP16 (by its file's name), but none of its 2 products runs in "
                     "FP16: 2 in TF32.\n");
    free(verdict);
    end(&subject);
    begin(&subject, "trt10_half.json");
    ck_ulp_ok(ulp_built_verdict(&subject.built, &verdict, &error), error);
    ck_assert_str_eq(verdict, "This engine accumulates 1 of 2 products in FP16, 1 in FP32; it "
                              "multiplies 2 in FP16.\n");
    free(verdict);
    end(&subject);
}
END_TEST

/* ---- two engines ---- */

static double output_error(const struct ulp_tensor_set *set, const struct ulp_tensor_set *truth)
{
    double squares = 0, size = 0;
    for (size_t i = 0; i < truth->items[0].tensor.count; i++) {
        const double r = ulp_tensor_get(&truth->items[0].tensor, i),
                     d = ulp_tensor_get(&set->items[0].tensor, i) - r;
        squares += d * d;
        size += r * r;
    }
    return sqrt(squares / size);
}

/* They differ in the first product's accumulator alone: undone, all of the difference is gone. */
START_TEST(two_engines)
{
    struct subject good, bad;
    struct ulp_built_changes changes;
    struct ulp_arithmetic reference;
    char *summary;
    begin(&good, "trt10_wide.json");
    begin(&bad, "trt10_half.json");
    ck_ulp_ok(ulp_arithmetic_find("fp64", &reference, &error), error);
    ck_ulp_ok(ulp_built_changes_find(&good.built, &bad.built, &changes, &error), error);
    ck_assert_uint_eq(changes.count, 1);
    const struct ulp_built_change *change = &changes.items[0];
    ck_assert(change->kernel && change->accumulator && !change->type && !change->fusion);
    ck_assert_uint_eq(change->node_count, 3);
    ck_ulp_ok(ulp_built_changes_explain(&changes, model, &inputs, &reference, NULL, NULL, &error),
              error);
    struct ulp_tensor_set truth = run_plain("fp64"), first = run_built(&good),
                          second = run_built(&bad);
    /* sums of 32 squares in another order: 32 steps of 2^-53 each */
    ck_assert_double_eq_tol(changes.first, output_error(&first, &truth), 1e-14);
    ck_assert_double_eq_tol(changes.second, output_error(&second, &truth), 1e-14);
    ck_assert(change->without == changes.first);
    ck_assert(changes.second != changes.first);
    ck_ulp_ok(ulp_built_changes_summary(&changes, 0, 0, false, &summary, &error), error);
    ck_assert_ptr_nonnull(strstr(summary, "fp16 into fp16"));
    free(summary);
    ck_ulp_ok(ulp_built_write(&bad.built, NULL, &changes, test_folder("out"), &error), error);
    ulp_built_changes_free(&changes);
    ck_ulp_ok(ulp_built_changes_find(&bad.built, &bad.built, &changes, &error), error);
    ck_assert_uint_eq(changes.count, 0);
    ulp_built_changes_free(&changes);
    ulp_tensor_set_free(&truth);
    ulp_tensor_set_free(&first);
    ulp_tensor_set_free(&second);
    end(&good);
    end(&bad);
}
END_TEST

/* ---- real engines ---- */

/* Counts of accumulators and of operands, as a count of substrings of the kernels' names gives them
 * (engines' files: 209 "f16f16_f16f16", "h16816", ... of 251 rows in FP16 engines). */
START_TEST(real_kernels)
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
        ck_ulp_ok(ulp_engine_read(test_shared(path), NULL, &engine, &error), error);
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, forms);
    tcase_add_test(cases, facts_of_a_log);
    tcase_add_test(cases, what_cannot_be_read);
    tcase_add_test(cases, openvino);
    tcase_add_test(cases, onnxruntime);
    tcase_add_test(cases, refused);
    tcase_add_test(cases, odd_names);
    tcase_add_test(cases, kernel_names);
    tcase_add_test(cases, long_kernel_name);
    tcase_add_test(cases, lane_computes_what_was_built);
    tcase_add_test(cases, half_epilogue);
    tcase_add_test(cases, integers);
    tcase_add_test(cases, unknown_accumulators);
    tcase_add_test(cases, plans);
    tcase_add_test(cases, layer_precisions);
    tcase_add_test(cases, settings_of_a_log);
    tcase_add_test(cases, false_claim);
    tcase_add_test(cases, two_engines);
    tcase_add_test(cases, real_kernels);
    suite_add_tcase(suite, cases);
    return test_run(suite, NULL);
}
