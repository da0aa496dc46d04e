/* Where inputs come from: test_data_set folders, and random numbers. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine/file.h"
#include "data/data.h"
#include "load/load.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static struct ulp_model *load_two_inputs(void)
{
    static const int64_t dims[2] = {-1, 3}, scalar[1] = {2};
    struct proto graph = {0}, node = proto_node("Identity", "", "x", "y");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT16, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "ids", ULP_TYPE_INT8, 1, scalar);
    proto_value(&graph, GRAPH_INPUT, "mask", ULP_TYPE_BOOL, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "scale", ULP_TYPE_FLOAT8E8M0, 1, scalar);
    proto_value(&graph, GRAPH_INPUT, "four", ULP_TYPE_FLOAT4E2M1, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "big", ULP_TYPE_UINT64, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "d", ULP_TYPE_DOUBLE, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT16, 2, dims);
    proto_message(&graph, GRAPH_NODE, &node);
    scoped_proto message = proto_model(10, 23, &graph);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    return model;
}

static void write_tensor(const char *path, const char *name, int type, const void *raw,
                         size_t bytes)
{
    static const int64_t one[1] = {1};
    scoped_proto tensor = proto_tensor(name, type, 1, one);
    proto_bytes(&tensor, TENSOR_RAW, raw, bytes);
    ck_ok(ulp_file_write(path, tensor.data, tensor.count, &why));
}

TEST(test_data_sets)
{
    scoped_model *model = load_two_inputs();
    struct ulp_tensor_set set;
    ck_assert_int_eq(mkdir(test_folder("test_data_set_0"), 0700), 0);
    const char *path = test_folder("test_data_set_0");
    ck_fails(ULP_ERROR_INPUT, "no file input_0.pb", ulp_tensor_set_read(path, NULL, &set, &why));
    write_tensor(test_folder("test_data_set_0/input_0.pb"), "", ULP_TYPE_FLOAT16, "\0\x3c", 2);
    write_tensor(test_folder("test_data_set_0/input_1.pb"), "mask", ULP_TYPE_BOOL, "\1", 1);
    write_tensor(test_folder("test_data_set_0/input_2.pb"), "other", ULP_TYPE_INT8, "\x80", 1);
    write_tensor(test_folder("test_data_set_0/output_0.pb"), "", ULP_TYPE_FLOAT16, "\0\x40", 2);
    ck_ok(ulp_tensor_set_read(path, NULL, &set, &why));
    ck_assert(set.count == 3 && ulp_tensor_set_find(&set, "input_0") &&
              ulp_tensor_set_find(&set, "other"));
    ulp_tensor_set_free(&set);
    /* Input 2 of the model is mask, which input_1.pb is already: a file for it twice must be
     * seen. */
    ck_fails(ULP_ERROR_INPUT, "input_2.pb: a second tensor for 'mask'",
             ulp_test_data_set_read(path, "input", model, NULL, &set, &why));
    write_tensor(test_folder("test_data_set_0/input_2.pb"), "ids", ULP_TYPE_INT8, "\x80", 1);
    ck_ok(ulp_test_data_set_read(path, "input", model, NULL, &set, &why));
    ck_assert_double_eq(ulp_tensor_get(ulp_tensor_set_find(&set, "x"), 0), 1);
    ck_assert_int_eq(ulp_tensor_get_int(ulp_tensor_set_find(&set, "ids"), 0), -128);
    ulp_tensor_set_free(&set);
    ck_ok(ulp_test_data_set_read(path, "output", model, NULL, &set, &why));
    ck_assert_double_eq(ulp_tensor_get(ulp_tensor_set_find(&set, "y"), 0), 2);
    ulp_tensor_set_free(&set);
    write_tensor(test_folder("test_data_set_0/output_1.pb"), "", ULP_TYPE_FLOAT16, "\0\x40", 2);
    ck_fails(ULP_ERROR_INPUT, "the model has only 1 outputs",
             ulp_test_data_set_read(path, "output", model, NULL, &set, &why));
    write_tensor(test_folder("test_data_set_0/input_0.pb"), "", ULP_TYPE_FLOAT16, "\0", 1);
    ck_fails(ULP_ERROR_INPUT, "input_0.pb: has 1 bytes in raw_data",
             ulp_tensor_set_read(path, NULL, &set, &why));
}

