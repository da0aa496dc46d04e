/* Proofs (ulpscope/prove.h): what is proven is never violated, by random inputs and by inputs that
 * climb towards the bound along the gradient; what is not proven is so for the reason that is
 * given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/support/line_model.h"
#include "run/plan/plan.h"
#include "run/sweep.h"

struct subject {
    struct ulp_model *model;
    struct ulp_plan *plan;
    struct ulp_proof proof;
    size_t values;   /* compared */
    double attained; /* the largest share of a finite bound that was met */
};

static void begin(struct subject *out, struct ulp_model *model, const char *format, double low,
                  double high, const struct ulp_tensor_set *inputs)
{
    const struct ulp_plan_options options = {.inputs = inputs};
    const struct ulp_input_range range = {NULL, low, high};
    struct ulp_arithmetic lane;
    struct ulp_error error;
    *out = (struct subject){.model = model};
    ck_ulp_ok(ulp_arithmetic_find(format, &lane, &error), error);
    ck_ulp_ok(ulp_plan_create(model, &lane, 1, &options, &out->plan, &error), error);
    ck_ulp_ok(ulp_prove(model, out->plan, &range, low <= high, 1, &out->proof, &error), error);
}

static void end(struct subject *subject)
{
    ulp_proof_free(&subject->proof);
    ulp_plan_free(subject->plan);
    ulp_model_free(subject->model);
}

static const struct ulp_proof_node *find_node(const struct ulp_proof *proof, size_t index)
{
    for (size_t n = 0; n < proof->node_count; n++)
        if (proof->nodes[n].index == index)
            return &proof->nodes[n];
    return NULL;
}

static void check_output(struct subject *subject, const struct ulp_proof_output *output,
                         const struct ulp_tensor *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const double x = ulp_tensor_get(values, i);
        if (output->infinite && isinf(x))
            continue;
        ck_expect(x >= output->low && x <= output->high && fabs(x) <= output->bound,
                  "%s: %.9g is not in [%.9g, %.9g]", output->name, x, output->low, output->high);
        if (output->bound > 0)
            subject->attained = fmax(subject->attained, fabs(x) / output->bound);
        subject->values++;
    }
}

/* Every output that is proven, of every node; those that follow from others when these are
 * finite. */
static enum ulp_status check_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct subject *subject = context;
    const struct ulp_proof_node *node = find_node(&subject->proof, event->index);
    (void)error;
    for (size_t o = 0; node && o < event->output_count; o++)
        for (size_t p = 0; p < node->output_count; p++)
            if (strcmp(node->outputs[p].name, event->output_names[o]) == 0 &&
                node->outputs[p].verdict == ULP_PROOF_PROVEN)
                check_output(subject, &node->outputs[p], event->values[o].entire);
    return ULP_OK;
}

static void run_inputs(struct subject *subject, const struct ulp_tensor_set *inputs)
{
    const struct ulp_observer observer = {.context = subject, .node_done = check_node};
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_error error;
    ck_ulp_ok(ulp_plan_run(subject->plan, inputs, &options, &observer, 1, NULL, NULL, &error),
              error);
}

/* Inputs of the box: at its ends with probability 3/4, else inside. */
static struct ulp_tensor_set make_inputs(const struct subject *subject, uint64_t seed,
                                         const struct ulp_tensor_set *shapes)
{
    struct ulp_tensor_set out = {0};
    struct ulp_error error;
    for (size_t i = 0; i < subject->proof.input_count; i++) {
        const struct ulp_proof_input *box = &subject->proof.inputs[i];
        const struct ulp_tensor *shape = shapes ? ulp_tensor_set_find(shapes, box->name) : NULL;
        const struct ulp_value_info info = ulp_model_input(subject->model, i);
        struct ulp_tensor tensor;
        ck_ulp_ok(ulp_tensor_create(&tensor, shape ? shape->type : info.type, ULP_ELEMENT_COUNT, 0,
                                    shape ? shape->rank : info.rank,
                                    shape ? shape->dims : info.dims, &error),
                  error);
        for (size_t e = 0; e < tensor.count; e++) {
            const double u = ulp_random_uniform(seed + 77 * i, 2 * e),
                         v = ulp_random_uniform(seed + 77 * i, 2 * e + 1),
                         x = u < 0.375  ? box->low
                             : u < 0.75 ? box->high
                                        : box->low + v * (box->high - box->low);
            if (tensor.element == ULP_ELEMENT_F32)
                ((float *)tensor.data)[e] = (float)x;
            else if (tensor.element == ULP_ELEMENT_I64)
                ((int64_t *)tensor.data)[e] = (int64_t)floor(x);
            else
                ck_abort_msg("input %s has another element", box->name);
        }
        ck_ulp_ok(ulp_tensor_set_add(&out, box->name, &tensor, &error), error);
    }
    return out;
}

