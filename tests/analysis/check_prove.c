/* Proofs (ulpscope/prove.h): what is proven is never violated, by random inputs and by inputs that
 * climb towards the bound along the gradient; what is not proven is so for the reason that is
 * given. */
#include "base/memory/budget.h"
#include "tests/support/line_model.h"
#include "tests/support/onnx_text.h"
#include "tests/support/text_model.h"
#include "attack.h"

static void attack(struct subject *subject, size_t random, size_t climbs,
                   const struct ulp_tensor_set *shapes)
{
    attack_randomly(subject, random, 0, shapes);
    attack_climbing(subject, climbs, 0, shapes);
}

/* ---- small models ---- */

static const struct proof_case {
    const char *lines;
    double low, high;
    /* verdicts of the nodes in order: p proven, c conditional, n not proven */
    const char *verdicts;
} cases[] = {
    {"y = Add(x, x)", -10, 10, "p"},
    {"y = Add(x, x)", -40000, 40000, "n"},
    {"y = Mul(x, x)\nz = Sqrt(y)", -200, 250, "pp"},
    {"y = Mul(x, x)\nz = Relu(y)", -200, 300, "nc"},
    {"y = Div(x, z)", 0, 1, "n"},
    {"y = Div(x, z)", 0.25, 1, "p"},
    {"y = Log(x)", 0.25, 1, "p"},
    {"y = Exp(x)", -20, 11, "p"},
    {"y = Exp(x)", -20, 12, "n"},
    {"y = Tanh(x)\nz = Sigmoid(x)\na = Erf(x)\nb = Add(y, z)", -6e4, 6e4, "pppp"},
    {"y = Softmax(x) axis=2\nz = MatMul(y, w8x8)", -6e4, 6e4, "pp"},
    /* the same written out, along the last axis and another; of a row it does not reduce; what is
     * the largest of other numbers */
    {"m = ReduceMax(x) axes=-1\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e) axes=-1\ny = Div(e, "
     "s)\n"
     "a = Mul(v, 60000.0)\nz = Mul(y, a)",
     -1, 1, "ppppppp"},
    {"m = ReduceMax(x) axes=-1\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e) axes=-1\ny = Div(e, "
     "s)\n"
     "z = MatMul(y, w8x8)",
     -3e4, 3e4, "pppppp"},
    {"m = ReduceMax(x) axes=1\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e) axes=1\ny = Div(e, s)",
     -3e4, 3e4, "ppppp"},
    {"m = ReduceMax(x) axes=2\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e) axes=1\ny = Div(e, s)",
     -3e4, 3e4, "ppppn"},
    {"m = ReduceMax(z) axes=2\nd = Sub(x, m)\ne = Exp(d)\ny = Relu(e)", -20, 20, "ppnc"},
    {"y = MatMul(x, w8x8)\nz = MatMul(y, w8x8b)", -1000, 1000, "pp"},
    {"y = MatMul(x, w8x8)\nz = MatMul(y, w8x8b)", -10000, 10000, "pn"},
    /* a LayerNormalization, as an operator and written out: its result is bounded by itself */
    {"y = LayerNormalization(x, w8, w8b) axis=-1", -6e4, 6e4, "p"},
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.00001)\ns = Sqrt(e)\nn = Div(d, s)\ng = Mul(n, w8)\ny = Add(g, w8b)",
     -100, 100, "ppppppppp"},
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.00001)\ns = Sqrt(e)\nn = Div(d, s)\ng = Mul(n, w8)\ny = Add(g, w8b)",
     -3000, 3000, "ppnccnppp"},
    /* an epsilon that FP16 does not have */
    {"m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\nv = ReduceMean(q) axes=-1\n"
     "e = Add(v, 0.000000000001)\ns = Sqrt(e)\nn = Div(d, s)",
     -1, 1, "ppppppn"},
    {"a = Mul(x, 1.702)\ns = Sigmoid(a)\ny = Mul(s, x)", -3e4, 3e4, "ppp"},
    {"g = Gather(w64x8, i_t) axis=0\ny = Mul(g, 60000.0)", 0, 63, "pp"},
    /* constants alone overflow as others do */
    {"a = Mul(60000.0, 2.0)\ny = Add(x, a)", -1, 1, "nc"},
    {"a = Mul(30000.0, 2.0)\ny = Add(x, a)", -1, 1, "pp"},
    {"k = Transpose(z) perm=0,2,1\ns = MatMul(x, k)\nc = Mul(s, 0.25)\nm = Add(c, w3)\n"
     "p = Softmax(m) axis=2\ny = MatMul(p, v)",
     -30, 30, "pppppp"},
    {"y = ReduceSum(x) axes=2\nz = ReduceMax(x) axes=1\na = CumSum(x, [2])", -8000, 8000, "ppp"},
    /* what intervals forget: differences of what comes from the same input, through roundings, a
     * product with weights and back, Relu, Min, a mean and a product of two */
    {"a = Mul(x, 3000.0)\nb = Mul(x, 2999.0)\nc = Sub(a, b)\ny = Mul(c, 1000.0)", -5, 5, "pppp"},
    {"a = MatMul(x, w8x8)\nb = MatMul(x, w8x8)\nc = Sub(a, b)\ny = Mul(c, 200.0)", -500, 500,
     "pppp"},
    {"a = Relu(x)\nb = Sub(a, x)\ny = Mul(b, 60.0)", -1000, 1000, "ppp"},
    {"a = Min(x, z)\nb = Sub(a, x)\ny = Mul(b, 30.0)", 0, 2000, "ppp"},
    {"m = ReduceMean(x) axes=-1\nc = Sub(x, m)\nd = ReduceMean(c) axes=-1\ny = Mul(d, 1000.0)",
     -1000, 1000, "pppp"},
    {"a = Mul(x, z)\nb = Mul(x, 100.0)\nc = Sub(a, b)\ny = Mul(c, 60.0)", 90, 100, "pppp"},
    {"s = Softmax(x) axis=2\na = Mul(x, 2.0)\nb = Sub(a, x)\nc = Sub(b, x)\nd = Add(c, s)\n"
     "y = Mul(d, 1000.0)",
     -1000, 1000, "pppppp"},
};

