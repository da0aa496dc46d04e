/* analysis: shares of the nodes in the error of the outputs. */
#include "tests/analysis/attribution_test.h"

TEST(shares_add_up)
{
    struct ulp_audit audit;
    static const char *const outputs[] = {NULL, "y", "c", "y[1,2]", "y[-1,0]-y[0,3]"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        ck_ok(attribute(&text_chain, outputs[i], 0, 1, 0, &audit, &why));
        expect_whole(&audit);
        const struct ulp_audit_node *square = audit_node(&audit, 0, "square");
        const struct ulp_attribution *shares = &audit.lanes[0].attribution;
        ck_assert(!square->stops);
        if (outputs[i]) /* y does not follow it */
            ck_assert(square->share == 0 && strcmp(shares->output, outputs[i]) == 0);
        ulp_audit_free(&audit);
    }
}

/* Each element of `apart` also follows all of x by its mean. */
static const struct text_graph divided = {
    "x", "y q",
    "[mean] m = ReduceMean(x) [apart] a = Div(x, m) [bend] y = Tanh(a) [square] q = Mul(a, a)"};

/* Each of several outputs has the shares that it has when it is asked for alone, bit for bit, as
 * they are swept one by one where memory is short; and the nodes have those of the worst. */
TEST_LOOP(outputs_are_apart, 0, 2)
{
    const struct text_graph *const graph = _i ? &divided : &text_chain;
    struct ulp_audit all, one;
    ck_ok(attribute(graph, NULL, 0, 2, 2, &all, &why));
    for (size_t l = 0; l < all.lane_count; l++) {
        const struct ulp_attribution *shares = &all.lanes[l].attribution;
        ck_assert_uint_eq(shares->output_count, 2);
        ck_assert_str_eq(shares->output, ulp_audit_worst(&all.lanes[l].outputs)->name);
        ck_assert(shares->verified_count && shares->verified_output);
    }
    for (size_t o = 0; o < 2; o++) {
        const char *name = o ? "q" : "y";
        ck_ok(attribute(graph, name, 0, 2, 0, &one, &why));
        for (size_t l = 0; l < all.lane_count; l++) {
            const struct ulp_output_shares *shares = &all.lanes[l].attribution.outputs[o];
            const bool named = strcmp(all.lanes[l].attribution.output, name) == 0;
            ck_assert_str_eq(shares->output, name);
            ck_assert_double_eq(shares->sum, one.lanes[l].attribution.sum);
            for (size_t n = 0; n < all.lanes[l].node_count; n++) {
                const struct ulp_audit_node *alone = &one.lanes[l].nodes[n],
                                            *node = &all.lanes[l].nodes[n];
                ck_assert_double_eq(shares->nodes[n].share, alone->share);
                ck_assert_double_eq(shares->nodes[n].condition, alone->condition);
                ck_assert_mem_eq(shares->nodes[n].causes, alone->causes, sizeof alone->causes);
                ck_assert(!named || memcmp(node->causes, alone->causes, sizeof node->causes) == 0);
            }
            ck_assert((shares->nodes[audit_node(&all, l, "square")->index].share != 0) == (o == 1));
        }
        ulp_audit_free(&one);
    }
    ulp_audit_free(&all);
}

/* Groups have the sums of their nodes, whatever they are called. */
TEST(groups_add_up)
{
    scoped_audit audit = {0};
    struct ulp_error error;
    ck_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &why));
    static const char *const by[] = {"op", "prefix:1", "prefix:9", "cause"};
    /* the last part is the node's own. Of causes: weights, sums and results always */
    static const size_t counts[] = {3, 3, 3};
    for (size_t i = 0; i < 4; i++) {
        ck_ok(ulp_audit_group_shares(&audit, by[i], &why));
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
}

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
TEST(causes_add_up)
{
    static const struct text_graph *const graphs[] = {&text_chain, &unrolled, &looped};
    static const char *const names[] = {"chain", "unrolled", "looped"};
    struct ulp_audit audit;
    for (size_t i = 0; i < 3; i++) {
        ck_ok(attribute(graphs[i], NULL, 0, 1, 0, &audit, &why));
        expect_parts(&audit, names[i]);
        ulp_audit_free(&audit);
    }
}

