/* Every rule of the lint finds what it is for, and leaves alone what only looks like it: two models
 * for each, of which the first differs from the second in what the rule is about. A walk over the
 * rules fails for one without a pair. */
#include <time.h>

#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "tests/support/text_cases.h"

#define CASES "lint.cases"

/* A model, and what the lint is told of it. */
struct lint_case {
    int opset;
    unsigned targets;
    const char *model, *original, *precisions, *output_types;
};

static struct ulp_lint_result run_lint(const struct lint_case *c)
{
    scoped_model *model = onnx_text_load(c->opset, c->model);
    struct ulp_lint_options options = {.layer_precisions = c->precisions,
                                       .layer_output_types = c->output_types};
    struct ulp_lint_result result;
    scoped_model *original = c->original ? onnx_text_load(c->opset, c->original) : NULL;
    options.original = original;
    options.targets = c->targets;
    ck_ok(ulp_lint_run(model, &options, &result, &why));
    return result;
}

static struct ulp_lint_result run_side(size_t number, int side)
{
    const struct text_head head = text_case_head(CASES, number);
    const char *other = side ? text_case(CASES, number, "clean", 1) : NULL;
    const struct lint_case c = {
        .opset = head.opset,
        .model = other ? other : text_case(CASES, number, "model", side),
        .targets = head.targets,
        .original = text_case(CASES, number, "original", side),
        .precisions = text_case(CASES, number, "precisions", side),
        .output_types = text_case(CASES, number, "types", side),
    };
    return run_lint(&c);
}

/* How many findings of the rule; *text becomes "NODE: TEXT" of the first. */
static size_t count_findings(const struct ulp_lint_result *result, const char *id, char text[1000])
{
    size_t count = 0;
    *text = 0;
    for (size_t f = 0; f < result->finding_count; f++) {
        const struct ulp_finding *finding = &result->findings[f];
        if (strcmp(finding->rule, id) != 0)
            continue;
        if (count++ == 0)
            snprintf(text, 1000, "%s%s%s", finding->node ? finding->node : "",
                     finding->node ? ": " : "", finding->text);
    }
    return count;
}

TEST_LOOP(pairs, 0, text_case_count(CASES))
{
    const struct text_head head = text_case_head(CASES, (size_t)_i);
    const char *says = head.rest + strspn(head.rest, ": ");
    const char *given = text_case(CASES, (size_t)_i, "count", 0);
    const size_t expected = given ? strtoul(given, NULL, 10) : 1;
    char text[1000];
    scoped_lint_result found = run_side((size_t)_i, 0), clean = run_side((size_t)_i, 1);
    size_t count = count_findings(&found, head.name, text);
    ck_assert_msg(count == expected, "%s, case %d: %zu findings of %zu: %s", head.name, _i, count,
                  expected, text);
    ck_assert_msg(strstr(text, says), "%s, case %d: '%s' does not say '%s'", head.name, _i, text,
                  says);
    count = count_findings(&clean, head.name, text);
    ck_assert_msg(count == 0, "%s, case %d: found in the clean model: %s", head.name, _i, text);
}

/* Every rule has a pair, and says all it should. */
TEST(rules)
{
    struct ulp_lint_rule rule;
    size_t r = 0;
    for (; ulp_lint_rule(r, &rule); r++) {
        bool has = false;
        for (size_t c = 0; c < text_case_count(CASES); c++)
            has |= strcmp(text_case_head(CASES, c).name, rule.id) == 0;
        ck_assert_msg(has, "rule %s has no pair of models", rule.id);
        ck_assert_int_eq(ulp_lint_rule_find(rule.id), (ptrdiff_t)r);
        ck_assert(*rule.what && *rule.why && *rule.fix && *rule.source && rule.targets);
        ck_assert(rule.what[strlen(rule.what) - 1] != '.');
        ck_assert(rule.why[strlen(rule.why) - 1] == '.' && rule.fix[strlen(rule.fix) - 1] == '.');
    }
    for (size_t c = 0; c < text_case_count(CASES); c++)
        ck_assert_msg(ulp_lint_rule_find(text_case_head(CASES, c).name) >= 0, "no rule %s",
                      text_case_head(CASES, c).name);
    ck_assert_uint_gt(r, 30);
    ck_assert_int_eq(ulp_lint_rule_find("no-such"), -1);
}