TEST_LOOP(small_models_are_proven, 0, sizeof cases / sizeof *cases)
{
    const struct proof_case *c = &cases[_i];
    struct subject subject;
    subject_begin(&subject, line_model(c->lines, 12 + 5 * (strstr(c->lines, "LayerNorm") != NULL)),
                  "fp16", c->low, c->high, NULL);
    char found[40] = "";
    for (size_t n = 0; n < subject.proof.node_count; n++) {
        static const char letters[] = "pcn";
        found[n] = letters[subject.proof.nodes[n].outputs[0].verdict];
        found[n + 1] = 0;
    }
    ck_assert_msg(strcmp(found, c->verdicts) == 0, "%s in\n%s", found, c->lines);
    attack(&subject, 200, test_long() ? 400 : 60, NULL);
    subject_end(&subject);
}

/* ---- bodies ---- */

static const struct text_graph twice = {"", "t", "[double] t = Mul(x, two)"};
static const struct text_graph negated = {"", "e", "[minus] e = Neg(x)"};
static const struct text_graph doubling = {"i_n b_c s", "b_d t",
                                           "[double] t = Mul(s, two) [go] b_d = Identity(b_c)"};
static const struct text_graph settling = {
    "i_n b_c s", "b_d t r",
    "[double] d = Mul(s, two) [bend] t = Tanh(d) [big] r = Mul(t, big) [go] b_d = Identity(b_c)"};
/* until a condition that follows from values */
static const struct text_graph until = {
    "i_n b_c s", "b_d t", "[half] t = Div(s, two) [most] m = ReduceMax(t) [go] b_d = Less(two, m)"};
static const struct text_graph adding = {"s v", "t r", "[add] t = Add(s, v) [out] r = Mul(t, two)"};
static const struct text_graph inside_if = {"", "t", "[deep] t = Loop(i_2, b_yes, x)", {&doubling}};

/* Verdicts of the nodes in the order in which they are met first. */
static const struct body_case {
    struct text_graph graph;
    double low, high;
    const char *verdicts;
} body_cases[] = {
    {{"x b_f", "y", "[if] y = If(b_f)", {&twice, &negated}}, -10, 10, "ppp"},
    {{"x b_f", "y", "[if] y = If(b_f)", {&twice, &negated}}, -40000, 40000, "npc"},
    /* twice: 32000; a third time would be too large */
    {{"x", "y", "[loop] y = Loop(i_2, b_yes, x)", {&doubling}}, -8000, 8000, "pp"},
    {{"x", "y", "[loop] y = Loop(i_2, b_yes, x)", {&doubling}}, -20000, 20000, "nc"},
    /* any number of times */
    {{"x i_k", "y", "[loop] y = Loop(i_k, b_yes, x)", {&doubling}}, -1, 1, "nn"},
    {{"x", "y z", "[loop] y, z = Loop(i_2, b_yes, x)", {&settling}}, -100, 100, "pppp"},
    {{"x", "y", "[loop] y = Loop(-, b_yes, x)", {&until}}, -100, 100, "ppp"},
    {{"s0 x", "y z", "[scan] y, z = Scan<1>(s0, x)", {&adding}}, -5000, 5000, "ppp"},
    {{"s0 x", "y z", "[scan] y, z = Scan<1>(s0, x)", {&adding}}, -9000, 9000, "pnc"},
    {{"x b_f", "y", "[if] y = If(b_f)", {&inside_if, &negated}}, -8000, 8000, "pppp"},
};

