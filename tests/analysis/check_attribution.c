/* analysis: shares of the nodes in the error of the outputs. */
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "base/random.h"
#include "tests/support/text_model.h"

#define LANES 4
static const char *lanes[LANES] = {"mpfr:128", "fp16", "tf32", "fp32"};

static const struct text_graph looped;
static const struct text_graph unrolled = {
    "x i_count",
    "y",
    {NODE("MatMul", "0/step", "x w", "m0"), NODE("Add", "0/add", "m0 x", "a0"),
     NODE("Tanh", "0/bend", "a0", "t0"), NODE("MatMul", "1/step", "t0 w", "m1"),
     NODE("Add", "1/add", "m1 x", "a1"), NODE("Tanh", "1/bend", "a1", "t1"),
     NODE("MatMul", "2/step", "t1 w", "m2"), NODE("Add", "2/add", "m2 x", "a2"),
     NODE("Tanh", "2/bend", "a2", "y")}};

/* How the next runs keep values: at most so much in memory, and whether a file may hold the rest.
 */
static size_t kept_max = SIZE_MAX;
static bool spills;
/* By lane; NULL: nothing is kept. And whether lanes that overflow are attributed without that. */
static const struct ulp_keeps *keeps;
static bool fixes;

static enum ulp_status attribute(const struct text_graph *text, const char *output, double x0,
                                 size_t samples, size_t verify, struct ulp_audit *out,
                                 struct ulp_error *error)
{
    struct ulp_model *model = text_load(text);
    struct ulp_tensor_set inputs[2] = {text_inputs(model, 5, x0, true),
                                       text_inputs(model, 6, x0, true)};
    const struct ulp_plan_options options = {.inputs = inputs, .keeps = keeps};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    const struct ulp_attribution_options shares = {.output = output, .thread_count = 1};
    struct ulp_arithmetic arithmetics[LANES];
    struct ulp_plan *plan;
    struct ulp_auditor *auditor;
    struct ulp_attributor *attributor;
    for (size_t l = 0; l < LANES; l++)
        arithmetics[l] = test_arithmetic(lanes[l]);
    ck_ulp_ok(ulp_plan_create(model, arithmetics, LANES, &options, &plan, error), *error);
    ck_ulp_ok(ulp_auditor_create(plan, &auditor, error), *error);
    enum ulp_status status = ulp_attributor_create(plan, output, 1, &attributor, error);
    if (status == ULP_OK && spills)
        status = ulp_attributor_spill(attributor, ".", error);
    if (status == ULP_OK)
        ulp_attributor_causes(attributor);
    if (status == ULP_OK && kept_max < attributor->kept_max)
        attributor->kept_max = kept_max;
    for (size_t s = 0; s < samples && status == ULP_OK; s++) {
        const struct ulp_observer observers[] = {ulp_auditor_observer(auditor),
                                                 ulp_attributor_observer(attributor)};
        ck_ulp_ok(ulp_auditor_sample(auditor, "sample", error), *error);
        ck_ulp_ok(ulp_attributor_sample(attributor, &inputs[s], error), *error);
        ulp_attributor_verify(attributor, verify);
        ck_ulp_ok(ulp_plan_run(plan, &inputs[s], &run, observers, 2, NULL, NULL, error), *error);
        status = ulp_attributor_sweep(attributor, error);
    }
    if (status == ULP_OK) {
        ck_ulp_ok(ulp_auditor_finish(auditor, out, error), *error);
        ck_ulp_ok(ulp_attributor_finish(attributor, out, error), *error);
    }
    const struct ulp_tensor_set *given[] = {&inputs[0], &inputs[1]};
    if (fixes)
        ck_ulp_ok(ulp_audit_attribute_overflowing(out, plan, given, samples, &shares, error),
                  *error);
    ulp_attributor_free(attributor);
    ulp_auditor_free(auditor);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs[0]);
    ulp_tensor_set_free(&inputs[1]);
    ulp_model_free(model);
    return status;
}

