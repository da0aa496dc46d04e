/* run and analysis: lanes whose nodes differ. A lane that keeps all nodes is the kept arithmetic,
 * bit for bit, figures included; in bodies, what the same graph gives without control flow. */
#include "tests/support/networks.h"
#include "tests/support/text_model.h"
#include "analysis/audit/auditor.h"

/* ---- everything kept ---- */

/* R(p) of a node that rounds nothing is P(p) itself, in the lane's own format, but computed where
 * nodes of the lane differ: the same values, in the reference's format. */
static bool same_values(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    bool same = ulp_tensor_same_shape(a, b);
    for (size_t i = 0; same && i < a->count; i++) {
        const double x = ulp_tensor_get(a, i), y = ulp_tensor_get(b, i);
        same = memcmp(&x, &y, sizeof x) == 0;
    }
    return same;
}

/* Lanes 1 and 2, or without an audit 0 and 1, have the same bits at every node. */
static enum ulp_status expect_same(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    const size_t first = event->lane_count - 2;
    const struct ulp_lane_value *a = &event->values[first * event->output_count],
                                *b = a + event->output_count;
    (void)error;
    ++*(size_t *)context;
    ck_assert_str_eq(event->arithmetics[first].name, event->arithmetics[first + 1].name);
    for (size_t o = 0; o < event->output_count; o++) {
        ck_assert(!a[o].entire == !b[o].entire && !a[o].single == !b[o].single);
        ck_assert_msg(!a[o].entire || test_same_bits(a[o].entire, b[o].entire), "%s: entire",
                      event->name);
        ck_assert_msg(!a[o].single || test_same_bits(a[o].single, b[o].single), "%s: single",
                      event->name);
        ck_assert(!a[o].here == !b[o].here);
        ck_assert_msg(!a[o].here ||
                          (a[o].here == a[o].entire ? same_values(a[o].here, b[o].here)
                                                    : test_same_bits(a[o].here, b[o].here)),
                      "%s: here", event->name);
    }
    return ULP_OK;
}

static const char *const pairs[][2] = {{"fp16", "fp32"},        {"fp32", "fp16"},
                                       {"fp16", "bf16-strict"}, {"bf16", "mpfr:80"},
                                       {"tf32", "model"},       {"model", "fp16"}};
#define PAIRS (int)(sizeof pairs / sizeof *pairs)

/* The reference; a pair's second; its first with all nodes kept in the second. */
static void expect_kept_is_whole(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                 const char *const pair[2], bool audit)
{
    const struct ulp_arithmetic lanes[] = {test_arithmetic("pair"), test_arithmetic(pair[1]),
                                           test_arithmetic(pair[0])};
    const struct ulp_keep all = {.pattern = "*", .arithmetic = lanes[1]};
    const struct ulp_keeps keeps[] = {{0}, {0}, {1, &all, NULL}};
    const struct ulp_program_options options = {.inputs = inputs, .keeps = keeps};
    const struct ulp_run_options run = {.thread_count = 2, .audit = audit};
    scoped_program *program = NULL;
    struct ulp_auditor *auditor;
    scoped_audit result = {0};
    size_t seen = 0;
    ck_ok(ulp_program_create(model, lanes, 3, &options, &program, &why));
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    ck_ok(ulp_auditor_sample(auditor, "one", &why));
    const struct ulp_observer observers[] = {{.context = &seen, .node_done = expect_same},
                                             ulp_auditor_observer(auditor)};
    ck_ok(ulp_program_run(program, inputs, &run, observers, audit ? 2 : 1, NULL, NULL, &why));
    ck_assert_uint_ge(seen, 1);
    ck_ok(ulp_auditor_finish(auditor, &result, &why));
    for (size_t n = 0; n < result.lanes[0].node_count && audit; n++)
        audit_expect_same(&result.lanes[0].nodes[n], &result.lanes[1].nodes[n]);
    ck_assert_uint_eq(result.lanes[1].border_count, 0);
    ulp_auditor_free(auditor);
}

TEST_LOOP(keeping_all_nodes_is_the_kept_arithmetic, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    for (int p = 0; p < (_i == 0 ? PAIRS : 2); p++)
        expect_kept_is_whole(model, &inputs, pairs[p], _i == 0);
}

/* ---- control flow ---- */

TEST_LOOP(bodies_are_kept_too, 0, 2 * PAIRS)
{
    scoped_model *model = text_load(&text_with_bodies);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, _i % 2);
    expect_kept_is_whole(model, &inputs, pairs[_i / 2], true);
}

/* Outputs of one lane with patterns kept in FP32. */
static void run_kept(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                     const char *base, const char *const *patterns, struct ulp_tensor_set *out)
{
    const struct ulp_arithmetic lane = test_arithmetic(base);
    struct ulp_keep items[8];
    struct ulp_keeps keeps = {0, items, NULL};
    const struct ulp_program_options options = {.inputs = inputs, .keeps = &keeps};
    scoped_program *program = NULL;
    for (; *patterns; patterns++)
        items[keeps.count++] =
            (struct ulp_keep){.pattern = *patterns, .arithmetic = test_arithmetic("fp32")};
    ck_ok(ulp_program_create(model, &lane, 1, &options, &program, &why));
    ck_ok(ulp_program_run(program, inputs, NULL, NULL, 0, out, NULL, &why));
}