static struct ulp_tensor_set random_set(const struct ulp_model *model, double low, double high,
                                        uint64_t seed)
{
    static const struct ulp_dim_value dims[1] = {{"N", 500}};
    struct ulp_tensor_set set;
    const struct ulp_input_range range = {NULL, low, high};
    const struct ulp_random_options options = {
        .seed = seed, .dims = dims, .dim_count = 1, .ranges = &range, .range_count = 1};
    ck_ok(ulp_model_random_inputs(model, &options, &set, &why));
    ck_assert_uint_eq(set.count, 7);
    return set;
}

/* Golden values: the same on every machine. Philox is tested against its paper in check_base. */
TEST(random_inputs_are_reproducible)
{
    scoped_model *model = load_two_inputs();
    scoped_tensor_set a = random_set(model, -3, 5, 7);
    scoped_tensor_set b = random_set(model, -3, 5, 7);
    scoped_tensor_set c = random_set(model, -3, 5, 8);
    for (size_t i = 0; i < a.count; i++) {
        const struct ulp_tensor *x = &a.items[i].tensor, *y = &b.items[i].tensor,
                                *z = &c.items[i].tensor;
        ck_assert_mem_eq(x->data, y->data, x->count * x->element_bytes);
        if (x->count > 2)
            ck_assert_mem_ne(x->data, z->data, x->count * x->element_bytes);
    }
    const double *d = ulp_tensor_set_find(&a, "d")->data;
    uint64_t key = ulp_random_bits(7, 6);
    for (uint64_t i = 0; i < 1500; i++) {
        double u = ldexp((double)(ulp_random_bits(key, i) >> 11), -53);
        ck_assert(d[i] == (1 - u) * -3 + u * 5);
    }
}

static void count_range(const struct ulp_tensor *tensor, double *low, double *high, double *mean)
{
    *low = INFINITY;
    *high = -INFINITY;
    *mean = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        double x = ulp_tensor_get(tensor, i);
        ck_assert(isfinite(x));
        *low = fmin(*low, x);
        *high = fmax(*high, x);
        *mean += x / (double)tensor->count;
    }
}

TEST(random_inputs_fill_their_range)
{
    scoped_model *model = load_two_inputs();
    struct ulp_tensor_set set = random_set(model, -3, 5.5, 1);
    double low, high, mean;
    struct ulp_format half;
    ck_assert_int_eq(ulp_format_find("fp16", &half, NULL), ULP_OK);
    const struct ulp_tensor *x = ulp_tensor_set_find(&set, "x");
    ck_assert(x->rank == 2 && x->dims[0] == 500 && x->dims[1] == 3);
    count_range(x, &low, &high, &mean);
    /* 1500 uniform numbers of a width of 8.5: the mean has a standard deviation of 8.5 / sqrt(12 *
     * 1500) = 0.063. */
    ck_assert(low >= -3 && low < -2.9 && high <= 5.5 && high > 5.4 &&
              fabs(mean - 1.25) < 5 * 0.063);
    for (size_t i = 0; i < x->count; i++)
        ck_assert(ulp_format_round(&half, ULP_ROUND_NEAREST_EVEN, ulp_tensor_get(x, i), 0, 0) ==
                  ulp_tensor_get(x, i));
    count_range(ulp_tensor_set_find(&set, "big"), &low, &high, &mean);
    ck_assert(low == 0 && high == 5 && fabs(mean - 2.5) < 5 * 1.708 / sqrt(1500));
    count_range(ulp_tensor_set_find(&set, "mask"), &low, &high, &mean);
    ck_assert(low == 0 && high == 1 && fabs(mean - 0.5) < 5 * 0.5 / sqrt(1500));
    count_range(ulp_tensor_set_find(&set, "four"), &low, &high, &mean);
    ck_assert(low == -3 && high == 6);
    ulp_tensor_set_free(&set);
    set = random_set(model, -1e300, 1e300, 1); /* beyond every type: clamped, never infinite */
    for (size_t i = 0; i < set.count; i++)
        count_range(&set.items[i].tensor, &low, &high, &mean);
    count_range(ulp_tensor_set_find(&set, "x"), &low, &high, &mean);
    ck_assert(low >= -65504 && low < -60000 && high > 60000);
    ulp_tensor_set_free(&set);
}

static enum ulp_status make(const struct ulp_model *model, const struct ulp_dim_value *dims,
                            size_t dim_count, double low, double high, struct ulp_tensor_set *set,
                            struct ulp_error *error)
{
    const struct ulp_input_range range = {NULL, low, high};
    const struct ulp_random_options options = {
        .seed = 1, .dims = dims, .dim_count = dim_count, .ranges = &range, .range_count = 1};
    return ulp_model_random_inputs(model, &options, set, error);
}