TEST_LOOP(bodies_are_followed, 0, sizeof body_cases / sizeof *body_cases)
{
    const struct body_case *c = &body_cases[_i];
    static const char letters[] = "pcn";
    struct subject subject;
    struct ulp_model *model = text_load(&c->graph);
    struct ulp_tensor_set shapes = text_inputs(model, 1, 1, true);
    char found[40] = "";
    subject_begin(&subject, model, "fp16", c->low, c->high, &shapes);
    for (size_t n = 0; n < subject.proof.node_count; n++) {
        found[n] = letters[subject.proof.nodes[n].outputs[0].verdict];
        found[n + 1] = 0;
    }
    ck_assert_msg(strcmp(found, c->verdicts) == 0, "%s, not %s", found, c->verdicts);
    attack(&subject, 200, 40, &shapes);
    ck_assert(subject.values > 1000 || !strchr(c->verdicts, 'p'));
    ulp_tensor_set_free(&shapes);
    subject_end(&subject);
}

TEST_LOOP(formats_are_their_own, 0, 6)
{
    static const char *const formats[] = {"bf16", "fp16-strict",   "fp8-e5m2",
                                          "fp32", "fp16,acc=fp16", "fp16,constants=tensorrt"};
    struct subject subject;
    subject_begin(
        &subject,
        line_model("m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\n"
                   "v = ReduceMean(q) axes=-1\ne = Add(v, 0.5)\ns = Sqrt(e)\nn = Div(d, s)\n"
                   "g = MatMul(n, w8x8)\ny = Softmax(g) axis=2",
                   13),
        formats[_i], -20, 20, NULL);
    attack(&subject, 100, 50, NULL);
    ck_assert_uint_gt(subject.proof.counts[ULP_PROOF_PROVEN], 0);
    subject_end(&subject);
}

TEST(reasons_and_places_are_given)
{
    struct subject subject;
    char *summary;
    subject_begin(
        &subject,
        line_model("a = MatMul(x, w8x8)\nb = Mul(a, 300.0)\nc = Relu(b)\nd = Mul(c, 40.0)", 13),
        "fp16", -10, 10, NULL);
    const struct ulp_proof_node *last = &subject.proof.nodes[3];
    ck_assert_int_eq(last->outputs[0].verdict, ULP_PROOF_NOT_PROVEN);
    ck_assert_int_eq(last->grew, 1); /* 300 is more than 40 */
    ck_assert(last->outputs[0].bound > 65504 && last->outputs[0].bound < 1e6);
    ck_ok(ulp_proof_text(&subject.proof, 0, false, &summary, &why));
    ck_assert_msg(strncmp(summary,
                          "FP16: 3 of 4 node outputs cannot overflow if x is in [-10, 10]\n",
                          63) == 0,
                  "%s", summary);
    ck_assert_ptr_nonnull(strstr(summary, "the bound grew at node 1 b (Mul)"));
    ck_assert_ptr_nonnull(strstr(summary, "  do    ulpscope overflow"));
    free(summary);
    subject_end(&subject);
    subject_begin(&subject, line_model("y = Div(x, z)", 13), "fp16", 0, 1, NULL);
    ck_assert_str_eq(subject.proof.nodes[0].reason,
                     "a / b may be anything: nothing keeps its operands off a pole");
    subject_end(&subject);
}

/* What was once proven although a run overflowed: an input beyond the format, integers that are not
 * known, a known integer beyond the format, squares that do not become infinite. */
