/* One of ONNX's test cases: run every data set, compare every output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/conformance/conformance.h"


#define SECONDS_PER_CASE 60

static void set_result(struct case_result *result, enum verdict verdict, const char *message)
{
    /* the planner's first line only counts what follows */
    const char *line = strrchr(message, '\n');
    result->verdict = verdict;
    snprintf(result->message, sizeof result->message, "%.1000s", line ? line + 1 : message);
}

/* Element i of both is equal within the tolerance. */
static bool agrees(const struct ulp_tensor *got, const struct ulp_tensor *wanted, size_t i,
                   const struct tolerance *tolerance)
{
    if (!ulp_type_is_float(wanted->type))
        return ulp_tensor_get_int(got, i) == ulp_tensor_get_int(wanted, i);
    double a = ulp_tensor_get(got, i), b = ulp_tensor_get(wanted, i);
    return a == b || (isnan(a) && isnan(b)) ||
           fabs(a - b) <= tolerance->absolute + tolerance->relative * fabs(b);
}

static bool compare(const struct ulp_tensor *got, const struct ulp_tensor *wanted, const char *name,
                    const struct tolerance *tolerance, char *message, size_t size)
{
    char a[200], b[200];
    if (got->type != wanted->type || !ulp_tensor_same_shape(got, wanted)) {
        snprintf(message, size, "%s is %s, expected %s", name,
                 ulp_tensor_describe_text(got, a, sizeof a),
                 ulp_tensor_describe_text(wanted, b, sizeof b));
        return false;
    }
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < wanted->count; i++)
        if (!agrees(got, wanted, i, tolerance) && wrong++ == 0)
            first = i;
    if (wrong)
        snprintf(message, size, "%s: %zu of %zu elements wrong, [%zu] is %.9g, expected %.9g", name,
                 wrong, wanted->count, first, ulp_tensor_get(got, first),
                 ulp_tensor_get(wanted, first));
    return wrong == 0;
}

/* Of a value of the main graph; UNDEFINED: it has none, or there is no such value. */
static enum ulp_type declared_type(const struct ulp_graph *graph, const char *name)
{
    for (size_t v = 0; v < graph->value_count; v++)
        if (strcmp(graph->values[v].name, name) == 0)
            return graph->values[v].info.type;
    return ULP_TYPE_UNDEFINED;
}

/* ONNX before 1.19 wrote values of BFLOAT16 as their bit patterns in UINT16. */
static enum ulp_status read_set(const char *folder, const char *kind, const struct ulp_model *model,
                                struct ulp_tensor_set *out, struct ulp_error *error)
{
    enum ulp_status status =
        ulp_test_data_set_read(folder, kind, model, ulp_model_budget(model), out, error);
    for (size_t i = 0; status == ULP_OK && i < out->count; i++) {
        struct ulp_tensor *patterns = &out->items[i].tensor, values;
        if (patterns->type != ULP_TYPE_UINT16 ||
            declared_type(model->graph, out->items[i].name) != ULP_TYPE_BFLOAT16)
            continue;
        status = ulp_tensor_create(&values, ULP_TYPE_BFLOAT16, ULP_ELEMENT_COUNT, 0, patterns->rank,
                                   patterns->dims, error);
        if (status != ULP_OK)
            return status;
        for (size_t j = 0; j < values.count; j++) { /* the upper half of an FP32 pattern */
            const uint32_t bits = (uint32_t)((const uint16_t *)patterns->data)[j] << 16;
            memcpy((float *)values.data + j, &bits, sizeof bits);
        }
        ulp_tensor_free(patterns);
        *patterns = values;
    }
    return status;
}

