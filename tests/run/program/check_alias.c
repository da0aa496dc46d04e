/* run: an Identity or Reshape of a constant weight is a view of it, and every figure is the one of
 * a copy: the same graph is audited with these values as outputs, which makes them copies. */
#include "tests/support/onnx_text.h"
#include "tests/support/text_model.h"

#define GRAPH(OUTPUTS)                                                                   \
    "(float[3,8] x) => (float[3,8] y" OUTPUTS ") "                                       \
    "<float[8,8] w = {0.31, -1.7, 0.013, 2.9, -0.77, 70000, 1e-6, 0.5, -0.2...}, "       \
    "float[64] flat = {1.1, -0.4, 0.33...}, int64[2] shape = {8, 8}> { "                 \
    "[same] v = Identity(w) [square] u = Reshape(flat, shape) [first] a = MatMul(x, v) " \
    "[second] b = MatMul(a, u) [third] c = MatMul(b, v) [sum] d = Add(c, x) [end] y = Tanh(d) }"

TEST(figures_are_those_of_copies)
{
    static const char *const graphs[] = {GRAPH(""), GRAPH(", float[8,8] v, float[8,8] u")};
    static const char *const nodes[] = {"same", "square", "first", "second", "third", "sum", "end"};
    struct ulp_audit audits[2];
    for (int g = 0; g < 2; g++) {
        scoped_model *model = onnx_text_load(17, graphs[g]);
        scoped_tensor_set inputs = text_inputs(model, 3, -1, true);
        text_audit_samples(model, &inputs, 1, 2, &audits[g]);
    }
    ck_assert_uint_eq(audits[0].lane_count, audits[1].lane_count);
    for (size_t l = 0; l < audits[0].lane_count; l++)
        for (size_t n = 0; n < sizeof nodes / sizeof *nodes; n++) {
            /* beyond FP16 the value of a copy is infinite for who reads the reference's, while a
             * constant is saturated for all */
            const struct ulp_audit_node *one = audit_node(&audits[0], l, nodes[n]);
            audit_expect_same(one, audit_node(&audits[1], l, nodes[n]));
        }
    ulp_audit_free(&audits[0]);
    ulp_audit_free(&audits[1]);
}

#define WEIGHT "{0.31, -1.7, 0.013, 2.9, -0.77, 1e-6, 0.5, -0.2...}"
#define NAMES(SECOND)                                                                     \
    "(float[3,8] x) => (float[3,8] y) <float[8,8] w = " WEIGHT ", float[8,8] u = " WEIGHT \
    ", float[8,8] other = {-0.9, 0.7, 0.11, 3e-5, -0.33, 1.3...}> { "                     \
    "[one] a = Identity(w) [two] b = Identity(" SECOND ") [three] c = Identity(other) "   \
    "[m1] p = MatMul(x, a) [t1] q = Tanh(p) [m2] r = MatMul(q, b) [t2] s = Tanh(r) "      \
    "[m3] v = MatMul(s, c) [m4] z = MatMul(v, b) [end] y = Tanh(z) }"

/* What names of one weight have in common is measured and kept once, in all samples; names of
 * weights with equal numbers have it each for itself. */
TEST(shares_are_those_of_copies)
{
    static const char *const graphs[] = {NAMES("w"), NAMES("u")};
    static const char *const lanes[] = {"mpfr:128", "fp16", "bf16"};
    struct ulp_arithmetic arithmetics[3];
    struct ulp_audit audits[2];
    for (int l = 0; l < 3; l++)
        arithmetics[l] = test_arithmetic(lanes[l]);
    for (int g = 0; g < 2; g++) {
        scoped_model *model = onnx_text_load(17, graphs[g]);
        struct ulp_tensor_set inputs[] = {text_inputs(model, 3, -1, true),
                                          text_inputs(model, 4, -1, true)};
        const struct ulp_sample items[] = {{"0", &inputs[0], 0}, {"1", &inputs[1], 0}};
        const struct ulp_samples samples = {.count = 2, .items = items};
        const struct ulp_audit_options options = {.shares = true, .thread_count = 1};
        ck_ok(ulp_audit_run(model, arithmetics, 3, &samples, &options, &audits[g], &why));
        ulp_tensor_set_free(&inputs[0]);
        ulp_tensor_set_free(&inputs[1]);
    }
    for (size_t l = 0; l < 2; l++) {
        /* as in check_attribution: what is left is of third order */
        ck_assert(fabs(audits[0].lanes[l].attribution.sum - 1) <= 0.02);
        for (size_t n = 0; n < audits[0].lanes[l].node_count; n++) {
            const struct ulp_audit_node *one = &audits[0].lanes[l].nodes[n],
                                        *own = &audits[1].lanes[l].nodes[n];
            audit_expect_same(one, own);
            ck_assert_double_eq(one->share, own->share);
            ck_assert_double_eq(one->gain, own->gain);
            ck_assert_double_eq(one->condition, own->condition);
            ck_assert(one->share != 0 && audits[0].lanes[l].attribution.given);
            ck_assert_mem_eq(one->causes, own->causes, sizeof one->causes);
        }
    }
    ulp_audit_free(&audits[0]);
    ulp_audit_free(&audits[1]);
}

/* Bytes at the peak of a run of twelve products with one weight of 128 x 128, which each read it
 * under a name of its own, or all as it is. */
static size_t find_peak(bool named)
{
    static const char *const lanes[] = {"mpfr:128", "fp16", "fp32"};
    struct ulp_arithmetic arithmetics[3];
    char text[4000] =
        "(float[2,128] x) => (float[2,128] y) <float[128,128] w = {0.01, -0.02...}> {";
    for (int k = 0; k < 12; k++) {
        char node[200];
        snprintf(node, sizeof node, " [i%d] w%d = Identity(w)", k, k);
        strcat(text, named ? node : "");
    }
    for (int k = 0; k < 12; k++) {
        char node[200], from[8] = "x", to[8] = "y", weight[8] = "w";
        if (k)
            snprintf(from, sizeof from, "h%d", k - 1);
        if (k < 11)
            snprintf(to, sizeof to, "h%d", k);
        if (named)
            snprintf(weight, sizeof weight, "w%d", k);
        snprintf(node, sizeof node, " [m%d] %s = MatMul(%s, %s)", k, to, from, weight);
        strcat(text, node);
    }
    strcat(text, " }");
    scoped_model *model = onnx_text_load(17, text);
    scoped_tensor_set inputs = text_inputs(model, 3, -1, true);
    struct ulp_run_cost cost;
    const struct ulp_run_options once = {.thread_count = 1};
    for (int l = 0; l < 3; l++)
        arithmetics[l] = test_arithmetic(lanes[l]);
    scoped_program *program = test_plan_lanes(model, &inputs, arithmetics, 3);
    ck_ok(ulp_program_run(program, &inputs, &once, NULL, 0, NULL, &cost, &why));
    return cost.peak_bytes;
}

TEST(names_cost_nothing)
{
    const size_t plain = find_peak(false), named = find_peak(true);
    ck_assert_msg(named <= plain + plain / 10, "%zu bytes with names, %zu without", named, plain);
}

TEST_SUITE("alias", 0)
