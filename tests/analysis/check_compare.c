/* analysis/compare: recordings that a model made itself, honest, in another arithmetic, with a bug,
 * and on inputs prepared otherwise. */
#include "analysis/compare/comparing.h"
#include "tests/support/networks.h"
#include "tests/support/proto.h"
#include "number/round/round.h"
#include "pictures.h"
#include "tests/support/test.h"

static const struct ulp_compared_tensor *first_unexplained(const struct ulp_comparison *comparison)
{
    const ptrdiff_t first = comparison->files[0].first_unexplained;
    ck_assert_int_ge(first, 0);
    return &comparison->tensors[first];
}

/* ---- judgements ---- */

static const char *const honest[][2] = {
    {"fp32", "fp32,split-k=4"},
    {"fp32", "fp32,nofma"},
    {"fp32", "fp64"},
    {"fp16", "fp16"},
    {"fp16", "fp16@a100"},
    {"bf16", "bf16@a100"},
    {"tf32", "tf32"},
    {"tf32", "tf32@a100"},
    {"fp64", "mpfr:64"},
    {"mpfr:60", "mpfr:60"},
    {"fp16-strict", "fp16-strict,order=pairwise"},
    {"tf32-strict,acc=bf16", "tf32-strict,acc=bf16"},
};
#define HONEST ((int)(sizeof honest / sizeof *honest))

/* What an arithmetic gives under another schedule, GPU or precision is explained by it. */
TEST_LOOP(honest_runs, 0, HONEST)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, honest[_i][1], true);
    scoped_comparison comparison = picture_compare_one(&recording, honest[_i][0]);
    ck_assert_msg(comparison.files[0].explained, "%s recorded, %s: %s", honest[_i][1],
                  honest[_i][0], comparison.files[0].cause.text);
    ck_assert_int_eq((int)comparison.files[0].by, 0);
    ck_assert_uint_eq(comparison.files[0].tensor_count, 8);
    ck_assert_int_eq(comparison.files[0].cause.kind, ULP_CAUSE_NONE);
    ulp_tensor_set_free(&recording.tensors);
}

/* Recorded in one arithmetic, asked about another: only what was asked for passes. */
static const char *const crossed[] = {"fp32", "tf32",          "bf16",
                                      "fp16", "fp16,acc=fp16", "fp16-strict"};
#define CROSSED ((int)(sizeof crossed / sizeof *crossed))

TEST_LOOP(crossings, 0, 2 * CROSSED * CROSSED)
{
    const char *made = crossed[_i / CROSSED % CROSSED], *asked = crossed[_i % CROSSED];
    const bool all = _i / CROSSED / CROSSED;
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, made, all);
    scoped_comparison comparison = picture_compare_one(&recording, asked);
    const struct ulp_compared_file *file = &comparison.files[0];
    const struct ulp_ranked *best = &file->ranked[0];
    /* FP32 sums are as near to FP16 sums as other schedules of these are, and more exact */
    const bool passes =
        made == asked || (strcmp(made, "fp16") == 0 && strcmp(asked, "fp16,acc=fp16") == 0);
    ck_assert_msg(file->explained == passes, "%s recorded, %s asked, %s: %s", made, asked,
                  all ? "all" : "outputs", file->cause.text);
    ck_assert_str_eq(comparison.arithmetics[best->arithmetic], made);
    ck_assert(best->explains && best->equal == best->elements);
    if (!passes) {
        ck_assert_int_eq(file->cause.kind, ULP_CAUSE_FORMAT);
        ck_assert_str_eq(file->cause.arithmetic, made);
    }
    ulp_tensor_set_free(&recording.tensors);
}

/* ---- the unit, or fake quantisation ---- */

/* Factors with scales, as the unit multiplies them and as fake quantisation does. */
static const char *const scaled[] = {"bf16,factor=nvfp4", "bf16,factor=fp8-row"};
#define SCALED ((int)(sizeof scaled / sizeof *scaled))