TEST(random_inputs_refuse)
{
    scoped_model *model = load_two_inputs();
    struct ulp_tensor_set set;
    struct ulp_error error;
    const struct ulp_dim_value wrong[1] = {{"M", 2}}, negative[1] = {{"N", -2}};
    ck_fails(ULP_ERROR_USAGE, "no input has an open dimension 'M'; there are: N",
             make(model, wrong, 1, 0, 1, &set, &why));
    ck_assert_int_eq(make(model, negative, 1, 0, 1, &set, &error), ULP_ERROR_USAGE);
    ck_assert_int_eq(make(model, NULL, 0, 1, 0, &set, &error), ULP_ERROR_USAGE);
    ck_assert_int_eq(make(model, NULL, 0, 0, INFINITY, &set, &error), ULP_ERROR_USAGE);
    ck_assert_int_eq(make(model, NULL, 0, NAN, 1, &set, &error), ULP_ERROR_USAGE);
    ck_fails(ULP_ERROR_USAGE, "input 'ids': no integer of type INT8 lies in [0.25, 0.75]",
             make(model, NULL, 0, 0.25, 0.75, &set, &why));
    ck_assert_int_eq(make(model, NULL, 0, 200, 300, &set, &error), ULP_ERROR_USAGE);
    ck_assert(set.count == 0 && set.items == NULL);
}

/* ids -> Unsqueeze -> Gather of 11 rows, also Gather of 7 by a negative axis; classes -> OneHot of
 * 5; mask -> Cast -> Mul with free; bins -> Equal 0..8. */
TEST(integers_take_the_range_of_their_readers)
{
    static const int64_t two[1] = {2}, table[2] = {11, 3}, turned[2] = {3, 7}, nine[2] = {1, 9};
    static const struct {
        const char *name;
        double high;
        const char *why;
    } rows[] = {{"ids", 6, "Gather turned picks one of 7"},
                {"classes", 4, "OneHot hot picks one of 5"},
                {"mask", 1, "Mul masked reads a mask"},
                {"bins", 8, "Equal compared picks one of 9"},
                {"free", 1, "Mul masked reads a mask"},
                {"x", 1, ""}};
    struct proto graph = {0}, tensor, attribute = {0},
                 by_axis = proto_node("Gather", "turned", "other ids", "b");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        proto_value(&graph, GRAPH_INPUT, rows[i].name, i < 5 ? ULP_TYPE_INT64 : ULP_TYPE_FLOAT, 1,
                    two);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, -1, NULL);
    const int64_t numbers[] = {5, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    const struct {
        const char *name;
        int type, rank;
        const int64_t *dims;
        size_t count, from;
    } constants[] = {{"table", ULP_TYPE_FLOAT, 2, table, 33, 0},
                     {"other", ULP_TYPE_FLOAT, 2, turned, 21, 0},
                     {"depth", ULP_TYPE_INT64, 0, NULL, 1, 0},
                     {"axes", ULP_TYPE_INT64, 1, (const int64_t[]){1}, 1, 1},
                     {"values", ULP_TYPE_INT64, 1, two, 2, 1},
                     {"iota", ULP_TYPE_INT64, 2, nine, 9, 1}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        static const float zeros[33];
        tensor = proto_tensor(constants[i].name, constants[i].type, constants[i].rank,
                              constants[i].dims);
        if (constants[i].type == ULP_TYPE_FLOAT)
            proto_bytes(&tensor, TENSOR_RAW, zeros, constants[i].count * sizeof *zeros);
        else
            proto_numbers(&tensor, TENSOR_RAW, numbers + constants[i].from,
                          constants[i].count * sizeof *numbers);
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    }
    struct proto nodes[] = {proto_node("Unsqueeze", "", "ids axes", "ids2"),
                            proto_node("Gather", "emb", "table ids2", "a"),
                            proto_node("OneHot", "hot", "classes depth values", "c"),
                            proto_node("Unsqueeze", "", "bins axes", "bins2"),
                            proto_node("Equal", "compared", "bins2 iota", "e"),
                            proto_node("Cast", "", "mask", "f"),
                            proto_node("Mul", "masked", "f free", "y")};
    proto_text(&attribute, ATTRIBUTE_NAME, "axis");
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_int(&attribute, ATTRIBUTE_I, -1);
    proto_message(&by_axis, NODE_ATTRIBUTE, &attribute);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        proto_message(&graph, GRAPH_NODE, &nodes[i]);
    proto_message(&graph, GRAPH_NODE, &by_axis);
    scoped_proto message = proto_model(8, 13, &graph);
    scoped_model *model = NULL;
    struct ulp_random_options options = {0};
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ulp_chosen_range range = ulp_model_input_range(model, i, &options);
        ck_assert_msg(range.low == 0 && range.high == rows[i].high &&
                          strcmp(range.why, rows[i].why) == 0,
                      "%s: [%g, %g] %s", rows[i].name, range.low, range.high, range.why);
    }
    const struct ulp_input_range ranges[] = {{"ids", 2, 3}, {NULL, -4, 4}};
    options.ranges = ranges;
    options.range_count = 2;
    ck_assert(ulp_model_input_range(model, 0, &options).low == 2);
    ck_assert(ulp_model_input_range(model, 1, &options).low == -4);
    struct ulp_tensor_set set;
    const struct ulp_input_range unknown = {"idz", 2, 3};
    options.ranges = &unknown;
    options.range_count = 1;
    ck_fails(ULP_ERROR_USAGE, "there are: ids, classes",
             ulp_model_random_inputs(model, &options, &set, &why));
}

