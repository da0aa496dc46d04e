/* The order in which a Conv on a matrix unit adds its products: recorded pixels of kernels of
 * cuDNN's, bit for bit. */
#include "load/load.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"

static struct ulp_tensor_set recorded;

static const struct ulp_tensor *member(const char *shape, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", shape, part);
    const struct ulp_tensor *found = ulp_tensor_set_find(&recorded, name);
    ck_assert_msg(found, "%s", name);
    return found;
}

/* Conv(x, w) -> y, without padding. */
static struct ulp_model *make_model(const struct ulp_tensor *x, const struct ulp_tensor *w)
{
    struct proto graph = {0};
    struct ulp_model *model;
    proto_text(&graph, GRAPH_NAME, "pixels");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 4, x->dims);
    proto_value(&graph, GRAPH_INPUT, "w", ULP_TYPE_FLOAT, 4, w->dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, -1, NULL);
    struct proto node = proto_node("Conv", "conv", "x w", "y");
    proto_message(&graph, GRAPH_NODE, &node);
    scoped_proto bytes = proto_model(9, 20, &graph);
    ck_ok(ulp_model_load_bytes("pixels.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}

static void add_copy(struct ulp_tensor_set *set, const char *name, const struct ulp_tensor *from)
{
    struct ulp_tensor copy;
    ck_ok(ulp_tensor_copy(&copy, from, NULL, &why));
    ck_ok(ulp_tensor_set_add(set, name, &copy, &why));
}

static void expect_recorded(const char *shape, const char *result, const char *arithmetic)
{
    const struct ulp_tensor *x = member(shape, "x"), *w = member(shape, "w"),
                            *y = member(shape, result);
    scoped_model *model = make_model(x, w);
    scoped_tensor_set inputs = {0}, outputs = {0};
    add_copy(&inputs, "x", x);
    add_copy(&inputs, "w", w);
    scoped_program *program = test_plan(model, &inputs, arithmetic);
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs, NULL, &why));
    const struct ulp_tensor *ours = &outputs.items[0].tensor;
    ck_assert_uint_eq(ours->count, y->count);
    for (size_t i = 0; i < y->count; i++)
        ck_assert_msg(ulp_tensor_get(ours, i) == ulp_tensor_get(y, i),
                      "%s.%s: element %zu is %a in %s, recorded %a", shape, result, i,
                      ulp_tensor_get(ours, i), arithmetic, ulp_tensor_get(y, i));
}

static const struct {
    const char *shape, *result, *arithmetic;
} cases[] = {
    {"256", "f16.acc16", "fp16,acc=fp16"}, /* blocks of 64 channels */
    {"256", "f16", "fp16"},
    {"256", "tf32", "tf32"}, /* blocks of 32 */
    {"96", "f16", "fp16"},
    {"96", "tf32", "tf32"},
    {"48", "f16", "fp16"},
    {"48", "tf32", "tf32"},
};

TEST_LOOP(recorded_pixels, 0, sizeof cases / sizeof *cases)
{
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_conv_channels.npz"), NULL, &recorded, &why));
    expect_recorded(cases[_i].shape, cases[_i].result, cases[_i].arithmetic);
    ulp_tensor_set_free(&recorded);
}

TEST_SUITE("conv order", 0)
