/* run: the two views of an explicit Q/DQ graph. qdq=integer against sums in plain C integers with
 * the scales' three roundings, for every operator, bias and ending that is fused; what must not be
 * fused; and the measured data's INT8 networks, where the recording was made by integer kernels. */
#include "tests/support/test.h"

#include "load/load.h"
#include "tests/support/proto.h"
#include "analysis/audit/auditor.h"

/* OTHER: INT32 with a scale that is not x_scale * w_scale */
enum bias { NO_BIAS, INTEGER_BIAS, FLOAT_BIAS, OTHER_BIAS };
enum { INPUT = 64, CHANNELS = 2, OUTPUTS = 3, SIDE = 8, KERNEL = 3, STRIDE = 2 };

static const struct spec {
    const char *op;
    bool transposed, per_channel, relu, signed_input;
    enum bias bias;
} specs[] = {
    {"MatMul", false, false, false, true, NO_BIAS},
    {"MatMul", false, true, true, false, NO_BIAS},
    {"Gemm", false, false, false, false, INTEGER_BIAS},
    {"Gemm", true, true, true, true, INTEGER_BIAS},
    {"Gemm", true, true, false, false, FLOAT_BIAS},
    {"Gemm", true, false, true, true, OTHER_BIAS},
    {"Conv", false, true, false, true, INTEGER_BIAS},
    {"Conv", false, true, true, false, FLOAT_BIAS},
    {"Conv", false, false, true, true, NO_BIAS},
    {"Conv", false, true, false, false, OTHER_BIAS},
};
enum { SPEC_COUNT = sizeof specs / sizeof *specs };

/* Everything a model of one spec holds. Conv: [1, CHANNELS, SIDE, SIDE] by [OUTPUTS, CHANNELS,
 * KERNEL, KERNEL], stride 2, pad 1; the others: [4, INPUT] by [INPUT, OUTPUTS], or [OUTPUTS, INPUT]
 * when transposed. */
struct sample {
    float x[CHANNELS * SIDE * SIDE > 4 * INPUT ? CHANNELS *SIDE *SIDE : 4 * INPUT];
    int8_t w[OUTPUTS * INPUT];
    float x_scale, y_scale, w_scale[OUTPUTS], bias_scale[OUTPUTS], float_bias[OUTPUTS];
    int x_zero, y_zero;
    int32_t bias[OUTPUTS];
    size_t x_count, w_count;
};

