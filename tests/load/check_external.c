/* External data: where it may lie, what is mapped and what is copied, and every way out of the
 * model's folder. */
#include "load_test.h"

#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *name, const void *bytes, size_t count)
{
    const char *path = test_folder(name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* FOLDER/inner is the model's folder; secret lies beside it. */
static void setup(void)
{
    /* the floats 0.5, 1, 2, ... 7, in files least significant byte first */
    static const unsigned char weights[32] = {0, 0, 0,    0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0,    0x40,
                                              0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40,
                                              0, 0, 0xc0, 0x40, 0, 0, 0xe0, 0x40};
    test_folder_create();
    ck_assert_int_eq(mkdir(test_folder("inner"), 0700), 0);
    ck_assert_int_eq(mkdir(test_folder("inner/sub"), 0700), 0);
    write_file("secret", weights, sizeof weights);
    write_file("inner/weights", weights, sizeof weights);
    write_file("inner/sub/weights", weights, sizeof weights);
    write_file("inner/empty", weights, 0);
    ck_assert_int_eq(symlink(test_folder("secret"), test_folder("inner/link")), 0);
    ck_assert_int_eq(symlink("..", test_folder("inner/up")), 0);
    ck_assert_int_eq(mkfifo(test_folder("inner/pipe"), 0600), 0);
}

static void add_entry(struct proto *tensor, const char *key, const char *value)
{
    struct proto entry = {0};
    if (!value)
        return;
    proto_text(&entry, 1, key);
    proto_text(&entry, 2, value);
    proto_message(tensor, TENSOR_EXTERNAL, &entry);
}

static struct proto external_model(int type, int64_t count, const char *location,
                                   const char *offset, const char *length)
{
    struct proto tensor = proto_tensor("t", type, 1, &count);
    proto_int(&tensor, TENSOR_LOCATION, 1);
    add_entry(&tensor, "location", location);
    add_entry(&tensor, "offset", offset);
    add_entry(&tensor, "length", length);
    add_entry(&tensor, "checksum", "ignored");
    return model_with_tensor(&tensor);
}

static enum ulp_status load(struct proto *message, struct ulp_model **model,
                            struct ulp_error *error)
{
    const char *path = test_folder("inner/model.onnx");
    enum ulp_status status =
        ulp_model_load_bytes(path, message->data, message->count, NULL, model, error);
    proto_free(message);
    return status;
}

static const struct {
    int type;
    int64_t count;
    const char *location, *offset, *length;
    bool mapped;
    double first;
} good[] = {
    {ULP_TYPE_FLOAT, 8, "weights", NULL, NULL, true, 0.5},
    {ULP_TYPE_FLOAT, 8, "weights", "0", "32", true, 0.5},
    {ULP_TYPE_FLOAT, 2, "weights", "4", NULL, true, 1},
    {ULP_TYPE_FLOAT, 1, "weights", "28", "4", true, 7},
    /* bytes 3f 00 00 80, not aligned */
    {ULP_TYPE_FLOAT, 1, "weights", "3", NULL, false, -0x3fp-149},
    {ULP_TYPE_FLOAT, 2, "sub/weights", "8", "8", true, 2},
    {ULP_TYPE_FLOAT, 2, "./sub//weights", "8", "8", true, 2},
    {ULP_TYPE_FLOAT16, 1, "weights", "6", NULL, false, 1.875}, /* 3f80, the upper half of 1.0f */
    {ULP_TYPE_UINT8, 3, "weights", "29", NULL, true, 0},
    {ULP_TYPE_FLOAT, 0, "weights", "32", NULL, false, 0},
    {ULP_TYPE_FLOAT, 0, "empty", NULL, NULL, false, 0},
};

TEST_LOOP(data_inside_the_folder, 0, sizeof good / sizeof good[0])
{
    setup();
    struct ulp_model *model;
    struct proto message = external_model(good[_i].type, good[_i].count, good[_i].location,
                                          good[_i].offset, good[_i].length);
    ck_ok(load(&message, &model, &why));
    const struct ulp_tensor *tensor = model->tensors[0];
    ck_assert(tensor->data);
    /* numbers of several bytes lie in the file as in memory where that is little-endian */
    const bool mapped = good[_i].mapped && (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ||
                                            good[_i].type == ULP_TYPE_UINT8);
    ck_assert_int_eq(tensor->owned, !mapped);
    ck_assert_uint_eq(model->mapping_count, 1);
    if (good[_i].count)
        ck_assert_double_eq(ulp_tensor_get(tensor, 0), good[_i].first);
    ulp_model_free(model);
    test_folder_remove();
}

#define BEYOND "18446744073709551615"
static const struct {
    int64_t count;
    const char *location, *offset, *length, *text;
} bad[] = {
    {8, NULL, NULL, NULL, "no location"},
    {8, "", NULL, NULL, "no location"},
    {8, "/etc/passwd", NULL, NULL, "is absolute"},
    {8, "../secret", NULL, NULL, "not a path inside the model's folder"},
    {8, "..", NULL, NULL, "not a path inside the model's folder"},
    {8, "sub/../../secret", NULL, NULL, "not a path inside the model's folder"},
    {8, "sub/../weights", NULL, NULL, "not a path inside the model's folder"},
    {8, "link", NULL, NULL, "'link' passes a symbolic link"},
    {8, "up/secret", NULL, NULL, "'up/secret' passes a symbolic link"},
    {8, "pipe", NULL, NULL, "is not a regular file"},
    {8, "sub", NULL, NULL, "is not a regular file"},
    {8, "missing", NULL, NULL, "cannot open 'missing' in the model's folder: No such file"},
    {8, "weights/x", NULL, NULL, "cannot open"},
    {9, "weights", NULL, NULL, "36 bytes at offset 0 of 'weights' are wanted, but the file has 32"},
    {8, "weights", "4", NULL, "32 bytes at offset 4"},
    {1, "weights", "33", NULL, "4 bytes at offset 33"},
    {1, "weights", BEYOND, NULL, "at offset " BEYOND},
    {1, "weights", "99999999999999999999", NULL,
     "offset is '99999999999999999999', expected a number of bytes"},
    {1, "weights", "-4", NULL, "offset is '-4'"},
    {1, "weights", "4 ", NULL, "offset is '4 '"},
    {1, "weights", "", NULL, "offset is ''"},
    {2, "weights", "0", "4", "the length is 4 bytes, expected 8"},
    {2, "weights", "0", "12", "the length is 12 bytes, expected 8"},
    {1, "empty", NULL, NULL, "but the file has 0 bytes"},
    {(int64_t)1 << 40, "weights", NULL, NULL, "4398046511104 bytes at offset 0"},
};

TEST_LOOP(data_outside_the_folder, 0, sizeof bad / sizeof bad[0])
{
    setup();
    struct ulp_model *model;
    struct ulp_error error = {0};
    struct proto message = external_model(ULP_TYPE_FLOAT, bad[_i].count, bad[_i].location,
                                          bad[_i].offset, bad[_i].length);
    ck_assert_int_eq(load(&message, &model, &error), ULP_ERROR_INPUT);
    ck_assert_ptr_null(model);
    ck_assert_msg(strstr(error.message, bad[_i].text) &&
                      strstr(error.message, "model.onnx: initializer 't': external data"),
                  "%s", error.message);
    test_folder_remove();
}

TEST(data_both_inside_and_outside)
{
    setup();
    static const int64_t one = 1;
    struct proto tensor = proto_tensor("t", ULP_TYPE_FLOAT, 1, &one);
    proto_int(&tensor, TENSOR_LOCATION, 1);
    add_entry(&tensor, "location", "weights");
    proto_bytes(&tensor, TENSOR_RAW, "abcd", 4);
    struct proto model = model_with_tensor(&tensor);
    expect_failure(&model, ULP_ERROR_INPUT, "both in an external file and in raw_data");
    test_folder_remove();
}

/* Offsets beyond 32 bits, in a file with a hole; and a model file that protobuf cannot hold. */
TEST(files_beyond_four_gib)
{
    setup();
    static const unsigned char value[4] = {0, 0, 0x28, 0x42}; /* 42 */
    const char *path = test_folder("inner/large");
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseeko(file, (off_t)5 << 30, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(value, sizeof value, 1, file), 1);
    fclose(file);
    struct ulp_model *model;
    struct proto message = external_model(ULP_TYPE_FLOAT, 1, "large", "5368709120", "4");
    ck_ok(load(&message, &model, &why));
    ck_assert_double_eq(ulp_tensor_get(model->tensors[0], 0), 42);
    ulp_model_free(model);
    ck_fails(ULP_ERROR_INPUT, "protobuf ends at 2 GiB", ulp_model_load(path, NULL, &model, &why));
    test_folder_remove();
}
