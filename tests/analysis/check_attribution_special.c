/* analysis: shares where there are none, where nodes are kept, decide or overflow, and where values
 * were in a file. */
#include "analysis/measure/difference.h"
#include "tests/analysis/attribution_test.h"

static const struct text_graph large = {
    "x", "y", "[up] a = Mul(x, big) [over] b = Mul(a, big) [y] y = Relu(b)"};
static const struct text_graph moves = {"x", "y", "[relu] y = Relu(x)"};
static const struct text_graph decides = {
    "x", "y", "[first] a = MatMul(x, w) [cut] b = Floor(a) [sum] y = Add(a, b)"};

TEST(what_has_no_shares_says_why)
{
    struct ulp_audit audit;
    ck_ok(attribute(&large, NULL, 3, 1, 0, &audit, &why)); /* 300 * 300 * 3 */
    ck_assert(!audit.lanes[0].attribution.given);
    ck_assert_ptr_nonnull(strstr(audit.lanes[0].attribution.reason, "not finite"));
    ck_assert(isnan(audit.lanes[0].nodes[0].share));
    ulp_audit_free(&audit);
    ck_ok(attribute(&moves, NULL, 0.5, 1, 0, &audit, &why));
    ck_assert(!audit.lanes[0].attribution.given);
    ck_assert_ptr_nonnull(strstr(audit.lanes[0].attribution.reason, "no output of floats differs"));
    ulp_audit_free(&audit);
    ck_ok(attribute(&decides, NULL, 0, 1, 0, &audit, &why)); /* no step is crossed */
    expect_whole(&audit);
    ulp_audit_free(&audit);
}

static const struct text_graph twice = {
    "x", "y",
    "[up] a = Mul(x, big) [over] b = Mul(a, big) [further] c = Mul(b, big) [y] y = MatMul(c, w)"};

/* An arithmetic that overflows has the shares of the same one with that kept, which an audit of
 * that one finds, too. Other lanes are as they were. */
TEST(overflows_are_fixed)
{
    static const size_t kept[] = {1, 2, 3};
    scoped_audit fixed = {0}, same = {0}, without = {0};
    struct ulp_keep keep = {.nodes = kept, .node_count = 3};
    const struct ulp_keeps by_lane[LANES] = {{0}, {.count = 1, .items = &keep}};
    ck_ok(ulp_arithmetic_find("fp32", &keep.arithmetic, &why));
    fixes = true;
    ck_ok(attribute(&twice, NULL, 0, 2, 2, &fixed, &why));
    fixes = false;
    keeps = by_lane;
    ck_ok(attribute(&twice, NULL, 0, 2, 0, &same, &why));
    keeps = NULL;
    ck_ok(attribute(&twice, NULL, 0, 2, 0, &without, &why));
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
}

static const struct text_graph twice_and_none = {
    "x", "y",
    "[up] a = Mul(x, big) [over] b = Mul(a, big) [further] c = Mul(b, big) [y] y = Sub(c, c)"};

/* An arithmetic that has no shares with that kept either says why, in words that stay. */
TEST(overflows_that_are_fixed_say_why_they_have_no_shares)
{
    scoped_audit fixed = {0};
    test_fill_memory(0x5a); /* so words in freed memory are others */
    fixes = true;
    ck_ok(attribute(&twice_and_none, NULL, 0, 1, 0, &fixed, &why));
    fixes = false;
    const struct ulp_attribution *a = &fixed.lanes[0].attribution;
    ck_assert(!a->given && a->kept_count > 0);
    ck_assert_ptr_nonnull(strstr(a->reason, "the outputs equal the reference's"));
}

/* The inputs' rounding has its share, too, in a lane that keeps nodes: those that read them round
 * it. */
