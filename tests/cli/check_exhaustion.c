/* Memory that ends at any of the program's requests: it then ends in exit code 5 with one line, or
 * it can do without; nothing is half-written, and what is written is what it always is. Every n-th
 * request, in a process of its own. */
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ulpscope.h>

#include "base/random.h"
#include "base/text/text.h"
#include "tests/support/exhaust.h"
#include "tests/support/proto.h"

#undef main
int ulpscope_main(int argc, char **argv); /* the program's */

#define ARGUMENTS_MAX 24

/* {} is the test's folder. */
static const char *const commands[][ARGUMENTS_MAX] = {
    {"ulpscope", "audit", "{}/model.onnx", "-i", "{}/inputs.npz", "--out", "{}/out", "-t", "1"},
    {"ulpscope", "audit", "{}/model.onnx", "-a", "fp16,tf32@a100,fp32,nofma", "--certify",
     "--max-memory", "1G", "--keep", "op:Erf=fp32", "-t", "2", "-q"},
    {"ulpscope", "audit", "{}/model.onnx", "-a", "tf32", "--schedules", "--reference-model",
     "{}/model.onnx", "-i", "{}/inputs.json", "--out", "{}/out", "-t", "1"},
    {"ulpscope", "run", "{}/model.onnx", "-i", "{}/test_data_set_0", "--arith", "mpfr:200",
     "--outputs", "{}/out/out.npz", "--all-values", "-t", "1"},
    {"ulpscope", "run", "{}/model.onnx", "--arith", "fp16", "--outputs", "{}/out/out.json", "-t",
     "3"},
    {"ulpscope", "compare", "{}/model.onnx", "-i", "{}/inputs.npz", "{}/recorded.npz", "--trials",
     "2", "--arith", "fp32", "--recorded-inputs", "{}/inputs.json", "--out", "{}/out", "-t", "1"},
    {"ulpscope", "audit", "{}/model.onnx", "-i", "{}/inputs.npz", "-a", "tf32", "--attribute",
     "--verify", "1", "--group-by", "op", "--out", "{}/out", "-t", "1"},
    {"ulpscope", "overflow", "{}/model.onnx", "-i", "{}/inputs.npz", "-f", "fp16,fp8-e4m3", "--out",
     "{}/out", "-t", "1"},
    {"ulpscope", "audit", "{}/model.onnx", "--shape", "x=4x8", "--val-range", "x=-1,1", "-a",
     "fp16", "--fail-above", "fp16:diverged=0", "--junit", "{}/out/limits.xml", "-t", "1"},
    {"ulpscope", "study", "{}/model.onnx", "-i", "{}/inputs.npz", "--sweep", "e8m{5..7}", "--sweep",
     "bf16,round=sr", "--trials", "2", "--node", "erf", "--json", "{}/out/study.json", "-t", "1"},
    {"ulpscope", "plan", "{}/model.onnx", "-i", "{}/inputs.npz", "--apply", "{}/plan.json", "--out",
     "{}/out", "-t", "1"},
};

/* ---- files ---- */

static struct proto write_function(void)
{
    struct proto function = {0}, node = proto_node("Gelu", "gelu", "a", "r"), opset = {0};
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_OUTPUT, "r");
    proto_message(&function, FUNCTION_NODE, &node);
    proto_int(&opset, 2, 20);
    proto_message(&function, FUNCTION_OPSET, &opset);
    return function;
}