/* What is left is of third order in errors of 2^-11 and less: 2 % is the promise. */
static void expect_whole(const struct ulp_audit *audit)
{
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_attribution *a = &audit->lanes[l].attribution;
        double sum = a->inputs, missing = 0;
        ck_assert_msg(a->given, "%s: %s", audit->lanes[l].name, a->reason);
        for (size_t n = 0; n < audit->lanes[l].node_count; n++) {
            sum += audit->lanes[l].nodes[n].share + audit->lanes[l].nodes[n].decision;
            missing += audit->lanes[l].nodes[n].missing;
        }
        ck_assert_msg(fabs(a->sum - 1) <= 0.02, "%s: sum %.4f", audit->lanes[l].name, a->sum);
        ck_assert_msg(fabs(a->sum - sum) <= 1e-12 && fabs(a->residual - (1 - sum)) <= 1e-12,
                      "%s: the sum is not that of the nodes", audit->lanes[l].name);
        /* errors are kept with 24 bits, and amplified by less than 2^6 here */
        ck_assert_msg(fabs(missing - a->residual) <= 0x1p-17, "%s: %g is missing, %g by nodes",
                      audit->lanes[l].name, a->residual, missing);
    }
}

START_TEST(shares_add_up)
{
    struct ulp_audit audit;
    struct ulp_error error;
    static const char *const outputs[] = {NULL, "y", "c", "y[1,2]", "y[-1,0]-y[0,3]"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        ck_ulp_ok(attribute(&text_chain, outputs[i], 0, 1, 0, &audit, &error), error);
        expect_whole(&audit);
        const struct ulp_audit_node *square = audit_node(&audit, 0, "square");
        ck_assert((square->share != 0) == (i == 0)); /* y does not follow it */
        ck_assert(!square->stops);
        if (outputs[i])
            ck_assert_str_eq(audit.lanes[0].attribution.output, outputs[i]);
        ulp_audit_free(&audit);
    }
}
END_TEST

/* Groups have the sums of their nodes, whatever they are called. */
START_TEST(groups_add_up)
{
    struct ulp_audit audit;
    struct ulp_error error;
    ck_ulp_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &error), error);
    static const char *const by[] = {"op", "prefix:1", "prefix:9", "cause"};
    /* the last part is the node's own. Of causes: weights, sums and results always */
    static const size_t counts[] = {3, 3, 3};
    for (size_t i = 0; i < 4; i++) {
        ck_ulp_ok(ulp_audit_group_shares(&audit, by[i], &error), error);
        const struct ulp_attribution *a = &audit.lanes[0].attribution;
        ck_assert(i == 3 ? a->group_count >= 3 : a->group_count == counts[i]);
        double sum = a->inputs;
        for (size_t g = 0; g < a->group_count; g++) {
            sum += a->groups[g].share;
            ck_assert(g == 0 || fabs(a->groups[g].share) <= fabs(a->groups[g - 1].share));
        }
        ck_assert_double_eq_tol(sum, a->sum, 1e-12);
    }
    static const char *const wrong[] = {"", "ops", "prefix:", "prefix:0", "prefix:2x"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(ulp_audit_group_shares(NULL, wrong[i], &error), ULP_ERROR_USAGE);
    ulp_audit_free(&audit);
}
END_TEST

/* ---- causes ---- */

static void expect_parts(const struct ulp_audit *audit, const char *what)
{
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t n = 0; n < audit->lanes[l].node_count; n++) {
            const struct ulp_audit_node *node = &audit->lanes[l].nodes[n];
            double sum = 0;
            for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
                sum += node->causes[c];
            ck_assert_msg(fabs(sum - node->share) <= 1e-12 * (1 + fabs(node->share)),
                          "%s, %s: causes of %s are %.6f, its share %.6f", what,
                          audit->lanes[l].name, node->name, sum, node->share);
            /* what one execution gains is 0.5 % and more in one of three */
            ck_assert_msg(!(fabs(node->gain) >= 0.02) ||
                              fabs(node->causes[ULP_SHARE_INSIDE]) <= 0.011,
                          "%s, %s: of %s %.4f are not taken apart", what, audit->lanes[l].name,
                          node->name, node->causes[ULP_SHARE_INSIDE]);
        }
}

