/* Proofs (ulpscope/prove.h): what is proven is never violated, by random inputs and by inputs that
 * climb towards the bound along the gradient; what is not proven is so for the reason that is
 * given. */
#include "tests/support/line_model.h"
#include "tests/support/onnx_text.h"
#include "tests/support/text_cases.h"
#include "tests/support/text_model.h"
#include "attack.h"

static void attack(struct subject *subject, size_t random, size_t climbs,
                   const struct ulp_tensor_set *shapes)
{
    attack_randomly(subject, random, 0, shapes);
    attack_climbing(subject, climbs, 0, shapes);
}

/* ---- small models ---- */

#define CASES "prove.cases"

/* The verdicts of the nodes in order: p proven, c conditional, n not proven. */
static void expect_verdicts(const struct ulp_proof *proof, const char *verdicts, const char *where)
{
    char found[40] = "";
    for (size_t n = 0; n < proof->node_count; n++) {
        found[n] = "pcn"[proof->nodes[n].outputs[0].verdict];
        found[n + 1] = 0;
    }
    ck_assert_msg(strcmp(found, verdicts) == 0, "%s, not %s, in %s", found, verdicts, where);
}

/* The input named at `text`, "x 0 2000, l_a 0 1", and its range. */
static const char *read_range(const char *text, char name[20], struct ulp_input_range *range)
{
    int length = 0;
    ck_assert_int_eq(sscanf(text, "%19s %lf %lf%n", name, &range->low, &range->high, &length), 3);
    range->name = name;
    return text + length + (text[length] == ',');
}

TEST_LOOP(small_models_are_proven, 0, text_case_count(CASES))
{
    const char *lines = text_case(CASES, (size_t)_i, "lines", 0),
               *text = text_case(CASES, (size_t)_i, "model", 0),
               *where = text_case(CASES, (size_t)_i, "where", 0);
    char format[80], verdicts[20], names[2][20];
    struct ulp_input_range ranges[2] = {{0}};
    struct ulp_prove_box box = {.ranges = ranges, .range_count = !where};
    struct subject subject;
    int opset;
    ck_assert_int_eq(sscanf(text_case(CASES, (size_t)_i, "", 0), "%79s %d %lf %lf %19s", format,
                            &opset, &ranges->low, &ranges->high, verdicts),
                     5);
    for (const char *at = where; at && *at; box.range_count++)
        at = read_range(at, names[box.range_count], &ranges[box.range_count]);
    subject_begin_in(&subject, lines ? line_model(lines, opset) : onnx_text_load(opset, text),
                     format, &box, NULL);
    if (*verdicts != '-')
        expect_verdicts(&subject.proof, verdicts, lines);
    if (!where)
        attack_randomly(&subject, 200, 0, NULL);
    if (!where && lines)
        attack_climbing(&subject, test_long() ? 400 : 60, 0, NULL);
    ck_assert(where || lines || subject.tensors > 0);
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
    struct subject subject;
    struct ulp_model *model = text_load(&c->graph);
    struct ulp_tensor_set shapes = text_inputs(model, 1, 1, true);
    subject_begin(&subject, model, "fp16", c->low, c->high, &shapes);
    expect_verdicts(&subject.proof, c->verdicts, "a body");
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
    struct ulp_proof proof;
    struct ulp_error error;
    const struct ulp_arithmetic lane = test_arithmetic("fp16");
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
    static const struct ulp_input_range wanted[] = {{"x", -6, 16}, {"z", 1, 10}, {"v", 1, 2}};
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
    struct ulp_proof proof;
    struct ulp_error error;
    const struct ulp_arithmetic lane = test_arithmetic("fp16");
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