/* A Loop that adds its state to itself and gathers a Tanh of it. */
static struct proto write_loop(void)
{
    struct proto body = {0}, attribute = {0},
                 node = proto_node("Loop", "loop", "rounds - f", "state gathered");
    static const char *const steps[][4] = {{"Tanh", "tanh", "s", "t"},
                                           {"Add", "grow", "s t", "next"},
                                           {"Identity", "go", "go_on", "again"}};
    for (size_t i = 0; i < 3; i++) {
        struct proto step = proto_node(steps[i][0], steps[i][1], steps[i][2], steps[i][3]);
        proto_message(&body, GRAPH_NODE, &step);
    }
    proto_text(&body, GRAPH_NAME, "body");
    proto_value(&body, GRAPH_INPUT, "number", ULP_TYPE_INT64, 0, NULL);
    proto_value(&body, GRAPH_INPUT, "go_on", ULP_TYPE_BOOL, 0, NULL);
    proto_value(&body, GRAPH_INPUT, "s", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_value(&body, GRAPH_OUTPUT, "again", ULP_TYPE_BOOL, 0, NULL);
    proto_value(&body, GRAPH_OUTPUT, "next", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_value(&body, GRAPH_OUTPUT, "t", ULP_TYPE_FLOAT, 2, (const int64_t[]){4, 8});
    proto_text(&attribute, ATTRIBUTE_NAME, "body");
    proto_message(&attribute, ATTRIBUTE_G, &body);
    proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    proto_message(&node, NODE_ATTRIBUTE, &attribute);
    return node;
}

static void write_file(const char *path, struct proto *bytes)
{
    FILE *file = fopen(path, "w");
    ck_assert(file && fwrite(bytes->data, 1, bytes->count, file) == bytes->count);
    ck_assert_int_eq(fclose(file), 0);
    proto_free(bytes);
}

static void write_model(void)
{
    static const char *const plain[][4] = {{"MatMul", "product", "x w", "p"},
                                           {"Softmax", "softmax", "p", "q"},
                                           {"Erf", "erf", "q", "e"},
                                           {"F", "call", "e", "f"}};
    const int64_t square[] = {8, 8}, rows[] = {4, 8}, three = 3;
    struct proto graph = {0}, rounds = proto_tensor("rounds", ULP_TYPE_INT64, 0, NULL),
                 w = proto_tensor("w", ULP_TYPE_FLOAT, 2, square), loop = write_loop(),
                 function = write_function();
    float values[64];
    for (size_t i = 0; i < 64; i++)
        values[i] = (float)ulp_random_uniform(1, i) - 0.5f;
    proto_numbers(&w, TENSOR_RAW, values, sizeof values);
    proto_numbers(&rounds, TENSOR_RAW, &three, sizeof three);
    proto_message(&graph, GRAPH_INITIALIZER, &w);
    proto_message(&graph, GRAPH_INITIALIZER, &rounds);
    for (size_t i = 0; i < 4; i++) {
        struct proto node = proto_node(plain[i][0], plain[i][1], plain[i][2], plain[i][3]);
        if (i == 3)
            proto_text(&node, NODE_DOMAIN, "d");
        proto_message(&graph, GRAPH_NODE, &node);
    }
    proto_message(&graph, GRAPH_NODE, &loop);
    proto_text(&graph, GRAPH_NAME, "exhausting");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, rows);
    proto_value(&graph, GRAPH_OUTPUT, "state", ULP_TYPE_FLOAT, 2, rows);
    proto_value(&graph, GRAPH_OUTPUT, "gathered", ULP_TYPE_FLOAT, 3, (const int64_t[]){3, 4, 8});
    struct proto model = proto_model(9, 20, &graph);
    proto_opset(&model, "d", 1);
    proto_message(&model, MODEL_FUNCTION, &function);
    write_file(test_folder("model.onnx"), &model);
}

static void write_inputs(void)
{
    struct ulp_error error;
    struct ulp_tensor x;
    struct ulp_tensor_set set = {0};
    const int64_t dims[] = {4, 8};
    float values[32];
    for (size_t i = 0; i < 32; i++)
        values[i] = (float)ulp_random_uniform(2, i) - 0.5f;
    ck_ulp_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 2, dims, &error), error);
    memcpy(x.data, values, sizeof values);
    ck_ulp_ok(ulp_tensor_set_add(&set, "x", &x, &error), error);
    ck_ulp_ok(ulp_tensor_set_write_npz(test_folder("inputs.npz"), &set, &error), error);
    ck_ulp_ok(ulp_recording_write_json(test_folder("inputs.json"), "test", &set, &error), error);
    ulp_tensor_set_free(&set);
    struct proto tensor = proto_tensor("x", ULP_TYPE_FLOAT, 2, dims);
    proto_numbers(&tensor, TENSOR_RAW, values, sizeof values);
    ck_assert_int_eq(mkdir(test_folder("test_data_set_0"), 0777), 0);
    write_file(test_folder("test_data_set_0/input_0.pb"), &tensor);
    ck_assert_int_eq(mkdir(test_folder("out"), 0777), 0);
}

