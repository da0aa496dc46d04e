/* What becomes of overflows: absorbed, spoiling, reaching an output; by which constant. The lanes
 * have e4m20, whose largest value is 256 (1 - 2^-21); "big" is 300. */
#include "tests/support/text_model.h"

#include "analysis/audit/auditor.h"

static void audit(const struct text_graph *graph, const char *lane, double x0,
                  struct ulp_audit *out)
{
    scoped_model *model = text_load(graph);
    scoped_tensor_set inputs = text_inputs(model, 3, x0, true);
    scoped_program *program = test_plan(model, &inputs, "mpfr:128", lane);
    *out = test_audit(program, &inputs, NULL);
}

/* What the audit says of the overflow that begins at the node; names are NULL where there is
 * none. */
struct fate {
    const char *node, *constant, *absorbed_by, *spoils;
    bool reaches_output;
};

static const char *name_of(const struct ulp_audit_lane *lane, ptrdiff_t node)
{
    return node < 0 ? "-" : lane->nodes[node].name;
}

static void expect_fates(const struct text_graph *graph, const char *lane_name, double x0,
                         const struct fate *fates, size_t count, const char *first_born)
{
    scoped_audit audited = {0};
    audit(graph, lane_name, x0, &audited);
    const struct ulp_audit_lane *lane = &audited.lanes[0];
    size_t roots = 0;
    for (size_t i = 0; i < lane->overflow_count; i++) {
        const struct ulp_audit_overflow *got = &lane->overflows[i];
        if (got->joins >= 0)
            continue;
        ck_assert_uint_lt(roots, count);
        const struct fate *fate = &fates[roots++];
        ck_assert_str_eq(lane->nodes[got->node].name, fate->node);
        ck_assert_str_eq(got->constant < 0 ? "-" : lane->constants[got->constant].name,
                         fate->constant ? fate->constant : "-");
        ck_assert_str_eq(name_of(lane, got->absorbed_by),
                         fate->absorbed_by ? fate->absorbed_by : "-");
        ck_assert_str_eq(name_of(lane, got->spoils), fate->spoils ? fate->spoils : "-");
        ck_assert_int_eq(got->reaches_output, fate->reaches_output);
    }
    ck_assert_uint_eq(roots, count);
    ck_assert_str_eq(name_of(lane, lane->first_born), first_born ? first_born : "-");
}
#define EXPECT(graph, lane, x0, first_born, ...)                      \
    expect_fates(graph, lane, x0, (const struct fate[]){__VA_ARGS__}, \
                 sizeof(const struct fate[]){__VA_ARGS__} / sizeof(struct fate), first_born)

/* 2 - 300 is 2 - 256 here, or -Inf; all elements are alike. */
TEST(a_constant_is_absorbed)
{
    const struct text_graph graph = {"x", "s", "[shift] m = Sub(x, big) [soft] s = Softmax(m)"};
    EXPECT(&graph, "e4m20", 2, NULL, {.node = "shift", .constant = "big", .absorbed_by = "soft"});
    /* exp(-inf - -inf) */
    EXPECT(&graph, "e4m20,constants=ieee", 2, "shift",
           {.node = "shift", .constant = "big", .reaches_output = true});
}

TEST(a_constant_reaches_an_output)
{
    const struct text_graph graph = {"x", "m s", "[shift] m = Sub(x, big) [soft] s = Softmax(m)"};
    EXPECT(&graph, "e4m20", 2, NULL,
           {.node = "shift", .constant = "big", .absorbed_by = "soft", .reaches_output = true});
}

/* x / 256 for x / 300, and x / inf. */
TEST(a_constant_spoils)
{
    const struct text_graph graph = {"x", "q", "[ratio] q = Div(x, big)"};
    EXPECT(&graph, "e4m20", 0, NULL, {.node = "ratio", .constant = "big", .spoils = "ratio"});
    EXPECT(&graph, "e4m20,constants=ieee", 0, NULL,
           {.node = "ratio", .constant = "big", .spoils = "ratio"});
}

/* x * x is 400; 1 / Inf is 0, not 1/20. */
TEST(a_computed_overflow_is_absorbed_or_spoils)
{
    const struct text_graph absorbed = {"x", "t", "[square] a = Mul(x, x) [tanh] t = Tanh(a)"};
    const struct text_graph spoiled = {
        "x", "r", "[square] a = Mul(x, x) [root] b = Sqrt(a) [inverse] r = Reciprocal(b)"};
    const struct text_graph both = {
        "x", "t r", "[square] a = Mul(x, x) [tanh] t = Tanh(a) [inverse] r = Reciprocal(a)"};
    EXPECT(&absorbed, "e4m20", 20, NULL, {.node = "square", .absorbed_by = "tanh"});
    EXPECT(&spoiled, "e4m20", 20, "square", {.node = "square", .spoils = "inverse"});
    EXPECT(&both, "e4m20", 20, "square",
           {.node = "square", .absorbed_by = "tanh", .spoils = "inverse"});
}

TEST(two_that_meet_are_one)
{
    const struct text_graph graph = {
        "x", "t",
        "[square] a = Mul(x, x) [cube] b = Mul(x, x) [sum] c = Add(a, b) [tanh] t = Tanh(c)"};
    EXPECT(&graph, "e4m20", 20, NULL, {.node = "square", .absorbed_by = "tanh"});
}

/* The square reads no constant, though what it overflows to meets one. */
TEST(a_constant_that_is_met_is_no_cause)
{
    const struct text_graph graph = {
        "x", "t", "[square] a = Mul(x, x) [shift] c = Add(a, big) [tanh] t = Tanh(c)"};
    EXPECT(&graph, "e4m20", 20, NULL, {.node = "square", .absorbed_by = "tanh"});
}

/* A bound that nothing reaches is no overflow, but the constant is counted. */
TEST(changed_constants_are_counted)
{
    const struct text_graph graph = {"x", "y", "[bound] a = Min(x, big) [again] y = Min(a, big)"};
    struct ulp_audit audited;
    audit(&graph, "e4m20", 0, &audited);
    const struct ulp_audit_lane *lane = &audited.lanes[0];
    ck_assert_uint_eq(lane->overflow_count, 0);
    ck_assert_uint_eq(lane->constant_count, 1);
    ck_assert_str_eq(lane->constants[0].name, "big");
    ck_assert_str_eq(lane->constants[0].in, "e4m20");
    ck_assert_uint_eq(lane->constants[0].elements, 1);
    ck_assert_uint_eq(lane->constants[0].overflowed, 1);
    ck_assert_uint_eq(lane->constants[0].underflowed, 0);
    ck_assert(lane->constants[0].largest == 300);
    ck_assert_uint_eq(lane->constants[0].reader_count, 2);
    ck_assert_str_eq(lane->nodes[lane->constants[0].first_reader].name, "bound");
    ulp_audit_free(&audited);
    audit(&graph, "fp16", 0, &audited);
    ck_assert_uint_eq(audited.lanes[0].constant_count, 0);
    ulp_audit_free(&audited);
}

TEST_SUITE("overflow", 0)
