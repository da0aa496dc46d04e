/* Runs folders of ONNX's test cases (test_NAME/model.onnx with test_data_set_i/{input,output}_j.pb) in one arithmetic
 * and counts passed, failed and out of scope by operator. Tolerances are ONNX's own: rtol 1e-3, atol 1e-7, exact for
 * integers and booleans, NaN equal to NaN. What is out of scope stands in the lists below with its reason; nothing else
 * is excused.
 *
 *     conformance [-v] [-a ARITHMETIC] [-o OPERATOR] FOLDER...      exit 1 when a case in scope fails */
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ulpscope.h>

#include "data/data.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

#define SECONDS_PER_CASE 60
#define OPSET_MIN 7
#define PATH_ROOM 4352

static const struct excuse {
    const char *what, *reason;
} operators_out[] = {
    {"Adagrad", "training"},
    {"Adam", "training"},
    {"ArrayFeatureExtractor", "ai.onnx.ml"},
    {"Binarizer", "ai.onnx.ml"},
    {"FlexAttention", "ai.onnx.preview"},
    {"Gradient", "training"},
    {"ImageDecoder", "decodes image files"},
    {"LabelEncoder", "ai.onnx.ml"},
    {"Momentum", "training"},
    {"NegativeLogLikelihoodLoss", "training"},
    {"Optional", "optional values"},
    {"OptionalGetElement", "optional values"},
    {"OptionalHasElement", "optional values"},
    {"RegexFullMatch", "strings"},
    {"SequenceAt", "sequences"},
    {"SequenceConstruct", "sequences"},
    {"SequenceEmpty", "sequences"},
    {"SequenceErase", "sequences"},
    {"SequenceInsert", "sequences"},
    {"SequenceLength", "sequences"},
    {"SequenceMap", "sequences"},
    {"ConcatFromSequence", "sequences"},
    {"SplitToSequence", "sequences"},
    {"SoftmaxCrossEntropyLoss", "training"},
    {"StringConcat", "strings"},
    {"StringNormalizer", "strings"},
    {"StringSplit", "strings"},
    {"TreeEnsemble", "ai.onnx.ml"},
},
types_out[] = {
    {"STRING", "strings"},
    {"COMPLEX64", "complex numbers"},
    {"COMPLEX128", "complex numbers"},
    /* floats of 16 bits and more are computed in the format of the lane, so that rounding to these is not reproduced */
    {"BFLOAT16", "lowered to the lane's format"},
    {"FLOAT8E8M0", "no number format of this version"},
    {"FLOAT4E2M1", "no number format of this version"},
},
cases_out[] = {
    {"v1.16.2/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "wrong expectation, corrected in ONNX 1.17: it counts elements beyond the padding"},
    {"node/test_dft_inverse", "the expectation is off by 1.9e-7 from an exact 0: the exact result fails atol 1e-7"},
    {"test_bernoulli", "random numbers: another generator"},
    {"test_training_dropout", "random numbers: another generator"},
    {"test_identity_opt", "optional values"},
    {"test_identity_sequence", "sequences"},
};

struct options {
    bool verbose;
    const char *arithmetic, *only;
};

/* ---- scope ---- */

static const char *find_excuse(const struct excuse *list, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].what, what) == 0)
            return list[i].reason;
    return NULL;
}
#define FIND(list, what) find_excuse(list, sizeof list / sizeof *list, what)

/* Cases are named by the start of the last part of their path, or of the last two. */
static const char *excuse_case(const char *folder)
{
    for (size_t i = 0; i < sizeof cases_out / sizeof *cases_out; i++) {
        char wanted[256];
        snprintf(wanted, sizeof wanted, "/%s", cases_out[i].what);
        const char *at = strstr(folder, wanted);
        if (at && strstr(at, "test_") == strrchr(folder, '/') + 1)
            return cases_out[i].reason;
    }
    return NULL;
}

static const char *excuse_graph(const struct ulp_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        const char *reason = FIND(operators_out, node->op_type);
        for (size_t a = 0; a < node->attribute_count && !reason; a++)
            if (node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH)
                reason = excuse_graph(node->attributes[a].graph);
        if (reason)
            return reason;
    }
    for (size_t v = 0; v < graph->value_count; v++) {
        const char *reason = FIND(types_out, ulp_type_name(graph->values[v].info.type));
        if (reason)
            return reason;
    }
    return NULL;
}