static unsigned step(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void make_sample(struct sample *s, const struct spec *spec, unsigned seed)
{
    const bool conv = strcmp(spec->op, "Conv") == 0, tied = seed % 2;
    s->x_count = conv ? CHANNELS * SIDE * SIDE : 4 * INPUT;
    s->w_count = conv ? OUTPUTS * CHANNELS * KERNEL * KERNEL : OUTPUTS * INPUT;
    s->x_scale = 0.0213f + 0.0001f * (float)(seed % 64);
    s->y_scale = 0.31f;
    s->x_zero = spec->signed_input ? -7 : 113;
    s->y_zero = 3;
    for (size_t i = 0; i < s->x_count; i++)
        s->x[i] = (float)((int)(step(&seed) % 256) - 128) * s->x_scale;
    for (size_t i = 0; i < s->w_count; i++)
        s->w[i] = (int8_t)(step(&seed) % 256 - 128);
    for (int o = 0; o < OUTPUTS; o++) {
        s->w_scale[o] = 0.0071f * (spec->per_channel ? (float)(o + 1) : 1);
        s->bias[o] = (int32_t)(step(&seed) % 4001) - 2000;
        s->bias_scale[o] =
            spec->bias == OTHER_BIAS ? 0.001f * (float)(o + 1) : s->x_scale * s->w_scale[o];
        s->float_bias[o] = (float)s->bias[o] * 0.00137f;
    }
    /* x_scale * w_scale / y_scale is 2^-10: one sum in 1024 is a tie, which any other order of the
     * scales breaks */
    if (tied)
        s->y_scale = s->x_scale * s->w_scale[0] * 1024;
}

static int clamp(double value, bool is_signed)
{
    const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    return (int)(value < low ? low : value > high ? high : value);
}

/* Which product element of x and w belong to output i, as indices; -1: padding. */
static void find_factors(const struct spec *spec, size_t i, size_t k, int *x, int *w, int *channel)
{
    if (strcmp(spec->op, "Conv") != 0) {
        *channel = (int)(i % OUTPUTS);
        *x = (int)(i / OUTPUTS * INPUT + k);
        *w =
            (int)(spec->transposed ? (size_t)*channel * INPUT + k : k * OUTPUTS + (size_t)*channel);
        return;
    }
    enum { OUT = SIDE / STRIDE };
    const int row = (int)(i / OUT % OUT) * STRIDE + (int)(k / KERNEL % KERNEL) - 1,
              column = (int)(i % OUT) * STRIDE + (int)(k % KERNEL) - 1;
    const int in = (int)(k / (KERNEL * KERNEL));
    *channel = (int)(i / (OUT * OUT));
    *w = *channel * CHANNELS * KERNEL * KERNEL + (int)k;
    *x = row < 0 || row >= SIDE || column < 0 || column >= SIDE ? -1
                                                                : (in * SIDE + row) * SIDE + column;
}

/* The product's float and the quantised result of output i, in integers and FP32 as ops/integer.c
 * promises. */
static void expect(const struct sample *s, const struct spec *spec, size_t i, float *product,
                   int *quantised)
{
    const size_t length = strcmp(spec->op, "Conv") == 0 ? CHANNELS * KERNEL * KERNEL : INPUT;
    int64_t sum = 0;
    int channel = 0;
    for (size_t k = 0; k < length; k++) {
        int x, w;
        find_factors(spec, i, k, &x, &w, &channel);
        if (x >= 0)
            sum +=
                (int64_t)(clamp(nearbyintf(s->x[x] / s->x_scale) + s->x_zero, spec->signed_input) -
                          s->x_zero) *
                s->w[w];
    }
    float bias = -0.0f;
    if (spec->bias == INTEGER_BIAS)
        sum += s->bias[channel];
    if (spec->bias == FLOAT_BIAS)
        bias = s->float_bias[channel];
    if (spec->bias == OTHER_BIAS)
        bias = (float)s->bias[channel] * s->bias_scale[channel];
    const volatile float scale = s->x_scale * s->w_scale[channel], factor = scale / s->y_scale,
                         shift = bias / s->y_scale;
    const volatile float scaled = (float)sum * scale, requantised = (float)sum * factor;
    *product = scaled + bias;
    double q = nearbyintf(requantised + shift) + (float)s->y_zero;
    *quantised = clamp(spec->relu && q < s->y_zero ? s->y_zero : q, true);
}

static void add_constant(struct proto *graph, const char *name, enum ulp_type type, int rank,
                         const int64_t *dims, const void *data, size_t bytes)
{
    struct proto tensor = proto_tensor(name, (int)type, rank, dims);
    proto_elements(&tensor, TENSOR_RAW, data, bytes, (size_t)ulp_type_rows[type].file_bits / 8);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void add_ints(struct proto *node, const char *name, size_t count, const int64_t *values)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < count; i++)
        proto_int(&attribute, count == 1 ? ATTRIBUTE_I : ATTRIBUTE_INTS, values[i]);
    proto_int(&attribute, ATTRIBUTE_TYPE, count == 1 ? 2 : 7);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_node(struct proto *graph, struct proto node)
{
    proto_message(graph, GRAPH_NODE, &node);
}

/* x -> Q -> DQ -> op(DQ(w), bias) [-> Relu] -> Q; outputs: the product p and the quantised q.
 * plain: no Q/DQ around x, so nothing fuses. */
static struct ulp_model *make_model(const struct sample *s, const struct spec *spec, bool plain)
{
    const bool conv = strcmp(spec->op, "Conv") == 0, gemm = strcmp(spec->op, "Gemm") == 0;
    const int64_t outputs = OUTPUTS, axis = conv || spec->transposed ? 0 : 1, one[] = {1};
    const int64_t x_dims[] = {1, CHANNELS, SIDE, SIDE}, flat[] = {4, INPUT},
                  w_conv[] = {OUTPUTS, CHANNELS, KERNEL, KERNEL};
    const int64_t w_flat[] = {spec->transposed ? OUTPUTS : INPUT,
                              spec->transposed ? INPUT : OUTPUTS};
    const uint8_t x_zero = (uint8_t)s->x_zero, y_zero = (uint8_t)s->y_zero;
    struct proto graph = {0};
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, conv ? 4 : 2, conv ? x_dims : flat);
    add_constant(&graph, "xs", ULP_TYPE_FLOAT, 0, NULL, &s->x_scale, 4);
    add_constant(&graph, "xz", spec->signed_input ? ULP_TYPE_INT8 : ULP_TYPE_UINT8, 0, NULL,
                 &x_zero, 1);
    add_constant(&graph, "ys", ULP_TYPE_FLOAT, 0, NULL, &s->y_scale, 4);
    add_constant(&graph, "yz", ULP_TYPE_INT8, 0, NULL, &y_zero, 1);
    add_constant(&graph, "w", ULP_TYPE_INT8, conv ? 4 : 2, conv ? w_conv : w_flat, s->w,
                 s->w_count);
    add_constant(&graph, "ws", ULP_TYPE_FLOAT, 1, spec->per_channel ? &outputs : one, s->w_scale,
                 spec->per_channel ? 4 * OUTPUTS : 4);
    add_constant(&graph, "b", ULP_TYPE_INT32, 1, &outputs, s->bias, sizeof s->bias);
    add_constant(&graph, "bs", ULP_TYPE_FLOAT, 1, &outputs, s->bias_scale, sizeof s->bias_scale);
    add_constant(&graph, "bf", ULP_TYPE_FLOAT, 1, &outputs, s->float_bias, sizeof s->float_bias);
    proto_value(&graph, GRAPH_OUTPUT, "p", ULP_TYPE_FLOAT, conv ? 4 : 2,
                (const int64_t[]){-1, -1, -1, -1});
    proto_value(&graph, GRAPH_OUTPUT, "q", ULP_TYPE_INT8, conv ? 4 : 2,
                (const int64_t[]){-1, -1, -1, -1});
    struct proto weights = proto_node("DequantizeLinear", "dw", "w ws", "wf"),
                 bias = proto_node("DequantizeLinear", "db", "b bs", "bd");
    struct proto product = proto_node(spec->op, "product",
                                      spec->bias == NO_BIAS      ? plain ? "x wf" : "xf wf"
                                      : spec->bias == FLOAT_BIAS ? plain ? "x wf bf" : "xf wf bf"
                                      : plain                    ? "x wf bd"
                                                                 : "xf wf bd",
                                      "p");
    add_ints(&weights, "axis", 1, &axis);
    add_ints(&bias, "axis", 1, (const int64_t[]){0});
    if (conv) {
        add_ints(&product, "pads", 4, (const int64_t[]){1, 1, 1, 1});
        add_ints(&product, "strides", 2, (const int64_t[]){STRIDE, STRIDE});
    } else if (gemm && spec->transposed) {
        add_ints(&product, "transB", 1, one);
    }
    if (!plain) {
        add_node(&graph, proto_node("QuantizeLinear", "qx", "x xs xz", "xq"));
        add_node(&graph, proto_node("DequantizeLinear", "dx", "xq xs xz", "xf"));
    }
    add_node(&graph, weights);
    add_node(&graph, bias);
    add_node(&graph, product);
    if (spec->relu)
        add_node(&graph, proto_node("Relu", "relu", "p", "r"));
    add_node(&graph, proto_node("QuantizeLinear", "qy", spec->relu ? "r ys yz" : "p ys yz", "q"));
    scoped_proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("qdq.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}

static void run_model(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                      const char *const *names, size_t count, struct ulp_tensor_set *outputs,
                      const struct ulp_observer *observer, bool audit)
{
    struct ulp_arithmetic lanes[4];
    const struct ulp_run_options run = {.thread_count = 2, .audit = audit};
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(names[l]);
    scoped_program *program = test_plan_lanes(model, inputs, lanes, count);
    ck_ok(ulp_program_run(program, inputs, &run, observer, observer ? 1 : 0, outputs, NULL, &why));
}

static void set_input(struct ulp_tensor_set *inputs, const struct sample *s,
                      const struct spec *spec)
{
    scoped_tensor x = {0};
    const bool conv = strcmp(spec->op, "Conv") == 0;
    const int64_t dims[] = {1, CHANNELS, SIDE, SIDE}, flat[] = {4, INPUT};
    *inputs = (struct ulp_tensor_set){0};
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, conv ? 4 : 2,
                            conv ? dims : flat, &why));
    memcpy(x.data, s->x, s->x_count * sizeof *s->x);
    ck_ok(ulp_tensor_set_add(inputs, "x", &x, &why));
}

