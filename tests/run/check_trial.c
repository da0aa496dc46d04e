/* run/trial: a lane run again with other nodes kept gives the bits of a plain run, whatever ran
 * before, and computes no more than what the change reaches. */
#include "tests/support/networks.h"
#include "run/pass/trial.h"
#include "tests/support/text_model.h"

/* The oracle: the program itself, told to keep the nodes. */
static void expect_plain(struct ulp_program *program, const struct ulp_tensor_set *inputs,
                         const uint16_t *kept, const struct ulp_arithmetic *keep_in,
                         const struct ulp_tensor_set *outputs)
{
    size_t *nodes = calloc(ulp_program_node_count(program) + 1, sizeof *nodes), count = 0;
    SCOPED_MEMORY struct ulp_keep *keep = calloc(ulp_program_node_count(program) + 1, sizeof *keep);
    scoped_tensor_set plain = {0};
    for (size_t n = 0; n < ulp_program_node_count(program); n++)
        if (kept[n]) {
            nodes[count] = n;
            keep[count] = (struct ulp_keep){.nodes = &nodes[count],
                                            .node_count = 1,
                                            .arithmetic = keep_in[kept[n] - 1]};
            count++;
        }
    const struct ulp_keeps keeps = {count, keep, NULL};
    ck_ok(ulp_program_keep(program, 0, &keeps, &why));
    ck_ok(ulp_program_run(program, inputs, NULL, NULL, 0, &plain, NULL, &why));
    ck_assert_uint_eq(plain.count, outputs->count);
    for (size_t o = 0; o < plain.count; o++)
        ck_assert_msg(test_same_bits(&plain.items[o].tensor, &outputs->items[o].tensor),
                      "%s with %zu nodes kept", plain.items[o].name, count);
    free(nodes);
}

/* Random sets, each from the one before by a few nodes or from none, accepted or forgotten.
 * also_in: a second arithmetic to keep nodes in; NULL: only one. */
static void expect_random_sets(const struct ulp_model *model, const struct ulp_tensor_set *samples,
                               size_t sample_count, const char *base, const char *kept_in,
                               const char *also_in, int rounds)
{
    const struct ulp_arithmetic lane = test_arithmetic(base),
                                keep_in[] = {test_arithmetic(kept_in),
                                             test_arithmetic(also_in ? also_in : kept_in)};
    const unsigned choices = also_in ? 3 : 2;
    struct ulp_trial *trial;
    scoped_pool *pool = test_pool(2);
    scoped_program *program = test_plan_lanes(model, &samples[0], &lane, 1);
    ck_ok(ulp_trial_create(program, 0, keep_in, choices - 1, sample_count, pool, &trial, &why));
    for (size_t s = 0; s < sample_count; s++)
        ck_ok(ulp_trial_add(trial, &samples[s], &why));
    const size_t nodes = ulp_program_node_count(program);
    SCOPED_MEMORY uint16_t *kept = calloc(nodes + 1, sizeof *kept);
    for (int round = 0; round < rounds; round++) {
        const uint64_t seed = (uint64_t)round + 7;
        const double change = round % 4 == 0 ? 0.5 : 1.5 / (double)nodes;
        for (size_t n = 0; n < nodes; n++)
            if (ulp_random_uniform(seed, n) < change)
                kept[n] = (uint16_t)((kept[n] + 1 + n % (choices - 1)) % choices);
        const size_t sample = (size_t)round % sample_count;
        struct ulp_tensor_set outputs;
        ck_ok(ulp_trial_run(trial, sample, kept, &outputs, &why));
        expect_plain(program, &samples[sample], kept, keep_in, &outputs);
        ulp_tensor_set_free(&outputs);
        if (round % 3)
            ulp_trial_accept(trial);
    }
    ulp_trial_free(trial);
}

TEST_LOOP(trials_are_plain_runs, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    expect_random_sets(model, &inputs, 1, "fp16", "fp32", NULL, 6);
    if (_i == 0)
        expect_random_sets(model, &inputs, 1, "tf32", "fp32", NULL, 6);
    if (_i == 0)
        expect_random_sets(model, &inputs, 1, "fp16", "bf16", "e5m3", 6);
}

TEST(bodies_too)
{
    scoped_model *model = text_load(&text_with_bodies);
    struct ulp_tensor_set samples[] = {text_inputs(model, 1, 0, false),
                                       text_inputs(model, 2, 0, true)};
    expect_random_sets(model, samples, 2, "fp16", "fp32", NULL, 40);
    expect_random_sets(model, samples, 2, "e8m20", "e5m6", "e6m3", 40);
    ulp_tensor_set_free(&samples[0]);
    ulp_tensor_set_free(&samples[1]);
}

/* A node some of whose results compiling has made constants of (integers), and some not. */
static const struct text_graph half_constant = {
    "x", "y",
    "[quantise] q, s, z = DynamicQuantizeLinear(w) [back] v = DequantizeLinear(q, s, z) [product] "
    "y = MatMul(x, v)"};

TEST(constants_stay_the_lane_s)
{
    scoped_model *model = text_load(&half_constant);
    scoped_tensor_set inputs = text_inputs(model, 1, 0, true);
    expect_random_sets(model, &inputs, 1, "fp16", "fp32", NULL, 6);
}

