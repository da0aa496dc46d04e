/* growth: what a model has many of must cost in proportion to their number. Each case is loaded,
 * planned, run, and where it says so audited and reported on, with n and with 4 n of a thing, and
 * the processor's time for 4 n must be below 8 times that for n: in proportion it is 4 times, a
 * search through a list for each makes it 16 times. A disturbed measurement is made again. */
#include <time.h>

#include "load/load.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "growth.cases"

#define FACTOR 8
#define ATTEMPTS 4
/* Shorter times say nothing: the clock's steps, and what a first run reads in. */
#define SECONDS_MIN 0.02

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Two inputs for each of as many symbolic dimensions. */
static struct proto make_symbols(size_t count)
{
    struct proto graph = {0}, node = proto_node("Relu", "", "i0", "y");
    for (size_t i = 0; i < 2 * count; i++) {
        struct proto dim = {0}, shape = {0}, tensor = {0}, type = {0}, value = {0};
        char text[40];
        snprintf(text, sizeof text, "D%zu", i / 2);
        proto_text(&dim, 2, text);
        proto_message(&shape, 1, &dim);
        proto_int(&tensor, 1, ULP_TYPE_FLOAT);
        proto_message(&tensor, 2, &shape);
        proto_message(&type, 1, &tensor);
        snprintf(text, sizeof text, "i%zu", i);
        proto_text(&value, 1, text);
        proto_message(&value, 2, &type);
        proto_message(&graph, GRAPH_INPUT, &value);
    }
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, -1, NULL);
    proto_message(&graph, GRAPH_NODE, &node);
    return proto_model(10, 21, &graph);
}

/* The case's model with so many of its thing; the number behind the last case: symbols. */
static struct proto make_model(size_t number, size_t count)
{
    if (number == text_case_count(CASES))
        return make_symbols(count);
    SCOPED_MEMORY char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (const char *at = text_case(CASES, number, "model", 0); *at;) {
        const bool many = *at == '~', back = many && at[1] == '-';
        const char *piece = at + many + back, *end = piece + strcspn(piece, "~");
        for (size_t i = 0; i < (many ? count : 1); i++)
            for (const char *c = piece; c < end; c++)
                if (strchr("#^%", *c))
                    fprintf(out, "%zu",
                            *c == '%' ? count : (back ? count - 1 - i : i) + (*c == '^'));
                else
                    fputc(*c, out);
        at = end + many;
    }
    fclose(out);
    return onnx_text(21, text);
}

/* work: "run", "audit" or "report". */
static enum ulp_status plan_and_run(const char *work, const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_program_options options = {.inputs = inputs};
    struct ulp_run_options run = {.thread_count = 1};
    const size_t lanes_count = strcmp(work, "run") == 0 ? 1 : 2;
    struct ulp_arithmetic lanes[2];
    struct ulp_tensor_set outputs[2];
    scoped_program *program = NULL;
    lanes[0] = test_arithmetic("fp64");
    lanes[1] = test_arithmetic("fp16");
    enum ulp_status status =
        ulp_program_create(model, lanes, lanes_count, &options, &program, error);
    if (status != ULP_OK)
        return status;
    if (lanes_count > 1) {
        scoped_audit audit = test_audit(program, inputs, NULL);
        if (strcmp(work, "report") == 0)
            ck_ok(ulp_report_write(&audit, test_folder("report"), &why));
    }
    status = ulp_program_run(program, inputs, &run, NULL, 0, outputs, NULL, error);
    if (status == ULP_OK)
        status = ulp_tensor_set_write_npz(test_folder("outputs.npz"), &outputs[0], error);
    for (size_t l = 0; status == ULP_OK && l < lanes_count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}

struct growth {
    char name[40], work[8];
    size_t few;
    enum ulp_status status;
};

static double measure(size_t number, const struct growth *which, size_t count)
{
    struct proto bytes = make_model(number, count);
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_error error = {0};
    double started = processor_seconds();
    enum ulp_status status =
        ulp_model_load_bytes("growth.onnx", bytes.data, bytes.count, NULL, &model, &error);
    if (status == ULP_OK) {
        status = ulp_model_random_inputs(model, NULL, &inputs, &error);
        if (status == ULP_OK)
            status = plan_and_run(which->work, model, &inputs, &error);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
    double seconds = processor_seconds() - started;
    proto_free(&bytes);
    ck_assert_msg(status == which->status, "%s: ended in %d, expected %d: %s", which->name,
                  (int)status, (int)which->status, error.message);
    return seconds;
}

TEST_LOOP(cost_grows_in_proportion, 0, text_case_count(CASES) + 1)
{
    struct growth which = {"symbolic dimensions", "run", 5000, ULP_OK};
    char ends[20] = "";
    double few = 0, many = 0;
    if (!test_takes((uint64_t)_i, text_case_count(CASES) + 1))
        return;
    if ((size_t)_i < text_case_count(CASES)) {
        const struct text_head head = text_case_head(CASES, (size_t)_i);
        ck_assert_int_ge(sscanf(head.rest, ": %7s %zu %19s", which.work, &which.few, ends), 2);
        strcpy(which.name, head.name);
        which.status = strcmp(ends, "unsupported") == 0 ? ULP_ERROR_UNSUPPORTED
                       : *ends                          ? ULP_ERROR_INPUT
                                                        : ULP_OK;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        few = measure((size_t)_i, &which, which.few);
        many = measure((size_t)_i, &which, 4 * which.few);
        if (many < FACTOR * few || many < FACTOR * SECONDS_MIN)
            return;
    }
    ck_abort_msg("%s: %zu take %.3f s, %zu take %.3f s", which.name, which.few, few, 4 * which.few,
                 many);
}

static void expect_unsupported(const char *name, size_t count, struct ulp_error *error)
{
    size_t i = 0;
    while (strcmp(text_case_head(CASES, i).name, name) != 0)
        i++;
    scoped_proto bytes = make_model(i, count);
    scoped_model *model = NULL;
    struct ulp_program *program;
    const struct ulp_arithmetic lane = test_arithmetic("fp32");
    ck_ulp_ok(ulp_model_load_bytes("growth.onnx", bytes.data, bytes.count, NULL, &model, error),
              *error);
    ck_assert_int_eq(ulp_program_create(model, &lane, 1, NULL, &program, error),
                     ULP_ERROR_UNSUPPORTED);
}

TEST(a_list_of_problems_says_what_and_how_many)
{
    struct ulp_error error;
    expect_unsupported("one-unknown-operator", 1, &error);
    ck_assert_str_eq(error.message,
                     "growth.onnx: 1 thing this version does not compute:\n"
                     "  operator Unknown of domain ai.onnx, opset 21, is not supported "
                     "(node 'Unknown_1')");
    expect_unsupported("one-unknown-operator", 1000, &error);
    ck_assert_str_eq(error.message,
                     "growth.onnx: 1 thing this version does not compute:\n"
                     "  operator Unknown of domain ai.onnx, opset 21, is not supported "
                     "(nodes 'Unknown_1', 'Unknown_2', 'Unknown_3' and 997 more)");
    expect_unsupported("unknown-operators", 1000, &error);
    const char *start = "growth.onnx: 1000 things this version does not compute:\n",
               *end = "\n  operator Unknown19 of domain ai.onnx, opset 21, is not supported "
                      "(node 'Unknown19_20')\n"
                      "  and 980 more, in 980 nodes";
    ck_assert_int_eq(strncmp(error.message, start, strlen(start)), 0);
    ck_assert_str_eq(error.message + strlen(error.message) - strlen(end), end);
}

TEST_MAIN("growth", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
