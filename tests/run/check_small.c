/* Graphs of a few nodes whose figures follow by hand: decisions and steps in an audit, what
 * stochastic roundings draw, perturbed constants. What plain runs give is in check_known. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

static struct ulp_audit audit_text(const char *text)
{
    scoped_tensor_set inputs = {0};
    scoped_model *model = onnx_text_given(21, text, &inputs, NULL);
    scoped_program *program = test_plan(model, &inputs, "pair", "fp16");
    struct ulp_audit audit = test_audit(program, &inputs, NULL);
    return audit;
}

/* x = [1, 1 + 1e-5, 0, 0]: FP16 stores two ones, so its ArgMax is 0 where the reference's is 1, and
 * what follows has diverged. A finite wrong index is no overflow: only the graph's output crosses
 * the limit. */
TEST(another_decision_is_a_divergence)
{
    scoped_audit audit = audit_text(
        "(float[1,4] x = {1, 1.00001, 0, 0}) => (float[1,1] z, float[1,4] y) { [decide] index = "
        "ArgMax<axis=1>(x) y = Relu(x) z = GatherElements<axis=1>(x, index) }");
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    ck_assert_int_eq(lane->first_born, -1);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
    ck_assert_uint_eq(lane->outputs.output_count, 2);
    ck_assert(lane->outputs.outputs[0].entire.diverged &&
              lane->outputs.outputs[0].carried.diverged);
    ck_assert(!lane->outputs.outputs[0].introduced.diverged &&
              !lane->outputs.outputs[1].entire.diverged);
    ck_assert(test_crosses(&audit, "diverged=0") && test_crosses(&audit, "z:rms=1e9"));
    /* z cannot be judged by a figure, and so no limit of all outputs is met; y by itself can */
    ck_assert(test_crosses(&audit, "rms=1e9") && !test_crosses(&audit, "y:rms=1e9"));
}

/* x = [1.4999, 1.6]: FP16 stores 1.5 and quantises to [2, 2] where the reference has [1, 2]. A step
 * of difference, also after Flatten, is an error with a size (|difference| = 1 in one of two: rms
 * sqrt(1/2)); the ArgMax of such steps is another decision all the same. */
TEST(a_step_of_a_scale_is_an_error)
{
    scoped_audit audit = audit_text(
        "(float[1,2] x = {1.4999, 1.6}, float s = {1}, uint8 p = {0}) => (float[1,2] y, uint8[1,2] "
        "flat, int64[1,1] index) { steps = QuantizeLinear(x, s, p) flat = Flatten(steps) y = "
        "DequantizeLinear(flat, s, p) [decide] index = ArgMax<axis=1>(flat) }");
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    const struct ulp_audit_output *outputs = lane->outputs.outputs;
    for (size_t o = 0; o < 2; o++) {
        ck_assert(!outputs[o].entire.diverged && outputs[o].entire.max_abs == 1);
        /* a few roundings of doubles */
        ck_assert(fabs(outputs[o].entire.rms - sqrt(0.5)) <= 1e-15);
    }
    ck_assert(outputs[2].entire.diverged);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
}

/* A scale that is moved is told as the constant it is, in every lane, and has no error. */
TEST(moved_scales_have_no_error)
{
    scoped_audit audit = audit_text(
        "(float[2] x = {140...}) => (float[2] y) <float big = {300}, float two = {2}> { [same] a = "
        "Identity(big) [again] b = Identity(a) u = QuantizeLinear(x, b) y = DequantizeLinear(u, "
        "two) }");
    const struct ulp_audit_output *again = audit.lanes[0].nodes[1].outputs;
    ck_assert_str_eq(audit.lanes[0].nodes[1].name, "again");
    ck_assert(again->entire.max_abs == 0 && again->introduced.max_abs == 0);
    ck_assert(again->range.ref_max == 300);
}

/* 4096 sums of 1 + 2^-11, half way between FP16's neighbours, in two nodes: each result is either
 * neighbour, and the two nodes agree in half of them; so do a sum's rounding and that of its bias,
 * 2^-11 (epilogue=rounded): equally often both are up, one, or none. Limits are five standard
 * deviations of 4096 fair coins, 32. */