/* 160 samples of each spec: 1,920 and more results, all equal; floats differ from integers
 * somewhere, or the test could not see. */
TEST_LOOP(integer_view_is_the_integers_own, 0, SPEC_COUNT)
{
    const struct spec *spec = &specs[_i];
    static const char *const names[] = {"fp32", "fp32,qdq=integer"};
    size_t parted = 0;
    for (unsigned seed = 1; seed <= 160; seed++) {
        struct sample s = {0};
        struct ulp_tensor_set inputs, outputs[2];
        make_sample(&s, spec, seed);
        scoped_model *model = make_model(&s, spec, false);
        set_input(&inputs, &s, spec);
        run_model(model, &inputs, names, 2, outputs, NULL, false);
        const struct ulp_tensor *p = &outputs[1].items[0].tensor, *q = &outputs[1].items[1].tensor;
        ck_assert_uint_eq(p->count, strcmp(spec->op, "Conv") == 0 ? OUTPUTS * 16 : OUTPUTS * 4);
        for (size_t i = 0; i < p->count; i++) {
            float product;
            int quantised;
            expect(&s, spec, i, &product, &quantised);
            ck_expect((float)ulp_tensor_get(p, i) == product, "seed %u p[%zu]: %.9g, expected %.9g",
                      seed, i, ulp_tensor_get(p, i), (double)product);
            ck_expect((int)ulp_tensor_get(q, i) == quantised, "seed %u q[%zu]: %g, expected %d",
                      seed, i, ulp_tensor_get(q, i), quantised);
            parted += ulp_tensor_get(&outputs[0].items[0].tensor, i) != ulp_tensor_get(p, i);
        }
        for (int l = 0; l < 2; l++)
            ulp_tensor_set_free(&outputs[l]);
        ulp_tensor_set_free(&inputs);
    }
    ck_assert_uint_gt(parted, 0);
}