static const struct refuted_case {
    const char *lines, *format;
    struct input_value {
        const char *name;
        double low, high;
    } ranges[2];
    const char *verdicts;
} refuted[] = {
    {"y = Relu(x)", "fp16", {{"x", -1e6, 1e6}}, "c"},
    {"y = MatMul(x, w8x8)\nz = Mul(y, 0.0001)", "fp16", {{"x", -1e6, 1e6}}, "nc"},
    {"y = Relu(x)", "fp16,overflow=saturate", {{"x", -1e6, 1e6}}, "c"},
    {"y = Relu(x)", "bf16", {{"x", -1e6, 1e6}}, "p"},
    {"y = ReduceSum(x, l_a)", "fp16", {{"x", 0, 2000}, {"l_a", 0, 1}}, "n"},
    {"y = ReduceSum(x, l_a) keepdims=0", "fp16", {{"x", 0, 2000}, {"l_a", 0, 1}}, "n"},
    {"s = Range(s_x, s_z, s_v)", "fp16", {{"s_x", 0, 5}}, "n"},
    {"c = Cast([100000]) to=1\ny = Mul(x, c)", "fp16", {{"x", 0, 0.1}}, "nc"},
    {"s = Shape(x)\nt = Mul(s, [20000])\nu = Gather(t, [2])\nc = Cast(u) to=1\ny = Mul(x, c)",
     "fp16",
     {{"x", 0, 0.1}},
     "nc"},
    {"q = Mul(x, x)\nv = ReduceMean(q) axes=-1\ne = Add(v, 0.00001)\ns = Sqrt(e)\ny = Div(x, s)",
     "fp16,round=rz",
     {{"x", -2000, 2000}},
     "nnnnn"},
    {"q = Mul(x, x)\nv = ReduceMean(q) axes=-1\ne = Add(v, 0.00001)\ns = Sqrt(e)\ny = Div(x, s)",
     "fp16,round=rd",
     {{"x", -2000, 2000}},
     "nnnnn"},
    {"q = Mul(x, x)\nv = ReduceMean(q) axes=-1\ne = Add(v, 0.00001)\ns = Sqrt(e)\ny = Div(x, s)",
     "fp16",
     {{"x", -2000, 2000}},
     "nccnp"},
    {"y = LayerNormalization(x, w8, w8b) axis=-1", "fp32,round=rz", {{"x", -1e37, 1e37}}, "n"},
    /* factors beyond their format */
    {"y = MatMul(x, w8x8)", "bf16,factor=fp16", {{"x", -1e5, 1e5}}, "n"},
    {"y = MatMul(x, w8x8)", "fp32,factor=fp8-e4m3", {{"x", -1000, 1000}}, "n"},
    {"y = MatMul(x, w8x8)", "bf16,factor=fp16", {{"x", -1e4, 1e4}}, "p"},
};

TEST_LOOP(false_proofs_stay_refuted, 0, (int)(sizeof refuted / sizeof *refuted))
{
    const struct refuted_case *c = &refuted[_i];
    scoped_model *model = line_model(c->lines, strstr(c->lines, "LayerNorm") ? 17 : 13);
    struct ulp_input_range ranges[2];
    struct ulp_prove_box box = {.ranges = ranges};
    struct ulp_arithmetic lane;
    scoped_proof proof = {0};
    char found[40] = "";
    for (int r = 0; r < 2 && c->ranges[r].name; r++)
        ranges[box.range_count++] =
            (struct ulp_input_range){c->ranges[r].name, c->ranges[r].low, c->ranges[r].high};
    ck_ok(ulp_arithmetic_find(c->format, &lane, &why));
    scoped_program *program = test_plan_lanes(model, NULL, &lane, 1);
    ck_ok(ulp_proof_run(model, program, &box, 1, &proof, &why));
    for (size_t n = 0; n < proof.node_count; n++) {
        found[n] = "pcn"[proof.nodes[n].outputs[0].verdict];
        found[n + 1] = 0;
    }
    ck_assert_msg(strcmp(found, c->verdicts) == 0, "%s in %s of\n%s", found, c->format, c->lines);
}

/* Bounds that runs once left: sums and products that a scattering with any index makes; factors
 * that underflow in a narrower format; constants that a kernel reads unrounded. */
