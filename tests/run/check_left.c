/* Runs of a program leave nothing to the next ones: whatever the memory limit every bit is the
 * same, and what was enough for one is for the next. */
#include "tests/support/test.h"

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
    budget.limit_bytes = limit ? budget.used_bytes + limit : 0;
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

/* Further runs have the first one's bits: in chains (several blocks of k, in pairs, in slices), on
 * units and in pairs, for matrices, batches of them, transposed ones, convolutions with padding.
 * With less memory than they take, too. */
TEST(runs_are_alike)
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
        for (int run = 1; run < 4; run++) {
            ck_ok(hash_run(program, &inputs, audit, 0, &again, &cost, &why));
            ck_assert_msg(first == again, "other bits in run %d", run);
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