/* Whatever the graph: in bodies, too. */
START_TEST(causes_add_up)
{
    static const struct text_graph *const graphs[] = {&text_chain, &unrolled, &looped};
    static const char *const names[] = {"chain", "unrolled", "looped"};
    struct ulp_audit audit;
    struct ulp_error error;
    for (size_t i = 0; i < 3; i++) {
        ck_ulp_ok(attribute(graphs[i], NULL, 0, 1, 0, &audit, &error), error);
        expect_parts(&audit, names[i]);
        ulp_audit_free(&audit);
    }
}
END_TEST

static const struct text_graph product = {"x", "y", {NODE("MatMul", "y", "x w", "y")}};
static const struct text_graph softmax = {"x", "y", {NODE("Softmax", "y", "x", "y")}};

/* The product of the test's x and w, in double: x and w rounded or not, [3,8] [8,8]. */
static void multiply(const double *x, const double *w, double *out)
{
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 8; j++) {
            double sum = 0;
            for (size_t k = 0; k < 8; k++)
                sum += x[8 * i + k] * w[8 * k + j];
            out[8 * i + j] = sum;
        }
}

/* <e, a - b> / <e, e> */
static double part_of(const double *e, const double *a, const double *b)
{
    double sum = 0, whole = 0;
    for (size_t i = 0; i < 24; i++) {
        sum += e[i] * (a[i] - b[i]);
        whole += e[i] * e[i];
    }
    return sum / whole;
}

/* One product, whose causes follow from rounding its factors and its result by hand, the sums in
 * double. FP32's sums of 8 products, which that leaves out, err by 8 * 2^-24 of the terms, where
 * the rest errs by 2^-12 of them in the mean: in shares 2^-8 and less. */
START_TEST(causes_are_those_of_the_arithmetic)
{
    struct ulp_audit audit;
    struct ulp_error error;
    struct ulp_model *model = text_load(&product);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    double x[24], w[64], w_rounded[64], exact[24], with_w[24], with_x[24], e[24], stored[24];
    ck_ulp_ok(attribute(&product, NULL, 0, 1, 0, &audit, &error), error);
    expect_parts(&audit, "product");
    for (size_t l = 0; l < 2; l++) {
        struct ulp_arithmetic arithmetic;
        ck_ulp_ok(ulp_arithmetic_find(lanes[l + 1], &arithmetic, &error), error);
        const struct ulp_format *factor = &arithmetic.factor, *storage = &arithmetic.storage;
        const enum ulp_rounding rounding = arithmetic.schedule.operand_rounding;
        double x_read[24], x_rounded[24];
        for (size_t i = 0; i < 24; i++) {
            x[i] = ulp_tensor_get(&inputs.items[0].tensor, i);
            x_read[i] = ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN, x[i], 0, 0);
            x_rounded[i] = ulp_format_round(factor, rounding, x_read[i], 0, 0);
        }
        for (size_t i = 0; i < 64; i++) {
            w[i] = (double)(float)(ulp_random_uniform(7, i) - 0.5);
            w_rounded[i] = ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN, w[i], 0, 0);
            w_rounded[i] = ulp_format_round(factor, rounding, w_rounded[i], 0, 0);
        }
        multiply(x, w, e); /* what the reference gives */
        multiply(x_read, w, exact);
        multiply(x_read, w_rounded, with_w);
        multiply(x_rounded, w_rounded, with_x);
        for (size_t i = 0; i < 24; i++) {
            stored[i] = ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN, with_x[i], 0, 0);
            e[i] = stored[i] - e[i];
        }
        const struct ulp_audit_node *node = audit_node(&audit, l, "y");
        const double expected[ULP_SHARE_CAUSES] = {[ULP_SHARE_WEIGHTS] = part_of(e, with_w, exact),
                                                   [ULP_SHARE_INPUTS] = part_of(e, with_x, with_w),
                                                   [ULP_SHARE_RESULT] = part_of(e, stored, with_x)};
        for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
            ck_assert_msg(fabs(node->causes[c] - expected[c]) <= 0x1p-8,
                          "%s: %s has %.5f, expected %.5f", lanes[l + 1],
                          ulp_share_cause_name((enum ulp_share_cause)c, NULL, NULL),
                          node->causes[c], expected[c]);
        ck_assert_double_gt(fabs(expected[l ? ULP_SHARE_INPUTS : ULP_SHARE_RESULT]), 0.1);
        ck_assert_double_gt(fabs(expected[ULP_SHARE_WEIGHTS]), 0.1);
    }
    /* FP32 rounds neither factors nor, after the last sum, the result; introduced errors are kept
     * with 24 bits */
    const struct ulp_audit_node *node = audit_node(&audit, 2, "y");
    for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
        ck_assert_double_eq_tol(node->causes[c], (c == ULP_SHARE_SUMS ? node->share : 0),
                                24 * 0x1p-23);
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    /* sums, steps and the last division in FP32; FP16 stores what FP32 has computed */
    ck_ulp_ok(attribute(&softmax, NULL, 0, 1, 0, &audit, &error), error);
    expect_parts(&audit, "softmax");
    node = audit_node(&audit, 2, "y");
    ck_assert(node->causes[ULP_SHARE_SUMS] != 0 && node->causes[ULP_SHARE_STEPS] != 0 &&
              node->causes[ULP_SHARE_RESULT] != 0);
    ck_assert_double_eq_tol(audit_node(&audit, 0, "y")->causes[ULP_SHARE_RESULT],
                            audit_node(&audit, 0, "y")->share, 0.01);
    ulp_audit_free(&audit);
}
END_TEST