TEST(kept_nodes_leave_the_inputs)
{
    struct ulp_audit audit;
    struct ulp_keep keep = {.pattern = "2/bend"};
    const struct ulp_keeps by_lane[LANES] = {{0}, {.count = 1, .items = &keep}};
    ck_ok(ulp_arithmetic_find("fp32", &keep.arithmetic, &why));
    keeps = by_lane;
    ck_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &why));
    keeps = NULL;
    expect_whole(&audit);
    ck_assert_double_gt(fabs(audit.lanes[0].attribution.inputs), 0.03);
    ulp_audit_free(&audit);
    lanes[1] = "fp16,fuse=pointwise"; /* and where kernels read them */
    ck_ok(attribute(&unrolled, NULL, 0, 1, 0, &audit, &why));
    lanes[1] = "fp16";
    expect_whole(&audit);
    ck_assert_double_gt(fabs(audit.lanes[0].attribution.inputs), 0.03);
    ulp_audit_free(&audit);
}

/* Integers that leave the graph have no errors, also behind a kernel and where types are declared;
 * trials leave them out. */
TEST_LOOP(integers_that_leave_have_no_shares, 0, 4)
{
    static const char *const names[] = {"bf16,fuse=reduce", "fp16,fuse=pointwise", "fp16", "model"};
    static const struct text_graph graph = {
        "x", "y b_mask", "[exp] a = Exp(x) [drop] b, b_mask = Dropout(a) [tan] y = Tan(b)"};
    scoped_audit audit = {0};
    lanes[1] = names[_i];
    ck_ok(attribute(&graph, NULL, 0, 1, 2, &audit, &why));
    lanes[1] = "fp16";
    expect_whole(&audit);
}

static const struct text_graph beyond = {
    "x", "y",
    "[second] a = Mul(x, x) [fourth] b = Mul(a, a) [eighth] c = Mul(b, b) [back] d = Sqrt(c) "
    "[further] e = Sqrt(d) [y] y = Sqrt(e)"};

/* The eighth power of 10^5 is beyond FP32, saturated FP16 has 65504 there, and their difference is
 * kept as FP32's largest number: |y|, which is all of the error, changes by an eighth of what c
 * does relatively, within the 16 by which the middle of the way may be off there. */
TEST(errors_beyond_fp32_have_a_condition)
{
    scoped_audit audit = {0};
    lanes[1] = "fp16,overflow=saturate";
    ck_ok(attribute(&beyond, NULL, 1e5, 1, 0, &audit, &why));
    lanes[1] = "fp16";
    const struct ulp_audit_node *eighth = audit_node(&audit, 0, "eighth");
    ck_assert_msg(audit.lanes[0].attribution.given, "%s", audit.lanes[0].attribution.reason);
    ck_assert_msg(eighth->condition >= 1.0 / 128, "%g", eighth->condition);
    ck_assert(isfinite(eighth->share) && isfinite(eighth->gain));
}

static const struct text_graph near_one = {"x", "y", "[y] y = Softsign(x)"};

/* x / (1 + x) is 1 - 1e-20, which is stored as 1 - 2^-8 toward zero; P has 1, as 1 + x is x. */
TEST(gains_tell_a_result_beside_a_value_of_the_format)
{
    scoped_audit audit = {0};
    lanes[1] = "bf16,round=rz";
    ck_ok(attribute(&near_one, NULL, 1e20, 1, 0, &audit, &why));
    lanes[1] = "fp16";
    const double e = 1e-20, gain = audit_node(&audit, 0, "y")->gain;
    ck_assert_msg(fabs(gain / (0x1p-8 / e) - 1) < 0.01, "%g", gain);
}

/* A random graph of elementwise nodes, with its last value and two others as outputs. */
struct drawn {
    char nodes[400], left[24];
    struct text_graph graph;
};

