/* What runs of a program leave to the next ones: whatever the memory limit every bit is the same,
 * and a limit never fails for its sake. */
#include "tests/support/test.h"

#include "run/carried.h"
#include "run/program/program.h"
#include "tests/support/networks.h"
#include "tests/support/onnx_text.h"

static void hash_tensor(unsigned long long *hash, const struct ulp_tensor *tensor)
{
    const unsigned long long parts[2] = {
        *hash, tensor ? ulp_hash(tensor->data, tensor->count * tensor->element_bytes) : 0};
    *hash = ulp_hash(parts, sizeof parts);
}

static enum ulp_status hash_event(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    (void)error;
    for (size_t i = 0; i < event->lane_count * event->output_count; i++) {
        hash_tensor(context, event->values[i].entire);
        hash_tensor(context, event->values[i].single);
        hash_tensor(context, event->values[i].here);
    }
    return ULP_OK;
}

/* What models are charged to. */
static struct ulp_budget budget;

/* A hash of every evaluation of the program in *hash; limit: of what the run takes, 0: none. */
static enum ulp_status hash_run(const struct ulp_program *program,
                                const struct ulp_tensor_set *inputs, bool audit, size_t limit,
                                unsigned long long *hash, struct ulp_run_cost *cost,
                                struct ulp_error *error)
{
    /* what two threads take at once depends on how they meet */
    const struct ulp_run_options options = {.thread_count = limit ? 1 : 2, .audit = audit};
    budget.peak_bytes = budget.used_bytes;
    /* what earlier runs have left can be given up */
    budget.limit_bytes =
        limit ? budget.used_bytes - ulp_carried_bytes(program->carried) + limit : 0;
    const struct ulp_observer observer = {.context = hash, .node_done = hash_event};
    *hash = 0;
    return ulp_program_run(program, inputs, &options, &observer, 1, NULL, cost, error);
}

static struct ulp_program *plan_all(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, const char *const *names,
                                    size_t lane_count)
{
    budget.limit_bytes = 0;
    return test_plan_names(model, inputs, names, lane_count);
}

static struct ulp_program *plan_named(const struct ulp_model *model,
                                      const struct ulp_tensor_set *inputs, const char *name)
{
    return plan_all(model, inputs, &name, 1);
}

/* The first run of a program leaves nothing, the second leaves converted weights, which the third
 * uses, with the first one's bits: in chains (several blocks of k, in pairs, in slices), on units
 * and in pairs, for matrices, batches of them, transposed ones, convolutions with padding. With
 * less memory than they take, too. */
TEST(runs_leave_weights)
{
    static const char *const names[] = {
        "pair",      "fp32",          "fp32,order=pairwise", "fp32,split-k=3",
        "fp64",      "fp16-strict",   "bf16-strict",         "fp16@h200",
        "tf32@h200", "fp8-e4m3@h200", "fp16@h200,split-k=2", "tf32-strict"};
    enum { COUNT = sizeof names / sizeof *names };
    scoped_tensor_set inputs = {0};
    struct ulp_error error;
    struct ulp_run_cost cost;
    unsigned long long first, again;
    scoped_model *model = onnx_text_given(
        14,
        "(float[3,11,300] x = {random}) => (float[1,5,11,19] y) <float[300,45] w = {random}, "
        "float[3,45,37] b = {random}, float[19,37] t = {random}, float[5,3,3,3] c = {random}, "
        "int64[1] axes = {0}> { [matrix] d = MatMul(x, w) [batches] e = MatMul(d, b) [turned] f = "
        "Einsum<equation=\"bij,kj->bik\">(e, t) [image] g = Unsqueeze(f, axes) [conv] y = "
        "Conv<pads=[1,1,1,1]>(g, c) }",
        &inputs, &budget);
    struct ulp_program *program = plan_all(model, &inputs, names, COUNT);
    for (int audit = 0; audit < 2; audit++) {
        ck_ok(hash_run(program, &inputs, audit, 0, &first, &cost, &why));
        ck_assert_uint_eq(ulp_carried_bytes(program->carried), 0);
        for (int run = 1; run < 4; run++) {
            ck_ok(hash_run(program, &inputs, audit, 0, &again, &cost, &why));
            ck_assert_msg(first == again, "other bits in run %d", run);
            ck_assert_uint_ge(ulp_carried_bytes(program->carried), 300 * 45 * sizeof(float));
        }
        ulp_program_free(program);
        program = plan_all(model, &inputs, names, COUNT);
    }
    size_t fails = 0, works = budget.peak_bytes - budget.used_bytes;
    for (int turn = 0; turn < 10; turn++) {
        const size_t limit = fails + (works - fails) / 2;
        bool all = true;
        for (int run = 0; run < 3 && all; run++) {
            all = hash_run(program, &inputs, true, limit, &again, &cost, &error) == ULP_OK;
            ck_assert_msg(!all || again == first, "other bits below %zu bytes", limit);
            ck_assert_msg(all || run == 0, "below %zu bytes the first run works, run %d does not",
                          limit, run);
        }
        if (all)
            works = limit;
        else
            fails = limit;
        ulp_program_free(program);
        program = plan_all(model, &inputs, names, COUNT);
    }
    ulp_program_free(program);
}