/* A rule of other targets is left out. */
TEST(targets)
{
    const struct lint_case c = {
        .opset = 17,
        .targets = ULP_TARGET_ORT,
        .model = "(float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {3}> { q = "
                 "QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"};
    char text[1000];
    scoped_lint_result result = run_lint(&c);
    ck_assert_uint_eq(count_findings(&result, "qdq-asymmetric", text), 0);
    ck_assert_uint_eq(result.targets, ULP_TARGET_ORT);
}

/* Nodes in bodies and functions are looked at, by the names an audit gives them; captured values
 * are followed. */
TEST(bodies)
{
    static const char model[] = "(float[2] x, bool c) => (float[2] y) { [down] h = Cast<to=10>(x) "
                                "[if] y = If<then_branch = () => "
                                "(float[2] t) { [up] t = Cast<to=1>(h) }, else_branch = () => "
                                "(float[2] e) { [/own] e = Cast<to=1>(h) }>(c) }";
    const struct lint_case c = {.opset = 17, .model = model};
    scoped_lint_result result = run_lint(&c);
    size_t seen = 0;
    for (size_t f = 0; f < result.finding_count; f++)
        if (strcmp(result.findings[f].rule, "cast-down-up") == 0)
            seen += strcmp(result.findings[f].node, "if/up") == 0  ? 1
                    : strcmp(result.findings[f].node, "/own") == 0 ? 10
                                                                   : 100;
    ck_assert_uint_eq(seen, 11);
    ck_assert_uint_eq(result.node_count, 4);
}

/* A long chain: 30,000 nodes take no more than 20 times the processor time of 3,000, or a second at
 * most. */
TEST(speed)
{
    double seconds[2];
    for (int k = 0; k < 2; k++) {
        const int count = k ? 30000 : 3000;
        char *text = malloc((size_t)count * 60 + 200), *at = text;
        at += sprintf(at, "(float[2] x) => (float[2] y) <float e = {1e-12}> { v0 = Neg(x) ");
        for (int i = 0; i < count / 3; i++)
            at += sprintf(at, "[/l/a%d] a%d = Add(v%d, e) s%d = Sqrt(a%d) v%d = Neg(s%d) ", i, i, i,
                          i, i, i + 1, i);
        sprintf(at, "y = Neg(v%d) }", count / 3);
        const struct lint_case c = {.opset = 17,
                                    .model = text,
                                    .precisions = "/l/*:fp32,*9:fp16,nobody:fp32",
                                    .output_types = "*:fp32"};
        const clock_t before = clock();
        scoped_lint_result result = run_lint(&c);
        seconds[k] = (double)(clock() - before) / CLOCKS_PER_SEC;
        ck_assert_uint_ge(result.finding_count, (size_t)count / 3);
        free(text);
    }
    ck_assert_msg(seconds[1] < 1 || seconds[1] < 20 * seconds[0], "%g s, %g s", seconds[0],
                  seconds[1]);
}

/* What trtexec refuses ends the lint. */
TEST(usage)
{
    scoped_model *model = onnx_text_load(17, "(float[2] x) => (float[2] y) { [a] y = Relu(x) }");
    const struct ulp_lint_options options = {.layer_precisions = "a:float16"};
    struct ulp_lint_result result;
    struct ulp_error error;
    ck_assert_int_eq(ulp_lint_run(model, &options, &result, &error), ULP_ERROR_USAGE);
    ck_assert(strstr(error.message, "it is called fp16") != NULL);
}

/* The text: the verdict first, and no more findings of a rule than asked for. */
TEST(summary)
{
    struct lint_case plain = {.opset = 17,
                              .model = "(float16[2] x) => (float16[2] y) { [a] a = Exp(x) [b] b = "
                                       "Exp(a) [c] y = Exp(b) }"};
    struct ulp_lint_result result = run_lint(&plain);
    char *text;
    ck_ok(ulp_lint_text(&result, 1, 0, false, &text, &why));
    ck_assert_msg(strncmp(text, "text.onnx: 3 warnings in 3 nodes; first exp-in-half: ", 50) == 0,
                  "%s", text);
    ck_assert_msg(strstr(text, "\n  a     Exp ") && strstr(text, "and 2 more") &&
                      !strstr(text, "\n  b "),
                  "%s", text);
    free(text);
    ulp_lint_free(&result);
    plain.model = "(float[2] x) => (float[2] y) { y = Neg(x) }";
    result = run_lint(&plain);
    ck_ok(ulp_lint_text(&result, 1, 0, false, &text, &why));
    ck_assert(strncmp(text, "text.onnx: nothing found in 1 node\n", 35) == 0);
    free(text);
    ulp_lint_free(&result);
}

TEST_SUITE("lint", 0)