/* Of six nodes the last two each reach nothing else. */
TEST(only_what_a_change_reaches_is_computed)
{
    scoped_model *model = text_load(&text_chain);
    struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true), outputs;
    struct ulp_trial *trial;
    scoped_pool *pool = test_pool(1);
    uint16_t kept[6] = {false};
    const struct ulp_arithmetic keep_in = test_arithmetic("fp32");
    scoped_program *program = test_plan(model, &inputs, "fp16");
    ck_assert_uint_eq(ulp_program_node_count(program), 6);
    ck_ok(ulp_trial_create(program, 0, &keep_in, 1, 1, pool, &trial, &why));
    ck_ok(ulp_trial_add(trial, &inputs, &why));
    ck_ok(ulp_trial_run(trial, 0, kept, &outputs, &why));
    ulp_trial_accept(trial);
    ulp_tensor_set_free(&outputs);
    ck_assert_double_eq_tol(ulp_trial_work(trial), 1, 1e-12);
    for (size_t n = 0; n < 6; n++) {
        const double before = ulp_trial_work(trial);
        kept[n] = 1;
        ck_ok(ulp_trial_run(trial, 0, kept, &outputs, &why));
        ulp_tensor_set_free(&outputs);
        kept[n] = false;
        const bool is_last = strcmp(ulp_program_node_name(program, n), "bend") == 0 ||
                             strcmp(ulp_program_node_name(program, n), "square") == 0;
        ck_assert_msg(!is_last || ulp_trial_work(trial) - before < 0.5, "%s: %.3f of a run",
                      ulp_program_node_name(program, n), ulp_trial_work(trial) - before);
        ck_assert_double_gt(ulp_trial_work(trial), before);
    }
    const double before = ulp_trial_work(trial);
    ck_ok(ulp_trial_run(trial, 0, kept, &outputs, &why));
    ulp_tensor_set_free(&outputs);
    ck_assert_double_eq(ulp_trial_work(trial), before);
    ulp_trial_free(trial);
    ulp_tensor_set_free(&inputs);
}

/* a + x - x is a to the reference, and in FP16 often less. */
static const struct text_graph decides = {
    "x", "y",
    "[first] a = MatMul(x, w) [there] s = Add(a, x) [back] c = Sub(s, x) [compare] b_g = "
    "Greater(a, c) [choose] y = Where(b_g, x, a)"};

static enum ulp_status note_integers(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    struct ulp_tensor *integers = context;
    return strcmp(event->name, "compare") == 0
               ? ulp_tensor_copy(integers, event->values[0].entire, NULL, error)
               : ULP_OK;
}

TEST(decisions_can_be_the_reference_s)
{
    scoped_model *model = text_load(&decides);
    struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true), plain[2], outputs;
    const struct ulp_arithmetic lanes[] = {test_arithmetic("mpfr:128"), test_arithmetic("fp16")},
                                keep_in = test_arithmetic("fp32");
    const struct ulp_run_options follow = {.follow = true};
    scoped_tensor compared = {0};
    const struct ulp_observer observer = {.context = &compared, .node_done = note_integers};
    struct ulp_trial *trial;
    scoped_pool *pool = test_pool(1);
    scoped_program *program = test_plan_lanes(model, &inputs, lanes, 2);
    ck_ok(ulp_program_run(program, &inputs, &follow, &observer, 1, plain, NULL, &why));
    ck_ok(ulp_trial_create(program, 1, &keep_in, 1, 1, pool, &trial, &why));
    ck_ok(ulp_trial_add(trial, &inputs, &why));
    SCOPED_MEMORY struct ulp_tensor *integers = calloc(program->main->slot_count, sizeof *integers);
    for (size_t n = 0; n < program->node_count; n++)
        if (strcmp(ulp_program_node_name(program, n), "compare") == 0)
            integers[program->nodes[n].step->outputs[0]] = compared;
    const uint16_t none[8] = {0};
    for (int follows = 0; follows < 2; follows++) {
        if (follows)
            ulp_trial_follow(trial, 0, integers);
        ck_ok(ulp_trial_run(trial, 0, none, &outputs, &why));
        ulp_trial_accept(trial);
        ck_assert_int_eq(test_same_bits(&outputs.items[0].tensor, &plain[1].items[0].tensor),
                         follows);
        ulp_tensor_set_free(&outputs);
    }
    ulp_trial_free(trial);
    ulp_tensor_set_free(&plain[0]);
    ulp_tensor_set_free(&plain[1]);
    ulp_tensor_set_free(&inputs);
}

/* Where values do not fit the memory limit, each run computes all of it, with the same bits. */
TEST(without_room_nothing_is_held)
{
    scoped_budget *budget = NULL;
    ck_ok(ulp_budget_create((size_t)256 << 20, &budget, &why));
    scoped_model *model = text_load_within(&text_chain, budget);
    scoped_tensor_set inputs = text_inputs(model, 3, 0, true);
    expect_random_sets(model, &inputs, 1, "fp16", "fp32", NULL, 8);
    struct ulp_trial *trial;
    scoped_pool *pool = test_pool(1);
    uint16_t kept[6] = {1};
    const struct ulp_arithmetic keep_in = test_arithmetic("fp32");
    scoped_program *program = test_plan(model, &inputs, "fp16");
    ck_ok(ulp_trial_create(program, 0, &keep_in, 1, 1000000, pool, &trial, &why));
    ck_ok(ulp_trial_add(trial, &inputs, &why));
    for (int round = 0; round < 3; round++) {
        scoped_tensor_set outputs = {0};
        kept[round] = !kept[round];
        ck_ok(ulp_trial_run(trial, 0, kept, &outputs, &why));
        ulp_trial_accept(trial);
        expect_plain(program, &inputs, kept, &keep_in, &outputs);
    }
    ck_assert_double_eq_tol(ulp_trial_work(trial), 3, 1e-12);
    ulp_trial_free(trial);
}

TEST_SUITE("trial", 300)
