/* Engines (ulpscope/engine.h): every form of a description is read alike, layers are mapped to
 * nodes, the lane computes what plain lanes compute whose arithmetic is known, wishes are judged,
 * and two engines compared. The descriptions are written by scripts/sample_engines.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "tests/analysis/engine_test.h"
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
    tcase_add_test(cases, lane_computes_what_was_built);
    tcase_add_test(cases, half_epilogue);
    tcase_add_test(cases, integers);
    tcase_add_test(cases, unknown_accumulators);
    tcase_add_test(cases, plans);
    tcase_add_test(cases, layer_precisions);
    tcase_add_test(cases, settings_of_a_log);
    tcase_add_test(cases, false_claim);
    tcase_add_test(cases, two_engines);
    suite_add_tcase(suite, cases);
    return test_run(suite, kernel_names_suite(), NULL);
}
