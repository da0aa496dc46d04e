/* Edits of the lint: each row of rewrite.def, and what integers.c converts, finds its pattern,
 * leaves its twin alone, and computes the same in exact arithmetic: on random inputs both models
 * are run in MPFR with 128 bits. Not all rows are exact in FP32 and narrower: that is why they are
 * there. */
#include "analysis/lint/proposal.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "rewrite.cases"

/* How many of the proposals are of the case's rule. */
static size_t propose(const struct text_head *c, const struct ulp_model *model,
                      struct ulp_lint_proposals *out)
{
    const struct ulp_lint_options options = {.targets = c->targets};
    ck_ok(ulp_lint_propose(model, &options, 0x1p-24, out, &why));
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++)
        count += strcmp(out->items[i].said.rule, c->name) == 0;
    return count;
}

/* In the graph, or in a body. */
static bool has(const struct ulp_graph *graph, const char *op)
{
    bool found = false;
    for (size_t n = 0; n < graph->node_count && !found; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        found = strcmp(node->op_type, op) == 0;
        for (size_t a = 0; a < node->attribute_count && !found; a++)
            found = node->attributes[a].graph && has(node->attributes[a].graph, op);
    }
    return found;
}

/* Where a case's graph stands. */
enum { MAIN, BRANCHES, CAPTURING, PLACES };

/* "(INPUTS) => (TYPE y) CONSTANTS { NODES }" as both branches of an If, with its constants inside
 * or around it. */
static void place_text(const char *text, int place, char out[4000])
{
    const char *arrow = strstr(text, ") => "), *result = arrow + 5, *end = strstr(result, " y) "),
               *rest = end + 4, *nodes = strstr(rest, "{ ");
    if (*rest == '<') /* constants have braces, too */
        for (nodes = strchr(rest, '>'); strncmp(nodes, "> { ", 4) != 0;)
            nodes = strchr(nodes + 1, '>');
    nodes += *nodes == '>' ? 2 : 0;
    const int inputs = (int)(arrow - text), type = (int)(end - result),
              constants = (int)(nodes - rest);
    const char *inner = place == BRANCHES ? rest : nodes;
    if (place == MAIN)
        snprintf(out, 4000, "%s", text);
    else
        snprintf(out, 4000,
                 "%.*s, bool[1] chosen) => %.*s given) %.*s { given = If <then_branch = () => %.*s "
                 "y) %s, else_branch = () => %.*s y) %s> (chosen) }",
                 inputs, text, type, result, place == CAPTURING ? constants : 0, rest, type, result,
                 inner, type, result, inner);
}

/* Integers and floats on both sides of 0; masked: the first row of five is -inf, and one more. */
static void run(const struct ulp_model *model, bool masked, struct ulp_tensor_set *out)
{
    scoped_tensor_set inputs = {0};
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        struct ulp_tensor tensor = {0};
        ck_ok(ulp_tensor_create(&tensor, info.type, ULP_ELEMENT_COUNT, 0, info.rank, info.dims,
                                &why));
        for (size_t e = 0; e < tensor.count; e++)
            if (info.type == ULP_TYPE_BOOL)
                *(unsigned char *)tensor.data = 1;
            else if (info.type == ULP_TYPE_INT64)
                ((int64_t *)tensor.data)[e] = (int64_t)e - 4;
            else
                ((float *)tensor.data)[e] =
                    masked && e < 6 ? -INFINITY : (float)(((e + 3 * i) * 7 % 11) - 4.75F) / 3;
        ck_ok(ulp_tensor_set_add(&inputs, info.name, &tensor, &why));
    }
    const struct ulp_arithmetic exact = test_arithmetic("mpfr:128");
    scoped_program *program = test_plan_lanes(model, NULL, &exact, 1);
    const struct ulp_run_options options = {.thread_count = 1};
    ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, out, NULL, &why));
}

/* Each node rounds to 128 bits, and nothing here cancels more than a few of them: what is left is
 * that elements are read as doubles, of which those of nearly equal values may be neighbours (2^-51
 * of the largest), and that a Gelu's constants are FP32 numbers where it is written out. */