static void expect_same_outputs(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b)
{
    for (size_t o = 0; o < a->count; o++)
        ck_assert_msg(test_same_bits(&a->items[o].tensor, &b->items[o].tensor), "%s",
                      a->items[o].name);
}

/* Three rounds unrolled. The carried value is the loop's: it is rounded to its storage although the
 * node that makes it is kept, which an Identity stands for. */
static const struct text_graph unrolled = {
    "x b_flag i_count", "y",
    "[first] h = MatMul(x, w) [if/scale] s = Mul(h, x) [if/project] v = MatMul(s, w) [half0] p0 = "
    "Mul(v, h) [turn0] q0 = MatMul(p0, w) [soft0] r0 = Softmax(q0) [sum0] t0 = Add(v, r0) [carry0] "
    "u0 = Identity(t0) [half1] p1 = Mul(u0, h) [turn1] q1 = MatMul(p1, w) [soft1] r1 = Softmax(q1) "
    "[sum1] t1 = Add(u0, r1) [carry1] y = Identity(t1)"};
static const struct text_graph two_rounds = {
    "x b_flag i_count",
    "y z",
    "[first] h = MatMul(x, w) [if] v = If(b_flag) [loop] y, z = Loop(i_2, b_yes, v)",
    {&text_then_body, &text_else_body, &text_loop_body}};

TEST_LOOP(rounds_are_those_of_the_unrolled_graph, 0, 5)
{
    static const char *const kept[][4] = {{"*soft*", "*sum*"},
                                          {"first", "*turn*"},
                                          {"*half*", "*scale"},
                                          {"first", "*sum*"},
                                          {"*project", "*turn*"}};
    scoped_model *nested = text_load(&two_rounds), *flat = text_load(&unrolled);
    scoped_tensor_set inputs = text_inputs(nested, 3, 0, true), a = {0}, b = {0};
    run_kept(nested, &inputs, "fp16", kept[_i], &a);
    run_kept(flat, &inputs, "fp16", kept[_i], &b);
    ck_assert(test_same_bits(ulp_tensor_set_find(&a, "y"), ulp_tensor_set_find(&b, "y")));
}

/* A lane that goes through a body on its own, because it decides otherwise than the reference. */
TEST_LOOP(a_lane_apart_keeps_as_well, 0, 2)
{
    static const char *const kept[] = {"*soft*", "first", NULL};
    scoped_model *model = text_load(&text_with_bodies);
    struct ulp_tensor_set inputs = text_inputs(model, 5, 0, true), alone, beside[3];
    const struct ulp_arithmetic lanes[] = {test_arithmetic("pair"), test_arithmetic("fp16"),
                                           test_arithmetic("fp16")};
    struct ulp_keep items[] = {{.pattern = kept[0], .arithmetic = test_arithmetic("fp32")},
                               {.pattern = kept[1], .arithmetic = test_arithmetic("fp32")}};
    const struct ulp_keeps keeps[] = {{0}, {2, items, NULL}, {0}};
    const struct ulp_program_options options = {.inputs = &inputs, .keeps = keeps};
    const struct ulp_run_options run = {.thread_count = 1 + _i, .audit = _i};
    scoped_program *program = NULL;
    run_kept(model, &inputs, "fp16", kept, &alone);
    ck_ok(ulp_program_create(model, lanes, 3, &options, &program, &why));
    ck_ok(ulp_program_run(program, &inputs, &run, NULL, 0, beside, NULL, &why));
    expect_same_outputs(&alone, &beside[1]);
    ck_assert(!test_same_bits(&alone.items[0].tensor, &beside[2].items[0].tensor));
    for (int l = 0; l < 3; l++)
        ulp_tensor_set_free(&beside[l]);
    ulp_tensor_set_free(&alone);
    ulp_tensor_set_free(&inputs);
}

/* ---- measured ---- */

/* The two nodes whose sum overflows FP16 in FP32: with them alone the network is good for 44 dB. */
TEST(magika_needs_two_nodes)
{
    const char *file = test_shared("models/magika_v3_3/model.onnx");
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    scoped_program *program = NULL;
    if (!file)
        return;
    ck_ok(ulp_model_load(file, NULL, &model, &why));
    ck_ok(ulp_tensor_set_read(test_shared("models/magika_v3_3/inputs.npz"), NULL, &inputs, &why));
    const struct ulp_arithmetic lanes[] = {test_arithmetic("pair"), test_arithmetic("fp16"),
                                           test_arithmetic("fp16")};
    const struct ulp_keep items[] = {{.pattern = "*/LayerNorm_1/Sum_1",
                                      .arithmetic = test_arithmetic("fp32")},
                                     {.pattern = "*/LayerNorm_1/truediv_1",
                                      .arithmetic = test_arithmetic("fp32")}};
    const struct ulp_keeps keeps[] = {{0}, {0}, {2, items, NULL}};
    const struct ulp_program_options options = {.inputs = &inputs, .keeps = keeps};
    ck_ok(ulp_program_create(model, lanes, 3, &options, &program, &why));
    scoped_audit audit = test_audit(program, &inputs, NULL);
    ck_assert(audit.lanes[0].outputs.outputs[0].entire.sqnr_db < 1);
    ck_assert(audit.lanes[1].outputs.outputs[0].entire.sqnr_db > 44);
    ck_assert(audit.lanes[0].first_born >= 0 && audit.lanes[1].first_born < 0);
    ck_assert_uint_eq(audit.lanes[1].border_count, 2);
}

TEST_SUITE("keep", 300)