/* ---- climbing ---- */

struct climb {
    const struct ulp_plan *plan; /* fp64 */
    struct ulp_tensor *values;   /* by slot */
};

static int slot_named(const struct ulp_block *block, const char *name)
{
    for (size_t s = 0; s < block->slot_count; s++)
        if (strcmp(block->slots[s].name, name) == 0)
            return (int)s;
    return -1;
}

static enum ulp_status collect(void *context, const struct ulp_event *event,
                               struct ulp_error *error)
{
    struct climb *climb = context;
    for (size_t o = 0; o < event->output_count; o++) {
        const int slot = slot_named(climb->plan->main, event->output_names[o]);
        if (slot >= 0 && !climb->values[slot].data)
            ck_ulp_ok(ulp_tensor_copy(&climb->values[slot], event->values[o].entire, NULL, error),
                      *error);
    }
    return ULP_OK;
}

static enum ulp_status ignore(void *context, size_t node, size_t execution, int position,
                              const double *cotangents, size_t count, double *introduced,
                              struct ulp_error *error)
{
    (void)context, (void)node, (void)execution, (void)position, (void)cotangents, (void)count;
    (void)introduced, (void)error;
    return ULP_OK;
}

static enum ulp_status open_step(void *context, const struct ulp_step *step,
                                 struct ulp_error *error)
{
    (void)context, (void)step, (void)error;
    return ULP_OK;
}
static void close_step(void *context, const struct ulp_step *step)
{
    (void)context, (void)step;
}

/* The corner of the box to which the gradient of |element| of the slot points. */
static void step_to_corner(const struct subject *subject, struct climb *climb,
                           struct ulp_tensor_set *inputs, int target, uint64_t seed)
{
    const struct ulp_block *block = climb->plan->main;
    struct ulp_error error;
    struct ulp_pool *pool = test_pool(1);
    bool *stopped = calloc(climb->plan->node_count + 1, sizeof *stopped);
    double **cotangents = calloc(block->slot_count + 1, sizeof *cotangents), *seeded;
    ck_assert(stopped && cotangents);
    for (size_t s = 0; s < block->slot_count; s++)
        if (block->slots[s].given)
            for (size_t i = 0; i < inputs->count; i++)
                if (strcmp(inputs->items[i].name, block->slots[s].name) == 0)
                    climb->values[s] = ulp_tensor_view(&inputs->items[i].tensor);
    const struct ulp_sweep sweep = {.plan = climb->plan,
                                    .values = climb->values,
                                    .cotangents = cotangents,
                                    .stopped = stopped,
                                    .pool = pool,
                                    .node = ignore,
                                    .open = open_step,
                                    .close = close_step};
    const struct ulp_tensor *value = &climb->values[target];
    ck_ulp_ok(ulp_sweep_cotangents(&sweep, target, value->count, &seeded, &error), error);
    const size_t element = (size_t)(ulp_random_uniform(seed, 0) * (double)value->count);
    seeded[element] = ulp_tensor_get(value, element) < 0 ? -1 : 1;
    ck_ulp_ok(ulp_sweep_run(&sweep, &error), error);
    for (size_t i = 0; i < inputs->count; i++) {
        const int slot = slot_named(block, inputs->items[i].name);
        const double *gradient = slot >= 0 ? cotangents[slot] : NULL;
        for (size_t e = 0; gradient && e < inputs->items[i].tensor.count; e++)
            if (gradient[e] != 0)
                ((float *)inputs->items[i].tensor.data)[e] =
                    (float)(gradient[e] > 0 ? subject->proof.inputs[i].high
                                            : subject->proof.inputs[i].low);
    }
    for (size_t s = 0; s < block->slot_count; s++)
        ulp_free(cotangents[s]);
    free(cotangents);
    free(stopped);
    ulp_pool_free(pool);
}

/* From random inputs towards the largest magnitude of an element of a node's output. */
static void climb_to(struct subject *subject, const struct ulp_plan *exact, int target,
                     uint64_t seed, const struct ulp_tensor_set *shapes)
{
    const size_t slots = exact->main->slot_count;
    struct climb climb = {.plan = exact, .values = calloc(slots + 1, sizeof *climb.values)};
    const struct ulp_observer observer = {.context = &climb, .node_done = collect};
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_tensor_set inputs = make_inputs(subject, seed, shapes);
    struct ulp_error error;
    ck_assert_ptr_nonnull(climb.values);
    for (int step = 0; step < 3; step++) {
        ck_ulp_ok(ulp_plan_run(exact, &inputs, &options, &observer, 1, NULL, NULL, &error), error);
        if (climb.values[target].data)
            step_to_corner(subject, &climb, &inputs, target, seed);
        for (size_t s = 0; s < slots; s++)
            if (exact->main->slots[s].given)
                climb.values[s] = (struct ulp_tensor){0};
            else
                ulp_tensor_free(&climb.values[s]);
        run_inputs(subject, &inputs);
    }
    ulp_tensor_set_free(&inputs);
    free(climb.values);
}