static const struct left_case {
    const char *text, *format;
    double low, high;
} left[] = {
    {"(float[4,3] x, int64[2,1] i) => (float[4,3] y) <float[2,3] u = {5...}>"
     "{ y = ScatterND<reduction=\"add\">(x, i, u) }",
     "fp16", 0, 1},
    {"(float[4,3] x, int64[2,3] i) => (float[4,3] y) <float[2,3] u = {-3...}>"
     "{ y = ScatterElements<reduction=\"mul\">(x, i, u) }",
     "fp16", 0, 3},
    {"(float[4,8] x) => (float[4,2] y) <float[8,2] w = {1e-9...}> { y = MatMul(x, w) }",
     "bf16,factor=fp16", 1, 2},
    {"(float[4] x) => (float[4] y, float[4] z) <float[4] c = {0.1, 0.7, 1.3, -0.9}>"
     "{ y = Atan(c)  z = Add(x, y) }",
     "fp16,fuse=reduce,fuse-constants=inner", 0, 1},
    /* products that are rounded before they are added */
    {"(float[4,8] x) => (float[4,2] y) <float[8,2] w = {0.875...}> { y = MatMul(x, w) }",
     "e5m7,round=rd,acc=fp32", -5.7e-13, 0},
    /* a sum that is rounded before its bias; a class that is not known; a CastLike beyond the
     * format; open limits in a format without infinity */
    {"(float[1,2,5,5] x, float[3] b) => (float[1,3,3,3] y) <float[3,2,3,3] w = {1...}>"
     "{ y = Conv(x, w, b) }",
     "torch:fp16", -1, 1},
    {"(int64[3] i) => (float[1,4] z) <int64 d = {4}, float[2] v = {0, 1}, int64[1] from = {0},"
     " int64[1] to = {1}>{ y = OneHot(i, d, v)  z = Slice(y, from, to) }",
     "fp16", 2, 3},
    {"(int64[4] i, float[1] f) => (float[4] y) { y = CastLike(i, f) }", "e5m7", 0, 100000},
    {"(float[4] x) => (float[4] y) { y = Clip(x) }", "fp32,overflow=nan", -1, 1},
    {"(float[4] x) => (float[4] y) { y = Sigmoid(x) }", "fp32,round=ru", -1400, -900},
    /* windows and rows of nothing, an infinite constant that is normalised, an input beyond its
     * type
     */
    {"(float[1,1,5,5] x) => (float[1,1,5,5] y, float[1,1,5,5] z) { y = MaxPool<kernel_shape=[3,3], "
     "strides=[2,2], pads=[1,5,1,1]>(x)  z = AveragePool<kernel_shape=[1,3], strides=[2,2], "
     "pads=[1,1,1,1]>(x) }",
     "bf16", -1, 1},
    {"(float[2,4] x) => (float[2,4] y) <float[2,4] c = {1, 2, inf, 3, 1, 2, 4, 3}, float[4] w = "
     "{1...}>{ s = Mul(c, w) t = LayerNormalization(s, w)  y = Mul(t, x) }",
     "fp32", 0, 1},
    {"(float16[4] x) => (float16[4] y) { y = Gelu(x) }", "bf16", -98000, 98000},
    /* numbers of more bits than a bound has; products below double's least; integers that their
       type does not have */
    {"(float[6] x) => (float[6] r) <float c = {-0.2}, uint8[6] q = {229, 223, 142, 9, 169, 75}>"
     "{ y = Mish(c)  t = DequantizeLinear(q, y)  r = Add(t, x) }",
     "mpfr:60", 0, 1},
    {"(double[5] x) => (double[1] y) { y = ReduceProd(x) }", "fp64,round=ru", 1e-100, 1e-90},
    {"(int64[4] i) => (float[4] y) { q = Cast<to=2>(i)  y = Cast<to=1>(q) }", "fp16", 250, 400},
    {"(float[4] x) => (float[4] y) { q = Cast<to=22>(x)  y = Cast<to=1>(q) }", "fp16", -300, -128},
    /* rows of nothing whose result reads an element besides; a window of nothing of a constant, in
     * a format without infinity */
    {"(float[2,3,0] x, float[3] m) => (float[2,3,0] y, float[3] rm, float[3] rv) <float[3] c = "
     "{1...}> { y, rm, rv = BatchNormalization<training_mode=1>(x, c, c, m, c) }",
     "mpfr:128", 0, 1},
    {"(float[1] x) => (float[1] z, float[1,1,2,3] y, int64[1,1,2,3] i) <float[1,1,3,3] w = {1...}>"
     "{ z = Relu(x)  y, i = MaxPool<kernel_shape=[3,1], strides=[2,2], pads=[1,1,1,1]>(w) }",
     "fp8-e4m3fnuz", -1, 1},
/* behind a normalisation whose hidden squares, or their sum, may be too large (NORMED: a product
 * that reads its rows); what a kernel does not store may be beyond the format, and finite */
#define NORMED(dims, y)                                                                          \
    "(float[" dims "] x) => (float[2,16] y, float[2,1] z) <float[16] g = {1...}, float[2] g2 = " \
    "{1...}, float[16,1] w = {30000, 0...}, int64[2] to = {2, 16}>{ " y                          \
    " y = Reshape(n, to)  z = MatMul(y, w) }"
    {NORMED("2,16", "n = LayerNormalization(x, g)"), "fp16-strict", -60, 60},
    {NORMED("2,16", "n = LayerNormalization(x, g)"), "coreml-ane:fp16", -60, 60},
    {NORMED("2,16", "n = LayerNormalization(x, g)"), "fp8-e5m2-strict", -60, 60},
    {NORMED("2,16", "n = RMSNormalization(x, g)"), "fp16-strict,round=rz", -68, 68},
    {NORMED("2,16", "n = RMSNormalization(x, g)"), "fp16-strict", -68, 68},
    {NORMED("1,2,16", "n = InstanceNormalization(x, g2, g2)"), "fp16-strict", -60, 60},
    {NORMED("2,4,4", "n = GroupNormalization<num_groups=2>(x, g2, g2)"), "fp16-strict", -60, 60},
    {NORMED("2,16,1,1", "n = MeanVarianceNormalization<axes=[1]>(x)"), "fp16-strict", -60, 60},
    {NORMED("2,16", "n = LpNormalization(x)"), "fp16-strict", -68, 68},
#define UNSTORED                                                                            \
    "(float[2,8] x) => (float[2,1] z) <int64[1] a = {1}, float h = {0.5}, float k = {1.5}>" \
    "{ s = ReduceSum(x, a)  y = Mul(s, h)  z = Mul(y, k) }"
    {UNSTORED, "trt11:fp16", 0, 60000},
    {UNSTORED, "trt10:fp16", 0, 60000},
    {UNSTORED, "torch-compile:fp16", 0, 60000},
    {"(float[2,8] x) => (float[2,8] z) <float h = {0.5}>{ s = Mul(x, x)  y = Mul(s, h)  z = Mul(y, "
     "h) }",
     "openvino-cpu:fp16,steps=alike", 0, 3000},
    /* sums that each step rounds away from 0; products of another order */
    {"(float[1] x) => (float[1] y, float[1] z) <float[40] c = {1, 0.015625...}, float[40,1] w = "
     "{1...}, int64[1] a = {0}>{ v = Mul(x, c)  y = ReduceSum(v, a)  z = MatMul(v, w) }",
     "fp8-e5m2-strict,round=ru", 1, 1.0001},
    {"(float[1] x) => (float[1] y) <float[2] c = {4096, 0.000244140625}, int64[1] t = {4}, "
     "int64[1] "
     "a = {0}>{ r = Tile(c, t)  v = Mul(x, r)  y = ReduceProd(v, a) }",
     "fp16-strict,reduce=warp", 1, 1.0001},
    /* one constant as three parameters that folding changes; roots of unity in the lane's format; a
     * draw behind a table; a norm whose squares underflow */
    {"(float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {0.1, 0.02, -0.1}, float[3] v = {0.5, "
     "0.7, "
     "1.5}> { y = BatchNormalization(x, s, s, s, v) }",
     "trt11:fp16", -2, 2},
    {"(float[1] x) => (float[1,8,2] v, float[1,8,2] y) <float[1,8,1] c = {210.9, 8.9, 488.2, "
     "-41.6, "
     "350.7, -457.4, -795.2, -410.7}>{ v = DFT(c)  y = Mul(v, x) }",
     "fp8-e5m2-strict,round=ru", 0, 1},
    {"(float[1] x) => (float[8] g, float[8] y) <float[4] t = {0.0082, -1.2518631, 1.2274988, "
     "-1.073}, int64[8] i = {1, 2, 0, 3, 1, 2, 0, 3}> { g = Gather(t, i)  y = Add(g, x) }",
     "e3m4,round=sr,seed=7", 0, 1},
    {"(double[24] x) => (double[1] p, double[1] z) <double[1,1] w = {3}> { p = ReduceProd(x)  z = "
     "MatMul(p, w) }",
     "fp64", 1e-9, 1e-8},
    /* an epsilon that a kernel reads as it is, behind squares that underflow */
    {"(float[2,16] x) => (float[2,16] y) <float e = {1e-12}>{ m = "
     "ReduceMean<axes=[-1]>(x)  d = Sub(x, m)  q = Mul(d, d)  v = ReduceMean<axes=[-1]>(q)  a = "
     "Add(v, e)  s = Sqrt(a)  y = Div(d, s) }",
     "fp16,constants=tensorrt,fuse=pointwise,fuse-constants=inner", -1.5e-4, 1.5e-4},
    /* factors that are subnormal in their format, and not in the storage's */
    {"(float[1,4] x) => (float[1,2] y) <float[4,2] w = {1...}> { y = MatMul(x, w) }",
     "fp16,factor=fp8-e5m2", 4e-6, 4.1e-6},
    /* elements of one row, from the second on; -infinity under a root; a type from integers that
     * are not known */
    {"(float[1] x) => (float[1,2] y) <float[1,5] c = {7, 1, 7, 1, 7}, int64[2] s = {0, 1}, "
     "int64[2] e "
     "= {1, 5}, int64[2] a = {0, 1}, int64[2] t = {1, 2}> { v = Mul(x, c)  y = Slice(v, s, e, a, "
     "t) }",
     "fp32", 0, 1},
    {"(float[2] x) => (float[2] y) <float[2] c = {-inf, 1}> { v = Add(x, c)  y = Sqrt(v) }", "fp32",
     0, 1},
/* sums in another format than the lane's, by the operator's row of steps */
#define CELL_OF(op, gates)                                                      \
    "(float[2,1,3] x) => (float[2,1,1,4] y) <float[1," gates ",3] w = {1...}, " \
    "float[1," gates ",4] r = {-0.1875...}> { y = " op "<hidden_size=4>(x, w, r) }"
    {CELL_OF("RNN", "4"), "ort-webgpu:fp16", -4, 1},
    {CELL_OF("GRU", "12"), "ort-webgpu:fp16", -4, 1},
    {CELL_OF("LSTM", "16"), "ort-webgpu:fp16", -4, 1},
};

