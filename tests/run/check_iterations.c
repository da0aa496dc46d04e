/* run and analysis: lanes that take other branches or iterations than the reference, overflow and
 * lost digits inside bodies, and the joined figures of iterations against one tensor made of them.
 */
#include "tests/support/text_model.h"

#include "analysis/measure/metrics.h"
#include "analysis/audit/certify.h"

/* ---- lanes that part from the reference ---- */

static const struct text_graph negated = {"", "e", "[minus] e = Neg(x)"};
static const struct text_graph twice = {"", "t", "[double] t = Mul(x, two)"};
/* 0.3f + 300 - 300 is 0.3f in the reference, so not less; FP32 gives 0.29998779 and FP16 0.25,
 * which are. */
static const struct text_graph decided = {
    "x",
    "y",
    "[most] m = ReduceMax(x) [there] m1 = Add(m, big) [back] m2 = Sub(m1, big) [compare] b_less = "
    "Less(m2, m) [if] y = If(b_less)",
    {&twice, &negated}};

TEST(another_branch_is_said)
{
    scoped_audit result = {0};
    text_audit(&decided, 1, 0.3, true, 1, &result);
    for (size_t l = 0; l < result.lane_count; l++) {
        const char *lane = text_lanes[l + 1];
        const struct ulp_audit_node *node = audit_node(&result, l, "if"),
                                    *inside = audit_node(&result, l, "if/minus");
        ck_assert_msg(node->outputs[0].entire.diverged, "%s", lane);
        ck_assert_uint_eq(audit_node(&result, l, "if/double")->executions, 0);
        ck_assert(inside->executions == 0 && inside->output_count == 0 && node->executions == 1);
        ck_assert_str_eq(result.lanes[l].nodes[result.lanes[l].first_decided].name, "compare");
        ck_assert(!node->decided && !audit_node(&result, l, "back")->outputs[0].entire.diverged);
        /* one node in this lane: 2 x on its own inputs, -x on the reference's; neither has much of
         * an error of its own */
        ck_assert(node->outputs[0].entire.max_abs > 0.8 && node->outputs[0].carried.max_abs > 0.8);
        ck_assert(node->outputs[0].single.max_abs < 0.01 &&
                  node->outputs[0].introduced.max_abs < 0.01);
        ck_assert(result.lanes[l].outputs.outputs[0].entire.diverged);
    }
    SCOPED_MEMORY char *summary = NULL;
    ck_assert(test_crosses(&result, "max_abs=1000"));
    ck_ok(ulp_report_text(&result, 100, false, &summary, &why));
    ck_assert_ptr_nonnull(strstr(summary, "2 nodes are in branches"));
}

/* s grows by a half each iteration until it reaches a bound. */
static const struct text_graph grow_body = {"i_n b_c s", "b_d t",
                                            "[half] h = Div(s, two) [grow] t = Add(s, h) [most] m "
                                            "= ReduceMax(t) [go] b_d = Less(m, bound)"};

TEST(other_rounds_are_said)
{
    static const struct text_graph text = {
        "x limit",
        "y",
        "[top] bound = ReduceMax(limit) [loop] y = Loop(-, b_yes, x)",
        {&grow_body}};
    scoped_model *model = text_load(&text);
    scoped_tensor_set inputs = text_inputs(model, 1, 1.1, true);
    scoped_audit result = {0};
    /* 1.1f * 1.5^10 is 63.4325...: FP32's own value is the limit, the reference's the least bit
     * above or below it */
    float s = 1.1f, most = 0;
    double exact = 1.1f;
    for (int i = 0; i < 10; i++, most = s) {
        s = s + s / 2;
        exact *= 1.5;
    }
    struct ulp_tensor *limit = &inputs.items[1].tensor;
    ck_assert((double)most != exact);
    for (size_t e = 0; e < limit->count; e++)
        ((float *)limit->data)[e] = most > exact ? most : nextafterf(most, 1000);
    text_audit_samples(model, &inputs, 1, 1, &result);
    const struct ulp_audit_node *loop = audit_node(&result, 1, "loop"),
                                *grow = audit_node(&result, 1, "loop/grow");
    ck_assert_str_eq(result.lanes[1].arithmetic.name, "fp32");
    ck_assert(loop->outputs[0].entire.diverged && !loop->decided);
    ck_assert_uint_eq(grow->executions, 10);
    ck_assert_str_eq(result.lanes[1].nodes[result.lanes[1].first_decided].name, "loop/go");
}

