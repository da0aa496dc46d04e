/* analysis/scales: figures worked out by hand, planted outliers, choices beside runs of their own.
 */
#include "pictures.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"

/* Row `small` of the first weights is 64 times as small. x [rows, k] times w [k, columns], and so
 * on: `layers` products with Relu between them. */
static struct ulp_model *make_model(size_t rows, size_t k, size_t layers, uint64_t seed,
                                    size_t small)
{
    struct proto graph = {0};
    const int64_t x[] = {(int64_t)rows, (int64_t)k}, w[] = {(int64_t)k, (int64_t)k};
    struct ulp_model *model;
    float *values = calloc(k * k, sizeof *values);
    ck_assert_ptr_nonnull(values);
    proto_text(&graph, GRAPH_NAME, "products");
    proto_value(&graph, GRAPH_INPUT, "x0", ULP_TYPE_FLOAT, 2, x);
    for (size_t l = 0; l < layers; l++) {
        char name[32], in[64], out[32], node[32];
        for (size_t i = 0; i < k * k; i++)
            values[i] =
                (float)((ulp_random_uniform(seed + 100 * (l + 1), i) - 0.5) / sqrt((double)k) * 4) *
                (l == 0 && i / k == small ? 1 / 64.0F : 1);
        snprintf(name, sizeof name, "w%zu", l);
        struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, 2, w);
        proto_numbers(&tensor, TENSOR_RAW, values, k * k * sizeof *values);
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
        snprintf(in, sizeof in, "x%zu w%zu", l, l);
        snprintf(out, sizeof out, "y%zu", l);
        snprintf(node, sizeof node, "product%zu", l);
        struct proto product = proto_node("MatMul", node, in, out);
        proto_message(&graph, GRAPH_NODE, &product);
        snprintf(in, sizeof in, "x%zu", l + 1);
        struct proto relu = proto_node("Relu", in, out, in);
        proto_message(&graph, GRAPH_NODE, &relu);
        if (l + 1 == layers)
            proto_value(&graph, GRAPH_OUTPUT, in, ULP_TYPE_FLOAT, 2, x);
    }
    free(values);
    scoped_proto bytes = proto_model(9, 20, &graph);
    ck_ok(ulp_model_load_bytes("products.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}

static struct ulp_tensor_set make_inputs(size_t rows, size_t k, uint64_t seed)
{
    const int64_t dims[] = {(int64_t)rows, (int64_t)k};
    struct ulp_tensor_set inputs = {0};
    scoped_tensor x = {0};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    for (size_t i = 0; i < rows * k; i++)
        ((float *)x.data)[i] = (float)ulp_random_uniform(seed, i) * 2 - 1;
    picture_add(&inputs, "x0", &x);
    return inputs;
}

static struct ulp_scales look(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                              const char *arithmetic, bool no_choices)
{
    struct ulp_scales_options options = {.no_choices = no_choices};
    struct ulp_scales scales;
    options.arithmetic = test_arithmetic(arithmetic);
    ck_ok(ulp_scales_run(model, inputs, &options, &scales, &why));
    return scales;
}

static const struct ulp_scaled_tensor *find_tensor(const struct ulp_scales *scales,
                                                   const char *name)
{
    for (size_t t = 0; t < scales->tensor_count; t++)
        if (strcmp(scales->tensors[t].name, name) == 0)
            return &scales->tensors[t];
    ck_abort_msg("no %s", name);
    return NULL;
}

/* One row of two blocks of MXFP4: 7.75, which the scale of 1 clips at 6 (beyond 7), 0.125, which
 * becomes 0, 2.25 that becomes 2, and zeros; then 4 and 1, which are elements. */
TEST(figures_by_hand)
{
    scoped_model *model = make_model(1, 64, 1, 1, SIZE_MAX);
    scoped_tensor_set inputs = make_inputs(1, 64, 1);
    float *x = inputs.items[0].tensor.data;
    memset(x, 0, 64 * sizeof *x);
    x[3] = 7.75F;
    x[4] = 0.125F;
    x[5] = -2.25F;
    x[40] = 4;
    x[41] = -1;
    scoped_scales scales = look(model, &inputs, "fp32,factor=mxfp4", true);
    const struct ulp_scaled_tensor *t = find_tensor(&scales, "x0");
    const double clip = 1.75 * 1.75, zero = 0.125 * 0.125, step = 0.25 * 0.25,
                 error = clip + zero + step, signal = 7.75 * 7.75 + zero + 2.25 * 2.25 + 16 + 1;
    /* with the scale 7.75 / 6: 0.125 is 0.097 and becomes 0, 2.25 is 1.742 and becomes 1.5 */
    const double fine = 2.25 - 1.5 * (7.75 / 6), exact = zero + fine * fine +
                                                         /* and 4 / 6: 4 is 6, 1 is 1.5 */ 0;
    ck_assert_uint_eq(t->elements, 64);
    ck_assert_uint_eq(t->blocks, 2);
    ck_assert_uint_eq(t->clipped, 1);
    ck_assert_uint_eq(t->zeros, 1);
    ck_assert_uint_eq(t->nonfinite, 0);
    ck_assert(!t->weight && strcmp(t->format, "mxfp4") == 0 && strcmp(t->node, "product0") == 0);
    /* sums of a few products in double */
    ck_assert_double_eq_tol(t->sqnr_db, 10 * log10(signal / error), 1e-9);
    ck_assert_double_eq_tol(t->clipping, clip / error, 1e-9);
    ck_assert_double_eq_tol(t->scaling, fmin(fmax((error - exact - clip) / error, 0), 1), 1e-9);
    ck_assert_double_eq_tol(t->clipping + t->scaling + t->rounding, 1, 1e-9);
    ck_assert_double_eq_tol(t->format_bits, log2(6 / 0.5), 1e-9);
}

static void add_block_size(struct proto *node, int64_t size)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, "block_size");
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_int(&attribute, ATTRIBUTE_I, size);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

/* A QuantizeLinear to INT8 with scales of 0.5 and 2 for blocks of two along the last axis: 70 is
 * clipped at 63.5 and 0.2 becomes 0; 100 is a step, and 3, halfway, becomes 4. */
TEST(quantised_by_hand)
{
    struct proto graph = {0};
    const int64_t dims[] = {1, 4}, two[] = {1, 2};
    static const float scales[] = {0.5F, 2}, values[] = {70, 0.2F, 100, 3};
    static const int8_t zeros[2];
    scoped_model *model = NULL;
    scoped_tensor_set inputs = make_inputs(1, 4, 1);
    memcpy(inputs.items[0].tensor.data, values, sizeof values);
    proto_text(&graph, GRAPH_NAME, "quantised");
    proto_value(&graph, GRAPH_INPUT, "x0", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    struct proto scale = proto_tensor("s", ULP_TYPE_FLOAT, 2, two),
                 zero = proto_tensor("z", ULP_TYPE_INT8, 2, two),
                 q = proto_node("QuantizeLinear", "q", "x0 s z", "c"),
                 d = proto_node("DequantizeLinear", "d", "c s z", "y");
    proto_numbers(&scale, TENSOR_RAW, scales, sizeof scales);
    proto_bytes(&zero, TENSOR_RAW, zeros, sizeof zeros);
    proto_message(&graph, GRAPH_INITIALIZER, &scale);
    proto_message(&graph, GRAPH_INITIALIZER, &zero);
    add_block_size(&q, 2);
    add_block_size(&d, 2);
    proto_message(&graph, GRAPH_NODE, &q);
    proto_message(&graph, GRAPH_NODE, &d);
    struct proto bytes = proto_model(10, 21, &graph);
    ck_ok(ulp_model_load_bytes("q.onnx", bytes.data, bytes.count, NULL, &model, &why));
    proto_free(&bytes);
    scoped_scales found = look(model, &inputs, "fp32", true);
    const struct ulp_scaled_tensor *t = find_tensor(&found, "x0");
    const double small = (double)0.2F, clip = 6.5 * 6.5, sum = clip + small * small + 1,
                 signal = 70 * 70 + small * small + 100 * 100 + 9;
    ck_assert_uint_eq(t->elements, 4);
    ck_assert_uint_eq(t->blocks, 2);
    ck_assert_uint_eq(t->clipped, 1);
    ck_assert_uint_eq(t->zeros, 1);
    ck_assert_str_eq(t->format, "INT8");
    ck_assert_double_eq_tol(t->sqnr_db, 10 * log10(signal / sum), 1e-9); /* sums in double */
    ck_assert_double_eq_tol(t->clipping, clip / sum, 1e-9);
    ck_assert_uint_eq(found.choice_count, 0);
    char *text; /* the graph is the truth, and quantises: its outputs are exact */
    ck_ok(ulp_scales_text(&found, 100, false, &text, &why));
    ck_assert_ptr_eq(strstr(text, "fp32: outputs are exact\n  why   the worst is 'x0' of q "),
                     text);
    free(text);
}

/* A channel of an input 64 times as large, whose weights are so much smaller, spoils its blocks; a
 * token the tensor's scale. In ten networks it is named, and what it costs the others. */
TEST_LOOP(outliers_are_named, 0, 10)
{
    static const char *const names[] = {"bf16,factor=nvfp4", "bf16,factor=mxfp4",
                                        "bf16,factor=fp8-tensor"};
    const uint64_t seed = (uint64_t)_i + 1;
    const size_t rows = 24, k = 64 + 16 * (size_t)(_i % 3), which = (size_t)(_i * 7) % rows;
    const bool token = _i % 3 == 2;
    scoped_model *model = make_model(rows, k, 1 + (size_t)_i % 3, seed, token ? SIZE_MAX : which);
    scoped_tensor_set inputs = make_inputs(rows, k, seed);
    float *x = inputs.items[0].tensor.data;
    for (size_t i = 0; i < (token ? k : rows); i++)
        x[token ? which * k + i : i * k + which] *= token ? 0x1p20F : 64;
    scoped_scales scales = look(model, &inputs, names[_i % 3], true);
    const struct ulp_scaled_tensor *t = find_tensor(&scales, "x0");
    SCOPED_MEMORY char *text = NULL;
    ck_assert_uint_eq(t->outlier, which);
    ck_assert(t->outlier_is_line == token);
    ck_assert_msg(t->outlier_gain_db > 3, "%g", t->outlier_gain_db);
    ck_ok(ulp_scales_text(&scales, 1000, false, &text, &why));
    ck_assert_msg(token || (t == &scales.tensors[0] && strstr(text, "to blame")), "%s", text);
}

static double measure_run(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                          const char *name, const char *output)
{
    struct ulp_recording truth = picture_record(model, inputs, "fp64", false),
                         own = picture_record(model, inputs, name, false);
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    struct ulp_metrics metrics;
    ck_ok(ulp_metrics_measure(ulp_tensor_set_find(&own.tensors, output),
                              ulp_tensor_set_find(&truth.tensors, output), &arithmetic.storage,
                              &metrics, &why));
    ulp_tensor_set_free(&truth.tensors);
    ulp_tensor_set_free(&own.tensors);
    return metrics.sqnr_db;
}

/* Each choice's figure is that of a run of its own. */
TEST(choices_are_runs)
{
    scoped_model *model = make_model(8, 64, 2, 5, SIZE_MAX);
    scoped_tensor_set inputs = make_inputs(8, 64, 5);
    scoped_scales scales = look(model, &inputs, "bf16,factor=nvfp4", false);
    ck_assert(scales.sqnr_db == measure_run(model, &inputs, "bf16,factor=nvfp4", "x2"));
    ck_assert_uint_gt(scales.choice_count, 6);
    for (size_t c = 0; c < scales.choice_count; c++) {
        const struct ulp_scales_choice *choice = &scales.choices[c];
        ck_assert(c == 0 || choice->sqnr_db <= choice[-1].sqnr_db);
        ck_assert(choice->gain_db == choice->sqnr_db - scales.sqnr_db);
        ck_assert_msg(choice->sqnr_db == measure_run(model, &inputs, choice->arithmetic, "x2"),
                      "%s", choice->words);
    }
}

/* Beside 1, blocks of 1e-7 have the scale 1e-7 / 6 / (1 / (6 * 448)) = 4.5e-5, which is zero in
 * E4M3: what they hold becomes zero, and nothing is clipped. 255 of 256 are 99.6 %. */
TEST(scales_become_zero)
{
    scoped_model *model = make_model(1, 256, 1, 7, SIZE_MAX);
    scoped_tensor_set inputs = make_inputs(1, 256, 7);
    float *x = inputs.items[0].tensor.data;
    for (size_t i = 0; i < 256; i++)
        x[i] = i ? 1e-7F : 1;
    scoped_scales scales = look(model, &inputs, "fp32,factor=nvfp4", true);
    const struct ulp_scaled_tensor *t = find_tensor(&scales, "x0");
    ck_assert_uint_eq(t->zeros, 255);
    ck_assert_uint_eq(t->clipped, 0);
    ck_assert_double_eq(t->clipping, 0);
    SCOPED_MEMORY char *text = NULL;
    ck_ok(ulp_scales_text(&scales, 0, false, &text, &why));
    ck_assert_ptr_nonnull(strstr(text, "    99.6 % "));
}

/* NaN poisons its block, and is counted; without scales there is nothing to look at. */
TEST(refusals)
{
    scoped_model *model = make_model(2, 64, 1, 5, SIZE_MAX);
    scoped_tensor_set inputs = make_inputs(2, 64, 5);
    struct ulp_scales_options options = {.no_choices = true};
    struct ulp_scales scales;
    struct ulp_error error;
    ((float *)inputs.items[0].tensor.data)[3] = NAN;
    options.arithmetic = test_arithmetic("bf16,factor=nvfp4");
    ck_assert_int_eq(ulp_scales_run(model, &inputs, &options, &scales, &error), ULP_ERROR_LIMIT);
    options.allow_nonfinite_inputs = true;
    ck_ok(ulp_scales_run(model, &inputs, &options, &scales, &why));
    ck_assert_uint_eq(find_tensor(&scales, "x0")->nonfinite, 16);
    ck_assert_uint_eq(find_tensor(&scales, "w0")->nonfinite, 0);
    ulp_scales_free(&scales);
    options.arithmetic = test_arithmetic("bf16");
    ck_fails(ULP_ERROR_USAGE, "factor=", ulp_scales_run(model, &inputs, &options, &scales, &why));
}

TEST_SUITE("scales", 60)