TEST_LOOP(stochastic_roundings_draw_their_own_numbers, 0, 3)
{
    enum { COUNT = 4096 };
    static const char *const arithmetics[] = {"fp16,round=sr", "fp16,round=sr,epilogue=rounded",
                                              "fp16,round=sr,unit=none"};
    const char *const arithmetic = arithmetics[_i];
    scoped_model *model = onnx_text_load(
        13, "() => (float y, float z, float w) <float[4096,1] ones = {1...}, float[4096,1] small = "
            "{0x1p-6...}, float[2,1] b = {1, 0x1p-5}, float[1] bias = {0x1p-11}, float[1] none = "
            "{0}> { a = Concat<axis=1>(ones, small) y = Gemm(a, b, none) z = Gemm(a, b, none) w = "
            "Gemm(a, b, bias) }");
    scoped_tensor_set outputs = test_outputs(model, NULL, arithmetic);
    ck_assert_uint_eq(outputs.count, 3);
    int up = 0, equal = 0, once = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double y = ulp_tensor_get(&outputs.items[0].tensor, i),
                     z = ulp_tensor_get(&outputs.items[1].tensor, i),
                     w = ulp_tensor_get(&outputs.items[2].tensor, i);
        ck_assert(y == 1 || y == 1 + 0x1p-10);
        up += y > 1;
        equal += y == z;
        once += w == 1 + 0x1p-10;
    }
    ck_assert_msg(abs(up - COUNT / 2) < 160, "%s: %d up", arithmetic, up);
    ck_assert_msg(abs(equal - COUNT / 2) < 160, "%s: two nodes agree in %d", arithmetic, equal);
    if (_i == 1)
        ck_assert_msg(abs(once - COUNT / 2) < 160, "%s: sum and bias agree in %d", arithmetic,
                      COUNT - once);
    else
        ck_assert_int_eq(once, COUNT); /* exact */
}

/* y = x W + b and z = x * b with a W of 16 elements, which is moved, and a b of 4, which is not. */
TEST(perturbed_plans_are_close)
{
    const float w = 0.3f, x[4] = {1.25f, -0.5f, 3, 0.75f};
    struct ulp_tensor_set inputs, outputs[4];
    const struct ulp_arithmetic lane = test_arithmetic("fp64");
    scoped_model *model = onnx_text_given(
        21,
        "(float[1,4] x = {1.25, -0.5, 3, 0.75}) => (float[1,4] y, float[1,4] z) <float[4,4] w = "
        "{0.3...}, float[4] b = {0.1, 0.2, 0.3, 0.4}> { y = MatMul(x, w) z = Mul(x, b) }",
        &inputs, NULL);
    for (uint64_t seed = 0; seed < 4; seed++) { /* 0: the model itself; 3: as 2 */
        const struct ulp_program_options options = {.inputs = &inputs,
                                                    .perturbation = {.precision = seed ? 11 : 0,
                                                                     .seed = seed < 3 ? seed : 2}};
        scoped_program *program = NULL;
        ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs[seed], NULL, &why));
    }
    for (int i = 0; i < 4; i++) {
        double y[4], most = 0;
        for (int s = 0; s < 4; s++)
            y[s] = ulp_tensor_get(&outputs[s].items[0].tensor, (size_t)i);
        for (int k = 0; k < 4; k++)
            most += fabs((double)x[k] * (double)w) * 0x1p-9;
        ck_assert(y[1] != y[0] && y[2] != y[0] && y[1] != y[2]);
        ck_assert(fabs(y[1] - y[0]) <= most * 1.001 && fabs(y[2] - y[0]) <= most * 1.001);
        ck_assert(y[2] == y[3]);
        for (int s = 1; s < 4; s++)
            ck_assert(ulp_tensor_get(&outputs[s].items[1].tensor, (size_t)i) ==
                      ulp_tensor_get(&outputs[0].items[1].tensor, (size_t)i));
    }
    for (int s = 0; s < 4; s++)
        ulp_tensor_set_free(&outputs[s]);
    ulp_tensor_set_free(&inputs);
}
