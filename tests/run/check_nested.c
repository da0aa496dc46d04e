/* run: control flow inside control flow, and inside functions. */
#include "load/load.h"
#include "tests/support/text_model.h"

static const struct text_graph negated = {"", "e", "[minus] e = Neg(x)"};

/* A Loop in a branch compiling knows, an If in the Loop that is taken in iterations 0 and 2, a Scan
 * in that If; values are captured from every level. */
static const struct text_graph deep_scan = {"c e", "d f",
                                            "[sum] d = Add(c, e) [weigh] f = Mul(d, k)"};
static const struct text_graph deep_then = {
    "", "t", "[row] g = Gather(s, i_0) [scan] last, t = Scan<1>(g, s)", {&deep_scan}};
static const struct text_graph deep_else = {"", "e", "[turn] e = MatMul(s, w)"};
static const struct text_graph deep_body = {
    "i_n b_c s",
    "b_d u",
    "[odd] b_o = Equal(i_n, i_1) [even] b_e = Not(b_o) [if] v = If(b_e) [bend] u = Tanh(v) [go] "
    "b_d = Identity(b_c)",
    {&deep_then, &deep_else}};
static const struct text_graph deep_branch = {
    "",
    "o",
    "[gate] k8 = Sigmoid(h) [most] k = ReduceMax(k8) [loop] o = Loop(i_count, b_yes, h)",
    {&deep_body}};
static const struct text_graph deep = {
    "x i_count",
    "y",
    "[first] h = MatMul(x, w) [if] z = If(b_yes) [last] y = Mul(z, x)",
    {&deep_branch, &negated}};
/* the first iteration by hand, as far as the Scan's sums */
static const struct text_graph deep_flat = {
    "x i_count", "ff2",
    "[first] h = MatMul(x, w) [if/gate] k8 = Sigmoid(h) [if/most] k1 = ReduceMax(k8) [row] g = "
    "Gather(h, i_0) [e1] e1 = Gather(h, i_1) [e2] e2 = Gather(h, i_2) [0/sum] d0 = Add(g, g) "
    "[1/sum] d1 = Add(d0, e1) [2/sum] ff2 = Add(d1, e2)"};

struct watched {
    double progress;
    size_t events, *executions, sums;
    size_t cancel_at; /* 0: never */
    struct ulp_metrics sum[3];
};

static enum ulp_status watch(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct watched *watched = context;
    ck_assert(event->index < event->node_count && event->progress >= watched->progress &&
              event->progress <= 1 + 1e-12);
    for (size_t l = 0; l < event->lane_count; l++)
        ck_assert(event->lane_seconds[l].own >= 0 && event->lane_seconds[l].reference >= 0);
    ck_assert_uint_eq(event->execution, watched->executions[event->index]++);
    watched->progress = event->progress;
    watched->events++;
    const char *end = strrchr(event->name, '/');
    if (end && strcmp(end, "/sum") == 0 && watched->sums < 3)
        return ulp_metrics_measure(event->values[event->output_count].entire,
                                   event->values[0].entire, &event->arithmetics[1].storage,
                                   &watched->sum[watched->sums++], error);
    return ULP_OK;
}

static bool is_late(void *context)
{
    const struct watched *watched = context;
    return watched->cancel_at && watched->events >= watched->cancel_at;
}