/* Samples: means, and the share that is largest. */
START_TEST(samples_are_averaged)
{
    struct ulp_audit one, two;
    struct ulp_error error;
    ck_ulp_ok(attribute(&text_chain, "y", 0, 1, 0, &one, &error), error);
    ck_ulp_ok(attribute(&text_chain, "y", 0, 2, 0, &two, &error), error);
    expect_whole(&two);
    for (size_t l = 0; l < two.lane_count; l++) {
        ck_assert_uint_eq(two.lanes[l].attribution.sample_count, 2);
        for (size_t n = 0; n < two.lanes[l].node_count; n++) {
            const double first = one.lanes[l].nodes[n].share,
                         second = 2 * two.lanes[l].nodes[n].share - first,
                         worst = fabs(first) > fabs(second) ? first : second;
            ck_assert_msg(fabs(two.lanes[l].nodes[n].share_worst - worst) <=
                              1e-12 * (1 + fabs(worst)),
                          "the worst share is not of one of the samples");
        }
    }
    ulp_audit_free(&one);
    ulp_audit_free(&two);
}
END_TEST

/* A node's predicted share against runs without its error: exact to second order. */
START_TEST(predictions_hold)
{
    struct ulp_audit audit;
    struct ulp_error error;
    ck_ulp_ok(attribute(&text_chain, NULL, 0, 1, 3, &audit, &error), error);
    for (size_t l = 0; l < audit.lane_count; l++) {
        const struct ulp_attribution *a = &audit.lanes[l].attribution;
        ck_assert_uint_ge(a->verified_count, 3);
        for (size_t i = 0; i < a->verified_count; i++) {
            ck_assert_double_eq(a->verified[i].share,
                                audit.lanes[l].nodes[a->verified[i].node].share);
            ck_assert_msg(fabs(a->verified[i].share - a->verified[i].held) <= 0.01,
                          "%s: share %.4f, held %.4f", audit.lanes[l].name, a->verified[i].share,
                          a->verified[i].held);
        }
    }
    ulp_audit_free(&audit);
}
END_TEST