static void attack(struct subject *subject, size_t random, size_t climbs,
                   const struct ulp_tensor_set *shapes)
{
    const struct ulp_plan_options options = {.inputs = shapes};
    struct ulp_plan *exact;
    struct ulp_arithmetic fp64;
    struct ulp_error error;
    for (size_t s = 0; s < random; s++) {
        struct ulp_tensor_set inputs = make_inputs(subject, 1000 * s, shapes);
        run_inputs(subject, &inputs);
        ulp_tensor_set_free(&inputs);
    }
    ck_ulp_ok(ulp_arithmetic_find("fp64", &fp64, &error), error);
    ck_ulp_ok(ulp_plan_create(subject->model, &fp64, 1, &options, &exact, &error), error);
    for (size_t s = 0; s < climbs; s++) {
        const struct ulp_proof_node *node = &subject->proof.nodes[s % subject->proof.node_count];
        const int target = slot_named(exact->main, node->outputs[0].name);
        if (target >= 0)
            climb_to(subject, exact, target, 31 * s + 5, shapes);
    }
    ulp_plan_free(exact);
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
    {"k = Transpose(z) perm=0,2,1\ns = MatMul(x, k)\nc = Mul(s, 0.25)\nm = Add(c, w3)\n"
     "p = Softmax(m) axis=2\ny = MatMul(p, v)",
     -30, 30, "pppppp"},
    /* of rows that are sums of rows of tables, none constant, FP16 needs no epsilon; a residual and
     * a second one after it */
    {"g = Gather(w64x8, i_t) axis=0\na = Add(g, w3x8)\nm = ReduceMean(a) axes=-1\nd = Sub(a, m)\n"
     "q = Mul(d, d)\nv = ReduceMean(q) axes=-1\ne = Add(v, 0.000000000001)\ns = Sqrt(e)\n"
     "n = Div(d, s)\nt = Mul(a, 0.125)\nr = Add(n, t)\nb = ReduceMean(r) axes=-1\nc = Sub(r, b)\n"
     "f = Mul(c, c)\nh = ReduceMean(f) axes=-1\nj = Add(h, 0.000000000001)\nk = Sqrt(j)\n"
     "y = Div(c, k)",
     0, 63, "pppppppppppppppppp"},
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

START_TEST(small_models_are_proven)
{
    const struct proof_case *c = &cases[_i];
    struct subject subject;
    begin(&subject, line_model(c->lines, 12 + 5 * (strstr(c->lines, "LayerNorm") != NULL)), "fp16",
          c->low, c->high, NULL);
    char found[40] = "";
    for (size_t n = 0; n < subject.proof.node_count; n++) {
        static const char letters[] = "pcn";
        found[n] = letters[subject.proof.nodes[n].outputs[0].verdict];
        found[n + 1] = 0;
    }
    ck_assert_msg(strcmp(found, c->verdicts) == 0, "%s in\n%s", found, c->lines);
    attack(&subject, 200, test_long() ? 400 : 60, NULL);
    end(&subject);
}
END_TEST

START_TEST(formats_are_their_own)
{
    static const char *const formats[] = {"bf16", "fp16-strict",   "fp8-e5m2",
                                          "fp32", "fp16,acc=fp16", "fp16,constants=tensorrt"};
    struct subject subject;
    begin(&subject,
          line_model("m = ReduceMean(x) axes=-1\nd = Sub(x, m)\nq = Pow(d, 2.0)\n"
                     "v = ReduceMean(q) axes=-1\ne = Add(v, 0.5)\ns = Sqrt(e)\nn = Div(d, s)\n"
                     "g = MatMul(n, w8x8)\ny = Softmax(g) axis=2",
                     13),
          formats[_i], -20, 20, NULL);
    attack(&subject, 100, 50, NULL);
    ck_assert_uint_gt(subject.proof.counts[ULP_PROOF_PROVEN], 0);
    end(&subject);
}
END_TEST

START_TEST(reasons_and_places_are_given)
{
    struct subject subject;
    char *summary;
    struct ulp_error error;
    begin(&subject,
          line_model("a = MatMul(x, w8x8)\nb = Mul(a, 300.0)\nc = Relu(b)\nd = Mul(c, 40.0)", 13),
          "fp16", -10, 10, NULL);
    const struct ulp_proof_node *last = &subject.proof.nodes[3];
    ck_assert_int_eq(last->outputs[0].verdict, ULP_PROOF_NOT_PROVEN);
    ck_assert_int_eq(last->grew, 1); /* 300 is more than 40 */
    ck_assert(last->outputs[0].bound > 65504 && last->outputs[0].bound < 1e6);
    ck_ulp_ok(ulp_proof_summary(&subject.proof, 0, false, &summary, &error), error);
    ck_assert_msg(strncmp(summary, "FP16: 3 of 4 node outputs cannot overflow", 40) == 0, "%s",
                  summary);
    ck_assert_ptr_nonnull(strstr(summary, "the bound grew at node 1 b (Mul)"));
    free(summary);
    end(&subject);
}
END_TEST

START_TEST(ranges_are_checked)
{
    const struct ulp_input_range wrong[] = {{"nobody", 0, 1}, {"x", 1, 0}, {"x", 0, INFINITY}};
    struct ulp_model *model = line_model("y = Relu(x)", 13);
    struct ulp_arithmetic lane;
    struct ulp_plan *plan;
    struct ulp_proof proof;
    struct ulp_error error;
    ck_ulp_ok(ulp_arithmetic_find("fp16", &lane, &error), error);
    ck_ulp_ok(ulp_plan_create(model, &lane, 1, NULL, &plan, &error), error);
    ck_assert_int_eq(ulp_prove(model, plan, &wrong[_i], 1, 1, &proof, &error), ULP_ERROR_USAGE);
    ulp_plan_free(plan);
    ulp_model_free(model);
}
END_TEST

/* ---- networks ---- */

static const struct network_case {
    const char *name, *inputs;
    double share; /* of node outputs that are proven, at least */
    int random, climbs;
} network_cases[] = {
    {"models/nanogpt_4l", "inputs.npz", 1, 6, 0},
    {"models/t5_random_encoder", "inputs.npz", 1, 20, 0},
    {"models/tinybert_1l", "inputs.npz", 1, 20, 0},
    {"models/vit_pgd_2_3_16", "inputs.npz", 1, 30, 20},
    {"generated/clip_text_tiny_op14", "test_data_set_0", 1, 4, 0},
    {"generated/clip_text_tiny_op17", "test_data_set_0", 1, 4, 0},
};

START_TEST(networks_stay_within_their_bounds)
{
    const struct network_case *c = &network_cases[_i];
    char relative[300], path[4096];
    struct ulp_tensor_set inputs = {0};
    struct ulp_model *model;
    struct ulp_error error;
    struct subject subject;
    snprintf(relative, sizeof relative, "%s/model.onnx", c->name);
    const char *shared = test_shared(relative);
    if (!shared)
        return;
    snprintf(path, sizeof path, "%s", shared);
    ck_ulp_ok(ulp_model_load(path, NULL, &model, &error), error);
    snprintf(relative, sizeof relative, "%s/%s", c->name, c->inputs);
    snprintf(path, sizeof path, "%s", test_shared(relative));
    if (strstr(c->inputs, ".npz"))
        ck_ulp_ok(ulp_tensor_set_read(path, NULL, &inputs, &error), error);
    else
        ck_ulp_ok(ulp_test_data_set_read(path, "input", model, NULL, &inputs, &error), error);
    begin(&subject, model, "fp16", 1, 0, &inputs);
    const double share =
        (double)subject.proof.counts[ULP_PROOF_PROVEN] / (double)subject.proof.output_count;
    ck_assert_msg(share >= c->share, "%s: %.3f", c->name, share);
    const int times = test_long() ? 20 : 1;
    attack(&subject, (size_t)(c->random * times), (size_t)(c->climbs * times), &inputs);
    printf(
        "%s: %.1f %% of %zu outputs proven; %zu values within their bounds, at most %.2f of one\n",
        c->name, 100 * share, subject.proof.output_count, subject.values, subject.attained);
    ulp_tensor_set_free(&inputs);
    end(&subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prove");
    TCase *small = tcase_create("small"), *networks = tcase_create("networks");
    tcase_add_loop_test(small, small_models_are_proven, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(small, formats_are_their_own, 0, 6);
    tcase_add_test(small, reasons_and_places_are_given);
    tcase_add_loop_test(small, ranges_are_checked, 0, 3);
    tcase_set_timeout(networks, 600);
    tcase_add_loop_test(networks, networks_stay_within_their_bounds, 0,
                        sizeof network_cases / sizeof *network_cases);
    suite_add_tcase(suite, small);
    suite_add_tcase(suite, networks);
    return test_run(suite, NULL);
}