/* ---- overflow, certificates ---- */

static const struct text_graph blow_body = {
    "i_n b_c s", "b_d t r",
    "[blow] t = Mul(s, big) [shift] r = Add(t, two) [go] b_d = Identity(b_c)"};

TEST(overflow_is_born_inside)
{
    static const struct text_graph text = {"x i_count",
                                           "y z",
                                           "[loop] y, z = Loop(i_count, b_yes, x)",
                                           {&blow_body}};
    scoped_audit result = {0};
    text_audit(&text, 1, 1, true, 1, &result);
    const struct ulp_audit_lane *fp16 = &result.lanes[0];
    ck_assert_str_eq(fp16->nodes[fp16->first_born].name, "loop/blow");
    const struct ulp_audit_node *blow = audit_node(&result, 0, "loop/blow"),
                                *loop = audit_node(&result, 0, "loop");
    /* born in one iteration, carried into the next */
    ck_assert(blow->born && blow->poisoned && !loop->born && loop->poisoned);
    ck_assert(audit_node(&result, 0, "loop/shift")->poisoned &&
              !audit_node(&result, 0, "loop/shift")->born);
    /* 300, 90,000 and 27,000,000: two iterations of 24 elements are beyond 65504 */
    ck_assert_uint_eq(blow->outputs[0].entire.nonfinite, 48);
    ck_assert_uint_eq(blow->outputs[0].entire.count, 24);
    ck_assert(blow->outputs[0].range.ref_max == 27000000);
    ck_assert_uint_eq(loop->outputs[1].entire.nonfinite, 48);
    ck_assert_int_eq(result.lanes[1].first_born, -1);
    ck_assert(test_crosses(&result, "nonfinite=0"));
}

/* Where digits cancel: x / 300 + 300 - 300. */
static const struct text_graph lossy_branch = {
    "", "t", "[part] p = Div(x, big) [there] a = Add(p, big) [back] t = Sub(a, big)"};
static const struct text_graph lossy_body = {
    "i_n b_c s", "b_d u",
    "[part] p = Div(x, big) [there] a = Add(p, big) [back] t = Sub(a, big) [sum] u = Add(s, t) "
    "[go] b_d = Identity(b_c)"};
static const struct text_graph lossy[] = {
    {"x b_flag", "y", "[if] y = If(b_flag)", {&lossy_branch, &negated}},
    {"x i_count", "y", "[loop] y = Loop(i_count, b_yes, x)", {&lossy_body}}};

TEST_LOOP(certificates_cover_what_is_inside, 0, 2)
{
    scoped_model *model = text_load(&lossy[_i]);
    scoped_tensor_set inputs = text_inputs(model, 5, 0, true);
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_certificate certificate = {0};
    const struct ulp_arithmetic reference = test_arithmetic("mpfr:64");
    ck_ok(ulp_certify(model, &reference, &inputs, &options, NULL, &certificate, &why));
    ck_assert_str_eq(certificate.node, _i ? "loop/back" : "if/back");
    /* 300 is some 2^16 times x / 300 (rms 2^-8): 16 of 64 bits, 4.8 of 19.3 digits, and one more or
     * less */
    ck_assert_msg(certificate.node_digits > 13.5 && certificate.node_digits < 15.5, "%g",
                  certificate.node_digits);
    ck_assert(certificate.output_digits >= certificate.node_digits &&
              (_i || certificate.output_digits == certificate.node_digits));
    free(certificate.node);
}

/* ---- joined figures ---- */

static void fill(struct ulp_tensor *t, int64_t count, uint64_t seed, double scale)
{
    ck_ok(ulp_tensor_create(t, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &count, &why));
    for (size_t i = 0; i < t->count; i++)
        ((float *)t->data)[i] = (float)(scale * (ulp_random_uniform(seed, i) - 0.3));
}