static const struct text_graph loop_body = {"i_n b_c s",
                                            "b_d t",
                                            {NODE("MatMul", "step", "s w", "m"),
                                             NODE("Add", "add", "m x", "a"),
                                             NODE("Tanh", "bend", "a", "t"),
                                             NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph looped = {
    "x i_count", "y", {CONTROL("Loop", "loop", "i_count b_yes x", "y", &loop_body)}};
static double find_share(const struct ulp_audit *audit, size_t lane, const char *end)
{
    double sum = 0;
    for (size_t n = 0; n < audit->lanes[lane].node_count; n++) {
        const char *name = audit->lanes[lane].nodes[n].name;
        const size_t length = strlen(name), wanted = strlen(end);
        if (length >= wanted && strcmp(name + length - wanted, end) == 0)
            sum += audit->lanes[lane].nodes[n].share;
    }
    return sum;
}

/* A node inside a Loop has the shares of its copies. Inside, derivatives are taken where FP64 goes
 * from the middle of the Loop's inputs, not in the middle of each value: a difference of second
 * order, 2^-11 times amplifications below 2^4 here. */
START_TEST(bodies_are_gone_through)
{
    struct ulp_audit loop, copies;
    struct ulp_error error;
    static const char *const names[] = {"step", "add", "bend"};
    ck_ulp_ok(attribute(&looped, NULL, 0, 1, 0, &loop, &error), error);
    ck_ulp_ok(attribute(&unrolled, NULL, 0, 1, 0, &copies, &error), error);
    expect_whole(&loop);
    expect_whole(&copies);
    for (size_t l = 0; l < loop.lane_count; l++)
        for (size_t i = 0; i < 3; i++) {
            const double got = find_share(&loop, l, names[i]),
                         wanted = find_share(&copies, l, names[i]);
            ck_assert_msg(fabs(got - wanted) <= 0x1p-7, "%s: %s has %.4f, its copies %.4f",
                          loop.lanes[l].name, names[i], got, wanted);
        }
    ulp_audit_free(&loop);
    ulp_audit_free(&copies);
}
END_TEST

static const struct text_graph large = {"x",
                                        "y",
                                        {NODE("Mul", "up", "x big", "a"),
                                         NODE("Mul", "over", "a big", "b"),
                                         NODE("Relu", "y", "b", "y")}};
static const struct text_graph moves = {"x", "y", {NODE("Relu", "relu", "x", "y")}};
static const struct text_graph decides = {"x",
                                          "y",
                                          {NODE("MatMul", "first", "x w", "a"),
                                           NODE("Floor", "cut", "a", "b"),
                                           NODE("Add", "sum", "a b", "y")}};

START_TEST(what_has_no_shares_says_why)
{
    struct ulp_audit audit;
    struct ulp_error error;
    ck_ulp_ok(attribute(&large, NULL, 3, 1, 0, &audit, &error), error); /* 300 * 300 * 3 */
    ck_assert(!audit.lanes[0].attribution.given);
    ck_assert_ptr_nonnull(strstr(audit.lanes[0].attribution.reason, "not finite"));
    ck_assert(isnan(audit.lanes[0].nodes[0].share));
    ulp_audit_free(&audit);
    ck_ulp_ok(attribute(&moves, NULL, 0.5, 1, 0, &audit, &error), error);
    ck_assert(!audit.lanes[0].attribution.given);
    ck_assert_ptr_nonnull(strstr(audit.lanes[0].attribution.reason, "equal"));
    ulp_audit_free(&audit);
    ck_ulp_ok(attribute(&decides, NULL, 0, 1, 0, &audit, &error), error); /* no step is crossed */
    expect_whole(&audit);
    ulp_audit_free(&audit);
}
END_TEST

static const struct text_graph twice = {"x",
                                        "y",
                                        {NODE("Mul", "up", "x big", "a"),
                                         NODE("Mul", "over", "a big", "b"),
                                         NODE("Mul", "further", "b big", "c"),
                                         NODE("MatMul", "y", "c w", "y")}};

/* An arithmetic that overflows has the shares of the same one with that kept, which an audit of
 * that one finds, too. Other lanes are as they were. */
START_TEST(overflows_are_fixed)
{
    static const size_t kept[] = {1, 2, 3};
    struct ulp_audit fixed, same, without;
    struct ulp_error error;
    struct ulp_keep keep = {.nodes = kept, .node_count = 3};
    const struct ulp_keeps by_lane[LANES] = {{0}, {.count = 1, .items = &keep}};
    ck_ulp_ok(ulp_arithmetic_find("fp32", &keep.arithmetic, &error), error);
    fixes = true;
    ck_ulp_ok(attribute(&twice, NULL, 0, 2, 2, &fixed, &error), error);
    fixes = false;
    keeps = by_lane;
    ck_ulp_ok(attribute(&twice, NULL, 0, 2, 0, &same, &error), error);
    keeps = NULL;
    ck_ulp_ok(attribute(&twice, NULL, 0, 2, 0, &without, &error), error);
    ck_assert(!without.lanes[0].attribution.given && without.lanes[1].attribution.given);
    for (size_t l = 0; l < LANES - 1; l++) {
        const struct ulp_attribution *a = &fixed.lanes[l].attribution,
                                     *b = &(l ? &without : &same)->lanes[l].attribution;
        ck_assert_msg(a->given && b->given, "%s: %s", fixed.lanes[l].name, a->reason);
        ck_assert(a->sum == b->sum && a->inputs == b->inputs && a->sample_count == 2);
        ck_assert_uint_eq(a->kept_count, l ? 0 : 3);
        for (size_t n = 0; n < fixed.lanes[l].node_count; n++) {
            const struct ulp_audit_node *x = &fixed.lanes[l].nodes[n],
                                        *y = &(l ? &without : &same)->lanes[l].nodes[n];
            ck_assert(x->share == y->share && x->gain == y->gain && x->condition == y->condition &&
                      x->share_worst == y->share_worst &&
                      memcmp(x->causes, y->causes, sizeof x->causes) == 0);
        }
    }
    const struct ulp_attribution *a = &fixed.lanes[0].attribution;
    ck_assert(memcmp(a->kept, kept, sizeof kept) == 0 && strcmp(a->kept_output, "y") == 0);
    ck_assert(a->kept_sqnr_db == same.lanes[0].outputs.outputs[0].entire.sqnr_db);
    ck_assert_double_gt(a->kept_sqnr_db, 40);
    ulp_audit_free(&fixed);
    ulp_audit_free(&same);
    ulp_audit_free(&without);
}
END_TEST

/* The inputs' rounding has its share, too, in a lane that keeps nodes: those that read them round
 * it. */
START_TEST(kept_nodes_leave_the_inputs)
{
    struct ulp_audit audit;
    struct ulp_error error;
    struct ulp_keep keep = {.pattern = "2/bend"};
    const struct ulp_keeps by_lane[LANES] = {{0}, {.count = 1, .items = &keep}};
    ck_ulp_ok(ulp_arithmetic_find("fp32", &keep.arithmetic, &error), error);
    keeps = by_lane;
    ck_ulp_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &error), error);
    keeps = NULL;
    expect_whole(&audit);
    ck_assert_double_gt(fabs(audit.lanes[0].attribution.inputs), 0.03);
    ulp_audit_free(&audit);
    lanes[1] = "fp16,fuse=pointwise"; /* and where kernels read them */
    ck_ulp_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &error), error);
    lanes[1] = "fp16";
    expect_whole(&audit);
    ck_assert_double_gt(fabs(audit.lanes[0].attribution.inputs), 0.03);
    ulp_audit_free(&audit);
}
END_TEST