/* A length in samples counts frames of 100 of them, and sizes are tried until there is one: of less
 * an output is empty, of a length below its samples' all of it is masked. */
TEST(lengths_count_frames_of_which_there_is_one)
{
    scoped_model *model = onnx_text_load(
        18, "(float[1, N] x, int64[1] lengths) => (float[M] y)"
            "<int64[1] one = {1}, int64 zero = {0}, int64 step = {1}, int64 hop = {100},"
            " int64[2] rows = {-1, 100}, int64[1] from = {0}, float none = {0}> {"
            "  size = Shape<start = 1, end = 2>(x)  count = Div(size, hop)  end = Mul(count, hop)"
            "  whole = Slice(x, from, end, one)  frames = Reshape(whole, rows)"
            "  means = ReduceMean<keepdims = 0>(frames, one)"
            "  number = Squeeze(count)  places = Range(zero, number, step)"
            "  known = Div(lengths, hop)  mask = Less(places, known)"
            "  y = Where(mask, means, none) }");
    scoped_tensor_set set = {0};
    ck_ok(ulp_model_random_inputs(model, NULL, &set, &why));
    const struct ulp_tensor *x = ulp_tensor_set_find(&set, "x");
    ck_assert_int_eq(x->dims[1], 256);
    ck_assert_double_eq(ulp_tensor_get(ulp_tensor_set_find(&set, "lengths"), 0), 256);
}

/* An output that is 0 at every size is no reason for having no inputs, however large the first are. */
TEST(outputs_of_zeros_have_inputs)
{
    scoped_model *model = onnx_text_load(
        18, "(float[1, N, 4000] x) => (float[1, N, 4000] y) { z = Sub(x, x)  y = Mul(x, z) }");
    scoped_tensor_set set = {0};
    ck_ok(ulp_model_random_inputs(model, NULL, &set, &why));
    ck_assert_uint_eq(set.count, 1);
    ck_assert_int_eq(set.items[0].tensor.dims[1], 64);
}

/* What a model lacks besides inputs that no number is drawn for is said with them, to who asks. */
TEST(what_is_lacking_is_told_or_not)
{
    struct proto graph = {0}, node = proto_node("Nothing", "", "s", "y");
    struct ulp_tensor_set set;
    scoped_model *model = NULL;
    proto_value(&graph, GRAPH_INPUT, "s", ULP_TYPE_STRING, 1, (const int64_t[]){2});
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, -1, NULL);
    proto_message(&graph, GRAPH_NODE, &node);
    scoped_proto message = proto_model(8, 13, &graph);
    ck_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, NULL, &model, &why));
    ck_fails(ULP_ERROR_UNSUPPORTED, "Nothing", ulp_model_random_inputs(model, NULL, &set, &why));
    ck_assert_int_eq(ulp_model_random_inputs(model, NULL, &set, NULL), ULP_ERROR_UNSUPPORTED);
}