TEST_LOOP(units_and_fakes, 0, 4 * SCALED)
{
    const bool made_fake = _i / SCALED % 2, asked_fake = _i / SCALED / 2;
    char names[2][64];
    const bool fakes[] = {made_fake, asked_fake};
    for (int n = 0; n < 2; n++)
        snprintf(names[n], sizeof names[n], "%s%s", scaled[_i % SCALED],
                 fakes[n] ? ",unit=none" : "");
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, names[0], true);
    scoped_comparison comparison = picture_compare_one(&recording, names[1]);
    const struct ulp_compared_file *file = &comparison.files[0];
    ck_assert_msg(file->explained == (made_fake == asked_fake), "%s as %s: %s", names[0], names[1],
                  file->cause.text);
    if (!file->explained) {
        ck_assert_str_eq(file->cause.arithmetic, names[0]);
        ck_assert_ptr_nonnull(
            strstr(file->cause.text, made_fake ? "(fake quantisation" : "(the unit multiplies"));
    }
    ulp_tensor_set_free(&recording.tensors);
}

/* FP8 products of an H200: codes as they were multiplied, the tensors' scales after the sum. */
static struct ulp_model *fp8_model(const struct ulp_tensor_set *recorded, const char *const *keys,
                                   size_t count, struct ulp_tensor_set *inputs,
                                   struct ulp_tensor_set *outputs)
{
    struct proto graph = {0};
    struct ulp_model *model;
    const struct ulp_format e4m3 = test_format("fp8-e4m3");
    proto_text(&graph, GRAPH_NAME, "fp8");
    for (size_t i = 0; i < count; i++) {
        char name[64], links[64], y[8], m[8];
        const struct ulp_tensor *parts[5];
        static const char *const words[] = {"a", "b", "scale_a", "scale_b", "d"};
        for (size_t p = 0; p < 5; p++) {
            snprintf(name, sizeof name, "%s.%s", keys[i], words[p]);
            parts[p] = ulp_tensor_set_find(recorded, name);
            ck_assert_msg(parts[p] != NULL, "%s", name);
        }
        const int64_t k = parts[0]->dims[1], two[] = {2, 2};
        for (int side = 0; side < 2; side++) {
            scoped_tensor x = {0};
            const int64_t dims[] = {side ? k : 2, side ? 2 : k};
            ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
            for (int64_t e = 0; e < 2 * k; e++) /* b was recorded column by column */
                ((float *)x.data)[side ? e % k * 2 + e / k : e] =
                    (float)ulp_format_decode(&e4m3, ((const uint8_t *)parts[side]->data)[e]);
            snprintf(name, sizeof name, "%s%zu", words[side], i);
            proto_value(&graph, GRAPH_INPUT, name, ULP_TYPE_FLOAT, 2, dims);
            picture_add(inputs, name, &x);
        }
        const float scale = ((const float *)parts[2]->data)[0] * ((const float *)parts[3]->data)[0];
        struct proto tensor;
        snprintf(name, sizeof name, "s%zu", i);
        snprintf(m, sizeof m, "m%zu", i);
        snprintf(y, sizeof y, "y%zu", i);
        tensor = proto_tensor(name, ULP_TYPE_FLOAT, 0, NULL);
        proto_numbers(&tensor, TENSOR_RAW, &scale, sizeof scale);
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
        snprintf(links, sizeof links, "a%zu b%zu", i, i);
        struct proto product = proto_node("MatMul", m, links, m), last;
        proto_message(&graph, GRAPH_NODE, &product);
        snprintf(links, sizeof links, "m%zu s%zu", i, i);
        last = proto_node("Mul", y, links, y);
        proto_message(&graph, GRAPH_NODE, &last);
        proto_value(&graph, GRAPH_OUTPUT, y, ULP_TYPE_FLOAT, 2, two);
        picture_add(outputs, y, parts[4]);
    }
    scoped_proto bytes = proto_model(9, 20, &graph);
    ck_ok(ulp_model_load_bytes("fp8.onnx", bytes.data, bytes.count, NULL, &model, &why));
    return model;
}

/* The unit's sums of FP8 products, and those of the same numbers in BF16. */
static const char *const fp8_names[][2] = {{"tf32,factor=fp8-e4m3", "tf32,factor=fp8-e4m3"},
                                           {"tf32,factor=bf16", "tf32,factor=fp8-e4m3"},
                                           {"fp32", "tf32,factor=fp8-e4m3"}};