static int opset_of(const char *text)
{
    return strstr(text, "RMS") ? 23 : strstr(text, "axes=[-1]") ? 13 : 20;
}

TEST_LOOP(bounds_hold_where_runs_left_them, 0, (int)(sizeof left / sizeof *left))
{
    const struct left_case *c = &left[_i];
    struct subject subject;
    subject_begin(&subject, onnx_text_load(opset_of(c->text), c->text), c->format, c->low, c->high,
                  NULL);
    attack_randomly(&subject, 200, 0, NULL);
    ck_assert_uint_gt(subject.tensors, 0);
    subject_end(&subject);
}

/* What a node holds inside is told of formulas that depend on shapes, too, which are not kept where
 * memory is short. */
TEST(words_do_not_depend_on_memory)
{
    scoped_proto bytes = onnx_text(20, "(float[1,1,4,4] x, float[1,3,3,2] g) => (float[1,1,3,3] y)"
                                       "{ y = GridSample(x, g) }");
    const struct ulp_input_range range = {NULL, 0.7, 0.7};
    const struct ulp_prove_box box = {.ranges = &range, .range_count = 1};
    struct ulp_arithmetic lane = test_arithmetic("fp16");
    static char words[40 * 64];
    size_t done = 0;
    for (size_t limit = (size_t)64 << 20; limit >= (size_t)64 << 10; limit -= limit / 16) {
        struct ulp_budget budget = {.limit_bytes = limit};
        scoped_model *model = NULL;
        struct ulp_program *program;
        struct ulp_proof proof;
        struct ulp_error error;
        if (ulp_model_load_bytes("grid.onnx", bytes.data, bytes.count, &budget, &model, &error) !=
            ULP_OK)
            break;
        if (ulp_program_create(model, &lane, 1, NULL, &program, &error) == ULP_OK) {
            if (ulp_proof_run(model, program, &box, 1, &proof, &error) == ULP_OK) {
                const size_t hidden = proof.nodes[0].hidden_count;
                ck_assert_msg(hidden > 0 && hidden < 64, "%zu hidden within %zu bytes: %s", hidden,
                              limit, proof.nodes[0].reason);
                for (size_t h = 0; h < hidden; h++) {
                    char *at = words + 40 * h;
                    if (!done)
                        snprintf(at, 40, "%s", proof.nodes[0].hidden[h].what);
                    ck_assert_msg(strncmp(proof.nodes[0].hidden[h].what, at, 39) == 0,
                                  "%s instead of %s within %zu bytes",
                                  proof.nodes[0].hidden[h].what, at, limit);
                }
                done++;
                ulp_proof_free(&proof);
            }
            ulp_program_free(program);
        }
    }
    ck_assert_uint_gt(done, 20);
}

