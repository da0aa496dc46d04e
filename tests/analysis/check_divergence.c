/* analysis: decisions that another rounding turns, and figures behind them. Values are chosen so
 * that FP16 rounds two of them onto others, and everything below follows by hand. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"
#include "analysis/audit/auditor.h"

#define COUNT 6
#define TINY 0x1p-12 /* a quarter of FP16's unit at 1, an eighth at 2 */

/* 1 and 1 + TINY are one number in FP16, and 3 - TINY is 3.
 * top: values v and indices i of all, picked again as g; bigger c: x > 1; whole k: x cast. */
#define MODEL                                                                                      \
    "(float[1,6] x = {1, 0x1.001p0, 0x1.7ff8p1, 2, 5, 4}) => (float v, int64 i, float g, bool c, " \
    "int64 k, int64 a) <int64[1] all = {6}, float one = {1}> { [top] v, i = TopK<axis=-1>(x, "     \
    "all) [again] g = GatherElements<axis=1>(x, i) [bigger] c = Greater(x, one) [whole] k = "      \
    "Cast<to=7>(x) [down] d = Floor(x) [after] a = Cast<to=7>(d) }"

static struct ulp_audit audit_inputs(const struct ulp_model *model,
                                     const struct ulp_tensor_set *inputs)
{
    const struct ulp_run_options run = {.thread_count = 1, .audit = true},
                                 follow = {.thread_count = 1, .follow = true};
    struct ulp_arithmetic lanes[3];
    struct ulp_auditor *auditor;
    struct ulp_audit out;
    for (size_t l = 0; l < 3; l++)
        lanes[l] = test_arithmetic((const char *[]){"mpfr:128", "fp16", "fp32"}[l]);
    scoped_program *program = test_plan_lanes(model, inputs, lanes, 3);
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    const struct ulp_observer first = ulp_auditor_observer(auditor),
                              second = ulp_auditor_follower(auditor);
    for (int sample = 0; sample < 2; sample++) {
        ck_ok(ulp_auditor_sample(auditor, "sample", &why));
        ck_assert(!ulp_auditor_has_diverged(auditor));
        ck_ok(ulp_program_run(program, inputs, &run, &first, 1, NULL, NULL, &why));
        ck_assert(ulp_auditor_has_diverged(auditor));
        ck_ok(ulp_program_run(program, inputs, &follow, &second, 1, NULL, NULL, &why));
    }
    ck_ok(ulp_auditor_finish(auditor, &out, &why));
    ulp_auditor_free(auditor);
    return out;
}

static struct ulp_audit audit(const char *text)
{
    scoped_tensor_set inputs = {0};
    scoped_model *model = onnx_text_given(16, text, &inputs, NULL);
    return audit_inputs(model, &inputs);
}

static const struct ulp_divergence *find(const struct ulp_audit *audit, const char *name)
{
    const struct ulp_audit_node *outputs = &audit->lanes[0].outputs;
    for (size_t o = 0; o < outputs->output_count; o++)
        if (strcmp(outputs->outputs[o].name, name) == 0)
            return outputs->outputs[o].divergence;
    ck_abort_msg("no output %s", name);
    return NULL;
}

TEST(decisions)
{
    static const struct {
        const char *name;
        size_t differing, first;
    } rows[] = {{"i", 2, 4}, {"c", 1, 1}, {"k", 1, 2}};
    scoped_audit result = audit(MODEL);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct ulp_divergence *divergence = find(&result, rows[r].name);
        ck_assert_msg(divergence && divergence->count == COUNT &&
                          divergence->differing == rows[r].differing &&
                          divergence->first == rows[r].first,
                      "%s", rows[r].name);
        ck_assert_msg(divergence->margin == TINY && divergence->margin_error == TINY, "%s: %g, %g",
                      rows[r].name, divergence->margin, divergence->margin_error);
        ck_assert(divergence->followed.given && divergence->followed.metrics.rms == 0 &&
                  !divergence->followed.metrics.diverged);
    }
    /* a Cast of whole numbers decides nothing: the Floor before it does */
    const struct ulp_divergence *after = find(&result, "a");
    ck_assert(after->differing == 1 && after->first == 2 && isnan(after->margin));
    for (size_t n = 0; n < result.lanes[0].node_count; n++)
        if (strcmp(result.lanes[0].nodes[n].name, "down") == 0) {
            const struct ulp_divergence *down = result.lanes[0].nodes[n].outputs[0].divergence;
            ck_assert(down && down->differing == 1 && down->margin == TINY &&
                      down->margin_error == TINY);
        }
    for (size_t o = 0; o < result.lanes[1].outputs.output_count; o++)
        ck_assert_ptr_null(result.lanes[1].outputs.outputs[o].divergence); /* FP32 holds them */
}