/* ---- one case ---- */

enum verdict { PASSED, FAILED, OUT_OF_SCOPE, VERDICT_COUNT };

/* What a case says about itself, sent through a pipe by the process that runs it. */
struct result {
    enum verdict verdict;
    char op[48];
    char message[1024];
};

static void set_result(struct result *result, enum verdict verdict, const char *message)
{
    const char *line = strrchr(message, '\n'); /* the planner's first line only counts what follows */
    result->verdict = verdict;
    snprintf(result->message, sizeof result->message, "%.1000s", line ? line + 1 : message);
}

/* Element i of both is equal within the tolerance. */
static bool agrees(const struct ulp_tensor *got, const struct ulp_tensor *wanted, size_t i)
{
    if (!ulp_element_is_float(wanted->element))
        return ulp_tensor_get_int(got, i) == ulp_tensor_get_int(wanted, i);
    double a = ulp_tensor_get(got, i), b = ulp_tensor_get(wanted, i);
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-7 + 1e-3 * fabs(b);
}

static bool compare(const struct ulp_tensor *got, const struct ulp_tensor *wanted, const char *name, char *message,
                    size_t size)
{
    char a[200], b[200];
    if (got->type != wanted->type || !ulp_tensor_same_shape(got, wanted)) {
        snprintf(message, size, "%s is %s, expected %s", name, ulp_tensor_describe_text(got, a, sizeof a),
                 ulp_tensor_describe_text(wanted, b, sizeof b));
        return false;
    }
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < wanted->count; i++)
        if (!agrees(got, wanted, i) && wrong++ == 0)
            first = i;
    if (wrong)
        snprintf(message, size, "%s: %zu of %zu elements wrong, [%zu] is %.9g, expected %.9g", name, wrong,
                 wanted->count, first, ulp_tensor_get(got, first), ulp_tensor_get(wanted, first));
    return wrong == 0;
}

static enum ulp_status run_set(const struct ulp_model *model, const struct ulp_arithmetic *lane, const char *folder,
                               struct result *result, struct ulp_error *error)
{
    struct ulp_tensor_set inputs = {0}, wanted = {0}, got = {0};
    struct ulp_plan *plan = NULL;
    enum ulp_status status = ulp_test_data_set_read(folder, "input", model, &inputs, error);
    if (status == ULP_OK)
        status = ulp_test_data_set_read(folder, "output", model, &wanted, error);
    const struct ulp_plan_options plan_options = {.inputs = &inputs};
    const struct ulp_run_options run_options = {.thread_count = 1};
    if (status == ULP_OK)
        status = ulp_plan_create(model, lane, 1, &plan_options, &plan, error);
    if (status == ULP_OK)
        status = ulp_plan_run(plan, &inputs, &run_options, NULL, 0, &got, NULL, error);
    for (size_t i = 0; status == ULP_OK && i < wanted.count; i++) {
        const struct ulp_tensor *tensor = ulp_tensor_set_find(&got, wanted.items[i].name);
        char message[sizeof result->message];
        if (!tensor)
            set_result(result, FAILED, "an output is missing");
        else if (!compare(tensor, &wanted.items[i].tensor, wanted.items[i].name, message, sizeof message))
            set_result(result, FAILED, message);
    }
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_tensor_set_free(&wanted);
    ulp_tensor_set_free(&got);
    return status;
}

