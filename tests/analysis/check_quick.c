/* The quick reference: FP64 with its roundings looked at. The oracle is the audit whose reference
 * is 128 bits in every node: what FP64 changes in the figures is no more than what is said, and
 * where FP64 loses what matters, the node is found. */
#include <math.h>
#include <string.h>

#include "tests/support/text_model.h"
#include "analysis/audit/auditor.h"
#include "analysis/quick/quick.h"

static const struct text_graph network = {
    "x",
    "y",
    {NODE("MatMul", "product", "x w", "p"), NODE("Sigmoid", "gate", "p", "g"),
     NODE("Mul", "gated", "g p", "h"), NODE("Softmax", "soft", "h", "s"),
     NODE("MatMul", "mix", "s w", "m"), NODE("Exp", "power", "m", "e"),
     NODE("ReduceSum", "sum", "e", "t"), NODE("Div", "ratio", "e t", "y")}};
/* big^8 is 2^65.8: x is lost beside it in FP64 as well, and what is left is not x. */
static const struct text_graph cancelling = {
    "x",
    "y",
    {NODE("Mul", "two_of_them", "big big", "b"), NODE("Mul", "four", "b b", "c"),
     NODE("Mul", "eight", "c c", "d"), NODE("Add", "there", "x d", "a"),
     NODE("Sub", "back", "a d", "r"), NODE("Mul", "last", "r two", "y")}};

/* The audit of one sample with lane 0 in `reference`; with `doubtful` (else NULL) it is a quick
 * one, which says of each node whether FP64 is not known to be enough. */
static struct ulp_audit audit_with(const struct text_graph *graph, const char *reference,
                                   const char *lane, bool *doubtful)
{
    struct ulp_error error;
    struct ulp_model *model = text_load(graph);
    struct ulp_tensor_set inputs = text_inputs(model, 1, NAN, true);
    const struct ulp_arithmetic lanes[] = {test_arithmetic(reference), test_arithmetic(lane)};
    const struct ulp_program_options options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    struct ulp_program *program;
    struct ulp_auditor *auditor;
    struct ulp_quick *quick = NULL;
    struct ulp_audit audit = {0};
    ck_ulp_ok(ulp_program_create(model, lanes, 2, &options, &program, &error), error);
    ck_ulp_ok(ulp_auditor_create(program, &auditor, &error), error);
    ck_ulp_ok(ulp_auditor_sample(auditor, "sample", &error), error);
    struct ulp_observer observers[2] = {ulp_auditor_observer(auditor)};
    if (doubtful) {
        ck_ulp_ok(ulp_quick_create(program, 1, &quick, &error), error);
        observers[1] = ulp_quick_observer(quick);
    }
    ck_ulp_ok(ulp_program_run(program, &inputs, &run, observers, doubtful ? 2 : 1, NULL, NULL,
                              &error),
              error);
    ck_ulp_ok(ulp_auditor_finish(auditor, &audit, &error), error);
    if (doubtful) {
        ck_ulp_ok(ulp_quick_judge(quick, &audit, &error), error);
        for (size_t n = 0; n < ulp_program_node_count(program); n++)
            doubtful[n] = quick->nodes[n].doubtful;
    }
    ulp_quick_free(quick);
    ulp_auditor_free(auditor);
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    return audit;
}

/* Of every node: |rms(P - R') - rms(P - R)| <= rms(R' - R), which is at most the ratio times the
 * error. */
static void expect_figures(const struct ulp_audit *quick, const struct ulp_audit *full,
                           const char *what)
{
    const double ratio = quick->quick.worst_ratio;
    for (size_t n = 0; n < full->lanes[0].node_count; n++) {
        const struct ulp_audit_output *a = &quick->lanes[0].nodes[n].outputs[0],
                                      *b = &full->lanes[0].nodes[n].outputs[0];
        /* 1e-14: the figures are doubles, themselves rounded */
        const double allowed = (ratio + 1e-14) * b->entire.rms;
        ck_assert_msg(fabs(a->entire.rms - b->entire.rms) <= allowed,
                      "%s: %s: %.17g, exactly %.17g", what, full->lanes[0].nodes[n].name,
                      a->entire.rms, b->entire.rms);
        ck_assert_msg(fabs(a->carried.rms - b->carried.rms) <= allowed, "%s: %s carries", what,
                      full->lanes[0].nodes[n].name);
    }
}