static void draw_graph(struct drawn *out, uint64_t seed)
{
    static const char *const ops[] = {"Add", "Mul", "Tanh", "Sigmoid"};
    int used = 0;
    *out = (struct drawn){.graph = {.inputs = "x", .outputs = out->left, .nodes = out->nodes}};
    for (size_t n = 0; n < 6; n++) {
        const uint64_t bits = (uint64_t)(ulp_random_uniform(seed, n) * 0x1p32);
        const char a = n ? "abcdef"[bits % n] : 'x',
                   b = n && bits >> 8 & 3 ? "abcdef"[(bits >> 12 & 63) % n] : 'x';
        const size_t op = bits >> 20 & 3;
        /* a product grows by one factor only */
        used += snprintf(out->nodes + used, sizeof out->nodes - (size_t)used,
                         op < 2 ? "[%c] %c = %s(%c, %c) " : "[%c] %c = %s(%c) ", "abcdef"[n],
                         "abcdef"[n], ops[op], a, op ? 'x' : b);
    }
    const int first = (int)(ulp_random_uniform(seed, 6) * 4);
    snprintf(out->left, sizeof out->left, "%c %c f", 'a' + first, 'e');
}

/* The largest error of an output that a run hands out. */
static double find_error(const struct ulp_tensor *own, const struct ulp_tensor *reference)
{
    double largest = 0;
    for (size_t i = 0; i < own->count; i++)
        largest = fmax(largest, fabs(ulp_tensor_get(own, i) - ulp_tensor_get(reference, i)));
    return largest;
}

/* Of fused kernels, too, what is measured and shared out is what a run hands out; nodes in the
 * kernel read their values unrounded all the same. */
TEST_LOOP(values_leave_as_a_run_hands_them_out, 0, (int)test_count(60, 2000))
{
    static const char *const names[] = {"fp16,fuse=pointwise", "bf16,fuse=reduce",
                                        "fp16,fuse=pointwise,fuse-inner=tf32"};
    struct drawn drawn;
    draw_graph(&drawn, (uint64_t)_i);
    const size_t kept = (size_t)_i % 6;
    struct ulp_keep keep = {.nodes = &kept, .node_count = 1};
    const struct ulp_keeps by_lane[LANES] = {{0}, {.count = _i % 2, .items = &keep}};
    scoped_audit audit = {0};
    ck_ok(ulp_arithmetic_find("tf32", &keep.arithmetic, &why));
    lanes[1] = names[_i % 3];
    keeps = by_lane;
    ck_ok(attribute(&drawn.graph, NULL, 0, 1, 0, &audit, &why));
    if (!by_lane[1].count) /* what readers of several arithmetics round of inputs has no share */
        expect_whole(&audit);
    scoped_model *model = text_load(&drawn.graph);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true), out[2];
    const struct ulp_program_options planning = {.inputs = &inputs, .keeps = by_lane};
    const struct ulp_arithmetic arithmetics[] = {test_arithmetic(lanes[0]),
                                                 test_arithmetic(lanes[1])};
    scoped_program *program = NULL;
    ck_ok(ulp_program_create(model, arithmetics, 2, &planning, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, out, NULL, &why));
    for (size_t o = 0; o < 3; o++) {
        const struct ulp_audit_node *node = audit_node(&audit, 0, out[1].items[o].name);
        const double wanted = find_error(&out[1].items[o].tensor, &out[0].items[o].tensor),
                     found = node->outputs[0].entire.max_abs;
        /* doubles of the reference, whose values stay below 2^12 */
        ck_assert_msg(fabs(found - wanted) <= 0x1p-40, "%s of graph %d in %s: %g, not %g",
                      node->outputs[0].name, _i, lanes[1], found, wanted);
    }
    lanes[1] = "fp16";
    keeps = NULL;
    ulp_tensor_set_free(&inputs);
    ulp_tensor_set_free(&out[0]);
    ulp_tensor_set_free(&out[1]);
}

static void expect_equal(const struct ulp_audit *one, const struct ulp_audit *other)
{
    for (size_t l = 0; l < one->lane_count; l++) {
        const struct ulp_audit_lane *a = &one->lanes[l], *b = &other->lanes[l];
        ck_assert(a->attribution.given && b->attribution.given);
        ck_assert(a->attribution.sum == b->attribution.sum &&
                  a->attribution.inputs == b->attribution.inputs);
        for (size_t n = 0; n < a->node_count; n++)
            ck_assert(
                a->nodes[n].share == b->nodes[n].share && a->nodes[n].gain == b->nodes[n].gain &&
                memcmp(a->nodes[n].causes, b->nodes[n].causes, sizeof a->nodes[n].causes) == 0 &&
                a->nodes[n].condition == b->nodes[n].condition);
        for (size_t v = 0; v < a->attribution.verified_count; v++)
            ck_assert(a->attribution.verified[v].held == b->attribution.verified[v].held);
    }
}

