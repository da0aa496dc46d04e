/* Engines (ulpscope/engine.h): every form of a description is read alike, and layers are mapped to
 * nodes. The descriptions are written by lab/sample_engines.py. */
#include "analysis/engine/words.h"
#include "tests/analysis/engine_test.h"
#include "tests/support/onnx_text.h"

/* The same engine in every form: two products, FP16 then FP32 accumulators, three nodes in one. */
TEST(forms)
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
                 {"profiles.json", 5, ULP_ENGINE_JSON, ULP_MAPPED_METADATA}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject;
        begin(&subject, cases[c].file);
        const struct ulp_engine_map *built = &subject.built;
        ck_assert_msg(built->layer_count == cases[c].layers, "%s: %zu layers", cases[c].file,
                      built->layer_count);
        ck_assert_int_eq(subject.engine.form, cases[c].form);
        ck_assert_msg(built->products == 2 && built->fp16_accumulators == 1 &&
                          built->fp32_accumulators == 1 && built->fp16_products == 2,
                      "%s: %zu products, %zu and %zu", cases[c].file, built->products,
                      built->fp16_accumulators, built->fp32_accumulators);
        const struct ulp_engine_map_layer *first = layer_of(&subject, MATMUL);
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

TEST(weights_of_constants)
{
    struct subject subject;
    begin(&subject, "trt11_half.json");
    ck_assert_int_eq(layer_of(&subject, MATMUL)->weights, ULP_TYPE_FLOAT16);
    end(&subject);
}

/* Names alone tell no type; a ForeignNode's inside is bounded, and its rows are no products. */
TEST(what_cannot_be_read)
{
    struct subject subject;
    char *summary;
    begin(&subject, "names_only.json");
    ck_assert(subject.engine.names_only);
    ck_assert_uint_eq(subject.built.products, 2); /* by the nodes that the names name */
    ck_assert_uint_eq(subject.built.unknown_accumulators, 2);
    ck_ok(ulp_engine_map_text(&subject.built, NULL, 0, 0, false, &summary, &why));
    ck_assert_ptr_eq(strstr(summary, "Only names are told"), summary);
    free(summary);
    end(&subject);
    begin(&subject, "foreign.json");
    ck_assert_uint_eq(subject.built.kinds[ULP_BUILT_INSIDE], NODES);
    ck_assert_int_eq(subject.built.layers[0].by, ULP_MAPPED_BOUND);
    ck_assert_uint_eq(subject.built.products, 0);
    end(&subject);
}

/* ONNX Runtime's optimised model: nodes by their names and by the values they compute; Casts that
 * it inserted are copies. */
TEST(onnxruntime)
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
    proto_write(&message, test_folder("optimised.onnx"));
    proto_free(&message);
    ck_ok(ulp_engine_read(test_folder("optimised.onnx"), NULL, &subject.engine, &why));
    ck_ok(ulp_engine_map_make(&subject.engine, program, NULL, &subject.built, &why));
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

/* TensorRT-RTX: metadata is a list; a generated kernel that makes a product's input ready says its
 * node, but is no product (as 1.7.1 wrote of a first Conv and of a concatenation). */
TEST(rtx)
{
    static const char text[] =
        "{\"Layers\": ["
        "{\"Name\": \"__myl_ConcMove_myl0_0\", \"LayerType\": \"kgen\","
        " \"Metadata\": [\"ONNX Layer: /fc1/MatMul\"]}, "
        "{\"Name\": \"__myl_CastConc_myl0_1\", \"LayerType\": \"runtime_function\","
        " \"Metadata\": [\"ONNX Layer: /fc1/MatMul\"]}, "
        "{\"Name\": \"k_myl0_2\", \"LayerType\": \"gemm\","
        " \"Metadata\": [\"ONNX Layer: /fc1/MatMul\", \"ONNX Layer: /fc1/Add\"]}, "
        "{\"Name\": \"s_myl0_3\", \"LayerType\": \"kgen\","
        " \"TacticName\": \"__myl_ReshMulSum_0x1\","
        " \"Metadata\": [\"ONNX Layer: /fc.2/MatMul\"]}]}";
    struct subject subject = {0};
    write_file("rtx.json", text);
    ck_ok(ulp_engine_read(test_folder("rtx.json"), NULL, &subject.engine, &why));
    ck_ok(ulp_engine_map_make(&subject.engine, program, NULL, &subject.built, &why));
    ck_assert_int_eq(subject.built.layers[0].by, ULP_MAPPED_METADATA);
    ck_assert(!subject.built.layers[0].product && !subject.built.layers[1].product);
    ck_assert(subject.built.layers[2].product && subject.built.layers[3].product);
    ck_assert_uint_eq(subject.built.products, 2);
    ck_assert_ptr_eq(layer_of(&subject, ADD), &subject.built.layers[2]);
    ck_assert_ptr_eq(layer_of(&subject, SECOND), &subject.built.layers[3]);
    end(&subject);
}

/* Malformed files, and those that hold no engine. */
TEST(refused)
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
                 {"{\"Layers\": [\"unrelated\"]}", "names a node"},
                 {"<net/>", "holds no layer"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct subject subject = {0};
        write_file("bad.json", cases[c].content);
        enum ulp_status status =
            ulp_engine_read(test_folder("bad.json"), NULL, &subject.engine, &error);
        if (status == ULP_OK)
            status = ulp_engine_map_make(&subject.engine, program, NULL, &subject.built, &error);
        ck_assert_msg(status != ULP_OK && strstr(error.message, cases[c].message),
                      "case %zu: %d %s", c, (int)status, error.message);
        end(&subject);
    }
}

/* Names that hold what joins names; a tensor of more dimensions than any; control characters. */
TEST(odd_names)
{
    struct subject subject = {0};
    scoped_model *odd = onnx_text_load(
        17, "(float[2] x) => (float[2] z)\n<float[2] w = {1, 2}>\n{ [a.b] y = Mul(x, w)\n [c] z = "
            "Relu(y) }");
    scoped_program *odd_program = make_plan(odd);
    write_file("odd.json",
               "{\"Layers\": [{\"Name\": \"PWN(PWN(w + a.b), c)\", \"LayerType\": \"PointWiseV2\", "
               "\"Inputs\": [{\"Name\": \"x\", \"Dimensions\": "
               "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2], \"Format/Datatype\": \"N/A due to dynamic "
               "shapes\"}], \"Outputs\": [{\"Name\": \"z\", \"Dimensions\": [2], "
               "\"Format/Datatype\": \"Half\"}], \"Metadata\": \"\x1e\"}]}");
    ck_ok(ulp_engine_read(test_folder("odd.json"), NULL, &subject.engine, &why));
    ck_assert_int_eq(subject.engine.layers[0].inputs[0].rank, -1);
    ck_assert_int_eq(subject.engine.layers[0].inputs[0].type, ULP_TYPE_UNDEFINED);
    ck_ok(ulp_engine_map_make(&subject.engine, odd_program, NULL, &subject.built, &why));
    ck_assert_uint_eq(subject.built.layers[0].node_count, 2);
    ck_assert_uint_eq(subject.built.kinds[ULP_BUILT_MAPPED], 2);
    ck_assert_int_eq(subject.built.layers[0].output, ULP_TYPE_FLOAT16);
    end(&subject);
}

TEST_MAIN("engine", 60)
{
    tcase_add_checked_fixture(tests, engine_test_begin, engine_test_end);
}
