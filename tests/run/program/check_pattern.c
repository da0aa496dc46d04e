/* run: which nodes a lane keeps: patterns, indexes, plans in files; and where values cross a border
 * between two storages. */
#include "tests/support/text_model.h"

static const struct text_graph ways = {
    "x", "y z",
    "[start] a = MatMul(x, w) [enc/left] b = Softmax(a) [enc/right] c = Exp(a) [enc/join] d = "
    "Add(b, c) [side] z = Neg(c) [end] y = Mul(d, two)"};

/* The nodes' initials that the pattern keeps. */
static const struct choice {
    const char *pattern, *nodes;
} choices[] = {
    {"start", "s"},
    {"enc/*", "lrj"},
    {"*/?oin", "j"},
    {"*", "slrjSe"},
    {"op:Softmax", "l"},
    {"op:*M*", "se"},
    {"#2", "r"},
    {"#1-3", "lrj"},
    {"before:enc/join", "slr"},
    {"before:end", "slrj"},
    {"before:enc/*", "s"},
    {"after:enc/right", "jSe"},
    {"after:enc/left", "je"},
    {"between:start,end", "slrje"},
    {"between:enc/right,side", "rS"},
    {"between:enc/left,enc/left", "l"},
};

static char initial(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash[1] : strcmp(name, "side") == 0 ? 'S' : name[0];
}

static struct ulp_program *plan_text(const struct ulp_model *model, const char *lane)
{
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    struct ulp_program *program = test_plan(model, &inputs, lane);
    return program;
}

static enum ulp_status keep_pattern(struct ulp_program *program, const char *pattern,
                                    struct ulp_error *error)
{
    const struct ulp_keep keep = {.pattern = pattern, .arithmetic = test_arithmetic("fp32")};
    const struct ulp_keeps keeps = {1, &keep, NULL};
    return ulp_program_keep(program, 0, &keeps, error);
}

TEST_LOOP(patterns_name_nodes, 0, (int)(sizeof choices / sizeof *choices))
{
    scoped_model *model = text_load(&ways);
    scoped_program *program = plan_text(model, "fp16");
    char got[16] = "", name[80];
    ck_ok(keep_pattern(program, choices[_i].pattern, &why));
    for (size_t n = 0; n < ulp_program_node_count(program); n++)
        if (strcmp(ulp_program_node_arithmetic(program, 0, n)->name, "fp32") == 0)
            strncat(got, (char[]){initial(ulp_program_node_name(program, n)), 0}, 1);
    ck_assert_str_eq(got, choices[_i].nodes);
    snprintf(name, sizeof name, "fp16,keep=%s=fp32", choices[_i].pattern);
    ck_assert_str_eq(ulp_program_lane_name(program, 0), name);
    ck_ok(ulp_program_keep(program, 0, &(struct ulp_keeps){0}, &why));
    ck_assert_str_eq(ulp_program_lane_name(program, 0), "fp16");
}

/* In bodies: what a body is given comes from what its node is given, and an If or Loop stands for
 * the nodes inside. */
TEST_LOOP(patterns_reach_into_bodies, 0, 6)
{
    static const struct choice inside[] = {
        {"loop", "loop/half loop/turn loop/soft loop/sum loop/go loop "},
        {"op:If", "if/scale if/project if/power if "},
        {"after:if/project", "if loop/half loop/turn loop/soft loop/sum loop/go loop "},
        {"before:if/project", "first if/scale "},
        {"before:loop/half", "first if/scale if/project if/power if "},
        {"between:loop/turn,loop/sum", "loop/turn loop/soft loop/sum "},
    };
    scoped_model *model = text_load(&text_with_bodies);
    scoped_program *program = plan_text(model, "fp16");
    char got[400] = "";
    ck_ok(keep_pattern(program, inside[_i].pattern, &why));
    for (size_t n = 0; n < ulp_program_node_count(program); n++)
        if (strcmp(ulp_program_node_arithmetic(program, 0, n)->name, "fp32") == 0) {
            strcat(got, ulp_program_node_name(program, n));
            strcat(got, " ");
        }
    ck_assert_str_eq(got, inside[_i].nodes);
}