static const struct text_graph product = {"x", "y", "[y] y = MatMul(x, w)"};
static const struct text_graph softmax = {"x", "y", "[y] y = Softmax(x)"};

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
TEST(causes_are_those_of_the_arithmetic)
{
    struct ulp_audit audit;
    struct ulp_model *model = text_load(&product);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true);
    double x[24], w[64], w_rounded[64], exact[24], with_w[24], with_x[24], e[24], stored[24],
        nearest[24];
    ck_ok(attribute(&product, NULL, 0, 1, 0, &audit, &why));
    expect_parts(&audit, "product");
    for (size_t l = 0; l < 2; l++) {
        const struct ulp_arithmetic arithmetic = test_arithmetic(lanes[l + 1]);
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
            nearest[i] = ulp_format_round(storage, ULP_ROUND_NEAREST_EVEN, exact[i], 0, 0);
            e[i] = stored[i] - e[i];
        }
        const struct ulp_audit_node *node = audit_node(&audit, l, "y");
        ck_assert_msg(fabs(node->gain - part_of(e, stored, nearest)) <= 0x1p-8, "%s gains %.5f",
                      lanes[l + 1], node->gain);
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
    /* FP32 rounds neither factors nor, after the last sum, the result: what introduced errors, kept
     * with 24 bits, make of that is below the bound of causes, and no cause */
    const struct ulp_audit_node *node = audit_node(&audit, 2, "y");
    for (size_t c = 0; c < ULP_SHARE_CAUSES; c++)
        ck_assert_msg(c == ULP_SHARE_SUMS ? fabs(node->causes[c] - node->share) <= 24 * 0x1p-23
                                          : node->causes[c] == 0,
                      "fp32: %s has %g", ulp_share_cause_name((enum ulp_share_cause)c, NULL, NULL),
                      node->causes[c]);
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    /* sums, steps and the last division in FP32; FP16 stores what FP32 has computed */
    ck_ok(attribute(&softmax, NULL, 0, 1, 0, &audit, &why));
    expect_parts(&audit, "softmax");
    node = audit_node(&audit, 2, "y");
    ck_assert(node->causes[ULP_SHARE_SUMS] != 0 && node->causes[ULP_SHARE_STEPS] != 0 &&
              node->causes[ULP_SHARE_RESULT] != 0);
    ck_assert_double_eq_tol(audit_node(&audit, 0, "y")->causes[ULP_SHARE_RESULT],
                            audit_node(&audit, 0, "y")->share, 0.01);
    ulp_audit_free(&audit);
}

/* Samples: means, and the share that is largest. */
TEST(samples_are_averaged)
{
    scoped_audit one = {0}, two = {0};
    ck_ok(attribute(&text_chain, "y", 0, 1, 0, &one, &why));
    ck_ok(attribute(&text_chain, "y", 0, 2, 0, &two, &why));
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
}

/* A node's predicted share against runs without its error: exact to second order. */
TEST(predictions_hold)
{
    scoped_audit audit = {0};
    ck_ok(attribute(&text_chain, NULL, 0, 1, 3, &audit, &why));
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
}

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
TEST(bodies_are_gone_through)
{
    scoped_audit loop = {0}, copies = {0};
    static const char *const names[] = {"step", "add", "bend"};
    ck_ok(attribute(&looped, NULL, 0, 1, 0, &loop, &why));
    ck_ok(attribute(&unrolled, NULL, 0, 1, 0, &copies, &why));
    expect_whole(&loop);
    expect_whole(&copies);
    for (size_t l = 0; l < loop.lane_count; l++)
        for (size_t i = 0; i < 3; i++) {
            const double got = find_share(&loop, l, names[i]),
                         wanted = find_share(&copies, l, names[i]);
            ck_assert_msg(fabs(got - wanted) <= 0x1p-7, "%s: %s has %.4f, its copies %.4f",
                          loop.lanes[l].name, names[i], got, wanted);
        }
}

/* The eighth power has about eight times the relative error of what it is the power of, which is
 * explained when every output is; a sign has no error. The report offers what it can do. */
TEST(good_outputs_are_explained_when_asked)
{
    static const struct text_graph powers = {
        "x", "y n s",
        "[second] t = Mul(x, x) [fourth] u = Mul(t, t) [eighth] y = Mul(u, u) [minus] n = Neg(x) "
        "[sign] s = Sign(x)"};
    scoped_model *model = text_load(&powers);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    const struct ulp_sample item = {"0", &inputs, 0};
    const struct ulp_samples samples = {.count = 1, .items = &item};
    const struct ulp_arithmetic both[] = {test_arithmetic("mpfr:128"), test_arithmetic("fp16")};
    for (int every = 0; every < 2; every++) {
        const struct ulp_audit_options options = {.shares = true,
                                                  .thread_count = 1,
                                                  .every_output = every};
        scoped_audit audit = {0};
        SCOPED_MEMORY char *text = NULL;
        ck_ok(ulp_audit_run(model, both, 2, &samples, &options, &audit, &why));
        ck_ok(ulp_report_text(&audit, 100, false, &text, &why));
        const char *offer = strstr(text, "--attribute");
        ck_assert_msg(every ? !offer : offer && strstr(text, " 1 output is not among"), "%s", text);
    }
}

TEST_SUITE("attribution", 60)
