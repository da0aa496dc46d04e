/* TensorProto: every element type in every field it may lie in, and what is refused. */
#include "load_test.h"

#include "number/round/round.h"
#include "tensor/stored.h"

static const int64_t no_dims[1] = {0};

static struct ulp_tensor parse(struct proto *tensor)
{
    struct ulp_tensor out;
    SCOPED_MEMORY char *name = NULL;
    ck_ok(ulp_tensor_parse(&out, &name, tensor->data, tensor->count, NULL, &why));
    ck_assert_str_eq(name, "t");
    proto_free(tensor);
    return out;
}

static struct ulp_tensor parse_raw(int type, int64_t count, const void *raw, size_t bytes)
{
    struct proto tensor = proto_tensor("t", type, 1, &count);
    proto_bytes(&tensor, TENSOR_RAW, raw, bytes);
    return parse(&tensor);
}

static struct ulp_tensor parse_typed(int type, int64_t count, int field, const int64_t *numbers,
                                     size_t number_count, bool packed)
{
    struct proto tensor = proto_tensor("t", type, 1, &count), list = {0};
    for (size_t i = 0; i < number_count; i++)
        if (packed)
            proto_varint(&list, (uint64_t)numbers[i]);
        else
            proto_int(&tensor, field, numbers[i]);
    if (packed)
        proto_bytes(&tensor, field, list.data, list.count);
    proto_free(&list);
    return parse(&tensor);
}

static void check_floats(const struct ulp_tensor *a, const float *expected, size_t count)
{
    ck_assert_uint_eq(a->count, count);
    ck_assert_int_eq(a->element, ULP_ELEMENT_F32);
    for (size_t i = 0; i < count; i++) {
        float x = ((const float *)a->data)[i];
        ck_assert_msg(isnan(expected[i]) ? isnan(x) : memcmp(&x, &expected[i], sizeof x) == 0,
                      "%s code %zu: %a, expected %a", ulp_type_name(a->type), i, (double)x,
                      (double)expected[i]);
    }
}

/* Every code of every float type of 8 and 16 bits, from raw_data and from int32_data, against
 * number/'s decoder. */
static void check_every_code(int type, const char *format_name)
{
    const struct ulp_format format = test_format(format_name);
    int bytes = format.storage_bits / 8;
    size_t count = (size_t)1 << format.storage_bits;
    SCOPED_MEMORY float *expected = malloc(count * sizeof *expected);
    SCOPED_MEMORY unsigned char *raw = malloc(count * (size_t)bytes);
    SCOPED_MEMORY int64_t *numbers = malloc(count * sizeof *numbers);
    ck_assert(expected && raw && numbers);
    for (size_t i = 0; i < count; i++) {
        expected[i] = (float)ulp_format_decode(&format, (uint32_t)i);
        numbers[i] = (int64_t)i;
        for (int b = 0; b < bytes; b++)
            raw[i * (size_t)bytes + (size_t)b] = (unsigned char)(i >> (8 * b));
    }
    struct ulp_tensor one = parse_raw(type, (int64_t)count - 1, raw, (count - 1) * (size_t)bytes);
    check_floats(&one, expected, count - 1);
    ulp_tensor_free(&one);
    scoped_tensor from_raw = parse_raw(type, (int64_t)count, raw, count * (size_t)bytes);
    scoped_tensor from_typed =
        parse_typed(type, (int64_t)count, TENSOR_INT32S, numbers, count, true);
    check_floats(&from_raw, expected, count);
    check_floats(&from_typed, expected, count);
}

TEST(every_code_of_small_floats)
{
    check_every_code(ULP_TYPE_FLOAT16, "fp16");
    check_every_code(ULP_TYPE_BFLOAT16, "bf16");
    check_every_code(ULP_TYPE_FLOAT8E4M3FN, "fp8-e4m3");
    check_every_code(ULP_TYPE_FLOAT8E5M2, "fp8-e5m2");
    check_every_code(ULP_TYPE_FLOAT8E4M3FNUZ, "fp8-e4m3fnuz");
    check_every_code(ULP_TYPE_FLOAT8E5M2FNUZ, "fp8-e5m2fnuz");
    check_every_code(ULP_TYPE_FLOAT8E8M0, "fp8-e8m0");
}