TEST_LOOP(what_names_no_node_is_refused, 0, 16)
{
    static const struct {
        const char *pattern, *hint;
    } wrong[] = {
        {"enc/lef", "\"enc/left\""},
        {"right", "\"enc/right\""},
        {"enc/rihgt", "\"enc/right\""},
        {"d", "of node 'enc/join'"},
        {"nothing like it", "no node is called 'nothing like it'"},
        {"op:SoftMax", "\"Softmax\""},
        {"op:Conv", "no operator 'Conv'"},
        {"#6", "6 nodes, #0 to #5"},
        {"#3-2", "#FIRST-LAST"},
        {"#", "#FIRST-LAST"},
        {"#1-", "#FIRST-LAST"},
        {"before:start", "names no node"},
        {"after:enc/lefty", "\"enc/left\""},
        {"between:end,start", "names no node"},
        {"between:start", "between:A,B"},
        {"between:start,en", "\"end\""},
    };
    scoped_model *model = text_load(&ways);
    scoped_program *program = plan_text(model, "fp16");
    ck_ok(keep_pattern(program, "side", &why));
    ck_fails(ULP_ERROR_USAGE, wrong[_i].hint, keep_pattern(program, wrong[_i].pattern, &why));
    /* the program is as it was */
    ck_assert_str_eq(ulp_program_lane_name(program, 0), "fp16,keep=side=fp32");
    ck_assert_str_eq(ulp_program_node_arithmetic(program, 0, 4)->name, "fp32");
}

TEST(nodes_are_kept_by_index)
{
    static const size_t nodes[] = {1, 3};
    scoped_model *model = text_load(&ways);
    scoped_program *program = plan_text(model, "fp16");
    struct ulp_error error;
    const struct ulp_keep items[] = {
        {.nodes = nodes, .node_count = 2, .arithmetic = test_arithmetic("fp32")},
        {.nodes = &nodes[1], .node_count = 1, .arithmetic = test_arithmetic("bf16")}};
    ck_ok(ulp_program_keep(program, 0, &(struct ulp_keeps){2, items, "mine"}, &why));
    ck_assert_str_eq(ulp_program_lane_name(program, 0), "fp16,keep=mine");
    ck_assert_str_eq(ulp_program_node_arithmetic(program, 0, 1)->name, "fp32");
    ck_assert_str_eq(ulp_program_node_arithmetic(program, 0, 2)->name, "fp16");
    ck_assert_str_eq(ulp_program_node_arithmetic(program, 0, 3)->name, "bf16");
    const struct ulp_keep beyond = {.nodes = (const size_t[]){6},
                                    .node_count = 1,
                                    .arithmetic = test_arithmetic("fp32")};
    ck_assert_int_eq(ulp_program_keep(program, 0, &(struct ulp_keeps){1, &beyond, NULL}, &error),
                     ULP_ERROR_USAGE);
    const struct ulp_keep integers = {.pattern = "side",
                                      .arithmetic = test_arithmetic("fp32,qdq=integer")};
    ck_assert_int_eq(ulp_program_keep(program, 0, &(struct ulp_keeps){1, &integers, NULL}, &error),
                     ULP_ERROR_USAGE);
}

/* ---- borders ---- */

TEST_LOOP(borders_are_where_casts_would_be, 0, 6)
{
    static const struct {
        const char *base, *pattern, *kept, *borders;
    } rows[] = {
        {"fp16", "enc/right", "fp32", "a:fp32:1 c:fp16:2 "},
        {"fp16", "enc/*", "fp32", "a:fp32:2 c:fp16:1 d:fp16:1 "},
        {"fp16", "*", "fp32", ""},
        /* the same storage */
        {"tf32", "enc/right", "fp32", ""},
        {"fp16", "enc/right", "fp16-strict", ""},
        {"model", "enc/right", "fp32", ""},
    };
    scoped_model *model = text_load(&ways);
    scoped_program *program = plan_text(model, rows[_i].base);
    const struct ulp_keep keep = {.pattern = rows[_i].pattern,
                                  .arithmetic = test_arithmetic(rows[_i].kept)};
    struct ulp_border *borders;
    size_t count;
    char got[400] = "";
    ck_ok(ulp_program_keep(program, 0, &(struct ulp_keeps){1, &keep, NULL}, &why));
    ck_ok(ulp_program_borders(program, 0, &borders, &count, &why));
    for (size_t b = 0; b < count; b++) {
        const size_t length = strlen(got);
        ck_assert_int_lt(snprintf(got + length, sizeof got - length, "%s:%s:%zu ", borders[b].value,
                                  borders[b].to->name, borders[b].reader_count),
                         (int)(sizeof got - length));
        ck_assert_uint_eq(borders[b].elements, 24);
    }
    ck_assert_str_eq(got, rows[_i].borders);
    ulp_borders_free(borders);
}