/* What was in a file comes back with the same bits: every figure is equal, wherever values were. */
START_TEST(a_file_changes_nothing)
{
    struct ulp_audit memory, file;
    struct ulp_error error;
    static const struct text_graph *const graphs[] = {&text_chain, &looped};
    static const size_t limits[] = {0, 300};
    for (size_t i = 0; i < 4; i++) {
        kept_max = SIZE_MAX;
        spills = false;
        ck_ulp_ok(attribute(graphs[i / 2], NULL, 0, 2, 2, &memory, &error), error);
        kept_max = limits[i % 2];
        spills = true;
        ck_ulp_ok(attribute(graphs[i / 2], NULL, 0, 2, 2, &file, &error), error);
        for (size_t l = 0; l < memory.lane_count; l++) {
            const struct ulp_audit_lane *a = &memory.lanes[l], *b = &file.lanes[l];
            ck_assert(a->attribution.given && b->attribution.given);
            ck_assert(a->attribution.sum == b->attribution.sum &&
                      a->attribution.inputs == b->attribution.inputs);
            for (size_t n = 0; n < a->node_count; n++)
                ck_assert(a->nodes[n].share == b->nodes[n].share &&
                          a->nodes[n].gain == b->nodes[n].gain &&
                          memcmp(a->nodes[n].causes, b->nodes[n].causes,
                                 sizeof a->nodes[n].causes) == 0 &&
                          a->nodes[n].condition == b->nodes[n].condition);
            for (size_t v = 0; v < a->attribution.verified_count; v++)
                ck_assert(a->attribution.verified[v].held == b->attribution.verified[v].held);
        }
        ulp_audit_free(&memory);
        ulp_audit_free(&file);
    }
    spills = false;
    ck_ulp_ok(attribute(&text_chain, NULL, 0, 1, 0, &memory, &error), error);
    ck_assert_ptr_nonnull(strstr(memory.lanes[0].attribution.reason, "more memory"));
    ulp_audit_free(&memory);
    kept_max = SIZE_MAX;
}
END_TEST

