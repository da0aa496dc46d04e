/* data: recordings in every kind of file. The .json files are Polygraphy 0.53.6's own, and one as
 * its first versions wrote them. */
#include <sys/stat.h>

#include "base/machine/file.h"
#include "data/data.h"
#include "tests/support/test.h"

static void expect_values(const struct ulp_tensor_set *set, const char *name, enum ulp_type type,
                          size_t count, const double *values)
{
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, name);
    ck_assert_msg(tensor != NULL, "there is no '%s'", name);
    ck_assert_int_eq(tensor->type, type);
    ck_assert_uint_eq(tensor->count, count);
    for (size_t i = 0; i < count; i++)
        ck_expect(ulp_tensor_get(tensor, i) == values[i], "%s[%zu]: %g, expected %g", name, i,
                  ulp_tensor_get(tensor, i), values[i]);
}

static struct ulp_recording_list read_list(const char *path)
{
    struct ulp_recording_list list = {0};
    ck_ok(ulp_recording_read(path, NULL, NULL, &list, &why));
    return list;
}

TEST(base64_of_the_rfc)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xff\xfe", "//4="}};
    static const char *const bad[] = {"Zg=",        "Zg",   "Z===",   "Zm9v Zg=",
                                      "Zm9v\nZg==", "=Zg=", "Zm\x80v"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t length = strlen(pairs[i][0]), head = length / 2;
        const void *const parts[] = {pairs[i][0], pairs[i][0] + head};
        const size_t counts[] = {head, length - head};
        char *text = ulp_base64_encode(parts, counts, 2, NULL);
        unsigned char bytes[16];
        size_t count;
        ck_assert_str_eq(text, pairs[i][1]);
        ck_assert(ulp_base64_decode(text, strlen(text), bytes, &count));
        ck_assert_uint_eq(count, length);
        ck_assert_int_eq(memcmp(bytes, pairs[i][0], length), 0);
        ulp_free(text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned char bytes[16];
        size_t count;
        ck_assert_msg(!ulp_base64_decode(bad[i], strlen(bad[i]), bytes, &count), "%s", bad[i]);
    }
}

TEST(polygraphy_outputs)
{
    scoped_recording_list list = read_list(test_data("recording/polygraphy_outputs.json"));
    static const size_t iterations[] = {0, 1, 0, 1};
    static const double scale[] = {1, 1, 2, 2}, half[] = {1.5, -2}, ids[] = {3, 7};
    ck_assert_uint_eq(list.count, 4);
    for (size_t i = 0; i < list.count; i++) {
        const struct ulp_recording *recording = &list.items[i];
        double scores[6];
        for (int e = 0; e < 6; e++)
            scores[e] = e * scale[i] + (iterations[i] ? 10 : 0);
        ck_assert_uint_eq(recording->iteration, iterations[i]);
        ck_assert_msg(strstr(recording->name, i < 2 ? ".json:onnxrt-runner" : ".json:trt-runner"),
                      "%s", recording->name);
        ck_assert_uint_eq(recording->tensors.count, 3);
        ck_assert_str_eq(recording->tensors.items[0].name, "z/scores"); /* the file's order */
        expect_values(&recording->tensors, "z/scores", ULP_TYPE_FLOAT, 6, scores);
        expect_values(&recording->tensors, "a", ULP_TYPE_FLOAT16, 2, half);
        expect_values(&recording->tensors, "ids", ULP_TYPE_INT64, 2, ids);
    }
}

TEST(polygraphy_inputs)
{
    scoped_recording_list list = read_list(test_data("recording/polygraphy_inputs.json"));
    static const double x[] = {5, 6, 7, 8}, mask[] = {0, 0};
    ck_assert_uint_eq(list.count, 2);
    ck_assert_uint_eq(list.items[1].iteration, 1);
    ck_assert(!strchr(strrchr(list.items[0].name, '/'), ':'));
    expect_values(&list.items[1].tensors, "x", ULP_TYPE_FLOAT, 4, x);
    expect_values(&list.items[1].tensors, "mask", ULP_TYPE_BOOL, 2, mask);
}

TEST(polygraphy_of_old)
{
    scoped_recording_list list = read_list(test_data("recording/polygraphy_old.json"));
    static const double y[] = {1, -1}, z[] = {4, 5};
    ck_assert_uint_eq(list.count, 1);
    expect_values(&list.items[0].tensors, "y", ULP_TYPE_FLOAT, 2, y);
    expect_values(&list.items[0].tensors, "z", ULP_TYPE_DOUBLE, 2, z);
}

/* What is written is read again, and two files of one folder are two names. */
TEST(written_and_read)
{
    scoped_recording_list list = read_list(test_data("recording/polygraphy_outputs.json"));
    const struct ulp_tensor_set *set = &list.items[0].tensors;
    ck_ok(ulp_recording_write_json(test_folder("out.json"), "ulpscope", set, &why));
    scoped_recording_list again = read_list(test_folder("out.json"));
    ck_assert_uint_eq(again.count, 1);
    ck_assert_uint_eq(again.items[0].tensors.count, set->count);
    for (size_t t = 0; t < set->count; t++) {
        const struct ulp_tensor *a = &set->items[t].tensor,
                                *b = &again.items[0].tensors.items[t].tensor;
        ck_assert_str_eq(set->items[t].name, again.items[0].tensors.items[t].name);
        ck_assert_int_eq(a->type, b->type);
        ck_assert(test_same_bits(a, b));
    }
}

