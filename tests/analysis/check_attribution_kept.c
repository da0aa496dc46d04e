/* analysis: what an attribution keeps of each node's results: P and P - R of the event. And runs go
 * on where memory is refused for it. */
#include "base/memory/budget.h"
#include "tests/analysis/attribution_test.h"

/* A Relu inside, and one that is explained. */
static const struct text_graph rectifies = {
    "x", "y",
    "[first] a = MatMul(x, w) [cut] b = Relu(a) [second] c = MatMul(b, w) [y] y = Relu(c)"};
/* Of 10^30 the reference makes -inf, which FP16 that saturates has 65504 for: only behind a Relu
 * is R finite again. */
static const struct text_graph turns = {
    "x", "y",
    "[second] a = Mul(x, x) [fourth] b = Mul(a, a) [eighth] c = Mul(b, b) [far] d = Mul(c, c) "
    "[down] e = Div(d, x) [minus] f = Sub(x, e) [cut] g = Relu(f) [y] y = MatMul(g, w)"};
static const struct kept_case {
    const struct text_graph *graph;
    const char *reference, *lane;
    double x0;
    bool beside; /* the truth of the first Relu is another than what it makes of a's */
} kept_cases[] = {
    {&rectifies, "mpfr:128", "fp16", 0, false},
    {&rectifies, "mpfr:128", "fp16", 0, true},
    {&turns, "fp64", "fp16,overflow=saturate", 1e30, false},
};

/* R where only that is finite. Errors are kept with 24 bits. */
static void expect_kept(const struct ulp_attributor *attributor, struct ulp_attributed *lane,
                        int slot, const struct ulp_tensor *own, const struct ulp_tensor *reference)
{
    double largest = 0;
    const float *p = lane->kept[slot].data, *off = p + own->count;
    ck_assert_ptr_nonnull(p);
    ck_assert(!attributor->wanted[slot] == !lane->errors[slot]);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < own->count; i++) {
            const double x = ulp_tensor_get(own, i), r = ulp_tensor_read(reference, i),
                         expected = isfinite(x) && isfinite(r) ? x - r : 0;
            largest = fmax(largest, fabs(expected));
            if (pass == 0)
                continue;
            ck_assert(p[i] == (float)(isfinite(x) ? x : r));
            ck_assert_msg(fabs((double)off[i] - fmin(fmax(expected, -FLT_MAX), FLT_MAX)) <=
                              0x1p-20 * largest,
                          "slot %d element %zu: %g, not %g", slot, i, (double)off[i], expected);
            if (lane->errors[slot])
                ck_assert_double_eq_tol(lane->errors[slot][i], expected, 0x1p-20 * largest);
        }
}

static enum ulp_status collect_and_look(void *context, const struct ulp_event *event,
                                        struct ulp_error *error)
{
    struct ulp_attributor *attributor = context;
    const struct ulp_step *step = attributor->program->nodes[event->index].step;
    ck_ulp_ok(ulp_attribution_collect(attributor, event, error), *error);
    const struct ulp_tensor *truth =
        attributor->beside ? ulp_tensor_set_find(attributor->beside, event->output_names[0]) : NULL;
    ck_assert_ptr_null(attributor->lanes[0].reason);
    expect_kept(attributor, &attributor->lanes[0], step->outputs[0], event->values[1].held,
                truth ? truth : event->values[0].entire);
    return ULP_OK;
}

TEST_LOOP(values_and_errors_are_kept, 0, sizeof kept_cases / sizeof *kept_cases)
{
    const struct kept_case *row = &kept_cases[_i];
    scoped_model *model = text_load(row->graph);
    scoped_tensor_set inputs = text_inputs(model, 5, row->x0, true), truth = {0};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    struct ulp_attributor *attributor;
    struct ulp_tensor b;
    ck_ok(ulp_tensor_create(&b, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, (int64_t[]){3, 8}, &why));
    for (size_t i = 0; i < b.count; i++)
        ((float *)b.data)[i] = (float)i;
    ck_ok(ulp_tensor_set_add(&truth, "b", &b, &why));
    scoped_program *program = test_plan(model, &inputs, row->reference, row->lane);
    ck_ok(ulp_attributor_create(program, NULL, 1, &attributor, &why));
    ulp_attributor_beside(attributor, row->beside ? &truth : NULL);
    ck_ok(ulp_attributor_sample(attributor, &inputs, &why));
    const struct ulp_observer observer = {.context = attributor, .node_done = collect_and_look};
    ck_ok(ulp_program_run(program, &inputs, &run, &observer, 1, NULL, NULL, &why));
    ulp_attributor_free(attributor);
}

static size_t refused_node;

/* One byte is less than what is there already. */
static enum ulp_status collect_without_memory(void *context, const struct ulp_event *event,
                                              struct ulp_error *error)
{
    const struct ulp_attributor *attributor = context;
    struct ulp_budget *root =
        attributor->budget->root ? attributor->budget->root : attributor->budget;
    root->limit_bytes = event->index == refused_node;
    const enum ulp_status status = ulp_attribution_collect(context, event, error);
    root->limit_bytes = 0;
    return status;
}

/* Of what a node keeps, what has gone to a file among it, or of R(p) rounded. */
TEST_LOOP(a_run_goes_on_without_memory_for_shares, 0, 4)
{
    scoped_audit audit = {0};
    struct ulp_budget budget = {0};
    charged = &budget;
    refused_node = (size_t)_i;
    kept_max = 0;
    spills = true;
    lanes[2] = "bf16,round=rz";
    collects = collect_without_memory;
    ck_ok(attribute(&rectifies, NULL, 0, 1, 0, &audit, &why));
    for (size_t l = 0; l < audit.lane_count; l++) {
        const struct ulp_attribution *a = &audit.lanes[l].attribution;
        ck_assert_msg(!a->given && a->reason && strstr(a->reason, "more memory"), "%s: %s",
                      audit.lanes[l].name, a->reason);
    }
}

TEST_SUITE("what an attribution keeps", 60)