TEST_LOOP(fp8_of_an_h200, 0, 3)
{
    static const char *const keys[] = {"s2.tensor.e4m3.e4m3.f32.fast",
                                       "s56.tensor.e4m3.e4m3.f32.fast",
                                       "s110.tensor.e4m3.e4m3.f32.fast"};
    scoped_tensor_set recorded = {0}, inputs = {0};
    char recorder[] = "h200";
    struct ulp_recording recording = {.name = recorder};
    scoped_comparison comparison = {0};
    ck_ok(ulp_tensor_set_read(test_data("unit/h200_fp8_scaled.npz"), NULL, &recorded, &why));
    scoped_model *model = fp8_model(&recorded, keys, 3, &inputs, &recording.tensors);
    ck_ok(picture_compare(model, &inputs, &recording, 1, fp8_names[_i][0], &comparison, &why));
    const struct ulp_compared_file *file = &comparison.files[0];
    ck_assert_msg(file->explained == (_i == 0), "%s: %s", fp8_names[_i][0], file->cause.text);
    if (_i < 2) { /* without factor= none is looked for */
        const struct ulp_ranked *best = &file->ranked[0];
        ck_assert_str_eq(comparison.arithmetics[best->arithmetic], fp8_names[_i][1]);
        ck_assert_uint_eq(best->equal, 12);
    }
    ulp_tensor_set_free(&recording.tensors);
}

/* Distances are those of the tensors themselves; two files are measured from each other. */
TEST(distances)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording truth = picture_record(model, &inputs, "mpfr:128", false);
    struct ulp_recording files[2] = {picture_record(model, &inputs, "fp16", false),
                                     picture_record(model, &inputs, "fp32", false)};
    struct ulp_comparison comparison;
    struct ulp_arithmetic lane = test_arithmetic("fp16");
    ck_ok(picture_compare(model, &inputs, files, 2, "fp16", &comparison, &why));
    ck_assert_uint_eq(comparison.tensor_count, 2);
    for (size_t t = 0; t < 2; t++) {
        const struct ulp_compared_tensor *tensor = &comparison.tensors[t];
        const struct ulp_tensor *values[2];
        struct ulp_metrics direct;
        for (size_t f = 0; f < 2; f++) {
            values[f] = ulp_tensor_set_find(&files[f].tensors, tensor->name);
            ck_ok(ulp_metrics_measure(values[f], ulp_tensor_set_find(&truth.tensors, tensor->name),
                                      &lane.storage, &direct, &why));
            ck_assert(tensor->values[f].truth.rms == direct.rms &&
                      tensor->values[f].truth.max_abs == direct.max_abs);
        }
        ck_assert(tensor->values[0].arithmetics[0].max_abs == 0); /* it is that arithmetic */
        ck_ok(ulp_metrics_measure(values[1], values[0], &lane.storage, &direct, &why));
        ck_assert(direct.rms > 0 && tensor->values[1].others[0].rms == direct.rms);
    }
    ck_assert(comparison.files[0].explained && !comparison.files[1].explained);
    ck_assert_ptr_nonnull(strstr(comparison.files[1].cause.text, "computed in fp32"));
    ulp_comparison_free(&comparison);
    for (size_t f = 0; f < 2; f++)
        ulp_tensor_set_free(&files[f].tensors);
    ulp_tensor_set_free(&truth.tensors);
}

/* ---- causes ---- */

static const struct {
    struct definition definition;
    const char *node, *tensor, *hint;
} bugs[] = {
    {{1e-5F, "none", "half_pixel"}, "norm", "b", "epsilon"},
    {{1e-3F, "tanh", "half_pixel"}, "gelu", "c", "approximate=tanh"},
    {{1e-3F, "none", "align_corners"}, "resize", "d", "align_corners"},
};
#define BUGS ((int)(sizeof bugs / sizeof *bugs))