static const struct text_graph rectifies = {"x", "y",
                                            "[first] a = MatMul(x, w) [cut] b = Relu(a) [second] c "
                                            "= MatMul(b, w) [again] d = Relu(c) [y] y = Mul(d, b)"};

/* Lanes that are swept in threads of their own, beside one after the other. */
TEST(threads_change_nothing)
{
    struct ulp_audit one, several;
    static const struct text_graph *const graphs[] = {&text_chain, &looped, &rectifies};
    for (size_t i = 0; i < 3; i++) {
        ck_ok(attribute(graphs[i], NULL, 0, 2, 0, &one, &why));
        thread_count = 3;
        ck_ok(attribute(graphs[i], NULL, 0, 2, 0, &several, &why));
        thread_count = 1;
        expect_equal(&one, &several);
        ulp_audit_free(&one);
        ulp_audit_free(&several);
    }
}

/* What was in a file comes back with the same bits: every figure is equal, wherever values were. */
TEST(a_file_changes_nothing)
{
    struct ulp_audit memory, file;
    static const struct text_graph *const graphs[] = {&text_chain, &looped, &rectifies};
    static const size_t limits[] = {0, 300};
    for (size_t i = 0; i < 6; i++) {
        kept_max = SIZE_MAX;
        spills = false;
        ck_ok(attribute(graphs[i / 2], NULL, 0, 2, 2, &memory, &why));
        kept_max = limits[i % 2];
        spills = true;
        ck_ok(attribute(graphs[i / 2], NULL, 0, 2, 2, &file, &why));
        expect_equal(&memory, &file);
        ulp_audit_free(&memory);
        ulp_audit_free(&file);
    }
    spills = false;
    ck_ok(attribute(&text_chain, NULL, 0, 1, 0, &memory, &why));
    ck_assert_ptr_nonnull(strstr(memory.lanes[0].attribution.reason, "more memory"));
    ulp_audit_free(&memory);
    kept_max = SIZE_MAX;
}

static const struct text_graph rounds = {
    "x", "y", "[first] a = MatMul(x, w) [up] b = Mul(a, big) [y] y = Round(b)"};
static const struct text_graph chooses = {
    "x", "y",
    "[first] a = MatMul(x, w) [up] b = Mul(a, big) [cut] c = Round(b) [less] b_d = Less(b, c) "
    "[pass] b_e = Identity(b_d) [y] y = Where(b_e, a, x)"};

/* Products of some hundreds err by up to 1/4 in FP16, so that many round to another integer. y is
 * made of integers below 2048, which FP16 holds: all of its error is what rounding decided. It
 * shows there, and is of those who made the errors by which it was decided, as all errors of
 * margins are sums of what nodes introduce (and of second order: 2^-11 of it). In the second graph
 * only conditions jump, and what they are made of: it shows at the nodes that compare and round,
 * not at those that pass it on, and the rest is that of `a` through Where. */