START_TEST(figures_agree)
{
    static const char *const lanes[] = {"fp16", "fp32", "tf32", "bf16"};
    for (size_t l = 0; l < sizeof lanes / sizeof *lanes; l++) {
        bool doubtful[16] = {false};
        struct ulp_audit quick = audit_with(&network, "fp64", lanes[l], doubtful),
                         full = audit_with(&network, "mpfr:128", lanes[l], NULL);
        ck_assert(quick.quick.given && !full.quick.given);
        ck_assert_uint_eq(quick.quick.doubtful, 0);
        ck_assert_uint_eq(quick.quick.exact, 0);
        ck_assert_uint_eq(quick.quick.sampled + quick.quick.whole, 8);
        ck_assert(quick.quick.worst_ratio > 0 && quick.quick.worst_ratio < 1e-4);
        expect_figures(&quick, &full, lanes[l]);
        ulp_audit_free(&quick);
        ulp_audit_free(&full);
    }
}
END_TEST

/* FP64 says that x + big - big is 0, or a multiple of its spacing there, and so does FP32: without
 * a look at the reference that is no error. */
START_TEST(cancellation_is_found)
{
    bool doubtful[16] = {false};
    struct ulp_audit blind = audit_with(&cancelling, "fp64", "fp32", NULL),
                     full = audit_with(&cancelling, "mpfr:128", "fp32", NULL);
    const double truth = full.lanes[0].nodes[5].outputs[0].range.ref_rms,
                 seen = blind.lanes[0].nodes[5].outputs[0].range.ref_rms;
    ck_assert_str_eq(full.lanes[0].nodes[5].name, "last");
    ck_assert_msg(!(fabs(seen - truth) <= 0.5 * truth), "FP64 sees %g, it is %g", seen, truth);
    struct ulp_audit quick = audit_with(&cancelling, "fp64", "fp32", doubtful);
    ck_assert_msg(doubtful[4] && doubtful[5], "the difference is not found");
    ck_assert(!doubtful[0]);
    ck_assert(quick.quick.worst_ratio > 1);
    ulp_audit_free(&quick);
    ulp_audit_free(&blind);
    ulp_audit_free(&full);
}
END_TEST

/* An arithmetic that is as exact as the reference cannot be judged by it. */
START_TEST(equals_are_doubtful)
{
    bool doubtful[16] = {false};
    struct ulp_audit quick = audit_with(&network, "fp64", "fp64", doubtful);
    ck_assert(quick.quick.doubtful > 0);
    ck_assert(doubtful[0]);
    ulp_audit_free(&quick);
}
END_TEST

/* Nothing is known of bodies: what runs in them, and what owns them, is doubtful. */
START_TEST(bodies_are_doubtful)
{
    bool doubtful[16] = {false};
    struct ulp_audit quick = audit_with(&text_with_bodies, "fp64", "fp16", doubtful);
    size_t owners = 0, others = 0;
    for (size_t n = 0; n < quick.lanes[0].node_count; n++) {
        const struct ulp_audit_node *node = &quick.lanes[0].nodes[n];
        const bool owner = strcmp(node->op, "If") == 0 || strcmp(node->op, "Loop") == 0;
        owners += owner;
        others += !doubtful[n];
        ck_assert_msg(!owner || doubtful[n], "%s is not", node->name);
    }
    ck_assert_uint_ge(owners, 2);
    ck_assert_uint_gt(others, 0);
    ck_assert(isinf(quick.quick.worst_ratio));
    ulp_audit_free(&quick);
}
END_TEST

TEST_MAIN("quick", 60)
{
    tcase_add_test(tests, figures_agree);
    tcase_add_test(tests, cancellation_is_found);
    tcase_add_test(tests, equals_are_doubtful);
    tcase_add_test(tests, bodies_are_doubtful);
}
