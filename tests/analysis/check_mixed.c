/* analysis: a model written with types. The oracle is the lane with kept nodes, which rounds where
 * Casts would stand without there being any: the file, run as it declares its types, gives the same
 * bits. lab/compare_mixed.py looks at the files with onnx and ONNX Runtime. */
#include <dirent.h>
#include <unistd.h>

#include "tests/support/networks.h"
#include "tests/support/text_model.h"

#define KEPT_MAX 2000

/* The nodes to keep: a random quarter, then half of them, in runs of three. */
static size_t draw_nodes(size_t count, unsigned draw, size_t nodes[KEPT_MAX])
{
    size_t kept = 0;
    for (size_t n = 0; n < count && kept < KEPT_MAX; n++)
        if (ulp_random_uniform(draw, n / 3) < 0.25 * (1 + draw))
            nodes[kept++] = n;
    return kept;
}

static struct ulp_tensor_set run_lane(const struct ulp_model *model, const char *name,
                                      const struct ulp_keeps *keeps,
                                      const struct ulp_tensor_set *inputs)
{
    const struct ulp_arithmetic lane = test_arithmetic(name);
    const struct ulp_program_options options = {.inputs = inputs, .keeps = keeps};
    struct ulp_tensor_set outputs;
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, NULL, NULL, 0, &outputs, NULL, &why));
    return outputs;
}

static size_t count_nodes(const struct ulp_model *model, const struct ulp_tensor_set *inputs)
{
    scoped_program *program = test_plan(model, inputs, "fp32");
    const size_t count = ulp_program_node_count(program);
    return count;
}

/* The same values, whatever float type the output is declared in. */
static void expect_same_values(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    ck_assert_uint_ge(a->count, 1);
    for (size_t o = 0; o < a->count; o++) {
        const struct ulp_tensor *x = &a->items[o].tensor,
                                *y = ulp_tensor_set_find(b, a->items[o].name);
        ck_assert_ptr_nonnull(y);
        ck_assert(x->element == y->element && ulp_tensor_same_shape(x, y));
        ck_assert_msg(memcmp(x->data, y->data, x->count * x->element_bytes) == 0, "%s",
                      a->items[o].name);
    }
}

static void write_mixed(const struct ulp_model *model, const char *arithmetic,
                        const struct ulp_keeps *keeps, const struct ulp_tensor_set *inputs,
                        struct ulp_mixed *out)
{
    const struct ulp_sample sample = {"one", inputs, 0};
    const struct ulp_mixed_options options = {.arithmetic = test_arithmetic(arithmetic),
                                              .keeps = *keeps,
                                              .thread_count = 2};
    ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
    ck_ok(ulp_mixed_write(model, &options, &sample, 1, test_folder("mixed"), out, &why));
}

/* What the file gives is what the lane gives that also keeps what ONNX has in FLOAT only. */
static void expect_written(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                           const char *arithmetic, unsigned draw)
{
    static size_t nodes[KEPT_MAX], more[KEPT_MAX];
    struct ulp_keep items[2] = {{.nodes = nodes, .arithmetic = test_arithmetic("fp32")},
                                {.nodes = more, .arithmetic = test_arithmetic("fp32")}};
    struct ulp_keeps keeps = {1, items, "some"};
    scoped_mixed mixed = {0};
    scoped_model *written = NULL;
    items[0].node_count = draw_nodes(count_nodes(model, inputs), draw, nodes);
    write_mixed(model, arithmetic, &keeps, inputs, &mixed);
    ck_assert_msg(!mixed.reason, "%s", mixed.reason);
    ck_assert_uint_ge(mixed.low_count, 1);
    ck_assert_uint_eq(mixed.sample_count, 1);
    for (size_t w = 0; w < mixed.widened_count; w++)
        more[items[1].node_count++] = mixed.widened[w].index;
    keeps.count = 2;
    ck_ok(ulp_model_load(mixed.path, NULL, &written, &why));
    scoped_tensor_set expected = run_lane(model, arithmetic, &keeps, inputs);
    scoped_tensor_set got = run_lane(written, "model", NULL, inputs);
    expect_same_values(&expected, &got);
    for (size_t i = 0; i < ulp_model_input_count(model); i++)
        ck_assert_int_eq(ulp_model_input(model, i).type, ulp_model_input(written, i).type);
    for (size_t o = 0; o < ulp_model_output_count(model); o++)
        ck_assert_int_eq(ulp_model_output(model, o).type, ulp_model_output(written, o).type);
}

TEST_LOOP(keeping_is_a_graph_with_casts, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    expect_written(model, &inputs, "fp16", 0);
    expect_written(model, &inputs, "fp16", 1);
}

/* ---- small graphs ---- */