TEST(samples_make_the_box)
{
    scoped_model *model = line_model("y = Add(x, z)\nw = Mul(y, v)", 13);
    struct ulp_tensor_set samples[2];
    struct ulp_arithmetic lane;
    struct ulp_proof proof;
    struct ulp_error error;
    ck_ok(ulp_arithmetic_find("fp16", &lane, &why));
    scoped_program *program = test_plan_lanes(model, NULL, &lane, 1);
    for (int s = 0; s < 2; s++) {
        ck_ok(ulp_model_random_inputs(model, NULL, &samples[s], &why));
        for (size_t t = 0; t < samples[s].count; t++) {
            struct ulp_tensor *tensor = &samples[s].items[t].tensor;
            const char name = *samples[s].items[t].name;
            for (size_t i = 0; i < tensor->count; i++) /* x in [-3, 8], z in [2, 5], v always 7 */
                ((float *)tensor->data)[i] = name == 'v'   ? 7
                                             : name == 'z' ? (s ? 2 : 5)
                                                           : (s ? -3 : 8);
        }
    }
    const struct ulp_input_range given = {"v", 1, 2};
    struct ulp_prove_box box = {.ranges = &given,
                                .range_count = 1,
                                .samples = samples,
                                .sample_count = 2};
    ck_ok(ulp_proof_run(model, program, &box, 1, &proof, &why));
    static const struct input_value wanted[] = {{"x", -6, 16}, {"z", 1, 10}, {"v", 1, 2}};
    ck_assert_uint_eq(proof.input_count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(proof.inputs[i].name, wanted[i].name);
        ck_assert(proof.inputs[i].low == wanted[i].low && proof.inputs[i].high == wanted[i].high);
        ck_assert(proof.inputs[i].sampled == (i < 2) && proof.inputs[i].given == (i == 2));
    }
    char *summary;
    ck_ok(ulp_proof_text(&proof, 0, false, &summary, &why));
    ck_assert_msg(strncmp(summary,
                          "FP16: none of the 2 node outputs can overflow if inputs are as below\n"
                          "  why   node 1 w (Mul) has the largest bound, 52 of 65504\n",
                          127) == 0,
                  "%s", summary);
    free(summary);
    ulp_proof_free(&proof);
    box.widen = 0.5;
    ck_assert_int_eq(ulp_proof_run(model, program, &box, 1, &proof, &error), ULP_ERROR_USAGE);
    box.widen = 1;
    static const double bad[] = {NAN, INFINITY};
    for (int b = 0; b < 2; b++) {
        ((float *)samples[1].items[0].tensor.data)[3] = (float)bad[b];
        ck_fails(ULP_ERROR_INPUT, "input 'x' holds",
                 ulp_proof_run(model, program, &box, 1, &proof, &why));
    }
    for (int s = 0; s < 2; s++)
        ulp_tensor_set_free(&samples[s]);
}