/* Without Q/DQ on a factor both views are the same bits, node by node. */
static enum ulp_status expect_equal_lanes(void *context, const struct ulp_event *event,
                                          struct ulp_error *error)
{
    (void)context;
    (void)error;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *a = event->values[event->output_count + o].entire,
                                *b = event->values[2 * event->output_count + o].entire;
        ck_assert_msg(test_same_bits(a, b), "%s differs", event->name);
    }
    return ULP_OK;
}

TEST_LOOP(nothing_to_fuse_changes_nothing, 0, SPEC_COUNT)
{
    static const char *const names[] = {"mpfr:128", "fp32", "fp32,qdq=integer"};
    struct sample s = {0};
    scoped_tensor_set inputs = {0};
    const struct ulp_observer observer = {.node_done = expect_equal_lanes};
    make_sample(&s, &specs[_i], 1);
    scoped_model *model = make_model(&s, &specs[_i], true);
    set_input(&inputs, &s, &specs[_i]);
    run_model(model, &inputs, names, 3, NULL, &observer, true);
}

/* The audit says what was stored, what computed, and where the views part: at the product, unless
 * nothing was fused. */
TEST_LOOP(the_audit_shows_types_and_divergence, 0, SPEC_COUNT)
{
    for (int plain = 0; plain < 2; plain++) {
        struct sample s = {0};
        scoped_tensor_set inputs = {0};
        make_sample(&s, &specs[_i], 1);
        scoped_model *model = make_model(&s, &specs[_i], plain);
        set_input(&inputs, &s, &specs[_i]);
        scoped_program *program = test_plan(model, &inputs, "mpfr:128", "fp32", "fp32,qdq=integer");
        scoped_audit audit = test_audit(program, &inputs, NULL);
        size_t product = 0;
        while (strcmp(audit.lanes[0].nodes[product].name, "product") != 0)
            product++;
        for (int l = 0; l < 2; l++) {
            const struct ulp_node_types *types = &audit.lanes[l].nodes[product].types;
            ck_assert(types->product && types->weight == ULP_TYPE_INT8);
            ck_assert(types->integer == (l == 1 && !plain));
            ck_assert_str_eq(types->compute, l == 1 && !plain ? "int8" : "fp32");
        }
        ck_assert_int_eq(audit.lanes[0].qdq_divergence.other, -1);
        ck_assert_int_eq(audit.lanes[1].qdq_divergence.other, 0);
        ck_assert_int_eq(audit.lanes[1].qdq_divergence.first, plain ? -1 : (ptrdiff_t)product);
    }
}