/* A shape other than the declared one, of the same rank; arrays are then held against it. */
TEST(shapes_are_set)
{
    scoped_model *model = load_two_inputs();
    scoped_tensor_set set = {0};
    struct ulp_error error;
    const int64_t one[1] = {4}, negative[1] = {-1};
    ck_ok(ulp_model_set_shape(model, "ids", 1, one, &why));
    ck_ok(ulp_model_random_inputs(model, NULL, &set, &why));
    ck_assert_uint_eq(ulp_tensor_set_find(&set, "ids")->count, 4);
    ck_ok(ulp_model_check_inputs(model, &set, &why));
    ck_assert_int_eq(ulp_model_set_shape(model, "ids", 0, one, &error), ULP_ERROR_USAGE);
    ck_assert_int_eq(ulp_model_set_shape(model, "ids", 1, negative, &error), ULP_ERROR_USAGE);
    ck_assert_int_eq(ulp_model_set_shape(model, "id", 1, one, &error), ULP_ERROR_USAGE);
    ck_ok(ulp_model_set_shape(model, "ids", 1, (const int64_t[]){5}, &why));
    ck_assert_int_eq(ulp_model_check_inputs(model, &set, &error), ULP_ERROR_INPUT);
}

/* numpy has no integers of 4 bits: an array of bytes gives them, as `run -o` writes them. */
TEST(bytes_are_integers_of_four_bits)
{
    scoped_model *model = onnx_text_load(21, "(int4[3] x) => (float[3] y) { y = Cast<to=1>(x) }");
    const struct ulp_arithmetic lane = test_arithmetic("fp32");
    scoped_tensor_set set = {0}, out = {0};
    scoped_program *program = NULL;
    struct ulp_error error;
    ck_ok(ulp_model_random_inputs(model, NULL, &set, &why));
    set.items[0].tensor.type = ULP_TYPE_INT8;
    for (size_t i = 0; i < 3; i++)
        ulp_tensor_set_int(&set.items[0].tensor, i, (int64_t)i * 7 - 8);
    ck_ok(ulp_program_create(model, &lane, 1, &(struct ulp_program_options){.inputs = &set},
                             &program, &why));
    ck_ok(ulp_program_run(program, &set, NULL, NULL, 0, &out, NULL, &why));
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq(ulp_tensor_get(&out.items[0].tensor, i), (double)i * 7 - 8);
    ulp_tensor_set_int(&set.items[0].tensor, 1, 8);
    ck_assert_int_eq(ulp_model_check_inputs(model, &set, &error), ULP_ERROR_INPUT);
    ck_assert_str_eq(error.message, "input 'x': the model declares INT4, from -8 to 7, and element "
                                    "1 of the array is 8");
    set.items[0].tensor.type = ULP_TYPE_UINT8;
    set.items[0].tensor.element = ULP_ELEMENT_U8;
    ck_fails(ULP_ERROR_INPUT, "convert it first", ulp_model_check_inputs(model, &set, &why));
}

TEST(real_data_reads)
{
    static const char *const names[] = {"mnist_8", "mnist_fp16", "silero_vad_16k",
                                        "deimv2_atto_coco", "super_resolution_10"};
    for (size_t i = 0; test_shared("") && i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        scoped_model *model = NULL;
        scoped_tensor_set from_npz = {0}, from_folder = {0}, outputs = {0};
        snprintf(path, sizeof path, "models/%s/model.onnx", names[i]);
        ck_ok(ulp_model_load(test_shared(path), NULL, &model, &why));
        snprintf(path, sizeof path, "models/%s/inputs.npz", names[i]);
        ck_ok(ulp_tensor_set_read(test_shared(path), NULL, &from_npz, &why));
        snprintf(path, sizeof path, "models/%s/test_data_set_0", names[i]);
        ck_ok(ulp_test_data_set_read(test_shared(path), "input", model, NULL, &from_folder, &why));
        ck_ok(ulp_test_data_set_read(test_shared(path), "output", model, NULL, &outputs, &why));
        ck_assert_uint_eq(from_npz.count, ulp_model_input_count(model));
        ck_assert_uint_eq(outputs.count, ulp_model_output_count(model));
        for (size_t t = 0; t < from_npz.count; t++) {
            const struct ulp_tensor *a = &from_npz.items[t].tensor;
            const struct ulp_tensor *b = ulp_tensor_set_find(&from_folder, from_npz.items[t].name);
            ck_assert_msg(b && a->type == b->type && a->rank == b->rank, "%s",
                          from_npz.items[t].name);
        }
    }
}

TEST_MAIN("inputs", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