/* What FP32 gives. */
static void write_recording(void)
{
    struct ulp_model *model;
    struct ulp_plan *plan;
    struct ulp_arithmetic fp32;
    struct ulp_tensor_set inputs, outputs;
    struct ulp_error error;
    fp32 = test_arithmetic("fp32");
    ck_ulp_ok(ulp_model_load(test_folder("model.onnx"), NULL, &model, &error), error);
    ck_ulp_ok(ulp_tensor_set_read(test_folder("inputs.npz"), NULL, &inputs, &error), error);
    ck_ulp_ok(ulp_plan_create(model, &fp32, 1, NULL, &plan, &error), error);
    ck_ulp_ok(ulp_plan_run(plan, &inputs, NULL, NULL, 0, &outputs, NULL, &error), error);
    ck_ulp_ok(ulp_tensor_set_write_npz(test_folder("recorded.npz"), &outputs, &error), error);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_tensor_set_free(&outputs);
    ulp_model_free(model);
}

static void write_plan(void)
{
    static const char text[] = "{\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": [\"softmax\", "
                               "\"*/gelu\"], \"arithmetic\": \"fp32\"}]}";
    struct proto plan = {0};
    proto_raw(&plan, text, strlen(text));
    write_file(test_folder("plan.json"), &plan);
}

static void create_files(void)
{
    test_folder_create();
    write_model();
    write_inputs();
    write_recording();
    write_plan();
}

/* What a command has written, without what differs from run to run. */
struct written {
    size_t count;
    struct {
        char name[256];
        unsigned long long hash;
    } files[4];
};

/* Lines with the run's time, and what depends on memory. */
static bool differs(const char *line)
{
    return strstr(line, "seconds") || strstr(line, " s, ") || strstr(line, "peak") ||
           strstr(line, "time=\"");
}

static unsigned long long hash_file(const char *path)
{
    unsigned long long hash = 1;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while ((length = getline(&line, &room, file)) > 0)
        if (!differs(line))
            hash = hash * 31 + ulp_hash(line, (size_t)length);
    free(line);
    fclose(file);
    return hash;
}

/* In the order of their names; they are removed. */
static struct written take_written(void)
{
    struct written written = {0};
    struct dirent **entries;
    int count = scandir(test_folder("out"), &entries, NULL, alphasort);
    ck_assert_int_ge(count, 2);
    for (int e = 0; e < count; e++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%.200s", test_folder("out"), entries[e]->d_name);
        if (entries[e]->d_name[0] != '.') {
            ck_expect(written.count < 4, "a file '%s'", entries[e]->d_name);
            memcpy(written.files[written.count].name, entries[e]->d_name,
                   strlen(entries[e]->d_name) + 1);
            written.files[written.count++].hash = hash_file(path);
            unlink(path);
        }
        free(entries[e]);
    }
    free(entries);
    return written;
}

/* ---- processes ---- */

/* What a child says to its parent. */
static struct said {
    long count;
} * said;

static void run_program(size_t command, long at, bool all_after)
{
    static char texts[ARGUMENTS_MAX][512];
    char *argv[ARGUMENTS_MAX + 1];
    int argc = 0;
    for (; argc < ARGUMENTS_MAX && commands[command][argc]; argc++) {
        const char *from = commands[command][argc];
        const bool inside = strncmp(from, "{}", 2) == 0;
        snprintf(texts[argc], sizeof texts[0], "%s%s", inside ? test_folder("") : "",
                 inside ? from + 3 : from);
        argv[argc] = texts[argc];
    }
    argv[argc] = NULL;
    alarm(120);
    const int nowhere = open("/dev/null", O_WRONLY),
              messages = open(test_folder("messages"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(nowhere, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    exhaust_start(at, all_after);
    const int code = ulpscope_main(argc, argv);
    said->count = exhaust_count();
    exit(code);
}

/* Its exit code; -1: a signal ended it. */
static int run(size_t command, long at, bool all_after)
{
    int status;
    fflush(NULL);
    said->count = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        run_program(command, at, all_after);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_message(const char *what)
{
    char line[600] = "";
    FILE *file = fopen(test_folder("messages"), "r");
    ck_assert_ptr_nonnull(file);
    ck_expect(fgets(line, sizeof line, file) && strncmp(line, "ulpscope: ", 10) == 0,
              "%s: message '%s'", what, line);
    fclose(file);
}

static void check_written(const struct written *got, const struct written *all, int code,
                          const char *what)
{
    ck_expect(got->count == 0 || got->count == all->count, "%s: %zu of %zu files", what, got->count,
              all->count);
    ck_expect(code != ULP_OK || got->count == all->count, "%s: %zu of %zu files", what, got->count,
              all->count);
    for (size_t f = 0; f < got->count; f++)
        ck_expect(strcmp(got->files[f].name, all->files[f].name) == 0 &&
                      got->files[f].hash == all->files[f].hash,
                  "%s: another %s", what, got->files[f].name);
}

/* Every request, or about `processes` of them, until none fails. */
static void exhaust(size_t command, long processes, bool all_after)
{
    ck_assert_int_eq(run(command, 0, false), ULP_OK);
    const struct written all = take_written();
    const long count = said->count;
    long failures = 0;
    ck_assert_int_gt(count, 100);
    for (long at = 1; at <= count; at += processes ? count / processes + 1 : 1) {
        char what[100];
        const int code = run(command, at, all_after);
        snprintf(what, sizeof what, "%zu: request %ld of %ld%s", command, at, count,
                 all_after ? " and all after" : "");
        ck_expect(code == ULP_OK || code == ULP_ERROR_MEMORY, "%s: exit code %d", what, code);
        const struct written written = take_written();
        check_written(&written, &all, code, what);
        if (code != ULP_OK)
            check_message(what);
        failures += code != ULP_OK;
    }
    ck_assert_int_gt(failures, 10);
}

/* Most requests are for the tables of functions that a process makes when it first needs them. */
static void make_tables(void)
{
    static const char *const names[] = {"mpfr:128", "mpfr:200", "mpfr:256", "fp64",
                                        "fp16",     "tf32",     "fp32"};
    enum { COUNT = sizeof names / sizeof *names };
    struct ulp_arithmetic lanes[COUNT];
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_plan *plan;
    struct ulp_error error;
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    for (size_t l = 0; l < COUNT; l++)
        lanes[l] = test_arithmetic(names[l]);
    ck_ulp_ok(ulp_model_load(test_folder("model.onnx"), NULL, &model, &error), error);
    ck_ulp_ok(ulp_tensor_set_read(test_folder("inputs.npz"), NULL, &inputs, &error), error);
    ck_ulp_ok(ulp_plan_create(model, lanes, COUNT, NULL, &plan, &error), error);
    ck_ulp_ok(ulp_plan_run(plan, &inputs, &options, NULL, 0, NULL, NULL, &error), error);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

START_TEST(every_request_may_fail)
{
    make_tables();
    exhaust((size_t)_i, test_long() ? 0 : 150, false);
}
END_TEST

START_TEST(all_requests_from_one_on_may_fail)
{
    make_tables();
    exhaust((size_t)_i, test_long() ? 0 : 50, true);
}
END_TEST

/* With the tables, in this build's own functions and GMP's. */
START_TEST(new_processes_may_fail)
{
    exhaust(0, test_long() ? 3000 : 26, _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exhaustion");
    TCase *tests = tcase_create("memory ends");
    const int count = sizeof commands / sizeof *commands;
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (said == MAP_FAILED)
        return 99;
    tcase_add_checked_fixture(tests, create_files, test_folder_remove);
    tcase_set_timeout(tests, test_long() ? 3600 : 120);
    tcase_add_loop_test(tests, every_request_may_fail, 0, count);
    tcase_add_loop_test(tests, all_requests_from_one_on_may_fail, 0, count);
    tcase_add_loop_test(tests, new_processes_may_fail, 0, 2);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