/* Values picked by other indices have the figures of what the reference would have picked. */
TEST(what_follows)
{
    scoped_audit result = audit(MODEL);
    const struct ulp_divergence *again = find(&result, "g"), *indices = find(&result, "i");
    /* x less what FP16 holds: TINY at two of six places */
    const double rms = sqrt(2 * TINY * TINY / COUNT);
    ck_assert(again->followed.given && again->followed.metrics.count == COUNT);
    ck_assert(fabs(again->followed.metrics.rms / rms - 1) < 1e-12 &&
              again->followed.metrics.max_abs == TINY);
    ck_assert(again->differing == 0 && isnan(again->margin));
    ck_assert(indices->matched.given && indices->matched.rows == COUNT &&
              indices->matched.moved == 2 && indices->matched.differing == 0 &&
              indices->matched.rms == 0);
    ck_assert(again->matched.given && again->matched.differing == 2 &&
              again->matched.max_abs == TINY);
}

/* Limits are of the figures with the reference's decisions; reports hold them. */
TEST(limits_and_reports)
{
    scoped_audit result = audit(MODEL);
    SCOPED_MEMORY char *summary = NULL;
    ck_assert(test_crosses(&result, "diverged=0") && !test_crosses(&result, "fp32:diverged=0"));
    ck_assert(!test_crosses(&result, "g:max_abs=0.000245") &&
              test_crosses(&result, "g:max_abs=0.000244"));
    /* indices are the decision itself: with the reference's they would be compared with themselves
     */
    ck_assert(test_crosses(&result, "i:max_abs=9") && test_crosses(&result, "max_abs=0.000245"));
    ck_assert(!test_crosses(&result, "fp32:i:max_abs=0"));
    ck_ok(ulp_report_text(&result, 100, false, &summary, &why));
    ck_assert_ptr_nonnull(strstr(summary, "ahead by 0.000244"));
}

/* Which comparison FP16 turns: of two scores, of an overlap (of 1 x 1 in 1 x 2 - TINY), of a score
 * with the threshold. The last two make the list longer or shorter. */
TEST(suppression)
{
    const struct {
        const char *boxes, *scores, *least;
        size_t row;
        double margin;
    } rows[] = {
        {"0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9", "1, 0x1.001p0, 4", "0", 1, TINY},
        {"0, 0, 1, 1, 0, 0, 1, 0x1.fffp0, 8, 8, 9, 9", "2, 3, 4", "0", 2, 1 / (2 - TINY) - 0.5},
        {"0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9", "0x1.001p0, 3, 4", "1", 2, TINY},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char text[400];
        snprintf(text, sizeof text,
                 "(float[1,3,4] boxes = {%s}, float[1,1,3] scores = {%s}) => (int64 kept) <int64 "
                 "most = {3}, float iou = {0.5}, float least = {%s}> { [nms] kept = "
                 "NonMaxSuppression(boxes, scores, most, iou, least) }",
                 rows[r].boxes, rows[r].scores, rows[r].least);
        scoped_audit result = audit(text);
        const struct ulp_divergence *divergence = find(&result, "kept");
        ck_assert_ptr_nonnull(divergence);
        ck_assert_msg(divergence->reshaped == (r > 0) && divergence->first == 3 * rows[r].row &&
                          divergence->margin == rows[r].margin &&
                          divergence->margin_error == rows[r].margin,
                      "%zu: first %zu, margin %g, error %g", r, divergence->first,
                      divergence->margin, divergence->margin_error);
    }
}

TEST_SUITE("divergence", 0)