TEST(control_flow_nests)
{
    struct ulp_budget budget = {0};
    scoped_model *model = text_load_within(&deep, &budget);
    scoped_tensor_set inputs = text_inputs(model, 9, 0, true);
    scoped_program *program = text_plan(model, &inputs, 0, TEXT_LANES);
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    struct watched watched = {.executions =
                                  calloc(ulp_program_node_count(program), sizeof(size_t))};
    const struct ulp_observer observer = {.context = &watched,
                                          .node_done = watch,
                                          .cancelled = is_late};
    scoped_audit nested = {0}, flat = {0};
    struct ulp_error error;
    ck_ok(ulp_program_run(program, &inputs, &options, &observer, 1, NULL, NULL, &why));
    ck_assert(fabs(watched.progress - 1) < 1e-12);
    text_audit_samples(model, &inputs, 1, 1, &nested);
    text_audit(&deep_flat, 9, 0, true, 1, &flat);
    static const struct {
        const char *name;
        size_t executions;
    } wanted[] = {{"first", 1},
                  {"if/gate", 1},
                  {"if/loop", 1},
                  {"if/loop/even", 3},
                  {"if/loop/if", 3},
                  {"if/loop/if/turn", 1},
                  {"if/loop/if/row", 2},
                  {"if/loop/if/scan", 2},
                  {"if/loop/if/scan/weigh", 6},
                  {"if/loop/bend", 3},
                  {"last", 1}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct ulp_audit_node *node = audit_node(&nested, 0, wanted[i].name);
        ck_assert_msg(node->executions == wanted[i].executions, "%s: %zu executions", node->name,
                      node->executions);
        ck_assert_uint_eq(watched.executions[node->index], wanted[i].executions);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[] = "0/sum";
        name[0] = (char)('0' + i);
        ck_assert(
            audit_same_metrics(&watched.sum[i], &audit_node(&flat, 0, name)->outputs[0].entire));
    }
    audit_expect_same(audit_node(&nested, 2, "if/gate"), audit_node(&flat, 2, "if/gate"));
    /* ended at every step, and by every limit of memory */
    for (watched.cancel_at = watched.events; watched.cancel_at-- > 1;) {
        memset(watched.executions, 0, ulp_program_node_count(program) * sizeof(size_t));
        watched.events = 0, watched.progress = 0;
        ck_assert_int_eq(ulp_program_run(program, &inputs, &options, &observer, 1, NULL, NULL,
                                         &error),
                         ULP_ERROR_CANCELLED);
    }
    int failures = 0;
    for (size_t limit = 1000; limit < 100000; limit += 500) {
        budget.limit_bytes = budget.used_bytes + limit;
        enum ulp_status status =
            ulp_program_run(program, &inputs, &options, NULL, 0, NULL, NULL, &error);
        ck_assert(status == ULP_OK || status == ULP_ERROR_MEMORY);
        failures += status != ULP_OK;
    }
    ck_assert_int_gt(failures, 10);
    budget.limit_bytes = 0;
    free(watched.executions);
}

/* A body that captures a parameter of its function which the call omits: absent as an input,
 * refused as a result. */
TEST_LOOP(omitted_parameters_are_absent_in_bodies, 0, 2)
{
    struct proto graph = {0}, function = {0}, call = proto_node("F", "call", "x - b_flag", "y");
    struct proto node = proto_node("If", "if", "c", "r"), minus = {0}, clip = {0};
    text_add_values(&clip, GRAPH_OUTPUT, _i ? "limit" : "t", false);
    text_add_values(&minus, GRAPH_OUTPUT, "e", false);
    struct proto clipping = proto_node("Clip", "clip", "a - limit", "t"),
                 negating = proto_node("Neg", "minus", "a", "e");
    proto_message(&clip, GRAPH_NODE, &clipping);
    proto_message(&minus, GRAPH_NODE, &negating);
    text_add_attribute(&node, "then_branch", &clip, 0);
    text_add_attribute(&node, "else_branch", &minus, 0);
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_INPUT, "limit");
    proto_text(&function, FUNCTION_INPUT, "c");
    proto_text(&function, FUNCTION_OUTPUT, "r");
    proto_message(&function, FUNCTION_NODE, &node);
    struct proto opset = {0};
    proto_int(&opset, 2, 16);
    proto_message(&function, FUNCTION_OPSET, &opset);
    proto_text(&call, NODE_DOMAIN, "d");
    proto_text(&graph, GRAPH_NAME, "g");
    text_add_values(&graph, GRAPH_INPUT, "x b_flag", true);
    text_add_values(&graph, GRAPH_OUTPUT, "y", true);
    proto_message(&graph, GRAPH_NODE, &call);
    struct proto bytes = proto_model(8, 16, &graph);
    proto_opset(&bytes, "d", 1);
    proto_message(&bytes, MODEL_FUNCTION, &function);
    scoped_model *model = NULL;
    ck_ok(ulp_model_load_bytes("omitted.onnx", bytes.data, bytes.count, NULL, &model, &why));
    proto_free(&bytes);
    struct ulp_tensor_set inputs = text_inputs(model, 3, 0, true), outputs;
    if (_i) {
        struct ulp_program *program;
        const struct ulp_arithmetic lane = test_arithmetic("fp32");
        ck_fails(ULP_ERROR_INPUT, "'limit' is an input that the call omits",
                 ulp_program_create(model, &lane, 1, NULL, &program, &why));
    } else {
        scoped_program *program = text_plan(model, &inputs, 2, 1);
        ck_ok(ulp_program_run(program, &inputs, NULL, NULL, 0, &outputs, NULL, &why));
        ck_assert_int_eq(memcmp(outputs.items[0].tensor.data, inputs.items[0].tensor.data,
                                24 * sizeof(float)),
                         0);
        ulp_tensor_set_free(&outputs);
    }
    ulp_tensor_set_free(&inputs);
}

TEST_SUITE("nested", 120)