static void compare(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b, double bound,
                    int number)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t o = 0; o < a->count; o++) {
        const struct ulp_tensor *x = &a->items[o].tensor, *y = &b->items[o].tensor;
        double largest = 0;
        ck_assert_uint_eq(x->count, y->count);
        ck_assert_int_eq(x->rank, y->rank);
        for (size_t e = 0; e < x->count; e++)
            if (isfinite(ulp_tensor_get(x, e)))
                largest = fmax(largest, fabs(ulp_tensor_get(x, e)));
        ck_assert(largest > 0);
        for (size_t e = 0; e < x->count; e++) {
            if (isinf(ulp_tensor_get(x, e)) && ulp_tensor_get(x, e) == ulp_tensor_get(y, e))
                continue;
            const double difference = fabs(ulp_tensor_get(x, e) - ulp_tensor_get(y, e));
            ck_assert_msg(difference <= bound * largest, "case %d: element %zu is %.17g, not %.17g",
                          number, e, ulp_tensor_get(y, e), ulp_tensor_get(x, e));
        }
    }
}

TEST_LOOP(edits, 0, text_case_count(CASES) * PLACES)
{
    const size_t number = (size_t)_i / PLACES;
    const struct text_head head = text_case_head(CASES, number), *c = &head;
    const char *op = strstr(head.rest, " gives ") ? head.rest + 7 : NULL;
    const int place = _i % PLACES;
    char text[4000];
    place_text(text_case(CASES, number, "model", 0), place, text);
    struct proto bytes = onnx_text(c->opset, text);
    scoped_model *model = NULL, *edited = NULL;
    scoped_lint_proposals proposals = {0};
    proto_write(&bytes, test_folder("found.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("found.onnx"), NULL, &model, &why));
    const size_t count = propose(c, model, &proposals);
    SCOPED_MEMORY bool *taken = calloc(proposals.count + 1, sizeof *taken);
    ck_assert_msg(count == (place == MAIN ? 1 : 2), "case %d (%s, place %d): %zu edits",
                  _i / PLACES, c->name, place, count);
    for (size_t i = 0; i < proposals.count; i++) {
        taken[i] = strcmp(proposals.items[i].said.rule, c->name) == 0;
        ck_assert(!taken[i] || proposals.items[i].said.exact);
    }
    scoped_model *changed = NULL;
    ck_ok(ulp_lint_load_edited(&proposals, taken, true, &changed, &why));
    ck_ok(ulp_edit_file(changed, NULL, 0, test_folder("edited.onnx"), &why));
    ck_ok(ulp_model_load(test_folder("edited.onnx"), NULL, &edited, &why));
    ck_assert_msg(!op || (has(edited->graph, op) && !has(model->graph, op)), "case %d: no %s",
                  _i / PLACES, op);
    /* a mask leaves a row without a largest element */
    const bool maskable = strcmp(c->name, "exp-in-half") == 0 || strstr(text, "LogSumExp");
    for (int masked = 0; masked <= maskable; masked++) {
        scoped_tensor_set before = {0}, after = {0};
        run(model, masked, &before);
        run(edited, masked, &after);
        compare(&before, &after, strcmp(c->name, "decomposed-gelu") == 0 ? 0x1p-22 : 0x1p-51,
                _i / PLACES);
    }
}

TEST_LOOP(twins, 0, text_case_count(CASES) * PLACES)
{
    const size_t number = (size_t)_i / PLACES;
    const struct text_head head = text_case_head(CASES, number), *c = &head;
    const char *clean = text_case(CASES, number, "clean", 1);
    char text[4000];
    place_text(clean ? clean : text_case(CASES, number, "model", 1), _i % PLACES, text);
    scoped_model *model = onnx_text_load(c->opset, text);
    scoped_lint_proposals proposals = {0};
    ck_assert_msg(!propose(c, model, &proposals), "case %d (%s): its twin is edited", _i / PLACES,
                  c->name);
}

/* A row without a case fails. */
TEST(rows)
{
    const char *rule;
    size_t count = 0;
    for (size_t r = 0; (rule = ulp_lint_rewrite_rule(r)); r++, count++) {
        size_t of_rows = 0, of_cases = 0;
        for (size_t k = 0; ulp_lint_rewrite_rule(k); k++)
            of_rows += strcmp(ulp_lint_rewrite_rule(k), rule) == 0;
        for (size_t c = 0; c < text_case_count(CASES); c++)
            of_cases += strcmp(text_case_head(CASES, c).name, rule) == 0;
        /* fix asks for it: tests/walk/check_powers.py */
        if (strcmp(rule, ULP_GUARD_RULE) != 0)
            ck_assert_msg(of_cases >= of_rows, "%s: %zu rows, %zu cases", rule, of_rows, of_cases);
    }
    ck_assert_uint_gt(count, 15);
}

TEST_MAIN("rewrite", 0)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