/* ---- files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST(a_plan_is_read)
{
    struct ulp_precision_plan plan;
    struct ulp_error error;
    const char *path = test_folder("plan.json");
    write_file(path, "{\"arithmetic\": \"fp16@a100\", \"keep\": [\n"
                     " {\"nodes\": [\"op:Softmax\", \"a*\"], \"arithmetic\": \"fp32\"},\n"
                     " {\"nodes\": \"#1\", \"arithmetic\": \"bf16\"}]}");
    ck_ok(ulp_precision_plan_read(path, NULL, &plan, &why));
    ck_assert_str_eq(plan.arithmetic.name, "fp16@a100");
    ck_assert_str_eq(plan.keeps.name, "plan.json");
    ck_assert_uint_eq(plan.keeps.count, 3);
    ck_assert_str_eq(plan.keeps.items[1].pattern, "a*");
    ck_assert_str_eq(plan.keeps.items[1].arithmetic.name, "fp32");
    ck_assert_str_eq(plan.keeps.items[2].arithmetic.name, "bf16");
    ulp_precision_plan_free(&plan);
    ck_assert_int_eq(ulp_precision_plan_read(test_folder("none.json"), NULL, &plan, &error),
                     ULP_ERROR_INPUT);
}

TEST_LOOP(a_wrong_plan_says_where, 0, 10)
{
    static const struct {
        const char *text, *hint;
    } wrong[] = {
        {"{\"arithmetic\": \"fp16\",\n \"keep\": [}", "line 2"},
        {"[]", "is no JSON object"},
        {"{\"keep\": []}", "has no \"arithmetic\""},
        {"{\"arithmetic\": \"fp61\", \"keep\": []}", "fp61"},
        {"{\"arithmetic\": \"fp16\", \"keep\": {}}", "\"keep\" is no list"},
        {"{\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": \"a\"}]}",
         "\"keep\"[0]: has no \"arithmetic\""},
        {"{\"arithmetic\": \"fp16\", \"keep\": [{\"arithmetic\": \"fp32\"}]}",
         "\"keep\"[0]: has no \"nodes\""},
        {"{\"arithmetic\": \"fp16\", \"keep\": [{\"nodes\": [\"a\", 3], \"arithmetic\": "
         "\"fp32\"}]}",
         "\"nodes\"[1] is no text"},
        {"{\"arithmetic\": \"fp16\", \"keep\": [], \"verdict\": \"\"}",
         "schema 1, which ulpscope 0.1.0 reads"},
        {"{\"schema\": 3, \"ulpscope\": \"0.3\", \"arithmetic\": \"fp16\", \"keep\": []}",
         "ulpscope 0.3 reads"},
    };
    struct ulp_precision_plan plan;
    struct ulp_error error;
    const char *path = test_folder("plan.json");
    write_file(path, wrong[_i].text);
    ck_assert_int_ne(ulp_precision_plan_read(path, NULL, &plan, &error), ULP_OK);
    ck_assert_msg(strstr(error.message, wrong[_i].hint) && strstr(error.message, "plan.json"), "%s",
                  error.message);
}

TEST_LOOP(a_rule_is_cut_where_an_arithmetic_begins, 0, 6)
{
    static const struct {
        const char *text;
        size_t length;
        const char *name;
    } rows[] = {
        {"op:Softmax=fp32", 10, "fp32"},
        {"a=b=fp16,acc=fp16", 3, "fp16,acc=fp16"},
        {"x=fp16,acc=fp16", 1, "fp16,acc=fp16"},
        {"x", 0, NULL},
        {"=fp32", 0, NULL},
        {"x=fp61", 0, NULL},
    };
    struct ulp_keep keep;
    struct ulp_error error;
    size_t length = 0;
    const enum ulp_status status = ulp_keep_parse(rows[_i].text, &keep, &length, &error);
    ck_assert_int_eq(status, rows[_i].name ? ULP_OK : ULP_ERROR_USAGE);
    if (rows[_i].name) {
        ck_assert_uint_eq(length, rows[_i].length);
        ck_assert_str_eq(keep.arithmetic.name, rows[_i].name);
    }
}

TEST_MAIN("pattern", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