static void write_npy(const char *path, double value)
{
    scoped_tensor tensor = {0};
    struct ulp_npy npy;
    static const int64_t dims[] = {1};
    ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_DOUBLE, ULP_ELEMENT_COUNT, 0, 1, dims, &why));
    *(double *)tensor.data = value;
    ck_ok(ulp_npy_encode(&npy, &tensor, &why));
    char bytes[600];
    memcpy(bytes, npy.header, npy.header_bytes);
    memcpy(bytes + npy.header_bytes, npy.data, npy.data_bytes);
    ck_ok(ulp_file_write(path, bytes, npy.header_bytes + npy.data_bytes, &why));
    ulp_npy_free(&npy);
}

TEST(folders_of_npy)
{
    static const double one = 1, two = 2;
    ck_assert_int_eq(mkdir(test_folder("dump"), 0700), 0);
    ck_assert_int_eq(mkdir(test_folder("dump/block"), 0700), 0);
    write_npy(test_folder("dump/logits.npy"), one);
    write_npy(test_folder("dump/block/add.npy"), two);
    struct ulp_recording_list list = read_list(test_folder("dump"));
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(list.items[0].tensors.count, 2);
    expect_values(&list.items[0].tensors, "logits", ULP_TYPE_DOUBLE, 1, &one);
    expect_values(&list.items[0].tensors, "block/add", ULP_TYPE_DOUBLE, 1, &two);
    ulp_recording_list_free(&list);
    list = read_list(test_folder("dump/logits.npy"));
    expect_values(&list.items[0].tensors, "logits", ULP_TYPE_DOUBLE, 1, &one);
    ulp_recording_list_free(&list);
}

/* Files that are refused, with what the message must say. */
static const struct {
    const char *text, *message;
} refused[] = {
    {"{", "line 1"},
    {"{\"a\": 1}", "neither"},
    {"[]", "neither"},
    {"7", "a text of another kind, expected JSON"},
    {"\1", "a binary file, expected JSON"},
    {" ", "empty, expected JSON"},
    {"{\"lst\": []}", "no iteration"},
    {"{\"lst\": [[\"r\", []]]}", "no iteration"},
    {"{\"lst\": [[1, []]]}", "entry 0"},
    {"{\"lst\": [[\"r\", [{\"outputs\": null}]]]}", "runner 'r': iteration 0"},
    {"[{\"x\": 3}]", "'x': is no array"},
    {"[{\"x\": {\"values\": {\"values\": {\"values\": {\"values\": {}}}}}}]", "'x': is no array"},
    {"[{\"x\": {\"tensor\": \"gAI=\", \"polygraphy_class\": \"Tensor\"}}]", "pickled"},
    {"[{\"x\": {\"array\": \"gAI=\"}}]", "'x': not a numpy array"},
    {"[{\"x\": {\"array\": \"\\u0142\"}}]", "no base64"},
    {"[{\"x\": {\"array\": \"\\u0000\"}}]", "'x': not a numpy array"},
    {"[{\"x\": {\"array\": \"UEsDBA==\"}}]", "is no npz"},
    {"[{\"x\": {\"array\": \"\"}, \"x\": 1}]", "duplicate"},
};

TEST_LOOP(damaged_json_is_refused, 0, sizeof refused / sizeof *refused)
{
    scoped_recording_list list = {0};
    struct ulp_error error;
    const char *path = test_folder("bad.json");
    ck_ok(ulp_file_write(path, refused[_i].text, strlen(refused[_i].text), &why));
    ck_assert_msg(ulp_recording_read(path, NULL, NULL, &list, &error) != ULP_OK, "%s",
                  refused[_i].text);
    ck_assert_msg(strstr(error.message, refused[_i].message) && strstr(error.message, "bad.json"),
                  "%s", error.message);
    ck_assert_uint_eq(list.count, 0);
}

TEST(empty_folders_are_refused)
{
    struct ulp_recording_list list = {0};
    ck_assert_int_eq(mkdir(test_folder("empty"), 0700), 0);
    ck_fails(ULP_ERROR_INPUT, "nothing is recorded",
             ulp_recording_read(test_folder("empty"), NULL, NULL, &list, &why));
    ck_assert_int_eq(mkdir(test_folder("sets"), 0700), 0);
    ck_assert_int_eq(mkdir(test_folder("sets/test_data_set_0"), 0700), 0);
    ck_fails(ULP_ERROR_INPUT, "give one of them",
             ulp_recording_read(test_folder("sets"), NULL, NULL, &list, &why));
    ck_fails(ULP_ERROR_INPUT, "none.json",
             ulp_recording_read(test_folder("none.json"), NULL, NULL, &list, &why));
}

TEST_MAIN("recording", 0)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