static struct ulp_model *load_text(const struct text_graph *text)
{
    struct proto bytes = text_message(text);
    struct ulp_model *model;
    proto_write(&bytes, test_folder("model.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("model.onnx"), NULL, &model, &why));
    return model;
}

/* Loop and If: what is carried is in the Loop's type, a captured value is cast outside. */
TEST_LOOP(bodies_have_types, 0, 2)
{
    scoped_model *model = load_text(&text_with_bodies);
    for (unsigned draw = 0; draw < 2; draw++)
        for (int truth = 0; truth < 2; truth++) {
            scoped_tensor_set inputs = text_inputs(model, draw, 0, truth);
            expect_written(model, &inputs, _i ? "bf16" : "fp16", draw);
        }
}

/* A model that declares types is planned and written as others are: what "model" and a lane of the
 * nodes that are declared so compute is the same, and further nodes are kept in its file. */
TEST_LOOP(declared_types_are_kept_from, 0, 2)
{
    scoped_model *model = load_text(_i ? &text_with_bodies : &text_chain), *typed = NULL;
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    static size_t nodes[KEPT_MAX];
    struct ulp_keep item = {.nodes = nodes, .arithmetic = test_arithmetic("fp32")};
    item.node_count = draw_nodes(count_nodes(model, &inputs), 0, nodes);
    scoped_mixed mixed = {0};
    write_mixed(model, "fp16", &(struct ulp_keeps){1, &item, NULL}, &inputs, &mixed);
    ck_assert_ptr_nonnull(mixed.path);
    ck_assert_int_eq(rename(mixed.path, test_folder("typed.onnx")), 0);
    ck_ok(ulp_model_load(test_folder("typed.onnx"), NULL, &typed, &why));
    scoped_tensor_set declared = run_lane(typed, "model", NULL, &inputs);
    scoped_tensor_set lane = run_lane(typed, "fp16,types=declared", NULL, &inputs);
    expect_same_values(&declared, &lane);
    for (unsigned draw = 0; draw < 3; draw++) {
        expect_written(typed, &inputs, "model", draw);
        expect_written(typed, &inputs, "fp16,types=declared", draw);
    }
}

/* Neither more nor fewer Casts than borders, and those at the graph's ends. */
TEST_LOOP(casts_are_those_of_the_borders, 0, 4)
{
    static const struct {
        const char *kept;
        size_t casts, constants, duplicates;
    } rows[] = {
        /* x to FP16; y and q back */
        {NULL, 3, 1, 0},
        /* first reads x in FP32; sum reads both in FP16; w is in two types */
        {"first", 4, 1, 1},
        /* a and x to soft in one piece: b is FP32, c and q's b are cast */
        {"sum", 5, 1, 0},
        {"*", 0, 0, 0},
    };
    scoped_model *model = load_text(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    const struct ulp_keep item = {.pattern = rows[_i].kept, .arithmetic = test_arithmetic("fp32")};
    const struct ulp_keeps keeps = {rows[_i].kept != NULL, &item, NULL};
    scoped_mixed mixed = {0};
    write_mixed(model, "fp16", &keeps, &inputs, &mixed);
    ck_assert_int_eq(mixed.reason != NULL, _i == 3);
    ck_assert_uint_eq(mixed.cast_count, rows[_i].casts);
    ck_assert_uint_eq(mixed.constant_count, rows[_i].constants);
    ck_assert_uint_eq(mixed.duplicate_count, rows[_i].duplicates);
}

/* A LayerNormalization of nodes that have two types with their input's: ONNX Runtime looks for a
 * Pow, joins them and refuses what it has made (lab/compare_mixed.py runs it). */
TEST_LOOP(a_norm_of_two_types_has_no_pow, 0, 8)
{
    static const struct text_graph norm = {
        "x", "y",
        "[mean] m = ReduceMean(x) [centre] c = Sub(x, m) [square] p = Pow(c, two) [variance] v = "
        "ReduceMean(p) [epsilon] e = Add(v, big) [root] s = Sqrt(e) [norm] n = Div(c, s) [scale] g "
        "= Mul(n, row) [shift] z = Add(g, row) [dense] y = MatMul(z, w)"};
    static const struct {
        const char *kept, *op;
        bool lower;
    } rows[] = {{"#0-8", "Pow", false}, {NULL, "Mul", false},      {NULL, "Pow", true},
                {"scale", "Mul", true}, {"mean", "Mul", false},    {"square", "Mul", true},
                {"shift", "Mul", true}, {"variance", "Mul", false}};
    scoped_model *model = load_text(&norm), *written = NULL;
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    const struct ulp_sample sample = {"one", &inputs, 0};
    const struct ulp_keep item = {.pattern = rows[_i].kept, .arithmetic = test_arithmetic("fp32")};
    const struct ulp_mixed_options options = {.arithmetic = test_arithmetic("fp16"),
                                              .keeps = {rows[_i].kept != NULL, &item, NULL},
                                              .lower_io = rows[_i].lower};
    scoped_mixed mixed = {0};
    ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
    ck_ok(ulp_mixed_write(model, &options, &sample, 1, test_folder("mixed"), &mixed, &why));
    ck_ok(ulp_model_load(mixed.path, NULL, &written, &why));
    size_t n = 0;
    while (n < ulp_model_node_count(written) &&
           strcmp(ulp_model_node_name(written, n), "square") != 0)
        n++;
    ck_assert_uint_lt(n, ulp_model_node_count(written));
    ck_assert_str_eq(ulp_model_node_op(written, n), rows[_i].op);
}

TEST_LOOP(what_is_no_type_has_a_reason, 0, 4)
{
    static const struct {
        const char *arithmetic, *reason;
    } rows[] = {{"tf32", "tf32 is stored in FLOAT"},
                {"fp32", "fp32 is stored in FLOAT"},
                {"fp8-e4m3", "no type of a graph"},
                {"model", "model is stored in FLOAT"}};
    scoped_model *model = load_text(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    scoped_mixed mixed = {0};
    SCOPED_MEMORY char *text = NULL;
    write_mixed(model, rows[_i].arithmetic, &(struct ulp_keeps){0}, &inputs, &mixed);
    ck_assert(!mixed.path && mixed.reason);
    ck_ok(ulp_mixed_text(&mixed, &text, &why));
    ck_assert_msg(strstr(text, rows[_i].reason), "%s", text);
    ck_assert_ptr_null(fopen(test_folder("mixed/mixed.onnx"), "r"));
}

/* An arithmetic whose format is no graph's type, when a plan keeps every node. */
TEST_LOOP(nothing_is_left_of_an_arithmetic, 0, 2)
{
    const struct ulp_keep all[] = {{.pattern = "*", .arithmetic = test_arithmetic("fp32")},
                                   {.pattern = "*", .arithmetic = test_arithmetic("bf16")}};
    const struct ulp_keeps keeps = {1, &all[_i], "all"};
    scoped_model *model = load_text(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    scoped_mixed mixed = {0};
    write_mixed(model, "fp8-e4m3", &keeps, &inputs, &mixed);
    ck_assert(!mixed.path && mixed.reason);
    ck_assert_str_eq(mixed.reason, "the plan keeps every node, and fp8-e4m3 is no type of a graph");
}

/* The file on disk is read again: another one than was loaded is refused, and nothing is written.
 */
TEST(a_changed_file_is_refused)
{
    scoped_model *model = load_text(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    const struct ulp_sample sample = {"one", &inputs, 0};
    const struct ulp_mixed_options options = {.arithmetic = test_arithmetic("fp16")};
    struct ulp_mixed mixed;
    struct ulp_error error;
    struct proto other = text_message(&text_with_bodies);
    proto_write(&other, test_folder("model.onnx"));
    proto_free(&other);
    ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
    ck_fails(ULP_ERROR_INPUT, "when it was loaded",
             ulp_mixed_write(model, &options, &sample, 1, test_folder("mixed"), &mixed, &why));
    ck_assert_ptr_null(fopen(test_folder("mixed/mixed.onnx"), "r"));
    ck_assert_int_eq(ulp_mixed_write(model, &options, &sample, 0, "", &mixed, &error),
                     ULP_ERROR_USAGE);
}

static enum ulp_status look_at_folder(void *context, const struct ulp_event *event,
                                      struct ulp_error *error)
{
    DIR *folder = opendir(test_folder("mixed"));
    (void)event, (void)error;
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        ck_assert_msg(*entry->d_name == '.' && strspn(entry->d_name, ".") == strlen(entry->d_name),
                      "%s is there before it is checked", entry->d_name);
    closedir(folder);
    ++*(size_t *)context;
    return ULP_OK;
}

/* While the new model is read again and run, nothing of it has a name that a kill would leave. */
TEST(nothing_has_a_name_until_it_is_checked)
{
    scoped_model *model = load_text(&text_chain);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    const struct ulp_sample sample = {"one", &inputs, 0};
    size_t looked = 0;
    const struct ulp_observer observer = {.context = &looked, .node_done = look_at_folder};
    const struct ulp_mixed_options options = {.arithmetic = test_arithmetic("fp16"),
                                              .progress = &observer};
    scoped_mixed mixed = {0};
    ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
    ck_ok(ulp_mixed_write(model, &options, &sample, 1, test_folder("mixed"), &mixed, &why));
    ck_assert_uint_ge(looked, ulp_model_output_count(model) + 1);
    ck_assert_int_eq(access(test_folder("mixed/mixed.onnx"), R_OK), 0);
}

/* The model itself is not overwritten. */
TEST(the_model_stays)
{
    struct proto bytes = text_message(&text_chain);
    scoped_model *model = NULL;
    struct ulp_mixed mixed;
    struct ulp_error error;
    ck_ok(ulp_report_prepare(test_folder("mixed"), &why));
    proto_write(&bytes, test_folder("mixed/mixed.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("mixed/mixed.onnx"), NULL, &model, &why));
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    const struct ulp_sample sample = {"one", &inputs, 0};
    const struct ulp_mixed_options options = {.arithmetic = test_arithmetic("fp16")};
    ck_assert_int_eq(ulp_mixed_write(model, &options, &sample, 1, test_folder("mixed"), &mixed,
                                     &error),
                     ULP_ERROR_USAGE);
}

TEST_MAIN("mixed", 300)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