/* Values written out from the formats' definitions, so that this does not rest on another decoder
 * of ours. */
TEST(known_values_of_small_floats)
{
    static const struct {
        enum ulp_type type;
        uint32_t bits;
        float value;
    } rows[] = {
        {ULP_TYPE_FLOAT16, 0x0001, 0x1p-24f},      {ULP_TYPE_FLOAT16, 0x3c00, 1},
        {ULP_TYPE_FLOAT16, 0xfbff, -65504},        {ULP_TYPE_FLOAT16, 0x7c00, INFINITY},
        {ULP_TYPE_BFLOAT16, 0x0001, 0x1p-133f},    {ULP_TYPE_BFLOAT16, 0x4049, 3.140625f},
        {ULP_TYPE_FLOAT8E4M3FN, 0x7e, 448},        {ULP_TYPE_FLOAT8E4M3FN, 0x01, 0x1p-9f},
        {ULP_TYPE_FLOAT8E4M3FN, 0x7f, NAN},        {ULP_TYPE_FLOAT8E4M3FNUZ, 0x7f, 240},
        {ULP_TYPE_FLOAT8E4M3FNUZ, 0x01, 0x1p-10f}, {ULP_TYPE_FLOAT8E4M3FNUZ, 0x80, NAN},
        {ULP_TYPE_FLOAT8E5M2, 0x7b, 57344},        {ULP_TYPE_FLOAT8E5M2, 0x01, 0x1p-16f},
        {ULP_TYPE_FLOAT8E5M2, 0xfc, -INFINITY},    {ULP_TYPE_FLOAT8E5M2FNUZ, 0x7f, 57344},
        {ULP_TYPE_FLOAT8E5M2FNUZ, 0x01, 0x1p-17f}, {ULP_TYPE_FLOAT8E5M2FNUZ, 0x80, NAN},
        {ULP_TYPE_FLOAT8E8M0, 0, 0x1p-127f},       {ULP_TYPE_FLOAT8E8M0, 127, 1},
        {ULP_TYPE_FLOAT8E8M0, 254, 0x1p127f},      {ULP_TYPE_FLOAT8E8M0, 255, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float value = ulp_float_decode(rows[i].type, rows[i].bits);
        ck_assert_msg(isnan(rows[i].value) ? isnan(value) : value == rows[i].value, "%s 0x%x: %a",
                      ulp_type_name(rows[i].type), rows[i].bits, (double)value);
    }
    static const float e2m1[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                   -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    static const unsigned char raw[8] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
    scoped_tensor tensor = parse_raw(ULP_TYPE_FLOAT4E2M1, 16, raw, sizeof raw);
    check_floats(&tensor, e2m1, 16);
}

static void check_ints(struct ulp_tensor *tensor, const int64_t *expected, size_t count,
                       const char *what)
{
    ck_assert_uint_eq(tensor->count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(ulp_tensor_get_int(tensor, i) == expected[i],
                      "%s of %s, element %zu: %lld, expected %lld", what,
                      ulp_type_name(tensor->type), i, (long long)ulp_tensor_get_int(tensor, i),
                      (long long)expected[i]);
    ulp_tensor_free(tensor);
}

/* Integers of whole bytes: the ends of their range and numbers whose bytes differ. */
static const struct {
    int type, bytes, field;
    int64_t values[4];
} integers[] = {
    {ULP_TYPE_INT8, 1, TENSOR_INT32S, {-128, -1, 18, 127}},
    {ULP_TYPE_UINT8, 1, TENSOR_INT32S, {0, 18, 254, 255}},
    {ULP_TYPE_INT16, 2, TENSOR_INT32S, {-32768, -2, 0x1234, 32767}},
    {ULP_TYPE_UINT16, 2, TENSOR_INT32S, {0, 0x1234, 65534, 65535}},
    {ULP_TYPE_INT32, 4, TENSOR_INT32S, {INT32_MIN, -3, 0x12345678, INT32_MAX}},
    {ULP_TYPE_UINT32, 4, TENSOR_UINT64S, {0, 0x12345678, 0xfffffffe, 0xffffffff}},
    {ULP_TYPE_INT64, 8, TENSOR_INT64S, {INT64_MIN, -4, 0x123456789abcdef, INT64_MAX}},
    {ULP_TYPE_UINT64, 8, TENSOR_UINT64S, {0, 1, 0x123456789abcdef, -1}},
    {ULP_TYPE_BOOL, 1, TENSOR_INT32S, {0, 1, 1, 0}},
};

TEST_LOOP(integers_from_every_field, 0, sizeof integers / sizeof integers[0])
{
    unsigned char raw[32];
    const int64_t *values = integers[_i].values;
    size_t bytes = (size_t)integers[_i].bytes;
    for (size_t i = 0; i < 4 * bytes; i++)
        raw[i] = (unsigned char)((uint64_t)values[i / bytes] >> (i % bytes * 8));
    struct ulp_tensor tensor = parse_raw(integers[_i].type, 4, raw, 4 * bytes);
    check_ints(&tensor, values, 4, "raw_data");
    tensor = parse_typed(integers[_i].type, 4, integers[_i].field, values, 4, true);
    check_ints(&tensor, values, 4, "packed field");
    tensor = parse_typed(integers[_i].type, 4, integers[_i].field, values, 4, false);
    check_ints(&tensor, values, 4, "unpacked field");
}

TEST(packed_integers_low_end_first)
{
    static const unsigned char four[3] = {0x7f, 0x81, 0xf5}, two[2] = {0xe4, 0xfd};
    static const int64_t four_words[3] = {0x7f, 0x81, 0xf5}, two_words[2] = {0xe4, 0xfd};
    static const int64_t unsigned_four[5] = {15, 7, 1, 8, 5}, signed_four[5] = {-1, 7, 1, -8, 5};
    static const int64_t unsigned_two[5] = {0, 1, 2, 3, 1}, signed_two[5] = {0, 1, -2, -1, 1};
    struct ulp_tensor tensor = parse_raw(ULP_TYPE_UINT4, 5, four, 3);
    check_ints(&tensor, unsigned_four, 5, "raw_data");
    tensor = parse_raw(ULP_TYPE_INT4, 5, four, 3);
    check_ints(&tensor, signed_four, 5, "raw_data");
    tensor = parse_typed(ULP_TYPE_INT4, 5, TENSOR_INT32S, four_words, 3, true);
    check_ints(&tensor, signed_four, 5, "int32_data");
    tensor = parse_raw(ULP_TYPE_UINT2, 5, two, 2);
    check_ints(&tensor, unsigned_two, 5, "raw_data");
    tensor = parse_raw(ULP_TYPE_INT2, 5, two, 2);
    check_ints(&tensor, signed_two, 5, "raw_data");
    tensor = parse_typed(ULP_TYPE_UINT2, 5, TENSOR_INT32S, two_words, 2, true);
    check_ints(&tensor, unsigned_two, 5, "int32_data");
}

TEST(floats_doubles_and_shapes)
{
    static const float values[6] = {1.5f, -0.0f, 3e38f, 1e-45f, INFINITY, NAN};
    static const double wide[2] = {0.1, -5e-324};
    static const int64_t dims[3] = {1, 2, 3}, none[2] = {3, 0}, two = 2;
    struct proto message = proto_tensor("t", ULP_TYPE_FLOAT, 3, dims);
    proto_numbers(&message, TENSOR_FLOATS, values, sizeof values);
    struct ulp_tensor tensor = parse(&message);
    check_floats(&tensor, values, 6);
    ck_assert_int_eq(tensor.rank, 3);
    ck_assert_mem_eq(tensor.dims, dims, sizeof dims);
    ulp_tensor_free(&tensor);
    message = proto_tensor("t", ULP_TYPE_DOUBLE, 1, &two);
    proto_numbers(&message, TENSOR_DOUBLES, wide, sizeof wide);
    tensor = parse(&message);
    ck_assert_mem_eq(tensor.data, wide, sizeof wide);
    ulp_tensor_free(&tensor);
    message = proto_tensor("t", ULP_TYPE_FLOAT, 2, none);
    tensor = parse(&message);
    ck_assert(tensor.data && tensor.count == 0 && tensor.rank == 2);
    ulp_tensor_free(&tensor);
    message = proto_tensor("t", ULP_TYPE_FLOAT, 0, no_dims);
    proto_numbers(&message, TENSOR_RAW, values, 4);
    tensor = parse(&message);
    ck_assert(tensor.count == 1 && tensor.rank == 0 && *(float *)tensor.data == 1.5f);
    ulp_tensor_free(&tensor);
    static const unsigned char truths[3] = {0, 2, 255};
    static const int64_t normal[3] = {0, 1, 1};
    tensor = parse_raw(ULP_TYPE_BOOL, 3, truths, 3);
    check_ints(&tensor, normal, 3, "raw_data");
}

struct bad_tensor {
    int type, rank;
    int64_t dims[2];
    int field; /* where `bytes` bytes of zeros lie; 0: nowhere */
    size_t bytes;
    int second_field; /* also 8 zero bytes here */
    enum ulp_status status;
    const char *text;
};
#define HUGE_DIM ((int64_t)1 << 62)
/* clang-format off */
static const struct bad_tensor bad_tensors[] = {
    {ULP_TYPE_FLOAT, 1, {3}, TENSOR_RAW, 11, 0, ULP_ERROR_INPUT,
     "has 11 bytes in raw_data, expected 12 for FLOAT[3]"},
    {ULP_TYPE_FLOAT, 1, {3}, TENSOR_RAW, 13, 0, ULP_ERROR_INPUT, "expected 12"},
    {ULP_TYPE_FLOAT, 1, {3}, TENSOR_FLOATS, 16, 0, ULP_ERROR_INPUT,
     "has 4 elements in float_data, expected 3"},
    {ULP_TYPE_FLOAT, 1, {3}, 0, 0, 0, ULP_ERROR_INPUT, "has 0 elements in float_data, expected 3"},
    {ULP_TYPE_INT4, 1, {5}, TENSOR_RAW, 2, 0, ULP_ERROR_INPUT,
     "has 2 bytes in raw_data, expected 3"},
    {ULP_TYPE_FLOAT, 1, {2}, TENSOR_RAW, 8, TENSOR_FLOATS, ULP_ERROR_INPUT,
     "both in raw_data and in float_data"},
    {ULP_TYPE_FLOAT,
     1,
     {2},
     TENSOR_DOUBLES,
     16,
     TENSOR_FLOATS,
     ULP_ERROR_INPUT,
     "both in float_data and in double_data"},
    {ULP_TYPE_FLOAT,
     1,
     {2},
     TENSOR_DOUBLES,
     16,
     0,
     ULP_ERROR_INPUT,
     "has its data in double_data, expected in float_data"},
    {ULP_TYPE_FLOAT, 1, {-1}, 0, 0, 0, ULP_ERROR_INPUT, "dimension 0 is -1"},
    {ULP_TYPE_FLOAT, 2, {HUGE_DIM, HUGE_DIM}, TENSOR_RAW, 4, 0, ULP_ERROR_INPUT,
     "more than memory can address"},
    {ULP_TYPE_UINT8, 2, {1 << 30, 1 << 30}, TENSOR_RAW, 4, 0, ULP_ERROR_INPUT,
     "more than memory can address"},
    {ULP_TYPE_FLOAT, 2, {1 << 20, 1 << 20}, TENSOR_FLOATS, 4, 0, ULP_ERROR_INPUT,
     "expected 1099511627776"},
    {ULP_TYPE_INT4, 2, {1 << 30, 1 << 30}, TENSOR_INT32S, 1, 0, ULP_ERROR_INPUT,
     "more than memory can address"},
    {0, 1, {1}, TENSOR_RAW, 4, 0, ULP_ERROR_INPUT, "has no element type"},
    {99, 1, {1}, TENSOR_RAW, 4, 0, ULP_ERROR_UNSUPPORTED, "element type 99"},
    {-1, 1, {1}, TENSOR_RAW, 4, 0, ULP_ERROR_UNSUPPORTED, "element type -1"},
    {ULP_TYPE_STRING, 1, {2}, TENSOR_RAW, 8, 0, ULP_ERROR_INPUT, "expected string_data"},
    {ULP_TYPE_COMPLEX64, 1, {2}, TENSOR_RAW, 8, 0, ULP_ERROR_INPUT, "expected 16"},
    {ULP_TYPE_FLOAT, 1, {1}, TENSOR_RAW, 4, TENSOR_SEGMENT, ULP_ERROR_UNSUPPORTED, "segments"},
};
/* clang-format on */

TEST_LOOP(bad_tensors_are_named, 0, sizeof bad_tensors / sizeof bad_tensors[0])
{
    static const unsigned char zeros[16];
    const struct bad_tensor *bad = &bad_tensors[_i];
    struct proto tensor = proto_tensor("t", bad->type, bad->rank, bad->dims);
    if (bad->field)
        proto_bytes(&tensor, bad->field, zeros, bad->bytes);
    if (bad->second_field)
        proto_bytes(&tensor, bad->second_field, zeros, bad->second_field == TENSOR_SEGMENT ? 0 : 8);
    struct proto model = model_with_tensor(&tensor);
    expect_failure(&model, bad->status, bad->text);
}

TEST(numbers_beyond_their_type)
{
    static const struct {
        int type, field;
        int64_t value;
        const char *text;
    } rows[] = {
        {ULP_TYPE_INT8, TENSOR_INT32S, 256, "256 as number 0 of int32_data, beyond 8 bits"},
        {ULP_TYPE_UINT8, TENSOR_INT32S, -129, "-129 as number 0"},
        {ULP_TYPE_FLOAT16, TENSOR_INT32S, 65536, "beyond 16 bits"},
        {ULP_TYPE_UINT32, TENSOR_UINT64S, (int64_t)1 << 32, "beyond 32 bits"},
    };
    static const int64_t one = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct proto tensor = proto_tensor("t", rows[i].type, 1, &one);
        proto_int(&tensor, rows[i].field, rows[i].value);
        struct proto model = model_with_tensor(&tensor);
        expect_failure(&model, ULP_ERROR_INPUT, rows[i].text);
    }
    struct proto tensor = {0};
    for (int d = 0; d <= ULP_RANK_MAX; d++)
        proto_int(&tensor, TENSOR_DIMS, 1);
    proto_int(&tensor, TENSOR_TYPE, ULP_TYPE_UINT8);
    proto_text(&tensor, TENSOR_NAME, "t");
    struct proto model = model_with_tensor(&tensor);
    expect_failure(&model, ULP_ERROR_UNSUPPORTED, "rank 17");
}

TEST(strings_and_complex_are_described_only)
{
    static const int64_t two = 2;
    static const float pairs[4];
    scoped_proto tensor = proto_tensor("t", ULP_TYPE_STRING, 1, &two);
    proto_text(&tensor, TENSOR_STRINGS, "a");
    proto_bytes(&tensor, TENSOR_STRINGS, "\0b", 2);
    struct proto message = model_with_tensor(&tensor);
    struct ulp_model *model = load_proto(&message);
    ck_assert_int_eq(model->tensors[0]->type, ULP_TYPE_STRING);
    ck_assert_ptr_null(model->tensors[0]->data);
    ck_assert_uint_eq(model->tensors[0]->count, 2);
    ulp_model_free(model);
    tensor = proto_tensor("t", ULP_TYPE_COMPLEX64, 1, &two);
    proto_numbers(&tensor, TENSOR_FLOATS, pairs, sizeof pairs);
    message = model_with_tensor(&tensor);
    model = load_proto(&message);
    ck_assert_ptr_null(model->tensors[0]->data);
    ulp_model_free(model);
    struct ulp_tensor out;
    struct ulp_error error;
    char *name;
    tensor = proto_tensor("t", ULP_TYPE_STRING, 1, &two);
    proto_text(&tensor, TENSOR_STRINGS, "a");
    proto_text(&tensor, TENSOR_STRINGS, "b");
    ck_assert_int_eq(ulp_tensor_parse(&out, &name, tensor.data, tensor.count, NULL, &error),
                     ULP_ERROR_UNSUPPORTED);
}

/* indices: count of them, of width coordinates (0: linear). */
static struct proto sparse_model(const int64_t *dims, int rank, const int64_t *indices,
                                 int64_t count, int64_t width)
{
    static const float values[3] = {1, 2, 3};
    const int64_t index_dims[2] = {count, width};
    struct proto graph = identity_graph(), sparse = {0};
    struct proto value = proto_tensor("t", ULP_TYPE_FLOAT, 1, &count);
    proto_numbers(&value, TENSOR_RAW, values, (size_t)count * sizeof *values);
    struct proto index = proto_tensor("", ULP_TYPE_INT64, width ? 2 : 1, index_dims);
    proto_numbers(&index, TENSOR_RAW, indices,
                  (size_t)(count * (width ? width : 1)) * sizeof *indices);
    proto_message(&sparse, SPARSE_VALUES, &value);
    proto_message(&sparse, SPARSE_INDICES, &index);
    for (int d = 0; d < rank; d++)
        proto_int(&sparse, SPARSE_DIMS, dims[d]);
    proto_message(&graph, GRAPH_SPARSE, &sparse);
    return proto_model(8, 13, &graph);
}

TEST(sparse_initializers_become_dense)
{
    static const int64_t dims[2] = {3, 4}, linear[3] = {0, 5, 11}, pairs[6] = {0, 0, 1, 1, 2, 3};
    static const float expected[12] = {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3};
    for (int width = 0; width <= 2; width += 2) {
        struct proto message = sparse_model(dims, 2, width ? pairs : linear, 3, width);
        scoped_model *model = load_proto(&message);
        ck_assert_int_eq(model->tensors[0]->rank, 2);
        check_floats(model->tensors[0], expected, 12);
    }
    static const int64_t beyond[3] = {0, 5, 12}, crossed[6] = {0, 0, 1, 4, 2, 3},
                         huge[2] = {1 << 20, 1 << 20};
    struct proto message = sparse_model(dims, 2, beyond, 3, 0);
    expect_failure(&message, ULP_ERROR_INPUT, "index 12 of value 2 outside 0 .. 11");
    message = sparse_model(dims, 2, crossed, 3, 2);
    expect_failure(&message, ULP_ERROR_INPUT, "index 4 of value 1 outside 0 .. 3");
    message = sparse_model(huge, 2, linear, 3, 0);
    expect_failure(&message, ULP_ERROR_UNSUPPORTED, "when they are dense");
}

/* A Constant's sparse_value is an attribute of type SPARSE_TENSOR (11), loaded as the dense
 * tensor. */
TEST(sparse_attributes_become_dense)
{
    static const float values[2] = {7, 8}, expected[6] = {0, 7, 0, 0, 0, 8};
    static const int64_t indices[2] = {1, 5}, dims[2] = {2, 3}, count = 2;
    struct proto graph = {0}, node = {0}, attribute = {0}, sparse = {0};
    struct proto value = proto_tensor("", ULP_TYPE_FLOAT, 1, &count);
    struct proto index = proto_tensor("", ULP_TYPE_INT64, 1, &count);
    proto_numbers(&value, TENSOR_RAW, values, sizeof values);
    proto_numbers(&index, TENSOR_RAW, indices, sizeof indices);
    proto_message(&sparse, SPARSE_VALUES, &value);
    proto_message(&sparse, SPARSE_INDICES, &index);
    proto_int(&sparse, SPARSE_DIMS, dims[0]);
    proto_int(&sparse, SPARSE_DIMS, dims[1]);
    proto_text(&attribute, ATTRIBUTE_NAME, "sparse_value");
    proto_int(&attribute, ATTRIBUTE_TYPE, 11);
    proto_message(&attribute, ATTRIBUTE_SPARSE, &sparse);
    proto_text(&node, NODE_OUTPUT, "y");
    proto_text(&node, NODE_OP, "Constant");
    proto_message(&node, NODE_ATTRIBUTE, &attribute);
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto message = proto_model(8, 13, &graph);
    scoped_model *model = load_proto(&message);
    const struct ulp_attribute *loaded = &model->graph->nodes[0].attributes[0];
    ck_assert_int_eq(loaded->kind, ULP_ATTRIBUTE_TENSOR);
    check_floats(loaded->tensor, expected, 6);
}