/* The first node that computes something else is named, and nothing but it. */
TEST_LOOP(bugs_are_named, 0, BUGS)
{
    scoped_model *wrong = picture_model(&bugs[_i].definition, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(wrong, &inputs, "fp32,split-k=4", true);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    const struct ulp_cause *cause = &comparison.files[0].cause;
    ck_assert(!comparison.files[0].explained);
    ck_assert_str_eq(first_unexplained(&comparison)->name, bugs[_i].tensor);
    ck_assert_str_eq(first_unexplained(&comparison)->node, bugs[_i].node);
    ck_assert_msg(cause->kind == ULP_CAUSE_NODE, "%s", cause->text);
    ck_assert_uint_eq(cause->node_count, 1);
    ck_assert_str_eq(cause->nodes[0], bugs[_i].node);
    ck_assert_msg(strstr(cause->text, bugs[_i].hint) != NULL, "%s", cause->text);
    ulp_tensor_set_free(&recording.tensors);
}

/* Without time for readings the answer says that none was tried, and what would tell. */
TEST(time_is_over)
{
    scoped_model *wrong = picture_model(&bugs[1].definition, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(wrong, &inputs, "fp32", false);
    picture_seconds = 1e-9;
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    picture_seconds = 0;
    const struct ulp_cause *cause = &comparison.files[0].cause;
    ck_assert(!comparison.files[0].explained && !cause->todo);
    ck_assert_uint_eq(comparison.arithmetic_count, 1);
    ck_assert_ptr_nonnull(strstr(comparison.unranked, "there was no time for"));
    ck_assert_msg(strstr(cause->text, "Of no node were all usual misreadings tried; a longer "
                                      "--max-time or inner tensors would tell"),
                  "%s", cause->text);
    ulp_tensor_set_free(&recording.tensors);
}

/* Recorded inputs beside outputs, and outputs alone. */
TEST_LOOP(preprocessing_is_named, 0, 2 * MISTAKES)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    const int mistake = _i / 2;
    scoped_tensor_set wrong = picture_mistaken(mistake);
    struct ulp_recording recording = picture_record(model, &wrong, "fp32,split-k=4", false);
    if (_i % 2)
        picture_add(&recording.tensors, "x", &wrong.items[0].tensor);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    const struct ulp_cause *cause = &comparison.files[0].cause;
    ck_assert(!comparison.files[0].explained);
    ck_assert_msg(cause->kind == ULP_CAUSE_PREPROCESSING, "%s: %s", mistake_words[mistake],
                  cause->text);
    ck_assert_str_eq(cause->input, "x");
    ck_assert_msg(strstr(cause->text, mistake_words[mistake]) != NULL, "%s: %s",
                  mistake_words[mistake], cause->text);
    if (_i % 2) {
        ck_assert_str_eq(first_unexplained(&comparison)->name, "x");
        ck_assert_ptr_nonnull(strstr(cause->text, "and nothing else"));
    }
    ulp_tensor_set_free(&recording.tensors);
}

/* Another picture altogether. */
TEST_LOOP(other_inputs, 0, 2)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set other = {0};
    const struct ulp_input_range range = {NULL, -1, 1};
    const struct ulp_random_options random = {.seed = 9, .ranges = &range, .range_count = 1};
    ck_ok(ulp_model_random_inputs(model, &random, &other, &why));
    struct ulp_recording recording = picture_record(model, &other, "fp32", false);
    if (_i)
        picture_add(&recording.tensors, "x", &other.items[0].tensor);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    const struct ulp_cause *cause = &comparison.files[0].cause;
    ck_assert_msg(cause->kind == ULP_CAUSE_INPUTS, "%s", cause->text);
    ck_assert_str_eq(cause->input, "x");
    ulp_tensor_set_free(&recording.tensors);
}

/* A tensor as a framework with channels last records it. */
static void turn_last(struct ulp_tensor *tensor)
{
    const int64_t dims[] = {tensor->dims[0], tensor->dims[2], tensor->dims[3], tensor->dims[1]};
    struct ulp_tensor last, like;
    ck_ok(ulp_tensor_create(&like, tensor->type, tensor->element, 0, 4, dims, &why));
    ck_ok(ulp_layout_turn(&last, tensor, &like, NULL, &why));
    ulp_tensor_free(tensor);
    ulp_tensor_free(&like);
    *tensor = last;
}

/* Everything recorded with channels last is explained; inputs whose elements were taken in that
 * order are not. */
TEST_LOOP(channels_last, 0, 2)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = _i ? picture_mistaken(2) : picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, "fp32,split-k=4", !_i);
    scoped_tensor picture = picture_make();
    picture_add(&recording.tensors, "x", &picture);
    for (size_t t = 0; t < recording.tensors.count; t++)
        if (recording.tensors.items[t].tensor.rank == 4 &&
            (!_i || strcmp(recording.tensors.items[t].name, "x") == 0))
            turn_last(&recording.tensors.items[t].tensor);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    ck_assert(comparison.tensors[0].values[0].turned && comparison.tensors[0].values[0].explained);
    if (_i) {
        ck_assert_msg(comparison.files[0].cause.kind == ULP_CAUSE_PREPROCESSING, "%s",
                      comparison.files[0].cause.text);
        ck_assert_ptr_nonnull(strstr(comparison.files[0].cause.text, "FLOAT[1,12,10,3]"));
    } else {
        ck_assert_msg(comparison.files[0].explained, "%s", comparison.files[0].cause.text);
    }
    ulp_tensor_set_free(&recording.tensors);
}

