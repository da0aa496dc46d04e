/* Texts of options: names of arithmetics, limits, rules of kept nodes, trtexec's layer options;
 * and kernels' names. */
#include <stdlib.h>
#include <string.h>

#include "data/layer_options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/proto.h"
#include "analysis/audit/auditor.h"
#include "analysis/audit/part.h"

#define USAGE FUZZ_ALLOW(ULP_ERROR_USAGE)

static const char *check_arithmetic(const struct ulp_arithmetic *arithmetic)
{
    char said[8000];
    struct ulp_arithmetic again;
    struct ulp_error error = {0};
    const size_t length = ulp_arithmetic_describe(arithmetic, said, sizeof said);
    if (length < sizeof said ? strlen(said) != length : strlen(said) != sizeof said - 1)
        return "a description of another length";
    /* A name is given as it was written: it must be found again. */
    if (ulp_arithmetic_find(arithmetic->name, &again, &error) != ULP_OK)
        return "a name that is not found again";
    return strcmp(again.name, arithmetic->name) == 0 ? NULL : "a name that is found as another";
}

const char *fuzz_arithmetic(const uint8_t *bytes, size_t count)
{
    SCOPED_MEMORY char *text = fuzz_text(bytes, count);
    struct ulp_arithmetic arithmetic;
    struct ulp_error error = {0};
    const enum ulp_status status = ulp_arithmetic_find(text, &arithmetic, &error);
    const char *wrong =
        status == ULP_OK ? check_arithmetic(&arithmetic) : fuzz_failure(status, USAGE, &error);
    return wrong;
}

/* logits, probs = Relu(x), Relu(x) */
static struct ulp_model *make_model(void)
{
    const int64_t dims[] = {1, 4};
    struct proto graph = {0}, model, node;
    struct ulp_model *out;
    struct ulp_error error;
    proto_text(&graph, GRAPH_NAME, "g");
    node = proto_node("Relu", "first", "x", "logits");
    proto_message(&graph, GRAPH_NODE, &node);
    node = proto_node("Sigmoid", "second", "x", "a:b");
    proto_message(&graph, GRAPH_NODE, &node);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "logits", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "a:b", ULP_TYPE_FLOAT, 2, dims);
    model = proto_model(8, 17, &graph);
    const char *path = fuzz_file(model.data, model.count);
    if (ulp_model_load(path, NULL, &out, &error) != ULP_OK)
        abort();
    proto_free(&model);
    return out;
}

/* The model, planned in FP64 and FP16; made once. */
static const struct ulp_program *get_plan(struct ulp_model **model_out)
{
    static struct ulp_model *model;
    static struct ulp_program *program;
    struct ulp_error error = {0};
    if (!program) {
        struct ulp_arithmetic lanes[2];
        model = make_model();
        if (ulp_arithmetic_find("fp64", &lanes[0], &error) != ULP_OK ||
            ulp_arithmetic_find("fp16", &lanes[1], &error) != ULP_OK ||
            ulp_program_create(model, lanes, 2, &(struct ulp_program_options){0}, &program,
                               &error) != ULP_OK)
            abort();
    }
    *model_out = model;
    return program;
}

/* Two of these are added, so that figures meet figures. */
const char *fuzz_part(const uint8_t *bytes, size_t count)
{
    struct ulp_model *model;
    struct ulp_auditor *auditor;
    struct ulp_audit audit;
    struct ulp_error error = {0};
    const char *wrong = NULL;
    if (ulp_auditor_create(get_plan(&model), &auditor, &error) != ULP_OK)
        abort();
    enum ulp_status status = ulp_auditor_add_part(auditor, bytes, count, &error);
    if (status == ULP_OK && ulp_auditor_add_part(auditor, bytes, count, &error) != ULP_OK)
        wrong = "a part that is added once only";
    if (status != ULP_OK)
        wrong = fuzz_failure(status, FUZZ_FILE, &error);
    else if (!wrong && ulp_auditor_finish(auditor, &audit, &error) != ULP_OK)
        wrong = "an audit that does not end";
    else if (!wrong) {
        char *summary;
        if (audit.sample_count != 2)
            wrong = "an audit of other than two samples";
        else if (ulp_report_text(&audit, 100, false, &summary, &error) != ULP_OK)
            wrong = "an audit without a report";
        else
            free(summary);
        ulp_audit_free(&audit);
    }
    ulp_auditor_free(auditor);
    return wrong;
}