/* The same sums in another order: a few 2^-53 for each of 300 terms. */
#define CLOSE(a, b)                                                                            \
    ck_assert_msg(fabs((a) - (b)) <= 1e-13 * fabs(b), #a " %.17g expected %.17g", (double)(a), \
                  (double)(b))

TEST_LOOP(joined_figures_are_those_of_one_tensor, 0, 2)
{
    static const int64_t counts[] = {1, 100, 0, 57, 3};
    struct ulp_metrics joined, whole;
    scoped_tensor all_values = {0}, all_bases = {0};
    size_t used = 0, worst = SIZE_MAX;
    double median = 0, most = 0;
    const struct ulp_format format = test_format("fp16");
    fill(&all_values, 161, 1, 0);
    fill(&all_bases, 161, 1, 0);
    for (size_t part = 0; part < sizeof counts / sizeof *counts; part++) {
        scoped_tensor value = {0}, base = {0};
        struct ulp_metrics metrics;
        fill(&base, counts[part], 10 + part, ldexp(1, (int)part * 3));
        fill(&value, counts[part], 20 + part, ldexp(0.01, (int)part * 3));
        for (size_t i = 0; i < base.count; i++, used++) {
            ((float *)value.data)[i] += ((float *)base.data)[i];
            if (_i && used % 37 == 5)
                ((float *)value.data)[i] = INFINITY;
            ((float *)all_values.data)[used] = ((float *)value.data)[i];
            ((float *)all_bases.data)[used] = ((float *)base.data)[i];
        }
        ck_ok(ulp_metrics_measure(&value, &base, &format, &metrics, &why));
        if (_i ? metrics.nonfinite && worst == SIZE_MAX : metrics.max_abs > most) {
            worst = metrics.worst_index;
            most = metrics.max_abs;
        }
        if (part)
            ulp_metrics_join(&joined, &metrics);
        else
            joined = metrics;
        median = fmax(median, metrics.median_ulp);
    }
    ck_ok(ulp_metrics_measure(&all_values, &all_bases, &format, &whole, &why));
    ck_assert(joined.max_abs == whole.max_abs && joined.max_rel == whole.max_rel &&
              joined.max_ulp == whole.max_ulp);
    ck_assert(joined.count == whole.count && joined.nonfinite == whole.nonfinite &&
              joined.median_ulp == median);
    ck_assert_uint_eq(joined.worst_index, worst);
    CLOSE(joined.rms, whole.rms);
    CLOSE(joined.mean, whole.mean);
    CLOSE(joined.cosine, whole.cosine);
    CLOSE(joined.sqnr_db, whole.sqnr_db);
    CLOSE(joined.base_norm, whole.base_norm);
    CLOSE(joined.value_norm, whole.value_norm);
    ck_assert_uint_eq(whole.nonfinite, _i ? 5 : 0);
}

/* A node of constants that gives integers beside floats is computed in each iteration, whole. */
TEST(what_iterations_compute_is_given_back)
{
    static const struct text_graph body = {
        "i_n b_c s", "b_d t",
        "[drop] d, b_mask = Dropout(w) [mix] t = MatMul(s, d) [go] b_d = Identity(b_c)"};
    static const struct text_graph text = {"x i_count",
                                           "y",
                                           "[loop] y = Loop(i_count, b_yes, x)",
                                           {&body}};
    struct ulp_budget budget = {.limit_bytes = (size_t)1 << 28};
    struct ulp_model *model = text_load_within(&text, &budget);
    struct ulp_tensor_set inputs = text_inputs(model, 1, 1, true);
    const struct ulp_run_options options = {.thread_count = 1};
    for (size_t lane = 0; lane < TEXT_LANES; lane++) {
        scoped_program *program = text_plan(model, &inputs, lane, 1);
        for (int run = 0; run < 2; run++)
            ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, NULL, NULL, &why));
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    ck_assert_uint_eq(budget.used_bytes, 0);
}

TEST_SUITE("iterations", 0)