TEST_LOOP(ranges_are_checked, 0, 3)
{
    const struct ulp_input_range wrong[] = {{"nobody", 0, 1}, {"x", 1, 0}, {"x", 0, INFINITY}};
    scoped_model *model = line_model("y = Relu(x)", 13);
    struct ulp_arithmetic lane;
    struct ulp_proof proof;
    struct ulp_error error;
    ck_ok(ulp_arithmetic_find("fp16", &lane, &why));
    scoped_program *program = test_plan_lanes(model, NULL, &lane, 1);
    ck_assert_int_eq(ulp_proof_run(model, program,
                                   &(struct ulp_prove_box){.ranges = &wrong[_i], .range_count = 1},
                                   1, &proof, &error),
                     ULP_ERROR_USAGE);
}

/* ---- networks ---- */

static const struct network_case {
    const char *name, *inputs, *format;
    double share; /* of node outputs that are proven, at least */
    int random, climbs;
} network_cases[] = {
    {"models/nanogpt_4l", "inputs.npz", "fp16", 1, 6, 0},
    {"models/t5_random_encoder", "inputs.npz", "fp16", 1, 20, 0},
    /* its epsilon, 1e-12, is 0 in FP16 unless it is raised */
    {"models/tinybert_1l", "inputs.npz", "fp16,constants=tensorrt", 1, 20, 0},
    {"models/vit_pgd_2_3_16", "inputs.npz", "fp16", 1, 30, 20},
    {"generated/clip_text_tiny_op14", "test_data_set_0", "fp16", 1, 4, 0},
    {"generated/clip_text_tiny_op17", "test_data_set_0", "fp16", 1, 4, 0},
};

TEST_LOOP(networks_stay_within_their_bounds, 0, sizeof network_cases / sizeof *network_cases)
{
    const struct network_case *c = &network_cases[_i];
    char relative[300], path[4096];
    struct ulp_tensor_set inputs = {0};
    struct ulp_model *model;
    struct subject subject;
    snprintf(relative, sizeof relative, "%s/model.onnx", c->name);
    const char *shared = test_shared(relative);
    if (!shared)
        return;
    snprintf(path, sizeof path, "%s", shared);
    ck_ok(ulp_model_load(path, NULL, &model, &why));
    snprintf(relative, sizeof relative, "%s/%s", c->name, c->inputs);
    snprintf(path, sizeof path, "%s", test_shared(relative));
    if (strstr(c->inputs, ".npz"))
        ck_ok(ulp_tensor_set_read(path, NULL, &inputs, &why));
    else
        ck_ok(ulp_test_data_set_read(path, "input", model, NULL, &inputs, &why));
    subject_begin(&subject, model, c->format, 1, 0, &inputs);
    const double share =
        (double)subject.proof.counts[ULP_PROOF_PROVEN] / (double)subject.proof.output_count;
    ck_assert_msg(share >= c->share, "%s: %.3f", c->name, share);
    const int times = test_long() ? 20 : 1;
    attack(&subject, (size_t)(c->random * times), (size_t)(c->climbs * times), &inputs);
    printf(
        "%s: %.1f %% of %zu outputs proven; %zu values within their bounds, at most %.2f of one\n",
        c->name, 100 * share, subject.proof.output_count, subject.values, subject.attained);
    ulp_tensor_set_free(&inputs);
    subject_end(&subject);
}

TEST_SUITE("prove", 600)