static const struct text_graph rounds = {"x",
                                         "y",
                                         {NODE("MatMul", "first", "x w", "a"),
                                          NODE("Mul", "up", "a big", "b"),
                                          NODE("Round", "y", "b", "y")}};
static const struct text_graph chooses = {
    "x",
    "y",
    {NODE("MatMul", "first", "x w", "a"), NODE("Mul", "up", "a big", "b"),
     NODE("Round", "cut", "b", "c"), NODE("Less", "less", "b c", "b_d"),
     NODE("Identity", "pass", "b_d", "b_e"), NODE("Where", "y", "b_e a x", "y")}};

/* Products of some hundreds err by up to 1/4 in FP16, so that many round to another integer. y is
 * made of integers below 2048, which FP16 holds: all of its error is what rounding decided, and no
 * derivative passes. In the second graph only conditions jump: the node that compares has what its
 * choices change, not those that pass them on, and the rest is that of `a` through Where. */
START_TEST(decisions_are_named)
{
    struct ulp_audit audit;
    struct ulp_error error;
    ck_ulp_ok(attribute(&rounds, NULL, 0, 1, 0, &audit, &error), error);
    const struct ulp_attribution *a = &audit.lanes[0].attribution;
    ck_assert_msg(a->given, "fp16: %s", a->reason);
    /* sums of 24 products of floats, which are kept with 24 bits */
    ck_assert_double_eq_tol(audit_node(&audit, 0, "y")->decision, 1, 24 * 0x1p-23);
    ck_assert_double_eq_tol(a->decisions, 1, 24 * 0x1p-23);
    ck_assert(audit_node(&audit, 0, "up")->share == 0 && audit_node(&audit, 0, "y")->stops);
    ulp_audit_free(&audit);
    ck_ulp_ok(attribute(&chooses, NULL, 0, 1, 0, &audit, &error), error);
    a = &audit.lanes[0].attribution;
    ck_assert_msg(a->given && fabs(a->residual) <= 1e-4, "residual %g", a->residual);
    ck_assert_double_gt(audit_node(&audit, 0, "less")->decision, 0.5);
    ck_assert(audit_node(&audit, 0, "pass")->decision == 0 &&
              audit_node(&audit, 0, "y")->decision == 0);
    ulp_audit_free(&audit);
}
END_TEST

START_TEST(unknown_outputs_are_refused)
{
    struct ulp_audit audit;
    struct ulp_error error;
    static const char *const wrong[] = {"nothing", "y[3,0]",   "y[0]",   "y[0,0,0]",
                                        "x",       "y[0,1]-c", "y[a,b]", "w"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(attribute(&text_chain, wrong[i], 0, 1, 0, &audit, &error),
                         ULP_ERROR_USAGE);
        ck_assert_ptr_nonnull(strstr(error.message, wrong[i]));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attribution");
    TCase *tcase = tcase_create("shares");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, shares_add_up);
    tcase_add_test(tcase, groups_add_up);
    tcase_add_test(tcase, causes_add_up);
    tcase_add_test(tcase, causes_are_those_of_the_arithmetic);
    tcase_add_test(tcase, samples_are_averaged);
    tcase_add_test(tcase, predictions_hold);
    tcase_add_test(tcase, bodies_are_gone_through);
    tcase_add_test(tcase, what_has_no_shares_says_why);
    tcase_add_test(tcase, overflows_are_fixed);
    tcase_add_test(tcase, kept_nodes_leave_the_inputs);
    tcase_add_test(tcase, a_file_changes_nothing);
    tcase_add_test(tcase, decisions_are_named);
    tcase_add_test(tcase, unknown_outputs_are_refused);
    suite_add_tcase(suite, tcase);
    return test_run(suite, NULL);
}
