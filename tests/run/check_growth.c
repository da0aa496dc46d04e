/* growth: what a model has many of must cost in proportion to their number. Each case is loaded,
 * planned, run, and where it says so audited and reported on, with n and with 4 n of a thing, and
 * the processor's time for 4 n must be below 8 times that for n: in proportion it is 4 times, a
 * search through a list for each makes it 16 times. A disturbed measurement is made again. */
#include <string.h>
#include <time.h>

#include <ulpscope.h>

#include "growth_models.h"
#include "load/load.h"
#include "tests/support/test.h"
#include "analysis/audit/auditor.h"

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

static void audit(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                  bool reports)
{
    struct ulp_auditor *auditor;
    struct ulp_audit found;
    struct ulp_run_options options = {.thread_count = 1, .audit = true};
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    ck_ok(ulp_auditor_sample(auditor, "nominal", &why));
    struct ulp_observer observer = ulp_auditor_observer(auditor);
    ck_ok(ulp_program_run(program, inputs, &options, &observer, 1, NULL, NULL, &why));
    ck_ok(ulp_auditor_finish(auditor, &found, &why));
    if (reports)
        ck_ok(ulp_report_write(&found, test_folder("report"), &why));
    ulp_audit_free(&found);
    ulp_auditor_free(auditor);
}

static enum ulp_status plan_and_run(const struct growth_model *which, const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_program_options options = {.inputs = inputs};
    struct ulp_run_options run = {.thread_count = 1};
    const size_t lanes_count = which->work == GROWTH_RUN ? 1 : 2;
    struct ulp_arithmetic lanes[2];
    struct ulp_tensor_set outputs[2];
    struct ulp_program *program;
    lanes[0] = test_arithmetic("fp64");
    lanes[1] = test_arithmetic("fp16");
    enum ulp_status status =
        ulp_program_create(model, lanes, lanes_count, &options, &program, error);
    if (status != ULP_OK)
        return status;
    if (lanes_count > 1)
        audit(program, inputs, which->work == GROWTH_REPORT);
    status = ulp_program_run(program, inputs, &run, NULL, 0, outputs, NULL, error);
    if (status == ULP_OK)
        status = ulp_tensor_set_write_npz(test_folder("outputs.npz"), &outputs[0], error);
    for (size_t l = 0; status == ULP_OK && l < lanes_count; l++)
        ulp_tensor_set_free(&outputs[l]);
    ulp_program_free(program);
    return status;
}

static double measure(const struct growth_model *which, size_t count)
{
    struct proto bytes = which->make(count);
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_error error = {0};
    double started = processor_seconds();
    enum ulp_status status =
        ulp_model_load_bytes("growth.onnx", bytes.data, bytes.count, NULL, &model, &error);
    if (status == ULP_OK) {
        status = ulp_model_random_inputs(model, NULL, &inputs, &error);
        if (status == ULP_OK)
            status = plan_and_run(which, model, &inputs, &error);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
    double seconds = processor_seconds() - started;
    proto_free(&bytes);
    ck_assert_msg(status == which->status, "%s: ended in %d, expected %d: %s", which->name,
                  (int)status, (int)which->status, error.message);
    return seconds;
}

TEST_LOOP(cost_grows_in_proportion, 0, growth_model_count)
{
    const struct growth_model *which = &growth_models[_i];
    double few = 0, many = 0;
    if (!test_takes((uint64_t)_i, (uint64_t)growth_model_count))
        return;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        few = measure(which, which->few);
        many = measure(which, 4 * which->few);
        if (many < FACTOR * few || many < FACTOR * SECONDS_MIN)
            return;
    }
    ck_abort_msg("%s: %zu take %.3f s, %zu take %.3f s", which->name, which->few, few,
                 4 * which->few, many);
}

static void expect_unsupported(const char *name, size_t count, struct ulp_error *error)
{
    int i = 0;
    while (strcmp(growth_models[i].name, name) != 0)
        i++;
    struct proto bytes = growth_models[i].make(count);
    struct ulp_arithmetic lane;
    struct ulp_model *model;
    struct ulp_program *program;
    lane = test_arithmetic("fp32");
    ck_ulp_ok(ulp_model_load_bytes("growth.onnx", bytes.data, bytes.count, NULL, &model, error),
              *error);
    ck_assert_int_eq(ulp_program_create(model, &lane, 1, NULL, &program, error),
                     ULP_ERROR_UNSUPPORTED);
    ulp_model_free(model);
    proto_free(&bytes);
}

TEST(a_list_of_problems_says_what_and_how_many)
{
    struct ulp_error error;
    expect_unsupported("one unknown operator", 1, &error);
    ck_assert_str_eq(error.message,
                     "growth.onnx: 1 thing this version does not compute:\n"
                     "  operator Unknown of domain ai.onnx, opset 21, is not supported "
                     "(node 'Unknown_1')");
    expect_unsupported("one unknown operator", 1000, &error);
    ck_assert_str_eq(error.message,
                     "growth.onnx: 1 thing this version does not compute:\n"
                     "  operator Unknown of domain ai.onnx, opset 21, is not supported "
                     "(nodes 'Unknown_1', 'Unknown_2', 'Unknown_3' and 997 more)");
    expect_unsupported("unknown operators", 1000, &error);
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
