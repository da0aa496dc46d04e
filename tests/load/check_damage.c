/* Damaged and hostile files, files that are no models, and the real models outside the project. */
#include "load_test.h"

#include <dirent.h>
#include <unistd.h>

#include "base/machine/file.h"
#include "tests/fuzz/fuzz_load.h"

/* A small model with everything the loader knows: subgraphs, functions, sparse and typed tensors,
 * declarations. */
static struct proto rich_model(void)
{
    static const int64_t dims[2] = {2, 2}, count = 2;
    static const float values[4] = {1, 2, 3, 4};
    static const int64_t indices[2] = {0, 3};
    struct proto inner = {0}, graph = identity_graph(), attribute = {0}, sparse = {0},
                 function = {0};
    struct proto node = proto_node("Add", "sum", "x w", "r"),
                 tensor = proto_tensor("w", ULP_TYPE_FLOAT, 2, dims);
    proto_numbers(&tensor, TENSOR_RAW, values, sizeof values);
    proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = proto_tensor("h", ULP_TYPE_FLOAT16, 1, &count);
    proto_bytes(&tensor, TENSOR_INT32S, "\x80\x78\x80\x78", 4);
    proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = proto_tensor("s", ULP_TYPE_FLOAT, 1, &count);
    proto_numbers(&tensor, TENSOR_FLOATS, values, 8);
    proto_message(&sparse, SPARSE_VALUES, &tensor);
    tensor = proto_tensor("", ULP_TYPE_INT64, 1, &count);
    proto_numbers(&tensor, TENSOR_RAW, indices, sizeof indices);
    proto_message(&sparse, SPARSE_INDICES, &tensor);
    proto_int(&sparse, SPARSE_DIMS, 2);
    proto_int(&sparse, SPARSE_DIMS, 2);
    proto_message(&graph, GRAPH_SPARSE, &sparse);
    proto_message(&inner, GRAPH_NODE, &node);
    proto_value(&inner, GRAPH_OUTPUT, "r", ULP_TYPE_FLOAT, 2, dims);
    proto_text(&attribute, ATTRIBUTE_NAME, "then_branch");
    proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    proto_message(&attribute, ATTRIBUTE_G, &inner);
    node = proto_node("If", "choose", "x", "z");
    proto_message(&node, NODE_ATTRIBUTE, &attribute);
    proto_message(&graph, GRAPH_NODE, &node);
    proto_value(&graph, GRAPH_VALUE_INFO, "z", ULP_TYPE_FLOAT, 2, dims);
    struct proto model = proto_model(9, 18, &graph);
    node = proto_node("Neg", "", "a", "b");
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "local");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_OUTPUT, "b");
    proto_message(&function, FUNCTION_NODE, &node);
    proto_message(&model, MODEL_FUNCTION, &function);
    return model;
}

static void check_bytes(const unsigned char *bytes, size_t count, const char *what,
                        unsigned long long number)
{
    const char *wrong = fuzz_load(bytes, count);
    ck_assert_msg(!wrong, "%s %llu: %s", what, number, wrong);
}

/* Each prefix in a block of its own size, so that a sanitizer sees the first byte read behind
 * it. */
static void check_truncations(const unsigned char *bytes, size_t count)
{
    for (size_t length = 0; length <= count; length++) {
        SCOPED_MEMORY unsigned char *prefix = malloc(length ? length : 1);
        ck_assert_ptr_nonnull(prefix);
        memcpy(prefix, bytes, length);
        check_bytes(prefix, length, "truncated to", length);
    }
}

TEST(every_truncation)
{
    struct proto rich = rich_model(), graph = identity_graph(), small = proto_model(8, 13, &graph);
    check_truncations(rich.data, rich.count);
    check_truncations(small.data, small.count);
    proto_free(&rich);
    proto_free(&small);
}

static void check_mutations(const unsigned char *bytes, size_t count, uint64_t first, uint64_t last)
{
    for (uint64_t seed = first; seed < last; seed++) {
        size_t damaged_count;
        SCOPED_MEMORY uint8_t *damaged = fuzz_mutate(bytes, count, seed, &damaged_count);
        check_bytes(damaged, damaged_count, "seed", seed);
    }
}

TEST(random_damage)
{
    scoped_proto rich = rich_model();
    check_bytes(rich.data, rich.count, "undamaged", 0);
    check_mutations(rich.data, rich.count, 0, test_count(500, 10000));
}