/* What was counted of a constant is found for the same memory, format and rules alone. */
TEST(counts_are_found_again)
{
    float weights[2][3] = {{1, 1e-9f, 1e6f}, {1, 2, 3}};
    struct ulp_tensor tensors[2];
    struct ulp_arithmetic fp16, other;
    struct ulp_carried *kept;
    struct ulp_lowered found;
    const struct ulp_lowered left = {1, 1, 1e6};
    for (int i = 0; i < 2; i++)
        ck_ok(ulp_tensor_wrap(&tensors[i], ULP_TYPE_FLOAT, 1, (int64_t[]){3}, weights[i], &why));
    ck_ok(ulp_arithmetic_find("fp16", &fp16, &why));
    ck_ok(ulp_carried_create(&kept, NULL, &why));
    ck_assert(!ulp_carried_find_lowered(kept, &tensors[0], &fp16, &found));
    ulp_carried_add_lowered(kept, &tensors[0], &fp16, &left);
    ulp_carried_forget(kept); /* other arithmetics do not change it */
    const struct ulp_tensor view = ulp_tensor_view(&tensors[0]);
    ck_assert(ulp_carried_find_lowered(kept, &view, &fp16, &found));
    ck_assert(found.overflowed == 1 && found.underflowed == 1 && found.largest == 1e6);
    ck_assert(!ulp_carried_find_lowered(kept, &tensors[1], &fp16, &found));
    static const char *const others[] = {"bf16", "fp16,constants=ieee", "fp16,round=rz",
                                         "fp16,subnormals=flush"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_ok(ulp_arithmetic_find(others[i], &other, &why));
        ck_expect(!ulp_carried_find_lowered(kept, &tensors[0], &other, &found), "%s", others[i]);
    }
    ulp_carried_free(kept);
}

/* The blocks that runs leave can be had again: what the next is said to need is what the first was.
 */
TEST(blocks_left_do_not_change_what_runs_need)
{
    scoped_tensor_set inputs = {0};
    unsigned long long hash;
    scoped_model *model =
        onnx_text_given(14,
                        "(float[64,64] x = {random}) => (float[1,1,1] y) <float[20,1,1] c = "
                        "{random}> { [large] a = "
                        "Mul(x, c) [larger] b = Tanh(a) [small] y = ReduceMax(b) }",
                        &inputs, &budget);
    scoped_program *program = plan_named(model, &inputs, "fp32");
    const double needs = ulp_program_peak(program, false, NULL);
    ck_assert_double_ge(needs, 20 * 64 * 64 * sizeof(float));
    for (int run = 0; run < 3; run++)
        ck_ok(hash_run(program, &inputs, false, 0, &hash, NULL, &why));
    ck_assert_uint_ge(ulp_carried_spare(program->carried), 20 * 64 * 64 * sizeof(float));
    ck_assert_double_eq(ulp_program_peak(program, false, NULL), needs);
}

/* Infinite weights meet padding, which excludes these products: further runs have the first one's
 * bits. */
TEST_LOOP(padding_meets_what_was_left, 0, 2)
{
    static const char *const texts[] = {
        "(float[2,3,9] x) => (float y) <float[4,3,3] w = {1, 1e39, 2, 0.5, -3, 1e39, 0.25...}>"
        "{ y = Conv<pads=[1,1]>(x, w) }",
        "(float[2,3,9] x) => (float y) <float[3,4,3] w = {1, 1e39, 2, 0.5, -3, 1e39, 0.25...}>"
        "{ y = ConvTranspose<pads=[1,1]>(x, w) }"};
    static const char *const lanes[] = {"fp32", "fp64", "bf16", "tf32", "fp32,order=pairwise"};
    scoped_model *model = onnx_text_load(17, texts[_i]);
    struct ulp_tensor_set inputs, first, again;
    ck_ok(ulp_model_random_inputs(model, NULL, &inputs, &why));
    for (size_t l = 0; l < sizeof lanes / sizeof *lanes; l++) {
        scoped_program *program = plan_all(model, &inputs, &lanes[l], 1);
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &first, NULL, &why));
        for (int r = 0; r < 3; r++) {
            ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &again, NULL, &why));
            ck_assert(test_same_bits(&first.items[0].tensor, &again.items[0].tensor));
            ulp_tensor_set_free(&again);
        }
        ulp_tensor_set_free(&first);
    }
    ulp_tensor_set_free(&inputs);
}

/* A convolution's weights are packed block by block: half of what they take is enough besides its
 * output, as blocks take 256 terms of 512 and 280 lines, and the bits are the same. */
TEST(convolutions_need_no_whole_weights)
{
    enum { FROM = 512, TO = 2048, SIDE = 7 };
    scoped_tensor_set inputs = {0};
    unsigned long long wanted, found;
    scoped_model *model = onnx_text_given(
        14,
        "(float[1,512,7,7] x = {random}) => (float[1,2048,7,7] y) <float[2048,512,1,1] w = "
        "{random}> { [conv] y = Conv(x, w) }",
        &inputs, &budget);
    scoped_program *program = plan_named(model, &inputs, "fp32");
    ck_ok(hash_run(program, &inputs, false, 0, &wanted, NULL, &why));
    for (int run = 0; run < 3; run++) {
        const size_t limit = (TO * SIDE * SIDE + FROM * TO / 2) * sizeof(float);
        ck_ok(hash_run(program, &inputs, false, limit, &found, NULL, &why));
        ck_assert(found == wanted);
    }
}

TEST_SUITE("left", 120)