/* The file of a checkpoint, of which that is the figures. */
const char *fuzz_kept(const uint8_t *bytes, size_t count)
{
    struct ulp_error error = {0};
    SCOPED_MEMORY char *key = NULL;
    SCOPED_MEMORY unsigned char *figures = NULL;
    size_t figure_count;
    const char *wrong = NULL;
    const enum ulp_status status =
        ulp_part_read(fuzz_file(bytes, count), NULL, &key, &figures, &figure_count, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    if (strlen(key) + figure_count >= count)
        wrong = "a file that holds more than its bytes";
    return wrong;
}

const char *fuzz_limit(const uint8_t *bytes, size_t count)
{
    struct ulp_model *model;
    struct ulp_error error = {0};
    const struct ulp_program *program = get_plan(&model);
    SCOPED_MEMORY char *text = fuzz_text(bytes, count);
    enum ulp_status status = ulp_limit_check(text, model, program, &error);
    const char *wrong = status == ULP_OK ? NULL : fuzz_failure(status, USAGE, &error);
    if (status == ULP_OK && ulp_limit_check(text, model, NULL, &error) != ULP_OK)
        wrong = "a limit that is written correctly only with a plan";
    return wrong;
}

const char *fuzz_keep(const uint8_t *bytes, size_t count)
{
    SCOPED_MEMORY char *text = fuzz_text(bytes, count);
    struct ulp_keep keep;
    struct ulp_error error = {0};
    size_t length = 0;
    const enum ulp_status status = ulp_keep_parse(text, &keep, &length, &error);
    const char *wrong = status != ULP_OK ? fuzz_failure(status, USAGE, &error)
                        : length == 0 || length >= strlen(text) || text[length] != '='
                            ? "a pattern of another length"
                            : NULL;
    return wrong;
}

const char *fuzz_layers(const uint8_t *bytes, size_t count)
{
    if (!count)
        return NULL;
    SCOPED_MEMORY char *text = fuzz_text(bytes + 1, count - 1);
    struct ulp_arena *arena;
    struct ulp_layer_options options;
    struct ulp_error error = {0};
    const char *wrong = NULL;
    if (ulp_arena_create(&arena, fuzz_budget(), &error) != ULP_OK)
        abort();
    const enum ulp_status status =
        ulp_layer_options_parse(text, bytes[0] % 2 ? ULP_LAYER_PRECISIONS : ULP_LAYER_OUTPUT_TYPES,
                                arena, &options, &error);
    if (status != ULP_OK)
        wrong = fuzz_failure(status, USAGE, &error);
    for (size_t i = 0; status == ULP_OK && i < options.count && !wrong; i++) {
        const struct ulp_layer_option *item = &options.items[i];
        if (!item->pattern && !ulp_layer_options_find(&options, item->name))
            wrong = "a layer's own entry that is not found";
        if (!item->type_count || !ulp_layer_type_name(item->types[item->type_count - 1]))
            wrong = "an entry without a type";
    }
    if (status == ULP_OK)
        ulp_layer_options_free(&options);
    ulp_arena_free(arena);
    return wrong;
}

const char *fuzz_kernel(const uint8_t *bytes, size_t count)
{
    SCOPED_MEMORY char *text = fuzz_text(bytes, count);
    struct ulp_kernel_name name;
    ulp_kernel_name_read(text, &name);
    const char *wrong = !name.multiply || !name.accumulator || !name.epilogue || !name.output
                            ? "a format that is no text"
                        : name.slices < 0 || name.architecture < 0 ? "a number out of range"
                        : !name.matrix && name.certainty != ULP_CERTAINTY_UNKNOWN
                            ? "sure of what is no kernel of products"
                            : NULL;
    return wrong;
}