static const char *const other_formats[] = {"fp16", "bf16", "tf32"};

/* Computed in another arithmetic than was said. */
TEST_LOOP(formats_are_named, 0, 3)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, other_formats[_i], true);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    const struct ulp_cause *cause = &comparison.files[0].cause;
    ck_assert_msg(cause->kind == ULP_CAUSE_FORMAT, "%s", cause->text);
    ck_assert_str_eq(cause->arithmetic, other_formats[_i]);
    ulp_tensor_set_free(&recording.tensors);
}

/* One value that is not a number, and a shape that is none of the graph's. */
TEST(broken_values)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, "fp32", false);
    struct ulp_tensor *y = &recording.tensors.items[0].tensor;
    ((float *)y->data)[2] = NAN;
    struct ulp_comparison comparison = picture_compare_one(&recording, "fp32");
    ck_assert(!comparison.files[0].explained);
    ck_assert_str_eq(first_unexplained(&comparison)->name, "y");
    ck_assert_ptr_nonnull(strstr(comparison.files[0].cause.text, "1 of its values"));
    ulp_comparison_free(&comparison);
    y->dims[1]--;
    y->count--;
    comparison = picture_compare_one(&recording, "fp32");
    ck_assert(comparison.tensors[1].values[0].reshaped || comparison.tensors[0].values[0].reshaped);
    ck_assert_int_eq(comparison.files[0].cause.kind, ULP_CAUSE_SHAPE);
    ck_assert_ptr_nonnull(strstr(comparison.files[0].cause.text, "FLOAT[1,4]"));
    ulp_comparison_free(&comparison);
    ulp_tensor_set_free(&recording.tensors);
}

/* Arrays without a partner are listed; none with one is an error; names match but for their
 * separators. */
