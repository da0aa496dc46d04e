#include "pictures.h"

#include "analysis/compare/cause/cause_change.h"
#include "load/load.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"

#define TRIALS 4
#define FEATURES 6

const struct definition as_meant = {1e-3F, "none", "half_pixel"};

static void add_floats(struct proto *graph, const char *name, int rank, const int64_t *dims,
                       double low, double high)
{
    struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, rank, dims);
    for (int64_t i = 0, count = dims[0] * (rank > 1 ? dims[1] : 1) * (rank > 2 ? 9 : 1); i < count;
         i++) {
        const float x =
            (float)(low +
                    (high - low) * ulp_random_uniform(ulp_hash(name, strlen(name)), (uint64_t)i));
        proto_float(&tensor, TENSOR_FLOATS, x);
    }
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void add_text(struct proto *node, const char *name, const char *value)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, 3);
    proto_text(&attribute, ATTRIBUTE_S, value);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_node(struct proto *graph, struct proto node)
{
    proto_message(graph, GRAPH_NODE, &node);
}

static void add_nodes(struct proto *graph, const struct definition *definition)
{
    struct proto conv = proto_node("Conv", "conv", "x w", "a"), pads = {0}, epsilon = {0},
                 norm = proto_node("BatchNormalization", "norm", "a scale bias mean var", "b"),
                 gelu = proto_node("Gelu", "gelu", "b", "c"),
                 resize = proto_node("Resize", "resize", "c - sizes", "d");
    proto_text(&pads, ATTRIBUTE_NAME, "pads");
    proto_int(&pads, ATTRIBUTE_TYPE, 7);
    for (int i = 0; i < 4; i++)
        proto_int(&pads, ATTRIBUTE_INTS, 1);
    proto_message(&conv, NODE_ATTRIBUTE, &pads);
    proto_text(&epsilon, ATTRIBUTE_NAME, "epsilon");
    proto_int(&epsilon, ATTRIBUTE_TYPE, 1);
    proto_float(&epsilon, ATTRIBUTE_F, definition->epsilon);
    proto_message(&norm, NODE_ATTRIBUTE, &epsilon);
    add_text(&gelu, "approximate", definition->gelu);
    add_text(&resize, "mode", "linear");
    add_text(&resize, "coordinate_transformation_mode", definition->resize);
    add_node(graph, conv);
    add_node(graph, norm);
    add_node(graph, gelu);
    add_node(graph, resize);
    add_node(graph, proto_node("GlobalAveragePool", "pool", "d", "e"));
    add_node(graph, proto_node("Flatten", "flatten", "e", "f"));
    add_node(graph, proto_node("MatMul", "classes", "f v", "y"));
    add_node(graph, proto_node("Relu", "map", "d", "z"));
}

struct ulp_model *picture_model(const struct definition *definition, struct ulp_budget *budget)
{
    struct proto graph = {0};
    const int64_t x[] = {1, CHANNELS, HEIGHT, WIDTH}, w[] = {FEATURES, CHANNELS, 3, 3},
                  features[] = {FEATURES}, v[] = {FEATURES, 5};
    static const float sizes[] = {1, 1, 2, 1.5F};
    struct proto scales = proto_tensor("sizes", ULP_TYPE_FLOAT, 1, (const int64_t[]){4});
    struct ulp_model *model = NULL;
    proto_text(&graph, GRAPH_NAME, "pictures");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 4, x);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, -1, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "z", ULP_TYPE_FLOAT, -1, NULL);
    add_floats(&graph, "w", 4, w, -0.5, 0.5);
    add_floats(&graph, "scale", 1, features, 0.5, 1.5);
    add_floats(&graph, "bias", 1, features, -0.2, 0.2);
    add_floats(&graph, "mean", 1, features, -0.2, 0.2);
    add_floats(&graph, "var", 1, features, 0.1, 1);
    add_floats(&graph, "v", 2, v, -1, 1);
    proto_numbers(&scales, TENSOR_RAW, sizes, sizeof sizes);
    proto_message(&graph, GRAPH_INITIALIZER, &scales);
    add_nodes(&graph, definition);
    scoped_proto bytes = proto_model(9, 20, &graph);
    ck_ok(ulp_model_load_bytes("pictures.onnx", bytes.data, bytes.count, budget, &model, &why));
    return model;
}

struct ulp_tensor picture_make(void)
{
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    const int64_t dims[] = {1, CHANNELS, HEIGHT, WIDTH};
    struct ulp_tensor x;
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 4, dims, &why));
    for (size_t i = 0; i < x.count; i++) {
        const size_t c = i / (HEIGHT * WIDTH);
        ((float *)x.data)[i] =
            (float)((ulp_random_uniform(3, i) * (1 - 0.2 * (double)c) - mean[c]) / deviation[c]);
    }
    return x;
}