TEST(decisions_are_followed_back)
{
    struct ulp_audit audit;
    ck_ok(attribute(&rounds, NULL, 0, 1, 0, &audit, &why));
    const struct ulp_attribution *a = &audit.lanes[0].attribution;
    ck_assert_msg(a->given, "fp16: %s", a->reason);
    /* sums of 24 products of floats, which are kept with 24 bits */
    ck_assert_double_eq_tol(audit_node(&audit, 0, "y")->shows, 1, 24 * 0x1p-23);
    ck_assert_double_eq_tol(audit_node(&audit, 0, "y")->decision, 0, 24 * 0x1p-23);
    ck_assert_double_eq_tol(a->decisions, 0, 24 * 0x1p-23);
    ck_assert_double_eq_tol(a->inputs + audit_node(&audit, 0, "first")->share +
                                audit_node(&audit, 0, "up")->share,
                            1, 0x1p-11);
    ck_assert(audit_node(&audit, 0, "first")->share > 0 && audit_node(&audit, 0, "up")->share > 0 &&
              !audit_node(&audit, 0, "y")->stops);
    ulp_audit_free(&audit);
    ck_ok(attribute(&chooses, NULL, 0, 1, 0, &audit, &why));
    a = &audit.lanes[0].attribution;
    ck_assert_msg(a->given && fabs(a->residual) <= 1e-4, "residual %g", a->residual);
    ck_assert_double_gt(audit_node(&audit, 0, "less")->shows, 0.5);
    ck_assert(audit_node(&audit, 0, "pass")->shows == 0 && audit_node(&audit, 0, "y")->shows == 0 &&
              audit_node(&audit, 0, "pass")->decision == 0 &&
              audit_node(&audit, 0, "y")->decision == 0);
    ulp_audit_free(&audit);
}

TEST(unknown_outputs_are_refused)
{
    struct ulp_audit audit;
    static const char *const wrong[] = {"nothing", "y[3,0]",   "y[0]",   "y[0,0,0]",
                                        "x",       "y[0,1]-c", "y[a,b]", "w"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_fails(ULP_ERROR_USAGE, wrong[i],
                 attribute(&text_chain, wrong[i], 0, 1, 0, &audit, &why));
    }
}

static const struct text_graph one_element = {"x", "y",
                                              "[first] a = MatMul(x, w) [then] b = MatMul(a, w) "
                                              "[beside] c = MatMul(x, w) [sum] d = Add(b, c) "
                                              "[y] y = ReduceMean(d)"};
static const struct text_graph elements = {"x", "d",
                                           "[first] a = MatMul(x, w) [then] b = MatMul(a, w) "
                                           "[beside] c = MatMul(x, w) [sum] d = Add(b, c)"};

/* From one run with all products quantised what each alone makes of the outputs, which runs with it
 * alone show: `first` and `beside` read x, so they err there as they do alone, and all behind them
 * is linear. FP32's own roundings are 2^-12 of those of 8 bits and less. */
TEST_LOOP(errors_alone_are_those_of_runs, 0, 2)
{
    static const size_t kept[2][2] = {{1, 2}, {0, 1}};
    const size_t runs = _i ? 30 : 1;
    double truth[2] = {0}, found[2] = {0};
    struct ulp_keep keep[2];
    const struct ulp_keeps by_lane[LANES] = {{0},
                                             {0},
                                             {.count = 1, .items = &keep[0]},
                                             {.count = 1, .items = &keep[1]}};
    for (int k = 0; k < 2; k++) {
        keep[k] = (struct ulp_keep){.nodes = kept[k], .node_count = 2};
        ck_ok(ulp_arithmetic_find("fp32", &keep[k].arithmetic, &why));
    }
    for (size_t l = 1; l < LANES; l++)
        lanes[l] = "fp32,factor=uint8,unit=none";
    keeps = by_lane;
    for (size_t r = 0; r < runs; r++) {
        scoped_audit audit = {0};
        ck_ok(attribute(_i ? &elements : &one_element, NULL, (double)r / 8, 1, 0, &audit, &why));
        for (size_t k = 0; k < 2; k++) {
            const struct ulp_audit_output *y = &audit.lanes[1 + k].outputs.outputs[0];
            truth[k] += pow(y->entire.rms / y->range.ref_rms, 2);
            found[k] += audit_node(&audit, 0, k ? "beside" : "first")->alone;
        }
    }
    keeps = NULL;
    for (size_t k = 0; k < 2; k++) /* of 240 sums of some of 24 elements 5 standard deviations */
        ck_assert_double_eq_tol(found[k] / truth[k], 1, _i ? 5 * sqrt(2.0 / 240) : 0x1p-10);
}

TEST_SUITE("attribution of special cases", 60)