static enum ulp_status run_set(const struct ulp_model *model, const struct ulp_arithmetic *lane,
                               const struct tolerance *tolerance, const char *folder,
                               struct case_result *result, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set wanted = {0};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set got = {0};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    ULP_TRY(read_set(folder, "input", model, &inputs, error));
    ULP_TRY(read_set(folder, "output", model, &wanted, error));
    const struct ulp_program_options plan_options = {.inputs = &inputs};
    const struct ulp_run_options run_options = {.thread_count = 1};
    ULP_TRY(ulp_program_create(model, lane, 1, &plan_options, &program, error));
    ULP_TRY(ulp_program_run(program, &inputs, &run_options, NULL, 0, &got, NULL, error));
    for (size_t i = 0; i < wanted.count; i++) {
        const struct ulp_tensor *tensor = ulp_tensor_set_find(&got, wanted.items[i].name);
        char message[sizeof result->message];
        if (!tensor)
            set_result(result, VERDICT_FAILED, "an output is missing");
        else if (!compare(tensor, &wanted.items[i].tensor, wanted.items[i].name, tolerance, message,
                          sizeof message))
            set_result(result, VERDICT_FAILED, message);
    }
    return ULP_OK;
}

static void name_operator(const struct ulp_model *model, const char *folder,
                          struct case_result *result)
{
    const char *last = strrchr(folder, '/');
    bool several = ulp_model_node_count(model) != 1 || strstr(last ? last : folder, "_expanded");
    snprintf(result->op, sizeof result->op, "%s",
             several ? "(several)" : ulp_model_node_op(model, 0));
}

static void run_case(const char *folder, const struct ulp_arithmetic *arithmetic,
                     const struct tolerance *tolerance, struct ulp_budget *budget,
                     struct case_result *result)
{
    char path[CASE_PATH_ROOM];
    struct ulp_error error = {0};
    struct ulp_model *model = NULL;
    snprintf(path, sizeof path, "%.4200s/model.onnx", folder);
    enum ulp_status status = ulp_model_load(path, budget, &model, &error);
    if (status == ULP_OK)
        name_operator(model, folder, result);
    const char *reason = excuse_case(folder, model);
    if (reason) {
        set_result(result, VERDICT_OUT_OF_SCOPE, reason);
        ulp_model_free(model);
        return;
    }
    struct ulp_arithmetic lane = *arithmetic;
    /* all others lower or widen BFLOAT16 to their storage */
    if (status == ULP_OK && graph_has_type(model->graph, ULP_TYPE_BFLOAT16))
        status = ulp_arithmetic_find("model", &lane, &error);
    int set = 0;
    for (; status == ULP_OK; set++) {
        snprintf(path, sizeof path, "%.4200s/test_data_set_%d", folder, set);
        if (access(path, R_OK) != 0)
            break;
        status = run_set(model, &lane, tolerance, path, result, &error);
    }
    if (status != ULP_OK || set == 0)
        set_result(result, VERDICT_FAILED,
                   status != ULP_OK ? error.message : "it has no test_data_set_0");
    ulp_model_free(model);
}

bool run_case_apart(const char *folder, const struct ulp_arithmetic *arithmetic,
                    const struct tolerance *tolerance, size_t max_memory,
                    struct case_result *result)
{
    int ends[2], status;
    *result = (struct case_result){.verdict = VERDICT_PASSED, .op = "?"};
    fflush(NULL);
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_PER_CASE);
        struct ulp_budget *budget = NULL;
        struct ulp_error error;
        if (ulp_budget_create(max_memory, &budget, &error) == ULP_OK)
            run_case(folder, arithmetic, tolerance, budget, result);
        else
            set_result(result, VERDICT_FAILED, error.message);
        ulp_budget_free(budget);
        /* exit, so that leak checkers look */
        exit(write(ends[1], result, sizeof *result) == sizeof *result ? 0 : 2);
    }
    close(ends[1]);
    bool started = child > 0;
    if (started && read(ends[0], result, sizeof *result) != sizeof *result)
        set_result(result, VERDICT_FAILED, "crashed or took too long");
    close(ends[0]);
    if (started)
        waitpid(child, &status, 0);
    return started;
}