/* Two bytes of an empty node cost a hundred of memory: the parser's memory must be limited. */
TEST(memory_is_limited)
{
    struct proto graph = {0}, model = {0};
    for (int i = 0; i < 4 << 20; i++)
        proto_bytes(&graph, GRAPH_NODE, "", 0);
    proto_int(&model, MODEL_IR, 8);
    proto_message(&model, MODEL_GRAPH, &graph);
    expect_failure(&model, ULP_ERROR_INPUT, "bytes of memory: not a real model");
}

TEST(files_that_are_no_models)
{
    struct ulp_model *model;
    struct ulp_error error;
    static const struct {
        const char *bytes, *text;
    } rows[] = {
        {"", "the file is empty"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"},
        {"{\"not\": \"a model\"}\n", "is not valid ONNX protobuf"},
        {"\x12\x03"
         "abc",
         "no IR version"},
    };
    test_folder_create();
    const char *path = test_folder("model.onnx");
    ck_fails(ULP_ERROR_INPUT, "a folder, expected an ONNX file",
             ulp_model_load(test_folder(""), NULL, &model, &why));
    ck_fails(ULP_ERROR_INPUT, "No such file", ulp_model_load(path, NULL, &model, &why));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_ok(ulp_file_write(path, rows[i].bytes, strlen(rows[i].bytes), &why));
        ck_assert_int_eq(ulp_model_load(path, NULL, &model, &error), ULP_ERROR_INPUT);
        ck_assert_msg(strstr(error.message, rows[i].text) &&
                          strstr(error.message, path) == error.message,
                      "%s", error.message);
        ck_assert_int_eq(ulp_model_load(path, NULL, &model, NULL), ULP_ERROR_INPUT);
    }
    test_folder_remove();
}

/* Loads FOLDER/NAME/model.onnx for every NAME, or FOLDER/NAME.onnx; returns how many there are. */
static size_t load_folder(const char *folder)
{
    DIR *open = opendir(folder);
    size_t count = 0;
    ck_assert_msg(open != NULL, "%s", folder);
    for (struct dirent *entry; (entry = readdir(open));) {
        char path[4096];
        size_t length = strlen(entry->d_name);
        bool file = length > 5 && strcmp(entry->d_name + length - 5, ".onnx") == 0;
        snprintf(path, sizeof path, "%s/%s%s", folder, entry->d_name, file ? "" : "/model.onnx");
        unsigned char *bytes;
        size_t byte_count;
        if (access(path, R_OK) != 0)
            continue;
        struct ulp_model *model;
        ck_ok(ulp_model_load(path, NULL, &model, &why));
        ck_assert_uint_gt(ulp_model_node_count(model), 0);
        ulp_model_free(model);
        ck_ok(ulp_file_read(path, INT32_MAX, NULL, &bytes, &byte_count, &why));
        check_bytes(bytes, byte_count, path, 0);
        if (test_long() && byte_count < 1 << 20)
            check_mutations(bytes, byte_count, 0, 100);
        ulp_free(bytes);
        count++;
    }
    closedir(open);
    return count;
}

TEST(real_models_load)
{
    if (!test_shared(""))
        return;
    ck_assert_uint_eq(load_folder(test_shared("models")), 28);
    ck_assert_uint_ge(load_folder(test_shared("mixed")), 10);
    ck_assert_uint_ge(load_folder(test_shared("generated")), 8);
    struct ulp_model *model;
    const char *invalid = test_shared("invalid/starry_night_fp16/model.onnx");
    ck_fails(ULP_ERROR_INPUT, "IR version 1 cannot import operator sets",
             ulp_model_load(invalid, NULL, &model, &why));
}

/* The archives of ONNX's own tests: unpacked here, since they are not part of the project. */
TEST(onnx_archives_load)
{
    static const struct {
        const char *name;
        size_t count;
        bool is_long;
    } archives[] = {{"light", 9, false},
                    {"simple", 1, false},
                    {"pytorch-operator", 1, false},
                    {"node", 1802, true}};
    const char *folder = test_shared("onnx");
    for (size_t i = 0; folder && i < sizeof archives / sizeof archives[0]; i++) {
        char command[4300];
        if (archives[i].is_long && !test_long())
            continue;
        test_folder_create();
        snprintf(command, sizeof command, "tar xf '%s/%s.tar.xz' -C '%s'", folder, archives[i].name,
                 test_folder(""));
        ck_assert_int_eq(system(command), 0);
        ck_assert_uint_ge(load_folder(test_folder(archives[i].name)), archives[i].count);
        test_folder_remove();
    }
}