void picture_add(struct ulp_tensor_set *set, const char *name, const struct ulp_tensor *from)
{
    struct ulp_tensor copy;
    ck_ok(ulp_tensor_copy(&copy, from, NULL, &why));
    ck_ok(ulp_tensor_set_add(set, name, &copy, &why));
}

struct ulp_tensor_set picture_inputs(void)
{
    struct ulp_tensor_set inputs = {0};
    scoped_tensor picture = picture_make();
    picture_add(&inputs, "x", &picture);
    return inputs;
}

static enum ulp_status keep(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    (void)error;
    for (size_t o = 0; o < event->output_count; o++)
        picture_add(context, event->output_names[o], event->values[o].entire);
    return ULP_OK;
}

struct ulp_recording picture_record(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, const char *arithmetic,
                                    bool all)
{
    static char name[] = "recorded";
    struct ulp_recording recording = {.name = name};
    struct ulp_tensor_set outputs;
    const struct ulp_run_options run = {.thread_count = 1};
    const struct ulp_observer observer = {.context = &recording.tensors, .node_done = keep};
    scoped_program *program = test_plan(model, inputs, arithmetic);
    ck_ok(ulp_program_run(program, inputs, &run, &observer, all, &outputs, NULL, &why));
    if (all)
        ulp_tensor_set_free(&outputs);
    else
        recording.tensors = outputs;
    return recording;
}

double picture_seconds;

enum ulp_status picture_compare(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_recording *recordings, size_t count,
                                const char *arithmetic, struct ulp_comparison *out,
                                struct ulp_error *error)
{
    struct ulp_arithmetic lane;
    struct ulp_compare_options options = {.arithmetics = &lane,
                                          .arithmetic_count = 1,
                                          .trials = TRIALS,
                                          .thread_count = 2,
                                          .seconds = picture_seconds};
    options.reference = test_arithmetic("mpfr:128");
    lane = test_arithmetic(arithmetic);
    return ulp_comparison_run(model, inputs, recordings, count, &options, out, error);
}

struct ulp_comparison picture_compare_one(const struct ulp_recording *recording,
                                          const char *arithmetic)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_comparison comparison;
    ck_ok(picture_compare(model, &inputs, recording, 1, arithmetic, &comparison, &why));
    return comparison;
}

/* ---- mistakes ---- */

static struct ulp_input_change scaled(double factor)
{
    struct ulp_input_change change = ulp_change_none();
    for (int c = 0; c < ULP_CHANNELS_MAX; c++)
        change.factor[c] = factor;
    return change;
}

static struct ulp_input_change reversed(void)
{
    struct ulp_input_change change = ulp_change_none();
    change.from[0] = 2;
    change.from[2] = 0;
    return change;
}

/* Mean and deviation left out, and values of 0 to `scale`. */
static struct ulp_input_change plain(double scale)
{
    struct ulp_input_change change = ulp_change_none();
    for (int c = 0; c < 3; c++) {
        change.factor[c] = scale * ulp_normalisations[0].deviation[c];
        change.offset[c] = scale * ulp_normalisations[0].mean[c];
    }
    return change;
}

static struct ulp_input_change placed(enum ulp_axis_order layout, int down, int right,
                                      bool mirrored)
{
    struct ulp_input_change change = ulp_change_none();
    change.layout = layout;
    change.down = down;
    change.right = right;
    change.mirrored_columns = mirrored;
    return change;
}

const char *const mistake_words[MISTAKES] = {
    "channels in reverse order (RGB and BGR swapped)",
    "255 times as large (not divided by 255)",
    "elements in the order NHWC where the model takes NCHW",
    "mean and standard deviation left out (ImageNet's)",
    ("values from 0 to 255: neither divided by 255 nor mean and standard deviation applied "
     "(ImageNet's)"),
    "shifted by one pixel (left)",
    "shifted by one pixel (up)",
    "mirrored left to right",
};

static struct ulp_input_change make_mistake(int number)
{
    switch (number) {
    case 0: return reversed();
    case 1: return scaled(255);
    case 2: return placed(ULP_LAYOUT_OTHER, 0, 0, false);
    case 3: return plain(1);
    case 4: return plain(255);
    case 5: return placed(ULP_LAYOUT_SAME, 0, 1, false);
    case 6: return placed(ULP_LAYOUT_SAME, 1, 0, false);
    default: return placed(ULP_LAYOUT_SAME, 0, 0, true);
    }
}

struct ulp_tensor_set picture_mistaken(int number)
{
    struct ulp_tensor_set inputs = {0};
    struct ulp_tensor x = picture_make(), wrong;
    const struct ulp_picture picture = ulp_picture_of(&x);
    const struct ulp_input_change change = make_mistake(number);
    ck_assert(picture.image && picture.channels == CHANNELS && !picture.channels_last);
    ck_ok(ulp_change_apply(&x, &picture, &change, &wrong, &why));
    ck_ok(ulp_tensor_set_add(&inputs, "x", &wrong, &why));
    ulp_tensor_free(&x);
    return inputs;
}
