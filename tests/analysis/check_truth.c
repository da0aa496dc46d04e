/* analysis: a rewritten graph measured against the values of the model it came from. */
#include "tests/support/text_model.h"

#include "run/lane.h"
#include "analysis/audit/auditor.h"
#include "analysis/audit/truth.h"

/* The rewritten graph differs by a factor in the middle (its "conversion"), has a value the
 * original has not (d), one under another name (e2 for e), and one of another shape (m). */
static const struct text_graph original = {
    "x", "y",
    "[product] a = MatMul(x, w) [sum] e = Add(a, x) [most] m = ReduceMax(e) [scale] y = Mul(e, m)"};
static const struct text_graph rewritten = {
    "x", "y",
    "[product] a = MatMul(x, w) [twice] d = Mul(a, two) [back] e2 = Sub(d, x) [other] m = Relu(e2) "
    "[scale] y = Mul(e2, m)"};

static struct ulp_audit audit_against(const struct ulp_model *model, const struct ulp_model *truth,
                                      const struct ulp_tensor_set *inputs, const char *const *pair,
                                      enum ulp_status expected, struct ulp_error *error)
{
    const struct ulp_program_options options = {.inputs = inputs};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true},
                                 alone = {.thread_count = 1};
    scoped_program *program = text_plan(model, inputs, 0, TEXT_LANES), *other = NULL;
    struct ulp_auditor *auditor;
    struct ulp_truth *values;
    struct ulp_audit audit = {0};
    const struct ulp_arithmetic reference = test_arithmetic(text_lanes[0]);
    ck_ulp_ok(ulp_program_create(truth, &reference, 1, &options, &other, error), *error);
    ck_ulp_ok(ulp_truth_create(NULL, &values, error), *error);
    if (pair)
        ck_ulp_ok(ulp_truth_pair(values, pair[0], pair[1], error), *error);
    ck_ulp_ok(ulp_auditor_create(program, &auditor, error), *error);
    ck_ulp_ok(ulp_auditor_truth(auditor, values, "original.onnx", error), *error);
    const struct ulp_observer collect = ulp_truth_observer(values),
                              observe = ulp_auditor_observer(auditor);
    for (int sample = 0; sample < 2; sample++) { /* the same twice: the first must be forgotten */
        ulp_truth_clear(values);
        ck_ulp_ok(ulp_auditor_sample(auditor, "sample", error), *error);
        ck_ulp_ok(ulp_program_run(other, inputs, &alone, &collect, 1, NULL, NULL, error), *error);
        ck_ulp_ok(ulp_program_run(program, inputs, &run, &observe, 1, NULL, NULL, error), *error);
    }
    ck_assert_int_eq(ulp_auditor_finish(auditor, &audit, error), expected);
    ulp_auditor_free(auditor);
    ulp_truth_free(values);
    return audit;
}

/* Against itself every figure is what it is without a reference model. */
TEST(itself)
{
    struct ulp_error error;
    scoped_model *model = text_load(&original);
    scoped_tensor_set inputs = text_inputs(model, 1, NAN, true);
    struct ulp_tensor_set twice[2] = {inputs, inputs};
    scoped_audit expected = {0}, got = audit_against(model, model, &inputs, NULL, ULP_OK, &error);
    text_audit_samples(model, twice, 2, 1, &expected);
    ck_assert_uint_eq(got.paired_count, 4);
    ck_assert_uint_eq(got.unpaired_count, 0);
    ck_assert_str_eq(got.reference_model, "original.onnx");
    for (size_t l = 0; l < got.lane_count; l++)
        for (size_t n = 0; n < got.lanes[l].node_count; n++)
            audit_expect_same(&got.lanes[l].nodes[n], &expected.lanes[l].nodes[n]);
}

/* entire is measured from the original's value, introduced from the node's own, and values without
 * a partner have no entire. */