static void run_case(const char *folder, const char *name, const struct options *options, struct result *result)
{
    char path[PATH_ROOM];
    struct ulp_error error = {0};
    struct ulp_model *model = NULL;
    struct ulp_arithmetic lane;
    snprintf(path, sizeof path, "%.4200s/model.onnx", folder);
    enum ulp_status status = ulp_arithmetic_find(options->arithmetic, &lane, &error);
    if (status == ULP_OK)
        status = ulp_model_load(path, &model, &error);
    if (status == ULP_OK) {
        const struct ulp_graph *graph = model->graph;
        bool expanded = strstr(name, "_expanded") || graph->node_count != 1;
        snprintf(result->op, sizeof result->op, "%s",
                 expanded || !graph->node_count ? "(several)" : graph->nodes[0].op_type);
    }
    const char *reason = excuse_case(folder);
    if (!reason && model && ulp_model_opset(model, "") && ulp_model_opset(model, "") < OPSET_MIN)
        reason = "an opset before 7";
    if (!reason && model)
        reason = excuse_graph(model->graph);
    if (reason) {
        set_result(result, OUT_OF_SCOPE, reason);
        ulp_model_free(model);
        return;
    }
    int set = 0;
    for (; status == ULP_OK; set++) {
        snprintf(path, sizeof path, "%.4200s/test_data_set_%d", folder, set);
        if (access(path, R_OK) != 0)
            break;
        status = run_set(model, &lane, path, result, &error);
    }
    if (status != ULP_OK || set == 0)
        set_result(result, FAILED, status != ULP_OK ? error.message : "it has no test_data_set_0");
    ulp_model_free(model);
}

/* In a process of its own: a crash or a hang is one failed case. */
static void run_apart(const char *folder, const char *name, const struct options *options, struct result *result)
{
    int ends[2];
    *result = (struct result){.verdict = PASSED, .op = "?"};
    if (pipe(ends) != 0)
        exit(2);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_PER_CASE);
        run_case(folder, name, options, result);
        exit(write(ends[1], result, sizeof *result) == sizeof *result ? 0 : 2); /* exit, so that leak checkers look */
    }
    close(ends[1]);
    int status;
    if (read(ends[0], result, sizeof *result) != sizeof *result)
        set_result(result, FAILED, "crashed or took too long");
    close(ends[0]);
    waitpid(child, &status, 0);
}

/* ---- counting ---- */

struct tally {
    char op[48];
    size_t counts[VERDICT_COUNT];
};
struct tallies {
    struct tally items[1024];
    size_t count;
    size_t total[VERDICT_COUNT];
};

static void count_result(struct tallies *tallies, const struct result *result)
{
    size_t i = 0;
    while (i < tallies->count && strcmp(tallies->items[i].op, result->op) != 0)
        i++;
    if (i == tallies->count && i + 1 < sizeof tallies->items / sizeof *tallies->items)
        snprintf(tallies->items[tallies->count++].op, sizeof result->op, "%s", result->op);
    tallies->items[i].counts[result->verdict]++;
    tallies->total[result->verdict]++;
}

static int order_tallies(const void *a, const void *b)
{
    return strcmp(((const struct tally *)a)->op, ((const struct tally *)b)->op);
}

static int keep_test(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_folder(const char *folder, const struct options *options, struct tallies *tallies)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, keep_test, alphasort);
    for (int i = 0; i < count; i++) {
        char path[PATH_ROOM];
        struct result result;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (!options->only || strstr(entries[i]->d_name, options->only)) {
            run_apart(path, entries[i]->d_name, options, &result);
            count_result(tallies, &result);
            if (result.verdict == FAILED || options->verbose)
                printf("%-6s %s: %s\n",
                       result.verdict == FAILED   ? "FAILED"
                       : result.verdict == PASSED ? "passed"
                                                  : "out",
                       entries[i]->d_name, result.message);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    struct options options = {.arithmetic = "fp32"};
    static struct tallies tallies;
    for (int letter; (letter = getopt(argc, argv, "va:o:")) != -1;) {
        if (letter == 'v')
            options.verbose = true;
        else if (letter == 'a')
            options.arithmetic = optarg;
        else if (letter == 'o')
            options.only = optarg;
        else
            return 2;
    }
    for (int i = optind; i < argc; i++)
        run_folder(argv[i], &options, &tallies);
    qsort(tallies.items, tallies.count, sizeof *tallies.items, order_tallies);
    printf("%-28s %7s %7s %12s\n", "operator", "passed", "failed", "out of scope");
    for (size_t i = 0; i < tallies.count; i++)
        printf("%-28s %7zu %7zu %12zu\n", tallies.items[i].op, tallies.items[i].counts[PASSED],
               tallies.items[i].counts[FAILED], tallies.items[i].counts[OUT_OF_SCOPE]);
    printf("%-28s %7zu %7zu %12zu\n", "total", tallies.total[PASSED], tallies.total[FAILED],
           tallies.total[OUT_OF_SCOPE]);
    return tallies.total[FAILED] != 0;
}