/* Wrong steps of each QuantizeLinear beside the reference's, which are those of exact sums. */
struct steps {
    size_t wrong[2];
};
static enum ulp_status count_steps(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    struct steps *steps = context;
    (void)error;
    if (strcmp(event->op, "QuantizeLinear") != 0)
        return ULP_OK;
    for (size_t l = 1; l < event->lane_count; l++)
        for (size_t i = 0; i < event->values[0].entire->count; i++)
            steps->wrong[l - 1] += ulp_tensor_get(event->values[0].entire, i) !=
                                   ulp_tensor_get(event->values[l].entire, i);
    return ULP_OK;
}

/* MobileNetV2 recorded by integer kernels. In integers, all 62 products and sums up to the average
 * pool are the exact ones; in floats the first wrong step comes early and half the outputs differ.
 * The pool, in FP32 in either view, leaves few. */
TEST(mobilenet_agrees_with_its_recording)
{
    static const char *const names[] = {"mpfr:128", "fp32", "fp32,qdq=integer"};
    const char *path = test_long() ? test_shared("models/mobilenetv2_qdq_int8/model.onnx") : NULL;
    scoped_model *model = NULL;
    struct ulp_tensor_set inputs, want, outputs[3];
    struct steps steps = {{0}};
    if (!path)
        return;
    const char *folder = test_shared("models/mobilenetv2_qdq_int8/test_data_set_0");
    ck_ok(ulp_model_load(path, NULL, &model, &why));
    ck_ok(ulp_test_data_set_read(folder, "input", model, NULL, &inputs, &why));
    ck_ok(ulp_test_data_set_read(folder, "output", model, NULL, &want, &why));
    run_model(model, &inputs, names, 3, outputs,
              &(struct ulp_observer){.context = &steps, .node_done = count_steps}, false);
    size_t wrong[3] = {0};
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < want.items[0].tensor.count; i++)
            wrong[l] += fabs(ulp_tensor_get(&outputs[l].items[0].tensor, i) -
                             ulp_tensor_get(&want.items[0].tensor, i)) > 1e-3;
    ck_assert_uint_eq(wrong[0], 0);
    ck_assert_uint_gt(wrong[1], 400);
    ck_assert_uint_le(wrong[2], 43);
    ck_assert_uint_gt(steps.wrong[0], 1000);
    /* of the pool, of its reshaped copy, and of the last Gemm */
    ck_assert_uint_le(steps.wrong[1], 7 + 7 + 43);
    for (int l = 0; l < 3; l++)
        ulp_tensor_set_free(&outputs[l]);
    ulp_tensor_set_free(&want);
    ulp_tensor_set_free(&inputs);
}

/* The other INT8 networks run in both views; those of operators that are integers already (QLinear,
 * ConvInteger) are the same. */
TEST_LOOP(networks_run_in_both_views, 0, 4)
{
    static const char *const folders[] = {"micro_kws_qdq", "micro_kws_qoperator", "mnist_quantized",
                                          "layout_qdq_u8_ln"};
    static const char *const names[] = {"mpfr:128", "fp32", "fp32,qdq=integer"};
    char relative[128];
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    snprintf(relative, sizeof relative, "models/%s/model.onnx", folders[_i]);
    const char *path = test_shared(relative);
    if (!path)
        return;
    ck_ok(ulp_model_load(path, NULL, &model, &why));
    snprintf(relative, sizeof relative, "models/%s/inputs.npz", folders[_i]);
    ck_ok(ulp_tensor_set_read(test_shared(relative), NULL, &inputs, &why));
    const struct ulp_observer equal = {.node_done = expect_equal_lanes};
    const bool integers = _i == 1 || _i == 2;
    run_model(model, &inputs, names, 3, NULL, integers ? &equal : NULL, true);
}

TEST_SUITE("qdq", test_long() ? 600 : 60)