TEST(names)
{
    scoped_model *model = picture_model(&as_meant, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, "fp32", false),
                         none = {.name = recording.name};
    struct ulp_comparison comparison;
    struct ulp_error error;
    picture_add(&none.tensors, "elsewhere", &recording.tensors.items[0].tensor);
    picture_add(&recording.tensors, "elsewhere", &recording.tensors.items[0].tensor);
    comparison = picture_compare_one(&recording, "fp32");
    ck_assert(comparison.files[0].explained);
    ck_assert_uint_eq(comparison.files[0].unmatched_count, 1);
    ck_assert_str_eq(comparison.files[0].unmatched[0], "elsewhere");
    ulp_comparison_free(&comparison);
    ck_assert_int_eq(picture_compare(model, &inputs, &none, 1, "fp32", &comparison, &error),
                     ULP_ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "nothing to compare"));
    ck_assert_ptr_nonnull(strstr(error.message, "elsewhere"));
    ck_assert_int_eq(picture_compare(model, &inputs, &none, 0, "fp32", &comparison, &error),
                     ULP_ERROR_USAGE);
    ulp_tensor_set_free(&none.tensors);
    ulp_tensor_set_free(&recording.tensors);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    ck_assert(file && text && fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

TEST(reports)
{
    scoped_model *model = picture_model(&bugs[0].definition, NULL);
    scoped_tensor_set inputs = picture_inputs();
    struct ulp_recording recording = picture_record(model, &inputs, "fp32", true);
    scoped_comparison comparison = picture_compare_one(&recording, "fp32");
    static const char *const keys[] = {
        "\"schema\"", "\"tensors\"",      "\"first_unexplained\": \"b\"",
        "\"cause\"",  "\"by\": \"fp32\"", "\"max_abs\"",
        "\"rms\"",    "\"ratio\"",        "\"nodes\"",
        "\"norm\""};
    test_folder_create();
    ck_ok(ulp_comparison_write(&comparison, ULP_OUTPUT_FOLDER, test_folder("report"), &why));
    char *text = read_text(test_folder("report/compare.json"));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        ck_assert_msg(strstr(text, keys[k]) != NULL, "%s is missing", keys[k]);
    free(text);
    ck_ok(ulp_comparison_text(&comparison, 72, false, &text, &why));
    ck_assert_ptr_nonnull(strstr(text, "NOT explained"));
    ck_assert_ptr_nonnull(strstr(text, "epsilon"));
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        ck_assert_msg(end - line <= 100, "a line of %td columns", end - line);
    free(text);
    test_folder_remove();
    ulp_tensor_set_free(&recording.tensors);
}

/* Too small a budget ends in ULP_ERROR_MEMORY wherever it is met. */
TEST(budgets)
{
    struct ulp_error error;
    scoped_tensor_set inputs = picture_mistaken(0), given = picture_inputs();
    scoped_model *free_model = picture_model(&as_meant, NULL);
    struct ulp_recording recording = picture_record(free_model, &inputs, "fp32", false);
    bool done = false;
    for (size_t limit = 1 << 16; !done && limit < (size_t)1 << 30; limit += limit / 4) {
        scoped_budget *budget = NULL;
        struct ulp_comparison comparison;
        ck_ok(ulp_budget_create(limit, &budget, &why));
        struct ulp_model *model = picture_model(&as_meant, budget);
        const enum ulp_status status =
            picture_compare(model, &given, &recording, 1, "fp32", &comparison, &error);
        ck_assert_msg(status == ULP_OK || status == ULP_ERROR_MEMORY, "%s", error.message);
        done = status == ULP_OK;
        ulp_comparison_free(&comparison);
        ulp_model_free(model);
        ck_assert_uint_eq(ulp_budget_used(budget), 0);
    }
    ck_assert(done);
    ulp_tensor_set_free(&recording.tensors);
}

/* ---- what an H200 recorded ---- */

static const char *const modes[][2] = {{"f16", "fp16"},
                                       {"tf32", "tf32"},
                                       {"f32", "fp32"},
                                       {"bf16", "bf16"}};
#define MODES 4

/* Where TF32 was allowed and the library did not use it, both runs have one result. */
static bool has_used(const struct ulp_tensor_set *all, const struct ulp_named_tensor *tensor)
{
    char name[256];
    const char *dot = strstr(tensor->name, "/tf32.");
    if (!dot)
        return true;
    snprintf(name, sizeof name, "%.*s/f32.%s", (int)(dot - tensor->name), tensor->name, dot + 6);
    const struct ulp_tensor *plain = ulp_tensor_set_find(all, name);
    ck_assert_msg(plain && plain->count == tensor->tensor.count, "%s", name);
    return memcmp(plain->data, tensor->tensor.data, plain->count * sizeof(float)) != 0;
}

TEST_LOOP(gpu_runs, MODES, network_count *MODES)
{
    const int network = _i / MODES;
    const char *const *mode = modes[_i % MODES], *path = test_shared("gpu/h200_net_outputs.npz");
    scoped_model *model = NULL;
    struct ulp_tensor_set inputs, all;
    char prefix[128];
    struct ulp_recording recording = {.name = prefix};
    struct ulp_comparison comparison;
    if (!path || !network_load(network, &model, &inputs))
        return;
    ck_ok(ulp_tensor_set_read(path, NULL, &all, &why));
    snprintf(prefix, sizeof prefix, "%s/%s.", networks[network].name, mode[0]);
    bool used = false;
    for (size_t t = 0; t < all.count; t++)
        if (strncmp(all.items[t].name, prefix, strlen(prefix)) == 0) {
            used |= has_used(&all, &all.items[t]);
            picture_add(&recording.tensors, all.items[t].name + strlen(prefix),
                        &all.items[t].tensor);
        }
    ulp_tensor_set_free(&all);
    if (recording.tensors.count) {
        ck_ok(picture_compare(model, &inputs, &recording, 1, used ? mode[1] : "fp32", &comparison,
                              &why));
        ck_assert_msg(comparison.files[0].explained, "%s%s: %s", prefix, mode[1],
                      comparison.files[0].cause.text);
        ulp_comparison_free(&comparison);
    }
    ulp_tensor_set_free(&recording.tensors);
    ulp_tensor_set_free(&inputs);
}

TEST_SUITE("compare", 600)