TEST(partners)
{
    struct ulp_error error;
    scoped_model *model = text_load(&rewritten), *truth = text_load(&original);
    struct ulp_tensor_set inputs = text_inputs(model, 1, NAN, true), outputs[TEXT_LANES], true_out;
    const struct ulp_run_options run = {.thread_count = 1};
    struct ulp_program *program = text_plan(model, &inputs, 0, TEXT_LANES),
                       *other = text_plan(truth, &inputs, 0, 1);
    ck_ok(ulp_program_run(program, &inputs, &run, NULL, 0, outputs, NULL, &why));
    ck_ok(ulp_program_run(other, &inputs, &run, NULL, 0, &true_out, NULL, &why));
    struct ulp_audit audit =
        audit_against(model, truth, &inputs, (const char *const[]){"e2", "e"}, ULP_OK, &error);
    ck_assert_uint_eq(audit.paired_count, 3);
    ck_assert_uint_eq(audit.unpaired_count, 2);
    for (size_t l = 0; l < audit.lane_count; l++) {
        const struct ulp_audit_lane *lane = &audit.lanes[l];
        struct ulp_metrics direct;
        struct ulp_format format;
        ck_ok(ulp_lane_format(&lane->arithmetic, ULP_TYPE_FLOAT, &format, &why));
        ck_ok(ulp_metrics_measure(&outputs[l + 1].items[0].tensor, &true_out.items[0].tensor,
                                  &format, &direct, &why));
        ck_assert(audit_same_metrics(&direct, &lane->outputs.outputs[0].entire));
        ck_assert(audit_node(&audit, l, "back")->outputs[0].entire.max_abs > 0.1);
        ck_assert(audit_node(&audit, l, "back")->outputs[0].introduced.max_abs < 0.1);
        const struct ulp_audit_output *alone = &audit_node(&audit, l, "twice")->outputs[0],
                                      *shape = &audit_node(&audit, l, "other")->outputs[0];
        ck_assert(alone->unpaired && shape->unpaired && !lane->outputs.outputs[0].unpaired);
        ck_assert(isnan(alone->entire.rms) && alone->entire.count == 0 && alone->single.count);
    }
    char *summary;
    ck_ok(ulp_report_text(&audit, 100, false, &summary, &why));
    ck_assert_ptr_nonnull(strstr(summary, "original.onnx: 3 paired by name, 2 not"));
    ck_assert_ptr_nonnull(strstr(summary, "(entire and carried unknown): d,"));
    free(summary);
    ulp_audit_free(&audit);
    for (size_t l = 0; l < TEXT_LANES; l++)
        ulp_tensor_set_free(&outputs[l]);
    ulp_tensor_set_free(&true_out);
    ulp_tensor_set_free(&inputs);
    ulp_program_free(program);
    ulp_program_free(other);
}

/* A pair that names nothing is no pair. */
TEST(strays)
{
    struct ulp_error error;
    scoped_model *model = text_load(&rewritten), *truth = text_load(&original);
    scoped_tensor_set inputs = text_inputs(model, 1, NAN, true);
    static const char *const pairs[][2] = {{"e2", "nobody"}, {"nobody", "e"}};
    for (size_t i = 0; i < 2; i++) {
        scoped_audit audit =
            audit_against(model, truth, &inputs, pairs[i], ULP_ERROR_USAGE, &error);
        ck_assert_ptr_nonnull(strstr(error.message, "nobody"));
        ck_assert_uint_eq(audit.lane_count, 0);
    }
}

/* Floats of another type than declared are rounded once to the declared one. */
TEST(other_float_types)
{
    scoped_model *model = text_load(&original);
    struct ulp_tensor_set inputs = text_inputs(model, 1, NAN, true), doubles = {0}, out[2];
    scoped_program *program = text_plan(model, &inputs, 0, 1);
    for (size_t i = 0; i < inputs.count; i++) {
        struct ulp_tensor copy = inputs.items[i].tensor, wide;
        if (copy.type == ULP_TYPE_FLOAT) {
            ck_ok(ulp_tensor_create(&wide, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, copy.rank,
                                    copy.dims, &why));
            for (size_t k = 0; k < wide.count; k++) /* an eighth of an FP32 ulp beside */
                ((double *)wide.data)[k] = ((float *)copy.data)[k] * (1 + 0x1p-27);
            ck_ok(ulp_tensor_set_add(&doubles, inputs.items[i].name, &wide, &why));
        } else {
            copy.owned = false;
            ck_ok(ulp_tensor_set_add(&doubles, inputs.items[i].name, &copy, &why));
        }
    }
    ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &out[0], NULL, &why));
    ck_ok(ulp_program_run(program, &doubles, NULL, NULL, 0, &out[1], NULL, &why));
    ck_assert(test_same_bits(&out[0].items[0].tensor, &out[1].items[0].tensor));
    ulp_tensor_set_free(&out[0]);
    ulp_tensor_set_free(&out[1]);
    ulp_tensor_set_free(&inputs);
    ulp_tensor_set_free(&doubles);
}

TEST_SUITE("truth", 0)
