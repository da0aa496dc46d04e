/* See engine_test.h. */
#include "tests/analysis/engine_test.h"

#include "tests/support/onnx_text.h"

static const char text[] =
    "(float[4,32] x) => (float[4,8] y)\n"
    "<float[32,32] w1 = {0.5, -0.3, 0.11, 0.7, -0.9, 0.2, 0.013, -0.4, 0.31...},\n"
    " float[32] b1 = {0.3, -2.0, 0.001, 0.7...}, float[32,8] w2 = {0.2, 0.7, -1.1, 0.05...}>\n"
    "{\n"
    "  [/fc1/MatMul] h1 = MatMul(x, w1)\n"
    "  [/fc1/Add] h2 = Add(h1, b1)\n"
    "  [/act/Relu] h3 = Relu(h2)\n"
    "  [/fc.2/MatMul] h4 = MatMul(h3, w2)\n"
    "  [/soft/Softmax] y = Softmax<axis=1>(h4)\n"
    "}\n";

struct ulp_model *model;
struct ulp_program *program;
struct ulp_tensor_set inputs;
struct ulp_error error;

struct ulp_program *make_plan(struct ulp_model *of)
{
    struct ulp_program *out;
    const struct ulp_arithmetic plain = test_arithmetic("fp32");
    ck_ok(ulp_program_create(of, &plain, 1, &(struct ulp_program_options){0}, &out, &why));
    return out;
}

void engine_test_begin(void)
{
    const struct ulp_input_range range = {NULL, -3, 3};
    const struct ulp_random_options options = {.ranges = &range, .range_count = 1, .seed = 5};
    test_folder_create();
    model = onnx_text_load(17, text);
    program = make_plan(model);
    ck_ok(ulp_model_random_inputs(model, &options, &inputs, &why));
}

void engine_test_end(void)
{
    ulp_tensor_set_free(&inputs);
    ulp_program_free(program);
    ulp_model_free(model);
    test_folder_remove();
}

void begin_with(struct subject *out, const char *file, const struct ulp_engine_map_options *options)
{
    char path[256];
    snprintf(path, sizeof path, "engine/%s", file);
    ck_ok(ulp_engine_read(test_data(path), NULL, &out->engine, &why));
    ck_ok(ulp_engine_map_make(&out->engine, program, options, &out->built, &why));
}

void begin(struct subject *out, const char *file)
{
    begin_with(out, file, NULL);
}

void end(struct subject *subject)
{
    ulp_engine_map_free(&subject->built);
    ulp_engine_free(&subject->engine);
}

/* The layer that computes a node. */
const struct ulp_engine_map_layer *layer_of(const struct subject *subject, size_t node)
{
    ck_assert_int_ge(subject->built.nodes[node].layer, 0);
    return &subject->built.layers[subject->built.nodes[node].layer];
}

void write_file(const char *name, const char *content)
{
    FILE *file = fopen(test_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- running ---- */

/* The outputs of one lane. */
struct ulp_tensor_set run_lane(const struct ulp_arithmetic *arithmetic,
                               const struct ulp_keeps *keeps, const struct ulp_groups *groups,
                               const char *name)
{
    struct ulp_tensor_set out = {0};
    scoped_program *of = NULL;
    const struct ulp_program_options options = {.inputs = &inputs,
                                                .keeps = keeps,
                                                .groups = groups,
                                                .names = name ? &name : NULL};
    const struct ulp_run_options run = {.thread_count = 1};
    ck_ok(ulp_program_create(model, arithmetic, 1, &options, &of, &why));
    if (name)
        ck_assert_str_eq(ulp_program_lane_name(of, 0), name);
    ck_ok(ulp_program_run(of, &inputs, &run, NULL, 0, &out, NULL, &why));
    return out;
}

struct ulp_tensor_set run_built(const struct subject *subject)
{
    struct ulp_engine_map_lane lane;
    ck_ok(ulp_engine_map_lane_make(&subject->built, "engine", NULL, NULL, &lane, &why));
    struct ulp_tensor_set out = run_lane(&lane.arithmetic, &lane.keeps, &lane.groups, lane.name);
    ulp_engine_map_lane_free(&lane);
    return out;
}

struct ulp_tensor_set run_plain(const char *name)
{
    const struct ulp_arithmetic arithmetic = test_arithmetic(name);
    return run_lane(&arithmetic, NULL, NULL, NULL);
}

size_t count_unequal(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    size_t unequal = 0;
    for (size_t i = 0; i < a->items[0].tensor.count; i++)
        unequal += ulp_tensor_get(&a->items[0].tensor, i) != ulp_tensor_get(&b->items[0].tensor, i);
    return unequal;
}
